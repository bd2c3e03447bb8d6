"""Ids of utterances or of models: numbered in rising order, in memory or, if many, on disk.

Each chunk of a file is a *run*: its distinct ids in order, and the place of each row's id among
them. When all is read, the runs are merged, in ranges of ids that fit into memory one at a time.
"""

from __future__ import annotations

import os
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from parivox.disk import Scratch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from parivox.read.formats.format import Chunk

    Codes = NDArray[np.int32]

IN_MEMORY_IDS = 8_000_000
"""Ids held in memory: beyond so many, the runs go to disk."""
RANGE = 4_000_000
"""Ids merged at once, about."""
_SAMPLE = 256  # ids a range that its limits are chosen from
_SALT = tuple(int.from_bytes(os.urandom(8), "little") for _ in range(2))
_BLOCK = 1 << 16  # rows looked at together: what is made of them stays in the processor's cache
_STIR = np.uint64(0x9E3779B97F4A7C15)  # odd, its bits spread evenly: 2**64 over the golden ratio


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
        place, distinct = _numbered(text)
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
        self._runs: list[pl.Series | None] = []
        self._sizes: list[int] = []
        self._values: list[Codes | None] = []
        self._folder: Scratch | None = None

    def read(self, chunk: Chunk, *roles: str) -> list[Codes]:
        """Add a run of the ids in some columns; give the place of the id of each row in it."""
        columns = [_texts(chunk, role).alias("id") for role in roles]
        codes, ids = _numbered(pl.concat(columns) if len(columns) > 1 else columns[0])
        places = np.split(codes, len(columns))
        for role, place in zip(roles, places, strict=True):
            if ids[0] == "":
                chunk.refuse(place == 0, role)
        self.add(ids)
        return places

    def add(self, ids: pl.Series) -> None:
        """Add a run of distinct ids in rising order."""
        self._runs.append(ids)
        self._sizes.append(len(ids))
        self._values.append(None)
        if self._folder is None and sum(self._sizes) > IN_MEMORY_IDS:
            self._folder = Scratch()
        if self._folder is not None:
            for number, run in enumerate(self._runs):
                if run is not None:
                    _write_ids(run, self._folder, f"run-{number}")
                    self._runs[number] = None

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return len(self._runs)

    def size(self, run: int) -> int:
        """How many ids a run has."""
        return self._sizes[run]

    def keep_values(self, run: int, values: Codes) -> None:
        """Keep a value for each id of a run, -1 for none."""
        if self._folder is not None:
            with self._folder.writing(f"values-{run}.npy") as path:
                np.save(path, values)
            return
        self._values[run] = values

    def _values_of(self, run: int) -> Codes | None:
        values = self._values[run]
        if values is None and self._folder is not None:
            path = self._folder / f"values-{run}.npy"
            return np.load(path, mmap_mode="r") if path.exists() else None
        return values

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
        lengths, values, clash, start = [], [], [], 0
        for k in range(len(limits) + 1):
            slices = [self._slice(number, k) for number in range(self.runs)]
            if len(slices) == 1:  # which is in order
                codes, ids = np.arange(len(slices[0]), dtype=np.int32), slices[0]
            else:
                codes, ids = _numbered(pl.concat(slices), is_plain=True)
            value = np.full(len(ids), -1, dtype=np.int32)
            for number, here in enumerate(np.split(codes, np.cumsum([*map(len, slices)])[:-1])):
                low, high = cuts[number][k : k + 2]
                places[number][low:high] = here + np.int32(start)
                own = self._values_of(number)
                if own is not None:
                    clash += [start + at for at in _set_values(value, here, own[low:high])]
            values.append(value)
            lengths.append(len(ids))
            start += len(ids)
            if folder is None:
                parts.append(ids)
            else:
                parts.append(_write_ids(ids, folder, f"part-{k}"))
        folders = [] if folder is None else [folder]
        return MergedIds(parts, lengths, places, np.concatenate(values), clash, folders)

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


def _set_values(value: Codes, at: Codes, own: Codes) -> list[int]:
    """Note the values of some ids; give the first id that already has another one."""
    known = own >= 0
    at, own = at[known], own[known]
    other = (value[at] >= 0) & (value[at] != own)
    first = value[at] < 0
    value[at[first]] = own[first]
    return [int(at[other][0])] if other.any() else []


class MergedIds:
    """All ids in rising order, each once."""

    def __init__(
        self,
        parts: Sequence[pl.Series | Path],
        lengths: Sequence[int],
        places: Sequence[Codes],
        values: Codes,
        clash: Sequence[int],
        folders: Sequence[Scratch],
    ) -> None:
        self._parts, self._lengths, self._folders = parts, lengths, folders
        self._starts = np.cumsum([0, *lengths])
        self.places = places  # of each run, the place of each of its ids among all
        self.values = values  # what was kept for each id, -1 for nothing
        self.clash = clash  # ids of which two things were kept; not all of them

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
            [],
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


def _numbered(text: pl.Series, *, is_plain: bool = False) -> tuple[Codes, pl.Series]:
    """Distinct ids in rising order, without blanks around them, and the place of each text."""
    if not len(text):
        return np.empty(0, dtype=np.int32), text
    alike = _one_of_each(text)
    used = np.flatnonzero(alike == np.arange(alike.size, dtype=np.int32))
    each = text.gather(used)
    ids = each.sort()
    # to find each again is faster than the order that sorts them
    again = _one_of_each(pl.concat([ids, each]))
    among, place = np.empty(again.size, dtype=np.int32), np.empty(alike.size, dtype=np.int32)
    among[again[: used.size]] = np.arange(used.size, dtype=np.int32)
    place[used] = among[again[used.size :]]
    codes = place[alike]
    if is_plain:
        return codes, ids
    plain = ids.str.strip_chars()
    if (plain == ids).all():
        return codes, ids
    place, distinct = _numbered(plain, is_plain=True)
    return place[codes], distinct


def _one_of_each(text: pl.Series) -> Codes:
    """One row that has each row's text, the same for the same text.

    Texts are told apart by two hashes of 64 bits, salted anew in each process: that two of a
    thousand million differing ids share both has a probability below 1e-20.
    """
    one, other = (text.hash(seed).to_numpy() for seed in _SALT)
    bits = max(one.size.bit_length(), 10)
    at = np.empty(1 << bits, dtype=np.int32)
    of_each, left = np.empty(one.size, dtype=np.int32), np.arange(one.size, dtype=np.int32)
    shift, stir = np.uint64(64 - bits), np.uint64(1)
    with np.errstate(over="ignore"):  # the product of hash and stir is meant to overflow
        while left.size:
            blocks = [slice(start, start + _BLOCK) for start in range(0, left.size, _BLOCK)]
            for some in blocks:
                slot = ((one[some] * stir) >> shift).view(np.int64)
                at[slot] = np.arange(some.start, some.start + slot.size, dtype=np.int32)
            differ = []
            for some in blocks:  # one of those in a slot has stayed
                found = at.take(((one[some] * stir) >> shift).view(np.int64))
                of_each[left[some]] = left.take(found)
                is_other = (one.take(found) != one[some]) | (other.take(found) != other[some])
                differ.append(some.start + np.flatnonzero(is_other))
            again = np.concatenate(differ)
            left, one, other = left[again], one[again], other[again]
            stir *= _STIR
    return of_each


def _texts(chunk: Chunk, role: str) -> pl.Series:
    """A column of ids as text; an empty cell is an error."""
    text = chunk[role].cast(pl.String)
    if text.null_count():
        chunk.refuse(text.is_null(), role)
    return text
