"""Spoof accepts: what intervals over claimed speakers say of other attacks, and what audits say.

Simulated lists of two groups, whose spoof accepts depend on the claimed speaker and the attack; and
real speakers of VoxCeleb1-H with scores by V2, groups dealt out at random and simulated spoof
trials, which are audited whole.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from benchmarks.coverage.findings import Design
from benchmarks.coverage.ratios import halves
from benchmarks.coverage.records import Row, interval_row, mean, stream
from scipy.special import ndtr, ndtri

import parivox as pv
from parivox.core.attacks import AttackCounts, ratios_for_other_attacks
from parivox.core.cluster_errors import ErrorsBySpeaker, moments
from parivox.core.intervals import rate_interval
from parivox.core.ratios import ratio_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.coverage.simulate import FloatArray

DATASETS = 2000
LISTS_AT_ONCE = 100
N_ATTACKS, TRIALS_EACH = 13, 4  # trials of each attack and claimed speaker
SFAR = 0.08  # over all attacks and speakers
# standard deviations in probits: of attacks, of speakers, and of a speaker for one attack
ATTACK_SD, SPEAKER_SD, CLAIM_SD = 0.8, 0.5, 0.3
SPEAKERS = (10, 30, 100)  # of each of two groups
GROUP_SDS = (0.0, 0.4)  # by how much attacks differ between groups

AUDITS = 200
REPLICATES = 50  # verdicts do not rest on them
REAL_ATTACKS = ("A1", "A2", "A3", "A4", "A5", "A6")
CLAIMS_EACH = 20  # spoof trials of each attack and claimed speaker
SPOOFS_LOWER = 3.2  # their scores, in standard deviations of target scores; SFAR is about 10 %
SPEAKERS_OF_AUDITS = Design("m+USA", ("half", "share", "half+share"), "m+USA", (8, 4, 2, 1, 1))


def study(datasets: int, seed: int, is_wanted: Callable[[str], bool]) -> Iterator[list[Row]]:
    """Study simulated lists, then audits of real speakers, cell by cell."""
    for n_speakers in SPEAKERS:
        for group_sd in GROUP_SDS:
            name = f"{n_speakers} speakers, attacks differ by {group_sd:g}"
            if is_wanted(name):
                yield _simulated(name, n_speakers, group_sd, datasets, stream(seed, name))
    name = "audits"
    if is_wanted(name):
        yield _audited(name, min(AUDITS, datasets), stream(seed, name))


def _simulated(
    name: str, n_speakers: int, group_sd: float, datasets: int, rng: np.random.Generator
) -> list[Row]:
    """Return how often limits contain the truth, and 1 where both groups have one rate."""
    parts = [
        _limits_of_lists(n_speakers, group_sd, min(LISTS_AT_ONCE, datasets - done), rng)
        for done in range(0, datasets, LISTS_AT_ONCE)
    ]
    columns = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    labels = {"cell": name, "speakers": n_speakers, "group_sd": group_sd}
    cases: dict[str, tuple[FloatArray | float, str, str]] = {
        "rate, these attacks": (columns["these_attacks"], "low", "high"),
        "rate, new attacks": (SFAR, "low", "high"),
        "ratio, these attacks": (columns["ratio_these"], "ratio_low", "ratio_high"),
        "ratio, over speakers, new attacks": (1.0, "ratio_low", "ratio_high"),
        "ratio, new attacks": (1.0, "new_low", "new_high"),
    }
    return [
        labels
        | {"of": case}
        | interval_row(truth, columns[low], columns[high])
        | mean(((columns[low] > truth) | (columns[high] < truth)).astype(np.float64), "excluded")
        for case, (truth, low, high) in cases.items()
    ]


def _limits_of_lists(
    n_speakers: int, group_sd: float, n_lists: int, rng: np.random.Generator
) -> dict[str, FloatArray]:
    """Draw lists of two groups; return limits and true values, each ``[list, group]``."""
    latent_sd = sqrt(1 + ATTACK_SD**2 + SPEAKER_SD**2 + CLAIM_SD**2 + group_sd**2)
    level = ndtri(SFAR) * latent_sd
    attack = ATTACK_SD * rng.standard_normal((n_lists, 1, 1, N_ATTACKS))
    group_attack = group_sd * rng.standard_normal((n_lists, 2, 1, N_ATTACKS))
    speaker = SPEAKER_SD * rng.standard_normal((n_lists, 2, n_speakers, 1))
    claim = CLAIM_SD * rng.standard_normal((n_lists, 2, n_speakers, N_ATTACKS))
    accepts = rng.binomial(TRIALS_EACH, ndtr(level + attack + group_attack + speaker + claim))
    # of all speakers, for the attacks that were drawn
    speakers_sd = sqrt(1 + SPEAKER_SD**2 + CLAIM_SD**2)
    these_attacks = ndtr((level + attack + group_attack)[:, :, 0] / speakers_sd).mean(axis=-1)
    cell = np.repeat([0, 1], n_speakers)
    errors = accepts.sum(axis=-1).reshape(n_lists, -1)
    trials = np.full(cell.size, N_ATTACKS * TRIALS_EACH)
    interval = rate_interval(
        moments(ErrorsBySpeaker(cell, np.arange(cell.size), errors, trials, 2))
    )
    ratio = ratio_interval(*halves(interval))
    by_attack = np.moveaxis(accepts.sum(axis=2), 1, -1)
    counts = AttackCounts(by_attack, np.full(by_attack.shape, n_speakers * TRIALS_EACH))
    first, second = (
        AttackCounts(counts.errors[..., [group]], counts.trials[..., [group]]) for group in (0, 1)
    )
    new_low, new_high = ratios_for_other_attacks(
        first, second, (ratio.low, ratio.high), [n_speakers]
    )
    return {
        "these_attacks": these_attacks,
        "ratio_these": these_attacks[:, [0]] / these_attacks[:, [1]],
        "low": interval.low,
        "high": interval.high,
        "ratio_low": ratio.low,
        "ratio_high": ratio.high,
        "new_low": new_low,
        "new_high": new_high,
    }


def _audited(name: str, n_audits: int, rng: np.random.Generator) -> list[Row]:
    """Return in how many audits some verdict is worse or better, though groups mean nothing."""
    trials, people = SPEAKERS_OF_AUDITS.read()
    spoof_trials = _spoof_trials(trials, rng)
    trials = trials.with_columns(
        label=pl.when(pl.col("label") == 1).then(pl.lit("target")).otherwise(pl.lit("nontarget"))
    )
    trials = pl.concat([trials, spoof_trials], how="diagonal")
    is_said = np.zeros(n_audits)
    for i in range(n_audits):
        dealt = people.with_columns(speaker=rng.permutation(people["speaker"].to_numpy()))
        audit = pv.audit(
            trials,
            speakers=dealt,
            by="half",
            operating_points="fpr=0.01",
            replicates=REPLICATES,
        )
        is_said[i] = any(row["verdict"] == "differs" for row in audit.verdicts.filter(group=""))
    labels = {"cell": name, "speakers": people.height, "of": "verdicts", "datasets": n_audits}
    return [labels | mean(is_said, "said")]


def _spoof_trials(trials: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    """Return spoof trials of every speaker, whose scores lie below those of the speaker's own."""
    targets = trials.filter(pl.col("label") == 1).with_columns(
        speaker=pl.col("enrol").str.split("/").list.first()
    )
    by_speaker = targets.group_by("speaker", maintain_order=True).agg(
        pl.col("enrol").first(), mean=pl.col("score").mean()
    )
    deviation = float(np.std(targets["score"].to_numpy()))
    n_claims = len(REAL_ATTACKS) * CLAIMS_EACH
    attack_effects = deviation * ATTACK_SD * rng.standard_normal(len(REAL_ATTACKS))
    claims = by_speaker.select(pl.all().repeat_by(n_claims).explode())
    attack_code = np.tile(np.repeat(np.arange(len(REAL_ATTACKS)), CLAIMS_EACH), by_speaker.height)
    speaker_effects = deviation * SPEAKER_SD * rng.standard_normal(by_speaker.height)
    scores = (
        claims["mean"].to_numpy()
        - SPOOFS_LOWER * deviation
        + attack_effects[attack_code]
        + np.repeat(speaker_effects, n_claims)
        + deviation * rng.standard_normal(claims.height)
    )
    return pl.DataFrame(
        {
            "enrol": claims["enrol"],
            "test": [f"{speaker}/spoof/{i:06d}" for i, speaker in enumerate(claims["speaker"])],
            "label": np.full(claims.height, "spoof"),
            "attack": np.array(REAL_ATTACKS)[attack_code],
            "score": scores,
        }
    )
