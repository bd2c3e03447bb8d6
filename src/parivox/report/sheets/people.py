"""Tables of what lies beside error rates: failed recordings, people, attempts, equal weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.report.audit_queries import ERROR_TYPES, POOLED
from parivox.report.sheets.sheet import UNDEFINED, Cell, Sheet
from parivox.report.words import interval_text, percent, share_of_speakers, short_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parivox.auditing import Audit
    from parivox.report.audit_queries import Rates
    from parivox.report.words import Row

_RULES = {
    "attempts": "each of their trials is an attempt",
    "shares": "by the share of recordings that failed, as the list holds none of their trials",
}
_FAILED = ("fte", "fta")
_MOST_CAUSES = 24
"""Rows of reasons that are shown; of more, those of all groups together."""
_MOST = 10_000
"""People and impostors are told of so many."""


def failures(audit: Audit, where: Row, rates: Rates, point: str) -> Iterator[Sheet]:
    """Failures to enrol and to acquire, the rates that count them, and how long trials took."""
    of: dict[str, dict[str, Row]] = {group: {} for group in rates}
    for metric, at in (("fte", ""), ("fta", ""), ("seconds", ""), ("frr", point), ("far", point)):
        asked = {**where, "within": "", "metric": metric, "operating_point": at}
        for row in audit.groups.where(**asked).rows():
            of[row["group"]][f"{metric} {row['definition']}".strip()] = row
    known = of[next(iter(rates))]
    if "fte" in known:
        attempted = [rows.get("frr attempts", {}).get("value") for rows in of.values()]
        rule = "shares" if all(value is None for value in attempted) else "attempts"
        yield _rates(of, {"fte": "to enrol (FTE)", "fta": "to acquire (FTA)"}, "Failures {}")
        yield from _causes(audit, where, list(of))
        how = f"{{}}: recordings that could not be acquired are rejections ({_RULES[rule]})"
        yield _rates(of, {f"frr {rule}": "FRR", f"far {rule}": "FAR"}, how)
    if "seconds mean" in known:
        timed = []
        for group, rows in of.items():
            values = [rows[f"seconds {name}"]["value"] for name in ("mean", "q50", "q95")]
            seconds = (UNDEFINED if value is None else f"{value:.3g}" for value in values)
            timed.append((group, f"{rows['seconds mean']['trials']:,}", *seconds))
        heads = ("group", "trials timed", "mean s", "median s", "95 % within s")
        yield Sheet.with_heads("", heads, timed)


def _rates(of: Mapping[str, Mapping[str, Row]], metrics: Mapping[str, str], title: str) -> Sheet:
    """Rates of each group, those of failures with their counts; of those no group has, why."""
    lacking: dict[str, list[str]] = {}
    known, heads = [], ["group"]
    for metric in metrics:
        rows = [one[metric] for one in of.values()]
        name = metric.partition(" ")[0].upper()
        if any(row["value"] is not None for row in rows):
            known.append(metric)
            heads += [name, "[interval]", *(["failed / tried"] if metric in _FAILED else [])]
        else:
            why = "; ".join(dict.fromkeys(row["reason"] for row in rows))
            lacking.setdefault(why, []).append(name)
    lacks = " ".join(f"No {' and no '.join(names)}: {why}." for why, names in lacking.items())
    if not known:
        return Sheet.with_heads(lacks, ("group",))
    title = title.format(" and ".join(metrics[metric] for metric in known))
    return Sheet.with_heads(
        f"{title}. {lacks}" if lacks else f"{title}:",
        heads,
        [
            (group, *(cell for metric in known for cell in _with_interval(rows[metric])))
            for group, rows in of.items()
        ],
    )


def _causes(audit: Audit, where: Row, groups: Sequence[str]) -> Iterator[Sheet]:
    """Why recordings failed, of each group or, where these are many, of all together."""
    asked = {name: where[name] for name in ("system", "list", "grouping")}
    table = audit.failures.where(**asked).rows()
    rows = [row for group in groups for row in table if row["group"] == group]
    title = "Why they failed:"
    if len(rows) > _MOST_CAUSES:
        rows = [row for row in rows if row["group"] == POOLED]
        title = "Why they failed, all groups together (failures.csv has each):"
    if rows:
        yield Sheet.with_heads(
            title,
            ("group", "at", "reason", "failed / tried", "share", "[interval]"),
            [
                (
                    row["group"],
                    row["stage"],
                    row["cause"] or "none given",
                    f"{row['failed']:,} / {row['tried']:,}",
                    percent(row["value"]),
                    interval_text(row["low"], row["high"], times=100),
                )
                for row in rows
            ],
            words=(1, 2, 3),
        )


def _with_interval(row: Row) -> Iterator[str | Cell]:
    """A rate, its interval and, of a share of failures, its counts."""
    if row["value"] is None:
        yield Cell(UNDEFINED, reason=row["reason"])
    else:
        yield percent(row["value"])
    yield interval_text(row["low"], row["high"], times=100)
    if row["metric"] in _FAILED:
        yield "" if row["value"] is None else f"{row['errors']:,} / {row['trials']:,}"


def speaker_errors(audit: Audit, where: Row, point: str) -> Iterator[Sheet]:
    """Whether errors are everyone's sometimes or some people's always."""
    table = audit.limits.where(**{**where, "within": "", "operating_point": point})
    worst, equal = (
        {row["group"]: row["value"] for row in table.where(measure=measure).rows()}
        for measure in ("worst_tenth", "worst_tenth_if_equal")
    )
    above = table.where(measure="speakers_above").rows()
    for limit in dict.fromkeys(row["limit"] for row in above):
        yield Sheet.with_heads(
            f"Speakers at {point}: share whose own FNR is above the limit (noise of few trials "
            "removed), and of the false rejects the share of those with the most:",
            (
                *("group", f"FNR above {percent(limit)}", "[interval]"),
                *("worst tenth carries", "if all were alike"),
            ),
            [
                (
                    row["group"],
                    row["reason"] or share_of_speakers(row["value"]),
                    interval_text(row["low"], row["high"], times=100),
                    share_of_speakers(worst[row["group"]]),
                    share_of_speakers(equal[row["group"]]),
                )
                for row in above
                if row["limit"] == limit
            ],
        )


def attempts(audit: Audit, where: Row, point: str) -> Iterator[Sheet]:
    """What several attempts do: people locked out, impostors let in."""
    table = audit.limits.where(**{**where, "within": "", "operating_point": point})
    of: dict[str, list[str]] = {}
    for measure in ("locked_out", "locked_out_people", "impostors_in", "attempts_until"):
        times = 1 if measure == "attempts_until" else _MOST
        for row in table.where(measure=measure).rows():
            value = None if row["value"] is None else times * row["value"]
            is_many = value is not None and value >= _MOST - 1
            cells = of.setdefault(row["group"], [])
            cells.append(f"{value:,.0f}" if is_many else short_number(value))
            if measure != "locked_out_people":
                cells.append(interval_text(row["low"], row["high"], times=times))
    if of:
        yield Sheet.with_heads(
            f"Per {_MOST:,} in {audit.record['options']['attempts']} attempts at {point}, if "
            "attempts are independent: people locked out (alike, or differing as these speakers "
            "do), impostors let in. Last: attempts until an impostor is let in with 95 % "
            "probability.",
            (
                *("group", "locked out", "[interval]", "people differ"),
                *("let in", "[interval]", "attempts", "[interval]"),
            ),
            [(group, *cells) for group, cells in of.items()],
        )


def standardised_rates(
    audit: Audit, where: Row, rates: Rates, point: str, attributes: Sequence[str]
) -> Iterator[Sheet]:
    """Rates with equal weight for every level of an attribute, beside the crude ones."""
    for name in attributes:
        cells: dict[str, list[str]] = {}
        notes = []
        asked = {**where, "within": "", "operating_point": point}
        table = audit.groups.where(**asked, definition=f"standardised {name}")
        for metric in ERROR_TYPES:
            for row in table.where(metric=metric).rows():
                crude = rates[row["group"]][metric, point]["value"]
                interval = interval_text(row["low"], row["high"], times=100)
                values = (percent(one).removesuffix(" %") for one in (crude, row["value"]))
                cells.setdefault(row["group"], []).extend([*values, row["reason"] or interval])
                if row["note"] and not row["reason"]:
                    weights = row["note"].partition("; ")[0].removeprefix("equal weights: ")
                    notes.append(f"{metric.upper()}: {weights}")
        if cells:
            of = f" ({'; '.join(dict.fromkeys(notes))})" if notes else ""
            yield Sheet.with_heads(
                f"At {point} with equal weight for each level of {name}{of}:",
                (
                    *("group", "FNR, %", "standardised", "[interval]"),
                    *("FPR, %", "standardised", "[interval]"),
                ),
                [(group, *figures) for group, figures in cells.items()],
            )
