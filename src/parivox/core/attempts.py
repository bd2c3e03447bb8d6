"""What an error rate means when attempts are repeated (docs/methods/verdicts.md#attempts).

Attempts are taken to be independent of each other and people to be alike. How many are locked
out when people differ, :func:`parivox.core.people.locked_out_people` tells. Chances lie in
[0, 1]; times 10,000 they are people locked out, or impostors let in, per 10,000.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parivox.errors import ConfigError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from parivox.core.counts import FloatArray

__all__ = ["attempts_until", "checked_attempts", "let_in", "locked_out"]


def locked_out(fnr: ArrayLike, attempts: int) -> FloatArray:
    """Chance that all of N genuine attempts are rejected: FNR ** N.

    Assumes that attempts are independent and people alike. Rises with the rate, so that the
    limits of the rate become those of the chance.

    Parameters
    ----------
    fnr : array_like in [0, 1]
    attempts : int, at least 1

    Returns
    -------
    float64 in [0, 1]
        Lower is better.

    Examples
    --------
    >>> float(locked_out(0.5, 3))
    0.125
    """
    return np.asarray(fnr, dtype=np.float64) ** checked_attempts(attempts)


def let_in(fpr: ArrayLike, attempts: int) -> FloatArray:
    """Chance that at least one of N attempts of an impostor is accepted: 1 - (1 - FPR) ** N.

    Assumes that attempts are independent. Rises with the rate, so that the limits of the rate
    become those of the chance.

    Parameters
    ----------
    fpr : array_like in [0, 1]
    attempts : int, at least 1

    Returns
    -------
    float64 in [0, 1]
        Lower is better.

    Examples
    --------
    One attempt a minute for 17 hours at FPR 0.1 %, for 3.5 hours at 0.5 % (000, 4.3):

    >>> round(float(let_in(0.001, 1020)), 3), round(float(let_in(0.005, 210)), 3)
    (0.64, 0.651)
    """
    rate: FloatArray = np.asarray(fpr, dtype=np.float64)
    with np.errstate(divide="ignore"):
        kept_out: FloatArray = checked_attempts(attempts) * np.log1p(-rate)
    return np.abs(np.expm1(kept_out))


def attempts_until(fpr: ArrayLike, probability: float = 0.95) -> FloatArray:
    """Attempts after which an impostor has succeeded with a given probability.

    The smallest n with 1 - (1 - FPR) ** n >= probability: ln(1 - probability) / ln(1 - FPR),
    rounded up (000, 4.3). Assumes that attempts are independent. Falls with the rate, so that
    the upper limit of the rate gives the lower limit of the attempts.

    Parameters
    ----------
    fpr : array_like in [0, 1]
    probability : float in (0, 1)

    Returns
    -------
    float64, whole numbers from 1
        Higher is better; inf for a rate of 0, NaN for NaN.

    Examples
    --------
    >>> attempts_until([0.001, 0.005, 0.0]).tolist()
    [2995.0, 598.0, inf]
    """
    if not 0 < probability < 1:
        msg = f"probability is {probability}; it must lie between 0 and 1, both excluded"
        raise ConfigError(msg)
    rate = np.asarray(fpr, dtype=np.float64)
    with np.errstate(divide="ignore"):
        exact = np.divide(np.log1p(-probability), np.log1p(-rate))
    # a whole number reached by two logarithms may be off in its last bit; 0 - 0 drops its sign
    return np.where(rate > 0, np.maximum(np.ceil(exact * (1 - 1e-12)), 1.0), np.abs(exact))[()]


def checked_attempts(attempts: int) -> int:
    """A number of attempts that makes sense, or a ConfigError."""
    if attempts < 1 or attempts != int(attempts):
        msg = f"attempts is {attempts}; it must be a whole number from 1, such as 3"
        raise ConfigError(msg)
    return int(attempts)
