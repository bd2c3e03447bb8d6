"""Section 6: bias measures and meta-measures beside what a fair system would show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from parivox.report.judged import BOTH, RATES, gates_told
from parivox.report.page.disagreements import disagreements
from parivox.report.page.views import Grid, abreast, by_grouping
from parivox.report.plain import why, why_no_p
from parivox.report.scopes import first_point, scopes
from parivox.report.words import chance, number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parivox.auditing.result import Audit
    from parivox.report.scopes import Scope
    from parivox.report.words import Row

__all__ = ["Measures", "measures"]

_JOINT = ("fdr", "ir", "garbe")
_JOINT_TOO = ("au_fdr", "eo_diff", "eo_ratio")
_QUOTED = ("tau_log", "max_min")
_OF_RATES = (
    *("max_geomean", "max_mean", "gini", "nrb", "cv", "sd"),
    *("fdr_fpd", "fdr_fnd", "ir_fpd", "ir_fnd", "var_corrected", "var_double_corrected"),
)
WORDS = {
    "fdr": "FDR",
    "ir": "IR",
    "garbe": "GARBE",
    "au_fdr": "area under FDR",
    "eo_diff": "equalised odds difference",
    "eo_ratio": "equalised odds ratio",
    "tau_log": "tau_log (spread beyond noise)",
    "max_min": "largest / smallest",
    "max_geomean": "largest / geometric mean",
    "max_mean": "largest / mean",
    "gini": "Gini",
    "nrb": "NRB",
    "cv": "coefficient of variation",
    "sd": "standard deviation",
    "fdr_fpd": "FPD of FDR",
    "fdr_fnd": "FND of FDR",
    "ir_fpd": "FPD of IR",
    "ir_fnd": "FND of IR",
    "var_corrected": "variance beyond noise",
    "var_double_corrected": "the same, twice corrected",
}
"""Names of measures in tables."""


@dataclass(frozen=True)
class OfScope:
    """The measures of one grouping of one system."""

    label: str
    is_first: bool
    grids: list[Grid]
    disagree: list[str]


@dataclass(frozen=True)
class Measures:
    """The sixth section."""

    scopes: list[list[OfScope]]
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
            OfScope(
                scope.label,
                scope.grouping == first,
                list(_grids(audit, scope, first_point(audit, scope.where) or "")),
                within.get(scope, []),
            )
            for scope in of
        ]
        for of in by_grouping(list(scopes(audit)))
    ]
    return Measures(scopes=abreast(made), between=between, gates=gates_told(audit))


def _grids(audit: Audit, scope: Scope, at: str) -> Iterator[Grid]:
    """Meta-measures of the rates at one operating point: those that are quoted, and the others."""
    rows = audit.meta.where(**scope.where, zero="none").rows()
    kept = [row for row in rows if row["operating_point"] == at or row["measure"] == "au_fdr"]
    sizes = {row["gated"]: row["groups"] for row in kept if row["metric"] == BOTH}
    has_gated = sizes.get(True) != sizes.get(False)
    told = [row for row in kept if not row["gated"] or has_gated or _differs(row, kept)]
    joint, more = ([(BOTH, measure) for measure in of] for of in (_JOINT, _JOINT_TOO))
    quoted, others = ([(m, one) for one in of for m in RATES] for of in (_QUOTED, _OF_RATES))
    for words, order in (("Measures", joint + quoted), ("Further measures", more + others)):
        made = Grid(
            f"{words} of how much groups differ, {scope.label} at {at}",
            (
                *("Measure", "Groups", "Value", "Varies within", "Fair system: mean"),
                *("95 % within", "p", "Fairer", "Least", "Most"),
            ),
            words=(1, 8, 9, 10),
        )
        for row in _ordered(told, order):
            made.add(*_cells(row, made))
        if made.rows:
            yield made.filled()


def _differs(row: Row, rows: list[Row]) -> bool:
    """Whether a gated row is of other groups than its counterpart of all groups."""
    same = ("metric", "measure", "alpha", "operating_point")
    return any(
        not one["gated"] and all(one[k] == row[k] for k in same) and one["groups"] != row["groups"]
        for one in rows
    )


def _ordered(rows: list[Row], order: list[tuple[str, str]]) -> list[Row]:
    place = {pair: i for i, pair in enumerate(order)}
    known = [row for row in rows if (row["metric"], row["measure"]) in place]
    return sorted(
        known,
        key=lambda row: (
            place[row["metric"], row["measure"]],
            -1 if row["alpha"] is None else row["alpha"],
            row["gated"],
        ),
    )


def _cells(row: Row, made: Grid) -> tuple[str, ...]:
    label = WORDS[row["measure"]]
    if row["metric"] in RATES:
        label = f"{label} of {row['metric'].upper()}"
    if row["measure"] == "au_fdr":
        label = f"{label} over {row['operating_point']}"
    if row["definition"]:
        label = f"{label} ({row['definition']})"
    if row["alpha"] is not None:
        label = f"{label}, alpha {row['alpha']:g}"
    which = "without *" if row["gated"] else "all"
    is_there = row["value"] is not None
    no_p = why_no_p(row)
    return (
        label,
        f"{number(row['groups'])} ({which})",
        told(row["value"]) if is_there else f"– ({why(row['reason'])})",
        f"[{told(row['low'])}, {told(row['high'])}]"
        if row["high"] is not None
        else made.dash(_note(row))
        if is_there
        else "",
        *_floor(row, made),
        made.dash(f"no p: {no_p}") if no_p else "" if row["p"] is None else chance(row["p"]),
        "higher" if row["higher_is_fairer"] else "lower",
        row["low_group"] or "",
        row["high_group"] or "",
    )


def _note(row: Row) -> str:
    """Why a measure that has a value has no interval."""
    return str(row["note"] or "no interval: none is known to be right for it")


def _floor(row: Row, made: Grid) -> tuple[str, str]:
    """What fair systems show on average, and what 95 % of them do not exceed."""
    if row["value"] is None:
        return "", ""
    if row["floor_95"] is None:
        none = made.dash("no floor: no fair system was drawn for it")
        return none, none
    return told(row["floor_mean"]), _beyond(row)


def _beyond(row: Row) -> str:
    """The floor that 95 % of fair systems do not exceed, and which side of it the value is on."""
    is_beyond = (row["value"] < row["floor_95"]) == row["higher_is_fairer"] and (
        row["value"] != row["floor_95"]
    )
    return f"{told(row['floor_95'])} {'▲ exceeded' if is_beyond else ''}".rstrip()


def told(value: float | None) -> str:
    """A measure, which has no unit."""
    if value is None:
        return "–"
    return f"{value:.3f}" if 0.0995 <= abs(value) < 1 else f"{value:.3g}"
