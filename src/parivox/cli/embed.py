"""``parivox embed``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from parivox.cli.options import add_command, check_out_is_named, given_options
from parivox.cli.process import print_lines, print_status
from parivox.errors import ConfigError
from parivox.options.audit import ProgressCommand
from parivox.options.recordings import EmbedCommand, EmbedOptions, SystemOptions

if TYPE_CHECKING:
    import argparse

EXAMPLES = """\
examples:
  parivox embed RECORDINGS/ --system ge2e --out embeddings/
  parivox embed utterances.csv --system model.onnx --frontend kaldi80 --out embeddings/
  parivox embed --check embeddings/
"""


def add_to(commands: Any, words: str) -> None:
    """Add the command and its options."""
    add_command(
        commands,
        "embed",
        _run,
        EmbedCommand,
        EmbedOptions,
        SystemOptions,
        ProgressCommand,
        help=words,
        usage="parivox embed RECORDINGS --out DIR [--system NAME] [options]\n"
        "       parivox embed --check DIR",
        description="Compute an embedding of each recording. An interrupted run continues where "
        "it stopped.",
        examples=EXAMPLES,
    )


def _run(arguments: argparse.Namespace) -> None:
    from parivox.report.systems import check_lines, embedding_lines  # noqa: PLC0415 - takes time to load

    if arguments.check is not None:
        if arguments.recordings is not None or arguments.out is not None:
            msg = "--check only checks a folder, and cannot be used with RECORDINGS or --out"
            hint = "give --check alone"
            raise ConfigError(msg, hint)
        from parivox.embedding.store import check_store  # noqa: PLC0415

        print_lines(check_lines(check_store(arguments.check)))
    else:
        print_lines(embedding_lines(_embed_recordings(arguments)))


def _embed_recordings(arguments: argparse.Namespace) -> Any:
    for argument, needed in (
        (arguments.recordings, "RECORDINGS: a folder, or a table of files"),
        (arguments.out, "--out DIR"),
    ):
        if argument is None:
            msg = f"nothing to do: give {needed}"
            hint = "see parivox embed --help"
            raise ConfigError(msg, hint)
    check_out_is_named(arguments.out, "folder")
    from parivox.data.source_bytes import reading_files_as  # noqa: PLC0415
    from parivox.embedding.extract import embed  # noqa: PLC0415 - what takes time to load
    from parivox.embedding.recordings import read_source  # noqa: PLC0415
    from parivox.embedding.systems.named import load  # noqa: PLC0415
    from parivox.report.systems import speaker_lines  # noqa: PLC0415

    system = partial(
        load, arguments.system or EmbedCommand.system, **given_options(arguments, SystemOptions)
    )
    arguments.outcome = "what is finished is kept; the same command goes on with it"
    options = given_options(arguments, EmbedOptions)
    reading_options = {name: options.get(name) for name in ("encoding", "quotes", "columns")}
    with reading_files_as(**reading_options):
        source = read_source(arguments.recordings, columns=options.pop("columns", None))
    for speaker_line in () if arguments.quiet else speaker_lines(source):
        print_status(speaker_line)
    return embed(source, system, arguments.out, **options)
