"""The threshold explorer: counts that let a page move its threshold, and what it shows unmoved.

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
from parivox.report.audit_queries import (
    ERROR_TYPES,
    VERDICTS,
    Scope,
    groups_left_out,
    has_rate,
    has_several_systems,
    located_points,
    point_as_given,
    rates_by_group,
    scopes,
    scopes_by_grouping,
)
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
"""Digits of packed integers: the first 32 end one, the others say that more digits follow."""
REASONS = {
    "undefined_value": "no trials",
    "undefined_reference": "no trials",
    "zero_reference": "0 there",
    "zero_over_zero": "0/0",
    "zero_own_min": "own is 0",
    "zero_cell": "a group has 0",
    "no_errors": "no errors",
    "one_group": "one group",
    "no_groups": "no group",
    "too_few": "too few trials",
    "out_of_reach": "out of reach",
    "several_priors": "several priors",
}
"""Why a figure is missing, infinite or a convention, as short as a table wants it."""
LIMITS = (
    *("fpr_low", "fpr_high", "fnr_low", "fnr_high"),
    *("fpr_ratio_low", "fpr_ratio_high", "fnr_ratio_low", "fnr_ratio_high"),
)
MOST_RATIO = 1e6
"""Limits of ratios are kept as parts of this, below 1, so that they are interpolated as rates."""
_IN_SCRIPT = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}
_MOST_SEEN = 30
"""Groups that are seen before others are asked for: those shown to differ and the largest."""
_ALL = "all"

Floors = dict[str, dict[str, str]]
"""What a fair system would show in words, by row of measures and metric."""


def explorer(audit: Audit) -> dict[str, Any] | None:
    """The explorer of an audit, as ``explorer.html.j2`` takes it.

    None where there is no threshold to move. Read are the audit's bins and bands, operating
    points, gates and smallest costs.
    """
    by_list: dict[tuple[str, str], list[ErrorCurves]] = {}
    for one in error_curves(audit):
        by_list.setdefault((one.system, one.list), []).append(one)
    if not by_list:
        return None
    options = audit.record["options"]
    every = group_results(audit)
    sizes = Counter(line.grouping for line in every)
    every.sort(key=lambda line: _rank(line) if sizes[line.grouping] > _MOST_SEEN else ())
    order = {(line.grouping, line.group): i for i, line in enumerate(every)}
    lists = [_list(audit, several, order) for several in by_list.values()]
    decades = _decades(audit)
    confidence = f"{100 * options['confidence']:g}"
    errors = {m: f"{words} ({m.upper()})" for m, words in ERROR_TYPES.items()}
    data = {
        "lists": lists,
        "decades": decades,
        "models": [_model(parse_cost(name)) for name in options["cost"]],
        "alpha": _weight(options["alpha"]),
        "zero": options["zero"],
        "reasons": REASONS,
        "rows": [one.packed() for one in EXPLORED],
        "errors": errors,
        "verdicts": {code: f"{SIGNS[code]} {words}" for code, words in VERDICTS.items()},
        "shapes": SHAPES,
        "confidence": confidence,
        "seen": _MOST_SEEN,
    }
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    audited = []
    for scope in next(iter(scopes_by_grouping(list(scopes(audit)))), []):
        known = [row["operating_point"] for row in located_points(audit, scope.filters)]
        sheet = audited_points(audit, scope.filters, known)
        audited.append(sheet.for_report(f"Every group at the audited points: {scope.label}"))
    return {
        "json": text.translate(_IN_SCRIPT),
        "audited": audited,
        "positions": len(lists[0]["thresholds"]),
        "errors": errors,
        "confidence": confidence,
        "where_marked": " here or in another system" if has_several_systems(audit) else "",
        "ticks": [
            (round(100 * i / decades, 2), f"{10.0 ** (i + 2 - decades):g}")
            for i in range(decades + 1)
        ],
    }


def _rank(line: GroupResult) -> tuple[bool, int]:
    """Those shown to differ before others, the largest first."""
    return not line.is_shown_to_differ, -(line.speakers or 0)


def _decades(audit: Audit) -> int:
    """How far down the axis of rates reaches: a tenth of the smallest rate at audited points."""
    rows = audit.operating_points.where(within="").rows()
    rates = [row[metric] for row in rows for metric in ERROR_TYPES if row[metric]]
    return max(3, 1 + round(-math.log10(min(rates, default=0.01))))


def _weight(asked: Sequence[float]) -> float:
    """The weight of FPR to begin with: one half, if the audit took it."""
    return 0.5 if 0.5 in asked else asked[0]


@dataclass(frozen=True)
class Bands:
    """Limits of every group's rates at some of the thresholds."""

    nodes: IntArray
    """Places among the thresholds, rising, shape (node,)."""
    limits: FloatArray
    """As `LIMITS`, those of ratios divided by `MOST_RATIO`; NaN where there is none.

    Shape (limit, group, node).
    """

    @classmethod
    def of(cls, audit: Audit, one: ErrorCurves) -> Bands:
        """The bands of a grouping, of those thresholds that its bins have."""
        found = audit.bands.where(**one.filters).to_dict()
        place = {threshold: k for k, threshold in enumerate(one.thresholds.tolist())}
        at = [place.get(threshold, -1) for threshold in found["threshold"]]
        nodes = sorted({k for k in at if k >= 0})
        column = {k: j for j, k in enumerate(nodes)}
        row = {group: i for i, group in enumerate(one.groups)}
        limits = np.full((len(LIMITS), len(one.groups), len(nodes)), np.nan)
        for n, (group, k) in enumerate(zip(found["group"], at, strict=True)):
            if k >= 0 and group in row:
                cells = [found[name][n] for name in LIMITS]
                limits[:, row[group], column[k]] = np.array(cells, dtype=np.float64)
        limits[4:] = np.minimum(limits[4:] / MOST_RATIO, 0.9999)
        return cls(np.array(nodes, dtype=np.int64), limits)

    def codes(self) -> list[int]:
        """Every limit to four digits, as one integer: 0 for none, 1 for zero."""
        return [_code(limit) for limit in self.limits.ravel().tolist()]

    def exact(self, places: Iterable[int]) -> dict[str, list[float | None]]:
        """All digits of the limits at some of the nodes."""
        found = {}
        for j, k in enumerate(self.nodes.tolist()):
            if k in places:
                cells = self.limits[..., j].ravel().tolist()
                found[str(k)] = [None if math.isnan(cell) else cell for cell in cells]
        return found


def _code(limit: float) -> int:
    if math.isnan(limit):
        return 0
    mantissa, exponent = f"{limit:.3e}".split("e")
    if limit <= 0 or int(exponent) < -12:
        return 1
    return 2 - 9000 * int(exponent) + int(mantissa.replace(".", "")) - 1000


def _list(
    audit: Audit, several: list[ErrorCurves], order: Mapping[tuple[str, str], int]
) -> dict[str, Any]:
    """One system on one list: thresholds that its groupings share, and these; or only the whole."""
    whole = [one for one in several if one.grouping == _ALL]
    parts = [one for one in several if one.grouping != _ALL] or whole
    everyone = (whole or parts)[0]
    audited = list(_points(audit, everyone))
    if audited:
        start = audited[0]["k"]
    else:  # the middle of the curve
        fpr, fnr = (np.nan_to_num(rates[0], nan=0.5) for rates in (everyone.fpr, everyone.fnr))
        start = int(np.argmin(np.abs(fpr - fnr)))
    return {
        "system": everyone.system,
        "list": everyone.list,
        "thresholds": [_finite(threshold) for threshold in everyone.thresholds.tolist()],
        "points": audited,
        "start": start,
        "everyone": _counts(everyone),
        "groupings": [_grouping(audit, one, audited, order) for one in parts],
    }


def _points(audit: Audit, of: ErrorCurves) -> Iterator[dict[str, Any]]:
    """Audited points by their place among the thresholds, and what each of them holds."""
    place = {threshold: k for k, threshold in enumerate(of.thresholds.tolist())}
    for row in audit.operating_points.where(system=of.system, list=of.list, within="").rows():
        k = place.get(row["threshold"])
        if k is None:
            continue
        head, _, level = point_as_given(row).partition("=")
        hold, at = "threshold", None
        reached = row.get(head)
        if head in {"fpr", "fnr"} and (
            reached is None or not is_far_from_target(float(level), reached)
        ):
            hold, at = head, float(level)
        elif head.startswith("min-cdet"):
            hold = "least"
        name = row["operating_point"]
        words = point_in_short(row) if name == point_as_given(row) else name
        yield {"text": name, "words": words, "k": k, "hold": hold, "at": at}


def _grouping(
    audit: Audit,
    one: ErrorCurves,
    audited: Sequence[Mapping[str, Any]],
    order: Mapping[tuple[str, str], int],
) -> dict[str, Any]:
    """One way to split the trials of a list, with all that is known of its groups."""
    where = {**one.filters, "within": ""}
    names = [point["text"] for point in audited]
    place = {group: i for i, group in enumerate(one.groups)}
    size = len(one.groups)
    gates: dict[str, dict[str, list[str]]] = {}
    verdicts: dict[str, dict[str, str]] = {}
    codes: dict[str, dict[str, list[str]]] = {}
    rates = rates_by_group(audit, where)
    for row in audit.verdicts.where(**where).rows():
        metric, at = row["metric"], row["operating_point"]
        if at not in names or metric not in ERROR_TYPES:
            continue
        if not row["group"] and has_rate(metric, at, rates):
            verdicts.setdefault(at, {})[metric] = row["sentence"]
        elif row["group"] in place:
            lacks = gates.setdefault(at, {}).setdefault(metric, [""] * size)
            lacks[place[row["group"]]] = row["gates"] or ""
            judged = codes.setdefault(at, {}).setdefault(metric, ["none"] * size)
            judged[place[row["group"]]] = "cannot_tell" if row.get("because_of") else row["verdict"]
    minima: dict[str, list[float | None]] = {}
    for row in audit.groups.where(**where, metric="min_cdet_norm").rows():
        least = minima.setdefault(row["definition"], [None] * size)
        if row["group"] in place:
            least[place[row["group"]]] = row["value"]
    options = audit.record["options"]
    weighed = options["zero"][0], _weight(options["alpha"])
    bands = Bands.of(audit, one)
    measures = audit.meta.where(**where, gated=True, zero="none").rows()
    return {
        "name": one.grouping,
        "allocation": one.allocation,
        "groups": list(one.groups),
        "order": {
            at: _order(one, order, gates.get(at, {}), codes.get(at, {})) for at in names or [""]
        },
        **_counts(one),
        "nodes": bands.nodes.tolist(),
        "limits": packed(bands.codes()),
        "exact": bands.exact({point["k"] for point in audited}),
        "gates": gates,
        "leftOut": {at: _left_out(measures, at, one.groups, gates.get(at, {})) for at in names},
        "codes": codes,
        "verdicts": verdicts,
        "minima": minima,
        "floors": _floors(audit.meta.where(**where).rows(), names, *weighed),
    }


def _left_out(
    measures: Sequence[Row],
    point: str,
    groups: Sequence[str],
    gates: Mapping[str, Sequence[str]],
) -> dict[str, list[bool]]:
    """By rate, which groups are left out of measures: small here or in another system."""
    small: dict[str, list[bool]] = {}
    for metric in ERROR_TYPES:
        rows = [
            row for row in measures if row["metric"] == metric and row["operating_point"] == point
        ]
        names = set(groups_left_out(rows))
        lacks = gates.get(metric, [""] * len(groups))
        small[metric] = [
            group in names or bool(words) for group, words in zip(groups, lacks, strict=True)
        ]
    return small


def _order(
    one: ErrorCurves,
    order: Mapping[tuple[str, str], int],
    gates: Mapping[str, Sequence[str]],
    codes: Mapping[str, Sequence[str]],
) -> list[int]:
    """Groups as the report orders them, those that are too small behind, pooled last.

    A group that is shown to differ is not behind for what it lacks of the other error.
    """
    of = Scope(one.system, one.list, one.grouping, one.allocation).grouping_label

    def key(i: int) -> tuple[bool, bool, int]:
        shown = any(codes[m][i] in {"worse", "better"} and not gates[m][i] for m in codes)
        is_small = any(lacks[i] for lacks in gates.values()) and not shown
        return i == len(one.groups) - 1, is_small, order.get((of, one.groups[i]), 0)

    return sorted(range(len(one.groups)), key=key)


def _floors(
    rows: Iterable[Row], points: Sequence[str], zero: str, alpha: float
) -> dict[str, tuple[Floors, Floors]]:
    """What a fair system would show, at audited points: of all groups, and of those not marked.

    `zero` and `alpha` are the zero policy and the weight of FPR that they are of.
    """
    place = {(m, name): (row.id, m) for row in EXPLORED for m, name in row.single.items()}
    place |= {("fpr+fnr", row.joint): (row.id, "both") for row in EXPLORED if row.joint}
    found: dict[str, tuple[Floors, Floors]] = {}
    for one in rows:
        at = place.get((one["metric"], one["measure"]))
        is_shown = one["zero"] == zero and one["alpha"] in {None, alpha}
        if at is None or not is_shown or one["operating_point"] not in points:
            continue
        if one["value"] is None or one["floor_95"] is None:
            continue
        floor = f"{one['floor_95']:#.4g}".rstrip(".") if one["floor_95"] else "0"
        p = "" if one["p"] is None else f", {p_value(one['p'])}"
        both = found.setdefault(one["operating_point"], ({}, {}))
        both[one["gated"]].setdefault(at[0], {})[at[1]] = f"floor {floor}{p}"
    return found


def _model(cost: CostModel) -> dict[str, Any]:
    """A cost model with the weights that `parivox.core.costs.cdet` gives either rate."""
    one, none = np.ones(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    each = np.ones((), dtype=np.int64)
    miss, false_accept = (
        float(cdet(Curve(np.zeros(1), fp, fn, each, each), cost)[0])
        for fp, fn in ((none, one), (one, none))
    )
    return {
        "name": cost.name,
        "p_target": list(cost.p_target),
        "c_miss": cost.c_miss,
        "c_fa": cost.c_fa,
        "miss": miss,
        "fa": false_accept,
    }


def _counts(one: ErrorCurves) -> dict[str, Any]:
    """Trials of every group between each two thresholds, packed, group after group."""
    target = np.diff(one.fn, axis=-1, append=one.n_target[:, None])
    nontarget = -np.diff(one.fp, axis=-1, append=0)
    return {"target": packed(target.ravel()), "nontarget": packed(nontarget.ravel())}


def packed(numbers: Iterable[int]) -> str:
    """Integers of at least 0 as text, small ones as one sign.

    Examples
    --------
    >>> packed([0, 31, 32, 1000])
    'AfgBof'
    """
    signs = []
    for number in map(int, numbers):
        left = number
        while left > 31:
            signs.append(ALPHABET[32 + left % 32])
            left //= 32
        signs.append(ALPHABET[left])
    return "".join(signs)


def _finite(threshold: float) -> float | str:
    """A threshold as JSON can hold it."""
    return threshold if math.isfinite(threshold) else str(threshold).replace("inf", "Infinity")


# ---- the table of measures


@dataclass(frozen=True)
class Explored:
    """A row of the explorer's table of meta-measures."""

    id: str
    label: str
    """What it tells."""
    name: str
    """What it is called."""
    fair: str
    """The value of a fair system."""
    single: Mapping[str, str] = field(default_factory=dict)
    """The measure of each metric alone."""
    joint: str = ""
    """The measure of both rates, empty where there is none."""

    def packed(self) -> dict[str, Any]:
        """As the page's script reads it."""
        words = {"id": self.id, "label": self.label, "name": self.name, "fair": self.fair}
        return {**words, "joint": self.joint, **self.single}


def _each(measure: str) -> dict[str, str]:
    return dict.fromkeys(("fpr", "fnr", "cost"), measure)


EXPLORED = (
    Explored(
        "fdr",
        "From the lowest group to the highest",
        "largest − smallest; both: FDR, 1 − weighted",
        "0; FDR 1",
        {"fpr": "fdr_fpd", "fnr": "fdr_fnd"},
        "fdr",
    ),
    Explored(
        "gini",
        "How unevenly errors are shared out",
        "Gini; both: GARBE",
        "0",
        _each("gini"),
        "garbe",
    ),
    Explored(
        "ir",
        "The highest group, in times the lowest",
        "largest / smallest; both: inequity rate, IR",
        "1",
        _each("max_min"),
        "ir",
    ),
    Explored(
        "min_max",
        "The lowest group, as a part of the highest",
        "smallest / largest",
        "1",
        _each("min_max"),
    ),
    Explored(
        "max_geomean",
        "The highest group, in times the typical one",
        "largest / geometric mean",
        "1",
        _each("max_geomean"),
    ),
    Explored(
        "max_mean",
        "The highest group, in times the average",
        "largest / mean",
        "1",
        _each("max_mean"),
    ),
    Explored(
        "nrb",
        "How far groups are from pooled, as a logarithm",
        "mean |ln(group / pooled)|, NRB",
        "0",
        _each("nrb"),
    ),
    Explored("sd", "How far groups are from their average", "standard deviation", "0", _each("sd")),
    Explored(
        "cv",
        "The same, as a part of the average",
        "standard deviation / mean",
        "0",
        _each("cv"),
    ),
    Explored(
        "eo_diff",
        "The larger of both gaps, lowest to highest",
        "equalised odds: difference",
        "0",
        joint="eo_diff",
    ),
    Explored(
        "eo_ratio",
        "The smaller part: of impostors in, of own let in",
        "equalised odds: ratio",
        "1",
        joint="eo_ratio",
    ),
)
"""Rows of the explorer's table of measures; its script leaves out what it has no function for."""
