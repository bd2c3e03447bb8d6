"""Files of counts: read, checked against each other, and added up by system and list."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.counts.header import parsed
from parivox.auditing.counts.trial_counts import Seen
from parivox.errors import DataError
from parivox.read.attributes import has_bands, in_order
from parivox.read.content import stem_of
from parivox.read.counts_file import CountRows, read_counts
from parivox.read.grouping import Grouping

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.counts.trial_counts import Note, TrialCounts
    from parivox.read.counts_file import Named

APART = "only of each file by itself"


def read_all(named: Named) -> list[TrialCounts]:
    """Read files of counts, and add up those of one system and list.

    Raises
    ------
    DataError
        If one is damaged, or two of them do not fit together.
    """
    read: list[TrialCounts] = []
    for name, source in named:
        content, header, rows = read_counts(source)
        one = parsed(content, header, rows)
        system, list_ = name or (one.system, one.list)
        read.append(replace(one, system=system, list=list_))
    _name(read, [source for _, source in named])
    _check_twice(read)
    for one in read[1:]:
        _check_fit(read[0], one)
    read.sort(key=lambda one: (one.system, one.list, one.sources, one.rows.sha256(one.header())))
    groupings = _united([one.groupings for one in read], read)
    within = _united([one.within for one in read], read)
    placed = [_placed(one, groupings, within) for one in read]
    return [
        _sum(list(several))
        for _, several in groupby(placed, key=lambda one: (one.system, one.list))
    ]


def _name(read: list[TrialCounts], sources: Sequence[str | os.PathLike[str]]) -> None:
    """Name a system without a name after its files: ``day`` for day1.counts and day2.counts."""
    stems = [stem_of(source) for one, source in zip(read, sources, strict=True) if not one.system]
    common = os.path.commonprefix(stems)  # noqa: RUF071 - letters, not folders
    name = common if len(set(stems)) == 1 else common.rstrip("0123456789-_. ")
    for i, one in enumerate(read):
        read[i] = one if one.system else replace(one, system=name or "counts")


def _check_twice(read: Sequence[TrialCounts]) -> None:
    """Refuse the same trials in two files of one system and list."""
    known: dict[tuple[str, str, str], TrialCounts] = {}
    for one in read:
        for source in one.sources:
            first = known.setdefault((one.system, one.list, source), one)
            if first is not one:
                msg = (
                    f"{one.name}: holds trials that {first.name} holds too, so they would count "
                    "twice; leave out one of the two"
                )
                raise DataError(msg)


def _check_fit(first: TrialCounts, one: TrialCounts) -> None:
    """Refuse counts that cannot stand in one audit."""
    same = (first.system, first.list) == (one.system, one.list)
    differ = [
        ("by " + _names(first.groupings), "by " + _names(one.groupings)),
        ("within " + _names(first.within), "within " + _names(one.within)),
        *((f"as {first.bins.told()}", f"as {one.bins.told()}") for _ in range(same)),
    ]
    only = [(one, word) for word in sorted(one.told - first.told)]
    only += [(first, word) for word in sorted(first.told - one.told)]
    for here, there in differ:
        if here != there:
            msg = f"{one.name}: is counted {there}, {first.name} {here}; count both in the same way"
            raise DataError(msg)
    if only and same:
        whose, word = only[0]
        other = first if whose is one else one
        msg = f"{whose.name}: tells {word}, {other.name} does not; count both in the same way"
        raise DataError(msg)


def _names(groupings: Sequence[Grouping]) -> str:
    return ", ".join(one.name for one in groupings) or "nothing"


def _united(
    several: Sequence[Sequence[Grouping]], read: Sequence[TrialCounts]
) -> tuple[Grouping, ...]:
    """The groupings of all files: their groups in one order."""
    made = []
    for same in zip(*several, strict=True):
        first = same[0]
        known = [(one, of.name) for one, of in zip(same, read, strict=True) if one.groups]
        if not known:
            others = " of this file and all others" if len(read) > 1 else ""
            msg = (
                f"{read[0].name}: {first.name} is unknown for every trial{others}; count again "
                "without it"
            )
            raise DataError(msg)
        values = [
            _joined(text, [(one.values[i], name) for one, name in known])
            for i, text in enumerate(first.attributes)
        ]
        place = [{value: i for i, value in enumerate(one)} for one in values]
        parts = {part for one in same for part in one.parts}
        ordered = sorted(
            parts, key=lambda part: [at[value] for at, value in zip(place, part, strict=True)]
        )
        is_of_speakers = all(one.of_speaker is not None for one in same)
        made.append(
            Grouping(
                first.name,
                tuple("+".join(part) for part in ordered),
                np.empty(0, dtype=np.int32) if is_of_speakers else None,
                attributes=first.attributes,
                parts=tuple(ordered),
                told=tuple(values),
            )
        )
    return tuple(made)


def _joined(text: str, told: Sequence[tuple[Sequence[str], str]]) -> tuple[str, ...]:
    """Values of one attribute in an order that every file has, sorted where they leave it open."""
    first, name = told[0]
    if has_bands(text):
        for values, other in told[1:]:
            if [*values] != [*first]:
                msg = (
                    f"{other}: its bands of {text} are {', '.join(values)}, those of {name} "
                    f"{', '.join(first)}; count both in the same way"
                )
                raise DataError(msg)
    after: dict[str, set[str]] = {value: set() for values, _ in told for value in values}
    waits = Counter[str]()
    for values, _ in told:
        for low, high in pairwise(values):
            if high not in after[low]:
                after[low].add(high)
                waits[high] += 1
    made: list[str] = []
    left = in_order(set(after))
    while left:
        ready = next((value for value in left if not waits[value]), None)
        if ready is None:
            msg = f"{name}: the values of {text} stand in another order in other files; count again"
            raise DataError(msg)
        left.remove(ready)
        made.append(ready)
        for high in after[ready]:
            waits[high] -= 1
    return tuple(made)


def _placed(
    one: TrialCounts, groupings: tuple[Grouping, ...], within: tuple[Grouping, ...]
) -> TrialCounts:
    """The counts of one file with the groups and levels of all."""
    columns = dict(one.rows.columns)
    for at in range(len(within) + 1):
        for i, grouping in enumerate(groupings):
            here = columns["block"] == at * len(groupings) + i
            move = partial(_move, columns, here)
            move("enrol_group", one.groupings[i], grouping)
            move("test_group", one.groupings[i], grouping)
            if at:
                move("level", one.within[at - 1], within[at - 1])
    same = all(
        mine.parts == theirs.parts
        for mine, theirs in zip((*one.groupings, *one.within), (*groupings, *within), strict=True)
    )
    return replace(
        one,
        rows=one.rows if same else CountRows(columns),
        groupings=groupings,
        within=within,
        seen=_laid(one, groupings, within),
    )


def _laid(
    one: TrialCounts, groupings: Sequence[Grouping], within: Sequence[Grouping]
) -> tuple[Seen, ...]:
    """Who is seen in which group and level, for those that all files have."""
    of_levels = [[0], *(_found(of, to) for of, to in zip(one.within, within, strict=True))]
    of_groups = [_found(of, to) for of, to in zip(one.groupings, groupings, strict=True)]
    places = [(levels, groups) for levels in of_levels for groups in of_groups]
    places += [(levels, [0]) for levels in of_levels]

    def laid(rows: list[list[Any]], levels: list[int], groups: list[int], none: Any) -> list[Any]:
        return [
            [none if at < 0 or i < 0 else rows[at][i] for i in groups]
            + [none if at < 0 else rows[at][-1]]
            for at in levels
        ]

    return tuple(
        Seen(
            {rule: laid(rows, *place, 0) for rule, rows in seen.speakers.items()},
            {kind: laid(rows, *place, [0, 0]) for kind, rows in seen.failed.items()},
        )
        for seen, place in zip(one.seen, places, strict=True)
    )


def _found(of: Grouping, to: Grouping) -> list[int]:
    """Where each group of one grouping stands in another, -1 for nowhere."""
    known = {part: i for i, part in enumerate(of.parts)}
    return [known.get(part, -1) for part in to.parts]


def _seen_in_all(several: Sequence[TrialCounts]) -> Iterator[Seen]:
    """Of several files, nothing but of which groups no recording failed in any."""

    def joined(rows: list[list[list[Any]]]) -> list[list[Any]]:
        every = [list(zip(*level, strict=True)) for level in zip(*rows, strict=True)]
        return [
            [
                [0, 0] if all(one is not None and not one[0] for one in cell) else None
                for cell in row
            ]
            for row in every
        ]

    for blocks in zip(*(one.seen for one in several), strict=True):
        speakers: dict[str, list[list[int | None]]] = {
            rule: [[None] * len(row) for row in rows] for rule, rows in blocks[0].speakers.items()
        }
        failed = {kind: joined([one.failed[kind] for one in blocks]) for kind in blocks[0].failed}
        yield Seen(speakers, failed)


def _move(
    columns: dict[str, NDArray[Any]],
    here: NDArray[np.bool_],
    name: str,
    mine: Grouping,
    theirs: Grouping,
) -> None:
    """Number groups as another grouping does."""
    known = {part: i for i, part in enumerate(theirs.parts)}
    place = np.array([*(known[part] for part in mine.parts), -1], dtype=np.int32)
    column = columns[name].copy()
    column[here] = place[column[here]]
    columns[name] = column


def _sum(several: list[TrialCounts]) -> TrialCounts:
    """The counts of all files of one system and list."""
    first = several[0]
    if len(several) == 1:
        return first
    withheld = {place: why for one in several for place, why in sorted(one.withheld.items())}
    no_levels = {
        place: why for one in several for place, why in sorted(one.levels_withheld.items())
    }
    rows = CountRows.total([one.rows for one in several])
    lost = {(place[0], f"{place[0]}={place[1]}") for place in no_levels}
    whole = replace(
        first,
        rows=rows,
        withheld=withheld,
        levels_withheld=no_levels,
        sources=tuple(sorted(source for one in several for source in one.sources)),
        seen=tuple(_seen_in_all(several)),
        notes=tuple(_added(several)),
        name=f"{first.name} and {len(several) - 1} more",
        provenance=[entry for one in several for entry in one.provenance],
        least=max(one.least for one in several),
    )
    return _without(whole, {level for _, level in lost}) if withheld or lost else whole


def _without(one: TrialCounts, lost: set[str]) -> TrialCounts:
    """The counts without groups and levels that are withheld in some file."""
    columns = one.rows.columns
    place = {name: column.copy() for name, column in columns.items()}
    kept = [
        [i for i, group in enumerate(of.groups) if f"{of.name}={group}" not in lost]
        for of in one.within
    ]
    n = len(one.groupings)
    for at in range(len(one.within) + 1):
        for i, grouping in enumerate(one.groupings):
            here = columns["block"] == at * n + i
            level = columns["level"][here]
            names = [""]
            if at:
                of = one.within[at - 1]
                names = [f"{of.name}={group}" for group in of.groups]
                number = np.full(len(names) + 1, -1, dtype=np.int32)
                number[kept[at - 1]] = np.arange(len(kept[at - 1]))
                place["level"][here] = number[level]
            shown = np.array(
                [[not why for why in one.missing(grouping, name)] + [False] for name in names]
                + [[False] * (len(grouping.groups) + 1)]
            )
            for name in ("enrol_group", "test_group"):
                group = columns[name][here]
                place[name][here] = np.where(shown[level, group], group, -1)
            if at:
                for name in ("enrol_group", "test_group"):
                    place[name][here] = np.where(place["level"][here] < 0, -1, place[name][here])
    within = tuple(
        replace(
            of,
            groups=tuple(of.groups[i] for i in which),
            parts=tuple(of.parts[i] for i in which),
        )
        for of, which in zip(one.within, kept, strict=True)
    )
    seen = _laid(one, one.groupings, within)
    return replace(one, rows=CountRows.total([CountRows(place)]), within=within, seen=seen)


def _added(several: Sequence[TrialCounts]) -> list[Note]:
    """What was read of all files: notes of the same thing add up, where they can."""
    found: dict[tuple[str, str, str, str], list[Note]] = {}
    for one in several:
        for note in one.notes:
            if note.adds_up:
                key = (note.source, note.item, note.grouping, note.group)
                found.setdefault(key, []).append(note)
    made = []
    for notes in found.values():
        told = {note.note for note in notes}
        words = told.pop() if len(told) == 1 else APART
        made.append(replace(notes[0], count=sum(one.count for one in notes), note=words))
    return made
