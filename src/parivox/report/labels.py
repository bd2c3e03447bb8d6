"""Labels: an audit whose groups, systems and operating points have names for readers.

Every report is made of an audit's tables, so labels replace names in the tables, once for all
media. The files of an audit keep the names of the data.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from parivox.auditing import TABLES, Audit
from parivox.facts import VALUES_COLUMN
from parivox.report.context import Context, read_context

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from parivox.data.table import Table

_GROUP_COLUMNS = ("group", "low_group", "high_group", "enrol_group", "test_group")
_OPTIONAL_GROUP_COLUMNS = ("reference", "because_of", "other_group")
_RESERVED_NAMES = {"", "all", "pooled"}


@dataclass(frozen=True, eq=False, repr=False)
class Labelled(Audit):
    """An audit to be shown, with labels in place of names; `ids` is the audit with the names."""

    ids: Audit

    def to_json(self) -> str:
        """The audit with its own names, as `Audit.to_json`."""
        return self.ids.to_json()

    def save(self, folder: str | os.PathLike[str], *, format: str = "csv") -> Audit:  # noqa: A002
        """Save the audit with its own names, as `Audit.save`."""
        return self.ids.save(folder, format=format)


def audit_with_ids(audit: Audit) -> Audit:
    """Return an audit with the names of the data."""
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
    known_context = read_context(context)
    if known_context is None or not known_context.labels:
        return audit
    return _AuditLabels(audit_with_ids(audit), known_context.labels).labelled_audit()


class _AuditLabels:
    """The label of each name of an audit."""

    def __init__(self, audit: Audit, label_of_name: Mapping[str, str]) -> None:
        self.ids, self.label_of_name = audit, label_of_name
        self.used_labels: dict[str, str] = {}
        inputs = audit.record["inputs"]
        self.system_labels = self.distinct_labels(
            (system["system"] for system in inputs), self.label_of
        )
        self.list_labels = self.distinct_labels(
            (system["list"] for system in inputs), self.label_of
        )
        self.point_labels = self.distinct_labels(
            self.names_in_column("operating_point"), self.label_of
        )
        self.grouping_labels = self.distinct_labels(
            self.names_in_column("grouping"), self.grouping_label
        )
        # a grouping such as gender+age is named by its attributes, too
        attributes = set(self.grouping_labels)
        for grouping in self.grouping_labels:
            attributes.update(grouping.split("+"))
        self.attribute_labels = {name: self.grouping_label(name) for name in sorted(attributes)}
        self.stratum_labels = self.distinct_labels(
            self.names_in_column("within"), self.stratum_label
        )
        self.group_labels: dict[tuple[str, str], str] = {}
        for grouping in self.grouping_labels:
            names = (
                name
                for column in _GROUP_COLUMNS
                for name in self.names_in_column(column, grouping=grouping)
            )
            of_grouping = self.distinct_labels(names, partial(self.group_label, grouping))
            self.group_labels |= {(grouping, name): label for name, label in of_grouping.items()}

    def names_in_column(self, column: str, **filters: str) -> Iterator[str]:
        """Yield every text in a column of all tables."""
        for table in self.ids.tables().values():
            if {column, *filters} <= {*table.columns}:
                yield from table.subset(**filters).to_polars()[column].unique(maintain_order=True)

    def label_of(self, name: str, attribute: str = "") -> str:
        """Return the label of a name; of a value, that of `attribute=value` before its own."""
        for key in (f"{attribute}={name}", name):
            if key in self.label_of_name and name not in _RESERVED_NAMES:
                self.used_labels[key] = self.label_of_name[key]
                return self.label_of_name[key]
        return name

    def grouping_label(self, name: str) -> str:
        """Return the label of a grouping, or those of its attributes, with bands behind them."""
        if name in self.label_of_name:
            return self.label_of(name)
        attributes = (attribute.partition(":") for attribute in name.split("+"))
        return "+".join(
            f"{self.label_of(attribute)}{colon}{bands}" for attribute, colon, bands in attributes
        )

    def stratum_label(self, name: str) -> str:
        """Return the label of ``attribute=value``, or of a group of such a name."""
        attribute, equals, attribute_value = name.partition("=")
        if not equals:
            return self.label_of(name)
        return f"{self.label_of(attribute)}={self.label_of(attribute_value, attribute)}"

    def group_label(self, grouping: str, name: str) -> str:
        """Return the label of a group, or those of the values that it is made of."""
        attributes = [attribute.partition(":")[0] for attribute in grouping.split("+")]
        if name in self.label_of_name and len(attributes) > 1:
            return self.label_of(name)
        if name.partition("=")[0] in attributes:  # of a mean over one of them
            return self.stratum_label(name)
        attribute_values = name.split("+") if len(attributes) > 1 else [name]
        if len(attribute_values) != len(attributes):
            return name
        return "+".join(map(self.label_of, attribute_values, attributes))

    def distinct_labels(self, names: Iterable[str], label: Callable[[str], str]) -> dict[str, str]:
        """Return the label of each name, no two the same: equal labels have their names behind."""
        label_of = {name: label(name) for name in dict.fromkeys(names)}
        n_with_label = Counter([*label_of.values(), *_RESERVED_NAMES - label_of.keys()])
        return {
            name: words if words == name or n_with_label[words] == 1 else f"{words} ({name})"
            for name, words in label_of.items()
        }

    def labelled_audit(self) -> Audit:
        """Return the audit with labels in place of names."""
        tables = {name: self.labelled_table(getattr(self.ids, name)) for name in TABLES}
        return Labelled(
            **tables,
            record=self.labelled_record(),
            provenance=self.ids.provenance,
            ids=self.ids,
        )

    def labelled_table(self, table: Table) -> Table:
        """Return a table with labels in place of names, also in the values of its facts."""
        columns = {*table.columns}
        if {VALUES_COLUMN, "grouping"} <= columns:
            pairs = {(row["grouping"], row[VALUES_COLUMN]) for row in table if row[VALUES_COLUMN]}
            values = {pair: self.labelled_values(*pair) for pair in pairs}
            table = table.renamed(VALUES_COLUMN, values, by="grouping")
        if {"operating_point", "source"} <= columns:
            # the table of operating points keeps the names, which options are given by
            table = table.renamed("operating_point", {}, to="as_given")
        if "grouping" in columns:
            for name in columns & {*_GROUP_COLUMNS, *_OPTIONAL_GROUP_COLUMNS}:
                table = table.renamed(name, self.group_labels, by="grouping")
        if "left_out" in columns:
            pairs = {(row["grouping"], row["left_out"]) for row in table if row["left_out"]}
            lists = {pair: self.labelled_group_list(*pair) for pair in pairs}
            table = table.renamed("left_out", lists, by="grouping")
        # groupings are renamed after groups, whose labels are looked up by the grouping's name
        for column, labels in {
            "system": self.system_labels,
            "other_system": self.system_labels,
            "list": self.list_labels,
            "other_list": self.list_labels,
            "operating_point": self.point_labels,
            "grouping": self.grouping_labels,
            "within": self.stratum_labels,
        }.items():
            if column in columns:
                table = table.renamed(column, labels)
        return table

    def labelled_values(self, grouping: str, values: str) -> str:
        """Return the values of facts, as JSON, with labels in place of names."""
        return json.dumps(self.relabelled("", json.loads(values), grouping), ensure_ascii=False)

    def relabelled(self, name: str, value: Any, grouping: str) -> Any:
        """Return a value of a fact, of this name, with labels in place of names.

        Groups are of `grouping`, unless the value itself names another one.
        """
        if isinstance(value, dict):
            grouping = value.get("grouping", grouping)
            return {key: self.relabelled(key, inner, grouping) for key, inner in value.items()}
        if isinstance(value, list):
            return [self.relabelled(name, inner, grouping) for inner in value]
        if not isinstance(value, str):
            return value
        if name in {"attribute", "attributes", "grouping"}:
            return self.grouping_label(value)
        if name in {"group", "groups", "reference"}:
            return self.group_labels.get((grouping, value), self.group_label(grouping, value))
        labels = {"operating_point": self.point_labels, "system": self.system_labels}
        return labels.get(name, {}).get(value, value)

    def labelled_group_list(self, grouping: str, names: str) -> str:
        """Return a list of groups as JSON, with labels in place of names."""
        labels = [self.group_labels.get((grouping, name), name) for name in json.loads(names)]
        return json.dumps(labels, ensure_ascii=False)

    def labelled_record(self) -> dict[str, Any]:
        """Return the record with labels in place of names, as far as it is shown."""
        record = self.ids.record
        group_labels = {name: label for (_, name), label in self.group_labels.items()}

        def labelled_checks(checks: list[dict[str, Any]]) -> list[dict[str, Any]]:
            return [check | {"facts": self.relabelled("", check["facts"], "")} for check in checks]

        def labelled_associations(associations: list[dict[str, Any]]) -> list[dict[str, Any]]:
            return [self.labelled_association(association) for association in associations]

        labelled_record = record | {
            "labels": self.used_labels,
            "groupings": [self.grouping_labels[grouping] for grouping in record["groupings"]],
            "inputs": [
                inputs
                | {
                    "system": self.system_labels[inputs["system"]],
                    "list": self.list_labels[inputs["list"]],
                }
                for inputs in record["inputs"]
            ],
            "options": record["options"] | self.labelled_options(group_labels),
        }
        relabel_of_section: dict[str, Callable[[Any], Any]] = {
            "primary": self.grouping_at_point,
            "list_checks": labelled_checks,
            "confounding": labelled_associations,
        }
        for section, relabel in relabel_of_section.items():
            if section in record:
                labelled_record[section] = {
                    self.system_on_list(name): relabel(content)
                    for name, content in record[section].items()
                }
        if "identification" in record:
            systems = record["identification"]["systems"]
            labelled_record["identification"] = record["identification"] | {
                "systems": {self.system_on_list(name): systems[name] for name in systems}
            }
        return labelled_record

    def labelled_options(self, group_labels: Mapping[str, str]) -> dict[str, Any]:
        """Return those options that are names, with labels in their place."""
        relabel_of_option: dict[str, Callable[[str], str]] = {
            "within": self.grouping_label,
            "standardise": self.grouping_label,
            "reference": lambda name: group_labels.get(name, name),
            "operating_points": lambda name: self.point_labels.get(name, name),
        }
        options = self.ids.record["options"]
        # options that were not given are None or empty, and stay so
        return {
            option: options[option] and [relabel(name) for name in options[option]]
            for option, relabel in relabel_of_option.items()
        }

    def system_on_list(self, name: str) -> str:
        """Return a system on its list with labels, as the record names it."""
        system, at_sign, list_ = name.partition("@")
        system_label = self.system_labels.get(system, system)
        return f"{system_label}{at_sign}{self.list_labels.get(list_, list_)}"

    def grouping_at_point(self, name: str) -> str:
        """Return a grouping at an operating point with labels, as the record names it."""
        grouping, at_sign, point = name.rpartition("@")
        grouping_label = self.grouping_labels.get(grouping, grouping)
        return f"{grouping_label}{at_sign}{self.point_labels.get(point, point)}"

    def labelled_association(self, association: dict[str, Any]) -> dict[str, Any]:
        """Return how one attribute is associated with another, with labels in place of names."""
        attribute_labels = {
            key: self.grouping_label(association[key]) for key in ("attribute", "other")
        }
        # options such as --within take the name, not the label
        names_of_options = {
            "attribute_as_given": association["attribute"],
            "as_given": association["other"],
        }
        return (
            association
            | attribute_labels
            | {"shares": self.labelled_shares(association)}
            | (names_of_options)
        )

    def labelled_shares(self, association: dict[str, Any]) -> dict[str, Any] | None:
        """Return the shares of an association, with labels in place of the names of values."""
        shares = association["shares"]
        if not shares:
            return None
        groups = [
            group | {"group": self.label_of(group["group"], association["attribute"])}
            for group in shares["groups"]
        ]
        return {"value": self.label_of(shares["value"], association["other"]), "groups": groups}
