"""What kind of table a file contains, by its columns: one rule for readers and for inspection.

The options of an audit say which file is of which kind. Where a reader misses a column, it names
the kind by this rule; an inspection has no options and uses the rule alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl  # noqa: TC002 - for the examples

from parivox.data.cell_words import mostly_scores
from parivox.data.columns import (
    ALIASES,
    MODEL_NAMES,
    SPEAKER_NAMES,
    UTTERANCE_NAMES,
    plain_name,
)
from parivox.data.formats import are_segments
from parivox.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

_PANDAS_INDEX_NAME = re.compile(r"|unnamed[:_ ]*\d+.*|index|level_\d+|__index_level_\d+__")
"""An index that pandas adds to the data, in lower case."""
_ID_NAME = r"(?i)(^|[ _.-])(id|code|nr|no|name)$"
_MAX_SAMPLED_ROWS = 200
FAILURE_NAMES = {
    "recording": (*UTTERANCE_NAMES, "model", "modelid"),
    "stage": ("stage", "failurestage", "step"),
    "reason": ("reason", "cause", "why"),
}


def table_kind(table: pl.DataFrame) -> tuple[str, dict[str, str]]:
    """Return the kind of a table whose readers know its columns, and the column of each role.

    It is one of speakers, utterances, models and failures, as the options of an audit are called;
    empty if no reader knows a column.

    Examples
    --------
    >>> table_kind(pl.DataFrame({"row": [2, 3], "file": ["a/1", "a/2"], "speaker": ["a", "a"]}))
    ('utterances', {'utterance': 'file', 'speaker': 'speaker'})
    """
    columns = [column for column in table.columns if column != "row"]
    models, utterances, failures = (
        find_columns(table) for find_columns in (model_columns, utterance_columns, failure_columns)
    )
    if {"model", "speaker"} <= models.keys():
        return "models", models
    other_names = {plain_name(name) for name in columns if name not in models.values()}
    if {"model", "recording"} <= models.keys() and other_names <= {"side"}:
        return "models", models
    speaker, recording = utterances.get("speaker", ""), utterances.get("utterance", "")
    repeats = bool(speaker) and bool(table[speaker].is_duplicated().any())
    # people have an id, too
    if plain_name(recording) == "id" and (not repeats or table[recording].is_duplicated().any()):
        recording = ""
    # recordings of an embedding store have a status
    has_speaker = speaker or any(plain_name(column) in ALIASES["status"] for column in columns)
    is_failure = "stage" in failures or ("reason" in failures and not has_speaker)
    if (recording or "model" in models) and is_failure:
        return "failures", failures
    if recording and (repeats or not speaker):
        return "utterances", utterances
    speaker = speaker or likely_id_column(table.select(columns))
    return ("speakers", {"speaker": speaker}) if speaker else ("", {})


def find_column(
    table: pl.DataFrame, role: str, known_names: Sequence[str], name: str, kind: str = ""
) -> str:
    """Return the column of a role by its known names.

    One that is missing is empty; with the `name` of a file it is refused, and with its `kind` a
    file of another kind is named as such.
    """
    columns = [column for column in table.columns if column != "row"]
    names = {plain_name(column): column for column in reversed(columns)}
    for word in known_names:
        if word in names:
            return names[word]
    if not name:
        return ""
    listed = ", ".join(repr(column) if column else "one without a name" for column in columns)
    instead = f" (found: {listed})" if columns else " (found: no columns)"
    remedy = "rename or add this column"
    if kind and (other_kind := table_kind(table)[0]) not in {kind, ""}:
        remedy += f". If this is a table of {other_kind}, give it with --{other_kind}"
    msg = f"{name}: has no column {role!r}{instead}"
    raise DataError(msg, remedy)


def utterance_columns(table: pl.DataFrame) -> dict[str, str]:
    """Return the columns of utterances and speakers of a table, as far as there are any, by role.

    If no name is known, the only column whose cells are all different has the utterances, next to a
    column of several speakers who have two rows or more on average.

    Examples
    --------
    >>> table = pl.DataFrame({"Datei": ["u", "v", "w", "x"], "spk": ["a", "a", "b", "b"]})
    >>> utterance_columns(table)
    {'utterance': 'Datei', 'speaker': 'spk'}
    """
    speaker = find_column(table, "speaker", SPEAKER_NAMES, "")
    utterance = find_column(table, "utterance", UTTERANCE_NAMES, "")
    if not utterance and speaker and 1 < table[speaker].n_unique() <= table.height / 2:
        unique_columns = [
            column
            for column in table.columns
            if column != "row" and table[column].drop_nulls().n_unique() == table.height
        ]
        utterance = unique_columns[0] if len(unique_columns) == 1 else ""
    columns = {"utterance": utterance, "speaker": speaker}
    return {role: column for role, column in columns.items() if column}


def model_columns(table: pl.DataFrame) -> dict[str, str]:
    """Return the columns of models, speakers, recordings and sides, as far as there are any.

    Examples
    --------
    >>> model_columns(pl.DataFrame({"row": [2], "id": ["a/1"], "model": ["m"]}))
    {'model': 'model', 'recording': 'id'}
    """
    columns: dict[str, str] = {}
    known_names = {"model": MODEL_NAMES, "speaker": SPEAKER_NAMES, "recording": UTTERANCE_NAMES}
    for role, names in known_names.items():
        if column := find_column(table.drop(columns.values()), role, names, ""):
            columns[role] = column
    side = find_column(table, "side", ("side",), "")
    if side and are_segments(columns.get("model", ""), columns.get("recording", "")):
        columns["side"] = side
    return columns


def failure_columns(table: pl.DataFrame) -> dict[str, str]:
    """Return the columns of recordings, stages and reasons, as far as there are any.

    Examples
    --------
    >>> failure_columns(pl.DataFrame({"file": ["a/1"], "step": ["enrol"]}))
    {'recording': 'file', 'stage': 'step'}
    """
    columns = {role: find_column(table, role, names, "") for role, names in FAILURE_NAMES.items()}
    return {role: column for role, column in columns.items() if column}


def likely_id_column(table: pl.DataFrame) -> str:
    """Return the column of ids of a table of speakers, of whom no trials tell; may be empty.

    Best is a name of speakers, then a name as of ids above different cells, then different cells,
    then such a name.

    Examples
    --------
    >>> likely_id_column(pl.DataFrame({"town": ["x", "y"], "patient no": ["7", "9"]}))
    'patient no'
    """
    unique = [
        column
        for column in table.columns
        if table[column].null_count() == 0 and table[column].is_unique().all()
    ]
    id_names = [column for column in table.columns if re.search(_ID_NAME, column.strip())]
    candidates = [
        *(column for column in id_names if column in unique),
        *(column for column in unique if not is_pandas_index(column)),
        *id_names,
        *unique,
    ]
    for column in candidates:
        if not mostly_scores(table[column].drop_nulls().head(_MAX_SAMPLED_ROWS).to_list()):
            return column
    return ""


def is_pandas_index(column: str) -> bool:
    """Whether a column is an index that pandas adds to the data."""
    return _PANDAS_INDEX_NAME.fullmatch(column.strip().lower()) is not None
