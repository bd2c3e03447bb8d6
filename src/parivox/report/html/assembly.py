"""The page: sections of one audit in one template, with figures, style and scripts inlined."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import groupby
from typing import TYPE_CHECKING

from parivox.errors import ConfigError, printable
from parivox.report.audit_queries import check_speaker_ids, system_label, systems
from parivox.report.charts import DARK, LIGHT, draw, figures
from parivox.report.context import read_context
from parivox.report.html.explorer import explorer
from parivox.report.html.first_screen import every_group, first, words_of_page
from parivox.report.html.groups import (
    by_system,
    checked,
    compared,
    crosstabs,
    groups,
    measures,
    offenders,
    pairs,
)
from parivox.report.html.layout import abreast
from parivox.report.html.method import method
from parivox.report.html.sentences import caveats, said
from parivox.report.labels import labelled
from parivox.report.overview import overview
from parivox.report.words import BEFORE_UNIT
from parivox.runtime.progress import with_progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jinja2 import Environment

    from parivox.auditing import Audit
    from parivox.report.charts import Figure

SECTIONS = {
    "all": "All groups",
    "explorer": "Threshold explorer",
    "compared": "System comparison",
    "said": "Findings by operating point",
    "groups": "Results by group",
    "det": "DET curves and score distributions",
    "pairs": "False accepts between groups",
    "measures": "Summary fairness measures",
    "list": "Trial list checks",
    "method": "Method, definitions and provenance",
}
"""Anchors and headings below what is seen first, in order."""
_OPEN = ("all", "explorer", "compared")
"""Sections that are seen before anything is opened."""
_MOST_SIGNED = 90
"""Rows of all groups in what is signed on paper, about two pages; more are an annex."""
_STYLES = ("page.css", "explorer.css")
_SCRIPTS = ("page.js", "arithmetic.js", "explorer.js")


@dataclass(frozen=True)
class Drawn:
    """A figure as the template takes it."""

    id: str
    title: str
    caption: str
    """How to read it; in its first sentence where an earlier figure is read the same way."""
    svg: str


def html_report(
    audit: Audit, *, title: str | None = None, context: object = None, speaker_ids: str = "never"
) -> str:
    """One HTML page of an audit, which needs no other file and fetches nothing.

    The same text for the same audit, title and context. A `ConfigError` if a package is missing,
    the context cannot be used, or ids of speakers are asked for that the audit did not keep.
    """
    known = read_context(context)
    check_speaker_ids(audit, speaker_ids)
    audit = labelled(audit, known)
    template = environment().get_template("page.html.j2")
    drawn = _drawn(audit)
    scripts = [_asset(name) for name in _SCRIPTS]
    how = method(audit, known)
    style = stylesheet(how["sha256"])
    names = [system_label(*one.values()) for one in systems(audit)]
    by_default = f"Fairness audit of {_enumerated(names)}"
    if audit.record["groupings"]:
        by_default += f" by {_enumerated(list(audit.record['groupings']))}"
    told = compared(audit)
    of = overview(audit)
    every = every_group(audit, of)
    sections = {name: words for name, words in SECTIONS.items() if name != "compared" or told}
    return template.render(
        words_of_page(audit, of),
        title=printable(title) if title else by_default,
        headline=of.headline,
        sections=sections,
        is_open=_OPEN,
        figures=drawn,
        first=first(audit, of, caveats(known)),
        every=every,
        is_annex=sum(line["n"] for one in every for line in one["lines"]) > _MOST_SIGNED,
        said=said(audit, known),
        groups=groups(audit),
        explorer=explorer(audit),
        crosstabs=crosstabs(audit),
        by_system=by_system(audit),
        pairs=pairs(audit),
        measures=measures(audit),
        compared=told,
        checked=checked(audit),
        method=how,
        offenders=offenders(audit) if speaker_ids == "offenders" else None,
        style=style,
        scripts=scripts,
        policy=policy(scripts, style),
    )


def environment() -> Environment:
    """What fills templates in: every text is escaped."""
    try:
        import jinja2  # noqa: F401, PLC0415 - an extra
    except ImportError as error:
        msg = "a page needs the package jinja2; install it with: pip install 'parivox[report]'"
        raise ConfigError(msg) from error
    return _environment()


@cache
def _environment() -> Environment:
    """It, made once: to compile the templates takes a third as long as to draw a page."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - an extra

    made = Environment(
        loader=PackageLoader("parivox.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["whole"] = _whole
    return made


def _enumerated(names: Sequence[str]) -> str:
    """Names with commas, and "and" before the last one."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _whole(words: str) -> str:
    """Words in which no interval, and no number and its unit, are parted at the end of a line."""
    whole = re.sub(r"\[(\S+), (\S+)\]", "[\\1,\u00a0\\2]", words)
    whole = re.sub(r" p ([=<]) ", " p\u00a0\\1\u00a0", whole)
    return BEFORE_UNIT.sub("\u00a0", whole)


def _drawn(audit: Audit) -> dict[str, list[list[Drawn]]]:
    """Every figure by section, those of one kind for several systems beside each other."""
    made: dict[str, list[list[Drawn]]] = {name: [] for name in SECTIONS}
    names = sorted((system_label(*one.values()) for one in systems(audit)), key=len, reverse=True)
    system = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)")
    every = with_progress(figures(audit), "figures", "figures")
    for section, of_section in groupby(every, key=lambda one: one.section):
        read: set[str] = set()
        rows = []
        for _, same in groupby(of_section, key=lambda one: system.sub("", one.title)):
            row = []
            for one in same:
                in_short = f"{one.reading.removesuffix('.').partition('. ')[0]}."
                row.append(as_svg(one, in_short if one.reading in read else one.reading))
                read.add(one.reading)
            rows.append(row)
        made[section] = abreast(rows)
    return made


def as_svg(one: Figure, caption: str) -> Drawn:
    """A figure as the template takes it."""
    svg = draw.svg(one.chart, id=one.id, title=one.title, description=one.description)
    return Drawn(one.id, one.title, caption, svg)


def _asset(name: str) -> str:
    return resources.files("parivox.report").joinpath("assets", name).read_text("utf-8")


def stylesheet(sha256: str) -> str:
    """The stylesheet, with the inks of charts for light, dark and print, and the foot of paper."""
    light, dark = (
        "".join(f"--{name}:{ink};" for name, ink in inks.by_variable().items())
        for inks in (LIGHT, DARK)
    )
    inks = (
        f":root{{color-scheme:light dark;{light}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"
    )
    foot = f'@page{{@bottom-left{{content:"{sha256}"}}}}\n'
    return inks + foot + "".join(map(_asset, _STYLES))


def policy(scripts: list[str], style: str) -> str:
    """What the page may do: run and use what stands in it, by hash, and fetch nothing."""
    allowed = " ".join(map(_hash, scripts))
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_hash(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
