"""Read the groups of a pilot for a plan: rates, trials, and how alike those of a speaker are."""

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
SIDES = {"fnr": 1, "fpr": 2, "sfar": 1}
"""Speakers of a trial whose errors a rate counts; of a spoof trial, the claimed one."""
ENOUGH_SPEAKERS, ENOUGH_ERRORS = 10, 30
"""From which on a group's own design effect is used; with few errors all seem independent."""


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
        cls, rows: list[dict[str, Any]], key: dict[str, str], options: PlanOptions
    ) -> PilotGroups:
        """Read the rows of the groups."""
        metric, sides = key["metric"], SIDES[key["metric"]]
        errors, trials, speakers, deff, df = (
            np.array([math.nan if row[name] is None else row[name] for row in rows], np.float64)
            for name in ("errors", "trials", "speakers", "deff", "df")
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            trials_per_speaker = np.where(speakers > 0, sides * trials / speakers, np.nan)
            pooled_rate = np.nansum(errors) / np.nansum(trials)
        planned_rate = options.planned(metric)
        group_icc = icc_of(deff, trials_per_speaker, sides=sides)
        if metric in options.icc:
            group_icc = icc = np.full(len(rows), options.icc[metric])
            icc_from = np.full(len(rows), "given")
        else:
            icc, icc_from = _icc_with_source(group_icc, errors, speakers, trials_per_speaker)
            if planned_rate is not None:
                group_icc = icc_at(group_icc, pooled_rate, planned_rate, sides=sides)
                icc = icc_at(icc, pooled_rate, planned_rate, sides=sides)
        return cls(
            metric=metric,
            names=[row["group"] for row in rows],
            errors=errors,
            trials=trials,
            speakers=speakers,
            df=df,
            trials_per_speaker=trials_per_speaker,
            icc=icc,
            icc_from=icc_from,
            icc_now=np.fmax(icc, group_icc),
            are_disjoint=metric != "fpr" or key["allocation"] != "either",
        )

    @classmethod
    def from_options(cls, metric: str, options: PlanOptions) -> PilotGroups:
        """Return one group of which only the options say anything."""
        unknown = np.full(1, np.nan)
        icc = np.full(1, options.icc[metric])
        return cls(
            metric=metric,
            names=[""],
            errors=unknown,
            trials=unknown,
            speakers=unknown,
            df=unknown,
            trials_per_speaker=np.full(1, options.trials_per_speaker[metric]),
            icc=icc,
            icc_from=np.full(1, "given"),
            icc_now=icc,
            are_disjoint=True,
        )

    @property
    def sides(self) -> int:
        """Speakers of a trial."""
        return SIDES[self.metric]

    def group_sample(self) -> Sample:
        """Return each group by itself."""
        df = np.where(np.isnan(self.df), np.inf, self.df)
        return Sample(self.speakers, self.trials_per_speaker, self.icc_now, self.sides, df)

    def other_groups_sample(self) -> Sample:
        """Return all other groups together, for each."""
        trials, speakers, icc = (
            np.nan_to_num(column) for column in (self.trials, self.speakers, self.icc_now)
        )
        more_trials = np.nan_to_num(self.trials_per_speaker - 1)  # beyond the first of a speaker
        df = np.nan_to_num(self.df)
        excess = trials * np.maximum(more_trials, 0) * icc
        variance = trials + self.sides * excess
        df = np.maximum(np.where(df > 0, df, speakers - 1), 1)
        with np.errstate(invalid="ignore", divide="ignore"):
            trials_per_speaker = self.sides * _sum_of_others(trials) / _sum_of_others(speakers)
            weight = _sum_of_others(trials) * (trials_per_speaker - 1)
            icc = np.where(weight > 0, _sum_of_others(excess) / weight, 0)
            # by Welch and Satterthwaite, as the variances of groups are added
            df = _sum_of_others(variance) ** 2 / _sum_of_others(variance**2 / df)
        return Sample(_sum_of_others(speakers), trials_per_speaker, icc, self.sides, df)

    def other_groups_rate(self, options: PlanOptions) -> FloatArray:
        """Return the rate of all other groups together, or the planned one; NaN for none."""
        planned_rate = options.planned(self.metric)
        if planned_rate is not None:
            rate = np.full(len(self.names), planned_rate)
        else:
            with np.errstate(invalid="ignore", divide="ignore"):
                errors = _sum_of_others(np.nan_to_num(self.errors))
                rate = errors / _sum_of_others(np.nan_to_num(self.trials))
        return np.where(self.are_disjoint & (len(self.names) > 1), rate, np.nan)


def _icc_with_source(
    group_icc: FloatArray, errors: FloatArray, speakers: FloatArray, trials_per_speaker: FloatArray
) -> tuple[FloatArray, NDArray[np.str_]]:
    """Return the correlation within speakers for each group, and where it is from."""
    weight = np.where(np.isfinite(group_icc) & (speakers > 1), errors * (speakers - 1), 0)
    with np.errstate(invalid="ignore"):
        pooled = np.divide((np.nan_to_num(group_icc) * weight).sum(), weight.sum())
    has_enough = (speakers >= ENOUGH_SPEAKERS) & (errors >= ENOUGH_ERRORS) & np.isfinite(group_icc)
    icc = np.where(has_enough | np.isnan(pooled), group_icc, pooled)
    # no two trials of a speaker correlate
    icc = np.where(np.isnan(icc) & (trials_per_speaker <= 1), 0, icc)
    return icc, np.select([np.isnan(icc), icc == pooled], ["", "pooled"], default="group")


def _sum_of_others(figures: FloatArray) -> FloatArray:
    return np.asarray(figures.sum() - figures)


def groups_without_pilot(options: PlanOptions) -> Iterator[tuple[Row, PilotGroups]]:
    """Yield a group of which nothing is known but what is given, for each metric with a rate."""
    metrics = [metric for metric in SIDES if options.planned(metric) is not None]
    if not metrics:
        msg = "a plan needs a pilot audit or assumed rates"
        hint = (
            "give --pilot DIR, the folder of an audit, or --rate, --icc and "
            "--trials-per-speaker, for example --rate fnr=0.05"
        )
        raise ConfigError(msg, hint)
    for metric in metrics:
        for field in ("icc", "trials_per_speaker"):
            if metric not in getattr(options, field):
                name = field.replace("_", "-")
                msg = f"--{name} of {metric} is missing"
                hint = f"without --pilot, give --{name} {metric}=X"
                raise ConfigError(msg, hint)
        key = {**dict.fromkeys(KEY, ""), "metric": metric}
        yield key, PilotGroups.from_options(metric, options)


def pilot_groups(table: Table, options: PlanOptions) -> Iterator[tuple[Row, PilotGroups]]:
    """Yield groups of an audit, by each grouping, metric and operating point."""
    if "deff" not in table.columns:
        msg = "the pilot has no design effects"
        hint = "audit again with this version of Parivox"
        raise DataError(msg, hint)
    rows = [
        row
        for row in table.subset(definition="")
        if row["metric"] in SIDES and (row["group"] != "pooled" or row["grouping"] == "all")
    ]
    if not any(row["deff"] is not None or row["metric"] in options.icc for row in rows):
        msg = "the pilot has no design effects, as in audits with --no-intervals or without errors"
        hint = "audit again with intervals, or give --icc, for example --icc fnr=0.1"
        raise DataError(msg, hint)
    # a plan starts with the primary operating point: the first that has a threshold
    points_with_rates = {_point_of(row) for row in rows if row["value"] is not None}
    rows = [row for row in rows if _point_of(row) in points_with_rates]
    chosen_points = _nearest_operating_points(rows, options.target_fpr)
    families: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        sample = (row["system"], row["list"], row["within"])
        if row["operating_point"] == chosen_points.get(sample, row["operating_point"]):
            families.setdefault(tuple(row[name] for name in KEY), []).append(row)
    for family, family_rows in families.items():
        key = dict(zip(KEY, family, strict=True))
        yield key, PilotGroups.from_rows(family_rows, key, options)


def _point_of(row: Row) -> tuple[str, ...]:
    return tuple(row[name] for name in ("system", "list", "within", "operating_point"))


def _nearest_operating_points(
    rows: list[Row], target_fpr: float | None
) -> dict[tuple[str, ...], str]:
    """Return the operating point with the FPR nearest to the target.

    There is one for each system, list and stratum; none without a target.
    """
    if target_fpr is None:
        return {}
    nearest: dict[tuple[str, ...], tuple[float, str]] = {}
    for row in rows:
        if row["metric"] == "fpr" and row["grouping"] == "all":
            distance = abs(math.log(row["value"] / target_fpr)) if row["value"] else math.inf
            sample = (row["system"], row["list"], row["within"])
            if sample not in nearest or distance < nearest[sample][0]:
                nearest[sample] = distance, row["operating_point"]
    return {sample: operating_point for sample, (_, operating_point) in nearest.items()}
