"""The chain on real recordings, as docs/speechocean.md tells it.

    python examples/speechocean.py [DATA [FOLDER]]

DATA holds speechocean762: its audio, `utterances.csv` and `speakers.csv`. Into FOLDER go a list of
trials (`trials.csv`) and the speakers with the band of their age (`speakers.csv`).

The list is inclusive by gender and age band: impostors are of the gender and band of whom they
claim to be. Each pair of recordings of one speaker is a target trial; of each pair of speakers of
one gender and band, ten pairs of recordings are nontarget trials.
"""

from __future__ import annotations

import csv
import random
import sys
from collections import defaultdict
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

DATA = Path(__file__).parents[2] / "shared" / "data" / "speechocean762"
BANDS = ((6, 9), (10, 15), (19, 24), (25, 43))
IMPOSTORS = 10


def band(age: int) -> str:
    """The band of an age in years.

    Examples
    --------
    >>> band(8), band(43)
    ('06-09', '25-43')
    """
    return next(f"{low:02d}-{high:02d}" for low, high in BANDS if low <= age <= high)


def write(data: Path, folder: Path) -> None:
    """Write the list and the speakers; the same each time."""
    folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(7)  # noqa: S311 - which trials there are is no secret
    people = {
        row["speaker"]: (row["gender"], band(int(row["age"])), row["age"])
        for row in _rows(data / "speakers.csv")
    }
    spoken = defaultdict(list)
    for row in _rows(data / "utterances.csv"):
        spoken[row["speaker"]].append(row["utterance"])
    speakers_alike = defaultdict(list)
    for speaker in sorted(spoken):
        speakers_alike[people[speaker][:2]].append(speaker)
    trials = [(*pair, "target") for s in sorted(spoken) for pair in combinations(spoken[s], 2)]
    for group in speakers_alike.values():
        for enrol_speaker, test_speaker in combinations(group, 2):
            utterance_pairs = [(a, b) for a in spoken[enrol_speaker] for b in spoken[test_speaker]]
            trials += [(*pair, "nontarget") for pair in draw.sample(utterance_pairs, IMPOSTORS)]
    _write(folder / "trials.csv", ("enrol", "test", "label"), trials)
    rows = [
        (speaker, gender, "child" if age_band < "19" else "adult", age_band, age)
        for speaker, (gender, age_band, age) in people.items()
    ]
    _write(folder / "speakers.csv", ("speaker", "gender", "maturity", "band", "age"), rows)
    print(f"{folder}: {len(trials):,} trials of {len(spoken)} speakers")


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _write(path: Path, header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


if __name__ == "__main__":
    paths = [Path(path) for path in sys.argv[1:]]
    source = paths[0] if paths else DATA
    if source.exists():
        write(source, paths[1] if len(paths) > 1 else Path("build/speechocean"))
    else:
        print(f"{source} is not there: name the folder that holds speechocean762")
