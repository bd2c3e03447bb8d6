"""Intervals of what is made on some folds of speakers and judged on others."""

import numpy as np
import pytest
from scipy.special import stdtrit

from parivox.core.crossfit import jackknife

FOLDS, DRAWS = 10, 20_000


def variance(limits):
    return ((limits.high - limits.low) / 2 / stdtrit(FOLDS - 1, 0.975)) ** 2


@pytest.mark.slow
@pytest.mark.parametrize("unknown", [False, True])
def test_chance_of_the_found_times_chance_of_the_judged_counts_once_where_it_is_told(unknown):
    rng = np.random.default_rng(1)
    finding, judging, extra = rng.normal(size=(3, FOLDS, DRAWS))
    x, y, z = (
        (quantity.sum(axis=0) - quantity) / (FOLDS - 1) for quantity in (finding, judging, extra)
    )
    value = finding.mean(axis=0) * judging.mean(axis=0) + 0.9 * extra.mean(axis=0)
    without_two = judging.sum(axis=0) - judging - judging[:, None]  # [fold, fold, draw]
    moved = (x - finding.mean(axis=0))[:, None] * without_two / (FOLDS - 2)
    if unknown:
        moved[:, 3], moved[5] = np.nan, np.nan
    true = value.var()
    uncorrected, corrected = (
        variance(jackknife(value, x * y + 0.9 * z, moved=move)).mean() / true
        for move in (None, moved)
    )
    assert uncorrected > 1.08
    assert 0.96 < corrected < (1.04 if not unknown else uncorrected - 0.03)


def test_a_move_that_is_the_same_for_all_who_are_judged_takes_nothing_off():
    without = np.array([0.2, 0.3, 0.3, 0.4])
    plain, corrected = (
        jackknife(0.3, without, moved=moved)
        for moved in (None, np.repeat([[-0.1], [0], [0], [0.1]], 4, axis=1))
    )
    assert plain == corrected
