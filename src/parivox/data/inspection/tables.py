"""Inspection of tables of speakers, utterances, models and failures, and of groups files."""

from __future__ import annotations

import os
import re
import shlex
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from parivox.data.attribute_warnings import attribute_warnings, number_warnings
from parivox.data.attributes import unknown_cells
from parivox.data.cell_words import MAX_DECISION_WORDS, is_label, is_number
from parivox.data.columns import (
    ALIASES,
    MODEL_NAMES,
    SPEAKER_NAMES,
    UTTERANCE_NAMES,
    RequestedColumns,
)
from parivox.data.content_roles import first_row_like_data
from parivox.data.enrolment_maps import ENROLMENT_MAP, read_enrolment_map
from parivox.data.formats import are_scores_without_ids
from parivox.data.formats.delimited import COMMENT_LINES, DELIMITED, SPANNING_RECORDS, head_lines
from parivox.data.groups_file import read_groups_file
from parivox.data.inspection.findings import FileFindings, IdFindings, InspectedColumn
from parivox.data.plain_scores import plain_score_positions
from parivox.data.recordings import (
    read_failures,
    read_models,
    read_utterances,
    with_one_recording_a_row,
)
from parivox.data.requested_groupings import MAX_DEFAULT_VALUES, MIN_DEFAULT_VALUES
from parivox.data.source_bytes import read_content
from parivox.data.speakers import Speakers, read_table
from parivox.data.table_kinds import table_kind, utterance_columns
from parivox.data.value_warnings import (
    DataWarning,
    distant_number_warnings,
    id_warnings,
    looks_unknown,
    value_warnings,
)
from parivox.errors import DataError, ParivoxError
from parivox.facts import fact
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


PLAIN_SCORES = "scores without ids"
"""Scores with labels, or numbers alone: nothing shows whose they are."""
_ID_ROLES = {
    "speakers": ("speaker",),
    "utterances": ("utterance", "speaker"),
    "models": ("model", "speaker", "recording"),
    "failures": ("recording",),
    PLAIN_SCORES: (),
}
"""Roles of each kind of table whose columns contain ids."""
_MAX_EXAMPLE_IDS = 2
_MAX_SAMPLED_ROWS = 200
_READING_FACTS = (
    "compression",
    "encoding",
    "separator",
    "decimal",
    "sheet",
    "header_row",
    "hidden_rows",
    "other_sheets",
    "hidden_sheets",
    "channel",
    COMMENT_LINES,
    SPANNING_RECORDS,
)
_MAX_EXAMPLES = 3
_MAX_NAMED_COLUMNS = 8
_KNOWN_NAMES = {*MODEL_NAMES, *SPEAKER_NAMES, *UTTERANCE_NAMES, *chain(*ALIASES.values())}
"""Names of columns, which a map of enrolments does not have."""
_MAX_COUNTED_VALUES = 10_000
_MAX_UNBANDED_NUMBERS = 12
_COUNTS_SCHEMA = {"value": pl.String, "count": pl.Int64}
_HEAD_BYTES = 1 << 16
_YAML_ENTRY = re.compile(r"[A-Za-z_]\w* *:(\s|$)")
_GROUPS_FILE_KEY = re.compile(r"(by|within|reference|groups|others) *:(\s|$)")


@frozen
class InspectedTable:
    """A table, with everything that its joins with other files need."""

    findings: FileFindings
    source: Any  # path or table
    table: pl.DataFrame  # all cells as text, with the column ``row``
    provenance: dict[str, Any]  # facts about the file, from its reader

    @property
    def columns(self) -> list[str]:
        """Return the columns as the file names them."""
        return [column for column in self.table.columns if column != "row"]

    @property
    def roles(self) -> Mapping[str, str]:
        """Return the column of each role."""
        return self.findings.roles or {}

    def cells(self, role: str) -> pl.Series | None:
        """Return the distinct cells of the column of a role; None if there is none."""
        return self.distinct(self.roles[role]) if role in self.roles else None

    def distinct(self, column: str) -> pl.Series:
        """Return the distinct cells of a column that are not empty."""
        cells = self.table[column].drop_nulls()
        return cells.filter(cells != "").unique(maintain_order=True)


def inspect_table(source: Any, name: str) -> InspectedTable:
    """Inspect a source that is a table, but not of trials."""
    enrolment_map = _wide_map(source)
    table, _, provenance = enrolment_map or read_table(source, "table")
    table = with_one_recording_a_row(table)
    findings = FileFindings(
        name, "", provenance["format"], reading_facts(provenance), rows=table.height
    )
    kind, roles = table_kind(table)
    if kind in {"speakers", ""} and "speaker" not in utterance_columns(table):
        plain_roles = _plain_score_roles(table.drop("row"))
        kind, roles = ("speakers", roles) if plain_roles is None else (PLAIN_SCORES, plain_roles)
    if provenance["format"] == DELIMITED.name and are_scores_without_ids(read_content(source).head):
        kind, roles = PLAIN_SCORES, {"score": "score", "label": "label"}
        table = table.rename(dict(zip(table.columns[1:], roles, strict=True)))
    if enrolment_map is not None:
        kind, roles = "models", {"model": "model", "recording": "recording"}
    inspected = with_kind(InspectedTable(findings, source, table, provenance), kind, roles)
    if inspected.findings.kind != PLAIN_SCORES:
        return inspected
    return replace(
        inspected, findings=replace(inspected.findings, command=_metrics_command(inspected, name))
    )


def _wide_map(source: Any) -> tuple[pl.DataFrame, str, dict[str, Any]] | None:
    """Return a map of enrolments, several recordings a line, as ``spk2utt``; None if it is none.

    Recordings begin with their model there; other texts may have as many words a line.
    """
    if not isinstance(source, (str, os.PathLike)) or os.fspath(source) == "-":
        return None
    with suppress(DataError):
        content = read_content(source)
        lines = [line.split() for _, line in head_lines(content.head)]
        # the first lines tell, so that other texts are not read twice
        if not all(len(cells) > 1 and cells[1].startswith(cells[0]) for cells in lines[:-1]):
            return None
        enrolment_map = read_enrolment_map(content, _KNOWN_NAMES)
        if enrolment_map is not None and enrolment_map[0]["row"].is_duplicated().any():
            begins_with_model = pl.col("recording").str.starts_with(pl.col("model"))
            if enrolment_map[0].select(begins_with_model.all()).item():
                return enrolment_map
    return None


def as_enrolment_map(
    inspected: InspectedTable, enrolments: pl.Series, tests: pl.Series, speakers: pl.Series
) -> InspectedTable | None:
    """Return a table without a header as the map of enrolments that ids show it to be, or None.

    Parameters
    ----------
    inspected
        A file, perhaps with another kind of table.
    enrolments, tests
        Ids of both sides of the trials.
    speakers
        Ids of other tables.
    """
    if not isinstance(inspected.source, (str, os.PathLike)):
        return None
    with suppress(DataError):
        content = read_content(inspected.source)
        rows = [line.split()[:2] for _, line in head_lines(content.head)[:_MAX_SAMPLED_ROWS]]
        first_ids = pl.Series([cell for row in rows for cell in row], dtype=pl.String)
        # one of the first two cells of each line is an enrolment, but for a line that is cut off
        if 2 * int(first_ids.is_in(enrolments.implode()).sum()) < len(rows):
            return None
        enrolment_map = read_enrolment_map(content, _KNOWN_NAMES)
        if enrolment_map is None:
            return None
        table, _, provenance = enrolment_map
        if table["recording"].is_in(enrolments.implode()).any():
            table = table.rename({"model": "recording", "recording": "model"})
        models, recordings = table["model"].unique(), table["recording"].unique()
        are_speakers = _share(recordings, speakers) == 1
        if are_speakers:
            table = table.rename({"recording": "speaker"})
        # where the tests are listed, too, it is a table of utterances
        is_of_trials = (
            _share(enrolments, models) == 1
            and _share(tests, models) == 0
            and _share(tests, recordings) < 0.5
        )
        if is_of_trials and (are_speakers or len(recordings) >= len(models)):
            findings = replace(inspected.findings, format=ENROLMENT_MAP)
            roles = {role: role for role in table.columns if role != "row"}
            return with_kind(
                InspectedTable(findings, inspected.source, table, provenance), "models", roles
            )
    return None


def _share(ids: pl.Series, known_ids: pl.Series) -> float:
    """Return the share of ids that are known."""
    return float(ids.is_in(known_ids.implode()).mean() or 0.0)  # type: ignore[arg-type]


def _metrics_command(inspected: InspectedTable, name: str) -> str:
    """Return the command for scores without ids."""
    if "label" not in inspected.roles and len(inspected.columns) == 1:
        return "parivox metrics --target TARGET --nontarget NONTARGET"
    words = ["parivox", "metrics", name]
    grouping = next((column.name for column in inspected.findings.columns if column.groups), "")
    return shlex.join([*words, "--by", grouping] if grouping else words)


def with_kind(inspected: InspectedTable, kind: str, roles: dict[str, str]) -> InspectedTable:
    """Return the table as one of this kind, with its columns by role."""
    table = inspected.table
    id_columns = {role: roles[role] for role in _ID_ROLES[kind] if role in roles}
    role_by_column = {column: role for role, column in (*id_columns.items(), *roles.items())}
    columns = []
    for name in inspected.columns:
        cells = CellCounter(max_counted=None)
        cells.add(table[name])
        columns.append(cells.column(name, role_by_column.get(name, "")))
    reading = dict(inspected.findings.read or {})
    numbers = [table[column.name] for column in columns if column.numbers is not None]
    if any(cells.str.contains(",", literal=True).any() for cells in numbers):
        reading["decimal"] = ","
    ids, warnings = [], []
    for role, name in id_columns.items():
        distinct = inspected.distinct(name)
        ids.append(IdFindings(f"{role}s", len(distinct), tuple(distinct.head(_MAX_EXAMPLE_IDS))))
        warnings += id_warnings(distinct)
    unique_role = {"speakers": "speaker", "utterances": "utterance"}.get(kind, "")
    if unique_role in roles:
        filled = table[roles[unique_role]].drop_nulls()
        repeated = filled.filter(filled.is_duplicated()).unique(maintain_order=True)
        if len(repeated):
            code = "speakers_with_several_rows"
            if unique_role == "utterance":
                code = "utterances_with_several_rows"
            warnings.append(DataWarning(code, len(repeated), fact("such_as", text=repeated[0])))
    for name in (roles[role] for role in roles if role in id_columns):
        n_empty = int((table[name].is_null() | (table[name] == "")).sum())
        if n_empty:
            warnings.append(DataWarning(fact("rows_with_empty_cell", column=name), n_empty))
    warnings += _single_speaker_warnings(table, kind, roles, columns)
    if header := first_row_like_data(table.drop("row")):
        warnings.append(DataWarning("first_row_like_others", 0, fact("as_in", text=header)))
        columns = [replace(column, groups=False) for column in columns]  # their names are values
    findings = replace(
        inspected.findings,
        kind=kind,
        read=reading,
        roles=roles,
        columns=tuple(columns),
        ids=tuple(ids),
        warnings=tuple(warnings),
        problems=_reader_problems(inspected, kind, roles.get("speaker")),
    )
    return replace(inspected, findings=findings)


def _single_speaker_warnings(
    table: pl.DataFrame, kind: str, roles: Mapping[str, str], columns: Sequence[InspectedColumn]
) -> Iterator[DataWarning]:
    """Yield which few values have one speaker, while others have more: they may mean unknown."""
    if kind != "speakers" or "speaker" not in roles:
        return
    for column in columns:
        if not column.groups or column.numbers is not None:
            continue
        value = pl.col("value")
        cells = pl.DataFrame(
            {"speaker": table[roles["speaker"]], "value": table[column.name].str.strip_chars()}
        )
        known_cells = cells.filter(value.is_not_null() & ~unknown_cells(value)).unique()
        counts = known_cells["value"].value_counts().sort("value")
        single = counts.filter(pl.col("count") == 1)["value"].to_list()
        # of many values, such as nationalities, some have one speaker as a matter of course
        if len(single) > _MAX_EXAMPLES or len(single) == counts.height:
            continue
        if odd_values := [
            single_value for single_value in single if not looks_unknown(single_value)
        ]:
            what = fact("values_of_one_speaker", attribute=column.name)
            note = fact("leave_empty_if_unknown", values=odd_values)
            yield DataWarning(what, len(odd_values), note)


def _reader_problems(inspected: InspectedTable, kind: str, speaker: str | None) -> tuple[str, ...]:
    """Return what the reader of an audit refuses about this kind of table."""
    name = str(inspected.provenance["name"])
    try:
        if kind == "utterances":
            read_utterances(inspected.source)
        elif kind == "models":
            read_models(inspected.source)
        elif kind == "failures":
            read_failures(inspected.source)
        elif kind == "speakers" and speaker is None:
            names = ", ".join(map(repr, inspected.columns[:_MAX_NAMED_COLUMNS]))
            problem = (
                f"{name}: has no known columns and no ids of speakers (found: {names}); name the "
                "columns in a header, such as enrol,test,score,label or speaker,gender"
            )
            return (problem,)
        elif (
            speaker is not None
        ):  # finds contradictions about a speaker, if the column of ids is known
            Speakers(inspected.table, name=name, id=speaker, conflicts="error", provenance={})
    except DataError as error:
        return (str(error),)
    return ()


def _plain_score_roles(table: pl.DataFrame) -> dict[str, str] | None:
    """Return the columns of scores and labels of a table without ids; None if it is none."""
    columns = table.columns
    are_cells = all(is_number(column) or is_label(column) for column in columns)
    if are_cells and any(map(is_number, columns)) and len(columns) <= 2:
        return {}
    with suppress(DataError):
        positions = plain_score_positions(table, RequestedColumns(), "")
        if {"score", "label"} <= set(positions) and not {"enrol", "test"} & set(positions):
            return {role: columns[positions[role]] for role in ("score", "label")}
    return None


def reading_facts(provenance: Mapping[str, Any]) -> dict[str, str]:
    """Return the facts about reading a file that are unusual.

    Examples
    --------
    >>> reading_facts({"name": "p.csv", "encoding": "cp1252", "separator": ";", "compression": ""})
    {'encoding': 'cp1252', 'separator': ';'}
    """
    facts = {fact: provenance[fact] for fact in _READING_FACTS if provenance.get(fact)}
    if spanning := facts.get(SPANNING_RECORDS):
        facts[SPANNING_RECORDS] = f"{spanning['records']:,} (first: row {spanning['first_row']:,})"
    return {
        fact: ", ".join(map(repr, fact_value)) if isinstance(fact_value, list) else str(fact_value)
        for fact, fact_value in facts.items()
    }


class CellCounter:
    """Counts of the cells of one column, which are added in parts.

    With more than `max_counted` distinct values they are no longer counted; None counts all.
    """

    def __init__(self, max_counted: int | None = _MAX_COUNTED_VALUES) -> None:
        self._max_counted = max_counted
        self._counts: pl.DataFrame | None = pl.DataFrame(schema=_COUNTS_SCHEMA)
        self._unknown = 0
        self._number_ranges: list[float] | None = []

    def add(self, cells: pl.Series) -> None:
        """Count some cells."""
        text = cells.cast(pl.String, strict=False).str.strip_chars()
        cell = pl.col(text.name)
        known_text = text.to_frame().filter(cell.is_not_null() & ~unknown_cells(cell)).to_series()
        self._unknown += len(cells) - len(known_text)
        counted = known_text.rename("value").value_counts().cast(_COUNTS_SCHEMA)  # type: ignore[arg-type]
        if self._number_ranges is not None and len(known_text):
            number_range = _number_range(counted["value"])
            if number_range is None:
                self._number_ranges = None
            else:
                self._number_ranges += number_range
        if self._counts is not None:
            all_counts = (
                pl.concat((self._counts, counted)).group_by("value").agg(pl.col("count").sum())
            )
            self._counts = (
                None if self._max_counted and all_counts.height > self._max_counted else all_counts
            )

    def words(self) -> list[str]:
        """Return the distinct cells in order if they are few; otherwise nothing."""
        words = [] if self._counts is None else self._counts["value"].sort().to_list()
        return words if len(words) <= MAX_DECISION_WORDS else []

    def column(self, name: str, role: str = "") -> InspectedColumn:
        """Return the findings about the column."""
        numbers = (
            (min(self._number_ranges), max(self._number_ranges)) if self._number_ranges else None
        )
        if self._counts is None:
            return InspectedColumn(name, role, None, self._unknown, (), numbers)
        n_distinct = self._counts.height
        n_cells = int(self._counts["count"].sum())
        ordered = self._counts.sort(["count", "value"], descending=[True, False])["value"]
        is_name = n_distinct == n_cells > MIN_DEFAULT_VALUES
        examples = (
            ordered.head(_MAX_EXAMPLES).to_list()
            if n_distinct <= MAX_DEFAULT_VALUES and not is_name
            else []
        )
        is_many = (
            numbers is not None and n_distinct > _MAX_UNBANDED_NUMBERS and not is_name and not role
        )
        bands = _bands(self._counts) if is_many else ""
        return InspectedColumn(
            name,
            role,
            n_distinct,
            self._unknown,
            tuple(examples),
            numbers,
            () if role or (is_name and numbers is None) else self._value_warnings(name, ordered),
            bool(bands)
            or (
                not role and MIN_DEFAULT_VALUES <= n_distinct <= MAX_DEFAULT_VALUES and not is_name
            ),
            bands,
        )

    def _value_warnings(self, name: str, values: pl.Series) -> tuple[DataWarning, ...]:
        """Return warnings about distinct values, which may all be numbers."""
        if not self._number_ranges:
            listed = values.to_list()
            return (*value_warnings(name, listed), *attribute_warnings(name, listed))
        numbers = values.str.replace(",", ".", literal=True).cast(pl.Float64).to_numpy()
        return (*distant_number_warnings(name, numbers), *number_warnings(name, numbers))


def _bands(counts: pl.DataFrame) -> str:
    """Return two rounded edges that divide the numbers into three bands of similar size."""
    number = pl.col("value").str.replace(",", ".", literal=True).cast(pl.Float64)
    ordered = counts.select(number, pl.col("count")).sort("value")
    up_to = ordered["count"].cum_sum() / int(ordered["count"].sum())
    edges = [float(ordered["value"].filter(up_to >= share)[0]) for share in (1 / 3, 2 / 3)]
    low, high = (f"{float(f'{edge:.2g}'):g}" for edge in edges)
    return f"{low},{high}" if float(low) < float(high) else ""


def _number_range(values: pl.Series) -> tuple[float, float] | None:
    """Return lowest and highest value if all are numbers; with leading zeros they are ids."""
    if values.str.contains(r"^0\d").any():
        return None
    numbers = values.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
    finite = numbers.filter(numbers.is_finite()).to_numpy()
    return (float(finite.min()), float(finite.max())) if finite.size == len(values) else None


def inspect_groups(source: Any, name: str) -> FileFindings | None:
    """Inspect a groups file, recognised by its name or its keys; None for other sources."""
    if not isinstance(source, (str, os.PathLike)) or not _may_be_groups_file(source):
        return None
    try:
        file = read_groups_file(source)
    except ParivoxError as error:
        return FileFindings(name, "groups", "yaml", problems=(str(error),))
    groups = {attribute: tuple(recipe.groups) for attribute, recipe in file.definitions.items()}
    return FileFindings(name, "groups", "yaml", groups=groups, groupings=file.by or ())


def _may_be_groups_file(source: str | os.PathLike[str]) -> bool:
    try:
        if not os.path.isfile(source):  # noqa: PTH113 - any text; a pipe can be read only once
            return False
        with open(source, "rb") as file:  # noqa: PTH123 - likewise
            head = file.read(_HEAD_BYTES).decode("utf-8-sig", errors="replace")
    except (OSError, ValueError):
        return False
    lines = [
        line for line in head.splitlines() if line.strip() and not line.startswith(("#", "---"))
    ]
    if Path(source).suffix.lower() in {".yaml", ".yml"}:
        return bool(head.strip())
    return bool(lines and _YAML_ENTRY.match(lines[0])) and any(map(_GROUPS_FILE_KEY.match, lines))
