"""VoxCeleb's lists ``label enrol test`` and their scores ``score enrol test``, without a header."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.tables.formats.lines import Lines

if TYPE_CHECKING:
    from parivox.tables.formats.raw import Sample

__all__ = ["SCORES", "TRIALS"]


def _trials(sample: Sample) -> bool:
    first = {fields[0] for fields in sample.fields}
    last_is_text = not sample.are_numbers(2)
    return min(sample.shape()) >= 3 and first <= {"0", "1", "-1"} and last_is_text


def _scores(sample: Sample) -> bool:
    return min(sample.shape()) >= 3 and sample.are_numbers(0) and not sample.are_numbers(2)


TRIALS = Lines("voxceleb-trials", ("label", "enrol", "test"), _trials)
SCORES = Lines("voxceleb-scores", ("score", "enrol", "test"), _scores)
