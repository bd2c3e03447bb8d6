"""Whether rows of different blocks can be told to be of the same trials.

Every block holds every trial. A score that one trial alone has joins its rows of all blocks, and so
tells what is withheld: its groups by all groupings together. A score that many trials of each
group share joins nothing, nor do a few values that all have. What is counted beside others is
therefore refused where it is too rare.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from parivox.errors import ConfigError
from parivox.read.bins import Bins
from parivox.read.counts_file import CountRows

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import NDArray

    from parivox.auditing.counts.trial_counts import TrialCounts

__all__ = ["FEW", "RARE", "apart", "check_links", "has_few_values"]

FEW = 16
"""So many values of a class, such as accepted and rejected, tell no trial from others."""
RARE = 0.1
"""Largest share of a group's trials whose value fewer of the group have than may be withheld."""
_FINE = 4
_CELL = ("block", "level", "enrol_group", "test_group", "target")


def check_links(counts: TrialCounts) -> None:
    """Refuse counts that tell what they withhold, to one who joins rows of equal scores.

    Raises
    ------
    ConfigError
        If a group's trials have rarer scores than can be told of several groupings.
    """
    if not counts.least:
        return
    blocks = apart(counts)
    if len(blocks) < 2 or has_few_values(counts.columns):
        return
    here = np.isin(counts.columns["block"], blocks)
    columns = {name: column[here] for name, column in counts.columns.items()}
    if not _is_rare(columns, counts.least):
        return
    width = _width(columns, counts) if counts.is_scored else ""
    mends = [f"--step {width}"] if width else []
    mends += ["fewer --threshold" if counts.bins.thresholds else "a few --threshold"]
    mends = [*(mends if counts.is_scored else []), "a single --by without --within"]
    at = counts.bins.told() if counts.is_scored else "each threshold"
    names = ", ".join(one.name for one in (*counts.groupings, *counts.within))
    msg = (
        f"{counts.name}: is counted by {names} at {at}, so that what is withheld could be had by "
        f"joining rows of rare values; give {', '.join(mends)}, or --withhold 0"
    )
    raise ConfigError(msg)


def apart(counts: TrialCounts) -> list[int]:
    """Blocks that tell more than another one does by itself.

    Groups by gender are sums of those by gender+nation, and add nothing to them unless some of
    these are withheld.
    """
    made: list[tuple[frozenset[str], bool]] = []
    for outer in (None, *counts.within):
        levels = ("",) if outer is None else tuple(f"{outer.name}={one}" for one in outer.groups)
        lost = outer is not None and any(of == outer.name for of, _ in counts.levels_withheld)
        for one in counts.groupings:
            of = {*one.attributes, *(() if outer is None else (f"within {outer.name}",))}
            is_whole = not lost and not any(
                (one.name, level, group) in counts.withheld
                for level in levels
                for group in one.groups
            )
            made.append((frozenset(of), is_whole))
    return [
        block
        for block, (mine, _) in enumerate(made)
        if not any(mine < other and is_whole for other, is_whole in made)
    ]


def has_few_values(columns: Mapping[str, NDArray[Any]]) -> bool:
    """Whether a class has so few values that no trial can be told by its own."""
    here = columns["block"] == columns["block"][0]  # each block holds every trial
    nowhere = np.zeros(int(here.sum()), dtype=np.int32)
    held = {name: column[here] for name, column in columns.items()}
    values = CountRows.total(
        [CountRows({**held, **dict.fromkeys(("level", "enrol_group", "test_group"), nowhere)})]
    )
    return bool(np.bincount(values.columns["target"].astype(np.int64)).max(initial=0) <= FEW)


def _is_rare(columns: Mapping[str, NDArray[Any]], least: int) -> bool:
    """Whether too many trials of a group have a value that too few others of it have."""
    for side in ("enrol_group", "test_group"):
        nobody = np.full(columns[side].size, -1, dtype=np.int32)
        rows = CountRows.total([CountRows({**columns, side: nobody})]).columns
        starts = np.ones(rows["count"].size, dtype=np.bool_)
        starts[1:] = np.any([rows[key][1:] != rows[key][:-1] for key in _CELL], axis=0)
        cell = np.cumsum(starts) - 1
        total = np.bincount(cell, rows["count"])
        rare = rows["count"] < np.minimum(least, total[cell])
        if (np.bincount(cell, rows["count"] * rare) > RARE * total).any():
            return True
    return False


def _width(columns: Mapping[str, NDArray[Any]], counts: TrialCounts) -> str:
    """Of bins that would do: 1, 2 or 5 and zeros; empty if none would."""
    value = columns["value"][np.isfinite(columns["value"])]
    if not value.size or value.min() == value.max():
        return ""
    top = math.ceil(math.log10(value.max() - value.min()))
    finest = max(top - _FINE, math.ceil(math.log10(np.abs(value).max())) - 12)
    widths = [
        f"{Decimal(one).scaleb(power):f}" for power in range(finest, top + 1) for one in (1, 2, 5)
    ]
    columns = _binned(columns, widths[0], counts)  # of which all wider ones are multiples
    fits = [one for one in widths if float(one) > counts.bins.width]
    found = ""
    while fits:  # the finest of them, as if any wider one would do as well
        at = (len(fits) - 1) // 2
        wider = _binned(columns, fits[at], counts)
        if has_few_values(wider) or not _is_rare(wider, counts.least):
            found, fits = fits[at], fits[:at]
        else:
            fits = fits[at + 1 :]
    return found


def _binned(
    columns: Mapping[str, NDArray[Any]], width: str, counts: TrialCounts
) -> Mapping[str, NDArray[Any]]:
    value = Bins(width, counts.bins.thresholds).of(columns["value"])
    return CountRows.total([CountRows({**columns, "value": value})]).columns
