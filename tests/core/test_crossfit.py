"""Intervals of what is made on some folds of speakers and judged on others."""

import numpy as np
import pytest
from scipy.special import stdtrit

from parivox.core.crossfit import jackknife

FOLDS, DRAWS = 10, 20_000


def variance(limits):
    return ((limits.high - limits.low) / 2 / stdtrit(FOLDS - 1, 0.975)) ** 2


@pytest.mark.parametrize("unknown", [False, True])
def test_chance_of_the_found_times_chance_of_the_judged_counts_once_where_it_is_told(unknown):
    rng = np.random.default_rng(1)
    found, judged, more = rng.normal(size=(3, FOLDS, DRAWS))
    x, y, z = ((one.sum(axis=0) - one) / (FOLDS - 1) for one in (found, judged, more))
    value = found.mean(axis=0) * judged.mean(axis=0) + 0.9 * more.mean(axis=0)
    one_left = (judged.sum(axis=0) - judged - judged[:, None]) / (FOLDS - 2)  # [fold, fold, draw]
    moved = (x - found.mean(axis=0))[:, None] * one_left
    if unknown:
        moved[:, 3], moved[5] = np.nan, np.nan
    true = value.var()
    twice, once = (
        variance(jackknife(value, x * y + 0.9 * z, moved=one)).mean() / true
        for one in (None, moved)
    )
    assert twice > 1.08
    assert 0.96 < once < (1.04 if not unknown else twice - 0.03)


def test_a_move_that_is_the_same_for_all_who_are_judged_takes_nothing_off():
    without = np.array([0.2, 0.3, 0.3, 0.4])
    plain, told = (
        jackknife(0.3, without, moved=moved)
        for moved in (None, np.repeat([[-0.1], [0], [0], [0.1]], 4, axis=1))
    )
    assert plain == told
