"""Audit 10 and 100 million synthetic trials: time, memory, and counts against the known truth.

    python -m benchmarks.scale [--folder DIR] [--remove] [--small]

The data stay in the folder (1.7 GB), so that a second run need not make them again; `--remove`
removes them at the end. `--small` takes a tenth of everything.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import Gate, Usage, run_child

FOLDER = Path("build/benchmarks")
SIZES = (10_000_000, 100_000_000)
THRESHOLD = 0.375
GROUPINGS = ("all", "gender", "nationality", "gender+nationality")
RATES = {"fnr": ("false_rejects", "target_trials"), "fpr": ("false_accepts", "nontarget_trials")}
LINEAR = 12.0  # ten times the trials; the rest is for a busy machine
PEAK = 1100.0  # megabytes
CURVE = 1e-4  # how far a curve metric may lie from the exact one


def trials_file(folder: Path, trials: int, *, text: bool) -> Path:
    """Return the Parquet file of so many trials, made if it is not there."""
    path = folder / f"trials-{trials}.parquet"
    files = [path, path.with_suffix(".json"), folder / "speakers.csv"]
    files += [path.with_suffix(".csv")] if text else []
    if not all(file.exists() for file in files):
        command = [sys.executable, "-m", "benchmarks.synthetic", str(folder)]
        command += ["--trials", str(trials), *(["--csv"] if text else [])]
        generation = run_child(command)
        if generation.code:
            raise RuntimeError(generation.err)
    return path


def remove(folder: Path, sizes: tuple[int, ...]) -> None:
    """Remove the files that `data` makes, and the folder if nothing else is in it."""
    for trials in sizes:
        for suffix in (".parquet", ".csv", ".json"):
            (folder / f"trials-{trials}{suffix}").unlink(missing_ok=True)
    (folder / "speakers.csv").unlink(missing_ok=True)
    if folder.exists() and not any(folder.iterdir()):
        folder.rmdir()


def audit(scores: Path, speakers: Path, out: Path) -> Usage:
    """Audit a file as a user does."""
    command = [sys.executable, "-m", "parivox", "audit", str(scores), "--speakers", str(speakers)]
    for grouping in GROUPINGS[1:]:
        command += ["--by", grouping]
    for point in (f"threshold={THRESHOLD}", "fpr=0.01"):
        command += ["--operating-point", point]
    return run_child([*command, "--out", str(out)])


def differences(written: Path, truth_file: Path) -> tuple[int, int, float | None]:
    """Compare the written counts with the truth.

    Returns
    -------
    compared : int
        Error counts compared: both errors of every group of every grouping.
    wrong : int
        How many of them differ in errors or trials, or are missing.
    distance : float or None
        How far the overall EER lies outside of the bounds known for the exact one.
    """
    truth = json.loads(truth_file.read_text(encoding="utf-8"))
    threshold_index = truth["thresholds"].index(THRESHOLD)
    written_counts = {}
    distance = None
    with written.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["allocation"] not in {"both", ""} and row["grouping"] != "all":
                continue
            if row["operating_point"] == f"threshold={THRESHOLD}":
                key = row["grouping"].lower(), row["group"], row["metric"]
                written_counts[key] = row["errors"], row["trials"]
            if row["grouping"] == "all" and row["metric"] == "eer":
                low, high = truth["between"]["eer"]
                distance = max(low - float(row["value"]), float(row["value"]) - high, 0.0)
    compared = wrong = 0
    for grouping in GROUPINGS:
        for group, counts in truth["groups"][grouping].items():
            for metric, (errors, trials) in RATES.items():
                if not counts[trials]:
                    continue
                compared += 1
                expected = str(counts[errors][threshold_index]), str(counts[trials])
                if written_counts.get((grouping, group, metric)) != expected:
                    wrong += 1
    return compared, wrong, distance


def report(folder: Path, sizes: tuple[int, ...] = SIZES) -> tuple[list[str], list[Gate]]:
    """Audit every size, the first as text too, and return a Markdown table and its gates."""
    head = "trials|format|file MB|CPU s|wall s|peak MB|counts compared|of them wrong"
    lines = [
        f"|{head}|EER outside exact bounds by|",
        "|---:|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    gates: list[Gate] = []
    cpu: dict[int, float | None] = {}
    with tempfile.TemporaryDirectory() as temporary:
        outs: dict[Path, Path] = {}
        for trials in sizes:
            path = trials_file(folder, trials, text=trials == sizes[0])
            files = [path, path.with_suffix(".csv")] if trials == sizes[0] else [path]
            for file in files:
                out = Path(temporary) / file.name
                use = audit(file, folder / "speakers.csv", out)
                name = f"{trials:,} trials, {file.suffix[1:]}"
                row = f"| {trials:,} | {file.suffix[1:]} | {file.stat().st_size / 1e6:.0f} "
                cost = f"| {use.cpu:.1f} | {use.wall:.1f} | {use.peak:.0f} "
                if use.code:
                    error_lines = use.err.strip().splitlines()[-1:] or ["no message"]
                    print(f"{name}: failed: {error_lines[0]}")  # may name a path: not for the table
                    lines.append(f"{row}{cost}| failed | | |")
                    gates.append(Gate(f"{name}: wrong counts", None, 0))
                    continue
                outs[file] = out
                compared, wrong, distance = differences(
                    out / "groups.csv", path.with_suffix(".json")
                )
                far = "missing" if distance is None else f"{distance:.1e}"
                lines.append(f"{row}{cost}| {compared} | {wrong} | {far} |")
                gates.append(Gate(f"{name}: wrong counts", wrong, 0))
                gates.append(Gate(f"{name}: EER beyond exact bounds", distance, CURVE))
                if file.suffix == ".parquet":
                    cpu[trials] = use.cpu
                    if trials == sizes[-1]:  # smaller ones may be held in memory, exactly
                        gates.append(Gate(f"{name}: peak memory", use.peak, PEAK, " MB"))
        smallest, largest = sizes[0], sizes[-1]
        small, large = cpu.get(smallest), cpu.get(largest)
        growth = None if small is None or large is None else large / small
        gates.append(Gate("CPU of ten times the trials", growth, LINEAR, "x"))
        written = [
            outs.get((folder / f"trials-{smallest}").with_suffix(s)) for s in (".parquet", ".csv")
        ]
        unlike = None
        if written[0] is not None and written[1] is not None:
            tables = [(out / "groups.csv").read_bytes() for out in written if out is not None]
            unlike = float(tables[0] != tables[1])
        gates.append(Gate("groups.csv of text and Parquet differ", unlike, 0))
    return lines, gates


def main() -> int:
    """Read the command line, measure and print; return 1 if a gate fails."""
    parser = argparse.ArgumentParser(description="Audit 10 and 100 million synthetic trials.")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--remove", action="store_true", help="remove the data at the end")
    parser.add_argument("--small", action="store_true", help="1 and 10 million trials")
    options = parser.parse_args()
    sizes = tuple(size // 10 for size in SIZES) if options.small else SIZES
    lines, gates = report(options.folder, sizes)
    print("\n".join(lines), "", *gates, sep="\n")
    if options.remove:
        remove(options.folder, sizes)
    return int(not all(gate.passed for gate in gates))


if __name__ == "__main__":
    raise SystemExit(main())
