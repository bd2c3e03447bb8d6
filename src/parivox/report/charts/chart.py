"""What every kind of chart declares, and the part of an audit that a chart shows.

For the modules that draw charts: `chart` declares one, `chart_scope` reads the options of a call.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from parivox.auditing import system_name
from parivox.errors import ConfigError, name_hint, printable
from parivox.report.audit_queries import TRIAL_ERRORS, Scope
from parivox.report.catalogue import full_sentence
from parivox.report.charts.theme import PAPER
from parivox.report.identification import is_identification
from parivox.report.overview import group_results

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from parivox.auditing import Audit
    from parivox.report.charts.grammar import Spec
    from parivox.report.charts.theme import Theme
    from parivox.report.overview import GroupResult

DrawnPer = Literal["list", "system", "widest", "audit", "several", "grouping", "pair", "asked"]
"""What there is one figure for.

``list`` and ``system`` mean each list, or each system and list, by grouping; ``widest`` is the same
for the widest grouping only; ``grouping`` means all systems, by grouping, and ``several`` the same
if there are several; ``audit`` means the whole audit of several systems, ``pair`` each pair of
them; ``asked`` charts are only drawn when called by name.
"""

CHOICES = ("by", "groups", "system", "systems", "allocation", "operating_point")
"""Options that `chart_scope` takes; other options belong to a kind of chart."""


class Drawing(NamedTuple):
    """A Vega-Lite specification with its texts, as a `Figure` has them."""

    spec: Spec
    title: str
    caption: str
    guide: str
    description: str


@dataclass(frozen=True, eq=False)
class Figure:
    """A chart with its texts, which contain names from users' files: escape them."""

    id: str
    """For file names and anchors."""
    section: str
    """Section of the report: explorer, compared, said, groups, det, pairs or measures."""
    chart: Spec
    """The Vega-Lite specification, which `parivox.report.charts.svg` and others take."""
    title: str
    caption: str
    """What is drawn, in a sentence."""
    guide: str
    """How to read it, in further sentences."""
    description: str
    """What it shows, for readers who cannot see it."""
    row: tuple[str, ...] = ()
    """The kind of figure and the grouping, which figures of several systems have in common."""

    @property
    def reading(self) -> str:
        """What is drawn, and how to read it."""
        return f"{self.caption} {self.guide}"


@dataclass(frozen=True, eq=False)
class Chart:
    """A kind of chart; called with an audit, it returns a Vega-Lite specification."""

    draw: Callable[..., Drawing]
    """Draws a `ChartScope` in a theme."""
    section: str
    drawn_per: DrawnPer
    name: str
    """Prefix of the ids of its figures."""
    has_searches: bool
    """Whether it also draws audits of identification."""

    def __call__(self, audit: Audit, *, theme: Theme = PAPER, **options: Any) -> Spec:
        """Return the specification; a `ConfigError` if the audit lacks what is asked for."""
        if is_identification(audit) and not self.has_searches:
            msg = f"{self.draw.__name__} is not drawn for identification"
            hint = "draw det"
            raise ConfigError(msg, hint)
        choices = {name: options.pop(name) for name in CHOICES if name in options}
        return self.draw(chart_scope(audit, **choices), theme, **options).spec


def chart(
    section: str, *, drawn_per: DrawnPer, name: str = "", has_searches: bool = False
) -> Callable[[Callable[..., Drawing]], Chart]:
    """Declare a kind of chart; it has the name of its function unless it has another `name`."""
    return lambda draw: Chart(draw, section, drawn_per, name or draw.__name__, has_searches)


# ---- which system, list, grouping and operating point


Row = dict[str, Any]
Subject = tuple[str, str]
"""A system and a list."""
Pair = tuple[Subject, Subject]
Names: TypeAlias = "str | Sequence[str] | None"
"""One name, several names, or None where no name is given."""

RATES = {metric: f"{words} ({metric.upper()})" for metric, words in TRIAL_ERRORS.items()}
_MAX_READABLE_GROUPS = 30
"""Charts by default prefer a grouping of at most this many groups."""
_MAX_NAME, _MAX_LABEL, _MAX_SYSTEM = 40, 22, 24
"""Letters of a name in a sentence, next to a mark, and of a system in a legend."""
_ZERO_WIDTH_JOINER = "\u200d"
"""Joins emoji; a shortened name must not end with it."""


@dataclass(frozen=True, eq=False)
class ChartScope:
    """One system, list, grouping and operating point of an audit."""

    audit: Audit
    system: str
    list: str
    grouping: str
    allocation: str
    operating_point: str
    asked_systems: tuple[Subject, ...] = ()
    """Systems and lists named by the user, if any."""
    asked_groups: tuple[str, ...] = ()
    """Groups named by the user, if any."""

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """Systems and lists of a chart that shows several: those named, or all."""
        return self.asked_systems or tuple(systems_and_lists(self.audit))

    @property
    def filters(self) -> dict[str, str]:
        """Filters for the tables of the audit, outside strata."""
        names = ("system", "list", "grouping", "allocation")
        return {name: getattr(self, name) for name in names} | {"within": ""}

    @property
    def point_filters(self) -> dict[str, str]:
        """`filters` at the operating point."""
        return {**self.filters, "operating_point": self.operating_point}

    @property
    def label(self) -> str:
        """The system, and the list if it has a name."""
        return system_name(self.system, self.list)

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """Every group that is drawn, in the order of the report, without the pooled row."""
        label = Scope(self.system, self.list, self.grouping, self.allocation).grouping_label
        positions = {
            line.group: n for n, line in enumerate(_lines(self.audit)) if line.grouping == label
        }
        groups = self.asked_groups or _groups(self.audit, self.filters)
        # groups that the report does not list come last, in their own order
        after_all = len(positions) + len(groups)
        return tuple(sorted(groups, key=lambda group: positions.get(group, after_all)))

    @cached_property
    def small_groups(self) -> set[str]:
        """Groups below a sample-size minimum for at least one error rate."""
        return self.groups_below_minimum("fpr+fnr", *RATES)

    def groups_below_minimum(self, *metrics: str) -> set[str]:
        """Return the groups below a sample-size minimum for these metrics."""
        rows = table_rows(self.audit, "verdicts", **self.point_filters)
        too_small = [row for row in rows if row["metric"] in metrics and row["gates"]]
        return {row["group"] for row in too_small if row["group"]}

    @cached_property
    def _labels(self) -> dict[str, str]:
        """Shortened names of the groups, all different."""
        group_by_label: dict[str, str] = {}
        for group in self.groups:
            # long names that begin alike have the same label, so later ones get a number
            label, n = shortened(group, _MAX_LABEL), 2
            while label in group_by_label:
                label = f"{shortened(group, _MAX_LABEL - len(str(n)) - 1)} {n}"
                n += 1
            group_by_label[label] = group
        return {group: label for label, group in group_by_label.items()}

    def group_label(self, group: str) -> str:
        """Return a group's shortened name, with a star if it is below a sample-size minimum."""
        return self._labels[group] + ("*" if group in self.small_groups else "")

    def rate_rows(self, metric: str) -> dict[str, Row]:
        """Return rows of a rate at the operating point by group; all groups are ``pooled``."""
        rows = table_rows(self.audit, "groups", **self.point_filters)
        crude = (row for row in rows if not row["definition"])
        return {row["group"]: row for row in crude if row["metric"] == metric}

    def metric_rows(self, metric: str, definition: str = "") -> dict[str, Row]:
        """Return rows of a metric that needs no operating point, by group."""
        filters = {**self.filters, "metric": metric, "definition": definition}
        return {row["group"]: row for row in table_rows(self.audit, "groups", **filters)}


def systems_and_lists(audit: Audit) -> list[Subject]:
    """Return every system and list of an audit."""
    return [(source["system"], source["list"]) for source in audit.record["inputs"]]


@lru_cache(maxsize=1)
def _cached_rows(_audit: Audit) -> dict[tuple[Any, ...], list[Row]]:
    """Return the cache of one audit's rows, as charts of several widths ask for the same rows."""
    return {}


@lru_cache(maxsize=1)
def _lines(audit: Audit) -> list[GroupResult]:
    """Return every group of every grouping, in the order of the report."""
    return group_results(audit)


def table_rows(audit: Audit, table: str, **filters: object) -> list[Row]:
    """Return rows of a table of an audit; the same list each time, so do not change it."""
    cache, key = _cached_rows(audit), (table, *filters.items())
    if key not in cache:
        cache[key] = getattr(audit, table).subset(**filters).rows()
    return cache[key]


def _groups(audit: Audit, filters: dict[str, str]) -> tuple[str, ...]:
    names = dict.fromkeys(row["group"] for row in table_rows(audit, "groups", **filters))
    return tuple(name for name in names if name != "pooled")


def _groups_by_grouping(audit: Audit) -> dict[str, tuple[str, ...]]:
    """Return the groups of each grouping."""
    system, list_name = systems_and_lists(audit)[0]
    filters = {"system": system, "list": list_name, "within": ""}
    return {
        grouping: _groups(audit, {**filters, "grouping": grouping})
        for grouping in audit.record["groupings"]
    }


def widest_grouping(audit: Audit) -> str:
    """Return the grouping of the most groups that fit in a chart, else that of the fewest."""
    sizes = {grouping: len(groups) for grouping, groups in _groups_by_grouping(audit).items()}
    readable = [name for name, size in sizes.items() if size <= _MAX_READABLE_GROUPS]
    if readable:
        return max(readable, key=sizes.__getitem__)
    return min(sizes, key=sizes.__getitem__)


def chart_scope(
    audit: Audit,
    *,
    by: str | None = None,
    groups: Names = None,
    system: str | None = None,
    systems: Names = None,
    allocation: str | None = None,
    operating_point: str | None = None,
) -> ChartScope:
    """Return what a chart shows; options that are not given take the audit's first.

    A `ConfigError` if the audit does not have what is asked for.
    """
    groupings = audit.record["groupings"]
    if not groupings:
        msg = "the audit has no groups"
        hint = "audit again with --by"
        raise ConfigError(msg, hint)
    asked_systems = _asked_subjects(audit, "systems", systems)
    candidates = asked_systems or _asked_subjects(audit, "system", system)
    candidates = candidates or tuple(systems_and_lists(audit))
    subject_system, subject_list = candidates[0]
    check_name("by", by, groupings)
    allocations = audit.record["options"]["allocate"]
    check_name("allocation", allocation, allocations)
    scope = ChartScope(
        audit,
        subject_system,
        subject_list,
        by or _default_grouping(audit, groups),
        allocation or allocations[0],
        _operating_point(audit, (subject_system, subject_list), operating_point),
        asked_systems,
    )
    known_groups, where = _groups(audit, scope.filters), f"in by={scope.grouping!r}"
    for group in {groups} if isinstance(groups, str) else groups or ():
        groupings_with_it = [
            grouping for grouping, names in _groups_by_grouping(audit).items() if group in names
        ]
        if group not in known_groups and groupings_with_it:
            msg = f"groups {group!r} is not {where}, but in by={groupings_with_it[0]!r}"
            hint = "choose groups of one grouping"
            raise ConfigError(msg, hint)
    return replace(scope, asked_groups=checked_names("groups", groups, known_groups, where))


def _operating_point(audit: Audit, subject: Subject, asked_point: str | None) -> str:
    """Return the operating point asked for, else the first that has a threshold, else the first."""
    system, list_name = subject
    rows = table_rows(audit, "operating_points", system=system, list=list_name, within="")
    points = [row["operating_point"] for row in rows]
    check_name("operating_point", asked_point, points)
    if asked_point:
        return asked_point
    with_threshold = [row["operating_point"] for row in rows if row["threshold"] is not None]
    candidates = [*with_threshold, *points]
    return candidates[0] if candidates else ""


def _default_grouping(audit: Audit, groups: Names) -> str:
    """Return the grouping that has all of these groups; the widest if none are named or fit."""
    asked_groups = {groups} if isinstance(groups, str) else {*(groups or ())}
    widest = widest_grouping(audit)
    with_all_groups = [
        grouping
        for grouping, known_groups in _groups_by_grouping(audit).items()
        if asked_groups and asked_groups <= {*known_groups}
    ]
    if widest in with_all_groups or not with_all_groups:
        return widest
    return with_all_groups[0]


def _asked_subjects(audit: Audit, option: str, asked: Names) -> tuple[Subject, ...]:
    """Return systems and lists by users' names for them; a system alone means all its lists."""
    by_name: dict[str, list[Subject]] = {}
    for subject in systems_and_lists(audit):
        system, _ = subject
        by_name.setdefault(system, []).append(subject)
    by_name |= {system_name(*subject): [subject] for subject in systems_and_lists(audit)}
    names = checked_names(option, asked, by_name)
    return tuple(dict.fromkeys(subject for name in names for subject in by_name[name]))


def checked_names(
    option: str, names: Names, known_names: Iterable[str], where: str = "of this audit"
) -> tuple[str, ...]:
    """Return one name or several as a tuple, each once; empty if none is given.

    A `ConfigError` for an empty sequence and for unknown names.
    """
    if names is None:
        return ()
    unique_names = (names,) if isinstance(names, str) else tuple(dict.fromkeys(names))
    if not unique_names:
        msg = f"{option} is empty"
        hint = f"leave it out for all of them, or choose from {', '.join(known_names)}"
        raise ConfigError(msg, hint)
    for name in unique_names:
        check_name(option, name, known_names, where)
    return unique_names


def check_name(
    option: str, name: str | None, known_names: Iterable[str], where: str = "of this audit"
) -> None:
    """Refuse an unknown name and suggest the nearest known one."""
    names = dict.fromkeys(known_names)
    if name is not None and name not in names:
        msg = f"{option} {name!r} is not {where}"
        hint = name_hint(name, names)
        raise ConfigError(msg, hint)


def shortened(name: str, max_length: int = _MAX_NAME) -> str:
    """Return a name on one line with at most this many letters."""
    safe_name = printable(name)
    if len(safe_name) <= max_length:
        return safe_name
    return f"{safe_name[: max_length - 1].rstrip(_ZERO_WIDTH_JOINER)}…"


def short_name(subject: Subject, max_length: int = _MAX_SYSTEM) -> str:
    """Return a system, and its list if that has a name, short enough for a legend."""
    return shortened(system_name(*subject), max_length)


def groups_to_draw(scope: ChartScope, max_groups: int) -> list[str]:
    """Return the groups to draw, in their order: of very many those with the most speakers."""
    if len(scope.groups) <= max_groups:
        return [*scope.groups]
    rows = table_rows(scope.audit, "groups", **scope.filters)
    sizes = {row["group"]: row["speakers"] or 0 for row in rows}
    largest = set(sorted(scope.groups, key=lambda name: -sizes[name])[:max_groups])
    return [name for name in scope.groups if name in largest]


def undrawn_sentence(scope: ChartScope, max_groups: int) -> str:
    """Return a sentence on the groups that are not drawn; empty if all are."""
    n_groups = len(scope.groups)
    if n_groups <= max_groups:
        return ""
    return " " + full_sentence("groups_not_drawn", drawn=max_groups, groups=n_groups)


def systems_to_compare(scope: ChartScope) -> Pair:
    """Return the two systems or lists that are named, or the first two of the audit."""
    if len(systems_and_lists(scope.audit)) < 2:
        msg = "the audit has only one system and list"
        hint = "audit at least two systems or lists to compare them"
        raise ConfigError(msg, hint)
    if len(scope.asked_systems) not in {0, 2}:
        names = ", ".join(system_name(*subject) for subject in scope.asked_systems)
        msg = f"systems names {names}"
        hint = "name two systems or lists"
        raise ConfigError(msg, hint)
    return scope.subjects[0], scope.subjects[1]
