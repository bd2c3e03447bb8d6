"""Paper 003: counts behind table 1, and the measures that follow from them."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from parivox.errors import DataError
from parivox.papers.paper003_tables import (
    GROUPS,
    POOLED_EER,
    TABLE_1,
    TRIALS,
    recovered_counts,
    table1,
)

pytestmark = pytest.mark.minimal

VECTORS = Path(__file__).parents[1] / "vectors.json"
VECTOR = json.loads(VECTORS.read_text(encoding="utf-8"))["6.1_seed003_table1_recovered_counts"]
ROWS = {row.system: row for row in table1()}


def test_the_printed_table_is_that_of_the_vector():
    inputs = VECTOR["inputs"]
    assert [group.replace(" ", "_") for group in GROUPS] == inputs["groups"]
    assert inputs["N"] == TRIALS
    assert {s: [list(rates) for rates in printed] for s, printed in TABLE_1.items()} == inputs[
        "printed_percent"
    ]


@pytest.mark.parametrize("system", TABLE_1)
def test_vector_6_1(system):
    expected, row = VECTOR["expected"][system], ROWS[system]
    assert row.fp.tolist() == expected["FM"]
    assert row.fn.tolist() == expected["FNM"]
    for name, want in expected.items():
        if name not in {"FM", "FNM"}:
            measure = getattr(row, name.lower())
            assert measure == pytest.approx(float(want), abs=VECTOR["tol"], nan_ok=True), name


@pytest.mark.parametrize("system", TABLE_1)
def test_counts_print_as_in_the_paper(system):
    row = ROWS[system]
    for counts, printed in zip((row.fp, row.fn), TABLE_1[system], strict=True):
        assert [f"{100 * k / TRIALS:.2f}" for k in counts] == [f"{p:.2f}" for p in printed]


@pytest.mark.parametrize(
    ("system", "measures"),
    {
        "ERes2Net": ("0.9758", "19.88", "0.4379"),
        "CAM++": ("0.9715", "12.38", "0.4342"),
        "ECAPA": ("0.9592", "10.33", "0.4308"),
        "ResNetSE34V2": ("0.9400", "nan", "0.5113"),
        "ResNetSE34L": ("0.9366", "23.97", "0.3685"),
    }.items(),
)
def test_measures_at_equal_weights(system, measures):
    row = ROWS[system]
    assert (f"{row.fdr:.4f}", f"{row.ir:.2f}", f"{row.garbe:.4f}") == measures


def test_measures_disagree_on_which_system_is_fairest():
    assert min(ROWS.values(), key=lambda row: row.fdr).system == "ResNetSE34L"
    assert min(ROWS.values(), key=lambda row: row.garbe).system == "ResNetSE34L"
    assert max(ROWS.values(), key=lambda row: row.garbe).system == "ResNetSE34V2"
    assert [s for s, row in ROWS.items() if math.isnan(row.ir)] == ["ResNetSE34V2"]


def test_the_weight_of_fpr_chooses_the_term():
    for row in table1(alpha=1):
        assert row.fdr == pytest.approx(1 - row.fdr_fpd)
        assert row.ir == row.ir_fpd
        assert row.garbe == row.garbe_fpd


def test_pooled_rates_of_one_system_do_not_surround_its_eer():
    row = ROWS["CAM++"]
    assert (row.fp.sum(), row.fn.sum()) == (261, 271)
    rates = 100 * np.array([261, 271]) / (9 * TRIALS)
    assert rates.round(3).tolist() == [1.313, 1.364]
    assert rates.max() < POOLED_EER["CAM++"] - 0.005


def test_percentages_that_no_count_prints_are_refused():
    with pytest.raises(DataError, match="whole number of 2208 trials"):
        recovered_counts([1.22, 1.20])
    with pytest.raises(DataError, match="up to 9,999"):
        recovered_counts([1.22], trials=20_000)
