"""What an export holds: the answer in sentences, then every table that goes on paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from parivox.report.exports.measured import measures
from parivox.report.exports.rates import by_system, crosstabs, group_rates, thresholds
from parivox.report.facts import headline, why_unsure
from parivox.report.judged import RATES, differing, figures, has_rate, judged, rates_of
from parivox.report.scopes import name_of, points, scopes, systems

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from parivox.auditing.result import Audit
    from parivox.report.exports.printed import Printed
    from parivox.report.words import Row

    Rates = Mapping[str, Mapping[tuple[str, str], Row]]

__all__ = ["Answer", "answers", "headlines", "tables"]


@dataclass(frozen=True)
class Answer:
    """What can be said of a system, a grouping of it at an operating point, or the list."""

    heading: str
    sentences: tuple[str, ...]


def answers(audit: Audit) -> Iterator[Answer]:
    """The answer in sentences, system by system."""
    for system in systems(audit):
        name = name_of(system["system"], system["list"])
        yield Answer(name, tuple(_of_data(audit, system)))
        for where in _scopes(audit, system):
            rates = rates_of(audit, where)
            for at in _points(audit, system):
                told = tuple(_verdicts(audit, {**where, "operating_point": at}, rates))
                if told:
                    yield Answer(f"{name}: {where['grouping']} at {at}", told)


def tables(audit: Audit) -> Iterator[Printed]:
    """Thresholds; rates, crosstabs and measures of each system; systems side by side."""
    every = systems(audit)
    yield thresholds(audit)
    for system in every:
        for where in _scopes(audit, system):
            for at in _points(audit, system):
                yield group_rates(audit, where, at)
                yield from crosstabs(audit, where, at)
                if (found := measures(audit, where, at)).rows:
                    yield found
    if len(every) > 1:
        for where in _scopes(audit, every[0]):
            for at in _points(audit, every[0]):
                yield from by_system(audit, every, where, at)


def headlines(audit: Audit) -> Iterator[Printed]:
    """Rates of every grouping at the first operating point."""
    for system in systems(audit):
        for where in _scopes(audit, system):
            for at in _points(audit, system)[:1]:
                yield group_rates(audit, where, at)


def _scopes(audit: Audit, system: Row) -> Iterator[Row]:
    """Every grouping and allocation of a system that has rates."""
    for scope in scopes(audit):
        if (scope.system, scope.list) == (system["system"], system["list"]):
            yield scope.where


def _points(audit: Audit, system: Row) -> list[str]:
    return [row["operating_point"] for row in points(audit, system)]


def _of_data(audit: Audit, system: Row) -> Iterator[str]:
    whole = audit.groups.where(**system, grouping="all", within="").rows()
    first = whole[0]
    of_whom = "" if first["speakers"] is None else f" of {first['speakers']:,} speakers"
    yield (
        f"{first['target_trials']:,} target and {first['nontarget_trials']:,} nontarget trials"
        f"{of_whom}. {headline(whole)}"
    )
    if unsure := why_unsure(audit, system):
        yield (
            f"Nothing is said of chance: {unsure}. Groups of few speakers or few errors differ by "
            "chance alone, often by a factor of two or more."
        )
    if not _points(audit, system):
        yield "No operating point has a threshold, so no group has rates."
    lists = audit.record.get("list_checks", {})
    name = "@".join(filter(None, system.values()))
    twin = next((one for one, checks in lists.items() if checks == lists.get(name)), name)
    if twin != name and lists[name]:
        yield f"The list of trials fails what that of {twin} fails."
        return
    for check in lists.get(name, ()):
        yield f"The list of trials fails {check['id']} ({check['what']}): {check['sentence']}."


def _verdicts(
    audit: Audit, where: Row, rates: dict[str, dict[tuple[str, str], Row]]
) -> Iterator[str]:
    """What is said of a grouping at an operating point, and of each group that differs."""
    at = where["operating_point"]
    whole = {row["metric"]: row for row in audit.verdicts.where(**where, group="").rows()}
    if not whole:
        return
    for metric, words in RATES.items():
        if has_rate(metric, at, rates):
            yield f"{metric.upper()} ({words}): {whole[metric]['sentence']}."
    of = judged(audit, where)
    for group in differing(of):
        yield f"{group}: {figures(of, group, rates, at)}."
