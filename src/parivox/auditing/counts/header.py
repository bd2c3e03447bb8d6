"""The metadata of a file of counts: data from outside, checked before anything is made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.counts.trial_counts import (
    DECISIONS,
    FAILURES,
    LLR,
    SCORES,
    SECONDS,
    SIMILARITY,
    THRESHOLDS,
    Note,
    Seen,
    TrialCounts,
)
from parivox.auditing.layout import ALLOCATIONS
from parivox.errors import ParivoxError
from parivox.read.attributes import parse_by
from parivox.read.bins import parse_bins
from parivox.read.counts_file import MOST, damaged
from parivox.read.grouping import Grouping

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from parivox.read.content import Content
    from parivox.read.counts_file import CountRows

_KINDS = {DECISIONS, FAILURES, LLR, SCORES, SECONDS, SIMILARITY, THRESHOLDS}
_HEX = frozenset("0123456789abcdef")


def _need(is_so: object, problem: str) -> None:
    """Refuse metadata and rows that no file of counts has."""
    if not is_so:
        raise ValueError(problem)


def parsed(content: Content, header: dict[str, Any], rows: CountRows) -> TrialCounts:
    """The counts of one file.

    Raises
    ------
    DataError
        If the metadata and the rows are not what counts are.
    """
    try:
        made = _made(content, header, rows)
        _check_rows(made)
        n = _whole(header["trials"])
        _need(made.n_trials == n, f"its rows are of {made.n_trials:,} trials, not of {n:,}")
    except KeyError as error:
        raise damaged(content.name, f"its metadata lack {error}") from error
    except (ValueError, IndexError, TypeError, AttributeError, ParivoxError) as error:
        raise damaged(content.name, str(error)) from error
    return made


def _made(content: Content, header: dict[str, Any], rows: CountRows) -> TrialCounts:
    groupings = tuple(_grouping(one) for one in _several(header["groupings"]))
    within = tuple(_grouping(one) for one in _several(header["within"]))
    _need(groupings, "no grouping")
    kinds = frozenset(_texts(header["told"]))
    _need(kinds <= _KINDS and kinds & {SCORES, DECISIONS}, f"it tells {', '.join(sorted(kinds))}")
    sources = _texts(header["sources"])
    are_hashes = all(len(one) == 64 and set(one) <= _HEX for one in sources)
    _need(sources and are_hashes, "no hash of its trials")
    thresholds = _several(header["thresholds"])
    _need(all(isinstance(one, float) for one in thresholds), "thresholds that are no numbers")
    names = {one.name: set(one.groups) for one in groupings}
    levels = {""} | {f"{one.name}={group}" for one in within for group in one.groups}
    withheld = {}
    for place in _several(header["withheld"]):
        grouping, level, group, why = _texts(place, 4)
        is_known = group in names[grouping] and level in levels
        _need(is_known and why, f"{group!r} of {grouping!r} within {level!r} is withheld")
        withheld[grouping, level, group] = why
    of_levels = {}
    for place in _several(header["levels_withheld"]):
        name, level, why = _texts(place, 3)
        of_levels[name, level] = why
    return TrialCounts(
        system=_text(header["system"]),
        list=_text(header["list"]),
        rows=rows,
        groupings=groupings,
        within=within,
        bins=parse_bins(_text(header["step"]) or None, thresholds),
        contents=kinds,
        least=_whole(header["withhold"]),
        withheld=withheld,
        levels_withheld=of_levels,
        sources=tuple(sorted(sources)),
        seen=tuple(_seen(header["seen"], groupings, within)),
        notes=tuple(_note(one, names) for one in _several(header["notes"])),
        chosen_by=_text(header["groupings_chosen_by"]),
        name=content.name,
        provenance=[
            {"role": "counts", "name": content.name, "format": "parquet", **content.provenance}
        ],
    )


def _grouping(value: Any) -> Grouping:
    """A grouping as the header tells it."""
    name = _text(value["name"])
    attributes = _texts(value["attributes"])
    values = tuple(_texts(one) for one in _several(value["values"]))
    places = [[_whole(at) for at in _several(one)] for one in _several(value["groups"])]
    is_column = name.strip() and attributes == (name,)  # whatever a column is called
    written = [name] if is_column else [one.text for one in parse_by(name)]
    _need("+".join(attributes) == name and written == [*attributes], f"grouping {name!r}")
    are_once = all(len(set(one)) == len(one) for one in values)
    _need(len(values) == len(attributes) and are_once, f"values of {name!r}")
    parts = tuple(tuple(of[at] for of, at in zip(values, one, strict=True)) for one in places)
    groups = tuple("+".join(part) for part in parts)
    _need(len(set(groups)) == len(groups) and places == sorted(places), f"groups of {name!r}")
    _need(name != "all" and "pooled" not in groups, f"a name of rows of the audit in {name!r}")
    _need(isinstance(value["of_speakers"], bool), f"whose groups {name!r} are")
    nobody = np.empty(0, dtype=np.int32) if value["of_speakers"] else None
    return Grouping(name, groups, nobody, attributes=attributes, parts=parts, counted_values=values)


def _seen(blocks: Any, groupings: Sequence[Grouping], within: Sequence[Grouping]) -> Iterator[Seen]:
    """Who is seen in each block, then in all trials and in each level."""
    levels = [1, *(len(one.groups) for one in within)]
    sizes: list[tuple[int, int, tuple[str, ...]]] = [
        (n, len(one.groups), ALLOCATIONS) for n in levels for one in groupings
    ]
    sizes += [(n, 1, ("",)) for n in levels]
    for one, (n, groups, rules) in zip(_several(blocks), sizes, strict=True):

        def rows(table: Any, n: int = n, groups: int = groups) -> list[list[Any]]:
            return [_several(row, groups + 1) for row in _several(table, n)]

        speakers = {
            rule: [
                [None if cell is None else _whole(cell) for cell in row]
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
        yield Seen(speakers, failed)


def _share(value: Any) -> list[int]:
    count, of = map(_whole, _several(value, 2))
    _need(count <= of, f"{count} of {of} failed")
    return [count, of]


def _note(value: Any, names: dict[str, set[str]]) -> Note:
    source, item, count, *rest = _several(value, 6)
    note, grouping, group = _texts(rest, 3)
    groups = names[grouping] if grouping else set()
    _need(not group or group in groups, f"a note on {grouping!r}, {group!r}")
    return Note(_text(source), _text(item), _whole(count), note, grouping, group)


def _texts(value: Any, n: int | None = None) -> tuple[str, ...]:
    return tuple(_text(one) for one in _several(value, n))


def _text(value: Any) -> str:
    _need(isinstance(value, str), f"{str(value)[:40]} where a text should be")
    text = str(value)
    text.encode()  # which half of a character cannot be
    return text


def _whole(value: Any) -> int:
    is_whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST
    _need(is_whole, f"{str(value)[:40]} where a count should be")
    return int(value)


def _several(value: Any, n: int | None = None) -> list[Any]:
    is_list = isinstance(value, list) and (n is None or len(value) == n)
    _need(is_list, f"{str(value)[:40]} where a list{'' if n is None else f' of {n}'} should be")
    return list(value)


def _check_rows(one: TrialCounts) -> None:
    """Refuse rows of groups and levels that there are not, or that do not add up."""
    rows = one.rows.columns
    n = len(one.groupings)
    n_blocks = n * (len(one.within) + 1)
    _need(len(one.rows) and _between(rows["block"], 0, n_blocks - 1), "rows of an unknown block")
    levels = np.repeat([1, *(len(of.groups) for of in one.within)], n)[rows["block"]]
    groups = np.array([len(of.groups) for of in one.groupings])[rows["block"] % n]
    lowest = np.where(rows["block"] < n, 0, -1)
    for name, low, limit in (
        ("level", lowest, levels),
        ("enrol_group", -1, groups),
        ("test_group", -1, groups),
    ):
        _need(_between(rows[name], low, limit - 1), f"rows of an unknown {name}")
    _check_values(one, rows)
    kind = 2 * rows["failed"] + rows["target"]
    total = [
        np.bincount(kind[here], rows["count"][here], minlength=6).tolist()
        for here in (rows["block"] == block for block in range(n_blocks))
    ]
    _need(all(each == total[0] for each in total), "groupings with other numbers of trials")


def _check_values(one: TrialCounts, rows: dict[str, NDArray[Any]]) -> None:
    """Refuse scores that are no edges, and rows that tell what the file does not."""
    scored = rows["failed"] == 0
    value = rows["value"][scored]
    if one.is_scored:
        _need(np.array_equal(one.bins.of(value), value), "scores between the edges of the bins")
    else:
        is_decision = np.isin(value, (0.0, 1.0)) & (rows["accepted"][scored] == value)
        _need(is_decision.all(), "decisions other than 0 and 1")
    for what, column, is_told in (
        (DECISIONS, "accepted", rows["accepted"] >= 0),
        (FAILURES, "failed", ~scored),
        (SECONDS, "timed", rows["timed"] > 0),
        (THRESHOLDS, "threshold", ~np.isnan(rows["threshold"])),
    ):
        _need(
            what in one.contents or not is_told.any(), f"{what} in {column}, of which it tells none"
        )


def _between(
    column: NDArray[np.integer], low: int | NDArray[np.integer], high: int | NDArray[np.integer]
) -> bool:
    return bool(((column >= low) & (column <= high)).all())
