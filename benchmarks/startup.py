"""Measure how long `import parivox` and `parivox --help` take, against Python alone.

python -m benchmarks.startup
"""

from __future__ import annotations

import statistics
import sys
from functools import partial

from benchmarks.measure import Gate, Usage, interleave, run_child

ROUNDS = 15
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "import parivox": [sys.executable, "-c", "import parivox"],
    "parivox --help": [sys.executable, "-m", "parivox", "--help"],
}
BUDGETS = {"import parivox": 200.0, "parivox --help": 400.0}  # milliseconds, of the whole process


def median_ms(uses: list[Usage], field: str) -> float | None:
    """Return the median of a field in milliseconds; none where the command failed."""
    good = [getattr(use, field) for use in uses if not use.code]
    return 1000 * statistics.median(good) if good else None


def report(rounds: int = ROUNDS) -> tuple[list[str], list[Gate]]:
    """Run the commands and return a Markdown table and its gates."""
    jobs = {name: partial(run_child, command) for name, command in COMMANDS.items()}
    run_child(COMMANDS["parivox --help"])  # compiles the modules, once
    uses = interleave(jobs, rounds=rounds, say=lambda _: None)
    wall = {name: median_ms(runs, "wall") for name, runs in uses.items()}
    cpu = {name: median_ms(runs, "cpu") for name, runs in uses.items()}
    bare = wall["python -c pass"]
    lines = [
        f"Whole processes, median of {rounds} rounds.",
        "",
        "| command | wall ms | CPU ms | wall, times Python alone | budget ms |",
        "|---|---:|---:|---:|---:|",
    ]
    for name in COMMANDS:
        spent, used = wall[name], cpu[name]
        budget = f"{BUDGETS[name]:.0f}" if name in BUDGETS else ""
        if spent is None or used is None or bare is None:
            lines.append(f"| `{name}` | failed | | | {budget} |")
        else:
            times = f"{spent / bare:.1f}"
            lines.append(f"| `{name}` | {spent:.0f} | {used:.0f} | {times} | {budget} |")
    gates = [Gate(f"{name}, wall", wall[name], limit, " ms") for name, limit in BUDGETS.items()]
    return lines, gates


def main() -> int:
    """Print the table and the gates; return 1 if one fails."""
    lines, gates = report()
    print("\n".join(lines), "", *gates, sep="\n")
    return int(not all(gate.passed for gate in gates))


if __name__ == "__main__":
    raise SystemExit(main())
