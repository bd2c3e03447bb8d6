"""The functional criteria of fairness measures (FFMC) in numbers, of any audit with a sweep.

See docs/methods/meta-measures.md#functional-criteria.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.result import Audit, load
from parivox.auditing.schema import TableBuilder
from parivox.core.measures import BOTH, RATES, meta_measures
from parivox.errors import ConfigError
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
    },
}
"""Columns of each table, in order, with their kinds."""
MET, NOT_MET, NOT_TRIED = "met", "not met", "not tried"
_SILENT = ("zero_cell", "zero_over_zero")
"""Reasons of a ratio of the largest to the smallest rate that tell of a group without errors."""
_MEND = "audit again with --sweep fpr=0.001:0.1:log100 --alpha 0:1:0.1"


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

    def write(self, folder: str | os.PathLike[str]) -> None:
        """Write every table as CSV, all or none of them.

        Raises
        ------
        ConfigError
            If the folder cannot be written.
        """
        with explain_write_errors(os.fsdecode(folder), "folder"), atomic_folder(folder) as aside:
            for name, table in self.tables().items():
                table.write(aside / f"{name}.csv")


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
    of = audit if isinstance(audit, Audit) else load(audit)
    if not len(of.sweep):
        msg = f"the audit has no sweep of thresholds; {_MEND}"
        raise ConfigError(msg)
    rows = of.sweep.where(zero="none").rows()
    if not rows:
        msg = "the sweep has no rates as they are, which these are of; audit with --zero none"
        raise ConfigError(msg)
    swept, floors = _by_scope(rows), _by_scope(of.meta.where(zero="none", gated=False).rows())
    making = {name: TableBuilder(columns) for name, columns in TABLES.items()}
    own = TABLES["thresholds"].keys() - _KEY
    joint = [one for one in meta_measures().values() if one.terms]
    for scope, found in swept.items():
        for measure in joint:
            key = {**dict(zip(SCOPE, scope, strict=True)), "measure": measure.id}
            each = [*_thresholds(measure, found)]
            for one in each:
                making["thresholds"].add(**key, **{name: one[name] for name in own})
            making["measures"].add(**key, **_summed(measure, each))
            for one in _floors(measure, floors.get(scope, {})):
                making["floors"].add(**key, **one)
    return Criteria(**{name: rows.table() for name, rows in making.items()})


_ByMeasure = dict[tuple[str, str], "dict[str, list[Mapping[str, Any]]]"]


def _by_scope(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, ...], _ByMeasure]:
    """Rows by their scope, then by metric and measure, then by operating point."""
    found: dict[tuple[str, ...], _ByMeasure] = {}
    for row in rows:
        of = found.setdefault(tuple(row[name] for name in SCOPE), {})
        at = of.setdefault((row["metric"], row["measure"]), {})
        at.setdefault(row["operating_point"], []).append(row)
    return found


def _thresholds(measure: MetaMeasure, found: _ByMeasure) -> Iterator[dict[str, Any]]:
    """What each threshold of the sweep shows of a measure."""
    assert measure.terms is not None
    for point, rows in found[BOTH, measure.id].items():
        terms = [found[key][point][0]["value"] for key in zip(RATES, measure.terms, strict=True)]
        fpd, fnd = terms
        ratio = np.log10(fpd / fnd) if fpd and fnd else None
        values = [row["value"] for row in rows if row["value"] is not None]
        extremes = (found[metric, "max_min"][point][0]["reason"] for metric in RATES)
        yield {
            "operating_point": point,
            "threshold": rows[0]["threshold"],
            "groups": rows[0]["groups"],
            "weights": len(rows),
            "fpr_term": fpd,
            "fnr_term": fnd,
            "log10_ratio": ratio,
            "least": min(values, default=None),
            "most": max(values, default=None),
            "silent": any(reason in _SILENT for reason in extremes),
            "defined": len(values) / len(rows),
        }


def _summed(measure: MetaMeasure, each: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What all thresholds of the sweep show of a measure."""
    least, most = ([one[end] for one in each if one[end] is not None] for end in ("least", "most"))
    quiet = [one["defined"] for one in each if one["silent"]]
    known = [one for one in each if one["fpr_term"] is not None and one["fnr_term"] is not None]
    above = [(one["operating_point"], one["fpr_term"] > one["fnr_term"]) for one in known]
    ratios = [abs(one["log10_ratio"]) for one in each if one["log10_ratio"] is not None]
    weights = each[0]["weights"]
    moved = [one["most"] - one["least"] for one in each if one["defined"] == 1 and weights > 1]
    return {
        "groups": max(one["groups"] for one in each),
        "thresholds": len(each),
        "weights": weights,
        "fpr_term": _median([one["fpr_term"] for one in known]),
        "fnr_term": _median([one["fnr_term"] for one in known]),
        "log10_apart": _median(ratios),
        "change_places": ", ".join(to for (_, one), (to, other) in pairwise(above) if one != other),
        "moved": _median(moved),
        "least": min(least, default=None),
        "most": max(most, default=None),
        "bounded": MET if np.isfinite(measure.bounds).all() else NOT_MET,
        "silent": len(quiet),
        "defined": float(np.mean([one["defined"] for one in each])),
        "defined_silent": float(np.mean(quiet)) if quiet else None,
        "computable": NOT_TRIED if not quiet else MET if min(quiet) == 1 else NOT_MET,
    }


def _median(values: Sequence[float]) -> float | None:
    return float(np.median(values)) if values else None


def _floors(measure: MetaMeasure, found: _ByMeasure) -> Iterator[dict[str, Any]]:
    """A measure and its terms beside what a fair system shows, at the audit's operating points."""
    assert measure.terms is not None
    parts = (*zip(RATES, measure.terms, strict=True), (BOTH, measure.id))
    columns = TABLES["floors"].keys() - _KEY - {"term"}
    for point in found.get((BOTH, measure.id), {}):
        for metric, one in parts:
            for row in found[metric, one][point]:
                yield {"term": metric, **{name: row[name] for name in columns}}
