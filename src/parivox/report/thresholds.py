"""Thresholds in words: does anything but one for all help, for whom, and who pays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import group

from parivox.mitigation.fitting import BETWEEN, COMMON, PER_GROUP
from parivox.mitigation.material import EVERYONE, NORMALISED
from parivox.report.scopes import RATES
from parivox.report.sheets.sheet import Cell, Sheet, in_terminal
from parivox.report.words import count_of, listed, number, percent, show, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from parivox.mitigation.thresholds import Thresholds

    Row = dict[str, Any]

_MOST = 6
_SIDE = {"enrol": "enrolled person", "test": "person at the door"}
_RULES = {
    NORMALISED: "one, normalised scores",
    COMMON: "one for all",
    PER_GROUP: "one per group",
    BETWEEN: "between the two",
}


def print_thresholds(found: Thresholds, out: str | None = None) -> None:
    """Print them: with colours in a terminal, plain lines elsewhere."""
    show(thresholds_in_words(found, out))


@group()
def thresholds_in_words(found: Thresholds, out: str | None = None) -> Iterator[RenderableType]:
    """The answer, the rules, the groups with a threshold of their own, caveats, what to do next."""
    record = found.record
    yield text(
        f"{number(record['trials'])} trials · {number(record['speakers'])} speakers · "
        f"{record['system']} · by {record['by']} of the {whose(record)} · aim {record['aim']}"
    )
    own = {row["group"]: row for row in found.groups.rows() if row["rule"] == PER_GROUP}
    common = {row["group"]: row for row in found.groups.rows() if row["rule"] == COMMON}
    del own[EVERYONE]
    apart = [name for name in own if name in found.apart]
    yield from _answer(found, own, apart)
    yield text("")
    yield from in_terminal(rules_sheet(found), above=1, below=1)
    if apart:
        sheet = groups_sheet([(common[name], own[name]) for name in apart])
        yield from in_terminal(sheet, above=1, below=1)
    each = [f"{name} {own[name]['threshold']:.4g}" for name in apart]
    yield text(", ".join([f"Thresholds: one for all {record['common']:.4g}", *each]) + ".")
    yield from _kept(own, apart)
    yield needs_groups(record, "threshold")
    yield from _next(apart, out)


def _answer(
    found: Thresholds, own: dict[str, Row], apart: Sequence[str]
) -> Iterator[RenderableType]:
    """Whether a threshold per group helps: on average, and whom."""
    gain = next(row for row in found.rules.rows() if row["rule"] == PER_GROUP)
    interval = f"{gain['gain']:.3f} {ends(gain, 'gain', places=3)}"
    if not any(row["reason"] == "" for row in own.values()):
        yield text(
            "No group is large enough to have a threshold of its own.", style="bold", apart=True
        )
        return
    if not apart:
        words = "One threshold for all: no group can be told to need another one."
    else:
        n = len(apart)
        names = ", ".join(listed(apart, most=_MOST))
        need = "needs" if n == 1 else "need"
        words = f"{n} of {len(own)} groups {need} another threshold than the one for all: {names}."
    yield text(words, style="bold", apart=True)
    yield text(f"What one per group gains in mean cost {told(gain, 'gain')}: {interval}.")
    worst = own[worst_of(found)]
    interval = f"{worst['gain']:.3f} {ends(worst, 'gain', places=3)}"
    whose = f"What {worst['group']}, with the largest cost, gains"
    yield text(f"{whose} {told(worst, 'gain')}: {interval}.")


def worst_of(found: Thresholds) -> str:
    """The group that the common threshold costs most; what it gains is not chosen by its gain."""
    rows = found.groups.where(rule=COMMON).rows()
    known = [one for one in rows if one["group"] != EVERYONE and one["cost"] is not None]
    return str(max(known, key=lambda one: one["cost"])["group"])


def told(row: Row, name: str) -> str:
    """Whether a gain is told from nothing."""
    if row[f"{name}_low"] is None:
        return "is not known"
    words = {"better": "is told from nothing", "worse": "is less than nothing"}
    verdict = better(row[f"{name}_low"], row[f"{name}_high"])
    return words.get(verdict, "can't be told from nothing")


def rules_sheet(found: Thresholds) -> Sheet:
    """Each rule: groups that it moves, cost and gain, on average and of who is worst off."""
    worst = worst_of(found)
    sheet = Sheet.headed(
        f"Cost ({found.record['cost']}), mean over groups and of {worst}, the largest by one for "
        "all, on speakers held out on both sides:",
        ("threshold", "moved", "mean", "gain", "worst", "gain of the worst"),
    )
    of_worst = found.groups.where(group=worst).rows()
    for row, own in zip(found.rules.rows(), of_worst, strict=True):
        is_common = row["rule"] == COMMON
        cells: list[str | Cell] = []
        for one in (row, own):
            gain = "" if is_common else f"{one['gain']:.3f} {ends(one, 'gain', places=3)}"
            verdict = better(one["gain_low"], one["gain_high"])
            cells += [f"{one['cost']:.3f}", Cell(gain, verdict=verdict)]
        moved = "" if is_common else number(row["own"])
        sheet.add(_RULES.get(row["rule"], row["rule"]), moved, *cells)
    return sheet


def groups_sheet(rows: Sequence[tuple[Row, Row]]) -> Sheet:
    """Groups at the common threshold and at their own: both errors, and how they change."""
    sheet = Sheet.headed(
        "Groups at a threshold of their own: who gains, who pays, on speakers held out:",
        ("group", "error", "one for all", "own", "change, points"),
        words=(1, 2),
    )
    for common, own in rows:
        names = own["group"], count_of(own["speakers"], "speaker")
        for name, metric in zip(names, ("fpr", "fnr"), strict=True):
            change, low, high = (own[f"{metric}_change{end}"] for end in ("", "_low", "_high"))
            fell = (None, None) if low is None else (-high, -low)
            sheet.add(
                name,
                RATES[metric],
                percent(common[metric]),
                percent(own[metric]),
                Cell(
                    f"{100 * change:+.2f} {ends(own, f'{metric}_change', 100)}",
                    verdict=better(*fell),
                ),
            )
    return sheet


def ends(row: Row, name: str, times: float = 1, places: int = 2) -> str:
    """Its interval, or nothing."""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return "" if low is None else f"[{times * low:.{places}f}, {times * high:.{places}f}]"


def better(low: float | None, high: float | None) -> str:
    """The verdict of a gain with these limits."""
    if low is None or high is None or low <= 0 <= high:
        return "cannot_tell"
    return "better" if low > 0 else "worse"


def _kept(own: dict[str, Row], apart: Sequence[str]) -> Iterator[RenderableType]:
    """Groups that keep the common threshold, and why."""
    small = [name for name, row in own.items() if row["reason"]]
    alike = [name for name in own if name not in apart and name not in small]
    for names, why in (
        (alike, "can't be told from it"),
        (small, "too small to be held out"),
    ):
        if names:
            yield text(f"Keep the one for all, {why}: {', '.join(listed(names, most=_MOST))}.")


def whose(record: Row) -> str:
    """Whose group it is."""
    return _SIDE[record["side"]]


def needs_groups(record: Row, what: str) -> RenderableType:
    """That groups must be known at every decision, and of how many trials they are."""
    unknown = record["unknown"]
    taken = (
        f"unknown in {number(unknown)} of {number(record['trials'])} trials, which take the one "
        "for all"
        if unknown
        else "known in every trial here; who has none takes the one for all"
    )
    return text(
        f"! A {what} per group needs the group of the {whose(record)} at every decision: {taken}. "
        f"A group guessed from the voice is wrong more often in some groups, and so is its {what}.",
        apart=True,
    )


def _next(apart: Sequence[str], out: str | None) -> Iterator[RenderableType]:
    if out is not None:
        yield text(f"The rule: {out}; audit it: parivox audit ... --thresholds {out}", apart=True)
    elif apart:
        yield text(
            "Write the rule: --out rules.yaml; audit it: parivox audit ... --thresholds rules.yaml",
            apart=True,
        )
