"""Every trial with its errors, groups and numbered speakers: for models of one's own.

Group comparisons are not causal (docs/methods/confounding.md). Who wants to hold other things equal
than standardising can, fits a mixed model: an error against groups and confounders, with random
effects of the speakers of both sides.
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

KINDS = {".csv", ".parquet"}
_FIRST = ("system", "list", "enrol_speaker", "test_speaker", "target", "score")
"""Columns that every such table begins with, by which an earlier one is known."""


def check_trial_table(path: str | os.PathLike[str], inputs: Sequence[Any]) -> Path:
    """The CSV or Parquet file to write, if its folder is there and it is not among the `inputs`.

    Raises
    ------
    ConfigError
        If it is neither CSV nor Parquet, is read itself, is there and no earlier table of trials,
        or cannot be written.
    """
    try:
        file = Path(os.fsdecode(path))
        is_there = file.exists()
    except (TypeError, ValueError, OSError):
        msg = f"--trial-table {path!r}: is not a name of a file; give one, as in trials.csv"
        raise ConfigError(msg) from None
    read = [Path(one) for one in inputs if isinstance(one, (str, os.PathLike))]
    if is_there and any(one.exists() and one.samefile(file) for one in read):
        msg = f"--trial-table {file}: is read by this audit; name another file"
        raise ConfigError(msg)
    if file.suffix.lower() not in KINDS:
        msg = f"--trial-table {file}: is neither CSV nor Parquet; name it trials.csv or .parquet"
        raise ConfigError(msg)
    if file.is_dir() or not file.parent.is_dir() or not os.access(file.parent, os.W_OK):
        msg = f"--trial-table {file}: cannot be written there; name a file in a folder that exists"
        raise ConfigError(msg)
    if is_there and not _is_earlier(file):
        msg = (
            f"--trial-table {file}: is there already, and is not a table of trials of Parivox's; "
            "name "
            "another file"
        )
        raise ConfigError(msg)
    return file


def _is_earlier(file: Path) -> bool:
    """Whether a file is an earlier table of trials, or holds nothing."""
    return not file.stat().st_size or columns_in(file)[: len(_FIRST)] == _FIRST


def check_trials_known(sets: Sequence[TrialSet | TrialCounts]) -> None:
    """Refuse counts, which hold no trials, and lists that are not held in memory."""
    if any(not one.has_speakers for one in sets):
        msg = "--trial-table: counts hold no trials; give the scores"
        raise ConfigError(msg)
    large = next((one for one in sets if not one.is_exact), None)
    if large is not None:
        msg = (
            f"--trial-table: {large.n_trials:,} trials are too many to hold in memory; give a part "
            "of the list"
        )
        raise ConfigError(msg)


def write_trial_table(path: Path, measured: Sequence[System], seed: int) -> None:
    """Write every scored trial, in place of what is there.

    Speakers are numbered, and trials ordered, as drawn with the seed: neither follows their ids.
    """
    known = [one.trials for one in measured if one.trials.has_speakers]
    n = 1 + max(int(trials.utterance_speaker.max(initial=-1)) for trials in known)
    number = np.random.default_rng((seed, 4)).permutation(n).astype(np.int32)
    tables = [_table(one, number, seed) for one in measured]
    with explain_write_errors(f"--trial-table {path}"), atomic_file(path) as aside:
        Table.joined(tables).write(aside)


def _table(one: System, number: NDArray[np.int32], seed: int) -> Table:
    """The trials of one system and list, which are in memory."""
    trials = one.trials
    assert trials.has_speakers
    (part,) = (part.without_conflicts() for part in trials.partitions())
    nought = np.zeros(len(part), dtype=np.int32)
    columns: dict[str, NDArray[Any] | CodedColumn] = {
        "system": CodedColumn(nought, [trials.system]),
        "list": CodedColumn(nought, [trials.list]),
        "enrol_speaker": number[trials.utterance_speaker[part.enrol]],
        "test_speaker": np.append(number, np.int32(-1))[trials.utterance_speaker[part.test]],
        "target": part.target,
        "score": part.score,
    }
    for found in one.points.located:
        columns[f"error at {found.point.text}"] = _errors(trials, part, found)
    for grouping in (*one.design.groupings, *one.design.within, *one.design.standardise_over):
        for side, codes in zip(("enrol", "test"), grouping.side_coder(trials)(part), strict=True):
            columns[f"{grouping.name} of {side}"] = CodedColumn(codes, grouping.groups)
    # in an order that tells no more of the ids than the numbers do
    order = np.random.default_rng((seed, 5)).permutation(len(part))
    for name, cells in columns.items():
        shuffled = cells.codes[order] if isinstance(cells, CodedColumn) else cells[order]
        columns[name] = (
            cells._replace(codes=shuffled) if isinstance(cells, CodedColumn) else shuffled
        )
    return Table.of_arrays(columns)


def _errors(trials: TrialSet, part: Trials, found: LocatedPoint) -> CodedColumn:
    """Whether each trial went wrong at an operating point; undefined where it is not known."""
    if found.reason:
        return CodedColumn(np.full(len(part), -1), [False, True])
    if found.point.rule == DEPLOYED:
        decided = trials.decisions(part)
        wrong = np.where(decided < 0, -1, (decided == 1) != part.target)
        return CodedColumn(wrong, [False, True])
    wrong = (part.score >= found.threshold) != part.target
    return CodedColumn(wrong.astype(np.int64), [False, True])
