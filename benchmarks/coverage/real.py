"""VoxCeleb1-H: coverage over sub-samples of its largest groups, and its groups as a design.

What is true of a group of hundreds of speakers is known, and few of them are drawn, without
replacement, to see whether their interval holds it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from benchmarks.coverage.rates import AT_ONCE, LEVELS, collected, parts, wilson
from benchmarks.coverage.records import Row, interval_row, stream
from benchmarks.measure import demo_data

from parivox.core.cluster_errors import ErrorsByPair, ErrorsBySpeaker, moments
from parivox.core.intervals import rate_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.coverage.rates import Limits
    from benchmarks.coverage.simulate import FloatArray, IntArray
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


@dataclass(frozen=True, eq=False)
class Trials:
    """Trials of a score file: arrays [trial]; `group` [speaker] is an index of `names`."""

    one: IntArray
    other: IntArray
    target: NDArray[np.bool_]
    score: FloatArray
    group: IntArray
    names: list[str]


@cache
def voxceleb(system: str = "V2") -> Trials:
    """Return the trials of VoxCeleb1-H by gender and nationality, with the scores of V2 or L."""
    scores, meta = demo_data()
    scores = scores.with_name(scores.name.replace("34v2", f"34{system.lower()}"))
    people = pl.read_csv(meta, separator="\t").select(
        pl.col("VoxCeleb1 ID").alias("speaker"),
        pl.concat_str("Gender", "Nationality", separator="+").alias("group"),
    )
    trials = pl.read_csv(scores).select(
        pl.col("ref_file", "com_file").str.split("/").list.first(),
        target=pl.col("lab") == 1,
        score=pl.col("sc").cast(pl.Float64),
    )
    used = pl.concat([trials["ref_file"], trials["com_file"]]).unique().sort()
    order = pl.Enum(used)
    sides = [trials[side].cast(order).to_physical().to_numpy() for side in ("ref_file", "com_file")]
    group = pl.DataFrame({"speaker": used}).join(people, on="speaker", maintain_order="left")
    names, of = np.unique(group["group"].to_numpy().astype(str), return_inverse=True)
    return Trials(
        np.minimum(*sides).astype(np.int64),
        np.maximum(*sides).astype(np.int64),
        trials["target"].to_numpy(),
        trials["score"].to_numpy(),
        of.astype(np.int64),
        names.tolist(),
    )


def threshold(trials: Trials, kind: str, rate: float, chosen: NDArray[np.bool_]) -> float:
    """Return the threshold at which the chosen trials of one kind have about this error rate."""
    own = np.sort(trials.score[chosen & (trials.target == (kind == "fnr"))])
    return float(own[round(own.size * (rate if kind == "fnr" else 1 - rate))])


def tally(
    trials: Trials, kind: str, at: float, chosen: NDArray[np.bool_]
) -> ErrorsBySpeaker | ErrorsByPair:
    """Tally errors at a threshold by the group of both speakers."""
    here = chosen & (trials.target == (kind == "fnr"))
    one, other, score = trials.one[here], trials.other[here], trials.score[here]
    n = trials.group.size
    codes, where = np.unique((trials.group[one] * n + one) * n + other, return_inverse=True)
    wrong = (score >= at) != trials.target[here]
    errors = np.bincount(where, wrong).astype(np.int64)
    cell, pair = np.divmod(codes, n * n)
    sides = np.divmod(pair, n)
    counts: tuple[Any, ...] = (errors, np.bincount(where), len(trials.names))
    if kind == "fnr":
        return ErrorsBySpeaker(cell, sides[0], *counts)
    return ErrorsByPair(cell, *sides, *counts)


def within(trials: Trials, group: str | None = None) -> NDArray[np.bool_]:
    """Return which trials lie within one group, or within any."""
    own = trials.group[trials.one]
    same: NDArray[np.bool_] = own == trials.group[trials.other]
    return same if group is None else same & (own == trials.names.index(group))


def study(datasets: int, seed: int, wanted: Callable[[str], bool]) -> Iterator[list[Row]]:
    """Study sub-samples of the two largest groups, cell by cell."""
    for kind, rate, speakers in CASES:
        for group in GROUPS:
            name = f"{group}/{kind}/{speakers}/{rate}"
            if not wanted(name):
                continue
            trials = voxceleb()
            chosen = within(trials, group)
            at = threshold(trials, kind, rate, chosen)
            whole = tally(trials, kind, at, chosen)
            true = float(whole.errors.sum() / whole.trials.sum())
            rng = stream(seed, name)
            entries = whole.cell.size * (1 if kind == "fpr" else speakers)
            limits = collected(
                _limits(drawn(whole, speakers, some, rng))
                for some in parts(datasets, max(entries, AT_ONCE // 50))
            )
            where = {"cell": name, "kind": kind, "group": group, "speakers": speakers}
            where |= {"rate": rate, "true_rate": true, "of": int(np.max(whole.n_speakers))}
            yield [
                where | {"method": method, "level": level} | interval_row(true, low, high)
                for (method, level), (low, high) in limits.items()
            ]


def drawn(
    whole: ErrorsBySpeaker | ErrorsByPair, speakers: int, samples: int, rng: np.random.Generator
) -> ErrorsBySpeaker | ErrorsByPair:
    """Draw speakers of one group without replacement, each sample a cell of its own."""
    people = np.unique(
        whole.speaker if isinstance(whole, ErrorsBySpeaker) else whole.cell_speakers[1]
    )
    order = np.argsort(rng.random((samples, people.size)), axis=1)[:, :speakers]
    member = np.zeros((samples, int(people.max()) + 1), dtype=np.bool_)
    member[np.arange(samples)[:, None], people[order]] = True
    if isinstance(whole, ErrorsBySpeaker):
        cell, at = np.nonzero(member[:, whole.speaker])
        return ErrorsBySpeaker(cell, whole.speaker[at], whole.errors[at], whole.trials[at], samples)
    cell, at = np.nonzero(member[:, whole.first_speaker] & member[:, whole.second_speaker])
    counts = whole.errors[at], whole.trials[at]
    return ErrorsByPair(cell, whole.first_speaker[at], whole.second_speaker[at], *counts, samples)


def _limits(sample: ErrorsBySpeaker | ErrorsByPair) -> Limits:
    known = moments(sample)
    found: Limits = {}
    for level in LEVELS:
        each = rate_interval(known, level)
        found["speakers", level] = each.low[:, None], each.high[:, None]
    low, high = wilson(known.rate, known.trials, NORMAL_975)
    found["trials", 0.95] = low[:, None], high[:, None]
    return found
