"""Meta-measures beside what a fair system would show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.report.exports.printed import UNDEFINED, Column, Printed
from parivox.report.plain import why, why_no_p
from parivox.report.scopes import name_of
from parivox.report.words import Row, chance, number

if TYPE_CHECKING:
    from collections.abc import Iterable

    from parivox.auditing.result import Audit

__all__ = ["NAMES", "measures"]

NAMES = {
    "tau_log": "tau_log",
    "fdr": "FDR",
    "fdr_fpd": "FPD",
    "fdr_fnd": "FND",
    "ir": "IR",
    "ir_fpd": "IR, FPR",
    "ir_fnd": "IR, FNR",
    "garbe": "GARBE",
    "gini": "Gini",
    "nrb": "NRB",
    "rb": "RB",
    "max_min": "max / min",
    "min_max": "min / max",
    "max_geomean": "max / geometric mean",
    "max_mean": "max / mean",
    "sd": "standard deviation",
    "cv": "coefficient of variation",
    "eo_diff": "equalised odds, difference",
    "eo_ratio": "equalised odds, ratio",
    "au_fdr": "auFDR",
    "var_corrected": "corrected variance",
    "var_double_corrected": "twice corrected variance",
}
_OF = {"fnr": "FNR", "fpr": "FPR", "fpr+fnr": "both"}
_PLAIN = "Without intervals nothing tells how much of it is chance."
_FLOORS = (
    "Fair: what a fair system would show with these speakers and trials, on average and at most "
    "in 95 %; p: how often it would show as much. Not exceeding it is no proof of fairness."
)


def measures(audit: Audit, where: Row, at: str) -> Printed:
    """Every meta-measure of both rates at an operating point, of the groups that count."""
    alpha = audit.record["options"]["alpha"][0]
    asked = {**where, "operating_point": at, "zero": "none"}
    rows = [
        row
        for row in audit.meta.where(**asked).rows()
        if row["metric"] in _OF and row["alpha"] in {None, alpha}
    ]
    counted = [row for row in rows if row["gated"]]
    is_gated = any(row["value"] is not None for row in counted)
    rows = counted if is_gated else [row for row in rows if not row["gated"]]
    known = list(NAMES)
    rows.sort(key=lambda row: (known.index(row["measure"]), list(_OF).index(row["metric"])))
    whose = "groups that are not under-represented" if is_gated else "all groups"
    name = name_of(where["system"], where["list"])
    columns = (
        Column("measure", is_words=True),
        Column("of", is_words=True),
        *map(Column, ("groups", "value", "fair, mean", "fair, 95 %", "p")),
        Column("fairer", is_words=True),
    )
    return Printed(
        title=f"{name}: spread over {where['grouping']} at {at}, {whose}",
        reading=_FLOORS if any(row["floor_mean"] is not None for row in rows) else _PLAIN,
        columns=columns,
        rows=tuple(_cells(row) for row in rows if row["value"] is not None),
        notes=(*_undefined([row for row in rows if row["value"] is None]), *_without_p(rows)),
    ).filled()


def _cells(row: Row) -> tuple[str, ...]:
    name = NAMES[row["measure"]]
    return (
        name if row["alpha"] is None else f"{name}, alpha {row['alpha']:g}",
        _OF[row["metric"]],
        number(row["groups"]),
        *(_number(row[column]) for column in ("value", "floor_mean", "floor_95")),
        chance(row["p"]),
        "higher" if row["higher_is_fairer"] else "lower",
    )


def _undefined(rows: list[Row]) -> list[str]:
    found = _by_reason((why(row["reason"] or row["note"]), row) for row in rows)
    return [f"Undefined, as {reason}: {', '.join(names)}." for reason, names in found.items()]


def _without_p(rows: list[Row]) -> list[str]:
    """Why measures have no p; nothing, if none has one."""
    if all(row["floor_95"] is None for row in rows):
        return []
    found = _by_reason((reason, row) for row in rows if (reason := why_no_p(row)))
    return [f"No p, as {reason}: {', '.join(names)}." for reason, names in found.items()]


def _by_reason(rows: Iterable[tuple[str, Row]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for reason, row in rows:
        found.setdefault(reason, []).append(f"{NAMES[row['measure']]} of {_OF[row['metric']]}")
    return found


def _number(value: float | None) -> str:
    if value is None:
        return UNDEFINED
    return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:#.3g}".rstrip(".")
