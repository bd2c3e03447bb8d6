"""DET curves of scores without ids: of all trials and of each group, without intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.errors import ConfigError
from parivox.report.catalogue import full_sentence
from parivox.report.charts import grammar as vl
from parivox.report.charts.chart import Drawing, shortened
from parivox.report.charts.theme import PAPER
from parivox.report.report_files import check_installed

if TYPE_CHECKING:
    from parivox.report.charts.theme import Theme
    from parivox.scoring.score_metrics import ScoreMetrics

_MAX_GROUPS = 11
"""Groups drawn in addition to all trials."""
_LOWEST, _HIGHEST = 0.0005, 0.8
"""Rates at the ends of the axes."""
_N_POINTS = 200


def score_det(metrics: ScoreMetrics, theme: Theme = PAPER) -> Drawing:
    """Draw the DET curve of all trials and of each group on probit axes."""
    names = [*metrics.counts][: _MAX_GROUPS + 1]
    rows = [row for name in names for row in _rows(metrics, name)]
    if not rows:
        msg = f"{metrics.name}: no group has both classes of trials, which a curve needs"
        raise ConfigError(msg)
    return Drawing(
        _spec(rows, names, theme),
        f"DET curves: {shortened(metrics.name)}",
        full_sentence("det_of_all_and_groups"),
        full_sentence("curves_without_intervals"),
        f"{len(names)} curves.",
    )


def _rows(metrics: ScoreMetrics, name: str) -> list[dict[str, Any]]:
    """Return the points of one curve, at rates that are even on the axis."""
    counts = metrics.counts[name]
    n_target, n_nontarget = int(counts.n_target), int(counts.n_nontarget)
    if not n_target or not n_nontarget:
        return []
    curve = counts.curve
    fpr, fnr = curve.fp / n_nontarget, curve.fn / n_target
    is_drawn = (fpr >= _LOWEST) & (fpr <= _HIGHEST) & (fnr >= _LOWEST) & (fnr <= _HIGHEST)
    indices = np.flatnonzero(is_drawn)
    if indices.size > _N_POINTS:
        # points that are even on the axis, which is steep at its ends
        places = vl.probit(fpr[indices])
        grid = np.linspace(places.min(), places.max(), _N_POINTS)
        positions = np.searchsorted(np.sort(places), grid).clip(0, places.size - 1)
        indices = indices[np.unique(positions)]
    return [
        {"c": name, "x": float(x), "y": float(y)}
        for x, y in zip(vl.probit(fpr[indices]), vl.probit(fnr[indices]), strict=True)
    ]


def _spec(rows: list[dict[str, Any]], names: list[str], theme: Theme) -> vl.Spec:
    side = min(theme.width - 60, 320)
    legend = {"columns": theme.legend_columns(names, reserved_width=40)}
    _, colour = vl.series_channels(
        "c", names, theme.shapes(len(names)), theme.colours(len(names)), legend=legend
    )
    x = vl.quantitative("x", **vl.probit_axis("false accepts (FPR, %)", _LOWEST, _HIGHEST))
    y = vl.quantitative("y", **vl.probit_axis("false rejects (FNR, %)", _LOWEST, _HIGHEST))
    line = vl.mark("line", {"x": x, "y": y, "color": colour}, clip=True, strokeWidth=1.4)
    chart = vl.layered([line], width=side, height=side)
    return theme.styled({**chart, "data": vl.inline_data(rows)})


def altair(metrics: ScoreMetrics) -> Any:
    """Return the same as an Altair chart."""
    check_installed("charts", "altair", "vl_convert")
    import altair as alt  # noqa: PLC0415 - an optional dependency

    return alt.Chart.from_dict(score_det(metrics).spec)
