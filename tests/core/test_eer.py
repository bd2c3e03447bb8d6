"""Every definition against the rule of the toolkit that it is named after.

The rules are written out here anew, slowly, with exact fractions and plain loops over trials.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import interp1d
from scipy.optimize import brentq
from sklearn.metrics import det_curve, roc_curve

from parivox import Counts, eer
from parivox.core.eer import DEFINITIONS
from parivox.errors import ConfigError

VECTOR_NAMES = {
    "linear": "linear",
    "nearest_max": "nearest_max_bt4vt",
    "clova": "nearest_max_clova_roc_curve",
    "nearest_mean": "nearest_mean",
    "speechbrain": "speechbrain",
    "kaldi": "kaldi",
    "nist_sre16": "nist_sre16_wespeaker",
    "rocch": "rocch_bosaris",
    "pyeer": "pyeer",
}


def share(decisions):
    decisions = list(decisions)
    return Fraction(sum(decisions), len(decisions))


def falling(tar, non):
    """(fpr, fnr) from "accept nothing" down, one point per distinct score."""
    thresholds = [float("inf"), *sorted({*tar, *non}, reverse=True)]
    return [(share(s >= t for s in non), share(s < t for s in tar)) for t in thresholds]


def linear(tar, non):
    curve = falling(tar, non)
    for (f0, q0), (f1, q1) in pairwise(curve):
        d0, d1 = q0 - f0, q1 - f1
        if d1 == 0:
            return f1
        if d1 < 0:
            return f0 + d0 / (d0 - d1) * (f1 - f0)
    raise AssertionError


def nearest_max(tar, non):
    best = None
    for f, q in reversed(falling(tar, non)):  # rising thresholds, the first minimum stays
        if best is None or abs(f - q) < abs(best[0] - best[1]):
            best = (f, q)
    return max(best)


def nearest_mean(tar, non):
    best = min(reversed(falling(tar, non)), key=lambda p: abs(p[0] - p[1]))
    return sum(best) / 2


def clova(tar, non):
    scores, labels = [*tar, *non], [1] * len(tar) + [0] * len(non)
    _, _, thresholds = roc_curve(labels, scores, drop_intermediate=True)
    curve = [(share(s >= t for s in non), share(s < t for s in tar)) for t in thresholds]
    return max(min(curve, key=lambda p: abs(p[0] - p[1])))


def speechbrain(tar, non):
    scores = sorted({*tar, *non})
    half_way = [Fraction(a + b) / 2 for a, b in pairwise(scores)]
    curve = [
        (share(s > t for s in non), share(s <= t for s in tar))
        for t in sorted([*scores, *half_way])
    ]
    return sum(min(curve, key=lambda p: abs(p[0] - p[1]))) / 2


def kaldi(tar, non):
    tar, non = sorted(tar), sorted(non)
    k = 0
    while k + 1 < len(tar):
        rank = max(len(non) - 1 - len(non) * k // len(tar), 0)
        if non[rank] < tar[k]:
            break
        k += 1
    return Fraction(k, len(tar))


def nist_sre16(tar, non):
    # sorted trials, targets before nontargets within a tie; one point after each rejection
    order = sorted([(s, 0) for s in tar] + [(s, 1) for s in non])
    points, misses, n_above = [], 0, len(non)
    for _, is_nontarget in order:
        misses, n_above = misses + (1 - is_nontarget), n_above - is_nontarget
        points.append((Fraction(n_above, len(non)), Fraction(misses, len(tar))))
    after = next(i for i, (f, q) in enumerate(points) if q >= f)
    (f1, q1) = points[after]
    if after == 0:
        assert q1 == f1
        return q1
    (f0, q0) = points[after - 1]
    weight = (q1 - f1) / ((q1 - f1) - (q0 - f0))
    return q1 + weight * (q0 - q1)


def rocch(tar, non):
    # the hull meets the diagonal at the lowest crossing of any line between two points
    curve = falling(tar, non)
    crossings = [f for f, q in curve if f == q]
    for f0, q0 in curve:
        for f1, q1 in curve:
            d0, d1 = q0 - f0, q1 - f1
            if d0 > 0 > d1:
                crossings.append(f0 + d0 / (d0 - d1) * (f1 - f0))
    return min(crossings)


def pyeer(tar, non):
    curve = falling(tar, non)[::-1]
    t2 = next(i for i, (f, q) in enumerate(curve) if f <= q)
    t1 = t2 if curve[t2][0] == curve[t2][1] or t2 == 0 else t2 - 1
    return min(sum(curve[t1]), sum(curve[t2])) / 2


RULES = {
    f.__name__: f
    for f in (
        linear,
        nearest_max,
        clova,
        nearest_mean,
        speechbrain,
        kaldi,
        nist_sre16,
        rocch,
        pyeer,
    )
}


@pytest.mark.parametrize("name", ["1.3_eer_definitions_A", "1.4_eer_definitions_tied"])
def test_vectors(vector, counted, name):
    inputs, expected, tol = vector(name)
    counts = counted(inputs["tar"], inputs["non"])
    rates = {d: float(eer(counts, definition=d)) for d in DEFINITIONS}
    assert rates == {d: pytest.approx(expected[VECTOR_NAMES[d]], abs=tol) for d in DEFINITIONS}
    assert rates["linear"] == pytest.approx(expected["linear_exact"], abs=1e-15)
    assert rates["linear"] == pytest.approx(expected["brentq_roc"], abs=tol)


def test_degenerate_vectors(vector, counted):
    inputs, expected, tol = vector("1.5_eer_degenerate")
    for name, scores in inputs.items():
        assert eer(counted(scores["tar"], scores["non"])) == pytest.approx(expected[name], abs=tol)


@pytest.mark.slow
@pytest.mark.parametrize("definition", DEFINITIONS)
def test_definitions_are_the_toolkits_rules(tied_sets, counted, definition):
    for tar, non in tied_sets:
        rate = float(eer(counted(tar, non), definition=definition))
        assert rate == pytest.approx(float(RULES[definition](tar, non)), abs=1e-12), (tar, non)


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_cells_on_one_axis_are_like_cells_alone(tied_sets, counted, stacked, definition):
    cells = [counted(tar, non) for tar, non in tied_sets[:50]]
    rates = [eer(counts, definition=definition) for counts in cells]
    np.testing.assert_array_equal(eer(stacked(cells), definition=definition), rates)


def test_linear_is_brentq_on_the_roc_curve():
    rng = np.random.default_rng(1)
    for n in (20, 200, 2000):
        scores = np.concatenate([rng.normal(1.5, 1, n), rng.normal(0, 1, 3 * n)])
        labels = np.concatenate([np.ones(n), np.zeros(3 * n)])
        fpr, tpr, _ = roc_curve(labels, scores, drop_intermediate=False)
        root = brentq(lambda x, f=fpr, t=tpr: 1 - x - interp1d(f, t)(x), 0, 1, xtol=1e-14)
        assert eer(scores, labels) == pytest.approx(root, abs=1e-9)


def test_without_ties_linear_is_nist():
    rng = np.random.default_rng(2)
    for _ in range(50):
        scores = rng.permutation(60)
        labels = rng.random(60) < 0.4
        assert eer(scores, labels) == pytest.approx(
            float(eer(scores, labels, definition="nist_sre16")), abs=1e-12
        )


def test_nearest_max_on_scikit_learns_truncated_curve():
    rng = np.random.default_rng(3)
    for _ in range(20):
        scores, labels = rng.normal(0, 1, 101), rng.random(101) < 0.37
        fpr, fnr, _ = det_curve(labels, scores + labels)
        nearest = np.argmin(np.abs(fpr - fnr))
        rate = eer(scores + labels, labels, definition="nearest_max")
        assert rate == pytest.approx(max(fpr[nearest], fnr[nearest]), abs=1e-12)


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.integers(-4, 4), st.booleans()), min_size=2, max_size=30).filter(
        lambda drawn: len({label for _, label in drawn}) == 2
    ),
    st.sampled_from(DEFINITIONS),
)
def test_only_the_order_of_scores_matters(labelled, definition):
    scores = np.array([s for s, _ in labelled], dtype=float)
    labels = np.array([label for _, label in labelled])
    value = eer(scores, labels, definition=definition)
    assert 0 <= value <= 1
    assert eer(np.expm1(scores), labels, definition=definition) == value
    assert eer(np.arctan(scores) * 1e6, labels, definition=definition) == value
    ends = np.where(scores == 4, np.inf, np.where(scores == -4, -np.inf, scores))
    assert eer(ends, labels, definition=definition) == value


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_no_eer_without_both_classes(counted, definition):
    for counts in (counted([1, 2], []), counted([], [1, 2]), counted([], [])):
        assert np.isnan(eer(counts, definition=definition))


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_numbers_of_trials_beyond_int64_products_still_work(definition):
    big = 4_000_000_000
    counts = Counts(
        np.arange(4.0), np.array([0, big // 10, big, big]), np.array([big, big, big // 10, 0])
    )
    assert eer(counts, definition=definition) == pytest.approx(0.1 / 2.1, rel=1e-6)


def test_an_unknown_definition_is_named():
    with pytest.raises(ConfigError, match="'roc'"):
        eer([1.0, 0.0], [1, 0], definition="roc")
