"""Limits, and the people behind the errors: whom they fall on, who is locked out, who gets in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.report.sheet import Sheet
from parivox.report.words import Row, percent, short, span

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from parivox.auditing.result import Audit

__all__ = ["attempts", "limits", "people", "tenth"]

_VERDICTS = {"met": "met", "not_met": "not met", "cannot_tell": "cannot tell"}
_MOST = 10_000
"""People and impostors are told of so many."""


def limits(audit: Audit, where: Row, points: Sequence[Row]) -> Iterator[str]:
    """Which groups meet each limit at each point, and of which it cannot be told."""
    for point in points:
        at = point["operating_point"]
        asked = {**where, "within": "", "measure": "limit", "operating_point": at}
        by_limit: dict[tuple[str, float], list[Row]] = {}
        for row in audit.limits.where(**asked).rows():
            by_limit.setdefault((row["metric"], row["limit"]), []).append(row)
        for (metric, limit), rows in by_limit.items():
            told = []
            for code, words in _VERDICTS.items():
                names = [
                    f"{row['group']} ({percent(row['value'])} "
                    f"{span(row['low'], row['high'], times=100)})"
                    if code == "not_met"
                    else row["group"]
                    for row in rows
                    if row["verdict"] == code
                ]
                if names:
                    told.append(f"{words}: {', '.join(names)}")
            yield f"Limit of {percent(limit)} on {metric.upper()} at {at}: {'; '.join(told)}."


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
        yield Sheet(
            f"Speakers at {point}: share whose own FNR is above the limit (noise of few trials "
            "removed), and of the false rejects the share of those with the most:",
            (
                *("group", f"FNR above {percent(limit)}", "[interval]"),
                *("worst tenth carries", "if all were alike"),
            ),
            made,
        )


def tenth(audit: Audit, where: Row, point: str) -> Iterator[str]:
    """Of the pooled false rejects, the share of the speakers with the most."""
    asked = {**where, "within": "", "operating_point": point, "group": "pooled"}
    worst, equal = (
        [row["value"] for row in audit.limits.where(**asked, measure=measure).rows()]
        for measure in ("worst_tenth", "worst_tenth_if_equal")
    )
    if worst and worst[0] is not None:
        yield (
            f"A tenth of the speakers carries {_share(worst[0])} of the false rejects at "
            f"{point}; it would be {_share(equal[0])} if all were alike."
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
    yield Sheet(
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
