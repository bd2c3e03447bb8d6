"""Metrics of scores without ids, in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import group

from parivox.report.catalogue import fact_text, sentence_text
from parivox.report.words import add_row, capitalised, count_of, grid, percent, print_text, text
from parivox.scoring.score_metrics import ALL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from parivox.scoring.score_metrics import ScoreMetrics

    Row = dict[str, Any]

_NAMES = {
    "eer": "EER",
    "fnr_at_fpr": "FNR at FPR",
    "min_cdet": "minDCF",
    "auc": "AUC",
    "dprime": "d'",
    "cllr": "Cllr",
    "min_cllr": "minimum Cllr",
    "cal_loss": "calibration loss",
}
_RATES = {"eer", "fnr_at_fpr"}
_MAX_GROUPS = 8
"""Groups that the table of the terminal has columns for."""


def print_score_metrics(metrics: ScoreMetrics) -> None:
    """Print the metrics: with colours in a terminal, plain lines elsewhere."""
    print_text(score_metrics_summary(metrics))


@group()
def score_metrics_summary(metrics: ScoreMetrics) -> Iterator[RenderableType]:
    """Yield the trials, rates by group at a common threshold, every metric, and notes."""
    counts = metrics.counts[ALL]
    n_target, n_nontarget = int(counts.n_target), int(counts.n_nontarget)
    n_trials = count_of(n_target + n_nontarget, "trial")
    yield text(f"{metrics.name}: {n_trials} ({n_target:,} target, {n_nontarget:,} nontarget).")
    groups = [name for name in metrics.counts if name != ALL]
    if groups:
        yield from _rates_table(metrics, groups)
    shown = [ALL, *groups[:_MAX_GROUPS]]
    table = grid("metric", *shown)
    cells: dict[str, dict[str, str]] = {}
    for row in metrics.table.rows():
        if row["metric"] not in {"fpr", "fnr"} and row["group"] in shown:
            cells.setdefault(_name(row), {})[row["group"]] = _value_text(row)
    for name, values in cells.items():
        add_row(table, name, *(values.get(shown_group, "–") for shown_group in shown))
    yield table
    if len(groups) > _MAX_GROUPS:
        yield text(f"{len(groups) - _MAX_GROUPS} more groups: --json", apart=True)
    for note in metrics.notes:
        yield text(f"{capitalised(fact_text(note))}.", apart=True)


def _rates_table(metrics: ScoreMetrics, groups: list[str]) -> Iterator[RenderableType]:
    """Yield the rates of each group at the common threshold, with errors and trials."""
    rates = {(row["group"], row["metric"]): row for row in metrics.table.rows()
             if row["metric"] in {"fpr", "fnr"}}  # fmt: skip
    if not rates:
        return
    fpr = float(next(iter(rates.values()))["definition"].removeprefix("fpr="))
    yield text(
        sentence_text("rates_at_one_threshold", fpr=percent(fpr)),
        apart=True,
    )
    heads = ("false rejects (FNR)", "errors/trials", "false accepts (FPR)", "errors/trials")
    table = grid("group", *heads)
    for name in (*groups, ALL):
        cells: list[str] = []
        for metric in ("fnr", "fpr"):
            row = rates[name, metric]
            cells += [percent(row["value"]), f"{row['errors']:,}/{row['trials']:,}"]
        add_row(table, name, *cells)
    yield table


def _name(row: Row) -> str:
    name = _NAMES.get(row["metric"], str(row["metric"]))
    if row["metric"] == "fnr_at_fpr":
        return f"{name} {percent(float(row['definition']))}"
    return f"{name} ({row['definition']})" if row["definition"] else name


def _value_text(row: Row) -> str:
    if row["value"] is None:
        return "–"
    return percent(row["value"]) if row["metric"] in _RATES else f"{row['value']:.4f}"
