"""What can be said at every operating point, what cannot and why, who chose what, on whose data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.core import verdict
from parivox.report import findings
from parivox.report.audit_queries import (
    ERROR_TYPES,
    differing_groups,
    first_point_name,
    has_rate,
    heading_with_status,
    located_points,
    missing_rate_reason,
    rates_by_group,
    scopes,
    scopes_by_grouping,
    shortfalls,
    system_label,
    systems,
    verdicts_by_metric,
)
from parivox.report.caveats import Caveat
from parivox.report.context import HEADINGS, Choice, Context
from parivox.report.html.layout import NOT_SUPPLIED, abreast, point_in_words
from parivox.report.sheets.groups import operating_points
from parivox.report.sheets.people import failures
from parivox.report.words import capitalised, count_of, count_text, shortened_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from parivox.auditing import Audit
    from parivox.report.audit_queries import Rates, Scope, Verdicts
    from parivox.report.sheets.sheet import Sheet
    from parivox.report.words import Row

_MOST_TOLD = 6


def said(audit: Audit, context: Context | None) -> dict[str, Any]:
    """What can be said of every grouping, and on what it rests, as ``said.html.j2`` takes it."""
    every = list(scopes(audit))
    about = _about(context or Context())
    groupings = [[_said(audit, one) for one in of] for of in scopes_by_grouping(every)]
    deployed = {
        tuple(one.values()): findings.deployed_thresholds_text(audit, one) for one in systems(audit)
    }
    return {
        "points": operating_points(audit, deployed),
        "chosen": list(_chosen(audit, context or Context())),
        "systems": [_system(audit, one) for one in systems(audit)],
        "said": abreast(groupings),
        "context": [(label, words) for label, words in (*about.items(), *_names(audit)) if words],
        "lacking": [label for label, words in about.items() if not words],
        "context_sha256": context.sha256 if context else "",
        "failures": list(_failures(audit, every)),
        "gates": findings.minimums_text(audit),
    }


def _names(audit: Audit) -> Iterator[tuple[str, str]]:
    """What labels stand for in the files of the audit."""
    labels = audit.record.get("labels", {})
    yield "Names in the audit's files", "; ".join(f"{to}: {name}" for name, to in labels.items())


def _said(audit: Audit, scope: Scope) -> dict[str, Any]:
    """What is said of one grouping of one system."""
    rates, known = rates_by_group(audit, scope.filters), located_points(audit, scope.filters)
    at_points = [
        _at_point(audit, scope, point, rates)
        for point in known
        if len(audit.verdicts.where(**scope.filters, operating_point=point["operating_point"]))
    ]
    missing = ""
    if not at_points:
        why = findings.missing_interval_reason(audit, {"system": scope.system, "list": scope.list})
        reference = audit.record["options"]["reference"][0]
        missing = (
            f"No verdicts: {why}. Rates are observed values."
            if why
            else "No verdicts: no operating point has a threshold."
            if not known
            else f"No verdicts, as {reference} is no group of this grouping."
        )
    harder = [
        f"{group} {words.partition(':')[0]}"
        for group, words in findings.group_eer_lines(audit, scope.filters)
        if words.startswith(("harder:", "easier:"))
    ]
    first = next((words for _, words in findings.group_eer_lines(audit, scope.filters)), "")
    own = "; ".join(filter(None, (", ".join(harder), first)))
    head = heading_with_status(audit, "EER at group-specific thresholds", scope.filters)
    return {
        "label": scope.label,
        "points": at_points,
        "own": own and f"{head}: {own}",
        "missing": missing,
    }


def _at_point(audit: Audit, scope: Scope, point: Row, rates: Rates) -> dict[str, Any]:
    """What is said of one grouping at one operating point."""
    at = point["operating_point"]
    asked = {**scope.filters, "operating_point": at}
    system = {row["metric"]: row for row in audit.verdicts.where(**asked, group="").rows()}
    of = verdicts_by_metric(audit, asked)
    differ = differing_groups(of)
    groups = [
        (group, findings.group_figures_text(of, group, rates, at)) for group in differ[:_MOST_TOLD]
    ]
    if len(differ) > _MOST_TOLD:
        groups.append((f"{len(differ) - _MOST_TOLD} more", "differ: see the table of groups"))
    summary, sentences = [], []
    for metric, words in ERROR_TYPES.items():
        if has_rate(metric, at, rates):
            sentence = f"{capitalised(str(system[metric]['sentence']))}."
            summary.append(f"{words}: {findings.differing_groups_text(of[metric])}")
        else:
            sentence = f"No {metric.upper()}: {missing_rate_reason(metric, at, rates)}."
        sentences.append((f"{capitalised(words)} ({metric.upper()})", sentence))
    return {
        "at": at,
        "head": heading_with_status(audit, f"At {at}", scope.filters, at),
        "where": point_in_words(point),
        "short": "; ".join(summary),
        "sentences": sentences,
        "groups": groups,
        "unknown": list(_unknown(of)),
        "reasons": "; ".join(_reasons(of)),
        "lacking": findings.groups_by_shortfall_text(shortfalls(of, rates, at)),
    }


def _unknown(of: Verdicts) -> Iterator[str]:
    """Of which groups it can't be told whether they differ, and why."""
    for metric, words in ERROR_TYPES.items():
        by_reason: dict[str, list[str]] = {}
        for group, row in of.get(metric, {}).items():
            if row["verdict"] == "cannot_tell":
                why = str(verdict.INCONCLUSIVE_REASONS.get(row["reason"], row["reason"]))
                by_reason.setdefault(why, []).append(group)
        for why, groups in by_reason.items():
            yield (
                f"{words} ({metric.upper()}), {why}: {', '.join(shortened_names(groups, most=12))}"
            )


def _reasons(of: Verdicts) -> list[str]:
    """Why it can't be told, of whatever group."""
    rows = [row for metric in ERROR_TYPES for row in of.get(metric, {}).values()]
    found = [row["reason"] for row in rows if row["verdict"] == "cannot_tell"]
    return list(dict.fromkeys(verdict.INCONCLUSIVE_REASONS.get(one, one) for one in found))


def _failures(audit: Audit, every: Sequence[Scope]) -> Iterator[Sheet]:
    """Recordings that could not be used, of each system and grouping; none if none were told of."""
    for scope in every:
        at = first_point_name(audit, scope.filters)
        if at is not None:
            for sheet in failures(audit, scope.filters, rates_by_group(audit, scope.filters), at):
                label = scope.label if sheet.title else f"Time of a trial, {scope.label}"
                yield sheet.for_report(label)


def _chosen(audit: Audit, context: Context) -> Iterator[str]:
    """Who chose the operating points, the groups and the margin, as far as that is known."""
    options = audit.record["options"]
    operating_points = options["operating_points"]
    how = (
        f"given to the audit: {', '.join(operating_points)}"
        if operating_points
        else "left to Parivox's defaults"
    )
    yield f"Operating points: {how}; {_who(context.threshold)}."
    if primary := findings.primary_question_text(audit):
        how = "named for the audit" if options["primary"] else "the first of all, as none was named"
        yield f"Primary: {primary}, {how}."
    if found := findings.thresholds_set_here_text(audit):
        yield f"{found} found on the audited trials themselves" + (
            "; a threshold chosen elsewhere would give other rates."
            if findings.unusual_points(audit)
            else ", so the pooled rate that they hold is met exactly here; a threshold chosen "
            "elsewhere would not meet it exactly."
        )
    by = audit.record["groupings_chosen_by"]
    names = ", ".join(audit.record["groupings"])
    how = "given to the audit" if by == "user" else f"not given, so taken: {by}"
    yield f"Groups: {names}, {how}; {_who(context.groups)}."
    margin, others = f"{options['margin']:g}", findings.reference_text(audit)
    yield (
        f"Margin: ratios from 1/{margin} to {margin} times {others} are taken not to matter; "
        f"{_who(context.margin)}."
    )


def _who(choice: Choice) -> str:
    words = _choice(choice)
    if not words:
        return f"who chose it: {NOT_SUPPLIED}"
    return f"the context file says: chosen by {words}"


def caveats(context: Context | None) -> list[Caveat]:
    """What is not known of the audit, as no context file says it."""
    missing = [label for label, words in _about(context or Context()).items() if not words]
    if not missing:
        return []
    items = "; ".join(f"{one[:1].lower()}{one[1:]}" for one in missing)
    sentence = (
        f"These items of the audit context were not supplied: {items}. Add them with --context"
    )
    return [Caveat("intended use and population not supplied", sentence, "context")]


def _choice(choice: Choice) -> str:
    if choice == Choice():
        return ""
    when = f", {choice.when}" if choice.when else ""
    why = f": {choice.why}" if choice.why else ""
    return f"{choice.chosen_by or NOT_SUPPLIED}{when}{why}"


def _about(context: Context) -> dict[str, str]:
    """Each item of a context with what is known of it."""
    values = {label: getattr(context, name) for name, label in HEADINGS.items()}
    return {
        label: _choice(value) if isinstance(value, Choice) else value
        for label, value in values.items()
    }


def _system(audit: Audit, name: Row) -> tuple[str, str, list[str]]:
    """A system, how much of it was audited, and what was set aside."""
    whole = audit.groups.where(**name, grouping="all", within="").rows()
    first = whole[0]
    speakers = first["speakers"]
    of_whom = "" if speakers is None else f" of {count_of(speakers, 'speaker')}"
    of_what = findings.recordings_text(audit, name)
    said = (
        f"{count_text(first['target_trials'])} target trials (a person against themselves) and "
        f"{count_text(first['nontarget_trials'])} nontarget trials (against someone else)"
        f"{of_whom}{of_what and f' in {of_what}'}. Over all of them: "
        f"{findings.pooled_metrics_text(whole)}"
    )
    return system_label(*name.values()), said, findings.data_notes(audit, name)
