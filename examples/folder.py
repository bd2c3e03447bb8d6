"""The folder of docs/trials.md: recordings of 52 people by day, and a table of the people.

    python examples/folder.py FOLDER

Writes made-up people and empty recordings, and a list as it is often drawn: pairs at random.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import parivox as pv

DAYS, CLIPS = 8, 5
GROUPS = [(gender, dialect) for gender in "fm" for dialect in ("coast", "hills")]
PEOPLE = {f"p{i:02d}": GROUPS[i % 4] for i in range(1, 53)}
SHORT = ("p05", "p23")
"""People who came on one day only."""
PAIRS = 5_000


def recordings() -> list[str]:
    """Person, day and clip of every recording."""
    draw = random.Random(2)  # noqa: S311 - made-up days, not secrets
    return [
        f"{person}/day{day:02d}/{clip}.wav"
        for person in PEOPLE
        for day in sorted(draw.sample(range(1, 31), 1 if person in SHORT else DAYS))
        for clip in range(1, CLIPS + 1)
    ]


def write(folder: Path) -> None:
    """Write the recordings, the people and the list."""
    every = recordings()
    for recording in every:
        path = folder / "recordings" / recording
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    people = [f"{name},{gender},{dialect}\n" for name, (gender, dialect) in PEOPLE.items()]
    (folder / "people.csv").write_text("speaker,gender,dialect\n" + "".join(people))
    draw = random.Random(3)  # noqa: S311
    lines: list[str] = []
    while len(lines) < 2 * PAIRS:
        one, other = draw.sample(every, 2)
        own = draw.choice([found for found in every if found[:3] == one[:3] and found != one])
        if other[:3] != one[:3]:
            lines += [f"1 {one} {own}\n", f"0 {one} {other}\n"]
    (folder / "random.txt").write_text("".join(lines))


def main(folder: Path) -> None:
    """Write everything; a list built of it must pass what the random one fails."""
    folder.mkdir(parents=True, exist_ok=True)
    write(folder)
    people, by = folder / "people.csv", "gender+dialect"
    found = pv.trials.check(folder / "random.txt", speakers=people, by=[by])
    failed = {one.id for one in found.findings if one.verdict == "fail"}
    if not failed >= {"G1", "G2", "G3", "G4", "G10"}:
        sys.exit(f"the random list fails {sorted(failed)}")
    table = {"utterance": recordings()}
    built = pv.trials.build_inclusive(table, speakers=people, by=by, per_speaker=500, seed=1)
    if not pv.trials.check(built.lists[0], speakers=people, by=[by]).passed:
        sys.exit("the built list fails a check")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with TemporaryDirectory() as folder:
            main(Path(folder))
