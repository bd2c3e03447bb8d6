"""The tandem cost (t-DCF) of a cascade: one row for all trials, none by group.

Its normaliser contains the error rates of the verification system, so that the costs of two groups
would have different units. Rates of the countermeasure are over rows of trials, as in the package
of ASVspoof.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parivox.auditing.cascade import COUNTERMEASURE_SCORE, VERIFICATION_SCORE
from parivox.auditing.operating_points import NO_TRIALS
from parivox.auditing.schema import CASCADE_SOURCE
from parivox.core.costs import COST_MODELS
from parivox.core.counts import Counts
from parivox.core.spoof import TandemCost
from parivox.facts import fact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parivox.auditing.operating_points import LocatedPoint
    from parivox.auditing.schema import TableBuilder
    from parivox.core.costs import CostModel
    from parivox.core.counts import FloatArray
    from parivox.data.trial_set import TrialSet

TANDEM_COST, TANDEM_COST_RAW, MIN_TANDEM_COST = "tdcf", "tdcf_raw", "min_tdcf"
TANDEM_ITEMS: tuple[str, ...] = (TANDEM_COST, TANDEM_COST_RAW, MIN_TANDEM_COST)
"""The normalised and the raw cost at the threshold of the countermeasure; the smallest one."""
_DEFAULT_COST = COST_MODELS["asvspoof5"]
_TARGET, _NONTARGET, _SPOOF = range(3)


def add_tandem_rows(
    table: TableBuilder,
    trials: TrialSet,
    points: Sequence[LocatedPoint],
    costs: Sequence[CostModel],
) -> None:
    """Add the t-DCF of all trials, with the verification system at the first operating point.

    That is the first with a threshold. The cost model is the first with spoof trials, else that of
    ASVspoof 5.
    """
    cost = next((model for model in costs if model.has_spoof), _DEFAULT_COST)
    thresholds = [point.threshold for point in points if not np.isnan(point.threshold)]
    values, reason = dict.fromkeys(TANDEM_ITEMS, np.nan), ""
    if not thresholds:
        reason = points[0].reason or "no_common_threshold"
    else:
        values, reason = _costs(trials, thresholds[0], cost)
    for item, value in values.items():
        table.add(
            system=trials.system,
            list=trials.list,
            source=CASCADE_SOURCE,
            grouping="all",
            group="all",
            item=fact(item, cost=cost.name),
            value=value,
            note=reason,
        )


def _costs(trials: TrialSet, threshold: float, cost: CostModel) -> tuple[dict[str, float], str]:
    """Return the costs by item, and why there are none."""
    n_accepted, n_trials = np.zeros((2, 3), dtype=np.int64)
    scores: list[FloatArray] = []
    classes = []
    for partition in trials.partitions():
        valid_trials = partition.without_conflicts()
        trial_class = np.where(
            valid_trials.target, _TARGET, np.where(valid_trials.spoof, _SPOOF, _NONTARGET)
        )
        is_accepted = valid_trials.extra_columns[VERIFICATION_SCORE] >= threshold
        n_trials += np.bincount(trial_class, minlength=3)
        n_accepted += np.bincount(trial_class[is_accepted], minlength=3)
        scores.append(valid_trials.extra_columns[COUNTERMEASURE_SCORE])
        classes.append(trial_class)
    undefined = dict.fromkeys(TANDEM_ITEMS, np.nan)
    for class_index, metric in enumerate(("fnr", "fpr", "sfar")):
        if not n_trials[class_index]:
            return undefined, NO_TRIALS[metric]
    accepted = (n_accepted / n_trials).tolist()
    tandem_cost = TandemCost.from_rates(
        cost, fnr=1 - accepted[_TARGET], fpr=accepted[_NONTARGET], sfar=accepted[_SPOOF]
    )
    if np.isnan(tandem_cost.default):
        return undefined, "verification_costs_more_than_rejecting_all"
    is_bona_fide = np.concatenate(classes) != _SPOOF
    countermeasure = Counts.from_scores(np.concatenate(scores), is_bona_fide)
    raw = float(tandem_cost.at(countermeasure, [trials.first_stage_threshold or 0.0])[0])
    smallest = float(tandem_cost.at(countermeasure).min())
    values = (raw / tandem_cost.default, raw, smallest / tandem_cost.default)
    return dict(zip(TANDEM_ITEMS, values, strict=True)), ""
