"""JSON lines, one object per line, as NeMo and lhotse write their manifests.

The first lines determine the columns. A value within an object, or within a list of one element,
is named by its own key, unless a value above it has the same name. A list of several elements has a
column for each. One document, as pandas writes it or by speaker, is read as its rows.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import polars as pl

from parivox.data.formats.delimited import head_lines, is_text, line_chunks
from parivox.data.formats.format import CERTAIN_FIT, Example, NamedColumns, named_format
from parivox.data.formats.json_document import with_one_record_a_line
from parivox.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.data.columns import RequestedColumns
    from parivox.data.formats.format import Rows
    from parivox.data.source_bytes import SourceBytes

    Path = tuple[str | int, ...]

_MAX_SAMPLED_LINES = 200
_START_PATTERN = re.compile(rb"\s*(\[\s*)?\{\s*[\"}]|\s*\[\s*\[")
_SOURCE_PATH = ("sources", 0, "source")
_PAIR_PATHS: dict[Path, str] = {("audio_filepath", 0): "enrol", ("audio_filepath", 1): "test"}
_TOOLKIT_NAMES: tuple[dict[Path, str], ...] = (
    _PAIR_PATHS,  # pairs of NeMo
    {("audio_filepath",): "file", ("label",): "speaker", ("offset",): "start"},  # manifests of NeMo
    {
        ("recording", *_SOURCE_PATH): "file",
        ("id",): "utterance",
        ("supervisions", 0, "speaker"): "speaker",
    },
    {_SOURCE_PATH: "file", ("id",): "utterance"},  # recordings of lhotse; above, its cuts
    {("recording_id",): "recording", ("id",): "utterance"},  # supervisions of lhotse
)
"""Names of columns by path, for each toolkit; the first with its first path in the file applies."""
_CHANNEL = "channel"  # counted from 0 by lhotse, from 1 by everyone else
_LIST_REMEDIES = {
    1: "a row can have one; write one line for each, as lhotse's trim_to_supervisions does",
    2: "a pair has two; write one line for each pair",
}
"""Remedies for a list that is too long, by the number of elements that it may contain."""


def _jsonl_fit(head: bytes, _: RequestedColumns) -> float:
    is_json = is_text(head) and _START_PATTERN.match(head.removeprefix(b"\xef\xbb\xbf"))
    return CERTAIN_FIT if is_json else 0


def _table(content: SourceBytes) -> NamedColumns:
    content = with_one_record_a_line(content)
    paths: dict[Path, None] = {}
    for row, line in head_lines(content.head)[:_MAX_SAMPLED_LINES]:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict):
            _refuse_line(content, row, line)
        paths |= dict.fromkeys(_leaf_paths(record))
    names = _name_paths(list(paths))
    # only lhotse has these paths, and only lhotse counts channels from 0
    counts_from_0 = any(
        path[-3:] == _SOURCE_PATH or path == ("recording_id",) for path in names.values()
    )
    if counts_from_0 and _CHANNEL in names:
        content.dialect[_CHANNEL] = "lhotse's channel 0 is shown as 1"

    def chunks(positions: Mapping[str, int]) -> Iterator[tuple[Rows, pl.DataFrame]]:
        columns = list(names)
        column_by_role = {role: columns[position] for role, position in positions.items()}
        read_paths = [names[name] for name in column_by_role.values()]
        dtype = _dtype_of_paths(read_paths)
        for first_row, chunk, _ in line_chunks(content, 1):
            lines = pl.Series(chunk.decode("utf-8-sig").split("\n")).str.strip_chars()
            rows = np.flatnonzero((lines != "").to_numpy())
            lines, rows = lines.gather(rows), rows + first_row
            decoded = pl.DataFrame({"": _decode_lines(content, rows, lines, dtype)})
            _check_lists(content.name, rows, decoded, read_paths)
            cells = {role: _path_expression(names[name]) for role, name in column_by_role.items()}
            for role, name in column_by_role.items():
                if counts_from_0 and name == _CHANNEL:
                    cells[role] = (cells[role].cast(pl.Int64, strict=False) + 1).cast(pl.String)
            yield rows, decoded.select(**cells)

    return NamedColumns(list(names), chunks)


def _check_lists(
    name: str, rows: NDArray[np.int64], decoded: pl.DataFrame, read_paths: Sequence[Path]
) -> None:
    """Refuse a list that contains more elements than are read."""
    max_lengths = {path[: path.index(0)]: 1 for path in read_paths if 0 in path[:-1]}
    max_lengths |= {path[:-1]: 2 for path in read_paths if path in _PAIR_PATHS}
    for path, max_length in max_lengths.items():
        is_longer = decoded.select(_path_expression(path).list.len() > max_length).to_series()
        if is_longer.any():
            row = rows[int(is_longer.arg_max() or 0)]
            msg = f"{name}, row {row}: has several {path[-1]} where {_LIST_REMEDIES[max_length]}"
            raise DataError(msg)


def _refuse_line(content: SourceBytes, row: int, line: str) -> NoReturn:
    remedy = "repair or remove the row"
    if re.search(r"\b(NaN|Infinity)\b", line):
        remedy += "; NaN and Infinity are not numbers in JSON"
    elif row == head_lines(content.head)[0][0]:
        remedy = (
            f"write one object per line: jq -c '.[]' {content.name} does this for a list of objects"
        )
    msg = f"{content.name}, row {row}: is not a JSON object, but other rows are: {line[:60]!r}"
    raise DataError(msg, remedy)


def _leaf_paths(node: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the paths to everything that is neither an object nor a list.

    Examples
    --------
    >>> list(_leaf_paths({"id": 1, "sources": [{"source": "a.wav"}], "pair": ["a", "b"]}))
    [('id',), ('sources', 0, 'source'), ('pair', 0), ('pair', 1)]
    """
    if isinstance(node, (dict, list)):
        for key, child in node.items() if isinstance(node, dict) else enumerate(node):
            yield from _leaf_paths(child, (*path, key))
    else:
        yield path


def _name_paths(paths: Sequence[Path]) -> dict[str, Path]:
    """Return paths by the names of their columns: known ones first, then by depth.

    Examples
    --------
    >>> _name_paths([("id",), ("speaker", "id"), ("speaker", "age"), ("pair", 0), ("pair", 1)])
    {'id': ('id',), 'speaker.id': ('speaker', 'id'), 'age': ('speaker', 'age'), \
'pair 1': ('pair', 0), 'pair 2': ('pair', 1)}
    """
    toolkit_names: dict[Path, str] = {}
    for toolkit in _TOOLKIT_NAMES:
        first_path, *_ = toolkit
        if first_path in paths:
            toolkit_names = toolkit
            break
    path_by_name = {name: path for path, name in toolkit_names.items() if path in paths}
    used_names = {*path_by_name, *(path[-1] for path in toolkit_names)}
    is_single = {path: (*path[:-1], 1) not in paths for path in paths}
    for path in sorted(paths, key=len):
        # 1 within a path: a second element of a list, which `_check_lists` refuses where it is read
        if path in toolkit_names or (1 in path[:-1]):
            continue
        steps = [str(step) for step in path if step != 0 or not is_single[path]]
        if isinstance(path[-1], int) and not is_single[path]:
            steps[-2:] = [f"{path[-2]} {path[-1] + 1}"]
        name = steps[-1] if steps[-1] not in used_names else ".".join(steps)
        path_by_name[name] = path
        used_names.add(name)
    return path_by_name


def _dtype_of_paths(paths: Sequence[Path]) -> pl.DataType:
    """Return the type of objects with texts at these paths.

    Examples
    --------
    >>> _dtype_of_paths([("id",), ("pair", 0)])
    Struct({'id': String, 'pair': List(String)})
    """
    if () in paths or not paths:
        return pl.String()
    paths_by_key: dict[str | int, list[Path]] = {}
    for path in paths:
        paths_by_key.setdefault(path[0], []).append(path[1:])
    if any(isinstance(key, int) for key in paths_by_key):
        return pl.List(
            _dtype_of_paths([path for child_paths in paths_by_key.values() for path in child_paths])
        )
    return pl.Struct(
        {str(key): _dtype_of_paths(child_paths) for key, child_paths in paths_by_key.items()}
    )


def _decode_lines(
    content: SourceBytes, rows: NDArray[np.int64], lines: pl.Series, dtype: pl.DataType
) -> pl.Series:
    try:
        return lines.str.json_decode(dtype)
    except pl.exceptions.PolarsError:
        for row, line in zip(rows.tolist(), lines, strict=True):
            try:
                pl.Series([line]).str.json_decode(dtype)
            except pl.exceptions.PolarsError:
                _refuse_line(content, row, line)
        raise


def _path_expression(path: Path) -> pl.Expr:
    expression = pl.col("")
    for step in path:
        if isinstance(step, int):
            expression = expression.list.get(step, null_on_oob=True)
        else:
            expression = expression.struct.field(step)
    return expression


JSONL = named_format(
    "jsonl",
    "JSON lines",
    _jsonl_fit,
    _table,
    (
        Example(
            '{"enrol": "a/1", "test": "b/2", "score": 0.52}',
            "tools that write one object per line, such as NeMo (pairs)",
            "as `delimited`",
        ),
    ),
)
