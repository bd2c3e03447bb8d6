"""Groups of which nothing is known but their rates: no intervals, and so no verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.padding import Padding

from parivox.core.measures import meta_measures
from parivox.report.words import add, grid, number, percent, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import RenderableType
    from rich.table import Table as Grid

    from parivox.auditing.result import Audit
    from parivox.report.words import Row

    Rates = Mapping[str, Mapping[tuple[str, str], Row]]

__all__ = ["plain_groups", "plain_levels", "sizes", "why", "why_no_p"]

_REASONS = {
    "zero_cell": "a group has no errors",
    "one_group": "there is one group",
    "no_groups": "no group has the rate",
    "no_errors": "no group has errors",
}


def plain_groups(
    audit: Audit, where: Row, rates: Rates, points: Sequence[Row], point: Row
) -> Iterator[RenderableType]:
    """Who fares worst and best at each point, then every group at the first point."""
    groups = [group for group in rates if group != "pooled"]
    extremes = _extremes(rates, groups, points)
    if extremes.row_count:
        yield Padding(extremes, (0, 0, 1, 2))
    at = point["operating_point"]
    told = "as decided" if point["threshold"] is None else f"threshold {point['threshold']:.6g}"
    yield text(
        f"Every group at {at}, {told}. FNR: target trials rejected "
        "(locked out); FPR: nontarget trials accepted (impostors let in); x: times pooled"
    )
    made = grid("group", "speakers", "FNR", "errors / trials", "x", "FPR", "errors / trials", "x")
    order = sorted(groups, key=lambda g: -(rates[g]["fnr", at]["value"] or 0))
    for group in [*order, "pooled"]:
        fnr, fpr = rates[group]["fnr", at], rates[group]["fpr", at]
        add(
            made,
            group,
            number(fnr["speakers"]),
            *_rate(fnr, rates["pooled"]["fnr", at]),
            *_rate(fpr, rates["pooled"]["fpr", at]),
            dim=group == "pooled",
        )
    yield Padding(made, (0, 0, 0, 2))
    yield from _spread(audit, {**where, "operating_point": at, "within": ""})


def sizes(rates: Rates) -> Grid:
    """How many speakers and trials each group has, where there are no rates."""
    made = grid("group", "speakers", "target trials", "nontarget trials")
    for group, found in rates.items():
        row = next(iter(found.values()))
        counts = (row["speakers"], row["target_trials"], row["nontarget_trials"])
        add(made, group, *map(number, counts), dim=group == "pooled")
    return made


def plain_levels(levels: Mapping[str, Rates], point: str) -> Grid:
    """Who fares worst within each level, against the level's own pooled row."""
    made = grid(
        *("within", "FNR", "locked out most", "x", "errors"),
        *("FPR", "let impostors in most", "x", "errors"),
        left=(0, 2, 6),
    )
    made.columns[0].no_wrap = True
    for level, rates in levels.items():
        cells = []
        for metric in ("fnr", "fpr"):
            pooled = rates["pooled"][metric, point]["value"]
            found = [one[metric, point] for group, one in rates.items() if group != "pooled"]
            found = sorted((row for row in found if row["value"] is not None), key=_value)
            cells.append(percent(pooled))
            if not found or not pooled:
                cells += ["–", "–", "–"]
                continue
            worst = found[-1]
            ratio = f"{worst['value'] / pooled:.2f}"
            cells += [worst["group"], ratio, f"{worst['errors']:,}"]
        add(made, level, *cells)
    return made


def _extremes(rates: Rates, groups: Sequence[str], points: Sequence[Row]) -> Grid:
    """Who fares worst and best at each point."""
    made = grid(
        *("at", "who", "group", "rate", "x pooled", "errors / trials, speakers"), left=(0, 1, 2, 5)
    )
    for point in points:
        at = point["operating_point"]
        for metric, words in (("fnr", "locked out"), ("fpr", "let impostors in")):
            found = [rates[group][metric, at] for group in groups]
            found = sorted((row for row in found if row["value"] is not None), key=_value)
            pooled = rates["pooled"][metric, at]["value"]
            if len(found) < 2 or not pooled or found[0]["value"] == found[-1]["value"]:
                continue
            for word, row in (("most", found[-1]), ("least", found[0])):
                whom = "" if row["speakers"] is None else f", {row['speakers']:,} speakers"
                add(
                    made,
                    at,
                    f"{words} {word}",
                    row["group"],
                    percent(row["value"]),
                    f"{row['value'] / pooled:.2f}",
                    f"{row['errors']:,} / {row['trials']:,}{whom}",
                )
    return made


def _value(row: Row) -> float:
    return float(row["value"])


def _rate(row: Row, pooled: Row) -> tuple[str, str, str]:
    if row["value"] is None:
        return "–", row["reason"], "–"
    ratio = f"{row['value'] / pooled['value']:.2f}" if pooled["value"] else "–"
    return percent(row["value"]), f"{row['errors']:,} / {row['trials']:,}", ratio


def _spread(audit: Audit, where: Row) -> Iterator[RenderableType]:
    """The meta-measures in a line, each with its direction."""
    told = []
    alpha = audit.record["options"]["alpha"][0]
    for measure in ("fdr", "ir", "garbe"):
        for row in audit.meta.where(**where, measure=measure, zero="none", alpha=alpha).rows():
            value = (
                f"undefined ({why(row['reason'])})"
                if row["value"] is None
                else f"{row['value']:.4g}"
            )
            word = "higher" if row["higher_is_fairer"] else "lower"
            told.append(f"{measure.upper()} (alpha {alpha:g}) {value} ({word} is fairer)")
    if told:
        yield text("Spread over groups: " + ", ".join(told) + ".")


def why(reason: str) -> str:
    """Why a meta-measure is undefined, in words."""
    return _REASONS.get(reason, reason)


def why_no_p(row: Row) -> str:
    """Why a meta-measure that has a value has no p; empty where it has one."""
    if row["value"] is None or row["p"] is not None:
        return ""
    if row["floor_95"] is None:
        return "no fair system is drawn"
    if row["metric"] == "fpr" and not meta_measures()[row["measure"]].has_p_of_fpr:
        return (
            "up to 9 in 100 fair systems, not 5, exceeded its floor in simulation: that says less"
        )
    return "a group has no errors, and so no logarithm"
