"""Trial lists written to disk, block by block: aside first, then in place.

What a list holds decides its bytes, however it comes in blocks. Every format is one that
:mod:`parivox.read.formats` reads.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

import polars as pl

from parivox.errors import ConfigError, DataError
from parivox.read.content import Folder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

ROWS = 1 << 16
"""Rows of a group of rows in Parquet, and of what is put together at once."""


@dataclass(frozen=True)
class _Text:
    """A format of lines.

    Attributes
    ----------
    columns : tuple of str
        Which of enrol, test, label stands where.
    words : (str, str)
        For nontarget and target trials.
    separator : str
    header : tuple of str
        Empty if there is none.
    forbids : str
        Pattern of what no id may hold; empty if ids are quoted where they need it.
    """

    columns: tuple[str, ...]
    words: tuple[str, str]
    separator: str
    header: tuple[str, ...] = ()
    forbids: str = ""


LABELS = ("nontarget", "target")
"""Words for both kinds of trials."""
_TRIAL = ("enrol", "test", "label")
_TEXTS = {
    "voxceleb": _Text(("label", "enrol", "test"), ("0", "1"), " ", forbids=r"\s"),
    "kaldi": _Text(_TRIAL, LABELS, " ", forbids=r"\s"),
    "nist": _Text(
        _TRIAL, LABELS, "\t", ("modelid", "segmentid", "targettype"), forbids=r'[\t\r\n"]'
    ),
    "csv": _Text(_TRIAL, LABELS, ",", _TRIAL),
}
FORMATS = (*_TEXTS, "parquet")
"""Formats that lists are written in."""
HOLDS_MORE = ("csv", "parquet")
"""Those with room for scores and other columns."""


def label_words(target: NDArray[np.bool_], words: Sequence[str] = LABELS) -> pl.Series:
    """The word for each trial.

    Examples
    --------
    >>> import numpy as np
    >>> label_words(np.array([True, False])).to_list()
    ['target', 'nontarget']
    """
    return pl.Series(words).gather(target.astype("u1"))


def check_format(format: str, option: str = "--format") -> None:  # noqa: A002 - the option's name
    """Refuse a format that lists are not written in."""
    if format not in FORMATS:
        msg = f"{option} {format!r} is not known; choose from {', '.join(FORMATS)}"
        raise ConfigError(msg)


def check_new(path: Any) -> Path:
    """The file to write, if there is none yet and its folder can be written."""
    if not isinstance(path, (str, os.PathLike)):
        msg = f"--out {path!r}: names no file; give its path"
        raise ConfigError(msg)
    text = os.fsdecode(path)
    out = Path(text)
    try:
        if text and out.exists():
            msg = f"--out {text}: is there already; name a new file"
            raise ConfigError(msg)
        if text and out.parent.is_dir() and os.access(out.parent, os.W_OK | os.X_OK):
            return out
    except (OSError, ValueError) as error:
        raise _unwritable(text, error) from error
    told = f"{out.parent} is not a folder that can be written" if text else "names no file"
    raise _unwritable(text, PermissionError(told))


def _unwritable(path: str, error: Exception) -> ConfigError:
    told = getattr(error, "strerror", None) or str(error)
    return ConfigError(f"--out {path}: cannot be written ({told}); name another file")


class ListWriter:
    r"""Writes a list block by block; nothing is there before all of it is.

    Parameters
    ----------
    path
        A new file in a folder that exists.
    format : {"voxceleb", "kaldi", "nist", "csv", "parquet"}
        How trials are written: ``1 enrol test``, ``enrol test target``, or in named columns.

    Raises
    ------
    ConfigError
        If the file is there, cannot be written, or the format is not known.

    Examples
    --------
    >>> import numpy as np
    >>> from tempfile import mkdtemp
    >>> out = Path(mkdtemp()) / "list.txt"
    >>> with ListWriter(out, "voxceleb") as writer:
    ...     writer.write(pl.Series(["a/1"]), pl.Series(["b/1"]), np.array([False]))
    >>> out.read_text()
    '0 a/1 b/1\n'
    """

    def __init__(self, path: str | os.PathLike[str], format: str) -> None:  # noqa: A002
        check_format(format)
        self.path, self.format = check_new(path), format
        self.rows = 0
        self._aside = self.path.with_name(f".parivox-{os.urandom(6).hex()}")
        self._file: IO[bytes] | None = None
        self._folder: Folder | None = None
        self._blocks: list[Path] = []

    def __enter__(self) -> Self:
        if self.format == "parquet":
            self._folder = Folder()
            return self
        try:
            self._file = self._aside.open("xb")
        except OSError as error:
            raise _unwritable(str(self.path), error) from error
        return self

    def write(
        self,
        enrol_ids: pl.Series,
        test_ids: pl.Series,
        target: NDArray[np.bool_],
        more: Mapping[str, Any] | None = None,
    ) -> None:
        """Add trials at the end.

        Parameters
        ----------
        enrol_ids, test_ids : Series of str, of length n
        target : bool ndarray of shape (n,)
        more
            Further columns, of length n, the same in every block; for CSV and Parquet only.

        Raises
        ------
        DataError
            If an id cannot stand in this format.
        ConfigError
            If the disk does not take it.
        """
        if more and self.format not in HOLDS_MORE:
            msg = f"a list in the format {self.format} holds no {', '.join(more)}; write it as csv"
            raise ConfigError(msg)
        words = label_words(target, _TEXTS.get(self.format, _TEXTS["csv"]).words)
        trial = {"enrol": enrol_ids, "test": test_ids, "label": words}
        frame = pl.DataFrame(trial | dict(more or {}))
        try:
            if self._folder is not None:
                for part in frame.iter_slices(ROWS):
                    self._blocks.append(self._folder / f"{len(self._blocks)}.arrow")
                    part.write_ipc(self._blocks[-1], compression="lz4")
            else:
                self._write_text(frame)
        except OSError as error:
            raise _unwritable(str(self.path), error) from error
        self.rows += frame.height

    def _write_text(self, frame: pl.DataFrame) -> None:
        assert self._file is not None
        form = _TEXTS[self.format]
        if form.forbids:
            self._check_ids(frame, form.forbids)
        if form.header and not self.rows:
            names = (*form.header, *frame.columns[len(form.header) :])
            pl.DataFrame(schema=names).write_csv(self._file, separator=form.separator)
        frame.select(*form.columns, pl.exclude(*form.columns)).write_csv(
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

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if self._file is not None:
                self._file.close()
            if kind is None:
                if self._folder is not None:
                    self._write_parquet()
                self._aside.replace(self.path)
        except OSError as error:
            raise _unwritable(str(self.path), error) from error
        finally:
            self._aside.unlink(missing_ok=True)
            if self._folder is not None:
                self._folder.remove()

    def _write_parquet(self) -> None:
        """Put the blocks together: row groups of one size, whatever that of the blocks."""
        empty = pl.LazyFrame(schema=dict.fromkeys(_TRIAL, pl.String))
        blocks = pl.scan_ipc(self._blocks) if self._blocks else empty
        blocks.sink_parquet(
            self._aside,
            compression="zstd",
            compression_level=3,
            statistics=True,
            row_group_size=ROWS,
            data_page_size=1 << 20,
            maintain_order=True,
        )
