"""Tables of recordings: whose each utterance is, of which models are made, which ones failed."""

from __future__ import annotations

import os
import re
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.data.columns import MODEL_NAMES, SPEAKER_NAMES, UTTERANCE_NAMES, plain_name
from parivox.data.enrolment_maps import ENROLMENT_MAP, read_enrolment_map
from parivox.data.formats import SIDE_PROBLEM, segment_side_ids
from parivox.data.formats.asvspoof5 import RECORDINGS, SPEAKER_ATTRIBUTE
from parivox.data.id_patterns import is_pattern, parse_pattern
from parivox.data.ids import positions_in
from parivox.data.joining import (
    first_components,
    listed_ids,
    missing_ids_remedy,
    placeholders,
    spreadsheet_damage,
)
from parivox.data.source_bytes import read_content
from parivox.data.speakers import (
    Speakers,
    contradictory_rows,
    known_values,
    merged_rows,
    read_table,
    role_columns,
)
from parivox.data.table_kinds import (
    FAILURE_NAMES,
    failure_columns,
    find_column,
    model_columns,
    utterance_columns,
)
from parivox.data.trial_checks import ACQUIRE, ENROL
from parivox.data.trial_values import STAGE_PROBLEM, stages
from parivox.errors import ConfigError, DataError
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from parivox.data.id_patterns import IdPattern
    from parivox.data.ids import MergedIds


@frozen
class Utterances:
    """Table of utterances, each of which is a recording: the speaker of each, and what else."""

    # columns ``row``, ``utterance`` and, if it is told, ``speaker``, each utterance once
    table: pl.DataFrame
    name: str
    provenance: dict[str, Any]
    attributes: pl.DataFrame  # every other column as text, in the same order; null is unknown
    n_repeated_rows: int = 0  # how many rows tell of an utterance that a row above them tells of
    # the speaker of each utterance with what the table tells of speakers, if it tells anything
    speaker_attributes: pl.DataFrame = field(default_factory=pl.DataFrame)

    @property
    def names_speakers(self) -> bool:
        """Whether the table says whose each utterance is."""
        return "speaker" in self.table.columns

    def speakers(
        self,
        ids: pl.Series,
        name: str,
        noun: str = "utterance ids",
        *,
        known: Speakers | None = None,
    ) -> pl.Series:
        """Speaker of each of these distinct ids of a file; one that the table lacks is an error.

        Where most are listed, an id that is a known speaker itself is of that speaker.
        """
        id_speakers = pl.DataFrame({"utterance": ids}).join(
            self.table, on="utterance", how="left", maintain_order="left"
        )["speaker"]
        # ids that are cut may be names of speakers too, but then the table has few of them
        if 2 * id_speakers.count() >= len(ids):
            id_speakers = _with_own_speakers(ids, id_speakers, known)
        if id_speakers.null_count():
            missing, table_ids = ids.filter(id_speakers.is_null()), self.table["utterance"]
            remedy = spreadsheet_damage(missing, table_ids, self.name) or missing_ids_remedy(
                missing, table_ids
            )
            msg = f"{name}: {listed_ids(missing, ids, noun)} are not in {self.name}"
            raise DataError(msg, remedy)
        return id_speakers

    def recording_speakers(self, recordings: pl.Series, name: str) -> pl.Series | None:
        """Speaker of each recording of a model; None where the table names no speakers."""
        if not self.names_speakers:
            return None
        return self.speakers(recordings, name, "recordings of models")

    def refuse_nobody(self) -> None:
        """Refuse placeholders in the place of speakers, where no table of speakers lists them."""
        placeholder_rows = (
            self.table.filter(pl.col("speaker").is_in(placeholders()))
            if self.names_speakers
            else None
        )
        if placeholder_rows is not None and placeholder_rows.height:
            row = placeholder_rows.row(0, named=True)
            count_text = (
                "the only such row"
                if placeholder_rows.height == 1
                else f"one of {placeholder_rows.height:,} such rows"
            )
            msg = (
                f"{self.name}, row {row['row']}: the speaker {row['speaker']!r} is a placeholder, "
                f"not a speaker ({count_text})"
            )
            hint = (
                "name the speaker or remove the row. If this is the id of a speaker, list it in "
                "a speaker table"
            )
            raise DataError(msg, hint)

    def all_speakers(self, ids: Iterable[pl.Series], name: str) -> pl.Series:  # noqa: ARG002 - see SpeakerPattern
        """Every speaker, where no other table tells them."""
        return self.table["speaker"]


@frozen
class SpeakerPattern(Utterances):
    """Where in the ids their speaker stands, in the place of a table: it has no rows.

    Of several patterns, an id takes the first one that gives a known speaker, else the first one
    that fits. Patterns of enrolments make these models, whose ids are no utterances.

    Examples
    --------
    >>> read_utterances("{speaker}-*").speakers(pl.Series(["id1-a"]), "scores.csv").to_list()
    ['id1']
    """

    patterns: tuple[IdPattern, ...] = ()

    @property
    def has_sides(self) -> bool:
        """Whether enrolments have patterns of their own."""
        return any(pattern.side for pattern in self.patterns)

    def check_sides(self, *, has_models: bool) -> None:
        """Refuse a pattern of one side alone, unless a table of models tells of enrolments."""
        sides = {pattern.side for pattern in self.patterns}
        if sides == {"enrol"} or (sides == {"test"} and not has_models):
            (side,) = sides
            lacking = "enrol too, or a table with --models" if side == "test" else "test too"
            msg = f"--utterances: the only pattern is for {side}"
            hint = f"give one for {lacking}"
            raise ConfigError(msg, hint)

    def recording_speakers(self, recordings: pl.Series, name: str) -> pl.Series | None:
        """Speaker of each recording of a model; None where patterns are of tests alone."""
        if {pattern.side for pattern in self.patterns} == {"test"}:
            return None
        side = "enrol" if self.has_sides else "test"
        return self._parts(recordings, name, "recordings of models", None, side=side)["speaker"]

    @property
    def names_attributes(self) -> bool:
        """Whether patterns name more than the speaker."""
        return any(len(pattern.names) > 1 for pattern in self.patterns)

    def speakers(
        self,
        ids: pl.Series,
        name: str,
        noun: str = "utterance ids",
        *,
        known: Speakers | None = None,
    ) -> pl.Series:
        """Speaker of each of these ids of a file; one that does not fit is an error."""
        return self._parts(ids, name, noun, known, side="test")["speaker"]

    def enrolment_speakers(self, ids: pl.Series, name: str, known: Speakers | None) -> pl.Series:
        """Speaker of each of these enrolments, where these have patterns of their own."""
        return self._parts(ids, name, "enrolment ids", known, side="enrol")["speaker"]

    def all_speakers(self, ids: Iterable[pl.Series], name: str) -> pl.Series:
        """Every speaker that the ids of a file tell."""
        return pl.concat([self.speakers(id_chunk, name).unique() for id_chunk in ids])

    def as_table(self, ids: pl.Series, name: str, known: Speakers | None) -> Utterances:
        """The utterances of a file, with everything that the patterns name."""
        parts = self._parts(ids, name, "utterance ids", known, side="test")
        rows = np.arange(1, len(ids) + 1)
        table = pl.DataFrame({"row": rows, "utterance": ids, "speaker": parts["speaker"]})
        return Utterances(table, self.name, self.provenance, parts.drop("speaker"))

    def _parts(
        self, ids: pl.Series, name: str, noun: str, known: Speakers | None, *, side: str
    ) -> pl.DataFrame:
        """What stands in each id under each name."""
        candidates = [
            pattern.matches(ids) for pattern in self.patterns if pattern.side in {"", side}
        ]
        parts = candidates[0] if len(candidates) == 1 else _first_fitting(candidates, known)
        speaker = _with_own_speakers(ids, parts["speaker"], known)
        if speaker.null_count():
            unmatched = ids.filter(speaker.is_null())
            msg = (
                f"{name}: {listed_ids(unmatched, ids, noun)} do not match the pattern --utterances "
                f"{self.name!r}"
            )
            hint = "correct the pattern, or give an utterance table"
            raise DataError(msg, hint)
        return parts.with_columns(speaker=speaker)


def _first_fitting(candidates: Sequence[pl.DataFrame], known: Speakers | None) -> pl.DataFrame:
    """Of each id, what the first pattern with a known speaker gives, else the first that fits."""
    if known is not None:
        found = pl.concat([candidate["speaker"] for candidate in candidates])
        known.choose_id_column(found.drop_nulls())
    names = dict.fromkeys(column for candidate in candidates for column in candidate.columns)
    undefined = pl.Series([None] * candidates[0].height, dtype=pl.String)
    parts = pl.DataFrame(dict.fromkeys(names, undefined))
    for needs_known_speaker in (True, False):
        for candidate in candidates:
            fits = candidate["speaker"].is_not_null() & parts["speaker"].is_null()
            if needs_known_speaker:
                fits &= _are_known(candidate["speaker"], known)
            parts = parts.with_columns(
                candidate[column].zip_with(fits, parts[column]).alias(column)
                for column in candidate.columns
            )
    return parts


def _are_known(names: pl.Series, known: Speakers | None) -> pl.Series:
    """Whether each name is a speaker of the table; of none without one."""
    positions = None if known is None else known.positions(names.fill_null(""))
    if positions is None:
        return pl.Series([False] * len(names), dtype=pl.Boolean)
    return pl.Series(positions >= 0)


def _with_own_speakers(ids: pl.Series, speakers: pl.Series, known: Speakers | None) -> pl.Series:
    """The speakers of ids; an id without one that is a known speaker is of that speaker."""
    if known is None or not speakers.null_count():
        return speakers
    known.choose_id_column(speakers.drop_nulls() if speakers.count() else ids)
    return ids.zip_with(speakers.is_null() & _are_known(ids, known), speakers)


def read_utterances(source: Any) -> Utterances:
    """Read a table of utterances: speaker, recording, and any attributes of the recording.

    A text with names in braces is no file, but a pattern of the ids; so are several such texts.
    """
    if isinstance(source, Utterances):
        return source
    if is_pattern(source):
        return _read_patterns([source] if isinstance(source, str) else list(source))
    if isinstance(source, (list, tuple)) and all(isinstance(text, str) for text in source):
        msg = f"--utterances: {len(source)} files are given"
        hint = "give one table, or patterns of ids"
        raise ConfigError(msg, hint)
    raw_table, name, provenance = read_table(source, "utterances")
    columns = utterance_columns(raw_table)
    speaker = columns.get("speaker", "")
    if "utterance" not in columns:
        find_column(raw_table, "utterance", UTTERANCE_NAMES, name, "utterances")
    role_columns_and_row = {*columns.values(), "row"}
    attribute_columns = [
        column for column in raw_table.columns if column not in role_columns_and_row
    ]
    rows = role_columns(raw_table, columns, name)
    table = rows.frame
    for role in columns:
        rows.ids(role)
    if speaker and (contradiction := contradictory_rows(table, "utterance", "speaker")):
        first_row, second_row = contradiction
        msg = (
            f"{name}, rows {first_row['row']} and {second_row['row']}: utterance "
            f"{first_row['utterance']!r} has the "
            f"speakers {first_row['speaker']!r} and {second_row['speaker']!r}"
        )
        hint = "keep one of the two"
        raise DataError(msg, hint)
    distinct = table.unique(list(columns), keep="first", maintain_order=True)
    attributes = known_values(
        table.select("row", "utterance").hstack(raw_table.select(attribute_columns)),
        attribute_columns,
    )
    if distinct.height < attributes.height:
        merged_attributes, differing = merged_rows(attributes, "utterance", attribute_columns)
        for column in differing:
            first_row, second_row = contradictory_rows(attributes, "utterance", column) or ({}, {})
            msg = (
                f"{name}, rows {first_row['row']} and {second_row['row']}, column {column!r}: "
                "utterance "
                f"{first_row['utterance']!r} is {first_row[column]!r} and "
                f"{second_row[column]!r}"
            )
            hint = "keep one of the two"
            raise DataError(msg, hint)
        attributes = merged_attributes
    of_speakers = []
    if provenance["format"] == RECORDINGS:
        of_speakers = [SPEAKER_ATTRIBUTE]
        attribute_columns = [name for name in attribute_columns if name != SPEAKER_ATTRIBUTE]
    return Utterances(
        distinct,
        name,
        {**provenance, "columns": columns},
        attributes.select(attribute_columns),
        raw_table.height - distinct.height,
        distinct.select("row", "speaker").hstack(attributes.select(of_speakers))
        if of_speakers
        else pl.DataFrame(),
    )


def speakers_of_utterances(utterances: Utterances, conflicts: str) -> Speakers | None:
    """Return the speakers of a table of utterances that tells more of them than their names."""
    table = utterances.speaker_attributes
    if not table.width:
        return None
    return Speakers(table, name=utterances.name, id="speaker", conflicts=conflicts, provenance={})


def _read_patterns(texts: Sequence[str]) -> SpeakerPattern:
    """Patterns in the place of a table."""
    patterns = tuple(map(parse_pattern, texts))
    columns = dict.fromkeys(("utterance", "speaker"), pl.String)
    no_rows = pl.DataFrame(schema={"row": pl.Int64, **columns})
    name = " and ".join(texts)
    return SpeakerPattern(no_rows, name, {}, pl.DataFrame(), patterns=patterns)


_WIDE_RECORDING = re.compile(
    r"(enrol|enroll|enrolment|enrollment|evaluation)?(file|utt|utterance|segment|recording|wav)(id)?\d+"
)
"""Names of one of several columns with the recordings of a model."""


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

    def with_speakers(
        self, utterances: Utterances | None, speakers: Speakers | None = None
    ) -> Models:
        """The same models with their speakers, which stand elsewhere if no column tells them.

        Those of NIST are told by the table of segments; models may have the names of their
        speakers, as in ``spk2utt`` of Kaldi; else a recording begins with its speaker.

        Examples
        --------
        >>> models = read_models({"modelid": ["m"], "segmentid": ["a/1"], "side": ["a"]})
        >>> models.with_speakers(None).speaker_of.rows()
        [('m', 'a')]
        """
        if "speaker" in self.table.columns:
            return self
        has_table = utterances is not None and utterances.names_speakers
        if speakers is not None and not has_table:
            models = self.table["model"].unique()
            if speakers.choose_id_column(models) == 1:
                table = self.table.with_columns(speaker="model")
                return replace(self, table=table, speaker_of=_model_speakers(table, self.name))
        recordings = self.table["recording"].unique(maintain_order=True)
        if speakers is not None and not has_table and speakers.choose_id_column(recordings) == 1:
            return self._of_speakers("model", "recording")  # models with their speakers alone
        speaker = None
        if utterances is not None:
            speaker = utterances.recording_speakers(recordings, self.name)
        if speaker is None:
            speaker = recordings.str.extract("^([^/]+)/")
            if speaker.null_count():
                table_name, remedy = (
                    self.name,
                    "give the speakers of the recordings with --utterances",
                )
                if utterances is not None:
                    table_name, remedy = utterances.name, f"give {self.name} one"
                msg = f"{table_name}: has no column 'speaker'"
                hint = f"name the column of speakers 'speaker', or {remedy}"
                raise DataError(msg, hint)
        recording_speakers = pl.DataFrame({"recording": recordings, "speaker": speaker})
        table = self.table.join(recording_speakers, on="recording", maintain_order="left")
        return replace(self, table=table, speaker_of=_model_speakers(table, self.name))

    def of_enrolments(self, ids: pl.Series) -> Models:
        """Return the same models, or those of a map whose second column has the enrolments.

        A map of two columns without a header may be of models and speakers as well as of recordings
        and models.
        """
        if self.provenance.get("format") != ENROLMENT_MAP:
            return self
        models, recordings = self.table["model"].implode(), self.table["recording"].implode()
        is_turned = ids.is_in(recordings).all() and not ids.is_in(models).any()
        return self._of_speakers("recording", "model") if is_turned else self

    def _of_speakers(self, model: str, speaker: str) -> Models:
        """Return models of which two columns give the names and the speakers, and no more."""
        table = self.table.select("row", model=model, speaker=speaker)
        speaker_of = _model_speakers(table.with_columns(recording="model"), self.name)
        models = models_of_speakers(speaker_of["model"], self.name, speaker_of["speaker"])
        return replace(models, provenance=self.provenance)

    def speakers(self, ids: pl.Series, scores: str) -> pl.Series:
        """Speaker of each model; one that the table lacks is an error."""
        model_speakers = pl.DataFrame({"model": ids}).join(
            self.speaker_of, on="model", how="left", maintain_order="left"
        )["speaker"]
        if model_speakers.null_count():
            missing = ids.filter(model_speakers.is_null())
            msg = (
                f"{scores}: {listed_ids(missing, ids, 'enrolment ids')} are not models in "
                f"{self.name}"
            )
            hint = "add the models to this table"
            raise DataError(msg, hint)
        return model_speakers

    def recordings(self, ids: pl.Series) -> tuple[NDArray[np.int32], pl.Series]:
        """Recordings of these models: the place of the model, and the recording, a pair a row."""
        model_positions = pl.DataFrame({"model": ids, "place": np.arange(len(ids), dtype=np.int32)})
        pairs = self.table.join(model_positions, on="model").sort("place", "recording")
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
        positions = ids.positions(self.table["recording"])
        trial_speakers = np.where(positions >= 0, speaker[positions], -1) if len(ids) else positions
        trial_names = pl.Series("other", names, dtype=pl.String).gather(
            np.maximum(trial_speakers, 0)
        )
        compared = self.table.with_columns(trial_names).filter(pl.Series(trial_speakers >= 0))
        self._refuse_others(
            compared, lambda row: f", but {row['other']!r} in {scores}; correct one of the two"
        )

    def check_speakers(
        self, utterances: Utterances | None, speakers: Speakers, *, by_path: bool
    ) -> None:
        """Refuse a recording that is of another speaker in the table of utterances.

        Where that gives no speakers, their paths do, if they do so in the trials (`by_path`).
        """
        if utterances is not None and utterances.names_speakers:
            name = utterances.name
            listed = utterances.table.select(recording="utterance", at="row", other="speaker")
            self._refuse_others(
                self.table.join(listed, on="recording"),
                lambda row: (
                    f", but {row['other']!r} in row {row['at']} of {name}; correct one of the two"
                ),
            )
        elif by_path:
            path_speakers = self.table["recording"].str.extract("^([^/]+)/").alias("other")
            is_speaker = path_speakers.is_in(
                pl.Series([list(speakers.ids)], dtype=pl.List(pl.String))
            )
            self._refuse_others(
                self.table.with_columns(path_speakers).filter(is_speaker),
                lambda row: (
                    f", but its id begins with speaker {row['other']!r}; correct one, or name its "
                    "speaker with --utterances"
                ),
            )

    def _refuse_others(
        self, compared: pl.DataFrame, contradiction: Callable[[dict[str, Any]], str]
    ) -> None:
        """Refuse a recording of which something else names another speaker."""
        contradictory = compared.filter(pl.col("speaker") != pl.col("other"))
        if contradictory.height:
            row = contradictory.sort("row").row(0, named=True)
            msg = (
                f"{self.name}, row {row['row']}: recording {row['recording']!r} of model "
                f"{row['model']!r} has speaker {row['speaker']!r} here{contradiction(row)}"
            )
            raise DataError(msg)


def read_models(source: Any) -> Models:
    """Read a table of model, speaker and recording, one row a recording.

    A speaker may be missing, see `Models.with_speakers`; a column of sides next to segments
    tells these apart as in trials.

    Examples
    --------
    >>> rows = {"model": ["m", "m"], "speaker": ["a", "a"], "recording": ["a/1", "a/2"]}
    >>> read_models(rows).table["recording"].to_list()
    ['a/1', 'a/2']
    """
    if isinstance(source, Models):
        return source
    known_names = {*MODEL_NAMES, *SPEAKER_NAMES, *UTTERANCE_NAMES, "side"}
    enrolment_map = None
    if isinstance(source, (str, os.PathLike)) and source != "":
        source = read_content(source)  # once, as it may be standard input
        enrolment_map = read_enrolment_map(source, known_names)
    raw_table, name, provenance = enrolment_map or read_table(source, "models")
    raw_table = with_one_recording_a_row(raw_table)
    columns = model_columns(raw_table)
    speaker = columns.get("speaker", "")
    if "model" not in columns:
        find_column(raw_table, "model", MODEL_NAMES, name, "models")
    if "recording" not in columns:
        # models may be given with their speakers alone: an audit needs no more
        if not speaker:
            find_column(raw_table.drop(columns["model"]), "recording", UTTERANCE_NAMES, name)
        return _models_without_recordings(raw_table, columns, name, provenance)
    rows = role_columns(raw_table, columns, name)
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
        _model_speakers(table, name)
        if speaker
        else pl.DataFrame(schema={"model": pl.String, "speaker": pl.String})
    )
    return Models(pairs, speaker_of, name, {**provenance, "columns": columns}, repeated)


def with_one_recording_a_row(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table of models with a row a recording; as it is unless several columns hold these.

    Other columns than those of models, speakers and recordings are left out.

    Examples
    --------
    >>> columns = {"row": [2], "model-id": ["m"], "file-id1": ["a/1"], "file-id2": ["a/2"]}
    >>> with_one_recording_a_row(pl.DataFrame(columns)).rows()
    [(2, 'm', 'a/1'), (2, 'm', 'a/2')]
    """
    wide_columns = [name for name in table.columns if _WIDE_RECORDING.fullmatch(plain_name(name))]
    model_columns = [name for name in table.columns if plain_name(name) in MODEL_NAMES]
    if len(wide_columns) < 2 or not model_columns:
        return table
    speaker_columns = [name for name in table.columns if plain_name(name) in SPEAKER_NAMES]
    long_table = table.unpivot(
        wide_columns,
        index=["row", *model_columns, *speaker_columns],
        variable_name="column",
        value_name="recording",
    )
    return (
        long_table.drop("column")
        .filter(pl.col("recording").str.strip_chars().fill_null("") != "")
        .sort("row", maintain_order=True)
    )


def _models_without_recordings(
    raw_table: pl.DataFrame, columns: dict[str, str], name: str, provenance: dict[str, Any]
) -> Models:
    """Models and their speakers, of whose recordings nothing is known."""
    rows = role_columns(raw_table, columns, name)
    for role in columns:
        rows.ids(role)
    # a model is its only recording as far as contradictions go
    speaker_of = _model_speakers(rows.frame.with_columns(recording="model"), name)
    models = models_of_speakers(speaker_of["model"], name, speaker_of["speaker"])
    n_repeated = rows.frame.height - speaker_of.height
    provenance = {**provenance, "columns": columns}
    return replace(models, provenance=provenance, n_repeated_rows=n_repeated)


def models_of_speakers(ids: pl.Series, name: str, speakers: pl.Series | None = None) -> Models:
    """Models of these speakers, or that have the names of theirs, as customers in a log of calls.

    Examples
    --------
    >>> models_of_speakers(pl.Series(["anna"]), "calls.csv").speaker_of.rows()
    [('anna', 'anna')]
    """
    text = dict.fromkeys(("model", "recording", "speaker"), pl.String)
    no_rows = pl.DataFrame(schema={"row": pl.Int64, **text})
    speaker_of = pl.DataFrame({"model": ids, "speaker": ids if speakers is None else speakers})
    return Models(no_rows, speaker_of, name, {}, 0)


def _model_speakers(table: pl.DataFrame, name: str) -> pl.DataFrame:
    """Models and their speakers, each model once; a model or a recording is one speaker's."""
    if contradiction := contradictory_rows(table, "model", "speaker"):
        first_row, second_row = contradiction
        msg = (
            f"{name}, rows {first_row['row']} and {second_row['row']}: model "
            f"{first_row['model']!r} has recordings "
            f"of the speakers {first_row['speaker']!r} and {second_row['speaker']!r}"
        )
        hint = "correct one row: all recordings of a model must be from one speaker"
        raise DataError(msg, hint)
    if contradiction := contradictory_rows(table, "recording", "speaker"):
        first_row, second_row = contradiction
        msg = (
            f"{name}, rows {first_row['row']} and {second_row['row']}: recording "
            f"{first_row['recording']!r} has speaker {first_row['speaker']!r} in model "
            f"{first_row['model']!r}, but {second_row['speaker']!r} in model "
            f"{second_row['model']!r}"
        )
        hint = "correct one of the two"
        raise DataError(msg, hint)
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
        stage_rows = self.table.filter(pl.Series(stages(self.table["stage"]) == stage))
        recording_causes = stage_rows.select("recording", "cause").filter(pl.col("cause") != "")
        if models is not None:
            model_causes = models.table.join(
                recording_causes, on="recording", maintain_order="left"
            )
            recording_causes = pl.concat(
                (recording_causes, model_causes.select(recording="model", cause="cause"))
            )
        first_causes = recording_causes.unique("recording", keep="first", maintain_order=True)
        failed_ids = pl.DataFrame({"recording": failed})
        causes = failed_ids.join(first_causes, on="recording", how="left", maintain_order="left")[
            "cause"
        ]
        return positions_in(causes, self.causes)

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
        remedy = ""
        if utterances is not None and utterances.names_speakers:
            table_ids = utterances.table["utterance"]
            unknown_ids = recordings.filter(~recordings.is_in(table_ids.implode()))
            remedy = spreadsheet_damage(unknown_ids, table_ids, utterances.name)
        elif speakers is not None:
            path_speakers = first_components(recordings)
            speaker_ids = list(speakers.ids if speakers.choose_id_column(path_speakers) else ())
            unknown_ids = recordings.filter(
                ~path_speakers.is_in(pl.Series([speaker_ids], dtype=pl.List(pl.String)))
            )
        else:
            unknown_ids = recordings.filter(~recordings.str.contains(r"[/\\]"))
        if not len(unknown_ids):
            return
        first_row = (
            self.table.filter(pl.col("recording").is_in(unknown_ids.implode())).sort("row").row(0)
        )
        row, recording = first_row[:2]
        count_text = f" ({len(unknown_ids):,} such recordings)" if len(unknown_ids) > 1 else ""
        if models is not None and recording in models.speaker_of["model"]:
            remedy = f"use the stage enrol: this is a model of {models.name}"
        msg = (
            f"{self.name}, row {row}: recording {recording!r} is in no trial, and its speaker is "
            f"unknown{count_text}"
        )
        hint = remedy or "correct the id, or give its speaker with --utterances"
        raise DataError(msg, hint)


_MAX_CAUSES, _OTHER_CAUSE = 50, "other"


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
    raw_table, name, provenance = read_table(source, "failures")
    columns = failure_columns(raw_table)
    for role in ("recording", "stage"):
        if role not in columns:
            find_column(raw_table, role, FAILURE_NAMES[role], name, "failures")
    cause = columns.pop("reason", "")
    if cause:
        columns["cause"] = cause
    rows = role_columns(raw_table, columns, name)
    recording, stage = rows.ids("recording"), stages(rows["stage"])
    rows.refuse(stage < 0, "stage", *STAGE_PROBLEM)
    enrol, acquire = (
        recording.filter(pl.Series(stage == stage_code)).unique().sort()
        for stage_code in (ENROL, ACQUIRE)
    )
    table = rows.frame
    if cause:  # what is told of one recording alone may name it
        table = table.with_columns(pl.col("cause").fill_null(""))
        counts = table.group_by("cause").agg(pl.col("recording").n_unique()).sort("cause")
        frequent_causes = counts.filter(pl.col("recording") > 1).top_k(_MAX_CAUSES, by="recording")[
            "cause"
        ]
        is_listed = pl.col("cause").is_in(frequent_causes.implode()) | (pl.col("cause") == "")
        table = table.with_columns(
            cause=pl.when(is_listed).then("cause").otherwise(pl.lit(_OTHER_CAUSE))
        )
    return Failures(enrol, acquire, name, {**provenance, "columns": columns}, table)
