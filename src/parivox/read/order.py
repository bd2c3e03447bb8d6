"""The order of many trials: by keys or by scores, in half the time of an argsort.

Places take the last bits of what is sorted, so that one array is put in order instead of two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]


def in_order_of_keys(key: Ints, limit: int) -> tuple[Ints, Ints]:
    """Keys below a limit in rising order, and the place that each had.

    Examples
    --------
    >>> [one.tolist() for one in in_order_of_keys(np.array([7, 3, 7]), 8)]
    [[3, 7, 7], [1, 0, 2]]
    """
    width = key.size.bit_length()
    if limit > 1 << (63 - width):
        order = np.argsort(key)
        return key[order], order
    return _with_places(key << width, width)


def in_order_of_scores(score: Floats) -> Ints:
    """Place of each score, the lowest first; of equal ones, the first place comes first.

    The bits of a score rise with it; of scores that differ in the last of them alone, which make
    way for places, the order is mended.

    Examples
    --------
    >>> in_order_of_scores(np.array([0.5, -np.inf, 1 + 2.0**-52, 1.0, 0.0, -0.0])).tolist()
    [1, 4, 5, 0, 3, 2]
    """
    width = score.size.bit_length()
    bits = (score + 0.0).view(np.int64)  # -0.0 is 0.0
    bits ^= (bits >> 63) & np.iinfo(np.int64).max
    first, order = _with_places(bits >> width << width, width)
    found = score.take(order)
    if (found[1:] < found[:-1]).any():
        again = first[1:] == first[:-1]
        alike = np.flatnonzero(np.append(again, False) | np.append(False, again))
        order[alike] = order[alike][np.lexsort((order[alike], found[alike], first[alike]))]
    return order


def _with_places(shifted: Ints, width: int) -> tuple[Ints, Ints]:
    """Numbers whose last bits are 0 in rising order, without these bits, and their places."""
    shifted |= np.arange(shifted.size)
    rising = pl.Series(shifted).sort().to_numpy()  # in two thirds of NumPy's time
    return rising >> width, rising & ((1 << width) - 1)
