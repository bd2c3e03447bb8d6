"""Measure computing alone: trials are already read, nothing is written.

    python -m benchmarks.compute

The unit is one `np.argsort` of all scores, in the same process: any exact method must order them.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import TYPE_CHECKING, Any

from benchmarks.measure import Gate, demo_data

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LIMIT = 12.0
ROUNDS = 5
GROUPINGS = ["gender", "nationality", "gender+nationality"]
OPERATING_POINTS = ["fpr=0.01", "min-cdet"]


def read(scores: Path, speakers: Path) -> tuple[Any, Any]:
    """Read the score file and the speaker table; this is not measured."""
    from parivox.data.speakers import read_speakers
    from parivox.data.trials import read_trials

    people = read_speakers(speakers)
    return read_trials(scores, system="V2", list_="", speakers=people), people


def compute_from_trials(trials: Any, speakers: Any) -> object:
    """Compute the point audit from trials in memory: every group, metric and measure."""
    import numpy as np

    from parivox.auditing.inputs import AuditDesign
    from parivox.auditing.options import Options
    from parivox.auditing.schema import TABLES, TableBuilder
    from parivox.auditing.system import measure_system, metrics_by_grouping
    from parivox.auditing.system_rows import add_rows
    from parivox.data.requested_groupings import make_groupings

    options = Options(
        by=tuple(GROUPINGS), operating_points=tuple(OPERATING_POINTS), intervals=False
    )
    used = np.unique(trials.utterance_speaker)
    groupings = make_groupings(speakers, options.by, speakers_in_use=used)
    rows = {name: TableBuilder(columns) for name, columns in TABLES.items()}
    design = AuditDesign(groupings=groupings, options=options, metrics={})
    system = measure_system(trials, design)
    add_rows(system, ((metrics, None) for metrics in metrics_by_grouping(system)), rows)
    return {name: block.table() for name, block in rows.items()}


def cpu_seconds(job: Callable[[], object]) -> float:
    """Return the CPU seconds that a call takes, all threads together."""
    start = time.process_time()
    job()
    return time.process_time() - start


def measure(rounds: int = ROUNDS) -> dict[str, float]:
    """Return the least CPU seconds of computing and of sorting, over interleaved rounds."""
    import numpy as np  # here, since the runner imports this module and must stay small

    trials, speakers = read(*demo_data())
    (partition,) = trials.partitions()
    scores = np.ascontiguousarray(partition.score)
    # Trials come in the order of their ids, and so do these scores: nothing is sorted beforehand.
    computing, sorting = [], []
    for _ in range(rounds):
        sorting.append(cpu_seconds(lambda: np.argsort(scores)))
        computing.append(cpu_seconds(lambda: compute_from_trials(trials, speakers)))
    return {"compute": min(computing), "argsort": min(sorting), "trials": float(scores.size)}


def report(seconds: dict[str, float] | None) -> tuple[list[str], list[Gate]]:
    """Return Markdown lines and the gate, from what `measure` returned or none."""
    name = "computing in memory, times one np.argsort of all scores"
    if seconds is None:
        return ["Not measured."], [Gate(name, None, LIMIT)]
    times = seconds["compute"] / seconds["argsort"]
    lines = [
        f"* trials in memory: {seconds['trials']:,.0f}",
        f"* all groups and metrics: {seconds['compute']:.3f} CPU s",
        f"* one `np.argsort` of the scores: {seconds['argsort']:.3f} CPU s",
        f"* ratio: {times:.1f}",
    ]
    return lines, [Gate(name, times, LIMIT)]


def main() -> int:
    """Measure and print, as JSON for the runner if asked; return 1 if the gate fails."""
    parser = argparse.ArgumentParser(description="Measure computing alone.")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    seconds = measure(options.rounds)
    if options.json:
        print(json.dumps(seconds))
        return 0
    lines, gates = report(seconds)
    print("\n".join(lines), "", *gates, sep="\n")
    return int(not all(gate.passed for gate in gates))


if __name__ == "__main__":
    raise SystemExit(main())
