"""Charts of an audit: for the page, for notebooks and for papers.

Each chart declares what it is drawn for and tells, from an audit, what Vega-Lite draws it from;
:class:`Charts` makes Altair charts of them. What it cannot draw it says in a
:class:`~parivox.errors.ConfigError`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from parivox.errors import ConfigError
from parivox.report.charts.chart import Chart, Figure, figures_of
from parivox.report.charts.comparison import against, differences, ranks
from parivox.report.charts.det import det, together
from parivox.report.charts.draw import pdf, png, spec, svg
from parivox.report.charts.groups import failures, forest, levels, speakers
from parivox.report.charts.matrix import matrix
from parivox.report.charts.measures import accuracy, measures
from parivox.report.charts.scores import distributions, thresholds
from parivox.report.charts.sweep import over_alpha, over_fpr
from parivox.report.charts.theme import DARK, LIGHT, PAGE, PAPER, Theme, theme

if TYPE_CHECKING:
    from collections.abc import Callable

    from parivox.auditing.result import Audit

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

_KINDS = (
    *(speakers, forest, levels, failures, thresholds, together, det, distributions, matrix),
    *(measures, over_alpha, over_fpr, accuracy, against, differences, ranks),
)
"""Every kind of chart, in the order of the page."""
_BY_NAME = {kind.method: kind for kind in _KINDS}


def figures(audit: Audit, *, theme: Theme = PAGE) -> list[Figure]:
    """Every figure that makes sense for an audit, each at the first operating point.

    Figures for which the audit lacks something are left out.
    """
    return figures_of(audit, _KINDS, theme)


class Charts:
    """The charts of one audit, as Altair charts to show or restyle.

    Every chart of this package is a method: ``speakers``, ``forest``, ``levels``, ``failures``,
    ``thresholds``, ``det``, ``together``, ``distributions``, ``matrix``, ``measures``,
    ``over_alpha``, ``over_fpr``, ``against``, ``accuracy``, ``differences``, ``ranks``.

    Parameters
    ----------
    audit : Audit
    """

    def __init__(self, audit: Audit) -> None:
        self._audit = audit

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in _BY_NAME:
            msg = f"there is no chart {name!r}; there are {', '.join(_BY_NAME)}"
            raise AttributeError(msg)
        return partial(_altair, _BY_NAME[name], self._audit)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *_BY_NAME]

    def __repr__(self) -> str:
        return f"<Charts: {', '.join(_BY_NAME)}>"


def _altair(kind: Chart, audit: Audit, **asked: Any) -> Any:
    """The chart as an object, which a notebook shows and which can be restyled."""
    try:
        import altair as alt  # noqa: PLC0415 - an optional dependency
    except ImportError as error:
        msg = "charts need altair: pip install 'parivox[report]'"
        raise ConfigError(msg) from error
    return alt.Chart.from_dict(kind(audit, **asked))
