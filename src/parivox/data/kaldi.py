"""Kaldi's data folders, and the files in them: an id and what is known of it, without a header.

A file's name tells what stands in it: ``utt2spk`` has the speaker of each utterance, ``spk2gender``
the gender of each speaker, and any other ``utt2...`` or ``spk2...`` likewise.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from parivox.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAMED = re.compile(r"(utt|spk)2(?!utt$)(\w+)")
_TELLING_NONE = {"wav.scp", "segments", "text", "spk2utt"}
"""Files of a data folder that an audit has no use for without ``utt2spk``."""
_WORDS = {"utt": "utterance", "spk": "speaker"}


def kaldi_table(path: Path, what: str) -> tuple[pl.DataFrame, dict[str, Any]] | None:
    """What a data folder, or a file of one, tells as a table, and what was read.

    Of a folder, that is a row an utterance where `what` is ``utterances``, a row a speaker where it
    is ``speakers``, and else a row an utterance with all that is known of its speaker, too. None
    for what is none of Kaldi's.
    """
    if path.is_dir():
        files = [one for one in sorted(path.iterdir()) if _NAMED.fullmatch(one.name)]
        wanted = "spk2gender" if what == "speakers" else "utt2spk"
        own = {"speakers": "spk", "utterances": "utt"}.get(what, "")
        files = [one for one in files if one.name.startswith(own)]
        if not files or (wanted == "utt2spk" and not (path / wanted).is_file()):
            is_kaldis = (path / "utt2spk").is_file()
            mend = "give a table of speakers in its place" if is_kaldis else "name a file in it"
            msg = f"{path}: is a folder without {wanted}, as Kaldi's have one; {mend}"
            raise DataError(msg)
        files.sort(key=lambda one: one.name != wanted)
    elif problem := without_folder(path):
        raise DataError(problem)
    elif _NAMED.fullmatch(path.name) and path.is_file() and _is_bare(path):
        files = [path]
    else:
        return None
    found, digest = _read(files[0]), hashlib.sha256()
    for one in files:
        digest.update(one.read_bytes())
    for one in files[1:]:
        other = _read(one).drop("row").unique(maintain_order=True)
        key = other.columns[0]
        if key in found.columns and other.columns[1] not in found.columns:
            if (twice := other[key].is_duplicated()).any():
                first = other.filter(twice)[key][0]
                msg = f"{one}: {key} {first!r} has two values; keep one"
                raise DataError(msg)
            found = found.join(other, on=key, how="left", maintain_order="left")
    if path.is_dir() and what != "speakers":
        found = found.join(_recordings(path), on="utterance", how="left", maintain_order="left")
    name = f"{path.name}/{files[0].name}" if path.is_dir() else path.name
    return found, {"name": name, "format": "kaldi", "sha256": digest.hexdigest()}


def without_folder(path: Path) -> str:
    """What is said of a file that tells no speakers without its folder; empty for any other."""
    if path.name not in _TELLING_NONE or not path.is_file() or not _is_bare(path):
        return ""
    return (
        f"{path}: is one of the files of a data folder of Kaldi's, and its utt2spk tells the "
        f"speakers; give the folder, as --utterances {shlex.quote(str(path.parent))}"
    )


def _recordings(folder: Path) -> pl.DataFrame:
    """The recording that each utterance is cut from; without segments, each is one."""
    cut, whole = folder / "segments", folder / "wav.scp"
    if cut.is_file():
        pairs = [(key, rest.split()[0]) for _, key, rest in lines(cut, 4)]
    else:
        pairs = [(key, key) for _, key, _ in lines(whole, 1)] if whole.is_file() else []
    made = pl.DataFrame(pairs, {"utterance": pl.String, "recording": pl.String}, orient="row")
    return made.unique("utterance", maintain_order=True)


def tells_speakers(source: Any) -> bool:
    """Whether this is a folder that tells more of speakers than their utterances.

    Examples
    --------
    >>> tells_speakers("scores.csv")
    False
    """
    path = Path(str(source))
    return path.is_dir() and any(
        one.name.startswith("spk") and _NAMED.fullmatch(one.name) for one in path.iterdir()
    )


def _is_bare(path: Path) -> bool:
    """Whether a file has no names of columns, and the two columns that it should."""
    first = next((words for _, *words in lines(path, 1)), ["", ""])
    return first[0] not in {*_WORDS.values(), *_WORDS, "id"} and "," not in first[0]


def _read(path: Path) -> pl.DataFrame:
    found = _NAMED.fullmatch(path.name)
    assert found is not None
    names = ("row", _WORDS[found[1]], _WORDS.get(found[2], found[2]))
    if not (rows := list(lines(path, 2))):
        msg = f"{path}: holds no row; give one with a line for each {names[1]}"
        raise DataError(msg)
    return pl.DataFrame(rows, schema=list(names), orient="row")


def lines(path: Path, fields: int) -> Iterator[tuple[int, str, str]]:
    """Number, first field and rest of each line that is not blank."""
    if path.exists() and not (path.is_file() or path.is_fifo()):
        msg = f"{path}: is not a file; give one with a line for each recording"
        raise DataError(msg)
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        msg = f"{path}: is not in UTF-8; save it so"
        raise DataError(msg) from error
    except OSError as error:
        msg = f"{path}: cannot be read ({error.strerror}); check the path"
        raise DataError(msg) from error
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        key, *rest = line.strip().split(None, 1)
        if len(rest and rest[0].split()) < fields - 1:
            msg = f"{path}: line {number}: has fewer than {fields} fields; complete it"
            raise DataError(msg)
        yield number, key, rest[0].strip() if rest else ""
