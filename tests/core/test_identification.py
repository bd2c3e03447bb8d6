"""Open-set identification: rates, ranks, EERs and gallery sizes, against vectors."""

from __future__ import annotations

import json
from math import comb, inf, nan
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parivox import Searches
from parivox.core.identification import NO_MATE
from parivox.errors import ConfigError, DataError

VECTORS = json.loads(
    (Path(__file__).parents[1] / "vectors_openset.json").read_text(encoding="utf-8")
)
EXACT = {"rel": 0, "abs": 1e-12, "nan_ok": True}


def searches_of(data, list_length=None):
    """Return the searches of a vector, and the number of each person."""
    people = sorted({person for gallery in data["galleries"].values() for person in gallery})
    numbers = {person: number for number, person in enumerate(people)}
    rows = [
        (number, numbers[person], score)
        for number, search in enumerate(data["searches"])
        for person, score in search["candidates"]
    ]
    search, candidate, score = zip(*rows, strict=True)
    galleries = [data["galleries"][search["gallery"]] for search in data["searches"]]
    mates = [
        numbers[row["speaker"]] if row["speaker"] in gallery else NO_MATE
        for row, gallery in zip(data["searches"], galleries, strict=True)
    ]
    searches = Searches.from_lists(
        search,
        candidate,
        score,
        mate=mates,
        gallery_size=[len(gallery) for gallery in galleries],
        list_length=list_length,
    )
    return searches, people


MINI, _ = searches_of(VECTORS["data_mini"])
GROUPED, GROUPED_PEOPLE = searches_of(VECTORS["data_B"])
GROUP_OF = VECTORS["data_B"]["people"]
PROBE_GROUP = np.array([str(GROUP_OF[row["speaker"]]) for row in VECTORS["data_B"]["searches"]])


def figure(value):
    return nan if value is None else float(value)


def rates_at(searches, threshold):
    return {
        "n_mated": searches.n_mated,
        "n_nonmated": searches.n_nonmated,
        "fnir": searches.fnir([threshold])[0],
        "tpir": 1 - searches.fnir([threshold])[0],
        "fpir": searches.fpir([threshold])[0],
        "selectivity": searches.selectivity([threshold])[0],
        "wrong_person": searches.wrong_person([threshold])[0],
        "top_s_miss": searches.top_s_miss([threshold])[0],
    }


def assert_rates(searches, threshold, expected):
    measured = rates_at(searches, threshold)
    assert measured == pytest.approx({name: figure(expected[name]) for name in measured}, **EXACT)


def test_points_of_the_curve():
    expected = VECTORS["O1.1_points"]["expected"]
    for point in expected["points_thr_miss1_miss2_missany_fp_candidates"]:
        threshold, miss_1, miss_2, miss_any, false_positives, candidates = map(float, point)
        assert MINI.fnir([threshold], 1)[0] * 6 == pytest.approx(miss_1)
        assert MINI.fnir([threshold], 2)[0] * 6 == pytest.approx(miss_2)
        assert MINI.fnir([threshold], 4)[0] * 6 == pytest.approx(miss_any)
        assert MINI.fpir([threshold])[0] * 5 == pytest.approx(false_positives)
        assert MINI.selectivity([threshold])[0] * 5 == pytest.approx(candidates)


@pytest.mark.parametrize("threshold", ["2", "1.25", "9", "-9"])
def test_rates_at_thresholds(threshold):
    expected = VECTORS["O1.2_at_thresholds"]["expected"][threshold]
    assert_rates(MINI, float(threshold), expected)
    assert expected["fnir"] == pytest.approx(expected["wrong_person"] + expected["top_s_miss"])


def test_rank_limits():
    for threshold, expected in VECTORS["O1.3_rank_2"]["expected"].items():
        assert MINI.fnir([float(threshold)], 2)[0] == pytest.approx(expected["fnir_rank_2"])
        assert MINI.fnir([float(threshold)], 4)[0] == pytest.approx(expected["fnir_no_rank_limit"])


@pytest.mark.parametrize("ties", ["pessimistic", "optimistic"])
def test_cmc_and_ranks(ties):
    expected = VECTORS["O2.1_cmc"]["expected"]
    assert MINI.cmc(4, ties).tolist() == pytest.approx(list(expected[ties].values()))
    column = ("pessimistic", "optimistic").index(ties)
    ranks = [ranks[column] for ranks in expected["mate_ranks"].values()]
    assert MINI.mate_rank(ties)[MINI.is_mated].tolist() == ranks
    assert MINI.mate_rank(ties)[~MINI.is_mated].tolist() == [0] * MINI.n_nonmated


def test_eers_of_naming_and_of_detection():
    expected = VECTORS["O2.2_top1_and_top_s"]["expected"]
    assert MINI.top_1_eer() == pytest.approx(expected["top1"], **EXACT)
    assert MINI.top_s_eer() == pytest.approx(expected["top_s"], **EXACT)


@pytest.mark.parametrize("point", VECTORS["O3.1_operating_points"]["expected"])
def test_threshold_at_fpir(point):
    expected = VECTORS["O3.1_operating_points"]["expected"][point]
    threshold = MINI.threshold_at_fpir(float(point.removeprefix("fpir=")))
    assert threshold == pytest.approx(figure(expected["threshold"]), nan_ok=True)
    if expected["threshold"] is not None:
        for name in ("fnir", "fpir", "selectivity"):
            assert rates_at(MINI, threshold)[name] == pytest.approx(expected[name])


def test_rates_by_group_of_the_probe_speaker():
    expected = VECTORS["O4.1_groups"]["expected"]
    threshold = GROUPED.threshold_at_fpir(0.2)
    assert threshold == expected["threshold"]
    assert_rates(GROUPED, threshold, expected["all"])
    assert_rates(GROUPED.subset(PROBE_GROUP != "None"), threshold, expected["pooled"])
    for group, group_expected in expected["groups"].items():
        group_searches = GROUPED.subset(group == PROBE_GROUP)
        assert_rates(group_searches, threshold, group_expected)
        eers = group_searches.top_1_eer(), group_searches.top_s_eer()
        own_threshold = group_expected["eer_own_threshold"]
        expected_eers = [figure(own_threshold[name]) for name in ("top1", "top_s")]
        assert list(eers) == pytest.approx(expected_eers, **EXACT)


def test_persons_named_falsely():
    expected = VECTORS["O4.3_false_candidates"]["expected"]
    named = dict(zip(GROUPED_PEOPLE, GROUPED.false_candidates(expected["threshold"]), strict=False))
    n_searches = GROUPED.n_nonmated
    for person, rate in expected["per_gallery_person"].items():
        assert named.get(person, 0) / n_searches == pytest.approx(rate)
    for cell, pairs in expected["matrix_probe_group_to_candidate_group"].items():
        probe_group, candidate_group = cell.split(">")
        counts = GROUPED.subset(probe_group == PROBE_GROUP).false_candidates(expected["threshold"])
        named = sum(
            count
            for person, count in zip(GROUPED_PEOPLE, counts, strict=False)
            if GROUP_OF[person] == candidate_group
        )
        assert named == pairs["k"]


def test_expected_rates_of_smaller_galleries():
    inputs, expected = (VECTORS["O5.1_gallery_size"][name] for name in ("inputs", "expected"))
    threshold = GROUPED.threshold_at_fpir(0.2)
    sizes = inputs["sizes"]
    assert GROUPED.expected_fpir(threshold, sizes).tolist() == pytest.approx(
        list(expected["fpir"].values()), **EXACT
    )
    assert GROUPED.expected_fnir(threshold, sizes).tolist() == pytest.approx(
        list(expected["fnir_rank_1"].values()), **EXACT
    )
    assert np.isnan(GROUPED.expected_fpir(threshold, [0, 8])).all()
    assert np.isnan(GROUPED.expected_fnir(threshold, [0, 8])).all()


def test_fpir_without_each_person():
    expected = VECTORS["O5.2_delete_one_gallery_person"]["expected"]
    threshold = GROUPED.threshold_at_fpir(0.2)
    without = GROUPED.fpir_without_person(threshold, len(GROUPED_PEOPLE))
    assert dict(zip(GROUPED_PEOPLE, without, strict=True)) == pytest.approx(
        expected["fpir_without"]
    )
    n_persons = len(without)
    variance = (n_persons - 1) / n_persons * np.square(without - without.mean()).sum()
    assert variance == pytest.approx(expected["jackknife_variance"], **EXACT)


def test_cut_lists_know_less():
    data, expected = (VECTORS["O6.1_truncated_lists"][name] for name in ("inputs", "expected"))
    searches, _ = searches_of(data, data["list_length"])
    assert searches.fnir([1], 2)[0] == pytest.approx(expected["fnir_rank_2_at_1"])
    assert searches.fnir([1], 1)[0] == pytest.approx(expected["fnir_rank_1_at_1"])
    assert searches.fpir([1])[0] == pytest.approx(expected["fpir_at_1"])
    assert searches.selectivity([1, 2, 2.25]).tolist() == pytest.approx(
        [nan, nan, expected["selectivity_at_2_25"]], nan_ok=True
    )
    assert searches.cmc(3).tolist() == pytest.approx(
        [figure(share) for share in expected["cmc"].values()], nan_ok=True
    )
    with pytest.raises(ConfigError, match="have 2 candidates"):
        searches.fnir([1], 3)


def test_empty_lists_are_misses():
    data, expected = (VECTORS["O6.2_empty_lists"][name] for name in ("inputs", "expected"))
    searches, _ = searches_of(data)
    for threshold in data["thr"]:
        assert_rates(searches, threshold, expected[str(threshold)])
    assert (searches.top_score == -inf).sum() == expected["empty"]
    assert searches.fnir([-inf])[0] == searches.fnir([-9])[0]


def test_a_speaker_is_mated_in_one_gallery_only():
    data, expected = (VECTORS["O6.3_several_galleries"][name] for name in ("inputs", "expected"))
    searches, _ = searches_of(data)
    assert_rates(searches, data["thr"], expected["all"])
    gallery = np.array([row["gallery"] for row in data["searches"]])
    for name, gallery_expected in expected["by_gallery"].items():
        assert_rates(searches.subset(gallery == name), data["thr"], gallery_expected)


@pytest.mark.parametrize(
    ("case", "is_kept"),
    [
        ("only_mated", MINI.is_mated),
        ("only_nonmated", ~MINI.is_mated),
        ("nothing", np.zeros(MINI.mate.size, dtype=bool)),
    ],
)
def test_without_a_class_its_rates_are_undefined(case, is_kept):
    expected = VECTORS["O8.1_missing_classes"]["expected"][case]
    searches = MINI.subset(is_kept)
    assert_rates(searches, 2, expected)
    assert searches.top_1_eer() == pytest.approx(figure(expected["top1"]), nan_ok=True)
    assert searches.top_s_eer() == pytest.approx(figure(expected["top_s"]), nan_ok=True)
    assert searches.threshold_at_fpir(0.2) == pytest.approx(
        figure(expected["fpir_0_2_threshold"]), nan_ok=True
    )


def test_no_eer_where_the_curves_never_meet():
    searches = Searches.from_lists([0], [0], [1.0], mate=[1, NO_MATE], gallery_size=1)
    assert np.isnan(searches.top_1_eer())


@pytest.mark.parametrize(
    ("lists", "options", "message"),
    [
        (([0, 0], [1, 1], [2.0, 1.0]), {"mate": [0]}, "names person 1 twice"),
        (([0], [0], [nan]), {"mate": [0]}, "score 0 is nan"),
        (([0], [0], [1.0]), {"mate": [0]}, "1 candidates, but 2 are expected"),
        (([1], [0], [1.0]), {"mate": [0]}, "between 0 and 0"),
        (([0, 0], [0], [1.0]), {"mate": [0]}, "the same length"),
        (([0, 0], [0, 1], [1.0, 0.0]), {"mate": [0], "list_length": 1}, "1 are expected"),
    ],
)
def test_refused_lists(lists, options, message):
    with pytest.raises(DataError, match=message):
        Searches.from_lists(*lists, gallery_size=2, **options)


@pytest.mark.parametrize("rank", [0, -1])
def test_refused_ranks(rank):
    with pytest.raises(ConfigError, match="give a rank of 1 or more"):
        MINI.fnir([1.0], rank)


def test_refused_target():
    with pytest.raises(ConfigError, match="between 0 and 1"):
        MINI.threshold_at_fpir(1.5)


@st.composite
def full_lists(draw):
    n_persons = draw(st.integers(1, 6))
    n_searches = draw(st.integers(1, 12))
    mates = draw(
        st.lists(st.integers(NO_MATE, n_persons - 1), min_size=n_searches, max_size=n_searches)
    )
    scores = draw(
        st.lists(
            st.integers(-3, 3),
            min_size=n_searches * n_persons,
            max_size=n_searches * n_persons,
        )
    )
    search, candidate = np.divmod(np.arange(n_searches * n_persons), n_persons)
    return Searches.from_lists(search, candidate, scores, mate=mates, gallery_size=n_persons)


@pytest.mark.slow
@given(full_lists(), st.integers(-4, 4))
def test_rates_equal_a_loop_over_searches(searches, threshold):
    misses = wrong = nobody = alarms = returned = 0
    for number, mate in enumerate(searches.mate.tolist()):
        entries = searches.candidate_search == number
        scores = dict(
            zip(
                searches.candidate[entries].tolist(),
                searches.candidate_score[entries].tolist(),
                strict=True,
            )
        )
        returned_persons = [person for person, score in scores.items() if score >= threshold]
        if mate == NO_MATE:
            alarms += bool(returned_persons)
            returned += len(returned_persons)
            continue
        others = [score for person, score in scores.items() if person != mate]
        is_first = scores[mate] > max(others, default=-inf)
        misses += not (is_first and scores[mate] >= threshold)
        nobody += not returned_persons
        wrong += bool(returned_persons) and not is_first
    expected = {
        "fnir": misses / searches.n_mated if searches.n_mated else nan,
        "wrong_person": wrong / searches.n_mated if searches.n_mated else nan,
        "top_s_miss": nobody / searches.n_mated if searches.n_mated else nan,
        "fpir": alarms / searches.n_nonmated if searches.n_nonmated else nan,
        "selectivity": returned / searches.n_nonmated if searches.n_nonmated else nan,
    }
    measured = rates_at(searches, threshold)
    assert {name: measured[name] for name in expected} == pytest.approx(expected, nan_ok=True)


@pytest.mark.slow
@given(full_lists(), st.integers(-3, 3))
def test_expected_fpir_equals_combinations_and_never_falls_with_the_gallery(searches, threshold):
    n_persons = int(searches.gallery_size[0])
    sizes = list(range(1, n_persons + 1))
    expected = searches.expected_fpir(threshold, sizes)
    if not searches.n_nonmated:
        assert np.isnan(expected).all()
        return
    assert expected[-1] == pytest.approx(searches.fpir([threshold])[0])
    assert (np.diff(expected) >= -1e-12).all()
    numbers = np.flatnonzero(~searches.is_mated)
    n_returned = [
        int((searches.candidate_score[searches.candidate_search == number] >= threshold).sum())
        for number in numbers
    ]
    for size, value in zip(sizes, expected, strict=True):
        chances = [1 - comb(n_persons - k, size) / comb(n_persons, size) for k in n_returned]
        assert value == pytest.approx(np.mean(chances))


def test_the_bootstrap_of_galleries_is_biased():
    """Why galleries are given: a resampled one has fewer distinct persons."""
    expected = VECTORS["O5.3_gallery_bootstrap_is_biased"]["expected"]
    threshold = GROUPED.threshold_at_fpir(0.2)
    n_persons = len(GROUPED_PEOPLE)
    is_false = ~GROUPED.is_mated[GROUPED.candidate_search] & (GROUPED.candidate_score >= threshold)
    n_returned = np.bincount(GROUPED.candidate_search[is_false], minlength=GROUPED.mate.size)
    resampled = 1 - (1 - n_returned[~GROUPED.is_mated] / n_persons) ** n_persons
    assert GROUPED.fpir([threshold])[0] == pytest.approx(expected["fpir"])
    assert resampled.mean() == pytest.approx(expected["expected_fpir_of_bootstrapped_gallery"])
    assert resampled.mean() < expected["fpir"]
