"""``parivox audit``."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from pathlib import Path
from typing import Any, Self

from parivox.cli.process import set_up
from parivox.cli.streams import print_json, printing, say
from parivox.errors import ConfigError, shown

__all__ = ["add_to"]

EXAMPLES = """\
examples:
  parivox audit scores.csv --speakers speakers.csv --by gender
  parivox audit V2=v2.csv L=l.csv --speakers s.csv --by gender+nationality --out audit/
  zcat scores.gz | parivox audit - --speakers s.csv --by age:18,30,60 --operating-point eer
"""


def add_to(commands: Any) -> None:
    """Add the command and its options."""
    command = commands.add_parser(
        "audit",
        help="how each group of people fares, by every measure",
        usage="parivox audit SCORES... [--speakers FILE] [options]",
        description="Audit scores: how does each group of people fare, by every measure?",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.set_defaults(run=_run)

    def repeatable(group: Any, name: str, metavar: str, words: str) -> None:
        group.add_argument(name, action="append", metavar=metavar, help=f"{words}; repeatable")

    what = command.add_argument_group("what is audited")
    what.add_argument(
        "scores",
        nargs="+",
        metavar="SCORES",
        help="score file, or - for standard input; several as NAME=FILE or NAME@LIST=FILE",
    )
    what.add_argument("--speakers", metavar="FILE", help="table of speakers and their attributes")
    repeatable(
        what,
        "--by",
        "ATTRIBUTES",
        "groups: gender, gender+nationality, age:18,30,60, enrol.language, same:device (default: "
        "every attribute with 2 to 50 values)",
    )
    repeatable(
        what, "--within", "ATTRIBUTES", "repeat the audit within each level of these: channel"
    )
    what.add_argument(
        "--groups", metavar="FILE", help="which groups to make of which values (YAML)"
    )
    what.add_argument(
        "--trials", metavar="FILE", help="separate trial list, joined on the pair of ids"
    )
    what.add_argument(
        "--utterances", metavar="FILE", help="table of recordings: speaker and any attributes"
    )
    what.add_argument(
        "--models", metavar="FILE", help="table of model, speaker, recording: enrolments"
    )
    what.add_argument(
        "--failures", metavar="FILE", help="table of recording, stage (enrol, acquire), reason"
    )

    how = command.add_argument_group("how it is measured")
    repeatable(
        how,
        "--operating-point",
        "POINT",
        "threshold=X, fpr=X, fnr=X, eer, min-cdet, min-cdet:COST, bayes, deployed (default: "
        "deployed if there is any, fpr=0.01 and, with 30,000 nontarget trials, fpr=0.001)",
    )
    repeatable(how, "--threshold-from", "FILE", "development scores to find the thresholds on")
    repeatable(
        how, "--allocate", "RULE", "group of a nontarget trial: both (default), enrol, test, either"
    )
    repeatable(how, "--cost", "COST", "voxsrc (default), sre08, ... or P_TARGET,C_MISS,C_FA")
    repeatable(
        how,
        "--eer",
        "RULE",
        "EER definition: linear (default), nearest_max, nearest_mean, clova, speechbrain, kaldi, "
        "nist_sre16, rocch, pyeer",
    )
    repeatable(
        how,
        "--rule",
        "RULE",
        "FNR at an FPR and the reverse: conservative (default), nearest, interp",
    )
    repeatable(
        how,
        "--reference",
        "NAME",
        "what groups are compared with: pooled, macro, geomean, best (default: these four), or a "
        "group",
    )
    repeatable(
        how, "--zero", "POLICY", "rates without errors: none, jeffreys (default: both), nist"
    )
    repeatable(
        how, "--alpha", "WEIGHT", "weight of FPR in FDR, IR, GARBE: 0.5 (default), or 0:1:0.05"
    )
    how.add_argument(
        "--sweep", metavar="GRID", help="meta-measures over a grid: fpr=0.001:0.1:log100"
    )
    how.add_argument("--llr", action="store_true", help="scores are natural-log likelihood ratios")
    how.add_argument("--compat", metavar="TOOL", help="bt4vt: its rules beside the exact ones")

    read = command.add_argument_group("how files are read")
    read.add_argument(
        "--scores-format", metavar="NAME", help="format of the scores (default: by content)"
    )
    read.add_argument(
        "--columns", metavar="ROLES", help="enrol=ref_file,test=com_file,score=sc,label=lab"
    )
    read.add_argument("--id", metavar="COLUMN", help="id column of the speaker table")
    read.add_argument("--distance", action="store_true", help="scores are distances: negate them")
    read.add_argument(
        "--similarity", action="store_true", help="scores are similarities, whatever their AUC"
    )
    read.add_argument(
        "--conflicts",
        default="error",
        metavar="WAY",
        help="rows that contradict each other: error (default) or set-aside",
    )

    out = command.add_argument_group("what comes out")
    out.add_argument("--out", metavar="DIR", help="folder for the tables and audit.json")
    out.add_argument(
        "--format", default="csv", metavar="KIND", help="of the tables: csv (default) or parquet"
    )
    out.add_argument("--json", action="store_true", help="print audit.json, not the summary")
    out.add_argument("--quiet", action="store_true", help="no progress on standard error")


def _run(given: argparse.Namespace) -> None:
    set_up()
    from parivox.auditing.result import check_folder, check_format  # noqa: PLC0415
    from parivox.auditing.run import audit  # noqa: PLC0415

    if given.distance and given.similarity:
        msg = "--distance and --similarity contradict each other; give one of them"
        raise ConfigError(msg)
    check_format(given.format)
    if given.out is not None:
        check_folder(given.out)
    _check_standard_input(given)
    options = {
        name: value
        for name in (
            *("by", "allocate", "cost", "eer", "rule", "reference", "zero", "alpha", "sweep"),
            *("trials", "utterances", "models", "failures", "groups", "within", "llr", "compat"),
            *("scores_format", "id", "conflicts", "speakers"),
        )
        if (value := getattr(given, name)) is not None
    }
    with _Progress(quiet=given.quiet) as tell:
        result = audit(
            _named(given.scores),
            operating_points=given.operating_point,
            threshold_from=_named(given.threshold_from) if given.threshold_from else None,
            columns=_mapping(given.columns),
            orientation=(given.distance and "distance")
            or (given.similarity and "similarity")
            or None,
            progress=tell,
            **options,
        )
        if given.out is not None:
            tell(f"writing {given.out}")
            given.outcome = f"{given.out} may not hold this audit"
            result.write(given.out, format=given.format)
            given.outcome = f"the audit is in {given.out}"
    if given.json:
        with printing():
            print_json(result.to_json())
        return
    from parivox.report.terminal import print_summary  # noqa: PLC0415

    with printing():
        print_summary(result, out=None if given.out is None else Path(given.out))


def _check_standard_input(given: argparse.Namespace) -> None:
    """Refuse ``-`` where there is no standard input."""
    paths = [text.rpartition("=")[2] for text in (*given.scores, *(given.threshold_from or ()))]
    tables = (given.speakers, given.trials, given.utterances, given.models, given.failures)
    if "-" in {*paths, *tables, given.groups} and sys.stdin is None:
        msg = "-: standard input is closed; name a file, or send one to standard input"
        raise ConfigError(msg)


class _Progress:
    """What is being done, on stderr: a spinner in a terminal, plain lines elsewhere."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet
        self.live: Any = None

    def __enter__(self) -> Self:
        if not self.quiet and sys.stderr.isatty():
            from rich.console import Console  # noqa: PLC0415

            self.live = Console(stderr=True).status("")
            self.live.start()
        return self

    def __call__(self, what: str) -> None:
        if self.live is not None:
            from rich.text import Text  # noqa: PLC0415

            self.live.update(Text(shown(what)))
        elif not self.quiet:
            say(what)

    def __exit__(self, *_: object) -> None:
        if self.live is not None:
            with contextlib.suppress(OSError):
                self.live.stop()


def _named(sources: list[str]) -> Any:
    """One path, or several by system and list, which only NAME= or NAME@LIST= tells apart."""
    from parivox.auditing.sources import split_name, stem  # noqa: PLC0415

    if len(sources) == 1 and "=" not in sources[0]:
        return sources[0]
    named: dict[tuple[str, str], str] = {}
    for text in sources:
        before, equals, path = text.partition("=")
        name = split_name(before)
        if not equals or os.path.exists(text):  # noqa: PTH110 - any text, even what no path can be
            name, path = (stem(text), ""), text
        if name in named:
            told = "@".join(filter(None, name))
            msg = f"{text}: {told!r} is named twice; name each file, as in V2=v2.csv or V2@H=v2.csv"
            raise ConfigError(msg)
        named[name] = path
    return named


def _mapping(text: str | None) -> dict[str, str] | None:
    if text is None:
        return None
    found: dict[str, str] = {}
    for part in text.split(","):
        role, equals, column = (word.strip() for word in part.partition("="))
        if not equals or not role or not column:
            msg = f"--columns {text!r}: {part!r} is not ROLE=COLUMN, as in enrol=ref_file,score=sc"
            raise ConfigError(msg)
        if role in found:
            msg = f"--columns {text!r}: {role} is given twice; give each role one column"
            raise ConfigError(msg)
        found[role] = column
    return found
