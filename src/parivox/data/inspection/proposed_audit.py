"""The audit that fits the files: what it would refuse, and the command for it."""

from __future__ import annotations

import re
import shlex
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from parivox.data.attributes import parse_attribute
from parivox.data.columns import plain_name
from parivox.data.groups_file import read_groups_file
from parivox.data.inspection.findings import FileFindings, SharedAttribute
from parivox.data.inspection.joins import as_read, differing_attributes
from parivox.data.inspection.tables import InspectedTable, with_kind
from parivox.data.inspection.trials import InspectedTrials, is_llr
from parivox.data.kaldi import has_speaker_files
from parivox.data.recording_names import recording_name_warnings
from parivox.data.recordings import read_utterances, speakers_of_utterances
from parivox.data.requested_groupings import make_groupings, parsed_attributes
from parivox.data.source_bytes import requested_encoding, requested_quotes
from parivox.data.speakers import read_speakers
from parivox.data.trial_values import UNKNOWN_WORD
from parivox.data.trials import read_trials
from parivox.data.value_warnings import BASE_10_LLRS, NOT_LLR_SUBJECTS
from parivox.errors import ConfigError, ParivoxError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from parivox.data.attributes import Attribute
    from parivox.data.groups_file import GroupsFile
    from parivox.data.inspection.findings import DifferingAttribute, InspectedColumn
    from parivox.data.inspection.named_source import NamedSource
    from parivox.data.inspection.searches import FullScoreList
    from parivox.data.speakers import Speakers
    from parivox.data.trial_set import TrialSet
    from parivox.data.value_warnings import DataWarning

_CHANCE_AUC = 0.5
_MAX_GROUPINGS = 2
"""Groupings of the proposed command."""
_ATTRIBUTE_OWNERS = {
    "speakers": "speaker",
    "utterances": "recording",
    "scores": "trial",
    "trials": "trial",
}
"""Files that may have attributes, and what these describe."""
_TABLE_OPTIONS = ("trials", "speakers", "utterances", "models", "failures", "groups")


class AuditChecks(Protocol):
    """Checks of an audit, which `parivox.auditing` supplies, as ``data`` cannot import it."""

    def inspect(self, name: str, path: Any) -> FileFindings:
        """Return the findings about one file of counts."""

    def refusal(self, paths: Sequence[Any]) -> str:
        """Return why an audit refuses several files of counts; empty if it accepts them."""

    def are_distances(self, trials: TrialSet) -> bool:
        """Return whether target trials score lower; refuse decisions that are the wrong way."""


class ProposedAudit:
    """The proposed audit: all scores, with the first file of every other kind.

    With a `full_list`, it is of identification: only lists that lack no pair, with its gallery.
    """

    def __init__(
        self,
        sources: Sequence[NamedSource],
        columns: dict[str, str],
        format_: str | None,
        system_name: Callable[[Any], str],
        full_list: FullScoreList | None = None,
    ) -> None:
        self.system_name = system_name
        self.full_list = full_list
        for source in sources:
            if isinstance(source.inspected, InspectedTrials) and source.inspected.recipe:
                columns = {**columns, **source.inspected.recipe}
                break
        self.columns = columns
        is_used = any(source.findings.format == format_ for source in sources)
        self.format = format_ if is_used else None
        encoding = requested_encoding()
        encodings = {(source.findings.read or {}).get("encoding") for source in sources}
        self.encoding = encoding if encoding in encodings else ""
        self.sources_by_kind: dict[str, list[NamedSource]] = {}
        for source in sources:
            if source.findings.rows or source.findings.kind in {"groups", "tally", "parivox"}:
                self.sources_by_kind.setdefault(source.findings.kind, []).append(source)
        self.shared = list(self._shared_attributes())
        # warnings that need the trials as an audit reads them, by the id of the source
        self.warnings_by_source: dict[int, list[DataWarning]] = {}
        # whether scores are distances, where an audit would tell, by the id of the source
        self.are_distances: dict[int, bool] = {}
        # patterns of ids that give their speakers, if no file does
        self.speaker_patterns: list[str] = []
        # once they are read, with the column of ids that the first trials show, as in an audit
        self.speakers: Speakers | None = None
        # trials of the first file of scores, if an audit accepts it
        self.trials: TrialSet | None = None

    @property
    def _tables(self) -> list[InspectedTable]:
        tables: list[InspectedTable] = []
        for sources in self.sources_by_kind.values():
            inspected = [source.inspected for source in sources]
            tables += [file for file in inspected if isinstance(file, InspectedTable)]
        return tables

    def _readable_paths(self, kind: str) -> list[Any]:
        """Return the files of a kind that have no problems."""
        sources = self.sources_by_kind.get(kind, [])
        return [source.data for source in sources if not source.findings.problems]

    def problems(self, audit_checks: AuditChecks) -> Iterator[str]:
        """Yield what the readers of the audit refuse about the files together."""
        count_paths = self._readable_paths("counts")
        if len(count_paths) > 1 and (problem := audit_checks.refusal(count_paths)):
            yield problem
        group_paths = self._readable_paths("groups")
        groups = read_groups_file(group_paths[0]) if group_paths else None
        yield from self._reading_problems(groups, audit_checks)
        if groups is not None and self.trials is None:
            for text, recipe in groups.definitions.items():
                cells = self._attribute_values(text)
                try:
                    if cells:
                        recipe.refuse_empty_groups(cells)
                except ConfigError as error:
                    yield str(error)

    def _reading_problems(
        self, groups: GroupsFile | None, audit_checks: AuditChecks
    ) -> Iterator[str]:
        """Read the trials as an audit does, and yield what it refuses."""
        for source in self.sources_by_kind.get("scores", []):
            inspected = source.inspected
            # of a file that is inspected in part, an audit would read all rows, which takes long
            if not isinstance(inspected, InspectedTrials) or not inspected.findings.whole:
                continue
            if UNKNOWN_WORD in self.columns.values():
                continue
            try:
                trials = self._read_trials(source, groups)
                source.inspected = as_read(inspected, trials)
                self._adopt_speaker_column(trials)
                self.warnings_by_source[id(source)] = recording_name_warnings(
                    trials.recording_names
                )
                self._check_shared(trials)
                self.trials = self.trials or trials
                _check_groupings(trials, groups)
                if "speakers" in self.sources_by_kind and not self._groupings(groups)[0]:
                    _check_groupings(trials, groups, needs_grouping=True)
                self.are_distances[id(source)] = audit_checks.are_distances(trials)
            except ParivoxError as error:
                yield str(error)

    def _attribute_values(self, text: str) -> list[str]:
        """Return the values of an attribute in the tables; none if bands or sides replace them."""
        attribute = parse_attribute(text)
        if attribute.edges or attribute.side == "same":
            return []
        cells: list[str] = []
        for table in self._tables:
            for column in table.columns:
                if column.lower() == attribute.name.lower():
                    cells += table.distinct(column).to_list()
        return cells

    def _read_trials(self, source: NamedSource, groups: GroupsFile | None) -> TrialSet:
        """Return the trials of a source, as an audit reads them with the other files."""
        first_path = {kind: sources[0].data for kind, sources in self.sources_by_kind.items()}
        kaldi_folders = self._kaldi_folders()
        speaker_source = first_path.get("speakers", kaldi_folders[0] if kaldi_folders else None)
        if speaker_source is not None and self.speakers is None:
            self.speakers = read_speakers(speaker_source)
        utterances = first_path.get("utterances", self.speaker_patterns or None)
        if self.speakers is None and utterances is not None:
            utterances = read_utterances(utterances)
            self.speakers = speakers_of_utterances(utterances, "error")
        names = [shared.name for shared in self.shared]
        names += [column.grouping for _, column in self._grouping_columns()]
        if groups is not None:
            names += [*(groups.by or ()), *(groups.within or ())]
        return read_trials(
            source.data,
            system="",
            list_="",
            speakers=self.speakers,
            trials=first_path.get("trials"),
            utterances=utterances,
            models=first_path.get("models"),
            failures=first_path.get("failures"),
            columns=self.columns or None,
            format=self.format if source.findings.format == self.format else None,
            attributes=[attribute for name in names for attribute in _attributes(name)],
            takes_spoof=True,
        )

    def _adopt_speaker_column(self, trials: TrialSet) -> None:
        """Note the column of speakers that an audit chose, and that it accepts the tables."""
        for kind in _TABLE_OPTIONS:
            source = self.sources_by_kind.get(kind, [None])[0]
            if source is None or not isinstance(source.inspected, InspectedTable):
                continue
            inspected = source.inspected
            if kind == "speakers" and trials.speaker_table is not None:
                (read_file,) = trials.speaker_table.provenance
                roles = {"speaker": read_file["columns"]["id"]}
                if inspected.roles != roles:
                    inspected = with_kind(inspected, kind, roles)
            if inspected is not source.inspected or inspected.findings.problems:
                findings = replace(inspected.findings, problems=())
                source.inspected = replace(inspected, findings=findings)

    def _check_shared(self, trials: TrialSet) -> None:
        """Note which shared attributes an audit refuses because the files disagree."""
        assert trials.speaker_table is not None
        for index, shared in enumerate(self.shared):
            refused = ""
            try:
                make_groupings(trials.speaker_table, [shared.name], sets=[trials])
            except ConfigError as error:
                refused = str(error)
            self.shared[index] = replace(shared, refused=refused or shared.refused or "")

    def _shared_attributes(self) -> Iterator[SharedAttribute]:
        """Yield attributes of several owners, such as speakers and recordings."""
        files_by_attribute: dict[str, dict[str, tuple[str, str]]] = {}
        for kind, owner in _ATTRIBUTE_OWNERS.items():
            for source in self.sources_by_kind.get(kind, [])[:1]:
                for column in source.findings.columns:
                    if column.role:
                        continue
                    column_and_file = column.name, source.findings.name
                    file_by_owner = files_by_attribute.setdefault(column.name.lower(), {})
                    file_by_owner.setdefault(owner, column_and_file)
        for file_by_owner in files_by_attribute.values():
            if len(file_by_owner) > 1:
                names = [name for name, _ in file_by_owner.values()]
                files = {owner: file for owner, (_, file) in file_by_owner.items()}
                yield SharedAttribute(names[0], files, refused=None)

    def next_command(self) -> tuple[str, list[DifferingAttribute]]:
        """Return the next command, empty if there is none, and its attributes of one side."""
        if "counts" in self.sources_by_kind and "scores" not in self.sources_by_kind:
            files = [*self._command_words("counts"), *self._command_words("tally")]
            return shlex.join(["parivox", "audit", *files]), []
        if (
            "scores" not in self.sources_by_kind
            and (command := self._parivox_command()) is not None
        ):
            return command, []
        groupings, differing = self._groupings()
        words = ["parivox", "audit", *(self._score_arguments() or ["SCORES"])]
        if self.full_list is not None:
            words += ["--gallery", self.full_list.gallery.word]
        words += self._file_options(has_groups=bool(groupings) or "groups" in self.sources_by_kind)
        for name in groupings:
            words += ["--by", name]
        words += self._reading_options()
        needs_pattern = self.full_list is not None and self.full_list.has_speakers_in_ids
        if needs_pattern and "--utterances" not in words:
            words += ["--utterances", "{speaker}/**"]
        return shlex.join(words), differing

    def _parivox_command(self) -> str | None:
        """Return the command for a file that Parivox wrote, with the trial list if it needs one.

        None if there is a list and nothing to score it with.
        """
        commands: list[str] = []
        for sources in self.sources_by_kind.values():
            commands += [source.findings.command for source in sources if source.findings.command]
        trial_lists = self._command_words("trials")
        if not trial_lists:
            return commands[0] if commands else ""
        for command in commands:
            if " TRIALS " in command:
                return command.replace("TRIALS", shlex.quote(trial_lists[0]))
        return None

    def _score_sources(self) -> list[NamedSource]:
        sources = self.sources_by_kind.get("scores", [])
        return sources if self.full_list is None else self.full_list.searchable(sources)

    def _command_words(self, kind: str) -> list[str]:
        return [source.word for source in self.sources_by_kind.get(kind, [])]

    def _file_options(self, *, has_groups: bool) -> Iterator[str]:
        """Yield the options that name files; files that are missing are words in capitals."""
        # an audit with a gallery searches all pairs, and takes no trial list
        kinds = _TABLE_OPTIONS if self.full_list is None else _TABLE_OPTIONS[1:]
        for kind in kinds:
            if kind in self.sources_by_kind:
                yield from (f"--{kind}", self._command_words(kind)[0])
            elif kind == "speakers" and (folders := self._kaldi_folders()):
                yield from ("--speakers", folders[0])
            elif kind == "speakers" and not has_groups:
                yield from ("--speakers", "PEOPLE")
            elif kind == "utterances" and self.speaker_patterns:
                for pattern in self.speaker_patterns:
                    yield from ("--utterances", pattern)
            elif kind == "utterances" and self._lacks_speakers():
                yield from ("--utterances", "RECORDINGS")

    def _kaldi_folders(self) -> list[str]:
        """Return Kaldi folders that also describe speakers, which need --speakers as well."""
        tables = self.sources_by_kind.get("utterances", [])
        return [
            source.word
            for source in tables
            if source.findings.format == "kaldi" and has_speaker_files(source.data)
        ]

    def _reading_options(self) -> Iterator[str]:
        """Yield the options of reading."""
        if self.format is not None:
            yield from ("--scores-format", self.format)
        if self.encoding:
            yield from ("--encoding", self.encoding)
        if requested_quotes():
            yield from ("--quotes", requested_quotes())
        if self.columns:
            option = ",".join(f"{role}={column}" for role, column in self.columns.items())
            yield from ("--columns", option)
        if any(map(self._has_distances, self.sources_by_kind.get("scores", []))):
            yield "--distance"
        yield from self._llr_options()

    def _has_distances(self, source: NamedSource) -> bool:
        """Whether target trials score lower: as an audit counts them, or else as inspected."""
        scores = source.findings.scores
        if scores is None:
            return False
        is_below_chance = scores.auc is not None and scores.auc < _CHANCE_AUC
        return self.are_distances.get(id(source), is_below_chance)

    def _llr_options(self) -> Iterator[str]:
        """Yield the option for log-likelihood ratios, if all score columns are named so."""
        if self.full_list is not None:  # identification has no use for them, and refuses it
            return
        files = [source.findings for source in self.sources_by_kind.get("scores", [])]
        are_similarities = [
            findings.scores is not None and (findings.scores.auc or 0.0) > _CHANCE_AUC
            for findings in files
        ]
        if not files or not all(are_similarities) or not all(map(is_llr, files)):
            return
        messages_by_file = [{warning.what for warning in findings.warnings} for findings in files]
        if not any(NOT_LLR_SUBJECTS & messages for messages in messages_by_file):
            if not any(BASE_10_LLRS in messages for messages in messages_by_file):
                yield "--llr"
            elif all(BASE_10_LLRS in messages for messages in messages_by_file):
                yield from ("--llr-base", "10")

    def _score_arguments(self) -> list[str]:
        """Return the score files; files that would be systems of one name get a name each."""
        files = [source.word for source in self._score_sources()]
        stems = [self.system_name(file) for file in files]
        if len(set(stems)) == len(stems):
            return files
        folders = [Path(file).absolute().parent.name for file in files]
        are_names = all(re.fullmatch(r"[\w.-]+", folder) for folder in folders)
        numbered = [f"{stem}{number}" for number, stem in enumerate(stems, 1)]
        names = folders if are_names and len(set(folders)) == len(folders) else numbered
        return [f"{name}={file}" for name, file in zip(names, files, strict=True)]

    def _lacks_speakers(self) -> bool:
        """Whether no file gives the speakers of utterances."""
        if {"speakers", "utterances", "models"} & set(self.sources_by_kind):
            return False
        sources = [*self.sources_by_kind.get("scores", []), *self.sources_by_kind.get("trials", [])]
        for source in sources:
            rule = source.findings.speaker_rule
            if not isinstance(source.inspected, InspectedTrials) or rule is None:
                continue
            # the guess that the id itself is the speaker needs labels that confirm it; a column or
            # the first part of an id is believed unless most labels contradict
            contradicted = rule.conflict_share or 0.0
            if (rule.rule == "id" and rule.conflict_share != 0) or contradicted > _CHANCE_AUC:
                return True
        return False

    def _grouping_columns(self) -> Iterator[tuple[str, InspectedColumn]]:
        """Yield columns to group by with their owner: of speakers, recordings, then trials."""
        used_names: set[str] = set()
        for kind, owner in _ATTRIBUTE_OWNERS.items():
            for source in self.sources_by_kind.get(kind, [])[:1]:
                for column in source.findings.columns:
                    # almost as many values as recordings, as texts that were read have
                    is_name = owner == "recording" and not column.bands
                    is_name &= 2 * (column.values or 0) > source.findings.rows
                    is_usable = column.groups and not is_name and bool(plain_name(column.name))
                    if is_usable and column.name.lower() not in used_names:
                        used_names.add(column.name.lower())
                        yield owner, column

    def _groupings(
        self, groups: GroupsFile | None = None
    ) -> tuple[list[str], list[DifferingAttribute]]:
        """Return groupings that an audit accepts, and those of them that are of one side."""
        if any(source.findings.groupings for source in self.sources_by_kind.get("groups", [])):
            return [], []  # the groups file has the groupings
        differing = {}
        for source in self.sources_by_kind.get("scores", [])[:1]:
            if isinstance(source.inspected, InspectedTrials):
                differing = {
                    column.name: attribute
                    for column, attribute in differing_attributes(source.inspected, self._tables)
                }
        refused = {shared.name.lower() for shared in self.shared if shared.refused}
        differing_by_grouping: dict[str, DifferingAttribute | None] = {}
        for owner, column in self._grouping_columns():
            is_ambiguous = column.name.lower() in refused
            grouping = f"{owner}.{column.grouping}" if is_ambiguous else column.grouping
            attribute = differing.get(column.name) if owner == "recording" else None
            if attribute is not None:  # one side, since most trials would be in no group
                grouping = attribute.instead
            if self._is_accepted(grouping, groups):
                differing_by_grouping[grouping] = attribute
        groupings = list(differing_by_grouping)[:_MAX_GROUPINGS]
        used_differing = [differing_by_grouping[grouping] for grouping in groupings]
        return groupings, [attribute for attribute in used_differing if attribute is not None]

    def _is_accepted(self, grouping: str, groups: GroupsFile | None) -> bool:
        """Whether an audit makes groups of it, as far as the trials are read."""
        if self.trials is None or self.trials.speaker_table is None:
            return bool(_attributes(grouping))
        with suppress(ParivoxError):
            (made_grouping,) = make_groupings(
                self.trials.speaker_table, [grouping], sets=[self.trials], file=groups
            )
            return len(made_grouping.groups) > 1
        return False


def _attributes(name: str) -> list[Attribute]:
    """Return the attributes of a column; none if its name is no notation of ``--by``."""
    with suppress(ConfigError):
        return parsed_attributes([name])
    return []


def _check_groupings(
    trials: TrialSet, groups: GroupsFile | None, *, needs_grouping: bool = False
) -> None:
    """Make the groupings that a groups file requests, or those by default, as an audit does."""
    assert trials.speaker_table is not None
    if needs_grouping and not (groups and groups.by):
        make_groupings(trials.speaker_table, None, sets=[trials], file=groups)
    if groups is None:
        return
    for option, attributes in (("--by", groups.by), ("--within", groups.within)):
        if attributes:
            make_groupings(
                trials.speaker_table, attributes, sets=[trials], file=groups, option=option
            )
