"""How results are displayed, by ``print`` and in notebooks, and put into words.

Results do not know the report, but the report knows every result. The modules that display them are
therefore named here, and imported only when a result is displayed: the one place where a lower
layer points to a higher one.
"""

from __future__ import annotations

from importlib import import_module

__all__ = [
    "CATALOGUE_MODULE",
    "EXPORTS_MODULE",
    "GATE_MODULE",
    "NOTEBOOK_MODULE",
    "RELIABILITY_CHART_MODULE",
    "REPORT_FILES_MODULE",
    "SCORE_DET_MODULE",
    "TRIALS_MODULE",
    "VARIATION_CHART_MODULE",
    "NotebookView",
]

CATALOGUE_MODULE = "parivox.report.catalogue"
NOTEBOOK_MODULE = "parivox.report.notebook"
EXPORTS_MODULE = "parivox.report.exports"
GATE_MODULE = "parivox.report.gate"
REPORT_FILES_MODULE = "parivox.report.report_files"
VARIATION_CHART_MODULE = "parivox.report.charts.variation"
RELIABILITY_CHART_MODULE = "parivox.report.charts.reliability"
SCORE_DET_MODULE = "parivox.report.charts.score_det"
TRIALS_MODULE = "parivox.report.trials"


class NotebookView:
    """A result that ``print`` and notebooks display in the words of the terminal."""

    def __str__(self) -> str:
        return str(import_module(NOTEBOOK_MODULE).plain_text(self))

    def _repr_html_(self) -> str:
        return str(import_module(NOTEBOOK_MODULE).html(self))
