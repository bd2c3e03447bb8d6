"""Which recordings there are: a folder, a table, or a Kaldi list; and hashes of their files.

Shell pipes of Kaldi lists are never run. Those that only unpack one file are understood as that
file.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import polars as pl

from parivox.data.columns import SPEAKER_NAMES, UTTERANCE_NAMES
from parivox.data.kaldi import numbered_lines
from parivox.data.speakers import (
    read_table,
    requested_column,
    role_columns,
)
from parivox.data.table_kinds import find_column
from parivox.embedding.audio import MIX
from parivox.embedding.datasets import unpack_recordings
from parivox.errors import ConfigError, DataError
from parivox.runtime.progress import with_progress

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parivox.runtime.disk import ScratchFolder

COLUMNS = {
    "utterance": pl.String,
    "speaker": pl.String,
    "recording": pl.String,
    "file": pl.String,
    "channel": pl.Int64,
    "start": pl.Float64,
    "end": pl.Float64,
    "path": pl.String,
}
"""What is known of a recording before it is decoded."""
EXCERPT = ("path", "channel", "start", "end")
SOUNDS = frozenset({
    "wav", "wave", "w64", "rf64", "flac", "ogg", "oga", "opus", "mp3", "sph", "nist",
    "aif", "aiff", "aifc", "au", "snd", "caf", "voc", "avr",
    "m4a", "mp4", "aac", "amr", "3gp", "wma", "webm", "mka", "mp2",
})  # fmt: skip
"""Endings of files that are recordings; some cannot be read, and that is told of each."""
CHANNELS = {"mix": MIX, "left": 1, "right": 2, "a": 1, "b": 2}
"""Words for channels, beside numbers from 1."""
EVERY_CHANNEL = "each"
"""The choice of every channel as a recording of its own."""
FILE = ("file", "path", "filename", "filepath", "wav", "audio", "audiofile", "audiopath",
        "audiofilepath", "source")  # fmt: skip
_RECORDING = ("recording", "recordingid", "session", "sessionid", "video", "videoid")
HASHES = "seen.parquet"
"""The table of hashes that are known by size and time, so that files are not read again."""
STAT = ("path", "_size", "_modified")
"""A file is what it was as long as these are."""
AUDIO = ("audio_sha256", "channel", "start", "end")
"""Two recordings that agree in these are the same audio."""
_HASHES = {
    "path": pl.String,
    "_size": pl.Int64,
    "_modified": pl.Int64,
    "audio_sha256": pl.String,
    "_channels": pl.Int64,  # of files whose channels differ: how many there are
}


@dataclass(frozen=True, eq=False)
class Source:
    """The recordings to embed."""

    name: str  # as the user gave it
    table: pl.DataFrame
    """The columns of `COLUMNS`, then any others of a table as text; a recording a row,
    sorted by ``utterance``. ``file`` is as the source has it, ``path`` opens it."""
    passed_over: int = 0  # files of a folder that are no recordings by their ending
    speaker_by: str = ""  # what tells whose each recording is, in words; empty where nothing does
    is_guess: bool = False  # whether that is the first folder, which nobody said
    others: tuple[str, ...] = ()  # columns, or folders, that could tell it, if nobody said which
    scratch: ScratchFolder | None = (
        None  # holds the files of a dataset, for as long as they are needed
    )

    @cached_property
    def speakers(self) -> dict[str, int]:
        """How many recordings there are of each speaker, in the order of their ids."""
        speaker_ids = self.table["speaker"].drop_nulls()
        return dict(speaker_ids.value_counts().sort("speaker").iter_rows())


def read_source(source: Any, *, columns: Mapping[str, str] | None = None) -> Source:
    """Read which recordings there are.

    The source is a folder of recordings at any depth (the path below it is the utterance; the first
    folder is the speaker, and the second, where there are two or more, the recording, else the
    file); a Kaldi data folder or ``wav.scp``; a table that holds the recordings, as a dataset of
    Hugging Face does; or a table of utterance, file and, perhaps, speaker, recording, channel,
    start, end and attributes. Without a column of recordings each file is one,
    unless utterances are paths of two folders or more. `columns` maps these roles to columns of the
    table; of a folder, speaker and recording to the number of a folder of the path. No recording,
    an id that is there twice or a missing file is an error.
    """
    if isinstance(source, Source):
        return source
    is_path = isinstance(source, (str, os.PathLike))
    name = str(source) if is_path else "recordings"
    path = Path(name)
    is_folder = is_path and os.path.isdir(path)  # noqa: PTH112 - which a closed folder does not stop
    scp = path / "wav.scp" if is_folder else path
    user_columns = _checked_roles(columns)
    if scp.suffix == ".scp" and (not is_folder or os.path.isfile(scp)):  # noqa: PTH113 - as above
        recording_source = _read_kaldi_source(scp, name, user_columns)
    elif is_folder:
        recording_source = _read_folder_source(path, name, user_columns)
    elif (unpacked_table := unpack_recordings(source, name)) is not None:
        table, scratch = unpacked_table
        recording_source = replace(
            _read_table_source(table, name, scratch.path, user_columns), scratch=scratch
        )
    else:
        recording_source = _read_table_source(source, name, path.parent, user_columns)
    if not recording_source.table.height:
        msg = f"{name}: contains no recording"
        hint = "give a folder of audio files, or a table of them"
        raise DataError(msg, hint)
    recording_source = replace(recording_source, table=recording_source.table.sort("utterance"))
    _check_ids(recording_source.table, name)
    paths = recording_source.table["path"].unique(maintain_order=True)
    # Found out at once: a run of hours should not end at a misspelt path.
    missing = [path for path in paths if not os.path.isfile(path)]  # noqa: PTH113 - a million paths
    if missing:
        remedy = "check the paths, which are relative to the table, or remove the rows"
        if os.path.isfile(missing[0].replace("\\", "/")):  # noqa: PTH113
            remedy = "write slashes instead of backslashes: this file exists"
        msg = (
            f"{name}: {len(missing):,} of {len(paths):,} files are missing, the first is "
            f"{missing[0]!r}"
        )
        raise DataError(msg, remedy)
    return recording_source


def _checked_roles(columns: Mapping[str, str] | None) -> Mapping[str, str]:
    """The roles that are asked for, all of which must be known."""
    known_roles = [role for role in COLUMNS if role != "path"]
    unknown_roles = [role for role in columns or {} if role not in known_roles]
    if unknown_roles:
        msg = f"--columns {unknown_roles[0]}: is not a role of a recording"
        hint = f"choose from {', '.join(known_roles)}"
        raise ConfigError(msg, hint)
    return columns or {}


def _check_ids(table: pl.DataFrame, name: str) -> None:
    """Refuse utterances that are there twice."""
    repeated = table.filter(pl.col("utterance").is_duplicated())
    if repeated.height:
        repeated_id = repeated["utterance"][0]
        count = repeated["utterance"].n_unique()
        count_note = f" ({count:,} such ids)" if count > 1 else ""
        msg = f"{name}: utterance {repeated_id!r} occurs twice{count_note}"
        hint = "give each recording its own id"
        raise DataError(msg, hint)


def _read_kaldi_source(scp: Path, name: str, user_columns: Mapping[str, str]) -> Source:
    if user_columns:
        msg = f"{name}: is a Kaldi list, which has no columns"
        hint = "leave --columns out, or give a table"
        raise ConfigError(msg, hint)
    table = pl.DataFrame(read_data_folder(scp), schema=COLUMNS)
    return Source(name, table, speaker_by="utt2spk" if table["speaker"].count() else "")


def _read_folder_source(folder: Path, name: str, user_columns: Mapping[str, str]) -> Source:
    """Recordings below a folder; of the path, which folder tells speaker and recording."""
    paths, passed_over = _find_recordings(folder)
    folder_names = [inside.split("/") for inside in paths]
    depth = min((len(names) - 1 for names in folder_names), default=0)
    folder_of_role = {
        role: _folder_number(role, text, depth, name) for role, text in user_columns.items()
    }
    speaker = folder_of_role.get(
        "speaker", 1 if depth else None
    )  # where a file lies outside, none is one
    session = folder_of_role.get("recording", None if speaker is None else speaker + 1)
    rows = [{"utterance": inside, "file": inside, "path": path} for inside, path in paths.items()]
    if speaker is not None and session is not None:
        for row, names in zip(rows, folder_names, strict=True):
            row["speaker"] = names[speaker - 1]
            row["recording"] = names[session - 1] if session < len(names) else row["file"]
    return Source(
        name,
        pl.DataFrame(rows, schema=COLUMNS),
        passed_over,
        "" if speaker is None else f"the {_ordinal(speaker)} folder of the path",
        is_guess=speaker is not None and "speaker" not in user_columns,
        others=tuple(map(str, range(2, depth + 1))) if "speaker" not in user_columns else (),
    )


def _folder_number(role: str, text: str, depth: int, name: str) -> int:
    """The folder of the path that tells a role, from 1."""
    if role in ("speaker", "recording") and text.isdecimal() and 1 <= int(text) <= depth:
        return int(text)
    option_text = f"{role}={text}"
    if role not in ("speaker", "recording"):
        remedy = "folders can name only speaker and recording; give a table for other roles"
    elif depth:
        existing_folders = "folder 1" if depth == 1 else f"folders 1 to {depth}"
        remedy = (
            f"every path has {existing_folders}; give one of these numbers, or a table with a "
            f"column {role}"
        )
    else:
        remedy = f"not every file lies in a folder; give a table with a column {role}"
    msg = f"{name}: --columns {option_text}: {remedy}"
    raise ConfigError(msg)


def _ordinal(number: int) -> str:
    """First, second, third; 4th.

    >>> _ordinal(2), _ordinal(5)
    ('second', '5th')
    """
    return dict(enumerate(("first", "second", "third"), 1)).get(number, f"{number}th")


def _find_recordings(folder: Path) -> tuple[dict[str, str], int]:
    """Recordings below a folder: the path below it, and the path that opens it."""
    path_by_utterance: dict[str, str] = {}
    passed_over = 0
    for path in _walk_files(str(folder), frozenset()):
        inside = path[len(str(folder).rstrip("/")) :].lstrip("/")
        if not inside.isprintable() and any("\ud800" <= c <= "\udfff" for c in inside):
            msg = f"{path}: its name is not in UTF-8"
            hint = "rename it"
            raise DataError(msg, hint)
        file = inside.rpartition("/")[2]
        if file.startswith(".") or file.rpartition(".")[2].lower() not in SOUNDS:
            passed_over += not file.startswith(".")
            continue
        path_by_utterance[inside] = path
    return path_by_utterance, passed_over


def _walk_files(folder: str, above: frozenset[tuple[int, int]]) -> Iterator[str]:
    """Files below a folder; links are followed, and none of them twice in a circle."""
    try:
        stat = os.stat(folder)  # noqa: PTH116 - any bytes may be a name
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        msg = f"{folder}: cannot be read ({error.strerror})"
        hint = "make the folder readable, or leave it out"
        raise DataError(msg, hint) from error
    key = (stat.st_dev, stat.st_ino)
    # The same folder above itself is a link in a circle.
    if key in above:
        return
    for entry in entries:
        if entry.is_dir():
            yield from _walk_files(entry.path, above | {key})
        else:
            yield entry.path.replace(os.sep, "/")


def _read_table_source(
    source: Any, source_name: str, folder: Path, user_columns: Mapping[str, str]
) -> Source:
    full_table, name, _ = read_table(source, "recordings")
    column_names = [column for column in full_table.columns if column != "row"]

    def column(role: str, known_names: Sequence[str], *, is_needed: bool = False) -> str:
        if role in user_columns:
            return requested_column(user_columns[role], column_names, name, f"--columns {role}")
        return find_column(full_table, role, known_names, name if is_needed else "")

    file = column("file", FILE, is_needed=True)
    columns = {
        "utterance": column("utterance", UTTERANCE_NAMES[:4]) or file,
        "speaker": column("speaker", SPEAKER_NAMES),
        "recording": column("recording", _RECORDING),
        "file": file,
    }
    numbers = {role: column(role, (role,)) for role in ("channel", "start", "end")}
    duration_column = find_column(full_table, "", ("duration",), "") if numbers["start"] else ""
    if duration_column and not numbers["end"]:  # NeMo and lhotse tell how long an excerpt is
        seconds = [
            _numeric_column(full_table, c, "start", name)
            for c in (numbers["start"], duration_column)
        ]
        full_table = full_table.with_columns(
            end=(seconds[0].fill_null(0) + seconds[1]).cast(pl.String)
        )
        numbers["end"] = "end"
    rows = role_columns(full_table, {role: c for role, c in columns.items() if c}, name)
    table = rows.frame
    for role in ("utterance", "file", "speaker"):
        if columns[role]:
            rows.ids(role)
    used_columns = {"row", *columns.values(), *numbers.values()}
    attribute_columns = [
        c for c in full_table.columns if c not in used_columns and c not in COLUMNS
    ]
    reserved_columns = [c for c in attribute_columns if c.startswith("_")]
    if reserved_columns:
        msg = (
            f"{name}: column {reserved_columns[0]!r}: begins with an underscore, which is reserved "
            "for Parivox"
        )
        hint = "rename it"
        raise DataError(msg, hint)
    table = table.with_columns(
        **{role: _numeric_column(full_table, c, role, name) for role, c in numbers.items() if c},
        path=pl.Series([os.path.join(folder, file) for file in table["file"]], dtype=pl.String),  # noqa: PTH118 - a million paths
    )
    # A file is a recording of its own unless ids or a column say otherwise: pairs within one
    # recording are easier than others.
    tells_recordings = "recording" in table.columns
    if not tells_recordings and not table["utterance"].str.contains("/.*/").any():
        table = table.with_columns(recording="file")  # nor by paths such as VoxCeleb's
    missing = [pl.lit(None, type_).alias(c) for c, type_ in COLUMNS.items() if c not in table]
    table = table.with_columns(missing)
    empty_excerpts = table.filter(pl.col("end") <= pl.col("start").fill_null(0))
    if empty_excerpts.height:
        row, start, end = empty_excerpts.select("row", "start", "end").row(0)
        begin = "its beginning" if start is None else f"start {start:g}"
        msg = f"{name}, row {row}: end {end:g} is not after {begin}"
        hint = "correct the times"
        raise DataError(msg, hint)
    speaker = columns["speaker"]
    return Source(
        source_name,
        table.select(*COLUMNS).with_columns(
            full_table.select(attribute_columns) if attribute_columns else []
        ),
        speaker_by=f"column {speaker!r}" if speaker else "",
        others=()
        if "speaker" in user_columns
        else tuple(
            name_of_column
            for name_of_column in column_names
            if name_of_column not in {file, speaker, *numbers.values()}
        ),
    )


def _numeric_column(full_table: pl.DataFrame, column: str, role: str, name: str) -> pl.Series:
    """A column of seconds, or of channels, for which there are words, too."""
    cells = full_table[column].str.to_lowercase()
    numbers = cells.cast(pl.Float64, strict=False)
    least = 1 if role == "channel" else 0
    is_odd = (numbers.is_null() & cells.is_not_null() & (cells != "")) | (numbers < least)
    if role == "channel":
        word = cells.replace_strict(CHANNELS, default=None, return_dtype=pl.Float64)
        is_odd = (is_odd | (numbers != numbers.floor())) & word.is_null()
        numbers = numbers.zip_with(word.is_null(), word)
    is_odd |= numbers.is_nan() | numbers.is_infinite()
    odd_row = is_odd.fill_null(value=False).arg_max()
    if odd_row is not None and is_odd[odd_row]:
        expectation = (
            "not a channel; give 1, 2, left, right or mix"
            if role == "channel"
            else "not a number of seconds"
        )
        msg = (
            f"{name}, row {full_table['row'][odd_row]}, column {column!r}: "
            f"{full_table[column][odd_row]!r} is {expectation}"
        )
        raise DataError(msg)
    return numbers.cast(COLUMNS[role])


_SHELL = re.compile(r"[|;&$`<>(){}\\\n]")
_PCM = ("pcm_s16le", "pcm_s24le", "pcm_s32le", "pcm_f32le")
# Anything else in a pipe may change what is heard: then the user runs it once into a file.
_OPTIONS: dict[str, dict[str, tuple[str, ...] | None]] = {
    "sph2pipe": {"-p": None, "-f": ("wav", "rif", "riff"), "-c": ("1", "2")},
    "flac": dict.fromkeys(
        ("-c", "-d", "-s", "-cd", "-dc", "-cds", "-dcs", "--stdout", "--decode", "--silent")
    ),
    "sox": {
        **dict.fromkeys(("-V1", "-S", "-q")),
        "-t": ("wav", "wavpcm", "sph", "flac", "mp3", "ogg", "opus"),
        "-b": ("16", "24", "32"),
        "-e": (),
    },
    "ffmpeg": {
        **dict.fromkeys(("-hide_banner", "-nostdin", "-nostats", "-y", "-vn")),
        **dict.fromkeys(("-i", "-v", "-loglevel"), ()),
        "-f": ("wav",),
        **dict.fromkeys(("-acodec", "-c:a", "-codec:a"), _PCM),
    },
}
"""Options that change nothing but how the samples are written, and the values they may have: None
for those without a value, no values for those that may have any."""
_PIPES = {"sox": ("-",), "ffmpeg": ("-", "pipe:", "pipe:1")}
"""What stands for the pipe, of programs that must be told where to write."""


def piped_file(command: str) -> tuple[str, int | None]:
    """File that a shell pipe of ``wav.scp`` unpacks, and the channel that it takes.

    A pipe that does anything else is a ValueError, which says what.

    >>> piped_file("sph2pipe -f wav -p -c 2 calls/a.sph |")
    ('calls/a.sph', 2)
    >>> piped_file("sox a.wav -r 8000 -t wav - |")
    Traceback (most recent call last):
        ...
    ValueError: sox is given '-r'
    """
    # The command is read, never run: a list may come from anywhere.
    body = command.rstrip().removesuffix("|").rstrip()
    odd = _SHELL.search(body)
    if odd:
        _refuse_pipe(f"it contains {odd[0]!r}")
    program, *words = shlex.split(body) or [""]
    if not program:
        _refuse_pipe("it contains no command")
    program = program.rpartition("/")[2]
    if program not in _OPTIONS:
        _refuse_pipe(f"it runs {program}")
    options, files = _arguments(program, words)
    if program in _PIPES:
        if not files or files.pop() not in _PIPES[program]:
            _refuse_pipe(f"{program} does not write to the pipe at its end")
        files += [options["-i"]] if "-i" in options else []
    if len(files) != 1 or not files[0]:
        _refuse_pipe(f"{program} reads {len(files)} files")
    return files[0], int(options["-c"]) if "-c" in options else None


def _arguments(program: str, words: list[str]) -> tuple[dict[str, str], list[str]]:
    """Options with a value, and what is no option; any that change the sound are refused."""
    options, files, remaining_words = dict[str, str](), list[str](), iter(words)
    for word in remaining_words:
        if word in _OPTIONS[program]:
            values = _OPTIONS[program][word]
            if values is None:
                continue
            if word == "-i" and word in options:
                _refuse_pipe(f"{program} is given '-i' twice, and mixes or chooses")
            options[word] = next(remaining_words, "")
            if values and options[word] not in values:
                _refuse_pipe(f"{program} is given '{word} {options[word]}'")
        elif word.startswith("-") and word != "-":
            _refuse_pipe(f"{program} is given {word!r}")
        else:
            files.append(word)
    return options, files


def _refuse_pipe(reason: str) -> NoReturn:
    raise ValueError(reason)


def read_data_folder(scp: Path) -> list[dict[str, object]]:
    """Recordings of ``wav.scp``, cut by ``segments``, of the speakers of ``utt2spk``.

    The other two are looked for beside it. Paths in it are as Kaldi has them, from the current
    folder, or else from the folder of the list.
    """
    files = {}
    for number, key, value in numbered_lines(scp, 2):
        if key in files:
            msg = f"{scp}: line {number}: recording {key!r} occurs twice"
            hint = "keep one of the lines"
            raise DataError(msg, hint)
        files[key] = _resolve_scp_line(scp, number, value)
    segments, owners = scp.with_name("segments"), scp.with_name("utt2spk")
    speaker = (
        {key: value for _, key, value in numbered_lines(owners, 2)} if owners.is_file() else {}
    )
    recordings: list[dict[str, object]] = []
    if not segments.is_file():
        recordings += ({"utterance": key, "recording": key, **file} for key, file in files.items())
    else:
        for number, key, value in numbered_lines(segments, 4):
            recording_id, start, end = value.split()[:3]
            if recording_id not in files:
                msg = f"{segments}: line {number}: recording {recording_id!r} is not in {scp}"
                hint = "add the recording"
                raise DataError(msg, hint)
            try:
                excerpt = {"start": float(start), "end": None if float(end) < 0 else float(end)}
            except ValueError:
                msg = f"{segments}: line {number}: {start!r} and {end!r} are not seconds"
                raise DataError(msg) from None
            recordings.append(
                {"utterance": key, "recording": recording_id, **files[recording_id], **excerpt}
            )
    if speaker:
        for row in recordings:
            if row["utterance"] not in speaker:
                msg = f"{owners}: has no line for {row['utterance']!r}"
                hint = "add its speaker"
                raise DataError(msg, hint)
            row["speaker"] = speaker[str(row["utterance"])]
    return recordings


def _resolve_scp_line(scp: Path, number: int, value: str) -> dict[str, object]:
    """File and channel of a line of ``wav.scp``, and where the file lies."""
    channel = None
    if value.endswith("|"):
        try:
            value, channel = piped_file(value)
        except ValueError as error:
            msg = (
                f"{scp}: line {number}: its pipe does more than unpack a file with sph2pipe, flac, "
                f"sox or ffmpeg, and is not run: {error}"
            )
            hint = "run the command yourself, and name the file that it writes"
            raise DataError(msg, hint) from error
    path = Path(value)
    if not path.is_absolute() and not path.exists():
        path = scp.parent / value
    return {"file": value, "path": str(path), "channel": channel}


def with_stat(recordings: pl.DataFrame) -> pl.DataFrame:
    """Recordings with the size and time of the file at their ``path``; none may have gone."""
    try:
        stats = [os.stat(path) for path in recordings["path"]]  # noqa: PTH116 - a million paths
    except OSError as error:
        msg = f"{error.filename}: has been removed ({error.strerror})"
        hint = "run the same command again"
        raise DataError(msg, hint) from error
    return recordings.with_columns(
        _size=pl.Series([stat.st_size for stat in stats], dtype=pl.Int64),
        _modified=pl.Series([stat.st_mtime_ns for stat in stats], dtype=pl.Int64),
    )


def read_hashes(path: Path) -> pl.DataFrame:
    """Files whose hash is known; none where the table is not there, or damaged."""
    try:
        return pl.read_parquet(path).select(
            pl.col(name).cast(kind) for name, kind in _HASHES.items()
        )
    except (OSError, pl.exceptions.PolarsError):
        return pl.DataFrame(schema=_HASHES)


def hashes_of(recordings: pl.DataFrame) -> pl.DataFrame:
    """The files of recordings that have ``audio_sha256``, as `read_hashes` gives them."""
    files = recordings.select(*_HASHES).drop_nulls("audio_sha256")
    return (
        files.with_columns(pl.col("_channels").max().over(STAT))  # if any of its rows tells
        .unique("path", keep="last")
        .sort("path")
    )


def parse_channel(value: int | str | None) -> int | str | None:
    """The channel that ``--channel`` asks for: a number, or `EVERY_CHANNEL`."""
    if value is None or value == EVERY_CHANNEL:
        return value
    word = str(value).strip().lower()
    number = CHANNELS.get(word, int(word) if word.isdecimal() else 0)
    if number < 1 and word != "mix":
        msg = f"--channel is {value}"
        hint = "give a number from 1, left, right, mix or each"
        raise ConfigError(msg, hint)
    return number


def with_channels(
    recordings: pl.DataFrame, known_channels: pl.DataFrame, choice: int | str | None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Recordings with the channel that counts, and those that are set aside as none is chosen.

    Of files whose channels differ by `known_channels`, those count that the recording says, or else
    the `choice`. Of `EVERY_CHANNEL` the first keeps the id, and the others have it with ``:b``,
    ``:c``.
    """
    several = known_channels.filter(pl.col("_channels") > 1).select(*STAT, "_channels")
    recordings_with_channels = recordings.join(several, on=STAT, how="left", maintain_order="left")
    is_open = pl.col("channel").is_null() & pl.col("_channels").is_not_null()
    with_channel, without_channel = (
        recordings_with_channels.filter(~is_open),
        recordings_with_channels.filter(is_open),
    )
    if choice is None or not without_channel.height:
        return with_channel.drop("_channels"), without_channel.drop("_channels")
    if choice == EVERY_CHANNEL:
        numbers = pl.int_ranges(1, pl.col("_channels") + 1, dtype=pl.Int64)
        without_channel = without_channel.with_columns(channel=numbers).explode("channel")
        letters = {n: f":{_letter(n)}" for n in without_channel["channel"].unique() if n > 1}
        end = pl.col("channel").replace_strict(letters, default="", return_dtype=pl.String)
        without_channel = without_channel.with_columns(utterance=pl.col("utterance") + end)
    else:
        without_channel = without_channel.with_columns(channel=pl.lit(choice, pl.Int64))
    all_recordings = pl.concat([with_channel, without_channel]).drop("_channels").sort("utterance")
    _check_ids(all_recordings, f"--channel {EVERY_CHANNEL}")
    return all_recordings, without_channel.clear().drop("_channels")


def _letter(channel: int) -> str:
    """The letter of a channel, as NIST's sides have it; a number where there is none."""
    return chr(ord("a") + channel - 1) if channel <= 26 else str(channel)


def with_hashes_of_files(
    recordings: pl.DataFrame,
    known_hashes: pl.DataFrame,
    *,
    needs_hash: pl.Expr | None = None,
) -> pl.DataFrame:
    """Recordings with the hash of their file, ``audio_sha256``; null where it cannot be read.

    Recordings are as `with_stat` gives them, and files in `known_hashes` need no hashing.
    Of the others those are hashed of which `needs_hash` holds; the rest stay null.
    """
    with_hashes = recordings.join(known_hashes, on=STAT, how="left", maintain_order="left")
    is_new = pl.col("audio_sha256").is_null()
    paths = with_hashes.filter(is_new if needs_hash is None else is_new & needs_hash)[
        "path"
    ].unique()
    if not len(paths):
        return with_hashes
    paths_told = with_progress(paths, f"hashing {len(paths):,} files", "files")
    hashes = pl.Series([audio_sha256(path) for path in paths_told], dtype=pl.String)
    new_hashes = pl.DataFrame({"path": paths, "_sha256": hashes})
    return with_hashes.join(new_hashes, on="path", how="left", maintain_order="left").with_columns(
        audio_sha256=pl.coalesce("audio_sha256", "_sha256")
    ).drop("_sha256")  # fmt: skip


def audio_sha256(path: str) -> str | None:
    """Hash of a file's bytes, computed once while the file stays as it is.

    None where it cannot be read, which decoding it will tell.
    """
    try:
        stat = os.stat(path)  # noqa: PTH116 - any bytes may be a name
        return _sha256_of(path, stat.st_size, stat.st_mtime_ns)
    except OSError:
        return None


# Size and time are part of the key: a file that changes is hashed again.
@lru_cache(maxsize=1 << 16)
def _sha256_of(path: str, size: int, modified: int) -> str:  # noqa: ARG001 - what keeps it apart
    with open(path, "rb") as file:  # noqa: PTH123 - any bytes may be a name
        return hashlib.file_digest(file, "sha256").hexdigest()
