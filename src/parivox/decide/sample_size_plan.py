"""How many speakers and trials an audit needs, and what the data at hand can detect.

Each group stands against all others together, as in a verdict. How alike the trials of a speaker
are is taken from a pilot, an audit with intervals, or given; see `parivox.core.planning`.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing import TableBuilder, loaded_audit, system_name
from parivox.core.planning import (
    FEWEST_SPEAKERS,
    Sample,
    design_effect,
    detectable_ratio,
    icc_at,
    power_to_detect,
    relative_half_width,
    speakers_needed,
    supported_rate,
    trials_needed,
)
from parivox.core.verdict import EQUIVALENCE_CONFIDENCE
from parivox.decide.pilot_audit import KEY, PilotGroups, pilot_groups, without_pilot
from parivox.decide.policy_file import BASELINE, read_policy
from parivox.options.audit import AuditOptions
from parivox.options.plan import PlanOptions
from parivox.shown import NotebookView

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    from parivox.auditing import Audit
    from parivox.core.counts import FloatArray
    from parivox.data.table import Table
    from parivox.decide.policy_file import Condition

_DESIGN = {
    "rate": "float",
    "icc": "float",
    "icc_from": "str",
    "trials_per_speaker": "float",
    "deff": "float",
}
_SIZE = {"speakers": "int", "trials": "int"}
_NEEDED = {"speakers_needed": "int", "trials_needed": "int"}
_DETECTED = {"worse": "float", "better": "float"}

TABLES: dict[str, dict[str, str]] = {
    "groups": {
        **KEY,
        "group": "str",
        **_SIZE,
        "errors": "int",
        **_DESIGN,
        **_DETECTED,
        **_NEEDED,
        "reason": "str",
    },
    "designs": {
        **KEY,
        "groups": "int",
        **_DESIGN,
        **_NEEDED,
        "saved": "float",
        "reason": "str",
    },
    "curves": {
        **KEY,
        "trials_per_speaker": "float",
        "speakers": "int",
        "power": "float",
        **_DETECTED,
    },
    "conditions": {
        **KEY,
        "condition": "str",
        "groups": "int",
        "confidence": "float",
        "fail_at": "float",
        "speakers_to_fail": "int",
        "speakers_to_pass": "int",
        "reason": "str",
    },
    "lists": {
        **KEY,
        "group": "str",
        **_SIZE,
        "deff": "float",
        "supported_fpr": "float",
        "target_fpr": "float",
        "expected_errors": "float",
        "half_width": "float",
        "trials_needed": "int",
        "is_supported": "bool",
        "reason": "str",
    },
}
"""Columns of each table, in order, with their kinds."""
MULTIPLES = np.array([0.25, 0.5, 1, 2, 4])
"""Trials per speaker in designs and curves, in units of those of the pilot."""
SPEAKERS = np.array([5, 10, 20, 50, 100, 200, 500, 1000])
"""Speakers per group in curves."""


@dataclass(frozen=True, eq=False, repr=False)
class Plan(NotebookView):
    """A plan's tables and what was asked for.

    Attributes
    ----------
    groups : Table
        Groups of the pilot: nearest ratios to 1 that today's data can detect, ``worse`` and
        ``better``, and the speakers and trials that the wished ratio takes. Empty without a
        pilot.
    designs : Table
        Speakers per group, for several numbers of trials per speaker; ``saved`` is the share of
        speakers saved against the pilot's number of trials.
    curves : Table
        Power for the wished ratio, and nearest ratios, over both numbers.
    conditions : Table
        Of each condition of a policy, the speakers each group needs for it to fail a group that has
        the wished ratio times what is allowed, and to pass one that fares like all others.
    lists : Table
        FPR that a list supports, which is that of 30 independent errors, and what the target
        takes.
    asked : dict
        Options.
    """

    groups: Table
    designs: Table
    curves: Table
    conditions: Table
    lists: Table
    asked: dict[str, Any]

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name} {len(getattr(self, name))}" for name in TABLES)
        return f"<Plan for a ratio of {self.asked['detect_ratio']:g}; rows: {sizes}>"

    def to_dict(self) -> dict[str, Any]:
        """All of it, as JSON can hold it."""
        tables = {name: getattr(self, name).to_dict() for name in TABLES}
        return {"asked": self.asked, "tables": tables}

    def to_json(self) -> str:
        """All of it as JSON."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def plan(
    pilot: Audit | str | os.PathLike[str] | None = None,
    *,
    detect_ratio: float = 2.0,
    power: float = 0.8,
    confidence: float = 0.95,
    target_fpr: float | None = None,
    rate: Mapping[str, float] | None = None,
    icc: Mapping[str, float] | None = None,
    trials_per_speaker: Mapping[str, float] | None = None,
    policy: Any = None,
) -> Plan:
    """Tell how many speakers and trials an audit needs, and what the data at hand can detect.

    Parameters
    ----------
    pilot
        An audit with intervals, or its folder.
    detect_ratio
        Ratio of a group's rate to that of the others that is to be detected; below 1 for groups
        that fare better.
    power
        Probability with which it is to be detected.
    confidence
        Of the two-sided test of one group.
    target_fpr
        False positive rate to plan for: FPR in every group is taken to be this, and thresholds
        are those of the pilot's operating point that is nearest.
    rate, icc, trials_per_speaker
        By metric, ``fnr`` or ``fpr``, in place of what the pilot tells: rate of the other
        groups, correlation of two trials that share a speaker, trials that a speaker takes part
        in. Without a pilot all three are needed, for two groups.
    policy
        A policy of `gate`, a file or a mapping, whose conditions are planned for, too.

    Raises
    ------
    ConfigError
        If an option is wrong or missing.
    DataError
        If the pilot is no audit with intervals.

    Examples
    --------
    >>> found = plan(rate={"fnr": 0.1}, icc={"fnr": 0.12}, trials_per_speaker={"fnr": 24})
    >>> [(row["trials_per_speaker"], row["speakers_needed"]) for row in found.designs]
    [(6.0, 65), (12.0, 49), (24.0, 41), (48.0, 37), (96.0, 35)]
    """
    asked = PlanOptions.from_keywords(
        detect_ratio=detect_ratio,
        power=power,
        confidence=confidence,
        target_fpr=target_fpr,
        rate=rate,
        icc=icc,
        trials_per_speaker=trials_per_speaker,
        policy=None if policy is None else read_policy(policy),
    )
    making = {name: TableBuilder(columns) for name, columns in TABLES.items()}
    families = (
        without_pilot(asked) if pilot is None else pilot_groups(loaded_audit(pilot).groups, asked)
    )
    told: list[tuple[dict[str, str], PilotGroups]] = []
    for key, groups in families:
        if key["metric"] == "fpr":
            making["lists"].add(**key, **_list_columns(groups, asked))
        if key["grouping"] != "all":
            if key["grouping"]:
                making["groups"].add(**key, **_group_columns(groups, asked))
            for name, columns in _design_columns(groups, asked).items():
                making[name].add(**key, **columns)
            told.append((key, groups))
    for row in condition_rows(told, asked) if asked.policy is not None else ():
        making["conditions"].add(**row)
    said = {one: value for one, value in vars(asked).items() if one != "policy"}
    return Plan(**{name: rows.table() for name, rows in making.items()}, asked=said)


def condition_rows(
    told: Sequence[tuple[Mapping[str, str], PilotGroups]], asked: PlanOptions
) -> Iterator[dict[str, Any]]:
    """How many speakers the conditions of a policy need, by each grouping.

    See docs/methods/gates.md#plans.
    """
    first: dict[tuple[str, str], str] = {}
    for key, _ in told:
        first.setdefault((key["system"], key["list"]), key["operating_point"])
    for one in asked.policy.conditions:
        families = [
            (key, groups)
            for key, groups in told
            if key["metric"] == one.rate
            and not key["within"]
            and one.by in {"", key["grouping"]}
            and one.system in {"", system_name(key["system"], key["list"])}
            and key["operating_point"] == (one.at or first[key["system"], key["list"]])
        ]
        if not families:
            why = "no such rate, grouping or operating point is planned for"
            yield {"condition": one.name, "reason": why}
        n = sum(len(one.groups or groups.names) for _, groups in families)
        for key, groups in families:
            # all that a condition looks at are allowed for; verdicts allow for both rates, and
            # take two groups as one question
            k = 1 if len(groups.names) == 2 else len(groups.names)
            tests = 2 * k * len(families) if one.most is None else n
            yield {**key, **condition_columns(one, groups, tests, asked)}


def condition_columns(
    one: Condition, groups: PilotGroups, tests: int, asked: PlanOptions
) -> dict[str, Any]:
    """How many speakers one condition needs in one grouping, allowing for so many tests."""
    rate, icc, each = _average(groups, asked)
    most, level = one.maximum or 1.0, 1 - (1 - asked.confidence) / tests
    # real speakers vary more than planned for: half of what is missed is taken off
    how: dict[str, Any] = {"sides": groups.sides, "power": (1 + asked.power) / 2}
    how["others"] = 1 if one.reference == BASELINE else max(len(groups.names) - 1, 1)
    limit, sure = most, asked.confidence
    if one.maximum is None:  # shown alike: docs/methods/verdicts.md#verdicts
        limit, sure = AuditOptions.margin, max(EQUIVALENCE_CONFIDENCE, sure)
    if one.maximum is not None and not one.is_ratio:
        how["others"], limit = np.inf, most / rate
        own = icc_at(icc, rate, most, sides=groups.sides)
        fails = speakers_needed(asked.detect_ratio, most, each, own, confidence=level, **how)
    else:
        times = asked.detect_ratio * most
        own = icc_at(icc, rate, times * rate, sides=groups.sides)  # as if each erred more often
        fails = speakers_needed(
            *(times, rate, each, icc), own_icc=own, confidence=level, limit=most, **how
        )
    passes = speakers_needed(1.0, rate, each, icc, confidence=sure, limit=limit, **how)
    return {
        "condition": one.name,
        "groups": len(groups.names),
        "confidence": level,
        "fail_at": asked.detect_ratio * most,
        "speakers_to_fail": _whole(np.atleast_1d(fails)),
        "speakers_to_pass": _whole(np.atleast_1d(passes)),
        "reason": "" if np.isfinite(fails + passes) else "none would do",
    }


def _group_columns(groups: PilotGroups, asked: PlanOptions) -> dict[str, Any]:
    """What today's data can detect in each group, and what the wished ratio takes."""
    how: dict[str, Any] = {"power": asked.power, "confidence": asked.confidence}
    rate, one, others = (
        groups.other_groups_rate(asked),
        groups.group_sample(),
        groups.other_groups_sample(),
    )
    is_enough = groups.speakers >= FEWEST_SPEAKERS
    worse, better = (
        np.where(is_enough, detectable_ratio(rate, one, others, better=way, **how), np.nan)
        for way in (False, True)
    )
    each = np.full(
        len(rate), asked.trials_per_speaker.get(groups.metric, groups.trials_per_speaker)
    )
    many = max(len(rate) - 1, 1)
    needed = speakers_needed(
        asked.detect_ratio, rate, each, groups.icc, others=many, sides=groups.sides, **how
    )
    reasons: dict[str, Any] = {
        "one_group": len(rate) == 1,
        "shared_trials": not groups.are_disjoint,
        "unknown_speakers": np.isnan(groups.speakers),
        "no_trials": ~(groups.trials > 0),
        "no_errors_of_others": ~(rate > 0),
        "unknown_icc": np.isnan(groups.icc),
        "few_speakers": ~is_enough,
        "rate_above_one": rate * asked.detect_ratio >= 1,
        "none_detectable": np.isnan(worse),
    }
    is_so = [np.broadcast_to(one, len(rate)) for one in reasons.values()]
    return {
        "group": groups.names,
        "speakers": _whole(groups.speakers),
        "trials": _whole(groups.trials),
        "errors": _whole(groups.errors),
        "rate": rate,
        "icc": groups.icc,
        "icc_from": groups.icc_from,
        "trials_per_speaker": groups.trials_per_speaker,
        "deff": design_effect(groups.trials_per_speaker, groups.icc_now, sides=groups.sides),
        "worse": worse,
        "better": better,
        "speakers_needed": _whole(needed),
        "trials_needed": _whole(np.ceil(needed * each / groups.sides)),
        "reason": np.select(is_so, list(reasons), default=""),
    }


def _design_columns(groups: PilotGroups, asked: PlanOptions) -> dict[str, dict[str, Any]]:
    """Groups of one size, at least two: by trials per speaker, and by speakers too."""
    how: dict[str, Any] = {"power": asked.power, "confidence": asked.confidence}
    sides, others = groups.sides, max(len(groups.names) - 1, 1)
    rate, icc, each = _average(groups, asked)
    if not groups.are_disjoint or math.isnan(rate + icc + each):
        return {}
    source = groups.icc_from[0] if "given" in groups.icc_from else "pooled"
    several = np.maximum(each * MULTIPLES, 1)
    needed, base = (
        speakers_needed(asked.detect_ratio, rate, m, icc, others=others, sides=sides, **how)
        for m in (several, each)
    )
    m, speakers = (axis.ravel() for axis in np.meshgrid(several, SPEAKERS, indexing="ij"))
    one, rest = (Sample(n, m, icc, sides) for n in (speakers, others * speakers))
    return {
        "designs": {
            "groups": others + 1,
            "rate": rate,
            "icc": icc,
            "icc_from": source,
            "trials_per_speaker": several,
            "deff": design_effect(several, icc, sides=sides),
            "speakers_needed": _whole(needed),
            "trials_needed": _whole(np.ceil(needed * several / sides)),
            "saved": 1 - needed / base,
            "reason": np.where(np.isnan(needed), "rate_above_one", ""),
        },
        "curves": {
            "trials_per_speaker": m,
            "speakers": speakers,
            "power": power_to_detect(
                asked.detect_ratio, rate, one, rest, confidence=asked.confidence
            ),
            "worse": detectable_ratio(rate, one, rest, **how),
            "better": detectable_ratio(rate, one, rest, better=True, **how),
        },
    }


def _average(groups: PilotGroups, asked: PlanOptions) -> tuple[float, float, float]:
    """Rate, correlation and trials per speaker of all groups together."""
    rate, each = asked.planned(groups.metric), asked.trials_per_speaker.get(groups.metric)
    icc = asked.icc.get(groups.metric)
    is_known = np.isfinite(groups.icc) & (groups.speakers > 0)
    trials = np.where(is_known, groups.trials, 0)
    with np.errstate(invalid="ignore"):
        if rate is None:
            rate = np.divide(np.nansum(groups.errors), np.nansum(groups.trials))
        if each is None:
            speakers = np.where(is_known, groups.speakers, 0)
            each = groups.sides * np.divide(trials.sum(), speakers.sum())
        if icc is None:
            weight = trials * np.nan_to_num(np.maximum(groups.trials_per_speaker - 1, 0))
            icc = np.divide((weight * np.nan_to_num(groups.icc)).sum(), weight.sum())
    return float(rate), float(icc), float(each)


def _list_columns(groups: PilotGroups, asked: PlanOptions) -> dict[str, Any]:
    """What FPR the nontarget trials of each group support."""
    target = asked.planned("fpr")
    target = math.nan if target is None else target
    deff = design_effect(groups.trials_per_speaker, groups.icc_now, sides=groups.sides)
    supported = supported_rate(groups.trials, deff)
    is_known = np.isfinite(groups.trials * deff * target)
    reasons = {
        "unknown_trials": np.isnan(groups.trials),
        "no_trials": groups.trials == 0,
        "unknown_icc": np.isnan(deff),
        "few_trials": np.isnan(supported),
    }
    return {
        "group": groups.names,
        "speakers": _whole(groups.speakers),
        "trials": _whole(groups.trials),
        "deff": deff,
        "supported_fpr": supported,
        "target_fpr": target,
        "expected_errors": target * groups.trials,
        "half_width": relative_half_width(
            target * groups.trials, deff, confidence=asked.confidence
        ),
        "trials_needed": _whole(np.ceil(trials_needed(target, deff))),
        "is_supported": [
            bool(ok) if known else None
            for ok, known in zip(supported <= target, is_known, strict=True)
        ],
        "reason": np.select(list(reasons.values()), list(reasons), default=""),
    }


def _whole(values: FloatArray) -> list[int | None]:
    return [None if math.isnan(value) else int(value) for value in values.tolist()]
