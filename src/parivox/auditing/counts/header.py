"""The metadata of a file of counts: data from outside, checked before anything is made of it."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.counts.trial_counts import (
    DECISIONS,
    FAILURES,
    LLR,
    LLR_TO_BASE,
    SCORES,
    SECONDS,
    SIMILARITY,
    THRESHOLDS,
    LayoutParticipants,
    Note,
    TrialCounts,
)
from parivox.auditing.layout import ALLOCATIONS
from parivox.auditing.old_sentences import facts_of_sentences
from parivox.core.counts import TRIAL_CLASSES
from parivox.core.key_sums import collapse_constant
from parivox.data.count_rows import NO_ROWS, CountRows, check_rows, lies_between
from parivox.data.counts_file import (
    SCORE_COUNTS,
    SIDE_COLUMNS,
    damaged_file_error,
    read_columns,
    read_header,
)
from parivox.data.metadata import (
    checked_count,
    checked_list,
    checked_text,
    checked_texts,
    grouping_from_metadata,
    require,
)
from parivox.data.score_bins import parse_bins
from parivox.errors import DataError, ParivoxError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.data.grouping import Grouping

_KINDS = {
    DECISIONS,
    FAILURES,
    LLR,
    SCORES,
    SECONDS,
    SIMILARITY,
    THRESHOLDS,
    *LLR_TO_BASE.values(),
}
_HEX = frozenset("0123456789abcdef")


def read_trial_counts(path: str | os.PathLike[str], *, rows: bool = True) -> TrialCounts:
    """The counts of one file, or of its metadata alone: without rows, notes and who is seen.

    Raises
    ------
    DataError
        If the metadata and the rows are not what counts are.
    """
    if not rows:
        with _checked(name := Path(path).name):
            return _counts_from_header(name, read_header(path, SCORE_COUNTS), NO_ROWS, {})
    content, header, columns = read_columns(path, SCORE_COUNTS)
    rows_of_file = CountRows(columns)
    check_rows(rows_of_file, content.name)
    with _checked(content.name):
        counts = _counts_from_header(content.name, header, rows_of_file, content.provenance)
        n_counted, n_stated = _check_rows(counts), checked_count(header["trials"])
        require(n_counted == n_stated, f"its rows are of {n_counted:,} trials, not of {n_stated:,}")
    return counts


@contextmanager
def _checked(name: str) -> Iterator[None]:
    """Say of which file it is that something is wrong."""
    try:
        yield
    except DataError:
        raise
    except KeyError as error:
        raise damaged_file_error(name, f"its metadata lack {error}", SCORE_COUNTS) from error
    except (ValueError, IndexError, TypeError, AttributeError, ParivoxError) as error:
        raise damaged_file_error(name, str(error), SCORE_COUNTS) from error


def _counts_from_header(
    name: str, header: dict[str, Any], rows: CountRows, provenance: Mapping[str, Any]
) -> TrialCounts:
    groupings = tuple(
        grouping_from_metadata(metadata) for metadata in checked_list(header["groupings"])
    )
    within = tuple(grouping_from_metadata(metadata) for metadata in checked_list(header["within"]))
    require(groupings, "no grouping")
    kinds = frozenset(checked_texts(header["contents"]))
    if FAILURES in kinds and not kinds & {SCORES, DECISIONS}:
        msg = f"{name}: contains only trials of recordings that failed"
        hint = "plan fewer shards, or reorder the rows so that each shard has scores or decisions"
        raise DataError(msg, hint)
    require(
        kinds <= _KINDS and kinds & {SCORES, DECISIONS}, f"it contains {', '.join(sorted(kinds))}"
    )
    sources = checked_texts(header["sources"])
    are_hashes = all(len(metadata) == 64 and set(metadata) <= _HEX for metadata in sources)
    require(sources and are_hashes, "no hash of its trials")
    thresholds = checked_texts(header["thresholds"])
    names = {metadata.name: set(metadata.groups) for metadata in groupings}
    levels = {""} | {f"{metadata.name}={group}" for metadata in within for group in metadata.groups}
    withheld = {}
    for entry_texts in checked_list(header["withheld"]):
        grouping, level, group, reason = checked_texts(entry_texts, 4)
        is_known = group in names[grouping] and level in levels
        require(is_known and reason, f"{group!r} of {grouping!r} within {level!r} is withheld")
        withheld[grouping, level, group] = facts_of_sentences(reason)
    suppressed_strata = {}
    for entry_texts in checked_list(header["suppressed_strata"]):
        name, level, reason = checked_texts(entry_texts, 3)
        suppressed_strata[name, level] = facts_of_sentences(reason)
    return TrialCounts(
        system=checked_text(header["system"]),
        list=checked_text(header["list"]),
        rows=rows,
        groupings=groupings,
        within=within,
        bins=parse_bins(checked_text(header["step"]) or None, thresholds),
        contents=kinds,
        min_speakers=checked_count(header["min_speakers"]),
        withheld=withheld,
        suppressed_strata=suppressed_strata,
        sources=tuple(sorted(sources)),
        seen=tuple(_checked_participants(header["participants"], groupings, within))
        if len(rows)
        else (),
        notes=tuple(_checked_note(metadata, names) for metadata in checked_list(header["notes"]))
        if len(rows)
        else (),
        chosen_by=checked_text(header["groupings_chosen_by"]),
        name=name,
        provenance=[{"role": "counts", "name": name, "format": "parquet", **provenance}],
    )


def _checked_participants(
    blocks: Any, groupings: Sequence[Grouping], within: Sequence[Grouping]
) -> Iterator[LayoutParticipants]:
    """Who is seen in each block, then in all trials and in each level."""
    levels = [1, *(len(layout_metadata.groups) for layout_metadata in within)]
    sizes: list[tuple[int, int, tuple[str, ...]]] = [
        (n_strata, len(layout_metadata.groups), ALLOCATIONS)
        for n_strata in levels
        for layout_metadata in groupings
    ]
    sizes += [(n_strata, 1, ("",)) for n_strata in levels]
    for layout_metadata, (n_strata, groups, rules) in zip(checked_list(blocks), sizes, strict=True):

        def rows(table: Any, n_strata: int = n_strata, groups: int = groups) -> list[list[Any]]:
            return [checked_list(row, groups + 1) for row in checked_list(table, n_strata)]

        speakers = {
            rule: [
                [None if cell is None else checked_count(cell) for cell in row]
                for row in rows(layout_metadata["speakers"][rule])
            ]
            for rule in rules
        }
        failed = {
            kind: [
                [None if cell is None else _checked_share(cell) for cell in row]
                for row in rows(layout_metadata["failed"][kind])
            ]
            for kind in ("enrolments", "recordings")
        }
        yield LayoutParticipants(speakers, failed)


def _checked_share(value: Any) -> list[int]:
    n_failed, n_attempted = map(checked_count, checked_list(value, 2))
    require(n_failed <= n_attempted, f"{n_failed} of {n_attempted} failed")
    return [n_failed, n_attempted]


def _checked_note(value: Any, names: dict[str, set[str]]) -> Note:
    source, item, count, *texts = checked_list(value, 6)
    note, grouping, group = checked_texts(texts, 3)
    groups = names[grouping] if grouping else set()
    require(not group or group in groups, f"a note on {grouping!r}, {group!r}")
    item, note = map(facts_of_sentences, (checked_text(item), note))  # files of 0.1 hold sentences
    return Note(checked_text(source), item, checked_count(count), note, grouping, group)


def _check_rows(counts: TrialCounts) -> int:
    """Refuse rows of groups and levels that there are not, or that do not add up.

    And count their trials with a score or decision.
    """
    rows = counts.rows.columns
    n_groupings = len(counts.groupings)
    levels = [1, *(len(strata.groups) for strata in counts.within)]
    n_blocks = n_groupings * len(levels)
    require(
        len(counts.rows) and lies_between(rows["layout"], 0, n_blocks - 1),
        "rows of an unknown layout",
    )
    totals_of_layouts, n_kinds = [], 3 * len(TRIAL_CLASSES)  # with a score, and failed at a stage
    for block in range(n_blocks):
        rows_of_layout = _rows_with_value(rows["layout"], block)
        stratum_index, i = divmod(block, n_groupings)
        groups = len(counts.groupings[i].groups)
        limits = {
            "stratum": (-1 if stratum_index else 0, levels[stratum_index]),
            **dict.fromkeys(SIDE_COLUMNS, (-1, groups)),
        }
        for name, (low, limit) in limits.items():
            require(
                lies_between(rows[name][rows_of_layout], low, limit - 1),
                f"rows of an unknown {name}",
            )
        kind = (
            len(TRIAL_CLASSES) * rows["failed"][rows_of_layout]
            + rows["trial_class"][rows_of_layout]
        )
        starts = np.flatnonzero(np.append(True, kind[1:] != kind[:-1])[: kind.size])
        runs = np.add.reduceat(rows["trials"][rows_of_layout], starts)
        totals_of_layouts.append(np.bincount(kind[starts], runs, minlength=n_kinds).tolist())
    _check_values(counts, rows)
    require(
        all(totals == totals_of_layouts[0] for totals in totals_of_layouts),
        "groupings with other numbers of trials",
    )
    return int(sum(totals_of_layouts[0][: len(TRIAL_CLASSES)]))


def _rows_with_value(column: NDArray[np.integer], value: int) -> slice | NDArray[np.bool_]:
    """Where a column that mostly rises has a value."""
    is_here = column == value
    start, n_rows = int(is_here.argmax()), int(is_here.sum())
    run = slice(start, start + n_rows)
    return run if is_here[run].all() else is_here


def _check_values(counts: TrialCounts, rows: dict[str, NDArray[Any]]) -> None:
    """Refuse scores that are no edges, and rows that tell what the file does not."""
    if counts.is_scored:
        values, _ = counts.rows.distinct_numbers("score")
        require(
            np.array_equal(counts.bins.binned(values), values),
            "scores between the edges of the bins",
        )
    else:
        scored = rows["failed"] == 0
        value = rows["score"][scored]
        is_decision = np.isin(value, (0.0, 1.0)) & (rows["accepted"][scored] == value)
        require(is_decision.all(), "decisions other than 0 and 1")
    for content, column, is_told in (
        (DECISIONS, "accepted", collapse_constant(rows["accepted"]) >= 0),
        (FAILURES, "failed", collapse_constant(rows["failed"]) != 0),
        (SECONDS, "timed", collapse_constant(rows["timed"]) > 0),
        (THRESHOLDS, "threshold", ~np.isnan(collapse_constant(rows["threshold"]))),
    ):
        require(
            content in counts.contents or not is_told.any(),
            f"{content} in {column}, which its header does not list",
        )
