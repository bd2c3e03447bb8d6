"""What makes a trial difficult: attributes whose values both sides share, or do not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parivox.errors import ConfigError
from parivox.read.attributes import Attribute, parse_attribute
from parivox.read.cells import LABELS
from parivox.read.columns import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from parivox.read.checks import Trials
    from parivox.read.grouping import Codes, Grouping, OfAttribute
    from parivox.read.speakers import Speakers
    from parivox.read.trialset import TrialSet

__all__ = [
    "OTHER_RECORDING",
    "TRIVIAL",
    "Agreement",
    "hardest",
    "highest",
    "parse_difficulty",
    "usual",
]

TRIVIAL, OTHER_RECORDING = 1, 3
"""Grades of trials of one speaker."""
MOST = 6
"""Attributes that define difficulty."""
_USUAL = (("gender", "sex"), ("nationality",))
"""Those of docs/references.md#paper-002, under the names that columns have."""
_OF_SPEAKER = "speaker."


@dataclass(frozen=True, eq=False)
class Agreement:
    """Whether the sides of a trial share the value of an attribute: 1, 0 or -1 for unknown.

    Attributes
    ----------
    name : str
        The attribute as the user writes it.
    part : OfAttribute
        Where each side has which value.
    shared : int8 ndarray or None
        Of an attribute of whole trials, whether each value says that they share it; last, -1.
    """

    name: str
    part: OfAttribute
    shared: NDArray[np.int8] | None = None

    @classmethod
    def of(cls, part: OfAttribute, trials: TrialSet) -> Agreement:
        """Tell how the values of an attribute are compared.

        Raises
        ------
        ConfigError
            If a column of whole trials neither says yes or no nor is in bands.
        """
        one = part.attribute
        place = part.of_trials.get(id(trials))
        if place is None or place[0] != place[1]:
            return cls(one.text.removeprefix(_OF_SPEAKER), part)
        if one.edges:  # the nearest are alike
            said = [int(i == 0) for i in range(len(part.values))]
        else:
            said = [LABELS.get(value.lower(), -1) for value in part.values]
        if part.values and max(said) < 0:
            msg = (
                f"--grade-by {one.text!r}: holds {', '.join(map(repr, part.values[:3]))} for whole "
                "trials; write yes or no, for shared or not, or give bands of a number, as in "
                f"{one.name}:30"
            )
            raise ConfigError(msg)
        return cls(one.text.removeprefix(_OF_SPEAKER), part, np.array([*said, -1], dtype=np.int8))

    @property
    def of_speaker(self) -> Codes | None:
        """Value of each speaker, -1 for unknown; None where it is not of the speakers."""
        return self.part.of_speaker

    def on(self, trials: TrialSet) -> Callable[[Trials], NDArray[np.int8]]:
        """What tells it of each trial of a partition."""
        sides, shared = self.part.on(trials), self.shared
        if shared is not None:
            return lambda part: shared[sides(part)[0]]
        return lambda part: alike(*sides(part))


def hardest(attributes: int) -> int:
    """The highest grade of trials of two speakers, who may share so many attributes.

    Examples
    --------
    >>> hardest(2)
    4
    """
    return int(2**attributes)


def highest(attributes: int) -> int:
    """The highest grade of all trials, those of one speaker with them."""
    return max(hardest(attributes), OTHER_RECORDING)


def alike(one: Codes, other: Codes) -> NDArray[np.int8]:
    """1 where codes are equal, 0 where they differ, -1 where one of them is unknown.

    Examples
    --------
    >>> alike(np.array([0, 0, -1]), np.array([0, 1, -1])).tolist()
    [1, 0, -1]
    """
    found: NDArray[np.int8] = (one == other).astype(np.int8)
    found[(one < 0) | (other < 0)] = -1
    return found


def parse_difficulty(names: Sequence[str]) -> list[Attribute]:
    """Read ``--grade-by``: attributes of either side, or of whole trials.

    Examples
    --------
    >>> [one.name for one in parse_difficulty(["gender", "same:device"])]
    ['gender', 'device']
    """
    odd = next((one for one in names if not isinstance(one, str)), None)
    if odd is not None:
        msg = f"--grade-by {odd!r}: is no text; name attributes, as in gender"
        raise ConfigError(msg)
    found = [parse_attribute(text.removeprefix("same:"), "--grade-by") for text in names]
    for one in found:
        if one.side or "+" in one.text:
            msg = (
                f"--grade-by {one.text!r}: both sides of a trial are compared; name attributes "
                "one by one, as in gender,nationality"
            )
            raise ConfigError(msg)
    lower = [one.text.lower() for one in found]
    if len(set(lower)) < len(lower) or len(found) > MOST:
        msg = f"--grade-by names an attribute twice, or more than {MOST}; name each once"
        raise ConfigError(msg)
    return found


def usual(people: Speakers, groupings: Sequence[Grouping]) -> list[Attribute]:
    """Attributes that define difficulty where none is named: paper 002's, else the groups'.

    They are of speakers, whatever columns of that name there are elsewhere.
    """
    columns = {plain(name): name for name in reversed(people.attributes.columns)}
    known = [next((columns[word] for word in words if word in columns), "") for words in _USUAL]
    named = [name for name in known if name]
    if not named:
        named = [one for of in groupings if of.of_speaker is not None for one in of.attributes]
    told = [one.removeprefix(_OF_SPEAKER) for one in dict.fromkeys(named)]
    return [_of_speaker(one, people.attributes.columns) for one in told][:MOST]


def _of_speaker(name: str, columns: Sequence[str]) -> Attribute:
    """An attribute of speakers, whose column may be called what looks like bands."""
    text = f"{_OF_SPEAKER}{name}"
    if name in columns:
        return Attribute(text, name, level="speaker")
    return parse_attribute(text, "--grade-by")
