"""One number for all groups: the rows of ``meta.csv`` and of the sweep.

A measure is a function of `parivox.auditing.estimates.Estimates` with any leading axes:
of the data, of draws of the bootstrap over speakers (which tell how much it varies), and of draws
of a fair system (its noise floor).
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.auditing.estimates import MAX_CHUNK_VALUES, Estimates, key_columns
from parivox.core.intervals import NOTE_NO_TEST_SPEAKER
from parivox.core.measures import RATES, meta_measures
from parivox.core.meta import fdr
from parivox.core.noise import floor
from parivox.core.resampling import from_replicates
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.cell_counts import Cells
    from parivox.auditing.estimates import GridDraws
    from parivox.auditing.intervals import Uncertainty
    from parivox.auditing.judged_groups import JudgedGroups
    from parivox.auditing.operating_points import LocatedPoint
    from parivox.auditing.options import Options
    from parivox.auditing.schema import Key, Rows
    from parivox.core.counts import FloatArray
    from parivox.core.measures import MetaMeasure
    from parivox.core.registry import ZeroPolicy
    from parivox.core.spread import MetaValue

AXES = ("log10", "linear")
"""Scales of FPR that the area under FDR is taken on."""


@frozen
class MetaValues:
    """One meta-measure under one rule for rates of 0, of every metric that it applies to."""

    measure: MetaMeasure
    zero: ZeroPolicy
    estimates: Estimates
    """What it is computed of: for measures that join both rates, FPR at every operating point and
    then FNR."""
    summary: MetaValue  # of the data, [row] or [alpha, point]
    draw_values: FloatArray | None  # of each draw, [draw, row]; NaN where a group is gone
    keys: Sequence[Key]  # of each row, in the order of the values
    alphas: Sequence[float | None]  # of each row; those of all alphas, each at every point

    @property
    def metrics(self) -> list[str]:
        """Of each row."""
        return [key[0] for key in self.keys]


def meta_values(
    data: Estimates, draws: Estimates | None, options: Options, *, defined: bool = False
) -> Iterator[MetaValues]:
    """Every measure of the data (docs/methods/meta-measures.md), those of one metric first.

    Parameters
    ----------
    data, draws
        Base metrics that are errors, and the same in each draw.
    defined
        Take groups in the draws only where the data define them, as where some are left out.
    """
    rates, fpr, fnr = data.with_metrics(*RATES), data.with_metrics("fpr"), data.with_metrics("fnr")
    again: dict[tuple[Key, ...], Estimates] = {}  # many measures are of the same metrics
    for measure, zero in _under(options):
        alphas: tuple[float | None, ...] = options.alpha if measure.takes == "alpha" else (None,)
        if measure.is_joint:
            stack = fpr.append_keys(fnr) if fpr.keys and fnr.keys else fpr.select_keys([])
            keys: Sequence[Key] = [(measure.metric, "", point) for _, _, point in fpr.keys]
        else:
            stack = data if zero == "none" else rates
            stack = stack.with_metrics(measure.metric) if measure.metric else stack
            keys = stack.keys
        if not stack.keys:
            continue
        drawn = None
        if draws is not None:
            asked = tuple(stack.keys)
            if asked not in again:
                known = draws.with_keys(asked)
                again[asked] = known.mask_groups(~np.isnan(stack.groups)) if defined else known
            drawn = _of_draws(measure, zero, options, again[asked])
            lost: NDArray[np.bool_] = again[asked].lacks_group_values(stack)
            if measure.is_joint:  # either rate
                lost = np.tile(lost.reshape(len(lost), 2, -1).any(axis=1), len(alphas))
            drawn = np.where(lost, np.nan, drawn)
        found = _measured(measure, zero, options, stack)
        of_rows = [alpha for alpha in alphas for _ in keys]
        yield MetaValues(measure, zero, stack, found, drawn, [*keys] * len(alphas), of_rows)


def _under(options: Options) -> Iterator[tuple[MetaMeasure, ZeroPolicy]]:
    """Measures and rules for rates of 0, those of both rates last."""
    for measure in sorted(meta_measures().values(), key=lambda one: one.is_joint):
        if measure.takes not in {"grid", "draws"}:
            yield from ((measure, zero) for zero in options.zero if zero in measure.zero_policies)


def _measured(
    measure: MetaMeasure, zero: ZeroPolicy, options: Options, stack: Estimates
) -> MetaValue:
    """A measure ``[..., key]`` or, of both rates, ``[alpha, ..., point]`` or ``[..., point]``."""
    n = len(stack.keys) // 2

    def parts(values: FloatArray) -> tuple[FloatArray, ...]:
        return (values[..., :n, :], values[..., n:, :]) if measure.is_joint else (values,)

    cells = stack.values_under_policy(zero)
    values, more = parts(cells[..., :-1]), dict[str, Any]()
    if zero == "nist":
        more["denominator"] = values if measure.is_joint else values[0]
        values = parts(stack.groups)
    if measure.takes == "alpha":
        more["alpha"] = np.array(options.alpha)
    if measure.takes == "average":
        values = (*values, cells[..., -1])
    return measure.evaluate(*values, **more)


def _of_draws(
    measure: MetaMeasure, zero: ZeroPolicy, options: Options, draws: Estimates
) -> FloatArray:
    """A measure of each draw, ``[draw, row]``."""
    rows = []
    for some in draws.draw_chunks():
        values = _measured(measure, zero, options, some).value
        if values.ndim > 2:  # alpha comes first
            values = np.moveaxis(values, 0, 1)
        rows.append(values.reshape(len(values), -1))
    return np.concatenate(rows)


# --- the area under FDR --------------------------------------------------------------------------


def grid_estimates(cells: Cells, grid: Sequence[LocatedPoint]) -> Estimates:
    """FPR of every cell on a grid of operating points, then FNR."""
    thresholds = [one.threshold for one in grid]
    at = [counts.at(thresholds) for counts in (*cells.groups, cells.pooled)]
    keys = [(metric, "", one.point.text) for metric in RATES for one in grid]

    def both(fpr: list[NDArray[Any]], fnr: list[NDArray[Any]]) -> NDArray[Any]:
        """Both rates, one after the other, with the cells as last axis."""
        return np.concatenate((np.stack(fpr, axis=-1), np.stack(fnr, axis=-1)))

    values = both([one.fpr for one in at], [one.fnr for one in at])
    errors = both([one.fp for one in at], [one.fn for one in at])
    trials = both(
        [np.full(one.fp.shape, int(one.n_nontarget)) for one in at],
        [np.full(one.fn.shape, int(one.n_target)) for one in at],
    )
    values = np.where(np.tile(np.isnan(thresholds), 2)[:, None], np.nan, values)
    reasons = [[""] * len(at)] * len(keys)
    return Estimates(
        keys, values, keys, errors.astype(np.float64), trials.astype(np.float64), reasons
    )


def area_values(
    area: Estimates, draws: Sequence[GridDraws], options: Options
) -> Iterator[MetaValues]:
    """Area under FDR over a grid of false positive rates, on either scale of FPR.

    It counts the fewest groups that have both rates at any of the points.
    """
    measure = meta_measures()["au_fdr"]
    heights, places = _heights(area, options)
    groups = np.full(len(options.alpha), np.min(heights.groups))
    parts = []
    for some in draws:
        again = some.rates(area.keys).mask_groups(~np.isnan(area.groups))
        of_draws, at = _heights(again, options)
        gone = again.lacks_group_values(area).any(axis=-1, keepdims=True)
        # a copy: what it is part of holds the rates of every group
        parts.append((np.where(gone, np.nan, of_draws.value), at.copy()))
    for axis in AXES:
        found = replace(measure.evaluate(heights.value, places, axis=axis), groups=groups)
        drawn = None
        if parts:
            each = [measure.evaluate(height, at, axis=axis).value.T for height, at in parts]
            drawn = np.concatenate(each)
        keys = [(measure.metric, axis, options.area_text)] * len(groups)
        yield MetaValues(measure, "none", area, found, drawn, keys, options.alpha)


def _heights(area: Estimates, options: Options) -> tuple[MetaValue, FloatArray]:
    """FDR ``[alpha, ..., point]``, and the pooled FPR of each point."""
    n = len(area.keys) // 2
    fpr, fnr = area.groups[..., :n, :], area.groups[..., n:, :]
    return fdr(fpr, fnr, alpha=np.array(options.alpha)), area.pooled[..., :n]


# --- rows ----------------------------------------------------------------------------------------


class LeftOutGroups(NamedTuple):
    """The groups that have a value and are left out of the headline measures."""

    names_by_key: Mapping[Key, Sequence[str]] = {}
    """Their names, by metric."""
    area_names: Sequence[str] = ()
    """Those of either rate at any operating point of the area under FDR."""

    @classmethod
    def from_judged(
        cls, groups: Sequence[str], data: Estimates, area: Estimates, judged: JudgedGroups
    ) -> LeftOutGroups:
        """Name the groups that have a value and are not judged in all systems and lists."""
        names = np.array(groups, dtype=np.str_)
        is_out = ~judged.metrics & ~np.isnan(data.groups)
        is_out_of_area = (~judged.area & ~np.isnan(area.groups)).any(axis=0)
        by_key = {key: names[mask].tolist() for key, mask in zip(data.keys, is_out, strict=True)}
        return cls(by_key, names[is_out_of_area].tolist())

    def json_by_key(self, keys: Sequence[Key]) -> list[str]:
        """Return the names of the groups that are left out of each metric, as JSON."""
        return [_as_json(self.names_by_key.get(key, ())) for key in keys]

    def json_by_row(self, block: MetaValues) -> list[str]:
        """Return the same of each row of a measure; of either rate where it joins both."""
        if block.measure.takes == "grid":
            return [_as_json(self.area_names)] * len(block.keys)
        if not block.measure.is_joint:
            return self.json_by_key(block.estimates.keys)
        keys = block.estimates.keys
        n_points = len(keys) // 2
        names = [
            _as_json(
                dict.fromkeys([*self.names_by_key.get(fpr, ()), *self.names_by_key.get(fnr, ())])
            )
            for fpr, fnr in zip(keys[:n_points], keys[n_points:], strict=True)
        ]
        return names * (len(block.keys) // max(n_points, 1))


def _as_json(names: Iterable[str]) -> str:
    """Return a list of names as JSON, or nothing for none."""
    listed = list(names)
    return json.dumps(listed, ensure_ascii=False) if listed else ""


def add_meta_rows(
    rows: Rows,
    where: Mapping[str, Any],
    groups: Sequence[str],
    data: Estimates,
    area: Estimates,
    draws: Estimates | None,
    options: Options,
    uncertainty: Uncertainty | None = None,
    judged: JudgedGroups | None = None,
) -> dict[Key, float]:
    """One number for all groups, by each measure.

    With intervals, once more for the groups that are judged in all systems and lists. Returned is
    p of the heterogeneity of all groups, by rate.
    """
    start, of_all = len(rows.cells["value"]), {**where, "gated": False}
    p = _all_measures(
        rows, of_all, groups, data, area, draws, options, uncertainty, LeftOutGroups()
    )
    if uncertainty is None or judged is None:
        return p
    if judged.metrics.all() and judged.area.all():  # the very same numbers
        rows.add(**{name: column[start:] for name, column in rows.cells.items()} | {"gated": True})
        return p
    left_out = LeftOutGroups.from_judged(groups, data, area, judged)
    gated = {**where, "gated": True}
    data, area = data.mask_groups(judged.metrics), area.mask_groups(judged.area)
    _all_measures(rows, gated, groups, data, area, draws, options, uncertainty, left_out)
    return p


def _all_measures(
    rows: Rows,
    where: Mapping[str, Any],
    groups: Sequence[str],
    data: Estimates,
    area: Estimates,
    draws: Estimates | None,
    options: Options,
    uncertainty: Uncertainty | None,
    left_out: LeftOutGroups,
) -> dict[Key, float]:
    """Rows of all groups, or of those that are judged; p of their heterogeneity by rate."""
    is_gated = where["gated"]
    p: dict[Key, float] = {}
    for blocks in _some(meta_values(data, draws, options, defined=is_gated)):
        more = None
        if uncertainty is not None:
            more = _uncertain(uncertainty, blocks, options, is_gated=is_gated)
        _add(rows, where, groups, blocks, left_out, more)
    if uncertainty is not None:
        rates = data.with_metrics(*RATES)
        # what is left once the noise of speakers is taken off
        # (docs/methods/noise-floors.md#tau-log)
        beyond = uncertainty.spread_beyond_noise(rates)
        p = dict(zip(rates.keys, beyond["heterogeneity"]["p"].tolist(), strict=True))
        for measure, found in beyond.items():
            rows.add(
                **where,
                **key_columns(rates.keys),
                measure=measure,
                zero="none",
                higher_is_fairer=meta_measures()[measure].is_higher_fairer,
                left_out=left_out.json_by_key(rates.keys),
                **found,
            )
    grid = () if uncertainty is None else uncertainty.grid_draws
    areas = [*area_values(area, grid, options)]
    of_areas: Mapping[str, NDArray[Any]] | None = None
    if uncertainty is not None and grid:
        of_areas = _intervals(uncertainty, areas)
    elif uncertainty is not None and uncertainty.lacks_test_speakers.any():
        values = np.concatenate([np.ravel(one.summary.value) for one in areas])
        of_areas = {"note": np.where(np.isnan(values), "", NOTE_NO_TEST_SPEAKER)}
    _add(rows, where, groups, areas, left_out, of_areas)
    return p


def _some(blocks: Iterable[MetaValues]) -> Iterator[list[MetaValues]]:
    """Blocks of about a million draws, whose intervals and floors are told at once."""
    waiting: list[MetaValues] = []
    for block in blocks:
        waiting.append(block)
        if (
            sum(one.draw_values.size for one in waiting if one.draw_values is not None)
            > MAX_CHUNK_VALUES
        ):
            yield waiting
            waiting = []
    if waiting:
        yield waiting


def _places(blocks: Sequence[MetaValues]) -> Iterator[tuple[MetaValues, slice]]:
    """Each block, and where its rows stand among those of all."""
    end = 0
    for block in blocks:
        start, end = end, end + len(block.keys)
        yield block, slice(start, end)


def _add(
    rows: Rows,
    where: Mapping[str, Any],
    groups: Sequence[str],
    blocks: Sequence[MetaValues],
    left_out: LeftOutGroups,
    more: Mapping[str, NDArray[Any]] | None,
) -> None:
    """Add the rows of some measures, with more columns of all of them."""
    for block, own in _places(blocks):
        of_block = {name: column[own] for name, column in (more or {}).items()}
        names = left_out.json_by_row(block)
        rows.add(**where, **_columns(block, groups), left_out=names, **of_block)


def _columns(block: MetaValues, groups: Sequence[str]) -> dict[str, Any]:
    """The columns that every row of a measure has."""
    names = (*groups, "")  # index -1: no witness
    found = block.summary
    return {
        **key_columns(block.keys),
        "alpha": list(block.alphas),
        "measure": block.measure.id,
        "zero": block.zero,
        "value": np.ravel(found.value),
        "low_group": [names[i] for i in np.ravel(found.low).tolist()],
        "high_group": [names[i] for i in np.ravel(found.high).tolist()],
        "groups": np.ravel(found.groups),
        "higher_is_fairer": block.measure.is_higher_fairer,
        "reason": np.ravel(found.reason),
    }


def add_sweep_rows(
    rows: Rows,
    where: Mapping[str, Any],
    cells: Cells,
    grid: Sequence[LocatedPoint],
    options: Options,
) -> None:
    """Meta-measures of the rates over a grid of operating points."""
    thresholds = [one.threshold for one in grid]
    both = grid_estimates(cells, grid)
    blocks = [*meta_values(both.with_metrics("fpr"), None, options)]
    blocks += meta_values(both.with_metrics("fnr"), None, options)
    blocks += (one for one in meta_values(both, None, options) if one.measure.is_joint)
    for block in blocks:
        columns = _columns(block, cells.grouping.groups)
        columns.pop("definition")
        times = len(block.keys) // len(thresholds)
        rows.add(**where, threshold=thresholds * times, **columns)


# --- intervals and floors ------------------------------------------------------------------------


def _uncertain(
    uncertainty: Uncertainty, blocks: Sequence[MetaValues], options: Options, *, is_gated: bool
) -> dict[str, NDArray[Any]]:
    """The columns of uncertainty of some measures, of the rows of one after the other."""
    value = np.concatenate([np.ravel(one.summary.value) for one in blocks])
    made: dict[str, NDArray[Any]]
    if blocks[0].draw_values is None:
        nothing = np.full(value.shape, np.nan)
        why = np.full(value.shape, f"no interval: {uncertainty.no_draws_reason}")
        made = {"low": nothing, "high": nothing, "note": why}
    else:
        made = _intervals(uncertainty, blocks)
    made |= _floors(uncertainty, blocks, value, options, is_gated=is_gated)
    missing = np.isnan(value)
    return {
        name: np.where(missing, "" if name == "note" else np.nan, of) for name, of in made.items()
    }


def _floors(
    uncertainty: Uncertainty,
    blocks: Sequence[MetaValues],
    value: FloatArray,
    options: Options,
    *,
    is_gated: bool,
) -> dict[str, FloatArray]:
    """What a fair system would show, and p of what these groups do, of each row."""
    nulls = uncertainty.equal_rates_draws
    mean, q95, p = np.full((3, value.size), np.nan)
    again: dict[tuple[Key | bool, ...], Estimates] = {}  # many measures are of the same rates
    drawn, places, silent, are_higher = [], [], [], []
    for block, own in _places(blocks):
        measure, stack = block.measure, block.estimates
        rates = [i for i, key in enumerate(stack.keys) if nulls.has_draws_of(key)]
        if not rates or (measure.is_joint and len(rates) < len(stack.keys)):
            continue
        keys = [stack.keys[i] for i in rates]
        asked: tuple[Key | bool, ...] = (*keys, measure.takes_logs)
        if asked not in again:
            null = nulls.rate_draws(keys, lifted=measure.takes_logs)
            again[asked] = null.mask_groups(~np.isnan(stack.groups[rates])) if is_gated else null
        drawn.append(_of_draws(measure, block.zero, options, again[asked]))
        rows = np.arange(own.start, own.stop)
        places.append(rows if measure.is_joint else rows[rates])
        are_higher.append(np.full(places[-1].size, measure.is_higher_fairer))
        # draws hold half an error for none, which the observed rates do not
        holds_none = (stack.groups[rates] == 0).any(axis=-1)
        if measure.is_joint:
            holds_none = holds_none.reshape(2, -1).any(axis=0)
        is_lifted = measure.takes_logs and block.zero == "none"
        silent.append(np.tile(holds_none & is_lifted, places[-1].size // holds_none.size))
    if drawn:
        at = np.concatenate(places)
        fair = np.concatenate(drawn, axis=1)
        found = floor(value[at], fair, higher_is_fairer=np.concatenate(are_higher))
        mean[at], q95[at] = found.mean, found.q95
        p[at] = np.where(np.concatenate(silent), np.nan, found.p)
    return {"floor_mean": mean, "floor_95": q95, "p": p}


def _intervals(uncertainty: Uncertainty, blocks: Sequence[MetaValues]) -> dict[str, NDArray[Any]]:
    """Limits of rows, on a logarithmic scale of how far they are from what is fair; why none."""
    metrics = [metric for block in blocks for metric in block.metrics]
    values, draws = [], []
    for block in blocks:
        assert block.draw_values is not None
        values.append(_far(block.measure, np.ravel(block.summary.value)))
        draws.append(_far(block.measure, block.draw_values))
    found = from_replicates(
        np.concatenate(values),
        np.concatenate(draws, axis=1),
        uncertainty.n_units_behind(metrics)[:, -1] - 1.0,
        confidence=uncertainty.options.confidence,
    )
    low, high = np.full((2, len(metrics)), np.nan)
    for block, own in _places(blocks):
        ends = [_of_far(block.measure, end[own]) for end in (found.low, found.high)]
        low[own], high[own] = np.clip((np.minimum(*ends), np.maximum(*ends)), *block.measure.bounds)
    lacking = uncertainty.metrics_lack_test_speakers(metrics).any(axis=-1)
    why = np.where(lacking, NOTE_NO_TEST_SPEAKER, np.strings.add("no interval: ", found.reason))
    note = np.where(np.isnan(high), why, "")
    return {"low": low, "high": high, "note": note}


def _far(measure: MetaMeasure, values: FloatArray) -> FloatArray:
    """How far values are from what is fair, at least 0."""
    if measure.scale == "one":
        return 1 - values
    if measure.scale != "ratio":
        return values
    with np.errstate(divide="ignore", invalid="ignore"):
        return -np.log(values) if measure.is_higher_fairer else np.log(values)


def _of_far(measure: MetaMeasure, far: FloatArray) -> FloatArray:
    """The values that are so far from what is fair."""
    if measure.scale == "one":
        return 1 - far
    if measure.scale != "ratio":
        return far
    with np.errstate(over="ignore"):
        return np.exp(-far if measure.is_higher_fairer else far)
