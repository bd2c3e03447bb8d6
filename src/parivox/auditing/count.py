"""Counts of trials for others to audit: scores and speakers in, one file without ids out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from parivox.auditing.cell_counts import count_cells
from parivox.auditing.counts.sharing import share
from parivox.auditing.inputs import by_name, gather, groups_file_of
from parivox.auditing.system import check_polarity
from parivox.errors import ConfigError
from parivox.options.audit import CountOptions
from parivox.options.kinds import several
from parivox.read.bins import parse_bins

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parivox.auditing.counts.trial_counts import TrialCounts
    from parivox.options.typed import OtherCountOptions


def count(
    scores: Any,
    *,
    speakers: Any = None,
    by: Sequence[str] | str | None = None,
    within: Sequence[str] | str | None = None,
    groups: Any = None,
    step: float | str | None = None,
    thresholds: Sequence[float | str] | float | str = (),
    withhold: int = 5,
    **options: Unpack[OtherCountOptions],
) -> TrialCounts:
    """Count trials by group and score, so that others can audit them without their rows.

    Counts hold no ids. Those of several files add up in :func:`parivox.audit`.

    Parameters
    ----------
    scores
        A path, ``-`` for standard input, a dataframe, a mapping of arrays, or a mapping from one
        ``system`` or ``system@list`` to one of these.
    speakers, by, within, groups
        As in :func:`parivox.audit`.
    step
        Width of the bins that scores are counted in; without it, each score is counted.
    thresholds
        Scores to count at: edges beside those of the bins or, without `step`, the only ones.
    withhold
        Groups of fewer speakers are withheld; 0 withholds none.
    **options
        Every other option by name: see
        :class:`parivox.options.typed.OtherCountOptions`.

    Returns
    -------
    TrialCounts
        With a method ``write``.

    Raises
    ------
    DataError
        If a file does not hold what it must.
    ConfigError
        If an option is wrong.

    Examples
    --------
    >>> trials = {"enrol": ["a/1", "a/1"], "test": ["a/2", "b/1"], "score": [0.9, 0.1]}
    >>> people = {"id": ["a", "b"], "gender": ["f", "m"]}
    >>> count(trials, speakers=people, by="gender", withhold=0)
    <2 trials as counts by gender; 2 rows>
    """
    asked = CountOptions.of(
        speakers=speakers,
        by=by or None,
        within=within or None,
        groups=groups,
        step=step,
        thresholds=thresholds,
        withhold=withhold,
        **options,
    )
    asked, file = groups_file_of(asked)
    bins = parse_bins(asked.step, several(asked.thresholds))
    sources = by_name(scores)
    if len(sources) > 1:
        msg = f"parivox count takes one score file, here are {len(sources)}; count each by itself"
        raise ConfigError(msg)
    (name, source), *_ = sources.items()
    is_named = source is not scores
    tell = asked.progress or (lambda _: None)
    found = gather({name if is_named else ("", ""): source}, asked, file, tell, may_lack=True)
    assert found.people is not None
    tell("counting")
    made = share(
        found.sets[0],  # type: ignore[arg-type]
        found.people,
        found.groupings,
        found.levels,
        bins=bins,
        least=asked.withhold,
        llr=asked.llr,
        similarity=asked.orientation == "similarity",
        chosen_by=found.chosen_by,
    )
    check_polarity(made, count_cells(made, [], []).everything, asked.orientation)
    return made
