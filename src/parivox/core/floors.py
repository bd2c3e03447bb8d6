"""Closed-form noise floors, for planning before there are scores.

See docs/methods/noise-floors.md#closed-forms.

What meta-measures show on average if all groups of a system are alike, to first order: ln of a
group's error rate is then normal with variance 1 / kappa, where kappa is the group's effective
number of errors, its errors divided by their design effect. Good from about kappa = 5. For
scores at hand :mod:`parivox.core.noise` draws the floor instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from parivox.core.counts import FloatArray

__all__ = [
    "expected_abs_log_ratio",
    "expected_gini",
    "expected_log_max_geomean",
    "expected_log_max_min",
    "expected_range",
]


def expected_gini(kappa: ArrayLike) -> FloatArray:
    """Mean normalised Gini of groups that are alike.

    Parameters
    ----------
    kappa : array_like
        Effective errors of each group, above 0.

    Returns
    -------
    float64 of the shape of `kappa`
        1 / sqrt(pi kappa), whatever the number of groups. Above 1 for kappa < 0.32, where the
        approximation has long failed.

    Examples
    --------
    >>> round(float(expected_gini(30)), 6)
    0.103006
    """
    return 1 / np.sqrt(np.pi * np.asarray(kappa, dtype=np.float64))


def expected_abs_log_ratio(kappa: ArrayLike) -> FloatArray:
    """Mean of abs(ln(group / average)) of groups that are alike: the floor of NRB.

    Parameters
    ----------
    kappa : array_like
        Effective errors of each group, above 0.

    Returns
    -------
    float64 of the shape of `kappa`
        sqrt(2 / (pi kappa)).

    Examples
    --------
    >>> round(float(expected_abs_log_ratio(30)), 6)
    0.145673
    """
    return np.sqrt(2 / (np.pi * np.asarray(kappa, dtype=np.float64)))


def expected_log_max_min(kappa: ArrayLike, groups: ArrayLike) -> FloatArray:
    """Mean ln(largest rate / smallest rate) of groups that are alike.

    Parameters
    ----------
    kappa : array_like
        Effective errors of each group, above 0.
    groups : array_like of int
        How many, at least 1.

    Returns
    -------
    float64 of the broadcast shape
        :func:`expected_range` / sqrt(kappa).

    Examples
    --------
    >>> round(float(np.exp(expected_log_max_min(30, 9))), 6)
    1.719872
    """
    return expected_range(groups) / np.sqrt(np.asarray(kappa, dtype=np.float64))


def expected_log_max_geomean(kappa: ArrayLike, groups: ArrayLike) -> FloatArray:
    """Mean ln(largest rate / geometric mean) of groups that are alike: the floor of ln MERG.

    Half of :func:`expected_log_max_min`: as far from the middle as the smallest rate.

    Examples
    --------
    >>> round(float(expected_log_max_geomean(1, 18)), 6)
    1.820032
    """
    return expected_log_max_min(kappa, groups) / 2


def expected_range(n: ArrayLike) -> FloatArray:
    """Mean largest minus smallest of n independent standard normal values.

    Parameters
    ----------
    n : array_like of int
        At least 1.

    Returns
    -------
    float64 of the shape of `n`
        0 for one value; the mean of the largest alone is half of it. Tippett (1925).

    Examples
    --------
    >>> expected_range([1, 2, 9]).round(6).tolist()
    [0.0, 1.128379, 2.970026]
    """
    from scipy.special import ndtr  # noqa: PLC0415 - imported only where needed

    # Integral of P(smallest <= x < largest). The trapezoid rule gains digits with every point
    # on a smooth integrand that vanishes at both ends.
    x = np.linspace(-9, 9, 721)
    below = ndtr(x)
    count = np.asarray(n, dtype=np.float64)[..., None]
    apart = -np.expm1(count * np.log(below)) - ndtr(-x) ** count
    return np.asarray(np.trapezoid(apart, x, axis=-1))[()]
