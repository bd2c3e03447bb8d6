"""A gate: what is shown broken, what is kept, what can't be told, and what that ends with."""

import json
import math
from dataclasses import replace
from datetime import date
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import parivox as pv
from parivox.core.cluster_errors import ErrorsBySpeaker, moments
from parivox.core.intervals import rate_interval
from parivox.core.ratios import moments_of_others, ratio_interval
from parivox.core.verdict import exceeds, holm
from parivox.data.table import Table
from parivox.report.gate import junit, markdown, outcome_sentence, print_gate
from parivox.report.plan import print_plan

SIZE, TRIALS = 24, 60
ERRORS = {
    "a": lambda i: i % 4,
    "b": lambda i: i % 4,
    "c": lambda i: 8 + i % 5,
    "d": lambda i: i % 4,
}


def condition(name="one", rate="fnr", **more):
    return {"name": name, "rate": rate, **more}


def policy(*conditions, accept=()):
    document = {"parivox-policy": 1, "conditions": list(conditions)}
    return document | ({"accept": list(accept)} if accept else {})


@pytest.fixture(scope="module")
def speakers_with_errors(people):
    sizes = {**dict.fromkeys("abc", SIZE), "d": 4}
    return people(sizes, fnr=lambda group, i: (ERRORS[group](i), TRIALS))


@pytest.fixture(scope="module")
def audit(speakers_with_errors):
    return speakers_with_errors.audit()


def outcomes(gate, name="one"):
    return {row["group"]: row["outcome"] for row in gate.groups.subset(condition=name)}


def reasons(gate, name="one"):
    return {row["group"]: row["reason"] for row in gate.groups.subset(condition=name)}


RELEASES = {}
"""Audits of releases by how they were asked for: many tests look at the same ones."""


def released(**options):
    """Audit a release once, however many tests look at it."""
    key = repr(sorted(options.items()))
    if key not in RELEASES:
        RELEASES[key] = audit_release(**options)
    return RELEASES[key]


def audit_release(
    n_speakers=60, *, moved=0, swapped=False, worse="", without=(), points=("fpr=0.05",), **more
):
    """Audit a release: `moved` people of group a are in b, scores of `worse` are lower."""
    draw = np.random.default_rng(1)
    speakers = [f"s{i:03d}" for i in range(n_speakers)]
    groups = ["abc"[i % 3] for i in range(n_speakers)]
    kept_speakers = [i for i in range(n_speakers) if groups[i] not in without]
    trials = {"enrol": [], "test": [], "score": [], "label": []}
    for i in kept_speakers:
        for n in range(20):
            is_target = n % 2
            partner = (
                i
                if is_target
                else kept_speakers[(kept_speakers.index(i) + 3 * (1 + n)) % len(kept_speakers)]
            )
            score = draw.normal(2 * is_target, 1)
            if is_target and groups[i] == worse:
                score -= 2
            row = (f"{speakers[i]}/{n}", f"{speakers[partner]}/{n + 20}", score, is_target)
            for cells, cell in zip(trials.values(), row, strict=True):
                cells.append(cell)
    of_a = [i for i in range(n_speakers) if groups[i] == "a"]
    for i in of_a[:moved]:
        groups[i] = "b"
    if swapped:  # the first of a and the first of b, who have as many trials
        groups[0], groups[1] = groups[1], groups[0]
    halves = ["lower" if i < n_speakers // 2 else "upper" for i in range(n_speakers)]
    people = {"speaker": speakers, "region": groups, "half": halves}
    options = {"speakers": people, "by": "region", "operating_points": [*points]} | more
    return pv.audit(trials, **options, replicates=100)


@pytest.mark.slow
@pytest.mark.parametrize("worse", ["", "c"])
@pytest.mark.parametrize("rate", ["fnr", "fpr"])
def test_a_group_that_the_baseline_lacks_is_not_judged_and_does_not_pass(rate, worse):
    rules = policy(condition(rate=rate, **{"at-most": "50x", "than": "baseline"}))
    gate = pv.gate(released(worse=worse), rules, baseline=released(without=("c",)))
    assert outcomes(gate)["c"] == "inconclusive"
    assert (gate.outcome, gate.exit_code) == ("inconclusive", 3)
    for words in (markdown(gate), junit(gate)):
        assert "not in the baseline" in words
    assert "not judged, not in the baseline: c" in markdown(gate)


def test_a_group_that_is_gone_is_not_judged_and_does_not_pass():
    rules = policy(condition(**{"at-most": "50x", "than": "baseline"}))
    gate = pv.gate(released(without=("c",)), rules, baseline=released())
    assert (outcomes(gate)["c"], reasons(gate)["c"]) == ("inconclusive", "not_in_audit")
    assert gate.exit_code == 3


@pytest.mark.slow
def test_a_grouping_or_point_that_the_baseline_lacks_does_not_pass():
    now = released(points=("fpr=0.05", "fpr=0.2"))
    rules = policy(
        condition("first", **{"at-most": "50x", "than": "baseline", "at": "fpr=0.05"}),
        condition("second", **{"at-most": "50x", "than": "baseline", "at": "fpr=0.2"}),
    )
    gate = pv.gate(now, rules, baseline=released())
    assert {row["outcome"] for row in gate.groups.subset(condition="second")} == {"inconclusive"}
    assert set(reasons(gate, "second").values()) == {"not_in_baseline"}
    assert gate.exit_code == 3


@pytest.mark.slow
def test_a_broken_condition_outranks_a_group_that_is_not_judged():
    rules = policy(
        condition("new", **{"at-most": "50x", "than": "baseline"}),
        condition("broken", **{"at-most": "1%"}),
    )
    gate = pv.gate(released(worse="b"), rules, baseline=released(without=("c",)))
    assert (gate.outcome, gate.exit_code) == ("fail", 1)


@pytest.mark.slow
@pytest.mark.parametrize("moved", [1, 4, 20])
def test_people_who_changed_group_are_counted_and_not_paired(moved):
    before, now = released(), released(moved=moved)
    comparison = pv.compare(before, now)
    (change,) = comparison.record["changed_groups"]
    assert (change["grouping"], change["at_least"]) == ("region", moved)
    pairing = {row["group"]: row["pairing"] for row in comparison.changes.subset(metric="fnr")}
    assert pairing["c"] == "paired"
    assert pairing["b"] == "unpaired"
    assert pairing.get("a") == ("gone" if moved == 20 else "unpaired")
    rules = policy(condition(**{"at-most": "50x", "than": "baseline"}))
    gate = pv.gate(now, rules, baseline=before)
    words = markdown(gate)
    assert f"at least {moved} speaker" in words
    assert "s000" not in words


def test_releases_of_the_same_people_are_paired_without_a_remark():
    comparison = pv.compare(released(), released(worse="b"))
    assert comparison.record["changed_groups"] == []
    assert {row["pairing"] for row in comparison.changes.rows()} == {"paired"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{"allocate": ["enrol", "both"]}, {"allocate": ["both", "test"]}, {"by": ["half"]}]
)
def test_other_allocations_and_groupings_move_nobody(options):
    now = {"allocate": ["both"], "by": []} | options
    now["by"] = ["region", *now["by"]]
    before, after = released(), released(**now)
    assert pv.compare(before, after).record["changed_groups"] == []
    assert pv.compare(after, before).record["changed_groups"] == []


def test_rates_are_held_against_a_limit_by_their_intervals(audit):
    gate = pv.gate(audit, policy(condition(**{"at-most": "5%"})))
    assert outcomes(gate) == {"a": "pass", "b": "pass", "c": "fail", "d": "inconclusive"}
    assert (gate.outcome, gate.exit_code) == ("fail", 1)
    for row in gate.groups.rows():
        (rate_row,) = audit.groups.subset(grouping="group", group=row["group"], metric="fnr")
        assert [row[end] for end in ("value", "low", "high")] == [
            rate_row[end] for end in ("value", "low", "high")
        ]


ASKED = [{"at-most": "99%"}, {"at-most": "50x"}, {"not": "worse"}]


@pytest.mark.parametrize("asked", ASKED)
def test_a_group_whose_trials_are_left_out_does_not_pass(asked):
    audit = released(without=("c",))
    rules = policy(condition(**asked))
    gate = pv.gate(audit, rules)
    assert (outcomes(gate)["c"], reasons(gate)["c"]) == ("inconclusive", "no_trials")
    assert gate.exit_code == 3
    assert "c (no trials)" in markdown(gate)
    assert "no trials" in junit(gate)
    accepted = {"condition": "one", "groups": ["c"], "reason": "few", "until": "2999-01-01"}
    gate = pv.gate(audit, rules | {"accept": [accepted]})
    assert gate.groups.subset(group="c").rows()[0]["accepted"]


def test_a_policy_that_names_groups_is_of_these():
    names = ["a", "b"]
    audit = released(without=("c",))
    assert pv.gate(audit, policy(condition(**{"at-most": "99%", "groups": names}))).exit_code == 0
    named = policy(condition(**{"at-most": "99%", "groups": ["c"]}))
    assert outcomes(pv.gate(audit, named)) == {"c": "inconclusive"}


@pytest.fixture(scope="module")
def audit_of_few(speakers_with_errors):
    """Audit speakers whose table has 12 further groups, without trials."""
    ids = [f"z{i:02d}" for i in range(12)]
    table = {name: [*cells, *ids] for name, cells in speakers_with_errors.table.items()}
    options = {"by": "group", "operating_points": "threshold=0.5", "replicates": 100}
    return pv.audit(speakers_with_errors.trials, speakers=table, **options)


def without_trials(gate):
    return [group for group, reason in reasons(gate).items() if reason == "no_trials"]


def test_all_of_many_groups_without_trials_count_and_can_be_accepted(audit_of_few):
    one = condition(**{"at-most": "99%"})
    gate = pv.gate(audit_of_few, policy(one))
    assert without_trials(gate) == [f"z{i:02d}" for i in range(12)]
    assert "z03 (no trials), and 8 more" in markdown(gate)
    assert "name the groups of the condition in the policy (groups:)" in markdown(gate)
    accepted = {"condition": "one", "groups": ["z11"], "reason": "few", "until": "2999-01-01"}
    gate = pv.gate(audit_of_few, policy(one, accept=[accepted]))
    assert [row["group"] for row in gate.groups.rows() if row["accepted"]] == ["z11"]
    named = pv.gate(audit_of_few, policy(one | {"groups": ["z11"]}))
    assert outcomes(named) == {"z11": "inconclusive"}
    with pytest.raises(pv.ParivoxError, match="no group 'further groups'"):
        pv.gate(audit_of_few, policy(one | {"groups": ["further groups"]}))


@pytest.mark.parametrize(
    ("named", "note", "value"),
    [
        (10, {"more": 2}, 12.0),
        (11, {"more": 1}, 12.0),
        (0, {}, 12.0),
        (0, {}, None),
    ],
)
def test_groups_that_an_earlier_audit_does_not_name_are_accepted_only_as_all(
    audit_of_few, named, note, value
):
    names = [f"z{i:02d}" for i in range(named)]
    cells = audit_of_few.data.to_dict()
    (i,) = [i for i, item in enumerate(cells["item"]) if item == "speakers_without_trials"]
    cells["values"][i] = json.dumps({"groups": {"groups": names, **note}})
    cells["value"][i] = value
    columns = dict.fromkeys(cells, "str") | {"count": "int", "value": "float"}
    earlier = replace(audit_of_few, data=Table.of(cells, columns))
    further = {10: "2 further groups", 11: "1 further group", 0: "12 further groups"}[named]
    further = further if value else "further groups"
    one = condition(**{"at-most": "99%"})
    gate = pv.gate(earlier, policy(one))
    assert without_trials(gate) == [further, *names]
    accepted = {"condition": "one", "reason": "few", "until": "2999-01-01"}
    gate = pv.gate(earlier, policy(one, accept=[accepted]))
    assert "inconclusive" not in {
        row["outcome"] for row in gate.groups.rows() if not row["accepted"]
    }
    with pytest.raises(pv.ParivoxError, match=f"no group '{further}'"):
        pv.gate(earlier, policy(one, accept=[accepted | {"groups": [further]}]))
    assert without_trials(pv.gate(earlier, policy(one | {"groups": ["a", "b"]}))) == []


def test_a_group_that_neither_release_has_trials_of_is_not_compared(audit_of_few):
    one = condition(**{"at-most": "50x", "than": "baseline"})
    gate = pv.gate(audit_of_few, policy(one), baseline=audit_of_few)
    assert {*outcomes(gate)} == {*"abcd"}
    named = policy(one | {"groups": ["z00"]})
    assert outcomes(pv.gate(audit_of_few, named, baseline=audit_of_few)) == {"z00": "inconclusive"}
    gone = pv.gate(released(without=("c",)), policy(one), baseline=released())
    assert outcomes(gone)["c"] == "inconclusive"


@pytest.mark.slow
def test_a_baseline_by_other_groups_covers_no_group_without_trials(
    audit_of_few, speakers_with_errors
):
    one = condition(**{"at-most": "50x", "than": "baseline"})
    ids = {**speakers_with_errors.table}
    ids["half"] = [f"h{i % 2}" for i in range(len(ids["group"]))]
    baseline = pv.audit(
        speakers_with_errors.trials,
        speakers=ids,
        by="half",
        operating_points="threshold=0.5",
        replicates=100,
    )
    gate = pv.gate(audit_of_few, policy(one), baseline=baseline)
    assert {"z00", "z11"} <= {*without_trials(gate)}


def test_ratios_are_those_to_everyone_else(audit):
    gate = pv.gate(audit, policy(condition(**{"at-most": "1.5x"})))
    assert outcomes(gate) == {"a": "pass", "b": "pass", "c": "fail", "d": "inconclusive"}
    (row,) = [row for row in gate.groups.rows() if row["group"] == "d"]
    assert row["reason"] == "below_minimum"


def test_verdicts_are_those_of_the_audit(audit):
    gate = pv.gate(audit, policy(condition(**{"not": "worse"})))
    for row in gate.groups.rows():
        (verdict_row,) = audit.verdicts.subset(group=row["group"], metric="fnr")
        outcome_by_verdict = {"worse": "fail", "better": "pass", "equivalent": "pass"}
        assert row["outcome"] == outcome_by_verdict.get(verdict_row["verdict"], "inconclusive")
        assert row["p_holm"] == verdict_row["p_holm"]


@pytest.mark.slow
def test_whole_audits_say_what_the_study_says_of_counts(people):
    for seed in range(3):
        draw = np.random.default_rng(seed)
        errors = {
            group: draw.binomial(TRIALS, 0.08 if group == "c" else 0.04, SIZE) for group in "abc"
        }
        speakers = people(
            dict.fromkeys(errors, SIZE),
            fnr=lambda group, i, errors=errors: (int(errors[group][i]), TRIALS),
        )
        rules = policy(condition(**{"at-most": "1.25x"}), condition("two", **{"at-most": "4%"}))
        gate = pv.gate(speakers.audit(), rules)
        cluster_errors = ErrorsBySpeaker(
            np.repeat(np.arange(3), SIZE),
            np.arange(3 * SIZE),
            np.concatenate([*errors.values()]),
            np.full(3 * SIZE, TRIALS),
            3,
        )
        rates = rate_interval(moments(cluster_errors))
        ratios = ratio_interval(rates, rate_interval(moments_of_others(cluster_errors)))
        for name, estimates, most in (("one", ratios, 1.25), ("two", rates, 0.04)):
            estimate = estimates.value if name == "one" else estimates.rate
            fails = holm(exceeds(estimate, estimates.low, most, rates.df)) < 0.05
            codes = np.where(
                fails, "fail", np.where(estimates.high <= most, "pass", "inconclusive")
            )
            assert [*outcomes(gate, name).values()] == codes.tolist()


def test_all_that_a_condition_looks_at_is_allowed_for(audit):
    limit = {"at-most": "12%", "groups": ["c"]}
    (alone,) = pv.gate(audit, policy(condition(**limit))).groups.rows()
    group_rows = pv.gate(audit, policy(condition(**limit | {"groups": ["a", "b", "c"]}))).groups
    (among,) = group_rows.subset(group="c").rows()
    assert alone["low"] > alone["most"]
    assert among["p_holm"] == pytest.approx(min(3 * alone["p_holm"], 1))
    assert alone["p_holm"] == pytest.approx(
        exceeds(alone["value"], alone["low"], 0.12, _df(audit, "c"))
    )
    assert alone["outcome"] == "fail"


def _df(audit, group):
    (row,) = audit.groups.subset(grouping="group", group=group, metric="fnr")
    return row["df"]


@pytest.mark.parametrize("df", [3.0, 20.0, math.inf])
def test_p_is_that_of_the_interval_where_its_end_is_the_limit(df):
    assert exceeds(0.1, 0.05, 0.05, df) == pytest.approx(0.05)
    assert exceeds(0.1, 0.05, 0.04, df) < 0.05 < exceeds(0.1, 0.05, 0.06, df)
    assert exceeds(0.1, 0.05, 0.2, df) == 1
    assert math.isnan(exceeds(0.1, math.nan, 0.05, df))


def test_what_cannot_be_told_passes_only_where_it_is_accepted(audit):
    limit = condition(**{"at-most": "5%", "groups": ["a", "d"]})
    gate = pv.gate(audit, policy(limit))
    assert (gate.outcome, gate.exit_code) == ("inconclusive", 3)
    accepted = {"condition": "one", "groups": ["d"], "reason": "few", "until": "2027-06-30"}
    rules = policy(limit, accept=[accepted])
    gate = pv.gate(audit, rules, today=date(2027, 6, 30))
    assert (gate.outcome, gate.exit_code) == ("pass", 0)
    (row,) = gate.groups.subset(group="d").rows()
    assert (row["outcome"], row["accepted"]) == ("inconclusive", "few (until 2027-06-30)")
    ended = pv.gate(audit, rules, today=date(2027, 7, 1))
    assert ended.exit_code == 3
    assert ended.record["ended"] == ["one: few (until 2027-06-30)"]


def test_what_is_broken_is_not_accepted(audit):
    accepted = {"condition": "one", "reason": "we like it", "until": "2027-06-30"}
    rules = policy(condition(**{"at-most": "5%", "groups": ["c"]}), accept=[accepted])
    assert pv.gate(audit, rules, today=date(2027, 1, 1)).exit_code == 1


@pytest.mark.slow
def test_a_condition_without_a_point_is_of_the_primary_one():
    rules = policy(condition(**{"at-most": "99%"}))
    audit = released(points=("fpr=0.00001", "fnr=0.3"))
    assert audit.record["primary"] == {"scores": "region@fnr=0.3"}
    gate = pv.gate(audit, rules)
    assert {row["operating_point"] for row in gate.groups.rows()} == {"fnr=0.3"}
    assert gate.exit_code == 0
    plan = pv.plan(audit, policy=rules)
    assert {row["operating_point"] for row in plan.conditions.rows()} == {"fnr=0.3"}
    # one that was chosen stays the question, with or without a threshold
    chosen = released(points=("fpr=0.00001", "fnr=0.3"), primary="region@fpr=0.00001")
    assert pv.gate(chosen, rules).exit_code == 3


@pytest.mark.slow
def test_a_group_is_no_reference_of_itself(speakers_with_errors):
    audit = speakers_with_errors.audit(reference=["a"])
    gate = pv.gate(audit, policy(condition(**{"at-most": "1.5x", "groups": ["a", "b"]})))
    assert outcomes(gate)["a"] == "not_applicable"
    alone = pv.gate(audit, policy(condition(**{"at-most": "1.5x", "groups": ["a"]})))
    assert (alone.outcome, alone.exit_code) == ("inconclusive", 3)  # nothing was judged


def test_rates_of_failures_that_nobody_told_cannot_be_told(audit):
    gate = pv.gate(audit, policy(condition(rate="fta", **{"at-most": "5%"})))
    assert {*outcomes(gate).values()} == {"inconclusive"}
    assert gate.groups.rows()[0]["reason"] == "failures_not_given"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"by": "groups"}, "no grouping 'groups' in this audit; did you mean 'group"),
        ({"groups": ["A"]}, "no group 'A' in this audit; did you mean 'a"),
        (
            {"by": "group", "groups": ["A"]},
            "no group by group 'A' in this audit; did you mean 'a",
        ),
        ({"at": "fpr=0.01"}, "no operating point 'fpr=0.01' in this audit"),
        ({"system": "V2"}, "no system 'V2' in this audit"),
        ({"at-most": "1.25x", "than": "baseline"}, "give this audit with baseline=OLD"),
    ],
)
def test_what_the_audit_does_not_have_is_refused(audit, more, message):
    with pytest.raises(pv.ConfigError, match="policy") as error:
        pv.gate(audit, policy(condition(**{"at-most": "5%", **more})))
    assert message in str(error.value)


def test_nothing_is_accepted_of_a_group_that_there_is_not(audit):
    accepted = {"condition": "one", "groups": ["e"], "reason": "few", "until": "2999-01-01"}
    with pytest.raises(pv.ConfigError, match="no group 'e' in this audit; available: a, b, c, d"):
        pv.gate(audit, policy(condition(**{"at-most": "5%"}), accept=[accepted]))


def test_an_audit_without_intervals_is_refused(speakers_with_errors):
    with pytest.raises(pv.DataError, match="audit the scores again with intervals"):
        pv.gate(speakers_with_errors.audit(intervals=False), policy(condition(**{"at-most": "5%"})))


@pytest.mark.slow
@pytest.mark.parametrize("interval", ["wilson", "clopper-pearson", "jeffreys"])
def test_intervals_of_independent_trials_are_refused(speakers_with_errors, interval):
    audit = speakers_with_errors.audit(interval=interval)
    with pytest.raises(pv.DataError, match=rf"\({interval}\) treat trials as independent"):
        pv.gate(audit, policy(condition(**{"at-most": "90%"})))


@pytest.mark.slow
def test_a_lower_confidence_passes_only_if_the_policy_allows_it(speakers_with_errors, audit):
    weak = speakers_with_errors.audit(confidence=0.5)
    rules = policy(condition(**{"at-most": "90%", "groups": ["a", "b"]}))
    with pytest.raises(pv.DataError, match=r"confidence of 0\.5, but policy needs .* 0\.95"):
        pv.gate(weak, rules)
    assert pv.gate(weak, {**rules, "confidence": "50%"}).exit_code == 0
    with pytest.raises(pv.DataError, match=r"at least 0\.99"):
        pv.gate(audit, {**rules, "confidence": "99%"})
    with pytest.raises(pv.ConfigError, match=r"needs a confidence of 0\.99; add"):
        pv.plan(audit, policy={**rules, "confidence": "99%"})


@pytest.mark.slow
def test_every_summary_names_the_options_that_decide_how_easily_a_condition_is_met(
    speakers_with_errors, capsys
):
    options = {"confidence": 0.99, "interval": "bootstrap", "margin": 1.5, "fixed_threshold": True}
    gates = ["speakers=3"]
    audit = speakers_with_errors.audit(**options, gates=gates)
    gate = pv.gate(audit, policy(condition(**{"at-most": "5%"})))
    print_gate(gate)
    named = "--confidence 0.99 --interval bootstrap --margin 1.5 --fixed-threshold --gate speakers"
    for words in (capsys.readouterr().out, markdown(gate), junit(gate)):
        assert named in " ".join(words.split())
    assert json.loads(gate.to_json())["audit_options"] == {**options, "gate": gates}


@pytest.mark.slow
def test_a_release_before_is_held_against_the_next(speakers_with_errors, audit, people):
    sizes = dict.fromkeys("abc", SIZE)
    before = people(sizes, fnr=lambda _, i: (i % 4, TRIALS)).audit()
    limit = condition(**{"at-most": "1.25x", "than": "baseline"})
    gate = pv.gate(audit, policy(limit), baseline=before)
    assert outcomes(gate)["c"] == "fail"
    assert outcomes(gate)["d"] == "inconclusive"
    assert reasons(gate)["d"] == "not_in_baseline"
    assert gate.record["pairing"] == "unpaired"
    changes = {
        row["group"]: row
        for row in pv.compare(before, audit).changes.subset(metric="fnr", grouping="group")
    }
    for row in gate.groups.subset(outcome="fail").rows():
        assert math.log(row["low"]) == pytest.approx(changes[row["group"]]["log_low"])


def test_a_baseline_that_no_condition_asks_for_is_not_passed_over_in_silence(audit):
    sentence = "The baseline is not used"
    for limit, is_said in ({"not": "worse"}, True), ({"at-most": "2x", "than": "baseline"}, False):
        gate = pv.gate(audit, policy(condition(**limit)), baseline=audit)
        assert (sentence in markdown(gate)) == is_said
    assert sentence not in markdown(pv.gate(audit, policy(condition(**{"not": "worse"}))))


@pytest.mark.slow
def test_a_plan_says_how_many_speakers_each_condition_needs(audit, capsys):
    near, far, most = (
        condition(name, **{"at-most": name, "groups": groups})
        for name, groups in (("1.5x", ["a", "b"]), ("2x", ["a", "c"]), ("90%", ["a", "b"]))
    )
    plan = pv.plan(audit, policy=policy(near, far, most))
    rows = {row["condition"]: row for row in plan.conditions.rows()}
    assert rows["1.5x"]["speakers_to_pass"] > rows["2x"]["speakers_to_pass"] > 1
    assert rows["1.5x"]["speakers_to_fail"] > 1
    assert rows["90%"]["speakers_to_fail"] is None  # twice that is no rate
    print_plan(plan)
    assert "–: no number of speakers is enough." in capsys.readouterr().out


@pytest.mark.slow
def test_no_number_of_speakers_passes_a_limit_below_the_rate_of_the_pilot(audit):
    (pooled,) = audit.groups.subset(
        group="pooled", metric="fnr", operating_point=audit.groups.rows()[0]["operating_point"]
    ).rows()[:1]
    limits = {"below": pooled["value"] / 4, "above": min(2 * pooled["value"], 0.99)}
    rows = {}
    for name, limit in limits.items():
        asked = policy(condition(name, **{"at-most": str(round(limit, 6))}))
        (rows[name], *_) = pv.plan(audit, policy=asked).conditions.rows()
    assert rows["below"]["speakers_to_pass"] is None
    assert rows["below"]["reason"] == "no_number_suffices"
    assert rows["above"]["speakers_to_pass"] > 1


def test_summaries_are_well_formed_and_say_the_same(audit):
    name = "a|b <script> & ]]> \x1b"
    accepted = {
        "condition": name.strip(),
        "groups": ["d"],
        "reason": "<few>",
        "until": "2999-01-01",
    }
    rules = policy(
        condition(name, **{"at-most": "5%"}),
        condition("pass", **{"at-most": "50%", "groups": ["a"]}),
        accept=[accepted],
    )
    gate = pv.gate(audit, rules)
    assert outcome_sentence(gate) == "Gate: fail. Of 2 conditions: 1 fail, 1 pass."
    suites = ET.fromstring(junit(gate))
    assert [int(suite.get("failures")) for suite in suites] == [1, 0]
    assert [int(suite.get("errors")) for suite in suites] == [0, 0]
    assert [int(suite.get("skipped")) for suite in suites] == [1, 0]
    assert len(suites[0].findall("testcase/failure")) == 1
    text = markdown(gate)
    assert "<script>" not in text
    assert "\x1b" not in text
    assert text.splitlines()[1] == f"## {outcome_sentence(gate)}"
    document = json.loads(gate.to_json())
    assert document["outcome"] == "fail"
    assert len(document["groups"]) == 5


@pytest.mark.slow
def test_a_swap_of_people_between_groups_is_noticed_although_all_numbers_are_the_same():
    before, now = (released(swapped=swapped, allocate=["enrol"]) for swapped in (False, True))
    sizes = [
        [(row["group"], row["target_trials"], row["nontarget_trials"]) for row in audit.groups]
        for audit in (before, now)
    ]
    assert sizes[0] == sizes[1]
    comparison = pv.compare(before, now)
    (change,) = comparison.record["changed_groups"]
    assert (change["grouping"], sorted(change["groups"])) == ("region", ["a", "b"])
    pairing = {row["group"]: row["pairing"] for row in comparison.changes.subset(metric="fnr")}
    assert {group: pairing[group] for group in "abc"} == {
        "a": "unpaired",
        "b": "unpaired",
        "c": "paired",
    }
    hashes = {row["group"]: row["members"] for row in before.pairing.rows()}
    assert len(set(hashes.values()) - {""}) == 3


@pytest.mark.parametrize("asked", [{"at-most": "99%"}, {"at-most": "50x"}, {"not": "worse"}])
def test_a_group_that_the_policy_names_and_that_is_gone_is_not_judged(asked):
    named = policy(condition(groups=["b", "c"], **asked))
    gate = pv.gate(released(without=("c",)), named, baseline=released())
    assert (outcomes(gate)["c"], reasons(gate)["c"]) == ("inconclusive", "not_in_audit")
    assert gate.exit_code == 3
    with pytest.raises(pv.ConfigError, match="no group 'cc'"):
        pv.gate(released(), policy(condition(groups=["cc"], **asked)), baseline=released())
