"""Every figure of an audit as files for a paper, in a folder with an index: how to read each.

The figures of an earlier report are replaced, as its index names them; any other file is refused.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from parivox.auditing import check_verification
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
_ONE_COLUMN, _TWO_COLUMNS = 3.5, 7.0
"""Width of one column of a paper, and of two, in inches."""
_MAX_HEIGHT = 5.0
"""Inches that a figure in one column may be high."""
_PIXELS_PER_INCH = 96
_INDEX_NAME = "index.md"
_SIZE_ATTRIBUTE = re.compile(r'\b(?:width|height)="([\d.]+)"')
_LINKED_FIGURE = re.compile(r"\]\(([a-z0-9-]+\.(?:svg|png|pdf))\)")


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
    check_verification(audit, "--figures", "take the figures from the report (HTML)")
    home = check_figures(folder, formats)
    with stage(f"writing {os.fsdecode(folder)}"):
        content_of_file = _figure_files(audit, formats)
    with (
        explain_write_errors(os.fsdecode(folder), "folder"),
        atomic_folder(home, _report_files(home)) as temporary_folder,
    ):
        for name, content in content_of_file.items():
            (temporary_folder / name).write_bytes(content)


def _figure_files(audit: Audit, formats: Sequence[str]) -> dict[str, bytes]:
    """Return every file: figures as wide as one column if they fit, else as two, and the index."""
    from parivox.report.charts import figures, pdf, png, svg, theme  # noqa: PLC0415 - takes time
    from parivox.report.sheets.paper import markdown_escaped  # noqa: PLC0415

    version = audit.record["versions"]["parivox"]
    index_lines = [f"<!-- Parivox {version}: parivox report --figures -->", "", "# Figures"]
    content_of_file: dict[str, bytes] = {}
    narrow, wide = (
        figures(audit, theme=theme(for_page=False, width=width))
        for width in (_ONE_COLUMN, _TWO_COLUMNS)
    )
    for small, large in with_progress(list(zip(narrow, wide, strict=True)), "figures", "figures"):
        sides = _SIZE_ATTRIBUTE.findall(svg(small.chart))[:2]
        width, height = (float(side) / _PIXELS_PER_INCH for side in sides)
        fits = width <= _ONE_COLUMN and height <= _MAX_HEIGHT
        figure, columns = (small, "one column") if fits else (large, "two columns")
        description = {"title": figure.title, "description": figure.description}
        for file_format in formats:
            if file_format == "png":
                content = png(figure.chart)
            elif file_format == "pdf":
                content = pdf(figure.chart)
            else:
                content = svg(figure.chart, id=figure.id, **description).encode()
            content_of_file[f"{figure.id}.{file_format}"] = content
        links = ", ".join(f"[{file_format}]({figure.id}.{file_format})" for file_format in formats)
        index_lines += ["", f"## {markdown_escaped(figure.title)}"]
        for text in (figure.reading, figure.description):
            index_lines += ["", markdown_escaped(text)]
        index_lines += ["", f"For {columns} of a paper: {links}"]
    content_of_file[_INDEX_NAME] = ("\n".join(index_lines) + "\n").encode()
    return content_of_file


def check_figures(folder: str | os.PathLike[str], formats: Sequence[str] = FORMATS) -> Path:
    """Return the folder of figures, if it may be written and all that draws them is installed.

    Raises
    ------
    ConfigError
        If not, or a format is not known.
    """
    unknown_formats = [file_format for file_format in formats if file_format not in FORMATS]
    if unknown_formats or not formats or isinstance(formats, str):
        unknown_text = repr(unknown_formats[0]) if unknown_formats else "nothing"
        msg = f"--formats: {unknown_text} is not a format of figures"
        hint = f"choose from {', '.join(FORMATS)}"
        raise ConfigError(msg, hint)
    check_installed("figures", "vl_convert")
    text = os.fsdecode(folder)
    target = Path(os.path.realpath(text))
    try:
        if target.exists() and not target.is_dir():
            msg = f"{text}: is a file, not a folder"
            hint = "name a folder that is new or empty"
            raise ConfigError(msg, hint)
        finish_move(target)
        foreign_files = _foreign_files(target) if target.is_dir() else []
        writable_folder = target if target.is_dir() else target.parent
        if not writable_folder.is_dir():
            msg = f"{text}: folder {writable_folder} does not exist"
            hint = "name another folder"
            raise ConfigError(msg, hint)
    except (OSError, ValueError) as error:
        raise write_error(text, error, "folder") from error
    if foreign_files:
        msg = f"{text}: contains {foreign_files[0]!r}, which is not part of an earlier report"
        hint = "name a folder that is new or empty"
        raise ConfigError(msg, hint)
    if not os.access(writable_folder, os.W_OK | os.X_OK):
        raise write_error(text, PermissionError("permission denied"), "folder")
    return target


def _report_files(target: Path) -> set[str]:
    """Return the files in a folder of figures that a report wrote: those that its index names."""
    index = target / _INDEX_NAME
    if not index.is_file() or not is_written_by_parivox(index):
        return set()
    return {
        _INDEX_NAME,
        *_LINKED_FIGURE.findall(index.read_text(encoding="utf-8", errors="replace")),
    }


def _foreign_files(target: Path) -> list[str]:
    """Return the names of files in a folder that no report wrote."""
    names = {path.name for path in target.iterdir()}
    return sorted(
        name for name in names - _report_files(target) if not name.startswith(HIDDEN_PREFIX)
    )
