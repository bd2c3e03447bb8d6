"""``parivox embed``."""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from parivox.cli import COMMANDS
from parivox.cli.options import Progress, check_out_is_named
from parivox.cli.process import set_up
from parivox.cli.streams import printing
from parivox.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

EXAMPLES = """\
examples:
  parivox embed RECORDINGS/ --system ge2e --out embeddings/
  parivox embed utterances.csv --system model.onnx --frontend kaldi80 --out embeddings/
  parivox embed --check embeddings/
"""
EVERY_SECONDS = 10.0
"""Between lines of progress, where there is no terminal to overwrite them in."""


def add_to(commands: Any) -> None:
    """Add the command and its options."""
    command = commands.add_parser(
        "embed",
        help=COMMANDS["embed"],
        usage="parivox embed RECORDINGS --out DIR [--system NAME] [options]\n"
        "       parivox embed --check DIR",
        description="Embed each recording once; what is interrupted goes on where it was.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.set_defaults(run=_run)
    what = command.add_argument_group("what is embedded")
    what.add_argument(
        "recordings",
        metavar="RECORDINGS",
        nargs="?",
        help="folder of audio files, Kaldi folder or wav.scp, or table of utterance, file, "
        "speaker, recording, channel, start, end",
    )
    what.add_argument(
        "--channel", metavar="N", type=int, help="which counts, of files whose channels differ"
    )
    what.add_argument(
        "--longest",
        metavar="SECONDS",
        type=float,
        default=3600.0,
        help="longer recordings are not read (default: 3600)",
    )
    how = command.add_argument_group("how it is embedded")
    how.add_argument(
        "--system",
        metavar="NAME",
        default="ge2e",
        help="ge2e, model.onnx, NAME:CHECKPOINT, package.module:function (default: ge2e); see "
        "parivox systems list",
    )
    how.add_argument("--weights", metavar="FILE", help="weights of the system")
    how.add_argument("--frontend", metavar="NAME", help="what turns audio into its input: kaldi80")
    how.add_argument(
        "--sample-rate", metavar="HZ", type=int, help="what a function, or a waveform input, takes"
    )
    how.add_argument("--device", metavar="NAME", default="cpu", help="cpu or cuda (default: cpu)")
    how.add_argument(
        "--workers", metavar="N", type=int, help="processes (default: one a processor)"
    )
    how.add_argument(
        "--batch", metavar="N", type=int, default=64, help="recordings in a batch (default: 64)"
    )
    out = command.add_argument_group("what comes out")
    out.add_argument("--out", metavar="DIR", help="folder of embeddings, new or to go on with")
    out.add_argument("--check", metavar="DIR", help="check that a folder holds what was written")
    out.add_argument("--quiet", action="store_true", help="no progress on standard error")


def _run(given: argparse.Namespace) -> None:
    set_up()
    from parivox.report.systems import checked, embedded  # noqa: PLC0415 - takes time to load

    if given.check is not None:
        if given.recordings is not None or given.out is not None:
            msg = "--check DIR looks at a folder and embeds nothing; give it alone"
            raise ConfigError(msg)
        from parivox.embedding.store import check_store  # noqa: PLC0415

        told = checked(check_store(given.check))
    else:
        told = embedded(_embedded(given))
    with printing():
        sys.stdout.write("".join(f"{line}\n" for line in told))


def _embedded(given: argparse.Namespace) -> Any:
    for value, mend in (
        (given.recordings, "RECORDINGS: a folder, or a table of files"),
        (given.out, "--out DIR"),
    ):
        if value is None:
            msg = f"nothing to do: give {mend}; see parivox embed --help"
            raise ConfigError(msg)
    check_out_is_named(given.out, "folder")
    from parivox.embedding.extract import embed  # noqa: PLC0415 - what takes time to load
    from parivox.embedding.systems.named import load  # noqa: PLC0415

    given.outcome = "what is finished is kept; the same command goes on with it"
    with Progress(quiet=given.quiet) as tell:
        return embed(
            given.recordings,
            partial(
                load,
                given.system,
                weights=given.weights,
                frontend=given.frontend,
                sample_rate=given.sample_rate,
                device=given.device,
            ),
            given.out,
            channel=given.channel,
            longest_seconds=given.longest,
            workers=given.workers,
            batch=given.batch,
            progress=tell if tell.live is not None else _seldom(tell),
        )


def _seldom(tell: Callable[[str], None]) -> Callable[[str], None]:
    """Tell what counts recordings every few seconds only."""
    last = [-EVERY_SECONDS]

    def told(what: str) -> None:
        counts = what[:1].isdigit()
        if not counts or time.monotonic() - last[0] >= EVERY_SECONDS:
            tell(what)
            last[0] = time.monotonic() if counts else last[0]

    return told
