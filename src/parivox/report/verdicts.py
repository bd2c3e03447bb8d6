"""How groups fare and how sure that is: the answer in words, then every group's figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table as Grid

from parivox.report.judged import (
    INTERVAL_IS_SHORT,
    IS_REFERENCE,
    RATES,
    VERDICTS,
    differing,
    differing_told,
    figures,
    gates_told,
    grouped,
    has_rate,
    judged,
    lacks,
    others_told,
)
from parivox.report.spread import spread
from parivox.report.words import GAP, Row, add, chance, grid, number, percent, short, span, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import RenderableType

    from parivox.auditing.result import Audit

    Rates = Mapping[str, Mapping[tuple[str, str], Row]]

__all__ = ["answer", "legend", "levels", "verdicts"]

_STYLES = {"worse": "red", "better": "green", "no_difference": "", "cannot_tell": "dim"}
_MOST_TOLD = 10
"""Groups that differ whose figures stand under the answer, at each operating point."""
_IN_CLOSED_FORM = {"", "speakers", "zero-errors"}


def answer(
    audit: Audit, where: Row, rates: Rates, points: Sequence[Row]
) -> Iterator[RenderableType]:
    """The verdict on the system at each point, and on the groups that differ."""
    for point in points:
        if point["reason"]:
            continue
        at = point["operating_point"]
        asked = {**where, "within": "", "operating_point": at}
        system = {row["metric"]: row for row in audit.verdicts.where(**asked, group="").rows()}
        if not system:
            reference = audit.record["options"]["reference"][0]
            yield text(f"At {at}: no verdicts, as {reference} is no group of this grouping.")
            continue
        yield text(f"At {at}:", style="bold")
        made = Grid(box=None, show_header=False, pad_edge=False, collapse_padding=True)
        made.add_column(no_wrap=True, max_width=30)
        made.add_column()
        by_sentence: dict[str, list[str]] = {}
        for metric, words in RATES.items():
            if has_rate(metric, at, rates):
                label = f"{words} ({metric.upper()})"
                by_sentence.setdefault(system[metric]["sentence"], []).append(label)
        for sentence, labels in by_sentence.items():
            add(made, labels[0] if len(labels) == 1 else "FNR and FPR", sentence)
        of = judged(audit, asked)
        differ = differing(of)
        for group in differ[:_MOST_TOLD]:
            add(made, group, figures(of, group, rates, at))
        if len(differ) > _MOST_TOLD:
            add(made, "", f"and {len(differ) - _MOST_TOLD} more that differ")
        yield Padding(made, (0, 0, 0, 2))


def verdicts(audit: Audit, where: Row, rates: Rates, point: Row) -> Iterator[RenderableType]:
    """Every group's figures at one point, of a grouping whose rates have intervals.

    Parameters
    ----------
    audit
        Its verdicts and meta-measures are read.
    where
        System, list, grouping, allocation.
    rates
        By group, and by metric and operating point; the row of all of them is called pooled.
    point
        The first operating point that has a threshold.
    """
    at = point["operating_point"]
    of = judged(audit, {**where, "within": "", "operating_point": at})
    told = "as decided" if point["threshold"] is None else f"threshold {point['threshold']:.6g}"
    yield text(f"Every group at {at}, {told}:", apart=True)
    for metric in RATES:
        if has_rate(metric, at, rates):
            made = _every(metric, at, rates, of.get(metric, {}))
            yield Padding(made, (0, 0, 0, 2))
        else:
            reasons = dict.fromkeys(one[metric, at]["reason"] for one in rates.values())
            yield text(f"No {metric.upper()}: {', '.join(reasons)}.")
    lacking = lacks(of, rates, at)
    if lacking:
        yield text(f"* under-represented: {grouped(lacking)}.")
    yield from spread(audit, {**where, "within": "", "operating_point": at, "zero": "none"})


def legend(audit: Audit) -> str:
    """What stands in the tables of groups and of meta-measures, once for all of them."""
    options = audit.record["options"]
    names = {row["interval"] for metric in RATES for row in audit.groups.where(metric=metric)}
    how = ", ".join(sorted(names - _IN_CLOSED_FORM)) or "over speakers"
    at = "" if options["interval"] == "bootstrap" else ", at this threshold"
    return (
        "FNR: target trials rejected (locked out); FPR: nontarget trials accepted (impostors let "
        f"in); in %. In brackets: {100 * options['confidence']:g} % interval, {how}{at}; ~ perhaps "
        f"too short, as speakers differ much or are few. x: times {others_told(audit)}. p: "
        "adjusted by Holm for both rates of all groups. Cannot tell: perhaps alike, perhaps not; "
        "no difference: "
        f"shown to be below {options['margin']:g} times. * {gates_told(audit)}: kept out of the "
        "spread without *. Floor: what a fair system would show on these speakers, on average and "
        "at most in 95 %; p: how often as much. tau_log, the spread beyond that of speakers, is "
        "the one to quote. A floor not exceeded is no proof of fairness, as few speakers hide "
        "much; floors take speakers to vary alike in all groups."
    )


def levels(audit: Audit, where: Row, by_level: Mapping[str, Rates], point: str) -> Grid:
    """What is said of the groups within each level."""
    known = [m for m in RATES if any(has_rate(m, point, rates) for rates in by_level.values())]
    heads = [head for metric in known for head in (metric.upper(), "groups that differ (x)")]
    made = grid("within", *heads, left=(0, 2, 4))
    made.columns[0].no_wrap = True
    for level, rates in by_level.items():
        of = judged(audit, {**where, "within": level, "operating_point": point})
        cells = []
        for metric in known:
            pooled = rates["pooled"][metric, point]
            interval = span(pooled["low"], pooled["high"], times=100)
            cells += [f"{percent(pooled['value'])} {interval}", differing_told(of.get(metric, {}))]
        add(made, level, *cells)
    return made


def _every(metric: str, at: str, rates: Rates, judged: Mapping[str, Row]) -> Grid:
    """Every group's rate, ratio and verdict."""
    name = metric.upper()
    made = grid(
        *("group", "speakers", name, f"[ ]{GAP}", f"{GAP}errors/trials"),
        *(f"{GAP}x", "[ ]", f"{GAP}p", "verdict"),
        left=(0, 8),
        fixed=tuple(range(1, 9)),
    )
    order = sorted(rates, key=lambda g: (g == "pooled", -(rates[g][metric, at]["value"] or -1)))
    for group in order:
        row, told = rates[group][metric, at], judged.get(group)
        mark = "*" if told and told["gates"] else ""
        tilde = "~" if INTERVAL_IS_SHORT in row["note"] else GAP
        rate = "–" if row["value"] is None else percent(row["value"]).removesuffix(" %")
        counts = row["reason"]
        if row["value"] is not None:
            counts = f"{row['errors']:,}/{row['trials']:,}"
        cells = [
            *(number(row["speakers"]), rate),
            *(span(row["low"], row["high"], times=100) + tilde, GAP + counts),
        ]
        if told is None:
            add(made, group, *cells, "", "", "", "", dim=group == "pooled")
            continue
        if told["reason"] == IS_REFERENCE:
            add(made, group + mark, *cells, f"{GAP}1", "", "", "reference")
            continue
        verdict = text(VERDICTS[told["verdict"]], style=_STYLES[told["verdict"]])
        ratio = (
            GAP + short(told["ratio"]),
            span(told["low"], told["high"]),
            GAP + chance(told["p_holm"]),
        )
        add(made, group + mark, *cells, *ratio, verdict)
    return made
