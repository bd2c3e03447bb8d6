"""What an audit or a count is of: sources by name, read, joined and grouped, or files of counts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from parivox.data.columns import ALIASES, plain
from parivox.data.counts_file import holds_counts, holds_tally, is_cut_off
from parivox.data.formats import are_paths
from parivox.data.recordings import read_failures, read_models, read_utterances
from parivox.data.requested_groupings import attributes_asked, make_groupings, values_asked
from parivox.data.source_bytes import stem_of
from parivox.data.speakers import read_speakers
from parivox.data.trial_set import with_common_speakers
from parivox.data.trials import read_trials
from parivox.errors import ConfigError, DataError, utf8_text
from parivox.frozen import frozen
from parivox.options.audit import INPUT_SECTION, READING_SECTION, AuditOptions
from parivox.options.kinds import option_fields
from parivox.runtime.progress import stage
from parivox.trials.grades import with_grades
from parivox.trials.manifest import ListDesign

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from parivox.auditing.counts.trial_counts import TrialCounts
    from parivox.auditing.draws import SpeakerDraws
    from parivox.auditing.estimates import Metrics
    from parivox.auditing.options import Options
    from parivox.auditing.speaker_counts import SpeakerCounts
    from parivox.data.attributes import Attribute
    from parivox.data.counts_file import NamedFiles
    from parivox.data.grouping import Grouping
    from parivox.data.groups_file import GroupsFile
    from parivox.data.rule_file import RuleFile
    from parivox.data.speakers import Speakers
    from parivox.data.trial_set import TrialSet
    from parivox.options.audit import ReadOptions

_OF_SPEAKERS = ("speakers", "id", "conflicts", "encoding", "quotes")
"""Options that tell of speakers, whom a tally knows."""
_OF_COLUMNS = frozenset().union(*ALIASES.values())
Asked = TypeVar("Asked", bound="ReadOptions")


def split_name(name: object) -> tuple[str, str]:
    """Split ``system@list``; the list is empty unless named. A pair stands as it is."""
    pair = name if isinstance(name, tuple) else str(name).partition("@")[::2]
    if len(pair) != 2:
        msg = f"scores are named by {name!r}; name them by system and list, as in ('V2', 'H')"
        raise ConfigError(msg)
    system, list_ = pair
    return utf8_text(str(system)), utf8_text(str(list_))


def sources_by_name(scores: Any) -> dict[tuple[str, str], Any]:
    """Score sources by system and list."""
    if isinstance(scores, (list, tuple)) and not scores:
        msg = "scores: are an empty list; name at least one file"
        raise ConfigError(msg)
    if isinstance(scores, Mapping) and all(map(_is_named, scores.items())):
        named = {split_name(name): source for name, source in scores.items()}
        if len(named) < len(scores) or not named:
            msg = f"scores name the same system and list twice, or none: {list(scores)}"
            raise ConfigError(msg)
        if not all(system for system, _ in named):
            msg = "scores: a system has no name; name each one, as in V2=v2.csv or V2@H=v2.csv"
            raise ConfigError(msg)
        return named
    return {(stem_of(scores), ""): scores}


def _is_named(one: tuple[object, object]) -> bool:
    """Whether a name stands for trials, not for a column: several files have none of its names.

    A pair of system and list is no column, though the system may be called as one is: scores.
    """
    name, value = one
    is_column = not isinstance(name, tuple) and plain(str(name)) in _OF_COLUMNS
    return _is_source(value) or (are_paths(value) and not is_column)


def _is_source(value: object) -> bool:
    """Whether this is trials by itself: a path or table, not a mere column."""
    # first of all, because asking a LazyFrame for its columns would resolve its whole plan
    if isinstance(value, (str, os.PathLike, Mapping)) or hasattr(value, "collect_schema"):
        return True
    if hasattr(value, "columns"):
        return True
    return hasattr(value, "__arrow_c_stream__") and hasattr(value, "schema")


def named_counts_files(scores: Any) -> NamedFiles | None:
    """Files of counts with the names that the user gives them; None where there are none.

    Raises
    ------
    ConfigError
        If some sources are files of counts and others are not.
    """
    named: list[tuple[tuple[str, str] | None, Any]] = []
    if isinstance(scores, Mapping):
        sources = [one if isinstance(one, (list, tuple)) else [one] for one in scores.values()]
        if not all(_is_source(one) for several in sources for one in several[:1]):
            return None  # columns of trials, whose cells are no names of files
        for name, several in zip(scores, sources, strict=True):
            of = split_name(name) if name else None
            named += [(of, one) for one in several]
    else:
        several = scores if isinstance(scores, (list, tuple)) else [scores]
        named = [(None, one) for one in several]
    counts: list[Any] = []
    others: list[Any] = []
    for _, source in named:
        (counts if holds_counts(source) or holds_tally(source) else others).append(source)
    if not counts:
        return None
    if others:
        is_file = isinstance(others[0], (str, os.PathLike))
        other = utf8_text(str(others[0])) if is_file else "another source"
        if is_file and os.path.isfile(others[0]) and is_cut_off(others[0]):  # noqa: PTH113 - any text
            msg = f"{other}: is cut off; copy it again, or make it again"
            raise DataError(msg)
        msg = (
            f"{os.fspath(counts[0])}: holds counts, but {other} does not; count that first with "
            "parivox count"
        )
        raise ConfigError(msg)
    return named


def development_sources(
    threshold_from: Any, sources: Mapping[tuple[str, str], Any]
) -> dict[tuple[str, str], Any]:
    """Development scores of each system, if there are any."""
    if threshold_from is None:
        return {}
    if isinstance(threshold_from, Mapping) and all(_is_source(v) for v in threshold_from.values()):
        of_system = {split_name(name)[0]: source for name, source in threshold_from.items()}
        systems = {system for system, _ in sources}
        if set(of_system) != systems:
            msg = (
                f"--threshold-from names {sorted(of_system)} but the scores are of "
                f"{sorted(systems)}; give one development file for each system, as in V2=dev.csv"
            )
            raise ConfigError(msg)
        return {key: of_system[key[0]] for key in sources}
    if len({system for system, _ in sources}) > 1:
        msg = (
            "--threshold-from: several systems are audited; name each one's file, as in V2=dev.csv"
        )
        raise ConfigError(msg)
    return dict.fromkeys(sources, threshold_from)


@frozen
class GroupedTrials:
    """Trials, or counts of them, with what they are grouped by."""

    trial_sets: Sequence[TrialSet] | Sequence[TrialCounts]  # one for each system and list
    groupings: Sequence[Grouping]
    within: Sequence[Grouping]
    chosen_by: str  # who chose the groupings
    speakers: Speakers | None = None  # none for counts, which know no one
    reading_options: dict[str, Any] = field(default_factory=dict)  # how development scores are read
    standardise_over: Sequence[Grouping] = ()  # what rates are standardised over
    list_design: ListDesign | None = None  # what that of the trial list fixed, if it was built
    # of the only set: its counts with their tally, as the counts and tallies of parts add up to
    merged_counts: TrialCounts | None = None

    @staticmethod
    def names(groupings: Sequence[Grouping]) -> tuple[str, ...]:
        """What the groupings are called."""
        return tuple(one.name for one in groupings)

    @property
    def is_llr(self) -> bool:
        """Whether counts say that their scores are log-likelihood ratios."""
        return all(one.is_llr for one in self.trial_sets)

    def llr_base(self, asked: AuditOptions) -> int | None:
        """The base of the log-likelihood ratios, which counts tell or the user; None for natural.

        Raises
        ------
        ConfigError
            If they do not tell the same.
        """
        told = {one.llr_base: one.name for one in self.trial_sets if one.is_llr}
        if asked.llr or asked.llr_base is not None:
            told.setdefault(asked.llr_base, "the command")
        if len(told) > 1:
            words = [
                f"{'natural' if base is None else f'base {base}'} by {name}"
                for base, name in told.items()
            ]
            msg = (
                f"--llr-base: logarithms are {' and '.join(words)}; count all scores with the "
                "same base"
            )
            raise ConfigError(msg)
        return next(iter(told), None)


@dataclass(frozen=True, kw_only=True, eq=False)
class Design:
    """What every system of an audit is measured by."""

    groupings: Sequence[Grouping]  # the primary one first
    options: Options
    metrics: Metrics  # the user's own, by name
    # groupings within whose levels all is measured again, at the same thresholds
    within: Sequence[Grouping] = ()
    standardise_over: Sequence[Grouping] = ()  # what rates are standardised over
    # the block that stands for each speaker in all that is said of chance; None where each stands
    # for itself
    speaker_block: NDArray[np.int32] | None = None
    draws: SpeakerDraws | None = None  # the speakers drawn for replicates; None for no replicates
    primary_point: str = ""  # the operating point named to be primary; none: each system's first


def apply_groups_file(asked: Asked) -> tuple[Asked, GroupsFile | None]:
    """The groups file, and the options with what it says where nothing is given."""
    if asked.groups is None:
        return asked, None
    from parivox.data.groups_file import read_groups_file  # noqa: PLC0415 - where one is given

    file = read_groups_file(asked.groups)
    known = option_fields(type(asked)).keys() & {"by", "within"}  # not all repeat within levels
    said = {name: getattr(file, name) for name in known if getattr(asked, name) is None}
    return replace(asked, **said), file


def requested_attributes(asked: ReadOptions, standardise: Sequence[str] = ()) -> list[Attribute]:
    """Attributes that trials are grouped, standardised or chosen by."""
    return [
        *attributes_asked(asked.by or ()),
        *attributes_asked(asked.within or (), "--within"),
        *attributes_asked(standardise, "--standardise"),
        *attributes_asked(values_asked(asked.only), "--only"),
    ]


def read_grouped_trials(
    sources: Mapping[tuple[str, str], Any],
    asked: ReadOptions,
    file: GroupsFile | None,
    *,
    standardise: tuple[str, ...] = (),
    rules: RuleFile | None = None,
    may_lack: bool = False,
) -> GroupedTrials:
    """Read every file, join them, and group the trials.

    Rates are standardised over the levels of the attributes `standardise`; `rules` decide trials
    that tell no decision. What was asked for `may_lack` values for every trial where others are to
    come.
    """
    people = None
    if asked.speakers is not None:
        with stage("reading the speakers"):
            people = read_speakers(asked.speakers, id=asked.id, conflicts=asked.conflicts)
    how: dict[str, Any] = {
        "utterances": None if asked.utterances is None else read_utterances(asked.utterances),
        "format": asked.scores_format,
        "columns": asked.columns,
        "orientation": asked.orientation,
        "conflicts": asked.conflicts,
    }
    models = None if asked.models is None else read_models(asked.models)
    failures = None if asked.failures is None else read_failures(asked.failures)
    attributes = requested_attributes(asked, standardise)
    attributes += () if rules is None else attributes_asked([rules.by], "by")
    sets = []
    for (system, list_), source in sources.items():
        with stage(f"reading {system or 'the scores'}{'@' + list_ if list_ else ''}"):
            sets.append(
                read_trials(
                    source,
                    system=system,
                    list_=list_,
                    speakers=people,
                    trials=asked.trials,
                    models=models,
                    failures=failures,
                    attributes=attributes,
                    **how,
                )
            )
    people, sets = with_common_speakers(people, sets)
    if any(one.name == "grade" for one in attributes):
        sets = [with_grades(one, people) for one in sets]
    if only := values_asked(asked.only):
        chosen = make_groupings(people, [*only], sets=sets, file=file, option="--only")
        sets = [one.with_values(only, chosen) for one in sets]
    if rules is not None:
        decided_by = rules.grouping(people, sets, file=file)
        sets = [rules.decide(one, decided_by) for one in sets]
    made: dict[str, Any] = {"sets": sets, "file": file, "may_lack": may_lack}
    groupings = make_groupings(people, asked.by, **made)
    levels = make_groupings(people, asked.within or (), **made, option="--within")
    strata = make_groupings(people, standardise, **made, option="--standardise")
    chosen_by = "user" if asked.by else "every attribute with 2 to 50 values"
    design = ListDesign.for_list_file(asked.trials)
    return GroupedTrials(sets, groupings, levels, chosen_by, people, how, strata, design)


def read_one_system(
    scores: Any, asked: ReadOptions, why: str, *, may_lack: bool = False, **others: Any
) -> GroupedTrials:
    """Read one system, and group its trials by one grouping of its speakers.

    `others` are further scores of it by name, and `why` says why counts will not do.
    """
    asked, file = apply_groups_file(asked)
    if named_counts_files(scores) is not None:
        msg = f"counts do not tell who the speakers are, {why}"
        raise ConfigError(msg)
    sources = sources_by_name(scores)
    if len(sources) > 1:
        msg = f"one system is asked for, but {len(sources)} are given; give one file"
        raise ConfigError(msg)
    if asked.by is None or len(asked.by) != 1:
        n = "no grouping" if asked.by is None else f"{len(asked.by)} groupings"
        msg = f"--by names {n}; name one, as in --by gender or --by gender+nationality"
        raise ConfigError(msg)
    sources |= {(name, ""): source for name, source in others.items() if source is not None}
    return read_grouped_trials(sources, asked, file, may_lack=may_lack)


def read_grouped_counts(named: NamedFiles, asked: AuditOptions) -> GroupedTrials:
    """Read files of counts, whose groups are in them, and add up those of one system."""
    from parivox.auditing.counts.merging import read_counts_files  # noqa: PLC0415 - for files of counts only

    known = _OF_SPEAKERS if any(holds_tally(path) for _, path in named) else ()
    for name, one in option_fields(AuditOptions).items():
        of_rows = (
            one.section in {INPUT_SECTION, READING_SECTION} and name not in known
        ) or name == "standardise"
        if of_rows and name != "orientation" and one.is_given(getattr(asked, name)):
            msg = (
                f"{one.flag}: cannot be used with counts, which hold their groups and no ids; "
                f"leave it out, or give it to parivox count"
            )
            raise ConfigError(msg)
    if asked.orientation == "distance":
        msg = "--distance: cannot be used with counts; give it to parivox count"
        raise ConfigError(msg)
    with stage("reading the counts"):
        sets = read_counts_files(named)
    first = sets[0]
    how = {"orientation": None, "conflicts": "error"}
    if asked.speakers is None:
        return GroupedTrials(sets, first.groupings, first.within, first.chosen_by, None, how)
    people = read_speakers(asked.speakers, id=asked.id, conflicts=asked.conflicts)
    for counts in sets:
        if counts.tally is not None and counts.tally.sites:
            msg = (
                f"--speakers: the tally of {counts.name} names speakers by a key, not as a table "
                "does; leave it out"
            )
            raise ConfigError(msg)
        if counts.tally is not None and counts.tally.members_sha256 != people.content_sha256:
            msg = (
                f"--speakers: {people.name} is not the table that the tally of {counts.name} was "
                "made with; give that one, or leave it out"
            )
            raise ConfigError(msg)
    groupings = [_as_in_table(one, people, first.tally) for one in first.groupings]
    return GroupedTrials(sets, groupings, first.within, first.chosen_by, people, how)


def _as_in_table(counted: Grouping, people: Speakers, tally: SpeakerCounts | None) -> Grouping:
    """The same groups with what the table of speakers tells of them besides, if it has them."""
    if counted.speaker_codes is None or tally is None or tally.are_blocks:
        return counted
    (made,) = make_groupings(people, [counted.name], speakers_in_use=tally.speakers_in_use)
    return made if made.groups == counted.groups else counted
