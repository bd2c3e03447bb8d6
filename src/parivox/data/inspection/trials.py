"""What a file of trials holds, scored or not; of a large one, its first rows."""

from __future__ import annotations

import re
import shlex
from contextlib import suppress
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.core.cluster_errors import count_distinct
from parivox.core.counts import Counts
from parivox.core.separation import auc
from parivox.data.attributes import sides_of, whole_of
from parivox.data.columns import ATTRIBUTE, RequestedColumns, are_customers, name_columns, plain
from parivox.data.formats import scan_again
from parivox.data.ids import UNKNOWN, IdDictionary
from parivox.data.inspection.findings import (
    FileFindings,
    IdFindings,
    LabelFindings,
    ScoreFindings,
    SpeakerRule,
)
from parivox.data.inspection.tables import CellCounter, reading_facts
from parivox.data.joining import first_components, placeholders
from parivox.data.spilled_rows import concatenated
from parivox.data.trial_checks import (
    CONFLICTS,
    DUPLICATES,
    INFINITE,
    NOTE_WITHOUT_TEST_SPEAKER,
    OF_ITSELF,
    REVERSED,
    UNSCORED,
    WITHOUT_TEST_SPEAKER,
    EncodedRows,
    pair_key,
)
from parivox.data.trial_rows import test_speakers
from parivox.data.trial_values import DECISIONS, LABELS, is_decision, labels, scores
from parivox.data.value_warnings import DataWarning, odd_ids, odd_llrs, odd_scores, odd_targets
from parivox.errors import DataError
from parivox.frozen import frozen
from parivox.runtime.progress import stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.data.formats.format import Chunk, Scan
    from parivox.data.inspection.findings import Column

MAX_INSPECTED_ROWS = 5_000_000
"""Of larger files, so many rows are looked at."""
MAX_INSPECTED_IDS = 1_000_000
"""Or fewer rows, by a million, where these have so many different ids."""
_FIRST_ROWS = 10_000
_CHANCE = 0.5
_WORD = "WORD"  # stands for what the user knows
_ID_ROLES = ("enrol", "test")
_SPEAKER_ROLES = ("enrol_speaker", "test_speaker")


@frozen
class InspectedTrials:
    """Trials, and what it takes to join them with other files."""

    found: FileFindings
    scan: Scan
    ids: pl.Series  # distinct
    rows: EncodedRows  # those with both ids, which enrol and test are indices into
    speaker: pl.Series  # of each id, as a column names it, else the first component of the id
    # what --columns is to say: columns known by what they hold, and words of decisions
    recipe: Mapping[str, str] = field(default_factory=dict)


def first_rows(scanned: Scan, source: Any, columns: RequestedColumns) -> pl.DataFrame:
    """The first rows of a source as text, with every column as the file names it."""
    wide = _with_ignored(scanned, source, columns)
    for chunk in wide.chunks():
        texts = {
            column: _text(chunk[role].head(_FIRST_ROWS)) for role, column in wide.columns.items()
        }
        return pl.DataFrame(texts)
    return pl.DataFrame()


def inspect_trials(
    scanned: Scan, source: Any, name: str, columns: RequestedColumns
) -> InspectedTrials:
    """Look at a source that has columns of enrolments and tests."""
    inspector = _TrialInspector(_with_ignored(scanned, source, columns), columns)
    try:
        for chunk in inspector.first_chunks():
            inspector.add(chunk)
    except DataError as error:
        inspector.problems.append(str(error))
    with stage("ids and pairs"):
        return inspector.result(name, scanned)


def _with_ignored(scanned: Scan, source: Any, columns: RequestedColumns) -> Scan:
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
        found = name_columns(names, RequestedColumns(attributes=(attribute,)), "")
        return set(sides_of(ATTRIBUTE + attribute)[1:]) <= set(found)
    return False


class _TrialInspector:
    """Rows as they are taken in, whatever is wrong with them."""

    def __init__(self, scanned: Scan, asked: RequestedColumns) -> None:
        self.scan, self.asked = scanned, asked
        self.rows, self.whole = 0, True
        self.ids, self.speakers = IdDictionary(), IdDictionary()
        self.chunks: list[EncodedRows] = []
        self.owners: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []
        self.odd: dict[str, DataWarning] = {}
        self.problems: list[str] = []  # what an audit would say first
        known = {*_ID_ROLES, *_SPEAKER_ROLES, "side", "score", "label"}
        self.cells = {
            whole_of(role): CellCounter() for role in scanned.columns if role not in known
        }

    def first_chunks(self) -> Iterator[Chunk]:
        """The first rows of the source, as many as are looked at."""
        for chunk in self.scan.chunks():
            left = MAX_INSPECTED_ROWS - self.rows if self.ids.size < MAX_INSPECTED_IDS else 0
            self.whole = len(chunk) <= left
            if left > 0:
                yield replace(chunk, frame=chunk.frame.head(left), rows=chunk.rows[:left])
            if not self.whole:
                return

    def count(self, what: str, n: int, note: str = "") -> None:
        """Add to what is odd."""
        if n:
            before = self.odd.get(what, DataWarning(what, 0, note))
            self.odd[what] = DataWarning(what, before.count + int(n), before.note)

    def add(self, chunk: Chunk) -> None:
        """Take in some rows."""
        chunk = chunk.without_blanks()
        self.rows += len(chunk)
        lost = _text(chunk["enrol"]).is_null() | _text(chunk["test"]).is_null()
        if lost.any():
            self.count("rows without an id", int(lost.sum()))
            for role in _ID_ROLES if not self.problems else ():
                self._try(IdDictionary().codes, chunk, role)
            chunk = chunk.select(~lost)
        if not chunk:
            return
        if are_customers(self.scan.columns):  # so that a call may have the number of one
            name = pl.col("enrol").cast(pl.String).str.strip_chars()
            chunk = replace(chunk, frame=chunk.frame.with_columns(enrol="customer " + name))
        enrol, test = (self.ids.codes(chunk, role) for role in _ID_ROLES)
        label, score = self._labels(chunk), self._scores(chunk)
        self.chunks.append(EncodedRows(enrol, test, label, score))
        if "enrol_speaker" in self.scan.columns:
            owner = self.speakers.codes_of_speakers(chunk, "enrol_speaker")
            self.owners.append((enrol, owner))
        self._add_test_speakers(chunk, test, label)
        for role in chunk.frame.columns:
            if whole_of(role) in self.cells:
                self.cells[whole_of(role)].add(chunk[role])

    def _add_test_speakers(
        self, chunk: Chunk, test: NDArray[np.int32], label: NDArray[np.int8]
    ) -> None:
        """Take in whose the test recordings are, as an audit does."""
        owner = test_speakers(chunk, label, self.speakers, infers_callers=True)
        if owner is not None:
            self.owners.append((test, owner))

    def _try(self, read: Callable[..., NDArray[Any]], *given: object) -> NDArray[Any] | None:
        """What a reader of the audit gives, or None, and its complaint kept."""
        try:
            return read(*given)
        except DataError as error:
            self.problems = self.problems or [str(error)]
            return None

    def _labels(self, chunk: Chunk) -> NDArray[np.int8]:
        if "label" not in self.scan.columns:
            return np.full(len(chunk), -1, dtype=np.int8)
        found = self._try(labels, chunk)
        if found is not None:
            return found
        raw = _text(chunk["label"])
        codes = raw.str.to_lowercase().replace_strict(LABELS, default=-1, return_dtype=pl.Int8)
        known = codes.fill_null(-1).to_numpy().astype(np.int8)
        self.count("rows without a label", raw.null_count())
        strange = raw.filter((known < 0) & raw.is_not_null().to_numpy())
        self.count("labels that are none", len(strange), strange[0] if len(strange) else "")
        return known

    def _scores(self, chunk: Chunk) -> NDArray[np.float64]:
        if "score" not in self.scan.columns:
            return np.zeros(len(chunk))
        found = self._try(scores, chunk, self.scan)
        if found is not None:
            self.count(UNSCORED, int(np.isnan(found).sum()))
            self.count(INFINITE, int(np.isinf(found).sum()))
            return found
        raw = _text(chunk["score"])
        values = raw.cast(pl.Float64, strict=False)
        text = raw.filter(values.is_null() & raw.is_not_null())
        self.count("scores that are not numbers", len(text), text[0] if len(text) else "")
        self.count("scores that are nan", int(values.is_nan().sum() or 0))
        self.count(UNSCORED, raw.null_count())
        return values.fill_null(np.nan).to_numpy() + 0.0

    def result(self, name: str, scanned: Scan) -> InspectedTrials:
        """What was found in the rows."""
        ids, place = self.ids.sorted()
        rows = concatenated(self.chunks)
        rows = rows._replace(enrol=place[rows.enrol], test=place[rows.test])
        speaker, rule = self._speakers(ids, place)
        self._count_pairs(rows, len(ids))
        is_unknown = speaker.is_null().to_numpy()[rows.test] & (rows.label == 0)
        is_unknown &= ~speaker.is_in(placeholders()).fill_null(value=False).to_numpy()[rows.enrol]
        n_unknown = int((is_unknown & ~np.isnan(rows.score)).sum())
        self.count(WITHOUT_TEST_SPEAKER, n_unknown, NOTE_WITHOUT_TEST_SPEAKER)
        columns = scanned.columns
        if not {"score", "decision"} & set(columns):
            for role, cells in self.cells.items():
                if any(map(is_decision, words := cells.words())):
                    column = self._column(role, cells).name
                    means, told = decision_word_meanings(words)
                    what = f"column {column!r} may hold decisions{told and f'; {told}'}; audit it"
                    option = columns_option({"decision": column, **means})
                    self.odd[column] = DataWarning(f"{what} with {option}", 0)
        recipe = self._recipe()
        n_of = [int((rows.label == code).sum()) for code in (0, 1)]
        content = scanned.content
        found = FileFindings(
            name,
            "scores" if {"score", "decision"} & set(columns) else "trials",
            scanned.format,
            {} if content is None else reading_facts(content.provenance),
            dict(columns),
            tuple(self._column(role, cells) for role, cells in self.cells.items()),
            self.rows,
            self.whole,
            _ids(ids, rows),
            _whose(rule, speaker, rows) if len(ids) else None,
            LabelFindings(n_of[1], n_of[0]) if "label" in columns else None,
            _score_summary(rows) if "score" in columns else None,
            (*self.odd.values(), *odd_ids(ids)),
            tuple(self.problems),
            ignored=tuple(one for one in scanned.ignored if one not in self.scan.columns.values()),
        )
        return InspectedTrials(found, scanned, ids, rows, speaker, recipe)

    def _recipe(self) -> dict[str, str]:
        """What ``--columns`` is to say of the words of decisions, which is told."""
        if "decision" not in self.cells:
            return {}
        recipe, told = decision_word_meanings(self.cells["decision"].words())
        what = f"column {self.scan.columns['decision']!r}: {told}"
        if _WORD in recipe.values():
            self.problems.append(f"{self.scan.name}: {what}; say it with {columns_option(recipe)}")
        elif recipe:
            if said := self.asked.words.get("failed"):
                recipe["failed"] = f"{said}|{recipe['failed']}"
            self.odd["decision"] = DataWarning(f"{what}; audit needs {columns_option(recipe)}", 0)
        return recipe

    def _count_pairs(self, rows: EncodedRows, n: int) -> None:
        """Count pairs that occur again."""
        scored = rows.take(~np.isnan(rows.score))
        key = pair_key(scored.enrol, scored.test, n)
        order = np.argsort(key)
        once, counts = np.unique(key[order], return_counts=True)
        at = order[np.repeat(counts > 1, counts)]
        at = at[np.lexsort((scored.score[at], scored.label[at], key[at]))]
        equal = np.ones(max(at.size - 1, 0), dtype=bool)
        for column in (key, scored.label, scored.score):
            equal &= column[at][1:] == column[at][:-1]
        kept = key[at][np.append(True, ~equal)[: at.size]]
        differing = np.unique(kept, return_counts=True)[1]
        self.count(DUPLICATES, int(equal.sum()), "counted once")
        note = "an audit refuses or sets them aside"
        self.count(CONFLICTS, int(differing[differing > 1].sum()), note)
        is_reversed = (once[1:] ^ once[:-1]) == 1
        self.count(REVERSED, int(is_reversed.sum()), "each direction is a trial")
        self.count(OF_ITSELF, int((scored.enrol == scored.test).sum()))

    def _column(self, role: str, cells: CellCounter) -> Column:
        """One column or, of an attribute of either side, both."""
        if not role.startswith(ATTRIBUTE):
            return cells.column(self.scan.columns[role], role)
        named = {one: name for one, name in self.scan.columns.items() if whole_of(one) == role}
        if len(named) > 1:
            made = cells.column(role.removeprefix(ATTRIBUTE))
            return replace(made, sides=tuple(named.values()))
        ((key, name),) = named.items()
        return cells.column(name if key == role else key.removeprefix(ATTRIBUTE))

    def _speakers(self, ids: pl.Series, place: NDArray[np.int32]) -> tuple[pl.Series, str]:
        """Speaker of each id, null where nobody knows it, and how it is known."""
        first = first_components(ids)
        if not self.owners:
            return first, "component" if 2 * ids.str.contains(r"[/\\]").sum() > len(ids) else "id"
        names, place_of_name = self.speakers.sorted()
        of = np.full(len(ids), -1, dtype=np.int64)
        for codes, owner in reversed(self.owners):
            is_told = owner >= 0
            unknown = place[codes[owner == UNKNOWN]]
            of[unknown[of[unknown] < 0]] = UNKNOWN
            of[place[codes[is_told]]] = place_of_name[owner[is_told]]
        named = names.gather(pl.Series(np.where(of < 0, -1, of)).replace(-1, None))
        by_path = pl.when(pl.Series(of == UNKNOWN)).then(None).otherwise(named.fill_null(first))
        return pl.select(by_path).to_series(), "columns"


def decision_word_meanings(words: Sequence[str]) -> tuple[dict[str, str], str]:
    """What ``--columns`` says of words of decisions that are not known, and that in words.

    Where both decisions are known, all else is of failures; else which word is which is not known.

    Examples
    --------
    >>> meanings(["accept", "reject", "too short"])
    ({'failed': 'too short'}, "'too short' is taken for what failed")
    >>> meanings(["ja", "nein"])[0]
    {'accept': 'WORD', 'reject': 'WORD'}
    """
    others = [word for word in words if word.lower() not in DECISIONS]
    known = {DECISIONS[word.lower()] for word in words if word not in others}
    listed = ", ".join(map(repr, others))
    if not others or any(sign in word for word in others for sign in ",|"):  # as no option has it
        return {}, ""
    if len(known) > 1:
        are = "are" if len(others) > 1 else "is"
        return {"failed": "|".join(others)}, f"{listed} {are} taken for what failed"
    needed = [word for code, word in ((1, "accept"), (0, "reject")) if code not in known]
    needed += ["failed"] if len(others) > len(needed) else []
    unknown = f"which of {listed} means {', '.join(needed)} is not known"
    return dict.fromkeys(needed, _WORD), unknown


def columns_option(recipe: Mapping[str, str]) -> str:
    """The option of columns as a shell takes it.

    Examples
    --------
    >>> columns_option({"decision": "ok", "failed": "too short"})
    "--columns 'decision=ok,failed=too short'"
    """
    return f"--columns {shlex.quote(','.join(map('='.join, recipe.items())))}"


def _text(cells: pl.Series) -> pl.Series:
    """Cells as text; those that are empty are null."""
    return cells.cast(pl.String, strict=False).str.strip_chars().replace("", None)


def _ids(ids: pl.Series, rows: EncodedRows) -> tuple[IdFindings, ...]:
    """One kind of ids, or two where no enrolment is a test."""
    enrol, test = (np.flatnonzero(np.bincount(codes)) for codes in (rows.enrol, rows.test))
    if np.intersect1d(enrol, test, assume_unique=True).size or not len(ids):
        return (IdFindings("utterances", len(ids), tuple(ids.head(1))),)
    used = {"enrolments": enrol, "tests": test}
    return tuple(IdFindings(what, at.size, (ids[int(at[0])],)) for what, at in used.items())


def _whose(rule: str, speaker: pl.Series, rows: EncodedRows) -> SpeakerRule:
    is_nobody = speaker.is_in(placeholders())
    named = speaker.set(is_nobody, None)
    code = named.rank("dense").fill_null(0).to_numpy()
    known = (rows.label >= 0) & (code[rows.enrol] > 0) & (code[rows.test] > 0)
    wrong = (code[rows.enrol] == code[rows.test])[known] != (rows.label[known] == 1)
    return SpeakerRule(
        rule, named.drop_nulls().n_unique(), float(wrong.mean()) if known.any() else None
    )


def _score_summary(rows: EncodedRows) -> ScoreFindings | None:
    values, _ = count_distinct(rows.score[np.isfinite(rows.score)])
    if not values.size:
        return None
    low, high = float(values[0]), float(values[-1])
    return ScoreFindings(low, high, values.size, auc_where_labelled(rows.score, rows.label))


def auc_where_labelled(score: NDArray[np.float64], label: NDArray[np.int8]) -> float | None:
    """AUC of the trials that have both; None without trials of each label."""
    both = ~np.isnan(score) & (label >= 0)
    area = float(auc(score[both], label[both])) if both.any() else float("nan")
    return None if np.isnan(area) else area


def is_llr(found: FileFindings) -> bool:
    """Whether the column of scores is called a log likelihood ratio."""
    return plain((found.roles or {}).get("score", "")) == "llr"


def add_score_warnings(one: InspectedTrials) -> InspectedTrials:
    """The trials with what is odd about their scores, once their labels are known."""
    scores = one.found.scores
    if scores is None:
        return one
    known = ~np.isnan(one.rows.score)
    score, label = one.rows.score[known], one.rows.label[known]
    is_distance = scores.auc is not None and scores.auc < _CHANCE
    values, place = np.unique(-score if is_distance else score, return_inverse=True)
    target, other = (
        np.bincount(place, label_of, minlength=values.size).astype(np.int64)
        for label_of in (label == 1, label != 1)
    )
    if is_distance:
        values = -values
    of_itself = (one.rows.enrol == one.rows.test)[known] & (label == 1)
    of_targets = odd_targets(int((label == 1).sum()), int(of_itself.sum()), 0)
    odd = (*one.found.odd, *of_targets, *odd_scores(values, target, other))
    if is_llr(one.found) and scores.auc is not None and not is_distance:
        odd += tuple(odd_llrs(Counts(values, target, other)))
    return replace(one, found=replace(one.found, odd=odd))
