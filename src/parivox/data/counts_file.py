"""Counts of trials as a file: Parquet rows without ids, and a header of what they are.

One format for two kinds. Rows of *score counts* say how many trials have the same groups on both
sides, class, score (or lower edge of its bin), decision, threshold and failure. Rows of *speaker
counts* say how many have the same class, units on both sides, groups, step (number of thresholds at
or below the score) and decision. Either adds up: rows of disjoint trials with the same keys may
represent their sum. Neither contains ids, but who a unit is can be told by whoever has the table of
speakers: speaker counts are personal data, and not for others.

The header is JSON in the metadata of the Parquet file, under one key. It names the version and the
kind first of all, and contains the hash of the file, taken with 64 zeros in its own place.
``counts.schema.json`` describes it; docs/counts.md#the-file-format has both. Files of version 1 are
read in the words of version 2 (`parivox.data.counts_file_v1`).

Files of target and nontarget trials alone are of version 2. Those with spoof trials, which only
shards of an audit make, are of version 3: rows tell the class, not only whether it is target, and
in speaker counts the attack. In memory, rows have the columns of version 3 whatever the file.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from parivox.core.counts import NONTARGET, TARGET
from parivox.data import counts_file_v1
from parivox.data.formats.dataframes import (
    UndecodedTable,
    binary_frame,
    check_decodes,
    parquet_metadata,
)
from parivox.data.formats.format import ENGINE_ERRORS, error_summary
from parivox.data.source_bytes import read_content
from parivox.errors import ConfigError, DataError
from parivox.runtime.disk import atomic_file, explain_write_errors, write_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from parivox.data.source_bytes import SourceBytes

NamedFiles: TypeAlias = "list[tuple[tuple[str, str] | None, str | os.PathLike[str]]]"
"""Files with the system and list that the user names, None where they are not named."""

KEY = "parivox_counts"
"""Under this key the metadata of a Parquet file contain the header."""
VERSION = "2"
"""Of files without spoof trials."""
SPOOF_VERSION = "3"
"""Of files with spoof trials, which releases that read version 2 alone would miscount."""
SCORE_COUNTS, SPEAKER_COUNTS = "score counts", "speaker counts"
"""The kinds of files."""
_MAGIC = b"PAR1"
_SEAL_FIELD = b'"sha256": "'
"""Stands once in a header: texts of JSON cannot contain it, as their quotes are escaped."""
_UNSEALED = "0" * 64
"""In the header, where the hash of the file comes to stand."""
MAX_TRIALS = 1 << 53
"""Trials in one file, so that every sum is exact."""

SIDE_COLUMNS = ("enrol_group", "test_group")
_SUM_TYPES = {"trials": pl.Int64, "microseconds": pl.Int64, "timed": pl.Int64}
COLUMN_TYPES: dict[str, dict[str, type[pl.DataType]]] = {
    SCORE_COUNTS: {
        "layout": pl.Int32,
        "stratum": pl.Int32,
        **dict.fromkeys(SIDE_COLUMNS, pl.Int32),
        "trial_class": pl.Int8,
        "failed": pl.Int8,
        "score": pl.Float64,
        "accepted": pl.Int8,
        "threshold": pl.Float64,
        **_SUM_TYPES,
    },
    SPEAKER_COUNTS: {
        "trial_class": pl.Int8,
        "attack": pl.Int32,
        "enrol_unit": pl.Int32,
        "test_unit": pl.Int32,
        "side_groups": pl.Int64,
        "step": pl.UInt16,
        "accepted": pl.Int8,
        "trials": pl.Int64,
    },
}
"""Columns of the rows of each kind, those that are summed last."""
_COLUMN_TYPES_OF_TWO_CLASSES: dict[str, dict[str, type[pl.DataType]]] = {
    kind: {
        "target" if name == "trial_class" else name: (
            pl.Boolean if name == "trial_class" else column_type
        )
        for name, column_type in types.items()
        if name != "attack"
    }
    for kind, types in COLUMN_TYPES.items()
}
"""Those of files of version 2."""
SUM_COLUMNS = tuple(_SUM_TYPES)
"""Columns of score counts that are summed."""
NULLABLE_COLUMNS = ("score", "threshold")
"""Columns of score counts whose cells may be empty: NaN in memory."""
COLUMN_DTYPES = {
    kind: {
        name: pl.Series(dtype=column_type).to_numpy().dtype for name, column_type in types.items()
    }
    for kind, types in COLUMN_TYPES.items()
}
_FILE_WORDS = {
    SCORE_COUNTS: ("score counts", "complete score counts", "count again"),
    SPEAKER_COUNTS: ("speaker counts", "complete speaker counts", "make them again"),
}


# --- what a file is -----------------------------------------------------------------------------


def counts_kind(source: object) -> str:
    """Return the kind of counts in a file; empty for what is no such file, or no name of one."""
    if not isinstance(source, (str, os.PathLike)):
        return ""
    try:
        if not os.path.isfile(source):  # noqa: PTH113 - any text; a pipe can be read but once
            return ""
        with open(source, "rb") as file:  # noqa: PTH123 - likewise
            if file.read(4) != _MAGIC:
                return ""
            # without its rows, since the table engine reads all of an open file
            file.seek(-8, os.SEEK_END)
            size = int.from_bytes(file.read(4), "little")
            file.seek(-8 - size, os.SEEK_END)
            return _kind_of_metadata(parquet_metadata(io.BytesIO(_MAGIC + file.read())))
    except ENGINE_ERRORS:
        return ""


def _kind_of_metadata(metadata: Mapping[str, str]) -> str:
    """Return the kind of counts that metadata are of; empty for none."""
    if KEY not in metadata:
        return SPEAKER_COUNTS if counts_file_v1.SPEAKER_COUNTS_KEY in metadata else ""
    try:
        kind = json.loads(metadata[KEY])["kind"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return SCORE_COUNTS  # of version 1, or damaged, which its reader says
    return SPEAKER_COUNTS if kind == SPEAKER_COUNTS else SCORE_COUNTS


def holds_counts(source: object) -> bool:
    """Whether this is the name of a file that contains score counts."""
    return counts_kind(source) == SCORE_COUNTS


def holds_speaker_counts(source: object) -> bool:
    """Whether this is the name of a file that contains speaker counts."""
    return counts_kind(source) == SPEAKER_COUNTS


def is_cut_off(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as one in Parquet and does not end as one."""
    with open(path, "rb") as file:  # noqa: PTH123 - any text
        start = file.read(len(_MAGIC))
        file.seek(-min(len(start), len(_MAGIC)), os.SEEK_END)
        return start == _MAGIC != file.read()


def check_files(paths: Iterable[str | os.PathLike[str]]) -> None:
    """Refuse files of counts of which one cannot be decoded, before any is read.

    Raises
    ------
    DataError
        If there is one.
    """
    check_decodes(*(UndecodedTable(Path(path).name, "parquet", os.fspath(path)) for path in paths))


# --- reading ------------------------------------------------------------------------------------


def read_header(source: str | os.PathLike[str], kind: str) -> dict[str, Any]:
    """Return the header of a file, in the words of this version.

    Raises
    ------
    DataError
        If it is of another kind, is damaged, or of a later version.
    """
    return _read_header(Path(source), Path(source).name, kind)[0]


def read_columns(
    source: str | os.PathLike[str], kind: str
) -> tuple[SourceBytes, dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the file, its header and its columns, by the names of this version.

    Whether the numbers can be counts of what the header names is for the caller to check.

    Raises
    ------
    DataError
        If it is of another kind, is damaged, or of a later version.
    """
    content = read_content(source)
    engine_source = content.for_polars
    file = io.BytesIO(engine_source) if isinstance(engine_source, bytes) else engine_source
    header, version = _read_header(file, content.name, kind)
    frame = binary_frame(content, "parquet")
    types = (COLUMN_TYPES if version == SPOOF_VERSION else _COLUMN_TYPES_OF_TWO_CLASSES)[kind]
    names = list(types)
    if version == counts_file_v1.VERSION:
        old_names = (
            counts_file_v1.SCORE_COUNTS_NAMES
            if kind == SCORE_COUNTS
            else counts_file_v1.SPEAKER_COUNTS_NAMES
        )
        types = {old_names.get(name, name): column_type for name, column_type in types.items()}
    if dict(frame.schema) != types:
        raise damaged_file_error(content.name, f"its columns are {', '.join(frame.columns)}", kind)
    frame.columns = names
    if version != counts_file_v1.VERSION or kind == SPEAKER_COUNTS:
        _check_seal(content, header, kind)
    _check_cells(frame, content.name, kind)
    if version != SPOOF_VERSION:
        frame = _with_classes(frame, kind)
    return content, header, _compact_columns(frame)


def _with_classes(frame: pl.DataFrame, kind: str) -> pl.DataFrame:
    """Return the rows of a file of two classes with the columns of three: no row has an attack."""
    trial_class = pl.when("target").then(TARGET).otherwise(NONTARGET).alias("trial_class")
    columns = frame.with_columns(trial_class, pl.lit(-1).alias("attack"))
    return columns.select(
        pl.col(name).cast(column_type) for name, column_type in COLUMN_TYPES[kind].items()
    )


def _read_header(file: Path | io.BytesIO, name: str, kind: str) -> tuple[dict[str, Any], str]:
    """Return the header in the words of this version, and the version that it is of."""
    try:
        metadata = parquet_metadata(file)
        keys = [key for key in (KEY, counts_file_v1.SPEAKER_COUNTS_KEY) if key in metadata]
        header = json.loads(metadata[keys[0]])
    except (*ENGINE_ERRORS, IndexError, RecursionError) as error:
        raise damaged_file_error(name, error_summary(error), kind) from error
    if len(keys) > 1:
        raise damaged_file_error(name, "its metadata belong to two versions", kind)
    if not isinstance(header, dict):
        raise damaged_file_error(name, "its metadata are not an object", kind)
    version = header.get(keys[0])
    is_first_version = version == counts_file_v1.VERSION
    if not is_first_version and (version not in {VERSION, SPOOF_VERSION} or keys[0] != KEY):
        noun, _, remedy = _FILE_WORDS[kind]
        msg = (
            f"{name}: contains {noun} of version {version!r}, but this Parivox reads "
            f"{counts_file_v1.VERSION!r}, {VERSION!r} and {SPOOF_VERSION!r}"
        )
        hint = f"update Parivox, or {remedy}"
        raise DataError(msg, hint)
    if _kind_of_metadata(metadata) != kind or (
        not is_first_version and header.get("kind") not in COLUMN_TYPES
    ):
        held = header.get("kind") if not is_first_version else _kind_of_metadata(metadata)
        raise damaged_file_error(name, f"it contains {str(held)[:40]!r}", kind)
    if not is_first_version:
        return header, str(version)
    upgraded_header = (
        counts_file_v1.score_counts_header
        if kind == SCORE_COUNTS
        else counts_file_v1.speaker_counts_header
    )
    try:
        return upgraded_header(header), counts_file_v1.VERSION
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise damaged_file_error(name, f"its metadata: {error}", kind) from error


def _check_seal(content: SourceBytes, header: Mapping[str, Any], kind: str) -> None:
    """Refuse a file whose bytes are not those that its hash was taken of."""
    engine_source = content.for_polars
    payload = engine_source if isinstance(engine_source, bytes) else engine_source.read_bytes()
    seal = str(header.get("sha256")).encode("utf-8", "replace")
    start = payload.rfind(_SEAL_FIELD + seal) + len(_SEAL_FIELD)
    view, digest = memoryview(payload), hashlib.sha256()
    for piece in (view[:start], _UNSEALED.encode(), view[start + len(seal) :]):
        digest.update(piece)
    if digest.hexdigest().encode() != seal:
        raise damaged_file_error(content.name, "its content has changed since it was written", kind)


def _check_cells(frame: pl.DataFrame, name: str, kind: str) -> None:
    """Refuse empty cells where there must be a number, and cells that are not a number."""
    nullable = [column for column in NULLABLE_COLUMNS if column in frame.columns]
    n_empty = {column: frame[column].null_count() for column in frame.columns}
    if sum(n_empty.values()) > sum(n_empty[column] for column in nullable):
        raise damaged_file_error(name, "it contains empty cells", kind)
    if any(frame[column].is_nan().any() for column in nullable):
        raise damaged_file_error(name, "it contains a score that is not a number", kind)


def _compact_columns(frame: pl.DataFrame) -> dict[str, NDArray[Any]]:
    """Columns, NaN in empty cells; one whose cells are all the same takes no memory."""
    columns = {}
    for column in frame.get_columns():
        n_cells, n_empty = len(column), column.null_count()
        is_same = 0 < n_cells == n_empty or (
            n_cells > n_empty == 0 and column[0] == column[-1] and column.min() == column.max()
        )
        if is_same:
            columns[column.name] = np.broadcast_to(column.head(1).to_numpy().copy(), n_cells)
        else:
            columns[column.name] = column.to_numpy()  # which has NaN in empty cells of numbers
    return columns


def damaged_file_error(name: str, problem: str, kind: str) -> DataError:
    """What is said of a file of counts that lacks what it must contain."""
    _, expected, remedy = _FILE_WORDS[kind]
    msg = f"{name}: does not contain {expected} ({problem})"
    hint = f"copy the file again, or {remedy}"
    return DataError(msg, hint)


# --- writing ------------------------------------------------------------------------------------


def file_bytes(kind: str, columns: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> bytes:
    """Return a file: a function of the columns and the header alone, which says of what they are.

    It is quickly read: its rows are one group, so that no column is copied.
    """
    version, types = SPOOF_VERSION, COLUMN_TYPES[kind]
    if not holds_spoof_trials(columns):
        version, types = VERSION, _COLUMN_TYPES_OF_TWO_CLASSES[kind]
        columns = {**columns, "target": columns["trial_class"] == TARGET}
    frame = pl.DataFrame([pl.Series(name, columns[name], dtype) for name, dtype in types.items()])
    nullable = [name for name in NULLABLE_COLUMNS if name in frame.columns]
    full_header = {**header, KEY: version, "kind": kind, "sha256": _UNSEALED}
    header_text = json.dumps(full_header, ensure_ascii=False, allow_nan=False, sort_keys=True)
    file = io.BytesIO()
    frame.with_columns(pl.col(nullable).fill_nan(None)).write_parquet(
        file,
        compression="lz4",
        row_group_size=max(frame.height, 1),
        metadata={KEY: header_text},
    )
    payload = file.getbuffer()
    seal = hashlib.sha256(payload).hexdigest().encode()
    start = file.getvalue().rfind(_SEAL_FIELD + _UNSEALED.encode()) + len(_SEAL_FIELD)
    payload[start : start + len(seal)] = seal
    return bytes(payload)


def holds_spoof_trials(columns: Mapping[str, NDArray[Any]]) -> bool:
    """Whether rows of counts have spoof trials."""
    return bool(columns["trial_class"].max(initial=TARGET) > TARGET)


def check_output(path: str | os.PathLike[str], *, kind: str = SCORE_COUNTS) -> Path:
    """The file to write counts to, if it may be written: new, or one with such counts in it."""
    text = os.fsdecode(path)
    out, option_text = Path(text), f"--out {text}"
    noun = _FILE_WORDS[kind][0]
    try:
        if text and out.exists():
            if out.is_dir():
                msg = f"--out {text}: is a folder"
                hint = "name a file, for example day1.counts"
                raise ConfigError(msg, hint)
            if counts_kind(out) != kind:
                msg = f"--out {text}: already exists and does not contain {noun}"
                hint = "name a new file"
                raise ConfigError(msg, hint)
        if text and out.parent.is_dir() and os.access(out.parent, os.W_OK | os.X_OK):
            return out
    except (OSError, ValueError) as error:
        raise write_error(option_text, error) from error
    reason = f"{out.parent} is not a folder that can be written" if text else "does not name a file"
    raise write_error(option_text, PermissionError(reason))


def check_both_counts(path: str | os.PathLike[str]) -> tuple[Path, Path]:
    """Files of one name for counts and their speaker counts, if they may be written."""
    out = check_output(path)
    speaker_counts_path = out.with_suffix(".tally")
    if speaker_counts_path == out:
        msg = f"--out {out}: is also the name of the speaker counts file"
        hint = "give another name, for example day1.counts"
        raise ConfigError(msg, hint)
    return out, check_output(speaker_counts_path, kind=SPEAKER_COUNTS)


def write_file(
    path: str | os.PathLike[str], data: bytes, speaker_counts: Callable[[Path], None] | None = None
) -> None:
    """Write a file of counts, and the speaker counts next to it if there are any, or nothing."""
    out, speaker_counts_path = (
        (check_output(path), None) if speaker_counts is None else check_both_counts(path)
    )
    with explain_write_errors(f"--out {out}"), atomic_file(out) as temporary:
        temporary.write_bytes(data)
        if speaker_counts is not None and speaker_counts_path is not None:
            speaker_counts(speaker_counts_path)


def write_over(path: str | os.PathLike[str], data: bytes) -> None:
    """Write all of a file or nothing, in place of what is there.

    Raises
    ------
    ConfigError
        If the file cannot be written.
    """
    with explain_write_errors(str(path)), atomic_file(path) as temporary:
        temporary.write_bytes(data)
