"""What an audit or a count is of: sources by name, read, joined and grouped, or files of counts."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeVar

from parivox.core.counts import SPOOF
from parivox.data.columns import ALIASES, plain_name
from parivox.data.counts_file import holds_counts, holds_speaker_counts, is_cut_off
from parivox.data.formats import are_paths
from parivox.data.lists.grades import with_grades
from parivox.data.lists.manifest import ManifestDesign
from parivox.data.recordings import (
    read_failures,
    read_models,
    read_utterances,
    speakers_of_utterances,
)
from parivox.data.requested_groupings import (
    DEFAULT_GROUPINGS,
    make_groupings,
    parsed_attributes,
    requested_values,
)
from parivox.data.source_bytes import file_stem
from parivox.data.speakers import read_speakers
from parivox.data.trial_set import n_trials_in_common, with_common_speakers
from parivox.data.trials import read_trials
from parivox.errors import ConfigError, DataError, utf8_text
from parivox.frozen import frozen
from parivox.options.audit import INPUT_SECTION, READING_SECTION, AuditOptions
from parivox.options.kinds import option_fields
from parivox.runtime.progress import stage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parivox.auditing.cascade import Countermeasure
    from parivox.auditing.counts.trial_counts import TrialCounts
    from parivox.auditing.draws import SpeakerDraws
    from parivox.auditing.estimates import Metrics
    from parivox.auditing.options import Options
    from parivox.data.attributes import Attribute
    from parivox.data.counts_file import NamedFiles
    from parivox.data.grouping import Grouping
    from parivox.data.groups_file import GroupsFile
    from parivox.data.rule_file import RuleFile
    from parivox.data.speaker_counts import SpeakerCounts
    from parivox.data.speakers import Speakers
    from parivox.data.trial_set import TrialSet
    from parivox.options.audit import ReadOptions

_SPEAKER_OPTIONS = ("speakers", "id", "conflicts", "encoding", "quotes")
"""Options about speakers, which may go with speaker counts."""
_MIN_DISJOINT_FILES = 3
"""Unnamed files of disjoint trials that are more likely parts of a list than systems."""
_TRIAL_COLUMN_NAMES = frozenset().union(*ALIASES.values())
OptionsType = TypeVar("OptionsType", bound="ReadOptions")


def split_name(name: object) -> tuple[str, str]:
    """Split ``system@list``; the list is empty unless named. A pair stands as it is."""
    pair = name if isinstance(name, tuple) else str(name).partition("@")[::2]
    if len(pair) != 2:
        msg = f"scores: {name!r} is not a name"
        hint = "name scores by system and list, for example ('V2', 'H')"
        raise ConfigError(msg, hint)
    system, list_ = pair
    return utf8_text(str(system)), utf8_text(str(list_))


class FilesByStem(dict[tuple[str, str], Any]):
    """Score files that nobody named, by their own names: each is taken for a system."""


def check_trials_shared(scores: Any, trial_sets: Sequence[TrialSet]) -> None:
    """Refuse three or more unnamed files of which no two share a trial: they may be one list."""
    if not isinstance(scores, FilesByStem) or len(trial_sets) < _MIN_DISJOINT_FILES:
        return
    if not all(trials.is_exact for trials in trial_sets):
        return
    if any(n_trials_in_common(*pair) for pair in combinations(trial_sets, 2)):
        return
    files = [str(source) for source in scores.values()]
    one_list = " ".join(shlex.quote(f"S={file}") for file in files)
    several = " ".join(shlex.quote(f"{system}={file}") for (system, _), file in scores.items())
    msg = (
        f"{', '.join(files)}: these files have no trials in common, so they may be parts of one "
        "list"
    )
    hint = f"give {one_list} for parts of one list, or {several} for systems on separate lists"
    raise ConfigError(msg, hint)


def sources_by_name(scores: Any) -> dict[tuple[str, str], Any]:
    """Score sources by system and list."""
    if isinstance(scores, (list, tuple)) and not scores:
        msg = "scores: the list is empty"
        hint = "name at least one file"
        raise ConfigError(msg, hint)
    if isinstance(scores, Mapping) and all(map(_is_named, scores.items())):
        sources = {split_name(name): source for name, source in scores.items()}
        if len(sources) < len(scores) or not sources:
            msg = f"scores: the names contain a system and list twice, or are empty: {list(scores)}"
            raise ConfigError(msg)
        if not all(system for system, _ in sources):
            msg = "scores: a system has no name"
            hint = "name each one, for example V2=v2.csv or V2@H=v2.csv"
            raise ConfigError(msg, hint)
        return sources
    return {(file_stem(scores), ""): scores}


def _is_named(named_source: tuple[object, object]) -> bool:
    """Return whether a name stands for trials: names of columns stand for columns.

    A pair of system and list is no column, though the system may be called as one is: scores.
    """
    name, source = named_source
    is_column = not isinstance(name, tuple) and plain_name(str(name)) in _TRIAL_COLUMN_NAMES
    return _is_source(source) or (are_paths(source) and not is_column)


def _is_source(source: object) -> bool:
    """Return whether this is trials by itself: a path or table, not a mere column."""
    # First of all, because asking a LazyFrame for its columns would resolve its whole plan
    if isinstance(source, (str, os.PathLike, Mapping)) or hasattr(source, "collect_schema"):
        return True
    if hasattr(source, "columns") or getattr(getattr(source, "dtype", None), "names", None):
        return True
    # one column of a dataframe has a type, a table of columns has none
    is_column = hasattr(source, "dtype") or hasattr(source, "type")
    return hasattr(source, "__arrow_c_stream__") and not is_column


def named_counts_files(scores: Any) -> NamedFiles | None:
    """Return files of counts with the names that the user gives them; None if there are none.

    Raises
    ------
    ConfigError
        If some sources are files of counts and others are not.
    """
    named_sources: list[tuple[tuple[str, str] | None, Any]] = []
    if isinstance(scores, Mapping):
        sources_by_key = [
            paths if isinstance(paths, (list, tuple)) else [paths] for paths in scores.values()
        ]
        if not all(_is_source(source) for sources in sources_by_key for source in sources[:1]):
            return None  # columns of trials, whose cells are no names of files
        for name, sources in zip(scores, sources_by_key, strict=True):
            system_and_list = split_name(name) if name else None
            named_sources += [(system_and_list, source) for source in sources]
    else:
        sources = scores if isinstance(scores, (list, tuple)) else [scores]
        named_sources = [(None, source) for source in sources]
    counts_files: list[Any] = []
    other_sources: list[Any] = []
    for _, source in named_sources:
        is_counts_file = holds_counts(source) or holds_speaker_counts(source)
        (counts_files if is_counts_file else other_sources).append(source)
    if not counts_files:
        return None
    if other_sources:
        is_file = isinstance(other_sources[0], (str, os.PathLike))
        other_name = utf8_text(str(other_sources[0])) if is_file else "another source"
        if is_file and os.path.isfile(other_sources[0]) and is_cut_off(other_sources[0]):  # noqa: PTH113 - any text
            msg = f"{other_name}: is truncated"
            hint = "copy or create the file again"
            raise DataError(msg, hint)
        msg = f"{os.fspath(counts_files[0])}: contains counts, but {other_name} does not"
        hint = "count the trials of the other source with parivox count first"
        raise ConfigError(msg, hint)
    return named_sources


def development_sources(
    threshold_from: Any, sources: Mapping[tuple[str, str], Any]
) -> dict[tuple[str, str], Any]:
    """Return the development scores of each system, if there are any."""
    if threshold_from is None:
        return {}
    if isinstance(threshold_from, Mapping) and all(map(_is_source, threshold_from.values())):
        sources_by_system = {split_name(name)[0]: source for name, source in threshold_from.items()}
        systems = {system for system, _ in sources}
        if set(sources_by_system) != systems:
            source_names, system_names = (
                ", ".join(map(repr, sorted(names))) for names in (sources_by_system, systems)
            )
            msg = (
                f"--threshold-from has scores of {source_names}, but the audited systems are "
                f"{system_names}"
            )
            hint = "give one development file for each system, for example V2=dev.csv"
            raise ConfigError(msg, hint)
        return {key: sources_by_system[key[0]] for key in sources}
    if len({system for system, _ in sources}) > 1:
        msg = "--threshold-from: several systems are audited"
        hint = "name the development file of each system, for example V2=dev.csv"
        raise ConfigError(msg, hint)
    return dict.fromkeys(sources, threshold_from)


@frozen
class GroupedTrials:
    """Trials, or counts of them, with what they are grouped by."""

    trial_sets: Sequence[TrialSet] | Sequence[TrialCounts]  # one for each system and list
    groupings: Sequence[Grouping]
    within: Sequence[Grouping]
    chosen_by: str  # who chose the groupings
    speakers: Speakers | None = None  # None for counts alone, which hold no ids
    reading_options: dict[str, Any] = field(default_factory=dict)  # how development scores are read
    standardise_over: Sequence[Grouping] = ()  # what rates are standardised over
    list_design: ManifestDesign | None = None  # what that of the trial list fixed, if it was built

    @property
    def only_list(self) -> TrialSet:
        """The only list, of trials and not of counts."""
        (trials,) = self.trial_sets
        assert trials.identified is not None
        return trials.identified

    @staticmethod
    def names(groupings: Sequence[Grouping]) -> tuple[str, ...]:
        """Return what the groupings are called."""
        return tuple(grouping.name for grouping in groupings)

    @property
    def is_llr(self) -> bool:
        """Whether counts say that their scores are log-likelihood ratios."""
        return all(trials.is_llr for trials in self.trial_sets)

    def llr_base(self, options: AuditOptions) -> int | None:
        """Return the base of the log-likelihood ratios, from counts or the user; None for e.

        Raises
        ------
        ConfigError
            If they do not tell the same.
        """
        names_by_base = {
            trials.llr_base: trials.name for trials in self.trial_sets if trials.is_llr
        }
        if options.llr or options.llr_base is not None:
            names_by_base.setdefault(options.llr_base, "the command")
        if len(names_by_base) > 1:
            words = [
                f"{'natural' if base is None else f'base {base}'} by {name}"
                for base, name in names_by_base.items()
            ]
            msg = f"--llr-base: the logarithms have different bases: {' and '.join(words)}"
            hint = "count all scores with the same base"
            raise ConfigError(msg, hint)
        return next(iter(names_by_base), None)


@dataclass(frozen=True, kw_only=True, eq=False)
class AuditDesign:
    """What every system of an audit is measured by."""

    groupings: Sequence[Grouping]  # the primary one first
    options: Options
    metrics: Metrics  # the user's own, by name
    # groupings within whose strata all is measured again, at the same thresholds
    within: Sequence[Grouping] = ()
    standardise_over: Sequence[Grouping] = ()  # what rates are standardised over
    draws: SpeakerDraws | None = None  # the speakers drawn for replicates; None for no replicates
    primary_point: str = ""  # the operating point named to be primary; none: each system's first


def apply_groups_file(options: OptionsType) -> tuple[OptionsType, GroupsFile | None]:
    """Return the options, with what the groups file says where nothing is given, and the file."""
    if options.groups is None:
        return options, None
    from parivox.data.groups_file import read_groups_file  # noqa: PLC0415 - where one is given

    file = read_groups_file(options.groups)
    # Not every command repeats its measures within strata, and so has a `within`.
    names = option_fields(type(options)).keys() & {"by", "within"}
    file_options = {name: getattr(file, name) for name in names if getattr(options, name) is None}
    return replace(options, **file_options), file


def requested_attributes(options: ReadOptions, standardise: Sequence[str] = ()) -> list[Attribute]:
    """Return the attributes that trials are grouped, standardised or chosen by."""
    return [
        *parsed_attributes(options.by or ()),
        *parsed_attributes(options.within or (), "--within"),
        *parsed_attributes(standardise, "--standardise"),
        *parsed_attributes(requested_values(options.only), "--only"),
    ]


def _check_attack_grouping(options: ReadOptions) -> None:
    """Refuse groups by attack, which target and nontarget trials do not have."""
    for option, names in (("--by", options.by), ("--within", options.within)):
        if any(attribute.name == "attack" for attribute in parsed_attributes(names or (), option)):
            msg = f"{option} attack: only spoof trials have an attack"
            hint = "leave out attack: spoof accepts by attack and group are in attacks.csv"
            raise ConfigError(msg, hint)


def read_grouped_trials(
    sources: Mapping[tuple[str, str], Any],
    options: ReadOptions,
    groups_file: GroupsFile | None,
    *,
    standardise: tuple[str, ...] = (),
    rules: RuleFile | None = None,
    countermeasure: Countermeasure | None = None,
    may_lack: bool = False,
    takes_spoof: bool = False,
) -> GroupedTrials:
    """Read every file, join them, and group the trials.

    Rates are standardised over the strata of the attributes `standardise`; `rules` decide trials
    that tell no decision, a `countermeasure` decides before the scores do. What was asked for
    `may_lack` values for every trial where others are to come. Spoof trials are an error, except
    with `takes_spoof`.
    """
    speakers = None
    if options.speakers is not None:
        with stage("reading the speakers"):
            speakers = read_speakers(options.speakers, id=options.id, conflicts=options.conflicts)
    utterances = None if options.utterances is None else read_utterances(options.utterances)
    if speakers is None and utterances is not None:
        speakers = speakers_of_utterances(utterances, options.conflicts)
    reading_options: dict[str, Any] = {
        "utterances": utterances,
        "format": options.scores_format,
        "columns": options.columns,
        "orientation": options.orientation,
        "conflicts": options.conflicts,
        "takes_spoof": takes_spoof,
    }
    models = None if options.models is None else read_models(options.models)
    failures = None if options.failures is None else read_failures(options.failures)
    attributes = requested_attributes(options, standardise)
    attributes += () if rules is None else parsed_attributes([rules.by], "by")
    trial_sets = []
    for (system, list_), source in sources.items():
        list_suffix = f"@{list_}" if list_ else ""
        with stage(f"reading {system or 'the scores'}{list_suffix}"):
            trial_sets.append(
                read_trials(
                    source,
                    system=system,
                    list_=list_,
                    speakers=speakers,
                    trials=options.trials,
                    models=models,
                    failures=failures,
                    attributes=attributes,
                    **reading_options,
                )
            )
    if any(trials.n_spoof for trials in trial_sets):
        _check_attack_grouping(options)
    speakers, trial_sets = with_common_speakers(speakers, trial_sets)
    if any(attribute.name == "grade" for attribute in attributes):
        trial_sets = [with_grades(trials, speakers) for trials in trial_sets]
    if chosen_values := requested_values(options.only):
        chosen_groupings = make_groupings(
            speakers, [*chosen_values], sets=trial_sets, file=groups_file, option="--only"
        )
        trial_sets = [trials.with_values(chosen_values, chosen_groupings) for trials in trial_sets]
    if rules is not None:
        rule_grouping = rules.grouping(speakers, trial_sets, file=groups_file)
        trial_sets = [rules.decide(trials, rule_grouping) for trials in trial_sets]
    shared_arguments: dict[str, Any] = {
        "sets": trial_sets,
        "file": groups_file,
        "may_lack": may_lack,
    }
    if countermeasure is not None:
        trial_sets = [countermeasure.decide(trials) for trials in trial_sets]
        shared_arguments["sets"] = trial_sets
    groupings = make_groupings(speakers, options.by, **shared_arguments)
    within = make_groupings(speakers, options.within or (), **shared_arguments, option="--within")
    standardise_over = make_groupings(
        speakers, standardise, **shared_arguments, option="--standardise"
    )
    chosen_by = "user" if options.by else DEFAULT_GROUPINGS
    list_design = ManifestDesign.for_list_file(options.trials)
    return GroupedTrials(
        trial_sets,
        groupings,
        within,
        chosen_by,
        speakers,
        reading_options,
        standardise_over,
        list_design,
    )


def read_one_system(
    scores: Any, options: ReadOptions, reason: str, *, may_lack: bool = False, **other_scores: Any
) -> GroupedTrials:
    """Read one system, and group its trials by one grouping of its speakers.

    `other_scores` are further scores of it by name, and `reason` says why counts will not do.
    """
    options, groups_file = apply_groups_file(options)
    if named_counts_files(scores) is not None:
        msg = f"score counts contain no speakers, {reason}"
        raise ConfigError(msg)
    sources = sources_by_name(scores)
    if len(sources) > 1:
        msg = f"one system is expected, but {len(sources)} are given"
        hint = "give one file"
        raise ConfigError(msg, hint)
    if options.by is None or len(options.by) != 1:
        n_groupings = "no grouping" if options.by is None else f"{len(options.by)} groupings"
        msg = f"--by names {n_groupings}"
        hint = "name one, for example --by gender or --by gender+nationality"
        raise ConfigError(msg, hint)
    sources |= {(name, ""): source for name, source in other_scores.items() if source is not None}
    return read_grouped_trials(sources, options, groups_file, may_lack=may_lack)


def read_grouped_counts(named_files: NamedFiles, options: AuditOptions) -> GroupedTrials:
    """Read files of counts, whose groups are in them, and add up those of one system."""
    from parivox.auditing.counts.merging import read_counts_files  # noqa: PLC0415 - for files of counts only

    speaker_options = (
        _SPEAKER_OPTIONS if any(holds_speaker_counts(path) for _, path in named_files) else ()
    )
    for name, option_field in option_fields(AuditOptions).items():
        needs_rows = (
            option_field.section in {INPUT_SECTION, READING_SECTION} and name not in speaker_options
        ) or name == "standardise"
        if needs_rows and name != "orientation" and option_field.is_given(getattr(options, name)):
            msg = (
                f"{option_field.flag}: cannot be used with counts, which already contain groups "
                "but no ids"
            )
            hint = "leave it out, or give it to parivox count"
            raise ConfigError(msg, hint)
    if options.orientation == "distance":
        msg = "--distance: cannot be used with counts"
        hint = "give it to parivox count"
        raise ConfigError(msg, hint)
    with stage("reading the counts"):
        trial_sets = read_counts_files(named_files)
    first_counts = trial_sets[0]
    # those of development scores
    takes_spoof = any(counts.n_classes > SPOOF for counts in trial_sets)
    reading_options = {"orientation": None, "conflicts": "error", "takes_spoof": takes_spoof}
    if options.speakers is None:
        return GroupedTrials(
            trial_sets,
            first_counts.groupings,
            first_counts.within,
            first_counts.chosen_by,
            None,
            reading_options,
        )
    speakers = read_speakers(options.speakers, id=options.id, conflicts=options.conflicts)
    for counts in trial_sets:
        if counts.speaker_counts is not None and counts.speaker_counts.sites:
            msg = (
                f"--speakers: the speaker counts of {counts.name} contain pseudonyms, which match "
                "no speaker table"
            )
            hint = "leave it out"
            raise ConfigError(msg, hint)
        if (
            counts.speaker_counts is not None
            and counts.speaker_counts.speakers_sha256 != speakers.content_sha256
        ):
            msg = (
                f"--speakers: the speaker counts of {counts.name} were made with a table other "
                f"than {speakers.name}"
            )
            hint = "give the original table, or leave out --speakers"
            raise ConfigError(msg, hint)
    groupings = [
        _with_table_attributes(grouping, speakers, first_counts.speaker_counts)
        for grouping in first_counts.groupings
    ]
    return GroupedTrials(
        trial_sets,
        groupings,
        first_counts.within,
        first_counts.chosen_by,
        speakers,
        reading_options,
    )


def _with_table_attributes(
    grouping: Grouping, speakers: Speakers, speaker_counts: SpeakerCounts | None
) -> Grouping:
    """The same groups with what the table of speakers tells of them besides, if it has them."""
    people = None if speaker_counts is None else speaker_counts.people
    if grouping.speaker_codes is None or people is None:
        return grouping
    (from_table,) = make_groupings(
        speakers, [grouping.name], speakers_in_use=people.speakers_in_use
    )
    return from_table if from_table.groups == grouping.groups else grouping
