"""Run the coverage study, keep what it finds in RESULTS.json, and write docs/coverage.md.

    python -m benchmarks.coverage [STUDY ...]
        [--cells TEXT ...] [--datasets N] [--seed N] [--quick]

Without names, lists the studies, with the minutes that each takes on one core. `--cells` runs the
cells whose name holds any of the texts; what other runs found stays. `page` writes the page alone.
`--quick` draws a few data sets of each cell and keeps nothing.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from benchmarks.coverage import (
    better,
    blocks,
    curves,
    findings,
    floors,
    heterogeneity,
    measures,
    page,
    plans,
    rates,
    ratios,
    real,
    shrinkage,
    spread,
    thresholds,
)
from benchmarks.coverage.records import keep

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
    "findings": findings,
    "spread": spread,
    "shrinkage": shrinkage,
    "curves": curves,
    "thresholds": thresholds,
    "blocks": blocks,
    "plans": plans,
}
SEED = 2026
QUICK = 4


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("studies", nargs="*", metavar="STUDY", help=", ".join([*STUDIES, "page"]))
    parser.add_argument("--cells", nargs="+", default=[""], help="only cells whose name has this")
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
    for study in options.studies:
        if study == "page":
            continue
        module = STUDIES[study]
        datasets = options.datasets or (QUICK if options.quick else module.DATASETS)
        start = time.perf_counter()
        for rows in module.study(
            datasets, options.seed, lambda name: any(text in name for text in options.cells)
        ):
            if not options.quick:
                keep(study, rows, options.seed)
            seconds = time.perf_counter() - start
            print(f"{study}, {rows[0]['cell']} ({seconds:.0f} s)")
            for row in rows:
                print("   ", page.line(row))
            start = time.perf_counter()
    if not options.quick:
        page.write()
    return 0


def _listed() -> Iterator[str]:
    """What there is to run, and how long it takes."""
    for name, module in STUDIES.items():
        about = " ".join((module.__doc__ or "").partition("\n\n")[0].split())
        yield f"{name:14}{module.MINUTES:3} min  {about}"
    yield f"{'page':22}docs/coverage.md from what is kept; each study writes it, too."


if __name__ == "__main__":
    raise SystemExit(main())
