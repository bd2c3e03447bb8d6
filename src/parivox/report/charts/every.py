"""Every figure that an audit has something for, in the order of the page."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable  # noqa: TC003 - a field of a class that is made
from typing import TYPE_CHECKING, Any, NamedTuple

from parivox.errors import ConfigError
from parivox.report.charts import (
    accuracy,
    against,
    det,
    differences,
    distributions,
    failures,
    forest,
    levels,
    matrix,
    measures,
    ranks,
    speakers,
    sweep,
    thresholds,
)
from parivox.report.charts.chosen import Chosen, choose, named, subjects, widest
from parivox.report.charts.figure import Figure, Told
from parivox.report.charts.theme import PAGE, Theme

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from parivox.auditing.result import Audit

__all__ = ["figures"]

_LIVE = {"forest", "matrix"}
_MOST_LIVE = 40
"""Groups up to which a chart that answers to the pointer is worth its size."""
_MOST_PAIRS = 2


class Kind(NamedTuple):
    """A kind of figure, what there is one of it for, and what its chart is told of that."""

    section: str
    name: str
    draw: Callable[..., Any]
    tell: Callable[..., Told]
    per: str
    asked: tuple[str, ...]


_ONE = ("by", "system", "list", "allocation")
_ALL = ("by", "allocation", "operating_point")
_KINDS = (
    Kind("answer", "speakers", speakers.speakers, speakers.told, "list", _ONE),
    Kind("groups", "forest", forest.forest, forest.told, "system", (*_ONE, "operating_point")),
    Kind("groups", "levels", levels.levels, levels.told, "widest", (*_ONE, "operating_point")),
    Kind("groups", "failures", failures.failures, failures.told, "widest", _ONE),
    Kind("explorer", "thresholds", thresholds.thresholds, thresholds.told, "widest", _ONE),
    Kind("det", "det-systems", det.together, det.told_together, "audit", ()),
    Kind("det", "det", det.det, det.told, "system", _ONE),
    Kind("det", "scores", distributions.distributions, distributions.told, "widest", _ONE),
    Kind(
        *("pairs", "matrix", matrix.matrix, matrix.told, "widest"),
        ("by", "system", "list", "operating_point"),
    ),
    Kind("measures", "measures", measures.measures, measures.told, "grouping", _ALL),
    Kind("measures", "over-alpha", sweep.over_alpha, sweep.told_over_alpha, "grouping", _ALL),
    Kind("measures", "over-fpr", sweep.over_fpr, sweep.told_over_fpr, "grouping", _ALL[:2]),
    Kind("compared", "accuracy", accuracy.accuracy, accuracy.told_accuracy, "several", _ALL),
    Kind("compared", "against", against.against, against.told_against, "pair", _ALL),
    Kind(
        "compared",
        "differences",
        differences.differences,
        differences.told_differences,
        "pair",
        _ALL,
    ),
    Kind("compared", "ranks", ranks.ranks, ranks.told_ranks, "pair", _ALL),
)
"""Every kind of figure, in the order of the page."""


def figures(audit: Audit, *, theme: Theme = PAGE) -> list[Figure]:
    """Every figure that makes sense for an audit, each at the first operating point.

    Figures for which the audit lacks something are left out.

    Parameters
    ----------
    audit
        What to draw.
    theme
        How it looks: as a page by default, or ``theme(for_page=False, width=3.5)``.
    """
    made: list[Figure] = []
    taken: set[str] = set()
    if not audit.record["groupings"]:
        return made
    for kind in _KINDS:
        for chosen, more, parts in _cases(audit, kind.per):
            asked = {name: _ASKED[name](chosen) for name in kind.asked} | more
            with contextlib.suppress(ConfigError):
                told = kind.tell(chosen, **more)
                chart = kind.draw(audit, theme=theme, **asked)
                is_live = kind.name in _LIVE and len(chosen.groups) <= _MOST_LIVE
                slug = _slug((kind.name, *parts), taken)
                made.append(Figure(slug, kind.section, *told, chart=chart, live=is_live))
    return made


_ASKED: dict[str, Callable[[Chosen], str]] = {
    "by": lambda chosen: chosen.grouping,
    "system": lambda chosen: chosen.system,
    "list": lambda chosen: chosen.list,
    "allocation": lambda chosen: chosen.allocation,
    "operating_point": lambda chosen: chosen.point,
}


if TYPE_CHECKING:
    Case = tuple[Chosen, dict[str, Any], tuple[str, ...]]


def _cases(audit: Audit, per: str) -> Iterator[Case]:
    """What a kind of figure is drawn for: what is chosen, what else it is told, and its name."""
    of, groupings = subjects(audit), audit.record["groupings"]
    if per in {"list", "system", "widest"}:
        yield from _apart(audit, per)
    elif per == "audit":
        if len(of) > 1:
            yield choose(audit), {}, ()
    elif per == "pair":
        for grouping in groupings:
            for other in of[1 : 1 + _MOST_PAIRS]:
                name = f"{named(*of[0])}-{named(*other)}"
                yield choose(audit, by=grouping), {"pair": (of[0], other)}, (name, grouping)
    elif per == "grouping" or len(of) > 1:
        for grouping in groupings:
            yield choose(audit, by=grouping), {}, (grouping,)


def _apart(audit: Audit, per: str) -> Iterator[Case]:
    """Each list, or each system and list: of every grouping, or of the widest."""
    of = subjects(audit)
    for grouping in [widest(audit)] if per == "widest" else audit.record["groupings"]:
        for system, listed in _first_of_lists(of) if per == "list" else of:
            name = listed if per == "list" else named(system, listed)
            one = choose(audit, by=grouping, system=system, list=listed)
            yield one, {}, (name, grouping)


def _first_of_lists(of: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """One system of each list: whom a list holds does not depend on the system."""
    return [one for i, one in enumerate(of) if one[1] not in {listed for _, listed in of[:i]}]


def _slug(parts: Iterable[str], taken: set[str]) -> str:
    """A name for files and anchors, which no other figure has."""
    plain = "-".join(re.sub(r"[^a-z0-9]+", "-", part.lower()).strip("-")[:32] for part in parts)
    plain = re.sub(r"-+", "-", plain).strip("-")
    slug, n = plain, 2
    while slug in taken:
        slug, n = f"{plain}-{n}", n + 1
    taken.add(slug)
    return slug
