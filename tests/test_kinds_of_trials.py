"""Code above `data` asks ever less whether trials are rows, counts, in memory or in blocks.

The aim is that nothing but `data` and `share` asks: one weighted table of trials, whose facts (the
lower edges of its scores, the unit of each utterance) say what a reader needs.
"""

import re
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src" / "parivox"
ROOMS_THAT_MAY_ASK = {"data", "share"}
MOST_QUESTIONS = {
    r"isinstance\([^()]+, (TrialSet|TrialCounts|SpeakerCounts|_SpeakersAndRecordings)\)": 14,
    r"\.has_speakers\b": 24,
    r"\.fits_in_memory\b": 9,
    r"\.(are_blocks|has_speaker_blocks)\b": 26,
    r"\b(speaker|unit|draw|curve)_block is (not )?None\b": 18,
    r"\bmerged_counts\b": 14,
}
"""Questions as patterns, with how often they are asked: these numbers may only fall."""


def n_questions(pattern):
    """How often a question is asked outside the rooms that may ask it."""
    files = (path for path in SRC.rglob("*.py"))
    return sum(
        len(re.findall(pattern, path.read_text(encoding="utf-8")))
        for path in files
        if path.relative_to(SRC).parts[0] not in ROOMS_THAT_MAY_ASK
    )


@pytest.mark.parametrize("pattern", MOST_QUESTIONS)
def test_a_question_is_asked_no_more_often(pattern):
    assert n_questions(pattern) == MOST_QUESTIONS[pattern], "record it here if it fell"
