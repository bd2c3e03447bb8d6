"""Rows without a header, each column known by its place: what such formats share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.errors import DataError
from parivox.tables.formats.kinds import all_scores, column, kind_of, sample
from parivox.tables.formats.scan import Format, Scan
from parivox.tables.formats.text import head_lines, read_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import polars as pl

    from parivox.tables.content import Content

__all__ = ["positional"]


def positional(name: str, places: Mapping[str, int], optional: Mapping[str, int]) -> Format:
    """A format whose columns are known by their places.

    Parameters
    ----------
    name
        Of the format.
    places
        Place of each role, from 0.
    optional
        Places of roles that hold numbers and may be missing.
    """

    def scan(content: Content, columns: Mapping[str, str]) -> Scan:
        if columns:
            msg = (
                f"{content.name}: --columns names {', '.join(columns.values())}, but the file is "
                f"read as {name}, without a header; give --scores-format delimited if it has one"
            )
            raise DataError(msg)
        lines = head_lines(content.head)
        rows, separator = sample(content.head)
        if not rows:
            msg = (
                f"{content.name}: row {lines[0][0] if lines else 1} does not hold the "
                f"{len(places)} columns of {name}: {', '.join(places)}"
            )
            raise DataError(msg)
        width = len(rows[0])
        more = {r: p for r, p in optional.items() if all_scores(column(rows, p))}
        here = {**places, **more}

        def chunks() -> Iterator[tuple[int, pl.DataFrame]]:
            start = lines[0][0]
            for first, block in read_text(
                content, separator=separator, width=width, start=start, quote=None
            ):
                yield first, block.select(**{role: f"f{i}" for role, i in here.items()})

        names = {role: f"{place + 1} ({role})" for role, place in here.items()}
        ignored = tuple(str(i + 1) for i in range(width) if i not in here.values())
        return Scan(content.name, name, names, ignored, chunks, content)

    return Format(name, lambda head, _: kind_of(head) == name, scan)
