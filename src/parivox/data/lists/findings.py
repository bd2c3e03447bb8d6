"""A check of a trial list, and what it finds."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from parivox.shown import CATALOGUE_MODULE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Verdict = Literal["pass", "fail", "not checked", "told"]


@dataclass(frozen=True)
class Finding:
    """One line of a check.

    Attributes
    ----------
    id : str
        ``G1`` to ``G15`` for what passes or fails; a word for what is told.
    title : str
        The check, or what the remark is on, as a fact.
    verdict : {"pass", "fail", "not checked", "told"}
    statistic, threshold : float or None
        The figure that decides, and what it is held against.
    offenders : int
        How many speakers, groups or trials are at fault.
    facts, remedies : str
        The figures, without ids of speakers, and what to do, as facts (`parivox.facts`).
    what, sentence, mend : str
        Title, facts and remedies in words; the last is empty if nothing is to be done.
    """

    id: str
    title: str
    verdict: Verdict
    statistic: float | None = None
    threshold: float | None = None
    offenders: int = 0
    facts: str = ""
    remedies: str = ""

    @property
    def what(self) -> str:
        """The title in words."""
        return str(import_module(CATALOGUE_MODULE).cell_text(self.title))

    @property
    def sentence(self) -> str:
        """The figures in words."""
        return str(import_module(CATALOGUE_MODULE).cell_text(self.facts))

    @property
    def mend(self) -> str:
        """What to do, in words."""
        return str(import_module(CATALOGUE_MODULE).cell_text(self.remedies))


class Check(NamedTuple):
    """A guideline, and what its statistic is held against."""

    id: str
    title: str
    threshold: float
    is_least: bool = False  # passes from the threshold on, else up to there
    is_share: bool = False

    def is_violated(self, statistics: Any) -> NDArray[np.bool_]:
        """Return which statistics do not pass."""
        figures = np.asarray(statistics, dtype=np.float64)
        if self.is_least:
            return figures < self.threshold
        return figures > self.threshold + 1e-12  # shares are quotients: rounding is no violation

    def finding(self, statistic: float, facts: str, *, offenders: int, remedy: str) -> Finding:
        """Return that the check passes or fails."""
        fails = bool(self.is_violated(statistic))
        return Finding(
            id=self.id,
            title=self.title,
            verdict="fail" if fails else "pass",
            statistic=float(statistic),
            threshold=self.threshold,
            offenders=offenders if fails else 0,
            facts=facts,
            remedies=remedy if fails else "",
        )

    def unchecked(self, reason: str, remedy: str) -> Finding:
        """Return that the check cannot be made, and why."""
        return Finding(
            id=self.id,
            title=self.title,
            verdict="not checked",
            threshold=self.threshold,
            facts=reason,
            remedies=remedy,
        )


def percent(share: float) -> str:
    """Return a share as a percentage with one decimal.

    >>> percent(0.45692), percent(float("nan"))
    ('45.7 %', 'unknown')
    """
    return "unknown" if np.isnan(share) else f"{100 * share:.1f} %"
