from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.special import ndtri

from parivox.core.verdict import (
    asked_together,
    meets_limit,
    of_hypotheses,
    overall,
    verdicts,
)
from parivox.errors import ConfigError

NAN = float("nan")
CODES = ("worse", "better", "equivalent", "inconclusive")


@pytest.mark.parametrize(
    ("numbers", "gate", "code", "reason"),
    [
        ((2.6, 1.4, 4.8, 0.01), "", "worse", ""),
        ((0.4, 0.2, 0.8, 0.01), "", "better", ""),
        ((1.0, 0.85, 1.18, 1.0), "", "equivalent", ""),
        ((1.1, 1.05, 1.2, 0.001), "", "equivalent", ""),
        ((1.0, 0.8, 1.25, 1.0), "", "inconclusive", "not_surely_alike"),
        ((1.1, 0.97, 1.24, 0.3), "", "inconclusive", "not_surely_alike"),
        ((1.1, 1.01, 1.24, 0.03), "", "worse", ""),
        ((1.0, 0.79, 1.2, 1.0), "", "inconclusive", "too_wide"),
        ((1.0, 0.1, 9.0, 1.0), "", "inconclusive", "too_wide"),
        ((2.6, 1.1, 5.0, 0.3), "", "inconclusive", "not_after_holm"),
        ((0.0, 0.0, 0.7, 0.01), "", "better", ""),
        ((0.0, 0.0, 0.7, NAN), "", "better", ""),
        ((0.0, 0.0, 0.7, 0.2), "", "inconclusive", "not_after_holm"),
        ((0.0, 0.0, 3.1, 0.01), "", "inconclusive", "no_errors"),
        ((NAN, NAN, NAN, NAN), "", "inconclusive", "undefined_ratio"),
        ((np.inf, 1.0, np.inf, 0.01), "", "inconclusive", "undefined_ratio"),
        ((2.6, NAN, NAN, 0.01), "", "inconclusive", "no_interval"),
        ((2.6, 1.4, 4.8, NAN), "", "inconclusive", "no_p"),
        ((2.6, 1.4, 4.8, 0.01), "only 4 speakers", "inconclusive", "only 4 speakers"),
        ((1.0, 0.9, 1.1, 1.0), "only 4 speakers", "inconclusive", "only 4 speakers"),
    ],
)
def test_each_rule_gives_its_code_and_its_reason(numbers, gate, code, reason):
    findings = verdicts(*([x] for x in numbers), unmet_minimum=[gate])
    assert (findings.code[0], findings.reason[0]) == (code, reason)
    assert bool(findings.is_below_minimum[0]) == bool(gate)


@settings(max_examples=50, deadline=None)
@given(
    st.floats(0.05, 20),
    st.floats(1.0001, 30),
    st.floats(1.0001, 30),
    st.floats(0, 1),
    st.floats(1.01, 3),
)
def test_turning_the_ratio_over_swaps_worse_and_better_only(ratio, down, up, p, margin):
    low, high = ratio / down, ratio * up
    straight = verdicts([ratio], [low], [high], [p], margin=margin)
    back = verdicts([1 / ratio], [1 / high], [1 / low], [p], margin=margin)
    swapped = {"worse": "better", "better": "worse"}
    assert back.code[0] == swapped.get(straight.code[0], straight.code[0])
    assert back.reason[0] == straight.reason[0]
    assert (straight.reason[0] == "") == (straight.code[0] != "inconclusive")


@settings(max_examples=50, deadline=None)
@given(st.floats(0.8, 1.25), st.floats(1.0001, 1.4), st.floats(0, 1))
def test_alike_is_an_interval_within_the_margin_at_the_surer_level(ratio, width, p):
    code = verdicts([ratio], [ratio / width], [ratio * width], [p], confidence=0.9).code[0]
    wide = width ** (ndtri(0.99) / ndtri(0.95))
    assume(not np.isclose([ratio * wide, ratio / wide], [1.25, 0.8]).any())
    assert (code == "equivalent") == (ratio * wide < 1.25 and ratio / wide > 0.8)


def test_who_asks_for_surer_intervals_is_asked_for_no_more():
    findings = verdicts([1.0], [0.81], [1.23], [1.0], confidence=0.995)
    assert findings.code[0] == "equivalent"


@pytest.mark.parametrize(
    ("codes", "system"),
    [
        (["worse", "inconclusive", "equivalent"], "differs"),
        (["better", "equivalent"], "differs"),
        (["equivalent", "equivalent"], "equivalent"),
        (["equivalent", "inconclusive"], "inconclusive"),
        (["inconclusive"], "inconclusive"),
        (["differs", "inconclusive"], "differs"),
    ],
)
def test_a_system_is_judged_from_its_groups(codes, system):
    assert overall(codes) == system


def test_a_system_without_groups_is_not_one_without_differences():
    assert overall(np.empty((2, 0), dtype=str)).tolist() == ["inconclusive"] * 2


def test_a_limit_is_met_only_by_the_whole_interval():
    low, high = [0.0, 0.03, 0.0501, 0.05, NAN], [0.05, 0.06, 0.2, 0.2, 0.01]
    want = ["met", "inconclusive", "not_met", "inconclusive", "inconclusive"]
    assert meets_limit(low, high, 0.05).tolist() == want


@pytest.mark.parametrize("wrong", [{"margin": 1.0}, {"margin": 0.8}, {"confidence": 1.0}])
def test_nonsense_options_are_refused(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        verdicts([1.0], [0.9], [1.1], [0.5], **wrong)


def test_of_two_groups_each_against_the_other_is_one_hypothesis():
    assert of_hypotheses([[0.0241, 0.0241], [0.5, NAN]]).tolist() == [[0.0241], [0.5]]
    assert of_hypotheses([0.1, 0.2, 0.3]).tolist() == [0.1, 0.2, 0.3]
    assert np.isnan(of_hypotheses([NAN, NAN])).all()
    assert of_hypotheses([0.0241, 0.5], "best").tolist() == [0.0241, 0.5]


def test_half_of_the_chance_of_error_is_spent_on_either_question():
    groups, pairs = asked_together([0.03, 0.2, NAN], [0.2, 0.3])
    assert groups.tolist()[:2] == [0.06, 0.2]  # neither is answered at half of .05
    assert np.isnan(groups[2])
    groups, pairs = asked_together([0.03, 0.2], [0.02, 0.3])
    assert (groups.tolist(), pairs.tolist()) == ([0.04, 0.2], [0.04, 0.3])
    for group_p, pair_p in (([0.03, NAN], [NAN]), ([NAN], [0.04])):
        adjusted = asked_together(group_p, pair_p)
        np.testing.assert_array_equal(adjusted[0], group_p)
        np.testing.assert_array_equal(adjusted[1], pair_p)
