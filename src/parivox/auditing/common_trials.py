"""Which trials systems and lists have in common, and so what a comparison of them is of.

A trial is its pair of ids, in their order, and its label. Systems on one list are compared on the
trials that all of them have; lists are other trials on purpose, and are compared as wholes.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from parivox.errors import ConfigError
from parivox.read.trialset import trial_keys

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.read.trialset import TrialSet


@dataclass(frozen=True, eq=False)
class CommonTrials:
    """What each two of several sets of trials have in common."""

    sets: Sequence[TrialSet]
    restricted: Mapping[int, TrialSet]
    """Of each set whose list has other trials too: those that all systems on the list have."""
    _digests: Sequence[bytes]
    _keys: Sequence[NDArray[np.int64]]

    @classmethod
    def of(cls, sets: Sequence[TrialSet]) -> CommonTrials:
        """Match the trials of every set with those of every other.

        Raises
        ------
        ConfigError
            If systems on one list have no trial in common, or too many to be matched.
        """
        digests = [_digest(one) for one in sets]
        on_list: dict[str, list[int]] = {}
        for i, one in enumerate(sets):
            on_list.setdefault(one.list, []).append(i)
        differing = [of for of in on_list.values() if len({digests[i] for i in of}) > 1]
        for i in (i for of in differing for i in of if not sets[i].is_exact):
            msg = (
                f"--compare: {_names(sets, differing[0])} have different trials, too many "
                f"({sets[i].n_trials:,}) to be matched with each other; give each system the same "
                "trials"
            )
            raise ConfigError(msg)
        is_matched = len(set(digests)) > 1 and all(one.is_exact for one in sets)
        keys = trial_keys(sets) if is_matched else []
        restricted: dict[int, TrialSet] = {}
        for of in differing:
            common = reduce(np.intersect1d, [keys[i] for i in of])
            if not common.size:
                msg = (
                    f"--compare: {_names(sets, of)} have no trial in common (the same two ids and "
                    "label); give them the same trials, or name their lists, as in A@x=a.csv "
                    "B@y=b.csv, to compare these as wholes"
                )
                raise ConfigError(msg)
            restricted |= {i: sets[i].only(np.isin(keys[i], common)) for i in of}
        return cls(sets, restricted, digests, keys)

    def is_restricted(self, i: int, j: int) -> bool:
        """Whether two sets are compared on the trials that they have in common."""
        is_one_list = self.sets[i].list == self.sets[j].list
        return is_one_list and self._digests[i] != self._digests[j]

    def told(self, i: int, j: int) -> str:
        """What two sets have in common and which trials are compared, in words."""
        if self._digests[i] == self._digests[j]:
            return "the same trials"
        one, other = self.sets[i], self.sets[j]
        sizes = f"{one.n_trials:,} and {other.n_trials:,}"
        if self.is_restricted(i, j):
            n = sum(self.sets[k].list == one.list for k in self.restricted)
            whose = f" to all {n} systems" if n > 2 else ""
            common = self.restricted[i].n_trials
            return f"{common:,} of {sizes} trials in common{whose}, which are compared"
        speakers = _speakers_in_common(one, other)
        if not self._keys:
            return f"{speakers}; lists compared as wholes"
        common = np.intersect1d(self._keys[i], self._keys[j]).size
        trials = f"{common:,} of {sizes} trials" if common else "no trial"
        return f"{trials} in common, lists compared as wholes; {speakers}"


def _names(sets: Sequence[TrialSet], of: Sequence[int]) -> str:
    return " and ".join(sets[i].system for i in of)


def _digest(trials: TrialSet) -> bytes:
    """Hash of the pairs and labels of all trials, whatever their scores."""
    used = np.zeros(len(trials.utterance_ids), dtype=bool)
    for part in trials.partitions():
        kept = part.without_conflicts()
        used[kept.enrol] = used[kept.test] = True
    place = np.cumsum(used, dtype=np.int64)
    names, *columns = (hashlib.sha256() for _ in range(4))
    start = 0
    for _, ids in trials.utterance_ids.parts():
        names.update("\0".join(ids.filter(used[start : start + len(ids)]).to_list()).encode())
        names.update(b"\0")
        start += len(ids)
    for part in trials.partitions():
        kept = part.without_conflicts()
        for digest, cells in zip(
            columns, (place[kept.enrol], place[kept.test], kept.target), strict=True
        ):
            digest.update(cells.tobytes())
    return b"".join(digest.digest() for digest in (names, *columns))


def _speakers_in_common(one: TrialSet, other: TrialSet) -> str:
    """How many speakers two sets have in common, in words."""
    n, m = one.in_use.size, other.in_use.size
    shared = np.intersect1d(one.in_use, other.in_use).size
    if not shared:
        return "no speaker in common"
    if shared == n == m:
        return f"the same speakers, {n}"
    return f"{shared} of {n} and {m} speakers in common"
