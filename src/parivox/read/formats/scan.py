"""What every reader gives: trials in chunks, columns named by their roles.

A *role* is what a column means (enrol, test, score, ...), whatever a file calls it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING

import polars as pl

from parivox.errors import ConfigError, DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from parivox.read.content import Content

    Rows = Sequence[int] | NDArray[np.int64]
    """Row of each record of a chunk, as an editor shows it."""

__all__ = [
    "ALIASES",
    "ATTRIBUTE",
    "ENGINE_ERRORS",
    "Columns",
    "Format",
    "Scan",
    "check_types",
    "is_cell",
    "name_columns",
    "plain",
    "why",
]

ENGINE_ERRORS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError)
"""What the table engine may raise at a damaged file; its panics are no ``Exception``."""

_SIDES = {
    "enrol": [
        "enrol",
        "enroll",
        "enrolment",
        "enrollment",
        "ref",
        "reference",
        "model",
        "bioref",
        "left",
        "a",
        "1",
    ],
    "test": ["test", "com", "comparison", "probe", "segment", "right", "b", "2"],
}
_UTTERANCE = [
    *("utterance", "utt", "file", "path", "wav", "audio", "recording", "segment", "id"),
    *("templateid", "referenceid"),
]
_SPEAKER = ["speaker", "spk", "spkr", "speakerid", "spkid", "subject", "subjectid"]
_SCORE = ["score", "scores", "sc", "llr", "similarity", "sim", "cosine", "cos", "distance", "dist"]
_OUTCOME = {
    "decision": ["decision", "decided", "accept", "accepted", "isaccepted"],
    "threshold": ["threshold", "thr", "deployedthreshold"],
    "status": ["status", "trialstatus"],
    "stage": ["stage", "failurestage"],
    "seconds": ["seconds", "elapsed", "elapsedseconds", "elapsedtime"],
}
_LABEL = [
    *("label", "labels", "lab", "target", "istarget", "targettype", "trialtype", "key", "class"),
    *("same", "issame", "samespeaker", "match", "genuine", "ytrue", "groundtruth", "truth"),
]


def _side_aliases(side: Iterable[str], things: Iterable[str]) -> set[str]:
    return {a + b for s in side for t in things for a, b in ((s, t), (t, s))}


ALIASES: dict[str, frozenset[str]] = {
    **{
        side: frozenset({w for w in words if len(w) > 1} | _side_aliases(words, _UTTERANCE))
        for side, words in _SIDES.items()
    },
    "score": frozenset(_SCORE),
    "label": frozenset(_LABEL),
    **{
        f"{side}_speaker": frozenset(_side_aliases(words, _SPEAKER))
        for side, words in _SIDES.items()
    },
    "side": frozenset({"side"}),
    **{role: frozenset(words) for role, words in _OUTCOME.items()},
}
"""Names that columns are known by, in lower case, letters and digits only."""

_TRIAL = ("enrol", "test", "score", "label", "enrol_speaker", "test_speaker")
ATTRIBUTE = "@"
"""What the role of an attribute's column begins with: ``@device``, ``@enrol.device``."""


@dataclass(frozen=True, eq=False)
class Scan:
    """One source of trials, read as often as needed.

    Attributes
    ----------
    name, format : str
    columns : dict
        Name of the column in the file, by role.
    ignored : tuple of str
        Columns without a role.
    chunks : function
        Gives the rows of a chunk, and a dataframe whose columns are roles.
    content : Content or None
        The bytes, if the source has any.
    """

    name: str
    format: str
    columns: dict[str, str]
    ignored: tuple[str, ...]
    chunks: Callable[[], Iterator[tuple[Rows, pl.DataFrame]]]
    content: Content | None = field(default=None, repr=False)

    def at(self, row: int, role: str | None = None) -> str:
        """Where something was found, as messages say it."""
        column = f", column {self.columns[role]!r}" if role else ""
        return f"{self.name}: row {row}{column}"

    def rows_of(self, enrol: str, test: str) -> list[tuple[int, dict[str, object]]]:
        """Every row with this ordered pair of ids, for messages."""
        found = []
        for rows, chunk in self.chunks():
            stripped = (pl.col(c).cast(pl.String).str.strip_chars() for c in ("enrol", "test"))
            hits = chunk.with_columns(row=pl.Series(rows, dtype=pl.Int64)).filter(
                pl.all_horizontal(a == b for a, b in zip(stripped, (enrol, test), strict=True))
            )
            found += [(int(row.pop("row")), row) for row in hits.iter_rows(named=True)]
        return found


@dataclass(frozen=True)
class Columns:
    """The user's columns, by role.

    Attributes
    ----------
    by_role : mapping
        Column of some roles.
    elsewhere : bool
        Whether they may stand in another file instead.
    attributes : tuple of str
        Attributes that trials are grouped by, of which columns may be in the file.
    option : str
        With which the user names the format, as messages say it.
    """

    by_role: Mapping[str, str] = field(default_factory=dict)
    elsewhere: bool = False
    attributes: tuple[str, ...] = ()
    option: str = "--scores-format"

    def __post_init__(self) -> None:
        for role in self.by_role:
            if role not in ALIASES:
                msg = f"--columns: {role!r} is no role; known are {', '.join(ALIASES)}"
                raise ConfigError(msg)
        named = list(self.by_role.values())
        twice = next((column for column in named if named.count(column) > 1), None)
        if twice is not None:
            both = " and ".join(role for role, column in self.by_role.items() if column == twice)
            msg = f"--columns: {twice!r} is named for {both}; name a column for each of them"
            raise ConfigError(msg)


@dataclass(frozen=True)
class Format:
    """A file format of trials.

    Attributes
    ----------
    name : str
        As ``format=`` takes it.
    matches : function
        Whether the first bytes of a file are of this format, given the user's columns.
    scan : function
        Reads it, given the user's columns.
    """

    name: str
    matches: Callable[[bytes, Columns], bool]
    scan: Callable[[Content, Columns], Scan]


def plain(name: str) -> str:
    """A column name without case, blanks and signs.

    Examples
    --------
    >>> plain(" Enrol_File ")
    'enrolfile'
    """
    return re.sub(r"[^0-9a-z]", "", name.lower())


def name_columns(names: Sequence[str], asked: Columns, source: str) -> dict[str, int]:
    """Position of the column of each role, by the user's names first, then by known ones.

    Parameters
    ----------
    names
        Columns as the file names them.
    asked
        The user's columns.
    source
        Name of the file, for messages.

    Raises
    ------
    DataError
        If a column is missing, or two could be meant.

    Examples
    --------
    >>> name_columns(["ref_file", "com_file", "sc"], Columns(), "scores.csv")
    {'enrol': 0, 'test': 1, 'score': 2}
    """
    found: dict[str, int] = {}
    for role, column in asked.by_role.items():
        if column not in names and asked.elsewhere:
            continue
        if column not in names:
            near = get_close_matches(column, names, n=3, cutoff=0.3) or list(names)[:8]
            msg = (
                f"{source}: has no column {column!r} for {role}; nearest: "
                f"{', '.join(repr(n) for n in near)}; name it with --columns"
            )
            raise DataError(msg)
        found[role] = list(names).index(column)
    free = [i for i in range(len(names)) if i not in found.values()]
    for role, aliases in ALIASES.items():
        if role in found:
            continue
        fits = [i for i in free if plain(names[i]) in aliases]
        exact = [i for i in fits if plain(names[i]) == plain(role)]
        if len(exact or fits) > 1:
            both = " and ".join(repr(names[i]) for i in (exact or fits)[:2])
            msg = (
                f"{source}: columns {both} may both be {role}; say which with --columns {role}=..."
            )
            raise DataError(msg)
        if fits:
            found[role] = (exact or fits)[0]
    # ids, labels and scores are what trials are made of, so nothing to group them by
    taken = {found[role] for role in _TRIAL if role in found}
    return found | _attributes(names, asked.attributes, taken)


def _attributes(
    names: Sequence[str], wanted: Sequence[str], taken: Collection[int] = ()
) -> dict[str, int]:
    """Position of the column, or of one for either side, of each attribute that there is.

    Examples
    --------
    >>> _attributes(["enrol", "test", "device", "ref_sex", "probe_sex"], ["device", "sex", "age"])
    {'@device': 2, '@enrol.sex': 3, '@test.sex': 4}
    """
    found: dict[str, int] = {}
    for attribute in wanted:
        free = [(i, name) for i, name in enumerate(names) if i not in taken]
        exact = [i for i, name in free if name == attribute]
        fits = exact or [i for i, name in free if plain(name) == plain(attribute)]
        if fits:
            found[ATTRIBUTE + attribute] = fits[0]
            continue
        for side, words in _SIDES.items():
            known = _side_aliases([w for w in words if len(w) > 1], [plain(attribute)])
            place = next((i for i, name in free if plain(name) in known), None)
            if place is not None:
                found[f"{ATTRIBUTE}{side}.{attribute}"] = place
    return found


def is_cell(kind: pl.DataType) -> bool:
    """Whether cells of this type have one text each."""
    return not (kind.is_nested() or kind in (pl.Binary, pl.Object, pl.Duration))


def check_types(frame: pl.DataFrame, names: Mapping[str, str], source: str) -> None:
    """Refuse columns of ids and labels that hold neither text nor numbers.

    Parameters
    ----------
    frame
        Of which the types count only.
    names
        Column by role.
    source
        Name of the file, for messages.
    """
    for role, column in names.items():
        kind = frame.schema[column]
        if role != "score" and (not is_cell(kind) or kind.is_temporal()):
            msg = (
                f"{source}: column {column!r} ({role}) holds {kind}, neither text nor numbers; "
                "save it as text"
            )
            raise DataError(msg)


def why(error: BaseException) -> str:
    """First line of what the table engine says."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".:")
