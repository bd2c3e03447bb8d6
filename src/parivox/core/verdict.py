"""Verdicts on groups from intervals and p values; p values of draws, adjusted for many groups.

See docs/methods/verdicts.md. Arrays are ``[..., group]``; a group without a p value (NaN) is no
member of its family, the groups of one grouping, operating point, measure and reference. A
verdict on a group is one of

==================  ====================================================================
code                meaning
==================  ====================================================================
worse               more errors than the reference, beyond chance
better              fewer errors than the reference, beyond chance
equivalent       no difference larger than the margin
inconclusive         inconclusive, with a reason
==================  ====================================================================

``equivalent`` is a finding and ``inconclusive`` the lack of one: a wide interval around 1 says
that nothing is known, never that nothing is there. Reasons of ``inconclusive``:

==================  ====================================================================
reason              meaning
==================  ====================================================================
(any other fact)    what keeps the group from being judged, as a minimum that it is below
undefined_ratio     group or reference has no rate, or the reference no errors
no_interval         the ratio has no interval
no_p                the ratio has no p value
unknown_test_speakers
                    nontarget trials of the group or its reference have no test speaker, so that
                    it is not known how many speakers made them
too_wide            the interval holds 1 and reaches beyond the margin
not_surely_alike    the interval lies within the margin, but reaches beyond it at
                    `EQUIVALENCE_CONFIDENCE`
not_after_holm      1 lies outside of the interval, but so many groups were looked at that
                    one such interval is no surprise
no_errors           the group has no errors, and too few trials or speakers to call it better
too_common          errors are so common that no group could have more of them by the margin
==================  ====================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parivox.errors import ConfigError
from parivox.frozen import frozen

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from parivox.core.counts import FloatArray, IntArray


EQUIVALENCE_CONFIDENCE = 0.98
"""Confidence of the interval that lies within the margin where a group is called equivalent."""
# Draws that equal the observed value but for rounding count as equal.
_ROUNDING = 1e-12


@frozen
class Verdicts:
    """Verdict on each group, with the ratio and interval that it rests on."""

    code: NDArray[np.str_]
    reason: NDArray[np.str_]
    """Empty unless the code is ``inconclusive``."""
    ratio: FloatArray
    low: FloatArray
    high: FloatArray
    is_below_minimum: NDArray[np.bool_]
    """Groups too small to be judged."""


def verdicts(
    ratio: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    p: ArrayLike,
    *,
    unmet_minimum: ArrayLike = "",
    pooled: ArrayLike = 0.0,
    confidence: float = 0.95,
    margin: float = 1.25,
) -> Verdicts:
    """Return the verdict on each group's error rate (or cost) against its reference.

    See docs/methods/verdicts.md#rules-of-a-verdict.

    The first of these that applies, with rho the ratio, (low, high) its interval:

    1. A group below a minimum, an undefined ratio or interval: ``inconclusive``.
    2. Low >= 1 / margin and high <= margin: ``inconclusive`` if pooled * margin >= 1, as where all
       are rejected; else ``equivalent`` if the interval, widened to `EQUIVALENCE_CONFIDENCE` on
       the scale of logarithms, lies there, too. Also where it excludes 1: the difference is then
       real, and smaller than anybody cares about. This is said of each group by itself: the
       interval is not widened for the number of groups.
    3. p < 1 - confidence and rho > 1: ``worse``; and rho < 1: ``better``.
    4. No errors (rho = 0): ``better`` if high < 1 and p, where there is one, does not object.
    5. Else ``inconclusive``.

    Parameters
    ----------
    ratio, low, high : array_like of shape (..., group)
        At least 0, above 1 is worse; the interval at the same `confidence`, for each group by
        itself.
    p : array_like of shape (..., group)
        Two-sided and adjusted for the groups looked at (Holm), so that the chance of calling
        any group worse or better under equal rates is at most 1 - confidence.
    unmet_minimum : array_like of str, of shape (..., group)
        Why a group is too small to be judged; empty where it is not.
    pooled : array_like of shape (..., 1)
        Error rate of all groups pooled, in [0, 1]: ratios say nothing where it is near 1, as no
        group can then have `margin` times as many errors.
    confidence : float in (0, 1)
    margin : float above 1
        The largest ratio, either way, that does not matter.

    Returns
    -------
    Verdicts

    Examples
    --------
    >>> found = verdicts(
    ...     [2.6, 2.6, 1.1, 1.1],
    ...     [1.4, 0.8, 1.01, 0.4],
    ...     [4.8, 8.7, 1.2, 3.0],
    ...     [0.01, 0.2, 0.04, 1.0],
    ... )
    >>> found.code.tolist()
    ['worse', 'inconclusive', 'equivalent', 'inconclusive']
    """
    from scipy.special import ndtri  # noqa: PLC0415 - takes time to load

    if not 0 < confidence < 1:
        msg = f"confidence is {confidence}"
        hint = "give a number above 0 and below 1"
        raise ConfigError(msg, hint)
    if not 1 < margin < np.inf:
        msg = f"margin is {margin}"
        hint = "give a number above 1, such as 1.25 for a quarter more or less"
        raise ConfigError(msg, hint)
    ratios, lower, upper, p_values, unmet_minimums = np.broadcast_arrays(
        np.asarray(ratio, dtype=np.float64),
        np.asarray(low, dtype=np.float64),
        np.asarray(high, dtype=np.float64),
        np.asarray(p, dtype=np.float64),
        np.asarray(unmet_minimum, dtype=np.str_),
    )
    is_below_minimum = unmet_minimums != ""
    alpha = 1 - confidence
    is_significant = p_values < alpha
    has_no_errors = ratios == 0
    excludes_one = (lower > 1) | (upper < 1)
    # at the confidence given; equivalence needs the wider interval below
    is_within_margin = (lower >= 1 / margin) & (upper <= margin)
    # how much longer than the interval given is one that covers at `EQUIVALENCE_CONFIDENCE`
    widening = max(1.0, ndtri((1 + EQUIVALENCE_CONFIDENCE) / 2) / ndtri((1 + confidence) / 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        wide_low, wide_high = (ratios * (end / ratios) ** widening for end in (lower, upper))
    is_equivalent = (wide_low >= 1 / margin) & (wide_high <= margin)
    is_too_common = np.asarray(pooled, dtype=np.float64) * margin >= 1
    # condition, code, reason: the first rule whose condition holds applies
    rules: list[tuple[NDArray[np.bool_], str, str]] = [
        (is_below_minimum, "inconclusive", ""),
        (~np.isfinite(ratios), "inconclusive", "undefined_ratio"),
        (np.isnan(lower) | np.isnan(upper), "inconclusive", "no_interval"),
        (is_within_margin & is_too_common, "inconclusive", "too_common"),
        (is_equivalent, "equivalent", ""),
        (has_no_errors & (upper < 1) & (is_significant | np.isnan(p_values)), "better", ""),
        (has_no_errors & (upper >= 1), "inconclusive", "no_errors"),
        (np.isnan(p_values), "inconclusive", "no_p"),
        (is_significant & (ratios > 1), "worse", ""),
        (is_significant & (ratios < 1) & ~has_no_errors, "better", ""),
        (is_within_margin, "inconclusive", "not_surely_alike"),
        (excludes_one, "inconclusive", "not_after_holm"),
    ]
    conditions, codes, reasons = zip(*rules, strict=True)
    code = np.select(conditions, codes, default="inconclusive")
    otherwise = np.where(is_too_common, "too_common", "too_wide")
    reason = np.select(conditions, reasons, default=otherwise)
    return Verdicts(
        code=code,
        reason=np.where(is_below_minimum, unmet_minimums, reason),
        ratio=ratios,
        low=lower,
        high=upper,
        is_below_minimum=is_below_minimum,
    )


def overall(code: ArrayLike) -> NDArray[np.str_]:
    """Return the verdict on a system from those on its groups, along the last axis.

    ``differs`` if any group is worse or better; ``equivalent`` if every group is known to lie
    within the margin; else ``inconclusive``. A system whose small groups cannot be judged is
    therefore never one without differences. Codes are those of `verdicts`, or of this
    function (for two error types together).

    Examples
    --------
    >>> overall([["worse", "inconclusive"], ["equivalent", "inconclusive"]]).tolist()
    ['differs', 'inconclusive']
    """
    codes = np.asarray(code, dtype=np.str_)
    differs = np.isin(codes, ["worse", "better", "differs"]).any(axis=-1)
    is_equivalent = (codes == "equivalent").all(axis=-1) & (codes.shape[-1] > 0)
    equivalent_or_not = np.where(is_equivalent, "equivalent", "inconclusive")
    return np.where(differs, "differs", equivalent_or_not)[()]


def meets_limit(low: ArrayLike, high: ArrayLike, limit: ArrayLike) -> NDArray[np.str_]:
    """Return whether a rate meets a limit, by its interval.

    ``met`` if the whole interval lies at or below the limit, the largest rate that is allowed,
    ``not_met`` if it lies above, ``inconclusive`` if the limit is inside or there is no interval.
    Shapes broadcast. docs/uncertainty.md#limits-and-people.

    Examples
    --------
    >>> meets_limit([0.01, 0.02, 0.06], [0.04, 0.09, 0.2], 0.05).tolist()
    ['met', 'inconclusive', 'not_met']
    """
    lower, upper = (np.asarray(array, dtype=np.float64) for array in (low, high))
    max_rate = np.asarray(limit, dtype=np.float64)
    has_interval = ~(np.isnan(lower) | np.isnan(upper))
    return np.select(
        [has_interval & (upper <= max_rate), has_interval & (lower > max_rate)],
        ["met", "not_met"],
        default="inconclusive",
    )[()]


def exceeds(
    value: ArrayLike,
    low: ArrayLike,
    most: ArrayLike,
    df: ArrayLike = np.inf,
    confidence: float = 0.95,
) -> FloatArray:
    """Return the two-sided p value of a rate or ratio above a limit, from its lower arm.

    The arm is stretched on the logarithmic scale as quantiles of t are, so that p is
    1 - confidence where `low` is the limit; 1 where the value does not exceed it, NaN without an
    interval. Shapes broadcast. docs/methods/gates.md#conditions.

    Examples
    --------
    >>> exceeds([2.0, 2.0, 1.2], [1.5, 1.2, 0.7], 1.5).round(4).tolist()
    [0.05, 0.2697, 1.0]
    """
    from scipy.special import stdtr, stdtrit  # noqa: PLC0415 - takes time to load

    values, lower, limit, t_df = np.broadcast_arrays(
        np.asarray(value, dtype=np.float64),
        np.asarray(low, dtype=np.float64),
        np.asarray(most, dtype=np.float64),
        np.asarray(df, dtype=np.float64),
    )
    t_df = np.where(t_df > 0, t_df, np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = np.log(values / limit) / np.log(values / lower)
        p_values = 2 * stdtr(t_df, -distance * stdtrit(t_df, 0.5 + confidence / 2))
    p_values = np.where(values > limit, p_values, 1.0)
    return np.where(np.isnan(lower) | np.isnan(values), np.nan, p_values)[()]


def permutation_p(observed: ArrayLike, null: ArrayLike) -> FloatArray:
    """Return the share of null draws at least as large as the observed value, which counts too.

    (1 + draws >= observed) / (draws + 1), in (0, 1]; never below 1 / (draws + 1), so that no p
    value claims more than the draws can show. Draws are ``[replicate, ...]``, those that are NaN
    are left out; NaN for a NaN observed value, or without draws.
    docs/methods/verdicts.md#p-from-draws.

    Examples
    --------
    >>> float(permutation_p(0.3, [0.1, 0.3, 0.2, 0.4]))
    0.6
    """
    observed_array = np.asarray(observed, dtype=np.float64)
    draws = np.asarray(null, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        rounded_down = observed_array - _ROUNDING * np.abs(observed_array)
    min_extreme = np.where(np.isinf(observed_array), observed_array, rounded_down)
    n_draws = (~np.isnan(draws)).sum(axis=0)
    p = (1 + (draws >= min_extreme).sum(axis=0)) / (n_draws + 1)
    return np.where(np.isnan(observed_array) | (n_draws == 0), np.nan, p)[()]


def holm(p: ArrayLike) -> FloatArray:
    """Return Holm's adjusted p values: chance of any false claim in the family.

    In [0, 1], at least `p`, in the same order; NaN where `p` is. Claims "this group differs" made
    where it is at most 0.05 are all true with probability 0.95, whatever the dependence between the
    groups. Holm (1979).

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).round(9).tolist()
    [0.03, 0.06, 0.06]
    """
    rising, rank, n_hypotheses, order = _rank(p)
    adjusted = np.maximum.accumulate(np.minimum(rising * (n_hypotheses - rank + 1), 1), axis=-1)
    return _in_given_order(adjusted, order)


def benjamini_hochberg(p: ArrayLike) -> FloatArray:
    """Return Benjamini and Hochberg's adjusted p values: share of false claims among all.

    In [0, 1], at least `p` and at most `holm`, in the same order; NaN where `p` is. Of the
    groups where it is at most 0.05, at most a twentieth are expected to be false findings. For
    screens, not for claims. Benjamini and Hochberg (1995).

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.03]).round(9).tolist()
    [0.03, 0.04, 0.04]
    """
    rising, rank, n_hypotheses, order = _rank(p)
    # NaN is last: accumulated from there, it is passed over and keeps its place
    scaled = np.minimum(rising * (n_hypotheses / rank), 1)[..., ::-1]
    adjusted = np.fmin.accumulate(scaled, axis=-1)[..., ::-1]
    return _in_given_order(np.where(np.isnan(rising), np.nan, adjusted), order)


def of_hypotheses(p: ArrayLike, reference: str = "others") -> FloatArray:
    """Return one p value for each hypothesis: two groups, each against the other, are one.

    For two groups the larger p, of shape (..., 1), as both test that the rates are equal; else,
    and against the ``best``, which is no test of the best itself, `p`.

    Examples
    --------
    >>> of_hypotheses([[0.02, 0.02], [0.3, np.nan]]).tolist()
    [[0.02], [0.3]]
    """
    p_values = np.asarray(p, dtype=np.float64)
    is_pair = p_values.shape[-1] == 2 and reference != "best"
    return np.fmax.reduce(p_values, axis=-1, keepdims=True) if is_pair else p_values


def of_lower(p: ArrayLike, ratio: ArrayLike) -> FloatArray:
    """Return p values of a ratio below 1 from those of a ratio other than 1; shapes broadcast.

    Examples
    --------
    >>> of_lower([0.04, 0.04], [0.5, 2.0]).tolist()
    [0.02, 0.98]
    """
    p_values = np.asarray(p, dtype=np.float64)
    return np.where(np.asarray(ratio) < 1, p_values, 2 - p_values) / 2


def asked_together(of_groups: ArrayLike, of_all: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return adjusted p values for two questions: do groups differ, and which of them do.

    See docs/methods/verdicts.md#all-groups-at-once.

    Parameters
    ----------
    of_groups : array_like
        Of every group in every rate, adjusted for their number (`holm`).
    of_all : array_like
        Of all groups together in each rate, adjusted by `holm`, too; NaN where there is none.

    Returns
    -------
    tuple of float64 arrays
        Both, none of them below twice the smallest of all: half of the chance of error is spent on
        either question, and nothing is claimed unless one of them is answered at half. Unchanged
        where only one question is asked.

    Examples
    --------
    >>> [found.tolist() for found in asked_together([0.03, 0.2], [0.01])]
    [[0.03, 0.2], [0.02]]
    """
    group_p, joint_p = (np.asarray(p, dtype=np.float64) for p in (of_groups, of_all))
    if np.isnan(group_p).all() or np.isnan(joint_p).all():
        return group_p, joint_p
    min_p = min(1.0, 2 * float(min(np.nanmin(group_p), np.nanmin(joint_p))))
    return tuple(np.where(np.isnan(p), np.nan, np.maximum(p, min_p)) for p in (group_p, joint_p))  # type: ignore[return-value]


def _rank(p: ArrayLike) -> tuple[FloatArray, IntArray, IntArray, NDArray[np.intp]]:
    """Return rising p values (NaN last), ranks from 1, size of the family, and the order."""
    p_values = np.atleast_1d(np.asarray(p, dtype=np.float64))
    order = np.argsort(p_values, axis=-1, kind="stable")
    rising = np.take_along_axis(p_values, order, axis=-1)
    rank = np.arange(1, p_values.shape[-1] + 1)
    n_hypotheses = (~np.isnan(p_values)).sum(axis=-1, keepdims=True)
    return rising, rank, n_hypotheses, order


def _in_given_order(ordered: FloatArray, order: NDArray[np.intp]) -> FloatArray:
    """Return values sorted by `order` in their order before."""
    given_order = np.empty_like(ordered)
    np.put_along_axis(given_order, order, ordered, axis=-1)
    return given_order
