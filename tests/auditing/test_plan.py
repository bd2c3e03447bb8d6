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
from parivox.report.decision_sentences import PLAN_REASONS
from parivox.report.plan import plan_summary


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


def all_trials_row(metric, errors, trials, speakers, deff, **more):
    return row("all", metric, errors, trials, speakers, deff, grouping="all", allocation="", **more)


ROWS = [
    all_trials_row("fpr", 500, 50_000, 160, 4.0),
    all_trials_row("fnr", 1600, 20_000, 160, 14.0),
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

    def audit_of(rows=ROWS, **changes):
        table = [{**group_row, **changes} for group_row in rows]
        cells = {
            name: [group_row.get(name, "" if kind == "str" else None) for group_row in table]
            for name, kind in TABLES["groups"].items()
        }
        tables = {name: Table.empty(columns) for name, columns in TABLES.items()}
        tables["groups"] = Table.of(cells, TABLES["groups"])
        systems = dict.fromkeys(zip(cells["system"], cells["list"], strict=True))
        record = {
            "versions": {"parivox": pv.__version__},
            "options": Options().recorded(),
            "groupings": [],
            "inputs": [{"system": system, "list": list_} for system, list_ in systems],
        }
        return Audit(**tables, record=record, provenance=[])

    return audit_of


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


def planned_row(plan, group, metric="fnr"):
    (planned,) = plan.groups.subset(group=group, metric=metric).rows()
    return planned


@pytest.mark.slow
def test_each_group_stands_against_all_others_together(pilot):
    planned = planned_row(pv.plan(pilot()), "f")
    icc = (12 - 1) / (100 - 1), (10 - 1) / (100 - 1)
    assert (planned["speakers"], planned["errors"], planned["deff"]) == (80, 800, pytest.approx(12))
    assert planned["rate"] == pytest.approx(700 / 8000)
    assert (planned["icc"], planned["icc_from"]) == (pytest.approx(icc[0]), "group")
    group_sample, others_sample = Sample(80, 100, icc[0]), Sample(80, 100, icc[1], df=79)
    assert planned["worse"] == pytest.approx(
        detectable_ratio(700 / 8000, group_sample, others_sample)
    )
    assert planned["better"] == pytest.approx(
        detectable_ratio(700 / 8000, group_sample, others_sample, better=True)
    )
    assert planned["better"] < 1 < planned["worse"]
    assert planned["speakers_needed"] == speakers_needed(2, 700 / 8000, 100, icc[0])
    assert planned["trials_needed"] == 100 * planned["speakers_needed"]


@pytest.mark.slow
def test_a_nontarget_trial_has_two_speakers(pilot):
    planned = planned_row(pv.plan(pilot()), "m", "fpr")
    assert planned["trials_per_speaker"] == 2 * 12_000 / 80
    assert planned["icc"] == pytest.approx((5 - 1) / (2 * 299))
    trials_each = planned["trials_needed"] / planned["speakers_needed"]
    assert trials_each == pytest.approx(planned["trials_per_speaker"] / 2)


@pytest.mark.slow
def test_the_pooled_row_is_no_group(pilot):
    plan = pv.plan(pilot())
    assert {plan_row["group"] for plan_row in plan.groups} == {"f", "m"}
    assert [plan_row["group"] for plan_row in plan.lists] == ["all", "f", "m"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("group", "speakers", "errors", "deff"),
    [("few speakers", 6, 60, 3.0), ("few errors", 80, 12, 1.0), ("no errors", 80, 0, None)],
)
def test_a_group_that_lacks_its_design_effect_takes_that_of_all(
    pilot, group, speakers, errors, deff
):
    planned = planned_row(
        pv.plan(pilot([*ROWS, row("x", "fnr", errors, 8000, speakers, deff)])), "x"
    )
    assert planned["icc_from"] == "pooled", group
    assert 9 / 99 < planned["icc"] < 11 / 99
    least_deff = 0 if deff is None else deff
    assert planned["deff"] >= max(least_deff, 9)
    assert planned["speakers_needed"] > 5


@pytest.mark.slow
def test_an_unbelievably_large_design_effect_is_not_hoped_away(pilot):
    planned = planned_row(pv.plan(pilot([*ROWS, row("x", "fnr", 60, 600, 6, 40.0)])), "x")
    assert (planned["deff"], planned["icc_from"]) == (pytest.approx(40), "pooled")


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
    planned = planned_row(plan, "x")
    assert planned["reason"] == reason
    assert None in {planned["worse"], planned["speakers_needed"]}
    assert "FNR of x" in text(plan)
    assert f": {PLAN_REASONS[reason]}" in text(plan)


@pytest.mark.slow
def test_groups_that_share_trials_are_not_told_apart(pilot):
    plan = pv.plan(pilot(ROWS, allocation="either"))
    assert planned_row(plan, "f", "fpr")["reason"] == "shared_trials"
    assert planned_row(plan, "f", "fnr")["reason"] == ""


def test_one_trial_a_speaker_is_an_independent_one(pilot):
    rows = [row(group, "fnr", 40, 400, 400, 1.0) for group in "xy"]
    planned = planned_row(pv.plan(pilot(rows)), "x")
    assert (planned["icc"], planned["deff"]) == (0, 1)
    assert planned["worse"] > 1


@pytest.mark.slow
def test_more_trials_save_less_than_more_speakers(pilot):
    rows = pv.plan(pilot()).designs.subset(metric="fnr").rows()
    assert [plan_row["trials_per_speaker"] for plan_row in rows] == [25, 50, 100, 200, 400]
    assert [plan_row["saved"] for plan_row in rows] == sorted(
        plan_row["saved"] for plan_row in rows
    )
    assert rows[2]["saved"] == 0
    assert 0 < rows[3]["saved"] < 0.1
    assert {plan_row["groups"] for plan_row in rows} == {2}


@pytest.mark.slow
def test_curves_rise_with_speakers_and_with_trials(pilot):
    rows = pv.plan(pilot()).curves.subset(metric="fnr").rows()
    power = {
        (plan_row["trials_per_speaker"], plan_row["speakers"]): plan_row["power"]
        for plan_row in rows
    }
    for (trials, speakers), cell_power in power.items():
        assert cell_power <= power.get((2 * trials, speakers), 1) + 1e-9
        assert cell_power <= power.get((trials, 2 * speakers), 1) + 1e-9


@pytest.mark.slow
def test_a_list_supports_the_rate_of_30_independent_errors(pilot):
    lists_by_group = {
        plan_row["group"]: plan_row for plan_row in pv.plan(pilot(), target_fpr=0.01).lists
    }
    assert lists_by_group["all"]["supported_fpr"] == pytest.approx(30 * 4.0 / 50_000)
    assert lists_by_group["all"]["is_supported"]
    assert lists_by_group["all"]["trials_needed"] == pytest.approx(30 * 4.0 / 0.01)
    plan = pv.plan(pilot(), target_fpr=0.0005)
    (whole_list,) = plan.lists.subset(grouping="all").rows()
    assert not whole_list["is_supported"]
    assert whole_list["expected_errors"] == 25
    assert whole_list["deff"] < 4, "speakers vary less where rates are lower"


@pytest.mark.slow
def test_the_operating_point_nearest_to_the_target_is_planned_for(pilot, text):
    lower = [
        {**plan_row, "operating_point": "fpr=0.001", "errors": plan_row["errors"] // 10}
        | {"value": plan_row["value"] / 10}
        for plan_row in ROWS
    ]
    audit = pilot([*ROWS, *lower])
    assert {plan_row["operating_point"] for plan_row in pv.plan(audit).groups} == {
        "fpr=0.01",
        "fpr=0.001",
    }
    assert "Further results with --json: fpr=0.001." in text(pv.plan(audit))
    plan = pv.plan(audit, target_fpr=0.002)
    assert {plan_row["operating_point"] for plan_row in plan.groups} == {"fpr=0.001"}
    assert {plan_row["rate"] for plan_row in plan.groups.subset(metric="fpr")} == {0.002}
    assert "at fpr=0.001, the operating point of the pilot nearest to FPR 0.2 %" in text(plan)


@pytest.mark.slow
def test_several_systems_lists_and_groupings_are_kept_apart(pilot, text):
    listed_rows = [{**plan_row, "system": "L", "list": "H"} for plan_row in ROWS]
    ages = [{**plan_row, "grouping": "age"} for plan_row in ROWS if plan_row["grouping"] != "all"]
    plan = pv.plan(pilot([*ROWS, *ages, *listed_rows]))
    keys = {
        (plan_row["system"], plan_row["list"], plan_row["grouping"]) for plan_row in plan.groups
    }
    assert keys == {("V2", "", "gender"), ("V2", "", "age"), ("L", "H", "gender")}
    (first_row, *_) = plan.groups.subset(system="L", group="f", metric="fnr").rows()
    assert first_row["worse"] == planned_row(pv.plan(pilot()), "f")["worse"]
    assert "L on H, at fpr=0.01" in text(plan)


@pytest.mark.slow
def test_what_is_given_wins_over_the_pilot(pilot):
    plan = pv.plan(pilot(), rate={"fnr": 0.02}, icc={"fnr": 0.3}, trials_per_speaker={"fnr": 10})
    planned = planned_row(plan, "f")
    assert (planned["rate"], planned["icc"], planned["icc_from"]) == (0.02, 0.3, "given")
    assert planned["speakers_needed"] == speakers_needed(2, 0.02, 10, 0.3)
    assert planned["trials_per_speaker"] == 100, "of today's data"
    assert plan.designs.subset(metric="fnr").rows()[2]["trials_per_speaker"] == 10
    assert planned_row(plan, "f", "fpr")["icc_from"] == "group"


@pytest.mark.slow
def test_a_plan_without_a_pilot_is_for_two_groups(text):
    plan = pv.plan(rate={"fnr": 0.1}, icc={"fnr": 0.12}, trials_per_speaker={"fnr": 230})
    needed = plan.designs.rows()[2]["speakers_needed"]
    assert needed == speakers_needed(2, 0.1, 230, 0.12)
    assert least_speakers(2, 0.1, 230, 0.12) == 27 < needed
    assert len(plan.groups) == len(plan.lists) == 0
    assert f"2 groups of equal size: each group needs {needed} speakers" in text(plan)


@pytest.mark.slow
def test_a_target_without_a_pilot_tells_the_trials_it_takes(text):
    plan = pv.plan(target_fpr=0.001, icc={"fpr": 0.001}, trials_per_speaker={"fpr": 101})
    (list_row,) = plan.lists.rows()
    assert list_row["trials_needed"] == pytest.approx(30_000 * 1.2)
    assert "36,000" in text(plan)


@pytest.mark.slow
def test_a_wish_for_fewer_errors_is_harder(pilot):
    worse, better = (planned_row(pv.plan(pilot(), detect_ratio=r), "f") for r in (2, 0.5))
    assert better["speakers_needed"] > worse["speakers_needed"]


@pytest.mark.slow
def test_several_groups_tested_at_once_take_more_confidence(pilot, text):
    rows = [row(group, "fnr", 80, 800, 20, 3.0) for group in "abcde"]
    plan = pv.plan(pilot(rows))
    assert "5 groups together (Holm), use --confidence 0.9950" in text(plan)
    strict = pv.plan(pilot(rows), confidence=0.99)
    assert planned_row(strict, "a")["speakers_needed"] > planned_row(plan, "a")["speakers_needed"]


@pytest.mark.slow
def test_the_plan_is_json(pilot):
    plan = pv.plan(pilot([*ROWS, row("x", "fnr", 0, 400, 1, None)]), target_fpr=0.01)
    record = json.loads(plan.to_json())
    assert record["asked"]["target_fpr"] == 0.01
    assert set(record["tables"]) == {"groups", "designs", "curves", "conditions", "lists"}
    assert record == json.loads(json.dumps(plan.to_dict()))
    assert "ratio of 2" in repr(plan)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "a plan needs a pilot audit or assumed rates"),
        ({"rate": {"fnr": 0.1}}, "icc of fnr is missing"),
        ({"rate": {"fnr": 0.1}, "icc": {"fnr": 0.1}}, "trials_per_speaker of fnr is missing"),
        ({"detect_ratio": 1}, "detect_ratio is 1"),
        ({"detect_ratio": math.nan}, "detect_ratio is nan"),
        ({"detect_ratio": -2}, "detect_ratio is -2"),
        ({"power": 1}, "power is 1"),
        ({"power": None}, "power is None"),
        ({"confidence": 95}, "confidence is 95"),
        ({"target_fpr": 0}, "target_fpr is 0"),
        ({"target_fpr": True}, "target_fpr is True"),
        ({"rate": {"eer": 0.1}}, "rate is given for 'eer'; give it for fnr, fpr or sfar"),
        ({"rate": {"fnr": 1.5}}, "rate fnr is 1.5"),
        ({"icc": {"fnr": "x"}}, "icc fnr is 'x'"),
        ({"icc": 0.1}, "icc is 0.1; give a mapping"),
        ({"trials_per_speaker": {"fnr": 0}}, "trials_per_speaker fnr is 0"),
        ({"target_fpr": 0.1, "rate": {"fpr": 0.2}}, "target_fpr and rate fpr are different"),
    ],
)
def test_nonsense_is_refused_in_one_sentence(options, message):
    with pytest.raises(pv.ConfigError, match="^" + message.replace("(", r"\(")):
        pv.plan(**options)


@pytest.mark.slow
def test_a_pilot_without_intervals_is_refused_unless_the_correlation_is_given(pilot):
    bare = pilot(ROWS, deff=None)
    with pytest.raises(pv.DataError, match=r"no design effects.*audit again.*or give icc"):
        pv.plan(bare)
    assert planned_row(pv.plan(bare, icc={"fnr": 0.1}), "f")["icc_from"] == "given"


def test_a_pilot_of_an_earlier_version_is_refused(pilot):
    audit = pilot()
    frame = audit.groups.to_polars().drop("deff")
    old = Audit(**{**vars(audit), "groups": Table(frame)})
    with pytest.raises(pv.DataError, match="audit again with this version"):
        pv.plan(old)


@pytest.mark.slow
def test_a_pilot_is_also_the_folder_of_an_audit(pilot, tmp_path):
    audit = pilot()
    audit.save(tmp_path / "audit")
    assert pv.plan(tmp_path / "audit").to_dict() == pv.plan(audit).to_dict()


@pytest.mark.slow
def test_a_real_audit_is_a_pilot(simulate):
    scores, speakers = simulate(speakers=36)
    audit = pv.audit(scores, speakers=speakers, by="gender", operating_points="fpr=0.1")
    plan = pv.plan(audit)
    planned = planned_row(plan, "f")
    (audit_row,) = audit.groups.subset(group="f", metric="fnr", definition="").rows()
    assert (planned["speakers"], planned["errors"]) == (audit_row["speakers"], audit_row["errors"])
    assert planned["deff"] == pytest.approx(audit_row["deff"])
    assert planned["worse"] > 1
    assert planned["speakers_needed"] >= 5


@pytest.mark.parametrize(
    ("rate", "ratio", "reason"),
    [
        (0.05, 1.0001, "too_many_speakers"),
        (1e-9, 2, "too_many_speakers"),
        (0.5, 3, "rate_above_one"),
    ],
)
def test_a_plan_without_a_number_of_speakers_says_why(rate, ratio, reason):
    options = {"icc": {"fnr": 0.1}, "trials_per_speaker": {"fnr": 10}}
    plan = pv.plan(rate={"fnr": rate}, detect_ratio=ratio, **options)
    assert {row["reason"] for row in plan.designs} == {reason}
    assert PLAN_REASONS[reason] in str(plan)
