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

MAX_DEPTH = 4
"""Mappings and lists within each other."""


class YamlNode(NamedTuple):
    """A text, a list or a mapping, and where it stands."""

    content: NodeContent
    location: str


NodeContent: TypeAlias = "str | list[YamlNode] | dict[str, YamlNode]"


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
        root = _parsed_node(parser, name, 0)
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
    return root


def _parsed_node(parser: Any, name: str, depth: int) -> YamlNode:
    event = parser.get_event()
    where = f"{name}: line {event.start_mark.line + 1}"
    if event.anchor is not None or event.tag is not None:  # an alias has an anchor, too
        msg = (
            f"{where}: holds an anchor, an alias or a tag (& * !), which are not read; write the "
            "values out, and put texts that begin so in quotes"
        )
        raise ConfigError(msg)
    if isinstance(event, yaml.ScalarEvent):
        return YamlNode(_stripped_text(event.value, where), where)
    if depth == MAX_DEPTH:
        raise ConfigError(_depth_problem(where))
    children: NodeContent
    if isinstance(event, yaml.SequenceStartEvent):
        children = []
        while not parser.check_event(yaml.SequenceEndEvent):
            children.append(_parsed_node(parser, name, depth + 1))
    else:
        children = {}
        while not parser.check_event(yaml.MappingEndEvent):
            key, child = (_parsed_node(parser, name, depth + 1) for _ in range(2))
            _add_entry(children, key, child)
    parser.get_event()
    return YamlNode(children, where)


def node_of(python_object: object, location: str, depth: int = 0) -> YamlNode:
    """The same of mappings, lists and texts in Python; numbers become text."""
    if isinstance(python_object, str):
        return YamlNode(_stripped_text(python_object, location), location)
    if isinstance(python_object, (int, float)) and not isinstance(python_object, bool):
        return YamlNode(str(python_object), location)
    if not isinstance(python_object, (list, tuple, Mapping)):
        msg = f"{location}: {python_object!r} is not text; write it as text, in quotes"
        raise ConfigError(msg)
    if depth == MAX_DEPTH:
        raise ConfigError(_depth_problem(location))
    if isinstance(python_object, (list, tuple)):
        return YamlNode([node_of(child, location, depth + 1) for child in python_object], location)
    entries: dict[str, YamlNode] = {}
    for key, child_object in python_object.items():
        _add_entry(entries, *(node_of(child, location, depth + 1) for child in (key, child_object)))
    return YamlNode(entries, location)


def _add_entry(entries: dict[str, YamlNode], key: YamlNode, child: YamlNode) -> None:
    """Add an entry, which stands where its key does."""
    if not isinstance(key.content, str):
        msg = f"{key.location}: a name is a list or mapping; give a text before the colon"
        raise ConfigError(msg)
    if key.content in entries:
        msg = f"{key.location}: {key.content!r} stands twice; keep one, or join the two"
        raise ConfigError(msg)
    entries[key.content] = YamlNode(child.content, key.location)


def _stripped_text(text: str, location: str) -> str:
    """Text as tables hold it: no blanks around it, nothing that UTF-8 cannot write."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        msg = f"{location}: {text!r} holds half a character; write the character itself"
        raise ConfigError(msg) from error
    return text.strip()


def _depth_problem(location: str) -> str:
    return f"{location}: lists and mappings lie more than {MAX_DEPTH} deep; write them flat"


def _syntax_error(error: yaml.YAMLError, text: str, name: str) -> str:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is None:  # a character that YAML does not know
        position = int(getattr(error, "position", 0))
        line = text.count("\n", 0, position) + 1
        return f"{name}: line {line}: holds {text[position : position + 1]!r}; take it out"
    problem = getattr(error, "problem", None) or "it ends too early"
    remedy = "put texts with special signs in quotes, and indent alike what belongs together"
    if "'\\t'" in problem:
        remedy = "indent with blanks, not with tabs"
    return f"{name}: line {mark.line + 1}: is not YAML ({problem}); {remedy}"
