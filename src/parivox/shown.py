"""How results show themselves in notebooks.

Results know no report, and the report knows every result: what shows them is named here, and
imported when a notebook asks. These are the names that point up, and belong to no layer.
"""

from __future__ import annotations

from importlib import import_module

__all__ = ["NOTEBOOK_MODULE", "RELIABILITY_CHART_MODULE", "VARIATION_CHART_MODULE", "NotebookView"]

NOTEBOOK_MODULE = "parivox.report.notebook"
VARIATION_CHART_MODULE = "parivox.report.charts.variation"
RELIABILITY_CHART_MODULE = "parivox.report.charts.reliability"


class NotebookView:
    """A result that shows itself in a notebook, in the words of the terminal."""

    def _repr_html_(self) -> str:
        return str(import_module(NOTEBOOK_MODULE).html(self))
