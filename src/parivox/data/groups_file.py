"""The groups file of ``--groups``: which groups to make of which values, and what to compare.

::

    by: [gender, gender+nationality]        # groupings, as --by takes them
    reference: [pooled, men]                # as --reference takes them
    groups:
      gender:                               # a group: the values that it holds
        women: [f, F, female]
        men: [m, M, male]
      nationality:                          # in the order of the report
        North America: [USA, Canada]
        India: India
    others:                                 # values that no group holds; without it: left out
      nationality: elsewhere                # a group of their own; keep: each its own group

A list instead of named groups keeps these values, in this order, under their own names. Bands
are named after the attribute with its edges, as in ``age:18,60``. Without ``by``, each attribute
of ``groups`` is a grouping.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parivox.data.attributes import parse_by
from parivox.data.source_bytes import read_content
from parivox.errors import ConfigError, name_hint

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from parivox.data.attributes import Attribute
    from parivox.data.yaml_text import YamlNode

KEEP_NAMES = "keep"
"""Under ``others``: values that no group holds keep their names."""
MAX_BYTES = 1 << 20
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

    def absent_values(self, values: Iterable[str]) -> list[str]:
        """Values that the file names and the data do not hold."""
        present = set(values)
        return [
            value
            for group_values in self.groups.values()
            for value in group_values
            if value not in present
        ]

    def refuse_empty_groups(self, values: Sequence[str]) -> None:
        """Refuse a group that holds no value of the data: it would be missing without a word.

        One value of several may well be absent; a list may name every spelling that there is.
        """
        present = set(values)
        for name, group_values in self.groups.items():
            if present.isdisjoint(group_values):
                similar = _similar_names(group_values, values) or values
                msg = (
                    f"{self.locations.get(name, 'groups')}: group {name!r} holds no value that "
                    f"occurs ({_listed(group_values)}); nearest: "
                    f"{_listed(similar) or 'there is none'}; "
                    "correct its values, or take the group out"
                )
                raise ConfigError(msg)


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
    """Read a YAML file of groups, or a mapping that holds the same.

    Examples
    --------
    >>> found = read_groups_file({"groups": {"gender": {"women": ["f", "F"], "men": "m"}}})
    >>> found.by, found.definitions["gender"].grouped(["f", "m"])
    (('gender',), (['women', 'men'], [0, 1], []))
    """
    from parivox.data import yaml_text  # noqa: PLC0415 - it imports yaml

    if isinstance(source, GroupsFile):
        return source
    provenance: dict[str, Any] = {"role": "groups", "name": "groups", "format": "mapping"}
    if isinstance(source, Mapping):
        root: YamlNode | None = yaml_text.node_of(source, "groups")
    elif isinstance(source, (str, os.PathLike)):
        text, provenance = _read_text(source)
        root = yaml_text.read_yaml(text, provenance["name"])
    else:
        msg = (
            f"--groups: a {type(source).__name__} is not a groups file; give the path of a YAML "
            "file, or a mapping"
        )
        raise ConfigError(msg)
    return _parsed(root, provenance)


def _read_text(source: str | os.PathLike[str]) -> tuple[str, dict[str, Any]]:
    """Text of a file, and what was read."""
    path = Path(source)
    if path.is_file() and not path.stat().st_size:
        raise ConfigError(_empty_file_problem(path.name))
    content = read_content(source)
    name = content.name
    if content.payload is None or len(content.payload) > MAX_BYTES:
        msg = (
            f"{name}: is larger than {MAX_BYTES >> 20} MiB, so it is not a groups file; name "
            "another"
        )
        raise ConfigError(msg)
    try:
        text = content.payload.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        msg = f"{name}: is not text; write it as the example in the documentation, in UTF-8"
        raise ConfigError(msg) from error
    provenance = {"role": "groups", "name": name, "format": "yaml", "sha256": content.sha256}
    return text, provenance


def _parsed(root: YamlNode | None, provenance: dict[str, Any]) -> GroupsFile:
    name = str(provenance["name"])
    if root is None or not root.content:
        raise ConfigError(_empty_file_problem(name))
    entries = _node_mapping(root, "the file", "by: gender")
    for key, node in entries.items():
        if key not in _KEYS:
            msg = f"{node.location}: {key!r} is not known; {name_hint(key, _KEYS)}"
            raise ConfigError(msg)
    choices = {
        key: _node_texts(entries[key], key) if key in entries else None for key in _OPTION_KEYS
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
        node = _node_mapping(entries["groups"], "groups", "gender: [f, m]")[unused[0]]
        msg = (
            f"{node.location}: no grouping of 'by' uses the groups of {unused[0]!r}; "
            f"{name_hint(unused[0], sorted(used_names))}; add it to 'by', or take it out"
        )
        raise ConfigError(msg)
    return GroupsFile(name, definitions=definitions, provenance=provenance, **choices)


def _definitions(entries: Mapping[str, YamlNode]) -> dict[str, GroupDefinition]:
    groups = (
        _node_mapping(entries["groups"], "groups", "gender: [f, m]") if "groups" in entries else {}
    )
    others = (
        _node_mapping(entries["others"], "others", "gender: keep") if "others" in entries else {}
    )
    by_plain_name = {_plain_attribute(attribute): attribute for attribute in groups}
    if len(by_plain_name) < len(groups):
        second_name, node = next(
            (a, second_node)
            for a, second_node in groups.items()
            if by_plain_name[_plain_attribute(a)] != a
        )
        msg = (
            f"{node.location}: {second_name!r} and "
            f"{by_plain_name[_plain_attribute(second_name)]!r} are one attribute; join the two"
        )
        raise ConfigError(msg)
    others_of: dict[str, str] = {}
    for attribute, node in others.items():
        if _plain_attribute(attribute) not in by_plain_name:
            msg = (
                f"{node.location}: 'others' names {attribute!r}, of which there are no groups; "
                f"{name_hint(attribute, groups)}"
            )
            raise ConfigError(msg)
        if _plain_attribute(attribute) in others_of:
            msg = f"{node.location}: 'others' names {attribute!r} twice; keep one"
            raise ConfigError(msg)
        if not isinstance(node.content, str) or not node.content:
            msg = (
                f"{node.location}: 'others' of {attribute!r} is not text; write {KEEP_NAMES}, "
                "or the "
                "name of the group that they shall be"
            )
            raise ConfigError(msg)
        others_of[_plain_attribute(attribute)] = node.content
    return {
        attribute: _definition(attribute, node, others_of.get(_plain_attribute(attribute)))
        for attribute, node in groups.items()
    }


def _definition(attribute: str, node: YamlNode, others: str | None) -> GroupDefinition:
    if isinstance(node.content, list):  # values that stay as they are
        kept_values = _node_texts(node, f"groups of {attribute}")
        return GroupDefinition(
            {kept_value: (kept_value,) for kept_value in kept_values},
            others,
            dict.fromkeys(kept_values, node.location),
        )
    group_nodes = _node_mapping(node, f"groups of {attribute}", "women: [f, F]")
    groups = {
        name: _node_texts(values_node, f"group {name!r}")
        for name, values_node in group_nodes.items()
    }
    group_of_value: dict[str, str] = {}
    for name, values_node in groups.items():
        for value in values_node:
            if value in group_of_value:
                msg = (
                    f"{group_nodes[name].location}: groups {group_of_value[value]!r} and "
                    f"{name!r} of {attribute} "
                    f"both hold {value!r}; keep it in one"
                )
                raise ConfigError(msg)
            group_of_value[value] = name
    return GroupDefinition(
        groups, others, {name: values_node.location for name, values_node in group_nodes.items()}
    )


def _node_mapping(node: YamlNode, description: str, example: str) -> dict[str, YamlNode]:
    if not isinstance(node.content, dict) or not node.content:
        kind = "a list" if isinstance(node.content, list) else "one text"
        problem = f"is {kind}" if node.content else "is empty"
        msg = f"{node.location}: {description} {problem}; write lines as in '{example}'"
        raise ConfigError(msg)
    if "" in node.content:
        msg = f"{node.content[''].location}: {description} holds an entry without a name; name it"
        raise ConfigError(msg)
    return node.content


def _node_texts(node: YamlNode, description: str) -> tuple[str, ...]:
    """One text, or several in a list."""
    if isinstance(node.content, dict):
        msg = f"{node.location}: {description} is a mapping; write a text, or a list as in [a, b]"
        raise ConfigError(msg)
    nodes = [node] if isinstance(node.content, str) else node.content
    texts = [child.content for child in nodes if isinstance(child.content, str)]
    if len(texts) < len(nodes):
        msg = (
            f"{node.location}: {description} holds a list or mapping in a list; write texts, "
            "as in [a, b]"
        )
        raise ConfigError(msg)
    if not texts or not all(texts):
        msg = (
            f"{node.location}: {description} is empty, or holds an empty text; write a text, "
            "or [a, b]"
        )
        raise ConfigError(msg)
    if len(set(texts)) < len(texts):
        repeated = next(child for child, count in Counter(texts).items() if count > 1)
        msg = f"{node.location}: {description} names {repeated!r} twice; name it once"
        raise ConfigError(msg)
    if description in _OPTION_KEYS:
        for child, next_text in pairwise(texts):
            if ":" in child and re.fullmatch(r"[\d.]+", next_text):
                bands = f"{child},{next_text}"
                msg = (
                    f"{node.location}: {description} holds {child!r} and then {next_text!r}, "
                    "since a comma "
                    f'parts a list; put bands in quotes, as in "{bands}"'
                )
                raise ConfigError(msg)
    return tuple(texts)


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


def _empty_file_problem(name: str) -> str:
    return f"{name}: says nothing; write 'groups:' with an attribute below it, or 'by:'"
