"""Trial lists in each format: written block by block, and converted from any other.

What a list holds decides its bytes, however it comes in blocks. Every format is one that
`parivox.data.formats` reads.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import polars as pl

from parivox.data.columns import ATTRIBUTE, RequestedColumns
from parivox.data.formats import scan
from parivox.data.joining import first_components, listed_ids, utterance_speakers
from parivox.data.recordings import read_utterances
from parivox.data.source_bytes import in_encoding_given
from parivox.data.speakers import read_speakers
from parivox.data.trial_rows import chunks_of_trials
from parivox.data.trial_values import labels, scores
from parivox.errors import ConfigError, DataError
from parivox.runtime.disk import ScratchFolder, atomic_file, explain_write_errors, write_error
from parivox.shown import NotebookView

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from numpy.typing import NDArray

    from parivox.data.formats.format import Chunk, Scan

ROWS_PER_GROUP = 1 << 16
"""Rows of a group of rows in Parquet, and of what is put together at once."""
LABELS = ("nontarget", "target")
"""Words for both classes of trials."""
_TRIAL = ("enrol", "test", "label")
_SIDES = ("enrol", "test")
_SPEAKERS = ("enrol_speaker", "test_speaker")


class _Text(NamedTuple):
    """A format of lines."""

    columns: tuple[str, ...]  # which of enrol, test, label stands where
    words: tuple[str, str]  # for nontarget and target trials
    separator: str
    header: tuple[str, ...] = ()  # empty if there is none
    forbids: str = ""  # pattern of what no id may hold; empty if ids are quoted where they need it


_TEXTS = {
    "voxceleb": _Text(("label", "enrol", "test"), ("0", "1"), " ", forbids=r"\s"),
    "kaldi": _Text(_TRIAL, LABELS, " ", forbids=r"\s"),
    "nist": _Text(
        _TRIAL, LABELS, "\t", ("modelid", "segmentid", "targettype"), forbids=r'[\t\r\n"]'
    ),
    "csv": _Text(_TRIAL, LABELS, ",", _TRIAL),
}
FORMATS_WITH_FURTHER_COLUMNS = ("csv", "parquet")
"""Those with room for scores and other columns."""


def label_words(target: NDArray[np.bool_], words: Sequence[str] = LABELS) -> pl.Series:
    """The word for each trial.

    >>> label_words(np.array([True, False])).to_list()
    ['target', 'nontarget']
    """
    return pl.Series(words).gather(target.astype("u1"))


def check_is_new(path: Any) -> Path:
    """The file to write, if there is none yet and its folder can be written."""
    if not isinstance(path, (str, os.PathLike)):
        msg = f"--out {path!r}: names no file; give its path"
        raise ConfigError(msg)
    text = os.fsdecode(path)
    out, named = Path(text), f"--out {text}"
    try:
        if text and out.exists():
            msg = f"--out {text}: is there already; name a new file"
            raise ConfigError(msg)
        if text and out.parent.is_dir() and os.access(out.parent, os.W_OK | os.X_OK):
            return out
    except (OSError, ValueError) as error:
        raise write_error(named, error) from error
    why = f"{out.parent} is not a folder that can be written" if text else "names no file"
    raise write_error(named, PermissionError(why))


class ListWriter:
    r"""Writes a list block by block to a new file, which is not there before all of it is.

    >>> from tempfile import mkdtemp
    >>> out = Path(mkdtemp()) / "list.txt"
    >>> with ListWriter(out, "voxceleb") as writer:
    ...     writer.write(pl.Series(["a/1"]), pl.Series(["b/1"]), np.array([False]))
    >>> out.read_text()
    '0 a/1 b/1\n'
    """

    def __init__(self, path: str | os.PathLike[str], format: str) -> None:  # noqa: A002
        self.path, self.format = check_is_new(path), format
        self.rows = 0
        self._whole = contextlib.ExitStack()
        self._file: IO[bytes] | None = None
        self._scratch: ScratchFolder | None = None
        self._blocks: list[Path] = []

    def __enter__(self) -> Self:
        with self._writing(), contextlib.ExitStack() as scan_every_column:
            self._aside = scan_every_column.enter_context(atomic_file(self.path))
            if self.format == "parquet":
                self._scratch = ScratchFolder()
                scan_every_column.push(self._write_parquet)
            else:
                self._file = scan_every_column.enter_context(self._aside.open("wb"))
            self._whole = scan_every_column.pop_all()
        return self

    def _writing(self) -> contextlib.AbstractContextManager[None]:
        return explain_write_errors(f"--out {self.path}")

    def write(
        self,
        enrol_ids: pl.Series,
        test_ids: pl.Series,
        target: NDArray[np.bool_] | None,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        """Add trials at the end, with further columns, the same in every block.

        CSV and Parquet have room for trials whose labels are not known.
        """
        if more and self.format not in FORMATS_WITH_FURTHER_COLUMNS:
            msg = f"a list in the format {self.format} holds no {', '.join(more)}; write it as csv"
            raise ConfigError(msg)
        trial = {"enrol": enrol_ids, "test": test_ids}
        if target is not None:
            trial["label"] = label_words(target, _TEXTS.get(self.format, _TEXTS["csv"]).words)
        frame = pl.DataFrame(trial | dict(more or {}))
        if self._scratch is not None:
            for part in frame.iter_slices(ROWS_PER_GROUP):
                with self._scratch.file_to_write(f"{len(self._blocks)}.arrow") as block:
                    part.write_ipc(block, compression="lz4")
                self._blocks.append(block)
        else:
            with self._writing():
                self._write_text(frame)
        self.rows += frame.height

    def _write_text(self, frame: pl.DataFrame) -> None:
        assert self._file is not None
        form = _TEXTS[self.format]
        if form.forbids:
            self._check_ids(frame, form.forbids)
        columns = [name for name in form.columns if name in frame.columns]
        frame = frame.select(*columns, pl.exclude(*columns))
        if form.header and not self.rows:
            called = dict(zip(form.columns, form.header, strict=True))
            names = [called.get(name, name) for name in frame.columns]
            pl.DataFrame(schema=names).write_csv(self._file, separator=form.separator)
        frame.write_csv(
            self._file,
            include_header=False,
            separator=form.separator,
            quote_style="never" if form.forbids else "necessary",
        )

    def _check_ids(self, frame: pl.DataFrame, pattern: str) -> None:
        for side in ("enrol", "test"):
            odd = frame[side].str.contains(pattern)
            if odd.any():
                at = int(odd.arg_max() or 0)
                msg = (
                    f"trial {self.rows + at + 1}: {side} id {frame[side][at]!r} cannot stand in a "
                    f"list in the format {self.format}, which has no quotes; write it as csv or "
                    "parquet, or rename the utterance"
                )
                raise DataError(msg)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._writing():
            self._whole.__exit__(kind, error, trace)

    def _write_parquet(self, failed: type[BaseException] | None, *_: object) -> None:
        """Put the blocks together: row groups of one size, whatever that of the blocks."""
        if failed:
            return
        empty = pl.LazyFrame(schema=dict.fromkeys(_TRIAL, pl.String))
        blocks = pl.scan_ipc(self._blocks) if self._blocks else empty
        blocks.sink_parquet(
            self._aside,
            compression="zstd",
            compression_level=3,
            statistics=True,
            row_group_size=ROWS_PER_GROUP,
            data_page_size=1 << 20,
            maintain_order=True,
        )


@dataclass(frozen=True)
class Converted(NotebookView):
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
        trials = f"{n:,} trial{'s' * (n != 1)} in {self.path} ({self.format})"
        lines = [f"{trials}: {self.target:,} target, {self.nontarget:,} nontarget."]
        if self.labels_from == "speakers":
            lines.append("The list has no labels: target trials are those of one speaker.")
        if self.left_out:
            lines.append(
                f"Left out, as they have no place in {self.format} or no name: "
                f"{', '.join(self.left_out)}."
            )
        return tuple(lines)


@in_encoding_given
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
    encoding: str | None = None,
    quotes: str | None = None,
) -> Converted:
    r"""Write a list, or a file of scores, in another format.

    Every row is kept, in its order: duplicates as well, since what is wrong with a list is for
    `parivox.trials.check` to say. Scores and further columns go into CSV and Parquet.

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
    encoding, quotes
        Of texts that are neither UTF-8 nor UTF-16; without it, found out.

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
    from parivox.options.trials import ConvertOptions  # noqa: PLC0415 - for this alone

    ConvertOptions.of(
        id=id, columns=columns, format=format, to=to, encoding=encoding, quotes=quotes
    )
    path = check_is_new(out)
    scanned = scan_every_column(source, dict(columns or {}), format)
    more = further_columns(scanned)
    known = None
    if "label" not in scanned.columns and not {*_SPEAKERS} <= set(scanned.columns):
        known = _speakers_of(scanned, speakers, utterances, id)
    target = 0
    with ListWriter(path, to) as writer:
        for chunk in chunks_of_trials(scanned):
            targets = is_target(chunk, known)
            cells = {
                name: pl.Series(scores(chunk, scanned)).fill_nan(None)
                if role == "score"
                else chunk[role]
                for role, name in more.items()
            }
            enrol, test = map(chunk.ids, _SIDES)
            writer.write(
                enrol, test, targets, cells if to in FORMATS_WITH_FURTHER_COLUMNS else None
            )
            target += int(targets.sum())
    nameless = tuple(f"column {place}" for place in scanned.ignored)  # of files without a header
    left_out = nameless if to in FORMATS_WITH_FURTHER_COLUMNS else (*more.values(), *nameless)
    labels_from = "list" if "label" in scanned.columns else "speakers"
    return Converted(path, to, target, writer.rows - target, left_out, labels_from)


def scan_every_column(source: Any, columns: dict[str, str], format_: str | None) -> Scan:
    """The list with every column that it has, those without a role as attributes."""
    if isinstance(source, str) and source == "-":
        msg = "-: a list to be converted is read more than once; save it as a file"
        raise ConfigError(msg)
    scanned = scan(source, columns=RequestedColumns(columns), format=format_, name="trials")
    asked = RequestedColumns(columns, attributes=scanned.ignored)
    return scan(source, columns=asked, format=format_, name="trials")


def further_columns(scanned: Scan) -> dict[str, str]:
    """Names of the columns beside ids and labels, by role; what is known is called by its role."""
    named = {role: role.removeprefix(ATTRIBUTE) for role in scanned.columns if role not in _TRIAL}
    taken = [*_TRIAL, *named.values()]
    twice = next((name for name in taken if taken.count(name) > 1), None)
    if twice is not None:
        msg = f"{scanned.name}: two columns would be called {twice!r}; rename one of them"
        raise DataError(msg)
    return named


def is_target(chunk: Chunk, known: pl.DataFrame | None) -> NDArray[np.bool_]:
    """Which trials are target trials: by their labels, else by whether their speakers are one."""
    if "label" in chunk.columns:
        return np.asarray(labels(chunk) == 1)
    if known is None:
        one, other = map(chunk.ids, _SPEAKERS)
    else:
        sides = [chunk.ids(side).to_frame("utterance") for side in _SIDES]
        how: dict[str, Any] = {"on": "utterance", "how": "left", "maintain_order": "left"}
        one, other = (side.join(known, **how)["speaker"] for side in sides)
    return (one == other).to_numpy()


def _speakers_of(scanned: Scan, speakers: Any, utterances: Any, id_: str | None) -> pl.DataFrame:
    """Whose each utterance of the list is: columns ``utterance`` and ``speaker``."""
    ids = pl.Series("utterance", [], dtype=pl.String)
    for chunk in chunks_of_trials(scanned):
        both = pl.concat([chunk.ids(side).alias("utterance") for side in _SIDES])
        ids = pl.concat([ids, both]).unique()
    ids = ids.sort()
    table = None if utterances is None else read_utterances(utterances)
    if speakers is not None:
        people = read_speakers(speakers, id=id_)
        owner = pl.Series(utterance_speakers(ids, people, table, scanned.name))
    elif table is None:
        bare = ids.filter(~ids.str.contains(r"[/\\]"))
        if len(bare):
            msg = (
                f"{scanned.name}: has no column of labels{scanned.columns_shown}, and "
                f"{listed_ids(bare, ids, 'utterance ids')} tell no speaker; give a table of "
                "speakers or utterances, or name the labels with --columns label=..."
            )
            raise DataError(msg)
        owner = first_components(ids)
    elif table.tell_speakers:
        table.refuse_nobody()
        owner = table.speakers(ids, scanned.name)
    else:
        msg = f"{table.name}: has no column 'speaker', which tells the labels; give one"
        raise DataError(msg)
    return pl.DataFrame([ids, owner.alias("speaker")])
