"""Counts of trials for others to audit: scores and speakers in, one file without ids out."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

from parivox.auditing.cells import count_cells
from parivox.auditing.counted.bins import parse_bins
from parivox.auditing.counted.sharing import share
from parivox.auditing.counted.withholding import FEW
from parivox.auditing.gather import Reading, gather
from parivox.auditing.given import several
from parivox.auditing.measure import check_polarity
from parivox.auditing.sources import by_name
from parivox.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from parivox.auditing.counted.trial_counts import TrialCounts

__all__ = ["count"]


def count(
    scores: Any,
    *,
    speakers: Any = None,
    trials: Any = None,
    utterances: Any = None,
    models: Any = None,
    failures: Any = None,
    groups: Any = None,
    by: Sequence[str] | str | None = None,
    within: Sequence[str] | str | None = None,
    step: float | str | None = None,
    thresholds: Sequence[float | str] | float | str = (),
    withhold: int = FEW,
    llr: bool = False,
    scores_format: str | None = None,
    columns: Mapping[str, str] | None = None,
    id: str | None = None,  # noqa: A002 - the command line's word
    orientation: str | None = None,
    conflicts: str = "error",
    progress: Callable[[str], None] | None = None,
) -> TrialCounts:
    """Count trials by group and score, so that others can audit them without their rows.

    Counts hold no ids. Those of several files add up in :func:`parivox.audit`.

    Parameters
    ----------
    scores
        A path, ``-`` for standard input, a dataframe, a mapping of arrays, or a mapping from one
        ``system`` or ``system@list`` to one of these.
    speakers, trials, utterances, models, failures, groups, by, within
        As in :func:`parivox.audit`.
    step
        Width of the bins that scores are counted in; without it, each score is counted.
    thresholds
        Scores to count at: edges beside those of the bins or, without `step`, the only ones.
    withhold
        Groups of fewer speakers are withheld; 0 withholds none.
    llr, scores_format, columns, id, orientation, conflicts, progress
        As in :func:`parivox.audit`.

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
    reading = Reading.of(
        speakers=speakers,
        trials=trials,
        utterances=utterances,
        models=models,
        failures=failures,
        groups=groups,
        by=by or None,
        within=within or None,
        scores_format=scores_format,
        columns=columns,
        id=id,
        orientation=orientation,
        conflicts=conflicts,
    )
    bins = parse_bins(step, several(thresholds))
    try:
        withhold = index(withhold)
    except TypeError as error:
        msg = (
            f"--withhold {withhold}: is not a number of speakers; give one, as in 5, or 0 for none"
        )
        raise ConfigError(msg) from error
    if withhold < 0:
        msg = f"--withhold {withhold}: is below 0; give the fewest speakers of a group"
        raise ConfigError(msg)
    sources = by_name(scores)
    if len(sources) > 1:
        msg = f"parivox count takes one score file, here are {len(sources)}; count each by itself"
        raise ConfigError(msg)
    (name, source), *_ = sources.items()
    is_named = source is not scores
    tell = progress or (lambda _: None)
    found = gather({name if is_named else ("", ""): source}, reading, tell, may_lack=True)
    assert found.people is not None
    tell("counting")
    made = share(
        found.sets[0],  # type: ignore[arg-type]
        found.people,
        found.groupings,
        found.levels,
        bins=bins,
        least=withhold,
        llr=llr,
        similarity=orientation == "similarity",
        chosen_by=found.chosen_by,
    )
    check_polarity(made, count_cells(made, [], []).everything, orientation)
    return made
