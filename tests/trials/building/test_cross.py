"""Cross lists: exact numbers for every two groups, everybody equally often."""

import itertools
from types import SimpleNamespace

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import parivox as pv
from parivox.errors import ConfigError, DataError

SEEDS = st.integers(0, 2**32)


def build(table, people, **asked):
    return pv.trials.build_cross(table, speakers=people, **{"by": "nation"} | asked)


def cells(found):
    return {
        (g, h): n for g, h, n in found.nontarget.group_by("enrol_group", "test_group").len().rows()
    }


def spread(found, *columns):
    """Most minus least trials of a speaker, in the worst place."""
    *place, _ = columns
    counts = found.nontarget.group_by(columns).len()
    return counts.group_by(place).agg(pl.col("len").max() - pl.col("len").min())["len"].max()


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(SEEDS, st.integers(1, 60), st.integers(0, 3))
def test_every_cell_is_exact_and_everybody_takes_part_equally_often(pool, seen, seed, n, list_):
    table, people = pool(seed, speakers=14, nations="XYZ")
    try:
        built = build(table, people, per_cell=n, seed=list_)
    except DataError as error:
        assert "at most" in str(error)  # noqa: PT017
        return
    found = seen(built.lists[0], people)
    groups = built.manifest["speakers"]
    assert cells(found) == dict.fromkeys(itertools.product(groups, repeat=2), n)
    assert found.repeats == 0
    for side in ("enrol", "test"):
        if n >= max(groups.values()):  # else some have none, and are not counted
            assert spread(found, "enrol_group", "test_group", f"{side}_speaker") <= 1


@pytest.mark.slow
def test_over_all_cells_everybody_takes_part_equally_often_too(pool, seen):
    _, people = pool(11, speakers=14, nations="XYZ")
    table = {"utterance": [f"{s}/{r}/1" for s in people["speaker"] for r in "uvwxyz"]}
    for n in range(14, 37):
        found = seen(build(table, people, per_cell=n).lists[0], people)
        assert spread(found, "enrol_group", "enrol_speaker") <= 1
        assert spread(found, "test_group", "test_speaker") <= 1


def test_speakers_with_one_utterance_take_part_as_others_do(seen):
    table = {"utterance": [f"{s}/r/1" for s in "abcdefgh"]}
    people = {"speaker": list("abcdefgh"), "nation": [*"XXXYYYYY"]}
    found = seen(build(table, people, per_cell=3).lists[0], people)
    assert found.repeats == 0
    assert set(cells(found).values()) == {3}
    with pytest.raises(DataError, match="give at most 3 trials per cell, 12 in all"):
        build(table, people, per_cell=4)


@pytest.mark.slow
@given(st.integers(4, 180))
@settings(max_examples=20, deadline=None)
def test_a_budget_is_shared_out_to_the_last_trial(pool, seen, n):
    table, people = pool(11, speakers=14)
    found = seen(build(table, people, trials=n).lists[0], people)
    assert found.nontarget.height == n
    assert set(cells(found).values()) <= {n // 4, n // 4 + 1}


def test_the_largest_budget_fits_and_one_more_does_not(pool, seen):
    table, people = pool(11, speakers=14)
    with pytest.raises(DataError, match="at most") as raised:
        build(table, people, per_cell=10**6)
    most = int(str(raised.value).split("at most ")[1].split(" ")[0].replace(",", ""))
    assert seen(build(table, people, per_cell=most).lists[0], people).repeats == 0
    with pytest.raises(DataError, match="at most"):
        build(table, people, per_cell=most + 1)


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_complete_is_every_pair_once(pool, seen, seed):
    table, people = pool(seed, speakers=9)
    try:
        found = seen(build(table, people, complete=True).lists[0], people)
    except DataError:
        return
    taking = {*found.frame["enrol_speaker"], *found.frame["test_speaker"]}
    ids = [one for one in table["utterance"] if one.split("/")[0] in taking]
    pairs = {frozenset(pair) for pair in found.frame.select("enrol", "test").rows()}
    assert pairs == {
        frozenset(pair)
        for pair in itertools.combinations(ids, 2)
        if pair[0].split("/")[0] != pair[1].split("/")[0]
    }
    assert found.repeats == 0


def test_target_trials_come_first_and_across_recordings(pool, seen):
    table, people = pool(11, speakers=14)
    table = {"utterance": [f"{s}/{r}/1" for s in people["speaker"] for r in "uvwxyz"]}
    found = seen(build(table, people, per_cell=20, targets=7).lists[0], people)
    assert set(found.target.group_by("enrol_speaker").len()["len"]) == {7}
    assert (found.target["enrol_recording"] != found.target["test_recording"]).all()
    assert found.frame["label"][: 14 * 7].unique().to_list() == ["target"]
    with pytest.raises(DataError, match="give at most 15"):
        build(table, people, per_cell=20, targets=16)


def test_a_speaker_alone_in_a_group_takes_no_part():
    table = {"utterance": [f"{s}/{r}/1" for s in "abcde" for r in "xyz"]}
    people = {"speaker": list("abcde"), "nation": ["X", "X", "Y", "Y", "Z"]}
    built = build(table, people, per_cell=4)
    assert built.left_out.rows() == [
        {"group": "Z", "reason": "only_speaker_of_group", "speakers": 1, "values": ""}
    ]
    assert built.manifest["lists"] == [{"target": 0, "nontarget": 16}]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({}, "give one of trials"),
        ({"trials": 9, "per_cell": 9}, "one of trials"),
        ({"trials": 3}, "trials=3: fewer than the 4 cells; give at least one trial per cell"),
        ({"per_cell": 0}, "per_cell is 0"),
        ({"per_cell": 1, "targets": -1}, "targets is -1"),
    ],
)
def test_wrong_options_are_refused(pool, asked, told):
    table, people = pool(11, speakers=14)
    with pytest.raises(ConfigError, match=told):
        build(table, people, **asked)


def test_no_group_of_two_is_refused():
    table = {"utterance": ["a/x/1", "b/x/1"]}
    with pytest.raises(DataError, match="no group of nation has two speakers"):
        build(table, {"speaker": ["a", "b"], "nation": ["X", "Y"]}, per_cell=1)


def test_same_seed_same_list_and_another_seed_another(pool):
    table, people = pool(11, speakers=14)
    rows = [build(table, people, per_cell=9, seed=s).lists[0].rows() for s in (1, 1, 2)]
    assert rows[0] == rows[1] != rows[2]


@pytest.mark.parametrize(("form", "free"), [("voxceleb", 9_999), ("parquet", 999)])
def test_a_list_that_the_disk_has_no_room_for_is_refused(pool, form, free, tmp_path, monkeypatch):
    table, people = pool(11, speakers=14)
    full = SimpleNamespace(free=free)
    monkeypatch.setattr("parivox.trials.building.shutil.disk_usage", lambda _: full)
    asked = {"complete": True, "format": form, "out": tmp_path / "out"}
    with pytest.raises(ConfigError, match=r"[0-9,]+ trials, .* do not fit into the 0\.0 MB"):
        build(table, people, **asked)
    assert not (tmp_path / "out").exists()


def test_how_much_will_be_written_is_told_where_it_is_much(pool, tmp_path, monkeypatch):
    table, people = pool(11, speakers=14)
    said = []
    n = sum(build(table, people, complete=True).manifest["lists"][0].values())
    asked = {"complete": True, "progress": said.append}
    built = build(table, people, **asked, out=tmp_path / "many")
    first, *_, last = [at for at in said if len(at.stages) == 1 and at.unit == "trials"]
    assert first.stage.startswith(f"writing {n:,} trials, ")
    assert (first.share, last.share, last.done) == (0, 1, n)
    assert built.lists[0].read_text().count("\n") == n
