"""Thresholds fitted on the trials of some speakers: one for all, and by every rule for each group.

See docs/methods/thresholds.md#rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parivox.core.counts import Counts
from parivox.core.crossfit import held_out, outside, sides
from parivox.core.intervals import level, rate_interval
from parivox.core.rates import threshold_at_fnr, threshold_at_fpr
from parivox.core.shrinkage import log_rates, shrunken
from parivox.core.tallies import ByPair, BySpeaker, moments, numbered
from parivox.core.verdict import holm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parivox.core.counts import FloatArray, IntArray
    from parivox.core.intervals import Interval
    from parivox.mitigation.aims import Aim

    Bools = NDArray[np.bool_]

COMMON, PER_GROUP, BETWEEN = "common", "per group", "between"
RULES = (COMMON, PER_GROUP, BETWEEN)
RATES = ("fpr", "fnr")
FEWEST = 5
"""Enrolled speakers with trials of either class that the threshold of a group is fitted on."""


class Behind(NamedTuple):
    """Trials of one class by who takes part in them, in cells."""

    rows: NDArray[np.intp]  # of these trials
    entry: NDArray[np.integer]  # that each counts in
    tally: BySpeaker | ByPair  # without errors
    bits: IntArray  # folds of the speakers of each entry

    @classmethod
    def of(
        cls,
        rows: NDArray[np.intp],
        cell: NDArray[np.integer],
        who: Sequence[IntArray],
        fold: IntArray,
        n_cells: int,
    ) -> Behind:
        """Tally trials by cell and by one speaker, or two who are in order."""
        n = fold.size
        size = n ** len(who)
        person = who[0] if len(who) == 1 else who[0] * n + who[1]
        codes, entry = numbered(cell * size + person, n_cells * size)
        at, number = np.divmod(codes, size)
        none = np.zeros(codes.size, dtype=np.int64)
        counts = (none, np.bincount(entry, minlength=codes.size), n_cells)
        if len(who) == 1:
            return cls(rows, entry, BySpeaker(at, number, *counts), 1 << fold[number])
        one, other = np.divmod(number, n)
        bits = (1 << fold[one]) | (1 << fold[other])
        return cls(rows, entry, ByPair(at, one, other, *counts), bits)

    def with_errors(self, wrong: Bools, held: int = 0) -> BySpeaker | ByPair:
        """The tally of those outside the folds held out, with the trials that went wrong."""
        errors = np.bincount(self.entry[wrong[self.rows]], minlength=self.tally.cell.size)
        if not held:
            return self.tally.chosen(errors=errors)
        kept = outside(self.bits, held)
        return self.tally.chosen(kept, errors=errors[kept])


class Sorted(NamedTuple):
    """Trials in the order of their scores, with the folds of both speakers as bits."""

    score: FloatArray
    target: Bools
    bits: NDArray[np.uint16]

    @classmethod
    def of(cls, score: FloatArray, target: Bools, bits: IntArray) -> Sorted:
        """Put trials in order."""
        order = np.argsort(score, kind="stable")
        return cls(score[order], target[order], bits[order].astype(np.uint16))

    def without(self, held: int) -> Counts:
        """Counts of the trials of no speaker in the folds held out."""
        kept = outside(self.bits, held)
        return Counts.from_sorted(self.score[kept], self.target[kept])


@dataclass(frozen=True, eq=False)
class Material:
    """Trials of one list with their folds."""

    score: FloatArray  # shape (trial,)
    target: Bools
    group: NDArray[np.int32]  # those of unknown group come last, as one more
    bits: IntArray  # folds of both speakers
    groups: tuple[str, ...]
    folds: int
    by_group: dict[str, Behind]  # of each rate, the trials in which it is erred
    everyone: dict[str, Behind]
    enrolled: IntArray
    """Speakers whose group it is, with nontarget and with target trials, ``[class, group, fold]``.
    """

    @classmethod
    def of(
        cls,
        score: FloatArray,
        target: Bools,
        speakers: tuple[IntArray, IntArray],
        owner: IntArray,
        group: NDArray[np.int32],
        fold: IntArray,
        groups: tuple[str, ...],
    ) -> Material:
        """Tally who is behind the trials.

        `speakers` are those of both sides, `owner` the one whose group, -1 for none, is asked for.
        """
        n_groups, folds = len(groups), int(fold.max(initial=0)) + 1
        group = np.where(group < 0, n_groups, group).astype(np.int32)
        one, other = np.minimum(*speakers), np.maximum(*speakers)
        by_group, everyone = {}, {}
        enrolled = np.zeros((2, n_groups + 1, folds), dtype=np.int64)
        for rate, is_target in (("fpr", False), ("fnr", True)):
            rows = np.flatnonzero(target == is_target)
            who = (one[rows],) if is_target else (one[rows], other[rows])
            cell = group[rows].astype(np.int64)
            by_group[rate] = Behind.of(rows, cell, who, fold, n_groups + 1)
            everyone[rate] = Behind.of(rows, np.zeros_like(cell), who, fold, 1)
            known = np.unique(cell * fold.size + owner[rows])
            np.add.at(enrolled[int(is_target)], (known // fold.size, fold[known % fold.size]), 1)
        return cls(
            *(score, target, group, sides(fold[one], fold[other]), groups, folds),
            *(by_group, everyone, enrolled[:, :n_groups]),
        )

    def in_order(self, rates: Sequence[str]) -> tuple[Sorted, list[Sorted]]:
        """All trials in which such rates are told, and those of each group."""
        every = np.isin(self.target, [rate == "fnr" for rate in rates])
        chosen = [every, *(every & (self.group == g) for g in range(len(self.groups)))]
        everything, *groups = (
            Sorted.of(self.score[rows], self.target[rows], self.bits[rows]) for rows in chosen
        )
        return everything, groups

    def too_small(self, aim: Aim) -> list[str]:
        """Why a group has no threshold of its own; empty where it may have one.

        In every fit that trials are judged by, it needs `FEWEST` speakers of its own with trials of
        either class, and enough trials for the rate aimed at.
        """
        inside = np.array(
            [[not held >> k & 1 for k in range(self.folds)] for held in held_out(self.folds)]
        )
        speakers = (self.enrolled[:, :, None] * inside).sum(axis=-1).min(axis=(0, 2))
        reasons = []
        for g, n in enumerate(speakers.tolist()):
            if n < FEWEST:
                reasons.append(f"{n} of its speakers are left to fit on, {FEWEST} needed")
                continue
            rule = aim.point.rule
            if rule not in {"fpr", "fnr"}:
                reasons.append("")
                continue
            bits = self.bits[(self.group == g) & (self.target == (rule == "fnr"))]
            of = np.bincount(bits, minlength=1 << self.folds)
            fewest = min(
                int(of[(np.arange(of.size) & held) == 0].sum()) for held in held_out(self.folds)
            )
            is_few = aim.point.level * fewest < 1
            reasons.append(
                f"{aim.point.text} is below one error in the {fewest} trials left to fit on"
                if is_few
                else ""
            )
        return reasons


class Fit(NamedTuple):
    """Thresholds of each rule for each group, the last one for people of unknown group."""

    thresholds: FloatArray  # [rule, group + 1], in the order of `RULES`
    kept: (
        FloatArray  # share of its difference to the common threshold that `BETWEEN` keeps, [group]
    )


def fits_of(material: Material, aim: Aim, may: Bools, most: int) -> dict[int, Fit]:
    """The fit without each set of at most so many folds.

    `may` says which groups may have a threshold of their own.
    """
    together, apart = material.in_order(aim.rates)
    return {
        held: _fit(
            *(material, aim, may, held, together.without(held)),
            [one.without(held) for one in apart],
        )
        for held in held_out(material.folds, most).tolist()
    }


def _fit(
    material: Material, aim: Aim, may: Bools, held: int, everything: Counts, groups: list[Counts]
) -> Fit:
    """Find the thresholds of every rule without the speakers of the folds held out."""
    n_groups = len(groups)
    common = aim.common_of(everything, groups)
    own = np.full(n_groups, common)
    for g in np.flatnonzero(may).tolist():
        found = float(aim.point.threshold_of(groups[g]))
        own[g] = found if np.isfinite(found) else common
    rate = _rates_at(material, aim.rates[0], np.full(n_groups + 1, common), held)
    known = log_rates(np.where(may, rate.rate, np.nan), rate.n_eff)
    kept = np.where(may, shrunken(*known, np.arange(n_groups)[:, None]).kept, 0)
    each = np.stack((np.full(n_groups, common), own, common + kept * (own - common)))
    return Fit(np.column_stack((each, np.full(len(RULES), common))), kept)


class Apart(NamedTuple):
    """Whether the threshold of a group is another one than that for all, shape (group,)."""

    p: FloatArray
    """That its rates at the common threshold are those aimed at, adjusted for all groups."""
    low: FloatArray
    high: FloatArray
    """Limits of its own threshold, where it is found by one rate."""


def tell_apart(material: Material, aim: Aim, may: Bools, whole: Fit, confidence: float) -> Apart:
    """Hold the rates of each group at the common threshold against those aimed at.

    See docs/methods/thresholds.md#told-apart.
    """
    n_groups = len(material.groups)
    common, own, _ = whole.thresholds
    together, apart = material.in_order(RATES)
    p = []
    for rate in aim.rates:
        found = _rates_at(material, rate, common)
        is_aimed = len(aim.rates) == 1
        curve = together.without(0).at(common[:1])
        p.append(level(found, aim.point.level if is_aimed else getattr(curve, rate)[0]))
    adjusted = holm(np.where(may, p, np.nan).ravel()).reshape(-1, n_groups)
    least = np.where(may, np.fmin.reduce(adjusted), np.nan)
    low, high = np.full((2, n_groups), np.nan)
    if len(aim.rates) == 1:
        (rate,) = aim.rates
        at = threshold_at_fpr if rate == "fpr" else threshold_at_fnr
        told = _rates_at(material, rate, own, confidence=confidence)
        for g in np.flatnonzero(may & (told.method != "")).tolist():
            curve = apart[g].without(0).curve
            low[g], high[g] = sorted(
                float(at(curve, float(end[g]))) for end in (told.low, told.high)
            )
    return Apart(least, low, high)


def _rates_at(
    material: Material, rate: str, thresholds: FloatArray, held: int = 0, confidence: float = 0.95
) -> Interval:
    """A rate of each group at its threshold, of the speakers outside the folds held out."""
    accepted = material.score >= thresholds[material.group]
    tally = material.by_group[rate].with_errors(accepted if rate == "fpr" else ~accepted, held)
    return rate_interval(moments(tally.part(0, len(material.groups))), confidence)
