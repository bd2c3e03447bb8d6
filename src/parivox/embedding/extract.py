"""From recordings to a store of their embeddings: only what is not there yet, nothing lost."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.data.source_bytes import with_reading_options
from parivox.embedding.audio import LONGEST_SECONDS, STATUSES, Excerpt, check_decoders
from parivox.embedding.batches import Batch, embed_batch
from parivox.embedding.identity import check_one_speaker
from parivox.embedding.probe import probe
from parivox.embedding.recordings import (
    AUDIO,
    COLUMNS,
    EXCERPT,
    HASHES,
    STAT,
    Source,
    hashes_of,
    parse_channel,
    read_hashes,
    read_source,
    with_channels,
    with_hashes_of_files,
    with_stat,
)
from parivox.embedding.store import (
    DECODED_COLUMNS,
    PLAN,
    PLAN_TABLE,
    UNFINISHED_FOLDER,
    Store,
    StoredVectors,
    commit,
    explain_store_errors,
    find_store,
    locked_store,
    open_store,
    save,
    store_rows,
)
from parivox.embedding.systems import EmbeddingSystem, named, system_record
from parivox.embedding.systems.named import system_made_by
from parivox.errors import ConfigError, DataError
from parivox.options.recordings import EmbedOptions
from parivox.runtime.cgroup import processor_count
from parivox.runtime.cluster import Cluster, check_address
from parivox.runtime.disk import sha256_of
from parivox.runtime.progress import reports_progress, stage
from parivox.runtime.workers import Processes, TaskOutput
from parivox.shown import NotebookView

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from parivox.embedding.systems import VerifyingSystem
    from parivox.runtime.progress import Progress
    from parivox.runtime.workers import AnnounceItem, Runner

    Load = Callable[[], EmbeddingSystem | VerifyingSystem]
    from parivox.sources import TableSource

BATCH = 64
"""Recordings in a batch: what an interruption costs, times the workers."""
_BATCH_COLUMNS = {**DECODED_COLUMNS, "_channels": pl.Int64}  # of a batch
_OUTCOME = (*(c for c in DECODED_COLUMNS if c != "audio_sha256"), "_from", "_at")
# A store made with an older onnxruntime or torch can be continued: the same weights give the
# same vectors.
_KEYS_WITHOUT_EFFECT = (
    "runtime",
    "providers",
    "torch",
)  # what ran a network, which changes no vector
_FROM_STORE = -1  # where an embedding stands that the store has already
_BYTES_A_SECOND = 32_000  # of 16 kHz and 16 bit, to compare excerpts with files


@dataclass(frozen=True, eq=False)
class Embedded(NotebookView):
    """What a run did.

    Attributes
    ----------
    store : Store
    statuses : dict
        How many of the recordings that were asked for have each status.
    new : int
        How many of them were not in the store when the run began.
    seconds : float
        Of audio, of those that are ok.
    source : Source
        What was asked for: its recordings, what tells whose they are, the files passed over.
    set_aside : tuple of str
        Ids of recordings whose channels differ, and none is chosen: the store has none of them.
    staying, pruned : int
        Recordings of earlier runs that are no longer named: how many stay, and how many were
        taken out.
    """

    store: Store
    statuses: dict[str, int]
    new: int
    seconds: float
    source: Source
    set_aside: tuple[str, ...] = ()
    staying: int = 0
    pruned: int = 0

    @property
    def passed_over(self) -> int:
        """Files of a folder that are no recordings by their ending."""
        return self.source.passed_over

    @cached_property
    def same_audio(self) -> pl.DataFrame:
        """Recordings of the store that hold the audio of another one, under an id of its own."""
        ok = self.store.table.filter(pl.col("row") >= 0)
        return ok.filter(pl.struct(AUDIO).is_duplicated()).sort(*AUDIO, "utterance")


@reports_progress
@with_reading_options
def embed(
    source: Source | TableSource,
    system: str | Load,
    out: str | os.PathLike[str],
    *,
    columns: Mapping[str, str] | None = None,
    channel: int | str | None = None,
    longest_seconds: float = LONGEST_SECONDS,
    encoding: str | None = None,  # noqa: ARG001 - for all that is read
    quotes: str | None = None,  # noqa: ARG001 - for all that is read
    prune: bool = False,
    workers: int | None = None,
    batch: int = BATCH,
    ray: str | None = None,
    progress: Callable[[Progress], None] | None = None,  # noqa: ARG001 - for all stages
) -> Embedded:
    """Embed the recordings that a store does not have yet.

    Parameters
    ----------
    source
        As `parivox.embedding.recordings.read_source` takes it.
    system
        As `parivox.embedding.systems.named.load` takes it, such as ``ge2e``; or a function
        that loads it, or of waveform and sample rate that is one. Each worker process calls that,
        so it must be picklable: a function of a module, or a ``functools.partial`` of one.
    out
        The folder of the store.
    columns
        Columns of a table by role: utterance, speaker, recording, file, channel, start, end; of a
        folder, by the number of a folder of the path: speaker, recording.
    channel
        Which counts, of files whose channels differ and of which the source does not say: a number
        from 1, ``left``, ``right``, ``mix`` (the mean of all), or ``each``, which makes a recording
        of every channel. Without it such files are set aside.
    longest_seconds
        Recordings that are longer are ``unreadable``.
    encoding
        Of a table that is neither UTF-8 nor UTF-16; without it, found out.
    quotes
        ``none`` where quotes in tables of text are signs as others are.
    prune
        Whether recordings of the store that are no longer named are taken out.
    workers
        Processes, of one thread each; as many as there are processors, unless given.
    batch
        Recordings in a batch.
    ray
        Address of a Ray cluster that embeds, ``HOST:PORT``, or ``auto`` for that of `RAY_ADDRESS`,
        or else this machine alone; without it, `workers` do. All nodes see the same disk.
    progress
        Called with the `parivox.runtime.progress.Progress` of each stage.

    Raises
    ------
    DataError
        If recordings are missing, the same audio is of two speakers, the store is of another
        system, or it cannot be written.
    ConfigError
        If an option is out of range, the system makes no embeddings, or there is nothing to decode
        recordings with.

    Notes
    -----
    A store remembers what a probe of its system found when it was begun, under ``probe``.
    """
    EmbedOptions.from_keywords(
        longest_seconds=longest_seconds, workers=workers, batch=batch, ray=ray
    )
    if ray is not None:
        check_address(ray)
        if workers is not None:
            msg = "--ray and --workers both set where recordings are embedded"
            hint = "give one of them"
            raise ConfigError(msg, hint)
    choice = parse_channel(channel)
    check_decoders()
    with stage("reading which recordings there are"):
        recording_source = read_source(source, columns=columns)
        recordings = with_stat(recording_source.table.drop(DECODED_COLUMNS, strict=False))
    folder = Path(out)
    # Checked before the system is loaded, which may take a minute.
    check_one_speaker(
        recordings,
        read_hashes(folder / HASHES),
        None if prune else find_store(folder),
        longest=longest_seconds,
        name=recording_source.name,
    )
    load = (
        partial(named.load, system) if isinstance(system, str) else partial(system_made_by, system)
    )
    with stage("loading the system"):
        loaded = load()
    if not isinstance(loaded, EmbeddingSystem):
        msg = f"{loaded.name}: compares recordings itself and makes no embeddings"
        hint = "use it with parivox score"
        raise ConfigError(msg, hint)
    options = {"longest_seconds": longest_seconds}
    runner: Runner = Processes(workers or processor_count())
    if ray is not None:
        device = str(loaded.provenance.get("device", ""))
        runner = Cluster(ray, gpus=int(device.startswith("cuda")))
    with locked_store(folder):
        about = {"system": system_record(loaded), "options": options}
        run = _Run(folder, about, recordings, choice=choice, prunes=prune)
        # A probe costs seconds, and its result belongs to the system: once for each store.
        if "probe" not in run.about:
            with stage("probing the system"):
                run.about["probe"] = probe(loaded).to_json()
        new = run.finish(load, runner, batch)
    store = open_store(folder)
    rows_of_source = store.table.join(run.wanted, on="utterance", how="semi")
    counts = dict(rows_of_source["status"].value_counts().iter_rows())
    seconds = rows_of_source.filter(pl.col("status") == "ok")["duration"].sum()
    statuses = {name: counts[name] for name in STATUSES if name in counts}
    ids_set_aside = tuple(run.set_aside["utterance"])
    staying = len(store.table) - len(store.table.join(run.named, on="utterance", how="semi"))
    return Embedded(
        store, statuses, new, float(seconds), recording_source, ids_set_aside, staying, run.pruned
    )


class _Run:
    """One run, which begins where the last one ended."""

    def __init__(
        self,
        folder: Path,
        about: dict[str, Any],
        named: pl.DataFrame,
        *,
        choice: int | str | None,
        prunes: bool,
    ) -> None:
        self.folder, self.about = folder, about
        self.choice, self.prunes, self.pruned = choice, prunes, 0
        self.named = self.wanted = named  # and of these, what is not set aside
        self.set_aside = named.clear()  # of files whose channels differ, and none is chosen
        self.store, self.unfinished = (
            find_store(folder),
            _find_unfinished_run(folder / UNFINISHED_FOLDER),
        )
        for earlier_run in (self.store, self.unfinished):
            if earlier_run is not None:
                _check_same_system(folder, earlier_run.about, about)
                self.about |= {"probe": earlier_run.about.get("probe", {})}  # when it was begun
        self.hashes = read_hashes(folder / HASHES)
        if self.store is None:
            self.hashes = self.hashes.clear()

    def finish(self, load: Load, runner: Runner, batch: int) -> int:
        """Embed what is left to do; gives how many recordings the store did not have.

        That the channels of a file differ is known once it is decoded: if one is chosen then, there
        is something left to do.
        """
        source, new = self.named, 0
        to_embed, not_chosen = with_channels(source, self.hashes, self.choice)
        while True:
            self.wanted, self.set_aside, self.named = (
                to_embed,
                not_chosen,
                pl.concat([to_embed, not_chosen]),
            )
            new += self._embed_planned(load, runner, batch)
            to_embed, not_chosen = with_channels(source, self.hashes, self.choice)
            if to_embed.equals(self.wanted):
                return new

    def _embed_planned(self, load: Load, runner: Runner, batch: int) -> int:
        known_rows, planned_batches = self._plan(batch)
        if self.unfinished is not None and not self.unfinished.plan.equals(planned_batches.plan):
            self._store_finished(
                self.unfinished
            )  # other recordings, or larger batches: what is done stays
            self.unfinished.drop()
            known_rows, planned_batches = self._plan(batch)
            self.unfinished = None
        if planned_batches.plan.height:
            if self.unfinished is None:
                planned_batches.start()
            self._embed(planned_batches, load, runner)
        n_set_aside = self._store_finished(planned_batches, known_rows)
        planned_batches.drop()
        return planned_batches.plan.height - n_set_aside

    def _plan(self, batch: int) -> tuple[pl.DataFrame, _PlannedBatches]:
        """What was found of recordings whose audio the store has, and the plan of all others.

        Batches are of recordings of much the same size of their files, the largest first.
        """
        if self.store is None:
            schema = {**COLUMNS, **DECODED_COLUMNS, "_from": pl.Int64, "_at": pl.Int64}
            stored_audio, may_be_known = pl.DataFrame(schema=schema), pl.lit(value=False)
        else:
            stored_audio = self.store.table.with_columns(
                _from=pl.lit(_FROM_STORE, pl.Int64), _at="row"
            )
            stored_audio = stored_audio.drop_nulls(
                "audio_sha256"
            )  # else the machine failed: that is tried again
            sizes = self.hashes["_size"]
            may_be_known = pl.col("_size").is_in(sizes.implode()) | pl.lit(not len(sizes))
        stored_audio = stored_audio.select(*AUDIO, *_OUTCOME).unique(
            AUDIO, keep="first", maintain_order=True
        )
        hashed_recordings = with_hashes_of_files(self.wanted, self.hashes, needs_hash=may_be_known)
        known_rows = hashed_recordings.join(stored_audio, on=AUDIO, nulls_equal=True)
        new_recordings = self.wanted.join(
            known_rows, on="utterance", how="anti", maintain_order="left"
        )
        seconds = pl.col("end") - pl.col("start").fill_null(0)
        size = pl.min_horizontal("_size", seconds * _BYTES_A_SECOND)
        # The largest come first, so that no worker is left with a long recording at the end.
        plan = new_recordings.sort(size, "utterance", descending=[True, False], maintain_order=True)
        number = pl.int_range(pl.len(), dtype=pl.Int64) // batch
        return known_rows, _PlannedBatches(
            self.folder / UNFINISHED_FOLDER, plan.with_columns(_part=number), self.about
        )

    def _embed(self, planned_batches: _PlannedBatches, load: Load, runner: Runner) -> None:
        """Do the batches that are not done."""
        sizes = [int(batch["_size"].sum()) for batch in planned_batches.batches]
        finished_numbers = set(planned_batches.finished_numbers())
        open_numbers = [k for k in range(len(sizes)) if k not in finished_numbers]
        longest = self.about["options"]["longest_seconds"]
        batches = (
            Batch(
                k,
                [Excerpt(*row) for row in planned_batches.batches[k].select(EXCERPT).rows()],
                longest,
            )
            for k in open_numbers
        )
        begin = partial(_batch_embedder, load, planned_batches.path.resolve(), planned_batches.key)
        stage_name = f"embedding {planned_batches.plan.height:,} recordings"
        with (
            stage(stage_name, sum(sizes), "bytes") as embedding_stage,
            runner.open(begin) as run_batches,
        ):
            embedding_stage.add(sum(sizes[k] for k in finished_numbers), is_new=False)
            for finished_batch in run_batches(batches):
                embedding_stage.add(sizes[finished_batch.number])

    def _store_finished(
        self, planned_batches: _PlannedBatches, known_rows: pl.DataFrame | None = None
    ) -> int:
        """Take what is done into the store, beside what it has of other utterances.

        All is done where there are `known_rows`, those of a store that was whole. Gives how many
        recordings are set aside, as their channels differ.
        """
        done = planned_batches.finished_numbers() if planned_batches.plan.height else []
        new_rows = [] if known_rows is None else [known_rows]
        for k in done:
            batch_rows = planned_batches.batch_rows(k).with_columns(
                _from=pl.lit(k, pl.Int64), _at="row"
            )
            new_rows.append(pl.concat([planned_batches.batches[k], batch_rows], how="horizontal"))
        if not new_rows:
            return 0
        table = pl.concat(new_rows, how="diagonal_relaxed")
        hashes = hashes_of(pl.concat([self.hashes, table.select(self.hashes.columns)]))
        is_aside = (pl.col("_channels") > 1) & pl.col("channel").is_null()
        rows_set_aside = table.filter(is_aside)
        embedded = table.filter(is_aside.fill_null(value=False).not_())
        if self.store is not None:
            stored_rows = self._kept_rows(
                table, rows_set_aside, prunes=self.prunes and known_rows is not None
            )
            stored_rows = stored_rows.with_columns(_from=pl.lit(_FROM_STORE, pl.Int64), _at="row")
            embedded = pl.concat([stored_rows, embedded], how="diagonal_relaxed")
        self._replace(embedded, planned_batches, done)
        if not hashes.equals(self.hashes):
            save(self.folder / HASHES, hashes)
            self.hashes = hashes
        return rows_set_aside.height

    def _kept_rows(
        self, table: pl.DataFrame, rows_set_aside: pl.DataFrame, *, prunes: bool
    ) -> pl.DataFrame:
        """What stays of the store: other utterances, and channels of those set aside, if the same.

        The store has these of an earlier run, for which one was chosen.
        """
        assert self.store is not None
        stored = self.store.table
        stored_rows = pl.concat(
            [
                stored.join(table, on="utterance", how="anti"),
                stored.join(rows_set_aside, on=["utterance", "audio_sha256"], how="semi"),
            ]
        )
        if not prunes:
            return stored_rows
        named_rows = stored_rows.join(self.named, on="utterance", how="semi")
        self.pruned += stored_rows.height - named_rows.height
        return named_rows

    def _replace(
        self, table: pl.DataFrame, planned_batches: _PlannedBatches, done: list[int]
    ) -> None:
        """Have the store hold these recordings, if it does not yet."""
        own_columns = [c for c in COLUMNS if c != "path"]
        known_columns = {*own_columns, *DECODED_COLUMNS, *STAT, "_channels", "_from", "_at"}
        missing = [pl.lit(None, COLUMNS[c]).alias(c) for c in own_columns if c not in table.columns]
        attribute_columns = [c for c in table.columns if c not in known_columns]
        table = table.with_columns(missing).sort("utterance")
        store_table = store_rows(table.select(*own_columns, *attribute_columns, *DECODED_COLUMNS))
        if self.store is None or not store_table.equals(self.store.table):
            ok = table.filter(pl.col("row") >= 0)
            sources: dict[int, Callable[[], NDArray[np.float32]]]
            sources = {k: partial(planned_batches.vectors, k) for k in done}
            if self.store is not None:
                sources[_FROM_STORE] = partial(getattr, self.store, "vectors")
            vectors = StoredVectors(sources, ok["_from"].to_numpy(), ok["_at"].to_numpy())
            with stage("writing the store"):
                commit(self.folder, store_table, vectors, self.about)
            self.store = find_store(self.folder)


def _batch_embedder(
    load: Load, folder: Path, key: str
) -> Callable[[Batch, AnnounceItem], TaskOutput]:
    """What a worker does, once it has loaded the system: batches of a plan, kept in its folder."""
    system = load()
    assert isinstance(system, EmbeddingSystem)  # as the parent has found

    def embed_one_batch(batch: Batch, in_hand: AnnounceItem) -> TaskOutput:
        done = embed_batch(batch, system, in_hand)
        table, vectors = _batch_files(folder, key, batch.number)
        with explain_store_errors(folder.parent):
            save(vectors, done.vectors)
            save(table, pl.DataFrame(done.rows, schema=_BATCH_COLUMNS))
            files = {str(path): sha256_of(path) for path in (vectors, table)}
        return TaskOutput(number=batch.number, files=files)

    return embed_one_batch


def _batch_files(folder: Path, key: str, number: int) -> tuple[Path, Path]:
    """Where what is found of a batch is kept: its recordings, and their embeddings."""
    table = folder / f"{number:06d}-{key}.parquet"
    return table, table.with_suffix(".npy")


@dataclass(frozen=True, eq=False)
class _PlannedBatches:
    """The planned batches of a run, in a folder, and what was found of those that are done.

    The plan depends on the recordings alone: not on the number of workers, nor on interruptions. A
    batch is done once its table has its name; an interrupted one is done again as a whole.
    """

    path: Path
    plan: pl.DataFrame
    """The recordings in the order in which they are done, with the number of their batch,
    ``_part``."""
    about: dict[str, Any]  # the system and the options

    @cached_property
    def key(self) -> str:
        """Of the plan as it is written: in the names of its parts, so that none is of another."""
        return sha256_of(self.path / PLAN_TABLE)[:12]

    @cached_property
    def batches(self) -> list[pl.DataFrame]:
        """The recordings of each batch, without ``_part``."""
        return self.plan.partition_by("_part", maintain_order=True, include_key=False)

    def finished_numbers(self) -> list[int]:
        """Numbers of the batches that are done."""
        return [k for k in range(len(self.batches)) if self._batch_files(k)[0].exists()]

    def start(self) -> None:
        """Write the plan down; whatever was in the folder is gone."""
        self.drop()
        self.path.mkdir()
        save(self.path / PLAN_TABLE, self.plan)
        save(self.path / PLAN, self.about)

    def batch_rows(self, number: int) -> pl.DataFrame:
        """What was found of the recordings of a batch that is done."""
        return pl.concat(
            [pl.DataFrame(schema=_BATCH_COLUMNS), pl.read_parquet(self._batch_files(number)[0])],
            how="diagonal",
        )

    def vectors(self, number: int) -> NDArray[np.float32]:
        """Their embeddings, shape (row, crop, dimension)."""
        array: NDArray[np.float32] = np.load(self._batch_files(number)[1])
        return array

    def drop(self) -> None:
        """Forget the run."""
        if self.path.is_dir():
            (self.path / PLAN).unlink(missing_ok=True)  # without which it is no plan
            shutil.rmtree(self.path)

    def _batch_files(self, number: int) -> tuple[Path, Path]:
        return _batch_files(self.path, self.key, number)


def _find_unfinished_run(path: Path) -> _PlannedBatches | None:
    """The unfinished run in a folder, None where there is none; one that is damaged is an error."""
    if not (path / PLAN).is_file():
        return None
    try:
        about = json.loads((path / PLAN).read_text(encoding="utf-8"))
        return _PlannedBatches(path, pl.read_parquet(path / PLAN_TABLE), about)
    except (OSError, ValueError, RecursionError, pl.exceptions.PolarsError) as error:
        msg = f"{path}: is not a plan of an unfinished run"
        hint = "delete this folder, and embed again"
        raise DataError(msg, hint) from error


def _check_same_system(
    folder: Path, stored_about: dict[str, Any], new_about: dict[str, Any]
) -> None:
    """Refuse a folder that another system, or other options, have made."""
    compared = []
    for about in (stored_about, new_about):
        system = {name: value for name, value in about["system"].items() if name != "name"}
        if isinstance(system.get("provenance"), dict):
            system["provenance"] = dict(system["provenance"])
            for name in _KEYS_WITHOUT_EFFECT:
                system["provenance"].pop(name, None)
        compared.append(dict(_nested_values({"system": system, "options": about["options"]})))
    old, new = compared
    differing_keys = [key for key in {**old, **new} if old.get(key) != new.get(key)]
    if differing_keys:
        key = differing_keys[0].removeprefix("system.").removeprefix("provenance.")
        msg = (
            f"{folder}: was made by {stored_about['system']['name']!r} with {key} "
            f"{old.get(differing_keys[0])!r}, but {new_about['system']['name']!r} has "
            f"{new.get(differing_keys[0])!r}"
        )
        hint = "choose another --out, because these embeddings cannot be compared"
        raise DataError(msg, hint)


def _nested_values(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of a nested record with its path."""
    if isinstance(tree, dict) and tree:
        for name, value in tree.items():
            yield from _nested_values(value, f"{path}.{name}".lstrip("."))
    else:
        yield path, tree
