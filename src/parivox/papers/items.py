"""What a paper prints, item by item, and what its data say of it.

An *item* is a table, a figure or a claim. One that can be computed gives `Reproduced`: figures
beside print, and claims with what becomes of them. Nothing is simulated in the place of data that
are not to be had: such an item says what it needs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.data.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

HOLDS, FAILS, OPEN = "holds", "does not hold", "inconclusive"
"""What becomes of a claim: `recounted`, `of_groups` and `elsewhere` say which, and when."""

AS_PRINTED = "as printed"
"""A number that comes out; of others `computed` names the digit in which they differ."""
UNDEFINED = "undefined when computed"

SAME_SIDE, OTHER_SIDE, NO_SIDE = "on the printed side", "on the other side", "side inconclusive"
"""On which side of the others a figure shows a group to be: `on_side`."""

_DIGITS = ("first", "second", "third", "fourth", "fifth", "sixth")

RUNS, NOTHING, MISSING = "runs", "no data", "not reachable"
"""Whether an item can be computed; `NOTHING` is a drawing, a design or a list of attributes."""

SIDE = 0.05
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
}
"""Columns of the figures of an item: as printed, by the authors' steps, exactly; the interval over
speakers; what 95 % of fair systems are below; p for all rows of the table; whether the exact figure
rounds to print; what becomes of what it says."""


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
    """From `Voxceleb1H`, or from nothing where it needs none; None unless it runs."""
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
    """What a paper says, and what becomes of it."""

    sentence: str
    verdict: str  # `HOLDS`, `FAILS` or `OPEN`
    why: str
    on: str = ""  # what it was put to, where that is not what the paper has it from

    @property
    def told(self) -> str:
        """The verdict, and on what."""
        return f"{self.verdict}, on {self.on}" if self.on else self.verdict


def computed(exact: float, printed: float, decimals: int) -> str:
    """Verdict on a printed number: as printed, or the digit in which it differs by computation.

    Examples
    --------
    >>> computed(0.2247, 0.225, 3), computed(0.2247, 0.224, 3)
    ('as printed', 'differs in the third digit (computation)')
    >>> computed(1.6, 0.4, 1), computed(0.01, 0.0, 2)
    ('differs in the first digit (computation)', 'differs in the first digit (computation)')
    """
    if not np.isfinite(exact):
        return UNDEFINED
    found = as_printed(exact, decimals)
    if found == printed:
        return AS_PRINTED
    place = 0
    if printed and found:
        largest = np.floor(np.log10(max(abs(printed), abs(found))))
        place = int(largest - np.floor(np.log10(abs(found - printed) * (1 + 1e-9))))
    digit = _DIGITS[min(max(place, 0), len(_DIGITS) - 1)]
    return f"differs in the {digit} digit (computation)"


def recounted(is_so: bool) -> str:  # noqa: FBT001 - its one argument
    """Verdict on a claim about what is printed, defined, or counted: it is so, or it is not.

    So it is of a claim about all groups that print itself contradicts.
    """
    return HOLDS if is_so else FAILS


def of_groups(shown: Iterable[bool | None]) -> str:
    """Verdict on where groups or systems stand, whatever their figures: where each is shown to.

    Each of `shown` is True where chance between speakers is excluded, False where it is and the
    figures say the opposite, None where it is not.

    Examples
    --------
    >>> of_groups([True, True]), of_groups([True, None]), of_groups([False, None])
    ('holds', 'inconclusive', 'does not hold')
    """
    sides = [*shown]
    return FAILS if False in sides else OPEN if None in sides else HOLDS


def elsewhere(recurs: bool) -> str:  # noqa: FBT001 - its one argument
    """Verdict on data that are not here, put to those that are: others contradict nothing."""
    return HOLDS if recurs else OPEN


def is_above(row: Mapping[str, Any], neutral: float = 1.0) -> bool | None:
    """Whether a figure is shown to be above a value, or below it, after adjusting; None if not."""
    return bool(row["value"] > neutral) if is_shown(row["p_holm"]) else None


def is_below(row: Mapping[str, Any], neutral: float = 1.0) -> bool | None:
    """Whether a figure is shown to be below a value, or above it, after adjusting; None if not."""
    above = is_above(row, neutral)
    return None if above is None else not above


def clear_of(row: Mapping[str, Any], neutral: float = 0.0) -> bool | None:
    """Whether an interval lies above a value, or below it; None where it holds it, or is none."""
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
        How the printed figures came about, and what their reader must know.
    charts
        What draws them, as Altair charts.
    """

    figures: Table
    claims: tuple[Claim, ...] = ()
    notes: tuple[str, ...] = ()
    charts: tuple[Callable[[], Any], ...] = ()


@dataclass
class Figures:
    """Figures of an item in the making."""

    rows: list[dict[str, Any]] = field(default_factory=list)

    def add(
        self,
        row: str,
        quantity: str,
        printed: float | None,
        exact: float,
        decimals: int,
        *,
        of: Mapping[str, Any] | None = None,
        neutral: float | None = None,
        **more: Any,
    ) -> None:
        """Add one, printed with so many decimals.

        Parameters
        ----------
        of
            The row of an audit's table that tells its interval, floor and p.
        neutral
            Where it would say that nothing differs; None where it is a figure by itself.
        """
        of = of or {}
        found = {name: of.get(name) for name in ("low", "high", "floor_95", "p_holm")}
        agrees = None if printed is None else as_printed(exact, decimals) == printed
        verdict = ""
        if printed is not None:
            verdict = computed(exact, printed, decimals)
            if neutral is not None:
                verdict = on_side(printed, exact, neutral, found["p_holm"])
        cells = {"row": row, "quantity": quantity, "printed": printed, "exact": exact}
        blank = {"authors": None, "note": str(of.get("note") or "")}
        self.rows.append({**blank, **cells, **found, "agrees": agrees, "verdict": verdict, **more})

    def table(self) -> Table:
        """The figures."""
        return Table.of({name: [one[name] for one in self.rows] for name in COLUMNS}, COLUMNS)


def is_shown(p: float | None) -> bool:
    """Whether chance alone hardly makes it; without a p it is not."""
    return p is not None and p < SIDE


def named(names: Iterable[str]) -> str:
    """Names in a row, or that there are none."""
    return ", ".join(names) or "none"


def in_percent(row: Mapping[str, Any]) -> dict[str, Any]:
    """A rate and its interval in per cent."""
    return {name: row[name] and 100 * row[name] for name in ("value", "low", "high")}


def spanned(row: Mapping[str, Any], unit: str = "", decimals: int = 2) -> str:
    """A figure with its interval as words have it.

    Examples
    --------
    >>> spanned({"value": 0.2702, "low": 0.22, "high": 0.337}), spanned({"value": 2, "low": None})
    ('0.27 [0.22, 0.34]', '2.00')
    """
    value = f"{row['value']:.{decimals}f}{unit}"
    if row["low"] is None:
        return value
    return f"{value} [{row['low']:.{decimals}f}, {row['high']:.{decimals}f}]"


def as_printed(value: float, decimals: int) -> float:
    """A figure as print rounds it, half up.

    Examples
    --------
    >>> as_printed(0.15495, 3), as_printed(1.0625, 3)
    (0.155, 1.063)
    """
    scale = 10.0**decimals
    return float(np.floor(value * scale + 0.5) / scale)


def on_side(printed: float, exact: float, neutral: float, p: float | None) -> str:
    """Whether a group is on the side of the others that print says.

    Examples
    --------
    >>> on_side(1.2, 1.3, 1.0, 0.01), on_side(0.6, 1.6, 1.0, 0.01), on_side(1.2, 1.3, 1.0, 0.4)
    ('on the printed side', 'on the other side', 'side inconclusive')
    """
    if not is_shown(p):
        return NO_SIDE
    return SAME_SIDE if np.sign(exact - neutral) == np.sign(printed - neutral) else OTHER_SIDE
