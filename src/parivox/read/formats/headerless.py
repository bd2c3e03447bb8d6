"""Rows without a header, each column known by its place: what such formats share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.errors import DataError
from parivox.read.formats.kinds import column, kind_of, mostly_numbers, sample
from parivox.read.formats.scan import Columns, Format, Scan
from parivox.read.formats.text import check_text, head_lines, read_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import polars as pl

    from parivox.read.content import Content
    from parivox.read.formats.scan import Rows

__all__ = ["positional"]


def positional(
    name: str, places: Mapping[str, int], optional: Mapping[str, int], *, more: bool = False
) -> Format:
    """A format whose columns are known by their places.

    Parameters
    ----------
    name
        Of the format.
    places
        Place of each role, from 0; a column may have more than one.
    optional
        Places of roles that hold numbers and may be missing.
    more
        Whether columns of words may follow, which are ignored.
    """
    told = _told({**places, **optional})
    least, most = len(set(places.values())), len(told)

    def scan(content: Content, columns: Columns) -> Scan:
        check_text(content)
        if columns.by_role and not columns.elsewhere:
            msg = (
                f"{content.name}: --columns names {', '.join(columns.by_role.values())}, but the "
                f"file is read as {name}, without a header; give {columns.option} delimited if it "
                "has one"
            )
            raise DataError(msg)
        lines = head_lines(content.head)
        rows, separator, width = sample(content.head)
        if width < least:
            msg = (
                f"{content.name}: row {lines[0][0] if lines else 1} does not hold the "
                f"{least} columns of {name}: {', '.join(told[:least])}"
            )
            raise DataError(msg)
        beyond = [column(rows, place, width) for place in range(most, width)]
        if beyond and (not more or any(map(mostly_numbers, beyond))):
            row = next(lines[i][0] for i, cells in enumerate(rows) if len(cells) == width)
            msg = (
                f"{content.name}: row {row} has {width} columns where {name} has {most} "
                f"({', '.join(told)}); name the columns in a header, or remove the others"
            )
            raise DataError(msg)
        found = {r: p for r, p in optional.items() if mostly_numbers(column(rows, p, width))}
        here = {**places, **found}

        def chunks() -> Iterator[tuple[Rows, pl.DataFrame]]:
            start = lines[0][0]
            for numbers, block in read_text(
                content, separator=separator, width=width, start=start, quote=None
            ):
                yield numbers, block.select(**{role: f"f{i}" for role, i in here.items()})

        names = {role: f"{place + 1} ({role})" for role, place in here.items()}
        ignored = tuple(str(i + 1) for i in range(width) if i not in here.values())
        return Scan(content.name, name, names, ignored, chunks, content)

    return Format(name, lambda head, _: kind_of(head) == name, scan)


def _told(places: Mapping[str, int]) -> list[str]:
    """What each column holds, as messages say it.

    Examples
    --------
    >>> _told({"enrol": 0, "enrol_speaker": 0, "score": 1})
    ['enrol and enrol_speaker', 'score']
    """
    return [
        " and ".join(role for role, at in places.items() if at == place)
        for place in sorted(set(places.values()))
    ]
