"""Section 1: what can be said, what cannot and why, at whose operating point, on whose data."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from parivox.core import verdict
from parivox.report.confounding import confounded
from parivox.report.facts import (
    deployed_at,
    headline,
    noted,
    odd_points,
    recordings_told,
    unseen,
    why_unsure,
)
from parivox.report.judged import (
    RATES,
    differing,
    differing_told,
    figures,
    gated,
    gates_told,
    grouped,
    has_rate,
    judged,
    lacks,
    others_told,
    rates_of,
)
from parivox.report.own_thresholds import own_told
from parivox.report.page.checked import SET_APART, by_findings
from parivox.report.page.context import Choice, Context
from parivox.report.page.failures import failures
from parivox.report.page.glance import Glance, glance
from parivox.report.page.views import Grid, abreast, by_grouping, listed, point_told
from parivox.report.scopes import first_point, name_of, points, scopes, systems
from parivox.report.words import number, percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parivox.auditing.result import Audit
    from parivox.report.judged import Judged, Rates
    from parivox.report.scopes import Scope
    from parivox.report.words import Row

__all__ = ["Answer", "answer"]

NOT_SUPPLIED = "not supplied"
_MOST_TOLD = 6
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
    points: Grid
    chosen: list[str]
    systems: list[tuple[str, str, list[str]]]
    said: list[list[OfScope]]
    context: list[tuple[str, str]]
    lacking: list[str]
    context_sha256: str
    failures: list[Grid]
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
        glance=glance(audit, every),
        unsure=[f"{name}: {why}" for why, name in unsure.items() if why],
        limits=list(_limits(audit, every, told)),
        points=_points(audit),
        chosen=list(_chosen(audit, context)),
        systems=[_system(audit, one) for one in systems(audit)],
        said=abreast([[_said(audit, one) for one in of] for of in by_grouping(every)]),
        context=[(label, words) for label, words in told.items() if words],
        lacking=[label for label, words in told.items() if not words],
        context_sha256=context.sha256 if context else "",
        failures=failures(audit),
        gates=gates_told(audit),
    )


def _limits(
    audit: Audit, every: Sequence[Scope], told: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """What a reader must know before relying on the answer, and the section that tells more."""
    for names, failed in by_findings(audit):
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
            group for scope in of for group in gated(audit, {**scope.where, "operating_point": at})
        }
        if small:
            n = len(rates_of(audit, of[0].where).keys() - {"pooled"})
            words = f"{len(small)} of {n} groups by {of[0].of} are too small to count at {at}"
            yield f"{words} for one error or both ({gates_told(audit)})", "groups"
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
    for words in unseen(audit):
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
    of = list(own_told(audit, scope.where))
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
    of = judged(audit, asked)
    differ = differing(of)
    groups = [(group, figures(of, group, rates, at)) for group in differ[:_MOST_TOLD]]
    if len(differ) > _MOST_TOLD:
        groups.append((f"{len(differ) - _MOST_TOLD} more", "differ, too: see the table of groups"))
    return OfPoint(
        at=at,
        where=point_told(point),
        short="; ".join(
            f"{words}: {differing_told(of[metric])}"
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


def _unknown(of: Judged) -> Iterator[str]:
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


def _reasons(of: Judged) -> list[str]:
    """Why it cannot be told, of whatever group."""
    rows = [row for metric in RATES for row in of.get(metric, {}).values()]
    found = [row["reason"] for row in rows if row["verdict"] == "cannot_tell"]
    return list(dict.fromkeys(verdict.WHY.get(one, one) for one in found))


def _points(audit: Audit) -> Grid:
    """Thresholds, and what they do to all trials."""
    made = Grid(
        "Operating points: one threshold for everyone",
        ("System", "Operating point", "Threshold", "FPR, %", "FNR, %", "Cost", "Found on"),
        words=(1, 2, 7),
    )
    for row in audit.operating_points.where(within="").rows():
        name = {"system": row["system"], "list": row["list"]}
        threshold = deployed_at(audit, name) if row["threshold"] is None else _exact(row)
        why = "" if row["reason"] else "; ".join(_lacking_trials(row))
        cost = "–" if row["cdet_norm"] is None else f"{row['cdet_norm']:.4f}"
        cells = (*(percent(row[metric]).removesuffix(" %") for metric in ("fpr", "fnr")), cost)
        made.add(
            name_of(*name.values()),
            row["operating_point"],
            "–" if row["reason"] else threshold,
            *(made.told(cell, why) for cell in cells),
            row["reason"] or row["source"],
        )
    return made


def _lacking_trials(row: Row) -> Iterator[str]:
    """Which trials there are none of, so that there is neither that rate nor a cost."""
    if row["fpr"] is None:
        yield "no impostor trials"
    if row["fnr"] is None:
        yield "no own trials"


def _exact(row: Row) -> str:
    return f"{row['threshold']:.6g}"


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
        f"Margin: ratios from 1/{margin} to {margin} times {others_told(audit)} are taken not to "
        f"matter; {_who(told.margin)}."
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
    of_what = recordings_told(audit, name)
    said = (
        f"{number(first['target_trials'])} target trials (a person against themselves) and "
        f"{number(first['nontarget_trials'])} nontarget trials (against someone else)"
        f"{of_whom}{of_what and f' in {of_what}'}. Over all of them: {headline(whole)}"
    )
    return name_of(*name.values()), said, noted(audit, name)
