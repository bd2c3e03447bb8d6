"""Write trial lists in each format, chunk by chunk, and convert them from any other.

What a list holds decides its bytes, however it comes in chunks. Every format is one that
`parivox.data.formats` reads.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import polars as pl

from parivox.data.columns import ATTRIBUTE_PREFIX, RequestedColumns
from parivox.data.formats import scan
from parivox.data.joining import first_components, listed_ids, utterance_speakers
from parivox.data.recordings import read_utterances
from parivox.data.source_bytes import with_reading_options
from parivox.data.speakers import read_speakers
from parivox.data.trial_rows import trial_chunks
from parivox.data.trial_values import bona_fide_labels, scores
from parivox.errors import ConfigError, DataError
from parivox.facts import Fact
from parivox.runtime.disk import ScratchFolder, atomic_file, explain_write_errors, write_error
from parivox.shown import CATALOGUE_MODULE, NotebookView

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from numpy.typing import NDArray

    from parivox.data.formats.format import Chunk, Scan
    from parivox.sources import SpeakerSource, TableSource, UtteranceSource

ROWS_PER_GROUP = 1 << 16
"""Rows of a group of rows in Parquet, and of what is put together at once."""
LABELS = ("nontarget", "target")
"""Words for both classes of trials."""
_TRIAL_COLUMNS = ("enrol", "test", "label")
_SIDES = ("enrol", "test")
_SPEAKER_COLUMNS = ("enrol_speaker", "test_speaker")


class _TextFormat(NamedTuple):
    """A format of lines."""

    columns: tuple[str, ...]  # the order of enrol, test and label
    words: tuple[str, str]  # for nontarget and target trials
    separator: str
    header: tuple[str, ...] = ()  # empty if there is none
    forbidden: str = ""
    """Pattern of what no id may hold; empty if ids are quoted where they need it."""


_TEXT_FORMATS = {
    "voxceleb": _TextFormat(("label", "enrol", "test"), ("0", "1"), " ", forbidden=r"\s"),
    "kaldi": _TextFormat(_TRIAL_COLUMNS, LABELS, " ", forbidden=r"\s"),
    "nist": _TextFormat(
        _TRIAL_COLUMNS, LABELS, "\t", ("modelid", "segmentid", "targettype"), forbidden=r'[\t\r\n"]'
    ),
    "csv": _TextFormat(_TRIAL_COLUMNS, LABELS, ",", _TRIAL_COLUMNS),
}
FORMATS_WITH_FURTHER_COLUMNS = ("csv", "parquet")
"""Those with room for scores and other columns."""


def label_words(target: NDArray[np.bool_], words: Sequence[str] = LABELS) -> pl.Series:
    """Return the word for each trial.

    >>> label_words(np.array([True, False])).to_list()
    ['target', 'nontarget']
    """
    return pl.Series(words).gather(target.astype("u1"))


def check_is_new(path: Any) -> Path:
    """Return the file to write, if there is none yet and its folder can be written."""
    if not isinstance(path, (str, os.PathLike)):
        msg = f"--out {path!r}: names no file"
        hint = "give its path"
        raise ConfigError(msg, hint)
    text = os.fsdecode(path)
    out, subject = Path(text), f"--out {text}"
    try:
        if text and out.exists():
            msg = f"--out {text}: already exists"
            hint = "name a new file"
            raise ConfigError(msg, hint)
        if text and out.parent.is_dir() and os.access(out.parent, os.W_OK | os.X_OK):
            return out
    except (OSError, ValueError) as error:
        raise write_error(subject, error) from error
    reason = f"{out.parent} is not a folder that can be written" if text else "names no file"
    raise write_error(subject, PermissionError(reason))


class ListWriter:
    r"""Writes a list chunk by chunk to a new file, which is not there before all of it is.

    >>> from tempfile import mkdtemp
    >>> out = Path(mkdtemp()) / "list.txt"
    >>> with ListWriter(out, "voxceleb") as writer:
    ...     writer.write(pl.Series(["a/1"]), pl.Series(["b/1"]), np.array([False]))
    >>> out.read_text()
    '0 a/1 b/1\n'
    """

    def __init__(self, path: str | os.PathLike[str], format: str) -> None:  # noqa: A002
        self.path, self.format = check_is_new(path), format
        self.n_rows = 0
        self._resources = contextlib.ExitStack()
        self._file: IO[bytes] | None = None
        self._scratch: ScratchFolder | None = None
        self._chunk_files: list[Path] = []

    def __enter__(self) -> Self:
        with self._naming_errors(), contextlib.ExitStack() as resources:
            self._unfinished = resources.enter_context(atomic_file(self.path))
            if self.format == "parquet":
                self._scratch = ScratchFolder()
                resources.push(self._write_parquet)
            else:
                self._file = resources.enter_context(self._unfinished.open("wb"))
            self._resources = resources.pop_all()
        return self

    def _naming_errors(self) -> contextlib.AbstractContextManager[None]:
        return explain_write_errors(f"--out {self.path}")

    def write(
        self,
        enrol_ids: pl.Series,
        test_ids: pl.Series,
        target: NDArray[np.bool_] | None,
        further_columns: Mapping[str, Any] | None = None,
    ) -> None:
        """Add trials at the end, with further columns, the same in every chunk.

        CSV and Parquet have room for trials whose labels are not known.
        """
        if further_columns and self.format not in FORMATS_WITH_FURTHER_COLUMNS:
            msg = f"the list format {self.format} has no columns for {', '.join(further_columns)}"
            hint = "write the list as csv"
            raise ConfigError(msg, hint)
        trial_columns = {"enrol": enrol_ids, "test": test_ids}
        if target is not None:
            words = _TEXT_FORMATS.get(self.format, _TEXT_FORMATS["csv"]).words
            trial_columns["label"] = label_words(target, words)
        frame = pl.DataFrame(trial_columns | dict(further_columns or {}))
        if self._scratch is not None:
            # kept aside until the end, so that row groups do not depend on the size of chunks
            for rows in frame.iter_slices(ROWS_PER_GROUP):
                with self._scratch.file_to_write(f"{len(self._chunk_files)}.arrow") as chunk_file:
                    rows.write_ipc(chunk_file, compression="lz4")
                self._chunk_files.append(chunk_file)
        else:
            with self._naming_errors():
                self._write_text(frame)
        self.n_rows += frame.height

    def _write_text(self, frame: pl.DataFrame) -> None:
        assert self._file is not None
        text_format = _TEXT_FORMATS[self.format]
        if text_format.forbidden:
            self._check_ids(frame, text_format.forbidden)
        columns = [name for name in text_format.columns if name in frame.columns]
        frame = frame.select(*columns, pl.exclude(*columns))
        if text_format.header and not self.n_rows:
            titles = dict(zip(text_format.columns, text_format.header, strict=True))
            names = [titles.get(name, name) for name in frame.columns]
            pl.DataFrame(schema=names).write_csv(self._file, separator=text_format.separator)
        frame.write_csv(
            self._file,
            include_header=False,
            separator=text_format.separator,
            quote_style="never" if text_format.forbidden else "necessary",
        )

    def _check_ids(self, frame: pl.DataFrame, forbidden: str) -> None:
        for side in _SIDES:
            # ids are not quoted in such formats, so that none may hold a separator
            is_forbidden = frame[side].str.contains(forbidden)
            if is_forbidden.any():
                row = int(is_forbidden.arg_max() or 0)
                msg = (
                    f"trial {self.n_rows + row + 1}: {side} id {frame[side][row]!r} cannot be "
                    f"written in the list format {self.format}, which has no quotes"
                )
                hint = "write the list as csv or parquet, or rename the utterance"
                raise DataError(msg, hint)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._naming_errors():
            self._resources.__exit__(kind, error, trace)

    def _write_parquet(self, error_type: type[BaseException] | None, *_: object) -> None:
        """Put the chunks together: row groups of one size, whatever that of the chunks."""
        if error_type:
            return
        empty = pl.LazyFrame(schema=dict.fromkeys(_TRIAL_COLUMNS, pl.String))
        trials = pl.scan_ipc(self._chunk_files) if self._chunk_files else empty
        trials.sink_parquet(
            self._unfinished,
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
    def facts(self) -> tuple[Fact, ...]:
        """A summary: codes with values."""
        trials = {"target": self.target, "nontarget": self.nontarget}
        target = {"path": str(self.path), "format": self.format}
        facts = [Fact("list_converted", {**trials, **target})]
        if self.labels_from == "speakers":
            facts.append(Fact("labels_from_speakers", {}))
        if self.left_out:
            left_out = {"format": self.format, "columns": [*self.left_out]}
            facts.append(Fact("columns_left_out", left_out))
        return tuple(facts)

    @property
    def told(self) -> tuple[str, ...]:
        """The same in words, line by line."""
        return tuple(import_module(CATALOGUE_MODULE).full_sentences(self.facts))


@with_reading_options
def convert(
    source: TableSource,
    out: str | os.PathLike[str],
    *,
    to: str,
    columns: Mapping[str, str] | None = None,
    format: str | None = None,  # noqa: A002 - the option's name
    speakers: SpeakerSource | None = None,
    utterances: UtteranceSource | None = None,
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

    ConvertOptions.from_keywords(
        id=id, columns=columns, format=format, to=to, encoding=encoding, quotes=quotes
    )
    path = check_is_new(out)
    source_scan = scan_every_column(source, dict(columns or {}), format)
    column_names = further_columns(source_scan)
    speaker_of_utterance = None
    if "label" not in source_scan.columns and not {*_SPEAKER_COLUMNS} <= set(source_scan.columns):
        speaker_of_utterance = _speaker_of_utterance(source_scan, speakers, utterances, id)
    holds_columns = to in FORMATS_WITH_FURTHER_COLUMNS
    n_target = 0
    with ListWriter(path, to) as writer:
        for chunk in trial_chunks(source_scan):
            target = is_target(chunk, speaker_of_utterance)
            cells = {}
            for role, name in column_names.items():
                if role == "score":
                    cells[name] = pl.Series(scores(chunk, source_scan)).fill_nan(None)
                else:
                    cells[name] = chunk[role]
            enrol, test = map(chunk.ids, _SIDES)
            writer.write(enrol, test, target, cells if holds_columns else None)
            n_target += int(target.sum())
    # columns of files without a header have numbers, but no names
    left_out = [f"column {position}" for position in source_scan.ignored]
    if not holds_columns:
        left_out = [*column_names.values(), *left_out]
    return Converted(
        path=path,
        format=to,
        target=n_target,
        nontarget=writer.n_rows - n_target,
        left_out=tuple(left_out),
        labels_from="list" if "label" in source_scan.columns else "speakers",
    )


def scan_every_column(source: Any, columns: dict[str, str], format_: str | None) -> Scan:
    """Scan a list with every column that it has, those without a role as attributes."""
    if isinstance(source, str) and source == "-":
        msg = "-: a list is read more than once to convert it"
        hint = "save the list as a file"
        raise ConfigError(msg, hint)
    # the columns without a role are known only after a first scan
    scan_of_roles = scan(source, columns=RequestedColumns(columns), format=format_, name="trials")
    all_columns = RequestedColumns(columns, attributes=scan_of_roles.ignored)
    source_scan = scan(source, columns=all_columns, format=format_, name="trials")
    role_names = source_scan.columns.values()
    duplicates = [name for name in source_scan.ignored if name in role_names]
    if duplicates:
        msg = f"{source_scan.name}: has several columns named {duplicates[0]!r}"
        hint = "rename one of them"
        raise DataError(msg, hint)
    return source_scan


def further_columns(source_scan: Scan) -> dict[str, str]:
    """Return the names of the columns that are neither ids nor labels, by role.

    A column whose role is known is called by it.
    """
    names = {
        role: role.removeprefix(ATTRIBUTE_PREFIX)
        for role in source_scan.columns
        if role not in _TRIAL_COLUMNS
    }
    all_names = [*_TRIAL_COLUMNS, *names.values()]
    repeated = [name for name in all_names if all_names.count(name) > 1]
    if repeated:
        msg = f"{source_scan.name}: two columns would be called {repeated[0]!r}"
        hint = "rename one of them"
        raise DataError(msg, hint)
    return names


def is_target(chunk: Chunk, speaker_of_utterance: pl.DataFrame | None) -> NDArray[np.bool_]:
    """Return which trials are target trials: by their labels, else by their speakers.

    `speaker_of_utterance` has the columns ``utterance`` and ``speaker``; without it, the trials
    have columns of their speakers.
    """
    if "label" in chunk.columns:
        return np.asarray(bona_fide_labels(chunk) == 1)
    if speaker_of_utterance is None:
        enrol_speaker, test_speaker = map(chunk.ids, _SPEAKER_COLUMNS)
    else:
        enrol_speaker, test_speaker = (
            chunk.ids(side)
            .to_frame("utterance")
            .join(speaker_of_utterance, on="utterance", how="left", maintain_order="left")[
                "speaker"
            ]
            for side in _SIDES
        )
    return (enrol_speaker == test_speaker).to_numpy()


def _speaker_of_utterance(
    source_scan: Scan, speakers: Any, utterances: Any, id_: str | None
) -> pl.DataFrame:
    """Return the speaker of each utterance of the list: columns ``utterance`` and ``speaker``."""
    # distinct ids of each chunk only, as a list may be longer than memory
    ids = pl.Series("utterance", [], dtype=pl.String)
    for chunk in trial_chunks(source_scan):
        ids_of_sides = pl.concat([chunk.ids(side).alias("utterance") for side in _SIDES])
        ids = pl.concat([ids, ids_of_sides]).unique()
    ids = ids.sort()
    table = None if utterances is None else read_utterances(utterances)
    if speakers is not None:
        speaker_table = read_speakers(speakers, id=id_)
        speaker = pl.Series(utterance_speakers(ids, speaker_table, table, source_scan.name))
    elif table is None:
        without_path = ids.filter(~ids.str.contains(r"[/\\]"))
        if len(without_path):
            msg = (
                f"{source_scan.name}: has no column of labels{source_scan.found_columns_text}, "
                f"and {listed_ids(without_path, ids, 'utterance ids')} do not contain a speaker"
            )
            hint = (
                "give a table "
                "of speakers or utterances, or name the labels with --columns label=..."
            )
            raise DataError(msg, hint)
        speaker = first_components(ids)
    elif table.names_speakers:
        table.refuse_nobody()
        speaker = table.speakers(ids, source_scan.name)
    else:
        msg = f"{table.name}: has no column 'speaker', from which labels are derived"
        hint = "add this column"
        raise DataError(msg, hint)
    return pl.DataFrame([ids, speaker.alias("speaker")])
