"""Sums by key: rows of whole numbers become one number each, and equal numbers are added up.

Everything that an audit measures is such a sum: trials by cell, score and class, errors by cell and
unit or pair of units, trials by pair of groups. Tables of disjoint trials add up, in whatever order
they come.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.core.counts import IntArray

_Number = TypeVar("_Number", bound="np.integer[Any] | np.floating[Any]")

# Codes below this are marked in one array of flags, which takes as many bytes; above, they are
# sorted.
_MAX_MARKED_CODES = 1 << 25
# Where there are at most this many possible keys for each key that is there, an array of all
# possible keys is counted into; where there are more, keys are sorted.
_MAX_RANGE_PER_KEY = 8
# Numbers at a time, so that all intermediate arrays stay in the processor's cache.
_CHUNK_SIZE = 1 << 16
# Keys that are added up at once, for the memory they take.
_KEYS_PER_RANGE = 1 << 19
# Rows of several tables that are kept before they are added up.
_MAX_WAITING_ROWS = 1 << 22
# Columns of a wider range are coded by the numbers that occur.
_MAX_FIELD_BITS = 32
MAX_KEY_BITS = 62
"""Of a key that is one number."""


def index_codes(
    codes: NDArray[np.integer[Any]], size: int
) -> tuple[IntArray, NDArray[np.integer[Any]]]:
    """Return the codes below `size` that occur, rising, and the index of each code among them.

    Examples
    --------
    >>> distinct, indices = index_codes(np.array([7, 2, 7]), 9)
    >>> distinct.tolist(), indices.tolist()
    ([2, 7], [1, 0, 1])
    """
    if size > _MAX_MARKED_CODES:
        return np.unique(codes, return_inverse=True)
    occurs = np.zeros(size, dtype=np.bool_)
    occurs[codes] = True
    distinct_codes = np.flatnonzero(occurs)
    code_indices = np.empty(size, dtype=np.int32)
    code_indices[distinct_codes] = np.arange(distinct_codes.size, dtype=np.int32)
    return distinct_codes, code_indices.take(codes)


def count_distinct(
    numbers: NDArray[_Number], sort: Callable[[NDArray[Any]], NDArray[Any]] = np.sort
) -> tuple[NDArray[_Number], IntArray]:
    """Return the numbers that occur, rising, and how often each does.

    They are sorted, as hashing takes ten times as long where most of them differ. A caller may know
    a faster `sort` than NumPy's.

    Examples
    --------
    >>> [array.tolist() for array in count_distinct(np.array([0.5, 0.1, 0.5]))]
    [[0.1, 0.5], [1, 2]]
    """
    rising = sort(numbers)
    starts = _run_starts(rising)
    return rising[starts], np.diff(starts, append=rising.size)


def sum_by_key(
    keys: NDArray[np.integer[Any]],
    *weights: NDArray[np.integer[Any]],
    sort: Callable[[NDArray[Any]], NDArray[Any]] = np.sort,
) -> tuple[IntArray, list[IntArray]]:
    """Return the keys that occur, rising, with their number or sums of weights.

    Parameters
    ----------
    keys : integer ndarray of shape (row,)
        At least 0.
    *weights : integer ndarrays of shape (..., row)
    sort
        Sorts keys without weights.

    Returns
    -------
    keys : int64 ndarray of shape (key,)
    sums : list of int64 ndarrays of shape (..., key)
        One for each of `weights`; without weights, one of how often each key occurs.

    Examples
    --------
    >>> distinct, (counts,) = sum_by_key(np.array([7, 2, 7]))
    >>> distinct.tolist(), counts.tolist()
    ([2, 7], [1, 2])
    >>> distinct, (sums,) = sum_by_key(np.array([7, 2, 7]), np.array([[1, 2, 3], [0, 1, 5]]))
    >>> sums.tolist()
    [[2, 4], [1, 5]]
    """
    if not weights:
        if keys.size and int(keys.max()) < _MAX_RANGE_PER_KEY * keys.size:
            counts = np.bincount(keys)
            used_keys = np.flatnonzero(counts)
            return used_keys, [counts[used_keys]]
        distinct_keys, counts = count_distinct(keys, sort)
        return distinct_keys.astype(np.int64, copy=False), [counts]
    # stable, which is fastest here: keys are mostly rising tables one after the other
    order = np.argsort(keys, kind="stable")
    rising = keys.take(order)
    starts = _run_starts(rising)
    sums = []
    for weight in weights:
        weight_sums = np.empty((*weight.shape[:-1], starts.size), dtype=np.int64)
        for leading in np.ndindex(weight_sums.shape[:-1]):  # one by one, to save memory
            ordered = weight[leading].take(order).astype(np.int64, copy=False)
            np.add.reduceat(ordered, starts, out=weight_sums[leading])
        sums.append(weight_sums)
    return rising.take(starts).astype(np.int64, copy=False), sums


def _run_starts(rising: NDArray[Any]) -> NDArray[np.intp]:
    """Return where rising numbers differ from the one before."""
    is_first = np.ones(rising.size, dtype=np.bool_)
    np.not_equal(rising[1:], rising[:-1], out=is_first[1:])
    return np.flatnonzero(is_first)


class KeySums:
    """Sums by key of tables that are added one after the other.

    Parameters
    ----------
    sort
        Sorts keys that come without weights.

    Examples
    --------
    >>> sums = KeySums()
    >>> sums.add(np.array([7, 2, 7]))
    >>> sums.add(np.array([2, 3]), np.array([10, 20]))
    >>> [array.tolist() for array in sums.total()]
    [[2, 3, 7], [11, 20, 2]]
    """

    def __init__(self, sort: Callable[[NDArray[Any]], NDArray[Any]] = np.sort) -> None:
        self._sort = sort
        # rising keys with their sums: first the sum so far, then tables that wait
        self._tables: list[tuple[IntArray, IntArray]] = []

    def add(
        self, keys: NDArray[np.integer[Any]], weights: NDArray[np.integer[Any]] | None = None
    ) -> None:
        """Add keys, each as often as it occurs or with its weight."""
        distinct_keys, (sums,) = sum_by_key(
            keys, *(() if weights is None else (weights,)), sort=self._sort
        )
        self._tables.append((distinct_keys, sums))
        if needs_adding_up([table_keys.size for table_keys, _ in self._tables]):
            self._add_up()

    def total(self) -> tuple[IntArray, IntArray]:
        """Return the keys that occur, rising, and the sum of each."""
        self._add_up()
        return self._tables[0]

    def _add_up(self) -> None:
        """Add all tables, a range of keys at a time."""
        empty = np.empty(0, dtype=np.int64)
        if len(self._tables) < 2:
            self._tables = self._tables or [(empty, empty)]
            return
        n_rows = sum(keys.size for keys, _ in self._tables)
        longest = max((keys for keys, _ in self._tables), key=len)
        # ranges end at even steps through the longest table, taken to be like the others
        step = max(longest.size * _KEYS_PER_RANGE // max(n_rows, 1), 1)
        bounds = longest[step::step]
        ends = [[*np.searchsorted(keys, bounds).tolist(), keys.size] for keys, _ in self._tables]
        starts = [0] * len(self._tables)
        ranges = []
        for range_ends in zip(*ends, strict=True):
            pieces = [
                (keys[start:end], sums[start:end])
                for (keys, sums), start, end in zip(self._tables, starts, range_ends, strict=True)
            ]
            key_pieces, sum_pieces = zip(*pieces, strict=True)
            keys, (sums,) = sum_by_key(np.concatenate(key_pieces), np.concatenate(sum_pieces))
            ranges.append((keys, sums))
            starts = list(range_ends)
        self._tables = []  # gives their memory back
        all_keys, all_sums = zip(*ranges, strict=True)
        self._tables = [(np.concatenate(all_keys), np.concatenate(all_sums))]


def needs_adding_up(sizes: Sequence[int]) -> bool:
    """Whether enough rows wait to be added up; `sizes` are those of the sum so far and of tables.

    At least as many as the sum so far has: each row is then added up a few times only.
    """
    return sum(sizes[1:]) > max(_MAX_WAITING_ROWS, sizes[0])


def collapse_constant(column: NDArray[Any]) -> NDArray[Any]:
    """Return a column, or its first cell alone where it is one number broadcast to many rows."""
    # a broadcast number has stride 0: reading it once saves as many reads as there are rows
    return column[:1] if column.strides == (0,) else column


class RowCodec:
    """Codes rows of whole numbers as one number each, and rows of these codes.

    Columns are bit fields of the code, the first column in the highest bits: codes are in the
    order of the rows, and equal where rows are.

    Parameters
    ----------
    ranges
        The least and the largest number of each column, the first column first.

    Examples
    --------
    >>> codec = RowCodec({"step": (0, 5), "accepted": (-1, 1)})
    >>> codes = codec.encode({"step": np.array([4, 5]), "accepted": np.array([1, -1])})
    >>> dtypes = dict.fromkeys(codec.bits, np.dtype(np.int8))
    >>> codes.tolist(), codec.decode(codes, dtypes)["accepted"].tolist()
    ([18, 20], [1, -1])
    """

    def __init__(self, ranges: Mapping[str, tuple[int, int]]) -> None:
        self.lowest = {name: low for name, (low, _) in ranges.items()}
        self.bits = {name: (high - low).bit_length() for name, (low, high) in ranges.items()}
        self.width = sum(self.bits.values())

    def encode(self, columns: Mapping[str, NDArray[Any]]) -> IntArray:
        """Return one number for each row, below ``2 ** width``."""
        # a column that does not vary takes no bits
        fields = [
            (columns[name], self.lowest[name], bits) for name, bits in self.bits.items() if bits
        ]
        first_name = next(iter(self.bits))
        codes = np.zeros(columns[first_name].size, dtype=np.int64)
        for start in range(0, codes.size, _CHUNK_SIZE):
            chunk = slice(start, start + _CHUNK_SIZE)
            chunk_codes = codes[chunk]
            for column, low, bits in fields:
                numbers = collapse_constant(column[chunk])
                chunk_codes <<= bits
                chunk_codes |= numbers - low if low else numbers
        return codes

    def decode(
        self, codes: IntArray, dtypes: Mapping[str, np.dtype[Any]]
    ) -> dict[str, NDArray[Any]]:
        """Return the columns that codes stand for.

        A column that does not vary is one number broadcast to all rows, which takes no memory.
        """
        decoded: dict[str, NDArray[Any]] = {}
        shift = self.width
        for name, bits in self.bits.items():
            shift -= bits
            if not bits:
                number = dtypes[name].type(self.lowest[name])
                decoded[name] = np.broadcast_to(number, codes.size)
                continue
            decoded[name] = column = np.empty(codes.size, dtype=dtypes[name])
            for start in range(0, codes.size, _CHUNK_SIZE):
                numbers = codes[start : start + _CHUNK_SIZE] >> shift
                numbers &= (1 << bits) - 1
                numbers += self.lowest[name]
                column[start : start + _CHUNK_SIZE] = numbers
        return decoded


def sum_rows(
    tables: Sequence[Mapping[str, NDArray[Any]]], key_columns: Sequence[str]
) -> dict[str, NDArray[Any]]:
    """Return the sum of tables of whole numbers: each combination of keys once, in rising order.

    All columns but `key_columns`, the first of which counts most, are summed. A column that does
    not vary is one number broadcast to all rows, which takes no memory.

    Examples
    --------
    >>> table = {"cell": np.array([1, 0, 1]), "trials": np.array([2, 3, 4])}
    >>> {name: column.tolist() for name, column in sum_rows([table, table], ["cell"]).items()}
    {'cell': [0, 1], 'trials': [6, 12]}
    """
    columns = {name: _joined([table[name] for table in tables]) for name in tables[0]}
    keys, width = np.zeros(sum(table[key_columns[0]].size for table in tables), dtype=np.int64), 0
    fields: list[tuple[str, _Field, IntArray | None]] = []
    for name in key_columns:
        field, codes = _Field.of_column(columns[name])
        prefixes = None
        if width + field.bits > MAX_KEY_BITS:  # few of so many combinations occur
            prefixes, keys = np.unique(keys, return_inverse=True)
            width = (prefixes.size - 1).bit_length()
        if field.bits:
            keys <<= field.bits
            keys |= codes
        width += field.bits
        fields.append((name, field, prefixes))
    sum_columns = [name for name in columns if name not in key_columns]
    varying = [name for name in sum_columns if collapse_constant(columns[name]).any()]
    keys, sums = sum_by_key(keys, *(columns[name] for name in varying))
    n_rows = keys.size
    summed: dict[str, NDArray[Any]] = dict.fromkeys(
        sum_columns, np.broadcast_to(np.int64(0), n_rows)
    )
    summed |= dict(zip(varying, sums, strict=False))
    for name, field, prefixes in reversed(fields):
        summed[name] = field.decode(keys)
        keys = keys >> field.bits
        keys = keys if prefixes is None else prefixes.take(keys)
    return {name: summed[name] for name in columns}


class _Field(NamedTuple):
    """What the last bits of a key stand for."""

    bits: int
    lowest: int
    distinct: NDArray[Any]  # numbers that bits index; empty where they count from the lowest
    dtype: np.dtype[Any]

    @classmethod
    def of_column(cls, column: NDArray[Any]) -> tuple[_Field, NDArray[Any]]:
        """Return the field of a column and its bits, row by row."""
        numbers = collapse_constant(column)
        lowest, highest = int(numbers.min(initial=0)), int(numbers.max(initial=0))
        bits = (highest - lowest).bit_length()
        distinct: NDArray[Any] = numbers[:0]
        codes: NDArray[Any] = numbers
        if bits > _MAX_FIELD_BITS:  # few of so many numbers occur
            distinct, codes = np.unique(numbers, return_inverse=True)
            bits = (distinct.size - 1).bit_length()
        elif lowest:
            codes = numbers.astype(np.int64) - lowest
        return cls(bits, lowest, distinct, column.dtype), codes

    def decode(self, keys: IntArray) -> NDArray[Any]:
        """Return the numbers that the last bits of keys stand for."""
        if self.distinct.size:
            return self.distinct.take(keys & ((1 << self.bits) - 1))
        if not self.bits:
            return np.broadcast_to(self.dtype.type(self.lowest), keys.size)
        return ((keys & ((1 << self.bits) - 1)) + self.lowest).astype(self.dtype)


def _joined(columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return columns one after the other, as one broadcast number if all are that number."""
    first_cells = [collapse_constant(column) for column in columns if column.size]
    if first_cells and all(cells.size == 1 for cells in first_cells):
        distinct = np.unique(np.concatenate(first_cells))
        if distinct.size == 1:
            return np.broadcast_to(distinct[0], sum(column.size for column in columns))
    return np.concatenate(columns)
