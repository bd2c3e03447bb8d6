"""Trials of real speakers by corpus: VoxCeleb1-H, and speechocean762 as docs/speechocean.md has it.

VoxCeleb1-H comes with bt4vt, with the scores of the systems V2 and L. The scores of speechocean762,
by the bundled encoder ge2e, are read from the folder that the environment variable
PARIVOX_SPEECHOCEAN names, or from build/speechocean. No study keeps ids or scores of either.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from benchmarks.measure import demo_data

import parivox as pv

if TYPE_CHECKING:
    from benchmarks.coverage.simulate import FloatArray, IntArray
    from numpy.typing import NDArray

VOXCELEB, SPEECHOCEAN = "voxceleb", "speechocean"
ALL_PAIRS = "all pairs"
DESIGNED = "designed"
SYSTEMS = {"V2": VOXCELEB, "L": VOXCELEB, "ge2e": SPEECHOCEAN}
VARIABLE = "PARIVOX_SPEECHOCEAN"
FOLDER = Path(__file__).parents[2] / "build" / "speechocean"
LARGEST_DIFFERENCE = 1e-4  # of a score from that of the same pair in the designed list
ROWS_AT_ONCE = 500  # recordings that are compared with all others at a time


class MissingCorpusError(Exception):
    """A corpus that is not on this machine."""


@dataclass(frozen=True, eq=False)
class Trials:
    """Trials of a score file: arrays [trial]; `group` [speaker] is an index of `names`."""

    first_speaker: IntArray
    second_speaker: IntArray
    target: NDArray[np.bool_]
    score: FloatArray
    group: IntArray
    names: list[str]


@dataclass(frozen=True, eq=False)
class TrialTable:
    """A list with ids, as an audit reads it.

    `trials` has the columns enrol, test, label and score, with ids `speaker/recording`; `people`
    has the speaker and two attributes, whose values together are the groups.
    """

    trials: pl.DataFrame
    people: pl.DataFrame

    @property
    def attributes(self) -> tuple[str, str]:
        """Both attributes by name."""
        _, first, second = self.people.columns
        return first, second


def trial_table(system: str) -> TrialTable:
    """Return the list that a system is studied on, with its scores."""
    return _speechocean_table() if SYSTEMS[system] == SPEECHOCEAN else _voxceleb_table(system)


@cache
def trials_of(system: str, pairs: str = DESIGNED) -> Trials:
    """Return the trials of a system: V2 and L of VoxCeleb1-H, ge2e of speechocean762.

    `all pairs` are all pairs of recordings of speechocean762, of whom the list has a part.
    """
    table = trial_table(system)
    sides = [table.trials[side].str.split("/").list.first() for side in ("enrol", "test")]
    used = pl.concat(sides).unique().sort()
    group = pl.DataFrame({"speaker": used}).join(
        table.people.select("speaker", group=pl.concat_str(table.attributes, separator="+")),
        on="speaker",
        maintain_order="left",
    )
    names, speaker_groups = np.unique(group["group"].to_numpy().astype(str), return_inverse=True)
    order = pl.Enum(used)
    speakers = [side.cast(order).to_physical().to_numpy() for side in sides]
    target, score = (table.trials["label"] == 1).to_numpy(), table.trials["score"].to_numpy()
    if pairs == ALL_PAIRS:
        *speakers, score = _all_pairs(used, table.trials)
        target = speakers[0] == speakers[1]
    return Trials(
        np.minimum(*speakers).astype(np.int64),
        np.maximum(*speakers).astype(np.int64),
        target,
        score,
        speaker_groups.astype(np.int64),
        names.tolist(),
    )


def voxceleb(system: str = "V2") -> Trials:
    """Return the trials of VoxCeleb1-H by gender and nationality, with the scores of V2 or L."""
    return trials_of(system)


def _voxceleb_table(system: str) -> TrialTable:
    scores, meta = demo_data()
    scores = scores.with_name(scores.name.replace("34v2", f"34{system.lower()}"))
    people = pl.read_csv(meta, separator="\t").select(
        speaker="VoxCeleb1 ID", gender="Gender", nationality="Nationality"
    )
    trials = pl.read_csv(scores).select(
        enrol="ref_file", test="com_file", label="lab", score=pl.col("sc").cast(pl.Float64)
    )
    return TrialTable(trials, people)


def speechocean_folder() -> Path:
    """Return the folder with the scores of speechocean762.

    Raises
    ------
    MissingCorpusError
        If it lacks any of the files.
    """
    folder = Path(os.environ.get(VARIABLE) or FOLDER)
    for name in ("scores.parquet", "speakers.csv", "embeddings"):
        if not (folder / name).exists():
            message = (
                f"{folder / name}: not found; make it with the commands of docs/speechocean.md, "
                f"or name the folder that has it in {VARIABLE}"
            )
            raise MissingCorpusError(message)
    return folder


@cache
def _speechocean_table() -> TrialTable:
    folder = speechocean_folder()
    text = {"speaker": pl.String}
    people = pl.read_csv(folder / "speakers.csv", schema_overrides=text)
    recordings = _recordings(folder)
    trials = pl.read_parquet(folder / "scores.parquet")
    for side in ("enrol", "test"):
        trials = trials.join(
            recordings.select(pl.col("utterance").alias(side), pl.col("id").alias(f"{side}_id")),
            on=side,
            maintain_order="left",
        )
    return TrialTable(
        trials.select(
            enrol="enrol_id",
            test="test_id",
            label=(pl.col("label").cast(pl.String).is_in(["target", "1", "true"])).cast(pl.Int64),
            score=pl.col("score").cast(pl.Float64),
        ),
        people.select("speaker", "gender", "band"),
    )


def _recordings(folder: Path) -> pl.DataFrame:
    """Return the recordings as embedded, with ids that begin with their speaker."""
    return pv.open_store(folder / "embeddings").table.with_columns(
        id=pl.concat_str("speaker", "utterance", separator="/")
    )


def _all_pairs(used: pl.Series, listed: pl.DataFrame) -> tuple[IntArray, IntArray, FloatArray]:
    """Return both speakers and the cosine of all pairs of recordings, each pair once.

    Raises
    ------
    AssertionError
        If a pair of the list has another score there.
    """
    store = pv.open_store(speechocean_folder() / "embeddings")
    recordings = _recordings(speechocean_folder())
    vectors = np.asarray(store.vectors[:, 0], dtype=np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    row = dict(zip(recordings["id"].to_list(), range(recordings.height), strict=True))
    enrol, test = (
        np.array([row[recording] for recording in listed[side]]) for side in ("enrol", "test")
    )
    cosine = np.einsum("ij,ij->i", vectors[enrol], vectors[test])
    assert np.max(np.abs(cosine - listed["score"].to_numpy())) < LARGEST_DIFFERENCE
    speaker = recordings["speaker"].cast(pl.Enum(used)).to_physical().to_numpy().astype(np.int64)
    chunks = []
    for start in range(0, len(vectors), ROWS_AT_ONCE):
        rows = np.arange(start, min(start + ROWS_AT_ONCE, len(vectors)))
        first, second = np.nonzero(rows[:, None] < np.arange(len(vectors)))
        cosines = (vectors[rows] @ vectors.T)[first, second]
        chunks.append((speaker[rows[first]], speaker[second], cosines))
    first_speaker, second_speaker, score = (
        np.concatenate(column) for column in zip(*chunks, strict=True)
    )
    return first_speaker, second_speaker, score
