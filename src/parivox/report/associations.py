"""Associations between attributes, by which a difference by one may be due to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.report.audit_queries import attribute_values, error_types, first_point_name, systems
from parivox.report.limitation_sentences import ASSOCIATIONS, Caveat

if TYPE_CHECKING:
    from parivox.auditing import Audit
    from parivox.report.words import Row

_CODES = {
    "alike": "attributes_coincide",
    "tells": "attribute_determines",
    "told": "attribute_determined",
    "not_shown": "association_not_shown",
    "confounded": "attributes_associated",
}
"""By the relation of two attributes that an audit records."""


def association(row: Row, option: str = "", *, has_same_differences: bool) -> Caveat:
    """Return what a pair means for a comparison of groups by the first of the two.

    `option` is the value of the options that examine it, if they would tell more. If groups have
    the same differences among speakers with one value of the other attribute, these are not
    entirely due to that.
    """
    values = {**row, "option": option, "has_same_differences": has_same_differences}
    return Caveat(_CODES[row["relation"]], values)


def has_same_differences(audit: Audit, attribute: str, other: str, allocation: str) -> bool:
    """Return whether groups that are worse are so within a value of another attribute, too.

    Among the speakers with that value, the interval of the worse group must be above those of all
    other groups. False if no group is worse, and if groups by both attributes were not audited.
    Names are those of the data, not labels.
    """
    filters = {"grouping": attribute, "allocation": allocation, "within": ""}
    worse_rows = [
        row
        for system in systems(audit)
        for row in audit.verdicts.subset(
            **filters, **system, operating_point=first_point_name(audit, system)
        ).rows()
        if row["group"] and row["verdict"] == "worse" and row["metric"] in error_types(audit)
    ]
    return bool(worse_rows) and all(_is_worse_within_value(audit, row, other) for row in worse_rows)


def _is_worse_within_value(audit: Audit, verdict_row: Row, other: str) -> bool:
    """Return whether a group that is worse is so within a value of another attribute."""
    attribute, worse_group = verdict_row["grouping"], verdict_row["group"]
    scope_columns = ("system", "list", "allocation", "within")
    scope = {column: verdict_row[column] for column in scope_columns}
    point = {column: verdict_row[column] for column in ("operating_point", "metric")}
    for grouping, group_name in (
        (f"{attribute}+{other}", "{group}+{value}"),
        (f"{other}+{attribute}", "{value}+{group}"),
    ):
        rates = audit.groups.subset(**scope, **point, grouping=grouping, definition="").rows()
        row_of_group = {row["group"]: row for row in rates}
        values = attribute_values(audit, {**scope, "grouping": grouping})
        for value in values.get(other, ()):
            rows = {
                group: row_of_group[name]
                for group in values.get(attribute, ())
                if (name := group_name.format(group=group, value=value)) in row_of_group
            }
            worst = rows.pop(worse_group, None)
            if (
                worst
                and rows
                and all(
                    None not in (worst["low"], row["high"]) and worst["low"] > row["high"]
                    for row in rows.values()
                )
            ):
                return True
    return False


def association_text(pair: Caveat) -> str:
    """Return an association in a sentence that begins with the name of the first attribute."""
    return ASSOCIATIONS[pair.code].sentence.with_values(pair.values)
