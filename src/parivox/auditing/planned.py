"""What a plan tells of one grouping, metric and operating point, as columns of its tables."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.core.planning import (
    FEWEST_SPEAKERS,
    Sample,
    design_effect,
    detectable_ratio,
    icc_at,
    icc_of,
    power_to_detect,
    relative_half_width,
    speakers_needed,
    supported_rate,
    trials_needed,
)
from parivox.errors import ConfigError
from parivox.options.plan import PlanOptions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parivox.core.counts import FloatArray

    Block = dict[str, Any]

__all__ = ["SIDES", "Asked", "Seen", "designs", "of_groups", "of_lists"]

SIDES = {"fnr": 1, "fpr": 2}
"""Speakers of a trial whose errors a rate counts."""
MULTIPLES = np.array([0.25, 0.5, 1, 2, 4])
"""Trials per speaker in designs and curves, in units of those of the pilot."""
SPEAKERS = np.array([5, 10, 20, 50, 100, 200, 500, 1000])
"""Speakers per group in curves."""
SURE_SPEAKERS, SURE_ERRORS = 10, 30
"""From which on a group's own design effect is believed; with few errors all seem independent."""


@dataclass(frozen=True, kw_only=True)
class Asked(PlanOptions):
    """What a plan is for."""

    def __post_init__(self) -> None:
        """Check every option, and those that must agree."""
        super().__post_init__()
        if self.target_fpr is not None and self.rate.get("fpr", self.target_fpr) != self.target_fpr:
            msg = "--target-fpr and --rate fpr differ; give one of them"
            raise ConfigError(msg)

    def planned(self, metric: str) -> float | None:
        """The rate to plan for, if it is not the pilot's."""
        return self.rate.get(metric, self.target_fpr if metric == "fpr" else None)


class Seen(NamedTuple):
    """Groups as a pilot shows them: arrays of shape (group,), NaN where it does not tell.

    Attributes
    ----------
    metric : str
    groups : list of str
    errors, trials, speakers, df : ndarray
    each : ndarray
        Trials that a speaker takes part in, on average.
    icc : ndarray
        Correlation of two trials that share a speaker, at the rate to plan for, which more
        speakers of the group are taken to have.
    icc_from : str ndarray
        Whose it is: the ``group`` itself, ``pooled`` over the groups, or ``given``.
    icc_now : ndarray
        That of the data at hand, where an audit would see a larger one.
    are_apart : bool
        Whether no trial is in two groups.
    """

    metric: str
    groups: list[str]
    errors: FloatArray
    trials: FloatArray
    speakers: FloatArray
    df: FloatArray
    each: FloatArray
    icc: FloatArray
    icc_from: NDArray[np.str_]
    icc_now: FloatArray
    are_apart: bool

    @classmethod
    def of(cls, rows: list[dict[str, Any]], key: dict[str, str], asked: Asked) -> Seen:
        """Read the rows of the groups."""
        metric, sides = key["metric"], SIDES[key["metric"]]
        errors, trials, speakers, deff, df = (
            np.array([math.nan if row[name] is None else row[name] for row in rows], np.float64)
            for name in ("errors", "trials", "speakers", "deff", "df")
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            each = np.where(speakers > 0, sides * trials / speakers, np.nan)
            overall = np.nansum(errors) / np.nansum(trials)
        planned = asked.planned(metric)
        own = icc_of(deff, each, sides=sides)
        if metric in asked.icc:
            own = icc = np.full(len(rows), asked.icc[metric])
            icc_from = np.full(len(rows), "given")
        else:
            icc, icc_from = _believed(own, errors, speakers, each)
            if planned is not None:
                own, icc = (icc_at(one, overall, planned, sides=sides) for one in (own, icc))
        groups = [row["group"] for row in rows]
        are_apart = metric == "fnr" or key["allocation"] != "either"
        now = np.fmax(icc, own)
        return cls(
            metric, groups, errors, trials, speakers, df, each, icc, icc_from, now, are_apart
        )

    @classmethod
    def given(cls, metric: str, asked: Asked) -> Seen:
        """Take one group of which nothing is known but what is given."""
        unknown, source = np.full(1, np.nan), np.full(1, "given")
        each, icc = (np.full(1, of[metric]) for of in (asked.trials_per_speaker, asked.icc))
        return cls(metric, [""], *(unknown,) * 4, each, icc, source, icc, are_apart=True)

    @property
    def sides(self) -> int:
        """Speakers of a trial."""
        return SIDES[self.metric]

    def sample(self) -> Sample:
        """Each group by itself."""
        df = np.where(np.isnan(self.df), np.inf, self.df)
        return Sample(self.speakers, self.each, self.icc_now, self.sides, df)

    def others(self) -> Sample:
        """All other groups together, for each."""
        trials, speakers, icc, more, df = map(
            np.nan_to_num, (self.trials, self.speakers, self.icc_now, self.each - 1, self.df)
        )
        excess = trials * np.maximum(more, 0) * icc
        variance = trials + self.sides * excess
        df = np.maximum(np.where(df > 0, df, speakers - 1), 1)
        with np.errstate(invalid="ignore", divide="ignore"):
            each = self.sides * _others(trials) / _others(speakers)
            weight = _others(trials) * (each - 1)
            together = np.where(weight > 0, _others(excess) / weight, 0)
            df = _others(variance) ** 2 / _others(variance**2 / df)
        return Sample(_others(speakers), each, together, self.sides, df)

    def rate(self, asked: Asked) -> FloatArray:
        """Rate of all other groups together, or the planned one; NaN where there is none."""
        with np.errstate(invalid="ignore", divide="ignore"):
            rate = _others(np.nan_to_num(self.errors)) / _others(np.nan_to_num(self.trials))
        planned = asked.planned(self.metric)
        if planned is not None:
            rate = np.full(len(self.groups), planned)
        return np.where(self.are_apart & (len(self.groups) > 1), rate, np.nan)


def _believed(
    own: FloatArray, errors: FloatArray, speakers: FloatArray, each: FloatArray
) -> tuple[FloatArray, NDArray[np.str_]]:
    """Correlation within speakers for each group, and whether it is its own or that of all."""
    weight = np.where(np.isfinite(own) & (speakers > 1), errors * (speakers - 1), 0)
    with np.errstate(invalid="ignore"):
        pooled = np.divide((np.nan_to_num(own) * weight).sum(), weight.sum())
    is_sure = (speakers >= SURE_SPEAKERS) & (errors >= SURE_ERRORS) & np.isfinite(own)
    icc = np.where(is_sure | np.isnan(pooled), own, pooled)
    icc = np.where(np.isnan(icc) & (each <= 1), 0, icc)  # no two trials of a speaker correlate
    return icc, np.select([np.isnan(icc), icc == pooled], ["", "pooled"], default="group")


def of_groups(seen: Seen, asked: Asked) -> Block:
    """What today's data can detect in each group, and what the wished ratio takes."""
    how: dict[str, Any] = {"power": asked.power, "confidence": asked.confidence}
    rate, one, others = seen.rate(asked), seen.sample(), seen.others()
    is_enough = seen.speakers >= FEWEST_SPEAKERS
    worse, better = (
        np.where(is_enough, detectable_ratio(rate, one, others, better=way, **how), np.nan)
        for way in (False, True)
    )
    each = np.full(len(rate), asked.trials_per_speaker.get(seen.metric, seen.each))
    many = max(len(rate) - 1, 1)
    needed = speakers_needed(
        asked.detect_ratio, rate, each, seen.icc, others=many, sides=seen.sides, **how
    )
    reasons: dict[str, Any] = {
        "one_group": len(rate) == 1,
        "shared_trials": not seen.are_apart,
        "unknown_speakers": np.isnan(seen.speakers),
        "no_trials": ~(seen.trials > 0),
        "no_errors_of_others": ~(rate > 0),
        "unknown_icc": np.isnan(seen.icc),
        "few_speakers": ~is_enough,
        "rate_above_one": rate * asked.detect_ratio >= 1,
        "none_detectable": np.isnan(worse),
    }
    is_so = [np.broadcast_to(one, len(rate)) for one in reasons.values()]
    return {
        "group": seen.groups,
        "speakers": _whole(seen.speakers),
        "trials": _whole(seen.trials),
        "errors": _whole(seen.errors),
        "rate": rate,
        "icc": seen.icc,
        "icc_from": seen.icc_from,
        "trials_per_speaker": seen.each,
        "deff": design_effect(seen.each, seen.icc_now, sides=seen.sides),
        "worse": worse,
        "better": better,
        "speakers_needed": _whole(needed),
        "trials_needed": _whole(np.ceil(needed * each / seen.sides)),
        "reason": np.select(is_so, list(reasons), default=""),
    }


def designs(seen: Seen, asked: Asked) -> dict[str, Block]:
    """Groups of one size, at least two: by trials per speaker, and by speakers too."""
    how: dict[str, Any] = {"power": asked.power, "confidence": asked.confidence}
    sides, others = seen.sides, max(len(seen.groups) - 1, 1)
    rate, icc, each = _average(seen, asked)
    if not seen.are_apart or math.isnan(rate + icc + each):
        return {}
    source = seen.icc_from[0] if "given" in seen.icc_from else "pooled"
    several = np.maximum(each * MULTIPLES, 1)
    needed, base = (
        speakers_needed(asked.detect_ratio, rate, m, icc, others=others, sides=sides, **how)
        for m in (several, each)
    )
    m, speakers = (axis.ravel() for axis in np.meshgrid(several, SPEAKERS, indexing="ij"))
    one, rest = (Sample(n, m, icc, sides) for n in (speakers, others * speakers))
    return {
        "designs": {
            "groups": others + 1,
            "rate": rate,
            "icc": icc,
            "icc_from": source,
            "trials_per_speaker": several,
            "deff": design_effect(several, icc, sides=sides),
            "speakers_needed": _whole(needed),
            "trials_needed": _whole(np.ceil(needed * several / sides)),
            "saved": 1 - needed / base,
            "reason": np.where(np.isnan(needed), "rate_above_one", ""),
        },
        "curves": {
            "trials_per_speaker": m,
            "speakers": speakers,
            "power": power_to_detect(
                asked.detect_ratio, rate, one, rest, confidence=asked.confidence
            ),
            "worse": detectable_ratio(rate, one, rest, **how),
            "better": detectable_ratio(rate, one, rest, better=True, **how),
        },
    }


def _average(seen: Seen, asked: Asked) -> tuple[float, float, float]:
    """Rate, correlation and trials per speaker of all groups together."""
    rate, each = asked.planned(seen.metric), asked.trials_per_speaker.get(seen.metric)
    icc = asked.icc.get(seen.metric)
    is_known = np.isfinite(seen.icc) & (seen.speakers > 0)
    trials = np.where(is_known, seen.trials, 0)
    with np.errstate(invalid="ignore"):
        if rate is None:
            rate = np.divide(np.nansum(seen.errors), np.nansum(seen.trials))
        if each is None:
            speakers = np.where(is_known, seen.speakers, 0)
            each = seen.sides * np.divide(trials.sum(), speakers.sum())
        if icc is None:
            weight = trials * np.nan_to_num(np.maximum(seen.each - 1, 0))
            icc = np.divide((weight * np.nan_to_num(seen.icc)).sum(), weight.sum())
    return float(rate), float(icc), float(each)


def of_lists(seen: Seen, asked: Asked) -> Block:
    """What FPR the nontarget trials of each group support."""
    target = asked.planned("fpr")
    target = math.nan if target is None else target
    deff = design_effect(seen.each, seen.icc_now, sides=seen.sides)
    supported = supported_rate(seen.trials, deff)
    is_known = np.isfinite(seen.trials * deff * target)
    reasons = {
        "unknown_trials": np.isnan(seen.trials),
        "no_trials": seen.trials == 0,
        "unknown_icc": np.isnan(deff),
        "few_trials": np.isnan(supported),
    }
    return {
        "group": seen.groups,
        "speakers": _whole(seen.speakers),
        "trials": _whole(seen.trials),
        "deff": deff,
        "supported_fpr": supported,
        "target_fpr": target,
        "expected_errors": target * seen.trials,
        "half_width": relative_half_width(target * seen.trials, deff, confidence=asked.confidence),
        "trials_needed": _whole(np.ceil(trials_needed(target, deff))),
        "is_supported": [
            bool(ok) if known else None
            for ok, known in zip(supported <= target, is_known, strict=True)
        ],
        "reason": np.select(list(reasons.values()), list(reasons), default=""),
    }


def _others(values: FloatArray) -> FloatArray:
    return np.asarray(values.sum() - values)


def _whole(values: FloatArray) -> list[int | None]:
    return [None if math.isnan(value) else int(value) for value in values.tolist()]


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
