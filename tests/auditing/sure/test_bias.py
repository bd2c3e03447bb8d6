"""Ratios of rates in closed form, and p values adjusted for the groups looked at."""

import itertools
import math

import pytest

import parivox as pv
from parivox.core.cluster_errors import moments
from parivox.core.intervals import rate_interval
from parivox.core.ratios import ratio_interval

POINT = "threshold=0.5"
FAMILY = ("metric", "definition", "operating_point", "measure", "reference", "zero")


def speaker_of(utterance):
    return utterance.partition("/")[0]


def wrong(row):
    return (row["score"] >= 0.5) != row["label"]


def group_of(row):
    """Group of a trial of people whose names begin with it; None between groups."""
    enrol_group, test_group = row["enrol"][0], row["test"][0]
    return enrol_group if enrol_group == test_group else None


@pytest.fixture(scope="module")
def three(people):
    return people(
        {"a": 6, "b": 8, "c": 7},
        fnr=lambda group, i: ((3 * i + ord(group)) % 7, 20 + i),
        fpr=lambda group, i: ((i + ord(group)) % 3, 6),
    )


@pytest.fixture(scope="module")
def audit(three):
    return three.audit(reference=["others", "pooled", "b", "macro", "geomean", "best"])


@pytest.fixture(scope="module")
def errors_by_metric(three, tallied):
    """Of each group, and of all groups but each."""
    group_rows = {g: [r for r in three.rows if group_of(r) == g] for g in "abc"}
    rows_of_others = {g: [r for r in three.rows if group_of(r) not in {None, g}] for g in "abc"}
    group_errors = tallied(group_rows, [*"abc"], speaker_of, wrong)
    tallies_of_others = {g: tallied(rows_of_others, [g], speaker_of, wrong) for g in "abc"}
    return group_errors, tallies_of_others


def plain_holm(p):
    order = sorted(range(len(p)), key=lambda i: p[i])
    adjusted, least = [0.0] * len(p), 0.0
    for rank, i in enumerate(order):
        least = max(least, min(1.0, p[i] * (len(p) - rank)))
        adjusted[i] = least
    return adjusted


def plain_bh(p):
    order = sorted(range(len(p)), key=lambda i: -p[i])
    adjusted, least = [0.0] * len(p), 1.0
    for rank, i in enumerate(order):
        least = min(least, p[i] * len(p) / (len(p) - rank))
        adjusted[i] = least
    return adjusted


@pytest.mark.parametrize("metric", ["fpr", "fnr"])
@pytest.mark.parametrize("reference", ["others", "pooled", "b"])
def test_ratios_of_rates_are_in_closed_form(audit, errors_by_metric, one_row, metric, reference):
    groups, tallies_of_others = errors_by_metric
    group_intervals = rate_interval(moments(groups[metric]))
    trials = groups[metric].sum_by_cell(groups[metric].trials)
    for cell, group in enumerate("abc"):
        if group == reference:
            continue
        mine = rate_interval(moments(groups[metric].cell_range(cell, cell + 1)))
        if reference == "b":
            against = rate_interval(moments(groups[metric].cell_range(1, 2)))
        else:
            against = rate_interval(moments(tallies_of_others[group][metric]))
        assert mine.high == group_intervals.high[cell]
        ratio = ratio_interval(mine, against)
        share = trials[cell] / trials.sum()

        def scaled(x, share=share):
            return 1 / (share + (1 - share) / x) if reference == "pooled" else x

        row_filter = {"group": group, "metric": metric, "reference": reference, "zero": "none"}
        row_filter["operating_point"] = POINT
        row = one_row(audit.bias, **row_filter, measure="ratio")
        for name in ("value", "low", "high"):
            assert row[name] == pytest.approx(scaled(getattr(ratio, name)[0])), name
        assert row["p"] == pytest.approx(ratio.p[0])
        logs = one_row(audit.bias, **row_filter, measure="neg_log_ratio")
        assert logs["value"] == pytest.approx(-math.log(row["value"]))
        assert logs["low"] == pytest.approx(-math.log(row["high"]))
        assert logs["high"] == pytest.approx(-math.log(row["low"]))
        assert logs["p"] == row["p"]


def test_p_values_are_adjusted_within_their_family(audit):
    families = {}
    for row in audit.bias:
        families.setdefault(tuple(row[name] for name in FAMILY), []).append(row)
    checked = 0
    for rows in families.values():
        tested = [row for row in rows if row["p"] is not None and row["group"] != row["reference"]]
        p = [row["p"] for row in tested]
        assert [row["p_holm"] for row in tested] == pytest.approx(plain_holm(p))
        assert [row["p_bh"] for row in tested] == pytest.approx(plain_bh(p))
        assert all(row["p_holm"] is None for row in rows if row not in tested)
        checked += int(len(tested) > 1)
    assert checked > 20


def test_a_group_that_is_the_reference_is_not_tested_against_itself(audit):
    rows = audit.bias.subset(group="b", reference="b", measure="ratio", operating_point=POINT)
    assert len(rows) >= 4
    for row in rows:
        assert row["value"] == 1
        assert row["p"] is None or row["p"] == 1


@pytest.mark.slow
def test_groups_that_share_speakers_are_resampled(people):
    speakers = people({"a": 8, "b": 8}, fnr=lambda group, i: (i % 4, 10))
    for i, j in itertools.product(range(8), range(8)):
        speakers.nontarget(f"a{i:02d}", f"b{j:02d}", (i * j) % 3 == 0, 2)
    closed, joint = (speakers.audit(allocate=rule) for rule in ("both", "enrol"))
    for audit, is_shared in ((closed, False), (joint, True)):
        rows = audit.bias.subset(metric="fpr", measure="ratio", operating_point=POINT).rows()
        assert len(rows) == 2
        for row in rows:
            assert row["low"] < row["value"] < row["high"]
            assert (row["floor_mean"] is None) == is_shared  # no draw of a fair system is valid


@pytest.mark.slow
def test_a_group_against_itself_has_no_interval(trials, speakers):
    audit = pv.audit(
        trials, speakers=speakers, by="gender", reference="f", operating_points="threshold=1.25"
    )
    for metric in ("fpr", "fnr"):
        row_filter = {"metric": metric, "measure": "ratio", "zero": "none"}
        (reference_row,) = audit.bias.subset(group="f", **row_filter)
        assert (
            reference_row["value"],
            reference_row["low"],
            reference_row["high"],
            reference_row["p"],
        ) == (1.0, None, None, None)
        (other_row,) = audit.bias.subset(group="m", **row_filter)
        assert other_row["low"] is not None
