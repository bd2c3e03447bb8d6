"""What stands beside the rates of groups: failures, other tools' rules, rows that contradict."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from rich.padding import Padding

from parivox.report.sheet import Sheet
from parivox.report.words import add, chance, grid, percent, short, span, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import RenderableType

    from parivox.auditing.result import Audit
    from parivox.report.words import Row

    Rates = Mapping[str, Mapping[tuple[str, str], Row]]

__all__ = ["compat", "contradictions", "failures", "standardised", "trends"]

_SHARES, _ATTEMPTS = ("fte", "fta"), ("frr", "far")
_RULES = {
    "attempts": "each of their trials is an attempt",
    "shares": "by the share of recordings that failed, as the list holds none of their trials",
}
_RATES = ("fnr", "fpr")
_STANDARDISED = "standardised "


def contradictions(audit: Audit, name: Row) -> Iterator[RenderableType]:
    """What the rows that were set aside would have changed, of all trials."""
    rows = audit.data.where(**name, source="conflicts", grouping="all").rows()
    count = sum(row["count"] for row in rows if row["count"] is not None)
    if not count:
        yield text("No rows contradict each other: none were set aside.")
        return
    values = {row["item"]: row["value"] for row in rows if row["count"] is None}
    told = []
    for item, value in values.items():
        found = re.fullmatch("(.*) without contradicting rows", item)
        if found:
            other = values.get(f"{found[1]} with contradicting rows")
            is_rate = found[1].split()[0] in {"fpr", "fnr", "eer"}
            without, with_ = (
                "–" if one is None else percent(one) if is_rate else f"{one:.4f}"
                for one in (value, other)
            )
            told.append(f"{found[1]} {without} / {with_}")
    yield text(
        f"{count:,} contradicting rows set aside; without / with them: {', '.join(told)}."
        if told
        else f"{count:,} contradicting rows set aside."
    )


def compat(audit: Audit, name: Row) -> Iterator[RenderableType]:
    """Where another tool's rules give another number, and by how much."""
    rows = [
        row
        for row in audit.groups.where(**name).rows()
        if row["definition"].endswith("bt4vt") and row["value"] is not None
    ]
    other = [row for row in rows if row["reason"]]
    yield text(f"{audit.record['compat']}.", apart=True)
    yield text(f"{len(other)} of its {len(rows)} values differ from the exact ones; most:")
    made = grid("group", "metric", "bt4vt", "exact")
    for row in sorted(other, key=_gap, reverse=True)[:5]:
        exact = row["reason"].removeprefix("exact: ")
        add(made, row["group"], row["metric"], f"{row['value']:.6g}", f"{float(exact):.6g}")
    yield Padding(made, (0, 0, 0, 2))


def _gap(row: Row) -> float:
    exact = float(row["reason"].removeprefix("exact: "))
    return float(abs(row["value"] - exact) / max(row["value"], exact))


def failures(audit: Audit, where: Row, rates: Rates, point: str) -> Iterator[Sheet]:
    """Failures to enrol and to acquire, the rates that count them, and how long trials took."""
    found: dict[str, dict[str, Row]] = {group: {} for group in rates}
    for metric in (*_SHARES, "seconds", *_ATTEMPTS):
        at = point if metric in _ATTEMPTS else ""
        if metric in _ATTEMPTS and not any(found.values()):
            break
        asked = {**where, "within": "", "metric": metric, "operating_point": at}
        for row in audit.groups.where(**asked).rows():
            found[row["group"]][f"{metric} {row['definition']}".strip()] = row
    told = found[next(iter(rates))]
    if "fte" in told:
        rule = "attempts"
        if all(one.get("frr attempts", {}).get("value") is None for one in found.values()):
            rule = "shares"
        shares, rejected = [], []
        for group, one in found.items():
            shares.append((group, *(cell for metric in _SHARES for cell in _share(one[metric]))))
            rows = [one[f"{metric} {rule}"] for metric in _ATTEMPTS]
            cells = (cell for row in rows for cell in (percent(row["value"]), _interval(row)))
            rejected.append((group, *cells))
        yield Sheet(
            "Failures to enrol (FTE) and to acquire (FTA):",
            (
                *("group", "FTE", "[interval]", "failed / tried"),
                *("FTA", "[interval]", "failed / tried"),
            ),
            shares,
        )
        yield Sheet(
            "FRR and FAR count recordings that could not be acquired as rejected "
            f"({_RULES[rule]}):",
            ("group", "FRR", "[interval]", "FAR", "[interval]"),
            rejected,
        )
    if "seconds mean" in told:
        timed = []
        for group, one in found.items():
            values = [one[f"seconds {name}"]["value"] for name in ("mean", "q50", "q95")]
            seconds = ("–" if value is None else f"{value:.3g}" for value in values)
            timed.append((group, f"{one['seconds mean']['trials']:,}", *seconds))
        yield Sheet("", ("group", "trials timed", "mean s", "median s", "95 % within s"), timed)


def _share(row: Row) -> tuple[str, str, str]:
    """A share of failures, its interval and its counts."""
    if row["value"] is None:
        return "–", "–", row["reason"]
    return percent(row["value"]), _interval(row), f"{row['errors']:,} / {row['trials']:,}"


def _interval(row: Row) -> str:
    return span(row["low"], row["high"], times=100)


def trends(audit: Audit, where: Row, point: str) -> Iterator[str]:
    """Whether errors rise or fall with a number, where groups are bands of one."""
    asked = {**where, "within": "", "measure": "trend", "operating_point": point}
    rows = audit.bias.where(**asked).rows()
    if not rows:
        return
    told = []
    for row in sorted(rows, key=lambda row: _RATES.index(row["metric"])):
        name = row["metric"].upper()
        if row["value"] is None:
            told.append(f"{name}: {row['reason']}")
            continue
        ratio, *ends = (
            None if row[end] is None else math.exp(row[end]) for end in ("value", "low", "high")
        )
        chances = f" {span(*ends)}, p {chance(row['p'])}" if ends[1] is not None else ""
        why = f" ({row['reason']})" if row["reason"] else ""
        told.append(f"{name} x {short(ratio)}{chances}{why}")
    yield f"Odds of an error with {rows[0]['group']}, {rows[0]['definition']}: {'; '.join(told)}."


def standardised(
    audit: Audit, where: Row, rates: Rates, point: str, asked: Sequence[str]
) -> Iterator[Sheet]:
    """Rates with equal weight for every level of an attribute, beside the crude ones."""
    for name in asked:
        cells: dict[str, list[str]] = {}
        notes = []
        for metric in _RATES:
            asked_of = {
                **where,
                "within": "",
                "metric": metric,
                "operating_point": point,
                "definition": f"{_STANDARDISED}{name}",
            }
            rows = audit.groups.where(**asked_of).rows()
            for row in rows:
                crude = rates[row["group"]][metric, point]["value"]
                end = span(row["low"], row["high"], times=100)
                values = (percent(one).removesuffix(" %") for one in (crude, row["value"]))
                cells.setdefault(row["group"], []).extend([*values, row["reason"] or end])
                if row["note"] and not row["reason"]:
                    used = row["note"].partition("; ")[0].removeprefix("equal weights: ")
                    notes.append(f"{metric.upper()}: {used}")
        if cells:
            of = f" ({'; '.join(dict.fromkeys(notes))})" if notes else ""
            yield Sheet(
                f"At {point} with equal weight for each level of {name}{of}:",
                (
                    *("group", "FNR, %", "standardised", "[interval]"),
                    *("FPR, %", "standardised", "[interval]"),
                ),
                [(group, *told) for group, told in cells.items()],
            )
