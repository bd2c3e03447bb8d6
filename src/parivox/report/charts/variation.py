"""Charts of how results vary over drawn trial lists and over speakers, and how they are saved."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.errors import ConfigError
from parivox.report.report_files import check_installed
from parivox.runtime.disk import atomic_file, explain_write_errors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parivox.trials.variation import Variation

CHART_SUFFIXES = (".svg", ".png", ".pdf", ".html", ".json")

_FILE_STARTS = {
    ".svg": b'class="marks"',
    ".png": b"\x89png",
    ".pdf": b"%pdf",
    ".html": b"vega",
    ".json": b"vega",
}
"""Lower-case bytes near the beginning of a written chart."""
_HEAD_BYTES = 1 << 14

TITLES = {"eer": "EER", "min_cdet": "minimum cost", "fpr": "FPR", "fnr": "FNR"}
SD_COLUMNS = {"seed_sd": "resampled pairs", "speaker_sd": "resampled speakers"}
COLOURS = ("#0072b2", "#d55e00")
TICK_RATES = (0.001, 0.01, 0.05, 0.2, 0.5)
LOWEST_RATE = 0.0003
"""Lowest rate on an axis."""
_MAX_COLUMNS = 4
_WIDTH, _HEIGHT = 150, 120


def spread(variation: Variation, metric: str) -> Any:
    """Draw standard deviation over mean against pairs per speaker, a panel for each group."""
    alt = _altair()
    rows = [
        _row(row, variation) | {"way": words, "sd": row[column]}
        for row in variation.table.subset(metric=metric).rows()
        for column, words in SD_COLUMNS.items()
        if row[column] is not None
    ]
    title = f"sd / mean of {TITLES[metric]}"
    scale = alt.Scale(domain=list(SD_COLUMNS.values()), range=list(COLOURS))
    legend = alt.Legend(orient="top")
    panel = alt.Chart().mark_line(point=True).properties(width=_WIDTH, height=_HEIGHT)
    panel = panel.encode(
        x=alt.X("n:O", title="pairs per speaker", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("sd:Q", title=title, axis=alt.Axis(format="%"), scale=alt.Scale(zero=True)),
        color=alt.Color("way:N", title=None, scale=scale, legend=legend),
    )
    return _faceted(alt, panel, rows)


def dets(variation: Variation) -> Any:
    """Draw DET curves on probit axes: a line per variant, a colour per number of pairs."""
    from scipy.special import ndtri  # noqa: PLC0415 - most of the import's time

    alt = _altair()
    tick_positions = ndtri(np.array(TICK_RATES)).tolist()
    rows = [
        _row(row, variation)
        | {
            "line": f"{row['per_speaker']}/{row['variant']}",
            "x": float(ndtri(row["fpr"])),
            "y": float(ndtri(row["fnr"])),
            "place": index,
        }
        for index, row in enumerate(variation.curves.rows())
    ]
    labels = " : ".join(
        f"abs(datum.value - {position:.6f}) < 1e-4 ? '{100 * rate:g}'"
        for position, rate in zip(tick_positions, TICK_RATES, strict=True)
    )
    axis = alt.Axis(values=tick_positions, labelExpr=f"{labels} : ''", labelOverlap=False)
    # the highest tick is the end of the axis
    scale = alt.Scale(domain=[float(ndtri(LOWEST_RATE)), tick_positions[-1]], nice=False)
    colours = alt.Scale(scheme="viridis", reverse=True)
    legend = alt.Legend(orient="top")
    panel = alt.Chart().mark_line(clip=True, strokeWidth=0.8)
    panel = panel.properties(width=_WIDTH, height=_WIDTH).encode(
        x=alt.X("x:Q", title="FPR (%)", axis=axis, scale=scale),
        y=alt.Y("y:Q", title="FNR (%)", axis=axis, scale=scale),
        detail="line:N",
        order=alt.Order("place:Q"),
        color=alt.Color("n:O", title="pairs per speaker", scale=colours, legend=legend),
    )
    return _faceted(alt, panel, rows)


def check_chart(option: str, path: str | None) -> None:
    """Refuse a file that no chart can be written to: wrong ending, a folder, or in no folder."""
    if path is None:
        return
    file = Path(path)
    if file.suffix.lower() not in CHART_SUFFIXES:
        suffixes = ", ".join(CHART_SUFFIXES)
        msg = f"{option} {path}: is not a chart format"
        hint = f"end its name with one of {suffixes}"
        raise ConfigError(msg, hint)
    if file.is_file() and file.stat().st_size and not _is_chart(file):
        msg = f"{option} {path}: already exists and is not a chart"
        hint = "name another file"
        raise ConfigError(msg, hint)
    if file.is_dir() or not file.parent.is_dir() or not os.access(file.parent, os.W_OK):
        msg = f"{option} {path}: cannot be written there"
        hint = "name a file in a folder that exists"
        raise ConfigError(msg, hint)
    check_installed("charts", "altair", "vl_convert")


def _is_chart(file: Path) -> bool:
    """Return whether a file begins as charts with its ending do."""
    with file.open("rb") as opened:
        head = opened.read(_HEAD_BYTES)
    return _FILE_STARTS[file.suffix.lower()] in head.lower()


def save(chart: Any, option: str, path: str) -> None:
    """Write a chart in the format of its file name's ending."""
    kind = Path(path).suffix.lower()[1:]
    # without it, the HTML file loads its scripts from the internet
    options = {"inline": True} if kind == "html" else {}
    with explain_write_errors(f"{option} {path}"), atomic_file(path) as aside:
        chart.save(str(aside), format=kind, **options)


def _faceted(alt: Any, panel: Any, rows: list[dict[str, Any]]) -> Any:
    facet = alt.Facet("group:N", title=None)
    return panel.facet(facet=facet, columns=_MAX_COLUMNS, data=alt.InlineData(values=rows))


def _row(row: Mapping[str, Any], variation: Variation) -> dict[str, Any]:
    """Return the panel of a row of a table, and its number of pairs."""
    group = row["group"]
    return {"group": f"{group} ({variation.kept.get(group, 0)} speakers)", "n": row["per_speaker"]}


def _altair() -> Any:
    check_installed("charts", "altair", "vl_convert")
    import altair as alt  # noqa: PLC0415 - an optional dependency

    return alt
