"""JSON lines: an object a line, as NeMo and lhotse write their manifests.

Its columns are what the first lines hold. What stands in an object, or in a list of one, has its
own name, unless something above it has that already; a list of several has a column for each.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import polars as pl

from parivox.data.formats.delimited import head_lines, is_text, line_chunks
from parivox.data.formats.format import CERTAIN_FIT, Example, NamedColumns, named_format
from parivox.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.data.columns import RequestedColumns
    from parivox.data.formats.format import Rows
    from parivox.data.source_bytes import SourceBytes

    Path = tuple[str | int, ...]

_LINES = 200
_START = re.compile(rb"\s*(\[\s*)?\{\s*[\"}]")
_SOURCE = ("sources", 0, "source")
_PAIR: dict[Path, str] = {("audio_filepath", 0): "enrol", ("audio_filepath", 1): "test"}
_TOOLKITS: tuple[dict[Path, str], ...] = (
    _PAIR,  # NeMo's
    {("audio_filepath",): "file", ("label",): "speaker", ("offset",): "start"},  # NeMo's manifests
    {
        ("recording", *_SOURCE): "file",
        ("id",): "utterance",
        ("supervisions", 0, "speaker"): "speaker",
    },
    {_SOURCE: "file", ("id",): "utterance"},  # lhotse's recordings; above, its cuts
    {("recording_id",): "recording", ("id",): "utterance"},  # lhotse's supervisions
)
"""Names of what stands where, by toolkit; the first one whose first path is there."""
_CHANNEL = "channel"  # which lhotse alone counts from 0
_MENDS = {
    1: "a row has one; write a line for each, as lhotse's trim_to_supervisions does",
    2: "a pair has two; write a line for each pair",
}
"""What to do about a longer list, by how many it may hold."""


def _fits(head: bytes, _: RequestedColumns) -> float:
    return CERTAIN_FIT if is_text(head) and _START.match(head.removeprefix(b"\xef\xbb\xbf")) else 0


def _table(content: SourceBytes) -> NamedColumns:
    paths: dict[Path, None] = {}
    for row, line in head_lines(content.head)[:_LINES]:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            _refuse(content, row, line)
        paths |= dict.fromkeys(_paths(value))
    names = _named(list(paths))
    from_0 = any(path[-3:] == _SOURCE or path == ("recording_id",) for path in names.values())
    if from_0 and _CHANNEL in names:
        content.dialect[_CHANNEL] = "lhotse's channel 0 is told as 1"

    def chunks(places: Mapping[str, int]) -> Iterator[tuple[Rows, pl.DataFrame]]:
        columns = list(names)
        wanted = {role: columns[at] for role, at in places.items()}
        read = [names[name] for name in wanted.values()]
        kind = _kind_of(read)
        for first, block, _ in line_chunks(content, 1):
            lines = pl.Series(block.decode("utf-8-sig").split("\n")).str.strip_chars()
            rows = np.flatnonzero((lines != "").to_numpy())
            lines, rows = lines.gather(rows), rows + first
            found = pl.DataFrame({"": _decoded(content, rows, lines, kind)})
            _check_lists(content.name, rows, found, read)
            cells = {role: _at(names[name]) for role, name in wanted.items()}
            for role, name in wanted.items() if from_0 else ():
                if name == _CHANNEL:
                    cells[role] = (cells[role].cast(pl.Int64, strict=False) + 1).cast(pl.String)
            yield rows, found.select(**cells)

    return NamedColumns(list(names), chunks)


def _check_lists(
    name: str, rows: NDArray[np.int64], found: pl.DataFrame, read: Sequence[Path]
) -> None:
    """Refuse a list that holds more than is read of it."""
    most = {path[: path.index(0)]: 1 for path in read if 0 in path[:-1]}
    most |= {path[:-1]: 2 for path in read if path in _PAIR}
    for path, n in most.items():
        many = found.select(_at(path).list.len() > n).to_series()
        if many.any():
            row = rows[int(many.arg_max() or 0)]
            msg = f"{name}, row {row}: has several {path[-1]} where {_MENDS[n]}"
            raise DataError(msg)


def _refuse(content: SourceBytes, row: int, line: str) -> NoReturn:
    mend = "repair or remove it"
    if re.search(r"\b(NaN|Infinity)\b", line):
        mend += "; NaN and Infinity are none of JSON's numbers"
    elif row == head_lines(content.head)[0][0]:
        mend = f"write one a line, as jq -c '.[]' {content.name} does of a list of them"
    msg = f"{content.name}, row {row}: is not a JSON object as others are: {line[:60]!r}; {mend}"
    raise DataError(msg)


def _paths(value: Any, path: Path = ()) -> Iterator[Path]:
    """Paths to all that is neither an object nor a list.

    Examples
    --------
    >>> list(_paths({"id": 1, "sources": [{"source": "a.wav"}], "pair": ["a", "b"]}))
    [('id',), ('sources', 0, 'source'), ('pair', 0), ('pair', 1)]
    """
    if isinstance(value, (dict, list)):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _paths(inner, (*path, key))
    else:
        yield path


def _named(paths: Sequence[Path]) -> dict[str, Path]:
    """A path by the name of its column, those that are known and those above all others first.

    Examples
    --------
    >>> _named([("id",), ("speaker", "id"), ("speaker", "age"), ("pair", 0), ("pair", 1)])
    {'id': ('id',), 'speaker.id': ('speaker', 'id'), 'age': ('speaker', 'age'), \
'pair 1': ('pair', 0), 'pair 2': ('pair', 1)}
    """
    known = next((one for one in _TOOLKITS if next(iter(one)) in paths), {})
    found = {name: path for path, name in known.items() if path in paths}
    taken = {*found, *(path[-1] for path in known)}
    of_one = {path: (*path[:-1], 1) not in paths for path in paths}
    for path in sorted(paths, key=len):
        if path in known or (1 in path[:-1]):
            continue
        words = [str(part) for part in path if part != 0 or not of_one[path]]
        if isinstance(path[-1], int) and not of_one[path]:
            words[-2:] = [f"{path[-2]} {path[-1] + 1}"]
        name = words[-1] if words[-1] not in taken else ".".join(words)
        found[name] = path
        taken.add(name)
    return found


def _kind_of(paths: Sequence[Path]) -> pl.DataType:
    """What holds texts at these paths.

    Examples
    --------
    >>> _kind_of([("id",), ("pair", 0)])
    Struct({'id': String, 'pair': List(String)})
    """
    if () in paths or not paths:
        return pl.String()
    below: dict[str | int, list[Path]] = {}
    for path in paths:
        below.setdefault(path[0], []).append(path[1:])
    if any(isinstance(key, int) for key in below):
        return pl.List(_kind_of([path for inner in below.values() for path in inner]))
    return pl.Struct({str(key): _kind_of(inner) for key, inner in below.items()})


def _decoded(
    content: SourceBytes, rows: NDArray[np.int64], lines: pl.Series, kind: pl.DataType
) -> pl.Series:
    try:
        return lines.str.json_decode(kind)
    except pl.exceptions.PolarsError:
        for row, line in zip(rows.tolist(), lines, strict=True):
            try:
                pl.Series([line]).str.json_decode(kind)
            except pl.exceptions.PolarsError:
                _refuse(content, row, line)
        raise


def _at(path: Path) -> pl.Expr:
    found = pl.col("")
    for part in path:
        if isinstance(part, int):
            found = found.list.get(part, null_on_oob=True)
        else:
            found = found.struct.field(part)
    return found


JSONL = named_format(
    "jsonl",
    "JSON lines",
    _fits,
    _table,
    (
        Example(
            '{"enrol": "a/1", "test": "b/2", "score": 0.52}',
            "anyone: an object a line; NeMo's pairs",
            "as `delimited`",
        ),
    ),
)
