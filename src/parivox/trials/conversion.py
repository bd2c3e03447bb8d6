"""A trial list in another format: the same trials in the same order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.errors import ConfigError, DataError
from parivox.options.trials import ConvertOptions
from parivox.read.cells import labels, scores
from parivox.read.columns import ATTRIBUTE, Columns
from parivox.read.formats import scan
from parivox.read.joining import listed_ids, utterance_speakers
from parivox.read.notes import columns_told
from parivox.read.recordings import read_utterances
from parivox.read.speakers import read_speakers
from parivox.shown import Shown
from parivox.trials.findings import number_of
from parivox.trials.writing import HOLDS_MORE, ListWriter, check_format, check_new

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from parivox.read.formats.format import Rows, Scan

_TRIAL = ("enrol", "test", "label")
_SIDES = ("enrol", "test")


@dataclass(frozen=True)
class Converted(Shown):
    """A list that was written in another format.

    Attributes
    ----------
    path : Path
    format : str
    target, nontarget : int
        Trials of either class.
    left_out : tuple of str
        Columns that the format has no room for, or that have no name.
    labels_from : str
        What told which trials are target trials: ``"list"`` or ``"speakers"``.
    """

    path: Path
    format: str
    target: int
    nontarget: int
    left_out: tuple[str, ...]
    labels_from: str

    @property
    def told(self) -> tuple[str, ...]:
        """A summary, line by line."""
        n = self.target + self.nontarget
        found = [
            (
                f"{number_of(n, 'trial')} in {self.path} ({self.format}): {self.target:,} target, "
                f"{self.nontarget:,} nontarget."
            )
        ]
        if self.labels_from == "speakers":
            found.append("The list has no labels: target trials are those of one speaker.")
        if self.left_out:
            found.append(
                f"Left out, as they have no place in {self.format} or no name: "
                f"{', '.join(self.left_out)}."
            )
        return tuple(found)


def convert(
    source: Any,
    out: str | os.PathLike[str],
    *,
    to: str,
    columns: Mapping[str, str] | None = None,
    format: str | None = None,  # noqa: A002 - the option's name
    speakers: Any = None,
    utterances: Any = None,
    id: str | None = None,  # noqa: A002 - the option's name
) -> Converted:
    r"""Write a list, or a file of scores, in another format.

    Every row is kept, in its order: duplicates as well, since what is wrong with a list is for
    :func:`~parivox.trials.check` to say. Scores and further columns go into CSV and Parquet.

    Parameters
    ----------
    source
        A path, ``-`` for standard input, a dataframe or a mapping of arrays.
    out
        A new file.
    to : {"voxceleb", "kaldi", "nist", "csv", "parquet"}
    columns
        The user's column name for some roles.
    format
        Name of the format of `source`, where its content does not tell.
    speakers, utterances
        Tables of speakers and of utterances: they tell the labels that the list lacks. Without
        them, ids that are paths begin with their speaker.
    id
        Id column of `speakers`.

    Raises
    ------
    DataError
        If the list cannot be read, tells no labels, or holds ids that the format cannot.
    ConfigError
        If an option is not known, or the file cannot be written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> out = Path(mkdtemp()) / "list.txt"
    >>> rows = {"enrol": ["a/1", "a/1"], "test": ["b/1", "a/2"], "label": [0, 1]}
    >>> convert(rows, out, to="kaldi").target
    1
    >>> out.read_text()
    'a/1 b/1 nontarget\na/1 a/2 target\n'
    """
    check_format(to, "--to")
    path = check_new(out)
    ConvertOptions.of(id=id, columns=columns, format=format)
    scanned = _opened(source, dict(columns or {}), format)
    more = _more(scanned)
    label_of = _labeller(scanned, speakers, utterances, id)
    target = 0
    with ListWriter(path, to) as writer:
        for rows, chunk in _filled(scanned):
            is_target = label_of(rows, chunk)
            beside = {
                name: pl.Series(scores(chunk, scanned, rows)).fill_nan(None)
                if role == "score"
                else chunk[role]
                for role, name in more.items()
            }
            enrol, test = (_ids(chunk, side, scanned, rows) for side in _SIDES)
            writer.write(enrol, test, is_target, beside if to in HOLDS_MORE else None)
            target += int(is_target.sum())
        if not writer.rows:
            msg = f"{scanned.name}: holds no trial; give a file with one trial a row"
            raise DataError(msg)
    nameless = tuple(f"column {place}" for place in scanned.ignored)  # of files without a header
    left_out = nameless if to in HOLDS_MORE else (*more.values(), *nameless)
    told_by = "list" if "label" in scanned.columns else "speakers"
    return Converted(path, to, target, writer.rows - target, left_out, told_by)


def _opened(source: Any, columns: dict[str, str], format_: str | None) -> Scan:
    """The list with every column that it has, those without a role as attributes."""
    if source == "-":
        msg = "-: a list to be converted is read more than once; save it as a file"
        raise ConfigError(msg)
    found = scan(source, columns=Columns(columns), format=format_, name="trials")
    for side in _SIDES:
        if side not in found.columns:
            msg = (
                f"{found.name}: has no column of {side} utterances{columns_told(found)}; name it "
                f"with --columns {side}=..."
            )
            raise DataError(msg)
    asked = Columns(columns, attributes=found.ignored)
    return scan(source, columns=asked, format=format_, name="trials")


def _more(scanned: Scan) -> dict[str, str]:
    """Names of the columns beside ids and labels, by role; what is known is called by its role."""
    named = {role: role.removeprefix(ATTRIBUTE) for role in scanned.columns if role not in _TRIAL}
    taken = [*_TRIAL, *named.values()]
    twice = next((name for name in taken if taken.count(name) > 1), None)
    if twice is not None:
        msg = f"{scanned.name}: two columns would be called {twice!r}; rename one of them"
        raise DataError(msg)
    return named


def _filled(scanned: Scan) -> Iterator[tuple[Rows, pl.DataFrame]]:
    """Chunks without blank rows."""
    for rows, chunk in scanned.chunks():
        blank = chunk.select(pl.all_horizontal(pl.all().is_null())).to_series()
        if blank.any():
            yield np.asarray(rows)[~blank.to_numpy()], chunk.filter(~blank)
        else:
            yield rows, chunk


def _ids(chunk: pl.DataFrame, side: str, scanned: Scan, rows: Rows) -> pl.Series:
    """Ids of one side, none of which may be empty."""
    ids = chunk[side].cast(pl.String).str.strip_chars()
    empty = ids.is_null() | (ids == "")
    if empty.any():
        row = rows[int(empty.arg_max() or 0)]
        msg = f"{scanned.at(int(row), side)}: is empty; give the id, or remove the row"
        raise DataError(msg)
    return ids


def _labeller(scanned: Scan, speakers: Any, utterances: Any, id_: str | None) -> Any:
    """A function from a chunk to whether its trials are target trials."""
    if "label" in scanned.columns:
        return lambda rows, chunk: labels(chunk, scanned, rows) == 1
    sides = {f"{side}_speaker" for side in _SIDES}
    if sides <= set(scanned.columns):

        def by_columns(rows: Rows, chunk: pl.DataFrame) -> NDArray[np.bool_]:
            one, other = (_ids(chunk, side, scanned, rows) for side in sorted(sides))
            return (one == other).to_numpy()

        return by_columns
    known = _speakers_of(scanned, speakers, utterances, id_)

    def by_table(rows: Rows, chunk: pl.DataFrame) -> NDArray[np.bool_]:
        sides = pl.DataFrame({side: _ids(chunk, side, scanned, rows) for side in _SIDES})
        for side in _SIDES:
            of = known.rename({"utterance": side, "speaker": f"{side}_speaker"})
            sides = sides.join(of, on=side, how="left", maintain_order="left")
        return (sides["enrol_speaker"] == sides["test_speaker"]).to_numpy()

    return by_table


def _speakers_of(scanned: Scan, speakers: Any, utterances: Any, id_: str | None) -> pl.DataFrame:
    """Whose each utterance of the list is: columns ``utterance`` and ``speaker``."""
    ids = pl.Series("utterance", [], dtype=pl.String)
    for rows, chunk in _filled(scanned):
        both = pl.concat([_ids(chunk, side, scanned, rows).alias("utterance") for side in _SIDES])
        ids = pl.concat([ids, both]).unique()
    ids = ids.sort()
    if speakers is None and utterances is None:
        return _by_path(scanned, ids)
    table = None if utterances is None else read_utterances(utterances)
    if speakers is not None:
        people = read_speakers(speakers, id=id_)
        return pl.DataFrame(
            [ids, pl.Series("speaker", utterance_speakers(ids, people, table, scanned.name))]
        )
    assert table is not None
    if not table.tell_speakers:
        msg = f"{table.name}: has no column 'speaker', which tells the labels; give one"
        raise DataError(msg)
    return pl.DataFrame([ids, table.speakers(ids, scanned.name).alias("speaker")])


def _by_path(scanned: Scan, ids: pl.Series) -> pl.DataFrame:
    """Utterances and the speakers that their ids begin with."""
    bare = ids.filter(~ids.str.contains("/", literal=True))
    if len(bare):
        msg = (
            f"{scanned.name}: has no column of labels{columns_told(scanned)}, and "
            f"{listed_ids(bare, ids, 'utterance ids')} tell no speaker; give a table of speakers "
            "or utterances, or name the labels with --columns label=..."
        )
        raise DataError(msg)
    speaker = ids.str.split_exact("/", 1).struct.field("field_0")
    return pl.DataFrame([ids, speaker.alias("speaker")])
