"""What a study found, with its Monte Carlo error, kept as a CSV file for each study."""

from __future__ import annotations

import csv
import importlib.metadata
import json
import platform
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

import parivox

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.coverage.simulate import FloatArray
    from numpy.typing import ArrayLike

Row: TypeAlias = dict[str, Any]

RESULTS = Path(__file__).with_name("results")
LIBRARIES = ("numpy", "scipy", "bt4vt")


def stream(seed: int, name: str) -> np.random.Generator:
    """Return random numbers of one cell of a study, whatever else is run."""
    return np.random.default_rng([seed, zlib.crc32(name.encode())])


def mean(figures: FloatArray, name: str) -> Row:
    """Return a mean over data sets with its Monte Carlo error.

    `values` is [dataset] or [dataset, group]; groups of one data set may depend on each other, so
    that data sets are the sample. NaN is left out.
    """
    is_known = ~np.isnan(figures)
    total = np.where(is_known, figures, 0.0).reshape(figures.shape[0], -1).sum(axis=1)
    number = is_known.reshape(figures.shape[0], -1).sum(axis=1)
    if not number.any():
        return {name: None, f"{name}_error": None}
    centre = total.sum() / number.sum()
    residual = total - centre * number
    error = np.sqrt(np.sum(residual**2)) / number.sum()
    # a share of 0 or 1 is not known without error: as if one more data set had differed
    least = np.sqrt(1 / number.sum()) * np.sqrt(1 / (number.sum() + 1)) if not error else 0.0
    return {name: _short(centre), f"{name}_error": _short(max(error, least))}


def interval_row(truth: ArrayLike, low: FloatArray, high: FloatArray) -> Row:
    """Return how often intervals hold the truth, on which side they miss it, and how wide they are.

    Arrays are [dataset, group]. Undefined intervals are no misses, but their share is told; the
    width is that of the logarithm, over intervals that exclude 0.
    """
    is_known = np.isfinite(low) & np.isfinite(high)
    true = np.broadcast_to(np.asarray(truth, dtype=np.float64), low.shape)
    below, above = true < low, true > high
    apart = is_known & (low > 0)
    width = np.log(np.where(apart, high, 1.0) / np.where(apart, low, 1.0))
    return {
        **mean(np.where(is_known, ~(below | above), np.nan), "coverage"),
        "below": _short(np.mean(below[is_known])) if is_known.any() else None,
        "above": _short(np.mean(above[is_known])) if is_known.any() else None,
        **mean(np.where(apart, width, np.nan), "log_width"),
        "undefined": _short(1 - is_known.mean()),
        "datasets": int(low.shape[0]),
        "intervals": int(low.size),
    }


def _short(figure: Any) -> float:
    return float(f"{figure:.5g}")


def read(folder: Path = RESULTS) -> dict[str, list[Row]]:
    """Return all studies kept so far."""
    return {file.stem: _rows(file) for file in sorted(folder.glob("*.csv"))}


def keep(
    study: str,
    rows: list[Row],
    seed: int,
    minutes: float,
    order: Sequence[str],
    folder: Path = RESULTS,
) -> None:
    """Put rows in the place of those of the same cell; what other runs found stays.

    Cells stand in an `order`; those that are not in it come last.
    """
    file = folder / f"{study}.csv"
    fresh = {row["cell"] for row in rows}
    versions = {"parivox": parivox.__version__, "Python": platform.python_version()}
    versions |= {library: importlib.metadata.version(library) for library in LIBRARIES}
    about = ", ".join(
        [f"seed {seed}", *(f"{name} {version}" for name, version in versions.items())]
    )
    kept_rows = [row for row in (_rows(file) if file.exists() else []) if row["cell"] not in fresh]
    all_rows = kept_rows + [row | {"about": about, "minutes": round(minutes, 2)} for row in rows]
    cell_order = {cell: i for i, cell in enumerate(order)}
    all_rows.sort(key=lambda row: cell_order.get(row["cell"], len(cell_order)))
    columns = list(dict.fromkeys(name for row in all_rows for name in row))
    folder.mkdir(exist_ok=True)
    with file.open("w", encoding="utf-8", newline="") as text:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([_cell(row, name) for name in columns] for row in all_rows)


def _cell(row: Row, name: str) -> str:
    """Return a value as a file holds it: as JSON, but words without quotation marks."""
    if name not in row:
        return ""
    figure = row[name]
    is_plain = isinstance(figure, str) and isinstance(_parsed(figure), str) and figure != ""
    return figure if is_plain else json.dumps(figure, allow_nan=False)


def _parsed(cell: str) -> Any:
    try:
        return json.loads(cell)
    except json.JSONDecodeError:
        return cell


def _rows(file: Path) -> list[Row]:
    """Return the rows of a file, without what is empty."""
    with file.open(encoding="utf-8", newline="") as text:
        return [
            {name: _parsed(cell) for name, cell in row.items() if cell}
            for row in csv.DictReader(text)
        ]
