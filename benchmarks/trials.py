"""Check, grade and build trial lists of millions: time and memory against reading and enumerating.

    python -m benchmarks.trials [--folder DIR] [--rounds N] [--small]

A list of 10 million trials in VoxCeleb's format is read, checked and graded. From the table of
its 150,120 utterances of 1,251 speakers lists are built. Each job is a whole process; all take
turns. Drawing pairs is timed inside its process, once the utterances are read, beside a peer that
lists them with itertools as Algorithm 1 of paper 002 is written and draws from that.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.measure import (
    Gate,
    Usage,
    comparison_line,
    interleave,
    least_cpu,
    ratio,
    run_child,
)
from benchmarks.scale import PEAK, trials_file

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FOLDER = Path("build/benchmarks")
TRIALS = 10_000_000
PER_SPEAKER = 500
GROUPS = 100
ROUNDS = 3
SAME_FACTOR, DIFFERENT_FACTOR = (
    10,
    1_000,
)  # times faster than enumerating pairs of one and of two speakers
READ, CHECK, GRADE = "read", "check", "grade"
INCLUSIVE, CROSS, DRAW = "build inclusive", "build cross", "draw"
SAME_PEER, DIFFERENT_PEER = "itertools, same speaker", "itertools, different speakers"
JOBS = {
    READ: "the list and the speakers, by Parivox's own reader: the unit",
    CHECK: "every guideline, by gender and nationality",
    GRADE: "the grade of each trial, written as Parquet",
    INCLUSIVE: f"{PER_SPEAKER} pairs of either class for each speaker, by gender, and its check",
    DRAW: "the pairs of that list in memory; read beforehand",
    CROSS: f"10 million nontarget trials over {GROUPS} groups",
    SAME_PEER: f"lists all same-speaker pairs, keeps {PER_SPEAKER} of two recordings each",
    DIFFERENT_PEER: "lists the different-speaker pairs of one gender of a few utterances",
}


def inputs(folder: Path, trials: int) -> tuple[Path, Path, Path]:
    """The list, the speakers and the utterances, made if they are not there."""
    paths = folder / f"list-{trials}.txt", folder / "people.csv", folder / "utterances.csv"
    if not all(path.exists() for path in paths):
        scores = trials_file(folder, trials, text=False)
        generation = run_child(
            [sys.executable, "-m", "benchmarks.trials", "--make", str(scores), str(folder)]
        )
        if generation.code:
            raise RuntimeError(generation.err)
    return paths


def make(scores: Path, folder: Path) -> None:
    """Write the list of a file of scores, and tables of its speakers and utterances."""
    import polars as pl
    from benchmarks.synthetic import speaker_table, utterance_ids

    import parivox as pv

    trials = int(scores.stem.partition("-")[2])
    people = speaker_table().with_row_index("place")
    region = pl.concat_str(pl.lit("R"), (pl.col("place") % GROUPS).cast(pl.String))
    people.select("id", "gender", "nationality", region.alias("region")).write_csv(
        folder / "people.csv"
    )
    pl.DataFrame({"utterance": utterance_ids()}).write_csv(folder / "utterances.csv")
    pv.trials.convert(scores, folder / f"list-{trials}.txt", to="voxceleb")


def job(name: str, words: list[str], out: Path) -> None:
    """Do one of the jobs, in a process of its own."""
    import parivox as pv
    from parivox.cli.process import set_up_process

    set_up_process()
    list_, people, utterances, trials = words
    options: dict[str, Any] = {"speakers": people}
    if name == READ:
        from parivox.data.lists.trial_list import read_list

        read_list(list_, **options, by=["gender", "nationality"])
    elif name == CHECK:
        pv.trials.check(list_, **options, by=["gender", "nationality"])
    elif name == GRADE:
        pv.trials.grade(list_, **options, grade_by=["gender", "nationality"], out=out / "g.parquet")
    elif name == INCLUSIVE:
        pv.trials.build_inclusive(
            utterances, **options, by="gender", per_speaker=PER_SPEAKER, seed=1, out=out / "lists"
        )
    elif name == DRAW:
        draw(utterances, people)
    elif name == CROSS:
        pv.trials.build_cross(
            utterances, **options, by="region", trials=int(trials), seed=1, out=out / "lists"
        )


def draw(utterances: str, people: str) -> None:
    """Draw the same-speaker pairs alone, then a whole list, and print what either took."""
    import numpy as np

    from parivox.options.trials import InclusiveOptions
    from parivox.trials.inclusive import design
    from parivox.trials.pairs import RandomStreams, target_pairs
    from parivox.trials.pool import Pool

    pool = Pool.read(utterances, people, by="gender")
    start = time.process_time()
    pairs = target_pairs(pool.utterance_starts, pool.recording_ends, 3)
    per_speaker = np.full(len(pool.speaker_ids), PER_SPEAKER)
    pairs.utterances_at(
        RandomStreams(1).distinct_numbers(
            pairs.count_by_speaker(pool.utterance_starts), per_speaker
        )
    )
    same_seconds = time.process_time() - start
    start = time.process_time()
    options = InclusiveOptions(by="gender", per_speaker=PER_SPEAKER)
    trials = sum(len(block.enrol) for block in design(pool, options).draw(RandomStreams(1)))
    print(
        json.dumps({"same": same_seconds, "whole": time.process_time() - start, "trials": trials})
    )


def child(name: str, words: list[str]) -> Usage:
    """Run one of the jobs."""
    with tempfile.TemporaryDirectory() as out:
        return run_child([sys.executable, "-m", "benchmarks.trials", "--job", name, *words, out])


def report(folder: Path, *, rounds: int, small: bool = False) -> tuple[list[str], list[Gate]]:
    """Run every job, and return a Markdown table and its gates."""
    folder.mkdir(parents=True, exist_ok=True)
    trials = TRIALS // 100 if small else TRIALS
    list_, people, utterances = inputs(folder, trials)
    words = [str(list_), str(people), str(utterances), str(trials)]
    peer = [sys.executable, "-m", "benchmarks.peers.itertools_pairs", str(utterances), str(people)]
    jobs: dict[str, Callable[[], Usage]] = {
        name: partial(child, name, words) for name in (READ, CHECK, GRADE, INCLUSIVE, DRAW, CROSS)
    }
    jobs[SAME_PEER] = partial(run_child, [*peer, "same", str(PER_SPEAKER)])
    jobs[DIFFERENT_PEER] = partial(run_child, [*peer, "different", str(PER_SPEAKER)])
    uses = interleave(jobs, rounds=rounds, say=lambda line: print(line, flush=True))
    cpu = {name: least_cpu(runs) for name, runs in uses.items()}
    drawn = {figure: least_figure(uses[DRAW], figure) for figure in ("same", "whole")}
    listed = least_figure(uses[SAME_PEER], "cpu")
    pair_seconds = ratio(
        least_figure(uses[DIFFERENT_PEER], "cpu"), least_figure(uses[DIFFERENT_PEER], "listed")
    )
    list_seconds = (
        None
        if pair_seconds is None
        else pair_seconds * (least_figure(uses[DIFFERENT_PEER], "all") or 0)
    )
    lines = ["|job|what it does|CPU s, least|peak MB|", "|---|---|---:|---:|"]
    for name, runs in uses.items():
        most = peak(runs)
        cells = "failed |" if most is None else f"{cpu[name]:.2f} | {most:.0f}"
        lines.append(f"| {name} | {JOBS[name]} | {cells} |")
    if None not in {listed, list_seconds, *drawn.values()}:
        lines += [
            "",
            (
                f"CPU s without reading: same-speaker pairs {drawn['same']:.3f} drawn, "
                f"{listed:.2f} listed; the whole list {drawn['whole']:.3f} drawn, "
                f"different-speaker pairs of one gender {list_seconds:,.0f} listed, estimated from "
                "the part that the peer lists."
            ),
        ]
    lines += ["", *(f"* {line}" for line in _reading_comparisons(cpu))]
    gates = [
        Gate(f"peak memory to {name}", peak(uses[name]), PEAK, " MB")
        for name in (CHECK, GRADE, INCLUSIVE, CROSS)
    ]
    gates += [
        Gate("draw same-speaker pairs / list them", ratio(drawn["same"], listed), 1 / SAME_FACTOR),
        Gate(
            "draw a list / list different-speaker pairs",
            ratio(drawn["whole"], list_seconds),
            1 / DIFFERENT_FACTOR,
        ),
    ]
    return lines, gates


def _reading_comparisons(cpu: Mapping[str, float | None]) -> list[str]:
    """Return how checking and grading compare with reading."""
    return [
        comparison_line(f"CPU to {name} a list, of that to read it", ratio(cpu[name], cpu[READ]))
        for name in (CHECK, GRADE)
    ]


def peak(runs: list[Usage]) -> float | None:
    """Largest memory of the runs that succeeded, in megabytes."""
    return max((use.peak for use in runs if not use.code), default=None)


def least_figure(runs: list[Usage], figure: str) -> float | None:
    """The least of a number that the runs print."""
    return min((json.loads(use.out)[figure] for use in runs if not use.code), default=None)


def main() -> int:
    """Measure and print; return 1 if a gate fails."""
    if sys.argv[1:2] == ["--make"]:
        make(*map(Path, sys.argv[2:]))
        return 0
    if sys.argv[1:2] == ["--job"]:
        name, *words, out = sys.argv[2:]
        job(name, words, Path(out))
        return 0
    parser = argparse.ArgumentParser(description="Measure trial lists.")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--small", action="store_true", help="a hundredth of the trials")
    options = parser.parse_args()
    lines, gates = report(options.folder, rounds=options.rounds, small=options.small)
    print("\n".join(lines), "", *gates, sep="\n")
    return int(not all(gate.passed for gate in gates))


if __name__ == "__main__":
    raise SystemExit(main())
