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
from parivox.data.columns import (
    ALIASES,
    SPEAKER_NAMES,
    RequestedColumns,
    column_positions,
    plain_name,
)
from parivox.data.enrolment_maps import ENROLMENT_MAP, read_enrolment_map
from parivox.data.formats import are_scores_without_ids
from parivox.data.formats.delimited import COMMENT_LINES, DELIMITED, SPANNING_RECORDS, head_lines
from parivox.data.formats.headerless import mostly_scores
from parivox.data.groups_file import read_groups_file
from parivox.data.inspection.findings import FileFindings, IdFindings, InspectedColumn
from parivox.data.plain_scores import plain_score_positions
from parivox.data.recordings import (
    MODEL_NAMES,
    REASON_NAMES,
    read_failures,
    read_models,
    read_utterances,
    with_one_recording_a_row,
)
from parivox.data.requested_groupings import MAX_DEFAULT_VALUES, MIN_DEFAULT_VALUES
from parivox.data.source_bytes import read_content
from parivox.data.speakers import UTTERANCE_NAMES, Speakers, find_column, read_table
from parivox.data.trial_values import DECISIONS, is_decision, is_label, is_number
from parivox.data.value_warnings import (
    DataWarning,
    distant_number_warnings,
    id_warnings,
    value_warnings,
)
from parivox.errors import DataError, ParivoxError
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


PLAIN_SCORES = "scores without ids"
"""Scores with labels, or numbers alone: nothing tells whose they are."""
_RECORDING_NAMES = tuple(word for word in UTTERANCE_NAMES if word != "id")
_ID_NAME_PATTERN = r"(?i)(^|[ _.-])(id|code|nr|no|name)$"
_OUTCOMES = {"score", "decision", "label"}
_ID_ROLES = {
    "speakers": ("speaker",),
    "utterances": ("utterance", "speaker"),
    "models": ("model", "speaker", "recording"),
    "failures": ("recording",),
    PLAIN_SCORES: (),
}
"""Roles of each kind of table whose columns hold ids."""
_MAX_EXAMPLE_IDS = 2
_SIDES = ("enrol", "test")
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
_MIN_CUSTOMERS = 10
_MAX_OUTCOME_WORDS = 8
_MIN_GENUINE_SHARE = 0.2  # of the calls in a log
_MIN_SHARE_DIFFERENCE = 0.2  # of decisions, between true and false claims
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
    kind, roles = _table_kind(table)
    if provenance["format"] == DELIMITED.name and are_scores_without_ids(read_content(source).head):
        kind, roles = PLAIN_SCORES, {"score": "score", "label": "label"}
        table = table.rename(dict(zip(table.columns[1:], roles, strict=True)))
    if enrolment_map is not None:
        kind, roles = "models", {"model": "model", "recording": "recording"}
    inspected = with_kind(InspectedTable(findings, source, table, provenance), kind, roles)
    if inspected.findings.kind != PLAIN_SCORES:
        return inspected
    return replace(
        inspected, findings=replace(inspected.findings, use=_metrics_command(inspected, name))
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
    ids, odd = [], []
    for role, name in id_columns.items():
        distinct = inspected.distinct(name)
        ids.append(IdFindings(f"{role}s", len(distinct), tuple(distinct.head(_MAX_EXAMPLE_IDS))))
        odd += id_warnings(distinct)
    unique_role = {"speakers": "speaker", "utterances": "utterance"}.get(kind, "")
    if unique_role in roles:
        filled = table[roles[unique_role]].drop_nulls()
        repeated = filled.filter(filled.is_duplicated()).unique(maintain_order=True)
        if len(repeated):
            odd.append(
                DataWarning(
                    f"{unique_role}s with several rows", len(repeated), f"such as {repeated[0]}"
                )
            )
    for name in (roles[role] for role in roles if role in id_columns):
        n_empty = int((table[name].is_null() | (table[name] == "")).sum())
        odd += [DataWarning(f"rows with nothing in {name!r}", n_empty)] if n_empty else []
    if header := _header_like_data(table, inspected.columns):
        odd.append(
            DataWarning("is there no header? the first row is made like the others", 0, header)
        )
        columns = [replace(column, groups=False) for column in columns]  # their names are values
    findings = replace(
        inspected.findings,
        kind=kind,
        read=reading,
        roles=roles,
        columns=tuple(columns),
        ids=tuple(ids),
        odd=tuple(odd),
        problems=_reader_problems(inspected, kind, roles.get("speaker")),
    )
    return replace(inspected, findings=findings)


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
                f"{name}: has no known columns and no ids of speakers (found: {names}); put names "
                "above its columns, such as enrol,test,score,label or speaker,gender"
            )
            return (problem,)
        elif (
            speaker is not None
        ):  # finds contradictions about a speaker, if the column of ids is known
            Speakers(inspected.table, name=name, id=speaker, conflicts="error", provenance={})
    except DataError as error:
        return (str(error),)
    return ()


def _table_kind(table: pl.DataFrame) -> tuple[str, dict[str, str]]:
    """Return the kind of a table by the names of its columns, and the column of each role."""
    columns = [column for column in table.columns if column != "row"]

    def find(known_names: Sequence[str], *excluded: str) -> str:
        return find_column(table.drop(*excluded), "", known_names, "")

    def named(**roles: str) -> dict[str, str]:
        return {role: column for role, column in roles.items() if column}

    speaker, recording = find(SPEAKER_NAMES), find(_RECORDING_NAMES)
    model_column, stage, reason = (
        find(MODEL_NAMES),
        find(sorted(ALIASES["stage"])),
        find(REASON_NAMES),
    )
    if model_column and speaker:
        recording = find(UTTERANCE_NAMES, model_column, speaker)
        return "models", named(model=model_column, speaker=speaker, recording=recording)
    if (
        model_column
        and recording
        and set(map(plain_name, columns))
        <= {plain_name(model_column), plain_name(recording), "side"}
    ):
        return "models", named(model=model_column, recording=recording)
    has_speaker = speaker or find(
        sorted(ALIASES["status"])
    )  # recordings of an embedding store have one
    if (recording or model_column) and (stage or (reason and not has_speaker)):
        return "failures", named(recording=recording or model_column, stage=stage, reason=reason)
    repeats = bool(speaker) and bool(table[speaker].is_duplicated().any())
    if not recording and repeats:
        id_column = find(("id",), speaker)
        recording = id_column if id_column and not table[id_column].is_duplicated().any() else ""
    if recording and (repeats or not speaker):
        return "utterances", named(utterance=recording, speaker=speaker)
    if not speaker and (roles := _plain_score_roles(table.select(columns))) is not None:
        return PLAIN_SCORES, roles
    if not speaker:  # take a column with the name or the values of ids
        unique_columns = [
            column
            for column in columns
            if table[column].null_count() == 0 and table[column].is_unique().all()
        ]
        named_like_ids = [
            column for column in columns if re.search(_ID_NAME_PATTERN, column.strip())
        ]
        # best a column with both, then one with unique values, then one with such a name
        both = [column for column in named_like_ids if column in unique_columns]
        candidates = [
            column
            for column in (*both, *unique_columns, *named_like_ids)
            if not mostly_scores(table[column].drop_nulls().head(_MAX_SAMPLED_ROWS).to_list())
        ]
        speaker = candidates[0] if candidates else ""
    return "speakers", named(speaker=speaker)


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


def _header_like_data(table: pl.DataFrame, columns: list[str]) -> str:
    """Return the name of a column that has the same shape as its cells, digits included."""

    def shape(text: str) -> str:
        return re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "9", text))

    for column in columns:
        name_shape = shape(column)
        cells_below = table[column].drop_nulls().head(100).to_list()
        if (
            "9" in name_shape
            and len(cells_below) > 1
            and all(shape(cell) == name_shape for cell in cells_below)
        ):
            return column
    return ""


def roles_of_trials(frame: pl.DataFrame, requested_columns: RequestedColumns) -> dict[str, str]:
    """Return the columns of trials by role, recognised by content; empty for other tables.

    A table holds trials if the names of columns, or the user, give a decision, or one side with a
    score or label; the other side is then an id column. Without such names it holds trials if two
    columns of ids have some in common, or are paths, and a further column holds labels or scores.
    """
    try:
        positions = column_positions(frame.columns, requested_columns, "")
    except DataError:
        positions = {}
    named_roles = {role: frame.columns[position] for role, position in positions.items()}
    outcomes = dict(named_roles)
    if not _OUTCOMES & set(named_roles):
        for column in frame.columns:
            cells = _first_cells(frame, column) if column not in named_roles.values() else []
            if cells and "label" not in outcomes and all(map(is_label, cells)):
                outcomes["label"] = column
            elif cells and "score" not in outcomes and mostly_scores(cells):
                outcomes["score"] = column
    free_columns = [column for column in frame.columns if column not in outcomes.values()]
    ids = [name for name in free_columns if not mostly_scores(_first_cells(frame, name) or ["0.5"])]
    missing_sides = [side for side in _SIDES if side not in named_roles]
    if "decision" not in named_roles and len(missing_sides) == len(_SIDES):
        sides = dict(zip(_SIDES, ids, strict=False)) if _look_like_sides(frame, ids) else {}
    else:
        sides = _side_columns(free_columns, ids, missing_sides, named_roles)
    user_roles = {
        role: named_roles[role] for role in requested_columns.by_role if role in named_roles
    }
    if not _OUTCOMES & set(outcomes) or len(sides) < len(missing_sides):
        call_roles = (
            {} if "enrol" in named_roles else _call_log_roles(frame, requested_columns, named_roles)
        )
        return call_roles and {**call_roles, **user_roles}
    new_outcomes = {role: column for role, column in outcomes.items() if role not in named_roles}
    return {**sides, **new_outcomes, **user_roles}


def _call_log_roles(
    frame: pl.DataFrame, requested_columns: RequestedColumns, named_roles: Mapping[str, str]
) -> dict[str, str]:
    """Return the roles of columns in a call log: calls are unique, customers repeat.

    Columns that an audit recognises by name once the decisions are named are left out.

    Examples
    --------
    >>> from parivox.data.columns import RequestedColumns
    >>> people, words = [f"k{i % 10}" for i in range(20)], ["accepted", "rejected"] * 10
    >>> log = pl.DataFrame({"no": [str(i) for i in range(20)], "wer": people, "ok": words})
    >>> _call_log_roles(log, RequestedColumns(), {})
    {'decision': 'ok', 'test': 'no', 'enrol': 'wer', 'enrol_speaker': 'wer', 'test_speaker': 'wer'}
    >>> _call_log_roles(log.rename({"no": "call", "wer": "customer"}), RequestedColumns(), {})
    {'decision': 'ok'}
    """
    free_columns = [column for column in frame.columns if column not in named_roles.values()]
    ids = [name for name in free_columns if not mostly_scores(_first_cells(frame, name) or ["0.5"])]
    distinct = {column: frame[column].n_unique() for column in ids}
    call_column = named_roles.get("test", "")
    for column in ids:
        if not call_column and distinct[column] == frame.height:
            call_column = column
    repeated_columns = {
        column: n_distinct
        for column, n_distinct in distinct.items()
        if _MIN_CUSTOMERS <= n_distinct <= frame.height / 2
    }
    if not (call_column and repeated_columns):
        return {}
    customer_column = max(repeated_columns, key=lambda column: repeated_columns[column])
    genuine = {
        column: frame[column] == frame[customer_column]
        for column in repeated_columns
        if column != customer_column
    }
    # the claimed identity equals the caller in genuine calls, which are a fair share of all
    claimed_column = customer_column
    for column, is_genuine in genuine.items():
        if is_genuine.sum() > _MIN_GENUINE_SHARE * frame.height:
            claimed_column = column
            break
    roles = {}
    if not {"score", "decision"} & set(named_roles):
        decision = _decision_column(frame.select(ids), genuine.get(claimed_column))
        if not decision:
            return {}
        roles = {"decision": decision}
        completed_columns = replace(
            requested_columns, by_role={**requested_columns.by_role, **roles}
        )
        if {"enrol", "test"} <= set(column_positions(frame.columns, completed_columns, "")):
            return roles
    person_roles = {
        "enrol": claimed_column,
        "enrol_speaker": claimed_column,
        "test_speaker": customer_column,
    }
    return roles | {"test": call_column} | person_roles


def _decision_column(frame: pl.DataFrame, genuine: pl.Series | None) -> str:
    """Return the column of decisions: few words, known ones or related to `genuine` claims.

    Examples
    --------
    >>> log = pl.DataFrame({"line": ["x", "y"] * 20, "ok": ["oui"] * 19 + ["non"] * 21})
    >>> _decision_column(log, None), _decision_column(log, pl.Series([True] * 20 + [False] * 20))
    ('', 'ok')
    """
    differences: dict[str, float] = {}
    for column in frame.columns:
        words = frame[column].drop_nulls().str.strip_chars().str.to_lowercase()
        distinct_words = words.unique().to_list()
        if not 1 < len(distinct_words) <= _MAX_OUTCOME_WORDS or all(map(is_label, distinct_words)):
            continue
        if {DECISIONS[word] for word in distinct_words if is_decision(word)} == {0, 1}:
            return column
        if genuine is not None and not genuine.all():
            differences[column] = _share_difference(frame[column], genuine)
    # a column that separates claims completely repeats them: it is no decision
    differences = {
        column: share for column, share in differences.items() if _MIN_SHARE_DIFFERENCE < share < 1
    }
    return max(differences, key=lambda column: differences[column]) if differences else ""


def _share_difference(cells: pl.Series, is_first: pl.Series) -> float:
    """Return the difference of word shares between two parts of a column, from 0 to 1.

    Examples
    --------
    >>> _share_difference(pl.Series(["a", "b", "a", "a"]), pl.Series([True] * 2 + [False] * 2))
    0.5
    """
    rows = pl.DataFrame({"word": cells, "is_first": is_first}).drop_nulls()
    counts = rows.group_by("word").agg(
        first=pl.col("is_first").sum(), second=(~pl.col("is_first")).sum()
    )
    shares = [counts[part] / max(counts[part].sum(), 1) for part in ("first", "second")]
    return float((shares[0] - shares[1]).abs().sum()) / 2


def _first_cells(frame: pl.DataFrame, column: str) -> list[str]:
    return [cell for cell in frame[column].head(_MAX_SAMPLED_ROWS).to_list() if cell]


def _look_like_sides(frame: pl.DataFrame, ids: Sequence[str]) -> bool:
    """Whether the first two columns hold ids of one kind, or paths, but not a speaker."""
    if len(ids) < len(_SIDES) or any(
        plain_name(column) in SPEAKER_NAMES for column in frame.columns
    ):
        return False
    if all(plain_name(column) in UTTERANCE_NAMES for column in ids[: len(_SIDES)]):
        return False
    if frame[ids[0]].equals(frame[ids[1]]):  # an id and its path
        return False
    first_ids, second_ids = (frame[column].drop_nulls().unique() for column in ids[: len(_SIDES)])
    paths = all(cells.str.contains("/").all() for cells in (first_ids, second_ids))
    return bool(first_ids.is_in(second_ids.implode()).any()) or paths


def _side_columns(
    free_columns: Sequence[str],
    ids: Sequence[str],
    missing_sides: Sequence[str],
    named_roles: dict[str, str],
) -> dict[str, str]:
    """Return a column for each side without a known name; none in a table of models."""
    speaker_columns = [column for column in free_columns if plain_name(column) in SPEAKER_NAMES]
    has_outcome = bool({"decision", "score"} & set(named_roles))
    if speaker_columns and not has_outcome:
        return {}  # models and their recordings, with the speaker of each
    known_names = {"enrol": MODEL_NAMES, "test": UTTERANCE_NAMES}
    column_by_side: dict[str, str] = {}
    for side in missing_sides:
        remaining = [column for column in free_columns if column not in column_by_side.values()]
        candidates = [column for column in remaining if plain_name(column) in known_names[side]]
        if not candidates and len(missing_sides) == 1 and has_outcome:
            candidates = [
                column for column in ids if column in remaining and column not in speaker_columns
            ]
        if candidates:
            column_by_side[side] = candidates[0]
    return column_by_side


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
        known = text.to_frame().filter(cell.is_not_null() & ~unknown_cells(cell)).to_series()
        self._unknown += len(cells) - len(known)
        counted = known.rename("value").value_counts().cast(_COUNTS_SCHEMA)  # type: ignore[arg-type]
        if self._number_ranges is not None and len(known):
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
        return words if len(words) <= _MAX_OUTCOME_WORDS else []

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
            () if role or (is_name and numbers is None) else self._odd(name, ordered),
            bool(bands)
            or (
                not role and MIN_DEFAULT_VALUES <= n_distinct <= MAX_DEFAULT_VALUES and not is_name
            ),
            bands,
        )

    def _odd(self, name: str, values: pl.Series) -> tuple[DataWarning, ...]:
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
    known = numbers.filter(numbers.is_finite()).to_numpy()
    return (float(known.min()), float(known.max())) if known.size == len(values) else None


def inspect_groups(source: Any, name: str) -> FileFindings | None:
    """Inspect a groups file, recognised by its name or its keys; None for other sources."""
    if not isinstance(source, (str, os.PathLike)) or not _may_be_groups_file(source):
        return None
    try:
        file = read_groups_file(source)
    except ParivoxError as error:
        return FileFindings(name, "groups", "yaml", problems=(str(error),))
    groups = {attribute: tuple(recipe.groups) for attribute, recipe in file.definitions.items()}
    return FileFindings(name, "groups", "yaml", groups=groups, by=file.by or ())


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
