"""Rows of trials as numbers: of a score file and, where it stands apart, of a trial list."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import polars as pl

from parivox.core.counts import NONTARGET, SPOOF, TARGET
from parivox.data.attributes import (
    Attribute,
    AttributeCoder,
    AttributeValues,
    attribute_columns,
    side_keys,
    trial_key,
)
from parivox.data.cell_words import BONA_FIDE_WORDS, NO_ATTACK_WORDS
from parivox.data.columns import lacks_caller_column, only_customer_column
from parivox.data.decision_days import DecisionsByDay
from parivox.data.ids import UNKNOWN_SPEAKER, IdCollector, IdDictionary
from parivox.data.joining import column_speaker_rows
from parivox.data.trial_checks import DataNote, EncodedRows
from parivox.data.trial_notes import score_format_hint
from parivox.data.trial_shards import SourceRows
from parivox.data.trial_values import SECONDS_PER_DAY, decisions, failures, labels, numbers, scores
from parivox.errors import DataError
from parivox.facts import fact

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from parivox.data.formats.format import Chunk, Scan

MAX_TRIAL_ATTRIBUTE_VALUES = 10_000
"""An attribute of trials with more values is no grouping; its numbers may be put in bands."""


class TrialRows:
    """Rows of a score file and perhaps of a trial list, as they are read.

    Columns of `attributes` may stand in the rows. Where enrolments are models, their ids are others
    than those of recordings. Where no column names who calls, labels show whether it is who is
    claimed, with `infers_callers`. `unscored` rows only say who is compared with whom; with
    `keeps_scores`, their scores are in ``extra_columns["kept_score"]``. Decisions are counted by
    the day in `day_columns`.
    """

    def __init__(
        self,
        attributes: Sequence[Attribute] = (),
        *,
        is_distance: bool = False,
        has_models: bool = False,
        needs_speakers: bool = True,
        infers_callers: bool = False,
        unscored: bool = False,
        keeps_scores: bool = False,
        day_columns: Sequence[str] = (),
    ) -> None:
        self.attributes, self.sign = attributes, -1.0 if is_distance else 1.0
        self.infers_callers = infers_callers
        self.unscored, self.needs_speakers = unscored, needs_speakers
        self.keeps_scores = keeps_scores
        self.by_day = DecisionsByDay(day_columns)
        self.ids = IdCollector()
        self.named = IdDictionary()  # speakers that columns name
        self.model_ids = IdCollector() if has_models else None
        self.values: dict[str, AttributeCoder] = {}
        self.attacks = AttributeCoder(Attribute("attack", "attack"))
        self.thresholds: NDArray[np.float64] = np.empty(0)  # deployed ones, as they appear
        self.is_scored, self.is_decided = True, False  # whether there are scores, decisions
        self.scored = self.listed = 0  # runs of ids of the score file, and of both files
        self.scans: list[Scan] = []
        self.sources: list[SourceRows] = []  # rows of either file

    def read_scores(self, scanned: Scan) -> None:
        """Read the rows of the score file, or of a list that needs no scores."""
        if self.unscored:
            self._read_rows(scanned, "trials")
            self.scored = self.listed = self.ids.runs
            return
        self.is_scored = "decision" not in scanned.columns  # unless there are scores, too
        if self.is_scored and "score" not in scanned.columns:
            remedy = (
                "this is a trial list. Pass it with --trials, together with a score file"
                if {"enrol", "test"} <= set(scanned.columns)
                else "name the columns with --columns enrol=...,test=...,score=..."
            )
            msg = f"{scanned.name}: no score column{scanned.found_columns_text}"
            hint = f"{remedy}{score_format_hint(scanned)}"
            raise DataError(msg, hint)
        self._read_rows(scanned, "scores")
        self.scored = self.listed = self.ids.runs

    def read_list(self, scanned: Scan) -> None:
        """Read the rows of the trial list; scores in it do not count."""
        self._read_rows(scanned, "trials")
        self.listed = self.ids.runs

    def _read_rows(self, scanned: Scan, name: str) -> None:
        source_rows = SourceRows(name)
        self.scans.append(scanned)
        for file in scanned.files:
            for chunk in trial_chunks(file):
                source_rows.add(self._encoded(chunk, file, scored=name == "scores"))
                if any(ids.is_full for ids in self._every_ids):
                    self._end_run()
        self._end_run()
        self.sources.append(source_rows)

    @property
    def files(self) -> list[Scan]:
        """Every file by itself."""
        return [file for scanned in self.scans for file in scanned.files]

    @property
    def _every_ids(self) -> list[IdCollector]:
        return [self.ids] if self.model_ids is None else [self.model_ids, self.ids]

    def _end_run(self) -> None:
        """End the runs of ids, which are numbered alike."""
        for ids in self._every_ids:
            ids.end_run()

    def _encoded(self, chunk: Chunk, scanned: Scan, *, scored: bool) -> EncodedRows:
        run, n = self.ids.runs, len(chunk)
        label = labels(chunk) if "label" in chunk.columns else np.full(n, -1, dtype=np.int8)
        enrol, test = self._coded_ids(chunk, label)
        extra_columns: dict[str, NDArray[Any]] = {}
        for key, role, attribute in attribute_columns(self.attributes, scanned):
            coder = self.values.setdefault(trial_key(key), AttributeCoder(attribute))
            extra_columns[key] = coder.codes(chunk[role], chunk.name)
            if coder.n_values > MAX_TRIAL_ATTRIBUTE_VALUES:
                msg = (
                    f"{chunk.name}: column {chunk.columns[role]!r} has more than "
                    f"{MAX_TRIAL_ATTRIBUTE_VALUES:,} "
                    "values, so no trials can be grouped by it"
                )
                hint = f"if the values are numbers, give bands, for example {attribute.name}:1,30"
                raise DataError(msg, hint)
        if "attack" in chunk.columns:
            check_attacks(chunk, label)
            extra_columns["attack"] = self.attacks.codes(attack_cells(chunk), chunk.name)
        score = np.full(n, np.nan)
        if self.unscored:
            score = cast("Any", np.zeros(n, dtype=np.float16))  # which take little room
            if self.keeps_scores and "score" in chunk.columns:
                extra_columns["kept_score"] = scores(chunk, scanned)
        if scored:
            extra_columns |= self._outcomes(chunk)
            if "accepted" in extra_columns:
                self.by_day.add(chunk, extra_columns["accepted"])
            if "score" in chunk.columns:
                score = self.sign * scores(chunk, scanned) + 0.0
                self.is_scored = self.is_scored or not np.isnan(score).all()
        return EncodedRows(enrol, test, label, score, extra_columns, run)

    def _coded_ids(
        self, chunk: Chunk, label: NDArray[np.int8]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Codes of the utterances in their run; the speakers of columns are noted."""
        if self.model_ids is None:
            enrol, test = self.ids.read(chunk, "enrol", "test")
            sides = {"enrol_speaker": enrol, "test_speaker": test}
        else:
            (enrol,) = self.model_ids.read(chunk, "enrol")
            (test,) = self.ids.read(chunk, "test")
            sides = {"test_speaker": test}
        if self.needs_speakers:
            if "enrol_speaker" in sides and "enrol_speaker" in chunk.columns:
                self._note_speakers(enrol, self.named.codes_of_speakers(chunk, "enrol_speaker"))
            speaker = test_speaker_codes(
                chunk, label, self.named, infers_callers=self.infers_callers
            )
            if speaker is not None:
                self._note_speakers(test, speaker)
        return enrol, test

    def _outcomes(self, chunk: Chunk) -> dict[str, NDArray[Any]]:
        """What became of the trials besides their scores."""
        outcomes: dict[str, NDArray[Any]] = {}
        if "decision" in chunk.columns:
            outcomes["accepted"] = decisions(chunk)
            self.is_decided = self.is_decided or bool((outcomes["accepted"] >= 0).any())
        if "threshold" in chunk.columns:
            outcomes["threshold"] = self._thresholds(numbers(chunk, "threshold"))
        if "status" in chunk.columns:
            outcomes["failed"] = failures(chunk)
        if "seconds" in chunk.columns:
            outcomes["seconds"] = numbers(chunk, "seconds", lowest=0.0, highest=SECONDS_PER_DAY)
        return outcomes

    def _thresholds(self, thresholds: NDArray[np.float64]) -> NDArray[np.int32]:
        """Code of each trial's threshold, in the order in which they appear; -1 for none."""
        if self.sign < 0:
            thresholds = 0.0 - thresholds
        is_known = ~np.isnan(thresholds)
        distinct, position = np.unique(thresholds[is_known], return_inverse=True)
        self.thresholds = np.append(self.thresholds, distinct[~np.isin(distinct, self.thresholds)])
        order = np.argsort(self.thresholds)
        codes = np.full(thresholds.size, -1, dtype=np.int32)
        codes[is_known] = order[np.searchsorted(self.thresholds, distinct, sorter=order)][position]
        return codes

    def _note_speakers(self, codes: NDArray[np.int32], speaker_codes: NDArray[np.int32]) -> None:
        """Take the speaker of each utterance of a run from a column, -1 where it tells none."""
        speaker_of_id = self.ids.values
        if (speaker_codes < 0).any():
            unknown_ids = codes[speaker_codes == UNKNOWN_SPEAKER]
            speaker_of_id[unknown_ids[speaker_of_id[unknown_ids] < 0]] = UNKNOWN_SPEAKER
            codes, speaker_codes = codes[speaker_codes >= 0], speaker_codes[speaker_codes >= 0]
        unnamed_rows = np.flatnonzero(speaker_of_id[codes] < 0)[
            ::-1
        ]  # the first row has the last word
        speaker_of_id[codes[unnamed_rows]] = speaker_codes[unnamed_rows]
        if (speaker_of_id[codes] != speaker_codes).any():
            self.check_names()

    def check_names(self) -> None:
        """Refuse an utterance of which columns name two speakers."""
        files = self.files
        speaker_rows = column_speaker_rows(files).unique(
            ["utterance", "speaker"], keep="first", maintain_order=True
        )
        contradictory_rows = speaker_rows.filter(pl.col("utterance").is_duplicated())
        if contradictory_rows.height:  # else they differ in the blanks around them only
            later_row = contradictory_rows.filter(~pl.col("utterance").is_first_distinct()).row(
                0, named=True
            )
            earlier_row = contradictory_rows.filter(
                pl.col("utterance") == later_row["utterance"]
            ).row(0, named=True)
            source, other_source = (
                files[file_row["scan"]] for file_row in (later_row, earlier_row)
            )
            other_file = f" of {other_source.name}" if source is not other_source else ""
            msg = (
                f"{source.location(later_row['row'], later_row['role'])}: utterance "
                f"{later_row['utterance']!r} has speaker {later_row['speaker']!r} here, but "
                f"{earlier_row['speaker']!r} in row {earlier_row['row']}{other_file}"
            )
            hint = "correct one of the rows"
            raise DataError(msg, hint)

    def levels(self) -> tuple[dict[str, AttributeValues], dict[str, NDArray[np.int32]]]:
        """Values of the attributes in the rows, and the final codes of what is coded there."""
        attribute_values: dict[str, AttributeValues] = {}
        columns: dict[str, NDArray[np.int32]] = {}
        for key, coder in self.values.items():
            attribute_values[key], final_code = coder.ordered_values()
            columns |= dict.fromkeys(side_keys(key), final_code)
        attack_values, columns["attack"] = self.attacks.ordered_values()
        self.attack_names = attack_values.values or ()
        if self.thresholds.size:
            final_code = np.empty(self.thresholds.size + 1, dtype=np.int32)
            final_code[np.argsort(self.thresholds)] = np.arange(self.thresholds.size)
            final_code[-1] = -1
            columns["threshold"] = final_code
        return attribute_values, columns

    def deployed(self) -> NDArray[np.float64]:
        """Every threshold, rising, then NaN."""
        return np.append(np.sort(self.thresholds), np.nan)

    def empty_columns(self) -> set[str]:
        """Columns of which every cell is empty."""
        filled = {"threshold": self.thresholds.size > 0, "accepted": self.is_decided}
        return {name for name, is_filled in filled.items() if not is_filled}

    def notes(self) -> list[DataNote]:
        """What stands in for labels, and columns that stand where they do not count."""
        row_notes = []
        if not any("label" in scanned.columns for scanned in self.scans):
            note = "no_labels"
            if customer_column := only_customer_column(self.scans[0].columns):
                note = fact("no_labels_and_no_claims", column=customer_column)
            row_notes.append(
                DataNote("scores", "trials_labelled_by_speakers", self.sources[-1].rows, note)
            )
        for scanned, source_rows in zip(self.scans[1:], self.sources[1:], strict=True):
            for role in ("decision", "threshold", "status", "seconds"):
                if role in scanned.columns:
                    item = fact("rows_with_unused_column", column=scanned.columns[role])
                    row_notes.append(
                        DataNote("trials", item, source_rows.rows, "scores_tell_outcomes")
                    )
        if any(file.format == "espnet-spoof" for file in self.files):
            row_notes.append(DataNote("scores", "labels_of_espnet_spoof", self.sources[0].rows))
        score_columns = self.scans[0].columns
        if "stage" in score_columns and "status" not in score_columns:
            item = fact("rows_with_unused_column", column=score_columns["stage"])
            row_notes.append(DataNote("scores", item, self.sources[0].rows, "no_status"))
        return row_notes

    def provenance(self) -> list[dict[str, Any]]:
        """What was read."""
        file_records = []
        roles = ("trials",) if self.unscored else ("scores", "trials")
        for role, scanned in zip(roles, self.scans, strict=False):
            for file in scanned.files:
                name = Path(file.name).name  # which may be told by its path
                file_record: dict[str, Any] = {"role": role, "name": name, "format": file.format}
                if file.content is not None:
                    file_record |= file.content.provenance
                file_record |= {"columns": file.columns, "ignored": list(file.ignored)}
                if file.by_content:
                    file_record["by_content"] = list(file.by_content)
                file_records.append(file_record)
        return file_records


def trial_chunks(scanned: Scan) -> Iterator[Chunk]:
    """Chunks without blank rows; no trial, or no column of either side, is an error."""
    for role in ("enrol", "test"):
        if role not in scanned.columns:
            speaker_column = scanned.columns.get(f"{role}_speaker") if role == "enrol" else None
            remedy = f"name it with --columns {role}=..."
            if speaker_column is not None:
                remedy += f"; or, if each speaker is enrolled once, {role}={speaker_column}"
            if {"enrol_speaker", "test_speaker"} <= scanned.columns.keys():
                remedy = _ids_remedy(scanned)
            elif {"score", "label"} <= scanned.columns.keys() and "test" not in scanned.columns:
                remedy += "; give scores and labels without ids to parivox metrics"
            if scanned.format == "jsonl" and "file" in scanned.ignored:
                remedy = "this table describes recordings, not pairs: give it with --utterances"
            msg = f"{scanned.name}: has no column of {role} utterances{scanned.found_columns_text}"
            raise DataError(msg, remedy)
    is_empty = True
    for chunk_with_blanks in scanned.chunks():
        if chunk := chunk_with_blanks.without_blanks():
            is_empty = False
            yield chunk
    if is_empty:
        msg = f"{scanned.name}: contains no trials"
        hint = "give a file with one trial per row"
        raise DataError(msg, hint)


def attack_cells(chunk: Chunk) -> pl.Series:
    """Return the attack of each row; null in rows of bona fide speech."""
    attack = chunk["attack"].cast(pl.String).str.strip_chars()
    is_bona_fide = attack.str.to_lowercase().is_in([*NO_ATTACK_WORDS])
    return attack.set(is_bona_fide.fill_null(value=False), None)


def check_attacks(chunk: Chunk, label: NDArray[np.int8]) -> None:
    """Refuse spoof trials whose attack is a word for bona fide speech."""
    attack = chunk["attack"].cast(pl.String).str.strip_chars().str.to_lowercase()
    is_bona_fide = attack.is_in([*BONA_FIDE_WORDS]).fill_null(value=False).to_numpy()
    remedy = "correct the label or the attack, or empty the cell where the attack is unknown"
    chunk.refuse(
        (label == SPOOF) & is_bona_fide, "attack", "is no attack, but labelled spoof", remedy
    )


def _ids_remedy(scanned: Scan) -> str:
    """Return how to give ids to trials of which both speakers are named.

    Speakers alone do not tell trials of one pair of speakers from each other.
    """
    lacking = [side for side in ("enrol", "test") if side not in scanned.columns]
    columns = {"enrol": scanned.columns["enrol_speaker"], "test": "COLUMN"}
    option = ",".join(f"{side}={columns[side]}" for side in lacking)
    remedy = f"name it with --columns {option}"
    if "test" in lacking:
        remedy += (
            "; if no column contains the test recordings, write the scores with their ids (bob: "
            "bio_ref_template_id and probe_template_id)"
        )
    return remedy


def test_speaker_codes(
    chunk: Chunk, label: NDArray[np.int8], speaker_names: IdDictionary, *, infers_callers: bool
) -> NDArray[np.int32] | None:
    """Code of the speaker of each row's test recording, -1 where the row does not tell.

    None where no row does. A nontarget or spoof trial may be of somebody whom nobody knows:
    `UNKNOWN_SPEAKER`. Where no column names who calls, labels show whether it is who is claimed, if
    `infers_callers`.
    """
    is_target = label == TARGET
    if lacks_caller_column(chunk.columns):
        if "test_speaker" not in chunk.columns and not infers_callers:
            return None
        speaker = np.where(
            is_target, speaker_names.codes_of_speakers(chunk, "enrol_speaker"), UNKNOWN_SPEAKER
        )
        if "test_speaker" not in chunk.columns:  # ids may begin with their speaker
            is_path = chunk["test"].cast(pl.String).str.contains(r"[/\\]")
            speaker[is_path.to_numpy()] = -1
        return speaker
    if "test_speaker" not in chunk.columns:
        return None
    is_empty = chunk.is_empty("test_speaker")
    if not (is_empty & (label >= 0)).any():
        return speaker_names.codes_of_speakers(chunk, "test_speaker")
    if "enrol_speaker" in chunk.columns:  # a target trial is of who enrolled
        claimed_speaker = pl.when(pl.Series(is_empty & is_target)).then("enrol_speaker")
        filled = chunk.frame.with_columns(test_speaker=claimed_speaker.otherwise("test_speaker"))
        chunk = replace(chunk, frame=filled)
    speaker = np.full(len(chunk), UNKNOWN_SPEAKER)
    is_known = ~is_empty | ~np.isin(label, (NONTARGET, SPOOF))
    speaker[is_known] = speaker_names.codes_of_speakers(
        chunk.select(pl.Series(is_known)), "test_speaker"
    )
    return speaker
