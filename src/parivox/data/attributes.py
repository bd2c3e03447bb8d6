"""Attributes as users name them, and the values of those that stand in the rows of trials."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from parivox.data.columns import ATTRIBUTE_PREFIX
from parivox.data.ids import IdDictionary
from parivox.errors import ConfigError
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from parivox.data.formats.format import Scan

ATTRIBUTE_SOURCES = ("speaker", "recording", "trial")
UNKNOWN_WORDS = (
    "", "na", "n/a", "unknown", "nan", "none", "null", "not provided", "not stated",
    "not disclosed", "undisclosed", "declined", "declined to answer", "no answer",
    "prefer not to say", "rather not say", "do not wish to say",
)  # fmt: skip
"""What means an unknown attribute, in lower case and with blanks between words."""
_WORD_GAPS = r"[\s_-]+"


def is_unknown(cell: str) -> bool:
    """Whether a cell says that the attribute is not known, whatever its case and gaps.

    Examples
    --------
    >>> is_unknown("do_not_wish_to_say"), is_unknown("N/A"), is_unknown("other")
    (True, True, False)
    """
    return re.sub(_WORD_GAPS, " ", cell.strip().lower()) in UNKNOWN_WORDS


def unknown_cells(cells: pl.Expr) -> pl.Expr:
    """Whether each cell says that the attribute is not known, as `is_unknown`."""
    words = cells.str.strip_chars().str.to_lowercase().str.replace_all(_WORD_GAPS, " ")
    return words.is_in(UNKNOWN_WORDS)


@dataclass(frozen=True)
class Attribute:
    """One attribute of a grouping."""

    text: str  # as the user writes it; with bands, as in ``age:18,30``
    name: str  # the column
    # "", enrol, test or same: of which side of a trial the value counts: each side's own, one
    # side's for the whole trial, or whether both are equal.
    side: str = ""
    # "", speaker, recording or trial: where the column stands, if the user says so
    source: str = ""
    edges: tuple[float, ...] = ()  # edges of bands of a number; empty for values as they are

    @property
    def text_without_bands(self) -> str:
        """The attribute without the bands, as a column might be called itself."""
        return self.text.rpartition(":")[0] if self.edges else self.text

    @property
    def band_suffix(self) -> str:
        """What gives its bands in the key of a column, empty without any."""
        return "" if self.bands is None else ":" + ",".join(self.bands.edge_texts)

    @property
    def bands(self) -> Bands | None:
        """The bands, if there are any."""
        ends = [part.strip() for part in self.text.rpartition(":")[2].split(",")]
        return Bands(self.edges, tuple(ends)) if self.edges else None


@dataclass(frozen=True)
class Bands:
    """Bands of a number; each contains its lower edge.

    Examples
    --------
    >>> bands = Bands((18.0, 60.0), ("18", "60"))
    >>> (
    ...     bands.band_names(np.array([17, 18])),
    ...     bands.band_indices(np.array([17.0, 18.0, np.nan])).tolist(),
    ... )
    (['<18', '18-59', '60+'], [0, 1, -1])
    """

    edges: tuple[float, ...]
    edge_texts: tuple[str, ...]

    def band_names(self, numbers: NDArray[np.float64]) -> list[str]:
        """Names in order; by whole numbers where all of these and all edges are."""
        are_whole = bool((numbers % 1 == 0).all()) and all(edge.is_integer() for edge in self.edges)
        between = []
        for (lower, lower_text), (upper, upper_text) in pairwise(
            zip(self.edges, self.edge_texts, strict=True)
        ):
            upper_label = str(int(upper) - 1) if are_whole else f"<{upper_text}"
            between.append(
                lower_text if are_whole and upper - lower == 1 else f"{lower_text}-{upper_label}"
            )
        return [f"<{self.edge_texts[0]}", *between, f"{self.edge_texts[-1]}+"]

    def band_indices(self, numbers: NDArray[np.float64]) -> NDArray[np.int32]:
        """Band of each number; -1 where it is NaN."""
        band = np.searchsorted(self.edges, numbers, side="right").astype(np.int32)
        band[np.isnan(numbers)] = -1
        return band

    def parse_cells(
        self, cells: Sequence[str | None], attribute_text: str, table_name: str
    ) -> NDArray[np.float64]:
        """Cells as numbers, NaN for what is unknown; any other text is an error."""
        numbers = np.array([math.nan if cell is None else finite_number(cell) for cell in cells])
        for cell, parsed in zip(cells, numbers.tolist(), strict=True):
            if cell is not None and math.isnan(parsed):
                name = attribute_text.rpartition(":")[0]
                msg = (
                    f"{attribute_text}: in {table_name}, the value {cell!r} of {name} is not a "
                    "number"
                )
                hint = f"use {name} without bands"
                raise ConfigError(msg, hint)
        return numbers


def finite_number(text: str) -> float:
    """Read a finite number, NaN for anything else; a comma may represent the point.

    Examples
    --------
    >>> finite_number("1.5"), finite_number("1,5"), finite_number("1_000")
    (1.5, 1.5, nan)
    """
    try:
        parsed = float(text.replace(",", ".", 1)) if "_" not in text else math.nan
    except ValueError:
        return math.nan
    return parsed if math.isfinite(parsed) else math.nan


def parse_by(text: str, option: str = "--by") -> list[Attribute]:
    """Read a grouping: attributes joined by ``+``."""
    attribute_texts = [text_part.strip() for text_part in text.split("+")]
    fault = ""
    if not all(attribute_texts):
        fault = "has an empty part"
    elif len({text_part.lower() for text_part in attribute_texts}) < len(attribute_texts):
        fault = "names an attribute twice"
    if fault:
        msg = f"{option} {text!r} {fault}"
        hint = "name each attribute once, as in gender+nationality"
        raise ConfigError(msg, hint)
    return [parse_attribute(text_part, option) for text_part in attribute_texts]


def has_bands(text: str) -> bool:
    """Whether an attribute, or the name of a column, asks for bands of a number.

    Examples
    --------
    >>> has_bands("age:18,30"), has_bands("age"), has_bands("sex: f or m")
    (True, False, False)
    """
    try:
        return bool(parse_attribute(text).edges)
    except ConfigError:
        return False


def parse_attribute(text: str, option: str = "--by") -> Attribute:
    """Read ``language``, ``age:18,30``, ``enrol.language``, ``same:device``, ``speaker.age:18``.

    Examples
    --------
    >>> parse_attribute("same:age:18,30")
    Attribute(text='same:age:18,30', name='age', side='same', source='', edges=(18.0, 30.0))
    """
    remaining, side, level = text, "", ""
    same_prefix = re.match(r"same:(?=.*[^\d\s,.:+-])(?=\s*\S)", remaining)
    if same_prefix:
        side, remaining = "same", remaining[same_prefix.end() :].strip()
    for prefix in ("enrol", "test") if not side else ():
        if remaining.startswith(f"{prefix}.") and len(remaining) > len(prefix) + 1:
            side, remaining = prefix, remaining[len(prefix) + 1 :]
            break
    for prefix in ATTRIBUTE_SOURCES:
        if remaining.startswith(f"{prefix}.") and len(remaining) > len(prefix) + 1:
            level, remaining = prefix, remaining[len(prefix) + 1 :]
            break
    name, colon, edge_text = remaining.partition(":")
    name = name.strip()
    if name == "same" and not edge_text.strip() and colon:
        msg = f"{option} {text}: an attribute must follow same:, for example same:device"
        raise ConfigError(msg)
    if not colon:
        return Attribute(text, name, side, level)
    edges = tuple(
        finite_number(end.strip()) if "," not in end else math.nan for end in edge_text.split(",")
    )
    if any(math.isnan(e) for e in edges) or any(a >= b for a, b in pairwise(edges)):
        msg = f"{option} {text}: the band edges must be increasing numbers, as in {name}:18,30,60"
        hint = ""
        if all(math.isnan(edge) for edge in edges):
            hint = f"correct the edges or, if {text!r} is the name of a column, rename the column"
        raise ConfigError(msg, hint)
    head = text[: len(text) - len(remaining)]
    ends_text = ",".join(end.strip() for end in edge_text.split(","))
    return Attribute(f"{head}{name}:{ends_text}", name, side, level, edges)


class AttributeCoder:
    """One attribute's values in the rows of trials, of both sides if each has its own column."""

    def __init__(self, attribute: Attribute) -> None:
        self.attribute, self.bands = attribute, attribute.bands
        self._numbers: set[float] = set()
        self._texts = IdDictionary()
        self._code: list[int] = []
        self._place: dict[str, int] = {}

    def codes(self, column: pl.Series, source: str) -> NDArray[np.int32]:
        """Code of each cell, -1 where it is unknown."""
        codes, new_texts = self._texts.learn(column.cast(pl.String).fill_null(""))
        cells = [None if is_unknown(cell) else cell for cell in new_texts]
        if self.bands is not None:
            numbers = self.bands.parse_cells(cells, self.attribute.text, source)
            self._numbers.update(distinct_numbers(numbers).tolist())
            self._code += self.bands.band_indices(numbers).tolist()
        else:
            for cell in cells:
                code = self._place.setdefault(cell, len(self._place)) if cell is not None else -1
                self._code.append(code)
        return np.array(self._code, dtype=np.int32)[codes]

    @property
    def n_values(self) -> int:
        """Different values so far; 0 where they are put in bands."""
        return len(self._place)

    def ordered_values(self) -> tuple[AttributeValues, NDArray[np.int32]]:
        """The values in order, and the place of each code among them; last, of -1."""
        if self.bands is not None:
            n_bands = len(self.bands.edges) + 1
            band_values = AttributeValues(None, np.array(sorted(self._numbers)))
            return band_values, np.array([*range(n_bands), -1], dtype=np.int32)
        values = sorted_values(self._place)
        rank = {value: i for i, value in enumerate(values)}
        ranks = [rank[value] for value in self._place]
        return AttributeValues(tuple(values)), np.array([*ranks, -1], dtype=np.int32)


def column_names(attributes: Iterable[Attribute]) -> tuple[str, ...]:
    """Names of the columns of attributes, for either side or for both."""
    return tuple(
        dict.fromkeys(
            column
            for attribute in attributes
            for column in (attribute.text_without_bands, attribute.name)
        )
    )


def attribute_columns(
    attributes: Sequence[Attribute], scan: Scan
) -> Iterator[tuple[str, str, Attribute]]:
    """Yield key of ``Trials.extra_columns``, role and attribute of each column of a file."""
    seen_keys = set()
    for attribute in attributes:
        band_suffix = attribute.band_suffix
        for name in (attribute.text_without_bands, attribute.name):
            for side in ("", "enrol.", "test."):
                role = f"{ATTRIBUTE_PREFIX}{side}{name}"
                if role in scan.columns and role + band_suffix not in seen_keys:
                    seen_keys.add(role + band_suffix)
                    yield role + band_suffix, role, attribute


def side_keys(key: str) -> list[str]:
    """Keys of an attribute's columns: of the whole trial, of its enrolment, of its test side."""
    return [
        ATTRIBUTE_PREFIX + side + key.removeprefix(ATTRIBUTE_PREFIX)
        for side in ("", "enrol.", "test.")
    ]


def trial_key(key: str) -> str:
    """The key of the whole trial for that of either side.

    Examples
    --------
    >>> trial_key("@enrol.sex"), trial_key("@device")
    ('@sex', '@device')
    """
    for side in ("enrol.", "test."):
        if key.startswith(ATTRIBUTE_PREFIX + side):
            return ATTRIBUTE_PREFIX + key.removeprefix(ATTRIBUTE_PREFIX + side)
    return key


@frozen
class AttributeValues:
    """Values of an attribute in order, or None where they are bands, and the numbers in these."""

    values: tuple[str, ...] | None
    numbers: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))


def distinct_numbers(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each number once, rising, without unknown ones."""
    return np.unique(numbers[~np.isnan(numbers)])


def sorted_values(values: Sequence[str] | dict[str, int] | set[str]) -> list[str]:
    """Values in rising order: as numbers if all of them are, else as text."""
    rising = sorted(values)
    numbers = {value: finite_number(value) for value in rising}
    if all(parsed == parsed for parsed in numbers.values()):  # noqa: PLR0124 - NaN is not itself
        rising.sort(key=lambda value: numbers[value])
    return rising
