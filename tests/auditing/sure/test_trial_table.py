"""Every trial with its errors, groups and numbered speakers, written aside first."""

import csv
import errno

import polars as pl
import pytest

import parivox as pv
from parivox.data.table import Table

POINT = "threshold=0.5"


@pytest.fixture(scope="module")
def people_with_decisions(people):
    speakers = people(
        {"a": 5, "b": 6},
        fnr=lambda group, i: (i % 4, 8),
        fpr=lambda group, i: (int(i % 3 == 0), 3),
        folk=[*"xyxyxyxyxy", "unknown"],
    )
    for i, row in enumerate(speakers.rows):
        row["kind"] = "uv"[i % 2]
        row["decision"] = "accept" if row["score"] > 0.5 else "reject"
        if i % 9 == 0:
            row["decision"] = None
    return speakers


def read(path):
    return pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_csv(path)


@pytest.fixture(scope="module", params=["trials.csv", "trials.parquet"])
def table(people_with_decisions, request, tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / request.param
    audit = people_with_decisions.audit(
        by=["group", "folk"],
        operating_points=[POINT, "deployed", "eer"],
        standardise="kind",
        trial_table=path,
    )
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    return audit, read(path)


def test_it_has_a_row_for_every_trial(table, people_with_decisions):
    audit, trial_table = table
    names = ["system", "list", "enrol_speaker", "test_speaker", "target", "score"]
    assert trial_table.columns[:6] == names
    errors = {f"error at {row['operating_point']}" for row in audit.operating_points}
    attributes = ("group", "folk", "kind")
    sides = {f"{name} of {side}" for name in attributes for side in ("enrol", "test")}
    assert {*trial_table.columns[6:]} == errors | sides
    assert trial_table.height == len(people_with_decisions.rows)
    assert trial_table["target"].sum() == sum(row["label"] for row in people_with_decisions.rows)
    assert sorted(trial_table["score"]) == sorted(
        row["score"] for row in people_with_decisions.rows
    )


def test_errors_and_groups_add_up_to_the_table_of_groups(table):
    audit, trial_table = table
    for grouping in ("group", "folk"):
        inside = trial_table.filter(pl.col(f"{grouping} of enrol") == pl.col(f"{grouping} of test"))
        assert set(inside[f"{grouping} of enrol"]) == ({*"ab"} if grouping == "group" else {*"xy"})
        for point in (POINT, "deployed"):
            for metric, target in (("fpr", False), ("fnr", True)):
                for group in {*inside[f"{grouping} of enrol"]}:
                    group_errors = inside.filter(
                        pl.col("target") == target, pl.col(f"{grouping} of enrol") == group
                    )[f"error at {point}"].drop_nulls()
                    row_filter = {"grouping": grouping, "group": group, "metric": metric}
                    (row,) = audit.groups.subset(**row_filter, operating_point=point, definition="")
                    assert (row["errors"], row["trials"]) == (
                        group_errors.sum(),
                        group_errors.len(),
                    )


@pytest.mark.slow
def test_what_is_not_known_is_empty(table, people_with_decisions):
    _, trial_table = table
    unknown = sum(row["decision"] is None for row in people_with_decisions.rows)
    assert trial_table["error at deployed"].null_count() == unknown
    strangers = [row for row in people_with_decisions.rows if row["enrol"].startswith("b05/")]
    assert trial_table["folk of enrol"].null_count() == len(strangers)
    assert trial_table[f"error at {POINT}"].null_count() == 0


@pytest.mark.slow
def test_speakers_are_numbers_and_nobodys_id_is_told(table, people_with_decisions):
    _, trial_table = table
    text = trial_table.write_csv()
    assert not [name for name in people_with_decisions.table["id"] if name in text]
    numbers = {*trial_table["enrol_speaker"], *trial_table["test_speaker"]}
    assert numbers == {*range(len(people_with_decisions.table["id"]))}
    target = trial_table.filter(pl.col("target"))
    assert (target["enrol_speaker"] == target["test_speaker"]).all()
    nontarget = trial_table.filter(~pl.col("target"))
    assert (nontarget["enrol_speaker"] != nontarget["test_speaker"]).all()
    trials = target.group_by("enrol_speaker").len()
    assert set(trials["len"]) == {8}


@pytest.mark.slow
def test_numbers_do_not_follow_ids(people_with_decisions, tmp_path):
    orders = []
    for seed in (0, 1, 0):
        path = tmp_path / f"{len(orders)}.parquet"
        people_with_decisions.audit(trial_table=path, seed=seed)
        target_trials = read(path).filter(pl.col("target"))
        orders.append(target_trials["enrol_speaker"].to_list())
    assert orders[0] == orders[2]
    assert orders[0] != orders[1]
    assert list(dict.fromkeys(orders[0])) != sorted({*orders[0]})


@pytest.mark.slow
def test_one_speaker_has_one_number_in_all_systems_and_lists(people_with_decisions, tmp_path):
    path = tmp_path / "all.csv"
    pv.audit(
        {
            "S@one": people_with_decisions.trials,
            "S@two": people_with_decisions.trials,
            "T": people_with_decisions.trials,
        },
        speakers=people_with_decisions.table,
        by="group",
        operating_points=POINT,
        trial_table=path,
    )
    joint_table = read(path).fill_null("")
    tables = joint_table.partition_by("system", "list")
    assert sorted(
        {(system_table["system"][0], system_table["list"][0]) for system_table in tables}
    ) == [
        ("S", "one"),
        ("S", "two"),
        ("T", ""),
    ]
    bare_tables = [system_table.drop("system", "list") for system_table in tables]
    assert bare_tables[0].equals(bare_tables[1])
    assert bare_tables[0].equals(bare_tables[2])


@pytest.mark.slow
def test_what_stood_there_is_replaced_only_by_a_whole_table(
    people_with_decisions, tmp_path, monkeypatch
):
    path = tmp_path / "trials.csv"
    people_with_decisions.audit(trial_table=path)
    before = path.read_bytes()

    def half(self, path):
        path.write_text("system,li")
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Table, "write_file", half)
        with pytest.raises(pv.ConfigError, match=r"cannot be written \(No space left"):
            people_with_decisions.audit(trial_table=path)
    assert path.read_bytes() == before
    assert [*tmp_path.iterdir()] == [path]
    people_with_decisions.audit(trial_table=path)
    assert read(path).height == len(people_with_decisions.rows)
    assert [*tmp_path.iterdir()] == [path]


@pytest.mark.parametrize(
    "name", ["trials.txt", "trials", "trials.csv.gz", "no/such/trials.csv", ""]
)
def test_another_kind_of_file_or_no_folder_is_refused_before_anything_is_read(tmp_path, name):
    with pytest.raises(pv.ConfigError, match=r"trial_table") as refusal:
        pv.audit("no such scores.csv", speakers="nor.csv", trial_table=tmp_path / name)
    assert "\n" not in str(refusal.value)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("name", ["people.csv", "people.parquet"])
def test_a_file_that_is_no_table_of_trials_is_kept(tmp_path, name):
    path = tmp_path / name
    path.write_text("speaker,gender\ns1,f\n")
    with pytest.raises(pv.ConfigError, match="already exists, and is not a trial table of"):
        pv.audit("no such scores.csv", speakers="nor.csv", trial_table=path)
    assert path.read_text() == "speaker,gender\ns1,f\n"


@pytest.mark.slow
def test_an_earlier_table_of_trials_and_an_empty_file_are_replaced(people_with_decisions, tmp_path):
    path = tmp_path / "trials.parquet"
    path.touch()
    for _ in range(2):
        people_with_decisions.audit(trial_table=path)
        assert read(path).height == len(people_with_decisions.rows)


def test_a_folder_is_no_file(people_with_decisions, tmp_path):
    (tmp_path / "trials.csv").mkdir()
    with pytest.raises(pv.ConfigError, match="cannot be written"):
        people_with_decisions.audit(trial_table=tmp_path / "trials.csv")


def test_counts_hold_no_trials(people_with_decisions, tmp_path):
    counts = tmp_path / "counts.json"
    pv.count(people_with_decisions.trials, speakers=people_with_decisions.table, by="group").save(
        counts
    )
    with pytest.raises(pv.ConfigError, match=r"trial_table: counts contain no trials"):
        pv.audit(counts, trial_table=tmp_path / "trials.csv")
    assert not (tmp_path / "trials.csv").exists()


@pytest.mark.slow
def test_the_order_of_its_rows_tells_nothing_of_ids(people_with_decisions, tmp_path):
    path = tmp_path / "t.csv"
    people_with_decisions.audit(trial_table=path, seed=3)
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    speaker_order = list(dict.fromkeys(row["enrol_speaker"] for row in rows))
    path.unlink()
    people_with_decisions.audit(trial_table=path, seed=4)
    with path.open(encoding="utf-8", newline="") as file:
        other_order = list(dict.fromkeys(row["enrol_speaker"] for row in csv.DictReader(file)))
    assert speaker_order != other_order
    assert [row["target"] for row in rows] != sorted(row["target"] for row in rows)


def test_what_is_read_is_not_written_over(people_with_decisions, tmp_path):
    path = tmp_path / "scores.csv"
    names = list(people_with_decisions.trials)
    rows = zip(*people_with_decisions.trials.values(), strict=True)
    lines = [",".join(names), *[",".join(map(str, row)) for row in rows]]
    path.write_text("\n".join(lines))
    before = path.read_bytes()
    with pytest.raises(pv.ConfigError, match="is an input of this audit; name another file"):
        pv.audit(path, speakers=people_with_decisions.table, by="group", trial_table=path)
    assert path.read_bytes() == before
