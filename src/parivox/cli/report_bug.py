"""``parivox report-bug``: what a report of a bug needs to tell, without names, paths or data."""

from __future__ import annotations

import importlib.metadata
import locale
import platform
import re
import sys
from typing import TYPE_CHECKING, Any

from parivox.cli.options import add_command
from parivox.cli.process import print_lines
from parivox.runtime.cgroup import processor_count
from parivox.version import __version__

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

EXAMPLES = """\
examples:
  parivox report-bug >> report.txt
"""
_NAME, _EXTRA = re.compile(r"[\w.-]+"), re.compile(r"""extra == ['"]([\w-]+)['"]""")
_OLDER_PYTHON = re.compile(r"""python_version < ['"](\d+)\.(\d+)['"]""")


def add_to(commands: Any, words: str) -> None:
    """Add the command, which has no options."""
    add_command(
        commands,
        "report-bug",
        _run,
        help=words,
        usage="parivox report-bug",
        description="Print the versions of Parivox, Python and libraries, the operating system "
        "and the installed extras, without names, paths or data. The documentation "
        "page Support lists what else to send.",
        examples=EXAMPLES,
    )


def _run(_: argparse.Namespace) -> None:
    print_lines(_version_lines())


def _version_lines() -> Iterator[str]:
    python = f"{platform.python_implementation()} {platform.python_version()}"
    system = " ".join((platform.system(), platform.machine(), *platform.libc_ver())).strip()
    encodings = f"{sys.stdout.encoding} out, {locale.getpreferredencoding(do_setlocale=False)} else"
    yield f"Parivox {__version__}, {python}, {system}, {processor_count()} processors, {encodings}"
    for extra, packages in _packages_by_extra().items():
        versions = ", ".join(f"{name} {_version(name)}" for name in packages)
        yield f"{extra or 'core'}: {versions}"


def _packages_by_extra() -> dict[str, list[str]]:
    """Return the packages that the core and each extra need; none if Parivox is not installed."""
    packages_by_extra: dict[str, list[str]] = {}
    try:
        required = importlib.metadata.requires("parivox") or []
    except importlib.metadata.PackageNotFoundError:
        required = []
    for requirement in required:
        name, extra = _NAME.findall(requirement)[0], "".join(_EXTRA.findall(requirement))
        is_for_this_python = all(
            sys.version_info < (int(major), int(minor))
            for major, minor in _OLDER_PYTHON.findall(requirement)
        )
        if extra != "dev" and name != "parivox" and is_for_this_python:
            packages_by_extra.setdefault(extra, []).append(name)
    return packages_by_extra


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "missing"
