"""The HTML report of an identification audit: finding, groups, who is named, ranks, the method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.core.verdict import EQUIVALENCE_CONFIDENCE
from parivox.report import findings
from parivox.report.audit_queries import located_points, systems
from parivox.report.context import HEADINGS
from parivox.report.html.first_screen import all_groups, first_screen, template_names
from parivox.report.html.method import method_section
from parivox.report.html.sentences import context_caveats
from parivox.report.identification import (
    gallery_text,
    search_sizes,
    threshold_text,
    unit_text,
)
from parivox.report.overview import overview
from parivox.report.sheets import identification as sheets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parivox.auditing import Audit
    from parivox.report.context import Context

SECTIONS = {
    "all": "All groups",
    "groups": "Results by group",
    "persons": "Results by person",
    "named": "Who is named",
    "gallery": "Searches and gallery",
    "det": "DET curves",
    "ranks": "Ranks and thresholds of each group’s own",
    "method": "Method and provenance",
}
"""Anchors and headings of the sections below the first screen, in order."""
_OPEN_SECTIONS = ("all", "groups", "persons", "named")


def page_content(
    audit: Audit, context: Context | None, figures: Sequence[Sequence[Any]]
) -> dict[str, Any]:
    """Return what ``identification.html.j2`` shows of an audit of searches."""
    audit_overview = overview(audit)
    tables = {
        "groups": [*sheets.rate_sheets(audit), *sheets.miss_sheets(audit)],
        "persons": sheets.person_sheets(audit),
        "named": [*sheets.named_sheets(audit), *sheets.candidate_sheets(audit)],
        "gallery": [
            sheets.search_sheet(audit),
            *sheets.failure_sheets(audit),
            *sheets.size_sheets(audit),
        ],
        "ranks": sheets.rank_sheets(audit),
    }
    sections = {
        name: heading
        for name, heading in SECTIONS.items()
        if tables.get(name) or name in {"all", "method"} or (name == "det" and figures)
    }
    options = audit.record["options"]
    points = [located_points(audit, system) for system in systems(audit)]
    return {
        **template_names(audit, audit_overview),
        "headline": audit_overview.headline,
        "sections": sections,
        "is_open": _OPEN_SECTIONS,
        "first": first_screen(audit, audit_overview, context_caveats(context)),
        "every": all_groups(audit, audit_overview),
        "tables": tables,
        "figures": figures,
        "persons": gallery_text(audit),
        "unit": "galleries" if unit_text(audit) == "galleries" else "probe speakers",
        "method": method_section(audit, context),
        "said": {
            "systems": [("Searches", f"{'; '.join(search_sizes(audit))}.", [])],
            "context": [
                (label, str(getattr(context, name)))
                for name, label in HEADINGS.items()
                if context is not None
                and isinstance(getattr(context, name), str)
                and getattr(context, name)
            ],
            "chosen": [f"{threshold_text(audit, [rows[0] for rows in points if rows])}."],
        },
        "groups": {
            "others": findings.reference_text(audit),
            "confidence": f"{100 * options['confidence']:g}",
            "margin": f"{options['margin']:g}",
            "alike": f"{100 * EQUIVALENCE_CONFIDENCE:g}",
        },
    }
