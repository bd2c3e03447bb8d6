"""Run the coverage study, keep what it finds in RESULTS.json, and write docs/coverage.md.

    python -m benchmarks.coverage [STUDY ...]
        [--cells [TEXT ...]] [--datasets N] [--seed N] [--quick]

Without names, lists the studies, with the minutes that their cells took on one core. `--cells` runs
the cells whose name holds any of the texts, and without texts lists them; what other runs found
stays. `page` writes the page alone. `--quick` draws a few data sets of each cell and keeps nothing.
"""

from __future__ import annotations

import argparse
import time
from math import nan
from typing import TYPE_CHECKING

from benchmarks.coverage import (
    alike,
    better,
    blocks,
    curves,
    data_warnings,
    findings,
    floors,
    gates,
    heterogeneity,
    measures,
    mitigation,
    monitor,
    page,
    plans,
    rates,
    ratios,
    real,
    shrinkage,
    spread,
    thresholds,
)
from benchmarks.coverage.records import keep, read

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

STUDIES = {
    "rates": rates,
    "ratios": ratios,
    "real": real,
    "floors": floors,
    "measures": measures,
    "heterogeneity": heterogeneity,
    "better": better,
    "alike": alike,
    "findings": findings,
    "spread": spread,
    "shrinkage": shrinkage,
    "curves": curves,
    "thresholds": thresholds,
    "blocks": blocks,
    "mitigation": mitigation,
    "monitor": monitor,
    "plans": plans,
    "gate": gates,
    "data_warnings": data_warnings,
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
            f"{of:5.1f} min  {cell}"
            for study in options.studies
            for cell, of in _minutes(study).items()
        )
        print("\n".join(lines))
        return 0
    for study in options.studies:
        if study == "page":
            continue
        module = STUDIES[study]
        datasets = options.datasets or (QUICK if options.quick else module.DATASETS)
        start = time.process_time()
        for rows in module.study(
            datasets, options.seed, lambda name: any(text in name for text in options.cells)
        ):
            seconds = time.process_time() - start
            if not options.quick:
                keep(study, rows, options.seed, seconds / 60)
            print(f"{study}, {rows[0]['cell']} ({seconds:.0f} s)")
            for row in rows:
                print("   ", page.line(row))
            start = time.process_time()
    if not options.quick:
        page.write()
    return 0


def _minutes(study: str) -> dict[str, float]:
    """What each cell took when it was kept; of others, what the longest of these did."""
    kept = {row["cell"]: row["minutes"] for row in read().get(study, [])}
    cells: list[str] = []

    def note(cell: str) -> bool:
        cells.append(cell)
        return False

    module = STUDIES[study]
    assert not list(module.study(module.DATASETS, SEED, note))
    longest = max((kept[cell] for cell in cells if cell in kept), default=nan)
    return {cell: kept.get(cell, longest) for cell in cells}


def _listed() -> Iterator[str]:
    """What there is to run, and how long it takes."""
    for name, module in STUDIES.items():
        about = " ".join((module.__doc__ or "").partition("\n\n")[0].split())
        of = _minutes(name).values()
        minutes = f"{len(of):3} cells of {max(of):.1f} min at most, {sum(of):.0f} in all"
        yield f"{name:14}{minutes:43}{about}"
    yield f"{'page':57}docs/coverage.md from what is kept; each study writes it, too."


if __name__ == "__main__":
    raise SystemExit(main())
