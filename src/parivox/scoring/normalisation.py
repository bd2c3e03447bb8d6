"""Scores in units of what strangers score: AS-norm and S-norm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.errors import ConfigError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parivox.scoring.comparisons import Comparison

__all__ = ["Strangers", "against_cohort", "check_size"]

_BLOCK = 1 << 22
"""Scores against the cohort at once."""
_LEAST = 1e-9
"""Spread of scores, of the largest there is, below which they are all the same."""


@dataclass(frozen=True, eq=False)
class Strangers:
    """What each recording scores with the cohort, that is, with other people.

    Attributes
    ----------
    mean, sd : ndarray of shape (recording,)
        Of its scores with the nearest of the cohort, or with all; the standard deviation is that
        of these scores themselves (divided by their number).
    """

    mean: NDArray[np.float64]
    sd: NDArray[np.float64]

    def normalised(
        self, score: NDArray[np.float64], enrol: NDArray[np.integer], test: NDArray[np.integer]
    ) -> NDArray[np.float64]:
        """Scores (pair,) in standard deviations above the strangers' mean, of both sides' mean.

        Examples
        --------
        >>> both = Strangers(np.array([0.1, 0.3]), np.array([0.1, 0.2]))
        >>> both.normalised(np.array([0.5]), np.array([0]), np.array([1]))
        array([2.5])
        """
        sides = ((score - self.mean[side]) / self.sd[side] for side in (enrol, test))
        return np.asarray(0.5 * sum(sides))

    @property
    def is_flat(self) -> NDArray[np.bool_]:
        """Of which recordings all strangers score the same, so that nothing can be told by them."""
        largest = max(np.abs(self.mean).max(initial=0), self.sd.max(initial=0))
        return np.asarray(self.sd <= _LEAST * largest)


def check_size(size: int, top: int | None) -> None:
    """Refuse a cohort of `size` recordings that is too small for its `top` nearest, or None.

    Raises
    ------
    ConfigError
        If `top` is not from 2 to the size of the cohort.
    """
    if not 2 <= (size if top is None else top) <= size:
        msg = (
            f"the cohort has {size:,} recordings; give 2 or more"
            if top is None or size < 2
            else f"--top {top}: the cohort has {size:,} recordings; give a number from 2 to {size}"
        )
        raise ConfigError(msg)


def against_cohort(
    kept: NDArray[Any], cohort: NDArray[Any], comparison: Comparison, *, top: int | None = None
) -> Strangers:
    """Mean and standard deviation of each recording's scores with a cohort.

    Parameters
    ----------
    kept : ndarray of shape (recording, ...)
        What the comparison keeps of each recording.
    cohort : ndarray of shape (stranger, ...)
        The same of the cohort.
    comparison
        Of what is kept.
    top
        Only the highest so many scores of each recording count (AS-norm); None for all (S-norm).

    Raises
    ------
    ConfigError
        If `top` is not from 2 to the size of the cohort.

    References
    ----------
    S-norm: Kenny, Bayesian speaker verification with heavy-tailed priors, Odyssey 2010. AS-norm:
    Matějka et al., Interspeech 2017, pp. 1567-1571, where it is called adaptive S-norm, variant 1.
    """
    size = len(cohort)
    check_size(size, top)
    cohort = np.asarray(cohort, dtype=np.float64)
    mean, sd = np.empty((2, len(kept)))
    step = max(_BLOCK // size, 1)
    for start in range(0, len(kept), step):
        block = np.asarray(kept[start : start + step], dtype=np.float64)
        scores = comparison.matrix(block, cohort)
        if top is not None and top < size:
            scores = np.partition(scores, size - top, axis=1)[:, size - top :]
        mean[start : start + step] = scores.mean(axis=1)
        sd[start : start + step] = scores.std(axis=1)
    return Strangers(mean, sd)
