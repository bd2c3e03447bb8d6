"""What a check found: of each question, a figure against its threshold, and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from parivox.errors import ConfigError
from parivox.read.table import Table
from parivox.shown import Shown
from parivox.trials.description import to_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Verdict = Literal["pass", "fail", "not checked", "told"]
    Floats = NDArray[np.float64]

CHECKS = {
    "G1": "as many target as nontarget trials for each speaker",
    "G2": "nontarget trials for each speaker",
    "G3": "equally many trials for each speaker",
    "G4": "the same mix of grades for each speaker",
    "G5": "the mix of grades that was wished for",
    "G6": "variants of the list",
    "G7": "speakers in each group",
    "G8": "nontarget trials alike in all groups",
    "G9": "trivial target trials alike in all groups",
    "G10": "no trial twice",
}
"""The guidelines of docs/references.md#paper-002, section 5, and four more, by their ids."""
THRESHOLDS = {
    "G1": 0.0,
    "G2": 500.0,
    "G3": 1.0,
    "G4": 0.02,
    "G5": 0.02,
    "G6": 5.0,
    "G7": 10.0,
    "G8": 0.02,
    "G9": 0.02,
    "G10": 0.0,
}
"""What each statistic is held against: G2, G6 and G7 pass from there on, others up to there."""
_COLUMNS = {
    "id": "str",
    "what": "str",
    "verdict": "str",
    "statistic": "float",
    "threshold": "float",
    "offenders": "int",
    "sentence": "str",
    "mend": "str",
}


@dataclass(frozen=True)
class Finding:
    """One line of a check.

    Attributes
    ----------
    id : str
        ``G1`` to ``G10`` for what passes or fails; a word for what is told.
    what : str
    verdict : {"pass", "fail", "not checked", "told"}
    statistic, threshold : float or None
        The figure that decides, and what it is held against.
    offenders : int
        How many speakers, groups or trials are at fault.
    sentence : str
        The figures in words, without ids of speakers.
    mend : str
        What to do; empty where there is nothing to do.
    """

    id: str
    what: str
    verdict: Verdict
    statistic: float | None = None
    threshold: float | None = None
    offenders: int = 0
    sentence: str = ""
    mend: str = ""


@dataclass(frozen=True, eq=False)
class Checked(Shown):
    """What a list can and cannot show.

    Attributes
    ----------
    name : str
        The file.
    groupings, graded_by : tuple of str
        What trials were grouped by, and what defines their difficulty.
    findings : tuple of Finding
    tables : dict of str to Table
        ``checks``, which holds the findings, and those of a
        :class:`~parivox.trials.description.Description`.
    """

    name: str
    groupings: tuple[str, ...]
    graded_by: tuple[str, ...]
    findings: tuple[Finding, ...]
    tables: dict[str, Table]

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return not self.failed

    @property
    def failed(self) -> tuple[Finding, ...]:
        """Checks that failed."""
        return tuple(one for one in self.findings if one.verdict == "fail")

    def __getitem__(self, id: str) -> Finding:  # noqa: A002 - what findings call it
        return {one.id: one for one in self.findings}[id]

    def to_json(self) -> str:
        """Findings and tables as JSON, a column a list; infinite values as "inf"."""
        head = {
            "list": self.name,
            "by": self.groupings,
            "grade_by": self.graded_by,
            "passed": self.passed,
        }
        return to_json(head, self.tables)


def as_table(findings: tuple[Finding, ...]) -> Table:
    """Findings, one a row."""
    rows = [asdict(one) for one in findings]
    return Table.of({name: [row[name] for row in rows] for name in _COLUMNS}, _COLUMNS)


def parse_thresholds(given: Any) -> dict[str, float]:
    """Thresholds of all checks, with those given in the place of the usual ones.

    Examples
    --------
    >>> parse_thresholds({"G2": 100})["G2"]
    100.0
    """
    if given is not None and not isinstance(given, Mapping):
        msg = f"thresholds={given!r} is no mapping; give one, as in {{'G2': 100}}"
        raise ConfigError(msg)
    found = dict(THRESHOLDS)
    for name, value in (given or {}).items():
        if name not in found:
            msg = f"--threshold {name!r} is no check; choose from {', '.join(found)}"
            raise ConfigError(msg)
        try:
            found[name] = float(value)
        except (TypeError, ValueError):
            found[name] = -1.0
        if not 0 <= found[name] < float("inf"):
            msg = f"--threshold {name}={value!r}: is no number from 0; write it as in G2=100"
            raise ConfigError(msg)
    return found


def percent(share: float) -> str:
    """A share as a percentage with one decimal.

    Examples
    --------
    >>> percent(0.45692), percent(float("nan"))
    ('45.7 %', 'n.k.')
    """
    return "n.k." if np.isnan(share) else f"{100 * share:.1f} %"


def number_of(n: int, what: str) -> str:
    """A number and what it counts, in the plural where it must be.

    Examples
    --------
    >>> number_of(1, "trial"), number_of(2_000, "trial")
    ('1 trial', '2,000 trials')
    """
    return f"{n:,} {what}{'s' * (n != 1)}"


def range_of(values: NDArray[np.integer]) -> str:
    """The least and the most of some counts.

    Examples
    --------
    >>> range_of(np.array([3, 1000])), range_of(np.array([5, 5]))
    ('3 to 1,000', '5')
    """
    least, most = int(values.min()), int(values.max())
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def share_range(groups: Sequence[str], share: Floats) -> str:
    """The lowest and the highest share that is known, and whose they are, if they differ.

    Examples
    --------
    >>> share_range(["f", "m", "x"], np.array([0.5, 0.25, np.nan]))
    '25.0 % (m) to 50.0 % (f)'
    """
    low, high = int(np.nanargmin(share)), int(np.nanargmax(share))
    if share[low] == share[high]:
        return f"{percent(share[low])} (every group)"
    return f"{percent(share[low])} ({groups[low]}) to {percent(share[high])} ({groups[high]})"
