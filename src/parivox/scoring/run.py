"""From a list of trials and vectors to a file of scores."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field, fields
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.data.ids import positions_in
from parivox.data.source_bytes import with_reading_options
from parivox.errors import ConfigError
from parivox.facts import Fact
from parivox.runtime.cluster import Cluster, check_address
from parivox.runtime.disk import atomic_file, sha256_of
from parivox.runtime.progress import reports_progress, stage
from parivox.runtime.workers import TaskOutput
from parivox.scoring.comparison import Scorer, ScoringMethod, check_norms, digest
from parivox.scoring.lists import CHUNK, read_enrolments, read_list
from parivox.scoring.resumable_file import ResumableFile
from parivox.scoring.vectors import comparison_named, models_averaging, open_vectors
from parivox.shown import CATALOGUE_MODULE, NotebookView
from parivox.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from parivox.runtime.progress import Progress
    from parivox.runtime.workers import AnnounceItem
    from parivox.scoring.lists import Enrolments, ListToScore
    from parivox.scoring.vectors import Vectors
    from parivox.sources import SpeakerSource, TableSource


PREPARED_FILE, INPUTS_FILE = "kept.npy", "ready.pickle"
"""What trials are scored with, beside the parts of the file."""
FORMAT = 2
"""Of the file of scores: to be raised when the same input gives other bytes."""


@dataclass(frozen=True)
class Scored(NotebookView):
    """What was scored.

    Attributes
    ----------
    out : Path
    trials, scored : int
        All trials, and those that have a score or a decision.
    failed : dict
        Trials that failed, by stage (enrol, acquire) and status.
    method : tuple of Fact
        How they were scored: codes with values.
    how : str
        The same in words.
    cohort : dict
        Recordings and speakers of the cohort, by attribute and value, if speakers were given.
    notes : tuple of Fact
        What else the user should know: codes with values.
    """

    out: Path
    trials: int
    scored: int
    failed: dict[tuple[str, str], int]
    method: tuple[Fact, ...]
    cohort: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)
    notes: tuple[Fact, ...] = ()

    @property
    def how(self) -> str:
        """How they were scored, in words."""
        return str(import_module(CATALOGUE_MODULE).facts_text(self.method))


@reports_progress
@with_reading_options
def score(
    trials: TableSource,
    *,
    embeddings: str | Path | Vectors,
    out: str | Path,
    scoring: str | None = None,
    models: TableSource | None = None,
    models_by: str | None = None,
    subtract_mean: str | Path | None = None,
    as_norm: str | Path | None = None,
    top: int | None = None,
    s_norm: str | Path | None = None,
    speakers: SpeakerSource | None = None,
    format: str | None = None,  # noqa: A002 - the option's name
    columns: Mapping[str, str] | None = None,
    encoding: str | None = None,  # noqa: ARG001 - for all that is read
    quotes: str | None = None,  # noqa: ARG001 - for all that is read
    overwrite: bool = False,
    ray: str | None = None,
    progress: Callable[[Progress], None] | None = None,  # noqa: ARG001 - for all stages
) -> Scored:
    """Score a list of trials with embeddings, and write one row a trial, in the list's order.

    The file has the columns enrol, test, label (if the list has it), score (null where the trial
    failed), status (``ok`` or what became of the recording) and stage (enrol, acquire; null where
    it did not fail). It appears when it is whole; an interrupted run goes on where it stopped.

    Parameters
    ----------
    trials
        A list in any format that an audit reads; scores in it do not count.
    embeddings
        Folder of ``parivox embed``, a file of embeddings, or one that was opened.
    out
        Parquet file.
    scoring
        Name of a comparison; None for the system's own.
    models
        Table of model and recording: enrolments are models of several recordings.
    models_by : {None, "embeddings", "scores"}
        What of a model's recordings is averaged; None for embeddings where these have a mean.
    subtract_mean
        Cohort whose mean vector is subtracted first.
    as_norm, s_norm
        Cohort of strangers that scores are set against; with `as_norm`, the `top` nearest.
    top
        See `as_norm`; None for 300.
    speakers
        Table of speakers: how many of the cohort are of which group is told.
    format, columns, encoding, quotes
        How the list is read, where its content does not tell.
    overwrite
        Whether `out` may be there already.
    ray
        Address of a Ray cluster that scores, ``HOST:PORT``, or ``auto`` for that of `RAY_ADDRESS`,
        or else this machine alone; without it, this process does. All nodes see the same disk.
    progress
        Called with the `parivox.runtime.progress.Progress` of each stage.

    Raises
    ------
    ConfigError
        If an option is wrong, or `out` is there.
    DataError
        If the list or the vectors do not hold what they must: a recording that is not there, a
        vector of zeros.
    """
    _check(as_norm, s_norm, top, models, models_by)
    if ray is not None:
        check_address(ray)
    path = Path(out)
    inputs = {
        "the list": trials,
        "the models": models,
        "the cohort": as_norm or s_norm,
        "the cohort of the mean": subtract_mean,
        "the speakers": speakers,
        "the embeddings": embeddings,
    }
    # Before anything is read: a mistyped --out should not cost the reading of a long list.
    ResumableFile.check(path, overwrite=overwrite, inputs=inputs)
    with stage("reading the trials"):
        trial_list = read_list(trials, format=format, columns=columns)
    vectors = open_vectors(embeddings)
    enrolments = read_enrolments(trial_list, models)
    method = ScoringMethod.from_options(
        vectors,
        scoring=scoring,
        as_norm=as_norm,
        s_norm=s_norm,
        top=top,
        subtract_mean=subtract_mean,
    )
    averaged = models_averaging(models_by, method.comparison) if enrolments.are_models else ""
    composition = {}
    if method.cohort is not None and speakers is not None:
        composition = method.cohort.composition(speakers)
    job = _ScoringJob(trial_list, enrolments, vectors, method, averaged)
    with ResumableFile(
        path, job.plan() | {"cohort": composition}, overwrite=overwrite
    ) as resumable_file:
        with stage(f"preparing {len(job.recordings):,} recordings"), resumable_file.writing():
            job.prepare(resumable_file / PREPARED_FILE)
        count = -(-trial_list.rows // CHUNK)
        with stage(
            f"scoring {trial_list.rows:,} trials", trial_list.rows, "trials"
        ) as progress_stage:
            for rows, is_new in _score_parts(job, resumable_file, ray):
                progress_stage.add(rows, is_new=is_new)
        counts = outcomes(resumable_file, count, trial_list.rows)
        resumable_file.finish(count)
    return Scored(
        path,
        trial_list.rows,
        *counts,
        tuple(method.facts(averaged)),
        composition,
        tuple(job.notes()),
    )


def _check(
    as_norm: object, s_norm: object, top: int | None, models: object, models_by: str | None
) -> None:
    check_norms(as_norm, s_norm, top)
    if models_by is not None and models is None:
        msg = "--models-by needs models"
        hint = "add --models FILE"
        raise ConfigError(msg, hint)


def outcomes(
    resumable_file: ResumableFile, n_parts: int, n_trials: int
) -> tuple[int, dict[tuple[str, str], int]]:
    """How many trials were scored, and how many failed, by stage and status."""
    failed_counts = (
        pl.concat([resumable_file.read(number) for number in range(n_parts)])
        .filter(pl.col("stage").is_not_null())
        .group_by("stage", "status")
        .agg(trials=pl.len())
        .sort("stage", "status")
        .collect()
    )
    failed = {(row[0], row[1]): int(row[2]) for row in failed_counts.iter_rows()}
    return n_trials - sum(failed.values()), failed


def _score_parts(
    job: _ScoringJob, resumable_file: ResumableFile, ray: str | None
) -> Iterator[tuple[int, bool]]:
    """Score a list by this process or a cluster: the trials of each part, and if they are new."""
    if ray is None:
        for number, chunk in enumerate(job.trial_list.chunks()):
            if is_new := not resumable_file.has(number):
                resumable_file.write(job.ready.with_scores(chunk), number)
            yield chunk.height, is_new
        return
    n_trials_of_part: dict[int, int] = {}
    n_already_scored: list[int] = []

    def tasks() -> Iterator[int]:
        """Parts that are not there; their trials lie beside them until they are scored."""
        for number, chunk in enumerate(job.trial_list.chunks()):
            if resumable_file.has(number):
                n_already_scored.append(chunk.height)
            else:
                n_trials_of_part[number] = chunk.height
                resumable_file.write(chunk, number, slice_number=0)
                yield number

    with resumable_file.writing():
        job.ready.save(resumable_file)
    with Cluster(ray).open(partial(_part_scorer, resumable_file)) as run_tasks:
        for finished_task in run_tasks(tasks()):
            yield n_trials_of_part[finished_task.number], True
    yield sum(n_already_scored), False


def _part_scorer(resumable_file: ResumableFile) -> Callable[[int, AnnounceItem], TaskOutput]:
    """What a worker of a cluster does: parts of a file."""
    scoring_inputs = _ScoringInputs.load(resumable_file)

    def score_part(number: int, _: AnnounceItem) -> TaskOutput:
        if not resumable_file.has(number):  # else another node did, and is lost
            resumable_file.write(
                scoring_inputs.with_scores(resumable_file.read(number, slice_number=0).collect()),
                number,
            )
        resumable_file.forget(number)
        file = resumable_file.path_of(number)
        return TaskOutput(number=number, files={str(file): sha256_of(file)})

    return score_part


@dataclass(eq=False)
class _ScoringJob:
    """What a list is scored with, and how."""

    trial_list: ListToScore
    enrolments: Enrolments
    vectors: Vectors
    method: ScoringMethod
    averaged: str  # what of a model's recordings is averaged; empty: no models

    def __post_init__(self) -> None:
        """Find the recordings; the cohort must be of others."""
        name = self.trial_list.name
        self.recordings = self.enrolments.recordings_with(self.trial_list.test)
        self.places = self.vectors.places(self.recordings, name)
        self.is_good = self.vectors.row[self.places] >= 0
        if self.method.cohort is not None:
            self.method.cohort.check_apart(self.recordings, name)

    def plan(self) -> dict[str, Any]:
        """What decides on the scores, as JSON can hold it."""
        models = None
        if self.averaged:
            member_starts, members = self.enrolments.member_starts, self.enrolments.members
            numbers = member_starts.astype(np.int64).tobytes() + members.astype(np.int64).tobytes()
            models = [self.averaged, digest(self.enrolments.recordings, numbers)]
        return {
            "format": FORMAT,
            "parivox": __version__,
            "trials": self.trial_list.sha256,
            "models": models,
            **self.method.plan(),
        }

    def prepare(self, path: Path) -> None:
        """Keep what the comparison needs of every recording and model, and meet the strangers.

        What is kept of recordings goes to a scratch file at `path`.
        """
        # Recordings that failed take no room in what is prepared.
        slot = np.where(self.is_good, np.cumsum(self.is_good) - 1, -1)
        positions = positions_in(self.enrolments.recordings, self.recordings)
        usable = self.enrolments.without_failed(self.is_good[positions])
        averages_embeddings = self.averaged == "embeddings"
        averaged = (
            np.flatnonzero(np.diff(usable.member_starts))
            if averages_embeddings
            else np.empty(0, int)
        )
        # what the comparison keeps of each recording that did not fail, then of each model
        self.prepared = self.method.prepared(self.places[self.is_good], path, averaged.size)
        # places in it of the members of each enrolment, and where these begin among them
        self.members, self.first_members = slot[positions][usable.members], usable.member_starts
        if averaged.size:
            model = self.method.comparison.model
            assert model is not None
            n_recordings = int(self.is_good.sum())
            for number, enrolment in enumerate(averaged):
                member_positions = self.members[
                    self.first_members[enrolment] : self.first_members[enrolment + 1]
                ]
                average = np.asarray(self.prepared[member_positions], dtype=np.float64).mean(axis=0)
                self.prepared[n_recordings + number] = model(average)
            self.members = n_recordings + np.arange(averaged.size)
            self.first_members = np.concatenate(([0], np.cumsum(np.diff(self.first_members) > 0)))
        usable_ids = self.recordings.filter(pl.Series(self.is_good))
        ids = pl.concat([usable_ids, self.trial_list.enrol.gather(averaged)])
        strangers = self.method.stranger_scores(self.prepared, ids)
        test = positions_in(self.trial_list.test, self.recordings)
        status = self.vectors.status.gather(self.places)
        # an enrolment of which all recordings failed has the status of the first
        first_members = self.enrolments.members[self.enrolments.member_starts[:-1]]
        self.ready = _ScoringInputs(
            self.trial_list.enrol,
            self.trial_list.test,
            self.members,
            self.first_members,
            slot[test],
            status.gather(positions[first_members]),
            status.gather(test),
            Scorer(self.prepared, self.method.comparison, strangers),
        )

    def notes(self) -> Iterator[Fact]:
        """What the user should know besides."""
        yield from self.method.notes(self.places)
        if self.enrolments.are_models:
            members, member_starts = self.enrolments.members, self.enrolments.member_starts
            is_failed = ~self.is_good[positions_in(self.enrolments.recordings, self.recordings)]
            n_failed_members = np.add.reduceat(
                is_failed[members], member_starts[:-1], dtype=np.int64
            )
            n_models_with_failures = int(
                ((n_failed_members > 0) & (n_failed_members < np.diff(member_starts))).sum()
            )
            if n_models_with_failures:
                yield Fact("models_of_fewer_recordings", {"models": n_models_with_failures})


@dataclass(frozen=True, eq=False)
class _ScoringInputs:
    """What trials are scored with once all is prepared."""

    enrol_ids: pl.Series
    test_ids: pl.Series
    members: NDArray[np.integer]  # places in what is kept, of what each enrolment is made of
    member_starts: NDArray[np.integer]  # where these begin among them
    test: NDArray[np.integer]  # place in what is kept of each test recording, -1 where it failed
    enrol_status: pl.Series
    test_status: pl.Series
    scorer: Scorer

    def save(self, resumable_file: ResumableFile) -> None:
        """Write it into the folder of the parts, beside what is kept of recordings."""
        state = {attribute.name: getattr(self, attribute.name) for attribute in fields(self)}
        state["scorer"] = (self.scorer.comparison.name, self.scorer.strangers)
        with atomic_file(resumable_file / INPUTS_FILE) as aside:
            aside.write_bytes(pickle.dumps(state))

    @classmethod
    def load(cls, resumable_file: ResumableFile) -> _ScoringInputs:
        """Read it there."""
        state = pickle.loads((resumable_file / INPUTS_FILE).read_bytes())  # noqa: S301 - our own, in our folder
        name, strangers = state["scorer"]
        prepared = np.load(resumable_file / PREPARED_FILE, mmap_mode="r")
        return cls(**state | {"scorer": Scorer(prepared, comparison_named(name), strangers)})

    def with_scores(self, chunk: pl.DataFrame) -> pl.DataFrame:
        """The chunk with score, status and stage."""
        enrol = positions_in(chunk["enrol"], self.enrol_ids).astype(np.int64)
        test = positions_in(chunk["test"], self.test_ids).astype(np.int64)
        has_no_enrolment = np.diff(self.member_starts)[enrol] == 0
        has_failed_test = self.test[test] < 0
        is_scored = ~(has_no_enrolment | has_failed_test)
        scores = np.full(chunk.height, np.nan)
        scores[is_scored] = self._mean_scores(enrol[is_scored], self.test[test[is_scored]])
        outcome = np.where(has_no_enrolment, 0, np.where(has_failed_test, 1, 2))
        columns = pl.DataFrame({"outcome": outcome}).select(
            status=pl.when(pl.col("outcome") == 2).then(pl.lit("ok"))
            .when(pl.col("outcome") == 0).then(self.enrol_status.gather(enrol))
            .otherwise(self.test_status.gather(test)),
            stage=pl.when(pl.col("outcome") == 0).then(pl.lit("enrol"))
            .when(pl.col("outcome") == 1).then(pl.lit("acquire")),
        )  # fmt: skip
        score = pl.Series("score", scores, nan_to_null=True)
        return chunk.with_columns(score, *columns.get_columns())

    def _mean_scores(
        self, enrol: NDArray[np.int64], test: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Scores of enrolments with recordings, the mean over what an enrolment is made of."""
        n_members_of_trial = np.diff(self.member_starts)[enrol]
        max_members = int(n_members_of_trial.max(initial=0))
        if max_members <= 1:
            return self.scorer.pairs(self.members[self.member_starts[enrol]], test)
        scores = np.empty(enrol.size)
        step = max(CHUNK // max_members, 1)
        for start in range(0, enrol.size, step):
            enrol_chunk, n_members = (
                enrol[start : start + step],
                n_members_of_trial[start : start + step],
            )
            starts = np.concatenate(([0], np.cumsum(n_members)[:-1]))
            member_positions = np.arange(n_members.sum()) + np.repeat(
                self.member_starts[enrol_chunk] - starts, n_members
            )
            pair_scores = self.scorer.pairs(
                self.members[member_positions], np.repeat(test[start : start + step], n_members)
            )
            scores[start : start + step] = np.add.reduceat(pair_scores, starts) / n_members
        return scores
