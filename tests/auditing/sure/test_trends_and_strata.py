"""Errors against age, and rates of groups on one mixture of strata."""

import json
import math

import numpy as np
import pytest

import parivox as pv
from parivox.core.cluster_errors import moments
from parivox.core.confounding import standardised
from parivox.core.intervals import rate_interval
from parivox.facts import FACT_JOINT, cell_of_row, fact

POINT = "threshold=0.5"
AGES = [20 + 3 * i for i in range(20)]


def speaker_of(utterance):
    return utterance.partition("/")[0]


def wrong(row):
    return (row["score"] > 0.5) != row["label"]


def fitted(x, errors):
    """Level and slope of the log odds of an error, by Newton's method on single trials."""
    x, y = np.asarray(x, float), np.asarray(errors, float)
    design = np.stack((np.ones(x.size), x))
    beta = np.zeros(2)
    for _ in range(50):
        p = 1 / (1 + np.exp(-beta @ design))
        beta += np.linalg.solve(design * (p * (1 - p)) @ design.T, design @ (y - p))
    return beta


@pytest.fixture(scope="module")
def aged(people):
    """Twenty people of whom the older are locked out more, and impersonated less."""
    ages = [*map(str, AGES)]
    return people(
        {"a": 20},
        fnr=lambda group, i: (1 + i // 2 + i % 3, 30),
        fpr=lambda group, i: (int(i < 90 and i % 3 == 0), 2),
        age=ages,
        folk=["x"] * 10 + ["y"] * 10,
    )


def trend(audit, metric, **row_filter):
    (row,) = audit.bias.subset(measure="trend", metric=metric, operating_point=POINT, **row_filter)
    return row


@pytest.mark.slow
@pytest.mark.parametrize(("metric", "label", "sign"), [("fnr", 1, 1), ("fpr", 0, -1)])
def test_a_trend_is_a_logistic_regression_on_ten_years(aged, metric, label, sign):
    audit = aged.audit(by="age:20,50,80", allocate="either")
    row = trend(audit, metric)
    assert (row["group"], row["definition"], row["reason"]) == ("age", "per 10", "")
    age = dict(zip(aged.table["id"], AGES, strict=True))
    rows = [trial for trial in aged.rows if trial["label"] == label]
    x = [
        (age[speaker_of(trial["enrol"])] + age[speaker_of(trial["test"])]) / 2 / 10
        for trial in rows
    ]
    _, slope = fitted(x, [wrong(trial) for trial in rows])
    assert math.copysign(1, slope) == sign
    assert row["value"] == pytest.approx(slope)
    assert row["low"] < slope < row["high"]
    assert (row["p"] < 0.05) == (row["low"] > 0 or row["high"] < 0)


@pytest.mark.slow
def test_the_unit_is_the_power_of_ten_that_fits(people):
    for scale, unit in ((1, "per 10"), (0.1, "per 1"), (100, "per 1000")):
        speakers = people(
            {"a": 12},
            fnr=lambda group, i: (1 + i // 2, 20),
            income=[f"{scale * (20 + 5 * i):g}" for i in range(12)],
        )
        bands = f"income:{scale * 40:g},{scale * 60:g}"
        row = trend(speakers.audit(by=bands, allocate="either"), "fnr")
        assert row["definition"] == unit
        assert (row["group"], row["reference"], row["zero"]) == ("income", "", "none")
        x = np.repeat([(20 + 5 * i) * scale / float(unit[4:]) for i in range(12)], 20)
        y = [k < 1 + i // 2 for i in range(12) for k in range(20)]
        assert row["value"] == pytest.approx(fitted(x, y)[1])


@pytest.mark.slow
def test_who_has_no_age_is_left_out_of_the_trend(people):
    ages = [*map(str, AGES[:12])]
    known_ages = people({"a": 12}, fnr=lambda group, i: (1 + i % 5, 20), age=ages)
    some_unknown = people(
        {"a": 14}, fnr=lambda group, i: (1 + i % 5, 20), age=[*ages, "unknown", "unknown"]
    )
    trend_row, other_row = (
        trend(m.audit(by="age:30,45", allocate="either"), "fnr") for m in (known_ages, some_unknown)
    )
    for name in ("value", "low", "high", "p"):
        assert other_row[name] == pytest.approx(trend_row[name])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "errors", "ages", "reason"),
    [
        (4, lambda i: 1 + i, range(30, 34), "few_speakers"),
        (8, lambda i: 1 + i % 2, [40] * 8, "one_value"),
        (8, lambda i: 0, range(30, 38), "no_errors"),
        (8, lambda i: 20 if i > 3 else 0, range(30, 38), "separated"),
    ],
)
def test_why_there_is_no_trend(people, size, errors, ages, reason):
    speakers = people(
        {"a": size}, fnr=lambda group, i: (errors(i), 20), age=[str(age) for age in ages]
    )
    row = trend(speakers.audit(by="age:20,50"), "fnr")
    assert (row["value"], row["low"], row["p"]) == (None, None, None)
    assert row["reason"].startswith(reason)


@pytest.mark.slow
def test_there_is_a_trend_of_bands_of_speakers_only(aged, people):
    assert len(aged.audit(by="folk").bias.subset(measure="trend")) == 0
    trends = aged.audit(by=["folk+age:50"]).bias.subset(measure="trend")
    assert len(trends) == 0


# --- strata ---------------------------------------------------------------------------------------

STRATA = {"x": 0.1, "y": 0.4}


@pytest.fixture(scope="module")
def mixed(people):
    """Both groups have the same rates in both strata, but unlike shares of trials in them."""
    speakers = people({"a": 10, "b": 10}, fnr=lambda group, i: (0, 0), fpr=lambda group, i: (0, 0))
    for group, shares in (("a", {"x": 90, "y": 10}), ("b", {"x": 10, "y": 90})):
        names = [name for name in speakers.table["id"] if name[0] == group]
        for i, name in enumerate(names):
            for kind, n in shares.items():
                errors = round(STRATA[kind] * n) + ((-1) ** i if n > 10 else 0)
                speakers.target(name, errors, n, kind=kind)
                speakers.nontarget(name, names[i - 1], int(i % 5 == 0), 4, kind=kind)
    return speakers


@pytest.fixture(scope="module")
def levelled(mixed):
    return mixed.audit(standardise="kind")


def rate(audit, group, definition="", metric="fnr"):
    (row,) = audit.groups.subset(
        group=group, definition=definition, metric=metric, operating_point=POINT, grouping="group"
    )
    return row


def test_crude_rates_tell_of_the_mixture_and_standardised_ones_do_not(levelled):
    crude = [rate(levelled, group)["value"] for group in "ab"]
    assert crude == pytest.approx([0.13, 0.37])
    level = [rate(levelled, group, "standardised kind")["value"] for group in "ab"]
    assert level == pytest.approx([0.25, 0.25])


def test_standardised_intervals_are_those_of_core(levelled, mixed, tallied):
    groups = [group + kind for group in "ab" for kind in "xy"]
    placed = {}
    for row in mixed.rows:
        placed.setdefault(row["enrol"][0] + row["kind"], []).append(row)
    errors_by_metric = tallied(placed, groups, speaker_of, wrong)
    for metric in ("fpr", "fnr"):
        standard = standardised(errors_by_metric[metric], [0, 0, 1, 1], [0, 1, 0, 1])
        intervals = rate_interval(moments(standard.cluster_errors))
        for cell_index, group in enumerate("ab"):
            row = rate(levelled, group, "standardised kind", metric)
            for name, column in (("rate", "value"), ("low", "low"), ("high", "high")):
                assert row[column] == pytest.approx(getattr(intervals, name)[cell_index])
            assert (row["se"], row["df"]) == pytest.approx(
                (intervals.se[cell_index], intervals.df[cell_index])
            )
            equal, left_out, *notes = cell_of_row(row, "note").split(FACT_JOINT)
            assert equal == fact("equal_weights", strata=["x", "y"])
            assert left_out == fact("trials_left_out", share=0.0)
            assert FACT_JOINT.join(notes) == intervals.note[cell_index]
            assert (row["errors"], row["trials"], row["speakers"]) == (None, None, 10)


@pytest.mark.slow
def test_a_stratum_that_a_group_lacks_is_left_out_and_told(people):
    speakers = people({"a": 8, "b": 8}, fnr=lambda group, i: (0, 0), fpr=lambda group, i: (0, 0))
    for i, name in enumerate(speakers.table["id"]):
        speakers.target(name, 1 + i % 3, 10, kind="x")
        speakers.nontarget(name, f"{name[0]}{(i + 1) % 8:02d}", int(i % 3 == 0), 5, kind="x")
        if name[0] == "a":
            speakers.target(name, 9, 10, kind="only a")
    audit = speakers.audit(standardise="kind")
    crude, level = (rate(audit, "a", name) for name in ("", "standardised kind"))
    assert crude["value"] > 0.5
    assert level["value"] == pytest.approx(sum(1 + i % 3 for i in range(8)) / 80)
    assert level["note"].startswith("equal_weights; trials_left_out; ")
    values = json.loads(level["values"])
    assert (values["equal_weights"], values["trials_left_out"]) == (
        {"strata": ["x"]},
        {"share": 0.5},
    )


@pytest.mark.slow
def test_without_a_common_stratum_there_is_no_standardised_rate(people):
    speakers = people({"a": 8, "b": 8}, fnr=lambda group, i: (0, 0), fpr=lambda group, i: (0, 0))
    for i, name in enumerate(speakers.table["id"]):
        speakers.target(name, 1 + i % 3, 10, kind=f"of {name[0]}")
        speakers.nontarget(name, f"{name[0]}{(i + 1) % 8:02d}", 1, 5, kind=f"of {name[0]}")
    row = rate(speakers.audit(standardise="kind"), "a", "standardised kind")
    assert (row["value"], row["low"], row["interval"]) == (None, None, "")
    assert row["reason"] == "no_common_stratum"


@pytest.mark.slow
def test_pairs_of_one_gender_can_be_weighted_alike(people):
    speakers = people(
        {"a": 8, "b": 8}, fnr=lambda group, i: (2, 10), fpr=lambda group, i: (0, 0),
        gender=["f", "m"] * 4 + ["f"] * 6 + ["m"] * 2,
    )  # fmt: skip
    gender = dict(zip(speakers.table["id"], speakers.table["gender"], strict=True))
    for group in "ab":
        group_speakers = [name for name in gender if name[0] == group]
        for i, enrol_speaker in enumerate(group_speakers):
            for j, test_speaker in enumerate(group_speakers[:i]):
                is_same_gender = gender[enrol_speaker] == gender[test_speaker]
                speakers.nontarget(enrol_speaker, test_speaker, 2 * is_same_gender + (i + j) % 2, 8)
    audit = speakers.audit(standardise="same:gender")
    for group in "ab":
        group_speakers = {True: [], False: []}
        for row in speakers.rows:
            if row["enrol"][0] == group and not row["label"]:
                sides = (gender[speaker_of(row[side])] for side in ("enrol", "test"))
                group_speakers[len({*sides}) == 1].append(wrong(row))
        row = rate(audit, group, "standardised same:gender", "fpr")
        assert row["value"] == pytest.approx(
            (np.mean(group_speakers[True]) + np.mean(group_speakers[False])) / 2
        )
        assert row["value"] != pytest.approx(rate(audit, group, metric="fpr")["value"])


def test_what_is_standardised_over_must_be_known(mixed):
    with pytest.raises(pv.ConfigError, match="standardise"):
        mixed.audit(standardise="shoe size")
