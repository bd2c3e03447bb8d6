"""Running of shards: score counts and speaker counts, each made once however often it is run."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.auditing import count_by_speaker, count_trials
from parivox.core.counts import NONTARGET
from parivox.core.key_sums import count_distinct
from parivox.data.score_bins import parse_bins
from parivox.data.trial_checks import sorted_numbers
from parivox.data.trial_set import TrialSet
from parivox.data.units import (
    MAX_SEPARATE_SPEAKERS,
    N_SPEAKER_BLOCKS,
    blocks_replacing_speakers,
    finest_groups,
)
from parivox.errors import ConfigError, DataError, ParivoxError
from parivox.options.shards import ShardsRunCommand
from parivox.runtime.cluster import Cluster, check_address
from parivox.runtime.disk import explain_write_errors, lock_folder
from parivox.runtime.progress import reports_progress, stage
from parivox.runtime.workers import CurrentProcess, Processes, TaskOutput
from parivox.share.shard_plan import (
    encoded_speakers,
    gather_trials,
    read_json,
    read_plan,
    write_json,
)
from parivox.share.shard_record import (
    COUNTS_FILE,
    FAILURE_FILE,
    SPEAKER_COUNTS_FILE,
    ShardRecord,
    failed_shards_error,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from parivox.auditing import GroupedTrials
    from parivox.data.speaker_counts import SpeakerCounts
    from parivox.data.speakers import Speakers
    from parivox.options.audit import CountOptions
    from parivox.runtime.progress import Progress
    from parivox.runtime.workers import AnnounceItem, Runner
    from parivox.share.shard_plan import Plan, SpeakerCountInputs


def run_shard(
    folder: str | os.PathLike[str], number: int, *, waits: bool = False
) -> dict[str, str]:
    """Make the files of one shard that are due and missing: its counts, then its speaker counts.

    Parameters
    ----------
    folder
        Of the plan.
    number
        Which shard, from 1.
    waits
        Whether to wait while another process runs it, as one of a node that is given up may.

    Returns
    -------
    dict of str to str
        Hashes of its files, by name.

    Raises
    ------
    DataError
        If its rows are not as they must be, now or when it was run before.
    ConfigError
        If another process runs it, or the disk is full.
    """
    plan = read_plan(folder)
    home = plan.home(number)
    if home.is_symlink():
        msg = f"{home}: is a link to a file that may belong to another program"
        hint = "remove the link"
        raise ConfigError(msg, hint)
    with explain_write_errors(str(home), "folder"):
        home.mkdir(exist_ok=True)
    # locked, as engines may run a shard again while a lost node still does
    with ExitStack() as lock:
        if not lock_folder(home, lock, waits=waits):
            shard_description = plan.shard_description(number)
            msg = f"{shard_description}: another process is running it"
            hint = "wait until this process has ended"
            raise ConfigError(msg, hint)
        record, speaker_count_inputs = ShardRecord.read(plan, number), plan.speaker_count_inputs()
        # the first pass makes the score counts, the second the speaker counts: their thresholds are
        # set on the score counts of all shards
        if not record.has_intact_file(COUNTS_FILE):
            with _reporting_failures(plan, number):
                record = record.with_file(COUNTS_FILE, *_count_scores(plan, number).origin)
        if speaker_count_inputs is not None and not record.has_intact_file(SPEAKER_COUNTS_FILE):
            with _reporting_failures(plan, number):
                shard_trials, speaker_counts = _count_by_speaker(plan, number, speaker_count_inputs)
                record = record.with_file(
                    SPEAKER_COUNTS_FILE,
                    *shard_trials.origin,
                    len(speaker_counts),
                    _n_pairs(speaker_counts),
                )
    return record.hashes


class _ShardTrials(NamedTuple):
    """The trials of one shard."""

    gathered: GroupedTrials
    count_options: CountOptions
    trials: TrialSet
    speaker_table: Speakers
    origin: tuple[Sequence[dict[str, Any]], str]  # files they were read from, and their speakers


def _read_shard(plan: Plan, number: int) -> _ShardTrials:
    """Read one shard, from the inputs that it was planned with."""
    shard = plan.shards[number - 1]
    plan.check_inputs()
    gathered, count_options = gather_trials(plan, shard)
    (trials,), speaker_table = gathered.trial_sets, gathered.speakers
    assert isinstance(trials, TrialSet)
    assert speaker_table is not None
    for rows, source in zip(shard, trials.provenance, strict=False):  # scores come first
        plan.check_scores(rows.path, source["sha256"])
    origin = trials.provenance, encoded_speakers(trials.speakers_in_use, len(speaker_table.ids))
    return _ShardTrials(gathered, count_options, trials, speaker_table, origin)


def _count_scores(plan: Plan, number: int) -> _ShardTrials:
    """Write the score counts of a shard."""
    shard_trials = _read_shard(plan, number)
    bins = parse_bins(shard_trials.count_options.step, shard_trials.count_options.thresholds)
    count_trials(shard_trials.gathered, shard_trials.count_options, bins).write_over(
        plan.home(number) / COUNTS_FILE
    )
    return shard_trials


def _count_by_speaker(
    plan: Plan, number: int, speaker_count_inputs: SpeakerCountInputs
) -> tuple[_ShardTrials, SpeakerCounts]:
    """Write the speaker counts of a shard."""
    shard_trials = _read_shard(plan, number)
    speaker_block = None
    groupings = [*shard_trials.gathered.groupings, *shard_trials.gathered.within]
    if plan.step:  # blocks of the speakers of all shards, so that they are the same in each
        finest = finest_groups(groupings, len(shard_trials.speaker_table.ids))
        speaker_block = blocks_replacing_speakers(
            finest, speaker_count_inputs.speakers, MAX_SEPARATE_SPEAKERS, N_SPEAKER_BLOCKS
        )
    speaker_counts = count_by_speaker(
        shard_trials.trials, speaker_count_inputs.thresholds, groupings, speaker_block
    )
    speaker_counts.save(plan.home(number) / SPEAKER_COUNTS_FILE)
    return shard_trials, speaker_counts


def _n_pairs(speaker_counts: SpeakerCounts) -> int:
    """Return the number of different pairs of units that nontarget trials compare."""
    columns = speaker_counts.columns
    rows = np.flatnonzero(columns["trial_class"] == NONTARGET)
    enrol, test = (columns[side][rows].astype(np.int64) for side in ("enrol_unit", "test_unit"))
    pairs = np.minimum(enrol, test) << 32 | np.maximum(enrol, test)
    distinct_pairs, _ = count_distinct(pairs, sorted_numbers)
    return distinct_pairs.size


@contextmanager
def _reporting_failures(plan: Plan, number: int) -> Iterator[None]:
    """Name the shard that failed by its rows, and record the failure so that it is not run again.

    No record is left where an input is missing or differs from the plan, as that can be fixed.
    """
    failure_file = plan.home(number) / FAILURE_FILE
    if failure_file.exists():
        failure = read_json(failure_file)
        if failure.get("plan") == plan.id:
            msg = f"{failure.get('error')} (recorded in {failure_file}; the rows have not changed)"
            raise DataError(msg)
        failure_file.unlink()
    try:
        yield
    except DataError as error:
        problem = f"{plan.shard_description(number)}: {error.problem}"
        shard_error = DataError(problem, error.hint)
        if plan.is_unchanged(number):
            with suppress(ParivoxError):  # the folder may not be writable
                write_json(failure_file, {"plan": plan.id, "error": str(shard_error)})
        raise shard_error from error


@reports_progress
def run(
    folder: str | os.PathLike[str],
    *,
    shard: str | None = None,
    workers: int = 1,
    ray: str | None = None,
    progress: Callable[[Progress], None] | None = None,  # noqa: ARG001 - taken by `reports_progress`
) -> None:
    """Run every shard of a plan, both passes; what is there already is not made again.

    Parameters
    ----------
    folder
        Of the plan.
    shard
        One shard alone, as in ``7/32``, and what is due of it: its counts, or its speaker counts
        once the counts of all shards were merged.
    workers
        Processes at once.
    ray
        Address of a Ray cluster that runs them, ``HOST:PORT``, or ``auto`` for that of
        `RAY_ADDRESS`, or else this machine alone. All nodes see the same disk.
    progress
        Called with the `parivox.Progress` of each stage.

    Raises
    ------
    DataError
        If shards failed by their rows; all others are done.
    ConfigError
        If something cannot be written, or `shard` is of another number of shards.
    """
    ShardsRunCommand(folder=folder, shard=shard, workers=workers, ray=ray)  # which checks them
    n_runners = [shard is not None, workers != 1, ray is not None].count(True)
    if n_runners > 1:
        msg = "--shard, --workers and --ray all set where the shards run"
        hint = "give one of them"
        raise ConfigError(msg, hint)
    runner: Runner = CurrentProcess() if workers == 1 else Processes(workers)
    if ray is not None:
        runner = Cluster(check_address(ray))
    plan = read_plan(folder)
    if shard is not None:
        run_shard(folder, _shard_number(plan, shard))
        return
    with runner.open(partial(shard_runner, plan.folder)) as run_shards:
        _run_all(plan, run_shards, "counting scores")
        if plan.speaker_count_inputs() is None:
            from parivox.share.shard_merging import (  # noqa: PLC0415 - loads what audits need
                find_thresholds,
            )

            with stage("finding thresholds"):
                find_thresholds(folder)
        _run_all(plan, run_shards, "counting by speaker")


def _shard_number(plan: Plan, text: str) -> int:
    """Return the number of the shard ``7/32``."""
    number_text, slash, total_text = text.partition("/")
    if not slash or not number_text.strip().isdecimal() or not total_text.strip().isdecimal():
        msg = f"--shard {text}: is not a shard"
        hint = f"give its number and the number of all shards, for example 7/{len(plan)}"
        raise ConfigError(msg, hint)
    n_shards = len(plan)
    if int(total_text) != n_shards:
        msg = f"--shard {text}: the plan has {n_shards} shards, not {int(total_text)}"
        hint = f"give 1/{n_shards} to {n_shards}/{n_shards}"
        raise ConfigError(msg, hint)
    return int(number_text)


def _run_all(
    plan: Plan, run_shards: Callable[[Iterable[int]], Iterator[FinishedShard]], stage_name: str
) -> None:
    """Run every shard once; if some fail by their rows, run the others before raising."""
    error_by_shard: dict[int, str] = {}
    with stage(stage_name, len(plan), "shards") as progress_stage:
        for finished in run_shards(range(1, len(plan) + 1)):
            progress_stage.add()
            if finished.error:
                error_by_shard[finished.number] = finished.error
    if error_by_shard:
        raise failed_shards_error(error_by_shard)


@dataclass(frozen=True, kw_only=True)
class FinishedShard(TaskOutput):
    """A shard that was run."""

    error: str = ""  # what is wrong with its rows


def shard_runner(folder: Path) -> Callable[[int, AnnounceItem], FinishedShard]:
    """Return the function with which a worker runs shards of a plan."""
    plan = read_plan(folder)

    def run_numbered(number: int, _: AnnounceItem) -> FinishedShard:
        try:
            hashes = run_shard(folder, number, waits=True)
        except DataError as error:
            return FinishedShard(number=number, error=str(error))
        home = plan.home(number)
        return FinishedShard(
            number=number, files={str(home / name): hashes[name] for name in hashes}
        )

    return run_numbered
