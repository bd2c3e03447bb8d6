"""How difficult each trial is (docs/methods/trial-lists.md#grades).

A trial of one speaker is of grade 1, trivial, where both sides are of one recording, so that
channel and noise are the same; else it is of grade 3. A trial of two speakers is the harder the
more they share: of grade 1 if neither gender nor nationality, 2 if the nationality, 3 if the
gender, 4 if both. With other attributes, or another number of them, each one that is shared adds
a power of two, the one named first the most: with k attributes, grades are 1 to 2 ** k.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.errors import ConfigError
from parivox.read.attributes import Attribute, parse_attribute
from parivox.read.cells import LABELS
from parivox.read.columns import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from parivox.read.checks import Trials
    from parivox.read.grouping import Codes, Grouping, OfAttribute
    from parivox.read.speakers import Speakers
    from parivox.read.trialset import TrialSet

_SUMS_TO_ONE = 1e-6
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
        """How the values of an attribute are compared.

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
        """A function from a partition of trials to this of each trial."""
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


def grade_codes(
    target: ArrayLike, same_recording: ArrayLike, same_attributes: ArrayLike
) -> NDArray[np.int8]:
    """Grade of each trial.

    Parameters
    ----------
    target : array_like of bool, of shape (trial,)
    same_recording : array_like of int, of shape (trial,)
        1 where both sides are of one recording, 0 where not, -1 for unknown.
    same_attributes : array_like of int, of shape (attribute, trial)
        Likewise for each attribute, the one that weighs most first.

    Returns
    -------
    int8 ndarray of shape (trial,)
        1 to 2 ** attributes (1 or 3 for target trials); 0 where it is not known.

    References
    ----------
    docs/references.md#paper-002, Table 1.

    Examples
    --------
    Of one speaker, then of two who share nothing, the nationality, the gender, both:

    >>> gender, nationality = [1, 1, 0, 0, 1, 1], [1, 1, 0, 1, 0, 1]
    >>> grade_codes([1, 1, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0], [gender, nationality]).tolist()
    [1, 3, 1, 2, 3, 4]
    """
    is_target = np.asarray(target, dtype=bool)
    recording = np.asarray(same_recording, dtype=np.int8)
    shared = np.asarray(same_attributes, dtype=np.int8).reshape(-1, is_target.size)
    found = np.zeros(is_target.shape, dtype=np.int8)
    known = np.full(is_target.shape, len(shared) > 0)
    for one in shared:
        found *= 2
        found += one == 1
        known &= one >= 0
    found += 1
    found[~known] = 0
    of_one = np.array([OTHER_RECORDING, TRIVIAL, 0], dtype=np.int8)  # last, of -1
    return np.where(is_target, of_one[recording], found)


def parse_mix(text: Any, grades: int = 4) -> dict[int, float]:
    """Read a target mix of grades: shares of the nontarget trials, which add up to 1.

    Parameters
    ----------
    text : str or mapping
        As in ``cat4=0.75,cat3=0.25``, or a mapping.
    grades
        The highest grade that there is.

    Raises
    ------
    ConfigError
        If it is no mix of the grades that there are.

    Examples
    --------
    >>> parse_mix("cat4=0.75,cat3=0.25")
    {4: 0.75, 3: 0.25}
    """
    if isinstance(text, str):
        pairs = [part.partition("=")[::2] for part in text.split(",")]
        told = {name.strip(): share.strip() for name, share in pairs}
        if len(told) < len(pairs):
            msg = f"--mix {text!r}: names a grade twice; name each once"
            raise ConfigError(msg)
    elif isinstance(text, Mapping):
        told = dict(text)
    else:
        msg = f"--mix {text!r}: is no mix; write it as in cat{grades}=0.75,cat{grades - 1}=0.25"
        raise ConfigError(msg)
    found = {}
    for name, share in told.items():
        number = str(name).removeprefix("cat")
        try:
            found[int(number)] = float(share)
        except (TypeError, ValueError):
            found = {0: math.nan}
        if not all(1 <= grade <= grades and 0 <= x <= 1 for grade, x in found.items()):
            msg = (
                f"--mix {name}={share}: is no share of a grade; write it as in cat{grades}=0.75,"
                f"cat{grades - 1}=0.25, with grades from 1 to {grades} and shares from 0 to 1"
            )
            raise ConfigError(msg)
    total = sum(found.values())
    if abs(total - 1) > _SUMS_TO_ONE:
        msg = f"--mix: the shares add up to {total:g}; make them add up to 1"
        raise ConfigError(msg)
    return found
