"""A sample-size plan in the terminal: detectable ratios, needed speakers, supported FPRs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import group
from rich.padding import Padding

from parivox.report.audit_queries import grouping_with_allocation, system_label
from parivox.report.catalogue import full_sentence, reason_text, sentence_text
from parivox.report.decision_sentences import PLAN_REASONS
from parivox.report.words import add_row, count_text, grid, print_text, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from parivox.decide.sample_size_plan import Plan

    Row = dict[str, Any]

_ICC_SOURCES = {"given": "given", "pooled": "from the pilot"}
"""Where the correlation within speakers comes from."""
_MAX_SHOWN_RATIO = 100
_MIN_WORTHWHILE_SAVING = 1 / 3
"""Share of speakers that twice the trials must save to be worth it."""
_CURRENT_DESIGN, _DOUBLED_DESIGN = 2, 3
"""Designs with today's trials per speaker and with twice as many, after a quarter and a half."""
_SCOPE_COLUMNS = ("system", "list", "within", "operating_point")
_MIN_SHARE_COUNTED_TWICE = 1.5
"""Trials of all speakers over trials from which on trials count for two speakers each."""
_SUPPORT_HEADING = (
    "Lowest FPR that the nontarget trials support (at least 30 independent errors expected)"
)
_SAME_ATTACKS = full_sentence("attacks_of_pilot")
_FAMILY_COLUMNS = (*_SCOPE_COLUMNS, "grouping", "allocation")


def print_plan(plan: Plan, *, details: bool = False) -> None:
    """Print the plan: with colours in a terminal, plain lines elsewhere."""
    print_text(plan_summary(plan, details=details))


@group()
def plan_summary(plan: Plan, *, details: bool = False) -> Iterator[RenderableType]:
    """Yield what is needed and, of each system and list, what its first operating point shows.

    With `details` for every grouping, else for the first.
    """
    settings = plan.asked
    designs, lists = plan.designs.rows(), plan.lists.rows()
    yield from _condition_table(plan)
    yield from _speakers_needed_lines(designs)
    yield text(
        full_sentence(
            "aim_of_plan",
            power=settings["power"],
            detect_ratio=settings["detect_ratio"],
            confidence=100 * settings["confidence"],
        )
    )
    if not len(plan.groups):
        for (metric,), rows in _rows_by(designs, ("metric",)).items():
            yield from _design_sentences(rows)
            yield from _supported_fpr_table(lists if metric == "fpr" else [])
        return
    first_points: dict[tuple[str, str], str] = {}
    not_shown: dict[str, None] = {}
    for scope, rows in _rows_by(plan.groups.rows(), _SCOPE_COLUMNS).items():
        system, list_, within, point = scope
        # further points and strata are in --json; a line at the end names them
        if within or first_points.setdefault((system, list_), point) != point:
            not_shown.setdefault(f"within {within}" if within else point)
            continue
        title = f"{system} on {list_}, at {point}" if list_ else f"{system}, at {point}"
        if settings["target_fpr"] is not None:
            title += (
                ", the operating point of the pilot nearest to FPR "
                f"{_percent_text(settings['target_fpr'])}"
            )
        yield text(title, style="bold", apart=True)
        groupings = [*dict.fromkeys(row["grouping"] for row in rows)]
        shown_groupings = groupings if details else groupings[:1]
        not_shown |= dict.fromkeys(
            f"{grouping} (also with -v)" for grouping in groupings[len(shown_groupings) :]
        )
        for family, family_rows in _rows_by(rows, _FAMILY_COLUMNS).items():
            if family_rows[0]["grouping"] in shown_groupings:
                yield from _group_tables(family_rows)
                yield from _design_sentences(_rows_by(designs, _FAMILY_COLUMNS).get(family, []))
        yield text(_SUPPORT_HEADING, style="bold", apart=True)
        list_rows = _rows_by(lists, _SCOPE_COLUMNS).get(scope, [])
        yield from _supported_fpr_table(
            [row for row in list_rows if row["grouping"] in {"all", *shown_groupings}]
        )
    yield from _cautions(designs, settings["confidence"])
    if not_shown:
        yield text(full_sentence("not_shown_here", tables=", ".join(not_shown)))


def _cautions(designs: Sequence[Row], confidence: float) -> Iterator[RenderableType]:
    """Yield what the numbers assume, and the confidence for all groups and error types."""
    caution = full_sentence("assumptions_of_plan")
    max_groups = max((row["groups"] for row in designs), default=0)
    if max_groups > 2:
        # verdicts are adjusted for all error types of all groups
        n_error_types = max(len({row["metric"] for row in designs}), 2)
        rates = "both rates" if n_error_types == 2 else "all three rates"
        n_tests = n_error_types * max_groups
        adjusted_confidence = 1 - (1 - confidence) / n_tests
        caution += " " + full_sentence(
            "confidence_for_several_groups",
            rates=rates,
            groups=max_groups,
            adjusted_confidence=adjusted_confidence,
        )
    yield text(caution, apart=True)
    if any(row["metric"] == "sfar" for row in designs):
        yield text(_SAME_ATTACKS)


def _condition_table(plan: Plan) -> Iterator[RenderableType]:
    """Yield how many speakers each group needs for each condition of a policy."""
    rows, settings = plan.conditions.rows(), plan.asked
    if not rows:
        return
    yield text(
        sentence_text(
            "speakers_to_fail_and_pass",
            power=settings["power"],
            detect_ratio=settings["detect_ratio"],
        ),
        style="bold",
    )
    yield text("")
    has_several_systems = len({(row["system"], row["list"]) for row in rows if row["groups"]}) > 1
    table = grid("condition", "by", "to fail", "to pass", left_aligned=(0, 1))
    for row in rows:
        condition = row["condition"]
        if has_several_systems and row["groups"]:
            condition += f", {system_label(row['system'], row['list'])}"
        needed = (count_text(row[f"speakers_to_{outcome}"]) for outcome in ("fail", "pass"))
        add_row(table, condition, row["grouping"] or "–", *needed)
    yield Padding(table, (0, 0, 1, 2))
    if any(row["groups"] and row["reason"] for row in rows):
        yield text(full_sentence("dash_is_no_number"))
        yield text("")
    reasons = [f"{row['condition']}: {reason_text(row)}" for row in rows if not row["groups"]]
    if reasons:
        yield text(f"Not planned: {'; '.join(reasons)}.")


def _speakers_needed_lines(designs: Sequence[Row]) -> Iterator[RenderableType]:
    """Yield how many speakers a group needs at the first operating point, the main result."""
    first_points: dict[tuple[str, str], str] = {}
    for family, rows in _rows_by(designs, _FAMILY_COLUMNS).items():
        system, list_, within, point, grouping, allocation = family
        if within or first_points.setdefault((system, list_), point) != point:
            continue
        n_needed = {
            metric.upper(): metric_rows[_CURRENT_DESIGN]["speakers_needed"]
            for (metric,), metric_rows in _rows_by(rows, ("metric",)).items()
        }
        metrics = [metric for metric, n in n_needed.items() if n]
        if not metrics:
            continue
        metrics.sort(key=lambda metric: -n_needed[metric])
        subject_parts = []
        if system:
            subject_parts.append(system_label(system, list_))
        if grouping:
            allocation_text = "" if allocation in {"", "both"} else f" ({allocation})"
            subject_parts.append(f"by {grouping}{allocation_text}")
        subject = f"{', '.join(subject_parts)}: " if subject_parts else ""
        words = f"{count_text(n_needed[metrics[0]])} speakers needed per group for {metrics[0]}"
        for metric in metrics[1:]:
            words += f", {count_text(n_needed[metric])} for {metric}"
        yield text(f"{subject}{words}", style="bold")


def _rows_by(rows: Sequence[Row], columns: Sequence[str]) -> dict[tuple[Any, ...], list[Row]]:
    """Return rows by their values of some columns."""
    rows_of_key: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        rows_of_key.setdefault(tuple(row[name] for name in columns), []).append(row)
    return rows_of_key


def _group_tables(rows: Sequence[Row]) -> Iterator[RenderableType]:
    """Yield what each group can show today, what the given ratio needs, and why cells are empty."""
    heading = grouping_with_allocation(rows[0]["grouping"], rows[0]["allocation"])
    yield text(heading, style="bold", apart=True)
    for (metric,), metric_rows in _rows_by(rows, ("metric",)).items():
        title = metric.upper()
        table = grid(
            title,
            "speakers",
            "errors",
            "design effect",
            "detects worse",
            "better",
            "speakers needed",
            "trials needed",
            fixed=(0,),
        )
        for row in metric_rows:
            mark = " *" if row["icc_from"] == "pooled" else "  "
            add_row(
                table,
                row["group"],
                count_text(row["speakers"]),
                count_text(row["errors"]),
                "–" if row["deff"] is None else f"{row['deff']:.1f}",
                _ratio_text(row["worse"]),
                _ratio_text(row["better"]),
                count_text(row["speakers_needed"]) + mark,
                count_text(row["trials_needed"]),
            )
        yield Padding(table, (0, 0, 0, 2))
        if any(row["icc_from"] == "pooled" for row in metric_rows):
            yield text("  " + sentence_text("variation_of_all_groups"))
        for (reason,), reason_rows in _rows_by(metric_rows, ("reason",)).items():
            if reason:
                names = ", ".join(row["group"] for row in reason_rows)
                yield text(f"  {title} of {names}: {PLAN_REASONS[reason]}")


def _design_sentences(rows: Sequence[Row]) -> Iterator[RenderableType]:
    """Yield what groups of one size need, and whether more trials would help."""
    for (metric,), metric_rows in _rows_by(rows, ("metric",)).items():
        current, doubled = metric_rows[_CURRENT_DESIGN], metric_rows[_DOUBLED_DESIGN]
        title = metric.upper()
        if current["speakers_needed"] is None:
            yield text(f"{title}: {PLAN_REASONS[current['reason']]}.")
            continue
        trials_each = _mean_count_text(current["trials_per_speaker"])
        n_of_both_sides = current["speakers_needed"] * current["trials_per_speaker"]
        counted_twice = ""
        if n_of_both_sides > _MIN_SHARE_COUNTED_TWICE * current["trials_needed"]:
            counted_twice = ", each counted for both of its speakers"
        yield text(
            full_sentence(
                "speakers_and_trials_needed",
                title=title,
                groups=current["groups"],
                speakers=current["speakers_needed"],
                trials=current["trials_needed"],
                trials_each=trials_each,
                counted_twice=counted_twice,
                rate=_percent_text(current["rate"]),
                icc=current["icc"],
                icc_source=_ICC_SOURCES[current["icc_from"]],
            )
        )
        advice = "add speakers, not trials"
        if doubled["saved"] > _MIN_WORTHWHILE_SAVING:
            advice = "more trials help as well"
        saved_percent = f"{100 * doubled['saved']:.0f}"
        saving = f"reduce the number of speakers needed by {saved_percent} %"
        if saved_percent == "0":
            saving = "hardly reduce the number of speakers needed"
        yield text(
            full_sentence(
                "more_trials_per_speaker",
                more_trials=_mean_count_text(doubled["trials_per_speaker"]),
                trials_each=trials_each,
                saving=saving,
                advice=advice,
            )
        )


def _supported_fpr_table(rows: Sequence[Row]) -> Iterator[RenderableType]:
    """Yield which FPR the lists of the groups support."""
    if not rows:
        return
    target_fpr = rows[0]["target_fpr"]
    columns = ["", "nontarget trials", "design effect", "supports FPR from"]
    if target_fpr is not None:
        columns += [f"FPR {_percent_text(target_fpr)} takes", "known to"]
    table = grid(*columns, fixed=(0,))
    for row in rows:
        supported = row["supported_fpr"]
        cells = [
            "all" if row["grouping"] == "all" else row["group"],
            count_text(row["trials"]),
            "–" if row["deff"] is None else f"{row['deff']:.1f}",
            "–" if supported is None else _percent_text(supported),
        ]
        if target_fpr is not None:
            cells += [count_text(row["trials_needed"]), _precision_text(row["half_width"])]
        add_row(table, *cells)
    yield Padding(table, (1, 0, 0, 2))


def _ratio_text(ratio: float | None) -> str:
    """Return a detectable ratio; very large ones without their digits."""
    if ratio is None:
        return "–"
    return "> × 100" if ratio > _MAX_SHOWN_RATIO else f"× {ratio:.2f}"


def _percent_text(rate: float) -> str:
    """Return a rate in percent, with three digits."""
    return f"{100 * rate:.3g} %"


def _precision_text(width: float | None) -> str:
    """Return the half width of an interval, relative to the rate."""
    if width is None:
        return "–"
    return f"± {100 * width:.0f} %" if width <= 1 else "> ± 100 %"


def _mean_count_text(mean: float) -> str:
    """Return a mean count; small ones with two digits."""
    return f"{mean:,.0f}" if mean >= 10 else f"{mean:.2g}"
