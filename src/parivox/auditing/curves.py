"""Error curves as they are written: exact points, with none left out that could be seen.

Each cell has a curve of its own. All cells of one system and list are also counted between the same
thresholds, so that all that moves with a common threshold can be computed again.

Both rates have intervals along the threshold: at the operating points they are those of
``groups.csv``. Between them, errors by speaker are counted again at some of the shared thresholds.
"""

from __future__ import annotations

from functools import cache
from math import erfc, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.operating_points import DEPLOYED, LocatedPoint, OperatingPoint
from parivox.auditing.speaker_errors import count_speaker_errors
from parivox.core.measures import RATES
from parivox.runtime.progress import with_progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.intervals import RateIntervals
    from parivox.auditing.layout import Layout, PlacedTrials
    from parivox.auditing.options import Options
    from parivox.auditing.schema import TableBuilder
    from parivox.auditing.speaker_errors import SpeakerErrors
    from parivox.core.counts import Counts, FloatArray, IntArray
    from parivox.data.speaker_counts import SpeakerCounts
    from parivox.data.trial_set import TrialSet
    from parivox.data.units import Units

    Band = dict[str, FloatArray]  # columns of the table of bands, [threshold, cell]

THINNING = 0.02
"""In probits: no point left out lies further than this from a kept one, on either axis."""
SHARED_STEP = 0.04
"""In probits: steps of the pooled rates from one shared threshold to the next."""
MAX_BAND_THRESHOLDS, MIN_BAND_THRESHOLDS = 24, 4
"""Shared thresholds with intervals, besides those of the operating points."""
MAX_TRIALS_FOR_ALL_BANDS = 1_000_000
"""Trials from which on there are fewer, so that they cost no larger share of an audit."""
MAX_PAIR_THRESHOLDS = 1 << 23
"""Pairs of speakers times thresholds that are counted together; more would take too much memory."""
COARSE_STEP, MIN_STEP_RATE = 0.1, 1e-4
"""In probits: steps of the rates of all trials between thresholds of speaker counts; and the
smallest rate with a threshold."""
POINT_LOG_REACH, N_POINT_RATES = 0.5, 16
"""How far on a logarithmic scale, and at how many rates, thresholds lie around each point."""
_MAX_PROBIT = 8.0  # probits: a rate of 6e-16


def det_columns(counts: Counts) -> dict[str, Any]:
    """Return the step points of one cell's curve for ``det.parquet``; none without a class."""
    curve = counts.curve
    n_target, n_nontarget = int(counts.n_target), int(counts.n_nontarget)
    kept_points = np.empty(0, dtype=np.intp)
    if n_target and n_nontarget:
        accepted_counts = curve.fp, n_target - curve.fn
        kept_points = _kept_points(accepted_counts, (n_nontarget, n_target))
    return {
        "threshold": curve.thresholds[kept_points],
        "fpr": curve.fp[kept_points] / max(n_nontarget, 1),
        "fnr": curve.fn[kept_points] / max(n_target, 1),
    }


def shared_thresholds(all_trials: Counts, audited: Iterable[float]) -> FloatArray:
    """Return the thresholds that all cells are counted at: rising, the first is -inf.

    They are those at which the rates of all trials step through an even grid of probits, the last
    ones without errors, and the audited ones.
    """
    curve = all_trials.curve
    n_target, n_nontarget = int(all_trials.n_target), int(all_trials.n_nontarget)
    step_indices = [np.empty(0, dtype=np.intp)]
    classes = [(curve.fp, n_nontarget), (n_target - curve.fn, n_target)]
    if curve.spoof_accepts is not None:
        classes.append((curve.spoof_accepts, int(all_trials.n_spoof)))
    for accepted, n_trials in classes:
        if n_trials:
            first_steps = _first_reaching(accepted, _probit_grid(SHARED_STEP) * n_trials)
            step_indices += [first_steps, first_steps[:1] - 1]
    stepped = np.unique(np.concatenate(step_indices))
    stepped = stepped[(stepped > 0) & (stepped < curve.thresholds.size)]  # the first accepts none
    thresholds = np.concatenate(([-np.inf], curve.thresholds[stepped], np.fromiter(audited, float)))
    return np.unique(thresholds + 0.0)  # + 0.0 makes -0.0 and 0.0 one threshold


def step_thresholds(
    all_trials: Counts, audited: Iterable[float], coarse: float = COARSE_STEP
) -> FloatArray:
    """Return thresholds that replace the whole curve in replicates of long lists, rising.

    They are those at which a rate of all trials steps through a coarse grid of probits, and a fine
    grid of rates around the audited ones, as thresholds that replicates set anew move little.
    """
    curve = all_trials.curve
    grid = _probit_grid(coarse)
    grid = grid[(grid > MIN_STEP_RATE) & (grid < 1 - MIN_STEP_RATE)]
    factors_around_points = np.exp(np.linspace(-POINT_LOG_REACH, POINT_LOG_REACH, N_POINT_RATES))
    point_indices = np.searchsorted(
        -curve.thresholds, [-threshold for threshold in audited if np.isfinite(threshold)]
    )
    point_indices = np.minimum(point_indices, curve.thresholds.size - 1)
    indices_by_rate = []
    rates = [(curve.fp, int(all_trials.n_nontarget), 1), (-curve.fn, int(all_trials.n_target), -1)]
    if curve.spoof_accepts is not None:
        rates.append((curve.spoof_accepts, int(all_trials.n_spoof), 1))
    for errors, n_trials, sign in rates:
        if n_trials:
            rates_around_points = np.abs(errors[point_indices])[:, None] * factors_around_points
            error_counts = np.concatenate((grid * n_trials, rates_around_points.ravel()))
            indices_by_rate.append(_first_reaching(errors, np.sort(sign * error_counts)))
    step_indices = np.unique(np.concatenate(indices_by_rate))
    thresholds = curve.thresholds[
        step_indices[(step_indices > 0) & (step_indices < curve.thresholds.size)]
    ]
    return np.unique(np.append(thresholds, curve.thresholds[-1]) + 0.0)


def bin_columns(counts: Counts, thresholds: FloatArray) -> dict[str, Any]:
    """Return the trials of one cell from each threshold up to the next, for ``bins.parquet``."""
    curve = counts.at(thresholds)
    return {
        "threshold": thresholds,
        "target": _counts_per_step(counts.n_target - curve.fn),
        "nontarget": _counts_per_step(curve.fp),
    }


def spoof_bin_columns(counts: Counts, thresholds: FloatArray) -> dict[str, Any]:
    """Return the spoof trials of one cell between the same thresholds, for ``spoof_bins``."""
    accepted = counts.at(thresholds).spoof_accepts
    if accepted is None:  # no spoof trials in this cell
        accepted = np.zeros(thresholds.size, dtype=np.int64)
    return {"threshold": thresholds, "spoof": _counts_per_step(accepted)}


def band_thresholds(thresholds: FloatArray, n_trials: int) -> FloatArray:
    """Return a few of the shared thresholds, evenly spaced, without the first, which is -inf."""
    n_affordable = MAX_BAND_THRESHOLDS * MAX_TRIALS_FOR_ALL_BANDS // max(n_trials, 1)
    n_thresholds = min(max(n_affordable, MIN_BAND_THRESHOLDS), MAX_BAND_THRESHOLDS)
    spaced = np.linspace(1, max(thresholds.size - 1, 1), n_thresholds)
    threshold_indices = np.unique(spaced.round().astype(np.intp))
    return thresholds[threshold_indices[: thresholds.size - 1]]


def _counts_per_step(accepted: IntArray) -> IntArray:
    """Return the trials accepted at each threshold but not at the next."""
    return -np.diff(accepted, append=0)


def _kept_points(
    accepted_counts: tuple[IntArray, IntArray], n_trials_of_classes: tuple[int, int]
) -> NDArray[np.intp]:
    """Return the points to keep, by index: those on either side of each line of a probit grid."""
    last_index = accepted_counts[0].size - 1
    is_kept = np.zeros(last_index + 1, dtype=np.bool_)
    is_kept[[0, last_index]] = True
    for accepted, n_trials in zip(accepted_counts, n_trials_of_classes, strict=True):
        first_steps = _first_reaching(accepted, _probit_grid(THINNING) * n_trials)
        for step_indices in (first_steps, first_steps - 1):
            is_kept[np.clip(step_indices, 0, last_index)] = True
    return np.flatnonzero(is_kept)


def _first_reaching(rising_counts: IntArray, targets: FloatArray) -> NDArray[np.intp]:
    """Return where rising whole numbers first reach each of some numbers."""
    # rounded up to integers, as searchsorted would else copy all counts as floats
    return np.searchsorted(rising_counts, np.ceil(targets).astype(np.int64))


@cache
def _probit_grid(spacing: float) -> FloatArray:
    """Return rates at an even grid of probits, with the smallest number above 0."""
    steps = round(_MAX_PROBIT / spacing)
    half = [erfc(step * spacing / sqrt(2)) / 2 for step in range(steps + 1)]
    return np.array(sorted({*half, *(1 - rate for rate in half), 5e-324}))


# --- intervals along the threshold ---------------------------------------------------------------


def point_index_by_threshold(located_points: Iterable[LocatedPoint]) -> dict[float, int]:
    """Return the index of an operating point at each distinct threshold."""
    index_by_threshold: dict[float, int] = {}
    for i, located in enumerate(located_points):
        if located.point.rule != DEPLOYED and not np.isnan(located.threshold):
            index_by_threshold.setdefault(located.threshold + 0.0, i)
    return index_by_threshold


def band_columns(intervals: RateIntervals, index_by_threshold: Mapping[float, int]) -> Band:
    """Return rates at some points with their limits, and limits of the ratio to all others."""
    point_indices = list(index_by_threshold.values())
    columns: Band = {}
    for metric in RATES:
        interval = intervals.intervals[metric]
        columns |= {
            metric: interval.rate,
            f"{metric}_low": interval.low,
            f"{metric}_high": interval.high,
        }
        low, high = np.full((2, *interval.rate.shape), np.nan)
        ratio = intervals.ratios_to_others.get(metric)
        if ratio is not None:
            n_groups = ratio.low.shape[-1]  # without the pooled cell
            low[..., :n_groups], high[..., :n_groups] = ratio.low, ratio.high
        columns |= {f"{metric}_ratio_low": low, f"{metric}_ratio_high": high}
    columns = {name: numbers[point_indices] for name, numbers in columns.items()}
    n_cells = columns[RATES[0]].shape[-1]
    thresholds = np.repeat(np.fromiter(index_by_threshold, float)[:, None], n_cells, axis=1)
    return {"threshold": thresholds, **columns}


def threshold_bands(
    trials: TrialSet | SpeakerCounts,
    layouts: Sequence[Layout],
    placed: Callable[[], Iterable[PlacedTrials]],
    units: Units,
    thresholds: FloatArray,
    options: Options,
    n_pairs: int,
) -> dict[tuple[str, str], Band]:
    """Return intervals at thresholds of every layout's cells, the pooled one last, by its names.

    Parameters
    ----------
    trials, units
        As in `parivox.auditing.speaker_errors.count_speaker_errors`.
    placed
        Yields the trials with their cells in the layouts.
    layouts
        Without strata; the first is of all trials.
    n_pairs
        Pairs of speakers in the cells of the largest layout.
    """
    from parivox.auditing.intervals import rate_intervals  # noqa: PLC0415 - with intervals only

    located_points = []
    for threshold in thresholds.tolist():
        point = OperatingPoint(f"threshold={threshold!r}", "threshold", threshold)
        located_points.append(
            LocatedPoint(point, threshold, fpr=np.nan, fnr=np.nan, cdet_norm=np.nan, reason="")
        )
    chunk_size = max(MAX_PAIR_THRESHOLDS // max(n_pairs, 1), 1)
    bands_of_layouts: list[list[Band]] = [[] for _ in layouts]
    for start in with_progress(
        range(0, len(located_points), chunk_size), "bands along the threshold", "steps"
    ):
        chunk = located_points[start : start + chunk_size]
        index_by_threshold = point_index_by_threshold(chunk)
        errors_by_layout = count_speaker_errors(trials, layouts, placed(), chunk, units)

        def band(groups: SpeakerErrors, pooled: SpeakerErrors) -> Band:
            intervals = rate_intervals(groups, pooled, options, with_p=False)
            return band_columns(intervals, index_by_threshold)  # noqa: B023 - called at once

        all_errors, _ = next(errors_by_layout)
        pooled_band = band(all_errors.cell_slice(0, 0), all_errors)
        bands_of_layouts[0].append(pooled_band)
        # one layout after the other, as errors of pairs of speakers take much memory
        for layout_bands in bands_of_layouts[1:]:
            cell_errors, stratum_errors = next(errors_by_layout)
            if stratum_errors is not all_errors:
                layout_bands.append(band(cell_errors, stratum_errors))
            else:  # the pooled cell is that of all trials, whose band is known already
                group_band = band(cell_errors, stratum_errors.cell_slice(0, 0))
                layout_bands.append(
                    {name: np.hstack((group_band[name], pooled_band[name])) for name in pooled_band}
                )
            del cell_errors, stratum_errors
    bands_by_name = {}
    for layout, layout_bands in zip(layouts, bands_of_layouts, strict=True):
        name = layout.grouping.name if layout.grouping else "all"
        bands_by_name[name, layout.allocation] = _stack_bands(layout_bands)
    return bands_by_name


def _stack_bands(bands_of_chunks: Sequence[Band]) -> Band:
    """Return several bands of the same cells, one after another."""
    return {
        name: np.concatenate([chunk_band[name] for chunk_band in bands_of_chunks])
        for name in bands_of_chunks[0]
    }


def add_band_rows(
    rows: TableBuilder,
    audit_keys: Mapping[str, str],
    groups: Sequence[str],
    bands_of_chunks: Sequence[Band],
) -> None:
    """Add rows of the last cells, the pooled one last, in rising order of thresholds."""
    # cut before they are stacked, as bands at operating points have more cells than the others
    last_cells = [
        {name: cells[:, -len(groups) :] for name, cells in chunk_band.items()}
        for chunk_band in bands_of_chunks
    ]
    band = _stack_bands(last_cells)
    for i, group in enumerate(groups):
        order = np.argsort(band["threshold"][:, i], kind="stable")
        columns = {name: cells[order, i] for name, cells in band.items()}
        rows.add(**audit_keys, group=group, **columns)
