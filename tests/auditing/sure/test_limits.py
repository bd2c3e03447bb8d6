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
def made(people):
    return people(
        dict.fromkeys(ERRORS, SIZE),
        fnr=lambda group, i: (ERRORS[group][i], TRIALS),
        fpr=lambda group, i: (int(group == "d" and i % 3 == 0), 4),
    )


@pytest.fixture(scope="module")
def audit(made):
    return made.audit(limits=["fnr=0.05", "fpr=0.01"], attempts=ATTEMPTS)


def tally(group):
    errors = ERRORS[group] if group != "pooled" else [e for own in ERRORS.values() for e in own]
    n = len(errors)
    return ErrorsBySpeaker(np.zeros(n, int), np.arange(n), np.array(errors), np.full(n, TRIALS), 1)


def limit(audit, group, measure, metric="fnr"):
    (row,) = audit.limits.where(group=group, measure=measure, metric=metric)
    return row


def rate(audit, group, metric="fnr"):
    (row,) = audit.groups.where(grouping="group", group=group, metric=metric)
    return row


@pytest.mark.parametrize("group", [*ERRORS, "pooled"])
@pytest.mark.parametrize(("metric", "level"), [("fnr", 0.05), ("fpr", 0.01)])
def test_a_limit_is_judged_by_the_whole_interval(audit, group, metric, level):
    row, own = limit(audit, group, "limit", metric), rate(audit, group, metric)
    for name in ("value", "low", "high"):
        assert row[name] == own[name]
    assert row["limit"] == level
    if own["high"] <= level:
        assert row["verdict"] == "met"
    else:
        assert row["verdict"] == ("not_met" if own["low"] > level else "cannot_tell")


def test_all_three_verdicts_on_a_limit_occur(audit):
    told = {group: limit(audit, group, "limit")["verdict"] for group in ERRORS}
    assert told == {"a": "met", "b": "met", "c": "cannot_tell", "d": "not_met"}


@pytest.mark.parametrize("group", [*ERRORS, "pooled"])
def test_speakers_above_the_limit_are_those_of_core(audit, group):
    row, found = limit(audit, group, "speakers_above"), share_above(tally(group), 0.05)
    if found.reason[0]:
        assert (row["value"], row["reason"]) == (None, "no errors")
        return
    for name in ("value", "low", "high"):
        assert row[name] == pytest.approx(getattr(found, name)[0])
    assert row["verdict"] == ""


def test_the_same_rate_can_fall_on_everyone_or_on_two(audit):
    assert rate(audit, "b")["value"] == rate(audit, "c")["value"] == 0.03
    assert limit(audit, "c", "speakers_above")["value"] == pytest.approx(0.1, abs=0.03)
    assert limit(audit, "b", "worst_tenth")["value"] == pytest.approx(4 / 30)
    assert limit(audit, "c", "worst_tenth")["value"] == 1
    assert limit(audit, "b", "worst_tenth_if_equal")["value"] == pytest.approx(
        limit(audit, "c", "worst_tenth_if_equal")["value"]
    )
    one, two = (limit(audit, group, "locked_out_people")["value"] for group in "bc")
    assert two > 10 * one


@pytest.mark.parametrize("group", [*ERRORS, "pooled"])
def test_the_worst_tenth_carries_what_a_plain_sort_says(audit, group):
    row = limit(audit, group, "worst_tenth")
    errors = sorted(tally(group).errors.tolist(), reverse=True)
    if not sum(errors):
        assert (row["value"], row["reason"]) == (None, "no errors")
        return
    tenth = math.ceil(len(errors) / 10)
    assert row["value"] == pytest.approx(sum(errors[:tenth]) / sum(errors))
    equal = limit(audit, group, "worst_tenth_if_equal")
    assert equal["value"] == pytest.approx(worst_tenth(tally(group)).expected[0])


@pytest.mark.parametrize("group", [*ERRORS, "pooled"])
def test_attempts_of_people_and_of_impostors(audit, group):
    fnr, fpr = rate(audit, group), rate(audit, group, "fpr")
    locked = limit(audit, group, "locked_out")
    let_in, until = (limit(audit, group, m, "fpr") for m in ("impostors_in", "attempts_until"))
    for name in ("value", "low", "high"):
        assert locked[name] == pytest.approx(fnr[name] ** ATTEMPTS)
        assert let_in[name] == pytest.approx(1 - (1 - fpr[name]) ** ATTEMPTS)
    for name, other in (("value", "value"), ("low", "high"), ("high", "low")):
        p = fpr[other]
        wanted = math.ceil(math.log(0.05) / math.log(1 - p)) if p else math.inf
        assert until[name] == wanted
    people, found = limit(audit, group, "locked_out_people"), locked_out_people(tally(group), 3)
    if found.reason[0]:
        assert (people["value"], people["reason"]) == (None, "no errors")
    else:
        assert people["value"] == pytest.approx(found.value[0])
        assert people["value"] > locked["value"]


@pytest.mark.slow
def test_what_was_not_asked_for_is_not_told(made):
    told = {row["measure"] for row in made.audit().limits}
    assert told == {"worst_tenth", "worst_tenth_if_equal"}
    told = {(row["metric"], row["measure"]) for row in made.audit(limits="fpr=0.02").limits}
    assert told >= {("fpr", "limit")}
    assert not {measure for _, measure in told} & {"speakers_above", "locked_out"}
    told = {row["measure"] for row in made.audit(attempts=1).limits}
    assert "limit" not in told
    assert "attempts_until" in told


def test_a_group_of_few_speakers_meets_no_limit(people):
    audit = people({"a": 4, "b": 9}, fnr=lambda group, i: (1, 300)).audit(limits="fnr=0.2")
    row = limit(audit, "a", "limit")
    assert row["value"] == pytest.approx(1 / 300)
    assert (row["low"], row["high"], row["verdict"]) == (None, None, "cannot_tell")
    assert limit(audit, "b", "limit")["verdict"] == "met"
    assert limit(audit, "a", "speakers_above")["reason"] == "too few speakers"


def test_deployed_decisions_have_their_own_trials(people):
    made = people({"a": 10, "b": 10}, fnr=lambda group, i: (i % 4, 40))
    for i, row in enumerate(made.rows):
        row["decision"] = None if i % 7 == 0 else ("reject", "accept")[row["score"] > 0.5]
    audit = made.audit(operating_points=[POINT, "deployed"], limits="fnr=0.05")
    known = {}
    for row in made.rows:
        if row["label"] and row["decision"] and row["enrol"].startswith("a"):
            counted = known.setdefault(row["enrol"][:3], [0, 0])
            counted[0] += row["decision"] == "reject"
            counted[1] += 1
    errors, trials = np.array([known[name] for name in sorted(known)]).T
    found = share_above(ErrorsBySpeaker(np.zeros(10, int), np.arange(10), errors, trials, 1), 0.05)
    where = {"group": "a", "operating_point": "deployed", "measure": "speakers_above"}
    (row,) = audit.limits.where(**where)
    assert row["value"] == pytest.approx(found.value[0])
    (row,) = audit.limits.where(**{**where, "measure": "worst_tenth"})
    assert row["value"] == max(errors) / errors.sum()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limits", "told"),
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
def test_what_is_no_limit_is_refused(made, limits, told):
    with pytest.raises(pv.ConfigError, match=told):
        made.audit(limits=limits)


def test_percent_groups_and_ratios(made):
    audit = made.audit(limits=["fnr=5%", "fnr:d=0.05", "fnr=2x"])
    rows = audit.limits.where(measure="limit", group="d").rows()
    assert [(row["limit"], row["verdict"]) for row in rows] == [(0.05, "not_met")] * 2
    assert {row["group"] for row in audit.limits.where(measure="limit")} == {*ERRORS, "pooled"}
    told = audit.limits.where(measure="ratio_limit").rows()
    assert {row["group"] for row in told} == {*ERRORS}
    for row in told:
        (own,) = audit.bias.where(
            group=row["group"], metric="fnr", measure="ratio", reference="others", zero="none"
        )
        assert [row[end] for end in ("value", "low", "high")] == [
            own[end] for end in ("value", "low", "high")
        ]
    assert {row["group"]: row["verdict"] for row in told} == {
        **dict.fromkeys("ab", "met"),
        "c": "cannot_tell",
        "d": "not_met",
    }


def test_two_limits_of_one_rate_are_both_judged(made):
    rows = made.audit(limits=["fnr=0.02", "fnr=0.2"]).limits.where(group="b", measure="limit")
    assert {row["limit"]: row["verdict"] for row in rows} == {0.02: "not_met", 0.2: "met"}


def test_speakers_without_any_decision_are_not_among_those_above_a_limit():
    people = {"id": [f"s{i:02d}" for i in range(13)], "gender": ["f"] * 13}
    rng = np.random.default_rng(5)
    rows = [
        (f"{one}/0", f"{one}/{k}", x, 1, "" if one == "s12" else "accept" if x > 0.5 else "reject")
        for one in people["id"]
        for k, x in enumerate(rng.normal(1 + int(one[1:]) % 3, 1, 40), 1)
    ]
    pairs = itertools.combinations(people["id"], 2)
    rows += [(f"{one}/0", f"{other}/0", -1.0, 0, "reject") for one, other in pairs]

    def above(rows):
        columns = map(list, zip(*rows, strict=True))
        names = ("enrol", "test", "score", "label", "decision")
        found = pv.audit(
            dict(zip(names, columns, strict=True)),
            speakers=people,
            by="gender",
            operating_points=["deployed", "threshold=0"],
            limits="fnr=5%",
            replicates=50,
        )
        (row,) = found.limits.where(
            measure="speakers_above", operating_point="deployed", group="f"
        ).rows()
        return row["value"], row["low"], row["high"]

    value, low, high = above(rows)
    assert low < value < high
    assert above([row for row in rows if row[0] != "s12/0"]) == (
        pytest.approx(value),
        pytest.approx(low),
        pytest.approx(high),
    )
