"""Vectors of a few speakers, and how a careful and slow person would score them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from parivox.scoring.vectors import Vectors

SPEAKERS, RECORDINGS_EACH, SIZE = 12, 5, 32


def vectors_of(values, *, status=None, scoring="cosine", ids=None, name="embeddings"):
    """Vectors of utterances s00/0, s00/1, ...; those with another status than ok have no row."""
    n = len(values) if status is None else len(status)
    if ids is None:
        ids = [f"s{i // RECORDINGS_EACH:02d}/{i % RECORDINGS_EACH}" for i in range(n)]
    statuses = pl.Series(["ok"] * n if status is None else status)
    good = (statuses == "ok").to_numpy()
    return Vectors(
        name,
        pl.Series(ids, dtype=pl.String),
        np.asarray(values, dtype=np.float32),
        np.where(good, np.cumsum(good) - 1, -1),
        statuses,
        pl.Series(ids, dtype=pl.String).str.extract("^([^/]+)/"),
        scoring,
        {"made": "by a test"},
    )


@pytest.fixture(autouse=True)
def told_of_each_part(monkeypatch):
    """Progress is told of each part that is done: there a run can be stopped."""
    monkeypatch.setattr("parivox.runtime.progress.REPORT_INTERVAL_S", 0.0)


@pytest.fixture
def embedded():
    """One crop of 60 utterances."""
    draw = np.random.default_rng(3)
    speaker_vectors = np.repeat(draw.normal(size=(SPEAKERS, SIZE)), RECORDINGS_EACH, axis=0)
    return vectors_of((speaker_vectors + draw.normal(size=speaker_vectors.shape))[:, None])


@pytest.fixture
def pairs(embedded):
    """A list of 500 trials, in no order, some of them twice, of the first 8 speakers."""
    draw = np.random.default_rng(4)
    enrol, test = draw.integers(0, 8 * RECORDINGS_EACH, (2, 500))
    enrol[-5:], test[-5:] = enrol[:5], test[:5]
    ids = embedded.ids
    return pl.DataFrame(
        {
            "enrol": ids.gather(enrol),
            "test": ids.gather(test),
            "label": np.where(
                enrol // RECORDINGS_EACH == test // RECORDINGS_EACH, "target", "nontarget"
            ),
        }
    )


@pytest.fixture
def cohort(tmp_path, embedded):
    """A file with the ids of the other 4 speakers."""
    path = tmp_path / "cohort.txt"
    path.write_text("\n".join(embedded.ids[8 * RECORDINGS_EACH :]) + "\n")
    return path


@pytest.fixture
def scored(tmp_path):
    """Score, and give the file back as a table."""
    from parivox import score

    def run(trials, embeddings, **options):
        out = tmp_path / "scores.parquet"
        score(trials, embeddings=embeddings, out=out, overwrite=True, **options)
        return pl.read_parquet(out)

    return run


def vector(vectors, utterance):
    """Of one utterance, (crop, dimension) in double precision."""
    index = vectors.ids.to_list().index(utterance)
    return np.asarray(vectors.values[vectors.row[index]], dtype=np.float64)


def cosine(a, b):
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)


@pytest.fixture
def by_hand():
    """What tests make vectors with, and look them up."""
    return SimpleNamespace(vectors_of=vectors_of, vector=vector, cosine=cosine)
