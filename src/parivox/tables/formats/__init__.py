"""Formats of trials and scores: one small reader each, found by content.

A reader turns one file into a :class:`~parivox.tables.formats.raw.Raw`: columns by role, text as it
stands. A new format is one module with ``NAME``, ``fits`` (does this text look like mine?) and
``read``, and a line in :data:`READERS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.errors import ConfigError, DataError
from parivox.tables.compression import read_file
from parivox.tables.formats import columnar, delimited, kaldi, memory, voxceleb
from parivox.tables.formats.raw import Sample

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parivox.tables.formats.raw import Raw

__all__ = ["FORMATS", "read_raw"]

READERS = {
    module.NAME: module for module in (delimited, voxceleb.TRIALS, voxceleb.SCORES, kaldi.TRIALS, kaldi.SCORES)
}
"""Readers of text by name, in the order in which they are asked."""

FORMATS = (*READERS, *columnar.NAMES)


def read_raw(
    source: Any, *, format: str | None = None, columns: Mapping[str, str] | None = None  # noqa: A002
) -> Raw:
    """Read trials or scores from a file, a dataframe or a mapping of arrays.

    Parameters
    ----------
    source
        A path, ``-``, a table that speaks Arrow's PyCapsule interface, or a mapping of arrays.
    format
        One of :data:`FORMATS`; None finds it by content.
    columns
        Columns by role, where their names are not known.

    Raises
    ------
    DataError
        If the content is not what it must be.
    """
    if format is not None and format not in FORMATS:
        msg = f"--scores-format {format!r} is not known; choose from {', '.join(FORMATS)}"
        raise ConfigError(msg)
    if not isinstance(source, str) and not hasattr(source, "__fspath__"):
        return memory.read(source, columns)
    name = str(source)
    if columnar.fits(name):
        return columnar.scan(name, columns)
    file = read_file(name)
    if format in columnar.NAMES or columnar.is_columnar(file.content):
        return columnar.read(file, columns)
    sample = Sample.of(file)
    if columns:
        format = format or delimited.NAME  # noqa: A001
    for reader in READERS.values():
        if reader.NAME == format or (format is None and reader.fits(sample)):
            return reader.read(file, sample, columns)
    msg = (
        f"{name}, row {sample.first_row}: {sample.first_line[:80]!r} is neither a header with known "
        "column names nor 'label enrol test', 'score enrol test', 'enrol test target|nontarget' or "
        "'enrol test score'; name the columns with --columns, or the format with --scores-format"
    )
    raise DataError(msg)
