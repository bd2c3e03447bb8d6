"""Inspection of files of trials, scored or not; of large files only the first rows."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.core.counts import NONTARGET, SPOOF, TARGET, TRIAL_CLASSES, Counts
from parivox.core.key_sums import count_distinct
from parivox.core.separation import auc
from parivox.data.attributes import side_keys, trial_key
from parivox.data.cell_words import LABELS, is_label
from parivox.data.columns import (
    ATTRIBUTE_PREFIX,
    RequestedColumns,
    column_positions,
    enrolments_are_customers,
    is_call_log,
    plain_name,
)
from parivox.data.formats import scan_again
from parivox.data.ids import UNKNOWN_SPEAKER, IdDictionary
from parivox.data.inspection.findings import (
    FileFindings,
    IdFindings,
    LabelFindings,
    ScoreFindings,
    SpeakerRule,
)
from parivox.data.inspection.tables import CellCounter, reading_facts
from parivox.data.joining import first_components, placeholders
from parivox.data.trial_checks import (
    CONFLICTS,
    COUNTED_ONCE,
    DUPLICATES,
    INFINITE,
    NOTE_WITHOUT_TEST_SPEAKER,
    REVERSED,
    SAME_UTTERANCE,
    UNSCORED,
    WITHOUT_TEST_SPEAKER,
    EncodedRows,
    pair_key,
)
from parivox.data.trial_rows import attack_cells, check_attacks, test_speaker_codes
from parivox.data.trial_shards import joined_rows
from parivox.data.trial_values import (
    UNKNOWN_WORD,
    columns_option,
    decision_words,
    labels,
    scores,
    unknown_words,
)
from parivox.data.value_warnings import (
    DataWarning,
    id_warnings,
    llr_warnings,
    score_warnings,
    target_trial_warnings,
)
from parivox.errors import DataError
from parivox.facts import fact
from parivox.frozen import frozen
from parivox.runtime.progress import stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.data.formats.format import Chunk, Scan
    from parivox.data.inspection.findings import InspectedColumn

MAX_INSPECTED_ROWS = 5_000_000
"""Rows that are inspected of larger files."""
MAX_INSPECTED_IDS = 1_000_000
"""With so many distinct ids no further chunk of rows is inspected."""
_CHANCE_AUC = 0.5
_CUSTOMER_PREFIX, _CLAIMED_SPEAKER_PREFIX = "customer ", "claimed speaker "
"""Begin an enrolment that has the name of its speaker, as a test may have the same name."""
_ID_ROLES = ("enrol", "test")
_SPEAKER_ROLES = ("enrol_speaker", "test_speaker")


def enrolment_prefix(columns: Mapping[str, str]) -> str:
    """Return what begins enrolments that have the names of their speakers; empty for others."""
    if not enrolments_are_customers(columns):
        return ""
    return _CUSTOMER_PREFIX if is_call_log(columns) else _CLAIMED_SPEAKER_PREFIX


@frozen
class InspectedTrials:
    """Trials, with everything that their joins with other files need."""

    findings: FileFindings
    scan: Scan
    ids: pl.Series  # distinct
    rows: EncodedRows  # those with both ids, which enrol and test are indices into
    speaker: pl.Series  # of each id, as a column names it, else the first component of the id
    # contents of --columns: words of decisions
    recipe: Mapping[str, str] = field(default_factory=dict)


def inspect_trials(
    scan: Scan, source: Any, name: str, columns: RequestedColumns
) -> InspectedTrials:
    """Inspect a source that has columns of enrolments and tests."""
    inspector = _TrialInspector(_with_ignored_columns(scan, source, columns), columns)
    try:
        for chunk in inspector.first_chunks():
            inspector.add(chunk)
    except DataError as error:
        inspector.problems.append(str(error))
    with stage("ids and pairs"):
        return inspector.result(name, scan)


def _with_ignored_columns(scanned: Scan, source: Any, columns: RequestedColumns) -> Scan:
    """Return the same source with columns without a role as attributes, if possible."""
    wider = replace(columns, attributes=_attributes(scanned.ignored))
    try:
        return scan_again(scanned, source, wider)
    except DataError:  # for example a column of lists, which cannot be an attribute
        return scanned


def _attributes(names: Sequence[str]) -> tuple[str, ...]:
    """Return the attributes in columns; two columns of one attribute, one per side, give one.

    Examples
    --------
    >>> _attributes(["probe_gender", "session", "bio_ref_gender"])
    ('gender', 'session')
    """
    attributes: dict[str, None] = {}  # a set in order
    for name in names:
        two_sided = [base for base in _bases(name) if _has_sides(base, names)]
        attributes[two_sided[0] if two_sided else name] = None
    return tuple(attributes)


def _bases(name: str) -> Iterator[str]:
    """Yield a name without its first words, and without its last words."""
    for gap in re.finditer(r"[ _.-]+", name):
        yield from filter(None, (name[gap.end() :], name[: gap.start()]))


def _has_sides(attribute: str, names: Sequence[str]) -> bool:
    """Whether an attribute has a column for each side."""
    with suppress(DataError):
        positions = column_positions(names, RequestedColumns(attributes=(attribute,)), "")
        return set(side_keys(ATTRIBUTE_PREFIX + attribute)[1:]) <= set(positions)
    return False


class _TrialInspector:
    """Collects rows of trials, whatever is wrong with them."""

    def __init__(self, scanned: Scan, requested_columns: RequestedColumns) -> None:
        self.scan, self.requested_columns = scanned, requested_columns
        self.n_rows, self.is_whole = 0, True
        self.ids, self.speakers = IdDictionary(), IdDictionary()
        self.chunks: list[EncodedRows] = []
        self.owners: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []
        self.warnings: dict[str, DataWarning] = {}
        self.problems: list[str] = []  # what an audit would refuse first
        self.has_unread_labels = False
        self.label_words: dict[str, None] = {}  # of a column that no name tells
        trial_roles = {*_ID_ROLES, *_SPEAKER_ROLES, "side", "score", "label"}
        self.cells = {
            trial_key(role): CellCounter() for role in scanned.columns if role not in trial_roles
        }

    def first_chunks(self) -> Iterator[Chunk]:
        """Yield the rows of the source that are inspected."""
        for chunk in self.scan.chunks():
            n_remaining = (
                MAX_INSPECTED_ROWS - self.n_rows if self.ids.size < MAX_INSPECTED_IDS else 0
            )
            self.is_whole = len(chunk) <= n_remaining
            if n_remaining > 0:
                yield replace(
                    chunk, frame=chunk.frame.head(n_remaining), rows=chunk.rows[:n_remaining]
                )
            if not self.is_whole:
                return

    def add_warning(self, message: str, n_rows: int, note: str = "") -> None:
        """Add to the count of a warning."""
        if n_rows:
            previous = self.warnings.get(message, DataWarning(message, 0, note))
            self.warnings[message] = DataWarning(
                message, previous.count + int(n_rows), previous.note
            )

    def add(self, chunk: Chunk) -> None:
        """Add some rows."""
        chunk = chunk.without_blanks()
        self.n_rows += len(chunk)
        lacks_id = _cell_text(chunk["enrol"]).is_null() | _cell_text(chunk["test"]).is_null()
        if lacks_id.any():
            self.add_warning("rows_without_an_id", int(lacks_id.sum()))
            for role in _ID_ROLES:
                if self.problems:
                    break
                self._try(IdDictionary().codes, chunk, role)
            chunk = chunk.select(~lacks_id)
        if not chunk:
            return
        if prefix := enrolment_prefix(self.scan.columns):
            name = pl.col("enrol").cast(pl.String).str.strip_chars()
            frame = chunk.frame.with_columns(enrol=pl.lit(prefix) + name)
            chunk = replace(chunk, frame=frame)
        enrol, test = (self.ids.codes(chunk, role) for role in _ID_ROLES)
        label, score = self._labels(chunk), self._scores(chunk)
        self.chunks.append(EncodedRows(enrol, test, label, score))
        if "enrol_speaker" in self.scan.columns:
            owner = self.speakers.codes_of_speakers(chunk, "enrol_speaker")
            self.owners.append((enrol, owner))
        self._add_test_speakers(chunk, test, label)
        if "attack" in chunk.columns:
            check_attacks(chunk, label)
        for role in chunk.frame.columns:
            if trial_key(role) in self.cells:
                self.cells[trial_key(role)].add(
                    attack_cells(chunk) if role == "attack" else chunk[role]
                )

    def _add_test_speakers(
        self, chunk: Chunk, test: NDArray[np.int32], label: NDArray[np.int8]
    ) -> None:
        """Add the speakers of test recordings, as an audit does."""
        speaker = test_speaker_codes(chunk, label, self.speakers, infers_callers=True)
        if speaker is not None:
            self.owners.append((test, speaker))

    def _try(self, read: Callable[..., NDArray[Any]], *arguments: object) -> NDArray[Any] | None:
        """Return what a reader of the audit returns; None and a problem if it refuses."""
        try:
            return read(*arguments)
        except DataError as error:
            self.problems = self.problems or [str(error)]
            return None

    def _labels(self, chunk: Chunk) -> NDArray[np.int8]:
        """Return the labels of some rows, -1 for none or if an audit would refuse them."""
        if "label" not in self.scan.columns:
            return np.full(len(chunk), -1, dtype=np.int8)
        codes_of_audit = self._try(labels, chunk)
        if self.scan.by_content == ("label",):  # the only role that is left open
            words = _cell_text(chunk["label"]).str.strip_chars().drop_nulls()
            self.label_words |= dict.fromkeys(words.unique(maintain_order=True).to_list())
        if codes_of_audit is not None:
            return codes_of_audit
        self.has_unread_labels = True
        return np.full(len(chunk), -1, dtype=np.int8)

    def _scores(self, chunk: Chunk) -> NDArray[np.float64]:
        """Return the scores of some rows, nan for none or if an audit would refuse them."""
        if "score" not in self.scan.columns:
            return np.zeros(len(chunk))
        scores_of_audit = self._try(scores, chunk, self.scan)
        if scores_of_audit is not None:
            self.add_warning(UNSCORED, int(np.isnan(scores_of_audit).sum()))
            self.add_warning(INFINITE, int(np.isinf(scores_of_audit).sum()))
            return scores_of_audit
        return np.full(len(chunk), np.nan)

    def result(self, name: str, scanned: Scan) -> InspectedTrials:
        """Return the findings about the rows."""
        ids, new_position = self.ids.sorted()
        rows = joined_rows(self.chunks)
        rows = rows._replace(enrol=new_position[rows.enrol], test=new_position[rows.test])
        speaker, rule = self._speakers(ids, new_position)
        self._count_pairs(rows, len(ids))
        is_unknown = speaker.is_null().to_numpy()[rows.test] & (rows.label == 0)
        is_unknown &= ~speaker.is_in(placeholders()).fill_null(value=False).to_numpy()[rows.enrol]
        n_unknown = int((is_unknown & ~np.isnan(rows.score)).sum())
        self.add_warning(WITHOUT_TEST_SPEAKER, n_unknown, NOTE_WITHOUT_TEST_SPEAKER)
        columns = scanned.columns
        recipe = self._recipe()
        content = scanned.content
        used_columns = set(self.scan.columns.values())
        has_labels = "label" in columns and not self.has_unread_labels
        roles_by_content = {role: columns[role] for role in scanned.by_content}
        by_content = [DataWarning(fact("columns_by_content", columns=roles_by_content), 0)]
        findings = FileFindings(
            name=name,
            kind="scores" if {"score", "decision"} & set(columns) else "trials",
            format=scanned.format,
            read={} if content is None else reading_facts(content.provenance),
            roles=dict(columns),
            columns=tuple(self._column(role, cells) for role, cells in self.cells.items()),
            rows=self.n_rows,
            whole=self.is_whole,
            ids=_id_findings(ids, rows),
            speaker_rule=_speaker_rule(rule, speaker, rows) if len(ids) else None,
            labels=_label_counts(rows) if has_labels else None,
            scores=_score_summary(rows) if "score" in columns else None,
            warnings=(
                *(by_content if scanned.by_content else ()),
                *self.warnings.values(),
                *id_warnings(ids),
            ),
            problems=tuple(self.problems),
            ignored=tuple(column for column in scanned.ignored if column not in used_columns),
        )
        return InspectedTrials(findings, scanned, ids, rows, speaker, recipe)

    def _recipe(self) -> dict[str, str]:
        """Return the contents of ``--columns`` that the words of labels and decisions need."""
        return {**self._label_recipe(), **self._decision_recipe()}

    def _label_recipe(self) -> dict[str, str]:
        """Return the column of labels that no name tells, and what its words mean."""
        classes = {LABELS[word.lower()] for word in filter(is_label, self.label_words)}
        if SPOOF not in classes:
            return {}
        words_by_class: dict[str, list[str]] = {}
        for word in filter(is_label, self.label_words):
            class_name = TRIAL_CLASSES[LABELS[word.lower()]]
            if word.lower() != class_name:
                words_by_class.setdefault(class_name, []).append(word)
        return {"label": self.scan.columns["label"]} | {
            name: words_by_class[name][0]
            for name in ("target", "nontarget", "spoof")
            if len(words_by_class.get(name, ())) == 1
        }

    def _decision_recipe(self) -> dict[str, str]:
        """Return the contents of ``--columns`` for unknown words of decisions, and report them."""
        if "decision" not in self.cells:
            return {}
        recipe, explanation = decision_words(self.cells["decision"].words())
        column = self.scan.columns["decision"]
        if UNKNOWN_WORD in recipe.values():
            self.problems.append(
                f"{self.scan.name}: column {column!r}: {explanation}; say it with "
                f"{columns_option(recipe)}"
            )
        elif recipe:
            if user_word := self.requested_columns.words.get("failed"):
                recipe["failed"] = f"{user_word}|{recipe['failed']}"
            words = unknown_words(self.cells["decision"].words())
            failures = fact("words_of_failures", column=column, words=words, columns=recipe)
            self.warnings["decision"] = DataWarning(failures, 0)
        return recipe

    def _count_pairs(self, rows: EncodedRows, n_ids: int) -> None:
        """Count pairs that occur several times."""
        scored = rows.take(~np.isnan(rows.score))
        pair_keys = pair_key(scored.enrol, scored.test, n_ids)
        order = np.argsort(pair_keys)
        distinct_keys, counts = np.unique(pair_keys[order], return_counts=True)
        repeated = order[np.repeat(counts > 1, counts)]
        repeated = repeated[
            np.lexsort((scored.score[repeated], scored.label[repeated], pair_keys[repeated]))
        ]
        equal = np.ones(max(repeated.size - 1, 0), dtype=bool)
        for column in (pair_keys, scored.label, scored.score):
            equal &= column[repeated][1:] == column[repeated][:-1]
        different_keys = pair_keys[repeated][np.append(True, ~equal)[: repeated.size]]
        counts_of_different = np.unique(different_keys, return_counts=True)[1]
        self.add_warning(DUPLICATES, int(equal.sum()), COUNTED_ONCE)
        note = "refused_or_set_aside"
        self.add_warning(CONFLICTS, int(counts_of_different[counts_of_different > 1].sum()), note)
        is_reversed = (distinct_keys[1:] ^ distinct_keys[:-1]) == 1
        self.add_warning(REVERSED, int(is_reversed.sum()), "each_direction_is_a_trial")
        self.add_warning(SAME_UTTERANCE, int((scored.enrol == scored.test).sum()))

    def _column(self, role: str, cells: CellCounter) -> InspectedColumn:
        """Return one column; of an attribute with a column per side, one for both."""
        if not role.startswith(ATTRIBUTE_PREFIX):
            return cells.column(self.scan.columns[role], role)
        names_by_role = {
            side_role: name
            for side_role, name in self.scan.columns.items()
            if trial_key(side_role) == role
        }
        if len(names_by_role) > 1:
            counted_column = cells.column(role.removeprefix(ATTRIBUTE_PREFIX))
            return replace(counted_column, sides=tuple(names_by_role.values()))
        ((role_name, name),) = names_by_role.items()
        return cells.column(name if role_name == role else role_name.removeprefix(ATTRIBUTE_PREFIX))

    def _speakers(self, ids: pl.Series, new_position: NDArray[np.int32]) -> tuple[pl.Series, str]:
        """Return the speaker of each id, null if not known, and the rule that gives it."""
        components = first_components(ids)
        if not self.owners:
            return components, "component" if 2 * ids.str.contains(r"[/\\]").sum() > len(
                ids
            ) else "id"
        names, name_position = self.speakers.sorted()
        speaker_index = np.full(len(ids), -1, dtype=np.int64)
        for codes, owner_codes in reversed(self.owners):
            is_known = owner_codes >= 0
            unknown = new_position[codes[owner_codes == UNKNOWN_SPEAKER]]
            speaker_index[unknown[speaker_index[unknown] < 0]] = UNKNOWN_SPEAKER
            speaker_index[new_position[codes[is_known]]] = name_position[owner_codes[is_known]]
        known_names = names.gather(
            pl.Series(np.where(speaker_index < 0, -1, speaker_index)).replace(-1, None)
        )
        by_path = (
            pl.when(pl.Series(speaker_index == UNKNOWN_SPEAKER))
            .then(None)
            .otherwise(known_names.fill_null(components))
        )
        return pl.select(by_path).to_series(), "columns"


def _cell_text(cells: pl.Series) -> pl.Series:
    """Return cells as text; empty ones are null."""
    return cells.cast(pl.String, strict=False).str.strip_chars().replace("", None)


def _id_findings(ids: pl.Series, rows: EncodedRows) -> tuple[IdFindings, ...]:
    """Return one kind of ids, or two if no enrolment is also a test."""
    enrol, test = (np.flatnonzero(np.bincount(codes)) for codes in (rows.enrol, rows.test))
    if np.intersect1d(enrol, test, assume_unique=True).size or not len(ids):
        return (IdFindings("utterances", len(ids), tuple(ids.head(1))),)
    used = {"enrolments": enrol, "tests": test}
    return tuple(
        IdFindings(kind, positions.size, (ids[int(positions[0])],))
        for kind, positions in used.items()
    )


def _speaker_rule(rule: str, speaker: pl.Series, rows: EncodedRows) -> SpeakerRule:
    """Return the rule with the number of speakers, and the share of labels that contradict it."""
    is_nobody = speaker.is_in(placeholders())
    speakers = speaker.set(is_nobody, None)
    speaker_code = speakers.rank("dense").fill_null(0).to_numpy()
    # a spoof trial has no speaker who would agree with its label, whoever it imitates
    has_speaker = (rows.label >= 0) & (rows.label != SPOOF)
    is_known = has_speaker & (speaker_code[rows.enrol] > 0) & (speaker_code[rows.test] > 0)
    contradicts = (speaker_code[rows.enrol] == speaker_code[rows.test])[is_known] != (
        rows.label[is_known] == 1
    )
    return SpeakerRule(
        rule,
        speakers.drop_nulls().n_unique(),
        float(contradicts.mean()) if is_known.any() else None,
    )


def _label_counts(rows: EncodedRows) -> LabelFindings:
    """Return the numbers of trials by label."""
    return LabelFindings(
        target=int((rows.label == TARGET).sum()),
        nontarget=int((rows.label == NONTARGET).sum()),
        spoof=int((rows.label == SPOOF).sum()),
    )


def _score_summary(rows: EncodedRows) -> ScoreFindings | None:
    """Return range, number and AUC of the finite scores; None if there are none."""
    distinct_scores, _ = count_distinct(rows.score[np.isfinite(rows.score)])
    if not distinct_scores.size:
        return None
    low, high = float(distinct_scores[0]), float(distinct_scores[-1])
    return ScoreFindings(
        low, high, distinct_scores.size, auc_where_labelled(rows.score, rows.label)
    )


def auc_where_labelled(score: NDArray[np.float64], label: NDArray[np.int8]) -> float | None:
    """Return the AUC of trials with score and label; None without trials of both labels."""
    has_both = ~np.isnan(score) & (label >= 0)
    area = float(auc(score[has_both], label[has_both])) if has_both.any() else float("nan")
    return None if np.isnan(area) else area


def is_llr(findings: FileFindings) -> bool:
    """Whether the name of the score column is that of log-likelihood ratios."""
    return plain_name((findings.roles or {}).get("score", "")) == "llr"


def add_score_warnings(trials: InspectedTrials) -> InspectedTrials:
    """Return the trials with warnings about their scores, which need the labels."""
    scores = trials.findings.scores
    if scores is None:
        return trials
    is_scored = ~np.isnan(trials.rows.score)
    score, label = trials.rows.score[is_scored], trials.rows.label[is_scored]
    is_distance = scores.auc is not None and scores.auc < _CHANCE_AUC
    distinct_scores, score_index = np.unique(-score if is_distance else score, return_inverse=True)
    target, nontarget = (
        np.bincount(score_index, is_of_class, minlength=distinct_scores.size).astype(np.int64)
        for is_of_class in (label == TARGET, (label != TARGET) & (label != SPOOF))
    )
    if is_distance:
        distinct_scores = -distinct_scores
    is_same_recording = (trials.rows.enrol == trials.rows.test)[is_scored] & (label == 1)
    target_warnings = target_trial_warnings(
        int((label == 1).sum()), int(is_same_recording.sum()), 0
    )
    warnings = (
        *trials.findings.warnings,
        *target_warnings,
        *score_warnings(distinct_scores, target, nontarget),
    )
    if is_llr(trials.findings) and scores.auc is not None and not is_distance:
        warnings += tuple(llr_warnings(Counts(distinct_scores, target, nontarget)))
    return replace(trials, findings=replace(trials.findings, warnings=warnings))
