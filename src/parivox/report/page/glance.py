"""The first lines of section 1: who is shown to fare worse, at a glance."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from parivox.core.verdict import WHY
from parivox.report.judged import RATES, has_rate, judged, rates_of
from parivox.report.page.views import Cell, Grid, listed
from parivox.report.scopes import first_point
from parivox.report.words import percent, short, span

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parivox.auditing.result import Audit
    from parivox.report.judged import Judged, Rates
    from parivox.report.scopes import Scope
    from parivox.report.words import Row

__all__ = ["Glance", "glance"]

_MOST_TOLD = 6
_NO_TRIALS = {"no target trials": "no own trials", "no nontarget trials": "no impostor trials"}


class Glance(NamedTuple):
    """Who fares worse, and a ratio of the table with its limits, to say how it is read."""

    grid: Grid
    example: tuple[str, str, str] | None = None


def glance(audit: Audit, every: Sequence[Scope]) -> Glance:
    """Who is shown to fare worse, in a line for each grouping, at the first operating point."""
    made = Grid(
        "At a glance: who is shown to fare worse, at the first operating point",
        (
            "Of",
            "At",
            "Locked out more",
            "More exposed to impostors",
            "How many groups cannot be told",
        ),
        words=(1, 2, 3, 4, 5),
        wide=(3, 4, 5),
        stacks=True,
    )
    first: Row | None = None
    for scope in every:
        at, rates = first_point(audit, scope.where), rates_of(audit, scope.where)
        of = judged(audit, {**scope.where, "operating_point": at})
        if at is None or not of:
            continue
        known = {metric: of.get(metric, {}) for metric in RATES if has_rate(metric, at, rates)}
        worse = {metric: _worse(rows) for metric, rows in known.items()}
        first = first or next((row for rows in worse.values() for row in rows), None)
        cells = [
            _named(worse[metric], known[metric]) if metric in known else _none(metric, at, rates)
            for metric in RATES
        ]
        made.add(scope.label, at, *cells, "; ".join(_how_many_unknown(known)))
    if not made.rows:
        return Glance(_as_counted(audit, every))
    if first is None:
        return Glance(made)
    return Glance(made, (short(first["ratio"]), short(first["low"]), short(first["high"])))


def _none(metric: str, at: str, rates: Rates) -> str:
    """Why no group has a rate."""
    reasons = dict.fromkeys(one[metric, at]["reason"] for one in rates.values())
    return ", ".join(_NO_TRIALS.get(one, one) for one in reasons)


def _as_counted(audit: Audit, every: Sequence[Scope]) -> Grid:
    """Who was counted to fare worst, where nothing is known of chance."""
    made = Grid(
        "At a glance: who was counted to fare worst, which chance alone may explain",
        ("Of", "At", "Locked out most", "Most exposed to impostors"),
        words=(1, 2, 3, 4),
        wide=(3, 4),
        stacks=True,
    )
    for scope in every:
        at, rates = first_point(audit, scope.where), rates_of(audit, scope.where)
        if at is not None:
            made.add(scope.label, at, *(_highest(rates, metric, at) for metric in RATES))
    return made


def _highest(rates: Rates, metric: str, at: str) -> str:
    """The group with the highest rate, its counts, and how it stands to all together."""
    if not has_rate(metric, at, rates):
        return _none(metric, at, rates)
    rows = {group: one[metric, at] for group, one in rates.items()}
    pooled = rows.pop("pooled", {"value": None})["value"]
    known = [row for row in rows.values() if row["value"]]
    if not known:
        return "no group: no errors"
    most = max(known, key=lambda row: float(row["value"]))
    counts = "" if most["trials"] is None else f" ({most['errors']:,} of {most['trials']:,} trials)"
    times = f", {short(most['value'] / pooled)} times everyone together" if pooled else ""
    return f"{most['group']}: {percent(most['value'])}{counts}{times}"


def _how_many_unknown(of: Judged) -> Iterator[str]:
    """Of how many groups it cannot be told, of either error."""
    words = {"fnr": "lock-outs", "fpr": "impostors"}
    for metric, by_group in of.items():
        rows = by_group.values()
        unknown = sum(row["verdict"] == "cannot_tell" for row in rows)
        yield f"{words[metric]}: {unknown or 'none'} of {len(rows)}"


def _worse(rows: Mapping[str, Row]) -> list[Row]:
    """Groups that fare worse, the furthest off first."""
    worse = (row for row in rows.values() if row["verdict"] == "worse")
    return sorted(worse, key=lambda row: -float(row["ratio"]))


def _named(worse: Sequence[Row], rows: Mapping[str, Row]) -> str | Cell:
    """Groups that fare worse, with their figures."""
    told = [
        f"{row['group']}{'*' if row['gates'] else ''}: {short(row['ratio'])} times "
        f"{span(row['low'], row['high'])}"
        for row in worse
    ]
    if told:
        return Cell("; ".join(listed(told, most=_MOST_TOLD)), "v-worse")
    reasons = {row["reason"] for row in rows.values()}
    if reasons <= {"too_common", "undefined_ratio"} and rows:
        return f"cannot be told: {'; '.join(WHY[one] for one in sorted(reasons))}"
    is_known = rows and all(row["verdict"] != "cannot_tell" for row in rows.values())
    return "no group" if is_known else "no group is shown to" if rows else "–"
