"""Roles of columns of trials without known names, by what their cells contain.

Readers look at cells only if names leave the enrolments or tests open, or if nothing is known that
became of the trials. What they take so, they state.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from parivox.data.cell_words import (
    DECISIONS,
    MAX_DECISION_WORDS,
    is_decision,
    is_label,
    is_number,
    mostly_scores,
)
from parivox.data.columns import (
    MODEL_NAMES,
    SPEAKER_NAMES,
    UTTERANCE_NAMES,
    column_positions,
    plain_name,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parivox.data.columns import RequestedColumns

MAX_ROWS = 10_000
"""First rows that are looked at."""
_MAX_SAMPLED_ROWS = 200
_OUTCOMES = {"score", "decision", "label"}
_SIDES = ("enrol", "test")
_MIN_CUSTOMERS = 10
_MIN_GENUINE_SHARE = 0.2  # of the calls in a log
_MIN_SHARE_DIFFERENCE = 0.2  # of decisions, between true and false claims


def roles_by_content(frame: pl.DataFrame, requested: RequestedColumns) -> dict[str, str]:
    """Return the columns of the roles that names leave open, by role; empty for other tables.

    A table holds trials if the names of columns, or the user, give a decision, or one side with a
    score or label; the other side is then an id column. Without such names it holds trials if two
    columns of ids have some in common, or are paths, and a further column holds labels or scores;
    or if it is a log with a row a call. A list of trials may have decisions in words.

    Parameters
    ----------
    frame
        First rows as text; an empty cell is null.
    requested
        The user's columns.
    """
    positions = column_positions(frame.columns, replace(requested, attributes=()), "")
    named = {role: frame.columns[position] for role, position in positions.items()}
    if "side" in named and "side" not in requested.by_role:
        del named["side"]
    if not named and (
        first_row_like_data(frame) or any(is_number(name) or "/" in name for name in frame.columns)
    ):
        return {}  # without a header: rows are never taken for names
    missing_sides = [side for side in _SIDES if side not in named]
    free_columns = [column for column in frame.columns if column not in named.values()]
    if not missing_sides:
        is_list = not {"score", "decision"} & set(named)
        decision = _decision_column(frame.select(free_columns), None) if is_list else ""
        return {"decision": decision} if decision else {}
    roles = _roles_of_pairs(frame, named, missing_sides)
    if not roles and "enrol" not in named:
        roles = _roles_of_calls(frame, requested, named)
    return {role: column for role, column in roles.items() if role not in requested.by_role}


def _roles_of_pairs(
    frame: pl.DataFrame, named: Mapping[str, str], missing_sides: Sequence[str]
) -> dict[str, str]:
    """Return the missing sides and outcomes of trials; empty if a side is not found."""
    outcomes = {} if _OUTCOMES & set(named) else _outcome_columns(frame, named)
    if not outcomes and not _OUTCOMES & set(named):
        return {}
    free_columns = [
        column for column in frame.columns if column not in {*named.values(), *outcomes.values()}
    ]
    ids = _id_columns(frame, free_columns)
    if "decision" not in named and len(missing_sides) == len(_SIDES):
        sides = dict(zip(_SIDES, ids, strict=False)) if _look_like_sides(frame, ids) else {}
    else:
        sides = _side_columns(free_columns, ids, missing_sides, named)
    return {**sides, **outcomes} if len(sides) == len(missing_sides) else {}


def _outcome_columns(frame: pl.DataFrame, named: Mapping[str, str]) -> dict[str, str]:
    """Return the first column of labels and the first one of scores."""
    outcomes: dict[str, str] = {}
    for column in frame.columns:
        cells = _first_cells(frame, column) if column not in named.values() else []
        if cells and "label" not in outcomes and all(map(is_label, cells)):
            outcomes["label"] = column
        elif cells and "score" not in outcomes and mostly_scores(cells):
            outcomes["score"] = column
    return outcomes


def _id_columns(frame: pl.DataFrame, columns: Sequence[str]) -> list[str]:
    """Return the columns that are neither empty nor scores."""
    return [name for name in columns if not mostly_scores(_first_cells(frame, name) or ["0.5"])]


def _roles_of_calls(
    frame: pl.DataFrame, requested: RequestedColumns, named: Mapping[str, str]
) -> dict[str, str]:
    """Return the roles of columns in a call log: calls are unique, customers repeat.

    Columns that are known by name once the decisions are named are left out.

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
    free_columns = [name for name in frame.columns if name not in named.values()]
    has_outcome = bool({"score", "decision"} & set(named))
    decision = "" if has_outcome else _decision_column(frame.select(free_columns), None)
    if decision and _names_both_sides(frame, requested, decision):
        return {"decision": decision}
    ids = [name for name in _id_columns(frame, free_columns) if name != decision]
    call_column = named.get("test") or _call_column(frame, ids)
    people = _customer_columns(frame, ids, is_decided=bool(decision) or "decision" in named)
    if not call_column or not people:
        return {}
    claimed_column, customer_column = people
    if not has_outcome and not decision:
        is_genuine = frame[claimed_column] == frame[customer_column]
        decision = _decision_column(frame.select(ids), None if is_genuine.all() else is_genuine)
        if not decision or _names_both_sides(frame, requested, decision):
            return {"decision": decision} if decision else {}
    return {
        **({"decision": decision} if decision else {}),
        "test": call_column,
        "enrol": claimed_column,
        "enrol_speaker": claimed_column,
        "test_speaker": customer_column,
    }


def _call_column(frame: pl.DataFrame, ids: Sequence[str]) -> str:
    """Return the first column whose cells are all different; empty if there is none."""
    for column in ids:
        if plain_name(column) not in SPEAKER_NAMES and frame[column].n_unique() == frame.height:
            return column
    return ""


def _customer_columns(
    frame: pl.DataFrame, ids: Sequence[str], *, is_decided: bool
) -> tuple[str, str] | None:
    """Return the columns of who is claimed and who calls, perhaps the same; None without any.

    With decisions, a name that is known for customers is enough; others need many customers.
    """
    n_distinct = {column: frame[column].n_unique() for column in ids}
    repeated_columns = [
        column
        for column in ids
        if n_distinct[column] <= frame.height / 2
        and (
            n_distinct[column] >= _MIN_CUSTOMERS
            or (is_decided and plain_name(column) in SPEAKER_NAMES)
        )
    ]
    if not repeated_columns:
        return None
    customer_column = max(repeated_columns, key=lambda column: n_distinct[column])
    for column in repeated_columns:
        is_genuine = frame[column] == frame[customer_column]
        # the claimed identity equals the caller in genuine calls, which are a fair share of all
        if column != customer_column and is_genuine.sum() > _MIN_GENUINE_SHARE * frame.height:
            return column, customer_column
    return customer_column, customer_column


def _names_both_sides(frame: pl.DataFrame, requested: RequestedColumns, decision: str) -> bool:
    """Whether names give both sides once the column of decisions is known."""
    by_role = {**requested.by_role, "decision": decision}
    completed = replace(requested, by_role=by_role, attributes=())
    return {"enrol", "test"} <= column_positions(frame.columns, completed, "").keys()


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
        words = frame[column].drop_nulls().str.to_lowercase()
        distinct_words = words.unique().to_list()
        if not 1 < len(distinct_words) <= MAX_DECISION_WORDS or all(map(is_label, distinct_words)):
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


def first_row_like_data(frame: pl.DataFrame) -> str:
    """Return a name of a column that seems to be a cell of the first row; empty if none does.

    It has digits and the same shape as the cells below it.
    """

    def shape(text: str) -> str:
        return re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "9", text))

    for column in frame.columns:
        name_shape = shape(column)
        cells_below = frame[column].drop_nulls().head(100).to_list()
        if (
            "9" in name_shape
            and len(cells_below) > 1
            and all(shape(cell) == name_shape for cell in cells_below)
        ):
            return column
    return ""


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
    return frame[column].head(_MAX_SAMPLED_ROWS).drop_nulls().to_list()


def _look_like_sides(frame: pl.DataFrame, ids: Sequence[str]) -> bool:
    """Whether the first two columns contain ids of one kind, or paths, but not a speaker."""
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
    named: Mapping[str, str],
) -> dict[str, str]:
    """Return a column for each side without a known name; none in a table of models."""
    speaker_columns = [column for column in free_columns if plain_name(column) in SPEAKER_NAMES]
    has_outcome = bool({"decision", "score"} & set(named))
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


def roles_in_words(columns: Mapping[str, str], roles: Sequence[str]) -> str:
    """Return which columns were taken for which roles by what they contain.

    Examples
    --------
    >>> roles_in_words({"enrol": "u", "test": "v", "score": "score"}, ["enrol", "test"])
    "columns recognised by their content: enrol = 'u', test = 'v'"
    """
    taken = ", ".join(f"{role} = {columns[role]!r}" for role in roles)
    return f"columns recognised by their content: {taken}"
