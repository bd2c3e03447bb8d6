"""What can be said at each operating point: verdicts, whom errors fall on, trends.

The speakers behind most errors are told by their ids, and only where that is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.limits import UNDEFINED_REASONS
from parivox.auditing.operating_points import NO_TRIALS
from parivox.core.beyond_noise import welch
from parivox.core.cluster_errors import safe_divide
from parivox.core.confounding import trend
from parivox.core.intervals import REASON_NO_TEST_SPEAKER, UNKNOWN_SPEAKERS
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
_AGAINST = {
    "others": "all other groups combined",
    "pooled": "all groups pooled",
    "macro": "the mean of the groups",
    "geomean": "the geometric mean of the groups",
    "best": "the best group",
}
MAX_OFFENDERS = 10
"""Speakers told of one group, error and operating point."""

TREND = "trend"
_DIFFERS = ("worse", "better")
_UNCHECKED = " (not checked without the worst group, as trials count for two groups)"
_IF_ALIKE = "if variation between speakers is similar in all groups"
"""Of what is shown by draws of a fair system alone, which are made as if they did."""
_PAIR = 2
_LEAST_P = 0.001  # smaller ones are not told apart


# --- verdicts ------------------------------------------------------------------------------------


def add_verdict_rows(
    rows: TableBuilder,
    where: Mapping[str, Any],
    groups: Sequence[str],
    found: Sequence[LocatedPoint],
    against: Mapping[tuple[str, str], ReferenceRatios],
    p_all: Mapping[Key, float],
    uncertainty: Uncertainty,
    options: Options,
    *,
    primary: Mapping[str, Any],
) -> None:
    """The verdict on every group and on the system, whose rows have no group.

    `against` are ratios to the first reference asked for, by metric and operating point, `p_all` of
    heterogeneity; verdicts at the `primary` grouping and point are confirmatory.
    """
    reference = options.reference[0]
    others = [group for group in groups if group != reference]
    is_judged = np.array([group != reference for group in groups])
    alpha = 1 - options.confidence
    for place, one in enumerate(found):
        point = one.point.text
        ratios = [against[key] for metric in RATES if (key := (metric, point)) in against]
        if one.reason or len(ratios) < len(RATES):
            continue
        p = np.where(is_judged, np.stack([of.p for of in ratios]), np.nan)
        of_all = [p_all.get((metric, "", point), np.nan) for metric in RATES]
        p_holm, p_bh, p_system, p_system_holm = _adjusted(p, np.array(of_all), reference)
        shared = {"operating_point": point, "reference": reference, "margin": options.margin}
        shared["confirmatory"] = primary.items() <= {**where, **shared}.items()
        gates = [_too_few(metric, groups, uncertainty, options) for metric in RATES]
        judged = _judged(ratios, p_holm, gates, options)
        rest = [of.without_worst or of for of in ratios]
        below = np.stack([of_lower(of.p, of.ratio) for of in rest])
        again = _judged(rest, _adjusted(below, np.array(of_all), reference)[0], gates, options)
        because = _because_of(judged, again, ratios)
        for i, (metric, of, verdict) in enumerate(zip(RATES, ratios, judged, strict=True)):
            rows.add(
                **where,
                **shared,
                group=list(groups),
                metric=metric,
                ratio=of.ratio,
                low=of.low,
                high=of.high,
                p=of.p,
                p_holm=p_holm[i],
                p_bh=p_bh[i],
                verdict=verdict.code,
                gates=uncertainty.unmet_minimums(metric, point),
                sentence=_sentences(
                    *(metric, verdict, _AGAINST.get(reference, reference), because[i], rest[i]),
                    unchecked=of.has_shared_trials,
                ),
                reason=verdict.reason,
                because_of=because[i],
                **uncertainty.best_guesses.ratio_columns(
                    metric, point, of.low, of.high, alpha * safe_divide(of.p, p_holm[i], 1.0)
                ),
            )
        codes = np.stack([of.code for of in judged])
        reasons = np.stack([of.reason for of in judged])
        both = [
            joint(fnr=fnr, fpr=fpr, fnr_worst=of_fnr, fpr_worst=of_fpr)
            for (fpr, fnr), (of_fpr, of_fnr) in zip(codes.T.tolist(), because.T, strict=True)
        ]
        rows.add(
            **where,
            **shared,
            group=list(groups),
            metric=BOTH,
            verdict=overall(codes.T),
            sentence=np.where(is_judged, both, "is the reference"),
            because_of=_without(codes, because),
        )
        unlike = np.array(
            [_if_unlike(uncertainty.point_intervals[metric], place) for metric in RATES]
        )
        for metric, chosen in (("fpr", [0]), ("fnr", [1]), (BOTH, [0, 1])):
            of_both, why = codes[chosen][:, is_judged], reasons[chosen][:, is_judged]
            code = str(overall(of_both.reshape(-1)))
            shown = p_system_holm[chosen] < alpha
            is_shown, if_alike = bool(shown.any()), ""
            if code == "cannot_tell" and is_shown:
                code = "differs"
                if len(groups) > _PAIR and not (unlike[chosen][shown] < alpha).any():
                    if_alike = _IF_ALIKE
            of_worst = because[chosen][:, is_judged]
            words = _of_system(others, code, of_both, of_worst, why, one, options)
            tests: dict[str, Any] = {}
            if metric != BOTH and not np.isnan(p_system[chosen[0]]):
                tests = {"p": p_system[chosen[0]], "p_holm": p_system_holm[chosen[0]]}
                if is_shown or len(groups) > _PAIR:
                    words = _with_all(words, float(tests["p_holm"]), is_shown=is_shown)
            if if_alike:
                words = words.replace("between groups", f"between groups, {if_alike}", 1)
            tests |= {"verdict": code, "sentence": words, "reason": if_alike}
            rows.add(**where, **shared, group="", metric=metric, **tests)


def _if_unlike(rates: Interval, place: int) -> float:
    """P value of one rate of all groups at an operating point, whose speakers may vary unlike."""
    return float(welch(*(of[place, :-1] for of in (rates.rate, rates.se, rates.df))))


def _adjusted(p: FloatArray, of_all: FloatArray, reference: str) -> tuple[FloatArray, ...]:
    """Adjusted p of groups, ``[metric, group]``, by Holm and by BH; p of all, plain and adjusted.

    Of two groups the ratio is the test of both.
    """
    one = of_hypotheses(p, reference)
    p_holm, p_bh = (
        np.where(np.isnan(p), np.nan, by(one.reshape(-1)).reshape(one.shape))
        for by in (holm, benjamini_hochberg)
    )
    if one.shape != p.shape:
        return p_holm, p_bh, one[:, 0], np.fmax.reduce(p_holm, axis=-1)
    p_holm, of_all_holm = asked_together(p_holm, holm(of_all))
    return p_holm, p_bh, of_all, of_all_holm


def _too_few(
    metric: str, groups: Sequence[str], uncertainty: Uncertainty, options: Options
) -> list[str]:
    """Why nothing is concluded about a group; empty where something may be."""
    least, reference = options.minimums.inference, options.reference[0]
    speakers = uncertainty.rate_intervals.n_units[metric][:-1]
    few = np.where(speakers < least, f"fewer than {least} speakers", "")
    lacking = uncertainty.metrics_lack_test_speakers([metric])[0]
    at = list(groups).index(reference) if reference in groups else -1  # last, of all of them
    few = np.where(lacking[:-1] | lacking[at], UNKNOWN_SPEAKERS, few)
    words = np.where(speakers > 0, few, NO_TRIALS[metric]).tolist()
    return ["is the reference" if g == reference else w for g, w in zip(groups, words, strict=True)]


def _judged(
    ratios: Sequence[ReferenceRatios], p: FloatArray, gates: Sequence[list[str]], options: Options
) -> list[Verdicts]:
    """The verdict on each group in either rate."""
    return [
        verdicts(
            *(of.ratio, of.low, of.high, adjusted),
            gate=gate,
            pooled=of.pooled_rate,
            confidence=options.confidence,
            margin=options.margin,
        )
        for of, adjusted, gate in zip(ratios, p, gates, strict=True)
    ]


def _because_of(
    judged: Sequence[Verdicts], again: Sequence[Verdicts], ratios: Sequence[ReferenceRatios]
) -> NDArray[np.object_]:
    """The worst group, where one is better but not `again` without it, ``[metric, group]``.

    See docs/methods/verdicts.md#better-than-whom.
    """
    pairs = zip(judged, again, strict=True)
    vanishes = np.stack([(one.code == "better") & (rest.code != "better") for one, rest in pairs])
    return np.where(vanishes, np.array([[of.worst_group] for of in ratios], dtype=object), "")


def _without(codes: NDArray[np.str_], because: NDArray[np.object_]) -> list[str]:
    """Without which groups each is not shown to differ in anything, if there are any."""
    is_plain = (np.isin(codes, _DIFFERS) & (because == "")).any(axis=0)
    return [
        "" if plain else " and ".join(dict.fromkeys(filter(None, worst)))
        for plain, worst in zip(is_plain.tolist(), because.T.tolist(), strict=True)
    ]


def _sentences(
    metric: str,
    of: Verdicts,
    against: str,
    because: NDArray[np.object_],
    rest: ReferenceRatios,
    *,
    unchecked: bool,
) -> list[str]:
    """What is said of each group; `unchecked` is whether of none it is known without the worst."""
    columns = (of.code, of.ratio, of.low, of.high, of.reason)
    but_for = (because, rest.ratio, rest.low, rest.high)
    return [
        sentence(metric, code, ratio, low, high, reason=reason, against=against)  # type: ignore[arg-type]
        + (not_without(*without) or (_UNCHECKED if unchecked and code == "better" else ""))
        for code, ratio, low, high, reason, *without in zip(
            *(c.tolist() for c in (*columns, *but_for)), strict=True
        )
    ]


def _of_system(
    names: list[str],
    code: str,
    codes: NDArray[np.str_],
    because: NDArray[np.object_],
    reasons: NDArray[np.str_],
    found: LocatedPoint,
    options: Options,
) -> str:
    """What is said of the system, with the groups that it rests on; ``[metric, group]``.

    Groups without trials are none of those that might differ: they are counted apart.
    """
    has = np.asarray(~np.isin(reasons, list(NO_TRIALS.values())).all(axis=0))
    if has.any() and not has.all():
        lacking = {INCONCLUSIVE_REASONS[reason] for reason in reasons[:, ~has].flat}
        what = lacking.pop() if len(lacking) == 1 else "no trials"
        n = int((~has).sum())
        named = _where(names, has)
        kept = codes[:, has], because[:, has], reasons[:, has]
        words = _of_system(named, code, *kept, found, options)
        return f"{words}; {n} {'has' if n == 1 else 'have'} {what}"
    n, unknown = len(names), int((codes == "cannot_tell").any(axis=0).sum())
    if code == "no_difference":
        margin = f"{options.margin:g} times"
        return f"{_all_groups(n)} equivalent: none differs by more than {margin}"
    if code == "differs":
        return _differing(names, codes, because, unknown)
    whole = f"{_all_groups(n)} inconclusive"
    if np.isinf(found.threshold):
        return f"{whole}: the threshold is infinite"
    for why in ("too_common", UNKNOWN_SPEAKERS, *NO_TRIALS.values()):
        if (reasons == why).all():
            return f"{whole}: {INCONCLUSIVE_REASONS[why]}"
    whose = _all_groups(n) if unknown == n else f"{unknown} of {n} groups are"
    return f"no significant difference; {whose} inconclusive"


def _all_groups(n_groups: int) -> str:
    """Return the subject and verb of a statement on every group."""
    subject = {1: "the one group is", 2: "both groups are"}
    return subject.get(n_groups, f"all {n_groups} groups are")


def _differing(
    names: list[str], codes: NDArray[np.str_], because: NDArray[np.object_], unknown: int
) -> str:
    """Which groups are shown to differ, where some do, and of how many it can't be told."""
    without = _without(codes, because)
    is_plain = np.array([not worst for worst in without])
    better = [
        f"better{not_without(worst)}: {', '.join(_where(names, [of == worst for of in without]))}"
        for worst in dict.fromkeys(filter(None, without))
    ]
    if len(codes) > 1:  # in either rate
        differ = _where(names, np.isin(codes, _DIFFERS).any(axis=0) & is_plain)
        if not differ and not better:
            return f"rates differ between groups; {_all_groups(len(names))} inconclusive"
        some = f"{len(differ)} of {len(names)} groups differ: {', '.join(differ)}"
        words = [some if differ else "rates differ between groups", *better]
        return "; ".join([*words, f"{unknown} inconclusive"] if unknown else words)
    shown = {code: _where(names, (codes[0] == code) & is_plain) for code in _DIFFERS}
    words = [f"{code}: {', '.join(of)}" for code, of in shown.items() if of] + better
    if unknown:
        words.append(_the_rest(unknown, "other " if words else ""))
    return "; ".join(words)


def _the_rest(n_groups: int, other: str) -> str:
    """Say that the (other) groups are inconclusive."""
    if n_groups == 1:
        return f"the {other}group is inconclusive"
    return f"the {other}{n_groups} groups are inconclusive"


def _where(names: list[str], holds: Sequence[bool] | NDArray[np.bool_]) -> list[str]:
    return [name for name, does in zip(names, holds, strict=True) if does]


def _with_all(words: str, p: float, *, is_shown: bool) -> str:
    """What is said of groups one by one, after whether they differ at all."""
    chance = "p < 0.001" if p < _LEAST_P else f"p = {p:.2g}"
    if is_shown:
        return f"rates differ between groups (adjusted {chance}); {words}"
    return f"{words} (heterogeneity test: adjusted {chance})"


# --- speakers with most errors -------------------------------------------------------------------


def add_offender_rows(
    rows: TableBuilder,
    where: Mapping[str, str],
    groups: Sequence[str],
    tallied: SpeakerErrors,
    found: Sequence[LocatedPoint],
    ids: Sequence[str],
) -> None:
    """The speakers with most errors of each cell at each operating point, by their ids.

    `tallied` is who takes part in the trials of each cell, `ids` those of the speakers by number,
    rising.
    """
    for metric in RATES:
        tally = tallied.for_rate(metric)
        # of whoever takes part, in the order of sums over them
        cell, speaker = tally.cell_speakers
        errors, trials = np.broadcast_arrays(tally.errors, tally.trials)
        totals = tally.sum_by_cell(errors)
        for point, one in enumerate(found):
            if one.reason:
                continue
            wrong, tried = (tally.sum_by_speaker(x[point]) for x in (errors, trials))
            for i, group in enumerate(groups):
                here = np.flatnonzero((cell == i) & (wrong > 0))
                first = here[np.lexsort((speaker[here], -wrong[here]))][:MAX_OFFENDERS]
                rows.add(
                    **where,
                    group=group,
                    metric=metric,
                    operating_point=one.point.text,
                    speaker=[ids[k] for k in speaker[first]],
                    errors=wrong[first].astype(np.int64),
                    trials=tried[first].astype(np.int64),
                    share=wrong[first] / max(totals[point, i], 1),
                )


# --- trends --------------------------------------------------------------------------------------


def add_trend_rows(
    rows: TableBuilder,
    where: Mapping[str, Any],
    grouping: Grouping,
    found: Sequence[LocatedPoint],
    uncertainty: Uncertainty,
    options: Options,
) -> None:
    """Log odds of an error per unit of the number that a grouping's bands are made of.

    The unit is the power of ten that fits into the range of the numbers: ten years of age. The
    group is then the attribute itself, and the definition the unit.
    """
    if grouping.speaker_numbers is None:
        return
    numbers, name = grouping.speaker_numbers, grouping.attributes[0].rpartition(":")[0]
    unit = _unit(numbers[np.unique(uncertainty.pooled_errors.target.speaker)])
    for metric in RATES:
        for i, one in enumerate(found):
            own = uncertainty.pooled_errors.for_rate(metric).operating_point(i)
            key = {
                "group": name,
                "metric": metric,
                "definition": f"per {unit:g}",
                "operating_point": one.point.text,
                "measure": TREND,
                "zero": "none",
            }
            if own.has_unknown_speakers.any():
                rows.add(**where, **key, reason=one.reason or REASON_NO_TEST_SPEAKER)
                continue
            made = trend(own, numbers / unit, options.confidence)
            values = {"value": made.slope, "low": made.low, "high": made.high, "p": made.p}
            rows.add(
                **where,
                **key,
                reason=one.reason
                or UNDEFINED_REASONS.get(str(made.reason[0]), str(made.reason[0])),
                **{k: None if one.reason else float(of[0]) for k, of in values.items()},
            )


def _unit(numbers: FloatArray) -> float:
    """The power of ten that fits into the range of most numbers."""
    known = numbers[~np.isnan(numbers)]
    if not known.size:
        return 1.0
    low, high = np.quantile(known, [0.05, 0.95])
    return float(10.0 ** np.floor(np.log10(high - low))) if high > low else 1.0
