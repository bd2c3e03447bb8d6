"""Rates of groups: at an operating point, of two attributes with margins, system by system."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.report import crossed
from parivox.report.exports.printed import UNDEFINED, Column, Printed
from parivox.report.facts import why_unsure
from parivox.report.judged import (
    INTERVAL_IS_SHORT,
    IS_REFERENCE,
    RATES,
    gates_told,
    grouped,
    judged,
    lacks,
    others_told,
    rates_of,
)
from parivox.report.scopes import name_of
from parivox.report.words import Row, chance, number, percent, short, span

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parivox.auditing.result import Audit
    from parivox.report.crossed import Crossed, Rate

    Rates = Mapping[str, Mapping[tuple[str, str], Row]]
    Judged = Mapping[str, Mapping[str, Row]]

__all__ = ["by_system", "crosstabs", "group_rates", "thresholds"]

_IN_CELLS = (
    "In each cell the rate in percent, with its interval, else with errors/trials. "
    f"* under-represented; {UNDEFINED} no such group, or no trials."
)


def thresholds(audit: Audit) -> Printed:
    """Each operating point: its threshold, and what it does to all trials."""
    columns = (
        Column("system", is_words=True),
        Column("operating point", is_words=True),
        *map(Column, ("threshold", "FNR, %", "FPR, %", "cost")),
        Column("found on", is_words=True),
    )
    rows = [
        (
            name_of(row["system"], row["list"]),
            row["operating_point"],
            UNDEFINED if row["threshold"] is None else f"{row['threshold']:.6g}",
            *(_percent(row[rate]) for rate in RATES),
            UNDEFINED if row["cdet_norm"] is None else f"{row['cdet_norm']:.4f}",
            row["reason"] or row["source"],
        )
        for row in audit.operating_points.where(within="").rows()
    ]
    reading = "A trial is accepted if its score is at least the threshold, the same for all groups."
    return Printed("Thresholds", reading, columns, tuple(rows)).filled()


def group_rates(audit: Audit, where: Row, at: str) -> Printed:
    """Both rates of every group at an operating point, each against the first reference."""
    rates = rates_of(audit, where)
    of = judged(audit, {**where, "operating_point": at})
    lacking = lacks(of, rates, at)
    ratios = of or _ratios(audit, where, at)
    columns = [Column("group", is_words=True), Column("speakers")]
    for metric, words in RATES.items():
        over = f"{words} ({metric.upper()})"
        columns += [Column(head, over) for head in ("errors/trials", "%", "times", "p")]
    rows = []
    for group in crossed.in_order(rates):
        cells = [group + "*" * (group in lacking), number(rates[group]["fnr", at]["speakers"])]
        for metric in RATES:
            row = rates[group][metric, at]
            cells += [_counts(row), _rate(row)]
            cells += _ratio(ratios.get(metric, {}).get(group))
        rows.append(tuple(cells))
    name = name_of(where["system"], where["list"])
    told = "" if where["allocation"] == "both" else f", allocated by {where['allocation']}"
    return Printed(
        title=f"{name}: {where['grouping']}{told} at {at}",
        reading=_reading(audit, where),
        columns=tuple(columns),
        rows=tuple(rows),
        notes=tuple(_notes(audit, rates, lacking, at)),
        last_apart="pooled" in rates,
    ).filled()


def crosstabs(audit: Audit, where: Row, at: str) -> Iterator[Printed]:
    """Both rates of an intersection of two attributes; its margins, where they were audited."""
    name = name_of(where["system"], where["list"])
    for one in crossed.crosstabs(audit, where, at):
        yield _printed(
            one,
            f"{name}: {RATES[one.metric]} ({one.metric.upper()}), %, {one.down} by {one.across} "
            f"at {at}",
        )


def by_system(audit: Audit, systems: Sequence[Row], where: Row, at: str) -> Iterator[Printed]:
    """A rate of each group in every system and list."""
    for one in crossed.by_system(audit, [({**where, **system}, at) for system in systems]):
        told = f"{RATES[one.metric]} ({one.metric.upper()}), %, by system at {at}"
        yield _printed(one, f"{where['grouping']}: {told}")


def _printed(table: Crossed, title: str) -> Printed:
    columns = (
        Column(table.down, is_words=True),
        *(Column(head, table.across) for head in table.heads),
    )
    rows = tuple((name, *map(_cell, cells)) for name, cells in table.rows)
    made = Printed(title, _IN_CELLS, columns, rows, table.notes, last_apart=table.has_sum)
    return made.filled()


def _cell(found: Rate) -> str:
    """The rate with its interval, else with its counts; a star if the group is small."""
    row = found.row
    if row is None or row["value"] is None:
        return UNDEFINED
    counts = f" ({_counts(row)})" if row["high"] is None else ""
    return f"{_rate(row)}{counts}{'*' * found.is_small}"


def _rate(row: Row) -> str:
    """A rate in percent with its interval; a tilde if that may be too short."""
    if row["value"] is None or row["high"] is None:
        return _percent(row["value"])
    tilde = "~" if INTERVAL_IS_SHORT in row["note"] else ""
    return f"{_percent(row['value'])} {span(row['low'], row['high'], times=100)}{tilde}"


def _counts(row: Row) -> str:
    return UNDEFINED if row["trials"] is None else f"{number(row['errors'])}/{row['trials']:,}"


def _percent(value: float | None) -> str:
    return percent(value).removesuffix(" %")


def _ratio(row: Row | None) -> list[str]:
    """Times the reference with the interval of that, and p."""
    if row is None:
        return [UNDEFINED, UNDEFINED]
    if row["reason"] == IS_REFERENCE:
        return ["reference", UNDEFINED]
    told = short(row["ratio"])
    if row["ratio"] is not None and row["high"] is not None:
        told += f" {span(row['low'], row['high'])}"
    return [told, chance(row["p_holm"])]


def _ratios(audit: Audit, where: Row, at: str) -> dict[str, dict[str, Row]]:
    """Ratios to the first reference as they were measured, where nothing was judged."""
    asked = {
        **where,
        "operating_point": at,
        "measure": "ratio",
        "reference": audit.record["options"]["reference"][0],
        "zero": "none",
        "definition": "",
    }
    found: dict[str, dict[str, Row]] = {}
    for row in audit.bias.where(**asked).rows():
        found.setdefault(row["metric"], {})[row["group"]] = {**row, "ratio": row["value"]}
    return found


def _reading(audit: Audit, where: Row) -> str:
    unsure = why_unsure(audit, {name: where[name] for name in ("system", "list")})
    level = 100 * audit.record["options"]["confidence"]
    how = (
        f"Nothing is said of chance: {unsure}."
        if unsure
        else f"In brackets: {level:g} % intervals over speakers; p: adjusted by Holm for both "
        "rates of all groups."
    )
    return (
        "FNR: target trials rejected; FPR: nontarget trials accepted; times: the rate over that "
        f"of {others_told(audit)}. {how}"
    )


def _notes(audit: Audit, rates: Rates, lacking: Mapping[str, str], at: str) -> Iterator[str]:
    """What the marks stand for, and which rates are missing."""
    if lacking:
        yield f"* {gates_told(audit)}: {grouped(lacking)}."
    cells = [rows[metric, at] for rows in rates.values() for metric in RATES]
    if any(INTERVAL_IS_SHORT in row["note"] and row["high"] is not None for row in cells):
        yield "~ The interval is perhaps too short, as speakers differ much or are few."
    missing: dict[str, list[str]] = {}
    for row in cells:
        if row["value"] is None:
            reason = f"No {row['metric'].upper()}, as there are {row['reason']}"
            missing.setdefault(reason, []).append(row["group"])
    yield from (f"{reason}: {', '.join(groups)}." for reason, groups in missing.items())
