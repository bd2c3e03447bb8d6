"""What a plan tells of a pilot, and of given numbers."""

import json
import math

import pytest

import parivox as pv
from parivox import Audit
from parivox.auditing.options import Options
from parivox.auditing.schema import TABLES
from parivox.core.planning import (
    Sample,
    detectable_ratio,
    least_speakers,
    speakers_needed,
)
from parivox.data.table import Table
from parivox.report.plan import REASONS, plan_summary


def row(group, metric, errors, trials, speakers, deff, **more):
    return {
        "system": "V2",
        "grouping": "gender",
        "group": group,
        "allocation": "both",
        "metric": metric,
        "operating_point": "fpr=0.01",
        "value": errors / trials if trials else None,
        "errors": errors,
        "trials": trials,
        "speakers": speakers,
        "deff": deff,
        **more,
    }


def whole(metric, errors, trials, speakers, deff, **more):
    return row("all", metric, errors, trials, speakers, deff, grouping="all", allocation="", **more)


ROWS = [
    whole("fpr", 500, 50_000, 160, 4.0),
    whole("fnr", 1600, 20_000, 160, 14.0),
    row("f", "fpr", 200, 12_000, 80, 3.0),
    row("f", "fnr", 800, 8_000, 80, 12.0),
    row("m", "fpr", 180, 12_000, 80, 5.0),
    row("m", "fnr", 700, 8_000, 80, 10.0),
    row("pooled", "fpr", 380, 24_000, 160, 4.5),
    row("pooled", "fnr", 1500, 16_000, 160, 11.0),
]


@pytest.fixture
def pilot():
    """Make an audit of rows of its table of groups."""

    def made(rows=ROWS, **changes):
        table = [{**one, **changes} for one in rows]
        cells = {
            name: [one.get(name, "" if kind == "str" else None) for one in table]
            for name, kind in TABLES["groups"].items()
        }
        tables = {name: Table.empty(columns) for name, columns in TABLES.items()}
        tables["groups"] = Table.of(cells, TABLES["groups"])
        record = {"versions": {"parivox": pv.__version__}, "options": Options().recorded()}
        return Audit(**tables, record=record, provenance=[])

    return made


@pytest.fixture
def text():
    """What is printed, on one line."""
    from rich.console import Console

    def printed(plan):
        console = Console(width=200)
        with console.capture() as captured:
            console.print(plan_summary(plan))
        return " ".join(captured.get().split())

    return printed


def of(plan, group, metric="fnr"):
    (found,) = plan.groups.where(group=group, metric=metric).rows()
    return found


def test_each_group_stands_against_all_others_together(pilot):
    found = of(pv.plan(pilot()), "f")
    icc = (12 - 1) / (100 - 1), (10 - 1) / (100 - 1)
    assert (found["speakers"], found["errors"], found["deff"]) == (80, 800, pytest.approx(12))
    assert found["rate"] == pytest.approx(700 / 8000)
    assert (found["icc"], found["icc_from"]) == (pytest.approx(icc[0]), "group")
    one, other = Sample(80, 100, icc[0]), Sample(80, 100, icc[1], df=79)
    assert found["worse"] == pytest.approx(detectable_ratio(700 / 8000, one, other))
    assert found["better"] == pytest.approx(detectable_ratio(700 / 8000, one, other, better=True))
    assert found["better"] < 1 < found["worse"]
    assert found["speakers_needed"] == speakers_needed(2, 700 / 8000, 100, icc[0])
    assert found["trials_needed"] == 100 * found["speakers_needed"]


def test_a_nontarget_trial_has_two_speakers(pilot):
    found = of(pv.plan(pilot()), "m", "fpr")
    assert found["trials_per_speaker"] == 2 * 12_000 / 80
    assert found["icc"] == pytest.approx((5 - 1) / (2 * 299))
    each = found["trials_needed"] / found["speakers_needed"]
    assert each == pytest.approx(found["trials_per_speaker"] / 2)


def test_the_pooled_row_is_no_group(pilot):
    plan = pv.plan(pilot())
    assert {one["group"] for one in plan.groups} == {"f", "m"}
    assert [one["group"] for one in plan.lists] == ["all", "f", "m"]


@pytest.mark.parametrize(
    ("group", "speakers", "errors", "deff"),
    [("few speakers", 6, 60, 3.0), ("few errors", 80, 12, 1.0), ("no errors", 80, 0, None)],
)
def test_a_group_that_cannot_tell_its_design_effect_takes_that_of_all(
    pilot, group, speakers, errors, deff
):
    found = of(pv.plan(pilot([*ROWS, row("x", "fnr", errors, 8000, speakers, deff)])), "x")
    assert found["icc_from"] == "pooled", group
    assert 9 / 99 < found["icc"] < 11 / 99
    own = 0 if deff is None else deff
    assert found["deff"] >= max(own, 9)
    assert found["speakers_needed"] > 5


def test_an_unbelievably_large_design_effect_is_not_hoped_away(pilot):
    found = of(pv.plan(pilot([*ROWS, row("x", "fnr", 60, 600, 6, 40.0)])), "x")
    assert (found["deff"], found["icc_from"]) == (pytest.approx(40), "pooled")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reason", "rows"),
    [
        ("few_speakers", [*ROWS, row("x", "fnr", 20, 400, 4, 3.0)]),
        ("few_speakers", [*ROWS, row("x", "fnr", 20, 400, 1, None)]),
        ("no_trials", [*ROWS, row("x", "fnr", None, 0, 0, None)]),
        ("unknown_speakers", [*ROWS, row("x", "fnr", 20, 400, None, 3.0)]),
        ("one_group", [row("x", "fnr", 100, 400, 20, 3.0)]),
        ("no_errors_of_others", [row("x", "fnr", 90, 99, 20, 3.0), row("y", "fnr", 0, 9, 9, None)]),
        ("rate_above_one", [row("x", "fnr", 9, 90, 20, 3.0), row("y", "fnr", 600, 900, 20, 3.0)]),
        ("none_detectable", [row("x", "fnr", 31, 90, 6, 9.0), row("y", "fnr", 400, 900, 6, 50.0)]),
    ],
)  # fmt: skip
def test_what_cannot_be_told_has_a_reason(pilot, text, reason, rows):
    plan = pv.plan(pilot(rows))
    found = of(plan, "x")
    assert found["reason"] == reason
    assert None in {found["worse"], found["speakers_needed"]}
    assert "FNR of x" in text(plan)
    assert f": {REASONS[reason]}" in text(plan)


def test_groups_that_share_trials_are_not_told_apart(pilot):
    plan = pv.plan(pilot(ROWS, allocation="either"))
    assert of(plan, "f", "fpr")["reason"] == "shared_trials"
    assert of(plan, "f", "fnr")["reason"] == ""


def test_one_trial_a_speaker_is_an_independent_one(pilot):
    rows = [row(group, "fnr", 40, 400, 400, 1.0) for group in "xy"]
    found = of(pv.plan(pilot(rows)), "x")
    assert (found["icc"], found["deff"]) == (0, 1)
    assert found["worse"] > 1


def test_more_trials_save_less_than_more_speakers(pilot):
    rows = pv.plan(pilot()).designs.where(metric="fnr").rows()
    assert [one["trials_per_speaker"] for one in rows] == [25, 50, 100, 200, 400]
    assert [one["saved"] for one in rows] == sorted(one["saved"] for one in rows)
    assert rows[2]["saved"] == 0
    assert 0 < rows[3]["saved"] < 0.1
    assert {one["groups"] for one in rows} == {2}


def test_curves_rise_with_speakers_and_with_trials(pilot):
    rows = pv.plan(pilot()).curves.where(metric="fnr").rows()
    power = {(one["trials_per_speaker"], one["speakers"]): one["power"] for one in rows}
    for (trials, speakers), value in power.items():
        assert value <= power.get((2 * trials, speakers), 1) + 1e-9
        assert value <= power.get((trials, 2 * speakers), 1) + 1e-9


@pytest.mark.slow
def test_a_list_supports_the_rate_of_30_independent_errors(pilot):
    found = {one["group"]: one for one in pv.plan(pilot(), target_fpr=0.01).lists}
    assert found["all"]["supported_fpr"] == pytest.approx(30 * 4.0 / 50_000)
    assert found["all"]["is_supported"]
    assert found["all"]["trials_needed"] == pytest.approx(30 * 4.0 / 0.01)
    plan = pv.plan(pilot(), target_fpr=0.0005)
    (whole_list,) = plan.lists.where(grouping="all").rows()
    assert not whole_list["is_supported"]
    assert whole_list["expected_errors"] == 25
    assert whole_list["deff"] < 4, "speakers vary less where rates are lower"


@pytest.mark.slow
def test_the_operating_point_nearest_to_the_target_is_planned_for(pilot, text):
    lower = [
        {**one, "operating_point": "fpr=0.001", "errors": one["errors"] // 10}
        | {"value": one["value"] / 10}
        for one in ROWS
    ]
    audit = pilot([*ROWS, *lower])
    assert {one["operating_point"] for one in pv.plan(audit).groups} == {"fpr=0.01", "fpr=0.001"}
    assert "Not shown, but in --json: fpr=0.001." in text(pv.plan(audit))
    plan = pv.plan(audit, target_fpr=0.002)
    assert {one["operating_point"] for one in plan.groups} == {"fpr=0.001"}
    assert {one["rate"] for one in plan.groups.where(metric="fpr")} == {0.002}
    assert "at fpr=0.001, of those in the pilot nearest to FPR 0.2 %" in text(plan)


@pytest.mark.slow
def test_several_systems_lists_and_groupings_are_kept_apart(pilot, text):
    other = [{**one, "system": "L", "list": "H"} for one in ROWS]
    ages = [{**one, "grouping": "age"} for one in ROWS if one["grouping"] != "all"]
    plan = pv.plan(pilot([*ROWS, *ages, *other]))
    keys = {(one["system"], one["list"], one["grouping"]) for one in plan.groups}
    assert keys == {("V2", "", "gender"), ("V2", "", "age"), ("L", "H", "gender")}
    (first, *_) = plan.groups.where(system="L", group="f", metric="fnr").rows()
    assert first["worse"] == of(pv.plan(pilot()), "f")["worse"]
    assert "L on H, at fpr=0.01" in text(plan)


def test_what_is_given_wins_over_the_pilot(pilot):
    plan = pv.plan(pilot(), rate={"fnr": 0.02}, icc={"fnr": 0.3}, trials_per_speaker={"fnr": 10})
    found = of(plan, "f")
    assert (found["rate"], found["icc"], found["icc_from"]) == (0.02, 0.3, "given")
    assert found["speakers_needed"] == speakers_needed(2, 0.02, 10, 0.3)
    assert found["trials_per_speaker"] == 100, "of today's data"
    assert plan.designs.where(metric="fnr").rows()[2]["trials_per_speaker"] == 10
    assert of(plan, "f", "fpr")["icc_from"] == "group"


def test_a_plan_without_a_pilot_is_for_two_groups(text):
    plan = pv.plan(rate={"fnr": 0.1}, icc={"fnr": 0.12}, trials_per_speaker={"fnr": 230})
    needed = plan.designs.rows()[2]["speakers_needed"]
    assert needed == speakers_needed(2, 0.1, 230, 0.12)
    assert least_speakers(2, 0.1, 230, 0.12) == 27 < needed
    assert len(plan.groups) == len(plan.lists) == 0
    assert f"FNR, 2 groups of one size: {needed} speakers each" in text(plan)


def test_a_target_without_a_pilot_tells_the_trials_it_takes(text):
    plan = pv.plan(target_fpr=0.001, icc={"fpr": 0.001}, trials_per_speaker={"fpr": 101})
    (found,) = plan.lists.rows()
    assert found["trials_needed"] == pytest.approx(30_000 * 1.2)
    assert "36,000" in text(plan)


@pytest.mark.slow
def test_a_wish_for_fewer_errors_is_harder(pilot):
    worse, better = (of(pv.plan(pilot(), detect_ratio=r), "f") for r in (2, 0.5))
    assert better["speakers_needed"] > worse["speakers_needed"]


def test_several_groups_tested_at_once_take_more_confidence(pilot, text):
    rows = [row(group, "fnr", 80, 800, 20, 3.0) for group in "abcde"]
    plan = pv.plan(pilot(rows))
    assert "5 groups tested at once (Holm), give --confidence 0.9950" in text(plan)
    strict = pv.plan(pilot(rows), confidence=0.99)
    assert of(strict, "a")["speakers_needed"] > of(plan, "a")["speakers_needed"]


def test_the_plan_is_json(pilot):
    plan = pv.plan(pilot([*ROWS, row("x", "fnr", 0, 400, 1, None)]), target_fpr=0.01)
    record = json.loads(plan.to_json())
    assert record["asked"]["target_fpr"] == 0.01
    assert set(record["tables"]) == {"groups", "designs", "curves", "conditions", "lists"}
    assert record == json.loads(json.dumps(plan.to_dict()))
    assert "ratio of 2" in repr(plan)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "nothing to plan from"),
        ({"rate": {"fnr": 0.1}}, "--icc of fnr is missing"),
        ({"rate": {"fnr": 0.1}, "icc": {"fnr": 0.1}}, "--trials-per-speaker of fnr is missing"),
        ({"detect_ratio": 1}, "--detect-ratio is 1"),
        ({"detect_ratio": math.nan}, "--detect-ratio is nan"),
        ({"detect_ratio": -2}, "--detect-ratio is -2"),
        ({"power": 1}, "--power is 1"),
        ({"power": None}, "--power is None"),
        ({"confidence": 95}, "--confidence is 95"),
        ({"target_fpr": 0}, "--target-fpr is 0"),
        ({"target_fpr": True}, "--target-fpr is True"),
        ({"rate": {"eer": 0.1}}, "--rate is given for 'eer'; give it for fnr or fpr"),
        ({"rate": {"fnr": 1.5}}, "--rate fnr is 1.5"),
        ({"icc": {"fnr": "x"}}, "--icc fnr is 'x'"),
        ({"icc": 0.1}, "--icc is 0.1; give a mapping"),
        ({"trials_per_speaker": {"fnr": 0}}, "--trials-per-speaker fnr is 0"),
        ({"target_fpr": 0.1, "rate": {"fpr": 0.2}}, "--target-fpr and --rate fpr differ"),
    ],
)
def test_nonsense_is_refused_in_one_sentence(options, told):
    with pytest.raises(pv.ConfigError, match="^" + told.replace("(", r"\(")):
        pv.plan(**options)


def test_a_pilot_without_intervals_is_refused_unless_the_correlation_is_given(pilot):
    bare = pilot(ROWS, deff=None)
    with pytest.raises(pv.DataError, match=r"no design effects.*audit again.*or give --icc"):
        pv.plan(bare)
    assert of(pv.plan(bare, icc={"fnr": 0.1}), "f")["icc_from"] == "given"


def test_a_pilot_of_an_earlier_version_is_refused(pilot):
    audit = pilot()
    frame = audit.groups.to_polars().drop("deff")
    old = Audit(**{**vars(audit), "groups": Table(frame)})
    with pytest.raises(pv.DataError, match="audit again with this version"):
        pv.plan(old)


@pytest.mark.slow
def test_a_pilot_is_also_the_folder_of_an_audit(pilot, tmp_path):
    audit = pilot()
    audit.write(tmp_path / "audit")
    assert pv.plan(tmp_path / "audit").to_dict() == pv.plan(audit).to_dict()


def test_a_real_audit_is_a_pilot(simulate):
    scores, speakers = simulate(speakers=36)
    audit = pv.audit(scores, speakers=speakers, by="gender", operating_points="fpr=0.1")
    plan = pv.plan(audit)
    found = of(plan, "f")
    (seen,) = audit.groups.where(group="f", metric="fnr", definition="").rows()
    assert (found["speakers"], found["errors"]) == (seen["speakers"], seen["errors"])
    assert found["deff"] == pytest.approx(seen["deff"])
    assert found["worse"] > 1
    assert found["speakers_needed"] >= 5
