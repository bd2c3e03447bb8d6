"""Every trial with its errors, groups and numbered speakers: for models of one's own.

Group comparisons are not causal (docs/methods/verdicts.md#confounding). To control for more than
standardising can, fit a mixed model: an error against groups and confounders, with random effects
of the speakers of both sides.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.operating_points import DEPLOYED
from parivox.data.table import CodedColumn, Table, columns_in
from parivox.errors import ConfigError
from parivox.runtime.disk import atomic_file, explain_write_errors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parivox.auditing.counts.trial_counts import TrialCounts
    from parivox.auditing.operating_points import LocatedPoint
    from parivox.auditing.system import System
    from parivox.data.trial_checks import Trials
    from parivox.data.trial_set import TrialSet

SUFFIXES = {".csv", ".parquet"}
_KEY_COLUMNS = ("system", "list", "enrol_speaker", "test_speaker", "target", "score")
"""Columns that every such table begins with, by which an earlier one is known."""


def check_trial_table(path: str | os.PathLike[str], inputs: Sequence[Any]) -> Path:
    """Return the CSV or Parquet file to write, if it can be written and is not among the `inputs`.

    Raises
    ------
    ConfigError
        If it is neither CSV nor Parquet, is read itself, is there and no earlier table of trials,
        or cannot be written.
    """
    try:
        file = Path(os.fsdecode(path))
        exists = file.exists()
    except (TypeError, ValueError, OSError):
        msg = f"--trial-table {path!r}: is not a file name"
        hint = "give one, for example trials.csv"
        raise ConfigError(msg, hint) from None
    input_paths = [Path(source) for source in inputs if isinstance(source, (str, os.PathLike))]
    if exists and any(path.exists() and path.samefile(file) for path in input_paths):
        msg = f"--trial-table {file}: is an input of this audit"
        hint = "name another file"
        raise ConfigError(msg, hint)
    if file.suffix.lower() not in SUFFIXES:
        msg = f"--trial-table {file}: is neither CSV nor Parquet"
        hint = "end the name with .csv or .parquet"
        raise ConfigError(msg, hint)
    if file.is_dir() or not file.parent.is_dir() or not os.access(file.parent, os.W_OK):
        msg = f"--trial-table {file}: cannot be written there"
        hint = "name a file in a folder that exists"
        raise ConfigError(msg, hint)
    if exists and not _is_earlier(file):
        msg = f"--trial-table {file}: already exists, and is not a trial table of Parivox"
        hint = "name another file"
        raise ConfigError(msg, hint)
    return file


def _is_earlier(file: Path) -> bool:
    """Return whether a file is an earlier table of trials, or holds nothing."""
    return not file.stat().st_size or columns_in(file)[: len(_KEY_COLUMNS)] == _KEY_COLUMNS


def check_trials_known(trial_sets: Sequence[TrialSet | TrialCounts]) -> None:
    """Refuse counts, which hold no trials, and lists that are not held in memory."""
    if any(trials.identified is None for trials in trial_sets):
        msg = "--trial-table: counts contain no trials"
        hint = "give the scores instead of counts"
        raise ConfigError(msg, hint)
    for trials in trial_sets:
        if trials.whole_list is not None:
            continue
        msg = f"--trial-table: {trials.n_trials:,} trials are too many to fit in memory"
        hint = "give part of the list"
        raise ConfigError(msg, hint)


def write_trial_table(path: Path, systems: Sequence[System], seed: int) -> None:
    """Write every scored trial, in place of what is there.

    Speakers are numbered, and trials ordered, as drawn with the seed: neither follows their ids.
    """
    sources = [system.trials.identified for system in systems]
    n_speakers = 1 + max(
        int(trials.utterance_speaker.max(initial=-1)) for trials in sources if trials is not None
    )
    number = np.random.default_rng((seed, 4)).permutation(n_speakers).astype(np.int32)
    tables = [_system_table(system, number, seed) for system in systems]
    with explain_write_errors(f"--trial-table {path}"), atomic_file(path) as aside:
        Table.joined(tables).write_file(aside)


def _system_table(system: System, number: NDArray[np.int32], seed: int) -> Table:
    """Return the trials of one system and list, which are in memory."""
    trials = system.trials.whole_list
    assert trials is not None
    (partition,) = trials.partitions()
    audited_trials = partition.without_conflicts()
    zeros = np.zeros(len(audited_trials), dtype=np.int32)
    columns: dict[str, NDArray[Any] | CodedColumn] = {
        "system": CodedColumn(zeros, [trials.system]),
        "list": CodedColumn(zeros, [trials.list]),
        "enrol_speaker": number[trials.utterance_speaker[audited_trials.enrol]],
        "test_speaker": np.append(number, np.int32(-1))[
            trials.utterance_speaker[audited_trials.test]
        ],
        "target": audited_trials.target,
        "score": audited_trials.score,
    }
    if trials.n_spoof:  # which are no target trials, and no nontarget trials
        columns["spoof"] = audited_trials.spoof
    for located in system.points.located:
        columns[f"error at {located.point.text}"] = _errors(trials, audited_trials, located)
    for grouping in (
        *system.design.groupings,
        *system.design.within,
        *system.design.standardise_over,
    ):
        for side, codes in zip(
            ("enrol", "test"), trials.side_coder(grouping)(audited_trials), strict=True
        ):
            columns[f"{grouping.name} of {side}"] = CodedColumn(codes, grouping.groups)
    # in an order that tells no more of the ids than the numbers do
    order = np.random.default_rng((seed, 5)).permutation(len(audited_trials))
    for name, cells in columns.items():
        shuffled = cells.codes[order] if isinstance(cells, CodedColumn) else cells[order]
        columns[name] = (
            cells._replace(codes=shuffled) if isinstance(cells, CodedColumn) else shuffled
        )
    return Table.of_arrays(columns)


def _errors(trials: TrialSet, audited_trials: Trials, located: LocatedPoint) -> CodedColumn:
    """Return whether each trial is an error at an operating point; undefined where unknown."""
    if located.reason:
        return CodedColumn(np.full(len(audited_trials), -1), [False, True])
    if located.point.rule == DEPLOYED:
        decisions = trials.decisions(audited_trials)
        is_error = np.where(decisions < 0, -1, (decisions == 1) != audited_trials.target)
        return CodedColumn(is_error, [False, True])
    is_error = (audited_trials.score >= located.threshold) != audited_trials.target
    return CodedColumn(is_error.astype(np.int64), [False, True])
