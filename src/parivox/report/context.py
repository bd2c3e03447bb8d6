"""The context file of an audit: purpose, population, labels, and who chose what, when and why.

It holds what cannot be computed from scores; reports show it as given.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import Field, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from parivox.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parivox.data.yaml_text import YamlNode

_CHOICE_FIELDS = ("threshold", "groups", "margin")
_EXAMPLE = "purpose: unlocking a phone"
_EXAMPLE_LABEL = "f: women"
_MAX_LABEL_LENGTH, _JOINING_SIGNS = 60, "+=@"
_EXAMPLE_CHOICE = "chosen_by: the product team"


def _field_metadata(heading: str, example: str = "") -> dict[str, str]:
    """Return the heading of a field of a context file, and an example."""
    return {"heading": heading, "example": example}


def _text_field(heading: str, example: str = "") -> Any:
    """Return a field that is a text, empty by default."""
    return field(default="", metadata=_field_metadata(heading, example))


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Who chose something, when, and why; empty where the file does not say."""

    chosen_by: str = _text_field("Who", "the product team")
    when: str = _text_field("When", "2026-03-01")
    why: str = _text_field("Why")


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

    purpose: str = _text_field("Purpose", "unlocking the front doors of flats")
    deployer: str = _text_field("Deployer", "a housing association")
    system: str = _text_field("System", "the vendor's encoder 3.1, scores normalised")
    population: str = _text_field("Population", "tenants, 18 to 95 years old")
    recruitment: str = _text_field("How the speakers were recruited", "volunteers, asked by letter")
    threshold: Choice = field(
        default=Choice(), metadata=_field_metadata("Who chose the operating point")
    )
    groups: Choice = field(default=Choice(), metadata=_field_metadata("Who chose the groups"))
    margin: Choice = field(default=Choice(), metadata=_field_metadata("Who chose the margin"))
    labels: Mapping[str, str] = field(default_factory=dict)
    prepared_by: str = _text_field("Prepared by", "A. Auditor")
    date: str = _text_field("Date of the context file", "2026-04-02")
    notes: str = _text_field("Notes", "the block in the north joined late")
    sha256: str = ""


HEADINGS = {
    context_field.name: context_field.metadata["heading"]
    for context_field in fields(Context)
    if context_field.metadata
}
"""The heading of each field, in the order of the report."""
_TEMPLATE_HEAD = """\
# Audit context: facts that only you know, given with --context to parivox audit, show or report.
# Empty entries are shown as not supplied. Each comment is an example.

# Labels to show instead of names (name in the data: label to show)
labels:
#  f: women
#  fpr=0.01: strict
#  V2: the new encoder
"""


def starter() -> str:
    """Return a context file to fill in, which reads back as an empty one."""
    template_lines = [_TEMPLATE_HEAD]
    for context_field in fields(Context):
        if context_field.metadata:
            choice_fields = fields(Choice) if context_field.name in _CHOICE_FIELDS else ()
            template_lines.append(f"# {context_field.metadata['heading']}")
            template_lines.append(_template_line(context_field))
            template_lines += [
                f"  {_template_line(choice_field)}" for choice_field in choice_fields
            ]
            template_lines.append("")
    return "\n".join(template_lines)


def _template_line(context_field: Field[Any]) -> str:
    """Return the line of a field to fill in, with its example as a comment."""
    example = context_field.metadata["example"]
    return f"{context_field.name}:  # {example}" if example else f"{context_field.name}:"


def read_context(source: object) -> Context | None:
    """Read a context file: what is known in addition to the scores.

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
    >>> context = read_context({"purpose": "door lock", "threshold": {"chosen_by": "the vendor"}})
    >>> context.purpose, context.threshold.chosen_by, context.margin.chosen_by
    ('door lock', 'the vendor', '')
    """
    if source is None or isinstance(source, Context):
        return source
    from parivox.data.yaml_text import read_config_file  # noqa: PLC0415 - it imports yaml

    hint = f"write lines such as '{_EXAMPLE}'"
    node, provenance = read_config_file(source, "context", "a context file", hint)
    if node is None or not node.content:
        msg = f"{provenance['name']}: contains no entries"
        raise ConfigError(msg, hint)
    mapping_text = json.dumps(_plain_content(node), sort_keys=True, ensure_ascii=False)
    mapping_sha256 = hashlib.sha256(mapping_text.encode()).hexdigest()
    return _context_of_node(node, provenance.get("sha256", mapping_sha256))


def _context_of_node(node: YamlNode, sha256: str) -> Context:
    """Return the context that a parsed file or mapping holds."""
    field_values: dict[str, Any] = {}
    # the hash is computed, not given
    known_keys = [
        context_field.name for context_field in fields(Context) if context_field.name != "sha256"
    ]
    for key, child in node.entries("a context", _EXAMPLE, known_keys).items():
        if child.content == "":
            continue
        if key in _CHOICE_FIELDS:
            choice_keys = [choice_field.name for choice_field in fields(Choice)]
            answers = child.entries(key, _EXAMPLE_CHOICE, choice_keys)
            texts = {
                question: _text_of_node(answer, f"{question} of {key}")
                for question, answer in answers.items()
            }
            field_values[key] = Choice(**texts)
        elif key == "labels":
            labels = child.entries(key, _EXAMPLE_LABEL)
            field_values[key] = {
                name: _label_of_node(label, name) for name, label in labels.items()
            }
        else:
            field_values[key] = _text_of_node(child, key)
    return Context(**field_values, sha256=sha256)


def _text_of_node(node: YamlNode, described_as: str) -> str:
    """Return a text, if it is one."""
    if isinstance(node.content, str):
        return node.content
    kind = "a list" if isinstance(node.content, list) else "a mapping"
    msg = f"{node.location}: {described_as} is {kind}"
    hint = "write it as one text"
    raise ConfigError(msg, hint)


def _label_of_node(node: YamlNode, labelled_name: str) -> str:
    """Return the label of a name, if it can be used wherever names are."""
    words = _text_of_node(node, f"the label of {labelled_name!r}")
    if not words or len(words) > _MAX_LABEL_LENGTH:
        problem = f"has {len(words)} characters" if words else "is empty"
        msg = f"{node.location}: the label of {labelled_name!r} {problem}"
        hint = f"write 1 to {_MAX_LABEL_LENGTH} characters"
        raise ConfigError(msg, hint)
    if joining_sign := next((sign for sign in words if sign in _JOINING_SIGNS), ""):
        msg = (
            f"{node.location}: the label of {labelled_name!r} contains {joining_sign!r}, which "
            "joins names"
        )
        hint = "write the label without this sign"
        raise ConfigError(msg, hint)
    return words


def _plain_content(node: YamlNode) -> object:
    """Return what a node holds, as dicts, lists and texts."""
    if isinstance(node.content, dict):
        return {key: _plain_content(child_) for key, child_ in node.content.items()}
    return (
        [_plain_content(child) for child in node.content]
        if isinstance(node.content, list)
        else node.content
    )
