"""What a paper prints, item by item, and what its data say of it.

An *item* is a table, a figure or a claim. One that can be computed gives `Reproduced`: figures
beside print, and claims with what becomes of them. Nothing is simulated in the place of data that
are not to be had: such an item says what it needs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.data.table import Table
from parivox.facts import VALUES_COLUMN, Fact, cell_of_row, table_cells
from parivox.shown import CATALOGUE_MODULE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

HOLDS, FAILS, OPEN = "holds", "does not hold", "inconclusive"
"""Verdicts on claims, given by `recount_verdict`, `groups_verdict` and `other_data_verdict`."""

AS_PRINTED = "as printed"
"""A number that comes out; of others `print_verdict` names the digit in which they differ."""
UNDEFINED = "undefined when computed"

SAME_SIDE, OTHER_SIDE, NO_SIDE = "on the printed side", "on the other side", "side inconclusive"
"""On which side of the others a figure shows a group to be: `side_verdict`."""

_DIGIT_NAMES = ("first", "second", "third", "fourth", "fifth", "sixth")

RUNS, NOTHING, MISSING = "runs", "no data", "not reachable"
"""Whether an item can be computed; `NOTHING` is a drawing, a design or a list of attributes."""

SIGNIFICANCE_LEVEL = 0.05
"""Of p adjusted for all groups of a table: below it, a group is on one side of the others."""

COLUMNS = {
    "row": "str",
    "quantity": "str",
    "printed": "float",
    "authors": "float",
    "exact": "float",
    "low": "float",
    "high": "float",
    "floor_95": "float",
    "p_holm": "float",
    "agrees": "bool",
    "verdict": "str",
    "note": "str",
    VALUES_COLUMN: "str",
}
"""Columns of the figures of an item: as printed, by the authors' steps, exactly; the interval over
speakers; what 95 % of fair systems are below; p for all rows of the table; whether the exact figure
rounds to print; what becomes of what it says; a note as a code, and its values."""


@dataclass(frozen=True)
class Paper:
    """One of the four papers."""

    name: str
    authors: str
    year: int
    title: str
    items: tuple[Item, ...] = ()


@dataclass(frozen=True)
class Item:
    """A table, a figure or a claim of a paper."""

    paper: str
    kind: str  # "table", "figure" or "claim"
    number: str  # of a claim, the section that makes it
    title: str
    state: str  # `RUNS`, `NOTHING` or `MISSING`
    needs: str = ""  # the data that it takes; why there is nothing to compute, or what is missing
    compute: Callable[[Any], Reproduced] | None = None
    """Takes a `parivox.papers.voxceleb.Voxceleb1H`, or nothing; None unless the item runs."""
    part: str = ""  # what of it can be computed, or on what else, where that is not all of it

    @property
    def name(self) -> str:
        """Kind and number."""
        return f"{self.kind} {self.number}"

    @property
    def reach(self) -> str:
        """Its state, and what of it that is."""
        return f"{self.state}: {self.part}" if self.part else self.state


class Claim(NamedTuple):
    """What a paper says, and what becomes of it.

    Attributes
    ----------
    code
        Code of the claim; that of the reason for its verdict ends in ``_reason``.
    verdict
        `HOLDS`, `FAILS` or `OPEN`.
    values
        Numbers and names that the claim and the reason are about.
    on
        The data that it was tested on, if they are not those of the paper.
    sentence, why
        The claim and the reason, in words.
    """

    code: str
    verdict: str
    values: Mapping[str, Any]
    on: str = ""

    @property
    def sentence(self) -> str:
        """The claim in words."""
        return str(import_module(CATALOGUE_MODULE).fact_text(Fact(self.code, self.values)))

    @property
    def why(self) -> str:
        """The reason for the verdict in words."""
        reason = Fact(f"{self.code}_reason", self.values)
        return str(import_module(CATALOGUE_MODULE).fact_text(reason))

    @property
    def told(self) -> str:
        """The verdict, and on what."""
        return f"{self.verdict}, on {self.on}" if self.on else self.verdict


def print_verdict(exact: float, printed: float, decimals: int) -> str:
    """Return the verdict on a printed number: as printed, or the digit in which it differs.

    Examples
    --------
    >>> print_verdict(0.2247, 0.225, 3), print_verdict(0.2247, 0.224, 3)
    ('as printed', 'differs in the third digit (computation)')
    >>> print_verdict(1.6, 0.4, 1), print_verdict(0.01, 0.0, 2)
    ('differs in the first digit (computation)', 'differs in the first digit (computation)')
    """
    if not np.isfinite(exact):
        return UNDEFINED
    rounded = rounded_as_printed(exact, decimals)
    if rounded == printed:
        return AS_PRINTED
    # the digit of the largest place, of both figures, at which they differ
    digit_index = 0
    if printed and rounded:
        largest = np.floor(np.log10(max(abs(printed), abs(rounded))))
        digit_index = int(largest - np.floor(np.log10(abs(rounded - printed) * (1 + 1e-9))))
    digit = _DIGIT_NAMES[min(max(digit_index, 0), len(_DIGIT_NAMES) - 1)]
    return f"differs in the {digit} digit (computation)"


def recount_verdict(is_confirmed: bool) -> str:  # noqa: FBT001 - its one argument
    """Return the verdict on a claim about what is printed, defined or counted.

    A claim about all groups that the paper's own tables contradict is not confirmed.
    """
    return HOLDS if is_confirmed else FAILS


def groups_verdict(directions: Iterable[bool | None]) -> str:
    """Return the verdict on the direction of differences, whatever their size.

    Each direction is True where the claimed direction is significant over speakers, False where the
    opposite direction is, None where neither is.

    Examples
    --------
    >>> groups_verdict([True, True]), groups_verdict([True, None]), groups_verdict([False, None])
    ('holds', 'inconclusive', 'does not hold')
    """
    all_directions = [*directions]
    if False in all_directions:
        return FAILS
    return OPEN if None in all_directions else HOLDS


def other_data_verdict(recurs: bool) -> str:  # noqa: FBT001 - its one argument
    """Return the verdict on a claim tested on other data, which cannot refute it."""
    return HOLDS if recurs else OPEN


def is_above(row: Mapping[str, Any], neutral: float = 1.0) -> bool | None:
    """Return whether a figure is significantly above a value; False if below, None if neither."""
    return bool(row["value"] > neutral) if is_significant(row["p_holm"]) else None


def is_below(row: Mapping[str, Any], neutral: float = 1.0) -> bool | None:
    """Return whether a figure is significantly below a value; False if above, None if neither."""
    above = is_above(row, neutral)
    return None if above is None else not above


def interval_side(row: Mapping[str, Any], neutral: float = 0.0) -> bool | None:
    """Return whether an interval is above a value; False if below, None if neither."""
    if row["low"] is None or row["low"] <= neutral <= row["high"]:
        return None
    return bool(row["low"] > neutral)


@dataclass(frozen=True)
class Reproduced:
    """What an item comes to.

    Attributes
    ----------
    figures
        Columns as in `COLUMNS`; a row for each printed figure that can be computed.
    claims
        What the paper says of them.
    notes
        How the printed figures came about, and what their reader must know: codes with values.
    charts
        What draws them, as Altair charts.
    """

    figures: Table
    claims: tuple[Claim, ...] = ()
    notes: tuple[Fact, ...] = ()
    charts: tuple[Callable[[], Any], ...] = ()


@dataclass
class FigureRows:
    """The figures of an item, added row by row."""

    rows: list[dict[str, Any]] = field(default_factory=list)

    def add(
        self,
        row: str,
        quantity: str,
        printed: float | None,
        exact: float,
        decimals: int,
        *,
        estimate: Mapping[str, Any] | None = None,
        neutral: float | None = None,
        **more_columns: Any,
    ) -> None:
        """Add a figure that is printed with some decimals.

        Parameters
        ----------
        estimate
            The row of an audit's table with its interval, floor and p.
        neutral
            The value for no difference; None for a figure that is no comparison.
        """
        estimate = estimate or {}
        estimate_columns = {
            name: estimate.get(name) for name in ("low", "high", "floor_95", "p_holm")
        }
        agrees = None if printed is None else rounded_as_printed(exact, decimals) == printed
        verdict = ""
        if printed is not None:
            verdict = print_verdict(exact, printed, decimals)
            if neutral is not None:
                verdict = side_verdict(printed, exact, neutral, estimate_columns["p_holm"])
        cells = {"row": row, "quantity": quantity, "printed": printed, "exact": exact}
        note = cell_of_row(estimate, "note") if "note" in estimate else ""
        blank = {"authors": None, "note": note}
        self.rows.append(
            {
                **blank,
                **cells,
                **estimate_columns,
                "agrees": agrees,
                "verdict": verdict,
                **more_columns,
            }
        )

    def table(self) -> Table:
        """Return the figures as a table."""
        columns = {name: [row[name] for row in self.rows] for name in [*COLUMNS][:-1]}
        columns["note"], columns[VALUES_COLUMN] = table_cells(columns["note"])
        return Table.of(columns, COLUMNS)


def is_significant(p: float | None) -> bool:
    """Return whether p is below the significance level; False without p."""
    return p is not None and p < SIGNIFICANCE_LEVEL


def rate_in_percent(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a rate and its interval in per cent."""
    return {name: row[name] and 100 * row[name] for name in ("value", "low", "high")}


def interval_values(row: Mapping[str, Any]) -> dict[str, float | None]:
    """Return a figure with its interval, and its p if it has one, as a value of a fact.

    Examples
    --------
    >>> interval_values({"group": "f", "value": 0.27, "low": 0.22, "high": 0.337})
    {'value': 0.27, 'low': 0.22, 'high': 0.337}
    """
    names = ("value", "low", "high", "floor_95", "p", "p_holm")
    return {name: None if row[name] is None else float(row[name]) for name in names if name in row}


def rounded_as_printed(figure: float, decimals: int) -> float:
    """Return a figure rounded half up, as the papers print it.

    Examples
    --------
    >>> rounded_as_printed(0.15495, 3), rounded_as_printed(1.0625, 3)
    (0.155, 1.063)
    """
    scale = 10.0**decimals
    return float(np.floor(figure * scale + 0.5) / scale)


def side_verdict(printed: float, exact: float, neutral: float, p: float | None) -> str:
    """Return whether a group is on the printed side of the others.

    Examples
    --------
    >>> (
    ...     side_verdict(1.2, 1.3, 1.0, 0.01),
    ...     side_verdict(0.6, 1.6, 1.0, 0.01),
    ...     side_verdict(1.2, 1.3, 1.0, 0.4),
    ... )
    ('on the printed side', 'on the other side', 'side inconclusive')
    """
    if not is_significant(p):
        return NO_SIDE
    return SAME_SIDE if np.sign(exact - neutral) == np.sign(printed - neutral) else OTHER_SIDE
