"""Kaldi data folders: which file, channel and seconds an entry of ``wav.scp`` means.

Shell pipes are never run. Those that only unpack one file are understood as that file.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from parivox.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["piped_file", "read_data_folder"]

_SHELL = re.compile(r"[|;&$`<>(){}\\\n]")
_PCM = ("pcm_s16le", "pcm_s24le", "pcm_s32le", "pcm_f32le")
_FLAGS = {
    "sph2pipe": ("-p",),
    "flac": ("-c", "-d", "-s", "-cd", "-dc", "-cds", "-dcs", "--stdout", "--decode", "--silent"),
    "sox": ("-V1", "-S", "-q"),
    "ffmpeg": ("-hide_banner", "-nostdin", "-nostats", "-y", "-vn"),
}
_VALUED: dict[str, dict[str, tuple[str, ...]]] = {
    "sph2pipe": {"-f": ("wav", "rif", "riff"), "-c": ("1", "2")},
    "flac": {},
    "sox": {
        "-t": ("wav", "wavpcm", "sph", "flac", "mp3", "ogg", "opus"),
        "-b": ("16", "24", "32"),
        "-e": (),
    },
    "ffmpeg": {
        "-i": (),
        "-v": (),
        "-loglevel": (),
        "-f": ("wav",),
        **dict.fromkeys(("-acodec", "-c:a", "-codec:a"), _PCM),
    },
}
"""Options that change nothing but how the samples are written, and the values they may have."""
_PIPES = {"sox": ("-",), "ffmpeg": ("-", "pipe:", "pipe:1")}
"""What stands for the pipe, of programs that must be told where to write."""


def piped_file(command: str) -> tuple[str, int | None]:
    """File that a shell pipe unpacks, and the channel that it takes.

    Parameters
    ----------
    command
        As it stands in ``wav.scp``, ending with a bar.

    Raises
    ------
    ValueError
        If the pipe does anything else, as the message says.

    Examples
    --------
    >>> piped_file("sph2pipe -f wav -p -c 2 calls/a.sph |")
    ('calls/a.sph', 2)
    >>> piped_file("sox a.wav -r 8000 -t wav - |")
    Traceback (most recent call last):
        ...
    ValueError: sox is given '-r'
    """
    body = command.rstrip().removesuffix("|").rstrip()
    odd = _SHELL.search(body)
    if odd:
        msg = f"it holds {odd[0]!r}"
        raise ValueError(msg)
    program, *words = shlex.split(body) or [""]
    if not program:
        msg = "it holds no command"
        raise ValueError(msg)
    program = program.rpartition("/")[2]
    if program not in _FLAGS:
        msg = f"it runs {program}"
        raise ValueError(msg)
    given, files = _sorted_out(program, words)
    if program in _PIPES:
        if not files or files.pop() not in _PIPES[program]:
            msg = f"{program} does not write to the pipe at its end"
            raise ValueError(msg)
        files += [given["-i"]] if "-i" in given else []
    if len(files) != 1 or not files[0]:
        msg = f"{program} reads {len(files)} files"
        raise ValueError(msg)
    return files[0], int(given["-c"]) if "-c" in given else None


def _sorted_out(program: str, words: list[str]) -> tuple[dict[str, str], list[str]]:
    """Options with a value, and what is no option; any that change the sound are refused."""
    given, others, rest = dict[str, str](), list[str](), iter(words)
    for word in rest:
        if word in _FLAGS[program]:
            continue
        if word in _VALUED[program]:
            if word == "-i" and word in given:
                msg = f"{program} is given '-i' twice, and mixes or chooses"
                raise ValueError(msg)
            given[word], known = next(rest, ""), _VALUED[program][word]
            if known and given[word] not in known:
                msg = f"{program} is given '{word} {given[word]}'"
                raise ValueError(msg)
        elif word.startswith("-") and word != "-":
            msg = f"{program} is given {word!r}"
            raise ValueError(msg)
        else:
            others.append(word)
    return given, others


def read_data_folder(scp: Path) -> list[dict[str, object]]:
    """Recordings of ``wav.scp``, cut by ``segments``, of the speakers of ``utt2spk``.

    Parameters
    ----------
    scp
        The list of recordings; the other two are looked for beside it. Paths in it are as Kaldi
        has them, from the current folder, or else from the folder of the list.

    Raises
    ------
    DataError
        If a line cannot be understood, naming it.
    """
    files = {}
    for number, key, value in _lines(scp, 2):
        if key in files:
            msg = f"{scp}: line {number}: recording {key!r} is there twice; keep one"
            raise DataError(msg)
        files[key] = _opened(scp, number, value)
    segments, owners = scp.with_name("segments"), scp.with_name("utt2spk")
    speaker = {key: value for _, key, value in _lines(owners, 2)} if owners.is_file() else {}
    found: list[dict[str, object]] = []
    if not segments.is_file():
        found += ({"utterance": key, "recording": key, **told} for key, told in files.items())
    else:
        for number, key, value in _lines(segments, 4):
            whole, start, end = value.split()[:3]
            if whole not in files:
                msg = f"{segments}: line {number}: recording {whole!r} is not in {scp}; add it"
                raise DataError(msg)
            try:
                cut = {"start": float(start), "end": None if float(end) < 0 else float(end)}
            except ValueError:
                msg = f"{segments}: line {number}: {start!r} and {end!r} are no seconds"
                raise DataError(msg) from None
            found.append({"utterance": key, "recording": whole, **files[whole], **cut})
    if speaker:
        for one in found:
            if one["utterance"] not in speaker:
                msg = f"{owners}: has no line of {one['utterance']!r}; add its speaker"
                raise DataError(msg)
            one["speaker"] = speaker[str(one["utterance"])]
    return found


def _lines(path: Path, fields: int) -> Iterator[tuple[int, str, str]]:
    """Number, first field and rest of each line that is not blank."""
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
        if not rest or len(rest[0].split()) < fields - 1:
            msg = f"{path}: line {number}: has fewer than {fields} fields; complete it"
            raise DataError(msg)
        yield number, key, rest[0].strip()


def _opened(scp: Path, number: int, value: str) -> dict[str, object]:
    channel = None
    if value.endswith("|"):
        try:
            value, channel = piped_file(value)
        except ValueError as error:
            msg = (
                f"{scp}: line {number}: its pipe is not run, and is more than a file unpacked by "
                f"sph2pipe, flac, sox or ffmpeg: {error}; run it once into a file, and name that"
            )
            raise DataError(msg) from error
    path = Path(value)
    if not path.is_absolute() and not path.exists():
        path = scp.parent / value
    return {"file": value, "path": str(path), "channel": channel}
