"""The page: sections of one audit in one template, with figures, style and scripts inlined."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import groupby
from typing import TYPE_CHECKING, Any

from parivox.errors import ConfigError, shown
from parivox.report.page.answer import answer
from parivox.report.page.context import read_context
from parivox.report.page.groups import (
    by_system,
    compared,
    crosstabs,
    groups,
    measures,
    offenders,
    pairs,
)
from parivox.report.page.layout import abreast
from parivox.report.page.limits import checked
from parivox.report.page.method import method
from parivox.report.scopes import check_speaker_ids, name_of, systems

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jinja2 import Environment

    from parivox.auditing.result import Audit
    from parivox.report.charts.chart import Figure

SECTIONS = {
    "answer": "The answer",
    "groups": "Groups",
    "explorer": "Threshold explorer",
    "det": "Error curves",
    "pairs": "Who is taken for whom",
    "measures": "Measures of fairness",
    "compared": "Systems or lists compared",
    "list": "The list of trials",
    "method": "Method and provenance",
}
"""Anchors and headings, in order."""
_STYLES = ("page.css", "explorer.css")
_SCRIPTS = ("page.js", "arithmetic.js", "explorer.js")
_IN_SCRIPT = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


@dataclass(frozen=True)
class Drawn:
    """A figure as the template takes it: drawn, and, if it answers to the pointer, its spec."""

    id: str
    title: str
    reading: str
    svg: str
    spec: str
    like: tuple[str, str] = ("", "")
    """Id and title of an earlier figure that is read the same way."""

    @property
    def in_short(self) -> str:
        """How to read it, in its first sentence."""
        return f"{self.reading.removesuffix('.').partition('. ')[0]}."


def page(
    audit: Audit, *, title: str | None = None, context: object = None, speaker_ids: str = "never"
) -> str:
    """One HTML page of an audit, which needs no other file and fetches nothing.

    Parameters
    ----------
    audit
        The result; only its tables and record are read.
    title
        Heading of the page; by default it names systems and groups.
    context
        Path of a YAML file, or a mapping, of what only its owner knows; see
        :func:`parivox.report.page.context.read_context`.
    speaker_ids : {"never", "offenders"}
        Whether the speakers behind most errors are named. The audit must have kept them.

    Returns
    -------
    str
        The same text for the same audit, title and context.

    Raises
    ------
    ConfigError
        If a package is missing, the context cannot be used, or ids were not kept.
    """
    told = read_context(context)
    check_speaker_ids(audit, speaker_ids)
    template = _environment().get_template("page.html.j2")
    drawn = _drawn(audit)
    is_live = any(one.spec for rows in drawn.values() for row in rows for one in row)
    scripts = [_asset(name) for name in _SCRIPTS]
    vega = _vega() if is_live else ""
    style = _style()
    return template.render(
        title=shown(title) if title else _title(audit),
        sections=SECTIONS,
        figures=drawn,
        answer=answer(audit, told),
        groups=groups(audit),
        explorer=_explorer(audit),
        crosstabs=crosstabs(audit),
        by_system=by_system(audit),
        pairs=pairs(audit),
        measures=measures(audit),
        compared=compared(audit),
        checked=checked(audit),
        method=method(audit, told),
        offenders=offenders(audit) if speaker_ids == "offenders" else None,
        style=style,
        scripts=scripts,
        vega=_packed(vega),
        policy=_policy([*scripts, *filter(None, [vega])], style),
    )


def _title(audit: Audit) -> str:
    names = ", ".join(name_of(*one.values()) for one in systems(audit))
    return f"Fairness audit of {names} by {', '.join(audit.record['groupings'])}"


def _environment() -> Environment:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - an extra
    except ImportError as error:
        msg = "a page needs the package jinja2; install it with: pip install 'parivox[report]'"
        raise ConfigError(msg) from error

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


def _whole(words: str) -> str:
    """Words in which no interval is parted at the end of a line."""
    return re.sub(r"\[(\S+), (\S+)\]", "[\\1,\u00a0\\2]", words).replace(", p ", ", p\u00a0")


def _explorer(audit: Audit) -> Any:
    from parivox.report.page.explorer import explorer  # noqa: PLC0415 - it imports NumPy and core

    return explorer(audit)


def _drawn(audit: Audit) -> dict[str, list[list[Drawn]]]:
    """Every figure by section, those of one kind for several systems beside each other."""
    from parivox.report.charts import figures  # noqa: PLC0415 - it imports Altair

    made: dict[str, list[list[Drawn]]] = {name: [] for name in SECTIONS}
    every = figures(audit)
    is_system = _systems_in(audit)
    for section, of_section in groupby(every, key=lambda one: one.section):
        read: dict[str, tuple[str, str]] = {}
        rows = []
        for _, same in groupby(of_section, key=lambda one: is_system.sub("", one.title)):
            row = []
            for one in same:
                row.append(_figure(one, read.get(one.reading, ("", ""))))
                read.setdefault(one.reading, (one.id, one.title))
            rows.append(row)
        made[section] = abreast(rows)
    return made


def _systems_in(audit: Audit) -> re.Pattern[str]:
    """What finds names of systems in a title."""
    names = sorted((name_of(*one.values()) for one in systems(audit)), key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)")


def _figure(one: Figure, like: tuple[str, str] = ("", "")) -> Drawn:
    from parivox.report.charts.draw import spec, svg  # noqa: PLC0415 - it imports Altair

    text = ""
    if one.live:
        text = json.dumps(spec(one.chart), ensure_ascii=False, separators=(",", ":"))
    return Drawn(
        id=one.id,
        title=one.title,
        reading=one.reading,
        svg=svg(one.chart, id=one.id, title=one.title, description=one.description),
        spec=text.translate(_IN_SCRIPT),
        like=like,
    )


@cache
def _vega() -> str:
    """Vega with its interpreter of expressions, which needs no leave to evaluate code."""
    import vl_convert  # noqa: PLC0415 - an optional dependency

    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return f"(() => {{\n{bundle}\n}})();"


def _packed(script: str) -> str:
    """A script as page.js unpacks it: a third of its size, and the same bytes each time."""
    return base64.b64encode(zlib.compress(script.encode(), 9)).decode() if script else ""


def _asset(name: str) -> str:
    return resources.files("parivox.report").joinpath("assets", name).read_text("utf-8")


def _style() -> str:
    """The stylesheet, with the inks of charts for light, dark and print."""
    from parivox.report.charts.theme import DARK, LIGHT  # noqa: PLC0415 - beside Altair

    light, dark = (_variables(inks.named()) for inks in (LIGHT, DARK))
    inks = (
        f":root{{color-scheme:light dark;{light}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"
    )
    return inks + "".join(map(_asset, _STYLES))


def _variables(inks: Mapping[str, str]) -> str:
    return "".join(f"--{name}:{ink};" for name, ink in inks.items())


def _policy(scripts: list[str], style: str) -> str:
    """What the page may do: run and use what stands in it, by hash, and fetch nothing."""
    allowed = " ".join(map(_hash, scripts))
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_hash(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
