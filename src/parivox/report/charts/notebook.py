"""Charts as a notebook asks for them: ``audit.charts.det(by="gender")``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from parivox.report.charts.accuracy import accuracy
from parivox.report.charts.against import against
from parivox.report.charts.det import det, together
from parivox.report.charts.differences import differences
from parivox.report.charts.distributions import distributions
from parivox.report.charts.failures import failures
from parivox.report.charts.forest import forest
from parivox.report.charts.levels import levels
from parivox.report.charts.matrix import matrix
from parivox.report.charts.measures import measures
from parivox.report.charts.ranks import ranks
from parivox.report.charts.speakers import speakers
from parivox.report.charts.sweep import over_alpha, over_fpr
from parivox.report.charts.theme import altair
from parivox.report.charts.thresholds import thresholds

if TYPE_CHECKING:
    from collections.abc import Callable

    from parivox.auditing.result import Audit
    from parivox.report.charts.grammar import Spec

__all__ = ["Charts"]

_CHARTS: dict[str, Callable[..., Spec]] = {
    one.__name__: one
    for one in (
        speakers,
        forest,
        levels,
        failures,
        thresholds,
        det,
        together,
        distributions,
        matrix,
        measures,
        over_alpha,
        over_fpr,
        against,
        accuracy,
        differences,
        ranks,
    )
}


def _altair(draw: Callable[..., Spec], audit: Audit, **asked: Any) -> Any:
    """The chart as an object, which a notebook shows and which can be restyled."""
    return altair().Chart.from_dict(draw(audit, **asked))


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
        if name not in _CHARTS:
            msg = f"there is no chart {name!r}; there are {', '.join(_CHARTS)}"
            raise AttributeError(msg)
        return partial(_altair, _CHARTS[name], self._audit)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *_CHARTS]

    def __repr__(self) -> str:
        return f"<Charts: {', '.join(_CHARTS)}>"
