"""YAML whose scalars are all text: no ``no`` becomes false, no ``007`` a 7.

Read from the parser's events, so that nothing is built but mappings, lists and texts, each with
its line; anchors, aliases and tags, which could grow or run, are refused where they stand.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from parivox.errors import ConfigError

if TYPE_CHECKING:
    from typing import TypeAlias

DEEPEST = 4
"""Mappings and lists within each other."""


class YamlNode(NamedTuple):
    """A text, a list or a mapping, and where it stands."""

    content: Value
    location: str


Value: TypeAlias = "str | list[YamlNode] | dict[str, YamlNode]"


def read_yaml(text: str, name: str) -> YamlNode | None:
    """Read one document of mappings, lists and texts; None if it holds nothing.

    Examples
    --------
    >>> found = read_yaml("nordic: [NO, 007]", "groups.yaml")
    >>> [node.content for node in found.content["nordic"].content]
    ['NO', '007']
    """
    try:
        parser = yaml.BaseLoader(text)
        parser.get_event()  # the stream starts
        if parser.check_event(yaml.StreamEndEvent):
            return None
        parser.get_event()  # the document starts
        found = _node(parser, name, 0)
        parser.get_event()  # the document ends
        if not parser.check_event(yaml.StreamEndEvent):
            line = parser.peek_event().start_mark.line + 1
            msg = f"{name}: line {line}: a second document starts; keep one in a file"
            raise ConfigError(msg)
    except yaml.YAMLError as error:
        raise ConfigError(_syntax_error(error, text, name)) from error
    except ValueError as error:  # a version of thousands of digits
        msg = f"{name}: is not YAML ({error!s:.100}); take out what begins with %"
        raise ConfigError(msg) from error
    return found


def _node(parser: Any, name: str, depth: int) -> YamlNode:
    event = parser.get_event()
    where = f"{name}: line {event.start_mark.line + 1}"
    if event.anchor is not None or event.tag is not None:  # an alias has an anchor, too
        msg = (
            f"{where}: holds an anchor, an alias or a tag (& * !), which are not read; write the "
            "values out, and put texts that begin so in quotes"
        )
        raise ConfigError(msg)
    if isinstance(event, yaml.ScalarEvent):
        return YamlNode(_text(event.value, where), where)
    if depth == DEEPEST:
        raise ConfigError(_deep(where))
    value: Value
    if isinstance(event, yaml.SequenceStartEvent):
        value = []
        while not parser.check_event(yaml.SequenceEndEvent):
            value.append(_node(parser, name, depth + 1))
    else:
        value = {}
        while not parser.check_event(yaml.MappingEndEvent):
            key, entry = (_node(parser, name, depth + 1) for _ in range(2))
            _enter(value, key, entry)
    parser.get_event()
    return YamlNode(value, where)


def node_of(value: object, where: str, depth: int = 0) -> YamlNode:
    """The same of mappings, lists and texts in Python; numbers become text."""
    if isinstance(value, str):
        return YamlNode(_text(value, where), where)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return YamlNode(str(value), where)
    if not isinstance(value, (list, tuple, Mapping)):
        msg = f"{where}: {value!r} is not text; write it as text, in quotes"
        raise ConfigError(msg)
    if depth == DEEPEST:
        raise ConfigError(_deep(where))
    if isinstance(value, (list, tuple)):
        return YamlNode([node_of(one, where, depth + 1) for one in value], where)
    entries: dict[str, YamlNode] = {}
    for key, entry in value.items():
        _enter(entries, *(node_of(one, where, depth + 1) for one in (key, entry)))
    return YamlNode(entries, where)


def _enter(entries: dict[str, YamlNode], key: YamlNode, entry: YamlNode) -> None:
    """Add an entry, which stands where its key does."""
    if not isinstance(key.content, str):
        msg = f"{key.location}: a name is a list or mapping; give a text before the colon"
        raise ConfigError(msg)
    if key.content in entries:
        msg = f"{key.location}: {key.content!r} stands twice; keep one, or join the two"
        raise ConfigError(msg)
    entries[key.content] = YamlNode(entry.content, key.location)


def _text(text: str, where: str) -> str:
    """Text as tables hold it: no blanks around it, nothing that UTF-8 cannot write."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        msg = f"{where}: {text!r} holds half a character; write the character itself"
        raise ConfigError(msg) from error
    return text.strip()


def _deep(where: str) -> str:
    return f"{where}: lists and mappings lie more than {DEEPEST} deep; write them flat"


def _syntax_error(error: yaml.YAMLError, text: str, name: str) -> str:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is None:  # a character that YAML does not know
        position = int(getattr(error, "position", 0))
        line = text.count("\n", 0, position) + 1
        return f"{name}: line {line}: holds {text[position : position + 1]!r}; take it out"
    problem = getattr(error, "problem", None) or "it ends too early"
    mend = "put texts with special signs in quotes, and indent alike what belongs together"
    if "'\\t'" in problem:
        mend = "indent with blanks, not with tabs"
    return f"{name}: line {mark.line + 1}: is not YAML ({problem}); {mend}"
