"""Rows of trials as numbers: of a score file and, where it stands apart, of a trial list."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import polars as pl

from parivox.data.attributes import AttributeCoder, AttributeValues, columns_of, sides_of, whole_of
from parivox.data.columns import alone, names_no_callers
from parivox.data.decision_days import DecisionsByDay
from parivox.data.ids import UNKNOWN, IdCollector, IdDictionary
from parivox.data.joining import named_rows
from parivox.data.spilled_rows import RowStore, ranges
from parivox.data.trial_checks import DataNote, EncodedRows
from parivox.data.trial_notes import labels_or_scores
from parivox.data.trial_values import DAY, decisions, failures, labels, numbers, scores
from parivox.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from parivox.data.attributes import Attribute
    from parivox.data.formats.format import Chunk, Scan
    from parivox.data.spilled_rows import FinalCodes
    from parivox.runtime.disk import ScratchFolder

MOST_VALUES = 10_000
"""An attribute of trials with more values is no grouping; its numbers may be put in bands."""


class TrialRows:
    """Rows of a score file and perhaps of a trial list, as they are read.

    Columns of `attributes` may stand in the rows. Where enrolments are models, their ids are others
    than those of recordings. Where no column names who calls, labels tell whether it is who is
    claimed, with `infers_callers`. `unscored` rows count for who is compared with whom alone; with
    `keeps_scores`, their scores stand beside them, as ``more["kept_score"]``. Decisions are counted
    by the day that `day_columns` tell.
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
        self.thresholds: NDArray[np.float64] = np.empty(0)  # deployed ones, as they appear
        self.is_scored, self.is_decided = True, False  # whether there are scores, decisions
        self.scored = self.listed = 0  # runs of ids of the score file, and of both files
        self.scans: list[Scan] = []
        self.stores: list[RowStore] = []  # rows of either file

    def read_scores(self, scanned: Scan) -> None:
        """Read the rows of the score file, or of a list that needs no scores."""
        if self.unscored:
            self._read_rows(scanned, "trials")
            self.scored = self.listed = self.ids.runs
            return
        self.is_scored = "decision" not in scanned.columns  # unless there are scores, too
        if self.is_scored and "score" not in scanned.columns:
            mend = (
                "this is a trial list. Pass it with --trials, together with a score file"
                if {"enrol", "test"} <= set(scanned.columns)
                else "name them with --columns enrol=...,test=...,score=..."
            )
            msg = f"{scanned.name}: no score column{scanned.found_columns_text}; {mend}"
            raise DataError(msg + labels_or_scores(scanned))
        self._read_rows(scanned, "scores")
        self.scored = self.listed = self.ids.runs

    def read_list(self, scanned: Scan) -> None:
        """Read the rows of the trial list; scores in it do not count."""
        self._read_rows(scanned, "trials")
        self.listed = self.ids.runs

    def _read_rows(self, scanned: Scan, name: str) -> None:
        rows = RowStore(name)
        self.scans.append(scanned)
        for one in scanned.files:
            for chunk in chunks_of_trials(one):
                rows.add(self._encoded(chunk, one, scored=name == "scores"))
                if any(ids.is_full for ids in self._every_ids):
                    self._end_run()
        self._end_run()
        self.stores.append(rows)

    @property
    def files(self) -> list[Scan]:
        """Every file by itself."""
        return [one for scanned in self.scans for one in scanned.files]

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
        more: dict[str, NDArray[Any]] = {}
        for key, role, attribute in columns_of(self.attributes, scanned):
            values = self.values.setdefault(whole_of(key), AttributeCoder(attribute))
            more[key] = values.codes(chunk[role], chunk.name)
            if values.n_values > MOST_VALUES:
                msg = (
                    f"{chunk.name}: column {chunk.columns[role]!r} has more than {MOST_VALUES:,} "
                    "values, so no trials can be grouped by it; if they are numbers, give bands, "
                    f"as in {attribute.name}:1,30"
                )
                raise DataError(msg)
        score = np.full(n, np.nan)
        if self.unscored:
            score = cast("Any", np.zeros(n, dtype=np.float16))  # which take little room
            if self.keeps_scores and "score" in chunk.columns:
                more["kept_score"] = scores(chunk, scanned)
        if scored:
            more |= self._outcomes(chunk)
            if "accepted" in more:
                self.by_day.add(chunk, more["accepted"])
            if "score" in chunk.columns:
                score = self.sign * scores(chunk, scanned) + 0.0
                self.is_scored = self.is_scored or not np.isnan(score).all()
        return EncodedRows(enrol, test, label, score, more, run)

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
            speaker = test_speakers(chunk, label, self.named, infers_callers=self.infers_callers)
            if speaker is not None:
                self._note_speakers(test, speaker)
        return enrol, test

    def _outcomes(self, chunk: Chunk) -> dict[str, NDArray[Any]]:
        """What became of the trials besides their scores."""
        found: dict[str, NDArray[Any]] = {}
        if "decision" in chunk.columns:
            found["accepted"] = decisions(chunk)
            self.is_decided = self.is_decided or bool((found["accepted"] >= 0).any())
        if "threshold" in chunk.columns:
            found["threshold"] = self._thresholds(numbers(chunk, "threshold"))
        if "status" in chunk.columns:
            found["failed"] = failures(chunk)
        if "seconds" in chunk.columns:
            found["seconds"] = numbers(chunk, "seconds", least=0.0, most=DAY)
        return found

    def _thresholds(self, level: NDArray[np.float64]) -> NDArray[np.int32]:
        """Code of each trial's threshold, in the order in which they appear; -1 for none."""
        if self.sign < 0:
            level = 0.0 - level
        is_known = ~np.isnan(level)
        found, place = np.unique(level[is_known], return_inverse=True)
        self.thresholds = np.append(self.thresholds, found[~np.isin(found, self.thresholds)])
        order = np.argsort(self.thresholds)
        codes = np.full(level.size, -1, dtype=np.int32)
        codes[is_known] = order[np.searchsorted(self.thresholds, found, sorter=order)][place]
        return codes

    def _note_speakers(self, codes: NDArray[np.int32], owner: NDArray[np.int32]) -> None:
        """Take the speaker of each utterance of a run from a column, -1 where it tells none."""
        named = self.ids.values
        if (owner < 0).any():
            unknown = codes[owner == UNKNOWN]
            named[unknown[named[unknown] < 0]] = UNKNOWN
            codes, owner = codes[owner >= 0], owner[owner >= 0]
        fresh = np.flatnonzero(named[codes] < 0)[::-1]  # the first row has the last word
        named[codes[fresh]] = owner[fresh]
        if (named[codes] != owner).any():
            self.check_names()

    def check_names(self) -> None:
        """Refuse an utterance of which columns name two speakers."""
        files = self.files
        named = named_rows(files).unique(
            ["utterance", "speaker"], keep="first", maintain_order=True
        )
        twice = named.filter(pl.col("utterance").is_duplicated())
        if twice.height:  # else they differ in the blanks around them only
            later = twice.filter(~pl.col("utterance").is_first_distinct()).row(0, named=True)
            above = twice.filter(pl.col("utterance") == later["utterance"]).row(0, named=True)
            source, other = (files[one["scan"]] for one in (later, above))
            where = f" of {other.name}" if source is not other else ""
            msg = (
                f"{source.location(later['row'], later['role'])}: utterance {later['utterance']!r} "
                f"is of speaker {later['speaker']!r} here and of {above['speaker']!r} in row "
                f"{above['row']}{where}; correct one of them"
            )
            raise DataError(msg)

    def partitions(
        self, rank: FinalCodes, n: int, folder: ScratchFolder | None
    ) -> Iterator[list[EncodedRows]]:
        """Rows of either file, in one partition or, on disk, in several."""
        if folder is None:
            yield [store.all_rows(rank) for store in self.stores]
            return
        part_of = ranges(self.stores, rank, n)
        for store in self.stores:
            store.scatter(rank, part_of, folder)
        for number in range(int(part_of.max(initial=0)) + 1):
            yield [store.partition(number, folder) for store in self.stores]

    def levels(self) -> tuple[dict[str, AttributeValues], dict[str, NDArray[np.int32]]]:
        """Values of the attributes in the rows, and the final codes of what is coded there."""
        levels: dict[str, AttributeValues] = {}
        columns: dict[str, NDArray[np.int32]] = {}
        for key, values in self.values.items():
            levels[key], place = values.ordered_values()
            columns |= dict.fromkeys(sides_of(key), place)
        if self.thresholds.size:
            place = np.empty(self.thresholds.size + 1, dtype=np.int32)
            place[np.argsort(self.thresholds)] = np.arange(self.thresholds.size)
            place[-1] = -1
            columns["threshold"] = place
        return levels, columns

    def deployed(self) -> NDArray[np.float64]:
        """Every threshold, rising, then NaN."""
        return np.append(np.sort(self.thresholds), np.nan)

    def empty_columns(self) -> set[str]:
        """Columns of which every cell is empty."""
        filled = {"threshold": self.thresholds.size > 0, "accepted": self.is_decided}
        return {name for name, is_filled in filled.items() if not is_filled}

    def notes(self) -> list[DataNote]:
        """What stands in for labels, and columns that stand where they do not count."""
        found = []
        if not any("label" in scanned.columns for scanned in self.scans):
            item, note = "trials labelled by their speakers", "the file has no labels"
            if who := alone(self.scans[0].columns):
                note = f"the file has no labels and no claims: {who!r} is who calls and is claimed"
            found.append(DataNote("scores", item, self.stores[-1].rows, note))
        for scanned, store in zip(self.scans[1:], self.stores[1:], strict=True):
            for role in ("decision", "threshold", "status", "seconds"):
                if role in scanned.columns:
                    item = f"rows whose column {scanned.columns[role]!r} is not used"
                    note = "what became of a trial is told by the score file"
                    found.append(DataNote("trials", item, store.rows, note))
        first = self.scans[0].columns
        if "stage" in first and "status" not in first:
            item = f"rows whose column {first['stage']!r} is not used"
            found.append(DataNote("scores", item, self.stores[0].rows, "there is no status"))
        return found

    def provenance(self) -> list[dict[str, Any]]:
        """What was read."""
        files = []
        roles = ("trials",) if self.unscored else ("scores", "trials")
        for role, scanned in zip(roles, self.scans, strict=False):
            for one in scanned.files:
                name = Path(one.name).name  # which may be told by its path
                entry: dict[str, Any] = {"role": role, "name": name, "format": one.format}
                if one.content is not None:
                    entry |= one.content.provenance
                files.append(entry | {"columns": one.columns, "ignored": list(one.ignored)})
        return files


def chunks_of_trials(scanned: Scan) -> Iterator[Chunk]:
    """Chunks without blank rows; no trial, or no column of either side, is an error."""
    for role in ("enrol", "test"):
        if role not in scanned.columns:
            people = scanned.columns.get(f"{role}_speaker") if role == "enrol" else None
            mend = f"name it with --columns {role}=..."
            if people is not None:
                mend += f"; or, where people are enrolled once, as themselves, {role}={people}"
            if scanned.format == "jsonl" and "file" in scanned.ignored:
                mend = "it tells of recordings, not of pairs; give it as --utterances"
            msg = (
                f"{scanned.name}: has no column of {role} "
                f"utterances{scanned.found_columns_text}; {mend}"
            )
            raise DataError(msg)
    is_empty = True
    for whole in scanned.chunks():
        if chunk := whole.without_blanks():
            is_empty = False
            yield chunk
    if is_empty:
        msg = f"{scanned.name}: holds no trial; give a file with one trial a row"
        raise DataError(msg)


def test_speakers(
    chunk: Chunk, label: NDArray[np.int8], named: IdDictionary, *, infers_callers: bool
) -> NDArray[np.int32] | None:
    """Code of the speaker of each row's test recording, -1 where the row does not tell.

    None where no row does. A nontarget trial, of `label` 0, may be of somebody whom nobody knows:
    `UNKNOWN`. Where no column names who calls, labels tell whether it is who is claimed, if
    `infers_callers`.
    """
    is_target = label == 1
    if names_no_callers(chunk.columns):
        if "test_speaker" not in chunk.columns and not infers_callers:
            return None
        speaker = np.where(is_target, named.codes_of_speakers(chunk, "enrol_speaker"), UNKNOWN)
        if "test_speaker" not in chunk.columns:  # ids may begin with their speaker
            is_path = chunk["test"].cast(pl.String).str.contains(r"[/\\]")
            speaker[is_path.to_numpy()] = -1
        return speaker
    if "test_speaker" not in chunk.columns:
        return None
    is_empty = chunk.is_empty("test_speaker")
    if not (is_empty & (label >= 0)).any():
        return named.codes_of_speakers(chunk, "test_speaker")
    if "enrol_speaker" in chunk.columns:  # a target trial is of who enrolled
        claimed = pl.when(pl.Series(is_empty & is_target)).then("enrol_speaker")
        filled = chunk.frame.with_columns(test_speaker=claimed.otherwise("test_speaker"))
        chunk = replace(chunk, frame=filled)
    speaker = np.full(len(chunk), UNKNOWN)
    is_told = ~is_empty | (label != 0)
    speaker[is_told] = named.codes_of_speakers(chunk.select(pl.Series(is_told)), "test_speaker")
    return speaker
