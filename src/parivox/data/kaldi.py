"""Kaldi's data folders, and the files in them: an id and what is known of it, without a header.

A file's name shows what stands in it: ``utt2spk`` has the speaker of each utterance, ``spk2gender``
the gender of each speaker, and any other ``utt2...`` or ``spk2...`` likewise.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from parivox.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

_FILE_NAME = re.compile(r"(utt|spk)2(?!utt$)(\w+)")
_FILES_WITHOUT_SPEAKERS = {"wav.scp", "segments", "text", "spk2utt"}
"""Files of a data folder that an audit has no use for without ``utt2spk``."""
_ID_COLUMNS = {"utt": "utterance", "spk": "speaker"}


def kaldi_table(path: Path, role: str) -> tuple[pl.DataFrame, dict[str, Any]] | None:
    """What a data folder, or a file of one, tells as a table, and what was read.

    Of a folder, that is a row an utterance where `role` is ``utterances``, a row a speaker where it
    is ``speakers``, and else a row an utterance with all that is known of its speaker, too. None
    for what is none of Kaldi's.
    """
    if os.path.isdir(path):  # noqa: PTH112 - of any name, however long
        files = [file for file in sorted(path.iterdir()) if _FILE_NAME.fullmatch(file.name)]
        required_name = "spk2gender" if role == "speakers" else "utt2spk"
        name_prefix = {"speakers": "spk", "utterances": "utt"}.get(role, "")
        files = [file for file in files if file.name.startswith(name_prefix)]
        if not files or (required_name == "utt2spk" and not (path / required_name).is_file()):
            is_kaldis = (path / "utt2spk").is_file()
            remedy = "give a speaker table instead" if is_kaldis else ("name a file in the folder")
            msg = f"{path}: is a folder without {required_name}, which Kaldi data folders contain"
            raise DataError(msg, remedy)
        files.sort(key=lambda file: file.name != required_name)
    elif error := missing_folder_error(path):
        raise error
    elif _FILE_NAME.fullmatch(path.name) and path.is_file() and _is_bare(path):
        files = [path]
    else:
        return None
    table, digest = _read_pairs(files[0]), hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    for file in files[1:]:
        second_table = _read_pairs(file).drop("row").unique(maintain_order=True)
        key_column = second_table.columns[0]
        if key_column in table.columns and second_table.columns[1] not in table.columns:
            if (is_duplicated := second_table[key_column].is_duplicated()).any():
                duplicated_key = second_table.filter(is_duplicated)[key_column][0]
                msg = f"{file}: {key_column} {duplicated_key!r} has two values"
                hint = "keep one of the values"
                raise DataError(msg, hint)
            table = table.join(second_table, on=key_column, how="left", maintain_order="left")
    if path.is_dir() and role != "speakers":
        table = table.join(_recordings(path), on="utterance", how="left", maintain_order="left")
    name = f"{path.name}/{files[0].name}" if path.is_dir() else path.name
    return table, {"name": name, "format": "kaldi", "sha256": digest.hexdigest()}


def missing_folder_error(path: Path) -> DataError | None:
    """Return the error of a file that gives no speakers without its folder; None for any other."""
    if path.name not in _FILES_WITHOUT_SPEAKERS or not path.is_file() or not _is_bare(path):
        return None
    msg = f"{path}: belongs to a Kaldi data folder, whose utt2spk names the speakers"
    hint = f"give the folder with --utterances {shlex.quote(str(path.parent))}"
    return DataError(msg, hint)


def _recordings(folder: Path) -> pl.DataFrame:
    """The recording that each utterance is cut from; without segments, each is one."""
    segments, wav_list = folder / "segments", folder / "wav.scp"
    if segments.is_file():
        pairs = [(key, rest.split()[0]) for _, key, rest in numbered_lines(segments, 4)]
    else:
        pairs = (
            [(key, key) for _, key, _ in numbered_lines(wav_list, 1)] if wav_list.is_file() else []
        )
    table = pl.DataFrame(pairs, {"utterance": pl.String, "recording": pl.String}, orient="row")
    return table.unique("utterance", maintain_order=True)


def has_speaker_files(source: Any) -> bool:
    """Whether this is a folder that contains more on speakers than their utterances.

    Examples
    --------
    >>> has_speaker_files("scores.csv")
    False
    """
    path = Path(str(source))
    return path.is_dir() and any(
        file.name.startswith("spk") and _FILE_NAME.fullmatch(file.name) for file in path.iterdir()
    )


def _is_bare(path: Path) -> bool:
    """Whether a file has no names of columns, and the two columns that it should."""
    first = next((words for _, *words in numbered_lines(path, 1)), ["", ""])
    return first[0] not in {*_ID_COLUMNS.values(), *_ID_COLUMNS, "id"} and "," not in first[0]


def _read_pairs(path: Path) -> pl.DataFrame:
    name_match = _FILE_NAME.fullmatch(path.name)
    assert name_match is not None
    names = ("row", _ID_COLUMNS[name_match[1]], _ID_COLUMNS.get(name_match[2], name_match[2]))
    if not (rows := list(numbered_lines(path, 2))):
        msg = f"{path}: contains no rows"
        hint = f"give a file with a line for each {names[1]}"
        raise DataError(msg, hint)
    return pl.DataFrame(rows, schema=list(names), orient="row")


def numbered_lines(path: Path, fields: int) -> Iterator[tuple[int, str, str]]:
    """Number, first field and rest of each line that is not blank."""
    if path.exists() and not (path.is_file() or path.is_fifo()):
        msg = f"{path}: is not a file"
        hint = "give a file with a line for each recording"
        raise DataError(msg, hint)
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        msg = f"{path}: is not in UTF-8"
        hint = "save it as UTF-8"
        raise DataError(msg, hint) from error
    except OSError as error:
        msg = f"{path}: cannot be read ({error.strerror})"
        hint = "check the path"
        raise DataError(msg, hint) from error
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        key, *remaining = line.strip().split(None, 1)
        if len(remaining and remaining[0].split()) < fields - 1:
            msg = f"{path}: line {number}: has fewer than {fields} fields"
            hint = "complete the line"
            raise DataError(msg, hint)
        yield number, key, remaining[0].strip() if remaining else ""
