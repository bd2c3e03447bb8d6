"""What is said of groups, as the terminal and the page both say it: names, order, figures."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from parivox.auditing.options import parse_gates
from parivox.report.words import Row, chance, percent, short, span

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parivox.auditing.result import Audit

    Rates = Mapping[str, Mapping[tuple[str, str], Row]]
    Judged = Mapping[str, Mapping[str, Row]]

__all__ = [
    "BOTH",
    "INTERVAL_IS_SHORT",
    "IS_REFERENCE",
    "RATES",
    "VERDICTS",
    "differing",
    "differing_told",
    "figures",
    "gated",
    "gates_told",
    "grouped",
    "has_rate",
    "judged",
    "lacks",
    "others_told",
    "rates_of",
]

RATES = {"fnr": "locked out", "fpr": "impostors in"}
"""Both error rates as a person experiences them."""
VERDICTS = {
    "worse": "worse",
    "better": "better",
    "no_difference": "no difference",
    "cannot_tell": "cannot tell",
}
BOTH = "fpr+fnr"
IS_REFERENCE = "is the reference"
INTERVAL_IS_SHORT = "interval may be short"


def rates_of(audit: Audit, where: Row) -> dict[str, dict[tuple[str, str], Row]]:
    """Rates of each group by metric and operating point."""
    found: dict[str, dict[tuple[str, str], Row]] = {}
    for metric in ("fpr", "fnr"):
        for row in audit.groups.where(**where, metric=metric, definition="").rows():
            found.setdefault(row["group"], {})[metric, row["operating_point"]] = row
    return found


def judged(audit: Audit, where: Row) -> dict[str, dict[str, Row]]:
    """Verdicts by metric and group."""
    found: dict[str, dict[str, Row]] = {}
    for row in audit.verdicts.where(**where).rows():
        if row["group"]:
            found.setdefault(row["metric"], {})[row["group"]] = row
    return found


def gated(audit: Audit, where: Row) -> set[str]:
    """Groups that are too small to count, for either error."""
    rows = audit.verdicts.where(**where).rows()
    return {row["group"] for row in rows if row["group"] and row["gates"]}


def differing(of: Judged) -> list[str]:
    """The groups that differ, those first that are furthest off."""
    differ = [group for group, row in of[BOTH].items() if row["verdict"] == "differs"]
    own = {group: {metric: rows[group] for metric, rows in of.items()} for group in differ}
    return sorted(differ, key=lambda group: -_furthest(own[group]))


def differing_told(of: Mapping[str, Row]) -> str:
    """Which groups differ, and of how many it cannot be told."""
    if not of:
        return "–"
    told = [
        f"{group} {row['verdict']} ({short(row['ratio'])})"
        for group, row in of.items()
        if row["verdict"] in {"worse", "better"}
    ]
    unknown = sum(row["verdict"] == "cannot_tell" for row in of.values())
    told += [f"cannot tell of {unknown}"] if unknown else []
    return "; ".join(told) or f"none by more than {next(iter(of.values()))['margin']:g} times"


def _furthest(own: Mapping[str, Row]) -> float:
    """The larger of a group's ratios that count; all that are worse before all that are better."""
    told = [own[metric] for metric in RATES]
    return max(
        float(row["ratio"]) if row["verdict"] == "worse" else -float(row["ratio"])
        for row in told
        if row["verdict"] in {"worse", "better"}
    )


def figures(of: Judged, group: str, rates: Rates, at: str) -> str:
    """A group's joint sentence with the figures of what differs."""
    told = [
        f"{metric.upper()} {percent(rates[group][metric, at]['value'])}, {short(row['ratio'])} "
        f"times {span(row['low'], row['high'])}, p {chance(row['p_holm'])}"
        for metric in RATES
        if (row := of[metric][group])["verdict"] in {"worse", "better"}
    ]
    return f"{of[BOTH][group]['sentence']}: {'; '.join(told)}"


def has_rate(metric: str, at: str, rates: Rates) -> bool:
    """Whether any group has a rate."""
    return any(one[metric, at]["value"] is not None for one in rates.values())


def lacks(of: Judged, rates: Rates, at: str) -> dict[str, str]:
    """What each under-represented group has too little of, the plainest first."""
    found = {group: _lacking(group, of, rates, at) for group in rates}
    return {group: words for group, words in found.items() if words}


def _lacking(group: str, of: Judged, rates: Rates, at: str) -> str:
    gates = {
        metric: of[metric][group]["gates"]
        for metric in RATES
        if group in of.get(metric, {}) and rates[group][metric, at]["value"] is not None
    }
    first = {metric: words.split("; ")[0] for metric, words in gates.items() if words}
    if len(set(first.values())) == 1 and (len(first) > 1 or "speakers" in gates[next(iter(first))]):
        (words, *_) = first.values()
        return str(words)
    return ", ".join(f"{words} of {m.upper()}" for m, words in first.items())


def grouped(lacking: Mapping[str, str]) -> str:
    """Groups by what they lack."""
    order = sorted(lacking.items(), key=lambda pair: (_leading(pair[1]), pair[1], pair[0]))
    return "; ".join(
        f"{', '.join(group for group, _ in same)} ({words})"
        for words, same in groupby(order, key=lambda pair: pair[1])
    )


def _leading(words: str) -> tuple[bool, float]:
    """To order few speakers first, by how many."""
    first, _, rest = words.partition(" ")
    return not rest.startswith("speakers"), float(first)


def others_told(audit: Audit) -> str:
    """Whom groups are compared with."""
    reference = str(audit.record["options"]["reference"][0])
    return {"others": "everyone else", "pooled": "everyone together"}.get(reference, reference)


def gates_told(audit: Audit) -> str:
    """What a group must have to count."""
    gates = parse_gates(audit.record["options"]["gate"])
    return (
        f"fewer than {gates.speakers} speakers, {gates.errors} effective errors or {gates.pairs} "
        "pairs of speakers"
    )
