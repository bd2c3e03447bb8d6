"""Files of counts of version 1, as releases 0.1 and 0.2 wrote them, in the words of version 2.

Every release 0.x reads them. Score counts and speaker counts had a metadata key each, columns and
fields of other names, and only speaker counts a hash of the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

VERSION = "1"
SPEAKER_COUNTS_KEY = "parivox_tally"
"""Under this key stands the header of speaker counts; that of score counts stands where it does."""

SCORE_COUNTS_NAMES = {
    "layout": "block",
    "stratum": "level",
    "score": "value",
    "trials": "count",
}
"""Columns of score counts: the name of version 1 by that of version 2, where they differ."""
SPEAKER_COUNTS_NAMES = {
    "enrol_unit": "enrol",
    "test_unit": "test",
    "side_groups": "side",
}
"""Columns of speaker counts, likewise."""
_SCORE_FIELDS = {
    "contents": "told",
    "min_speakers": "withhold",
    "suppressed_strata": "levels_withheld",
    "participants": "seen",
}
_SPEAKER_FIELDS = {
    "is_unit_used": "used",
    "score_keys": "keys",
    "are_blocks": "blocks",
    "min_speakers": "least",
    "speakers_sha256": "members",
}


def score_counts_header(header: Mapping[str, Any]) -> dict[str, Any]:
    """The header of score counts in the words of version 2; what it lacks is not there either.

    Examples
    --------
    >>> score_counts_header({"told": ["scores"], "thresholds": [0.5]})
    {'contents': ['scores'], 'thresholds': ['0.5']}
    """
    renamed = _renamed(header, _SCORE_FIELDS)
    if "thresholds" in renamed:
        renamed["thresholds"] = [repr(threshold) for threshold in renamed["thresholds"]]
    return renamed


def speaker_counts_header(header: Mapping[str, Any]) -> dict[str, Any]:
    """The header of speaker counts in the words of version 2; what it lacks is not there either.

    Raises
    ------
    KeyError, TypeError, ValueError, OverflowError
        If it contains what no file of version 1 does.

    Examples
    --------
    >>> speaker_counts_header({"least": 1, "thresholds": ["0x1.0p-1"]})
    {'kdf': '', 'min_speakers': 1, 'names': [], 'sites': [], 'thresholds': ['0.5']}
    """
    # the first releases had no names of units; those before 0.3 derived nothing from the key
    absent = {"names": [], "sites": [], "kdf": "", "min_speakers": 1}
    renamed = {**absent, **_renamed(header, _SPEAKER_FIELDS)}
    if "thresholds" in renamed:
        renamed["thresholds"] = [repr(float.fromhex(text)) for text in renamed["thresholds"]]
    if "groupings" in renamed:
        renamed["groupings"] = [
            _renamed(grouping, {"unit_groups": "members"}) for grouping in renamed["groupings"]
        ]
    return dict(sorted(renamed.items()))


def _renamed(fields: Mapping[str, Any], old_names: Mapping[str, str]) -> dict[str, Any]:
    """Fields of a header by their names of version 2."""
    new_names = {old: new for new, old in old_names.items()}
    return {new_names.get(name, name): content for name, content in dict(fields).items()}
