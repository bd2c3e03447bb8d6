"""Charts of an audit: for the page, for notebooks and for papers.

Each chart declares what it is drawn for and takes from an audit what Vega-Lite draws it from;
`parivox.report.charts.chart_functions.Charts` has each by its name, for notebooks. A chart that
cannot be drawn says why in a `parivox.errors.ConfigError`.
"""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING

from parivox.auditing import system_name
from parivox.errors import ConfigError
from parivox.report.charts.chart import Figure, choose, subjects, widest
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
    from collections.abc import Iterable, Iterator

    from parivox.auditing import Audit
    from parivox.report.charts.chart import Chosen, Per

    Case = tuple[Chosen, tuple[str, ...]]

__all__ = [
    "DARK",
    "LIGHT",
    "PAGE",
    "PAPER",
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
    *(thresholds, accuracy, against, differences, ranks, speakers, forest, levels, failures),
    *(together, det, distributions, matrix, measures, over_alpha, over_fpr),
)
"""Every kind of chart, in the order of the page."""
_MOST_PAIRS = 2


def figures(audit: Audit, *, theme: Theme = PAGE) -> list[Figure]:
    """Every figure that makes sense for an audit, each at the first operating point.

    Figures for which the audit lacks something are left out.
    """
    made: list[Figure] = []
    taken: set[str] = set()
    if not audit.record["groupings"]:
        return made
    for kind in _KINDS:
        for chosen, parts in _cases(audit, kind.per):
            with contextlib.suppress(ConfigError):
                drawing = kind.draw(chosen, theme)
                slug = _slug((kind.name, *parts), taken)
                made.append(Figure(slug, kind.section, *drawing))
    return made


def _cases(audit: Audit, per: Per) -> Iterator[Case]:
    """What a kind of figure is drawn for, and its name."""
    of, groupings = subjects(audit), audit.record["groupings"]
    if per in {"audit", "several"} and len(of) == 1:
        return
    if per == "audit":
        yield choose(audit), ()
        return
    for grouping in [widest(audit)] if per == "widest" else groupings:
        if per in {"grouping", "several"}:
            yield choose(audit, by=grouping), (grouping,)
        elif per == "pair":
            for other in of[1 : 1 + _MOST_PAIRS]:
                pair = system_name(*of[0]), system_name(*other)
                yield choose(audit, by=grouping, systems=pair), ("-".join(pair), grouping)
        else:
            for place, (system, listed) in enumerate(of):
                if per == "list" and listed in [before for _, before in of[:place]]:
                    continue  # whom a list holds does not depend on the system
                whole = system_name(system, listed)
                name = listed if per == "list" else whole
                yield choose(audit, by=grouping, system=whole), (name, grouping)


def _slug(parts: Iterable[str], taken: set[str]) -> str:
    """A name for files and anchors, which no other figure has."""
    plain = "-".join(re.sub(r"[^a-z0-9]+", "-", part.lower()).strip("-")[:32] for part in parts)
    plain = re.sub(r"-+", "-", plain).strip("-")
    slug, n = plain, 2
    while slug in taken:
        slug, n = f"{plain}-{n}", n + 1
    taken.add(slug)
    return slug
