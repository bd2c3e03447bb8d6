"""The checks: what a clean list passes, what each fault fails, and what real lists fail."""

import itertools
import json

import pytest

import parivox as pv
from parivox.data.lists.guidelines import CHECKS
from parivox.trials import check

SMALL = {"G2": 1, "G7": 2}


def verdicts(checked):
    return {finding.id: finding.verdict for finding in checked.findings if finding.id in CHECKS}


def failing(checked):
    return {finding.id for finding in checked.failed}


def with_rows(trials, *rows):
    columns = zip(*rows, strict=True)
    return {n: [*old, *new] for (n, old), new in zip(trials.items(), columns, strict=True)}


def test_a_list_without_faults_passes_all_that_can_be_checked(even, people):
    checked = check(even, speakers=people, by="gender", thresholds=SMALL)
    verdict_by_check = verdicts(checked)
    passed = {check_id for check_id, verdict in verdict_by_check.items() if verdict == "pass"}
    # no mix, no variants, no durations, and too few speakers to compare their trials
    unchecked = {"G5", "G6", "G11", "G12", "G13", "G15"}
    assert passed == set(CHECKS) - unchecked
    assert {verdict_by_check[check_id] for check_id in unchecked} == {"not checked"}
    assert checked.passed


FAULTS = {
    "a target trial more": ({"G1", "G3"}, [("a/xa/2", "a/ya/2", 1)]),
    "a nontarget trial more": ({"G1", "G3"}, [("a/ya/1", "b/xb/2", 0)]),
    "a trivial trial": ({"G1", "G3", "G4", "G9"}, [("a/xa/1", "a/xa/2", 1)]),
    "another gender": ({"G1", "G3", "G4", "G8"}, [("a/xa/1", "c/xc/1", 0)]),
    "a trial turned round": ({"G1", "G3", "G10"}, [("a/ya/1", "a/xa/1", 1)]),
    "a trial twice": ({"G10"}, [("a/xa/1", "a/ya/1", 1)]),
    "an utterance with itself": ({"G1", "G3", "G4", "G9", "G10"}, [("a/xa/1", "a/xa/1", 1)]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_fails_its_checks_and_no_others(even, people, fault):
    fails, rows = FAULTS[fault]
    checked = check(with_rows(even, *rows), speakers=people, by="gender", thresholds=SMALL)
    assert failing(checked) == fails
    for finding in checked.failed:
        assert finding.offenders > 0
        assert finding.sentence
        assert finding.mend


def test_the_smallest_groups_are_those_of_all_groupings(even, people):
    people = {**people, "nationality": ["UK", "IE", "IE", "IE"]}
    checked = check(even, speakers=people, by=["nationality", "gender"])
    assert checked["G7"].sentence.endswith("smallest groups: UK 1, f 2, m 2")


def test_thresholds_can_be_set(even, people):
    checked = check(even, speakers=people, by="gender")
    assert failing(checked) == {"G2", "G7"}
    assert (checked["G2"].statistic, checked["G2"].offenders) == (1, 4)
    assert (checked["G7"].statistic, checked["G7"].threshold) == (2, 10)
    loose = dict.fromkeys(CHECKS, 1e6) | {"G2": 0, "G6": 0, "G7": 0}
    rows = [row for _, more in FAULTS.values() for row in more]
    odd = with_rows(even, *rows)
    assert check(odd, speakers=people, by="gender", thresholds=loose).passed


@pytest.mark.parametrize(
    "thresholds", [{"G16": 1}, {"G2": "many"}, {"G2": -1}, {"G2": float("nan")}]
)
def test_thresholds_that_make_no_sense_are_refused(even, thresholds):
    with pytest.raises(pv.ConfigError, match="thresholds"):
        check(even, thresholds=thresholds)


def test_a_wished_mix_is_held_against_the_list(even, people):
    for mix, verdict in (("cat4=1", "pass"), ("cat4=0.9,cat3=0.1", "fail")):
        finding = check(even, speakers=people, mix=mix)["G5"]
        assert finding.verdict == verdict
    assert finding.statistic == pytest.approx(0.1)
    assert finding.offenders == 2


def test_a_mix_is_of_the_grades_that_there_are(even, people):
    del people["nationality"]
    assert check(even, speakers=people, mix="cat2=1")["G5"].verdict == "pass"
    assert "cat2=0.5,cat1=0.5" in check(even, speakers=people)["G5"].mend
    with pytest.raises(pv.ConfigError, match="from 1 to 2"):
        check(even, speakers=people, mix="cat4=1")
    with pytest.raises(pv.ConfigError, match="no attribute is known"):
        check(even, mix="cat4=1")


@pytest.mark.parametrize("column", ["grade", "same_recording", "same_Gender"])
def test_groups_made_of_what_is_checked_are_not_compared_in_it(even, people, column):
    del people["nationality"]
    odd = with_rows(even, ("a/xa/1", "a/xa/2", 1), ("a/xa/1", "c/xc/1", 0))
    cells = [f"{i % 2}" for i in range(8)] + ["1", "2"]
    checked = check({**odd, column: cells}, speakers=people, by=[column, "gender"])
    compared = {"grade": "", "same_recording": "G8", "same_Gender": "G9"}[column]
    for check_id in ("G8", "G9"):
        by_column = any(f"({value})" in checked[check_id].sentence for value in "012")
        assert by_column == (check_id == compared)


def test_pairs_alike_in_what_is_checked_are_no_groups_to_compare(even, people):
    table = {"utterance": sorted({*even["enrol"], *even["test"]})}
    table["recording"] = [identifier.rpartition("/")[0] for identifier in table["utterance"]]
    trials = with_rows(even, ("a/xa/1", "a/xa/2", 1))
    tables = {"speakers": people, "utterances": table}
    finding = check(trials, by=["same:recording", "gender"], **tables)["G9"]
    assert "(m) to" in finding.sentence
    assert "; recordings are identified by" in finding.sentence
    for identifier, attribute in (("G9", "same:recording"), ("G8", "same:gender")):
        alone = check(trials, by=attribute, grade_by="gender", **tables)[identifier]
        assert alone.verdict == "not checked"
        assert alone.sentence == "the groups are formed by the checked property"


def test_of_one_group_nothing_is_compared(even, people):
    people["gender"] = ["f"] * 4
    for check_id in ("G8", "G9"):
        finding = check(even, speakers=people, by="gender")[check_id]
        assert (finding.verdict, finding.sentence) == ("not checked", "one group only")
        assert "groups" in finding.mend


@pytest.mark.parametrize(
    "options",
    [
        {"by": 3},
        {"by": [None]},
        {"grade_by": 3},
        {"grade_by": [3]},
        {"thresholds": 3},
        {"pilot": "x"},
        {"mix": 3},
        {"mix": [4]},
        {"mix": {"cat4": None}},
        {"variants": "x"},
        {"variants": 3},
        {"id": 3},
        {"columns": 3},
    ],
    ids=str,
)
def test_options_of_another_kind_are_refused_by_name(even, people, options):
    (name,) = options
    with pytest.raises(pv.ConfigError, match=f"^(--)?{name}"):
        check(even, speakers=people, **options)


def test_the_mix_that_was_wished_for_may_be_of_target_trials_too(even, people):
    finding = check(even, speakers=people, mix="cat4=1,target3=1")["G5"]
    assert finding.sentence.startswith("nontarget trials: ")
    shares = [word for word in finding.sentence.split("; ")[1].split() if word[0].isdigit()]
    assert "; target trials: " in finding.sentence
    assert len(shares) >= 3
    for wrong in ("target2=1", "cat4=1,target3=0.5", {"target": 1}):
        with pytest.raises(pv.ConfigError, match=r"^mix"):
            check(even, speakers=people, mix=wrong)


@pytest.mark.slow
def test_results_of_lists_with_scores_are_compared(even, people):
    scored = {**even, "score": [float(cell) for cell in even["label"]]}
    turned = {**scored, "score": [1 - cell for cell in scored["score"]]}
    reference_lists = [
        with_rows(even, ("a/x/5", "b/yb/1", 0)),
        with_rows(even, ("a/x/6", "b/yb/1", 0)),
    ]
    for cell in reference_lists:
        cell["score"] = [float(label) for label in cell["label"]]
    reference_lists[1]["score"] = [0.5 for _ in reference_lists[1]["label"]]
    sentence = check(scored, speakers=people, by="gender", variants=reference_lists)["G6"].sentence
    assert sentence.startswith("3 different lists; the EER of the lists is 0.00 to 50.00 %; ")
    turned_sentence = check(turned, speakers=people, by="gender", variants=reference_lists[:1])[
        "G6"
    ].sentence
    assert "the EER of the lists is 0.00 to 0.00 %" in turned_sentence  # distances
    bare = check(even, speakers=people, variants=reference_lists)["G6"].sentence
    assert bare == (
        "3 different lists; add scores to see how much results differ between the lists"
    )


@pytest.mark.slow
def test_variants_are_counted_once_each(even, people):
    variant_lists = [with_rows(even, (f"a/x/{i}", "b/yb/1", 0)) for i in range(5, 9)]
    checked = check(even, speakers=people, variants=[*variant_lists, even, variant_lists[0]])
    assert (checked["G6"].verdict, checked["G6"].statistic) == ("pass", 5)
    assert check(even, speakers=people, variants=variant_lists[:3])["G6"].verdict == "fail"


def test_a_speaker_who_never_enrols_breaks_equality():
    trials = {"enrol": ["a/xa/1", "a/xa/1"], "test": ["a/ya/1", "b/z/1"]}
    checked = check(trials)
    assert checked["G3"].statistic == float("inf")
    assert checked["G3"].verdict == "fail"
    assert json.loads(checked.to_json())["tables"]["checks"]["statistic"][2] == "inf"


def test_a_list_of_one_class_is_told_so(even, people):
    keep = [not label for label in even["label"]]
    only = {name: list(itertools.compress(cells, keep)) for name, cells in even.items()}
    checked = check(only, speakers=people, by="gender", thresholds=SMALL)
    assert failing(checked) == {"G1"}
    assert checked["G9"].verdict == "not checked"
    assert "0 target" in checked["G1"].sentence


def test_without_speakers_groups_are_not_checked(even):
    verdict_by_check = verdicts(check(even, thresholds=SMALL))
    unchecked = {
        check_id for check_id, verdict in verdict_by_check.items() if verdict == "not checked"
    }
    assert unchecked == {"G5", "G6", "G7", "G8", "G9", "G11", "G12", "G13", "G15"}


def test_what_is_unknown_is_neither_same_nor_different(even, people):
    people["gender"][1] = "unknown"
    checked = check(even, speakers=people, by="nationality", thresholds=SMALL)
    assert "2 trials (25.0 %)" in checked["grades"].sentence
    assert checked["within gender"].statistic == 1.0
    assert "2 unknown" in checked["within gender"].sentence


def test_findings_and_json_hold_no_speaker():
    trials = {"enrol": ["secret1/x/1"] * 2, "test": ["secret1/y/1", "secret2/z/1"]}
    people = {"id": ["secret1", "secret2"], "gender": ["f", "m"]}
    checked = check(trials, speakers=people, development=trials)
    assert "secret" not in checked.to_json()
    assert "secret1" in check(trials, speakers=people, speaker_ids=True).to_json()


def test_a_development_list_that_leaks():
    trials = {"enrol": ["a/xa/1", "a/xa/1"], "test": ["a/ya/1", "b/z/1"]}
    leaking = {"enrol": ["b/z/1", "c/v/1", "a/w/9"], "test": ["a/xa/1", "c/v/2", "a/ya/7"]}
    sentence = check(trials, development=leaking)["leakage"].sentence
    # the trial stands there the other way round
    assert sentence == "2 speakers, 3 recordings, 2 utterances, 1 trials"
    apart = {"enrol": ["c/v/1"], "test": ["c/v/2"]}
    sentence = check(trials, development=apart)["leakage"].sentence
    assert sentence == "0 speakers, 0 recordings, 0 utterances, 0 trials"


def test_a_development_list_whose_ids_tell_no_speakers():
    table = {"utterance": ["u1", "u2", "u3"], "speaker": ["a", "b", "a"], "session": list("121")}
    trials = {"enrol": ["u1"], "test": ["u2"]}
    checked = check(trials, utterances=table, development={"enrol": ["u3"], "test": ["u2"]})
    assert checked["leakage"].sentence.startswith(
        "2 speakers, 2 recordings, 1 utterances, 0 trials"
    )


def test_a_pilot_tells_what_the_list_can_show(h_list, vox1, tmp_path):
    audit = pv.audit(h_list, speakers=vox1, by="gender", replicates=50)
    audit.save(tmp_path / "pilot")
    plan = pv.plan(tmp_path / "pilot")
    checked = check(h_list, speakers=vox1, by="gender", pilot=plan)
    mine = checked["detectable fnr gender"]
    ratios = [row["worse"] for row in plan.groups.rows() if row["metric"] == "fnr"][:2]
    assert mine.statistic == pytest.approx(max(ratios), rel=0.05)
    by_nationality = check(h_list, speakers=vox1, by="nationality", pilot=plan)
    assert "does not show" in by_nationality["detectable fnr nationality"].sentence


def test_voxceleb1_h(h_list, vox1):
    checked = check(h_list, speakers=vox1, by="gender+nationality")
    assert failing(checked) == {"G1", "G2", "G3", "G4", "G7", "G9", "G10", "G13"}
    assert checked["G13"].statistic == 154 / 4  # m+USA, and the five f+Germany
    assert checked["G15"].verdict == "pass"
    assert "a list of pairs, whose sides are interchangeable" in checked["G14"].sentence
    assert check(h_list, speakers=vox1, by="gender")["G13"].verdict == "pass"
    assert checked["G1"].offenders == 335
    assert checked["G2"].offenders == 1_114
    assert "125 to 1,040" in checked["G3"].sentence
    assert "129 to 1,071" in checked["G3"].sentence
    assert checked["G3"].statistic == 1_040 / 125
    assert checked["G10"].statistic == 2_403
    assert "2,365 target, 38 nontarget" in checked["G10"].sentence
    assert "of 18 groups" in checked["G7"].sentence


def test_voxceleb1_h_by_nationality(h_checked, h_list, vox1):
    finding = check(h_list, speakers=vox1, by="nationality")["G9"]
    assert "8.8 % (Mexico) to 18.1 % (Germany)" in finding.sentence
    assert h_checked["G9"].verdict == "fail"


def test_the_list_of_paper_003(protocol_checked):
    assert failing(protocol_checked) == {"G1", "G2", "G3", "G4", "G7", "G8", "G9"}
    assert "41.6 % (USA) to 56.4 % (New Zealand)" in protocol_checked["G8"].sentence
    assert "23.7 % (Ireland) to 53.6 % (India)" in protocol_checked["G9"].sentence
    assert (
        "never enrolled: 9 speakers, never tested: 9 speakers" in protocol_checked["sides"].sentence
    )
    assert "71 to 586" in protocol_checked["sides"].sentence
    assert protocol_checked["within Gender"].sentence.startswith("45.7 % with the same value")
