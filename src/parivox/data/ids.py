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

RUN_IDS = 1 << 20
"""Ids of a run: the chunk that reaches so many is its last one."""
IN_MEMORY_IDS = 8_000_000
"""Ids held in memory: beyond so many, the runs go to disk."""
RANGE_IDS = 4_000_000
"""Ids merged at once, about."""
_SAMPLED_IDS_PER_RANGE = 256  # ids a range that its limits are chosen from
_SALT = tuple(int.from_bytes(os.urandom(8), "little") for _ in range(2))
_CHUNK_ROWS = (
    1 << 16
)  # rows looked at together: what is made of them stays in the processor's cache
UNKNOWN_SPEAKER = np.int32(-2)
"""The value of an id of which it is told that nobody knows it, unless another row does."""
_FIRST_MULTIPLIER, _MULTIPLIER_STEP = np.uint64(1), np.uint64(0x9E3779B97F4A7C15)
"""Hashes are multiplied by powers of an odd number, its bits spread evenly: 2**64 over the golden
ratio."""
_SLOTS_PER_TEXT = 2  # slots for each text, at least


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
        codes, new_texts = self.learn(_id_texts(chunk, role))
        if "" in new_texts:
            chunk.refuse(codes == self._code[""], role)
        return codes

    def learn(self, text: pl.Series) -> tuple[Codes, list[str]]:
        """Code of each text without blanks around it, and the texts that were not known before."""
        position, distinct = _stripped(*_numbered(text))
        first_row = np.empty(len(distinct), dtype=np.int32)
        first_row[position[::-1]] = np.arange(position.size, dtype=np.int32)[::-1]
        ids = distinct.to_list()
        fresh = [ids[i] for i in np.argsort(first_row).tolist() if ids[i] not in self._code]
        self._code |= {new_id: code for code, new_id in enumerate(fresh, self.size)}
        return np.array([self._code[new_id] for new_id in ids], dtype=np.int32)[position], fresh

    def sorted(self) -> tuple[pl.Series, Codes]:
        """Ids in rising order, and the place of each code among them."""
        ids = pl.Series([*self._code], dtype=pl.String)
        order = ids.arg_sort().to_numpy()
        rank = np.empty(order.size, dtype=np.int32)
        rank[order] = np.arange(order.size, dtype=np.int32)
        return ids.gather(order), rank


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
        columns = [_id_texts(chunk, role).alias("id") for role in roles]
        numbers, fresh = self._open.read(pl.concat(columns) if len(columns) > 1 else columns[0])
        if (fresh.str.strip_chars() == "").any():
            for role in roles:
                chunk.ids(role)
        return np.split(numbers, len(columns))

    @property
    def is_full(self) -> bool:
        """Whether the run that is being read has as many ids as one may have."""
        return self._open.size >= RUN_IDS

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
        size = -(-len(texts) * _SAMPLED_IDS_PER_RANGE // RANGE_IDS)
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

        -1 for none, `UNKNOWN_SPEAKER` where it is told to be unknown.
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
        run_positions = [
            self._kept(f"places-{number}", np.zeros(size, dtype=np.int32))
            for number, size in enumerate(self._sizes)
        ]
        folder = None if self._folder is None else ScratchFolder()  # that outlives the runs
        range_ids: list[pl.Series | Path] = []
        lengths, n_merged = [], 0
        for k in range(len(limits) + 1):
            slices = [self._slice(number, k) for number in range(self.runs)]
            codes, ids = _numbered(pl.concat(slices))
            codes += np.int32(n_merged)
            ends = np.cumsum([*map(len, slices)])[:-1]
            for positions, (order, cuts), slice_codes in zip(
                run_positions, scattered, np.split(codes, ends), strict=True
            ):
                positions[order[cuts[k] : cuts[k + 1]]] = slice_codes
            lengths.append(len(ids))
            n_merged += len(ids)
            range_ids.append(ids if folder is None else _write_ids(ids, folder, f"part-{k}"))
        values, has_clash = np.full(n_merged, -1, dtype=np.int32), False
        for number, run_values in self._values.items():
            has_clash = _merge_values(values, run_positions[number], run_values) or has_clash
        folders = [] if folder is None else [folder]
        return MergedIds(range_ids, lengths, run_positions, values, folders, has_clash=has_clash)

    def _limits(self) -> pl.Series:
        """Ids that part the ranges, chosen so that these are of about one size."""
        if self._folder is None:
            return pl.Series("id", [], dtype=pl.String)
        n_ranges = -(-sum(self._sizes) // RANGE_IDS)
        sample = pl.Series("id", self._sample, dtype=pl.String).sort()
        return (
            sample.gather([len(sample) * k // n_ranges for k in range(1, n_ranges)]).unique().sort()
        )

    def _scatter(self, number: int, limits: pl.Series) -> tuple[Codes, list[int]]:
        """Cut a run into its ranges: which text is where then, and where each range begins."""
        if self._folder is None:
            size = self._sizes[number]
            return np.arange(size, dtype=np.int32), [0, size]
        ids = _read_ids(self._folder / f"run-{number}")
        range_of_id = limits.search_sorted(ids, side="right").to_numpy().astype(np.uint16)
        order = np.argsort(range_of_id, kind="stable").astype(np.int32)  # which is fast
        ids = ids.gather(order)
        cuts = [0, *np.cumsum(np.bincount(range_of_id, minlength=len(limits) + 1)).tolist()]
        for k, (start, end) in enumerate(pairwise(cuts)):
            _write_ids(ids[start:end], self._folder, f"slice-{number}-{k}")
        (self._folder / f"run-{number}").unlink()
        return self._kept(f"order-{number}", order), cuts

    def _slice(self, number: int, range_number: int) -> pl.Series:
        """One range of one run, which is then gone."""
        ids, self._runs[number] = self._runs[number], None
        if ids is not None:
            return ids
        assert self._folder is not None
        path = self._folder / f"slice-{number}-{range_number}"
        ids = _read_ids(path)
        path.unlink()
        return ids


def _merge_values(values: Codes, positions: Codes, run_values: Codes) -> bool:
    """Note the values of some ids; return whether one of them has another one already."""
    unknown_positions = positions[run_values == UNKNOWN_SPEAKER]
    values[unknown_positions[values[unknown_positions] < 0]] = UNKNOWN_SPEAKER
    is_known = run_values >= 0
    positions, run_values = positions[is_known], run_values[is_known]
    is_first = values[positions] < 0
    values[positions[is_first]] = run_values[is_first]
    return bool((values[positions] != run_values).any())


class MergedIds:
    """All ids in rising order, each once."""

    def __init__(
        self,
        chunks: Sequence[pl.Series | Path],
        lengths: Sequence[int],
        run_positions: Sequence[Codes],
        values: Codes,
        folders: Sequence[ScratchFolder],
        *,
        has_clash: bool = False,
    ) -> None:
        self._parts, self._lengths, self._folders = chunks, lengths, folders
        self._starts = np.cumsum([0, *lengths])
        self.run_positions = run_positions  # of each run, the place of each of its texts among all
        # the speaker code of each id, -1 for none, `UNKNOWN_SPEAKER` where a file says so
        self.values = values
        self.has_clash = has_clash  # whether two things were kept for one of them

    def __len__(self) -> int:
        return int(self._starts[-1])

    def __getitem__(self, position: int) -> str:
        chunk_number = int(np.searchsorted(self._starts, position, side="right")) - 1
        return str(self._part(chunk_number)[int(position - self._starts[chunk_number])])

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
        for number, start in enumerate(self._starts[:-1].tolist()):
            yield start, self._part(number)

    def series(self) -> pl.Series:
        """All ids at once."""
        return pl.concat([ids for _, ids in self.chunks()])

    def positions(self, wanted: pl.Series) -> Codes:
        """Place of each of some ids, -1 where it is not among these."""
        merged_positions = np.full(len(wanted), -1, dtype=np.int32)
        for start, ids in self.chunks():
            chunk_positions = positions_in(wanted, ids)
            merged_positions = np.where(
                chunk_positions >= 0, chunk_positions + np.int32(start), merged_positions
            )
        return merged_positions

    def _part(self, number: int) -> pl.Series:
        chunk = self._parts[number]
        return chunk if isinstance(chunk, pl.Series) else _read_ids(chunk)


def _write_ids(ids: pl.Series, folder: ScratchFolder, name: str) -> Path:
    with folder.file_to_write(name) as path:
        ids.to_frame("id").write_ipc(path, compression="lz4")
    return path


def _read_ids(path: Path) -> pl.Series:
    # by its bytes, since a file that is mapped into memory cannot be removed everywhere
    return pl.read_ipc(path.read_bytes())["id"]


def positions_in(wanted: pl.Series, known: pl.Series) -> Codes:
    """Place of each text among distinct others, -1 where it is not there."""
    listed = pl.DataFrame({"id": known, "place": np.arange(len(known), dtype=np.int32)})
    joined = pl.DataFrame({"id": wanted}).join(listed, on="id", how="left", maintain_order="left")
    return joined["place"].fill_null(-1).to_numpy().astype(np.int32)


def _numbered(text: pl.Series) -> tuple[Codes, pl.Series]:
    """The place of each text among the distinct ones, and these in rising order."""
    if not len(text):
        return np.empty(0, dtype=np.int32), text
    texts = NumberedTexts()
    numbers, _ = texts.read(text)
    position, distinct = texts.in_order()
    return position.take(numbers), distinct


def _stripped(codes: Codes, texts: pl.Series) -> tuple[Codes, pl.Series]:
    """The places among ids in rising order, which have no blanks around them."""
    stripped = texts.str.strip_chars()
    if (stripped == texts).all():
        return codes, texts
    position, ids = _numbered(stripped)
    return position.take(codes), ids


class NumberedTexts:
    """Texts numbered in the order in which they appear, over the chunks of a run.

    A text has two hashes of 64 bits, salted anew in each process. The first one leads to the slots
    in which a text is looked up; the second one tells it from the few texts in these slots. Among a
    thousand million different ids, the probability that any two are confused is below 1e-9.
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
        # Sorted texts are places in what was read, all over it. Copied next to each other they are
        # passed over three times as fast, and what was read can be forgotten.
        texts = texts + ""
        position = np.empty(self.size, dtype=np.int32)
        # to find each again is faster than the order that sorts them
        position[self.find(texts)] = np.arange(self.size, dtype=np.int32)
        return position, texts

    def read(self, text: pl.Series) -> tuple[Codes, pl.Series]:
        """Number of each text, and the texts that were not known before."""
        hashes = _hashes(text)
        numbers = self._found(hashes)
        unknown_rows = np.flatnonzero(numbers < 0)
        if not unknown_rows.size:
            return numbers, text[:0]
        hashes = _hashes_at(hashes, unknown_rows)
        representatives = _representative_rows(hashes)
        first_rows = np.flatnonzero(
            representatives == np.arange(representatives.size, dtype=np.int32)
        )
        number = np.empty(representatives.size, dtype=np.int32)
        number[first_rows] = np.arange(self.size, self.size + first_rows.size, dtype=np.int32)
        numbers[unknown_rows] = number.take(representatives)
        new_texts = text.gather(unknown_rows.take(first_rows))
        self._each.append(new_texts)
        first_hashes, second_hashes = _hashes_at(hashes, first_rows)
        self._hashes = (
            np.append(self._hashes[0], first_hashes),
            np.append(self._hashes[1], second_hashes),
        )
        return numbers, new_texts

    def find(self, text: pl.Series) -> Codes:
        """Number of each text, -1 for those that are not known."""
        return self._found(_hashes(text))

    def _found(self, hashes: Hashes) -> Codes:
        self._enter()
        numbers = np.full(hashes[0].size, -1, dtype=np.int32)
        for start in range(0, numbers.size if self.size else 0, _CHUNK_ROWS):
            chunk = slice(start, start + _CHUNK_ROWS)
            chunk_numbers, chunk_hashes = numbers[chunk], (hashes[0][chunk], hashes[1][chunk])
            open_rows, multiplier = np.arange(chunk_numbers.size), _FIRST_MULTIPLIER
            while open_rows.size:
                candidates = self._table.take(_slots(chunk_hashes[0], multiplier, self._table))
                chunk_numbers[open_rows] = candidates
                is_other_text = self._hashes[1].take(candidates) != chunk_hashes[1]
                collided = np.flatnonzero(is_other_text & (candidates >= 0))
                open_rows, chunk_hashes, multiplier = (
                    open_rows.take(collided),
                    _hashes_at(chunk_hashes, collided),
                    _next_multiplier(multiplier),
                )
        return numbers

    def _enter(self) -> None:
        """Enter the texts that are not in the table yet, or all of them in a larger one."""
        if self._table.size < _SLOTS_PER_TEXT * self.size:
            self._table = np.full(
                1 << (_SLOTS_PER_TEXT * self.size).bit_length(), -1, dtype=np.int32
            )
            self._entered = 0
        open_numbers, multiplier = (
            np.arange(self._entered, self.size, dtype=np.int32),
            _FIRST_MULTIPLIER,
        )
        while open_numbers.size:
            slot = _slots(self._hashes[0].take(open_numbers), multiplier, self._table)
            is_free = self._table.take(slot) < 0
            self._table[slot[is_free]] = open_numbers[is_free]
            open_numbers = open_numbers[
                self._table.take(slot) != open_numbers
            ]  # one of those in a slot has stayed
            multiplier = _next_multiplier(multiplier)
        self._entered = self.size


def _representative_rows(hashes: Hashes) -> Codes:
    """One row that has each row's text, the same for the same text."""
    n = hashes[0].size
    table = np.empty(max(1 << n.bit_length(), 1 << 10), dtype=np.int32)
    representatives, open_rows, multiplier = (
        np.empty(n, dtype=np.int32),
        np.arange(n, dtype=np.int32),
        _FIRST_MULTIPLIER,
    )
    while open_rows.size:
        chunks = [
            slice(start, start + _CHUNK_ROWS) for start in range(0, open_rows.size, _CHUNK_ROWS)
        ]
        for chunk in chunks:
            slot = _slots(hashes[0][chunk], multiplier, table)
            table[slot] = np.arange(chunk.start, chunk.start + slot.size, dtype=np.int32)
        collided_rows = []
        for chunk in chunks:  # one of those in a slot has stayed
            candidates = table.take(_slots(hashes[0][chunk], multiplier, table))
            representatives[open_rows[chunk]] = open_rows.take(candidates)
            collided_rows.append(
                chunk.start + np.flatnonzero(hashes[1].take(candidates) != hashes[1][chunk])
            )
        collided = np.concatenate(collided_rows)
        open_rows, hashes, multiplier = (
            open_rows.take(collided),
            _hashes_at(hashes, collided),
            _next_multiplier(multiplier),
        )
    return representatives


def _hashes(text: pl.Series) -> Hashes:
    first_hashes, second_hashes = (text.hash(seed).to_numpy() for seed in _SALT)
    return first_hashes, second_hashes


def _hashes_at(hashes: Hashes, rows: NDArray[np.integer[Any]]) -> Hashes:
    return hashes[0].take(rows), hashes[1].take(rows)


def _slots(hashes: NDArray[np.uint64], multiplier: np.uint64, table: Codes) -> NDArray[np.int64]:
    """Where in a table each text is sought, in the turn that has this `multiplier`."""
    slots = hashes * multiplier
    slots >>= np.uint64(65 - table.size.bit_length())
    return slots.view(np.int64)


def _next_multiplier(multiplier: np.uint64) -> np.uint64:
    with np.errstate(over="ignore"):  # which is meant to happen
        return multiplier * _MULTIPLIER_STEP


def _id_texts(chunk: Chunk, role: str) -> pl.Series:
    """A column of ids as text; an empty cell is an error."""
    text = chunk[role].cast(pl.String)
    if text.null_count():
        chunk.refuse(text.is_null(), role)
    return text
