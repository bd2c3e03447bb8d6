"""What a file of trials holds, scored or not; of a large one, its first rows."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.core.separation import auc
from parivox.errors import DataError
from parivox.read.attributes import sides_of, whole_of
from parivox.read.cells import LABELS, labels, scores
from parivox.read.checks import (
    CONFLICTS,
    DUPLICATES,
    INFINITE,
    OF_ITSELF,
    REVERSED,
    UNSCORED,
    pair_key,
)
from parivox.read.columns import ATTRIBUTE, Columns, name_columns
from parivox.read.formats import scan_again
from parivox.read.ids import Dictionary
from parivox.read.inspection.findings import Found, Ids, Labels, Odd, Scores, Whose
from parivox.read.inspection.tables import Cells, odd_ids, reading_facts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from parivox.read.formats.format import Rows, Scan
    from parivox.read.inspection.findings import Column

MOST_ROWS = 5_000_000
"""Of larger files, so many rows are looked at."""
MOST_IDS = 1_000_000
"""Or fewer rows, by a million, where these have so many different ids."""
_FIRST_ROWS = 10_000
_ID_ROLES = ("enrol", "test")
_SPEAKER_ROLES = ("enrol_speaker", "test_speaker")


@dataclass(frozen=True, eq=False)
class InspectedTrials:
    """Trials, and what it takes to join them with other files."""

    found: Found
    scan: Scan
    ids: pl.Series  # distinct
    # shape (row,): indices into `ids`, of the rows with both
    enrol: NDArray[np.int32]
    test: NDArray[np.int32]
    speaker: pl.Series  # of each id, as a column names it, else the first component of the id
    # shape (row,): 1 for target, 0 for nontarget, -1 where it is not known
    label: NDArray[np.int8]
    score: NDArray[np.float64]  # shape (row,): NaN where there is none
    # roles whose columns are known by what they hold, not by their names
    named: tuple[str, ...] = ()


def first_rows(scanned: Scan, source: Any, columns: Columns) -> pl.DataFrame:
    """The first rows of a source as text, with every column as the file names it."""
    wide = _with_ignored(scanned, source, columns)
    for _, chunk in wide.chunks():
        texts = {
            column: _text(chunk[role].head(_FIRST_ROWS)) for role, column in wide.columns.items()
        }
        return pl.DataFrame(texts)
    return pl.DataFrame()


def inspect_trials(scanned: Scan, source: Any, name: str, columns: Columns) -> InspectedTrials:
    """Look at a source that has columns of enrolments and tests."""
    inspector = _TrialInspector(_with_ignored(scanned, source, columns))
    try:
        for rows, chunk in inspector.parts():
            inspector.add(rows, chunk)
    except DataError as error:
        inspector.complain(error)
    return inspector.result(name, scanned)


def _with_ignored(scanned: Scan, source: Any, columns: Columns) -> Scan:
    """The same source, with the columns that have no role as attributes, where that works."""
    wider = replace(columns, attributes=_attributes(scanned.ignored))
    try:
        return scan_again(scanned, source, wider)
    except DataError:  # a column of lists, say, is none to group by
        return scanned


def _attributes(names: Sequence[str]) -> tuple[str, ...]:
    """Attributes that columns hold: of either side, where each has a column of its own.

    Examples
    --------
    >>> _attributes(["probe_gender", "session", "bio_ref_gender"])
    ('gender', 'session')
    """
    found = [next((b for b in _bases(name) if _has_sides(b, names)), name) for name in names]
    return tuple(dict.fromkeys(found))


def _bases(name: str) -> Iterator[str]:
    """What is left of a name without its first or last words."""
    for between in re.finditer(r"[ _.-]+", name):
        yield from filter(None, (name[between.end() :], name[: between.start()]))


def _has_sides(attribute: str, names: Sequence[str]) -> bool:
    with suppress(DataError):
        found = name_columns(names, Columns(attributes=(attribute,)), "")
        return set(sides_of(ATTRIBUTE + attribute)[1:]) <= set(found)
    return False


class _TrialInspector:
    """Rows as they are taken in, whatever is wrong with them."""

    def __init__(self, scanned: Scan) -> None:
        self.scan = scanned
        self.rows, self.whole = 0, True
        self.ids, self.speakers = Dictionary(), Dictionary()
        self.parts_seen: list[tuple[NDArray[np.int32], ...]] = []
        self.label: list[NDArray[np.int8]] = []
        self.score: list[NDArray[np.float64]] = []
        self.owner: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []
        self.counts: dict[str, int] = {}
        self.notes: dict[str, str] = {}
        self.problems: list[str] = []
        known = {*_ID_ROLES, *_SPEAKER_ROLES, "side", "score", "label"}
        self.cells = {whole_of(role): Cells() for role in scanned.columns if role not in known}

    def parts(self) -> Iterator[tuple[Rows, pl.DataFrame]]:
        """The first rows of the source."""
        for rows, chunk in self.scan.chunks():
            left = MOST_ROWS - self.rows if self.ids.size < MOST_IDS else 0
            if left <= 0:
                self.whole = False
                return
            self.whole = chunk.height <= left
            yield rows[:left], chunk.head(left)
            if not self.whole:
                return

    def complain(self, error: DataError) -> None:
        """Note what an audit would say, the first time."""
        self.problems.append(str(error))

    def count(self, what: str, n: int, note: str = "") -> None:
        """Add to what is odd."""
        if n:
            self.counts[what] = self.counts.get(what, 0) + int(n)
            self.notes.setdefault(what, note)

    def add(self, rows: Rows, chunk: pl.DataFrame) -> None:
        """Take in some rows."""
        text = {role: _text(chunk[role]) for role in _ID_ROLES}
        nothing = text["enrol"].is_null() & text["test"].is_null()
        if nothing.any():
            blank = nothing & chunk.select(pl.all_horizontal(pl.all().is_null())).to_series()
            chunk, rows = chunk.filter(~blank), np.asarray(rows)[~blank.to_numpy()]
            text = {role: _text(chunk[role]) for role in _ID_ROLES}
        self.rows += chunk.height
        lost = text["enrol"].is_null() | text["test"].is_null()
        if lost.any():
            self.count("rows without an id", int(lost.sum()))
            if not self.problems:
                for role in _ID_ROLES:
                    self._try(Dictionary().codes, chunk, role, self.scan, rows)
            chunk, rows = chunk.filter(~lost), np.asarray(rows)[~lost.to_numpy()]
        if not chunk.height:
            return
        codes = tuple(self.ids.codes(chunk, role, self.scan, rows) for role in _ID_ROLES)
        self.parts_seen.append(codes)
        self.label.append(self._labels(chunk, rows))
        self.score.append(self._scores(chunk, rows))
        for role, mine in zip(_SPEAKER_ROLES, codes, strict=True):
            if role in self.scan.columns:
                self._owners(chunk, role, mine)
        for role in chunk.columns:
            if whole_of(role) in self.cells:
                self.cells[whole_of(role)].add(chunk[role])

    def _try(self, job: object, *given: object) -> object:
        """What a reader of the audit gives, or None, and its complaint kept."""
        try:
            return job(*given)  # type: ignore[operator]
        except DataError as error:
            if not self.problems:
                self.complain(error)
            return None

    def _owners(self, chunk: pl.DataFrame, role: str, of: NDArray[np.int32]) -> None:
        named = _text(chunk[role])
        has = named.is_not_null()
        if has.any():
            filled = chunk.select(pl.col(role)).filter(has)
            codes = self.speakers.codes(filled, role, self.scan, range(filled.height))
            self.owner.append((of[has.to_numpy()], codes))

    def _labels(self, chunk: pl.DataFrame, rows: Rows) -> NDArray[np.int8]:
        if "label" not in self.scan.columns:
            return np.full(chunk.height, -1, dtype=np.int8)
        found = self._try(labels, chunk, self.scan, rows)
        if isinstance(found, np.ndarray):
            return found
        raw = _text(chunk["label"])
        codes = raw.str.to_lowercase().replace_strict(LABELS, default=-1, return_dtype=pl.Int8)
        known = codes.fill_null(-1).to_numpy().astype(np.int8)
        self.count("rows without a label", raw.null_count())
        strange = raw.filter((known < 0) & raw.is_not_null().to_numpy())
        self.count("labels that are none", len(strange), strange[0] if len(strange) else "")
        return known

    def _scores(self, chunk: pl.DataFrame, rows: Rows) -> NDArray[np.float64]:
        if "score" not in self.scan.columns:
            return np.zeros(chunk.height)
        found = self._try(scores, chunk, self.scan, rows)
        if not isinstance(found, np.ndarray):
            raw = chunk["score"].cast(pl.String, strict=False).str.strip_chars().replace("", None)
            values = raw.cast(pl.Float64, strict=False)
            text = raw.filter(values.is_null() & raw.is_not_null())
            self.count("scores that are no numbers", len(text), text[0] if len(text) else "")
            self.count("scores that are nan", int(values.is_nan().sum() or 0))
            self.count(UNSCORED, raw.null_count())
            return values.fill_null(np.nan).to_numpy() + 0.0
        self.count(UNSCORED, int(np.isnan(found).sum()))
        self.count(INFINITE, int(np.isinf(found).sum()))
        return found

    def result(self, name: str, scanned: Scan) -> InspectedTrials:
        """Everything that was seen."""
        enrol, test = (
            np.concatenate([part[side] for part in self.parts_seen] or [np.empty(0, np.int32)])
            for side in (0, 1)
        )
        label = np.concatenate(self.label or [np.empty(0, np.int8)])
        score = np.concatenate(self.score or [np.empty(0)])
        ids, rank = self.ids.sorted()
        enrol, test = rank[enrol], rank[test]
        speaker, rule = self._speakers(ids, rank)
        for what, n, note in _odd_pairs(enrol, test, label, score, len(ids)):
            self.count(what, n, note)
        has = scanned.columns
        of = [int((label == code).sum()) for code in (0, 1)]
        found = Found(
            name,
            "scores" if {"score", "decision"} & set(has) else "trials",
            scanned.format,
            reading_facts(scanned.content.provenance) if scanned.content is not None else {},
            dict(has),
            tuple(self._column(role, cells) for role, cells in self.cells.items()),
            self.rows,
            self.whole,
            _ids(ids, enrol, test),
            _whose(rule, speaker, enrol, test, label) if len(ids) else None,
            Labels(of[1], of[0]) if "label" in has else None,
            _score_summary(score, label) if "score" in has else None,
            (*(Odd(what, n, self.notes[what]) for what, n in self.counts.items()), *odd_ids(ids)),
            tuple(self.problems),
            ignored=tuple(one for one in scanned.ignored if one not in self.scan.columns.values()),
        )  # fmt: skip
        return InspectedTrials(found, scanned, ids, enrol, test, speaker, label, score)

    def _column(self, role: str, cells: Cells) -> Column:
        """One column or, of an attribute of either side, both."""
        if not role.startswith(ATTRIBUTE):
            return cells.column(self.scan.columns[role], role)
        named = {one: name for one, name in self.scan.columns.items() if whole_of(one) == role}
        if len(named) > 1:
            made = cells.column(role.removeprefix(ATTRIBUTE))
            return replace(made, sides=tuple(named.values()))
        ((key, name),) = named.items()
        return cells.column(name if key == role else key.removeprefix(ATTRIBUTE))

    def _speakers(self, ids: pl.Series, rank: NDArray[np.int32]) -> tuple[pl.Series, str]:
        """Speaker of each id, and how it is known."""
        first = ids.str.split_exact("/", 1).struct.field("field_0")
        if not self.owner:
            return first, "component" if 2 * ids.str.contains("/").sum() > len(ids) else "id"
        names, place = self.speakers.sorted()
        of = np.full(len(ids), -1, dtype=np.int64)
        for codes, owner in reversed(self.owner):
            of[rank[codes]] = place[owner]
        named = names.gather(pl.Series(of).replace(-1, None))
        return named.fill_null(first), "columns"


def _text(cells: pl.Series) -> pl.Series:
    """Cells as text; those that are empty are null."""
    return cells.cast(pl.String, strict=False).str.strip_chars().replace("", None)


def _ids(ids: pl.Series, enrol: NDArray[np.int32], test: NDArray[np.int32]) -> tuple[Ids, ...]:
    """One kind of ids, or two where no enrolment is a test."""
    used = np.unique(enrol), np.unique(test)
    if np.intersect1d(used[0], used[1], assume_unique=True).size or not len(ids):
        return (Ids("utterances", len(ids), _first_ids(ids)),)
    return tuple(
        Ids(what, places.size, _first_ids(ids.gather(places)))
        for what, places in zip(("enrolments", "tests"), used, strict=True)
    )


def _first_ids(ids: pl.Series) -> tuple[str, ...]:
    return tuple(ids.head(1).to_list())


def _whose(
    rule: str,
    speaker: pl.Series,
    enrol: NDArray[np.int32],
    test: NDArray[np.int32],
    label: NDArray[np.int8],
) -> Whose:
    code = speaker.rank("dense").to_numpy()
    known = label >= 0
    wrong = (code[enrol] == code[test])[known] != (label[known] == 1)
    return Whose(rule, speaker.n_unique(), float(wrong.mean()) if known.any() else None)


def _score_summary(score: NDArray[np.float64], label: NDArray[np.int8]) -> Scores | None:
    finite = np.isfinite(score)
    if not finite.any():
        return None
    values = score[finite]
    both = ~np.isnan(score) & (label >= 0)
    area = float(auc(score[both], label[both])) if both.any() else float("nan")
    return Scores(
        float(values.min()),
        float(values.max()),
        int(np.unique(values).size),
        None if np.isnan(area) else area,
    )


def _odd_pairs(
    enrol: NDArray[np.int32],
    test: NDArray[np.int32],
    label: NDArray[np.int8],
    score: NDArray[np.float64],
    n: int,
) -> Iterator[tuple[str, int, str]]:
    """Pairs that occur again."""
    scored = ~np.isnan(score)
    enrol, test, label, score = enrol[scored], test[scored], label[scored], score[scored]
    key = pair_key(enrol, test, n)
    order = np.argsort(key)
    once, counts = np.unique(key[order], return_counts=True)
    at = order[np.repeat(counts > 1, counts)]
    rank = np.lexsort((score[at], label[at], key[at]))
    key, label, score = key[at][rank], label[at][rank], score[at][rank]
    equal = (key[1:] == key[:-1]) & (label[1:] == label[:-1]) & (score[1:] == score[:-1])
    yield DUPLICATES, int(equal.sum()), "counted once"
    kept = key[np.append(True, ~equal)[: key.size]]
    differing = np.unique(kept, return_counts=True)[1]
    yield CONFLICTS, int(differing[differing > 1].sum()), "an audit refuses or sets them aside"
    yield REVERSED, int(((once[1:] ^ once[:-1]) == 1).sum()), "each direction is a trial"
    yield OF_ITSELF, int((enrol == test).sum()), ""
