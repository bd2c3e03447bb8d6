"""Trials to be scored: a list in any format, in chunks of one size, and what it enrols."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.errors import ConfigError, DataError
from parivox.read.cells import labels
from parivox.read.columns import Columns
from parivox.read.formats import scan
from parivox.read.ids import places_in
from parivox.read.joining import listed_ids
from parivox.read.notes import columns_told
from parivox.read.recordings import read_models

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from parivox.read.formats.format import Scan
    from parivox.scoring.comparisons import Comparison


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


WAYS = {
    "embeddings": "the mean of its recordings' embeddings",
    "scores": "the mean of its recordings' scores",
}
"""How a model of several recordings is compared."""


@dataclass(frozen=True, eq=False)
class Enrolments:
    """The recordings of each enrolment id.

    Attributes
    ----------
    recordings : Series
        Distinct ids of the recordings, in rising order.
    first : ndarray of int64 of shape (enrolment + 1,)
        Where the members of each enrolment begin, and where the last one's end.
    members : ndarray of int32
        Places in `recordings`.
    are_models : bool
        Whether a table of models told.
    """

    recordings: pl.Series
    first: NDArray[np.int64]
    members: NDArray[np.int32]
    are_models: bool

    @property
    def witness(self) -> NDArray[np.int32]:
        """The first recording of each enrolment: if all failed, its status is the enrolment's."""
        return self.members[self.first[:-1]]

    def of_good(self, is_good: NDArray[np.bool_]) -> Enrolments:
        """The same without the recordings that failed; an enrolment may have none left."""
        good = is_good[self.members]
        count = np.add.reduceat(good.astype(np.int64), self.first[:-1])
        first = np.concatenate(([0], np.cumsum(count)))
        return Enrolments(self.recordings, first, self.members[good], self.are_models)


def read_enrolments(trials: TrialList, models: Any = None) -> Enrolments:
    """The recordings of each enrolment id of a list, in the order of its ``enrol``.

    Parameters
    ----------
    trials
        The list.
    models
        Table of model and recording; without it, each id is that of one recording.

    Raises
    ------
    DataError
        If the table lacks a model.
    """
    ids = trials.enrol
    if models is None:
        everyone = np.arange(len(ids), dtype=np.int32)
        return Enrolments(ids, np.arange(len(ids) + 1), everyone, are_models=False)
    known = read_models(models)
    place = pl.DataFrame({"model": ids, "place": np.arange(len(ids), dtype=np.int32)})
    pairs = known.table.join(place, on="model").sort("place", "recording")
    count = np.bincount(pairs["place"].to_numpy(), minlength=len(ids))
    if (count == 0).any():
        missing = ids.filter(pl.Series(count == 0))
        msg = (
            f"{trials.name}: {listed_ids(missing, ids, 'enrolment ids')} are no models in "
            f"{known.name}; add them to it"
        )
        raise DataError(msg)
    recordings = pairs["recording"].unique().sort()
    first = np.concatenate(([0], np.cumsum(count)))
    return Enrolments(recordings, first, places_in(pairs["recording"], recordings), are_models=True)


def way_of(asked: str | None, comparison: Comparison) -> str:
    """How models are compared: as asked for, or as the comparison allows."""
    if asked is None:
        return "scores" if comparison.model is None else "embeddings"
    if asked not in WAYS:
        msg = f"--models-by {asked!r} is not known; choose from {', '.join(WAYS)}"
        raise ConfigError(msg)
    if asked == "embeddings" and comparison.model is None:
        msg = (
            f"--models-by embeddings: with --scoring {comparison.name} crops of several recordings "
            "have no mean; give --models-by scores"
        )
        raise ConfigError(msg)
    return asked
