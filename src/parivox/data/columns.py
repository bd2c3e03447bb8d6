"""Columns of trials by what they mean, whatever a file calls them.

A *role* is what a column means: enrol, test, score, label, ...
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from parivox.data.source_bytes import NOBODY_WORDS
from parivox.errors import ConfigError, DataError, name_hint

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

_SIDES = {
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
_UTTERANCE = [
    *("utterance", "utt", "file", "path", "wav", "audio", "recording", "segment", "id"),
    *("templateid", "referenceid", "audiofilepath"),
]
SPEAKER = (
    *("speaker", "spk", "speakerid", "spkid", "spkr", "subject", "subjectid"),
    *("customer", "customerid", "client", "clientid", "caller", "callerid", "user", "userid"),
)
"""Names of a column of speakers, in `plain` spelling, the surest first."""
CALL = frozenset({"call", "callid", "attempt", "attemptid"})
"""Names of the column of tests in a log with a row a call."""
_SCORE = ["score", "scores", "sc", "llr", "similarity", "sim", "cosine", "cos", "distance", "dist"]
_OUTCOME = {
    "decision": ["decision", "decided", "accept", "accepted", "isaccepted"],
    "threshold": ["threshold", "thr", "deployedthreshold"],
    "status": ["status", "trialstatus"],
    "stage": ["stage", "failurestage"],
    "seconds": ["seconds", "elapsed", "elapsedseconds", "elapsedtime"],
}
_LABEL = [
    *("label", "labels", "lab", "target", "istarget", "targettype", "trialtype", "key", "class"),
    *("same", "issame", "samespeaker", "match", "genuine", "ytrue", "groundtruth", "truth"),
]


def _side_aliases(side: Iterable[str], things: Iterable[str]) -> set[str]:
    return {a + b for s in side for t in things for a, b in ((s, t), (t, s))}


_CLAIMED = {"claimed", "claim"} | _side_aliases(["claimed"], (*SPEAKER, "id", "identity"))

ALIASES: dict[str, frozenset[str]] = {
    **{
        side: frozenset({w for w in words if len(w) > 1} | _side_aliases(words, _UTTERANCE))
        for side, words in _SIDES.items()
    },
    "score": frozenset(_SCORE),
    "label": frozenset(_LABEL),
    **{
        f"{side}_speaker": frozenset(_side_aliases(words, SPEAKER))
        for side, words in _SIDES.items()
    },
    "side": frozenset({"side"}),
    **{role: frozenset(words) for role, words in _OUTCOME.items()},
}
"""Names that columns are known by, in lower case, letters and digits only."""

WORDS = {
    **dict.fromkeys(("accept", "reject"), ("decision",)),
    **dict.fromkeys(("target", "nontarget"), ("label",)),
    "failed": ("decision", "score"),
    NOBODY_WORDS: (),
}
"""What cells may say in words of the user's own, and the roles of the columns where they do."""

_TRIAL = ("enrol", "test", "score", "label", "enrol_speaker", "test_speaker")
_CUSTOMER = {"enrol", "enrol_speaker", "test_speaker"}
"""Roles that one column may have, as that of the customers in a log of calls has."""
ATTRIBUTE = "@"
"""What the role of an attribute's column begins with: ``@device``, ``@enrol.device``."""


@dataclass(frozen=True)
class RequestedColumns:
    """The user's columns, by role."""

    by_role: Mapping[str, str] = field(default_factory=dict)  # column of some roles
    may_be_elsewhere: bool = False  # whether they may stand in another file instead
    # attributes that trials are grouped by, of which columns may be in the file
    attributes: tuple[str, ...] = ()
    option: str = "--scores-format"  # with which the user names the format, as messages say it
    words: Mapping[str, str] = field(default_factory=dict)  # the user's for some of `WORDS`

    def __post_init__(self) -> None:
        for role in self.by_role:
            if role not in {*ALIASES, *WORDS}:
                known = ", ".join((*ALIASES, *WORDS))
                msg = f"--columns: {role!r} is not a role or word; known are {known}"
                raise ConfigError(msg)
        of_cells = {word: text for word, text in self.by_role.items() if word in WORDS}
        of_columns = {role: name for role, name in self.by_role.items() if role not in WORDS}
        object.__setattr__(self, "words", {**self.words, **of_cells})
        object.__setattr__(self, "by_role", of_columns)
        named = list(self.by_role.values())
        for column in dict.fromkeys(named):
            roles = [role for role, one in self.by_role.items() if one == column]
            if len(roles) > 1 and not set(roles) <= _CUSTOMER:
                both = " and ".join(roles)
                msg = f"--columns: {column!r} is named for {both}; name a column for each of them"
                raise ConfigError(msg)


def plain(name: str) -> str:
    """A column name without case, blanks and signs.

    Examples
    --------
    >>> plain(" Enrol_File ")
    'enrolfile'
    """
    return re.sub(r"[^0-9a-z]", "", name.lower())


def name_columns(names: Sequence[str], asked: RequestedColumns, source: str) -> dict[str, int]:
    """Position of the column of each role, by the user's names first, then by known ones.

    Examples
    --------
    >>> name_columns(["ref_file", "com_file", "sc"], RequestedColumns(), "scores.csv")
    {'enrol': 0, 'test': 1, 'score': 2}
    """
    found: dict[str, int] = {}
    for role, column in asked.by_role.items():
        if column not in names and asked.may_be_elsewhere:
            continue
        if column not in names:
            msg = (
                f"{source}: has no column {column!r} for {role}; {name_hint(column, names)}; name "
                "it with --columns"
            )
            raise DataError(msg)
        found[role] = list(names).index(column)
    free = [i for i in range(len(names)) if i not in found.values()]
    for role, aliases in ALIASES.items():
        if role not in found:
            found |= _named(names, free, role, aliases, source)
    found |= _of_calls(names, found, asked, source)
    # ids, labels and scores are what trials are made of, so nothing to group them by
    taken = {found[role] for role in _TRIAL if role in found}
    return found | _attributes(names, asked.attributes, taken)


def _named(
    names: Sequence[str], free: Iterable[int], role: str, words: Collection[str], source: str
) -> dict[str, int]:
    """The column of a role by its known names, if there is one; of several, that of the role's."""
    fits = [i for i in free if plain(names[i]) in words]
    exact = [i for i in fits if plain(names[i]) == plain(role)]
    if len(exact or fits) > 1:
        both = " and ".join(repr(names[i]) for i in (exact or fits)[:2])
        msg = f"{source}: columns {both} may both be {role}; say which with --columns {role}=..."
        raise DataError(msg)
    return {role: (exact or fits)[0]} if fits else {}


def _of_calls(
    names: Sequence[str], found: Mapping[str, int], asked: RequestedColumns, source: str
) -> dict[str, int]:
    """Further roles in a log with a row a call, where customers stand for their enrolments.

    Without a column of claims, the customer is who is claimed and who calls.

    Examples
    --------
    >>> _of_calls(["call_id", "customer", "score"], {"score": 2}, RequestedColumns(), "calls.csv")
    {'test': 0, 'test_speaker': 1, 'enrol': 1, 'enrol_speaker': 1}
    """
    is_known = "test" in found and "test" not in asked.by_role
    if is_known or not {"score", "decision"} & set(found):
        return {}
    free = [i for i in range(len(names)) if i not in found.values()]
    roles = {} if "test" in found else _named(names, free, "test", CALL, source)
    if "enrol" in found or "test" not in {**found, **roles}:
        return roles
    claimed = _named(names, free, "enrol", _CLAIMED, source)
    roles |= _named(names, free, "test_speaker", SPEAKER, source)
    who = claimed.get("enrol", roles.get("test_speaker"))
    if who is not None:
        roles |= {"enrol": who, "enrol_speaker": who}
    return {role: place for role, place in roles.items() if role not in found}


def are_customers(columns: Mapping[str, str]) -> bool:
    """Whether enrolments have the names of their speakers, so that a test may have such a name.

    Examples
    --------
    >>> are_customers({"enrol": "claimed", "enrol_speaker": "claimed", "test": "call"})
    True
    """
    return "enrol" in columns and columns["enrol"] == columns.get("enrol_speaker")


def alone(columns: Mapping[str, str]) -> str:
    """The column of customers that stands for either side of every trial; empty if there is none.

    Examples
    --------
    >>> alone({"enrol": "customer", "test_speaker": "customer", "test": "call"})
    'customer'
    """
    return columns["enrol"] if columns.get("enrol") == columns.get("test_speaker", "") else ""


def names_no_callers(columns: Mapping[str, str]) -> bool:
    """Whether claimed customers are the only speakers that labelled trials name.

    Examples
    --------
    >>> names_no_callers({"enrol": "claim", "enrol_speaker": "claim", "test": "call", "label": "y"})
    True
    """
    if "label" not in columns or not are_customers(columns):
        return False
    return "test_speaker" not in columns or bool(alone(columns))


def _attributes(
    names: Sequence[str], wanted: Sequence[str], taken: Collection[int] = ()
) -> dict[str, int]:
    """Position of the column, or of one for either side, of each attribute that there is.

    Examples
    --------
    >>> _attributes(["enrol", "test", "device", "ref_sex", "probe_sex"], ["device", "sex", "age"])
    {'@device': 2, '@enrol.sex': 3, '@test.sex': 4}
    """
    found: dict[str, int] = {}
    for attribute in wanted:
        free = [(i, name) for i, name in enumerate(names) if i not in taken]
        exact = [i for i, name in free if name == attribute]
        fits = exact or [i for i, name in free if plain(name) == plain(attribute)]
        if fits:
            found[ATTRIBUTE + attribute] = fits[0]
            continue
        for side, words in _SIDES.items():
            known = _side_aliases([w for w in words if len(w) > 1], [plain(attribute)])
            place = next((i for i, name in free if plain(name) in known), None)
            if place is not None:
                found[f"{ATTRIBUTE}{side}.{attribute}"] = place
    return found
