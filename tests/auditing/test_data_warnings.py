"""Wrong data are warned of, in an audit and in ``parivox inspect`` alike; sound data are not."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sentences import in_words, note_in_words

import parivox as pv
from parivox.auditing.inspection import audit_warnings
from parivox.data.attribute_warnings import (
    attribute_warnings,
    number_warnings,
    speaker_warnings,
)
from parivox.report.overview import overview

N_SPEAKERS = 24


def trials(seed=0):
    """Six target trials of each of 24 speakers, and about half of the pairs of speakers."""
    draw = np.random.default_rng(seed)
    ids = [f"s{i:02d}" for i in range(N_SPEAKERS)]
    rows = [(f"{a}/1", f"{a}/{k}", draw.normal(3), 1) for a in ids for k in range(2, 8)]
    rows += [
        (f"{a}/1", f"{b}/2", draw.normal(), 0)
        for i, a in enumerate(ids)
        for b in ids[:i]
        if draw.random() < 0.5
    ]
    return pl.DataFrame(rows, schema=["enrol", "test", "score", "label"], orient="row")


def people():
    ids = [f"s{i:02d}" for i in range(N_SPEAKERS)]
    return pl.DataFrame({"speaker": ids, "gender": ["f", "m"] * (N_SPEAKERS // 2)})


def group_of(side):
    """The gender of the speaker of a side."""
    return (pl.col(side).str.slice(1, 2).cast(int) % 2).replace_strict({0: "f", 1: "m"})


def warned(scores, speakers=None, **options):
    """What an audit warns of, each of which is among the limitations, too."""
    asked = {"by": "gender", "operating_points": ["threshold=1.5"]} | options
    audit = pv.audit(
        scores, speakers=people() if speakers is None else speakers, intervals=False, **asked
    )
    observed = list(audit_warnings(audit))
    limitations = " ".join(caveat.sentence for caveat in overview(audit).caveats)
    assert [odd for odd in observed if in_words(odd.what) not in limitations] == []
    return [in_words(odd.what) for odd in observed]


@pytest.mark.slow
def test_sound_data_are_not_warned_of():
    for seed in range(5):
        assert warned(trials(seed)) == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("UK", "United Kingdom"),
        ("GBR", "united kingdom"),
        ("USA", "United States"),
        ("NZ", "New Zealand"),
        ("IND", "India"),
        ("woman", "female"),
        ("North East", "NE"),
    ],
)
def test_two_words_of_one_meaning_are_named(first, second):
    (odd,) = attribute_warnings("origin", [first, "elsewhere", second])
    assert in_words(odd.what) == "values of 'origin' that may mean the same"
    assert first in in_words(odd.note)
    assert second in in_words(odd.note)


@pytest.mark.parametrize(
    "values",
    [
        ["UK", "USA", "India", "Norway"],
        ["f", "m"],
        ["f", "female"],  # noticed as a letter and its word
        ["yes", "no"],
        ["1", "2", "3", "4", "a", "b", "c", "d"],
        ["1", "other"],
        ["North", "South", "N/A"],
        ["de", "en", "fr"],
    ],
)
def test_values_of_one_coding_are_not_named(values):
    assert attribute_warnings("origin", values) == []


@pytest.mark.parametrize("codes", [["0", "1"], ["1", "2"], ["0", "1", "2"]])
@pytest.mark.parametrize("words", [["f", "m"], ["female", "male"], ["yes", "no"]])
def test_codes_among_words_are_two_codings(codes, words):
    (odd,) = attribute_warnings("answer", [*codes, *words])
    assert in_words(odd.what) == "values of 'answer' in two codings"


def test_a_sex_in_the_codes_of_two_standards_is_named():
    assert number_warnings("sex", np.array([0.0, 1.0, 2.0]))
    for codes in ([0.0, 1.0], [1.0, 2.0]):
        assert not number_warnings("sex", np.array(codes))
    assert not number_warnings("visits", np.array([0.0, 1.0, 2.0]))


@pytest.mark.parametrize("word", ["30s", "thirties", "30-39", "60+", "<18"])
def test_decades_among_ages_are_named(word):
    (odd,) = attribute_warnings("age", ["34", word, "51"])
    assert word in in_words(odd.note)
    assert attribute_warnings("age group", ["18-30", "31-60", "60+"]) == []


@given(st.sets(st.integers(1, 9), min_size=3))
def test_ages_that_are_all_decades_are_named(decades):
    ages = np.array([10.0 * decade for decade in decades])
    assert number_warnings("age", ages)
    assert not number_warnings("age", np.append(ages, 34.0))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Anna Meier", "anna meier"),
        ("Meier, Anna", "Anna Meier"),
        ("id0012", "id12"),
        ("anna_meier", "anna-meier"),
        ("José", "Jose\u0301"),
    ],
)
def test_two_spellings_of_a_person_are_counted_and_not_shown(one, other):
    (odd,) = speaker_warnings([one, other, "someone else"])
    assert odd.count == 2
    assert one not in in_words(odd.note)
    again = people().with_columns(speaker=pl.col("speaker").str.to_uppercase()).head(3)
    assert "speakers who may be one person under two spellings" in warned(
        trials(), pl.concat([people(), again])
    )


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), unique=True, min_size=1))
def test_numbers_in_ids_tell_people_apart(numbers):
    assert speaker_warnings([f"{a:03d}-{b:03d}" for a, b in numbers]) == []


def test_a_recording_attribute_that_follows_from_the_group_is_named():
    frame = trials()
    names = pl.concat([frame["enrol"], frame["test"]]).unique().sort()
    utterances = pl.DataFrame({"utterance": names}).with_columns(
        device=group_of("utterance").replace({"f": "phone", "m": "web"}),
        room=pl.Series(["a", "b"] * (len(names) // 2)),
    )
    observed = warned(frame, utterances=utterances)
    assert observed == ["recordings whose 'device' is determined by 'gender'"]


@pytest.mark.parametrize("allocate", ["both", "enrol"])
def test_impostors_of_other_groups_only_are_named(allocate):
    is_across = group_of("enrol") != group_of("test")
    frame = trials().filter((pl.col("label") == 1) | is_across)
    observed = warned(frame, allocate=allocate)
    assert observed == ["nontarget trials, all between different groups of 'gender'"]


@pytest.mark.parametrize("label", [0, 1])
def test_two_speakers_who_make_the_list_are_named(label):
    draw = np.random.default_rng(3)
    calls = [
        (f"s0{n % 2}/1", f"s0{n % 2}/x{n}" if label else f"s1{n % 9}/y{n}", draw.normal(3 * label))
        for n in range(900)
    ]
    more = pl.DataFrame(calls, schema=["enrol", "test", "score"], orient="row")
    more = more.with_columns(label=pl.lit(label, dtype=pl.Int64))
    kind = "target" if label else "nontarget"
    assert f"{kind} trials of only 2 enrolled speakers" in warned(pl.concat([trials(), more]))


def test_a_group_whose_scores_are_negated_is_named():
    frame, three = trials(), people().with_columns(gender=pl.Series(["f", "m", "n"] * 8))
    is_n = pl.col("enrol").str.slice(1, 2).cast(int) % 3 == 2
    turned = frame.with_columns(score=pl.when(is_n).then(-pl.col("score")).otherwise("score"))
    assert "trials of n, in which target trials score below nontarget trials" in warned(
        turned, three
    )


@pytest.mark.parametrize("centre", [-5.0, 0.0, 5.0])
def test_a_part_of_the_scores_that_is_negated_is_named(centre):
    """Wherever scores lie: negated ones are at the low end, or at the high one."""
    is_turned = pl.Series(np.random.default_rng(1).random(trials().height) < 0.3)
    score = pl.col("score") + centre
    frame = trials().with_columns(score=pl.when(is_turned).then(-score).otherwise(score))
    observed = warned(frame, orientation="similarity", operating_points=["eer"])
    assert any("than 95 % of the" in what for what in observed)


@pytest.mark.slow
def test_both_orders_of_a_pair_with_other_scores_are_named():
    frame = trials()
    back = frame.filter(label=0).select(
        *(pl.col("test").alias("enrol"), pl.col("enrol").alias("test"), "score", "label")
    )
    rounded = back.with_columns(pl.col("score") * (1 + 1e-7))
    assert warned(pl.concat([frame, rounded])) == []
    observed = warned(pl.concat([frame, back.with_columns(pl.col("score") + 0.5)]))
    assert observed == ["pairs with different scores in the two orders"]


@pytest.mark.slow
def test_calls_that_occur_again_are_named():
    frame = trials()
    assert warned(pl.concat([frame, frame.head(10)])) == []
    observed = warned(pl.concat([frame, frame.head(frame.height // 2)]))
    assert observed == ["trials that occur more than once"]


@pytest.mark.parametrize("has_scores", [True, False])
def test_a_day_whose_decisions_are_swapped_is_named(has_scores):
    frame = trials().with_columns(
        decision=pl.when(pl.col("score") > 1.5).then(pl.lit("accept")).otherwise(pl.lit("reject")),
        day=pl.Series([str(n % 4) for n in range(trials().height)]),
    )
    swapped = pl.col("decision").replace({"accept": "reject", "reject": "accept"})
    frame = frame.with_columns(
        decision=pl.when(pl.col("day") == "2").then(swapped).otherwise("decision")
    )
    frame = frame if has_scores else frame.drop("score")
    observed = warned(frame, by="day", operating_points=["deployed"])
    against = "scores" if has_scores else "labels"
    assert observed == [f"trials of 2, whose decisions contradict the {against}"]


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_two_systems_with_the_same_scores_are_named(scale):
    frame = trials()
    other = frame.with_columns(score=scale * pl.col("score") - (scale - 1))
    observed = warned({"A": frame, "B": other}, operating_points=["eer"])
    scale_text = "" if scale == 1 else ", on another scale"
    assert observed == [f"trials with the same scores as in A{scale_text}"]
    assert warned({"A": frame, "B": trials(seed=9)}, operating_points=["eer"]) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "is_named"),
    [
        ("a logistic of them", True),
        ("2 % changed", True),
        ("a little noise", True),
        ("noise of a tenth", False),
        ("permuted within each class", False),
    ],
)
def test_systems_are_compared_trial_by_trial(change, is_named):
    frame, draw = trials(), np.random.default_rng(3)
    score = frame["score"].to_numpy()
    label = frame["label"].to_numpy()
    other = score.copy()
    if change == "a logistic of them":
        other = 1 / (1 + np.exp(-score))
    elif change == "2 % changed":
        some = draw.choice(score.size, score.size // 50, replace=False)
        other[some] += draw.normal(size=some.size)
    elif change == "a little noise":
        other += draw.normal(scale=0.0002 * score.std(), size=score.size)
    elif change == "noise of a tenth":
        other += draw.normal(scale=0.1 * score.std(), size=score.size)
    else:
        for of_class in (label == 0, label == 1):
            other[of_class] = draw.permutation(other[of_class])
    observed = warned({"A": frame, "B": frame.with_columns(score=other)}, operating_points=["eer"])
    assert bool(observed) == is_named, observed


@pytest.mark.slow
def test_calls_that_occur_again_with_other_ids_are_named():
    frame = trials()
    again = frame.sample(frame.height // 2, seed=2).with_columns(pl.col("test") + "x")
    (item,) = warned(pl.concat([frame, again]), operating_points=["eer"])
    assert item == "trials with the same speakers and score as another trial"
    rounded = pl.concat([frame, again]).with_columns(pl.col("score").round(1))
    assert item not in warned(rounded, operating_points=["eer"])


@pytest.mark.slow
@pytest.mark.parametrize("has_time", [False, True])
def test_a_day_whose_decisions_are_swapped_is_named_without_asking_for_days(has_time):
    frame = trials().with_columns(
        decision=pl.when(pl.col("score") > 1.5).then(pl.lit("accept")).otherwise(pl.lit("reject")),
        date=pl.Series([f"2026-11-0{n % 4 + 1}" for n in range(trials().height)]),
    )
    swapped = pl.col("decision").replace({"accept": "reject", "reject": "accept"})
    wrong = pl.when(pl.col("date") == "2026-11-03").then(swapped).otherwise("decision")
    if has_time:
        wrong_frame = frame.with_columns(decision=wrong)
        minutes = pl.Series([f" 10:{n % 60:02}" for n in range(frame.height)])
        wrong_frame = wrong_frame.with_columns(date=pl.col("date") + minutes)
    else:
        wrong_frame = frame.with_columns(decision=wrong)
    assert warned(frame, operating_points=["deployed"]) == []
    audit = pv.audit(
        wrong_frame, speakers=people(), by="gender", intervals=False, operating_points=["deployed"]
    ).data
    (row,) = audit.subset(item="trials_of_inverted_days").rows()
    assert row["count"] == frame.filter(pl.col("date") == "2026-11-03").height
    assert note_in_words(row).startswith("2026-11-03: ")


@pytest.mark.slow
def test_a_threshold_that_hardly_tells_trials_apart_is_named():
    low = float(trials()["score"].quantile(0.02))
    (item,) = warned(trials(), operating_points=[f"threshold={low!r}"])
    assert item == "thresholds that may belong to another model or scale"
    middle = float(trials()["score"].median())
    assert warned(trials(), operating_points=[f"threshold={middle!r}"]) == []


@pytest.mark.parametrize(
    ("ages", "item"),
    [
        (range(20, 44), ""),
        ([*range(21, 35), *[20, 30, 40, 50, 30, 40, 20, 50, 40, 30]], "is a multiple of 10"),
        ([*range(21, 42), 2, 3, 4], "is below 10"),
        ([*range(6, 30)], ""),  # children and adults without a gap between them
    ],
)
def test_ages_of_which_some_are_decades_are_named(ages, item):
    frame = people().with_columns(age=pl.Series([str(age) for age in ages]))
    rows = [
        odd
        for odd in warned(trials(), frame, by="age:25,35")
        if not odd.startswith("different numbers")
    ]
    assert [item in odd for odd in rows] == ([True] if item else [])
