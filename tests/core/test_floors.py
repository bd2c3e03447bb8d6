from __future__ import annotations

import numpy as np
import pytest

from parivox.core.floors import (
    expected_abs_log_ratio,
    expected_gini,
    expected_log_max_geomean,
    expected_log_max_min,
    expected_range,
)
from parivox.core.spread import gini, nrb


def test_floors_of_the_vector(vector):
    inputs, expected, tol = vector("4.11_noise_floor")
    for errors in inputs["errors_per_group"]:
        for deff in inputs["deff"]:
            kappa, name = errors / deff, f"{errors:g}/{deff}"
            assert expected_gini(kappa) == pytest.approx(expected["gini"][name], abs=tol)
            assert expected_abs_log_ratio(kappa) == pytest.approx(
                expected["abs_log_ratio"][name], abs=tol
            )
    for n, value in expected["expected_range_of_n_normals"].items():
        assert expected_range(int(n)) == pytest.approx(value, abs=tol)
    for n, value in expected["expected_max_of_n_normals"].items():
        assert expected_log_max_geomean(1, int(n)) == pytest.approx(value, abs=tol)
    assert np.exp(expected_log_max_min(30, 9)) == pytest.approx(
        expected["median_max_min_ratio_30err_9groups"], abs=tol
    )


def test_floors_are_what_groups_of_equal_rate_show_by_simulation(vector):
    inputs, expected, tol = vector("4.12_noise_floor_mc")
    mean, groups = inputs["poisson_mean"], inputs["n_groups"]
    rng = np.random.default_rng(inputs["seed"])
    drawn = rng.poisson(mean, (inputs["draws"], groups))
    shown = gini(drawn).value.mean()
    assert shown == pytest.approx(expected["gini_mean"], abs=0.002)
    assert expected_gini(mean) == pytest.approx(shown, abs=tol)
    spread = np.log(drawn.max(axis=-1) / drawn.min(axis=-1)).mean()
    assert expected_log_max_min(mean, groups) == pytest.approx(spread, abs=tol)
    middle = np.exp(np.log(drawn).mean(axis=-1))
    assert expected_log_max_geomean(mean, groups) == pytest.approx(
        np.log(drawn.max(axis=-1) / middle).mean(), abs=3 * tol
    )
    assert expected_abs_log_ratio(mean) == pytest.approx(
        nrb(drawn, np.full(len(drawn), mean)).value.mean(), abs=tol
    )


def test_floors_fall_with_errors_and_rise_with_groups():
    assert (np.diff(expected_log_max_min([1, 4, 16], 9)) < 0).all()
    assert (np.diff(expected_range(np.arange(1, 200))) > 0).all()
    assert expected_log_max_min([1, 4], [[2], [3]]).shape == (2, 2)
