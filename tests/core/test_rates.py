from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from parivox import Counts, fnr_at_fpr, fpr_at_fnr, hter
from parivox.core.rates import crossing, threshold_at_eer, threshold_at_fnr, threshold_at_fpr
from parivox.errors import ConfigError

TARGETS = [0.0, 0.1, 0.125, 0.2, 0.25, 1 / 3, 0.5, 0.6, 0.75, 1.0]


def points(tar, non):
    """(threshold, fpr, fnr) from +inf down, as fractions."""
    thresholds = [float("inf"), *sorted({*map(float, tar), *map(float, non)}, reverse=True)]
    return [
        (
            t,
            Fraction(sum(s >= t for s in non), len(non)),
            Fraction(sum(s < t for s in tar), len(tar)),
        )
        for t in thresholds
    ]


def test_fnr_at_fpr(vector, counted):
    inputs, expected, tol = vector("1.11_fnr_at_fpr_A")
    counts = counted(inputs["tar"], inputs["non"])
    for target in inputs["targets"]:
        want = expected[str(target)]
        rates = {
            rule: fnr_at_fpr(counts, target=target, rule=rule, allow_extrapolation=True)
            for rule in ("conservative", "nearest", "interp")
        }
        assert rates["conservative"].threshold == pytest.approx(want["conservative"]["thr"])
        for rule in ("conservative", "nearest"):
            assert rates[rule].value == pytest.approx(want[rule]["FNR"], abs=tol)
            assert rates[rule].achieved == pytest.approx(want[rule]["FPR"], abs=tol)
        assert rates["interp"].value == pytest.approx(want["interp_FNR"], abs=tol)
        assert np.isnan(rates["interp"].threshold)


def test_a_rate_finer_than_one_trial_is_not_resolved(counted):
    counts = counted([3, 2, 1], [0, 0, 0, 2.5])
    assert np.isnan(fnr_at_fpr(counts, target=0.2).value)
    assert fnr_at_fpr(counts, target=0.25).value == 0
    assert np.isnan(fpr_at_fnr(counts, target=0.3).value)
    assert fpr_at_fnr(counts, target=0.34).value == 0.25
    assert fpr_at_fnr(counts, target=0.3, allow_extrapolation=True).value == 0.25


@pytest.mark.parametrize("target", TARGETS)
def test_rules_are_what_a_slow_search_finds(tied_sets, counted, target):
    for tar, non in tied_sets[:60]:
        counts, curve = counted(tar, non), points(tar, non)
        # conservative: the last point with FPR <= target, the first with FNR <= target
        t, fpr, fnr = [p for p in curve if float(p[1]) <= target][-1]
        rate = fnr_at_fpr(counts, target=target, allow_extrapolation=True)
        assert (rate.threshold, rate.achieved, rate.value) == (t, float(fpr), float(fnr))
        assert threshold_at_fpr(counts.curve, target) == t
        t, fpr, fnr = next(p for p in curve if float(p[2]) <= target)
        rate = fpr_at_fnr(counts, target=target, allow_extrapolation=True)
        assert (rate.threshold, rate.value, rate.achieved) == (t, float(fpr), float(fnr))
        assert threshold_at_fnr(counts.curve, target) == t
        # nearest: smallest threshold for a held FPR, largest for a held FNR
        x = Fraction(repr(target))
        t, fpr, fnr = min(curve[::-1], key=lambda p: abs(p[1] - x))
        rate = fnr_at_fpr(counts, target=target, rule="nearest", allow_extrapolation=True)
        assert (rate.threshold, rate.achieved, rate.value) == (t, float(fpr), float(fnr))
        t, fpr, fnr = min(curve, key=lambda p: abs(p[2] - x))
        rate = fpr_at_fnr(counts, target=target, rule="nearest", allow_extrapolation=True)
        assert (rate.threshold, rate.value, rate.achieved) == (t, float(fpr), float(fnr))
        # interp: NumPy's, through the best point of each rate
        best = {}
        for _, fpr, fnr in curve:
            best[float(fpr)] = float(fnr)
        rate = fnr_at_fpr(counts, target=target, rule="interp", allow_extrapolation=True)
        assert rate.value == pytest.approx(np.interp(target, list(best), list(best.values())))
        best = {}
        for _, fpr, fnr in curve[::-1]:
            best[float(fnr)] = float(fpr)
        rate = fpr_at_fnr(counts, target=target, rule="interp", allow_extrapolation=True)
        assert rate.value == pytest.approx(np.interp(target, list(best), list(best.values())))


def test_threshold_at_eer_compares_integers_and_prefers_the_larger(tied_sets, counted):
    for tar, non in tied_sets:
        t, _, _ = min(points(tar, non), key=lambda p: abs(p[1] - p[2]))
        assert threshold_at_eer(counted(tar, non).curve) == t


def test_an_exact_tie_goes_to_the_larger_threshold(vector, counted):
    inputs, _, _ = vector("1.4_eer_definitions_tied")
    assert threshold_at_eer(counted(inputs["tar"], inputs["non"]).curve) == 0.6


def test_cells_on_one_axis_are_like_cells_alone(tied_sets, counted, stacked):
    cells = [counted(tar, non) for tar, non in tied_sets[:40]]
    together = stacked(cells)
    # the point is the same; on the shared axis the largest threshold of a flat stretch may be
    # another score, so counts are compared
    for rule in ("conservative", "nearest", "interp"):
        for rate_at in (fnr_at_fpr, fpr_at_fnr):
            rates = rate_at(together, target=0.25, rule=rule, allow_extrapolation=True)
            alone = [rate_at(p, target=0.25, rule=rule, allow_extrapolation=True) for p in cells]
            np.testing.assert_array_equal(rates.value, [a.value for a in alone])
            np.testing.assert_array_equal(rates.achieved, [a.achieved for a in alone])
    for rule in (threshold_at_eer, lambda c: threshold_at_fpr(c, 0.25)):
        thresholds = rule(together.curve)
        for counts, t in zip(cells, thresholds, strict=True):
            point, own_point = counts.at([t]), counts.at([rule(counts.curve)])
            assert (point.fp[0], point.fn[0]) == (own_point.fp[0], own_point.fn[0])


@pytest.mark.parametrize("threshold_at", [threshold_at_fpr, threshold_at_fnr])
def test_several_targets_at_once_are_each_by_itself(threshold_at):
    draw = np.random.default_rng(5)
    values = np.arange(40.0)
    alone = Counts(values, *draw.integers(0, 3, (2, 40)))
    several = Counts(values, *draw.integers(0, 3, (2, 4, 40)))
    targets = [0.0, 0.03, 0.25, 0.5, 1.0]
    for counts in (alone, several):
        thresholds = [threshold_at(counts.curve, target) for target in targets]
        np.testing.assert_array_equal(
            threshold_at(counts.curve, targets), np.stack(thresholds, axis=-1)
        )
    with pytest.raises(ConfigError, match="the target rate is 2"):
        threshold_at(alone.curve, [0.5, 2.0])


def test_hter_is_half_of_both(counted):
    curve = counted([3, 1], [2, 0]).at([2.0, -1.0])
    np.testing.assert_array_equal(hter(curve), [0.5, 0.5])


def test_a_missing_class_leaves_its_rates_undefined(counted):
    only_targets, only_nontargets = counted([1, 2], []), counted([], [1, 2])
    for counts in (only_targets, only_nontargets, counted([], [])):
        assert np.isnan(threshold_at_eer(counts.curve))
        assert np.isnan(fnr_at_fpr(counts, target=0.5).value)
        assert np.isnan(fpr_at_fnr(counts, target=0.5).value)
    assert threshold_at_fnr(only_targets.curve, 0.5) == 2
    assert np.isnan(threshold_at_fpr(only_targets.curve, 0.5))
    assert threshold_at_fpr(only_nontargets.curve, 0.5) == 2


def test_infinite_scores_are_always_accepted_or_rejected(counted):
    counts = counted([np.inf, 1, -np.inf], [-np.inf, 0, np.inf])
    assert fnr_at_fpr(counts, target=0.4).achieved == pytest.approx(1 / 3)
    assert threshold_at_eer(counts.curve) == 1


def test_numbers_of_trials_beyond_int64_products_still_work():
    big = 4_000_000_000
    counts = Counts(np.array([0.0, 1.0]), np.array([1, big]), np.array([big, 1]))
    assert int(crossing(counts.curve)) == 1
    assert threshold_at_eer(counts.curve) == 1.0


@pytest.mark.parametrize("target", [-0.1, 1.1, float("nan")])
def test_targets_are_fractions(target):
    with pytest.raises(ConfigError, match="fraction from 0 to 1"):
        fnr_at_fpr([1.0, 0.0], [1, 0], target=target)


def test_an_unknown_rule_is_named():
    with pytest.raises(ConfigError, match="'closest'"):
        fnr_at_fpr([1.0, 0.0], [1, 0], target=0.5, rule="closest")
