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

_TAKEN = (
    *("speakers", "trials", "utterances", "models", "groups"),
    *("scores_format", "columns", "id", "encoding", "quotes", "conflicts"),
)
"""Options that are of use where a calibrator is applied."""


def add_to(commands: Any, words: str) -> None:
    """Add the command and its options."""
    add_command(
        commands,
        "calibrate",
        _run,
        *(CalibrateOptions, CalibrateCommand, ProgressCommand),
        help=words,
        usage="parivox calibrate SCORES --by GROUPING [--speakers FILE] [options]\n"
        "       parivox calibrate SCORES --apply CALIBRATOR --out FILE [options]",
        description="Calibrate scores to log-likelihood ratios with one common calibrator and "
        "with one per group, and evaluate both on held-out speakers.",
        examples=EXAMPLES,
    )


def _run(given: argparse.Namespace) -> None:
    if given.scores is None:
        msg = "missing SCORES; for example parivox calibrate scores.csv --by gender"
        raise ConfigError(msg)
    check_out_is_named(given.out, "file")
    name, source = named_source(given.scores)
    tables = [getattr(given, table) for table in (*TABLES, "groups", "normalised", "apply")]
    check_standard_input([source, *tables])
    if given.apply is not None:
        _apply(source, given)
        return
    from parivox.decide.calibration import calibrate  # noqa: PLC0415

    if given.figure is not None:
        from parivox.report.charts.variation import check_chart, save  # noqa: PLC0415

        check_chart("--figure", given.figure)
    if given.out is not None:
        writable_file(given.out, "calibrator.json")
    scores = {name: source} if name else source
    found = calibrate(scores, **given_options(given, CalibrateOptions))
    if given.out is not None:
        found.write(given.out)
    if given.figure is not None:
        save(found.chart(), "--figure", given.figure)
    with printing():
        if given.json:
            print_json(found.to_json())
            return
        from parivox.report.calibration import print_calibration  # noqa: PLC0415

        print_calibration(found, out=given.out and shlex.quote(given.out))


def _apply(source: str, given: argparse.Namespace) -> None:
    from parivox.decide.calibrated_scores import apply_calibrator  # noqa: PLC0415

    asked = given_options(given, CalibrateOptions)
    for name, one in option_fields(CalibrateOptions).items():
        if name not in _TAKEN and one.is_given(asked.get(name, one.default)):
            msg = f"{one.flag}: the calibrator tells it, or has no use for it; leave it out"
            raise ConfigError(msg)
    for flag, value in (("figure", given.figure), ("json", given.json)):
        if value:
            msg = f"--{flag}: nothing is judged with --apply; leave it out"
            raise ConfigError(msg)
    if given.out is None:
        msg = "--apply needs a file for the log likelihood ratios; add --out llr.csv"
        raise ConfigError(msg)
    kept = {name: asked[name] for name in _TAKEN if name in asked}
    print_lines(apply_calibrator(source, given.apply, given.out, **kept).told)
