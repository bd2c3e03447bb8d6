"""Section 2: every group's rates, how sure they are, and which groups are too small to count."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from parivox.auditing.options import parse_gates
from parivox.core import verdict
from parivox.report.beside import standardised, trends
from parivox.report.confounding import confounded
from parivox.report.judged import (
    INTERVAL_IS_SHORT,
    IS_REFERENCE,
    RATES,
    VERDICTS,
    differing_told,
    gates_told,
    grouped,
    has_rate,
    judged,
    lacks,
    others_told,
    rates_of,
)
from parivox.report.own_thresholds import own_told
from parivox.report.page.views import Cell, Grid, of_sheet, point_told, rate_cells
from parivox.report.people import attempts, limits, people, tenth
from parivox.report.scopes import first_point, points, scopes
from parivox.report.sheet import POOLED
from parivox.report.words import chance, number, percent, short, span

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parivox.auditing.result import Audit
    from parivox.report.judged import Rates
    from parivox.report.scopes import Scope
    from parivox.report.words import Row

__all__ = ["Groups", "groups"]

_SIGNS = {"worse": "▲ ", "better": "▼ "}
_OWN = {"eer": "EER, %", "min_cdet_norm": "Minimum cost"}


@dataclass(frozen=True)
class AtPoint:
    """All groups at one operating point."""

    at: str
    where: str
    grids: list[Grid]
    missing: list[str]
    lacking: str


@dataclass(frozen=True)
class OfScope:
    """All groups of one grouping of one system."""

    label: str
    n: int
    is_first: bool
    points: list[AtPoint]
    told: list[str]
    own_told: list[tuple[str, str]]
    own: Grid | None
    beside: list[Grid]


@dataclass(frozen=True)
class Groups:
    """The second section."""

    scopes: list[OfScope]
    others: str
    gates: str
    inference: int
    confidence: str
    margin: str


def groups(audit: Audit) -> Groups:
    """Tables of every system and grouping."""
    options = audit.record["options"]
    return Groups(
        scopes=[_scope(audit, one) for one in scopes(audit)],
        others=others_told(audit),
        gates=gates_told(audit),
        inference=parse_gates(options["gate"]).inference,
        confidence=f"{100 * options['confidence']:g}",
        margin=f"{options['margin']:g}",
    )


def _scope(audit: Audit, scope: Scope) -> OfScope:
    where, rates = scope.where, rates_of(audit, scope.where)
    known = points(audit, where)
    at = first_point(audit, where) or ""
    tables = [
        *people(audit, where, at),
        *attempts(audit, where, at),
        *standardised(audit, where, rates, at, audit.record["options"]["standardise"]),
    ]
    levels = _levels(audit, scope, at)
    return OfScope(
        label=scope.label,
        n=len(rates.keys() - {POOLED}),
        is_first=scope.grouping == audit.record["groupings"][0],
        points=[_at_point(audit, scope, point, rates) for point in known],
        told=[
            *(words for words, _ in confounded(audit, where)),
            *limits(audit, where, known),
            *tenth(audit, where, at),
            *trends(audit, where, at),
        ],
        own_told=list(own_told(audit, where)),
        own=_own(audit, scope),
        beside=[of_sheet(one, scope.label) for one in tables] + ([levels] if levels else []),
    )


def _at_point(audit: Audit, scope: Scope, point: Row, rates: Rates) -> AtPoint:
    at = point["operating_point"]
    of = judged(audit, {**scope.where, "operating_point": at})
    grids, missing = [], []
    for metric, words in RATES.items():
        if has_rate(metric, at, rates):
            grids.append(_every(audit, scope, metric, at, rates, of.get(metric, {})))
        else:
            reasons = dict.fromkeys(one[metric, at]["reason"] for one in rates.values())
            missing.append(f"No {metric.upper()} ({words}): {', '.join(reasons)}.")
    return AtPoint(at, point_told(point), grids, missing, grouped(lacks(of, rates, at)))


def _every(
    audit: Audit, scope: Scope, metric: str, at: str, rates: Rates, of: Mapping[str, Row]
) -> Grid:
    """Every group's rate, its counts and its verdict, the highest rate first."""
    made = Grid(
        f"{metric.upper()}, {RATES[metric]}, of {scope.label} at {at}",
        (
            *("Group", "Verdict", "Speakers", f"{metric.upper()}, %", "Interval"),
            *("Errors / trials", "Design effect", "Effective trials"),
            *(f"Times {others_told(audit)}", "Interval", "p, adjusted"),
        ),
        words=(1, 2),
        last=int(POOLED in rates),
        sortable=True,
    )
    order = sorted(rates, key=lambda g: (g == POOLED, -(rates[g][metric, at]["value"] or -1), g))
    for group in order:
        row, told = rates[group][metric, at], of.get(group)
        mark = " *" if told and told["gates"] else ""
        tilde = " ~" if INTERVAL_IS_SHORT in row["note"] else ""
        cells = [number(row["speakers"]), *rate_cells(row, made, mark=tilde)]
        against = told if row["value"] is not None else None
        cells += [*_worth(row, made), *_compared(against, made, others_told(audit))]
        made.add(f"{group}{mark}", _verdict(told), *cells)
    return made.filled(keeps_reasons=True)


def _verdict(told: Row | None) -> str | Cell:
    """What is said of a group, by a sign, too."""
    if told is None:
        return ""
    if told["reason"] == IS_REFERENCE:
        return "reference"
    code = told["verdict"]
    words = f"{_SIGNS.get(code, '')}{VERDICTS[code]}"
    return Cell(words, f"v-{code}") if code in _SIGNS else words


def _worth(row: Row, made: Grid) -> tuple[str, str]:
    """How much less the trials tell than so many independent ones would."""
    if row["value"] is None:
        return "", ""
    why = re.split("[:;]", row["note"])[0]
    why = why and f"no design effect: {why}"
    worth = number(None if row["n_eff"] is None else round(row["n_eff"]))
    return made.told(short(row["deff"]), why), made.told(worth, why)


def _compared(told: Row | None, made: Grid, others: str) -> tuple[str, str, str]:
    """A group against the others; empty for what is not compared."""
    if told is None:
        return "", "", ""
    if told["reason"] == IS_REFERENCE:
        return "1", "", ""
    ratio = None if told["ratio"] in {None, math.inf} else told["ratio"]
    cells = (short(ratio), span(told["low"], told["high"]), chance(told["p_holm"]))
    one, interval, p = (made.told(cell, _why(told["reason"], others)) for cell in cells)
    return one, interval, p


def _why(reason: str, others: str) -> str:
    """Why a group has no ratio, or one without interval or p."""
    if reason == "undefined_ratio":
        return f"no ratio: {others} has no errors, or no trials"
    if reason == "no_interval":
        return f"no interval: the group or {others} has too few speakers or errors"
    return str(verdict.WHY.get(reason or "no_p", reason))


def _own(audit: Audit, scope: Scope) -> Grid | None:
    """What groups have at thresholds of their own: how hard they are for the system."""
    found: dict[str, list[str]] = {}
    heads: list[str] = []
    made = Grid(f"Each group at the threshold that suits it best, {scope.label}", (), sortable=True)
    for metric, words in _OWN.items():
        rows = audit.groups.where(**scope.where, metric=metric).rows()
        for definition in dict.fromkeys(row["definition"] for row in rows):
            heads += [f"{words} ({definition})", "Interval"]
            times = 100 if metric == "eer" else 1
            for row in (one for one in rows if one["definition"] == definition):
                cells = found.setdefault(row["group"], [number(row["speakers"])])
                if row["value"] is None:
                    cells += [made.dash(row["reason"]), ""]
                    continue
                interval = span(row["low"], row["high"], times=times)
                value = f"{times * row['value']:#.3g}".rstrip(".")
                cells += [value, made.told(interval, row["note"])]
    if not heads:
        return None
    made = replace(made, heads=("Group", "Speakers", *heads), last=int(POOLED in found))
    for group, cells in found.items():
        made.add(group, *cells)
    return made.filled(keeps_reasons=True)


def _levels(audit: Audit, scope: Scope, at: str) -> Grid | None:
    """Which groups differ within each level of --within."""
    levels = [row["within"] for row in audit.operating_points.where(operating_point=at).rows()]
    made = Grid(
        f"{scope.label} within each level, at {at} and the same thresholds",
        ("Level", "FNR", "Groups that differ (times)", "FPR", "Groups that differ (times)"),
        words=(1, 3, 5),
        wide=(3, 5),
    )
    for level in filter(None, dict.fromkeys(levels)):
        where = {**scope.where, "within": level}
        pooled = rates_of(audit, where).get(POOLED)
        of = judged(audit, {**where, "operating_point": at})
        if pooled is not None:
            cells = []
            for metric in RATES:
                row = pooled[metric, at]
                interval = made.told(span(row["low"], row["high"], times=100), row["note"])
                rate = f"{percent(row['value'])} {interval}".removesuffix(" –")
                told = differing_told(of.get(metric, {}))
                cells += [made.dash(row["reason"]), ""] if row["value"] is None else [rate, told]
            made.add(level, *cells)
    return made if made.rows else None
