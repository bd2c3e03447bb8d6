"""Scores with labels and perhaps groups, but without ids: what error rates need, and no more."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.data.attributes import unknown_cells
from parivox.data.cell_words import is_label, is_number
from parivox.data.columns import RequestedColumns, column_positions
from parivox.data.formats import may_be_trials, scan_content, table_format, translate_words
from parivox.data.formats.delimited import (
    DELIMITED,
    check_text,
    head_lines,
    read_header,
    read_text,
    split_line,
)
from parivox.data.formats.format import Chunk, Scan
from parivox.data.search_columns import identification_form, needs_gallery_error
from parivox.data.source_bytes import read_content
from parivox.data.speakers import read_table
from parivox.data.trial_values import bona_fide_labels, numbers
from parivox.errors import ConfigError, DataError, name_hint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from parivox.data.source_bytes import SourceBytes

_MAX_SAMPLED_ROWS = 1000


@dataclass(frozen=True)
class PlainScores:
    """Scores, their labels and groups, each of shape (trial,)."""

    score: NDArray[np.float64]
    is_target: NDArray[np.bool_]
    group: NDArray[np.str_] | None  # empty where unknown
    name: str  # of the source
    n_without_score: int = 0


def plain_scores(
    scores: Any,
    labels_of_scores: ArrayLike | None = None,
    groups: Any = None,
    *,
    columns: Mapping[str, str] | None = None,
) -> PlainScores:
    """Read scores from arrays, a table or a file; `groups` may name a column of it."""
    if labels_of_scores is not None:
        group = None if groups is None else _group_names(_cells(groups))
        score = _numbers(scores, "scores")
        return _checked(score, _labels(labels_of_scores, columns), group, "scores")
    table, name = _read_scores(scores)
    requested = RequestedColumns(dict(columns or {}))
    names = table.columns[1:]
    positions = plain_score_positions(table.drop("row"), requested, name)
    for role in ("score", "label"):
        if role not in positions:
            if identification_form(names):
                raise needs_gallery_error(name)
            msg = f"{name}: has no column of {role}s (found: {', '.join(names)})"
            hint = f"name it with --columns {role}=..."
            raise DataError(msg, hint)
    roles = {role: names[positions[role]] for role in ("score", "label")}
    rows = Chunk(
        table.select(**{role: pl.col(column) for role, column in roles.items()}),
        table["row"].to_list(),
        name,
        roles,
    )
    (rows,) = translate_words(Scan(name, "", roles, (), lambda: iter([rows])), requested).chunks()
    group = None
    if groups is not None:
        if groups not in names:
            msg = f"--by {groups!r}: is not a column of {name}"
            hint = name_hint(str(groups), names)
            raise ConfigError(msg, hint)
        group = _group_names(table[groups])
    return _checked(numbers(rows, "score"), bona_fide_labels(rows) == 1, group, name)


def plain_score_positions(
    table: pl.DataFrame, requested: RequestedColumns, name: str
) -> dict[str, int]:
    """Return the position of the column of each role, by its name or, of labels, by its words.

    Examples
    --------
    >>> table = pl.DataFrame({"score": ["0.5", "0.1"], "type": ["genuine", "impostor"]})
    >>> plain_score_positions(table, RequestedColumns(), "s.csv")
    {'score': 0, 'label': 1}
    """
    positions = column_positions(table.columns, requested, name)
    if "label" not in positions:
        free_positions = [i for i in range(table.width) if i not in positions.values()]
        label_positions = [i for i in free_positions if _are_label_words(table.to_series(i))]
        if len(label_positions) == 1:
            positions["label"] = label_positions[0]
    return positions


def _are_label_words(cells: pl.Series) -> bool:
    """Return whether cells are labels in words, of both classes; numbers may be anything."""
    if cells.dtype != pl.String:
        return False
    words = cells.drop_nulls().head(_MAX_SAMPLED_ROWS).unique().to_list()
    return len(words) == 2 and all(is_label(word) and not is_number(word) for word in words)


def scores_by_class(target: Any, nontarget: Any) -> PlainScores:
    """Read scores of target trials and of nontarget trials, each an array or a file of numbers."""
    arrays, names = [], []
    for source, role in ((target, "target"), (nontarget, "nontarget")):
        if isinstance(source, (str, os.PathLike)):
            array, name = _numbers_of_file(source)
        else:
            array, name = np.asarray(source, dtype=np.float64), role
        arrays.append(array)
        names.append(name)
    is_target = np.repeat([True, False], [array.size for array in arrays])
    return _checked(np.concatenate(arrays), is_target, None, " and ".join(names))


def _numbers(array: Any, name: str) -> NDArray[np.float64]:
    """Return an array of any library as numbers."""
    try:
        return np.asarray(array, dtype=np.float64)
    except Exception as error:
        msg = f"{name}: not an array of numbers ({error})"
        hint = "give one number for each trial"
        raise DataError(msg, hint) from error


def _labels(array: ArrayLike, columns: Mapping[str, str] | None) -> NDArray[Any]:
    """Return labels as they are, or those in words as an audit reads them."""
    label = np.asarray(array)
    if label.ndim != 1 or not label.size or not all(isinstance(word, str) for word in label):
        return label
    roles = {"label": "label"}
    frame = pl.DataFrame({"label": label.tolist()})
    words = Chunk(frame, range(1, label.size + 1), "labels", roles)
    word_scan = Scan("labels", "", roles, (), lambda: iter([words]))
    (chunk,) = translate_words(word_scan, RequestedColumns(dict(columns or {}))).chunks()
    return np.asarray(bona_fide_labels(chunk) == 1)


def _cells(groups: Any) -> pl.Series:
    """Return the group of each trial, of any type, from an array of any library."""
    try:
        cells = groups if isinstance(groups, pl.Series) else pl.Series([*groups], strict=False)
    except Exception as error:
        msg = f"groups: not an array ({error})"
        hint = "give one group name for each trial"
        raise DataError(msg, hint) from error
    if cells.dtype.is_nested() or cells.dtype == pl.Object:
        msg = "groups: contains lists or objects"
        hint = "give one group name for each trial"
        raise DataError(msg, hint)
    return cells


def _group_names(cells: pl.Series) -> NDArray[np.str_]:
    """The group of each trial as text; empty where it is not known."""
    if cells.dtype.is_float():
        cells = cells.fill_nan(None)
    text = pl.col("group").cast(pl.String)
    known = pl.when(~unknown_cells(text)).then(text).otherwise(pl.lit("")).fill_null("")
    return np.asarray(cells.alias("group").to_frame().select(known)["group"].to_numpy(), np.str_)


def _checked(
    score: NDArray[np.float64],
    is_target: NDArray[Any],
    group: NDArray[np.str_] | None,
    name: str,
) -> PlainScores:
    """Leave out trials without score; refuse arrays of other lengths or labels."""
    lengths = {score.shape, is_target.shape, score.shape if group is None else group.shape}
    if len(lengths) > 1 or score.ndim != 1:
        msg = f"{name}: scores, labels and groups have different lengths"
        hint = "give one score, label and group per trial"
        raise DataError(msg, hint)
    if is_target.dtype != np.bool_:
        if not np.isin(is_target, (0, 1)).all():
            msg = f"{name}: labels are not all 1 or 0"
            hint = "use 1 for target trials, 0 for nontarget"
            raise DataError(msg, hint)
        is_target = is_target == 1
    has_score = ~np.isnan(score)
    if not has_score.any():
        msg = f"{name}: contains no score"
        hint = "give one number per trial"
        raise DataError(msg, hint)
    return PlainScores(
        score[has_score],
        is_target[has_score],
        None if group is None else group[has_score],
        name,
        int((~has_score).sum()),
    )


def _read_scores(source: Any) -> tuple[pl.DataFrame, str]:
    """A table of text with a column ``row``; without a header, one of scores and labels."""
    if isinstance(source, (str, os.PathLike)):
        content = source = read_content(source)  # once, as it may be standard input
        if table_format(content) is DELIMITED:
            check_text(content)
            lines = head_lines(content.head)
            names, separator, _ = read_header(content) if len(lines) > 1 else ([], " ", 0)
            if not names or any(map(is_number, names)):
                width = len(names) or len(split_line(lines[0][1], separator))
                return _read_headerless(content, separator, width), content.name
    table, name, _ = read_table(source, "scores")
    return table, name


def _read_headerless(content: SourceBytes, separator: str, width: int) -> pl.DataFrame:
    """Rows of a score and a label, in either order."""
    if width == 1:
        msg = f"{content.name}: contains scores without labels"
        hint = (
            "give the scores of target and nontarget trials as two files, --target FILE "
            "--nontarget FILE"
        )
        raise DataError(msg, hint)
    if width != 2:
        trials = None
        if may_be_trials(content.head):
            # a format that would need to be chosen is refused below
            with suppress(DataError):
                trials = scan_content(content, RequestedColumns())
        if trials is not None and {"score", "label"} <= trials.columns.keys():
            return _rows_of_trials(trials)
        msg = f"{content.name}: has {width} columns and no header"
        hint = "add a header, such as score,label"
        raise DataError(msg, hint)
    chunks = list(read_text(content, separator, width, 1, quote=None))
    cells = pl.concat([frame for _, frame in chunks])
    rows = pl.Series("row", np.concatenate([np.asarray(row_numbers) for row_numbers, _ in chunks]))
    cells = cells.insert_column(0, rows).filter(pl.any_horizontal(pl.exclude("row").is_not_null()))
    are_labels = [
        all(map(is_label, cells[name].head(_MAX_SAMPLED_ROWS).fill_null("").to_list()))
        for name in ("f0", "f1")
    ]
    names = ("label", "score") if are_labels == [True, False] else ("score", "label")
    return cells.rename(dict(zip(("f0", "f1"), names, strict=True)))


def _rows_of_trials(trials: Scan) -> pl.DataFrame:
    """Return rows of trials that an audit reads without a header, named by their roles."""
    return pl.concat(
        pl.DataFrame({"row": chunk.rows, **{role: chunk[role] for role in trials.columns}})
        for chunk in trials.chunks()
    )


def _numbers_of_file(source: str | os.PathLike[str]) -> tuple[NDArray[np.float64], str]:
    """The numbers of a file, one a line."""
    content = read_content(source)
    check_text(content)
    with content.open() as file:
        text = file.read().decode("utf-8-sig", errors="replace")
    cells = pl.Series(text.split("\n")).str.strip_chars()
    row_numbers = pl.Series(np.arange(1, len(cells) + 1))
    is_filled = cells != ""
    cells, row_numbers = cells.filter(is_filled), row_numbers.filter(is_filled)
    parsed = cells.cast(pl.Float64, strict=False)
    # a name above the numbers is no number
    start = 1 if len(cells) > 1 and parsed[0] is None else 0
    rows = parsed[start:].is_null() | parsed[start:].is_nan()
    if rows.any() or start == len(cells):
        position = start + int(rows.arg_max() or 0)
        cell = cells[position] if position < len(cells) else ""
        row = row_numbers[position] if position < len(cells) else 1
        msg = f"{content.name}, row {row}: {cell!r} is not a number"
        hint = "give one score per line, or a table of scores and labels"
        raise DataError(msg, hint)
    return parsed[start:].to_numpy(), content.name
