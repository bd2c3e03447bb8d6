"""Calibrations in the terminal: whether group-specific ones differ, and whom they help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import group

from parivox.core.calibration import Logistic
from parivox.decide.calibration import AS_SCORED
from parivox.decide.fitting_trials import EVERYONE, NORMALISED
from parivox.decide.threshold_fitting import COMMON, PER_GROUP
from parivox.report.catalogue import full_sentence, reason_text, sentence_text
from parivox.report.sheets.sheet import Cell, Column, Sheet, terminal_table
from parivox.report.thresholds import (
    gain_interval_text,
    gain_text,
    group_needed_note,
    side_text,
    verdict_of_gain,
)
from parivox.report.words import count_text, print_text, shortened_names, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from parivox.decide.calibration import Calibration

    Row = dict[str, Any]

_MAX_NAMED_GROUPS = 6
_RULE_NAMES = {
    COMMON: "one for all",
    PER_GROUP: "one per group",
    NORMALISED: "one, normalised scores",
    AS_SCORED: "none: as scored",
}


def print_calibration(calibration: Calibration, out: str | None = None) -> None:
    """Print the calibration: with colours in a terminal, plain lines elsewhere."""
    print_text(calibration_summary(calibration, out))


@group()
def calibration_summary(
    calibration: Calibration, out: str | None = None
) -> Iterator[RenderableType]:
    """Yield the answer, the rules, every group, caveats, and what to do next."""
    record = calibration.record
    yield text(
        f"{count_text(record['trials'])} trials · {count_text(record['speakers'])} speakers · "
        f"{record['system']} · by {record['by']} of the {side_text(record)} · {record['method']}"
    )
    own_rows = {row["group"]: row for row in calibration.groups.subset(rule=PER_GROUP).rows()}
    common_rows = {row["group"]: row for row in calibration.groups.subset(rule=COMMON).rows()}
    differing = calibration.apart
    yield from _answer_blocks(calibration, own_rows, differing)
    yield text("")
    yield from terminal_table(rules_sheet(calibration, differing), lines_above=1, lines_below=1)
    judged_groups = [name for name in own_rows if name != EVERYONE and not own_rows[name]["reason"]]
    if judged_groups:
        sheet = groups_sheet(
            [(common_rows[name], own_rows[name]) for name in judged_groups], differing
        )
        yield from terminal_table(sheet, lines_above=1, lines_below=1)
    if differing:
        yield text(sentence_text("calibrator_differs_mark"))
    yield text(full_sentence("calibration_loss"))
    yield text(", ".join(_calibrator_lines(calibration)) + ".")
    yield from _kept_common_lines(own_rows, differing)
    if differing:
        yield group_needed_note(record, "calibrator")
    yield from _next_step(out)


def _answer_blocks(
    calibration: Calibration, own_rows: dict[str, Row], differing: Sequence[str]
) -> Iterator[RenderableType]:
    """Yield whether any group's calibrator differs from the common one, and the mean gain."""
    n_groups = len(own_rows) - 1  # without all trials
    if not any(row["reason"] == "" for name, row in own_rows.items() if name != EVERYONE):
        words = full_sentence("no_group_for_calibrator")
        yield text(words, style="bold", apart=True)
        return
    if differing:
        group_names = ", ".join(shortened_names(differing, most=_MAX_NAMED_GROUPS))
        differ = "differs" if len(differing) == 1 else "differ"
        words = full_sentence(
            "calibrators_differ",
            differing=len(differing),
            groups=n_groups,
            verb=differ,
            group_names=group_names,
        )
    else:
        words = full_sentence("one_common_calibrator")
    yield text(words, style="bold", apart=True)
    gain = next(row for row in calibration.rules.rows() if row["rule"] == PER_GROUP)
    yield text(
        full_sentence(
            "calibration_gain",
            outcome=gain_text(gain, is_needed=bool(differing)),
            bits=_bits_text(gain, "gain"),
        )
    )
    if not differing:
        yield text(full_sentence("gains_tested_if_calibrator_differs"))


def rules_sheet(calibration: Calibration, differing: Sequence[str]) -> Sheet:
    """Return each rule with its Cllr, minimum Cllr, calibration loss, and gain."""
    sheet = Sheet.with_heads(
        "Cllr in bits, mean over groups, on speakers held out on both sides:",
        ("calibrator", "Cllr", "minimum Cllr", "calibration loss", "gain"),
    )
    for row in calibration.rules.rows():
        gain = "" if row["rule"] == COMMON else _bits_text(row, "gain")
        # gains of group-specific calibrators count only if one is shown to differ
        is_tested = bool(differing) or row["rule"] != PER_GROUP
        sheet.add(
            _RULE_NAMES[row["rule"]],
            f"{row['cllr']:.4f}",
            f"{row['min_cllr']:.4f}",
            _bits_text(row, "cal_loss"),
            Cell(gain, verdict=verdict_of_gain(row, is_tested=is_tested)),
        )
    return sheet


def groups_sheet(rows: Sequence[tuple[Row, Row]], differing: Sequence[str]) -> Sheet:
    """Return each group by the common calibrator and by its own: Cllr, loss, and gain."""
    columns = [
        Column("group", is_words=True, key="group"),
        Column("speakers", key="speakers"),
        Column("Cllr"),
        Column("calibration loss"),
        Column("own Cllr"),
        Column("gain by own"),
    ]
    sheet = Sheet("Groups with the common calibrator and with their own:", columns)
    for common_row, own_row in rows:
        sheet.add(
            Cell(own_row["group"], "*" if own_row["group"] in differing else ""),
            count_text(own_row["speakers"]),
            f"{common_row['cllr']:.4f}",
            _bits_text(common_row, "cal_loss"),
            f"{own_row['cllr']:.4f}",
            Cell(
                _bits_text(own_row, "gain"),
                verdict=verdict_of_gain(own_row, is_tested=own_row["group"] in differing),
            ),
        )
    return sheet


def _bits_text(row: Row, name: str) -> str:
    """Return a number of bits with its interval, if there is one."""
    return f"{row[name]:.4f} {gain_interval_text(row, name, places=4)}".rstrip()


def _calibrator_lines(calibration: Calibration) -> Iterator[str]:
    """Yield the calibrators that are written."""
    calibrator = calibration.calibrator
    for name, curve in {"common": calibrator.common, **calibrator.groups}.items():
        start = "" if name != "common" else "Log-likelihood ratio, "
        if isinstance(curve, Logistic):
            yield f"{start}{name} {curve.slope:.4g} x score {curve.offset:+.4g}"
        else:
            yield f"{start}{name} through {count_text(curve.scores.size)} points"


def _kept_common_lines(
    own_rows: dict[str, Row], differing: Sequence[str]
) -> Iterator[RenderableType]:
    """Yield which groups keep the common calibrator, and why."""
    groups = {name: row for name, row in own_rows.items() if name != EVERYONE}
    small = [name for name, row in groups.items() if row["reason"] == "few_speakers_to_fit"]
    with_calibrator = [
        name for name, row in groups.items() if not row["reason"] and name not in differing
    ]
    without_gain = [name for name in with_calibrator if groups[name]["p"] is not None]
    untested = [name for name in with_calibrator if groups[name]["p"] is None]
    for names, reason in (
        (without_gain, sentence_text("calibrator_not_shown_to_differ")),
        (untested, sentence_text("too_few_for_difference")),
        (small, "too few speakers for group-specific calibrators"),
    ):
        if names:
            group_names = ", ".join(shortened_names(names, most=_MAX_NAMED_GROUPS))
            yield text(full_sentence("keep_common_calibrator", groups=group_names, reason=reason))
    groups_of_reason: dict[str, list[str]] = {}
    for name, row in groups.items():
        if row["reason"] and name not in small:
            groups_of_reason.setdefault(reason_text(row), []).append(name)
    for reason, names in groups_of_reason.items():
        yield text(
            full_sentence(
                "keep_common_calibrator_by_reason", groups=", ".join(names), reason=reason
            )
        )


def _next_step(out: str | None) -> Iterator[RenderableType]:
    """Yield how to write and apply the calibrator, and how to audit the result."""
    command = f"parivox calibrate NEW --apply {out or 'calibrator.json'} --out llr.csv"
    start = "To write the calibrator, add --out calibrator.json"
    if out is not None:
        start = f"Calibrator: {out}"
    yield text(
        sentence_text("apply_calibrator", calibrator=start, command=command),
        apart=True,
    )
