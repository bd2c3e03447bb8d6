"""What an audit of the files together would say, and the command that asks for it."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from parivox.errors import ConfigError, ParivoxError
from parivox.read.attributes import parse_attribute
from parivox.read.groups import attributes_asked, make_groupings
from parivox.read.groups_file import read_groups_file
from parivox.read.inspection.findings import Found, Shared
from parivox.read.inspection.joins import differing_attributes
from parivox.read.inspection.tables import InspectedTable
from parivox.read.inspection.trials import InspectedTrials
from parivox.read.speakers import read_speakers
from parivox.read.trials import read_trials

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from parivox.read.groups_file import GroupsFile
    from parivox.read.inspection.findings import Column, Differing
    from parivox.read.trialset import TrialSet

Inspected: TypeAlias = InspectedTrials | InspectedTable | Found
"""What one source is."""
_CHANCE = 0.5
_GROUPINGS = 2
_LEVELS = {
    "speakers": "speaker",
    "utterances": "recording",
    "scores": "trial",
    "trials": "trial",
}
"""Files that may have an attribute, and whose it is then."""
_TABLES = ("trials", "speakers", "utterances", "models", "failures", "groups")


class CountsReader(Protocol):
    """What tells of files of counts, which the audit's own readers read."""

    def see(self, name: str, path: Any) -> Found:
        """What one file holds."""

    def refused(self, paths: Sequence[Any]) -> str:
        """What an audit of several says against them; empty for nothing."""


class Plan:
    """What to do with the files: an audit of all scores with the first file of every other kind."""

    def __init__(
        self,
        sources: Sequence[tuple[str, Any, Inspected]],
        columns: dict[str, str],
        format_: str | None,
        stem: Callable[[Any], str],
    ) -> None:
        self.stem = stem
        self.columns = {**columns, **_guessed([one for *_, one in sources])}
        is_used = any(_found(one).format == format_ for *_, one in sources)
        self.format = format_ if is_used else None
        self.of: dict[str, list[tuple[str, Any, Inspected]]] = {}
        for source in sources:
            found = _found(source[-1])
            if found.rows or found.kind == "groups":
                self.of.setdefault(found.kind, []).append(source)
        self.shared = list(self._shared())

    def first(self, kind: str) -> Any:
        """The first source of a kind, if there is one."""
        return self.of[kind][0][1] if kind in self.of else None

    def problems(self, counts: CountsReader) -> Iterator[str]:
        """What the audit's readers say against the files together."""
        several = [given for _, given, one in self.of.get("counts", []) if not _found(one).problems]
        if len(several) > 1 and (problem := counts.refused(several)):
            yield problem
        groups = self._groups_file()
        is_checked = False
        for _, given, one in self.of.get("scores", []):
            if isinstance(one, InspectedTrials) and one.found.whole and not one.found.problems:
                try:
                    read = self._read(given, one, groups)
                    self._compare(read)
                    is_checked = True
                    _make(read, groups)
                except ParivoxError as error:
                    yield str(error)
        if groups is not None and not is_checked:
            yield from self._strange(groups)

    def _groups_file(self) -> GroupsFile | None:
        """The groups file, if one is given that can be read."""
        sources = [given for _, given, one in self.of.get("groups", []) if not _found(one).problems]
        return read_groups_file(sources[0]) if sources else None

    def _strange(self, groups: GroupsFile) -> Iterator[str]:
        """Groups of which no table has a value."""
        for text, recipe in groups.recipes.items():
            held = self._values(text)
            if held:
                try:
                    recipe.check(held)
                except ConfigError as error:
                    yield str(error)

    def _values(self, text: str) -> list[str]:
        """Values of an attribute in the tables, if it is one whose values are taken as they are."""
        attribute = parse_attribute(text)
        tables = [
            one for some in self.of.values() for *_, one in some if isinstance(one, InspectedTable)
        ]
        if attribute.edges or attribute.side == "same":
            return []
        return [
            value
            for table in tables
            for column in table.columns
            if column.lower() == attribute.name.lower()
            for value in table.distinct(column)
        ]

    def _read(self, given: Any, one: InspectedTrials, groups: GroupsFile | None) -> TrialSet:
        people = self.first("speakers")
        return read_trials(
            given,
            system="",
            list_="",
            speakers=None if people is None else read_speakers(people),
            trials=self.first("trials"),
            utterances=self.first("utterances"),
            models=self.first("models"),
            failures=self.first("failures"),
            columns=self.columns or None,
            format=self.format if one.found.format == self.format else None,
            attributes=attributes_asked(
                (*(shared.name for shared in self.shared), *_asked(groups))
            ),
        )

    def _compare(self, trials: TrialSet) -> None:
        """Ask the audit whether attributes that stand in several files say the same."""
        assert trials.people is not None
        for place, shared in enumerate(self.shared):
            refused = ""
            try:
                make_groupings(trials.people, [shared.name], sets=[trials])
            except ConfigError as error:
                refused = str(error)
            self.shared[place] = replace(shared, refused=refused or shared.refused or "")

    def _shared(self) -> Iterator[Shared]:
        """Attributes that stand in the files of several levels."""
        places: dict[str, dict[str, tuple[str, str]]] = {}
        for kind, level in _LEVELS.items():
            for column in self._columns(kind):
                if not column.role:
                    place = column.name, _found(self.of[kind][0][-1]).name
                    places.setdefault(column.name.lower(), {}).setdefault(level, place)
        for found in places.values():
            if len(found) > 1:
                names = [name for name, _ in found.values()]
                yield Shared(names[0], {level: file for level, (_, file) in found.items()}, None)

    def next(self) -> tuple[str, list[Differing]]:
        """The command to type next, empty where there is nothing to audit; and why so."""
        if "counts" in self.of and "scores" not in self.of:
            return shlex.join(["parivox", "audit", *self._names("counts")]), []
        if "scores" not in self.of and "trials" not in self.of:
            return "", []
        groupings, because = self._groupings()
        words = ["parivox", "audit", *(self._scores() or ["SCORES"])]
        words += self._files(has_groups=bool(groupings) or "groups" in self.of)
        words += [word for name in groupings for word in ("--by", name)]
        return shlex.join([*words, *self._reading()]), because

    def _files(self, *, has_groups: bool) -> Iterator[str]:
        """Files beside the scores; in capitals those that are yet to be given."""
        for kind in _TABLES:
            if kind in self.of:
                yield from (f"--{kind}", self._names(kind)[0])
            elif kind == "speakers" and not has_groups:
                yield from ("--speakers", "PEOPLE")
            elif kind == "utterances" and self._lacks_speakers():
                yield from ("--utterances", "RECORDINGS")

    def _reading(self) -> Iterator[str]:
        """How the files are read."""
        if self.format is not None:
            yield from ("--scores-format", self.format)
        if self.columns:
            option = ",".join(f"{role}={column}" for role, column in self.columns.items())
            yield from ("--columns", option)
        scores = [_found(one).scores for *_, one in self.of.get("scores", [])]
        if any(one is not None and one.auc is not None and one.auc < _CHANCE for one in scores):
            yield "--distance"

    def _scores(self) -> list[str]:
        """The score files; those that would be systems of one name with a name each."""
        files = self._names("scores")
        stems = [self.stem(file) for file in files]
        if len(set(stems)) == len(stems):
            return files
        folders = [Path(file).absolute().parent.name for file in files]
        is_told = len(set(folders)) == len(folders) and all(
            re.fullmatch(r"[\w.-]+", f) for f in folders
        )
        names = folders if is_told else [f"{stem}{n}" for n, stem in enumerate(stems, 1)]
        return [f"{name}={file}" for name, file in zip(names, files, strict=True)]

    def _names(self, kind: str) -> list[str]:
        return [name for name, *_ in self.of.get(kind, [])]

    def _columns(self, kind: str) -> Iterator[Column]:
        for *_, one in self.of.get(kind, []):
            yield from _found(one).columns

    def _lacks_speakers(self) -> bool:
        """Whether no file tells whose the utterances are."""
        return not {"speakers", "utterances", "models"} & set(self.of) and any(
            isinstance(one, InspectedTrials)
            and one.found.whose is not None
            and one.found.whose.rule == "id"
            and one.found.whose.wrong != 0
            for kind in ("scores", "trials")
            for *_, one in self.of.get(kind, [])
        )

    def _groupings(self) -> tuple[list[str], list[Differing]]:
        """Some attributes to group by: of speakers, then of recordings, then of trials."""
        if any(_found(one).by for *_, one in self.of.get("groups", [])):
            return [], []  # the groups file says it
        odd = dict(self._differing())
        refused = {one.name.lower(): one for one in self.shared if one.refused}
        names: dict[str, Differing | None] = {}
        known: set[str] = set()
        for kind, level in _LEVELS.items():
            for column in self._columns(kind):
                if not column.groups or column.name.lower() in known:
                    continue
                known.add(column.name.lower())
                by = f"{level}.{column.by}" if column.name.lower() in refused else column.by
                one = odd.get(column.name) if level == "recording" else None
                names[by if one is None else one.instead] = one
        chosen = list(names)[:_GROUPINGS]
        return chosen, [one for name in chosen if (one := names[name]) is not None]

    def _differing(self) -> Iterator[tuple[str, Differing]]:
        tables = [
            one
            for several in self.of.values()
            for *_, one in several
            if isinstance(one, InspectedTable)
        ]
        for *_, one in self.of.get("scores", [])[:1]:
            if isinstance(one, InspectedTrials):
                for column, found in differing_attributes(one, tables):
                    yield column.name, found


def _asked(groups: GroupsFile | None) -> tuple[str, ...]:
    """Groupings that a groups file asks for."""
    return () if groups is None else (*(groups.by or ()), *(groups.within or ()))


def _make(trials: TrialSet, groups: GroupsFile | None) -> None:
    """Ask the audit for what a groups file asks for."""
    assert trials.people is not None
    for option, by in (("--by", groups.by), ("--within", groups.within)) if groups else ():
        if by:
            make_groupings(trials.people, by, sets=[trials], file=groups, option=option)


def _found(one: Inspected) -> Found:
    return one if isinstance(one, Found) else one.found


def _guessed(seen: Sequence[Inspected]) -> dict[str, str]:
    """Columns of trials that audits know by the user's names only."""
    for one in seen:
        if isinstance(one, InspectedTrials) and one.named:
            return {role: one.scan.columns[role] for role in one.named}
    return {}
