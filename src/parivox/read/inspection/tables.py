"""What a table of speakers, utterances, models or failures holds."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from parivox.errors import DataError
from parivox.read.cells import is_label
from parivox.read.columns import ALIASES, name_columns, plain
from parivox.read.failures import read_failures
from parivox.read.formats.sample import mostly_scores
from parivox.read.inspection.findings import Found, Ids, Odd
from parivox.read.inspection.values import Cells, facts, odd_ids
from parivox.read.models import read_models
from parivox.read.speakers import Speakers, read_table
from parivox.read.utterances import SPEAKER, UTTERANCE, read_utterances

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    import polars as pl

    from parivox.read.columns import Columns

__all__ = ["TableSeen", "as_kind", "roles_of_trials", "see_table"]

_MODEL = frozenset({"model", "modelid", "enrolment", "enrollment", "enrol", "enroll", "template"})
_RECORDING = frozenset(UTTERANCE) - {"id"}
_REASON = frozenset({"reason", "why", "cause"})
_IDS = {
    "speakers": ("speaker",),
    "utterances": ("utterance", "speaker"),
    "models": ("model", "speaker", "recording"),
    "failures": ("recording",),
}
"""Roles of each kind of table that hold ids."""
_EXAMPLES = 2
_SIDES = ("enrol", "test")
_LINES = 200


@dataclass(frozen=True, eq=False)
class TableSeen:
    """A table, and what it takes to join it with other files.

    Attributes
    ----------
    found : Found
    source : object
        What to read it from.
    table : DataFrame
        All cells as text, with the column ``row``.
    provenance : dict
        What was read, as the reader tells it.
    """

    found: Found
    source: Any
    table: pl.DataFrame
    provenance: dict[str, Any]

    @property
    def columns(self) -> list[str]:
        """Columns as the file names them."""
        return [column for column in self.table.columns if column != "row"]

    def cells(self, role: str) -> pl.Series | None:
        """Distinct known cells of the column of a role, if there is one."""
        column = (self.found.roles or {}).get(role)
        return None if column is None else self.distinct(column)

    def distinct(self, column: str) -> pl.Series:
        """Distinct cells of a column that are not empty."""
        cells = self.table[column].drop_nulls()
        return cells.filter(cells != "").unique(maintain_order=True)


def see_table(source: Any, name: str) -> TableSeen:
    """Look at a source that is a table, but not of trials.

    Parameters
    ----------
    source
        Anything that the reader of tables takes.
    name
        As the user gave it.

    Raises
    ------
    DataError
        If it is no table.
    """
    table, _, told = read_table(source, "table")
    found = Found(name, "", told["format"], facts(told), rows=table.height)
    seen = TableSeen(found, source, table, told)
    kind, roles = _kind(table, seen.columns)
    return as_kind(seen, kind, roles)


def as_kind(seen: TableSeen, kind: str, roles: dict[str, str]) -> TableSeen:
    """The table as one of a kind, with its columns by role."""
    table = seen.table
    held = {roles[role]: role for role in _IDS[kind] if role in roles}
    held |= {column: role for role, column in roles.items()}
    columns = []
    for column in seen.columns:
        cells = Cells(most=None)
        cells.add(table[column])
        columns.append(cells.column(column, held.get(column, "")))
    read = dict(seen.found.read or {})
    numbers = [table[column.name] for column in columns if column.numbers is not None]
    if any(cells.str.contains(",", literal=True).any() for cells in numbers):
        read["decimal"] = ","
    ids, odd = [], []
    for role in _IDS[kind]:
        if role in roles:
            distinct = seen.distinct(roles[role])
            ids.append(Ids(f"{role}s", len(distinct), tuple(distinct.head(_EXAMPLES).to_list())))
            odd += odd_ids(distinct)
    odd += _repeated(table, kind, roles)
    odd += [_empty(table, column) for role, column in roles.items() if role in _IDS[kind]]
    odd = [one for one in odd if one.count]
    header = _like_data(table, seen.columns)
    if header:
        odd.append(Odd("is there no header? the first row is made like the others", 0, header))
    found = replace(
        seen.found,
        kind=kind,
        read=read,
        roles=roles,
        columns=tuple(columns),
        ids=tuple(ids),
        odd=tuple(odd),
    )
    made = replace(seen, found=found)
    return replace(made, found=replace(found, problems=_problems(made)))


def _kind(table: pl.DataFrame, columns: list[str]) -> tuple[str, dict[str, str]]:
    """What a table is by the names of its columns, and the column of each role."""

    def find(words: Collection[str], *taken: str) -> str:
        fits = {plain(c): c for c in reversed(columns) if c not in taken and plain(c) in words}
        ordered = words if isinstance(words, tuple) else sorted(words)
        return next((fits[word] for word in ordered if word in fits), "")

    speaker = find(SPEAKER)
    recording = find(tuple(word for word in UTTERANCE if word != "id"))
    model, stage, reason = find(_MODEL), find(ALIASES["stage"]), find(_REASON)
    if model and speaker:
        recording = find(UTTERANCE, model, speaker)
        return "models", _named(model=model, speaker=speaker, recording=recording)
    if model and recording and set(map(plain, columns)) <= {plain(model), plain(recording), "side"}:
        return "models", _named(model=model, recording=recording)
    if (recording or model) and (stage or reason):
        return "failures", _named(recording=recording or model, stage=stage, reason=reason)
    repeats = bool(speaker) and bool(table[speaker].is_duplicated().any())
    if not recording and repeats:
        other = find(("id",), speaker)
        recording = other if other and not table[other].is_duplicated().any() else ""
    if recording and (repeats or not speaker):
        return "utterances", _named(utterance=recording, speaker=speaker)
    return "speakers", _named(speaker=speaker or _own_id(table, columns))


def _named(**roles: str) -> dict[str, str]:
    return {role: column for role, column in roles.items() if column}


def _own_id(table: pl.DataFrame, columns: list[str]) -> str:
    """The column whose name or values are those of ids; empty if none is."""
    unique = [c for c in columns if table[c].null_count() == 0 and table[c].is_unique().all()]
    named = [c for c in columns if re.search(r"(?i)(^|[ _.-])(id|code|nr|no|name)$", c.strip())]
    return next(
        (one for one in (*(c for c in named if c in unique), *unique, *named)),
        "",
    )


def _repeated(table: pl.DataFrame, kind: str, roles: dict[str, str]) -> list[Odd]:
    """Ids that stand in several rows, where one row each is meant."""
    role = {"speakers": "speaker", "utterances": "utterance"}.get(kind, "")
    if role not in roles:
        return []
    cells = table[roles[role]].drop_nulls()
    again = cells.filter(cells.is_duplicated()).unique(maintain_order=True)
    note = f"such as {again[0]}" if len(again) else ""
    return [Odd(f"{role}s with several rows", len(again), note)]


def _empty(table: pl.DataFrame, column: str) -> Odd:
    cells = table[column]
    n = int((cells.is_null() | (cells == "")).sum())
    return Odd(f"rows with nothing in {column!r}", n)


def _like_data(table: pl.DataFrame, columns: list[str]) -> str:
    """A column's name that is made like the cells below it, digits and all."""
    for column in columns:
        shape = _shape(column)
        below = table[column].drop_nulls().head(100).to_list()
        if "9" in shape and len(below) > 1 and all(_shape(cell) == shape for cell in below):
            return column
    return ""


def _shape(text: str) -> str:
    return re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "9", text))


def roles_of_trials(frame: pl.DataFrame, asked: Columns) -> dict[str, str]:
    """Which columns would be those of trials, by what they hold; none if it is something else.

    By their names or the user's, a decision, or one side and a score or label, show that it is
    trials; the other side is then an id column. By what they hold, two columns of ids that have
    some in common, or are paths, and a column of labels or scores do.

    Parameters
    ----------
    frame
        The first rows, as text.
    asked
        The user's columns.
    """
    try:
        places = name_columns(frame.columns, asked, "")
    except DataError:
        places = {}
    named = {role: frame.columns[place] for role, place in places.items()}
    held = _outcomes(frame, named)
    free = [column for column in frame.columns if column not in held.values()]
    ids = [column for column in free if not mostly_scores(_cells(frame, column) or ["0.5"])]
    missing = [side for side in _SIDES if side not in named]
    if "decision" not in named and len(missing) == len(_SIDES):
        sides = dict(zip(_SIDES, ids, strict=False)) if _are_sides(frame, ids) else {}
    else:
        sides = _sides(free, ids, missing, named)
    if not {"score", "decision", "label"} & set(held) or len(sides) < len(missing):
        return {}
    given = {role: named[role] for role in asked.by_role if role in named}
    return {**sides, **{r: c for r, c in held.items() if r not in named}, **given}


def _cells(frame: pl.DataFrame, column: str) -> list[str]:
    return [cell for cell in frame[column].head(_LINES).to_list() if cell]


def _outcomes(frame: pl.DataFrame, named: dict[str, str]) -> dict[str, str]:
    """The columns that are named and, if none of these is one, those of labels and scores."""
    found = dict(named)
    if {"score", "decision", "label"} & set(named):
        return found
    for column in frame.columns:
        cells = _cells(frame, column) if column not in named.values() else []
        if cells and "label" not in found and all(map(is_label, cells)):
            found["label"] = column
        elif cells and "score" not in found and mostly_scores(cells):
            found["score"] = column
    return found


def _are_sides(frame: pl.DataFrame, ids: Sequence[str]) -> bool:
    """Whether the first two columns hold ids of one kind, or paths."""
    if len(ids) < len(_SIDES):
        return False
    one, other = (frame[column].drop_nulls().unique() for column in ids[: len(_SIDES)])
    paths = all(cells.str.contains("/").all() for cells in (one, other))
    return bool(one.is_in(other.implode()).any()) or paths


def _sides(
    free: Sequence[str], ids: Sequence[str], missing: Sequence[str], named: dict[str, str]
) -> dict[str, str]:
    """A column for each side that has no known name; none if speakers stand where models do."""
    people = _fitting(free, SPEAKER)
    is_decided, is_scored = "decision" in named, "score" in named
    if people and not is_decided and not is_scored:
        return {}  # models and their recordings, with the speaker of each
    words = {"enrol": (*_MODEL, *(SPEAKER if is_decided else ())), "test": UTTERANCE}
    found: dict[str, str] = {}
    for side in missing:
        left = [column for column in free if column not in found.values()]
        fits = _fitting(left, words[side])
        if not fits and len(missing) == 1 and (is_decided or is_scored):
            fits = [column for column in ids if column in left and column not in people]
        if fits:
            found[side] = fits[0]
    return found


def _fitting(columns: Sequence[str], words: Collection[str]) -> list[str]:
    return [column for column in columns if plain(column) in words]


def _problems(seen: TableSeen) -> tuple[str, ...]:
    """What the audit's reader of this kind of table says against it."""
    readers: dict[str, Callable[[Any], object]] = {
        "utterances": read_utterances,
        "models": read_models,
        "failures": read_failures,
        "speakers": lambda _: _speakers(seen),
    }
    try:
        readers[seen.found.kind](seen.source)
    except DataError as error:
        return (str(error),)
    return ()


def _speakers(seen: TableSeen) -> None:
    """Refuse a speaker with two values, if it is known which column holds the ids."""
    column = (seen.found.roles or {}).get("speaker")
    if column is not None:
        Speakers(
            seen.table,
            name=str(seen.provenance["name"]),
            id=column,
            conflicts="error",
            provenance=seen.provenance,
        )
