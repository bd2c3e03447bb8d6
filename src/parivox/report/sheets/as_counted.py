"""Tables of groups of which nothing is known but their rates: no intervals, and so no verdicts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from parivox.report.scopes import POOLED, RATES
from parivox.report.sheets.sheet import UNDEFINED, Sheet
from parivox.report.words import number, percent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from parivox.report.scopes import Rates
    from parivox.report.words import Row


def both_rates(rates: Rates, at: str, title: str) -> Sheet:
    """Every group at a point, the highest FNR first, each rate in times that of all together."""
    heads = ("group", "speakers", "FNR", "errors / trials", "x", "FPR", "errors / trials", "x")
    groups = [group for group in rates if group != POOLED]
    order = sorted(groups, key=lambda g: -(rates[g]["fnr", at]["value"] or 0))
    rows = [
        (
            group,
            number(rates[group]["fnr", at]["speakers"]),
            *_rate(rates[group]["fnr", at], rates[POOLED]["fnr", at]),
            *_rate(rates[group]["fpr", at], rates[POOLED]["fpr", at]),
        )
        for group in [*order, POOLED]
    ]
    return Sheet.headed(title, heads, rows)


def _rate(row: Row, pooled: Row) -> tuple[str, str, str]:
    if row["value"] is None:
        return UNDEFINED, row["reason"], UNDEFINED
    counts = f"{row['errors']:,} / {row['trials']:,}"
    return percent(row["value"]), counts, _times(row["value"], pooled["value"])


def _times(value: float, pooled: float | None) -> str:
    return f"{value / pooled:.2f}" if pooled else UNDEFINED


def sizes(rates: Rates) -> Sheet:
    """How many speakers and trials each group has, where there are no rates."""
    keys = ("speakers", "target_trials", "nontarget_trials")
    first = {group: next(iter(found.values())) for group, found in rates.items()}
    rows = [(group, *(number(row[key]) for key in keys)) for group, row in first.items()]
    return Sheet.headed("", ("group", "speakers", "target trials", "nontarget trials"), rows)


def extremes(rates: Rates, points: Iterable[Row]) -> Sheet:
    """Who fares worst and best at each point."""
    made = Sheet.headed(
        "",
        ("at", "who", "group", "rate", "x pooled", "errors / trials, speakers"),
        words=(1, 2, 3, 6),
    )
    for point in points:
        at = point["operating_point"]
        for metric, words in (("fnr", "locked out"), ("fpr", "let impostors in")):
            found = _ranked(rates, metric, at)
            pooled = rates[POOLED][metric, at]["value"]
            if len(found) < 2 or not pooled or found[0]["value"] == found[-1]["value"]:
                continue
            for word, row in (("most", found[-1]), ("least", found[0])):
                whom = "" if row["speakers"] is None else f", {row['speakers']:,} speakers"
                made.add(
                    at,
                    f"{words} {word}",
                    row["group"],
                    percent(row["value"]),
                    _times(row["value"], pooled),
                    f"{row['errors']:,} / {row['trials']:,}{whom}",
                )
    return made


def worst_of_levels(levels: Mapping[str, Rates], at: str) -> Sheet:
    """Who fares worst within each level, against the level's own pooled row."""
    made = Sheet.headed(
        "",
        (
            *("within", "FNR", "locked out most", "x", "errors"),
            *("FPR", "let impostors in most", "x", "errors"),
        ),
        words=(1, 3, 7),
    )
    for level, rates in levels.items():
        cells = []
        for metric in RATES:
            pooled, found = rates[POOLED][metric, at]["value"], _ranked(rates, metric, at)
            cells.append(percent(pooled))
            if not found or not pooled:
                cells += [UNDEFINED] * 3
                continue
            worst = found[-1]
            cells += [worst["group"], _times(worst["value"], pooled), f"{worst['errors']:,}"]
        made.add(level, *cells)
    first, *others = made.columns
    return replace(made, columns=[first._replace(is_whole=True), *others])


def _ranked(rates: Rates, metric: str, at: str) -> Sequence[Row]:
    """Rows of the groups that have a rate, the lowest first."""
    rows = [one[metric, at] for group, one in rates.items() if group != POOLED]
    return sorted((row for row in rows if row["value"] is not None), key=lambda row: row["value"])
