"""Run every command of some pages of docs/ and write down what it prints.

    python examples/pages.py

Each block ``console`` of a page holds one command. It is run in a folder with the files that
`examples/NAME.py` writes, named by a comment ``<!-- example NAME -->`` above it. A comment above a
block, as in ``<!-- from "Noted" to "Thresholds" -->``, names the beginnings of the first and the
last line that are shown; a block below ``<!-- file context.yaml -->`` is written to that file.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
import textwrap
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

EXAMPLES = Path(__file__).parent
DOCS = EXAMPLES.parent / "docs"
TUTORIALS = ("student", "auditor", "bank", "spoof", "operator")
PAGES = (
    "bring-your-data.md",
    "trials.md",
    "plan.md",
    "thresholds.md",
    "calibration.md",
    "monitor.md",
    "compare.md",
    "gate.md",
    *[f"tutorials/{name}.md" for name in TUTORIALS],
)
BLOCK = re.compile(
    r"^<!-- example (?P<example>\w+) -->$"
    r"|^<!-- file (?P<file>\S+) -->\n```\w+\n(?P<text>(?:(?!```).*\n)*)```$"
    r'|^(?:<!-- from "(?P<first>.*)" to "(?P<last>.*)" -->\n)?'
    r"```console\n(?P<command>\$ (?:.*\\\n)*.*\n)(?P<output>(?:(?!```).*\n)*)```$",
    flags=re.MULTILINE,
)
SHARED = {
    "$ for one in last next; do parivox audit $one.csv --speakers speakers.tsv --by gender \\\n"
    "    --out $one/ --quiet > $one.txt; done\n": "audits-of-releases"
}
"""Commands of several pages that begin with the same example, and where what they write is kept."""
WIDTH = 100


def fresh(
    page: str, folder: Path, cache: Path, programs: Path = Path(sys.executable).parent
) -> str:
    """The page with what its commands print now, by the `parivox` in a folder of programs.

    What a script writes is kept for other pages that begin with the same, and so is what one
    command of them writes and prints, where it is that of several pages.
    """
    home = folder

    def block(match: re.Match[str]) -> str:
        nonlocal home
        block_text, command = match[0], match["command"]
        if match["file"] is not None:
            (home / match["file"]).write_text(match["text"], encoding="utf-8")
            return block_text
        if command is None:
            home = folder / match["example"]
            shutil.copytree(written_once(cache / home.name, run_example), home)
            return block_text
        run = partial(printed, command.removeprefix("$ "), home, programs)
        lines = kept_lines(run, home, cache / SHARED[command]) if command in SHARED else run()
        if match["first"] is not None:
            lines = excerpt(lines, match["first"], match["last"])
        start = block_text[: match.start("output") - match.start()]
        return start + "".join(f"{wrapped(line)}\n" for line in lines) + "```"

    return BLOCK.sub(block, page)


def written_once(folder: Path, write: Callable[[Path], None]) -> Path:
    """A folder that is written if it is not there yet, and by one process alone."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # until the file is closed
        if not folder.exists():
            aside = folder.with_name(f"{folder.name}.part")
            shutil.rmtree(aside, ignore_errors=True)
            write(aside)
            aside.rename(folder)
    return folder


def run_example(folder: Path) -> None:
    """Have the script write a folder that is named for it."""
    script = EXAMPLES / f"{folder.stem}.py"
    subprocess.run([sys.executable, script, folder], check=True)  # noqa: S603 - our own


def printed(command: str, folder: Path, programs: Path) -> list[str]:
    """Lines that a command prints in a folder."""
    path = os.pathsep.join((str(programs), str(Path(sys.executable).parent), os.environ["PATH"]))
    done = subprocess.run(  # noqa: S602 - the page's own commands
        command,
        shell=True,
        check=True,
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONIOENCODING": "utf-8"},
        stdout=subprocess.PIPE,
    )
    return done.stdout.decode().splitlines()


def kept_lines(run: Callable[[], list[str]], folder: Path, kept: Path) -> list[str]:
    """Lines that a command prints in a folder; what it writes there is kept, and put there."""

    def run_and_keep(aside: Path) -> None:
        before = {*folder.iterdir()}
        lines = run()
        (aside / "files").mkdir(parents=True)
        for path in {*folder.iterdir()} - before:
            path.rename(aside / "files" / path.name)
        (aside / "printed").write_text("\n".join(lines), encoding="utf-8")

    written_once(kept, run_and_keep)
    shutil.copytree(kept / "files", folder, dirs_exist_ok=True)
    return (kept / "printed").read_text(encoding="utf-8").splitlines()


def excerpt(lines: list[str], opening: str, closing: str) -> list[str]:
    """From the first line that begins with the one text to the next that begins with the other."""
    start = line_number(lines, opening)
    end = line_number(lines, closing, start)
    before = ["..."] if any(lines[:start]) else []
    after = ["..."] if any(lines[end + 1 :]) else []
    return [*before, *lines[start : end + 1], *after]


def line_number(lines: list[str], text: str, start: int = 0) -> int:
    """Where the next line is that begins with a text."""
    for i in range(start, len(lines)):
        if lines[i].strip().startswith(text):
            return i
    msg = "\n".join([f"no line begins with {text!r}:", *lines])
    raise LookupError(msg)


def wrapped(line: str) -> str:
    """A long line as a terminal shows it, what follows further in."""
    if len(line) <= WIDTH:
        return line
    indent = " " * (len(line) - len(line.lstrip()))
    return textwrap.fill(
        line.strip(),
        WIDTH,
        initial_indent=indent,
        subsequent_indent=f"{indent}    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


if __name__ == "__main__":
    with TemporaryDirectory() as home:
        for n, name in enumerate(PAGES):
            page, folder = DOCS / name, Path(home, str(n))
            now = fresh(page.read_text(encoding="utf-8"), folder, Path(home, "kept"))
            page.write_text(now, encoding="utf-8")
