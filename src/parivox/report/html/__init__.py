"""One self-contained HTML page of an audit."""

from parivox.report.context import Choice, Context, read_context
from parivox.report.html.assembly import page

__all__ = ["Choice", "Context", "page", "read_context"]
