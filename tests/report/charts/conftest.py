"""Small audits to be drawn: two systems, and lists that nobody wishes for."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import parivox as pv


def trials_of(groups, *, speakers_per_group=6, utterances=3, seed=3, between=0.3):
    """Trials and speakers of groups, in turn one of these, that differ a little."""
    draw = np.random.default_rng(seed)
    names = [(f"s{g}_{i}", g) for g in range(len(groups)) for i in range(speakers_per_group)]
    ids = [(f"{name}/{k}", name, g) for name, g in names for k in range(utterances)]
    trials = {"enrol": [], "test": [], "score": []}
    for (a, owner, g), (b, other_owner, h) in itertools.combinations(ids, 2):
        if owner == other_owner or draw.random() < (between if g != h else 0.6):
            trials["enrol"].append(a)
            trials["test"].append(b)
            shift = 2.2 - 0.1 * (g % 7) if owner == other_owner else 0.1 * (g % 5)
            trials["score"].append(round(float(draw.normal(shift)), 2))
    speakers = {"id": [name for name, _ in names], "group": [groups[g] for _, g in names]}
    return trials, speakers


@pytest.fixture(scope="session")
def pair():
    """Audit two systems on one list by two attributes and both."""
    trials, speakers = trials_of(["f", "m"] * 3, speakers_per_group=12, utterances=4, between=0.1)
    speakers["nation"] = [("India", "Norway", "USA")[i // 24] for i in range(72)]
    draw = np.random.default_rng(9)
    noisier = {**trials, "score": [round(s + float(draw.normal()), 2) for s in trials["score"]]}
    return pv.audit(
        {"one": trials, "two": noisier},
        speakers=speakers,
        by=["group", "group+nation"],
        operating_points=["fpr=0.05", "eer"],
        compare=True,
        replicates=100,
    )


@pytest.fixture(scope="session")
def calm():
    """Audit two systems, of which the first locks out nobody of group c."""
    trials, speakers = trials_of(["a", "b", "c"], speakers_per_group=8, between=0.1)
    group_by_speaker = dict(zip(speakers["id"], speakers["group"], strict=True))
    sure = [
        9.0
        if a.split("/")[0] == b.split("/")[0] and group_by_speaker[a.split("/")[0]] == "c"
        else score
        for a, b, score in zip(*(trials[n] for n in ("enrol", "test", "score")), strict=True)
    ]
    return pv.audit(
        {"calm": {**trials, "score": sure}, "usual": trials},
        speakers=speakers,
        by="group",
        operating_points="fpr=0.05",
        replicates=50,
    )


@pytest.fixture(scope="session")
def small():
    """Audit groups of these names, once where several tests ask for the same."""

    def audit(groups, *, speakers_per_group=3, scores=None, keep=None, **options):
        trials, speakers = trials_of(
            groups, speakers_per_group=speakers_per_group, utterances=2, between=0.15
        )
        if keep is not None:
            rows = [
                i
                for i, (a, b) in enumerate(zip(trials["enrol"], trials["test"], strict=True))
                if keep(a.split("/")[0], b.split("/")[0])
            ]
            trials = {name: [cells[i] for i in rows] for name, cells in trials.items()}
        if scores is not None:
            trials["score"] = [
                scores(a.split("/")[0] == b.split("/")[0], score)
                for a, b, score in zip(
                    *(trials[n] for n in ("enrol", "test", "score")), strict=True
                )
            ]
        options = {"operating_points": ["fpr=0.05"], "replicates": 50, **options}
        return pv.audit({"S": trials}, speakers=speakers, by=["group"], **options)

    audits = {}

    def once(groups, *, scores=None, keep=None, **options):
        if scores is not None or keep is not None:  # functions, which have no name that lasts
            return audit(groups, scores=scores, keep=keep, **options)
        key = repr((groups, sorted(options.items())))
        if key not in audits:
            audits[key] = audit(groups, **options)
        return audits[key]

    return once
