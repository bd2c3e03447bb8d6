"""Meta-measures beside what a fair system would show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.padding import Padding

from parivox.report.plain import why, why_no_p
from parivox.report.words import GAP, Row, add, chance, grid, number, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rich.console import RenderableType

    from parivox.auditing.result import Audit

    Blocks = Sequence[tuple[str, bool]]
    Found = Mapping[str, Mapping[bool, Row]]

__all__ = ["spread"]

_BOTH = "fpr+fnr"
_MEASURES = (
    ("fnr", "tau_log", "tau_log of FNR"),
    ("fpr", "tau_log", "tau_log of FPR"),
    (_BOTH, "fdr", "FDR"),
    (_BOTH, "ir", "IR"),
    (_BOTH, "garbe", "GARBE"),
)
"""Meta-measures that are told, the one to quote first; the others are in the table."""

_WHOSE = {"without *": " without *", "all groups": " of all groups"}


def spread(audit: Audit, where: Row) -> Iterator[RenderableType]:
    """The meta-measures of the groups that count, and of all, with floors and p values."""
    alpha = audit.record["options"]["alpha"][0]
    every: dict[str, dict[bool, Row]] = {}
    for metric, measure, label in _MEASURES:
        weight = alpha if metric == _BOTH else None
        asked = {**where, "metric": metric, "measure": measure, "alpha": weight}
        found = {row["gated"]: row for row in audit.meta.where(**asked).rows()}
        if found:
            every[label] = found
    if not every:
        return
    blocks = [("all groups", False)]
    if any(found[True]["groups"] != found[False]["groups"] for found in every.values()):
        if any(found[True]["value"] is not None for found in every.values()):
            blocks.insert(0, ("without *", True))
        else:
            yield text("Groups without * are too few for a spread; of all groups:")
    heads = [GAP + head for name, _ in blocks for head in ("n", name, "floor, 95 %", "p")]
    made = grid("spread", *heads, f"{GAP}fairer", fixed=tuple(range(len(heads) + 2)))
    for label, found in every.items():
        row = found[False]
        cells = [cell for _, is_gated in blocks for cell in _against_floor(found[is_gated])]
        cells.append("higher" if row["higher_is_fairer"] else "lower")
        weighted = label if row["alpha"] is None else f"{label}, alpha {alpha:g}"
        if any(found[is_gated]["value"] is not None for _, is_gated in blocks):
            add(made, weighted, *(GAP + cell for cell in cells))
    if made.row_count:
        yield Padding(made, (1, 0, 0, 2))
    for words in (
        *_told(every, blocks, _why_undefined, "Undefined"),
        *_told(every, blocks, why_no_p, "No p"),
    ):
        yield text(words)


def _against_floor(row: Row) -> tuple[str, str, str, str]:
    """Of how many groups, a meta-measure, its floor and its p value."""
    n = number(row["groups"])
    if row["value"] is None:
        return n, "–", "–", "–"
    floor = "–"
    if row["floor_mean"] is not None:
        floor = f"{_value(row['floor_mean'])}, {_value(row['floor_95'])}"
    return n, _value(row["value"]), floor, chance(row["p"])


def _why_undefined(row: Row) -> str:
    return why(row["reason"]) if row["value"] is None else ""


def _told(
    every: Found, blocks: Blocks, reason_of: Callable[[Row], str], what: str
) -> Iterator[str]:
    """Which measures lack something, by the reason."""
    missing: dict[str, dict[str, list[str]]] = {}
    for label, found in every.items():
        for name, is_gated in blocks:
            reason = reason_of(found[is_gated])
            if reason:
                missing.setdefault(reason, {}).setdefault(name, []).append(label)
    for reason, by_block in missing.items():
        is_same = len(by_block) == len(blocks) and len(set(map(tuple, by_block.values()))) == 1
        told = (
            ", ".join(labels) + ("" if is_same else _WHOSE[name])
            for name, labels in by_block.items()
        )
        yield f"{what}, as {reason}: {'; '.join(dict.fromkeys(told))}."


def _value(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 1 else f"{value:.3g}"
