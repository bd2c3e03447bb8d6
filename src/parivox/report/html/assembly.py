"""The HTML report: sections of one audit in one template, with figures and scripts inlined."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import groupby
from typing import TYPE_CHECKING

from parivox.core.measures import RATES
from parivox.errors import ConfigError, printable
from parivox.report.audit_queries import (
    POOLED,
    check_speaker_ids,
    error_types,
    system_label,
    systems,
)
from parivox.report.charts import DARK, LIGHT, draw, figures
from parivox.report.context import read_context
from parivox.report.html.explorer import explorer
from parivox.report.html.first_screen import all_groups, first_screen, template_names
from parivox.report.html.groups import (
    attacks_section,
    comparison_sections,
    crosstab_sections,
    groups_section,
    measures_section,
    offender_tables,
    pair_tables,
    system_sections,
    trial_list_section,
)
from parivox.report.html.identification import page_content
from parivox.report.html.layout import join_single_sections
from parivox.report.html.method import method_section
from parivox.report.html.sentences import context_caveats, findings_section
from parivox.report.identification import is_identification
from parivox.report.labels import labelled
from parivox.report.overview import overview
from parivox.report.words import BEFORE_UNIT
from parivox.runtime.progress import stage
from parivox.runtime.task_sharing import begin_tasks, start_workers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jinja2 import Environment

    from parivox.auditing import Audit
    from parivox.report.charts import Figure
    from parivox.report.context import Context
    from parivox.runtime.task_sharing import BegunTasks

SECTIONS = {
    "all": "All groups",
    "explorer": "Threshold explorer",
    "compared": "System comparison",
    "said": "Findings by operating point",
    "groups": "Results by group",
    "attacks": "Attacks",
    "det": "DET curves and score distributions",
    "pairs": "False accepts between groups",
    "measures": "Summary fairness measures",
    "list": "Trial list checks",
    "method": "Method, definitions and provenance",
}
"""Anchors and headings of the sections below the first screen, in order."""
_OPEN_SECTIONS = ("all", "explorer", "compared")
"""Sections that are open at first."""
_MAX_SIGNED_ROWS = 90
"""Rows of all groups in the signed part on paper, about two pages; more go into an annex."""
_GENDER_ATTRIBUTES = ("gender", "sex")
_GENDER_CODES = {"f": "female", "m": "male"}
"""What the codes of a gender attribute stand for, for readers who see them in no other context."""
_FIGURES_PER_GROUPING = 7
"""Figures of each grouping of each system, about."""
_STYLES = ("page.css", "explorer.css")
_SCRIPTS = ("page.js", "arithmetic.js", "explorer.js")


@dataclass(frozen=True)
class EmbeddedFigure:
    """A figure for the template."""

    id: str
    title: str
    caption: str
    """What is drawn, and how to read it; the latter not if an earlier figure has the same text."""
    svg: str


def html_report(
    audit: Audit, *, title: str | None = None, context: object = None, speaker_ids: str = "never"
) -> str:
    """Return the HTML report of an audit, one page that needs no other file and fetches nothing.

    The text is the same for the same audit, title and context. A `ConfigError` if a package is
    missing, the context cannot be used, or speaker ids are requested that the audit did not keep.
    """
    report_context = read_context(context)
    check_speaker_ids(audit, speaker_ids)
    # names that the context file replaces must not appear anywhere in the report
    audit = labelled(audit, report_context)
    if is_identification(audit):
        return _identification_report(audit, title, report_context)
    template = environment().get_template("page.html.j2")
    drawings = _begin_drawing(audit)
    scripts = [_asset_text(name) for name in _SCRIPTS]
    method_items = method_section(audit, report_context, lists_ids=speaker_ids == "offenders")
    style = stylesheet(method_items["sha256"], len(error_types(audit)))
    default_title = _default_title(audit, "Fairness audit of speaker verification")
    comparisons = comparison_sections(audit)
    audit_overview = overview(audit)
    all_group_sections = all_groups(audit, audit_overview)
    n_group_rows = sum(line["n"] for section in all_group_sections for line in section["lines"])
    attacks = attacks_section(audit)
    empty_sections = {
        name
        for name, content in {"compared": comparisons, "attacks": attacks}.items()
        if not content
    }
    sections = {name: heading for name, heading in SECTIONS.items() if name not in empty_sections}
    return template.render(
        template_names(audit, audit_overview),
        title=printable(title) if title else default_title,
        headline=audit_overview.headline,
        sections=sections,
        is_open=_OPEN_SECTIONS,
        first=first_screen(audit, audit_overview, context_caveats(report_context)),
        every=all_group_sections,
        is_annex=n_group_rows > _MAX_SIGNED_ROWS,
        said=findings_section(audit, report_context),
        groups=groups_section(audit),
        attacks=attacks,
        explorer=explorer(audit),
        crosstabs=crosstab_sections(audit),
        by_system=system_sections(audit),
        pairs=pair_tables(audit),
        measures=measures_section(audit),
        compared=comparisons,
        checked=trial_list_section(audit),
        method=method_items,
        offenders=offender_tables(audit) if speaker_ids == "offenders" else None,
        style=style,
        scripts=scripts,
        policy=policy(scripts, style),
        # last, as workers draw while the rest is written
        figures=_embedded_figures(drawings),
    )


def _default_title(audit: Audit, kind: str) -> str:
    """Return the title of a report that is given none: its systems and groupings."""
    names = [system_label(*system.values()) for system in systems(audit)]
    title = f"{kind}: {_names_text(names)}"
    groupings = [_with_gender_codes(audit, grouping) for grouping in audit.record["groupings"]]
    return f"{title}, by {_names_text(groupings)}" if groupings else title


def _with_gender_codes(audit: Audit, grouping: str) -> str:
    """Return the name of a grouping; that of gender with what the codes f and m stand for."""
    if grouping.casefold() not in _GENDER_ATTRIBUTES:
        return grouping
    groups = {str(row["group"]) for row in audit.groups.subset(grouping=grouping).rows()}
    group_of_code = {group.casefold(): group for group in groups - {POOLED}}
    # other codes show another language, in which m may stand for mujer
    if group_of_code.keys() != _GENDER_CODES.keys():
        return grouping
    meanings = [f"{group_of_code[code]}: {meaning}" for code, meaning in _GENDER_CODES.items()]
    return f"{grouping} ({', '.join(meanings)})"


def _identification_report(audit: Audit, title: str | None, context: Context | None) -> str:
    """Return the page of an audit of searches."""
    content = page_content(audit, context, _embedded_figures(_begin_drawing(audit))["det"])
    scripts = [_asset_text("page.js")]
    style = stylesheet(content["method"]["sha256"])
    default_title = _default_title(audit, "Fairness audit of speaker identification")
    template = environment().get_template("identification.html.j2")
    return template.render(
        content,
        title=printable(title) if title else default_title,
        style=style,
        scripts=scripts,
        policy=policy(scripts, style),
    )


def environment() -> Environment:
    """Return the Jinja environment, which escapes every text."""
    try:
        import jinja2  # noqa: F401, PLC0415 - an extra
    except ImportError as error:
        msg = "a page needs the package jinja2"
        hint = "install it with: pip install 'parivox[report]'"
        raise ConfigError(msg, hint) from error
    return _environment()


@cache
def _environment() -> Environment:
    """Return the environment, made once because compiling the templates takes long."""
    # a third of the time that a report takes
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - an extra

    jinja_environment = Environment(
        loader=PackageLoader("parivox.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    jinja_environment.filters["whole"] = _without_breaks
    return jinja_environment


def _names_text(names: Sequence[str]) -> str:
    """Return names with commas, and "and" before the last one."""
    *all_but_last, last_name = names
    return f"{', '.join(all_but_last)} and {last_name}" if all_but_last else last_name


def _without_breaks(words: str) -> str:
    """Return a text that no line end splits within an interval, p-value or number with unit."""
    text = re.sub(r"\[(\S+), (\S+)\]", "[\\1,\u00a0\\2]", words)
    text = re.sub(r" p ([=<]) ", " p\u00a0\\1\u00a0", text)
    return BEFORE_UNIT.sub("\u00a0", text)


def _begin_drawing(audit: Audit) -> BegunTasks[str]:
    """Return the drawings of all figures, which workers have begun if there are any."""
    n_figures = _FIGURES_PER_GROUPING * len(systems(audit)) * len(audit.record["groupings"])
    start_workers(1, draw.load_engine, work=n_figures, unit="figures")
    tasks = [(figure,) for figure in figures(audit)]
    return begin_tasks(figure_svg, tasks, work=len(tasks), unit="figures")


def _embedded_figures(drawings: BegunTasks[str]) -> dict[str, list[list[EmbeddedFigure]]]:
    """Return rows of figures by section; a kind of figure for several systems is one row."""
    rows_by_section: dict[str, list[list[EmbeddedFigure]]] = {name: [] for name in SECTIONS}
    with stage("figures", len(drawings.tasks), "figures") as progress:
        svg_texts = []
        for svg_text in drawings.outputs():
            svg_texts.append(svg_text)
            progress.add()
    all_figures = zip((figure for (figure,) in drawings.tasks), svg_texts, strict=True)
    for section, section_figures in groupby(all_figures, key=lambda drawn: drawn[0].section):
        seen_readings: set[str] = set()
        rows = []
        for _, similar_figures in groupby(section_figures, key=lambda drawn: drawn[0].row):
            row = []
            for figure, svg in similar_figures:
                # how to read it is said once in a section
                is_repeated = figure.reading in seen_readings
                caption = figure.caption if is_repeated else figure.reading
                row.append(EmbeddedFigure(figure.id, figure.title, caption, svg))
                seen_readings.add(figure.reading)
            rows.append(row)
        rows_by_section[section] = join_single_sections(rows)
    return rows_by_section


def embedded_figure(figure: Figure, caption: str) -> EmbeddedFigure:
    """Return a figure for the template."""
    return EmbeddedFigure(figure.id, figure.title, caption, figure_svg(figure))


def figure_svg(figure: Figure) -> str:
    """Return a figure as an element of a page."""
    return draw.svg(figure.chart, id=figure.id, title=figure.title, description=figure.description)


def _asset_text(name: str) -> str:
    return resources.files("parivox.report").joinpath("assets", name).read_text("utf-8")


def stylesheet(sha256: str, n_error_types: int = 2) -> str:
    """Return the stylesheet, with chart inks for light, dark and print, and the printed footer."""
    light, dark = (
        "".join(f"--{name}:{ink};" for name, ink in inks.by_variable().items())
        for inks in (LIGHT, DARK)
    )
    inks = (
        f":root{{color-scheme:light dark;{light}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"
    )
    foot = f'@page{{@bottom-left{{content:"{sha256}"}}}}\n'
    styles = (*_STYLES, "three.css") if n_error_types > len(RATES) else _STYLES
    return inks + foot + "".join(map(_asset_text, styles))


def policy(scripts: list[str], style: str) -> str:
    """Return the content security policy: only inlined scripts and styles, by hash, no fetching."""
    allowed = " ".join(map(_hash, scripts))
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_hash(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
