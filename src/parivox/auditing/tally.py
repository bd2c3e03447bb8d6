"""Trials added up by who takes part in them: a table that adds up, and that a file can hold.

Once the thresholds are known, errors by speaker and by pair of speakers are told from nothing but
how many trials have the same class, speakers on both sides, groups of recordings and trials,
decision, and *step*: the number of thresholds at or below the score. Such a row is a trial that
weighs its number, so that it is placed in cells and tallied as trials are. Tallies of disjoint
trials add up, whichever way the trials are dealt.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.layout import Layout, walk
from parivox.errors import ConfigError
from parivox.read.checks import Trials
from parivox.read.counts_file import TALLY_KEY, TALLY_KEYS, damaged, read_tally, write_tally

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.core.counts import FloatArray, IntArray
    from parivox.read.grouping import Grouping, Sides
    from parivox.read.trialset import TrialSet

MOST_THRESHOLDS = 255
_KEPT = 1 << 22
"""Rows of several partitions that are kept before they are added up."""
_MOST = 1 << 52


@dataclass(frozen=True, eq=False)
class Tally:
    """Trials by class, speakers of both sides, groups, step and decision."""

    thresholds: FloatArray  # rising
    n_speakers: int  # of the table of speakers, by whose order they are numbered
    # groupings of recordings or trials whose groups `side` codes, with their numbers of groups.
    # Groups of speakers follow from who they are.
    sided: tuple[tuple[str, int], ...]
    # `target`; `enrol` and `test`, speakers; `side`; `step`, in [0, thresholds]; `accepted`, 1, 0,
    # or -1 where no decision is known; `trials`, their number. Each combination once, in rising
    # order.
    columns: Mapping[str, NDArray[Any]]

    def __len__(self) -> int:
        return int(self.columns["trials"].size)

    @property
    def n_trials(self) -> int:
        """All trials."""
        return int(self.columns["trials"].sum())

    def __add__(self, other: Tally) -> Tally:
        """The tally of both sets of trials, which share none.

        Raises
        ------
        ConfigError
            If they were made at other thresholds, of other speakers or other groupings.
        """
        for what, mine, theirs in (
            ("thresholds", self.thresholds.tolist(), other.thresholds.tolist()),
            ("speakers", self.n_speakers, other.n_speakers),
            ("groupings of recordings and trials", self.sided, other.sided),
        ):
            if mine != theirs:
                msg = f"tallies of other {what} do not add up; make both with the same"
                raise ConfigError(msg)
        return replace(self, columns=_total([self.columns, other.columns]))

    # what is asked of trials: rows are trials that weigh their number

    @property
    def utterance_speaker(self) -> NDArray[np.int32]:
        """Every speaker is the only recording of its own."""
        return np.arange(self.n_speakers, dtype=np.int32)

    def parts(self, layouts: Sequence[object]) -> Iterator[tuple[Trials, Sequence[int]]]:
        """The rows as trials with the highest threshold at or below their scores."""
        rows = self.columns
        score = np.append(-np.inf, self.thresholds)[rows["step"]]
        more = {"count": rows["trials"], "accepted": rows["accepted"], "side": rows["side"]}
        none = np.zeros(len(self), dtype=np.bool_)
        part = Trials(rows["enrol"], rows["test"], rows["target"], score, none, more)
        yield part, range(len(layouts))

    def decided(self, part: Trials) -> NDArray[np.int8]:
        """1 for accepted, 0 for rejected, -1 where it is not known."""
        return part.more["accepted"]

    def sides(self, grouping: Grouping) -> Callable[[Trials], Sides]:
        """What gives the groups of both sides of each row, -1 for none."""
        if grouping.of_speaker is not None:
            of_speaker = grouping.of_speaker.astype(np.int32)
            return lambda part: (of_speaker[part.enrol], of_speaker[part.test])
        names = [name for name, _ in self.sided]
        if grouping.name not in names:
            msg = f"the tally was made without {grouping.name}; make it again with that grouping"
            raise ConfigError(msg)
        at = names.index(grouping.name)
        base = np.prod([(n + 1) ** 2 for _, n in self.sided[at + 1 :]], dtype=np.int64)
        n = self.sided[at][1] + 1

        def sides(part: Trials) -> Sides:
            code = part.more["side"] // base
            enrol, test = ((one % n - 1).astype(np.int32) for one in (code // n, code))
            return enrol, test

        return sides

    # files

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write it as one file, all of it or nothing; it is personal data.

        Raises
        ------
        ConfigError
            If the file cannot be written.
        """
        header = {
            "thresholds": [one.hex() for one in self.thresholds.tolist()],
            "speakers": self.n_speakers,
            "sided": [[*one] for one in self.sided],
            "trials": self.n_trials,
        }
        write_tally(path, self.columns, header)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Tally:
        """Read what `write` wrote.

        Raises
        ------
        DataError
            If it is none, is damaged, or was made in another version.
        """
        columns, header = read_tally(path)
        try:
            made = cls(
                np.array([float.fromhex(one) for one in header["thresholds"]], dtype=np.float64),
                int(header["speakers"]),
                tuple((str(name), int(n)) for name, n in header["sided"]),
                columns,
            )
            is_whole = made.n_trials == header["trials"] and _fits(made)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise damaged(str(path), f"its metadata: {error}", TALLY_KEY) from error
        if not is_whole:
            raise damaged(str(path), "rows of other speakers, groups or thresholds", TALLY_KEY)
        return made


def tally_trials(
    trials: TrialSet,
    thresholds: FloatArray,
    n_speakers: int,
    groupings: Sequence[Grouping] = (),
) -> Tally:
    """Add up the trials of one list that contradict nothing, by who takes part in them.

    Parameters
    ----------
    thresholds : float64 ndarray of shape (threshold,)
        Rising; at most `MOST_THRESHOLDS`.
    n_speakers
        Of the table of speakers, which others of the list's tallies are numbered by too.
    groupings
        Of which those of recordings and trials are kept; those of speakers follow from these.

    Raises
    ------
    ConfigError
        If there are too many thresholds, or more combinations of groups than can be numbered.
    """
    sided = [one for one in groupings if one.of_speaker is None]
    sizes = [len(one.groups) + 1 for one in sided]
    if thresholds.size > MOST_THRESHOLDS or np.prod([float(n) ** 2 for n in sizes]) > _MOST:
        msg = (
            f"a tally of {thresholds.size} thresholds by {len(sided)} groupings of recordings and "
            f"trials is too large; take at most {MOST_THRESHOLDS} thresholds, and fewer groupings"
        )
        raise ConfigError(msg)
    sums: list[Mapping[str, NDArray[Any]]] = []
    for here in walk(trials, [Layout(one, "both", None) for one in sided]):
        part = here.part
        side = np.zeros(len(part), dtype=np.int64)
        for one, n in zip(sided, sizes, strict=True):
            for group in here.sides_by(one):
                side = side * n + group + 1
        accepted = np.full(len(part), -1, dtype=np.int8)
        rows = {
            "target": part.target,
            "enrol": trials.utterance_speaker[part.enrol],
            "test": trials.utterance_speaker[part.test],
            "side": side,
            "step": np.searchsorted(thresholds, part.score, side="right").astype(np.uint8),
            "accepted": trials.decided(part) if trials.has_decisions else accepted,
            "trials": np.ones(len(part), dtype=np.int64),
        }
        sums.append(_total([rows]))
        if len(sums) > 1 and sum(one["trials"].size for one in sums) > _KEPT:
            sums = [_total(sums)]
    names = tuple((one.name, len(one.groups)) for one in sided)
    return Tally(thresholds, n_speakers, names, _total(sums))


def _total(several: Sequence[Mapping[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """Rows of several tables: each combination once, in rising order."""
    every = {name: np.concatenate([one[name] for one in several]) for name in several[0]}
    people, other = _codes(every)
    order = np.lexsort((other, people))
    people, other = people[order], other[order]
    starts = np.ones(order.size, dtype=np.bool_)
    starts[1:] = (people[1:] != people[:-1]) | (other[1:] != other[:-1])
    first = np.flatnonzero(starts)
    made = {name: every[name][order[first]] for name in TALLY_KEYS}
    n = every["trials"][order]
    made["trials"] = np.add.reduceat(n, first) if first.size else n
    return made


def _codes(rows: Mapping[str, NDArray[Any]]) -> tuple[IntArray, IntArray]:
    """Two numbers that tell rows apart and order them by columns: people; side, step, decision."""
    enrol, test = (rows[side].astype(np.int64) for side in ("enrol", "test"))
    n = int(max(enrol.max(initial=0), test.max(initial=0))) + 1
    people = (rows["target"] * n + enrol) * n + test
    other = (rows["side"] * (MOST_THRESHOLDS + 1) + rows["step"]) * 3 + rows["accepted"] + 1
    return people, other


def _fits(tally: Tally) -> bool:
    """Whether all that the rows name is there."""
    rows, n_sides = tally.columns, np.prod([(n + 1) ** 2 for _, n in tally.sided], dtype=np.int64)
    limits = {
        "enrol": (0, tally.n_speakers - 1),
        "test": (0, tally.n_speakers - 1),
        "side": (0, int(n_sides) - 1),
        "step": (0, tally.thresholds.size),
        "accepted": (-1, 1),
        "trials": (1, _MOST),
    }
    rises = bool((np.diff(tally.thresholds) > 0).all())
    return rises and all(
        bool(((rows[name] >= low) & (rows[name] <= high)).all())
        for name, (low, high) in limits.items()
    )
