"""AS-norm and S-norm against a slow reference and wespeaker's rule."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from parivox import score
from parivox.errors import ConfigError, DataError

RECORDINGS_EACH = 5


def normalised(raw, mine, theirs, top):
    """One trial, of each side's scores with the cohort."""
    sides = []
    for scores in (mine, theirs):
        nearest = sorted(scores, reverse=True)[:top]
        mean = sum(nearest) / top
        sd = (sum((x - mean) ** 2 for x in nearest) / top) ** 0.5
        sides.append((raw - mean) / sd)
    return sum(sides) / 2


@pytest.mark.slow
@pytest.mark.parametrize("top", [2, 7, 20])
def test_as_norm_equals_a_plain_slow_reference(top, pairs, embedded, cohort, scored, by_hand):
    scores = scored(pairs, embedded, as_norm=cohort, top=top)
    strangers = [
        by_hand.vector(embedded, recording_id)[0] for recording_id in cohort.read_text().split()
    ]
    expected = []
    for row in pairs.iter_rows(named=True):
        a, b = (by_hand.vector(embedded, row[side])[0] for side in ("enrol", "test"))
        cohort_scores = [
            [by_hand.cosine(x, recording_id) for recording_id in strangers] for x in (a, b)
        ]
        expected.append(normalised(by_hand.cosine(a, b), *cohort_scores, top))
    assert np.abs(scores["score"].to_numpy() - expected).max() < 1e-6


def test_s_norm_counts_the_whole_cohort(pairs, embedded, cohort, scored):
    cohort_scores = scored(pairs, embedded, s_norm=cohort)["score"]
    assert (cohort_scores == scored(pairs, embedded, as_norm=cohort, top=20)["score"]).all()
    assert (cohort_scores != scored(pairs, embedded, as_norm=cohort, top=19)["score"]).all()


def test_wespeakers_rule_is_a_mean_subtracted_and_as_norm(pairs, embedded, cohort, scored, by_hand):
    scores = scored(pairs, embedded, as_norm=cohort, top=5, subtract_mean=cohort)
    cohort_vectors = np.array(
        [by_hand.vector(embedded, recording_id)[0] for recording_id in cohort.read_text().split()]
    )
    mean = cohort_vectors.mean(axis=0)
    cohort_vectors = cohort_vectors - mean
    cohort_vectors /= np.linalg.norm(cohort_vectors, axis=1, keepdims=True)
    expected = []
    for row in pairs.iter_rows(named=True):
        sides = [by_hand.vector(embedded, row[side])[0] - mean for side in ("enrol", "test")]
        e, t = (x / np.linalg.norm(x) for x in sides)
        top_e, top_t = (np.sort(cohort_vectors @ x)[::-1][:5] for x in (e, t))
        raw = e @ t
        normed_scores = [(raw - top.mean()) / top.std() for top in (top_e, top_t)]
        expected.append(0.5 * (normed_scores[0] + normed_scores[1]))
    assert np.abs(scores["score"].to_numpy() - expected).max() < 1e-6


def test_a_cohort_may_have_embeddings_of_its_own(
    pairs, embedded, cohort, scored, monkeypatch, by_hand
):
    cohort_vectors = by_hand.vectors_of(
        embedded.values[8 * RECORDINGS_EACH :], ids=[f"x/{i}" for i in range(20)]
    )
    monkeypatch.setattr("parivox.scoring.normalisation.open_vectors", lambda _: cohort_vectors)
    apart = scored(pairs, embedded, as_norm="other.npz", top=5)
    assert (apart["score"] == scored(pairs, embedded, as_norm=cohort, top=5)["score"]).all()


def test_a_cohort_of_other_dimension_is_refused(pairs, embedded, scored, monkeypatch, by_hand):
    cohort_vectors = by_hand.vectors_of(embedded.values[:, :, :9], name="other.npz")
    monkeypatch.setattr("parivox.scoring.normalisation.open_vectors", lambda _: cohort_vectors)
    with pytest.raises(
        DataError, match=r"shape 1 x 9 \(crops x dimension\), but those of embeddings have 1 x 32"
    ):
        scored(pairs, embedded, as_norm="other.npz")


def test_a_recording_is_no_stranger_to_itself(pairs, embedded, tmp_path, scored):
    path = tmp_path / "all.txt"
    path.write_text("\n".join(embedded.ids))
    with pytest.raises(
        DataError, match=r"40 of 60 recordings of the cohort .* also occur in the trials"
    ):
        scored(pairs, embedded, as_norm=path)


def test_options_that_do_not_fit_are_refused(pairs, embedded, cohort, scored):
    for options, words in (
        ({"as_norm": cohort, "s_norm": cohort}, "contradict each other"),
        ({"top": 3}, "top applies only to as_norm"),
        (
            {"as_norm": cohort, "top": 21},
            "the cohort has 20 recordings; give a number from 2 to 20",
        ),
        ({"as_norm": cohort, "top": 1}, "from 2 to 20"),
    ):
        with pytest.raises(ConfigError, match=words):
            scored(pairs, embedded, **options)


def test_who_the_cohort_is_is_told_and_kept_with_the_scores(pairs, embedded, cohort, tmp_path):
    speakers = tmp_path / "speakers.csv"
    rows = [f"s{i:02d},{'m' if i % 4 == 0 else 'f'},{20 + i}" for i in range(12)]
    speakers.write_text("speaker,gender,age\n" + "\n".join(rows) + "\n")
    out = tmp_path / "scores.parquet"
    scoring_run = score(
        pairs, embeddings=embedded, out=out, as_norm=cohort, top=9, speakers=speakers
    )
    assert scoring_run.cohort["gender"] == {
        "f": {"recordings": 15, "speakers": 3},
        "m": {"recordings": 5, "speakers": 1},
    }
    record = json.loads(pl.read_parquet_metadata(out)["parivox"])
    assert record["cohort"]["gender"]["m"]["speakers"] == 1
    assert record["norm"][:2] == ["as", 9]


def test_recordings_of_the_cohort_that_failed_are_left_out_and_told(
    pairs, embedded, cohort, tmp_path, by_hand
):
    status = ["ok"] * 60
    status[59] = "silent"
    vectors = by_hand.vectors_of(embedded.values[:59], status=status)
    scoring_run = score(pairs, embeddings=vectors, out=tmp_path / "s.parquet", s_norm=cohort)
    (note,) = scoring_run.notes
    assert (note.code, note.values["recordings"]) == ("failed_recordings_of_cohort", 1)
    assert "a cohort of 19 recordings" in scoring_run.how


@pytest.mark.parametrize("of_models", [False, True])
def test_a_cohort_of_copies_is_refused(of_models, pairs, embedded, cohort, scored, by_hand):
    values = embedded.values.copy()
    values[8 * RECORDINGS_EACH :] = values[-1]
    ids = embedded.ids.to_list()
    models = {"model": ids, "recording": ids} if of_models else None
    with pytest.raises(DataError, match=r"cohort.txt: .*'s00/0'.* have the same score with all"):
        scored(pairs, by_hand.vectors_of(values), s_norm=cohort, models=models)


def test_scores_of_any_scale_can_be_normalised(pairs, embedded, cohort, scored, by_hand):
    small = by_hand.vectors_of(embedded.values * np.float32(1e-8))
    options = {"as_norm": cohort, "top": 5, "scoring": "dot"}
    large_scores, small_scores = scored(pairs, embedded, **options), scored(pairs, small, **options)
    assert np.abs(large_scores["score"] - small_scores["score"]).max() < 1e-3


@pytest.mark.slow
def test_a_cohort_of_parquet_is_of_ids_or_of_vectors(pairs, embedded, cohort, scored, tmp_path):
    ids = cohort.read_text().split()
    expected = scored(pairs, embedded, s_norm=cohort)
    pl.DataFrame({"utterance": ids}).write_parquet(tmp_path / "ids.parquet")
    assert scored(pairs, embedded, s_norm=tmp_path / "ids.parquet").equals(expected)
    cohort_table = pl.DataFrame({"utterance": ids}).with_columns(
        embedding=pl.Series(embedded.values[-len(ids) :, 0].tolist())
    )
    cohort_table.write_parquet(tmp_path / "vectors.parquet")
    assert scored(pairs, embedded, s_norm=tmp_path / "vectors.parquet").equals(expected)
