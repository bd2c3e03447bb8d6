"""Ids of utterances or of models: numbered in rising order, in memory or, if many, on disk.

They are read in *runs* of so many that all are at hand: texts are numbered as they appear, chunk by
chunk. At the end of a run, its distinct ids are put in order; when all is read, the runs are
merged, in ranges of ids that fit into memory one at a time.
"""

from __future__ import annotations

import os
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from parivox.disk import Scratch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from parivox.read.formats.format import Chunk

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
_FIRST, _STIR = np.uint64(1), np.uint64(0x9E3779B97F4A7C15)
"""Hashes are multiplied by powers of an odd number, its bits spread evenly: 2**64 over the golden
ratio."""
_SPARSE = 2  # slots for each text, at least


class Dictionary:
    """Few ids, numbered in the order in which they appear, over the chunks of a file."""

    def __init__(self) -> None:
        self._code: dict[str, int] = {}

    @property
    def size(self) -> int:
        """How many ids there are."""
        return len(self._code)

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


class Ids:
    """Ids as they are read."""

    def __init__(self) -> None:
        self._open = Texts()  # of the run that is being read
        self._named = np.empty(0, dtype=np.int32)  # the value of each of its texts
        self._runs: list[pl.Series | None] = []
        self._sizes: list[int] = []
        # of a run, the place of each text among its ids, and values; later, among all ids
        self._kept: dict[str, Codes] = {}
        self._folder: Scratch | None = None

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
        place, ids = _plain(*self._open.in_order())
        values, self._named = self.values, np.empty(0, dtype=np.int32)
        self._open = Texts()
        self.add(ids)
        run = self.runs - 1
        self._keep(f"place-{run}", place)
        if (values >= 0).any():
            self._keep(f"values-{run}", values)

    def add(self, ids: pl.Series) -> None:
        """Add a run of distinct ids in rising order."""
        self._runs.append(ids)
        self._sizes.append(len(ids))
        if self._folder is None and sum(self._sizes) > IN_MEMORY_IDS:
            self._folder = Scratch()
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
        """The value of each text of the run that is being read, -1 for none: to be filled in."""
        if self._named.size < self._open.size:
            rest = np.full(self._open.size - self._named.size, -1, dtype=np.int32)
            self._named = np.concatenate((self._named, rest))
        return self._named

    def _keep(self, name: str, codes: Codes) -> Codes:
        """Keep codes of a run: on disk once its ids are there."""
        if self._folder is not None:
            with self._folder.writing(f"{name}.npy") as path:
                np.save(path, codes)
            codes = np.load(path, mmap_mode="r")
        self._kept[name] = codes
        return codes

    def _run(self, number: int) -> pl.Series:
        ids = self._runs[number]
        if ids is None:
            assert self._folder is not None
            return _read_ids(self._folder / f"run-{number}")
        return ids

    def merge(self) -> MergedIds:
        """Merge all runs, a range of ids after the other; none can be added after that."""
        limits = self._limits()
        cuts = [self._cut_run(number, limits) for number in range(self.runs)]
        places = [self._new_places(number) for number in range(self.runs)]
        folder = None if self._folder is None else Scratch()  # that outlives the runs
        parts: list[pl.Series | Path] = []
        lengths, start = [], 0
        for k in range(len(limits) + 1):
            slices = [self._slice(number, k) for number in range(self.runs)]
            if len(slices) == 1:  # which is in order
                codes, ids = np.arange(len(slices[0]), dtype=np.int32), slices[0]
            else:
                codes, ids = _numbered(pl.concat(slices))
            for number, here in enumerate(np.split(codes, np.cumsum([*map(len, slices)])[:-1])):
                low, high = cuts[number][k : k + 2]
                places[number][low:high] = here + np.int32(start)
            lengths.append(len(ids))
            start += len(ids)
            if folder is None:
                parts.append(ids)
            else:
                parts.append(_write_ids(ids, folder, f"part-{k}"))
        values, clash = np.full(start, -1, dtype=np.int32), False
        for number in range(self.runs):
            of_text = self._kept.get(f"place-{number}")
            if of_text is not None:
                places[number] = self._keep(f"texts-{number}", places[number].take(of_text))
            own = self._kept.get(f"values-{number}")
            if own is not None:
                clash = _set_values(values, places[number], own) or clash
        folders = [] if folder is None else [folder]
        return MergedIds(parts, lengths, places, values, folders, clash=clash)

    def _limits(self) -> pl.Series:
        """Ids that part the ranges, chosen so that these are of about one size."""
        if self._folder is None:
            return pl.Series("id", [], dtype=pl.String)
        total = sum(self._sizes)
        n = -(-total // RANGE)
        step = max(total // (n * _SAMPLE), 1)
        sample = pl.concat([self._run(i).gather_every(step) for i in range(self.runs)]).sort()
        return sample.gather([len(sample) * k // n for k in range(1, n)]).unique().sort()

    def _cut_run(self, number: int, limits: pl.Series) -> list[int]:
        """Where the ranges of a run begin, and where the last one ends."""
        if self._folder is None:
            return [0, self._sizes[number]]
        ids = self._run(number)
        cuts = [0, *ids.search_sorted(limits, side="left").to_list(), len(ids)]
        for k, (start, end) in enumerate(pairwise(cuts)):
            _write_ids(ids[start:end], self._folder, f"slice-{number}-{k}")
        (self._folder / f"run-{number}").unlink()
        return cuts

    def _slice(self, number: int, k: int) -> pl.Series:
        """One range of one run, which is then gone."""
        if self._folder is None:
            ids, self._runs[number] = self._run(number), None
            return ids
        path = self._folder / f"slice-{number}-{k}"
        ids = _read_ids(path)
        path.unlink()
        return ids

    def _new_places(self, number: int) -> Codes:
        """Room for the place of each id of a run."""
        size = self._sizes[number]
        if self._folder is None or not size:
            return np.empty(size, dtype=np.int32)
        with self._folder.writing(f"places-{number}.npy") as path:
            np.save(
                path, np.zeros(size, dtype=np.int32)
            )  # lest a full disk kill what fills the map
        return np.asarray(np.load(path, mmap_mode="r+"))


def _set_values(value: Codes, at: Codes, own: Codes) -> bool:
    """Note the values of some ids; tell whether one of them has another one already."""
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
        folders: Sequence[Scratch],
        *,
        clash: bool = False,
    ) -> None:
        self._parts, self._lengths, self._folders = parts, lengths, folders
        self._starts = np.cumsum([0, *lengths])
        self.places = places  # of each run, the place of each of its texts among all
        self.values = values  # what was kept for each id, -1 for nothing
        self.clash = clash  # whether two things were kept for one of them

    def __len__(self) -> int:
        return int(self._starts[-1])

    def __getitem__(self, at: int) -> str:
        part = int(np.searchsorted(self._starts, at, side="right")) - 1
        return str(self._part(part)[int(at - self._starts[part])])

    def __iter__(self) -> Iterator[str]:
        for _, ids in self.parts():
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
        self.places = []

    def parts(self) -> Iterator[tuple[int, pl.Series]]:
        """The ids in pieces, each with the place of its first."""
        for k, start in enumerate(self._starts[:-1].tolist()):
            yield start, self._part(k)

    def series(self) -> pl.Series:
        """All ids at once."""
        return pl.concat([ids for _, ids in self.parts()])

    def where(self, wanted: pl.Series) -> Codes:
        """Place of each of some ids, -1 where it is not among these."""
        found = np.full(len(wanted), -1, dtype=np.int32)
        for start, ids in self.parts():
            here = places_in(wanted, ids)
            found = np.where(here >= 0, here + np.int32(start), found)
        return found

    def _part(self, number: int) -> pl.Series:
        part = self._parts[number]
        return part if isinstance(part, pl.Series) else _read_ids(part)


def _write_ids(ids: pl.Series, folder: Scratch, name: str) -> Path:
    with folder.writing(name) as path:
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
    texts = Texts()
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


class Texts:
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

    def in_order(self) -> tuple[Codes, pl.Series]:
        """The place of each text by its number, and all texts in rising order."""
        texts = pl.concat(self._each).sort()
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
