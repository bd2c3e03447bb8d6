"""What large audits take: many attributes, many groups, a workbook of too many cells.

    python -m benchmarks.memory [--only NAME]

Each is a process of its own on made-up data; its largest resident memory (or, of the workbook, its
CPU) stands beside the goal. The exit code is 1 if one is missed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SPEAKERS, TRIALS, ATTRIBUTES, GROUPS = 2000, 120_000, 500, 900
ROWS, COLUMNS = 1_000_000, 12
GOALS = {"500 attributes": (1000, "MB"), "900 groups": (1200, "MB"), "workbook": (2, "CPU s")}


def write_trials(home: Path) -> None:
    """Trials of speakers with many attributes, and with one of many groups."""
    rng = np.random.default_rng(1)
    ids = np.array([f"s{i:05d}" for i in range(SPEAKERS)])
    enrol = rng.integers(SPEAKERS, size=TRIALS)
    test = np.where(rng.random(TRIALS) < 0.1, enrol, rng.integers(SPEAKERS, size=TRIALS))
    label = (enrol == test).astype(int)
    pl.DataFrame(
        {
            "enrol": [f"{ids[speaker]}/e{k % 50}" for k, speaker in enumerate(enrol.tolist())],
            "test": [f"{ids[speaker]}/t{k}" for k, speaker in enumerate(test.tolist())],
            "score": np.round(rng.normal(label * 2.0), 4),
            "label": label,
        }
    ).write_csv(home / "trials.csv")
    attributes = {f"a{k:03d}": rng.choice([*"abcde"], SPEAKERS) for k in range(ATTRIBUTES)}
    groups = [f"g{i % GROUPS:03d}" for i in range(SPEAKERS)]
    pl.DataFrame({"speaker": ids, "g": groups, **attributes}).write_csv(home / "speakers.csv")


def write_workbook(home: Path) -> None:
    """A workbook of 12 million cells in less than a megabyte."""
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    packages = "http://schemas.openxmlformats.org/package/2006"
    sheets = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    start = '<?xml version="1.0"?>'
    row = f"<row>{'<c><v>1</v></c>' * COLUMNS}</row>"
    files = {
        "[Content_Types].xml": f'{start}<Types xmlns="{packages}/content-types">'
        '<Default Extension="xml" ContentType="application/xml"/>'
        '<Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>'
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{kind}.worksheet+xml"/>'
        "</Types>",
        "_rels/.rels": f'{start}<Relationships xmlns="{packages}/relationships">'
        f'<Relationship Id="rId1" Type="{relations}/officeDocument" Target="xl/workbook.xml"/>'
        "</Relationships>",
        "xl/workbook.xml": f'{start}<workbook xmlns="{sheets}" xmlns:r="{relations}">'
        '<sheets><sheet name="a" sheetId="1" r:id="rId1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'{start}<Relationships xmlns="{packages}/relationships">'
        f'<Relationship Id="rId1" Type="{relations}/worksheet" Target="worksheets/sheet1.xml"/>'
        "</Relationships>",
        "xl/worksheets/sheet1.xml": f'{start}<worksheet xmlns="{sheets}"><sheetData>'
        f"{row * ROWS}</sheetData></worksheet>",
    }
    with zipfile.ZipFile(home / "big.xlsx", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as book:
        for name, text in files.items():
            book.writestr(name, text)


def usage_of(words: Sequence[str], home: Path) -> tuple[int, float, float]:
    """Exit code, largest resident megabytes, and CPU seconds of a command."""
    process = subprocess.Popen(
        [sys.executable, "-m", "parivox", *words, "--quiet"],
        cwd=home,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    seconds = usage.ru_utime + usage.ru_stime
    return os.waitstatus_to_exitcode(status), usage.ru_maxrss / 1024, seconds


def measured(name: str, home: Path) -> float:
    """Run one of them."""
    groupings = [word for k in range(ATTRIBUTES) for word in ("--by", f"a{k:03d}")]
    audit_words = ["audit", "trials.csv", "--speakers", "speakers.csv"]
    commands: dict[str, tuple[list[str], int, Callable[[Path], None]]] = {
        "500 attributes": (
            [*audit_words, *groupings, "--no-intervals", "--out", "many"],
            0,
            write_trials,
        ),
        "900 groups": ([*audit_words, "--by", "g", "--out", "groups"], 0, write_trials),
        "workbook": (["inspect", "big.xlsx"], 2, write_workbook),
    }
    words, code, write = commands[name]
    write(home)
    exit_code, megabytes, seconds = usage_of(words, home)
    assert exit_code == code, f"{name}: exit code {exit_code}"
    return seconds if GOALS[name][1] == "CPU s" else megabytes


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=[*GOALS])
    options = parser.parse_args()
    missed = False
    for name in [options.only] if options.only else GOALS:
        goal, unit = GOALS[name]
        with tempfile.TemporaryDirectory() as folder:
            figure = measured(name, Path(folder))
        missed |= figure > goal
        print(f"{name}: {figure:,.1f} {unit}, goal {goal:,} {unit}", flush=True)
    sys.exit(missed)


if __name__ == "__main__":
    main()
