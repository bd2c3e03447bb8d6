"""Intervals of error rates: over speakers, and over trials for comparison.

`rate_interval` is the closed form over speakers; its rule was found by simulation
(docs/methods/uncertainty.md#intervals-of-rates) and is studied again in ``benchmarks/coverage``.
What no interval can see is a kind of speaker that the sample lacks; notes say so. Arrays are
``[..., cell]``, leading axes are free.

`wilson`, `clopper_pearson` and `jeffreys` take trials to be independent
(docs/methods/uncertainty.md#intervals-over-trials). They are far too short for speaker
verification, where trials share speakers (docs/methods/uncertainty.md#why-speakers), unless they
are given effective numbers: errors / deff of trials / deff.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from parivox.core.cluster_errors import safe_divide
from parivox.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from parivox.core.cluster_errors import Moments
    from parivox.core.counts import FloatArray, IntArray

# Speaker variance grows with the rate as [R (1 - R)] ** 1.5
# (docs/methods/uncertainty.md#intervals-of-rates).
_GROWTH = 1.5
# Bisections of the way from a rate to 0 or 1.
_STEPS = 60
# One speaker in ten is of a kind that fewer than 29 speakers lack with probability .05 or more.
_FEW_SPEAKERS = 29
_SURE_DF = 5  # degrees of freedom from which a variance is known well enough
_HANDFUL = 5  # fewer errors: no nearer than Clopper and Pearson's limits
_FAR = 5  # an upper limit so many times the rate says nothing of the lower one
_FEW_CELLS = 3  # other cells that a pooled floor needs


UNKNOWN_SPEAKERS = "unknown_test_speakers"
"""Code of what cannot be told as nobody knows how many people made the nontarget trials."""
REASON_NO_TEST_SPEAKER = f"nontarget trials without a test speaker ({UNKNOWN_SPEAKERS})"
NOTE_NO_TEST_SPEAKER = f"no interval: {REASON_NO_TEST_SPEAKER}"


@dataclass(frozen=True, eq=False)
class Interval:
    """Rates with limits, of shape (..., cell)."""

    rate: FloatArray
    """In [0, 1], lower is better, as are its limits, which are NaN where `method` is empty."""
    low: FloatArray
    high: FloatArray
    deff: FloatArray
    """Design effect: variance in units of the binomial one, at least 1; NaN without errors."""
    n_eff: FloatArray
    """Independent trials that would tell as much."""
    df: FloatArray
    """Degrees of freedom of the variance, at least 1; NaN without errors."""
    se: FloatArray
    """Standard error of the rate; NaN without errors."""
    note: NDArray[np.str_]
    """What a reader must know, parts joined by "; "; why there is no interval."""
    method: NDArray[np.str_]
    """``speakers``; ``zero-errors`` for cells without errors, or with nothing but errors; empty
    without an interval.
    """

    def without_limits(self, cells: NDArray[np.bool_], why: str) -> Interval:
        """The same without limits in these cells, and why; those without trials say so already."""
        return replace(
            self,
            low=np.where(cells, np.nan, self.low),
            high=np.where(cells, np.nan, self.high),
            method=np.where(cells, "", self.method),
            note=np.where(cells & (self.note != "no trials"), why, self.note),
        )

    def without_spread(self, cells: NDArray[np.bool_], why: str) -> Interval:
        """The same `without` limits in these cells, nor what they are made of."""
        known = {name: getattr(self, name) for name in ("deff", "n_eff", "df", "se")}
        columns = {name: np.where(cells, np.nan, of) for name, of in known.items()}
        return replace(self.without_limits(cells, why), **columns)


def rate_interval(
    moments: Moments, confidence: float = 0.95, pooled_floor: ArrayLike | None = None
) -> Interval:
    """Interval of each cell's rate over speakers.

    Parameters
    ----------
    moments : Moments
        Of groups that may lend each other a design effect: the cells of one grouping.
    confidence : float
        In (0, 1).
    pooled_floor : array_like of shape (..., cell), optional
        `other_kappa2`: variances are drawn up to what the other groups' speakers show, by
        a weight of two degrees of freedom. Target trials only; NaN leaves a cell as it is.

    Returns
    -------
    Interval
        The limits are where the rate lies as many standard errors away as the quantile of t
        says, the standard error being that at the limit. Without errors, or with nothing but
        errors: the rule of 3, 3 * deff / trials at 95 % (exactly 3; else in proportion to
        ln(1 - confidence)), with the design effect of all cells together, at least 1 and at
        most what it is if all trials of a speaker have the same outcome; the latter if no
        other cell tells one. NaN without trials, and where one speaker takes part in all.

    Raises
    ------
    ConfigError
        A confidence out of range, or a pooled floor for nontarget trials.

    Examples
    --------
    >>> from parivox.core.cluster_errors import ErrorsBySpeaker, moments
    >>> errors, trials = np.array([12, 0, 3, 41, 7, 1, 0, 9]), np.full(8, 230)
    >>> told = moments(ErrorsBySpeaker(np.zeros(8, int), np.arange(8), errors, trials, 1))
    >>> found = rate_interval(told)
    >>> found.low.round(6).tolist(), found.high.round(6).tolist()
    ([0.013105], [0.227884])
    """
    return intervals_at_once([(moments, pooled_floor)], confidence)[0]


def intervals_at_once(
    several: Sequence[tuple[Moments, ArrayLike | None]], confidence: float = 0.95
) -> list[Interval]:
    """`rate_interval` of several, each with its pooled floor, whose limits are sought together.

    Of moments of shape (..., cell) with the same leading axes.

    Examples
    --------
    >>> from parivox.core.cluster_errors import ErrorsBySpeaker, moments
    >>> zero, speakers = np.zeros(4, int), np.arange(4)
    >>> told = moments(ErrorsBySpeaker(zero, speakers, np.array([1, 0, 6, 2]), np.full(4, 50), 1))
    >>> one, other = intervals_at_once([(told, None), (told, None)])
    >>> bool(one.low == other.low == rate_interval(told).low)
    True
    """
    variances = [
        m.variance if floor is None else _floored(m, np.asarray(floor, dtype=np.float64))
        for m, floor in several
    ]
    parts = [
        np.broadcast_arrays(m.rate, variance, m.df)
        for (m, _), variance in zip(several, variances, strict=True)
    ]
    rate, spread, df = (np.concatenate(each, axis=-1) for each in zip(*parts, strict=True))
    cuts = np.cumsum([m.rate.shape[-1] for m, _ in several])[:-1]
    ends = (np.split(each, cuts, axis=-1) for each in limits(rate, spread, df, confidence))
    return [
        _interval(m, variance, low, high, confidence)
        for (m, _), variance, low, high in zip(several, variances, *ends, strict=True)
    ]


def _interval(
    m: Moments, variance: FloatArray, low: FloatArray, high: FloatArray, confidence: float
) -> Interval:
    """Of rates that lie between these limits, as far as their own spread tells."""
    raised = variance > m.variance
    low, high = _at_least_exact(m, low, high, confidence)
    same = (variance == 0) & (m.trials > 0)
    # Cells without spread add nothing to the pooled design effect: it is that of the others.
    weight = np.where(variance > 0, m.trials**2, 0)
    spread = (np.where(weight > 0, weight * v, 0) for v in (variance, m.variance_binomial))
    lent = safe_divide(*(each.sum(axis=-1, keepdims=True) for each in spread))
    most = np.maximum(m.speaker_concentration * m.trials / m.sides, 1)
    deff = np.where(
        same, np.fmin(np.maximum(lent, 1), most), safe_divide(variance, m.variance_binomial)
    )
    n_eff = safe_divide(m.trials, deff)
    reach = np.minimum(safe_divide(_reach(confidence), n_eff), 1)
    low = np.where(same, np.where(m.rate > 0, 1 - reach, 0), low)
    high = np.where(same, np.where(m.rate > 0, 1, reach), high)
    known = ~np.isnan(high)
    varied = known & ~same
    speakers = m.speakers.astype(np.int64).astype(np.str_)
    rare = np.strings.add(speakers, " speakers cannot exclude a rare badly served kind of speaker")
    borrowed = same & known & (lent < most)
    notes: list[tuple[NDArray[np.bool_], str | NDArray[np.str_]]] = [
        (m.trials == 0, "no trials"),
        (m.has_common_speaker, "one speaker takes part in all trials"),
        (same & (m.rate == 0), "no errors"),
        (same & (m.rate == 1), "nothing but errors"),
        (borrowed, "design effect of the other groups"),
        (same & known & ~borrowed, "each speaker counted as one trial"),
        (raised, "variance raised to that of the other groups"),
        (varied & ((m.df < _SURE_DF) | (m.largest_share > 0.5)), "interval may be short"),
        (varied & (high > _FAR * m.rate), "upper limit only"),
        (known & (m.speakers < _FEW_SPEAKERS), rare),
    ]
    return Interval(
        m.rate,
        low,
        high,
        np.where(varied, deff, np.nan),
        n_eff,
        np.where(varied, m.df, np.nan),
        np.where(varied, np.sqrt(variance), np.nan),
        _joined(notes, m.rate.shape),
        np.select([varied, known], ["speakers", "zero-errors"], ""),
    )


def limits(
    rate: ArrayLike, variance: ArrayLike, df: ArrayLike, confidence: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Limits of a rate whose standard error grows as [rate (1 - rate)] ** 0.75.

    Of a rate in (0, 1) with its variance, greater than 0, and degrees of freedom of that:
    0 < low < rate < high < 1, to 1e-15; NaN for a rate of 0 or 1, and where any is NaN.

    Examples
    --------
    >>> low, high = limits(0.02, 1e-4, 7)
    >>> round(float(low), 6), round(float(high), 6)
    (0.007999, 0.088138)
    """
    from scipy.special import stdtrit  # noqa: PLC0415 - takes time to load

    if not 0 < confidence < 1:
        msg = f"confidence is {confidence}; it lies between 0 and 1, such as 0.95"
        raise ConfigError(msg)
    r, v, d = np.broadcast_arrays(*(np.asarray(x, np.float64) for x in (rate, variance, df)))
    reach = stdtrit(d, 0.5 + confidence / 2) * safe_divide(np.sqrt(v), _growth(r))
    out = np.stack((np.zeros(r.shape), np.ones(r.shape)))
    inside = np.stack((r, r))
    for _ in range(_STEPS):
        middle = (out + inside) / 2
        beyond = np.abs(r - middle) > reach * _growth(middle)
        out, inside = np.where(beyond, middle, out), np.where(beyond, inside, middle)
    low, high = np.where(reach > 0, out, np.nan)
    return low[()], high[()]


def level(interval: Interval, at: ArrayLike) -> FloatArray:
    """Level, 1 - confidence, at which a limit of the interval lies at given rates.

    Of shape (..., cell), in [0, 1]: 1 at the rate itself. NaN without an interval, which may be of
    any level.
    """
    from scipy.special import betainc, stdtr  # noqa: PLC0415 - takes time to load

    q = np.asarray(at, dtype=np.float64)
    away = np.abs(interval.rate - q)
    with np.errstate(invalid="ignore", divide="ignore"):
        quantile = away / interval.se * (_growth(interval.rate) / _growth(q))
        by_spread = 2 * stdtr(interval.df, -np.where(away > 0, quantile, 0))
        trials = interval.n_eff * interval.deff
        errors = interval.rate * trials
        for k, rate, below in (
            (errors, q, q < interval.rate),
            (trials - errors, 1 - q, q > interval.rate),
        ):
            exact = below & (k < _HANDFUL - 0.5)
            if exact.any():
                tail = betainc(k, trials - k + 1, rate, out=np.zeros(exact.shape), where=exact)
                by_spread = np.where(exact, np.fmax(by_spread, np.minimum(2 * tail, 1)), by_spread)
    by_rule = np.exp(-away * interval.n_eff / _reach(1 - np.exp(-1)))
    found = np.where(interval.method == "zero-errors", by_rule, by_spread)
    return np.where(interval.method == "", np.nan, found)


def kappa2(moments: Moments) -> FloatArray:
    """Speaker variance pooled over cells, in units of [rate (1 - rate)] ** 1.5.

    Of target trials; of shape (...), at least 0: variance beyond the binomial one, by the square
    sum of the speakers' shares of the trials, weighted by speakers - 1
    (docs/methods/uncertainty.md#pooled-floor). NaN if no cell has both errors and successes.
    """
    excess, scale, _ = _excess(moments)
    return safe_divide(excess.sum(axis=-1), scale.sum(axis=-1))[()]


def other_kappa2(moments: Moments) -> FloatArray:
    """`kappa2` of the other cells of each, the pooled floor of `rate_interval`.

    Of target trials; of shape (..., cell), NaN unless at least 3 other cells have errors and
    successes.
    """
    excess, scale, used = _excess(moments)
    parts = (x.sum(axis=-1, keepdims=True) - x for x in (excess, scale, used))
    excess, scale, used = parts
    return np.where(used >= _FEW_CELLS, safe_divide(np.fmax(excess, 0), scale), np.nan)


def wilson(
    errors: ArrayLike, trials: ArrayLike, confidence: float = 0.95, *, df: ArrayLike = np.inf
) -> tuple[FloatArray, FloatArray]:
    """Wilson's score interval.

    Of errors and trials at least 0, which may be effective numbers. `df` are degrees of freedom of
    the quantile of t; inf is for that of the normal distribution.

    Examples
    --------
    >>> low, high = wilson(3, 1000)
    >>> round(float(low), 6), round(float(high), 6)
    (0.001021, 0.008783)
    """
    from scipy.special import stdtrit  # noqa: PLC0415 - takes time to load

    k, n = np.broadcast_arrays(np.asarray(errors, np.float64), np.asarray(trials, np.float64))
    z2 = stdtrit(df, 0.5 + confidence / 2) ** 2
    rate = safe_divide(k, n)
    middle = (k + z2 / 2) / (n + z2)
    half = np.sqrt(z2 * (rate * (1 - rate) * n + z2 / 4)) / (n + z2)
    low = np.where(k == 0, 0, np.maximum(middle - half, 0))
    high = np.where(k == n, 1, np.minimum(middle + half, 1))
    return np.where(n > 0, low, np.nan)[()], np.where(n > 0, high, np.nan)[()]


def clopper_pearson(
    errors: ArrayLike, trials: ArrayLike, confidence: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Clopper and Pearson's interval, which covers at least as often as it says.

    Examples
    --------
    >>> low, high = clopper_pearson(0, 1000)
    >>> float(low), round(float(high), 6)
    (0.0, 0.003682)
    """
    k, n = np.broadcast_arrays(np.asarray(errors, np.float64), np.asarray(trials, np.float64))
    return _beta(k, n, (k, n - k + 1), (k + 1, n - k), confidence)


def jeffreys(
    errors: ArrayLike, trials: ArrayLike, confidence: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Equal-tailed interval of the posterior under Jeffreys' prior; 0 and 1 where at the ends.

    Examples
    --------
    >>> low, high = jeffreys(0, 1000)
    >>> float(low), round(float(high), 6)
    (0.0, 0.002508)
    """
    k, n = np.broadcast_arrays(np.asarray(errors, np.float64), np.asarray(trials, np.float64))
    shape = (k + 0.5, n - k + 0.5)
    return _beta(k, n, shape, shape, confidence)


def _beta(
    k: FloatArray,
    n: FloatArray,
    below: tuple[FloatArray, FloatArray],
    above: tuple[FloatArray, FloatArray],
    confidence: float,
) -> tuple[FloatArray, FloatArray]:
    """Quantiles of two beta distributions, at the ends 0 and 1."""
    from scipy.special import betaincinv  # noqa: PLC0415 - takes time to load

    tail = (1 - confidence) / 2
    low = np.where(k == 0, 0, betaincinv(*below, tail))
    high = np.where(k == n, 1, betaincinv(*above, 1 - tail))
    return np.where(n > 0, low, np.nan)[()], np.where(n > 0, high, np.nan)[()]


def _at_least_exact(
    m: Moments, low: FloatArray, high: FloatArray, confidence: float
) -> tuple[FloatArray, FloatArray]:
    """Limits no nearer than independent trials allow, where a handful of errors has no spread."""
    errors, trials = np.broadcast_arrays(m.errors, m.trials)
    none_below, none_above = clopper_pearson(errors, trials, confidence)
    few = (errors > 0) & (errors < _HANDFUL - 0.5) & ~np.isnan(low)
    few_right = (errors < trials) & (trials - errors < _HANDFUL - 0.5) & ~np.isnan(high)
    return (
        np.where(few, np.fmin(low, none_below), low),
        np.where(few_right, np.fmax(high, none_above), high),
    )


def _excess(m: Moments) -> tuple[FloatArray, FloatArray, IntArray]:
    """What the pooled speaker variance is the ratio of, by cell, and which cells count."""
    _check_target(m)
    used = m.variance > 0
    above = safe_divide(m.variance - m.variance_binomial, m.speaker_concentration)
    return (
        np.where(used, (m.speakers - 1) * above, 0),
        np.where(used, (m.speakers - 1) * (m.rate * (1 - m.rate)) ** _GROWTH, 0),
        used.astype(np.int64),
    )


def _floored(m: Moments, kappa2: FloatArray) -> FloatArray:
    """Variances of target trials drawn up to what a pooled speaker variance makes them."""
    _check_target(m)
    pooled = (
        m.variance_binomial + kappa2 * (m.rate * (1 - m.rate)) ** _GROWTH * m.speaker_concentration
    )
    drawn = (2 * pooled + (m.speakers - 1) * m.variance) / (m.speakers + 1)
    return np.where(np.isnan(drawn), m.variance, np.maximum(m.variance, drawn))


def _growth(rate: FloatArray) -> FloatArray:
    """[R (1 - R)] ** 0.75, how the standard error of a rate grows with it."""
    root = np.sqrt(rate * (1 - rate))
    return np.asarray(root * np.sqrt(root))


def _reach(confidence: float) -> float:
    """Trials by which a rate without errors is away from its limit: 3 at 95 %."""
    return float(3 * np.log1p(-confidence) / np.log(0.05))


def _check_target(m: Moments) -> None:
    if m.sides != 1:
        msg = "pooled speaker variance is asked for nontarget trials; it is for target trials only"
        raise ConfigError(msg)


def _joined(
    notes: list[tuple[NDArray[np.bool_], str | NDArray[np.str_]]], shape: tuple[int, ...]
) -> NDArray[np.str_]:
    """The texts that hold for each cell, joined by "; "."""
    found = np.full(shape, "")
    for holds, text in notes:
        mark = np.where(found == "", "", "; ")
        found = np.where(holds, np.strings.add(np.strings.add(found, mark), text), found)
    return found
