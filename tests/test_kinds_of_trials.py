"""Only `data` and `share` ask whether trials are rows, counts, in memory or in blocks.

Above them a table of trials is asked for what a reader needs: the lower edges of its scores, the
unit of each speaker, all rows at once. It has it or not, whatever it is.
"""

import re
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src" / "parivox"
ROOMS_THAT_MAY_ASK = {"data", "share"}
QUESTIONS = [
    r"isinstance\([^()]+, \(?[^()]*(TrialSet|TrialCounts|SpeakerCounts|Participants|Recordings)\b",
    r"\bhas_speakers\b",
    r"\bfits_in_memory\b",
    r"\bn_partitions\b",
    r"\.(are_blocks|has_speaker_blocks)\b",
    r"\b(speaker|unit|draw|curve)_block is (not )?None\b",
    r"\b(merged_counts|shard_sum) is (not )?None\b",
    r"\b(callable|getattr|hasattr)\((trials|counts|rows|errors_source|curves_source)\b",
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_no_other_room_asks(question):
    files = list(SRC.rglob("*.py"))
    asking = [
        str(path.relative_to(SRC))
        for path in files
        if path.relative_to(SRC).parts[0] not in ROOMS_THAT_MAY_ASK
        and re.search(question, path.read_text(encoding="utf-8"))
    ]
    assert asking == []
