"""What differences between groups a list can show, if speakers vary as in a pilot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.core.planning import Sample, detectable_ratio
from parivox.errors import ConfigError
from parivox.trials.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from parivox.trials.description import Description

    Row = dict[str, Any]

__all__ = ["detectable"]

_CLASS = {"fnr": ("target", 1), "fpr": ("nontarget", 2)}
"""Trials whose errors a rate counts, and the speakers of such a trial."""


def detectable(about: Description, pilot: Any) -> Iterator[Finding]:
    """The least ratio of a group's rate to that of all others that would be detected.

    Parameters
    ----------
    about
        What the list holds.
    pilot
        A :class:`~parivox.auditing.plan.Plan` made of a pilot: its rates, correlations within
        speakers, power and confidence count, not its numbers of speakers and trials.
    """
    rows = [row for row in pilot.groups.rows() if not row["within"]]
    if not rows:
        msg = "the pilot tells of no group; make the plan from an audit with intervals"
        raise ConfigError(msg)
    how = {name: pilot.asked[name] for name in ("power", "confidence")}
    for name in about.groupings:
        own = about.tables["groups"].where(grouping=name).rows()
        for metric, (label, sides) in _CLASS.items():
            theirs = [
                row
                for row in rows
                if row["metric"] == metric and row["grouping"].lower() == name.lower()
            ]
            first = {row["group"]: row for row in reversed(theirs)}
            yield _of_rate(name, metric, _ratios(own, first, label, sides, how), how)


def _ratios(
    own: Sequence[Row], pilot: dict[str, Row], label: str, sides: int, how: dict[str, float]
) -> dict[str, float]:
    """The ratio of each group that the pilot knows; NaN where none would be detected."""
    known = [row for row in own if (pilot.get(row["group"]) or {}).get("icc") is not None]
    known = [row for row in known if row[label] and pilot[row["group"]]["rate"]]
    speakers, trials, spread = (
        np.array([row[key] for row in known], dtype=float)
        for key in ("speakers", label, "effective_speakers")
    )
    icc, rate = (np.array([pilot[row["group"]][key] for row in known]) for key in ("icc", "rate"))
    each = sides * trials / speakers
    excess = trials * np.maximum(each - 1, 0) * icc
    rest = [one.sum() - one for one in (speakers, trials, excess, spread)]
    with np.errstate(invalid="ignore", divide="ignore"):
        others = sides * rest[1] / rest[0]
        together = np.nan_to_num(rest[2] / (rest[1] * (others - 1)))
        group = Sample(speakers, each, icc, sides, np.maximum(spread - 1, 1))
        reference = Sample(rest[0], others, together, sides, np.maximum(rest[3] - 1, 1))
        found = detectable_ratio(
            rate, group, reference, power=how["power"], confidence=how["confidence"]
        )
    return dict(zip((row["group"] for row in known), np.atleast_1d(found).tolist(), strict=True))


def _of_rate(
    grouping: str, metric: str, ratios: dict[str, float], how: dict[str, float]
) -> Finding:
    what = f"least {metric.upper()} ratio of {grouping} to be detected"
    name = f"detectable {metric} {grouping}"
    if len(ratios) < 2:
        words = f"the pilot does not tell how {metric.upper()} of these groups varies"
        return Finding(name, what, "told", sentence=words, mend="make a pilot of these groups")
    seen = {group: ratio for group, ratio in ratios.items() if np.isfinite(ratio)}
    never = len(ratios) - len(seen)
    worst = max(seen.values(), default=None)
    words = "none is"
    if seen:
        low, high = (pick(seen, key=seen.__getitem__) for pick in (min, max))
        words = f"from x {seen[low]:.2f} ({low}) to x {seen[high]:.2f} ({high})"
    words += f" at a power of {how['power']:g}"
    if never:
        words += f"; of {never:,} groups none, however large"
    mend = "more speakers in these groups: parivox plan tells how many" if never else ""
    return Finding(name, what, "told", worst, None, never, words, mend)
