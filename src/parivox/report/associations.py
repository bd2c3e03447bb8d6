"""Associations between attributes, by which a difference by one may be due to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.report.limitation_sentences import ASSOCIATIONS, Caveat

if TYPE_CHECKING:
    from parivox.report.words import Row

_CODES = {
    "alike": "attributes_coincide",
    "tells": "attribute_determines",
    "told": "attribute_determined",
    "not_shown": "association_not_shown",
    "confounded": "attributes_associated",
}
"""By the relation of two attributes that an audit records."""


def association(row: Row, option: str = "") -> Caveat:
    """Return what a pair means for a comparison of groups by the first of the two.

    `option` is the value of the options that examine it, if they would tell more.
    """
    return Caveat(_CODES[row["relation"]], {**row, "option": option})


def association_text(pair: Caveat) -> str:
    """Return an association in a sentence that begins with the name of the first attribute."""
    return ASSOCIATIONS[pair.code].sentence.with_values(pair.values)
