"""What is said of an audit, in words that terminal, page and papers share, and in which order."""

from __future__ import annotations

import math
import re
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from parivox.auditing.account import POINTS, WITHOUT_TRIALS
from parivox.auditing.options import parse_gates
from parivox.report.scopes import (
    BOTH,
    RATES,
    differing,
    has_rate,
    name_of,
    points,
    rates_of,
    scopes,
    systems,
    verdicts_of,
)
from parivox.report.words import chance, number, percent, short, span

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parivox.auditing.result import Audit
    from parivox.report.scopes import Rates, Verdicts
    from parivox.report.words import Row

SET_APART = ("G8", "G9")
"""Checks of a list without which a difference between groups may be one between their trials."""
_FEW_THRESHOLDS = 5
_MOST_TOLD = 6
"""Groups that differ whose figures are told."""
_NO_INTERVAL = "no interval: "
_OF_ONE_KIND = {"tells", "told", "alike"}
_READ = {
    *("rows", "trials", "target trials", "nontarget trials", "files of counts"),
    *("models", "recordings"),
}
_REFERENCES = {
    "macro": "the mean group",
    "geomean": "the geometric mean of the groups",
    "pooled": "everyone together",
}
_LIMITS = {"met": "met", "not_met": "not met", "cannot_tell": "cannot tell"}


# ---- the answer


class Answer(NamedTuple):
    """What can be said of a system, a grouping of it at an operating point, or the list."""

    heading: str
    sentences: list[str]


def answers(audit: Audit) -> Iterator[Answer]:
    """The answer in sentences, system by system."""
    every = list(scopes(audit))
    for system in systems(audit):
        name = name_of(system["system"], system["list"])
        yield Answer(name, list(_of_system(audit, system)))
        for scope in every:
            if (scope.system, scope.list) != (system["system"], system["list"]):
                continue
            rates = rates_of(audit, scope.where)
            for point in points(audit, scope.where):
                at = point["operating_point"]
                told = list(_verdicts(audit, {**scope.where, "operating_point": at}, rates))
                if told:
                    yield Answer(f"{name}: {scope.grouping} at {at}", told)


def of_data(audit: Audit, name: Row) -> str:
    """How many trials of how many speakers, and what all of them together come to."""
    whole = audit.groups.where(**name, grouping="all", within="").rows()
    first = whole[0]
    of_whom = "" if first["speakers"] is None else f" of {first['speakers']:,} speakers"
    return (
        f"{first['target_trials']:,} target and {first['nontarget_trials']:,} nontarget trials"
        f"{of_whom}. {headline(whole)}"
    )


def _of_system(audit: Audit, system: Row) -> Iterator[str]:
    yield of_data(audit, system)
    if unsure := why_unsure(audit, system):
        yield (
            f"Nothing is said of chance: {unsure}. Groups of few speakers or few errors differ by "
            "chance alone, often by a factor of two or more."
        )
    if not points(audit, system):
        yield "No operating point has a threshold, so no group has rates."
    lists = audit.record.get("list_checks", {})
    name = "@".join(filter(None, system.values()))
    twin = next((one for one, checks in lists.items() if checks == lists.get(name)), name)
    if twin != name and lists[name]:
        yield f"The list of trials fails what that of {twin} fails."
        return
    for check in lists.get(name, ()):
        yield f"The list of trials fails {check['id']} ({check['what']}): {check['sentence']}."


def _verdicts(audit: Audit, where: Row, rates: Rates) -> Iterator[str]:
    """What is said of a grouping at an operating point, and of each group that differs."""
    at = where["operating_point"]
    whole = {row["metric"]: row for row in audit.verdicts.where(**where, group="").rows()}
    if not whole:
        return
    for metric, words in RATES.items():
        if has_rate(metric, at, rates):
            yield f"{metric.upper()} ({words}): {whole[metric]['sentence']}."
    of = verdicts_of(audit, where)
    for group in differing(of):
        yield f"{group}: {figures(of, group, rates, at)}."


def differing_in_words(of: Mapping[str, Row]) -> str:
    """Which groups differ, and of how many it cannot be told."""
    if not of:
        return "–"
    told = [
        f"{group} {row['verdict']} ({short(row['ratio'])})"
        for group, row in of.items()
        if row["verdict"] in {"worse", "better"}
    ]
    unknown = sum(row["verdict"] == "cannot_tell" for row in of.values())
    told += [f"cannot tell of {unknown}"] if unknown else []
    return "; ".join(told) or f"none by more than {next(iter(of.values()))['margin']:g} times"


def figures(of: Verdicts, group: str, rates: Rates, at: str) -> str:
    """A group's joint sentence with the figures of what differs."""
    told = [
        f"{metric.upper()} {percent(rates[group][metric, at]['value'])}, {short(row['ratio'])} "
        f"times {span(row['low'], row['high'])}, p {chance(row['p_holm'])}"
        for metric in RATES
        if (row := of[metric][group])["verdict"] in {"worse", "better"}
    ]
    return f"{of[BOTH][group]['sentence']}: {'; '.join(told)}"


def grouped(lacking: Mapping[str, str]) -> str:
    """Groups by what they lack."""
    order = sorted(lacking.items(), key=lambda pair: (_leading(pair[1]), pair[1], pair[0]))
    return "; ".join(
        f"{', '.join(group for group, _ in same)} ({words})"
        for words, same in groupby(order, key=lambda pair: pair[1])
    )


def _leading(words: str) -> tuple[bool, float]:
    """To order few speakers first, by how many."""
    first, _, rest = words.partition(" ")
    return not rest.startswith("speakers"), float(first)


def reference_in_words(audit: Audit) -> str:
    """Whom groups are compared with."""
    reference = str(audit.record["options"]["reference"][0])
    return {"others": "everyone else", "pooled": "everyone together"}.get(reference, reference)


def gates_in_words(audit: Audit) -> str:
    """What a group must have to count."""
    gates = parse_gates(audit.record["options"]["gate"])
    return (
        f"fewer than {gates.speakers} speakers, {gates.errors} effective errors or {gates.pairs} "
        "pairs of speakers"
    )


# ---- the data


def headline(whole: list[Row]) -> str:
    """The EER and the minimum costs of all trials."""
    told = []
    for row in whole:
        if row["metric"] == "eer" and row["value"] is not None:
            told.append(f"EER {percent(row['value'])} ({row['definition']})")
        if row["metric"] == "min_cdet_norm" and row["value"] is not None:
            told.append(f"min cost {row['value']:.4f} ({row['definition']})")
    reasons = {row["reason"] for row in whole if row["metric"] == "eer"}
    return ", ".join(told) + "." if told else f"No EER: {', '.join(sorted(reasons))}."


def why_unsure(audit: Audit, name: Row) -> str:
    """Why there are no intervals; empty where there are."""
    if not audit.record["options"]["intervals"]:
        return "--no-intervals was given"
    whole = audit.groups.where(**name, grouping="all", within="").rows()
    notes = [row["note"] for row in whole if row["value"] is not None]
    has_any = any(row["interval"] for row in whole)
    return "" if has_any or not notes else notes[0].removeprefix(_NO_INTERVAL)


def set_aside(audit: Audit, name: Row) -> list[str]:
    """What was left out, kept or counted once, but not how much was read."""
    return [_aside(row) for row in audit.data.where(**name).rows() if _is_noteworthy(row)]


def _is_noteworthy(row: Row) -> bool:
    """Whether a count says more than how much was read."""
    return (
        bool(row["count"])
        and not row["group"]
        and row["source"] != "conflicts"
        and row["item"] not in _READ
    )


def _aside(row: Row) -> str:
    if row["item"] == WITHOUT_TRIALS:
        whom = f"{row['count']:,} speaker{'s' * (row['count'] > 1)} by {row['grouping']}"
        return f"no trial has anyone of {row['note']} ({whom}), so nothing is known of them"
    if row["source"] == POINTS:
        return f"{row['item']}: {row['note']}"
    where = f" [{row['grouping']}]" if row["grouping"] else ""
    note = f" ({row['note']})" if row["note"] else ""
    return f"{row['count']:,} {row['item']}{where}{note}"


def groups_without_trials(audit: Audit) -> list[str]:
    """Which groups no trial has anyone of, in a clause for each grouping."""
    rows = audit.data.where(item=WITHOUT_TRIALS).rows()
    return list(dict.fromkeys(map(_aside, rows)))


def odd_points(audit: Audit) -> list[str]:
    """Operating points that miss their rate or have an infinite threshold, for each system."""
    return [
        f"{name_of(row['system'], row['list'])}: {_aside(row)}"
        for row in audit.data.where(source=POINTS).rows()
    ]


def recordings_in_words(audit: Audit, name: Row) -> str:
    """How many recordings, and models, the trials are of; empty where that is not known."""
    counts = {row["item"]: row["count"] for row in audit.data.where(**name, source="scores").rows()}
    recordings, models = counts.get("recordings"), counts.get("models")
    if recordings is None:
        return ""
    if models is None:
        return f"{number(recordings)} recordings"
    return f"{number(models)} models and {number(recordings)} test recordings"


def deployed_at(audit: Audit, name: Row) -> str:
    """The thresholds that trials were decided at."""
    rows = audit.data.where(**name, grouping="all", group="all", within="").rows()
    levels = [row["value"] for row in rows if row["item"].startswith("trials at the deployed")]
    if not levels:
        return "decisions"
    told = [f"{level:.6g}" for level in sorted(levels)]
    return ", ".join(told) if len(told) <= _FEW_THRESHOLDS else f"{told[0]} to {told[-1]}"


def contradictions(audit: Audit, name: Row) -> str:
    """What the rows that were set aside would have changed, of all trials."""
    rows = audit.data.where(**name, source="conflicts", grouping="all").rows()
    count = sum(row["count"] for row in rows if row["count"] is not None)
    if not count:
        return "No rows contradict each other: none were set aside."
    values = {row["item"]: row["value"] for row in rows if row["count"] is None}
    told = []
    for item, value in values.items():
        found = re.fullmatch("(.*) without contradicting rows", item)
        if found:
            other = values.get(f"{found[1]} with contradicting rows")
            is_rate = found[1].split()[0] in {"fpr", "fnr", "eer"}
            without, with_ = (
                "–" if one is None else percent(one) if is_rate else f"{one:.4f}"
                for one in (value, other)
            )
            told.append(f"{found[1]} {without} / {with_}")
    return (
        f"{count:,} contradicting rows set aside; without / with them: {', '.join(told)}."
        if told
        else f"{count:,} contradicting rows set aside."
    )


def failed_checks(audit: Audit) -> list[tuple[list[str], list[Row]]]:
    """What lists fail, each with all whose list fails the same."""
    told: list[tuple[list[str], list[Row]]] = []
    for name, failed in audit.record.get("list_checks", {}).items():
        same = next((one for one in told if one[1] == failed), None)
        if same:
            same[0].append(name)
        else:
            told.append(([name], failed))
    return told


def confounded(audit: Audit, where: Row) -> Iterator[tuple[str, bool]]:
    """Which attributes go together with those that groups are made of, and how to look past them.

    Of attributes that tell each other, as ages and bands of age do, one is enough: that which
    goes together most. With each sentence: whether it warns.
    """
    lists, options = audit.record.get("confounding", {}), audit.record["options"]
    name = "@".join(filter(None, (where["system"], where["list"])))
    rows = lists.get(name, [])
    is_said = name != next((one for one, of in lists.items() if of == rows), name)
    if is_said or where["allocation"] != options["allocate"][0]:
        return
    grouping = where["grouping"]
    is_one = any(row["attribute"] == grouping for row in rows)  # whose name may hold a +
    mine = [grouping] if is_one else grouping.split("+")
    beside = [row for row in rows if row["attribute"] in mine and row["other"] not in mine]
    if is_one:
        for row in beside:
            if row["relation"] in {"told", "alike"}:
                yield f"{row['sentence']}.", False
    of_one_kind = {(r["attribute"], r["other"]) for r in rows if r["relation"] in _OF_ONE_KIND}
    settled = {row["other"] for row in beside if row["relation"] in _OF_ONE_KIND}
    for row in sorted(beside, key=lambda row: -row["cramers_v"]):
        other = row["other"]
        if row["relation"] != "confounded" or other in settled:
            continue
        settled |= {other, *(kin for one, kin in of_one_kind if one == other)}
        is_within = other in (options["within"] or ()) or other in options["standardise"]
        mend = "" if is_within else f"; compare --within {other}, or --standardise {other}"
        yield f"{row['sentence']}{mend}.", True


# ---- groups


def own_thresholds(audit: Audit, where: Row) -> Iterator[tuple[str, str]]:
    """Each group's own EER: how hard it is, whatever one threshold for all does to it."""
    options = audit.record["options"]
    asked = {**where, "within": "", "metric": "eer", "definition": options["eer"][0]}
    rows = [row for row in audit.groups.where(**asked).rows() if row["group"] != "pooled"]
    known = sorted((r for r in rows if r["high"] is not None), key=lambda row: -row["value"])
    wanted = "geomean" if len(rows) == 2 else "macro"
    ratios: dict[str, dict[str, Row]] = {}
    for row in audit.bias.where(**asked, measure="ratio", zero="none").rows():
        if row["high"] is not None:
            ratios.setdefault(row["reference"], {})[row["group"]] = row
    reference = next((one for one in (wanted, *_REFERENCES) if one in ratios), None)
    if len(known) < 2 or reference is None:
        lack = [row["group"] for row in rows if row["high"] is None or not row["value"]]
        if known and lack:
            told = f"of {', '.join(lack[:_MOST_TOLD])}{' and others' * (len(lack) > _MOST_TOLD)}"
            yield "cannot be told", f"no interval, or an EER of 0, {told}"
        return
    level = 1 - options["confidence"]
    if len(rows) == 2 and reference == "geomean":
        yield from _of_two(known, ratios[reference][known[0]["group"]], level)
    else:
        yield from _of_many(known, ratios[reference], _REFERENCES[reference], level, len(rows))


def _of_two(rows: Sequence[Row], ratio: Row, level: float) -> Iterator[tuple[str, str]]:
    """One group against the other, which is their ratio to the geometric mean, squared."""
    harder, easier = (row["group"] for row in rows)
    times, low, high = (float(ratio[name]) ** 2 for name in ("value", "low", "high"))
    told = f"{short(times)} times {easier} {span(low, high)}, p {chance(ratio['p'])}"
    is_shown = ratio["p"] <= level
    yield "the harder group", f"{harder}: {told}" if is_shown else f"not resolved: {harder} {told}"
    for row in rows:
        yield row["group"], _eer(row)


def _of_many(
    rows: Sequence[Row], ratios: Mapping[str, Row], reference: str, level: float, n: int
) -> Iterator[tuple[str, str]]:
    """Groups that are harder or easier than a reference, the furthest off first."""
    differ = [r for r in rows if r["group"] in ratios and ratios[r["group"]]["p_holm"] <= level]
    what = "harder or easier"
    if not differ:
        yield what, f"no group of {n} is shown to differ from {reference}"
        yield rows[0]["group"], f"the highest: {_eer(rows[0])}"
        yield rows[-1]["group"], f"the lowest: {_eer(rows[-1])}"
        return
    rest = f"; of {n - len(differ)} it is not resolved" if len(differ) < n else ""
    yield what, f"{len(differ)} of {n} groups differ from {reference}{rest}"
    order = sorted(differ, key=lambda row: -abs(math.log(ratios[row["group"]]["value"])))
    for row in order[:_MOST_TOLD]:
        ratio = ratios[row["group"]]
        words = "harder" if ratio["value"] > 1 else "easier"
        times = f"{short(ratio['value'])} times {span(ratio['low'], ratio['high'])}"
        yield row["group"], f"{words}: {_eer(row)}, {times}, p {chance(ratio['p_holm'])}"
    if len(order) > _MOST_TOLD:
        yield "", f"and {len(order) - _MOST_TOLD} more that differ"


def _eer(row: Row) -> str:
    return f"EER {percent(row['value'])} {span(row['low'], row['high'], times=100)}"


def limits(audit: Audit, where: Row, points: Sequence[Row]) -> Iterator[str]:
    """Which groups meet each limit at each point, and of which it cannot be told."""
    for point in points:
        at = point["operating_point"]
        asked = {**where, "within": "", "measure": "limit", "operating_point": at}
        by_limit: dict[tuple[str, float], list[Row]] = {}
        for row in audit.limits.where(**asked).rows():
            by_limit.setdefault((row["metric"], row["limit"]), []).append(row)
        for (metric, limit), rows in by_limit.items():
            told = []
            for code, words in _LIMITS.items():
                names = [
                    f"{row['group']} ({percent(row['value'])} "
                    f"{span(row['low'], row['high'], times=100)})"
                    if code == "not_met"
                    else row["group"]
                    for row in rows
                    if row["verdict"] == code
                ]
                if names:
                    told.append(f"{words}: {', '.join(names)}")
            yield f"Limit of {percent(limit)} on {metric.upper()} at {at}: {'; '.join(told)}."


def worst_tenth(audit: Audit, where: Row, point: str) -> Iterator[str]:
    """Of the pooled false rejects, the share of the speakers with the most."""
    asked = {**where, "within": "", "operating_point": point, "group": "pooled"}
    worst, equal = (
        [row["value"] for row in audit.limits.where(**asked, measure=measure).rows()]
        for measure in ("worst_tenth", "worst_tenth_if_equal")
    )
    if worst and worst[0] is not None:
        yield (
            f"A tenth of the speakers carries {_whole(worst[0])} of the false rejects at "
            f"{point}; it would be {_whole(equal[0])} if all were alike."
        )


def _whole(value: float) -> str:
    """A share of people, who are too few for more digits."""
    return f"{100 * value:.0f} %"


def trends(audit: Audit, where: Row, point: str) -> Iterator[str]:
    """Whether errors rise or fall with a number, where groups are bands of one."""
    asked = {**where, "within": "", "measure": "trend", "operating_point": point}
    rows = audit.bias.where(**asked).rows()
    if not rows:
        return
    told = []
    for row in sorted(rows, key=lambda row: [*RATES].index(row["metric"])):
        name = row["metric"].upper()
        if row["value"] is None:
            told.append(f"{name}: {row['reason']}")
            continue
        ratio, *ends = (
            None if row[end] is None else math.exp(row[end]) for end in ("value", "low", "high")
        )
        chances = f" {span(*ends)}, p {chance(row['p'])}" if ends[1] is not None else ""
        why = f" ({row['reason']})" if row["reason"] else ""
        told.append(f"{name} x {short(ratio)}{chances}{why}")
    yield f"Odds of an error with {rows[0]['group']}, {rows[0]['definition']}: {'; '.join(told)}."
