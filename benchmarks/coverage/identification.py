"""Identification: intervals of the FPIR over probe speakers, and what audits say.

Simulated non-mated searches. The score of a probe and an enrolled person is the sum of an effect of
the probe's speaker, one of the person, whom many probes may resemble, and noise. The threshold is
that at which 5 % of searches in galleries of the same size return anyone. Other such searches,
mated ones among them, are audited whole, with groups of speakers dealt out at random.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
from benchmarks.coverage.records import Row, interval_row, mean, stream
from scipy.optimize import brentq
from scipy.special import log_ndtr

import parivox as pv
from parivox.core.cluster_errors import ErrorsBySpeaker, moments
from parivox.core.intervals import rate_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.coverage.simulate import FloatArray

DATASETS = 1000
FPIR = 0.05
SEARCHES_EACH = 5
SPEAKER_SD = 0.5
N_THRESHOLD_GALLERIES = 2000  # that the threshold is set on
LISTS_AT_ONCE = 50

AUDITS = 200
PERSONS, STRANGERS = 60, 90  # of the audits; both make searches
MATE_SCORE = 4.5  # what a mate adds to the score
REPLICATES = 50  # verdicts do not rest on them
ATTRIBUTES = {"half": 2, "third": 3}  # with as many groups


class Case(NamedTuple):
    """Probe speakers, persons enrolled, and the standard deviation of persons."""

    speakers: int
    persons: int
    person_sd: float


CASES = (
    Case(60, 50, 0.0),
    Case(60, 50, 0.4),
    Case(60, 50, 0.8),
    Case(60, 8, 0.4),
    Case(200, 300, 0.4),
)


def study(datasets: int, seed: int, is_wanted: Callable[[str], bool]) -> Iterator[list[Row]]:
    """Study lists of searches, case by case."""
    for case in CASES:
        name = f"{case.speakers} speakers, {case.persons} persons, {case.person_sd:g}"
        if is_wanted(name):
            rng = stream(seed, name)
            threshold = _threshold(case, rng)
            parts = [
                _limits(case, threshold, min(LISTS_AT_ONCE, datasets - done), rng)
                for done in range(0, datasets, LISTS_AT_ONCE)
            ]
            truth, low, high = (np.concatenate(columns) for columns in zip(*parts, strict=True))
            labels = {"cell": name, **case._asdict()}
            yield [
                labels | {"of": "this gallery"} | interval_row(truth, low, high),
                labels | {"of": "other galleries"} | interval_row(FPIR, low, high),
            ]
    for attribute in ATTRIBUTES:
        name = f"audits by {attribute}"
        if is_wanted(name):
            yield _audited(name, attribute, min(AUDITS, datasets), stream(seed, name))


def _return_rates(
    threshold: float, person_effects: FloatArray, speaker_effects: FloatArray
) -> FloatArray:
    """Return the probability that a search returns anyone, ``[list, speaker]``."""
    distances = threshold - speaker_effects[:, :, None] - person_effects[:, None, :]
    rates: FloatArray = -np.expm1(log_ndtr(distances).sum(axis=-1))
    return rates


def _gallery_rates(threshold: float, person_effects: FloatArray) -> FloatArray:
    """Return the FPIR of galleries over all probe speakers, ``[list]``."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(15)
    effects = np.broadcast_to(SPEAKER_SD * nodes, (len(person_effects), nodes.size))
    rates = _return_rates(threshold, person_effects, effects)
    return np.asarray(rates @ weights / weights.sum())


def _threshold(case: Case, rng: np.random.Generator) -> float:
    """Return the threshold at which galleries have the FPIR on average."""
    person_effects = case.person_sd * rng.standard_normal((N_THRESHOLD_GALLERIES, case.persons))

    def excess(threshold: float) -> float:
        batches = np.array_split(person_effects, 20)  # for memory
        rates = [_gallery_rates(threshold, batch) for batch in batches]
        return float(np.concatenate(rates).mean()) - FPIR

    return float(brentq(excess, 0, 12, xtol=1e-6))


def _limits(
    case: Case, threshold: float, n_lists: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Draw lists; return the FPIR of their galleries and limits, each ``[list, 1]``."""
    person_effects = case.person_sd * rng.standard_normal((n_lists, case.persons))
    speaker_effects = SPEAKER_SD * rng.standard_normal((n_lists, case.speakers))
    rates = _return_rates(threshold, person_effects, speaker_effects)
    errors = rng.binomial(SEARCHES_EACH, rates)
    speaker = np.arange(case.speakers)
    by_speaker = ErrorsBySpeaker(
        np.zeros_like(speaker), speaker, errors, np.full(case.speakers, SEARCHES_EACH), 1
    )
    interval = rate_interval(moments(by_speaker))
    truth = _gallery_rates(threshold, person_effects)[:, None]
    return truth, interval.low, interval.high


def _audited(name: str, attribute: str, n_audits: int, rng: np.random.Generator) -> list[Row]:
    """Return in how many audits some group is worse or better, though groups mean nothing."""
    persons = [f"P{i:03d}" for i in range(PERSONS)]
    speakers = [*persons, *(f"S{i:03d}" for i in range(STRANGERS))]
    is_said = np.zeros(n_audits)
    for i in range(n_audits):
        groups = rng.permutation(np.arange(len(speakers)) % ATTRIBUTES[attribute])
        audit = pv.audit(
            _searches(speakers, persons, rng),
            gallery=persons,
            speakers=pl.DataFrame({"speaker": speakers, attribute: [f"g{g}" for g in groups]}),
            by=attribute,
            operating_points=f"fpir={FPIR}",
            replicates=REPLICATES,
        )
        is_said[i] = any(row["verdict"] == "differs" for row in audit.verdicts.filter(group=""))
    labels = {"cell": name, "speakers": len(speakers), "of": "verdicts", "datasets": n_audits}
    return [labels | mean(is_said, "said")]


def _searches(speakers: list[str], persons: list[str], rng: np.random.Generator) -> pl.DataFrame:
    """Return full score lists of searches of every speaker in a gallery of the first speakers."""
    probes = np.repeat(np.arange(len(speakers)), SEARCHES_EACH)
    scores = (
        SPEAKER_SD * rng.standard_normal(len(speakers))[probes, None]
        + 0.4 * rng.standard_normal(len(persons))
        + rng.standard_normal((probes.size, len(persons)))
    )
    mated = np.flatnonzero(probes < len(persons))
    scores[mated, probes[mated]] += MATE_SCORE + SPEAKER_SD * rng.standard_normal(mated.size)
    return pl.DataFrame(
        {
            "enrol": persons * probes.size,
            "test": [f"probe{i:04d}" for i in range(probes.size) for _ in persons],
            "test_speaker": [speakers[probe] for probe in probes for _ in persons],
            "score": scores.ravel(),
        }
    )
