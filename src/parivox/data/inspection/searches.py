"""Inspection of searches of identification, and the audit with ``--gallery`` that fits them."""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.data.candidate_lists import read_searches
from parivox.data.columns import plain_name
from parivox.data.formats.delimited import is_text, read_header
from parivox.data.gallery import PERSON_NAMES, read_gallery
from parivox.data.inspection.findings import FileFindings
from parivox.data.inspection.tables import InspectedTable, reading_facts
from parivox.data.inspection.trials import InspectedTrials
from parivox.data.search_columns import CANDIDATES, identification_form
from parivox.data.source_bytes import read_content
from parivox.data.speakers import read_table
from parivox.data.value_warnings import DataWarning
from parivox.errors import DataError, ParivoxError
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from parivox.data.inspection.named_source import NamedSource

SEARCHES = "searches"
"""Kind of a file of searches."""
_DESCRIPTIONS = {
    CANDIDATES: "candidate lists of identification",
    "decisions": "decisions of identification",
}
_MAX_GROUPINGS = 2
_MIN_PERSONS = 2
"""Enrolments, and tests, of a full score list."""


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
        description=_DESCRIPTIONS[form],
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


@frozen
class FullScoreList:
    """Scores of every test with the same persons, and the table of those persons."""

    scores: NamedSource
    gallery: NamedSource

    @classmethod
    def from_sources(cls, sources: Sequence[NamedSource]) -> FullScoreList | None:
        """Return the first one whose persons a table names in a column of persons."""
        tables = [source for source in sources if isinstance(source.inspected, InspectedTable)]
        gallery = next((source for source in tables if _is_one_gallery(source)), None)
        for source in sources:
            trials = source.inspected
            if gallery is None or not isinstance(trials, InspectedTrials):
                continue
            enrolments = enrolments_of_every_test(trials)
            if enrolments and {*enrolments} == {*_persons(gallery)}:
                return cls(source, gallery)
        return None

    def searchable(self, sources: Sequence[NamedSource]) -> list[NamedSource]:
        """Return the score lists that an audit with the gallery accepts: they lack no pair."""
        return [
            source
            for source in sources
            if source is self.scores
            or not isinstance(source.inspected, InspectedTrials)
            or enrolments_of_every_test(source.inspected)
        ]

    @property
    def has_speakers_in_ids(self) -> bool:
        """Whether the first component of an id is the speaker."""
        speaker_rule = self.scores.findings.speaker_rule
        return speaker_rule is not None and speaker_rule.rule == "component"


def enrolments_of_every_test(trials: InspectedTrials) -> list[str]:
    """Return the enrolments that every test is compared with once, without labels; none if not.

    One enrolment, or one test, is no gallery.
    """
    rows = trials.rows
    enrolments, tests = np.unique(rows.enrol), np.unique(rows.test)
    labels = trials.findings.labels
    is_labelled = (labels is not None and labels.source != "speakers") or "score" not in (
        trials.scan.columns
    )
    if is_labelled or min(enrolments.size, tests.size) < _MIN_PERSONS:
        return []
    n_pairs = enrolments.size * tests.size
    if rows.enrol.size != n_pairs or not trials.findings.whole:
        return []
    pairs = rows.enrol.astype(np.int64) * len(trials.ids) + rows.test
    if np.unique(pairs).size < n_pairs:
        return []
    return [str(name) for name in trials.ids.gather(enrolments)]


def full_list_warnings(
    source: NamedSource, full_list: FullScoreList | None
) -> Iterator[DataWarning]:
    """Yield that a full score list could be audited as identification, if no audit of it is."""
    if full_list is None and isinstance(source.inspected, InspectedTrials):
        enrolments = enrolments_of_every_test(source.inspected)
        if enrolments:
            note = "gallery_makes_identification"
            yield DataWarning("enrolments_of_every_test", len(enrolments), note)


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
        yield replace(findings, description=f"{findings.description}: {counts}")


def _has_persons(source: NamedSource) -> bool:
    assert isinstance(source.inspected, InspectedTable)
    return PERSON_NAMES[0] in map(plain_name, source.inspected.columns)


def _is_one_gallery(source: NamedSource) -> bool:
    """Return whether a table has a column of persons, and none of several galleries."""
    assert isinstance(source.inspected, InspectedTable)
    return _has_persons(source) and "gallery" not in map(plain_name, source.inspected.columns)


def _persons(source: NamedSource) -> list[str]:
    """Return the persons, or models, that a table of enrolled persons has."""
    with suppress(ParivoxError):
        gallery = read_gallery(source.data)
        return [*gallery.person_of_model] or [*gallery.persons]
    return []


def _gallery_source(tables: Sequence[NamedSource]) -> NamedSource | None:
    """Return the table that says who is enrolled: by its column, or as the only one of one."""
    for source in tables:
        if _has_persons(source):
            return source
    for source in tables:
        assert isinstance(source.inspected, InspectedTable)
        if len(source.inspected.columns) == 1:
            return source
    return None


def _groupings(source: NamedSource) -> list[str]:
    return [column.grouping for column in source.findings.columns if column.groups]
