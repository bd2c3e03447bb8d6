"""What an audit of the files together would say, and the command that asks for it."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from parivox.data.attributes import parse_attribute
from parivox.data.groups_file import read_groups_file
from parivox.data.inspection.findings import FileFindings, SharedAttribute
from parivox.data.inspection.joins import differing_attributes
from parivox.data.inspection.tables import InspectedTable
from parivox.data.inspection.trials import InspectedTrials, is_llr
from parivox.data.kaldi import tells_speakers
from parivox.data.recording_names import odd_recordings
from parivox.data.requested_groupings import attributes_asked, make_groupings
from parivox.data.source_bytes import encoding_asked, quotes_asked
from parivox.data.speakers import read_speakers
from parivox.data.trials import read_trials
from parivox.data.value_warnings import NO_LLRS, TO_BASE_10
from parivox.errors import ConfigError, ParivoxError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from parivox.data.groups_file import GroupsFile
    from parivox.data.inspection.findings import DifferingAttribute
    from parivox.data.trial_set import TrialSet
    from parivox.data.value_warnings import DataWarning
    from parivox.runtime.disk import ScratchFolder

Inspected: TypeAlias = InspectedTrials | InspectedTable | FileFindings
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


@dataclass(eq=False)
class Source:
    """A source under the name that the user gave it, in a form that can be read again."""

    name: str
    data: Any
    word: str  # as the command takes it
    folder: ScratchFolder | None = None  # of standard input, for as long as it is needed
    inspected: Inspected = field(default_factory=lambda: FileFindings("", "unknown"))

    @property
    def found(self) -> FileFindings:
        """What is told of it."""
        return self.inspected if isinstance(self.inspected, FileFindings) else self.inspected.found


class CountsReader(Protocol):
    """What tells of files of counts, which the audit's own readers read."""

    def see(self, name: str, path: Any) -> FileFindings:
        """What one file holds."""

    def refused(self, paths: Sequence[Any]) -> str:
        """What an audit of several says against them; empty for nothing."""


class ProposedAudit:
    """What to do with the files: an audit of all scores with the first file of every other kind."""

    def __init__(
        self,
        sources: Sequence[Source],
        columns: dict[str, str],
        format_: str | None,
        stem: Callable[[Any], str],
    ) -> None:
        self.stem = stem
        for source in sources:
            if isinstance(source.inspected, InspectedTrials) and source.inspected.recipe:
                columns = {**columns, **source.inspected.recipe}
                break
        self.columns = columns
        is_used = any(source.found.format == format_ for source in sources)
        self.format = format_ if is_used else None
        asked = encoding_asked()
        is_used = any((one.found.read or {}).get("encoding") == asked for one in sources)
        self.encoding = asked if is_used else ""
        self.of: dict[str, list[Source]] = {}
        for source in sources:
            if source.found.rows or source.found.kind in {"groups", "tally", "own"}:
                self.of.setdefault(source.found.kind, []).append(source)
        self.shared = list(self._shared())
        self.odd: dict[
            int, list[DataWarning]
        ] = {}  # what trials show as an audit reads them, by source
        self.whose = ""  # a pattern of ids that tells their speakers, where no file does

    @property
    def _tables(self) -> list[InspectedTable]:
        every = (source.inspected for several in self.of.values() for source in several)
        return [one for one in every if isinstance(one, InspectedTable)]

    def problems(self, counts: CountsReader) -> Iterator[str]:
        """What the audit's readers say against the files together."""
        several = [one.data for one in self.of.get("counts", []) if not one.found.problems]
        if len(several) > 1 and (problem := counts.refused(several)):
            yield problem
        files = [one.data for one in self.of.get("groups", []) if not one.found.problems]
        groups = read_groups_file(files[0]) if files else None
        is_checked = False
        for source in self.of.get("scores", []):
            one = source.found
            if isinstance(source.inspected, InspectedTrials) and one.whole and not one.problems:
                try:
                    trials = self._read(source, groups)
                    self.odd[id(source)] = odd_recordings(trials)
                    self._compare(trials)
                    is_checked = True
                    _make_groups(trials, groups)
                except ParivoxError as error:
                    yield str(error)
        if groups is not None and not is_checked:
            for text, recipe in groups.definitions.items():
                values = self._values(text)
                try:
                    if values:
                        recipe.refuse_empty_groups(values)
                except ConfigError as error:
                    yield str(error)

    def _values(self, text: str) -> list[str]:
        """Values of an attribute in the tables, if it is one whose values are taken as they are."""
        attribute = parse_attribute(text)
        if attribute.edges or attribute.side == "same":
            return []
        return [
            value
            for table in self._tables
            for column in table.columns
            if column.lower() == attribute.name.lower()
            for value in table.distinct(column)
        ]

    def _read(self, source: Source, groups: GroupsFile | None) -> TrialSet:
        """The trials of a source, as an audit reads them with the other files."""
        first = {kind: several[0].data for kind, several in self.of.items()}
        people = first.get("speakers", next(iter(self._of_kaldi()), None))
        names = [shared.name for shared in self.shared]
        if groups is not None:
            names += [*(groups.by or ()), *(groups.within or ())]
        return read_trials(
            source.data,
            system="",
            list_="",
            speakers=read_speakers(people) if people is not None else None,
            trials=first.get("trials"),
            utterances=first.get("utterances", self.whose or None),
            models=first.get("models"),
            failures=first.get("failures"),
            columns=self.columns or None,
            format=self.format if source.found.format == self.format else None,
            attributes=attributes_asked(names),
        )

    def _compare(self, trials: TrialSet) -> None:
        """Ask the audit whether attributes that stand in several files say the same."""
        assert trials.speaker_table is not None
        for place, shared in enumerate(self.shared):
            refused = ""
            try:
                make_groupings(trials.speaker_table, [shared.name], sets=[trials])
            except ConfigError as error:
                refused = str(error)
            self.shared[place] = replace(shared, refused=refused or shared.refused or "")

    def _shared(self) -> Iterator[SharedAttribute]:
        """Attributes that stand in the files of several levels."""
        places: dict[str, dict[str, tuple[str, str]]] = {}
        for kind, level in _LEVELS.items():
            for source in self.of.get(kind, []):
                for column in source.found.columns:
                    if not column.role:
                        place = column.name, self.of[kind][0].found.name
                        places.setdefault(column.name.lower(), {}).setdefault(level, place)
        for found in places.values():
            if len(found) > 1:
                names = [name for name, _ in found.values()]
                yield SharedAttribute(
                    names[0], {level: file for level, (_, file) in found.items()}, None
                )

    def next(self) -> tuple[str, list[DifferingAttribute]]:
        """The command to type next, empty where there is nothing to audit; and why so."""
        if "counts" in self.of and "scores" not in self.of:
            files = [*self._words("counts"), *self._words("tally")]
            return shlex.join(["parivox", "audit", *files]), []
        if "scores" not in self.of and (use := self._use()) is not None:
            return use, []
        groupings, because = self._groupings()
        words = ["parivox", "audit", *(self._scores() or ["SCORES"])]
        words += self._files(has_groups=bool(groupings) or "groups" in self.of)
        words += [word for name in groupings for word in ("--by", name)]
        return shlex.join([*words, *self._reading()]), because

    def _use(self) -> str | None:
        """The command that takes a file of Parivox's own, with the list of trials if it needs one.

        None where there is a list and nothing to score it with.
        """
        uses = [one.found.use for several in self.of.values() for one in several if one.found.use]
        if not (trials := self._words("trials")):
            return next(iter(uses), "")
        scoring = next((one for one in uses if " TRIALS " in one), None)
        return scoring and scoring.replace("TRIALS", shlex.quote(trials[0]))

    def _words(self, kind: str) -> list[str]:
        return [source.word for source in self.of.get(kind, [])]

    def _files(self, *, has_groups: bool) -> Iterator[str]:
        """Files beside the scores; in capitals those that are yet to be given."""
        for kind in _TABLES:
            if kind in self.of:
                yield from (f"--{kind}", self._words(kind)[0])
            elif kind == "speakers" and (folders := self._of_kaldi()):
                yield from ("--speakers", folders[0])
            elif kind == "speakers" and not has_groups:
                yield from ("--speakers", "PEOPLE")
            elif kind == "utterances" and self.whose:
                yield from ("--utterances", self.whose)
            elif kind == "utterances" and self._lacks_speakers():
                yield from ("--utterances", "RECORDINGS")

    def _of_kaldi(self) -> list[str]:
        """Kaldi's folders that tell of speakers, too: as --utterances they tell of these alone."""
        tables = self.of.get("utterances", [])
        return [
            one.word for one in tables if one.found.format == "kaldi" and tells_speakers(one.data)
        ]

    def _reading(self) -> Iterator[str]:
        """How the files are read."""
        if self.format is not None:
            yield from ("--scores-format", self.format)
        if self.encoding:
            yield from ("--encoding", self.encoding)
        if quotes_asked():
            yield from ("--quotes", quotes_asked())
        if self.columns:
            option = ",".join(f"{role}={column}" for role, column in self.columns.items())
            yield from ("--columns", option)
        files = [source.found for source in self.of.get("scores", [])]
        scores = [one.scores for one in files]
        if any(one is not None and one.auc is not None and one.auc < _CHANCE for one in scores):
            yield "--distance"
        yield from self._logarithms()

    def _logarithms(self) -> Iterator[str]:
        """What declares scores that are log likelihood ratios by the name of their column."""
        files = [source.found for source in self.of.get("scores", [])]
        known = [one.scores is not None and (one.scores.auc or 0.0) > _CHANCE for one in files]
        if not files or not all(known) or not all(map(is_llr, files)):
            return
        odd = [{odd.what for odd in one.odd} for one in files]
        if not any(NO_LLRS & of for of in odd):
            if not any(TO_BASE_10 in of for of in odd):
                yield "--llr"
            elif all(TO_BASE_10 in of for of in odd):
                yield from ("--llr-base", "10")

    def _scores(self) -> list[str]:
        """The score files; those that would be systems of one name with a name each."""
        files = self._words("scores")
        stems = [self.stem(file) for file in files]
        if len(set(stems)) == len(stems):
            return files
        folders = [Path(file).absolute().parent.name for file in files]
        are_names = all(re.fullmatch(r"[\w.-]+", folder) for folder in folders)
        numbered = [f"{stem}{n}" for n, stem in enumerate(stems, 1)]
        names = folders if are_names and len(set(folders)) == len(folders) else numbered
        return [f"{name}={file}" for name, file in zip(names, files, strict=True)]

    def _lacks_speakers(self) -> bool:
        """Whether no file tells whose the utterances are."""
        if {"speakers", "utterances", "models"} & set(self.of):
            return False
        sources = [*self.of.get("scores", []), *self.of.get("trials", [])]
        known = [one.found.whose for one in sources if isinstance(one.inspected, InspectedTrials)]
        return any(
            whose and (whose.wrong != 0 if whose.rule == "id" else (whose.wrong or 0) > _CHANCE)
            for whose in known
        )

    def _groupings(self) -> tuple[list[str], list[DifferingAttribute]]:
        """Some attributes to group by: of speakers, then of recordings, then of trials."""
        if any(source.found.by for source in self.of.get("groups", [])):
            return [], []  # the groups file says it
        differing = {}
        for source in self.of.get("scores", [])[:1]:
            if isinstance(source.inspected, InspectedTrials):
                differing = {
                    c.name: d for c, d in differing_attributes(source.inspected, self._tables)
                }
        refused = {one.name.lower() for one in self.shared if one.refused}
        names: dict[str, DifferingAttribute | None] = {}
        known: set[str] = set()
        for kind, level in _LEVELS.items():
            for column in (c for source in self.of.get(kind, []) for c in source.found.columns):
                if column.groups and column.name.lower() not in known:
                    known.add(column.name.lower())
                    by = f"{level}.{column.by}" if column.name.lower() in refused else column.by
                    one = differing.get(column.name) if level == "recording" else None
                    names[by if one is None else one.instead] = one
        chosen = list(names)[:_GROUPINGS]
        return chosen, [one for name in chosen if (one := names[name]) is not None]


def _make_groups(trials: TrialSet, groups: GroupsFile | None) -> None:
    """Ask the audit for what a groups file asks for."""
    assert trials.speaker_table is not None
    for option, by in (("--by", groups.by), ("--within", groups.within)) if groups else ():
        if by:
            make_groupings(trials.speaker_table, by, sets=[trials], file=groups, option=option)
