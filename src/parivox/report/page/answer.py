"""Section 1: what can be said, what cannot and why, at whose operating point, on whose data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.core import verdict
from parivox.report import findings
from parivox.report.page.context import Choice, Context
from parivox.report.page.layout import NOT_SUPPLIED, abreast, point_in_words
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
    why_no_rate,
    with_standing,
)
from parivox.report.sheets.groups import operating_points
from parivox.report.sheets.people import failures
from parivox.report.sheets.sheet import Cell, Sheet
from parivox.report.words import capital, listed, number, percent, short, span

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parivox.auditing.result import Audit
    from parivox.report.scopes import Rates, Scope, Verdicts
    from parivox.report.words import Row

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


def answer(audit: Audit, context: Context | None) -> dict[str, Any]:
    """What a reader learns first, as ``answer.html.j2`` takes it."""
    every = list(scopes(audit))
    unsure = {findings.why_unsure(audit, one): name_of(*one.values()) for one in systems(audit)}
    about = _about(context or Context())
    said = [[_said(audit, one) for one in of] for of in by_grouping(every)]
    deployed = {tuple(one.values()): findings.deployed_at(audit, one) for one in systems(audit)}
    glance, example = _glance(audit, every)
    return {
        "glance": glance,
        "example": example,
        "holds": findings.what_holds(audit),
        "is_counted": not any(scope["points"] for of in said for scope in of),
        "unsure": [f"{name}: {why}" for why, name in unsure.items() if why],
        "limits": list(_limits(audit, every, about)),
        "points": operating_points(audit, deployed),
        "chosen": list(_chosen(audit, context or Context())),
        "systems": [_system(audit, one) for one in systems(audit)],
        "said": abreast(said),
        "context": [(label, words) for label, words in about.items() if words],
        "lacking": [label for label, words in about.items() if not words],
        "context_sha256": context.sha256 if context else "",
        "failures": list(_failures(audit, every)),
        "gates": findings.gates_in_words(audit),
    }


def _limits(
    audit: Audit, every: Sequence[Scope], about: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """What a reader must know before relying on the answer, and the section that tells more."""
    for names, failed in findings.failed_checks(audit):
        apart = [one["sentence"] for one in failed if one["id"] in findings.SET_APART]
        if apart:
            yield f"Groups are not compared alike on {', '.join(names)}: {'; '.join(apart)}", "list"
    sentences = (words for scope in every for words, _ in findings.confounded(audit, scope.where))
    for words in dict.fromkeys(sentences):
        yield words.removesuffix("."), "groups"
    for words in findings.odd_points(audit):
        yield words, "points"
    for words in (*findings.groups_without_trials(audit), *findings.oddities(audit)):
        yield capital(words), "data"
    yield from _too_small(audit, every)
    sources = {row["source"] for row in audit.operating_points.where(within="").rows()}
    if "these trials" in sources:
        yield "Thresholds were found on the audited trials themselves, not taken from use", "points"
    if not len(audit.groups.where(metric="fta")):
        yield "People whose recordings the system refuses are not counted", "failures"
    missing = [f"{label[:1].lower()}{label[1:]}" for label, words in about.items() if not words]
    if missing:
        yield f"Not supplied: {'; '.join(missing)}", "context"


def _too_small(audit: Audit, every: Sequence[Scope]) -> Iterator[tuple[str, str]]:
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
            yield f"{words} for one error or both ({findings.gates_in_words(audit)})", "groups"


def _said(audit: Audit, scope: Scope) -> dict[str, Any]:
    """What is said of one grouping of one system."""
    rates, known = rates_of(audit, scope.where), points(audit, scope.where)
    at_points = [
        _at_point(audit, scope, point, rates)
        for point in known
        if len(audit.verdicts.where(**scope.where, operating_point=point["operating_point"]))
    ]
    missing = ""
    if not at_points:
        why = findings.why_unsure(audit, {"system": scope.system, "list": scope.list})
        reference = audit.record["options"]["reference"][0]
        missing = (
            f"No verdicts: {why}. Section 2 has the rates as they were counted."
            if why
            else "No verdicts: no operating point has a threshold."
            if not known
            else f"No verdicts, as {reference} is no group of this grouping."
        )
    harder = [
        f"{group} {words.partition(':')[0]}"
        for group, words in findings.own_thresholds(audit, scope.where)
        if words.startswith(("harder:", "easier:"))
    ]
    first = next((words for _, words in findings.own_thresholds(audit, scope.where)), "")
    own = "; ".join(filter(None, (", ".join(harder), first)))
    head = with_standing(audit, "Each group at a threshold of its own (EER)", scope.where)
    return {
        "label": scope.label,
        "points": at_points,
        "own": own and f"{head}, to see whom the system finds harder: {own}",
        "missing": missing,
    }


def _at_point(audit: Audit, scope: Scope, point: Row, rates: Rates) -> dict[str, Any]:
    """What is said of one grouping at one operating point."""
    at = point["operating_point"]
    asked = {**scope.where, "operating_point": at}
    system = {row["metric"]: row for row in audit.verdicts.where(**asked, group="").rows()}
    of = verdicts_of(audit, asked)
    differ = differing(of)
    groups = [(group, findings.figures(of, group, rates, at)) for group in differ[:_MOST_TOLD]]
    if len(differ) > _MOST_TOLD:
        groups.append((f"{len(differ) - _MOST_TOLD} more", "differ, too: see the table of groups"))
    summary, sentences = [], []
    for metric, words in RATES.items():
        if has_rate(metric, at, rates):
            sentence = f"{capital(str(system[metric]['sentence']))}."
            summary.append(f"{words}: {findings.differing_in_words(of[metric])}")
        else:
            sentence = f"No {metric.upper()}: {why_no_rate(metric, at, rates)}."
        sentences.append((f"{capital(words)} ({metric.upper()})", sentence))
    return {
        "at": at,
        "head": with_standing(audit, f"At {at}", scope.where, at),
        "where": point_in_words(point),
        "short": "; ".join(summary),
        "sentences": sentences,
        "groups": groups,
        "unknown": list(_unknown(of)),
        "reasons": "; ".join(_reasons(of)),
        "lacking": findings.grouped(lacks(of, rates, at)),
    }


def _unknown(of: Verdicts) -> Iterator[str]:
    """Of which groups it cannot be told whether they differ, and why."""
    for metric, words in RATES.items():
        by_reason: dict[str, list[str]] = {}
        for group, row in of.get(metric, {}).items():
            if row["verdict"] == "cannot_tell":
                why = str(verdict.WHY.get(row["reason"], row["reason"]))
                by_reason.setdefault(why, []).append(group)
        for why, groups in by_reason.items():
            yield f"{words} ({metric.upper()}), {why}: {', '.join(listed(groups, most=12))}"


def _reasons(of: Verdicts) -> list[str]:
    """Why it cannot be told, of whatever group."""
    rows = [row for metric in RATES for row in of.get(metric, {}).values()]
    found = [row["reason"] for row in rows if row["verdict"] == "cannot_tell"]
    return list(dict.fromkeys(verdict.WHY.get(one, one) for one in found))


def _failures(audit: Audit, every: Sequence[Scope]) -> Iterator[Sheet]:
    """Recordings that could not be used, of each system and grouping; none if none were told of."""
    for scope in every:
        at = first_point(audit, scope.where)
        if at is not None:
            for sheet in failures(audit, scope.where, rates_of(audit, scope.where), at):
                label = scope.label if sheet.title else f"Time of a trial, {scope.label}"
                yield sheet.of(label)


def _chosen(audit: Audit, context: Context) -> Iterator[str]:
    """Who chose the operating points, the groups and the margin, as far as that is known."""
    options = audit.record["options"]
    points = options["operating_points"]
    how = f"given to the audit: {', '.join(points)}" if points else "left to Parivox's defaults"
    yield f"Operating points: {how}; {_who(context.threshold)}."
    if primary := findings.primary_in_words(audit):
        how = "named for the audit" if options["primary"] else "the first of all, as none was named"
        yield f"Primary: {primary}, {how}."
    sources = {row["source"] for row in audit.operating_points.where(within="").rows()}
    if "these trials" in sources:
        yield "Thresholds were found on the audited trials themselves" + (
            "; a threshold chosen elsewhere would give other rates."
            if findings.odd_points(audit)
            else ", so the pooled rate that they hold is met exactly here; a threshold chosen "
            "elsewhere would not meet it exactly."
        )
    by = audit.record["groupings_chosen_by"]
    names = ", ".join(audit.record["groupings"])
    how = "given to the audit" if by == "user" else f"not given, so taken: {by}"
    yield f"Groups: {names}, {how}; {_who(context.groups)}."
    margin, others = f"{options['margin']:g}", findings.reference_in_words(audit)
    yield (
        f"Margin: ratios from 1/{margin} to {margin} times {others} are taken not to matter; "
        f"{_who(context.margin)}."
    )


def _who(choice: Choice) -> str:
    words = _choice(choice)
    if not words:
        return f"who chose it: {NOT_SUPPLIED}"
    return f"the context file says: chosen by {words}"


def _choice(choice: Choice) -> str:
    if choice == Choice():
        return ""
    when = f", {choice.when}" if choice.when else ""
    why = f": {choice.why}" if choice.why else ""
    return f"{choice.chosen_by or NOT_SUPPLIED}{when}{why}"


def _about(context: Context) -> dict[str, str]:
    """Each item of a context with what is known of it."""
    values = {label: getattr(context, name) for name, label in _ASKED.items()}
    return {
        label: _choice(value) if isinstance(value, Choice) else value
        for label, value in values.items()
    }


def _system(audit: Audit, name: Row) -> tuple[str, str, list[str]]:
    """A system, how much of it was audited, and what was set aside."""
    whole = audit.groups.where(**name, grouping="all", within="").rows()
    first = whole[0]
    speakers = first["speakers"]
    of_whom = "" if speakers is None else f" of {number(speakers)} speakers"
    of_what = findings.recordings_in_words(audit, name)
    said = (
        f"{number(first['target_trials'])} target trials (a person against themselves) and "
        f"{number(first['nontarget_trials'])} nontarget trials (against someone else)"
        f"{of_whom}{of_what and f' in {of_what}'}. Over all of them: {findings.headline(whole)}"
    )
    return name_of(*name.values()), said, findings.set_aside(audit, name)


# ---- at a glance


def _glance(audit: Audit, every: Sequence[Scope]) -> tuple[Sheet, tuple[str, ...]]:
    """Who is shown to fare worse at the first operating point, a line for each grouping.

    With it a ratio of the table and its limits, to say how it is read, if there is one.
    """
    heads = ("Of", "At", "Locked out more", "More exposed to impostors")
    made = Sheet.headed(
        "At a glance: who is shown to fare worse, at the first operating point",
        (*heads, "How many groups cannot be told"),
        words=(1, 2, 3, 4, 5),
        wide=(3, 4, 5),
        is_stacked=True,
    )
    example: tuple[str, ...] = ()
    for scope in (one for of in by_grouping(every) for one in of):
        at, rates = first_point(audit, scope.where), rates_of(audit, scope.where)
        of = verdicts_of(audit, {**scope.where, "operating_point": at})
        if at is None or not of:
            continue
        cells, unknown = [], []
        for metric, words in {"fnr": "lock-outs", "fpr": "impostors"}.items():
            if not has_rate(metric, at, rates):
                cells.append(Cell(why_no_rate(metric, at, rates)))
                continue
            rows = list(of.get(metric, {}).values())
            worse = [row for row in rows if row["verdict"] == "worse"]
            worse.sort(key=lambda row: -float(row["ratio"]))
            if worse and not example:
                example = tuple(short(worse[0][name]) for name in ("ratio", "low", "high"))
            cells.append(_worse(worse, rows))
            n = sum(row["verdict"] == "cannot_tell" for row in rows)
            unknown.append(f"{words}: {n or 'none'} of {len(rows)}")
        made.add(scope.label, with_standing(audit, at, scope.where, at), *cells, "; ".join(unknown))
    return (made, example) if made.rows else (_counted_worst(audit, every), ())


def _worse(worse: Sequence[Row], rows: Sequence[Row]) -> Cell:
    """Groups that fare worse, with their figures."""
    names = [
        f"{row['group']}{'*' if row['gates'] else ''}: {short(row['ratio'])} times "
        f"{span(row['low'], row['high'])}"
        for row in worse
    ]
    if names:
        return Cell("; ".join(listed(names, most=_MOST_TOLD)), verdict="worse")
    if not rows:
        return Cell("–")
    reasons = {row["reason"] for row in rows}
    if reasons <= {"too_common", "undefined_ratio"}:
        return Cell(f"cannot be told: {'; '.join(verdict.WHY[one] for one in sorted(reasons))}")
    is_known = all(row["verdict"] != "cannot_tell" for row in rows)
    return Cell("no group" if is_known else "no group is shown to")


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
        return why_no_rate(metric, at, rates)
    rows = {group: one[metric, at] for group, one in rates.items()}
    pooled = rows.pop("pooled", {"value": None})["value"]
    known = [row for row in rows.values() if row["value"]]
    if not known:
        return "no group: no errors"
    most = max(known, key=lambda row: float(row["value"]))
    counts = "" if most["trials"] is None else f" ({most['errors']:,} of {most['trials']:,} trials)"
    times = f", {short(most['value'] / pooled)} times everyone together" if pooled else ""
    return f"{most['group']}: {percent(most['value'])}{counts}{times}"
