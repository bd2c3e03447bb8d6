"""What only its owner knows of an audit: purpose, population, and who chose what, when and why."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from parivox.errors import ConfigError, DataError, name_hint

if TYPE_CHECKING:
    from parivox.data.yaml_text import YamlNode

MOST_BYTES = 1 << 20
_CHOICES = ("threshold", "groups", "margin")
_EXAMPLE = "purpose: unlocking a phone"
_EXAMPLE_LABEL = "f: women"
_LONGEST_LABEL, _JOINING = 60, "+=@"
_EXAMPLE_CHOICE = "chosen_by: the product team"


def _about(heading: str, example: str = "") -> dict[str, str]:
    """What an item of a context file is, and an example of what may be said."""
    return {"heading": heading, "example": example}


def _item(heading: str, example: str = "") -> Any:
    return field(default="", metadata=_about(heading, example))


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Who chose something, when, and why; empty where the file does not say."""

    chosen_by: str = _item("Who", "the product team")
    when: str = _item("When", "2026-03-01")
    why: str = _item("Why")


@dataclass(frozen=True, kw_only=True)
class Context:
    """What a context file says; empty where it does not.

    Attributes
    ----------
    purpose, deployer, system, population, recruitment : str
        What the system is for, who uses it, what it is, on whom, and how the speakers of the
        audit came to take part.
    threshold, groups, margin : Choice
        Who chose the operating point, the groups and the margin of what does not matter.
    labels : dict
        What groups, values of attributes, groupings, systems, lists and operating points are
        called wherever they are shown, by their names.
    prepared_by, date, notes : str
        Of the file itself.
    sha256 : str
        Of the file's bytes; of a mapping, of its JSON with sorted keys.
    """

    purpose: str = _item("Purpose", "unlocking the front doors of flats")
    deployer: str = _item("Deployer", "a housing association")
    system: str = _item("System", "the vendor's encoder 3.1, scores normalised")
    population: str = _item("Population", "tenants, 18 to 95 years old")
    recruitment: str = _item("How the speakers came to take part", "volunteers, asked by letter")
    threshold: Choice = field(default=Choice(), metadata=_about("Who chose the operating point"))
    groups: Choice = field(default=Choice(), metadata=_about("Who chose the groups"))
    margin: Choice = field(default=Choice(), metadata=_about("Who chose the margin"))
    labels: Mapping[str, str] = field(default_factory=dict)
    prepared_by: str = _item("Prepared by", "A. Auditor")
    date: str = _item("Date of the context file", "2026-04-02")
    notes: str = _item("Notes", "the block in the north joined late")
    sha256: str = ""


HEADINGS = {one.name: one.metadata["heading"] for one in fields(Context) if one.metadata}
"""What each item is, in the order of the page."""
_STARTER = """\
# What only you know of an audit, for --context of parivox audit, show and report.
# What is left empty is told as not supplied. Behind each # stands an example.

# Names for people, wherever the audit is shown: before the colon as the data have it
labels:
#  f: women
#  fpr=0.01: strict
#  V2: the new encoder
"""


def starter() -> str:
    """A context file to fill in, which reads back as one that says nothing."""
    lines = [_STARTER]
    for one in fields(Context):
        if one.metadata:
            inner = fields(Choice) if one.name in _CHOICES else ()
            lines += [f"# {one.metadata['heading']}", _to_fill_in(one)]
            lines += [*(f"  {_to_fill_in(each)}" for each in inner), ""]
    return "\n".join(lines)


def _to_fill_in(one: Field[Any]) -> str:
    example = one.metadata["example"]
    return f"{one.name}:" + (f"  # {example}" if example else "")


def read_context(source: object) -> Context | None:
    """Read what is known beside the scores.

    Parameters
    ----------
    source
        Path of a YAML file, a mapping that holds the same, a `Context`, or None.

    Raises
    ------
    DataError
        If there is no such file, or it cannot be read.
    ConfigError
        If it names what is not known, or holds a list where a text is asked for.

    Examples
    --------
    >>> found = read_context({"purpose": "door lock", "threshold": {"chosen_by": "the vendor"}})
    >>> found.purpose, found.threshold.chosen_by, found.margin.chosen_by
    ('door lock', 'the vendor', '')
    """
    if source is None or isinstance(source, Context):
        return source
    from parivox.data import yaml_text  # noqa: PLC0415 - it imports yaml
    from parivox.data.source_bytes import read_content  # noqa: PLC0415 - it imports codecs

    if isinstance(source, Mapping):
        node = yaml_text.node_of(source, "context")
        text = json.dumps(_plain(node), sort_keys=True, ensure_ascii=False)
        return _context(node, hashlib.sha256(text.encode()).hexdigest())
    if not isinstance(source, (str, os.PathLike)):
        msg = (
            f"--context: a {type(source).__name__} is not a context file; give the path of a YAML "
            "file, or a mapping"
        )
        raise ConfigError(msg)
    content = read_content(source)
    if content.payload is None or len(content.payload) > MOST_BYTES:
        msg = (
            f"{content.name}: is larger than {MOST_BYTES >> 20} MiB, so it is not a context file; "
            "name another"
        )
        raise ConfigError(msg)
    try:
        text = content.payload.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        msg = f"{content.name}: is not text; write it in UTF-8, with lines as in '{_EXAMPLE}'"
        raise DataError(msg) from error
    found = yaml_text.read_yaml(text, content.name)
    if found is None:
        raise ConfigError(_nothing(content.name))
    return _context(found, content.sha256)


def _context(node: YamlNode, sha256: str) -> Context:
    values: dict[str, Any] = {}
    known = [one.name for one in fields(Context) if one.name != "sha256"]
    for key, held in _entries(node, "a context", known, _EXAMPLE).items():
        if held.content == "":
            continue
        if key in _CHOICES:
            names = [one.name for one in fields(Choice)]
            entries = _entries(held, key, names, _EXAMPLE_CHOICE)
            values[key] = Choice(**{k: _text(one, f"{k} of {key}") for k, one in entries.items()})
        elif key == "labels":
            entries = _entries(held, key, None, _EXAMPLE_LABEL)
            values[key] = {name: _label(one, name) for name, one in entries.items()}
        else:
            values[key] = _text(held, key)
    return Context(**values, sha256=sha256)


def _entries(
    node: YamlNode, what: str, known: list[str] | None, example: str
) -> dict[str, YamlNode]:
    """Entries of a mapping, if all of them are known; None knows any."""
    if not isinstance(node.content, dict):
        kind = "a list" if isinstance(node.content, list) else "one text"
        msg = f"{node.location}: {what} is {kind}; write lines as in '{example}'"
        raise ConfigError(msg)
    if not node.content:
        raise ConfigError(_nothing(node.location))
    for key, held in node.content.items():
        if known is not None and key not in known:
            msg = f"{held.location}: {what} holds no {key!r}; {name_hint(key, known)}"
            raise ConfigError(msg)
    return node.content


def _text(node: YamlNode, what: str) -> str:
    if isinstance(node.content, str):
        return node.content
    kind = "a list" if isinstance(node.content, list) else "a mapping"
    msg = f"{node.location}: {what} is {kind}; write it as one text"
    raise ConfigError(msg)


def _label(node: YamlNode, name: str) -> str:
    """What a name is called, if it can stand wherever names do."""
    words = _text(node, f"the label of {name!r}")
    if not words or len(words) > _LONGEST_LABEL:
        found = f"has {len(words)} characters" if words else "is empty"
        msg = f"{node.location}: the label of {name!r} {found}; write 1 to {_LONGEST_LABEL}"
        raise ConfigError(msg)
    if odd := next((sign for sign in words if sign in _JOINING), ""):
        msg = (
            f"{node.location}: the label of {name!r} holds {odd!r}, which joins names; write it in "
            "words"
        )
        raise ConfigError(msg)
    return words


def _plain(node: YamlNode) -> object:
    if isinstance(node.content, dict):
        return {key: _plain(held) for key, held in node.content.items()}
    return [_plain(one) for one in node.content] if isinstance(node.content, list) else node.content


def _nothing(name: str) -> str:
    return f"{name}: says nothing; write lines as in '{_EXAMPLE}'"
