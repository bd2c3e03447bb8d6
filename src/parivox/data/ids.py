"""Ids of utterances or of models: numbered in rising order, in memory or, if many, on disk.

They are read in *runs* of so many that all are at hand: texts are numbered as they appear, chunk by
chunk. When all is read, each run is cut into ranges of ids, of which one at a time fits into
memory; there, the ids of all runs are put in order.
"""

from __future__ import annotations

import os
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from parivox.runtime.disk import ScratchFolder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from parivox.data.formats.format import Chunk

    Codes = NDArray[np.int32]
    Hashes: TypeAlias = tuple[NDArray[np.uint64], NDArray[np.uint64]]

RUN = 1 << 20
"""Ids of a run: the chunk that reaches so many is its last one."""
IN_MEMORY_IDS = 8_000_000
"""Ids held in memory: beyond so many, the runs go to disk."""
RANGE = 4_000_000
"""Ids merged at once, about."""
_SAMPLE = 256  # ids a range that its limits are chosen from
_SALT = tuple(int.from_bytes(os.urandom(8), "little") for _ in range(2))
_BLOCK = 1 << 16  # rows looked at together: what is made of them stays in the processor's cache
UNKNOWN = np.int32(-2)
"""The value of an id of which it is told that nobody knows it, unless another row does."""
_FIRST, _STIR = np.uint64(1), np.uint64(0x9E3779B97F4A7C15)
"""Hashes are multiplied by powers of an odd number, its bits spread evenly: 2**64 over the golden
ratio."""
_SPARSE = 2  # slots for each text, at least


class IdDictionary:
    """Few ids, numbered in the order in which they appear, over the chunks of a file."""

    def __init__(self) -> None:
        self._code: dict[str, int] = {}

    @property
    def size(self) -> int:
        """How many ids there are."""
        return len(self._code)

    def codes_of_speakers(self, chunk: Chunk, role: str) -> Codes:
        """Codes of a column of speakers, shape (row,); an empty cell is the id of nobody."""
        return self.learn(chunk[role].cast(pl.String).fill_null(""))[0]

    def codes(self, chunk: Chunk, role: str) -> Codes:
        """Codes of one column, shape (row,); its empty cells are an error."""
        codes, fresh = self.learn(_texts(chunk, role))
        if "" in fresh:
            chunk.refuse(codes == self._code[""], role)
        return codes

    def learn(self, text: pl.Series) -> tuple[Codes, list[str]]:
        """Code of each text without blanks around it, and the texts that were not known before."""
        place, distinct = _plain(*_numbered(text))
        first = np.empty(len(distinct), dtype=np.int32)
        first[place[::-1]] = np.arange(place.size, dtype=np.int32)[::-1]
        ids = distinct.to_list()
        fresh = [ids[i] for i in np.argsort(first).tolist() if ids[i] not in self._code]
        self._code |= {one: code for code, one in enumerate(fresh, self.size)}
        return np.array([self._code[one] for one in ids], dtype=np.int32)[place], fresh

    def sorted(self) -> tuple[pl.Series, Codes]:
        """Ids in rising order, and the place of each code among them."""
        ids = pl.Series([*self._code], dtype=pl.String)
        order = ids.arg_sort().to_numpy()
        place = np.empty(order.size, dtype=np.int32)
        place[order] = np.arange(order.size, dtype=np.int32)
        return ids.gather(order), place


class IdCollector:
    """Ids as they are read."""

    def __init__(self) -> None:
        self._open = NumberedTexts()  # of the run that is being read
        self._named = np.empty(0, dtype=np.int32)  # the value of each of its texts
        self._runs: list[pl.Series | None] = []
        self._sizes: list[int] = []
        self._sample: list[str] = []  # of each run
        self._values: dict[int, Codes] = {}  # of the texts of a run, where there are any
        self._folder: ScratchFolder | None = None

    def read(self, chunk: Chunk, *roles: str) -> list[Codes]:
        """Read the ids in some columns; give the number of the text of each row in the run."""
        columns = [_texts(chunk, role).alias("id") for role in roles]
        numbers, fresh = self._open.read(pl.concat(columns) if len(columns) > 1 else columns[0])
        if (fresh.str.strip_chars() == "").any():
            for role in roles:
                chunk.ids(role)
        return np.split(numbers, len(columns))

    @property
    def is_full(self) -> bool:
        """Whether the run that is being read has as many ids as one may have."""
        return self._open.size >= RUN

    def end_run(self) -> None:
        """End the run that is being read, so that the next ids begin another one."""
        if not self._open.size:
            return
        texts, values = self._open.texts, self.values
        self._open, self._named = NumberedTexts(), np.empty(0, dtype=np.int32)
        self.add(texts)
        if (values != -1).any():
            self._values[self.runs - 1] = self._kept(f"values-{self.runs - 1}", values)

    def add(self, texts: pl.Series) -> None:
        """Add a run of ids, in any order; blanks around them do not count."""
        self._runs.append(texts.str.strip_chars())
        self._sizes.append(len(texts))
        size = -(-len(texts) * _SAMPLE // RANGE)
        # as a list, since a series would hold the texts of the whole run
        self._sample += texts.sample(size, with_replacement=True, seed=self.runs).to_list()
        if self._folder is None and sum(self._sizes) > IN_MEMORY_IDS:
            self._folder = ScratchFolder()
        if self._folder is not None:
            for number, run in enumerate(self._runs):
                if run is not None:
                    _write_ids(run, self._folder, f"run-{number}")
                    self._runs[number] = None

    @property
    def runs(self) -> int:
        """How many runs there are, without the one that is being read."""
        return len(self._runs)

    @property
    def values(self) -> Codes:
        """The value of each text of the run that is being read: to be filled in.

        -1 for none, `UNKNOWN` where it is told to be unknown.
        """
        if self._named.size < self._open.size:
            rest = np.full(self._open.size - self._named.size, -1, dtype=np.int32)
            self._named = np.concatenate((self._named, rest))
        return self._named

    def _kept(self, name: str, codes: Codes) -> Codes:
        """Codes of a run: on disk once its ids are there."""
        if self._folder is None or not codes.size:
            return codes
        with self._folder.file_to_write(f"{name}.npy") as path:
            np.save(path, codes)
        return np.asarray(np.load(path, mmap_mode="r+"))

    def merge(self) -> MergedIds:
        """Put the ids of all runs in order, a range after the other; none can be added then."""
        limits = self._limits()
        scattered = [self._scatter(number, limits) for number in range(self.runs)]
        # zeros are written, lest a full disk kill what fills the map
        places = [
            self._kept(f"places-{number}", np.zeros(size, dtype=np.int32))
            for number, size in enumerate(self._sizes)
        ]
        folder = None if self._folder is None else ScratchFolder()  # that outlives the runs
        parts: list[pl.Series | Path] = []
        lengths, start = [], 0
        for k in range(len(limits) + 1):
            slices = [self._slice(number, k) for number in range(self.runs)]
            codes, ids = _numbered(pl.concat(slices))
            codes += np.int32(start)
            ends = np.cumsum([*map(len, slices)])[:-1]
            for place, (order, cuts), here in zip(
                places, scattered, np.split(codes, ends), strict=True
            ):
                place[order[cuts[k] : cuts[k + 1]]] = here
            lengths.append(len(ids))
            start += len(ids)
            parts.append(ids if folder is None else _write_ids(ids, folder, f"part-{k}"))
        values, clash = np.full(start, -1, dtype=np.int32), False
        for number, own in self._values.items():
            clash = _set_values(values, places[number], own) or clash
        folders = [] if folder is None else [folder]
        return MergedIds(parts, lengths, places, values, folders, clash=clash)

    def _limits(self) -> pl.Series:
        """Ids that part the ranges, chosen so that these are of about one size."""
        if self._folder is None:
            return pl.Series("id", [], dtype=pl.String)
        n = -(-sum(self._sizes) // RANGE)
        sample = pl.Series("id", self._sample, dtype=pl.String).sort()
        return sample.gather([len(sample) * k // n for k in range(1, n)]).unique().sort()

    def _scatter(self, number: int, limits: pl.Series) -> tuple[Codes, list[int]]:
        """Cut a run into its ranges: which text is where then, and where each range begins."""
        if self._folder is None:
            size = self._sizes[number]
            return np.arange(size, dtype=np.int32), [0, size]
        ids = _read_ids(self._folder / f"run-{number}")
        home = limits.search_sorted(ids, side="right").to_numpy().astype(np.uint16)
        order = np.argsort(home, kind="stable").astype(np.int32)  # which is fast
        ids = ids.gather(order)
        cuts = [0, *np.cumsum(np.bincount(home, minlength=len(limits) + 1)).tolist()]
        for k, (start, end) in enumerate(pairwise(cuts)):
            _write_ids(ids[start:end], self._folder, f"slice-{number}-{k}")
        (self._folder / f"run-{number}").unlink()
        return self._kept(f"order-{number}", order), cuts

    def _slice(self, number: int, k: int) -> pl.Series:
        """One range of one run, which is then gone."""
        ids, self._runs[number] = self._runs[number], None
        if ids is not None:
            return ids
        assert self._folder is not None
        path = self._folder / f"slice-{number}-{k}"
        ids = _read_ids(path)
        path.unlink()
        return ids


def _set_values(value: Codes, at: Codes, own: Codes) -> bool:
    """Note the values of some ids; tell whether one of them has another one already."""
    unknown = at[own == UNKNOWN]
    value[unknown[value[unknown] < 0]] = UNKNOWN
    known = own >= 0
    at, own = at[known], own[known]
    first = value[at] < 0
    value[at[first]] = own[first]
    return bool((value[at] != own).any())


class MergedIds:
    """All ids in rising order, each once."""

    def __init__(
        self,
        parts: Sequence[pl.Series | Path],
        lengths: Sequence[int],
        places: Sequence[Codes],
        values: Codes,
        folders: Sequence[ScratchFolder],
        *,
        clash: bool = False,
    ) -> None:
        self._parts, self._lengths, self._folders = parts, lengths, folders
        self._starts = np.cumsum([0, *lengths])
        self.run_positions = places  # of each run, the place of each of its texts among all
        # what was kept for each id, -1 for nothing, `UNKNOWN` where that is told to be unknown
        self.values = values
        self.has_clash = clash  # whether two things were kept for one of them

    def __len__(self) -> int:
        return int(self._starts[-1])

    def __getitem__(self, at: int) -> str:
        part = int(np.searchsorted(self._starts, at, side="right")) - 1
        return str(self._part(part)[int(at - self._starts[part])])

    def __iter__(self) -> Iterator[str]:
        for _, ids in self.chunks():
            yield from ids.to_list()

    def __add__(self, other: MergedIds) -> MergedIds:
        """These ids and, after them, others that count on their own."""
        return MergedIds(
            [*self._parts, *other._parts],
            [*self._lengths, *other._lengths],
            [],
            np.concatenate((self.values, other.values)),
            [*self._folders, *other._folders],
        )

    def forget_runs(self) -> None:
        """Let go of what is known of the runs."""
        self.run_positions = []

    def chunks(self) -> Iterator[tuple[int, pl.Series]]:
        """The ids in pieces, each with the place of its first."""
        for k, start in enumerate(self._starts[:-1].tolist()):
            yield start, self._part(k)

    def series(self) -> pl.Series:
        """All ids at once."""
        return pl.concat([ids for _, ids in self.chunks()])

    def positions(self, wanted: pl.Series) -> Codes:
        """Place of each of some ids, -1 where it is not among these."""
        found = np.full(len(wanted), -1, dtype=np.int32)
        for start, ids in self.chunks():
            here = places_in(wanted, ids)
            found = np.where(here >= 0, here + np.int32(start), found)
        return found

    def _part(self, number: int) -> pl.Series:
        part = self._parts[number]
        return part if isinstance(part, pl.Series) else _read_ids(part)


def _write_ids(ids: pl.Series, folder: ScratchFolder, name: str) -> Path:
    with folder.file_to_write(name) as path:
        ids.to_frame("id").write_ipc(path, compression="lz4")
    return path


def _read_ids(path: Path) -> pl.Series:
    # by its bytes, since a file that is mapped into memory cannot be removed everywhere
    return pl.read_ipc(path.read_bytes())["id"]


def places_in(wanted: pl.Series, among: pl.Series) -> Codes:
    """Place of each text among distinct others, -1 where it is not there."""
    listed = pl.DataFrame({"id": among, "place": np.arange(len(among), dtype=np.int32)})
    found = pl.DataFrame({"id": wanted}).join(listed, on="id", how="left", maintain_order="left")
    return found["place"].fill_null(-1).to_numpy().astype(np.int32)


def _numbered(text: pl.Series) -> tuple[Codes, pl.Series]:
    """The place of each text among the distinct ones, and these in rising order."""
    if not len(text):
        return np.empty(0, dtype=np.int32), text
    texts = NumberedTexts()
    numbers, _ = texts.read(text)
    place, distinct = texts.in_order()
    return place.take(numbers), distinct


def _plain(codes: Codes, texts: pl.Series) -> tuple[Codes, pl.Series]:
    """The places among ids in rising order, which have no blanks around them."""
    plain = texts.str.strip_chars()
    if (plain == texts).all():
        return codes, texts
    place, ids = _numbered(plain)
    return place.take(codes), ids


class NumberedTexts:
    """Texts numbered in the order in which they appear, over the chunks of a run.

    They are told apart by two hashes of 64 bits, salted anew in each process: that two of a
    thousand million differing ids share both has a probability below 1e-20.
    """

    def __init__(self) -> None:
        self._each: list[pl.Series] = []
        self._hashes: Hashes = (np.empty(0, dtype=np.uint64),) * 2
        self._table = np.empty(0, dtype=np.int32)  # number of the text in each slot, -1 for none
        self._entered = 0  # so many of the texts are there

    @property
    def size(self) -> int:
        """How many texts there are."""
        return self._hashes[0].size

    @property
    def texts(self) -> pl.Series:
        """All texts in the order of their numbers."""
        return pl.concat(self._each)

    def in_order(self) -> tuple[Codes, pl.Series]:
        """The place of each text by its number, and all texts in rising order."""
        texts = self.texts.sort(multithreaded=False)  # several threads take half as much again
        place = np.empty(self.size, dtype=np.int32)
        # to find each again is faster than the order that sorts them
        place[self.find(texts)] = np.arange(self.size, dtype=np.int32)
        return place, texts

    def read(self, text: pl.Series) -> tuple[Codes, pl.Series]:
        """Number of each text, and the texts that were not known before."""
        hashes = _hashes(text)
        numbers = self._found(hashes)
        unknown = np.flatnonzero(numbers < 0)
        if not unknown.size:
            return numbers, text[:0]
        hashes = _taken(hashes, unknown)
        alike = _one_of_each(hashes)
        first = np.flatnonzero(alike == np.arange(alike.size, dtype=np.int32))
        number = np.empty(alike.size, dtype=np.int32)
        number[first] = np.arange(self.size, self.size + first.size, dtype=np.int32)
        numbers[unknown] = number.take(alike)
        fresh = text.gather(unknown.take(first))
        self._each.append(fresh)
        one, other = _taken(hashes, first)
        self._hashes = np.append(self._hashes[0], one), np.append(self._hashes[1], other)
        return numbers, fresh

    def find(self, text: pl.Series) -> Codes:
        """Number of each text, -1 for those that are not known."""
        return self._found(_hashes(text))

    def _found(self, hashes: Hashes) -> Codes:
        self._enter()
        numbers = np.full(hashes[0].size, -1, dtype=np.int32)
        for start in range(0, numbers.size if self.size else 0, _BLOCK):
            some = slice(start, start + _BLOCK)
            here, mine = numbers[some], (hashes[0][some], hashes[1][some])
            left, stir = np.arange(here.size), _FIRST
            while left.size:
                found = self._table.take(_slots(mine[0], stir, self._table))
                here[left] = found
                again = np.flatnonzero(_differ(_taken(self._hashes, found), mine) & (found >= 0))
                left, mine, stir = left.take(again), _taken(mine, again), _stirred(stir)
        return numbers

    def _enter(self) -> None:
        """Enter the texts that are not in the table yet, or all of them in a larger one."""
        if self._table.size < _SPARSE * self.size:
            self._table = np.full(1 << (_SPARSE * self.size).bit_length(), -1, dtype=np.int32)
            self._entered = 0
        left, stir = np.arange(self._entered, self.size, dtype=np.int32), _FIRST
        while left.size:
            slot = _slots(self._hashes[0].take(left), stir, self._table)
            is_free = self._table.take(slot) < 0
            self._table[slot[is_free]] = left[is_free]
            left = left[self._table.take(slot) != left]  # one of those in a slot has stayed
            stir = _stirred(stir)
        self._entered = self.size


def _one_of_each(hashes: Hashes) -> Codes:
    """One row that has each row's text, the same for the same text."""
    n = hashes[0].size
    table = np.empty(max(1 << n.bit_length(), 1 << 10), dtype=np.int32)
    of_each, left, stir = np.empty(n, dtype=np.int32), np.arange(n, dtype=np.int32), _FIRST
    while left.size:
        blocks = [slice(start, start + _BLOCK) for start in range(0, left.size, _BLOCK)]
        for some in blocks:
            slot = _slots(hashes[0][some], stir, table)
            table[slot] = np.arange(some.start, some.start + slot.size, dtype=np.int32)
        again = []
        for some in blocks:  # one of those in a slot has stayed
            mine = hashes[0][some], hashes[1][some]
            found = table.take(_slots(mine[0], stir, table))
            of_each[left[some]] = left.take(found)
            again.append(some.start + np.flatnonzero(_differ(_taken(hashes, found), mine)))
        rest = np.concatenate(again)
        left, hashes, stir = left.take(rest), _taken(hashes, rest), _stirred(stir)
    return of_each


def _hashes(text: pl.Series) -> Hashes:
    one, other = (text.hash(seed).to_numpy() for seed in _SALT)
    return one, other


def _taken(hashes: Hashes, rows: NDArray[np.integer[Any]]) -> Hashes:
    return hashes[0].take(rows), hashes[1].take(rows)


def _differ(some: Hashes, others: Hashes) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = some[0] != others[0]
    found |= some[1] != others[1]
    return found


def _slots(hashes: NDArray[np.uint64], stir: np.uint64, table: Codes) -> NDArray[np.int64]:
    """Where in a table each text is sought, in the turn of a `stir`."""
    slots = hashes * stir
    slots >>= np.uint64(65 - table.size.bit_length())
    return slots.view(np.int64)


def _stirred(stir: np.uint64) -> np.uint64:
    with np.errstate(over="ignore"):  # which is meant to happen
        return stir * _STIR


def _texts(chunk: Chunk, role: str) -> pl.Series:
    """A column of ids as text; an empty cell is an error."""
    text = chunk[role].cast(pl.String)
    if text.null_count():
        chunk.refuse(text.is_null(), role)
    return text
