"""How results vary, in the terminal: between lists of redrawn pairs, and between speakers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import group
from rich.padding import Padding

from parivox.report.catalogue import cell_text, full_sentence
from parivox.report.words import capitalised, grid, print_text, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from parivox.trials.variation import Variation


def print_variation(variation: Variation) -> None:
    """Print the variation: with colours in a terminal, plain lines elsewhere."""
    print_text(variation_summary(variation))


@group()
def variation_summary(variation: Variation) -> Iterator[RenderableType]:
    """Yield what was drawn, and a table for each metric: each group with its mean and spreads."""
    pairs_per_speaker = sorted({row["per_speaker"] for row in variation.table})
    numbers = ", ".join(f"{n:,}" for n in pairs_per_speaker)
    n_speakers = sum(variation.kept.values())
    yield text(
        full_sentence(
            "variation_design",
            variants=variation.variants,
            pairs=numbers,
            seed=variation.seed,
            speakers=n_speakers,
            grouping=variation.by,
        )
    )
    if variation.left_out:
        counts_text = ", ".join(f"{name} {n:,}" for name, n in variation.left_out.items())
        yield text(
            full_sentence(
                "variation_excluded",
                speakers=sum(variation.left_out.values()),
                pairs=pairs_per_speaker[-1],
                counts=counts_text,
            )
        )
    if variation.warning:
        yield text(f"{capitalised(cell_text(variation.warning))}.")
    yield text(
        full_sentence(
            "variation_spread", variants=variation.variants, replicates=variation.replicates
        )
    )
    titles = {
        "eer": "EER",
        "min_cdet": f"minimum cost ({variation.cost.name})",
        "fpr": f"FPR at the common threshold {variation.threshold:.4g}",
        "fnr": f"FNR at the common threshold {variation.threshold:.4g}",
    }
    for metric, title in titles.items():
        yield text(title, style="bold", apart=True)
        columns = ("group", "speakers", "mean", *(f"n = {n:,}" for n in pairs_per_speaker))
        table = grid(*columns)
        rows = variation.table.subset(metric=metric).rows()
        for name, n_of_group in variation.kept.items():
            group_rows = [row for row in rows if row["group"] == name]
            spreads = (
                f"{_percent_text(row['seed_sd'])} | {_percent_text(row['speaker_sd'])}"
                for row in group_rows
            )
            # the mean over the lists with most pairs is the most precise
            mean = _mean_text(group_rows[-1]["mean"], metric)
            table.add_row(text(name), f"{n_of_group:,}", mean, *spreads)
        for column in table.columns:
            column.no_wrap = True
        yield Padding(table, (0, 0, 0, 2))


def _mean_text(mean: float | None, metric: str) -> str:
    """Return a mean: of rates in percent, of costs with three decimals."""
    if mean is None:
        return "–"
    return f"{mean:.3f}" if metric == "min_cdet" else f"{100 * mean:.2f} %"


def _percent_text(share: Any) -> str:
    """Return a share in whole percent, or a dash."""
    return "–" if share is None else f"{100 * share:.0f} %"
