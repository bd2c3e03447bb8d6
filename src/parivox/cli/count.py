"""``parivox count``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from parivox.cli.options import (
    TABLES,
    add_command,
    check_out_is_named,
    check_standard_input,
    given_options,
)
from parivox.cli.process import print_lines
from parivox.options.audit import CountCommand, CountOptions, ProgressCommand

if TYPE_CHECKING:
    import argparse

EXAMPLES = """\
examples:
  parivox count day1.parquet --speakers s.csv --by gender --out day1.counts
  parivox count scores.csv --speakers s.csv --by age:18,30,60 --step 0.001 --out s.counts
  parivox audit day1.counts day2.counts
  parivox count scores.csv --speakers s.csv --by gender --step 0.01 --new-key site.key \
    --blocks 20 --out north.counts
  parivox audit north.counts north.tally south.counts south.tally
"""


def add_to(commands: Any, words: str) -> None:
    """Add the command and its options."""
    add_command(
        commands,
        "count",
        _run,
        *(CountOptions, CountCommand, ProgressCommand),
        help=words,
        usage="parivox count SCORES --out FILE [--speakers FILE] [options]",
        description="Count trials by group and score, so that others can audit them.",
        examples=EXAMPLES,
    )


def _run(given: argparse.Namespace) -> None:
    from parivox.auditing.count import count  # noqa: PLC0415
    from parivox.read.counts_file import check_both, check_out  # noqa: PLC0415

    options = given_options(given, CountOptions)
    check_out_is_named(given.out, "file")
    has_key = given.key is not None or given.new_key is not None
    (check_both if has_key else check_out)(given.out)
    name, equals, path = given.scores.partition("=")
    tables = [getattr(given, name) for name in (*TABLES, "groups")]
    check_standard_input([given.scores.rpartition("=")[2], *tables])
    # any text, even what no path can be
    is_named = equals and not os.path.exists(given.scores)  # noqa: PTH110
    source = {name: path} if is_named else given.scores
    made = count(source, **options)
    made.write(given.out)
    lines = [f"Counts are in {given.out}: {made.size()}.", *made.told_apart()]
    if made.tally is not None:
        lines += [f"A tally is in {check_both(given.out)[1]}.", made.tally.reveals]
        few = ", ".join(f"{n} of {group}" for group, n in made.tally.few().items())
        if few:
            lines.append(f"Few blocks make wide intervals: {few}; --blocks with less makes more.")
    print_lines(lines)
