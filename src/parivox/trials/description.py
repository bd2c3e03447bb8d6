"""Describe what a list holds: trials by group, by speaker, by pair of groups and by grade."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.data.lists.grades import highest
from parivox.data.lists.list_counts import (
    count_list,
    distinct_by_group,
    effective_number,
    recordings_by_group,
    shares_or_nan,
    speakers_by_group,
)
from parivox.data.lists.trial_list import agreement_codes, read_list
from parivox.data.table import Table
from parivox.data.trial_checks import CONFLICTS, DUPLICATES
from parivox.shown import CATALOGUE_MODULE, NotebookView
from parivox.trials.writing import LABELS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parivox.data.grouping import AttributeCodes, Grouping
    from parivox.data.lists.list_counts import Codes, Ints, ListCounts, SpeakerPairCounts
    from parivox.facts import Fact

    Columns = dict[str, Any]
    from parivox.sources import SpeakerSource, TableSource, UtteranceSource

ALL = "all"
"""The group of every trial."""
_GROUP = {"grouping": "str", "group": "str"}
TABLES: dict[str, dict[str, str]] = {
    "list": {"item": "str", "count": "int"},
    "groups": {
        **_GROUP,
        "speakers": "int",
        "speaker_share": "float",
        "utterances": "int",
        "utterance_share": "float",
        "recordings": "int",
        "trials": "int",
        "trial_share": "float",
        "target": "int",
        "target_share": "float",
        "nontarget": "int",
        "nontarget_share": "float",
        "trivial": "int",
        "trivial_share": "float",
        "effective_speakers": "float",
        "never_enrol": "int",
        "never_test": "int",
        "target_per_speaker": "float",
        "nontarget_per_speaker": "float",
    },
    "grades": {**_GROUP, "label": "str", "grade": "int", "trials": "int", "share": "float"},
    "within": {
        "attribute": "str",
        **_GROUP,
        "same": "int",
        "different": "int",
        "unknown": "int",
        "same_share": "float",
    },
    "matrix": {"grouping": "str", "enrol_group": "str", "test_group": "str", "nontarget": "int"},
    "reuse": {
        "item": "str",
        "number": "int",
        **dict.fromkeys(("least", "median", "most"), "float"),
    },
    "speakers": {
        "speaker": "str",
        "enrol_target": "int",
        "enrol_nontarget": "int",
        "test_nontarget": "int",
        "partners": "int",
        "utterances": "int",
        "recordings": "int",
    },
}
"""Columns of each table, in order, with their kinds."""


@dataclass(frozen=True, eq=False)
class Description(NotebookView):
    """What a list holds.

    Attributes
    ----------
    name : str
        The file.
    groupings, graded_by : tuple of str
    tables : dict of str to Table
        ``list``: how many there are of everything. ``groups``: of each group, which are shares of
        all that are in some group; a trial counts for its enrolment. ``grades``: trials by label
        and grade; undefined for those that are not known. ``within``: of each attribute, how many
        nontarget trials are of speakers who share its value. ``matrix``: nontarget trials by the
        groups of either side. ``reuse``: how often speakers, recordings and utterances are used.
        ``speakers``: each of them, without ids unless asked for.
    recording_source : Fact
        What tells which utterances are of one recording, or why nothing does.
    recordings : str
        The same in words.
    """

    name: str
    groupings: tuple[str, ...]
    graded_by: tuple[str, ...]
    tables: dict[str, Table]
    recording_source: Fact

    @property
    def recordings(self) -> str:
        """What tells which utterances are of one recording, in words."""
        return str(import_module(CATALOGUE_MODULE).fact_text(self.recording_source))

    def to_json(self) -> str:
        """Every table as JSON, a column a list."""
        return self._as_json({})

    def _as_json(self, header_fields: Mapping[str, Any]) -> str:
        """Return what is known of the list, then its tables, a line each."""
        header = {
            "list": self.name,
            "by": self.groupings,
            "grade_by": self.graded_by,
            **header_fields,
            "recordings": self.recordings,
        }
        # without the last brace and the line break before it, as the tables follow
        opening = json.dumps(header, indent=1, ensure_ascii=False, allow_nan=False)[:-2]
        tables = [f"  {json.dumps(name)}: {table.to_json()}" for name, table in self.tables.items()]
        body = ",\n".join(tables)
        return f'{opening},\n "tables": {{\n{body}\n }}\n}}\n'


def describe(
    trials: TableSource,
    *,
    speakers: SpeakerSource | None = None,
    utterances: UtteranceSource | None = None,
    by: Sequence[str] | str | None = None,
    grade_by: Sequence[str] | str | None = None,
    speaker_ids: bool = False,
    id: str | None = None,  # noqa: A002 - the command line's word
    columns: Mapping[str, str] | None = None,
    conflicts: str = "error",
    encoding: str | None = None,
    quotes: str | None = None,
) -> Description:
    """Tell what a list holds.

    Parameters
    ----------
    trials, speakers, utterances, by, grade_by, id, columns, conflicts, encoding, quotes
        The list and the tables beside it: see `parivox.trials.check`.
    speaker_ids
        Whether the table of speakers names them.

    Examples
    --------
    >>> trials = {"enrol": ["a/x/1", "a/x/1"], "test": ["a/x/2", "b/y/1"], "label": [1, 0]}
    >>> found = describe(trials, speakers={"id": ["a", "b"], "gender": ["f", "m"]})
    >>> found.tables["groups"].to_dict()["utterance_share"]
    [1.0, 0.6666666666666666, 0.3333333333333333]
    """
    trial_list = read_list(
        trials,
        speakers=speakers,
        utterances=utterances,
        by=by,
        grade_by=grade_by,
        id=id,
        columns=columns,
        conflicts=conflicts,
        encoding=encoding,
        quotes=quotes,
    )
    return list_description(count_list(trial_list), speaker_ids=speaker_ids)


def list_description(counts: ListCounts, *, speaker_ids: bool = False) -> Description:
    """Return what a list holds, from its counts."""
    trial_list, views = counts.trial_list, list(_views(counts))
    columns_by_table = {
        "list": [_list_columns(counts)],
        "groups": [_group_columns(counts, view) for view in views],
        "grades": [_grade_columns(view) for view in views],
        "within": [
            _agreement_columns(attribute, view)
            for attribute in trial_list.attributes
            for view in views
        ],
        "matrix": [_matrix_columns(view) for view in views[1:]],  # all trials are one group
        "reuse": [_reuse_columns(counts)],
        "speakers": [_speaker_columns(counts)],
    }
    tables = {}
    for table_name, kinds in TABLES.items():
        shown_kinds = {
            column: kind for column, kind in kinds.items() if speaker_ids or column != "speaker"
        }
        cells: Columns = {column: [] for column in shown_kinds}
        for columns in columns_by_table[table_name]:
            for column, column_cells in cells.items():
                column_cells += list(columns[column])
        tables[table_name] = Table.of(cells, shown_kinds)
    return Description(
        name=trial_list.name,
        groupings=tuple(grouping.name for grouping in trial_list.groupings),
        graded_by=tuple(agreement.name for agreement in trial_list.agreements),
        tables=tables,
        recording_source=trial_list.recording_names.source,
    )


class _GroupingView(NamedTuple):
    """A list seen through one grouping, or as one group of all trials."""

    name: str
    groups: tuple[str, ...]
    pair_counts: SpeakerPairCounts
    grouping: Grouping | None = None

    @property
    def name_columns(self) -> Columns:
        """The columns that name the groups."""
        return {"grouping": [self.name] * len(self.groups), "group": list(self.groups)}


def _views(counts: ListCounts) -> Iterator[_GroupingView]:
    """Yield all trials as one group, then every grouping."""
    zeros = np.zeros(counts.pair_counts.enrol.size, dtype=np.int32)
    whole_list = replace(counts.pair_counts, enrol_group=zeros, test_group=zeros)
    yield _GroupingView(ALL, (ALL,), whole_list)
    for grouping, pair_counts in zip(
        counts.trial_list.groupings, counts.pair_counts_by_grouping, strict=True
    ):
        yield _GroupingView(grouping.name, grouping.groups, pair_counts, grouping)


def _list_columns(counts: ListCounts) -> Columns:
    trial_list, speakers, pair_counts = (
        counts.trial_list,
        counts.trials_per_speaker,
        counts.pair_counts,
    )
    is_used = counts.trials_per_utterance > 0
    notes = {note.item: note.count for note in trial_list.trials.data_notes}
    recording = trial_list.recording_indices[is_used]
    numbers = {
        "trials": pair_counts.n_trials.sum(),
        "target_trials": speakers.n_target.sum(),
        "nontarget_trials": speakers.n_nontarget.sum(),
        "speakers": speakers.speaker_indices.size,
        "utterances": is_used.sum(),
        "recordings": np.unique(recording[recording >= 0]).size,
        "utterances_of_unknown_recording": (recording < 0).sum(),
        "trials_of_unknown_grade": pair_counts.n_trials[pair_counts.grade == 0].sum(),
        "exact_duplicates": notes.get(DUPLICATES, 0),
        "reversed_target_trials": counts.n_reversed[1],
        "reversed_nontarget_trials": counts.n_reversed[0],
        "trials_of_one_utterance": counts.n_self_trials,
        "excluded_rows": notes.get(CONFLICTS, 0),
    }
    return {"item": list(numbers), "count": [int(number) for number in numbers.values()]}


def _group_columns(counts: ListCounts, view: _GroupingView) -> Columns:
    """Return sizes of the groups, and their shares of all that is in some group."""
    n_groups, pair_counts = len(view.groups), view.pair_counts
    target = pair_counts.select(pair_counts.is_target)
    nontarget = pair_counts.select(~pair_counts.is_target)
    # whether a target trial is trivial is known only where its recordings are
    trivial = target.select(target.same_recording == 1)
    known_recording_targets = target.select(target.same_recording >= 0)
    n_speakers = speakers_by_group(pair_counts, n_groups)
    n_utterances, n_recordings = _utterances_and_recordings(counts, view)
    n_enrolled = distinct_by_group(nontarget.enrol_group, nontarget.enrol, n_groups)
    n_tested = distinct_by_group(nontarget.test_group, nontarget.test, n_groups)
    sizes = {
        "speakers": n_speakers,
        "utterances": n_utterances,
        "recordings": n_recordings,
        "trials": pair_counts.trials_by_key(pair_counts.enrol_group, n_groups),
        "target": target.trials_by_key(target.enrol_group, n_groups),
        "nontarget": nontarget.trials_by_key(nontarget.enrol_group, n_groups),
        "trivial": trivial.trials_by_key(trivial.enrol_group, n_groups),
        "never_enrol": n_speakers - n_enrolled,
        "never_test": n_speakers - n_tested,
    }
    shares = {
        f"{name.removesuffix('s')}_share": shares_or_nan(sizes[name], sizes[name].sum())
        for name in ("speakers", "utterances", "trials", "target", "nontarget")
    }
    shares["trivial_share"] = shares_or_nan(
        sizes["trivial"],
        known_recording_targets.trials_by_key(known_recording_targets.enrol_group, n_groups),
    )
    for name in ("target", "nontarget"):
        shares[f"{name}_per_speaker"] = shares_or_nan(sizes[name], n_speakers)
    effective_speakers = [
        effective_number(_trials_per_speaker(pair_counts, group)) for group in range(n_groups)
    ]
    size_columns = {name: _none_where_negative(size) for name, size in sizes.items()}
    return {
        **view.name_columns,
        **size_columns,
        **shares,
        "effective_speakers": effective_speakers,
    }


def _none_where_negative(numbers: Ints) -> list[int | None]:
    return [int(number) if number >= 0 else None for number in numbers]


def _trials_per_speaker(pair_counts: SpeakerPairCounts, group: int) -> Ints:
    """Count the trials that each speaker takes part in, as a member of the group."""
    is_enrolled = pair_counts.enrol_group == group
    # both sides of a target trial are one speaker, who takes part in it once
    is_tested = (pair_counts.test_group == group) & ~pair_counts.is_target
    n_speakers = int(max(pair_counts.enrol.max(initial=0), pair_counts.test.max(initial=0))) + 1
    n_enrolled = pair_counts.select(is_enrolled).trials_by_key(
        pair_counts.enrol[is_enrolled], n_speakers
    )
    n_tested = pair_counts.select(is_tested).trials_by_key(pair_counts.test[is_tested], n_speakers)
    return n_enrolled + n_tested


def _utterances_and_recordings(counts: ListCounts, view: _GroupingView) -> tuple[Ints, Ints]:
    """Count utterances and recordings of each group; -1 where they are in none, or not known."""
    n_groups, trials = len(view.groups), counts.trial_list.trials
    is_used = counts.trials_per_utterance > 0
    group: Codes
    if view.grouping is None:
        group = np.zeros(is_used.size, dtype=np.int32)
    elif view.grouping.is_of_trials:
        return np.full(n_groups, -1), np.full(n_groups, -1)
    elif view.grouping.speaker_codes is not None:
        group = trials.utterance_codes(view.grouping.speaker_codes)
    else:
        group = view.grouping.utterance_codes(trials)
    is_used &= group >= 0
    group, recording = group[is_used], counts.trial_list.recording_indices[is_used]
    n_utterances = np.bincount(group, minlength=n_groups)
    return n_utterances, recordings_by_group(group, recording, n_groups)


def _grade_columns(view: _GroupingView) -> Columns:
    """Return trials of each group by label and grade."""
    n_groups, pair_counts = len(view.groups), view.pair_counts
    n_grades = highest(len(pair_counts.agreement)) + 1
    labels = pair_counts.enrol_group.astype(np.int64) * 2 + pair_counts.is_target
    keys = np.where(pair_counts.enrol_group < 0, -1, labels * n_grades + pair_counts.grade)
    trials = pair_counts.trials_by_key(keys, 2 * n_groups * n_grades)
    trials = trials.reshape(n_groups, 2, n_grades)
    group, label, grade = np.nonzero(trials)
    shares = shares_or_nan(trials, trials.sum(axis=2, keepdims=True))
    return {
        "grouping": [view.name] * group.size,
        "group": [view.groups[i] for i in group],
        "label": [LABELS[i] for i in label],
        "grade": [int(i) or None for i in grade],
        "trials": trials[group, label, grade],
        "share": shares[group, label, grade],
    }


def _agreement_columns(attribute: AttributeCodes, view: _GroupingView) -> Columns:
    """Return nontarget trials of each group by whether both speakers share an attribute."""
    speaker_codes, n_groups = attribute.speaker_codes, len(view.groups)
    assert speaker_codes is not None
    nontarget = view.pair_counts.select(~view.pair_counts.is_target)
    agreement = agreement_codes(speaker_codes[nontarget.enrol], speaker_codes[nontarget.test])
    trials = {
        name: nontarget.trials_by_key(
            np.where(agreement == code, nontarget.enrol_group, -1), n_groups
        )
        for name, code in (("same", 1), ("different", 0), ("unknown", -1))
    }
    return {
        "attribute": [attribute.attribute.text] * n_groups,
        **view.name_columns,
        **trials,
        "same_share": shares_or_nan(trials["same"], trials["same"] + trials["different"]),
    }


def _matrix_columns(view: _GroupingView) -> Columns:
    """Return nontarget trials by the groups of both sides; only what occurs."""
    n_groups, nontarget = len(view.groups), view.pair_counts.select(~view.pair_counts.is_target)
    has_groups = (nontarget.enrol_group >= 0) & (nontarget.test_group >= 0)
    keys = nontarget.enrol_group.astype(np.int64) * n_groups + nontarget.test_group
    cells, cell_indices = np.unique(keys[has_groups], return_inverse=True)
    trials = np.bincount(cell_indices, nontarget.n_trials[has_groups], minlength=cells.size)
    return {
        "grouping": [view.name] * cells.size,
        "enrol_group": [view.groups[i] for i in cells // n_groups],
        "test_group": [view.groups[i] for i in cells % n_groups],
        "nontarget": trials.astype(np.int64),
    }


def _reuse_columns(counts: ListCounts) -> Columns:
    """Return how often speakers, recordings and utterances are used."""
    speakers, is_used = counts.trials_per_speaker, counts.trials_per_utterance > 0
    recording = counts.trial_list.recording_indices[is_used]
    trials_per_utterance = counts.trials_per_utterance[is_used]
    # every trial of an utterance is a use of its recording
    uses_of_recording = np.bincount(recording[recording >= 0], trials_per_utterance[recording >= 0])
    numbers_by_item = {
        "trials_as_enrolment": speakers.n_enrolled,
        "trials_as_test": speakers.n_tested,
        "nontarget_trials_as_enrolment": speakers.n_nontarget,
        "nontarget_trials_as_test": speakers.n_tested_nontarget,
        "partners_of_speaker": speakers.n_partners,
        "utterances_of_speaker": speakers.n_utterances,
        "recordings_of_speaker": speakers.n_recordings[speakers.n_recordings >= 0],
        "uses_of_recording": uses_of_recording[uses_of_recording > 0],
        "trials_of_utterance": trials_per_utterance,
    }
    numbers_by_item = {item: numbers for item, numbers in numbers_by_item.items() if numbers.size}
    return {
        "item": list(numbers_by_item),
        "number": [numbers.size for numbers in numbers_by_item.values()],
        "least": [float(numbers.min()) for numbers in numbers_by_item.values()],
        "median": [float(np.median(numbers)) for numbers in numbers_by_item.values()],
        "most": [float(numbers.max()) for numbers in numbers_by_item.values()],
    }


def _speaker_columns(counts: ListCounts) -> Columns:
    speakers = counts.trials_per_speaker
    return {
        "speaker": [counts.trial_list.speakers.ids[i] for i in speakers.speaker_indices],
        "enrol_target": speakers.n_target,
        "enrol_nontarget": speakers.n_nontarget,
        "test_nontarget": speakers.n_tested_nontarget,
        "partners": speakers.n_partners,
        "utterances": speakers.n_utterances,
        "recordings": _none_where_negative(speakers.n_recordings),
    }
