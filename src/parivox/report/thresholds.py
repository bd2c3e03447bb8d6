"""Thresholds in the terminal: whether group-specific thresholds help, whom, and at whose cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import group

from parivox.decide.fitting_trials import EVERYONE, NORMALISED
from parivox.decide.threshold_fitting import BETWEEN, COMMON, PER_GROUP
from parivox.report.audit_queries import ERROR_TYPES
from parivox.report.catalogue import full_sentence, sentence_text
from parivox.report.sheets.sheet import Cell, Sheet, terminal_table
from parivox.report.words import count_of, count_text, percent, print_text, shortened_names, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from parivox.decide.threshold_selection import Thresholds

    Row = dict[str, Any]

_MAX_NAMED_GROUPS = 6
_RATE_AIMS, _MAX_FPR = ("fpr", "fnr"), "max-fpr"
_SIDE_NAMES = {"enrol": "enrolment speaker", "test": "test speaker"}
_RULE_NAMES = {
    NORMALISED: "common, normalised scores",
    COMMON: "common",
    PER_GROUP: "per group",
    BETWEEN: "between the two",
}


def print_thresholds(selection: Thresholds, out: str | None = None) -> None:
    """Print the thresholds: with colours in a terminal, plain lines elsewhere."""
    print_text(thresholds_summary(selection, out))


@group()
def thresholds_summary(selection: Thresholds, out: str | None = None) -> Iterator[RenderableType]:
    """Yield the answer, the rules, the groups that differ, caveats, and what to do next."""
    record = selection.record
    yield text(
        f"{count_text(record['trials'])} trials · {count_text(record['speakers'])} speakers · "
        f"{record['system']} · by {record['by']} of the {side_text(record)} · aim {record['aim']}"
    )
    own_rows = {row["group"]: row for row in selection.groups.rows() if row["rule"] == PER_GROUP}
    common_rows = {row["group"]: row for row in selection.groups.rows() if row["rule"] == COMMON}
    del own_rows[EVERYONE]
    differing = [name for name in own_rows if name in selection.apart]
    yield from _answer_blocks(selection, own_rows, differing)
    yield text("")
    yield from terminal_table(rules_sheet(selection, differing), lines_above=1, lines_below=1)
    if differing:
        sheet = groups_sheet([(common_rows[name], own_rows[name]) for name in differing])
        yield from terminal_table(sheet, lines_above=1, lines_below=1)
    group_thresholds = [f"{name} {own_rows[name]['threshold']:.4g}" for name in differing]
    yield text(", ".join([f"Thresholds: common {record['common']:.4g}", *group_thresholds]) + ".")
    yield from _kept_common_lines(own_rows, differing)
    yield group_needed_note(record, "threshold")
    yield from _next_step(differing, out)


def _answer_blocks(
    selection: Thresholds, own_rows: dict[str, Row], differing: Sequence[str]
) -> Iterator[RenderableType]:
    """Yield whether a threshold per group helps: on average, over all trials, and the worst off."""
    if not any(row["reason"] == "" for row in own_rows.values()):
        yield text(full_sentence("no_group_for_threshold"), style="bold", apart=True)
        return
    if not differing:
        words = full_sentence(
            "one_common_threshold", reason=_undetected_difference(selection.record["aim"])
        )
    else:
        group_names = ", ".join(shortened_names(differing, most=_MAX_NAMED_GROUPS))
        difference = _difference(selection.record["aim"], len(differing), len(own_rows))
        words = full_sentence(
            "groups_differ_at_threshold", difference=difference, groups=group_names
        )
    yield text(words, style="bold", apart=True)
    is_needed = bool(differing)
    mean_row = next(row for row in selection.rules.rows() if row["rule"] == PER_GROUP)
    gain = gain_text(mean_row, is_needed=is_needed)
    yield text(full_sentence("mean_gain", gain=gain, cost=_gain_with_interval(mean_row)))
    pooled_row = next(
        row
        for row in selection.groups.rows()
        if row["rule"] == PER_GROUP and row["group"] == EVERYONE
    )
    gain = gain_text(pooled_row, is_needed=is_needed)
    yield text(
        full_sentence("gain_over_all_trials", gain=gain, cost=_gain_with_interval(pooled_row))
    )
    worst_row = own_rows[costliest_group(selection)]
    gain = gain_text(worst_row, is_needed=worst_row["group"] in differing)
    cost = _gain_with_interval(worst_row)
    group = worst_row["group"]
    yield text(full_sentence("gain_of_costliest_group", group=group, gain=gain, cost=cost))
    if not differing:
        yield text(full_sentence("gains_tested_if_group_differs"))


def _difference(aim: str, n_differing: int, n_groups: int) -> str:
    """Return what some groups are shown to differ in: the hypothesis that was tested.

    A maximum of the FPR is tested as an FPR, and an aim of costs by both error rates.
    """
    rule, _, value = aim.partition("=")
    groups = f"{n_differing} of {n_groups} groups"
    if rule in _RATE_AIMS:
        return f"{groups} {'misses' if n_differing == 1 else 'miss'} the aim {aim}"
    if rule == _MAX_FPR:
        return sentence_text("fpr_of_groups_differs", groups=groups, rate=value)
    return sentence_text("error_rates_of_groups_differ", groups=groups)


def _undetected_difference(aim: str) -> str:
    """Return what no group is shown to differ in."""
    rule, _, value = aim.partition("=")
    if rule in _RATE_AIMS:
        return sentence_text("no_group_misses_aim")
    if rule == _MAX_FPR:
        return sentence_text("no_group_with_other_fpr", rate=value)
    return sentence_text("no_group_with_other_rates")


def _gain_with_interval(row: Row) -> str:
    """Return a gain in cost with its interval."""
    return f"{row['gain']:.3f} {gain_interval_text(row, 'gain', places=3)}"


def costliest_group(selection: Thresholds) -> str:
    """Return the group that the common threshold costs most.

    It is chosen by its cost, not by its gain, so its gain is not too large by selection.
    """
    rows = selection.groups.subset(rule=COMMON).rows()
    rows_with_cost = [row for row in rows if row["group"] != EVERYONE and row["cost"] is not None]
    return str(max(rows_with_cost, key=lambda row: row["cost"])["group"])


def gain_text(row: Row, *, is_needed: bool) -> str:
    """Return what is known of a gain, in words.

    It is unknown where its interval has no width. It is not tested where no rule of its own is
    needed, so that no gain is shown for a group for which nothing else is.
    """
    low, high = row["gain_low"], row["gain_high"]
    if low is None or (low == high == 0 and row["gain"] == 0):
        return "unknown"
    if not is_needed:
        return "not tested"
    outcomes = {"better": "shown", "worse": "negative"}
    return outcomes.get(gain_verdict(low, high), "inconclusive")


def rules_sheet(selection: Thresholds, differing: Sequence[str]) -> Sheet:
    """Return each rule: groups that it moves, cost and gain, on average and of the costliest."""
    costliest = costliest_group(selection)
    sheet = Sheet.with_heads(
        sentence_text("threshold_rules", cost=selection.record["cost"], group=costliest),
        ("threshold", "moved", "mean", "gain", "worst", "gain of the worst"),
    )
    worst_rows = selection.groups.subset(group=costliest).rows()
    for row, worst_row in zip(selection.rules.rows(), worst_rows, strict=True):
        is_common = row["rule"] == COMMON
        is_mean_tested = is_worst_tested = row["rule"] == NORMALISED
        if row["rule"] in {PER_GROUP, BETWEEN}:
            is_mean_tested, is_worst_tested = bool(differing), costliest in differing
        cells: list[str | Cell] = []
        for cost_row, is_tested in ((row, is_mean_tested), (worst_row, is_worst_tested)):
            gain = "" if is_common else _gain_with_interval(cost_row)
            verdict = verdict_of_gain(cost_row, is_tested=is_tested)
            cells += [f"{cost_row['cost']:.3f}", Cell(gain, verdict=verdict)]
        moved = "" if is_common else count_text(row["own"])
        sheet.add(_RULE_NAMES.get(row["rule"], row["rule"]), moved, *cells)
    return sheet


def groups_sheet(rows: Sequence[tuple[Row, Row]]) -> Sheet:
    """Return groups at the common threshold and at their own: both errors, and their change."""
    sheet = Sheet.with_heads(
        "Change in error rates with group-specific thresholds, on held-out speakers:",
        ("group", "error", "common", "own", "change, points"),
        words=(1, 2),
    )
    for common_row, own_row in rows:
        row_labels = own_row["group"], count_of(own_row["speakers"], "speaker")
        for row_label, metric in zip(row_labels, ("fpr", "fnr"), strict=True):
            change, low, high = (
                own_row[f"{metric}_change{suffix}"] for suffix in ("", "_low", "_high")
            )
            # fewer errors are better: the verdict is on the decrease
            decrease = (None, None) if low is None else (-high, -low)
            sheet.add(
                row_label,
                ERROR_TYPES[metric],
                percent(common_row[metric]),
                percent(own_row[metric]),
                Cell(
                    f"{100 * change:+.2f} {gain_interval_text(own_row, f'{metric}_change', 100)}",
                    verdict=gain_verdict(*decrease),
                ),
            )
    return sheet


def gain_interval_text(row: Row, name: str, times: float = 1, places: int = 2) -> str:
    """Return the interval of a gain or change; empty if there is none."""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return "" if low is None else f"[{times * low:.{places}f}, {times * high:.{places}f}]"


def gain_verdict(low: float | None, high: float | None) -> str:
    """Return the verdict on a gain with these limits."""
    if low is None or high is None or low <= 0 <= high:
        return "inconclusive"
    return "better" if low > 0 else "worse"


def verdict_of_gain(row: Row, *, is_tested: bool) -> str:
    """Return the verdict on a gain; inconclusive where no group-specific rule is needed."""
    return gain_verdict(row["gain_low"], row["gain_high"]) if is_tested else "inconclusive"


def _kept_common_lines(
    own_rows: dict[str, Row], differing: Sequence[str]
) -> Iterator[RenderableType]:
    """Yield which groups keep the common threshold, and why."""
    small = [name for name, row in own_rows.items() if row["reason"]]
    without_difference = [name for name in own_rows if name not in differing and name not in small]
    for names, reason in (
        (without_difference, sentence_text("threshold_not_needed")),
        (small, sentence_text("too_few_for_threshold")),
    ):
        if names:
            groups = ", ".join(shortened_names(names, most=_MAX_NAMED_GROUPS))
            yield text(full_sentence("keep_common_threshold", groups=groups, reason=reason))


def side_text(record: Row) -> str:
    """Return on which side the group of a trial is known."""
    return _SIDE_NAMES[record["side"]]


def group_needed_note(record: Row, noun: str) -> RenderableType:
    """Return that groups must be known at every decision, and in how many trials they are."""
    n_unknown = record["unknown"]
    coverage = sentence_text("group_known_in_every_trial", noun=noun)
    if n_unknown:
        coverage = sentence_text(
            "group_unknown_in_trials",
            unknown=count_text(n_unknown),
            trials=count_text(record["trials"]),
            noun=noun,
        )
    return text(
        full_sentence("group_needed", noun=noun, side=side_text(record), coverage=coverage),
        apart=True,
    )


def _next_step(differing: Sequence[str], out: str | None) -> Iterator[RenderableType]:
    """Yield how to write the rule, or how to audit it."""
    if out is not None:
        yield text(sentence_text("rule_written", path=out), apart=True)
    elif differing:
        yield text(
            sentence_text("write_rule"),
            apart=True,
        )
