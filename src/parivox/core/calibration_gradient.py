"""Whether log likelihood ratios may be perfectly calibrated: the gradient of Cllr, tested.

See docs/methods/costs.md#loss-above-0.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parivox.core.counts import as_counts, sum_over_trials

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from parivox.core.counts import Counts, FloatArray
    from parivox.core.resampled_curves import ResampledCurves

# Errors of real speakers are rarer and more uneven than normal ones, so that fewer speakers count
# than `speaker_covariances` says: the share with which perfectly calibrated systems of 30 to 400
# speakers of VoxCeleb1-H are refuted in 5 of 100 lists (docs/coverage.md#calibration-loss).
_EFFECTIVE_SHARE = 0.7


class GradientTests(NamedTuple):
    """The gradient of Cllr in some cells, and how it varies over speakers."""

    gradient: FloatArray  # [..., 2]
    covariance: FloatArray  # [..., 2, 2]
    excess: FloatArray  # [..., 3]: `gradient_variance_excess`
    df: FloatArray  # [...]: degrees of freedom of the covariance

    @classmethod
    def from_curves(
        cls,
        curves: ResampledCurves,
        layouts: Sequence[Sequence[Counts]],
        base: float = math.e,
    ) -> list[GradientTests]:
        """Return the tests of the cells of each layout, ``[cell]``.

        `layouts` are the original counts of `curves`, and `base` is that of the logarithms of the
        scores.
        """
        cells = [counts for layout in layouts for counts in layout]
        covariances, n_effective = curves.speaker_covariances(
            [gradient_terms(counts, base=base) for counts in cells]
        )
        gradients = [cllr_gradient(counts, base=base) for counts in cells]
        excesses = [gradient_variance_excess(counts, base=base) for counts in cells]
        all_tests = cls(
            gradient=np.reshape(gradients, (-1, 2)),
            covariance=covariances,
            excess=np.reshape(excesses, (-1, 3)),
            df=_EFFECTIVE_SHARE * n_effective - 1,
        )
        ends = np.cumsum([len(layout) for layout in layouts]).tolist()
        return [
            all_tests.cell_range(end - len(layout), end)
            for layout, end in zip(layouts, ends, strict=True)
        ]

    def cell_range(self, start: int, stop: int) -> GradientTests:
        """Return the cells from `start` to before `stop`."""
        return GradientTests(*(cells[start:stop] for cells in self))

    def append_cells(self, other: GradientTests) -> GradientTests:
        """Return these cells, followed by those of other tests."""
        return GradientTests(*(np.concatenate(cells) for cells in zip(self, other, strict=True)))

    def lower_limit(self, loss: ArrayLike, low: ArrayLike, confidence: float = 0.95) -> FloatArray:
        """Return the lower limit of the calibration loss: above 0 where 0 is refuted.

        A loss of 0 lies at the edge of what is possible, where limits of the loss itself contain
        it too often. The gradient is 0 for perfectly calibrated ratios; Hotelling's statistic
        tests this. As the loss grows with the square of the gradient, the limit is at least the
        loss times the square of the share of the gradient that is certain.

        Parameters
        ----------
        loss, low : array_like of shape (...)
            Calibration loss, corrected, and the lower limit of its own interval, in bits.
        confidence : float in (0, 1)

        Returns
        -------
        float64 ndarray of shape (...)
            0 where the test does not refute that the ratios are calibrated; `low` where the test
            cannot be made, as the gradient is infinite or does not vary, or df is at most 1.

        Examples
        --------
        >>> variances = np.eye(2) * 1e-4
        >>> none = GradientTests(np.array([0.01, 0.01]), variances, np.zeros(3), np.array(100))
        >>> float(none.lower_limit(0.03, 0.0))
        0.0
        >>> clear = none._replace(gradient=np.array([0.05, 0.05]))
        >>> round(float(clear.lower_limit(0.03, 0.0)), 3)
        0.013
        """
        from scipy.special import fdtri  # noqa: PLC0415 - takes time to load

        # so that rare errors that did not occur do not make the gradient look certain
        covariance = self.covariance + _positive_part(self.excess)
        gradient, observed = self.gradient, self.covariance
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            determinant = covariance[..., 0, 0] * covariance[..., 1, 1] - covariance[..., 0, 1] ** 2
            # What ratios imply is known, only the observed part is estimated from few speakers:
            # degrees of freedom of a sum of variances (Welch and Satterthwaite).
            estimated_share = (
                covariance[..., 1, 1] * observed[..., 0, 0]
                - 2 * covariance[..., 0, 1] * observed[..., 0, 1]
                + covariance[..., 0, 0] * observed[..., 1, 1]
            ) / (2 * determinant)
            df = self.df / estimated_share**2
            statistic = (
                covariance[..., 1, 1] * gradient[..., 0] ** 2
                - 2 * covariance[..., 0, 1] * gradient[..., 0] * gradient[..., 1]
                + covariance[..., 0, 0] * gradient[..., 1] ** 2
            ) / determinant
            critical = 2 * df / (df - 1) * fdtri(2, df - 1, confidence)
            certain_share = np.maximum(1 - np.sqrt(critical / statistic), 0)
            limit_of_test = certain_share**2 * np.asarray(loss)
        is_tested = np.isfinite(statistic) & np.isfinite(critical)
        is_tested &= (determinant > 0) & (covariance[..., 0, 0] > 0)
        limit = np.where(statistic <= critical, 0.0, np.fmax(low, limit_of_test))
        return np.where(is_tested & ~np.isnan(low), limit, low)


def cllr_gradient(
    scores: Counts | ArrayLike, labels: ArrayLike | None = None, *, base: float = math.e
) -> FloatArray:
    """Return how Cllr changes as all ratios are raised, and as they are stretched, ``[..., 2]``.

    Bits for each nat of an offset, and for each unit of a factor. Both are 0 for perfectly
    calibrated ratios of all speakers; positive where ratios are too high, and where they claim too
    much. docs/methods/costs.md#loss-above-0. `base` is that of the logarithms.

    Examples
    --------
    >>> llrs, is_target = np.log([3, 3, 3, 1 / 3, 1 / 3, 1 / 3, 1 / 3, 3]), [1] * 4 + [0] * 4
    >>> bool(np.allclose(cllr_gradient(llrs, is_target), 0))
    True
    >>> cllr_gradient(llrs + 1, is_target).round(2).tolist()
    [0.26, 0.2]
    """
    counts = as_counts(scores, labels)
    natural_llrs = counts.values * math.log(base)
    changes = []
    with np.errstate(invalid="ignore", divide="ignore"):
        for power in (0, 1):
            target_sum = sum_over_trials(natural_llrs, counts.target, partial(_pull, power, -1))
            nontarget_sum = sum_over_trials(
                natural_llrs, counts.nontarget, partial(_pull, power, 1)
            )
            changes.append(target_sum / counts.n_target + nontarget_sum / counts.n_nontarget)
    return np.asarray(np.stack(changes, axis=-1) / (2 * np.log(2)))


def gradient_terms(counts: Counts, *, base: float = math.e) -> FloatArray:
    """Return what one trial of each score adds to `cllr_gradient`, less the mean of its class.

    Of shape (2, class, value): by the offset and by the factor, of nontarget and target trials.
    `counts` are of shape (value,); `base` is that of the logarithms of their scores.

    Examples
    --------
    >>> llrs, is_target = np.array([-1.0, 1.0, 1.0, 1.0]), [0, 0, 1, 1]
    >>> terms = gradient_terms(as_counts(llrs, is_target))
    >>> bool(terms[0, 0, 0] < 0 < terms[0, 0, 1])
    True
    """
    natural_llrs = counts.values * math.log(base)
    terms = np.zeros((2, 2, natural_llrs.size))
    with np.errstate(invalid="ignore", divide="ignore"):
        for class_index, (sign, trials, n_trials) in enumerate(
            ((1, counts.nontarget, counts.n_nontarget), (-1, counts.target, counts.n_target))
        ):
            for power in (0, 1):
                pull = partial(_pull, power, sign)
                mean = sum_over_trials(natural_llrs, trials, pull) / n_trials
                terms[power, class_index] = (pull(natural_llrs) - mean) / n_trials
    return np.asarray(terms / (2 * np.log(2)))


def gradient_variance_excess(
    scores: Counts | ArrayLike, labels: ArrayLike | None = None, *, base: float = math.e
) -> FloatArray:
    """Return what the variance of `cllr_gradient` lacks where rare errors did not occur.

    The variance that perfectly calibrated ratios imply, were trials independent, less the one
    observed: each ratio says how often trials with it are errors. Of shape [..., 3]: of the offset,
    their covariance, of the factor; bits squared. `base` is that of the logarithms.
    docs/methods/costs.md#loss-above-0.

    Examples
    --------
    >>> llrs, is_target = np.array([4.0, 4.0, -4.0, -4.0]), [1, 1, 0, 0]
    >>> (gradient_variance_excess(llrs, is_target)[[0, 2]] > 0).tolist()
    [True, True]
    """
    counts = as_counts(scores, labels)
    natural_llrs = counts.values * math.log(base)
    n_target, n_nontarget = counts.n_target, counts.n_nontarget
    excess = []
    with np.errstate(invalid="ignore", divide="ignore"):
        for power in (0, 1, 2):
            observed_target, implied_target, implied_nontarget, observed_nontarget = (
                partial(_error_products, power, n_misses, n_hits)
                for n_misses, n_hits in ((2, 0), (2, 1), (1, 2), (0, 2))
            )
            excess_of_power = np.zeros(n_target.shape)
            for trials, n_trials in (
                (counts.target, n_target),
                (counts.nontarget, n_nontarget),
            ):
                excess_of_power = excess_of_power + (
                    sum_over_trials(natural_llrs, trials, implied_target) / n_trials / n_target
                    + sum_over_trials(natural_llrs, trials, implied_nontarget)
                    / n_trials
                    / n_nontarget
                )
            excess_of_power -= (
                sum_over_trials(natural_llrs, counts.target, observed_target) / n_target**2
            )
            excess_of_power -= (
                sum_over_trials(natural_llrs, counts.nontarget, observed_nontarget) / n_nontarget**2
            )
            excess.append(excess_of_power)
    return np.asarray(np.stack(excess, axis=-1) / (2 * np.log(2)) ** 2)


def _error_products(power: int, n_misses: int, n_hits: int, llrs: FloatArray) -> FloatArray:
    """Return (1 - p) ** misses times p ** hits times llr ** power, where p says it is a target."""
    probability = 0.5 * (1 + np.tanh(llrs / 2))
    product = (1 - probability) ** n_misses * probability**n_hits
    return np.asarray(np.where(product == 0, 0.0, product * llrs**power))


def _pull(power: int, sign: int, llrs: FloatArray) -> FloatArray:
    """Return the change of the loss of trials by an offset (power 0) or a factor (power 1).

    `sign` is -1 for target trials; an infinite ratio on the right side of them costs nothing.
    """
    error_probability = 0.5 * (1 + np.tanh(sign * llrs / 2))
    change = sign * error_probability * llrs**power
    return np.asarray(np.where(error_probability == 0, 0.0, change))


def _positive_part(elements: ArrayLike) -> FloatArray:
    """Return the positive part of symmetric matrices, (..., 2, 2), from (..., 3) elements."""
    finite = np.nan_to_num(np.asarray(elements, dtype=np.float64), posinf=0.0, neginf=0.0)
    matrices = finite[..., [0, 1, 1, 2]].reshape(*finite.shape[:-1], 2, 2)
    eigenvalues, vectors = np.linalg.eigh(matrices)
    scaled = vectors * np.maximum(eigenvalues, 0.0)[..., None, :]
    return np.asarray(scaled @ vectors.swapaxes(-1, -2))
