from __future__ import annotations

import numpy as np
import pytest

from parivox.core.intervals import clopper_pearson, jeffreys, wilson

RULES = {"wilson": wilson, "clopper_pearson": clopper_pearson, "jeffreys": jeffreys}


@pytest.mark.parametrize("rule", RULES)
def test_vectors(vector, rule):
    inputs, expected, tol = vector("4.1_binomial_intervals")
    errors, trials = np.array(inputs["cases"]).T
    limits = np.stack(RULES[rule](errors, trials, 1 - inputs["alpha"]), axis=-1)
    want = [expected[f"{e}/{n}"][rule] for e, n in inputs["cases"]]
    np.testing.assert_allclose(limits, want, atol=tol, rtol=0)


def test_wilson_of_effective_numbers(vector):
    _, expected, tol = vector("4.3_dyadic_variance")
    n = expected["n_eff"]
    limits = wilson(expected["FPR"] * n, n, df=3)
    np.testing.assert_allclose(limits, expected["wilson_t3"], atol=tol)
    np.testing.assert_allclose(wilson(6, 120), expected["wilson_naive"], atol=tol)
    _, expected, tol = vector("4.4_cluster_variance_mated")
    n = expected["n_eff"]
    np.testing.assert_allclose(
        wilson(expected["FNR"] * n, n, df=3), expected["wilson_t3"], atol=tol
    )
    inputs, expected, tol = vector("4.15_zero_errors_neff")
    n = inputs["trials"] / inputs["pooled_deff"]
    assert wilson(0, n)[1] == pytest.approx(expected["wilson_upper_two_sided"], abs=tol)


def test_exact_bound_without_errors(vector):
    inputs, expected, tol = vector("4.2_rule_of_3_and_30")
    one_sided = clopper_pearson(0, inputs["n"], 2 * inputs["conf"] - 1)
    assert one_sided[1] == pytest.approx(expected["exact_upper"], abs=tol)
    inputs, expected, tol = vector("4.15_zero_errors_neff")
    n = inputs["trials"] / inputs["pooled_deff"]
    one_sided = clopper_pearson(0, n, 1 - 2 * inputs["alpha"])
    assert one_sided[1] == pytest.approx(expected["upper_exact_one_sided"], abs=tol)


@pytest.mark.parametrize("rule", RULES)
def test_ends_mirror_and_nothing_is_known_without_trials(rule):
    interval = RULES[rule]
    errors = np.arange(8)
    low, high = interval(errors, 7)
    np.testing.assert_allclose(low, 1 - high[::-1], atol=1e-12)
    assert low[0] == 0
    assert high[-1] == 1
    assert ((low < high) & (low <= errors / 7) & (errors / 7 <= high)).all()
    assert np.isnan(interval(0, 0)).all()
    wider = interval(errors, 7, 0.99)
    assert (wider[0] <= low).all()
    assert (wider[1] >= high).all()
