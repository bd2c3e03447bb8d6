"""Part of an audit: one system, grouping or operating point of it; all that is known of a group."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rich.console import Group

from parivox.auditing import ATTACK_DEPENDENT, system_name
from parivox.errors import ConfigError, name_hint
from parivox.report.audit_queries import (
    POOLED,
    all_error_types,
    error_types,
    interval_marks,
    located_points,
    rates_by_group,
    scopes,
    scopes_by_grouping,
    system_label,
    systems,
    verdicts_by_metric,
)
from parivox.report.catalogue import full_sentence, gates_text, inconclusive_text
from parivox.report.findings import (
    confidence_statement,
    equal_weight,
    no_threshold_sentence,
    primary_question_text,
    ratio_legend,
)
from parivox.report.full_tables import GROUP_RATES
from parivox.report.sheets.groups import group_rates
from parivox.report.sheets.sheet import Column, Sheet, terminal_table
from parivox.report.verdict_sentences import INCONCLUSIVE_REASONS
from parivox.report.words import capitalised, count_of, count_text, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import RenderableType

    from parivox.auditing import Audit
    from parivox.report.audit_queries import Scope
    from parivox.report.words import Row


def narrowed_audit(
    audit: Audit,
    *,
    system: str | None = None,
    by: str | None = None,
    operating_point: str | None = None,
) -> Audit:
    """Return the audit as if it were of this system, grouping and operating point alone.

    Raises
    ------
    ConfigError
        If the audit has none of that name.
    """
    inputs, groupings = audit.record["inputs"], audit.record["groupings"]
    comparison, operating_points = audit.comparison, audit.operating_points
    if system is not None:
        # a system may be given with its list, or without it for all its lists
        inputs_by_name = {system_name(each["system"], each["list"]): each for each in inputs}
        inputs = [each for name, each in inputs_by_name.items() if system in {name, each["system"]}]
        _check_name("system", system, inputs_by_name, is_known=bool(inputs))
        short_name = inputs[0]["system"]
        # of one system, only its own lists are compared with each other
        comparison = comparison.subset(
            system=short_name, other_system=short_name if len(inputs) > 1 else ""
        )
    if by is not None:
        _check_name("grouping", by, groupings, is_known=by in groupings)
        groupings = [by]
    if operating_point is not None:
        names = dict.fromkeys(row["operating_point"] for row in operating_points)
        _check_name("operating point", operating_point, names, is_known=operating_point in names)
        operating_points = operating_points.subset(operating_point=operating_point)
    record = {**audit.record, "inputs": inputs, "groupings": groupings}
    return replace(audit, record=record, comparison=comparison, operating_points=operating_points)


def _check_name(kind: str, name: str, known_names: Iterable[str], *, is_known: bool) -> None:
    """Refuse a name that the audit does not have."""
    if not is_known:
        msg = f"no {kind} {name!r} in this audit"
        hint = name_hint(name, known_names)
        raise ConfigError(msg, hint)


def group_details(audit: Audit, groups: Sequence[str]) -> Group:
    """Return both errors of each of these groups at every point, in every system, for rich.

    Raises
    ------
    ConfigError
        If the audit has no group of such a name.
    """
    scopes_with_groups: list[tuple[list[Scope], set[str]]] = []
    known_groups: dict[str, None] = {}
    for same_grouping in scopes_by_grouping(list(scopes(audit))):
        group_names = {
            name for scope in same_grouping for name in rates_by_group(audit, scope.filters)
        }
        scopes_with_groups.append((same_grouping, group_names))
        known_groups |= dict.fromkeys(sorted(group_names - {POOLED}))
    for group in groups:
        _check_name("group", group, known_groups, is_known=group in known_groups)
    interval_notes: dict[str, str] = {}
    blocks: list[RenderableType] = []
    for group in groups:
        for same_grouping, group_names in scopes_with_groups:
            if group in group_names:
                blocks += _group_blocks(audit, same_grouping, group, interval_notes)
    notes = (text(f"{mark} {words}") for mark, words in interval_notes.items())
    legend = ratio_legend(audit)
    if audit.record["options"]["intervals"]:
        legend += f"; p: adjusted for all groups and {all_error_types(audit)}"
    return Group(
        *blocks, text(f"{capitalised(legend)}."), *notes, text(_status_sentence(audit, groups))
    )


def _status_sentence(audit: Audit, groups: Sequence[str]) -> str:
    """Return whether the verdicts on these groups are confirmatory, as a sentence."""
    verdicts = [row for row in audit.verdicts.rows() if row["group"] in groups]
    primary = primary_question_text(audit)
    if not primary or not verdicts or any(row["confirmatory"] for row in verdicts):
        return capitalised(confidence_statement(audit))
    return full_sentence("verdicts_exploratory", primary=primary)


def _group_blocks(
    audit: Audit, same_grouping: Sequence[Scope], group: str, interval_notes: dict[str, str]
) -> Iterator[RenderableType]:
    """Yield both errors of a group of one grouping, in every system.

    The marks of its intervals are added to `interval_notes`, to be explained once below.
    """
    yield text(f"{group}, of {same_grouping[0].grouping_label}", style="bold")
    if not any(located_points(audit, scope.filters) for scope in same_grouping):
        yield text(f"{no_threshold_sentence(audit, systems(audit)[0])}.")
        return
    has_several_systems = len(systems(audit)) > 1
    # the verdict comes first, so that it is next to the name however narrow the terminal is
    leading_keys = ("group", "verdict")
    heads = {key: GROUP_RATES[key] for key in (*leading_keys, *GROUP_RATES) if key != "speakers"}
    for metric, words in error_types(audit).items():
        columns = [Column(head, is_words=key == "verdict") for key, head in heads.items()]
        table = Sheet("", [Column("at", is_words=True), *columns[1:]])
        speaker_counts, points_of_reason = set[int | None](), dict[str, list[str]]()
        for scope in same_grouping:
            rates = rates_by_group(audit, scope.filters)
            for point_row in located_points(audit, scope.filters):
                point_name = str(point_row["operating_point"])
                name = point_name
                if has_several_systems:
                    name = f"{system_label(scope.system, scope.list)}, {point_name}"
                row = rates[group][metric, point_name]
                sheet = group_rates(audit, scope.filters, metric, point_name).select(heads)
                table.add(name, *next(cells[1:] for cells in sheet.rows if cells[0].text == group))
                speaker_counts.add(row["speakers"])
                interval_notes |= interval_marks([row])
                verdicts = verdicts_by_metric(
                    audit, {**scope.filters, "operating_point": point_name}
                )
                if reason := _missing_answer_reason(row, verdicts.get(metric, {}).get(group)):
                    points_of_reason.setdefault(reason, []).append(name)
        *smaller_counts, largest_count = sorted(speaker_counts, key=lambda count: count or 0)
        n_speakers = count_of(largest_count, "speaker")
        if smaller_counts:
            n_speakers = f"{count_text(smaller_counts[0])} to {n_speakers}"
        yield text(f"{capitalised(words)} ({metric.upper()}, %), {n_speakers}")
        yield from terminal_table(table, is_compact=True)
        for reason, names in points_of_reason.items():
            yield text(f"  {capitalised(reason)}: {'; '.join(names)}")
        yield text("")


def _missing_answer_reason(rate_row: Row, verdict_row: Row | None) -> str:
    """Return why there is no rate, or what the comparison lacks or holds for; empty for nothing."""
    if rate_row["value"] is None:
        return inconclusive_text(rate_row)
    if verdict_row is None:
        return ""
    if verdict_row["verdict"] != "inconclusive":
        is_conditional = verdict_row["reason"] == ATTACK_DEPENDENT
        conditions = [inconclusive_text(verdict_row)] if is_conditional else []
        return "; ".join(filter(None, (*conditions, equal_weight(verdict_row))))
    if verdict_row["reason"] not in INCONCLUSIVE_REASONS:  # how a group misses a minimum
        return inconclusive_text(verdict_row)
    return ", with ".join(filter(None, (inconclusive_text(verdict_row), gates_text(verdict_row))))
