"""How results show themselves in notebooks.

Results know no report, and the report knows every result: what shows them is named here, and
imported when a notebook asks. It is the one name that points up, and belongs to no layer.
"""

from __future__ import annotations

from importlib import import_module

__all__ = ["SHOWN_BY", "Shown"]

SHOWN_BY = "parivox.report.notebook"


class Shown:
    """A result that shows itself in a notebook, in the words of the terminal."""

    def _repr_html_(self) -> str:
        return str(import_module(SHOWN_BY).html(self))
