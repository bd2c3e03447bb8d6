"""``parivox audit``."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from parivox.cli.options import (
    Once,
    Progress,
    add_reading,
    add_tables,
    check_out_is_named,
    check_standard_input,
    how_read,
    repeatable,
)
from parivox.cli.process import set_up
from parivox.cli.report import add_page_options, of_page
from parivox.cli.streams import print_json, printing
from parivox.errors import ConfigError, shown

__all__ = ["add_to"]

EXAMPLES = """\
examples:
  parivox audit scores.csv --speakers speakers.csv --by gender
  parivox audit V2=v2.csv L=l.csv --speakers s.csv --by gender+nationality --out audit/
  parivox audit scores.csv --speakers s.csv --by gender --limit fnr=0.05 --limit fpr=0.001
  parivox audit A=a.csv B=b.csv --speakers s.csv --by gender --compare --report report.html
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
        "what groups are compared with: others, pooled, macro, geomean, best (default: these "
        "five), or a group; verdicts take the first",
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

    _add_uncertainty(command)
    add_reading(command)

    out = command.add_argument_group("what comes out")
    out.add_argument("--out", metavar="DIR", help="folder for the tables and audit.json")
    out.add_argument(
        "--format", default="csv", metavar="KIND", help="of the tables: csv (default) or parquet"
    )
    out.add_argument(
        "--trial-table",
        metavar="FILE",
        action=Once,
        help="CSV or Parquet of every trial with its errors, groups and numbered speakers",
    )
    out.add_argument("--report", metavar="FILE", help="page that opens anywhere (HTML)")
    add_page_options(out)
    out.add_argument("--json", action="store_true", help="print audit.json, not the summary")
    out.add_argument("--quiet", action="store_true", help="no progress on standard error")


def _add_uncertainty(command: Any) -> None:
    """Add what is said of how sure the numbers are."""
    sure = command.add_argument_group("how sure it is")
    sure.add_argument(
        "--no-intervals", action="store_true", help="no intervals, noise floors or verdicts"
    )
    for name, metavar, words in (
        ("--confidence", "LEVEL", "of intervals and verdicts (default: 0.95)"),
        ("--margin", "RATIO", "largest ratio that is no difference (default: 1.25)"),
        ("--replicates", "N", "of the bootstrap over speakers and of floors (default: 1000)"),
        ("--seed", "N", "of both (default: 0)"),
        ("--bins", "N", "of scores in replicates: a number (default: 1024), or exact"),
        (
            "--interval",
            "WAY",
            (
                "of rates: speakers (default), bootstrap; wilson, clopper-pearson and jeffreys "
                "take trials as independent, for comparison"
            ),
        ),
        ("--attempts", "N", "tries of a person or an impostor: who is locked out, or gets in"),
    ):
        sure.add_argument(name, metavar=metavar, help=words, action=Once)
    sure.add_argument(
        "--pooled-floor",
        action="store_true",
        help="widen intervals of FNR where other groups' speakers vary more",
    )
    sure.add_argument(
        "--fixed-threshold",
        action="store_true",
        help="keep thresholds that were found on the trials in every replicate",
    )
    repeatable(sure, "--limit", "RATE", "what a rate may be at most: fnr=0.05, fpr=0.001")
    repeatable(
        sure,
        "--gate",
        "NAME=N",
        "what a group needs: inference=5 (speakers for an interval), speakers=10, errors=5 "
        "(effective), pairs=45 (for headline measures)",
    )
    repeatable(
        sure,
        "--standardise",
        "ATTRIBUTE",
        "rates with equal weight for each of its levels, beside the crude ones: same:gender",
    )
    sure.add_argument(
        "--compare", action="store_true", help="compare the systems and lists with each other"
    )


_NUMBERS = {
    "confidence": float,
    "margin": float,
    "replicates": int,
    "seed": int,
    "bins": int,
    "attempts": int,
}


def _uncertainty(given: argparse.Namespace) -> dict[str, Any]:
    """What the options say of uncertainty, in the words of the library."""
    found: dict[str, Any] = {
        "intervals": not given.no_intervals,
        "pooled_floor": given.pooled_floor,
        "fixed_threshold": given.fixed_threshold,
        "compare": given.compare,
    }
    for name, kind in _NUMBERS.items():
        text = getattr(given, name)
        if text is None:
            continue
        try:
            found[name] = text if (name, text) == ("bins", "exact") else kind(text)
        except ValueError:
            what = "a whole number" if kind is int else "a number"
            also = ", or exact" if name == "bins" else ""
            msg = f"--{name} is {text!r}; give {what}{also}"
            raise ConfigError(msg) from None
    for option, name in (("limit", "limits"), ("gate", "gates")):
        found[name] = getattr(given, option) or ()
    found["standardise"] = given.standardise or ()
    if given.interval is not None:
        found["interval"] = given.interval
    return found


def _run(given: argparse.Namespace) -> None:
    set_up()
    from parivox.auditing.result import check_folder, check_format  # noqa: PLC0415
    from parivox.auditing.run import audit  # noqa: PLC0415

    reading = how_read(given)
    check_format(given.format)
    check_out_is_named(given.out, "folder")
    if given.out is not None:
        check_folder(given.out)
    for name in ("trial_table", "report"):
        _check_apart(given.out, name, getattr(given, name))
    page = _page(given)
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
            **_uncertainty(given),
            trial_table=given.trial_table,
            speaker_ids=given.speaker_ids or "never",
        )
        if given.out is not None:
            tell(f"writing {given.out}")
            given.outcome = f"{given.out} may not hold this audit"
            result.write(given.out, format=given.format)
            given.outcome = f"the audit is in {given.out}"
        if given.report is not None:
            from parivox.report.written import write_page  # noqa: PLC0415 - on request

            tell(f"writing {given.report}")
            write_page(result, given.report, **page)
    if given.json:
        with printing():
            print_json(result.to_json())
        return
    from parivox.report.terminal import print_summary  # noqa: PLC0415

    with printing():
        print_summary(result, out=None if given.out is None else Path(given.out))
        if given.report is not None:
            sys.stdout.write(
                shown(f"The page, which opens in any browser, is {given.report}.") + "\n"
            )


def _check_apart(out: str | None, name: str, file: str | None) -> None:
    """Refuse a file in the folder of the audit, which holds nothing else."""
    if out is None or file is None:
        return
    if Path(os.path.realpath(out)) in Path(os.path.realpath(file)).parents:
        option = f"--{name.replace('_', '-')}"
        msg = f"{option} {file}: lies in --out; name a file elsewhere"
        raise ConfigError(msg)


def _page(given: argparse.Namespace) -> dict[str, Any]:
    """What is told of the page, if there is to be one and it can be written."""
    if given.report is None:
        for name in ("title", "context"):
            if getattr(given, name) is not None:
                msg = f"--{name} is of a page; give --report FILE, or leave --{name} out"
                raise ConfigError(msg)
        return {}
    from parivox.report.written import check_page  # noqa: PLC0415 - on request

    check_out_is_named(given.report, "file")
    check_page(given.report)
    return of_page(given)


def _named(sources: list[str]) -> Any:
    """One path, or several by system and list, which only NAME= or NAME@LIST= tells apart.

    Files of counts need no names, and those of one name are added up.
    """
    from parivox.auditing.sources import split_name, stem  # noqa: PLC0415
    from parivox.read.counts_file import holds_counts  # noqa: PLC0415

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
