"""bt4vt's numbers next to the exact ones (``--compat bt4vt``): rows of definition "bt4vt"."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

from parivox.auditing.schema import BaseValue
from parivox.core.bt4vt import (
    LocatedValue,
    bt4vt_cdet_at,
    bt4vt_eer,
    bt4vt_eer_ratio,
    bt4vt_min_cdet,
    bt4vt_rates_at,
)
from parivox.core.costs import cdet, min_cdet
from parivox.core.eer import eer
from parivox.facts import fact

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from parivox.auditing.options import Options
    from parivox.auditing.schema import Key, TableBuilder
    from parivox.core.counts import Counts

POINT = "min-cdet"


def compat_metrics(counts: Counts, all_trials: Counts, options: Options) -> dict[Key, BaseValue]:
    """Return EER, raw costs and rates of one cell by bt4vt's rules, as fractions.

    Where the exact value differs, the reason states it. The operating point is bt4vt's: its
    minimum of each cost over all trials, ``min-cdet`` for the first cost and ``min-cdet:NAME`` for
    the others. The cell's own minimum of each cost has no operating point.
    """
    target, nontarget = int(counts.n_target), int(counts.n_nontarget)
    rows: dict[Key, BaseValue] = {}

    def add(key: Key, bt4vt_metric: LocatedValue, exact: float, n_trials: int) -> None:
        metric_value = float(bt4vt_metric.value)
        reason = "" if metric_value == exact else fact("exact_value", exact=float(f"{exact:.9g}"))
        if math.isnan(metric_value):
            reason = "bt4vt_needs_both_classes"
        rows[key] = BaseValue(metric_value, None, n_trials, float(bt4vt_metric.threshold), reason)

    n_all_trials = target + nontarget
    exact = float(eer(counts)) if target and nontarget else math.nan
    add(("eer", "bt4vt", ""), bt4vt_eer(counts), exact, n_all_trials)
    for i, cost in enumerate(options.costs):
        # bt4vt has costs of one prior only
        if len(cost.p_target) > 1:
            continue
        definition_and_point = f"{cost.name} bt4vt", POINT if i == 0 else f"{POINT}:{cost.name}"
        threshold = bt4vt_min_cdet(all_trials, cost=cost).threshold
        curve = counts.at([threshold])
        raw_cost = bt4vt_cdet_at(counts, threshold, cost=cost)
        min_raw_cost = float(min_cdet(counts, cost=cost, normalised=False).value)
        bt4vt_min_cost = bt4vt_min_cdet(counts, cost=cost)
        add(
            ("min_cdet_raw", definition_and_point[0], ""),
            bt4vt_min_cost,
            min_raw_cost,
            n_all_trials,
        )
        add(
            ("cdet_raw", *definition_and_point),
            raw_cost,
            float(cdet(curve, cost, normalised=False)[0]),
            n_all_trials,
        )
        fpr, fnr, nearest = bt4vt_rates_at(counts, threshold)
        add(
            ("fpr", *definition_and_point),
            LocatedValue(fpr, nearest),
            float(curve.fpr[0]),
            nontarget,
        )
        add(("fnr", *definition_and_point), LocatedValue(fnr, nearest), float(curve.fnr[0]), target)
    return rows


def add_compat_ratios(
    rows: TableBuilder,
    audit_keys: Mapping[str, Any],
    groups: Sequence[str],
    group_metrics: Sequence[Mapping[Key, BaseValue]],
    references: Mapping[str, Mapping[Key, BaseValue]],
) -> None:
    """Add bt4vt's ratios of groups to all trials, and to groups that are named as references."""
    for (group, bases), (reference, reference_metrics) in product(
        zip(groups, group_metrics, strict=True), references.items()
    ):
        for (metric, definition, point), base in bases.items():
            reference_value = reference_metrics[metric, definition, point].value
            ratio, reason = math.nan, base.reason if math.isnan(base.value) else ""
            if not reason and reference_value > 0:
                ratio = base.value / reference_value
                if metric == "eer":
                    ratio = bt4vt_eer_ratio(base.value, reference_value)
            elif not reason:
                reason = "zero_reference"
            rows.add(
                **audit_keys,
                group=group,
                metric=metric,
                definition=definition,
                operating_point=point,
                measure="ratio",
                reference=reference,
                zero="none",
                value=ratio,
                reason=reason,
            )
