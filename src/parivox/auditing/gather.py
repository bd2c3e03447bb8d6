"""What an audit is of: trials with their speakers and groups, or counts of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from parivox.auditing.given import check_columns, check_texts, chosen
from parivox.errors import ConfigError
from parivox.read.failures import read_failures
from parivox.read.groups import make_groupings, wanted
from parivox.read.groups_file import read_groups_file
from parivox.read.models import read_models
from parivox.read.speakers import read_speakers
from parivox.read.trials import read_trials
from parivox.read.trialset import together
from parivox.read.utterances import read_utterances
from parivox.trials.grades import with_grades

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from parivox.auditing.counted.trial_counts import TrialCounts
    from parivox.auditing.sources import Named
    from parivox.read.grouping import Grouping
    from parivox.read.groups_file import GroupsFile
    from parivox.read.speakers import Speakers
    from parivox.read.trialset import TrialSet

__all__ = ["BY_ITSELF", "Gathered", "Reading", "gather", "gather_counts"]

_TEXTS = ("scores_format", "id", "orientation", "conflicts")
BY_ITSELF = "every attribute with 2 to 50 values"


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How trials and the tables beside them are read, in the words of ``pv.audit``."""

    speakers: Any = None
    trials: Any = None
    utterances: Any = None
    models: Any = None
    failures: Any = None
    file: GroupsFile | None = None
    by: tuple[str, ...] | None = None
    within: tuple[str, ...] | None = None
    standardise: tuple[str, ...] = ()
    scores_format: str | None = None
    columns: Mapping[str, str] | None = None
    id: str | None = None
    orientation: str | None = None
    conflicts: str = "error"

    @classmethod
    def of(cls, *, groups: Any, by: Any, within: Any, **given: Any) -> Reading:
        """Check what a caller gives; what the groups file says stands where nothing is given."""
        check_texts(**{name: given[name] for name in _TEXTS})
        check_columns(given["columns"])
        file = None if groups is None else read_groups_file(groups)
        return cls(
            file=file,
            by=chosen(by, "by", file.by if file else None),
            within=chosen(within, "within", file.within if file else None),
            **given,
        )


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


def gather(
    sources: Mapping[tuple[str, str], Any],
    reading: Reading,
    tell: Callable[[str], None],
    *,
    may_lack: bool = False,
) -> Gathered:
    """Read every file, join them, and group the trials.

    Parameters
    ----------
    sources, reading, tell
        By system and list, how they are read, and where progress goes.
    may_lack
        Whether what was asked for may be unknown for every trial, since others are to come.
    """
    people = None
    if reading.speakers is not None:
        tell("reading the speakers")
        people = read_speakers(reading.speakers, id=reading.id, conflicts=reading.conflicts)
    how: dict[str, Any] = {
        "utterances": None if reading.utterances is None else read_utterances(reading.utterances),
        "format": reading.scores_format,
        "columns": reading.columns,
        "orientation": reading.orientation,
        "conflicts": reading.conflicts,
    }
    beside: dict[str, Any] = {
        "models": None if reading.models is None else read_models(reading.models),
        "failures": None if reading.failures is None else read_failures(reading.failures),
        "attributes": [
            *wanted(reading.by or ()),
            *wanted(reading.within or (), "--within"),
            *wanted(reading.standardise, "--standardise"),
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
                trials=reading.trials,
                **how,
                **beside,
            )
        )
    people, sets = together(people, sets)
    if any(one.name == "grade" for one in beside["attributes"]):
        sets = [with_grades(one, people) for one in sets]
    made: dict[str, Any] = {"sets": sets, "file": reading.file, "may_lack": may_lack}
    groupings = make_groupings(people, reading.by, **made)
    levels = make_groupings(people, reading.within or (), **made, option="--within")
    strata = make_groupings(people, reading.standardise, **made, option="--standardise")
    chosen_by = "user" if reading.by else BY_ITSELF
    return Gathered(sets, groupings, levels, chosen_by, people, how, strata)


def gather_counts(named: Named, reading: Reading, tell: Callable[[str], None]) -> Gathered:
    """Read files of counts, whose groups are in them, and add up those of one system."""
    from parivox.auditing.counted.merging import read_all  # noqa: PLC0415 - for files of counts only

    plain = Reading()
    for name, option in (
        *((one, f"--{one}") for one in ("speakers", "trials", "utterances", "models", "failures")),
        *(("file", "--groups"), ("by", "--by"), ("within", "--within"), ("id", "--id")),
        ("standardise", "--standardise"),
        *(("scores_format", "--scores-format"), ("columns", "--columns")),
        ("conflicts", "--conflicts"),
    ):
        if getattr(reading, name) != getattr(plain, name):
            msg = (
                f"{option}: cannot be used with counts, which hold their groups and no ids; leave "
                f"it out, or give it to parivox count"
            )
            raise ConfigError(msg)
    if reading.orientation == "distance":
        msg = "--distance: cannot be used with counts; give it to parivox count"
        raise ConfigError(msg)
    tell("reading the counts")
    sets = read_all(named)
    first = sets[0]
    how = {"orientation": None, "conflicts": "error"}
    return Gathered(sets, first.groupings, first.within, first.chosen_by, None, how)
