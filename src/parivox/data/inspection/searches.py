"""Inspection of searches of identification, and the audit with ``--gallery`` that fits them."""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from parivox.data.candidate_lists import read_searches
from parivox.data.columns import plain_name
from parivox.data.formats.delimited import is_text, read_header
from parivox.data.gallery import PERSON_NAMES, read_gallery
from parivox.data.inspection.findings import FileFindings
from parivox.data.inspection.tables import InspectedTable, reading_facts
from parivox.data.search_columns import CANDIDATES, identification_form
from parivox.data.source_bytes import read_content
from parivox.data.speakers import read_table
from parivox.errors import DataError, ParivoxError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from parivox.data.inspection.proposed_audit import NamedSource

SEARCHES = "searches"
"""Kind of a file of searches."""
_DESCRIPTIONS = {
    CANDIDATES: "candidate lists of identification",
    "decisions": "decisions of identification",
}
_MAX_GROUPINGS = 2


def inspect_searches(source: Any, name: str) -> FileFindings | None:
    """Return the findings about a file of candidate lists or decisions; None for any other."""
    form = identification_form(_column_names(source))
    if not form:
        return None
    table, _, provenance = read_table(source, "scores")
    return FileFindings(
        name,
        SEARCHES,
        provenance["format"],
        reading_facts(provenance),
        rows=table.height,
        own=_DESCRIPTIONS[form],
    )


def _column_names(source: Any) -> list[str]:
    """Return the names of columns of a text with a header, or of a dataframe."""
    if not isinstance(source, (str, os.PathLike)):
        return [str(name) for name in getattr(source, "columns", ())]
    with suppress(DataError, OSError):
        content = read_content(source)
        if is_text(content.head):
            return read_header(content)[0]
    return []


def search_command(sources: Sequence[NamedSource]) -> str:
    """Return the audit of the first file of searches with its gallery and speakers, if any."""
    searches = [source for source in sources if source.findings.kind == SEARCHES]
    if not searches:
        return ""
    tables = [source for source in sources if isinstance(source.inspected, InspectedTable)]
    gallery = _gallery_source(tables)
    words = ["parivox", "audit", searches[0].word, "--gallery"]
    words.append("PERSONS" if gallery is None else gallery.word)
    others = [source for source in tables if source is not gallery] or tables
    with_groups = [source for source in others if _groupings(source)]
    if with_groups:
        by = [
            word for name in _groupings(with_groups[0])[:_MAX_GROUPINGS] for word in ("--by", name)
        ]
        words += ["--speakers", with_groups[0].word, *by]
    return shlex.join(words)


def with_search_findings(sources: Sequence[NamedSource]) -> Iterator[FileFindings]:
    """Yield the findings about each file; of searches, with what their gallery shows of them."""
    tables = [source for source in sources if isinstance(source.inspected, InspectedTable)]
    gallery = _gallery_source(tables)
    for source in sources:
        findings = source.findings
        if findings.kind != SEARCHES or gallery is None:
            yield findings
            continue
        try:
            searches = read_searches(source.data, read_gallery(gallery.data))
        except ParivoxError as error:
            yield replace(findings, problems=(str(error),))
            continue
        array = searches.searches
        counts = (
            f"{len(searches.ids):,} searches ({array.n_mated:,} mated, {array.n_nonmated:,} "
            f"non-mated) against {int(array.gallery_size.max(initial=0)):,} persons"
        )
        yield replace(findings, own=f"{findings.own}: {counts}")


def _gallery_source(tables: Sequence[NamedSource]) -> NamedSource | None:
    """Return the table that says who is enrolled: by its column, or as the only one of one."""
    for source in tables:
        assert isinstance(source.inspected, InspectedTable)
        if PERSON_NAMES[0] in map(plain_name, source.inspected.columns):
            return source
    for source in tables:
        assert isinstance(source.inspected, InspectedTable)
        if len(source.inspected.columns) == 1:
            return source
    return None


def _groupings(source: NamedSource) -> list[str]:
    return [column.grouping for column in source.findings.columns if column.groups]
