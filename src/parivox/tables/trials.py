"""Trials: read in any format, joined, encoded, checked."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.errors import ConfigError, DataError
from parivox.tables.encoding import Dictionary, labels, scores
from parivox.tables.folder import Folder
from parivox.tables.formats import scan
from parivox.tables.notes import DataNote
from parivox.tables.store import Settled, Store, ranges, records
from parivox.tables.utterances import matched, owners, read_utterances
from parivox.tables.validation import Encoded, Tally, Trials, settle

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.tables.encoding import Rows
    from parivox.tables.formats.scan import Scan
    from parivox.tables.speakers import Speakers

__all__ = ["DataNote", "TrialSet", "Trials", "read_trials"]

CONFLICTS = ("error", "set-aside")
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
        Index into ``Speakers.ids``.
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
        The user's column name for some roles.
    orientation : {None, "distance", "similarity"}
        ``"distance"`` negates the scores.
    conflicts : {"error", "set-aside"}
        What to do with rows that contradict each other or the speakers.

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
    if conflicts not in CONFLICTS:
        msg = f"--conflicts {conflicts!r} is not known; choose from {', '.join(CONFLICTS)}"
        raise ConfigError(msg)
    if orientation not in ORIENTATIONS:
        msg = f"orientation {orientation!r} is not known; choose 'distance' or 'similarity'"
        raise ConfigError(msg)
    asked = dict(columns or {})
    reading = _Reading(speakers, orientation)
    reading.open_scores(scan(source, columns=asked, format=format, name="scores"))
    if trials is not None:
        reading.open_trials(scan(trials, columns={}, format=None, name="trials"))
    if utterances is not None:
        reading.utterances = read_utterances(utterances)
    return reading.finish(system, list_, conflicts)


class _Reading:
    """One score file, and perhaps one trial list, on their way in."""

    def __init__(self, speakers: Speakers, orientation: str | None) -> None:
        self.speakers, self.sign = speakers, -1.0 if orientation == "distance" else 1.0
        self.utterances: Any = None
        self.ids, self.named = Dictionary(), Dictionary()
        self.named_of = np.empty(0, dtype=np.int32)
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
            raise DataError(msg)
        self._read(scanned, "scores")

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
        for first, whole in scanned.chunks():
            chunk, places = _without_blank_rows(whole, first)
            if chunk.height:
                rows.add(self._encoded(scanned, places, chunk, scored=name == "scores"))
        if not rows.rows:
            msg = f"{scanned.name}: holds no trial; give a file with one trial a row"
            raise DataError(msg)
        self.scans.append(scanned)
        self.stores.append(rows)

    def _encoded(self, scanned: Scan, rows: Rows, chunk: pl.DataFrame, *, scored: bool) -> Encoded:
        enrol = self.ids.codes(chunk, "enrol", scanned, rows)
        test = self.ids.codes(chunk, "test", scanned, rows)
        for side, codes in (("enrol_speaker", enrol), ("test_speaker", test)):
            if side in scanned.columns:
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
        before = self.named_of[codes]
        self.named_of[codes] = np.where(before < 0, owner, before)
        odd = self.named_of[codes] != owner
        if odd.any():
            at = int(odd.argmax())
            utterance = chunk[role.removesuffix("_speaker")][at]
            msg = (
                f"{scanned.at(rows[at], role)}: utterance {utterance!r} is of speaker "
                f"{chunk[role][at]!r} here and of another one in a row above; correct one of them"
            )
            raise DataError(msg)

    def finish(self, system: str, list_: str, conflicts: str) -> TrialSet:
        """Find the speakers, check every partition, count."""
        ids, rank = self.ids.sorted()
        speaker, told = self._owners(ids, rank)
        tally = Tally()
        folder: Folder | None = None
        digest = hashlib.sha256()
        used, place = np.unique(speaker, return_inverse=True)
        for texts in (ids.to_list(), [self.speakers.ids[i] for i in used.tolist()]):
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
            msg = f"{self.scans[0].name}: no trial is left to audit; {_lost(tally)}"
            raise DataError(msg)
        return TrialSet(
            system,
            list_,
            ids,
            speaker,
            tally.kept,
            (tally.low, tally.high) if np.isfinite(tally.low) else (0.0, 0.0),
            [*_notes(tally, joined=len(self.scans) > 1), told, *self._derived()],
            digest.hexdigest(),
            self._provenance(),
            parts,
        )

    def _owners(
        self, ids: pl.Series, rank: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], DataNote]:
        """Speaker of each utterance, and a note on where it comes from."""
        name = self.scans[0].name
        n = len(ids)
        if self.named_of.size:
            named, place = self.named.sorted()
            owner = np.full(n, -1, dtype=np.int32)
            known = np.flatnonzero(self.named_of >= 0)
            owner[rank[known]] = place[self.named_of[known]]
            if (owner >= 0).all():
                found = matched(named.gather(owner), self.speakers, name)
                return found, DataNote("scores", "utterances with a speaker in a column", n)
        found = owners(ids, self.speakers, self.utterances, name)
        if self.utterances is not None:
            return found, DataNote("utterances", "utterances with a speaker in the table", n)
        told = DataNote("scores", "utterance ids that begin with their speaker", n)
        return found, told

    def _settled(
        self,
        read: list[Encoded],
        speaker: NDArray[np.int32],
        tally: Tally,
        ids: pl.Series,
        conflicts: str,
    ) -> Trials:
        one = settle(read[0], read[1] if len(read) > 1 else None, speaker=speaker, tally=tally)
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


def _without_blank_rows(chunk: pl.DataFrame, first: int) -> tuple[pl.DataFrame, Rows]:
    """The chunk without rows of which nothing is known, and the row of each that is left."""
    if not (chunk["enrol"].is_null() & chunk["test"].is_null()).any():
        return chunk, range(first, first + chunk.height)
    blank = chunk.select(pl.all_horizontal(pl.all().is_null())).to_series()
    return chunk.filter(~blank), np.flatnonzero(~blank.to_numpy()) + first


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


def _notes(tally: Tally, *, joined: bool) -> list[DataNote]:
    """What was counted, in a fixed order."""
    by = f"{tally.reversed_differ:,} of them with another score, by up to {tally.reversed_by:.1g}"
    found = [
        DataNote("scores", "rows", tally.rows),
        DataNote("scores", "trials", tally.kept),
        DataNote("scores", "target trials", tally.targets),
        DataNote("scores", "nontarget trials", tally.kept - tally.targets),
        DataNote("scores", "trials without score", tally.unscored, "left out"),
        DataNote("scores", "exact duplicates", tally.duplicates, "counted once"),
        DataNote("scores", "contradicting rows", tally.conflicts, "set aside"),
        DataNote("scores", "labels that contradict the speakers", tally.wrong_labels, "set aside"),
        DataNote(
            "scores",
            "reversed pairs",
            tally.reversed,
            f"kept as trials of their own; {by}" if tally.reversed else "",
        ),
        DataNote("scores", "trials of an utterance with itself", tally.of_itself, "kept"),
        DataNote("scores", "infinite scores", tally.infinite, "kept"),
    ]
    if joined:
        found += [
            DataNote("trials", "rows", tally.trial_rows),
            DataNote("trials", "exact duplicates", tally.trial_duplicates, "counted once"),
            DataNote("trials", "trials without score", tally.not_in_scores, "left out"),
            DataNote("scores", "scores that are in no trial", tally.not_in_trials, "left out"),
        ]
    always = {"rows", "trials", "target trials", "nontarget trials"}
    return [one for one in found if one.count or one.item in always]
