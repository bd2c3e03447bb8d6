"""What an audit says of its trial list, and groups of trials by difficulty."""

import json

import pytest

import parivox as pv
from parivox.report.findings import check_sentence
from parivox.report.full_tables import every_table

PEOPLE = {"id": list("abcd"), "gender": list("ffmm")}


def trials(*, trivial=()):
    """Two target and two nontarget trials for each speaker; some target trials are trivial."""
    rows = []
    for i, (speaker_id, impostor_id) in enumerate([("a", "b"), ("b", "a"), ("c", "d"), ("d", "c")]):
        near = "x" if speaker_id in trivial else "y"
        rows += [
            (f"{speaker_id}/x{speaker_id}/1", f"{speaker_id}/{near}{speaker_id}/3", 2.0 + i, 1),
            (f"{speaker_id}/x{speaker_id}/2", f"{speaker_id}/y{speaker_id}/4", 0.5 + i, 1),
            (f"{speaker_id}/x{speaker_id}/1", f"{impostor_id}/v{impostor_id}/{i}", 1.0 - i, 0),
            (f"{speaker_id}/x{speaker_id}/2", f"{impostor_id}/w{impostor_id}/{i}", -1.0 - i, 0),
        ]
    columns = map(list, zip(*rows, strict=True))
    return dict(zip(("enrol", "test", "score", "label"), columns, strict=True))


def audit(scores, **options):
    options = {"by": "gender", "intervals": False, **options}
    return pv.audit(scores, speakers=PEOPLE, **options)


def printed_tables(audited, optional):
    console = optional("rich.console").Console(width=200)
    with console.capture() as captured:
        console.print(every_table(audited))
    return captured.get()


def test_what_the_list_fails_is_recorded(follows_schema):
    audited = audit({"x": trials(trivial="ab")})
    failed = {check["id"]: check for check in audited.record["list_checks"]["x"]}
    assert set(failed) == {"G2", "G4", "G7", "G9"}
    assert failed["G9"]["statistic"] == 0.5
    follows_schema(json.loads(audited.to_json()))


@pytest.mark.slow
def test_what_sets_groups_apart_is_printed_in_words_and_the_rest_by_id(optional):
    page = printed_tables(audit({"x": trials(trivial="ab")}), optional)
    share = ", which may be easier, ranges from "
    assert f"{share}0.0 % (m) to 50" in page
    assert "The list also fails G2, G4, G7. Run parivox trials check" in " ".join(page.split())
    page = printed_tables(audit({"x": trials()}), optional)
    assert "trials differ between groups" not in page
    assert "The list fails G2, G7." in page


@pytest.mark.slow
def test_groups_by_grade_do_not_hide_those_that_differ_in_it(optional):
    page = printed_tables(
        audit({"x": trials(trivial="ab")}, by=["grade", "gender+grade", "gender"]), optional
    )
    share = ", which may be easier, ranges from "
    assert f"{share}0.0 % (m) to 50.0 % (f)" in page
    audited = audit({"x": trials(trivial="ab")}, by="grade")
    assert "G9" not in {check["id"] for check in audited.record["list_checks"]["x"]}


def test_two_systems_on_one_list_are_told_of_it_once(optional):
    page = printed_tables(audit({"x": trials(), "y": trials()}), optional)
    assert page.count("parivox trials check") == 1
    assert "fails the same checks as the list of x" in page


def test_an_endless_ratio_is_written_as_text(optional):
    scores = {
        "enrol": ["a/x/1", "a/x/1"],
        "test": ["a/y/2", "b/z/1"],
        "score": [1.0, 0.0],
    }
    audited = audit({"x": scores})
    ratio = next(check for check in audited.record["list_checks"]["x"] if check["id"] == "G3")
    assert ratio["statistic"] == "inf"
    assert json.loads(audited.to_json())["list_checks"]["x"]


def test_trials_are_grouped_by_grade():
    audited = audit(trials(trivial="ab"), by="grade")
    rows = audited.groups.subset(grouping="grade", metric="fnr").rows()
    sizes = {row["group"]: (row["target_trials"], row["nontarget_trials"]) for row in rows}
    assert sizes == {"1": (2, 0), "2": (0, 8), "3": (6, 0), "pooled": (8, 8)}


def test_a_status_that_tells_of_no_failure_changes_no_grade():
    rows = trials(trivial="ab")
    with_status = {**rows, "status": ["ok"] * len(rows["score"])}
    tables = [audit(scores, by="grade").groups for scores in (with_status, rows)]
    of_fnr, without = (table.subset(metric="fnr").to_json() for table in tables)
    assert of_fnr == without


@pytest.mark.slow
def test_rates_are_standardised_over_grades():
    audited = audit(
        trials(trivial="ab"),
        standardise="grade",
        operating_points="threshold=1.0",
        intervals=True,
    )
    rows = audited.groups.subset(metric="fnr", definition="standardised grade").rows()
    # as none of the men's trials is trivial
    for row, share in zip(rows, (0.5, 0.0), strict=False):
        assert row["note"].startswith("equal_weights; trials_left_out")
        values = json.loads(row["values"])
        assert values["equal_weights"] == {"strata": ["3"]}
        assert values["trials_left_out"] == {"share": share}


def test_a_column_called_grade_is_what_counts():
    graded_trials = {**trials(), "grade": ["easy", "hard"] * 8}
    audited = audit(graded_trials, by="grade")
    assert {row["group"] for row in audited.groups.subset(grouping="grade").rows()} == {
        "easy",
        "hard",
        "pooled",
    }


@pytest.mark.slow
def test_grades_are_those_of_large_lists_too(monkeypatch):
    small = audit(trials(trivial="ab"), by="grade")
    monkeypatch.setattr("parivox.data.trial_shards.IN_MEMORY_TRIALS", 4)
    monkeypatch.setattr("parivox.data.trial_shards.SHARD_TRIALS", 4)
    large = audit(trials(trivial="ab"), by="grade")
    small_rates, large_rates = (
        x.groups.subset(metric="fnr", grouping="grade").to_dict() for x in (small, large)
    )
    assert small_rates["target_trials"] == large_rates["target_trials"]


def test_standardised_over_grades_on_voxceleb1_h(bt4vt_data):
    audited = pv.audit(
        bt4vt_data / "resnetse34v2_H-eval_scores.csv",
        speakers=bt4vt_data / "vox1_meta.csv",
        by="gender",
        standardise="grade",
        operating_points="fpr=0.01",
    )
    by_grade = {"1": 0.001098, "3": 0.053756}  # FNR of each at this threshold
    rows = audited.groups.subset(metric="fnr", definition="standardised grade").rows()
    crude = audited.groups.subset(metric="fnr", definition="", grouping="gender").rows()
    for row in rows:
        assert json.loads(row["values"])["equal_weights"] == {"strata": ["1", "3"]}
    for row, crude_row in zip(rows, crude, strict=False):
        assert row["group"] == crude_row["group"]
        assert by_grade["1"] < row["value"] < crude_row["value"]
    assert [check["id"] for check in next(iter(audited.record["list_checks"].values()))] == [
        "G1",
        "G2",
        "G3",
        "G4",
        "G10",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("grouping", ["gender+grade", "grade"])
def test_counts_can_be_made_by_grade(tmp_path, grouping):
    counts = pv.count({"x": trials(trivial="ab")}, speakers=PEOPLE, by=grouping, withhold=0)
    counts.save(tmp_path / "x.counts")
    audited = pv.audit(tmp_path / "x.counts")
    assert "list_checks" not in audited.record
    assert {row["group"] for row in audited.groups.subset(grouping=grouping).rows()} >= {
        "grade": {"1", "2", "3"},
        "gender+grade": {"f+1", "f+2", "m+3"},
    }[grouping]


@pytest.mark.parametrize("name", ["f+m", "same:sex", "enrol.sex", "age:18,60"])
def test_no_name_of_a_column_stops_an_audit(name):
    people = {"id": list("abcd"), name: list("ffmm")}
    if name == "age:18,60":
        people = {"id": list("abcd"), "age": [17, 30, 61, 62]}
    audited = pv.audit(trials(trivial="ab"), speakers=people, by=name, intervals=False)
    assert next(iter(audited.record["list_checks"].values()))


def test_a_column_of_the_trials_may_say_otherwise_than_the_speakers():
    graded_trials = {**trials(), "gender": ["x"] * 16}
    audited = pv.audit(graded_trials, speakers=PEOPLE, by="trial.gender", intervals=False)
    assert "list_checks" in audited.record


def test_columns_that_differ_in_case_only_do_not_stop_an_audit_by_another():
    people = {**PEOPLE, "Gender": list("ffmm"), "accent": list("xyxy")}
    audited = pv.audit(trials(), speakers=people, by="accent", intervals=False)
    assert "list_checks" in audited.record


def test_a_list_that_is_scored_in_part_is_told_from_the_whole(optional):
    rows = trials()
    listed = {name: rows[name] for name in ("enrol", "test", "label")}
    scored = {name: cells[:-2] for name, cells in rows.items()}
    page = printed_tables(audit({"x": scored}, trials=listed), optional)
    assert "The list without its 2 trials that have no score fails G1, G2, G3, G7." in page


def crossed_trials(n_of_accent):
    """Every pair of speakers once, of whom so many of each gender have each accent; `x` is alone.

    Returns the trials, and the speakers.
    """
    people = {"id": [], "trait": [], "accent": []}
    for trait, numbers in n_of_accent.items():
        for accent, number in zip("pq", numbers, strict=True):
            for i in range(number):
                people["id"].append(f"{trait}{accent}{i}")
                people["trait"].append(trait)
                people["accent"].append(accent)
    ids = people["id"]
    rows = [(f"{speaker}/1/1", f"{speaker}/2/1", 1.0, 1) for speaker in ids]
    rows += [
        (f"{enrol}/1/1", f"{test}/2/1", i / 100, 0)
        for i, enrol in enumerate(ids)
        for test in ids
        if enrol != test
    ]
    columns = map(list, zip(*rows, strict=True))
    return dict(zip(("enrol", "test", "score", "label"), columns, strict=True)), people


def composition(n_of_accent, **options):
    """What the audit's check of the composition of nontarget trials found, if it fails."""
    scores, people = crossed_trials(n_of_accent)
    audited = pv.audit({"x": scores}, speakers=people, intervals=False, **options)
    failed = audited.record["list_checks"]["x"]
    return "; ".join(check_sentence(check) for check in failed if check["id"] == "G8")


ALIKE = {"f": (3, 3), "m": (6, 6), "x": (1, 0)}


@pytest.mark.parametrize("by", ["trait", "accent", "trait+accent"])
def test_groups_do_not_differ_in_what_all_their_trials_share(by):
    assert not composition(ALIKE, by=by)


@pytest.mark.parametrize("allocate", ["enrol", "test", "either", ["both", "enrol"]])
def test_they_may_differ_in_it_where_other_trials_count_too(allocate):
    words = composition(ALIKE, by="trait", allocate=allocate)
    assert words.startswith(
        "the share of nontarget trials with the same trait ranges from 0.0 % (x)"
    )


@pytest.mark.slow
def test_another_attribute_that_differs_within_groups_is_found():
    words = composition({"f": (6, 0), "m": (3, 3), "x": (1, 0)}, by=["trait", "accent"])
    assert words == (
        "among nontarget trials with both speakers in the group, the share with the same accent "
        "ranges from 40.0 % (m) to 100.0 % (f)"
    )
