"""Conclusions at each operating point: verdicts, speakers with most errors, trends.

Speakers are listed with their ids, and only with the option that asks for it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.auditing.limits import UNDEFINED_REASONS
from parivox.auditing.operating_points import NO_TRIALS
from parivox.core.beyond_noise import welch
from parivox.core.cluster_errors import safe_divide
from parivox.core.confounding import trend
from parivox.core.intervals import UNKNOWN_SPEAKERS
from parivox.core.measures import RATES
from parivox.core.verdict import (
    INCONCLUSIVE_REASONS,
    asked_together,
    benjamini_hochberg,
    holm,
    joint,
    not_without,
    of_hypotheses,
    of_lower,
    overall,
    sentence,
    verdicts,
)
from parivox.facts import fact, facts_of_cell

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

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
_REFERENCE_NAMES = {
    "others": "all other groups combined",
    "pooled": "all groups pooled",
    "macro": "the mean of the groups",
    "geomean": "the geometric mean of the groups",
    "best": "the best group",
}
MAX_OFFENDERS = 10
"""Speakers listed for one group, error and operating point."""

TREND = "trend"
_DIFFERENT = ("worse", "better")
_UNCHECKED = " (not checked without the worst group, as trials count for two groups)"
IS_REFERENCE = "is_reference"
"""Reason code: a group is what the others are compared with."""
BELOW_MINIMUM = "below_minimum"
"""Reason code: a group has too few speakers to be judged."""
_EQUAL_VARIATION = "if_equal_variation"
_EQUAL_VARIATION_TEXT = "if variation between speakers is similar in all groups"
"""The assumption of equal-rates draws, named where no other test shows the difference."""
_N_PAIR = 2
_MIN_SHOWN_P = 0.001  # smaller ones are shown as p < 0.001


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
) -> None:
    """Add the verdict on every group and on the system, whose rows have no group.

    `ratios_by_rate` are ratios to the first reference, by metric and operating point;
    `heterogeneity_p` is p of all groups at once. Verdicts at the `primary_point`, its grouping
    included, are confirmatory.
    """
    reference = options.reference[0]
    is_compared = np.array([group != reference for group in groups])
    for point_index, located in enumerate(located_points):
        point = located.point.text
        if located.reason or any((metric, point) not in ratios_by_rate for metric in RATES):
            continue
        ratios = [ratios_by_rate[metric, point] for metric in RATES]
        p = np.where(is_compared, np.stack([ratio.p for ratio in ratios]), np.nan)
        p_of_all = np.array([heterogeneity_p.get((metric, "", point), np.nan) for metric in RATES])
        adjusted = _adjusted_p(p, p_of_all, reference)
        point_columns = {"operating_point": point, "reference": reference, "margin": options.margin}
        is_primary = primary_point.items() <= {**audit_keys, **point_columns}.items()
        point_columns["confirmatory"] = is_primary
        no_verdict_reasons = [
            _no_verdict_reasons(metric, groups, uncertainty, options) for metric in RATES
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
            zip(RATES, ratios, rate_verdicts, strict=True)
        ):
            # a ratio needs p below this, so that Holm's adjusted p is below alpha
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
                sentence=_sentences(
                    metric,
                    verdict,
                    _REFERENCE_NAMES.get(reference, reference),
                    worst_groups[i],
                    ratios_without_worst[i],
                    unchecked=ratio.has_shared_trials,
                ),
                reason=verdict.reason,
                because_of=worst_groups[i],
                **uncertainty.best_guesses.ratio_columns(
                    metric, point, ratio.low, ratio.high, max_p
                ),
            )
        codes = np.stack([verdict.code for verdict in rate_verdicts])
        reasons = np.stack([verdict.reason for verdict in rate_verdicts])
        joint_sentences = [
            joint(fnr=fnr, fpr=fpr, fnr_worst=fnr_worst, fpr_worst=fpr_worst)
            for (fpr, fnr), (fpr_worst, fnr_worst) in zip(
                codes.T.tolist(), worst_groups.T, strict=True
            )
        ]
        add(
            group=list(groups),
            metric=BOTH,
            verdict=overall(codes.T),
            sentence=np.where(is_compared, joint_sentences, "is the reference"),
            because_of=_worst_by_group(codes, worst_groups),
        )
        welch_p = np.array(
            [_welch_p(uncertainty.point_intervals[metric], point_index) for metric in RATES]
        )
        for metric, rate_indices in (("fpr", [0]), ("fnr", [1]), (BOTH, [0, 1])):
            compared = _ComparedGroups(
                _selected(groups, is_compared),
                codes[rate_indices][:, is_compared],
                worst_groups[rate_indices][:, is_compared],
                reasons[rate_indices][:, is_compared],
            )
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


class _ComparedGroups(NamedTuple):
    """The verdicts on the groups that are compared with the reference, in one rate or both."""

    groups: list[str]
    codes: NDArray[np.str_]  # [metric, group]
    worst_groups: NDArray[np.object_]  # [metric, group]
    reasons: NDArray[np.str_]  # [metric, group]

    def select(self, is_selected: NDArray[np.bool_]) -> _ComparedGroups:
        """Return some of the groups."""
        return _ComparedGroups(
            _selected(self.groups, is_selected),
            self.codes[:, is_selected],
            self.worst_groups[:, is_selected],
            self.reasons[:, is_selected],
        )


def _system_columns(
    compared: _ComparedGroups,
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
    system_sentence = _system_sentence(compared, code, located, options)
    columns: dict[str, Any] = {}
    if p_of_all.size == 1 and not np.isnan(p_of_all[0]):
        columns = {"p": p_of_all[0], "p_holm": p_of_all_holm[0]}
        if differs or n_groups > _N_PAIR:
            system_sentence = _with_test_of_all(
                system_sentence, float(p_of_all_holm[0]), differs=differs
            )
    if assumption:
        system_sentence = system_sentence.replace(
            "between groups", f"between groups, {_EQUAL_VARIATION_TEXT}", 1
        )
    columns |= {"verdict": code, "sentence": system_sentence, "reason": assumption}
    return columns


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
    metric: str, groups: Sequence[str], uncertainty: Uncertainty, options: Options
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
    group_reasons = np.where(speakers > 0, reasons, NO_TRIALS[metric]).tolist()
    return [
        IS_REFERENCE if group == reference else reason
        for group, reason in zip(groups, group_reasons, strict=True)
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


def _worst_by_group(codes: NDArray[np.str_], worst_groups: NDArray[np.object_]) -> list[str]:
    """Return the worst groups that a group differs only because of; empty if it differs anyway."""
    differs_anyway = (np.isin(codes, _DIFFERENT) & (worst_groups == "")).any(axis=0)
    worst_by_group = []
    for differs, worst_of_rates in zip(differs_anyway, worst_groups.T.tolist(), strict=True):
        names = [] if differs else dict.fromkeys(filter(None, worst_of_rates))
        worst_by_group.append(" and ".join(names))
    return worst_by_group


def _sentences(
    metric: str,
    verdict: Verdicts,
    against: str,
    worst_groups: NDArray[np.object_],
    ratio_without_worst: ReferenceRatios,
    *,
    unchecked: bool,
) -> list[str]:
    """Return a sentence on each group.

    With `unchecked`, the ratios without the worst group are unknown.
    """
    columns = (
        verdict.code,
        verdict.ratio,
        verdict.low,
        verdict.high,
        verdict.reason,
        worst_groups,
        ratio_without_worst.ratio,
        ratio_without_worst.low,
        ratio_without_worst.high,
    )
    group_sentences = []
    rows = zip(*[column.tolist() for column in columns], strict=True)
    for code, ratio, low, high, reason, *without_worst in rows:
        qualification = not_without(*without_worst)
        if not qualification and unchecked and code == "better":
            qualification = _UNCHECKED
        reason_text = _reason_text(reason)
        statement = sentence(metric, code, ratio, low, high, reason=reason_text, against=against)  # type: ignore[arg-type]
        group_sentences.append(statement + qualification)
    return group_sentences


def _reason_text(reason: str) -> str:
    """Return a reason as `sentence` takes it: in words where a group cannot be judged."""
    if reason == IS_REFERENCE:
        return "is the reference"
    facts = facts_of_cell(reason)
    if facts and facts[0].code == BELOW_MINIMUM:
        return f"fewer than {facts[0].values['speakers']} speakers"
    return reason


def _system_sentence(
    compared: _ComparedGroups, code: str, located: LocatedPoint, options: Options
) -> str:
    """Return the sentence on the system, with the groups that it rests on.

    Groups without trials are counted apart, as they cannot differ.
    """
    has_no_trials = np.asarray(np.isin(compared.reasons, list(NO_TRIALS.values())).all(axis=0))
    if has_no_trials.any() and not has_no_trials.all():
        reasons = compared.reasons[:, has_no_trials]
        missing_classes = {INCONCLUSIVE_REASONS[reason] for reason in reasons.flat}
        missing_class = missing_classes.pop() if len(missing_classes) == 1 else "no trials"
        n_without_trials = int(has_no_trials.sum())
        verb = "has" if n_without_trials == 1 else "have"
        with_trials = _system_sentence(compared.select(~has_no_trials), code, located, options)
        return f"{with_trials}; {n_without_trials} {verb} {missing_class}"
    n_groups = len(compared.groups)
    n_inconclusive = int((compared.codes == "inconclusive").any(axis=0).sum())
    if code == "equivalent":
        margin = f"{options.margin:g} times"
        return f"{_all_groups(n_groups)} equivalent: none differs by more than {margin}"
    if code == "differs":
        return _differing_sentence(compared, n_inconclusive)
    all_inconclusive = f"{_all_groups(n_groups)} inconclusive"
    if np.isinf(located.threshold):
        return f"{all_inconclusive}: the threshold is infinite"
    for reason in ("too_common", UNKNOWN_SPEAKERS, *NO_TRIALS.values()):
        if (compared.reasons == reason).all():
            return f"{all_inconclusive}: {INCONCLUSIVE_REASONS[reason]}"
    subject = f"{n_inconclusive} of {n_groups} groups are"
    if n_inconclusive == n_groups:
        subject = _all_groups(n_groups)
    return f"no significant difference; {subject} inconclusive"


def _all_groups(n_groups: int) -> str:
    """Return the subject and verb of a statement on every group."""
    subject = {1: "the one group is", 2: "both groups are"}
    return subject.get(n_groups, f"all {n_groups} groups are")


def _differing_sentence(compared: _ComparedGroups, n_inconclusive: int) -> str:
    """Return which groups differ, where some do, and how many are inconclusive."""
    groups, codes = compared.groups, compared.codes
    worst_by_group = _worst_by_group(codes, compared.worst_groups)
    differs_anyway = np.array([not worst_group for worst_group in worst_by_group])
    better_clauses = []
    for worst_group in dict.fromkeys(filter(None, worst_by_group)):
        rests_on_it = [worst == worst_group for worst in worst_by_group]
        better_groups = ", ".join(_selected(groups, rests_on_it))
        better_clauses.append(f"better{not_without(worst_group)}: {better_groups}")
    if len(codes) > 1:  # both rates
        is_different = np.isin(codes, _DIFFERENT).any(axis=0)
        differing_groups = _selected(groups, is_different & differs_anyway)
        if not differing_groups and not better_clauses:
            return f"rates differ between groups; {_all_groups(len(groups))} inconclusive"
        clauses = ["rates differ between groups"]
        if differing_groups:
            n_differing = f"{len(differing_groups)} of {len(groups)} groups differ"
            clauses = [f"{n_differing}: {', '.join(differing_groups)}"]
        clauses += better_clauses
        if n_inconclusive:
            clauses.append(f"{n_inconclusive} inconclusive")
        return "; ".join(clauses)
    clauses = []
    for code in _DIFFERENT:
        groups_of_code = _selected(groups, (codes[0] == code) & differs_anyway)
        if groups_of_code:
            clauses.append(f"{code}: {', '.join(groups_of_code)}")
    clauses += better_clauses
    if n_inconclusive:
        clauses.append(_rest_is_inconclusive(n_inconclusive, "other " if clauses else ""))
    return "; ".join(clauses)


def _rest_is_inconclusive(n_groups: int, other_word: str) -> str:
    """Say that the (other) groups are inconclusive."""
    if n_groups == 1:
        return f"the {other_word}group is inconclusive"
    return f"the {other_word}{n_groups} groups are inconclusive"


def _selected(groups: Sequence[str], is_selected: Sequence[bool] | NDArray[np.bool_]) -> list[str]:
    return [group for group, selected in zip(groups, is_selected, strict=True) if selected]


def _with_test_of_all(group_sentence: str, p: float, *, differs: bool) -> str:
    """Return the sentence on single groups with the test of whether they differ at all."""
    p_in_words = "p < 0.001" if p < _MIN_SHOWN_P else f"p = {p:.2g}"
    if differs:
        return f"rates differ between groups (adjusted {p_in_words}); {group_sentence}"
    return f"{group_sentence} (heterogeneity test: adjusted {p_in_words})"


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
    for metric in RATES:
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
    for metric in RATES:
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
