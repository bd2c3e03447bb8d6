"""Who can take part in an inclusive list: speakers with enough pairs of every grade."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parivox.trials.pairs import mated

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from parivox.trials.draws import Ints
    from parivox.trials.pairs import Numbered
    from parivox.trials.pool import Pool

__all__ = ["Part", "Wanted", "rounded"]


class Part(NamedTuple):
    """Nontarget trials of one grade that speakers of one class enrol for.

    Attributes
    ----------
    grade, n : int
        How hard, and how many for each speaker.
    column : int
        Where they stand among the nontarget trials of a speaker.
    members, partners : int64 ndarray
        Speakers on either side.
    is_one : bool
        Whether these are the same.
    """

    grade: int
    n: int
    column: int
    members: Ints
    partners: Ints
    is_one: bool


@dataclass(frozen=True, eq=False)
class Wanted:
    """What each speaker is to have.

    Attributes
    ----------
    pool : Pool
    n : int
        Target pairs, and nontarget pairs.
    target_mix, mix : dict
        Shares of grades.
    balanced : bool
        Whether partners take turns.
    literal : bool
        As the paper's listing: more than `n`, and pairs may repeat.
    target_pairs : dict
        All target pairs by grade.
    """

    pool: Pool
    n: int
    target_mix: Mapping[int, float]
    mix: Mapping[int, float]
    balanced: bool
    literal: bool
    target_pairs: Mapping[int, Numbered]

    @classmethod
    def of(
        cls,
        pool: Pool,
        n: int,
        target_grades: tuple[int, ...],
        mix: Mapping[int, float],
        *,
        balanced: bool,
        literal: bool,
    ) -> Wanted:
        """Number the target pairs that there are; target grades have equal shares."""
        return cls(pool, n, {}, mix, balanced, literal, {}).with_targets(target_grades)

    def with_targets(self, grades: tuple[int, ...]) -> Wanted:
        """The same, with target pairs of these grades."""
        pool, shares = self.pool, dict.fromkeys(grades, 1 / len(grades))
        pairs = {grade: mated(pool.start, pool.recording_end, grade) for grade in grades}
        return replace(self, target_mix=shares, target_pairs=pairs)

    @property
    def target_counts(self) -> dict[int, int]:
        """Target pairs of each speaker by grade."""
        return rounded(self.n, self.target_mix)

    def most(self, speakers: int) -> int:
        """The largest n at which so many speakers take part; 0 if there is none."""

        def is_enough(n: int) -> bool:
            return replace(self, n=n).reasons().count("") >= speakers

        low, high = 0, self.n
        while is_enough(high):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if is_enough(middle) else (low, middle)
        return low

    def reasons(self) -> list[str]:
        """Why each speaker takes no part; empty for those that do."""
        pool, more = self.pool, int(self.literal)
        found = np.full(pool.sizes.size, "", dtype=object)
        found[pool.group < 0] = f"{pool.by} is not known"
        found[pool.classes.of_speaker < 0] = f"{' or '.join(pool.graded_by)} is not known"
        for grade, n in self.target_counts.items():
            there = self.target_pairs[grade].within(pool.start)
            words = f"fewer than {n + more:,} target pairs of grade {grade}"
            found[(found == "") & (there < n + more)] = words
        while short := self._short(found == ""):
            for speaker, reason in short.items():
                found[speaker] = reason
        return [str(one) for one in found]

    def parts(self, is_in: NDArray[np.bool_]) -> list[Part]:
        """Nontarget trials among these speakers, those of the hardest grade first."""
        classes, found, column = self.pool.classes, [], 0
        of = np.where(is_in, classes.of_speaker, -1)
        for grade, n in rounded(self.n, self.mix).items():
            for one in np.unique(of[of >= 0]).tolist():
                others = np.flatnonzero(classes.grade[one] == grade)
                partners = np.flatnonzero(np.isin(of, others))
                members = np.flatnonzero(of == one)
                found.append(Part(grade, n, column, members, partners, one in others))
            column += n
        return found

    def _short(self, is_in: NDArray[np.bool_]) -> dict[int, str]:
        """Speakers among these who have too few nontarget pairs with the others."""
        parts = self.parts(is_in)
        alone = {
            i: f"no partner of grade {part.grade}"
            for part in parts
            if part.partners.size <= part.is_one
            for i in part.members.tolist()
        }
        if alone:
            return alone
        few = "fewer than {:,} distinct nontarget pairs of grade {}"
        if not self.balanced:
            return {
                i: few.format(part.n + self.literal, part.grade)
                for part in parts
                for i in self._poor(part).tolist()
            }
        return {
            i: few.format(n, grade)
            for grade, n in rounded(self.n, self.mix).items()
            for i in self._crowded(is_in, grade, n).tolist()
        }

    def _poor(self, part: Part) -> Ints:
        """Those with fewer pairs than drawing takes: twice n, as partners draw from them too."""
        sizes = self.pool.sizes
        own = sizes[part.members]
        there = own * (sizes[part.partners].sum() - part.is_one * own)
        few = there < (part.n + 1 if self.literal else 2 * part.n)
        return np.asarray(part.members[few])

    def _crowded(self, is_in: NDArray[np.bool_], grade: int, n: int) -> Ints:
        """Those with the fewest utterances, where two meet more often than they have pairs."""
        classes = self.pool.classes
        who = np.flatnonzero(is_in)
        who = who[np.lexsort((-who, self.pool.sizes[who], classes.of_speaker[who]))]
        of = classes.of_speaker[who]
        present, first, count = np.unique(of, return_index=True, return_counts=True)
        sizes = self.pool.sizes[who]
        fewest = sizes[first]
        is_met = classes.grade[np.ix_(present, present)] == grade
        each = -(-n // (is_met @ count - is_met.diagonal()))  # how often one meets each partner
        pairs = np.multiply.outer(fewest, fewest)
        is_crowded = is_met & (pairs < np.add.outer(each, each))
        own = fewest * sizes[np.minimum(first + 1, who.size - 1)]
        np.fill_diagonal(is_crowded, is_met.diagonal() & (own * (count - 1) < 2 * n))
        c, d = np.nonzero(is_crowded)
        return np.asarray(who[np.unique(first[np.where(fewest[c] <= fewest[d], c, d)])])


def rounded(n: int, shares: Mapping[int, float]) -> dict[int, int]:
    """Whole numbers in these shares that add up to n, by largest remainder.

    Examples
    --------
    >>> rounded(10, {4: 0.55, 3: 0.25, 1: 0.2})
    {4: 6, 3: 2, 1: 2}
    """
    exact = {grade: round(n * share, 9) for grade, share in shares.items()}
    found = {grade: int(x) for grade, x in exact.items()}
    left = sorted(exact, key=lambda grade: (found[grade] - exact[grade], -grade))
    for grade in left[: n - sum(found.values())]:
        found[grade] += 1
    return {grade: count for grade, count in found.items() if count}
