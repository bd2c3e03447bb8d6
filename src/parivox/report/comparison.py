"""Two systems on the same trials, or one on two lists: who errs less, whose groups differ less."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.padding import Padding

from parivox.report.words import Row, add, chance, grid, percent, short, span, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType
    from rich.table import Table as Grid

    from parivox.auditing.result import Audit
    from parivox.read.table import Table

__all__ = ["comparison"]

_OF_ALL = ("eer", "min_cdet_norm", "fnr", "fpr")
_NAMES = {"eer": "EER", "min_cdet_norm": "min cost", "fnr": "FNR", "fpr": "FPR"}
_SPREADS = ("fdr", "ir", "garbe")
_RANKS = {"p_more_accurate": "more accurate", "p_less_spread": "less spread", "p_both": "both"}


def comparison(audit: Audit) -> Iterator[RenderableType]:
    """Every pair of systems and lists that was compared."""
    keys = ("system", "list", "other_system", "other_list")
    pairs = {tuple(row[key] for key in keys): row for row in audit.comparison.rows()}
    for pair, row in pairs.items():
        rows = audit.comparison.where(**dict(zip(keys, pair, strict=True)), within="")
        one, other = (f"{a}@{b}" if b else a for a, b in (pair[:2], pair[2:]))
        yield text(f"{one} against {other}: {row['speakers']}", style="bold", apart=True)
        made = grid("all trials", one, other, "difference", "[interval]", "p")
        for line in rows.where(grouping="all", measure="value").rows():
            if line["metric"] in _OF_ALL:
                at = f" at {line['operating_point']}" if line["operating_point"] else ""
                label = f"{_NAMES[line['metric']]}{at}"
                _add(made, label, line, is_share=line["metric"] != "min_cdet_norm")
        yield Padding(made, (0, 0, 0, 2))
        for grouping in audit.record["groupings"]:
            for allocation in audit.record["options"]["allocate"]:
                own = rows.where(grouping=grouping, allocation=allocation)
                yield from _grouping(audit, own, grouping, allocation, (one, other))


def _grouping(
    audit: Audit, rows: Table, grouping: str, allocation: str, names: Sequence[str]
) -> Iterator[RenderableType]:
    """How much the groups differ in one and the other, at the first operating point of both."""
    points = [row["operating_point"] for row in rows.where(metric="fnr", definition="").rows()]
    if not points:
        return
    at, alpha = points[0], audit.record["options"]["alpha"][0]
    how = "" if allocation == "both" else f", {allocation}"
    made = grid(f"{grouping}{how} at {at}", *names, "difference", "[interval]", "p")
    for measure in _SPREADS:
        asked = {"measure": measure, "alpha": alpha, "zero": "none", "operating_point": at}
        for line in rows.where(**asked).rows():
            _add(made, measure.upper(), line, is_share=False)
    for metric in ("fnr", "fpr"):
        asked = {"measure": "spread", "metric": metric, "operating_point": at}
        for line in rows.where(**asked).rows():
            if line["value"] is not None:
                _add(made, f"spread of log {metric.upper()}", line, is_share=False)
    if made.row_count:
        yield Padding(made, (0, 0, 0, 2))
    for metric in ("fnr", "fpr"):
        told = _ranks(rows.where(metric=metric, operating_point=at))
        if told:
            yield text(
                f"  {metric.upper()}, share of replicates in which {names[0]} / {names[1]} is "
                f"better: {', '.join(told)}."
            )


def _ranks(rows: Table) -> list[str]:
    """How often one and the other came out better."""
    return [
        f"{words} {percent(line['value'])} / {percent(line['other'])}"
        for measure, words in _RANKS.items()
        for line in rows.where(measure=measure).rows()
        if line["value"] is not None
    ]


def _add(made: Grid, label: str, row: Row, *, is_share: bool) -> None:
    """A value of both and their difference; shares and their differences in percent."""
    times = 100 if is_share else 1

    def told(value: float | None) -> str:
        if value is None:
            return "–"
        return percent(value) if is_share else f"{value:.4g}"

    gap = row["difference"]
    add(
        made,
        label,
        told(row["value"]),
        told(row["other"]),
        "–" if gap is None else f"{times * gap:+.3g}",
        span(row["low"], row["high"], times=times),
        chance(row["p"]) if row["p"] is not None else short(None),
    )
