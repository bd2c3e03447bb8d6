"""Intervals of both rates all along the threshold, for ``bands.parquet``.

At the operating points they are those of ``groups.csv``. Between them, where the trials are held
in memory, errors by speaker are tallied once more at some of the shared thresholds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parivox.auditing.intervals import rate_intervals
from parivox.auditing.operating_points import DEPLOYED, Found, OperatingPoint
from parivox.auditing.speaker_errors import tally_errors
from parivox.core.measures import RATES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from parivox.auditing.intervals import RateIntervals
    from parivox.auditing.layout import Layout, Members, PlacedTrials
    from parivox.auditing.options import Options
    from parivox.auditing.rows import Rows
    from parivox.auditing.speaker_errors import SpeakerErrors
    from parivox.core.counts import FloatArray
    from parivox.read.trialset import TrialSet

AT_ONCE = 1 << 23
"""Pairs of speakers times thresholds that are tallied together, for the memory they take."""


class Band(NamedTuple):
    """Rates of one grouping's cells at several thresholds, with their intervals.

    Attributes
    ----------
    thresholds : float64 ndarray of shape (threshold,)
    columns : dict of str to float64 ndarray of shape (threshold, cell)
        ``fpr``, ``fpr_low``, ``fpr_high``, limits ``fpr_ratio_low``, ``fpr_ratio_high`` of the
        ratio to all other cells, and the same of ``fnr``; the pooled cell last.
    """

    thresholds: FloatArray
    columns: dict[str, FloatArray]

    @classmethod
    def of(cls, intervals: RateIntervals, points: Mapping[float, int], cells: int) -> Band:
        """Rates and limits of the last so many cells at some points, by their thresholds."""
        at = list(points.values())
        columns: dict[str, FloatArray] = {}
        for metric in RATES:
            one = intervals.rates[metric]
            columns |= {metric: one.rate, f"{metric}_low": one.low, f"{metric}_high": one.high}
            low, high = np.full((2, *one.rate.shape), np.nan)
            if intervals.to_others is not None:
                ratio = intervals.to_others[metric]
                n_groups = ratio.low.shape[-1]  # without the pooled cell
                low[..., :n_groups], high[..., :n_groups] = ratio.low, ratio.high
            columns |= {f"{metric}_ratio_low": low, f"{metric}_ratio_high": high}
        columns = {name: numbers[at, -cells:] for name, numbers in columns.items()}
        return cls(np.fromiter(points, float), columns)

    def with_cells(self, other: Band) -> Band:
        """The same with the cells of another, at the same thresholds, after its own."""
        both = {
            name: np.concatenate((of, other.columns[name]), axis=-1)
            for name, of in self.columns.items()
        }
        return Band(self.thresholds, both)

    @classmethod
    def joined(cls, parts: Sequence[Band]) -> Band:
        """Several of the same cells, in rising order of their thresholds."""
        thresholds = np.concatenate([one.thresholds for one in parts])
        order = np.argsort(thresholds, kind="stable")
        columns = {
            name: np.concatenate([one.columns[name] for one in parts])[order]
            for name in parts[0].columns
        }
        return cls(thresholds[order], columns)


def points_by_threshold(found: Iterable[Found]) -> dict[float, int]:
    """Thresholds of operating points, each once, and which point is at it."""
    at: dict[float, int] = {}
    for i, one in enumerate(found):
        if one.point.rule != DEPLOYED and not np.isnan(one.threshold):
            at.setdefault(one.threshold + 0.0, i)
    return at


def bands(
    trials: TrialSet,
    layouts: Sequence[Layout],
    walk: Sequence[PlacedTrials],
    members: Sequence[tuple[Members, Members]],
    thresholds: FloatArray,
    options: Options,
    pairs: int,
) -> list[Band]:
    """Intervals at thresholds of every layout's cells, the pooled one last.

    Parameters
    ----------
    trials, walk, members
        As in :func:`~parivox.auditing.speaker_errors.tally_errors`.
    layouts
        Without levels; the first is of all trials.
    thresholds, options
        Where, and how.
    pairs
        So many are in the cells of the largest layout.
    """
    found = [
        Found(OperatingPoint(f"threshold={t!r}", "threshold", t), t, *(np.nan,) * 3, "")
        for t in thresholds.tolist()
    ]
    step = max(AT_ONCE // max(pairs, 1), 1)
    parts: list[list[Band]] = [[] for _ in layouts]
    for start in range(0, len(found), step):
        here = found[start : start + step]
        every, *rest = tally_errors(trials, layouts, walk, here, members)
        whole = _band(every[0].part(0, 0), every[1], here, options)
        parts[0].append(whole)
        for into, (cells, level) in zip(parts[1:], rest, strict=True):
            if _is_all(level, every[1]):
                own = _band(cells, level.part(0, 0), here, options)
                into.append(own.with_cells(whole))
            else:
                into.append(_band(cells, level, here, options))
    return [Band.joined(each) for each in parts]


def _band(
    cells: SpeakerErrors, level: SpeakerErrors, found: Sequence[Found], options: Options
) -> Band:
    intervals = rate_intervals(cells, level, options)
    return Band.of(intervals, points_by_threshold(found), intervals.fewest.size)


def _is_all(some: SpeakerErrors, every: SpeakerErrors) -> bool:
    """Whether some of the trials are all of them."""
    n = [(one.target.trials.sum(), one.nontarget.trials.sum()) for one in (some, every)]
    return bool(n[0] == n[1])


def band_rows(
    rows: Rows, where: Mapping[str, str], groups: Sequence[str], parts: Sequence[Band]
) -> None:
    """Rows of a grouping's cells, the last of them the pooled one."""
    band = Band.joined(parts)
    for i, group in enumerate(groups):
        columns = {name: of[:, i] for name, of in band.columns.items()}
        rows.add(**where, group=group, threshold=band.thresholds, **columns)
