"""Audit 10 million synthetic trials in parts: what a part and their merging cost, beside one piece.

python -m benchmarks.parts [--folder DIR] [--trials N] [--parts N]
python -m benchmarks.parts --workers --trials 60000000  # one worker beside two, in turns; minutes
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from benchmarks import scale
from benchmarks.measure import Gate, Usage, comparison_line, run_child

from parivox.runtime.workers import ONE_THREAD

TRIALS, N_SHARDS = 10_000_000, 8
PEAK = 1000.0  # megabytes of one part
LEAN_PASSES = 2.2  # CPU of either pass over a part
LEAN = """
import sys, numpy as np, polars as pl
trials, rows, speakers, *groupings = sys.argv[1:]
frame = pl.scan_parquet(trials).slice(0, int(rows)).collect()
ids = pl.concat([frame["enrol"], frame["test"].alias("enrol")])
hashed = ids.hash().to_numpy()
slot = (hashed >> np.uint64(64 - hashed.size.bit_length())).view(np.int64)
of_slot = np.empty(1 << hashed.size.bit_length(), dtype=np.int32)
of_slot[slot] = np.arange(slot.size, dtype=np.int32)
row = of_slot.take(slot)
used = np.flatnonzero(row == np.arange(row.size, dtype=np.int32))
named = ids.gather(used).str.split("/").list.first().to_frame("id")
people = pl.read_csv(speakers).with_row_index("speaker")
people = named.join(people, on="id", how="left", maintain_order="left")
of_row = np.zeros(row.size, dtype=np.int32)
of_row[used] = np.arange(used.size, dtype=np.int32)
enrol, test = np.split(of_row.take(row), 2)
speaker = people["speaker"].fill_null(0).to_numpy()
target = frame["label"].to_numpy() == 1
assert (target != (speaker.take(enrol) == speaker.take(test))).mean() < 0.2
score = frame["score"].to_numpy().astype(np.float64)
low, high = score.min(), score.max()
code = ((score - low) * (65535 / (high - low))).astype(np.int64) * 2 + target
np.bincount(code, minlength=131072)
for grouping in groupings:
    names = people.select(pl.concat_str(grouping.split("+"), separator="+")).to_series()
    group = names.cast(pl.Categorical).to_physical().fill_null(0).to_numpy().astype(np.int64)
    of_enrol, of_test = group.take(enrol), group.take(test)
    rows = np.flatnonzero(of_enrol == of_test)
    np.bincount(of_enrol[rows] * 131072 + code[rows])
"""
"""Read, number and count the rows of a part, and nothing else."""
ADD_UP = """
import sys, time
from pathlib import Path
from parivox.cli.process import set_up_process
set_up_process()  # as of a command
from parivox.auditing.counts.merging import read_counts_files
run = Path(sys.argv[1])
counts, tallies = (sorted(run.glob(f"*-of-*/trials.{suffix}")) for suffix in ("counts", "tally"))
def took(*files):
    start = time.process_time()
    read_counts_files([(None, path) for path in files])
    return time.process_time() - start
total = run / "trials.counts"
print(min(took(*counts) + took(total, *tallies) - took(total) for _ in range(3)))
"""
"""Read and add up the counts and the tallies of all parts: CPU s of that alone, at the least."""


def _parivox(*words: str) -> Usage:
    return run_child([sys.executable, "-m", "parivox", *words, "--quiet"])


def report(
    folder: Path, trials: int = TRIALS, n_shards: int = N_SHARDS
) -> tuple[list[str], list[Gate]]:
    """Plan, run every part, merge; return a Markdown table and its gates."""
    path = scale.trials_file(folder, trials, text=False)
    speakers = folder / "speakers.csv"
    rows: list[tuple[str, Usage]] = []
    with tempfile.TemporaryDirectory() as temporary:
        run, out = Path(temporary) / "run", Path(temporary) / "audit"
        audit_options = [word for grouping in scale.GROUPINGS[1:] for word in ("--by", grouping)]
        for point in (f"threshold={scale.THRESHOLD}", "fpr=0.01"):
            audit_options += ["--operating-point", point]
        words = [str(path), str(trials // n_shards), str(speakers), *scale.GROUPINGS[1:]]
        lean_runs = [run_child([sys.executable, "-c", LEAN, *words]) for _ in range(n_shards)]
        rows.append(("lean pass over a part, on average", _mean(lean_runs)))
        audit = scale.audit(path, speakers, Path(temporary) / "whole")
        rows.append(("audit in one piece", audit))
        plan = ["shards", "plan", str(path), "--speakers", str(speakers), *audit_options]
        rows.append(("plan", _parivox(*plan, "--shards", str(n_shards), "--out", str(run))))
        for count_kind in ("counts", "tally"):
            shard_runs = [
                _parivox("shards", "run", str(run), "--shard", f"{i}/{n_shards}")
                for i in range(1, n_shards + 1)
            ]
            rows.append((f"{count_kind} of one part, on average", _mean(shard_runs)))
            merged = _parivox("shards", "merge", str(run), "--out", str(out))
            rows.append(("thresholds" if count_kind == "counts" else "merge and audit", merged))
        added = run_child([sys.executable, "-c", ADD_UP, str(run)])
        added = replace(added, cpu=float(added.out or "nan"))
        rows.append(("of that and thresholds: adding up", added))
        wrong, truth = None, path.with_suffix(".json")
        duplicates = json.loads(truth.read_text(encoding="utf-8"))["exact_duplicates"]
        if (out / "groups.csv").exists():
            _, wrong, _ = scale.differences(out / "groups.csv", truth)
    lean = rows[0][1]
    lines = ["| step | CPU s | lean passes | peak MB |", "|---|---:|---:|---:|"]
    lines += [
        f"| {name} | {use.cpu:.1f} | {use.cpu / max(lean.cpu, 1e-9):.1f} | {use.peak:.0f} |"
        for name, use in rows
    ]
    passes = {name: use for name, use in rows if "one part" in name}
    peak = max(use.peak for use in passes.values())
    pass_cpu = n_shards * sum(use.cpu for use in passes.values())
    adding_share = added.cpu / pass_cpu if pass_cpu else None
    lines += [
        "",
        comparison_line("CPU of adding up all parts, of that of their passes", adding_share),
    ]
    step_gates = [
        Gate(f"{name}: lean passes", use.cpu / max(lean.cpu, 1e-9), LEAN_PASSES)
        for name, use in passes.items()
    ]
    return lines, [
        # a trial that stands in two parts counts twice, in a cell of each grouping
        Gate(
            f"{trials:,} trials in {n_shards} parts: wrong counts",
            wrong,
            duplicates * len(scale.GROUPINGS),
        ),
        *step_gates,
        Gate("peak memory of a part", peak, PEAK, " MB"),
    ]


def workers(
    folder: Path, trials: int, n_shards: int, rounds: int = 2
) -> tuple[list[str], list[Gate]]:
    """Time of both passes by one worker of one thread and by two, on a machine that is idle."""
    path = scale.trials_file(folder, trials, text=False)
    took: dict[int, list[float]] = {1: [], 2: []}
    with tempfile.TemporaryDirectory() as temporary:
        planned, run = Path(temporary) / "plan", Path(temporary) / "run"
        audit_options = ("--by", "gender", "--by", "nationality", "--operating-point", "fpr=0.01")
        plan = (
            "shards",
            "plan",
            str(path),
            "--speakers",
            str(folder / "speakers.csv"),
            *audit_options,
        )
        _parivox(*plan, "--shards", str(n_shards), "--out", str(planned))
        os.environ |= ONE_THREAD
        for count in sorted(took) * rounds:
            shutil.copytree(planned, run)
            took[count].append(_parivox("shards", "run", str(run), "--workers", str(count)).wall)
            shutil.rmtree(run)
    lines = ["| workers | s |", "|---:|---:|"]
    lines += [
        f"| {n} | {', '.join(f'{duration:.1f}' for duration in durations)} |"
        for n, durations in took.items()
    ]
    lines += ["", comparison_line("Time of two workers, of one", min(took[2]) / min(took[1]))]
    return lines, []


def _mean(usages: list[Usage]) -> Usage:
    """One part: its time on average, its memory at most."""
    n = len(usages)
    return replace(
        usages[0],
        cpu=sum(usage.cpu for usage in usages) / n,
        wall=sum(usage.wall for usage in usages) / n,
        peak=max(usage.peak for usage in usages),
    )


def main() -> int:
    """Read the command line, measure and print; return 1 if a gate fails."""
    parser = argparse.ArgumentParser(description="Audit synthetic trials in parts.")
    parser.add_argument("--folder", type=Path, default=scale.FOLDER)
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--parts", type=int, default=N_SHARDS)
    parser.add_argument("--workers", action="store_true", help="time of one and of two, idle")
    options = parser.parse_args()
    measured = workers if options.workers else report
    lines, gates = measured(options.folder, options.trials, options.parts)
    print("\n".join(lines), "", *gates, sep="\n")
    return int(not all(gate.passed for gate in gates))


if __name__ == "__main__":
    raise SystemExit(main())
