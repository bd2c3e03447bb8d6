"""``parivox trials variants``."""

from __future__ import annotations

import argparse
from typing import Any

from parivox.cli.options import mapping_of
from parivox.cli.process import set_up
from parivox.cli.streams import print_json, printing

__all__ = ["add_to"]

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
    command.add_argument("--by", metavar="ATTRIBUTES", required=True, help="groups of speakers")
    command.add_argument("--speakers", metavar="FILE", help="table of speakers")
    command.add_argument("--utterances", metavar="FILE", help="table of recordings")
    command.add_argument(
        "--per-speaker",
        metavar="N,...",
        default="25,50,75",
        help="pairs of either class for each speaker (default: 25,50,75)",
    )
    for name, default, words in (
        ("--variants", "5", "lists for each number of pairs"),
        ("--seed", "0", "what they are drawn with"),
        ("--replicates", "200", "draws of speakers for each list"),
    ):
        command.add_argument(
            name, metavar="N", default=default, help=f"{words} (default: {default})"
        )
    command.add_argument(
        "--cost", metavar="COST", default="voxsrc", help="cost model (default: voxsrc)"
    )
    command.add_argument(
        "--columns", metavar="ROLES", help="enrol=ref_file,test=com_file,score=sc,label=lab"
    )
    command.add_argument("--id", metavar="COLUMN", help="id column of the speaker table")
    command.add_argument("--distance", action="store_true", help="scores are distances")
    command.add_argument(
        "--chart", metavar="FILE", help="chart of both spreads: SVG, PNG, PDF, HTML"
    )
    command.add_argument("--dets", metavar="FILE", help="chart of the DET curves, likewise")
    command.add_argument("--json", action="store_true", help="print the tables as JSON")


def _run(given: argparse.Namespace) -> None:
    set_up()
    from parivox.report.variation import print_variation  # noqa: PLC0415 - what takes time to load
    from parivox.trials.variation import variants  # noqa: PLC0415
    from parivox.trials.variation_charts import check_chart, save  # noqa: PLC0415

    for option in ("chart", "dets"):
        check_chart(f"--{option}", getattr(given, option))
    found = variants(
        given.scores,
        by=given.by,
        speakers=given.speakers,
        utterances=given.utterances,
        per_speaker=given.per_speaker.split(","),
        variants=given.variants,
        seed=given.seed,
        replicates=given.replicates,
        cost=given.cost,
        columns=mapping_of(given.columns),
        id=given.id,
        orientation="distance" if given.distance else None,
    )
    if given.chart:
        save(found.chart(), "--chart", given.chart)
    if given.dets:
        save(found.dets(), "--dets", given.dets)
    with printing():
        if given.json:
            print_json(found.to_json())
        else:
            print_variation(found)
