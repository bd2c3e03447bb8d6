"""Intervals of error rates: what core says of tallies that plain loops make of the trials."""

import numpy as np
import pytest

import parivox as pv
from parivox.core.cluster_errors import moments
from parivox.core.intervals import other_kappa2, rate_interval, wilson
from parivox.facts import cell_of_row

RULES = ("both", "enrol", "test", "either")
LEVELS = ("same", "different")
FEW = "no_interval_below_minimum"
COLUMNS = ("low", "high", "deff", "n_eff", "df", "se")
METRICS = {"fpr": "nontarget_trials", "fnr": "target_trials"}


@pytest.fixture(scope="session")
def sides(bank):
    """Groups of both sides of a row, of each kind of grouping."""

    def both_sides(attributes_of, name):
        return lambda row: tuple(attributes_of(row[side])[name] for side in ("enrol", "test"))

    return {
        "gender": both_sides(bank.customer, "gender"),
        "channel": both_sides(bank.call, "channel"),
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
        for row in audited.operating_points.subset(within="")
    }

    def judge_at(point):
        def wrong(row):
            if point != "deployed":
                return (row["score"] >= thresholds[point]) != row["label"]
            return (
                None if row["decision"] is None else (row["decision"] == "accept") != row["label"]
            )

        return wrong

    return judge_at


def speaker_of(utterance):
    return utterance.partition("/")[0]


def went_wrong(row):
    return (row["score"] > 0.5) != row["label"]


def region(bank, row):
    enrol_region, test_region = (bank.customer(row[side])["region"] for side in ("enrol", "test"))
    return "same" if enrol_region == test_region else "different"


def check(row, intervals, cell_index, n_speakers):
    """That a row tells what core does, and nothing of fewer than five speakers."""
    if row["value"] is None:
        assert [row[name] for name in COLUMNS] == [None] * len(COLUMNS)
        assert (row["interval"], row["note"]) == ("", "")
        return
    few = n_speakers < 5
    for name in COLUMNS:
        expected = (
            np.nan if few and name in {"low", "high"} else getattr(intervals, name)[cell_index]
        )
        assert (np.nan if row[name] is None else row[name]) == pytest.approx(
            expected, rel=1e-9, nan_ok=True
        ), name
    assert row["value"] == pytest.approx(intervals.rate[cell_index])
    assert row["interval"] == ("" if few else intervals.method[cell_index])
    assert cell_of_row(row, "note").partition("{")[0] == (
        FEW if few else intervals.note[cell_index].partition("{")[0]
    )


@pytest.mark.parametrize("level", ["", *LEVELS])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("grouping", ["gender", "channel", "device"])
def test_every_rate_has_the_interval_of_its_speakers(
    audited, bank, sides, allocated, tallied, wrong_at, grouping, rule, level
):
    rows = [row for row in bank.scored if not level or region(bank, row) == level]
    placed = allocated(rows, sides[grouping], rule)
    row_filter = {
        "grouping": grouping,
        "allocation": rule,
        "within": f"same:region={level}" if level else "",
    }
    checked = 0
    for point in ("threshold=0.9", "fpr=0.02", "deployed"):
        for metric in METRICS:
            group_rows = audited.groups.subset(
                **row_filter, metric=metric, operating_point=point
            ).rows()
            names = [row["group"] for row in group_rows]
            assert names[-1] == "pooled"
            for cells in (names[:-1], names[-1:]):  # groups lend each other a design effect
                cluster_errors = tallied(placed, cells, bank.who, wrong_at(point))[metric]
                intervals = rate_interval(moments(cluster_errors))
                for cell_index, group in enumerate(cells):
                    (row,) = (row for row in group_rows if row["group"] == group)
                    check(row, intervals, cell_index, cluster_errors.n_speakers[cell_index])
                    checked += 1
    assert checked >= 3 * 2 * 3


def test_the_row_of_all_trials_has_an_interval_too(audited, bank, tallied, wrong_at):
    for level in ("", *LEVELS):
        rows = [row for row in bank.scored if not level or region(bank, row) == level]
        within = f"same:region={level}" if level else ""
        for point in ("threshold=0.9", "fpr=0.02", "deployed"):
            errors_by_metric = tallied({"all": rows}, ["all"], bank.who, wrong_at(point))
            for metric in METRICS:
                (row,) = audited.groups.subset(
                    group="all", metric=metric, operating_point=point, within=within
                )
                interval = rate_interval(moments(errors_by_metric[metric]))
                check(row, interval, 0, errors_by_metric[metric].n_speakers[0])


def test_decisions_that_nobody_knows_are_no_trials(audited, bank):
    decided = [row for row in bank.scored if row["decision"] is not None]
    assert 0 < len(decided) < len(bank.scored)
    for metric, label in (("fpr", 0), ("fnr", 1)):
        (row,) = audited.groups.subset(
            group="all", metric=metric, operating_point="deployed", within=""
        )
        trials = sum(decided_row["label"] == label for decided_row in decided)
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


@pytest.mark.slow
def test_without_errors_the_other_groups_lend_their_design_effect(faultless, one_row):
    audit = faultless.audit()
    row = one_row(audit.groups, group="b", metric="fnr")
    assert (row["value"], row["low"], row["errors"]) == (0.0, 0.0, 0)
    assert row["interval"] == "zero-errors"
    assert row["note"].startswith("no_errors; deff_of_other_groups")
    lent = [one_row(audit.groups, group=g, metric="fnr") for g in "ac"]
    variance = sum(lender["trials"] ** 2 * lender["se"] ** 2 for lender in lent)
    binomial = sum(lender["trials"] * lender["value"] * (1 - lender["value"]) for lender in lent)
    deff = variance / binomial
    assert deff > 1
    assert row["high"] == pytest.approx(3 * deff / row["trials"])
    assert row["n_eff"] == pytest.approx(row["trials"] / deff)
    assert (row["deff"], row["df"], row["se"]) == (None, None, None)


@pytest.mark.slow
def test_pooled_floor_widens_fnr_to_what_the_other_groups_show(people, allocated, tallied):
    speakers = people(
        dict.fromkeys("abcde", 6),
        fnr=lambda group, i: (3 + i % 2 + (14 if group != "a" and i == 0 else 0), 40),
    )
    plain, floored = (speakers.audit(pooled_floor=wide) for wide in (False, True))
    group_of = dict(zip(speakers.table["id"], speakers.table["group"], strict=True))
    placed = allocated(
        speakers.rows,
        lambda row: tuple(group_of[speaker_of(row[side])] for side in ("enrol", "test")),
        "both",
    )
    cluster_errors = tallied(placed, [*"abcde"], speaker_of, went_wrong)
    fnr_moments = moments(cluster_errors["fnr"])
    intervals = rate_interval(fnr_moments, 0.95, other_kappa2(fnr_moments))
    rows = floored.groups.subset(metric="fnr", grouping="group").rows()[:-1]
    assert [row["high"] for row in rows] == pytest.approx(intervals.high.tolist())
    assert (
        rows[0]["high"] > rate_interval(fnr_moments).high[0]
    )  # a's speakers are alike, others' are not
    assert "variance_raised" in rows[0]["note"]
    told_of_fpr = [
        [(row["low"], row["high"]) for row in audit.groups.subset(metric="fpr")]
        for audit in (plain, floored)
    ]
    assert told_of_fpr[0] == told_of_fpr[1]


@pytest.mark.slow
def test_naive_intervals_are_had_by_name(faultless):
    rows = faultless.audit(interval="wilson").groups.subset(metric="fnr", grouping="group").rows()
    low, high = wilson([row["errors"] for row in rows], [row["trials"] for row in rows], 0.95)
    assert [row["low"] for row in rows] == pytest.approx(low.tolist())
    assert [row["high"] for row in rows] == pytest.approx(high.tolist())
    assert {row["interval"] for row in rows} == {"wilson (takes trials as independent)"}


@pytest.mark.slow
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.99])
def test_intervals_are_wider_the_surer_they_are_asked_to_be(faultless, confidence):
    usual, altered = (faultless.audit(confidence=level) for level in (0.95, confidence))
    for metric in ("fpr", "fnr", "eer", "cdet_norm"):
        before, after = (
            [row["high"] - row["low"] for row in audit.groups.subset(metric=metric, group="a")]
            for audit in (usual, altered)
        )
        assert before
        assert (np.sign(np.subtract(after, before)) == np.sign(confidence - 0.95)).all()
