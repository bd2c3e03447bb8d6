"""Names for people: an audit whose groups, systems and operating points are called by labels.

Every report is made of an audit's tables, so labels are put into them, once and for all media; the
files of an audit keep the names of the data.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from parivox.auditing import POINT_WARNINGS, TABLES, WITHOUT_TRIALS, Audit
from parivox.report.context import Context, read_context

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from parivox.data.table import Table

_OF_GROUPS = ("group", "low_group", "high_group", "enrol_group", "test_group")
_MAY_BE_GROUPS = ("reference", "because_of")
_NO_NAMES = {"", "all", "pooled"}
_BEFORE = r"(^|[:,;] |\(|\b(?:among|and|by|for|have|of|same|unknown|with|without) )"
_AFTER = r"(?=$|[,;.:)]| \d| \[| \(| and | are | have | in | may )"
"""What stands before and behind the names of groups in sentences."""


@dataclass(frozen=True, eq=False, repr=False)
class Labelled(Audit):
    """An audit to be shown, with labels in the place of names; `ids` is that with the names."""

    ids: Audit

    def to_json(self) -> str:
        """The audit with its own names, as `Audit.to_json`."""
        return self.ids.to_json()

    def write(self, folder: str | os.PathLike[str], *, format: str = "csv") -> Audit:  # noqa: A002
        """Write the audit with its own names, as `Audit.write`."""
        return self.ids.write(folder, format=format)


def with_ids(audit: Audit) -> Audit:
    """An audit with its own names."""
    return audit.ids if isinstance(audit, Labelled) else audit


def labelled(
    audit: Audit, context: str | os.PathLike[str] | Mapping[str, Any] | Context | None
) -> Audit:
    """Make an audit that calls groups, attributes, systems and operating points by labels.

    Pages, figures, tables and notebooks show it as any audit; what is written of it is the audit
    with the names of the data.

    Parameters
    ----------
    audit
        From `pv.audit` or `pv.load`.
    context
        A context file, or a mapping that holds the same: its `labels` name what is in the audit.
        A group of several attributes is made of their values' labels; of a value that several
        attributes have, ``attribute=value`` names one. Where two would be called the same, their
        own names stand behind. Without labels the audit is as it was.

    Returns
    -------
    Audit
        Its ``record["labels"]`` are those that name something in it.

    Raises
    ------
    ConfigError
        If the context cannot be used.

    Examples
    --------
    >>> import parivox as pv
    >>> audit = pv.audit(
    ...     {"enrol": ["a/1", "a/1", "b/1"], "test": ["a/2", "b/2", "b/2"], "score": [3, 1, 2]},
    ...     speakers={"id": ["a", "b"], "gender": ["f", "m"]},
    ...     by="gender",
    ...     intervals=False,
    ... )
    >>> shown = pv.labelled(audit, {"labels": {"f": "women", "gender": "sex"}})
    >>> shown.record["groupings"], sorted({row["group"] for row in shown.groups})
    (['sex'], ['all', 'm', 'pooled', 'women'])
    """
    known = read_context(context)
    if known is None or not known.labels:
        return audit
    return _Labels(with_ids(audit), known.labels).audit()


class _Labels:
    """What each name of an audit becomes."""

    def __init__(self, audit: Audit, asked: Mapping[str, str]) -> None:
        self.ids, self.asked = audit, asked
        self.used: dict[str, str] = {}
        inputs = audit.record["inputs"]
        self.systems = self.distinct((one["system"] for one in inputs), self.label)
        self.lists = self.distinct((one["list"] for one in inputs), self.label)
        self.points = self.distinct(self.names("operating_point"), self.label)
        self.groupings = self.distinct(self.names("grouping"), self.grouping)
        attributes = {part for name in self.groupings for part in (name, *name.split("+"))}
        self.attributes = {name: self.grouping(name) for name in sorted(attributes)}
        self.within = self.distinct(self.names("within"), self.level)
        self.groups: dict[tuple[str, str], str] = {}
        for grouping in self.groupings:
            names = (name for of in _OF_GROUPS for name in self.names(of, grouping=grouping))
            of_grouping = self.distinct(names, partial(self.group, grouping))
            self.groups |= {(grouping, name): to for name, to in of_grouping.items()}

    def names(self, column: str, **where: str) -> Iterator[str]:
        """Every text in a column of all tables."""
        for table in self.ids.tables().values():
            if {column, *where} <= {*table.columns}:
                yield from table.where(**where).to_polars()[column].unique(maintain_order=True)

    def label(self, name: str, attribute: str = "") -> str:
        """What a name is called; a value as `attribute=value` says, or else by itself."""
        for key in (f"{attribute}={name}", name):
            if key in self.asked and name not in _NO_NAMES:
                self.used[key] = self.asked[key]
                return self.asked[key]
        return name

    def grouping(self, name: str) -> str:
        """What a grouping is called: its own label, or its attributes', with bands behind them."""
        if name in self.asked:
            return self.label(name)
        parts = (part.partition(":") for part in name.split("+"))
        return "+".join(f"{self.label(head)}{colon}{bands}" for head, colon, bands in parts)

    def level(self, name: str) -> str:
        """What ``attribute=value`` is called, or a group of such a name."""
        attribute, equals, value = name.partition("=")
        if not equals:
            return self.label(name)
        return f"{self.label(attribute)}={self.label(value, attribute)}"

    def group(self, grouping: str, name: str) -> str:
        """What a group is called: its own label, or those of the values that it is made of."""
        attributes = [part.partition(":")[0] for part in grouping.split("+")]
        if name in self.asked and len(attributes) > 1:
            return self.label(name)
        if name.partition("=")[0] in attributes:  # of a mean over one of them
            return self.level(name)
        values = name.split("+") if len(attributes) > 1 else [name]
        if len(values) != len(attributes):
            return name
        return "+".join(map(self.label, values, attributes))

    def distinct(self, names: Iterable[str], label: Callable[[str], str]) -> dict[str, str]:
        """What each name becomes, no two the same."""
        found = {name: label(name) for name in dict.fromkeys(names)}
        called = Counter([*found.values(), *_NO_NAMES - found.keys()])
        return {
            name: words if words == name or called[words] == 1 else f"{words} ({name})"
            for name, words in found.items()
        }

    def audit(self) -> Audit:
        """The audit with labels in the place of names."""
        tables = {name: self.table(getattr(self.ids, name)) for name in TABLES}
        provenance = self.ids.provenance
        return Labelled(**tables, record=self.record(), provenance=provenance, ids=self.ids)

    def table(self, table: Table) -> Table:
        """A table with labels in the place of names, in its sentences, too."""
        columns = {*table.columns}
        for words, by in (("sentence", "grouping"), ("note", "grouping"), ("note", "source")):
            if {words, by} <= columns and columns & {"sentence", "item"}:
                pairs = {(row[by], row[words]) for row in table}
                table = table.renamed(words, {one: self.told(*one) for one in pairs}, by=by)
        if "item" in columns:
            unused = table.where(item=WITHOUT_TRIALS)
            pairs = {(row["grouping"], row["note"]) for row in unused}
            table = table.renamed("note", {one: self.unused(*one) for one in pairs}, by="grouping")
            items = {row["item"] for row in table}
            table = table.renamed("item", {one: _in_words(one, self.attributes) for one in items})
        if {"operating_point", "source"} <= columns:
            table = table.renamed("operating_point", {}, to="as_given")
        if "grouping" in columns:
            for name in columns & {*_OF_GROUPS, *_MAY_BE_GROUPS}:
                table = table.renamed(name, self.groups, by="grouping")
        if "left_out" in columns:
            lists = {(row["grouping"], row["left_out"]) for row in table if row["left_out"]}
            table = table.renamed(
                "left_out", {pair: self.group_list(*pair) for pair in lists}, by="grouping"
            )
        for name, names in (
            *((name, self.systems) for name in ("system", "other_system")),
            *((name, self.lists) for name in ("list", "other_list")),
            ("operating_point", self.points),
            ("grouping", self.groupings),
            ("within", self.within),
        ):
            if name in columns:
                table = table.renamed(name, names)
        return table

    def told(self, of: str, words: str) -> str:
        """Words on a grouping, or on operating points, with labels in them."""
        if of == POINT_WARNINGS:
            return _in_words(words, self.points)
        own = {name: to for (grouping, name), to in self.groups.items() if grouping == of}
        return _in_words(words, own)

    def group_list(self, grouping: str, names: str) -> str:
        """A list of groups as JSON, with labels in the place of names."""
        labels = [self.groups.get((grouping, name), name) for name in json.loads(names)]
        return json.dumps(labels, ensure_ascii=False)

    def unused(self, grouping: str, names: str) -> str:
        """Groups that no trial has anyone of, which stand in a note alone."""
        parts = re.split(r"(, | and \d+ (?:more|others))", names)
        return "".join(self.group(grouping, part) for part in parts)

    def record(self) -> dict[str, Any]:
        """The record with labels in the place of names, as far as it is shown."""
        record, groups = self.ids.record, {name: to for (_, name), to in self.groups.items()}
        names = self.attributes | groups
        made = record | {
            "labels": self.used,
            "groupings": [self.groupings[one] for one in record["groupings"]],
            "inputs": [
                one | {"system": self.systems[one["system"]], "list": self.lists[one["list"]]}
                for one in record["inputs"]
            ],
            "options": record["options"]
            | {
                name: record["options"][name] and [of(one) for one in record["options"][name]]
                for name, of in (
                    ("within", self.grouping),
                    ("standardise", self.grouping),
                    ("reference", lambda name: groups.get(name, name)),
                    ("operating_points", lambda name: self.points.get(name, name)),
                )
            },
        }
        for part, change in (
            ("primary", self.question),
            (
                "list_checks",
                lambda found: [
                    one | {"sentence": _in_words(one["sentence"], names)} for one in found
                ],
            ),
            ("confounding", lambda found: [self.together(one) for one in found]),
        ):
            if part in record:
                made[part] = {self.input(name): change(one) for name, one in record[part].items()}
        return made

    def input(self, name: str) -> str:
        """A system on its list, as the record names it."""
        system, at, list_ = name.partition("@")
        return f"{self.systems.get(system, system)}{at}{self.lists.get(list_, list_)}"

    def question(self, name: str) -> str:
        """A grouping at an operating point."""
        grouping, at, point = name.rpartition("@")
        return f"{self.groupings.get(grouping, grouping)}{at}{self.points.get(point, point)}"

    def together(self, one: dict[str, Any]) -> dict[str, Any]:
        """How one attribute goes together with another."""
        words = one["sentence"]
        for attribute in (one["other"], one["attribute"]):
            to, names = self.grouping(attribute), dict[str, str]()
            for key, label in self.asked.items():
                value = key.removeprefix(f"{attribute}=")
                names |= {value: label, f"{attribute} {value}": f"{to} {label}"}
            words = _in_words(words, names | {attribute: to})
            for before in ("with", "have"):
                words = words.replace(f"{before} {attribute} ", f"{before} {to} ")
        ends = {key: self.grouping(one[key]) for key in ("attribute", "other")}
        return one | ends | {"sentence": words, "as_given": one["other"]}


def _in_words(words: str, names: Mapping[str, str]) -> str:
    """A sentence with labels where names stand as names do."""
    differ = sorted((name for name, to in names.items() if name != to), key=len, reverse=True)
    if not differ:
        return words
    pattern = f"{_BEFORE}({'|'.join(map(re.escape, differ))}){_AFTER}"
    return re.sub(pattern, lambda found: f"{found[1]}{names[found[2]]}", words)
