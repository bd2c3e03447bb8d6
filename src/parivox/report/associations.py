"""Associations between attributes in words, by which a difference by one may be due to another."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from parivox.report.words import Row

MIN_MEDIUM_CRAMERS_V = 0.3
"""Below this Cramér's V, attributes are associated weakly, as Cohen's medium effect has it."""
_MIN_SHOWN_P = 0.001


class AssociationText(NamedTuple):
    """How one attribute is associated with another: in a few words, and in a sentence."""

    short: str
    sentence: str


def association(row: Row) -> AssociationText:
    """Return what a pair means for a comparison of groups by the first of the two."""
    attribute, other_attribute = row["attribute"], row["other"]
    may_be_due = f"a difference by {attribute} may be a difference by {other_attribute}"
    if row["relation"] == "alike":
        words = f"{attribute} and {other_attribute} coincide"
        consequence = "a difference by one cannot be separated from a difference by the other"
        return _with_consequence(words, f"{words}: {consequence}")
    if row["relation"] == "tells":
        words = f"{attribute} determines {other_attribute}"
        return _with_consequence(words, f"{words}: {may_be_due}")
    if row["relation"] == "told":
        words = f"{attribute} is determined by {other_attribute}"
        detail = f"each value of {other_attribute} occurs with one value of {attribute} only"
        consequence = (
            f"so a difference by {attribute} cannot be separated from a difference by "
            f"{other_attribute}"
        )
        return _with_consequence(words, f"{words}: {detail}, {consequence}")
    p = "< 0.001" if row["p_holm"] < _MIN_SHOWN_P else f"= {row['p_holm']:.2g}"
    statistics = f"Cramér's V {row['cramers_v']:.2f}, adjusted p {p}, {row['speakers']:,} speakers"
    if row["relation"] == "not_shown":
        words = f"{attribute} and {other_attribute} are not shown to be associated ({statistics})"
        return AssociationText(words, words)
    strength = "weakly associated" if row["cramers_v"] < MIN_MEDIUM_CRAMERS_V else "associated"
    words = f"{attribute} and {other_attribute} are {strength}"
    return _with_consequence(
        words,
        f"{words}{_shares_text(row)} ({statistics}), so a difference by {attribute} may be partly "
        f"or entirely due to {other_attribute}",
    )


def _with_consequence(words: str, sentence: str) -> AssociationText:
    return AssociationText(f"{words} (so a difference by one may be due to the other)", sentence)


def _shares_text(row: Row) -> str:
    """Return how often two groups have the value that they differ most in; empty if unknown."""
    shares = row["shares"]
    if not shares:
        return ""
    first, second = shares["groups"]
    return (
        f": {_share_text(first)} of the speakers with {row['attribute']} {first['group']} and "
        f"{_share_text(second)} of those with {row['attribute']} {second['group']} have "
        f"{row['other']} {shares['value']}"
    )


def _share_text(group: Row) -> str:
    """Return a share in percent; of few speakers, only that they are few."""
    if "fewer_than" in group:
        return f"fewer than {group['fewer_than']}"
    if "all_but_fewer_than" in group:
        return f"all but fewer than {group['all_but_fewer_than']}"
    return f"{100 * group['share']:.0f} %"
