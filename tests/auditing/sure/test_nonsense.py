"""Options of uncertainty through the library: nonsense is one sentence, never a TypeError."""

import json
import math

import numpy as np
import pytest

from parivox.errors import ParivoxError

WRONG = [
    {"replicates": 49},
    {"replicates": 0},
    {"replicates": -5},
    {"replicates": 10**9},
    {"replicates": "x"},
    {"replicates": 100.0},
    {"replicates": True},
    {"replicates": None},
    {"replicates": [100]},
    {"seed": -1},
    {"seed": "0"},
    {"seed": None},
    {"seed": 2**70},
    {"confidence": 0},
    {"confidence": 1},
    {"confidence": 95},
    {"confidence": 0.4},
    {"confidence": math.nan},
    {"confidence": "0.9"},
    {"confidence": None},
    {"confidence": [0.9]},
    {"margin": 1},
    {"margin": 0.8},
    {"margin": math.inf},
    {"margin": math.nan},
    {"margin": "1.5"},
    {"margin": None},
    {"bins": 1},
    {"bins": -1},
    {"bins": "many"},
    {"bins": 2**40},
    {"bins": None},
    {"bins": 512.0},
    {"bins": []},
    {"interval": "bayes"},
    {"interval": 3},
    {"interval": None},
    {"interval": ["speakers"]},
    {"limits": [3]},
    {"limits": 0.05},
    {"limits": {"fnr": 0.05}},
    {"limits": None},
    {"limits": "fnr=inf"},
    {"attempts": 0},
    {"attempts": 1.5},
    {"attempts": "3"},
    {"attempts": True},
    {"gates": "speakers"},
    {"gates": "speakers=x"},
    {"gates": "speakers=-1"},
    {"gates": "people=3"},
    {"gates": ["speakers=3", "speakers=4"]},
    {"gates": {"speakers": 3}},
    {"gates": 5},
    {"standardise": 3},
    {"standardise": "no such"},
    {"standardise": ["group", "group"]},
    {"intervals": False, "limits": "fnr=0.1"},
    {"intervals": False, "attempts": 2},
    {"intervals": False, "standardise": "same:group"},
    {"intervals": False, "compare": True},
    {"trial_table": 3},
]


@pytest.mark.parametrize("wrong", WRONG, ids=repr)
def test_nonsense_is_told_in_one_sentence(people, wrong):
    speakers = people({"a": 5, "b": 5}, fnr=lambda group, i: (1, 3))
    with pytest.raises(ParivoxError) as refusal:
        speakers.audit(**wrong)
    assert "\n" not in str(refusal.value)
    assert next(iter({*wrong} - {"intervals"} or wrong)).rstrip("s") in str(refusal.value).replace(
        "-", "_"
    )


@pytest.mark.slow
def test_numbers_of_numpy_are_numbers(people):
    speakers = people({"a": 5, "b": 5}, fnr=lambda group, i: (1 + i % 2, 3))
    plain = speakers.audit(replicates=60, confidence=0.5, seed=2)
    with_numpy = speakers.audit(
        replicates=np.int64(60), confidence=np.float64(0.5), seed=np.int32(2), bins=np.int64(0)
    )
    assert plain.groups.rows() == with_numpy.groups.rows()
    json.loads(with_numpy.to_json())
