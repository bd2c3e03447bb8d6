"""Section 1: what can be said, what cannot and why, at whose operating point, on whose data."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from parivox.core.verdict import WHY
from parivox.report.facts import deployed_at, headline, noted, why_unsure
from parivox.report.judged import (
    RATES,
    differing,
    figures,
    gates_told,
    grouped,
    has_rate,
    judged,
    lacks,
    others_told,
    rates_of,
)
from parivox.report.page.context import Choice, Context
from parivox.report.page.failures import failures
from parivox.report.page.views import Cell, Grid, listed, name_of, point_told, scopes
from parivox.report.words import number, percent, short, span

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parivox.auditing.result import Audit
    from parivox.report.judged import Judged, Rates
    from parivox.report.page.views import Scope
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
    missing: str


@dataclass(frozen=True)
class Answer:
    """The first section."""

    glance: Grid
    unsure: list[str]
    points: Grid
    chosen: list[str]
    systems: list[tuple[str, str, list[str]]]
    said: list[OfScope]
    context: list[tuple[str, str, bool]]
    context_sha256: str
    failures: list[Grid]
    gates: str


def answer(audit: Audit, context: Context | None) -> Answer:
    """What a reader learns first."""
    every = list(scopes(audit))
    unsure = {why_unsure(audit, one): name_of(*one.values()) for one in _names(audit)}
    return Answer(
        glance=_glance(audit, every),
        unsure=[f"{name}: {why}" for why, name in unsure.items() if why],
        points=_points(audit),
        chosen=list(_chosen(audit, context)),
        systems=[_system(audit, one) for one in _names(audit)],
        said=[_said(audit, one) for one in every],
        context=list(_context(context)),
        context_sha256=context.sha256 if context else "",
        failures=failures(audit),
        gates=gates_told(audit),
    )


def _names(audit: Audit) -> list[dict[str, str]]:
    """Every system and list."""
    return [{"system": one["system"], "list": one["list"]} for one in audit.record["inputs"]]


def _first_point(audit: Audit, where: Row) -> str | None:
    """The first operating point that has a threshold."""
    name = {"system": where["system"], "list": where["list"]}
    points = audit.operating_points.where(**name, within="").rows()
    return next((one["operating_point"] for one in points if not one["reason"]), None)


def _glance(audit: Audit, every: Sequence[Scope]) -> Grid:
    """Who is shown to fare worse, in a line for each grouping, at the first operating point."""
    made = Grid(
        "At a glance: who is shown to fare worse, at the first operating point",
        ("Of", "At", "Locked out more", "More exposed to impostors", "Cannot be told, of groups"),
        words=(1, 2, 3, 4, 5),
        wide=(3, 4, 5),
        stacks=True,
    )
    for scope in every:
        at = _first_point(audit, scope.where)
        of = judged(audit, {**scope.where, "operating_point": at})
        if at is None or not of:
            continue
        cells = [_worse(of.get(metric, {})) for metric in RATES]
        made.add(scope.label, at, *cells, "; ".join(_how_many_unknown(of)))
    return made


def _how_many_unknown(of: Judged) -> Iterator[str]:
    """Of how many groups it cannot be told, of either error."""
    for metric, words in (("fnr", "lock-outs"), ("fpr", "impostors")):
        rows = of.get(metric, {}).values()
        unknown = sum(row["verdict"] == "cannot_tell" for row in rows)
        yield f"{words}: {unknown or 'none'} of {len(rows)}"


def _worse(rows: Mapping[str, Row]) -> str | Cell:
    """Groups that fare worse, with their figures."""
    worse = [row for row in rows.values() if row["verdict"] == "worse"]
    worse.sort(key=lambda row: -row["ratio"])
    told = [
        f"{row['group']}: {short(row['ratio'])} times {span(row['low'], row['high'])}"
        for row in worse
    ]
    if told:
        return Cell("; ".join(listed(told, most=_MOST_TOLD)), "v-worse")
    is_known = rows and all(row["verdict"] != "cannot_tell" for row in rows.values())
    return "no group" if is_known else "no group is shown to" if rows else "–"


def _said(audit: Audit, scope: Scope) -> OfScope:
    rates = rates_of(audit, scope.where)
    name = {"system": scope.system, "list": scope.list}
    points = audit.operating_points.where(**name, within="").rows()
    told = [
        _at_point(audit, scope, point, rates)
        for point in points
        if not point["reason"]
        and len(audit.verdicts.where(**scope.where, operating_point=point["operating_point"]))
    ]
    missing = ""
    if not told:
        why = why_unsure(audit, name)
        reference = audit.record["options"]["reference"][0]
        missing = (
            f"No verdicts: {why}. Section 2 has the rates as they were counted."
            if why
            else "No verdicts: no operating point has a threshold."
            if all(point["reason"] for point in points)
            else f"No verdicts, as {reference} is no group of this grouping."
        )
    return OfScope(scope.label, told, missing)


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
        where=point_told(at),
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
                why = str(WHY.get(row["reason"], row["reason"]))
                by_reason.setdefault(why, []).append(group)
        for why, groups in by_reason.items():
            told = ", ".join(listed(groups, most=12))
            yield f"{words} ({metric.upper()}), {why}: {told}"


def _reasons(of: Judged) -> list[str]:
    """Why it cannot be told, of whatever group."""
    rows = [row for metric in RATES for row in of.get(metric, {}).values()]
    found = [row["reason"] for row in rows if row["verdict"] == "cannot_tell"]
    return list(dict.fromkeys(WHY.get(one, one) for one in found))


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
        cells = (percent(row["fpr"]), percent(row["fnr"]))
        made.add(
            name_of(*name.values()),
            row["operating_point"],
            "–" if row["reason"] else threshold,
            *(cell.removesuffix(" %") for cell in cells),
            "–" if row["cdet_norm"] is None else f"{row['cdet_norm']:.4f}",
            row["reason"] or row["source"],
        )
    return made


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
        yield (
            "Thresholds were found on the audited trials themselves, so the pooled rate that they "
            "hold is met exactly here; a threshold chosen elsewhere would not meet it exactly."
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
    return f"chosen by {_choice(choice)}"


def _choice(choice: Choice) -> str:
    when = f", {choice.when}" if choice.when else ""
    why = f": {choice.why}" if choice.why else ""
    return f"{choice.chosen_by or NOT_SUPPLIED}{when}{why}"


def _context(context: Context | None) -> Iterator[tuple[str, str, bool]]:
    """Each item with what was told of it, and whether anything was."""
    told = context or Context()
    for one in fields(Context):
        if one.name in _ASKED:
            value = getattr(told, one.name)
            is_there = value != (Choice() if isinstance(value, Choice) else "")
            words = _choice(value) if isinstance(value, Choice) else value
            yield _ASKED[one.name], words if is_there else NOT_SUPPLIED, is_there


def _system(audit: Audit, name: dict[str, str]) -> tuple[str, str, list[str]]:
    """A system, how much of it was audited, and what was set aside."""
    whole = audit.groups.where(**name, grouping="all", within="").rows()
    first = whole[0]
    speakers = first["speakers"]
    of_whom = "" if speakers is None else f" of {number(speakers)} speakers"
    said = (
        f"{number(first['target_trials'])} target trials (a person against themselves) and "
        f"{number(first['nontarget_trials'])} nontarget trials (against someone else)"
        f"{of_whom}. Over all of them: {headline(whole)}"
    )
    return name_of(*name.values()), said, noted(audit, name)
