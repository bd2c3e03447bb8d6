"""Calibrations in words: is a calibrator of its own another one, whom does it serve, who loses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import group

from parivox.core.calibration import Logistic
from parivox.decide.calibration import AS_SCORED
from parivox.decide.fitting_trials import EVERYONE, NORMALISED
from parivox.decide.threshold_fitting import COMMON, PER_GROUP
from parivox.report.sheets.sheet import Cell, Column, Sheet, terminal_table
from parivox.report.thresholds import ends, needs_groups, told, verdict_of_gain, whose
from parivox.report.words import count_text, print_text, shortened_names, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from parivox.decide.calibration import Calibration

    Row = dict[str, Any]

_MOST = 6
_RULES = {
    COMMON: "one for all",
    PER_GROUP: "one per group",
    NORMALISED: "one, normalised scores",
    AS_SCORED: "none: as scored",
}


def print_calibration(found: Calibration, out: str | None = None) -> None:
    """Print it: with colours in a terminal, plain lines elsewhere."""
    print_text(calibration_in_words(found, out))


@group()
def calibration_in_words(found: Calibration, out: str | None = None) -> Iterator[RenderableType]:
    """The answer, the rules, every group, caveats, what to do next."""
    record = found.record
    yield text(
        f"{count_text(record['trials'])} trials · {count_text(record['speakers'])} speakers · "
        f"{record['system']} · by {record['by']} of the {whose(record)} · {record['method']}"
    )
    own = {row["group"]: row for row in found.groups.where(rule=PER_GROUP).rows()}
    common = {row["group"]: row for row in found.groups.where(rule=COMMON).rows()}
    apart = found.apart
    yield from _answer(found, own, apart)
    yield text("")
    yield from terminal_table(rules_sheet(found, apart), lines_above=1, lines_below=1)
    judged = [name for name in own if name != EVERYONE and not own[name]["reason"]]
    if judged:
        sheet = groups_sheet([(common[name], own[name]) for name in judged], apart)
        yield from terminal_table(sheet, lines_above=1, lines_below=1)
    if apart:
        yield text("* its own calibrator differs from the common one")
    yield text(
        "Calibration loss: Cllr minus minimum Cllr, corrected because minimum Cllr is found on the "
        "same trials. 0 is the least."
    )
    yield text(", ".join(_lines(found)) + ".")
    yield from _kept(own, apart)
    if apart:
        yield needs_groups(record, "calibrator")
    yield from _next(out)


def _answer(
    found: Calibration, own: dict[str, Row], apart: Sequence[str]
) -> Iterator[RenderableType]:
    n = len(own) - 1
    if not any(row["reason"] == "" for name, row in own.items() if name != EVERYONE):
        words = "No group is large enough to have a calibrator of its own."
        yield text(words, style="bold", apart=True)
        return
    if apart:
        some = ", ".join(shortened_names(apart, most=_MOST))
        differ = "differs" if len(apart) == 1 else "differ"
        words = (
            f"The calibrators of {len(apart)} of {n} groups {differ} from the common one: {some}."
        )
    else:
        words = "One common calibrator: that of no group is shown to differ from it."
    yield text(words, style="bold", apart=True)
    gain = next(row for row in found.rules.rows() if row["rule"] == PER_GROUP)
    yield text(
        f"The gain in mean Cllr from group-specific calibrators "
        f"{told(gain, is_needed=bool(apart))}: {_bits(gain, 'gain')} bits."
    )
    if not apart:
        yield text("Gains are tested only if a calibrator is shown to differ.")


def rules_sheet(found: Calibration, apart: Sequence[str]) -> Sheet:
    """Each rule: Cllr, the least that it could be, what is lost to calibration, and the gain."""
    sheet = Sheet.with_heads(
        "Cllr in bits, mean over groups, on speakers held out on both sides:",
        ("calibrator", "Cllr", "minimum Cllr", "calibration loss", "gain"),
    )
    for row in found.rules.rows():
        gain = "" if row["rule"] == COMMON else _bits(row, "gain")
        sheet.add(
            _RULES[row["rule"]],
            f"{row['cllr']:.4f}",
            f"{row['min_cllr']:.4f}",
            _bits(row, "cal_loss"),
            Cell(
                gain,
                verdict=verdict_of_gain(row, is_tested=bool(apart) or row["rule"] != PER_GROUP),
            ),
        )
    return sheet


def groups_sheet(rows: Sequence[tuple[Row, Row]], apart: Sequence[str]) -> Sheet:
    """Each group by the one for all and by its own: Cllr, what is lost, and the gain."""
    columns = [
        Column("group", is_words=True, key="group"),
        Column("speakers", key="speakers"),
        Column("Cllr"),
        Column("calibration loss"),
        Column("own Cllr"),
        Column("gain by its own"),
    ]
    sheet = Sheet("Groups with the common calibrator and with their own:", columns)
    for common, own in rows:
        sheet.add(
            Cell(own["group"], "*" if own["group"] in apart else ""),
            count_text(own["speakers"]),
            f"{common['cllr']:.4f}",
            _bits(common, "cal_loss"),
            f"{own['cllr']:.4f}",
            Cell(_bits(own, "gain"), verdict=verdict_of_gain(own, is_tested=own["group"] in apart)),
        )
    return sheet


def _bits(row: Row, name: str) -> str:
    return f"{row[name]:.4f} {ends(row, name, places=4)}".rstrip()


def _lines(found: Calibration) -> Iterator[str]:
    """The calibrators that are written."""
    made = found.calibrator
    for name, line in {"common": made.common, **made.groups}.items():
        start = "" if name != "common" else "Log-likelihood ratio, "
        if isinstance(line, Logistic):
            yield f"{start}{name} {line.slope:.4g} x score {line.offset:+.4g}"
        else:
            yield f"{start}{name} through {count_text(line.scores.size)} points"


def _kept(own: dict[str, Row], apart: Sequence[str]) -> Iterator[RenderableType]:
    """Groups that have none of their own, and why."""
    reasons = dict.fromkeys(row["reason"] for row in own.values() if row["reason"])
    groups = {name: row for name, row in own.items() if name != EVERYONE}
    small = [name for name, row in groups.items() if "needed" in row["reason"]]
    others = [name for name, row in groups.items() if not row["reason"] and name not in apart]
    alike = [name for name in others if groups[name]["p"] is not None]
    few = [name for name in others if groups[name]["p"] is None]
    for names, why in (
        (alike, "no gain from calibrators of their own is shown"),
        (few, "too few speakers to show a difference"),
        (small, "too few speakers for calibrators of their own"),
    ):
        if names:
            some = ", ".join(shortened_names(names, most=_MOST))
            yield text(f"Keep the common calibrator for {some}: {why}.")
    for why in reasons:
        if "needed" not in why:
            some = ", ".join(name for name, row in own.items() if row["reason"] == why)
            yield text(f"Keep the common calibrator for {some} ({why}).")


def _next(out: str | None) -> Iterator[RenderableType]:
    apply = f"parivox calibrate NEW --apply {out or 'calibrator.json'} --out llr.csv"
    start = (
        "To write the calibrator, add --out calibrator.json"
        if out is None
        else f"Calibrator: {out}"
    )
    yield text(
        f"{start}. To apply it: {apply}. To audit the result: parivox audit llr.csv --llr",
        apart=True,
    )
