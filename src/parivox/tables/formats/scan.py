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
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from parivox.tables.content import Content

__all__ = ["ALIASES", "ENGINE_ERRORS", "Format", "Scan", "name_columns", "plain", "why"]

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
        "left",
        "a",
        "1",
    ],
    "test": ["test", "com", "comparison", "probe", "segment", "right", "b", "2"],
}
_UTTERANCE = ["utterance", "utt", "file", "path", "wav", "audio", "recording", "segment", "id"]
_SPEAKER = ["speaker", "spk", "spkr", "speakerid", "spkid"]
_SCORE = ["score", "scores", "sc", "llr", "similarity", "sim", "cosine", "cos", "distance", "dist"]
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
}
"""Names that columns are known by, in lower case, letters and digits only."""


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
        Gives dataframes whose columns are roles, each with the number of its first row.
    row_word : str
        ``row`` where an editor shows rows, ``record`` where nothing does.
    content : Content or None
        The bytes, if the source has any.
    """

    name: str
    format: str
    columns: dict[str, str]
    ignored: tuple[str, ...]
    chunks: Callable[[], Iterator[tuple[int, pl.DataFrame]]]
    content: Content | None = field(default=None, repr=False)

    def at(self, row: int, role: str | None = None) -> str:
        """Where something was found, as messages say it."""
        column = f", column {self.columns[role]!r}" if role else ""
        return f"{self.name}: row {row}{column}"

    def rows_of(self, enrol: str, test: str) -> list[tuple[int, dict[str, object]]]:
        """Every row with this ordered pair of ids, for messages."""
        found = []
        for first, chunk in self.chunks():
            stripped = (pl.col(c).cast(pl.String).str.strip_chars() for c in ("enrol", "test"))
            hits = chunk.with_row_index("row", offset=first).filter(
                pl.all_horizontal(a == b for a, b in zip(stripped, (enrol, test), strict=True))
            )
            found += [(int(row.pop("row")), row) for row in hits.iter_rows(named=True)]
        return found


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
    matches: Callable[[bytes, Mapping[str, str]], bool]
    scan: Callable[[Content, Mapping[str, str]], Scan]


def plain(name: str) -> str:
    """A column name without case, blanks and signs.

    Examples
    --------
    >>> plain(" Enrol_File ")
    'enrolfile'
    """
    return re.sub(r"[^0-9a-z]", "", name.lower())


def name_columns(names: Sequence[str], asked: Mapping[str, str], source: str) -> dict[str, int]:
    """Position of the column of each role, by the user's names first, then by known ones.

    Parameters
    ----------
    names
        Columns as the file names them.
    asked
        The user's column name for some roles.
    source
        Name of the file, for messages.

    Raises
    ------
    ConfigError
        If a role is none.
    DataError
        If a column is missing, or two could be meant.

    Examples
    --------
    >>> name_columns(["ref_file", "com_file", "sc"], {}, "scores.csv")
    {'enrol': 0, 'test': 1, 'score': 2}
    """
    found: dict[str, int] = {}
    for role, column in asked.items():
        if role not in ALIASES:
            msg = f"--columns: {role!r} is no role; known are {', '.join(ALIASES)}"
            raise ConfigError(msg)
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
    return found


def why(error: BaseException) -> str:
    """First line of what the table engine says."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".:")
