"""What every chart declares, and the figures of an audit: each kind for all it can be drawn for."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from parivox.auditing.result import system_name
from parivox.errors import ConfigError
from parivox.report.charts.chosen import choose, subjects, widest
from parivox.report.charts.theme import PAPER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from parivox.auditing.result import Audit
    from parivox.report.charts.chosen import Chosen
    from parivox.report.charts.grammar import Spec
    from parivox.report.charts.theme import Theme

    Case = tuple[Chosen, dict[str, Any], tuple[str, ...]]

Per = Literal["list", "system", "widest", "audit", "several", "grouping", "pair"]
"""What there is one figure for: each list, or each system and list, by grouping; the same of the
widest grouping only; all systems, by grouping (`several`: if there are several); the whole audit of
several systems; each pair of them."""

OF_ONE = ("by", "system", "list", "allocation")
OF_ALL = ("by", "allocation", "operating_point")
_MOST_LIVE = 40
"""Groups up to which a chart that answers to the pointer is worth its size."""
_MOST_PAIRS = 2


class Drawing(NamedTuple):
    """What Vega-Lite draws a chart from; its title, how to read it, and what it shows."""

    spec: Spec
    title: str
    reading: str
    description: str


@dataclass(frozen=True, eq=False)
class Figure:
    """A chart with its words, which hold names from users' files: escape them."""

    id: str
    """Fit for a file name and an anchor."""
    section: str
    """Of the page: answer, groups, explorer, det, pairs, measures, compared or list."""
    chart: Spec
    """What Vega-Lite draws it from; :func:`parivox.report.charts.svg` and its kin take it."""
    title: str
    reading: str
    """How to read it."""
    description: str
    """What it shows, for those who do not see it."""
    live: bool = False
    """Whether a page gains by a chart that answers to the pointer."""


@dataclass(frozen=True, eq=False)
class Chart:
    """A kind of chart: called with an audit, it tells what Vega-Lite draws."""

    draw: Callable[..., Drawing]
    """Of what is chosen of an audit, in a theme."""
    section: str
    per: Per
    asks: tuple[str, ...]
    """What may be chosen when it is called; the first that the audit has where it is not."""
    name: str
    """Its figures begin with it."""
    is_live: bool

    @property
    def method(self) -> str:
        """What it is called in a notebook."""
        return self.draw.__name__

    def __call__(self, audit: Audit, *, theme: Theme = PAPER, **asked: Any) -> Spec:
        """What Vega-Lite draws; a `ConfigError` if the audit lacks what is asked for or taken."""
        chosen = {name: asked.pop(name) for name in self.asks if name in asked}
        return self.draw(choose(audit, **chosen), theme, **asked).spec


def chart(
    section: str, *, per: Per, asks: tuple[str, ...] = (), name: str = "", is_live: bool = False
) -> Callable[[Callable[..., Drawing]], Chart]:
    """Declare a kind of chart; it is called as its function unless it has another `name`."""
    return lambda draw: Chart(draw, section, per, asks, name or draw.__name__, is_live)


# ---- every figure


def figures_of(audit: Audit, kinds: Sequence[Chart], theme: Theme) -> list[Figure]:
    """Figures of these kinds, each at the first operating point; those that lack something not."""
    made: list[Figure] = []
    taken: set[str] = set()
    if not audit.record["groupings"]:
        return made
    for kind in kinds:
        for chosen, more, parts in _cases(audit, kind.per):
            with contextlib.suppress(ConfigError):
                drawing = kind.draw(chosen, theme, **more)
                is_live = kind.is_live and len(chosen.groups) <= _MOST_LIVE
                made.append(
                    Figure(_slug((kind.name, *parts), taken), kind.section, *drawing, is_live)
                )
    return made


def _cases(audit: Audit, per: Per) -> Iterator[Case]:
    """What a kind of figure is drawn for: what is chosen, what else it takes, and its name."""
    of, groupings = subjects(audit), audit.record["groupings"]
    if per in {"audit", "several"} and len(of) == 1:
        return
    if per == "audit":
        yield choose(audit), {}, ()
        return
    for grouping in [widest(audit)] if per == "widest" else groupings:
        if per in {"grouping", "several"}:
            yield choose(audit, by=grouping), {}, (grouping,)
        elif per == "pair":
            for other in of[1 : 1 + _MOST_PAIRS]:
                name = f"{system_name(*of[0])}-{system_name(*other)}"
                yield choose(audit, by=grouping), {"pair": (of[0], other)}, (name, grouping)
        else:
            for place, (system, listed) in enumerate(of):
                if per == "list" and listed in [before for _, before in of[:place]]:
                    continue  # whom a list holds does not depend on the system
                name = listed if per == "list" else system_name(system, listed)
                yield choose(audit, by=grouping, system=system, list=listed), {}, (name, grouping)


def _slug(parts: Iterable[str], taken: set[str]) -> str:
    """A name for files and anchors, which no other figure has."""
    plain = "-".join(re.sub(r"[^a-z0-9]+", "-", part.lower()).strip("-")[:32] for part in parts)
    plain = re.sub(r"-+", "-", plain).strip("-")
    slug, n = plain, 2
    while slug in taken:
        slug, n = f"{plain}-{n}", n + 1
    taken.add(slug)
    return slug
