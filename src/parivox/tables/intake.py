"""One score file, and perhaps a trial list and tables beside it, on their way in."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from parivox.errors import DataError
from parivox.tables.contradictions import contradiction, labels_or_scores, seen
from parivox.tables.encoding import Dictionary, labels, scores
from parivox.tables.folder import Folder
from parivox.tables.join import agree, named_rows, unmet
from parivox.tables.notes import DataNote, lost, reading_notes
from parivox.tables.outcomes import decisions, failures, numbers
from parivox.tables.speakers import speakers_of
from parivox.tables.store import Ranks, Settled, Store, ranges, records
from parivox.tables.trialset import Recordings, TrialSet
from parivox.tables.utterances import matched, owners, some
from parivox.tables.validation import Encoded, Known, Tally, Trials, settle
from parivox.tables.values import Levels, Values, columns_of, sides_of, whole_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parivox.tables.attributes import Attribute
    from parivox.tables.failures import Failures
    from parivox.tables.formats.scan import Rows, Scan
    from parivox.tables.models import Models
    from parivox.tables.speakers import Speakers
    from parivox.tables.utterances import Utterances

__all__ = ["Intake"]

_SLICE = 100_000  # ids hashed at once


class _Sources(NamedTuple):
    """Where the speakers of the utterances stand.

    ``named`` are the utterances whose speaker a column names, ``names`` the speakers; ``rest``
    are the others, with the name of the file that holds them.
    """

    named: NDArray[np.intp]
    names: pl.Series
    rest: Sequence[tuple[NDArray[np.intp], str]]


class Intake:
    """One score file, and perhaps one trial list, on their way in."""

    def __init__(
        self,
        speakers: Speakers | None,
        orientation: str | None,
        attributes: Sequence[Attribute] = (),
        *,
        needs_speakers: bool = True,
    ) -> None:
        self.speakers, self.sign = speakers, -1.0 if orientation == "distance" else 1.0
        self.needs_speakers, self.attributes = needs_speakers, attributes
        self.utterances: Utterances | None = None
        self.models: Models | None = None
        self.failures: Failures | None = None
        self.ids, self.named = Dictionary(), Dictionary()
        self.model_ids: Dictionary | None = None
        self.named_of = np.empty(0, dtype=np.int32)
        self.values: dict[str, Values] = {}
        self.thresholds: list[NDArray[np.float64]] = []
        self.is_scored = True
        self.scored = self.listed = 0
        self.scans: list[Scan] = []
        self.stores: list[Store] = []

    def open_scores(self, scanned: Scan) -> None:
        """Read the rows of the score file."""
        self.is_scored = "score" in scanned.columns
        if not self.is_scored and "decision" not in scanned.columns:
            mend = (
                "it is a list of trials, so give it as --trials, and the scores beside it"
                if {"enrol", "test"} <= set(scanned.columns)
                else "name them with --columns enrol=...,test=...,score=..."
            )
            msg = f"{scanned.name}: has no column of scores{seen(scanned)}; {mend}"
            raise DataError(msg + labels_or_scores(scanned))
        self._read(scanned, "scores")
        self.scored = self.ids.size

    def open_trials(self, scanned: Scan) -> None:
        """Read the rows of the trial list; scores in it do not count."""
        self._read(scanned, "trials")

    def _read(self, scanned: Scan, name: str) -> None:
        for role in ("enrol", "test"):
            if role not in scanned.columns:
                msg = (
                    f"{scanned.name}: has no column of {role} utterances{seen(scanned)}; "
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
        enrol = (self.model_ids or self.ids).codes(chunk, "enrol", scanned, rows)
        test = self.ids.codes(chunk, "test", scanned, rows)
        for side, codes in (("enrol_speaker", enrol), ("test_speaker", test)):
            skipped = side == "enrol_speaker" and self.models is not None
            if side in scanned.columns and self.needs_speakers and not skipped:
                self._name(codes, chunk, side, scanned, rows)
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
                self.values[both] = Values(attribute)
            more[key] = self.values[both].codes(chunk[role], role, scanned)
        if not scored:
            return Encoded(enrol, test, label, np.full(n, np.nan), more)
        if "decision" in scanned.columns:
            more["accepted"] = decisions(chunk, scanned, rows)
        if self.is_scored:
            score = scores(chunk, scanned, rows)
        else:
            score = np.where(more["accepted"] < 0, np.nan, more["accepted"])
        if self.sign < 0 and self.is_scored:
            score = 0.0 - score
        if "threshold" in scanned.columns:
            more["threshold"] = self._thresholds(chunk, scanned, rows)
        if "status" in scanned.columns:
            more["failed"] = failures(chunk, scanned, rows)
        if "seconds" in scanned.columns:
            more["seconds"] = numbers(chunk, "seconds", scanned, rows, least=0.0)
        return Encoded(enrol, test, label, score, more)

    def _thresholds(self, chunk: pl.DataFrame, scanned: Scan, rows: Rows) -> NDArray[np.int32]:
        """Code of each trial's threshold, in the order in which they appear; -1 for none."""
        level = numbers(chunk, "threshold", scanned, rows)
        if self.sign < 0:
            level = 0.0 - level
        known = np.concatenate((*self.thresholds, [])) if self.thresholds else np.empty(0)
        found, place = np.unique(level[~np.isnan(level)], return_inverse=True)
        order = np.argsort(known)
        at = np.searchsorted(known, found, sorter=order).clip(max=max(known.size - 1, 0))
        old = known[order[at]] == found if known.size else np.zeros(found.size, dtype=bool)
        code = np.empty(found.size, dtype=np.int32)
        if known.size:
            code[old] = order[at[old]]
        code[~old] = known.size + np.arange(int((~old).sum()))
        self.thresholds = [known, found[~old]]
        codes = np.full(level.size, -1, dtype=np.int32)
        codes[~np.isnan(level)] = code[place]
        return codes

    def _name(
        self, codes: NDArray[np.int32], chunk: pl.DataFrame, role: str, scanned: Scan, rows: Rows
    ) -> None:
        """Take the speaker of each utterance from a column."""
        owner = self.named.codes(chunk, role, scanned, rows)
        more = self.ids.size - self.named_of.size
        if more:
            self.named_of = np.concatenate((self.named_of, np.full(more, -1, dtype=np.int32)))
        fresh = np.flatnonzero(self.named_of[codes] < 0)[::-1]  # the first row has the last word
        self.named_of[codes[fresh]] = owner[fresh]
        if (self.named_of[codes] != owner).any():
            said = named_rows(self.scans).unique(
                ["utterance", "speaker"], keep="first", maintain_order=True
            )
            twice = said.filter(pl.col("utterance").is_duplicated())
            if not twice.height:  # they differ in the blanks around them only
                return
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
        failed = self._failed_codes()
        ids, rank, n_models = self._ranked()
        speaker, told = self._owners(ids, rank, n_models)
        tally = Tally(n_speakers=0 if self.speakers is None else len(self.speakers.ids))
        levels, rank = self._levels(rank)
        known = self._known(ids, rank, n_models, speaker, failed)
        digest = hashlib.sha256()
        self._digest(digest, ids, speaker)
        folder: Folder | None = None
        if any(store.folder is not None for store in self.stores):
            folder = Folder()
        parts: tuple[Trials, ...] | Settled
        if folder is None:
            read = [store.whole(rank) for store in self.stores]
            parts = (self._settled(read, known, tally, ids, conflicts),)
            digest.update(records(parts[0]))
        else:
            part_of = ranges(self.stores, rank, len(ids))
            for store in self.stores:
                store.scatter(rank, part_of, folder)
            parts = Settled(folder)
            for number in range(int(part_of.max(initial=0)) + 1):
                read = [store.part(number, folder) for store in self.stores]
                one = self._settled(read, known, tally, ids, conflicts)
                digest.update(records(one))
                parts.add(one)
        if not tally.kept and not tally.failed:
            told_why = lost(tally)
            if len(self.scans) > 1 and not tally.met:
                told_why += f"; {unmet(*self.scans)}"
            msg = f"{self.scans[0].name}: no trial is left to audit; {told_why}"
            raise DataError(msg)
        may_fail = self.failures is not None or "status" in self.scans[0].columns
        nowhere = np.zeros(len(ids), dtype=bool)
        return TrialSet(
            system,
            list_,
            ids,
            speaker,
            tally.kept,
            (tally.low, tally.high) if np.isfinite(tally.low) else (0.0, 0.0),
            [*reading_notes(tally, self.scans), *told, *self._derived()],
            digest.hexdigest(),
            self._provenance(),
            tally.aside,
            parts,
            n_models,
            self._recordings(ids, n_models),
            levels,
            self._deployed(),
            (
                known.failed_enrol if known.failed_enrol is not None else nowhere,
                known.failed_test if known.failed_test is not None else nowhere,
            )
            if may_fail
            else None,
            self.is_scored,
            frozenset(next(iter(parts)).more),
            self.speakers,
        )

    def _ranked(self) -> tuple[pl.Series, Ranks, int]:
        """Ids in order, models first, and the final code of each code."""
        ids, rank = self.ids.sorted()
        if self.model_ids is None:
            return ids, Ranks(rank, rank), 0
        models, places = self.model_ids.sorted()
        return pl.concat([models, ids]), Ranks(places, rank + np.int32(len(models))), len(models)

    def _levels(self, rank: Ranks) -> tuple[dict[str, Levels], Ranks]:
        """Values of the attributes in the rows, and the final codes of what is coded there."""
        levels: dict[str, Levels] = {}
        columns: dict[str, NDArray[np.int32]] = {}
        for key, values in self.values.items():
            levels[key], place = values.finish()
            columns |= dict.fromkeys(sides_of(key), place)
        if self.thresholds:
            known = np.concatenate(self.thresholds)
            place = np.empty(known.size + 1, dtype=np.int32)
            place[np.argsort(known)] = np.arange(known.size)
            place[-1] = -1
            columns["threshold"] = place
        return levels, rank._replace(columns=columns)

    def _known(
        self,
        ids: pl.Series,
        rank: Ranks,
        n_models: int,
        speaker: NDArray[np.int32],
        failed: tuple[NDArray[np.int32], ...] | None,
    ) -> Known:
        """What the checks need to know of the utterances."""
        failed_enrol = failed_test = made_of = None
        if self.models is not None:
            model, recording = self.models.recordings(ids[:n_models])
            place = _places(recording, ids[n_models:])
            made_of = model.astype(np.int64) * len(ids) + place + n_models
            made_of = np.sort(made_of[place >= 0])
        if failed is not None:
            codes = (rank.enrol[failed[0]], rank.test[failed[1]])
            failed_enrol, failed_test = (np.isin(np.arange(len(ids)), one) for one in codes)
        return Known(
            speaker if self.needs_speakers else None,
            failed_enrol,
            failed_test,
            self._deployed() if self.thresholds and self.is_scored else None,
            made_of,
        )

    def _deployed(self) -> NDArray[np.float64]:
        """Every threshold, rising, then NaN."""
        return np.append(np.sort(np.concatenate((*self.thresholds, []))), np.nan)

    def _failed_codes(self) -> tuple[NDArray[np.int32], NDArray[np.int32]] | None:
        """Codes of the enrolments and the test recordings that failed, which may be new ids."""
        if self.failures is None:
            return None
        enrol, acquire = self.failures.enrol, self.failures.acquire
        if self.models is not None:
            enrol = self.models.failed(enrol)
        return (self.model_ids or self.ids).learn(enrol)[0], self.ids.learn(acquire)[0]

    def _recordings(self, ids: pl.Series, n_models: int) -> Recordings | None:
        """Where the utterances stand in their table."""
        if self.utterances is None or not self.utterances.attributes.width:
            return None
        listed = self.utterances.table["utterance"]
        row = _places(ids, listed)
        model, model_row = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32)
        if self.models is not None:
            row[:n_models] = -1
            model, recording = self.models.recordings(ids[:n_models])
            model_row = _places(recording, listed)
        return Recordings(self.utterances, row, model, model_row)

    def _digest(self, digest: Any, ids: pl.Series, speaker: NDArray[np.int32]) -> None:
        """Hash the ids and whose they are."""
        used, place = np.unique(speaker, return_inverse=True)
        known = self.speakers.ids if self.speakers is not None else ()
        for first in range(0, len(ids), _SLICE):
            digest.update("\n".join(ids[first : first + _SLICE].to_list()).encode() + b"\n")
        names = [known[i] for i in used.tolist() if i >= 0]
        digest.update(b"\x00" + "\n".join(names).encode() + b"\x00")
        digest.update(place.astype("<i4").tobytes())

    def _owners(
        self, ids: pl.Series, rank: Ranks, n_models: int
    ) -> tuple[NDArray[np.int32], list[DataNote]]:
        """Speaker of each utterance, and notes on where it comes from."""
        speaker = np.full(len(ids), -1, dtype=np.int32)
        if not self.needs_speakers:
            return speaker, []
        whole = self._sources(ids, rank, n_models)
        if self.speakers is None:
            self.speakers = speakers_of(self._names(ids, whole))
        if self.models is not None:
            theirs = self.models.speakers(ids[:n_models], self.scans[0].name)
            speaker[:n_models] = matched(theirs, self.speakers, self.models.name)
            if self.utterances is not None:
                self.models.check_speakers(self.utterances)
        told: list[DataNote] = []
        if whole.named.size:
            names = whole.names
            if self.utterances is not None and self.utterances.tell_speakers:
                agree(ids.gather(whole.named), names, self.utterances, self.scans)
            speaker[whole.named] = matched(names, self.speakers, self.scans[0].name)
            item = "utterances with a speaker in a column"
            told.append(DataNote("scores", item, whole.named.size))
        so_far = False
        for at, name in whole.rest:
            if at.size:
                mine = ids if at.size == len(ids) else ids.gather(at)
                speaker[at] = owners(mine, self.speakers, self.utterances, name, known=so_far)
                so_far = True
        rest = sum(at.size for at, _ in whole.rest)
        if rest:
            by_table = self.utterances is not None and self.utterances.tell_speakers
            item = "utterance ids that begin with their speaker"
            if by_table:
                item = "utterances with a speaker in the table"
            told.append(DataNote("utterances" if by_table else "scores", item, rest))
        if n_models:
            told.append(DataNote("models", "enrolments that are models", n_models))
        return speaker, told

    def _sources(self, ids: pl.Series, rank: Ranks, n_models: int) -> _Sources:
        """Which utterances have their speaker in a column, and which file holds the others."""
        named = np.full(len(ids), -1, dtype=np.int32)
        known = np.flatnonzero(self.named_of >= 0)
        names = pl.Series([], dtype=pl.String)
        if known.size:
            distinct, place = self.named.sorted()
            named[rank.test[known]] = place[self.named_of[known]]
            names = distinct.gather(named[named >= 0])
        free = named < 0
        free[:n_models] = False
        scored, failed = np.zeros((2, len(ids)), dtype=bool)
        scored[rank.test[: self.scored]] = True
        if self.failures is not None:
            failed[rank.test[self.listed :]] = True
        rest = [(np.flatnonzero(free & scored), self.scans[0].name)]
        rest.append((np.flatnonzero(free & ~scored & ~failed), self.scans[-1].name))
        if self.failures is not None:
            rest.append((np.flatnonzero(free & ~scored & failed), self.failures.name))
        return _Sources(np.flatnonzero(named >= 0), names, rest)

    def _names(self, ids: pl.Series, whole: _Sources) -> pl.Series:
        """Every speaker's name, where no table of speakers is given."""
        found = [whole.names]
        if self.models is not None:
            found.append(self.models.speaker_of["speaker"])
        rest = np.concatenate([at for at, _ in whole.rest])
        if rest.size and self.utterances is not None and self.utterances.tell_speakers:
            found.append(self.utterances.table["speaker"])
        elif rest.size:
            first = ids.gather(rest)
            bare = first.filter(~first.str.contains("/", literal=True))
            if len(bare):
                msg = (
                    f"{self.scans[0].name}: {some(bare, first, 'utterance ids')} tell no speaker; "
                    "give a table with --speakers or --utterances, or the columns enrol_speaker "
                    "and test_speaker"
                )
                raise DataError(msg)
            found.append(first.str.split_exact("/", 1).struct.field("field_0"))
        return pl.concat(found).unique().sort()

    def _settled(
        self,
        read: list[Encoded],
        known: Known,
        tally: Tally,
        ids: pl.Series,
        conflicts: str,
    ) -> Trials:
        listed = read[1] if len(read) > 1 else None
        one = settle(read[0], listed, n=len(ids), known=known, tally=tally)
        if conflicts == "error" and tally.first:
            names = () if self.speakers is None else self.speakers.ids
            raise contradiction(self.scans, tally, ids, known.speaker, names)
        return one

    def _derived(self) -> list[DataNote]:
        if any("label" in scanned.columns for scanned in self.scans):
            return []
        rows = self.stores[-1].rows
        note = "the file has no labels"
        return [DataNote("scores", "trials labelled by their speakers", rows, note)]

    def _provenance(self) -> list[dict[str, Any]]:
        told = []
        for role, one in zip(("scores", "trials"), self.scans, strict=False):
            entry: dict[str, Any] = {"role": role, "name": one.name, "format": one.format}
            if one.content is not None:
                entry |= {"compression": one.content.compression, "sha256": one.content.sha256}
            told.append(entry | {"columns": one.columns, "ignored": list(one.ignored)})
        tables = (self.utterances, self.models, self.failures)
        return told + [one.provenance for one in tables if one is not None]


def _without_blank_rows(chunk: pl.DataFrame, rows: Rows) -> tuple[pl.DataFrame, Rows]:
    """The chunk without rows of which nothing is known, and the row of each that is left."""
    if not (chunk["enrol"].is_null() & chunk["test"].is_null()).any():
        return chunk, rows
    blank = chunk.select(pl.all_horizontal(pl.all().is_null())).to_series()
    return chunk.filter(~blank), np.asarray(rows)[~blank.to_numpy()]


def _places(ids: pl.Series, among: pl.Series) -> NDArray[np.int32]:
    """Place of each id among distinct others, -1 where it is not there."""
    listed = pl.DataFrame({"id": among, "place": np.arange(len(among), dtype=np.int32)})
    found = pl.DataFrame({"id": ids}).join(listed, on="id", how="left", maintain_order="left")
    return found["place"].fill_null(-1).to_numpy().astype(np.int32)
