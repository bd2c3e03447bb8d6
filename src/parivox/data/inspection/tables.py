"""What a table of speakers, utterances, models or failures holds, or a groups file."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from parivox.data.attribute_warnings import attribute_warnings, number_warnings
from parivox.data.attributes import UNKNOWN
from parivox.data.columns import ALIASES, SPEAKER, name_columns, plain
from parivox.data.formats.delimited import SPANNING_RECORDS
from parivox.data.formats.headerless import mostly_scores
from parivox.data.groups_file import read_groups_file
from parivox.data.inspection.findings import Column, FileFindings, IdFindings
from parivox.data.recordings import MODEL, REASON, read_failures, read_models, read_utterances
from parivox.data.requested_groupings import FEW, MANY
from parivox.data.speakers import UTTERANCE, Speakers, find_column, read_table
from parivox.data.trial_values import DECISIONS, is_decision, is_label
from parivox.data.value_warnings import DataWarning, odd_ids, odd_numbers, odd_values
from parivox.errors import DataError, ParivoxError
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parivox.data.columns import RequestedColumns

_RECORDING = tuple(word for word in UTTERANCE if word != "id")
_LIKE_IDS = r"(?i)(^|[ _.-])(id|code|nr|no|name)$"
_OUTCOMES = {"score", "decision", "label"}
_IDS = {
    "speakers": ("speaker",),
    "utterances": ("utterance", "speaker"),
    "models": ("model", "speaker", "recording"),
    "failures": ("recording",),
}
"""Roles of each kind of table that hold ids."""
_IDS_SHOWN = 2
_SIDES = ("enrol", "test")
_LINES = 200
_FACTS = (
    *("compression", "encoding", "separator", "decimal", "sheet", "header_row"),
    *("hidden_rows", "other_sheets", "hidden_sheets", "channel", SPANNING_RECORDS),
)
_EXAMPLES = 3
_MOST = 10_000
_FEW_NUMBERS = 12
_FEW_CUSTOMERS = 10
_FEW_OUTCOMES = 8
_CLAIMS = 0.2  # of the calls in a log are at least genuine
_TELLING = 0.2  # by which shares of decisions at least differ between true and false claims
_COUNTS = {"value": pl.String, "count": pl.Int64}
_HEAD = 1 << 16
_ENTRY = re.compile(r"[A-Za-z_]\w* *:(\s|$)")
_KEY = re.compile(r"(by|within|reference|groups|others) *:(\s|$)")


@frozen
class InspectedTable:
    """A table, and what it takes to join it with other files."""

    found: FileFindings
    source: Any  # what to read it from
    table: pl.DataFrame  # all cells as text, with the column ``row``
    provenance: dict[str, Any]  # what was read, as the reader tells it

    @property
    def columns(self) -> list[str]:
        """Columns as the file names them."""
        return [column for column in self.table.columns if column != "row"]

    @property
    def roles(self) -> Mapping[str, str]:
        """Column of each role."""
        return self.found.roles or {}

    def cells(self, role: str) -> pl.Series | None:
        """Distinct known cells of the column of a role, if there is one."""
        return self.distinct(self.roles[role]) if role in self.roles else None

    def distinct(self, column: str) -> pl.Series:
        """Distinct cells of a column that are not empty."""
        cells = self.table[column].drop_nulls()
        return cells.filter(cells != "").unique(maintain_order=True)


def inspect_table(source: Any, name: str) -> InspectedTable:
    """Look at a source that is a table, but not of trials."""
    table, _, provenance = read_table(source, "table")
    found = FileFindings(
        name, "", provenance["format"], reading_facts(provenance), rows=table.height
    )
    return with_kind(InspectedTable(found, source, table, provenance), *_kind(table))


def with_kind(inspected: InspectedTable, kind: str, roles: dict[str, str]) -> InspectedTable:
    """The table as one of a kind, with its columns by role."""
    table = inspected.table
    of_ids = {role: roles[role] for role in _IDS[kind] if role in roles}
    role_of = {column: role for role, column in (*of_ids.items(), *roles.items())}
    columns = []
    for name in inspected.columns:
        cells = CellCounter(most=None)
        cells.add(table[name])
        columns.append(cells.column(name, role_of.get(name, "")))
    read = dict(inspected.found.read or {})
    numbers = [table[column.name] for column in columns if column.numbers is not None]
    if any(cells.str.contains(",", literal=True).any() for cells in numbers):
        read["decimal"] = ","
    ids, odd = [], []
    for role, name in of_ids.items():
        distinct = inspected.distinct(name)
        ids.append(IdFindings(f"{role}s", len(distinct), tuple(distinct.head(_IDS_SHOWN))))
        odd += odd_ids(distinct)
    one_row = {"speakers": "speaker", "utterances": "utterance"}.get(kind, "")
    if one_row in roles:
        filled = table[roles[one_row]].drop_nulls()
        again = filled.filter(filled.is_duplicated()).unique(maintain_order=True)
        if len(again):
            odd.append(
                DataWarning(f"{one_row}s with several rows", len(again), f"such as {again[0]}")
            )
    for name in (roles[role] for role in roles if role in of_ids):
        n_empty = int((table[name].is_null() | (table[name] == "")).sum())
        odd += [DataWarning(f"rows with nothing in {name!r}", n_empty)] if n_empty else []
    if header := _header_like_data(table, inspected.columns):
        odd.append(
            DataWarning("is there no header? the first row is made like the others", 0, header)
        )
        columns = [replace(one, groups=False) for one in columns]  # their names are values
    found = replace(
        inspected.found,
        kind=kind,
        read=read,
        roles=roles,
        columns=tuple(columns),
        ids=tuple(ids),
        odd=tuple(odd),
        problems=_problems(inspected, kind, roles.get("speaker")),
    )
    return replace(inspected, found=found)


def _problems(inspected: InspectedTable, kind: str, speaker: str | None) -> tuple[str, ...]:
    """What the audit's reader of this kind of table says against it."""
    name = str(inspected.provenance["name"])
    try:
        if kind == "utterances":
            read_utterances(inspected.source)
        elif kind == "models":
            read_models(inspected.source)
        elif kind == "failures":
            read_failures(inspected.source)
        elif speaker is not None:  # of two values of a speaker, whose column must be known
            Speakers(inspected.table, name=name, id=speaker, conflicts="error", provenance={})
    except DataError as error:
        return (str(error),)
    return ()


def _kind(table: pl.DataFrame) -> tuple[str, dict[str, str]]:
    """What a table is by the names of its columns, and the column of each role."""
    columns = [column for column in table.columns if column != "row"]

    def find(words: Sequence[str], *taken: str) -> str:
        return find_column(table.drop(*taken), "", words, "")

    def named(**roles: str) -> dict[str, str]:
        return {role: column for role, column in roles.items() if column}

    speaker, recording = find(SPEAKER), find(_RECORDING)
    model, stage, reason = find(MODEL), find(sorted(ALIASES["stage"])), find(REASON)
    if model and speaker:
        recording = find(UTTERANCE, model, speaker)
        return "models", named(model=model, speaker=speaker, recording=recording)
    if model and recording and set(map(plain, columns)) <= {plain(model), plain(recording), "side"}:
        return "models", named(model=model, recording=recording)
    has_speaker = speaker or find(sorted(ALIASES["status"]))  # as recordings of a store have
    if (recording or model) and (stage or (reason and not has_speaker)):
        return "failures", named(recording=recording or model, stage=stage, reason=reason)
    repeats = bool(speaker) and bool(table[speaker].is_duplicated().any())
    if not recording and repeats:
        other = find(("id",), speaker)
        recording = other if other and not table[other].is_duplicated().any() else ""
    if recording and (repeats or not speaker):
        return "utterances", named(utterance=recording, speaker=speaker)
    if not speaker:  # a column whose name or values are those of ids
        unique = [c for c in columns if table[c].null_count() == 0 and table[c].is_unique().all()]
        like_ids = [c for c in columns if re.search(_LIKE_IDS, c.strip())]
        speaker = next((c for c in (*like_ids, *unique) if c in unique), "")
        speaker = speaker or next(iter(like_ids), "")
    return "speakers", named(speaker=speaker)


def _header_like_data(table: pl.DataFrame, columns: list[str]) -> str:
    """A column's name that is made like the cells below it, digits and all."""

    def shape(text: str) -> str:
        return re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "9", text))

    for column in columns:
        made = shape(column)
        below = table[column].drop_nulls().head(100).to_list()
        if "9" in made and len(below) > 1 and all(shape(cell) == made for cell in below):
            return column
    return ""


def roles_of_trials(frame: pl.DataFrame, asked: RequestedColumns) -> dict[str, str]:
    """Which columns would be those of trials, by what they hold; none if it is something else.

    By their names or the user's, a decision, or one side and a score or label, show that it is
    trials; the other side is then an id column. By what they hold, two columns of ids that have
    some in common, or are paths, and a column of labels or scores do.
    """
    try:
        places = name_columns(frame.columns, asked, "")
    except DataError:
        places = {}
    named = {role: frame.columns[place] for role, place in places.items()}
    outcomes = dict(named)
    if not _OUTCOMES & set(named):
        for column in frame.columns:
            cells = _first_cells(frame, column) if column not in named.values() else []
            if cells and "label" not in outcomes and all(map(is_label, cells)):
                outcomes["label"] = column
            elif cells and "score" not in outcomes and mostly_scores(cells):
                outcomes["score"] = column
    free = [column for column in frame.columns if column not in outcomes.values()]
    ids = [one for one in free if not mostly_scores(_first_cells(frame, one) or ["0.5"])]
    missing = [side for side in _SIDES if side not in named]
    if "decision" not in named and len(missing) == len(_SIDES):
        sides = dict(zip(_SIDES, ids, strict=False)) if _are_sides(frame, ids) else {}
    else:
        sides = _sides(free, ids, missing, named)
    by_user = {role: named[role] for role in asked.by_role if role in named}
    if not _OUTCOMES & set(outcomes) or len(sides) < len(missing):
        of_calls = {} if "enrol" in named else _roles_of_calls(frame, asked, named)
        return of_calls and {**of_calls, **by_user}
    return {**sides, **{r: c for r, c in outcomes.items() if r not in named}, **by_user}


def _roles_of_calls(
    frame: pl.DataFrame, asked: RequestedColumns, named: Mapping[str, str]
) -> dict[str, str]:
    """Roles in a log with a row a call: each call once, customers again and again.

    Those that an audit knows by their names once it is told of the decisions are left to it.

    Examples
    --------
    >>> from parivox.data.columns import RequestedColumns
    >>> people, words = [f"k{i % 10}" for i in range(20)], ["accepted", "rejected"] * 10
    >>> log = pl.DataFrame({"no": [str(i) for i in range(20)], "wer": people, "ok": words})
    >>> _roles_of_calls(log, RequestedColumns(), {})
    {'decision': 'ok', 'test': 'no', 'enrol': 'wer', 'enrol_speaker': 'wer', 'test_speaker': 'wer'}
    >>> _roles_of_calls(log.rename({"no": "call", "wer": "customer"}), RequestedColumns(), {})
    {'decision': 'ok'}
    """
    free = [column for column in frame.columns if column not in named.values()]
    ids = [one for one in free if not mostly_scores(_first_cells(frame, one) or ["0.5"])]
    distinct = {column: frame[column].n_unique() for column in ids}
    call = named.get("test") or next((c for c, n in distinct.items() if n == frame.height), "")
    again = {c: n for c, n in distinct.items() if _FEW_CUSTOMERS <= n <= frame.height / 2}
    if not (call and again):
        return {}
    customer = max(again, key=lambda column: again[column])
    genuine = {c: frame[c] == frame[customer] for c in again if c != customer}
    claims = (c for c, is_true in genuine.items() if is_true.sum() > _CLAIMS * frame.height)
    claimed = next(claims, customer)
    found = {}
    if not {"score", "decision"} & set(named):
        decision = _decisions(frame.select(ids), genuine.get(claimed))
        if not decision:
            return {}
        found = {"decision": decision}
        told = replace(asked, by_role={**asked.by_role, **found})
        if {"enrol", "test"} <= set(name_columns(frame.columns, told, "")):
            return found
    who = {"enrol": claimed, "enrol_speaker": claimed, "test_speaker": customer}
    return found | {"test": call} | who


def _decisions(frame: pl.DataFrame, genuine: pl.Series | None) -> str:
    """The column of a few words that are decisions, or go with whether claims are `genuine`.

    Examples
    --------
    >>> log = pl.DataFrame({"line": ["x", "y"] * 20, "ok": ["oui"] * 19 + ["non"] * 21})
    >>> _decisions(log, None), _decisions(log, pl.Series([True] * 20 + [False] * 20))
    ('', 'ok')
    """
    telling: dict[str, float] = {}
    for column in frame.columns:
        words = frame[column].drop_nulls().str.strip_chars().str.to_lowercase()
        known = words.unique().to_list()
        if not 1 < len(known) <= _FEW_OUTCOMES or all(map(is_label, known)):
            continue
        if {DECISIONS[word] for word in known if is_decision(word)} == {0, 1}:
            return column
        if genuine is not None and not genuine.all():
            telling[column] = _difference_of_shares(frame[column], genuine)
    # what goes with claims entirely says so itself
    telling = {column: share for column, share in telling.items() if _TELLING < share < 1}
    return max(telling, key=lambda column: telling[column]) if telling else ""


def _difference_of_shares(cells: pl.Series, of: pl.Series) -> float:
    """By how much the shares of its words differ between two parts of a column, from 0 to 1.

    Examples
    --------
    >>> _difference_of_shares(pl.Series(["a", "b", "a", "a"]), pl.Series([True] * 2 + [False] * 2))
    0.5
    """
    counts = pl.DataFrame({"word": cells, "of": of}).drop_nulls().group_by("word").agg(
        one=pl.col("of").sum(), other=(~pl.col("of")).sum()
    )  # fmt: skip
    shares = [counts[part] / max(counts[part].sum(), 1) for part in ("one", "other")]
    return float((shares[0] - shares[1]).abs().sum()) / 2


def _first_cells(frame: pl.DataFrame, column: str) -> list[str]:
    return [cell for cell in frame[column].head(_LINES).to_list() if cell]


def _are_sides(frame: pl.DataFrame, ids: Sequence[str]) -> bool:
    """Whether the first two columns hold ids of one kind, or paths, and not one who is recorded."""
    if len(ids) < len(_SIDES) or any(plain(column) in SPEAKER for column in frame.columns):
        return False
    if all(plain(column) in UTTERANCE for column in ids[: len(_SIDES)]):
        return False
    if frame[ids[0]].equals(frame[ids[1]]):  # an id and its path
        return False
    one, other = (frame[column].drop_nulls().unique() for column in ids[: len(_SIDES)])
    paths = all(cells.str.contains("/").all() for cells in (one, other))
    return bool(one.is_in(other.implode()).any()) or paths


def _sides(
    free: Sequence[str], ids: Sequence[str], missing: Sequence[str], named: dict[str, str]
) -> dict[str, str]:
    """A column for each side that has no known name; none if speakers stand where models do."""
    people = [column for column in free if plain(column) in SPEAKER]
    has_outcome = bool({"decision", "score"} & set(named))
    if people and not has_outcome:
        return {}  # models and their recordings, with the speaker of each
    words = {"enrol": MODEL, "test": UTTERANCE}
    found: dict[str, str] = {}
    for side in missing:
        left = [column for column in free if column not in found.values()]
        fits = [column for column in left if plain(column) in words[side]]
        if not fits and len(missing) == 1 and has_outcome:
            fits = [column for column in ids if column in left and column not in people]
        if fits:
            found[side] = fits[0]
    return found


def reading_facts(provenance: Mapping[str, Any]) -> dict[str, str]:
    """What it took to read a file, of all that is told of it.

    Examples
    --------
    >>> reading_facts({"name": "p.csv", "encoding": "cp1252", "separator": ";", "compression": ""})
    {'encoding': 'cp1252', 'separator': ';'}
    """
    known = {fact: provenance[fact] for fact in _FACTS if provenance.get(fact)}
    if spanning := known.get(SPANNING_RECORDS):
        known[SPANNING_RECORDS] = f"{spanning['records']:,} (first: row {spanning['first_row']:,})"
    return {
        fact: ", ".join(map(repr, one)) if isinstance(one, list) else str(one)
        for fact, one in known.items()
    }


class CellCounter:
    """The cells of one column, added part by part.

    With more than `most` distinct values they are no longer counted; None counts them all.
    """

    def __init__(self, most: int | None = _MOST) -> None:
        self._most = most
        self._counts: pl.DataFrame | None = pl.DataFrame(schema=_COUNTS)
        self._unknown = 0
        self._ends: list[float] | None = []

    def add(self, cells: pl.Series) -> None:
        """Count some cells."""
        text = cells.cast(pl.String, strict=False).str.strip_chars()
        known = text.filter(~(text.is_null() | text.str.to_lowercase().is_in(UNKNOWN)))
        self._unknown += len(cells) - len(known)
        counted = known.rename("value").value_counts().cast(_COUNTS)  # type: ignore[arg-type]
        if self._ends is not None and len(known):
            self._ends = None if (ends := _ends(counted["value"])) is None else [*self._ends, *ends]
        if self._counts is not None:
            both = pl.concat((self._counts, counted)).group_by("value").agg(pl.col("count").sum())
            self._counts = None if self._most and both.height > self._most else both

    def words(self) -> list[str]:
        """What they say, in order, if it is a few words; else nothing."""
        words = [] if self._counts is None else self._counts["value"].sort().to_list()
        return words if len(words) <= _FEW_OUTCOMES else []

    def column(self, name: str, role: str = "") -> Column:
        """What they are."""
        numbers = (min(self._ends), max(self._ends)) if self._ends else None
        if self._counts is None:
            return Column(name, role, None, self._unknown, (), numbers)
        n = self._counts.height
        cells = int(self._counts["count"].sum())
        ordered = self._counts.sort(["count", "value"], descending=[True, False])["value"]
        is_name = n == cells > FEW
        examples = ordered.head(_EXAMPLES).to_list() if n <= MANY and not is_name else []
        is_many = numbers is not None and n > _FEW_NUMBERS and not is_name and not role
        bands = _bands(self._counts) if is_many else ""
        return Column(
            name,
            role,
            n,
            self._unknown,
            tuple(examples),
            numbers,
            () if role or (is_name and numbers is None) else self._odd(name, ordered),
            bool(bands) or (not role and FEW <= n <= MANY and not is_name),
            bands,
        )

    def _odd(self, name: str, values: pl.Series) -> tuple[DataWarning, ...]:
        """What is odd about distinct values, which may all be numbers."""
        if not self._ends:
            listed = values.to_list()
            return (*odd_values(name, listed), *attribute_warnings(name, listed))
        numbers = values.str.replace(",", ".", literal=True).cast(pl.Float64).to_numpy()
        return (*odd_numbers(name, numbers), *number_warnings(name, numbers))


def _bands(counts: pl.DataFrame) -> str:
    """Two edges of two digits that put the numbers into three bands of about one size."""
    number = pl.col("value").str.replace(",", ".", literal=True).cast(pl.Float64)
    ordered = counts.select(number, pl.col("count")).sort("value")
    up_to = ordered["count"].cum_sum() / int(ordered["count"].sum())
    edges = [float(ordered["value"].filter(up_to >= share)[0]) for share in (1 / 3, 2 / 3)]
    low, high = (f"{float(f'{edge:.2g}'):g}" for edge in edges)
    return f"{low},{high}" if float(low) < float(high) else ""


def _ends(values: pl.Series) -> tuple[float, float] | None:
    """Lowest and highest value, if all are numbers; those with a zero in front are ids."""
    if values.str.contains(r"^0\d").any():
        return None
    numbers = values.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
    known = numbers.filter(numbers.is_finite()).to_numpy()
    return (float(known.min()), float(known.max())) if known.size == len(values) else None


def inspect_groups(source: Any, name: str) -> FileFindings | None:
    """Look at a source that is a groups file, by its name or its keys; None if it is none."""
    if not isinstance(source, (str, os.PathLike)) or not _may_be_one(source):
        return None
    try:
        file = read_groups_file(source)
    except ParivoxError as error:
        return FileFindings(name, "groups", "yaml", problems=(str(error),))
    groups = {attribute: tuple(recipe.groups) for attribute, recipe in file.definitions.items()}
    return FileFindings(name, "groups", "yaml", groups=groups, by=file.by or ())


def _may_be_one(source: str | os.PathLike[str]) -> bool:
    try:
        if not os.path.isfile(source):  # noqa: PTH113 - any text; a pipe can be read but once
            return False
        with open(source, "rb") as file:  # noqa: PTH123 - likewise
            head = file.read(_HEAD).decode("utf-8-sig", errors="replace")
    except (OSError, ValueError):
        return False
    lines = [
        line for line in head.splitlines() if line.strip() and not line.startswith(("#", "---"))
    ]
    if Path(source).suffix.lower() in {".yaml", ".yml"}:
        return bool(head.strip())
    return bool(lines and _ENTRY.match(lines[0])) and any(map(_KEY.match, lines))
