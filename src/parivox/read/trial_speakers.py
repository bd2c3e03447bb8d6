"""The speaker of each utterance of trials: by a column, by a table, or by the id itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.errors import DataError
from parivox.read.data_note import DataNote
from parivox.read.joining import (
    check_speaker_columns,
    listed_ids,
    speaker_indices,
    utterance_speakers,
)
from parivox.read.speakers import speakers_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parivox.read.failures import Failures
    from parivox.read.ids import MergedIds
    from parivox.read.models import Models
    from parivox.read.speakers import Speakers
    from parivox.read.trial_rows import TrialRows
    from parivox.read.utterances import Utterances

_FAILURES = 2  # where an utterance stands that is in no trial


@dataclass(frozen=True, eq=False)
class TrialTables:
    """The tables that are given with trials, each of which may be missing."""

    speakers: Speakers | None = None
    utterances: Utterances | None = None
    models: Models | None = None
    failures: Failures | None = None

    @property
    def tell_speakers(self) -> bool:
        """Whether the table of utterances says whose each one is."""
        return self.utterances is not None and self.utterances.tell_speakers

    def notes(self) -> list[DataNote]:
        """Rows that say once more what others say."""
        found = []
        if self.utterances is not None and self.utterances.repeated:
            item, count = "rows that repeat an utterance", self.utterances.repeated
            found.append(DataNote("utterances", item, count, "merged"))
        if self.models is not None and self.models.repeated:
            item, count = "rows that repeat a recording of a model", self.models.repeated
            found.append(DataNote("models", item, count, "merged"))
        return found

    def provenance(self) -> list[dict[str, Any]]:
        """What was read, but for the speakers."""
        tables = (self.utterances, self.models, self.failures)
        return [one.provenance for one in tables if one is not None]


def find_speakers(
    rows: TrialRows, tables: TrialTables, ids: MergedIds, models: MergedIds | None
) -> tuple[Speakers | None, NDArray[np.int32], list[DataNote]]:
    """Who there is, the speaker of each utterance, models first, and how that is known.

    Parameters
    ----------
    rows
        Of the trials; where no table of speakers is given, the trials tell who there is.
    tables
        What is given with them.
    ids, models
        Ids of the utterances and, apart, of enrolment models.

    Raises
    ------
    DataError
        If the speaker of any utterance is not known, or files contradict each other.
    """
    n_models = 0 if models is None else len(models)
    speaker = np.full(n_models + len(ids), -1, dtype=np.int32)
    if not rows.needs_speakers:
        return tables.speakers, speaker, []
    names, place = rows.named.sorted()
    files = _files(rows, ids)
    people = tables.speakers
    if people is None:
        people = speakers_of(_names(rows, tables, ids, files, names))
    notes: list[DataNote] = []
    scores = rows.scans[0].name
    if models is not None and tables.models is not None:
        theirs = tables.models.speakers(models.series(), scores)
        speaker[:n_models] = speaker_indices(theirs, people, tables.models.name)
        tables.models.check_speakers(tables.utterances, people, by_path=not len(names))
        notes.append(DataNote("models", "enrolments that are models", n_models))
    own, named = speaker[n_models:], ids.values >= 0
    if len(names):
        if tables.utterances is not None and tables.tell_speakers:
            for start, part in ids.parts():
                codes = ids.values[start : start + len(part)]
                at = np.flatnonzero(codes >= 0)
                whose = names.gather(place[codes[at]])
                check_speaker_columns(part.gather(at), whose, tables.utterances, rows.scans)
        own[named] = speaker_indices(names, people, scores)[place][ids.values[named]]
        item = "utterances with a speaker in a column"
        notes.append(DataNote("scores", item, int(named.sum())))
    rest = _find_others(rows, tables, people, ids, files, own)
    if rest and tables.tell_speakers:
        notes.append(DataNote("utterances", "utterances with a speaker in the table", rest))
    elif rest:
        notes.append(DataNote("scores", "utterance ids that begin with their speaker", rest))
    if tables.models is not None:
        tables.models.check_trials(ids, own, people.ids, scores)
    return people, speaker, notes


def _find_others(
    rows: TrialRows,
    tables: TrialTables,
    people: Speakers,
    ids: MergedIds,
    files: NDArray[np.int8],
    speaker: NDArray[np.int32],
) -> int:
    """Find the speakers that no column names; give how many utterances these are of."""
    names = [rows.scans[0].name, rows.scans[-1].name]
    if tables.failures is not None:
        names.append(tables.failures.name)
    found = 0
    for start, part in ids.parts():
        of = files[start : start + len(part)]
        for which, name in enumerate(names):
            at = np.flatnonzero(of == which)
            if at.size:
                mine = part if at.size == len(part) else part.gather(at)
                if which == _FAILURES and tables.failures is not None:
                    tables.failures.check_speakers(mine, people, tables.utterances, tables.models)
                speaker[start + at] = utterance_speakers(
                    mine, people, tables.utterances, name, known=bool(found)
                )
                found += at.size
    return found


def _files(rows: TrialRows, ids: MergedIds) -> NDArray[np.int8]:
    """Which file holds each utterance whose speaker no column names, -1 for the others.

    0 stands for the scores, 1 for the trial list, 2 for the failures.
    """
    found = np.full(len(ids), _FAILURES, dtype=np.int8)
    for run in range(rows.listed - 1, -1, -1):  # the scores come last, and have the last word
        found[ids.places[run]] = 0 if run < rows.scored else 1
    found[ids.values >= 0] = -1
    return found


def _names(
    rows: TrialRows, tables: TrialTables, ids: MergedIds, files: NDArray[np.int8], names: pl.Series
) -> pl.Series:
    """Every speaker's name, where no table of speakers is given."""
    found = [names]
    if tables.models is not None:
        found.append(tables.models.speaker_of["speaker"])
    if tables.utterances is not None and tables.tell_speakers:
        found.append(tables.utterances.table["speaker"])
        return pl.concat(found).unique().sort()
    for start, part in ids.parts():
        of = files[start : start + len(part)]
        first = part.gather(np.flatnonzero(of >= 0))
        bare = first.filter(~first.str.contains("/", literal=True))
        if len(bare):
            if tables.failures is not None:
                mine = part.gather(np.flatnonzero(of == _FAILURES))
                tables.failures.check_speakers(mine, None, None, tables.models)
            msg = (
                f"{rows.scans[0].name}: {listed_ids(bare, first, 'utterance ids')} tell no "
                "speaker; give a table with --speakers or --utterances, or the columns "
                "enrol_speaker and test_speaker"
            )
            raise DataError(msg)
        found.append(first.str.split_exact("/", 1).struct.field("field_0").unique())
    return pl.concat([one.alias("speaker") for one in found]).unique().sort()
