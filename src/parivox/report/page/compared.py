"""Section 7: systems or lists against each other, where there are several and it was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from parivox.report.judged import RATES
from parivox.report.page.views import Grid
from parivox.report.scopes import name_of
from parivox.report.words import chance, percent, span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parivox.auditing.result import Audit
    from parivox.read.table import Table
    from parivox.report.words import Row

__all__ = ["Compared", "compared"]

_KEYS = ("system", "list", "other_system", "other_list")
_OF_ALL = {"eer": "EER", "min_cdet_norm": "Minimum cost", "fnr": "FNR", "fpr": "FPR"}
_SPREADS = {"fdr": "FDR", "ir": "IR", "garbe": "GARBE"}
_RANKS = {"p_more_accurate": "fewer errors", "p_less_spread": "less spread", "p_both": "both"}


@dataclass(frozen=True)
class OfPair:
    """Two systems, or one on two lists."""

    label: str
    speakers: str
    grids: list[Grid]
    ranks: Grid | None


@dataclass(frozen=True)
class Compared:
    """The seventh section."""

    pairs: list[OfPair]
    missing: str


def compared(audit: Audit) -> Compared:
    """Every pair that was compared, or why there is none."""
    pairs = {tuple(row[key] for key in _KEYS): row for row in audit.comparison.rows()}
    made = [_pair(audit, pair, row["speakers"]) for pair, row in pairs.items()]
    missing = ""
    if not made:
        n = len(audit.record["inputs"])
        why = "one system on one list was audited" if n == 1 else "--compare was not asked for"
        missing = f"Nothing was compared: {why}."
    return Compared(made, missing)


def _pair(audit: Audit, pair: tuple[str, ...], speakers: str) -> OfPair:
    rows = audit.comparison.where(**dict(zip(_KEYS, pair, strict=True)), within="")
    one, other = name_of(*pair[:2]), name_of(*pair[2:])
    heads = (one, other, "Difference", "Interval", "p")
    whole = Grid(f"All trials, {one} against {other}", ("Metric", *heads))
    for row in rows.where(grouping="all", measure="value").rows():
        if row["metric"] in _OF_ALL:
            at = f" at {row['operating_point']}" if row["operating_point"] else ""
            how = f" ({row['definition']})" if row["definition"] else ""
            is_share = row["metric"] != "min_cdet_norm"
            label = f"{_OF_ALL[row['metric']]}{', %' if is_share else ''}{at}{how}"
            whole.add(label, *_cells(row, whole, is_share=is_share))
    grids = [whole]
    ranks = Grid(
        "How sure the order is: share of the draws of speakers in which either is better, %",
        ("Of", "Better in", one, other),
        words=(1, 2),
    )
    for grouping in audit.record["groupings"]:
        for allocation in audit.record["options"]["allocate"]:
            own = rows.where(grouping=grouping, allocation=allocation)
            point = _first_point(own)
            if point is None:
                continue
            how = "" if allocation == "both" else f", nontarget trials by {allocation}"
            label = f"{grouping}{how} at {point}"
            grids.append(_spreads(audit, own, label, point, heads))
            grids += _groups(own, label, point, heads)
            for cells in _ranks(own, point):
                ranks.add(f"{label}, {cells[0]}", *cells[1:])
    return OfPair(
        f"{one} against {other}",
        speakers,
        [grid for grid in grids if grid.rows],
        ranks if ranks.rows else None,
    )


def _first_point(rows: Table) -> str | None:
    points = [row["operating_point"] for row in rows.where(metric="fnr", definition="").rows()]
    return points[0] if points else None


def _spreads(audit: Audit, rows: Table, label: str, at: str, heads: tuple[str, ...]) -> Grid:
    """How much groups differ in one and the other."""
    alpha = audit.record["options"]["alpha"][0]
    made = Grid(f"How much groups differ, {label}", ("Measure", *heads))
    for measure, words in _SPREADS.items():
        asked = {"measure": measure, "alpha": alpha, "zero": "none", "operating_point": at}
        for row in rows.where(**asked).rows():
            made.add(f"{words}, alpha {alpha:g}", *_cells(row, made, is_share=False))
    for metric in RATES:
        asked = {"measure": "spread", "metric": metric, "operating_point": at}
        for row in rows.where(**asked).rows():
            if row["value"] is not None:
                made.add(f"Spread of log {metric.upper()}", *_cells(row, made, is_share=False))
    return made


def _groups(rows: Table, label: str, at: str, heads: tuple[str, ...]) -> Iterator[Grid]:
    """Each group's rate in one and the other, on the same draws of speakers."""
    for metric, words in RATES.items():
        made = Grid(
            f"{metric.upper()} ({words}), %, of each group, {label}",
            ("Group", *heads),
            sortable=True,
        )
        asked = {"measure": "value", "metric": metric, "operating_point": at, "definition": ""}
        for row in rows.where(**asked).rows():
            made.add(row["group"], *_cells(row, made, is_share=True))
        made.rows.sort(key=lambda row: row[0] == "pooled")
        made.last = int(bool(made.rows) and made.rows[-1][0] == "pooled")
        yield made


def _ranks(rows: Table, at: str) -> Iterator[tuple[str, ...]]:
    for metric in RATES:
        for measure, words in _RANKS.items():
            asked = {"metric": metric, "operating_point": at, "measure": measure}
            for row in rows.where(**asked).rows():
                if row["value"] is not None:
                    shares = (f"{100 * row[key]:.0f}" for key in ("value", "other"))
                    yield metric.upper(), words, *shares


def _cells(row: Row, made: Grid, *, is_share: bool) -> tuple[str, ...]:
    """A value of both, their difference, its interval and p; shares in percent."""
    times = 100 if is_share else 1
    gap = row["difference"]
    return (
        *(_told(row[key], is_share=is_share) for key in ("value", "other")),
        f"– ({row['reason']})" if gap is None and row["reason"] else _signed(gap, times),
        *_limits(row, made, times),
    )


def _limits(row: Row, made: Grid, times: float) -> tuple[str, str]:
    """Interval and p of a difference, or why it has none."""
    if row["difference"] is None:
        return "", ""
    interval = made.told(span(row["low"], row["high"], times=times), row["reason"])
    why = "no p: none is known to be right for it" if row["high"] is not None else row["reason"]
    return interval, made.told(chance(row["p"]), why)


def _told(value: float | None, *, is_share: bool) -> str:
    if value is None:
        return "–"
    return percent(value).removesuffix(" %") if is_share else f"{value:.4g}"


def _signed(gap: float | None, times: float) -> str:
    return "–" if gap is None else f"{times * gap:+.3g}"
