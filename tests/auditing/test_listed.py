"""What an audit says of its trial list, and groups of trials by difficulty."""

import json

import pytest

import parivox as pv
from parivox.report.full_tables import every_table

PEOPLE = {"id": list("abcd"), "gender": list("ffmm")}


def trials(*, trivial=()):
    """Two target and two nontarget trials for each speaker; some target trials are trivial."""
    rows = []
    for i, (one, other) in enumerate([("a", "b"), ("b", "a"), ("c", "d"), ("d", "c")]):
        near = "x" if one in trivial else "y"
        rows += [
            (f"{one}/x{one}/1", f"{one}/{near}{one}/3", 2.0 + i, 1),
            (f"{one}/x{one}/2", f"{one}/y{one}/4", 0.5 + i, 1),
            (f"{one}/x{one}/1", f"{other}/v{other}/{i}", 1.0 - i, 0),
            (f"{one}/x{one}/2", f"{other}/w{other}/{i}", -1.0 - i, 0),
        ]
    columns = map(list, zip(*rows, strict=True))
    return dict(zip(("enrol", "test", "score", "label"), columns, strict=True))


def audit(scores, **how):
    how = {"by": "gender", "intervals": False, **how}
    return pv.audit(scores, speakers=PEOPLE, **how)


def told(found, optional):
    console = optional("rich.console").Console(width=200)
    with console.capture() as captured:
        console.print(every_table(found))
    return captured.get()


def test_what_the_list_fails_is_recorded(follows_schema):
    found = audit({"x": trials(trivial="ab")})
    failed = {one["id"]: one for one in found.record["list_checks"]["x"]}
    assert set(failed) == {"G2", "G4", "G7", "G9"}
    assert failed["G9"]["statistic"] == 0.5
    follows_schema(json.loads(found.to_json()))


def test_what_sets_groups_apart_is_printed_in_words_and_the_rest_by_id(optional):
    page = told(audit({"x": trials(trivial="ab")}), optional)
    share = "(G9): the share of same-recording target trials, which may be easier, ranges from "
    assert f"{share}0.0 % (m) to 50" in page
    assert "The list also fails G2, G4, G7. parivox trials check" in " ".join(page.split())
    page = told(audit({"x": trials()}), optional)
    assert "trials differ between groups" not in page
    assert "The list fails G2, G7." in page


def test_groups_by_grade_do_not_hide_those_that_differ_in_it(optional):
    page = told(
        audit({"x": trials(trivial="ab")}, by=["grade", "gender+grade", "gender"]), optional
    )
    share = "(G9): the share of same-recording target trials, which may be easier, ranges from "
    assert f"{share}0.0 % (m) to 50.0 % (f)" in page
    found = audit({"x": trials(trivial="ab")}, by="grade")
    assert "G9" not in {one["id"] for one in found.record["list_checks"]["x"]}


def test_two_systems_on_one_list_are_told_of_it_once(optional):
    page = told(audit({"x": trials(), "y": trials()}), optional)
    assert page.count("parivox trials check") == 1
    assert "fails the same checks as that of x" in page


def test_an_endless_ratio_is_written_as_text(optional):
    scores = {
        "enrol": ["a/x/1", "a/x/1"],
        "test": ["a/y/2", "b/z/1"],
        "score": [1.0, 0.0],
    }
    found = audit({"x": scores})
    ratio = next(one for one in found.record["list_checks"]["x"] if one["id"] == "G3")
    assert ratio["statistic"] == "inf"
    assert json.loads(found.to_json())["list_checks"]["x"]


def test_trials_are_grouped_by_grade():
    found = audit(trials(trivial="ab"), by="grade")
    rows = found.groups.where(grouping="grade", metric="fnr").rows()
    sizes = {row["group"]: (row["target_trials"], row["nontarget_trials"]) for row in rows}
    assert sizes == {"1": (2, 0), "2": (0, 8), "3": (6, 0), "pooled": (8, 8)}


def test_a_status_that_tells_of_no_failure_changes_no_grade():
    one = trials(trivial="ab")
    with_status = {**one, "status": ["ok"] * len(one["score"])}
    tables = [audit(scores, by="grade").groups for scores in (with_status, one)]
    of_fnr, without = (table.where(metric="fnr").to_json() for table in tables)
    assert of_fnr == without


def test_rates_are_standardised_over_grades():
    found = audit(
        trials(trivial="ab"),
        standardise="grade",
        operating_points="threshold=1.0",
        intervals=True,
    )
    rows = found.groups.where(metric="fnr", definition="standardised grade").rows()
    # as none of the men's trials is trivial
    notes = {row["group"]: row["note"].split("; ")[:2] for row in rows}
    assert notes["f"] == ["equal weights: 3", "50.0% of the trials left out"]
    assert notes["m"] == ["equal weights: 3", "0.0% of the trials left out"]


def test_a_column_called_grade_is_what_counts():
    own = {**trials(), "grade": ["easy", "hard"] * 8}
    found = audit(own, by="grade")
    assert {row["group"] for row in found.groups.where(grouping="grade").rows()} == {
        *("easy", "hard", "pooled")
    }


def test_grades_are_those_of_large_lists_too(monkeypatch):
    small = audit(trials(trivial="ab"), by="grade")
    monkeypatch.setattr("parivox.data.spilled_rows.IN_MEMORY_TRIALS", 4)
    monkeypatch.setattr("parivox.data.spilled_rows.PARTITION_TRIALS", 4)
    large = audit(trials(trivial="ab"), by="grade")
    one, other = (x.groups.where(metric="fnr", grouping="grade").to_dict() for x in (small, large))
    assert one["target_trials"] == other["target_trials"]


def test_standardised_over_grades_on_voxceleb1_h(bt4vt_data):
    found = pv.audit(
        bt4vt_data / "resnetse34v2_H-eval_scores.csv",
        speakers=bt4vt_data / "vox1_meta.csv",
        by="gender",
        standardise="grade",
        operating_points="fpr=0.01",
    )
    by_grade = {"1": 0.001098, "3": 0.053756}  # FNR of each at this threshold
    rows = found.groups.where(metric="fnr", definition="standardised grade").rows()
    crude = found.groups.where(metric="fnr", definition="", grouping="gender").rows()
    assert {row["note"].split(";")[0] for row in rows} == {"equal weights: 1, 3"}
    for row, other in zip(rows, crude, strict=False):
        assert row["group"] == other["group"]
        assert by_grade["1"] < row["value"] < other["value"]
    assert [one["id"] for one in next(iter(found.record["list_checks"].values()))] == [
        *("G1", "G2", "G3", "G4", "G10")
    ]


@pytest.mark.parametrize("by", ["gender+grade", "grade"])
def test_counts_can_be_made_by_grade(tmp_path, by):
    made = pv.count({"x": trials(trivial="ab")}, speakers=PEOPLE, by=by, withhold=0)
    made.write(tmp_path / "x.counts")
    found = pv.audit(tmp_path / "x.counts")
    assert "list_checks" not in found.record
    assert {row["group"] for row in found.groups.where(grouping=by).rows()} >= {
        "grade": {"1", "2", "3"},
        "gender+grade": {"f+1", "f+2", "m+3"},
    }[by]


@pytest.mark.parametrize("name", ["f+m", "same:sex", "enrol.sex", "age:18,60"])
def test_no_name_of_a_column_stops_an_audit(name):
    people = {"id": list("abcd"), name: list("ffmm")}
    if name == "age:18,60":
        people = {"id": list("abcd"), "age": [17, 30, 61, 62]}
    found = pv.audit(trials(trivial="ab"), speakers=people, by=name, intervals=False)
    assert next(iter(found.record["list_checks"].values()))


def test_a_column_of_the_trials_may_say_otherwise_than_the_speakers():
    own = {**trials(), "gender": ["x"] * 16}
    found = pv.audit(own, speakers=PEOPLE, by="trial.gender", intervals=False)
    assert "list_checks" in found.record


def test_columns_that_differ_in_case_only_do_not_stop_an_audit_by_another():
    people = {**PEOPLE, "Gender": list("ffmm"), "accent": list("xyxy")}
    found = pv.audit(trials(), speakers=people, by="accent", intervals=False)
    assert "list_checks" in found.record


def test_a_list_that_is_scored_in_part_is_told_from_the_whole(optional):
    rows = trials()
    listed = {name: rows[name] for name in ("enrol", "test", "label")}
    some = {name: cells[:-2] for name, cells in rows.items()}
    page = told(audit({"x": some}, trials=listed), optional)
    assert "The list without its 2 trials that have no score fails G1, G2, G3, G7." in page
