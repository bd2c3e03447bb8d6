"""Figures of a list in words: ranges and shares, without anybody's id."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["between", "counted", "over", "percent", "span"]


def over(part: ArrayLike, whole: ArrayLike) -> Floats:
    """A share, NaN of nothing."""
    one, other = np.broadcast_arrays(np.asarray(part, dtype=float), np.asarray(whole, dtype=float))
    found: Floats = np.divide(one, other, out=np.full(one.shape, np.nan), where=other > 0)
    return found


def percent(share: float) -> str:
    """A share as a percentage with one decimal.

    Examples
    --------
    >>> percent(0.45692), percent(float("nan"))
    ('45.7 %', 'n.k.')
    """
    return "n.k." if np.isnan(share) else f"{100 * share:.1f} %"


def counted(n: int, what: str) -> str:
    """A number of things.

    Examples
    --------
    >>> counted(1, "trial"), counted(2_000, "trial")
    ('1 trial', '2,000 trials')
    """
    return f"{n:,} {what}{'s' * (n != 1)}"


def span(values: NDArray[np.integer]) -> str:
    """The least and the most of some counts.

    Examples
    --------
    >>> span(np.array([3, 1000])), span(np.array([5, 5]))
    ('3 to 1,000', '5')
    """
    least, most = int(values.min()), int(values.max())
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def between(groups: Sequence[str], share: Floats) -> str:
    """The lowest and the highest share that is known, and whose they are, if they differ.

    Examples
    --------
    >>> between(["f", "m", "x"], np.array([0.5, 0.25, np.nan]))
    '25.0 % (m) to 50.0 % (f)'
    """
    low, high = int(np.nanargmin(share)), int(np.nanargmax(share))
    if share[low] == share[high]:
        return f"{percent(share[low])} (every group)"
    return f"{percent(share[low])} ({groups[low]}) to {percent(share[high])} ({groups[high]})"
