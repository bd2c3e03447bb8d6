"""Exit codes: outcomes, mistakes and faults cannot be taken for each other."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from parivox.cli import COMMANDS, FAULT, described_fault
from parivox.core.counts import as_counts
from parivox.decide.release_gate import EXIT_CODES
from parivox.errors import DataError

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "exit-codes.md"
FAULTS = {
    "KeyError": "KeyError('secret-id')",
    "RecursionError": "RecursionError('secret-id')",
    "MemoryError": "MemoryError()",
    "ZeroDivisionError": "ZeroDivisionError('secret-id')",
    "OSError": "OSError('secret-id')",
}


def broken(exception, command, *words, **environment):
    """Run a command whose work ends with an exception."""
    code = (
        "import sys, parivox.cli as cli\n"
        "from importlib import import_module\n"
        f"module = import_module('parivox.cli.{command.replace('-', '_')}')\n"
        f"def broken(given): raise {exception}\n"
        "names = [name for name in vars(module) if name == '_run' or name.startswith('_run')]\n"
        "for name in names: setattr(module, name, broken)\n"
        f"cli.main({[command, *words]!r})\n"
    )
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_an_exception_that_nobody_foresaw_is_one_line_and_no_outcome(name):
    done = broken(FAULTS[name], "report-bug")
    assert done.returncode == FAULT == 70
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("parivox: error: ")
    assert "secret-id" not in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    if name != "MemoryError":
        assert f": {name}" in done.stderr
        assert "parivox report-bug" in done.stderr


@pytest.mark.slow
def test_the_traceback_of_a_fault_is_shown_where_it_is_asked_for():
    done = broken("KeyError('x')", "report-bug", PARIVOX_TRACEBACK="1")
    assert done.returncode == FAULT
    assert "Traceback (most recent call last)" in done.stderr


@pytest.mark.slow
def test_warnings_of_libraries_are_not_printed():
    code = (
        "import numpy as np, parivox.cli as cli\n"
        "from parivox.cli import report_bug\n"
        "report_bug._run = lambda given: np.zeros(1) / np.zeros(1)\n"
        "cli.main(['report-bug'])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_fault_names_the_line_of_parivox_that_it_comes_from():
    with pytest.raises(DataError, match="are not numbers") as caught:
        as_counts(["x"], [1])
    words = str(described_fault(caught.value))
    assert re.search(r": DataError in parivox/core/\w+\.py, line \d+;", words)


def test_the_page_has_every_exit_code_and_every_command_that_ends_with_1():
    text = PAGE.read_text(encoding="utf-8")
    codes = {int(code) for code in re.findall(r"^- (\d+): ", text, flags=re.MULTILINE)}
    assert codes == {0, 1, 2, 3, FAULT, 130, 143}
    assert set(EXIT_CODES.values()) <= codes
    ending = set()
    for command in COMMANDS:
        file = ROOT / "src" / "parivox" / "cli" / f"{command.replace('-', '_')}.py"
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            is_exit = isinstance(node, ast.Call) and ast.unparse(node.func) == "sys.exit"
            if is_exit and ast.unparse(node.args[0]) != "2":
                ending.add(command)
    paragraph = text.partition("Code 1 means")[2].partition("\n## ")[0]
    assert {
        words.split()[0] for words in re.findall(r"^- `([^`]+)`", paragraph, re.MULTILINE)
    } == ending
