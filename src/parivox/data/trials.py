"""Trials: read in any format, joined, encoded, checked."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from parivox.data.attributes import column_names
from parivox.data.columns import (
    ATTRIBUTE_PREFIX,
    RequestedColumns,
    enrolments_are_customers,
)
from parivox.data.decision_days import day_columns
from parivox.data.formats import scan, scan_again
from parivox.data.ids import UNKNOWN_SPEAKER, positions_in
from parivox.data.joining import (
    NOBODY_POSITION,
    check_speaker_columns,
    first_components,
    listed_ids,
    placeholders,
    positions_of_speakers,
    unmatched_pairs_message,
    utterance_speakers,
)
from parivox.data.recordings import (
    SpeakerPattern,
    models_of_speakers,
    read_failures,
    read_models,
    read_utterances,
)
from parivox.data.speakers import speakers_of
from parivox.data.trial_checks import (
    ACQUIRE,
    ENROL,
    IDS_BEGIN_WITH_SPEAKER,
    MERGED,
    SPEAKERS_IN_COLUMNS,
    SPEAKERS_IN_TABLE,
    CheckCounts,
    DataNote,
    Trials,
    UtteranceFacts,
    check_partition,
    note_spoofs_shared_by_partitions,
)
from parivox.data.trial_notes import (
    check_columns,
    contradiction_error,
    exclusion_reasons,
    placeholder_enrolment_error,
    reading_notes,
)
from parivox.data.trial_rows import TrialRows
from parivox.data.trial_set import (
    EnrolmentRecordings,
    FailureCauses,
    TrialSet,
    UtteranceRows,
    speakers_in,
)
from parivox.data.trial_shards import FinalCodes, TrialShards, deal_rows
from parivox.data.trial_values import SPOOF_REMEDY
from parivox.errors import ConfigError, DataError
from parivox.frozen import frozen
from parivox.renamed import warn_of_new_name
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

_RECORD_DTYPES = {
    "enrol": "<i4", "test": "<i4", "trial_class": "i1", "score": "<f8", "conflict": "?"
}  # fmt: skip
"""Columns of trials that are hashed, in this order, before all others."""
CONFLICT_POLICIES = ("error", "exclude")
OLD_EXCLUDE = "set-aside"
"""Name of a policy before release 0.3; goes with 0.5."""
ORIENTATIONS = (None, "distance", "similarity")
_MAX_HASHED_IDS = 100_000  # ids hashed at once
_MAX_HASHED_TRIALS = 50_000  # trials, likewise: what is made of them stays in the processor's cache


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
    allows_unknown_speakers: bool = False,
    unscored: bool = False,
    keeps_scores: bool = False,
    takes_spoof: bool = False,
) -> TrialSet:
    """Read scored trials, find their speakers, and check them.

    Whatever is not as it must be is a `DataError` with file, row, column and the remedy.

    With `allows_unknown_speakers`, as for development scores, no speaker is looked up where there
    are labels, and `columns` that the files lack are passed over. With `unscored`, only
    who is compared with whom counts: scores and decisions are passed over, every score is 0; with
    `keeps_scores` as well, scores stand next to the trials, as ``extra_columns["kept_score"]``.
    Spoof trials are an error, except with `takes_spoof`.

    Examples
    --------
    >>> from parivox.data.speakers import read_speakers
    >>> speakers = read_speakers({"id": ["a", "b"], "gender": ["f", "m"]})
    >>> rows = {"enrol": ["a/1", "a/1"], "test": ["b/1", "a/2"], "score": [0.1, 0.9]}
    >>> found = read_trials(rows, system="x", list_="", speakers=speakers)
    >>> [(t.target.tolist(), t.score.tolist()) for t in found.partitions()]
    [([True, False], [0.9, 0.1])]
    """
    if conflicts == OLD_EXCLUDE:
        warn_of_new_name(f"conflicts={OLD_EXCLUDE!r}", "'exclude'")
    elif conflicts not in CONFLICT_POLICIES:
        msg = f"--conflicts {conflicts!r} is not known"
        hint = f"choose from {', '.join(CONFLICT_POLICIES)}"
        raise ConfigError(msg, hint)
    if orientation not in ORIENTATIONS:
        msg = f"orientation {orientation!r} is not known"
        hint = "choose 'distance' or 'similarity'"
        raise ConfigError(msg, hint)
    requested_columns = RequestedColumns(
        dict(columns or {}), allows_unknown_speakers or trials is not None, column_names(attributes)
    )
    scans = [scan(source, columns=requested_columns, format=format, name="scores")]
    if trials is not None:
        scans.append(scan(trials, columns=requested_columns, format=None, name="trials"))
    if not allows_unknown_speakers:
        check_columns(requested_columns, scans)
    day_names = () if scans[0].file_scans else day_columns(scans[0])
    if day_names:
        extended_columns = replace(
            requested_columns, attributes=(*requested_columns.attributes, *day_names)
        )
        scans[0] = scan_again(scans[0], source, extended_columns)
    needs_speakers = not (
        allows_unknown_speakers and any("label" in scanned.columns for scanned in scans)
    )
    tables = TrialTables(
        speakers,
        None if utterances is None or not needs_speakers else read_utterances(utterances),
        None if models is None or not needs_speakers else read_models(models),
        None if failures is None else read_failures(failures),
    )
    if tables.models is not None:
        tables = replace(tables, models=tables.models.with_speakers(tables.utterances, speakers))
    rows = TrialRows(
        attributes,
        is_distance=orientation == "distance",
        has_models=tables.models is not None
        or all(enrolments_are_customers(scanned.columns) for scanned in scans)
        or tables.enrolments_have_patterns,
        needs_speakers=needs_speakers,
        infers_callers=not tables.names_speakers,
        unscored=unscored,
        keeps_scores=keeps_scores,
        day_columns=day_names,
    )
    rows.read_scores(scans[0])
    for scanned in scans[1:]:
        rows.read_list(scanned)
    with stage("checking the trials"):
        trial_set = _check_trials(rows, tables, system, list_, conflicts)
    n_spoof = 0 if takes_spoof else trial_set.n_spoof + trial_set.n_failed_spoof
    if n_spoof:
        msg = f"{scans[0].name}: contains {n_spoof:,} spoof trials"
        raise DataError(msg, SPOOF_REMEDY)
    return trial_set


def _check_trials(
    rows: TrialRows, tables: TrialTables, system: str, list_: str, conflicts: str
) -> TrialSet:
    """Number the ids, find the speakers, and check the trials, a partition after the other."""
    failed_runs = _add_failed(rows, tables)
    utterance_ids = rows.ids.merge()
    if utterance_ids.has_clash:
        rows.check_names()
    models = None if rows.model_ids is None else rows.model_ids.merge()
    tables = _tables_of_ids(rows, tables, utterance_ids, models)
    ids = utterance_ids if models is None else models + utterance_ids
    n_models = 0 if models is None else len(models)
    speaker_table, speaker, sources = find_speakers(rows, tables, utterance_ids, models)
    speaker_names = () if speaker_table is None else speaker_table.ids
    is_placeholder = speaker == NOBODY_POSITION
    speaker[is_placeholder] = -1
    facts = _utterance_facts(rows, tables, utterance_ids, models, speaker, failed_runs)
    if is_placeholder.any():
        facts = facts._replace(has_placeholder_speaker=is_placeholder, are_some_unknown=True)
    attribute_values, column_codes = rows.levels()
    codes = FinalCodes(
        (utterance_ids if models is None else models).run_positions,
        utterance_ids.run_positions,
        n_models,
        column_codes,
    )
    counts = CheckCounts(n_speakers=len(speaker_names))
    digest, failed_digest = hashlib.sha256(), hashlib.sha256()
    _hash_ids(digest, ids, speaker, speaker_names)
    is_long = any(source.is_long for source in rows.sources)
    shards = TrialShards(ScratchFolder() if is_long else None)
    for scored, *listed in deal_rows(rows.sources, codes, len(ids), shards.folder):
        partition = check_partition(
            scored, listed[0] if listed else None, n_utterances=len(ids), facts=facts, counts=counts
        )
        if "enrolment" in counts.first_pairs:
            raise placeholder_enrolment_error(rows.scans, ids[counts.first_pairs["enrolment"][0]])
        if conflicts == "error" and counts.first_pairs:
            raise contradiction_error(rows.scans, counts, ids, facts.speaker, speaker_names)
        _hash_trials(partition, digest, failed_digest)
        shards.append(partition)
    _check_spoofs_across_partitions(shards, counts, rows, ids)
    if counts.failed:
        digest.update(failed_digest.digest())
    if not counts.n_kept and not counts.failed:
        reason = exclusion_reasons(counts)
        if len(rows.scans) > 1 and not counts.found_in_scores:
            reason += f"; {unmatched_pairs_message(*rows.scans)}"
        msg = f"{rows.scans[0].name}: no trials are left to audit"
        raise DataError(msg, reason)
    recordings, causes = (
        _utterance_rows(tables, utterance_ids, models),
        _failure_causes(tables, utterance_ids, models, failed_runs),
    )
    ids.forget_runs()
    notes = reading_notes(counts, rows.scans, is_scored=rows.is_scored)
    may_fail = tables.failures is not None or "status" in rows.scans[0].columns
    no_failures = np.zeros(len(ids), dtype=bool)
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
        shards,
        n_models,
        recordings,
        attribute_values,
        rows.deployed(),
        (
            no_failures if facts.failed_enrol is None else facts.failed_enrol,
            no_failures if facts.failed_test is None else facts.failed_test,
        )
        if may_fail
        else None,
        causes,
        rows.is_scored,
        frozenset(next(iter(shards)).extra_columns) - rows.empty_columns(),
        speaker_table,
        rows.by_day.counts(),
        _enrolment_recordings(tables, facts, len(ids)),
        n_spoof=counts.spoofs,
        attacks=rows.attack_names if counts.spoofs else (),
    )


def _check_spoofs_across_partitions(
    shards: TrialShards, counts: CheckCounts, rows: TrialRows, ids: MergedIds
) -> None:
    """Refuse spoof trials whose recording is in a bona fide trial of another partition."""
    if not counts.spoofs or len(shards) == 1:
        return
    counts.first_pairs.clear()  # of rows that were excluded
    note_spoofs_shared_by_partitions(shards, len(ids), counts)
    if counts.first_pairs:
        raise contradiction_error(rows.scans, counts, ids, None, ())


def _tables_of_ids(
    rows: TrialRows, tables: TrialTables, utterance_ids: MergedIds, models: MergedIds | None
) -> TrialTables:
    """The tables, with those that the ids themselves make."""
    if isinstance(tables.utterances, SpeakerPattern):
        tables.utterances.check_sides(has_models=tables.models is not None)
    if models is not None and tables.models is None:
        tables = replace(tables, models=_models_without_table(rows, tables, models.series()))
    elif models is not None and tables.models is not None:
        tables = replace(tables, models=tables.models.of_enrolments(models.series()))
    if isinstance(tables.utterances, SpeakerPattern) and tables.utterances.names_attributes:
        pattern_table = tables.utterances.as_table(
            utterance_ids.series(), rows.scans[0].name, tables.speakers
        )
        tables = replace(tables, utterances=pattern_table)
    return tables


def _models_without_table(rows: TrialRows, tables: TrialTables, models: pl.Series) -> Models:
    """Models that are named by their speakers, or of which a pattern gives the speaker."""
    name, patterns = rows.scans[0].name, tables.utterances
    if isinstance(patterns, SpeakerPattern) and patterns.has_sides:
        speakers = patterns.enrolment_speakers(models, name, tables.speakers)
        return models_of_speakers(models, patterns.name, speakers)
    return models_of_speakers(models, name)


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
    failed_enrolments, enrolment_ids = failures.enrol, rows.model_ids or rows.ids
    if tables.models is not None:
        failed_enrolments = tables.models.failed_models(failed_enrolments)
    enrol_run, failed_enrolments = enrolment_ids.runs, failed_enrolments.unique().sort()
    enrolment_ids.add(failed_enrolments)
    rows.ids.add(failures.acquire)
    causes = (
        failures.cause_positions(failed_enrolments, ENROL, tables.models),
        failures.cause_positions(failures.acquire, ACQUIRE, None),
    )
    return _FailedRuns(enrol_run, rows.ids.runs - 1, causes)


def _utterance_facts(
    rows: TrialRows,
    tables: TrialTables,
    ids: MergedIds,
    models: MergedIds | None,
    speaker: NDArray[np.int32],
    failed: _FailedRuns | None,
) -> UtteranceFacts:
    """What the checks need to know of the utterances."""
    n_models = 0 if models is None else len(models)
    failed_enrol = failed_test = model_recordings = None
    if models is not None and tables.models is not None:
        model_index, recording = tables.models.recordings(models.series())
        position = ids.positions(recording)
        model_recordings = model_index.astype(np.int64) * speaker.size + position + n_models
        model_recordings = np.sort(model_recordings[position >= 0])
    if failed is not None:
        failed_enrol, failed_test = np.zeros((2, speaker.size), dtype=bool)
        failed_enrol[(ids if models is None else models).run_positions[failed.enrol]] = True
        failed_test[n_models + ids.run_positions[failed.test]] = True
    return UtteranceFacts(
        speaker if rows.needs_speakers else None,
        failed_enrol,
        failed_test,
        rows.deployed() if rows.thresholds.size and rows.is_scored else None,
        model_recordings,
        rows.is_scored,
        rows.needs_speakers and bool((speaker < 0).any()),
    )


def _enrolment_recordings(
    tables: TrialTables, facts: UtteranceFacts, n_utterances: int
) -> EnrolmentRecordings | None:
    """Return the recordings that models are made of; None where they are not told."""
    if facts.model_recordings is None or tables.models is None:
        return None
    n_recordings = tables.models.table["recording"].drop_nulls().n_unique()
    if not n_recordings:
        return None
    return EnrolmentRecordings(n_recordings, np.unique(facts.model_recordings % n_utterances))


def _failure_causes(
    tables: TrialTables, ids: MergedIds, models: MergedIds | None, failed_runs: _FailedRuns | None
) -> FailureCauses | None:
    """Why what failed did; None where no reason is told."""
    if tables.failures is None or failed_runs is None or not len(tables.failures.causes):
        return None
    n_models = 0 if models is None else len(models)
    enrol, test = np.full((2, n_models + len(ids)), -1, dtype=np.int32)
    enrol[(ids if models is None else models).run_positions[failed_runs.enrol]] = (
        failed_runs.causes[0]
    )
    test[n_models + ids.run_positions[failed_runs.test]] = failed_runs.causes[1]
    return FailureCauses(tuple(tables.failures.causes), enrol, test)


def _utterance_rows(
    tables: TrialTables, ids: MergedIds, models: MergedIds | None
) -> UtteranceRows | None:
    """Where the utterances stand in their table."""
    if tables.utterances is None or not tables.utterances.attributes.width:
        return None
    listed_ids = tables.utterances.table["utterance"]
    row = np.concatenate([positions_in(ids_chunk, listed_ids) for _, ids_chunk in ids.chunks()])
    model, model_row = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32)
    if models is not None and tables.models is not None:
        row = np.concatenate((np.full(len(models), -1, dtype=np.int32), row))
        model, recording = tables.models.recordings(models.series())
        model_row = positions_in(recording, listed_ids)
    return UtteranceRows(tables.utterances, row, model, model_row)


def _hash_ids(
    digest: Any, ids: MergedIds, speaker: NDArray[np.int32], names: Sequence[str]
) -> None:
    """Hash the ids and whose they are."""
    for _, chunk in ids.chunks():
        for start in range(0, len(chunk), _MAX_HASHED_IDS):
            digest.update(
                chunk[start : start + _MAX_HASHED_IDS].str.join("\n").item().encode() + b"\n"
            )
    used_speakers = speakers_in(speaker)
    used_names = [names[i] for i in used_speakers.tolist()]
    digest.update(b"\x00" + "\n".join(used_names).encode() + b"\x00")
    rank = np.full(int(used_speakers.max(initial=-1)) + 2, -1, dtype="<i4")  # last, of none
    rank[used_speakers] = np.arange(used_speakers.size)
    for start in range(0, speaker.size, _MAX_HASHED_IDS):
        digest.update(rank[speaker[start : start + _MAX_HASHED_IDS]].tobytes())


def _hash_trials(partition: Trials, digest: Any, failed_digest: Any) -> None:
    """Hash the trials of a partition, those that failed apart: so partitions change nothing."""
    for trials, target_digest in ((partition, digest), (partition.failed, failed_digest)):
        for chunk in () if trials is None else trials.chunks(_MAX_HASHED_TRIALS):
            target_digest.update(_trial_records(chunk))


def _trial_records(trials: Trials) -> NDArray[np.uint8]:
    """Trials as bytes that depend on nothing but them, for hashing; attributes left out.

    Those that failed are not among them.
    """
    columns = {name: getattr(trials, name) for name in _RECORD_DTYPES}
    columns |= {
        name: trials.extra_columns[name]
        for name in sorted(trials.extra_columns)
        if name[0] != ATTRIBUTE_PREFIX
    }
    fields = [(name, _RECORD_DTYPES.get(name, column.dtype)) for name, column in columns.items()]
    records = np.empty(len(trials), dtype=np.dtype(fields))
    for name, column in columns.items():
        records[name] = column
    return records.view(np.uint8)


_FAILURES_FILE = 2  # where an utterance stands that is in no trial


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

    @property
    def enrolments_have_patterns(self) -> bool:
        """Whether a pattern of their own gives the speakers of enrolments."""
        return isinstance(self.utterances, SpeakerPattern) and self.utterances.has_sides

    @property
    def enrolments_code(self) -> str:
        """How the speakers of enrolments are known, if these are models."""
        if self.enrolments_have_patterns:
            return "enrolments_by_pattern"
        if self.models is not None and self.models.provenance:
            return "enrolments_by_models"
        return "enrolments_by_name"

    def notes(self) -> list[DataNote]:
        """Rows that say once more what others say."""
        table_notes = []
        if self.utterances is not None and self.utterances.n_repeated_rows:
            item, count = "repeated_utterance_rows", self.utterances.n_repeated_rows
            table_notes.append(DataNote("utterances", item, count, MERGED))
        if self.models is not None and self.models.n_repeated_rows:
            item, count = "repeated_model_rows", self.models.n_repeated_rows
            table_notes.append(DataNote("models", item, count, MERGED))
        return table_notes

    def provenance(self) -> list[dict[str, Any]]:
        """What was read, but for the speakers."""
        tables = (self.utterances, self.models, self.failures)
        return [table.provenance for table in tables if table is not None and table.provenance]


def find_speakers(
    rows: TrialRows, tables: TrialTables, ids: MergedIds, models: MergedIds | None
) -> tuple[Speakers | None, NDArray[np.int32], list[DataNote]]:
    """Who there is, the speaker of each utterance, models first, and how that is known.

    Where no table of speakers is given, the trials show who there is.
    """
    n_models = 0 if models is None else len(models)
    speaker = np.full(n_models + len(ids), -1, dtype=np.int32)
    if not rows.needs_speakers:
        return tables.speakers, speaker, []
    named_speakers, name_rank = rows.named.sorted()
    files = _source_files(rows, ids)
    speaker_table = tables.speakers
    if speaker_table is None:
        all_names = _all_speaker_names(rows, tables, ids, files, named_speakers)
        speaker_table = speakers_of(all_names.filter(~all_names.is_in(placeholders())))
    notes: list[DataNote] = []
    scores = rows.scans[0].name
    if models is not None and tables.models is not None:
        model_speakers = tables.models.speakers(models.series(), scores)
        speaker[:n_models] = positions_of_speakers(
            model_speakers, speaker_table, tables.models.name, may_be_nobody=True
        )
        tables.models.check_speakers(
            tables.utterances, speaker_table, by_path=not len(named_speakers)
        )
        notes.append(DataNote("models", tables.enrolments_code, n_models))
    utterance_speaker, has_name = speaker[n_models:], ids.values >= 0
    if len(named_speakers):
        if tables.utterances is not None and tables.names_speakers:
            for start, chunk in ids.chunks():
                codes = ids.values[start : start + len(chunk)]
                named_rows = np.flatnonzero(codes >= 0)
                column_speakers = named_speakers.gather(name_rank[codes[named_rows]])
                check_speaker_columns(
                    chunk.gather(named_rows), column_speakers, tables.utterances, rows.files
                )
        speaker_positions = positions_of_speakers(
            named_speakers, speaker_table, scores, may_be_nobody=True
        )
        utterance_speaker[has_name] = speaker_positions[name_rank][ids.values[has_name]]
        notes.append(DataNote("scores", SPEAKERS_IN_COLUMNS, int(has_name.sum())))
    n_derived = _derive_speakers(rows, tables, speaker_table, ids, files, utterance_speaker)
    if n_derived and tables.names_speakers:
        notes.append(DataNote("utterances", SPEAKERS_IN_TABLE, n_derived))
    elif n_derived:
        notes.append(DataNote("scores", IDS_BEGIN_WITH_SPEAKER, n_derived))
    if tables.models is not None:
        tables.models.check_trials(ids, utterance_speaker, speaker_table.ids, scores)
    return speaker_table, speaker, notes


def _derive_speakers(
    rows: TrialRows,
    tables: TrialTables,
    speaker_table: Speakers,
    ids: MergedIds,
    files: NDArray[np.int8],
    speaker: NDArray[np.int32],
) -> int:
    """Find the speakers that no column names; give how many utterances these are of."""
    file_names = [rows.scans[0].name, rows.scans[-1].name]
    if tables.failures is not None:
        file_names.append(tables.failures.name)
    n_found = 0
    for start, chunk in ids.chunks():
        chunk_files = files[start : start + len(chunk)]
        for file_index, name in enumerate(file_names):
            id_rows = np.flatnonzero(chunk_files == file_index)
            if id_rows.size:
                file_ids = chunk if id_rows.size == len(chunk) else chunk.gather(id_rows)
                if file_index == _FAILURES_FILE and tables.failures is not None:
                    tables.failures.check_speakers(
                        file_ids, speaker_table, tables.utterances, tables.models
                    )
                speaker[start + id_rows] = utterance_speakers(
                    file_ids,
                    speaker_table,
                    tables.utterances,
                    name,
                    is_known_position=bool(n_found),
                    may_be_nobody=True,
                )
                n_found += id_rows.size
    if tables.utterances is not None and tables.names_speakers:
        _look_up_speakers(tables.utterances, speaker_table, ids, speaker)
    return n_found


def _look_up_speakers(
    utterances: Utterances, speaker_table: Speakers, ids: MergedIds, speaker: NDArray[np.int32]
) -> None:
    """Find the speakers that the trials do not know and that the table of utterances does."""
    listed_ids, listed_speakers = utterances.table["utterance"], utterances.table["speaker"]
    for start, chunk in ids.chunks():
        unknown_rows = np.flatnonzero(ids.values[start : start + len(chunk)] == UNKNOWN_SPEAKER)
        position = positions_in(chunk.gather(unknown_rows), listed_ids)
        found_speakers = listed_speakers.gather(position[position >= 0])
        speaker[start + unknown_rows[position >= 0]] = positions_of_speakers(
            found_speakers, speaker_table, utterances.name
        )


def _source_files(rows: TrialRows, ids: MergedIds) -> NDArray[np.int8]:
    """Which file contains each utterance of whose speaker no column tells, -1 for the others.

    0 means the scores, 1 the trial list, 2 the failures.
    """
    file_of_id = np.full(len(ids), _FAILURES_FILE, dtype=np.int8)
    for run in range(rows.listed - 1, -1, -1):  # the scores come last, and have the last word
        file_of_id[ids.run_positions[run]] = 0 if run < rows.scored else 1
    file_of_id[ids.values != -1] = -1
    return file_of_id


def _all_speaker_names(
    rows: TrialRows, tables: TrialTables, ids: MergedIds, files: NDArray[np.int8], names: pl.Series
) -> pl.Series:
    """Every speaker's name, where no table of speakers is given."""
    name_series = [names]
    if tables.models is not None:
        name_series.append(tables.models.speaker_of["speaker"])
    if tables.utterances is not None and tables.names_speakers:
        chunks = (chunk for _, chunk in ids.chunks())
        name_series.append(tables.utterances.all_speakers(chunks, rows.scans[0].name))
        return pl.concat(name_series).unique().sort()
    for start, chunk in ids.chunks():
        chunk_files = files[start : start + len(chunk)]
        column_ids = chunk.gather(np.flatnonzero(chunk_files >= 0))
        ids_without_folder = column_ids.filter(~column_ids.str.contains(r"[/\\]"))
        if len(ids_without_folder):
            if tables.failures is not None:
                failed_ids = chunk.gather(np.flatnonzero(chunk_files == _FAILURES_FILE))
                tables.failures.check_speakers(failed_ids, None, None, tables.models)
            remedy = "give a table with --speakers or --utterances"
            if tables.utterances is not None:
                remedy = f"give {tables.utterances.name} a column 'speaker'"
            msg = (
                f"{rows.scans[0].name}: "
                f"{listed_ids(ids_without_folder, column_ids, 'utterance ids')} do not contain a "
                "speaker"
            )
            hint = f"{remedy}, or add the columns enrol_speaker and test_speaker"
            raise DataError(msg, hint)
        name_series.append(first_components(column_ids).unique())
    return pl.concat([series.alias("speaker") for series in name_series]).unique().sort()
