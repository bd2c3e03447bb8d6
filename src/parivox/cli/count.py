"""``parivox count``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parivox.cli.options import (
    TABLES,
    add_command,
    check_out_is_named,
    check_standard_input,
    given_options,
)
from parivox.cli.process import print_lines
from parivox.errors import ConfigError
from parivox.options.audit import CountCommand, CountOptions, ProgressCommand

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

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
    from parivox.auditing import count  # noqa: PLC0415
    from parivox.data.counts_file import check_both, check_out  # noqa: PLC0415
    from parivox.data.site_key import record_beside  # noqa: PLC0415

    options = given_options(given, CountOptions)
    check_out_is_named(given.out, "file")
    key = given.key if given.new_key is None else given.new_key
    if key is None:
        check_out(given.out)
    else:
        _check_apart(check_both(given.out), key)
    name, equals, path = given.scores.partition("=")
    tables = [getattr(given, name) for name in (*TABLES, "groups")]
    check_standard_input([given.scores.rpartition("=")[2], *tables])
    # any text, even what no path can be
    is_named = equals and not os.path.exists(given.scores)  # noqa: PTH110
    source = {name: path} if is_named else given.scores
    made = count(source, **options)
    try:
        made.write(given.out)
    except BaseException:
        if given.new_key is not None:  # nothing was counted with it
            for file in (Path(given.new_key), record_beside(given.new_key)):
                file.unlink(missing_ok=True)
        raise
    lines = [f"Counts are in {given.out}: {made.size()}.", *made.told_apart()]
    if made.tally is not None:
        lines += [f"A tally is in {check_both(given.out)[1]}.", made.tally.reveals]
        few = ", ".join(f"{n} of {group}" for group, n in made.tally.groups_of_few_blocks().items())
        if few:
            lines.append(f"Few blocks make wide intervals: {few}; --blocks with less makes more.")
    print_lines(lines)


def _check_apart(files: Sequence[str | os.PathLike[str]], key: str) -> None:
    """Refuse counts and a tally that would take the place of the key, or of its record."""
    from parivox.data.site_key import record_beside  # noqa: PLC0415

    kept = {os.path.realpath(key), os.path.realpath(record_beside(key))}
    for file in files:
        if os.path.realpath(file) in kept:
            msg = (
                f"--out: {file} is the key or the record of what was counted with it; name another"
            )
            raise ConfigError(msg)
