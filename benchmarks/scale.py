"""Audit 10 and 100 million synthetic trials, and 4 million of many speakers.

Time, memory, and counts against the known truth.

    python -m benchmarks.scale [--folder DIR] [--remove] [--small]

The data stay in the folder (1.7 GB), so that a second run need not make them again; `--remove`
removes them at the end. `--small` takes a tenth of the trials.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import Gate, Usage, comparison_line, run_child
from benchmarks.synthetic import SPEAKERS

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = Path("build/benchmarks")
SIZES = (10_000_000, 100_000_000)
MANY_SPEAKERS, MANY_SPEAKERS_TRIALS = 4_000, 4_000_000  # millions of pairs of speakers
THRESHOLD = 0.375
GROUPINGS = ("all", "gender", "nationality", "gender+nationality")
RATES = {"fnr": ("false_rejects", "target_trials"), "fpr": ("false_accepts", "nontarget_trials")}
PEAK = 1100.0  # megabytes
CURVE = 1e-4  # how far a curve metric may lie from the exact one


def speakers_file(folder: Path, n_speakers: int = SPEAKERS) -> Path:
    """Return the path of the table of so many speakers."""
    return folder / ("speakers.csv" if n_speakers == SPEAKERS else f"speakers-of-{n_speakers}.csv")


def trials_file(folder: Path, trials: int, *, text: bool, n_speakers: int = SPEAKERS) -> Path:
    """Return the Parquet file of so many trials, made if it is not there."""
    name = f"trials-{trials}" + ("" if n_speakers == SPEAKERS else f"-of-{n_speakers}")
    path = folder / f"{name}.parquet"
    files = [path, path.with_suffix(".json"), speakers_file(folder, n_speakers)]
    files += [path.with_suffix(".csv")] if text else []
    if not all(file.exists() for file in files):
        command = [sys.executable, "-m", "benchmarks.synthetic", str(folder)]
        command += ["--trials", str(trials), "--speakers", str(n_speakers)]
        generation = run_child([*command, *(["--csv"] if text else [])])
        if generation.code:
            raise RuntimeError(generation.err)
    return path


def remove(folder: Path, sizes: tuple[int, ...], many_speakers_trials: int) -> None:
    """Remove the files that `trials_file` makes, and the folder if nothing else is in it."""
    names = [f"trials-{trials}" for trials in sizes]
    for name in [*names, f"trials-{many_speakers_trials}-of-{MANY_SPEAKERS}"]:
        for suffix in (".parquet", ".csv", ".json"):
            (folder / f"{name}{suffix}").unlink(missing_ok=True)
    for n_speakers in (SPEAKERS, MANY_SPEAKERS):
        speakers_file(folder, n_speakers).unlink(missing_ok=True)
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


def report(
    folder: Path,
    sizes: tuple[int, ...] = SIZES,
    many_speakers_trials: int = MANY_SPEAKERS_TRIALS,
) -> tuple[list[str], list[Gate]]:
    """Audit every list, the first as text too, and return a Markdown table and its gates."""
    head = "trials|speakers|format|file MB|CPU s|wall s|peak MB|counts compared|of them wrong"
    lines = [
        f"|{head}|EER outside exact bounds by|",
        "|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    gates: list[Gate] = []
    usages: dict[Path, Usage] = {}
    lists = [(trials, SPEAKERS) for trials in sizes] + [(many_speakers_trials, MANY_SPEAKERS)]
    with tempfile.TemporaryDirectory() as temporary:
        outs: dict[Path, Path] = {}
        files_of_lists = []
        for trials, n_speakers in lists:
            has_text = (trials, n_speakers) == lists[0]
            path = trials_file(folder, trials, text=has_text, n_speakers=n_speakers)
            files_of_lists.append(path)
            for file in [path, path.with_suffix(".csv")] if has_text else [path]:
                out = Path(temporary) / file.name
                use = audit(file, speakers_file(folder, n_speakers), out)
                name = f"{trials:,} trials of {n_speakers:,} speakers, {file.suffix[1:]}"
                row = f"| {trials:,} | {n_speakers:,} | {file.suffix[1:]} "
                row += f"| {file.stat().st_size / 1e6:.0f} "
                cost = f"| {use.cpu:.1f} | {use.wall:.1f} | {use.peak:.0f} "
                if use.code:
                    error_lines = use.err.strip().splitlines()[-1:] or ["no message"]
                    print(f"{name}: failed: {error_lines[0]}")  # may name a path: not for the table
                    lines.append(f"{row}{cost}| failed | | |")
                    gates.append(Gate(f"{name}: wrong counts", None, 0))
                    continue
                usages[file], outs[file] = use, out
                compared, wrong, distance = differences(
                    out / "groups.csv", path.with_suffix(".json")
                )
                far = "missing" if distance is None else f"{distance:.1e}"
                lines.append(f"{row}{cost}| {compared} | {wrong} | {far} |")
                gates.append(Gate(f"{name}: wrong counts", wrong, 0))
                gates.append(Gate(f"{name}: EER beyond exact bounds", distance, CURVE))
                # of smaller lists, which may be held in memory, the peak has no limit
                if file.suffix == ".parquet" and trials == sizes[-1]:
                    gates.append(Gate(f"{name}: peak memory", use.peak, PEAK, " MB"))
        small_file, *_, large_file, many_speakers_file = files_of_lists
        lines.append("")
        for name, file in (
            ("CPU of ten times the trials", large_file),
            ("CPU of fewer trials of many speakers", many_speakers_file),
        ):
            lines.append(comparison_line(name, _cpu_ratio(usages, file, small_file)))
        text_file = small_file.with_suffix(".csv")
        unlike = None
        if small_file in outs and text_file in outs:
            tables = [(outs[file] / "groups.csv").read_bytes() for file in (small_file, text_file)]
            unlike = float(tables[0] != tables[1])
        gates.append(Gate("groups.csv of text and Parquet differ", unlike, 0))
    return lines, gates


def _cpu_ratio(usages: Mapping[Path, Usage], file: Path, other_file: Path) -> float | None:
    """Return how many times the CPU time of another list one takes; None if either failed."""
    if file not in usages or other_file not in usages:
        return None
    return usages[file].cpu / usages[other_file].cpu


def main() -> int:
    """Read the command line, measure and print; return 1 if a gate fails."""
    parser = argparse.ArgumentParser(description="Audit 10 and 100 million synthetic trials.")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--remove", action="store_true", help="remove the data at the end")
    parser.add_argument("--small", action="store_true", help="1 and 10 million trials, and 400,000")
    options = parser.parse_args()
    sizes = tuple(size // 10 for size in SIZES) if options.small else SIZES
    many_speakers_trials = MANY_SPEAKERS_TRIALS // (10 if options.small else 1)
    lines, gates = report(options.folder, sizes, many_speakers_trials)
    print("\n".join(lines), "", *gates, sep="\n")
    if options.remove:
        remove(options.folder, sizes, many_speakers_trials)
    return int(not all(gate.passed for gate in gates))


if __name__ == "__main__":
    raise SystemExit(main())
