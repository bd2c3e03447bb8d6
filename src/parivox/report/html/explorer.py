"""The threshold explorer: packed counts for the script, and the audited points without it.

Every figure of the explorer is computed in the page (``assets/explorer.js``) from the integer
counts that are packed here. Without JavaScript the page shows the audited points instead.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing import is_far_from_target
from parivox.core.costs import cdet, parse_cost
from parivox.core.counts import Curve
from parivox.options.audit import AuditOptions
from parivox.report.audit_queries import (
    BONA_FIDE_ERRORS,
    VERDICTS,
    Scope,
    error_types,
    groups_left_out,
    has_rate,
    has_several_systems,
    located_points,
    point_as_given,
    rates_by_group,
    scopes,
    scopes_by_grouping,
)
from parivox.report.catalogue import finding_text, gates_text
from parivox.report.charts.curves import error_curves
from parivox.report.overview import group_results, point_in_short
from parivox.report.ratio_strips import SHAPES, SIGNS
from parivox.report.sheets.comparison import audited_points
from parivox.report.words import p_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from parivox.auditing import Audit
    from parivox.core.costs import CostModel
    from parivox.core.counts import FloatArray, IntArray
    from parivox.report.charts.curves import ErrorCurves
    from parivox.report.overview import GroupResult
    from parivox.report.words import Row

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
"""Digits of packed integers: the first 32 are the last digit of an integer, the others are not."""
REASONS = {
    "undefined_value": "no trials",
    "undefined_reference": "no trials",
    "zero_reference": "÷ 0",
    "zero_over_zero": "0/0",
    "zero_own_min": "own is 0",
    "zero_cell": "a group has 0",
    "no_errors": "no errors",
    "one_group": "one group",
    "no_groups": "no groups",
    "too_few": "too few trials",
    "out_of_reach": "out of reach",
    "several_priors": "several priors",
}
"""Short reasons why a figure is missing, infinite or a convention."""
LIMITS = (
    "fpr_low",
    "fpr_high",
    "fnr_low",
    "fnr_high",
    "fpr_ratio_low",
    "fpr_ratio_high",
    "fnr_ratio_low",
    "fnr_ratio_high",
)
"""Columns of interval limits: four of rates, then four of ratios."""
_N_RATE_LIMITS = 4
MAX_RATIO = 1e6
"""Limits of ratios are stored as shares of this, so that the script interpolates them as rates."""
_SCRIPT_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}
_MAX_OPEN_GROUPS = 30
"""Groups that are open at first: those shown to differ and the largest."""
_ALL = "all"

Floors = dict[str, dict[str, str]]
"""Noise floors as text, by row of measures and metric."""


def explorer(audit: Audit) -> dict[str, Any] | None:
    """Return the explorer of an audit for ``explorer.html.j2``; None without scores.

    It is made from the audit's bins and bands, operating points, verdicts and minimum costs.
    """
    by_list: dict[tuple[str, str], list[ErrorCurves]] = {}
    for curves in error_curves(audit):
        by_list.setdefault((curves.system, curves.list), []).append(curves)
    if not by_list:
        return None
    options = audit.record["options"]
    all_groups = group_results(audit)
    sizes = Counter(group.grouping for group in all_groups)
    # groupings that are open in full keep the order of the report
    all_groups.sort(
        key=lambda group: _sort_key(group) if sizes[group.grouping] > _MAX_OPEN_GROUPS else ()
    )
    order = {(group.grouping, group.group): i for i, group in enumerate(all_groups)}
    lists = [_list_data(audit, grouping_curves, order) for grouping_curves in by_list.values()]
    decades = _axis_decades(audit)
    confidence = f"{100 * options['confidence']:g}"
    errors = {metric: f"{words} ({metric.upper()})" for metric, words in BONA_FIDE_ERRORS.items()}
    explorer_data = {
        "lists": lists,
        "decades": decades,
        "models": _cost_models(options["cost"]),
        "alpha": _default_alpha(options["alpha"]),
        "zero": options["zero"],
        "reasons": REASONS,
        "rows": [measure.script_row() for measure in EXPLORER_MEASURES],
        "errors": errors,
        "verdicts": {code: f"{SIGNS[code]} {words}" for code, words in VERDICTS.items()},
        "shapes": SHAPES,
        "confidence": confidence,
        "seen": _MAX_OPEN_GROUPS,
    }
    text = json.dumps(explorer_data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    audited_tables = []
    for scope in next(iter(scopes_by_grouping(list(scopes(audit)))), []):
        point_names = [row["operating_point"] for row in located_points(audit, scope.filters)]
        sheet = audited_points(audit, scope.filters, point_names)
        audited_tables.append(sheet.for_report(f"Every group at the audited points: {scope.label}"))
    return {
        "json": text.translate(_SCRIPT_ESCAPES),
        "audited": audited_tables,
        "has_spoof_trials": "sfar" in error_types(audit),
        "positions": len(lists[0]["thresholds"]),
        "errors": errors,
        "confidence": confidence,
        "where_marked": " in this or another system" if has_several_systems(audit) else "",
        "ticks": [
            (round(100 * i / decades, 2), f"{10.0 ** (i + 2 - decades):g}")
            for i in range(decades + 1)
        ],
    }


def _sort_key(group: GroupResult) -> tuple[bool, int]:
    """Return the sort key: groups shown to differ first, then the largest."""
    return not group.is_shown_to_differ, -(group.speakers or 0)


def _axis_decades(audit: Audit) -> int:
    """Return the decades of the axis of rates: down to a tenth of the smallest audited rate."""
    rows = audit.operating_points.subset(within="").rows()
    rates = [row[metric] for row in rows for metric in BONA_FIDE_ERRORS]
    lowest = min((rate for rate in rates if rate), default=0.01)
    return max(3, 1 + round(-math.log10(lowest)))


def _default_alpha(alphas: Sequence[float]) -> float:
    """Return the initial weight of FPR: one half, if the audit has it."""
    return 0.5 if 0.5 in alphas else alphas[0]


@dataclass(frozen=True)
class ExplorerRanges:
    """Limits of every group's rates at some of the thresholds."""

    nodes: IntArray
    """Indices of thresholds, rising, shape (node,)."""
    limits: FloatArray
    """As `LIMITS`, those of ratios divided by `MAX_RATIO`; NaN for a missing limit.

    Shape (limit, group, node).
    """

    @classmethod
    def from_audit(cls, audit: Audit, curves: ErrorCurves) -> ExplorerRanges:
        """Return the bands of a grouping, at those thresholds that its bins have."""
        band_columns = audit.bands.subset(**curves.filters).to_dict()
        node_by_threshold = {threshold: k for k, threshold in enumerate(curves.thresholds.tolist())}
        threshold_indices = [
            node_by_threshold.get(threshold, -1) for threshold in band_columns["threshold"]
        ]
        nodes = sorted({k for k in threshold_indices if k >= 0})
        column_by_index = {k: j for j, k in enumerate(nodes)}
        row_by_group = {group: i for i, group in enumerate(curves.groups)}
        limits = np.full((len(LIMITS), len(curves.groups), len(nodes)), np.nan)
        for band_index, (group, k) in enumerate(
            zip(band_columns["group"], threshold_indices, strict=True)
        ):
            if k >= 0 and group in row_by_group:
                cells = [band_columns[name][band_index] for name in LIMITS]
                limits[:, row_by_group[group], column_by_index[k]] = np.array(
                    cells, dtype=np.float64
                )
        # ratios become shares below 1, so that the script interpolates them like rates
        limits[_N_RATE_LIMITS:] = np.minimum(limits[_N_RATE_LIMITS:] / MAX_RATIO, 0.9999)
        return cls(np.array(nodes, dtype=np.int64), limits)

    def codes(self) -> list[int]:
        """Return every limit with four digits as one integer: 0 for none, 1 for zero."""
        return [_limit_code(limit) for limit in self.limits.ravel().tolist()]

    def exact(self, threshold_indices: Iterable[int]) -> dict[str, list[float | None]]:
        """Return the limits at some of the nodes with all digits."""
        limits_by_index = {}
        for j, k in enumerate(self.nodes.tolist()):
            if k in threshold_indices:
                cells = self.limits[..., j].ravel().tolist()
                limits_by_index[str(k)] = [None if math.isnan(cell) else cell for cell in cells]
        return limits_by_index


def _limit_code(limit: float) -> int:
    """Return a limit as an integer of its decimal exponent and four digits."""
    if math.isnan(limit):
        return 0
    mantissa, exponent = f"{limit:.3e}".split("e")
    if limit <= 0 or int(exponent) < -12:
        return 1
    # 9000 mantissas of four digits for each exponent, after the codes 0 and 1
    return 2 - 9000 * int(exponent) + int(mantissa.replace(".", "")) - 1000


def _list_data(
    audit: Audit, all_curves: list[ErrorCurves], order: Mapping[tuple[str, str], int]
) -> dict[str, Any]:
    """Return one system on one list: shared thresholds, and its groupings or else all trials."""
    curves_of_all = [curves for curves in all_curves if curves.grouping == _ALL]
    split_curves = [curves for curves in all_curves if curves.grouping != _ALL] or curves_of_all
    # all groupings of a list share their thresholds
    first_curves = (curves_of_all or split_curves)[0]
    points = list(_point_data(audit, first_curves))
    if points:
        start_index = points[0]["k"]
    else:  # the middle of the curve
        fpr, fnr = (
            np.nan_to_num(rates[0], nan=0.5) for rates in (first_curves.fpr, first_curves.fnr)
        )
        start_index = int(np.argmin(np.abs(fpr - fnr)))
    return {
        "system": first_curves.system,
        "list": first_curves.list,
        "thresholds": [
            _json_threshold(threshold) for threshold in first_curves.thresholds.tolist()
        ],
        "points": points,
        "start": start_index,
        "everyone": _packed_counts(first_curves),
        "groupings": [_grouping_data(audit, curves, points, order) for curves in split_curves],
    }


def _point_data(audit: Audit, curves: ErrorCurves) -> Iterator[dict[str, Any]]:
    """Return audited points with their threshold index and the quantity that each holds."""
    index_by_threshold = {
        threshold: index for index, threshold in enumerate(curves.thresholds.tolist())
    }
    for row in audit.operating_points.subset(
        system=curves.system, list=curves.list, within=""
    ).rows():
        index = index_by_threshold.get(row["threshold"])
        if index is None:
            continue
        kind, _, argument = point_as_given(row).partition("=")
        held_quantity, held_rate = "threshold", None
        reached = row.get(kind)
        # a rate that the audited threshold misses by far cannot be held when it moves
        if kind in {"fpr", "fnr"} and (
            reached is None or not is_far_from_target(float(argument), reached)
        ):
            held_quantity, held_rate = kind, float(argument)
        elif kind.startswith("min-cdet"):
            held_quantity = "least"
        name = row["operating_point"]
        words = point_in_short(row) if name == point_as_given(row) else name
        yield {"text": name, "words": words, "k": index, "hold": held_quantity, "at": held_rate}


def _grouping_data(
    audit: Audit,
    curves: ErrorCurves,
    points: Sequence[Mapping[str, Any]],
    order: Mapping[tuple[str, str], int],
) -> dict[str, Any]:
    """Return a grouping of a list's trials with counts, limits and verdicts of its groups."""
    filters = {**curves.filters, "within": ""}
    point_names = [point["text"] for point in points]
    index_by_group = {group: i for i, group in enumerate(curves.groups)}
    n_groups = len(curves.groups)
    gates: dict[str, dict[str, list[str]]] = {}
    verdicts: dict[str, dict[str, str]] = {}
    codes: dict[str, dict[str, list[str]]] = {}
    rates = rates_by_group(audit, filters)
    for row in audit.verdicts.subset(**filters).rows():
        metric, point_name = row["metric"], row["operating_point"]
        if point_name not in point_names or metric not in BONA_FIDE_ERRORS:
            continue
        if not row["group"] and has_rate(metric, point_name, rates):
            verdicts.setdefault(point_name, {})[metric] = finding_text(row)
        elif row["group"] in index_by_group:
            shortfalls = gates.setdefault(point_name, {}).setdefault(metric, [""] * n_groups)
            shortfalls[index_by_group[row["group"]]] = gates_text(row)
            group_codes = codes.setdefault(point_name, {}).setdefault(metric, ["none"] * n_groups)
            # a verdict that only holds because of another group is inconclusive by itself
            group_codes[index_by_group[row["group"]]] = (
                "inconclusive" if row.get("because_of") else row["verdict"]
            )
    minima: dict[str, list[float | None]] = {}
    for row in audit.groups.subset(**filters, metric="min_cdet_norm").rows():
        group_minima = minima.setdefault(row["definition"], [None] * n_groups)
        if row["group"] in index_by_group:
            group_minima[index_by_group[row["group"]]] = row["value"]
    options = audit.record["options"]
    policy = options["zero"][0], _default_alpha(options["alpha"])
    bands = ExplorerRanges.from_audit(audit, curves)
    measures = audit.meta.subset(**filters, gated=True, zero="none").rows()
    return {
        "name": curves.grouping,
        "allocation": curves.allocation,
        "groups": list(curves.groups),
        "order": {
            point_name: _group_order(
                curves, order, gates.get(point_name, {}), codes.get(point_name, {})
            )
            for point_name in point_names or [""]
        },
        **_packed_counts(curves),
        "nodes": bands.nodes.tolist(),
        "limits": packed_integers(bands.codes()),
        "exact": bands.exact({point["k"] for point in points}),
        "gates": gates,
        "leftOut": {
            point_name: _groups_outside_measures(
                measures, point_name, curves.groups, gates.get(point_name, {})
            )
            for point_name in point_names
        },
        "codes": codes,
        "verdicts": verdicts,
        "minima": minima,
        "floors": _noise_floors(audit.meta.subset(**filters).rows(), point_names, *policy),
    }


def _groups_outside_measures(
    measures: Sequence[Row],
    point: str,
    groups: Sequence[str],
    gates: Mapping[str, Sequence[str]],
) -> dict[str, list[bool]]:
    """Return by error type whether measures omit each group, small here or in another system."""
    left_out_by_metric: dict[str, list[bool]] = {}
    for metric in BONA_FIDE_ERRORS:
        rows = [
            row for row in measures if row["metric"] == metric and row["operating_point"] == point
        ]
        omitted_groups = set(groups_left_out(rows))
        shortfalls = gates.get(metric, [""] * len(groups))
        left_out_by_metric[metric] = [
            group in omitted_groups or bool(words)
            for group, words in zip(groups, shortfalls, strict=True)
        ]
    return left_out_by_metric


def _group_order(
    curves: ErrorCurves,
    order: Mapping[tuple[str, str], int],
    gates: Mapping[str, Sequence[str]],
    codes: Mapping[str, Sequence[str]],
) -> list[int]:
    """Return group indices in the order of the report, small groups later, pooled last.

    A group that is shown to differ in one error type is not moved back for the other.
    """
    grouping_label = Scope(
        curves.system, curves.list, curves.grouping, curves.allocation
    ).grouping_label

    def sort_key(group_index: int) -> tuple[bool, bool, int]:
        is_shown_to_differ = any(
            codes[metric][group_index] in {"worse", "better"} and not gates[metric][group_index]
            for metric in codes
        )
        is_small = (
            any(shortfalls[group_index] for shortfalls in gates.values()) and not is_shown_to_differ
        )
        return (
            group_index == len(curves.groups) - 1,
            is_small,
            order.get((grouping_label, curves.groups[group_index]), 0),
        )

    return sorted(range(len(curves.groups)), key=sort_key)


def _noise_floors(
    rows: Iterable[Row], points: Sequence[str], zero: str, alpha: float
) -> dict[str, tuple[Floors, Floors]]:
    """Return noise floors at audited points: of all groups, and of groups above the minimums.

    `zero` and `alpha` are the zero policy and the weight of FPR of these measures.
    """
    table_cells = {
        (metric, name): (measure.id, metric)
        for measure in EXPLORER_MEASURES
        for metric, name in measure.single.items()
    }
    table_cells |= {
        ("fpr+fnr", measure.joint): (measure.id, "both")
        for measure in EXPLORER_MEASURES
        if measure.joint
    }
    floors_by_point: dict[str, tuple[Floors, Floors]] = {}
    for row in rows:
        table_cell = table_cells.get((row["metric"], row["measure"]))
        is_shown = row["zero"] == zero and row["alpha"] in {None, alpha}
        if table_cell is None or not is_shown or row["operating_point"] not in points:
            continue
        if row["value"] is None or row["floor_95"] is None:
            continue
        floor = f"{row['floor_95']:#.4g}".rstrip(".") if row["floor_95"] else "0"
        p = "" if row["p"] is None else f", {p_value(row['p'])}"
        floors = floors_by_point.setdefault(row["operating_point"], ({}, {}))
        floors[row["gated"]].setdefault(table_cell[0], {})[table_cell[1]] = f"floor {floor}{p}"
    return floors_by_point


def _cost_models(names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the cost models of both rates; the default one where all include spoof accepts."""
    costs = [cost for cost in map(parse_cost, names) if not cost.has_spoof]
    return [_cost_model_data(cost) for cost in costs or map(parse_cost, AuditOptions().cost)]


def _cost_model_data(cost: CostModel) -> dict[str, Any]:
    """Return a cost model with the weights of both rates in `parivox.core.costs.cdet`."""
    all_errors, no_errors = np.ones(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    n_trials = np.ones((), dtype=np.int64)
    miss, false_accept = (
        float(cdet(Curve(np.zeros(1), fp, fn, n_trials, n_trials), cost)[0])
        for fp, fn in ((no_errors, all_errors), (all_errors, no_errors))
    )
    return {
        "name": cost.name,
        "p_target": list(cost.p_target),
        "c_miss": cost.c_miss,
        "c_fa": cost.c_fa,
        "miss": miss,
        "fa": false_accept,
    }


def _packed_counts(curves: ErrorCurves) -> dict[str, Any]:
    """Return trials of every group between thresholds, packed, group after group."""
    target = np.diff(curves.fn, axis=-1, append=curves.n_target[:, None])
    nontarget = -np.diff(curves.fp, axis=-1, append=0)
    return {
        "target": packed_integers(target.ravel()),
        "nontarget": packed_integers(nontarget.ravel()),
    }


def packed_integers(numbers: Iterable[int]) -> str:
    """Return non-negative integers as text; small ones take one character.

    Examples
    --------
    >>> packed_integers([0, 31, 32, 1000])
    'AfgBof'
    """
    signs = []
    for number in map(int, numbers):
        remainder = number
        while remainder > 31:
            signs.append(ALPHABET[32 + remainder % 32])
            remainder //= 32
        signs.append(ALPHABET[remainder])
    return "".join(signs)


def _json_threshold(threshold: float) -> float | str:
    """Return a threshold for JSON, which has no infinity."""
    return threshold if math.isfinite(threshold) else str(threshold).replace("inf", "Infinity")


# ---- the table of measures


@dataclass(frozen=True)
class ExplorerMeasure:
    """A row of the explorer's table of meta-measures."""

    id: str
    label: str
    """What it shows."""
    name: str
    """Its name."""
    fair: str
    """Its value for equal rates."""
    single: Mapping[str, str] = field(default_factory=dict)
    """The measure of a single metric, by metric."""
    joint: str = ""
    """The measure of both rates; empty if there is none."""

    def script_row(self) -> dict[str, Any]:
        """Return the row for the script of the report."""
        words = {"id": self.id, "label": self.label, "name": self.name, "fair": self.fair}
        return {**words, "joint": self.joint, **self.single}


def _same_measure(measure: str) -> dict[str, str]:
    return dict.fromkeys(("fpr", "fnr", "cost"), measure)


EXPLORER_MEASURES = (
    ExplorerMeasure(
        "fdr",
        "From the lowest group to the highest",
        "largest − smallest; both: FDR, 1 − weighted",
        "0; FDR 1",
        {"fpr": "fdr_fpd", "fnr": "fdr_fnd"},
        "fdr",
    ),
    ExplorerMeasure(
        "gini",
        "How unevenly errors are shared out",
        "Gini; both: GARBE",
        "0",
        _same_measure("gini"),
        "garbe",
    ),
    ExplorerMeasure(
        "ir",
        "The highest group, in times the lowest",
        "largest / smallest; both: inequity rate, IR",
        "1",
        _same_measure("max_min"),
        "ir",
    ),
    ExplorerMeasure(
        "min_max",
        "The lowest group, as a share of the highest",
        "smallest / largest",
        "1",
        _same_measure("min_max"),
    ),
    ExplorerMeasure(
        "max_geomean",
        "The highest group, in times the typical one",
        "largest / geometric mean",
        "1",
        _same_measure("max_geomean"),
    ),
    ExplorerMeasure(
        "max_mean",
        "The highest group, in times the average",
        "largest / mean",
        "1",
        _same_measure("max_mean"),
    ),
    ExplorerMeasure(
        "nrb",
        "How far groups are from pooled, as a logarithm",
        "mean |ln(group / pooled)|, NRB",
        "0",
        _same_measure("nrb"),
    ),
    ExplorerMeasure(
        "sd",
        "How far groups are from their average",
        "standard deviation",
        "0",
        _same_measure("sd"),
    ),
    ExplorerMeasure(
        "cv",
        "Distance from the average, as a share of the average",
        "standard deviation / mean",
        "0",
        _same_measure("cv"),
    ),
    ExplorerMeasure(
        "eo_diff",
        "The larger of both gaps, lowest to highest",
        "equalised odds: difference",
        "0",
        joint="eo_diff",
    ),
    ExplorerMeasure(
        "eo_ratio",
        "The smaller of two ratios, lowest to highest group: false accept rate, true accept rate",
        "equalised odds: ratio",
        "1",
        joint="eo_ratio",
    ),
)
"""Rows of the explorer's table of measures; the script omits rows it has no function for.

The table has the measures that follow from the rates of the groups and of all trials at one
threshold, except sums over groups (`rb`). Each function is also in ``SINGLE`` or ``JOINT`` of
``report/assets/arithmetic.js``. tests/page/test_arithmetic.py compares script and Python.
"""
