"""Confounding: trends with a number, strata that differ between groups, associated attributes.

See docs/methods/verdicts.md#confounding. Speakers are the sample throughout, as in
docs/methods/uncertainty.md#residuals-and-variances. Arrays are ``[..., cell]``; leading
axes, such as operating points, are free. Why a trend is undefined:

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

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar

import numpy as np

from parivox.core.cluster_errors import (
    ErrorsByPair,
    ErrorsBySpeaker,
    min_jackknife_share,
    moments,
    reduce_by_cell,
    safe_divide,
)
from parivox.core.verdict import permutation_p
from parivox.errors import ConfigError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from parivox.core.counts import FloatArray, IntArray

ClusterErrorsT = TypeVar("ClusterErrorsT", bound=ErrorsBySpeaker | ErrorsByPair)

MIN_EXPECTED_SPEAKERS = 5
"""Speakers expected in every cell, without association, for the chi-square distribution."""
N_PERMUTED_TABLES = 1_999
"""Permuted tables where fewer are expected: p is a multiple of 0.0005."""
_MIN_SPEAKERS = 5
_MAX_NEWTON_STEPS, _MAX_STEP, _CONVERGED_STEP = 50, 2.0, 1e-9
# Share of the information on the slope that must be left without any one speaker; with less, the
# slope without that speaker is a matter of rounding.
_MIN_INFORMATION_SHARE = 1e-9


@dataclass(frozen=True, eq=False)
class Trend:
    """Change of the log odds of an error per unit of a number, of shape (..., cell)."""

    slope: FloatArray
    """0 is no trend, above 0 errors rise with the number. NaN with a reason, as are its limits."""
    low: FloatArray
    high: FloatArray
    se: FloatArray
    """Standard error of the slope."""
    df: FloatArray
    """Degrees of freedom of that."""
    p: FloatArray
    """Two-sided, of no trend."""
    speakers: IntArray
    """Speakers whose value is known, of shape (cell,)."""
    reason: NDArray[np.str_]


def trend(
    cluster_errors: ErrorsBySpeaker | ErrorsByPair, x: ArrayLike, confidence: float = 0.95
) -> Trend:
    """Return the slope of the log odds of an error on a number of speakers, such as age.

    See docs/methods/verdicts.md#trends. Bands of a numeric attribute hide what happens within
    them and between; the slope is one number for all of it: the logistic regression of errors on
    the attribute, in log odds per unit (for ten years divide the ages by 10; exp of it is an odds
    ratio, for rare errors about a ratio of rates).

    Parameters
    ----------
    cluster_errors : ErrorsBySpeaker or ErrorsByPair
        Of target or nontarget trials, trials of shape (entry,).
    x : array_like of shape (speaker,)
        The number of each speaker, indexed by the speakers of `cluster_errors`; NaN where unknown,
        which leaves the speaker's trials out. A nontarget trial has the mean of its two speakers: a
        trial has two sides, and which of them enrols does not matter. How far they are apart is not
        in the model.
    confidence : float in (0, 1)

    Returns
    -------
    Trend
        Maximum likelihood. The variance is that of leaving each speaker out in turn (one Newton
        step each), for nontarget trials less what a pair counts twice, as V_J and V_U of
        docs/methods/uncertainty.md#residuals-and-variances, and never below that of independent
        trials. Degrees of freedom as there, with each speaker's part of the information on the
        slope for trials, and one speaker fewer for the second fitted number. In simulations 95 %
        intervals covered .97 to 1 of the slopes with 6 to 12 speakers, .93 to .98 with 25 and
        100.

    Examples
    --------
    >>> n = np.zeros(8, dtype=int)
    >>> errors = np.array([2, 3, 3, 5, 6, 9, 12, 15])
    >>> found = trend(
    ...     ErrorsBySpeaker(n, np.arange(8), errors, n + 100, 1), np.arange(20, 100, 10) / 10
    ... )
    >>> round(float(found.slope[0]), 3)
    0.316
    """
    if not 0 < confidence < 1:
        msg = f"confidence is {confidence}"
        hint = "give a number above 0 and below 1"
        raise ConfigError(msg, hint)
    from scipy.special import stdtr, stdtrit  # noqa: PLC0415 - SciPy only where it is needed

    known_trials = _KnownTrials.from_numbers(cluster_errors, np.asarray(x, dtype=np.float64))
    reason = _undefined_reasons(known_trials)
    defined = reason == ""
    intercept, slope, has_converged = _fit_logistic(known_trials, defined)
    reason = np.where(defined & ~has_converged, "not_converged", reason)
    defined = reason == ""
    variance, df = _slope_variance(known_trials, intercept, slope)
    is_unstable = defined & ~(np.isfinite(variance) & np.isfinite(df))
    reason = np.where(is_unstable, "few_apart", reason)
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = np.where(defined, slope / known_trials.scale, np.nan)
        se = np.where(defined & ~is_unstable, np.sqrt(variance) / known_trials.scale, np.nan)
        df = np.where(defined & ~is_unstable, df, np.nan)
        half_width = stdtrit(df, (1 + confidence) / 2) * se
        p = 2 * stdtr(df, -np.abs(slope) / se)
    return Trend(
        slope=slope,
        low=slope - half_width,
        high=slope + half_width,
        se=se,
        df=df,
        p=p,
        speakers=known_trials.cluster_errors.n_speakers,
        reason=reason,
    )


class _KnownTrials(NamedTuple):
    """Trials of speakers whose number is known."""

    cluster_errors: ErrorsBySpeaker | ErrorsByPair
    errors: FloatArray
    trials: FloatArray
    x: FloatArray
    """Number of each entry, scaled to mean 0 and variance 1 over the trials of each cell."""
    scale: FloatArray
    """Standard deviation of each cell before scaling; 0 where all speakers have one number."""

    @classmethod
    def from_numbers(
        cls, cluster_errors: ErrorsBySpeaker | ErrorsByPair, x: FloatArray
    ) -> _KnownTrials:
        """Return the trials of speakers whose number `x`, of shape (speaker,), is not NaN."""
        entry_x = np.mean(
            [x[getattr(cluster_errors, name)] for name in cluster_errors.speaker_fields], axis=0
        )
        errors = np.asarray(cluster_errors.errors, dtype=np.float64)
        trials = np.asarray(cluster_errors.trials, dtype=np.float64)
        is_known = ~np.isnan(entry_x) & (trials > 0)
        errors, trials, entry_x = errors[..., is_known], trials[is_known], entry_x[is_known]
        known_errors = cluster_errors.select(is_known, errors=errors, trials=trials)
        cell, total = known_errors.cell, known_errors.sum_by_cell(trials)
        centred = entry_x - safe_divide(known_errors.sum_by_cell(trials * entry_x), total)[cell]
        # centred equal numbers may differ from 0 in their last bits, which is no spread
        lowest, highest = (sign * _max_by_cell(known_errors, sign * entry_x) for sign in (-1, 1))
        scale = np.sqrt(safe_divide(known_errors.sum_by_cell(trials * centred**2), total))
        scale = np.where(lowest == highest, 0.0, scale)
        return cls(known_errors, errors, trials, safe_divide(centred, scale[cell], 0), scale)


def _undefined_reasons(known_trials: _KnownTrials) -> NDArray[np.str_]:
    """Return why each trend cannot be fitted; empty where it can, of shape (..., cell)."""
    cluster_errors, errors_of_entry, trials, x, scale = known_trials
    correct_of_entry = trials - errors_of_entry
    errors, total = cluster_errors.sum_by_cell(errors_of_entry), cluster_errors.sum_by_cell(trials)

    def highest(counts: FloatArray, sign: int) -> FloatArray:
        return _max_by_cell(cluster_errors, np.where(counts > 0, sign * x, -np.inf))

    # errors only above, or only below, all correct trials: the likelihood has no maximum
    above = -highest(errors_of_entry, -1) >= highest(correct_of_entry, 1)
    below = highest(errors_of_entry, 1) <= -highest(correct_of_entry, -1)
    reasons = {
        "few_speakers": cluster_errors.n_speakers < _MIN_SPEAKERS,
        "one_value": scale == 0,
        "no_errors": errors == 0,
        "all_errors": errors == total,
        "separated": above | below,
    }
    conditions = [np.broadcast_to(holds, errors.shape) for holds in reasons.values()]
    return np.select(conditions, list(reasons), default="")


def _fit_logistic(
    known_trials: _KnownTrials, defined: NDArray[np.bool_]
) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
    """Return intercept and slope by Newton's method, and whether it converged.

    Steps are shortened to `_MAX_STEP`. All of shape (..., cell).
    """
    cluster_errors, x = known_trials.cluster_errors, known_trials.x
    errors, total = (
        cluster_errors.sum_by_cell(known_trials.errors),
        cluster_errors.sum_by_cell(known_trials.trials),
    )
    intercept = np.log(np.where(defined, errors, 1.0) / np.where(defined, total - errors, 1.0))
    slope, step = np.zeros(intercept.shape), np.zeros(intercept.shape)
    for _ in range(_MAX_NEWTON_STEPS):
        residual, information = _residuals_and_information(known_trials, intercept, slope)
        information_0, information_1, information_2 = (
            cluster_errors.sum_by_cell(information * x**power) for power in range(3)
        )
        score_0, score_1 = (cluster_errors.sum_by_cell(residual * x**power) for power in range(2))
        determinant = information_0 * information_2 - information_1 * information_1
        intercept_step = information_2 * score_0 - information_1 * score_1
        slope_step = information_0 * score_1 - information_1 * score_0
        full_steps = [
            safe_divide(intercept_step, determinant),
            safe_divide(slope_step, determinant),
        ]
        steps = np.where(defined, full_steps, 0.0)
        # on a flat likelihood the step is infinite, and the fit has not converged
        step = np.nan_to_num(np.abs(steps).max(axis=0), nan=np.inf)
        shrinkage = np.minimum(1.0, _MAX_STEP / np.maximum(step, _CONVERGED_STEP))
        intercept = intercept + np.nan_to_num(steps[0] * shrinkage)
        slope = slope + np.nan_to_num(steps[1] * shrinkage)
        if (step < _CONVERGED_STEP).all():
            break
    return intercept, slope, step < _CONVERGED_STEP


def _residuals_and_information(
    known_trials: _KnownTrials, intercept: FloatArray, slope: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return residual errors and binomial variance of each entry."""
    cell = known_trials.cluster_errors.cell
    log_odds = intercept[..., cell] + slope[..., cell] * known_trials.x
    error_probability = 0.5 * (1 + np.tanh(0.5 * log_odds))
    return (
        known_trials.errors - known_trials.trials * error_probability,
        known_trials.trials * error_probability * (1 - error_probability),
    )


def _slope_variance(
    known_trials: _KnownTrials, intercept: FloatArray, slope: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the variance of the slope over speakers, and its degrees of freedom.

    See docs/methods/uncertainty.md#residuals-and-variances.
    """
    cluster_errors, x = known_trials.cluster_errors, known_trials.x
    cell = cluster_errors.cell_speakers[0]
    n_speakers = cluster_errors.n_speakers.astype(np.float64)
    residual, information = _residuals_and_information(known_trials, intercept, slope)
    powers = [np.ones(x.shape), x, x**2]

    def sum_by_cell(member_values: FloatArray) -> FloatArray:
        return reduce_by_cell(member_values, cell, cluster_errors.n_cells)

    cell_moments = [cluster_errors.sum_by_cell(information * power) for power in powers]
    speaker_moments = [cluster_errors.sum_by_speaker(information * power) for power in powers]
    # without each speaker in turn, [..., member]
    information_0, information_1, information_2 = (
        total[..., cell] - speaker_information
        for total, speaker_information in zip(cell_moments, speaker_moments, strict=True)
    )
    score_0, score_1 = (cluster_errors.sum_by_speaker(residual * power) for power in powers[:2])
    determinant = information_0 * information_2 - information_1 * information_1
    determinant = np.where(
        determinant > _MIN_INFORMATION_SHARE * information_0 * information_2, determinant, np.nan
    )
    # how far the slope moves, to first order, when a speaker is left out
    slope_changes = (information_0 * score_1 - information_1 * score_0) / determinant
    mean_x = safe_divide(cell_moments[1], cell_moments[0])
    independent = safe_divide(1, cell_moments[2] - mean_x * cell_moments[1])
    speaker_mean_x = mean_x[..., cell]
    centred_information = (
        speaker_moments[2]
        - 2 * speaker_mean_x * speaker_moments[1]
        + speaker_mean_x**2 * speaker_moments[0]
    )
    # degrees of freedom: fewer where a few speakers have most of the information on the slope, or
    # most of the deviation; n - 2, as a second number, the intercept, is fitted
    squared_sum = sum_by_cell(centred_information) ** 2
    sum_of_squares = sum_by_cell(centred_information**2)
    df_of_information = np.fmax(safe_divide(squared_sum, sum_of_squares) - 1, 1)
    squares, fourths = sum_by_cell(slope_changes**2), sum_by_cell(slope_changes**4)
    kurtosis = np.fmax(safe_divide(n_speakers * fourths, squares**2) - 3, 0)
    df_of_deviations = safe_divide(
        2, safe_divide(kurtosis, n_speakers) + safe_divide(2, n_speakers - 2)
    )
    df = np.minimum(df_of_information, df_of_deviations)
    jackknife = safe_divide(n_speakers - 1, n_speakers) * squares
    variance = np.maximum(jackknife, independent)
    if isinstance(cluster_errors, ErrorsByPair):
        pair_squares_0, pair_squares_1, pair_squares_2 = (
            cluster_errors.sum_by_speaker(residual**2 * power) for power in powers
        )
        pair_squares = (
            information_0 * information_0 * pair_squares_2
            - 2 * information_0 * information_1 * pair_squares_1
            + information_1 * information_1 * pair_squares_0
        ) / determinant**2
        # the jackknife counts what belongs to a pair twice, once for either speaker
        small_sample = safe_divide(
            (n_speakers - 2) * (n_speakers - 1), (n_speakers - 3) * n_speakers
        )
        unbiased = small_sample * sum_by_cell(slope_changes**2 - pair_squares / 2)
        min_variance = min_jackknife_share(df, in_blocks=cluster_errors.in_blocks) * jackknife
        variance = np.maximum(np.maximum(unbiased, min_variance), independent)
    return variance, df


def _max_by_cell(
    cluster_errors: ErrorsBySpeaker | ErrorsByPair, entry_values: FloatArray
) -> FloatArray:
    """Return the largest value of each cell's entries; -inf without entries."""
    return reduce_by_cell(
        entry_values, cluster_errors.cell, cluster_errors.n_cells, np.maximum, -np.inf
    )


@dataclass(frozen=True, eq=False)
class Standardised(Generic[ClusterErrorsT]):
    """Trials of each group on the common mixture of strata."""

    cluster_errors: ClusterErrorsT
    """Cells are groups. Errors and trials are weighted so that rates, moments, intervals and ratios
    taken from it are those of the standardised rates; they are no counts, and errors of a speaker
    may be negative. Groups whose `reason` is not empty have no entries.
    """
    weight: FloatArray
    """Common weights, adding up to 1; 0 for strata left out. Of shape (stratum,)."""
    left_out: FloatArray
    """Share of the group's trials that is in strata left out; NaN without trials. Of shape
    (group,).
    """
    reason: NDArray[np.str_]
    """``no_trials``, ``no_common_stratum`` or empty. Of shape (group,)."""


def standardised(
    cluster_errors: ClusterErrorsT, group: ArrayLike, stratum: ArrayLike
) -> Standardised[ClusterErrorsT]:
    """Return directly standardised rates: sum over strata k of w_k * R_gk for each group g.

    The weights w_k are equal. See docs/methods/verdicts.md#standardised-rates. Each stratum (a
    pairing, a band of durations, any attribute of trials) has the same weight in all groups, so
    that they differ no longer in their mixture of strata. Strata that some group lacks are left out
    for all groups.

    Parameters
    ----------
    cluster_errors : ErrorsBySpeaker or ErrorsByPair
        Its cells are (group, stratum), trials of shape (entry,).
    group, stratum : array_like of int, of shape (cell,)
        Group and stratum of each cell, each combination at most once.

    Returns
    -------
    Standardised
        Lower rates are better. A stratum is used if every group that has trials at all has some
        there, and not all of them with one speaker, whose luck could not be separated from the
        group's rate. As in docs/methods/uncertainty.md#residuals-and-variances a speaker's
        residuals, here sum over k of w_k * (e_sk - R_gk n_sk) / N_gk, carry the variance; a group
        counts as 1 / sum of w_k ** 2 / N_gk trials. With one stratum all is as without strata.

    Examples
    --------
    Both groups have 1 % and 10 % in the two strata, in unlike shares:

    >>> errors, trials = np.array([1, 90, 9, 10]), np.array([100, 900, 900, 100])
    >>> cell, speaker = np.repeat(np.arange(4), 2), np.array([0, 1, 0, 1, 2, 3, 2, 3])
    >>> cluster_errors = ErrorsBySpeaker(cell, speaker, errors[cell], trials[cell], 4)
    >>> found = standardised(cluster_errors, [0, 0, 1, 1], [0, 1, 0, 1])
    >>> moments(found.cluster_errors).rate.round(6).tolist()
    [0.055, 0.055]
    """
    groups, strata = np.asarray(group, dtype=np.intp), np.asarray(stratum, dtype=np.intp)
    trials = cluster_errors.sum_by_cell(cluster_errors.trials)
    table = np.zeros((groups.max(initial=-1) + 1, strata.max(initial=-1) + 1))
    is_usable = np.zeros(table.shape, dtype=bool)
    table[groups, strata] = trials
    has_common_speaker = np.atleast_2d(moments(cluster_errors).has_common_speaker).any(axis=0)
    is_usable[groups, strata] = (trials > 0) & ~has_common_speaker
    total = table.sum(axis=1)
    is_used = is_usable[total > 0].all(axis=0) & (total > 0).any()
    weight = np.where(is_used, 1.0, 0.0)
    weight = safe_divide(weight, weight.sum(), 0)
    left_out = safe_divide(table @ ~is_used, total)
    trial_weight = safe_divide(weight[strata], trials, 0)
    squared_weights = weight[strata] * trial_weight
    inverse_trials = np.bincount(groups, squared_weights, minlength=total.size)
    effective_trials = safe_divide(1, inverse_trials)
    reason = np.select(
        [total == 0, np.full(total.shape, not is_used.any())],
        ["no_trials", "no_common_stratum"],
        default="",
    )
    group_errors = _weighted_groups(cluster_errors, groups, trial_weight, effective_trials)
    return Standardised(group_errors, weight, left_out, reason)


def _weighted_groups(
    cluster_errors: ClusterErrorsT,
    group: NDArray[np.intp],
    trial_weight: FloatArray,
    effective_trials: FloatArray,
) -> ClusterErrorsT:
    """Return errors with one cell per group: weighted sums over the strata of the group.

    Parameters
    ----------
    group : integer ndarray of shape (cell,)
    trial_weight : FloatArray of shape (cell,)
        Weight of one trial of the cell in the group's rate; 0 leaves the cell out.
    effective_trials : FloatArray of shape (group,)
        Trials that the group counts as.
    """
    n_groups = effective_trials.size
    is_kept = trial_weight[cluster_errors.cell] > 0
    cell = cluster_errors.cell[is_kept]
    speaker_columns = [
        getattr(cluster_errors, name)[is_kept] for name in cluster_errors.speaker_fields
    ]
    shape = (max(n_groups, 1), *(int(speakers.max(initial=0)) + 1 for speakers in speaker_columns))
    group_and_speakers = np.ravel_multi_index((group[cell], *speaker_columns), shape)
    codes, entry_codes = np.unique(group_and_speakers, return_inverse=True)
    order = np.argsort(entry_codes, kind="stable")
    groups, *speaker_columns = np.unravel_index(codes, shape)
    group_order = np.argsort(group, kind="stable")

    def weighted_sums(entry_values: NDArray[np.generic]) -> FloatArray:
        """Return weighted sums over strata of each speaker or pair of a group."""
        weighted = entry_values * (trial_weight[cell] * effective_trials[group[cell]])
        return reduce_by_cell(weighted[..., order], entry_codes[order], codes.size)

    def sum_over_strata(cell_values: FloatArray) -> FloatArray:
        return reduce_by_cell(cell_values[..., group_order], group[group_order], n_groups)

    total = cluster_errors.sum_by_cell(cluster_errors.trials)
    rate = safe_divide(cluster_errors.sum_by_cell(cluster_errors.errors), total, 0)
    share = trial_weight * total
    # shares of a group add up to 1 but for their last bit, which a rate of 1 would show
    group_rate = safe_divide(sum_over_strata(share * rate), sum_over_strata(share), 0)
    trials = weighted_sums(cluster_errors.trials[is_kept])
    # residuals are taken within strata, and errors made from them and the group's own rate, so that
    # residuals computed from the result are the same again
    residual = (
        cluster_errors.errors[..., is_kept] - rate[..., cell] * cluster_errors.trials[is_kept]
    )
    errors = weighted_sums(residual) + group_rate[..., groups] * trials
    speaker_fields: dict[str, Any] = dict(
        zip(cluster_errors.speaker_fields, speaker_columns, strict=True)
    )
    return replace(
        cluster_errors,
        cell=groups,
        errors=errors,
        trials=trials,
        n_cells=n_groups,
        **speaker_fields,
    )


@dataclass(frozen=True)
class Association:
    """How strongly two attributes are associated."""

    cramers_v: float
    """Cramér's V corrected for its bias: 0 for independent attributes, 1 where each determines the
    other.
    """
    p: float
    """How often independent attributes would be associated as much."""
    test: Literal["chi-square", "permutation"]
    """The test that p is from."""


def association(table: ArrayLike, *, seed: int | tuple[int, ...] = 0) -> Association:
    """Return Cramér's V, corrected for bias (Bergsma 2013), and its p value.

    See docs/methods/verdicts.md#associated-attributes. Where two attributes of the same
    speakers are associated, the apparent effect of one may be an effect of the other.

    The table, of shape (value, value), counts the speakers who have each pair of values. p is from
    Pearson's chi-square where at least five speakers are expected in every cell; else the share of
    tables that are as far from independence when the speakers' values of one attribute are
    permuted (`seed`), which is valid however few they are. NaN where either attribute has fewer
    than two values.

    Examples
    --------
    >>> found = association([[51, 18, 26, 30], [23, 30, 58, 14]])
    >>> round(found.cramers_v, 2), found.p < 0.001, found.test
    (0.34, True, 'chi-square')
    >>> association([[2, 1], [1, 2]]).test
    'permutation'
    """
    counts = np.asarray(table, dtype=np.int64)
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    rows, columns = counts.shape
    if min(rows, columns) < 2:
        return Association(np.nan, np.nan, "permutation")
    n_speakers = int(counts.sum())
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / n_speakers
    observed = math.fsum(_chi_square_terms(counts, expected).flat)  # whatever the order of values
    df = (rows - 1) * (columns - 1)
    corrected_phi2 = max(0.0, observed / n_speakers - df / (n_speakers - 1))
    max_phi2 = min(size - (size - 1) ** 2 / (n_speakers - 1) for size in (rows, columns)) - 1
    # both may fall to 0 or below after Bergsma's correction, with few speakers
    strength = min(1.0, np.sqrt(corrected_phi2 / max_phi2)) if max_phi2 > 0 else np.nan
    if expected.min() >= MIN_EXPECTED_SPEAKERS:
        from scipy.special import chdtrc  # noqa: PLC0415 - imported only where needed

        return Association(float(strength), float(chdtrc(df, observed)), "chi-square")
    permuted = _permuted_tables(counts, np.random.default_rng(seed))
    permuted_statistics = _chi_square_terms(permuted, expected).sum(axis=(-2, -1))
    p = float(permutation_p(observed, permuted_statistics))
    return Association(float(strength), p, "permutation")


def determines(table: ArrayLike) -> bool:
    """Whether the first attribute of a speaker determines the second.

    The table, of shape (value, value), counts the speakers who have each pair of values.

    Examples
    --------
    >>> determines([[74, 0], [48, 0], [0, 84]])
    True
    """
    return bool(((np.asarray(table) > 0).sum(axis=1) <= 1).all())


def _chi_square_terms(counts: IntArray, expected: FloatArray) -> FloatArray:
    """Return what each cell adds to Pearson's statistic of tables ``[..., value, value]``."""
    return np.asarray((counts - expected) ** 2 / expected)


def _permuted_tables(counts: IntArray, rng: np.random.Generator) -> IntArray:
    """Return tables of the same margins, as permuting speakers gives; ``[draw, value, value]``.

    They are drawn cell by cell, given the cells before: the cost grows with the number of cells,
    not of speakers.
    """
    rows, columns = counts.shape
    remaining_columns = np.tile(counts.sum(axis=0), (N_PERMUTED_TABLES, 1))
    tables = np.empty((N_PERMUTED_TABLES, rows, columns), dtype=np.int64)
    for i, total in enumerate(counts.sum(axis=1).tolist()):
        row_remainder = np.full(N_PERMUTED_TABLES, total)
        later_columns = remaining_columns.sum(axis=1)
        for j in range(columns):
            later_columns = later_columns - remaining_columns[:, j]
            tables[:, i, j] = rng.hypergeometric(
                remaining_columns[:, j], later_columns, row_remainder
            )
            row_remainder = row_remainder - tables[:, i, j]
        remaining_columns -= tables[:, i]
    return tables
