"""How difficult each trial is (docs/methods/trial-lists.md#grades); trials with their grades.

A trial of one speaker is of grade 1, trivial, where both sides are of one recording, so that
channel and noise are the same; else it is of grade 3. A trial of two speakers is the harder the
more they share: of grade 1 if neither gender nor nationality, 2 if the nationality, 3 if the
gender, 4 if both. With other attributes, or another number of them, each one that is shared adds
a power of two, the one named first the most: with k attributes, grades are 1 to 2 ** k.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.data.attributes import AttributeValues
from parivox.data.columns import ATTRIBUTE
from parivox.data.table import Table
from parivox.errors import ConfigError
from parivox.shown import NotebookView
from parivox.trials.lists import list_of, read_list
from parivox.trials.writing import (
    FORMATS_WITH_FURTHER_COLUMNS,
    LABELS,
    ListWriter,
    check_is_new,
    label_words,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray

    from parivox.data.speakers import Speakers
    from parivox.data.trial_checks import Trials
    from parivox.data.trial_set import TrialSet
    from parivox.trials.lists import TrialList

TRIVIAL, OTHER_RECORDING = 1, 3
"""Grades of trials of one speaker."""
GRADE = f"{ATTRIBUTE}grade"
"""The column of trials that `with_grades` makes."""
Mixes = dict[str, dict[int, float]]
"""Shares of grades that are wished for, of nontarget and of target trials by their label."""
_SUMS_TO_ONE = 1e-6
_ENDINGS = tuple(f".{one}" for one in FORMATS_WITH_FURTHER_COLUMNS)


def hardest(attributes: int) -> int:
    """The highest grade of trials of two speakers, who may share so many attributes.

    >>> hardest(2)
    4
    """
    return int(2**attributes)


def highest(attributes: int) -> int:
    """The highest grade of all trials, those of one speaker with them."""
    return max(hardest(attributes), OTHER_RECORDING)


def grade_codes(
    target: ArrayLike, same_recording: ArrayLike, same_attributes: ArrayLike
) -> NDArray[np.int8]:
    """Grade of each trial, 1 to 2 ** attributes (1 or 3 for target trials); 0 if not known.

    `same_recording`, of shape (trial,), is 1 where both sides are of one recording, 0 where not, -1
    for unknown; `same_attributes`, of shape (attribute, trial), likewise, the one that weighs most
    first. See docs/references.md#paper-002, Table 1.

    Of one speaker, then of two who share nothing, the nationality, the gender, both:

    >>> gender, nationality = [1, 1, 0, 0, 1, 1], [1, 1, 0, 1, 0, 1]
    >>> grade_codes([1, 1, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0], [gender, nationality]).tolist()
    [1, 3, 1, 2, 3, 4]
    """
    is_target = np.asarray(target, dtype=bool)
    recording = np.asarray(same_recording, dtype=np.int8)
    given = np.asarray(same_attributes, dtype=np.int8)
    shared = given.reshape(len(given), is_target.size)
    grade = np.zeros(is_target.shape, dtype=np.int8)
    known = np.full(is_target.shape, len(shared) > 0)
    for one in shared:
        grade *= 2
        grade += one == 1
        known &= one >= 0
    grade += 1
    grade[~known] = 0
    of_one_speaker = np.array([OTHER_RECORDING, TRIVIAL, 0], dtype=np.int8)  # last, of -1
    return np.where(is_target, of_one_speaker[recording], grade)


def parse_mix(text: Any, grades: int = 4) -> dict[int, float]:
    """Read a target mix of grades, from 1 to `grades`: shares of nontarget trials, in all 1.

    >>> parse_mix("cat4=0.75,cat3=0.25")
    {4: 0.75, 3: 0.25}
    """
    form = f"cat{grades}=0.75,cat{grades - 1}=0.25"
    if isinstance(text, str):
        pairs = [part.partition("=")[::2] for part in text.split(",")]
        shares = {name.strip(): share.strip() for name, share in pairs}
        if len(shares) < len(pairs):
            msg = f"--mix {text!r}: names a grade twice; name each once"
            raise ConfigError(msg)
    elif isinstance(text, Mapping):
        shares = dict(text)
    else:
        msg = f"--mix {text!r}: is not a mix; write it as in {form}"
        raise ConfigError(msg)
    mix = {}
    for name, share in shares.items():
        number = str(name).removeprefix("cat")
        try:
            mix[int(number)] = float(share)
        except (TypeError, ValueError):
            mix = {0: math.nan}
        if not all(1 <= grade <= grades and 0 <= x <= 1 for grade, x in mix.items()):
            msg = (
                f"--mix {name}={share}: is not a share of a grade; write it as in {form}, with "
                "grades "
                f"from 1 to {grades} and shares from 0 to 1"
            )
            raise ConfigError(msg)
    total = sum(mix.values())
    if abs(total - 1) > _SUMS_TO_ONE:
        msg = f"--mix: the shares add up to {total:g}; make them add up to 1"
        raise ConfigError(msg)
    return mix


def parse_mixes(text: Any, grades: int = 4) -> Mixes:
    """Read the mixes that are wished for of a list: of nontarget trials, of target trials, of both.

    >>> parse_mixes("cat4=0.75,cat3=0.25,target3=1")
    {'nontarget': {4: 0.75, 3: 0.25}, 'target': {3: 1.0}}
    """
    parts: Any = text
    if isinstance(text, str):
        parts = {part.partition("=")[0].strip(): part for part in text.split(",")}
        if len(parts) < text.count(",") + 1:
            return {"nontarget": parse_mix(text, grades)}  # which tells what is wrong
    if not isinstance(parts, Mapping):
        return {"nontarget": parse_mix(text, grades)}
    found: Mixes = {}
    for label, top in (("nontarget", grades), ("target", OTHER_RECORDING)):
        own = [name for name in parts if str(name).startswith("target") == (label == "target")]
        if own and isinstance(text, str):
            found[label] = parse_mix(",".join(parts[n].removeprefix("target") for n in own), top)
        elif own:
            found[label] = parse_mix({str(n).removeprefix("target"): parts[n] for n in own}, top)
    if found.get("target", {}).keys() - {TRIVIAL, OTHER_RECORDING}:
        msg = "--mix: target trials are of grade 1 (one recording) or 3; write target3=1"
        raise ConfigError(msg)
    return found


@dataclass(frozen=True, eq=False)
class Graded(NotebookView):
    """Graded trials.

    Attributes
    ----------
    counts : Table
        Trials by label and grade; undefined is the grade that is not known.
    trials : Table or None
        Columns enrol, test, label, score where the list has it, grade, same_recording and ``same_``
        with each attribute, in the order of the ids, each trial once; undefined for what is not
        known. None where they were written.
    path : Path or None
        Where they were written.
    recordings : str
        What tells which utterances are of one recording, or why nothing does.
    """

    counts: Table
    trials: Table | None = None
    path: Path | None = None
    recordings: str = ""


def with_grades(trials: TrialSet, people: Speakers) -> TrialSet:
    """Trials that can be grouped by ``grade``, as if that were a column of theirs.

    Where some table has such a column, that is what counts.
    """
    tables = [people.attributes]
    if trials.recordings:
        tables.append(trials.recordings.table.attributes)
    if GRADE in trials.levels or any("grade" in map(str.lower, one.columns) for one in tables):
        return trials
    trial_list = list_of(trials, people)
    agreements = [one.on(trials) for one in trial_list.agreements]
    grades = tuple(str(i + 1) for i in range(highest(len(agreements))))

    def added(part: Trials) -> Trials:
        shared = [same(part) for same in agreements]
        codes = (
            grade_codes(part.target, trial_list.same_recording(part), shared).astype(np.int32) - 1
        )
        failed = None if part.failed is None else added(part.failed)
        return replace(part, more={**part.more, GRADE: codes}, failed=failed)

    return trials.with_trial_columns(added, more={GRADE}, levels={GRADE: AttributeValues(grades)})


def grade(
    trials: Any,
    *,
    speakers: Any = None,
    utterances: Any = None,
    grade_by: Sequence[str] | str | None = None,
    out: str | os.PathLike[str] | None = None,
    id: str | None = None,  # noqa: A002 - the command line's word
    columns: Mapping[str, str] | None = None,
    conflicts: str = "error",
    encoding: str | None = None,
    quotes: str | None = None,
) -> Graded:
    """Tell of each trial how difficult it is.

    Parameters
    ----------
    trials, speakers, utterances, grade_by, id, columns, conflicts, encoding, quotes
        The list and the tables beside it: see `parivox.trials.check`.
    out
        A CSV or Parquet file to write to, block by block.

    Examples
    --------
    >>> trials = {"enrol": ["a/x/1", "a/x/1"], "test": ["a/x/2", "b/y/1"], "label": [1, 0]}
    >>> found = grade(trials, speakers={"id": ["a", "b"], "gender": ["f", "f"]})
    >>> found.trials.columns, found.trials.to_dict()["grade"]
    (('enrol', 'test', 'label', 'grade', 'same_recording', 'same_gender'), [1, 2])
    """
    path = None if out is None else check_is_new(out)
    if path is not None and path.suffix not in _ENDINGS:
        msg = f"--out {path}: grades are written as {' or '.join(_ENDINGS)}; end the name so"
        raise ConfigError(msg)
    trial_list = read_list(
        trials,
        speakers=speakers,
        utterances=utterances,
        by=(),
        grade_by=grade_by,
        id=id,
        columns=columns,
        conflicts=conflicts,
        encoding=encoding,
        quotes=quotes,
        keeps_scores=True,
    )
    counts = np.zeros((2, highest(len(trial_list.agreements)) + 1), dtype=np.int64)
    blocks = _graded(trial_list, counts)
    recordings = trial_list.recordings.in_words
    if path is None:
        frames = [
            pl.DataFrame({"enrol": enrol, "test": test, "label": label_words(target), **more})
            for enrol, test, target, more in blocks
        ]
        return Graded(_as_table(counts), Table(pl.concat(frames)), recordings=recordings)
    with ListWriter(path, path.suffix.removeprefix(".")) as writer:
        for block in blocks:
            writer.write(*block)
    return Graded(_as_table(counts), path=path, recordings=recordings)


def _graded(
    trial_list: TrialList, counts: NDArray[np.int64]
) -> Iterator[tuple[pl.Series, pl.Series, NDArray[np.bool_], dict[str, pl.Series]]]:
    """Ids, label and grades of some trials at a time; they are counted by label and grade."""
    ids = trial_list.trials.utterance_ids.series()
    agreements = {f"same_{one.name}": one.on(trial_list.trials) for one in trial_list.agreements}
    for block in trial_list.blocks():
        recording = trial_list.same_recording(block)
        shared = {name: same(block) for name, same in agreements.items()}
        codes = grade_codes(block.target, recording, [*shared.values()])
        key = codes + block.target * np.intp(counts.shape[1])
        counts += np.bincount(key, minlength=counts.size).reshape(counts.shape)
        scores = block.more.get("kept_score")
        more = {
            **({} if scores is None else {"score": _known(scores, ~np.isnan(scores))}),
            "grade": _known(codes, codes > 0),
            "same_recording": _known(recording > 0, recording >= 0),
            **{name: _known(same > 0, same >= 0) for name, same in shared.items()},
        }
        yield ids.gather(block.enrol), ids.gather(block.test), block.target, more


def _known(values: NDArray[Any], known: NDArray[np.bool_]) -> pl.Series:
    """A column that is undefined where it is not known."""
    column = pl.Series(values)
    return column if known.all() else column.set(pl.Series(~known), None)


def _as_table(counts: NDArray[np.int64]) -> Table:
    """Trials by label and grade; only what occurs."""
    label, code = np.nonzero(counts)
    cells = {
        "label": [LABELS[i] for i in label],
        "grade": [int(i) or None for i in code],
        "trials": counts[label, code].tolist(),
    }
    return Table.of(cells, {"label": "str", "grade": "int", "trials": "int"})


def rounded_counts(n: int, shares: Mapping[int, float]) -> dict[int, int]:
    """Whole numbers in these shares that add up to n, by largest remainder.

    >>> rounded_counts(10, {4: 0.55, 3: 0.25, 1: 0.2})
    {4: 6, 3: 2, 1: 2}
    """
    exact = {grade: round(n * share, 9) for grade, share in shares.items()}
    counts = {grade: int(x) for grade, x in exact.items()}
    left = sorted(exact, key=lambda grade: (counts[grade] - exact[grade], -grade))
    for grade in left[: n - sum(counts.values())]:
        counts[grade] += 1
    return {grade: count for grade, count in counts.items() if count}
