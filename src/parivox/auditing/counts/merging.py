"""Files of counts: read, checked against each other, and added up by system and list."""

from __future__ import annotations

import os
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from itertools import chain, groupby, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.counts.header import read_trial_counts
from parivox.auditing.counts.suppression import without_suppressed_groups
from parivox.auditing.counts.trial_counts import LayoutParticipants
from parivox.auditing.speaker_counts import SpeakerCounts, read_sources, with_failed_trials
from parivox.data.attributes import has_bands, sorted_values
from parivox.data.counts_file import NO_ROWS, SIDE_COLUMNS, CountRows, check_files, holds_tally
from parivox.data.grouping import Grouping
from parivox.data.source_bytes import common_stem, file_stem
from parivox.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.counts.trial_counts import Note, TrialCounts
    from parivox.data.counts_file import NamedFiles
    from parivox.data.trial_set import TrialSet

NOT_ADDED_UP = "only of each file by itself"


def read_counts_files(named: NamedFiles) -> list[TrialCounts]:
    """Read files of counts, and add up those of one system and list.

    Raises
    ------
    DataError
        If one is damaged, or two of them do not fit together.
    """
    check_files(source for _, source in named)
    tallies = [source for _, source in named if holds_tally(source)]
    named = [(name, source) for name, source in named if source not in tallies]
    if not named:
        msg = f"{tallies[0]}: is a tally; give the counts of its trials beside it"
        raise DataError(msg)
    # what the metadata say first: rows are read of one file after the other
    read: list[TrialCounts] = []
    for name, source in named:
        one = read_trial_counts(source, rows=False)
        system, list_ = name or (one.system, one.list)
        read.append(replace(one, system=system, list=list_))
    _name(read, [source for _, source in named])
    _check_twice(read, [os.fspath(source) for _, source in named])
    for one in read[1:]:
        _check_fit(read[0], one)
    files = [*zip(read, (source for _, source in named), strict=True)]
    files.sort(key=lambda file: (file[0].system, file[0].list, file[0].sources))
    groupings = _united([one.groupings for one, _ in files], read)
    within = _united([one.within for one, _ in files], read)

    def placed(several: Iterable[tuple[TrialCounts, Any]]) -> Iterator[TrialCounts]:
        for one, source in several:
            whole = replace(read_trial_counts(source), system=one.system, list=one.list)
            yield _placed(whole, groupings, within)

    same = groupby(files, key=lambda file: (file[0].system, file[0].list))
    made = [_sum(placed(several)) for _, several in same]
    found = {source: set(read_sources(source)) for source in tallies}
    for path, sources in found.items():
        if not any(sources & set(one.sources) for one in made):
            msg = f"{path}: is a tally of other trials than the counts beside it; give its own"
            raise DataError(msg)
    made = [_with_tally(one, found) for one in made]
    known = {one.tally.names for one in made if one.tally is not None}
    if len(known) > 1:
        msg = (
            f"{made[0].name}: its tally names other speakers than those of other systems and "
            "lists; audit each by itself"
        )
        raise DataError(msg)
    return made


def counts_with_groupings(
    counts: TrialCounts,
    trials: TrialSet,
    groupings: Sequence[Grouping],
    within: Sequence[Grouping],
) -> TrialCounts:
    """The counts and the tally of all parts of a list, by the groups that were made of its rows."""
    assert counts.tally is not None
    by, levels = (
        [next(one for one in made if one.name == of.name) for of in several]
        for made, several in ((groupings, counts.groupings), (within, counts.within))
    )
    tally = with_failed_trials(trials, counts.tally.with_groupings([*by, *levels]))
    return replace(_placed(counts, by, levels), tally=tally)


def _with_tally(one: TrialCounts, tallies: Mapping[Any, set[str]]) -> TrialCounts:
    """The counts with the tally of the same trials, if it is there; of each, its sources."""
    mine = [path for path, sources in tallies.items() if sources & set(one.sources)]
    if not mine:
        return one
    every = (*one.groupings, *one.within)
    whole = SpeakerCounts.total(SpeakerCounts.read(path).with_groupings(every) for path in mine)
    if (one.withheld or one.levels_withheld) and not whole.sites:
        msg = (
            f"{one.name}: withholds groups, which its tally would tell; count again with "
            "--withhold 0, or leave the tally out"
        )
        raise DataError(msg)
    whole = replace(
        whole,
        groupings=tuple(without_suppressed_groups(of, one.withheld) for of in whole.groupings),
    )
    if whole.sources != one.sources or whole.n_trials != one.n_trials:
        msg = (
            f"{one.name}: its tallies are of {whole.n_trials:,} trials, not of {one.n_trials:,}; "
            "give the tally of each file of counts"
        )
        raise DataError(msg)
    n = len(one.groupings)
    return replace(one, tally=whole, groupings=whole.groupings[:n], within=whole.groupings[n:])


def _name(read: list[TrialCounts], sources: Sequence[str | os.PathLike[str]]) -> None:
    """Name a system without a name after its files: ``day`` for day1.counts and day2.counts."""
    stems = [file_stem(source) for one, source in zip(read, sources, strict=True) if not one.system]
    name = common_stem(stems)
    for i, one in enumerate(read):
        read[i] = one if one.system else replace(one, system=name or "counts")


def _check_twice(read: Sequence[TrialCounts], paths: Sequence[str]) -> None:
    """Refuse the same trials in two files of one system and list."""
    known: dict[tuple[str, str, str], tuple[TrialCounts, str]] = {}
    for one, path in zip(read, paths, strict=True):
        for source in one.sources:
            first, its_path = known.setdefault((one.system, one.list, source), (one, path))
            if first is not one:
                if path == its_path:
                    msg = f"{path}: is named twice, so that it would count twice; name it once"
                    raise DataError(msg)
                both = (one.name, first.name) if one.name != first.name else (path, its_path)
                msg = (
                    f"{both[0]}: holds trials that {both[1]} holds too, so they would count twice; "
                    "leave out one of the two"
                )
                raise DataError(msg)


def _check_fit(first: TrialCounts, one: TrialCounts) -> None:
    """Refuse counts that cannot stand in one audit."""
    same = (first.system, first.list) == (one.system, one.list)
    differ = [
        ("by " + _names(first.groupings), "by " + _names(one.groupings)),
        ("within " + _names(first.within), "within " + _names(one.within)),
        *((f"as {first.bins.in_words()}", f"as {one.bins.in_words()}") for _ in range(same)),
    ]
    only = [(one, word) for word in sorted(one.contents - first.contents)]
    only += [(first, word) for word in sorted(first.contents - one.contents)]
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
            _joined(text, [(one.attribute_values[i], name) for one, name in known])
            for i, text in enumerate(first.attributes)
        ]
        place = [{value: i for i, value in enumerate(one)} for one in values]
        parts = {part for one in same for part in one.group_values}
        ordered = sorted(
            parts, key=lambda part: [at[value] for at, value in zip(place, part, strict=True)]
        )
        is_of_speakers = all(one.speaker_codes is not None for one in same)
        made.append(
            Grouping(
                first.name,
                tuple("+".join(part) for part in ordered),
                np.empty(0, dtype=np.int32) if is_of_speakers else None,
                attributes=first.attributes,
                group_values=tuple(ordered),
                counted_values=tuple(values),
            )
        )
    return tuple(made)


def _joined(text: str, known: Sequence[tuple[Sequence[str], str]]) -> tuple[str, ...]:
    """Values of one attribute in an order that every file has, sorted where they leave it open.

    Those of each file come with its name.
    """
    first, name = known[0]
    if has_bands(text):
        for values, other in known[1:]:
            if [*values] != [*first]:
                msg = (
                    f"{other}: its bands of {text} are {', '.join(values)}, those of {name} "
                    f"{', '.join(first)}; count both in the same way"
                )
                raise DataError(msg)
    sorter = TopologicalSorter[str]()
    for values, _ in known:
        sorter.add(values[0])
        for low, high in pairwise(values):
            sorter.add(high, low)
    try:
        sorter.prepare()
    except CycleError:
        msg = f"{name}: the values of {text} stand in another order in other files; count again"
        raise DataError(msg) from None
    rank = {
        value: i for i, value in enumerate(sorted_values({one for of, _ in known for one in of}))
    }
    made: list[str] = []
    ready: list[str] = []
    while sorter.is_active():
        ready = sorted([*ready, *sorter.get_ready()], key=rank.__getitem__)
        made.append(ready.pop(0))
        sorter.done(made[-1])
    return tuple(made)


def _placed(
    one: TrialCounts, groupings: Sequence[Grouping], within: Sequence[Grouping]
) -> TrialCounts:
    """The counts of one file with the groups and levels of all, and who is seen in them."""
    columns: dict[str, NDArray[Any]] = {}
    for block in range((len(within) + 1) * len(groupings)):
        at, i = divmod(block, len(groupings))
        moves = [(side, one.groupings[i], groupings[i]) for side in SIDE_COLUMNS]
        if at:
            moves.append(("level", one.within[at - 1], within[at - 1]))
        for name, mine, theirs in moves:
            place = np.array([*_places(mine, theirs), -1], dtype=np.int32)
            if (place[:-1] != np.arange(place.size - 1)).any():
                column = columns.get(name, one.rows.columns[name])
                here = one.rows.columns["block"] == block
                columns[name] = np.where(here, place[column], column)
    of_levels = [[0], *(_places(to, of) for of, to in zip(one.within, within, strict=True))]
    of_groups = [_places(to, of) for of, to in zip(one.groupings, groupings, strict=True)]
    places = [(levels, groups) for levels in of_levels for groups in of_groups]
    places += [(levels, [0]) for levels in of_levels]

    def laid(rows: list[list[Any]], levels: list[int], groups: list[int], none: Any) -> list[Any]:
        return [
            [none if at < 0 or i < 0 else rows[at][i] for i in groups]
            + [none if at < 0 else rows[at][-1]]
            for at in levels
        ]

    seen = tuple(
        LayoutParticipants(
            {rule: laid(rows, *place, 0) for rule, rows in of.speakers.items()},
            {kind: laid(rows, *place, [0, 0]) for kind, rows in of.failed.items()},
        )
        for of, place in zip(one.seen, places, strict=True)
    )
    return replace(
        one,
        rows=one.rows.with_columns(columns),
        groupings=tuple(groupings),
        within=tuple(within),
        seen=seen,
    )


def _places(of: Grouping, to: Grouping) -> list[int]:
    """Where each group of one grouping stands in another, -1 for nowhere."""
    known = {part: i for i, part in enumerate(to.group_values)}
    return [known.get(part, -1) for part in of.group_values]


def _seen_in_all(several: Sequence[TrialCounts]) -> Iterator[LayoutParticipants]:
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
        yield LayoutParticipants(speakers, failed)


def _sum(parts: Iterable[TrialCounts]) -> TrialCounts:
    """The counts of all files of one system and list, of which one is held at a time."""
    parts = iter(parts)
    first, second = next(parts), next(parts, None)
    if second is None:
        return first
    several: list[TrialCounts] = []

    def rows() -> Iterator[CountRows]:
        for one in chain([first, second], parts):
            several.append(replace(one, rows=NO_ROWS))
            yield one.rows

    total = CountRows.total(rows())
    withheld = {place: why for one in several for place, why in sorted(one.withheld.items())}
    no_levels = {
        place: why for one in several for place, why in sorted(one.levels_withheld.items())
    }
    whole = replace(
        first,
        rows=total,
        withheld=withheld,
        levels_withheld=no_levels,
        sources=tuple(sorted(source for one in several for source in one.sources)),
        seen=tuple(_seen_in_all(several)),
        notes=tuple(_added(several)),
        name=f"{first.name} and {len(several) - 1} more",
        provenance=[entry for one in several for entry in one.provenance],
        least=max(one.least for one in several),
    )
    return _without_withheld(whole) if withheld or no_levels else whole


def _without_withheld(one: TrialCounts) -> TrialCounts:
    """The counts without groups and levels that are withheld in some file."""
    lost = {f"{of}={level}" for of, level in one.levels_withheld}
    columns = dict(one.rows.columns)
    for side in SIDE_COLUMNS:
        columns[side] = columns[side].copy()
    for block in range((len(one.within) + 1) * len(one.groupings)):
        here = columns["block"] == block
        at, i = divmod(block, len(one.groupings))
        grouping, names = one.groupings[i], [""]
        if at:
            outer = one.within[at - 1]
            names = [f"{outer.name}={group}" for group in outer.groups]
        is_shown = np.zeros((len(names) + 1, len(grouping.groups) + 1), dtype=np.bool_)
        for level, name in enumerate(names):
            if name not in lost:
                is_shown[level, :-1] = [not why for why in one.missing(grouping, name)]
        for side in SIDE_COLUMNS:
            group = columns[side][here]
            columns[side][here] = np.where(is_shown[columns["level"][here], group], group, -1)
    within = []
    for of in one.within:
        kept = [i for i, group in enumerate(of.groups) if f"{of.name}={group}" not in lost]
        groups = tuple(of.groups[i] for i in kept)
        within.append(
            replace(of, groups=groups, group_values=tuple(of.group_values[i] for i in kept))
        )
    made = _placed(replace(one, rows=CountRows(columns)), one.groupings, within)
    return replace(made, rows=CountRows.total([made.rows]))


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
        words = {note.note for note in notes}
        text = words.pop() if len(words) == 1 else NOT_ADDED_UP
        made.append(replace(notes[0], count=sum(one.count for one in notes), note=text))
    return made
