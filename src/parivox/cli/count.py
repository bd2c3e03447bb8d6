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
        CountOptions,
        CountCommand,
        ProgressCommand,
        help=words,
        usage="parivox count SCORES --out FILE [--speakers FILE] [options]",
        description="Count trials by group and score, so that others can audit the counts.",
        examples=EXAMPLES,
    )


def _run(arguments: argparse.Namespace) -> None:
    from parivox.auditing import count  # noqa: PLC0415
    from parivox.data.counts_file import check_both_counts, check_output  # noqa: PLC0415
    from parivox.data.site_key import counting_log_path  # noqa: PLC0415
    from parivox.report.catalogue import fact_text, full_sentences  # noqa: PLC0415

    options = given_options(arguments, CountOptions)
    check_out_is_named(arguments.out, "file")
    key = arguments.key if arguments.new_key is None else arguments.new_key
    if key is None:
        check_output(arguments.out)
    else:
        _check_keeps_key(check_both_counts(arguments.out), key)
    name, equals, path = arguments.scores.partition("=")
    tables = [getattr(arguments, name) for name in (*TABLES, "groups")]
    check_standard_input([arguments.scores.rpartition("=")[2], *tables])
    # any text, even what no path can be
    is_named = equals and not os.path.exists(arguments.scores)  # noqa: PTH110
    source = {name: path} if is_named else arguments.scores
    counts = count(source, **options)
    try:
        counts.save(arguments.out)
    except BaseException:
        if arguments.new_key is not None:  # nothing was counted with it
            for file in (Path(arguments.new_key), counting_log_path(arguments.new_key)):
                file.unlink(missing_ok=True)
        raise
    size = fact_text(counts.size())
    report_lines = [f"Counts are in {arguments.out}: {size}.", *counts.told_apart()]
    if counts.speaker_counts is not None:
        report_lines += [
            f"The speaker counts are in {check_both_counts(arguments.out)[1]}.",
            *full_sentences(counts.speaker_counts.disclosures()),
        ]
    print_lines(report_lines)


def _check_keeps_key(files: Sequence[str | os.PathLike[str]], key: str) -> None:
    """Refuse counts and speaker counts that would take the place of the key, or of its record."""
    from parivox.data.site_key import counting_log_path  # noqa: PLC0415

    key_paths = {os.path.realpath(key), os.path.realpath(counting_log_path(key))}
    for file in files:
        if os.path.realpath(file) in key_paths:
            msg = f"--out: {file} is the key file, or the record of what was counted with the key"
            hint = "name another file"
            raise ConfigError(msg, hint)
