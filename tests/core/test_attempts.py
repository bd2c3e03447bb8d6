from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parivox.core.error_burden import attempts_until, let_in, locked_out
from parivox.errors import ConfigError


def test_attempts_of_paper_000():
    assert let_in(0.001, 17 * 60) == pytest.approx(0.640, abs=5e-4)
    assert let_in(0.005, int(3.5 * 60)) == pytest.approx(0.651, abs=5e-4)


def test_the_attack_of_the_vector(vector):
    inputs, expected, tol = vector("5.4_attack_scenario")
    chances = [
        let_in(rate, attempts)
        for rate, attempts in zip(inputs["fpr"], inputs["attempts"], strict=True)
    ]
    assert chances == pytest.approx(expected["p_success"], abs=tol)
    half = attempts_until(inputs["fpr"], 0.5)
    assert half.tolist() == np.ceil(expected["attempts_for_50pct"]).tolist()


@settings(max_examples=50, deadline=None)
@given(st.floats(1e-6, 1), st.floats(0.01, 0.99))
def test_attempts_until_is_the_first_number_that_is_enough(rate, probability):
    n = attempts_until(rate, probability)
    assert n == int(n) >= 1
    assert let_in(rate, int(n)) >= probability * (1 - 1e-9)
    if n > 1:
        assert let_in(rate, int(n) - 1) < probability * (1 + 1e-9)


def test_rates_at_the_ends_are_certain():
    assert let_in([0.0, 1.0], 3).tolist() == [0.0, 1.0]
    assert locked_out([0.0, 1.0], 3).tolist() == [0.0, 1.0]
    assert attempts_until([0.0, 1.0, 0.95]).tolist() == [np.inf, 1.0, 1.0]
    assert np.isnan(attempts_until(np.nan))
    assert np.isnan(let_in(np.nan, 2))


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: let_in(0.1, 0), "attempts"),
        (lambda: locked_out(0.1, 2.5), "attempts"),
        (lambda: attempts_until(0.1, 1.0), "probability"),
    ],
)
def test_nonsense_options_are_refused(call, name):
    with pytest.raises(ConfigError, match=name):
        call()
