"""Sentences of the catalogue on why searches in a gallery have rates only, and what would help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.auditing import CROSSED_GALLERIES, FEW_PROBE_SPEAKERS
from parivox.report.sentence_template import SentenceTemplate
from parivox.report.words import count_of

if TYPE_CHECKING:
    from collections.abc import Mapping


def _few_speakers(values: Mapping[str, Any]) -> str:
    """Return how many speakers groups have; of groups of several sizes, the largest."""
    most = count_of(max(values["sizes"], default=0), "speaker")
    groups = (
        f"each group has {most}" if len(values["sizes"]) == 1 else f"no group has more than {most}"
    )
    if max(values["sizes"], default=0) >= values["minimum"]:
        groups = "fewer than two groups have enough speakers"
    return (
        f"Rates only: {groups}, and at least {values['minimum']} in each are needed for any "
        "comparison"
    )


def _record_speakers(values: Mapping[str, Any]) -> str:
    remedy = f"To compare groups, record at least {values['speakers']} speakers in each group"
    if values["is_household"]:
        remedy += (
            ", from several households: with a column gallery, the household is the sampling unit"
        )
    return remedy


SEARCH_SENTENCES: dict[str, SentenceTemplate] = {
    CROSSED_GALLERIES: SentenceTemplate(
        "Rates only: some speakers are searched in several galleries, for which intervals are not "
        "available"
    ),
    FEW_PROBE_SPEAKERS: SentenceTemplate(_few_speakers, {"sizes": [3], "minimum": 5}),
    "few_galleries": SentenceTemplate(
        "Rates only: at least {minimum} galleries in each of two groups are needed for any "
        "comparison",
        {"minimum": 5},
    ),
    "record_more_speakers": SentenceTemplate(
        _record_speakers, {"speakers": 10, "is_household": True}
    ),
}
"""Each by its code: that of the reason, and of the remedy."""
