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
    clips: list[str] = []
    for person in PEOPLE:
        n_days = 1 if person in SHORT else DAYS
        for day in sorted(draw.sample(range(1, 31), n_days)):
            clips += [f"{person}/day{day:02d}/{clip}.wav" for clip in range(1, CLIPS + 1)]
    return clips


def write(folder: Path) -> None:
    """Write the recordings, the people and the list."""
    clips = recordings()
    for recording in clips:
        path = folder / "recordings" / recording
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    people = [f"{name},{gender},{dialect}\n" for name, (gender, dialect) in PEOPLE.items()]
    (folder / "people.csv").write_text("speaker,gender,dialect\n" + "".join(people))
    draw = random.Random(3)  # noqa: S311
    lines: list[str] = []
    while len(lines) < 2 * PAIRS:
        enrol, impostor = draw.sample(clips, 2)
        target = draw.choice([clip for clip in clips if clip[:3] == enrol[:3] and clip != enrol])
        if impostor[:3] != enrol[:3]:
            lines += [f"1 {enrol} {target}\n", f"0 {enrol} {impostor}\n"]
    (folder / "random.txt").write_text("".join(lines))


def main(folder: Path) -> None:
    """Write everything; a list built of it must pass what the random one fails."""
    folder.mkdir(parents=True, exist_ok=True)
    write(folder)
    people, grouping = folder / "people.csv", "gender+dialect"
    check = pv.trials.check(folder / "random.txt", speakers=people, by=[grouping])
    failed = {finding.id for finding in check.findings if finding.verdict == "fail"}
    if not failed >= {"G1", "G2", "G3", "G4", "G10"}:
        sys.exit(f"the random list fails {sorted(failed)}")
    table = {"utterance": recordings()}
    built = pv.trials.build_inclusive(table, speakers=people, by=grouping, per_speaker=500, seed=1)
    if not pv.trials.check(built.lists[0], speakers=people, by=[grouping]).passed:
        sys.exit("the built list fails a check")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with TemporaryDirectory() as folder:
            main(Path(folder))
