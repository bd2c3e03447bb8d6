"""Run the notebooks of this folder and write down what their cells show.

    python examples/notebooks.py

Cells run in order in one namespace, as Jupyter runs them; a cell shows what it prints and its last
expression. Jupyter itself is not needed, so that the tests run the notebooks everywhere.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

EXAMPLES = Path(__file__).parent
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
Notebook = dict[str, Any]


def executed(notebook: Notebook, folder: Path) -> Notebook:
    """Return a notebook with the outputs that its cells have when they are run in a folder."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    cells: list[dict[str, Any]] = []
    n_run = 0
    with contextlib.chdir(folder):
        for cell in notebook["cells"]:
            if cell["cell_type"] != "code":
                cells.append(cell)
                continue
            n_run += 1
            outputs = outputs_of("".join(cell["source"]), namespace, n_run)
            cells.append({**cell, "execution_count": n_run, "outputs": outputs})
    return {**notebook, "cells": cells}


def outputs_of(source: str, namespace: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """Return the outputs of a cell: what it prints, then its last expression."""
    module = ast.parse(source)
    last = module.body.pop() if module.body and isinstance(module.body[-1], ast.Expr) else None
    shown: object = None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(module, "<cell>", "exec"), namespace)  # noqa: S102 - our own notebooks
        if isinstance(last, ast.Expr):
            expression = compile(ast.Expression(last.value), "<cell>", "eval")
            shown = eval(expression, namespace)  # noqa: S307 - likewise
    outputs: list[dict[str, Any]] = []
    if text := printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": lines(text)})
    if shown is not None:
        result = {"data": views(shown), "execution_count": number, "metadata": {}}
        outputs.append({**result, "output_type": "execute_result"})
    return outputs


def views(shown: Any) -> dict[str, list[str]]:
    """Return how a notebook shows an object, by type of content."""
    contents: dict[str, Any] = {"text/plain": repr(shown)}
    if hasattr(shown, "_repr_mimebundle_"):
        bundle = shown._repr_mimebundle_([], [])
        contents |= bundle[0] if isinstance(bundle, tuple) else bundle
    elif hasattr(shown, "_repr_html_"):
        contents["text/html"] = shown._repr_html_()
    return {kind: lines(text) for kind, text in sorted(contents.items()) if isinstance(text, str)}


def lines(text: str) -> list[str]:
    """Return a text as notebooks hold it."""
    return text.splitlines(keepends=True)


def written(notebook: Notebook) -> str:
    """Return the file of a notebook."""
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for path in NOTEBOOKS:
        with TemporaryDirectory() as scratch:
            fresh = executed(json.loads(path.read_text(encoding="utf-8")), Path(scratch))
        path.write_text(written(fresh), encoding="utf-8")
        print(os.fspath(path))
