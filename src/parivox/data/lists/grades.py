"""How difficult each trial is (docs/methods/planning.md#grades), and mixes of grades.

A trial of one speaker is of grade 1, trivial, where both sides are of one recording, so that
channel and noise are the same; else it is of grade 3. A trial of two speakers is the harder the
more they share: of grade 1 if neither gender nor nationality, 2 if the nationality, 3 if the
gender, 4 if both. With other attributes, or another number of them, each one that is shared adds
a power of two, the one named first the most: with k attributes, grades are 1 to 2 ** k.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.data.attributes import AttributeValues
from parivox.data.columns import ATTRIBUTE_PREFIX
from parivox.data.lists.trial_list import new_trial_list
from parivox.errors import ConfigError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from parivox.data.speakers import Speakers
    from parivox.data.trial_checks import Trials
    from parivox.data.trial_set import TrialSet

TRIVIAL, OTHER_RECORDING = 1, 3
"""Grades of trials of one speaker."""
GRADE = f"{ATTRIBUTE_PREFIX}grade"
"""The column of trials that `with_grades` makes."""
Mixes = dict[str, dict[int, float]]
"""Shares of grades that are wished for, of nontarget and of target trials by their label."""
_SUM_TOLERANCE = 1e-6
"""By how much the shares of a mix may miss 1 in all."""


def hardest(n_attributes: int) -> int:
    """Return the highest grade of trials of two speakers, who may share so many attributes.

    >>> hardest(2)
    4
    """
    return int(2**n_attributes)


def highest(n_attributes: int) -> int:
    """Return the highest grade of all trials, those of one speaker with them."""
    return max(hardest(n_attributes), OTHER_RECORDING)


def grade_codes(
    target: ArrayLike, same_recording: ArrayLike, same_attributes: ArrayLike
) -> NDArray[np.int8]:
    """Return the grade of each trial, 1 to 2 ** attributes (1 or 3 for target trials).

    Grades that are not known are 0. `same_recording`, of shape (trial,), is 1 where both sides are
    of one recording, 0 where not, -1 for unknown; `same_attributes`, of shape (attribute, trial),
    likewise, the one that weighs most first. See docs/references.md#paper-002, Table 1.

    Of one speaker, then of two who share nothing, the nationality, the gender, both:

    >>> gender, nationality = [1, 1, 0, 0, 1, 1], [1, 1, 0, 1, 0, 1]
    >>> grade_codes([1, 1, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0], [gender, nationality]).tolist()
    [1, 3, 1, 2, 3, 4]
    """
    is_target = np.asarray(target, dtype=bool)
    recording_codes = np.asarray(same_recording, dtype=np.int8)
    attribute_codes = np.asarray(same_attributes, dtype=np.int8)
    attribute_codes = attribute_codes.reshape(len(attribute_codes), is_target.size)
    grade = np.zeros(is_target.shape, dtype=np.int8)
    is_known = np.full(is_target.shape, len(attribute_codes) > 0)
    for codes in attribute_codes:
        # each attribute is a binary digit, the first the most significant
        grade *= 2
        grade += codes == 1
        is_known &= codes >= 0
    grade += 1
    grade[~is_known] = 0
    # indexed by the code of the recording; -1, unknown, takes the last
    target_grades = np.array([OTHER_RECORDING, TRIVIAL, 0], dtype=np.int8)
    return np.where(is_target, target_grades[recording_codes], grade)


def parse_mix(text: Any, grades: int = 4) -> dict[int, float]:
    """Read a target mix of grades, from 1 to `grades`: shares of nontarget trials, in all 1.

    >>> parse_mix("cat4=0.75,cat3=0.25")
    {4: 0.75, 3: 0.25}
    """
    example = f"cat{grades}=0.75,cat{grades - 1}=0.25"
    if isinstance(text, str):
        pairs = [assignment.partition("=")[::2] for assignment in text.split(",")]
        shares = {name.strip(): share.strip() for name, share in pairs}
        if len(shares) < len(pairs):
            msg = f"--mix {text!r}: contains a grade twice"
            hint = "give each grade once"
            raise ConfigError(msg, hint)
    elif isinstance(text, Mapping):
        shares = dict(text)
    else:
        msg = f"--mix {text!r}: is not a mix"
        hint = f"write a mix such as {example}"
        raise ConfigError(msg, hint)
    mix = {}
    for name, share in shares.items():
        number = str(name).removeprefix("cat")
        try:
            mix[int(number)] = float(share)
        except (TypeError, ValueError):
            mix = {0: math.nan}  # no grade, which is refused below
        if not all(1 <= grade <= grades and 0 <= x <= 1 for grade, x in mix.items()):
            msg = f"--mix {name}={share}: is not a share of a grade"
            hint = (
                f"write a mix such as {example}, with grades from 1 to {grades} and shares from 0 "
                "to 1"
            )
            raise ConfigError(msg, hint)
    total = sum(mix.values())
    if abs(total - 1) > _SUM_TOLERANCE:
        msg = f"--mix: the shares add up to {total:g}"
        hint = "make the shares add up to 1"
        raise ConfigError(msg, hint)
    return mix


def parse_mixes(text: Any, grades: int = 4) -> Mixes:
    """Read the mixes that are wished for of a list: of nontarget trials, of target trials, of both.

    >>> parse_mixes("cat4=0.75,cat3=0.25,target3=1")
    {'nontarget': {4: 0.75, 3: 0.25}, 'target': {3: 1.0}}
    """
    shares: Any = text
    if isinstance(text, str):
        shares = {share.partition("=")[0].strip(): share for share in text.split(",")}
        if len(shares) < text.count(",") + 1:  # a grade is named twice, which is refused there
            return {"nontarget": parse_mix(text, grades)}
    if not isinstance(shares, Mapping):
        return {"nontarget": parse_mix(text, grades)}
    mixes: Mixes = {}
    for label, max_grade in (("nontarget", grades), ("target", OTHER_RECORDING)):
        names = [name for name in shares if str(name).startswith("target") == (label == "target")]
        if not names:
            continue
        if isinstance(text, str):
            label_text = ",".join(shares[name].removeprefix("target") for name in names)
            mixes[label] = parse_mix(label_text, max_grade)
        else:
            label_shares = {str(name).removeprefix("target"): shares[name] for name in names}
            mixes[label] = parse_mix(label_shares, max_grade)
    if mixes.get("target", {}).keys() - {TRIVIAL, OTHER_RECORDING}:
        msg = "--mix: target trials have grade 1 (one recording) or 3"
        hint = "write target3=1"
        raise ConfigError(msg, hint)
    return mixes


def with_grades(trials: TrialSet, speakers: Speakers) -> TrialSet:
    """Return trials that can be grouped by ``grade``, as if that were a column of theirs.

    Where some table has such a column, that is what counts.
    """
    tables = [speakers.attributes]
    if trials.recordings:
        tables.append(trials.recordings.table.attributes)
    if GRADE in trials.attribute_values or any(
        "grade" in map(str.lower, table.columns) for table in tables
    ):
        return trials
    trial_list = new_trial_list(trials, speakers)
    agreement_functions = [agreement.code_function(trials) for agreement in trial_list.agreements]
    grades = tuple(str(i + 1) for i in range(highest(len(agreement_functions))))

    def add_grades(chunk: Trials) -> Trials:
        agreements = [function(chunk) for function in agreement_functions]
        same_recording = trial_list.same_recording(chunk)
        codes = grade_codes(chunk.target, same_recording, agreements).astype(np.int32) - 1
        failed = None if chunk.failed is None else add_grades(chunk.failed)
        return replace(chunk, extra_columns={**chunk.extra_columns, GRADE: codes}, failed=failed)

    return trials.with_trial_columns(
        add_grades,
        column_names={GRADE},
        added_values={GRADE: AttributeValues(grades)},
    )


def rounded_counts(total: int, shares: Mapping[int, float]) -> dict[int, int]:
    """Return whole numbers in these shares that add up to the total, by largest remainder.

    >>> rounded_counts(10, {4: 0.55, 3: 0.25, 1: 0.2})
    {4: 6, 3: 2, 1: 2}
    """
    # rounded first: 100 * 0.29 is a little less than 29, which is what is meant
    exact = {grade: round(total * share, 9) for grade, share in shares.items()}
    counts = {grade: int(x) for grade, x in exact.items()}
    remainder_order = sorted(exact, key=lambda grade: (counts[grade] - exact[grade], -grade))
    for grade in remainder_order[: total - sum(counts.values())]:
        counts[grade] += 1
    return {grade: count for grade, count in counts.items() if count}
