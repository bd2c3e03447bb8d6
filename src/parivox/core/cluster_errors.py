"""Errors and trials by speaker or pair of speakers, and the variance of rates that follows.

Trials that share a speaker are dependent, so that speakers, not trials, are the sample
(docs/methods/uncertainty.md#why-speakers). Target trials are counted by speaker, nontarget trials
by unordered pair of speakers, each within its cell (a group under one allocation);
`moments` reduces such a table to a few sums of the deviations by speaker and by pair
(docs/methods/uncertainty.md#residuals-and-variances).

Layout: one flat axis of *entries* in rising order of their cells, one for each speaker, or
pair, that has trials in the cell. Leading axes are free: operating points, replicates.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from parivox.core.counts import FloatArray, IntArray

_Number = TypeVar("_Number", bound="np.integer[Any] | np.floating[Any]")

# Codes below this are marked in one array of flags, which takes as many bytes; above, they are
# sorted.
_MAX_MARKED_CODES = 1 << 25
# Where there are at most this many possible codes for each code that is there, an array of all
# possible codes is counted into; where there are more, codes are sorted.
_MAX_RANGE_PER_CODE = 8
# Codes that agree but for these last bits form a block.
_CODE_BLOCK_BITS = 9
# With more numbers of errors than this, operating points are taken one by one, to save memory.
_MAX_ERRORS_AT_ONCE = 2**22
# Where fewer than one number in four is not 0, only those are added up.
_SPARSE_DIVISOR = 4
# Numbers at a time, so that all intermediate arrays stay in the processor's cache.
_CHUNK_SIZE = 1 << 16
# Codes that are added up at once.
_CODES_PER_RANGE = 1 << 19
# Rows of several tables that are kept before they are added up.
_MAX_WAITING_ROWS = 1 << 23
# Degrees of freedom of a variance above which speaker blocks need less of the jackknife.
_STEADY_DF = 10


class _ClusterErrors:
    """What tables of errors by speaker and by pair of speakers have in common."""

    speaker_fields: ClassVar[tuple[str, ...]]
    """Names of the fields that hold the speakers of an entry."""

    cell: NDArray[np.integer[Any]]
    errors: NDArray[np.generic]
    trials: NDArray[np.generic]
    n_cells: int
    in_blocks: bool

    def sum_by_cell(self, entry_values: NDArray[np.generic]) -> FloatArray:
        """Return sums over the entries of each cell: ``[..., entry]`` to ``[..., cell]``."""
        return reduce_by_cell(entry_values, self.cell, self.n_cells)

    def select(self, entries: slice | NDArray[Any] = slice(None), **changed: Any) -> Self:
        """Return some of the entries, with the fields in `changed` replaced."""
        field_names = [
            name
            for name in ("cell", *self.speaker_fields, "errors", "trials")
            if name not in changed
        ]
        columns = {name: getattr(self, name)[..., entries] for name in field_names}
        selection: Self = replace(cast("Any", self), **columns, **changed)
        return selection

    def cell_range(self, start: int, stop: int) -> Self:
        """Return cells `start` to `stop`, the latter excluded."""
        entries = slice(*np.searchsorted(self.cell, [start, stop]).tolist())
        return self.select(entries, cell=self.cell[entries] - start, n_cells=stop - start)

    def operating_point(self, point_index: int) -> Self:
        """Return one operating point of those on the only leading axis."""
        trials = self.trials if self.trials.ndim == 1 else np.asarray(self.trials[point_index])
        return self.select(errors=self.errors[point_index], trials=trials)

    def excluding_cell(self, excluded_cells: NDArray[np.integer[Any]]) -> Self:
        """Return a copy without the errors and trials of one cell at each operating point."""
        is_excluded = self.cell == excluded_cells[:, None]
        columns = {
            name: np.where(is_excluded, 0, getattr(self, name)) for name in ("errors", "trials")
        }
        return self.select(**columns)


@dataclass(frozen=True, eq=False)
class ErrorsBySpeaker(_ClusterErrors):
    """Target trials of each cell by speaker.

    Attributes
    ----------
    cell : integer ndarray of shape (entry,)
        Rising, in [0, n_cells).
    speaker : integer ndarray of shape (entry,)
        Each at most once in a cell.
    errors, trials : ndarrays of shapes (..., entry), broadcasting against each other
        Trials rejected, and all of them.
    n_cells : int
    in_blocks : bool
        Whether speakers are blocks of many, each a random sample of its group.
    """

    speaker_fields = ("speaker",)

    cell: NDArray[np.integer[Any]]
    speaker: NDArray[np.integer[Any]]
    errors: NDArray[np.generic]
    trials: NDArray[np.generic]
    n_cells: int
    in_blocks: bool = False

    @property
    def has_unknown_speakers(self) -> NDArray[np.bool_]:
        """Whether some speakers of each cell are unknown, shape (cell,): always False."""
        return np.zeros(self.n_cells, dtype=np.bool_)

    @property
    def cell_speakers(self) -> tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]:
        """Cell and speaker of each entry."""
        return self.cell, self.speaker

    def sum_by_speaker(self, entry_values: NDArray[np.generic]) -> FloatArray:
        """Return the values unchanged, as each entry is one speaker's."""
        return np.asarray(entry_values, dtype=np.float64)

    @cached_property
    def n_speakers(self) -> IntArray:
        """Speakers of each cell, shape (cell,)."""
        return np.bincount(self.cell, minlength=self.n_cells)


@dataclass(frozen=True, eq=False)
class ErrorsByPair(_ClusterErrors):
    """Nontarget trials of each cell by unordered pair of speakers.

    Attributes
    ----------
    cell : integer ndarray of shape (entry,)
        Rising, in [0, n_cells).
    first_speaker, second_speaker : integer ndarrays of shape (entry,)
        The two speakers, the first below the second; each pair at most once in a cell. Both are
        equal for the trials of an enrolled speaker whose test speaker is unknown.
    errors, trials : ndarrays of shapes (..., entry), broadcasting against each other
        Trials accepted, and all of them, in either order of enrolment and test.
    n_cells : int
    in_blocks : bool
        As in `ErrorsBySpeaker`.
    """

    speaker_fields = ("first_speaker", "second_speaker")

    cell: NDArray[np.integer[Any]]
    first_speaker: NDArray[np.integer[Any]]
    second_speaker: NDArray[np.integer[Any]]
    errors: NDArray[np.generic]
    trials: NDArray[np.generic]
    n_cells: int
    in_blocks: bool = False

    def sum_by_speaker(self, entry_values: NDArray[np.generic]) -> FloatArray:
        """Return sums over the pairs of each speaker: ``[..., entry]`` to ``[..., member]``.

        Members are (cell, speaker), in rising order; see `cell_speakers`.
        """
        n_members = self.cell_speakers[0].size
        leading_shape = entry_values.shape[:-1]
        n_rows = int(np.prod(leading_shape))  # not -1, as there may be no entries
        contiguous = np.ascontiguousarray(entry_values, dtype=np.float64)
        rows = contiguous.reshape(n_rows, entry_values.shape[-1])
        sums = np.empty((n_rows, n_members))
        unknown_pairs = np.flatnonzero(self.is_unknown_pair)
        for i, row in enumerate(rows):
            amounts = row
            first_members, second_members = self._pair_members
            # errors are rare, so that most of their numbers are 0 and need not be added
            if np.count_nonzero(row) < row.size // _SPARSE_DIVISOR:
                nonzero = np.flatnonzero(row)
                amounts = row.take(nonzero)
                first_members = first_members.take(nonzero)
                second_members = second_members.take(nonzero)
            sums[i] = np.bincount(first_members, amounts, minlength=n_members)
            sums[i] += np.bincount(second_members, amounts, minlength=n_members)
            # a pair whose test speaker is unknown names its speaker twice, but counts once
            if unknown_pairs.size:
                twice_counted = self._pair_members[1].take(unknown_pairs)
                unknown_amounts = row.take(unknown_pairs)
                sums[i] -= np.bincount(twice_counted, unknown_amounts, minlength=n_members)
        return sums.reshape(*leading_shape, n_members)

    @cached_property
    def is_unknown_pair(self) -> NDArray[np.bool_]:
        """Whether the test speaker is unknown, shape (entry,)."""
        return np.asarray(self.first_speaker == self.second_speaker)

    @cached_property
    def has_unknown_speakers(self) -> NDArray[np.bool_]:
        """Whether some test speakers of each cell are unknown, shape (cell,)."""
        is_incomplete = np.zeros(self.n_cells, dtype=np.bool_)
        is_incomplete[self.cell[self.is_unknown_pair]] = True
        return is_incomplete

    @cached_property
    def cell_speakers(self) -> tuple[IntArray, IntArray]:
        """Cell and speaker of each member: each speaker once in each cell where it has pairs."""
        codes, _ = self._member_codes
        return codes // self._n_speaker_codes, codes % self._n_speaker_codes

    @cached_property
    def n_speakers(self) -> IntArray:
        """Speakers of each cell, shape (cell,)."""
        return np.bincount(self.cell_speakers[0], minlength=self.n_cells)

    @cached_property
    def n_pairs(self) -> IntArray:
        """Pairs of known speakers of each cell, shape (cell,)."""
        return np.bincount(self.cell[~self.is_unknown_pair], minlength=self.n_cells)

    @cached_property
    def _n_speaker_codes(self) -> int:
        return int(self.second_speaker.max(initial=0)) + 1

    @cached_property
    def _member_codes(self) -> tuple[IntArray, NDArray[np.integer[Any]]]:
        """Rising codes of the members, and the member of each entry's first and second speaker.

        The second array has shape (2 * entry,): all first speakers, then all second ones.
        """
        cell_offsets = self.cell.astype(np.int64) * self._n_speaker_codes
        codes = np.concatenate(
            (cell_offsets + self.first_speaker, cell_offsets + self.second_speaker)
        )
        return index_codes(codes, self.n_cells * self._n_speaker_codes)

    @cached_property
    def _pair_members(self) -> tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]:
        """Members that the first and the second speaker of each entry are, shapes (entry,)."""
        member_indices = self._member_codes[1]
        return member_indices[: self.cell.size], member_indices[self.cell.size :]


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


def sum_by_code(
    codes: NDArray[np.integer[Any]], size: int, *weights: IntArray
) -> tuple[IntArray, list[IntArray]]:
    """Return the codes below `size` that occur, rising, with their number or sums of weights.

    The second part holds one array for each of `weights`; without weights, one array of how often
    each code occurs. Four ways give the same answer; which is fastest depends on how many codes
    are possible and how many are there.

    Examples
    --------
    >>> distinct, (counts,) = sum_by_code(np.array([7, 2, 7]), 9)
    >>> distinct.tolist(), counts.tolist()
    ([2, 7], [1, 2])
    """
    if not weights and size <= _MAX_RANGE_PER_CODE * codes.size:
        counts = np.bincount(codes)
        used_codes = np.flatnonzero(counts)
        return used_codes, [counts[used_codes]]
    n_blocks = size >> _CODE_BLOCK_BITS
    max_range = _MAX_RANGE_PER_CODE * codes.size
    if not weights and n_blocks < min(max_range, _MAX_MARKED_CODES):
        # codes that occur lie near each other: only blocks of codes that occur are counted into
        blocks, block_indices = index_codes(codes >> _CODE_BLOCK_BITS, n_blocks + 1)
        if blocks.size << _CODE_BLOCK_BITS <= max_range:
            last_bits = (1 << _CODE_BLOCK_BITS) - 1
            block_codes = np.left_shift(block_indices, _CODE_BLOCK_BITS, dtype=np.int64)
            block_codes |= codes & last_bits
            counts = np.bincount(block_codes)
            used_codes = np.flatnonzero(counts)
            first_bits = blocks.take(used_codes >> _CODE_BLOCK_BITS) << _CODE_BLOCK_BITS
            return first_bits | used_codes & last_bits, [counts.take(used_codes)]
    if len(weights) == 1:
        bits = int(weights[0].sum()).bit_length()  # the sum of no single code is larger
        if bits <= _spare_bits(size):  # code and weight fit one number, which is sorted
            packed = np.left_shift(codes, bits, dtype=np.int64)
            packed |= weights[0]
            packed = _sum_packed(packed, bits)
            return packed >> bits, [packed & ((1 << bits) - 1)]
    if size <= 1 << 32:  # which is sorted in half the time
        codes = codes.astype(np.uint32)
    if not weights:
        distinct_codes, counts = count_distinct(codes)
        return distinct_codes.astype(np.int64), [counts]
    order = np.argsort(codes, kind="stable")
    rising = codes[order]
    starts = _run_starts(rising)
    return rising[starts].astype(np.int64), [
        np.add.reduceat(weight[order], starts) for weight in weights
    ]


def count_distinct(numbers: NDArray[_Number]) -> tuple[NDArray[_Number], IntArray]:
    """Return the numbers that occur, rising, and how often each does.

    They are sorted, as hashing takes ten times as long where most of them differ.

    Examples
    --------
    >>> [array.tolist() for array in count_distinct(np.array([0.5, 0.1, 0.5]))]
    [[0.1, 0.5], [1, 2]]
    """
    rising = np.sort(numbers)
    starts = _run_starts(rising)
    return rising[starts], np.diff(starts, append=rising.size)


def _spare_bits(size: int) -> int:
    """Return how many bits of an int64 are left beside a code below `size`."""
    return 63 - (size - 1).bit_length()


def _sum_packed(packed: IntArray, bits: int) -> IntArray:
    """Return each code that occurs, rising, with the sum of its weights in its last bits.

    The numbers given are codes with weights in their last `bits`; they are overwritten.
    """
    # stable, which is fastest here: the numbers are sorted tables one after the other
    packed.sort(kind="stable")
    starts = _run_starts(packed, bits)
    if starts.size == packed.size:
        return packed
    sums = packed.take(starts)
    packed &= (1 << bits) - 1
    # most codes occur once: differences of running sums take half the time of `reduceat`
    np.cumsum(packed, out=packed)
    sums -= packed.take(starts)
    sums[-1] += packed[-1]
    starts -= 1
    sums[:-1] += packed.take(starts[1:])
    return sums


def _run_starts(rising: NDArray[Any], bits: int = 0) -> NDArray[np.intp]:
    """Return where rising numbers differ from the one before, their last `bits` left aside."""
    is_first = np.ones(rising.size, dtype=np.bool_)
    for chunk_start in range(1, rising.size, _CHUNK_SIZE):
        numbers = rising[chunk_start - 1 : chunk_start + _CHUNK_SIZE]
        if bits:
            numbers = numbers >> bits
        chunk_is_first = is_first[chunk_start : chunk_start + _CHUNK_SIZE]
        np.not_equal(numbers[1:], numbers[:-1], out=chunk_is_first)
    return np.flatnonzero(is_first)


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
    >>> codes.tolist(), codec.decode([codes], 2, dtypes)["accepted"].tolist()
    ([18, 20], [1, -1])
    """

    def __init__(self, ranges: Mapping[str, tuple[int, int]]) -> None:
        self.lowest = {name: low for name, (low, _) in ranges.items()}
        self.bits = {name: (high - low).bit_length() for name, (low, high) in ranges.items()}
        self.width = sum(self.bits.values())

    @classmethod
    def from_tables(
        cls, tables: Sequence[Mapping[str, NDArray[Any]]], names: Iterable[str]
    ) -> RowCodec:
        """Return a codec for the rows of tables, at least one of which has rows."""
        ranges = {}
        for name in names:
            columns = [collapse_constant(table[name]) for table in tables if table[name].size]
            lowest = min(int(column.min()) for column in columns)
            highest = max(int(column.max()) for column in columns)
            ranges[name] = (lowest, highest)
        return cls(ranges)

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
        self, codes: Iterable[IntArray], n: int, dtypes: Mapping[str, np.dtype[Any]]
    ) -> dict[str, NDArray[Any]]:
        """Return columns of `n` numbers from chunks of codes.

        A column that does not vary is one number broadcast to `n` rows, which takes no memory.
        """
        decoded = {
            name: np.broadcast_to(dtypes[name].type(lowest), n)
            for name, lowest in self.lowest.items()
        }
        fields: list[tuple[NDArray[Any], int, int, int]] = []
        shift = self.width
        for name, bits in self.bits.items():
            shift -= bits
            if bits:
                decoded[name] = np.empty(n, dtype=dtypes[name])
                mask = (1 << bits) - 1 if fields else 0  # nothing is above the first
                fields.append((decoded[name], shift, mask, self.lowest[name]))
        n_decoded = 0
        for code_chunk in codes:
            for start in range(0, code_chunk.size, _CHUNK_SIZE):
                chunk_codes = code_chunk[start : start + _CHUNK_SIZE]
                rows = slice(n_decoded, n_decoded := n_decoded + chunk_codes.size)
                for column, field_shift, mask, lowest in fields:
                    numbers = chunk_codes >> field_shift if field_shift else chunk_codes
                    column[rows] = numbers & mask if mask else numbers
                    if lowest:
                        column[rows] += lowest
        return decoded


class CodeSums:
    """Sums by code of tables that are added one after the other.

    Arrays handed to `add` may be overwritten. Where code and sum fit one number, both are kept
    packed in it; else they are kept in two arrays.

    Examples
    --------
    >>> sums = CodeSums(9)
    >>> sums.add(np.array([7, 2, 7]))
    >>> sums.add(np.array([2, 3]), np.array([10, 20]))
    >>> sums.n_codes
    3
    >>> [array.tolist() for array in sums.total()]
    [[2, 3, 7], [11, 20, 2]]
    """

    def __init__(self, n_possible_codes: int) -> None:
        self.size = n_possible_codes
        self._bits = _spare_bits(n_possible_codes)
        self._max_sum = 0  # no sum is larger
        # packed: the sums so far in ranges of codes, each of which fits the processor's cache
        self._ranges: list[IntArray] = []
        # packed: tables that are not added up yet
        self._waiting: list[IntArray] = []
        # codes and sums in two arrays, where a sum may no longer fit the bits beside its code
        self._unpacked: list[tuple[IntArray, IntArray]] = []

    def add(self, codes: NDArray[np.integer[Any]], weights: IntArray | None = None) -> None:
        """Add codes, each as often as it occurs or with its weight."""
        if weights is None:
            codes, (weights,) = sum_by_code(codes, self.size)
        elif (codes[1:] <= codes[:-1]).any():
            codes, (weights,) = sum_by_code(codes, self.size, weights)
        self._max_sum += int(weights.max(initial=0))
        if self._unpacked or self._max_sum.bit_length() > self._bits:
            self._unpacked = [*self.ranges(), (codes.astype(np.int64, copy=False), weights)]
            return
        packed: IntArray = codes.astype(np.int64, copy=False)
        packed <<= self._bits
        packed |= weights
        self._waiting.append(packed)
        if needs_adding_up([sum(map(len, self._ranges)), *map(len, self._waiting)]):
            self._add_up()

    @property
    def n_codes(self) -> int:
        """How many codes occur."""
        self._add_up()
        return sum(map(len, self._ranges)) + sum(codes.size for codes, _ in self._unpacked)

    def ranges(self) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield codes that occur, rising, and the sum of each, a range at a time; once only."""
        self._add_up()
        while self._unpacked:
            yield self._unpacked.pop()
        while self._ranges:
            sums = self._ranges.pop(0)
            yield sums >> self._bits, sums & ((1 << self._bits) - 1)

    def total(self) -> tuple[IntArray, IntArray]:
        """Return the codes that occur, rising, and the sum of each; once only."""
        codes, sums = (np.empty(self.n_codes, dtype=np.int64) for _ in range(2))
        n_filled = 0
        for range_codes, range_sums in self.ranges():
            positions = slice(n_filled, n_filled := n_filled + range_codes.size)
            codes[positions], sums[positions] = range_codes, range_sums
        return codes, sums

    def _add_up(self) -> None:
        """Add the waiting tables to the sums so far."""
        if len(self._unpacked) > 1:
            codes, weights = map(np.concatenate, zip(*self._unpacked, strict=True))
            distinct_codes, (sums,) = sum_by_code(codes, self.size, weights)
            self._unpacked = [(distinct_codes, sums)]
        if not self._waiting:
            return
        n_waiting = sum(map(len, self._waiting))
        longest = max(self._waiting, key=len)
        # ranges are cut at even steps through the longest table, taken to be like the others
        bounds = longest[:: max(longest.size * _CODES_PER_RANGE // max(n_waiting, 1), 1)][1:]
        old_ranges = self._ranges or [longest[:0]] * (bounds.size + 1)
        if self._ranges:
            bounds = np.array([table[0] for table in old_ranges[1:]], dtype=np.int64)
        bounds = bounds >> self._bits << self._bits  # codes with weight 0: before any of theirs
        table_bounds = [
            [0, *np.searchsorted(table, bounds).tolist(), table.size] for table in self._waiting
        ]
        self._ranges = []
        for range_index in range(bounds.size + 1):
            pieces = [
                table[piece_bounds[range_index] : piece_bounds[range_index + 1]]
                for table, piece_bounds in zip(self._waiting, table_bounds, strict=True)
            ]
            packed = np.concatenate([old_ranges[range_index], *pieces])
            old_ranges[range_index] = longest[:0]  # gives its memory back
            packed = _sum_packed(packed, self._bits)
            self._ranges += [
                packed[start : start + _CODES_PER_RANGE]
                for start in range(0, packed.size, _CODES_PER_RANGE)
            ]
        self._waiting = []


def needs_adding_up(sizes: Sequence[int]) -> bool:
    """Whether enough rows wait to be added up; `sizes` are those of the sum so far and of tables.

    At least as many as the sum so far has: each row is then added up a few times only.
    """
    return sum(sizes[1:]) > max(_MAX_WAITING_ROWS, sizes[0])


def reduce_by_cell(
    entry_values: ArrayLike,
    cell: NDArray[np.integer[Any]],
    n_cells: int,
    reducer: np.ufunc = np.add,
    default: float = 0.0,
) -> FloatArray:
    """Return sums over the entries of each cell, or another reduction, such as ``np.maximum``.

    From values ``[..., entry]``, whose cells rise, to ``[..., cell]``; `default` without entries.

    Examples
    --------
    >>> reduce_by_cell([1, 2, 4], np.array([0, 0, 2]), 3).tolist()
    [3.0, 0.0, 4.0]
    """
    numbers = np.asarray(entry_values, dtype=np.float64)
    reduced = np.full((*numbers.shape[:-1], n_cells), default)
    if cell.size:
        starts = np.flatnonzero(np.concatenate(([True], cell[1:] != cell[:-1])))
        reduced[..., cell[starts]] = reducer.reduceat(numbers, starts, axis=-1)
    return reduced


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over the speakers, and pairs of speakers, of each cell, and variances from them.

    With r = errors - rate * trials, of one speaker's target trials or of one pair's nontarget
    trials; R_s is the sum of r, Q_s of r ** 2, N_s of trials over the pairs with speaker s. For
    target trials R_s is r and N_s the speaker's trials. All are of shape (..., cell); those of
    pairs are NaN for target trials.
    """

    speakers_per_trial: int
    """Speakers of a trial: 1 for target trials, 2 for nontarget ones."""
    in_blocks: bool
    """Speakers are blocks of many."""
    errors: FloatArray
    trials: FloatArray
    speakers: FloatArray
    squares: FloatArray
    """Sum over speakers of R_s ** 2."""
    fourths: FloatArray
    """Sum over speakers of R_s ** 4."""
    trial_squares: FloatArray
    """Sum over speakers of N_s ** 2."""
    deleted_squares: FloatArray
    """Sum over speakers of [R_s / (trials - N_s)] ** 2, by how much the rate falls without s."""
    largest_errors: FloatArray
    """Largest number of errors in which one speaker takes part."""
    has_common_speaker: NDArray[np.bool_]
    """One speaker takes part in every trial, so that other speakers cannot be compared."""
    pairs: FloatArray
    pair_squares: FloatArray
    """Sum over pairs of r ** 2."""
    pair_trial_squares: FloatArray
    """Sum over pairs of trials ** 2."""
    pair_deleted_squares: FloatArray
    """Sum over speakers of Q_s / [2 (trials - N_s) ** 2]."""

    @cached_property
    def rate(self) -> FloatArray:
        """Errors by trials, in [0, 1], lower is better; NaN without trials."""
        return safe_divide(self.errors, self.trials)

    @cached_property
    def variance_binomial(self) -> FloatArray:
        """V_B, as if trials were independent: R (1 - R) / N."""
        return safe_divide(self.rate * (1 - self.rate), self.trials)

    @cached_property
    def jackknife(self) -> FloatArray:
        """V_J, V_jk: each speaker left out in turn; NaN where `has_common_speaker`."""
        return np.where(
            self.has_common_speaker,
            np.nan,
            safe_divide(self.speakers - 1, self.speakers) * self.deleted_squares,
        )

    @cached_property
    def unbiased(self) -> FloatArray:
        """V_U of nontarget trials: unbiased for additive effects of speakers and pairs.

        In a balanced and complete design (docs/methods/uncertainty.md#residuals-and-variances). May
        be negative; NaN for fewer than 4 speakers and for target trials.
        """
        s = self.speakers
        scale = safe_divide((s - 2) * (s - 1), (s - 3) * s)
        return np.where(
            self.has_common_speaker,
            np.nan,
            scale * (self.deleted_squares - self.pair_deleted_squares),
        )

    @cached_property
    def robust(self) -> FloatArray:
        """Cluster-robust variance of target trials, dyadic-robust one of nontarget trials.

        docs/methods/uncertainty.md#residuals-and-variances, Fafchamps & Gubert (2007); for
        comparison. The second may be negative.
        """
        common = self.squares - (self.pair_squares if self.speakers_per_trial == 2 else 0)
        return safe_divide(self.speakers, self.speakers - 1) * safe_divide(common, self.trials**2)

    @cached_property
    def pair_variance(self) -> FloatArray:
        """W: variance by pairs beyond the binomial one; may be negative.

        See docs/methods/noise-floors.md#gamma-multinomial-draws.

        NaN for fewer than 2 pairs and for target trials.
        """
        clustered = safe_divide(self.pairs, self.pairs - 1) * safe_divide(
            self.pair_squares, self.trials**2
        )
        return clustered - self.variance_binomial

    @cached_property
    def speaker_concentration(self) -> FloatArray:
        """Sum over speakers of (N_s / N) ** 2.

        Of target trials it is the factor f of the pooled variance. Its inverse is the number of
        equally active speakers (times 4 for nontarget trials).
        """
        return safe_divide(self.trial_squares, self.trials**2)

    @cached_property
    def pair_concentration(self) -> FloatArray:
        """Sum over pairs of (trials of the pair / N) ** 2; NaN for target trials."""
        return safe_divide(self.pair_trial_squares, self.trials**2)

    @cached_property
    def kurtosis(self) -> FloatArray:
        """Excess kurtosis of R_s over speakers, at least 0; 0 if all are 0."""
        fourth = safe_divide(self.speakers * self.fourths, self.squares**2)
        return np.where(self.squares > 0, np.fmax(fourth - 3, 0), 0.0)

    @cached_property
    def df(self) -> FloatArray:
        """Degrees of freedom of the variance, at least 1; NaN for fewer than 2 speakers.

        Fewer than speakers - 1 where a few speakers have most of the trials or of the
        deviation (docs/methods/uncertainty.md#degrees-of-freedom).
        """
        by_trials = np.fmax(
            safe_divide((self.speakers_per_trial * self.trials) ** 2, self.trial_squares) - 1, 1
        )
        spread = self.kurtosis / np.fmax(self.speakers, 1) + safe_divide(2, self.speakers - 1)
        return np.minimum(by_trials, safe_divide(2, spread))

    @cached_property
    def variance(self) -> FloatArray:
        """V, never below the binomial; 0 without errors, or if all are errors.

        See docs/methods/uncertainty.md#residuals-and-variances.

        Target trials: the jackknife. Nontarget trials: `unbiased`, at least a share of the
        jackknife, `min_jackknife_share`; the whole jackknife for 3 speakers. NaN where one
        speaker takes part in every trial, so with 1 speaker, or with a single pair.
        """
        over_speakers = self.jackknife
        if self.speakers_per_trial == 2:
            min_share = min_jackknife_share(self.df, in_blocks=self.in_blocks)
            pair_variance = np.fmax(self.unbiased, min_share * self.jackknife)
            over_speakers = np.where(self.speakers > 3, pair_variance, self.jackknife)
        is_constant = (self.variance_binomial == 0) & ~self.has_common_speaker
        return np.where(is_constant, 0, np.maximum(over_speakers, self.variance_binomial))

    @cached_property
    def largest_share(self) -> FloatArray:
        """Share of the errors in which one speaker takes part, in [0, 1]; NaN without errors."""
        return safe_divide(self.largest_errors, self.errors)


def min_jackknife_share(df: FloatArray, *, in_blocks: bool) -> FloatArray:
    """Return the share of the jackknife's variance that the variance over pairs is never below.

    See docs/methods/uncertainty.md#residuals-and-variances. The unbiased variance of few, uneven
    speakers is too noisy to be taken alone: three quarters. Of blocks of speakers, which are even,
    it is steady; the more so, the nearer to one half, which is what it is of independent pairs.

    Parameters
    ----------
    df : ndarray
        Degrees of freedom of the variance; NaN counts as few.
    in_blocks : bool
        Whether speakers are blocks of many.

    Examples
    --------
    >>> min_jackknife_share(np.array([10.0, 20.0, 100.0]), in_blocks=True).tolist()
    [0.75, 0.5625, 0.5025]
    >>> min_jackknife_share(np.array([10.0, 20.0, 100.0]), in_blocks=False).tolist()
    [0.75, 0.75, 0.75]
    """
    if not in_blocks:
        return np.full(df.shape, 0.75)
    return np.asarray(0.5 + 0.25 * np.fmin(safe_divide(_STEADY_DF, df) ** 2, 1))


def moments(cluster_errors: ErrorsBySpeaker | ErrorsByPair) -> Moments:
    """Reduce each cell to the sums that intervals and noise floors rest on.

    Speakers without trials do not count; their names and the order of entries do not matter.

    Examples
    --------
    >>> errors, trials = np.array([1, 0, 6, 2]), np.array([50, 50, 40, 60])
    >>> found = moments(ErrorsBySpeaker(np.zeros(4, int), np.arange(4), errors, trials, 1))
    >>> found.rate.round(6).tolist(), found.robust.round(9).tolist()
    ([0.045], [0.000825167])
    """
    if cluster_errors.errors.ndim > 1 and cluster_errors.errors.size > _MAX_ERRORS_AT_ONCE:
        return moments_by_point(moments, cluster_errors)
    cell, n_cells = cluster_errors.cell_speakers[0], cluster_errors.n_cells
    errors_of_entry = np.asarray(cluster_errors.errors, np.float64)
    trials_of_entry = np.asarray(cluster_errors.trials, np.float64)
    errors = cluster_errors.sum_by_cell(errors_of_entry)
    trials = cluster_errors.sum_by_cell(trials_of_entry)
    # [..., member]: each speaker of each cell
    speaker_errors = cluster_errors.sum_by_speaker(errors_of_entry)
    speaker_trials = cluster_errors.sum_by_speaker(trials_of_entry)
    # Deviations times N are whole numbers, exact below 2**53: equal rates leave exactly 0.
    deviations = speaker_errors * trials[..., cell] - errors[..., cell] * speaker_trials
    residuals = safe_divide(deviations, trials[..., cell], 0)
    other_trials = trials_without_speaker(trials[..., cell], speaker_trials)
    speaker_sums = [
        reduce_by_cell(terms, cell, n_cells)
        for terms in (speaker_trials > 0, residuals**2, residuals**4, speaker_trials**2)
    ]
    deleted_squares = reduce_by_cell(safe_divide(residuals, other_trials, 0) ** 2, cell, n_cells)
    largest_errors = reduce_by_cell(speaker_errors, cell, n_cells, np.maximum)
    is_common_speaker = (other_trials == 0) & (speaker_trials > 0)
    has_common_speaker = reduce_by_cell(is_common_speaker, cell, n_cells, np.maximum) > 0
    pair_sums = [np.array(np.nan)] * 4
    if isinstance(cluster_errors, ErrorsByPair):
        # in place: there may be many more pairs than speakers
        cell_trials = trials.take(cluster_errors.cell, axis=-1)
        residual_products = errors.take(cluster_errors.cell, axis=-1)
        residual_products *= trials_of_entry
        np.subtract(errors_of_entry * cell_trials, residual_products, out=residual_products)
        squared_residuals = safe_divide(residual_products, cell_trials, 0)
        squared_residuals *= squared_residuals
        pair_terms = (trials_of_entry > 0, squared_residuals, trials_of_entry**2)
        pair_deleted = safe_divide(
            cluster_errors.sum_by_speaker(squared_residuals), 2 * other_trials**2, 0
        )
        pair_sums = [
            *map(cluster_errors.sum_by_cell, pair_terms),
            reduce_by_cell(pair_deleted, cell, n_cells),
        ]
    shape = np.broadcast_shapes(errors.shape, trials.shape)
    all_sums = (
        errors,
        trials,
        *speaker_sums,
        deleted_squares,
        largest_errors,
        has_common_speaker,
        *pair_sums,
    )
    speakers_per_trial = 2 if isinstance(cluster_errors, ErrorsByPair) else 1
    broadcast_sums = [np.broadcast_to(terms, shape) for terms in all_sums]
    return Moments(speakers_per_trial, cluster_errors.in_blocks, *broadcast_sums)


def moments_by_point(
    moments_of: Callable[[ErrorsBySpeaker | ErrorsByPair], Moments],
    cluster_errors: ErrorsBySpeaker | ErrorsByPair,
) -> Moments:
    """Return the moments of all operating points, each computed by itself to save memory."""
    shape = np.broadcast_shapes(cluster_errors.errors.shape, cluster_errors.trials.shape)
    n_points = int(np.prod(shape[:-1]))  # not -1, as there may be no entries
    point_errors = np.broadcast_to(cluster_errors.errors, shape).reshape(n_points, shape[-1])
    point_trials = np.broadcast_to(cluster_errors.trials, shape).reshape(n_points, shape[-1])
    _ = cluster_errors.cell_speakers  # computed once here: copies below keep this cached property
    point_moments = []
    for errors, trials in zip(point_errors, point_trials, strict=True):
        point = copy(cluster_errors)
        vars(point).update(errors=errors, trials=trials)
        point_moments.append(moments_of(point))
    sums: dict[str, Any] = {}
    for name in [moments_field.name for moments_field in fields(Moments)]:
        arrays = [getattr(one_point, name) for one_point in point_moments]
        if isinstance(arrays[0], np.ndarray):
            sums[name] = np.stack(arrays).reshape(*shape[:-1], cluster_errors.n_cells)
    return replace(point_moments[0], **sums)


def trials_without_speaker(total: FloatArray, speaker_trials: FloatArray) -> FloatArray:
    """Return the trials of a cell without those of one speaker."""
    other_trials = total - speaker_trials
    # weighted trials leave a rounding error where one speaker has all of them
    return np.where(other_trials > 1e-12 * total, other_trials, 0.0)


def safe_divide(a: ArrayLike, b: ArrayLike, otherwise: float = np.nan) -> FloatArray:
    """Return quotients where the divisor is greater than 0, and `otherwise` elsewhere."""
    numerator, denominator = np.asarray(a, np.float64), np.asarray(b, np.float64)
    quotients = np.full(np.broadcast(numerator, denominator).shape, otherwise, dtype=np.float64)
    np.divide(numerator, denominator, out=quotients, where=denominator > 0)
    return quotients
