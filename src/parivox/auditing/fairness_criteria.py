"""The functional criteria of fairness measures (FFMC) in numbers, of any audit with a sweep.

See docs/methods/bias-measures.md#functional-criteria.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.arguments import check_arguments
from parivox.auditing.result import Audit, load
from parivox.auditing.schema import TableBuilder
from parivox.core.measures import BOTH, RATES, meta_measures
from parivox.errors import ConfigError
from parivox.facts import VALUES_COLUMN, cell_of_row
from parivox.renamed import renamed_attribute
from parivox.runtime.disk import atomic_folder, explain_write_errors
from parivox.shown import NotebookView

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parivox.core.registry import MetaMeasure
    from parivox.data.table import Table

SCOPE = ("system", "list", "grouping", "allocation", "within")
_KEY = {**dict.fromkeys(SCOPE, "str"), "measure": "str"}
_TERMS = {"fpr_term": "float", "fnr_term": "float"}
TABLES: dict[str, dict[str, str]] = {
    "measures": {
        **_KEY,
        "groups": "int",
        "thresholds": "int",
        "weights": "int",
        **_TERMS,
        "log10_apart": "float",
        "change_places": "str",
        "moved": "float",
        "least": "float",
        "most": "float",
        "bounded": "str",
        "silent": "int",
        "defined": "float",
        "defined_silent": "float",
        "computable": "str",
    },
    "thresholds": {
        **_KEY,
        "operating_point": "str",
        "threshold": "float",
        **_TERMS,
        "log10_ratio": "float",
        "least": "float",
        "most": "float",
        "silent": "bool",
        "defined": "float",
    },
    "floors": {
        **_KEY,
        "operating_point": "str",
        "term": "str",
        "alpha": "float",
        "value": "float",
        "floor_mean": "float",
        "floor_95": "float",
        "p": "float",
        "reason": "str",
        VALUES_COLUMN: "str",
    },
}
"""Columns of each table, in order, with their kinds."""
MET, NOT_MET, NOT_TRIED = "met", "not met", "not tried"
_ERROR_FREE_REASONS = ("zero_cell", "zero_over_zero")
"""Reasons of a ratio of the largest to the smallest rate that tell of a group without errors."""
_HINT = "audit again with --sweep fpr=0.001:0.1:log100 --alpha 0:1:0.1"


@dataclass(frozen=True, eq=False, repr=False)
class Criteria(NotebookView):
    """What the criteria come to, for each measure that joins both rates.

    Rates without errors are taken as they are (zero policy ``none``), all groups count, gated or
    not.

    Attributes
    ----------
    measures : Table
        FFMC.1, without a verdict as there is no limit to hold it against: medians of both terms
        over thresholds, of the absolute log10 of their ratio (``log10_apart``) and of how far the
        measure moves over all weights (``moved``); where the terms change places. FFMC.2: whether
        its definition bounds it (``bounded``), the least and most that was seen. FFMC.3: thresholds
        at which a group has no errors (``silent``), shares of values that are defined, and
        ``computable``.
    thresholds : Table
        The same of each threshold of the sweep.
    floors : Table
        FFMC.4, which is ours: both terms, and the measure at each weight, beside what a fair system
        shows at the audit's operating points.
    """

    measures: Table
    thresholds: Table
    floors: Table

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name} {len(table)}" for name, table in self.tables().items())
        return f"<Criteria; rows: {sizes}>"

    def tables(self) -> dict[str, Table]:
        """Every table by name."""
        return {name: getattr(self, name) for name in TABLES}

    def to_json(self) -> str:
        """All of it as JSON."""
        tables = {name: table.to_dict() for name, table in self.tables().items()}
        return json.dumps(tables, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    @check_arguments
    def save(self, folder: str | os.PathLike[str]) -> None:
        """Save every table as CSV, all or none of them.

        Raises
        ------
        ConfigError
            If the folder cannot be written.
        """
        with explain_write_errors(os.fsdecode(folder), "folder"), atomic_folder(folder) as aside:
            for name, table in self.tables().items():
                table.write_file(aside / f"{name}.csv")

    write = renamed_attribute("Criteria.write", "save")


def criteria(audit: Audit | str | os.PathLike[str]) -> Criteria:
    """Tell how far FDR, IR and GARBE meet the criteria FFMC.1 to FFMC.4 on an audit.

    Parameters
    ----------
    audit
        An audit with a sweep, or its folder.

    Raises
    ------
    ConfigError
        If it has no sweep, or none of rates as they are.
    DataError
        If the folder holds no audit.
    """
    loaded = audit if isinstance(audit, Audit) else load(audit)
    if not len(loaded.sweep):
        msg = "the audit has no sweep of thresholds"
        raise ConfigError(msg, _HINT)
    rows = loaded.sweep.subset(zero="none").rows()
    if not rows:
        msg = "the sweep has no rates without smoothing, which these criteria need"
        hint = "audit again with --zero none"
        raise ConfigError(msg, hint)
    sweep_by_scope = _rows_by_scope(rows)
    meta_by_scope = _rows_by_scope(loaded.meta.subset(zero="none", gated=False).rows())
    tables = {name: TableBuilder(columns) for name, columns in TABLES.items()}
    threshold_columns = TABLES["thresholds"].keys() - _KEY
    joint_measures = [measure for measure in meta_measures().values() if measure.terms]
    for scope, rows_by_measure in sweep_by_scope.items():
        for measure in joint_measures:
            key_columns = {**dict(zip(SCOPE, scope, strict=True)), "measure": measure.id}
            threshold_rows = [*_threshold_rows(measure, rows_by_measure)]
            for row in threshold_rows:
                tables["thresholds"].add(
                    **key_columns, **{name: row[name] for name in threshold_columns}
                )
            tables["measures"].add(**key_columns, **_measure_row(measure, threshold_rows))
            for row in _floor_rows(measure, meta_by_scope.get(scope, {})):
                tables["floors"].add(**key_columns, **row)
    return Criteria(**{name: rows.table() for name, rows in tables.items()})


_RowsByMeasure = dict[tuple[str, str], "dict[str, list[Mapping[str, Any]]]"]


def _rows_by_scope(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, ...], _RowsByMeasure]:
    """Return rows by their scope, then by metric and measure, then by operating point."""
    rows_by_scope: dict[tuple[str, ...], _RowsByMeasure] = {}
    for row in rows:
        rows_by_measure = rows_by_scope.setdefault(tuple(row[name] for name in SCOPE), {})
        rows_by_point = rows_by_measure.setdefault((row["metric"], row["measure"]), {})
        rows_by_point.setdefault(row["operating_point"], []).append(row)
    return rows_by_scope


def _threshold_rows(
    measure: MetaMeasure, rows_by_measure: _RowsByMeasure
) -> Iterator[dict[str, Any]]:
    """Yield the figures of a measure at each threshold of the sweep."""
    assert measure.terms is not None
    for point, rows in rows_by_measure[BOTH, measure.id].items():
        fpr_term, fnr_term = (
            rows_by_measure[key][point][0]["value"]
            for key in zip(RATES, measure.terms, strict=True)
        )
        # without a logarithm where a term is 0 or undefined
        ratio = np.log10(fpr_term / fnr_term) if fpr_term and fnr_term else None
        defined_values = [row["value"] for row in rows if row["value"] is not None]
        extremes = (rows_by_measure[metric, "max_min"][point][0]["reason"] for metric in RATES)
        yield {
            "operating_point": point,
            "threshold": rows[0]["threshold"],
            "groups": rows[0]["groups"],
            # a row for each alpha, the weight of FPR
            "weights": len(rows),
            "fpr_term": fpr_term,
            "fnr_term": fnr_term,
            "log10_ratio": ratio,
            "least": min(defined_values, default=None),
            "most": max(defined_values, default=None),
            "silent": any(reason in _ERROR_FREE_REASONS for reason in extremes),
            "defined": len(defined_values) / len(rows),
        }


def _measure_row(
    measure: MetaMeasure, threshold_rows: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the figures of a measure over all thresholds of the sweep."""
    minima, maxima = (
        [row[end] for row in threshold_rows if row[end] is not None] for end in ("least", "most")
    )
    defined_shares = [row["defined"] for row in threshold_rows if row["silent"]]
    rows_with_terms = [
        row for row in threshold_rows if row["fpr_term"] is not None and row["fnr_term"] is not None
    ]
    changes = [
        later["operating_point"]
        for earlier, later in pairwise(rows_with_terms)
        if (earlier["fpr_term"] > earlier["fnr_term"]) != (later["fpr_term"] > later["fnr_term"])
    ]
    computable = NOT_TRIED
    if defined_shares:
        computable = MET if min(defined_shares) == 1 else NOT_MET
    ratios = [abs(row["log10_ratio"]) for row in threshold_rows if row["log10_ratio"] is not None]
    weights = threshold_rows[0]["weights"]
    moves = [
        row["most"] - row["least"] for row in threshold_rows if row["defined"] == 1 and weights > 1
    ]
    return {
        "groups": max(row["groups"] for row in threshold_rows),
        "thresholds": len(threshold_rows),
        "weights": weights,
        "fpr_term": _median([row["fpr_term"] for row in rows_with_terms]),
        "fnr_term": _median([row["fnr_term"] for row in rows_with_terms]),
        "log10_apart": _median(ratios),
        "change_places": ", ".join(changes),
        "moved": _median(moves),
        "least": min(minima, default=None),
        "most": max(maxima, default=None),
        "bounded": MET if np.isfinite(measure.bounds).all() else NOT_MET,
        "silent": len(defined_shares),
        "defined": float(np.mean([row["defined"] for row in threshold_rows])),
        "defined_silent": float(np.mean(defined_shares)) if defined_shares else None,
        "computable": computable,
    }


def _median(values: Sequence[float]) -> float | None:
    return float(np.median(values)) if values else None


def _floor_rows(measure: MetaMeasure, rows_by_measure: _RowsByMeasure) -> Iterator[dict[str, Any]]:
    """Yield a measure and its terms with their noise floors, at the audit's operating points."""
    assert measure.terms is not None
    metrics_and_measures = (*zip(RATES, measure.terms, strict=True), (BOTH, measure.id))
    columns = TABLES["floors"].keys() - _KEY - {"term", "reason", VALUES_COLUMN}
    for point in rows_by_measure.get((BOTH, measure.id), {}):
        for metric, measure_id in metrics_and_measures:
            for row in rows_by_measure[metric, measure_id][point]:
                yield {
                    "term": metric,
                    **{name: row[name] for name in columns},
                    "reason": cell_of_row(row, "reason"),
                }
