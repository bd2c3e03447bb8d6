"""Simulated verification: speakers with effects of their own, whose true rates are known.

A *design* is a tally without errors: who has how many trials in which group. Errors come from a
probit model. A target trial of speaker s fails if `sqrt(.25) u_s + sqrt(.75) e` exceeds a level, a
nontarget trial of speakers i and j passes if `sqrt(.06) (u_i + u_j) + sqrt(.10) v_ij + sqrt(.78) e`
does, with independent standard normal effects. All latent sums are standard normal, so that the
rate in the population of speakers is the one asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from parivox.core.cluster_errors import ErrorsByPair, ErrorsBySpeaker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

FloatArray: TypeAlias = "NDArray[np.float64]"
IntArray: TypeAlias = "NDArray[np.int64]"

TRIALS = 230  # target, and nontarget, trials per speaker: VoxCeleb1-H has 231
UNEVEN = 0.5  # standard deviation of log trials where speakers have unequal numbers of them
WORSE, CARRIED = 0.1, 0.7  # skewed: a tenth of the speakers carries 70 % of the errors


@dataclass(frozen=True)
class Spread:
    """Shares of the latent variance that lie between speakers (and between pairs of them)."""

    target: float = 0.25
    nontarget: float = 0.06
    pair: float = 0.10


SPREAD = Spread()
WEAK = Spread(target=0.05, nontarget=0.012, pair=0.02)


def target_design(speakers: Sequence[int], trials: ArrayLike = TRIALS) -> ErrorsBySpeaker:
    """Return groups of so many speakers, each with so many target trials (one number per group)."""
    cell = np.repeat(np.arange(len(speakers)), speakers)
    trials_each = np.broadcast_to(np.asarray(trials, dtype=np.int64), len(speakers))[cell]
    return ErrorsBySpeaker(
        cell, np.arange(cell.size), np.zeros_like(trials_each), trials_each, len(speakers)
    )


def nontarget_design(speakers: Sequence[int], trials: ArrayLike = TRIALS) -> ErrorsByPair:
    """Return groups of so many speakers with equal trials in all their pairs.

    `trials` is the number per speaker of each group: the whole is shared out among its pairs.
    """
    trials_each = np.broadcast_to(np.asarray(trials, dtype=np.float64), len(speakers))
    group_starts = np.concatenate(([0], np.cumsum(speakers)[:-1]))
    pairs = [np.triu_indices(size, 1) for size in speakers]
    sizes = [first_speaker.size for first_speaker, _ in pairs]
    shared = [
        max(1, round(n * s / m)) for n, s, m in zip(trials_each, speakers, sizes, strict=True)
    ]
    return ErrorsByPair(
        np.repeat(np.arange(len(speakers)), sizes),
        np.concatenate(
            [
                first_speaker + start
                for (first_speaker, _), start in zip(pairs, group_starts, strict=True)
            ]
        ),
        np.concatenate(
            [
                second_speaker + start
                for (_, second_speaker), start in zip(pairs, group_starts, strict=True)
            ]
        ),
        np.zeros(sum(sizes), dtype=np.int64),
        np.repeat(np.array(shared, dtype=np.int64), sizes),
        len(speakers),
    )


def enrolled_design(speakers: Sequence[int], trials: int) -> ErrorsByPair:
    """Return groups as their speakers enrol: all pairs of all speakers, `trials` in each order."""
    group = np.repeat(np.arange(len(speakers)), speakers)
    enrol, test = np.nonzero(~np.eye(group.size, dtype=np.bool_))
    codes = (group[enrol] * group.size + np.minimum(enrol, test)) * group.size
    pairs, orders = np.unique(codes + np.maximum(enrol, test), return_counts=True)
    cell, pair = np.divmod(pairs, group.size**2)
    first_speaker, second_speaker = np.divmod(pair, group.size)
    return ErrorsByPair(
        cell, first_speaker, second_speaker, np.zeros_like(pairs), trials * orders, len(speakers)
    )


def unequal(design: ErrorsBySpeaker, datasets: int, rng: np.random.Generator) -> ErrorsBySpeaker:
    """Return the design with log-normal numbers of trials, new ones in every data set."""
    weight = np.exp(UNEVEN * rng.standard_normal((datasets, design.cell.size)))
    mean = design.sum_by_cell(weight) / design.n_speakers
    trials = np.maximum(1, np.rint(_trials(design) * weight / mean[:, design.cell]))
    return replace(design, trials=trials.astype(np.int64))


def misses(
    design: ErrorsBySpeaker,
    rate: ArrayLike,
    datasets: int,
    rng: np.random.Generator,
    *,
    spread: Spread = SPREAD,
    skewed: bool = False,
) -> ErrorsBySpeaker:
    """Draw rejected target trials: `errors` of shape (dataset, entry), one true rate per group."""
    true_rates = np.broadcast_to(np.asarray(rate, dtype=np.float64), design.n_cells)[design.cell]
    shape = datasets, design.cell.size
    if skewed:
        worse = rng.random(shape) < WORSE
        true_rates = np.where(
            worse, CARRIED / WORSE * true_rates, (1 - CARRIED) / (1 - WORSE) * true_rates
        )
    latent = ndtri(true_rates) + sqrt(spread.target) * rng.standard_normal(shape)
    chance = ndtr(latent / sqrt(1 - spread.target))
    return replace(design, errors=rng.binomial(_trials(design), chance))


def false_accepts(
    design: ErrorsByPair,
    rate: ArrayLike,
    datasets: int,
    rng: np.random.Generator,
    *,
    spread: Spread = SPREAD,
    skewed: bool = False,
) -> ErrorsByPair:
    """Draw accepted nontarget trials: `errors` of shape (dataset, entry), one rate per group."""
    n_speakers = int(design.second_speaker.max()) + 1
    rates = np.broadcast_to(np.asarray(rate, dtype=np.float64), design.n_cells)
    effect = sqrt(spread.nontarget) * rng.standard_normal((datasets, n_speakers))
    if skewed:
        levels, shifts = np.transpose(
            [_worse_speakers(group_rate) for group_rate in rates.tolist()]
        )
        worse = (rng.random((datasets, n_speakers)) < WORSE).astype(np.float64)
        level = levels[design.cell] + shifts[design.cell] * (
            worse[:, design.first_speaker] + worse[:, design.second_speaker]
        )
    else:
        level = ndtri(rates)[design.cell]
    latent = level + effect[:, design.first_speaker]
    latent += effect[:, design.second_speaker]
    # a pair may lie in two cells, once in each order of enrolment and test
    pairs, pair_index = np.unique(
        design.first_speaker * n_speakers + design.second_speaker, return_inverse=True
    )
    latent += sqrt(spread.pair) * rng.standard_normal((datasets, pairs.size))[:, pair_index]
    chance = ndtr(latent / sqrt(1 - 2 * spread.nontarget - spread.pair))
    return replace(design, errors=rng.binomial(_trials(design), chance))


def _trials(design: ErrorsBySpeaker | ErrorsByPair) -> IntArray:
    return np.asarray(design.trials, dtype=np.int64)


def _worse_speakers(rate: float) -> tuple[float, float]:
    """Level of all pairs, and its shift for each worse speaker in a pair.

    Such that the rate is the one asked for and pairs with a worse speaker carry 70 % of the errors.
    """
    no_worse, one_worse, two_worse = (1 - WORSE) ** 2, 2 * WORSE * (1 - WORSE), WORSE**2
    level = float(ndtri((1 - CARRIED) * rate / no_worse))

    def excess(shift: float) -> float:
        error_rate = one_worse * ndtr(level + shift) + two_worse * ndtr(level + 2 * shift)
        return float(error_rate - CARRIED * rate)

    return level, float(brentq(excess, 0.0, 20.0))


@dataclass(frozen=True)
class Scores:
    """One data set of scores: those of each entry of a target and of a nontarget design.

    Attributes
    ----------
    target, nontarget : float64 ndarrays of shape (trial,)
    speaker, first_speaker, second_speaker : integer ndarrays of shape (trial,)
    target_cell, nontarget_cell : integer ndarrays of shape (trial,)
    """

    target: FloatArray
    speaker: NDArray[np.integer[Any]]
    target_cell: NDArray[np.integer[Any]]
    nontarget: FloatArray
    first_speaker: NDArray[np.integer[Any]]
    second_speaker: NDArray[np.integer[Any]]
    nontarget_cell: NDArray[np.integer[Any]]


def scores(
    targets: ErrorsBySpeaker, nontargets: ErrorsByPair, distance: float, rng: np.random.Generator
) -> Scores:
    """Draw scores: N(distance, 1) of target and N(0, 1) of nontarget trials over all speakers."""
    n_speakers = int(nontargets.second_speaker.max()) + 1
    target_entry = np.repeat(np.arange(targets.cell.size), _trials(targets))
    pair = np.repeat(np.arange(nontargets.cell.size), _trials(nontargets))
    speaker_effect = sqrt(SPREAD.target) * rng.standard_normal(n_speakers)
    effect = sqrt(SPREAD.nontarget) * rng.standard_normal(n_speakers)
    of_pair = effect[nontargets.first_speaker] + effect[nontargets.second_speaker]
    of_pair += sqrt(SPREAD.pair) * rng.standard_normal(of_pair.size)
    return Scores(
        distance
        + speaker_effect[targets.speaker][target_entry]
        + sqrt(1 - SPREAD.target) * rng.standard_normal(target_entry.size),
        targets.speaker[target_entry],
        targets.cell[target_entry],
        of_pair[pair]
        + sqrt(1 - 2 * SPREAD.nontarget - SPREAD.pair) * rng.standard_normal(pair.size),
        nontargets.first_speaker[pair],
        nontargets.second_speaker[pair],
        nontargets.cell[pair],
    )
