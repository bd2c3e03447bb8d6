"""How errors are spread over speakers, and what repeated attempts make of an error rate.

See docs/methods/verdicts.md#people-behind-a-rate and docs/methods/verdicts.md#attempts.

A rate of 5 % can be errors of all speakers sometimes or of some speakers always. Arrays are
``[..., cell]``; leading axes, such as operating points, are free. All results but `attempts_until`
are shares or chances in [0, 1]; times 10,000 they are people per 10,000.

`share_above` and `locked_out_people` take the speakers of a cell to have error rates
of their own, drawn from a beta distribution whose mean and spread are those of the cell (the rate,
and the analysis-of-variance estimate of the correlation of errors within speakers). Each speaker's
own errors and trials turn it into what is known of that one speaker; the cell's figure is the mean
over its speakers. In simulations (8 to 100 speakers, 10 to 230 trials each) this was nearer to the
truth than the beta distribution alone, and than maximum likelihood without a shape. With few
trials each it cannot distinguish two kinds of speakers from many.

==================  ====================================================================
reason              meaning
==================  ====================================================================
no_trials           no speaker has trials
few_speakers        fewer than 5 speakers
few_trials          the speakers' trials do not reach: fewer than 1 / limit on average, so that
                    less than one error is expected of somebody at the limit; fewer than
                    the attempts; or one each, when spread and noise are the same thing
no_errors           no trial went wrong, so that nothing is known of the spread
all_errors          every trial went wrong, so that nothing is known of the spread
==================  ====================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parivox.core.cluster_errors import moments, reduce_by_cell
from parivox.core.intervals import rate_interval
from parivox.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from parivox.core.cluster_errors import ErrorsBySpeaker
    from parivox.core.counts import FloatArray, IntArray


# As for every inference (docs/uncertainty.md#sample-size-minimums).
_MIN_SPEAKERS = 5
# Correlations within speakers that still give a proper beta distribution.
_MIN_CORRELATION, _MAX_CORRELATION = 1e-6, 0.99
# Numbers of errors at which the sum over the worst tenth under equal rates is evaluated.
_N_ERROR_COUNTS = 40
# Numbers held in memory at a time for this sum.
_NUMBERS_AT_ONCE = 1 << 16


@dataclass(frozen=True, eq=False)
class SpeakerShares:
    """A share of speakers, in [0, 1], with its limits, of shape (..., cell); NaN with a reason."""

    value: FloatArray
    low: FloatArray
    high: FloatArray
    reason: NDArray[np.str_]


@dataclass(frozen=True, eq=False)
class WorstTenth:
    """What the tenth of speakers with the most errors carries."""

    speakers: IntArray
    """How many the tenth is: a tenth of the speakers, rounded up. Of shape (cell,)."""
    observed: FloatArray
    """Their share of the cell's errors. Of shape (..., cell)."""
    expected: FloatArray
    """The same if all speakers had one rate: picking the worst after the fact finds some luck as
    well. Only the excess of `observed` is a difference between speakers. Of shape (..., cell).
    """
    reason: NDArray[np.str_]
    """``no_trials``, ``no_errors`` or empty. Of shape (..., cell)."""


def share_above(
    cluster_errors: ErrorsBySpeaker, limit: float, confidence: float = 0.95
) -> SpeakerShares:
    """Return the share of speakers whose error rate exceeds a limit, noise of few trials removed.

    Counting speakers whose observed rate is above the limit counts luck as well: of 100
    speakers who all have a rate of 4 % and 30 trials, 34 are seen above 5 %.

    Lower is better. The limits join what is unknown about the cell's mean and spread (the corners
    of their intervals) and about speakers not seen (Wilson's interval with the speakers as the
    sample); they cover more often than `confidence` says. Trials are of shape (entry,).

    Examples
    --------
    >>> from parivox.core.cluster_errors import ErrorsBySpeaker
    >>> n = np.zeros(8, dtype=int)
    >>> cluster_errors = ErrorsBySpeaker(
    ...     n, np.arange(8), np.array([90, 0, 1, 0, 2, 0, 1, 0]), n + 200, 1
    ... )
    >>> found = share_above(cluster_errors, 0.05)
    >>> round(float(found.value[0]), 3)
    0.125
    """
    from scipy.special import betaincc  # noqa: PLC0415 - SciPy only where it is needed

    if not 0 < limit < 1:
        msg = f"limit is {limit}"
        hint = "give a number above 0 and below 1, such as 0.05"
        raise ConfigError(msg, hint)

    def chance_above(alpha: FloatArray, beta: FloatArray) -> FloatArray:
        return np.asarray(betaincc(alpha, beta, limit))

    return _beta_mean_over_speakers(cluster_errors, chance_above, 1 / limit, confidence)


def locked_out_people(
    cluster_errors: ErrorsBySpeaker, attempts: int, confidence: float = 0.95
) -> SpeakerShares:
    """Return the share of people rejected in each of N genuine attempts, when people differ.

    The mean over speakers of p ** N: attempts of one person are independent, but a person who
    is often rejected stays so. `locked_out` takes all people to have one rate; the difference
    is the effect of unequal rates.

    Lower is better. `high` allows for kinds of people who are not among the speakers, and is large
    with few speakers. `cluster_errors` is of target trials, trials of shape (entry,).

    Examples
    --------
    >>> from parivox.core.cluster_errors import ErrorsBySpeaker
    >>> n = np.zeros(8, dtype=int)
    >>> cluster_errors = ErrorsBySpeaker(
    ...     n, np.arange(8), np.array([90, 0, 1, 0, 2, 0, 1, 0]), n + 200, 1
    ... )
    >>> alike = locked_out(94 / 1600, 3)
    >>> bool(locked_out_people(cluster_errors, 3).value[0] > 10 * alike)
    True
    """
    from scipy.special import betaln  # noqa: PLC0415 - SciPy only where it is needed

    n_attempts = checked_attempts(attempts)

    def all_attempts_rejected(alpha: FloatArray, beta: FloatArray) -> FloatArray:
        chance: FloatArray = np.exp(betaln(alpha + n_attempts, beta) - betaln(alpha, beta))
        return chance

    return _beta_mean_over_speakers(cluster_errors, all_attempts_rejected, n_attempts, confidence)


def worst_tenth(cluster_errors: ErrorsBySpeaker) -> WorstTenth:
    """Return the share of errors of the tenth of speakers with the most errors.

    Speakers are ranked by their errors, not by their rates: it is errors that the share counts,
    and the rate of a speaker with three trials would rank first by luck. Speakers with more
    trials therefore rank higher, in both `observed` and `expected`.

    `expected` is exact in expectation for speakers with equal trials (the k largest of S binomial
    counts sum to the sum over j of min(k, number of speakers with j or more)), near it for unequal
    ones, and a little low with fewer errors than speakers. NaN ``no_trials`` and ``no_errors``.
    Trials are of shape (entry,), errors whole numbers.

    Examples
    --------
    >>> from parivox.core.cluster_errors import ErrorsBySpeaker
    >>> n = np.zeros(20, dtype=int)
    >>> cluster_errors = ErrorsBySpeaker(n, np.arange(20), np.array([1] * 18 + [11, 11]), n + 50, 1)
    >>> found = worst_tenth(cluster_errors)
    >>> int(found.speakers[0]), float(found.observed[0]), round(float(found.expected[0]), 2)
    (2, 0.55, 0.23)
    """
    errors = np.asarray(cluster_errors.errors, dtype=np.int64)
    tenth = -(-cluster_errors.n_speakers // 10)  # rounded up
    # cells rise along the axis, so that sorting within them is sorting cell and errors as one
    span = int(errors.max(initial=0)) + 1
    worst_first = (
        span - 1 - np.sort(cluster_errors.cell * span + (span - 1 - errors), axis=-1) % span
    )
    rank = np.arange(cluster_errors.cell.size) - np.searchsorted(
        cluster_errors.cell, cluster_errors.cell
    )
    total = cluster_errors.sum_by_cell(errors)
    with np.errstate(invalid="ignore", divide="ignore"):
        errors_of_tenth = np.where(rank < tenth[cluster_errors.cell], worst_first, 0)
        observed = cluster_errors.sum_by_cell(errors_of_tenth) / total
        expected = _expected_worst_tenth_errors(cluster_errors, total, tenth) / total
    reason = np.select(
        [cluster_errors.n_speakers == 0, total == 0], ["no_trials", "no_errors"], default=""
    )
    return WorstTenth(tenth, observed, np.minimum(expected, 1.0), reason)


def locked_out(fnr: ArrayLike, attempts: int) -> FloatArray:
    """Return the chance that all of N genuine attempts are rejected: FNR ** N.

    In [0, 1], lower is better. Assumes that attempts are independent and that all people have one
    rate. Rises with the rate, so that the limits of the rate become those of the chance.

    Examples
    --------
    >>> float(locked_out(0.5, 3))
    0.125
    """
    return np.asarray(fnr, dtype=np.float64) ** checked_attempts(attempts)


def let_in(fpr: ArrayLike, attempts: int) -> FloatArray:
    """Return the chance that one of N attempts of an impostor succeeds: 1 - (1 - FPR) ** N.

    In [0, 1], lower is better. Assumes that attempts are independent. Rises with the rate, so that
    the limits of the rate become those of the chance.

    Examples
    --------
    One attempt a minute for 17 hours at FPR 0.1 %, for 3.5 hours at 0.5 % (000, 4.3):

    >>> round(float(let_in(0.001, 1020)), 3), round(float(let_in(0.005, 210)), 3)
    (0.64, 0.651)
    """
    rate: FloatArray = np.asarray(fpr, dtype=np.float64)
    with np.errstate(divide="ignore"):
        log_chance_rejected: FloatArray = checked_attempts(attempts) * np.log1p(-rate)
    return np.abs(np.expm1(log_chance_rejected))


def attempts_until(fpr: ArrayLike, probability: float = 0.95) -> FloatArray:
    """Return the attempts after which an impostor has succeeded with a given probability.

    The smallest n with 1 - (1 - FPR) ** n >= probability: ln(1 - probability) / ln(1 - FPR),
    rounded up (000, 4.3): whole numbers from 1, higher is better; inf for a rate of 0, NaN for NaN.
    Assumes that attempts are independent. Falls with the rate, so that the upper limit of the rate
    gives the lower limit of the attempts.

    Examples
    --------
    >>> attempts_until([0.001, 0.005, 0.0]).tolist()
    [2995.0, 598.0, inf]
    """
    if not 0 < probability < 1:
        msg = f"probability is {probability}"
        hint = "give a number above 0 and below 1"
        raise ConfigError(msg, hint)
    rate = np.asarray(fpr, dtype=np.float64)
    with np.errstate(divide="ignore"):
        exact = np.divide(np.log1p(-probability), np.log1p(-rate))
    # a whole number reached by two logarithms may be off in its last bit; 0 - 0 drops its sign
    return np.where(rate > 0, np.maximum(np.ceil(exact * (1 - 1e-12)), 1.0), np.abs(exact))[()]


def checked_attempts(attempts: int) -> int:
    """Return a number of attempts as an integer; ConfigError unless a whole number from 1."""
    if attempts < 1 or attempts != int(attempts):
        msg = f"attempts is {attempts}"
        hint = "give a whole number of 1 or more, such as 3"
        raise ConfigError(msg, hint)
    return int(attempts)


def _expected_worst_tenth_errors(
    cluster_errors: ErrorsBySpeaker, errors: FloatArray, tenth: IntArray
) -> FloatArray:
    """Return the expected errors of the worst tenth if all speakers of a cell had its rate.

    The k largest of S counts sum to the sum over j of min(k, speakers with j errors or more). The
    number of speakers with j or more is taken to be binomial.
    """
    from scipy.special import bdtr, betainc  # noqa: PLC0415 - SciPy only where it is needed

    # under equal rates, speakers of a cell with equal trials are alike, and computed once
    shape = (max(cluster_errors.n_cells, 1), int(cluster_errors.trials.max(initial=0)) + 1)
    cell_and_trials = np.ravel_multi_index(
        (cluster_errors.cell, cluster_errors.trials.astype(np.int64)), shape
    )
    kind_codes, speakers_of_kind = np.unique(cell_and_trials, return_counts=True)
    cell, trials = np.unravel_index(kind_codes, shape)
    n_speakers = np.maximum(cluster_errors.n_speakers, 1)
    rate = errors / np.maximum(cluster_errors.sum_by_cell(cluster_errors.trials), 1)
    mean = rate[..., cell] * trials
    # more errors than this have no chance that counts
    max_errors = np.minimum(mean + 9 * np.sqrt(mean) + 20, trials)
    highest_count = np.zeros(errors.shape)
    for leading_index in np.ndindex(*errors.shape[:-1]):
        np.maximum.at(highest_count[leading_index], cell, max_errors[leading_index])
    # each count of errors if there are few, else evenly spread ones that stand for their neighbours
    step = np.maximum(highest_count / _N_ERROR_COUNTS, 1.0)
    expected_errors = np.zeros(errors.shape)
    counts_at_once = max(_NUMBERS_AT_ONCE // max(mean.size, 1), 1)
    for first_count in range(0, _N_ERROR_COUNTS, counts_at_once):
        end_count = min(first_count + counts_at_once, _N_ERROR_COUNTS)
        count_indices = np.arange(first_count, end_count).reshape(-1, *[1] * errors.ndim)
        count = (0.5 + step * (count_indices + 0.5))[..., cell]
        is_possible = count <= trials
        chance_of_count = np.zeros(count.shape)
        betainc(count, trials - count + 1, rate[..., cell], out=chance_of_count, where=is_possible)
        expected_speakers = reduce_by_cell(
            chance_of_count * speakers_of_kind, cell, cluster_errors.n_cells
        )
        share = np.clip(expected_speakers / n_speakers, 0.0, 1.0)
        # mean of min(tenth, M), where M of the speakers have that many errors, M binomial
        mean_below = n_speakers * share * bdtr(tenth - 1, n_speakers - 1, share)
        mean_above = tenth * (1 - bdtr(tenth, n_speakers, share))
        for terms in step * (mean_below + mean_above):
            expected_errors += terms
    return expected_errors


def _beta_mean_over_speakers(
    cluster_errors: ErrorsBySpeaker,
    posterior_mean: Callable[[FloatArray, FloatArray], FloatArray],
    min_trials: float,
    confidence: float,
) -> SpeakerShares:
    """Return the mean over each cell's speakers of a function of their beta distributions.

    Parameters
    ----------
    posterior_mean
        Mean of the quantity of one speaker, given both parameters of the distribution of that
        speaker's error rate.
    min_trials
        How many trials a speaker needs on average.
    """
    from scipy.special import stdtrit  # noqa: PLC0415 - SciPy only where it is needed

    if not 0 < confidence < 1:
        msg = f"confidence is {confidence}"
        hint = "give a number above 0 and below 1"
        raise ConfigError(msg, hint)
    errors = np.asarray(cluster_errors.errors, dtype=np.float64)
    trials = np.asarray(cluster_errors.trials, dtype=np.float64)
    n_speakers, cell_trials = cluster_errors.n_speakers, cluster_errors.sum_by_cell(trials)
    cell_errors = cluster_errors.sum_by_cell(errors)
    reasons = {
        "no_trials": n_speakers == 0,
        "few_speakers": n_speakers < _MIN_SPEAKERS,
        "few_trials": (cell_trials < n_speakers * min_trials) | (cell_trials <= n_speakers),
        "no_errors": cell_errors == 0,
        "all_errors": cell_errors == cell_trials,
    }
    conditions = [np.broadcast_to(holds, cell_errors.shape) for holds in reasons.values()]
    reason = np.select(conditions, list(reasons), default="")
    defined = reason == ""
    t = stdtrit(np.maximum(n_speakers - 1.0, 1.0), (1 + confidence) / 2)
    rates = rate_interval(moments(cluster_errors), confidence)
    correlation_estimate, correlation_error = _speaker_correlation(cluster_errors, errors, trials)

    # speakers with equal errors and trials, at one point and in one cell, are alike: computed once
    point_and_cell = np.arange(defined.size).reshape(defined.shape)[..., cluster_errors.cell]
    keys = np.broadcast_arrays(point_and_cell, errors.astype(np.int64), trials.astype(np.int64))
    shape = (max(defined.size, 1), *(int(key.max(initial=0)) + 1 for key in keys[1:]))
    speaker_codes = np.ravel_multi_index([key.ravel() for key in keys], shape)
    kind_codes, speakers_of_kind = np.unique(speaker_codes, return_counts=True)
    kind_cell, kind_errors, kind_trials = np.unravel_index(kind_codes, shape)

    def mean_chance(rate: FloatArray, correlation: FloatArray) -> FloatArray:
        """Return the mean if the cell's rates have this mean and correlation, (..., cell)."""
        bounded_correlation = np.clip(correlation, _MIN_CORRELATION, _MAX_CORRELATION)
        weight = 1 / np.where(defined, bounded_correlation, 0.5) - 1
        mean_rate = np.where(defined, rate, 0.5)
        # before the speaker's own errors and trials are added
        alpha = (mean_rate * weight).ravel()[kind_cell]
        beta = ((1 - mean_rate) * weight).ravel()[kind_cell]
        chances = posterior_mean(alpha + kind_errors, beta + kind_trials - kind_errors)
        sums = np.bincount(kind_cell, chances * speakers_of_kind, minlength=defined.size)
        means = sums.reshape(defined.shape) / np.maximum(n_speakers, 1)
        return np.where(defined, means, np.nan)

    estimate = mean_chance(rates.rate, correlation_estimate)
    reach = t * correlation_error
    corners = [estimate]
    for rate in (rates.low, rates.high):
        for correlation in (correlation_estimate - reach, correlation_estimate + reach):
            corners.append(mean_chance(rate, correlation))  # noqa: PERF401 - two loops read better
    low, _ = _wilson(np.min(corners, axis=0), n_speakers, t)
    _, high = _wilson(np.max(corners, axis=0), n_speakers, t)
    return SpeakerShares(estimate, low, high, reason)


def _speaker_correlation(
    cluster_errors: ErrorsBySpeaker, errors: FloatArray, trials: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the correlation of errors within speakers, by analysis of variance, and its error.

    The standard error is the larger of the jackknife's over speakers and that under equal rates,
    as the jackknife's is too small where speakers are alike by luck.
    """
    speaker_terms = (np.ones(trials.shape), trials, trials**2, errors, errors**2 / trials)
    cell_sums = [cluster_errors.sum_by_cell(terms) for terms in speaker_terms]

    def estimate(
        n_speakers: FloatArray,
        trials_of_cell: FloatArray,
        squared_trials: FloatArray,
        errors_of_cell: FloatArray,
        squared_errors: FloatArray,
    ) -> FloatArray:
        between = (squared_errors - errors_of_cell**2 / trials_of_cell) / (n_speakers - 1)
        within = (errors_of_cell - squared_errors) / (trials_of_cell - n_speakers)
        # trials per speaker, if all had equally many
        effective_size = (trials_of_cell - squared_trials / trials_of_cell) / (n_speakers - 1)
        return (between - within) / (between + (effective_size - 1) * within)

    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = estimate(*cell_sums)
        other_sums = [
            total[..., cluster_errors.cell] - terms
            for total, terms in zip(cell_sums, speaker_terms, strict=True)
        ]
        leave_one_out = estimate(*other_sums)
        n_speakers, trials_of_cell, squared_trials, errors_of_cell, _ = cell_sums
        jackknife_changes = np.nan_to_num(leave_one_out - correlation[..., cluster_errors.cell])
        jackknife_variance = (
            (n_speakers - 1) / n_speakers * cluster_errors.sum_by_cell(jackknife_changes**2)
        )
        effective_size = (trials_of_cell - squared_trials / trials_of_cell) / (n_speakers - 1)
        rate = errors_of_cell / trials_of_cell
        kurtosis_term = 2 + 1 / (effective_size * rate * (1 - rate))
        equal_rates_variance = kurtosis_term / (n_speakers - 1) / effective_size**2
        return correlation, np.sqrt(np.maximum(jackknife_variance, equal_rates_variance))


def _wilson(
    share: FloatArray, n_speakers: IntArray, t: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return Wilson's interval of a share of speakers, by a quantile of t."""
    with np.errstate(invalid="ignore", divide="ignore"):
        z = t**2 / n_speakers
        centre = (share + z / 2) / (1 + z)
        half_width = np.sqrt(z * (share * (1 - share) + z / 4)) / (1 + z)
    return np.maximum(centre - half_width, 0.0), np.minimum(centre + half_width, 1.0)
