"""Base metrics of one cell: every row that ``groups.csv`` shows for it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from parivox.auditing.beside import NOTHING
from parivox.auditing.failing import times, with_failures
from parivox.auditing.operating_points import DEPLOYED, missing_class
from parivox.auditing.rows import Base, Key
from parivox.core.costs import act_cdet, bayes_threshold, cdet, min_cdet
from parivox.core.counts import Counts, Curve
from parivox.core.eer import eer
from parivox.core.llr import cllr, min_cllr
from parivox.core.rates import fnr_at_fpr, fpr_at_fnr, hter
from parivox.core.separation import auc, dprime, location
from parivox.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike

    from parivox.auditing.beside import Beside
    from parivox.auditing.operating_points import Found
    from parivox.auditing.options import Options
    from parivox.core.counts import FloatArray
    from parivox.core.separation import TrialClass

__all__ = ["base_metrics", "locations", "shifts"]

_SHIFTS: tuple[tuple[str, TrialClass], ...] = (
    ("shift_target", "target"),
    ("shift_nontarget", "nontarget"),
)
_QUANTILES = {"q05": 0.05, "q25": 0.25, "q50": 0.5, "q75": 0.75, "q95": 0.95}
_NO_LLR = "scores are not declared to be log-likelihood ratios (--llr)"


def base_metrics(
    counts: Counts,
    points: Sequence[Found],
    options: Options,
    metrics: Mapping[str, Callable[[Curve], ArrayLike]],
    beside: Beside = NOTHING,
    *,
    no_curve: str = "",
) -> dict[Key, Base]:
    """Every base metric of one cell but its score shifts.

    Parameters
    ----------
    counts
        The cell's counts.
    points
        Operating points with their thresholds.
    options
        Which costs, EER definitions and rules.
    metrics
        The user's own metrics by name.
    beside
        What else was counted of the cell.
    no_curve
        Why only the operating points can be told; empty if all can.
    """
    cell = _Cell(counts, no_curve)
    rows: dict[Key, Base] = {}
    of_scores = [found for found in points if found.point.rule != DEPLOYED]
    at = counts.at([f.threshold for f in of_scores])
    rows.update(_at_points(_Cell(counts), of_scores, at, options))
    for found in points:
        if found.point.rule == DEPLOYED and beside.deployed is not None:
            levels = list(beside.thresholds or ())
            own = replace(found, threshold=levels[0] if len(levels) == 1 else math.nan)
            decided = _Cell(beside.deployed)
            rows.update(_at_points(decided, [own], beside.deployed.at([1.0]), options))
    if beside.failed is not None:
        rows.update(with_failures(rows, beside, [found.point.text for found in points]))
    if beside.seconds is not None:
        rows.update(times(beside.seconds))
    rows.update(_own_threshold(cell, options))
    rows.update(_at_own_rate(cell, points, options))
    rows.update(_scores(cell, options))
    for name, function in metrics.items():
        if no_curve:
            rows[name, "", ""] = cell.base(math.nan, no_curve)
        else:
            rows.update(_users(cell, name, function, of_scores))
    return rows


class _Cell:
    """A cell's counts with the words for what they lack."""

    def __init__(self, counts: Counts, no_curve: str = "") -> None:
        self.counts = counts
        self.target, self.nontarget = int(counts.n_target), int(counts.n_nontarget)
        self.trials = self.target + self.nontarget
        self.no_target = no_curve or ("" if self.target else "no target trials")
        self.no_nontarget = no_curve or ("" if self.nontarget else "no nontarget trials")
        self.lacks = no_curve or missing_class(self.target, self.nontarget)

    def base(
        self,
        value: float | FloatArray,
        reason: str = "",
        *,
        errors: int | None = None,
        trials: int | None = None,
        threshold: float = math.nan,
    ) -> Base:
        value = math.nan if reason else float(value)
        if math.isnan(value) and not reason:
            reason = self.lacks or "undefined on these scores"
        counted = self.trials if trials is None else trials
        return Base(value, errors, counted, threshold, reason)


def _at_points(
    cell: _Cell, points: Sequence[Found], at: Curve, options: Options
) -> Iterator[tuple[Key, Base]]:
    """Metrics at the common thresholds, or of the decisions that were made."""
    costs = [
        (cost.name, cdet(at, cost, normalised=False), cdet(at, cost)) for cost in options.costs
    ]
    half = hter(at)
    for i, found in enumerate(points):
        text, t = found.point.text, found.threshold
        lost = found.reason  # the point itself was not found
        fp = None if lost else int(at.fp[i])
        fn = None if lost else int(at.fn[i])
        wrong = None if fp is None or fn is None else fp + fn
        yield (
            ("fpr", "", text),
            cell.base(
                at.fpr[i], lost or cell.no_nontarget, errors=fp, trials=cell.nontarget, threshold=t
            ),
        )
        yield (
            ("fnr", "", text),
            cell.base(
                at.fnr[i], lost or cell.no_target, errors=fn, trials=cell.target, threshold=t
            ),
        )
        both = lost or cell.lacks
        for name, raw, norm in costs:
            for metric, value in (("cdet_raw", raw), ("cdet_norm", norm)):
                yield (
                    (metric, name, text),
                    cell.base(value[..., i], both, errors=wrong, threshold=t),
                )
        yield ("hter", "", text), cell.base(half[..., i], both, errors=wrong, threshold=t)


def _own_threshold(cell: _Cell, options: Options) -> Iterator[tuple[Key, Base]]:
    """Metrics that take the cell's own best threshold, or the Bayes one."""
    lacks, counts = cell.lacks, cell.counts
    for cost in options.costs:
        reason = lacks or ("" if options.llr else _NO_LLR)
        single = len(cost.p_target) == 1
        t = bayes_threshold(cost) if single and not reason else math.nan
        at = counts.at([t])
        errors = int(at.fp[0] + at.fn[0]) if single and not reason else None
        value = math.nan if reason else float(act_cdet(counts, cost=cost))
        yield ("act_cdet_norm", cost.name, ""), cell.base(value, reason, errors=errors, threshold=t)
        for metric, normalised in (("min_cdet_norm", True), ("min_cdet_raw", False)):
            if lacks:
                yield (metric, cost.name, ""), cell.base(math.nan, lacks)
                continue
            best = min_cdet(counts, cost=cost, normalised=normalised)
            known = not math.isnan(float(best.threshold))
            yield (
                (metric, cost.name, ""),
                cell.base(
                    best.value,
                    errors=int(best.fp + best.fn) if known else None,
                    threshold=float(best.threshold),
                ),
            )
    for definition in options.eer:
        value = math.nan if lacks else float(eer(counts, definition=definition))
        yield ("eer", definition, ""), cell.base(value, lacks)


def _at_own_rate(
    cell: _Cell, points: Sequence[Found], options: Options
) -> Iterator[tuple[Key, Base]]:
    """One rate where the cell's own other rate is held."""
    for metric, function, held in (
        ("fnr_at_fpr", fnr_at_fpr, "fpr"),
        ("fpr_at_fnr", fpr_at_fnr, "fnr"),
    ):
        levels = [found.point.level for found in points if found.point.rule == held] or [0.01]
        n_held, n_told = cell.nontarget, cell.target
        if held == "fnr":
            n_held, n_told = n_told, n_held
        for level in levels:
            for rule in options.rule:
                key = (metric, f"{level!r} {rule}", "")
                reason = cell.lacks
                if not reason and level * n_held < 1:
                    reason = f"unresolvable: {level!r} is below one error in {n_held} trials"
                if reason:
                    yield key, cell.base(math.nan, reason, trials=n_told)
                    continue
                found = function(cell.counts, target=level, rule=rule)
                t = float(found.threshold)
                at = cell.counts.at([t])
                errors = None if math.isnan(t) else int(at.fn[0] if held == "fpr" else at.fp[0])
                yield key, cell.base(found.value, errors=errors, trials=n_told, threshold=t)


def _scores(cell: _Cell, options: Options) -> Iterator[tuple[Key, Base]]:
    """Metrics of the scores themselves."""
    lacks, counts = cell.lacks, cell.counts
    yield ("auc", "", ""), cell.base(math.nan if lacks else float(auc(counts)), lacks)
    yield ("dprime", "", ""), cell.base(math.nan if lacks else float(dprime(counts)), lacks)
    least = math.nan if lacks else float(min_cllr(counts))
    reason = lacks or ("" if options.llr else _NO_LLR)
    bits = math.nan if reason else float(cllr(counts))
    yield ("cllr", "", ""), cell.base(bits, reason)
    yield ("min_cllr", "", ""), cell.base(least, lacks)
    yield ("cal_loss", "", ""), cell.base(bits - least, reason)


def locations(counts: Counts) -> dict[tuple[str, str], FloatArray]:
    """Mean and quantiles of the scores of either class, which shifts are differences of."""
    found = {}
    for metric, of in _SHIFTS:
        found[metric, "mean"] = location(counts, of=of)
        quantiles = location(counts, of=of, quantile=list(_QUANTILES.values()))
        found |= {(metric, name): quantiles[..., i] for i, name in enumerate(_QUANTILES)}
    return found


def shifts(
    counts: Counts, reference: Mapping[tuple[str, str], FloatArray], *, no_curve: str = ""
) -> dict[Key, Base]:
    """How a cell's scores lie against a reference, in units of score.

    Parameters
    ----------
    counts
        The cell's counts.
    reference
        :func:`locations` of the grouping's pooled row.
    no_curve
        Why nothing can be told of scores; empty if it can.
    """
    cell = _Cell(counts, no_curve)
    rows: dict[Key, Base] = {}
    for (metric, definition), here in locations(counts).items():
        is_target = metric == "shift_target"
        reason = cell.no_target if is_target else cell.no_nontarget
        # plain numbers, which warn of nothing where both are infinite
        value = math.nan if reason else float(here) - float(reference[metric, definition])
        n = cell.target if is_target else cell.nontarget
        rows[metric, definition, ""] = cell.base(value, reason, trials=n)
    return rows


def _users(
    cell: _Cell, name: str, function: Callable[[Curve], ArrayLike], points: Sequence[Found]
) -> Iterator[tuple[Key, Base]]:
    """A user's metric: at the operating points if it keeps that axis, else of the curve."""
    at = _as_group(cell.counts.at([found.threshold for found in points]))
    try:
        with np.errstate(all="ignore"):
            values = np.asarray(function(at), dtype=np.float64)
            per_point = values.shape == at.fp.shape
            if not per_point:
                values = np.asarray(function(_as_group(cell.counts.curve)), dtype=np.float64)
    except Exception as error:
        msg = f"metric {name!r} failed on a cell of {cell.trials} trials: {error!r}"
        raise ConfigError(msg) from error
    if per_point:
        for found, value in zip(points, values[0], strict=True):
            yield (
                (name, "", found.point.text),
                cell.base(value, found.reason, threshold=found.threshold),
            )
        return
    if values.shape != (1,):
        msg = (
            f"metric {name!r} gave shape {values.shape} for counts of one group; return one value "
            "a group, or one a group and threshold"
        )
        raise ConfigError(msg)
    yield (name, "", ""), cell.base(values[0])


def _as_group(curve: Curve) -> Curve:
    """The same curve with a group axis of length one."""
    one = (curve.fp[None], curve.fn[None], curve.n_target[None], curve.n_nontarget[None])
    return Curve(curve.thresholds, *one)
