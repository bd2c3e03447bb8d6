"""Where measures or base metrics contradict each other, and why: told from the data."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from parivox.core.measures import BOTH, MEASURES
from parivox.report.audit_queries import (
    ERROR_TYPES,
    Scope,
    covers_same_groups,
    first_point_name,
    groups_left_out,
    rates_by_group,
    scopes,
    small_groups,
    system_label,
    verdicts_by_metric,
    without_groups_text,
)
from parivox.report.sheets.sheet import UNDEFINED
from parivox.report.words import p_value, percent, short_number

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from parivox.auditing import Audit
    from parivox.report.audit_queries import Rates, Verdicts
    from parivox.report.words import Row

    Joint = Mapping[str, Mapping[bool, Row]]
    """Rows of the measures that join both rates, of all groups and of those that count."""

_JOINT = {name: MEASURES[name].short for name in ("fdr", "ir", "garbe")}
_MOST = {"fnr": "has the most false rejects", "fpr": "has the most false accepts"}
_CHANCE = 0.05
_FAINT = (0.01, 0.2)
"""Values of p on either side of chance that are not far apart."""
_REVERSED = -0.3
"""Rank correlation below which two orders are told to be opposite."""
_HOW = {
    "fdr": "FDR weighs the largest difference of each rate, so the larger rate rules it",
    "ir": "IR weighs the largest ratio of each rate, so one group with a small rate rules it",
    "garbe": "GARBE weighs how rates are spread in proportion to their mean, over all groups",
}


def disagreements(audit: Audit) -> tuple[dict[Scope, list[str]], list[str]]:
    """Sentences of each grouping of a system, and sentences of several systems."""
    within = {}
    joint: dict[Scope, Joint] = {}
    alike: set[Scope] = set()
    alpha = audit.record["options"]["alpha"][0]
    for scope in scopes(audit):
        at = first_point_name(audit, scope.filters)
        if at is None:
            continue
        here = {**scope.filters, "operating_point": at}
        if covers_same_groups(audit, here):
            alike.add(scope)
        rows = audit.meta.where(**here, alpha=alpha, zero="none", metric=BOTH)
        joint[scope] = {
            measure: {row["gated"]: row for row in rows.where(measure=measure).rows()}
            for measure in _JOINT
        }
        rates = judged_rates(rates_by_group(audit, scope.filters), at, small_groups(audit, here))
        of = verdicts_by_metric(audit, here)
        within[scope] = [
            *opposite_errors(rates, of),
            *differences_and_ratios(rates),
            *_own_against_common(audit, scope, rates, of),
            *measures_and_chance(joint[scope]),
            *effect_of_small_groups(joint[scope]),
        ]
    return within, list(system_ranking_disagreements(joint, alike))


def judged_rates(rates: Rates, at: str, small: Collection[str]) -> dict[str, dict[str, float]]:
    """Both rates of the groups that count and have both."""
    return {
        group: {metric: float(one[metric, at]["value"]) for metric in ERROR_TYPES}
        for group, one in rates.items()
        if group != "pooled"
        and group not in small
        and all(one[metric, at]["value"] is not None for metric in ERROR_TYPES)
    }


def opposite_errors(rates: Mapping[str, Mapping[str, float]], of: Verdicts) -> Iterator[str]:
    """Whether those who are locked out more are those who let fewer impostors in."""
    if len(rates) < 2:
        return
    rank = _kendall([one["fnr"] for one in rates.values()], [one["fpr"] for one in rates.values()])
    worst = {metric: max(rates, key=lambda g: rates[g][metric]) for metric in ERROR_TYPES}
    who = " and ".join(_who(metric, worst[metric], of) for metric in ERROR_TYPES)
    if rank < _REVERSED and len(rates) > 2:
        yield (
            f"The two error types rank the groups in nearly opposite order: {who} (Kendall's tau "
            f"{rank:.2f} over {len(rates)} groups; -1 is opposite, 1 identical). A common "
            "threshold has this effect if the scores of groups are shifted: groups with lower "
            "scores have more false rejects and fewer false accepts. One number for both error "
            "types hides it."
        )
    elif worst["fnr"] != worst["fpr"]:
        yield (
            f"The two error types affect different groups: {who}. One number for both error types "
            "hides this."
        )


def _who(metric: str, group: str, of: Verdicts) -> str:
    """That a group has the most of an error, by chance perhaps if it is not shown to be worse."""
    row = of.get(metric, {}).get(group)
    is_shown = row and row["verdict"] == "worse"
    return f"{group} {_MOST[metric]}{'' if is_shown else ' (which may be due to chance)'}"


def _kendall(one: Sequence[float], other: Sequence[float]) -> float:
    """Kendall's tau-a."""
    signs = [
        ((a > b) - (a < b)) * ((c > d) - (c < d))
        for (a, c), (b, d) in combinations(list(zip(one, other, strict=True)), 2)
    ]
    return sum(signs) / len(signs)


def differences_and_ratios(rates: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    """Whether one error differs more in percentage points and the other in times."""
    if len(rates) < 2:
        return
    every = {metric: [one[metric] for one in rates.values()] for metric in ERROR_TYPES}
    low = {metric: min(values) for metric, values in every.items()}
    high = {metric: max(values) for metric, values in every.items()}
    if 0 in low.values():
        return
    gap = {metric: high[metric] - low[metric] for metric in ERROR_TYPES}
    times = {metric: high[metric] / low[metric] for metric in ERROR_TYPES}
    by_gap, by_times = max(gap, key=gap.__getitem__), max(times, key=times.__getitem__)
    if by_gap != by_times:
        range_of = {
            m: f"{percent(low[m])} to {percent(high[m])}, {100 * gap[m]:.2g} points or "
            f"{short_number(times[m])} times"
            for m in ERROR_TYPES
        }
        yield (
            f"Differences and ratios disagree: in points {by_gap.upper()} varies more "
            f"({range_of[by_gap]}), in ratios {by_times.upper()} does ({range_of[by_times]}). A "
            "small rate cannot differ by many points, yet may differ many times: measures of "
            "differences (FDR) follow the larger rate, measures of ratios (IR, GARBE) weigh the "
            "smaller one as much."
        )


def _own_against_common(
    audit: Audit, scope: Scope, rates: Mapping[str, Mapping[str, float]], of: Verdicts
) -> Iterator[str]:
    """Whether the group that is hardest for the system is the one that errors fall on."""
    rows = audit.groups.where(**scope.filters, metric="eer").rows()
    eer = {
        row["group"]: row["value"]
        for row in rows
        if row["definition"] == rows[0]["definition"]
        and row["value"] is not None
        and row["group"] in rates
    }
    if len(eer) < 2:
        return
    hardest = max(eer, key=eer.__getitem__)
    worst = {metric: max(rates, key=lambda g: rates[g][metric]) for metric in ERROR_TYPES}
    others = [_who(metric, group, of) for metric, group in worst.items() if group != hardest]
    if others:
        yield (
            f"Base metrics disagree: {hardest} has the highest EER ({percent(eer[hardest])}), each "
            f"group being at a threshold of its own; at the common threshold {' and '.join(others)}"
            ". EER tells how well a group's own and impostor scores part, the rates what one "
            "threshold for all does to it."
        )


def measures_and_chance(joint: Joint) -> Iterator[str]:
    """Whether some joint measures go beyond a fair system's and others do not."""
    rows = {measure: one.get(True) or one.get(False) for measure, one in joint.items()}
    p = {measure: row["p"] for measure, row in rows.items() if row and row["p"] is not None}
    beyond = [measure for measure in p if p[measure] < _CHANCE]
    rest = [measure for measure in p if measure not in beyond]
    if beyond and rest:
        ps = ", ".join(f"{_JOINT[measure]} {p_value(value)}" for measure, value in p.items())
        whys = "; ".join(_HOW[measure] for measure in (beyond[0], rest[0]))
        is_near = max(p[m] for m in beyond) > _FAINT[0] and min(p[m] for m in rest) < _FAINT[1]
        near = " Values of p on either side of 0.05 may yet tell much the same." if is_near else ""
        yield (
            f"Joint measures disagree on whether equal rates would often give as much ({ps}). "
            f"A reason: {whys}.{near}"
        )


def effect_of_small_groups(joint: Joint) -> Iterator[str]:
    """Whether the small groups change what is concluded."""
    changed = []
    for measure, by_gate in joint.items():
        if not _has_small_groups(by_gate):
            continue
        every, counting = by_gate[False], by_gate[True]
        ps = (every["p"], counting["p"])
        if None not in ps and (ps[0] < _CHANCE) != (ps[1] < _CHANCE):
            without = groups_left_out([counting])
            named = f" ({without_groups_text(without)})" if without else ""
            changed.append(
                f"{_JOINT[measure]} {p_value(ps[0])} of all {every['groups']}, {p_value(ps[1])} of "
                f"the {counting['groups']} that count{named}"
            )
    if changed:
        yield (
            f"Small groups change the conclusion: {'; '.join(changed)}. A group of few speakers "
            "may err much or little by chance alone, so go by the groups that count; they say "
            "nothing of the small ones."
        )


def _has_small_groups(by_gate: Mapping[bool, Row]) -> bool:
    """Whether a measure is of groups, too, that do not count."""
    return len(by_gate) > 1 and by_gate[False]["groups"] != by_gate[True]["groups"]


def system_ranking_disagreements(
    joint: Mapping[Scope, Joint], alike: Collection[Scope]
) -> Iterator[str]:
    """Whether joint measures rank two systems differently, over the same groups.

    Those that count are the same in all systems in the scopes `alike`; elsewhere all are taken.
    """
    for one, other in combinations(joint, 2):
        if (one.grouping, one.allocation) != (other.grouping, other.allocation):
            continue
        fairer: dict[str, str] = {}
        values = {}
        left_out: dict[str, None] = {}
        for measure, words in _JOINT.items():
            gates = (True, False) if one in alike else (False,)
            first, second = _of_same_groups(joint[one][measure], joint[other][measure], gates)
            if first is None or second is None or first["value"] == second["value"]:
                continue
            scope = (
                one if (first["value"] > second["value"]) == first["higher_is_fairer"] else other
            )
            fairer[measure] = system_label(scope.system, scope.list)
            values[measure] = f"{words} {first['value']:.3g} against {second['value']:.3g}"
            if without := groups_left_out([first, second]):
                left_out |= dict.fromkeys(without)
                of_all = [
                    _value_in_words(joint[scope][measure].get(False)) for scope in (one, other)
                ]
                values[measure] += f" (of all groups {' against '.join(of_all)})"
        if len(set(fairer.values())) > 1:
            names = " and ".join(system_label(s.system, s.list) for s in (one, other))
            by_gate = [joint[scope][measure] for scope in (one, other) for measure in _JOINT]
            has_small = any(map(_has_small_groups, by_gate))
            whose = ", of all groups, those marked * too" if has_small else ""
            if left_out:
                whose = f", {without_groups_text(list(left_out))}"
            ranks = "; ".join(f"{values[m]}: {name} fairer" for m, name in fairer.items())
            yield (
                f"By {one.grouping}{whose}, measures rank {names} differently: {ranks}. "
                f"{'; '.join(_HOW[m] for m in fairer)}. Fewer errors overall make "
                "differences smaller, yet ratios may grow. These are values as counted, not "
                "tested against chance."
            )


def _of_same_groups(
    one: Mapping[bool, Row], other: Mapping[bool, Row], gates: Sequence[bool]
) -> tuple[Row | None, Row | None]:
    """A measure of two systems over the first of some sets of groups of which both have a value."""
    for is_gated in gates:
        first, second = one.get(is_gated), other.get(is_gated)
        if first and second and None not in (first["value"], second["value"]):
            return first, second
    return None, None


def _value_in_words(row: Row | None) -> str:
    """The value of a measure, or a dash."""
    return UNDEFINED if row is None or row["value"] is None else f"{row['value']:.3g}"
