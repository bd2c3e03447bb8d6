"""The rule file: which threshold decides for whom, as `parivox thresholds` writes it.

See docs/thresholds.md#the-rule-file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.data.requested_groupings import make_groupings
from parivox.errors import ConfigError, name_hint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parivox.data.grouping import Grouping
    from parivox.data.speakers import Speakers
    from parivox.data.trial_checks import Trials
    from parivox.data.trial_set import TrialSet
    from parivox.data.yaml_text import YamlNode

VERSION = 1
SIDES = ("enrol", "test")
EXAMPLE = """\
# Which threshold decides for whom; parivox audit SCORES --thresholds FILE audits it.
parivox-thresholds: 1

# Attributes that the groups are made of, as in --by, and whose: of the enrolled person (enrol),
# or of the person at the door (test).
by: gender
side: enrol

# One for all who have none of their own, and for people of unknown group.
common: 0.35
unknown: 0.35

# Groups that have one of their own.
thresholds:
  f: 0.37
"""
_VERSION_KEY, _SELECTION_KEY = "parivox-thresholds", "found"
_KEYS = (_VERSION_KEY, "by", "side", "common", "unknown", "thresholds", _SELECTION_KEY)
_HINT = "print a template with parivox thresholds --example"
_FIRST_LINE = EXAMPLE.partition("\n")[0]


@dataclass(frozen=True)
class RuleFile:
    """What a rule file says."""

    by: str  # one grouping
    side: str  # whose group it is: test or enrol
    common: float
    unknown: float  # for people of unknown group
    thresholds: Mapping[str, float]  # of groups that have one of their own
    found: Mapping[str, Any] = field(default_factory=dict)  # how they were found
    provenance: Mapping[str, Any] = field(default_factory=dict)  # what was read

    def text(self, *, as_json: bool = False) -> str:
        """The file, as YAML or JSON."""
        entries = {_VERSION_KEY: VERSION} | {name: getattr(self, name) for name in _KEYS[1:]}
        if as_json:
            return json.dumps(entries, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        return "\n".join([_FIRST_LINE, *_lines(entries)]) + "\n"

    def record(self) -> dict[str, Any]:
        """What the file says, for the audit's record."""
        fields = {name: getattr(self, name) for name in _KEYS[1:-1]}
        return fields | {
            "thresholds": dict(self.thresholds),
            "trials_sha256": self.found.get("trials_sha256", ""),
        }

    def grouping(self, speakers: Speakers, sets: Sequence[TrialSet], **options: Any) -> Grouping:
        """The groups that it is of.

        Raises
        ------
        ConfigError
            If none of those that it names occurs.
        """
        name = self.provenance["name"]
        (rule_grouping,) = make_groupings(
            speakers, [self.by], sets=sets, option=f"{name}: by", **options
        )
        if self.thresholds and not set(self.thresholds) & set(rule_grouping.groups):
            first_group = next(iter(self.thresholds))
            msg = f"{name}: none of its groups by {self.by} occurs in the trials"
            hint = name_hint(first_group, rule_grouping.groups)
            raise ConfigError(msg, hint)
        return rule_grouping

    def decide(self, trials: TrialSet, grouping: Grouping) -> TrialSet:
        """The trials with the threshold that decides each of them.

        Raises
        ------
        ConfigError
            If they are decided already, or have no scores.
        """
        name = self.provenance["name"]
        if trials.has_decisions or not trials.is_scored:
            msg = f"--thresholds {name}: {trials.name} already contains decisions or thresholds"
            hint = "leave out this column or --thresholds"
            raise ConfigError(msg, hint)
        group_thresholds = [self.thresholds.get(group, self.common) for group in grouping.groups]
        thresholds, position = np.unique([*group_thresholds, self.unknown], return_inverse=True)
        group_threshold: NDArray[np.int32] = position.astype(np.int32)
        sides, side = grouping.side_coder(trials), SIDES.index(self.side)

        def with_thresholds(partition: Trials) -> Trials:
            extra_columns = {
                **partition.extra_columns,
                "threshold": group_threshold[sides(partition)[side]],
            }
            failed = None if partition.failed is None else with_thresholds(partition.failed)
            return replace(partition, extra_columns=extra_columns, failed=failed)

        decided_trials = trials.with_trial_columns(
            with_thresholds, column_names=["threshold"], added_values={}
        )
        return replace(decided_trials, thresholds=np.append(thresholds, np.nan))


def read_rules(source: Any) -> RuleFile:
    """Read a rule file, or a mapping that contains the same.

    Examples
    --------
    >>> found = read_rules(
    ...     {"parivox-thresholds": 1, "by": "gender", "common": 0.35, "thresholds": {"f": 0.37}}
    ... )
    >>> found.side, found.unknown, found.thresholds
    ('enrol', 0.35, {'f': 0.37})
    """
    from parivox.data.yaml_text import read_config_file  # noqa: PLC0415 - it imports yaml

    return _parsed(*read_config_file(source, "--thresholds", "a rule file", _HINT))


def _parsed(node: YamlNode | None, provenance: dict[str, Any]) -> RuleFile:
    name = provenance["name"]
    if node is None or not isinstance(node.content, dict) or _VERSION_KEY not in node.content:
        msg = f"{name}: is not a rule file (no line '{_VERSION_KEY}: {VERSION}')"
        raise ConfigError(msg, _HINT)
    entries = node.entries("the file", "by: gender", _KEYS)
    if entries[_VERSION_KEY].content != str(VERSION):
        msg = (
            f"{entries[_VERSION_KEY].location}: is of version "
            f"{entries[_VERSION_KEY].written}, but "
            "this Parivox reads version 1 only"
        )
        hint = "update Parivox, or write the rule again"
        raise ConfigError(msg, hint)
    missing = [key for key in ("by", "common", "thresholds") if key not in entries]
    if missing:
        msg = f"{name}: has no {missing[0]!r}"
        raise ConfigError(msg, _HINT)
    by, side = (entries[key].content if key in entries else SIDES[0] for key in ("by", "side"))
    for key, content in (("by", by), ("side", side)):
        if not isinstance(content, str) or not content or (key == "side" and content not in SIDES):
            expected = "enrol or test" if key == "side" else "one grouping, for example gender"
            msg = f"{entries[key].location}: {key} is not {expected}"
            raise ConfigError(msg, _HINT)
    groups = entries["thresholds"].content
    selection_content = entries[_SELECTION_KEY].content if _SELECTION_KEY in entries else {}
    selection = selection_content if isinstance(selection_content, dict) else {}
    if not isinstance(groups, dict):
        msg = f"{entries['thresholds'].location}: thresholds is not a mapping"
        hint = "write lines such as 'f: 0.37'"
        raise ConfigError(msg, hint)
    common = _number(entries["common"], "common")
    return RuleFile(
        str(by),
        str(side),
        common,
        _number(entries["unknown"], "unknown") if "unknown" in entries else common,
        {group: _number(child, f"the threshold of {group!r}") for group, child in groups.items()},
        {key: child.content for key, child in selection.items() if isinstance(child.content, str)},
        provenance,
    )


def _number(node: YamlNode, description: str) -> float:
    try:
        parsed = float(node.content)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        parsed = math.nan
    is_odd = "_" in str(node.content)  # which Python reads, and nobody means
    if is_odd or not math.isfinite(parsed):
        msg = f"{node.location}: {description} is not a number"
        hint = "write a number, for example 0.35"
        raise ConfigError(msg, hint)
    return parsed


def _lines(entries: Mapping[str, Any], indent: str = "") -> list[str]:
    """Entries as YAML; texts as JSON writes them, which YAML reads alike."""
    lines = []
    for key, content in entries.items():
        name = f"{indent}{json.dumps(key, ensure_ascii=False) if indent else key}:"
        if isinstance(content, Mapping) and content:
            lines += [name, *_lines(content, f"{indent}  ")]
        else:
            lines.append(f"{name} {json.dumps(content, ensure_ascii=False)}")
    return lines
