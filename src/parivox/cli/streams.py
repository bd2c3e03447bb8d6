"""Standard input, output and error, whatever state they are in."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import TYPE_CHECKING, Any, cast

from parivox.errors import ConfigError, shown

if TYPE_CHECKING:
    from collections.abc import Iterator


def prepare() -> None:
    """Make the streams fit for any text; refuse a standard output that is closed.

    Raises
    ------
    ConfigError
        If there is no standard output.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # else the next file opened would take the number, and get what is meant for a stream
            os.open(os.devnull, os.O_RDWR)
    if cast("Any", sys.stderr) is None:
        sys.stderr = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if cast("Any", sys.stdout) is None:
        msg = "standard output is closed; to print nothing, send it to /dev/null"
        raise ConfigError(msg)


def say(text: str) -> None:
    """Tell a line on standard error, if it takes any."""
    with contextlib.suppress(OSError):
        sys.stderr.write(f"parivox: {shown(text)}\n")


@contextlib.contextmanager
def printing() -> Iterator[None]:
    """Print to standard output; what fails there is a sentence.

    Raises
    ------
    ConfigError
        If standard output cannot be written (a pipe that was closed is left to the caller).
    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        silence()
        told = error.strerror or str(error)
        msg = f"standard output cannot be written ({told}); send it elsewhere"
        raise ConfigError(msg) from error


def print_json(text: str) -> None:
    """Print JSON as the bytes of the file: UTF-8, whatever the terminal's encoding."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    sys.stdout.write(text)


def silence() -> None:
    """Drop what standard output still holds, which Python would try to write at its end."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
