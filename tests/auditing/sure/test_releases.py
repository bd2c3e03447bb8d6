"""Audits compared: paired on the same trials as if they had been audited together."""

import math

import numpy as np
import pytest

import parivox as pv
from parivox.auditing.result import load

SIZE, TRIALS = 30, 40
SAME = ("value", "other", "difference")


@pytest.fixture(scope="module")
def systems(people):
    """Two systems on the same trials, which find the same people hard."""
    made = people(
        dict.fromkeys("ab", SIZE),
        fnr=lambda _, i: (3 + i % 9, TRIALS),
        fpr=lambda _, i: (i % 5 == 0, 6),
    )
    draw = np.random.default_rng(4)
    hard = {name: draw.normal(0, 0.12) for name in made.table["id"]}
    for row in made.rows:
        own = hard[row["enrol"].partition("/")[0]]
        row["score"] = float(0.8 * row["score"] + own + draw.normal(0.1, 0.1))
    old = {name: [row[name] for row in made.rows] for name in made.rows[0]}
    new = dict(old)
    new["score"] = [
        one + (0.02 if label else -0.02) + draw.normal(0, 0.03)
        for one, label in zip(old["score"], old["label"], strict=True)
    ]
    return made.table, old, new


@pytest.fixture(scope="module")
def how(systems):
    return {"speakers": systems[0], "by": "group", "operating_points": ["fpr=0.1", "threshold=0.5"]}


@pytest.fixture(scope="module")
def releases(systems, how):
    _, old, new = systems
    return [pv.audit({"S": trials}, **how) for trials in (old, new)]


def rows_of(table, **where):
    chosen = {"definition": ""} if "definition" in table.columns else {}
    return {
        (row["grouping"], row["group"], row["metric"], row["operating_point"]): row
        for row in table.where(**where, **chosen)
        if row["metric"] in {"fpr", "fnr"}
    }


def test_apart_they_say_what_they_say_together(systems, how, releases):
    _, old, new = systems
    together = pv.audit({"new": new, "old": old}, compare=True, **how)
    wanted = rows_of(together.comparison, measure="value")
    found = rows_of(pv.compare(*releases).changes)
    assert found.keys() == wanted.keys()
    widths = {"fpr=0.1": [], "threshold=0.5": []}
    for key, row in found.items():
        assert row["pairing"] == "paired"
        for name in SAME:
            assert row[name] == wanted[key][name]
        for of in ("", "log_"):
            ends = [[one[f"{of}{end}"] for end in ("low", "high")] for one in (row, wanted[key])]
            if None not in ends[1] and key[2:] != ("fpr", "fpr=0.1"):
                (low, high), (their_low, their_high) = ends
                widths[key[3]].append((high - low) / (their_high - their_low))
    # draws of other speakers; of systems this alike, what thresholds add is counted in full
    assert 0.8 < np.median(widths["threshold=0.5"]) < 1.6
    assert 0.9 < np.median(widths["fpr=0.1"]) < 2
    assert min(map(len, widths.values())) >= 6


def test_pairs_are_surer_than_other_trials(releases):
    paired = rows_of(pv.compare(*releases).changes)
    alone = [_without_pairing(one) for one in releases]
    apart = rows_of(pv.compare(*alone).changes)
    assert {row["pairing"] for row in apart.values()} == {"unpaired"}
    key = ("group", "a", "fnr", "threshold=0.5")
    width = [row["log_high"] - row["log_low"] for row in (paired[key], apart[key])]
    assert width[0] < 0.6 * width[1]


def _without_pairing(audit):
    return pv.Audit(
        **{name: getattr(audit, name) for name in audit.__dataclass_fields__ if name != "pairing"},
        pairing=audit.pairing.where(system="none"),
    )


def test_an_audit_compared_with_itself_shows_nothing(releases):
    for row in pv.compare(releases[0], releases[0]).changes.rows():
        assert row["difference"] == 0
        assert row["verdict"] in {"no_difference", "cannot_tell"}


def test_what_pairs_is_kept_in_the_folder_and_may_be_taken_out(releases, tmp_path):
    folders = [tmp_path / name for name in ("one", "two")]
    for audit, folder in zip(releases, folders, strict=True):
        audit.write(folder)
    found = pv.compare(*folders)
    assert found.record["releases"] == ["one", "two"]
    assert found.changes.to_dict()["p"] == pv.compare(*releases).changes.to_dict()["p"]
    (folders[0] / "pairing.parquet").unlink()
    assert not len(load(folders[0]).pairing)
    told = pv.compare(*folders).changes.rows()
    assert {row["pairing"] for row in told} == {"unpaired"}
    (folders[1] / "groups.csv").unlink()
    with pytest.raises(pv.DataError, match=r"groups.csv is missing"):
        load(folders[1])


def test_nothing_in_the_folder_tells_of_speakers(releases, systems):
    table = releases[0].pairing.to_dict()  # a hash may hold the letters of an id by chance
    held = {name: of for name, of in table.items() if name not in {"draws", "members"}}
    text = "".join(str(cell) for cells in held.values() for cell in cells)
    assert not any(name in text for name in systems[0]["id"])


def test_three_releases_have_a_trend(systems, how, releases):
    _, old, _ = systems
    third = dict(old)
    third["score"] = [
        one + (0.06 if label else -0.06)
        for one, label in zip(old["score"], old["label"], strict=True)
    ]
    found = pv.compare(*releases, pv.audit({"S": third}, **how))
    pairs = {(row["before"], row["release"]) for row in found.changes.rows()}
    names = [f"release {i}" for i in (1, 2, 3)]
    assert pairs == {(names[0], names[1]), (names[1], names[2]), (names[0], names[2])}
    (row,) = found.trends.where(
        grouping="group", group="a", metric="fnr", operating_point="threshold=0.5"
    )
    first, last = (
        audit.groups.where(
            grouping="group", group="a", metric="fnr", operating_point="threshold=0.5"
        ).rows()[0]
        for audit in (releases[0], pv.audit({"S": third}, **how))
    )
    assert row["per_release"] == pytest.approx(math.sqrt(last["value"] / first["value"]))
    assert row["per_release"] < 1


def test_groups_that_are_new_or_gone_are_told(systems, how, releases):
    table, _, new = systems
    other = {**table, "group": ["c" if one == "b" else one for one in table["group"]]}
    found = pv.compare(releases[0], pv.audit({"S": new}, **{**how, "speakers": other})).changes
    told = {row["group"]: row["pairing"] for row in found.where(grouping="group", metric="fnr")}
    assert told["a"] == "paired"
    assert (told["b"], told["c"]) == ("gone", "new")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"operating_points": "threshold=0.4"}, "have no group of one grouping and operating"),
        ({"intervals": False}, "has no intervals"),
    ],
)
def test_audits_with_nothing_in_common_are_refused(systems, how, releases, change, told):
    with pytest.raises(pv.ParivoxError, match=told):
        pv.compare(releases[0], pv.audit({"S": systems[2]}, **{**how, **change}))


def test_one_audit_and_other_systems_are_refused(systems, how, releases):
    with pytest.raises(pv.ConfigError, match="one audit only"):
        pv.compare(releases[0])
    both = pv.audit({"V": systems[1], "W": systems[2]}, **how)
    with pytest.raises(pv.ConfigError, match="no system is in all of the audits"):
        pv.compare(releases[0], both)
