"""A kind of chart: what it declares, and what of an audit it shows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from parivox.auditing import system_name
from parivox.errors import ConfigError, name_hint, printable
from parivox.report.audit_queries import Scope
from parivox.report.charts.theme import PAPER
from parivox.report.overview import group_results

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from parivox.auditing import Audit
    from parivox.report.charts.grammar import Spec
    from parivox.report.charts.theme import Theme
    from parivox.report.overview import GroupResult

Per = Literal["list", "system", "widest", "audit", "several", "grouping", "pair", "asked"]
"""What there is one figure for: each list, or each system and list, by grouping; the same of the
widest grouping only; all systems, by grouping (`several`: if there are several); the whole audit of
several systems; each pair of them; none, but for who asks by name (`asked`)."""

CHOICES = ("by", "groups", "system", "systems", "allocation", "operating_point")
"""What `choose` takes; the rest that a chart is called with is its own."""


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
    """Of the page: explorer, compared, said, groups, det, pairs or measures."""
    chart: Spec
    """What Vega-Lite draws it from; `parivox.report.charts.svg` and its kin take it."""
    title: str
    reading: str
    """How to read it."""
    description: str
    """What it shows, for those who do not see it."""


@dataclass(frozen=True, eq=False)
class Chart:
    """A kind of chart: called with an audit, it tells what Vega-Lite draws."""

    draw: Callable[..., Drawing]
    """Of what is chosen of an audit, in a theme."""
    section: str
    per: Per
    name: str
    """Its figures begin with it."""

    def __call__(self, audit: Audit, *, theme: Theme = PAPER, **asked: Any) -> Spec:
        """What Vega-Lite draws; a `ConfigError` if the audit lacks what is asked for or taken."""
        chosen = {name: asked.pop(name) for name in CHOICES if name in asked}
        return self.draw(choose(audit, **chosen), theme, **asked).spec


def chart(section: str, *, per: Per, name: str = "") -> Callable[[Callable[..., Drawing]], Chart]:
    """Declare a kind of chart; it is called as its function unless it has another `name`."""
    return lambda draw: Chart(draw, section, per, name or draw.__name__)


# ---- which system, list, grouping and operating point


Row = dict[str, Any]
Subject = tuple[str, str]
"""A system and a list."""
Pair = tuple[Subject, Subject]
Names: TypeAlias = "str | Sequence[str] | None"
"""One name, several of them, or none asked for."""

RATES = {"fnr": "false rejects (FNR)", "fpr": "false accepts (FPR)"}
_READABLE = 30
"""So many groups at most are a grouping that charts choose by themselves."""
_CUT, _LABEL, _SHORT = 40, 22, 24
"""Letters of a name in a sentence, beside a mark, and of a system in a legend."""
_JOINER = "\u200d"
"""Of emoji; none ends a name that is cut."""


@dataclass(frozen=True, eq=False)
class Chosen:
    """One system, list, grouping and operating point of an audit."""

    audit: Audit
    system: str
    list: str
    grouping: str
    allocation: str
    point: str
    asked: tuple[Subject, ...] = ()
    """Systems and lists that were asked for, if any were."""
    only: tuple[str, ...] = ()
    """Groups that were asked for, if any were."""

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """The systems and lists of a chart of several: those asked for, or all."""
        return self.asked or tuple(subjects(self.audit))

    @property
    def where(self) -> dict[str, str]:
        """To ask the audit's tables with."""
        names = ("system", "list", "grouping", "allocation")
        return {name: getattr(self, name) for name in names} | {"within": ""}

    @property
    def at(self) -> dict[str, str]:
        """The same at the operating point."""
        return {**self.where, "operating_point": self.point}

    @property
    def label(self) -> str:
        """The system, and the list if it has a name."""
        return system_name(self.system, self.list)

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """Every group that is drawn, in the one order of a report, without the pooled row."""
        of = Scope(self.system, self.list, self.grouping, self.allocation).grouping_label
        place = {line.group: n for n, line in enumerate(_lines(self.audit)) if line.grouping == of}
        known = self.only or _groups(self.audit, self.where)
        return tuple(sorted(known, key=lambda group: place.get(group, len(place) + len(known))))

    @cached_property
    def gates(self) -> set[str]:
        """Groups that have too little for either rate to count."""
        return self.few("fpr+fnr", *RATES)

    def few(self, *metrics: str) -> set[str]:
        """Groups that have too little for these rates to count."""
        rows = rows_of(self.audit, "verdicts", **self.at)
        judged = [row for row in rows if row["metric"] in metrics and row["gates"]]
        return {row["group"] for row in judged if row["group"]}

    @cached_property
    def _labels(self) -> dict[str, str]:
        """Names that charts have room for, no two alike."""
        made: dict[str, str] = {}
        for group in self.groups:
            label, n = cut(group, _LABEL), 2
            while label in made:
                label, n = f"{cut(group, _LABEL - len(str(n)) - 1)} {n}", n + 1
            made[label] = group
        return {group: label for label, group in made.items()}

    def marked(self, group: str) -> str:
        """A group's name as long as a chart has room for, with a star if it fails a gate."""
        return self._labels[group] + ("*" if group in self.gates else "")

    def rates(self, metric: str) -> dict[str, Row]:
        """Rows of a rate at the operating point by group; that of all is called pooled."""
        rows = rows_of(self.audit, "groups", **self.at)
        crude = (row for row in rows if not row["definition"])
        return {row["group"]: row for row in crude if row["metric"] == metric}

    def metric(self, metric: str, definition: str = "") -> dict[str, Row]:
        """Rows of a metric that needs no operating point, by group."""
        asked = {**self.where, "metric": metric, "definition": definition}
        return {row["group"]: row for row in rows_of(self.audit, "groups", **asked)}


def subjects(audit: Audit) -> list[Subject]:
    """Every system and list."""
    return [(one["system"], one["list"]) for one in audit.record["inputs"]]


@lru_cache(maxsize=1)
def _answers(_audit: Audit) -> dict[tuple[Any, ...], list[Row]]:
    """Answers of one audit, as charts of several widths ask for the same."""
    return {}


@lru_cache(maxsize=1)
def _lines(audit: Audit) -> list[GroupResult]:
    """Every group of every grouping, in order."""
    return group_results(audit)


def rows_of(audit: Audit, table: str, **where: object) -> list[Row]:
    """Rows of a table of an audit; the same list each time, which is not to be changed."""
    known, asked = _answers(audit), (table, *where.items())
    if asked not in known:
        known[asked] = getattr(audit, table).where(**where).rows()
    return known[asked]


def _groups(audit: Audit, where: dict[str, str]) -> tuple[str, ...]:
    names = dict.fromkeys(row["group"] for row in rows_of(audit, "groups", **where))
    return tuple(name for name in names if name != "pooled")


def _by_grouping(audit: Audit) -> dict[str, tuple[str, ...]]:
    """The groups of each grouping."""
    system, listed = subjects(audit)[0]
    where = {"system": system, "list": listed, "within": ""}
    return {by: _groups(audit, {**where, "grouping": by}) for by in audit.record["groupings"]}


def widest(audit: Audit) -> str:
    """The grouping of the most groups that a chart has room for, else that of the fewest."""
    sizes = {grouping: len(groups) for grouping, groups in _by_grouping(audit).items()}
    fitting = [name for name, size in sizes.items() if size <= _READABLE]
    return max(fitting, key=sizes.__getitem__) if fitting else min(sizes, key=sizes.__getitem__)


def choose(
    audit: Audit,
    *,
    by: str | None = None,
    groups: Names = None,
    system: str | None = None,
    systems: Names = None,
    allocation: str | None = None,
    operating_point: str | None = None,
) -> Chosen:
    """What to show; what is not asked for is the first that the audit has.

    A `ConfigError` if the audit does not have what is asked for.
    """
    groupings = audit.record["groupings"]
    if not groupings:
        msg = "the audit has no groups; audit again with --by"
        raise ConfigError(msg)
    asked = _asked(audit, "systems", systems)
    chosen, listed = next(iter(asked or _asked(audit, "system", system) or subjects(audit)))
    check("by", by, groupings)
    allocations = audit.record["options"]["allocate"]
    check("allocation", allocation, allocations)
    rows = rows_of(audit, "operating_points", system=chosen, list=listed, within="")
    points = [row["operating_point"] for row in rows]
    check("operating_point", operating_point, points)
    with_threshold = [row["operating_point"] for row in rows if row["threshold"] is not None]
    point = operating_point or next(iter(with_threshold or points), "")
    by, allocation = by or _grouping_of(audit, groups), allocation or allocations[0]
    found = Chosen(audit, chosen, listed, by, allocation, point, asked)
    known, of = _groups(audit, found.where), f"of by={by!r}"
    for one in {groups} if isinstance(groups, str) else groups or ():
        elsewhere = [other for other, names in _by_grouping(audit).items() if one in names]
        if one not in known and elsewhere:
            msg = (
                f"groups {one!r} is not {of}, but of by={elsewhere[0]!r}; a chart has one grouping"
            )
            raise ConfigError(msg)
    return replace(found, only=several("groups", groups, known, of))


def _grouping_of(audit: Audit, groups: Names) -> str:
    """The grouping that has all of these groups; if none is asked for, or none has, the widest."""
    asked = {groups} if isinstance(groups, str) else {*(groups or ())}
    first = widest(audit)
    having = [by for by, known in _by_grouping(audit).items() if asked and asked <= {*known}]
    return first if first in having or not having else having[0]


def _asked(audit: Audit, option: str, asked: Names) -> tuple[Subject, ...]:
    """Systems and lists by the names that users have for them; a system alone is all its lists."""
    by_name: dict[str, list[Subject]] = {}
    for one in subjects(audit):
        by_name.setdefault(one[0], []).append(one)
    by_name |= {system_name(*one): [one] for one in subjects(audit)}
    names = several(option, asked, by_name)
    return tuple(dict.fromkeys(one for name in names for one in by_name[name]))


def several(
    option: str, asked: Names, known: Iterable[str], where: str = "of this audit"
) -> tuple[str, ...]:
    """What is asked for by one name or several, each once; empty if nothing is."""
    if asked is None:
        return ()
    names = (asked,) if isinstance(asked, str) else tuple(dict.fromkeys(asked))
    if not names:
        msg = f"{option} names none; leave it out for all, or name some: {', '.join(known)}"
        raise ConfigError(msg)
    for one in names:
        check(option, one, known, where)
    return names


def check(
    option: str, asked: str | None, known: Iterable[str], where: str = "of this audit"
) -> None:
    """Refuse a name that is not known, with what may be meant."""
    names = dict.fromkeys(known)
    if asked is not None and asked not in names:
        msg = f"{option} {asked!r} is not {where}; {name_hint(asked, names)}"
        raise ConfigError(msg)


def cut(name: str, most: int = _CUT) -> str:
    """A name as a sentence has room for it, on one line."""
    safe = printable(name)
    return safe if len(safe) <= most else f"{safe[: most - 1].rstrip(_JOINER)}…"


def short_name(of: Subject, most: int = _SHORT) -> str:
    """A system, and its list if that has a name, as a legend has room for it."""
    return cut(system_name(*of), most)


def kept(chosen: Chosen, most: int) -> list[str]:
    """Groups to draw, in their order: of very many those with the most speakers."""
    if len(chosen.groups) <= most:
        return [*chosen.groups]
    rows = rows_of(chosen.audit, "groups", **chosen.where)
    sizes = {row["group"]: row["speakers"] or 0 for row in rows}
    first = set(sorted(chosen.groups, key=lambda name: -sizes[name])[:most])
    return [name for name in chosen.groups if name in first]


def left_out(chosen: Chosen, most: int) -> str:
    """A sentence on the groups that are not drawn; empty if all are."""
    n = len(chosen.groups)
    return f" Of {n} groups, the {most} with the most speakers are drawn." if n > most else ""


def paired(chosen: Chosen) -> Pair:
    """The two systems or lists that are asked for, or the first two that the audit has."""
    if len(subjects(chosen.audit)) < 2:
        msg = "the audit is of one system and list; there is nothing to compare it with"
        raise ConfigError(msg)
    if len(chosen.asked) not in {0, 2}:
        names = ", ".join(system_name(*one) for one in chosen.asked)
        msg = f"systems names {names}; a comparison takes two systems or lists"
        raise ConfigError(msg)
    return chosen.subjects[0], chosen.subjects[1]
