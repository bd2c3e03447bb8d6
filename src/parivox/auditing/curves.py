"""Error curves as they are written: exact points, thinned by less than can be seen.

Each cell has a curve of its own, and all cells of one system and list are counted between the
same thresholds, so that whatever moves with a common threshold can be told again.

Intervals of both rates are told all along the threshold: at the operating points they are those of
``groups.csv``. Between them errors by speaker are tallied once more at some of the shared
thresholds.
"""

from __future__ import annotations

from functools import cache
from math import erfc, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.intervals import rate_intervals
from parivox.auditing.operating_points import DEPLOYED, LocatedPoint, OperatingPoint
from parivox.auditing.speaker_errors import count_speaker_errors
from parivox.core.measures import RATES
from parivox.runtime.progress import with_progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.intervals import RateIntervals
    from parivox.auditing.layout import Layout, PlacedTrials, Units
    from parivox.auditing.options import Options
    from parivox.auditing.schema import TableBuilder
    from parivox.auditing.speaker_counts import SpeakerCounts
    from parivox.core.counts import Counts, FloatArray, IntArray
    from parivox.data.trial_set import TrialSet

    Band = dict[str, FloatArray]  # columns of the table of bands, [threshold, cell]

THINNING = 0.02
"""In probits: no point left out lies further than this from a kept one, on either axis."""
SHARED_STEP = 0.04
"""In probits: steps of the pooled rates from one shared threshold to the next."""
MAX_BAND_THRESHOLDS, MIN_BAND_THRESHOLDS = 24, 4
"""Shared thresholds at which intervals are told, beside those of the operating points."""
MAX_TRIALS_FOR_ALL_BANDS = 1_000_000
"""Trials from which on there are fewer, so that they cost no larger share of an audit."""
MAX_PAIR_THRESHOLDS = 1 << 23
"""Pairs of speakers times thresholds that are tallied together, for the memory they take."""
COARSE_STEP, MIN_STEP_RATE = 0.1, 1e-4
"""In probits: steps of the rates of all trials from one threshold of a tally to the next; and the
least rate that is one."""
POINT_LOG_REACH, N_POINT_RATES = 0.5, 16
"""How far on a logarithmic scale, and at how many rates, the curve is told around each point."""
_FARTHEST = 8.0  # probits: a rate of 6e-16


def det_columns(counts: Counts) -> dict[str, Any]:
    """Step points of one cell's curve for ``det.parquet``; none where a class is missing."""
    curve = counts.curve
    n_target, n_nontarget = int(counts.n_target), int(counts.n_nontarget)
    kept = np.empty(0, dtype=np.intp)
    if n_target and n_nontarget:
        rising = curve.fp, n_target - curve.fn
        kept = _kept(rising, (n_nontarget, n_target))
    return {
        "threshold": curve.thresholds[kept],
        "fpr": curve.fp[kept] / max(n_nontarget, 1),
        "fnr": curve.fn[kept] / max(n_target, 1),
    }


def shared_thresholds(everything: Counts, audited: Iterable[float]) -> FloatArray:
    """Thresholds that all cells are counted at: rising, the first is -inf.

    Those at which the rates of all trials step through an even grid of probits, the last ones
    without errors, and the audited ones.
    """
    curve = everything.curve
    n_target, n_nontarget = int(everything.n_target), int(everything.n_nontarget)
    found = [np.empty(0, dtype=np.intp)]
    for accepted, n in ((curve.fp, n_nontarget), (n_target - curve.fn, n_target)):
        if n:
            after = _first(accepted, _lines(SHARED_STEP) * n)
            found += [after, after[:1] - 1]
    stepped = np.unique(np.concatenate(found))
    stepped = stepped[(stepped > 0) & (stepped < curve.thresholds.size)]  # 0 accepts nothing
    every = np.concatenate(([-np.inf], curve.thresholds[stepped], np.fromiter(audited, float)))
    return np.unique(every + 0.0)


def step_thresholds(
    everything: Counts, audited: Iterable[float], coarse: float = COARSE_STEP
) -> FloatArray:
    """Thresholds that stand for the whole curve in replicates of long lists, rising.

    Those at which a rate of all trials steps through a coarse grid of probits, and, as thresholds
    that are found again move little, a fine grid of rates around the audited ones.
    """
    curve = everything.curve
    grid = _lines(coarse)
    grid = grid[(grid > MIN_STEP_RATE) & (grid < 1 - MIN_STEP_RATE)]
    near = np.exp(np.linspace(-POINT_LOG_REACH, POINT_LOG_REACH, N_POINT_RATES))
    at = np.searchsorted(-curve.thresholds, [-one for one in audited if np.isfinite(one)])
    at = np.minimum(at, curve.thresholds.size - 1)
    found = []
    for errors, n, sign in (
        (curve.fp, int(everything.n_nontarget), 1),
        (-curve.fn, int(everything.n_target), -1),
    ):
        if n:
            here = np.abs(errors[at])[:, None] * near
            rates = np.concatenate((grid * n, here.ravel()))
            found.append(_first(errors, np.sort(sign * rates)))
    places = np.unique(np.concatenate(found))
    every = curve.thresholds[places[(places > 0) & (places < curve.thresholds.size)]]
    return np.unique(np.append(every, curve.thresholds[-1]) + 0.0)


def bin_columns(counts: Counts, thresholds: FloatArray) -> dict[str, Any]:
    """Trials of one cell from each threshold up to the next, for ``bins.parquet``."""
    at = counts.at(thresholds)
    return {
        "threshold": thresholds,
        "target": _steps(counts.n_target - at.fn),
        "nontarget": _steps(at.fp),
    }


def band_thresholds(thresholds: FloatArray, n_trials: int) -> FloatArray:
    """A few of the shared thresholds, evenly among them; -inf is none."""
    n = min(
        max(
            MAX_BAND_THRESHOLDS * MAX_TRIALS_FOR_ALL_BANDS // max(n_trials, 1), MIN_BAND_THRESHOLDS
        ),
        MAX_BAND_THRESHOLDS,
    )
    at = np.linspace(1, max(thresholds.size - 1, 1), n).round().astype(np.intp)
    return thresholds[np.unique(at)[: thresholds.size - 1]]


def _steps(accepted: IntArray) -> IntArray:
    """Trials accepted at each threshold but not at the next."""
    return -np.diff(accepted, append=0)


def _kept(rising: tuple[IntArray, IntArray], trials: tuple[int, int]) -> NDArray[np.intp]:
    """Indices of the points to keep: those on either side of each line of a probit grid."""
    last = rising[0].size - 1
    is_kept = np.zeros(last + 1, dtype=np.bool_)
    is_kept[[0, last]] = True
    for accepted, n in zip(rising, trials, strict=True):
        after = _first(accepted, _lines(THINNING) * n)
        for at in (after, after - 1):
            is_kept[np.clip(at, 0, last)] = True
    return np.flatnonzero(is_kept)


def _first(rising: IntArray, least: FloatArray) -> NDArray[np.intp]:
    """Where rising whole numbers first reach each of some numbers."""
    return np.searchsorted(rising, np.ceil(least).astype(np.int64))  # else all become fractions


@cache
def _lines(spacing: float) -> FloatArray:
    """Rates at an even grid of probits, and the least rate above 0 and below 1 that counts."""
    steps = round(_FARTHEST / spacing)
    half = [erfc(step * spacing / sqrt(2)) / 2 for step in range(steps + 1)]
    return np.array(sorted({*half, *(1 - rate for rate in half), 5e-324}))


# --- intervals along the threshold ---------------------------------------------------------------


def point_index_by_threshold(found: Iterable[LocatedPoint]) -> dict[float, int]:
    """Thresholds of operating points, each once, and which point is at it."""
    at: dict[float, int] = {}
    for i, one in enumerate(found):
        if one.point.rule != DEPLOYED and not np.isnan(one.threshold):
            at.setdefault(one.threshold + 0.0, i)
    return at


def band_columns(intervals: RateIntervals, points: Mapping[float, int]) -> Band:
    """Rates at some points with their limits, and those of the ratio to all other cells."""
    at = list(points.values())
    columns: Band = {}
    for metric in RATES:
        one = intervals.intervals[metric]
        columns |= {metric: one.rate, f"{metric}_low": one.low, f"{metric}_high": one.high}
        low, high = np.full((2, *one.rate.shape), np.nan)
        ratio = intervals.ratios_to_others.get(metric)
        if ratio is not None:
            n_groups = ratio.low.shape[-1]  # without the pooled cell
            low[..., :n_groups], high[..., :n_groups] = ratio.low, ratio.high
        columns |= {f"{metric}_ratio_low": low, f"{metric}_ratio_high": high}
    columns = {name: numbers[at] for name, numbers in columns.items()}
    n_cells = columns[RATES[0]].shape[-1]
    thresholds = np.repeat(np.fromiter(points, float)[:, None], n_cells, axis=1)
    return {"threshold": thresholds, **columns}


def threshold_bands(
    trials: TrialSet | SpeakerCounts,
    layouts: Sequence[Layout],
    placed: Callable[[], Iterable[PlacedTrials]],
    members: Units,
    thresholds: FloatArray,
    options: Options,
    pairs: int,
) -> dict[tuple[str, str], Band]:
    """Intervals at thresholds of every layout's cells, the pooled one last, by its names.

    Parameters
    ----------
    trials, members
        As in `parivox.auditing.speaker_errors.count_speaker_errors`.
    placed
        What places the trials in the layouts.
    layouts
        Without levels; the first is of all trials.
    pairs
        So many are in the cells of the largest layout.
    """
    found = [
        LocatedPoint(OperatingPoint(f"threshold={t!r}", "threshold", t), t, *(np.nan,) * 3, "")
        for t in thresholds.tolist()
    ]
    step = max(MAX_PAIR_THRESHOLDS // max(pairs, 1), 1)
    parts: list[list[Band]] = [[] for _ in layouts]
    for start in with_progress(range(0, len(found), step), "bands along the threshold", "steps"):
        here = found[start : start + step]
        at = point_index_by_threshold(here)
        every, *rest = count_speaker_errors(trials, layouts, placed(), here, members)
        whole = band_columns(
            rate_intervals(every[0].cell_slice(0, 0), every[1], options, with_p=False), at
        )
        parts[0].append(whole)
        for into, (cells, level) in zip(parts[1:], rest, strict=True):
            if level is not every[1]:
                into.append(band_columns(rate_intervals(cells, level, options, with_p=False), at))
                continue
            own = band_columns(
                rate_intervals(cells, level.cell_slice(0, 0), options, with_p=False), at
            )
            into.append({name: np.hstack((own[name], whole[name])) for name in whole})
    return {
        (one.grouping.name if one.grouping else "all", one.allocation): _stacked(with_progress)
        for one, with_progress in zip(layouts, parts, strict=True)
    }


def _stacked(parts: Sequence[Band]) -> Band:
    """Several bands of the same cells, one after the other."""
    return {name: np.concatenate([one[name] for one in parts]) for name in parts[0]}


def add_band_rows(
    rows: TableBuilder, where: Mapping[str, str], groups: Sequence[str], parts: Sequence[Band]
) -> None:
    """Rows of the last cells, the last of them the pooled one, in rising order of thresholds."""
    band = _stacked([{name: of[:, -len(groups) :] for name, of in one.items()} for one in parts])
    for i, group in enumerate(groups):
        order = np.argsort(band["threshold"][:, i], kind="stable")
        rows.add(**where, group=group, **{name: of[order, i] for name, of in band.items()})
