"""Files of counts: read, checked against each other, and added up by system and list."""

from __future__ import annotations

import os
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from itertools import chain, groupby, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.counts.agreement import check_same_trials
from parivox.auditing.counts.header import read_trial_counts
from parivox.auditing.counts.suppression import without_suppressed_groups
from parivox.auditing.counts.trial_counts import LayoutParticipants
from parivox.auditing.speaker_counts import with_failed_trials
from parivox.data.attributes import has_bands, sorted_values
from parivox.data.count_rows import NO_ROWS, CountRows
from parivox.data.counts_file import SIDE_COLUMNS, check_files, holds_speaker_counts
from parivox.data.grouping import Grouping
from parivox.data.source_bytes import common_stem, file_stem
from parivox.data.speaker_counts import SpeakerCounts, read_attacks, read_sources
from parivox.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.counts.trial_counts import GroupKey, Note, TrialCounts
    from parivox.data.counts_file import NamedFiles
    from parivox.data.trial_set import TrialSet

NOT_ADDED_UP = "of_each_file_only"


def read_counts_files(named_files: NamedFiles) -> list[TrialCounts]:
    """Read files of counts, and add up those of one system and list.

    Raises
    ------
    DataError
        If one is damaged, or two of them do not fit together.
    """
    check_files(source for _, source in named_files)
    speaker_counts_files = [source for _, source in named_files if holds_speaker_counts(source)]
    named_files = [
        (name, source) for name, source in named_files if source not in speaker_counts_files
    ]
    if not named_files:
        msg = (
            f"{speaker_counts_files[0]}: contains speaker counts, but the score counts are missing"
        )
        hint = "give the score counts of the same trials as well"
        raise DataError(msg, hint)
    # what the metadata say first: rows are read of one file after the other
    headers: list[TrialCounts] = []
    for name, source in named_files:
        counts = read_trial_counts(source, rows=False)
        system, list_ = name or (counts.system, counts.list)
        headers.append(replace(counts, system=system, list=list_))
    _name_systems(headers, [source for _, source in named_files])
    _check_no_repeated_trials(headers, [os.fspath(source) for _, source in named_files])
    for counts in headers[1:]:
        _check_compatible(headers[0], counts)
    files = [*zip(headers, (source for _, source in named_files), strict=True)]
    files.sort(key=lambda file: (file[0].system, file[0].list, file[0].sources))
    groupings = _united_groupings([counts.groupings for counts, _ in files], headers)
    within = _united_groupings([counts.within for counts, _ in files], headers)
    sources_by_file = {source: set(read_sources(source)) for source in speaker_counts_files}

    def placed(files_of_list: Sequence[tuple[TrialCounts, Any]]) -> Iterator[TrialCounts]:
        for counts, source in files_of_list:
            full_counts = replace(read_trial_counts(source), system=counts.system, list=counts.list)
            if len(files_of_list) > 1 and _has_own_speaker_counts(full_counts, sources_by_file):
                _check_own_speaker_counts(full_counts, sources_by_file)
            yield _with_target_groups(full_counts, groupings, within)

    lists = [
        [*several] for _, several in groupby(files, key=lambda file: (file[0].system, file[0].list))
    ]
    merged = [_sum_of_files(placed(several)) for several in lists]
    for path, sources in sources_by_file.items():
        if not any(sources & set(counts.sources) for counts in merged):
            msg = f"{path}: the speaker counts and the score counts have different trials"
            hint = "give the speaker counts of the same trials"
            raise DataError(msg, hint)
    merged = [
        _with_speaker_counts(
            counts,
            sources_by_file,
            are_checked=len(several) > 1
            and all(_has_own_speaker_counts(header, sources_by_file) for header, _ in several),
        )
        for counts, several in zip(merged, lists, strict=True)
    ]
    distinct_names = {
        counts.speaker_counts.names for counts in merged if counts.speaker_counts is not None
    }
    if len(distinct_names) > 1:
        msg = (
            f"{merged[0].name}: the speaker counts have other speakers than those of the other "
            "systems and lists"
        )
        hint = "audit each system and list separately"
        raise DataError(msg, hint)
    return merged


def counts_with_groupings(
    counts: TrialCounts,
    trials: TrialSet,
    groupings: Sequence[Grouping],
    within: Sequence[Grouping],
) -> TrialCounts:
    """Counts and speaker counts of all parts of a list, by the groups made of its rows."""
    assert counts.speaker_counts is not None
    list_groupings, list_strata = (
        [
            next(candidate for candidate in groupings_of_list if candidate.name == counted.name)
            for counted in counted_groupings
        ]
        for groupings_of_list, counted_groupings in (
            (groupings, counts.groupings),
            (within, counts.within),
        )
    )
    speaker_counts = with_failed_trials(
        trials, counts.speaker_counts.with_groupings([*list_groupings, *list_strata])
    )
    return replace(
        _with_target_groups(counts, list_groupings, list_strata), speaker_counts=speaker_counts
    )


def _matching_paths(counts: TrialCounts, sources_by_file: Mapping[Any, set[str]]) -> list[Any]:
    """Files of speaker counts that have some of the same trials."""
    return [path for path, sources in sources_by_file.items() if sources & set(counts.sources)]


def _has_own_speaker_counts(counts: TrialCounts, sources_by_file: Mapping[Any, set[str]]) -> bool:
    """Whether the speaker counts of its trials are in files that have no others."""
    paths = _matching_paths(counts, sources_by_file)
    return {source for path in paths for source in sources_by_file[path]} == {*counts.sources}


def _check_own_speaker_counts(counts: TrialCounts, sources_by_file: Mapping[Any, set[str]]) -> None:
    """Refuse speaker counts that differ from score counts of the same trials, before a sum.

    In a sum, a speaker whose group is unknown in one file has the group that another file knows.
    """
    groupings = (*counts.groupings, *counts.within)
    check_same_trials(
        counts,
        [
            _without_suppressed_speakers(
                SpeakerCounts.read(path).with_groupings(groupings), counts.withheld
            )
            for path in _matching_paths(counts, sources_by_file)
        ],
    )


def _without_suppressed_speakers(
    speaker_counts: SpeakerCounts, withheld: Mapping[GroupKey, str]
) -> SpeakerCounts:
    """The speaker counts with speakers of suppressed groups in no group."""
    groupings = tuple(
        without_suppressed_groups(grouping, withheld) for grouping in speaker_counts.groupings
    )
    return replace(speaker_counts, groupings=groupings)


def _with_speaker_counts(
    counts: TrialCounts, sources_by_file: Mapping[Any, set[str]], *, are_checked: bool
) -> TrialCounts:
    """The counts with the speaker counts of the same trials, if there are any.

    `are_checked` says that each file was compared with its own speaker counts.
    """
    matching_paths = _matching_paths(counts, sources_by_file)
    if not matching_paths:
        return counts
    groupings = (*counts.groupings, *counts.within)
    attacks = read_attacks(matching_paths)
    speaker_counts = SpeakerCounts.total(
        SpeakerCounts.read(path).with_attacks(attacks).with_groupings(groupings)
        for path in matching_paths
    )
    if (counts.withheld or counts.suppressed_strata) and not speaker_counts.sites:
        msg = f"{counts.name}: suppresses groups that its speaker counts would reveal"
        hint = "count again with --withhold 0, or leave the speaker counts out"
        raise DataError(msg, hint)
    speaker_counts = _without_suppressed_speakers(speaker_counts, counts.withheld)
    if speaker_counts.sources != counts.sources or speaker_counts.n_trials != counts.n_trials:
        msg = (
            f"{counts.name}: the speaker counts have {speaker_counts.n_trials:,} trials, the "
            f"score counts {counts.n_trials:,}"
        )
        hint = "give the speaker counts that belong to each file of score counts"
        raise DataError(msg, hint)
    n_more_files = len(matching_paths) - 1
    if n_more_files:
        name = f"{speaker_counts.name} and {n_more_files} more"
        speaker_counts = replace(speaker_counts, name=name)
    if not are_checked and n_more_files:
        _check_own_speaker_counts(counts, sources_by_file)
    elif not are_checked:
        check_same_trials(counts, [speaker_counts])
    n_groupings = len(counts.groupings)
    return replace(
        counts,
        speaker_counts=speaker_counts,
        groupings=speaker_counts.groupings[:n_groupings],
        within=speaker_counts.groupings[n_groupings:],
    )


def _name_systems(all_counts: list[TrialCounts], sources: Sequence[str | os.PathLike[str]]) -> None:
    """Name a system without a name after its files: ``day`` for day1.counts and day2.counts."""
    stems = [
        file_stem(source)
        for counts, source in zip(all_counts, sources, strict=True)
        if not counts.system
    ]
    name = common_stem(stems)
    for i, counts in enumerate(all_counts):
        all_counts[i] = counts if counts.system else replace(counts, system=name or "counts")


def _check_no_repeated_trials(all_counts: Sequence[TrialCounts], paths: Sequence[str]) -> None:
    """Refuse the same trials in two files of one system and list."""
    first_seen: dict[tuple[str, str, str], tuple[TrialCounts, str]] = {}
    for counts, path in zip(all_counts, paths, strict=True):
        for source in counts.sources:
            earlier, its_path = first_seen.setdefault(
                (counts.system, counts.list, source), (counts, path)
            )
            if earlier is not counts:
                if path == its_path:
                    msg = f"{path}: is given twice and would count twice"
                    hint = "give it once"
                    raise DataError(msg, hint)
                names = (
                    (counts.name, earlier.name) if counts.name != earlier.name else (path, its_path)
                )
                msg = (
                    f"{names[0]}: contains trials that are also in {names[1]} and would count twice"
                )
                hint = "leave out one of the two"
                raise DataError(msg, hint)


def _check_compatible(reference: TrialCounts, compared: TrialCounts) -> None:
    """Refuse counts that cannot stand in one audit."""
    is_same_list = (reference.system, reference.list) == (compared.system, compared.list)
    differences = [
        ("by " + _grouping_names(reference.groupings), "by " + _grouping_names(compared.groupings)),
        (
            "within " + _grouping_names(reference.within),
            "within " + _grouping_names(compared.within),
        ),
    ]
    if is_same_list:
        differences.append((_counted_with(reference), _counted_with(compared)))
    one_sided = [(compared, word) for word in sorted(compared.contents - reference.contents)]
    one_sided += [(reference, word) for word in sorted(reference.contents - compared.contents)]
    for expected, counted_as in differences:
        if expected != counted_as:
            msg = (
                f"{compared.name}: was counted {counted_as}, but {reference.name} was counted "
                f"{expected}"
            )
            hint = "count both in the same way"
            raise DataError(msg, hint)
    if one_sided and is_same_list:
        holder, word = one_sided[0]
        lacking = reference if holder is compared else compared
        msg = f"{holder.name}: has {word}, but {lacking.name} does not"
        hint = "count both in the same way"
        raise DataError(msg, hint)


def _counted_with(counts: TrialCounts) -> str:
    return f"{'in' if counts.bins.step else 'at'} {counts.bins.in_words()}"


def _grouping_names(groupings: Sequence[Grouping]) -> str:
    return ", ".join(grouping.name for grouping in groupings) or "nothing"


def _united_groupings(
    groupings_of_files: Sequence[Sequence[Grouping]], all_counts: Sequence[TrialCounts]
) -> tuple[Grouping, ...]:
    """The groupings of all files: their groups in one order."""
    united = []
    for groupings in zip(*groupings_of_files, strict=True):
        reference = groupings[0]
        known_groupings = [
            (grouping, counts.name)
            for grouping, counts in zip(groupings, all_counts, strict=True)
            if grouping.groups
        ]
        if not known_groupings:
            scope_note = " of this file and all others" if len(all_counts) > 1 else ""
            msg = f"{all_counts[0].name}: {reference.name} is unknown for every trial{scope_note}"
            hint = "count again without this grouping"
            raise DataError(msg, hint)
        values = [
            _ordered_values(
                text, [(grouping.attribute_values[i], name) for grouping, name in known_groupings]
            )
            for i, text in enumerate(reference.attributes)
        ]
        rank_by_attribute = [{value: i for i, value in enumerate(grouping)} for grouping in values]
        group_values = {
            group_value for grouping in groupings for group_value in grouping.group_values
        }
        ordered = sorted(
            group_values,
            key=lambda group_value: [
                ranks[value] for ranks, value in zip(rank_by_attribute, group_value, strict=True)
            ],
        )
        is_of_speakers = all(grouping.speaker_codes is not None for grouping in groupings)
        united.append(
            Grouping(
                reference.name,
                tuple("+".join(group_value) for group_value in ordered),
                np.empty(0, dtype=np.int32) if is_of_speakers else None,
                attributes=reference.attributes,
                group_values=tuple(ordered),
                counted_values=tuple(values),
            )
        )
    return tuple(united)


def _ordered_values(
    text: str, values_by_file: Sequence[tuple[Sequence[str], str]]
) -> tuple[str, ...]:
    """Values of one attribute in an order that every file has, sorted where they leave it open.

    Those of each file come with its name.
    """
    reference_values, name = values_by_file[0]
    if has_bands(text):
        for values, file_name in values_by_file[1:]:
            if [*values] != [*reference_values]:
                msg = (
                    f"{file_name}: the bands of {text} are {', '.join(values)}, but in {name} "
                    f"they are {', '.join(reference_values)}"
                )
                hint = "count both in the same way"
                raise DataError(msg, hint)
    sorter = TopologicalSorter[str]()
    for values, _ in values_by_file:
        sorter.add(values[0])
        for low, high in pairwise(values):
            sorter.add(high, low)
    try:
        sorter.prepare()
    except CycleError:
        msg = f"{name}: the values of {text} are in a different order in other files"
        hint = "count all files again"
        raise DataError(msg, hint) from None
    rank = {
        value: i
        for i, value in enumerate(
            sorted_values(
                {
                    attribute_value
                    for file_values, _ in values_by_file
                    for attribute_value in file_values
                }
            )
        )
    }
    ordered: list[str] = []
    ready: list[str] = []
    while sorter.is_active():
        ready = sorted([*ready, *sorter.get_ready()], key=rank.__getitem__)
        ordered.append(ready.pop(0))
        sorter.done(ordered[-1])
    return tuple(ordered)


def _with_target_groups(
    counts: TrialCounts, groupings: Sequence[Grouping], within: Sequence[Grouping]
) -> TrialCounts:
    """The counts of one file with the groups and levels of all, and who is seen in them."""
    columns: dict[str, NDArray[Any]] = {}
    for layout in range((len(within) + 1) * len(groupings)):
        stratum_index, i = divmod(layout, len(groupings))
        moves = [(side, counts.groupings[i], groupings[i]) for side in SIDE_COLUMNS]
        if stratum_index:
            moves.append(("stratum", counts.within[stratum_index - 1], within[stratum_index - 1]))
        for name, counted, target in moves:
            new_codes = np.array([*_target_positions(counted, target), -1], dtype=np.int32)
            if (new_codes[:-1] != np.arange(new_codes.size - 1)).any():
                column = columns.setdefault(name, counts.rows.columns[name].astype(np.int32))
                # of this layout alone: the codes of another one may be larger
                rows = np.flatnonzero(counts.rows.columns["layout"] == layout)
                column[rows] = new_codes[column[rows]]
    stratum_positions = [[0]]
    stratum_positions += [
        _target_positions(target_grouping, counted_grouping)
        for counted_grouping, target_grouping in zip(counts.within, within, strict=True)
    ]
    group_positions = [
        _target_positions(target_grouping, counted_grouping)
        for counted_grouping, target_grouping in zip(counts.groupings, groupings, strict=True)
    ]
    position_pairs = [
        (levels, groups) for levels in stratum_positions for groups in group_positions
    ]
    position_pairs += [(levels, [0]) for levels in stratum_positions]

    def laid(rows: list[list[Any]], levels: list[int], groups: list[int], none: Any) -> list[Any]:
        return [
            [none if stratum_index < 0 or i < 0 else rows[stratum_index][i] for i in groups]
            + [none if stratum_index < 0 else rows[stratum_index][-1]]
            for stratum_index in levels
        ]

    participants = tuple(
        LayoutParticipants(
            {rule: laid(rows, *new_codes, 0) for rule, rows in counted_grouping.speakers.items()},
            {
                kind: laid(rows, *new_codes, [0, 0])
                for kind, rows in counted_grouping.failed.items()
            },
        )
        for counted_grouping, new_codes in zip(counts.seen, position_pairs, strict=True)
    )
    return replace(
        counts,
        rows=counts.rows.with_columns(columns),
        groupings=tuple(groupings),
        within=tuple(within),
        seen=participants,
    )


def _target_positions(counted: Grouping, target: Grouping) -> list[int]:
    """Where each group of one grouping stands in another, -1 for nowhere."""
    target_positions = {group_value: i for i, group_value in enumerate(target.group_values)}
    return [target_positions.get(group_value, -1) for group_value in counted.group_values]


def _participants_of_all(all_counts: Sequence[TrialCounts]) -> Iterator[LayoutParticipants]:
    """Of several files, nothing but of which groups no recording failed in any."""

    def joined(rows: list[list[list[Any]]]) -> list[list[Any]]:
        every = [list(zip(*level, strict=True)) for level in zip(*rows, strict=True)]
        return [
            [
                [0, 0]
                if all(participants is not None and not participants[0] for participants in cell)
                else None
                for cell in row
            ]
            for row in every
        ]

    for participants_of_layout in zip(
        *(participants.seen for participants in all_counts), strict=True
    ):
        speakers: dict[str, list[list[int | None]]] = {
            rule: [[None] * len(row) for row in rows]
            for rule, rows in participants_of_layout[0].speakers.items()
        }
        failed = {
            kind: joined([participants.failed[kind] for participants in participants_of_layout])
            for kind in participants_of_layout[0].failed
        }
        yield LayoutParticipants(speakers, failed)


def _sum_of_files(counts_iterator: Iterable[TrialCounts]) -> TrialCounts:
    """The counts of all files of one system and list, of which one is held at a time."""
    counts_iterator = iter(counts_iterator)
    reference, second = next(counts_iterator), next(counts_iterator, None)
    if second is None:
        return reference
    headers: list[TrialCounts] = []

    def rows() -> Iterator[CountRows]:
        for header in chain([reference, second], counts_iterator):
            headers.append(replace(header, rows=NO_ROWS))
            yield header.rows

    total = CountRows.total(rows())
    withheld = {
        group_key: reason
        for header in headers
        for group_key, reason in sorted(header.withheld.items())
    }
    suppressed_strata = {
        group_key: reason
        for header in headers
        for group_key, reason in sorted(header.suppressed_strata.items())
    }
    total_counts = replace(
        reference,
        rows=total,
        withheld=withheld,
        suppressed_strata=suppressed_strata,
        sources=tuple(sorted(source for header in headers for source in header.sources)),
        seen=tuple(_participants_of_all(headers)),
        notes=tuple(_merged_notes(headers)),
        name=f"{reference.name} and {len(headers) - 1} more",
        provenance=[entry for header in headers for entry in header.provenance],
        min_speakers=max(header.min_speakers for header in headers),
    )
    return _without_suppressed(total_counts) if withheld or suppressed_strata else total_counts


def _without_suppressed(counts: TrialCounts) -> TrialCounts:
    """The counts without groups and levels that are withheld in some file."""
    suppressed_strata = {
        f"{stratum_grouping}={level}" for stratum_grouping, level in counts.suppressed_strata
    }
    columns = dict(counts.rows.columns)
    for side in SIDE_COLUMNS:
        columns[side] = columns[side].copy()
    for layout in range((len(counts.within) + 1) * len(counts.groupings)):
        is_in_layout = columns["layout"] == layout
        stratum_index, i = divmod(layout, len(counts.groupings))
        grouping, names = counts.groupings[i], [""]
        if stratum_index:
            outer = counts.within[stratum_index - 1]
            names = [f"{outer.name}={group}" for group in outer.groups]
        is_shown = np.zeros((len(names) + 1, len(grouping.groups) + 1), dtype=np.bool_)
        for level, name in enumerate(names):
            if name not in suppressed_strata:
                is_shown[level, :-1] = [not reason for reason in counts.missing(grouping, name)]
        for side in SIDE_COLUMNS:
            group = columns[side][is_in_layout]
            columns[side][is_in_layout] = np.where(
                is_shown[columns["stratum"][is_in_layout], group], group, -1
            )
    within = []
    for stratum_grouping in counts.within:
        shown_indices = [
            i
            for i, group in enumerate(stratum_grouping.groups)
            if f"{stratum_grouping.name}={group}" not in suppressed_strata
        ]
        groups = tuple(stratum_grouping.groups[i] for i in shown_indices)
        within.append(
            replace(
                stratum_grouping,
                groups=groups,
                group_values=tuple(stratum_grouping.group_values[i] for i in shown_indices),
            )
        )
    remaining = _with_target_groups(
        replace(counts, rows=CountRows(columns)), counts.groupings, within
    )
    return replace(remaining, rows=CountRows.total([remaining.rows]))


def _merged_notes(all_counts: Sequence[TrialCounts]) -> list[Note]:
    """What was read of all files: notes of the same thing add up, where they can."""
    notes_by_key: dict[tuple[str, str, str, str], list[Note]] = {}
    for counts in all_counts:
        for note in counts.notes:
            if note.adds_up:
                key = (note.source, note.item, note.grouping, note.group)
                notes_by_key.setdefault(key, []).append(note)
    merged_notes = []
    for notes in notes_by_key.values():
        words = {note.note for note in notes}
        text = words.pop() if len(words) == 1 else NOT_ADDED_UP
        merged_notes.append(
            replace(notes[0], count=sum(counts.count for counts in notes), note=text)
        )
    return merged_notes
