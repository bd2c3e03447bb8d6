"""Whatever is asked of whatever trials: an audit that can be printed and shown, or one sentence."""

import os
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import parivox as pv
from parivox.errors import ParivoxError
from parivox.report.html import html_report

pytestmark = pytest.mark.slow

MANY = settings(
    deadline=None,
    max_examples=int(os.environ.get("PARIVOX_EXAMPLES", "12")),  # a few hundred find what is rare
    suppress_health_check=[*HealthCheck],
)
SOME = st.sampled_from
GROUPS = [
    *("gender", "nation", "age:18,30,60", "gender+nation", "enrol.gender", "same:gender"),
    *("grade", "room", "gender+room"),
]
POINTS = ["fpr=0.01", "fpr=0.1", "fnr=0.05", "eer", "min-cdet", "threshold=1.0", "bayes"]
SCORES = {
    "normal": lambda x: x,
    "tied": lambda x: x.round(1),
    "whole": lambda x: (10 * x).round(),
    "constant": lambda x: np.full(x.size, 0.5),
    "infinite": lambda x: np.where(np.abs(x) > 2, np.sign(x) * np.inf, x),
}


def several(of, most=3):
    return st.lists(SOME(of), min_size=1, max_size=most, unique=True)


class Made(dict):
    """Speakers, and trials by system; too many to be shown."""

    def __repr__(self):
        systems = ((name, len(of["score"]), sorted(of)) for name, of in self["systems"].items())
        return f"{len(self['people']['id'])} speakers, {[*systems]}"


@st.composite
def people_and_trials(draw):
    """Speakers, some without gender; trials with or without labels, decisions and failures."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, recordings = draw(SOME([3, 8, 20, 60])), draw(st.integers(1, 5))
    people = {
        "id": [f"s{i:03d}" for i in range(n)],
        "gender": rng.choice(["f", "m", ""], n, p=[0.48, 0.48, 0.04]).tolist(),
        "nation": rng.choice(["Norway", "USA", "São Tomé", "<b>x</b>", "=cmd"], n).tolist(),
        "age": rng.integers(15, 90, n).astype(str).tolist(),
    }
    enrol = rng.integers(0, n * recordings, draw(SOME([4, 60, 800])))
    test = rng.integers(0, n * recordings, enrol.size)
    own = enrol // recordings * recordings + rng.integers(0, recordings, enrol.size)
    test = np.where(rng.random(enrol.size) < 0.4, own, test)
    pairs = np.unique(np.stack((enrol, test), axis=1)[enrol != test], axis=0)
    target = pairs[:, 0] // recordings == pairs[:, 1] // recordings
    names = [
        f"s{i // recordings:03d}/v{i % recordings // 2}/{i}.wav" for i in range(n * recordings)
    ]
    systems = {}
    for name in draw(SOME([["A"], ["A", "B"]])):
        score = SCORES[draw(SOME([*SCORES]))](rng.normal(2.0 * target, 1)).astype(object)
        trials = (
            {"label": target.astype(int).astype(object)} if draw(SOME([True, True, False])) else {}
        )
        if draw(st.booleans()):
            trials["decision"] = np.where(rng.random(target.size) < 0.03, "", "accept")
        trials["room"] = rng.choice(["hall", "car", ""], target.size)
        if draw(st.booleans()):
            failed = rng.random(target.size) < draw(SOME([0.0, 0.1]))
            trials["status"] = np.where(failed, "too short", "ok")
            score[failed] = None
            if "decision" in trials:
                trials["decision"][failed] = ""
        for side, at in (("enrol", 0), ("test", 1)):
            trials[side] = np.array(names, dtype=object)[pairs[:, at]]
        kept = rng.random(target.size) < draw(SOME([1.0, 0.9]))
        systems[name] = {key: of[kept].tolist() for key, of in (trials | {"score": score}).items()}
    return Made(people=people, systems=systems)


OPTIONS = {
    "operating_points": several([*POINTS, "deployed"]),
    "allocate": several(["both", "enrol", "test", "either"], 2),
    "within": several(["gender", "room"], 1),
    "interval": SOME(["speakers", "bootstrap", "wilson"]),
    "intervals": st.just(False),
    "reference": several(["others", "pooled", "macro", "best", "f"], 2),
    "zero": several(["none", "jeffreys", "nist"], 2),
    "standardise": SOME(["same:gender", "room"]),
    "pooled_floor": st.just(True),
    "fixed_threshold": st.just(True),
    "sweep": st.just("fpr=0.01:0.3:log5"),
    "llr": st.just(True),
    "llr_base": SOME([2, 10]),
    "limits": several(["fnr=5%", "fpr=1.5x", "fta=2%"], 2),
    "conflicts": st.just("exclude"),
    "compare": st.just(True),
}
ASKED = several([*OPTIONS], 4).flatmap(
    lambda names: st.fixed_dictionaries(
        {"by": several(GROUPS), **{name: OPTIONS[name] for name in names}}
    )
)


@given(made=people_and_trials(), asked=ASKED)
@MANY
def test_an_audit_or_one_sentence(made, asked):
    people, systems = made["people"], made["systems"]
    scores = systems if len(systems) > 1 else systems["A"]
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            audit = pv.audit(scores, speakers=people, replicates=50, **asked)
        except ParivoxError as error:
            refused = str(error)
        else:
            refused = ""
    assert "\n" not in refused
    if not refused:
        assert "</html>" in html_report(audit)
