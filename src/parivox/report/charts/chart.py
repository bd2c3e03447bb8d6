"""What every chart declares, and the figures of an audit: each kind for all it can be drawn for."""

from __future__ import annotations

import contextlib
import inspect
import re
from dataclasses import dataclass
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from parivox.errors import ConfigError
from parivox.report.charts.chosen import choose, named, subjects, widest
from parivox.report.charts.theme import PAPER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from parivox.auditing.result import Audit
    from parivox.report.charts.chosen import Chosen
    from parivox.report.charts.grammar import Spec
    from parivox.report.charts.theme import Theme

    Case = tuple[Chosen, dict[str, Any], tuple[str, ...]]
    Per = Literal["list", "system", "widest", "audit", "several", "grouping", "pair"]

OF_ONE = ("by", "system", "list", "allocation")
OF_ALL = ("by", "allocation", "operating_point")
_MOST_LIVE = 40
"""Groups up to which a chart that answers to the pointer is worth its size."""
_MOST_PAIRS = 2


class Words(NamedTuple):
    """What is said of a chart: its title, how to read it, and what it shows."""

    title: str
    reading: str
    description: str


class Drawing(NamedTuple):
    """What Vega-Lite draws a chart from, and its words."""

    spec: Spec
    words: Words


@dataclass(frozen=True, eq=False)
class Figure:
    """A chart with its words.

    Attributes
    ----------
    id : str
        Fit for a file name and an anchor.
    section : str
        Of the page: answer, groups, explorer, det, pairs, measures, compared or list.
    title, reading, description : str
        What it is; how to read it; what it shows, for those who do not see it. They hold
        names from users' files: escape them.
    chart : dict
        What Vega-Lite draws it from; :func:`parivox.report.charts.svg` and its kin take it.
    live : bool
        Whether a page gains by a chart that answers to the pointer.
    """

    id: str
    section: str
    title: str
    reading: str
    description: str
    chart: Spec
    live: bool = False


class Chart:
    """A kind of chart: called with an audit, it tells what Vega-Lite draws.

    Attributes
    ----------
    method, name, section : str
        What it is called in a notebook, what its figures are called, and their section of the page.
    draw : callable
        Makes a `Drawing` of what is chosen of an audit, in a theme.
    per : str
        What there is one figure of it for.
    asks : tuple of str
        What may be chosen when it is called; the first that the audit has where it is not.
    is_live : bool
        Whether a page gains by one that answers to the pointer.
    """

    def __init__(
        self,
        draw: Callable[..., Drawing],
        *,
        section: str,
        per: Per,
        asks: tuple[str, ...],
        name: str,
        is_live: bool,
    ) -> None:
        self.method, self.name = draw.__name__, name or draw.__name__
        self.section, self.per = section, per
        self.asks, self.is_live, self.draw = asks, is_live, draw
        update_wrapper(self, draw)
        own = list(inspect.signature(draw).parameters.values())[2:]
        kind = inspect.Parameter.KEYWORD_ONLY
        chosen = [inspect.Parameter(one, kind, default=None) for one in asks]
        self.__signature__ = inspect.Signature(
            [
                inspect.Parameter("audit", inspect.Parameter.POSITIONAL_OR_KEYWORD),
                *chosen,
                *own,
                inspect.Parameter("theme", kind, default=PAPER),
            ]
        )

    def __call__(self, audit: Audit, *, theme: Theme = PAPER, **asked: Any) -> Spec:
        """What Vega-Lite draws the chart from.

        Raises
        ------
        ConfigError
            If the audit lacks what is asked for, or what the chart takes.
        """
        chosen = {name: asked.pop(name) for name in self.asks if name in asked}
        return self.draw(choose(audit, **chosen), theme, **asked).spec


def chart(
    section: str,
    *,
    per: Per,
    asks: tuple[str, ...] = (),
    name: str = "",
    is_live: bool = False,
) -> Callable[[Callable[..., Drawing]], Chart]:
    """Declare a kind of chart; it is called as its function unless it has another `name`."""

    def declared(draw: Callable[..., Drawing]) -> Chart:
        return Chart(draw, section=section, per=per, asks=asks, name=name, is_live=is_live)

    return declared


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
                spec, words = kind.draw(chosen, theme, **more)
                is_live = kind.is_live and len(chosen.groups) <= _MOST_LIVE
                slug = _slug((kind.name, *parts), taken)
                made.append(Figure(slug, kind.section, *words, chart=spec, live=is_live))
    return made


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
