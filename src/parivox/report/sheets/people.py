"""Tables of what lies beside error rates: failed recordings, people, attempts, equal weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.report.scopes import RATES
from parivox.report.sheets.sheet import Sheet
from parivox.report.words import percent, short, span

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from parivox.auditing.result import Audit
    from parivox.report.scopes import Rates
    from parivox.report.words import Row

_SHARES, _ATTEMPTS = ("fte", "fta"), ("frr", "far")
_RULES = {
    "attempts": "each of their trials is an attempt",
    "shares": "by the share of recordings that failed, as the list holds none of their trials",
}
_MOST = 10_000
"""People and impostors are told of so many."""


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
            shares.append(
                (group, *(cell for metric in _SHARES for cell in _share_with_counts(one[metric])))
            )
            rows = [one[f"{metric} {rule}"] for metric in _ATTEMPTS]
            ends = [(percent(row["value"]), _interval(row)) for row in rows]
            rejected.append((group, *ends[0], *ends[1]))
        yield Sheet.headed(
            "Failures to enrol (FTE) and to acquire (FTA):",
            (
                *("group", "FTE", "[interval]", "failed / tried"),
                *("FTA", "[interval]", "failed / tried"),
            ),
            shares,
        )
        yield Sheet.headed(
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
        yield Sheet.headed(
            "", ("group", "trials timed", "mean s", "median s", "95 % within s"), timed
        )


def _share_with_counts(row: Row) -> tuple[str, str, str]:
    """A share of failures, its interval and its counts."""
    if row["value"] is None:
        return "–", "–", row["reason"]
    return percent(row["value"]), _interval(row), f"{row['errors']:,} / {row['trials']:,}"


def _interval(row: Row) -> str:
    return span(row["low"], row["high"], times=100)


def people(audit: Audit, where: Row, point: str) -> Iterator[Sheet]:
    """Whether errors are everyone's sometimes or some people's always."""
    asked = {**where, "within": "", "operating_point": point}
    worst, equal = (
        {row["group"]: row for row in audit.limits.where(**asked, measure=measure).rows()}
        for measure in ("worst_tenth", "worst_tenth_if_equal")
    )
    above: dict[float, dict[str, Row]] = {}
    for row in audit.limits.where(**asked, measure="speakers_above").rows():
        above.setdefault(row["limit"], {})[row["group"]] = row
    for limit, rows in above.items():
        made = [
            (
                group,
                row["reason"] or _share(row["value"]),
                span(row["low"], row["high"], times=100),
                *(_share(one[group]["value"]) for one in (worst, equal)),
            )
            for group, row in rows.items()
        ]
        yield Sheet.headed(
            f"Speakers at {point}: share whose own FNR is above the limit (noise of few trials "
            "removed), and of the false rejects the share of those with the most:",
            (
                *("group", f"FNR above {percent(limit)}", "[interval]"),
                *("worst tenth carries", "if all were alike"),
            ),
            made,
        )


def attempts(audit: Audit, where: Row, point: str) -> Iterator[Sheet]:
    """What several attempts do: people locked out, impostors let in."""
    asked = {**where, "within": "", "operating_point": point}
    columns = ("locked_out", "locked_out_people", "impostors_in", "attempts_until")
    found = {
        measure: {row["group"]: row for row in audit.limits.where(**asked, measure=measure).rows()}
        for measure in columns
    }
    if not found["locked_out"]:
        return
    made = []
    for group in found["locked_out"]:
        cells = []
        for measure in columns:
            row = found[measure][group]
            times = 1 if measure == "attempts_until" else _MOST
            value = row["value"]
            cells.append("–" if value is None else _of_many(times * value))
            if measure != "locked_out_people":
                cells.append(span(row["low"], row["high"], times=times))
        made.append((group, *cells))
    n = audit.record["options"]["attempts"]
    yield Sheet.headed(
        f"Per {_MOST:,} in {n} attempts at {point}, if attempts are independent: people locked out "
        "(alike, or differing as these speakers do), impostors let in. Last: attempts until an "
        "impostor is let in with 95 % probability.",
        (
            *("group", "locked out", "[interval]", "people differ"),
            *("let in", "[interval]", "attempts", "[interval]"),
        ),
        made,
    )


def _of_many(count: float) -> str:
    return f"{count:,.0f}" if count >= _MOST - 1 else short(count)


def _share(value: float | None) -> str:
    """A share of people, who are too few for more digits."""
    return "–" if value is None else f"{100 * value:.0f} %"


def standardised(
    audit: Audit, where: Row, rates: Rates, point: str, asked: Sequence[str]
) -> Iterator[Sheet]:
    """Rates with equal weight for every level of an attribute, beside the crude ones."""
    for name in asked:
        cells: dict[str, list[str]] = {}
        notes = []
        for metric in RATES:
            asked_of = {
                **where,
                "within": "",
                "metric": metric,
                "operating_point": point,
                "definition": f"standardised {name}",
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
            yield Sheet.headed(
                f"At {point} with equal weight for each level of {name}{of}:",
                (
                    *("group", "FNR, %", "standardised", "[interval]"),
                    *("FPR, %", "standardised", "[interval]"),
                ),
                [(group, *told) for group, told in cells.items()],
            )
