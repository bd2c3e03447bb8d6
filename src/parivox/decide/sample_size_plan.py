"""Plan how many speakers and trials an audit needs, and what the data at hand can detect.

Each group is compared with all others together, as in a verdict. How alike the trials of a speaker
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
from parivox.decide.pilot_audit import KEY, PilotGroups, groups_without_pilot, pilot_groups
from parivox.decide.policy_file import BASELINE, read_policy
from parivox.errors import ConfigError
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
    from parivox.sources import DocumentSource

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
_SIZE_OF_SEARCHES = (
    "aim for at least 10 enrolled and 10 other probe speakers in each group; the audit shows the "
    "intervals that they give"
)
"""What helps instead of a plan, where the pilot is an audit of identification."""


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
    policy: DocumentSource | None = None,
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
        By metric, ``fnr``, ``fpr`` or ``sfar``, in place of what the pilot tells: rate of the other
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
    >>> small = plan(rate={"fnr": 0.1}, icc={"fnr": 0.12}, trials_per_speaker={"fnr": 24})
    >>> [(row["trials_per_speaker"], row["speakers_needed"]) for row in small.designs]
    [(6.0, 65), (12.0, 49), (24.0, 41), (48.0, 37), (96.0, 35)]
    """
    options = PlanOptions.from_keywords(
        detect_ratio=detect_ratio,
        power=power,
        confidence=confidence,
        target_fpr=target_fpr,
        rate=rate,
        icc=icc,
        trials_per_speaker=trials_per_speaker,
        policy=None if policy is None else read_policy(policy),
    )
    if options.policy is not None and options.policy.confidence > confidence:
        msg = f"{options.policy.name} needs a confidence of {options.policy.confidence}"
        hint = f"add --confidence {options.policy.confidence}"
        raise ConfigError(msg, hint)
    builders = {name: TableBuilder(columns) for name, columns in TABLES.items()}
    if pilot is None:
        families = groups_without_pilot(options)
    else:
        families = pilot_groups(
            loaded_audit(pilot, "parivox plan", _SIZE_OF_SEARCHES).groups, options
        )
    planned_families: list[tuple[dict[str, str], PilotGroups]] = []
    for key, groups in families:
        if key["metric"] == "fpr":
            builders["lists"].add(**key, **_list_columns(groups, options))
        if key["grouping"] != "all":
            if key["grouping"]:  # without a pilot, there are no groups to show
                builders["groups"].add(**key, **_group_columns(groups, options))
            for name, columns in _design_columns(groups, options).items():
                builders[name].add(**key, **columns)
            planned_families.append((key, groups))
    if options.policy is not None:
        for row in condition_rows(planned_families, options):
            builders["conditions"].add(**row)
    asked = {name: option for name, option in vars(options).items() if name != "policy"}
    return Plan(**{name: builder.table() for name, builder in builders.items()}, asked=asked)


def condition_rows(
    families: Sequence[tuple[Mapping[str, str], PilotGroups]], options: PlanOptions
) -> Iterator[dict[str, Any]]:
    """Yield how many speakers the conditions of a policy need, by each grouping.

    See docs/methods/gates.md#plans.
    """
    first_points: dict[tuple[str, str], str] = {}
    for key, _ in families:
        first_points.setdefault((key["system"], key["list"]), key["operating_point"])
    for condition in options.policy.conditions:
        matches = [
            (key, groups)
            for key, groups in families
            if _is_limited_by(condition, key, first_points[key["system"], key["list"]])
        ]
        if not matches:
            yield {"condition": condition.name, "reason": "not_in_plan"}
        error_types = {key["metric"] for key, _ in families}
        n_groups = sum(len(condition.groups or groups.names) for _, groups in matches)
        for key, groups in matches:
            # all groups that a condition looks at are allowed for
            n_tests = n_groups
            if condition.maximum is None:
                # verdicts allow for all error types, and take two groups as one question
                n_questions = 1 if len(groups.names) == 2 else len(groups.names)
                n_tests = max(len(error_types), 2) * n_questions * len(matches)
            yield {**key, **condition_columns(condition, groups, n_tests, options)}


def _is_limited_by(condition: Condition, key: Mapping[str, str], first_point: str) -> bool:
    """Return whether a condition is of the rate, grouping, system and point of a family."""
    return (
        key["metric"] == condition.rate
        and not key["within"]
        and condition.grouping in {"", key["grouping"]}
        and condition.system in {"", system_name(key["system"], key["list"])}
        and key["operating_point"] == (condition.operating_point or first_point)
    )


def condition_columns(
    condition: Condition, groups: PilotGroups, n_tests: int, options: PlanOptions
) -> dict[str, Any]:
    """Return how many speakers one condition needs in one grouping, allowing for so many tests."""
    rate, icc, trials_per_speaker = _averages(groups, options)
    maximum = condition.maximum or 1.0
    test_confidence = 1 - (1 - options.confidence) / n_tests
    limit, pass_confidence = maximum, options.confidence
    if condition.maximum is None:  # shown alike: docs/methods/verdicts.md#rules-of-a-verdict
        limit = AuditOptions.margin
        pass_confidence = max(EQUIVALENCE_CONFIDENCE, pass_confidence)
    n_others: float = max(len(groups.names) - 1, 1)
    if condition.reference == BASELINE:
        n_others = 1
    is_limit_of_rate = condition.maximum is not None and not condition.is_ratio
    if is_limit_of_rate:  # a number has no uncertainty, as infinitely many groups have none
        n_others, limit = np.inf, maximum / rate
    sample_options: dict[str, Any] = {
        "sides": groups.sides,
        # real speakers vary more than planned for: half of what is missed is taken off
        "power": (1 + options.power) / 2,
        "others": n_others,
    }
    if is_limit_of_rate:
        icc_at_limit = icc_at(icc, rate, maximum, sides=groups.sides)
        speakers_to_fail = speakers_needed(
            options.detect_ratio,
            maximum,
            trials_per_speaker,
            icc_at_limit,
            confidence=test_confidence,
            **sample_options,
        )
    else:
        # as if each speaker erred more often
        failing_ratio = options.detect_ratio * maximum
        failing_icc = icc_at(icc, rate, failing_ratio * rate, sides=groups.sides)
        speakers_to_fail = speakers_needed(
            failing_ratio,
            rate,
            trials_per_speaker,
            icc,
            own_icc=failing_icc,
            confidence=test_confidence,
            limit=maximum,
            **sample_options,
        )
    speakers_to_pass: Any = np.nan  # a group whose rate is above the limit never passes
    if limit >= 1:
        speakers_to_pass = speakers_needed(
            1.0,
            rate,
            trials_per_speaker,
            icc,
            confidence=pass_confidence,
            limit=limit,
            **sample_options,
        )
    return {
        "condition": condition.name,
        "groups": len(groups.names),
        "confidence": test_confidence,
        "fail_at": options.detect_ratio * maximum,
        "speakers_to_fail": _whole_numbers(np.atleast_1d(speakers_to_fail)),
        "speakers_to_pass": _whole_numbers(np.atleast_1d(speakers_to_pass)),
        "reason": "" if np.isfinite(speakers_to_fail + speakers_to_pass) else "no_number_suffices",
    }


def _group_columns(groups: PilotGroups, options: PlanOptions) -> dict[str, Any]:
    """Return what today's data can detect in each group, and what the wished ratio takes."""
    test_options: dict[str, Any] = {"power": options.power, "confidence": options.confidence}
    rate = groups.other_groups_rate(options)
    group, others = groups.group_sample(), groups.other_groups_sample()
    has_enough = groups.speakers >= FEWEST_SPEAKERS
    worse, better = (
        np.where(
            has_enough,
            detectable_ratio(rate, group, others, better=is_better, **test_options),
            np.nan,
        )
        for is_better in (False, True)
    )
    trials_per_speaker = np.full(
        len(rate), options.trials_per_speaker.get(groups.metric, groups.trials_per_speaker)
    )
    n_needed = speakers_needed(
        options.detect_ratio,
        rate,
        trials_per_speaker,
        groups.icc,
        others=max(len(rate) - 1, 1),
        sides=groups.sides,
        **test_options,
    )
    # the first that holds is given
    reasons: dict[str, Any] = {
        "one_group": len(rate) == 1,
        "shared_trials": not groups.are_disjoint,
        "unknown_speakers": np.isnan(groups.speakers),
        "no_trials": ~(groups.trials > 0),
        "no_errors_of_others": ~(rate > 0),
        "unknown_icc": np.isnan(groups.icc),
        "few_speakers": ~has_enough,
        "rate_above_one": rate * options.detect_ratio >= 1,
        "none_detectable": np.isnan(worse),
        "too_many_speakers": np.isnan(n_needed),
    }
    conditions = [np.broadcast_to(condition, len(rate)) for condition in reasons.values()]
    return {
        "group": groups.names,
        "speakers": _whole_numbers(groups.speakers),
        "trials": _whole_numbers(groups.trials),
        "errors": _whole_numbers(groups.errors),
        "rate": rate,
        "icc": groups.icc,
        "icc_from": groups.icc_from,
        "trials_per_speaker": groups.trials_per_speaker,
        "deff": design_effect(groups.trials_per_speaker, groups.icc_now, sides=groups.sides),
        "worse": worse,
        "better": better,
        "speakers_needed": _whole_numbers(n_needed),
        "trials_needed": _whole_numbers(np.ceil(n_needed * trials_per_speaker / groups.sides)),
        "reason": np.select(conditions, list(reasons), default=""),
    }


def _design_columns(groups: PilotGroups, options: PlanOptions) -> dict[str, dict[str, Any]]:
    """Return groups of one size, at least two: by trials per speaker, and by speakers too."""
    test_options: dict[str, Any] = {"power": options.power, "confidence": options.confidence}
    sides, n_others = groups.sides, max(len(groups.names) - 1, 1)
    rate, icc, trials_per_speaker = _averages(groups, options)
    if not groups.are_disjoint or math.isnan(rate + icc + trials_per_speaker):
        return {}
    source = groups.icc_from[0] if "given" in groups.icc_from else "pooled"
    several_trials = np.maximum(trials_per_speaker * MULTIPLES, 1)
    n_needed, n_needed_as_in_pilot = (
        speakers_needed(
            options.detect_ratio, rate, trials, icc, others=n_others, sides=sides, **test_options
        )
        for trials in (several_trials, trials_per_speaker)
    )
    is_above_one = rate * options.detect_ratio >= 1
    unreached_reason = "rate_above_one" if is_above_one else "too_many_speakers"
    curve_trials, curve_speakers = (
        axis.ravel() for axis in np.meshgrid(several_trials, SPEAKERS, indexing="ij")
    )
    group = Sample(curve_speakers, curve_trials, icc, sides)
    others = Sample(n_others * curve_speakers, curve_trials, icc, sides)
    return {
        "designs": {
            "groups": n_others + 1,
            "rate": rate,
            "icc": icc,
            "icc_from": source,
            "trials_per_speaker": several_trials,
            "deff": design_effect(several_trials, icc, sides=sides),
            "speakers_needed": _whole_numbers(n_needed),
            "trials_needed": _whole_numbers(np.ceil(n_needed * several_trials / sides)),
            "saved": 1 - n_needed / n_needed_as_in_pilot,
            "reason": np.where(np.isnan(n_needed), unreached_reason, ""),
        },
        "curves": {
            "trials_per_speaker": curve_trials,
            "speakers": curve_speakers,
            "power": power_to_detect(
                options.detect_ratio, rate, group, others, confidence=options.confidence
            ),
            "worse": detectable_ratio(rate, group, others, **test_options),
            "better": detectable_ratio(rate, group, others, better=True, **test_options),
        },
    }


def _averages(groups: PilotGroups, options: PlanOptions) -> tuple[float, float, float]:
    """Return rate, correlation and trials per speaker of all groups together."""
    rate = options.planned(groups.metric)
    trials_per_speaker = options.trials_per_speaker.get(groups.metric)
    icc = options.icc.get(groups.metric)
    is_known = np.isfinite(groups.icc) & (groups.speakers > 0)
    trials = np.where(is_known, groups.trials, 0)
    with np.errstate(invalid="ignore"):
        if rate is None:
            rate = np.divide(np.nansum(groups.errors), np.nansum(groups.trials))
        if trials_per_speaker is None:
            speakers = np.where(is_known, groups.speakers, 0)
            trials_per_speaker = groups.sides * np.divide(trials.sum(), speakers.sum())
        if icc is None:
            weight = trials * np.nan_to_num(np.maximum(groups.trials_per_speaker - 1, 0))
            icc = np.divide((weight * np.nan_to_num(groups.icc)).sum(), weight.sum())
    return float(rate), float(icc), float(trials_per_speaker)


def _list_columns(groups: PilotGroups, options: PlanOptions) -> dict[str, Any]:
    """Return what FPR the nontarget trials of each group support."""
    target_fpr = options.planned("fpr")
    target_fpr = math.nan if target_fpr is None else target_fpr
    deff = design_effect(groups.trials_per_speaker, groups.icc_now, sides=groups.sides)
    supported_fpr = supported_rate(groups.trials, deff)
    expected_errors = target_fpr * groups.trials
    is_known = np.isfinite(groups.trials * deff * target_fpr)
    # the first that holds is given
    reasons = {
        "unknown_trials": np.isnan(groups.trials),
        "no_trials": groups.trials == 0,
        "unknown_icc": np.isnan(deff),
        "few_trials": np.isnan(supported_fpr),
    }
    return {
        "group": groups.names,
        "speakers": _whole_numbers(groups.speakers),
        "trials": _whole_numbers(groups.trials),
        "deff": deff,
        "supported_fpr": supported_fpr,
        "target_fpr": target_fpr,
        "expected_errors": expected_errors,
        "half_width": relative_half_width(expected_errors, deff, confidence=options.confidence),
        "trials_needed": _whole_numbers(np.ceil(trials_needed(target_fpr, deff))),
        "is_supported": [
            bool(is_supported) if has_figures else None
            for is_supported, has_figures in zip(supported_fpr <= target_fpr, is_known, strict=True)
        ],
        "reason": np.select(list(reasons.values()), list(reasons), default=""),
    }


def _whole_numbers(numbers: FloatArray) -> list[int | None]:
    return [None if math.isnan(number) else int(number) for number in numbers.tolist()]
