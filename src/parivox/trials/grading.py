"""Trials with their grades: written, told by the number, or to be grouped by."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.errors import ConfigError
from parivox.read.attributes import Levels
from parivox.read.columns import ATTRIBUTE
from parivox.read.table import Table
from parivox.shown import Shown
from parivox.trials.grades import grade_codes, highest
from parivox.trials.lists import list_of, read_list
from parivox.trials.writing import HOLDS_MORE, LABELS, ListWriter, check_new, label_words

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from parivox.read.checks import Trials
    from parivox.read.speakers import Speakers
    from parivox.read.trialset import TrialSet
    from parivox.trials.lists import TrialList

GRADE = f"{ATTRIBUTE}grade"
"""The column of trials that it makes."""
_ENDINGS = tuple(f".{one}" for one in HOLDS_MORE)


@dataclass(frozen=True, eq=False)
class Graded(Shown):
    """Graded trials.

    Attributes
    ----------
    counts : Table
        Trials by label and grade; undefined is the grade that is not known.
    trials : Table or None
        Columns enrol, test, label, grade, same_recording and ``same_`` with each attribute, in the
        order of the ids, each trial once; undefined for what is not known. None where they were
        written.
    path : Path or None
        Where they were written.
    """

    counts: Table
    trials: Table | None = None
    path: Path | None = None


def with_grades(trials: TrialSet, people: Speakers) -> TrialSet:
    """Trials that can be grouped by ``grade``, as if that were a column of theirs.

    Where some table has such a column, that is what counts.
    """
    tables = [
        people.attributes,
        *([trials.recordings.table.attributes] if trials.recordings else []),
    ]
    if GRADE in trials.levels or any("grade" in map(str.lower, one.columns) for one in tables):
        return trials
    found = list_of(trials, people)
    told = [one.on(trials) for one in found.agreements]
    graded = [str(i + 1) for i in range(highest(len(told)))]

    def added(part: Trials) -> Trials:
        shared = [same(part) for same in told]
        codes = grade_codes(part.target, found.same_recording(part), shared).astype(np.int32) - 1
        failed = None if part.failed is None else added(part.failed)
        return replace(part, more={**part.more, GRADE: codes}, failed=failed)

    return trials.with_trial_columns(
        added, more={GRADE}, levels={GRADE: Levels(tuple(graded), whole=True)}
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
) -> Graded:
    """Tell of each trial how difficult it is.

    Parameters
    ----------
    trials, speakers, utterances, grade_by, id, columns, conflicts
        The list and the tables beside it: see :func:`parivox.trials.check`.
    out
        A CSV or Parquet file to write to, block by block.

    Examples
    --------
    >>> trials = {"enrol": ["a/x/1", "a/x/1"], "test": ["a/x/2", "b/y/1"], "label": [1, 0]}
    >>> found = grade(trials, speakers={"id": ["a", "b"], "gender": ["f", "f"]})
    >>> found.trials.columns, found.trials.to_dict()["grade"]
    (('enrol', 'test', 'label', 'grade', 'same_recording', 'same_gender'), [1, 2])
    """
    path = None if out is None else check_new(out)
    if path is not None and path.suffix not in _ENDINGS:
        msg = f"--out {path}: grades are written as {' or '.join(_ENDINGS)}; end the name so"
        raise ConfigError(msg)
    found = read_list(
        trials,
        speakers=speakers,
        utterances=utterances,
        by=(),
        grade_by=grade_by,
        id=id,
        columns=columns,
        conflicts=conflicts,
    )
    counts = np.zeros((2, highest(len(found.agreements)) + 1), dtype=np.int64)
    if path is None:
        frames = [_frame(*block) for block in _graded(found, counts)]
        return Graded(_counted(counts), Table(pl.concat(frames)))
    with ListWriter(path, path.suffix.removeprefix(".")) as writer:
        for block, columns_ in _graded(found, counts):
            writer.write(*block, columns_)
    return Graded(_counted(counts), path=path)


def _graded(
    found: TrialList, counts: NDArray[np.int64]
) -> Iterator[tuple[tuple[pl.Series, pl.Series, NDArray[np.bool_]], dict[str, pl.Series]]]:
    """Ids, label and grades of some trials at a time; they are counted by label and grade."""
    ids = found.trials.utterance_ids.series()
    told = {f"same_{one.name}": one.on(found.trials) for one in found.agreements}
    for block in found.blocks():
        recording = found.same_recording(block)
        shared = {name: same(block) for name, same in told.items()}
        codes = grade_codes(block.target, recording, [*shared.values()])
        key = codes + block.target * np.intp(counts.shape[1])
        counts += np.bincount(key, minlength=counts.size).reshape(counts.shape)
        yield (
            (ids.gather(block.enrol), ids.gather(block.test), block.target),
            {
                "grade": _known(codes, codes > 0),
                "same_recording": _known(recording > 0, recording >= 0),
                **{name: _known(same > 0, same >= 0) for name, same in shared.items()},
            },
        )


def _known(values: NDArray[Any], known: NDArray[np.bool_]) -> pl.Series:
    """A column that is undefined where it is not known."""
    made = pl.Series(values)
    return made if known.all() else made.set(pl.Series(~known), None)


def _frame(
    trial: tuple[pl.Series, pl.Series, NDArray[np.bool_]], more: Mapping[str, pl.Series]
) -> pl.DataFrame:
    return pl.DataFrame(
        {"enrol": trial[0], "test": trial[1], "label": label_words(trial[2]), **more}
    )


def _counted(counts: NDArray[np.int64]) -> Table:
    """Trials by label and grade, as a table; only what occurs."""
    label, code = np.nonzero(counts)
    return Table.of(
        {
            "label": [LABELS[i] for i in label],
            "grade": [int(i) or None for i in code],
            "trials": counts[label, code].tolist(),
        },
        {"label": "str", "grade": "int", "trials": "int"},
    )
