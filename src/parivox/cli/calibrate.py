"""``parivox calibrate``."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from parivox.cli.options import (
    TABLES,
    add_command,
    check_out_is_named,
    check_standard_input,
    given_options,
    named_source,
)
from parivox.cli.process import print_json, print_lines, printing
from parivox.errors import ConfigError
from parivox.options.audit import ProgressCommand
from parivox.options.decide import CalibrateCommand, CalibrateOptions
from parivox.options.kinds import option_fields
from parivox.runtime.disk import writable_file

if TYPE_CHECKING:
    import argparse

EXAMPLES = """\
examples:
  parivox calibrate scores.csv --speakers speakers.csv --by gender
  parivox calibrate scores.csv --speakers s.csv --by gender --out calibrator.json
  parivox calibrate new.csv --apply calibrator.json --out llr.csv
  parivox audit llr.csv --speakers s.csv --by gender --llr
"""

_APPLY_OPTIONS = (
    "speakers",
    "trials",
    "utterances",
    "models",
    "groups",
    "scores_format",
    "columns",
    "id",
    "encoding",
    "quotes",
    "conflicts",
)
"""Options that are of use where a calibrator is applied."""


def add_to(commands: Any, words: str) -> None:
    """Add the command and its options."""
    add_command(
        commands,
        "calibrate",
        _run,
        CalibrateOptions,
        CalibrateCommand,
        ProgressCommand,
        help=words,
        usage="parivox calibrate SCORES --by GROUPING [--speakers FILE] [options]\n"
        "       parivox calibrate SCORES --apply CALIBRATOR --out FILE [options]",
        description="Calibrate scores to log-likelihood ratios with one common calibrator and "
        "with one per group, and evaluate both on held-out speakers.",
        examples=EXAMPLES,
    )


def _run(arguments: argparse.Namespace) -> None:
    if arguments.scores is None:
        msg = "missing SCORES"
        hint = "for example parivox calibrate scores.csv --by gender"
        raise ConfigError(msg, hint)
    check_out_is_named(arguments.out, "file")
    name, source = named_source(arguments.scores)
    tables = [getattr(arguments, table) for table in (*TABLES, "groups", "normalised", "apply")]
    check_standard_input([source, *tables])
    if arguments.apply is not None:
        _apply(source, arguments)
        return
    from parivox.decide.calibration import calibrate  # noqa: PLC0415

    if arguments.figure is not None:
        from parivox.report.charts.variation import check_chart, save  # noqa: PLC0415

        check_chart("--figure", arguments.figure)
    if arguments.out is not None:
        writable_file(arguments.out, "calibrator.json")
    scores = {name: source} if name else source
    calibration = calibrate(scores, **given_options(arguments, CalibrateOptions))
    if arguments.out is not None:
        calibration.save(arguments.out)
    if arguments.figure is not None:
        save(calibration.chart(), "--figure", arguments.figure)
    with printing():
        if arguments.json:
            print_json(calibration.to_json())
            return
        from parivox.report.calibration import print_calibration  # noqa: PLC0415

        print_calibration(calibration, out=arguments.out and shlex.quote(arguments.out))


def _apply(source: str, arguments: argparse.Namespace) -> None:
    from parivox.decide.calibrated_scores import apply_calibrator  # noqa: PLC0415

    options = given_options(arguments, CalibrateOptions)
    for name, option in option_fields(CalibrateOptions).items():
        if name not in _APPLY_OPTIONS and option.is_given(options.get(name, option.default)):
            msg = (
                f"{option.flag}: cannot be used with --apply: the calibrator already defines it, "
                "or does not use it"
            )
            hint = "leave it out"
            raise ConfigError(msg, hint)
    for flag, setting in (("figure", arguments.figure), ("json", arguments.json)):
        if setting:
            msg = f"--{flag}: cannot be used with --apply, which evaluates nothing"
            hint = "leave it out"
            raise ConfigError(msg, hint)
    if arguments.out is None:
        msg = "--apply needs a file for the log-likelihood ratios"
        hint = "add --out llr.csv"
        raise ConfigError(msg, hint)
    apply_options = {name: options[name] for name in _APPLY_OPTIONS if name in options}
    print_lines(apply_calibrator(source, arguments.apply, arguments.out, **apply_options).told)
