"""Score values that trials are counted at: each score, bins of one width, given thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.core.counts import EdgeSearch
from parivox.errors import ConfigError
from parivox.numerals import number_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from parivox.core.counts import FloatArray

COUNTED_AT_THRESHOLDS = "counted_at_thresholds"
N_EVEN_BINS = 1 << 16
"""Bins that scores of lists beyond memory are counted in."""
MAX_LISTED_BINS = 1 << 20
"""Of more bins than this, only those are made that have a score."""
MAX_STEPS = 1 << 50
"""Most steps from zero to a score: beyond them the next edge cannot be told from the last."""


@dataclass(frozen=True)
class Bins:
    """Where a score is counted: at itself, or at the lower edge of its bin.

    Examples
    --------
    >>> Bins("0.01", (0.333,)).binned(np.array([0.07, 0.079, 0.3329, 0.334, np.inf])).tolist()
    [0.07, 0.07, 0.33, 0.333, inf]
    """

    step: str = ""  # width of a bin as a decimal number; empty for none
    thresholds: tuple[float, ...] = ()  # rising; edges as well or, without a step, the only ones

    @property
    def is_exact(self) -> bool:
        """Whether each score is counted at itself."""
        return not self.step and not self.thresholds

    @property
    def no_curve_reason(self) -> str:
        """Why there is no curve of error rates; empty if there is one."""
        return COUNTED_AT_THRESHOLDS if self.thresholds and not self.step else ""

    @property
    def width(self) -> float:
        """Of a bin; 0 where nothing is lost by it."""
        return float(self.step or 0)

    @cached_property
    def _ratio(self) -> tuple[float, float]:
        numerator, denominator = Decimal(self.step).as_integer_ratio()
        return float(numerator), float(denominator)

    def binned(self, scores: FloatArray) -> FloatArray:
        """Where each score is counted: the same place in whatever file it stands."""
        if self.is_exact:
            return scores
        edges = np.full(scores.shape, -np.inf)
        if self.step:
            finite = np.isfinite(scores)
            edges[finite] = self._edges(scores[finite])
            edges[~finite] = scores[~finite]
        if self.thresholds:
            lowest = np.array([-np.inf, *self.thresholds])
            threshold_edges = lowest[EdgeSearch(lowest[1:]).step_indices(scores)]
            edges = np.maximum(edges, threshold_edges)
        return edges

    def _edges(self, scores: FloatArray) -> FloatArray:
        """Lower edges: whole multiples of the step, each the nearest number to its decimal."""
        numerator, denominator = self._ratio
        if np.abs(scores).max(initial=0.0) > MAX_STEPS * self.width:
            msg = (
                f"--step {self.step}: is too small for scores as far from 0 as "
                f"{float(np.abs(scores).max()):.6g}"
            )
            hint = "give a larger step"
            raise ConfigError(msg, hint)
        multiple = np.floor(scores / self.width)
        multiple -= multiple * numerator / denominator > scores
        multiple += (multiple + 1) * numerator / denominator <= scores
        edges: FloatArray = multiple * numerator / denominator
        return edges

    def edges_between(self, low: float, high: float) -> FloatArray:
        """Where scores from `low` to `high` are counted: every place that there is, rising.

        Examples
        --------
        >>> Bins("0.5", (0.7,)).edges_between(0.2, 1.2).tolist()
        [0.0, 0.5, 0.7, 1.0]
        >>> Bins("", (0.7,)).edges_between(0.2, 1.2).tolist()
        [-inf, 0.7]
        """
        edges = np.array([-np.inf])
        if self.step:
            numerator, denominator = self._ratio
            first, last = (float(edge) for edge in self._edges(np.array([low, high])))
            multiples = np.arange(np.rint(first / self.width), np.rint(last / self.width) + 1)
            edges = multiples * numerator / denominator
        threshold_edges = np.array([edge for edge in self.thresholds if edges[0] < edge <= high])
        return np.unique(np.concatenate((edges, threshold_edges)))

    def binned_positions(self, scores: FloatArray) -> tuple[FloatArray, NDArray[np.integer[Any]]]:
        """Where scores are counted, rising, and the place of each score among these.

        Examples
        --------
        >>> values, place = Bins("0.5").binned_positions(np.array([0.7, 0.2, 0.6]))
        >>> values[place].tolist()
        [0.5, 0.0, 0.5]
        """
        finite = scores if np.isfinite(scores).all() else scores[np.isfinite(scores)]
        low, high = float(finite.min(initial=np.inf)), float(finite.max(initial=-np.inf))
        are_few = high - low < MAX_LISTED_BINS * (self.width or np.inf)
        if self.is_exact or not finite.size or not are_few:
            edges, positions = np.unique(self.binned(scores), return_inverse=True)
            return edges, positions
        inner_edges = self.edges_between(low, high if self.step else np.inf)
        edges = np.unique(np.concatenate(([-np.inf], inner_edges, [np.inf] if self.step else [])))
        return edges, EdgeSearch(edges).step_indices(scores) - 1

    def has_threshold(self, threshold: float) -> bool:
        """Whether counts at this threshold are exact."""
        return bool(np.isinf(threshold) or self.binned(np.array([threshold]))[0] == threshold)

    @property
    def thresholds_in_words(self) -> str:
        """The first thresholds, and how many more there are."""
        listed = ", ".join(f"{t:g}" for t in self.thresholds[:8])
        return listed + (
            f" and {len(self.thresholds) - 8} more" if len(self.thresholds) > 8 else ""
        )

    def in_words(self) -> str:
        """In words, for messages."""
        listed = self.thresholds_in_words
        if self.step:
            edges = "an extra edge" if len(self.thresholds) == 1 else "extra edges"
            return f"bins of {self.step}" + (f" with {edges} at {listed}" if listed else "")
        return f"thresholds {listed}" if listed else "each score"


def parse_bins(step: object = None, thresholds: Sequence[object] = ()) -> Bins:
    """Read what a user gives as ``--step`` and ``--threshold``.

    Examples
    --------
    >>> parse_bins("0.010", ["1.5", "0.5"])
    Bins(step='0.01', thresholds=(0.5, 1.5))
    """
    width = ""
    if step is not None:
        try:
            number_of(step)
            number = Decimal(str(step))
        except (InvalidOperation, ValueError):
            number = Decimal(0)
        if not number.is_finite() or not Decimal("1e-15") <= number <= Decimal("1e15"):
            msg = f"--step {step}: is not the width of a bin"
            hint = "give one from 1e-15 to 1e15, for example 0.001"
            raise ConfigError(msg, hint)
        width = f"{number.normalize():f}"
    edges = []
    for threshold_text in thresholds:
        try:
            threshold = number_of(threshold_text)
        except ValueError:
            threshold = np.nan
        if not np.isfinite(threshold):
            msg = f"--threshold {threshold_text}: is not a number"
            hint = "give a score, for example 0.5"
            raise ConfigError(msg, hint)
        edges.append(threshold + 0.0)
    return Bins(width, tuple(sorted(set(edges))))


def even_edges(score_range: tuple[float, float], thresholds: Iterable[float]) -> FloatArray:
    """Return lower bin edges: an even grid over finite scores, the infinities, and thresholds."""
    grid = np.linspace(*score_range, N_EVEN_BINS)
    extra_edges = np.array(
        [threshold for threshold in thresholds if not np.isnan(threshold)], dtype=np.float64
    )
    return np.unique(np.concatenate(([-np.inf], grid, [np.inf], extra_edges)))
