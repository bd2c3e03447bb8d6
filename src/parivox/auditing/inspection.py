"""What files hold and how they fit together, before any audit: counts among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.errors import DataError
from parivox.options.audit import ReadOptions
from parivox.read.content import in_encoding_given, stem_of
from parivox.read.inspection import inspect_files
from parivox.read.inspection.findings import Counted, Found, Labels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parivox.auditing.counts.trial_counts import TrialCounts
    from parivox.read.inspection import Inspection


@in_encoding_given
def inspect(
    *sources: Any,
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
    >>> [one.kind for one in found.files], found.joins[0].met
    (['scores', 'speakers'], 2)
    """
    asked = ReadOptions.of(
        columns=columns, scores_format=scores_format, encoding=encoding, quotes=quotes
    )
    columns_of = dict(asked.columns or {})
    return inspect_files(sources, columns_of, asked.scores_format, _Counts(), stem_of)


class _Counts:
    """Files of counts, as an audit reads them."""

    def see(self, name: str, path: Any) -> Found:
        """What one file holds."""
        from parivox.auditing.counts.header import (  # noqa: PLC0415 - for files of counts only
            read_trial_counts,
        )

        try:
            one = read_trial_counts(path)
        except DataError as error:
            return Found(name, "counts", "parquet", problems=(str(error),))
        first = one.columns["block"] == 0  # each block holds every trial
        n, target, failed = (one.columns[name][first] for name in ("count", "target", "failed"))
        targets, nontargets = (int(n[(failed == 0) & of].sum()) for of in (target, ~target))
        return Found(
            *(name, "counts", "parquet"),
            rows=len(one.rows),
            labels=Labels(targets, nontargets),
            counted=_counted(one, int(n[failed > 0].sum())),
        )

    def refused(self, paths: Sequence[Any]) -> str:
        """What an audit of several says against them; empty for nothing."""
        from parivox.auditing.counts.merging import read_all  # noqa: PLC0415 - for files of counts only

        try:
            read_all([(None, path) for path in paths])
        except DataError as error:
            return str(error)
        return ""


def _counted(one: TrialCounts, failed: int) -> Counted:
    withheld = [
        f"{group} ({by}{f', {level}' if level else ''})" for by, level, group in one.withheld
    ]
    withheld += [f"{level} ({within})" for within, level in one.levels_withheld]
    lost = [f"scores within {one.bins.step} of each other"] if one.bins.step else []
    if one.bins.no_curve:
        lost = ["EER, minimum costs and other thresholds"]
    return Counted(
        one.system,
        one.list,
        failed,
        tuple(sorted(one.contents)),
        one.bins.in_words() if one.is_scored else "",
        {of.name: of.groups for of in one.groupings},
        {of.name: of.groups for of in one.within},
        one.least,
        tuple(withheld),
        (*one.unknown(), *lost, "other groups"),
    )
