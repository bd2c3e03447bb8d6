"""Releases compared, in words: which is better, for whom; by how much a rate grows with each."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from rich.console import group

from parivox.decide.releases import GONE, NEW, PAIRED, UNPAIRED
from parivox.report.audit_queries import ERROR_TYPES, POOLED, VERDICTS, system_label
from parivox.report.sheets.sheet import Cell, Sheet, terminal_table
from parivox.report.words import (
    capitalised,
    interval_text,
    p_value,
    p_value_cell,
    percent,
    print_text,
    short_number,
    shortened_names,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from parivox.decide.releases import Comparison

    Row = dict[str, Any]

_MOST, _MOST_NAMED = 20, 6
_HOW = {
    PAIRED: "the same trials, so paired",
    UNPAIRED: "not known to be the same trials, so unpaired: intervals are wider",
}


def print_comparison(found: Comparison) -> None:
    """Print it: with colours in a terminal, plain lines elsewhere."""
    print_text(comparison_in_words(found))


@group()
def comparison_in_words(found: Comparison) -> Iterator[RenderableType]:
    """Of each pair of releases the answer, and the groups that changed; trends."""
    families: dict[tuple[str, ...], list[Row]] = {}
    for row in found.changes.rows():
        key = tuple(row[name] for name in ("before", "release", "system", "list"))
        families.setdefault(key, []).append(row)
    several = len({key[2:] for key in families}) > 1
    for i, ((before, release, system, list_), rows) in enumerate(families.items()):
        of = f", {system_label(system, list_)}" if several else ""
        yield from _pair(f"{release} against {before}{of}", rows, apart=i > 0)
    for words in changed_groups_in_words(found.record["changed_groups"]):
        yield text(words, apart=True)
    if len(found.trends):
        yield from _trend(found.trends.rows())


def changed_groups_in_words(changes: Sequence[Row]) -> Iterator[str]:
    """Yield, for each grouping, how many people changed group between two audits."""
    for change in changes:
        groups = ", ".join(shortened_names(change["groups"], most=_MOST_NAMED))
        n = change["at_least"]
        people = "speaker" if n == 1 else "speakers"
        yield (
            f"Between {change['before']} and {change['release']}, at least {n:,} {people} changed "
            f"group by {change['grouping']}: the rates of {groups} are compared unpaired, as they "
            "are of different speakers."
        )


def _pair(title: str, rows: Sequence[Row], *, apart: bool) -> Iterator[RenderableType]:
    at = rows[0]["operating_point"]
    here = [row for row in rows if row["operating_point"] == at]
    whole = [row for row in here if row["grouping"] == "all"]
    groups = [row for row in here if row["grouping"] != "all" and row["group"] != POOLED]
    for metric, happens in ERROR_TYPES.items():
        if not at.startswith(f"{metric}="):
            everyone = [_of_everyone(row) for row in whole if row["metric"] == metric]
            n = Counter(row["verdict"] for row in groups if row["metric"] == metric)
            told = ", ".join(f"{n[code]} {words}" for code, words in VERDICTS.items() if n[code])
            words = f"{title}: {happens}, all trials: {', '.join(everyone)}. Groups: {told}."
            yield text(words, style="bold", apart=apart)
            continue
        n = Counter(row["verdict"] for row in groups if row["metric"] == metric)
        told = ", ".join(f"{n[code]} {words}" for code, words in VERDICTS.items() if n[code])
        yield text(f"{capitalised(happens)}: the pooled rate is fixed by {at}. Groups: {told}.")
    yield text(f"At {at}; {_how_paired(here)}.")
    sheet = _changed(groups)
    if sheet.rows:
        yield text("")
        yield from terminal_table(sheet, lines_above=1)
    for code, words in ((NEW, "New groups"), (GONE, "Groups that are gone")):
        names = list(dict.fromkeys(row["group"] for row in here if row["pairing"] == code))
        if names:
            yield text(
                f"{words}: {', '.join(shortened_names(names, most=_MOST_NAMED))}.", apart=True
            )
    more = list(dict.fromkeys(row["operating_point"] for row in rows))[1:]
    if more:
        yield text(f"At {', '.join(more)}: --json.", apart=True)


def _how_paired(rows: Sequence[Row]) -> str:
    """Return whether rates are paired; where only some groups are, which are not."""
    pairings = {row["pairing"] for row in rows} & {*_HOW}
    if len(pairings) < 2:
        return "; ".join(_HOW[one] for one in pairings)
    unpaired = dict.fromkeys(row["group"] for row in rows if row["pairing"] == UNPAIRED)
    names = ", ".join(shortened_names(list(unpaired), most=_MOST_NAMED))
    return f"{_HOW[PAIRED]}, except {names}, whose intervals are wider"


def _of_everyone(row: Row) -> str:
    if row["log_low"] is None:
        return f"{percent(row['other'])} to {percent(row['value'])} ({row['reason']})"
    return (
        f"{percent(row['other'])} to {percent(row['value'])}, difference "
        f"{100 * row['difference']:+.2f} points [{100 * row['low']:.2f}, {100 * row['high']:.2f}]"
    )


def _changed(groups: Sequence[Row]) -> Sheet:
    """Groups that got worse, then those that got better, the most changed first."""
    from math import exp  # noqa: PLC0415

    sheet = Sheet.with_heads(
        "Groups that changed (Holm over groups and both errors of a grouping):",
        ("group", "error", "before", "now", "times", "p"),
        words=(1, 2),
    )
    order = {"worse": 0, "better": 1}
    known = [row for row in groups if row["verdict"] in order and row["log_low"] is not None]
    known.sort(key=lambda row: (order[row["verdict"]], -abs(row["log_ratio"])))
    for row in known[:_MOST]:
        times = interval_text(exp(row["log_low"]), exp(row["log_high"]))
        sheet.add(
            row["group"],
            ERROR_TYPES[row["metric"]],
            percent(row["other"]),
            percent(row["value"]),
            Cell(f"{short_number(exp(row['log_ratio']))} {times}", verdict=row["verdict"]),
            p_value_cell(row["p_holm"]),
        )
    return sheet


def _trend(rows: Sequence[Row]) -> Iterator[RenderableType]:
    at = rows[0]["operating_point"]
    here = [
        row
        for row in rows
        if row["operating_point"] == at and row["verdict"] in {"worse", "better"}
        and row["group"] != POOLED
    ]  # fmt: skip
    n = rows[0]["releases"]
    yield text(f"Over {n} releases, at {at}, times with each:", style="bold", apart=True)
    here.sort(key=lambda row: -row["per_release"])
    for row in here[:_MOST]:
        times = f"{short_number(row['per_release'])} {interval_text(row['low'], row['high'])}"
        words = f"{row['group']}, {ERROR_TYPES[row['metric']]}: {VERDICTS[row['verdict']]}, {times}"
        yield text(f"{words}, {p_value(row['p_holm'])}")
    if not here:
        yield text("No group is shown to have a trend.")
