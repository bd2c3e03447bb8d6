"""Measure the page of an audit: what writing it costs, and how large it is.

    python -m benchmarks.report [--rounds N] [--folder DIR] [--scale]

The cost is that of a whole audit of two systems on VoxCeleb1-H with `--report` against the same
without, cold starts of all libraries included. Sizes are those of the demo's page, of one of 100
groups and three systems, and of pages of a million trials and of ten times (with `--scale` a
hundred times) as many.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from functools import partial
from pathlib import Path

from benchmarks import scale
from benchmarks.measure import (
    Gate,
    Usage,
    comparison_line,
    demo_data,
    interleave,
    least_cpu,
    ratio,
    run_child,
)

ROUNDS = 3
DEMO, MANY = 1.3, 3.0  # MB (10^6 bytes)
GROWTH = 1.05  # times the size of a page of fewer trials: counts have digits more
SMALL, LARGE, LARGEST = 1_000_000, 10_000_000, 100_000_000
PLAIN, WITH_PAGE = "without a page", "with a page"
GROUPS, SPEAKERS_EACH, UTTERANCES_EACH, SYSTEMS = 100, 8, 6, 3
NONTARGET_EACH = 400
"""Trials of each group of the page of many groups, against speakers of the group."""


def command(scores: list[str], speakers: Path, *more: str) -> list[str]:
    """An audit as a user types it."""
    start = [sys.executable, "-m", "parivox", "audit", *scores, "--speakers", str(speakers)]
    return [*start, "--quiet", *more]


def demo(page: Path | None, out: Path) -> Usage:
    """Audit two lists, as `make demo` does."""
    scores, speakers = demo_data()
    second_scores = scores.with_name(scores.name.replace("34v2", "34l"))
    options = ["--by", "gender", "--by", "gender+nationality", "--compare", "--out", str(out)]
    shown = [] if page is None else ["--report", str(page)]
    return run_child(command([f"V2={scores}", f"L={second_scores}"], speakers, *options, *shown))


def many(folder: Path) -> Usage:
    """Audit a hundred groups and three systems, made here, and write the page."""
    import numpy as np
    import polars as pl

    draw = np.random.default_rng(5)
    n = GROUPS * SPEAKERS_EACH
    names = [f"s{i:03d}" for i in range(n)]
    groups = [f"group {i // SPEAKERS_EACH:02d}" for i in range(n)]
    pl.DataFrame({"id": names, "group": groups}).write_csv(folder / "people.csv")
    utterances = np.arange(n * UTTERANCES_EACH).reshape(GROUPS, -1)
    enrol, test = [], []
    enrol_columns, right = np.triu_indices(UTTERANCES_EACH, 1)
    by_speaker = utterances.reshape(n, UTTERANCES_EACH)
    enrol.append(by_speaker[:, enrol_columns].ravel())
    test.append(by_speaker[:, right].ravel())
    for members in utterances:
        pairs = np.stack(np.triu_indices(members.size, 1))
        owner = members // UTTERANCES_EACH
        pairs = pairs[:, owner[pairs[0]] != owner[pairs[1]]]
        drawn_pairs = draw.choice(pairs.shape[1], NONTARGET_EACH, replace=False)
        enrol.append(members[pairs[0, drawn_pairs]])
        test.append(members[pairs[1, drawn_pairs]])
    sides = np.concatenate(enrol), np.concatenate(test)
    target = sides[0] // UTTERANCES_EACH == sides[1] // UTTERANCES_EACH
    ids = [f"{names[i // UTTERANCES_EACH]}/{i}" for i in range(n * UTTERANCES_EACH)]
    table = {"enrol": [ids[i] for i in sides[0]], "test": [ids[i] for i in sides[1]]}
    scores = []
    for system in range(SYSTEMS):
        path = folder / f"system{system}.parquet"
        system_scores = draw.normal(np.where(target, 2.5, 0.0)).round(4)
        pl.DataFrame({**table, "score": system_scores, "label": target.astype(int)}).write_parquet(
            path
        )
        scores.append(f"{path.stem}={path}")
    more = ["--by", "group", "--compare", "--report", str(folder / "many.html")]
    return run_child(command(scores, folder / "people.csv", *more))


def large(data_folder: Path, trials: int, page: Path) -> Usage:
    """Audit synthetic trials and write the page."""
    scores = scale.trials_file(data_folder, trials, text=False)
    options = ["--by", "gender", "--by", "nationality", "--report", str(page)]
    return run_child(command([str(scores)], data_folder / "speakers.csv", *options))


def megabytes(use: Usage, page: Path) -> float | None:
    """Size of a page; none if it was not made."""
    if use.code or not page.exists():
        print("failed:", (use.err.strip().splitlines() or ["no message"])[-1])
        return None
    return page.stat().st_size / 1e6


def report(
    rounds: int = ROUNDS, data_folder: Path = scale.FOLDER, *, is_scaled: bool = False
) -> tuple[list[str], list[Gate]]:
    """Return Markdown lines and the gates."""
    lines = ["| page of | MB | CPU s, audit and page | peak MB |", "|---|---:|---:|---:|"]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        page = folder / "demo.html"
        jobs = {
            PLAIN: partial(demo, None, folder / "plain"),
            WITH_PAGE: partial(demo, page, folder / "with"),
        }
        uses = interleave(jobs, rounds=rounds, say=lambda line: print(line, flush=True))
        pages = {"two systems, 20 groups": (uses[WITH_PAGE][-1], page)}
        many_name = f"{SYSTEMS} systems, {GROUPS} groups"
        pages[many_name] = (many(folder), folder / "many.html")
        counts = (SMALL, LARGEST if is_scaled else LARGE)
        for trials in counts:
            path = folder / f"{trials}.html"
            pages[f"{trials:,} trials"] = (large(data_folder, trials, path), path)
        sizes = {name: megabytes(*pair) for name, pair in pages.items()}
        for name, (use, _) in pages.items():
            size = sizes[name]
            cells = "failed" if size is None else f"{size:.2f}"
            lines.append(f"| {name} | {cells} | {use.cpu:.1f} | {use.peak:.0f} |")
    plain, shown = least_cpu(uses[PLAIN]), least_cpu(uses[WITH_PAGE])
    if plain and shown:
        lines += [
            "",
            f"Two systems on VoxCeleb1-H: {plain:.1f} CPU s {PLAIN}, {shown:.1f} {WITH_PAGE}.",
            comparison_line("CPU of an audit with its page, of one without", ratio(shown, plain)),
        ]
    small, big = (sizes[f"{trials:,} trials"] for trials in counts)
    gates = [
        Gate("page of the demo", sizes["two systems, 20 groups"], DEMO, " MB"),
        Gate(f"page of {many_name}", sizes[many_name], MANY, " MB"),
        Gate(
            f"size of a page of {counts[1] // SMALL} times the trials",
            ratio(big, small),
            GROWTH,
            "x",
        ),
    ]
    return lines, gates


def main() -> int:
    """Measure and print; return 1 if a gate fails."""
    parser = argparse.ArgumentParser(description="Measure the page of an audit.")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--folder", type=Path, default=scale.FOLDER, help="of the synthetic trials")
    parser.add_argument("--scale", action="store_true", help="100 million trials, not 10")
    options = parser.parse_args()
    lines, gates = report(options.rounds, options.folder, is_scaled=options.scale)
    print(*lines, "", *gates, sep="\n")
    return int(not all(gate.passed for gate in gates))


if __name__ == "__main__":
    raise SystemExit(main())
