"""Merging of shards: their score counts, then the thresholds, then the audit of their sum."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing import (
    audit,
    audit_counted,
    counts_with_groupings,
    read_counts_files,
    speaker_count_thresholds,
)
from parivox.data.formats.format import pair_location
from parivox.data.groups_file import read_groups_file
from parivox.data.score_extent import pair_in_two_shards
from parivox.data.trial_set import TrialSet
from parivox.errors import DataError
from parivox.runtime.disk import sha256_of
from parivox.share.shard_memory import check_merge_fits
from parivox.share.shard_plan import (
    THRESHOLDS_FILE,
    decoded_speakers,
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
    shard_list,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from parivox.auditing import Audit, GroupedTrials, TrialCounts
    from parivox.data.score_extent import TrialLocation
    from parivox.runtime.progress import Progress
    from parivox.share.shard_plan import Plan

_SPEAKER_OPTIONS = ("speakers", "id", "conflicts", "encoding", "quotes")


def find_thresholds(folder: str | os.PathLike[str]) -> None:
    """Add up the counts of all shards, set the thresholds of speaker counts on them, write both.

    Raises
    ------
    DataError
        If a shard is missing, failed, damaged or of another plan, or if two shards count one trial
        of a list of which each score is counted.
    """
    plan = read_plan(folder)
    (counts,) = read_counts_files([(None, path) for path in _shard_files(plan, COUNTS_FILE)])
    _check_distinct_trials(plan, counts.n_trials)
    counts.write_over(plan.folder / COUNTS_FILE)
    thresholds = speaker_count_thresholds(
        str(plan.folder / COUNTS_FILE), **plan.options_of_counts_audit()
    )
    # as hexadecimal text, which keeps every bit of a threshold
    texts = [threshold.hex() for threshold in thresholds.tolist()]
    records = [ShardRecord.read(plan, number) for number in range(1, len(plan) + 1)]
    speakers = np.unique(np.concatenate([decoded_speakers(record.speakers) for record in records]))
    document = {
        "thresholds": texts,
        "speakers": encoded_speakers(speakers, int(speakers.max(initial=-1)) + 1),
        "counts": sha256_of(plan.folder / COUNTS_FILE),
    }
    write_json(plan.folder / THRESHOLDS_FILE, {"plan": plan.id, **document})


def merge(
    folder: str | os.PathLike[str],
    *,
    progress: Callable[[Progress], None] | None = None,
) -> Audit | None:
    """Audit the shards of a plan together.

    A list of which the shards were counted by every score is read as well, for all that takes its
    rows at once.

    Returns
    -------
    Audit or None
        None after the first pass: the thresholds are found now, and every shard is to be run again.

    Raises
    ------
    DataError
        If a shard is missing, failed, damaged or of another plan, or if two shards hold one trial.
    """
    plan = read_plan(folder)
    plan.check_inputs()
    if plan.speaker_count_inputs() is None:
        find_thresholds(folder)
        return None
    counts, summed_file = _shard_files(plan, COUNTS_FILE), plan.folder / COUNTS_FILE
    speaker_counts = _shard_files(plan, SPEAKER_COUNTS_FILE)
    recorded_sha256 = read_json(plan.folder / THRESHOLDS_FILE).get("counts")
    if summed_file.exists() and sha256_of(summed_file) == recorded_sha256:
        counts = [str(summed_file)]  # the sum that the thresholds were set on
    check_merge_fits(plan, counts[0])
    files = [*counts, *speaker_counts]
    if not plan.step:
        whole_list = {plan.name: plan.scores}
        count_list = partial(_counts_of_list, plan, files)
        return audit_counted(whole_list, count_list, progress=progress, **plan.options)
    options: dict[str, Any] = plan.options_of_counts_audit()
    plan_options = plan.audit_options
    options |= {name: value for name, value in plan.options.items() if name in _SPEAKER_OPTIONS}
    if plan_options.groups is not None and not plan_options.reference:
        options["reference"] = read_groups_file(plan_options.groups).reference
    merged = audit(files, progress=progress, **options)
    return replace(merged, provenance=_provenance(plan, merged.provenance))


def _counts_of_list(plan: Plan, files: Sequence[str], gathered: GroupedTrials) -> TrialCounts:
    """Return the sum of all shards, which must be the list that was read."""
    (trials,) = gathered.trial_sets
    assert isinstance(trials, TrialSet)
    for path, source in zip(plan.scores, trials.provenance, strict=False):
        plan.check_scores(path, source["sha256"])
    (counts,) = read_counts_files([(None, path) for path in files])
    assert counts.speaker_counts is not None
    keys = counts.speaker_counts.score_keys[:, : trials.score_keys.shape[1]]
    if counts.n_trials != trials.n_trials or (keys != trials.score_keys).any():
        raise _mismatch_error(plan, counts.n_trials, trials, _trial_in_two_shards(plan))
    return counts_with_groupings(counts, trials, gathered.groupings, gathered.within)


def _check_distinct_trials(plan: Plan, n_counted: int) -> None:
    """Refuse a list that is read as a whole if two shards count one trial."""
    twice = None if plan.step else _trial_in_two_shards(plan)
    if twice is None:
        return
    (whole_list,) = gather_trials(plan, plan.scores)[0].trial_sets
    if n_counted != whole_list.n_trials:
        assert isinstance(whole_list, TrialSet)
        raise _mismatch_error(plan, n_counted, whole_list, twice)


def _mismatch_error(
    plan: Plan,
    n_counted: int,
    whole_list: TrialSet,
    twice: tuple[str, TrialLocation, TrialLocation] | None,
) -> DataError:
    """Return the error of shards that do not add up to their list."""
    if twice is None and (recording := _recording_of_two_classes(whole_list)):
        msg = (
            f"{whole_list.name}: {recording!r} is spoofed, but also occurs in a bona fide trial of "
            "another shard, and each shard excludes only the contradictory rows within it"
        )
        hint = "correct one label, and plan again in a new folder"
        return DataError(msg, hint)
    if twice is None:
        msg = (
            f"{plan.folder}: the shards do not match their files (trials in the shards: "
            f"{n_counted:,}; in the files: {whole_list.n_trials:,})"
        )
        hint = "remove the shards, and run them again"
        return DataError(msg, hint)
    pair, first_place, second_place = twice
    rows = pair_location(first_place.path, first_place.row, second_place.path, second_place.row)
    conflict_note = (
        ""
        if plan.audit_options.conflicts == "error"
        else ", because each excludes only the contradictory rows within it"
    )
    msg = (
        f"{rows}: the same trial {pair} is counted in both shards {first_place.shard} and "
        f"{second_place.shard}{conflict_note}"
    )
    hint = "remove one of the rows, and plan again in a new folder"
    return DataError(msg, hint)


def _recording_of_two_classes(trials: TrialSet) -> str:
    """Return a recording that is both in spoof trials and in bona fide ones; empty for none."""
    (partition,) = trials.partitions()
    bona_fide = partition.take(~partition.spoof)
    spoofed = partition.take(partition.spoof).test
    recordings = spoofed[np.isin(spoofed, np.concatenate((bona_fide.enrol, bona_fide.test)))]
    return str(trials.utterance_ids[int(recordings[0])]) if recordings.size else ""


def _trial_in_two_shards(plan: Plan) -> tuple[str, TrialLocation, TrialLocation] | None:
    """Return a pair of recordings that has a score or decision in two shards, and where."""
    plan_options = plan.audit_options
    return pair_in_two_shards(
        plan.shards, columns=plan_options.columns, format=plan_options.scores_format
    )


def _provenance(plan: Plan, audited_sources: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the files that were read, with those of the trials in the place of shard counts."""
    shard_sources: list[dict[str, Any]] = []
    for number in range(1, len(plan) + 1):
        shard_sources += [
            source
            for source in ShardRecord.read(plan, number).inputs
            if source not in shard_sources
        ]
    # scores come first, as in an audit of the whole list
    shard_sources.sort(key=lambda source: source["role"] != "scores")
    counts_index = [source["role"] for source in audited_sources].index("counts")
    later_sources = [
        source for source in audited_sources[counts_index:] if source["role"] != "counts"
    ]
    return [*audited_sources[:counts_index], *shard_sources, *later_sources]


def _shard_files(plan: Plan, name: str) -> list[str]:
    """Return the path of one file of every shard.

    Raises
    ------
    DataError
        If shards failed, are missing or damaged: all of them are named.
    """
    error_by_shard: dict[int, str] = {}
    missing: list[int] = []
    damaged: list[int] = []
    shard_names = {plan.home(number).name for number in range(1, len(plan) + 1)}
    foreign = [
        path.name
        for path in plan.folder.iterdir()
        if path.is_dir() and "-of-" in path.name and path.name not in shard_names
    ]
    for number in range(1, len(plan) + 1):
        failure_file = plan.home(number) / FAILURE_FILE
        record = ShardRecord.read(plan, number)
        if record.has_intact_file(name):
            continue
        if failure_file.exists() and read_json(failure_file).get("plan") == plan.id:
            error_by_shard[number] = str(read_json(failure_file).get("error"))
        else:
            (damaged if name in record.hashes else missing).append(number)
    if foreign:
        msg = f"{plan.folder}: {', '.join(sorted(foreign))} are not shards of this plan"
        hint = "remove these folders"
        raise DataError(msg, hint)
    if error_by_shard:
        raise failed_shards_error(error_by_shard)
    for state, numbers in (("damaged", damaged), ("missing", missing)):
        if numbers:
            msg = (
                f"{plan.folder}: {name.partition('.')[2]} of {len(numbers)} of {len(plan)} shards "
                f"are {state} ({shard_list(numbers)})"
            )
            hint = "run these shards again"
            raise DataError(msg, hint)
    return [str(plan.home(number) / name) for number in range(1, len(plan) + 1)]
