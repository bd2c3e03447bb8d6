"""Hold an audit against a policy: what is kept, what is broken, what is inconclusive.

See docs/methods/gates.md.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from parivox.auditing import (
    ATTEMPTS,
    BELOW_MINIMUM,
    IS_REFERENCE,
    NO_FAILURES_GIVEN,
    WITHOUT_TRIALS,
    TableBuilder,
    loaded_audit,
    system_name,
)
from parivox.core.verdict import exceeds, holm
from parivox.decide.policy_file import BASELINE, LIMITS_OF_SEARCHES, read_policy
from parivox.decide.releases import GONE, NEW, PAIRED, UNPAIRED, compare
from parivox.errors import ConfigError, DataError, name_hint
from parivox.facts import VALUES_COLUMN, cell_of_row, facts_of_row
from parivox.options.audit import SPEAKER_INTERVAL_METHODS
from parivox.options.limits import FAILURE_METRICS, RATIO_METRICS
from parivox.shown import GATE_MODULE, NotebookView
from parivox.version import __version__

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    from parivox.auditing import Audit
    from parivox.data.table import Table
    from parivox.decide.policy_file import Condition, Policy

    Row = dict[str, Any]

PASS, FAIL, INCONCLUSIVE, NOT_APPLICABLE = "pass", "fail", "inconclusive", "not_applicable"
OUTCOMES = (FAIL, INCONCLUSIVE, PASS, NOT_APPLICABLE)
EXIT_CODES = {PASS: 0, FAIL: 1, INCONCLUSIVE: 3, NOT_APPLICABLE: 3}
"""What `parivox gate` ends with; 2 is for mistakes."""
ABSENT = {NEW: "not_in_baseline", GONE: "not_in_audit"}
"""Why a group cannot be compared with the baseline: it does not pass, as nothing shows that."""
MIXED = "mixed"
"""How releases are compared where only some groups have the same speakers: these are paired."""
AUDIT_OPTIONS = ("confidence", "interval", "margin", "fixed_threshold", "gate")
"""Options of an audit that decide how easily a condition is met."""
_RELEASE_NAMES = ("the baseline", "the audit")
_REFERENCES = {"others": "all other groups combined", "pooled": "all groups pooled"}
_KEY_COLUMNS = ("system", "list", "grouping", "group")
TABLES: dict[str, dict[str, str]] = {
    "conditions": {
        "condition": "str",
        "outcome": "str",
        **dict.fromkeys(OUTCOMES, "int"),
        "accepted": "int",
    },
    "groups": {
        "condition": "str",
        **dict.fromkeys(_KEY_COLUMNS, "str"),
        "rate": "str",
        "operating_point": "str",
        "asked": "str",
        "most": "float",
        "value": "float",
        "low": "float",
        "high": "float",
        "p_holm": "float",
        "outcome": "str",
        "reason": "str",
        "accepted": "str",
        VALUES_COLUMN: "str",
    },
}
"""Columns of each table, in order, with their kinds."""


@dataclass(frozen=True, eq=False, repr=False)
class Gate(NotebookView):
    """What a gate says of an audit.

    Attributes
    ----------
    conditions : Table
        Of each condition the outcome, and of how many groups it is which; ``accepted`` are those
        of which it can't be told, but which pass for a while.
    groups : Table
        Of each condition and group what was held against the limit, and the outcome.
    record : dict
        The policy, the audits, the date.
    """

    conditions: Table
    groups: Table
    record: dict[str, Any]

    def __repr__(self) -> str:
        return f"<Gate: {self.outcome}; {len(self.conditions)} conditions>"

    @property
    def outcome(self) -> str:
        """Of all conditions: ``fail``, ``inconclusive`` or ``pass``."""
        condition_outcomes = {row["outcome"] for row in self.conditions.rows()}
        for outcome in (FAIL, INCONCLUSIVE, PASS):  # the worst counts
            if outcome in condition_outcomes:
                return outcome
        return INCONCLUSIVE

    @property
    def exit_code(self) -> int:
        """0 for a pass, 1 for a fail, 3 if it can't be told."""
        return EXIT_CODES[self.outcome]

    def to_dict(self) -> dict[str, Any]:
        """Return all of it, as JSON can hold it (infinite values as "inf")."""
        tables = {
            name: [
                {key: str(cell) if cell == math.inf else cell for key, cell in row.items()}
                for row in getattr(self, name).rows()
            ]
            for name in TABLES
        }
        return {"outcome": self.outcome, **self.record, **tables}

    def to_json(self) -> str:
        """Return all of it as JSON."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n"

    def to_junit(self) -> str:
        """Return JUnit XML: a test case for each condition and group; inconclusive is an error."""
        return str(import_module(GATE_MODULE).junit(self))

    def to_markdown(self) -> str:
        """Return a summary in Markdown, as for the page of a CI job."""
        return str(import_module(GATE_MODULE).markdown(self))


def gate(
    audit: Audit | str | os.PathLike[str],
    policy: Mapping[str, Any] | str | os.PathLike[str],
    *,
    baseline: Audit | str | os.PathLike[str] | None = None,
    today: dt.date | None = None,
) -> Gate:
    """Hold an audit against a policy.

    Parameters
    ----------
    audit
        An audit with intervals, or its folder.
    policy
        The file, or a mapping that holds the same.
    baseline
        The audit of the release before, for conditions that ask for one; where none does, that is
        said.
    today
        The day by which what is accepted may have ended; without it, today.

    Returns
    -------
    Gate
        A group breaks a condition where that is shown: its interval lies beyond the limit, also
        after Holm's allowance for all that the condition looks at. It keeps the condition where its
        interval lies within. Else it can't be told, which does not pass.

    Raises
    ------
    ConfigError
        If the policy contradicts itself or names what the audit does not have.
    DataError
        If there is no audit, or none with intervals, or its intervals treat trials as independent
        or have less confidence than the policy asks for.

    Examples
    --------
    >>> policy = {
    ...     "parivox-policy": 1,
    ...     "conditions": [{"name": "FNR", "rate": "fnr", "at-most": "5%"}],
    ... }
    >>> gate("audit/", policy).outcome  # doctest: +SKIP
    'inconclusive'
    """
    judged_audit, rules = _verification_audit(audit), read_policy(policy)
    baseline_audit = None if baseline is None else _verification_audit(baseline)
    if not judged_audit.record["options"]["intervals"] or not len(judged_audit.verdicts):
        msg = "the audit has no verdicts, as in audits with --no-intervals or from counts"
        hint = "audit the scores again with intervals"
        raise DataError(msg, hint)
    _check_evidence(judged_audit.record["options"], rules)
    judge = _Judge(judged_audit, rules, baseline_audit)
    builders = {name: TableBuilder(columns) for name, columns in TABLES.items()}
    date = today or dt.date.today()  # noqa: DTZ011 - the day where the policy is read
    for condition in rules.conditions:
        rows = judge.outcomes(condition)
        for row in rows:
            row["accepted"] = _acceptance_reason(rules, condition, row, date)
            builders["groups"].add(**row)
        group_outcomes = [row["outcome"] for row in rows]
        counts = {outcome: group_outcomes.count(outcome) for outcome in OUTCOMES}
        n_accepted = len([row for row in rows if row["accepted"]])
        # what is accepted counts as a pass; the worst that remains is the outcome
        remaining = {
            **counts,
            INCONCLUSIVE: counts[INCONCLUSIVE] - n_accepted,
            PASS: counts[PASS] + n_accepted,
        }
        worst = [outcome for outcome in OUTCOMES if remaining[outcome]]
        builders["conditions"].add(
            condition=condition.name,
            outcome=worst[0] if worst else NOT_APPLICABLE,
            **counts,
            accepted=n_accepted,
        )
    reference = str(judge.options["reference"][0])
    record: Row = {
        "policy": dict(rules.provenance),
        "today": date.isoformat(),
        "ended": [
            f"{accepted.condition}: {accepted.reason} (until {accepted.until})"
            for accepted in rules.accepted
            if accepted.until < date
        ],
        "version": __version__,
        "audit_options": {name: judge.options[name] for name in AUDIT_OPTIONS},
        "reference": _REFERENCES.get(reference, reference),
        "pairing": judge.pairing,
        "changed_groups": judge.changed_groups,
        "audit": judged_audit.record["inputs"],
        "baseline": None if baseline_audit is None else baseline_audit.record["inputs"],
        "baseline_is_asked": judge.needs_baseline,
    }
    if any(condition.rate == "sfar" for condition in rules.conditions):
        record["attacks"] = judged_audit.record.get("attacks", [])
    compares_spoof_accepts = any(
        condition.rate == "sfar" and condition.reference == BASELINE
        for condition in rules.conditions
    )
    if judge.attacks_of_releases and compares_spoof_accepts:
        record["attacks_of_releases"] = judge.attacks_of_releases
    return Gate(**{name: builder.table() for name, builder in builders.items()}, record=record)


def _verification_audit(source: Audit | str | os.PathLike[str]) -> Audit:
    """Return an audit to judge; refuse identification, whose limits the audit itself checks."""
    return loaded_audit(source, "parivox gate", LIMITS_OF_SEARCHES)


def _check_evidence(options: Mapping[str, Any], policy: Policy) -> None:
    """Refuse intervals that are narrower than the policy allows: any limit is met more easily."""
    if options["interval"] not in SPEAKER_INTERVAL_METHODS:
        msg = (
            f"the intervals of the audit ({options['interval']}) treat trials as independent and "
            "are for comparison only"
        )
        hint = "audit the scores again without --interval"
        raise DataError(msg, hint)
    if options["confidence"] < policy.confidence:
        msg = (
            f"the audit has a confidence of {options['confidence']}, but {policy.name} needs "
            f"at least {policy.confidence}"
        )
        hint = (
            f"audit the scores again with --confidence {policy.confidence}, or write "
            f"'confidence: {options['confidence']}' into the policy"
        )
        raise DataError(msg, hint)


def _acceptance_reason(policy: Policy, condition: Condition, row: Row, date: dt.date) -> str:
    """Return why an inconclusive group passes for a while; empty where it does not."""
    if row["outcome"] != INCONCLUSIVE:
        return ""
    for accepted in policy.accepted:
        if accepted.covers(condition.name, row["group"], date):
            return f"{accepted.reason} (until {accepted.until})"
    return ""


class _Judge:
    """Judges conditions by an audit, and by a baseline if there is one."""

    def __init__(self, audit: Audit, policy: Policy, baseline: Audit | None) -> None:
        self.audit, self.policy = audit, policy
        self.options = audit.record["options"]
        self.systems = {
            system_name(source["system"], source["list"]): {
                "system": source["system"],
                "list": source["list"],
            }
            for source in audit.record["inputs"]
        }
        operating_points = (row["operating_point"] for row in audit.operating_points.rows())
        self.operating_points = list(dict.fromkeys(operating_points))
        # a group that the baseline has is none of a misspelt name
        baseline_rows = [] if baseline is None else baseline.groups.rows()
        self.baseline_groups = {(row["grouping"], row["group"]) for row in baseline_rows}
        # without a baseline, one is asked for below
        self.baseline_has_spoof = baseline is None or any(
            row["metric"] == "sfar" for row in baseline_rows
        )
        self.groups_without_trials = _groups_without_trials(audit)
        self.unnamed_groups_without_trials = _unnamed_groups_without_trials(audit)
        conditions = {condition.name: condition for condition in policy.conditions}
        for condition in policy.conditions:
            self._check_names(condition, condition.groups, condition.location)
        for accepted in policy.accepted:
            condition = conditions[accepted.condition]
            self._check_names(condition, accepted.groups, accepted.location)
        self.changes: list[Row] = []
        self.changed_groups: list[Row] = []
        self.attacks_of_releases: dict[str, list[str]] = {}
        self.needs_baseline = any(
            condition.reference == BASELINE for condition in policy.conditions
        )
        if self.needs_baseline:
            if baseline is None:
                msg = f"{policy.name}: the policy needs an audit of the previous release"
                hint = "give this audit with --baseline OLD"
                raise ConfigError(msg, hint)
            comparison = compare(baseline, audit, names=_RELEASE_NAMES)
            self.changes = comparison.changes.rows()
            self.changed_groups = comparison.record["changed_groups"]
            self.attacks_of_releases = comparison.record.get("attacks", {})
        change_pairings = {row["pairing"] for row in self.changes}
        pairings = [pairing for pairing in (UNPAIRED, PAIRED) if pairing in change_pairings]
        self.pairing = MIXED if len(pairings) > 1 else "".join(pairings)

    def _check_names(self, condition: Condition, groups: Sequence[str], location: str) -> None:
        """Refuse what the audit does not have."""
        audit = self.audit
        audit_groups = {(row["grouping"], row["group"]) for row in audit.groups.rows()}
        for (_, _, grouping), groups_without_trials in self.groups_without_trials.items():
            audit_groups |= {(grouping, group) for group in groups_without_trials}
        known_groups = {
            group
            for grouping, group in audit_groups | self.baseline_groups
            if grouping == condition.grouping or (not condition.grouping and grouping != "all")
        }
        if condition.rate == "sfar":
            self._check_spoof_trials(condition)
        group_kind = f"group by {condition.grouping}" if condition.grouping else "group"
        names = [
            ("grouping", condition.grouping, audit.record["groupings"]),
            ("system", condition.system, [*self.systems]),
            ("operating point", condition.operating_point, self.operating_points),
        ]
        names += [(group_kind, group, sorted(known_groups)) for group in groups]
        for kind, name, known_names in names:
            if name and name not in known_names:
                msg = f"{location}: no {kind} {name!r} in this audit"
                hint = name_hint(name, known_names)
                raise ConfigError(msg, hint)

    def _check_spoof_trials(self, condition: Condition) -> None:
        """Refuse a condition on spoof accepts of what has no spoof trials."""
        lacking = [
            name
            for name, system in self.systems.items()
            if condition.system in {"", name}
            and not len(self.audit.groups.subset(**system, metric="sfar"))
        ]
        if condition.reference == BASELINE and not self.baseline_has_spoof:
            lacking.append("the baseline")
        if lacking:
            msg = f"{condition.location}: {lacking[0]} has no spoof trials"
            hint = "leave the condition out, or audit a list with spoof trials"
            raise ConfigError(msg, hint)

    def outcomes(self, condition: Condition) -> list[Row]:
        """Return, for every group, whether it keeps a condition."""
        rows: list[Row] = []
        for family in self._families(condition):
            rows += self._limit_rows(condition, family)
        # all that the condition looks at are allowed for (docs/methods/gates.md)
        if condition.maximum is None:
            # the p of verdicts allows for the groups of a grouping already
            n_groupings = len({tuple(row[name] for name in _KEY_COLUMNS[:3]) for row in rows})
            p_holm = [_nan_for_none(row["p"]) * n_groupings for row in rows]
        else:
            p_holm = holm([row["p"] for row in rows]).tolist() if rows else []
        alpha = 1 - self.options["confidence"]
        for row, p in zip(rows, p_holm, strict=True):
            unadjusted_p, is_beyond, is_within = (
                row.pop(name) for name in ("p", "beyond", "within")
            )
            row["p_holm"] = None if math.isnan(p) else min(p, 1.0)
            if row["outcome"]:
                continue
            if is_beyond and p < alpha:
                row["outcome"] = FAIL
            elif is_within:
                row["outcome"] = PASS
            else:
                row["outcome"] = INCONCLUSIVE
            if is_beyond and _nan_for_none(unadjusted_p) < alpha <= p:
                row["reason"] = "not_after_holm"
        return rows

    def _families(self, condition: Condition) -> Iterator[Row]:
        """Yield the groupings of systems that a condition is of."""
        for name, system in self.systems.items():
            if condition.system not in {"", name}:
                continue
            if condition.grouping:
                yield {**system, "grouping": condition.grouping}
            else:
                for grouping in self.audit.record["groupings"]:
                    yield {**system, "grouping": grouping}

    def _limit_rows(self, condition: Condition, family: Mapping[str, str]) -> Iterator[Row]:
        """Yield what is held against a limit in each group, before others are allowed for."""
        operating_point = self._operating_point(condition, family)
        key = {
            **family,
            "metric": condition.rate,
            "operating_point": operating_point,
            "within": "",
            "allocation": self.options["allocate"][0],
        }
        if condition.maximum is None:
            question, rows = "not worse", [*self._verdict_rows(key)]
        elif not condition.is_ratio:
            question, rows = "rate", [*self._rate_rows(condition, key)]
        elif condition.reference == BASELINE:
            question, rows = "times the baseline", [*self._change_rows(condition, key)]
        else:
            question, rows = "ratio", [*self._ratio_rows(condition, key)]
        absent_rows = self._absent_rows(condition, family, {row["group"] for row in rows})
        for row in [*rows, *absent_rows]:
            group = row["group"]
            # a condition without groups is of all of them, but not of all together
            is_limited = group in condition.groups if condition.groups else group != "pooled"
            if not group or not is_limited:
                continue
            yield {
                "condition": condition.name,
                **family,
                "group": group,
                "rate": condition.rate,
                "operating_point": operating_point,
                "asked": question,
                "most": condition.maximum,
                **{name: row[name] for name in ("value", "low", "high", "reason")},
                "p": row["p"],
                "beyond": row["beyond"],
                "within": row["within"],
                "outcome": row.get("outcome", ""),
            }

    def _operating_point(self, condition: Condition, family: Mapping[str, str]) -> str:
        """Return the operating point that a condition names, else the primary one of the system."""
        if condition.rate in FAILURE_METRICS:  # which no threshold decides
            return ""
        if condition.operating_point:
            return condition.operating_point
        system, list_ = family["system"], family["list"]
        rows = self.audit.operating_points.subset(system=system, list=list_).rows()
        points = [row["operating_point"] for row in rows]
        primary_points = {
            f"{grouping}@{point}": point
            for grouping in self.audit.record["groupings"]
            for point in points
        }
        # the first may have no threshold; without a primary one, it is what was asked for
        primary = self.audit.record.get("primary", {}).get(system_name(system, list_))
        return str(primary_points.get(primary, points[0] if points else ""))

    def _absent_rows(
        self, condition: Condition, family: Mapping[str, str], judged_groups: set[str]
    ) -> Iterator[Row]:
        """Yield groups without a rate: of the speaker table, and those named of the baseline."""
        grouping = family["grouping"]
        # without these, a gate would reward that the trials of a group are left out
        key = tuple(family[name] for name in _KEY_COLUMNS[:3])
        groups = self.groups_without_trials.get(key, [])
        if key in self.unnamed_groups_without_trials:
            # ahead of the others, as sentences name the first ones
            groups = [self.unnamed_groups_without_trials[key], *groups]
        has_grouping = any(name == grouping for name, _ in self.baseline_groups)
        if condition.reference == BASELINE and has_grouping:
            # groups of the baseline are compared; one that neither release has is as it was
            groups = [group for group in groups if group in condition.groups]
        reasons = dict.fromkeys(groups, "no_trials")
        reasons |= {
            group: ABSENT[GONE]
            for group in condition.groups
            if (grouping, group) in self.baseline_groups
        }
        for group, reason in reasons.items():
            if group not in judged_groups:
                yield {
                    **dict.fromkeys(("value", "low", "high", "p")),
                    "group": group,
                    "reason": reason,
                    "beyond": False,
                    "within": False,
                }

    def _verdict_rows(self, key: Row) -> Iterator[Row]:
        for row in self.audit.verdicts.subset(**key).rows():
            yield {
                **row,
                "value": row["ratio"],
                "p": row["p_holm"],
                "beyond": row["verdict"] == "worse",
                "within": row["verdict"] in {"better", "equivalent"},
                "reason": cell_of_row(row, "reason"),
                "outcome": NOT_APPLICABLE if row["reason"] == IS_REFERENCE else "",
            }

    def _ratio_rows(self, condition: Condition, key: Row) -> Iterator[Row]:
        group_rows = self.audit.groups.subset(**key, definition="").rows()
        df_by_group = {row["group"]: row["df"] for row in group_rows}
        for row in self.audit.verdicts.subset(**key).rows():
            has_few_speakers = row["reason"] == BELOW_MINIMUM
            low, high = row["low"], row["high"]
            if has_few_speakers:  # too few for a verdict, so that their interval decides nothing
                low = high = None
            df = df_by_group.get(row["group"])
            limit_columns = self._limit_columns(row["ratio"], low, high, df, condition)
            reason = cell_of_row(row, "reason") if low is None else ""
            yield {
                **row,
                **limit_columns,
                "reason": reason,
                "outcome": NOT_APPLICABLE if row["reason"] == IS_REFERENCE else "",
            }

    def _rate_rows(self, condition: Condition, key: Row) -> Iterator[Row]:
        # rates of attempts have a definition of their own
        definition = "" if condition.rate in (*RATIO_METRICS, *FAILURE_METRICS) else ATTEMPTS
        rows = self.audit.groups.subset(**key, definition=definition).rows()
        if not rows and not len(self.audit.groups.subset(metric=condition.rate)):
            rows = self._rows_without_failures(key["grouping"])
        for row in rows:
            limit_columns = self._limit_columns(
                row["value"], row["low"], row["high"], row["df"], condition
            )
            reason = cell_of_row(row, "reason")
            if not reason and row["high"] is None:
                reason = cell_of_row(row, "note")
            yield {**row, **limit_columns, "reason": reason}

    def _rows_without_failures(self, grouping: str) -> list[Row]:
        """Return rows of an audit that was given no failures: its groups, without figures."""
        verdict_rows = self.audit.verdicts.subset(grouping=grouping).rows()
        return [
            {
                "group": group,
                "value": None,
                "low": None,
                "high": None,
                "df": None,
                "reason": NO_FAILURES_GIVEN,
                "note": "",
            }
            for group in dict.fromkeys(row["group"] for row in verdict_rows)
        ]

    def _change_rows(self, condition: Condition, key: Row) -> Iterator[Row]:
        compared_groups = set()
        for row in self.changes:
            if all(row[name] == cell for name, cell in key.items() if name in row):
                compared_groups.add(row["group"])
                limit_columns = self._limit_columns(
                    _exp(row["log_ratio"]),
                    _exp(row["log_low"]),
                    _exp(row["log_high"]),
                    row["df"],
                    condition,
                )
                reason = ABSENT.get(row["pairing"], cell_of_row(row, "reason"))
                yield {**row, **limit_columns, "reason": reason}
        # a grouping, an operating point or a system that the baseline lacks as a whole
        for row in self.audit.groups.subset(**key, definition="").rows():
            if row["group"] not in compared_groups:
                limit_columns = self._limit_columns(None, None, None, None, condition)
                yield {**row, **limit_columns, "reason": ABSENT[NEW]}

    def _limit_columns(
        self,
        estimate: float | None,
        low: float | None,
        high: float | None,
        df: float | None,
        condition: Condition,
    ) -> Row:
        """Return an estimate with its interval against the limit."""
        assert condition.maximum is not None
        p = exceeds(
            _nan_for_none(estimate),
            _nan_for_none(low),
            condition.maximum,
            math.inf if df is None else df,
            self.options["confidence"],
        )
        return {
            "value": estimate,
            "low": low,
            "high": high,
            "p": float(p),
            "beyond": True,
            "within": high is not None and high <= condition.maximum,
        }


def _groups_without_trials(audit: Audit) -> dict[tuple[str, ...], list[str]]:
    """Return groups of the speaker table without trials, by system, list and grouping."""
    return {key: names for key, names, _ in _rows_without_trials(audit)}


def _unnamed_groups_without_trials(audit: Audit) -> dict[tuple[str, ...], str]:
    """Return how many further groups have no trials; audits of earlier releases name ten at most.

    As they have no names, they can be accepted only with all groups.
    """
    return {
        key: f"{n_unnamed or ''} further group{'s' if n_unnamed != 1 else ''}".lstrip()
        for key, names, n_unnamed in _rows_without_trials(audit)
        if n_unnamed or not names
    }


def _rows_without_trials(audit: Audit) -> Iterator[tuple[tuple[str, ...], list[str], int]]:
    """Yield names of groups without trials and the number of those not named, by grouping."""
    for row in audit.data.subset(item=WITHOUT_TRIALS).rows():
        (note,) = facts_of_row(row, "note")
        names = [*note.values.get("groups", ())]
        n_groups = len(names) if row["value"] is None else int(row["value"])
        yield tuple(row[name] for name in _KEY_COLUMNS[:3]), names, n_groups - len(names)


def _nan_for_none(number: float | None) -> float:
    return math.nan if number is None else number


def _exp(logarithm: float | None) -> float | None:
    return None if logarithm is None else math.exp(logarithm)
