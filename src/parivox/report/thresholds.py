"""Thresholds in words: does anything but one for all help, for whom, and who pays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import group

from parivox.decide.fitting_trials import EVERYONE, NORMALISED
from parivox.decide.threshold_fitting import BETWEEN, COMMON, PER_GROUP
from parivox.report.audit_queries import ERROR_TYPES
from parivox.report.sheets.sheet import Cell, Sheet, terminal_table
from parivox.report.words import count_of, count_text, percent, print_text, shortened_names, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from parivox.decide.threshold_selection import Thresholds

    Row = dict[str, Any]

_MOST = 6
_SIDE = {"enrol": "enrolment speaker", "test": "test speaker"}
_RULES = {
    NORMALISED: "common, normalised scores",
    COMMON: "common",
    PER_GROUP: "per group",
    BETWEEN: "between the two",
}


def print_thresholds(found: Thresholds, out: str | None = None) -> None:
    """Print them: with colours in a terminal, plain lines elsewhere."""
    print_text(thresholds_in_words(found, out))


@group()
def thresholds_in_words(found: Thresholds, out: str | None = None) -> Iterator[RenderableType]:
    """The answer, the rules, the groups with a threshold of their own, caveats, what to do next."""
    record = found.record
    yield text(
        f"{count_text(record['trials'])} trials · {count_text(record['speakers'])} speakers · "
        f"{record['system']} · by {record['by']} of the {whose(record)} · aim {record['aim']}"
    )
    own = {row["group"]: row for row in found.groups.rows() if row["rule"] == PER_GROUP}
    common = {row["group"]: row for row in found.groups.rows() if row["rule"] == COMMON}
    del own[EVERYONE]
    apart = [name for name in own if name in found.apart]
    yield from _answer(found, own, apart)
    yield text("")
    yield from terminal_table(rules_sheet(found, apart), lines_above=1, lines_below=1)
    if apart:
        sheet = groups_sheet([(common[name], own[name]) for name in apart])
        yield from terminal_table(sheet, lines_above=1, lines_below=1)
    each = [f"{name} {own[name]['threshold']:.4g}" for name in apart]
    yield text(", ".join([f"Thresholds: common {record['common']:.4g}", *each]) + ".")
    yield from _kept(own, apart)
    yield needs_groups(record, "threshold")
    yield from _next(apart, out)


def _answer(
    found: Thresholds, own: dict[str, Row], apart: Sequence[str]
) -> Iterator[RenderableType]:
    """Whether a threshold per group helps: on average, and whom."""
    gain = next(row for row in found.rules.rows() if row["rule"] == PER_GROUP)
    interval = f"{gain['gain']:.3f} {ends(gain, 'gain', places=3)}"
    if not any(row["reason"] == "" for row in own.values()):
        yield text(
            "No group is large enough to have a threshold of its own.", style="bold", apart=True
        )
        return
    if not apart:
        words = "One common threshold: no group is shown to miss its aim there."
    else:
        names = ", ".join(shortened_names(apart, most=_MOST))
        miss = "misses" if len(apart) == 1 else "miss"
        aim = found.record["aim"]
        n_of = f"{len(apart)} of {len(own)} groups"
        words = f"At the common threshold, {n_of} {miss} the aim {aim}: {names}."
    yield text(words, style="bold", apart=True)
    is_needed = bool(apart)
    what = "The gain in cost from group-specific thresholds, averaged over groups,"
    yield text(f"{what} {told(gain, is_needed=is_needed)}: {interval}.")
    everyone = next(
        row for row in found.groups.rows() if row["rule"] == PER_GROUP and row["group"] == EVERYONE
    )
    interval = f"{everyone['gain']:.3f} {ends(everyone, 'gain', places=3)}"
    yield text(f"Over all trials it {told(everyone, is_needed=is_needed)}: {interval}.")
    worst = own[worst_of(found)]
    interval = f"{worst['gain']:.3f} {ends(worst, 'gain', places=3)}"
    whose = f"For {worst['group']}, the group with the largest cost, it"
    said = told(worst, is_needed=worst["group"] in apart)
    yield text(f"{whose} {said}: {interval}.")
    if not apart:
        yield text("Gains are tested only if a group is shown to miss its aim.")


def worst_of(found: Thresholds) -> str:
    """The group that the common threshold costs most; what it gains is not chosen by its gain."""
    rows = found.groups.where(rule=COMMON).rows()
    known = [one for one in rows if one["group"] != EVERYONE and one["cost"] is not None]
    return str(max(known, key=lambda one: one["cost"])["group"])


def told(row: Row, *, is_needed: bool) -> str:
    """Return what is known of a gain, in words.

    It is unknown where its interval has no width, and not tested where no rule of its own is
    needed, so that a gain is shown of no group of which nothing else is.
    """
    low, high = row["gain_low"], row["gain_high"]
    if low is None or (low == high == 0 and row["gain"] == 0):
        return "is unknown"
    if not is_needed:
        return "is not tested"
    words = {"better": "is shown", "worse": "is negative"}
    return words.get(better(low, high), "is inconclusive")


def rules_sheet(found: Thresholds, apart: Sequence[str]) -> Sheet:
    """Each rule: groups that it moves, cost and gain, on average and of who is worst off."""
    worst = worst_of(found)
    sheet = Sheet.with_heads(
        f"Cost ({found.record['cost']}), mean over groups and of {worst}, the group with the "
        "largest cost at the common threshold, on speakers held out on both sides:",
        ("threshold", "moved", "mean", "gain", "worst", "gain of the worst"),
    )
    of_worst = found.groups.where(group=worst).rows()
    for row, own in zip(found.rules.rows(), of_worst, strict=True):
        is_common = row["rule"] == COMMON
        cells: list[str | Cell] = []
        is_tested = row["rule"] == NORMALISED, row["rule"] == NORMALISED
        if row["rule"] in {PER_GROUP, BETWEEN}:
            is_tested = bool(apart), worst in apart
        for one, may_tell in zip((row, own), is_tested, strict=True):
            gain = "" if is_common else f"{one['gain']:.3f} {ends(one, 'gain', places=3)}"
            verdict = verdict_of_gain(one, is_tested=may_tell)
            cells += [f"{one['cost']:.3f}", Cell(gain, verdict=verdict)]
        moved = "" if is_common else count_text(row["own"])
        sheet.add(_RULES.get(row["rule"], row["rule"]), moved, *cells)
    return sheet


def groups_sheet(rows: Sequence[tuple[Row, Row]]) -> Sheet:
    """Groups at the common threshold and at their own: both errors, and how they change."""
    sheet = Sheet.with_heads(
        "Change in error rates with group-specific thresholds, on held-out speakers:",
        ("group", "error", "common", "own", "change, points"),
        words=(1, 2),
    )
    for common, own in rows:
        names = own["group"], count_of(own["speakers"], "speaker")
        for name, metric in zip(names, ("fpr", "fnr"), strict=True):
            change, low, high = (own[f"{metric}_change{end}"] for end in ("", "_low", "_high"))
            fell = (None, None) if low is None else (-high, -low)
            sheet.add(
                name,
                ERROR_TYPES[metric],
                percent(common[metric]),
                percent(own[metric]),
                Cell(
                    f"{100 * change:+.2f} {ends(own, f'{metric}_change', 100)}",
                    verdict=better(*fell),
                ),
            )
    return sheet


def ends(row: Row, name: str, times: float = 1, places: int = 2) -> str:
    """Its interval, or nothing."""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return "" if low is None else f"[{times * low:.{places}f}, {times * high:.{places}f}]"


def better(low: float | None, high: float | None) -> str:
    """The verdict of a gain with these limits."""
    if low is None or high is None or low <= 0 <= high:
        return "cannot_tell"
    return "better" if low > 0 else "worse"


def verdict_of_gain(row: Row, *, is_tested: bool) -> str:
    """The verdict of a gain; inconclusive where no rule of a group's own is shown to be needed."""
    return better(row["gain_low"], row["gain_high"]) if is_tested else "cannot_tell"


def _kept(own: dict[str, Row], apart: Sequence[str]) -> Iterator[RenderableType]:
    """Groups that keep the common threshold, and why."""
    small = [name for name, row in own.items() if row["reason"]]
    alike = [name for name in own if name not in apart and name not in small]
    for names, why in (
        (alike, "no gain from a threshold of their own is shown"),
        (small, "too few speakers for a threshold of their own, whose gain is unknown"),
    ):
        if names:
            groups = ", ".join(shortened_names(names, most=_MOST))
            yield text(f"Keep the common threshold for {groups}: {why}.")


def whose(record: Row) -> str:
    """Whose group it is."""
    return _SIDE[record["side"]]


def needs_groups(record: Row, what: str) -> RenderableType:
    """That groups must be known at every decision, and of how many trials they are."""
    unknown = record["unknown"]
    taken = (
        f"it is unknown in {count_text(unknown)} of {count_text(record['trials'])} trials, "
        "which use the "
        f"common {what}"
        if unknown
        else f"it is known in every trial here; trials without a group use the common {what}"
    )
    return text(
        f"! A group-specific {what} needs the group of the {whose(record)} at every decision: "
        f"{taken}. A group that is predicted from the voice is wrong more often for some groups, "
        f"and so is its {what}.",
        apart=True,
    )


def _next(apart: Sequence[str], out: str | None) -> Iterator[RenderableType]:
    if out is not None:
        yield text(f"Rule: {out}. To audit it: parivox audit ... --thresholds {out}", apart=True)
    elif apart:
        yield text(
            "To write the rule, add --out rules.yaml. To audit it: parivox audit ... --thresholds "
            "rules.yaml",
            apart=True,
        )
