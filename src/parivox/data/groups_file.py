"""The groups file of ``--groups``: which groups to make of which values, and what to compare.

::

    by: [gender, gender+nationality]        # groupings, as --by takes them
    reference: [pooled, men]                # as --reference takes them
    groups:
      gender:                               # a group: the values that it contains
        women: [f, F, female]
        men: [m, M, male]
      nationality:                          # in the order of the report
        North America: [USA, Canada]
        India: India
    others:                                 # values that no group contains; without it: left out
      nationality: elsewhere                # a group of their own; keep: each its own group

A list instead of named groups keeps these values, in this order, under their own names. Bands
are named after the attribute with its edges, as in ``age:18,60``. Without ``by``, each attribute
of ``groups`` is a grouping.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

from parivox.data.attributes import parse_by
from parivox.errors import ConfigError, name_hint

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from parivox.data.attributes import Attribute
    from parivox.data.yaml_text import YamlNode

KEEP_NAMES = "keep"
"""Under ``others``: values that no group contains keep their names."""
_MAX_SHOWN, _MAX_COMPARED = 8, 10_000
"""How many texts a message shows, and among how many it looks for near ones."""
_OPTION_KEYS = ("by", "within", "reference")
_KEYS = (*_OPTION_KEYS, "groups", "others")


@dataclass(frozen=True)
class GroupDefinition:
    """What groups are made of the values of one attribute.

    Examples
    --------
    >>> recipe = GroupDefinition({"women": ("f", "F"), "men": ("m",)})
    >>> recipe.grouped(["F", "f", "m", "x"])
    (['women', 'men'], [0, 0, 1, -1], ['x'])
    """

    groups: Mapping[str, tuple[str, ...]]  # values of each group, by its name, in order
    # group of the values that no group holds; `KEEP_NAMES` where each keeps its name, None where
    # they are left out
    others: str | None = None
    # where each group stands, for messages
    locations: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    def grouped(self, values: Sequence[str]) -> tuple[list[str], list[int], list[str]]:
        """Groups of values, named ones first; the group of each value; values that are left out.

        The index of the group is -1 for values that are left out; values that keep their names are
        groups in the order in which they are given.
        """
        group_of_value = {
            value: name for name, group_values in self.groups.items() for value in group_values
        }
        names = [
            group_of_value.get(
                attribute_value, attribute_value if self.others == KEEP_NAMES else self.others
            )
            for attribute_value in values
        ]
        occurring = dict.fromkeys(name for name in names if name is not None)
        groups = [name for name in self.groups if name in occurring]
        groups += [name for name in occurring if name not in self.groups]
        group_index: dict[str | None, int] = {name: i for i, name in enumerate(groups)}
        excluded = [
            attribute_value
            for attribute_value, name in zip(values, names, strict=True)
            if name is None
        ]
        return groups, [group_index.get(name, -1) for name in names], excluded

    def refuse_empty_groups(self, values: Sequence[str]) -> None:
        """Refuse a group that contains no value of the data: it would be missing without a word.

        One value of several may well be absent; a list may name every spelling that there is.
        """
        present = set(values)
        for name, group_values in self.groups.items():
            if present.isdisjoint(group_values):
                similar = _similar_names(group_values, values) or values
                msg = (
                    f"{self.locations.get(name, 'groups')}: no value of group {name!r} occurs in "
                    f"the data ({_listed(group_values)}); nearest: "
                    f"{_listed(similar) or 'there is none'}"
                )
                hint = "correct its values, or remove the group"
                raise ConfigError(msg, hint)


@dataclass(frozen=True)
class GroupsFile:
    """What a groups file says."""

    name: str  # what messages call it
    # as the options of these names take them; None where the file does not say
    by: tuple[str, ...] | None
    within: tuple[str, ...] | None
    reference: tuple[str, ...] | None
    definitions: Mapping[str, GroupDefinition]  # by attribute, as the file writes it
    provenance: dict[str, Any]  # what was read

    def definition(self, attribute: Attribute) -> GroupDefinition | None:
        """Recipe of an attribute, whatever its case and the blanks around its edges.

        That of ``language`` serves ``enrol.language``, too, unless that has one of its own.
        """
        by_plain_name = {
            _plain_attribute(text): candidate for text, candidate in self.definitions.items()
        }
        candidates = (
            by_plain_name.get(_plain_attribute(text)) for text in _definition_names(attribute)
        )
        return next((candidate for candidate in candidates if candidate is not None), None)

    def record(self) -> dict[str, Any]:
        """What the file says, for the audit's record: the same for every way to write it."""
        choices = {key: getattr(self, key) for key in _OPTION_KEYS}
        return {key: list(texts) for key, texts in choices.items() if texts is not None} | {
            "groups": {
                _plain_attribute(attribute): {
                    "groups": [
                        {"group": group, "values": sorted(group_values)}
                        for group, group_values in definition.groups.items()
                    ],
                    "others": definition.others,
                }
                for attribute, definition in sorted(
                    self.definitions.items(), key=lambda named: _plain_attribute(named[0])
                )
            }
        }


def read_groups_file(source: Any) -> GroupsFile:
    """Read a YAML file of groups, or a mapping that contains the same.

    Examples
    --------
    >>> found = read_groups_file({"groups": {"gender": {"women": ["f", "F"], "men": "m"}}})
    >>> found.by, found.definitions["gender"].grouped(["f", "m"])
    (('gender',), (['women', 'men'], [0, 1], []))
    """
    from parivox.data.yaml_text import read_config_file  # noqa: PLC0415 - it imports yaml

    if isinstance(source, GroupsFile):
        return source
    hint = "write it as the example in the documentation"
    return _parsed(*read_config_file(source, "groups", "a groups file", hint))


def _parsed(root: YamlNode | None, provenance: dict[str, Any]) -> GroupsFile:
    name = str(provenance["name"])
    if root is None or not root.content:
        raise _empty_file_error(name)
    entries = root.entries("the file", "by: gender", _KEYS)
    choices = {
        key: _option_texts(entries[key], key) if key in entries else None for key in _OPTION_KEYS
    }
    definitions = _definitions(entries)
    used_names: set[str] = set()
    for key in ("by", "within"):
        for grouping in choices[key] or ():
            for parsed_attribute in parse_by(grouping, f"{name}: {key}"):
                used_names.update(map(_plain_attribute, _definition_names(parsed_attribute)))
    unused = [
        attribute for attribute in definitions if _plain_attribute(attribute) not in used_names
    ]
    if choices["by"] is None:
        choices["by"] = tuple(unused) or None
    elif unused:
        node = entries["groups"].entries("groups", "gender: [f, m]")[unused[0]]
        msg = (
            f"{node.location}: no grouping of 'by' uses the groups of {unused[0]!r}; "
            f"{name_hint(unused[0], sorted(used_names))}"
        )
        hint = "add it to 'by', or remove it"
        raise ConfigError(msg, hint)
    return GroupsFile(name, definitions=definitions, provenance=provenance, **choices)


def _definitions(entries: Mapping[str, YamlNode]) -> dict[str, GroupDefinition]:
    groups = entries["groups"].entries("groups", "gender: [f, m]") if "groups" in entries else {}
    others = entries["others"].entries("others", "gender: keep") if "others" in entries else {}
    by_plain_name = {_plain_attribute(attribute): attribute for attribute in groups}
    if len(by_plain_name) < len(groups):
        second_name, node = next(
            (a, second_node)
            for a, second_node in groups.items()
            if by_plain_name[_plain_attribute(a)] != a
        )
        msg = (
            f"{node.location}: {second_name!r} and "
            f"{by_plain_name[_plain_attribute(second_name)]!r} are the same attribute"
        )
        hint = "merge the two entries"
        raise ConfigError(msg, hint)
    others_of: dict[str, str] = {}
    for attribute, node in others.items():
        if _plain_attribute(attribute) not in by_plain_name:
            msg = f"{node.location}: 'others' names {attribute!r}, which has no groups"
            hint = name_hint(attribute, groups)
            raise ConfigError(msg, hint)
        if _plain_attribute(attribute) in others_of:
            msg = f"{node.location}: 'others' names {attribute!r} twice"
            hint = "keep one of the two entries"
            raise ConfigError(msg, hint)
        if not isinstance(node.content, str) or not node.content:
            msg = f"{node.location}: 'others' of {attribute!r} is not text"
            hint = f"write {KEEP_NAMES}, or a name for the group of all other values"
            raise ConfigError(msg, hint)
        others_of[_plain_attribute(attribute)] = node.content
    return {
        attribute: _definition(attribute, node, others_of.get(_plain_attribute(attribute)))
        for attribute, node in groups.items()
    }


def _definition(attribute: str, node: YamlNode, others: str | None) -> GroupDefinition:
    if isinstance(node.content, list):  # values that stay as they are
        kept_values = node.texts(f"groups of {attribute}")
        return GroupDefinition(
            {kept_value: (kept_value,) for kept_value in kept_values},
            others,
            dict.fromkeys(kept_values, node.location),
        )
    group_nodes = node.entries(f"groups of {attribute}", "women: [f, F]")
    groups = {
        name: values_node.texts(f"group {name!r}") for name, values_node in group_nodes.items()
    }
    group_of_value: dict[str, str] = {}
    for name, values_node in groups.items():
        for value in values_node:
            if value in group_of_value:
                msg = (
                    f"{group_nodes[name].location}: groups {group_of_value[value]!r} and "
                    f"{name!r} of {attribute} "
                    f"both contain {value!r}"
                )
                hint = "keep it in one group"
                raise ConfigError(msg, hint)
            group_of_value[value] = name
    return GroupDefinition(
        groups, others, {name: values_node.location for name, values_node in group_nodes.items()}
    )


def _option_texts(node: YamlNode, option: str) -> tuple[str, ...]:
    """Return the values of an option; refuse bands that the commas of a list have parted."""
    texts = node.texts(option)
    for text, next_text in pairwise(texts):
        if ":" in text and re.fullmatch(r"[\d.]+", next_text):
            msg = (
                f"{node.location}: {option} contains {text!r} and {next_text!r} as two entries, "
                "because a comma separates entries"
            )
            hint = f'put bands in quotes, for example "{text},{next_text}"'
            raise ConfigError(msg, hint)
    return texts


def _definition_names(attribute: Attribute) -> tuple[str, ...]:
    """What its groups may stand under: as it is asked for, and, of one side, as of any."""
    if attribute.side == "same":  # whose values are none of the attribute's own
        return (attribute.text,)
    bands = attribute.text[len(attribute.text_without_bands) :]
    return attribute.text, attribute.name + bands


def _plain_attribute(attribute: str) -> str:
    """An attribute whatever its case and the blanks around its edges."""
    return re.sub(r"\s*([:,])\s*", r"\1", attribute.strip()).lower()


def _similar_names(names: Iterable[str], candidates: Sequence[str]) -> list[str]:
    """Known texts that look like any of these."""
    lower = {candidate.lower(): candidate for candidate in reversed(candidates[:_MAX_COMPARED])}
    names_shown = islice(names, _MAX_SHOWN)
    matches = (get_close_matches(name.lower(), lower, n=3, cutoff=0.5) for name in names_shown)
    return list(dict.fromkeys(lower[candidate] for similar in matches for candidate in similar))[:3]


def _listed(texts: Iterable[str]) -> str:
    return ", ".join(repr(text) for text in islice(texts, _MAX_SHOWN))


def _empty_file_error(name: str) -> ConfigError:
    msg = f"{name}: contains neither groups nor groupings"
    hint = "write 'groups:' with an attribute below it, or 'by:'"
    return ConfigError(msg, hint)
