"""Section 9: limits of this audit, by the seven sources of harm that paper 001 looks for.

See docs/references.md#paper-001.

The sources are those of Suresh and Guttag, in the order in which data and systems are made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from parivox.report.confounding import confounded
from parivox.report.facts import unseen, why_unsure
from parivox.report.judged import gated, gates_told, judged
from parivox.report.page.checked import SET_APART, by_findings
from parivox.report.page.context import Context
from parivox.report.page.views import listed
from parivox.report.scopes import first_point, name_of, scopes
from parivox.report.words import number, short, span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parivox.auditing.result import Audit

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
        at = first_point(audit, scope.where)
        lacking = sorted(gated(audit, {**scope.where, "operating_point": at}))
        if lacking:
            yield (
                f"Too small to count by {scope.grouping} at {at} ({gates_told(audit)}): "
                f"{', '.join(listed(lacking, most=12))}. No interval can see who is not there."
            )
    for words in unseen(audit):
        yield f"{words[:1].upper()}{words[1:]}."
    unknown = [row for row in audit.data.rows() if "group is unknown" in row["item"]]
    lost = max((row["count"] or 0 for row in unknown if row["source"] == "speakers"), default=0)
    if lost:
        yield f"Of {number(lost)} speakers the group is unknown or left out; they are in no group."


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
        small = gated(audit, scope.where)
        own = [
            row
            for row in rows
            if row["group"] not in small
            and all(row[key] == value for key, value in scope._asdict().items())
        ]
        measure = own[0]["measure"] if own else ""
        own = [row for row in own if row["measure"] == measure]
        if own:
            most = max(own, key=lambda row: float(row["value"]))
            alone = (
                ", an interval of that group alone, not adjusted for its being the largest"
                if most["high"] is not None and len(own) > 1
                else ""
            )
            interval = "" if most["high"] is None else f" {span(most['low'], most['high'])}"
            yield (
                f"{scope.label}: next to a threshold of its own, the common one costs "
                f"{most['group']} most, {short(most['value'])} times as much{interval} (the "
                f"largest of {len(own)} groups{alone})."
            )
    sentences = (words for scope in scopes(audit) for words, _ in confounded(audit, scope.where))
    yield from dict.fromkeys(sentences)


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
                f"{scope.label}: of {len(unknown)} of {len(every)} groups it cannot be told, for "
                "one error or operating point at least, whether they fare worse or better than "
                "the rest; that is no finding that they fare alike."
            )


def _deployment(audit: Audit, told: Context) -> Iterator[str]:
    yield f"What the system is for: {told.purpose or 'not supplied'}."
    yield f"On whom it will be used: {told.population or 'not supplied'}."
    points = ", ".join(dict.fromkeys(row["operating_point"] for row in audit.operating_points))
    who = told.threshold.chosen_by or "not supplied"
    yield f"Audited at {points}; who chose that for use: {who}. Another threshold, another answer."
    yield "Rates are of single trials. Nothing is said of spoofed or replayed speech."
