"""Trends: how the odds of an error change with a number that people have, such as age.

See docs/methods/confounding.md#trends.

Beside bands of a numeric attribute, which hide what happens within them and between, a trend is one
figure: the logistic regression of errors on the attribute, a slope in log odds per unit (for ten
years divide the ages by 10; exp of it is an odds ratio, for rare errors about a ratio of rates).
Speakers are the sample, as in docs/methods/uncertainty.md#residuals-and-variances. Arrays are
``[..., cell]``; leading axes, such as operating points, are free.

==================  ====================================================================
reason              meaning
==================  ====================================================================
few_speakers        fewer than 5 speakers whose value is known
one_value           all have the same value
no_errors           no trial went wrong
all_errors          every trial went wrong
separated           all errors lie on one side of all other trials: the slope is infinite
not_converged       the fit did not settle
few_apart           the slope hangs on one or two speakers; it has no limits
==================  ====================================================================
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parivox.core.moments import of_speakers, over, speaker_cells
from parivox.core.tallies import ByPair, BySpeaker, sum_by_cell
from parivox.errors import ConfigError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from parivox.core.counts import FloatArray, IntArray

_FEWEST_SPEAKERS = 5
_STEPS, _LONGEST_STEP, _SETTLED = 50, 2.0, 1e-9
_RANK = 1e-9
"""Share of the information on the slope that must be left without any one speaker."""


@dataclass(frozen=True, eq=False)
class Trend:
    """Change of the log odds of an error per unit of a number.

    Attributes
    ----------
    slope, low, high : float64 of shape (..., cell)
        0 is no trend, above 0 errors rise with the number. NaN with a reason.
    se, df, p : float64 of shape (..., cell)
        Standard error of the slope, its degrees of freedom, two-sided p of no trend.
    speakers : int64 of shape (cell,)
        Speakers whose value is known.
    reason : str array of shape (..., cell)
    """

    slope: FloatArray
    low: FloatArray
    high: FloatArray
    se: FloatArray
    df: FloatArray
    p: FloatArray
    speakers: IntArray
    reason: NDArray[np.str_]


def trend(tally: BySpeaker | ByPair, x: ArrayLike, confidence: float = 0.95) -> Trend:
    """Slope of the log odds of an error on a number that speakers have.

    Parameters
    ----------
    tally : BySpeaker or ByPair
        Of target or nontarget trials, trials of shape (entry,).
    x : array_like of shape (speaker,)
        The number of each speaker, indexed by the tally's speakers; NaN where unknown, which
        leaves the speaker's trials out. A nontarget trial has the mean of its two speakers: a
        trial has two sides, and which of them enrols does not matter. How far they are apart
        is not in the model.
    confidence : float in (0, 1)

    Returns
    -------
    Trend
        Maximum likelihood. The variance is that of leaving each speaker out in turn (one Newton
        step each), for nontarget trials less what a pair counts twice, as V_J and V_U of
        docs/methods/uncertainty.md#residuals-and-variances, and never below that of independent
        trials. Degrees of freedom as there, with each speaker's part of the information on the
        slope for trials, and one speaker fewer for the second fitted number. In simulations 95 %
        intervals covered .97 to 1.0 of the slopes with 6 to 12 speakers, .93 to .98 with 25 and
        100.

    Examples
    --------
    >>> n = np.zeros(8, dtype=int)
    >>> errors = np.array([2, 3, 3, 5, 6, 9, 12, 15])
    >>> found = trend(BySpeaker(n, np.arange(8), errors, n + 100, 1), np.arange(20, 100, 10) / 10)
    >>> round(float(found.slope[0]), 3)
    0.316
    """
    if not 0 < confidence < 1:
        msg = f"confidence is {confidence}; it must lie between 0 and 1, both excluded"
        raise ConfigError(msg)
    from scipy.special import stdtr, stdtrit  # noqa: PLC0415 - SciPy only where it is needed

    known = _Known.of(tally, np.asarray(x, dtype=np.float64))
    reason = _undefined(known)
    told = reason == ""
    level, slope, settled = _fit(known, told)
    reason = np.where(told & ~settled, "not_converged", reason)
    told = reason == ""
    variance, df = _variance(known, level, slope)
    few = told & ~(np.isfinite(variance) & np.isfinite(df))
    reason = np.where(few, "few_apart", reason)
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = np.where(told, slope / known.scale, np.nan)
        se = np.where(told & ~few, np.sqrt(variance) / known.scale, np.nan)
        df = np.where(told & ~few, df, np.nan)
        half = stdtrit(df, (1 + confidence) / 2) * se
        p = 2 * stdtr(df, -np.abs(slope) / se)
    return Trend(slope, slope - half, slope + half, se, df, p, known.tally.speakers, reason)


class _Known(NamedTuple):
    """Trials of speakers whose number is known."""

    tally: BySpeaker | ByPair
    errors: FloatArray
    trials: FloatArray
    x: FloatArray
    """Of each entry, brought to mean 0 and variance 1 over the trials of each cell."""
    scale: FloatArray
    """Standard deviation of each cell that this took; 0 where all have one value."""

    @classmethod
    def of(cls, tally: BySpeaker | ByPair, x: FloatArray) -> _Known:
        names = ["speaker"] if isinstance(tally, BySpeaker) else ["one", "other"]
        value = np.mean([x[getattr(tally, name)] for name in names], axis=0)
        errors = np.asarray(tally.errors, dtype=np.float64)
        trials = np.asarray(tally.trials, dtype=np.float64)
        kept = ~np.isnan(value) & (trials > 0)
        errors, trials, value = errors[..., kept], trials[kept], value[kept]
        people = {name: getattr(tally, name)[kept] for name in names}
        known = replace(tally, cell=tally.cell[kept], errors=errors, trials=trials, **people)
        cell, total = known.cell, known.by_cell(trials)
        centred = value - over(known.by_cell(trials * value), total)[cell]
        # equal numbers leave a rest in their last bits, which is no spread
        alike = _highest(known, value) == -_highest(known, -value)
        scale = np.sqrt(over(known.by_cell(trials * centred**2), total))
        scale = np.where(alike, 0.0, scale)
        return cls(known, errors, trials, over(centred, scale[cell], 0), scale)


def _undefined(known: _Known) -> NDArray[np.str_]:
    tally, wrong, trials, x, scale = known
    right = trials - wrong
    errors, total = tally.by_cell(wrong), tally.by_cell(trials)

    def highest(of: FloatArray, sign: int) -> FloatArray:
        return _highest(tally, np.where(of > 0, sign * x, -np.inf))

    above = -highest(wrong, -1) >= highest(right, 1)
    below = highest(wrong, 1) <= -highest(right, -1)
    reasons = {
        "few_speakers": tally.speakers < _FEWEST_SPEAKERS,
        "one_value": scale == 0,
        "no_errors": errors == 0,
        "all_errors": errors == total,
        "separated": above | below,
    }
    conditions = [np.broadcast_to(held, errors.shape) for held in reasons.values()]
    return np.select(conditions, list(reasons), default="")


def _fit(
    known: _Known, told: NDArray[np.bool_]
) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
    """Level and slope by Newton's method, shortened where it would leap; whether it settled."""
    tally, x = known.tally, known.x
    errors, total = tally.by_cell(known.errors), tally.by_cell(known.trials)
    level = np.log(np.where(told, errors, 1.0) / np.where(told, total - errors, 1.0))
    slope, step = np.zeros(level.shape), np.zeros(level.shape)
    for _ in range(_STEPS):
        residual, information = _scores(known, level, slope)
        a, b, c = (tally.by_cell(information * x**k) for k in range(3))
        u, v = (tally.by_cell(residual * x**k) for k in range(2))
        det = a * c - b * b
        steps = np.where(told, [over(c * u - b * v, det), over(a * v - b * u, det)], 0.0)
        # a flat likelihood would leap out of sight, and is not settled either
        step = np.nan_to_num(np.abs(steps).max(axis=0), nan=np.inf)
        short = np.minimum(1.0, _LONGEST_STEP / np.maximum(step, _SETTLED))
        level = level + np.nan_to_num(steps[0] * short)
        slope = slope + np.nan_to_num(steps[1] * short)
        if (step < _SETTLED).all():
            break
    return level, slope, step < _SETTLED


def _scores(known: _Known, level: FloatArray, slope: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Residual errors and binomial variance of each entry."""
    cell = known.tally.cell
    log_odds = level[..., cell] + slope[..., cell] * known.x
    p = 0.5 * (1 + np.tanh(0.5 * log_odds))
    return known.errors - known.trials * p, known.trials * p * (1 - p)


def _variance(known: _Known, level: FloatArray, slope: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Variance of the slope over speakers, and its degrees of freedom."""
    tally, x = known.tally, known.x
    cell, n_cells, s = speaker_cells(tally), tally.n_cells, tally.speakers.astype(np.float64)
    residual, information = _scores(known, level, slope)
    powers = [np.ones(x.shape), x, x**2]

    def summed(values: FloatArray) -> FloatArray:
        return sum_by_cell(values, cell, n_cells)

    whole = [tally.by_cell(information * power) for power in powers]
    own = [of_speakers(tally, information * power) for power in powers]
    a, b, c = (total[..., cell] - part for total, part in zip(whole, own, strict=True))
    u, v = (of_speakers(tally, residual * power) for power in powers[:2])
    det = a * c - b * b
    det = np.where(det > _RANK * a * c, det, np.nan)
    # how far the slope moves, to first order, when a speaker is left out
    moved = (a * v - b * u) / det
    middle = over(whole[1], whole[0])
    independent = over(1, whole[2] - middle * whole[1])
    apart = over(s - 1, s) * summed(moved**2)
    variance = np.maximum(apart, independent)
    if isinstance(tally, ByPair):
        q0, q1, q2 = (of_speakers(tally, residual**2 * power) for power in powers)
        twice = (a * a * q2 - 2 * a * b * q1 + b * b * q0) / det**2
        unbiased = over((s - 2) * (s - 1), (s - 3) * s) * summed(moved**2 - twice / 2)
        variance = np.maximum(np.maximum(unbiased, 0.75 * apart), independent)
    off = middle[..., cell]
    part = own[2] - 2 * off * own[1] + off**2 * own[0]
    by_part = np.fmax(over(summed(part) ** 2, summed(part**2)) - 1, 1)
    kurt = np.fmax(over(s * summed(moved**4), summed(moved**2) ** 2) - 3, 0)
    return variance, np.minimum(by_part, over(2, over(kurt, s) + over(2, s - 2)))


def _highest(tally: BySpeaker | ByPair, values: FloatArray) -> FloatArray:
    """Largest of the values of each cell's entries; -inf without entries."""
    found = np.full((*values.shape[:-1], tally.n_cells), -np.inf)
    if tally.cell.size:
        first = np.flatnonzero(np.concatenate(([True], tally.cell[1:] != tally.cell[:-1])))
        found[..., tally.cell[first]] = np.maximum.reduceat(values, first, axis=-1)
    return found
