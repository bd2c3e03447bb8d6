"""``parivox audit``."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from parivox.cli.options import (
    Progress,
    add_reading,
    add_tables,
    check_out_is_named,
    check_standard_input,
    how_read,
    repeatable,
)
from parivox.cli.process import set_up
from parivox.cli.streams import print_json, printing
from parivox.errors import ConfigError

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

    what = command.add_argument_group("what is audited")
    what.add_argument(
        "scores",
        nargs="+",
        metavar="SCORES",
        help="score file, or - for standard input; several as NAME=FILE or NAME@LIST=FILE; files "
        "of counts, which are added up",
    )
    add_tables(what)

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

    add_reading(command)

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

    reading = how_read(given)
    check_format(given.format)
    check_out_is_named(given.out, "folder")
    if given.out is not None:
        check_folder(given.out)
    check_standard_input(given, *given.scores, *(given.threshold_from or ()))
    options = {
        name: value
        for name in (
            *("allocate", "cost", "eer", "rule", "reference", "zero", "alpha", "sweep"),
            "compat",
        )
        if (value := getattr(given, name)) is not None
    }
    with Progress(quiet=given.quiet) as tell:
        result = audit(
            _named(given.scores),
            operating_points=given.operating_point,
            threshold_from=_named(given.threshold_from) if given.threshold_from else None,
            progress=tell,
            **reading,
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


def _named(sources: list[str]) -> Any:
    """One path, or several by system and list, which only NAME= or NAME@LIST= tells apart.

    Files of counts need no names, and those of one name are added up.
    """
    from parivox.auditing.sources import split_name, stem  # noqa: PLC0415
    from parivox.tables.counts_file import holds_counts  # noqa: PLC0415

    if len(sources) == 1 and "=" not in sources[0]:
        return sources[0]
    pairs = []
    for text in sources:
        before, equals, path = text.partition("=")
        # any text, even what no path can be
        is_plain = not equals or os.path.exists(text)  # noqa: PTH110
        pairs.append((None, text) if is_plain else (split_name(before), path))
    if any(holds_counts(path) for _, path in pairs):
        counts: dict[object, list[str]] = {}
        for name, path in pairs:
            counts.setdefault(name or "", []).append(path)
        return counts
    named: dict[tuple[str, str], str] = {}
    for (given, path), text in zip(pairs, sources, strict=True):
        name = given or (stem(path), "")
        if name in named:
            told = "@".join(filter(None, name))
            msg = f"{text}: {told!r} is named twice; name each file, as in V2=v2.csv or V2@H=v2.csv"
            raise ConfigError(msg)
        named[name] = path
    return named
