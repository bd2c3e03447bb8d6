"""The HTML report of an audit: one self-contained page."""

from parivox.report.context import Choice, Context, read_context
from parivox.report.html.assembly import html_report

__all__ = ["Choice", "Context", "html_report", "read_context"]
