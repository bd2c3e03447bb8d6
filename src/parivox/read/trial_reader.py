"""The reader of one score file, and perhaps a trial list and tables that go with it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import polars as pl

from parivox.errors import DataError
from parivox.read.attributes import Levels, ValueCodes, columns_of, sides_of, whole_of
from parivox.read.cells import DAY, decisions, failures, labels, numbers, scores
from parivox.read.checks import Encoded, Known, Tally, Trials, check_partition
from parivox.read.content import Folder
from parivox.read.ids import Dictionary, Ids, MergedIds, places_in
from parivox.read.joining import (
    check_speaker_columns,
    listed_ids,
    named_rows,
    speaker_indices,
    utterance_speakers,
    why_nothing_fits,
)
from parivox.read.notes import (
    DataNote,
    columns_told,
    contradiction,
    labels_or_scores,
    reading_notes,
    why_none_left,
)
from parivox.read.speakers import speakers_of
from parivox.read.spill import CheckedParts, FinalCodes, Store, ranges, records
from parivox.read.trialset import Recordings, TrialSet, speakers_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from parivox.read.attributes import Attribute
    from parivox.read.failures import Failures
    from parivox.read.formats.format import Rows, Scan
    from parivox.read.models import Models
    from parivox.read.speakers import Speakers
    from parivox.read.utterances import Utterances

__all__ = ["TrialReader"]

_SLICE = 100_000  # ids hashed at once
_TRIALS = 1_000_000  # trials, likewise
_FAILURES = 2  # where an utterance stands that is in no trial


class TrialReader:
    """One score file, and perhaps one trial list, on their way in."""

    def __init__(
        self,
        speakers: Speakers | None,
        orientation: str | None,
        attributes: Sequence[Attribute] = (),
        *,
        needs_speakers: bool = True,
        unscored: bool = False,
    ) -> None:
        self.speakers, self.sign = speakers, -1.0 if orientation == "distance" else 1.0
        self.unscored = unscored
        self.needs_speakers, self.attributes = needs_speakers, attributes
        self.utterances: Utterances | None = None
        self.models: Models | None = None
        self.failures: Failures | None = None
        self.ids, self.named = Ids(), Dictionary()
        self.model_ids: Ids | None = None
        self.values: dict[str, ValueCodes] = {}
        self.thresholds: NDArray[np.float64] = np.empty(0)
        self.is_scored, self.is_decided = True, False
        self.scored = self.listed = 0  # runs of ids of the scores, and of both files
        self.scans: list[Scan] = []
        self.stores: list[Store] = []

    def open_scores(self, scanned: Scan) -> None:
        """Read the rows of the score file, or of a list that needs no scores."""
        if self.unscored:
            self._read(scanned, "trials")
            self.scored = self.listed = self.ids.runs
            return
        self.is_scored = "decision" not in scanned.columns  # unless there are scores, too
        if self.is_scored and "score" not in scanned.columns:
            mend = (
                "it is a list of trials; give scores (an audit takes such a list as --trials)"
                if {"enrol", "test"} <= set(scanned.columns)
                else "name them with --columns enrol=...,test=...,score=..."
            )
            msg = f"{scanned.name}: has no column of scores{columns_told(scanned)}; {mend}"
            raise DataError(msg + labels_or_scores(scanned))
        self._read(scanned, "scores")
        self.scored = self.listed = self.ids.runs

    def open_trials(self, scanned: Scan) -> None:
        """Read the rows of the trial list; scores in it do not count."""
        self._read(scanned, "trials")
        self.listed = self.ids.runs

    def _read(self, scanned: Scan, name: str) -> None:
        for role in ("enrol", "test"):
            if role not in scanned.columns:
                msg = (
                    f"{scanned.name}: has no column of {role} utterances{columns_told(scanned)}; "
                    f"name it with --columns {role}=..."
                )
                raise DataError(msg)
        rows = Store(name)
        self.scans.append(scanned)
        for numbers_, whole in scanned.chunks():
            chunk, places = _without_blank_rows(whole, numbers_)
            if chunk.height:
                rows.add(self._encoded(scanned, places, chunk, scored=name == "scores"))
        if not rows.rows:
            msg = f"{scanned.name}: holds no trial; give a file with one trial a row"
            raise DataError(msg)
        self.stores.append(rows)

    def _encoded(self, scanned: Scan, rows: Rows, chunk: pl.DataFrame, *, scored: bool) -> Encoded:
        run = self.ids.runs
        enrol, test = self._coded_ids(run, chunk, scanned, rows)
        n = chunk.height
        label = (
            labels(chunk, scanned, rows)
            if "label" in scanned.columns
            else np.full(n, -1, dtype=np.int8)
        )
        more: dict[str, NDArray[Any]] = {}
        for key, role, attribute in columns_of(self.attributes, scanned):
            both = whole_of(key)
            if both not in self.values:
                self.values[both] = ValueCodes(attribute)
            more[key] = self.values[both].codes(chunk[role], role, scanned)
        score = np.full(n, np.nan)
        if self.unscored:
            score = cast("Any", np.zeros(n, dtype=np.float16))  # which take little room
        if scored:
            more |= self._outcomes(scanned, rows, chunk)
            if "score" in scanned.columns:
                score = self.sign * scores(chunk, scanned, rows) + 0.0
                self.is_scored = self.is_scored or not np.isnan(score).all()
        return Encoded(enrol, test, label, score, more, run)

    def _coded_ids(
        self, run: int, chunk: pl.DataFrame, scanned: Scan, rows: Rows
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Codes of the utterances in their run; the speakers of columns are noted."""
        if self.model_ids is None:
            enrol, test = self.ids.read(chunk, ("enrol", "test"), scanned, rows)
            sides = {"enrol_speaker": enrol, "test_speaker": test}
        else:
            (enrol,) = self.model_ids.read(chunk, ("enrol",), scanned, rows)
            (test,) = self.ids.read(chunk, ("test",), scanned, rows)
            sides = {"test_speaker": test}
        sides = {side: codes for side, codes in sides.items() if side in scanned.columns}
        if sides and self.needs_speakers:
            self._name(run, sides, chunk, scanned, rows)
        return enrol, test

    def _outcomes(self, scanned: Scan, rows: Rows, chunk: pl.DataFrame) -> dict[str, NDArray[Any]]:
        """What became of the trials besides their scores."""
        found: dict[str, NDArray[Any]] = {}
        if "decision" in scanned.columns:
            found["accepted"] = decisions(chunk, scanned, rows)
            self.is_decided = self.is_decided or bool((found["accepted"] >= 0).any())
        if "threshold" in scanned.columns:
            found["threshold"] = self._thresholds(chunk, scanned, rows)
        if "status" in scanned.columns:
            found["failed"] = failures(chunk, scanned, rows)
        if "seconds" in scanned.columns:
            found["seconds"] = numbers(chunk, "seconds", scanned, rows, least=0.0, most=DAY)
        return found

    def _thresholds(self, chunk: pl.DataFrame, scanned: Scan, rows: Rows) -> NDArray[np.int32]:
        """Code of each trial's threshold, in the order in which they appear; -1 for none."""
        level = numbers(chunk, "threshold", scanned, rows)
        if self.sign < 0:
            level = 0.0 - level
        told = ~np.isnan(level)
        found, place = np.unique(level[told], return_inverse=True)
        self.thresholds = np.append(self.thresholds, found[~np.isin(found, self.thresholds)])
        order = np.argsort(self.thresholds)
        codes = np.full(level.size, -1, dtype=np.int32)
        codes[told] = order[np.searchsorted(self.thresholds, found, sorter=order)][place]
        return codes

    def _name(
        self,
        run: int,
        sides: dict[str, NDArray[np.int32]],
        chunk: pl.DataFrame,
        scanned: Scan,
        rows: Rows,
    ) -> None:
        """Take the speaker of each utterance of a run from columns."""
        named = np.full(self.ids.size(run), -1, dtype=np.int32)
        for role, codes in sides.items():
            owner = self.named.codes(chunk, role, scanned, rows)
            fresh = np.flatnonzero(named[codes] < 0)[::-1]  # the first row has the last word
            named[codes[fresh]] = owner[fresh]
            if (named[codes] != owner).any():
                self._check_names()
        self.ids.keep_values(run, named)

    def _check_names(self) -> None:
        """Refuse an utterance of which columns name two speakers."""
        said = named_rows(self.scans).unique(
            ["utterance", "speaker"], keep="first", maintain_order=True
        )
        twice = said.filter(pl.col("utterance").is_duplicated())
        if twice.height:  # else they differ in the blanks around them only
            later = twice.filter(~pl.col("utterance").is_first_distinct()).row(0, named=True)
            above = twice.filter(pl.col("utterance") == later["utterance"]).row(0, named=True)
            source = self.scans[later["scan"]]
            where = f" of {self.scans[0].name}" if later["scan"] != above["scan"] else ""
            msg = (
                f"{source.at(later['row'], later['role'])}: utterance {later['utterance']!r} is "
                f"of speaker {later['speaker']!r} here and of {above['speaker']!r} in row "
                f"{above['row']}{where}; correct one of them"
            )
            raise DataError(msg)

    def finish(self, system: str, list_: str, conflicts: str) -> TrialSet:
        """Find the speakers, check every partition, count."""
        failed = self._failed_runs()
        whole = self.ids.merge()
        if whole.clash:
            self._check_names()
        models = None if self.model_ids is None else self.model_ids.merge()
        ids = whole if models is None else models + whole
        n_models = 0 if models is None else len(models)
        speaker, told = self._owners(whole, models)
        tally = Tally(n_speakers=0 if self.speakers is None else len(self.speakers.ids))
        levels, columns = self._levels()
        rank = FinalCodes(
            (whole if models is None else models).places, whole.places, n_models, columns
        )
        known = self._known(whole, models, speaker, failed)
        digest, of_failed = hashlib.sha256(), hashlib.sha256()
        self._digest(digest, ids, speaker)
        parts: list[Trials] | CheckedParts = []
        if any(store.folder is not None for store in self.stores):
            parts = CheckedParts(Folder())
        for read in self._partitions(rank, len(ids), parts):
            one = self._settled(read, known, tally, ids, conflicts)
            _hash(one, digest, of_failed)
            parts.append(one)
        if tally.failed:
            digest.update(of_failed.digest())
        if not tally.kept and not tally.failed:
            told_why = why_none_left(tally)
            if len(self.scans) > 1 and not tally.met:
                told_why += f"; {why_nothing_fits(*self.scans)}"
            msg = f"{self.scans[0].name}: no trial is left to audit; {told_why}"
            raise DataError(msg)
        ids.forget_runs()
        may_fail = self.failures is not None or "status" in self.scans[0].columns
        nowhere = np.zeros(len(ids), dtype=bool)
        return TrialSet(
            system,
            list_,
            ids,
            speaker,
            tally.kept,
            (tally.low, tally.high) if np.isfinite(tally.low) else (0.0, 0.0),
            [
                *reading_notes(tally, self.scans, is_scored=self.is_scored),
                *told,
                *self._derived(),
                *self._unused(),
                *self._merged(),
            ],
            digest.hexdigest(),
            self._provenance(),
            tally.aside,
            parts,
            n_models,
            self._recordings(whole, models),
            levels,
            self._deployed(),
            (
                known.failed_enrol if known.failed_enrol is not None else nowhere,
                known.failed_test if known.failed_test is not None else nowhere,
            )
            if may_fail
            else None,
            self.is_scored,
            frozenset(next(iter(parts)).more) - self._empty(),
            self.speakers,
        )

    def _partitions(
        self, rank: FinalCodes, n: int, parts: list[Trials] | CheckedParts
    ) -> Iterator[list[Encoded]]:
        """Rows of either file, in one partition or, on disk, in several."""
        if isinstance(parts, list):
            yield [store.whole(rank) for store in self.stores]
            return
        part_of = ranges(self.stores, rank, n)
        for store in self.stores:
            store.scatter(rank, part_of, parts.folder)
        for number in range(int(part_of.max(initial=0)) + 1):
            yield [store.part(number, parts.folder) for store in self.stores]

    def _levels(self) -> tuple[dict[str, Levels], dict[str, NDArray[np.int32]]]:
        """Values of the attributes in the rows, and the final codes of what is coded there."""
        levels: dict[str, Levels] = {}
        columns: dict[str, NDArray[np.int32]] = {}
        for key, values in self.values.items():
            levels[key], place = values.finish()
            columns |= dict.fromkeys(sides_of(key), place)
        if self.thresholds.size:
            place = np.empty(self.thresholds.size + 1, dtype=np.int32)
            place[np.argsort(self.thresholds)] = np.arange(self.thresholds.size)
            place[-1] = -1
            columns["threshold"] = place
        return levels, columns

    def _known(
        self,
        ids: MergedIds,
        models: MergedIds | None,
        speaker: NDArray[np.int32],
        failed: tuple[int, int] | None,
    ) -> Known:
        """What the checks need to know of the utterances."""
        n_models = 0 if models is None else len(models)
        failed_enrol = failed_test = made_of = None
        if models is not None and self.models is not None:
            model, recording = self.models.recordings(models.series())
            place = ids.where(recording)
            made_of = model.astype(np.int64) * speaker.size + place + n_models
            made_of = np.sort(made_of[place >= 0])
        if failed is not None:
            failed_enrol, failed_test = np.zeros((2, speaker.size), dtype=bool)
            failed_enrol[(ids if models is None else models).places[failed[0]]] = True
            failed_test[n_models + ids.places[failed[1]]] = True
        return Known(
            speaker if self.needs_speakers else None,
            failed_enrol,
            failed_test,
            self._deployed() if self.thresholds.size and self.is_scored else None,
            made_of,
            self.is_scored,
        )

    def _deployed(self) -> NDArray[np.float64]:
        """Every threshold, rising, then NaN."""
        return np.append(np.sort(self.thresholds), np.nan)

    def _failed_runs(self) -> tuple[int, int] | None:
        """Runs of the enrolments and of the test recordings that failed, which may be new ids."""
        if self.failures is None:
            return None
        enrol, enrolled = self.failures.enrol, self.model_ids or self.ids
        if self.models is not None:
            enrol = self.models.failed(enrol)
        first = enrolled.runs
        enrolled.add(enrol.unique().sort())
        self.ids.add(self.failures.acquire)
        return first, self.ids.runs - 1

    def _recordings(self, ids: MergedIds, models: MergedIds | None) -> Recordings | None:
        """Where the utterances stand in their table."""
        if self.utterances is None or not self.utterances.attributes.width:
            return None
        listed = self.utterances.table["utterance"]
        row = np.concatenate([places_in(part, listed) for _, part in ids.parts()])
        model, model_row = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32)
        if models is not None and self.models is not None:
            row = np.concatenate((np.full(len(models), -1, dtype=np.int32), row))
            model, recording = self.models.recordings(models.series())
            model_row = places_in(recording, listed)
        return Recordings(self.utterances, row, model, model_row)

    def _digest(self, digest: Any, ids: MergedIds, speaker: NDArray[np.int32]) -> None:
        """Hash the ids and whose they are."""
        known = self.speakers.ids if self.speakers is not None else ()
        for _, part in ids.parts():
            for first in range(0, len(part), _SLICE):
                digest.update("\n".join([*part[first : first + _SLICE].to_list(), ""]).encode())
        used = speakers_in(speaker)
        names = [known[i] for i in used.tolist()]
        digest.update(b"\x00" + "\n".join(names).encode() + b"\x00")
        place = np.full(int(used.max(initial=-1)) + 2, -1, dtype="<i4")  # last, of none
        place[used] = np.arange(used.size)
        for first in range(0, speaker.size, _SLICE):
            digest.update(place[speaker[first : first + _SLICE]].tobytes())

    def _owners(
        self, ids: MergedIds, models: MergedIds | None
    ) -> tuple[NDArray[np.int32], list[DataNote]]:
        """Speaker of each utterance, models first, and notes on where they come from."""
        n_models = 0 if models is None else len(models)
        speaker = np.full(n_models + len(ids), -1, dtype=np.int32)
        if not self.needs_speakers:
            return speaker, []
        names, place = self.named.sorted()
        files = self._files(ids)
        if self.speakers is None:
            self.speakers = speakers_of(self._names(ids, files, names))
        told: list[DataNote] = []
        if models is not None and self.models is not None:
            theirs = self.models.speakers(models.series(), self.scans[0].name)
            speaker[:n_models] = speaker_indices(theirs, self.speakers, self.models.name)
            self.models.check_speakers(self.utterances, self.speakers, by_path=not len(names))
            told.append(DataNote("models", "enrolments that are models", n_models))
        own, named = speaker[n_models:], ids.values >= 0
        if len(names):
            if self.utterances is not None and self.utterances.tell_speakers:
                self._agree(ids, names, place)
            person = speaker_indices(names, self.speakers, self.scans[0].name)[place]
            own[named] = person[ids.values[named]]
            item = "utterances with a speaker in a column"
            told.append(DataNote("scores", item, int(named.sum())))
        rest = self._own(ids, files, own)
        if rest:
            by_table = self.utterances is not None and self.utterances.tell_speakers
            item = "utterance ids that begin with their speaker"
            if by_table:
                item = "utterances with a speaker in the table"
            told.append(DataNote("utterances" if by_table else "scores", item, rest))
        if self.models is not None:
            self.models.check_trials(ids, own, self.speakers.ids, self.scans[0].name)
        return speaker, told

    def _own(self, ids: MergedIds, files: NDArray[np.int8], speaker: NDArray[np.int32]) -> int:
        """Find the speakers that no column names; give how many utterances these are of."""
        assert self.speakers is not None
        found = 0
        for start, part in ids.parts():
            of = files[start : start + len(part)]
            for which, name in enumerate(self._file_names()):
                at = np.flatnonzero(of == which)
                if at.size:
                    mine = part if at.size == len(part) else part.gather(at)
                    if which == _FAILURES and self.failures is not None:
                        self.failures.check_speakers(
                            mine, self.speakers, self.utterances, self.models
                        )
                    speaker[start + at] = utterance_speakers(
                        mine, self.speakers, self.utterances, name, known=bool(found)
                    )
                    found += at.size
        return found

    def _agree(self, ids: MergedIds, names: pl.Series, place: NDArray[np.int32]) -> None:
        """Refuse speakers in columns that the table of utterances contradicts."""
        assert self.utterances is not None
        for start, part in ids.parts():
            beside = ids.values[start : start + len(part)]
            at = np.flatnonzero(beside >= 0)
            check_speaker_columns(
                part.gather(at), names.gather(place[beside[at]]), self.utterances, self.scans
            )

    def _files(self, ids: MergedIds) -> NDArray[np.int8]:
        """Which file holds each utterance whose speaker no column names, as in `_file_names`."""
        found = np.full(len(ids), _FAILURES, dtype=np.int8)
        for run in range(self.listed - 1, -1, -1):  # the scores come last, and have the last word
            found[ids.places[run]] = 0 if run < self.scored else 1
        found[ids.values >= 0] = -1
        return found

    def _file_names(self) -> list[str]:
        """Files that utterances stand in: the scores, the trial list, the failures."""
        names = [self.scans[0].name, self.scans[-1].name]
        return names if self.failures is None else [*names, self.failures.name]

    def _names(self, ids: MergedIds, files: NDArray[np.int8], names: pl.Series) -> pl.Series:
        """Every speaker's name, where no table of speakers is given."""
        found = [names]
        if self.models is not None:
            found.append(self.models.speaker_of["speaker"])
        if self.utterances is not None and self.utterances.tell_speakers:
            found.append(self.utterances.table["speaker"])
            return pl.concat(found).unique().sort()
        for start, part in ids.parts():
            of = files[start : start + len(part)]
            first = part.gather(np.flatnonzero(of >= 0))
            bare = first.filter(~first.str.contains("/", literal=True))
            if len(bare):
                if self.failures is not None:
                    mine = part.gather(np.flatnonzero(of == _FAILURES))
                    self.failures.check_speakers(mine, None, None, self.models)
                msg = (
                    f"{self.scans[0].name}: {listed_ids(bare, first, 'utterance ids')} tell no "
                    "speaker; "
                    "give a table with --speakers or --utterances, or the columns enrol_speaker "
                    "and test_speaker"
                )
                raise DataError(msg)
            found.append(first.str.split_exact("/", 1).struct.field("field_0").unique())
        return pl.concat([one.alias("speaker") for one in found]).unique().sort()

    def _settled(
        self,
        read: list[Encoded],
        known: Known,
        tally: Tally,
        ids: MergedIds,
        conflicts: str,
    ) -> Trials:
        listed = read[1] if len(read) > 1 else None
        one = check_partition(read[0], listed, n=len(ids), known=known, tally=tally)
        if conflicts == "error" and tally.first:
            names = () if self.speakers is None else self.speakers.ids
            raise contradiction(self.scans, tally, ids, known.speaker, names)
        return one

    def _empty(self) -> set[str]:
        """Columns of which every cell is empty."""
        told = {"threshold": self.thresholds.size > 0, "accepted": self.is_decided}
        return {name for name, is_told in told.items() if not is_told}

    def _read_notes(self, tally: Tally) -> list[DataNote]:
        return reading_notes(tally, self.scans, is_scored=self.is_scored)

    def _unused(self) -> list[DataNote]:
        """Columns that would tell what became of a trial, but stand where they do not count."""
        found = []
        roles = ("decision", "threshold", "status", "seconds")
        for scanned, store in zip(self.scans[1:], self.stores[1:], strict=True):
            for role in roles:
                if role in scanned.columns:
                    item = f"rows whose column {scanned.columns[role]!r} is not used"
                    note = "what became of a trial is told by the score file"
                    found.append(DataNote("trials", item, store.rows, note))
        first = self.scans[0].columns
        if "stage" in first and "status" not in first:
            item = f"rows whose column {first['stage']!r} is not used"
            found.append(DataNote("scores", item, self.stores[0].rows, "there is no status"))
        return found

    def _merged(self) -> list[DataNote]:
        """Rows of the tables that say once more what others say."""
        found = []
        if self.utterances is not None and self.utterances.repeated:
            item, count = "rows that repeat an utterance", self.utterances.repeated
            found.append(DataNote("utterances", item, count, "merged"))
        if self.models is not None and self.models.repeated:
            item, count = "rows that repeat a recording of a model", self.models.repeated
            found.append(DataNote("models", item, count, "merged"))
        return found

    def _derived(self) -> list[DataNote]:
        if any("label" in scanned.columns for scanned in self.scans):
            return []
        rows = self.stores[-1].rows
        note = "the file has no labels"
        return [DataNote("scores", "trials labelled by their speakers", rows, note)]

    def _provenance(self) -> list[dict[str, Any]]:
        told = []
        roles = ("trials",) if self.unscored else ("scores", "trials")
        for role, one in zip(roles, self.scans, strict=False):
            entry: dict[str, Any] = {"role": role, "name": one.name, "format": one.format}
            if one.content is not None:
                entry |= one.content.provenance
            told.append(entry | {"columns": one.columns, "ignored": list(one.ignored)})
        tables = (self.utterances, self.models, self.failures)
        return told + [one.provenance for one in tables if one is not None]


def _hash(one: Trials, digest: Any, of_failed: Any) -> None:
    """Hash the trials of a partition, those that failed apart: so partitions change nothing."""
    for trials, to in ((one, digest), (one.failed, of_failed)):
        for block in () if trials is None else trials.blocks(_TRIALS):
            to.update(records(block))


def _without_blank_rows(chunk: pl.DataFrame, rows: Rows) -> tuple[pl.DataFrame, Rows]:
    """The chunk without rows of which nothing is known, and the row of each that is left."""
    if not (chunk["enrol"].is_null() & chunk["test"].is_null()).any():
        return chunk, rows
    blank = chunk.select(pl.all_horizontal(pl.all().is_null())).to_series()
    return chunk.filter(~blank), np.asarray(rows)[~blank.to_numpy()]
