"""Conclusions at each operating point: verdicts, speakers with most errors, trends.

Speakers are listed with their ids, and only with the option that asks for it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.auditing.attacks import ATTACK_DEPENDENT
from parivox.auditing.limits import UNDEFINED_REASONS
from parivox.auditing.operating_points import NO_TRIALS
from parivox.auditing.schema import IS_REFERENCE
from parivox.auditing.verdict_facts import (
    DIFFERENT,
    ComparedGroups,
    RateVerdict,
    SystemVerdict,
    joint_fact,
    ratio_values,
)
from parivox.core.beyond_noise import welch
from parivox.core.cluster_errors import safe_divide
from parivox.core.confounding import trend
from parivox.core.intervals import UNKNOWN_SPEAKERS
from parivox.core.verdict import (
    asked_together,
    benjamini_hochberg,
    holm,
    of_hypotheses,
    of_lower,
    overall,
    verdicts,
)
from parivox.facts import fact

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.attacks import OtherAttacks
    from parivox.auditing.bias import ReferenceRatios
    from parivox.auditing.intervals import Uncertainty
    from parivox.auditing.operating_points import LocatedPoint
    from parivox.auditing.options import Options
    from parivox.auditing.schema import Key, TableBuilder
    from parivox.auditing.speaker_errors import SpeakerErrors
    from parivox.core.counts import FloatArray
    from parivox.core.intervals import Interval
    from parivox.core.verdict import Verdicts
    from parivox.data.grouping import Grouping

BOTH = "fpr+fnr"
"""All error types together: with spoof trials, three."""
MAX_OFFENDERS = 10
"""Speakers listed for one group, error and operating point."""

TREND = "trend"
BELOW_MINIMUM = "below_minimum"
"""Reason code: a group has too few speakers to be judged."""
NO_COMMON_ATTACK = "no_common_attack"
"""Reason code: a group and what it is compared with faced different attacks only."""
_EQUAL_VARIATION = "if_equal_variation"
"""The assumption of equal-rates draws, named where no other test shows the difference."""
_N_PAIR = 2


# --- verdicts ------------------------------------------------------------------------------------


def add_verdict_rows(
    rows: TableBuilder,
    audit_keys: Mapping[str, Any],
    groups: Sequence[str],
    located_points: Sequence[LocatedPoint],
    ratios_by_rate: Mapping[tuple[str, str], ReferenceRatios],
    heterogeneity_p: Mapping[Key, float],
    uncertainty: Uncertainty,
    options: Options,
    *,
    primary_point: Mapping[str, Any],
    other_attacks: Mapping[str, OtherAttacks],
) -> None:
    """Add the verdict on every group and on the system, whose rows have no group.

    `ratios_by_rate` are ratios to the first reference, by metric and operating point;
    `other_attacks` tells by operating point whether those of spoof accepts hold for other attacks;
    `heterogeneity_p` is p of all groups at once. Verdicts at the `primary_point`, its grouping
    included, are confirmatory.
    """
    rates, reference = uncertainty.group_errors.rates, options.reference[0]
    is_compared = np.array([group != reference for group in groups])
    for point_index, located in enumerate(located_points):
        point = located.point.text
        if located.reason or any((rate, point) not in ratios_by_rate for rate in rates):
            continue
        ratios = [ratios_by_rate[rate, point] for rate in rates]
        p = np.where(is_compared, np.stack([ratio.p for ratio in ratios]), np.nan)
        p_of_all = np.array([heterogeneity_p.get((rate, "", point), np.nan) for rate in rates])
        has_common_attack = _has_common_attack(rates, groups, other_attacks.get(point))
        # what cannot be compared is no hypothesis
        p[~has_common_attack] = p_of_all[~has_common_attack.all(axis=-1)] = np.nan
        adjusted = _adjusted_p(p, p_of_all, reference)
        point_columns = {"operating_point": point, "reference": reference, "margin": options.margin}
        is_primary = primary_point.items() <= {**audit_keys, **point_columns}.items()
        point_columns["confirmatory"] = is_primary
        no_verdict_reasons = [
            _no_verdict_reasons(rate, groups, uncertainty, options, has_common_attack[i])
            for i, rate in enumerate(rates)
        ]
        rate_verdicts = _rate_verdicts(ratios, adjusted.p_holm, no_verdict_reasons, options)
        ratios_without_worst = [ratio.without_worst or ratio for ratio in ratios]
        p_of_lower = np.stack([of_lower(ratio.p, ratio.ratio) for ratio in ratios_without_worst])
        verdicts_without_worst = _rate_verdicts(
            ratios_without_worst,
            _adjusted_p(p_of_lower, p_of_all, reference).p_holm,
            no_verdict_reasons,
            options,
        )
        worst_groups = _decisive_worst_groups(rate_verdicts, verdicts_without_worst, ratios)
        add = partial(rows.add, **audit_keys, **point_columns)
        for i, (metric, ratio, verdict) in enumerate(
            zip(rates, ratios, rate_verdicts, strict=True)
        ):
            # a ratio needs p below this, so that Holm's adjusted p is below alpha
            attack_conditions = _attack_conditions(metric, verdict, other_attacks.get(point))
            is_attack_dependent = [ATTACK_DEPENDENT in values for values in attack_conditions]
            max_p = (1 - options.confidence) * safe_divide(ratio.p, adjusted.p_holm[i], 1.0)
            add(
                group=list(groups),
                metric=metric,
                ratio=ratio.ratio,
                low=ratio.low,
                high=ratio.high,
                p=ratio.p,
                p_holm=adjusted.p_holm[i],
                p_bh=adjusted.p_bh[i],
                verdict=verdict.code,
                gates=uncertainty.unmet_minimums(metric, point),
                sentence=_rate_facts(
                    metric,
                    verdict,
                    reference,
                    worst_groups[i],
                    ratios_without_worst[i],
                    attack_conditions,
                    unchecked=ratio.has_shared_trials,
                ),
                reason=np.where(is_attack_dependent, ATTACK_DEPENDENT, verdict.reason),
                because_of=worst_groups[i],
                **uncertainty.best_guesses.ratio_columns(
                    metric, point, ratio.low, ratio.high, max_p
                ),
            )
        codes = np.stack([verdict.code for verdict in rate_verdicts])
        reasons = np.stack([verdict.reason for verdict in rate_verdicts])
        all_groups = ComparedGroups(list(groups), codes, worst_groups, reasons)
        joint_facts = [
            joint_fact(
                dict(zip(rates, group_codes, strict=True)),
                dict(zip(rates, worst_of_rates, strict=True)),
            )
            for group_codes, worst_of_rates in zip(
                codes.T.tolist(), worst_groups.T.tolist(), strict=True
            )
        ]
        add(
            group=list(groups),
            metric=BOTH,
            verdict=overall(codes.T),
            sentence=np.where(is_compared, joint_facts, IS_REFERENCE),
            because_of=[" and ".join(worst) for worst in all_groups.worst_by_group()],
        )
        welch_p = np.array(
            [_welch_p(uncertainty.point_intervals[rate], point_index) for rate in rates]
        )
        indices_by_metric = {rate: [i] for i, rate in enumerate(rates)}
        indices_by_metric[BOTH] = [*range(len(rates))]
        for metric, rate_indices in indices_by_metric.items():
            compared = ComparedGroups(
                all_groups.groups,
                codes[rate_indices],
                worst_groups[rate_indices],
                reasons[rate_indices],
            ).select(is_compared)
            add(
                group="",
                metric=metric,
                **_system_columns(
                    compared,
                    len(groups),
                    adjusted.p_of_all[rate_indices],
                    adjusted.p_of_all_holm[rate_indices],
                    welch_p[rate_indices],
                    located,
                    options,
                ),
            )


def _system_columns(
    compared: ComparedGroups,
    n_groups: int,
    p_of_all: FloatArray,
    p_of_all_holm: FloatArray,
    welch_p: FloatArray,
    located: LocatedPoint,
    options: Options,
) -> dict[str, Any]:
    """Return verdict, sentence and p of the system, in one rate or in both.

    `p_of_all` is the test of all groups at once, plain and adjusted by Holm, and `welch_p` Welch's,
    which does not take the variation between speakers to be similar in all groups; each
    ``[metric]``.
    """
    alpha = 1 - options.confidence
    is_significant = p_of_all_holm < alpha
    differs = bool(is_significant.any())
    code, assumption = str(overall(compared.codes.reshape(-1))), ""
    if code == "inconclusive" and differs:
        code = "differs"
        # of two groups, the test is that of their ratio, which assumes no such thing
        if n_groups > _N_PAIR and not (welch_p[is_significant] < alpha).any():
            assumption = _EQUAL_VARIATION
    columns: dict[str, Any] = {"verdict": code, "reason": assumption}
    tested_p = np.nan
    if p_of_all.size == 1 and not np.isnan(p_of_all[0]):
        tested_p = float(p_of_all_holm[0])
        columns |= {"p": p_of_all[0], "p_holm": tested_p}
    system_verdict = SystemVerdict(
        code,
        compared,
        located.threshold,
        options.margin,
        n_groups,
        tested_p,
        differs,
        assumption,
        options.reference[0],
    )
    return columns | {"sentence": system_verdict.facts()}


def _welch_p(rates: Interval, point_index: int) -> float:
    """Return Welch's p of one rate of all groups at a point, whose speakers may vary unequally."""
    return float(welch(*(column[point_index, :-1] for column in (rates.rate, rates.se, rates.df))))


class _AdjustedP(NamedTuple):
    """P values of groups, ``[metric, group]``, and of all groups at once, ``[metric]``."""

    p_holm: FloatArray
    p_bh: FloatArray
    p_of_all: FloatArray
    p_of_all_holm: FloatArray


def _adjusted_p(p: FloatArray, p_of_all: FloatArray, reference: str) -> _AdjustedP:
    """Return p of groups adjusted by Holm and by BH, and p of all groups, plain and adjusted.

    With two groups the ratio is the test of both, and of all.
    """
    hypotheses = of_hypotheses(p, reference)
    p_holm, p_bh = (
        np.where(np.isnan(p), np.nan, adjust(hypotheses.reshape(-1)).reshape(hypotheses.shape))
        for adjust in (holm, benjamini_hochberg)
    )
    if hypotheses.shape != p.shape:
        return _AdjustedP(p_holm, p_bh, hypotheses[:, 0], np.fmax.reduce(p_holm, axis=-1))
    p_holm, p_of_all_holm = asked_together(p_holm, holm(p_of_all))
    return _AdjustedP(p_holm, p_bh, p_of_all, p_of_all_holm)


def _no_verdict_reasons(
    metric: str,
    groups: Sequence[str],
    uncertainty: Uncertainty,
    options: Options,
    has_common_attack: NDArray[np.bool_],
) -> list[str]:
    """Return why each group has no verdict; empty where it may have one."""
    min_speakers, reference = options.minimums.inference, options.reference[0]
    speakers = uncertainty.rate_intervals.n_units[metric][:-1]
    reasons = np.where(speakers < min_speakers, fact(BELOW_MINIMUM, speakers=min_speakers), "")
    lacks_test_speakers = uncertainty.metrics_lack_test_speakers([metric])[0]
    # other references are made of all groups, whose pooled row is the last cell
    reference_index = list(groups).index(reference) if reference in groups else -1
    lacks_them = lacks_test_speakers[:-1] | lacks_test_speakers[reference_index]
    reasons = np.where(lacks_them, UNKNOWN_SPEAKERS, reasons)
    reasons = np.where(has_common_attack, reasons, NO_COMMON_ATTACK)
    group_reasons = np.where(speakers > 0, reasons, NO_TRIALS[metric]).tolist()
    return [
        IS_REFERENCE if group == reference else reason
        for group, reason in zip(groups, group_reasons, strict=True)
    ]


def _has_common_attack(
    rates: Sequence[str], groups: Sequence[str], other_attacks: OtherAttacks | None
) -> NDArray[np.bool_]:
    """Return which comparisons are of groups that faced any attack both, ``[metric, group]``."""
    has_common_attack = np.ones((len(rates), len(groups)), dtype=np.bool_)
    if other_attacks is not None and other_attacks.has_common_attack is not None:
        has_common_attack[[*rates].index("sfar")] = other_attacks.has_common_attack
    return has_common_attack


def _attack_conditions(
    metric: str, verdict: Verdicts, other_attacks: OtherAttacks | None
) -> list[dict[str, Any]]:
    """Return what verdicts of a difference in spoof accepts hold for; empty for all others."""
    differs = np.isin(verdict.code, DIFFERENT).tolist()
    if metric != "sfar" or other_attacks is None:
        return [{} for _ in differs]
    return [
        condition if is_different else {}
        for is_different, condition in zip(differs, other_attacks.conditions(), strict=True)
    ]


def _rate_verdicts(
    ratios: Sequence[ReferenceRatios],
    p: FloatArray,
    reasons_without_verdict: Sequence[list[str]],
    options: Options,
) -> list[Verdicts]:
    """Return the verdict on each group in either rate."""
    return [
        verdicts(
            ratio.ratio,
            ratio.low,
            ratio.high,
            p_adjusted,
            unmet_minimum=reasons,
            pooled=ratio.pooled_rate,
            confidence=options.confidence,
            margin=options.margin,
        )
        for ratio, p_adjusted, reasons in zip(ratios, p, reasons_without_verdict, strict=True)
    ]


def _decisive_worst_groups(
    rate_verdicts: Sequence[Verdicts],
    verdicts_without_worst: Sequence[Verdicts],
    ratios: Sequence[ReferenceRatios],
) -> NDArray[np.object_]:
    """Return the worst group where a group is better only because of it, ``[metric, group]``.

    See docs/methods/verdicts.md#better-than-which-groups.
    """
    is_better_with, is_better_without = (
        np.stack([verdict.code == "better" for verdict in verdicts_of_rates])
        for verdicts_of_rates in (rate_verdicts, verdicts_without_worst)
    )
    worst_group = np.array([[ratio.worst_group] for ratio in ratios], dtype=object)
    return np.where(is_better_with & ~is_better_without, worst_group, "")


def _rate_facts(
    metric: str,
    verdict: Verdicts,
    reference: str,
    worst_groups: NDArray[np.object_],
    ratio_without_worst: ReferenceRatios,
    attack_conditions: Sequence[Mapping[str, Any]],
    *,
    unchecked: bool,
) -> list[str]:
    """Return what is found of each group in one rate.

    `attack_conditions` are what verdicts on spoof accepts hold for. With `unchecked`, the ratios
    without the worst group are unknown.
    """
    columns = (
        verdict.code,
        verdict.reason,
        verdict.ratio,
        verdict.low,
        verdict.high,
        worst_groups,
        ratio_without_worst.ratio,
        ratio_without_worst.low,
        ratio_without_worst.high,
    )
    facts = []
    for (code, reason, ratio, low, high, worst_group, *numbers_without), attack_condition in zip(
        zip(*[column.tolist() for column in columns], strict=True), attack_conditions, strict=True
    ):
        condition: dict[str, Any] = {}
        if worst_group:
            condition = {"without": {"groups": [worst_group]} | ratio_values(*numbers_without)}
        elif unchecked and code == "better":
            condition = {"unchecked": True}
        condition |= attack_condition
        facts.append(
            RateVerdict(metric, code, reason, ratio, low, high, reference, condition).fact()
        )
    return facts


# --- speakers with most errors -------------------------------------------------------------------


def add_offender_rows(
    rows: TableBuilder,
    audit_keys: Mapping[str, str],
    groups: Sequence[str],
    errors_of_cells: SpeakerErrors,
    located_points: Sequence[LocatedPoint],
    speaker_ids: Sequence[str],
) -> None:
    """Add the speakers with most errors of each cell at each operating point, with their ids.

    `errors_of_cells` are the errors by speaker of each cell, `speaker_ids` the ids by number.
    """
    for metric in errors_of_cells.rates:
        unit_errors = errors_of_cells.for_rate(metric)
        # in the order of sums by speaker
        cell, speaker = unit_errors.cell_speakers
        errors, trials = np.broadcast_arrays(unit_errors.errors, unit_errors.trials)
        totals = unit_errors.sum_by_cell(errors)
        for point_index, located in enumerate(located_points):
            if located.reason:
                continue
            n_errors, n_trials = (
                unit_errors.sum_by_speaker(counts[point_index]) for counts in (errors, trials)
            )
            for group_index, group in enumerate(groups):
                with_errors = np.flatnonzero((cell == group_index) & (n_errors > 0))
                order = np.lexsort((speaker[with_errors], -n_errors[with_errors]))
                most_errors = with_errors[order][:MAX_OFFENDERS]
                rows.add(
                    **audit_keys,
                    group=group,
                    metric=metric,
                    operating_point=located.point.text,
                    speaker=[speaker_ids[number] for number in speaker[most_errors]],
                    errors=n_errors[most_errors].astype(np.int64),
                    trials=n_trials[most_errors].astype(np.int64),
                    share=n_errors[most_errors] / max(totals[point_index, group_index], 1),
                )


# --- trends --------------------------------------------------------------------------------------


def add_trend_rows(
    rows: TableBuilder,
    audit_keys: Mapping[str, Any],
    grouping: Grouping,
    located_points: Sequence[LocatedPoint],
    uncertainty: Uncertainty,
    options: Options,
) -> None:
    """Add log odds of an error per unit of the number that a grouping's bands are made of.

    The unit is the power of ten that fits into the range of the numbers, such as ten years of age.
    The group is then the attribute itself, and the definition the unit.
    """
    if grouping.speaker_numbers is None:
        return
    numbers, attribute = grouping.speaker_numbers, grouping.attributes[0].rpartition(":")[0]
    unit = _trend_unit(numbers[np.unique(uncertainty.pooled_errors.target.speaker)])
    for metric in uncertainty.pooled_errors.rates:
        for point_index, located in enumerate(located_points):
            errors_at_point = uncertainty.pooled_errors.for_rate(metric).operating_point(
                point_index
            )
            row_keys = {
                "group": attribute,
                "metric": metric,
                "definition": f"per {unit:g}",
                "operating_point": located.point.text,
                "measure": TREND,
                "zero": "none",
            }
            if errors_at_point.has_unknown_speakers.any():
                rows.add(**audit_keys, **row_keys, reason=located.reason or UNKNOWN_SPEAKERS)
                continue
            if located.reason:
                rows.add(**audit_keys, **row_keys, reason=located.reason)
                continue
            fitted = trend(errors_at_point, numbers / unit, options.confidence)
            code = str(fitted.reason[0])
            rows.add(
                **audit_keys,
                **row_keys,
                value=float(fitted.slope[0]),
                low=float(fitted.low[0]),
                high=float(fitted.high[0]),
                p=float(fitted.p[0]),
                reason=UNDEFINED_REASONS.get(code, code),
            )


def _trend_unit(numbers: FloatArray) -> float:
    """Return the power of ten that fits into the range of most numbers."""
    known_numbers = numbers[~np.isnan(numbers)]
    if not known_numbers.size:
        return 1.0
    low, high = np.quantile(known_numbers, [0.05, 0.95])
    return float(10.0 ** np.floor(np.log10(high - low))) if high > low else 1.0
