from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parivox.core.verdict import benjamini_hochberg, holm, permutation_p

NAN = np.nan
families = st.lists(st.floats(0, 1) | st.just(NAN), min_size=1, max_size=12)
bounded = settings(max_examples=50, deadline=None)


def test_adjusted_p_values_of_the_vector(vector):
    inputs, expected, tol = vector("4.9_multiplicity")
    assert holm(inputs["p"]) == pytest.approx(expected["holm"], abs=tol)
    assert benjamini_hochberg(inputs["p"]) == pytest.approx(expected["bh"], abs=tol)


def test_permutation_p_of_the_vector(vector):
    inputs, expected, tol = vector("4.10_permutation_p")
    assert permutation_p(inputs["observed"], inputs["null"]) == pytest.approx(
        expected["p"], abs=tol
    )


@given(families)
@bounded
def test_adjusting_keeps_the_order_and_never_makes_a_claim_stronger(p):
    p = np.array(p)
    for adjusted in (holm(p), benjamini_hochberg(p)):
        is_defined = ~np.isnan(p)
        assert (np.isnan(adjusted) == np.isnan(p)).all()
        assert (adjusted[is_defined] >= p[is_defined]).all()
        assert (adjusted[is_defined] <= 1).all()
        assert (np.diff(adjusted[is_defined][np.argsort(p[is_defined])]) >= 0).all()
    assert (benjamini_hochberg(p)[is_defined] <= holm(p)[is_defined]).all()


@given(families, st.randoms())
@bounded
def test_the_order_of_groups_does_not_matter(p, random):
    order = list(range(len(p)))
    random.shuffle(order)
    p = np.array(p)
    for adjust in (holm, benjamini_hochberg):
        np.testing.assert_array_equal(adjust(p[order]), adjust(p)[order])


@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
def test_groups_without_a_p_value_are_no_members(adjust):
    with_gap = adjust([0.01, NAN, 0.04, 0.03])
    np.testing.assert_array_equal(with_gap[[0, 2, 3]], adjust([0.01, 0.04, 0.03]))
    assert np.isnan(with_gap[1])
    assert np.isnan(adjust([NAN, NAN])).all()


@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
def test_each_row_is_a_family_of_its_own(adjust):
    rows = np.array([[0.01, 0.2, NAN], [0.5, 0.04, 0.03]])
    np.testing.assert_array_equal(adjust(rows), [adjust(rows[0]), adjust(rows[1])])


def test_p_is_never_zero_and_counts_the_observed_value_among_the_draws():
    null = np.arange(99.0)
    assert permutation_p(1000.0, null) == pytest.approx(0.01)
    assert permutation_p(-1.0, null) == 1


def test_draws_that_equal_the_value_but_for_rounding_count():
    assert permutation_p(0.1 + 0.2, [0.3, 0.3, 0.3]) == 1


def test_undefined_draws_are_left_out_of_p():
    p = permutation_p([2.0, NAN, 2.0, np.inf], [[1, 1, NAN, 1], [3, 3, NAN, np.inf], [NAN] * 4])
    np.testing.assert_array_equal(p, [2 / 3, NAN, NAN, 2 / 3])
