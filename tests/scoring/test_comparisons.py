"""Each score, against the definition written out trial by trial."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parivox.errors import ConfigError, DataError
from parivox.scoring.vectors import COMPARISONS, pair_scores

CLOSE = 1e-6

SIZE = 32


def cosine(a, b):
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)


def distance(a, b):
    return -np.linalg.norm(a - b)


def crops_distance(a, b):
    """As clovaai's evaluation has it: crops of length 1, all pairs."""
    a, b = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (a, b))
    return -np.mean(
        [[np.linalg.norm(enrol_crop - test_crop) for test_crop in b] for enrol_crop in a]
    )


def ecapa(a, b):
    """As the published evaluation has it: whole recordings, and five crops of each."""
    crops = np.mean(
        [[cosine(enrol_crop, test_crop) for test_crop in b[1:]] for enrol_crop in a[1:]]
    )
    return (cosine(a[0], b[0]) + crops) / 2


REFERENCE_SCORES = {
    "cosine": lambda a, b: cosine(a.mean(0), b.mean(0)),
    "dot": lambda a, b: a.mean(0) @ b.mean(0),
    "euclidean": lambda a, b: distance(a.mean(0), b.mean(0)),
    "crops-euclidean": crops_distance,
    "ecapa-published": ecapa,
}


@pytest.mark.parametrize("name", COMPARISONS)
def test_a_score_is_what_its_definition_says(name, pairs, scored, by_hand):
    vectors = by_hand.vectors_of(np.random.default_rng(1).normal(size=(60, 6, SIZE)) + 0.3)
    scores = scored(pairs, vectors, scoring=name)
    expected = [
        REFERENCE_SCORES[name](
            by_hand.vector(vectors, row["enrol"]), by_hand.vector(vectors, row["test"])
        )
        for row in pairs.iter_rows(named=True)
    ]
    assert np.abs(scores["score"].to_numpy() - expected).max() < CLOSE * max(
        1, np.abs(expected).max()
    )


@pytest.mark.parametrize("name", COMPARISONS)
def test_either_side_may_enrol_and_the_matrix_holds_every_pair(name):
    vectors = np.random.default_rng(2).normal(size=(20, 3, SIZE))
    comparison = COMPARISONS[name]
    unit_vectors = comparison.prepare(vectors).astype(np.float32)
    pair_indices = np.indices((20, 20)).reshape(2, -1)
    scores = pair_scores(unit_vectors, *pair_indices, comparison).reshape(20, 20)
    assert np.abs(scores - scores.T).max() < 1e-12
    matrix = comparison.matrix(unit_vectors.astype(np.float64), unit_vectors.astype(np.float64))
    assert np.abs(scores - matrix).max() < (1e-5 if name == "dot" else 1e-6)


@pytest.mark.parametrize("name", ["cosine", "euclidean"])
def test_a_recording_is_most_like_itself(name):
    vectors = np.random.default_rng(2).normal(size=(20, 3, SIZE))
    unit_vectors = COMPARISONS[name].prepare(vectors).astype(np.float32)
    pair_indices = np.indices((20, 20)).reshape(2, -1)
    scores = pair_scores(unit_vectors, *pair_indices, COMPARISONS[name]).reshape(20, 20)
    assert (scores.argmax(axis=1) == np.arange(20)).all()


@pytest.mark.slow
@given(st.integers(0, 2**32), st.integers(1, 700))
def test_a_score_does_not_depend_on_the_other_trials(seed, count):
    draw = np.random.default_rng(seed)
    vectors = draw.normal(size=(40, 192)).astype(np.float32)
    enrol, test = draw.integers(0, 40, (2, count))
    comparison = COMPARISONS["cosine"]
    together = pair_scores(vectors, enrol, test, comparison)
    index = int(draw.integers(count))
    alone = pair_scores(vectors, enrol[index : index + 1], test[index : index + 1], comparison)
    assert alone[0] == together[index]
    assert (
        pair_scores(vectors, test[index : index + 1], enrol[index : index + 1], comparison)[0]
        == alone[0]
    )


@pytest.mark.parametrize("name", COMPARISONS)
@pytest.mark.parametrize("size", [7, 192])
def test_nor_on_whether_its_enrolment_has_many(name, size):
    """One enrolment with many tests, scattered or stored side by side, takes another way."""
    draw = np.random.default_rng(size)
    comparison = COMPARISONS[name]
    vectors = comparison.prepare(draw.normal(size=(900, 3, size))).astype(np.float32)
    enrol = np.repeat([3, 70, 71], [400, 40, 300])
    scattered = np.sort(draw.permutation(900)[:400])
    test = np.concatenate((scattered, scattered[:40], np.arange(150, 450)))
    together = pair_scores(vectors, enrol, test, comparison)
    alone = [
        pair_scores(vectors, enrol[index : index + 1], test[index : index + 1], comparison)[0]
        for index in range(enrol.size)
    ]
    assert (together == alone).all()


@pytest.mark.slow
def test_single_precision_is_near_double_precision_in_many_dimensions():
    draw = np.random.default_rng(5)
    for size in (64, 256, 512, 4096):
        double = COMPARISONS["cosine"].prepare(draw.normal(size=(300, 1, size)) + 1)
        enrol, test = draw.integers(0, 300, (2, 5000))
        scores = pair_scores(double.astype(np.float32), enrol, test, COMPARISONS["cosine"])
        assert np.abs(scores - (double[enrol] * double[test]).sum(axis=1)).max() < 5e-7


def test_a_mean_is_subtracted_before_lengths_are_made_one(pairs, embedded, cohort, scored, by_hand):
    mean = np.mean(
        [by_hand.vector(embedded, recording_id)[0] for recording_id in cohort.read_text().split()],
        axis=0,
    )
    scores = scored(pairs, embedded, subtract_mean=cohort)
    expected = [
        by_hand.cosine(
            by_hand.vector(embedded, row["enrol"])[0] - mean,
            by_hand.vector(embedded, row["test"])[0] - mean,
        )
        for row in pairs.iter_rows(named=True)
    ]
    assert np.abs(scores["score"].to_numpy() - expected).max() < CLOSE


def test_vectors_that_nothing_can_be_said_of_are_refused_by_id(pairs, embedded, scored, by_hand):
    not_finite = "not finite in single precision"
    for value, words in ((0.0, "vectors of zeros"), (np.nan, not_finite), (np.inf, not_finite)):
        values = embedded.values.copy()
        values[7] = value
        with pytest.raises(DataError, match=rf"1 of 60 recordings \('s01/2'\) have .*{words}"):
            scored(pairs, by_hand.vectors_of(values))


def test_an_unknown_comparison_is_refused_with_the_known_ones(pairs, embedded, scored):
    with pytest.raises(ConfigError, match=r"'plda' is not known; choose from cosine, dot"):
        scored(pairs, embedded, scoring="plda")


def test_the_recipe_with_crops_is_refused_where_there_are_none(pairs, embedded, scored):
    with pytest.raises(ConfigError, match="each recording has one vector; give scoring='cosine'"):
        scored(pairs, embedded, scoring="ecapa-published")
