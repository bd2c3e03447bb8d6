"""Measure the bootstrap over speakers: trials are in memory, nothing is written.

    python -m benchmarks.bootstrap

Every job is a child process, which reads the trials first and tells the CPU seconds of what comes
after. Ours makes all replicates; the loop with scikit-learn makes a few, whose time is multiplied.
It keeps its weights and values, and ours must find the same from the same weights.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import tracemalloc
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.compute import GROUPINGS, read
from benchmarks.measure import Gate, Usage, demo_data, interleave, ratio, run_child

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from parivox.auditing.layout import Layout
    from parivox.data.grouping import Grouping
    from parivox.data.trial_set import TrialSet

    Array = NDArray[Any]
    Figures = dict[str, NDArray[np.float64]]

REPLICATES = 1000
OF_PEER = 3
ROUNDS = 3
BINS = 4096
EXACT = 1e-9  # largest difference from the peer's values, scores not binned
BINNED = 1e-3  # largest difference of an EER that binning may make
MEMORY = 1074  # MB: 1 GiB
LIMITS = {"fixed": 200, "again": 25}  # ours takes at most this part of the peer's CPU
DESCRIPTIONS = {
    "fixed": "FPR, FNR and cost at two fixed thresholds",
    "again": "EER, smallest cost, and rates and cost at two thresholds found again",
}
SHORT = {"fixed": "fixed thresholds", "again": "thresholds found again"}


class Trials:
    """The trials, their groups, and everything of them that the point audit counts as well."""

    def __init__(self) -> None:
        import numpy as np

        from parivox.auditing.cell_counts import count_cells
        from parivox.auditing.layout import Layout
        from parivox.core.costs import min_cdet, parse_cost
        from parivox.core.rates import threshold_at_fpr
        from parivox.data.requested_groupings import make_groupings

        self.trials: TrialSet
        self.trials, self.people = read(*demo_data())
        used = np.unique(self.trials.utterance_speaker)
        self.groupings: list[Grouping] = make_groupings(
            self.people, GROUPINGS, speakers_in_use=used
        )
        self.layouts: list[Layout] = [Layout(None, "", None)]
        self.layouts += [Layout(grouping, "both", None) for grouping in self.groupings]
        self.cost = parse_cost("voxsrc")
        everything = count_cells(self.trials, self.groupings, ("both",)).all_counts
        self.thresholds = [
            float(threshold_at_fpr(everything.curve, 0.01)),
            float(min_cdet(everything, cost=self.cost).threshold),
        ]

    @property
    def names(self) -> list[str]:
        """All, then every group."""
        return ["all", *(group for grouping in self.groupings for group in grouping.groups)]

    def draw(self, replicates: int) -> Array:
        """How often each speaker is drawn, within gender and nationality."""
        from parivox.core.resampling import pool_small_strata, speaker_weights

        strata = self.groupings[-1].speaker_codes
        assert strata is not None
        return speaker_weights(pool_small_strata(strata), replicates, seed=5)

    def fixed(self, weights: Array) -> Figures:
        """Rates at fixed thresholds, `[replicate, group, point, fpr and fnr]`, and costs."""
        import numpy as np

        from parivox.auditing.layout import place_trials
        from parivox.auditing.operating_points import LocatedPoint, OperatingPoint
        from parivox.auditing.speaker_errors import count_speaker_errors
        from parivox.core.resampling import weighted
        from parivox.data.units import Units

        points = [
            LocatedPoint(
                OperatingPoint(str(threshold), "threshold", threshold),
                threshold,
                np.nan,
                np.nan,
                np.nan,
                "",
            )
            for threshold in self.thresholds
        ]
        blocks = place_trials(self.trials, self.layouts)
        rates = []
        everyone = Units.of_utterances(self.trials.utterance_speaker, None)
        for cells, _ in count_speaker_errors(self.trials, self.layouts, blocks, points, everyone):
            sums = [
                weighted(cluster_errors, weights)
                for cluster_errors in (cells.nontarget, cells.target)
            ]
            with np.errstate(invalid="ignore"):  # of cells whose speakers were not drawn
                rates.append(np.stack([errors / trials for errors, trials in sums], axis=-1))
        rates_by_group = np.concatenate(rates, axis=2).swapaxes(1, 2)
        return {"rates": rates_by_group, "cost": self._cost(rates_by_group)}

    def again(self, weights: Array, bins: int | None = BINS) -> Figures:
        """What each replicate's own curves say, bins or exact scores."""
        import numpy as np

        from parivox.auditing.layout import place_trials
        from parivox.core.costs import min_cdet
        from parivox.core.counts import Counts
        from parivox.core.eer import eer
        from parivox.core.rates import threshold_at_fpr
        from parivox.core.resampled_curves import ResampledCurves, curve_edges

        (placed,) = place_trials(self.trials, self.layouts)
        all_trials, speaker = placed.trials, self.trials.utterance_speaker
        edges = None
        if bins is not None:
            edges = curve_edges(Counts.from_scores(all_trials.score, all_trials.target), bins=bins)
        layouts = [
            (placed_cells.cells, layout.n_cells_per_stratum)
            for layout, placed_cells in zip(
                self.layouts, placed.cells_by_layout.values(), strict=True
            )
        ]
        sides = speaker[all_trials.enrol], speaker[all_trials.test]
        curves = ResampledCurves(all_trials.score, all_trials.target, *sides, layouts, edges)
        n = len(weights), len(self.names)
        rates, curve_figures = np.empty((*n, 2, 2)), np.empty((*n, 2))
        for replicate_rows, cell_counts in curves.replicates(weights):
            everything = cell_counts[0][0]
            thresholds = np.stack(
                [
                    threshold_at_fpr(everything.curve, 0.01),
                    min_cdet(everything, cost=self.cost).threshold,
                ],
                axis=-1,
            )
            for i, counts in enumerate(counts for cells in cell_counts for counts in cells):
                point_rates = counts.at(thresholds)
                rates[replicate_rows, i, :, 0], rates[replicate_rows, i, :, 1] = (
                    point_rates.fpr,
                    point_rates.fnr,
                )
                curve_figures[replicate_rows, i, 0] = eer(counts)
                curve_figures[replicate_rows, i, 1] = min_cdet(counts, cost=self.cost).value
        figures = {"rates": rates, "cost": self._cost(rates)}
        return {**figures, "eer": curve_figures[..., 0], "min_cdet": curve_figures[..., 1]}

    def _cost(self, rates: Array) -> Array:
        return rates[..., 1] + self.cost.beta * rates[..., 0]

    def compare(self, job: str, path: Path) -> dict[str, float]:
        """The largest differences from the peer's values, from the peer's weights."""
        import numpy as np

        peer = np.load(path)
        row_by_speaker = {name: i for i, name in enumerate(peer["speakers"].tolist())}
        weights = peer["weights"][:, [row_by_speaker[name] for name in self.people.ids]]
        self.thresholds = peer["thresholds"].tolist()
        order = [self.names.index(name) for name in peer["groups"].tolist()]

        def off(figures: Figures, names: list[str]) -> float:
            differences = [np.abs(figures[name][:, order] - peer[name]) for name in names]
            for distances, name in zip(differences, names, strict=True):
                assert np.array_equal(np.isnan(distances), np.isnan(peer[name])), name
            return max(float(np.nanmax(distances)) for distances in differences)

        if job == "fixed":
            return {"exact": off(self.fixed(weights), ["rates", "cost"])}
        exact = off(self.again(weights, None), ["rates", "cost", "eer", "min_cdet"])
        return {"exact": exact, "binned": off(self.again(weights), ["eer"])}


def child(job: str, replicates: int, peer: Path | None, *, trace: bool) -> dict[str, float]:
    """Do one job on trials in memory, and tell what it took or how far it is off a peer."""
    trials = Trials()
    if peer is not None:
        return trials.compare(job, peer)
    if trace:
        tracemalloc.start()
    start = time.process_time()
    do: dict[str, Callable[[Array], Figures]] = {"fixed": trials.fixed, "again": trials.again}
    do[job](trials.draw(replicates))
    return {"cpu": time.process_time() - start, "peak": tracemalloc.get_traced_memory()[1] / 1e6}


def measure(rounds: int, replicates: int) -> tuple[dict[str, list[Usage]], dict[str, Usage]]:
    """Run all jobs, and once more each of ours for its memory and against the peer's values."""
    ours = [sys.executable, "-m", "benchmarks.bootstrap", "--replicates", str(replicates), "--job"]
    peer = [sys.executable, "-m", "benchmarks.peers.sklearn_bootstrap"]
    data_files = [str(path) for path in demo_data()]
    with tempfile.TemporaryDirectory() as folder:
        peer_files = {job: str(Path(folder) / f"{job}.npz") for job in LIMITS}
        jobs: dict[str, Callable[[], Usage]] = {}
        for job in LIMITS:
            jobs[job] = partial(run_child, [*ours, job])
            theirs = [*peer, job, *data_files, str(OF_PEER), peer_files[job]]
            jobs[f"sklearn {job}"] = partial(run_child, theirs)
        uses = interleave(jobs, rounds=rounds, say=lambda line: print(line, flush=True))
        again = {f"{job} traced": run_child([*ours, job, "--trace"]) for job in LIMITS}
        again |= {
            f"{job} compared": run_child([*ours, job, "--peer", peer_files[job]]) for job in LIMITS
        }
    return uses, again


def figures_of(use: Usage) -> dict[str, float]:
    """What a child says; nothing if it failed."""
    return {} if use.code else dict(json.loads(use.out))


def report(rounds: int = ROUNDS, replicates: int = REPLICATES) -> tuple[list[str], list[Gate]]:
    """Return Markdown lines and the gates."""
    uses, once = measure(rounds, replicates)
    cpu = {
        name: min((figures["cpu"] for figures in map(figures_of, runs) if figures), default=None)
        for name, runs in uses.items()
    }
    setting = f"{replicates:,} replicates of 31 groups and all trials, which are in memory; "
    lines = [
        f"{setting}the loop made {OF_PEER}, and its CPU is multiplied.",
        "",
        "|what|by|CPU s|peak MB above the counts|times parivox|",
        "|---|---|---:|---:|---:|",
    ]
    gates = []
    for job, limit in LIMITS.items():
        ours, loop_cpu = cpu[job], cpu[f"sklearn {job}"]
        theirs = None if loop_cpu is None else loop_cpu * replicates
        peak = figures_of(once[f"{job} traced"]).get("peak")
        off = figures_of(once[f"{job} compared"])
        for contender, seconds, memory in (
            ("parivox", ours, peak),
            ("scikit-learn loop", theirs, None),
        ):
            times = ratio(seconds, ours)
            cells = [
                "failed" if seconds is None else f"{seconds:.2f}",
                "" if memory is None else f"{memory:.0f}",
                "" if times is None else f"{times:.0f}",
            ]
            lines.append(f"| {DESCRIPTIONS[job]} | {contender} | {' | '.join(cells)} |")
        name = f"bootstrap, {SHORT[job]}"
        gates += [
            Gate(f"{name}: CPU of parivox / CPU of the loop", ratio(ours, theirs), 1 / limit),
            Gate(f"{name}: peak memory above the counts", peak, MEMORY, " MB"),
            Gate(f"{name}: distance from the loop's values", off.get("exact"), EXACT),
        ]
        if job == "again":
            gate_name = f"{name}: distance of an EER in {BINS:,} bins from the loop's"
            gates.append(Gate(gate_name, off.get("binned"), BINNED))
    return lines, gates


def main() -> int:
    """Measure and print; return 1 if a gate fails. With `--job`, be one child."""
    parser = argparse.ArgumentParser(description="Measure the bootstrap over speakers.")
    parser.add_argument("--job", choices=[*LIMITS])
    parser.add_argument("--peer", type=Path, help="values of the peer to compare with")
    parser.add_argument("--trace", action="store_true", help="measure memory, which takes time")
    parser.add_argument("--replicates", type=int, default=REPLICATES)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    if options.job:
        print(json.dumps(child(options.job, options.replicates, options.peer, trace=options.trace)))
        return 0
    lines, gates = report(options.rounds, options.replicates)
    print(*lines, "", *gates, sep="\n")
    return int(not all(gate.passed for gate in gates))


if __name__ == "__main__":
    raise SystemExit(main())
