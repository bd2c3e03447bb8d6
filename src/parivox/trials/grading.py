"""Trials with their grades, as a table or a file."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.data.lists.grades import grade_codes, highest
from parivox.data.lists.trial_list import read_list
from parivox.data.table import Table
from parivox.errors import ConfigError
from parivox.shown import CATALOGUE_MODULE, NotebookView
from parivox.trials.writing import (
    FORMATS_WITH_FURTHER_COLUMNS,
    LABELS,
    ListWriter,
    check_is_new,
    label_words,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from parivox.data.lists.trial_list import TrialList
    from parivox.facts import Fact
    from parivox.sources import SpeakerSource, TableSource, UtteranceSource

_ENDINGS = tuple(f".{name}" for name in FORMATS_WITH_FURTHER_COLUMNS)


@dataclass(frozen=True, eq=False)
class Graded(NotebookView):
    """Graded trials.

    Attributes
    ----------
    counts : Table
        Trials by label and grade; undefined is the grade that is not known.
    recording_source : Fact
        What tells which utterances are of one recording, or why nothing does.
    trials : Table or None
        Columns enrol, test, label, score where the list has it, grade, same_recording and ``same_``
        with each attribute, in the order of the ids, each trial once; undefined for what is not
        known. None where they were written.
    path : Path or None
        Where they were written.
    recordings : str
        What tells which utterances are of one recording, in words.
    """

    counts: Table
    recording_source: Fact
    trials: Table | None = None
    path: Path | None = None

    @property
    def recordings(self) -> str:
        """What tells which utterances are of one recording, in words."""
        return str(import_module(CATALOGUE_MODULE).fact_text(self.recording_source))


def grade(
    trials: TableSource,
    *,
    speakers: SpeakerSource | None = None,
    utterances: UtteranceSource | None = None,
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
        msg = f"--out {path}: grades are written as {' or '.join(_ENDINGS)}"
        hint = "use one of these endings"
        raise ConfigError(msg, hint)
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
    recording_source = trial_list.recording_names.source
    if path is None:
        frames = [
            pl.DataFrame({"enrol": enrol, "test": test, "label": label_words(target), **cells})
            for enrol, test, target, cells in chunks
        ]
        return Graded(_counts_table(counts), recording_source, Table(pl.concat(frames)))
    with ListWriter(path, path.suffix.removeprefix(".")) as writer:
        for enrol, test, target, cells in chunks:
            writer.write(enrol, test, target, cells)
    return Graded(_counts_table(counts), recording_source, path=path)


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
