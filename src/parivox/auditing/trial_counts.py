"""Counts of trials in the place of the trials: what an audit of a file of counts measures.

Every row holds the groups of both sides, so every allocation, the pooled row, the matrix between
groups and the levels of ``--within`` are sums of rows. The rows of one grouping within one
attribute's levels (or within none) are a *block*; each block holds every trial.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from parivox.auditing.beside import Share
from parivox.errors import ConfigError
from parivox.tables.counts_file import KEY, VERSION, write_file
from parivox.tables.notes import DataNote
from parivox.tables.validation import Trials

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.bins import Bins
    from parivox.auditing.cells import Codes, Layout
    from parivox.auditing.operating_points import Found
    from parivox.tables.counts_file import CountRows
    from parivox.tables.groups import Grouping

    Place: TypeAlias = tuple[str, str, str]
    """Grouping, level as the column ``within`` has it, and group."""

__all__ = ["Note", "Seen", "TrialCounts"]

DECISIONS, FAILURES, LLR, SCORES, SECONDS, SIMILARITY, THRESHOLDS = (
    *("decisions", "failures", "log-likelihood ratios", "scores"),
    *("seconds", "scores taken as similarities", "thresholds"),
)


@dataclass(frozen=True)
class Note(DataNote):
    """A line of what was read, perhaps of one group; those of trials add up over files."""

    grouping: str = ""
    group: str = ""

    @property
    def adds_up(self) -> bool:
        """Whether it counts trials or rows, not speakers or recordings, who may be in two files."""
        return self.source in {"scores", "trials"} and not self.item.startswith(
            ("utterance", "enrolment", "speaker")
        )


@dataclass(frozen=True)
class Seen:
    """Speakers and recordings of one block: what only the trials themselves can tell.

    Attributes
    ----------
    speakers : dict of str to list
        By allocation, of each level: those of each group and, last, of all groups.
    failed : dict of str to list
        ``enrolments`` and ``recordings``, of each level: how many failed of how many of each
        group and, last, of all groups; None where it cannot be told.
    """

    speakers: dict[str, list[list[int | None]]]
    failed: dict[str, list[list[list[int] | None]]]


@dataclass(frozen=True, eq=False)
class TrialCounts:
    """Trials of one system on one list as counts, without any id.

    Attributes
    ----------
    system, list : str
        Names; both may be empty.
    rows : CountRows
    groupings, within : tuple of Grouping
    bins : Bins
        Where scores are counted.
    told : frozenset of str
        What the trials tell: scores, decisions, thresholds, failures, seconds; and how their
        scores are to be read.
    least : int
        Groups of fewer speakers were withheld.
    withheld : dict of (grouping, level, group) to str
        Why a group is withheld.
    levels_withheld : dict of (within, level) to str
        Likewise for levels, which are not in `within` then.
    sources : tuple of str
        Hash of the trials of each file, rising.
    seen : tuple of Seen, or None
        Of each block, then of all trials and of all within the levels of each of `within`; None
        where several files are added up.
    notes : tuple of Note
    chosen_by : str
        Who chose the groupings.
    name : str
        The file, for messages.
    provenance : sequence of dict
        What was read.
    """

    system: str
    list: str
    rows: CountRows
    groupings: tuple[Grouping, ...]
    within: tuple[Grouping, ...]
    bins: Bins
    told: frozenset[str]
    least: int
    withheld: Mapping[Place, str]
    levels_withheld: Mapping[tuple[str, str], str]
    sources: tuple[str, ...]
    seen: tuple[Seen, ...] | None
    notes: tuple[Note, ...]
    chosen_by: str
    name: str = "counts"
    provenance: Sequence[dict[str, Any]] = field(default_factory=list)

    n_partitions = 1
    is_counts = True

    # what Measurement asks of trials

    @property
    def is_scored(self) -> bool:
        """Whether the trials have scores."""
        return SCORES in self.told

    @property
    def is_exact(self) -> bool:
        """Whether no number that is told comes from bins."""
        return not self.bins.step

    @property
    def has_decisions(self) -> bool:
        """Whether decisions are known."""
        return DECISIONS in self.told

    @property
    def failures(self) -> frozenset[str] | None:
        """Not None where failures are told of."""
        return self.told if FAILURES in self.told else None

    @property
    def more(self) -> frozenset[str]:
        """What the rows hold besides, in the words of ``Trials.more``."""
        found = {"threshold" if THRESHOLDS in self.told else "", SECONDS if SECONDS in self.told else ""}
        return frozenset(found - {""})

    @property
    def data(self) -> Sequence[Note]:
        """What was counted, derived and set aside."""
        return self.notes

    @cached_property
    def columns(self) -> dict[str, NDArray[Any]]:
        """The rows."""
        return self.rows.columns()

    @cached_property
    def thresholds(self) -> NDArray[np.float64]:
        """Deployed thresholds, rising, then NaN."""
        level = self.columns["threshold"]
        return np.append(np.unique(level[~np.isnan(level)]), np.nan)

    @cached_property
    def content_sha256(self) -> str:
        """Hash of the trials or, of several files, of their hashes."""
        from hashlib import sha256  # noqa: PLC0415 - of several files only

        one, *rest = self.sources
        return one if not rest else sha256("\n".join(self.sources).encode()).hexdigest()

    @property
    def n_trials(self) -> int:
        """Trials with a score or decision."""
        rows = self.columns
        return int(rows["count"][(rows["block"] == 0) & (rows["failed"] == 0)].sum())

    def decided(self, part: Trials) -> NDArray[np.int8]:
        """1 for accepted, 0 for rejected, -1 where it is not known."""
        return part.more["accepted"]

    def on(self, grouping: Grouping) -> Callable[[Trials], tuple[Codes, Codes]]:
        """What gives the group of either side, or the level, of the rows of a block."""
        if any(grouping is one for one in self.within):
            return lambda part: (part.more["level"], part.more["level"])
        return lambda part: (part.enrol, part.test)

    def parts(self, layouts: Sequence[Layout]) -> Iterator[tuple[Trials, list[int]]]:
        """Rows of one block after the other as trials, and the layouts that they count in."""
        names = [one.name for one in self.groupings]
        levels = ["", *(one.name for one in self.within)]
        blocks: dict[int, list[int]] = {}
        for i, one in enumerate(layouts):
            at = levels.index("" if one.within is None else one.within.name)
            group = 0 if one.grouping is None else names.index(one.grouping.name)
            blocks.setdefault(at * len(names) + group, []).append(i)
        for block, which in blocks.items():
            yield self._block(block), which

    def _block(self, block: int) -> Trials:
        here = self.columns["block"] == block
        rows = {name: column[here] for name, column in self.columns.items()}
        levels = self.thresholds[:-1]
        threshold = np.searchsorted(levels, rows["threshold"]).astype(np.int32)
        threshold[np.isnan(rows["threshold"])] = -1
        more = {
            **{name: rows[name] for name in ("count", "timed", "accepted", "failed", "level")},
            "threshold": threshold,
            "seconds": rows["microseconds"],
        }
        every = Trials(
            *(rows["enrol_group"], rows["test_group"], rows["target"], rows["value"]),
            np.zeros(threshold.size, dtype=np.bool_),
            more,
        )
        failed = rows["failed"] > 0
        scored = every.take(~failed)
        return Trials(
            *(scored.enrol, scored.test, scored.target, scored.score, scored.conflict),
            scored.more,
            every.take(failed) if failed.any() else None,
        )

    def speakers(self, layout: Layout) -> list[list[int | None]]:
        """Speakers of each group and, last, of all groups, for each level."""
        if self.seen is None:
            return [[None] * (layout.groups + 1)] * layout.levels
        return self._seen(layout).speakers[layout.allocation]

    def shares(self, layout: Layout, kind: str) -> list[list[Share | None]]:
        """Failed enrolments or recordings likewise; None where they cannot be told."""
        if self.seen is None:
            return [[None] * (layout.groups + 1)] * layout.levels
        return [
            [None if one is None else Share(*one) for one in level]
            for level in self._seen(layout).failed[kind]
        ]

    def _seen(self, layout: Layout) -> Seen:
        assert self.seen is not None
        levels = ["", *(one.name for one in self.within)]
        at = levels.index("" if layout.within is None else layout.within.name)
        n = len(self.groupings)
        if layout.grouping is None:
            return self.seen[len(levels) * n + at]
        return self.seen[at * n + [one.name for one in self.groupings].index(layout.grouping.name)]

    def missing(self, grouping: Grouping, level: str) -> list[str]:
        """Why each group is withheld within a level; empty for those that are not."""
        return [self.withheld.get((grouping.name, level, group), "") for group in grouping.groups]

    def check(self, found: Sequence[Found]) -> None:
        """Refuse operating points at which the counts are not exact."""
        for one in found:
            if not one.reason and not np.isnan(one.threshold) and not self.bins.has(one.threshold):
                msg = (
                    f"operating point {one.point.text!r}: {self.name} is counted at "
                    f"{self.bins.told()}, and {one.threshold:.12g} is none of its edges; take one, "
                    f"or count again with --threshold {one.threshold!r}"
                )
                raise ConfigError(msg)

    def header(self) -> dict[str, Any]:
        """What the file says of its rows."""
        from parivox import __version__  # noqa: PLC0415 - the version of the whole

        return {
            KEY: VERSION,
            "parivox": __version__,
            "system": self.system,
            "list": self.list,
            "sources": [*self.sources],
            "trials": self.n_trials,
            "told": sorted(self.told),
            "step": self.bins.step,
            "thresholds": [*self.bins.thresholds],
            "withhold": self.least,
            "withheld": [[*place, why] for place, why in self.withheld.items()],
            "levels_withheld": [[*place, why] for place, why in self.levels_withheld.items()],
            "groupings": [_told(one) for one in self.groupings],
            "within": [_told(one) for one in self.within],
            "groupings_chosen_by": self.chosen_by,
            "seen": None
            if self.seen is None
            else [{"speakers": one.speakers, "failed": one.failed} for one in self.seen],
            "notes": [
                [one.source, one.item, one.count, one.note, one.grouping, one.group]
                for one in self.notes
            ],
        }

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the counts as one file, all of it or nothing.

        Raises
        ------
        ConfigError
            If the file cannot be written, or is there and holds no counts.
        """
        write_file(path, self.rows.written(self.header()))

    def __repr__(self) -> str:
        by = ", ".join(one.name for one in self.groupings)
        return f"<{self.n_trials:,} trials as counts by {by}; {len(self.rows):,} rows>"


def _told(grouping: Grouping) -> dict[str, Any]:
    """A grouping: its attributes with their values in order, and each group as places of values."""
    values = grouping.values
    places = [{value: i for i, value in enumerate(one)} for one in values]
    return {
        "name": grouping.name,
        "attributes": [*grouping.attributes],
        "values": [[*one] for one in values],
        "groups": [
            [place[value] for place, value in zip(places, part, strict=True)]
            for part in grouping.parts
        ],
        "of_speakers": grouping.of_speaker is not None,
    }
