"""Meta-measures in the explorer: which, in what words, and their values at a threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

from parivox.core import bias
from parivox.core.measures import meta_measures
from parivox.report.page.cells import Cell, figure
from parivox.report.words import chance

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from parivox.core.counts import FloatArray
    from parivox.report.binned import Binned

__all__ = ["ROWS", "Row", "floors", "measured"]

Floors = dict[str, dict[str, str]]
"""In words, by row and metric."""


class Row(NamedTuple):
    """A row of the table of meta-measures.

    Attributes
    ----------
    id : str
    label, name : str
        What it tells, and what it is called.
    fair : str
        The value of a fair system.
    single : mapping of str to str
        The measure of each metric alone.
    joint : str
        The measure of both rates, empty where there is none.
    """

    id: str
    label: str
    name: str
    fair: str
    single: Mapping[str, str]
    joint: str = ""


def _each(measure: str) -> dict[str, str]:
    return dict.fromkeys(("fpr", "fnr", "cost"), measure)


ROWS = (
    Row(
        "fdr",
        "From the lowest group to the highest",
        "largest − smallest; both: FDR, 1 − weighted",
        "0; FDR 1",
        {},
        "fdr",
    ),
    Row(
        "gini",
        "How unevenly errors are shared out",
        "Gini; both: GARBE",
        "0",
        _each("gini"),
        "garbe",
    ),
    Row(
        "ir",
        "The highest group, in times the lowest",
        "largest / smallest; both: inequity rate, IR",
        "1",
        _each("max_min"),
        "ir",
    ),
    Row(
        "min_max",
        "The lowest group, as a part of the highest",
        "smallest / largest",
        "1",
        _each("min_max"),
    ),
    Row(
        "max_geomean",
        "The highest group, in times the typical one",
        "largest / geometric mean",
        "1",
        _each("max_geomean"),
    ),
    Row(
        "max_mean",
        "The highest group, in times the average",
        "largest / mean",
        "1",
        _each("max_mean"),
    ),
    Row(
        "nrb",
        "How far groups are from pooled, as a logarithm",
        "mean |ln(group / pooled)|, NRB",
        "0",
        _each("nrb"),
    ),
    Row("sd", "How far groups are from their average", "standard deviation", "0", _each("sd")),
    Row("cv", "The same, as a part of the average", "standard deviation / mean", "0", _each("cv")),
    Row(
        "eo_diff",
        "The larger of both gaps, lowest to highest",
        "equalised odds: difference",
        "0",
        {},
        "eo_diff",
    ),
    Row(
        "eo_ratio",
        "The smaller part: of impostors in, of own let in",
        "equalised odds: ratio",
        "1",
        {},
        "eo_ratio",
    ),
)
ROWS = (ROWS[0]._replace(single={"fpr": "fdr_fpd", "fnr": "fdr_fnd"}), *ROWS[1:])


def floors(
    rows: Iterable[Mapping[str, Any]], points: Sequence[str], zero: str, alpha: float
) -> dict[str, tuple[Floors, Floors]]:
    """What a fair system would show, at audited points: of all groups, and of those not marked.

    Parameters
    ----------
    rows
        Of the audit's meta-measures, those of one grouping.
    points
        Where.
    zero, alpha
        The zero policy and the weight of FPR that they are of.
    """
    place = {(m, name): (row.id, m) for row in ROWS for m, name in row.single.items()}
    place |= {("fpr+fnr", row.joint): (row.id, "both") for row in ROWS if row.joint}
    found: dict[str, tuple[Floors, Floors]] = {}
    for one in rows:
        at = place.get((one["metric"], one["measure"]))
        is_shown = one["zero"] == zero and one["alpha"] in {None, alpha}
        if at is None or not is_shown or one["operating_point"] not in points:
            continue
        if one["value"] is None or one["floor_95"] is None:
            continue
        text = f"floor {figure(one['floor_95']).text}"
        text += "" if one["p"] is None else f", p {chance(one['p'])}"
        both = found.setdefault(one["operating_point"], ({}, {}))
        both[one["gated"]].setdefault(at[0], {})[at[1]] = text
    return found


def measured(
    one: Binned, k: int, costs: FloatArray, zero: str, alpha: float, known: Floors
) -> list[tuple[Row, Mapping[str, Cell]]]:
    """Every meta-measure of all groups at a threshold, where these are their costs and floors."""
    raw = {"fpr": one.fpr[:, k], "fnr": one.fnr[:, k], "cost": costs}
    policy = cast("bias.ZeroPolicy", zero)
    smooth = {
        "fpr": bias.smoothed(one.fp[:, k], one.n_nontarget, policy),
        "fnr": bias.smoothed(one.fn[:, k], one.n_target, policy),
        "cost": raw["cost"],
    }
    above = raw if zero == "nist" else smooth
    made: list[tuple[Row, Mapping[str, Cell]]] = []
    for row in ROWS:
        cells = {"fpr": Cell(""), "fnr": Cell(""), "cost": Cell(""), "both": Cell("")}
        for metric, name in row.single.items():
            spec = meta_measures()[name]
            more: dict[str, Any] = {}
            if zero == "nist" and "nist" in spec.zero_policies:
                more["denominator"] = smooth[metric][:-1]
            average = (smooth[metric][-1],) if spec.takes == "average" else ()
            found = spec.of(above[metric][:-1], *average, **more)
            cells[metric] = figure(float(found.value), str(found.reason))
        if row.joint:
            spec = meta_measures()[row.joint]
            more = {"alpha": alpha} if spec.takes == "alpha" else {}
            if zero == "nist" and "nist" in spec.zero_policies:
                more["denominator"] = smooth["fpr"][:-1], smooth["fnr"][:-1]
            found = spec.of(above["fpr"][:-1], above["fnr"][:-1], **more)
            cells["both"] = figure(float(found.value), str(found.reason))
        told = known.get(row.id, {})
        cells |= {f"{name}_floor": Cell(told.get(name, "")) for name in list(cells)}
        made.append((row, cells))
    return made
