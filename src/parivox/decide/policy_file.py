"""Read the policy of a gate: conditions that an audit must keep, and what is accepted for a while.

See docs/gate.md#what-a-policy-says.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

from parivox.errors import ConfigError, name_hint
from parivox.options.audit import AuditOptions
from parivox.options.limits import LIMIT_METRICS, RATIO_METRICS, SEARCH_METRICS, parse_maximum

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parivox.data.yaml_text import YamlNode

VERSION = 1
WORSE, OTHERS, BASELINE = "worse", "others", "baseline"
EXAMPLE = """\
# Conditions for a release. To check an audit: parivox gate AUDIT --policy FILE

parivox-policy: 1

# A condition limits one rate of every group: fnr, fpr, frr, far, fta or fte.
# The keys 'by', 'groups', 'system' and 'at' select what the condition applies to.
# Default: all groups of all groupings and systems, at the primary operating point.

conditions:
- name: no group may exceed 1.5 times the FNR of the other groups
  rate: fnr
  at-most: 1.5x             # 1.5 times the rate of all other groups combined

- name: at most one in ten target trials of each group may be rejected
  rate: fnr
  at-most: 10%

- name: no group may have a verdict of worse for false accepts
  rate: fpr
  not: worse                # no group may have this verdict in the audit

# A condition for --baseline OLD, the saved audit of the previous release:
# - name: no group may exceed 1.25 times its FNR in the last release
#   rate: fnr
#   at-most: 1.25x
#   than: baseline

# Inconclusive conditions pass only if they are accepted, with a reason and an end date.
# accept:
# - condition: no group may exceed 1.5 times the FNR of the other groups
#   groups: [f+India]
#   reason: few speakers; more will be recorded in spring
#   until: 2027-06-30
"""
_VERSION_KEY = "parivox-policy"
_KEYS = (_VERSION_KEY, "confidence", "conditions", "accept")
_CONDITION_KEYS = ("name", "rate", "at-most", "not", "than", "by", "groups", "at", "system")
_ACCEPTANCE_KEYS = ("condition", "groups", "reason", "until")
_HINT = "print a template with parivox gate --example"
LIMITS_OF_SEARCHES = (
    "limit FNIR and FPIR in the audit itself: parivox audit ... --limit fpir=5% --fail-on not-met"
)
"""What helps instead of a policy, in identification."""


@dataclass(frozen=True)
class Condition:
    """What a rate of every group must keep."""

    name: str
    rate: str
    maximum: float | None  # None where the verdict is asked for
    is_ratio: bool
    reference: str  # of a ratio: `OTHERS`, or `BASELINE`
    grouping: str = ""  # these four: all, or the primary operating point, where empty
    groups: tuple[str, ...] = ()
    operating_point: str = ""
    system: str = ""
    location: str = field(default="", compare=False)  # for messages

    @property
    def subject(self) -> tuple[object, ...]:
        """What the condition limits; no two conditions of a policy may limit the same."""
        asks_for_verdict = self.maximum is None
        kind = (self.rate, asks_for_verdict, self.is_ratio, self.reference)
        return (*kind, self.grouping, self.groups, self.operating_point, self.system)


@dataclass(frozen=True)
class Acceptance:
    """Groups for which a condition may stay inconclusive for a while."""

    condition: str
    groups: tuple[str, ...]  # every group where empty
    reason: str
    until: dt.date
    location: str = field(default="", compare=False)

    def covers(self, condition: str, group: str, today: dt.date) -> bool:
        """Return whether it is of a group's condition, and has not ended."""
        is_of_condition = condition == self.condition
        is_of_group = not self.groups or group in self.groups
        return is_of_condition and is_of_group and today <= self.until


@dataclass(frozen=True)
class Policy:
    """What a policy says."""

    conditions: tuple[Condition, ...]
    accepted: tuple[Acceptance, ...] = ()
    confidence: float = AuditOptions.confidence  # least that an audit must have
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What messages call it."""
        return str(self.provenance["name"])


def read_policy(source: Any) -> Policy:
    """Read a policy, or a mapping that holds the same.

    Examples
    --------
    >>> condition = {"name": "FNR below 5 %", "rate": "fnr", "at-most": "5%"}
    >>> policy = read_policy({"parivox-policy": 1, "conditions": [condition]})
    >>> policy.conditions[0].maximum
    0.05
    """
    from parivox.data.yaml_text import read_config_file  # noqa: PLC0415 - it imports yaml

    return _policy(*read_config_file(source, "--policy", "a policy", _HINT))


def _policy(node: YamlNode | None, provenance: Mapping[str, Any]) -> Policy:
    """Return the policy that the topmost node holds; None is an empty file."""
    name = provenance["name"]
    if node is None or not isinstance(node.content, dict) or _VERSION_KEY not in node.content:
        msg = f"{name}: is not a policy (no line '{_VERSION_KEY}: {VERSION}')"
        raise ConfigError(msg, _HINT)
    nodes = node.entries("the file", "conditions:", _KEYS)
    version = nodes[_VERSION_KEY]
    if version.content != str(VERSION):
        msg = (
            f"{version.location}: is of version {version.written}, but this Parivox reads "
            "version 1 only"
        )
        hint = "update Parivox, or write the policy again"
        raise ConfigError(msg, hint)
    confidence = AuditOptions.confidence
    if "confidence" in nodes:
        confidence = _confidence(nodes["confidence"])
    if "conditions" not in nodes:
        msg = f"{name}: has no conditions"
        raise ConfigError(msg, _HINT)
    conditions = [_condition(member) for member in _list_members(nodes["conditions"], "conditions")]
    accepted = []
    if "accept" in nodes:
        accepted = [
            _acceptance(member, conditions) for member in _list_members(nodes["accept"], "accept")
        ]
    _check_distinct_conditions(conditions)
    _check_distinct_acceptances(accepted)
    return Policy(tuple(conditions), tuple(accepted), confidence, provenance)


def _check_distinct_conditions(conditions: Sequence[Condition]) -> None:
    """Refuse conditions of one name, or that limit the same."""
    for earlier, later in combinations(conditions, 2):
        if earlier.name == later.name:
            msg = f"{later.location}: two conditions have the name {later.name!r}"
            hint = "give each condition its own name"
            raise ConfigError(msg, hint)
        if earlier.subject == later.subject:
            msg = f"{later.location}: {later.name!r} and {earlier.name!r} contradict each other"
            hint = "keep one of them"
            raise ConfigError(msg, hint)


def _check_distinct_acceptances(acceptances: Sequence[Acceptance]) -> None:
    """Refuse to accept a condition of one group twice."""
    for earlier, later in combinations(acceptances, 2):
        # no groups stand for all of them
        is_of_every_group = not (earlier.groups and later.groups)
        shares_groups = is_of_every_group or {*earlier.groups} & {*later.groups}
        if earlier.condition == later.condition and shares_groups:
            msg = f"{later.location}: the same groups are already accepted at {earlier.location}"
            hint = "keep one of the two entries"
            raise ConfigError(msg, hint)


def _condition(node: YamlNode) -> Condition:
    subject = "a condition"
    nodes = node.entries(subject, "rate: fnr", _CONDITION_KEYS)
    name, rate = (_text(node, nodes, key, subject) for key in ("name", "rate"))
    if rate in SEARCH_METRICS:
        msg = f"{nodes['rate'].location}: policies do not cover identification ({rate!r})"
        raise ConfigError(msg, LIMITS_OF_SEARCHES)
    if rate not in LIMIT_METRICS:
        msg = f"{nodes['rate'].location}: {rate!r} is not a rate"
        hint = name_hint(rate, LIMIT_METRICS)
        raise ConfigError(msg, hint)
    if ("not" in nodes) == ("at-most" in nodes):
        keys = "both at-most and not" if "not" in nodes else "neither at-most nor not"
        msg = f"{node.location}: {name!r} has {keys}"
        hint = "give one of the two, for example at-most: 5% or not: worse"
        raise ConfigError(msg, hint)
    maximum: float | None = None
    is_ratio = False
    if "at-most" in nodes:
        maximum, is_ratio = _maximum(nodes["at-most"])
    elif nodes["not"].content != WORSE or rate not in RATIO_METRICS:
        msg = f"{nodes['not'].location}: 'not' can only be worse, and only for fnr, fpr or sfar"
        hint = "give at-most, for example at-most: 5%"
        raise ConfigError(msg, hint)
    reference = _text(node, nodes, "than", subject) if "than" in nodes else OTHERS
    if reference not in {OTHERS, BASELINE} or ("than" in nodes and not is_ratio):
        msg = (
            f"{nodes['than'].location}: 'than' applies only to ratios and can be others or "
            "baseline, for example at-most: 1.25x and than: baseline"
        )
        raise ConfigError(msg)
    if is_ratio and rate not in RATIO_METRICS:
        msg = f"{nodes['at-most'].location}: only fnr, fpr and sfar can have a limit on their ratio"
        hint = "give a rate, for example 5%"
        raise ConfigError(msg, hint)
    grouping, operating_point, system = (
        _text(node, nodes, key, subject) if key in nodes else "" for key in ("by", "at", "system")
    )
    return Condition(
        name=name,
        rate=rate,
        maximum=maximum,
        is_ratio=is_ratio,
        reference=reference,
        grouping=grouping,
        groups=nodes["groups"].texts("groups") if "groups" in nodes else (),
        operating_point=operating_point,
        system=system,
        location=node.location,
    )


def _confidence(node: YamlNode) -> float:
    """Return the least confidence that an audit must have."""
    parsed = parse_maximum(node.content) if isinstance(node.content, str) else None
    if parsed is None or parsed[1] or not 0.5 <= parsed[0] <= 0.999:
        msg = f"{node.location}: confidence is {node.written}"
        hint = "give 50% to 99.9%, for example confidence: 95%"
        raise ConfigError(msg, hint)
    return parsed[0]


def _maximum(node: YamlNode) -> tuple[float, bool]:
    """Return the largest rate or ratio, and whether it is a ratio."""
    maximum = parse_maximum(node.content) if isinstance(node.content, str) else None
    if maximum is None:
        msg = f"{node.location}: at-most is {node.written}"
        hint = "give 5% or 0.05, or 1.5x for a ratio"
        raise ConfigError(msg, hint)
    return maximum


def _acceptance(node: YamlNode, conditions: Sequence[Condition]) -> Acceptance:
    subject = "an acceptance"
    nodes = node.entries(subject, "until: 2027-06-30", _ACCEPTANCE_KEYS)
    name, reason, until = (
        _text(node, nodes, key, subject) for key in ("condition", "reason", "until")
    )
    conditions_by_name = {condition.name: condition for condition in conditions}
    if name not in conditions_by_name:
        location = nodes["condition"].location
        msg = f"{location}: {name!r} is not a condition"
        hint = name_hint(name, conditions_by_name)
        raise ConfigError(msg, hint)
    try:
        date = dt.date.fromisoformat(until)
    except ValueError as error:
        msg = f"{nodes['until'].location}: until is {until!r}"
        hint = "give a date, for example 2027-06-30"
        raise ConfigError(msg, hint) from error
    groups = nodes["groups"].texts("groups") if "groups" in nodes else ()
    condition_groups = conditions_by_name[name].groups
    for group in groups:
        if condition_groups and group not in condition_groups:
            msg = f"{nodes['groups'].location}: {group!r} is not a group of {name!r}"
            hint = name_hint(group, condition_groups)
            raise ConfigError(msg, hint)
    return Acceptance(name, groups, reason, date, node.location)


def _list_members(node: YamlNode, name: str) -> Iterator[YamlNode]:
    if not isinstance(node.content, list) or not node.content:
        msg = f"{node.location}: {name} is not a list with at least one entry"
        raise ConfigError(msg, _HINT)
    yield from node.content


def _text(parent: YamlNode, nodes: Mapping[str, YamlNode], key: str, subject: str) -> str:
    """Return the text under a key of a mapping, whose node is `parent`."""
    text = nodes[key].content if key in nodes else ""
    if not isinstance(text, str) or not text:
        location = nodes[key].location if key in nodes else parent.location
        msg = f"{location}: {subject} has no {key!r}"
        hint = f"write a line '{key}: ...'"
        raise ConfigError(msg, hint)
    return text
