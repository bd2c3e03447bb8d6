"""Whatever a public function is given, its user sees one sentence of Parivox.

Each call below is right but for one argument, which is replaced by something else: another type, an
array of another shape, an empty or nested table, a file that is a folder, text that is no name.
"""

import datetime as dt
import inspect
import math
from functools import reduce
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import parivox as pv
from parivox.errors import options_named

pytestmark = pytest.mark.filterwarnings("ignore")


class FailingTable:
    """A table whose rows cannot be made."""

    columns = ("enrol", "test", "score")

    def __getitem__(self, name):
        raise RuntimeError(name)


class FailingStream:
    def __arrow_c_stream__(self, requested_schema=None):
        raise RuntimeError


class FailingIterable:
    def __iter__(self):
        raise RuntimeError


WRONG = [
    None, 3, -1, 2**70, 10**400, math.nan, math.inf, 1e308, 1 + 2j, True, np.bool_(True), "",
    "nosuch", "a\0b", "\ud800", "é" * 5000, "fpr=2", "gender+", "age:1,x", b"bytes", (), [], {},
    set(), {"a": 1}, {3: 4}, [None], [math.nan], [[1]], [{}], ["a", "a"], ["gender", 3], object(),
    range(3), np.array([]), np.array(3), np.array([[1, 2], [3, 4]]),
    np.array(["a", None], dtype=object), np.array([1e308, -1e308, math.nan]),
    np.datetime64("2020-01-01"), np.timedelta64(3, "D"), pd.NA, pd.NaT, pd.DataFrame(),
    pd.DataFrame({"a": []}), pd.DataFrame({"a": [[1], [2]]}), pd.DataFrame({"a": [1, "x", {}]}),
    pd.DataFrame([[1, 2]], columns=["a", "a"]), pd.Series([1]), pl.DataFrame({"a": [{"b": 1}]}),
    pl.LazyFrame({"a": [1]}).select("b"), pl.Series([1]), pl.col("a"), dt.date(2020, 1, 1),
    FailingTable(), FailingStream(), FailingIterable(), Path("folder"), "folder", "empty.csv",
    "bad.json", Path("nosuch/x"), {"fnr": "x"}, {"a": [1, 2], "b": [1]},
    {"enrol": ["a", 1, None], "test": ["a", "b", "c"], "score": ["x", 2, {}], "label": [1, 0, 2]},
]  # fmt: skip

N_SPEAKERS = 12
SPEAKER = np.repeat(np.arange(N_SPEAKERS), 2)
ENROL, TEST = np.triu_indices(SPEAKER.size, 1)
NAMES = np.array([f"s{number:02}/{i % 2}" for i, number in enumerate(SPEAKER)])
LABELS = (SPEAKER[ENROL] == SPEAKER[TEST]).astype(int)
SCORES = np.random.default_rng(0).normal(1.5 * LABELS, 1).round(3)
TRIALS = {"enrol": NAMES[ENROL], "test": NAMES[TEST], "score": SCORES, "label": LABELS}
SPEAKERS = {
    "speaker": [f"s{number:02}" for number in range(N_SPEAKERS)],
    "gender": ["f", "m"] * (N_SPEAKERS // 2),
}
UTTERANCES = {"utterance": NAMES, "speaker": [name[:3] for name in NAMES]}
POLICY = {"parivox-policy": 1, "conditions": [{"name": "a", "rate": "fnr", "at-most": "5%"}]}
COUNTS = pv.Counts.from_scores(SCORES, LABELS)
COST = pv.parse_cost("sre08")
RATES = np.array([0.1, 0.2, 0.3])
ARRAYS = {"scores": SCORES, "labels": LABELS}
READ = {"speakers": SPEAKERS, "by": "gender"}
BUILT = {"utterances": UTTERANCES, "speakers": SPEAKERS, "by": "gender"}


@pytest.fixture(scope="module")
def audit():
    return pv.audit(TRIALS, SPEAKERS, by="gender", operating_points="fpr=0.1", intervals=False)


ARITHMETIC = {
    **dict.fromkeys(("eer", "auc", "cllr", "min_cllr", "dprime", "r_precision"), ARRAYS),
    **dict.fromkeys(("calibration_loss", "metrics", "spf_eer"), ARRAYS),
    "sasv_eer": {**ARRAYS, "spoof_share": 0.5},
    "min_tdcf": {
        "countermeasure": COUNTS,
        "cost": pv.COST_MODELS["asvspoof5"],
        "fnr": 0.1,
        "fpr": 0.1,
        "sfar": 0.5,
    },
    **{name: {**ARRAYS, "cost": COST} for name in ("act_cdet", "min_cdet")},
    **{name: {**ARRAYS, "target": 0.1} for name in ("fnr_at_fpr", "fpr_at_fnr")},
    **{
        name: {"values": RATES}
        for name in ("cv", "gini", "max_geomean", "max_mean", "max_min", "min_max", "sd")
    },
    **{name: {"values": RATES, "average": 0.2} for name in ("nrb", "rb")},
    **{name: {"values": RATES, "to": RATES} for name in ("difference", "ratio", "neg_log_ratio")},
    **{
        name: {"fpr": RATES, "fnr": RATES}
        for name in ("eo_diff", "eo_ratio", "fdr", "garbe", "ir")
    },
    "au_fdr": {"fdr": RATES, "fpr": RATES},
    "bayes_threshold": {"cost": COST},
    "cdet": {"curve": COUNTS.curve, "cost": COST},
    "equalised_min_cdet": {"partitions": [COUNTS], "cost": COST},
    "hter": {"curve": COUNTS.curve},
    "parse_cost": {"text": "sre08"},
    "reference": {"values": RATES, "kind": "macro"},
    "shift": {"group": COUNTS, "reference": COUNTS, "of": "target"},
    "smoothed": {"errors": [1, 2], "trials": [5, 6]},
    "threshold_bias": {"costs": RATES, "own_minima": RATES},
    "CostModel": {"name": "mine", "p_target": (0.1,)},
    "Counts.from_scores": {"scores": SCORES, "labels": LABELS},
    **{
        f"sklearn.{name}": {"y_true": LABELS, "y_score": SCORES}
        for name in pv.sklearn.__all__
        if name != "make_scorer"
    },
    "sklearn.make_scorer": {"metric": "eer"},
}  # fmt: skip
PRODUCTS = {
    "audit": {"scores": TRIALS, **READ, "intervals": False},
    "count": {"scores": TRIALS, **READ},
    "calibrate": {"scores": TRIALS, **READ, "folds": 4},
    "thresholds": {"scores": TRIALS, **READ, "folds": 4},
    "apply_calibrator": {"scores": TRIALS, "calibrator": {}, "out": "out.csv"},
    "inspect": {"columns": None},
    "gate": {"audit": "audit", "policy": POLICY},
    "compare": {"names": None},
    "plan": {"rate": {"fnr": 0.05}},
    "criteria": {"audit": "audit"},
    "load": {"folder": "audit"},
    "labelled": {"audit": "audit", "context": None},
    "group_counts": {"counts": None},
    "monitor": {"scores": TRIALS, "state": "s", **READ, "new": True, "limits": "fnr=0.5"},
    "score": {"trials": TRIALS, "embeddings": "folder", "out": "out.parquet"},
    "score_all_pairs": {"embeddings": "folder", **READ},
    "open_store": {"path": "folder"},
    "embed": {"source": "folder", "system": "nosuch", "out": "store"},
    "write_tables": {"audit": "audit", "path": "tables.md"},
    "write_figures": {"audit": "audit", "folder": "figures"},
    "trials.check": {"trials": TRIALS, **READ},
    "trials.describe": {"trials": TRIALS, **READ},
    "trials.grade": {"trials": TRIALS, "speakers": SPEAKERS, "grade_by": "gender"},
    "trials.convert": {"source": TRIALS, "out": "list.csv", "to": "csv"},
    "trials.build_inclusive": {**BUILT, "per_speaker": 1},
    "trials.build_balanced": {**BUILT, "speakers_per_group": 3, "utterances_per_speaker": 2},
    "trials.build_cross": {**BUILT, "trials": 20},
    "trials.rebuild": {"manifest": "bad.json"},
    "trials.variants": {"source": TRIALS, **READ, "per_speaker": 1, "replicates": 50},
    "shards.plan": {"scores": "scores.csv", "out": "run", "shards": 2},
    "shards.find_thresholds": {"folder": "folder"},
    "shards.merge": {"folder": "folder"},
    "shards.read_plan": {"folder": "folder"},
    "shards.run": {"folder": "folder"},
    "shards.run_shard": {"folder": "folder", "number": 1},
    "papers.paper_named": {"name": "001"},
}
NOT_TRIED = {"papers.run"}
"""Reproduces a whole paper."""
MAYBE_SLOW = {"ray", "workers"}
"""Arguments that start other processes."""


def member(name):
    return reduce(getattr, name.split("."), pv)


def sensible(name, argument, wrong):
    """The wrong call, which may turn out right."""
    try:
        member(name)(**{**(ARITHMETIC | PRODUCTS)[name], argument: wrong})
    except pv.ParivoxError as error:
        return str(error)
    return None


def arguments(name):
    names = {
        parameter.name
        for parameter in inspect.signature(member(name)).parameters.values()
        if parameter.kind in {parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY}
    }
    return sorted((names | {*(ARITHMETIC | PRODUCTS)[name]}) - MAYBE_SLOW)


@pytest.fixture
def files(tmp_path, monkeypatch, audit):
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("empty.csv").touch()
    Path("bad.json").write_text("{bad", encoding="utf-8")
    pd.DataFrame(TRIALS).to_csv("scores.csv", index=False)
    audit.save("audit")


def test_every_public_function_is_tried():
    packages = {"": pv, "trials.": pv.trials, "shards.": pv.shards, "papers.": pv.papers}
    public = {
        f"{prefix}{name}"
        for prefix, package in packages.items()
        for name in package.__all__
        if inspect.isfunction(getattr(package, name))
    }
    assert public - {*ARITHMETIC, *PRODUCTS} == NOT_TRIED


@pytest.mark.slow
@pytest.mark.parametrize("name", ARITHMETIC)
def test_wrong_arrays_numbers_and_words_are_refused_in_a_sentence(name, files):
    for argument in arguments(name):
        for wrong in WRONG:
            sensible(name, argument, wrong)


@pytest.mark.slow
@settings(
    max_examples=250,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_any_wrong_argument_is_refused_in_a_sentence(files, data):
    name = data.draw(st.sampled_from([*PRODUCTS]))
    argument = data.draw(st.sampled_from(arguments(name)))
    wrong = data.draw(st.sampled_from(range(len(WRONG))))
    message = sensible(name, argument, WRONG[wrong])
    assert message is None or "\n" not in message


@pytest.mark.parametrize("name", ["audit", "count", "calibrate", "thresholds", "trials.check"])
@pytest.mark.parametrize(
    "wrong", [FailingTable(), FailingStream(), WRONG[-1]], ids=["table", "stream", "cells"]
)
def test_a_table_that_fails_is_named(name, wrong, files):
    for argument in ("scores", "trials", "speakers"):
        if argument in PRODUCTS[name]:
            assert sensible(name, argument, wrong).startswith(("scores", "trials", "speakers"))


@pytest.mark.parametrize(
    ("name", "given_arguments", "message"),
    [
        ("load", {"folder": 3}, "folder is 3; give the name of a file or folder"),
        ("load", {"folder": "a\0b"}, r"folder is 'a\x00b'; give the name of a file or folder"),
        ("cv", {"values": "abc"}, "values is 'abc'; give an array of numbers"),
        ("hter", {"curve": [1]}, "curve is of type list; give a Curve"),
        ("eer", {"scores": SCORES, "labels": LABELS, "definition": []}, "definition is of type"),
        ("gate", {"audit": "a", "policy": "b", "today": "2026"}, "today is '2026'; give a date"),
        ("audit", {"scores": TRIALS, "progress": 3}, "progress is 3; give a function"),
        ("metrics", {"scores": SCORES, "labels": LABELS, "fpr": "x"}, "fpr is 'x'; give a list"),
        ("ratio", {"values": [[1, 2], [3, 4]], "to": [[1, 2, 3]]}, "ratio: the arguments do not"),
    ],
)
def test_the_sentence_names_the_argument(name, given_arguments, message):
    with pytest.raises(pv.ParivoxError) as caught:
        member(name)(**given_arguments)
    assert str(caught.value).startswith(message)


def test_too_many_or_unknown_arguments_are_a_type_error():
    for call in (pv.eer, lambda: pv.eer(SCORES, LABELS, 3), lambda: pv.load(nosuch=3)):
        with pytest.raises(TypeError):
            call()


def test_errors_of_functions_that_the_caller_gave_are_passed_on():
    def progress(stage):
        raise LookupError(stage)

    with pytest.raises(LookupError):
        pv.audit(TRIALS, SPEAKERS, by="gender", progress=progress)


@pytest.mark.parametrize("name", ["audit", "cv"])
def test_public_functions_are_found_again_by_pickle_and_keep_their_signatures(name):
    import pickle

    function = member(name)
    assert pickle.loads(pickle.dumps(function)) is function
    assert inspect.getdoc(function)
    assert len(inspect.signature(function).parameters) > 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full disk")
def test_a_full_disk_is_one_sentence(audit):
    with pytest.raises(pv.ConfigError, match="cannot be written"):
        audit.groups.write("/dev/full/x.csv")
    with options_named(), pytest.raises(pv.ConfigError, match="cannot be written"):
        audit.save("/dev/full/x")
