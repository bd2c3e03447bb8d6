"""Associations between attributes, by which a difference by one may be due to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.report.audit_queries import error_types, first_point_name, systems
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


def association(row: Row, option: str = "", *, recurs: bool = False) -> Caveat:
    """Return what a pair means for a comparison of groups by the first of the two.

    `option` is the value of the options that examine it, if they would tell more. A difference that
    `recurs` among speakers with one value of the other attribute is not entirely due to that.
    """
    return Caveat(_CODES[row["relation"]], {**row, "option": option, "recurs": recurs})


def differences_recur(audit: Audit, filters: Row, other: str) -> bool:
    """Return whether each difference by an attribute recurs within a value of another one.

    `filters` select the grouping by the attribute. A difference recurs if, among the speakers with
    one value, the interval of the worse group is above those of all other groups. False if no group
    is worse, and if groups by both attributes were not audited.
    """
    recurs = [
        _recurs(audit, row, other)
        for system in systems(audit)
        for row in audit.verdicts.subset(
            **{**filters, **system}, operating_point=first_point_name(audit, system)
        ).rows()
        if row["group"] and row["verdict"] == "worse" and row["metric"] in error_types(audit)
    ]
    return bool(recurs) and all(recurs)


def _recurs(audit: Audit, verdict_row: Row, other: str) -> bool:
    """Return whether a group that is worse is so within a value of another attribute."""
    attribute, worse_group = verdict_row["grouping"], verdict_row["group"]
    columns = ("system", "list", "allocation", "within", "operating_point", "metric")
    filters = {column: verdict_row[column] for column in columns}
    groups = {
        row["group"] for row in audit.verdicts.subset(**filters, grouping=attribute) if row["group"]
    }
    rows_of_value: dict[str, dict[str, Row]] = {}
    for row in audit.groups.subset(**filters, grouping=f"{attribute}+{other}", definition=""):
        for group in groups:
            value = row["group"].removeprefix(f"{group}+")
            if value != row["group"]:
                rows_of_value.setdefault(value, {})[group] = row
    for row in audit.groups.subset(**filters, grouping=f"{other}+{attribute}", definition=""):
        for group in groups:
            value = row["group"].removesuffix(f"+{group}")
            if value != row["group"]:
                rows_of_value.setdefault(value, {})[group] = row
    return any(
        len(row_of_group) > 1
        and worse_group in row_of_group
        and all(row["high"] is not None for row in row_of_group.values())
        and all(
            row_of_group[worse_group]["low"] > row["high"]
            for group, row in row_of_group.items()
            if group != worse_group
        )
        for row_of_group in rows_of_value.values()
    )


def association_text(pair: Caveat) -> str:
    """Return an association in a sentence that begins with the name of the first attribute."""
    return ASSOCIATIONS[pair.code].sentence.with_values(pair.values)
