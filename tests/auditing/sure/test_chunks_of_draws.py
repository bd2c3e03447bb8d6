"""Draws of many groups are measured some at a time, which changes nothing."""

import pytest

import parivox as pv
from parivox.auditing import bias, estimates
from parivox.core import resampled_curves


@pytest.fixture
def audit_of_groups(simulate):
    trials, speakers = simulate()

    def audit_once():
        return pv.audit(
            {"A": trials, "B": {**trials, "score": [score**3 for score in trials["score"]]}},
            speakers=speakers,
            by=["gender+nation"],
            operating_points=["fpr=0.05", "min-cdet"],
            reference=["pooled", "others", "macro"],
            zero=["none", "jeffreys"],
            replicates=50,
            compare=True,
        )

    return audit_once


@pytest.mark.slow
def test_chunks_of_draws_change_no_table(audit_of_groups, monkeypatch):
    expected_audit = audit_of_groups()
    monkeypatch.setattr(estimates, "MAX_CHUNK_VALUES", 500)
    monkeypatch.setattr(bias, "_MAX_BIASES", 1000)
    monkeypatch.setattr(resampled_curves, "_MAX_SUMS", 1 << 12)
    monkeypatch.setattr(resampled_curves, "_MIN_PAIRS_PER_BLOCK", 16)
    audit = audit_of_groups()
    for name, table in expected_audit.tables().items():
        assert audit.tables()[name].to_polars().equals(table.to_polars(), null_equal=True), name
