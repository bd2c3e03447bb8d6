"""The formats of trials: which one a file has, and its reader.

To add a format without a header, add a row to `parivox.data.formats.headerless.HEADERLESS`.
"""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import polars as pl

from parivox.data.cell_words import is_label, mostly_numbers
from parivox.data.columns import CELL_WORDS, RequestedColumns, plain_name
from parivox.data.formats.asvspoof5 import KEY, RECORDING_TABLE, SCORES, is_recording_table
from parivox.data.formats.dataframes import BINARY, scan_frame
from parivox.data.formats.delimited import (
    DELIMITED,
    check_text,
    has_leading_comments,
    head_lines,
    is_text,
    read_header,
)
from parivox.data.formats.format import CERTAIN_FIT, FORMATS, POSSIBLE_FIT, Format, Scan, register
from parivox.data.formats.headerless import HEADERLESS, headerless, text_sample
from parivox.data.formats.jsonl import JSONL
from parivox.data.formats.xlsx import XLSX
from parivox.data.search_columns import identification_form, needs_gallery_error
from parivox.data.source_bytes import FileRows, distinct_names, read_content
from parivox.errors import ConfigError, DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from parivox.data.formats.format import Chunk
    from parivox.data.source_bytes import SourceBytes

__all__ = [
    "FORMATS",
    "Scan",
    "are_paths",
    "are_scores_without_ids",
    "check_same_columns",
    "headerless",
    "may_be_trials",
    "register",
    "scan",
    "scan_again",
    "scan_content",
    "table_format",
]

for _format in (*BINARY, XLSX, JSONL, SCORES, KEY, DELIMITED, *HEADERLESS):
    register(_format)
_MAX_SEARCHED_LINES = 20
SIDE_PROBLEM = ("is not a side of a segment", "correct it, sides are a and b")


def scan(source: Any, *, columns: RequestedColumns, format: str | None, name: str) -> Scan:  # noqa: A002
    """Open a source of trials in its own format, or in the format of this name.

    It is a path, or several of one list, ``-`` for standard input, a dataframe or a mapping of
    arrays; messages call a source without a name `name`.
    """
    if format is not None and format not in FORMATS:
        msg = f"{columns.option} {format!r} is not known"
        hint = f"choose from {', '.join(FORMATS)}"
        raise ConfigError(msg, hint)
    if are_paths(source):
        named_paths = zip(source, distinct_names(source), strict=True)
        return _scan_files([_scan_file(path, columns, format, name) for path, name in named_paths])
    if not isinstance(source, (str, os.PathLike)):
        return _interpret(scan_frame(source, columns, name), columns)
    return _scan_file(source, columns, format)


def _scan_file(
    source: str | os.PathLike[str],
    columns: RequestedColumns,
    format: str | None,  # noqa: A002 - the option's name
    display_name: str = "",
) -> Scan:
    """Open a file, which messages call by its name or by `display_name`."""
    content = read_content(source)
    content = replace(content, name=display_name or content.name)
    if isinstance(source, FileRows):
        content = replace(content, name=source.called or content.name, rows=source)
    file_format = FORMATS[format] if format else _detect_format(content, columns)
    with_spoofs = FORMATS[f"{format}-spoof"] if format == "espnet" else None
    if with_spoofs is not None and with_spoofs.fits(content.head, columns) == CERTAIN_FIT:
        file_format = with_spoofs  # whose labels of the first two classes are the other way round
    return _scan_content(content, columns, file_format)


def scan_content(content: SourceBytes, columns: RequestedColumns) -> Scan:
    """Open the bytes of a file that has been read, in its own format."""
    return _scan_content(content, columns, _detect_format(content, columns))


def _scan_content(content: SourceBytes, columns: RequestedColumns, file_format: Format) -> Scan:
    """Open the bytes of a file, or the rows of it that count."""
    scan = file_format.scan(content, columns)
    if content.rows is not None and file_format not in BINARY:
        scan = replace(scan, chunks=partial(_selected_rows, content.rows, scan.chunks))
    return _interpret(scan, columns)


def are_paths(source: object) -> bool:
    """Whether a source is several files."""
    return (
        isinstance(source, (list, tuple))
        and bool(source)
        and all(isinstance(path, (str, os.PathLike)) for path in source)
    )


def check_same_columns(files: Sequence[tuple[str, Iterable[str]]]) -> None:
    """Refuse files of one list, given by their names and roles, that differ in columns."""
    (first_name, roles), *other_files = files
    for name, other_roles in other_files:
        missing_roles, extra_roles = {*roles} - {*other_roles}, {*other_roles} - {*roles}
        if missing_roles or extra_roles:
            lacking_name, having_name = (name, first_name) if missing_roles else (first_name, name)
            role_names = " and ".join(
                sorted(role.lstrip("@") for role in missing_roles or extra_roles)
            )
            msg = f"{lacking_name}: has no column for {role_names}, but {having_name} has"
            hint = "give all files of a list the same columns"
            raise DataError(msg, hint)


def _scan_files(scans: Sequence[Scan]) -> Scan:
    """Return the scan of one list of trials in several files with the same columns."""
    first_scan, *other_scans = scans
    if not other_scans:
        return first_scan
    check_same_columns([(file_scan.name, file_scan.columns) for file_scan in scans])
    name = f"{first_scan.name} and {len(other_scans)} more"
    chunks = lambda: chain.from_iterable(file_scan.chunks() for file_scan in scans)  # noqa: E731
    return replace(first_scan, name=name, chunks=chunks, content=None, file_scans=tuple(scans))


def _interpret(scan: Scan, columns: RequestedColumns) -> Scan:
    """Return the same trials, with sides joined to segments and words of the user translated."""
    return translate_words(join_sides(scan, columns), columns)


def _selected_rows(rows: FileRows, chunks: Callable[[], Iterator[Chunk]]) -> Iterator[Chunk]:
    """Yield the chunks of some rows."""
    n_passed = 0
    for chunk in chunks():
        low, high = max(rows.first - n_passed, 0), min(rows.last - n_passed, len(chunk))
        if low < high:
            yield replace(chunk, frame=chunk.frame[low:high], rows=chunk.rows[low:high])
        n_passed += len(chunk)
        if n_passed >= rows.last:
            return


def scan_again(previous_scan: Scan, source: Any, columns: RequestedColumns) -> Scan:
    """Open a source again in the same format, for other columns."""
    if previous_scan.content is None:
        return _interpret(scan_frame(source, columns, previous_scan.name), columns)
    return _scan_content(previous_scan.content, columns, FORMATS[previous_scan.format])


def table_format(content: SourceBytes) -> Format:
    """Return the format of a table whose columns have names: by default delimited text."""
    no_roles = RequestedColumns()
    if is_recording_table(content.head):
        return RECORDING_TABLE
    for candidate in FORMATS.values():
        if candidate.table is None or candidate is DELIMITED:
            continue
        if candidate.fits(content.head, no_roles) == CERTAIN_FIT:
            return candidate
    return DELIMITED


def may_be_trials(head: bytes) -> bool:
    """Whether rows without a header are trials, in a format that may be more than one.

    Examples
    --------
    >>> may_be_trials(b"a/1 a/2 0.5"), may_be_trials(b"a b accept"), may_be_trials(b"id,sex")
    (True, True, False)
    """
    # no list of trials has comments above it
    if has_leading_comments(head) or is_recording_table(head):
        return False
    formats = _fitting_formats(head, RequestedColumns())
    lines = text_sample(head)
    is_known = any(candidate.positions for candidate in formats)
    return is_known or lines.are_decisions() or lines.holds_spoofing_keys


def are_scores_without_ids(head: bytes) -> bool:
    """Whether the rows are a score and a label each, without ids, as NeMo writes them."""
    rows = [line.split() for _, line in head_lines(head)] if is_text(head) else []
    return bool(rows) and all(
        len(row) == 2 and mostly_numbers(row) and is_label(row[1]) for row in rows
    )


def _fitting_formats(head: bytes, columns: RequestedColumns) -> list[Format]:
    """Return the formats that a file may have: none, one or, if several fit equally well, these."""
    fit_by_format: dict[Format, float] = {}
    for candidate in FORMATS.values():
        fit_by_format[candidate] = candidate.fits(head, columns)
        if fit_by_format[candidate] == CERTAIN_FIT:
            return [candidate]
    best_fit = max(fit_by_format.values())
    return [candidate for candidate, fit in fit_by_format.items() if fit == best_fit > POSSIBLE_FIT]


def _detect_format(content: SourceBytes, columns: RequestedColumns) -> Format:
    """Return the format that fits best, or raise an error that says what the file looks like."""
    candidates = _fitting_formats(content.head, columns)
    if len(candidates) == 1:
        return candidates[0]
    check_text(content)
    _check_holds_trials(content)
    if candidates:
        rows = ", or ".join(candidate.rows for candidate in candidates)
        choice = " or ".join(f"{columns.option} {candidate.name}" for candidate in candidates)
        msg = f"{content.name}: its rows may be {rows}"
        hint = f"choose one with {choice}"
        raise DataError(msg, hint)
    lines = text_sample(content.head)
    if lines.are_decisions():
        msg = f"{content.name}: rows of two ids and a decision need a header"
        hint = "add a header: enrol, test, decision, with the separator of the rows"
        raise DataError(msg, hint)
    if columns.by_role and not columns.may_be_elsewhere:
        return DELIMITED  # its reader says which of the named columns is missing
    with suppress(DataError):
        if {"enrol", "test"} <= DELIMITED.scan(content, columns).columns.keys():
            return DELIMITED  # by what its columns hold
    raise _unknown_format_error(content, columns)


def _unknown_format_error(content: SourceBytes, columns: RequestedColumns) -> DataError:
    """Return the error about rows in no known format, which says what they look like."""
    lines = text_sample(content.head)
    names, _, _ = read_header(content)
    if identification_form(names):
        return needs_gallery_error(content.name)
    names_text = ", ".join(repr(name[:40]) for name in names[:8])
    if lines.has_unknown_header:
        msg = f"{content.name}: the column names {names_text} are not known"
        hint = "name the columns with --columns enrol=...,test=...,score=...,label=..."
        return DataError(msg, hint)
    deviation = _first_deviating_line(content.head)
    if deviation is not None:
        row, line, format_name = deviation
        msg = (
            f"{content.name}, row {row}: does not match the rows above, which are {format_name}: "
            f"{line[:80]!r}"
        )
        hint = "repair or remove the row, or name the columns in a header"
        return DataError(msg, hint)
    if len(names) == 2:
        msg = (
            f"{content.name}, row 1: not a score file, the header has no known trial columns "
            f"(found: {names_text})"
        )
        hint = (
            "name the columns enrol and test, or map them with --columns. "
            "Pass a speaker table with --speakers"
        )
        return DataError(msg, hint)
    candidates = "".join(
        f" {candidate.name} if it is one of {candidate.examples[0].written_by}'s"
        for candidate in FORMATS.values()
        if candidate.fits(content.head, columns) == POSSIBLE_FIT
    )
    msg = (
        f"{content.name}, row 1: not a score file, the header has no known trial columns (found: "
        f"{names_text})"
    )
    hint = (
        "name the columns with --columns enrol=...,test=...,score=...,label=..., "
        f"or the format with {columns.option}{candidates}"
    )
    return DataError(msg, hint)


def _check_holds_trials(content: SourceBytes) -> None:
    """Refuse scores without the ids of their trials, and protocols of spoofed speech."""
    lines = text_sample(content.head)
    if lines.holds_spoofing_keys:
        if lines.spoofing_label_position < 0:
            msg = (
                f"{content.name}: is a countermeasure key (its rows are labelled bonafide or "
                "spoof), not a trial list"
            )
            hint = (
                "give trials labelled target, nontarget and spoof, as in SASV protocols. Give "
                "scores of a countermeasure with --cm"
            )
            raise DataError(msg, hint)
        remedy = "keep the bonafide rows, and name the columns in a header: enrol,test,score,label"
        if lines.spoofing_label_position > 1:
            columns = [f"${i + 1}" for i in (0, 1, *lines.spoofing_positions)]
            remedy = (
                "give the scores as a separate file, and the columns of a SASV protocol with "
                f"--trials: awk '{{print {', '.join(columns)}}}' {shlex.quote(content.name)} "
                "prints these columns"
            )
        msg = (
            f"{content.name}: contains bonafide or spoof, as protocols of ASVspoof do, but has no "
            "known format"
        )
        raise DataError(msg, remedy)
    if are_scores_without_ids(content.head):
        name = content.name
        msg = f"{name}: the rows have a score and a label, but no recordings"
        hint = (
            f"compute metrics without groups with parivox metrics {name}, or append each "
            "row to its row of the trial list: if a tab separates score and label, "
            f"paste -d ' ' TRIALS {name} | cut -f 1 does this"
        )
        raise DataError(msg, hint)


def _first_deviating_line(head: bytes) -> tuple[int, str, str] | None:
    r"""Return row, line and format of the first line that does not fit the format above it.

    Examples
    --------
    >>> _first_deviating_line(b"1 a/1 a/2\nx a/1 a/3")
    (2, 'x a/1 a/3', 'voxceleb')
    """
    format_name, text = "", ""
    for row, line in head_lines(head)[:_MAX_SEARCHED_LINES] if is_text(head) else []:
        text += f"{line}\n"
        candidates = _fitting_formats(text.encode(), RequestedColumns())
        names = [candidate.name for candidate in candidates if candidate.positions]
        previous_name, format_name = format_name, names[0] if len(names) == 1 else ""
        if not format_name:
            return (row, line, previous_name) if previous_name else None
    return None


def join_sides(scan: Scan, columns: RequestedColumns) -> Scan:
    """Return the same trials, with the side of a segment as part of its id.

    A column called side has this role if there are columns of models and segments, or if the user
    names it. Otherwise it has no role.
    """
    if "side" not in scan.columns:
        return scan
    file_format = FORMATS.get(scan.format)
    has_segment_columns = (
        file_format is not None and "side" in file_format.positions
    ) or are_segments(scan.columns.get("enrol", ""), scan.columns.get("test", ""))
    if "side" not in columns.by_role and not has_segment_columns:
        roles = {role: name for role, name in scan.columns.items() if role != "side"}
        return replace(
            scan,
            columns=roles,
            ignored=(*scan.ignored, scan.columns["side"]),
            chunks=lambda: (
                replace(chunk, frame=chunk.frame.drop("side")) for chunk in scan.chunks()
            ),
        )
    return replace(scan, chunks=lambda: map(_join_side, scan.chunks()))


def translate_words(scanned: Scan, asked: RequestedColumns) -> Scan:
    """Return the same trials, with the words of the user in their cells translated.

    A word for a failure removes the decision or the score, and sets the status of the trial.
    """
    user_words = {
        word: text
        for word, text in asked.words.items()
        if any(role in scanned.columns for role in CELL_WORDS[word])
    }
    if not user_words:
        return scanned
    word_of_text: dict[str, str] = {}
    for word, text in user_words.items():
        for alternative in text.split("|"):
            word_of_text[alternative.strip().lower()] = word
    roles = {role for word in user_words for role in CELL_WORDS[word] if role in scanned.columns}
    failure_roles = roles & {*CELL_WORDS["failed"]} if "failed" in user_words else set()
    columns = dict(scanned.columns)
    if failure_roles:
        columns.setdefault("status", columns[min(failure_roles)])

    def translate(chunk: Chunk) -> Chunk:
        translated: dict[str, pl.Expr] = {}
        is_failed = []
        for role in roles:
            cell = pl.col(role).cast(pl.String)
            lower = cell.str.strip_chars().str.to_lowercase()
            word = lower.replace_strict(word_of_text, default="")
            # a word of another role is left as it is: ``nobody`` is no decision
            role_words = [
                name for name in user_words if role in CELL_WORDS[name] and name != "failed"
            ]
            is_kept: Any = True
            if role in failure_roles:
                is_failed.append(word.fill_null("") == "failed")
                is_kept = word.fill_null("") != "failed"
            translated[role] = pl.when(word.is_in(role_words)).then(word).when(is_kept).then(cell)
        if is_failed:
            status = pl.col("status") if "status" in chunk.frame.columns else pl.lit("ok")
            translated["status"] = (
                pl.when(pl.any_horizontal(is_failed)).then(pl.lit("failed")).otherwise(status)
            )
        return replace(chunk, frame=chunk.frame.with_columns(**translated), columns=columns)

    return replace(scanned, columns=columns, chunks=lambda: map(translate, scanned.chunks()))


def are_segments(model: str, segment: str) -> bool:
    """Whether columns of these names contain models and segments, which may have sides.

    Examples
    --------
    >>> are_segments("modelid", "segmentid"), are_segments("model", "recording")
    (True, False)
    """
    return plain_name(model).startswith("model") and plain_name(segment).startswith("segment")


def segment_side_ids(segment: pl.Series, side: pl.Series) -> pl.Series:
    """Return ids of segments with their sides; null where the side is not a or b.

    Examples
    --------
    >>> segment_side_ids(pl.Series(["x", "x", "x"]), pl.Series(["a", "B ", "c"])).to_list()
    ['x', 'x:b', None]
    """
    side_name = side.str.strip_chars().str.to_lowercase()
    id_on_b = pl.when(segment == "").then(segment).otherwise(segment + ":b")
    return pl.select(
        pl.when(side_name == "b").then(id_on_b).when(side_name == "a").then(segment)
    ).to_series()


def _join_side(chunk: Chunk) -> Chunk:
    """Return a chunk without sides, which become part of the ids of its segments."""
    if "test" not in chunk.frame.columns:
        return replace(chunk, frame=chunk.frame.drop("side"))
    text = chunk.frame.with_columns(pl.col("test", "side").cast(pl.String))
    side, segment = text["side"], text["test"].str.strip_chars()
    test = segment_side_ids(segment, side)
    chunk.refuse(test.is_null() & segment.is_not_null(), "side", *SIDE_PROBLEM)
    is_without_segment = (
        segment.is_null() & side.is_not_null()
    )  # so the row is not blank, but short of an id
    return replace(
        chunk, frame=text.drop("side").with_columns(test=test.set(is_without_segment, ""))
    )
