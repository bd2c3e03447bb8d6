"""Columns of trials by what they mean, whatever a file calls them.

A *role* is what a column means: enrol, test, score, label, ...
"""

from __future__ import annotations

import re
from dataclasses import field
from itertools import product
from typing import TYPE_CHECKING

from parivox.data.source_bytes import NOBODY_WORDS
from parivox.errors import ConfigError, DataError, name_hint
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

_SIDE_WORDS = {
    "enrol": [
        "enrol",
        "enroll",
        "enrolment",
        "enrollment",
        "ref",
        "reference",
        "model",
        "bioref",
        "left",
        "a",
        "1",
    ],
    "test": ["test", "com", "comparison", "probe", "segment", "right", "b", "2"],
}
_UTTERANCE_WORDS = [
    "utterance", "utt", "file", "path", "wav", "audio", "recording", "segment", "id",
    "templateid", "referenceid", "audiofilepath",
]  # fmt: skip
SPEAKER_NAMES = (
    "speaker", "spk", "speakerid", "spkid", "spkr", "subject", "subjectid",
    "customer", "customerid", "client", "clientid", "caller", "callerid", "user", "userid",
    "speakername",
)  # fmt: skip
"""Names of a column of speakers, in `plain_name` spelling, the surest first."""
UTTERANCE_NAMES = (
    "utterance", "utt", "utteranceid", "uttid", "file", "filename", "path", "segment", "segmentid",
    "recording", "recordingid", "call", "callid", "id",
)  # fmt: skip
"""Names of a column of utterances in a table of these, the surest first."""
MODEL_NAMES = (
    "model", "modelid", "enrol", "enrolment", "enroll", "enrollment", "enrolmentid", "template",
)  # fmt: skip
"""Names of a column of enrolment models in a table of these, the surest first."""
CALL_NAMES = frozenset(
    word + ending
    for word in ("call", "attempt", "request", "transaction", "session", "interaction")
    for ending in ("", "id")
)
"""Names of the column of tests in a log with a row a call."""
_SCORE_WORDS = [
    "score",
    "scores",
    "sc",
    "llr",
    "similarity",
    "sim",
    "cosine",
    "cos",
    "distance",
    "dist",
]
_OUTCOME_WORDS = {
    "decision": ["decision", "decided", "accept", "accepted", "isaccepted"],
    "threshold": ["threshold", "thr", "deployedthreshold"],
    "status": ["status", "trialstatus"],
    "stage": ["stage", "failurestage"],
    "seconds": ["seconds", "elapsed", "elapsedseconds", "elapsedtime"],
}
_LABEL_WORDS = [
    "label", "labels", "lab", "target", "istarget", "targettype", "trialtype", "key", "class",
    "same", "issame", "samespeaker", "match", "genuine", "ytrue", "groundtruth", "truth",
]  # fmt: skip


def _side_aliases(side_words: Iterable[str], nouns: Iterable[str]) -> set[str]:
    pairs = list(product(side_words, nouns))
    return {side_word + noun for side_word, noun in pairs} | {
        noun + side_word for side_word, noun in pairs
    }


_PROFILE_NAMES = ("profile", "voiceprofile", "voiceprint", "enrolledspeaker")
_CLAIM_ALIASES = (
    {"claimed", "claim"}
    | _side_aliases(["claimed"], (*SPEAKER_NAMES, "id", "identity"))
    | _side_aliases(_PROFILE_NAMES, ("", "id"))
)

ALIASES: dict[str, frozenset[str]] = {
    **{
        side: frozenset({w for w in words if len(w) > 1} | _side_aliases(words, _UTTERANCE_WORDS))
        for side, words in _SIDE_WORDS.items()
    },
    "score": frozenset(_SCORE_WORDS),
    "label": frozenset(_LABEL_WORDS),
    **{
        f"{side}_speaker": frozenset(_side_aliases(words, SPEAKER_NAMES))
        for side, words in _SIDE_WORDS.items()
    },
    "side": frozenset({"side"}),
    "attack": frozenset({"attack", "attackid", "spoofingattack"}),
    **{role: frozenset(words) for role, words in _OUTCOME_WORDS.items()},
}
"""Names that columns are known by, in lower case, letters and digits only."""

CELL_WORDS = {
    **dict.fromkeys(("accept", "reject"), ("decision",)),
    **dict.fromkeys(("target", "nontarget", "spoof"), ("label",)),
    "failed": ("decision", "score"),
    NOBODY_WORDS: (),
}
"""What cells may say in words of the user's own, and the roles of the columns where they do."""

_TRIAL_ROLES = ("enrol", "test", "score", "label", "enrol_speaker", "test_speaker")
_CUSTOMER_ROLES = {"enrol", "enrol_speaker", "test_speaker"}
"""Roles that one column may have, as that of the customers in a log of calls has."""
ATTRIBUTE_PREFIX = "@"
"""What the role of an attribute's column begins with: ``@device``, ``@enrol.device``."""


@frozen
class RequestedColumns:
    """The user's columns, by role."""

    by_role: Mapping[str, str] = field(default_factory=dict)  # column of some roles
    may_be_elsewhere: bool = False  # whether they may stand in another file instead
    # attributes that trials are grouped by, of which columns may be in the file
    attributes: tuple[str, ...] = ()
    option: str = "--scores-format"  # with which the user names the format, as messages say it
    words: Mapping[str, str] = field(default_factory=dict)  # the user's for some of `CELL_WORDS`

    def __post_init__(self) -> None:
        for role in self.by_role:
            if role not in {*ALIASES, *CELL_WORDS}:
                known_names = ", ".join((*ALIASES, *CELL_WORDS))
                msg = f"--columns: {role!r} is neither a role nor a word for cells"
                hint = f"choose from {known_names}"
                raise ConfigError(msg, hint)
        cell_words = {word: text for word, text in self.by_role.items() if word in CELL_WORDS}
        column_roles = {role: name for role, name in self.by_role.items() if role not in CELL_WORDS}
        object.__setattr__(self, "words", {**self.words, **cell_words})
        object.__setattr__(self, "by_role", column_roles)
        columns = list(self.by_role.values())
        for column in dict.fromkeys(columns):
            roles = [role for role, role_column in self.by_role.items() if role_column == column]
            if len(roles) > 1 and not set(roles) <= _CUSTOMER_ROLES:
                role_names = " and ".join(roles)
                msg = f"--columns: column {column!r} is given for {role_names}"
                hint = "give each role its own column"
                raise ConfigError(msg, hint)


def plain_name(name: str) -> str:
    """A column name without case, blanks and signs.

    Examples
    --------
    >>> plain_name(" Enrol_File ")
    'enrolfile'
    """
    return re.sub(r"[^0-9a-z]", "", name.lower())


def column_positions(
    names: Sequence[str], requested: RequestedColumns, source: str
) -> dict[str, int]:
    """Position of the column of each role, by the user's names first, then by known ones.

    Examples
    --------
    >>> column_positions(["ref_file", "com_file", "sc"], RequestedColumns(), "scores.csv")
    {'enrol': 0, 'test': 1, 'score': 2}
    """
    positions: dict[str, int] = {}
    for role, column in requested.by_role.items():
        if column not in names and requested.may_be_elsewhere:
            continue
        if column not in names:
            msg = f"{source}: has no column {column!r} for {role}; {name_hint(column, names)}"
            hint = "name the column with --columns"
            raise DataError(msg, hint)
        positions[role] = list(names).index(column)
    free = [i for i in range(len(names)) if i not in positions.values()]
    for role, aliases in ALIASES.items():
        if role not in positions:
            positions |= _aliased_position(names, free, role, aliases, source)
    if "score" not in positions:
        positions |= _named_score_position(names, free, source)
    positions |= _call_log_positions(names, positions, requested, source)
    # ids, labels and scores are what trials are made of, so nothing to group them by
    taken_positions = {positions[role] for role in _TRIAL_ROLES if role in positions}
    return positions | _attribute_positions(names, requested.attributes, taken_positions)


def _aliased_position(
    names: Sequence[str], free: Iterable[int], role: str, aliases: Collection[str], source: str
) -> dict[str, int]:
    """The column of a role by its known names, if there is one; of several, that of the role's."""
    matches = [i for i in free if plain_name(names[i]) in aliases]
    exact = [i for i in matches if plain_name(names[i]) == plain_name(role)]
    if len(exact or matches) > 1:
        candidates = " and ".join(repr(names[i]) for i in (exact or matches)[:2])
        msg = f"{source}: columns {candidates} may both be {role}"
        hint = f"choose one with --columns {role}=..."
        raise DataError(msg, hint)
    return {role: (exact or matches)[0]} if matches else {}


def _named_score_position(names: Sequence[str], free: Iterable[int], source: str) -> dict[str, int]:
    """The column whose name ends in ``score``, as ``cosine_score`` does; several are asked for."""
    matches = [i for i in free if plain_name(names[i]).endswith("score")]
    if len(matches) > 1:
        candidates = " and ".join(repr(names[i]) for i in matches[:2])
        msg = f"{source}: columns {candidates} may both be the score"
        hint = f"choose one, for example --columns score={names[matches[0]]}"
        raise DataError(msg, hint)
    return {"score": matches[0]} if matches else {}


def _call_log_positions(
    names: Sequence[str], positions: Mapping[str, int], requested: RequestedColumns, source: str
) -> dict[str, int]:
    """Further roles in a log with a row a call, where customers represent their enrolments.

    Without a column of claims, the customer is who is claimed and who calls.

    Examples
    --------
    >>> _call_log_positions(
    ...     ["call_id", "customer", "score"], {"score": 2}, RequestedColumns(), "calls.csv"
    ... )
    {'test': 0, 'test_speaker': 1, 'enrol': 1, 'enrol_speaker': 1}
    """
    is_known = "test" in positions and "test" not in requested.by_role
    if is_known or not {"score", "decision"} & set(positions):
        return {}
    free = [i for i in range(len(names)) if i not in positions.values()]
    roles = (
        {} if "test" in positions else _aliased_position(names, free, "test", CALL_NAMES, source)
    )
    if "enrol" in positions or "test" not in {**positions, **roles}:
        return roles
    claimed = _aliased_position(names, free, "enrol", _CLAIM_ALIASES, source)
    roles |= _aliased_position(names, free, "test_speaker", SPEAKER_NAMES, source)
    customer_position = claimed.get("enrol", roles.get("test_speaker"))
    if customer_position is not None:
        roles |= {"enrol": customer_position, "enrol_speaker": customer_position}
    return {role: position for role, position in roles.items() if role not in positions}


def enrolments_are_customers(columns: Mapping[str, str]) -> bool:
    """Whether enrolments have the names of their speakers, so that a test may have such a name.

    Examples
    --------
    >>> enrolments_are_customers({"enrol": "claimed", "enrol_speaker": "claimed", "test": "call"})
    True
    """
    return "enrol" in columns and columns["enrol"] == columns.get("enrol_speaker")


def is_call_log(columns: Mapping[str, str]) -> bool:
    """Whether columns with a header name customers, who are claimed in calls.

    Lists of challenges without a header name claimed speakers.

    Examples
    --------
    >>> is_call_log({"enrol": "claimed", "enrol_speaker": "claimed", "test": "call"})
    True
    >>> is_call_log({"enrol": "1 (enrol)", "enrol_speaker": "1 (enrol)", "test": "2 (test)"})
    False
    """
    return enrolments_are_customers(columns) and not columns["enrol"].endswith("(enrol)")


def only_customer_column(columns: Mapping[str, str]) -> str:
    """The column of customers that represents either side of every trial; empty if there is none.

    Examples
    --------
    >>> only_customer_column({"enrol": "customer", "test_speaker": "customer", "test": "call"})
    'customer'
    """
    return columns["enrol"] if columns.get("enrol") == columns.get("test_speaker", "") else ""


def lacks_caller_column(columns: Mapping[str, str]) -> bool:
    """Whether claimed customers are the only speakers that labelled trials name.

    Examples
    --------
    >>> lacks_caller_column(
    ...     {"enrol": "claim", "enrol_speaker": "claim", "test": "call", "label": "y"}
    ... )
    True
    """
    if "label" not in columns or not enrolments_are_customers(columns):
        return False
    return "test_speaker" not in columns or bool(only_customer_column(columns))


def _attribute_positions(
    names: Sequence[str], attributes: Sequence[str], taken_positions: Collection[int] = ()
) -> dict[str, int]:
    """Position of the column, or of one for either side, of each attribute that there is.

    Examples
    --------
    >>> _attribute_positions(
    ...     ["enrol", "test", "device", "ref_sex", "probe_sex"], ["device", "sex", "age"]
    ... )
    {'@device': 2, '@enrol.sex': 3, '@test.sex': 4}
    """
    positions: dict[str, int] = {}
    for attribute in attributes:
        free = [(i, name) for i, name in enumerate(names) if i not in taken_positions]
        exact = [i for i, name in free if name == attribute]
        matches = exact or [i for i, name in free if plain_name(name) == plain_name(attribute)]
        if matches:
            positions[ATTRIBUTE_PREFIX + attribute] = matches[0]
            continue
        for side, words in _SIDE_WORDS.items():
            side_names = _side_aliases([w for w in words if len(w) > 1], [plain_name(attribute)])
            position = next((i for i, name in free if plain_name(name) in side_names), None)
            if position is not None:
                positions[f"{ATTRIBUTE_PREFIX}{side}.{attribute}"] = position
    return positions
