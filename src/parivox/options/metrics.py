"""Options of `metrics`: scores with labels, without ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.errors import ConfigError
from parivox.frozen import frozen
from parivox.numerals import number_of
from parivox.options.audit import (
    INPUT_SECTION,
    MEASUREMENT_SECTION,
    OUTPUT_SECTION,
    READING_SECTION,
    AuditOptions,
    ReadOptions,
)
from parivox.options.kinds import CommandOptions, Flag, Text, option, option_like

if TYPE_CHECKING:
    from collections.abc import Mapping


def _rates(texts: list[str]) -> list[float]:
    """Return rates from the words of the command line."""
    rates = []
    for text in texts:
        try:
            rates.append(number_of(text))
        except ValueError:
            msg = f"--fpr {text!r} is not a rate"
            hint = "give a number between 0 and 1, for example 0.01"
            raise ConfigError(msg, hint) from None
    return rates


@frozen(kw_only=True)
class MetricOptions(CommandOptions):
    """Options of metrics of scores without ids."""

    groups: str | None = option(
        INPUT_SECTION,
        "column with the group of each trial",
        Text,
        None,
        command_name="by",
        metavar="COLUMN",
        is_common=True,
    )
    target: Any = option(
        INPUT_SECTION,
        "file of target scores, one per line, instead of SCORES",
        is_common=True,
        value_type="ArrayLike | FilePath | None",
    )
    nontarget: Any = option(
        INPUT_SECTION,
        "file of nontarget scores, one per line, instead of SCORES",
        is_common=True,
        value_type="ArrayLike | FilePath | None",
    )
    fpr: Any = option(
        MEASUREMENT_SECTION,
        "report the FNR at this FPR",
        default_text="`0.01`, `0.001` and `0.1`",
        metavar="RATE",
        is_repeatable=True,
        parser=_rates,
        value_type="Sequence[float] | None",
    )
    cost: tuple[str, ...] = option_like(AuditOptions, "cost")
    llr: bool = option_like(AuditOptions, "llr")
    distance: bool = option(
        READING_SECTION, "scores are distances: lower means more similar voices", Flag, False
    )
    columns: Mapping[str, str] | None = option_like(ReadOptions, "columns", section=READING_SECTION)
    encoding: str | None = option_like(ReadOptions, "encoding", section=READING_SECTION)
    quotes: str | None = option_like(ReadOptions, "quotes", section=READING_SECTION)


@frozen(kw_only=True)
class MetricCommand(CommandOptions):
    """The command line of `metrics`."""

    section_order = (INPUT_SECTION, MEASUREMENT_SECTION, READING_SECTION, OUTPUT_SECTION)

    scores: Any = option(
        INPUT_SECTION,
        "file of scores with labels: columns score and label, with or without a header",
        metavar="SCORES",
        positional_count="?",
    )
    figure: Any = option(
        OUTPUT_SECTION,
        "write DET curves: SVG, PNG, PDF, HTML or JSON (Vega-Lite)",
        is_common=True,
    )
    json: bool = option(OUTPUT_SECTION, "print the results as JSON", Flag, False, is_common=True)
