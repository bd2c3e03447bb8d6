"""What a column of trials is for, by its name, and how labels are spelt."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from parivox.errors import ConfigError, DataError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["LABELS", "ROLES", "is_label", "known_header", "match_columns"]

_SIDES = {
    "enrol": "enrol enroll enrolment enrollment ref reference model left modelid model_id "
    "enrol_model enroll_model",
    "test": "test com comparison probe right segment segmentid verify",
}
_PARTS = ("", "id", "utt", "utterance", "utt_id", "utterance_id", "file", "path", "wav", "audio")
_NUMBERED = ("utt", "utterance", "file", "path", "wav", "audio", "id")
_SPEAKER = ("speaker", "spk", "speaker_id", "spk_id", "speakerid", "spkid")

ROLES: dict[str, frozenset[str]] = {
    **{
        side: frozenset(
            [f"{word}_{part}".rstrip("_") for word in words.split() for part in _PARTS]
            + [f"{part}{number}" for part in _NUMBERED]
            + [f"{part}_{number}" for part in _NUMBERED]
        )
        for number, (side, words) in enumerate(_SIDES.items(), start=1)
    },
    "score": frozenset(
        "score scores sc llr llrs similarity sim cosine cosine_score cos distance dist".split()
    ),
    "label": frozenset(
        "label labels lab target targets is_target istarget tgt key truth same same_speaker mated "
        "match genuine trial_type".split()
    ),
    **{
        f"{side}_speaker": frozenset(
            [f"{word}_{part}" for word in words.split() for part in _SPEAKER]
            + [f"{part}{number}" for part in _SPEAKER]
            + [f"{part}_{number}" for part in _SPEAKER]
        )
        for number, (side, words) in enumerate(_SIDES.items(), start=1)
    },
}
"""Names of columns that are known for each role, in small letters."""

LABELS: dict[str, bool] = {
    **dict.fromkeys(
        "1 1.0 target targets tgt tar true same genuine mated match positive same_speaker".split(),
        True,
    ),
    **dict.fromkeys(
        "0 0.0 -1 -1.0 nontarget non-target non_target nontgt imp impostor imposter false different "
        "diff nonmated non-mated non_mated nonmatch negative different_speaker".split(),
        False,
    ),
}
"""Spellings of labels, in small letters: True for target trials."""


def is_label(text: str) -> bool:
    """Whether a text is a label in words (numbers could be scores or ids as well).

    Examples
    --------
    >>> is_label("nontarget"), is_label("0")
    (True, False)
    """
    return text.lower() in LABELS and not re.fullmatch(r"-?[\d.]+", text)


def known_header(fields: Sequence[str]) -> bool:
    """Whether a first line is a header: it names the columns of both sides or of the scores."""
    roles = {role for field in fields for role in _roles_of(field)}
    return "score" in roles or {"enrol", "test"} <= roles


def match_columns(
    name: str, header: Sequence[str], columns: Mapping[str, str] | None
) -> dict[str, str]:
    """Find the column of each role.

    Parameters
    ----------
    name
        The file, for messages.
    header
        Its columns.
    columns
        Columns that the user named, by role.

    Returns
    -------
    dict
        Column by role; enrol and test are always there.

    Raises
    ------
    DataError
        If a column is missing, named twice, or two columns have one role.
    ConfigError
        If the user names a role that there is not.
    """
    twice = sorted({column for column in header if list(header).count(column) > 1})
    if twice:
        msg = f"{name}, row 1: two columns are called {twice[0]!r}; rename one of them"
        raise DataError(msg)
    found: dict[str, str] = {}
    for role, column in (columns or {}).items():
        if role not in ROLES:
            msg = f"--columns {role}={column}: there is no role {role!r}; roles are {', '.join(ROLES)}"
            raise ConfigError(msg)
        if column not in header:
            msg = (
                f"{name}: has no column {column!r}, which --columns names as {role}; its columns are "
                f"{', '.join(header)}"
            )
            raise DataError(msg)
        found[role] = column
    for role in ROLES:
        if role in found:
            continue
        free = [c for c in header if role in _roles_of(c) and c not in found.values()]
        if len(free) > 1:
            msg = (
                f"{name}: columns {free[0]!r} and {free[1]!r} could both be the {role}; "
                f"say which with --columns {role}={free[0]}"
            )
            raise DataError(msg)
        if free:
            found[role] = free[0]
    missing = [role for role in ("enrol", "test") if role not in found]
    if missing:
        msg = (
            f"{name}: no column for {' and '.join(missing)} among {', '.join(header)}; name them, as in "
            "--columns enrol=ref_file,test=com_file,score=sc,label=lab"
        )
        raise DataError(msg)
    return found


def _roles_of(column: str) -> list[str]:
    plain = re.sub(r"[\s\-]+", "_", column.strip().lower())
    return [role for role, names in ROLES.items() if plain in names]
