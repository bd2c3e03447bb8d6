"""The parts of an audit put together: their counts, then the thresholds, then the audit."""

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
from parivox.data.score_extent import pair_in_two_parts
from parivox.data.trial_set import TrialSet
from parivox.errors import DataError
from parivox.runtime.disk import sha256_of
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

_OF_SPEAKERS = ("speakers", "id", "conflicts", "encoding", "quotes")


def find_thresholds(folder: str | os.PathLike[str]) -> None:
    """Add up the counts of all parts, find the thresholds of the tallies on them, and write both.

    Raises
    ------
    DataError
        If a part is missing, failed, damaged or of another plan, or if two parts count one trial
        of a list of which each score is counted.
    """
    plan = read_plan(folder)
    (counts,) = read_counts_files([(None, one) for one in _files(plan, COUNTS_FILE)])
    _check_apart(plan, counts.n_trials)
    counts.write_over(plan.folder / COUNTS_FILE)
    found = speaker_count_thresholds(str(plan.folder / COUNTS_FILE), **plan.audited())
    texts = [one.hex() for one in found.tolist()]
    records = [ShardRecord.read(plan, number) for number in range(1, len(plan) + 1)]
    speakers = np.unique(np.concatenate([decoded_speakers(one.speakers) for one in records]))
    made = {
        "thresholds": texts,
        "speakers": encoded_speakers(speakers, int(speakers.max(initial=-1)) + 1),
        "counts": sha256_of(plan.folder / COUNTS_FILE),
    }
    write_json(plan.folder / THRESHOLDS_FILE, {"plan": plan.id, **made})


def merge(
    folder: str | os.PathLike[str],
    *,
    progress: Callable[[Progress], None] | None = None,
) -> Audit | None:
    """Audit the parts of a plan together.

    A list of which the parts were counted by every score is read as well, for all that takes its
    rows at once.

    Returns
    -------
    Audit or None
        None after the first pass: the thresholds are found now, and every part is to be run again.

    Raises
    ------
    DataError
        If a part is missing, failed, damaged or of another plan, or if two parts hold one trial.
    """
    plan = read_plan(folder)
    plan.check_inputs()
    if plan.found() is None:
        find_thresholds(folder)
        return None
    counts, whole = _files(plan, COUNTS_FILE), plan.folder / COUNTS_FILE
    if whole.exists() and sha256_of(whole) == read_json(plan.folder / THRESHOLDS_FILE).get(
        "counts"
    ):
        counts = [str(whole)]
    files = [*counts, *_files(plan, SPEAKER_COUNTS_FILE)]
    if not plan.step:
        whole_list = {plan.name: plan.scores}
        counted = partial(_counted, plan, files)
        return audit_counted(whole_list, counted, progress=progress, **plan.options)
    options: dict[str, Any] = plan.audited()
    asked = plan.asked
    options |= {name: value for name, value in plan.options.items() if name in _OF_SPEAKERS}
    if asked.groups is not None and not asked.reference:
        options["reference"] = read_groups_file(asked.groups).reference
    made = audit(files, progress=progress, **options)
    return replace(made, provenance=_provenance(plan, made.provenance))


def _counted(plan: Plan, files: Sequence[str], read: GroupedTrials) -> TrialCounts:
    """What all parts add up to, which must be the list that was read."""
    (trials,) = read.trial_sets
    assert isinstance(trials, TrialSet)
    for path, entry in zip(plan.scores, trials.provenance, strict=False):
        plan.check_scores(path, entry["sha256"])
    (counts,) = read_counts_files([(None, one) for one in files])
    assert counts.tally is not None
    keys = counts.tally.keys[:, : trials.score_keys.shape[1]]
    if counts.n_trials != trials.n_trials or (keys != trials.score_keys).any():
        raise _of_other_trials(plan, counts.n_trials, trials.n_trials, _in_two_parts(plan))
    return counts_with_groupings(counts, trials, read.groupings, read.within)


def _check_apart(plan: Plan, counted: int) -> None:
    """Refuse a list that is read as a whole if two parts count one trial."""
    if plan.step or (found := _in_two_parts(plan)) is None:
        return
    (whole,) = gather_trials(plan, plan.scores)[0].trial_sets
    if counted != whole.n_trials:
        raise _of_other_trials(plan, counted, whole.n_trials, found)


def _of_other_trials(
    plan: Plan, counted: int, there: int, found: tuple[str, TrialLocation, TrialLocation] | None
) -> DataError:
    """Why parts do not add up to their list, and what to do about it."""
    if found is None:
        return DataError(
            f"{plan.folder}: its parts do not add up to their files (to {counted:,} trials of "
            f"{there:,}); remove the parts, and run them again"
        )
    pair, one, other = found
    rows = pair_location(one.path, one.row, other.path, other.row)
    alone = (
        "" if plan.asked.conflicts == "error" else ", as each sets aside what conflicts within it"
    )
    return DataError(
        f"{rows}: the same trial {pair} is counted in both parts {one.shard} and {other.shard}"
        f"{alone}; remove one of the rows, and plan again in a new folder"
    )


def _in_two_parts(plan: Plan) -> tuple[str, TrialLocation, TrialLocation] | None:
    """A pair of recordings that has a score or decision in two parts, and where."""
    asked = plan.asked
    return pair_in_two_parts(plan.shards, columns=asked.columns, format=asked.scores_format)


def _provenance(plan: Plan, audited: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The files that were read, those of the trials in the place of counts of their parts."""
    read: list[dict[str, Any]] = []
    for number in range(1, len(plan) + 1):
        read += [one for one in ShardRecord.read(plan, number).inputs if one not in read]
    read.sort(key=lambda one: one["role"] != "scores")
    at = [one["role"] for one in audited].index("counts")
    return [
        *audited[:at],
        *read,
        *(one for one in audited[at:] if one["role"] != "counts"),
    ]


def _files(plan: Plan, name: str) -> list[str]:
    """One file of every part.

    Raises
    ------
    DataError
        If parts failed, are missing or damaged: all of them are named.
    """
    failed: dict[int, str] = {}
    missing: list[int] = []
    damaged: list[int] = []
    known = {plan.home(number).name for number in range(1, len(plan) + 1)}
    foreign = [
        one.name
        for one in plan.folder.iterdir()
        if one.is_dir() and "-of-" in one.name and one.name not in known
    ]
    for number in range(1, len(plan) + 1):
        error = plan.home(number) / FAILURE_FILE
        record = ShardRecord.read(plan, number)
        if record.has_intact_file(name):
            continue
        if error.exists() and read_json(error).get("plan") == plan.id:
            failed[number] = str(read_json(error).get("error"))
        else:
            (damaged if name in record.hashes else missing).append(number)
    if foreign:
        msg = f"{plan.folder}: {', '.join(sorted(foreign))} are not parts of this plan; remove them"
        raise DataError(msg)
    if failed:
        raise failed_shards_error(failed)
    for what, numbers in (("damaged", damaged), ("missing", missing)):
        if numbers:
            msg = (
                f"{plan.folder}: {name.partition('.')[2]} of {len(numbers)} of {len(plan)} parts "
                f"are {what} ({shard_list(numbers)}); run them again"
            )
            raise DataError(msg)
    return [str(plan.home(number) / name) for number in range(1, len(plan) + 1)]
