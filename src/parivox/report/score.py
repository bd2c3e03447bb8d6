"""What was scored, in words."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from parivox.errors import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parivox.scoring.run import Scored

__all__ = ["print_scored", "told"]

_STAGES = {"enrol": "enrolment", "acquire": "test"}


def print_scored(found: Scored) -> None:
    """Print it: how many trials have a score, why others have none, of whom the cohort is."""
    for line in told(found):
        sys.stdout.write(shown(line) + "\n")


def told(found: Scored) -> Iterator[str]:
    """Lines of what was scored."""
    yield f"{found.out}: {found.scored:,} of {found.trials:,} trials scored, by {found.how}."
    for (stage, status), count in found.failed.items():
        yield f"  {count:,} trials failed: {_STAGES[stage]} recording {status.replace('_', ' ')}"
    if found.failed:
        yield "  Failures have a row, too: an audit counts them for the group that they hit."
    for note in found.notes:
        yield f"  Noted: {note}."
    if found.cohort:
        yield "  Of the cohort's recordings (speakers); a cohort of one group is itself a bias:"
    for attribute, values in found.cohort.items():
        counts = ", ".join(
            f"{value} {each['recordings']:,} ({each['speakers']:,})"
            for value, each in values.items()
        )
        yield f"    {attribute}: {counts}"
