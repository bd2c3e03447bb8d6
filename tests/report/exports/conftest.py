"""An audit of groups whose names hold what each format takes for its own."""

from __future__ import annotations

import random

import pytest

import parivox as pv

ODD = (
    "a|b",
    "<b>&amp;</b>",
    r"50% _x_ {y} $z$ #1 \end{table}",
    "=1+1",
    "[x](y)",
    "*star*",
    "\u202eabc",
    "😀 – ×",
    "n" * 200,
    "60+",
)


@pytest.fixture(scope="session")
def material():
    """Trials of 40 speakers in ten groups of odd names."""
    draw = random.Random(3).gauss
    ids = [f"s{i:02d}/{k}" for i in range(40) for k in range(3)]
    trials = {"enrol": [], "test": [], "score": []}
    for i, enrol in enumerate(ids):
        for test in ids[i + 1 :]:
            trials["enrol"].append(enrol)
            trials["test"].append(test)
            trials["score"].append(round(draw(2.0 * (enrol[:3] == test[:3]), 1), 3))
    names = [f"s{i:02d}" for i in range(40)]
    speakers = {
        "id": names,
        "kind": [ODD[i // 4] for i in range(40)],
        "sex": ["fm"[i % 2] for i in range(40)],
    }
    return trials, speakers


@pytest.fixture(scope="session")
def odd(material):
    """The audit, with intervals, of one attribute and of two."""
    trials, speakers = material
    return pv.audit(
        {"A|B": trials, "C": trials},
        speakers=speakers,
        by=["kind", "sex", "kind+sex"],
        operating_points=["fpr=0.05"],
        replicates=50,
    )


@pytest.fixture(scope="session")
def unsure(material):
    """The audit of one system without intervals."""
    trials, speakers = material
    return pv.audit(
        {"S": trials}, speakers=speakers, by=["sex"], intervals=False, operating_points=["eer"]
    )
