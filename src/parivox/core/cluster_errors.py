"""Errors and trials by speaker, and what they tell of how sure a rate is.

Trials that share a speaker are dependent, so that speakers, not trials, are the sample
(docs/methods/uncertainty.md#why-speakers). Target trials are tallied by speaker, nontarget trials
by unordered pair of speakers, each within its cell (a group under one allocation);
`moments` reduces a tally to a few sums of the deviations by speaker and by pair
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

_DENSE = 1 << 25
"""Codes that are marked one by one; beyond, they are sorted."""
_FEW = 8
"""Codes for each that is counted one by one; where there are more, they are sorted."""
_NEAR = 9
"""Bits of a code that tell those of one block apart."""
_AT_ONCE = 2**22
"""Numbers of errors above which operating points are taken one by one, to save memory."""
_SPARSE = 4
"""Where fewer than one number in so many is not 0, those alone are added up."""
_BLOCK = 1 << 16
"""Numbers, so that all that is made of them stays near the processor."""
_RANGE = 1 << 19
"""Codes that are added up at once."""
_WAITING = 1 << 23
"""Rows of several tables that are kept before they are added up."""
_SURE = 10
"""Degrees of freedom of a variance above which blocks need less of the jackknife."""


class _ClusterErrors:
    """What tallies by speaker and by pair have in common."""

    speaker_fields: ClassVar[tuple[str, ...]]
    """Fields that name the speakers of an entry."""

    cell: NDArray[np.integer[Any]]
    errors: NDArray[np.generic]
    trials: NDArray[np.generic]
    n_cells: int
    in_blocks: bool

    def sum_by_cell(self, values: NDArray[np.generic]) -> FloatArray:
        """Sums over the entries of each cell: ``[..., entry]`` to ``[..., cell]``."""
        return reduce_by_cell(values, self.cell, self.n_cells)

    def select(self, entries: slice | NDArray[Any] = slice(None), **changed: Any) -> Self:
        """Some of the entries, with other fields as they are given."""
        names = [
            name
            for name in ("cell", *self.speaker_fields, "errors", "trials")
            if name not in changed
        ]
        kept = {name: getattr(self, name)[..., entries] for name in names}
        made: Self = replace(cast("Any", self), **kept, **changed)
        return made

    def cell_range(self, start: int, stop: int) -> Self:
        """Cells `start` to `stop`, the latter excluded."""
        here = slice(*np.searchsorted(self.cell, [start, stop]).tolist())
        return self.select(here, cell=self.cell[here] - start, n_cells=stop - start)

    def operating_point(self, point: int) -> Self:
        """One operating point of those on the only leading axis."""
        trials = self.trials if self.trials.ndim == 1 else np.asarray(self.trials[point])
        return self.select(errors=self.errors[point], trials=trials)

    def excluding_cell(self, cell: NDArray[np.integer[Any]]) -> Self:
        """Without the errors and trials of one cell, another one at each operating point."""
        gone = self.cell == cell[:, None]
        kept = {name: np.where(gone, 0, getattr(self, name)) for name in ("errors", "trials")}
        return self.select(**kept)


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
        """Whether some speakers of each cell are unknown, shape (cell,): none is."""
        return np.zeros(self.n_cells, dtype=np.bool_)

    @property
    def cell_speakers(self) -> tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]:
        """Cell and speaker of each entry."""
        return self.cell, self.speaker

    def sum_by_speaker(self, values: NDArray[np.generic]) -> FloatArray:
        """The values themselves: each entry is one speaker's."""
        return np.asarray(values, dtype=np.float64)

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
    one, other : integer ndarrays of shape (entry,)
        The two speakers, ``one < other``; each pair at most once in a cell. ``one == other`` stands
        for the trials of an enrolled speaker whose test speaker is unknown.
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

    def sum_by_speaker(self, values: NDArray[np.generic]) -> FloatArray:
        """Sums over the pairs with each speaker of a cell: ``[..., entry]`` to ``[..., member]``.

        Members are (cell, speaker), in rising order; see `members`.
        """
        n = self.cell_speakers[0].size
        lead = values.shape[:-1]
        rows = int(np.prod(lead))  # not -1, as there may be no entries
        flat = np.ascontiguousarray(values, dtype=np.float64).reshape(rows, values.shape[-1])
        found, twice = np.empty((rows, n)), np.flatnonzero(self.is_unknown_pair)
        for i, row in enumerate(flat):
            some, ends = row, self._ends
            if np.count_nonzero(row) < row.size // _SPARSE:
                used = np.flatnonzero(row)
                some, ends = row.take(used), (ends[0].take(used), ends[1].take(used))
            found[i] = np.bincount(ends[0], some, minlength=n)
            found[i] += np.bincount(ends[1], some, minlength=n)
            if twice.size:  # nobody is known on the other side
                found[i] -= np.bincount(self._ends[1].take(twice), row.take(twice), minlength=n)
        return found.reshape(*lead, n)

    @cached_property
    def is_unknown_pair(self) -> NDArray[np.bool_]:
        """Whether the test speaker is unknown, shape (entry,)."""
        return np.asarray(self.first_speaker == self.second_speaker)

    @cached_property
    def has_unknown_speakers(self) -> NDArray[np.bool_]:
        """Whether some test speakers of each cell are unknown, shape (cell,)."""
        found = np.zeros(self.n_cells, dtype=np.bool_)
        found[self.cell[self.is_unknown_pair]] = True
        return found

    @cached_property
    def cell_speakers(self) -> tuple[IntArray, IntArray]:
        """Cell and speaker of each member: who takes part in a pair of which cell."""
        codes, _ = self._coded
        return codes // self._span, codes % self._span

    @cached_property
    def n_speakers(self) -> IntArray:
        """Speakers of each cell, shape (cell,)."""
        return np.bincount(self.cell_speakers[0], minlength=self.n_cells)

    @cached_property
    def n_pairs(self) -> IntArray:
        """Pairs of known speakers of each cell, shape (cell,)."""
        return np.bincount(self.cell[~self.is_unknown_pair], minlength=self.n_cells)

    @cached_property
    def _span(self) -> int:
        return int(self.second_speaker.max(initial=0)) + 1

    @cached_property
    def _coded(self) -> tuple[IntArray, NDArray[np.integer[Any]]]:
        first = self.cell.astype(np.int64) * self._span
        ends = np.concatenate((first + self.first_speaker, first + self.second_speaker))
        return index_codes(ends, self.n_cells * self._span)

    @cached_property
    def _ends(self) -> tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]:
        where = self._coded[1]
        return where[: self.cell.size], where[self.cell.size :]


def index_codes(
    codes: NDArray[np.integer[Any]], size: int
) -> tuple[IntArray, NDArray[np.integer[Any]]]:
    """Codes below `size` that occur, rising, and the place of each code among them.

    Examples
    --------
    >>> distinct, place = index_codes(np.array([7, 2, 7]), 9)
    >>> distinct.tolist(), place.tolist()
    ([2, 7], [1, 0, 1])
    """
    if size > _DENSE:
        return np.unique(codes, return_inverse=True)
    occurs = np.zeros(size, dtype=np.bool_)
    occurs[codes] = True
    used = np.flatnonzero(occurs)
    number = np.empty(size, dtype=np.int32)
    number[used] = np.arange(used.size, dtype=np.int32)
    return used, number.take(codes)


def sum_by_code(
    codes: NDArray[np.integer[Any]], size: int, *weights: IntArray
) -> tuple[IntArray, list[IntArray]]:
    """Codes below `size` that occur, rising, and how often each does, or sums of weights of it.

    Examples
    --------
    >>> distinct, (n,) = sum_by_code(np.array([7, 2, 7]), 9)
    >>> distinct.tolist(), n.tolist()
    ([2, 7], [1, 2])
    """
    if not weights and size <= _FEW * codes.size:
        n = np.bincount(codes)
        used = np.flatnonzero(n)
        return used, [n[used]]
    if not weights and size >> _NEAR < min(_FEW * codes.size, _DENSE):
        # codes come together: blocks of them that occur are counted as wholes
        blocks, place = index_codes(codes >> _NEAR, (size >> _NEAR) + 1)
        if blocks.size << _NEAR <= _FEW * codes.size:
            at = np.left_shift(place, _NEAR, dtype=np.int64)
            at |= codes & ((1 << _NEAR) - 1)
            n = np.bincount(at)
            used = np.flatnonzero(n)
            return blocks.take(used >> _NEAR) << _NEAR | used & ((1 << _NEAR) - 1), [n.take(used)]
    if len(weights) == 1:
        bits = int(weights[0].sum()).bit_length()  # of no code is the sum larger
        if bits <= _room(size):  # sorted as one number
            packed = np.left_shift(codes, bits, dtype=np.int64)
            packed |= weights[0]
            packed = _added_up(packed, bits)
            return packed >> bits, [packed & ((1 << bits) - 1)]
    if size <= 1 << 32:  # which is sorted in half the time
        codes = codes.astype(np.uint32)
    if not weights:
        found, n = count_distinct(codes)
        return found.astype(np.int64), [n]
    order = np.argsort(codes, kind="stable")
    rising = codes[order]
    starts = _starts(rising)
    return rising[starts].astype(np.int64), [np.add.reduceat(one[order], starts) for one in weights]


def count_distinct(numbers: NDArray[_Number]) -> tuple[NDArray[_Number], IntArray]:
    """Numbers that occur, rising, and how often each does.

    By sorting, as hashing takes ten times as long where most of them differ.

    Examples
    --------
    >>> [one.tolist() for one in count_distinct(np.array([0.5, 0.1, 0.5]))]
    [[0.1, 0.5], [1, 2]]
    """
    rising = np.sort(numbers)
    starts = _starts(rising)
    return rising[starts], np.diff(starts, append=rising.size)


def _room(size: int) -> int:
    """Bits of a number that holds a code below `size` besides."""
    return 63 - (size - 1).bit_length()


def _added_up(packed: IntArray, bits: int) -> IntArray:
    """Of numbers whose last bits are weights: each code that occurs, rising, with the sum of it."""
    packed.sort(kind="stable")  # sums of sums come in runs
    starts = _starts(packed, bits)
    if starts.size == packed.size:
        return packed
    found = packed.take(starts)
    packed &= (1 << bits) - 1
    # most codes are there once: differences of running sums take half the time of `reduceat`
    np.cumsum(packed, out=packed)
    found -= packed.take(starts)
    found[-1] += packed[-1]
    starts -= 1
    found[:-1] += packed.take(starts[1:])
    return found


def _starts(rising: NDArray[Any], bits: int = 0) -> NDArray[np.intp]:
    """Where numbers that rise differ from the one before, but for their last bits."""
    is_first = np.ones(rising.size, dtype=np.bool_)
    for start in range(1, rising.size, _BLOCK):
        one = rising[start - 1 : start + _BLOCK]
        one = one >> bits if bits else one
        np.not_equal(one[1:], one[:-1], out=is_first[start : start + _BLOCK])
    return np.flatnonzero(is_first)


def collapse_constant(column: NDArray[Any]) -> NDArray[Any]:
    """The cells of a column, but one of them where it is known that all are the same."""
    return column[:1] if column.strides == (0,) else column


class RowCodec:
    """Bit fields of one number that tells rows of whole numbers apart, and orders them.

    Parameters
    ----------
    ranges
        The least and the largest number of each column, the first column first.

    Examples
    --------
    >>> fields = RowCodec({"step": (0, 5), "accepted": (-1, 1)})
    >>> codes = fields.encode({"step": np.array([4, 5]), "accepted": np.array([1, -1])})
    >>> kinds = dict.fromkeys(fields.bits, np.dtype(np.int8))
    >>> codes.tolist(), fields.decode([codes], 2, kinds)["accepted"].tolist()
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
        """The fields of tables of which some have rows."""
        every = {
            name: [collapse_constant(one[name]) for one in tables if one[name].size]
            for name in names
        }
        return cls(
            {
                name: (min(int(one.min()) for one in some), max(int(one.max()) for one in some))
                for name, some in every.items()
            }
        )

    def encode(self, columns: Mapping[str, NDArray[Any]]) -> IntArray:
        """One number for each row, below ``2 ** width``."""
        some = [(columns[name], self.lowest[name], n) for name, n in self.bits.items() if n]
        codes = np.zeros(next(columns[name].size for name in self.bits), dtype=np.int64)
        for start in range(0, codes.size, _BLOCK):
            here, part = slice(start, start + _BLOCK), codes[start : start + _BLOCK]
            for column, low, n in some:
                each = collapse_constant(column[here])
                part <<= n
                part |= each - low if low else each
        return codes

    def decode(
        self, codes: Iterable[IntArray], n: int, kinds: Mapping[str, np.dtype[Any]]
    ) -> dict[str, NDArray[Any]]:
        """Columns of `n` numbers, some at a time; one that does not vary takes no memory."""
        made = {
            name: np.broadcast_to(kinds[name].type(low), n) for name, low in self.lowest.items()
        }
        fields: list[tuple[NDArray[Any], int, int, int]] = []
        above = self.width
        for name, bits in self.bits.items():
            above -= bits
            if bits:
                made[name] = np.empty(n, dtype=kinds[name])
                mask = (1 << bits) - 1 if fields else 0  # nothing is above the first
                fields.append((made[name], above, mask, self.lowest[name]))
        at = 0
        for some in codes:
            for start in range(0, some.size, _BLOCK):
                part = some[start : start + _BLOCK]
                here = slice(at, at := at + part.size)
                for column, shift, mask, low in fields:
                    each = part >> shift if shift else part
                    column[here] = each & mask if mask else each
                    if low:
                        column[here] += low
        return made


class CodeSums:
    """Sums by code of tables that come in turn, which are lost.

    Examples
    --------
    >>> sums = CodeSums(9)
    >>> sums.add(np.array([7, 2, 7]))
    >>> sums.add(np.array([2, 3]), np.array([10, 20]))
    >>> sums.n_codes
    3
    >>> [one.tolist() for one in sums.total()]
    [[2, 3, 7], [11, 20, 2]]
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._bits = _room(size)
        self._most = 0  # no sum is larger
        # packed: the sum so far as ranges of codes, each of which stays near the processor, and
        # what waits
        self._ranges: list[IntArray] = []
        self._waiting: list[IntArray] = []
        # all of it, where sums have no room beside codes
        self._apart: list[tuple[IntArray, IntArray]] = []

    def add(self, codes: NDArray[np.integer[Any]], weights: IntArray | None = None) -> None:
        """Add codes, each as often as it is there or with its weight."""
        if weights is None or (codes[1:] <= codes[:-1]).any():
            codes, (weights,) = sum_by_code(
                codes, self.size, *([] if weights is None else [weights])
            )
        self._most += int(weights.max(initial=0))
        if self._apart or self._most.bit_length() > self._bits:
            self._apart = [*self.ranges(), (codes.astype(np.int64, copy=False), weights)]
            return
        whole: IntArray = codes.astype(np.int64, copy=False)
        whole <<= self._bits
        whole |= weights
        self._waiting.append(whole)
        if needs_adding_up([sum(map(len, self._ranges)), *map(len, self._waiting)]):
            self._add_up()

    @property
    def n_codes(self) -> int:
        """Codes that occur."""
        self._add_up()
        return sum(map(len, self._ranges)) + sum(one.size for one, _ in self._apart)

    def ranges(self) -> Iterator[tuple[IntArray, IntArray]]:
        """Codes that occur, rising, and the sum of each, so many at a time; once only."""
        self._add_up()
        while self._apart:
            yield self._apart.pop()
        while self._ranges:
            sums = self._ranges.pop(0)
            yield sums >> self._bits, sums & ((1 << self._bits) - 1)

    def total(self) -> tuple[IntArray, IntArray]:
        """Codes that occur, rising, and the sum of each; once only."""
        codes, sums = (np.empty(self.n_codes, dtype=np.int64) for _ in range(2))
        at = 0
        for some, their in self.ranges():
            here = slice(at, at := at + some.size)
            codes[here], sums[here] = some, their
        return codes, sums

    def _add_up(self) -> None:
        """Add what waits to the sum so far."""
        if len(self._apart) > 1:
            codes, weights = map(np.concatenate, zip(*self._apart, strict=True))
            found, (sums,) = sum_by_code(codes, self.size, weights)
            self._apart = [(found, sums)]
        if not self._waiting:
            return
        n, longest = sum(map(len, self._waiting)), max(self._waiting, key=len)
        cuts = longest[:: max(longest.size * _RANGE // max(n, 1), 1)][1:]
        before = self._ranges or [longest[:0]] * (cuts.size + 1)
        if self._ranges:
            cuts = np.array([one[0] for one in before[1:]], dtype=np.int64)
        cuts = cuts >> self._bits << self._bits
        ends = [[0, *np.searchsorted(one, cuts).tolist(), one.size] for one in self._waiting]
        self._ranges = []
        for k in range(cuts.size + 1):
            tables = [
                one[end[k] : end[k + 1]] for one, end in zip(self._waiting, ends, strict=True)
            ]
            packed = np.concatenate([before[k], *tables])
            before[k] = longest[:0]
            packed = _added_up(packed, self._bits)
            self._ranges += [
                packed[start : start + _RANGE] for start in range(0, packed.size, _RANGE)
            ]
        self._waiting = []


def needs_adding_up(sizes: Sequence[int]) -> bool:
    """Whether so many rows wait that they are added to the sum so far, the first."""
    return sum(sizes[1:]) > max(_WAITING, sizes[0])


def reduce_by_cell(
    values: ArrayLike,
    cell: NDArray[np.integer[Any]],
    n_cells: int,
    of: np.ufunc = np.add,
    empty: float = 0.0,
) -> FloatArray:
    """Sums over the entries of each cell, or what else joins them, such as ``np.maximum``.

    From values ``[..., entry]``, whose cells rise, to ``[..., cell]``; `empty` without entries.

    Examples
    --------
    >>> reduce_by_cell([1, 2, 4], np.array([0, 0, 2]), 3).tolist()
    [3.0, 0.0, 4.0]
    """
    entries = np.asarray(values, dtype=np.float64)
    found = np.full((*entries.shape[:-1], n_cells), empty)
    if cell.size:
        first = np.flatnonzero(np.concatenate(([True], cell[1:] != cell[:-1])))
        found[..., cell[first]] = of.reduceat(entries, first, axis=-1)
    return found


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over the speakers, and pairs of speakers, of each cell, and what they tell.

    With r = errors - rate * trials, of one speaker's target trials or of one pair's nontarget
    trials; R_s is the sum of r, Q_s of r ** 2, N_s of trials over the pairs with speaker s. For
    target trials R_s is r and N_s the speaker's trials. All are of shape (..., cell); those of
    pairs are NaN for target trials.
    """

    sides: int
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
    """One speaker takes part in every trial, so that nothing tells of other speakers."""
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
        """V_J, V_jk: each speaker left out in turn; NaN where `shared`."""
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
        common = self.squares - (self.pair_squares if self.sides == 2 else 0)
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
        """Sum over speakers of (N_s / N) ** 2; `f` of pooled variances of target trials.

        Its inverse is the number of equally active speakers (times 4 for nontarget trials).
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
        by_trials = np.fmax(safe_divide((self.sides * self.trials) ** 2, self.trial_squares) - 1, 1)
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
        if self.sides == 2:
            least = min_jackknife_share(self.df, in_blocks=self.in_blocks)
            blend = np.fmax(self.unbiased, least * self.jackknife)
            over_speakers = np.where(self.speakers > 3, blend, self.jackknife)
        alike = (self.variance_binomial == 0) & ~self.has_common_speaker
        return np.where(alike, 0, np.maximum(over_speakers, self.variance_binomial))

    @cached_property
    def largest_share(self) -> FloatArray:
        """Share of the errors in which one speaker takes part, in [0, 1]; NaN without errors."""
        return safe_divide(self.largest_errors, self.errors)


def min_jackknife_share(df: FloatArray, *, in_blocks: bool) -> FloatArray:
    """Share of the jackknife's variance that the variance over pairs is never below.

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
    return np.asarray(0.5 + 0.25 * np.fmin(safe_divide(_SURE, df) ** 2, 1))


def moments(tally: ErrorsBySpeaker | ErrorsByPair) -> Moments:
    """Reduce each cell to the sums that intervals and noise floors rest on.

    Speakers without trials do not count; their names and the order of entries do not matter.

    Examples
    --------
    >>> errors, trials = np.array([1, 0, 6, 2]), np.array([50, 50, 40, 60])
    >>> found = moments(ErrorsBySpeaker(np.zeros(4, int), np.arange(4), errors, trials, 1))
    >>> found.rate.round(6).tolist(), found.robust.round(9).tolist()
    ([0.045], [0.000825167])
    """
    if tally.errors.ndim > 1 and tally.errors.size > _AT_ONCE:
        return moments_by_point(moments, tally)
    cell, n_cells = tally.cell_speakers[0], tally.n_cells
    e, n = np.asarray(tally.errors, np.float64), np.asarray(tally.trials, np.float64)
    errors, trials = tally.sum_by_cell(e), tally.sum_by_cell(n)
    wrong, own = tally.sum_by_speaker(e), tally.sum_by_speaker(n)
    # Deviations times N are whole numbers, exact below 2**53: equal rates leave exactly 0.
    r = safe_divide(wrong * trials[..., cell] - errors[..., cell] * own, trials[..., cell], 0)
    left = trials_without_speaker(trials[..., cell], own)
    sums = [reduce_by_cell(each, cell, n_cells) for each in (own > 0, r**2, r**4, own**2)]
    deleted = reduce_by_cell(safe_divide(r, left, 0) ** 2, cell, n_cells)
    largest = reduce_by_cell(wrong, cell, n_cells, np.maximum)
    shared = reduce_by_cell((left == 0) & (own > 0), cell, n_cells, np.maximum) > 0
    of_pairs = [np.array(np.nan)] * 4
    if isinstance(tally, ErrorsByPair):
        whole = trials.take(tally.cell, axis=-1)
        scaled = errors.take(tally.cell, axis=-1)
        scaled *= n
        np.subtract(e * whole, scaled, out=scaled)
        squares = safe_divide(scaled, whole, 0)
        squares *= squares
        parts = (n > 0, squares, n**2)
        halves = safe_divide(tally.sum_by_speaker(squares), 2 * left**2, 0)
        of_pairs = [*map(tally.sum_by_cell, parts), reduce_by_cell(halves, cell, n_cells)]
    shape = np.broadcast_shapes(errors.shape, trials.shape)
    every = (errors, trials, *sums, deleted, largest, shared, *of_pairs)
    return Moments(
        2 if isinstance(tally, ErrorsByPair) else 1,
        tally.in_blocks,
        *(np.broadcast_to(each, shape) for each in every),
    )


def moments_by_point(
    of: Callable[[ErrorsBySpeaker | ErrorsByPair], Moments], tally: ErrorsBySpeaker | ErrorsByPair
) -> Moments:
    """Moments of each operating point by itself, put together."""
    shape = np.broadcast_shapes(tally.errors.shape, tally.trials.shape)
    both = (np.broadcast_to(x, shape) for x in (tally.errors, tally.trials))
    _ = tally.cell_speakers  # found once: copies keep what is cached of the layout
    found = []
    rows = int(np.prod(shape[:-1]))  # not -1, as there may be no entries
    for errors, trials in zip(*(x.reshape(rows, shape[-1]) for x in both), strict=True):
        point = copy(tally)
        vars(point).update(errors=errors, trials=trials)
        found.append(of(point))
    whole = (*shape[:-1], tally.n_cells)
    sums: dict[str, Any] = {
        one.name: np.stack([getattr(each, one.name) for each in found]).reshape(whole)
        for one in fields(Moments)
        if isinstance(getattr(found[0], one.name), np.ndarray)
    }
    return replace(found[0], **sums)


def trials_without_speaker(total: FloatArray, own: FloatArray) -> FloatArray:
    """Trials without those of one speaker; what rounding leaves of none, where weighted, is 0."""
    left = total - own
    return np.where(left > 1e-12 * total, left, 0.0)


def safe_divide(a: ArrayLike, b: ArrayLike, otherwise: float = np.nan) -> FloatArray:
    """Quotients where the divisor is greater than 0."""
    above, below = np.asarray(a, np.float64), np.asarray(b, np.float64)
    found = np.full(np.broadcast(above, below).shape, otherwise, dtype=np.float64)
    np.divide(above, below, out=found, where=below > 0)
    return found
