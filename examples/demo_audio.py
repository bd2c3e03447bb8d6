"""Synthetic voices to try the chain on: `make demo-audio`.

    python examples/demo_audio.py FOLDER

Writes recordings of nobody: 40 voices of a source and a filter, 8 sentences of no words each, with
a table of recordings, one of speakers and a list of trials. What an audit of them says is about the
synthesiser, not about people.
"""

from __future__ import annotations

import csv
import sys
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import soundfile

from parivox.embedding.voices import RATE, draw_voice, speak

if TYPE_CHECKING:
    from collections.abc import Sequence

SPEAKERS, SENTENCES = 40, 8


def write(folder: Path) -> None:
    """Write recordings and tables; the same each time."""
    draw = np.random.default_rng(0)
    gender = {f"v{number:02d}": "fm"[number % 2] for number in range(SPEAKERS)}
    rows = []
    for number, speaker in enumerate(gender):
        voice = draw_voice(number, gender[speaker])
        (folder / "audio" / speaker).mkdir(parents=True, exist_ok=True)
        for sentence in range(SENTENCES):
            file = Path("audio") / speaker / f"{sentence}.wav"
            seconds = float(draw.uniform(2.0, 5.0))
            waveform = speak(voice, seconds, 1000 * number + sentence)
            soundfile.write(folder / file, waveform, RATE, subtype="PCM_16")
            rows.append((f"{speaker}/{sentence}", speaker, file.as_posix()))
    _table(folder / "utterances.csv", ("utterance", "speaker", "file"), rows)
    _table(folder / "speakers.csv", ("speaker", "gender"), list(gender.items()))
    # pairs of one gender: other pairs are easy, and hide what is to be seen
    trials = [
        (enrol[0], test[0], "target" if enrol[1] == test[1] else "nontarget")
        for enrol, test in combinations(rows, 2)
        if gender[enrol[1]] == gender[test[1]]
    ]
    _table(folder / "trials.csv", ("enrol", "test", "label"), trials)
    print(f"{folder}: {len(rows)} synthetic recordings of {SPEAKERS} voices that nobody has")


def _table(path: Path, header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "build/demo-audio"))
