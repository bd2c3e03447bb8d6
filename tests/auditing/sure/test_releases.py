"""Audits compared: paired on the same trials as if they had been audited together."""

import math

import numpy as np
import pytest

import parivox as pv
from parivox.auditing.result import load

SIZE, TRIALS = 30, 40
EQUAL_COLUMNS = ("value", "other", "difference")


@pytest.fixture(scope="module")
def systems(people):
    """Two systems on the same trials, which find the same people hard."""
    speakers = people(
        dict.fromkeys("ab", SIZE),
        fnr=lambda _, i: (3 + i % 9, TRIALS),
        fpr=lambda _, i: (i % 5 == 0, 6),
    )
    draw = np.random.default_rng(4)
    hard = {name: draw.normal(0, 0.12) for name in speakers.table["id"]}
    for row in speakers.rows:
        hardness = hard[row["enrol"].partition("/")[0]]
        row["score"] = float(0.8 * row["score"] + hardness + draw.normal(0.1, 0.1))
    old = {name: [row[name] for row in speakers.rows] for name in speakers.rows[0]}
    new = dict(old)
    new["score"] = [
        old_score + (0.02 if label else -0.02) + draw.normal(0, 0.03)
        for old_score, label in zip(old["score"], old["label"], strict=True)
    ]
    return speakers.table, old, new


@pytest.fixture(scope="module")
def options(systems):
    return {"speakers": systems[0], "by": "group", "operating_points": ["fpr=0.1", "threshold=0.5"]}


@pytest.fixture(scope="module")
def releases(systems, options):
    _, old, new = systems
    return [pv.audit({"S": trials}, **options) for trials in (old, new)]


def rows_of(table, **row_filter):
    definition_filter = {"definition": ""} if "definition" in table.columns else {}
    return {
        (row["grouping"], row["group"], row["metric"], row["operating_point"]): row
        for row in table.subset(**row_filter, **definition_filter)
        if row["metric"] in {"fpr", "fnr"}
    }


@pytest.mark.slow
def test_apart_they_say_what_they_say_together(systems, options, releases):
    _, old, new = systems
    together = pv.audit({"new": new, "old": old}, compare=True, **options)
    rows_together = rows_of(together.comparison, measure="value")
    rows_apart = rows_of(pv.compare(*releases).changes)
    assert rows_apart.keys() == rows_together.keys()
    widths = {"fpr=0.1": [], "threshold=0.5": []}
    for key, row in rows_apart.items():
        assert row["pairing"] == "paired"
        for name in EQUAL_COLUMNS:
            assert row[name] == rows_together[key][name]
        for prefix in ("", "log_"):
            ends = [
                [change_row[f"{prefix}{end}"] for end in ("low", "high")]
                for change_row in (row, rows_together[key])
            ]
            if None not in ends[1] and key[2:] != ("fpr", "fpr=0.1"):
                (low, high), (their_low, their_high) = ends
                widths[key[3]].append((high - low) / (their_high - their_low))
    # draws of other speakers; of systems this alike, what thresholds add is counted in full
    assert 0.8 < np.median(widths["threshold=0.5"]) < 1.6
    assert 0.9 < np.median(widths["fpr=0.1"]) < 2
    assert min(map(len, widths.values())) >= 6


def test_pairs_are_surer_than_other_trials(releases):
    paired = rows_of(pv.compare(*releases).changes)
    alone = [_without_pairing(release) for release in releases]
    apart = rows_of(pv.compare(*alone).changes)
    assert {row["pairing"] for row in apart.values()} == {"unpaired"}
    key = ("group", "a", "fnr", "threshold=0.5")
    width = [row["log_high"] - row["log_low"] for row in (paired[key], apart[key])]
    assert width[0] < 0.6 * width[1]


def _without_pairing(audit):
    return pv.Audit(
        **{name: getattr(audit, name) for name in audit.__dataclass_fields__ if name != "pairing"},
        pairing=audit.pairing.subset(system="none"),
    )


@pytest.mark.slow
def test_a_release_with_the_same_scores_changes_nothing(systems, options, releases):
    _, old, _ = systems
    again = pv.audit({"renamed": {name: cells[::-1] for name, cells in old.items()}}, **options)
    comparison = pv.compare(releases[0], again)
    assert len(comparison.record["unchanged"]) == 1
    for row in comparison.changes.rows():
        assert row["difference"] == 0
        expected = "inconclusive" if row["reason"] else "equivalent"
        assert row["verdict"] == expected
        if not row["reason"]:
            assert (row["low"], row["high"], row["p"]) == (0, 0, 1)
    judged = [row for row in comparison.changes.rows() if not row["reason"]]
    assert {row["operating_point"] for row in judged} == {"fpr=0.1", "threshold=0.5"}
    policy = {"name": "as before", "rate": "fnr", "at-most": "1x", "than": "baseline"}
    gate = pv.gate(again, {"parivox-policy": 1, "conditions": [policy]}, baseline=releases[0])
    assert gate.outcome == "pass"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["scores", "decisions"])
def test_an_unchanged_release_passes_without_scores_or_errors_too(systems, options, kind):
    speakers, old, _ = systems
    # no errors in a
    in_a = [row.startswith("a") for row in old["enrol"]]
    score = [
        (2.0 if label else -2.0) if is_a else score
        for score, label, is_a in zip(old["score"], old["label"], in_a, strict=True)
    ]
    trials = {name: cells for name, cells in old.items() if name != "score"}
    points = {"operating_points": ["threshold=0.5"]}
    if kind == "decisions":
        trials["decision"] = ["accept" if number >= 0.5 else "reject" for number in score]
        points = {}
    else:
        trials["score"] = score
    audits = [pv.audit({"S": trials}, speakers=speakers, by="group", **points) for _ in range(2)]
    comparison = pv.compare(*audits)
    assert len(comparison.record["unchanged"]) == 1
    assert {row["verdict"] for row in comparison.changes.rows()} == {"equivalent"}
    policy = {"name": "as before", "rate": "fnr", "at-most": "1x", "than": "baseline"}
    policy = {"parivox-policy": 1, "conditions": [policy]}
    assert pv.gate(audits[1], policy, baseline=audits[0]).outcome == "pass"


@pytest.mark.slow
def test_almost_the_same_scores_are_compared_as_any_others(systems, options, releases):
    _, old, _ = systems
    scores = [old["score"][0] + 1e-6, *old["score"][1:]]
    almost = pv.audit({"S": {**old, "score": scores}}, **options)
    comparison = pv.compare(releases[0], almost)
    assert comparison.record["unchanged"] == []
    rows = comparison.changes.subset(operating_point="fpr=0.1", group="a", metric="fnr").rows()
    assert all(row["low"] < 0 < row["high"] for row in rows)


@pytest.mark.slow
def test_what_pairs_is_kept_in_the_folder_and_may_be_taken_out(releases, tmp_path):
    folders = [tmp_path / name for name in ("one", "two")]
    for audit, folder in zip(releases, folders, strict=True):
        audit.save(folder)
    comparison = pv.compare(*folders)
    assert comparison.record["releases"] == ["one", "two"]
    assert comparison.changes.to_dict()["p"] == pv.compare(*releases).changes.to_dict()["p"]
    (folders[0] / "pairing.parquet").unlink()
    assert not len(load(folders[0]).pairing)
    unpaired_rows = pv.compare(*folders).changes.rows()
    assert {row["pairing"] for row in unpaired_rows} == {"unpaired"}
    (folders[1] / "groups.csv").unlink()
    with pytest.raises(pv.DataError, match=r"groups.csv is missing"):
        load(folders[1])


def test_nothing_in_the_folder_tells_of_speakers(releases, systems):
    table = releases[0].pairing.to_dict()  # a hash may hold the letters of an id by chance
    columns = {name: cells for name, cells in table.items() if name not in {"draws", "members"}}
    text = "".join(str(cell) for column_cells in columns.values() for cell in column_cells)
    assert not any(name in text for name in systems[0]["id"])


@pytest.mark.slow
def test_three_releases_have_a_trend(systems, options, releases):
    _, old, _ = systems
    third = dict(old)
    third["score"] = [
        score + (0.06 if label else -0.06)
        for score, label in zip(old["score"], old["label"], strict=True)
    ]
    comparison = pv.compare(*releases, pv.audit({"S": third}, **options))
    pairs = {(row["before"], row["release"]) for row in comparison.changes.rows()}
    names = [f"release {i}" for i in (1, 2, 3)]
    assert pairs == {(names[0], names[1]), (names[1], names[2]), (names[0], names[2])}
    (row,) = comparison.trends.subset(
        grouping="group", group="a", metric="fnr", operating_point="threshold=0.5"
    )
    first_row, last_row = (
        audit.groups.subset(
            grouping="group", group="a", metric="fnr", operating_point="threshold=0.5"
        ).rows()[0]
        for audit in (releases[0], pv.audit({"S": third}, **options))
    )
    assert row["per_release"] == pytest.approx(math.sqrt(last_row["value"] / first_row["value"]))
    assert row["per_release"] < 1


@pytest.mark.slow
def test_groups_that_are_new_or_gone_are_told(systems, options, releases):
    table, _, new = systems
    regrouped = {**table, "group": ["c" if group == "b" else group for group in table["group"]]}
    changes = pv.compare(
        releases[0], pv.audit({"S": new}, **{**options, "speakers": regrouped})
    ).changes
    pairing = {
        row["group"]: row["pairing"] for row in changes.subset(grouping="group", metric="fnr")
    }
    assert pairing["a"] == "paired"
    assert (pairing["b"], pairing["c"]) == ("gone", "new")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"operating_points": "threshold=0.4"}, "have no group in common at the same grouping"),
        ({"intervals": False}, "has no intervals"),
    ],
)
def test_audits_with_nothing_in_common_are_refused(systems, options, releases, change, message):
    with pytest.raises(pv.ParivoxError, match=message):
        pv.compare(releases[0], pv.audit({"S": systems[2]}, **{**options, **change}))


@pytest.mark.slow
def test_one_audit_and_other_systems_are_refused(systems, options, releases):
    with pytest.raises(pv.ConfigError, match="only one audit is given"):
        pv.compare(releases[0])
    renamed = pv.audit({"V": systems[1], "W": systems[2]}, **options)
    with pytest.raises(pv.ConfigError, match="no system is in all audits"):
        pv.compare(releases[0], renamed)
