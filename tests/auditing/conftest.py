"""Simulated trials of known speakers, and one audit of them with every option on."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import parivox as pv

GENDERS, NATIONS = ("f", "m"), ("India", "Norway", "USA")
EVERY_EER = (
    *("linear", "nearest_max", "clova", "nearest_mean", "speechbrain"),
    *("kaldi", "nist_sre16", "rocch", "pyeer"),
)
POINTS = (
    *("fpr=0.01", "fpr=0.1", "fnr=0.05", "eer", "min-cdet", "min-cdet:sre08"),
    *("bayes", "threshold=1.25"),
)


def people(n):
    """`n` speakers, their attributes in turn."""
    groups = list(itertools.product(GENDERS, NATIONS))
    return {
        "id": [f"qz{i:03d}" for i in range(n)],
        "gender": [groups[i % 6][0] for i in range(n)],
        "nation": [groups[i % 6][1] for i in range(n)],
    }


@pytest.fixture(scope="session")
def simulate():
    """Make trials as columns, and the table of their speakers.

    Scores are rounded, so that many are equal; groups differ by a shift of their target scores.
    """

    def made(*, seed=1, speakers=24, utterances=6, nontarget=4000, decimals=2):
        draw = np.random.default_rng(seed)
        table = people(speakers)
        ids = [f"{name}/vx{k}.wav" for name in table["id"] for k in range(utterances)]
        owner = np.repeat(np.arange(speakers), utterances)
        left, right = np.triu_indices(len(ids), 1)
        same = owner[left] == owner[right]
        other = draw.choice(np.flatnonzero(~same), nontarget, replace=False)
        rows = draw.permutation(np.concatenate((np.flatnonzero(same), other)))
        left, right, same = left[rows], right[rows], same[rows]
        score = draw.normal(np.where(same, 2.5 - 0.2 * (owner[left] % 6), 0.0))
        trials = {
            "enrol": [ids[i] for i in left],
            "test": [ids[i] for i in right],
            "score": np.round(score, decimals).tolist(),
            "label": same.astype(int).tolist(),
        }
        return trials, table

    return made


@pytest.fixture(scope="session")
def trials(simulate):
    return simulate()[0]


@pytest.fixture(scope="session")
def speakers(simulate):
    return simulate()[1]


@pytest.fixture(scope="session")
def whole(trials, speakers):
    """Everything that an audit can be asked for, at once."""
    return pv.audit(
        {"S@dev": trials, "S@eval": trials, "T": trials},
        speakers=speakers,
        by=["gender", "nation", "gender+nation"],
        allocate=["both", "enrol", "test", "either"],
        operating_points=POINTS,
        cost=["voxsrc", "sre08", "sre16", "0.2,1,5"],
        eer=EVERY_EER,
        rule=["conservative", "nearest", "interp"],
        reference=["pooled", "macro", "geomean", "best", "f", "Norway", "f+India"],
        zero=["none", "jeffreys", "nist"],
        alpha=["0:1:0.25"],
        sweep="fpr=0.01:0.1:log5",
        llr=True,
        compat="bt4vt",
        conflicts="set-aside",
        metrics={"half": lambda c: (c.fpr + c.fnr) / 2, "best": lambda c: c.fpr.min(axis=-1) * 0},
    )


@pytest.fixture(scope="session")
def small(trials, speakers):
    """One system, one combination of attributes, one threshold."""
    return pv.audit(
        trials,
        speakers=speakers,
        by="gender+nation",
        operating_points=["threshold=1.25", "fpr=0.01", "fnr=0.05"],
        zero=["none", "jeffreys", "nist"],
        alpha=["0:1:0.25"],
        reference=["pooled", "macro", "geomean", "best", "f+India"],
        sweep="fpr=0.01:0.1:log5",
    )
