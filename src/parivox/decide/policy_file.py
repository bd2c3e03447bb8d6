"""The policy of a gate: conditions that an audit must keep, and what is accepted for a while.

See docs/gate.md#what-a-policy-says.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parivox.data.source_bytes import read_content
from parivox.errors import ConfigError, name_hint
from parivox.options.limits import LIMIT_METRICS, RATIO_METRICS, parse_maximum

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from parivox.data.yaml_text import YamlNode

VERSION = 1
WORSE, OTHERS, BASELINE = "worse", "others", "baseline"
EXAMPLE = """\
# What a release must keep; parivox gate AUDIT --policy FILE judges an audit by it.
parivox-policy: 1

# Each is of one rate (fnr, fpr, frr, far, fta, fte) of every group. Of all groupings, systems and
# the first operating point, or of those that it names: by, groups, system, at.
conditions:
- name: no group has over 1.5 times the false reject rate of all others
  rate: fnr
  at-most: 1.5x             # times the rate of all other groups combined

- name: at most one of ten target trials of each group is rejected
  rate: fnr
  at-most: 10%

- name: no group has a verdict of worse for false accepts
  rate: fpr
  not: worse                # the verdict of the audit

# With --baseline OLD, the audit of the release before:
# - name: no group has over 1.25 times the false reject rate of the last release
#   rate: fnr
#   at-most: 1.25x
#   than: baseline

# Inconclusive conditions do not pass, unless they are accepted: why, and until when.
# accept:
# - condition: no group has over 1.5 times the false reject rate of all others
#   groups: [f+India]
#   reason: few speakers; more are recorded in spring
#   until: 2027-06-30
"""
_VERSION = "parivox-policy"
_KEYS = (_VERSION, "conditions", "accept")
_OF_CONDITION = ("name", "rate", "at-most", "not", "than", "by", "groups", "at", "system")
_OF_ACCEPTED = ("condition", "groups", "reason", "until")
_MEND = "parivox gate --example prints one"


@dataclass(frozen=True)
class Condition:
    """What a rate of every group must keep."""

    name: str
    rate: str
    most: float | None  # None where the verdict is asked
    is_ratio: bool
    than: str  # what a ratio is to: `OTHERS`, or `BASELINE`
    by: str = ""  # these four: all, or the first operating point, where empty
    groups: tuple[str, ...] = ()
    at: str = ""
    system: str = ""
    where: str = field(default="", compare=False)  # for messages

    @property
    def asked(self) -> tuple[object, ...]:
        """What of one rate may have one limit only."""
        return self.rate, self.most is None, self.is_ratio, self.than, *self._scope

    @property
    def _scope(self) -> tuple[object, ...]:
        return self.by, self.groups, self.at, self.system


@dataclass(frozen=True)
class Acceptance:
    """Of which groups it may remain open for a while whether a condition is kept."""

    condition: str
    groups: tuple[str, ...]  # every group where empty
    reason: str
    until: dt.date
    where: str = field(default="", compare=False)

    def covers(self, condition: str, group: str, today: dt.date) -> bool:
        """Whether it is of a group's condition, and has not ended."""
        is_it = condition == self.condition and (not self.groups or group in self.groups)
        return is_it and today <= self.until


@dataclass(frozen=True)
class Policy:
    """What a policy says."""

    conditions: tuple[Condition, ...]
    accepted: tuple[Acceptance, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What messages call it."""
        return str(self.provenance["name"])


def read_policy(source: Any) -> Policy:
    """Read a policy, or a mapping that holds the same.

    Examples
    --------
    >>> one = {"name": "FNR below 5 %", "rate": "fnr", "at-most": "5%"}
    >>> read_policy({"parivox-policy": 1, "conditions": [one]}).conditions[0].most
    0.05
    """
    from parivox.data import yaml_text  # noqa: PLC0415 - it imports yaml

    name = "--policy"
    provenance: dict[str, Any] = {"role": "policy", "name": name, "format": "mapping"}
    if isinstance(source, Mapping):
        return _parsed(yaml_text.node_of(source, name), provenance)
    if not isinstance(source, (str, os.PathLike)):
        msg = f"--policy: a {type(source).__name__} is not a policy; give the path of one"
        raise ConfigError(msg)
    path = Path(source)
    if path.is_file() and not path.stat().st_size:
        return _parsed(None, provenance | {"name": path.name})
    content = read_content(source)
    provenance |= {"name": content.name, "format": "yaml", "sha256": content.sha256}
    try:
        text = (content.data or b"").decode("utf-8-sig")
    except UnicodeDecodeError as error:
        msg = f"{content.name}: is not text; write what parivox gate --example prints, in UTF-8"
        raise ConfigError(msg) from error
    return _parsed(yaml_text.read_yaml(text, content.name), provenance)


def _parsed(node: YamlNode | None, provenance: Mapping[str, Any]) -> Policy:
    name = provenance["name"]
    if node is None or not isinstance(node.value, dict) or _VERSION not in node.value:
        msg = f"{name}: is not a policy, of which a line says '{_VERSION}: {VERSION}'; {_MEND}"
        raise ConfigError(msg)
    entries = node.value
    _check_keys(entries, _KEYS)
    if entries[_VERSION].value != str(VERSION):
        msg = (
            f"{entries[_VERSION].where}: is of version {entries[_VERSION].value!r}, of which this "
            "Parivox knows 1 only; update Parivox, or write the policy again"
        )
        raise ConfigError(msg)
    if "conditions" not in entries:
        msg = f"{name}: has no conditions; {_MEND}"
        raise ConfigError(msg)
    conditions = [_condition(one) for one in _items(entries["conditions"], "conditions")]
    accepted = [
        _accepted(one, conditions)
        for one in (_items(entries["accept"], "accept") if "accept" in entries else ())
    ]
    for one, other in combinations(conditions, 2):
        if one.name == other.name:
            msg = f"{other.where}: {other.name!r} is the name of two conditions; name each once"
            raise ConfigError(msg)
        if one.asked == other.asked:
            msg = (
                f"{other.where}: {other.name!r} and {one.name!r} say two things of the same; keep "
                "the one that holds"
            )
            raise ConfigError(msg)
    for first, second in combinations(accepted, 2):
        shared = {*first.groups} & {*second.groups} or not (first.groups and second.groups)
        if first.condition == second.condition and shared:
            msg = (
                f"{second.where}: is accepted at {first.where} already, of the same groups; keep "
                "one of them"
            )
            raise ConfigError(msg)
    return Policy(tuple(conditions), tuple(accepted), provenance)


def _condition(node: YamlNode) -> Condition:
    entries = _mapping(node, "a condition", _OF_CONDITION)
    name, rate = (_text(node, entries, key, "a condition") for key in ("name", "rate"))
    if rate not in LIMIT_METRICS:
        msg = f"{entries['rate'].where}: {rate!r} is not a rate; {name_hint(rate, LIMIT_METRICS)}"
        raise ConfigError(msg)
    if ("not" in entries) == ("at-most" in entries):
        many = "both at-most and not" if "not" in entries else "neither at-most nor not"
        msg = f"{node.where}: {name!r} has {many}; give one, as in at-most: 5% or not: worse"
        raise ConfigError(msg)
    most: float | None = None
    is_ratio = False
    if "not" in entries:
        one = entries["not"]
        if one.value != WORSE or rate not in RATIO_METRICS:
            msg = f"{one.where}: not is for worse, of fnr or fpr; give at-most, as in at-most: 5%"
            raise ConfigError(msg)
    else:
        one = entries["at-most"]
        found = parse_maximum(one.value) if isinstance(one.value, str) else None
        if found is None:
            what = repr(one.value) if isinstance(one.value, str) else "no number"
            msg = f"{one.where}: at-most is {what}; give 5% or 0.05, or 1.5x for a ratio"
            raise ConfigError(msg)
        most, is_ratio = found
    than = _text(node, entries, "than", "a condition") if "than" in entries else OTHERS
    if than not in {OTHERS, BASELINE} or ("than" in entries and not is_ratio):
        msg = (
            f"{entries['than'].where}: than is for ratios, and others or baseline, as in "
            "at-most: 1.25x and than: baseline"
        )
        raise ConfigError(msg)
    if is_ratio and rate not in RATIO_METRICS:
        msg = f"{entries['at-most'].where}: ratios are of fnr and fpr; give a rate, as in 5%"
        raise ConfigError(msg)
    by, at, system = (
        _text(node, entries, key, "a condition") if key in entries else ""
        for key in ("by", "at", "system")
    )
    groups = _texts(entries["groups"]) if "groups" in entries else ()
    return Condition(name, rate, most, is_ratio, than, by, groups, at, system, node.where)


def _accepted(node: YamlNode, conditions: Sequence[Condition]) -> Acceptance:
    entries = _mapping(node, "what is accepted", _OF_ACCEPTED)
    condition, reason, until = (
        _text(node, entries, key, "what is accepted") for key in ("condition", "reason", "until")
    )
    named = {one.name: one for one in conditions}
    if condition not in named:
        where = entries["condition"].where
        msg = f"{where}: {condition!r} is not a condition; {name_hint(condition, named)}"
        raise ConfigError(msg)
    try:
        date = dt.date.fromisoformat(until)
    except ValueError as error:
        msg = f"{entries['until'].where}: until is {until!r}; give a date, as in 2027-06-30"
        raise ConfigError(msg) from error
    groups = _texts(entries["groups"]) if "groups" in entries else ()
    own = named[condition].groups
    strange = next((one for one in groups if own and one not in own), None)
    if strange is not None:
        msg = (
            f"{entries['groups'].where}: {strange!r} is not a group of {condition!r}; "
            f"{name_hint(strange, own)}"
        )
        raise ConfigError(msg)
    return Acceptance(condition, groups, reason, date, node.where)


def _items(node: YamlNode, what: str) -> Iterator[YamlNode]:
    if not isinstance(node.value, list) or not node.value:
        msg = f"{node.where}: {what} is not a list with something in it; {_MEND}"
        raise ConfigError(msg)
    yield from node.value


def _mapping(node: YamlNode, what: str, keys: Sequence[str]) -> dict[str, YamlNode]:
    if not isinstance(node.value, dict):
        msg = f"{node.where}: {what} is not a mapping; write lines as in 'rate: fnr'"
        raise ConfigError(msg)
    _check_keys(node.value, keys)
    return node.value


def _check_keys(entries: Mapping[str, YamlNode], keys: Sequence[str]) -> None:
    for key, one in entries.items():
        if key not in keys:
            msg = f"{one.where}: {key!r} is not known; {name_hint(key, keys)}"
            raise ConfigError(msg)


def _text(node: YamlNode, entries: Mapping[str, YamlNode], key: str, what: str) -> str:
    value = entries[key].value if key in entries else ""
    if not isinstance(value, str) or not value:
        where = entries[key].where if key in entries else node.where
        msg = f"{where}: {what} says nothing of {key!r}; write a line '{key}: ...'"
        raise ConfigError(msg)
    return value


def _texts(node: YamlNode) -> tuple[str, ...]:
    many = node.value if isinstance(node.value, list) else [node]
    found = tuple(one.value for one in many if isinstance(one.value, str) and one.value)
    if not found or len(found) < len(many) or len(set(found)) < len(found):
        msg = f"{node.where}: is not a list of names, each once; write it as in [f, m]"
        raise ConfigError(msg)
    return found
