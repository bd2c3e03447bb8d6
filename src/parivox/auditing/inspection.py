"""What files hold and how they fit together, before any audit: counts among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.auditing.cell_counts import count_cells
from parivox.auditing.data_table import POINT_WARNINGS
from parivox.auditing.missing_scores import MISSING_SCORES
from parivox.auditing.system import check_decisions, check_polarity
from parivox.core.counts import NONTARGET, SPOOF, TARGET
from parivox.data.inspection import inspect_files
from parivox.data.inspection.findings import CountsFindings, FileFindings, LabelFindings
from parivox.data.source_bytes import file_stem, with_reading_options
from parivox.data.trial_checks import NOTE_PLACEHOLDER_SPEAKER, PLACEHOLDER_SPEAKER
from parivox.data.value_warnings import RANGE_OF_NUMBERS, WARNING_SOURCE, DataWarning
from parivox.errors import DataError
from parivox.facts import cell_of_row, fact
from parivox.options.audit import ReadOptions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parivox.auditing.counts.trial_counts import TrialCounts
    from parivox.auditing.result import Audit
    from parivox.data.inspection import Inspection
    from parivox.data.trial_set import TrialSet
    from parivox.sources import TableSource

MISSING_WORDS = ("SCORES", "TRIALS", "SPEAKERS", "PEOPLE", "RECORDINGS", "ATTRIBUTE")
"""What stands in a proposed command for what is yet to be given."""
_MAX_ROWS = 1_000_000
"""Trials up to which an inspection makes an audit to see what it warns of."""


@with_reading_options
def inspect(
    *sources: TableSource,
    columns: Mapping[str, str] | None = None,
    scores_format: str | None = None,
    encoding: str | None = None,
    quotes: str | None = None,
) -> Inspection:
    """Tell what files hold, how they fit together, and what is odd.

    Parameters
    ----------
    *sources
        Score files, trial lists, tables of speakers, utterances, models and failures, files of
        counts, groups files, in any order: paths, ``-`` for standard input, dataframes or
        mappings of arrays. Of large score files the first trials are looked at: 5,000,000, or
        fewer if these have a million ids.
    columns
        Names of columns of trials by role, where they are not known.
    scores_format
        Format of trials whose rows fit several.
    encoding
        Of texts that are neither UTF-8 nor UTF-16; without it, found out.
    quotes
        ``none`` where quotes in tables of text are signs as others are.

    Returns
    -------
    Inspection
        Of each file and of the files together; nothing is raised for what a file holds.

    Examples
    --------
    >>> trials = {"enrol": ["a/1", "a/1"], "test": ["a/2", "b/1"], "score": [0.9, 0.1]}
    >>> found = inspect(trials, {"speaker": ["a", "b"], "gender": ["f", "m"]})
    >>> [one.kind for one in found.files], found.joins[0].matched
    (['scores', 'speakers'], 2)
    """
    options = ReadOptions.from_keywords(
        columns=columns, scores_format=scores_format, encoding=encoding, quotes=quotes
    )
    columns_of = dict(options.columns or {})
    return inspect_files(sources, columns_of, options.scores_format, _AuditChecks(), file_stem)


def can_be_audited(inspection: Inspection) -> bool:
    """Return whether the proposed command is an audit that runs, of a list of some size."""
    has_problems = inspection.problems or any(file.problems for file in inspection.files)
    n_rows = sum(file.rows or 0 for file in inspection.files if file.kind == "scores")
    is_complete = not any(word in inspection.next.split() for word in MISSING_WORDS)
    return (
        inspection.next.startswith("parivox audit ")
        and is_complete
        and not has_problems
        and 0 < n_rows <= _MAX_ROWS
    )


def audit_warnings(audit: Audit) -> Iterator[DataWarning]:
    """Yield the data warnings of an audit: of data, of missing scores, of operating points."""
    for source in (WARNING_SOURCE, MISSING_SCORES, POINT_WARNINGS):
        for row in audit.data.subset(source=source).rows():
            if row["item"] == RANGE_OF_NUMBERS:  # which the inspection shows with the column
                continue
            item, note = (cell_of_row(row, column) for column in ("item", "note"))
            if row["group"] and row["value"] is not None:
                names = {"grouping": row["grouping"], "group": row["group"]}
                item = fact("in_group", counted=row["item"], share=row["value"], **names)
            yield DataWarning(item, row["count"] or 0, note)
    for row in audit.data.subset(source="scores", item=PLACEHOLDER_SPEAKER, grouping="").rows():
        yield DataWarning(PLACEHOLDER_SPEAKER, row["count"], NOTE_PLACEHOLDER_SPEAKER)


class _AuditChecks:
    """What an audit makes of files of counts, and of the direction of scores and decisions."""

    def inspect(self, name: str, path: Any) -> FileFindings:
        """Return what one file of counts holds."""
        from parivox.auditing.counts.header import (  # noqa: PLC0415 - for files of counts only
            read_trial_counts,
        )

        try:
            counts = read_trial_counts(path)
        except DataError as error:
            return FileFindings(name, "counts", "parquet", problems=(str(error),))
        is_first_block = counts.columns["layout"] == 0  # each block holds every trial
        n_trials, trial_class, failed = (
            counts.columns[column][is_first_block] for column in ("trials", "trial_class", "failed")
        )
        n_target, n_nontarget, n_spoof = (
            int(n_trials[(failed == 0) & (trial_class == class_code)].sum())
            for class_code in (TARGET, NONTARGET, SPOOF)
        )
        return FileFindings(
            name,
            "counts",
            "parquet",
            rows=len(counts.rows),
            labels=LabelFindings(n_target, n_nontarget, spoof=n_spoof),
            counted=_inspected_counts(counts, int(n_trials[failed > 0].sum())),
        )

    def refusal(self, paths: Sequence[Any]) -> str:
        """Return what an audit of several files of counts says against them; or nothing."""
        from parivox.auditing.counts.merging import read_counts_files  # noqa: PLC0415 - for files of counts only

        try:
            read_counts_files([(None, path) for path in paths])
        except DataError as error:
            return str(error)
        return ""

    def are_distances(self, trials: TrialSet) -> bool:
        """Return whether an audit takes scores for distances; refuse decisions as it does."""
        counts, are_distances = count_cells(trials, [], []), False
        try:
            check_polarity(trials, counts.all_counts, None)
        except DataError:
            if not trials.is_scored:
                raise
            are_distances = True
        check_decisions(trials, counts.strata[0].outcomes, None)
        return are_distances


def _inspected_counts(counts: TrialCounts, n_failed: int) -> CountsFindings:
    withheld = []
    for grouping, stratum, group in counts.withheld:
        stratum_suffix = f", {stratum}" if stratum else ""
        withheld.append(f"{group} ({grouping}{stratum_suffix})")
    withheld += [f"{level} ({within})" for within, level in counts.suppressed_strata]
    unavailable = [fact("scores_in_a_bin", step=counts.bins.step)] if counts.bins.step else []
    if counts.bins.no_curve_reason:
        unavailable = ["other_thresholds"]
    return CountsFindings(
        counts.system,
        counts.list,
        n_failed,
        tuple(sorted(counts.contents)),
        counts.bins.in_words() if counts.is_scored else "",
        {grouping.name: grouping.groups for grouping in counts.groupings},
        {grouping.name: grouping.groups for grouping in counts.within},
        counts.min_speakers,
        tuple(withheld),
        (*counts.unknown(), *unavailable, "other_groups"),
    )
