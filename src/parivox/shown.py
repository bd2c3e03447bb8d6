"""How results are displayed in notebooks, and put into words.

Results do not know the report, but the report knows every result. The modules that display them are
therefore named here, and imported only when a result is displayed: the one place where a lower
layer points to a higher one.
"""

from __future__ import annotations

from importlib import import_module

__all__ = [
    "CATALOGUE_MODULE",
    "NOTEBOOK_MODULE",
    "RELIABILITY_CHART_MODULE",
    "SCORE_DET_MODULE",
    "VARIATION_CHART_MODULE",
    "NotebookView",
]

CATALOGUE_MODULE = "parivox.report.catalogue"
NOTEBOOK_MODULE = "parivox.report.notebook"
VARIATION_CHART_MODULE = "parivox.report.charts.variation"
RELIABILITY_CHART_MODULE = "parivox.report.charts.reliability"
SCORE_DET_MODULE = "parivox.report.charts.score_det"


class NotebookView:
    """A result that notebooks display in the words of the terminal."""

    def _repr_html_(self) -> str:
        return str(import_module(NOTEBOOK_MODULE).html(self))
