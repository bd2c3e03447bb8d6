"""How much of the package's inside the tests name: what a move of the inside makes them change.

    python tests/internals.py [FOLDER]

Public are `parivox` and what it gives, `parivox.trials`, `parivox.errors` and the command line.
Every other module of the package is inside, imported or named in a string to be patched.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from pathlib import Path

PUBLIC = {"parivox", "parivox.trials", "parivox.errors", "parivox.cli"}
NAMED = re.compile(r"parivox(\.[a-z_0-9]+)+\.\w+")


def inside(tree):
    """The imports of one file, and the names in its strings, that are of the inside."""
    imported, named = [], []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            modules = [node.module or ""]
            if node.module in PUBLIC:  # a module of the inside may be taken from one that is public
                names = (f"{node.module}.{alias.name}" for alias in node.names)
                modules = [name for name in names if is_module(name)]
        elif isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if NAMED.fullmatch(node.value) and not is_public(node.value.rpartition(".")[0]):
                named.append(node.value)
            continue
        else:
            continue
        imported += [node for name in modules if not is_public(name)][:1]
    return imported, named


def is_public(name):
    return name.partition(".")[0] != "parivox" or name in PUBLIC


def is_module(name):
    path = Path(__file__).parents[1].joinpath("src", *name.split("."))
    return path.with_suffix(".py").exists() or (path.is_dir() and name not in PUBLIC)


def main(folder):
    files, imports, names, rooms = 0, 0, 0, Counter()
    tests = sorted(folder.rglob("*.py"))
    for path in tests:
        imported, named = inside(ast.parse(path.read_text(encoding="utf-8")))
        files += bool(imported or named)
        imports += len(imported)
        names += len(named)
        rooms[path.parent.relative_to(folder).as_posix()] += len(imported) + len(named)
    for room, count in rooms.most_common():
        print(f"{count:6} {room}")
    print(f"{files} of {len(tests)} files name the inside: {imports} imports, {names} strings")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parent)
