"""The formats of trials: which one a file is in, and its reader.

A new format without a header is a row of `parivox.data.formats.headerless.HEADERLESS`.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import polars as pl

from parivox.data.columns import WORDS, RequestedColumns, plain
from parivox.data.formats.dataframes import BINARY, scan_frame
from parivox.data.formats.delimited import DELIMITED, check_text, head_lines, is_text, read_header
from parivox.data.formats.format import CERTAIN_FIT, FORMATS, POSSIBLE_FIT, Format, Scan, register
from parivox.data.formats.headerless import HEADERLESS, headerless, mostly_numbers, text_sample
from parivox.data.formats.jsonl import JSONL
from parivox.data.formats.xlsx import XLSX
from parivox.data.source_bytes import FileRows, called_apart, read_content
from parivox.data.trial_values import is_label
from parivox.errors import ConfigError, DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from parivox.data.formats.format import Chunk
    from parivox.data.source_bytes import SourceBytes

__all__ = [
    "FORMATS",
    "Scan",
    "are_paths",
    "check_same_columns",
    "headerless",
    "may_be_trials",
    "register",
    "scan",
    "scan_again",
    "table_format",
]

for _one in (*BINARY, XLSX, JSONL, DELIMITED, *HEADERLESS):
    register(_one)
_ODD_LINES = 20
SIDE_PROBLEM = ("is not a side of a segment", "correct it, sides are a and b")


def scan(source: Any, *, columns: RequestedColumns, format: str | None, name: str) -> Scan:  # noqa: A002
    """Open a source of trials in the format that it is in, or in that of this name.

    It is a path, or several of one list, ``-`` for standard input, a dataframe or a mapping of
    arrays; messages call one without a name `name`.
    """
    if format is not None and format not in FORMATS:
        msg = f"{columns.option} {format!r} is not known; choose from {', '.join(FORMATS)}"
        raise ConfigError(msg)
    if are_paths(source):
        each = zip(source, called_apart(source), strict=True)
        return _in_turn([_of_file(one, columns, format, name) for one, name in each])
    if not isinstance(source, (str, os.PathLike)):
        return _as_meant(scan_frame(source, columns, name), columns)
    return _of_file(source, columns, format)


def _of_file(
    source: str | os.PathLike[str],
    columns: RequestedColumns,
    format: str | None,  # noqa: A002 - the option's name
    called: str = "",
) -> Scan:
    """Open a file, which messages call by its name unless they must call it otherwise."""
    content = read_content(source)
    content = replace(content, name=called or content.name)
    if isinstance(source, FileRows):
        content = replace(content, name=source.called or content.name, rows=source)
    chosen = FORMATS[format] if format else _detected(content, columns)
    scanned = chosen.scan(content, columns)
    if content.rows is not None and chosen not in BINARY:
        scanned = replace(scanned, chunks=partial(_only, content.rows, scanned.chunks))
    return _as_meant(scanned, columns)


def are_paths(source: object) -> bool:
    """Whether a source is several files."""
    return (
        isinstance(source, (list, tuple))
        and bool(source)
        and all(isinstance(one, (str, os.PathLike)) for one in source)
    )


def check_same_columns(files: Sequence[tuple[str, Iterable[str]]]) -> None:
    """Refuse files of one list, given by their names and roles, that have not the same columns."""
    (first, roles), *others = files
    for name, own in others:
        lacking, more = ({*one} - {*two} for one, two in ((roles, own), (own, roles)))
        if lacking or more:
            lacks, has = (name, first) if lacking else (first, name)
            what = " and ".join(sorted(role.lstrip("@") for role in lacking or more))
            msg = (
                f"{lacks}: has no column of {what}, which {has} has; give files of one list with "
                "the same columns"
            )
            raise DataError(msg)


def _in_turn(scans: Sequence[Scan]) -> Scan:
    """One list of trials in several files, each of which tells the same of them."""
    first, *others = scans
    if not others:
        return first
    check_same_columns([(one.name, one.columns) for one in scans])
    name = f"{first.name} and {len(others)} more"
    chunks = lambda: chain.from_iterable(one.chunks() for one in scans)  # noqa: E731
    return replace(first, name=name, chunks=chunks, content=None, several=tuple(scans))


def _as_meant(scanned: Scan, columns: RequestedColumns) -> Scan:
    """The same trials, with segments on their sides, and in the words that are known."""
    return translate_words(join_sides(scanned, columns), columns)


def _only(rows: FileRows, chunks: Callable[[], Iterator[Chunk]]) -> Iterator[Chunk]:
    """Chunks of some rows."""
    seen = 0
    for chunk in chunks():
        low, high = max(rows.first - seen, 0), min(rows.last - seen, len(chunk))
        if low < high:
            yield replace(chunk, frame=chunk.frame[low:high], rows=chunk.rows[low:high])
        seen += len(chunk)
        if seen >= rows.last:
            return


def scan_again(scanned: Scan, source: Any, columns: RequestedColumns) -> Scan:
    """Open a source again in the format that it has, for other columns."""
    if scanned.content is None:
        return _as_meant(scan_frame(source, columns, scanned.name), columns)
    return _as_meant(FORMATS[scanned.format].scan(scanned.content, columns), columns)


def table_format(content: SourceBytes) -> Format:
    """The format of a table of anything, whose columns have names: by default delimited text."""
    tables = (one for one in FORMATS.values() if one.table is not None and one is not DELIMITED)
    asked = RequestedColumns()
    return next((one for one in tables if one.fits(content.head, asked) == CERTAIN_FIT), DELIMITED)


def may_be_trials(head: bytes) -> bool:
    """Whether rows without a header are trials, in a format that may be more than one.

    Examples
    --------
    >>> may_be_trials(b"a/1 a/2 0.5"), may_be_trials(b"a b accept"), may_be_trials(b"id,sex")
    (True, True, False)
    """
    fitting = _fitting(head, RequestedColumns())
    is_some = any(one.places for one in fitting) or text_sample(head).are_decisions()
    return is_some or _are_bare_scores(head)


def _are_bare_scores(head: bytes) -> bool:
    """Whether the rows are a score and a label each, without ids, as NeMo writes them."""
    rows = [line.split() for _, line in head_lines(head)] if is_text(head) else []
    return bool(rows) and all(
        len(row) == 2 and mostly_numbers(row) and is_label(row[1]) for row in rows
    )


def _fitting(head: bytes, columns: RequestedColumns) -> list[Format]:
    """The formats that a file may be in: none, one or, if no one fits best, several."""
    fits: dict[Format, float] = {}
    for one in FORMATS.values():
        fits[one] = one.fits(head, columns)
        if fits[one] == CERTAIN_FIT:
            return [one]
    best = max(fits.values())
    return [one for one, fit in fits.items() if fit == best > POSSIBLE_FIT]


def _detected(content: SourceBytes, columns: RequestedColumns) -> Format:
    found = _fitting(content.head, columns)
    if len(found) == 1:
        return found[0]
    check_text(content)
    _check_ids(content)
    if found:
        rows = ", or ".join(one.rows for one in found)
        which = " or ".join(f"{columns.option} {one.name}" for one in found)
        msg = f"{content.name}: its rows may be {rows}; say which with {which}"
        raise DataError(msg)
    first = text_sample(content.head)
    if first.are_decisions():
        msg = (
            f"{content.name}: its rows are two ids and a decision, which only a header can say; "
            "put enrol, test, decision above them, separated as they are"
        )
        raise DataError(msg)
    if columns.by_role and not columns.may_be_elsewhere:
        return DELIMITED  # which says which of the columns is missing
    names, _, _ = read_header(content)
    shown = ", ".join(repr(name[:40]) for name in names[:8])
    if first.has_unknown_header:
        msg = (
            f"{content.name}: its columns {shown} have no known names; name them with "
            "--columns enrol=...,test=...,score=...,label=..."
        )
        raise DataError(msg)
    odd = _first_odd(content.head)
    if odd is not None:
        row, line, kind = odd
        msg = (
            f"{content.name}, row {row}: does not match the rows above, which are {kind}: "
            f"{line[:80]!r}; repair or remove it, or name the columns in a header"
        )
        raise DataError(msg)
    if len(names) == 2:
        msg = (
            f"{content.name}, row 1: not a score file, the header has no known trial columns "
            f"(found: {shown}); name the columns enrol and test, or map them with --columns. Pass "
            "a speaker table with --speakers"
        )
        raise DataError(msg)
    msg = (
        f"{content.name}, row 1: not a score file, the header has no known trial columns (found: "
        f"{shown}); name the columns with --columns enrol=...,test=...,score=...,label=..., or the "
        f"format with {columns.option}"
    )
    for one in FORMATS.values():
        if one.fits(content.head, columns) == POSSIBLE_FIT:
            msg += f" {one.name} if it is one of {one.examples[0].written_by}'s"
    raise DataError(msg)


def _check_ids(content: SourceBytes) -> None:
    """Refuse scores that stand without the trials that they are of."""
    if _are_bare_scores(content.head):
        name = content.name
        msg = (
            f"{name}: its rows are a score and a label, and tell of no recordings; put them behind "
            "the rows of the list that they were made of: where a tab separates the two, "
            f"paste -d ' ' TRIALS {name} | cut -f 1 does so"
        )
        raise DataError(msg)


def _first_odd(head: bytes) -> tuple[int, str, str] | None:
    r"""The first line that takes away the format of those above it: row, line, format.

    Examples
    --------
    >>> _first_odd(b"1 a/1 a/2\nx a/1 a/3")
    (2, 'x a/1 a/3', 'voxceleb')
    """
    kind, above = "", ""
    for row, line in head_lines(head)[:_ODD_LINES] if is_text(head) else []:
        above += f"{line}\n"
        found = [one.name for one in _fitting(above.encode(), RequestedColumns()) if one.places]
        before, kind = kind, found[0] if len(found) == 1 else ""
        if not kind:
            return (row, line, before) if before else None
    return None


def join_sides(scanned: Scan, asked: RequestedColumns) -> Scan:
    """The same trials, their segments told apart by their sides if there is a column of sides.

    A column called side is one where models and segments stand beside it, or where the user
    names it; else it has no role.
    """
    if "side" not in scanned.columns:
        return scanned
    known = FORMATS.get(scanned.format)
    of_segments = (known is not None and "side" in known.places) or are_segments(
        *(scanned.columns.get(role, "") for role in ("enrol", "test"))
    )
    if "side" not in asked.by_role and not of_segments:
        roles = {role: name for role, name in scanned.columns.items() if role != "side"}
        return replace(
            scanned,
            columns=roles,
            ignored=(*scanned.ignored, scanned.columns["side"]),
            chunks=lambda: (
                replace(chunk, frame=chunk.frame.drop("side")) for chunk in scanned.chunks()
            ),
        )
    return replace(scanned, chunks=lambda: map(_joined, scanned.chunks()))


def translate_words(scanned: Scan, asked: RequestedColumns) -> Scan:
    """The same trials, the user's words in their cells replaced by those that are known.

    A word for what failed takes the decision or the score away, and is the status of the trial.
    """
    here = {w: text for w, text in asked.words.items() if {*WORDS[w]} & {*scanned.columns}}
    if not here:
        return scanned
    meant = {text.strip().lower(): w for w, several in here.items() for text in several.split("|")}
    found = {role for word in here for role in WORDS[word] if role in scanned.columns}
    failing = found & {*WORDS["failed"]} if "failed" in here else set()
    columns = dict(scanned.columns)
    if failing:
        columns.setdefault("status", columns[min(failing)])

    def translated(chunk: Chunk) -> Chunk:
        cells = {role: pl.col(role).cast(pl.String) for role in found}
        bare = {role: cell.str.strip_chars().str.to_lowercase() for role, cell in cells.items()}
        words = {role: cell.replace_strict(meant, default="") for role, cell in bare.items()}
        failed = [words[role].fill_null("") == "failed" for role in failing]
        made: dict[str, pl.Expr] = {}
        for role, word in words.items():
            is_known = word.is_in([one for one in here if role in WORDS[one] and one != "failed"])
            is_left = word.fill_null("") != "failed" if role in failing else True
            made[role] = pl.when(is_known).then(word).when(is_left).then(cells[role])
        if failed:
            status = pl.col("status") if "status" in chunk.frame.columns else pl.lit("ok")
            is_failed = pl.any_horizontal(failed)
            made["status"] = pl.when(is_failed).then(pl.lit("failed")).otherwise(status)
        return replace(chunk, frame=chunk.frame.with_columns(**made), columns=columns)

    return replace(scanned, columns=columns, chunks=lambda: map(translated, scanned.chunks()))


def are_segments(model: str, segment: str) -> bool:
    """Whether columns of these names hold models and segments, beside which sides may stand.

    Examples
    --------
    >>> are_segments("modelid", "segmentid"), are_segments("model", "recording")
    (True, False)
    """
    return plain(model).startswith("model") and plain(segment).startswith("segment")


def segment_side_ids(segment: pl.Series, side: pl.Series) -> pl.Series:
    """Ids of segments on their sides; null where there is no such side.

    Examples
    --------
    >>> on_side(pl.Series(["x", "x", "x"]), pl.Series(["a", "B ", "c"])).to_list()
    ['x', 'x:b', None]
    """
    bare = side.str.strip_chars().str.to_lowercase()
    on_b = pl.when(segment == "").then(segment).otherwise(segment + ":b")
    return pl.select(pl.when(bare == "b").then(on_b).when(bare == "a").then(segment)).to_series()


def _joined(chunk: Chunk) -> Chunk:
    """The chunk without its sides, which are now in the ids of its segments."""
    if "test" not in chunk.frame.columns:
        return replace(chunk, frame=chunk.frame.drop("side"))
    text = chunk.frame.with_columns(pl.col("test", "side").cast(pl.String))
    side, segment = text["side"], text["test"].str.strip_chars()
    test = segment_side_ids(segment, side)
    chunk.refuse(test.is_null() & segment.is_not_null(), "side", *SIDE_PROBLEM)
    lost = segment.is_null() & side.is_not_null()  # so the row is not blank, but short of an id
    return replace(chunk, frame=text.drop("side").with_columns(test=test.set(lost, "")))
