"""An audit held against a policy: what is kept, what is broken, what can't be told.

See docs/methods/gates.md.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing import ATTEMPTS, TableBuilder, loaded_audit, system_name
from parivox.core.verdict import INCONCLUSIVE_REASONS, exceeds, holm
from parivox.decide.policy_file import BASELINE, read_policy
from parivox.decide.releases import GONE, NEW, PAIRED, UNPAIRED, compare
from parivox.errors import ConfigError, DataError, name_hint
from parivox.options.limits import FAILURE_METRICS, RATIO_METRICS
from parivox.shown import NotebookView
from parivox.version import __version__

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from parivox.auditing import Audit
    from parivox.data.table import Table
    from parivox.decide.policy_file import Condition, Policy

    Row = dict[str, Any]

PASS, FAIL, CANNOT_TELL, NOT_APPLICABLE = "pass", "fail", "cannot_tell", "not_applicable"
OUTCOMES = (FAIL, CANNOT_TELL, PASS, NOT_APPLICABLE)
EXIT_CODES = {PASS: 0, FAIL: 1, CANNOT_TELL: 3, NOT_APPLICABLE: 3}
"""What `parivox gate` ends with; 2 is for mistakes."""
ABSENT = {NEW: "not in the baseline", GONE: "not in this audit"}
"""Why a group cannot be compared with the baseline: it does not pass, as nothing shows that."""
MIXED = "mixed"
"""How releases are compared where only some groups have the same speakers: these are paired."""
_NAMES = ("the baseline", "the audit")
_REFERENCES = {"others": "all other groups combined", "pooled": "all groups pooled"}
_KEY = ("system", "list", "grouping", "group")
TABLES: dict[str, dict[str, str]] = {
    "conditions": {
        "condition": "str",
        "outcome": "str",
        **dict.fromkeys(OUTCOMES, "int"),
        "accepted": "int",
    },
    "groups": {
        "condition": "str",
        **dict.fromkeys(_KEY, "str"),
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
        """Of all conditions: ``fail``, ``cannot_tell`` or ``pass``."""
        found = {row["outcome"] for row in self.conditions.rows()}
        return next((one for one in OUTCOMES[:3] if one in found), CANNOT_TELL)

    @property
    def exit_code(self) -> int:
        """0 for a pass, 1 for a fail, 3 if it can't be told."""
        return EXIT_CODES[self.outcome]

    def to_json(self) -> str:
        """All of it as JSON."""
        tables = {
            name: [
                {key: str(cell) if cell == math.inf else cell for key, cell in row.items()}
                for row in getattr(self, name).rows()
            ]
            for name in TABLES
        }
        said = {"outcome": self.outcome, **self.record, **tables}
        return json.dumps(said, indent=1, ensure_ascii=False) + "\n"


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
        If there is no audit, or none with intervals.

    Examples
    --------
    >>> policy = {
    ...     "parivox-policy": 1,
    ...     "conditions": [{"name": "FNR", "rate": "fnr", "at-most": "5%"}],
    ... }
    >>> gate("audit/", policy).outcome  # doctest: +SKIP
    'cannot_tell'
    """
    held, said = loaded_audit(audit), read_policy(policy)
    before = None if baseline is None else loaded_audit(baseline)
    if not held.record["options"]["intervals"] or not len(held.verdicts):
        msg = "the audit has no verdicts, as of --no-intervals or counts; audit scores again"
        raise DataError(msg)
    judge = _Judge(held, said, before)
    rows = {name: TableBuilder(columns) for name, columns in TABLES.items()}
    date = today or dt.date.today()  # noqa: DTZ011 - the day where the policy is read
    for one in said.conditions:
        found = judge.outcomes(one)
        for row in found:
            is_open = row["outcome"] == CANNOT_TELL
            covers = (a for a in said.accepted if a.covers(one.name, row["group"], date))
            why = next(covers, None) if is_open else None
            row["accepted"] = "" if why is None else f"{why.reason} (until {why.until})"
            rows["groups"].add(**row)
        n = {code: sum(row["outcome"] == code for row in found) for code in OUTCOMES}
        accepted = sum(row["accepted"] != "" for row in found)
        left = {**n, CANNOT_TELL: n[CANNOT_TELL] - accepted, PASS: n[PASS] + accepted}
        outcome = next((code for code in OUTCOMES if left[code]), NOT_APPLICABLE)
        rows["conditions"].add(condition=one.name, outcome=outcome, **n, accepted=accepted)
    reference = str(judge.options["reference"][0])
    record = {
        "policy": dict(said.provenance),
        "today": date.isoformat(),
        "ended": [
            f"{one.condition}: {one.reason} (until {one.until})"
            for one in said.accepted
            if one.until < date
        ],
        "version": __version__,
        "reference": _REFERENCES.get(reference, reference),
        "pairing": judge.pairing,
        "changed_groups": judge.changed_groups,
        "audit": held.record["inputs"],
        "baseline": None if before is None else before.record["inputs"],
        "baseline_is_asked": judge.asks_before,
    }
    return Gate(**{name: of.table() for name, of in rows.items()}, record=record)


class _Judge:
    """What an audit tells of conditions."""

    def __init__(self, audit: Audit, policy: Policy, baseline: Audit | None) -> None:
        self.audit, self.policy = audit, policy
        self.options = audit.record["options"]
        self.systems = {
            system_name(one["system"], one["list"]): {"system": one["system"], "list": one["list"]}
            for one in audit.record["inputs"]
        }
        self.points = list(
            dict.fromkeys(row["operating_point"] for row in audit.operating_points.rows())
        )
        # a group that the baseline has is none of a misspelt name
        before = [] if baseline is None else baseline.groups.rows()
        self.groups_before = {(row["grouping"], row["group"]) for row in before}
        named = {one.name: one for one in policy.conditions}
        for one in policy.conditions:
            self._check(one, one.groups, one.location)
        for accepted in policy.accepted:
            self._check(named[accepted.condition], accepted.groups, accepted.location)
        self.changes: list[Row] = []
        self.changed_groups: list[Row] = []
        self.asks_before = any(one.reference == BASELINE for one in policy.conditions)
        if self.asks_before:
            if baseline is None:
                msg = f"{policy.name}: asks for the release before; give --baseline OLD, its audit"
                raise ConfigError(msg)
            comparison = compare(baseline, audit, names=_NAMES)
            self.changes = comparison.changes.rows()
            self.changed_groups = comparison.record["changed_groups"]
        pairings = {row["pairing"] for row in self.changes}
        known = [one for one in (UNPAIRED, PAIRED) if one in pairings]
        self.pairing = MIXED if len(known) > 1 else "".join(known)

    def _check(self, one: Condition, groups: Sequence[str], where: str) -> None:
        """Refuse what the audit does not have."""
        audit = self.audit
        both = {(row["grouping"], row["group"]) for row in audit.groups.rows()}
        known = {
            group
            for grouping, group in both | self.groups_before
            if grouping == one.grouping or (not one.grouping and grouping != "all")
        }
        of = f"group by {one.grouping}" if one.grouping else "group"
        for what, asked, there in (
            ("grouping", one.grouping, audit.record["groupings"]),
            ("system", one.system, [*self.systems]),
            ("operating point", one.operating_point, self.points),
            *((of, group, sorted(known)) for group in groups),
        ):
            if asked and asked not in there:
                msg = f"{where}: no {what} {asked!r} in this audit; {name_hint(asked, there)}"
                raise ConfigError(msg)

    def outcomes(self, one: Condition) -> list[Row]:
        """Of every group, whether it keeps a condition."""
        rows = [row for where in self._families(one) for row in self._told(one, where)]
        if one.maximum is None:
            n = len({tuple(row[name] for name in _KEY[:3]) for row in rows})
            p_holm = [_number(row["p"]) * n for row in rows]
        else:
            p_holm = holm([row["p"] for row in rows]).tolist() if rows else []
        alpha = 1 - self.options["confidence"]
        for row, p in zip(rows, p_holm, strict=True):
            alone, beyond, within = (row.pop(name) for name in ("p", "beyond", "within"))
            row["p_holm"] = None if math.isnan(p) else min(p, 1.0)
            if row["outcome"] == "":
                row["outcome"] = FAIL if beyond and p < alpha else PASS if within else CANNOT_TELL
                if beyond and _number(alone) < alpha <= p:
                    row["reason"] = INCONCLUSIVE_REASONS["not_after_holm"]
        return rows

    def _families(self, one: Condition) -> Iterator[Row]:
        """The groupings of systems that a condition is of."""
        for name, where in self.systems.items():
            if one.system in {"", name}:
                for by in [one.grouping] if one.grouping else self.audit.record["groupings"]:
                    yield {**where, "grouping": by}

    def _told(self, one: Condition, where: Mapping[str, str]) -> Iterator[Row]:
        """What is held against a limit in each group, before others are allowed for."""
        system = {name: where[name] for name in ("system", "list")}
        own = [row["operating_point"] for row in self.audit.operating_points.where(**system).rows()]
        at = "" if one.rate in FAILURE_METRICS else one.operating_point or (own[0] if own else "")
        key = {**where, "metric": one.rate, "operating_point": at, "within": ""}
        allocation = self.options["allocate"][0]
        ask: Callable[[Condition, Row], Iterator[Row]] = (
            self._verdicts
            if one.maximum is None
            else self._rates
            if not one.is_ratio
            else self._ratios
            if one.reference != BASELINE
            else self._changes
        )
        asked = "not worse" if one.maximum is None else "ratio" if one.is_ratio else "rate"
        if one.reference == BASELINE:
            asked = "times the baseline"
        rows = [*ask(one, {**key, "allocation": allocation})]
        for row in [*rows, *self._gone(one, where["grouping"], rows)]:
            group = row["group"]
            if not group or (group not in one.groups if one.groups else group == "pooled"):
                continue
            made = {name: row[name] for name in ("value", "low", "high", "reason")}
            yield {
                "condition": one.name,
                **where,
                "group": group,
                "rate": one.rate,
                "operating_point": at,
                "asked": asked,
                "most": one.maximum,
                **made,
                "p": row["p"],
                "beyond": row["beyond"],
                "within": row["within"],
                "outcome": row.get("outcome", ""),
            }

    def _gone(
        self, one: Condition, grouping: str, rows: Sequence[Mapping[str, Any]]
    ) -> Iterator[Row]:
        """Yield the groups that a condition names and that the baseline alone has."""
        judged = {row["group"] for row in rows}
        for group in one.groups:
            if group not in judged and (grouping, group) in self.groups_before:
                nothing = dict.fromkeys(("value", "low", "high", "p"))
                yield {
                    **nothing,
                    "group": group,
                    "reason": ABSENT[GONE],
                    "beyond": False,
                    "within": False,
                }

    def _verdicts(self, _: Condition, key: Row) -> Iterator[Row]:
        for row in self.audit.verdicts.where(**key).rows():
            yield {
                **row,
                "value": row["ratio"],
                "p": row["p_holm"],
                "beyond": row["verdict"] == "worse",
                "within": row["verdict"] in {"better", "no_difference"},
                "reason": INCONCLUSIVE_REASONS.get(row["reason"], row["reason"]),
                "outcome": NOT_APPLICABLE if row["reason"] == "is the reference" else "",
            }

    def _ratios(self, one: Condition, key: Row) -> Iterator[Row]:
        freedom = {
            row["group"]: row["df"] for row in self.audit.groups.where(**key, definition="").rows()
        }
        for row in self.audit.verdicts.where(**key).rows():
            few = row["reason"].startswith("fewer than")
            low, high = (None if few else row[end] for end in ("low", "high"))
            held = self._held(row["ratio"], low, high, freedom.get(row["group"]), one)
            is_own = row["reason"] == "is the reference"
            why = row["reason"] if few or held["low"] is None else ""
            more = {
                "reason": INCONCLUSIVE_REASONS.get(why, why),
                "outcome": NOT_APPLICABLE if is_own else "",
            }
            yield {**row, **held, **more}

    def _rates(self, one: Condition, key: Row) -> Iterator[Row]:
        rule = "" if one.rate in (*RATIO_METRICS, *FAILURE_METRICS) else ATTEMPTS
        rows = self.audit.groups.where(**key, definition=rule).rows()
        if not rows and not len(self.audit.groups.where(metric=one.rate)):
            rows = [
                {"group": group, "value": None, "low": None, "high": None, "df": None,
                 "reason": "nothing is told of failures", "note": ""}
                for group in dict.fromkeys(
                    row["group"]
                    for row in self.audit.verdicts.where(grouping=key["grouping"]).rows()
                )
            ]  # fmt: skip
        for row in rows:
            held = self._held(row["value"], row["low"], row["high"], row["df"], one)
            why = row["reason"] or (row["note"] if held["high"] is None else "")
            yield {**row, **held, "reason": INCONCLUSIVE_REASONS.get(why, why)}

    def _changes(self, one: Condition, key: Row) -> Iterator[Row]:
        compared = set()
        for row in self.changes:
            if all(row[name] == value for name, value in key.items() if name in row):
                compared.add(row["group"])
                low, high = (_exp(row[f"log_{end}"]) for end in ("low", "high"))
                held = self._held(_exp(row["log_ratio"]), low, high, row["df"], one)
                reason = ABSENT.get(row["pairing"], row["reason"])
                yield {**row, **held, "reason": reason}
        # a grouping, an operating point or a system that the baseline lacks as a whole
        for row in self.audit.groups.where(**key, definition="").rows():
            if row["group"] not in compared:
                held = self._held(None, None, None, None, one)
                yield {**row, **held, "reason": ABSENT[NEW]}

    def _held(
        self,
        value: float | None,
        low: float | None,
        high: float | None,
        df: float | None,
        one: Condition,
    ) -> Row:
        """A value with its interval against the limit."""
        assert one.maximum is not None
        numbers = _number(value), _number(low)
        freedom = math.inf if df is None else df
        p = float(exceeds(*numbers, one.maximum, freedom, self.options["confidence"]))
        within = high is not None and high <= one.maximum
        return {"value": value, "low": low, "high": high, "p": p, "beyond": True, "within": within}


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def _exp(value: float | None) -> float | None:
    return None if value is None else math.exp(value)
