"""Trials: read in any format, joined, encoded, checked."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from parivox.data.attributes import names_of
from parivox.data.columns import RequestedColumns, are_customers
from parivox.data.decision_days import day_columns
from parivox.data.formats import scan, scan_again
from parivox.data.ids import UNKNOWN, places_in
from parivox.data.joining import (
    NOBODY,
    check_speaker_columns,
    first_components,
    listed_ids,
    placeholders,
    speaker_indices,
    utterance_speakers,
    why_nothing_fits,
)
from parivox.data.recordings import models_of_speakers, read_failures, read_models, read_utterances
from parivox.data.speakers import speakers_of
from parivox.data.spilled_rows import CheckedParts, FinalCodes, records
from parivox.data.trial_checks import (
    ACQUIRE,
    ENROL,
    CheckCounts,
    DataNote,
    Trials,
    UtteranceFacts,
    check_partition,
)
from parivox.data.trial_notes import (
    check_columns,
    contradiction,
    enrolment_of_nobody,
    reading_notes,
    why_none_left,
)
from parivox.data.trial_rows import TrialRows
from parivox.data.trial_set import FailureCauses, TrialSet, UtteranceRows, speakers_in
from parivox.errors import ConfigError, DataError
from parivox.frozen import frozen
from parivox.runtime.disk import ScratchFolder
from parivox.runtime.progress import stage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.data.attributes import Attribute
    from parivox.data.ids import MergedIds
    from parivox.data.recordings import Failures, Models, Utterances
    from parivox.data.speakers import Speakers

__all__ = ["DataNote", "TrialSet", "Trials", "read_trials"]

POLICIES = ("error", "set-aside")
ORIENTATIONS = (None, "distance", "similarity")
_SLICE = 100_000  # ids hashed at once
_TRIALS = 50_000  # trials, likewise: what is made of them stays in the processor's cache


def read_trials(
    source: Any,
    *,
    system: str,
    list_: str,
    speakers: Speakers | None,  # None: as the trials and the other tables tell
    trials: Any = None,  # a list that stands apart: only its pairs are trials, its labels count
    utterances: Any = None,
    models: Any = None,  # with it, enrolments are models
    failures: Any = None,
    attributes: Sequence[Attribute] = (),  # of which columns may stand in the trials
    format: str | None = None,  # noqa: A002 - the option's name
    columns: Mapping[str, str] | None = None,  # of some roles, in any of the two files
    orientation: str | None = None,  # "distance" negates the scores
    conflicts: str = "error",
    strangers: bool = False,
    unscored: bool = False,
    keeps_scores: bool = False,
) -> TrialSet:
    """Read scored trials, find their speakers, and check them.

    Whatever is not as it must be is a `DataError` with file, row, column and the mend.

    `strangers` need not be known, as the speakers of development scores: where there are labels, no
    speaker is looked up, and `columns` that the files lack are passed over. With `unscored`, only
    who is compared with whom counts: scores and decisions are passed over, every score is 0; with
    `keeps_scores` as well, scores stand beside the trials, as ``more["kept_score"]``.

    Examples
    --------
    >>> from parivox.data.speakers import read_speakers
    >>> speakers = read_speakers({"id": ["a", "b"], "gender": ["f", "m"]})
    >>> rows = {"enrol": ["a/1", "a/1"], "test": ["b/1", "a/2"], "score": [0.1, 0.9]}
    >>> found = read_trials(rows, system="x", list_="", speakers=speakers)
    >>> [(t.target.tolist(), t.score.tolist()) for t in found.partitions()]
    [([True, False], [0.9, 0.1])]
    """
    if conflicts not in POLICIES:
        msg = f"--conflicts {conflicts!r} is not known; choose from {', '.join(POLICIES)}"
        raise ConfigError(msg)
    if orientation not in ORIENTATIONS:
        msg = f"orientation {orientation!r} is not known; choose 'distance' or 'similarity'"
        raise ConfigError(msg)
    asked = RequestedColumns(
        dict(columns or {}), strangers or trials is not None, names_of(attributes)
    )
    scans = [scan(source, columns=asked, format=format, name="scores")]
    if trials is not None:
        scans.append(scan(trials, columns=asked, format=None, name="trials"))
    if not strangers:
        check_columns(asked, scans)
    days = () if scans[0].file_scans else day_columns(scans[0])
    if days:
        wider = replace(asked, attributes=(*asked.attributes, *days))
        scans[0] = scan_again(scans[0], source, wider)
    needed = not (strangers and any("label" in one.columns for one in scans))
    tables = TrialTables(
        speakers,
        None if utterances is None or not needed else read_utterances(utterances),
        None if models is None or not needed else read_models(models),
        None if failures is None else read_failures(failures),
    )
    if tables.models is not None:
        tables = replace(tables, models=tables.models.with_speakers(tables.utterances))
    rows = TrialRows(
        attributes,
        is_distance=orientation == "distance",
        has_models=tables.models is not None or all(are_customers(one.columns) for one in scans),
        needs_speakers=needed,
        infers_callers=not tables.names_speakers,
        unscored=unscored,
        keeps_scores=keeps_scores,
        day_columns=days,
    )
    rows.read_scores(scans[0])
    for one in scans[1:]:
        rows.read_list(one)
    with stage("checking the trials"):
        return _checked(rows, tables, system, list_, conflicts)


def _checked(
    rows: TrialRows, tables: TrialTables, system: str, list_: str, conflicts: str
) -> TrialSet:
    """Number the ids, find the speakers, and check the trials, a partition after the other."""
    failed = _add_failed(rows, tables)
    own = rows.ids.merge()
    if own.has_clash:
        rows.check_names()
    models = None if rows.model_ids is None else rows.model_ids.merge()
    if models is not None and tables.models is None:
        tables = replace(tables, models=models_of_speakers(models.series(), rows.scans[0].name))
    ids = own if models is None else models + own
    n_models = 0 if models is None else len(models)
    people, speaker, sources = find_speakers(rows, tables, own, models)
    names = () if people is None else people.ids
    of_nobody = speaker == NOBODY
    speaker[of_nobody] = -1
    facts = _facts(rows, tables, own, models, speaker, failed)
    if of_nobody.any():
        facts = facts._replace(has_placeholder_speaker=of_nobody, are_some_unknown=True)
    levels, columns = rows.levels()
    codes = FinalCodes(
        (own if models is None else models).run_positions, own.run_positions, n_models, columns
    )
    counts = CheckCounts(n_speakers=len(names))
    digest, of_failed = hashlib.sha256(), hashlib.sha256()
    _hash_ids(digest, ids, speaker, names)
    is_large = any(store.folder is not None for store in rows.stores)
    parts: list[Trials] | CheckedParts = CheckedParts(ScratchFolder()) if is_large else []
    folder = parts.folder if isinstance(parts, CheckedParts) else None
    for scored, *listed in rows.partitions(codes, len(ids), folder):
        part = check_partition(
            scored, listed[0] if listed else None, n=len(ids), facts=facts, counts=counts
        )
        if "enrolment" in counts.first_pairs:
            raise enrolment_of_nobody(rows.scans, ids[counts.first_pairs["enrolment"][0]])
        if conflicts == "error" and counts.first_pairs:
            raise contradiction(rows.scans, counts, ids, facts.speaker, names)
        _hash_trials(part, digest, of_failed)
        parts.append(part)
    if counts.failed:
        digest.update(of_failed.digest())
    if not counts.n_kept and not counts.failed:
        why = why_none_left(counts)
        if len(rows.scans) > 1 and not counts.found_in_scores:
            why += f"; {why_nothing_fits(*rows.scans)}"
        msg = f"{rows.scans[0].name}: no trial is left to audit; {why}"
        raise DataError(msg)
    recordings, causes = _recordings(tables, own, models), _causes(tables, own, models, failed)
    ids.forget_runs()
    notes = reading_notes(counts, rows.scans, is_scored=rows.is_scored)
    may_fail = tables.failures is not None or "status" in rows.scans[0].columns
    nowhere = np.zeros(len(ids), dtype=bool)
    return TrialSet(
        system,
        list_,
        ids,
        speaker,
        counts.n_kept,
        (counts.low, counts.high) if np.isfinite(counts.low) else (0.0, 0.0),
        [*notes, *sources, *rows.notes(), *tables.notes()],
        digest.hexdigest(),
        [*rows.provenance(), *tables.provenance()],
        counts.counts_by_speaker,
        parts,
        n_models,
        recordings,
        levels,
        rows.deployed(),
        (
            nowhere if facts.failed_enrol is None else facts.failed_enrol,
            nowhere if facts.failed_test is None else facts.failed_test,
        )
        if may_fail
        else None,
        causes,
        rows.is_scored,
        frozenset(next(iter(parts)).extra_columns) - rows.empty_columns(),
        people,
        rows.by_day.counts(),
    )


class _FailedRuns(NamedTuple):
    """Runs of the enrolments and of the test recordings that failed, and why each did."""

    enrol: int
    test: int
    causes: tuple[NDArray[np.int32], NDArray[np.int32]]


def _add_failed(rows: TrialRows, tables: TrialTables) -> _FailedRuns | None:
    """Add what failed, which may be new ids."""
    failures = tables.failures
    if failures is None:
        return None
    enrol, enrolled = failures.enrol, rows.model_ids or rows.ids
    if tables.models is not None:
        enrol = tables.models.failed_models(enrol)
    first, enrol = enrolled.runs, enrol.unique().sort()
    enrolled.add(enrol)
    rows.ids.add(failures.acquire)
    causes = (
        failures.cause_positions(enrol, ENROL, tables.models),
        failures.cause_positions(failures.acquire, ACQUIRE, None),
    )
    return _FailedRuns(first, rows.ids.runs - 1, causes)


def _facts(
    rows: TrialRows,
    tables: TrialTables,
    ids: MergedIds,
    models: MergedIds | None,
    speaker: NDArray[np.int32],
    failed: _FailedRuns | None,
) -> UtteranceFacts:
    """What the checks need to know of the utterances."""
    n_models = 0 if models is None else len(models)
    failed_enrol = failed_test = made_of = None
    if models is not None and tables.models is not None:
        model, recording = tables.models.recordings(models.series())
        place = ids.positions(recording)
        made_of = model.astype(np.int64) * speaker.size + place + n_models
        made_of = np.sort(made_of[place >= 0])
    if failed is not None:
        failed_enrol, failed_test = np.zeros((2, speaker.size), dtype=bool)
        failed_enrol[(ids if models is None else models).run_positions[failed.enrol]] = True
        failed_test[n_models + ids.run_positions[failed.test]] = True
    return UtteranceFacts(
        speaker if rows.needs_speakers else None,
        failed_enrol,
        failed_test,
        rows.deployed() if rows.thresholds.size and rows.is_scored else None,
        made_of,
        rows.is_scored,
        rows.needs_speakers and bool((speaker < 0).any()),
    )


def _causes(
    tables: TrialTables, ids: MergedIds, models: MergedIds | None, failed: _FailedRuns | None
) -> FailureCauses | None:
    """Why what failed did; None where no reason is told."""
    if tables.failures is None or failed is None or not len(tables.failures.causes):
        return None
    n_models = 0 if models is None else len(models)
    enrol, test = np.full((2, n_models + len(ids)), -1, dtype=np.int32)
    enrol[(ids if models is None else models).run_positions[failed.enrol]] = failed.causes[0]
    test[n_models + ids.run_positions[failed.test]] = failed.causes[1]
    return FailureCauses(tuple(tables.failures.causes), enrol, test)


def _recordings(
    tables: TrialTables, ids: MergedIds, models: MergedIds | None
) -> UtteranceRows | None:
    """Where the utterances stand in their table."""
    if tables.utterances is None or not tables.utterances.attributes.width:
        return None
    listed = tables.utterances.table["utterance"]
    row = np.concatenate([places_in(part, listed) for _, part in ids.chunks()])
    model, model_row = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32)
    if models is not None and tables.models is not None:
        row = np.concatenate((np.full(len(models), -1, dtype=np.int32), row))
        model, recording = tables.models.recordings(models.series())
        model_row = places_in(recording, listed)
    return UtteranceRows(tables.utterances, row, model, model_row)


def _hash_ids(
    digest: Any, ids: MergedIds, speaker: NDArray[np.int32], names: Sequence[str]
) -> None:
    """Hash the ids and whose they are."""
    for _, part in ids.chunks():
        for first in range(0, len(part), _SLICE):
            digest.update(part[first : first + _SLICE].str.join("\n").item().encode() + b"\n")
    used = speakers_in(speaker)
    whose = [names[i] for i in used.tolist()]
    digest.update(b"\x00" + "\n".join(whose).encode() + b"\x00")
    place = np.full(int(used.max(initial=-1)) + 2, -1, dtype="<i4")  # last, of none
    place[used] = np.arange(used.size)
    for first in range(0, speaker.size, _SLICE):
        digest.update(place[speaker[first : first + _SLICE]].tobytes())


def _hash_trials(part: Trials, digest: Any, of_failed: Any) -> None:
    """Hash the trials of a partition, those that failed apart: so partitions change nothing."""
    for trials, to in ((part, digest), (part.failed, of_failed)):
        for block in () if trials is None else trials.chunks(_TRIALS):
            to.update(records(block))


_FAILURES = 2  # where an utterance stands that is in no trial


@frozen
class TrialTables:
    """The tables that are given with trials, each of which may be missing."""

    speakers: Speakers | None = None
    utterances: Utterances | None = None
    models: Models | None = None
    failures: Failures | None = None

    @property
    def names_speakers(self) -> bool:
        """Whether the table of utterances says whose each one is."""
        return self.utterances is not None and self.utterances.names_speakers

    def notes(self) -> list[DataNote]:
        """Rows that say once more what others say."""
        found = []
        if self.utterances is not None and self.utterances.n_repeated_rows:
            item, count = "rows that repeat an utterance", self.utterances.n_repeated_rows
            found.append(DataNote("utterances", item, count, "merged"))
        if self.models is not None and self.models.n_repeated_rows:
            item, count = "rows that repeat a recording of a model", self.models.n_repeated_rows
            found.append(DataNote("models", item, count, "merged"))
        return found

    def provenance(self) -> list[dict[str, Any]]:
        """What was read, but for the speakers."""
        tables = (self.utterances, self.models, self.failures)
        return [one.provenance for one in tables if one is not None and one.provenance]


def find_speakers(
    rows: TrialRows, tables: TrialTables, ids: MergedIds, models: MergedIds | None
) -> tuple[Speakers | None, NDArray[np.int32], list[DataNote]]:
    """Who there is, the speaker of each utterance, models first, and how that is known.

    Where no table of speakers is given, the trials tell who there is.
    """
    n_models = 0 if models is None else len(models)
    speaker = np.full(n_models + len(ids), -1, dtype=np.int32)
    if not rows.needs_speakers:
        return tables.speakers, speaker, []
    names, place = rows.named.sorted()
    files = _files(rows, ids)
    people = tables.speakers
    if people is None:
        every = _names(rows, tables, ids, files, names)
        people = speakers_of(every.filter(~every.is_in(placeholders())))
    notes: list[DataNote] = []
    scores = rows.scans[0].name
    if models is not None and tables.models is not None:
        theirs = tables.models.speakers(models.series(), scores)
        speaker[:n_models] = speaker_indices(theirs, people, tables.models.name, may_be_nobody=True)
        tables.models.check_speakers(tables.utterances, people, by_path=not len(names))
        are_read = bool(tables.models.provenance)
        item = "that are models" if are_read else "that have the name of their speaker"
        notes.append(DataNote("models", f"enrolments {item}", n_models))
    own, named = speaker[n_models:], ids.values >= 0
    if len(names):
        if tables.utterances is not None and tables.names_speakers:
            for start, part in ids.chunks():
                codes = ids.values[start : start + len(part)]
                at = np.flatnonzero(codes >= 0)
                whose = names.gather(place[codes[at]])
                check_speaker_columns(part.gather(at), whose, tables.utterances, rows.files)
        found = speaker_indices(names, people, scores, may_be_nobody=True)
        own[named] = found[place][ids.values[named]]
        item = "utterances with a speaker in a column"
        notes.append(DataNote("scores", item, int(named.sum())))
    rest = _find_others(rows, tables, people, ids, files, own)
    if rest and tables.names_speakers:
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
    for start, part in ids.chunks():
        of = files[start : start + len(part)]
        for which, name in enumerate(names):
            at = np.flatnonzero(of == which)
            if at.size:
                mine = part if at.size == len(part) else part.gather(at)
                if which == _FAILURES and tables.failures is not None:
                    tables.failures.check_speakers(mine, people, tables.utterances, tables.models)
                speaker[start + at] = utterance_speakers(
                    mine, people, tables.utterances, name, known=bool(found), may_be_nobody=True
                )
                found += at.size
    if tables.utterances is not None and tables.names_speakers:
        _find_listed(tables.utterances, people, ids, speaker)
    return found


def _find_listed(
    utterances: Utterances, people: Speakers, ids: MergedIds, speaker: NDArray[np.int32]
) -> None:
    """Find the speakers that the trials do not know and that the table of utterances does."""
    listed, named = utterances.table["utterance"], utterances.table["speaker"]
    for start, part in ids.chunks():
        at = np.flatnonzero(ids.values[start : start + len(part)] == UNKNOWN)
        place = places_in(part.gather(at), listed)
        whose = named.gather(place[place >= 0])
        speaker[start + at[place >= 0]] = speaker_indices(whose, people, utterances.name)


def _files(rows: TrialRows, ids: MergedIds) -> NDArray[np.int8]:
    """Which file holds each utterance of whose speaker no column tells, -1 for the others.

    0 stands for the scores, 1 for the trial list, 2 for the failures.
    """
    found = np.full(len(ids), _FAILURES, dtype=np.int8)
    for run in range(rows.listed - 1, -1, -1):  # the scores come last, and have the last word
        found[ids.run_positions[run]] = 0 if run < rows.scored else 1
    found[ids.values != -1] = -1
    return found


def _names(
    rows: TrialRows, tables: TrialTables, ids: MergedIds, files: NDArray[np.int8], names: pl.Series
) -> pl.Series:
    """Every speaker's name, where no table of speakers is given."""
    found = [names]
    if tables.models is not None:
        found.append(tables.models.speaker_of["speaker"])
    if tables.utterances is not None and tables.names_speakers:
        parts = (part for _, part in ids.chunks())
        found.append(tables.utterances.all_speakers(parts, rows.scans[0].name))
        return pl.concat(found).unique().sort()
    for start, part in ids.chunks():
        of = files[start : start + len(part)]
        first = part.gather(np.flatnonzero(of >= 0))
        bare = first.filter(~first.str.contains(r"[/\\]"))
        if len(bare):
            if tables.failures is not None:
                mine = part.gather(np.flatnonzero(of == _FAILURES))
                tables.failures.check_speakers(mine, None, None, tables.models)
            mend = "give a table with --speakers or --utterances"
            if tables.utterances is not None:
                mend = f"give {tables.utterances.name} a column 'speaker'"
            msg = (
                f"{rows.scans[0].name}: {listed_ids(bare, first, 'utterance ids')} tell no "
                f"speaker; {mend}, or the columns enrol_speaker and test_speaker"
            )
            raise DataError(msg)
        found.append(first_components(first).unique())
    return pl.concat([one.alias("speaker") for one in found]).unique().sort()
