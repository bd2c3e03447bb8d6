"""Part of an audit: one system, grouping or operating point of it; all that is known of a group."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rich.console import Group

from parivox.auditing import system_name
from parivox.core.verdict import INCONCLUSIVE_REASONS
from parivox.errors import ConfigError, name_hint
from parivox.report.audit_queries import (
    ERROR_TYPES,
    POOLED,
    interval_marks,
    located_points,
    rates_by_group,
    scopes,
    scopes_by_grouping,
    system_label,
    systems,
    verdicts_by_metric,
)
from parivox.report.findings import (
    confidence_statement,
    no_threshold_sentence,
    primary_question_text,
    ratio_legend,
)
from parivox.report.full_tables import GROUP_RATES
from parivox.report.sheets.groups import group_rates
from parivox.report.sheets.sheet import Column, Sheet, terminal_table
from parivox.report.words import capitalised, count_of, count_text, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import RenderableType

    from parivox.auditing import Audit
    from parivox.report.audit_queries import Scope
    from parivox.report.words import Row


def part_of(
    audit: Audit,
    *,
    system: str | None = None,
    by: str | None = None,
    operating_point: str | None = None,
) -> Audit:
    """The audit as if it were of this system, grouping and operating point alone.

    Raises
    ------
    ConfigError
        If the audit has none of that name.
    """
    inputs, groupings = audit.record["inputs"], audit.record["groupings"]
    compared, of_points = audit.comparison, audit.operating_points
    if system is not None:
        every = {system_name(one["system"], one["list"]): one for one in inputs}
        inputs = [one for name, one in every.items() if system in {name, one["system"]}]
        _check("system", system, every, is_known=bool(inputs))
        own = inputs[0]["system"]
        compared = compared.where(system=own, other_system=own if len(inputs) > 1 else "")
    if by is not None:
        _check("grouping", by, groupings, is_known=by in groupings)
        groupings = [by]
    if operating_point is not None:
        names = dict.fromkeys(row["operating_point"] for row in of_points)
        _check("operating point", operating_point, names, is_known=operating_point in names)
        of_points = of_points.where(operating_point=operating_point)
    record = {**audit.record, "inputs": inputs, "groupings": groupings}
    return replace(audit, record=record, comparison=compared, operating_points=of_points)


def _check(what: str, name: str, known: Iterable[str], *, is_known: bool) -> None:
    if not is_known:
        msg = f"no {what} {name!r} in this audit; {name_hint(name, known)}"
        raise ConfigError(msg)


def groups_told(audit: Audit, groups: Sequence[str]) -> Group:
    """Both errors of each of these groups at every point, in every system, as rich shows it.

    Raises
    ------
    ConfigError
        If the audit has no group of such a name.
    """
    every = scopes_by_grouping(list(scopes(audit)))
    of = [(same, {g for one in same for g in rates_by_group(audit, one.filters)}) for same in every]
    known = dict.fromkeys(group for _, found in of for group in sorted(found - {POOLED}))
    for group in groups:
        _check("group", group, known, is_known=group in known)
    marked: dict[str, str] = {}
    told = [
        part
        for group in groups
        for same, found in of
        if group in found
        for part in _told(audit, same, group, marked)
    ]
    notes = (text(f"{mark} {words}") for mark, words in marked.items())
    to_read = ratio_legend(audit)
    if audit.record["options"]["intervals"]:
        to_read += "; p: adjusted for all groups and both error types"
    return Group(*told, text(f"{capitalised(to_read)}."), *notes, text(_standing(audit, groups)))


def _standing(audit: Audit, groups: Sequence[str]) -> str:
    """Return whether the verdicts on these groups are confirmatory, as a sentence."""
    verdicts = [row for row in audit.verdicts.rows() if row["group"] in groups]
    primary = primary_question_text(audit)
    if not primary or not verdicts or any(row["confirmatory"] for row in verdicts):
        return capitalised(confidence_statement(audit))
    return f"These verdicts are exploratory. Only those by {primary} are confirmatory."


def _told(
    audit: Audit, same: Sequence[Scope], group: str, marked: dict[str, str]
) -> Iterator[RenderableType]:
    """Both errors of a group of one grouping, in every system; notes the marks of intervals."""
    yield text(f"{group}, of {same[0].grouping_label}", style="bold")
    if not any(located_points(audit, scope.filters) for scope in same):
        yield text(no_threshold_sentence(audit, systems(audit)[0]))
        return
    several = len(systems(audit)) > 1
    first = ("group", "verdict")  # with the name, in a terminal however narrow
    heads = {key: GROUP_RATES[key] for key in (*first, *GROUP_RATES) if key != "speakers"}
    for metric, words in ERROR_TYPES.items():
        columns = [Column(head, is_words=key == "verdict") for key, head in heads.items()]
        made = Sheet("", [Column("at", is_words=True), *columns[1:]])
        speakers, lacking = set[int | None](), dict[str, list[str]]()
        for scope in same:
            rates = rates_by_group(audit, scope.filters)
            for point in located_points(audit, scope.filters):
                at = str(point["operating_point"])
                name = f"{system_label(scope.system, scope.list)}, {at}" if several else at
                row = rates[group][metric, at]
                sheet = group_rates(audit, scope.filters, metric, at).select(heads)
                made.add(name, *next(one[1:] for one in sheet.rows if one[0].text == group))
                speakers.add(row["speakers"])
                marked |= interval_marks([row])
                judged = verdicts_by_metric(audit, {**scope.filters, "operating_point": at})
                if why := _why(row, judged.get(metric, {}).get(group)):
                    lacking.setdefault(why, []).append(name)
        *least, most = sorted(speakers, key=lambda n: n or 0)
        of = f"{f'{count_text(least[0])} to ' if least else ''}{count_of(most, 'speaker')}"
        yield text(f"{capitalised(words)} ({metric.upper()}, %), {of}")
        yield from terminal_table(made, is_compact=True)
        for why, names in lacking.items():
            yield text(f"  {'; '.join(names)}: {why}")
        yield text("")


def _why(rate: Row, judged: Row | None) -> str:
    """Why there is no rate, or why it can't be told how the group fares."""
    if rate["value"] is None:
        return str(INCONCLUSIVE_REASONS.get(rate["reason"], rate["reason"]))
    if judged is None or judged["verdict"] != "cannot_tell":
        return ""
    if judged["reason"] not in INCONCLUSIVE_REASONS:  # a gate's own words
        return str(judged["reason"])
    return "; ".join(filter(None, (INCONCLUSIVE_REASONS[judged["reason"]], judged["gates"])))
