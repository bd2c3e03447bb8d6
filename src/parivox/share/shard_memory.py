"""Memory that shards and their merge take, estimated before they start.

A merge takes most where it counts errors by pair of speakers: every grouping under every allocation
counts the pairs that its cells have. The figures are fitted to measured peaks, with a margin.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from parivox.auditing import MAX_BAND_THRESHOLDS, MAX_PAIR_THRESHOLDS, Options
from parivox.core.counts import NONTARGET
from parivox.data.counts_file import SCORE_COUNTS, SIDE_COLUMNS, read_columns, read_header
from parivox.data.units import MAX_SEPARATE_SPEAKERS
from parivox.errors import DataError
from parivox.runtime.cgroup import available_bytes, resident_bytes
from parivox.runtime.disk import atomic_file, explain_write_errors
from parivox.share.shard_plan import gather_first_rows
from parivox.share.shard_record import ShardRecord

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parivox.share.shard_plan import Plan

SHARD_MEMORY_FILE, MERGE_MEMORY_FILE = "shard-memory.txt", "merge-memory.txt"
"""Files of a plan that the scripts of arrays ask a scheduler for memory with, as in ``344M``."""
_BYTES_OF_PROCESS = 300e6
"""With the libraries that an audit loads."""
_BYTES_PER_TRIAL = 350
"""Of a trial that a shard reads."""
_BYTES_PER_LISTED_TRIAL = 90
"""Of a trial of a list that the merge reads as well."""
_BYTES_PER_ROW = 80
"""Of a row of speaker counts, with the cells that it counts in."""
_BYTES_PER_ENTRY, _BYTES_PER_ERROR = 44, 8
"""Of a pair of speakers in a cell; and of its errors at an operating point."""
_BYTES_PER_BAND_ENTRY = 40
"""Of a pair of speakers at a threshold between operating points."""
_N_DEFAULT_POINTS = 4
_BYTES_PER_CELL, _BYTES_PER_DRAWN_CELL = 180e3, 1_200
"""Of all tables of a cell without intervals; and of all metrics of a cell in one replicate."""
_MARGIN = 1.15
"""Peaks of one merge differ by about a tenth, as freed memory may be given back late."""
_HEADROOM = 1.1
"""Of the memory that a job asks for: schedulers also count its shell and the files that it writes,
and groups that the first rows of a file lack are unknown when a plan is made."""


@dataclass(frozen=True)
class MergeSize:
    """What the memory of a merge depends on."""

    n_trials: int  # of lists that are read as a whole, otherwise 0
    n_rows: int  # of the speaker counts of all shards
    n_pairs: int  # different pairs of speakers, at most
    n_entries: int  # pairs in cells of all layouts
    n_cells: int
    n_points: int
    n_replicates: int  # 0 without intervals, for which no pairs are counted in cells

    @property
    def n_bytes(self) -> float:
        """Memory that the merge takes, rather too much than too little."""
        n_band_entries = min(
            self.n_pairs * MAX_BAND_THRESHOLDS, max(MAX_PAIR_THRESHOLDS, self.n_pairs)
        )
        entry_bytes = (
            self.n_entries * (_BYTES_PER_ENTRY + self.n_points * _BYTES_PER_ERROR)
            + n_band_entries * _BYTES_PER_BAND_ENTRY
        )
        return _MARGIN * (
            _BYTES_OF_PROCESS
            + self.n_trials * _BYTES_PER_LISTED_TRIAL
            + self.n_rows * _BYTES_PER_ROW
            + (entry_bytes if self.n_replicates else 0)
            + self.n_cells * max(_BYTES_PER_CELL, self.n_replicates * _BYTES_PER_DRAWN_CELL)
        )


def shard_bytes(plan: Plan) -> float:
    """Return the memory that the largest shard takes to be run, about."""
    text_bytes = {
        path: 0 if Path(path).suffix == ".parquet" else Path(path).stat().st_size
        for path in plan.scores
    }
    return _BYTES_OF_PROCESS + max(
        sum((rows.last - rows.first) * _BYTES_PER_TRIAL + text_bytes[rows.path] for rows in shard)
        for shard in plan.shards
    )


def planned_merge_bytes(plan: Plan) -> float:
    """Return the memory that a merge takes, about, while no shard has been run.

    Each layout is taken to count all pairs, but groups are only those of the first rows.
    """
    gathered = gather_first_rows(plan)
    n_speakers = 0 if gathered.speakers is None else len(gathered.speakers.ids)
    if plan.step:
        n_speakers = min(n_speakers, MAX_SEPARATE_SPEAKERS)
    n_groups = [len(grouping.groups) for grouping in gathered.groupings]
    n_strata = [1, *(len(grouping.groups) for grouping in gathered.within)]
    # where either speaker assigns a trial, one between two groups counts in both
    shares = [2.0 if rule == "either" else 1.0 for rule in _allocations(plan)]
    return _merge_size(
        plan,
        n_rows=plan.n_rows,
        n_pairs=min(plan.n_rows, _most_pairs(n_speakers)),
        shares=shares * (len(n_groups) * len(n_strata)),
        n_cells=sum(n_groups) * sum(n_strata) * len(_allocations(plan)),
    ).n_bytes


def write_memory_files(plan: Plan) -> None:
    """Write the memory of a shard and that of the merge into the folder of a plan."""
    for name, n_bytes in (
        (SHARD_MEMORY_FILE, shard_bytes(plan)),
        (MERGE_MEMORY_FILE, planned_merge_bytes(plan) * _HEADROOM),
    ):
        path = plan.folder / name
        with explain_write_errors(str(path)), atomic_file(path) as temporary:
            temporary.write_text(f"{ceil(n_bytes / (1 << 20))}M\n", encoding="utf-8")


def merge_size(plan: Plan, counts_file: str) -> MergeSize:
    """Return what the memory of a merge depends on, once all shards have been run.

    `counts_file` has the score counts of all of them, or of one that is like the others.
    """
    records = [ShardRecord.read(plan, number) for number in range(1, len(plan) + 1)]
    units = plan.speaker_count_inputs()
    n_speakers = 0 if units is None else units.speakers.size
    # a record of an earlier version has no numbers: each row may be another pair
    sizes = [
        (record.n_rows, record.n_pairs) if record.n_rows else (n_shard_rows, n_shard_rows)
        for record, n_shard_rows in zip(
            records,
            (sum(rows.last - rows.first for rows in shard) for shard in plan.shards),
            strict=True,
        )
    ]
    n_rows, n_pairs = (sum(numbers) for numbers in zip(*sizes, strict=True))
    shares, n_cells = _shares_of_layouts(plan, counts_file)
    return _merge_size(
        plan,
        n_rows=n_rows,
        n_pairs=min(n_pairs, _most_pairs(n_speakers)),
        shares=shares,
        n_cells=n_cells,
    )


def check_merge_fits(plan: Plan, counts_file: str) -> None:
    """Refuse a merge that takes more memory than this process may take; see `merge_size`.

    Raises
    ------
    DataError
        If it does.
    """
    size = merge_size(plan, counts_file)
    # the size is that of the whole process, which already has a part of it
    available = available_bytes() + resident_bytes()
    if size.n_bytes > available:
        msg = (
            f"{plan.folder}: merging takes about {size.n_bytes / 1e9:.1f} GB of memory "
            f"({size.n_pairs:,} pairs of speakers), but {available / 1e9:.1f} GB are available"
        )
        hint = "merge with more memory, or plan again with fewer groupings (--by)"
        raise DataError(msg, hint)


def _merge_size(
    plan: Plan, *, n_rows: int, n_pairs: int, shares: Sequence[float], n_cells: int
) -> MergeSize:
    """Return the size of a merge in which each layout counts a share of the pairs of all trials."""
    options = plan.audit_options
    points = Options(**vars(options)).points()
    return MergeSize(
        n_trials=0 if plan.step else plan.n_rows,
        n_rows=n_rows,
        n_pairs=n_pairs,
        # those of all trials, and of each layout those of its cells and those of its strata
        n_entries=round(n_pairs * (1 + sum(share + min(share, 1.0) for share in shares))),
        n_cells=n_cells,
        n_points=len(points) if points else _N_DEFAULT_POINTS,
        n_replicates=options.replicates if options.intervals else 0,
    )


def _allocations(plan: Plan) -> tuple[str, ...]:
    """Return the rules that assign nontarget trials to groups."""
    return plan.audit_options.allocate or ("both",)


def _most_pairs(n_speakers: int) -> int:
    """Return the pairs of so many speakers, or blocks, each with itself too."""
    return n_speakers * (n_speakers + 1) // 2


def _shares_of_layouts(plan: Plan, counts_file: str) -> tuple[list[float], int]:
    """Return the share of nontarget trials that each layout counts, and the cells of all.

    Layouts are groupings under allocations, of all trials and of each attribute within whose values
    the audit is repeated. A trial that counts in two cells counts twice.
    """
    header = read_header(counts_file, SCORE_COUNTS)
    _, _, columns = read_columns(counts_file, SCORE_COUNTS)
    n_groups = [len(grouping["groups"]) for grouping in header["groupings"]]
    n_strata = [1, *(len(grouping["groups"]) for grouping in header["within"])]
    nontarget = np.flatnonzero(columns["trial_class"] == NONTARGET)
    layout, enrol, test, trials = (
        columns[name][nontarget] for name in ("layout", *SIDE_COLUMNS, "trials")
    )
    is_counted = {
        "both": (enrol >= 0) & (enrol == test),
        "enrol": enrol >= 0,
        "test": test >= 0,
        "either": (enrol >= 0).astype(np.int8) + ((test >= 0) & (test != enrol)),
    }
    shares: list[float] = []
    n_cells = 0
    for number in range(len(n_groups) * len(n_strata)):
        in_layout = layout == number
        n_trials = max(int(trials[in_layout].sum()), 1)
        for allocation in _allocations(plan):
            n_counted = (trials * is_counted[allocation])[in_layout].sum()
            shares.append(float(n_counted) / n_trials)
            n_cells += n_groups[number % len(n_groups)] * n_strata[number // len(n_groups)]
    return shares, n_cells
