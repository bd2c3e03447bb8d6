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
from parivox.data.columns import ATTRIBUTE_PREFIX
from parivox.data.table import Table
from parivox.errors import ConfigError
from parivox.shown import NotebookView
from parivox.trials.lists import new_trial_list, read_list
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
GRADE = f"{ATTRIBUTE_PREFIX}grade"
"""The column of trials that `with_grades` makes."""
Mixes = dict[str, dict[int, float]]
"""Shares of grades that are wished for, of nontarget and of target trials by their label."""
_SUM_TOLERANCE = 1e-6
"""By how much the shares of a mix may miss 1 in all."""
_ENDINGS = tuple(f".{name}" for name in FORMATS_WITH_FURTHER_COLUMNS)


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
            msg = f"--mix {text!r}: names a grade twice; name each once"
            raise ConfigError(msg)
    elif isinstance(text, Mapping):
        shares = dict(text)
    else:
        msg = f"--mix {text!r}: is not a mix; write it as in {example}"
        raise ConfigError(msg)
    mix = {}
    for name, share in shares.items():
        number = str(name).removeprefix("cat")
        try:
            mix[int(number)] = float(share)
        except (TypeError, ValueError):
            mix = {0: math.nan}  # no grade, which is refused below
        if not all(1 <= grade <= grades and 0 <= x <= 1 for grade, x in mix.items()):
            msg = (
                f"--mix {name}={share}: is not a share of a grade; write it as in {example}, with "
                "grades "
                f"from 1 to {grades} and shares from 0 to 1"
            )
            raise ConfigError(msg)
    total = sum(mix.values())
    if abs(total - 1) > _SUM_TOLERANCE:
        msg = f"--mix: the shares add up to {total:g}; make them add up to 1"
        raise ConfigError(msg)
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
        msg = "--mix: target trials are of grade 1 (one recording) or 3; write target3=1"
        raise ConfigError(msg)
    return mixes


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
    chunks = _grade_chunks(trial_list, counts)
    recordings = trial_list.recording_names.in_words
    if path is None:
        frames = [
            pl.DataFrame({"enrol": enrol, "test": test, "label": label_words(target), **cells})
            for enrol, test, target, cells in chunks
        ]
        return Graded(_counts_table(counts), Table(pl.concat(frames)), recordings=recordings)
    with ListWriter(path, path.suffix.removeprefix(".")) as writer:
        for enrol, test, target, cells in chunks:
            writer.write(enrol, test, target, cells)
    return Graded(_counts_table(counts), path=path, recordings=recordings)


def _grade_chunks(
    trial_list: TrialList, counts: NDArray[np.int64]
) -> Iterator[tuple[pl.Series, pl.Series, NDArray[np.bool_], dict[str, pl.Series]]]:
    """Yield ids, labels and grades of a chunk of trials; they are added to `counts`.

    `counts`, of shape (label, grade), is complete once all chunks were taken.
    """
    ids = trial_list.trials.utterance_ids.series()
    agreement_functions = {
        f"same_{agreement.name}": agreement.code_function(trial_list.trials)
        for agreement in trial_list.agreements
    }
    for chunk in trial_list.chunks():
        same_recording = trial_list.same_recording(chunk)
        agreements = {name: function(chunk) for name, function in agreement_functions.items()}
        grades = grade_codes(chunk.target, same_recording, [*agreements.values()])
        keys = grades + chunk.target * np.intp(counts.shape[1])
        counts += np.bincount(keys, minlength=counts.size).reshape(counts.shape)
        scores = chunk.extra_columns.get("kept_score")
        columns = {}
        if scores is not None:
            columns["score"] = _column(scores, is_known=~np.isnan(scores))
        columns["grade"] = _column(grades, is_known=grades > 0)
        columns["same_recording"] = _column(same_recording > 0, is_known=same_recording >= 0)
        for name, codes in agreements.items():
            columns[name] = _column(codes > 0, is_known=codes >= 0)
        yield ids.gather(chunk.enrol), ids.gather(chunk.test), chunk.target, columns


def _column(cells: NDArray[Any], *, is_known: NDArray[np.bool_]) -> pl.Series:
    """Return a column that is undefined where it is not known."""
    column = pl.Series(cells)
    return column if is_known.all() else column.set(pl.Series(~is_known), None)


def _counts_table(counts: NDArray[np.int64]) -> Table:
    """Return trials by label and grade; only what occurs."""
    label, code = np.nonzero(counts)
    cells = {
        "label": [LABELS[i] for i in label],
        "grade": [int(i) or None for i in code],
        "trials": counts[label, code].tolist(),
    }
    return Table.of(cells, {"label": "str", "grade": "int", "trials": "int"})


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
