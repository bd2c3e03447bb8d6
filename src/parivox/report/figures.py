"""Every figure of an audit as files for a paper, in a folder with an index: how to read each.

The figures of an earlier report are replaced, as its index names them; any other file is refused.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from parivox.errors import ConfigError
from parivox.report.report_files import check_installed
from parivox.runtime.disk import (
    HIDDEN_PREFIX,
    atomic_folder,
    explain_write_errors,
    finish_move,
    is_written_by_parivox,
    write_error,
)
from parivox.runtime.progress import stage, with_progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parivox.auditing import Audit

FORMATS = ("svg", "png", "pdf")
_NARROW, _WIDE = 3.5, 7.0
"""Inches across one column of a paper, and across two."""
_TALL = 5.0
"""Inches that a figure in one column may be high."""
_PER_INCH = 96
_INDEX = "index.md"
_SIDES = re.compile(r'\b(?:width|height)="([\d.]+)"')
_LINKED = re.compile(r"\]\(([a-z0-9-]+\.(?:svg|png|pdf))\)")


def write_figures(
    audit: Audit, folder: str | os.PathLike[str], *, formats: Sequence[str] = ("svg",)
) -> None:
    """Write every figure for a paper, and ``index.md``, which says how to read each.

    Parameters
    ----------
    audit
        From `pv.audit` or `pv.load`.
    folder
        Made if missing; the figures of an earlier report in it are replaced.
    formats
        Of svg, png and pdf.

    Raises
    ------
    ConfigError
        If the folder holds something else or cannot be written, a format is not known, or
        vl_convert is missing.
    """
    home = check_figures(folder, formats)
    with stage(f"writing {os.fsdecode(folder)}"):
        made = _drawn(audit, formats)
    with (
        explain_write_errors(os.fsdecode(folder), "folder"),
        atomic_folder(home, _own(home)) as aside,
    ):
        for name, data in made.items():
            (aside / name).write_bytes(data)


def _drawn(audit: Audit, formats: Sequence[str]) -> dict[str, bytes]:
    """Every file: figures as wide as one column where they fit it, else as two, and the index."""
    from parivox.report.charts import figures, pdf, png, svg, theme  # noqa: PLC0415 - takes time
    from parivox.report.sheets.paper import markdown_escaped  # noqa: PLC0415

    version = audit.record["versions"]["parivox"]
    lines = [f"<!-- Parivox {version}: parivox report --figures -->", "", "# Figures"]
    made: dict[str, bytes] = {}
    narrow, wide = (
        figures(audit, theme=theme(for_page=False, width=width)) for width in (_NARROW, _WIDE)
    )
    for small, large in with_progress(list(zip(narrow, wide, strict=True)), "figures", "figures"):
        sides = _SIDES.findall(svg(small.chart))[:2]
        width, height = (float(side) / _PER_INCH for side in sides)
        fits = width <= _NARROW and height <= _TALL
        figure, columns = (small, "one column") if fits else (large, "two columns")
        about = {"title": figure.title, "description": figure.description}
        for kind in formats:
            made[f"{figure.id}.{kind}"] = (
                png(figure.chart)
                if kind == "png"
                else pdf(figure.chart)
                if kind == "pdf"
                else svg(figure.chart, id=figure.id, **about).encode()
            )
        links = ", ".join(f"[{kind}]({figure.id}.{kind})" for kind in formats)
        lines += ["", f"## {markdown_escaped(figure.title)}"]
        for text in (figure.reading, figure.description):
            lines += ["", markdown_escaped(text)]
        lines += ["", f"For {columns} of a paper: {links}"]
    made[_INDEX] = ("\n".join(lines) + "\n").encode()
    return made


def check_figures(folder: str | os.PathLike[str], formats: Sequence[str] = FORMATS) -> Path:
    """The folder of figures, if it may be written and all that draws them is installed.

    Raises
    ------
    ConfigError
        If not, or a format is not known.
    """
    odd = [one for one in formats if one not in FORMATS]
    if odd or not formats or isinstance(formats, str):
        what = repr(odd[0]) if odd else "nothing"
        msg = f"--formats: {what} is not a format of figures; choose from {', '.join(FORMATS)}"
        raise ConfigError(msg)
    check_installed("figures", "vl_convert")
    text = os.fsdecode(folder)
    home = Path(os.path.realpath(text))
    try:
        if home.exists() and not home.is_dir():
            msg = f"{text}: is a file, not a folder; name a folder that is new or empty"
            raise ConfigError(msg)
        finish_move(home)
        strangers = _strangers(home) if home.is_dir() else []
        above = home if home.is_dir() else home.parent
        if not above.is_dir():
            msg = f"{text}: there is no folder {above} to put it in; name another folder"
            raise ConfigError(msg)
    except (OSError, ValueError) as error:
        raise write_error(text, error, "folder") from error
    if strangers:
        msg = (
            f"{text}: holds {strangers[0]!r}, which is not of an earlier report; name a folder "
            "that is new or empty"
        )
        raise ConfigError(msg)
    if not os.access(above, os.W_OK | os.X_OK):
        raise write_error(text, PermissionError("permission denied"), "folder")
    return home


def _own(home: Path) -> set[str]:
    """Files in a folder of figures that a report wrote: those that its index names."""
    index = home / _INDEX
    if not index.is_file() or not is_written_by_parivox(index):
        return set()
    return {_INDEX, *_LINKED.findall(index.read_text(encoding="utf-8", errors="replace"))}


def _strangers(home: Path) -> list[str]:
    entries = {entry.name for entry in home.iterdir()}
    return sorted(name for name in entries - _own(home) if not name.startswith(HIDDEN_PREFIX))
