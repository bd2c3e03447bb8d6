"""The checks G11 to G15: what else may differ between groups of a list than their speakers.

They are figures of the list itself, not estimates of a population, so that no chance is judged;
figures of few speakers or recordings are left out. See docs/trials.md#differences-between-groups.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from parivox.core.key_sums import sum_by_key
from parivox.data.columns import plain_name
from parivox.facts import fact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from parivox.data.grouping import Grouping
    from parivox.data.lists.findings import Check, Finding
    from parivox.data.lists.list_counts import Codes, Floats, ListCounts

MIN_RECORDINGS = 20
"""Recordings of a group without which its durations are not compared."""
MIN_ENROLLED = 5
"""Enrolled speakers of a group without which its trials are not compared."""
STRONG_RATIO = 1.6
"""Ratio of median durations from which on they differ strongly."""
SHORT_SECONDS = 2.0
"""Seconds below which a recording is short."""
_DURATION_NAME = re.compile(
    r"(dur|durations?|length|(clip|audio|speech|utterance|segment|file)(duration|length)|netspeech"
    r"|seconds|milliseconds)(in)?(s|secs?|seconds|ms|msecs?|milliseconds)?"
)
_MILLISECONDS_NAME = re.compile(r".*(ms|msecs?|milliseconds)")
_NO_DURATIONS = ("no_duration_known", "give_durations")
_FEW_RECORDINGS = (
    fact("few_recordings_in_groups", recordings=MIN_RECORDINGS),
    "give_larger_groups",
)
_FEW_ENROLLED = (fact("few_enrolled_in_groups", speakers=MIN_ENROLLED), "give_larger_groups")


class GroupFigures(NamedTuple):
    """A figure of each group of a grouping; NaN where a group has too few to be compared."""

    grouping: str
    groups: tuple[str, ...]
    figures: Floats
    sizes: NDArray[np.int64]  # recordings or speakers of each group

    @property
    def ratio(self) -> float:
        """The largest figure over the smallest; infinite if only the smallest is 0."""
        low, high = float(np.nanmin(self.figures)), float(np.nanmax(self.figures))
        if high == low:
            return 1.0
        return high / low if low else float("inf")

    @property
    def gap(self) -> float:
        """The largest figure less the smallest."""
        return float(np.nanmax(self.figures) - np.nanmin(self.figures))

    @property
    def values(self) -> dict[str, Any]:
        """The grouping, and the lowest and the highest figure, as values of a fact."""
        positions = int(np.nanargmin(self.figures)), int(np.nanargmax(self.figures))
        extremes = [
            {
                "group": self.groups[group],
                "figure": float(self.figures[group]),
                "size": int(self.sizes[group]),
            }
            for group in positions
        ]
        return {"grouping": self.grouping, "extremes": extremes}


def g11_durations(counts: ListCounts, check: Check) -> Finding:
    """Check whether the median duration of recordings is alike in all groups."""
    recordings = _RecordingDurations.of_list(counts)
    if recordings is None:
        return check.unchecked(*_NO_DURATIONS)
    compared = recordings.by_group(lambda seconds: float(np.median(seconds)))
    widest = _widest(compared, lambda figures: figures.ratio, check)
    if widest is None:
        return check.unchecked(*_FEW_RECORDINGS)
    ratio, figures, offenders = widest
    return check.finding(
        ratio,
        fact(
            "durations_by_group",
            **figures.values,
            ratio=ratio_value(ratio),
            is_strong=bool(ratio >= STRONG_RATIO),
        ),
        offenders=offenders,
        remedy="equal_durations",
    )


def g12_short_recordings(counts: ListCounts, check: Check) -> Finding:
    """Check whether the share of short recordings is alike in all groups."""
    recordings = _RecordingDurations.of_list(counts)
    if recordings is None:
        return check.unchecked(*_NO_DURATIONS)
    compared = recordings.by_group(lambda seconds: float((seconds < SHORT_SECONDS).mean()))
    widest = _widest(compared, lambda figures: figures.gap, check)
    if widest is None:
        return check.unchecked(*_FEW_RECORDINGS)
    gap, figures, offenders = widest
    n_short = int((recordings.seconds < SHORT_SECONDS).sum())
    return check.finding(
        gap,
        fact(
            "short_recordings_by_group",
            short=n_short,
            recordings=recordings.seconds.size,
            seconds=SHORT_SECONDS,
            **figures.values,
        ),
        offenders=offenders,
        remedy="leave_short_recordings_out",
    )


def g13_impostor_pools(counts: ListCounts, check: Check) -> Finding:
    """Check whether enrolled speakers of all groups are compared with as many other speakers."""
    pair_counts = counts.pair_counts
    nontarget = pair_counts.select(~pair_counts.is_target)
    n_speakers = len(counts.trial_list.speakers.ids)
    pairs, _ = sum_by_key(nontarget.enrol.astype(np.int64) * n_speakers + nontarget.test)
    n_impostors = np.bincount(pairs // n_speakers, minlength=n_speakers)
    compared = _by_enrolled_group(
        counts, n_impostors > 0, lambda speakers: float(np.median(n_impostors[speakers]))
    )
    widest = _widest(compared, lambda figures: figures.ratio, check)
    if widest is None:
        return check.unchecked(*_FEW_ENROLLED)
    ratio, figures, offenders = widest
    return check.finding(
        ratio,
        fact("impostor_speakers_by_group", **figures.values, ratio=ratio_value(ratio)),
        offenders=offenders,
        remedy="sample_equal_impostor_speakers",
    )


def g14_returning_enrolments(counts: ListCounts, check: Check) -> Finding:
    """Check whether recordings that speakers are enrolled with are test recordings, too."""
    trials = counts.trial_list.trials
    if trials.n_models:
        if trials.enrolment_recordings is None:
            return check.unchecked("enrolment_recordings_unknown", "give_models")
        n_enrolled = trials.enrolment_recordings.n_recordings
        n_returning = int(counts.is_tested[trials.enrolment_recordings.in_trials].sum())
    else:
        n_enrolled = int(counts.is_enrolled.sum())
        n_returning = int((counts.is_enrolled & counts.is_tested).sum())
    code, values = "enrolments_as_tests", {"returning": n_returning, "enrolled": n_enrolled}
    if not trials.n_models and n_returning >= _n_on_both_sides_by_chance(counts) / 2 > 0:
        return check.unchecked(fact(code, because="list_of_pairs", **values), "")
    return check.finding(
        n_returning,
        fact(code, **values),
        offenders=n_returning,
        remedy="test_with_other_recordings",
    )


def g15_class_ratios(counts: ListCounts, check: Check) -> Finding:
    """Check whether groups have alike numbers of target trials for each nontarget trial."""
    n_speakers = len(counts.trial_list.speakers.ids)
    is_target = counts.pair_counts.is_target
    n_target, n_nontarget = (
        pair_counts.trials_by_key(pair_counts.enrol, n_speakers)
        for pair_counts in map(counts.pair_counts.select, (is_target, ~is_target))
    )

    def class_ratio(speakers: NDArray[np.bool_]) -> float:
        numbers = int(n_target[speakers].sum()), int(n_nontarget[speakers].sum())
        return numbers[0] / numbers[1] if all(numbers) else np.nan

    compared = _by_enrolled_group(counts, n_target + n_nontarget > 0, class_ratio)
    widest = _widest(compared, lambda figures: figures.ratio, check)
    if widest is None:
        return check.unchecked(*_FEW_ENROLLED)
    ratio, figures, offenders = widest
    return check.finding(
        ratio,
        fact("class_ratios_by_group", **figures.values, ratio=ratio_value(ratio)),
        offenders=offenders,
        remedy="sample_classes_in_one_ratio",
    )


def ratio_value(ratio: float) -> float | str:
    """Return a ratio as a value of a fact: an infinite one is a text."""
    return float(ratio) if np.isfinite(ratio) else str(ratio)


def _widest(
    compared: Iterable[GroupFigures], difference: Callable[[GroupFigures], float], check: Check
) -> tuple[float, GroupFigures, int] | None:
    """Return the largest difference between groups, with its grouping; None without groupings.

    The last number is how many groupings do not pass.
    """
    figures_by_grouping = [*compared]
    if not figures_by_grouping:
        return None
    differences = [difference(figures) for figures in figures_by_grouping]
    index = int(np.argmax(differences))
    n_violated = int(check.is_violated(differences).sum())
    return differences[index], figures_by_grouping[index], n_violated


class _RecordingDurations(NamedTuple):
    """Recordings of known duration that take part in trials."""

    seconds: Floats
    utterances: NDArray[np.intp]  # which utterances of the list they are
    counts: ListCounts
    column: str  # that tells the durations

    @classmethod
    def of_list(cls, counts: ListCounts) -> _RecordingDurations | None:
        """Return those of a list; None if no column gives durations."""
        recordings = counts.trial_list.trials.recordings
        if recordings is None:
            return None
        table = recordings.table.attributes
        column = next((name for name in table.columns if is_duration(name)), None)
        if column is None:
            return None
        seconds_by_row = table[column].cast(pl.Float64, strict=False).to_numpy()
        if _MILLISECONDS_NAME.fullmatch(plain_name(column)):
            seconds_by_row = seconds_by_row / 1000
        seconds = np.append(seconds_by_row, np.nan)[recordings.row]
        utterances = np.flatnonzero((counts.trials_per_utterance > 0) & (seconds > 0))
        return cls(seconds[utterances], utterances, counts, column)

    def by_group(self, statistic: Callable[[Floats], float]) -> Iterator[GroupFigures]:
        """Yield a statistic of each group of recordings, of groupings that tell two groups."""
        trial_list = self.counts.trial_list
        for grouping in trial_list.groupings:
            attributes = {text.partition(":")[0] for text in grouping.attributes}
            group_codes = grouping.side_codes(trial_list.trials, "enrol")
            if group_codes is not None and self.column not in attributes:
                yield from _compared_groups(
                    grouping,
                    group_codes[self.utterances],
                    lambda members: statistic(self.seconds[members]),
                    MIN_RECORDINGS,
                )


def is_duration(name: str) -> bool:
    """Return whether a column of this name gives the durations of recordings.

    Examples
    --------
    >>> [is_duration(name) for name in ("duration", "speech_duration", "duration[ms]", "length_s")]
    [True, True, True, True]
    >>> is_duration("during"), is_duration("channel")
    (False, False)
    """
    return _DURATION_NAME.fullmatch(plain_name(name)) is not None


def _by_enrolled_group(
    counts: ListCounts,
    is_enrolled: NDArray[np.bool_],
    statistic: Callable[[NDArray[np.bool_]], float],
) -> Iterator[GroupFigures]:
    """Yield a statistic of the enrolled speakers of each group, of groupings of speakers."""
    for grouping in counts.trial_list.groupings:
        if grouping.speaker_codes is not None:
            group_codes = np.where(is_enrolled, grouping.speaker_codes, -1)
            yield from _compared_groups(grouping, group_codes, statistic, MIN_ENROLLED)


def _compared_groups(
    grouping: Grouping,
    group_codes: Codes | NDArray[Any],
    statistic: Callable[[NDArray[np.bool_]], float],
    minimum: int,
) -> Iterator[GroupFigures]:
    """Yield a statistic of the members of each group if two groups or more have enough of them.

    `statistic` is of a mask of the members.
    """
    n_groups = len(grouping.groups)
    sizes = np.bincount(group_codes[group_codes >= 0], minlength=n_groups)
    figures = np.full(n_groups, np.nan)
    for group in np.flatnonzero(sizes >= minimum):
        figures[group] = statistic(group_codes == group)
    if (~np.isnan(figures)).sum() > 1:
        yield GroupFigures(grouping.name, grouping.groups, figures, sizes)


def _n_on_both_sides_by_chance(counts: ListCounts) -> float:
    """Return how many recordings would be on both sides, were the sides of each trial random."""
    n_uses = counts.trials_per_utterance
    return float((1 - 0.5 ** np.maximum(n_uses - 1, 0)).sum())
