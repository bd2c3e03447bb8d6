"""Configuration files: YAML whose scalars are all text: no ``no`` becomes false, no ``007`` a 7.

Read from the parser's events, so that nothing is built but mappings, lists and texts, each with
its line; anchors, aliases and tags, which could grow or run, are refused where they stand.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from parivox.data.source_bytes import read_content
from parivox.errors import ConfigError, name_hint

if TYPE_CHECKING:
    from typing import TypeAlias

MAX_DEPTH = 4
"""Mappings and lists within each other."""
MAX_BYTES = 1 << 20
"""Size of a configuration file; what is larger is another file, given by mistake."""


class YamlNode(NamedTuple):
    """A text, a list or a mapping, and where it stands."""

    content: NodeContent
    location: str

    @property
    def written(self) -> str:
        """The content in one line, texts in quotes.

        Examples
        --------
        >>> YamlNode([YamlNode("95%", "a:1"), YamlNode("99%", "a:1")], "a:1").written
        "['95%', '99%']"
        """
        if isinstance(self.content, list):
            return f"[{', '.join(child.written for child in self.content)}]"
        if isinstance(self.content, dict):
            entries = (f"{key!r}: {child.written}" for key, child in self.content.items())
            return f"{{{', '.join(entries)}}}"
        return repr(self.content)

    def entries(
        self, description: str, example: str, keys: Sequence[str] = ()
    ) -> dict[str, YamlNode]:
        """Return the entries of a mapping with these keys, or with any if none are given."""
        if not isinstance(self.content, dict) or not self.content:
            kind = "a list" if isinstance(self.content, list) else "a single text"
            problem = f"is {kind}" if self.content else "is empty"
            msg = f"{self.location}: {description} {problem}"
            hint = f"write lines such as '{example}'"
            raise ConfigError(msg, hint)
        for key, child in self.content.items():
            if keys and key not in keys:
                msg = f"{child.location}: {key!r} is not known"
                hint = name_hint(key, keys)
                raise ConfigError(msg, hint)
            if not key:
                msg = f"{child.location}: {description} contains an entry without a name"
                hint = "name the entry"
                raise ConfigError(msg, hint)
        return self.content

    def texts(self, description: str) -> tuple[str, ...]:
        """Return one text, or several in a list, each once."""
        if isinstance(self.content, dict):
            msg = f"{self.location}: {description} is a mapping"
            hint = "write a text, or a list such as [a, b]"
            raise ConfigError(msg, hint)
        nodes = [self] if isinstance(self.content, str) else self.content
        texts = [child.content for child in nodes if isinstance(child.content, str)]
        if len(texts) < len(nodes):
            msg = f"{self.location}: {description} contains a list or mapping in a list"
            hint = "write texts, for example [a, b]"
            raise ConfigError(msg, hint)
        if not texts or not all(texts):
            msg = f"{self.location}: {description} is empty, or contains an empty text"
            hint = "write a text, or [a, b]"
            raise ConfigError(msg, hint)
        if len(set(texts)) < len(texts):
            repeated = next(text for text, count in Counter(texts).items() if count > 1)
            msg = f"{self.location}: {description} names {repeated!r} twice"
            hint = "name it once"
            raise ConfigError(msg, hint)
        return tuple(texts)


NodeContent: TypeAlias = "str | list[YamlNode] | dict[str, YamlNode]"


def read_config_file(
    source: Any, name: str, kind: str, hint: str
) -> tuple[YamlNode | None, dict[str, Any]]:
    """Read a configuration file, or a mapping that contains the same; return what was read, too.

    Parameters
    ----------
    name
        What messages call a mapping, which is the name of the option, with or without dashes.
    kind
        What the file is, as in ``a policy``.
    hint
        How to write one, for messages.

    Raises
    ------
    ConfigError
        If it is not YAML, too large, or neither a file nor a mapping.
    DataError
        If there is no such file, or it cannot be read.
    """
    provenance: dict[str, Any] = {
        "role": name.removeprefix("--"),
        "name": name,
        "format": "mapping",
    }
    if isinstance(source, Mapping):
        return node_of(source, name), provenance
    if not isinstance(source, (str, os.PathLike)):
        msg = f"{name}: a {type(source).__name__} is not {kind}"
        hint = "give the path of a YAML file, or a mapping"
        raise ConfigError(msg, hint)
    path = Path(source)
    if os.path.isfile(path) and not path.stat().st_size:  # noqa: PTH113 - of any name
        return None, provenance | {"name": path.name, "format": "yaml"}
    content = read_content(source)
    provenance |= {"name": content.name, "format": "yaml", "sha256": content.sha256}
    if content.payload is None or len(content.payload) > MAX_BYTES:
        msg = f"{content.name}: is larger than {MAX_BYTES >> 20} MiB, so it is not {kind}"
        hint = "name another file"
        raise ConfigError(msg, hint)
    try:
        text = content.payload.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        msg = f"{content.name}: is not text"
        raise ConfigError(msg, hint) from error
    return read_yaml(text, content.name), provenance


def read_yaml(text: str, name: str) -> YamlNode | None:
    """Read one document of mappings, lists and texts; None if it contains nothing.

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
            msg = f"{name}: line {line}: a second document starts"
            hint = "keep one document per file"
            raise ConfigError(msg, hint)
    except yaml.YAMLError as error:
        raise _syntax_error(error, text, name) from error
    except ValueError as error:  # a version of thousands of digits
        msg = f"{name}: is not YAML ({error!s:.100})"
        hint = "remove lines that begin with %"
        raise ConfigError(msg, hint) from error
    return root


def _parsed_node(parser: Any, name: str, depth: int) -> YamlNode:
    event = parser.get_event()
    where = f"{name}: line {event.start_mark.line + 1}"
    if event.anchor is not None or event.tag is not None:  # an alias has an anchor, too
        msg = f"{where}: contains an anchor, an alias or a tag (& * !), which is not supported"
        hint = "write the values out, or put texts that begin with these characters in quotes"
        raise ConfigError(msg, hint)
    if isinstance(event, yaml.ScalarEvent):
        return YamlNode(_stripped_text(event.value, where), where)
    if depth == MAX_DEPTH:
        raise _depth_error(where)
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
        msg = f"{location}: {python_object!r} is not text"
        hint = "write it as text, in quotes"
        raise ConfigError(msg, hint)
    if depth == MAX_DEPTH:
        raise _depth_error(location)
    if isinstance(python_object, (list, tuple)):
        return YamlNode([node_of(child, location, depth + 1) for child in python_object], location)
    entries: dict[str, YamlNode] = {}
    for key, child_object in python_object.items():
        _add_entry(entries, *(node_of(child, location, depth + 1) for child in (key, child_object)))
    return YamlNode(entries, location)


def _add_entry(entries: dict[str, YamlNode], key: YamlNode, child: YamlNode) -> None:
    """Add an entry, which stands where its key does."""
    if not isinstance(key.content, str):
        msg = f"{key.location}: a name is a list or mapping"
        hint = "write a text before the colon"
        raise ConfigError(msg, hint)
    if key.content in entries:
        msg = f"{key.location}: {key.content!r} occurs twice"
        hint = "keep one, or merge the two"
        raise ConfigError(msg, hint)
    entries[key.content] = YamlNode(child.content, key.location)


def _stripped_text(text: str, location: str) -> str:
    """Text as tables contain it: no blanks around it, nothing that UTF-8 cannot write."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        msg = f"{location}: {text!r} contains an incomplete character"
        hint = "write the complete character"
        raise ConfigError(msg, hint) from error
    return text.strip()


def _depth_error(location: str) -> ConfigError:
    msg = f"{location}: lists and mappings are nested more than {MAX_DEPTH} levels deep"
    hint = "use fewer levels"
    return ConfigError(msg, hint)


def _syntax_error(error: yaml.YAMLError, text: str, name: str) -> ConfigError:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is None:  # a character that YAML does not know
        position = int(getattr(error, "position", 0))
        line = text.count("\n", 0, position) + 1
        msg = f"{name}: line {line}: contains {text[position : position + 1]!r}"
        hint = "remove this character"
        return ConfigError(msg, hint)
    problem = getattr(error, "problem", None) or "it ends too early"
    remedy = "put texts with special characters in quotes, and indent entries of one level equally"
    if "'\\t'" in problem:
        remedy = "indent with spaces, not with tabs"
    msg = f"{name}: line {mark.line + 1}: is not YAML ({problem})"
    return ConfigError(msg, remedy)
