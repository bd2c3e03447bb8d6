from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency, hypergeom

from parivox.core.confounding import association, determines

BANDS_OF_GENDERS = [[51, 18, 26, 30], [23, 30, 58, 14]]


def tables(least, most):
    return st.integers(2, 4).flatmap(
        lambda width: st.lists(
            st.lists(st.integers(least, most), min_size=width, max_size=width),
            min_size=2,
            max_size=4,
        )
    )


def drawn(rng, n, row_shares, column_shares):
    """A table of speakers whose two values have nothing to do with each other."""
    table = np.zeros((len(row_shares), len(column_shares)), dtype=int)
    np.add.at(
        table,
        (
            rng.choice(len(row_shares), n, p=row_shares),
            rng.choice(len(column_shares), n, p=column_shares),
        ),
        1,
    )
    return table


def test_the_p_value_of_many_speakers_is_pearsons():
    strength = association(BANDS_OF_GENDERS)
    assert strength.test == "chi-square"
    assert strength.p == pytest.approx(chi2_contingency(BANDS_OF_GENDERS).pvalue, rel=1e-9)


def test_the_strength_is_what_chance_does_not_explain():
    table = np.array(BANDS_OF_GENDERS)
    excess = chi2_contingency(table).statistic / 250 - 3 / 249
    assert association(table).cramers_v == pytest.approx(np.sqrt(excess / (1 - 1 / 249)), rel=1e-9)


def test_the_p_value_of_few_speakers_is_that_of_all_ways_to_deal_them_out():
    table = np.array([[5, 1], [1, 6]])
    n, row, column = table.sum(), table[0].sum(), table[:, 0].sum()
    expected = row * column / n
    ways = np.arange(row + 1)
    chance = hypergeom.pmf(ways, n, column, row)
    exact = chance[abs(ways - expected) >= abs(table[0, 0] - expected) - 1e-9].sum()
    strength = association(table)
    assert strength.test == "permutation"
    assert strength.p == pytest.approx(exact, abs=4 * np.sqrt(exact / 2_000))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "test"), [(25, "permutation"), (200, "chi-square")], ids=["few", "many"]
)
def test_attributes_that_have_nothing_to_do_with_each_other_are_found_at_their_level(n, test):
    rng = np.random.default_rng(7)
    strengths = [
        association(drawn(rng, n, [0.5, 0.5], [0.5, 0.3, 0.2]), seed=seed) for seed in range(400)
    ]
    assert sum(strength.test == test for strength in strengths) > 350
    assert (
        sum(strength.p <= 0.05 for strength in strengths) <= 34
    )  # 20 expected; one run in a thousand has more
    assert sum(strength.p <= 0.05 for strength in strengths) >= 4
    assert np.mean([strength.cramers_v for strength in strengths]) < 0.1


@settings(deadline=None, max_examples=40)
@given(st.integers(10, 400), st.integers(0, 99))
def test_attributes_that_nearly_tell_each_other_are_always_found(n, seed):
    table = np.array([[n, n // 10, 0], [n // 10, n, n]])
    strength = association(table, seed=seed)
    assert strength.p <= 0.01
    assert strength.cramers_v > 0.6


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(tables(0, 12))
@example([[3, 9, 3], [9, 9, 3]])  # whose sum has another last digit in another order
def test_neither_the_side_nor_the_order_of_values_matters(table):
    straight = association(table)
    turned = association(np.array(table)[::-1].T)
    assert turned.test == straight.test
    assert turned.cramers_v == pytest.approx(straight.cramers_v, abs=1e-9, nan_ok=True)
    assert turned.p == pytest.approx(straight.p, abs=0.08, nan_ok=True)
    assert np.isnan(straight.p) or 0 < straight.p <= 1
    assert np.isnan(straight.cramers_v) or 0 <= straight.cramers_v <= 1


def test_the_same_seed_gives_the_same_p_value():
    table = [[3, 1, 2], [1, 4, 0]]
    assert association(table, seed=(0, 6, 1)) == association(table, seed=(0, 6, 1))


@pytest.mark.parametrize("table", [[[4, 7]], [[4, 0], [7, 0]], [[0, 0], [0, 0]]])
def test_one_value_goes_together_with_nothing(table):
    strength = association(table)
    assert np.isnan(strength.p)
    assert np.isnan(strength.cramers_v)


def test_who_tells_whom():
    bands = np.array([[74, 0], [48, 0], [0, 84]])
    assert determines(bands)
    assert not determines(bands.T)
    assert association(bands).cramers_v > 0.95
