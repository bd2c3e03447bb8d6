"""How groups fare and how sure that is: the answer in words, then every group's figures."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table as Grid

from parivox.auditing.options import parse_gates
from parivox.report.spread import spread
from parivox.report.words import GAP, Row, add, chance, grid, number, percent, short, span, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import RenderableType

    from parivox.auditing.result import Audit

    Rates = Mapping[str, Mapping[tuple[str, str], Row]]
    Judged = Mapping[str, Mapping[str, Row]]

__all__ = ["answer", "legend", "levels", "verdicts"]

_RATES = {"fnr": "locked out", "fpr": "impostors in"}
_VERDICTS = {
    "worse": ("worse", "red"),
    "better": ("better", "green"),
    "no_difference": ("no difference", ""),
    "cannot_tell": ("cannot tell", "dim"),
}
_BOTH = "fpr+fnr"
_MOST_TOLD = 10
"""Groups that differ whose figures stand under the answer, at each operating point."""
_IN_CLOSED_FORM = {"", "speakers", "zero-errors"}
_REFERENCE = "is the reference"
_SHORT = "interval may be short"


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
        for metric, words in _RATES.items():
            if _has(metric, at, rates):
                label = f"{words} ({metric.upper()})"
                by_sentence.setdefault(system[metric]["sentence"], []).append(label)
        for sentence, labels in by_sentence.items():
            add(made, labels[0] if len(labels) == 1 else "FNR and FPR", sentence)
        for group, figures in _differ(_judged(audit, asked), rates, at):
            add(made, group, figures)
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
    judged = _judged(audit, {**where, "within": "", "operating_point": at})
    told = "as decided" if point["threshold"] is None else f"threshold {point['threshold']:.6g}"
    yield text(f"Every group at {at}, {told}:", apart=True)
    for metric in _RATES:
        if _has(metric, at, rates):
            made = _every(metric, at, rates, judged.get(metric, {}))
            yield Padding(made, (0, 0, 0, 2))
        else:
            reasons = dict.fromkeys(one[metric, at]["reason"] for one in rates.values())
            yield text(f"No {metric.upper()}: {', '.join(reasons)}.")
    lacks = {group: found for group in rates if (found := _lacks(group, judged, rates, at))}
    if lacks:
        yield text(f"* under-represented: {_grouped(lacks)}.")
    yield from spread(audit, {**where, "within": "", "operating_point": at, "zero": "none"})


def legend(audit: Audit) -> str:
    """What stands in the tables of groups and of meta-measures, once for all of them."""
    options = audit.record["options"]
    against = "everyone else" if options["reference"][0] == "others" else options["reference"][0]
    gates = parse_gates(options["gate"])
    names = {row["interval"] for metric in _RATES for row in audit.groups.where(metric=metric)}
    how = ", ".join(sorted(names - _IN_CLOSED_FORM)) or "over speakers"
    at = "" if options["interval"] == "bootstrap" else ", at this threshold"
    return (
        "FNR: target trials rejected (locked out); FPR: nontarget trials accepted (impostors let "
        f"in); in %. In brackets: {100 * options['confidence']:g} % interval, {how}{at}; ~ perhaps "
        f"too short, as speakers differ much or are few. x: times {against}. p: adjusted by Holm "
        "for both rates of all groups. Cannot tell: perhaps alike, perhaps not; no difference: "
        f"shown to be below {options['margin']:g} times. * fewer than {gates.speakers} speakers, "
        f"{gates.errors} effective errors or {gates.pairs} pairs of speakers: kept out of the "
        "spread without *. Floor: what a fair system would show on these speakers, on average and "
        "at most in 95 %; p: how often as much. tau_log, the spread beyond that of speakers, is "
        "the one to quote. A floor not exceeded is no proof of fairness, as few speakers hide "
        "much; floors take speakers to vary alike in all groups."
    )


def levels(audit: Audit, where: Row, by_level: Mapping[str, Rates], point: str) -> Grid:
    """What is said of the groups within each level."""
    known = [m for m in _RATES if any(_has(m, point, rates) for rates in by_level.values())]
    heads = [head for metric in known for head in (metric.upper(), "groups that differ (x)")]
    made = grid("within", *heads, left=(0, 2, 4))
    made.columns[0].no_wrap = True
    for level, rates in by_level.items():
        judged = _judged(audit, {**where, "within": level, "operating_point": point})
        cells = []
        for metric in known:
            pooled = rates["pooled"][metric, point]
            interval = span(pooled["low"], pooled["high"], times=100)
            cells += [f"{percent(pooled['value'])} {interval}", _differing(judged.get(metric, {}))]
        add(made, level, *cells)
    return made


def _differing(judged: Mapping[str, Row]) -> str:
    """Which groups differ, and of how many it cannot be told."""
    if not judged:
        return "–"
    told = [
        f"{group} {row['verdict']} ({short(row['ratio'])})"
        for group, row in judged.items()
        if row["verdict"] in {"worse", "better"}
    ]
    unknown = sum(row["verdict"] == "cannot_tell" for row in judged.values())
    told += [f"cannot tell of {unknown}"] if unknown else []
    return "; ".join(told) or f"none by more than {next(iter(judged.values()))['margin']:g} times"


def _judged(audit: Audit, where: Row) -> dict[str, dict[str, Row]]:
    """Verdicts by metric and group."""
    found: dict[str, dict[str, Row]] = {}
    for row in audit.verdicts.where(**where).rows():
        if row["group"]:
            found.setdefault(row["metric"], {})[row["group"]] = row
    return found


def _differ(judged: Judged, rates: Rates, at: str) -> Iterator[tuple[str, str]]:
    """The groups that differ with their figures, those first that are furthest off."""
    differ = [group for group, row in judged[_BOTH].items() if row["verdict"] == "differs"]
    of = {group: {metric: rows[group] for metric, rows in judged.items()} for group in differ}
    differ.sort(key=lambda group: -_furthest(of[group]))
    for group in differ[:_MOST_TOLD]:
        yield group, _figures(of[group], rates[group], at)
    if len(differ) > _MOST_TOLD:
        yield "", f"and {len(differ) - _MOST_TOLD} more that differ"


def _furthest(judged: Mapping[str, Row]) -> float:
    """The larger of a group's ratios that count; all that are worse before all that are better."""
    told = [judged[metric] for metric in _RATES]
    return max(
        float(row["ratio"]) if row["verdict"] == "worse" else -float(row["ratio"])
        for row in told
        if row["verdict"] in {"worse", "better"}
    )


def _figures(judged: Mapping[str, Row], rates: Mapping[tuple[str, str], Row], at: str) -> str:
    """A group's joint sentence with the figures of what differs."""
    told = [
        f"{metric.upper()} {percent(rates[metric, at]['value'])}, {short(row['ratio'])} times "
        f"{span(row['low'], row['high'])}, p {chance(row['p_holm'])}"
        for metric in _RATES
        if (row := judged[metric])["verdict"] in {"worse", "better"}
    ]
    return f"{judged[_BOTH]['sentence']}: {'; '.join(told)}"


def _has(metric: str, at: str, rates: Rates) -> bool:
    """Whether any group has a rate."""
    return any(one[metric, at]["value"] is not None for one in rates.values())


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
        tilde = "~" if _SHORT in row["note"] else GAP
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
        if told["reason"] == _REFERENCE:
            add(made, group + mark, *cells, f"{GAP}1", "", "", "reference")
            continue
        words, style = _VERDICTS[told["verdict"]]
        ratio = (
            GAP + short(told["ratio"]),
            span(told["low"], told["high"]),
            GAP + chance(told["p_holm"]),
        )
        add(made, group + mark, *cells, *ratio, text(words, style=style))
    return made


def _lacks(group: str, judged: Judged, rates: Rates, at: str) -> str:
    """What a group has too little of, the plainest first."""
    gates = {
        metric: judged[metric][group]["gates"]
        for metric in _RATES
        if group in judged.get(metric, {}) and rates[group][metric, at]["value"] is not None
    }
    first = {metric: words.split("; ")[0] for metric, words in gates.items() if words}
    if len(set(first.values())) == 1 and (len(first) > 1 or "speakers" in gates[next(iter(first))]):
        (words, *_) = first.values()
        return str(words)
    return ", ".join(f"{words} of {m.upper()}" for m, words in first.items())


def _grouped(lacks: Mapping[str, str]) -> str:
    """Groups by what they lack."""
    order = sorted(lacks.items(), key=lambda pair: (_leading(pair[1]), pair[1], pair[0]))
    return "; ".join(
        f"{', '.join(group for group, _ in same)} ({words})"
        for words, same in groupby(order, key=lambda pair: pair[1])
    )


def _leading(words: str) -> tuple[bool, float]:
    """To order few speakers first, by how many."""
    first, _, rest = words.partition(" ")
    return not rest.startswith("speakers"), float(first)
