"""A list of trials to be scored: read in any format, in chunks of one size."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from parivox.errors import DataError
from parivox.read.cells import labels
from parivox.read.columns import Columns
from parivox.read.formats import scan
from parivox.read.notes import columns_told

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from parivox.read.formats.format import Scan

__all__ = ["CHUNK", "TrialList", "read_list"]

CHUNK = 1 << 18
"""Trials at once: what memory depends on, in place of the length of the list."""


@dataclass(frozen=True, eq=False)
class TrialList:
    """Trials in the order of their list.

    Attributes
    ----------
    name : str
    sha256 : str
        Of what the list holds.
    rows : int
        Trials.
    enrol, test : Series
        Distinct ids of either side, in rising order.
    is_labelled : bool
        Whether the list says which trials are targets.
    """

    name: str
    sha256: str
    rows: int
    enrol: pl.Series
    test: pl.Series
    is_labelled: bool
    _scan: Scan = field(repr=False)

    def chunks(self, size: int = CHUNK) -> Iterator[pl.DataFrame]:
        """Columns ``enrol``, ``test`` and perhaps ``label``, so many rows at once."""
        held, height = [], 0
        for frame in _frames(self._scan):
            held.append(frame)
            height += frame.height
            if height >= size:
                whole = pl.concat(held)
                cut = height - height % size
                yield from (whole[start : start + size] for start in range(0, cut, size))
                held, height = [whole[cut:]], height - cut
        if height:
            yield pl.concat(held)


def read_list(
    source: Any,
    *,
    format: str | None = None,  # noqa: A002 - the option's name
    columns: Mapping[str, str] | None = None,
) -> TrialList:
    """Read a list of trials; scores in it do not count.

    Parameters
    ----------
    source
        A path, ``-`` for standard input, a dataframe or a mapping of arrays.
    format
        Name of the format, where the content does not tell.
    columns
        The user's column of some roles: enrol, test, label.

    Raises
    ------
    DataError
        If there are no trials in it, a cell is empty, or a label is none.

    Examples
    --------
    >>> rows = {"enrol": ["a/1", "b/1"], "test": ["a/2", "a/2"], "label": [1, 0]}
    >>> trials = read_list(rows)
    >>> trials.rows, trials.test.to_list(), next(trials.chunks())["label"].to_list()
    (2, ['a/2'], ['target', 'nontarget'])
    """
    asked = Columns(dict(columns or {}), option="--trials-format")
    scanned = scan(source, columns=asked, format=format, name="trials")
    for role in ("enrol", "test"):
        if role not in scanned.columns:
            msg = (
                f"{scanned.name}: has no column of {role} ids{columns_told(scanned)}; name it with "
                f"--columns {role}=..."
            )
            raise DataError(msg)
    digest = hashlib.sha256(repr(sorted(scanned.columns.items())).encode())
    if scanned.content is not None:
        digest.update(scanned.content.sha256.encode())
    rows, sides = 0, {"enrol": _Distinct(), "test": _Distinct()}
    for frame in _frames(scanned):
        rows += frame.height
        for side, ids in sides.items():
            ids.add(frame[side])
        if scanned.content is None:
            held = io.BytesIO()
            frame.write_ipc(held)
            digest.update(held.getbuffer())
    if not rows:
        msg = f"{scanned.name}: holds no trial; give a file with one trial a row"
        raise DataError(msg)
    enrol, test = (ids.sorted() for ids in sides.values())
    is_labelled = "label" in scanned.columns
    return TrialList(scanned.name, digest.hexdigest(), rows, enrol, test, is_labelled, scanned)


def _frames(scanned: Scan) -> Iterator[pl.DataFrame]:
    """The list in the pieces that it is read in."""
    for rows, chunk in scanned.chunks():
        sides = {}
        for role in ("enrol", "test"):
            ids = chunk[role].cast(pl.String).str.strip_chars()
            empty = (ids.is_null() | (ids == "")).fill_null(value=True)
            if empty.any():
                at = rows[int(empty.arg_max() or 0)]
                msg = f"{scanned.at(int(at), role)}: is empty; give the id, or remove the row"
                raise DataError(msg)
            sides[role] = ids
        frame = pl.DataFrame(sides)
        if "label" in scanned.columns:
            words = pl.Series(["nontarget", "target"]).gather(labels(chunk, scanned, rows))
            frame = frame.with_columns(label=words)
        if frame.height:
            yield frame


class _Distinct:
    """Distinct ids of many chunks."""

    def __init__(self) -> None:
        self._parts: list[pl.Series] = []

    def add(self, ids: pl.Series) -> None:
        self._parts.append(ids.unique())
        if len(self._parts) > 8:
            self._parts = [pl.concat(self._parts).unique()]

    def sorted(self) -> pl.Series:
        return pl.concat(self._parts).unique().sort()
