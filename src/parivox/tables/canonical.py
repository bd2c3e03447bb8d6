"""Encoded trials in canonical order, with duplicates and contradictions found."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np

from parivox.errors import DataError
from parivox.tables.notes import DataNote

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from parivox.tables.formats.raw import Raw

__all__ = ["Encoded", "Trials", "canonical"]


@dataclass(frozen=True, eq=False)
class Encoded:
    """Rows of a file as numbers, in the file's order; each array has one entry a row.

    Attributes
    ----------
    enrol, test : int32
        Places of the utterances among the ids.
    label : int8
        1 target, 0 nontarget, -1 not told.
    score : float64
        NaN for a trial without score.
    row : uint32
        Place in the file.
    torn : bool
        Already known to contradict another row.
    """

    enrol: NDArray[np.int32]
    test: NDArray[np.int32]
    label: NDArray[np.int8]
    score: NDArray[np.float64]
    row: NDArray[np.uint32]
    torn: NDArray[np.bool_] = field(default=None)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        """No row is torn unless told."""
        if self.torn is None:
            object.__setattr__(self, "torn", np.zeros(self.row.size, dtype=bool))


@dataclass(frozen=True, eq=False)
class Trials:
    """Scored trials in rising order of enrolment and test id; each array has one entry a trial.

    Attributes
    ----------
    enrol, test : int32
        Places of the utterances among the ids.
    target : bool
    score : float64
        Never NaN; may be infinite.
    conflict : bool
        Contradicts another row, the speakers, or both; set aside unless asked for.
    """

    enrol: NDArray[np.int32]
    test: NDArray[np.int32]
    target: NDArray[np.bool_]
    score: NDArray[np.float64]
    conflict: NDArray[np.bool_]

    def without_conflicts(self) -> Trials:
        """The trials that contradict nothing."""
        if not self.conflict.any():
            return self
        keep = ~self.conflict
        return Trials(*(getattr(self, name)[keep] for name in self.__dataclass_fields__))

    def digest(self) -> bytes:
        """Hash of every array."""
        whole = sha256()
        for name in self.__dataclass_fields__:
            array = getattr(self, name)
            whole.update(np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).data)
        return whole.digest()


def canonical(
    rows: Encoded,
    ids: pl.Series,
    speaker: NDArray[np.int32],
    raw: Raw,
    *,
    strict: bool,
    check_labels: bool = True,
) -> tuple[Trials, list[DataNote]]:
    """Put trials in order, count repeated ones once, and find those that contradict.

    Parameters
    ----------
    rows
        Rows of a file, or all rows of a file that share some pairs of ids.
    ids
        Utterance ids.
    speaker
        Speaker of each utterance.
    raw
        The file, for messages.
    strict
        Raise at the first contradiction; else mark its rows.
    check_labels
        Compare labels with the speakers.

    Returns
    -------
    trials : Trials
    notes : list of DataNote
    """
    pair = rows.enrol.astype(np.int64) * len(ids) + rows.test
    lost = np.isnan(rows.score)
    order = np.argsort(pair, kind="stable")
    if lost.any():
        order = order[~lost[order]]
    pair, row = pair[order], rows.row[order]
    enrol, test = rows.enrol[order], rows.test[order]
    label, score, torn = rows.label[order], rows.score[order], rows.torn[order]
    again = pair[1:] == pair[:-1]
    repeated = 0
    if again.any():
        other = again & ((score[1:] != score[:-1]) | (label[1:] != label[:-1]))
        if other.any():
            if strict:
                raise _contradiction(raw, ids, row, enrol, test, label, score, int(other.argmax()))
            run = np.concatenate(([0], np.cumsum(~again)))
            torn = torn | np.isin(run, run[1:][other])
        # of exact repeats the first stays; of contradicting rows each spelling does
        by_content = np.lexsort((label, score, pair))
        pair, row, enrol, test = (a[by_content] for a in (pair, row, enrol, test))
        label, score, torn = (a[by_content] for a in (label, score, torn))
        same = (pair[1:] == pair[:-1]) & (score[1:] == score[:-1]) & (label[1:] == label[:-1])
        keep = np.concatenate(([True], ~same))
        repeated = int((~keep).sum())
        pair, row, enrol, test = (a[keep] for a in (pair, row, enrol, test))
        label, score, torn = (a[keep] for a in (label, score, torn))
    one_speaker = speaker[enrol] == speaker[test]
    target = np.where(label < 0, one_speaker, label == 1)
    if check_labels:
        wrong = (label >= 0) & (target != one_speaker)
        if wrong.any():
            if strict:
                raise _mislabelled(raw, ids, row, enrol, test, target, int(wrong.argmax()))
            torn = torn | wrong
    trials = Trials(enrol, test, target, score, torn)
    return trials, _notes(raw, trials, pair, len(ids), int(lost.sum()), repeated)


def _notes(
    raw: Raw, trials: Trials, pair: NDArray[np.int64], n: int, lost: int, repeated: int
) -> list[DataNote]:
    back = trials.test.astype(np.int64) * n + trials.enrol
    reversed_, changed = _reversed(pair, back, trials.score)
    return [
        DataNote("scores", "trials without score", lost, "set aside"),
        DataNote("scores", "repeated rows", repeated, "counted once"),
        DataNote("scores", "contradicting rows", int(trials.conflict.sum()), "set aside"),
        DataNote("scores", "reversed pairs", reversed_, "kept as trials of their own"),
        DataNote("scores", "reversed pairs whose scores differ", changed, "kept"),
        DataNote("scores", "trials of an utterance with itself", int((pair == back).sum()), "kept"),
        DataNote("scores", "infinite scores", int(np.isinf(trials.score).sum()), "kept"),
    ]


def _reversed(
    pair: NDArray[np.int64], back: NDArray[np.int64], score: NDArray[np.float64]
) -> tuple[int, int]:
    """Pairs that occur in both orders, and those of them with two scores."""
    falling = np.flatnonzero(back < pair)  # the later order of each pair of orders
    if not falling.size:
        return 0, 0
    place = np.minimum(np.searchsorted(pair, back[falling]), pair.size - 1)
    hit = pair[place] == back[falling]
    return int(hit.sum()), int((score[place[hit]] != score[falling[hit]]).sum())


def _contradiction(
    raw: Raw,
    ids: pl.Series,
    row: NDArray[np.uint32],
    enrol: NDArray[np.int32],
    test: NDArray[np.int32],
    label: NDArray[np.int8],
    score: NDArray[np.float64],
    at: int,
) -> DataError:
    one, two = sorted((at, at + 1), key=lambda i: row[i])
    what, values = "labels", [("nontarget", "target", "none")[label[i]] for i in (one, two)]
    if score[one] != score[two]:
        what, values = "scores", [repr(float(score[i])) for i in (one, two)]
    return DataError(
        f"{raw.name}, rows {row[one] + raw.first_row} and {row[two] + raw.first_row}: the trial "
        f"{ids[int(enrol[at])]} {ids[int(test[at])]} has the {what} {values[0]} and {values[1]}; keep one "
        "of the rows, or use --conflicts set-aside"
    )


def _mislabelled(
    raw: Raw,
    ids: pl.Series,
    row: NDArray[np.uint32],
    enrol: NDArray[np.int32],
    test: NDArray[np.int32],
    target: NDArray[np.bool_],
    at: int,
) -> DataError:
    told = "target, but its speakers differ" if target[at] else "nontarget, but its speaker is the same"
    return DataError(
        f"{raw.at(int(row[at]), 'label')}: the trial {ids[int(enrol[at])]} {ids[int(test[at])]} is "
        f"labelled {told}; mend the label or the speakers, or use --conflicts set-aside"
    )
