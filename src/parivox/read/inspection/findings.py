"""What an inspection finds in files: data, which the report puts into words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from parivox.shown import Shown

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Column:
    """One column and its values.

    Attributes
    ----------
    name : str
        As the file names it.
    role : str
        What it means, as ``decision`` or ``speaker``; empty for an attribute.
    values : int or None
        Distinct known values; None for more than are counted.
    unknown : int
        Cells that are empty or say that the value is unknown.
    examples : tuple of str
        The most frequent values, if the column has few; else none, since they may be names.
    numbers : (float, float) or None
        Lowest and highest value, where every known one is a number.
    spellings : tuple of tuple of str
        Values that differ in case and blanks only.
    groups : bool
        Whether trials could be grouped by it.
    bands : str
        Edges that put the numbers into three bands of about one size, where they are many.
    sides : tuple of str
        Columns of an attribute of which enrolment and test side each have one.
    dates : tuple of str
        Values that a spreadsheet may have made of others, as 18-Oct of 10-18.
    """

    name: str
    role: str
    values: int | None
    unknown: int
    examples: tuple[str, ...]
    numbers: tuple[float, float] | None = None
    spellings: tuple[tuple[str, ...], ...] = ()
    groups: bool = False
    bands: str = ""
    sides: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()

    @property
    def by(self) -> str:
        """As ``--by`` takes it."""
        return f"{self.name}:{self.bands}" if self.bands else self.name


@dataclass(frozen=True)
class Ids:
    """Distinct ids of one kind: ``utterances``, ``enrolments``, ``tests``, ``speakers``, ..."""

    what: str
    count: int
    examples: tuple[str, ...]


@dataclass(frozen=True)
class Whose:
    """How the speaker of an utterance is known from the file alone.

    Attributes
    ----------
    rule : {"columns", "component", "id"}
        By columns of the file; by the first component of the id; or the id is the speaker.
    speakers : int
        How many there would be.
    wrong : float or None
        Share of the labelled trials that contradict this; None without labels.
    """

    rule: str
    speakers: int
    wrong: float | None = None


@dataclass(frozen=True)
class Labels:
    """Trials by label.

    Attributes
    ----------
    target, nontarget : int
    by : str
        What says so: a trial list; ``speakers``, where no file has labels; empty for the file.
    """

    target: int
    nontarget: int
    by: str = ""


@dataclass(frozen=True)
class Scores:
    """The finite scores.

    Attributes
    ----------
    low, high : float
    distinct : int
        How many different ones there are.
    auc : float or None
        Probability that a target trial scores higher than a nontarget one; None without both.
    """

    low: float
    high: float
    distinct: int
    auc: float | None = None


@dataclass(frozen=True)
class Odd:
    """Something that is no error but worth a look: how often, and an example or a remark.

    What is of the whole file has the count 0.
    """

    what: str
    count: int
    note: str = ""


@dataclass(frozen=True)
class Counted:
    """What counts are of.

    Attributes
    ----------
    system, list : str
        Names; both may be empty.
    failed : int
        Trials of recordings that failed.
    told : tuple of str
        What the trials tell: scores, decisions, thresholds, failures, seconds.
    scores : str
        Where scores are counted: at each score, in bins, at thresholds.
    groupings, within : mapping of str to tuple of str
        Groups of each grouping, and levels.
    least : int
        Groups of fewer speakers are withheld.
    withheld : tuple of str
        Groups and levels that are, each with its grouping.
    lacks : tuple of str
        What cannot be had from the counts.
    """

    system: str
    list: str
    failed: int
    told: tuple[str, ...]
    scores: str
    groupings: Mapping[str, tuple[str, ...]]
    within: Mapping[str, tuple[str, ...]]
    least: int
    withheld: tuple[str, ...]
    lacks: tuple[str, ...]


@dataclass(frozen=True)
class Found:
    """One file.

    Attributes
    ----------
    name : str
        As it was given.
    kind : str
        ``scores``, ``trials``, ``speakers``, ``utterances``, ``models``, ``failures``, ``counts``,
        ``groups`` or ``unknown``.
    format : str
        Name of the format, as ``--scores-format`` takes it for trials.
    read : mapping of str to str
        What else it took to read it: compression, encoding, separator, sheet, ...
    roles : mapping of str to str
        Column of each role.
    columns : tuple of Column
        All columns of a table; of trials, those besides ids, labels and scores.
    rows : int
        Rows looked at.
    whole : bool
        Whether these are all rows.
    ids : tuple of Ids
    whose : Whose or None
    labels : Labels or None
    scores : Scores or None
    odd : tuple of Odd
    problems : tuple of str
        What an audit would refuse it for, in the audit's words.
    counted : Counted or None
        Of a file of counts.
    groups : mapping of str to tuple of str, or None
        Of a groups file: the groups that it makes of each attribute.
    by : tuple of str
        Of a groups file: the groupings that it asks for.
    ignored : tuple of str
        Columns of trials without a header that are not read.
    """

    name: str
    kind: str
    format: str = ""
    read: Mapping[str, str] | None = None
    roles: Mapping[str, str] | None = None
    columns: tuple[Column, ...] = ()
    rows: int = 0
    whole: bool = True
    ids: tuple[Ids, ...] = ()
    whose: Whose | None = None
    labels: Labels | None = None
    scores: Scores | None = None
    odd: tuple[Odd, ...] = ()
    problems: tuple[str, ...] = ()
    counted: Counted | None = None
    groups: Mapping[str, tuple[str, ...]] | None = None
    by: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True)
class Join:
    """How much of one file is found in another one.

    Attributes
    ----------
    what : str
        ``trials``, ``utterances``, ``enrolments``, ``speakers`` or ``recordings``.
    of, in_ : str
        Names of the files: those of the first are looked up in the second.
    column : str
        Column of the second file that holds them; empty for trials.
    met, count : int
        So many of how many distinct ones are found.
    missing : tuple of str
        Some of those that are not.
    pattern : str
        What explains most of those that are not, if one thing does.
    """

    what: str
    of: str
    in_: str
    column: str
    met: int
    count: int
    missing: tuple[str, ...] = ()
    pattern: str = ""


@dataclass(frozen=True)
class Shared:
    """An attribute that stands in several files, of speakers, of recordings or of trials.

    Attributes
    ----------
    name : str
    files : mapping of str to str
        File by level: ``speaker``, ``recording``, ``trial``.
    refused : str or None
        What an audit by it says: empty if they agree; None where that is not known.
    """

    name: str
    files: Mapping[str, str]
    refused: str | None


@dataclass(frozen=True)
class Differing:
    """An attribute of recordings that differs between the two sides of most target trials.

    Attributes
    ----------
    by : str
        As ``--by`` takes it; trials whose sides differ are then in no group.
    instead : str
        That of one side, which every trial has.
    share : float
        How many of the target trials differ.
    """

    by: str
    instead: str
    share: float


@dataclass(frozen=True)
class Inspection(Shown):
    """What was found in some files.

    Attributes
    ----------
    files : tuple of Found
        In the order in which they were given.
    joins : tuple of Join
    shared : tuple of Shared
    problems : tuple of str
        What an audit of the files together would be refused for, in the audit's words.
    next : str
        The command to type next; empty if there is none.
    differing : tuple of Differing
        Why the command names one side of an attribute.
    """

    files: tuple[Found, ...]
    joins: tuple[Join, ...]
    shared: tuple[Shared, ...]
    problems: tuple[str, ...]
    next: str
    differing: tuple[Differing, ...] = ()

    @property
    def readable(self) -> bool:
        """Whether every file could be read as something."""
        return all(one.kind != "unknown" for one in self.files)
