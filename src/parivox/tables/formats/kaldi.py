"""Kaldi's lists ``enrol test target|nontarget`` and scores ``enrol test score``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.tables.formats.lines import Lines
from parivox.tables.roles import is_label

if TYPE_CHECKING:
    from parivox.tables.formats.raw import Sample

__all__ = ["SCORES", "TRIALS"]


def _trials(sample: Sample) -> bool:
    return min(sample.shape()) >= 3 and any(is_label(fields[2]) for fields in sample.fields)


def _scores(sample: Sample) -> bool:
    # ids that are numbers as well leave it open which end the score is at
    return min(sample.shape()) >= 3 and sample.are_numbers(2) and not sample.are_numbers(0)


TRIALS = Lines("kaldi-trials", ("enrol", "test", "label"), _trials)
SCORES = Lines("kaldi-scores", ("enrol", "test", "score"), _scores)
