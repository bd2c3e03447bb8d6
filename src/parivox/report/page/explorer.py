"""The threshold explorer: counts that let a page move its threshold, and what it shows unmoved.

Every figure of the explorer is computed in the page (``assets/explorer.js``) from the integer
counts that are packed here. Without JavaScript the page shows the audited points instead.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.operating_points import is_far
from parivox.core.costs import cdet, parse_cost
from parivox.core.counts import Curve
from parivox.report.charts.curves import binned
from parivox.report.page.measures import EXPLORED
from parivox.report.scopes import by_grouping, points, scopes
from parivox.report.sheets.comparison import audited_points
from parivox.report.words import chance

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.result import Audit
    from parivox.core.costs import CostModel
    from parivox.core.counts import FloatArray, IntArray
    from parivox.report.charts.curves import Binned
    from parivox.report.sheets.sheet import Sheet
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
_SCRIPT = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}
_ALL = "all"

Floors = dict[str, dict[str, str]]
"""What a fair system would show in words, by row of measures and metric."""


@dataclass(frozen=True)
class Explorer:
    """The explorer of one page.

    Attributes
    ----------
    json : str
        All that the module needs, safe to stand in a script element.
    audited : list of Sheet
        Rates at the audited points, as the page shows them without JavaScript.
    positions : int
        Thresholds to choose from, of the first list.
    confidence : str
        Of the intervals, in percent.
    """

    json: str
    audited: list[Sheet]
    positions: int
    confidence: str


def explorer(audit: Audit) -> Explorer | None:
    """The explorer of an audit; None where there is no threshold to move.

    Parameters
    ----------
    audit
        Its bins and bands are read, operating points, gates and smallest costs.
    """
    lists = list(_lists(audit))
    if not lists:
        return None
    options = audit.record["options"]
    data = {
        "lists": [one.packed() for one in lists],
        "models": [_model(parse_cost(name)) for name in options["cost"]],
        "alpha": _weight(options["alpha"]),
        "zero": options["zero"],
        "reasons": REASONS,
        "rows": [one.packed() for one in EXPLORED],
    }
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Explorer(
        text.translate(_SCRIPT),
        list(_audited(audit)),
        lists[0].everyone.thresholds.size,
        f"{100 * options['confidence']:g}",
    )


def _audited(audit: Audit) -> Iterator[Sheet]:
    """Both rates of every group of the first grouping at each audited point."""
    for scope in next(iter(by_grouping(list(scopes(audit)))), []):
        known = [row["operating_point"] for row in points(audit, scope.where)]
        sheet = audited_points(audit, scope.where, known)
        yield sheet.of(f"Every group at the audited points: {scope.label}")


def _weight(asked: Sequence[float]) -> float:
    """The weight of FPR to begin with: one half, if the audit took it."""
    return 0.5 if 0.5 in asked else asked[0]


@dataclass(frozen=True)
class Bands:
    """Limits of every group's rates at some of the thresholds.

    Attributes
    ----------
    nodes : int array of shape (node,)
        Places among the thresholds, rising.
    limits : float64 of shape (limit, group, node)
        As :data:`LIMITS`, those of ratios divided by :data:`MOST_RATIO`; NaN where there is none.
    """

    nodes: IntArray
    limits: FloatArray

    @classmethod
    def of(cls, audit: Audit, one: Binned) -> Bands:
        """The bands of a grouping, of those thresholds that its bins have."""
        found = audit.bands.where(
            system=one.system, list=one.list, grouping=one.grouping, allocation=one.allocation
        ).to_dict()
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


@dataclass(frozen=True)
class _Grouping:
    """One way to split the trials of a list, with all that is known of its groups."""

    binned: Binned
    bands: Bands
    gates: Mapping[str, Mapping[str, Sequence[str]]]
    minima: Mapping[str, Sequence[float | None]]
    floors: Mapping[str, tuple[Floors, Floors]]

    def packed(self, exact: Iterable[int]) -> dict[str, Any]:
        one = self.binned
        return {
            "name": one.grouping,
            "allocation": one.allocation,
            "groups": list(one.groups),
            **_counts(one),
            "nodes": self.bands.nodes.tolist(),
            "limits": packed(self.bands.codes()),
            "exact": self.bands.exact(exact),
            "gates": self.gates,
            "minima": self.minima,
            "floors": self.floors,
        }


@dataclass(frozen=True)
class _List:
    """One system on one list: the thresholds that all of its groupings share."""

    everyone: Binned
    groupings: Sequence[_Grouping]
    points: Sequence[dict[str, Any]]

    @property
    def start(self) -> int:
        """The place of the first audited point; where there is none, the middle of the curve."""
        if self.points:
            return int(self.points[0]["k"])
        fpr, fnr = self.everyone.fpr[0], self.everyone.fnr[0]
        gap = np.abs(np.nan_to_num(fpr, nan=0.5) - np.nan_to_num(fnr, nan=0.5))
        return int(np.argmin(gap))

    def packed(self) -> dict[str, Any]:
        one = self.everyone
        exact = sorted({point["k"] for point in self.points})
        return {
            "system": one.system,
            "list": one.list,
            "thresholds": [_finite(t) for t in one.thresholds.tolist()],
            "points": list(self.points),
            "start": self.start,
            "everyone": _counts(one),
            "groupings": [grouping.packed(exact) for grouping in self.groupings],
        }


def _lists(audit: Audit) -> Iterator[_List]:
    """Every system and list that has bins of groups; the whole alone where there is no grouping."""
    found: dict[tuple[str, str], list[Binned]] = {}
    for one in binned(audit):
        found.setdefault((one.system, one.list), []).append(one)
    for (system, name), several in found.items():
        whole = [one for one in several if one.grouping == _ALL]
        parts = [one for one in several if one.grouping != _ALL] or whole
        everyone = whole[0] if whole else parts[0]
        points = list(_points(audit, system, name, everyone.thresholds))
        texts = [point["text"] for point in points]
        groupings = [_grouping(audit, one, texts) for one in parts]
        yield _List(everyone, groupings, points)


def _points(
    audit: Audit, system: str, name: str, thresholds: NDArray[np.float64]
) -> Iterator[dict[str, Any]]:
    """Audited points by their place among the thresholds, and what each of them holds."""
    place = {threshold: k for k, threshold in enumerate(thresholds.tolist())}
    for row in audit.operating_points.where(system=system, list=name, within="").rows():
        k = place.get(row["threshold"])
        if k is None:
            continue
        head, _, level = row["operating_point"].partition("=")
        hold, at = "threshold", None
        reached = row.get(head)
        if head in {"fpr", "fnr"} and (reached is None or not is_far(float(level), reached)):
            hold, at = head, float(level)
        elif head.startswith("min-cdet"):
            hold = "least"
        yield {"text": row["operating_point"], "k": k, "hold": hold, "at": at}


def _grouping(audit: Audit, one: Binned, points: Sequence[str]) -> _Grouping:
    where = {
        "system": one.system,
        "list": one.list,
        "grouping": one.grouping,
        "allocation": one.allocation,
    }
    place = {group: i for i, group in enumerate(one.groups)}
    size = len(one.groups)
    gates: dict[str, dict[str, list[str]]] = {}
    for row in audit.verdicts.where(**where, within="").rows():
        if row["operating_point"] in points and row["metric"] in {"fpr", "fnr"} and row["group"]:
            by_metric = gates.setdefault(row["operating_point"], {})
            lacks = by_metric.setdefault(row["metric"], [""] * size)
            if row["group"] in place:
                lacks[place[row["group"]]] = row["gates"] or ""
    minima: dict[str, list[float | None]] = {}
    for row in audit.groups.where(**where, metric="min_cdet_norm", within="").rows():
        least = minima.setdefault(row["definition"], [None] * size)
        if row["group"] in place:
            least[place[row["group"]]] = row["value"]
    options = audit.record["options"]
    weighed = options["zero"][0], _weight(options["alpha"])
    known = _floors(audit.meta.where(**where, within="").rows(), points, *weighed)
    return _Grouping(one, Bands.of(audit, one), gates, minima, known)


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
        p = "" if one["p"] is None else f", p {chance(one['p'])}"
        both = found.setdefault(one["operating_point"], ({}, {}))
        both[one["gated"]].setdefault(at[0], {})[at[1]] = f"floor {floor}{p}"
    return found


def _model(cost: CostModel) -> dict[str, Any]:
    """A cost model with the weights that :func:`~parivox.core.costs.cdet` gives either rate."""
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


def _counts(one: Binned) -> dict[str, Any]:
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
