"""Whether two attributes of the same speakers go together.

See docs/methods/confounding.md#attributes-that-go-together.

Where they do, what one seems to do may be the other's doing. The sample is the speakers: one
table counts how many of them have each pair of values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from parivox.core.p_values import permutation_p

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from parivox.core.counts import FloatArray, IntArray

LEAST_EXPECTED = 5
"""Speakers expected in every cell, if nothing goes together, for the chi-square distribution."""
DRAWS = 1_999
"""Tables drawn otherwise: p is told to 0.0005."""


@dataclass(frozen=True)
class Association:
    """How strongly two attributes go together.

    Attributes
    ----------
    cramers_v : float
        Cramér's V corrected for its bias: 0 for attributes that have nothing to do with each
        other, 1 where each tells the other.
    p : float
        How often chance alone would put them together as much.
    test : {"chi-square", "permutation"}
        Where p is from.
    """

    cramers_v: float
    p: float
    test: Literal["chi-square", "permutation"]


def association(table: ArrayLike, *, seed: int | tuple[int, ...] = 0) -> Association:
    """Cramér's V, corrected for bias (Bergsma 2013), and its p value.

    Parameters
    ----------
    table : array_like of int, of shape (value, value)
        Speakers who have each pair of values.
    seed : int or tuple of int
        Of the permutations.

    Returns
    -------
    Association
        From Pearson's chi-square where at least five speakers are expected in every cell; else
        the share of tables that are as far from independence when the speakers' values of one
        attribute are dealt out anew, which is valid however few they are. NaN where either
        attribute has fewer than two values.

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
    n = int(counts.sum())
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / n
    observed = float(_chi_square(counts, expected))
    freedom = (rows - 1) * (columns - 1)
    left = max(0.0, observed / n - freedom / (n - 1))
    most = min(size - (size - 1) ** 2 / (n - 1) for size in (rows, columns)) - 1
    strength = min(1.0, np.sqrt(left / most)) if most > 0 else np.nan
    if expected.min() >= LEAST_EXPECTED:
        from scipy.special import chdtrc  # noqa: PLC0415 - imported only where needed

        return Association(float(strength), float(chdtrc(freedom, observed)), "chi-square")
    drawn = _chi_square(_dealt_anew(counts, np.random.default_rng(seed)), expected)
    return Association(float(strength), float(permutation_p(observed, drawn)), "permutation")


def determines(table: ArrayLike) -> bool:
    """Whether the first attribute of a speaker determines the second.

    Parameters
    ----------
    table : array_like of int, of shape (value, value)
        Speakers who have each pair of values.


    Examples
    --------
    >>> determines([[74, 0], [48, 0], [0, 84]])
    True
    """
    return bool(((np.asarray(table) > 0).sum(axis=1) <= 1).all())


def _chi_square(counts: IntArray, expected: FloatArray) -> FloatArray:
    """Pearson's statistic of tables ``[..., value, value]``."""
    return np.asarray(((counts - expected) ** 2 / expected).sum(axis=(-2, -1)))


def _dealt_anew(counts: IntArray, rng: np.random.Generator) -> IntArray:
    """Tables of the same margins, as permuted speakers make them; ``[draw, value, value]``.

    Cell by cell, given those before: the cost is that of the cells, not of the speakers.
    """
    rows, columns = counts.shape
    left = np.tile(counts.sum(axis=0), (DRAWS, 1))
    found = np.empty((DRAWS, rows, columns), dtype=np.int64)
    for i, total in enumerate(counts.sum(axis=1).tolist()):
        due = np.full(DRAWS, total)
        others = left.sum(axis=1)
        for j in range(columns):
            others = others - left[:, j]
            found[:, i, j] = rng.hypergeometric(left[:, j], others, due)
            due = due - found[:, i, j]
        left -= found[:, i]
    return found
