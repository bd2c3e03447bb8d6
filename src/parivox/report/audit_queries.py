"""What a report asks an audit for: scopes, operating points, rates, verdicts, small groups."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from parivox.auditing import THRESHOLD_VARIES
from parivox.core.measures import BOTH
from parivox.core.verdict import INCONCLUSIVE_REASONS
from parivox.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from parivox.auditing import Audit
    from parivox.report.words import Row

    Rates = Mapping[str, Mapping[tuple[str, str], Row]]
    Verdicts = Mapping[str, Mapping[str, Row]]

ERROR_TYPES = {"fnr": "false rejects", "fpr": "false accepts"}
"""Both error types in words."""
VERDICTS = {
    "worse": "worse",
    "better": "better",
    "no_difference": "equivalent",
    "cannot_tell": "inconclusive",
}
NOT_UNDER_REPRESENTED = "are not under-represented"
"""What is said of the groups that headline measures are of."""
_MAX_NAMES = 3
"""Names of groups up to which they are told beside a number."""
POOLED = "pooled"
IS_REFERENCE = "is the reference"
_MARKS = {
    "~": (
        "interval may be short",
        "the interval may be too narrow: few speakers, or large differences between them",
    ),
    "+": (THRESHOLD_VARIES, "includes that the threshold was set on these trials"),
}
"""Behind intervals, with the note that each stands for and what is said of it."""


class Scope(NamedTuple):
    """One grouping of one system on one list, under one allocation."""

    system: str
    list: str
    grouping: str
    allocation: str

    @property
    def filters(self) -> Row:
        """As a table is asked."""
        return {**self._asdict(), "within": ""}

    @property
    def grouping_label(self) -> str:
        """The grouping, as a reader is told of it."""
        how = "" if self.allocation == "both" else f", nontarget trials by {self.allocation}"
        return f"{self.grouping}{how}"

    @property
    def label(self) -> str:
        """The system and the grouping, as a reader is told of them."""
        return f"{system_label(self.system, self.list)}, {self.grouping_label}"


def interval_marks(rows: Iterable[Row]) -> dict[str, str]:
    """The marks of the intervals of these rates, with what they say of them."""
    notes = {row["note"] for row in rows if row["high"] is not None}
    return {
        mark: words for mark, (note, words) in _MARKS.items() if any(note in one for one in notes)
    }


def system_label(system: str, list_: str) -> str:
    """A system, and the list it was audited on."""
    return f"{system} on {list_}" if list_ else system


def systems(audit: Audit) -> list[Row]:
    """Every system and list, as a table is asked."""
    return [{"system": one["system"], "list": one["list"]} for one in audit.record["inputs"]]


def has_several_systems(audit: Audit) -> bool:
    """Whether several systems or lists stand side by side."""
    return len(systems(audit)) > 1


def scopes(audit: Audit) -> Iterator[Scope]:
    """Everything that has groups of its own, in the order of the audit."""
    known = {
        Scope(row["system"], row["list"], row["grouping"], row["allocation"])
        for row in audit.groups.where(metric="fnr", definition="", within="").rows()
    }
    for one in systems(audit):
        for grouping in audit.record["groupings"]:
            for allocation in audit.record["options"]["allocate"]:
                scope = Scope(one["system"], one["list"], grouping, allocation)
                if scope in known:
                    yield scope


def located_points(audit: Audit, where: Row) -> list[Row]:
    """Operating points of a system that came to a threshold, or to decisions."""
    asked = {"system": where["system"], "list": where["list"], "within": ""}
    return [row for row in audit.operating_points.where(**asked).rows() if not row["reason"]]


def point_as_given(row: Row) -> str:
    """An operating point as the audit was given it, also where it is called by a label."""
    return str(row.get("as_given") or row["operating_point"])


def first_point_name(audit: Audit, where: Row) -> str | None:
    """The first of them, at which everything is told."""
    return next((str(row["operating_point"]) for row in located_points(audit, where)), None)


def scopes_by_grouping(every: Sequence[Scope]) -> list[list[Scope]]:
    """Systems that stand beside each other, of each grouping."""
    same: dict[tuple[str, str], list[Scope]] = {}
    for scope in every:
        same.setdefault((scope.grouping, scope.allocation), []).append(scope)
    return list(same.values())


def rates_by_group(audit: Audit, where: Row) -> dict[str, dict[tuple[str, str], Row]]:
    """Rates of each group by metric and operating point."""
    rates: dict[str, dict[tuple[str, str], Row]] = {}
    for metric in ("fpr", "fnr"):
        for row in audit.groups.where(**where, metric=metric, definition="").rows():
            rates.setdefault(row["group"], {})[metric, row["operating_point"]] = row
    return rates


def has_rate(metric: str, at: str, rates: Rates) -> bool:
    """Whether any group has a rate."""
    return any(one[metric, at]["value"] is not None for one in rates.values())


def missing_rate_reason(metric: str, at: str, rates: Rates) -> str:
    """Why no group has a rate at an operating point."""
    reasons = (one[metric, at]["reason"] for one in rates.values())
    return ", ".join(dict.fromkeys(INCONCLUSIVE_REASONS.get(one, one) for one in reasons))


def verdicts_by_metric(audit: Audit, where: Row) -> dict[str, dict[str, Row]]:
    """Verdicts by metric and group."""
    of: dict[str, dict[str, Row]] = {}
    for row in audit.verdicts.where(**where).rows():
        if row["group"]:
            of.setdefault(row["metric"], {})[row["group"]] = row
    return of


def heading_with_status(audit: Audit, words: str, where: Row, at: str | None = None) -> str:
    """A heading with whether verdicts at that point are confirmatory, or exploratory as all else.

    As it is where there are no verdicts, and of audits that do not tell.
    """
    told = {row["confirmatory"] for row in audit.verdicts.rows()} - {None}
    if not told:
        return words
    here = audit.verdicts.where(**{**where, "operating_point": at}, confirmatory=True)
    return f"{words}, {'confirmatory' if len(here) else 'exploratory'}"


def small_groups(audit: Audit, where: Row, metric: str | None = None) -> dict[str, str]:
    """Return the groups that are too small to count, with what they have too little of.

    For one error, or without `metric` for any.
    """
    chosen = where if metric is None else {**where, "metric": metric}
    rows = audit.verdicts.where(**chosen).rows()
    return {row["group"]: str(row["gates"]) for row in rows if row["group"] and row["gates"]}


def differing_groups(of: Verdicts) -> list[str]:
    """The groups that differ, the worse before the better, by the larger ratio that counts.

    Those are left out that are not shown to without the worst of the others.
    """

    def furthest(group: str) -> float:
        rows = [of[metric][group] for metric in ERROR_TYPES]
        return max(
            float(row["ratio"]) if row["verdict"] == "worse" else -float(row["ratio"])
            for row in rows
            if row["verdict"] in {"worse", "better"}
        )

    differ = [
        group
        for group, row in of[BOTH].items()
        if row["verdict"] == "differs" and not row.get("because_of")
    ]
    return sorted(differ, key=lambda group: -furthest(group))


def shortfalls(of: Verdicts, rates: Rates, at: str) -> dict[str, str]:
    """What each under-represented group has too little of, the plainest first."""
    lacking = {}
    for group in rates:
        gates = {
            metric: of[metric][group]["gates"]
            for metric in ERROR_TYPES
            if group in of.get(metric, {}) and rates[group][metric, at]["value"] is not None
        }
        first = {metric: words.split("; ")[0] for metric, words in gates.items() if words}
        plain = list(dict.fromkeys(first.values()))
        is_of_both = len(first) > 1 or any("speakers" in gates[metric] for metric in first)
        if len(plain) == 1 and is_of_both:
            lacking[group] = str(plain[0])
        elif first:
            lacking[group] = ", ".join(f"{words} of {m.upper()}" for m, words in first.items())
    return lacking


def check_speaker_ids(audit: Audit, speaker_ids: str) -> None:
    """Refuse an option that is not known, and to name speakers that the audit did not note."""
    if speaker_ids not in {"never", "offenders"}:
        msg = f"--speaker-ids {speaker_ids!r} is not known; choose never or offenders"
        raise ConfigError(msg)
    if speaker_ids == "offenders" and audit.record["options"].get("speaker_ids") != "offenders":
        msg = (
            "--speaker-ids offenders: the audit holds no ids of speakers; audit again with "
            "--speaker-ids offenders"
        )
        raise ConfigError(msg)


def covers_same_groups(audit: Audit, where: Row) -> bool:
    """Whether measures of the groups that count are of the same groups in all systems and lists.

    Audits of today leave out what is under-represented in any of them; of older ones, which do not
    name whom they left out, it holds where the same groups count. `where` holds an operating point.
    """
    if "meta.left_out" not in audit.record.get("other_version", {}):
        return True
    shared = {name: value for name, value in where.items() if name not in {"system", "list"}}
    counted: dict[tuple[str, str], set[tuple[str, str, bool]]] = {}
    for row in audit.verdicts.where(**shared).rows():
        groups = counted.setdefault((row["system"], row["list"]), set())
        groups.add((row["metric"], row["group"], bool(row["gates"])))
    return len(set(map(frozenset, counted.values()))) < 2


def measured_groups_text(audit: Audit, left_out: Sequence[str]) -> str:
    """Tell of which groups headline measures are that leave some out."""
    where_small = (
        "are under-represented in no system"
        if has_several_systems(audit)
        else NOT_UNDER_REPRESENTED
    )
    return f"groups that {where_small}, {without_groups_text(left_out)}"


def groups_left_out(rows: Iterable[Row]) -> list[str]:
    """Return the groups that have a value and are left out of some headline measures."""
    names = (json.loads(row.get("left_out") or "[]") for row in rows)
    return list(dict.fromkeys(name for listed in names for name in listed))


def without_groups_text(names: Sequence[str]) -> str:
    """Tell next to a number which groups it leaves out, or how many of them.

    Examples
    --------
    >>> without_groups_text(["c"]), without_groups_text(["a", "b", "c", "d"])
    ('without c', 'without 4 groups')
    """
    if len(names) > _MAX_NAMES:
        return f"without {len(names)} groups"
    return f"without {', '.join(names)}"


def omission_reasons(audit: Audit, where: Row, names: Sequence[str]) -> list[str]:
    """Tell of each group that is left out of the headline measures what it has too little of.

    `where` holds an operating point. Of several systems or lists, each is named in which the group
    is under-represented.
    """
    shared = {name: value for name, value in where.items() if name not in {"system", "list"}}
    names_systems = has_several_systems(audit)
    lacking: dict[str, dict[str, list[str]]] = {name: {} for name in names}
    for row in audit.verdicts.where(**shared).rows():
        if row["group"] not in lacking or not row["gates"] or row["metric"] not in ERROR_TYPES:
            continue
        first = row["gates"].split("; ")[0]
        words = first if "speakers" in first else f"{first} of {row['metric'].upper()}"
        if names_systems:
            words = f"{words} in {system_label(row['system'], row['list'])}"
        lacking[row["group"]].setdefault(words, []).append(row["metric"])
    return [
        f"{name} ({', '.join(words) if words else 'has no value in some system'})"
        for name, words in lacking.items()
    ]
