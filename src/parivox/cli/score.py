"""``parivox score``."""

from __future__ import annotations

import argparse
from typing import Any

from parivox.cli import COMMANDS
from parivox.cli.options import Progress, add_option, check_out_is_named, mapping_of
from parivox.cli.process import set_up
from parivox.cli.streams import printing
from parivox.errors import ConfigError
from parivox.options.kinds import options_of
from parivox.options.trials import ListOptions

EXAMPLES = """\
examples:
  parivox score trials.txt --embeddings embeddings/ --out scores.parquet
  parivox score trials.txt --embeddings embeddings/ --as-norm cohort.txt --top 300 --out s.parquet
  parivox score trials.csv --embeddings embeddings/ --models models.csv --out scores.parquet
  parivox score trials.csv --system mypkg:verifier --recordings utterances.csv --out s.parquet
"""
_OF_EMBEDDINGS = ("scoring", "models_by", "subtract_mean", "as_norm", "top", "s_norm", "speakers")
_OF_SYSTEMS = ("recordings", "channel", "device")


def add_to(commands: Any) -> None:
    """Add the command and its options."""
    command = commands.add_parser(
        "score",
        help=COMMANDS["score"],
        usage="parivox score TRIALS --embeddings DIR --out FILE [options]",
        description="Score a list of trials: one row a trial, in the order of the list.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.set_defaults(run=_run)
    what = command.add_argument_group("what is scored")
    what.add_argument("trials", metavar="TRIALS", help="list of trials, in any format of an audit")
    what.add_argument(
        "--embeddings", metavar="DIR", help="of parivox embed; or a file of embeddings"
    )
    what.add_argument("--out", metavar="FILE", required=True, help="Parquet file to write")
    what.add_argument("--overwrite", action="store_true", help="replace the file if it is there")
    what.add_argument(
        "--models", metavar="FILE", help="table of model and recording: what is enrolled"
    )

    how = command.add_argument_group("how embeddings are compared")
    how.add_argument(
        "--scoring",
        metavar="NAME",
        help="cosine, dot, euclidean, crops-euclidean, ecapa-published (default: the system's own)",
    )
    how.add_argument(
        "--models-by",
        metavar="WHAT",
        help="of a model's recordings, average embeddings (default where they can be) or scores",
    )
    how.add_argument("--subtract-mean", metavar="COHORT", help="subtract its mean embedding first")
    how.add_argument(
        "--as-norm", metavar="COHORT", help="normalise by the nearest strangers: ids or embeddings"
    )
    how.add_argument("--top", metavar="N", type=int, help="so many of them (default: 300)")
    how.add_argument("--s-norm", metavar="COHORT", help="normalise by all strangers")
    how.add_argument(
        "--speakers", metavar="FILE", help="table of speakers: tells the groups of the cohort"
    )

    own = command.add_argument_group("with a system that enrols and verifies")
    own.add_argument("--system", metavar="NAME", help="package.module:name, or an entry point")
    own.add_argument(
        "--recordings", metavar="PATH", help="folder or table, as parivox embed has it"
    )
    own.add_argument("--channel", metavar="N", type=int, help="where files have two or more")
    own.add_argument("--device", metavar="NAME", help="cpu or cuda (default: cpu)")

    read = command.add_argument_group("how the list is read")
    read.add_argument(
        "--trials-format", metavar="NAME", help="format of the list (default: by content)"
    )
    add_option(read, options_of(ListOptions)["columns"])
    command.add_argument("--quiet", action="store_true", help="tell nothing on standard error")


def _run(given: argparse.Namespace) -> None:
    set_up()
    check_out_is_named(given.out, "file")
    _check(given)
    shared = {
        "out": given.out,
        "models": given.models,
        "format": given.trials_format,
        "columns": mapping_of(given.columns),
        "overwrite": given.overwrite,
    }
    given.outcome = "what was scored is kept; the same command goes on from there"
    with Progress(quiet=given.quiet) as progress:
        if given.system is not None:
            from parivox.embedding.systems.named import load  # noqa: PLC0415 - takes time to load
            from parivox.embedding.systems.protocol import VerifyingSystem  # noqa: PLC0415
            from parivox.scoring.verifying import score_with_system  # noqa: PLC0415

            system: Any = load(given.system, device=given.device or "cpu")
            if not isinstance(system, VerifyingSystem):
                msg = (
                    f"--system {given.system}: makes embeddings; embed the recordings with "
                    "parivox embed, then score with --embeddings"
                )
                raise ConfigError(msg)
            found = score_with_system(
                given.trials, system, recordings=given.recordings, channel=given.channel,
                progress=progress, **shared,
            )  # fmt: skip
        else:
            from parivox.scoring.run import score  # noqa: PLC0415

            more = {name: getattr(given, name) for name in _OF_EMBEDDINGS}
            found = score(
                given.trials, embeddings=given.embeddings, progress=progress, **shared, **more
            )
    from parivox.report.systems import print_scored  # noqa: PLC0415

    with printing():
        print_scored(found)


def _check(given: argparse.Namespace) -> None:
    """Refuse options that do not belong together."""
    if (given.embeddings is None) == (given.system is None):
        msg = "give either --embeddings DIR, of parivox embed, or --system NAME"
        raise ConfigError(msg)
    if given.system is not None and given.recordings is None:
        msg = "--system takes --recordings, the folder or table of the recordings; give it, too"
        raise ConfigError(msg)
    alone, needs = (
        (_OF_SYSTEMS, "--system") if given.system is None else (_OF_EMBEDDINGS, "--embeddings")
    )
    for name in alone:
        if getattr(given, name) is not None:
            msg = f"--{name.replace('_', '-')} goes with {needs}; leave it out"
            raise ConfigError(msg)
