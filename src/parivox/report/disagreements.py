"""Where measures or base metrics contradict each other in an audit, and why."""

from __future__ import annotations

from itertools import chain, combinations
from typing import TYPE_CHECKING

from parivox.core.measures import BOTH, MEASURES
from parivox.report.audit_queries import (
    BONA_FIDE_ERRORS,
    POOLED,
    Scope,
    covers_same_groups,
    first_point_name,
    groups_left_out,
    has_several_systems,
    in_all_systems,
    left_out_groups_text,
    rates_by_group,
    scopes,
    scopes_by_grouping,
    small_groups,
    system_label,
    verdicts_by_metric,
    without_groups_text,
)
from parivox.report.catalogue import full_sentence, sentence_text
from parivox.report.findings import groups_of_higher_eer
from parivox.report.sheets.sheet import UNDEFINED
from parivox.report.words import p_value, percent, short_number, shortened_names

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from parivox.auditing import Audit
    from parivox.report.audit_queries import Rates, Verdicts
    from parivox.report.words import Row

    Joint = Mapping[str, Mapping[bool, Row]]
    """Rows of the measures that join both rates, of all groups and of those that count."""

_JOINT_MEASURES = {name: MEASURES[name].short for name in ("fdr", "ir", "garbe")}
_CHANCE = 0.05
_NEAR_CHANCE = (0.01, 0.2)
"""Values of p on either side of chance that are not far apart."""
_OPPOSITE_TAU = -0.3
"""Rank correlation below which two orders are called largely opposite."""
_MAX_COMPARED_GROUPS = 12
"""Groups that are named where others are left out."""
_MEASURE_EXPLANATIONS = {
    "fdr": sentence_text("fdr_depends_on_larger_rate"),
    "ir": sentence_text("ir_depends_on_small_rate"),
    "garbe": sentence_text("garbe_depends_on_spread"),
}


def disagreements(audit: Audit) -> tuple[dict[Scope, list[str]], list[str]]:
    """Return sentences on each grouping of a system, and sentences on several systems."""
    sentences_of_scope = {}
    joint: dict[Scope, Joint] = {}
    same_group_scopes: set[Scope] = set()
    alpha = audit.record["options"]["alpha"][0]
    earlier_explanations: set[str] = set()
    # in the order of a report, so that the first of several alike sentences is explained
    scopes_in_order = chain.from_iterable(scopes_by_grouping(list(scopes(audit))))
    for scope in scopes_in_order:
        point = first_point_name(audit, scope.filters)
        if point is None:
            continue
        point_filters = {**scope.filters, "operating_point": point}
        if covers_same_groups(audit, point_filters):
            same_group_scopes.add(scope)
        rows = audit.meta.subset(**point_filters, alpha=alpha, zero="none", metric=BOTH)
        joint[scope] = {
            measure: {row["gated"]: row for row in rows.subset(measure=measure).rows()}
            for measure in _JOINT_MEASURES
        }
        all_rates = rates_by_group(audit, scope.filters)
        # one rule for all sentences: the groups that measures of both error types are computed on
        under_represented_groups = {
            *groups_left_out(rows.subset(gated=True).rows()),
            *(
                group
                for metric in BONA_FIDE_ERRORS
                for group in small_groups(audit, point_filters, metric)
            ),
        }
        rates = judged_rates(all_rates, point, under_represented_groups)
        verdicts = verdicts_by_metric(audit, point_filters)
        sentences = [
            *opposite_errors(rates, verdicts, earlier_explanations),
            *differences_and_ratios(rates, earlier_explanations),
            *_group_eer_disagreements(audit, scope, rates, verdicts, earlier_explanations),
            *measures_and_chance(joint[scope]),
        ]
        omitted_groups = all_rates.keys() - {POOLED} - rates.keys()
        if sentences and omitted_groups:
            condition = _condition_of_comparison(
                audit, point_filters, omitted_groups, under_represented_groups
            )
            group_names = ", ".join(shortened_names([*rates], most=_MAX_COMPARED_GROUPS))
            compared_groups = full_sentence(
                "groups_of_disagreements", condition=condition, groups=group_names
            )
            sentences.insert(0, compared_groups)
        sentences_of_scope[scope] = [*effect_of_small_groups(joint[scope]), *sentences]
    return sentences_of_scope, list(system_ranking_disagreements(joint, same_group_scopes))


def _condition_of_comparison(
    audit: Audit,
    point_filters: Row,
    omitted_groups: AbstractSet[str],
    under_represented_groups: AbstractSet[str],
) -> str:
    """Return which groups are compared, by why others are omitted."""
    conditions = []
    if not under_represented_groups >= omitted_groups:
        conditions.append(sentence_text("groups_with_both_rates"))
    if under_represented_groups & omitted_groups:
        is_of_all_systems = has_several_systems(audit) and covers_same_groups(audit, point_filters)
        in_systems = in_all_systems(audit) if is_of_all_systems and not conditions else ""
        conditions.append(sentence_text("groups_with_enough_data", in_systems=in_systems))
    return " and ".join(conditions)


def judged_rates(rates: Rates, point: str, small: Collection[str]) -> dict[str, dict[str, float]]:
    """Return both rates of the groups that are large enough and have both."""
    return {
        group: {metric: float(rate_of[metric, point]["value"]) for metric in BONA_FIDE_ERRORS}
        for group, rate_of in rates.items()
        if group != POOLED
        and group not in small
        and all(rate_of[metric, point]["value"] is not None for metric in BONA_FIDE_ERRORS)
    }


def _with_explanation(sentence: str, explanation: str, earlier_explanations: set[str]) -> str:
    """Return a sentence with its explanation, unless that was given earlier."""
    if explanation in earlier_explanations:
        return sentence
    earlier_explanations.add(explanation)
    return f"{sentence} {explanation}"


def opposite_errors(
    rates: Mapping[str, Mapping[str, float]],
    verdicts: Verdicts,
    earlier_explanations: set[str],
) -> Iterator[str]:
    """Yield whether groups with more false rejects are those with fewer false accepts."""
    if len(rates) < 2:
        return
    rank = _kendall(
        [rate_of["fnr"] for rate_of in rates.values()],
        [rate_of["fpr"] for rate_of in rates.values()],
    )
    worst = {
        metric: max(rates, key=lambda group: rates[group][metric]) for metric in BONA_FIDE_ERRORS
    }
    descriptions = " and ".join(
        _most_errors_text(metric, worst[metric], verdicts) for metric in BONA_FIDE_ERRORS
    )
    if rank < _OPPOSITE_TAU and len(rates) > 2:
        sentence = full_sentence(
            "error_types_rank_oppositely",
            groups=descriptions,
            tau=rank,
            n_groups=len(rates),
        )
        yield _with_explanation(
            sentence, full_sentence("scores_of_groups_shifted"), earlier_explanations
        )
    elif worst["fnr"] != worst["fpr"]:
        yield full_sentence("error_types_affect_different_groups", groups=descriptions)


def _most_errors_text(metric: str, group: str, verdicts: Verdicts) -> str:
    """Return that a group has the most of an error, by chance perhaps if it is not called worse."""
    row = verdicts.get(metric, {}).get(group)
    words = (
        sentence_text("highest_false_reject_rate", group=group)
        if metric == "fnr"
        else sentence_text("highest_false_accept_rate", group=group)
    )
    is_shown = row and row["verdict"] == "worse"
    return words if is_shown else sentence_text("may_be_due_to_chance", group=words)


def _kendall(first: Sequence[float], second: Sequence[float]) -> float:
    """Return Kendall's tau-a: concordant minus discordant pairs, as a share of all pairs."""
    pairs = list(combinations(zip(first, second, strict=True), 2))
    products = [(a - b) * (c - d) for (a, c), (b, d) in pairs]
    n_concordant = sum(product > 0 for product in products)
    n_discordant = sum(product < 0 for product in products)
    return (n_concordant - n_discordant) / len(pairs)


def differences_and_ratios(
    rates: Mapping[str, Mapping[str, float]], earlier_explanations: set[str]
) -> Iterator[str]:
    """Yield whether one error differs more in percentage points, the other more in ratio."""
    if len(rates) < 2:
        return
    rates_of_metric = {
        metric: [rate_of[metric] for rate_of in rates.values()] for metric in BONA_FIDE_ERRORS
    }
    low = {metric: min(all_rates) for metric, all_rates in rates_of_metric.items()}
    high = {metric: max(all_rates) for metric, all_rates in rates_of_metric.items()}
    # a ratio to a rate of 0 is infinite
    if 0 in low.values():
        return
    difference = {metric: high[metric] - low[metric] for metric in BONA_FIDE_ERRORS}
    ratio = {metric: high[metric] / low[metric] for metric in BONA_FIDE_ERRORS}
    by_difference = max(difference, key=difference.__getitem__)
    by_ratio = max(ratio, key=ratio.__getitem__)
    if by_difference != by_ratio:
        range_of = {}
        for metric in BONA_FIDE_ERRORS:
            rates_text = f"{percent(low[metric])} to {percent(high[metric])}"
            points = f"{100 * difference[metric]:.2g} points"
            range_of[metric] = f"{rates_text}, {points} or {short_number(ratio[metric])} times"
        sentence = full_sentence(
            "differences_and_ratios_disagree",
            metric_of_differences=by_difference.upper(),
            differences=range_of[by_difference],
            metric_of_ratios=by_ratio.upper(),
            ratios=range_of[by_ratio],
        )
        yield _with_explanation(
            sentence, full_sentence("measures_of_differences"), earlier_explanations
        )


def _group_eer_disagreements(
    audit: Audit,
    scope: Scope,
    rates: Mapping[str, Mapping[str, float]],
    verdicts: Verdicts,
    earlier_explanations: set[str],
) -> Iterator[str]:
    """Yield whether the group with the highest EER is not the one with the most errors."""
    rows = audit.groups.subset(**scope.filters, metric="eer").rows()
    eer = {
        row["group"]: row["value"]
        for row in rows
        if row["definition"] == rows[0]["definition"]
        and row["value"] is not None
        and row["group"] in rates
    }
    if len(eer) < 2:
        return
    # the same threshold serves easy and hard groups, so errors need not fall on the hardest
    hardest = max(eer, key=eer.__getitem__)
    worst = {
        metric: max(rates, key=lambda name: rates[name][metric]) for metric in BONA_FIDE_ERRORS
    }
    descriptions = [
        _most_errors_text(metric, group, verdicts)
        for metric, group in worst.items()
        if group != hardest
    ]
    if descriptions:
        values = {"group": hardest, "eer": percent(eer[hardest])}
        if hardest in groups_of_higher_eer(audit, scope.filters):
            highest_eer = sentence_text("highest_eer", **values)
        else:
            highest_eer = sentence_text("highest_eer_perhaps_by_chance", **values)
        sentence = full_sentence(
            "base_metrics_disagree",
            highest_eer=highest_eer,
            highest_rates=" and ".join(descriptions),
        )
        yield _with_explanation(
            sentence, full_sentence("eer_and_common_threshold"), earlier_explanations
        )


def measures_and_chance(joint: Joint) -> Iterator[str]:
    """Yield whether some joint measures exceed what equal rates would give, and others do not."""
    rows = {
        measure: row_by_gate.get(True) or row_by_gate.get(False)
        for measure, row_by_gate in joint.items()
    }
    p_values = {measure: row["p"] for measure, row in rows.items() if row and row["p"] is not None}
    beyond = [measure for measure in p_values if p_values[measure] < _CHANCE]
    within_chance = [measure for measure in p_values if measure not in beyond]
    if beyond and within_chance:
        p_text = ", ".join(
            f"{_JOINT_MEASURES[measure]} {p_value(p)}" for measure, p in p_values.items()
        )
        reasons = "; ".join(
            _MEASURE_EXPLANATIONS[measure] for measure in (beyond[0], within_chance[0])
        )
        lowest_far, highest_far = _NEAR_CHANCE
        are_close = (
            max(p_values[measure] for measure in beyond) > lowest_far
            and min(p_values[measure] for measure in within_chance) < highest_far
        )
        closeness = ""
        if are_close:
            closeness = " " + full_sentence("p_values_close_to_limit")
        yield sentence_text(
            "joint_measures_disagree", p_values=p_text, reasons=reasons, closeness=closeness
        )


def effect_of_small_groups(joint: Joint) -> Iterator[str]:
    """Yield whether small groups change what is concluded."""
    changed = []
    for measure, by_gate in joint.items():
        if not _has_small_groups(by_gate):
            continue
        all_groups, large_groups = by_gate[False], by_gate[True]
        p_of_all, p_of_large = all_groups["p"], large_groups["p"]
        if p_of_all is None or p_of_large is None:
            continue
        if (p_of_all < _CHANCE) != (p_of_large < _CHANCE):
            omitted = groups_left_out([large_groups])
            named = f" (excluded: {left_out_groups_text(omitted)})" if omitted else ""
            changed.append(
                sentence_text(
                    "effect_of_small_groups",
                    measure=_JOINT_MEASURES[measure],
                    p_of_all=p_value(p_of_all),
                    n_groups=all_groups["groups"],
                    p_of_large=p_value(p_of_large),
                    n_large_groups=large_groups["groups"],
                    group_names=named,
                )
            )
    if changed:
        yield full_sentence("small_groups_change_conclusion", measures="; ".join(changed))


def _has_small_groups(by_gate: Mapping[bool, Row]) -> bool:
    """Return whether a measure also covers groups that are too small."""
    return len(by_gate) > 1 and by_gate[False]["groups"] != by_gate[True]["groups"]


def system_ranking_disagreements(
    joint: Mapping[Scope, Joint], same_group_scopes: Collection[Scope]
) -> Iterator[str]:
    """Yield whether joint measures rank two systems differently, over the same groups.

    In `same_group_scopes` the groups that are large enough are the same in all systems; elsewhere
    measures of all groups are compared.
    """
    for pair in combinations(joint, 2):
        first_scope, second_scope = pair
        if (first_scope.grouping, first_scope.allocation) != (
            second_scope.grouping,
            second_scope.allocation,
        ):
            continue
        gates = (True, False) if first_scope in same_group_scopes else (False,)
        fairer_system: dict[str, str] = {}
        ranks: list[str] = []
        omitted: dict[str, None] = {}
        for measure, measure_name in _JOINT_MEASURES.items():
            by_gate = [joint[scope][measure] for scope in pair]
            first_row, second_row = _comparable_rows(by_gate[0], by_gate[1], gates)
            if first_row is None or second_row is None:
                continue
            first_number, second_number = first_row["value"], second_row["value"]
            if first_number == second_number:
                continue
            is_first_fairer = (first_number > second_number) == first_row["higher_is_fairer"]
            fairer = first_scope if is_first_fairer else second_scope
            fairer_system[measure] = system_label(fairer.system, fairer.list)
            words = f"{measure_name} {first_number:.3g} against {second_number:.3g}"
            if omitted_groups := groups_left_out([first_row, second_row]):
                omitted |= dict.fromkeys(omitted_groups)
                of_all = " against ".join(_value_text(rows.get(False)) for rows in by_gate)
                words += f" (for all groups {of_all})"
            ranks.append(f"{words}: {fairer_system[measure]} fairer")
        if len(set(fairer_system.values())) > 1:
            names = " and ".join(system_label(scope.system, scope.list) for scope in pair)
            covered = _covered_groups_text([joint[scope] for scope in pair], list(omitted))
            explanations = "; ".join(_MEASURE_EXPLANATIONS[measure] for measure in fairer_system)
            yield full_sentence(
                "measures_rank_systems_differently",
                grouping=first_scope.grouping,
                groups=covered,
                systems=names,
                ranks="; ".join(ranks),
                explanations=explanations,
            )


def _covered_groups_text(joint_of_systems: Sequence[Joint], omitted: Sequence[str]) -> str:
    """Return which groups compared measures cover, where that needs saying."""
    if omitted:
        return f", {without_groups_text(omitted)}"
    for joint in joint_of_systems:
        if any(_has_small_groups(joint[measure]) for measure in _JOINT_MEASURES):
            return ", for all groups including those marked *"
    return ""


def _comparable_rows(
    first_system: Mapping[bool, Row], second_system: Mapping[bool, Row], gates: Sequence[bool]
) -> tuple[Row | None, Row | None]:
    """Return a measure of two systems over the first set of groups for which both have a value."""
    for is_gated in gates:
        first, second = first_system.get(is_gated), second_system.get(is_gated)
        if first and second and None not in (first["value"], second["value"]):
            return first, second
    return None, None


def _value_text(row: Row | None) -> str:
    """Return the value of a measure, or that it is undefined."""
    return UNDEFINED if row is None or row["value"] is None else f"{row['value']:.3g}"
