"""Measure the counting of all pairs against the bare product of their vectors.

python -m benchmarks.all_pairs [--recordings N] [--write]

In one process, of one thread if OPENBLAS_NUM_THREADS=1: the product of every two vectors in tiles,
in double precision, and nothing done with it; then all pairs counted by group, and tallied by
speaker, at three thresholds; in turns, of which the least is told. Of fewer recordings counts in
bins are compared with those of each pair by itself.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from benchmarks.measure import Gate, machine

import parivox as pv
from parivox.data.score_bins import Bins
from parivox.scoring.all_pairs import ByCell, Edges, Recordings, add_all_pairs, is_turned
from parivox.scoring.comparison import Scorer
from parivox.scoring.vectors import COMPARISONS, Vectors

if TYPE_CHECKING:
    from collections.abc import Callable

RESULTS_PAGE = Path(__file__).with_name("ALL_PAIRS.md")
RECORDINGS, SIZE, SPEAKERS, GROUPS = 45_000, 192, 1_251, 56
COMPARED = 20_001
ROUNDS = 3
THRESHOLDS = (0.1, 0.2, 0.3)
STEP = "0.0005"


def simulated(n: int) -> tuple[Vectors, pl.DataFrame]:
    """Vectors of so many recordings of all speakers, and who these are."""
    draw = np.random.default_rng(0)
    speaker_numbers = np.sort(draw.integers(0, SPEAKERS, n))
    embeddings = draw.standard_normal((SPEAKERS, SIZE), dtype=np.float32)[speaker_numbers]
    embeddings += 1.2 * draw.standard_normal((n, SIZE), dtype=np.float32)
    ids = pl.Series(
        [f"id{speaker:05d}/{i:06d}" for i, speaker in enumerate(speaker_numbers.tolist())]
    )
    status = pl.repeat("ok", n, eager=True)
    vectors = Vectors(
        "vectors", ids, embeddings[:, None], np.arange(n), status, None, "cosine", {"n": n}
    )
    groups = draw.integers(0, GROUPS, SPEAKERS)
    people = {"id": [f"id{i:05d}" for i in range(SPEAKERS)], "nation": [f"n{g}" for g in groups]}
    return vectors, pl.DataFrame(people)


def product(embeddings: Any) -> int:
    """Scores of all pairs, in tiles, and nothing done with them; how many there are."""
    unit = embeddings[:, 0].astype(np.float64)
    tile, done = 1024, 0
    for start in range(0, len(unit), tile):
        for column_start in range(start, len(unit), tile):
            done += (unit[start : start + tile] @ unit[column_start : column_start + tile].T).size
    return done


def differences(n: int) -> tuple[int, int]:
    """Counts that are not those of each pair by itself, without a matrix; and pairs."""
    vectors, people = simulated(n)
    prepared = COMPARISONS["cosine"].prepare(vectors.values.astype(np.float64)).astype(np.float32)
    group = people["nation"].rank("dense").to_numpy().astype(np.int64) - 1
    speaker_numbers = vectors.ids.str.slice(2, 5).cast(pl.Int64).to_numpy()
    scorer, cell = Scorer(prepared, COMPARISONS["cosine"]), group[speaker_numbers]
    edges, recordings = Edges(Bins(STEP), scorer.limits), Recordings(speaker_numbers, cell)
    counted = ByCell(recordings, edges)
    pairs = [*add_all_pairs(scorer, recordings, edges, [counted])][-1]
    counts, exact = np.zeros_like(counted.counts), prepared.astype(np.float64)
    for i in range(n - 1):
        score = np.einsum("ij,j->i", exact[i + 1 :], exact[i])
        bin_index = np.searchsorted(edges.values, score, side="right") - 1
        is_same = speaker_numbers[i + 1 :] == speaker_numbers[i]
        turned = ~is_same & is_turned(
            np.full(is_same.size, speaker_numbers[i]), speaker_numbers[i + 1 :]
        )
        enrol = np.where(turned, cell[i + 1 :], cell[i])
        test = np.where(turned, cell[i], cell[i + 1 :])
        np.add.at(counts, (is_same.astype(np.int64), enrol, test, bin_index), 1)
    return int(np.abs(counts - counted.counts).sum()), pairs


def peak() -> float:
    """Largest memory of this process so far, in megabytes."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6 * 1024


def report(n: int) -> tuple[list[str], list[Gate]]:
    """Count all pairs, and return a Markdown table and its gates."""
    vectors, people = simulated(n)
    pairs = n * (n - 1) // 2

    def timed(job: Callable[[], Any]) -> tuple[Any, float]:
        begun = time.process_time()
        outcome = job()
        return outcome, time.process_time() - begun

    options: dict[str, Any] = {"speakers": people, "by": "nation"}
    bare = once = memory = np.inf
    for _ in range(ROUNDS):
        done, took = timed(lambda: product(vectors.values))
        bare = min(bare, took * pairs / done)  # which takes those on the diagonal twice
        run, took = timed(lambda: pv.score_all_pairs(vectors, thresholds=THRESHOLDS, **options))
        once = min(once, took)
        memory = min(memory, peak())  # of the first: what others leave behind stays
        assert run.counts.n_trials == run.speaker_counts.n_trials == pairs
    wrong, compared = differences(min(COMPARED, n))
    summary = f"{n:,} recordings of {SIZE} dimensions, {SPEAKERS:,} speakers in {GROUPS} groups"
    rate = f"{pairs / once / 1e6:.0f}"
    figures = f"{once:.1f} | {once / bare:.2f} | {rate} | {memory:.0f}"
    lines = [
        f"{summary}; {pairs:,} pairs, one thread. CPU is the least of {ROUNDS} rounds.",
        "",
        "| what | CPU s | of the product | million pairs per CPU s | peak MB |",
        "|---|---:|---:|---:|---:|",
        f"| bare product | {bare:.1f} | 1 | {pairs / bare / 1e6:.0f} | |",
        f"| counts and tally at three thresholds | {figures} |",
        "",
        f"Of {compared:,} pairs, {wrong} are counted elsewhere than each by itself.",
    ]
    gates = [
        Gate("CPU of all pairs at three thresholds, of the product", once / bare, 2.2),
        Gate("peak memory of that", memory, 512, " MB"),
        Gate("pairs that are counted elsewhere", wrong, 0),
    ]
    return lines, gates


def main() -> None:
    """Measure; end with an error if a gate is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recordings", type=int, default=RECORDINGS)
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS_PAGE.name}")
    options = parser.parse_args()
    lines, gates = report(options.recordings)
    text = [*lines, "", *(f"* {gate}" for gate in gates)]
    print("\n".join(text))
    if options.write:
        head = ["# All pairs", "", "Written by `python -m benchmarks.all_pairs --write`.", ""]
        RESULTS_PAGE.write_text("\n".join([*head, machine(), "", *text, ""]), encoding="utf-8")
    raise SystemExit(not all(gate.passed for gate in gates))


if __name__ == "__main__":
    main()
