"""What a groups file says."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from parivox.errors import ParivoxError
from parivox.read.groups_file import read_groups_file
from parivox.read.inspection.findings import Found

__all__ = ["see_groups"]

_HEAD = 1 << 16
_ENTRY = re.compile(r"[A-Za-z_]\w* *:(\s|$)")
_KEY = re.compile(r"(by|within|reference|groups|others) *:(\s|$)")


def see_groups(source: Any, name: str) -> Found | None:
    """Look at a source that is a groups file, by its name or its keys; None if it is none.

    Parameters
    ----------
    source
        Anything that an audit reads.
    name
        As the user gave it.
    """
    if not isinstance(source, (str, os.PathLike)) or not _may_be_one(source):
        return None
    try:
        file = read_groups_file(source)
    except ParivoxError as error:
        return Found(name, "groups", "yaml", problems=(str(error),))
    groups = {attribute: tuple(recipe.groups) for attribute, recipe in file.recipes.items()}
    return Found(name, "groups", "yaml", groups=groups, by=file.by or ())


def _may_be_one(source: str | os.PathLike[str]) -> bool:
    try:
        if not os.path.isfile(source):  # noqa: PTH113 - any text; a pipe can be read but once
            return False
        with open(source, "rb") as file:  # noqa: PTH123 - likewise
            head = file.read(_HEAD).decode("utf-8-sig", errors="replace")
    except (OSError, ValueError):
        return False
    lines = [
        line for line in head.splitlines() if line.strip() and not line.startswith(("#", "---"))
    ]
    if Path(source).suffix.lower() in {".yaml", ".yml"}:
        return bool(head.strip())
    return bool(lines and _ENTRY.match(lines[0])) and any(map(_KEY.match, lines))
