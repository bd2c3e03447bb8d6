"""Run a command as a child process and say what it cost.

This module and the runners above it use the standard library only. Linux carries the peak memory of
the starting process over to the child it starts, so a large runner would be charged to every child.
"""

from __future__ import annotations

import compileall
import importlib.metadata
import importlib.util
import os
import platform
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

KIB_PER_MB = 1e6 / 1024
LIBRARIES = ("numpy", "scipy", "polars", "pyarrow", "pandas", "scikit-learn", "fairlearn", "bt4vt")


@dataclass(frozen=True)
class Usage:
    """What one child process used.

    Attributes
    ----------
    cpu : float
        Seconds of user and system time, all threads together.
    wall : float
        Seconds from start to end.
    peak : float
        Largest resident memory in megabytes (10^6 bytes), mapped files included.
    code : int
        Exit code.
    out, err : str
        What it wrote.
    """

    cpu: float
    wall: float
    peak: float
    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Gate:
    """One asserted number: `value` must not exceed `limit`; a missing value fails."""

    name: str
    value: float | None
    limit: float
    unit: str = ""

    @property
    def passed(self) -> bool:
        """Whether the value is there and within its limit."""
        return self.value is not None and self.value <= self.limit

    def __str__(self) -> str:
        """Return one line: the verdict, the name, the value and the limit."""
        verdict = "pass" if self.passed else "FAIL"
        figure = "not measured" if self.value is None else f"{self.value:.3g}{self.unit}"
        return f"{verdict}: {self.name}: {figure} (at most {self.limit:.3g}{self.unit})"


def comparison_line(name: str, times: float | None) -> str:
    """Return how two commands of Parivox compare: without a limit, as either may become faster."""
    return f"{name}: {'not measured' if times is None else f'{times:.3g} times'} (no limit)."


def _environment() -> dict[str, str]:
    """Return the environment, in which Python keeps compiled modules as it does by default."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


@cache
def _compile_package() -> None:
    """Compile Parivox to bytecode, as an installation does, so that no timed process does."""
    package = importlib.util.find_spec("parivox")
    if package is not None and package.submodule_search_locations:
        for folder in package.submodule_search_locations:
            compileall.compile_dir(folder, quiet=1)


def run_child(command: Sequence[str]) -> Usage:
    """Run a command to its end, with its output kept, and return what it used.

    Bytecode of Parivox is present, and may be written.
    """
    _compile_package()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        start = time.perf_counter()
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=_environment()
        )
        # wait4 tells this child's use alone; RUSAGE_CHILDREN would keep the largest memory ever.
        _, status, used = os.wait4(child.pid, 0)
        wall = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        return Usage(
            cpu=used.ru_utime + used.ru_stime,
            wall=wall,
            peak=used.ru_maxrss / KIB_PER_MB,
            code=child.returncode,
            out=out.read(),
            err=err.read(),
        )


def interleave(
    jobs: Mapping[str, Callable[[], Usage]], *, rounds: int, say: Callable[[str], None]
) -> dict[str, list[Usage]]:
    """Run every job once per round, so that a busy minute hurts all of them alike.

    A job that fails is not run again and keeps no measurement but its failure.
    """
    uses: dict[str, list[Usage]] = {name: [] for name in jobs}
    failed: set[str] = set()
    for turn in range(rounds):
        for name, job in jobs.items():
            if name in failed:
                continue
            use = job()
            if use.code:
                failed.add(name)
                uses[name] = [use]
                last_line = use.err.strip().splitlines()[-1:] or ["no message"]
                say(f"round {turn + 1}, {name}: failed with exit code {use.code}: {last_line[0]}")
            else:
                uses[name].append(use)
                say(f"round {turn + 1}, {name}: {use.cpu:.2f} CPU s, {use.peak:.0f} MB")
    return uses


def least_cpu(uses: Iterable[Usage]) -> float | None:
    """Return the smallest CPU time of the runs that succeeded, in seconds; none if none did."""
    return min((use.cpu for use in uses if not use.code), default=None)


def middle_cpu(uses: Iterable[Usage]) -> float | None:
    """Return the median CPU time of the runs that succeeded, in seconds; none if none did."""
    good = [use.cpu for use in uses if not use.code]
    return statistics.median(good) if good else None


def ratio(figure: float | None, reference: float | None) -> float | None:
    """Divide, where both are known."""
    return None if figure is None or not reference else figure / reference


def machine() -> str:
    """Name the machine by what decides its speed: processor, cores, Python and libraries."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
        names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
        model = names[0] if names else model
    versions = []
    for library in LIBRARIES:
        try:
            versions.append(f"{library} {importlib.metadata.version(library)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{model}, {os.cpu_count()} cores, {platform.system()}; {python}; {', '.join(versions)}"


def demo_data() -> tuple[Path, Path]:
    """Return the scores of ResNetSE34V2 on VoxCeleb1-H and the speaker table, as bt4vt has them.

    Raises
    ------
    FileNotFoundError
        If bt4vt 1.0.1 is not installed.
    """
    spec = importlib.util.find_spec("bt4vt")
    if spec is None or not spec.submodule_search_locations:
        message = "bt4vt is not installed: pip install 'parivox[demo]'"
        raise FileNotFoundError(message)
    folder = Path(next(iter(spec.submodule_search_locations))) / "data"
    return folder / "resnetse34v2_H-eval_scores.csv", folder / "vox1_meta.csv"
