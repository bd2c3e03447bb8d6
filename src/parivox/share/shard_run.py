"""One part of an audit: its counts and its tally, each made once, whoever asks and how often."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from parivox.auditing import (
    MAX_SEPARATE_SPEAKERS,
    N_SPEAKER_BLOCKS,
    blocks_replacing_speakers,
    count_by_speaker,
    count_trials,
    finest_groups,
)
from parivox.data.score_bins import parse_bins
from parivox.data.trial_set import TrialSet
from parivox.errors import ConfigError, DataError, ParivoxError
from parivox.options.shards import ShardsRunCommand
from parivox.runtime.cluster import Cluster, check_address
from parivox.runtime.disk import explain_write_errors, lock_folder
from parivox.runtime.progress import reports_progress, stage
from parivox.runtime.workers import CurrentProcess, Processes, TaskOutput
from parivox.share.shard_merging import find_thresholds
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
    from parivox.data.speakers import Speakers
    from parivox.options.audit import CountOptions
    from parivox.runtime.progress import Progress
    from parivox.runtime.workers import AnnounceItem, Runner
    from parivox.share.shard_plan import Plan, TallyInputs


def run_shard(
    folder: str | os.PathLike[str], number: int, *, waits: bool = False
) -> dict[str, str]:
    """Make what is due of one part, unless it is there: its counts, then its tally.

    Parameters
    ----------
    folder
        Of the plan.
    number
        Which part, from 1.
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
        msg = f"{home}: is a link, and what it leads to may be another's; remove it"
        raise ConfigError(msg)
    with explain_write_errors(str(home), "folder"):
        home.mkdir(exist_ok=True)
    with ExitStack() as lock:
        if not lock_folder(home, lock, waits=waits):
            msg = f"{plan.said(number)}: another process runs it; wait until that has ended"
            raise ConfigError(msg)
        record, found = ShardRecord.read(plan, number), plan.found()
        if not record.has_intact_file(COUNTS_FILE):
            with _told(plan, number):
                record = record.with_file(COUNTS_FILE, *_count(plan, number).origin)
        if found is not None and not record.has_intact_file(SPEAKER_COUNTS_FILE):
            with _told(plan, number):
                record = record.with_file(SPEAKER_COUNTS_FILE, *_tally(plan, number, found).origin)
    return record.hashes


class _Part(NamedTuple):
    """The trials of one part."""

    read: GroupedTrials
    asked: CountOptions  # how they are counted
    trials: TrialSet
    people: Speakers
    origin: tuple[Sequence[dict[str, Any]], str]  # files they were read from, and who is in them


def _read(plan: Plan, number: int) -> _Part:
    """Read one part, of what it was planned of."""
    rows = plan.shards[number - 1]
    plan.check_inputs()
    read, asked = gather_trials(plan, rows)
    (trials,), people = read.trial_sets, read.speakers
    assert isinstance(trials, TrialSet)
    assert people is not None
    plan.check_scores(rows.path, trials.provenance[0]["sha256"])
    origin = trials.provenance, encoded_speakers(trials.speakers_in_use, len(people.ids))
    return _Part(read, asked, trials, people, origin)


def _count(plan: Plan, number: int) -> _Part:
    """Write the counts of a part."""
    part = _read(plan, number)
    bins = parse_bins(part.asked.step, part.asked.thresholds)
    count_trials(part.read, part.asked, bins).write_over(plan.home(number) / COUNTS_FILE)
    return part


def _tally(plan: Plan, number: int, found: TallyInputs) -> _Part:
    """Write the tally of a part."""
    part, block = _read(plan, number), None
    groupings = [*part.read.groupings, *part.read.within]
    if plan.step:  # of the speakers of all parts, so that blocks are the same in each
        finest = finest_groups(groupings, len(part.people.ids))
        block = blocks_replacing_speakers(
            finest, found.speakers, MAX_SEPARATE_SPEAKERS, N_SPEAKER_BLOCKS
        )
    made = count_by_speaker(part.trials, found.thresholds, groupings, block)
    made.write(plan.home(number) / SPEAKER_COUNTS_FILE)
    return part


@contextmanager
def _told(plan: Plan, number: int) -> Iterator[None]:
    """Say which part failed by its rows, and leave a record of it, lest it is tried for ever.

    None is left where what it reads is not there, or not as planned: that may be mended.
    """
    failed = plan.home(number) / FAILURE_FILE
    if failed.exists():
        found = read_json(failed)
        if found.get("plan") == plan.id:
            msg = f"{found.get('error')} (as {failed} records; the rows are the same)"
            raise DataError(msg)
        failed.unlink()
    try:
        yield
    except DataError as error:
        told = f"{plan.said(number)}: {error}"
        if plan.is_unchanged(number):
            with suppress(ParivoxError):  # where not even that can be written
                write_json(failed, {"plan": plan.id, "error": told})
        raise DataError(told) from error


@reports_progress
def run(
    folder: str | os.PathLike[str],
    *,
    shard: str | None = None,
    workers: int = 1,
    ray: str | None = None,
    progress: Callable[[Progress], None] | None = None,  # noqa: ARG001 - `telling` takes it
) -> None:
    """Run every part of a plan, both passes; what is there already is not made again.

    Parameters
    ----------
    folder
        Of the plan.
    shard
        One part alone, as in ``7/32``, and what is due of it: its counts, or its tally once the
        counts of all parts were merged.
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
        If parts failed by their rows; all others are done.
    ConfigError
        If something cannot be written, or `shard` is of another number of parts.
    """
    ShardsRunCommand(folder=folder, shard=shard, workers=workers, ray=ray)  # which checks them
    if sum((shard is not None, workers != 1, ray is not None)) > 1:
        msg = "--shard, --workers and --ray each say who runs what; give one of them"
        raise ConfigError(msg)
    runner: Runner = CurrentProcess() if workers == 1 else Processes(workers)
    if ray is not None:
        runner = Cluster(check_address(ray))
    plan = read_plan(folder)
    if shard is not None:
        run_shard(folder, _number(plan, shard))
        return
    with runner.open(partial(shard_runner, plan.folder)) as do:
        _run_all(plan, do, "counting parts")
        if plan.found() is None:
            with stage("finding thresholds"):
                find_thresholds(folder)
        _run_all(plan, do, "tallying parts")


def _number(plan: Plan, text: str) -> int:
    """Which part ``7/32`` is."""
    one, slash, of = text.partition("/")
    if not slash or not one.strip().isdecimal() or not of.strip().isdecimal():
        msg = f"--shard {text}: is not a part; give its number and that of all, as in 7/{len(plan)}"
        raise ConfigError(msg)
    n = len(plan)
    if int(of) != n:
        msg = f"--shard {text}: the plan has {n} parts, not {int(of)}; give 1/{n} to {n}/{n}"
        raise ConfigError(msg)
    return int(one)


def _run_all(plan: Plan, do: Callable[[Iterable[int]], Iterator[FinishedShard]], what: str) -> None:
    """Run every part once; of those that fail by their rows, the others are done first."""
    failed: dict[int, str] = {}
    with stage(what, len(plan), "parts") as at:
        for one in do(range(1, len(plan) + 1)):
            at.add()
            if one.error:
                failed[one.number] = one.error
    if failed:
        raise failed_shards_error(failed)


@dataclass(frozen=True, kw_only=True)
class FinishedShard(TaskOutput):
    """A part that was run."""

    error: str = ""  # what is wrong with its rows


def shard_runner(folder: Path) -> Callable[[int, AnnounceItem], FinishedShard]:
    """What a worker does: parts of a plan."""
    plan = read_plan(folder)

    def do(number: int, _: AnnounceItem) -> FinishedShard:
        try:
            hashes = run_shard(folder, number, waits=True)
        except DataError as error:
            return FinishedShard(number=number, error=str(error))
        home = plan.home(number)
        return FinishedShard(number=number, files={str(home / one): hashes[one] for one in hashes})

    return do
