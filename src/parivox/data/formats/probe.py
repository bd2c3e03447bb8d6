"""Decode tables of someone else's in a process of its own, which may abort where one is damaged.

The table engine decodes several columns at once, and damage in two of them can end the process
(a panic during a panic). So tables in Parquet or Arrow are decoded here first: run as a file, with
the table engine and nothing else. See docs/bad-input.md#damaged-tables.

    python -P probe.py < a list of tables as a line of JSON, and the bytes of one that has no path

Each line of standard output is the place of a table that is begun. What the engine raises comes
last, and the exit code is then `REFUSED`.
"""

from __future__ import annotations

import io
import json
import sys
from typing import Any

import polars as pl

REFUSED_EXIT_CODE = 3
_ROWS = 1_000_000
"""Rows decoded at once, as when they are read."""


def decode(table: dict[str, Any], data: bytes) -> None:
    """Decode some columns and rows of a table: of ``kind``, at ``path`` or in the data."""
    source = io.BytesIO(data) if table["path"] is None else table["path"]
    if table["kind"] == "arrow-stream":
        frame = pl.read_ipc_stream(source).lazy()
    else:
        frame = pl.scan_parquet(source) if table["kind"] == "parquet" else pl.scan_ipc(source)
    columns = frame.collect_schema().names() if table["columns"] is None else table["columns"]
    last = table["last"]
    if last is None:
        last = int(frame.select(pl.len()).collect().item())
    for start in range(table["first"], last, _ROWS):
        frame.slice(start, min(_ROWS, last - start)).select(columns).collect()


if __name__ == "__main__":
    tables = json.loads(sys.stdin.buffer.readline())
    held = sys.stdin.buffer.read()
    try:
        for place, one in enumerate(tables):
            print(place, flush=True)  # noqa: T201 - told to who started it
            decode(one, held)
    except BaseException as error:  # noqa: BLE001 - panics of the engine are no exceptions
        sys.stdout.flush()
        sys.stdout.buffer.write((str(error) or type(error).__name__).encode())
        sys.stdout.buffer.flush()
        sys.exit(REFUSED_EXIT_CODE)
