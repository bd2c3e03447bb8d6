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
from parivox.core.cluster_errors import collapse_constant
from parivox.data.counts_file import (
    NO_ROWS,
    SIDE_COLUMNS,
    damaged_file_error,
    lies_between,
    read_counts,
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

    from parivox.data.counts_file import CountRows
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
            return _made(name, read_header(path), NO_ROWS, {})
    content, header, read = read_counts(path)
    with _checked(content.name):
        made = _made(content.name, header, read, content.provenance)
        found, n = _check_rows(made), checked_count(header["trials"])
        require(found == n, f"its rows are of {found:,} trials, not of {n:,}")
    return made


@contextmanager
def _checked(name: str) -> Iterator[None]:
    """Say of which file it is that something is wrong."""
    try:
        yield
    except DataError:
        raise
    except KeyError as error:
        raise damaged_file_error(name, f"its metadata lack {error}") from error
    except (ValueError, IndexError, TypeError, AttributeError, ParivoxError) as error:
        raise damaged_file_error(name, str(error)) from error


def _made(
    name: str, header: dict[str, Any], rows: CountRows, provenance: Mapping[str, Any]
) -> TrialCounts:
    groupings = tuple(grouping_from_metadata(one) for one in checked_list(header["groupings"]))
    within = tuple(grouping_from_metadata(one) for one in checked_list(header["within"]))
    require(groupings, "no grouping")
    kinds = frozenset(checked_texts(header["told"]))
    require(kinds <= _KINDS and kinds & {SCORES, DECISIONS}, f"it tells {', '.join(sorted(kinds))}")
    sources = checked_texts(header["sources"])
    are_hashes = all(len(one) == 64 and set(one) <= _HEX for one in sources)
    require(sources and are_hashes, "no hash of its trials")
    thresholds = checked_list(header["thresholds"])
    require(all(isinstance(one, float) for one in thresholds), "thresholds that are not numbers")
    names = {one.name: set(one.groups) for one in groupings}
    levels = {""} | {f"{one.name}={group}" for one in within for group in one.groups}
    withheld = {}
    for place in checked_list(header["withheld"]):
        grouping, level, group, why = checked_texts(place, 4)
        is_known = group in names[grouping] and level in levels
        require(is_known and why, f"{group!r} of {grouping!r} within {level!r} is withheld")
        withheld[grouping, level, group] = why
    of_levels = {}
    for place in checked_list(header["levels_withheld"]):
        name, level, why = checked_texts(place, 3)
        of_levels[name, level] = why
    return TrialCounts(
        system=checked_text(header["system"]),
        list=checked_text(header["list"]),
        rows=rows,
        groupings=groupings,
        within=within,
        bins=parse_bins(checked_text(header["step"]) or None, thresholds),
        contents=kinds,
        least=checked_count(header["withhold"]),
        withheld=withheld,
        levels_withheld=of_levels,
        sources=tuple(sorted(sources)),
        seen=tuple(_seen(header["seen"], groupings, within)) if len(rows) else (),
        notes=tuple(_note(one, names) for one in checked_list(header["notes"]))
        if len(rows)
        else (),
        chosen_by=checked_text(header["groupings_chosen_by"]),
        name=name,
        provenance=[{"role": "counts", "name": name, "format": "parquet", **provenance}],
    )


def _seen(
    blocks: Any, groupings: Sequence[Grouping], within: Sequence[Grouping]
) -> Iterator[LayoutParticipants]:
    """Who is seen in each block, then in all trials and in each level."""
    levels = [1, *(len(one.groups) for one in within)]
    sizes: list[tuple[int, int, tuple[str, ...]]] = [
        (n, len(one.groups), ALLOCATIONS) for n in levels for one in groupings
    ]
    sizes += [(n, 1, ("",)) for n in levels]
    for one, (n, groups, rules) in zip(checked_list(blocks), sizes, strict=True):

        def rows(table: Any, n: int = n, groups: int = groups) -> list[list[Any]]:
            return [checked_list(row, groups + 1) for row in checked_list(table, n)]

        speakers = {
            rule: [
                [None if cell is None else checked_count(cell) for cell in row]
                for row in rows(one["speakers"][rule])
            ]
            for rule in rules
        }
        failed = {
            kind: [
                [None if cell is None else _share(cell) for cell in row]
                for row in rows(one["failed"][kind])
            ]
            for kind in ("enrolments", "recordings")
        }
        yield LayoutParticipants(speakers, failed)


def _share(value: Any) -> list[int]:
    count, of = map(checked_count, checked_list(value, 2))
    require(count <= of, f"{count} of {of} failed")
    return [count, of]


def _note(value: Any, names: dict[str, set[str]]) -> Note:
    source, item, count, *rest = checked_list(value, 6)
    note, grouping, group = checked_texts(rest, 3)
    groups = names[grouping] if grouping else set()
    require(not group or group in groups, f"a note on {grouping!r}, {group!r}")
    return Note(
        checked_text(source), checked_text(item), checked_count(count), note, grouping, group
    )


def _check_rows(one: TrialCounts) -> int:
    """Refuse rows of groups and levels that there are not, or that do not add up.

    And count their trials with a score or decision.
    """
    rows = one.rows.columns
    n = len(one.groupings)
    levels = [1, *(len(of.groups) for of in one.within)]
    n_blocks = n * len(levels)
    require(
        len(one.rows) and lies_between(rows["block"], 0, n_blocks - 1), "rows of an unknown block"
    )
    total = []
    for block in range(n_blocks):
        here = _run(rows["block"], block)
        at, i = divmod(block, n)
        groups = len(one.groupings[i].groups)
        limits = {
            "level": (-1 if at else 0, levels[at]),
            **dict.fromkeys(SIDE_COLUMNS, (-1, groups)),
        }
        for name, (low, limit) in limits.items():
            require(lies_between(rows[name][here], low, limit - 1), f"rows of an unknown {name}")
        kind = 2 * rows["failed"][here] + rows["target"][here]
        starts = np.flatnonzero(np.append(True, kind[1:] != kind[:-1])[: kind.size])
        runs = np.add.reduceat(rows["count"][here], starts)
        total.append(np.bincount(kind[starts], runs, minlength=6).tolist())
    _check_values(one, rows)
    require(all(each == total[0] for each in total), "groupings with other numbers of trials")
    return int(sum(total[0][:2]))


def _run(column: NDArray[np.integer], value: int) -> slice | NDArray[np.bool_]:
    """Where a column that mostly rises has a value."""
    is_here = column == value
    first, n = int(is_here.argmax()), int(is_here.sum())
    run = slice(first, first + n)
    return run if is_here[run].all() else is_here


def _check_values(one: TrialCounts, rows: dict[str, NDArray[Any]]) -> None:
    """Refuse scores that are no edges, and rows that tell what the file does not."""
    if one.is_scored:
        each, _ = one.rows.distinct_numbers("value")
        require(np.array_equal(one.bins.binned(each), each), "scores between the edges of the bins")
    else:
        scored = rows["failed"] == 0
        value = rows["value"][scored]
        is_decision = np.isin(value, (0.0, 1.0)) & (rows["accepted"][scored] == value)
        require(is_decision.all(), "decisions other than 0 and 1")
    for what, column, is_told in (
        (DECISIONS, "accepted", collapse_constant(rows["accepted"]) >= 0),
        (FAILURES, "failed", collapse_constant(rows["failed"]) != 0),
        (SECONDS, "timed", collapse_constant(rows["timed"]) > 0),
        (THRESHOLDS, "threshold", ~np.isnan(collapse_constant(rows["threshold"]))),
    ):
        require(
            what in one.contents or not is_told.any(), f"{what} in {column}, of which it tells none"
        )
