"""VoxCeleb1-H: coverage over sub-samples of its largest groups, and its groups as a design.

What is true of a group of hundreds of speakers is known, and few of them are drawn, without
replacement, to see whether their interval holds it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from benchmarks.coverage.corpora import Trials, voxceleb
from benchmarks.coverage.rates import AT_ONCE, LEVELS, batches, collected, wilson
from benchmarks.coverage.records import Row, interval_row, stream

from parivox.core.cluster_errors import ErrorsByPair, ErrorsBySpeaker, moments
from parivox.core.intervals import rate_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.coverage.rates import Limits
    from numpy.typing import NDArray

DATASETS = 4000
NORMAL_975 = 1.959963984540054
GROUPS = ("m+USA", "f+USA")
# kind, rate of the whole group, speakers drawn
CASES = (
    ("fnr", 0.109, 8),
    ("fnr", 0.02, 8),
    ("fnr", 0.005, 25),
    ("fpr", 0.01, 25),
    ("fpr", 0.01, 100),
)


def threshold(trials: Trials, kind: str, rate: float, is_chosen: NDArray[np.bool_]) -> float:
    """Return the threshold at which the chosen trials of one kind have about this error rate."""
    scores = np.sort(trials.score[is_chosen & (trials.target == (kind == "fnr"))])
    return float(scores[round(scores.size * (rate if kind == "fnr" else 1 - rate))])


def cluster_errors(
    trials: Trials, kind: str, score_threshold: float, is_chosen: NDArray[np.bool_]
) -> ErrorsBySpeaker | ErrorsByPair:
    """Tally errors at a threshold by the group of both speakers."""
    is_counted = is_chosen & (trials.target == (kind == "fnr"))
    first_speaker, second_speaker, score = (
        trials.first_speaker[is_counted],
        trials.second_speaker[is_counted],
        trials.score[is_counted],
    )
    n = trials.group.size
    codes, code_index = np.unique(
        (trials.group[first_speaker] * n + first_speaker) * n + second_speaker, return_inverse=True
    )
    wrong = (score >= score_threshold) != trials.target[is_counted]
    errors = np.bincount(code_index, wrong).astype(np.int64)
    cell, pair = np.divmod(codes, n * n)
    sides = np.divmod(pair, n)
    counts: tuple[Any, ...] = (errors, np.bincount(code_index), len(trials.names))
    if kind == "fnr":
        return ErrorsBySpeaker(cell, sides[0], *counts)
    return ErrorsByPair(cell, *sides, *counts)


def within(trials: Trials, group: str | None = None) -> NDArray[np.bool_]:
    """Return which trials lie within one group, or within any."""
    first_group = trials.group[trials.first_speaker]
    is_same: NDArray[np.bool_] = first_group == trials.group[trials.second_speaker]
    return is_same if group is None else is_same & (first_group == trials.names.index(group))


def study(datasets: int, seed: int, is_wanted: Callable[[str], bool]) -> Iterator[list[Row]]:
    """Study sub-samples of the two largest groups, cell by cell."""
    for kind, rate, speakers in CASES:
        for group in GROUPS:
            name = f"{group}/{kind}/{speakers}/{rate}"
            if not is_wanted(name):
                continue
            trials = voxceleb()
            is_chosen = within(trials, group)
            score_threshold = threshold(trials, kind, rate, is_chosen)
            group_errors = cluster_errors(trials, kind, score_threshold, is_chosen)
            true = float(group_errors.errors.sum() / group_errors.trials.sum())
            rng = stream(seed, name)
            entries = group_errors.cell.size * (1 if kind == "fpr" else speakers)
            limits = collected(
                interval_limits(drawn(group_errors, speakers, batch, rng))
                for batch in batches(datasets, max(entries, AT_ONCE // 50))
            )
            labels = {"cell": name, "kind": kind, "group": group, "speakers": speakers}
            labels |= {"rate": rate, "true_rate": true, "of": int(np.max(group_errors.n_speakers))}
            yield [
                labels | {"method": method, "level": level} | interval_row(true, low, high)
                for (method, level), (low, high) in limits.items()
            ]


def drawn(
    group_errors: ErrorsBySpeaker | ErrorsByPair,
    speakers: int,
    samples: int,
    rng: np.random.Generator,
) -> ErrorsBySpeaker | ErrorsByPair:
    """Draw speakers of one group without replacement, each sample a cell of its own."""
    people = np.unique(
        group_errors.speaker
        if isinstance(group_errors, ErrorsBySpeaker)
        else group_errors.cell_speakers[1]
    )
    order = np.argsort(rng.random((samples, people.size)), axis=1)[:, :speakers]
    member = np.zeros((samples, int(people.max()) + 1), dtype=np.bool_)
    member[np.arange(samples)[:, None], people[order]] = True
    if isinstance(group_errors, ErrorsBySpeaker):
        cell, entry_index = np.nonzero(member[:, group_errors.speaker])
        return ErrorsBySpeaker(
            cell,
            group_errors.speaker[entry_index],
            group_errors.errors[entry_index],
            group_errors.trials[entry_index],
            samples,
        )
    cell, entry_index = np.nonzero(
        member[:, group_errors.first_speaker] & member[:, group_errors.second_speaker]
    )
    counts = group_errors.errors[entry_index], group_errors.trials[entry_index]
    return ErrorsByPair(
        cell,
        group_errors.first_speaker[entry_index],
        group_errors.second_speaker[entry_index],
        *counts,
        samples,
    )


def interval_limits(sample: ErrorsBySpeaker | ErrorsByPair) -> Limits:
    """Return limits [sample, 1] over speakers at every level, and over trials."""
    group_moments = moments(sample)
    limits: Limits = {}
    for level in LEVELS:
        interval = rate_interval(group_moments, level)
        limits["speakers", level] = interval.low[:, None], interval.high[:, None]
    low, high = wilson(group_moments.rate, group_moments.trials, NORMAL_975)
    limits["trials", 0.95] = low[:, None], high[:, None]
    return limits
