"""Trials: read in any format, joined, encoded, checked."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.errors import ConfigError, DataError
from parivox.tables.encoding import Dictionary, labels, scores
from parivox.tables.folder import Folder
from parivox.tables.formats import scan
from parivox.tables.formats.scan import Columns
from parivox.tables.join import agree, named_rows, pattern_of, unmet
from parivox.tables.notes import DataNote
from parivox.tables.store import Settled, Store, ranges, records
from parivox.tables.utterances import matched, owners, read_utterances
from parivox.tables.validation import (
    CONFLICTS,
    DUPLICATES,
    INFINITE,
    OF_ITSELF,
    REVERSED,
    UNSCORED,
    Encoded,
    Tally,
    Trials,
    settle,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.tables.formats.scan import Rows, Scan
    from parivox.tables.speakers import Speakers

__all__ = ["DataNote", "TrialSet", "Trials", "read_trials"]

POLICIES = ("error", "set-aside")
ORIENTATIONS = (None, "distance", "similarity")


@dataclass(frozen=True, eq=False)
class TrialSet:
    """All trials of one system on one list.

    Attributes
    ----------
    system, list : str
        Names; the list may be empty.
    utterance_ids : Series of str
        Rising.
    utterance_speaker : int32 ndarray of shape (utterance,)
        Index into ``Speakers.ids``; -1 for all of them if they were not asked for.
    n_trials : int
        Trials with a score, each once, without those set aside.
    score_range : (float, float)
        Lowest and highest finite score; (0, 0) if none is finite.
    data : list of DataNote
        What was counted, derived and set aside.
    content_sha256 : str
        Hash of the trials, whatever the order of rows, format, compression and partitions.
    provenance : list of dict
        What was read: name, format, compression, columns, hash of the bytes.
    aside : dict of str to int64 ndarray of shape (speaker,)
        By item of `data`, the number of such trials whose enrolment is of each speaker of
        ``Speakers.ids``: trials without score (in either file), exact duplicates, contradicting
        rows, infinite scores, trials of an utterance with itself, reversed pairs (by the
        enrolment whose id is the higher one). Only what occurs.
    """

    system: str
    list: str
    utterance_ids: pl.Series
    utterance_speaker: NDArray[np.int32]
    n_trials: int
    score_range: tuple[float, float]
    data: Sequence[DataNote]
    content_sha256: str
    provenance: Sequence[dict[str, Any]]
    aside: dict[str, NDArray[np.int64]]
    _parts: tuple[Trials, ...] | Settled = field(repr=False)

    @property
    def n_partitions(self) -> int:
        """Partitions: one for trials in memory."""
        return len(self._parts)

    def partitions(self) -> Iterator[Trials]:
        """The trials, one partition after the other; may be called again."""
        return iter(self._parts)


def read_trials(
    source: Any,
    *,
    system: str,
    list_: str,
    speakers: Speakers,
    trials: Any = None,
    utterances: Any = None,
    format: str | None = None,  # noqa: A002 - the option's name
    columns: Mapping[str, str] | None = None,
    orientation: str | None = None,
    conflicts: str = "error",
    strangers: bool = False,
) -> TrialSet:
    """Read scored trials, find their speakers, and check them.

    Parameters
    ----------
    source
        A path, ``-`` for standard input, a dataframe or a mapping of arrays, with the columns
        enrol, test, score and, perhaps, label, enrol_speaker, test_speaker.
    system, list_
        Names of the system and of the list.
    speakers
        Who there is.
    trials
        A list of trials that stands apart: only its pairs are trials, its labels count.
    utterances
        Table of utterance and speaker.
    format
        Name of the format of `source`, where its content does not tell.
    columns
        The user's column name for some roles, in `source`, in `trials` or in both.
    orientation : {None, "distance", "similarity"}
        ``"distance"`` negates the scores.
    conflicts : {"error", "set-aside"}
        What to do with rows that contradict each other or the speakers.
    strangers
        Whether the speakers need not be known, as those of development scores: where there are
        labels, no speaker is looked up. `columns` that the files lack are then passed over.

    Raises
    ------
    DataError
        If anything is not as it must be: one sentence with file, row, column and the mend.
    ConfigError
        If an option is not known.

    Examples
    --------
    >>> from parivox.tables.speakers import read_speakers
    >>> speakers = read_speakers({"id": ["a", "b"], "gender": ["f", "m"]})
    >>> rows = {"enrol": ["a/1", "a/1"], "test": ["b/1", "a/2"], "score": [0.1, 0.9]}
    >>> found = read_trials(rows, system="x", list_="", speakers=speakers)
    >>> [(t.target.tolist(), t.score.tolist()) for t in found.partitions()]
    [([True, False], [0.9, 0.1])]
    """
    if conflicts not in POLICIES:
        msg = f"--conflicts {conflicts!r} is not known; choose from {', '.join(POLICIES)}"
        raise ConfigError(msg)
    if orientation not in ORIENTATIONS:
        msg = f"orientation {orientation!r} is not known; choose 'distance' or 'similarity'"
        raise ConfigError(msg)
    asked = Columns(dict(columns or {}), elsewhere=strangers or trials is not None)
    scans = [scan(source, columns=asked, format=format, name="scores")]
    if trials is not None:
        scans.append(scan(trials, columns=asked, format=None, name="trials"))
    if not strangers:
        _check_columns(asked, scans)
    needed = not (strangers and any("label" in one.columns for one in scans))
    reading = _Reading(speakers if needed else None, orientation)
    reading.open_scores(scans[0])
    for one in scans[1:]:
        reading.open_trials(one)
    if utterances is not None and needed:
        reading.utterances = read_utterances(utterances)
    return reading.finish(system, list_, conflicts)


def _check_columns(asked: Columns, scans: Sequence[Scan]) -> None:
    """Each column that the user names must be in one of the files."""
    for role, column in asked.by_role.items():
        if not any(one.columns.get(role) == column for one in scans):
            seen = [n for one in scans for n in (*one.columns.values(), *one.ignored)]
            near = get_close_matches(column, seen, n=3, cutoff=0.3) or seen[:8]
            msg = (
                f"{' and '.join(one.name for one in scans)}: none has a column {column!r} for "
                f"{role}; nearest: {', '.join(repr(n) for n in near)}; name it with --columns"
            )
            raise DataError(msg)


class _Reading:
    """One score file, and perhaps one trial list, on their way in."""

    def __init__(self, speakers: Speakers | None, orientation: str | None) -> None:
        self.speakers, self.sign = speakers, -1.0 if orientation == "distance" else 1.0
        self.utterances: Any = None
        self.ids, self.named = Dictionary(), Dictionary()
        self.named_of = np.empty(0, dtype=np.int32)
        self.scored = 0
        self.scans: list[Scan] = []
        self.stores: list[Store] = []

    def open_scores(self, scanned: Scan) -> None:
        """Read the rows of the score file."""
        if "score" not in scanned.columns:
            mend = (
                "it is a list of trials, so give it as --trials, and the scores beside it"
                if {"enrol", "test"} <= set(scanned.columns)
                else "name them with --columns enrol=...,test=...,score=..."
            )
            msg = f"{scanned.name}: has no column of scores{_seen(scanned)}; {mend}"
            raise DataError(msg + _labels_or_scores(scanned))
        self._read(scanned, "scores")
        self.scored = self.ids.size

    def open_trials(self, scanned: Scan) -> None:
        """Read the rows of the trial list; scores in it do not count."""
        self._read(scanned, "trials")

    def _read(self, scanned: Scan, name: str) -> None:
        for role in ("enrol", "test"):
            if role not in scanned.columns:
                msg = (
                    f"{scanned.name}: has no column of {role} utterances{_seen(scanned)}; "
                    f"name it with --columns {role}=..."
                )
                raise DataError(msg)
        rows = Store(name)
        self.scans.append(scanned)
        for numbers, whole in scanned.chunks():
            chunk, places = _without_blank_rows(whole, numbers)
            if chunk.height:
                rows.add(self._encoded(scanned, places, chunk, scored=name == "scores"))
        if not rows.rows:
            msg = f"{scanned.name}: holds no trial; give a file with one trial a row"
            raise DataError(msg)
        self.stores.append(rows)

    def _encoded(self, scanned: Scan, rows: Rows, chunk: pl.DataFrame, *, scored: bool) -> Encoded:
        enrol = self.ids.codes(chunk, "enrol", scanned, rows)
        test = self.ids.codes(chunk, "test", scanned, rows)
        for side, codes in (("enrol_speaker", enrol), ("test_speaker", test)):
            if side in scanned.columns and self.speakers is not None:
                self._name(codes, chunk, side, scanned, rows)
        n = chunk.height
        label = (
            labels(chunk, scanned, rows)
            if "label" in scanned.columns
            else np.full(n, -1, dtype=np.int8)
        )
        score = scores(chunk, scanned, rows) if scored else np.full(n, np.nan)
        if self.sign < 0:
            score = 0.0 - score
        return Encoded(enrol, test, label, score)

    def _name(
        self, codes: NDArray[np.int32], chunk: pl.DataFrame, role: str, scanned: Scan, rows: Rows
    ) -> None:
        """Take the speaker of each utterance from a column."""
        owner = self.named.codes(chunk, role, scanned, rows)
        more = self.ids.size - self.named_of.size
        if more:
            self.named_of = np.concatenate((self.named_of, np.full(more, -1, dtype=np.int32)))
        fresh = np.flatnonzero(self.named_of[codes] < 0)[::-1]  # the first row has the last word
        self.named_of[codes[fresh]] = owner[fresh]
        if (self.named_of[codes] != owner).any():
            said = named_rows(self.scans).unique(
                ["utterance", "speaker"], keep="first", maintain_order=True
            )
            twice = said.filter(pl.col("utterance").is_duplicated())
            if not twice.height:  # they differ in the blanks around them only
                return
            later = twice.filter(~pl.col("utterance").is_first_distinct()).row(0, named=True)
            above = twice.filter(pl.col("utterance") == later["utterance"]).row(0, named=True)
            source = self.scans[later["scan"]]
            where = f" of {self.scans[0].name}" if later["scan"] != above["scan"] else ""
            msg = (
                f"{source.at(later['row'], later['role'])}: utterance {later['utterance']!r} is "
                f"of speaker {later['speaker']!r} here and of {above['speaker']!r} in row "
                f"{above['row']}{where}; correct one of them"
            )
            raise DataError(msg)

    def finish(self, system: str, list_: str, conflicts: str) -> TrialSet:
        """Find the speakers, check every partition, count."""
        ids, rank = self.ids.sorted()
        speaker, told = self._owners(ids, rank)
        known = self.speakers.ids if self.speakers is not None else ()
        tally = Tally(n_speakers=len(known))
        folder: Folder | None = None
        digest = hashlib.sha256()
        used, place = np.unique(speaker, return_inverse=True)
        for texts in (ids.to_list(), [known[i] for i in used.tolist() if i >= 0]):
            digest.update("\n".join(texts).encode() + b"\x00")
        digest.update(place.astype("<i4").tobytes())
        if any(store.folder is not None for store in self.stores):
            folder = Folder()
        parts: tuple[Trials, ...] | Settled
        if folder is None:
            read = [store.whole(rank) for store in self.stores]
            parts = (self._settled(read, speaker, tally, ids, conflicts),)
            digest.update(records(parts[0]))
        else:
            part_of = ranges(self.stores, rank, len(ids))
            for store in self.stores:
                store.scatter(rank, part_of, folder)
            parts = Settled(folder)
            for number in range(int(part_of.max(initial=0)) + 1):
                read = [store.part(number, folder) for store in self.stores]
                one = self._settled(read, speaker, tally, ids, conflicts)
                digest.update(records(one))
                parts.add(one)
        if not tally.kept:
            told_why = _lost(tally)
            if len(self.scans) > 1 and not tally.met:
                told_why += f"; {unmet(*self.scans)}"
            msg = f"{self.scans[0].name}: no trial is left to audit; {told_why}"
            raise DataError(msg)
        return TrialSet(
            system,
            list_,
            ids,
            speaker,
            tally.kept,
            (tally.low, tally.high) if np.isfinite(tally.low) else (0.0, 0.0),
            [*_notes(tally, self.scans), *told, *self._derived()],
            digest.hexdigest(),
            self._provenance(),
            tally.aside,
            parts,
        )

    def _owners(
        self, ids: pl.Series, rank: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], list[DataNote]]:
        """Speaker of each utterance, and notes on where it comes from."""
        speaker = np.full(len(ids), -1, dtype=np.int32)
        if self.speakers is None:
            return speaker, []
        told: list[DataNote] = []
        known = np.flatnonzero(self.named_of >= 0)
        if known.size:
            named, place = self.named.sorted()
            owner = np.full(len(ids), -1, dtype=np.int32)
            owner[rank[known]] = place[self.named_of[known]]
            at = np.flatnonzero(owner >= 0)
            names = named.gather(owner[at])
            if self.utterances is not None:
                agree(ids.gather(at), names, self.utterances, self.scans)
            speaker[at] = matched(names, self.speakers, self.scans[0].name)
            told.append(DataNote("scores", "utterances with a speaker in a column", at.size))
        scored = np.zeros(len(ids), dtype=bool)
        scored[rank[: self.scored]] = True
        rest = speaker < 0
        for part, source in ((rest & scored, self.scans[0]), (rest & ~scored, self.scans[-1])):
            at = np.flatnonzero(part)
            if at.size:
                mine = ids if at.size == len(ids) else ids.gather(at)
                so_far = source is not self.scans[0] and bool((rest & scored).any())
                speaker[at] = owners(
                    mine, self.speakers, self.utterances, source.name, known=so_far
                )
        if rest.any():
            item = "utterance ids that begin with their speaker"
            if self.utterances is not None:
                item = "utterances with a speaker in the table"
            whence = "scores" if self.utterances is None else "utterances"
            told.append(DataNote(whence, item, int(rest.sum())))
        return speaker, told

    def _settled(
        self,
        read: list[Encoded],
        speaker: NDArray[np.int32],
        tally: Tally,
        ids: pl.Series,
        conflicts: str,
    ) -> Trials:
        one = settle(
            read[0],
            read[1] if len(read) > 1 else None,
            n=len(ids),
            speaker=speaker if self.speakers is not None else None,
            tally=tally,
        )
        if conflicts == "error" and tally.first:
            raise self._contradiction(tally, ids, speaker)
        return one

    def _contradiction(self, tally: Tally, ids: pl.Series, speaker: NDArray[np.int32]) -> DataError:
        """Name the rows of the first pair that something is wrong with."""
        kind = next(kind for kind in ("trials", "list", "pair", "label") if kind in tally.first)
        enrol, test = tally.first[kind]
        pair = str(ids[enrol]), str(ids[test])
        source = self.scans[-1] if kind == "trials" else self.scans[0]
        found = source.rows_of(*pair)
        shown = f"({pair[0]}, {pair[1]})"
        mend = "or leave such rows out with --conflicts set-aside"
        if kind == "label":
            assert self.speakers is not None
            names = [self.speakers.ids[speaker[code]] for code in (enrol, test)]
            whose = (
                f"both are of {names[0]}"
                if names[0] == names[1]
                else f"they are of {names[0]} and {names[1]}"
            )
            labelled = self.scans[-1] if "label" in self.scans[-1].columns else self.scans[0]
            row, cells = (labelled.rows_of(*pair) or found)[0]
            return DataError(
                f"{labelled.at(row, 'label')}: {shown} is labelled {cells.get('label')!r}, but "
                f"{whose} ({tally.wrong_labels:,} such trials); correct the label or the "
                f"speakers, {mend}"
            )
        if kind == "list":
            row, cells = found[0]
            other, theirs = self.scans[-1].rows_of(*pair)[0]
            return DataError(
                f"{source.at(row, 'label')}: {shown} is labelled {cells['label']!r}, but "
                f"{theirs['label']!r} in row {other} of {self.scans[-1].name}; correct one, {mend}"
            )
        (row, cells), (other, theirs) = _differing(found, kind)
        differ = next(
            (role for role in ("label", "score") if cells.get(role) != theirs.get(role)), "label"
        )
        return DataError(
            f"{source.name}: rows {row} and {other} are the same trial {shown} with {differ} "
            f"{cells.get(differ)!r} and {theirs.get(differ)!r}; correct one, {mend}"
        )

    def _derived(self) -> list[DataNote]:
        if any("label" in scanned.columns for scanned in self.scans):
            return []
        rows = self.stores[-1].rows
        note = "the file has no labels"
        return [DataNote("scores", "trials labelled by their speakers", rows, note)]

    def _provenance(self) -> list[dict[str, Any]]:
        told = []
        for role, one in zip(("scores", "trials"), self.scans, strict=False):
            entry: dict[str, Any] = {"role": role, "name": one.name, "format": one.format}
            if one.content is not None:
                entry |= {"compression": one.content.compression, "sha256": one.content.sha256}
            told.append(entry | {"columns": one.columns, "ignored": list(one.ignored)})
        if self.utterances is not None:
            told.append(self.utterances.provenance)
        return told


def _labels_or_scores(scanned: Scan) -> str:
    """What to do if a column of 1.0 and -1.0 holds scores, though it looks like labels."""
    scores_of = {"kaldi-trials": "kaldi-scores", "voxceleb": "voxceleb-scores"}
    if scanned.format not in scores_of:
        return ""
    _, chunk = next(iter(scanned.chunks()))
    if not chunk["label"].str.contains("[0-9]").any():
        return ""
    column = scanned.columns["label"].split()[0]
    return f"; if column {column} holds scores, give --scores-format {scores_of[scanned.format]}"


def _without_blank_rows(chunk: pl.DataFrame, rows: Rows) -> tuple[pl.DataFrame, Rows]:
    """The chunk without rows of which nothing is known, and the row of each that is left."""
    if not (chunk["enrol"].is_null() & chunk["test"].is_null()).any():
        return chunk, rows
    blank = chunk.select(pl.all_horizontal(pl.all().is_null())).to_series()
    return chunk.filter(~blank), np.asarray(rows)[~blank.to_numpy()]


def _differing(
    found: list[tuple[int, dict[str, object]]], kind: str
) -> tuple[tuple[int, dict[str, object]], tuple[int, dict[str, object]]]:
    """The first row, and the first one below it that says something else."""
    roles = ("label",) if kind == "trials" else ("label", "score")
    first = found[0]
    for other in found[1:]:
        if any(first[1].get(role) != other[1].get(role) for role in roles):
            return first, other
    return first, found[-1]


def _seen(scanned: Scan) -> str:
    names = [*scanned.columns.values(), *scanned.ignored][:8]
    return f" (it has {', '.join(repr(name) for name in names)})" if names else ""


def _lost(tally: Tally) -> str:
    reasons = {
        "have no score": tally.unscored,
        "are not in the trial list": tally.not_in_trials,
        "contradict others": tally.conflicts,
    }
    told = ", ".join(f"{count:,} {why}" for why, count in reasons.items() if count)
    return f"of {tally.rows:,} rows {told or 'none is a trial'}"


def _notes(tally: Tally, scans: Sequence[Scan]) -> list[DataNote]:
    """What was counted, in a fixed order."""
    by = f"{tally.reversed_differ:,} of them with another score, by up to {tally.reversed_by:.1g}"
    found = [
        DataNote("scores", "rows", tally.rows),
        DataNote("scores", "trials", tally.kept),
        DataNote("scores", "target trials", tally.targets),
        DataNote("scores", "nontarget trials", tally.kept - tally.targets),
        DataNote("scores", UNSCORED, tally.unscored, "left out"),
        DataNote("scores", DUPLICATES, tally.duplicates, "counted once"),
        DataNote("scores", CONFLICTS, tally.conflicts, "set aside"),
        DataNote("scores", "labels that contradict the speakers", tally.wrong_labels, "set aside"),
        DataNote(
            "scores",
            REVERSED,
            tally.reversed,
            f"kept as trials of their own; {by}" if tally.reversed else "",
        ),
        DataNote("scores", OF_ITSELF, tally.of_itself, "kept"),
        DataNote("scores", INFINITE, tally.infinite, "kept"),
    ]
    if len(scans) > 1:
        few = max(tally.not_in_scores, tally.not_in_trials) and 2 * tally.met < min(
            tally.met + tally.not_in_scores, tally.met + tally.not_in_trials
        )
        hint = pattern_of(*scans) if few else ""
        left_out = f"left out; {hint}" if hint else "left out"
        found += [
            DataNote("trials", "rows", tally.trial_rows),
            DataNote("trials", DUPLICATES, tally.trial_duplicates, "counted once"),
            DataNote("trials", UNSCORED, tally.not_in_scores, left_out),
            DataNote("scores", "scores that are in no trial", tally.not_in_trials, "left out"),
        ]
    always = {"rows", "trials", "target trials", "nontarget trials"}
    return [one for one in found if one.count or one.item in always]
