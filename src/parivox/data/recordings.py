"""Tables of recordings: whose each utterance is, of which models are made, which ones failed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.data.columns import SPEAKER
from parivox.data.formats import SIDE_PROBLEM, are_segments, segment_side_ids
from parivox.data.ids import places_in
from parivox.data.joining import (
    first_components,
    listed_ids,
    mend_of_ids,
    placeholders,
    speakers_by,
    spreadsheet_damage,
)
from parivox.data.speakers import (
    UTTERANCE,
    by_role,
    find_column,
    known_values,
    merged,
    read_table,
    two_values,
)
from parivox.data.trial_checks import ACQUIRE, ENROL
from parivox.data.trial_values import NO_STAGE, stages
from parivox.errors import DataError
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from parivox.data.ids import MergedIds
    from parivox.data.speakers import Speakers


@frozen
class Utterances:
    """Table of utterances, each of which is a recording: the speaker of each, and what else."""

    # columns ``row``, ``utterance`` and, if it is told, ``speaker``, each utterance once
    table: pl.DataFrame
    name: str
    provenance: dict[str, Any]
    attributes: pl.DataFrame  # every other column as text, in the same order; null is unknown
    n_repeated_rows: int = 0  # how many rows tell of an utterance that a row above them tells of

    @property
    def names_speakers(self) -> bool:
        """Whether the table says whose each utterance is."""
        return "speaker" in self.table.columns

    def speakers(self, ids: pl.Series, name: str, what: str = "utterance ids") -> pl.Series:
        """Speaker of each of these distinct ids of a file; one that the table lacks is an error."""
        found = pl.DataFrame({"utterance": ids}).join(
            self.table, on="utterance", how="left", maintain_order="left"
        )["speaker"]
        if found.null_count():
            missing, there = ids.filter(found.is_null()), self.table["utterance"]
            mend = spreadsheet_damage(missing, there, self.name) or mend_of_ids(missing, there)
            msg = f"{name}: {listed_ids(missing, ids, what)} are not in {self.name}; {mend}"
            raise DataError(msg)
        return found

    def refuse_nobody(self) -> None:
        """Refuse placeholders in the place of speakers, where no table of speakers lists them."""
        odd = (
            self.table.filter(pl.col("speaker").is_in(placeholders()))
            if self.names_speakers
            else None
        )
        if odd is not None and odd.height:
            row = odd.row(0, named=True)
            such = "the only such row" if odd.height == 1 else f"one of {odd.height:,} such rows"
            msg = (
                f"{self.name}, row {row['row']}: the speaker {row['speaker']!r} stands for nobody "
                f"({such}); give the speaker, remove the row, or list it in a table of speakers "
                "if somebody is called so"
            )
            raise DataError(msg)

    def all_speakers(self, ids: Iterable[pl.Series], name: str) -> pl.Series:  # noqa: ARG002 - see Pattern
        """Every speaker, where no other table tells them."""
        return self.table["speaker"]


class SpeakerPattern(Utterances):
    """Where in the ids their speaker stands, in the place of a table: it has no rows.

    Examples
    --------
    >>> read_utterances("{speaker}-*").speakers(pl.Series(["id1-a"]), "scores.csv").to_list()
    ['id1']
    """

    def speakers(self, ids: pl.Series, name: str, what: str = "utterance ids") -> pl.Series:
        """Speaker of each of these ids of a file; one that does not fit is an error."""
        found = speakers_by(self.name, ids)
        if found.null_count():
            odd = ids.filter(found.is_null() | (found == ""))
            msg = (
                f"{name}: {listed_ids(odd, ids, what)} are not as --utterances {self.name!r} has "
                "them; correct it, or give a table of utterances"
            )
            raise DataError(msg)
        return found.alias("speaker")

    def all_speakers(self, ids: Iterable[pl.Series], name: str) -> pl.Series:
        """Every speaker that the ids of a file tell."""
        return pl.concat([self.speakers(part, name).unique() for part in ids])


def is_pattern(source: Any) -> bool:
    """Whether this is what a `Pattern` is made of, and no file."""
    return isinstance(source, str) and "{speaker" in source


def read_utterances(source: Any) -> Utterances:
    """Read a table of utterances: speaker, recording, and any attributes of the recording.

    A text with ``{speaker}`` in it is no file, but a `Pattern`.
    """
    if isinstance(source, Utterances):
        return source
    if is_pattern(source):
        texts = dict.fromkeys(("utterance", "speaker"), pl.String)
        return SpeakerPattern(
            pl.DataFrame(schema={"row": pl.Int64, **texts}), source, {}, pl.DataFrame()
        )
    whole, name, provenance = read_table(source, "utterances")
    columns = {"utterance": find_column(whole, "utterance", UTTERANCE, name)}
    speaker = find_column(whole, "speaker", SPEAKER, "")
    if speaker:
        columns["speaker"] = speaker
    taken = {*columns.values(), "row"}
    rest = [column for column in whole.columns if column not in taken]
    rows = by_role(whole, columns, name)
    table = rows.frame
    for role in columns:
        rows.ids(role)
    if speaker and (odd := two_values(table, "utterance", "speaker")):
        one, other = odd
        msg = (
            f"{name}, rows {one['row']} and {other['row']}: utterance {one['utterance']!r} has the "
            f"speakers {one['speaker']!r} and {other['speaker']!r}; keep one"
        )
        raise DataError(msg)
    distinct = table.unique(list(columns), keep="first", maintain_order=True)
    known = known_values(table.select("row", "utterance").hstack(whole.select(rest)), rest)
    if distinct.height < known.height:
        each, differing = merged(known, "utterance", rest)
        for column in differing:
            one, other = two_values(known, "utterance", column) or ({}, {})
            msg = (
                f"{name}, rows {one['row']} and {other['row']}, column {column!r}: utterance "
                f"{one['utterance']!r} is {one[column]!r} and {other[column]!r}; keep one"
            )
            raise DataError(msg)
        known = each
    return Utterances(
        distinct,
        name,
        {**provenance, "columns": columns},
        known.select(rest),
        whole.height - distinct.height,
    )


_MODEL = "model modelid enrol enrolment enroll enrollment enrolmentid template"
MODEL = tuple(_MODEL.split())


@frozen
class Models:
    """Table of enrolment models, a row for each recording of one."""

    # columns ``row``, ``model``, ``recording`` and, if it is told, ``speaker``, each pair of model
    # and recording once
    table: pl.DataFrame
    # columns ``model`` and ``speaker``, each model once; empty if no speaker is told
    speaker_of: pl.DataFrame
    name: str
    provenance: dict[str, Any]
    n_repeated_rows: (
        int  # how many rows tell of a recording of a model that a row above them tells of
    )

    def with_speakers(self, utterances: Utterances | None) -> Models:
        """The same models with their speakers, which stand elsewhere if no column tells them.

        Those of NIST are told by the table of segments; else a recording begins with its speaker.

        Examples
        --------
        >>> models = read_models({"modelid": ["m"], "segmentid": ["a/1"], "side": ["a"]})
        >>> models.with_speakers(None).speaker_of.rows()
        [('m', 'a')]
        """
        if "speaker" in self.table.columns:
            return self
        recordings = self.table["recording"].unique(maintain_order=True)
        if utterances is not None and utterances.names_speakers:
            speaker = utterances.speakers(recordings, self.name, "recordings of models")
        else:
            speaker = recordings.str.extract("^([^/]+)/")
            if speaker.null_count():
                whose, mend = self.name, "give the speakers of the recordings with --utterances"
                if utterances is not None:
                    whose, mend = utterances.name, f"give {self.name} one"
                msg = f"{whose}: has no column 'speaker'; name it so, or {mend}"
                raise DataError(msg)
        known = pl.DataFrame({"recording": recordings, "speaker": speaker})
        table = self.table.join(known, on="recording", maintain_order="left")
        return replace(self, table=table, speaker_of=_speaker_of(table, self.name))

    def speakers(self, ids: pl.Series, scores: str) -> pl.Series:
        """Speaker of each model; one that the table lacks is an error."""
        found = pl.DataFrame({"model": ids}).join(
            self.speaker_of, on="model", how="left", maintain_order="left"
        )["speaker"]
        if found.null_count():
            missing = ids.filter(found.is_null())
            msg = (
                f"{scores}: {listed_ids(missing, ids, 'enrolment ids')} are not models in "
                f"{self.name}; add them to it"
            )
            raise DataError(msg)
        return found

    def recordings(self, ids: pl.Series) -> tuple[NDArray[np.int32], pl.Series]:
        """Recordings of these models: the place of the model, and the recording, a pair a row."""
        place = pl.DataFrame({"model": ids, "place": np.arange(len(ids), dtype=np.int32)})
        pairs = self.table.join(place, on="model").sort("place", "recording")
        return pairs["place"].to_numpy(), pairs["recording"]

    def failed_models(self, enrol: pl.Series) -> pl.Series:
        """Models that failed: listed themselves, or with all of their recordings.

        Examples
        --------
        >>> rows = {"model": ["m", "m", "n"], "speaker": ["a"] * 3, "recording": ["1", "2", "2"]}
        >>> read_models(rows).failed_models(pl.Series(["2"])).to_list()
        ['n']
        """
        lost = self.table.select("model", lost=pl.any_horizontal(
            pl.col("model", "recording").is_in(enrol.implode())
        ))  # fmt: skip
        return lost.group_by("model").agg(pl.col("lost").all()).filter("lost")["model"].sort()

    def check_trials(
        self, ids: MergedIds, speaker: NDArray[np.int32], names: Sequence[str], scores: str
    ) -> None:
        """Refuse a recording that is of another speaker as an utterance of the trials."""
        place = ids.positions(self.table["recording"])
        theirs = np.where(place >= 0, speaker[place], -1) if len(ids) else place
        other = pl.Series("other", names, dtype=pl.String).gather(np.maximum(theirs, 0))
        known = self.table.with_columns(other).filter(pl.Series(theirs >= 0))
        self._refuse_others(known, lambda row: f" and of {row['other']!r} in {scores}; correct one")

    def check_speakers(
        self, utterances: Utterances | None, speakers: Speakers, *, by_path: bool
    ) -> None:
        """Refuse a recording that is of another speaker in the table of utterances.

        Where that tells no speakers, their paths do, if they do so in the trials (`by_path`).
        """
        if utterances is not None and utterances.names_speakers:
            name = utterances.name
            known = utterances.table.select(recording="utterance", at="row", other="speaker")
            self._refuse_others(
                self.table.join(known, on="recording"),
                lambda row: f" and of {row['other']!r} in row {row['at']} of {name}; correct one",
            )
        elif by_path:
            first = self.table["recording"].str.extract("^([^/]+)/").alias("other")
            is_speaker = first.is_in(pl.Series([list(speakers.ids)], dtype=pl.List(pl.String)))
            self._refuse_others(
                self.table.with_columns(first).filter(is_speaker),
                lambda row: (
                    f", but begins with the speaker {row['other']!r}; correct one, or tell whose "
                    "it is with --utterances"
                ),
            )

    def _refuse_others(self, known: pl.DataFrame, where: Callable[[dict[str, Any]], str]) -> None:
        """Refuse a recording of which something else names another speaker."""
        odd = known.filter(pl.col("speaker") != pl.col("other"))
        if odd.height:
            row = odd.sort("row").row(0, named=True)
            msg = (
                f"{self.name}, row {row['row']}: recording {row['recording']!r} of model "
                f"{row['model']!r} is of speaker {row['speaker']!r} here{where(row)}"
            )
            raise DataError(msg)


def read_models(source: Any) -> Models:
    """Read a table of model, speaker and recording, one row a recording.

    A speaker may be missing, see `Models.with_speakers`; a column of sides beside segments
    tells these apart as in trials.

    Examples
    --------
    >>> rows = {"model": ["m", "m"], "speaker": ["a", "a"], "recording": ["a/1", "a/2"]}
    >>> read_models(rows).table["recording"].to_list()
    ['a/1', 'a/2']
    """
    if isinstance(source, Models):
        return source
    whole, name, provenance = read_table(source, "models")
    columns = {"model": find_column(whole, "model", MODEL, name)}
    rest = whole.select(pl.exclude(columns["model"]))
    speaker = find_column(rest, "speaker", SPEAKER, "")
    if speaker:
        columns["speaker"] = speaker
        rest = rest.select(pl.exclude(speaker))
    columns["recording"] = find_column(rest, "recording", UTTERANCE, name)
    side = find_column(rest, "side", ("side",), "")
    if side and are_segments(columns["model"], columns["recording"]):
        columns["side"] = side
    rows = by_role(whole, columns, name)
    table = rows.frame
    for role in ("model", *(["speaker"] if speaker else []), "recording"):
        rows.ids(role)
    if "side" in columns:  # which are then in the ids of the recordings
        recording = segment_side_ids(table["recording"], table["side"])
        rows.refuse(recording.is_null(), "side", *SIDE_PROBLEM)
        table = table.drop("side").with_columns(recording=recording)
    pairs = table.unique(["model", "recording"], keep="first", maintain_order=True)
    repeated = table.height - pairs.height
    speaker_of = (
        _speaker_of(table, name)
        if speaker
        else pl.DataFrame(schema={"model": pl.String, "speaker": pl.String})
    )
    return Models(pairs, speaker_of, name, {**provenance, "columns": columns}, repeated)


def models_of_speakers(ids: pl.Series, name: str) -> Models:
    """Models that have the names of their speakers, as customers in a log of calls.

    Examples
    --------
    >>> models_of_speakers(pl.Series(["anna"]), "calls.csv").speaker_of.rows()
    [('anna', 'anna')]
    """
    text = dict.fromkeys(("model", "recording", "speaker"), pl.String)
    none = pl.DataFrame(schema={"row": pl.Int64, **text})
    return Models(none, pl.DataFrame({"model": ids, "speaker": ids}), name, {}, 0)


def _speaker_of(table: pl.DataFrame, name: str) -> pl.DataFrame:
    """Models and their speakers, each model once; a model or a recording is one speaker's."""
    if odd := two_values(table, "model", "speaker"):
        one, other = odd
        msg = (
            f"{name}, rows {one['row']} and {other['row']}: model {one['model']!r} has recordings "
            f"of the speakers {one['speaker']!r} and {other['speaker']!r}; a model is one "
            "speaker's, so correct one"
        )
        raise DataError(msg)
    if odd := two_values(table, "recording", "speaker"):
        one, other = odd
        msg = (
            f"{name}, rows {one['row']} and {other['row']}: recording {one['recording']!r} is of "
            f"speaker {one['speaker']!r} in model {one['model']!r} and of {other['speaker']!r} in "
            f"model {other['model']!r}; correct one"
        )
        raise DataError(msg)
    return table.unique("model", keep="first", maintain_order=True).select("model", "speaker")


@frozen
class Failures:
    """Recordings that failed."""

    # enrolments (recordings or models) that failed; recordings that could not be acquired for a
    # comparison. Each once, in rising order.
    enrol: pl.Series
    acquire: pl.Series
    name: str
    provenance: dict[str, Any]
    table: pl.DataFrame  # columns ``row``, ``recording``, ``stage`` and, if any is told, ``cause``

    @property
    def causes(self) -> pl.Series:
        """Every reason that is told, in rising order."""
        if "cause" not in self.table.columns:
            return pl.Series([], dtype=pl.String)
        return self.table["cause"].replace("", None).drop_nulls().unique().sort()

    def cause_positions(
        self, failed: pl.Series, stage: int, models: Models | None
    ) -> NDArray[np.int32]:
        """Why each failed at a stage, as a place in `causes`; -1 where it is not told.

        Of several reasons, the first one; of a model, its own or one of its recordings.
        """
        if not len(self.causes):
            return np.full(len(failed), -1, dtype=np.int32)
        here = self.table.filter(pl.Series(stages(self.table["stage"]) == stage))
        known = here.select("recording", "cause").filter(pl.col("cause") != "")
        if models is not None:
            of_models = models.table.join(known, on="recording", maintain_order="left")
            known = pl.concat((known, of_models.select(recording="model", cause="cause")))
        first = known.unique("recording", keep="first", maintain_order=True)
        asked = pl.DataFrame({"recording": failed})
        told = asked.join(first, on="recording", how="left", maintain_order="left")["cause"]
        return places_in(told, self.causes)

    def check_speakers(
        self,
        recordings: pl.Series,
        speakers: Speakers | None,
        utterances: Utterances | None,
        models: Models | None,
    ) -> None:
        """Refuse recordings that stand in no trial, where one of them is of no known speaker.

        Without a table of speakers, the first component of a path is one.
        """
        mend = ""
        if utterances is not None and utterances.names_speakers:
            there = utterances.table["utterance"]
            odd = recordings.filter(~recordings.is_in(there.implode()))
            mend = spreadsheet_damage(odd, there, utterances.name)
        elif speakers is not None:
            whose = first_components(recordings)
            known = list(speakers.ids if speakers.choose_id_column(whose) else ())
            odd = recordings.filter(~whose.is_in(pl.Series([known], dtype=pl.List(pl.String))))
        else:
            odd = recordings.filter(~recordings.str.contains(r"[/\\]"))
        if not len(odd):
            return
        at = self.table.filter(pl.col("recording").is_in(odd.implode())).sort("row").row(0)
        row, recording = at[:2]
        others = f" ({len(odd):,} such recordings)" if len(odd) > 1 else ""
        if models is not None and recording in models.speaker_of["model"]:
            mend = f"it is a model of {models.name}, which can fail at the stage enrol only"
        msg = (
            f"{self.name}, row {row}: recording {recording!r} is in no trial and of no known "
            f"speaker{others}; {mend or 'correct the id, or give its speaker with --utterances'}"
        )
        raise DataError(msg)


REASON = ("reason", "cause", "why")
_MOST_CAUSES, _OTHER = 50, "other"


def read_failures(source: Any) -> Failures:
    """Read a table of recording, stage (enrol or acquire) and, perhaps, reason.

    Examples
    --------
    >>> rows = {"recording": ["a/1", "a/2"], "stage": ["enrol", "acquire"]}
    >>> failures = read_failures(rows)
    >>> failures.enrol.to_list(), failures.acquire.to_list()
    (['a/1'], ['a/2'])
    """
    if isinstance(source, Failures):
        return source
    whole, name, provenance = read_table(source, "failures")
    columns = {
        "recording": find_column(whole, "recording", (*UTTERANCE, "model", "modelid"), name),
        "stage": find_column(whole, "stage", ("stage", "failurestage", "step"), name),
    }
    if cause := find_column(whole, "reason", REASON, ""):
        columns["cause"] = cause
    rows = by_role(whole, columns, name)
    recording, stage = rows.ids("recording"), stages(rows["stage"])
    rows.refuse(stage < 0, "stage", *NO_STAGE)
    enrol, acquire = (
        recording.filter(pl.Series(stage == one)).unique().sort() for one in (ENROL, ACQUIRE)
    )
    table = rows.frame
    if cause:  # what is told of one recording alone may name it
        table = table.with_columns(pl.col("cause").fill_null(""))
        counts = table.group_by("cause").agg(pl.col("recording").n_unique()).sort("cause")
        often = counts.filter(pl.col("recording") > 1).top_k(_MOST_CAUSES, by="recording")["cause"]
        told = pl.col("cause").is_in(often.implode()) | (pl.col("cause") == "")
        table = table.with_columns(cause=pl.when(told).then("cause").otherwise(pl.lit(_OTHER)))
    return Failures(enrol, acquire, name, {**provenance, "columns": columns}, table)
