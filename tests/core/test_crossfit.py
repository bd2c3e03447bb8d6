"""Intervals of what is made on some folds of speakers and judged on others."""

import numpy as np
from scipy.special import stdtrit

from parivox.core.crossfit import jackknife

FOLDS, DRAWS = 10, 4000


def variance(limits):
    return ((limits.high - limits.low) / 2 / stdtrit(FOLDS - 1, 0.975)) ** 2


def test_chance_of_the_found_times_chance_of_the_judged_counts_once_where_it_is_told():
    rng = np.random.default_rng(1)
    found, judged = rng.normal(size=(2, FOLDS, DRAWS))
    value = found.mean(axis=0) * judged.mean(axis=0)
    x, y = ((one.sum(axis=0) - one) / (FOLDS - 1) for one in (found, judged))
    one_left = (judged.sum(axis=0) - judged - judged[:, None]) / (FOLDS - 2)  # [fold, fold, draw]
    moved = (x - found.mean(axis=0))[:, None] * one_left
    true = value.var()
    assert variance(jackknife(value, x * y)).mean() / true > 1.9
    once = variance(jackknife(value, x * y, moved=moved)).mean() / true
    assert 0.95 < once < 1.6  # at least half is kept of every draw, which lifts the mean


def test_a_move_that_is_the_same_for_all_who_are_judged_takes_nothing_off():
    without = np.array([0.2, 0.3, 0.3, 0.4])
    plain, told = (
        jackknife(0.3, without, moved=moved)
        for moved in (None, np.repeat([[-0.1], [0], [0], [0.1]], 4, axis=1))
    )
    assert plain == told
