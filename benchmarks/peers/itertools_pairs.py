"""Draw pairs as Algorithm 1 of paper 002 is written: list them all with itertools, draw from that.

Usage: python -m benchmarks.peers.itertools_pairs UTTERANCES SPEAKERS same|different N

Reading is not timed. ``different`` lists the pairs of a few utterances only, and says how many of
how many that are.
"""

from __future__ import annotations

import csv
import json
import random
import sys
import time
from itertools import combinations, product

PART = 20  # utterances of which all different-speaker pairs are listed


def main(utterances: str, speakers: str, which: str, n: str) -> None:
    """Read both tables, list pairs, draw from them, and print what it took."""
    with open(speakers, encoding="utf-8", newline="") as file:  # noqa: PTH123
        gender = {row["id"]: row["gender"] for row in csv.DictReader(file)}
    of_speaker: dict[str, list[str]] = {}
    with open(utterances, encoding="utf-8", newline="") as file:  # noqa: PTH123
        for row in csv.DictReader(file):
            of_speaker.setdefault(row["utterance"].partition("/")[0], []).append(row["utterance"])
    draw = random.Random(1)  # noqa: S311 - a draw of pairs
    if which == "same":
        start = time.process_time()
        found = [pair for own in of_speaker.values() for pair in same(own, int(n), draw)]
        print(json.dumps({"cpu": time.process_time() - start, "drawn": len(found)}))
        return
    every = {speaker: len(own) for speaker, own in of_speaker.items()}
    total = {sex: sum(every[s] for s in every if gender[s] == sex) for sex in gender.values()}
    whole = sum(size * (total[gender[speaker]] - size) for speaker, size in every.items())
    first = next(iter(of_speaker))
    others = [
        utterance
        for speaker, own in of_speaker.items()
        if speaker != first and gender[speaker] == gender[first]
        for utterance in own
    ]
    start = time.process_time()
    pairs = list(product(of_speaker[first][:PART], others))
    draw.sample(pairs, int(n))
    used = time.process_time() - start
    print(json.dumps({"cpu": used, "listed": len(pairs), "all": whole}))


def same(own: list[str], n: int, draw: random.Random) -> list[tuple[str, str]]:
    """N pairs of two recordings, of all of them."""
    pairs = [
        (one, other)
        for one, other in combinations(own, 2)
        if one.rpartition("/")[0] != other.rpartition("/")[0]
    ]
    return draw.sample(pairs, n)


if __name__ == "__main__":
    main(*sys.argv[1:])
