"""Charts of an audit, for the HTML report, notebooks and papers.

A kind of chart declares what it is drawn for and returns a Vega-Lite specification. For notebooks,
`parivox.report.charts.chart_functions.Charts` has each kind by its name. A chart that cannot be
drawn gives the reason in a `parivox.errors.ConfigError`.
"""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING

from parivox.auditing import system_name
from parivox.errors import ConfigError
from parivox.report.charts.chart import (
    Figure,
    chart_scope,
    systems_and_lists,
    widest_grouping,
)
from parivox.report.charts.comparison import against, differences, ranks
from parivox.report.charts.det import det, det_of_systems
from parivox.report.charts.draw import pdf, png, spec, svg
from parivox.report.charts.groups import failures, forest, rates_by_stratum, speakers
from parivox.report.charts.matrix import matrix
from parivox.report.charts.measures import accuracy, measures
from parivox.report.charts.scores import distributions, thresholds
from parivox.report.charts.sweep import over_alpha, over_fpr
from parivox.report.charts.theme import DARK, LIGHT, PAGE, PAPER, Theme, theme
from parivox.report.identification import is_identification

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from parivox.auditing import Audit
    from parivox.report.charts.chart import ChartScope, DrawnPer

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
    thresholds,
    accuracy,
    against,
    differences,
    ranks,
    speakers,
    forest,
    rates_by_stratum,
    failures,
    det_of_systems,
    det,
    distributions,
    matrix,
    measures,
    over_alpha,
    over_fpr,
)
"""Every kind of chart, in the order of the report."""
_MAX_PAIRS = 2
"""Pairs of the first system with another one that have figures."""


def figures(audit: Audit, *, theme: Theme = PAGE) -> list[Figure]:
    """Return every figure that makes sense for an audit, each at the first operating point.

    Figures for which the audit lacks something are left out.
    """
    drawn_figures: list[Figure] = []
    used_slugs: set[str] = set()
    if not audit.record["groupings"]:
        return drawn_figures
    kinds = [kind for kind in _KINDS if kind.has_searches or not is_identification(audit)]
    for kind in kinds:
        for scope, name_parts in _scopes(audit, kind.drawn_per):
            # a chart that the audit lacks something for is left out, not an error
            with contextlib.suppress(ConfigError):
                drawing = kind.draw(scope, theme)
                slug = _unique_slug((kind.name, *name_parts), used_slugs)
                row = (kind.name, scope.grouping) if name_parts else (kind.name,)
                drawn_figures.append(Figure(slug, kind.section, *drawing, row))
    return drawn_figures


def _scopes(audit: Audit, drawn_per: DrawnPer) -> Iterator[tuple[ChartScope, tuple[str, ...]]]:
    """Return what a kind of chart is drawn for, each with the parts of its name."""
    subjects = systems_and_lists(audit)
    if drawn_per in {"audit", "several"} and len(subjects) == 1:
        return
    if drawn_per == "audit":
        yield chart_scope(audit), ()
        return
    groupings = audit.record["groupings"]
    for grouping in [widest_grouping(audit)] if drawn_per == "widest" else groupings:
        if drawn_per in {"grouping", "several"}:
            yield chart_scope(audit, by=grouping), (grouping,)
        elif drawn_per == "pair":
            for subject in subjects[1 : 1 + _MAX_PAIRS]:
                pair = system_name(*subjects[0]), system_name(*subject)
                yield chart_scope(audit, by=grouping, systems=pair), ("-".join(pair), grouping)
        else:
            yield from _scopes_per_system(audit, grouping, is_per_list=drawn_per == "list")


def _scopes_per_system(
    audit: Audit, grouping: str, *, is_per_list: bool
) -> Iterator[tuple[ChartScope, tuple[str, ...]]]:
    """Return a scope for each system and list, or only for each list."""
    seen_lists: set[str] = set()
    for system, list_name in systems_and_lists(audit):
        if is_per_list and list_name in seen_lists:
            continue  # the speakers of a list do not depend on the system
        seen_lists.add(list_name)
        name = system_name(system, list_name)
        yield (
            chart_scope(audit, by=grouping, system=name),
            (list_name if is_per_list else name, grouping),
        )


def _unique_slug(name_parts: Iterable[str], used_slugs: set[str]) -> str:
    """Return a name for files and anchors that no other figure has, and add it to `used_slugs`."""
    plain = "-".join(
        re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-")[:32] for word in name_parts
    )
    plain = re.sub(r"-+", "-", plain).strip("-")
    slug, n = plain, 2
    while slug in used_slugs:
        slug, n = f"{plain}-{n}", n + 1
    used_slugs.add(slug)
    return slug
