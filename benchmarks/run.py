"""Run the benchmarks and write benchmarks/RESULTS.md: `make bench`, or parts of it by hand.

    python -m benchmarks [--quick] [--rounds N] [--scale] [--folder DIR]

Only a whole run with `--scale`, which is `make bench`, writes. Every contender is a whole child
process on the same file; rounds are interleaved, and ratios are taken between the least CPU times
of one run.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import bank, bootstrap, parts, report, scale, spoof, startup, trials
from benchmarks.compute import report as compute_report
from benchmarks.measure import (
    Gate,
    Usage,
    comparison_line,
    demo_data,
    interleave,
    least_cpu,
    machine,
    middle_cpu,
    ratio,
    run_child,
)

if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER = Path(__file__).parent
RESULTS_PAGE = FOLDER / "RESULTS.md"
ROUNDS = 9
EER = 0.02402282  # ResNetSE34V2 on VoxCeleb1-H: whoever says otherwise did another job
PARIVOX, WITH_INTERVALS = "parivox audit", "parivox audit, intervals"
PLAIN, PLAIN_WITH = "parivox, default options", "parivox, default options, intervals"
AUDIT_OPTIONS = ["--by", "gender", "--by", "nationality", "--by", "gender+nationality"]
AUDIT_OPTIONS += ["--operating-point", "fpr=0.01", "--operating-point", "min-cdet"]
"""Three groupings: what the peers do a part of."""
OURS = {
    PARIVOX: ([*AUDIT_OPTIONS, "--no-intervals"], "every metric and measure, written to files"),
    WITH_INTERVALS: (AUDIT_OPTIONS, "the same with intervals, floors and verdicts"),
    PLAIN: (["--no-intervals"], "as it is without options but that one"),
    PLAIN_WITH: ([], "as it is without options"),
}
PEERS = {
    "bt4vt": ("bt4vt_job", "EER, one cost and their ratios"),
    "fairlearn": ("fairlearn_job", "two rates by gender x nationality, at one threshold"),
    "sklearn_loop": ("sklearn_loop", "checks, allocation and base metrics of the audit"),
    "sklearn_few": ("sklearn_few", "EER, minimum cost, rates and cost at a threshold, AUC"),
    "nist_loop": ("nist_loop", "EER and minimum cost, as wespeaker and NIST count"),
    "ideal": ("ideal", "read with Polars, sort once: the floor"),
}
NOT_IN_QUICK = {"fairlearn"}
LIMITS = {"bt4vt": 8, "sklearn_loop": 3}  # parivox takes at most this part of the peer's CPU


def parivox_job(scores: Path, speakers: Path, *more: str) -> Usage:
    """Audit with all metrics, and check what was written."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "audit"
        command = [sys.executable, "-m", "parivox", "audit", str(scores)]
        command += ["--speakers", str(speakers)]
        use = run_child([*command, *more, "--out", str(out)])
        if use.code:
            return use
        groups, eer = set(), None
        with (out / "groups.csv").open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                if row["grouping"] == "all" and row["metric"] == "eer":
                    eer = float(row["value"])
                if row["grouping"] != "all" and row["group"] != "pooled":
                    groups.add((row["grouping"], row["group"]))
    answer = json.dumps({"eer": eer, "groups": len(groups)})
    return Usage(use.cpu, use.wall, use.peak, use.code, answer, use.err)


def contenders(scores: Path, speakers: Path, *, quick: bool) -> dict[str, list[str]]:
    """Return the command of each peer that takes part."""
    return {
        name: [sys.executable, "-m", f"benchmarks.peers.{script}", str(scores), str(speakers)]
        for name, (script, _) in PEERS.items()
        if not (quick and name in NOT_IN_QUICK)
    }


def gates(uses: dict[str, list[Usage]]) -> list[Gate]:
    """Return the asserted ratios, and that everyone found the same EER; print each."""
    ours = least_cpu(uses.get(PARIVOX, []))
    checked = [
        Gate(
            f"CPU of parivox / CPU of {peer}",
            ratio(ours, least_cpu(uses.get(peer, []))),
            1 / limit,
        )
        for peer, limit in LIMITS.items()
    ]
    for name, runs in uses.items():
        good = [json.loads(use.out) for use in runs if not use.code]
        eers = [answer["eer"] for answer in good if answer["eer"] is not None]
        if eers:
            off = max(abs(eer - EER) for eer in eers)
            checked.append(Gate(f"EER of {name}, distance from {EER}", off, 1e-8))
    for gate in checked:
        print(gate)
    return checked


def interval_times(uses: dict[str, list[Usage]]) -> float | None:
    """Return how many times the CPU of an audit without intervals one with intervals takes."""
    return ratio(least_cpu(uses.get(PLAIN_WITH, [])), least_cpu(uses.get(PLAIN, [])))


def peer_table(uses: dict[str, list[Usage]]) -> list[str]:
    """Return the Markdown table of whole processes."""
    floor, ours = (least_cpu(uses.get(name, [])) for name in ("ideal", PARIVOX))
    head = "contender|its job|groups|rounds|CPU s, least|CPU s, median|peak MB"
    lines = [
        f"|{head}|times ideal|times parivox|",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, runs in uses.items():
        job = (PEERS | OURS)[name][1]
        least, middle = least_cpu(runs), middle_cpu(runs)
        good = [use for use in runs if not use.code]
        if least is None or middle is None:
            lines.append(f"| {name} | {job} | | 0 | failed | | | | |")
            continue
        groups = json.loads(good[0].out)["groups"]
        peak = max(use.peak for use in good)
        ratios = [ratio(least, floor), ratio(least, ours)]
        times = " | ".join("" if multiple is None else f"{multiple:.2f}" for multiple in ratios)
        lines.append(
            f"| {name} | {job} | {groups} | {len(good)} | {least:.2f} | {middle:.2f} "
            f"| {peak:.0f} | {times} |"
        )
    return lines


def compute_section(rounds: int) -> tuple[list[str], list[Gate]]:
    """Measure computing alone in a child of its own, which may be large."""
    command = [sys.executable, "-m", "benchmarks.compute", "--json", "--rounds", str(rounds)]
    use = run_child(command)
    if use.code:
        print("compute: failed:", (use.err.strip().splitlines() or ["no message"])[-1])
    return compute_report(None if use.code else json.loads(use.out))


def verdicts(checked: list[Gate]) -> list[str]:
    """Return the gates as a Markdown list."""
    return [f"* {gate}" for gate in checked]


def main() -> int:
    """Read the command line, measure, write the table; return 1 if a gate fails."""
    parser = argparse.ArgumentParser(description="Measure Parivox and its peers.")
    parser.add_argument("--quick", action="store_true", help="one round, without fairlearn")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--scale", action="store_true", help="10, 50 and 100 million trials, too")
    parser.add_argument("--folder", type=Path, default=scale.FOLDER, help="of the synthetic trials")
    options = parser.parse_args()
    rounds = 1 if options.quick else options.rounds

    scores, speakers = demo_data()
    jobs: dict[str, Callable[[], Usage]] = {
        name: partial(parivox_job, scores, speakers, *more) for name, (more, _) in OURS.items()
    }
    for name, command in contenders(scores, speakers, quick=options.quick).items():
        jobs[name] = partial(run_child, command)
    uses = interleave(jobs, rounds=rounds, say=lambda line: print(line, flush=True))
    everything = gates(uses)

    lines = [
        "# Results",
        "",
        "Written by `make bench`; see README.md for what is measured.",
        "",
        f"Machine: {machine()}. Parivox is compiled to bytecode before it is timed.",
        "",
        "## Whole processes on one list (ResNetSE34V2, 550,894 trials of VoxCeleb1-H)",
        "",
        *peer_table(uses),
        "",
        comparison_line("CPU of the audit with intervals, of that without", interval_times(uses)),
        "",
        *verdicts(everything),
    ]
    sections: dict[str, Callable[[], tuple[list[str], list[Gate]]]] = {
        "Computing in memory": partial(compute_section, rounds),
        "Bootstrap over speakers": partial(bootstrap.report, min(rounds, bootstrap.ROUNDS)),
        "The page of an audit": partial(
            report.report, min(rounds, report.ROUNDS), options.folder, is_scaled=options.scale
        ),
        "Spoof trials": partial(spoof.report, min(rounds, spoof.ROUNDS)),
        "Start-up": partial(startup.report, 5 if options.quick else startup.ROUNDS),
    }
    if options.scale:
        sections["10 and 100 million trials"] = partial(scale.report, options.folder)
        sections["10 million trials in parts"] = partial(parts.report, options.folder)
        sections["Trial lists: 10 million trials checked, graded and built"] = partial(
            trials.report, options.folder, rounds=min(rounds, trials.ROUNDS)
        )
        sections["A bank: 50 million trials of 2 million customers"] = partial(
            bank.report, options.folder / "bank"
        )
    for title, measure in sections.items():
        table, section_gates = measure()
        print(f"{title}:", *table, *section_gates, sep="\n", flush=True)
        everything += section_gates
        lines += ["", f"## {title}", "", *table, "", *verdicts(section_gates)]
    if options.scale and not options.quick:
        RESULTS_PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    failed = [gate.name for gate in everything if not gate.passed]
    print(f"{len(everything) - len(failed)} of {len(everything)} gates pass")
    return int(bool(failed))


if __name__ == "__main__":
    raise SystemExit(main())
