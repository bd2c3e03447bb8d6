"""Measure what spoof trials cost: an audit of VoxCeleb1-H with 500,000 of them against without.

    python -m benchmarks.spoof [--rounds N]

Both are whole processes with intervals. They take turns, and each round has a ratio of its own, as
machines are busy; the median of these ratios is shown. Spoof trials are simulated: each claims a
speaker of the list, by one of 13 attacks.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from functools import partial
from pathlib import Path

from benchmarks.measure import Gate, Usage, comparison_line, demo_data, interleave, run_child

ROUNDS = 3
N_SPOOF, N_ATTACKS = 500_000, 13
PLAIN, SPOOFED = "without spoof trials", "with spoof trials"


def write_lists(folder: Path) -> dict[str, Path]:
    """Write both lists as CSV: of an enrolment, the first part of its path is the speaker."""
    import numpy as np
    import polars as pl

    scores, _ = demo_data()
    rows = pl.read_csv(scores)
    bona_fide = rows.select(
        enrol="ref_file",
        test="com_file",
        score="sc",
        label=pl.when(pl.col("lab") == 1).then(pl.lit("target")).otherwise(pl.lit("nontarget")),
        attack=pl.lit(""),
    )
    draw = np.random.default_rng(7)
    enrol = bona_fide["enrol"].unique(maintain_order=True)
    claimed = enrol.gather(draw.integers(0, enrol.len(), N_SPOOF))
    speaker = claimed.str.split("/").list.first()
    attack = draw.integers(0, N_ATTACKS, N_SPOOF)
    bona_fide_scores = bona_fide["score"].to_numpy()
    middle, spread = float(bona_fide_scores.mean()), float(bona_fide_scores.std())
    spoof = pl.DataFrame(
        {
            "enrol": claimed,
            "test": speaker + "/spoof/" + pl.Series([f"{i:06d}.wav" for i in range(N_SPOOF)]),
            "score": draw.normal(middle + attack / N_ATTACKS * spread, spread).round(5),
            "label": "spoof",
            "attack": pl.Series([f"A{i + 1:02d}" for i in range(N_ATTACKS)]).gather(attack),
        },
        schema_overrides={"label": pl.String},
    )
    paths = {PLAIN: folder / "plain.csv", SPOOFED: folder / "spoofed.csv"}
    bona_fide.drop("attack").write_csv(paths[PLAIN])
    pl.concat([bona_fide, spoof]).write_csv(paths[SPOOFED])
    return paths


def audit(scores: Path, out: Path) -> Usage:
    """Audit a list as a user does, with intervals."""
    _, speakers = demo_data()
    words = ["audit", str(scores), "--speakers", str(speakers), "--by", "gender"]
    words += ["--by", "nationality", "--operating-point", "fpr=0.01", "--out", str(out), "--quiet"]
    return run_child([sys.executable, "-m", "parivox", *words])


def report(rounds: int = ROUNDS) -> tuple[list[str], list[Gate]]:
    """Return Markdown lines and the gate."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        jobs = {
            name: partial(audit, path, folder / path.stem)
            for name, path in write_lists(folder).items()
        }
        uses = interleave(jobs, rounds=rounds, say=lambda line: print(line, flush=True))
    plain, spoofed = uses[PLAIN], uses[SPOOFED]
    has_all_rounds = len(plain) == len(spoofed) == rounds
    ratios = [
        with_spoof.cpu / without.cpu for without, with_spoof in zip(plain, spoofed, strict=False)
    ]
    lines = ["| round | CPU s without | with | ratio |", "|---:|---:|---:|---:|"]
    lines += [
        f"| {i} | {without.cpu:.1f} | {with_spoof.cpu:.1f} | {pair_ratio:.2f} |"
        for i, (without, with_spoof, pair_ratio) in enumerate(
            zip(plain, spoofed, ratios, strict=False), 1
        )
    ]
    name = f"CPU of an audit with {N_SPOOF:,} spoof trials, of one without, median"
    lines += ["", comparison_line(name, statistics.median(ratios) if has_all_rounds else None)]
    return lines, [Gate("rounds that failed", float(rounds - min(len(plain), len(spoofed))), 0)]


def main() -> int:
    """Measure and print; return 1 if the gate fails."""
    parser = argparse.ArgumentParser(description="Measure what spoof trials cost.")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    lines, gates = report(parser.parse_args().rounds)
    print(*lines, "", *gates, sep="\n")
    return int(not all(gate.passed for gate in gates))


if __name__ == "__main__":
    raise SystemExit(main())
