"""What the threshold explorer of the page shows at first, and the counts that let it move.

The module of the page (``assets/explorer.js``) computes from integer counts what is computed here
by the functions of :mod:`parivox.core`. So the page shows the same figures with and without
JavaScript, and a test compares them at many thresholds.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.core.costs import cdet, parse_cost
from parivox.core.counts import Curve
from parivox.report.binned import binned
from parivox.report.page.cells import REASONS
from parivox.report.page.explored import View, shown_alpha, view
from parivox.report.page.interpolated import Bands
from parivox.report.page.measured import ROWS, floors

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.result import Audit
    from parivox.core.costs import CostModel
    from parivox.report.binned import Binned
    from parivox.report.page.measured import Floors

__all__ = ["Explorer", "explorer"]

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
"""Digits of packed integers: the first 32 end one, the others say that more digits follow."""
_SCRIPT = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}
_ALL = "all"


@dataclass(frozen=True)
class Explorer:
    """The explorer of one page.

    Attributes
    ----------
    json : str
        All that the module needs, safe to stand in a script element.
    first : View
        The first grouping at the first audited point, as the page shows it without JavaScript.
    """

    json: str
    first: View


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
    costs = [parse_cost(name) for name in options["cost"]]
    data = {
        "lists": [one.packed() for one in lists],
        "models": [_model(cost) for cost in costs],
        "alpha": shown_alpha(options["alpha"]),
        "zero": options["zero"],
        "confidence": options["confidence"],
        "reasons": REASONS,
        "rows": [{"id": row.id, "joint": row.joint, **row.single} for row in ROWS],
    }
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    shown = lists[0]
    point = shown.start
    first = view(
        shown.groupings[0].binned,
        shown.groupings[0].bands,
        everyone=shown.everyone,
        point=point,
        cost=costs[0],
        minima=shown.groupings[0].minima.get(costs[0].name, ()),
        marked=shown.groupings[0].marked(point["text"]),
        floors=shown.groupings[0].floors.get(point["text"], ({}, {}))[0],
        options=options,
    )
    return Explorer(text.translate(_SCRIPT), first)


@dataclass(frozen=True)
class _Grouping:
    """One way to split the trials of a list, with all that is known of its groups."""

    binned: Binned
    bands: Bands
    gates: Mapping[str, Mapping[str, Sequence[str]]]
    minima: Mapping[str, Sequence[float | None]]
    floors: Mapping[str, tuple[Floors, Floors]]

    def marked(self, point: str) -> set[int]:
        """Groups that lack something for either rate at an audited point."""
        lacks = self.gates.get(point, {}).values()
        return {i for one in lacks for i, words in enumerate(one) if words}

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
    def start(self) -> dict[str, Any]:
        """The first audited point; where there is none, the middle of the curve."""
        if self.points:
            return self.points[0]
        fpr, fnr = self.everyone.fpr[0], self.everyone.fnr[0]
        gap = np.abs(np.nan_to_num(fpr, nan=0.5) - np.nan_to_num(fnr, nan=0.5))
        return {"text": "", "k": int(np.argmin(gap)), "hold": "threshold", "at": None}

    def packed(self) -> dict[str, Any]:
        one = self.everyone
        exact = sorted({point["k"] for point in self.points})
        return {
            "system": one.system,
            "list": one.list,
            "thresholds": [_finite(t) for t in one.thresholds.tolist()],
            "points": list(self.points),
            "start": self.start["k"],
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
        if head in {"fpr", "fnr"}:
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
    weighed = options["zero"][0], shown_alpha(options["alpha"])
    known = floors(audit.meta.where(**where, within="").rows(), points, *weighed)
    return _Grouping(one, Bands.of(audit, one), gates, minima, known)


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
