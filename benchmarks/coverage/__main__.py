"""Run the coverage study, keep what it finds in results/, and write its pages of docs/.

    python -m benchmarks.coverage [STUDY ...]
        [--cells [TEXT ...]] [--datasets N] [--seed N] [--workers N] [--quick]

Without names, lists the studies, with the minutes that their cells took on one core. Cells run on
all cores, or in `--workers` processes. `--cells` runs those whose name holds any of the texts, and
without texts lists them; what other runs found stays. A run of a study takes 8 minutes at most on
two cores; results in results/ may come from longer ones (`--datasets`, column `draws`). `page`
writes the pages alone.
`--quick` draws a few data sets of each cell and keeps nothing.
"""

from __future__ import annotations

import argparse
import os
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from math import nan
from typing import TYPE_CHECKING

from benchmarks.coverage import (
    alike,
    better,
    blocks,
    calibration_loss,
    curves,
    data_warnings,
    findings,
    floors,
    gates,
    heterogeneity,
    identification,
    measures,
    mitigation,
    monitor,
    page,
    peers,
    plans,
    rates,
    ratios,
    real,
    rivals,
    shrinkage,
    speechocean,
    spoof,
    spread,
    thresholds,
)
from benchmarks.coverage.corpora import MissingCorpusError
from benchmarks.coverage.peers import MissingToolError
from benchmarks.coverage.records import keep, read

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import ModuleType

    from benchmarks.coverage.records import Row

STUDIES = {
    "rates": rates,
    "ratios": ratios,
    "real": real,
    "rivals": rivals,
    "peers": peers,
    "floors": floors,
    "measures": measures,
    "heterogeneity": heterogeneity,
    "better": better,
    "alike": alike,
    "findings": findings,
    "spoof": spoof,
    "spread": spread,
    "shrinkage": shrinkage,
    "curves": curves,
    "thresholds": thresholds,
    "blocks": blocks,
    "mitigation": mitigation,
    "calibration_loss": calibration_loss,
    "monitor": monitor,
    "identification": identification,
    "plans": plans,
    "gate": gates,
    "data_warnings": data_warnings,
    "speechocean": speechocean,
}
SEED = 2026
QUICK = 4


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("studies", nargs="*", metavar="STUDY", help=", ".join([*STUDIES, "page"]))
    parser.add_argument(
        "--cells", nargs="*", default=[""], help="only cells whose name has this; none: list them"
    )
    parser.add_argument("--datasets", type=int, help="data sets in each cell")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--quick", action="store_true", help="a few data sets, nothing is kept")
    options = parser.parse_args(arguments)
    unknown = set(options.studies) - {*STUDIES, "page"}
    if unknown:
        parser.error(f"no study {min(unknown)!r}; there are {', '.join([*STUDIES, 'page'])}")
    if not options.studies:
        print("\n".join(_listed()))
        return 0
    if not options.cells:
        lines = (
            f"{minutes:5.1f} min  {cell}"
            for study in options.studies
            for cell, minutes in _minutes(study).items()
        )
        print("\n".join(lines))
        return 0
    runs = []
    for study in [name for name in options.studies if name != "page"]:
        n_draws = options.datasets or (QUICK if options.quick else STUDIES[study].DATASETS)
        runs += [
            (study, cell, n_draws)
            for cell in _cells(STUDIES[study], n_draws)
            if any(text in cell for text in options.cells)
        ]
    try:
        _run_cells(runs, options)
    except (MissingCorpusError, MissingToolError) as error:
        parser.exit(2, f"error: {error}\n")
    if not options.quick:
        page.write()
    return 0


def _run_cells(runs: Sequence[tuple[str, str, int]], options: argparse.Namespace) -> None:
    """Run cells, keep and print their rows as they come."""
    with ProcessPoolExecutor(options.workers) as workers:
        running = [workers.submit(_run, *run, options.seed) for run in runs]
        for future in as_completed(running):
            try:
                study, n_draws, rows, seconds = future.result()
            except (MissingCorpusError, MissingToolError):
                workers.shutdown(cancel_futures=True)
                raise
            if not options.quick:
                rows = [row | {"draws": n_draws} for row in rows]
                cell_order = _cells(STUDIES[study], n_draws)
                keep(study, rows, options.seed, seconds / 60, cell_order)
            print(f"{study}, {rows[0]['cell']} ({seconds:.0f} s)", flush=True)
            for row in rows:
                print("   ", page.line(row))


def _run(study: str, cell: str, n_draws: int, seed: int) -> tuple[str, int, list[Row], float]:
    """Run one cell: its draws, its rows, and the seconds that it took."""
    start = time.process_time()
    (rows,) = STUDIES[study].study(n_draws, seed, lambda name: name == cell)
    return study, n_draws, rows, time.process_time() - start


def _cells(module: ModuleType, n_draws: int) -> list[str]:
    """Names of the cells of a study that draws so many data sets."""
    cells: list[str] = []

    def note(cell: str) -> bool:
        cells.append(cell)
        return False

    assert not list(module.study(n_draws, SEED, note))
    return cells


def _minutes(study: str) -> dict[str, float]:
    """What a run takes for each cell, by what is kept; of others, what the longest of these does.

    Cells that were kept from more draws than a run has now take less time in proportion. Studies
    that split their draws into cells of a fixed size have fewer of them instead.
    """
    module = STUDIES[study]
    cells = _cells(module, module.DATASETS)
    minutes_by_cell = {}
    for row in read().get(study, []):
        n_draws = row.get("draws", module.DATASETS)
        is_split = len(_cells(module, n_draws)) > len(cells)
        share = 1.0 if is_split else min(1.0, module.DATASETS / n_draws)
        minutes_by_cell[row["cell"]] = share * row["minutes"]
    longest = max((minutes_by_cell[cell] for cell in cells if cell in minutes_by_cell), default=nan)
    return {cell: minutes_by_cell.get(cell, longest) for cell in cells}


def _listed() -> Iterator[str]:
    """What there is to run, and how long it takes."""
    for name, module in STUDIES.items():
        about = " ".join((module.__doc__ or "").partition("\n\n")[0].split())
        minutes = _minutes(name).values()
        longest, total = max(minutes), sum(minutes)
        duration = f"{len(minutes):3} cells of {longest:.1f} min at most, {total:.0f} in all"
        yield f"{name:14}{duration:43}{about}"
    yield f"{'page':57}the two pages of docs/ alone, from what is kept; each study writes them"


if __name__ == "__main__":
    raise SystemExit(main())
