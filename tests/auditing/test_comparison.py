"""Systems and lists against each other: what is said of a pair, and what is refused."""

import numpy as np
import pytest
from tests.sentences import shared_in_words

import parivox as pv
from parivox.auditing.comparison import (
    _noise_free_variance,
    _stretched_by_noise,
)
from parivox.errors import ConfigError
from parivox.report.definitions import COMPARISON_MEASURES
from parivox.report.html import html_report
from parivox.report.terminal import print_summary

pytestmark = pytest.mark.slow

GATES = ("speakers=5", "pairs=10", "errors=0")
FEW = {"reference": "others", "zero": "none"}
"""Fewer measures of bias than by default; `crossed` has more."""
MORE = {"reference": ["others", "macro"], "zero": ["none", "jeffreys"]}


def audited(scores, speakers, **more):
    asked = {"by": "nation", "operating_points": ["fpr=0.1", "eer"], "replicates": 100}
    return pv.audit(
        scores, speakers=speakers, compare=True, **{**asked, "gates": GATES, **FEW, **more}
    )


def renamed(trials, people, letter):
    """The same trials of other people."""
    ids = {name: [letter + one[1:] for one in trials[name]] for name in ("enrol", "test")}
    return {**trials, **ids}, {**people, "id": [letter + one[1:] for one in people["id"]]}


def worsened(trials, amount, seed=3):
    noise = np.random.default_rng(seed).normal(0, amount, len(trials["score"]))
    return {**trials, "score": (np.array(trials["score"]) + noise).tolist()}


@pytest.fixture(scope="module")
def data(simulate):
    return simulate(speakers=48, utterances=4)


@pytest.fixture(scope="module")
def better_and_worse(data):
    trials, people = data
    scores = {"A": trials, "B": worsened(trials, 1.5)}
    return audited(scores, people).comparison


@pytest.fixture(scope="module")
def worse_and_better(data):
    trials, people = data
    scores = {"B": worsened(trials, 1.5), "A": trials}
    return audited(scores, people).comparison


def whole(table, **where):
    (row,) = table.subset(grouping="all", metric="eer", measure="value", **where)
    return row


def is_told(value):
    return value is not None and value == value  # noqa: PLR0124 - not NaN


def test_a_system_does_not_differ_from_itself(data):
    trials, people = data
    table = audited({"A": trials, "B": trials}, people).comparison
    rows = list(table.subset())
    differences = [row["difference"] for row in rows if is_told(row["difference"])]
    assert differences
    assert set(differences) == {0.0}
    assert not any(is_told(row["p"]) or is_told(row["low"]) for row in rows)
    for row in rows:
        assert row["reason"] or row["measure"].startswith("p_")
        if row["measure"].startswith("p_") and is_told(row["value"]):
            assert (row["value"], row["other"]) == (0, 0)


def test_a_worse_system_is_told_from_a_better_one(better_and_worse):
    row = whole(better_and_worse)
    assert row["speakers"] == "same_trials"
    assert row["difference"] == row["value"] - row["other"] < 0
    assert row["low"] < row["difference"] < row["high"] < 0
    assert row["log_ratio"] == pytest.approx(np.log(row["value"] / row["other"]))
    assert row["log_low"] < row["log_ratio"] < row["log_high"] < 0
    assert row["p"] < 0.01
    (auc,) = better_and_worse.subset(grouping="all", metric="auc")
    assert auc["low"] > 0 > auc["log_high"]  # of what it lacks to 1


def test_values_are_those_of_the_other_tables(data):
    trials, people = data
    audit = audited({"A": trials, "B": worsened(trials, 1.5)}, people)
    for table, measure in ((audit.groups, "value"), (audit.bias, "ratio"), (audit.meta, "gini")):
        one = {"measure": measure} if measure != "value" else {}
        more = {"reference": "others"} if measure == "ratio" else {}
        more |= {"zero": "none"} if measure != "value" else {}
        rows = audit.comparison.subset(
            measure=measure, metric="fnr", operating_point="eer", grouping="nation", **more
        )
        assert rows
        for row in rows:
            group = {"group": row["group"]} if row["group"] else {"gated": False}
            for system, column in (("A", "value"), ("B", "other")):
                (observed,) = table.subset(
                    system=system,
                    metric="fnr",
                    operating_point="eer",
                    grouping="nation",
                    **one,
                    **more,
                    **group,
                )
                assert observed["value"] == pytest.approx(row[column], abs=1e-12)


def test_the_order_of_systems_changes_signs_only(better_and_worse, worse_and_better):
    signed = (("difference", "low", "high"), ("log_ratio", "log_low", "log_high"))
    names = (
        *("grouping", "group", "metric", "definition", "operating_point"),
        *("measure", "reference", "zero"),
    )
    back = {tuple(r[n] for n in (*names, "alpha")): r for r in worse_and_better.subset()}
    rows = list(better_and_worse.subset())
    assert len(rows) == len(back)
    for row in rows:
        other = back[tuple(row[n] for n in (*names, "alpha"))]
        assert (row["system"], row["other_system"]) == (other["other_system"], other["system"])
        assert (row["value"], row["other"]) == pytest.approx(
            (other["other"], other["value"]), nan_ok=True
        )
        for centre, low, high in signed:
            if is_told(row[low]):
                assert (row[centre], row[low], row[high]) == pytest.approx(
                    (-other[centre], -other[high], -other[low])
                )
        if is_told(row["p"]):
            assert row["p"] == pytest.approx(other["p"])


def test_the_same_trials_tell_more_than_other_people(data, better_and_worse):
    trials, people = data
    others, strangers = renamed(worsened(trials, 1.5), people, "r")
    both = {name: people[name] + strangers[name] for name in people}
    apart = whole(audited({"A": trials, "B@others": others}, both).comparison)
    paired = whole(better_and_worse)
    told = "the lists share no trial; whole lists are compared; no speaker in common"
    assert shared_in_words(apart) == told
    assert apart["difference"] == pytest.approx(paired["difference"])
    assert paired["high"] - paired["low"] < 0.9 * (apart["high"] - apart["low"])


def test_what_two_lists_share_is_said(data):
    trials, people = data
    n = len(trials["score"])
    order = np.random.default_rng(0).permutation(n)
    parts = {}
    for name, rows in (("x", order[: n // 2]), ("y", order[n // 2 :]), ("shuffled", order)):
        parts[f"A@{name}"] = {key: [cells[i] for i in rows] for key, cells in trials.items()}
    first = {one for one in people["id"] if int(one[2:]) < 36}
    kept = [i for i in range(n) if {trials[s][i].split("/")[0] for s in ("enrol", "test")} <= first]
    parts["A@fewer"] = {key: [cells[i] for i in kept] for key, cells in trials.items()}
    table = audited({"A@all": trials, **parts}, people).comparison
    reported = {
        (row["list"], row["other_list"]): shared_in_words(row)
        for row in table.subset(grouping="all", metric="eer")
    }
    wholes = "whole lists are compared"
    shared = f"the lists share no trial; {wholes}; the same 48 speakers"
    assert reported["x", "y"] == shared
    assert reported["all", "shuffled"] == "the same trials"
    few = len(kept)
    told = f"the lists share {few:,} trials (of {n:,} and {few:,}); {wholes}"
    assert reported["all", "fewer"] == f"{told}; 36 speakers in common (of 48 and 36)"
    assert len(reported) == 10  # every pair, once


def without_hardest(trials, n):
    """The trials but for the targets of lowest score."""
    order = np.lexsort((trials["score"], 1 - np.array(trials["label"])))
    return {key: [cells[i] for i in np.sort(order[n:])] for key, cells in trials.items()}


@pytest.mark.usefixtures("undrawn")
def test_systems_are_compared_on_the_trials_that_both_have(data, capsys):
    trials, people = data
    n = len(trials["score"])
    fewer = without_hardest(trials, 60)
    audit = audited({"A": trials, "B": fewer}, people)
    rows = list(audit.comparison.subset())
    common = (
        f"both systems have {n - 60:,} trials in common (of {n:,} and {n - 60:,}); only the "
        "common trials are compared"
    )
    assert {shared_in_words(row) for row in rows} == {common}
    print_summary(audit, details=True)
    assert f"A against B: {common}" in " ".join(capsys.readouterr().out.split())
    assert f"Data in common: {common}." in html_report(audit)
    assert {row["difference"] for row in rows if is_told(row["difference"])} == {0.0}
    assert not any(is_told(row["p"]) for row in rows)
    assert whole(audit.comparison)["value"] == pytest.approx(
        audit.groups.subset(system="B", grouping="all", metric="eer").rows()[0]["value"]
    )
    (a,) = audit.groups.subset(system="A", grouping="all", metric="eer")
    assert a["value"] > whole(audit.comparison)["value"]  # an audit of its own, of all its trials


@pytest.mark.parametrize("by", ["grade", "room"])
def test_systems_are_compared_by_what_stands_with_the_trials_that_both_have(data, by):
    trials, people = data
    whole_list = {**trials, "room": ["hall", "car"] * (len(trials["score"]) // 2)}
    fewer = without_hardest(whole_list, 60)
    audit = audited({"A": whole_list, "B": fewer}, people, by=by)
    rows = [row for row in audit.comparison if row["grouping"] == by]
    assert rows
    assert all(shared_in_words(row).endswith("only the common trials are compared") for row in rows)


def test_the_order_of_rows_and_the_number_of_systems_change_no_comparison(data):
    trials, people = data
    fewer = without_hardest(trials, 60)
    back = {key: cells[::-1] for key, cells in fewer.items()}
    table = audited({"A": trials, "B": fewer, "C": back}, people).comparison
    reported = {(row["system"], row["other_system"]): shared_in_words(row) for row in table}
    assert reported["B", "C"] == "the same trials"
    assert reported["A", "B"].startswith("all 3 systems have ")
    assert reported["A", "B"] == reported["A", "C"]
    assert {row["difference"] for row in table if is_told(row["difference"])} == {0.0}


def test_systems_without_a_common_trial_are_refused(data):
    trials, people = data
    n = len(trials["score"]) // 2
    one = {key: cells[:n] for key, cells in trials.items()}
    other = {key: cells[n:] for key, cells in trials.items()}
    with pytest.raises(ConfigError, match=r"A and B have no trials in common .* B@y=b.csv"):
        audited({"A": one, "B": other}, people)


@pytest.mark.slow
def test_a_seed_gives_the_same_numbers_again(data, better_and_worse):
    trials, people = data
    scores = {"A": trials, "B": worsened(trials, 1.5)}
    again = audited(scores, people).comparison
    assert again.to_dict() == better_and_worse.to_dict()
    other = whole(audited(scores, people, seed=1).comparison)
    mine = whole(better_and_worse)
    assert other["low"] != mine["low"]
    assert other["low"] == pytest.approx(mine["low"], rel=0.5)


def test_a_group_without_errors_has_no_interval(data):
    trials, people = data
    fine = np.array(trials["score"]) + np.where(np.array(trials["label"]) == 1, 50, 0)
    table = audited({"A": {**trials, "score": fine.tolist()}, "B": trials}, people).comparison
    row = whole(table)
    assert row["value"] == 0 < row["other"]
    assert not is_told(row["low"])
    assert not is_told(row["p"])
    assert "no_interval" in row["reason"]
    assert "same_in_all_replicates" in row["values"]


def test_few_speakers_have_no_interval(data):
    trials, people = data
    table = audited(
        {"A": trials, "B": worsened(trials, 1.5)},
        {**people, "kind": ["rare" if i < 4 else "usual" for i in range(48)]},
        by="kind",
    ).comparison
    rows = list(table.subset(group="rare", measure="value", metric="fnr"))
    assert rows
    for row in rows:
        assert row["reason"] == "no_interval_below_minimum"
        assert is_told(row["difference"])
        assert not is_told(row["low"])


def test_accuracy_is_set_against_spread(simulate):
    trials, people = simulate(speakers=48, utterances=4)
    names = dict(zip(people["id"], people["nation"], strict=True))
    shift = np.array([{"India": -1.5}.get(names[e.split("/")[0]], 0.4) for e in trials["enrol"]])
    unfair = np.array(trials["score"]) + shift * (np.array(trials["label"]) == 1)
    scores = {"fair": worsened(trials, 0.3), "unfair": {**trials, "score": unfair.tolist()}}
    table = audited(scores, people, by="nation", operating_points="threshold=1.5").comparison
    reported = {
        row["measure"]: row
        for row in table.subset(metric="fnr", grouping="nation", operating_point="threshold=1.5")
        if row["measure"] in COMPARISON_MEASURES and not row["group"]
    }
    assert set(reported) == set(COMPARISON_MEASURES) - {"value"}
    assert reported["spread"]["difference"] < 0
    assert reported["spread"]["values"] == '{"groups_that_pass_gates": {"groups": 3}}'
    assert reported["p_less_spread"]["value"] > 0.9
    for row in reported.values():
        if row["measure"] != "spread":
            assert 0 <= row["value"] <= row["value"] + row["other"] <= 1
    least = min(reported["p_more_accurate"]["value"], reported["p_less_spread"]["value"])
    assert reported["p_both"]["value"] <= least


def test_noise_alone_is_no_spread():
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(300):
        noise = rng.normal(0, 0.3, (1, 8))
        again = np.exp(noise + rng.normal(0, 0.3, (100, 1, 8)))
        spread, drawn = _noise_free_variance(
            np.exp(noise), again, np.ones((1, 8), dtype=bool), np.log
        )
        rows.append((spread[0], drawn.mean()))
    assert np.abs(np.mean(rows, axis=0)).max() < 0.02  # its variance is .09


def test_the_interval_of_an_unfairness_reaches_as_far_as_noise_does():
    # replicates show more of it than the trials, as they are noisy twice
    low, high = _stretched_by_noise(
        (np.array([0.1]), np.array([0.5])), np.array([0.3]), np.full((10, 1), 0.4)
    )
    assert low[0] == pytest.approx(0.1 - 0.1 / (np.sqrt(2) - 1))
    assert high[0] == 0.5


def test_meta_measures_have_intervals_without_p(better_and_worse):
    rows = list(better_and_worse.subset(measure="gini", metric="fnr", zero="none"))
    assert rows
    for row in rows:
        assert row["low"] < row["difference"] < row["high"]
        assert not is_told(row["p"])
        assert not is_told(row["log_ratio"])


def test_one_system_alone_is_not_compared(data):
    trials, people = data
    with pytest.raises(ConfigError, match="compare=True needs at least two systems or trial lists"):
        audited({"A": trials}, people)


def test_nothing_is_compared_without_intervals(data):
    trials, people = data
    with pytest.raises(ConfigError, match="compare=True needs intervals"):
        audited({"A": trials, "B": trials}, people, intervals=False)


def test_systems_without_common_operating_points_are_refused(data):
    trials, people = data
    decided = {name: cells for name, cells in trials.items() if name != "score"}
    decided["decision"] = ["accept" if score > 1 else "reject" for score in trials["score"]]
    with pytest.raises(ConfigError, match=r"A and B have no operating point in common \(fpr=0.01"):
        audited({"A": trials, "B": decided}, people, operating_points=None)


def test_counts_are_refused(data, tmp_path):
    trials, people = data
    path = tmp_path / "counts.parquet"
    pv.count(trials, speakers=people, by="nation").save(path)
    with pytest.raises(ConfigError, match="score counts contain no speakers"):
        pv.audit({"A": path, "B": path}, compare=True)


def test_nothing_is_compared_unless_asked(data):
    trials, people = data
    audit = pv.audit({"A": trials, "B": trials}, speakers=people, by="gender", replicates=50)
    assert not len(audit.comparison)
    assert "comparison" not in audit.tables()


@pytest.fixture(scope="module")
def crossed(simulate):
    """Two systems, and groups that are an intersection."""
    trials, people = simulate(speakers=96, utterances=4)
    people = {**people, "half": ["one" if i % 2 else "two" for i in range(len(people["id"]))]}
    scores = {"A": trials, "B": worsened(trials, 1.5)}
    return audited(scores, people, by="nation+half", **MORE)


def test_every_measure_of_the_other_tables_is_compared(crossed):
    told = {(r["measure"], r["reference"], r["zero"]) for r in crossed.comparison.subset()}
    of_bias = {
        (r["measure"], r["reference"], r["zero"])
        for r in crossed.bias.subset()
        if not r["measure"].endswith("neg_log_ratio") and r["value"] is not None
    }
    assert {"mean_difference", "threshold_bias_cv"} <= {measure for measure, *_ in of_bias}
    assert of_bias <= told
    of_meta = {r["measure"] for r in crossed.meta.subset() if r["value"] is not None}
    assert of_meta - {"var_double_corrected", "heterogeneity", "interaction"} <= {
        measure for measure, *_ in told
    }


def test_compared_biases_are_those_of_the_table_of_biases(crossed):
    names = (
        *("grouping", "group", "allocation", "metric", "definition"),
        *("operating_point", "measure", "reference", "zero"),
    )
    table = {(r["system"], *(r[n] for n in names)): r["value"] for r in crossed.bias.subset()}
    n = 0
    for row in crossed.comparison.subset():
        key = tuple(row[name] for name in names)
        if ("A", *key) in table and is_told(row["difference"]):
            assert row["value"] == pytest.approx(table["A", *key], rel=1e-9)
            assert row["other"] == pytest.approx(table["B", *key], rel=1e-9)
            n += 1
    assert n > 500


def test_spread_beyond_noise_is_compared_as_the_table_of_meta_measures_has_it(crossed):
    for measure in ("tau_log", "var_corrected"):
        for row in crossed.comparison.subset(measure=measure):
            for system, column in (("A", "value"), ("B", "other")):
                (observed,) = crossed.meta.subset(
                    system=system,
                    measure=measure,
                    gated=True,
                    metric=row["metric"],
                    operating_point=row["operating_point"],
                )
                assert row[column] == pytest.approx(observed["value"], abs=1e-12)
            assert (row["low"] is None) == (measure == "tau_log")
            assert ("tau_log_is_cut_off" in row["values"]) == (measure == "tau_log")


def test_groups_that_pass_the_gates_of_no_rate_are_compared_by_other_metrics(data):
    trials, people = data
    gates = ("speakers=5", "pairs=10", "errors=10000")
    audit = audited({"A": trials, "B": worsened(trials, 1.5)}, people, gates=gates, replicates=50)
    spreads = audit.comparison.subset(measure="spread", metric="eer").rows()
    assert spreads
    assert all(is_told(row["difference"]) for row in spreads)
    of_rates = audit.comparison.subset(measure="spread", metric="fnr").rows()
    assert {row["reason"] for row in of_rates} == {"fewer_than_three_groups_judged_in_both"}
    assert not audit.comparison.subset(measure="tau_log").rows()


def test_two_logs_of_decisions_without_impostors_are_compared():
    def log(share, seed):
        draw = np.random.default_rng(seed)
        people = [f"c{i:02d}" for i in range(60) for _ in range(10)]
        rejected = draw.random(600) < share
        return {
            "enrol": people,
            "test": [f"{one}/{k}" for k, one in enumerate(people)],
            "label": [1] * 600,
            "decision": ["reject" if one else "accept" for one in rejected],
        }

    customers = {"id": [f"c{i:02d}" for i in range(60)], "gender": ["f", "m"] * 30}
    audit = pv.audit(
        {"old": log(0.15, 1), "new": log(0.05, 2)}, speakers=customers, by="gender", compare=True
    )
    rows = audit.comparison.subset(metric="fnr", measure="value").rows()
    assert {row["group"] for row in rows} == {"all", "f", "m", "pooled"}
    for row in rows:
        assert row["low"] < row["difference"] < row["high"]
        assert row["reason"] == ""
