"""Tables of systems or lists against each other: terminal and page."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from parivox.core.measures import meta_measures
from parivox.report.scopes import POOLED, RATES, name_of
from parivox.report.sheets.sheet import UNDEFINED, Cell, Sheet
from parivox.report.words import chance, percent, span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parivox.auditing.result import Audit
    from parivox.read.table import Table
    from parivox.report.words import Row

_KEYS = ("system", "list", "other_system", "other_list")
_OF_ALL = {"eer": "EER", "min_cdet_norm": "min cost", "fnr": "FNR", "fpr": "FPR"}
_RANKS = {"p_more_accurate": "more accurate", "p_less_spread": "less spread", "p_both": "both"}


class Split(NamedTuple):
    """A grouping of two systems at the first operating point of both.

    Attributes
    ----------
    label : str
    spreads : Sheet
        How much groups differ in one and the other.
    groups : list of Sheet
        Each group's rate in one and the other, on the same draws of speakers.
    ranks : list of (metric, what, share of one, share of the other)
        The share of the draws of speakers in which either is better.
    """

    label: str
    spreads: Sheet
    groups: list[Sheet]
    ranks: list[tuple[str, str, float, float]]


class Pair(NamedTuple):
    """Two systems, or one on two lists: all trials, and each grouping."""

    names: tuple[str, str]
    speakers: str
    whole: Sheet
    splits: list[Split]

    @property
    def label(self) -> str:
        """Both names."""
        return " against ".join(self.names)


def pairs(audit: Audit) -> Iterator[Pair]:
    """Every pair of systems and lists that was compared."""
    found = {tuple(row[key] for key in _KEYS): row for row in audit.comparison.rows()}
    for pair, row in found.items():
        rows = audit.comparison.where(**dict(zip(_KEYS, pair, strict=True)), within="")
        names = (name_of(*pair[:2]), name_of(*pair[2:]))
        splits = [
            split
            for grouping in audit.record["groupings"]
            for allocation in audit.record["options"]["allocate"]
            if (split := _split(audit, rows, grouping, allocation, names))
        ]
        yield Pair(names, row["speakers"], _whole(rows, names), splits)


def _headed(title: str, first: str, names: tuple[str, str], rows: Iterator[list[Cell]]) -> Sheet:
    heads = (first, *names, "difference", "[interval]", "p")
    return Sheet.headed(title, heads, rows)


def _whole(rows: Table, names: tuple[str, str]) -> Sheet:
    """All trials in one and the other."""
    told = [r for r in rows.where(grouping="all", measure="value").rows() if r["metric"] in _OF_ALL]
    every = [(row["metric"], row["operating_point"]) for row in told]

    def label(row: Row) -> str:
        at = f" at {row['operating_point']}" if row["operating_point"] else ""
        is_one = every.count((row["metric"], row["operating_point"])) == 1
        how = "" if is_one else f" ({row['definition']})"
        return f"{_OF_ALL[row['metric']]}{at}{how}"

    cells = (_cells(row, label(row), is_share=row["metric"] != "min_cdet_norm") for row in told)
    return _headed("", "all trials", names, cells)


def _split(
    audit: Audit, every: Table, grouping: str, allocation: str, names: tuple[str, str]
) -> Split | None:
    rows = every.where(grouping=grouping, allocation=allocation)
    points = [row["operating_point"] for row in rows.where(metric="fnr", definition="").rows()]
    if not points:
        return None
    how = "" if allocation == "both" else f", nontarget trials by {allocation}"
    label = f"{grouping}{how} at {points[0]}"
    at = rows.where(operating_point=points[0])
    spreads = _headed("", label, names, _spreads(audit, at))
    sheets = [_groups(at, metric, names) for metric in RATES]
    return Split(label, spreads, [one for one in sheets if one.rows], list(_ranks(at)))


def _spreads(audit: Audit, rows: Table) -> Iterator[list[Cell]]:
    alpha = audit.record["options"]["alpha"][0]
    for measure in (one for one in meta_measures().values() if one.is_joint):
        for row in rows.where(measure=measure.id, alpha=alpha, zero="none").rows():
            if measure.shown == "first":
                yield _cells(row, measure.short, is_share=False)
    for metric in RATES:
        for row in rows.where(measure="spread", metric=metric).rows():
            if row["value"] is not None:
                yield _cells(row, f"spread of log {metric.upper()}", is_share=False)


def _groups(rows: Table, metric: str, names: tuple[str, str]) -> Sheet:
    """A rate of each group in one and the other."""
    told = rows.where(measure="value", metric=metric, definition="").rows()
    told.sort(key=lambda row: row["group"] == POOLED)
    cells = (_cells(row, row["group"], is_share=True) for row in told)
    return _headed(f"{metric.upper()} ({RATES[metric]}) of each group", "group", names, cells)


def _ranks(rows: Table) -> Iterator[tuple[str, str, float, float]]:
    for metric in RATES:
        for measure, words in _RANKS.items():
            for row in rows.where(metric=metric, measure=measure).rows():
                if row["value"] is not None:
                    yield metric.upper(), words, row["value"], row["other"]


def _cells(row: Row, label: str, *, is_share: bool) -> list[Cell]:
    """A value of both, their difference, its interval and p; shares in percent."""
    times, gap, why = 100 if is_share else 1, row["difference"], row["reason"]

    def told(value: float | None) -> str:
        if value is None:
            return UNDEFINED
        return percent(value) if is_share else f"{value:.4g}"

    no_p = "no p: none is known to be right for it" if row["high"] is not None else why
    return [
        Cell(label),
        Cell(told(row["value"]), why=why),
        Cell(told(row["other"]), why=why),
        Cell(UNDEFINED if gap is None else f"{times * gap:+.3g}", why=why),
        Cell(span(row["low"], row["high"], times=times), why=why),
        Cell(chance(row["p"]), why=no_p),
    ]
