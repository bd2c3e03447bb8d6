"""Section 4: two attributes against each other with margins, and groups by system."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.report.judged import RATES, rates_of
from parivox.report.page.views import Grid, Scope, name_of, scopes
from parivox.report.words import percent, span

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parivox.auditing.result import Audit
    from parivox.report.words import Row

__all__ = ["by_system", "crosstabs"]

_TWO = 2


def crosstabs(audit: Audit) -> list[Grid]:
    """FNR and FPR of every grouping of two attributes at the first operating point."""
    return [grid for scope in scopes(audit) for grid in _crossed(audit, scope)]


def _crossed(audit: Audit, scope: Scope) -> Iterator[Grid]:
    attributes = scope.grouping.split("+")
    at = _first(audit, scope)
    rates = rates_of(audit, scope.where)
    pairs = {group: group.split("+") for group in rates if group != "pooled"}
    is_plain = all(len(pair) == _TWO for pair in pairs.values())
    if len(attributes) != _TWO or not is_plain or at is None:
        return
    across, down = (list(dict.fromkeys(pair[i] for pair in pairs.values())) for i in (0, 1))
    if len(across) > len(down):  # the longer attribute runs down the page
        across, down, attributes = down, across, attributes[::-1]
        pairs = {group: pair[::-1] for group, pair in pairs.items()}
    by_pair = {tuple(pair): rates[group] for group, pair in pairs.items()}
    margins = [rates_of(audit, scope._replace(grouping=name).where) for name in attributes]
    for metric, words in RATES.items():
        made = Grid(
            f"{metric.upper()} ({words}), %, of {scope.label} at {at}: {attributes[1]} down, "
            f"{attributes[0]} across; with interval, errors / trials and speakers",
            (attributes[1], *across, "all"),
            last=1,
            sortable=True,
        )
        for row in down:
            cells = [_cell(by_pair.get((column, row)), metric, at) for column in across]
            made.add(row, *cells, _cell(margins[1].get(row), metric, at))
        foot = [_cell(margins[0].get(column), metric, at) for column in across]
        made.add("all", *foot, _cell(rates.get("pooled"), metric, at))
        yield made


def by_system(audit: Audit) -> list[Grid]:
    """Groups down, systems and lists across, where there are several of either."""
    names = [(one["system"], one["list"]) for one in audit.record["inputs"]]
    if len(names) == 1:
        return []
    made = []
    asked = dict.fromkeys((one.grouping, one.allocation) for one in scopes(audit))
    for grouping, allocation in asked:
        found = [Scope(*name, grouping, allocation) for name in names]
        points = [_first(audit, scope) for scope in found]
        rates = [rates_of(audit, scope.where) for scope in found]
        groups = list(dict.fromkeys(group for one in rates for group in one if group != "pooled"))
        how = "" if allocation == "both" else f", nontarget trials by {allocation}"
        for metric, words in RATES.items():
            grid = Grid(
                f"{metric.upper()} ({words}), %, of {grouping}{how} by system, each at its first "
                "operating point; with interval, errors / trials and speakers",
                ("Group", *(_headed(name, at) for name, at in zip(names, points, strict=True))),
                last=1,
                sortable=True,
            )
            for group in [*groups, "pooled"]:
                cells = zip(rates, points, strict=True)
                grid.add(group, *(_cell(one.get(group), metric, at) for one, at in cells))
            made.append(grid)
    return made


def _headed(name: Sequence[str], at: str | None) -> str:
    label = name_of(*name)
    return label if at is None else f"{label} at {at}"


def _first(audit: Audit, scope: Scope) -> str | None:
    asked = {"system": scope.system, "list": scope.list, "within": ""}
    points = audit.operating_points.where(**asked).rows()
    return next((one["operating_point"] for one in points if not one["reason"]), None)


def _cell(found: Mapping[tuple[str, str], Row] | None, metric: str, at: str | None) -> str:
    """A rate, its interval and its counts; a dash where there is no such group."""
    if found is None or at is None:
        return "–"
    row = found[metric, at]
    if row["value"] is None:
        return f"– ({row['reason']})"
    counts = "" if row["trials"] is None else f" {row['errors']:,} / {row['trials']:,}"
    speakers = "" if row["speakers"] is None else f", {row['speakers']:,} sp."
    interval = span(row["low"], row["high"], times=100)
    return f"{percent(row['value']).removesuffix(' %')} {interval}{counts}{speakers}"
