"""How results vary, in words: what pairs drawn anew change, beside what speakers drawn anew do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import group
from rich.padding import Padding

from parivox.report.words import capitalised, grid, print_text, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from parivox.trials.variation import Variation


def print_variation(found: Variation) -> None:
    """Print it: with colours in a terminal, plain lines elsewhere."""
    print_text(variation_in_words(found))


@group()
def variation_in_words(found: Variation) -> Iterator[RenderableType]:
    """What was drawn; for each metric a table, a row for each group, of its mean and spreads."""
    each = sorted({row["per_speaker"] for row in found.table})
    numbers = ", ".join(f"{n:,}" for n in each)
    yield text(
        f"{found.variants} lists for each of {numbers} pairs per speaker and class, drawn with "
        f"seed {found.seed} from the scored pairs of {sum(found.kept.values()):,} speakers by "
        f"{found.by}."
    )
    if found.left_out:
        some = ", ".join(f"{name} {n:,}" for name, n in found.left_out.items())
        yield text(
            f"Left out: {sum(found.left_out.values()):,} speakers with fewer than "
            f"{each[-1]:,} pairs of either class ({some})."
        )
    if found.warning:
        yield text(f"{capitalised(found.warning)}.")
    yield text(
        f"sd / mean over the {found.variants} lists, then over {found.replicates} draws of "
        "speakers: more pairs cure the first, more speakers the second."
    )
    titles = {
        "eer": "EER",
        "min_cdet": f"minimum cost ({found.cost.name})",
        "fpr": f"FPR at the common threshold {found.threshold:.4g}",
        "fnr": "FNR there",
    }
    for metric, title in titles.items():
        yield text(title, style="bold", apart=True)
        columns = ("group", "speakers", "mean", *(f"n = {n:,}" for n in each))
        table = grid(*columns)
        rows = found.table.where(metric=metric).rows()
        for name, speakers in found.kept.items():
            own = [row for row in rows if row["group"] == name]
            spreads = (f"{_percent(r['seed_sd'])} | {_percent(r['speaker_sd'])}" for r in own)
            mean = _mean(own[-1]["mean"], metric)
            table.add_row(text(name), f"{speakers:,}", mean, *spreads)
        for column in table.columns:
            column.no_wrap = True
        yield Padding(table, (0, 0, 0, 2))


def _mean(value: float | None, metric: str) -> str:
    if value is None:
        return "–"
    return f"{value:.3f}" if metric == "min_cdet" else f"{100 * value:.2f} %"


def _percent(share: Any) -> str:
    return "–" if share is None else f"{100 * share:.0f} %"
