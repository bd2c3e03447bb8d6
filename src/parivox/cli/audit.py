"""``parivox audit``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Self

import typer

from parivox.cli import app
from parivox.errors import ConfigError

WHAT = "What is audited"
HOW = "How it is measured"
READ = "How files are read"
OUT = "What comes out"


def _option(*names: str, help: str, panel: str, **more: Any) -> Any:  # noqa: A002
    return typer.Option(*names, help=help, rich_help_panel=panel, **more)


@app.command(no_args_is_help=True)
def audit(
    scores: Annotated[
        list[str],
        typer.Argument(
            metavar="SCORES...",
            help="Score files; several as NAME=FILE or NAME@LIST=FILE; - reads standard input.",
        ),
    ],
    *,
    speakers: Annotated[str, _option("--speakers", help="Table of speakers.", panel=WHAT)],
    by: Annotated[
        list[str] | None,
        _option(
            "--by",
            help="Groups: gender, gender+nationality, age:18,30,60. Repeatable. "
            "Without it, every attribute with 2 to 50 values.",
            panel=WHAT,
        ),
    ] = None,
    trials: Annotated[
        str | None, _option("--trials", help="Separate trial list, joined on the ids.", panel=WHAT)
    ] = None,
    utterances: Annotated[
        str | None,
        _option("--utterances", help="Table of utterance, speaker, recording.", panel=WHAT),
    ] = None,
    operating_point: Annotated[
        list[str] | None,
        _option(
            "--operating-point",
            help="threshold=X, fpr=X, fnr=X, eer, min-cdet, min-cdet:COST, bayes. Repeatable. "
            "Default: fpr=0.01 and, with 30,000 nontarget trials, fpr=0.001.",
            panel=HOW,
        ),
    ] = None,
    threshold_from: Annotated[
        list[str] | None,
        _option(
            "--threshold-from", help="Development scores to find the thresholds on.", panel=HOW
        ),
    ] = None,
    allocate: Annotated[
        list[str],
        _option(
            "--allocate",
            help="Group of a nontarget trial: both, enrol, test, either. Repeatable.",
            panel=HOW,
        ),
    ] = ["both"],  # noqa: B006 - typer reads it
    cost: Annotated[
        list[str],
        _option(
            "--cost", help="voxsrc, sre08, ... or P_TARGET,C_MISS,C_FA. Repeatable.", panel=HOW
        ),
    ] = ["voxsrc"],  # noqa: B006
    eer: Annotated[
        list[str], _option("--eer", help="Definition of the EER. Repeatable.", panel=HOW)
    ] = ["linear"],  # noqa: B006
    rule: Annotated[
        list[str],
        _option(
            "--rule",
            help="FNR at an FPR and FPR at an FNR: conservative, nearest, interp. Repeatable.",
            panel=HOW,
        ),
    ] = ["conservative"],  # noqa: B006
    reference: Annotated[
        list[str],
        _option(
            "--reference",
            help="What groups are compared with: pooled, macro, geomean, best, or a group.",
            panel=HOW,
        ),
    ] = ["pooled", "macro", "geomean", "best"],  # noqa: B006
    zero: Annotated[
        list[str],
        _option("--zero", help="Rates without errors: none, jeffreys, nist.", panel=HOW),
    ] = ["none", "jeffreys"],  # noqa: B006
    alpha: Annotated[
        list[str],
        _option("--alpha", help="Weight of FPR in FDR, IR, GARBE: 0.5 or 0:1:0.05.", panel=HOW),
    ] = ["0.5"],  # noqa: B006
    sweep: Annotated[
        str | None,
        _option("--sweep", help="Meta-measures over a grid: fpr=0.001:0.1:log100.", panel=HOW),
    ] = None,
    llr: Annotated[
        bool, _option("--llr", help="Scores are natural-log likelihood ratios.", panel=HOW)
    ] = False,
    compat: Annotated[
        str | None,
        _option("--compat", help="bt4vt: its rules beside the exact ones.", panel=HOW),
    ] = None,
    scores_format: Annotated[
        str | None, _option("--scores-format", help="Format of the score files.", panel=READ)
    ] = None,
    columns: Annotated[
        str | None,
        _option(
            "--columns",
            help="enrol=ref_file,test=com_file,score=sc,label=lab",
            panel=READ,
        ),
    ] = None,
    id_column: Annotated[
        str | None, _option("--id", help="Id column of the speaker table.", panel=READ)
    ] = None,
    distance: Annotated[
        bool, _option("--distance", help="Scores are distances: negate them.", panel=READ)
    ] = False,
    similarity: Annotated[
        bool,
        _option("--similarity", help="Scores are similarities, whatever their AUC.", panel=READ),
    ] = False,
    conflicts: Annotated[
        str,
        _option("--conflicts", help="Contradicting rows: error or set-aside.", panel=READ),
    ] = "error",
    out: Annotated[
        Path | None, _option("--out", help="Folder for the tables and audit.json.", panel=OUT)
    ] = None,
    format: Annotated[  # noqa: A002
        str, _option("--format", help="Of the tables: csv or parquet.", panel=OUT)
    ] = "csv",
    json: Annotated[
        bool, _option("--json", help="Print audit.json instead of the summary.", panel=OUT)
    ] = False,
    quiet: Annotated[bool, _option("--quiet", help="No progress on stderr.", panel=OUT)] = False,
) -> None:
    """Audit scores: how does each group of people fare, by every measure?"""
    from parivox.auditing.result import check_folder  # noqa: PLC0415
    from parivox.auditing.run import audit as run  # noqa: PLC0415

    if distance and similarity:
        msg = "--distance and --similarity contradict each other; give one of them"
        raise ConfigError(msg)
    if format not in {"csv", "parquet"}:
        msg = f"--format {format!r} is not known; choose csv or parquet"
        raise ConfigError(msg)
    if out is not None:
        check_folder(out)
    with _Progress(quiet=quiet) as tell:
        result = run(
            _named(scores),
            speakers=speakers,
            trials=trials,
            utterances=utterances,
            by=by,
            allocate=allocate,
            operating_points=operating_point,
            threshold_from=None if not threshold_from else _named(threshold_from),
            cost=cost,
            eer=eer,
            rule=rule,
            reference=reference,
            zero=zero,
            alpha=alpha,
            sweep=sweep,
            llr=llr,
            compat=compat,
            scores_format=scores_format,
            columns=_mapping(columns),
            id=id_column,
            orientation="distance" if distance else "similarity" if similarity else None,
            conflicts=conflicts,
            progress=tell,
        )
        if out is not None:
            tell(f"writing {out}")
            result.write(out, format=format)
    if json:
        sys.stdout.write(result.to_json())
        return
    from parivox.report.terminal import print_summary  # noqa: PLC0415

    print_summary(result, out=out)


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
            self.live.update(what)
        elif not self.quiet:
            typer.echo(f"parivox: {what}", err=True)

    def __exit__(self, *_: object) -> None:
        if self.live is not None:
            self.live.stop()


def _named(sources: list[str]) -> Any:
    """One path, or several with the names that stand before them."""
    from parivox.auditing.sources import stem  # noqa: PLC0415

    if len(sources) == 1 and "=" not in sources[0]:
        return sources[0]
    named: dict[str, str] = {}
    for text in sources:
        name, equals, path = text.partition("=")
        if not equals or Path(text).exists():
            name, path = stem(text), text
        if name in named:
            msg = f"{text}: {name!r} is named twice; name each file, as in V2=v2.csv or V2@H=v2.csv"
            raise ConfigError(msg)
        named[name] = path
    return named


def _mapping(text: str | None) -> dict[str, str] | None:
    if text is None:
        return None
    found: dict[str, str] = {}
    for part in text.split(","):
        role, equals, column = part.partition("=")
        if not equals or not role.strip() or not column.strip():
            msg = f"--columns {text!r}: {part!r} is not ROLE=COLUMN, as in enrol=ref_file,score=sc"
            raise ConfigError(msg)
        found[role.strip()] = column.strip()
    return found
