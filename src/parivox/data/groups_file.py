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

KEEP = "keep"
"""Under ``others``: values that no group holds keep their names."""
MOST_BYTES = 1 << 20
_SHOWN, _COMPARED = 8, 10_000
"""How many texts a message shows, and among how many it looks for near ones."""
_CHOICES = ("by", "within", "reference")
_KEYS = (*_CHOICES, "groups", "others")


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
    # group of the values that no group holds; `KEEP` where each keeps its name, None where they are
    # left out
    others: str | None = None
    # where each group stands, for messages
    locations: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    def grouped(self, values: Sequence[str]) -> tuple[list[str], list[int], list[str]]:
        """Groups of values, named ones first; the group of each value; values that are left out.

        The index of the group is -1 for values that are left out; values that keep their names are
        groups in the order in which they are given.
        """
        of = {value: name for name, members in self.groups.items() for value in members}
        names = [of.get(v, v if self.others == KEEP else self.others) for v in values]
        found = dict.fromkeys(name for name in names if name is not None)
        groups = [name for name in self.groups if name in found]
        groups += [name for name in found if name not in self.groups]
        place: dict[str | None, int] = {name: i for i, name in enumerate(groups)}
        left_out = [v for v, name in zip(values, names, strict=True) if name is None]
        return groups, [place.get(name, -1) for name in names], left_out

    def absent_values(self, values: Iterable[str]) -> list[str]:
        """Values that the file names and the data do not hold."""
        known = set(values)
        return [v for members in self.groups.values() for v in members if v not in known]

    def refuse_empty_groups(self, values: Sequence[str]) -> None:
        """Refuse a group that holds no value of the data: it would be missing without a word.

        One value of several may well be absent; a list may name every spelling that there is.
        """
        known = set(values)
        for name, members in self.groups.items():
            if known.isdisjoint(members):
                near = _near(members, values) or values
                msg = (
                    f"{self.locations.get(name, 'groups')}: group {name!r} holds no value that "
                    f"occurs ({_listed(members)}); nearest: {_listed(near) or 'there is none'}; "
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
        known = {_plain(text): recipe for text, recipe in self.definitions.items()}
        found = (known.get(_plain(text)) for text in _names(attribute))
        return next((recipe for recipe in found if recipe is not None), None)

    def record(self) -> dict[str, Any]:
        """What the file says, for the audit's record: the same for every way to write it."""
        choices = {key: getattr(self, key) for key in _CHOICES}
        return {key: list(texts) for key, texts in choices.items() if texts is not None} | {
            "groups": {
                _plain(attribute): {
                    "groups": [
                        {"group": group, "values": sorted(members)}
                        for group, members in recipe.groups.items()
                    ],
                    "others": recipe.others,
                }
                for attribute, recipe in sorted(
                    self.definitions.items(), key=lambda item: _plain(item[0])
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
        found: YamlNode | None = yaml_text.node_of(source, "groups")
    elif isinstance(source, (str, os.PathLike)):
        text, provenance = _read(source)
        found = yaml_text.read_yaml(text, provenance["name"])
    else:
        msg = (
            f"--groups: a {type(source).__name__} is not a groups file; give the path of a YAML "
            "file, or a mapping"
        )
        raise ConfigError(msg)
    return _parsed(found, provenance)


def _read(source: str | os.PathLike[str]) -> tuple[str, dict[str, Any]]:
    """Text of a file, and what was read."""
    path = Path(source)
    if path.is_file() and not path.stat().st_size:
        raise ConfigError(_nothing(path.name))
    content = read_content(source)
    name = content.name
    if content.payload is None or len(content.payload) > MOST_BYTES:
        msg = (
            f"{name}: is larger than {MOST_BYTES >> 20} MiB, so it is not a groups file; name "
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


def _parsed(found: YamlNode | None, provenance: dict[str, Any]) -> GroupsFile:
    name = str(provenance["name"])
    if found is None or not found.content:
        raise ConfigError(_nothing(name))
    entries = _mapping(found, "the file", "by: gender")
    for key, node in entries.items():
        if key not in _KEYS:
            msg = f"{node.location}: {key!r} is not known; {name_hint(key, _KEYS)}"
            raise ConfigError(msg)
    choices = {key: _texts(entries[key], key) if key in entries else None for key in _CHOICES}
    recipes = _recipes(entries)
    used = {
        _plain(text)
        for key in ("by", "within")
        for grouping in choices[key] or ()
        for one in parse_by(grouping, f"{name}: {key}")
        for text in _names(one)
    }
    rest = [attribute for attribute in recipes if _plain(attribute) not in used]
    if choices["by"] is None:
        choices["by"] = tuple(rest) or None
    elif rest:
        node = _mapping(entries["groups"], "groups", "gender: [f, m]")[rest[0]]
        msg = (
            f"{node.location}: no grouping of 'by' uses the groups of {rest[0]!r}; "
            f"{name_hint(rest[0], sorted(used))}; add it to 'by', or take it out"
        )
        raise ConfigError(msg)
    return GroupsFile(name, definitions=recipes, provenance=provenance, **choices)


def _recipes(entries: Mapping[str, YamlNode]) -> dict[str, GroupDefinition]:
    groups = _mapping(entries["groups"], "groups", "gender: [f, m]") if "groups" in entries else {}
    others = _mapping(entries["others"], "others", "gender: keep") if "others" in entries else {}
    known = {_plain(attribute): attribute for attribute in groups}
    if len(known) < len(groups):
        one, node = next((a, n) for a, n in groups.items() if known[_plain(a)] != a)
        msg = f"{node.location}: {one!r} and {known[_plain(one)]!r} are one attribute; join the two"
        raise ConfigError(msg)
    rest: dict[str, str] = {}
    for attribute, node in others.items():
        if _plain(attribute) not in known:
            msg = (
                f"{node.location}: 'others' names {attribute!r}, of which there are no groups; "
                f"{name_hint(attribute, groups)}"
            )
            raise ConfigError(msg)
        if _plain(attribute) in rest:
            msg = f"{node.location}: 'others' names {attribute!r} twice; keep one"
            raise ConfigError(msg)
        if not isinstance(node.content, str) or not node.content:
            msg = (
                f"{node.location}: 'others' of {attribute!r} is not text; write {KEEP}, or the "
                "name of the group that they shall be"
            )
            raise ConfigError(msg)
        rest[_plain(attribute)] = node.content
    return {
        attribute: _recipe(attribute, node, rest.get(_plain(attribute)))
        for attribute, node in groups.items()
    }


def _recipe(attribute: str, node: YamlNode, others: str | None) -> GroupDefinition:
    if isinstance(node.content, list):  # values that stay as they are
        kept = _texts(node, f"groups of {attribute}")
        return GroupDefinition({v: (v,) for v in kept}, others, dict.fromkeys(kept, node.location))
    named = _mapping(node, f"groups of {attribute}", "women: [f, F]")
    groups = {name: _texts(members, f"group {name!r}") for name, members in named.items()}
    holder: dict[str, str] = {}
    for name, members in groups.items():
        for value in members:
            if value in holder:
                msg = (
                    f"{named[name].location}: groups {holder[value]!r} and {name!r} of {attribute} "
                    f"both hold {value!r}; keep it in one"
                )
                raise ConfigError(msg)
            holder[value] = name
    return GroupDefinition(
        groups, others, {name: members.location for name, members in named.items()}
    )


def _mapping(node: YamlNode, what: str, example: str) -> dict[str, YamlNode]:
    if not isinstance(node.content, dict) or not node.content:
        kind = "a list" if isinstance(node.content, list) else "one text"
        problem = f"is {kind}" if node.content else "is empty"
        msg = f"{node.location}: {what} {problem}; write lines as in '{example}'"
        raise ConfigError(msg)
    if "" in node.content:
        msg = f"{node.content[''].location}: {what} holds an entry without a name; name it"
        raise ConfigError(msg)
    return node.content


def _texts(node: YamlNode, what: str) -> tuple[str, ...]:
    """One text, or several in a list."""
    if isinstance(node.content, dict):
        msg = f"{node.location}: {what} is a mapping; write a text, or a list as in [a, b]"
        raise ConfigError(msg)
    nodes = [node] if isinstance(node.content, str) else node.content
    texts = [one.content for one in nodes if isinstance(one.content, str)]
    if len(texts) < len(nodes):
        msg = (
            f"{node.location}: {what} holds a list or mapping in a list; write texts, as in [a, b]"
        )
        raise ConfigError(msg)
    if not texts or not all(texts):
        msg = f"{node.location}: {what} is empty, or holds an empty text; write a text, or [a, b]"
        raise ConfigError(msg)
    if len(set(texts)) < len(texts):
        twice = next(one for one, n in Counter(texts).items() if n > 1)
        msg = f"{node.location}: {what} names {twice!r} twice; name it once"
        raise ConfigError(msg)
    if what in _CHOICES:
        for one, following in pairwise(texts):
            if ":" in one and re.fullmatch(r"[\d.]+", following):
                whole = f"{one},{following}"
                msg = (
                    f"{node.location}: {what} holds {one!r} and then {following!r}, since a comma "
                    f'parts a list; put bands in quotes, as in "{whole}"'
                )
                raise ConfigError(msg)
    return tuple(texts)


def _names(attribute: Attribute) -> tuple[str, ...]:
    """What its groups may stand under: as it is asked for, and, of one side, as of any."""
    if attribute.side == "same":  # whose values are none of the attribute's own
        return (attribute.text,)
    bands = attribute.text[len(attribute.text_without_bands) :]
    return attribute.text, attribute.name + bands


def _plain(attribute: str) -> str:
    """An attribute whatever its case and the blanks around its edges."""
    return re.sub(r"\s*([:,])\s*", r"\1", attribute.strip()).lower()


def _near(names: Iterable[str], known: Sequence[str]) -> list[str]:
    """Known texts that look like any of these."""
    lower = {one.lower(): one for one in reversed(known[:_COMPARED])}
    few = islice(names, _SHOWN)
    found = (get_close_matches(name.lower(), lower, n=3, cutoff=0.5) for name in few)
    return list(dict.fromkeys(lower[one] for near in found for one in near))[:3]


def _listed(texts: Iterable[str]) -> str:
    return ", ".join(repr(text) for text in islice(texts, _SHOWN))


def _nothing(name: str) -> str:
    return f"{name}: says nothing; write 'groups:' with an attribute below it, or 'by:'"
