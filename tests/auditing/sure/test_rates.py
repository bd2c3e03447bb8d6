"""Intervals of error rates: what core says of tallies that plain loops make of the trials."""

import numpy as np
import pytest

import parivox as pv
from parivox.core.cluster_errors import moments
from parivox.core.intervals import other_kappa2, rate_interval, wilson

RULES = ("both", "enrol", "test", "either")
LEVELS = ("same", "different")
FEW = "fewer than 5 speakers: no interval"
COLUMNS = ("low", "high", "deff", "n_eff", "df", "se")
METRICS = {"fpr": "nontarget_trials", "fnr": "target_trials"}


@pytest.fixture(scope="session")
def sides(bank):
    """Groups of both sides of a row, of each kind of grouping."""

    def own(of, name):
        return lambda row: tuple(of(row[side])[name] for side in ("enrol", "test"))

    return {
        "gender": own(bank.customer, "gender"),
        "channel": own(bank.call, "channel"),
        "device": lambda row: (row["device"],) * 2,
    }


@pytest.fixture(scope="session")
def audited(bank):
    """Groupings of speakers, of recordings and of trials, at found, given and deployed points."""
    return pv.audit(
        bank.table(bank.scored, "device", "decision"),
        speakers=bank.customers,
        utterances=bank.calls,
        by=["gender", "channel", "device"],
        within="same:region",
        allocate=RULES,
        operating_points=["threshold=0.9", "fpr=0.02", "deployed"],
        fixed_threshold=True,
        reference="pooled",
        zero="none",
        bins=64,
    )


@pytest.fixture(scope="session")
def wrong_at(audited):
    """Whether a row went wrong at an operating point; None where that is not known."""
    thresholds = {
        row["operating_point"]: row["threshold"]
        for row in audited.operating_points.where(within="")
    }

    def of(point):
        def wrong(row):
            if point != "deployed":
                return (row["score"] >= thresholds[point]) != row["label"]
            return (
                None if row["decision"] is None else (row["decision"] == "accept") != row["label"]
            )

        return wrong

    return of


def speaker_of(utterance):
    return utterance.partition("/")[0]


def went_wrong(row):
    return (row["score"] > 0.5) != row["label"]


def region(bank, row):
    one, two = (bank.customer(row[side])["region"] for side in ("enrol", "test"))
    return "same" if one == two else "different"


def check(row, found, at, n_speakers):
    """That a row tells what core does, and nothing of fewer than five speakers."""
    if row["value"] is None:
        assert [row[name] for name in COLUMNS] == [None] * len(COLUMNS)
        assert (row["interval"], row["note"]) == ("", "")
        return
    few = n_speakers < 5
    for name in COLUMNS:
        wanted = np.nan if few and name in {"low", "high"} else getattr(found, name)[at]
        assert (np.nan if row[name] is None else row[name]) == pytest.approx(
            wanted, rel=1e-9, nan_ok=True
        ), name
    assert row["value"] == pytest.approx(found.rate[at])
    assert row["interval"] == ("" if few else found.method[at])
    assert row["note"] == (FEW if few else found.note[at])


@pytest.mark.parametrize("level", ["", *LEVELS])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("grouping", ["gender", "channel", "device"])
def test_every_rate_has_the_interval_of_its_speakers(
    audited, bank, sides, allocated, tallied, wrong_at, grouping, rule, level
):
    rows = [row for row in bank.scored if not level or region(bank, row) == level]
    placed = allocated(rows, sides[grouping], rule)
    where = {
        "grouping": grouping,
        "allocation": rule,
        "within": f"same:region={level}" if level else "",
    }
    checked = 0
    for point in ("threshold=0.9", "fpr=0.02", "deployed"):
        for metric in METRICS:
            told = audited.groups.where(**where, metric=metric, operating_point=point).rows()
            names = [row["group"] for row in told]
            assert names[-1] == "pooled"
            for part in (names[:-1], names[-1:]):  # groups lend each other a design effect
                tally = tallied(placed, part, bank.who, wrong_at(point))[metric]
                found = rate_interval(moments(tally))
                for at, group in enumerate(part):
                    (row,) = (row for row in told if row["group"] == group)
                    check(row, found, at, tally.speakers[at])
                    checked += 1
    assert checked >= 3 * 2 * 3


def test_the_row_of_all_trials_has_an_interval_too(audited, bank, tallied, wrong_at):
    for level in ("", *LEVELS):
        rows = [row for row in bank.scored if not level or region(bank, row) == level]
        within = f"same:region={level}" if level else ""
        for point in ("threshold=0.9", "fpr=0.02", "deployed"):
            tallies = tallied({"all": rows}, ["all"], bank.who, wrong_at(point))
            for metric in METRICS:
                (row,) = audited.groups.where(
                    group="all", metric=metric, operating_point=point, within=within
                )
                found = rate_interval(moments(tallies[metric]))
                check(row, found, 0, tallies[metric].speakers[0])


def test_decisions_that_nobody_knows_are_no_trials(audited, bank):
    known = [row for row in bank.scored if row["decision"] is not None]
    assert 0 < len(known) < len(bank.scored)
    for metric, label in (("fpr", 0), ("fnr", 1)):
        (row,) = audited.groups.where(
            group="all", metric=metric, operating_point="deployed", within=""
        )
        trials = sum(one["label"] == label for one in known)
        assert row["trials"] == trials
        assert row["n_eff"] * row["deff"] == pytest.approx(trials)


@pytest.fixture(scope="session")
def faultless(people):
    """The second of three groups is never locked out."""
    return people(
        {"a": 6, "b": 6, "c": 6},
        fnr=lambda group, i: (0 if group == "b" else (i * i) % 7, 30),
        fpr=lambda group, i: (int(i == 3), 8),
    )


def test_without_errors_the_other_groups_lend_their_design_effect(faultless, one_row):
    audit = faultless.audit()
    row = one_row(audit.groups, group="b", metric="fnr")
    assert (row["value"], row["low"], row["errors"]) == (0.0, 0.0, 0)
    assert row["interval"] == "zero-errors"
    assert row["note"].startswith("no errors; design effect of the other groups")
    lent = [one_row(audit.groups, group=g, metric="fnr") for g in "ac"]
    variance = sum(one["trials"] ** 2 * one["se"] ** 2 for one in lent)
    binomial = sum(one["trials"] * one["value"] * (1 - one["value"]) for one in lent)
    deff = variance / binomial
    assert deff > 1
    assert row["high"] == pytest.approx(3 * deff / row["trials"])
    assert row["n_eff"] == pytest.approx(row["trials"] / deff)
    assert (row["deff"], row["df"], row["se"]) == (None, None, None)


@pytest.mark.slow
def test_pooled_floor_widens_fnr_to_what_the_other_groups_show(people, allocated, tallied):
    made = people(
        dict.fromkeys("abcde", 6),
        fnr=lambda group, i: (int(3 + (i % 2) + (group != "a") * (i == 0) * 14), 40),
    )
    plain, floored = (made.audit(pooled_floor=wide) for wide in (False, True))
    group_of = dict(zip(made.table["id"], made.table["group"], strict=True))
    placed = allocated(
        made.rows,
        lambda row: tuple(group_of[speaker_of(row[side])] for side in ("enrol", "test")),
        "both",
    )
    tally = tallied(placed, [*"abcde"], speaker_of, went_wrong)
    told = moments(tally["fnr"])
    found = rate_interval(told, 0.95, other_kappa2(told))
    rows = floored.groups.where(metric="fnr", grouping="group").rows()[:-1]
    assert [row["high"] for row in rows] == pytest.approx(found.high.tolist())
    assert rows[0]["high"] > rate_interval(told).high[0]  # a's speakers are alike, others' are not
    assert "variance raised to that of the other groups" in rows[0]["note"]
    told_of_fpr = [
        [(row["low"], row["high"]) for row in one.groups.where(metric="fpr")]
        for one in (plain, floored)
    ]
    assert told_of_fpr[0] == told_of_fpr[1]


def test_naive_intervals_are_had_by_name(faultless):
    rows = faultless.audit(interval="wilson").groups.where(metric="fnr", grouping="group").rows()
    low, high = wilson([row["errors"] for row in rows], [row["trials"] for row in rows], 0.95)
    assert [row["low"] for row in rows] == pytest.approx(low.tolist())
    assert [row["high"] for row in rows] == pytest.approx(high.tolist())
    assert {row["interval"] for row in rows} == {"wilson (takes trials as independent)"}


@pytest.mark.slow
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.99])
def test_intervals_are_wider_the_surer_they_are_asked_to_be(faultless, confidence):
    usual, other = (faultless.audit(confidence=level) for level in (0.95, confidence))
    for metric in ("fpr", "fnr", "eer", "cdet_norm"):
        before, after = (
            [row["high"] - row["low"] for row in one.groups.where(metric=metric, group="a")]
            for one in (usual, other)
        )
        assert before
        assert (np.sign(np.subtract(after, before)) == np.sign(confidence - 0.95)).all()
