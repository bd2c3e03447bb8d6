"""Sections of groups: rates, attributes crossed, who is taken for whom, measures, comparisons."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from parivox.auditing.options import parse_gates
from parivox.report.disagreements import disagreements
from parivox.report.findings import (
    confounded,
    gates_in_words,
    grouped,
    limits,
    own_thresholds,
    reference_in_words,
    trends,
    worst_tenth,
)
from parivox.report.page.layout import abreast, point_in_words
from parivox.report.scopes import (
    POOLED,
    RATES,
    by_grouping,
    first_point,
    has_rate,
    lacks,
    name_of,
    points,
    rates_of,
    scopes,
    systems,
    verdicts_of,
)
from parivox.report.sheets import comparison
from parivox.report.sheets import groups as tables
from parivox.report.sheets.measures import measures_on_page
from parivox.report.sheets.people import attempts, people, standardised
from parivox.report.sheets.sheet import Sheet
from parivox.report.words import percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parivox.auditing.result import Audit
    from parivox.report.scopes import Rates, Scope
    from parivox.report.sheets.comparison import Pair
    from parivox.report.words import Row


_MOST_PAIRS = 40
"""Pairs of groups in a table: the matrix of the audit has all of them."""


@dataclass(frozen=True)
class AtPoint:
    """All groups at one operating point."""

    at: str
    where: str
    sheets: list[Sheet]
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
    own: Sheet | None
    beside: list[Sheet]


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
        others=reference_in_words(audit),
        gates=gates_in_words(audit),
        inference=parse_gates(options["gate"]).inference,
        confidence=f"{100 * options['confidence']:g}",
        margin=f"{options['margin']:g}",
    )


def _scope(audit: Audit, scope: Scope) -> OfScope:
    where, rates = scope.where, rates_of(audit, scope.where)
    known = points(audit, where)
    at = first_point(audit, where) or ""
    beside = [
        *people(audit, where, at),
        *attempts(audit, where, at),
        *standardised(audit, where, rates, at, audit.record["options"]["standardise"]),
    ]
    own = tables.own_thresholds(audit, where)
    return OfScope(
        label=scope.label,
        n=len(rates.keys() - {POOLED}),
        is_first=scope.grouping == audit.record["groupings"][0],
        points=[_at_point(audit, scope, point, rates) for point in known],
        told=[
            *(words for words, _ in confounded(audit, where)),
            *limits(audit, where, known),
            *worst_tenth(audit, where, at),
            *trends(audit, where, at),
        ],
        own_told=list(own_thresholds(audit, where)),
        own=own and replace(own, title=f"{own.title}, {scope.label}"),
        beside=[*(one.of(scope.label) for one in beside), *_levels(audit, scope, at)],
    )


def _at_point(audit: Audit, scope: Scope, point: Row, rates: Rates) -> AtPoint:
    at = point["operating_point"]
    of = verdicts_of(audit, {**scope.where, "operating_point": at})
    sheets, missing = [], []
    for metric, words in RATES.items():
        if has_rate(metric, at, rates):
            sheet = tables.group_rates(audit, scope.where, metric, at)
            title = f"{metric.upper()}, {words}, of {scope.label} at {at}"
            sheets.append(replace(sheet, title=title).filled(keeps_reasons=True))
        else:
            reasons = dict.fromkeys(one[metric, at]["reason"] for one in rates.values())
            missing.append(f"No {metric.upper()} ({words}): {', '.join(reasons)}.")
    return AtPoint(at, point_in_words(point), sheets, missing, grouped(lacks(of, rates, at)))


def _levels(audit: Audit, scope: Scope, at: str) -> list[Sheet]:
    """Which groups differ within each level of ``--within``."""
    rows = audit.operating_points.where(operating_point=at).rows()
    names = filter(None, dict.fromkeys(row["within"] for row in rows))
    rates = {level: rates_of(audit, {**scope.where, "within": level}) for level in names}
    known = {level: of for level, of in rates.items() if of}
    found = tables.levels(audit, scope.where, known, at)
    title = f"{scope.label} within each level, at {at} and the same thresholds"
    return [replace(found, title="").of(title)] if found else []


# ---- two attributes, and systems beside each other


class Crossed(NamedTuple):
    """Tables of both errors, which stand beside each other."""

    label: str
    sheets: list[Sheet]

    @property
    def notes(self) -> list[str]:
        """Why margins are missing."""
        return [*dict.fromkeys(note for one in self.sheets for note in one.notes)]


def crosstabs(audit: Audit) -> list[Crossed]:
    """FNR and FPR of every grouping of two attributes at the first operating point."""
    made = []
    for scope in scopes(audit):
        at = first_point(audit, scope.where)
        sheets = [] if at is None else comparison.crosstabs(audit, scope.where, at)
        if sheets:
            made.append(Crossed(f"{scope.label} at {at}", [*map(_named, sheets)]))
    return made


def by_system(audit: Audit) -> list[Crossed]:
    """Groups down, systems and lists across, where there are several of either."""
    names = systems(audit)
    made: list[Crossed] = []
    if len(names) == 1:
        return made
    kinds = sorted(scopes(audit), key=lambda one: audit.record["groupings"].index(one.grouping))
    for (grouping, allocation), same in groupby(kinds, key=lambda one: one[2:]):
        first = next(same)
        asked = [
            ({**name, "grouping": grouping, "allocation": allocation, "within": ""}, at)
            for name in names
            if (at := first_point(audit, name)) is not None
        ]
        at = ", ".join(dict.fromkeys(at for _, at in asked))
        sheets = comparison.by_system(audit, first.of, asked)
        made.append(Crossed(f"{first.of} at {at}", [*map(_named, sheets)]))
    return made


def _named(sheet: Sheet) -> Sheet:
    """With a capital over the names of rows."""
    first, *rest = sheet.columns
    capital = first._replace(head=first.head[:1].upper() + first.head[1:])
    return replace(sheet, columns=[capital, *rest])


# ---- who is taken for whom


def pairs(audit: Audit) -> list[Sheet]:
    """The pairs of groups with trials, the highest false accept rate first, of each system."""
    made = []
    for name in systems(audit):
        at = first_point(audit, name)
        for grouping in audit.record["groupings"]:
            asked = {**name, "grouping": grouping, "operating_point": at, "within": ""}
            rows = [row for row in audit.matrix.where(**asked).rows() if row["trials"]]
            if not rows:
                continue
            rows.sort(key=lambda row: -(row["value"] or 0))
            left = len(rows) - _MOST_PAIRS
            rest = f"; {left} more pairs with lower rates are left out" if left > 0 else ""
            sheet = Sheet.headed(
                f"False accepts between groups of {name_of(*name.values())} by {grouping} at {at}, "
                f"without intervals, as pairs of speakers recur in several cells{rest}",
                ("Enrolled", "Test", "FPR, %", "Errors", "Trials"),
                words=(1, 2),
                is_sortable=True,
            )
            for row in rows[:_MOST_PAIRS]:
                sheet.add(
                    row["enrol_group"],
                    row["test_group"],
                    percent(row["value"]).removesuffix(" %"),
                    "–" if row["errors"] is None else f"{row['errors']:,}",
                    f"{row['trials']:,}",
                )
            made.append(sheet)
    return made


def offenders(audit: Audit) -> list[Sheet]:
    """A table of each system, grouping and error."""
    made: dict[tuple[str, ...], Sheet] = {}
    for row in audit.offenders.rows():
        keys = ("system", "list", "grouping", "allocation", "metric", "operating_point")
        label = tuple(row[key] for key in keys)
        if label not in made:
            made[label] = Sheet.headed(
                f"Speakers with most errors ({row['metric'].upper()}) of "
                f"{name_of(row['system'], row['list'])} by {row['grouping']} at "
                f"{row['operating_point']}",
                ("Group", "Speaker", "Errors", "Trials", "Share of the group's errors, %"),
                words=(1, 2),
                is_sortable=True,
            )
        made[label].add(
            row["group"],
            row["speaker"],
            f"{row['errors']:,}",
            f"{row['trials']:,}",
            "–" if row["share"] is None else f"{100 * row['share']:.0f}",
        )
    return list(made.values())


# ---- measures of fairness


@dataclass(frozen=True)
class MeasuresOf:
    """The measures of one grouping of one system."""

    label: str
    is_first: bool
    sheets: list[Sheet]
    disagree: list[str]


@dataclass(frozen=True)
class Measures:
    """The sixth section."""

    scopes: list[list[MeasuresOf]]
    between: list[str]
    gates: str

    @property
    def has_disagreements(self) -> bool:
        """Whether any grouping has a sentence of them."""
        return any(one.disagree for of in self.scopes for one in of)


def measures(audit: Audit) -> Measures:
    """Tables of meta-measures, and where they contradict each other."""
    within, between = disagreements(audit)
    first = audit.record["groupings"][0]
    made = [
        [
            MeasuresOf(
                scope.label,
                scope.grouping == first,
                _measures(audit, scope),
                within.get(scope, []),
            )
            for scope in of
        ]
        for of in by_grouping(list(scopes(audit)))
    ]
    return Measures(scopes=abreast(made), between=between, gates=gates_in_words(audit))


def _measures(audit: Audit, scope: Scope) -> list[Sheet]:
    at = first_point(audit, scope.where) or ""
    found = measures_on_page(audit, scope.where, at)
    return [replace(one, title=f"{one.title}, {scope.label} at {at}") for one in found]


# ---- systems or lists against each other, where there are several and it was asked for


_RANKS = {"more accurate": "fewer errors"}


@dataclass(frozen=True)
class OfPair:
    """Two systems, or one on two lists."""

    label: str
    speakers: str
    sheets: list[Sheet]
    ranks: Sheet | None


@dataclass(frozen=True)
class Compared:
    """The section."""

    pairs: list[OfPair]
    missing: str


def compared(audit: Audit) -> Compared:
    """Every pair that was compared, or why there is none."""
    made = [_pair(one) for one in comparison.pairs(audit)]
    missing = ""
    if not made:
        n = len(audit.record["inputs"])
        why = "one system on one list was audited" if n == 1 else "--compare was not asked for"
        missing = f"Nothing was compared: {why}."
    return Compared(made, missing)


def _pair(pair: Pair) -> OfPair:
    ranks = Sheet.headed(
        "How sure the order is: share of the draws of speakers in which either is better, %",
        ("Of", "Better in", *pair.names),
        _ranks(pair),
        words=(1, 2),
    )
    sheets = [one for one in _sheets(pair) if one.rows]
    return OfPair(pair.label, pair.speakers, sheets, ranks if ranks.rows else None)


def _sheets(pair: Pair) -> Iterator[Sheet]:
    yield replace(pair.whole, title="").of(f"All trials, {pair.label}")
    for split in pair.splits:
        yield replace(split.spreads, title="").of(f"How much groups differ, {split.label}")
        for one in split.groups:
            yield replace(one.of(""), title=f"{one.title}, {split.label}", is_sortable=True)


def _ranks(pair: Pair) -> Iterator[tuple[str, ...]]:
    for split in pair.splits:
        for metric, what, one, other in split.ranks:
            shares = (f"{100 * share:.0f}" for share in (one, other))
            yield f"{split.label}, {metric}", _RANKS.get(what, what), *shares
