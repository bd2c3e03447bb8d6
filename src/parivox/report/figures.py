"""Every figure of an audit as files for a paper, in a folder with an index: how to read each.

The figures of an earlier report are replaced, as its index names them; any other file is refused.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from parivox.errors import ConfigError
from parivox.report.files import is_ours, need, unwritable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from parivox.auditing.result import Audit
    from parivox.report.charts import Figure

FORMATS = ("svg", "png", "pdf")
COLUMNS = {"one column": 3.5, "two columns": 7.0}
"""Inches across of a paper."""
_TALL = 5.0
"""Inches that a figure in one column may be high."""
_PER_INCH = 96
_INDEX = "index.md"
_ASIDE = ".parivox-"
_SIDES = re.compile(r'\b(?:width|height)="([\d.]+)"')
_OBJECT = re.compile(rb"^(\d+) 0 obj\n(.*?)\nendobj\n", re.DOTALL | re.MULTILINE)
_REFERENCE = re.compile(rb"\b(\d+) 0 R\b")
_ENTRIES = re.compile(rb"(?:^ +/\w+ \d+ 0 R\n)+", re.MULTILINE)
_STREAM = b"\nstream\n"
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
    made = _drawn(audit, formats)
    try:
        with _aside(home) as aside:
            for name, data in made.items():
                (aside / name).write_bytes(data)
            if not home.exists():
                aside.rename(home)
                return
            stale = _own(home) - made.keys()
            for name in stale:
                (home / name).unlink()
            # the index first: whatever it names is known to be of a report, should this be stopped
            for name in sorted(made, key=lambda name: name != _INDEX):
                (aside / name).replace(home / name)
    except OSError as error:
        raise unwritable(folder, error) from error


def _drawn(audit: Audit, formats: Sequence[str]) -> dict[str, bytes]:
    """Every file of the folder."""
    from parivox.report.sheets.paper import markdown_escaped  # noqa: PLC0415

    version = audit.record["versions"]["parivox"]
    lines = [f"<!-- Parivox {version}: parivox report --figures -->", "", "# Figures"]
    made: dict[str, bytes] = {}
    for figure, columns in _fitted(audit):
        made |= {f"{figure.id}.{kind}": _as(figure, kind) for kind in formats}
        links = ", ".join(f"[{kind}]({figure.id}.{kind})" for kind in formats)
        title, reading = markdown_escaped(figure.title), markdown_escaped(figure.reading)
        description = markdown_escaped(figure.description)
        lines += ["", f"## {title}", "", reading, "", description]
        lines += ["", f"For {columns} of a paper: {links}"]
    made[_INDEX] = ("\n".join(lines) + "\n").encode()
    return made


def _fitted(audit: Audit) -> Iterator[tuple[Figure, str]]:
    """Every figure as wide as a column where it fits one, else as wide as two."""
    from parivox.report.charts import figures, svg, theme  # noqa: PLC0415 - takes time to load

    (one, narrow), (both, wide) = (
        (name, figures(audit, theme=theme(for_page=False, width=width)))
        for name, width in COLUMNS.items()
    )
    for small, large in zip(narrow, wide, strict=True):
        width, height = (float(side) / _PER_INCH for side in _SIDES.findall(svg(small.chart))[:2])
        fits = width <= COLUMNS[one] and height <= _TALL
        yield (small, one) if fits else (large, both)


def _as(figure: Figure, kind: str) -> bytes:
    from parivox.report.charts import pdf, png, svg  # noqa: PLC0415 - takes time to load

    if kind == "png":
        return png(figure.chart)
    if kind == "pdf":
        return pdf_in_order(pdf(figure.chart))
    told = {"title": figure.title, "description": figure.description}
    return svg(figure.chart, id=figure.id, **told).encode()


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
        msg = f"--formats: {what} is no format of figures; choose from {', '.join(FORMATS)}"
        raise ConfigError(msg)
    need("figures", "vl_convert")
    text = os.fsdecode(folder)
    home = Path(os.path.realpath(text))
    try:
        if home.exists() and not home.is_dir():
            msg = f"{text}: is a file, not a folder; name a folder that is new or empty"
            raise ConfigError(msg)
        strangers = _strangers(home) if home.is_dir() else []
        above = home if home.is_dir() else home.parent
        if not above.is_dir():
            msg = f"{text}: there is no folder {above} to put it in; name another folder"
            raise ConfigError(msg)
    except (OSError, ValueError) as error:
        raise unwritable(folder, error) from error
    if strangers:
        msg = (
            f"{text}: holds {strangers[0]!r}, which is not of an earlier report; name a folder "
            "that is new or empty"
        )
        raise ConfigError(msg)
    if not os.access(above, os.W_OK | os.X_OK):
        raise unwritable(folder, PermissionError("permission denied"))
    return home


def _own(home: Path) -> set[str]:
    """Files in a folder of figures that a report wrote: those that its index names."""
    index = home / _INDEX
    if not index.is_file() or not is_ours(index):
        return set()
    named = _LINKED.findall(index.read_text(encoding="utf-8", errors="replace"))
    return {_INDEX, *named} & {entry.name for entry in home.iterdir()}


def _strangers(home: Path) -> list[str]:
    entries = {entry.name for entry in home.iterdir()}
    return sorted(name for name in entries - _own(home) if not name.startswith(_ASIDE))


@contextlib.contextmanager
def _aside(home: Path) -> Iterator[Path]:
    """A hidden folder in the folder, or beside it where that is not there yet; gone in the end."""
    inside = home.is_dir()
    for left in home.glob(f"{_ASIDE}*") if inside else ():
        shutil.rmtree(left, ignore_errors=True)
    aside = (home if inside else home.parent) / f"{_ASIDE}{os.urandom(6).hex()}"
    aside.mkdir()
    try:
        yield aside
    finally:
        shutil.rmtree(aside, ignore_errors=True)


# ---- what draws a PDF numbers and writes its objects as chance has it


def pdf_in_order(pdf: bytes) -> bytes:
    """The same document, its objects numbered and written as they are reached from its root.

    Parameters
    ----------
    pdf
        As vl-convert writes it: plain objects, one table of where each is, one trailer.
    """
    parts = {int(found[1]): found[2].partition(_STREAM) for found in _OBJECT.finditer(pdf)}
    told = {number: _ENTRIES.sub(_by_name, part[0]) for number, part in parts.items()}
    trailer = pdf[pdf.rindex(b"trailer") : pdf.rindex(b"startxref")]
    order = _reached(trailer, told)
    new = {number: place for place, number in enumerate(order, 1)}

    def renumbered(text: bytes) -> bytes:
        return _REFERENCE.sub(lambda found: b"%d 0 R" % new[int(found[1])], text)

    made = bytearray(pdf[: next(_OBJECT.finditer(pdf)).start()])
    places = []
    for number in order:
        places.append(len(made))
        rest = b"".join(parts[number][1:])
        made += b"%d 0 obj\n%b%b\nendobj\n\n" % (new[number], renumbered(told[number]), rest)
    start = len(made)
    made += b"xref\n0 %d\n0000000000 65535 f \n" % (len(order) + 1)
    made += b"".join(b"%010d 00000 n \n" % place for place in places)
    made += re.sub(rb"/Size \d+", b"/Size %d" % (len(order) + 1), renumbered(trailer))
    return bytes(made) + b"startxref\n%d\n%%%%EOF" % start


def _by_name(entries: re.Match[bytes]) -> bytes:
    return b"".join(sorted(entries[0].splitlines(keepends=True)))


def _reached(trailer: bytes, told: dict[int, bytes]) -> list[int]:
    """Objects in the order in which references lead to them."""
    order: dict[int, None] = {}
    ahead = [int(number) for number in _REFERENCE.findall(trailer)]
    while ahead:
        number = ahead.pop(0)
        if number not in order:
            order[number] = None
            ahead += [int(one) for one in _REFERENCE.findall(told[number])]
    return list(order)
