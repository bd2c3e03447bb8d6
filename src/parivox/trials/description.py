"""What a list holds: trials by group, by speaker, by pair of groups and by grade."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.data.table import Table
from parivox.data.trial_checks import CONFLICTS, DUPLICATES
from parivox.shown import NotebookView
from parivox.trials.grades import highest
from parivox.trials.list_counts import (
    count_list,
    distinct_by_group,
    effective_number,
    recordings_by_group,
    shares_or_nan,
    speakers_by_group,
)
from parivox.trials.lists import agreement_codes, read_list
from parivox.trials.writing import LABELS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parivox.data.grouping import AttributeCodes, Grouping
    from parivox.trials.list_counts import Codes, Ints, ListCounts, SpeakerPairCounts

    Columns = dict[str, Any]

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
    "reuse": {"of": "str", "number": "int", **dict.fromkeys(("least", "median", "most"), "float")},
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
    recordings : str
        What tells which utterances are of one recording, or why nothing does.
    """

    name: str
    groupings: tuple[str, ...]
    graded_by: tuple[str, ...]
    tables: dict[str, Table]
    recordings: str

    def to_json(self) -> str:
        """Every table as JSON, a column a list."""
        return self._as_json({})

    def _as_json(self, more: Mapping[str, Any]) -> str:
        """What is said of the list, then its tables, a line each."""
        head = {"list": self.name, "by": self.groupings, "grade_by": self.graded_by, **more}
        head["recordings"] = self.recordings
        first = json.dumps(head, indent=1, ensure_ascii=False, allow_nan=False)[:-2]
        tables = [f"  {json.dumps(name)}: {one.to_json()}" for name, one in self.tables.items()]
        body = ",\n".join(tables)
        return f'{first},\n "tables": {{\n{body}\n }}\n}}\n'


def describe(
    trials: Any,
    *,
    speakers: Any = None,
    utterances: Any = None,
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
    return description_of(count_list(trial_list), speaker_ids=speaker_ids)


def description_of(counts: ListCounts, *, speaker_ids: bool = False) -> Description:
    """What a list holds, from its counts."""
    trial_list, views = counts.trial_list, list(_views(counts))
    rows = {
        "list": [_of_list(counts)],
        "groups": [_of_groups(counts, view) for view in views],
        "grades": [_of_grades(view) for view in views],
        "within": [_within(part, view) for part in trial_list.attributes for view in views],
        "matrix": [_matrix(view) for view in views[1:]],
        "reuse": [_reuse(counts)],
        "speakers": [_of_each(counts)],
    }
    tables = {}
    for name, columns in TABLES.items():
        kept = {one: kind for one, kind in columns.items() if speaker_ids or one != "speaker"}
        cells = {one: [cell for of in rows[name] for cell in of[one]] for one in kept}
        tables[name] = Table.of(cells, kept)
    groupings = tuple(one.name for one in trial_list.groupings)
    graded_by = tuple(one.name for one in trial_list.agreements)
    recordings = trial_list.recordings.in_words
    return Description(trial_list.name, groupings, graded_by, tables, recordings)


class _View(NamedTuple):
    """A list seen through one grouping, or as one group of all trials."""

    name: str
    groups: tuple[str, ...]
    cells: SpeakerPairCounts
    grouping: Grouping | None = None

    @property
    def named(self) -> Columns:
        """The columns that name the groups."""
        return {"grouping": [self.name] * len(self.groups), "group": list(self.groups)}


def _views(counts: ListCounts) -> Iterator[_View]:
    """All trials as one group, then every grouping."""
    zeros = np.zeros(counts.cells.enrol.size, dtype=np.int32)
    yield _View(ALL, (ALL,), replace(counts.cells, enrol_group=zeros, test_group=zeros))
    for one, cells in zip(counts.trial_list.groupings, counts.by, strict=True):
        yield _View(one.name, one.groups, cells, one)


def _of_list(counts: ListCounts) -> Columns:
    trial_list, speakers, used = counts.trial_list, counts.speakers, counts.uses > 0
    notes = {note.item: note.count for note in trial_list.trials.data}
    recording = trial_list.recording[used]
    items = {
        "trials": counts.cells.count.sum(),
        "target trials": speakers.target.sum(),
        "nontarget trials": speakers.nontarget.sum(),
        "speakers": speakers.speaker.size,
        "utterances": used.sum(),
        "recordings": np.unique(recording[recording >= 0]).size,
        "utterances of unknown recording": (recording < 0).sum(),
        "trials of unknown grade": counts.cells.count[counts.cells.grade == 0].sum(),
        "exact duplicates": notes.get(DUPLICATES, 0),
        "reversed target trials": counts.reversed[1],
        "reversed nontarget trials": counts.reversed[0],
        "trials of an utterance with itself": counts.itself,
        "rows set aside": notes.get(CONFLICTS, 0),
    }
    return {"item": list(items), "count": [int(n) for n in items.values()]}


def _of_groups(counts: ListCounts, view: _View) -> Columns:
    """Sizes of the groups, and their shares of all that is in some group."""
    k, cells = len(view.groups), view.cells
    target, other = cells.take(cells.target), cells.take(~cells.target)
    trivial, graded = target.take(target.recording == 1), target.take(target.recording >= 0)
    speakers = speakers_by_group(cells, k)
    utterances, recordings = _utterances(counts, view)
    sizes = {
        "speakers": speakers,
        "utterances": utterances,
        "recordings": recordings,
        "trials": cells.total(cells.enrol_group, k),
        "target": target.total(target.enrol_group, k),
        "nontarget": other.total(other.enrol_group, k),
        "trivial": trivial.total(trivial.enrol_group, k),
        "never_enrol": speakers - distinct_by_group(other.enrol_group, other.enrol, k),
        "never_test": speakers - distinct_by_group(other.test_group, other.test, k),
    }
    shares = {
        f"{name.removesuffix('s')}_share": shares_or_nan(sizes[name], sizes[name].sum())
        for name in ("speakers", "utterances", "trials", "target", "nontarget")
    }
    shares["trivial_share"] = shares_or_nan(sizes["trivial"], graded.total(graded.enrol_group, k))
    for name in ("target", "nontarget"):
        shares[f"{name}_per_speaker"] = shares_or_nan(sizes[name], speakers)
    effective = [effective_number(_parts(cells, group)) for group in range(k)]
    known = {name: _where_known(of) for name, of in sizes.items()}
    return {**view.named, **known, **shares, "effective_speakers": effective}


def _where_known(numbers: Ints) -> list[int | None]:
    return [int(n) if n >= 0 else None for n in numbers]


def _parts(cells: SpeakerPairCounts, group: int) -> Ints:
    """Trials that each speaker takes part in, as one of the group."""
    enrol, test = cells.enrol_group == group, (cells.test_group == group) & ~cells.target
    n = int(max(cells.enrol.max(initial=0), cells.test.max(initial=0))) + 1
    enrolled = cells.take(enrol).total(cells.enrol[enrol], n)
    return enrolled + cells.take(test).total(cells.test[test], n)


def _utterances(counts: ListCounts, view: _View) -> tuple[Ints, Ints]:
    """Utterances and recordings of each group; -1 where they are in none, or not known."""
    k, used, trials = len(view.groups), counts.uses > 0, counts.trial_list.trials
    group: Codes
    if view.grouping is None:
        group = np.zeros(used.size, dtype=np.int32)
    elif view.grouping.is_of_trials:
        return np.full(k, -1), np.full(k, -1)
    elif view.grouping.of_speaker is not None:
        group = trials.of_utterances(view.grouping.of_speaker)
    else:
        group = view.grouping.of_utterance(trials)
    used &= group >= 0
    group, recording = group[used], counts.trial_list.recording[used]
    return np.bincount(group, minlength=k), recordings_by_group(group, recording, k)


def _of_grades(view: _View) -> Columns:
    """Trials of each group by label and grade."""
    k, cells = len(view.groups), view.cells
    top = highest(len(cells.shared)) + 1
    key = (cells.enrol_group.astype(np.int64) * 2 + cells.target) * top + cells.grade
    trials = cells.total(np.where(cells.enrol_group < 0, -1, key), 2 * k * top).reshape(k, 2, top)
    group, label, code = np.nonzero(trials)
    share = shares_or_nan(trials, trials.sum(axis=2, keepdims=True))
    return {
        "grouping": [view.name] * group.size,
        "group": [view.groups[i] for i in group],
        "label": [LABELS[i] for i in label],
        "grade": [int(i) or None for i in code],
        "trials": trials[group, label, code],
        "share": share[group, label, code],
    }


def _within(part: AttributeCodes, view: _View) -> Columns:
    """Nontarget trials of each group by whether both speakers share the value of an attribute."""
    of, k = part.of_speaker, len(view.groups)
    assert of is not None
    other = view.cells.take(~view.cells.target)
    same = agreement_codes(of[other.enrol], of[other.test])
    trials = {
        name: other.total(np.where(same == code, other.enrol_group, -1), k)
        for name, code in (("same", 1), ("different", 0), ("unknown", -1))
    }
    share = shares_or_nan(trials["same"], trials["same"] + trials["different"])
    return {"attribute": [part.attribute.text] * k, **view.named, **trials, "same_share": share}


def _matrix(view: _View) -> Columns:
    """Nontarget trials by the groups of both sides; only what occurs."""
    k, other = len(view.groups), view.cells.take(~view.cells.target)
    known = (other.enrol_group >= 0) & (other.test_group >= 0)
    key = other.enrol_group.astype(np.int64) * k + other.test_group
    cell, place = np.unique(key[known], return_inverse=True)
    trials = np.bincount(place, other.count[known], minlength=cell.size).astype(np.int64)
    return {
        "grouping": [view.name] * cell.size,
        "enrol_group": [view.groups[i] for i in cell // k],
        "test_group": [view.groups[i] for i in cell % k],
        "nontarget": trials,
    }


def _reuse(counts: ListCounts) -> Columns:
    """How often what there is occurs."""
    speakers, used = counts.speakers, counts.uses > 0
    recording, uses = counts.trial_list.recording[used], counts.uses[used]
    of_recording = np.bincount(recording[recording >= 0], uses[recording >= 0])
    each = {
        "trials of a speaker as enrolment": speakers.enrolled,
        "trials of a speaker as test side": speakers.as_test,
        "nontarget trials of a speaker as enrolment": speakers.nontarget,
        "nontarget trials of a speaker as test side": speakers.tested,
        "speakers whom a speaker is compared with": speakers.partners,
        "utterances of a speaker": speakers.utterances,
        "recordings of a speaker": speakers.recordings[speakers.recordings >= 0],
        "uses of a recording": of_recording[of_recording > 0],
        "trials of an utterance": uses,
    }
    each = {name: numbers for name, numbers in each.items() if numbers.size}
    return {
        "of": list(each),
        "number": [numbers.size for numbers in each.values()],
        "least": [float(numbers.min()) for numbers in each.values()],
        "median": [float(np.median(numbers)) for numbers in each.values()],
        "most": [float(numbers.max()) for numbers in each.values()],
    }


def _of_each(counts: ListCounts) -> Columns:
    speakers = counts.speakers
    return {
        "speaker": [counts.trial_list.people.ids[i] for i in speakers.speaker],
        "enrol_target": speakers.target,
        "enrol_nontarget": speakers.nontarget,
        "test_nontarget": speakers.tested,
        "partners": speakers.partners,
        "utterances": speakers.utterances,
        "recordings": _where_known(speakers.recordings),
    }
