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

LISTED_UTTERANCES = 20  # utterances of which all different-speaker pairs are listed


def main(utterances: str, speakers: str, pair_kind: str, n: str) -> None:
    """Read both tables, list pairs, draw from them, and print what it took."""
    with open(speakers, encoding="utf-8", newline="") as file:  # noqa: PTH123
        gender = {row["id"]: row["gender"] for row in csv.DictReader(file)}
    of_speaker: dict[str, list[str]] = {}
    with open(utterances, encoding="utf-8", newline="") as file:  # noqa: PTH123
        for row in csv.DictReader(file):
            of_speaker.setdefault(row["utterance"].partition("/")[0], []).append(row["utterance"])
    draw = random.Random(1)  # noqa: S311 - a draw of pairs
    if pair_kind == "same":
        start = time.process_time()
        drawn_pairs = [
            pair
            for recordings in of_speaker.values()
            for pair in same_speaker(recordings, int(n), draw)
        ]
        print(json.dumps({"cpu": time.process_time() - start, "drawn": len(drawn_pairs)}))
        return
    sizes = {speaker: len(recordings) for speaker, recordings in of_speaker.items()}
    total = {sex: sum(sizes[s] for s in sizes if gender[s] == sex) for sex in gender.values()}
    n_pairs = sum(size * (total[gender[speaker]] - size) for speaker, size in sizes.items())
    first_speaker = next(iter(of_speaker))
    other_recordings = [
        utterance
        for speaker, recordings in of_speaker.items()
        if speaker != first_speaker and gender[speaker] == gender[first_speaker]
        for utterance in recordings
    ]
    start = time.process_time()
    pairs = list(product(of_speaker[first_speaker][:LISTED_UTTERANCES], other_recordings))
    draw.sample(pairs, int(n))
    used = time.process_time() - start
    print(json.dumps({"cpu": used, "listed": len(pairs), "all": n_pairs}))


def same_speaker(recordings: list[str], n: int, draw: random.Random) -> list[tuple[str, str]]:
    """N pairs of two recordings, of all of them."""
    pairs = [
        (enrol, test)
        for enrol, test in combinations(recordings, 2)
        if enrol.rpartition("/")[0] != test.rpartition("/")[0]
    ]
    return draw.sample(pairs, n)


if __name__ == "__main__":
    main(*sys.argv[1:])
