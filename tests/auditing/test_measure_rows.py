"""Intervals of measures from draws."""

import numpy as np
import pytest

from parivox.auditing.measure_rows import interval_columns
from parivox.auditing.options import Options
from parivox.core.registry import meta_measures


@pytest.mark.parametrize("measure", ["max_min", "min_max", "gini", "max_geomean"])
def test_rounding_of_groups_that_are_alike_does_not_rule_the_interval(measure):
    """Equal rates come out exactly alike on one processor and 1e-16 apart on another."""
    rng = np.random.default_rng(2)
    is_log = meta_measures()[measure].scale == "ratio"
    distances = rng.lognormal(-1, 0.4, 200)
    distances[:4] = 0.0
    best = 1.0 if is_log else 0.0
    sign = -1 if meta_measures()[measure].is_higher_fairer else 1
    draws = np.exp(sign * distances) if is_log else np.minimum(distances, 1.0)
    rounded = draws.copy()
    rounded[:4] = best + np.array([1, -1, 2, 3]) * 2e-16
    value, df = np.array([np.median(draws)]), np.array([50.0])
    limits = [
        interval_columns(meta_measures()[measure], value, some[:, None], df, Options())
        for some in (draws, rounded)
    ]
    for name in ("low", "high", "p", "dropped"):
        np.testing.assert_allclose(limits[0][name], limits[1][name], rtol=1e-9)
    assert limits[0]["low"] < value < limits[0]["high"]
