"""Recordings that could not be enrolled or acquired have intervals over speakers too."""

import numpy as np
import pytest

import parivox as pv
from parivox.core.cluster_errors import ErrorsByPair, ErrorsBySpeaker, moments
from parivox.core.intervals import rate_interval
from parivox.facts import cell_of_row

STAGES = {"fte": ("enrol", "enrol"), "fta": ("acquire", "test")}


@pytest.fixture(scope="module")
def audit(bank):
    return pv.audit(
        bank.table(bank.rows, "status", "stage"),
        speakers=bank.customers,
        utterances=bank.calls,
        by=["gender", "channel"],
        operating_points="threshold=1.0",
        reference="pooled",
        zero="none",
        bins=64,
    )


def recordings(bank, metric):
    """Every recording that was tried at a stage, and whether it failed."""
    stage, side = STAGES[metric]
    lost_by_recording = {}
    for row in bank.rows:
        lost_by_recording[row[side]] = (
            lost_by_recording.get(row[side], False) or row["stage"] == stage
        )
    return lost_by_recording


def tallied(bank, tried, groups, group_of_call):
    counts = {}
    for call, lost in tried.items():
        if group_of_call(call) in groups:
            counted = counts.setdefault((groups.index(group_of_call(call)), bank.who(call)), [0, 0])
            counted[0] += int(lost)
            counted[1] += 1
    keys = sorted(counts)
    errors, trials = np.array([counts[key] for key in keys]).T
    cell = np.array([cell_index for cell_index, _ in keys])
    return ErrorsBySpeaker(
        cell, np.array([int(customer[1:]) for _, customer in keys]), errors, trials, len(groups)
    )


@pytest.mark.parametrize("metric", STAGES)
def test_all_recordings(audit, bank, metric):
    (row,) = audit.groups.subset(group="all", metric=metric)
    cluster_errors = tallied(bank, recordings(bank, metric), ["all"], lambda call: "all")
    interval = rate_interval(moments(cluster_errors))
    assert row["value"] == pytest.approx(interval.rate[0])
    for name in ("low", "high", "deff", "n_eff", "df", "se"):
        assert row[name] == pytest.approx(getattr(interval, name)[0])
    assert row["interval"] == interval.method[0]


@pytest.mark.parametrize("grouping", ["gender", "channel"])
@pytest.mark.parametrize("metric", STAGES)
def test_recordings_of_each_group(audit, bank, metric, grouping):
    def group_of_call(call):
        return (bank.customer if grouping == "gender" else bank.call)(call)[grouping]

    rows = audit.groups.subset(grouping=grouping, metric=metric).rows()[:-1]
    groups = [row["group"] for row in rows]
    intervals = rate_interval(
        moments(tallied(bank, recordings(bank, metric), groups, group_of_call))
    )
    for group_index, row in enumerate(rows):
        assert row["value"] == pytest.approx(intervals.rate[group_index])
        assert (row["low"], row["high"]) == pytest.approx(
            (intervals.low[group_index], intervals.high[group_index])
        )
        assert (row["interval"], cell_of_row(row, "note")) == (
            intervals.method[group_index],
            intervals.note[group_index],
        )


@pytest.mark.slow
def test_of_few_speakers_there_is_no_interval(people):
    speakers = people({"a": 3, "b": 8}, fnr=lambda group, i: (1 + i % 3, 8))
    for i, row in enumerate(speakers.rows):
        lost = i % 11 == 0
        row["status"] = "failed" if lost else "ok"
        row["stage"] = "enrol" if lost else ""
        row["score"] = None if lost else row["score"]
    audit = speakers.audit()
    (few,) = audit.groups.subset(group="a", metric="fte")
    (many,) = audit.groups.subset(group="b", metric="fte")
    assert few["value"] > 0
    assert many["low"] < many["value"] < many["high"]
    assert (few["low"], few["high"], few["interval"]) == (None, None, "")
    assert few["note"] == "no_interval_below_minimum"


def test_failures_follow_the_confidence(bank, audit):
    (usual,) = audit.groups.subset(group="all", metric="fte")
    half_sure = pv.audit(
        bank.table(bank.rows, "status", "stage"),
        speakers=bank.customers,
        utterances=bank.calls,
        by="gender",
        operating_points="threshold=1.0",
        reference="pooled",
        confidence=0.5,
        bins=64,
    )
    (narrow,) = half_sure.groups.subset(group="all", metric="fte")
    assert usual["low"] < narrow["low"] < narrow["value"] < narrow["high"] < usual["high"]


@pytest.mark.parametrize("metric", ["frr", "gfrr", "far", "gfar"])
def test_attempts_are_tallied_with_the_trials_that_failed(audit, bank, metric):
    label = metric.endswith("frr")
    counts = {}
    for row in bank.rows:
        if row["label"] != label or (row["stage"] == "enrol" and not metric.startswith("g")):
            continue
        accepted = row["score"] is not None and row["score"] >= 1.0
        speaker_pair = sorted(int(bank.who(row[side])[1:]) for side in ("enrol", "test"))
        counted = counts.setdefault(tuple(speaker_pair), [0, 0])
        counted[0] += int(accepted != label)
        counted[1] += 1
    pairs = np.array(list(counts))
    errors, trials = np.array(list(counts.values())).T
    zero = np.zeros(len(counts), dtype=int)
    cluster_errors = (
        ErrorsBySpeaker(zero, pairs[:, 0], errors, trials, 1)
        if label
        else ErrorsByPair(zero, *pairs.T, errors, trials, 1)
    )
    interval = rate_interval(moments(cluster_errors))
    (row,) = audit.groups.subset(group="all", metric=metric, definition="attempts")
    assert row["value"] == pytest.approx(interval.rate[0])
    for name in ("low", "high", "deff", "n_eff", "df", "se"):
        assert row[name] == pytest.approx(getattr(interval, name)[0])
    assert row["interval"] == interval.method[0]


@pytest.mark.parametrize("metric", ["frr", "gfrr", "far", "gfar"])
def test_rates_joined_with_shares_vary_with_both(audit, metric):
    error_rate = {"far": "fpr", "frr": "fnr"}[metric.removeprefix("g")]
    for group in ("all", "f"):
        (row,) = audit.groups.subset(group=group, metric=metric, definition="shares")
        (plain,) = audit.groups.subset(group=group, metric=error_rate)
        (lost,) = audit.groups.subset(group=group, metric="fta")
        assert row["low"] < row["value"] < row["high"]
        assert (row["interval"], row["note"]) == ("bootstrap", "")
        if error_rate == "fnr":  # the sum, nearly, of both
            assert row["se"] > 0.5 * max(plain["se"], lost["se"])
        else:
            assert row["value"] < plain["value"]


@pytest.mark.parametrize("metric", ["frr", "gfrr", "far", "gfar"])
@pytest.mark.parametrize("rule", ["attempts", "shares"])
def test_groups_are_compared_in_rates_that_count_failures(audit, metric, rule):
    rows = audit.bias.subset(
        metric=metric, definition=rule, measure="ratio", grouping="gender", reference="pooled"
    ).rows()
    assert [row["group"] for row in rows] == ["f", "m"]
    for row in rows:
        group_row, pooled = (
            audit.groups.subset(
                metric=metric, definition=rule, grouping="gender", group=group
            ).rows()[0]
            for group in (row["group"], "pooled")
        )
        assert row["value"] == pytest.approx(group_row["value"] / pooled["value"])
        assert row["low"] < row["value"] < row["high"]
        # both ways to tell how sure a rate is agree; what is common to both falls out of a ratio
        half = np.log(group_row["high"] / group_row["low"]) / 2
        assert np.log(row["high"] / row["low"]) / 2 < 1.3 * half


@pytest.mark.slow
@pytest.mark.parametrize(("metric", "stage"), [("fte", "enrol"), ("fta", "acquire")])
def test_shares_of_failures_are_compared_with_intervals(people, metric, stage):
    speakers = people({"a": 12, "b": 12}, fnr=lambda group, i: (1 + i % 3, 8))
    for i, row in enumerate(speakers.rows):
        lost = i % 4 == 0
        row["status"] = "failed" if lost else "ok"
        row["stage"] = stage if lost else ""
        row["score"] = None if lost else row["score"]
    audit = speakers.audit(reference="pooled")
    rows = audit.bias.subset(metric=metric, measure="ratio").rows()
    assert {row["group"] for row in rows} == {"a", "b"}
    assert all(row["low"] < row["value"] < row["high"] for row in rows)


@pytest.mark.slow
def test_rates_that_count_failures_stay_within_one(people):
    speakers = people({"a": 8, "b": 8}, fnr=lambda group, i: (6, 8))
    for i, row in enumerate(speakers.rows):
        lost = i % 7 == 0
        row["status"] = "failed" if lost else "ok"
        row["stage"] = "acquire" if lost else ""
        row["score"] = None if lost else row["score"]
    rows = speakers.audit().groups.subset(definition="shares").rows()
    bounded = [row for row in rows if row["high"] is not None]
    assert bounded
    assert all(row["high"] <= 1 for row in bounded)
    zero_rows = [row for row in rows if row["metric"] == "far" and row["value"] == 0]
    assert all(0 < row["high"] <= 1 and row["note"] == "as_of_fpr" for row in zero_rows)


def test_where_nothing_failed_the_rates_of_attempts_are_as_sure_as_those_of_comparisons(bank):
    scored = [row for row in bank.rows if not row["stage"]]
    rates = pv.audit(
        bank.table(scored, "status", "stage"),
        speakers=bank.customers,
        utterances=bank.calls,
        by="gender",
        operating_points="threshold=1.0",
    ).groups
    for of_attempts, metric in (("frr", "fnr"), ("far", "fpr")):
        attempts = rates.subset(metric=of_attempts, definition="attempts").rows()
        compared = rates.subset(metric=metric).rows()
        assert len(attempts) == len(compared) > 2
        for attempt_row, compared_row in zip(attempts, compared, strict=True):
            assert attempt_row["interval"]
            for name in ("value", "low", "high", "trials", "errors"):
                assert attempt_row[name] == compared_row[name]
