"""The watch list and the smart speaker of docs/tutorials/operator.md: searches of identification.

    python examples/watchlist.py FOLDER

Writes made-up files: candidate lists of searches against a watch list, and the decisions of a smart
speaker in one household.
"""

from __future__ import annotations

import csv
import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

N_LISTED, N_STRANGERS = 60, 90
"""Enrolled persons, and speakers of non-mated searches."""
DIMENSIONS = 8
"""Numbers that describe a voice."""
LIST_LENGTH = 5
"""Candidates of a search."""
HOUSEHOLD = {"ada": 0.95, "bo": 0.92, "cai": 0.9, "dee": 0.75, "eli": 0.8, "fay": 0.7}
"""Persons of the household, and how often each is recognised: adults, then children."""
N_REQUESTS, N_GUEST_REQUESTS = 30, 40


def write(folder: Path) -> None:
    """Write the watch list, its searches and speakers, and the household with its decisions."""
    draw = random.Random(11)  # noqa: S311 - made-up voices, not secrets
    names = [f"P{i:03}" for i in range(N_LISTED + N_STRANGERS)]
    language = {name: draw.choice(("en", "en", "tr")) for name in names}
    listed = names[:N_LISTED]
    voice = {name: [draw.gauss(0, 1) for _ in range(DIMENSIONS)] for name in names}
    for name in names:
        if language[name] == "tr":  # whose voices the system tells apart less well
            voice[name] = [0.65 * number for number in voice[name]]
    candidates: list[Sequence[object]] = []
    for i, name in enumerate(name for name in names for _ in range(4)):
        probe = [number + draw.gauss(0, 0.45) for number in voice[name]]
        scores = {
            person: 6 - sum((a - b) ** 2 for a, b in zip(probe, voice[person], strict=True)) ** 0.5
            for person in listed
        }
        ranked = sorted(scores, key=lambda person: (-round(scores[person], 2), person))
        for rank, person in enumerate(ranked[:LIST_LENGTH], 1):
            candidates.append((f"s{i:04}", name, rank, person, round(scores[person], 2)))
    decisions: list[Sequence[object]] = []
    requests = [name for name in HOUSEHOLD for _ in range(N_REQUESTS)] + [
        "guest"
    ] * N_GUEST_REQUESTS
    draw.shuffle(requests)
    for i, name in enumerate(requests):
        predicted = "unknown"
        if name == "guest":
            predicted = draw.choice(tuple(HOUSEHOLD)) if draw.random() < 0.1 else predicted
        elif draw.random() < HOUSEHOLD[name]:
            predicted = name
        elif draw.random() < 0.5:
            predicted = draw.choice([person for person in HOUSEHOLD if person != name])
        decisions.append((f"r{i:04}.wav", name, predicted))
    folder.mkdir(parents=True, exist_ok=True)
    search_columns = ("search", "probe_speaker", "rank", "candidate", "score")
    write_table(folder / "candidates.csv", search_columns, candidates)
    write_table(folder / "watchlist.csv", ("person",), ((name,) for name in listed))
    write_table(folder / "people.csv", ("speaker", "language"), language.items())
    decision_columns = ("file", "true_speaker", "predicted_speaker")
    write_table(folder / "decisions.csv", decision_columns, decisions)
    ages = (
        (name, "adult" if i < len(HOUSEHOLD) // 2 else "child") for i, name in enumerate(HOUSEHOLD)
    )
    write_table(folder / "household.csv", ("person", "age_group"), ages)


def write_table(file: Path, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table as CSV."""
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(rows)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
