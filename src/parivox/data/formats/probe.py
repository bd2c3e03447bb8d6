"""Decode tables from elsewhere in a separate process, which may abort if one is damaged.

The table engine decodes several columns at once, and damage in two of them can end the process
(a panic during a panic). So tables in Parquet or Arrow are decoded here first: run as a file, with
the table engine and nothing else. See docs/bad-input.md#damaged-tables.

    python -P probe.py < a list of tables as a line of JSON, and the bytes of one that has no path

Each line of standard output is the index of a table that is begun. What the engine raises comes
last, and the exit code is then `REFUSED_EXIT_CODE`.
"""

from __future__ import annotations

import io
import json
import sys
from typing import Any

import polars as pl

REFUSED_EXIT_CODE = 3
_ROWS_PER_QUERY = 1_000_000
"""Rows decoded at a time, as when they are read."""


def decode(table: dict[str, Any], table_bytes: bytes) -> None:
    """Decode some columns and rows of a table of a ``kind``, at ``path`` or in the bytes."""
    source = io.BytesIO(table_bytes) if table["path"] is None else table["path"]
    if table["kind"] == "arrow-stream":
        frame = pl.read_ipc_stream(source).lazy()
    else:
        frame = pl.scan_parquet(source) if table["kind"] == "parquet" else pl.scan_ipc(source)
    columns = frame.collect_schema().names() if table["columns"] is None else table["columns"]
    end_row = table["last"]
    if end_row is None:
        end_row = int(frame.select(pl.len()).collect().item())
    for start in range(table["first"], end_row, _ROWS_PER_QUERY):
        frame.slice(start, min(_ROWS_PER_QUERY, end_row - start)).select(columns).collect()


if __name__ == "__main__":
    tables = json.loads(sys.stdin.buffer.readline())
    bytes_of_table = sys.stdin.buffer.read()
    try:
        for index, table in enumerate(tables):
            print(index, flush=True)  # noqa: T201 - read by the parent process
            decode(table, bytes_of_table)
    except BaseException as error:  # noqa: BLE001 - panics of the engine are no exceptions
        sys.stdout.flush()
        sys.stdout.buffer.write((str(error) or type(error).__name__).encode())
        sys.stdout.buffer.flush()
        sys.exit(REFUSED_EXIT_CODE)
