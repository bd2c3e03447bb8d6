"""Charts of an audit: for the page, for notebooks and for papers.

Each chart is a pure function of an audit that tells what Vega-Lite draws it from, in one module;
:class:`Charts` makes Altair charts of them. What it cannot draw it says in a
:class:`~parivox.errors.ConfigError`.
"""

from __future__ import annotations

from parivox.report.charts.draw import pdf, png, spec, svg
from parivox.report.charts.every import figures
from parivox.report.charts.figure import Figure
from parivox.report.charts.notebook import Charts
from parivox.report.charts.theme import DARK, LIGHT, PAGE, PAPER, Theme, theme

__all__ = [
    "DARK",
    "LIGHT",
    "PAGE",
    "PAPER",
    "Charts",
    "Figure",
    "Theme",
    "figures",
    "pdf",
    "png",
    "spec",
    "svg",
    "theme",
]
