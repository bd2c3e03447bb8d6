"""``parivox trials variants``."""

from __future__ import annotations

import argparse
from typing import Any

from parivox.cli.options import add_every_section, given_options
from parivox.cli.process import set_up
from parivox.cli.streams import print_json, printing
from parivox.options.trials import VariantsOptions

EXAMPLES = """\
examples:
  parivox trials variants scores.csv --speakers s.csv --by nationality
  parivox trials variants scores.csv --speakers s.csv --by gender --chart spread.svg --dets det.svg
"""


def add_to(commands: Any) -> None:
    """Add the command and its options."""
    command = commands.add_parser(
        "variants",
        help="how far results move when the pairs of a list are drawn anew",
        usage="parivox trials variants SCORES --by ATTRIBUTES [options]",
        description="Draw several lists from scored pairs, and tell how much the results of each "
        "group differ between them, beside how much other speakers would change them.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.set_defaults(run=_run)
    command.add_argument("scores", metavar="SCORES", help="scores of more pairs than a list needs")
    add_every_section(command, VariantsOptions)
    command.add_argument(
        "--chart", metavar="FILE", help="chart of both spreads: SVG, PNG, PDF, HTML"
    )
    command.add_argument("--dets", metavar="FILE", help="chart of the DET curves, likewise")
    command.add_argument("--json", action="store_true", help="print the tables as JSON")


def _run(given: argparse.Namespace) -> None:
    set_up()
    from parivox.report.charts.variation import check_chart, save  # noqa: PLC0415
    from parivox.report.variation import print_variation  # noqa: PLC0415 - what takes time to load
    from parivox.trials.variation import variants  # noqa: PLC0415

    for option in ("chart", "dets"):
        check_chart(f"--{option}", getattr(given, option))
    asked = given_options(given, VariantsOptions)
    if "per_speaker" in asked:
        asked["per_speaker"] = asked["per_speaker"].split(",")
    found = variants(given.scores, **asked)
    if given.chart:
        save(found.chart(), "--chart", given.chart)
    if given.dets:
        save(found.dets(), "--dets", given.dets)
    with printing():
        if given.json:
            print_json(found.to_json())
        else:
            print_variation(found)
