"""Which groups a system finds harder, each at a threshold of its own."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table as Grid

from parivox.report.words import Row, add, chance, percent, short, span, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import RenderableType

    from parivox.auditing.result import Audit

__all__ = ["own_thresholds", "own_told"]

_PAIR = 2
_REFERENCES = {
    "macro": "the mean group",
    "geomean": "the geometric mean of the groups",
    "pooled": "everyone together",
}
_MOST_TOLD = 6
"""Groups that differ whose figures are told."""


def own_thresholds(audit: Audit, where: Row) -> Iterator[RenderableType]:
    """Each group's own EER, as the terminal shows it."""
    made = Grid(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    made.add_column(no_wrap=True, max_width=30)
    made.add_column()
    for words, sentence in own_told(audit, where):
        add(made, words, sentence)
    if made.row_count:
        yield text(
            "At a threshold of each group's own (EER), to see whom the system finds harder:",
            style="bold",
        )
        yield Padding(made, (0, 0, 0, 2))


def own_told(audit: Audit, where: Row) -> Iterator[tuple[str, str]]:
    """Each group's own EER: how hard it is, whatever one threshold for all does to it."""
    options = audit.record["options"]
    asked = {**where, "within": "", "metric": "eer", "definition": options["eer"][0]}
    rows = [row for row in audit.groups.where(**asked).rows() if row["group"] != "pooled"]
    known = sorted((r for r in rows if r["high"] is not None), key=lambda row: -row["value"])
    wanted = "geomean" if len(rows) == _PAIR else "macro"
    ratios: dict[str, dict[str, Row]] = {}
    for row in audit.bias.where(**asked, measure="ratio", zero="none").rows():
        if row["high"] is not None:
            ratios.setdefault(row["reference"], {})[row["group"]] = row
    reference = next((one for one in (wanted, *_REFERENCES) if one in ratios), None)
    if len(known) < _PAIR or reference is None:
        lack = [row["group"] for row in rows if row["high"] is None or not row["value"]]
        if known and lack:
            told = f"of {', '.join(lack[:_MOST_TOLD])}{' and others' * (len(lack) > _MOST_TOLD)}"
            yield "cannot be told", f"no interval, or an EER of 0, {told}"
        return
    level = 1 - options["confidence"]
    if len(rows) == _PAIR and reference == "geomean":
        yield from _of_two(known, ratios[reference][known[0]["group"]], level)
    else:
        yield from _of_many(known, ratios[reference], _REFERENCES[reference], level, len(rows))


def _of_two(rows: Sequence[Row], ratio: Row, level: float) -> Iterator[tuple[str, str]]:
    """One group against the other, which is their ratio to the geometric mean, squared."""
    harder, easier = (row["group"] for row in rows)
    times, low, high = (float(ratio[name]) ** 2 for name in ("value", "low", "high"))
    told = f"{short(times)} times {easier} {span(low, high)}, p {chance(ratio['p'])}"
    is_shown = ratio["p"] <= level
    yield "the harder group", f"{harder}: {told}" if is_shown else f"not resolved: {harder} {told}"
    for row in rows:
        yield row["group"], _figures(row)


def _of_many(
    rows: Sequence[Row], ratios: Mapping[str, Row], reference: str, level: float, n: int
) -> Iterator[tuple[str, str]]:
    """Groups that are harder or easier than a reference, the furthest off first."""
    differ = [r for r in rows if r["group"] in ratios and ratios[r["group"]]["p_holm"] <= level]
    what = "harder or easier"
    if not differ:
        yield what, f"no group of {n} is shown to differ from {reference}"
        yield rows[0]["group"], f"the highest: {_figures(rows[0])}"
        yield rows[-1]["group"], f"the lowest: {_figures(rows[-1])}"
        return
    rest = f"; of {n - len(differ)} it is not resolved" if len(differ) < n else ""
    yield what, f"{len(differ)} of {n} groups differ from {reference}{rest}"
    order = sorted(differ, key=lambda row: -abs(math.log(ratios[row["group"]]["value"])))
    for row in order[:_MOST_TOLD]:
        ratio = ratios[row["group"]]
        words = "harder" if ratio["value"] > 1 else "easier"
        times = f"{short(ratio['value'])} times {span(ratio['low'], ratio['high'])}"
        yield row["group"], f"{words}: {_figures(row)}, {times}, p {chance(ratio['p_holm'])}"
    if len(order) > _MOST_TOLD:
        yield "", f"and {len(order) - _MOST_TOLD} more that differ"


def _figures(row: Row) -> str:
    return f"EER {percent(row['value'])} {span(row['low'], row['high'], times=100)}"
