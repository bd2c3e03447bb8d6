"""Limits met or not, whom errors fall on, and what attempts meet."""

import itertools
import math

import numpy as np
import pytest

import parivox as pv
from parivox.core.cluster_errors import ErrorsBySpeaker
from parivox.core.error_burden import locked_out_people, share_above, worst_tenth

POINT = "threshold=0.5"
SIZE, TRIALS, ATTEMPTS = 20, 50, 3
ERRORS = {
    "a": [0] * SIZE,
    "b": [1] * 10 + [2] * 10,  # everyone sometimes
    "c": [0] * 18 + [15] * 2,  # two people always: the same rate
    "d": [9 + i % 4 for i in range(SIZE)],
}


@pytest.fixture(scope="module")
def speakers_with_errors(people):
    return people(
        dict.fromkeys(ERRORS, SIZE),
        fnr=lambda group, i: (ERRORS[group][i], TRIALS),
        fpr=lambda group, i: (int(group == "d" and i % 3 == 0), 4),
    )


@pytest.fixture(scope="module")
def audit(speakers_with_errors):
    return speakers_with_errors.audit(limits=["fnr=0.05", "fpr=0.01"], attempts=ATTEMPTS)


def cluster_errors(group):
    errors = (
        ERRORS[group]
        if group != "pooled"
        else [e for group_errors in ERRORS.values() for e in group_errors]
    )
    n = len(errors)
    return ErrorsBySpeaker(np.zeros(n, int), np.arange(n), np.array(errors), np.full(n, TRIALS), 1)


def limit(audit, group, measure, metric="fnr"):
    (row,) = audit.limits.subset(group=group, measure=measure, metric=metric)
    return row


def rate(audit, group, metric="fnr"):
    (row,) = audit.groups.subset(grouping="group", group=group, metric=metric)
    return row


@pytest.mark.parametrize("group", [*ERRORS, "pooled"])
@pytest.mark.parametrize(("metric", "level"), [("fnr", 0.05), ("fpr", 0.01)])
def test_a_limit_is_judged_by_the_whole_interval(audit, group, metric, level):
    row, rate_row = limit(audit, group, "limit", metric), rate(audit, group, metric)
    for name in ("value", "low", "high"):
        assert row[name] == rate_row[name]
    assert row["limit"] == level
    if rate_row["high"] <= level:
        assert row["verdict"] == "met"
    else:
        assert row["verdict"] == ("not_met" if rate_row["low"] > level else "inconclusive")


def test_all_three_verdicts_on_a_limit_occur(audit):
    verdicts = {group: limit(audit, group, "limit")["verdict"] for group in ERRORS}
    assert verdicts == {"a": "met", "b": "met", "c": "inconclusive", "d": "not_met"}


@pytest.mark.parametrize("group", [*ERRORS, "pooled"])
def test_speakers_above_the_limit_are_those_of_core(audit, group):
    row, expected = limit(audit, group, "speakers_above"), share_above(cluster_errors(group), 0.05)
    if expected.reason[0]:
        assert (row["value"], row["reason"]) == (None, "no_errors")
        return
    for name in ("value", "low", "high"):
        assert row[name] == pytest.approx(getattr(expected, name)[0])
    assert row["verdict"] == ""


def test_the_same_rate_can_fall_on_everyone_or_on_two(audit):
    assert rate(audit, "b")["value"] == rate(audit, "c")["value"] == 0.03
    assert limit(audit, "c", "speakers_above")["value"] == pytest.approx(0.1, abs=0.03)
    assert limit(audit, "b", "worst_tenth")["value"] == pytest.approx(4 / 30)
    assert limit(audit, "c", "worst_tenth")["value"] == 1
    assert limit(audit, "b", "worst_tenth_if_equal")["value"] == pytest.approx(
        limit(audit, "c", "worst_tenth_if_equal")["value"]
    )
    locked_of_b, locked_of_c = (limit(audit, group, "locked_out_people")["value"] for group in "bc")
    assert locked_of_c > 10 * locked_of_b


@pytest.mark.parametrize("group", [*ERRORS, "pooled"])
def test_the_worst_tenth_carries_what_a_plain_sort_says(audit, group):
    row = limit(audit, group, "worst_tenth")
    errors = sorted(cluster_errors(group).errors.tolist(), reverse=True)
    if not sum(errors):
        assert (row["value"], row["reason"]) == (None, "no_errors")
        return
    tenth = math.ceil(len(errors) / 10)
    assert row["value"] == pytest.approx(sum(errors[:tenth]) / sum(errors))
    equal = limit(audit, group, "worst_tenth_if_equal")
    assert equal["value"] == pytest.approx(worst_tenth(cluster_errors(group)).expected[0])


@pytest.mark.parametrize("group", [*ERRORS, "pooled"])
def test_attempts_of_people_and_of_impostors(audit, group):
    fnr, fpr = rate(audit, group), rate(audit, group, "fpr")
    locked = limit(audit, group, "locked_out")
    let_in, until = (limit(audit, group, m, "fpr") for m in ("impostors_in", "attempts_until"))
    for name in ("value", "low", "high"):
        assert locked[name] == pytest.approx(fnr[name] ** ATTEMPTS)
        assert let_in[name] == pytest.approx(1 - (1 - fpr[name]) ** ATTEMPTS)
    for name, rate_end in (("value", "value"), ("low", "high"), ("high", "low")):
        p = fpr[rate_end]
        attempts = math.ceil(math.log(0.05) / math.log(1 - p)) if p else math.inf
        assert until[name] == attempts
    people, expected = (
        limit(audit, group, "locked_out_people"),
        locked_out_people(cluster_errors(group), 3),
    )
    if expected.reason[0]:
        assert (people["value"], people["reason"]) == (None, "no_errors")
    else:
        assert people["value"] == pytest.approx(expected.value[0])
        assert people["value"] > locked["value"]


@pytest.mark.slow
def test_what_was_not_asked_for_is_not_told(speakers_with_errors):
    measures = {row["measure"] for row in speakers_with_errors.audit().limits}
    assert measures == {"worst_tenth", "worst_tenth_if_equal"}
    measures = {
        (row["metric"], row["measure"])
        for row in speakers_with_errors.audit(limits="fpr=0.02").limits
    }
    assert measures >= {("fpr", "limit")}
    assert not {measure for _, measure in measures} & {"speakers_above", "locked_out"}
    measures = {row["measure"] for row in speakers_with_errors.audit(attempts=1).limits}
    assert "limit" not in measures
    assert "attempts_until" in measures


@pytest.mark.slow
def test_a_group_of_few_speakers_meets_no_limit(people):
    audit = people({"a": 4, "b": 9}, fnr=lambda group, i: (1, 300)).audit(limits="fnr=0.2")
    row = limit(audit, "a", "limit")
    assert row["value"] == pytest.approx(1 / 300)
    assert (row["low"], row["high"], row["verdict"]) == (None, None, "inconclusive")
    assert limit(audit, "b", "limit")["verdict"] == "met"
    assert limit(audit, "a", "speakers_above")["reason"] == "few_speakers"


@pytest.mark.slow
def test_deployed_decisions_have_their_own_trials(people):
    speakers = people({"a": 10, "b": 10}, fnr=lambda group, i: (i % 4, 40))
    for i, row in enumerate(speakers.rows):
        row["decision"] = "accept" if row["score"] > 0.5 else "reject"
        if i % 7 == 0:
            row["decision"] = None
    audit = speakers.audit(operating_points=[POINT, "deployed"], limits="fnr=0.05")
    counts = {}
    for row in speakers.rows:
        if row["label"] and row["decision"] and row["enrol"].startswith("a"):
            counted = counts.setdefault(row["enrol"][:3], [0, 0])
            counted[0] += int(row["decision"] == "reject")
            counted[1] += 1
    errors, trials = np.array([counts[name] for name in sorted(counts)]).T
    expected = share_above(
        ErrorsBySpeaker(np.zeros(10, int), np.arange(10), errors, trials, 1), 0.05
    )
    row_filter = {"group": "a", "operating_point": "deployed", "measure": "speakers_above"}
    (row,) = audit.limits.subset(**row_filter)
    assert row["value"] == pytest.approx(expected.value[0])
    (row,) = audit.limits.subset(**{**row_filter, "measure": "worst_tenth"})
    assert row["value"] == max(errors) / errors.sum()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ("eer=0.1", "use a form such as fnr=5%"),
        ("fnr", "use a form such as fnr=5%"),
        ("fnr=0", "is not RATE=MAX"),
        ("fpr=1.2", "is not RATE=MAX"),
        ("fpr=nan", "is not RATE=MAX"),
        ("fta=1.5x", "Ratios: fnr, fpr"),
        ("fnr=0.9x", "is not RATE=MAX"),
        ("fnr:A=5%", "'A' is not a group; did you mean 'a"),
        (["fnr=0.1", "fnr=0.1"], "twice"),
    ],
)
def test_what_is_no_limit_is_refused(speakers_with_errors, limits, message):
    with pytest.raises(pv.ConfigError, match=message):
        speakers_with_errors.audit(limits=limits)


@pytest.mark.slow
def test_percent_groups_and_ratios(speakers_with_errors):
    audit = speakers_with_errors.audit(limits=["fnr=5%", "fnr:d=0.05", "fnr=2x"])
    rows = audit.limits.subset(measure="limit", group="d").rows()
    assert [(row["limit"], row["verdict"]) for row in rows] == [(0.05, "not_met")] * 2
    assert {row["group"] for row in audit.limits.subset(measure="limit")} == {*ERRORS, "pooled"}
    ratio_rows = audit.limits.subset(measure="ratio_limit").rows()
    assert {row["group"] for row in ratio_rows} == {*ERRORS}
    for row in ratio_rows:
        (bias_row,) = audit.bias.subset(
            group=row["group"], metric="fnr", measure="ratio", reference="others", zero="none"
        )
        assert [row[end] for end in ("value", "low", "high")] == [
            bias_row[end] for end in ("value", "low", "high")
        ]
    assert {row["group"]: row["verdict"] for row in ratio_rows} == {
        **dict.fromkeys("ab", "met"),
        "c": "inconclusive",
        "d": "not_met",
    }


@pytest.mark.slow
def test_two_limits_of_one_rate_are_both_judged(speakers_with_errors):
    rows = speakers_with_errors.audit(limits=["fnr=0.02", "fnr=0.2"]).limits.subset(
        group="b", measure="limit"
    )
    assert {row["limit"]: row["verdict"] for row in rows} == {0.02: "not_met", 0.2: "met"}


@pytest.mark.slow
def test_speakers_without_any_decision_are_not_among_those_above_a_limit():
    people = {"id": [f"s{i:02d}" for i in range(13)], "gender": ["f"] * 13}
    rng = np.random.default_rng(5)

    def decision(speaker_id, score):
        if speaker_id == "s12":
            return ""
        return "accept" if score > 0.5 else "reject"

    rows = [
        (f"{speaker_id}/0", f"{speaker_id}/{k}", x, 1, decision(speaker_id, x))
        for speaker_id in people["id"]
        for k, x in enumerate(rng.normal(1 + int(speaker_id[1:]) % 3, 1, 40), 1)
    ]
    pairs = itertools.combinations(people["id"], 2)
    rows += [
        (f"{speaker_id}/0", f"{impostor_id}/0", -1.0, 0, "reject")
        for speaker_id, impostor_id in pairs
    ]

    def above(rows):
        columns = map(list, zip(*rows, strict=True))
        names = ("enrol", "test", "score", "label", "decision")
        audit = pv.audit(
            dict(zip(names, columns, strict=True)),
            speakers=people,
            by="gender",
            operating_points=["deployed", "threshold=0"],
            limits="fnr=5%",
            replicates=50,
        )
        (row,) = audit.limits.subset(
            measure="speakers_above", operating_point="deployed", group="f"
        ).rows()
        return row["value"], row["low"], row["high"]

    share, low, high = above(rows)
    assert low < share < high
    assert above([row for row in rows if row[0] != "s12/0"]) == (
        pytest.approx(share),
        pytest.approx(low),
        pytest.approx(high),
    )
