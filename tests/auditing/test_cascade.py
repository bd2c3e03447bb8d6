"""A countermeasure before the verification system, against vectors worked out apart."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

import parivox as pv
from parivox.auditing.cascade import read_countermeasure
from parivox.cli import main
from parivox.errors import ConfigError, DataError
from parivox.report import overview
from parivox.report.audit_queries import scopes
from parivox.report.html.method import command
from parivox.report.sheets.sheet import UNDEFINED
from parivox.report.sheets.supplementary import rejecting_stages, tandem_costs

VECTORS = json.loads((Path(__file__).parents[1] / "vectors_spoof.json").read_text(encoding="utf-8"))
VECTOR = VECTORS["S7.1_cascade"]
ROWS = VECTOR["inputs"]["rows_label_asv_cm"]
SPEAKERS = ["s0", "s1", "s2", "s3"]


def trials():
    columns = {name: [] for name in ("enrol", "test", "enrol_speaker", "test_speaker")}
    for i, (label, _, _) in enumerate(ROWS):
        speaker = SPEAKERS[i % 4]
        columns["enrol"].append(f"{speaker}-model")
        columns["test"].append(f"u{i:02}")
        columns["enrol_speaker"].append(speaker)
        other = SPEAKERS[(i + 2) % 4]
        columns["test_speaker"].append(other if label == "nontarget" else speaker)
    columns["score"] = [asv for _, asv, _ in ROWS]
    columns["label"] = [label for label, _, _ in ROWS]
    columns["attack"] = ["A17" if label == "spoof" else "" for label, _, _ in ROWS]
    return columns


def countermeasure():
    tests = trials()["test"]
    return {"filename": tests, "cm-score": [cm for _, _, cm in ROWS]}


PEOPLE = {"id": SPEAKERS, "group": ["f", "m", "f", "m"]}


def audited(scores=None, **options):
    options = {
        "by": "group",
        "operating_points": ("threshold=2",),
        "cost": ("asvspoof5",),
        "intervals": False,
        "cm": countermeasure(),
        "cm_threshold": "0",
        **options,
    }
    return pv.audit(scores or trials(), PEOPLE, **options)


def rate(audit, metric):
    (row,) = audit.groups.subset(
        grouping="all", metric=metric, operating_point="threshold=2", definition=""
    ).rows()
    return row["value"]


def test_both_systems_accept_a_trial():
    audit, wanted = audited(), VECTOR["expected"]["observed"]
    for metric in ("fnr", "fpr", "sfar"):
        assert rate(audit, metric) == pytest.approx(wanted[metric], abs=1e-12)
    (cost,) = audit.groups.subset(
        grouping="all", metric="cdet_norm", operating_point="threshold=2"
    ).rows()
    assert cost["value"] == pytest.approx(VECTOR["expected"]["observed_adcf_norm"], abs=1e-12)
    (best,) = audit.groups.subset(grouping="all", metric="min_cdet_norm").rows()
    minimum = VECTOR["expected"]["min_adcf_of_asv_axis_with_cm_fixed"]
    assert best["value"] == pytest.approx(minimum["norm"], abs=1e-12)
    assert best["threshold"] == minimum["threshold"]
    assert audit.record["countermeasure_thresholds"] == {"scores": 0.0}
    assert overview.overview(audit).threshold == (
        "accepted if the countermeasure score is at least 0 and the ASV score at least 2"
    )


@pytest.mark.slow
def test_target_trials_that_each_stage_rejects_are_counted_by_group(follows_schema):
    audit = audited()
    follows_schema(audit.to_dict())
    rows = audit.data.subset(source="countermeasure").rows()
    counts = {(row["group"], row["item"]): row["count"] for row in rows}
    first, second = (
        f"target_trials_rejected_by_{name}" for name in ("countermeasure", "verification")
    )
    n_target = sum(label == "target" for label, _, _ in ROWS)
    assert counts["all", first] == VECTOR["expected"]["cm_miss_bonafide"] * n_target == 1
    assert counts["all", first] + counts["all", second] == rate(audited(), "fnr") * n_target
    for item in (first, second):
        assert counts["f", item] + counts["m", item] == counts["all", item]


@pytest.mark.slow
def test_the_second_stage_rejects_at_the_first_point_with_a_threshold():
    def counts(*points):
        rows = audited(operating_points=points).data.subset(source="countermeasure").rows()
        return {
            (row["group"], row["item"]): row["count"] for row in rows if row["count"] is not None
        }

    with_threshold = counts("threshold=2")
    assert counts("fpr=0.00001", "threshold=2") == with_threshold
    without = counts("fpr=0.00001")
    assert {item for _, item in without} == {"target_trials_rejected_by_countermeasure"}
    assert without.items() <= with_threshold.items()
    audit = audited(operating_points=("fpr=0.00001",))
    scope = {**next(iter(scopes(audit))).filters, "grouping": "group"}
    (sheet,) = rejecting_stages(audit, scope, {"f": {}, "m": {}})
    assert sheet.rows[0][-1].text == UNDEFINED


TANDEM = VECTORS["S7.2_tdcf_2020"]["expected"]


def tandem_rows(audit):
    rows = audit.data.subset(source="countermeasure", grouping="all").rows()
    return {row["item"]: row for row in rows if "tdcf" in row["item"]}


def test_the_tandem_cost_has_one_row_for_all_trials():
    audit = audited()
    values = {item: row["value"] for item, row in tandem_rows(audit).items()}
    wanted = {
        "tdcf": TANDEM["at_cm_threshold_0"]["norm"],
        "tdcf_raw": TANDEM["at_cm_threshold_0"]["raw"],
        "min_tdcf": TANDEM["min_norm"],
    }
    assert values == pytest.approx(wanted, abs=1e-12)
    assert not [row for row in audit.data.rows() if "tdcf" in row["item"] and row["group"] != "all"]
    scope = next(iter(scopes(audit))).filters
    (sheet,) = tandem_costs(audit, {**scope, "grouping": "group"})
    assert "err independently" in sheet.title
    assert [cell.text for cell in sheet.rows[0]] == ["asvspoof5", "0.8757", "0.4899", "0.8604"]
    assert not list(tandem_costs(audit, {**scope, "grouping": "other"}))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"operating_points": ("fpr=0.00001",)}, "target_rate_too_low"),
        ({"operating_points": ("threshold=99",), "cost": ("voxsrc",)}, ""),
        (
            {"operating_points": ("threshold=-99",), "cost": (".5,.25,.25,1,9,9",)},
            "verification_costs_more_than_rejecting_all",
        ),
    ],
)
def test_a_tandem_cost_without_a_value_says_why(change, reason):
    rows = tandem_rows(audited(**change))
    assert len(rows) == 3
    for row in rows.values():
        assert (row["value"] is None) is bool(reason)
        assert row["note"] == reason


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["bpcer=0.125", "apcer=0.25", "eer", "threshold=0.5", "0.5"])
def test_thresholds_of_a_countermeasure_are_set_on_all_recordings(rule):
    (threshold,) = audited(cm_threshold=rule).record["countermeasure_thresholds"].values()
    bona_fide = [cm for label, _, cm in ROWS if label != "spoof"]
    spoofed = [cm for label, _, cm in ROWS if label == "spoof"]
    bpcer = sum(cm < threshold for cm in bona_fide) / len(bona_fide)
    apcer = sum(cm >= threshold for cm in spoofed) / len(spoofed)
    if rule.startswith("bpcer"):
        assert bpcer <= 0.125
    elif rule.startswith("apcer"):
        assert apcer <= 0.25
    elif rule == "eer":
        assert abs(bpcer - apcer) <= 1 / min(len(bona_fide), len(spoofed))
    else:
        assert threshold == 0.5


def test_a_countermeasure_does_not_join_decisions():
    decided = {**trials(), "decision": ["accept" if asv >= 2 else "reject" for _, asv, _ in ROWS]}
    with pytest.raises(ConfigError, match="contains decisions") as refused:
        audited(decided)
    assert refused.value.hint


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["-0.5", "bpcer=0.125"])
def test_the_command_of_the_report_repeats_the_cascade(rule, tmp_path, monkeypatch):
    audit = audited(cm_threshold=rule)
    tables = {"SCORES_1": trials(), "SPEAKERS": PEOPLE, "CM": countermeasure()}
    for name, columns in tables.items():
        rows = [columns, *zip(*columns.values(), strict=True)]
        text = "\n".join(",".join(map(str, row)) for row in rows)
        (tmp_path / name).write_text(text + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    words = shlex.split(command(audit))[1:]
    assert main([*words, "--quiet", "--out", "again"]) in {0, None}
    again = pv.load("again")
    assert again.record["countermeasure_rule"] == rule
    assert (
        again.record["countermeasure_thresholds"].popitem()[1]
        == (audit.record["countermeasure_thresholds"].popitem()[1])
    )
    assert command(again) == command(audit)


def test_trials_without_a_score_of_the_countermeasure_are_not_scored():
    scores = countermeasure()
    scores = {name: cells[:-2] for name, cells in scores.items()}
    audit = audited(cm=scores)
    items = {row["item"]: row["count"] for row in audit.data.rows()}
    assert items["trials_without_countermeasure_score"] == 2
    (row,) = audit.groups.subset(grouping="all", metric="sfar").rows()
    assert row["trials"] == 6
    # one of 7 spoof trials and one of the nontarget trials, but no target trial
    (caveat,) = [
        each for each in overview.overview(audit).caveats if "countermeasure" in each.short
    ]
    assert caveat.short.endswith("excluded, without a countermeasure score")


@pytest.mark.slow
def test_missing_scores_of_a_countermeasure_are_a_limitation_with_the_rate_they_hide():
    columns = {name: [] for name in ("enrol", "test", "enrol_speaker", "score", "label", "attack")}
    people = {"id": [f"s{i:02}" for i in range(40)], "group": ["f", "m"] * 20}
    for i, speaker in enumerate(people["id"]):
        for k, label in enumerate(["target"] * 6 + ["nontarget"] * 3 + ["spoof"] * 3):
            score = float(k % 3 + i % 3 + 2 * (label == "target"))
            cells = (speaker, f"{speaker}-{k}", speaker, score, label)
            for name, cell in zip(columns, cells, strict=False):
                columns[name].append(cell)
            columns["attack"].append("A07" if label == "spoof" else "")
    columns["test_speaker"] = [
        people["id"][(i // 12 + 1) % 40] if label == "nontarget" else speaker
        for i, (label, speaker) in enumerate(
            zip(columns["label"], columns["enrol_speaker"], strict=True)
        )
    ]
    # half of the target trials of f have no score of the countermeasure
    scored = [
        test
        for test, speaker in zip(columns["test"], columns["enrol_speaker"], strict=True)
        if int(speaker[1:]) % 2 or test[-1] not in "024" or len(test) > 5
    ]
    audit = pv.audit(
        columns,
        people,
        by="group",
        operating_points=("threshold=3",),
        intervals=False,
        cm={"filename": scored, "cm-score": [1.0] * len(scored)},
        cm_threshold="0",
    )
    words = {caveat.code: caveat.sentence for caveat in overview.overview(audit).caveats}
    limitation = words["trials_without_countermeasure_score"]
    assert limitation.startswith("60 target trials (25.0 %) excluded, without a countermeasure")
    rates = audit.groups.subset(grouping="all", metric="fnr").rows()[0]
    if_rejected = (rates["errors"] + 60) / (rates["trials"] + 60)
    assert f"would be {100 * if_rejected:.3g} % instead of {100 * rates['value']:.3g} %" in (
        limitation.replace("\N{NO-BREAK SPACE}", " ")
    )
    assert "50.0 % of the target trials of f have no score, 0 % of m" in (
        words["missing_scores_differ"].replace("\N{NO-BREAK SPACE}", " ")
    )
    # with no score of any spoof trial, spoof accepts have no rate, and this is said
    bona_fide = [
        test
        for test, label in zip(columns["test"], columns["label"], strict=True)
        if label != "spoof"
    ]
    audit = pv.audit(
        columns,
        people,
        by="group",
        operating_points=("threshold=3",),
        intervals=False,
        cm={"filename": bona_fide, "cm-score": [1.0] * len(bona_fide)},
        cm_threshold="0",
    )
    words = {caveat.code: caveat.sentence for caveat in overview.overview(audit).caveats}
    limitation = words["trials_without_countermeasure_score"]
    assert limitation.startswith("120 spoof trials (100 %) excluded, without a countermeasure")


@pytest.mark.parametrize(
    "text",
    [
        "filename\tcm-score\nu1\t0.5\nu2\t-0.25\n",
        "u1 0.5\nu2 -0.25\n",
        "u1 A11 spoof 0.5\nu2 - bonafide -0.25\n",
        "spk filename cm-score asv-score sasv-score\ns u1 0.5 - -\nt u1 0.5 1 1\ns u2 -0.25 1 1",
    ],
)
def test_files_of_countermeasures_are_read(tmp_path, text):
    (tmp_path / "cm.txt").write_text(text)
    read = read_countermeasure(tmp_path / "cm.txt", "0")
    assert dict(read.scores.table.rows()) == {"u1": 0.5, "u2": -0.25}


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"cm_threshold": None}, ConfigError, "cm needs cm_threshold"),
        ({"cm": None}, ConfigError, "needs the scores of a countermeasure"),
        ({"cm_threshold": "fpr=0.1"}, ConfigError, "give a number, bpcer=X, apcer=X or eer"),
        ({"cm_threshold": "bpcer=0.0001"}, ConfigError, "too few bona fide or spoofed recordings"),
        ({"llr": True}, ConfigError, "cm: cannot be used with llr=True; leave out one of them"),
        ({"llr_base": 2}, ConfigError, "cm: cannot be used with llr_base"),
        ({"cm": {"filename": ["x"], "cm-score": [1.0]}}, ConfigError, "too few bona fide"),
        ({"cm": {"filename": ["a", "a"], "cm-score": [1, 2]}}, DataError, "'a' has two scores"),
        ({"cm": {"filename": ["a"], "cm-score": ["high"]}}, DataError, "'high' is not a score"),
        ({"cm": {"file": ["a"], "number": ["1"]}}, DataError, "has no column 'cm-score'"),
        (
            {"cm": {"file": ["a"], "asv-score": ["1"], "p_bonafide": ["1"], "sasv-score": ["1"]}},
            DataError,
            "found: file, asv-score, p_bonafide, sasv-score.; rename the column 'p_bonafide' to cm",
        ),
        (
            {"cm": {"wav_name": ["a"], "cm-score": ["1"]}},
            DataError,
            "has no column 'utterance' .found: wav_name, cm-score.; rename the column 'wav_name'",
        ),
    ],
)
def test_what_cannot_be_a_cascade_is_refused(options, error, message):
    if options.get("cm", {}) and "x" in options["cm"].get("filename", ()):
        options = {**options, "cm_threshold": "eer"}
    with pytest.raises(error, match=message):
        audited(**options)


def test_no_threshold_reaches_what_too_many_certain_rejects_exceed():
    options = {"cm_threshold": "100", "operating_points": ("fnr=0.5", "eer", "threshold=-50")}
    points = audited(**options).operating_points.rows()
    reasons = {row["operating_point"]: row["reason"] for row in points}
    assert reasons["fnr=0.5"] == "too_many_certain_rejects"
    assert reasons["threshold=-50"] == ""
    for row in points:
        assert row["threshold"] is None or row["threshold"] > -1e300
