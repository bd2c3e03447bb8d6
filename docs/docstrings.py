"""How docstrings are shown on the pages of the API; zensical.toml names this file.

Attributes of one paragraph are listed with their class, as parameters are with their function;
sections of docs/ that code cites are links; code and lists look as such.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

CITED = re.compile(r"\bdocs/(?P<page>[\w/-]+)\.md(?:#(?P<section>[\w-]+))?")
LIST = re.compile(r"\n\nAttributes\n-+\n(?:.+\n?|\n(?!.+\n---))*")
EXAMPLE = re.compile(r"(?<=\n\n)>>> (?:.+\n?)+")
TERM = re.compile(r"^(``.+``)\n    (?=\S)", flags=re.MULTILINE)


class Docstrings(griffe.Extension):
    """Writes in Markdown what docstrings have in the manner of NumPy."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Mend the docstring of a class, a function, an attribute or a module."""
        if isinstance(obj, griffe.Class):
            listed(obj)
        if obj.docstring:
            text = CITED.sub(link, obj.docstring.value).replace("\n\n::\n", "\n")
            if "\nExamples\n---" not in text:
                text = EXAMPLE.sub(lambda code: f"```pycon\n{code[0].rstrip()}\n```\n", text)
            obj.docstring.value = TERM.sub(r"- \1: ", text)


def link(cited: re.Match[str]) -> str:
    """A cited section as a link from a page in docs/api."""
    page, section = cited["page"], cited["section"]
    name = page.rpartition("/")[2] if section is None else section
    return f"[{name.replace('-', ' ')}](../{page}.md{f'#{section}' if section else ''})"


def listed(found: griffe.Class) -> None:
    """Move what is said of single attributes into the list of the class."""
    own = [one for one in found.members.values() if isinstance(one, griffe.Attribute)]
    lines = []
    for one in own:
        if one.is_public and one.docstring and "\n\n" not in one.docstring.value:
            lines += [one.name, *(f"    {line}" for line in one.docstring.value.splitlines())]
            one.docstring = None
    if not lines:
        return
    found.docstring = found.docstring or griffe.Docstring("", parent=found)
    text, said = found.docstring.value, "\n".join(lines)
    there = LIST.search(text)
    if there:
        text = f"{text[: there.end()].rstrip()}\n{said}\n{text[there.end() :]}"
    else:
        text = f"{text}\n\nAttributes\n----------\n{said}\n"
    found.docstring.value = text
