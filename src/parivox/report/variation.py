"""How results vary, in words: what pairs drawn anew change, beside what speakers drawn anew do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.padding import Padding
from rich.table import Table as Grid

from parivox.report.words import show, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from parivox.trials.variation import Variation


def print_variation(found: Variation) -> None:
    """Print it: with colours in a terminal, plain lines elsewhere."""
    show(told(found))


def told(found: Variation) -> Group:
    """What was drawn, then a table for each metric."""
    each = sorted({row["per_speaker"] for row in found.table})
    numbers = ", ".join(f"{n:,}" for n in each)
    parts: list[RenderableType] = [
        text(
            f"{found.variants} lists for each of {numbers} pairs per speaker and class, drawn with "
            f"seed {found.seed} from the scored pairs of {sum(found.kept.values()):,} speakers by "
            f"{found.by}."
        )
    ]
    if found.left_out:
        some = ", ".join(f"{group} {n:,}" for group, n in found.left_out.items())
        parts.append(
            text(
                f"Left out: {sum(found.left_out.values()):,} speakers with fewer than "
                f"{each[-1]:,} pairs of either class ({some})."
            )
        )
    parts.append(
        text(
            f"sd / mean over the {found.variants} lists, then over {found.replicates} draws of "
            "speakers: more pairs cure the first, more speakers the second."
        )
    )
    titles = {
        "eer": "EER",
        "min_cdet": f"minimum cost ({found.cost.name})",
        "fpr": f"FPR at the common threshold {found.threshold:.4g}",
        "fnr": "FNR there",
    }
    for metric, title in titles.items():
        parts += [text(title, style="bold", apart=True), *_table(found, metric, each)]
    return Group(*parts)


def _table(found: Variation, metric: str, each: Sequence[int]) -> Iterator[RenderableType]:
    """A row for each group: its mean, and both spreads for each number of pairs."""
    grid = Grid(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for name in ("group", "speakers", "mean", *(f"n = {n:,}" for n in each)):
        grid.add_column(name, justify="left" if name == "group" else "right", no_wrap=True)
    rows = found.table.where(metric=metric).rows()
    for group, speakers in found.kept.items():
        own = [row for row in rows if row["group"] == group]
        grid.add_row(
            text(group),
            f"{speakers:,}",
            _mean(own[-1]["mean"], metric),
            *(f"{_percent(row['seed_sd'])} | {_percent(row['speaker_sd'])}" for row in own),
        )
    yield Padding(grid, (0, 0, 0, 2))


def _mean(value: float | None, metric: str) -> str:
    if value is None:
        return "–"
    return f"{value:.3f}" if metric == "min_cdet" else f"{100 * value:.2f} %"


def _percent(share: Any) -> str:
    return "–" if share is None else f"{100 * share:.0f} %"
