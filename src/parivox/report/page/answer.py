"""Section 1: what can be said, what cannot and why, at whose operating point, on whose data."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, NamedTuple

from parivox.core import verdict
from parivox.report.findings import (
    SET_APART,
    confounded,
    deployed_at,
    differing_in_words,
    failed_checks,
    figures,
    gates_in_words,
    grouped,
    groups_without_trials,
    headline,
    odd_points,
    own_thresholds,
    recordings_in_words,
    reference_in_words,
    set_aside,
    why_unsure,
)
from parivox.report.page.context import Choice, Context
from parivox.report.page.layout import abreast, listed, point_in_words
from parivox.report.scopes import (
    RATES,
    by_grouping,
    differing,
    first_point,
    has_rate,
    lacks,
    name_of,
    points,
    rates_of,
    scopes,
    small_groups,
    systems,
    verdicts_of,
)
from parivox.report.sheets.groups import operating_points
from parivox.report.sheets.people import failures
from parivox.report.sheets.sheet import Cell, Sheet
from parivox.report.words import number, percent, short, span

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parivox.auditing.result import Audit
    from parivox.report.scopes import Rates, Scope, Verdicts
    from parivox.report.words import Row

NOT_SUPPLIED = "not supplied"
_MOST_TOLD = 6
_NO_TRIALS = {"no target trials": "no own trials", "no nontarget trials": "no impostor trials"}
_ASKED = {
    "purpose": "Purpose",
    "deployer": "Deployer",
    "system": "System",
    "population": "Population",
    "recruitment": "How the speakers came to take part",
    "threshold": "Who chose the operating point",
    "groups": "Who chose the groups",
    "margin": "Who chose the margin",
    "prepared_by": "Prepared by",
    "date": "Date of the context file",
    "notes": "Notes",
}


class Glance(NamedTuple):
    """Who fares worse, and a ratio of the table with its limits, to say how it is read."""

    sheet: Sheet
    example: tuple[str, str, str] | None = None


@dataclass(frozen=True)
class OfPoint:
    """What is said of one grouping at one operating point."""

    at: str
    where: str
    short: str
    sentences: list[tuple[str, str]]
    groups: list[tuple[str, str]]
    unknown: list[str]
    reasons: str
    lacking: str


@dataclass(frozen=True)
class OfScope:
    """What is said of one grouping of one system."""

    label: str
    points: list[OfPoint]
    own: str
    missing: str


@dataclass(frozen=True)
class Answer:
    """The first section."""

    glance: Glance
    unsure: list[str]
    limits: list[tuple[str, str]]
    points: Sheet
    chosen: list[str]
    systems: list[tuple[str, str, list[str]]]
    said: list[list[OfScope]]
    context: list[tuple[str, str]]
    lacking: list[str]
    context_sha256: str
    failures: list[Sheet]
    gates: str

    @property
    def is_counted(self) -> bool:
        """Whether the glance is of values as counted, without verdicts."""
        return not any(point for of in self.said for scope in of for point in scope.points)


def answer(audit: Audit, context: Context | None) -> Answer:
    """What a reader learns first."""
    every = list(scopes(audit))
    unsure = {why_unsure(audit, one): name_of(*one.values()) for one in systems(audit)}
    told = dict(_context(context))
    return Answer(
        glance=_glance(audit, every),
        unsure=[f"{name}: {why}" for why, name in unsure.items() if why],
        limits=list(_limits(audit, every, told)),
        points=_points(audit),
        chosen=list(_chosen(audit, context)),
        systems=[_system(audit, one) for one in systems(audit)],
        said=abreast([[_said(audit, one) for one in of] for of in by_grouping(every)]),
        context=[(label, words) for label, words in told.items() if words],
        lacking=[label for label, words in told.items() if not words],
        context_sha256=context.sha256 if context else "",
        failures=list(_failures(audit, every)),
        gates=gates_in_words(audit),
    )


def _limits(
    audit: Audit, every: Sequence[Scope], told: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """What a reader must know before relying on the answer, and the section that tells more."""
    for names, failed in failed_checks(audit):
        apart = [one["sentence"] for one in failed if one["id"] in SET_APART]
        if apart:
            yield f"Groups are not compared alike on {', '.join(names)}: {'; '.join(apart)}", "list"
    sentences = (words for scope in every for words, _ in confounded(audit, scope.where))
    for words in dict.fromkeys(sentences):
        yield words.removesuffix("."), "groups"
    yield from _odd(audit)
    for of in by_grouping(every):
        at = first_point(audit, of[0].where)
        small = {
            group
            for scope in of
            for group in small_groups(audit, {**scope.where, "operating_point": at})
        }
        if small:
            n = len(rates_of(audit, of[0].where).keys() - {"pooled"})
            words = f"{len(small)} of {n} groups by {of[0].of} are too small to count at {at}"
            yield f"{words} for one error or both ({gates_in_words(audit)})", "groups"
    sources = {row["source"] for row in audit.operating_points.where(within="").rows()}
    if "these trials" in sources:
        yield "Thresholds were found on the audited trials themselves, not taken from use", "points"
    if not len(audit.groups.where(metric="fta")):
        yield "People whose recordings the system refuses are not counted", "failures"
    missing = [label for label, words in told.items() if not words]
    if missing:
        yield f"Not supplied: {'; '.join(_lowered(missing))}", "context"


def _odd(audit: Audit) -> Iterator[tuple[str, str]]:
    """Operating points that are not what they are called, and groups without trials."""
    for words in odd_points(audit):
        yield words, "points"
    for words in groups_without_trials(audit):
        yield f"{words[:1].upper()}{words[1:]}", "data"


def _lowered(names: Sequence[str]) -> list[str]:
    """Names as they stand within a sentence."""
    return [f"{name[:1].lower()}{name[1:]}" for name in names]


def _said(audit: Audit, scope: Scope) -> OfScope:
    rates = rates_of(audit, scope.where)
    known = points(audit, scope.where)
    told = [
        _at_point(audit, scope, point, rates)
        for point in known
        if len(audit.verdicts.where(**scope.where, operating_point=point["operating_point"]))
    ]
    missing = ""
    if not told:
        why = why_unsure(audit, {"system": scope.system, "list": scope.list})
        reference = audit.record["options"]["reference"][0]
        missing = (
            f"No verdicts: {why}. Section 2 has the rates as they were counted."
            if why
            else "No verdicts: no operating point has a threshold."
            if not known
            else f"No verdicts, as {reference} is no group of this grouping."
        )
    return OfScope(scope.label, told, _own(audit, scope), missing)


def _own(audit: Audit, scope: Scope) -> str:
    """Whom the system finds harder, each group at a threshold of its own, in a sentence."""
    of = list(own_thresholds(audit, scope.where))
    names = [
        f"{group} {words.partition(':')[0]}"
        for group, words in of
        if words.startswith(("harder:", "easier:"))
    ]
    return "; ".join(filter(None, (", ".join(names), of[0][1]))) if of else ""


def _at_point(audit: Audit, scope: Scope, point: Row, rates: Rates) -> OfPoint:
    at = point["operating_point"]
    asked = {**scope.where, "operating_point": at}
    system = {row["metric"]: row for row in audit.verdicts.where(**asked, group="").rows()}
    of = verdicts_of(audit, asked)
    differ = differing(of)
    groups = [(group, figures(of, group, rates, at)) for group in differ[:_MOST_TOLD]]
    if len(differ) > _MOST_TOLD:
        groups.append((f"{len(differ) - _MOST_TOLD} more", "differ, too: see the table of groups"))
    return OfPoint(
        at=at,
        where=point_in_words(point),
        short="; ".join(
            f"{words}: {differing_in_words(of[metric])}"
            for metric, words in RATES.items()
            if has_rate(metric, at, rates)
        ),
        sentences=[
            (f"{words[0].upper()}{words[1:]} ({metric.upper()})", _sentence(system, metric, rates))
            for metric, words in RATES.items()
        ],
        groups=groups,
        unknown=list(_unknown(of)),
        reasons="; ".join(_reasons(of)),
        lacking=grouped(lacks(of, rates, at)),
    )


def _sentence(system: Mapping[str, Row], metric: str, rates: Rates) -> str:
    at = next(iter(system.values()))["operating_point"]
    if has_rate(metric, at, rates):
        told = str(system[metric]["sentence"])
        return f"{told[:1].upper()}{told[1:]}."
    reasons = dict.fromkeys(one[metric, at]["reason"] for one in rates.values())
    return f"No {metric.upper()}: {', '.join(reasons)}."


def _unknown(of: Verdicts) -> Iterator[str]:
    """Of which groups it cannot be told whether they differ, and why."""
    for metric, words in RATES.items():
        by_reason: dict[str, list[str]] = {}
        for group, row in of.get(metric, {}).items():
            if row["verdict"] == "cannot_tell":
                why = str(verdict.WHY.get(row["reason"], row["reason"]))
                by_reason.setdefault(why, []).append(group)
        for why, groups in by_reason.items():
            told = ", ".join(listed(groups, most=12))
            yield f"{words} ({metric.upper()}), {why}: {told}"


def _reasons(of: Verdicts) -> list[str]:
    """Why it cannot be told, of whatever group."""
    rows = [row for metric in RATES for row in of.get(metric, {}).values()]
    found = [row["reason"] for row in rows if row["verdict"] == "cannot_tell"]
    return list(dict.fromkeys(verdict.WHY.get(one, one) for one in found))


def _points(audit: Audit) -> Sheet:
    """Thresholds, and what they do to all trials."""
    deployed = {tuple(one.values()): deployed_at(audit, one) for one in systems(audit)}
    return operating_points(audit, deployed)


def _failures(audit: Audit, every: Sequence[Scope]) -> Iterator[Sheet]:
    """Recordings that could not be used, of each system and grouping; none if none were told of."""
    for scope in every:
        at = first_point(audit, scope.where)
        if at is not None:
            for sheet in failures(audit, scope.where, rates_of(audit, scope.where), at):
                label = scope.label if sheet.title else f"Time of a trial, {scope.label}"
                yield sheet.of(label)


def _chosen(audit: Audit, context: Context | None) -> Iterator[str]:
    """Who chose the operating points, the groups and the margin, as far as that is known."""
    options = audit.record["options"]
    told = context or Context()
    points = options["operating_points"]
    how = f"given to the audit: {', '.join(points)}" if points else "left to Parivox's defaults"
    yield f"Operating points: {how}; {_who(told.threshold)}."
    sources = {row["source"] for row in audit.operating_points.where(within="").rows()}
    if "these trials" in sources:
        yield "Thresholds were found on the audited trials themselves" + (
            "; a threshold chosen elsewhere would give other rates."
            if odd_points(audit)
            else ", so the pooled rate that they hold is met exactly here; a threshold chosen "
            "elsewhere would not meet it exactly."
        )
    by = audit.record["groupings_chosen_by"]
    names = ", ".join(audit.record["groupings"])
    how = "given to the audit" if by == "user" else f"not given, so taken: {by}"
    yield f"Groups: {names}, {how}; {_who(told.groups)}."
    margin = f"{options['margin']:g}"
    yield (
        f"Margin: ratios from 1/{margin} to {margin} times {reference_in_words(audit)} are taken "
        f"not to matter; {_who(told.margin)}."
    )


def _who(choice: Choice) -> str:
    if choice == Choice():
        return f"who chose it: {NOT_SUPPLIED}"
    return f"the context file says: chosen by {_choice(choice)}"


def _choice(choice: Choice) -> str:
    when = f", {choice.when}" if choice.when else ""
    why = f": {choice.why}" if choice.why else ""
    return f"{choice.chosen_by or NOT_SUPPLIED}{when}{why}"


def _context(context: Context | None) -> Iterator[tuple[str, str]]:
    """Each item with what was told of it; nothing, if nothing was."""
    told = context or Context()
    for one in fields(Context):
        if one.name in _ASKED:
            value = getattr(told, one.name)
            if isinstance(value, Choice):
                yield _ASKED[one.name], "" if value == Choice() else _choice(value)
            else:
                yield _ASKED[one.name], value


def _system(audit: Audit, name: Row) -> tuple[str, str, list[str]]:
    """A system, how much of it was audited, and what was set aside."""
    whole = audit.groups.where(**name, grouping="all", within="").rows()
    first = whole[0]
    speakers = first["speakers"]
    of_whom = "" if speakers is None else f" of {number(speakers)} speakers"
    of_what = recordings_in_words(audit, name)
    said = (
        f"{number(first['target_trials'])} target trials (a person against themselves) and "
        f"{number(first['nontarget_trials'])} nontarget trials (against someone else)"
        f"{of_whom}{of_what and f' in {of_what}'}. Over all of them: {headline(whole)}"
    )
    return name_of(*name.values()), said, set_aside(audit, name)


# ---- at a glance


def _glance(audit: Audit, every: Sequence[Scope]) -> Glance:
    """Who is shown to fare worse, in a line for each grouping, at the first operating point."""
    made = Sheet.headed(
        "At a glance: who is shown to fare worse, at the first operating point",
        (
            "Of",
            "At",
            "Locked out more",
            "More exposed to impostors",
            "How many groups cannot be told",
        ),
        words=(1, 2, 3, 4, 5),
        wide=(3, 4, 5),
        is_stacked=True,
    )
    first: Row | None = None
    for scope in every:
        at, rates = first_point(audit, scope.where), rates_of(audit, scope.where)
        of = verdicts_of(audit, {**scope.where, "operating_point": at})
        if at is None or not of:
            continue
        known = {metric: of.get(metric, {}) for metric in RATES if has_rate(metric, at, rates)}
        worse = {metric: _worse(rows) for metric, rows in known.items()}
        first = first or next((row for rows in worse.values() for row in rows), None)
        cells = [
            _named(worse[metric], known[metric]) if metric in known else _none(metric, at, rates)
            for metric in RATES
        ]
        made.add(scope.label, at, *cells, "; ".join(_how_many_unknown(known)))
    if not made.rows:
        return Glance(_counted_worst(audit, every))
    if first is None:
        return Glance(made)
    return Glance(made, (short(first["ratio"]), short(first["low"]), short(first["high"])))


def _none(metric: str, at: str, rates: Rates) -> str:
    """Why no group has a rate."""
    reasons = dict.fromkeys(one[metric, at]["reason"] for one in rates.values())
    return ", ".join(_NO_TRIALS.get(one, one) for one in reasons)


def _counted_worst(audit: Audit, every: Sequence[Scope]) -> Sheet:
    """Who was counted to fare worst, where nothing is known of chance."""
    made = Sheet.headed(
        "At a glance: who was counted to fare worst, which chance alone may explain",
        ("Of", "At", "Locked out most", "Most exposed to impostors"),
        words=(1, 2, 3, 4),
        wide=(3, 4),
        is_stacked=True,
    )
    for scope in every:
        at, rates = first_point(audit, scope.where), rates_of(audit, scope.where)
        if at is not None:
            made.add(scope.label, at, *(_highest(rates, metric, at) for metric in RATES))
    return made


def _highest(rates: Rates, metric: str, at: str) -> str:
    """The group with the highest rate, its counts, and how it stands to all together."""
    if not has_rate(metric, at, rates):
        return _none(metric, at, rates)
    rows = {group: one[metric, at] for group, one in rates.items()}
    pooled = rows.pop("pooled", {"value": None})["value"]
    known = [row for row in rows.values() if row["value"]]
    if not known:
        return "no group: no errors"
    most = max(known, key=lambda row: float(row["value"]))
    counts = "" if most["trials"] is None else f" ({most['errors']:,} of {most['trials']:,} trials)"
    times = f", {short(most['value'] / pooled)} times everyone together" if pooled else ""
    return f"{most['group']}: {percent(most['value'])}{counts}{times}"


def _how_many_unknown(of: Verdicts) -> Iterator[str]:
    """Of how many groups it cannot be told, of either error."""
    words = {"fnr": "lock-outs", "fpr": "impostors"}
    for metric, by_group in of.items():
        rows = by_group.values()
        unknown = sum(row["verdict"] == "cannot_tell" for row in rows)
        yield f"{words[metric]}: {unknown or 'none'} of {len(rows)}"


def _worse(rows: Mapping[str, Row]) -> list[Row]:
    """Groups that fare worse, the furthest off first."""
    worse = (row for row in rows.values() if row["verdict"] == "worse")
    return sorted(worse, key=lambda row: -float(row["ratio"]))


def _named(worse: Sequence[Row], rows: Mapping[str, Row]) -> str | Cell:
    """Groups that fare worse, with their figures."""
    told = [
        f"{row['group']}{'*' if row['gates'] else ''}: {short(row['ratio'])} times "
        f"{span(row['low'], row['high'])}"
        for row in worse
    ]
    if told:
        return Cell("; ".join(listed(told, most=_MOST_TOLD)), verdict="worse")
    reasons = {row["reason"] for row in rows.values()}
    if reasons <= {"too_common", "undefined_ratio"} and rows:
        return f"cannot be told: {'; '.join(verdict.WHY[one] for one in sorted(reasons))}"
    is_known = rows and all(row["verdict"] != "cannot_tell" for row in rows.values())
    return "no group" if is_known else "no group is shown to" if rows else "–"
