"""From a list of trials and vectors to a file of scores."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.data.ids import places_in
from parivox.data.source_bytes import in_encoding_given
from parivox.errors import ConfigError
from parivox.runtime.cluster import Cluster, check_address
from parivox.runtime.disk import atomic_file, sha256_of
from parivox.runtime.progress import reports_progress, stage
from parivox.runtime.workers import TaskOutput
from parivox.scoring.comparison import Scorer, Way, check_norms, digest
from parivox.scoring.lists import CHUNK, read_enrolments, read_list
from parivox.scoring.resumable_file import Parts
from parivox.scoring.vectors import comparison_named, open_vectors, way_of
from parivox.shown import NotebookView
from parivox.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from parivox.runtime.progress import Progress
    from parivox.runtime.workers import AnnounceItem
    from parivox.scoring.lists import Enrolments, TrialList
    from parivox.scoring.vectors import Vectors


KEPT, READY = "kept.npy", "ready.pickle"
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
    how : str
        In words.
    cohort : dict
        Recordings and speakers of the cohort, by attribute and value, if speakers were given.
    notes : tuple of str
        What else the user should know.
    """

    out: Path
    trials: int
    scored: int
    failed: dict[tuple[str, str], int]
    how: str
    cohort: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@reports_progress
@in_encoding_given
def score(
    trials: Any,
    *,
    embeddings: str | Path | Vectors,
    out: str | Path,
    scoring: str | None = None,
    models: Any = None,
    models_by: str | None = None,
    subtract_mean: str | Path | None = None,
    as_norm: str | Path | None = None,
    top: int | None = None,
    s_norm: str | Path | None = None,
    speakers: str | Path | None = None,
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
    read = {
        "the list": trials,
        "the models": models,
        "the cohort": as_norm or s_norm,
        "the cohort of the mean": subtract_mean,
        "the speakers": speakers,
        "the embeddings": embeddings,
    }
    Parts.check(path, overwrite=overwrite, inputs=read)
    with stage("reading the trials"):
        trial_list = read_list(trials, format=format, columns=columns)
    vectors = open_vectors(embeddings)
    enrolments = read_enrolments(trial_list, models)
    way = Way.of(
        vectors,
        scoring=scoring,
        as_norm=as_norm,
        s_norm=s_norm,
        top=top,
        subtract_mean=subtract_mean,
    )
    averaged = way_of(models_by, way.comparison) if enrolments.are_models else ""
    composition = {}
    if way.cohort is not None and speakers is not None:
        composition = way.cohort.composition(speakers)
    job = _Job(trial_list, enrolments, vectors, way, averaged)
    with Parts(path, job.plan() | {"cohort": composition}, overwrite=overwrite) as parts:
        with stage(f"preparing {len(job.recordings):,} recordings"), parts.writing():
            job.prepare(parts / KEPT)
        count = -(-trial_list.rows // CHUNK)
        with stage(f"scoring {trial_list.rows:,} trials", trial_list.rows, "trials") as at:
            for rows, is_new in _scored(job, parts, ray):
                at.add(rows, is_new=is_new)
        found = outcomes(parts, count, trial_list.rows)
        parts.finish(count)
    return Scored(path, trial_list.rows, *found, way.how(averaged), composition, tuple(job.notes()))


def _check(
    as_norm: object, s_norm: object, top: int | None, models: object, models_by: str | None
) -> None:
    check_norms(as_norm, s_norm, top)
    if models_by is not None and models is None:
        msg = "--models-by is of models; give --models FILE with it"
        raise ConfigError(msg)


def outcomes(parts: Parts, count: int, trials: int) -> tuple[int, dict[tuple[str, str], int]]:
    """How many trials were scored, and how many failed, by stage and status."""
    found = (
        pl.concat([parts.read(number) for number in range(count)])
        .filter(pl.col("stage").is_not_null())
        .group_by("stage", "status")
        .agg(trials=pl.len())
        .sort("stage", "status")
        .collect()
    )
    failed = {(row[0], row[1]): int(row[2]) for row in found.iter_rows()}
    return trials - sum(failed.values()), failed


def _scored(job: _Job, parts: Parts, ray: str | None) -> Iterator[tuple[int, bool]]:
    """Score a list by this process or a cluster: the trials of each part, and if they are new."""
    if ray is None:
        for number, chunk in enumerate(job.trial_list.chunks()):
            if is_new := not parts.has(number):
                parts.write(job.ready.scored(chunk), number)
            yield chunk.height, is_new
        return
    rows: dict[int, int] = {}
    there: list[int] = []

    def tasks() -> Iterator[int]:
        """Parts that are not there; their trials lie beside them until they are scored."""
        for number, chunk in enumerate(job.trial_list.chunks()):
            if parts.has(number):
                there.append(chunk.height)
            else:
                rows[number] = chunk.height
                parts.write(chunk, number, piece=0)
                yield number

    with parts.writing():
        job.ready.save(parts)
    with Cluster(ray).open(partial(_scoring, parts)) as do:
        for made in do(tasks()):
            yield rows[made.number], True
    yield sum(there), False


def _scoring(parts: Parts) -> Callable[[int, AnnounceItem], TaskOutput]:
    """What a worker of a cluster does: parts of a file."""
    ready = _Ready.load(parts)

    def do(number: int, _: AnnounceItem) -> TaskOutput:
        if not parts.has(number):  # else another node did, and is lost
            parts.write(ready.scored(parts.read(number, piece=0).collect()), number)
        parts.forget(number)
        file = parts.path_of(number)
        return TaskOutput(number=number, files={str(file): sha256_of(file)})

    return do


@dataclass(eq=False)
class _Job:
    """What a list is scored with, and how."""

    trial_list: TrialList
    enrolments: Enrolments
    vectors: Vectors
    way: Way
    averaged: str  # what of a model's recordings is averaged; empty: no models

    def __post_init__(self) -> None:
        """Find the recordings; the cohort must be of others."""
        name = self.trial_list.name
        self.recordings = self.enrolments.recordings_with(self.trial_list.test)
        self.places = self.vectors.places(self.recordings, name)
        self.is_good = self.vectors.row[self.places] >= 0
        if self.way.cohort is not None:
            self.way.cohort.check_apart(self.recordings, name)

    def plan(self) -> dict[str, Any]:
        """What decides on the scores, as JSON can hold it."""
        models = None
        if self.averaged:
            first, members = self.enrolments.first, self.enrolments.members
            numbers = first.astype(np.int64).tobytes() + members.astype(np.int64).tobytes()
            models = [self.averaged, digest(self.enrolments.recordings, numbers)]
        return {
            "format": FORMAT,
            "parivox": __version__,
            "trials": self.trial_list.sha256,
            "models": models,
            **self.way.plan(),
        }

    def prepare(self, path: Path) -> None:
        """Keep what the comparison needs of every recording and model, and meet the strangers.

        What is kept of recordings goes to a scratch file at `path`.
        """
        slot = np.where(self.is_good, np.cumsum(self.is_good) - 1, -1)
        at = places_in(self.enrolments.recordings, self.recordings)
        good = self.enrolments.of_good(self.is_good[at])
        by_embeddings = self.averaged == "embeddings"
        averaged = np.flatnonzero(np.diff(good.first)) if by_embeddings else np.empty(0, int)
        # what the comparison keeps of each recording that did not fail, then of each model
        self.kept = self.way.kept(self.places[self.is_good], path, averaged.size)
        # places in it of the members of each enrolment, and where these begin among them
        self.members, self.first = slot[at][good.members], good.first
        if averaged.size:
            model = self.way.comparison.model
            assert model is not None
            n = int(self.is_good.sum())
            for number, one in enumerate(averaged):
                own = self.members[self.first[one] : self.first[one + 1]]
                average = np.asarray(self.kept[own], dtype=np.float64).mean(axis=0)
                self.kept[n + number] = model(average)
            self.members = n + np.arange(averaged.size)
            self.first = np.concatenate(([0], np.cumsum(np.diff(self.first) > 0)))
        mine = self.recordings.filter(pl.Series(self.is_good))
        ids = pl.concat([mine, self.trial_list.enrol.gather(averaged)])
        strangers = self.way.strangers(self.kept, ids)
        test = places_in(self.trial_list.test, self.recordings)
        status = self.vectors.status.gather(self.places)
        # an enrolment of which all recordings failed has the status of the first
        first = self.enrolments.members[self.enrolments.first[:-1]]
        self.ready = _Ready(
            self.trial_list.enrol,
            self.trial_list.test,
            self.members,
            self.first,
            slot[test],
            status.gather(at[first]),
            status.gather(test),
            Scorer(self.kept, self.way.comparison, strangers),
        )

    def notes(self) -> Iterator[str]:
        """What the user should know besides."""
        yield from self.way.notes(self.places)
        if self.enrolments.are_models:
            members, first = self.enrolments.members, self.enrolments.first
            lost = ~self.is_good[places_in(self.enrolments.recordings, self.recordings)]
            failed = np.add.reduceat(lost[members], first[:-1], dtype=np.int64)
            thinner = int(((failed > 0) & (failed < np.diff(first))).sum())
            if thinner:
                yield f"{thinner:,} models are made of fewer recordings, as others failed"


@dataclass(frozen=True, eq=False)
class _Ready:
    """What trials are scored with once all is prepared."""

    enrol_ids: pl.Series
    test_ids: pl.Series
    members: NDArray[np.integer]  # places in what is kept, of what each enrolment is made of
    first: NDArray[np.integer]  # where these begin among them
    test: NDArray[np.integer]  # place in what is kept of each test recording, -1 where it failed
    enrol_status: pl.Series
    test_status: pl.Series
    scorer: Scorer

    def save(self, parts: Parts) -> None:
        """Write it into the folder of the parts, beside what is kept of recordings."""
        own = {one.name: getattr(self, one.name) for one in fields(self)}
        own["scorer"] = (self.scorer.comparison.name, self.scorer.strangers)
        with atomic_file(parts / READY) as aside:
            aside.write_bytes(pickle.dumps(own))

    @classmethod
    def load(cls, parts: Parts) -> _Ready:
        """Read it there."""
        own = pickle.loads((parts / READY).read_bytes())  # noqa: S301 - our own, in our folder
        name, strangers = own["scorer"]
        kept = np.load(parts / KEPT, mmap_mode="r")
        return cls(**own | {"scorer": Scorer(kept, comparison_named(name), strangers)})

    def scored(self, chunk: pl.DataFrame) -> pl.DataFrame:
        """The chunk with score, status and stage."""
        enrol = places_in(chunk["enrol"], self.enrol_ids).astype(np.int64)
        test = places_in(chunk["test"], self.test_ids).astype(np.int64)
        lost_enrol = np.diff(self.first)[enrol] == 0
        lost_test = self.test[test] < 0
        ok = ~(lost_enrol | lost_test)
        value = np.full(chunk.height, np.nan)
        value[ok] = self._values(enrol[ok], self.test[test[ok]])
        outcome = np.where(lost_enrol, 0, np.where(lost_test, 1, 2))
        columns = pl.DataFrame({"outcome": outcome}).select(
            status=pl.when(pl.col("outcome") == 2).then(pl.lit("ok"))
            .when(pl.col("outcome") == 0).then(self.enrol_status.gather(enrol))
            .otherwise(self.test_status.gather(test)),
            stage=pl.when(pl.col("outcome") == 0).then(pl.lit("enrol"))
            .when(pl.col("outcome") == 1).then(pl.lit("acquire")),
        )  # fmt: skip
        score = pl.Series("score", value, nan_to_null=True)
        return chunk.with_columns(score, *columns.get_columns())

    def _values(self, enrol: NDArray[np.int64], test: NDArray[np.int64]) -> NDArray[np.float64]:
        """Scores of enrolments with recordings, the mean over what an enrolment is made of."""
        count = np.diff(self.first)[enrol]
        most = int(count.max(initial=0))
        if most <= 1:
            return self.scorer.pairs(self.members[self.first[enrol]], test)
        found = np.empty(enrol.size)
        step = max(CHUNK // most, 1)
        for start in range(0, enrol.size, step):
            mine, n = enrol[start : start + step], count[start : start + step]
            begin = np.concatenate(([0], np.cumsum(n)[:-1]))
            each = np.arange(n.sum()) + np.repeat(self.first[mine] - begin, n)
            values = self.scorer.pairs(self.members[each], np.repeat(test[start : start + step], n))
            found[start : start + step] = np.add.reduceat(values, begin) / n
        return found
