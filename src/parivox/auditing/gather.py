"""What an audit is of: trials with their speakers and groups, or counts of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from parivox.errors import ConfigError
from parivox.options.audit import READ, TRIALS, AuditOptions
from parivox.options.kinds import options_of
from parivox.read.failures import read_failures
from parivox.read.groups import attributes_asked, make_groupings
from parivox.read.groups_file import read_groups_file
from parivox.read.models import read_models
from parivox.read.speakers import read_speakers
from parivox.read.trials import read_trials
from parivox.read.trialset import with_common_speakers
from parivox.read.utterances import read_utterances
from parivox.trials.grading import with_grades

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from parivox.auditing.counted.trial_counts import TrialCounts
    from parivox.auditing.sources import Named
    from parivox.options.audit import ReadOptions
    from parivox.read.grouping import Grouping
    from parivox.read.groups_file import GroupsFile
    from parivox.read.speakers import Speakers
    from parivox.read.trialset import TrialSet

__all__ = ["BY_ITSELF", "Gathered", "gather", "gather_counts", "groups_file_of"]

Asked = TypeVar("Asked", bound="ReadOptions")
BY_ITSELF = "every attribute with 2 to 50 values"


@dataclass(frozen=True, eq=False)
class Gathered:
    """Trials, or counts of them, with what they are grouped by.

    Attributes
    ----------
    sets : sequence of TrialSet or TrialCounts
        One for each system and list.
    groupings, levels : sequence of Grouping
    chosen_by : str
        Who chose the groupings.
    people : Speakers or None
        None for counts, which know no one.
    how : dict
        How development scores are read.
    strata : sequence of Grouping
        What rates are standardised over.
    """

    sets: Sequence[TrialSet] | Sequence[TrialCounts]
    groupings: Sequence[Grouping]
    levels: Sequence[Grouping]
    chosen_by: str
    people: Speakers | None = None
    how: dict[str, Any] = field(default_factory=dict)
    strata: Sequence[Grouping] = ()

    @staticmethod
    def names(groupings: Sequence[Grouping]) -> tuple[str, ...]:
        """What the groupings are called."""
        return tuple(one.name for one in groupings)

    @property
    def is_llr(self) -> bool:
        """Whether counts say that their scores are log-likelihood ratios."""
        return all(one.is_counted and one.is_llr for one in self.sets)


def groups_file_of(asked: Asked) -> tuple[Asked, GroupsFile | None]:
    """The groups file, and the options with what it says where nothing is given."""
    if asked.groups is None:
        return asked, None
    file = read_groups_file(asked.groups)
    by = file.by if asked.by is None else asked.by
    within = file.within if asked.within is None else asked.within
    return replace(asked, by=by, within=within), file


def gather(
    sources: Mapping[tuple[str, str], Any],
    asked: ReadOptions,
    file: GroupsFile | None,
    tell: Callable[[str], None],
    *,
    standardise: tuple[str, ...] = (),
    may_lack: bool = False,
) -> Gathered:
    """Read every file, join them, and group the trials.

    Parameters
    ----------
    sources, asked, file, tell
        By system and list, how they are read, the groups file, and where progress goes.
    standardise
        Attributes whose levels rates are standardised over.
    may_lack
        Whether what was asked for may be unknown for every trial, since others are to come.
    """
    people = None
    if asked.speakers is not None:
        tell("reading the speakers")
        people = read_speakers(asked.speakers, id=asked.id, conflicts=asked.conflicts)
    how: dict[str, Any] = {
        "utterances": None if asked.utterances is None else read_utterances(asked.utterances),
        "format": asked.scores_format,
        "columns": asked.columns,
        "orientation": asked.orientation,
        "conflicts": asked.conflicts,
    }
    beside: dict[str, Any] = {
        "models": None if asked.models is None else read_models(asked.models),
        "failures": None if asked.failures is None else read_failures(asked.failures),
        "attributes": [
            *attributes_asked(asked.by or ()),
            *attributes_asked(asked.within or (), "--within"),
            *attributes_asked(standardise, "--standardise"),
        ],
    }
    sets = []
    for (system, list_), source in sources.items():
        tell(f"reading {system or 'the scores'}{'@' + list_ if list_ else ''}")
        sets.append(
            read_trials(
                source,
                system=system,
                list_=list_,
                speakers=people,
                trials=asked.trials,
                **how,
                **beside,
            )
        )
    people, sets = with_common_speakers(people, sets)
    if any(one.name == "grade" for one in beside["attributes"]):
        sets = [with_grades(one, people) for one in sets]
    made: dict[str, Any] = {"sets": sets, "file": file, "may_lack": may_lack}
    groupings = make_groupings(people, asked.by, **made)
    levels = make_groupings(people, asked.within or (), **made, option="--within")
    strata = make_groupings(people, standardise, **made, option="--standardise")
    chosen_by = "user" if asked.by else BY_ITSELF
    return Gathered(sets, groupings, levels, chosen_by, people, how, strata)


def gather_counts(named: Named, asked: AuditOptions, tell: Callable[[str], None]) -> Gathered:
    """Read files of counts, whose groups are in them, and add up those of one system."""
    from parivox.auditing.counted.merging import read_all  # noqa: PLC0415 - for files of counts only

    for name, one in options_of(AuditOptions).items():
        of_rows = one.section in {TRIALS, READ} or name == "standardise"
        if of_rows and name != "orientation" and one.is_given(getattr(asked, name)):
            msg = (
                f"{one.flag}: cannot be used with counts, which hold their groups and no ids; "
                f"leave it out, or give it to parivox count"
            )
            raise ConfigError(msg)
    if asked.orientation == "distance":
        msg = "--distance: cannot be used with counts; give it to parivox count"
        raise ConfigError(msg)
    tell("reading the counts")
    sets = read_all(named)
    first = sets[0]
    how = {"orientation": None, "conflicts": "error"}
    return Gathered(sets, first.groupings, first.within, first.chosen_by, None, how)
