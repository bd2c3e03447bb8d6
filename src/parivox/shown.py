"""How results show themselves in notebooks.

Results know no report, and the report knows every result: what shows them is named here, and
imported when a notebook asks. These are the names that point up, and belong to no layer.
"""

from __future__ import annotations

from importlib import import_module

__all__ = ["RELIABILITY_SHOWN_BY", "SHOWN_BY", "VARIATION_SHOWN_BY", "Shown"]

SHOWN_BY = "parivox.report.notebook"
VARIATION_SHOWN_BY = "parivox.report.charts.variation"
RELIABILITY_SHOWN_BY = "parivox.report.charts.reliability"


class Shown:
    """A result that shows itself in a notebook, in the words of the terminal."""

    def _repr_html_(self) -> str:
        return str(import_module(SHOWN_BY).html(self))
