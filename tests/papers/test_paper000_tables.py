"""Paper 000: its tables against one another."""

from __future__ import annotations

import math

import numpy as np
import pytest

from parivox import nrb
from parivox.core.error_burden import let_in
from parivox.papers.paper000_tables import (
    AVERAGE,
    DESIGN_FPR,
    TABLE_2,
    TABLE_3,
    TABLE_4,
    nrb_zero_as_average,
    table3,
    table4,
)

pytestmark = pytest.mark.minimal


@pytest.mark.parametrize("metric", ["EER", "minCDet"])
def test_table_3_follows_from_table_2_but_for_rounding(metric):
    computed = table3(metric)
    assert computed.keys() == TABLE_3[metric].keys()
    for group, figures in computed.items():
        assert all(figure.agrees for figure in figures), (group, figures)


def test_eer_rows_follow_closely():
    for gap, over, log in table3("EER").values():
        assert abs(gap.value - gap.printed) <= 0.0015
        assert abs(over.value - over.printed) <= 0.001
        assert abs(log.value - log.printed) <= 0.0012


def averages(metric):
    """Lowest and highest average that every printed value and ratio allow."""
    half = 5e-4
    pairs = [(TABLE_2[metric][group], over) for group, (_, over, _) in TABLE_3[metric].items()]
    return (
        max((value - half) / (over + half) for value, over in pairs),
        min((value + half) / (over - half) for value, over in pairs),
    )


def test_the_average_is_pooled_and_no_mean_of_groups():
    low, high = averages("EER")
    assert (round(low, 4), round(high, 4)) == (3.6572, 3.6578)
    assert low <= AVERAGE["EER"] + 5e-4  # its own rounding
    genders = np.mean([TABLE_2["EER"][group] for group in "mf"])
    groups = np.mean([value for group, value in TABLE_2["EER"].items() if "+" in group])
    assert (round(genders, 3), round(groups, 2)) == (3.669, 5.01)
    assert high < genders < groups


def test_what_average_the_cost_ratios_imply():
    low, high = averages("minCDet")
    assert (round(low, 5), round(high, 5)) == (0.01134, 0.01174)
    assert f"{high:.3f}" == f"{AVERAGE['minCDet']:.3f}"
    over = table3("minCDet")["m+India"][1]
    assert (over.printed, round(over.value, 3)) == (1.571, 1.5)  # three decimals are too few


def test_table_4_prints_the_opposite_sign_of_table_3():
    for group, row in table4().items():
        fpr, gap, log = TABLE_4[group]
        assert f"{row.fpr:.3f}" == f"{fpr:.3f}"
        assert f"{row.difference:.3f}" == f"{gap:.3f}"
        assert row.neg_log_ratio == pytest.approx(-log)
    assert table4()["m+India"].fpr == pytest.approx(0.00525, abs=5e-6)
    assert table4()["m+USA"].fpr == pytest.approx(0.00040, abs=5e-6)


def test_reliability_bias_of_the_printed_groups():
    fpr = [row.fpr for row in table4().values()]
    assert nrb_zero_as_average(fpr, DESIGN_FPR) == pytest.approx(0.703, abs=5e-4)
    assert nrb_zero_as_average(fpr, DESIGN_FPR) == pytest.approx(float(nrb(fpr, DESIGN_FPR).value))


def test_a_group_without_errors_hides_in_the_paper_and_is_told_by_the_core():
    assert nrb_zero_as_average([0.0, 0.001], 0.001) == 0
    assert math.isnan(nrb([0.0, 0.001], 0.001).value)


def test_attack_scenario():
    assert (round(let_in(0.001, 17 * 60), 3), round(let_in(0.005, 210), 3)) == (0.640, 0.651)


def test_ratios_that_the_text_quotes():
    eer, cost = TABLE_2["EER"], TABLE_2["minCDet"]
    assert round(eer["m+Norway"] / eer["m+USA"], 2) == 2.74
    assert round(eer["f+Germany"] / eer["f+Australia"], 2) == 3.82
    assert round(cost["f+Germany"] / cost["f+Australia"], 2) == 1.73
    assert round(AVERAGE["EER"] / 2.402, 2) == 1.52
