"""Which meta-measures may have a p value? Type I errors of all of them, on the same data sets."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from benchmarks.coverage.corpora import voxceleb
from benchmarks.coverage.floors import (
    ERROR_KINDS,
    FAIR,
    REPLICATES,
    UNFAIR,
    Design,
    log_spread,
    rejected,
)
from benchmarks.coverage.real import cluster_errors, within
from benchmarks.coverage.records import Row, stream

from parivox.core.beyond_noise import tau_log
from parivox.core.bias import smoothed
from parivox.core.cluster_errors import moments
from parivox.core.meta import eo_diff, eo_ratio, fdr, garbe, ir
from parivox.core.noise import floor, gamma_multinomial, null_method, permuted, without_zeros
from parivox.core.spread import (
    cv,
    gini,
    max_geomean,
    max_mean,
    max_min,
    min_max,
    nrb,
    sd,
    value_range,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.coverage.floors import ClusterErrors
    from benchmarks.coverage.simulate import FloatArray

    from parivox.core.cluster_errors import ErrorsBySpeaker
    from parivox.core.noise import EqualRatesDraws
    from parivox.core.registry import ZeroPolicy

DATASETS = 600
AT_ONCE = 50
ZEROS: tuple[ZeroPolicy, ...] = ("none", "jeffreys")
DESIGNS = (*FAIR, UNFAIR[0])
# VoxCeleb1-H as ResNetSE34V2 scores it, at paper 001's threshold
THRESHOLD = -1.023943
DRAWS = 9999


class Rates(NamedTuple):
    """Rates [..., group] of one kind of error under a zero policy, without zeros, and pooled."""

    plain: FloatArray
    lifted: FloatArray
    pooled: FloatArray


class Measure(NamedTuple):
    """A measure of `Rates`, once of FPR or FNR and once of both.

    `logs`: null draws have half an error in the place of none. `lifted`: the data have, too; else
    a group without errors leaves a ratio undefined, or 0.
    """

    name: str
    measured: Callable[..., FloatArray]
    logs: bool = False
    lifted: bool = False
    higher_is_fairer: bool = False


SINGLE = (
    Measure("Gini", lambda rates, _: gini(rates).value),
    Measure("CV", lambda rates, _: cv(rates).value),
    Measure("sd", lambda rates, _: sd(rates).value),
    Measure("max - min", lambda rates, _: value_range(rates).value),
    Measure("max/mean", lambda rates, _: max_mean(rates).value),
    Measure("max/geomean", lambda rates, _: max_geomean(rates).value, True, True),
    Measure("max/min", lambda rates, _: max_min(rates).value, True, True),
    Measure("NRB", lambda rates, pooled: nrb(rates, pooled).value, True, True),
    Measure("tau_log", lambda rates, _: log_spread(rates), True, True),
    Measure("max/geomean, no zeros", lambda rates, _: max_geomean(rates).value, True),
    Measure("max/min, no zeros", lambda rates, _: max_min(rates).value, True),
    Measure("NRB, no zeros", lambda rates, pooled: nrb(rates, pooled).value, True),
    Measure("min/max, zeros stay", lambda rates, _: min_max(rates).value, True, False, True),
)
JOINT = (
    Measure("GARBE", lambda fpr, fnr: garbe(fpr, fnr, alpha=0.5).value),
    Measure("FDR", lambda fpr, fnr: fdr(fpr, fnr, alpha=0.5).value, higher_is_fairer=True),
    Measure("EO difference", lambda fpr, fnr: eo_diff(fpr, fnr).value),
    Measure("IR", lambda fpr, fnr: ir(fpr, fnr, alpha=0.5).value, True, True),
    Measure("EO ratio", lambda fpr, fnr: eo_ratio(fpr, fnr).value, True, True, True),
    Measure("IR, no zeros", lambda fpr, fnr: ir(fpr, fnr, alpha=0.5).value, True),
    Measure("EO ratio, zeros stay", lambda fpr, fnr: eo_ratio(fpr, fnr).value, True, False, True),
)


def measures(zero: ZeroPolicy) -> tuple[tuple[Measure, ...], tuple[Measure, ...]]:
    """Return those of one rate and of both that an audit has under a zero policy."""
    if zero == "none":
        return SINGLE, JOINT
    # no rate is 0, so that it is one whether such rates stay
    single, joint = (
        [measure for measure in candidates if measure.logs == measure.lifted]
        for candidates in (SINGLE, JOINT)
    )
    return tuple(measure for measure in single if measure.name != "tau_log"), tuple(joint)


def study(datasets: int, seed: int, is_wanted: Callable[[str], bool]) -> Iterator[list[Row]]:
    """Study designs with both kinds of errors at one rate, and the real errors of VoxCeleb1-H."""
    for design in DESIGNS:
        for rate in design.rates["fpr"]:
            for zero in ZEROS:
                name = f"{design.name}/{rate}/{zero}"
                if is_wanted(name):
                    labels = {"cell": name, "design": design.name, "rate": rate, "zero": zero}
                    # the same data sets and null draws under all policies
                    rng = stream(seed, f"measures/{design.name}/{rate}")
                    yield [labels | row for row in _rejections(design, rate, zero, datasets, rng)]
    if is_wanted("real"):
        yield [{"cell": "real", **row} for row in _real(stream(seed, "measures/real"))]


def _rejections(
    design: Design, rate: float, zero: ZeroPolicy, datasets: int, rng: np.random.Generator
) -> list[Row]:
    """Share of p values of at most 0.05, by kind of error and measure."""
    p: dict[tuple[str, str], list[float]] = {}
    for start in range(0, datasets, AT_ONCE):
        number = min(AT_ONCE, datasets - start)
        drawn = [design.draw(kind, rate, number, rng) for kind in ERROR_KINDS]
        for errors in zip(*(batch.errors for batch in drawn), strict=True):
            misses, passes = (
                replace(batch, errors=e) for batch, e in zip(drawn, errors, strict=True)
            )
            for key, p_value in _p_values(misses, passes, zero, rng).items():
                p.setdefault(key, []).append(p_value)
    return [
        {"kind": kind, "measure": measure, "datasets": len(p_values)} | rejected(np.array(p_values))
        for (kind, measure), p_values in p.items()
    ]


def _p_values(
    misses: ClusterErrors, passes: ClusterErrors, zero: ZeroPolicy, rng: np.random.Generator
) -> dict[tuple[str, str], float]:
    """P value of each measure for one data set, by kind of error."""
    fnr, fpr = _observed(misses, zero), _observed(passes, zero)
    null = _null(misses, zero, REPLICATES, rng)
    fpr_null = _null_rates(gamma_multinomial(moments(passes), REPLICATES, rng), zero)
    p_values = {}
    single, joint = measures(zero)
    for measure in single:
        p_values["fnr", measure.name] = _p(measure, fnr, null)
        p_values["fpr", measure.name] = _p(measure, fpr, fpr_null)
    for measure in joint:
        p_values["both", measure.name] = _p_joint(measure, (fpr, fnr), (fpr_null, null))
    return p_values


def _null(misses: ClusterErrors, zero: ZeroPolicy, draws: int, rng: np.random.Generator) -> Rates:
    """Null rates of FNR, drawn as an audit does."""
    speaker_errors = cast("ErrorsBySpeaker", misses)
    if null_method(speaker_errors) == "permutation":
        return _null_rates(permuted(speaker_errors, None, draws, rng), zero)
    return _null_rates(gamma_multinomial(moments(speaker_errors), draws, rng), zero)


def _null_rates(null: EqualRatesDraws, zero: ZeroPolicy) -> Rates:
    errors = np.where((null.reason == "")[..., None], null.errors, np.nan)
    return _rates(errors, np.broadcast_to(null.trials, errors.shape), zero)


def _observed(dataset: ClusterErrors, zero: ZeroPolicy = "none") -> Rates:
    return _rates(dataset.sum_by_cell(dataset.errors), dataset.sum_by_cell(dataset.trials), zero)


def _rates(errors: FloatArray, trials: FloatArray, zero: ZeroPolicy) -> Rates:
    rates = np.asarray(smoothed(errors, trials, zero))
    lifted = without_zeros(errors, trials) if zero == "none" else rates
    return Rates(rates, lifted, smoothed(errors.sum(axis=-1), trials.sum(axis=-1), zero))


def _p(measure: Measure, rates: Rates, null: Rates) -> float:
    """P value of a measure of one rate."""
    observed = measure.measured(rates.lifted if measure.lifted else rates.plain, rates.pooled)
    draws = measure.measured(null.lifted if measure.logs else null.plain, null.pooled)
    return float(floor(observed, draws, higher_is_fairer=measure.higher_is_fairer).p)


def _p_joint(measure: Measure, rate_pair: tuple[Rates, Rates], null: tuple[Rates, Rates]) -> float:
    """P value of a measure of FPR and FNR."""
    fpr, fnr = (rates.lifted if measure.lifted else rates.plain for rates in rate_pair)
    null_fpr, null_fnr = (rates.lifted if measure.logs else rates.plain for rates in null)
    observed = measure.measured(fpr, fnr)
    draws = measure.measured(null_fpr, null_fnr)
    return float(floor(observed, draws, higher_is_fairer=measure.higher_is_fairer).p)


def _real(rng: np.random.Generator) -> Iterator[Row]:
    """Values, floors and p values of the real errors on VoxCeleb1-H."""
    trials = voxceleb()
    misses, passes = (
        cluster_errors(trials, kind, THRESHOLD, within(trials)) for kind in ERROR_KINDS
    )
    fnr, fpr = _observed(misses), _observed(passes)
    null = _null(misses, "none", DRAWS, rng)
    fpr_null = _null_rates(gamma_multinomial(moments(passes), DRAWS, rng), "none")
    for kind, rates, drawn in (("fnr", fnr, null), ("fpr", fpr, fpr_null)):
        labels = {"design": "real", "kind": kind}
        estimate = gini(rates.plain).value
        noise_floor = floor(estimate, gini(drawn.plain).value)
        yield (
            labels
            | {"measure": "Gini"}
            | _floor_row(estimate, noise_floor.mean, noise_floor.q95, noise_floor.p)
        )
        tau = tau_log(rates.lifted, drawn.lifted)
        noise_floor = floor(0.0, _tau(drawn.lifted))
        yield (
            labels
            | {"measure": "tau_log"}
            | _floor_row(tau.value, noise_floor.mean, noise_floor.q95, tau.p)
        )
    estimate = garbe(fpr.plain, fnr.plain, alpha=0.5).value
    noise_floor = floor(estimate, garbe(fpr_null.plain, null.plain, alpha=0.5).value)
    labels = {"design": "real", "kind": "both", "measure": "GARBE"}
    yield labels | _floor_row(estimate, noise_floor.mean, noise_floor.q95, noise_floor.p)


def _tau(drawn: FloatArray) -> FloatArray:
    """tau_log of each draw."""
    variance = log_spread(drawn) ** 2
    return np.asarray(np.sqrt(np.maximum(variance - variance.mean(), 0)))


def _floor_row(*figures: float | FloatArray) -> Row:
    names = ("value", "mean", "q95", "p")
    return {
        name: float(f"{float(figure):.5g}") for name, figure in zip(names, figures, strict=True)
    }
