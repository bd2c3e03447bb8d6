"""Section 9: limits of this audit, by the seven sources of harm that paper 001 looks for.

The sources are those of Suresh and Guttag, in the order in which data and systems are made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from parivox.report.facts import why_unsure
from parivox.report.judged import gates_told, judged
from parivox.report.page.checked import SET_APART, by_findings
from parivox.report.page.context import Context
from parivox.report.page.views import listed, name_of, scopes
from parivox.report.words import number, short, span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parivox.auditing.result import Audit
    from parivox.report.words import Row

__all__ = ["Harm", "harms"]


class Harm(NamedTuple):
    """A source of harm, what it is, and what this audit can and cannot say of it."""

    name: str
    meaning: str
    told: list[str]


def harms(audit: Audit, context: Context | None) -> list[Harm]:
    """The seven sources, filled from the data."""
    told = context or Context()
    return [
        Harm(
            "Historical",
            "what is unequal in the world is repeated by the data",
            list(_historical(told)),
        ),
        Harm(
            "Representation",
            "some people are too few in the data to be served, or judged, as well",
            list(_representation(audit)),
        ),
        Harm(
            "Measurement",
            "what is recorded or labelled stands in for what is meant, and not alike for all",
            list(_measurement(audit)),
        ),
        Harm(
            "Aggregation",
            "one model or threshold is used for people who differ",
            list(_aggregation(audit)),
        ),
        Harm(
            "Learning",
            "choices in the making of the system widen differences",
            list(_learning(audit)),
        ),
        Harm(
            "Evaluation",
            "the list of trials, or the measure, does not show what use would show",
            list(_evaluation(audit)),
        ),
        Harm(
            "Deployment",
            "the system is used otherwise than it was audited",
            list(_deployment(audit, told)),
        ),
    ]


def _historical(told: Context) -> Iterator[str]:
    yield "An audit of scores cannot see how its speakers came to be recorded, nor who never was."
    yield f"How the speakers came to take part: {told.recruitment or 'not supplied'}."


def _representation(audit: Audit) -> Iterator[str]:
    """The smallest and the largest group of each grouping."""
    seen = set()
    for scope in scopes(audit):
        if (scope.list, scope.grouping) in seen or scope.allocation != "both":
            continue
        seen.add((scope.list, scope.grouping))
        rows = audit.groups.where(**scope.where, metric="fnr", definition="").rows()
        sizes = {
            row["group"]: row["speakers"]
            for row in rows
            if row["group"] != "pooled" and row["speakers"] is not None
        }
        if sizes:
            least, most = min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)
            on = f" on {scope.list}" if scope.list else ""
            yield (
                f"By {scope.grouping}{on}: {number(len(sizes))} groups, from {least} with "
                f"{number(sizes[least])} speakers to {most} with {number(sizes[most])}."
            )
        lacking = sorted({row["group"] for row in _gated(audit, scope.where)})
        if lacking:
            yield (
                f"Too small to count by {scope.grouping} ({gates_told(audit)}): "
                f"{', '.join(listed(lacking, most=12))}. No interval can see who is not there."
            )
    unknown = [row for row in audit.data.rows() if "group is unknown" in row["item"]]
    lost = max((row["count"] or 0 for row in unknown if row["source"] == "speakers"), default=0)
    if lost:
        yield f"Of {number(lost)} speakers the group is unknown or left out; they are in no group."


def _gated(audit: Audit, where: Row) -> list[Row]:
    return [row for row in audit.verdicts.where(**where).rows() if row["group"] and row["gates"]]


def _measurement(audit: Audit) -> Iterator[str]:
    yield (
        "Groups are as the speakers' table and the options name them. How an attribute was found "
        "(said by the person, guessed from a name, a face or a voice) is not in the data."
    )
    if not len(audit.groups.where(metric="fta")):
        yield (
            "Failures to enrol and to acquire were not supplied (--failures): people whose "
            "recordings the system refuses are not among the errors."
        )
    within = audit.record["options"]["within"]
    yield (
        f"Conditions of recording were looked at: within {', '.join(within)}."
        if within
        else "Conditions of recording (device, channel, noise) were not looked at (--within)."
    )


def _aggregation(audit: Audit) -> Iterator[str]:
    """What one threshold for all costs the group that it suits least."""
    names = ", ".join(audit.record["groupings"])
    yield f"One threshold serves everyone. Groups by {names} were looked at; others may differ."
    rows = [
        row
        for measure in ("threshold_bias_cv", "threshold_bias")
        for row in audit.bias.where(measure=measure, within="").rows()
        if row["value"] is not None
    ]
    for scope in scopes(audit):
        gated = {row["group"] for row in _gated(audit, scope.where)}
        own = [
            row
            for row in rows
            if row["group"] not in gated
            and all(row[key] == value for key, value in scope._asdict().items())
        ]
        measure = own[0]["measure"] if own else ""
        own = [row for row in own if row["measure"] == measure]
        if own:
            worst = max(own, key=lambda row: float(row["value"]))
            is_shown = worst["low"] is not None and worst["low"] > 1
            yield (
                f"{scope.label}: the common threshold is {'' if is_shown else 'not '}shown to cost "
                f"a group more than one of its own would; the most, {worst['group']}, "
                f"{short(worst['value'])} times {span(worst['low'], worst['high'])}."
            )


def _learning(audit: Audit) -> Iterator[str]:
    n = len({one["system"] for one in audit.record["inputs"]})
    if n == 1:
        yield "One system was audited, so nothing is known of what another design would do."
    else:
        yield f"{n} systems were audited: section 7 and the tables by system show how they differ."
    yield "What a system was trained on, and how, is not in its scores."


def _evaluation(audit: Audit) -> Iterator[str]:
    for names, failed in by_findings(audit):
        if failed:
            apart = [one["sentence"] for one in failed if one["id"] in SET_APART]
            ids = ", ".join(one["id"] for one in failed)
            told = f" Groups are not compared alike: {'; '.join(apart)}." if apart else ""
            yield f"The list of {', '.join(names)} fails the checks {ids}.{told}"
    sources = {row["source"] for row in audit.operating_points.where(within="").rows()}
    if "these trials" in sources:
        yield "Thresholds were found on the audited trials: other trials would give other ones."
    for one in audit.record["inputs"]:
        name = {"system": one["system"], "list": one["list"]}
        why = why_unsure(audit, name)
        if why:
            yield f"Nothing is said of chance for {name_of(*name.values())}: {why}."
    for scope in scopes(audit):
        of = judged(audit, scope.where)
        rows = [row for by_group in of.values() for row in by_group.values()]
        unknown = {row["group"] for row in rows if row["verdict"] == "cannot_tell"}
        every = {row["group"] for row in rows}
        if unknown:
            yield (
                f"{scope.label}: of {len(unknown)} of {len(every)} groups it cannot be told, at "
                "one operating point or more, whether they fare worse, so no sentence here says "
                "that they fare as well."
            )


def _deployment(audit: Audit, told: Context) -> Iterator[str]:
    yield f"What the system is for: {told.purpose or 'not supplied'}."
    yield f"On whom it will be used: {told.population or 'not supplied'}."
    points = ", ".join(dict.fromkeys(row["operating_point"] for row in audit.operating_points))
    who = told.threshold.chosen_by or "not supplied"
    yield f"Audited at {points}; who chose that for use: {who}. Another threshold, another answer."
    yield "Rates are of single trials; spoofed and replayed speech was not tested."
