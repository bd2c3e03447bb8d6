"""Audit a simulated bank: true rates recovered, memory, and time against few customers.

    python -m benchmarks.bank [--folder DIR] [--remove] [--small]

50 million trials of 2 million customers over five channels, each with its own threshold, 3 % of
the calls failed; and as many trials among 1,251 people. The data stay in the folder (3 GB), those
of `--small` in one of their own.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import Gate, Usage, comparison_line, run_child

FOLDER = Path("build/benchmarks/bank")
TRIALS, CUSTOMERS = 50_000_000, 2_000_000
NAMES = {
    "bank": ("2,000,000 customers, five trials a call", "customers.csv"),
    "once": ("2,000,000 customers, a call for each trial", "customers.csv"),
    "few": ("1,251 people with 120 calls each", "few.csv"),
}
PEAK = 4 * 2**30 / 1e6  # 4 GiB, in megabytes
FAR = 5.0  # standard deviations that the farthest of 122 rates may lie from the true one


def make_files(folder: Path, *, small: bool) -> None:
    """Make the files that are not there."""
    file_names = [*(f"{name}.parquet" for name in NAMES), "customers.csv", "few.csv", "truth.json"]
    if all((folder / name).exists() for name in file_names):
        return
    command = [sys.executable, "-m", "benchmarks.customers", str(folder)]
    divisor = 50 if small else 1
    command += ["--trials", str(TRIALS // divisor), "--customers", str(CUSTOMERS // divisor)]
    usage = run_child(command)
    if usage.code:
        raise RuntimeError(usage.err)


def audit(folder: Path, name: str, out: Path) -> Usage:
    """Audit one of the files as a user does."""
    command = [sys.executable, "-m", "parivox", "audit", str(folder / f"{name}.parquet")]
    command += ["--speakers", str(folder / NAMES[name][1]), "--within", "channel"]
    return run_child([*command, "--by", "gender", "--by", "gender+region", "--out", str(out)])


def farthest(written: Path, truth_file: Path) -> tuple[int, float]:
    """Rates compared with the true ones, and how many standard deviations off the farthest is."""
    truth = {
        (row["group"], row["within"], row["metric"]): row["value"]
        for row in json.loads(truth_file.read_text(encoding="utf-8"))
    }
    compared, worst = 0, 0.0
    with written.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            true = truth.get((row["group"], row["within"], row["metric"]))
            if true is None or row["operating_point"] not in {"deployed", ""}:
                continue
            if row["definition"] not in {"", "attempts"} or row["allocation"] != "both":
                continue
            deviation = math.sqrt(true * (1 - true) / int(row["trials"]))
            worst = max(worst, abs(float(row["value"]) - true) / deviation)
            compared += 1
    if compared < len(truth):
        return compared, math.inf
    return compared, worst


def report(folder: Path, *, small: bool = False) -> tuple[list[str], list[Gate]]:
    """Audit all three files, and return a Markdown table and its gates."""
    make_files(folder, small=small)
    lines = [
        "|trials of|CPU s|wall s|peak MB|rates compared|farthest, in standard deviations|",
        "|---|---:|---:|---:|---:|---:|",
    ]
    gates: list[Gate] = []
    cpu: dict[str, float] = {}
    wall: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as temporary:
        for name, (words, _) in NAMES.items():
            out = Path(temporary) / name
            use = audit(folder, name, out)
            row = f"| {words} | {use.cpu:.1f} | {use.wall:.1f} | {use.peak:.0f} "
            if use.code:
                print(f"{name}: failed: {use.err.strip().splitlines()[-1:]}")
                lines.append(f"{row}| failed | |")
                gates.append(Gate(f"bank, {words}: rates", None, FAR))
                continue
            cpu[name] = use.cpu
            wall[name] = use.wall
            if name == "few":  # their calls are no independent draws
                lines.append(f"{row}| | |")
                continue
            compared, worst = farthest(out / "groups.csv", folder / "truth.json")
            lines.append(f"{row}| {compared} | {worst:.1f} |")
            gates.append(Gate(f"bank, {words}: farthest rate", worst, FAR, " sd"))
            gates.append(Gate(f"bank, {words}: peak memory", use.peak, PEAK, " MB"))
        lines.append("")
        for name in ("bank", "once"):
            for words, took in (("CPU", cpu), ("time", wall)):
                times = took[name] / took["few"] if name in took and "few" in took else None
                comparison_name = f"Bank, {NAMES[name][0]}: {words}, of that with few people"
                lines.append(comparison_line(comparison_name, times))
    return lines, gates


def main() -> int:
    """Read the command line, measure and print; return 1 if a gate fails."""
    parser = argparse.ArgumentParser(description="Audit a simulated bank.")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--remove", action="store_true", help="remove the data at the end")
    parser.add_argument("--small", action="store_true", help="1 million trials")
    options = parser.parse_args()
    folder = options.folder / "small" if options.small else options.folder
    lines, gates = report(folder, small=options.small)
    print("\n".join(lines), "", *gates, sep="\n")
    if options.remove:
        shutil.rmtree(folder)
    return int(not all(gate.passed for gate in gates))


if __name__ == "__main__":
    raise SystemExit(main())
