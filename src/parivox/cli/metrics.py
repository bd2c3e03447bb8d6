"""``parivox metrics``: EER and other metrics of scores without ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.cli.options import add_command, check_standard_input, given_options
from parivox.cli.process import print_json, printing
from parivox.errors import ConfigError
from parivox.options.metrics import MetricCommand, MetricOptions

if TYPE_CHECKING:
    import argparse

EXAMPLES = """\
examples:
  parivox metrics scores.csv
  parivox metrics scores.csv --by gender --figure det.svg
  parivox metrics --target genuine.txt --nontarget impostor.txt
"""


def add_to(commands: Any, words: str) -> None:
    """Add the command and its options."""
    add_command(
        commands,
        "metrics",
        _run,
        MetricOptions,
        MetricCommand,
        help=words,
        usage="parivox metrics SCORES [--by COLUMN] [options]\n"
        "       parivox metrics --target FILE --nontarget FILE [options]",
        description="Compute EER, minDCF and other metrics from scores with labels but without "
        "speaker ids. For confidence intervals, use parivox audit.",
        examples=EXAMPLES,
    )


def _run(arguments: argparse.Namespace) -> None:
    if arguments.scores is None and arguments.target is None and arguments.nontarget is None:
        msg = "missing SCORES"
        hint = "for example parivox metrics scores.csv"
        raise ConfigError(msg, hint)
    check_standard_input([arguments.scores, arguments.target, arguments.nontarget])
    from parivox.scoring.score_metrics import metrics  # noqa: PLC0415

    if arguments.figure is not None:
        from parivox.report.charts.variation import check_chart, save  # noqa: PLC0415

        check_chart("--figure", arguments.figure)
    computed = metrics(arguments.scores, **given_options(arguments, MetricOptions))
    if arguments.figure is not None:
        save(computed.chart(), "--figure", arguments.figure)
    with printing():
        if arguments.json:
            print_json(computed.to_json())
            return
        from parivox.report.score_metrics import print_score_metrics  # noqa: PLC0415

        print_score_metrics(computed)
