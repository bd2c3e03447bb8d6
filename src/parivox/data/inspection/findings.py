"""Findings of an inspection as data, which the report puts into words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from parivox.shown import NotebookView

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parivox.data.value_warnings import DataWarning


@dataclass(frozen=True)
class InspectedColumn:
    """One column and its values."""

    name: str  # in the file
    role: str  # its meaning, such as ``decision`` or ``speaker``; empty for an attribute
    values: int | None  # distinct known values; None for more than are counted
    unknown: int  # cells that are empty or say that the value is unknown
    # the most frequent values, if the column has few; else none, since they may be names
    examples: tuple[str, ...]
    # lowest and highest value, where every known one is a number
    numbers: tuple[float, float] | None = None
    warnings: tuple[DataWarning, ...] = ()  # of an attribute
    groups: bool = False  # whether trials could be grouped by it
    # edges that put the numbers into three bands of about one size, where they are many
    bands: str = ""
    # columns of an attribute of which enrolment and test side each have one
    sides: tuple[str, ...] = ()

    @property
    def grouping(self) -> str:
        """Return it in the notation of ``--by``."""
        return f"{self.name}:{self.bands}" if self.bands else self.name


@dataclass(frozen=True)
class IdFindings:
    """Distinct ids of one kind: ``utterances``, ``enrolments``, ``tests``, ``speakers``, ..."""

    kind: str
    count: int
    examples: tuple[str, ...]


@dataclass(frozen=True)
class SpeakerRule:
    """The rule by which the file alone gives the speaker of an utterance."""

    # columns, component, id or table: by columns of the file; by the first component of the id;
    # the id is the speaker; or another file or a pattern gives it
    rule: str
    speakers: int  # how many there would be
    # share of the labelled trials that contradict this; None without labels
    conflict_share: float | None = None


@dataclass(frozen=True)
class LabelFindings:
    """Numbers of trials by label."""

    target: int
    nontarget: int
    # source of the labels: a trial list; ``speakers`` if no file has any; empty for this file
    source: str = ""
    spoof: int = 0


@dataclass(frozen=True)
class ScoreFindings:
    """The finite scores."""

    low: float
    high: float
    distinct: int  # how many different ones there are
    # probability that a target trial scores higher than a nontarget one; None without both
    auc: float | None = None


@dataclass(frozen=True)
class CountsFindings:
    """Content of a file of counts."""

    # names; both may be empty
    system: str
    list: str
    failed: int  # trials of recordings that failed
    contents: tuple[str, ...]  # of the trials: scores, decisions, thresholds, failures, seconds
    scores: str  # where scores are counted: at each score, in bins, at thresholds
    # groups of each grouping, and levels
    groupings: Mapping[str, tuple[str, ...]]
    within: Mapping[str, tuple[str, ...]]
    min_speakers: int  # groups of fewer speakers are withheld
    withheld: tuple[str, ...]  # groups and levels that are, each with its grouping
    missing_results: tuple[str, ...]  # what cannot be had from the counts


@dataclass(frozen=True)
class FileFindings:
    """Findings about one file."""

    name: str  # as it was given
    # ``scores``, ``trials``, ``speakers``, ``utterances``, ``models``, ``failures``, ``counts``,
    # ``tally``, ``groups``, ``parivox`` (what else Parivox wrote) or ``unknown``
    kind: str
    format: str = ""  # name of the format, as ``--scores-format`` takes it for trials
    # what else it took to read it: compression, encoding, separator, sheet, ...
    read: Mapping[str, str] | None = None
    roles: Mapping[str, str] | None = None  # column of each role
    # all columns of a table; of trials, those besides ids, labels and scores
    columns: tuple[InspectedColumn, ...] = ()
    rows: int = 0  # rows looked at
    whole: bool = True  # whether these are all rows
    ids: tuple[IdFindings, ...] = ()
    speaker_rule: SpeakerRule | None = None
    labels: LabelFindings | None = None
    scores: ScoreFindings | None = None
    warnings: tuple[DataWarning, ...] = ()
    problems: tuple[str, ...] = ()  # what an audit would refuse it for, in the audit's words
    counted: CountsFindings | None = None  # of a file of counts
    # of a groups file: the groups that it makes of each
    # attribute.
    groups: Mapping[str, tuple[str, ...]] | None = None
    groupings: tuple[str, ...] = ()  # of a groups file: those that it asks for
    description: str = ""  # of what Parivox wrote
    command: str = ""  # the command that takes it, likewise
    ignored: tuple[str, ...] = ()  # columns of trials without a header that are not read


@dataclass(frozen=True)
class Join:
    """How many ids of one file are in another one."""

    kind: str  # ``trials``, ``utterances``, ``enrolments``, ``speakers`` or ``recordings``
    # names of the files: ids of the first are looked up in the second
    id_file: str
    target_file: str
    column: str  # column of the second file that holds them; empty for trials
    matched: int  # distinct ids that are found
    count: int  # distinct ids
    missing: tuple[str, ...] = ()  # some of those that are not
    pattern: str = ""  # what explains most of those that are not, if one thing does
    template: str = ""  # where in the ids the speakers stand, as ``--utterances`` takes it
    further_templates: tuple[str, ...] = ()  # where they stand in ids that do not fit it


@dataclass(frozen=True)
class SharedAttribute:
    """An attribute that is in several files, of speakers, of recordings or of trials."""

    name: str
    files: Mapping[str, str]  # file by level: ``speaker``, ``recording``, ``trial``
    # why an audit refuses to group by it: empty if the files agree; None if not known
    refused: str | None


@dataclass(frozen=True)
class DifferingAttribute:
    """An attribute of recordings that differs between the two sides of most target trials."""

    grouping: str  # as ``--by`` takes it; trials whose sides differ are then in no group
    instead: str  # that of one side, which every trial has
    share: float  # how many of the target trials differ


@dataclass(frozen=True)
class Inspection(NotebookView):
    """What was found in some files.

    Attributes
    ----------
    files : tuple of FileFindings
        In the order in which they were given.
    joins : tuple of Join
    shared : tuple of SharedAttribute
    problems : tuple of str
        What an audit of the files together would be refused for, in the audit's words.
    next : str
        The command to type next; empty if there is none.
    differing : tuple of DifferingAttribute
        Why the command names one side of an attribute.
    warnings : tuple of DataWarning
        What an audit of the files warns of, beyond what is odd about each; of the command
        `parivox inspect` only.
    """

    files: tuple[FileFindings, ...]
    joins: tuple[Join, ...]
    shared: tuple[SharedAttribute, ...]
    problems: tuple[str, ...]
    next: str
    differing: tuple[DifferingAttribute, ...] = ()
    warnings: tuple[DataWarning, ...] = ()

    @property
    def readable(self) -> bool:
        """Whether every file could be read as something."""
        return all(file.kind != "unknown" for file in self.files)
