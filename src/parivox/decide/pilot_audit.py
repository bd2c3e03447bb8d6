"""Groups as a pilot shows them, for a plan: rates, trials, and how alike those of a speaker are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.core.planning import Sample, icc_at, icc_of
from parivox.errors import ConfigError, DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from parivox.core.counts import FloatArray
    from parivox.data.table import Table
    from parivox.options.plan import PlanOptions

    Row = dict[str, Any]

KEY = {
    "system": "str",
    "list": "str",
    "within": "str",
    "grouping": "str",
    "allocation": "str",
    "operating_point": "str",
    "metric": "str",
}
"""Columns that tell the groups of one pilot apart from each other."""
SIDES = {"fnr": 1, "fpr": 2}
"""Speakers of a trial whose errors a rate counts."""
ENOUGH_SPEAKERS, ENOUGH_ERRORS = 10, 30
"""From which on a group's own design effect is believed; with few errors all seem independent."""


class PilotGroups(NamedTuple):
    """Groups of one grouping, metric and operating point: arrays of shape (group,), NaN if unknown.

    The correlation of two trials that share a speaker is that at the rate to plan for, which more
    speakers of the group are taken to have; that of the data at hand is where an audit would see a
    larger one.
    """

    metric: str
    names: list[str]
    errors: FloatArray
    trials: FloatArray
    speakers: FloatArray
    df: FloatArray
    trials_per_speaker: FloatArray  # trials that a speaker takes part in, on average
    icc: FloatArray  # the correlation
    icc_from: NDArray[np.str_]  # the ``group`` itself, ``pooled`` over the groups, or ``given``
    icc_now: FloatArray  # the correlation of the data at hand
    are_disjoint: bool  # whether no trial is in two groups

    @classmethod
    def from_rows(
        cls, rows: list[dict[str, Any]], key: dict[str, str], asked: PlanOptions
    ) -> PilotGroups:
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
            icc, icc_from = _icc_believed(own, errors, speakers, each)
            if planned is not None:
                own, icc = (icc_at(one, overall, planned, sides=sides) for one in (own, icc))
        names = [row["group"] for row in rows]
        are_apart = metric == "fnr" or key["allocation"] != "either"
        now = np.fmax(icc, own)
        return cls(metric, names, errors, trials, speakers, df, each, icc, icc_from, now, are_apart)

    @classmethod
    def from_options(cls, metric: str, asked: PlanOptions) -> PilotGroups:
        """One group of which only the options tell anything."""
        unknown, source = np.full(1, np.nan), np.full(1, "given")
        each, icc = (np.full(1, of[metric]) for of in (asked.trials_per_speaker, asked.icc))
        return cls(metric, [""], *(unknown,) * 4, each, icc, source, icc, are_disjoint=True)

    @property
    def sides(self) -> int:
        """Speakers of a trial."""
        return SIDES[self.metric]

    def group_sample(self) -> Sample:
        """Each group by itself."""
        df = np.where(np.isnan(self.df), np.inf, self.df)
        return Sample(self.speakers, self.trials_per_speaker, self.icc_now, self.sides, df)

    def other_groups_sample(self) -> Sample:
        """All other groups together, for each."""
        trials, speakers, icc, more, df = map(
            np.nan_to_num,
            (self.trials, self.speakers, self.icc_now, self.trials_per_speaker - 1, self.df),
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

    def other_groups_rate(self, asked: PlanOptions) -> FloatArray:
        """Rate of all other groups together, or the planned one; NaN where there is none."""
        with np.errstate(invalid="ignore", divide="ignore"):
            rate = _others(np.nan_to_num(self.errors)) / _others(np.nan_to_num(self.trials))
        planned = asked.planned(self.metric)
        if planned is not None:
            rate = np.full(len(self.names), planned)
        return np.where(self.are_disjoint & (len(self.names) > 1), rate, np.nan)


def _icc_believed(
    own: FloatArray, errors: FloatArray, speakers: FloatArray, each: FloatArray
) -> tuple[FloatArray, NDArray[np.str_]]:
    """Correlation within speakers for each group, and whether it is its own or that of all."""
    weight = np.where(np.isfinite(own) & (speakers > 1), errors * (speakers - 1), 0)
    with np.errstate(invalid="ignore"):
        pooled = np.divide((np.nan_to_num(own) * weight).sum(), weight.sum())
    is_enough = (speakers >= ENOUGH_SPEAKERS) & (errors >= ENOUGH_ERRORS) & np.isfinite(own)
    icc = np.where(is_enough | np.isnan(pooled), own, pooled)
    icc = np.where(np.isnan(icc) & (each <= 1), 0, icc)  # no two trials of a speaker correlate
    return icc, np.select([np.isnan(icc), icc == pooled], ["", "pooled"], default="group")


def _others(values: FloatArray) -> FloatArray:
    return np.asarray(values.sum() - values)


def without_pilot(asked: PlanOptions) -> Iterator[tuple[Row, PilotGroups]]:
    """A group of which nothing is known but what is given, for each metric with a rate."""
    metrics = [metric for metric in SIDES if asked.planned(metric) is not None]
    if not metrics:
        msg = (
            "nothing to plan from; give --pilot DIR, the folder of an audit, or --rate, --icc and "
            "--trials-per-speaker, as in --rate fnr=0.05"
        )
        raise ConfigError(msg)
    for metric in metrics:
        for option in ("icc", "trials_per_speaker"):
            if metric not in getattr(asked, option):
                name = option.replace("_", "-")
                msg = f"--{name} of {metric} is missing; without --pilot, give --{name} {metric}=X"
                raise ConfigError(msg)
        yield {**dict.fromkeys(KEY, ""), "metric": metric}, PilotGroups.from_options(metric, asked)


def pilot_groups(table: Table, asked: PlanOptions) -> Iterator[tuple[Row, PilotGroups]]:
    """Groups of an audit, by each grouping, metric, operating point and the rest of the key."""
    if "deff" not in table.columns:
        msg = "the pilot has no design effects; audit again with this version of Parivox"
        raise DataError(msg)
    rows = [
        row
        for row in table.where(definition="")
        if row["metric"] in SIDES and (row["group"] != "pooled" or row["grouping"] == "all")
    ]
    if not any(row["deff"] is not None or row["metric"] in asked.icc for row in rows):
        msg = (
            "the pilot has no design effects, as of an audit with --no-intervals or without "
            "errors; audit again with intervals, or give --icc, as in --icc fnr=0.1"
        )
        raise DataError(msg)
    chosen = _nearest(rows, asked.target_fpr)
    families: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        point = chosen.get((row["system"], row["list"], row["within"]), row["operating_point"])
        if row["operating_point"] == point:
            families.setdefault(tuple(row[name] for name in KEY), []).append(row)
    for values, found in families.items():
        key = dict(zip(KEY, values, strict=True))
        yield key, PilotGroups.from_rows(found, key, asked)


def _nearest(rows: list[Row], target: float | None) -> dict[tuple[str, ...], str]:
    """The operating point whose FPR is nearest to the target, for each system, list and level."""
    if target is None:
        return {}
    nearest: dict[tuple[str, ...], tuple[float, str]] = {}
    for row in rows:
        if row["metric"] == "fpr" and row["grouping"] == "all":
            far = abs(math.log(row["value"] / target)) if row["value"] else math.inf
            key = (row["system"], row["list"], row["within"])
            if key not in nearest or far < nearest[key][0]:
                nearest[key] = far, row["operating_point"]
    return {key: point for key, (_, point) in nearest.items()}
