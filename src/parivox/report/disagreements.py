"""Where measures or base metrics contradict each other, and why: told from the data."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from parivox.core.measures import MEASURES
from parivox.report.scopes import (
    BOTH,
    RATES,
    Scope,
    first_point,
    name_of,
    rates_of,
    scopes,
    small_groups,
    verdicts_of,
)
from parivox.report.words import chance, percent, short

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parivox.auditing.result import Audit
    from parivox.report.scopes import Rates, Verdicts
    from parivox.report.words import Row

_JOINT = {name: MEASURES[name].short for name in ("fdr", "ir", "garbe")}
_MOST = {"fnr": "locked out most", "fpr": "most exposed to impostors"}
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
    joint: dict[Scope, dict[str, dict[bool, Row]]] = {}
    for scope in scopes(audit):
        at = first_point(audit, scope.where)
        if at is None:
            continue
        joint[scope] = _joint(audit, scope, at)
        rates = rates_of(audit, scope.where)
        asked = {**scope.where, "operating_point": at}
        small, of = small_groups(audit, asked), verdicts_of(audit, asked)
        within[scope] = [
            *_errors_against_each_other(rates, at, small, of),
            *_points_against_times(rates, at, small),
            *_own_against_common(audit, scope, rates, at, small, of),
            *_measures_against_chance(joint[scope]),
            *_all_against_gated(joint[scope]),
        ]
    return within, list(_systems(joint))


def _joint(audit: Audit, scope: Scope, at: str) -> dict[str, dict[bool, Row]]:
    """The measures that join both rates, of all groups and of those that count."""
    alpha = audit.record["options"]["alpha"][0]
    asked = {**scope.where, "operating_point": at, "alpha": alpha, "zero": "none", "metric": BOTH}
    return {
        measure: {row["gated"]: row for row in audit.meta.where(**asked, measure=measure).rows()}
        for measure in _JOINT
    }


def _counting(rates: Rates, at: str, small: set[str]) -> dict[str, dict[str, float]]:
    """Both rates of the groups that count."""
    return {
        group: {metric: float(one[metric, at]["value"]) for metric in RATES}
        for group, one in rates.items()
        if group != "pooled"
        and group not in small
        and all(one[metric, at]["value"] is not None for metric in RATES)
    }


def _errors_against_each_other(
    rates: Rates, at: str, small: set[str], of: Verdicts
) -> Iterator[str]:
    """Whether those who are locked out more are those who let fewer impostors in."""
    found = _counting(rates, at, small)
    if len(found) < 2:
        return
    rank = _kendall([one["fnr"] for one in found.values()], [one["fpr"] for one in found.values()])
    worst = {metric: max(found, key=lambda g: found[g][metric]) for metric in RATES}
    told = " and ".join(f"{worst[m]} is {_MOST[m]}{_surely(of, m, worst[m])}" for m in RATES)
    if rank < _REVERSED and len(found) > 2:
        yield (
            f"The two errors order the groups mostly the other way round: {told} (Kendall's tau "
            f"{rank:.2f} over {len(found)} groups; -1 is opposite, 1 alike). It is what one "
            "threshold does to groups whose scores lie at different heights: the lower ones are "
            "locked out more and let fewer impostors in. One number for both errors hides it."
        )
    elif worst["fnr"] != worst["fpr"]:
        yield (
            f"The two errors do not fall on the same group: {told}. One number for both errors "
            "hides which is which."
        )


def _surely(of: Verdicts, metric: str, group: str) -> str:
    """That chance may explain why a group is the worst, where it is not shown to be worse."""
    told = of.get(metric, {}).get(group)
    return "" if told and told["verdict"] == "worse" else " (which chance may explain)"


def _kendall(one: Sequence[float], other: Sequence[float]) -> float:
    """Kendall's tau-a."""
    signs = [
        ((a > b) - (a < b)) * ((c > d) - (c < d))
        for (a, c), (b, d) in combinations(list(zip(one, other, strict=True)), 2)
    ]
    return sum(signs) / len(signs)


def _points_against_times(rates: Rates, at: str, small: set[str]) -> Iterator[str]:
    """Whether one error differs more in percentage points and the other in times."""
    found = _counting(rates, at, small)
    if len(found) < 2:
        return
    ends = {
        m: (min(one[m] for one in found.values()), max(one[m] for one in found.values()))
        for m in RATES
    }
    if any(low == 0 for low, _ in ends.values()):
        return
    gap = {metric: high - low for metric, (low, high) in ends.items()}
    times = {metric: high / low for metric, (low, high) in ends.items()}
    by_gap, by_times = max(gap, key=gap.__getitem__), max(times, key=times.__getitem__)
    if by_gap != by_times:
        told = {
            m: f"{percent(low)} to {percent(high)}, {100 * gap[m]:.2g} points or "
            f"{short(times[m])} times"
            for m, (low, high) in ends.items()
        }
        yield (
            f"Differences and ratios disagree: in points {by_gap.upper()} varies more "
            f"({told[by_gap]}), in ratios {by_times.upper()} does ({told[by_times]}). A small rate "
            "cannot differ by many points, yet may differ many times: measures of differences "
            "(FDR) follow the larger rate, measures of ratios (IR, GARBE) weigh the smaller one as "
            "much."
        )


def _own_against_common(
    audit: Audit, scope: Scope, rates: Rates, at: str, small: set[str], of: Verdicts
) -> Iterator[str]:
    """Whether the group that is hardest for the system is the one that errors fall on."""
    rows = audit.groups.where(**scope.where, metric="eer").rows()
    first = rows[0]["definition"] if rows else ""
    found = _counting(rates, at, small)
    eer = {
        row["group"]: row["value"]
        for row in rows
        if row["definition"] == first and row["value"] is not None and row["group"] in found
    }
    if len(eer) < 2:
        return
    hardest = max(eer, key=eer.__getitem__)
    worst = {metric: max(found, key=lambda g: found[g][metric]) for metric in RATES}
    other = [
        f"{worst[m]} is {_MOST[m]}{_surely(of, m, worst[m])}" for m in RATES if worst[m] != hardest
    ]
    if other:
        yield (
            f"Base metrics disagree: {hardest} has the highest EER ({percent(eer[hardest])}), each "
            "group being at a threshold of its own; at the common threshold "
            f"{' and '.join(other)}. "
            "EER tells how well a group's own and impostor scores part, the rates what one "
            "threshold for all does to it."
        )


def _measures_against_chance(joint: Mapping[str, Mapping[bool, Row]]) -> Iterator[str]:
    """Whether some joint measures go beyond a fair system's and others do not."""
    rows = {m: one.get(True) or one.get(False) for m, one in joint.items()}
    told = {m: row for m, row in rows.items() if row and row["p"] is not None}
    beyond = [m for m, row in told.items() if row["p"] < _CHANCE]
    rest = [m for m in told if m not in beyond]
    if beyond and rest:
        ps = ", ".join(f"{_JOINT[m]} p {chance(row['p'])}" for m, row in told.items())
        whys = "; ".join(_HOW[m] for m in (*beyond[:1], *rest[:1]))
        is_near = max(told[m]["p"] for m in beyond) > _FAINT[0] and (
            min(told[m]["p"] for m in rest) < _FAINT[1]
        )
        near = " Values of p on either side of 0.05 may yet tell much the same." if is_near else ""
        yield (
            f"Joint measures disagree on whether a fair system would often show as much ({ps}). "
            f"A reason: {whys}.{near}"
        )


def _all_against_gated(joint: Mapping[str, Mapping[bool, Row]]) -> Iterator[str]:
    """Whether the small groups change what is concluded."""
    told = []
    for measure, by_gate in joint.items():
        one, other = by_gate.get(False), by_gate.get(True)
        if one is None or other is None or one["groups"] == other["groups"]:
            continue
        ps = (one["p"], other["p"])
        if None not in ps and (ps[0] < _CHANCE) != (ps[1] < _CHANCE):
            told.append(
                f"{_JOINT[measure]} p {chance(ps[0])} of all {one['groups']}, {chance(ps[1])} of "
                f"the {other['groups']} that count"
            )
    if told:
        yield (
            f"Small groups change the conclusion: {'; '.join(told)}. A group of few speakers "
            "may err much or little by chance alone, so go by the groups that count; they say "
            "nothing of the small ones."
        )


def _has_small(of: Mapping[bool, Row]) -> bool:
    """Whether a measure is of groups, too, that do not count."""
    return len(of) > 1 and of[False]["groups"] != of[True]["groups"]


def _systems(joint: Mapping[Scope, Mapping[str, Mapping[bool, Row]]]) -> Iterator[str]:
    """Whether joint measures rank two systems differently."""
    for one, other in combinations(joint, 2):
        is_same = (one.grouping, one.allocation) == (other.grouping, other.allocation)
        if not is_same:
            continue
        better: dict[str, str] = {}
        values = {}
        has_small = False
        for measure, words in _JOINT.items():
            rows = [joint[scope][measure].get(False) for scope in (one, other)]
            has_small |= any(_has_small(joint[scope][measure]) for scope in (one, other))
            found = [row for row in rows if row and row["value"] is not None]
            if len(found) < 2 or found[0]["value"] == found[1]["value"]:
                continue
            is_first = (found[0]["value"] > found[1]["value"]) == found[0]["higher_is_fairer"]
            scope = one if is_first else other
            better[measure] = name_of(scope.system, scope.list)
            values[measure] = f"{words} {found[0]['value']:.3g} against {found[1]['value']:.3g}"
        if len(set(better.values())) > 1:
            names = " and ".join(name_of(s.system, s.list) for s in (one, other))
            whose = ", of all groups, those marked * too" if has_small else ""
            told = "; ".join(f"{values[m]}: {name} fairer" for m, name in better.items())
            yield (
                f"By {one.grouping}{whose}, measures rank {names} differently: {told}. "
                f"{'; '.join(_HOW[m] for m in better)}. Fewer errors overall make "
                "differences smaller, yet ratios may grow. These are values as counted, not "
                "tested against chance."
            )
