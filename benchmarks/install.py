"""Measure what an install takes: core, each extra, and the demo from nothing.

python -m benchmarks.install           # prints the table of extras and what the demo takes
python -m benchmarks.install --write   # writes them into docs/install.md
python -m benchmarks.install demo      # the demo alone

Everything is installed in new environments, as a new user with an empty home and no cache; for the
demo what is downloaded is downloaded first, as its seconds are those of the network. `make demo` is
of what is committed. Bytecode is told apart: pip writes it unless told --no-compile, as the demo's
two ways tell it; what is imported is compiled then.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.measure import Gate, Usage, run_child

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "install.md"
MARKS = {
    name: (f"<!-- {name}:start, written by benchmarks/install.py -->\n", f"<!-- {name}:end -->")
    for name in ("sizes", "demo")
}
MAKING = ("editables", "hatch-fancy-pypi-readme>=24.1", "hatchling>=1.26")
"""What `make demo` needs besides the demo: the program is built from its sources."""
SECONDS, MEGABYTES = 60.0, 700.0


def extras() -> dict[str, str]:
    """Every extra that users install, and what pyproject.toml says above it."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    names = tomllib.loads(text)["project"]["optional-dependencies"].keys() - {"dev"}
    comments = re.findall(r"^# (.*)\n([a-z]+) = \[", text, re.MULTILINE)
    return {name: words for words, name in comments if name in names}


@dataclass(frozen=True)
class Environment:
    """A new environment, without pip, in a folder that holds a home that is empty."""

    folder: Path

    def __post_init__(self) -> None:
        (self.folder / "home").mkdir(parents=True)
        self.run(sys.executable, "-m", "venv", "--without-pip", self.folder / "venv")

    @property
    def programs(self) -> Path:
        """Where its Python and `parivox` are."""
        return self.folder / "venv" / "bin"

    def run(self, *command: str | Path, **variables: str) -> Usage:
        """Run a command as the new user; one that fails ends everything."""
        home = {"HOME": str(self.folder / "home"), "PIP_NO_CACHE_DIR": "1"}
        unset = ("PYTHONPATH", "PYTHONPYCACHEPREFIX")  # what puts code and bytecode elsewhere
        saved_variables = {name: os.environ.pop(name, None) for name in (*unset, *home, *variables)}
        os.environ.update(home | variables)
        try:
            use = run_child([str(word) for word in command])
        finally:
            for name, saved in saved_variables.items():
                os.environ.pop(name, None)
                if saved is not None:
                    os.environ[name] = saved
        if use.code:
            sys.exit(f"{' '.join(map(str, command))}: failed\n{use.out}{use.err}")
        return use

    def pip(self, *words: str | Path) -> Usage:
        """Run the pip of this process for the environment."""
        python = self.programs / "python"
        return self.run(sys.executable, "-m", "pip", "--python", python, *words)

    def size(self, venv: str = "venv") -> tuple[int, float, float]:
        """Packages, and megabytes (10^6 bytes) of their files and of bytecode."""
        (packages,) = self.folder.glob(f"{venv}/lib/python*/site-packages")
        size = {False: 0, True: 0}
        for path in packages.rglob("*"):
            if path.is_file() and not path.is_symlink():
                size[path.suffix == ".pyc"] += path.stat().st_size
        return len([*packages.glob("*.dist-info")]), size[False] / 1e6, size[True] / 1e6


def sizes(wheel: Path, work: Path) -> list[str]:
    """Measure core and each extra; the lines of the table."""
    sizes_by_extra = {}
    for name in ("", *extras()):
        environment = Environment(work / (name or "core"))
        environment.pip("install", f"{wheel}[{name}]" if name else wheel)
        sizes_by_extra[name] = environment.size()
        shutil.rmtree(environment.folder)
        print(name or "core", *sizes_by_extra[name], flush=True)
    packages, size, bytecode = sizes_by_extra.pop("")
    lines = [
        "| install | provides | packages | MB |",
        "|---|---|---:|---:|",
        f"| `parivox` | the program and the library | {packages} | {size:.0f} |",
    ]
    for name, words in extras().items():
        more, larger, _ = sizes_by_extra[name]
        lines.append(f"| `parivox[{name}]` | {words} | +{more - packages} | +{larger - size:.0f} |")
    lines += [
        "",
        "Sizes on disk in a new environment, in addition to the first row. They exclude bytecode:",
        f"pip writes {bytecode:.0f} MB of it for the first row (none with `--no-compile`).",
    ]
    return lines


def demo(wheel: Path, work: Path) -> tuple[list[str], list[Gate]]:
    """Install and run the demo from nothing, from the wheel and by make; what is said of it."""
    by_pip, by_make = Environment(work / "pip"), Environment(work / "make")
    store = work / "store"
    fetched = by_pip.pip("download", "-d", store, f"{wheel}[demo]", *MAKING).wall
    print(f"downloaded in {fetched:.0f} s", flush=True)
    loaded = sum(path.stat().st_size for path in store.iterdir()) / 1e6
    from_store = partial(by_pip.pip, "install", "--no-index", "--find-links", store)
    installed = from_store("--no-compile", f"{wheel}[demo]")
    ran = by_pip.run(by_pip.programs / "parivox", "demo", "--out", by_pip.folder / "out")
    clone = by_make.folder / "clone"
    by_make.run("git", "clone", "--quiet", ROOT, clone)
    make_run = by_make.run(
        "make", "-C", clone, f"PYTHON={sys.executable}", "demo", PIP_NO_INDEX="1",
        PIP_FIND_LINKS=str(store),
    )  # fmt: skip
    pip = '`pip install --no-compile "parivox[demo]"`, `parivox demo`'
    make = "`make demo` in a fresh clone"
    _, megabytes, bytecode = by_pip.size()
    _, cloned, compiled = by_make.size("clone/build/venv")
    cpu, wall = installed.cpu + ran.cpu, installed.wall + ran.wall
    rows = [
        ("command", "download", "install, CPU time", "run, CPU time", "both, elapsed on two cores",
         "on disk", "bytecode"),
        ("---", *["---:"] * 6),
        (pip, f"{loaded:.0f} MB", f"{installed.cpu:.0f} s", f"{ran.cpu:.0f} s", f"{wall:.0f} s",
         f"{megabytes:.0f} MB", f"{bytecode:.0f} MB"),
        (make, "same", f"{make_run.cpu - ran.cpu:.0f} s", f"{ran.cpu:.0f} s",
         f"{make_run.wall:.0f} s",
         f"{cloned:.0f} MB", f"{compiled:.0f} MB"),
    ]  # fmt: skip
    lines = [f"| {' | '.join(row)} |" for row in rows]
    gates = [
        Gate("pip install and demo, without download", cpu, SECONDS, " CPU s"),
        Gate("pip install and demo, with bytecode", megabytes + bytecode, MEGABYTES, " MB"),
        Gate("make demo, without download", make_run.cpu, SECONDS, " CPU s"),
        Gate("make demo, with bytecode", cloned + compiled, MEGABYTES, " MB"),
    ]
    return lines, gates


def write(name: str, lines: list[str]) -> None:
    """Put lines between their marks on the page."""
    start, end = MARKS[name]
    before, _, after = PAGE.read_text(encoding="utf-8").partition(start)
    text = "\n".join(["", *lines, "", ""])
    PAGE.write_text(f"{before}{start}{text}{end}{after.partition(end)[2]}", encoding="utf-8")


def main() -> int:
    """Measure, print, and write if asked; return 1 if a gate fails."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="*", help="sizes or demo; both without")
    parser.add_argument("--write", action="store_true", help="write docs/install.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        run_child([sys.executable, "-m", "build", "--wheel", "--outdir", folder, str(ROOT)])
        (wheel,) = work.glob("*.whl")
        tables, gates = dict[str, list[str]](), list[Gate]()
        if "demo" in (options.parts or MARKS):
            tables["demo"], gates = demo(wheel, work)
        if "sizes" in (options.parts or MARKS):
            tables["sizes"] = sizes(wheel, work)
    for name, lines in tables.items():
        print("", *lines, sep="\n")
        if options.write:
            write(name, lines)
    print("", *gates, sep="\n")
    return int(not all(gate.passed for gate in gates))


if __name__ == "__main__":
    raise SystemExit(main())
