"""One self-contained HTML page of an audit."""

from parivox.report.page.assembly import page
from parivox.report.page.context import Choice, Context, read_context

__all__ = ["Choice", "Context", "page", "read_context"]
