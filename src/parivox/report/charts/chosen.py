"""What of an audit a chart shows: which system, list, grouping and operating point."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from parivox.errors import ConfigError, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parivox.auditing.result import Audit

Row = dict[str, Any]
RATES = {"fnr": "locked out (FNR)", "fpr": "impostors in (FPR)"}
_READABLE = 30
"""So many groups at most are a grouping that charts choose by themselves."""


@dataclass(frozen=True, eq=False)
class Chosen:
    """One system, list, grouping and operating point of an audit."""

    audit: Audit
    system: str
    list: str
    grouping: str
    allocation: str
    point: str

    @property
    def where(self) -> dict[str, str]:
        """To ask the audit's tables with."""
        return {
            "system": self.system,
            "list": self.list,
            "grouping": self.grouping,
            "allocation": self.allocation,
            "within": "",
        }

    @property
    def at(self) -> dict[str, str]:
        """The same at the operating point."""
        return {**self.where, "operating_point": self.point}

    @property
    def label(self) -> str:
        """The system, and the list if it has a name."""
        return named(self.system, self.list)

    @property
    def attributes(self) -> tuple[str, ...]:
        """What the grouping is made of."""
        return tuple(self.grouping.split("+"))

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """Every group, in the audit's order, without the pooled row."""
        return groups_of(self.audit, self.where)

    @cached_property
    def gates(self) -> dict[str, str]:
        """What each group lacks, of those that lack anything."""
        rows = rows_of(self.audit, "verdicts", **self.at)
        judged = [row for row in rows if row["metric"] in {"fpr+fnr", *RATES}]
        judged.sort(key=lambda row: ("fpr+fnr", *RATES).index(row["metric"]))
        return {row["group"]: row["gates"] for row in judged if row["group"] and row["gates"]}

    def few(self, metric: str) -> set[str]:
        """Groups that have too little for this rate to count."""
        judged = [r for r in rows_of(self.audit, "verdicts", **self.at) if r["metric"] == metric]
        return {row["group"] for row in judged if row["group"] and row["gates"]}

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

    @cached_property
    def threshold(self) -> float | None:
        """The score from which trials are accepted at the operating point."""
        asked = {"system": self.system, "list": self.list, "operating_point": self.point}
        rows = rows_of(self.audit, "operating_points", **asked, within="")
        return rows[0]["threshold"] if rows else None


def named(system: str, listed: str) -> str:
    """A system, and its list if that has a name.

    Examples
    --------
    >>> named("V2", ""), named("V2", "H")
    ('V2', 'V2@H')
    """
    return f"{system}@{listed}" if listed else system


def subjects(audit: Audit) -> list[tuple[str, str]]:
    """Every system and list."""
    return [(one["system"], one["list"]) for one in audit.record["inputs"]]


@lru_cache(maxsize=1)
def _asked(_audit: Audit) -> dict[tuple[Any, ...], list[Row]]:
    """Answers of one audit, as charts and their words ask for the same."""
    return {}


def rows_of(audit: Audit, table: str, **where: object) -> list[Row]:
    """Rows of a table of an audit; the same list each time, which is not to be changed."""
    known, asked = _asked(audit), (table, *where.items())
    if asked not in known:
        known[asked] = getattr(audit, table).where(**where).rows()
    return known[asked]


@lru_cache(maxsize=256)
def _names(audit: Audit, *where: tuple[str, str]) -> tuple[str, ...]:
    names = audit.groups.where(**dict(where)).to_dict()["group"]
    return tuple(dict.fromkeys(name for name in names if name != "pooled"))


def groups_of(audit: Audit, where: dict[str, str]) -> tuple[str, ...]:
    """Groups of a system, list, grouping and allocation, in the audit's order."""
    return _names(audit, *where.items())


def widest(audit: Audit) -> str:
    """The grouping of the most groups that a chart has room for, else that of the fewest."""
    sizes: dict[str, int] = {}
    system, listed = subjects(audit)[0]
    for grouping in audit.record["groupings"]:
        where = {"system": system, "list": listed, "grouping": grouping, "within": ""}
        sizes[grouping] = len(groups_of(audit, where))
    fitting = {name: size for name, size in sizes.items() if size <= _READABLE}
    if fitting:
        return max(fitting, key=lambda name: fitting[name])
    return min(sizes, key=lambda name: sizes[name])


def choose(
    audit: Audit,
    *,
    by: str | None = None,
    system: str | None = None,
    list: str | None = None,  # noqa: A002 - the audit's word
    allocation: str | None = None,
    operating_point: str | None = None,
) -> Chosen:
    """What to show; what is not told is the first that the audit has.

    Raises
    ------
    ConfigError
        If the audit does not have it.
    """
    if not audit.record["groupings"]:
        msg = "the audit has no groups; audit again with --by"
        raise ConfigError(msg)
    of = [one for one in subjects(audit) if system is None or one[0] == system]
    systems = [one for one, _ in subjects(audit)]
    _known("system", system, systems)
    _known("list", list, [listed for _, listed in of])
    found, listed = next(one for one in of if list is None or one[1] == list)
    groupings = audit.record["groupings"]
    grouping = _known("by", by, groupings) or widest(audit)
    allocations = audit.record["options"]["allocate"]
    asked = {"system": found, "list": listed, "within": ""}
    rows = rows_of(audit, "operating_points", **asked)
    points = [row["operating_point"] for row in rows]
    with_threshold = [row["operating_point"] for row in rows if row["threshold"] is not None]
    first = next(iter(with_threshold or points), "")
    return Chosen(
        audit,
        found,
        listed,
        grouping,
        _known("allocation", allocation, allocations) or allocations[0],
        _known("operating_point", operating_point, points) or first,
    )


def _known(name: str, asked: str | None, known: Sequence[str]) -> str | None:
    if asked is not None and asked not in known:
        have = ", ".join(repr(one) for one in dict.fromkeys(known)) or "none"
        msg = shown(f"{name} {asked!r} is not in this audit; it has {have}")
        raise ConfigError(msg)
    return asked


_CUT = 40
_JOINER = "\u200d"
"""Of emoji; none ends a name that is cut."""
_LABEL = 22


def cut(name: str, most: int = _CUT) -> str:
    """A name as a sentence has room for it, on one line."""
    safe = shown(name)
    return safe if len(safe) <= most else f"{safe[: most - 1].rstrip(_JOINER)}…"


def kept(chosen: Chosen, most: int) -> list[str]:
    """Groups to draw, in the audit's order: of very many those with the most speakers."""
    if len(chosen.groups) <= most:
        return [*chosen.groups]
    rows = rows_of(chosen.audit, "groups", **chosen.where)
    sizes = {row["group"]: row["speakers"] or 0 for row in rows}
    ranked = sorted(chosen.groups, key=lambda name: -sizes[name])
    first = set(ranked[:most])
    return [name for name in chosen.groups if name in first]


def left_out(chosen: Chosen, most: int) -> str:
    """A sentence on the groups that are not drawn; empty if all are."""
    n = len(chosen.groups)
    return f" Of {n} groups, the {most} with the most speakers are drawn." if n > most else ""


# ---- two systems, or lists, against each other


Subject = tuple[str, str]
Pair = tuple[Subject, Subject]


def paired(chosen: Chosen, pair: Pair | None) -> Pair:
    """The pair that is asked for, or the first two that the audit has."""
    known = subjects(chosen.audit)
    if pair is not None and not set(pair) <= set(known):
        msg = f"pair {pair} is not in this audit; it has {known}"
        raise ConfigError(msg)
    if len(known) < 2:
        msg = "the audit is of one system and list; there is nothing to compare it with"
        raise ConfigError(msg)
    return pair or (known[0], known[1])


def better(of: Subject) -> str:
    """What is said where this one is better."""
    return f"{cut(named(*of), 24)} errs less"


def between(one: Subject, other: Subject) -> dict[str, str]:
    """To ask the table of comparisons with."""
    return {
        "system": one[0],
        "list": one[1],
        "other_system": other[0],
        "other_list": other[1],
    }
