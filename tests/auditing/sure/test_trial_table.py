"""Every trial with its errors, groups and numbered speakers, written aside first."""

import csv
import errno

import polars as pl
import pytest

import parivox as pv
from parivox.data.table import Table

POINT = "threshold=0.5"


@pytest.fixture(scope="module")
def made(people):
    found = people(
        {"a": 5, "b": 6},
        fnr=lambda group, i: (i % 4, 8),
        fpr=lambda group, i: (int(i % 3 == 0), 3),
        folk=[*"xyxyxyxyxy", "unknown"],
    )
    for i, row in enumerate(found.rows):
        row["kind"] = "uv"[i % 2]
        row["decision"] = None if i % 9 == 0 else ("reject", "accept")[row["score"] > 0.5]
    return found


def read(path):
    return pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_csv(path)


@pytest.fixture(scope="module", params=["trials.csv", "trials.parquet"])
def table(made, request, tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / request.param
    audit = made.audit(
        by=["group", "folk"],
        operating_points=[POINT, "deployed", "eer"],
        standardise="kind",
        trial_table=path,
    )
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    return audit, read(path)


def test_it_has_a_row_for_every_trial(table, made):
    audit, found = table
    assert found.columns[:6] == [
        *("system", "list", "enrol_speaker", "test_speaker", "target", "score"),
    ]
    assert {*found.columns[6:]} == {
        *(f"error at {row['operating_point']}" for row in audit.operating_points),
        *(f"{name} of {side}" for name in ("group", "folk", "kind") for side in ("enrol", "test")),
    }
    assert found.height == len(made.rows)
    assert found["target"].sum() == sum(row["label"] for row in made.rows)
    assert sorted(found["score"]) == sorted(row["score"] for row in made.rows)


def test_errors_and_groups_add_up_to_the_table_of_groups(table):
    audit, found = table
    for grouping in ("group", "folk"):
        inside = found.filter(pl.col(f"{grouping} of enrol") == pl.col(f"{grouping} of test"))
        assert set(inside[f"{grouping} of enrol"]) == ({*"ab"} if grouping == "group" else {*"xy"})
        for point in (POINT, "deployed"):
            for metric, target in (("fpr", False), ("fnr", True)):
                for group in {*inside[f"{grouping} of enrol"]}:
                    own = inside.filter(
                        pl.col("target") == target, pl.col(f"{grouping} of enrol") == group
                    )[f"error at {point}"].drop_nulls()
                    where = {"grouping": grouping, "group": group, "metric": metric}
                    (row,) = audit.groups.where(**where, operating_point=point, definition="")
                    assert (row["errors"], row["trials"]) == (own.sum(), own.len())


@pytest.mark.slow
def test_what_is_not_known_is_empty(table, made):
    _, found = table
    unknown = sum(row["decision"] is None for row in made.rows)
    assert found["error at deployed"].null_count() == unknown
    strangers = [row for row in made.rows if row["enrol"].startswith("b05/")]
    assert found["folk of enrol"].null_count() == len(strangers)
    assert found[f"error at {POINT}"].null_count() == 0


@pytest.mark.slow
def test_speakers_are_numbers_and_nobodys_id_is_told(table, made):
    _, found = table
    text = found.write_csv()
    assert not [name for name in made.table["id"] if name in text]
    numbers = {*found["enrol_speaker"], *found["test_speaker"]}
    assert numbers == {*range(len(made.table["id"]))}
    target = found.filter(pl.col("target"))
    assert (target["enrol_speaker"] == target["test_speaker"]).all()
    other = found.filter(~pl.col("target"))
    assert (other["enrol_speaker"] != other["test_speaker"]).all()
    trials = target.group_by("enrol_speaker").len()
    assert set(trials["len"]) == {8}


@pytest.mark.slow
def test_numbers_do_not_follow_ids(made, tmp_path):
    orders = []
    for seed in (0, 1, 0):
        path = tmp_path / f"{len(orders)}.parquet"
        made.audit(trial_table=path, seed=seed)
        found = read(path).filter(pl.col("target"))
        orders.append(found["enrol_speaker"].to_list())
    assert orders[0] == orders[2]
    assert orders[0] != orders[1]
    assert list(dict.fromkeys(orders[0])) != sorted({*orders[0]})


@pytest.mark.slow
def test_one_speaker_has_one_number_in_all_systems_and_lists(made, tmp_path):
    path = tmp_path / "all.csv"
    pv.audit(
        {"S@one": made.trials, "S@two": made.trials, "T": made.trials},
        speakers=made.table,
        by="group",
        operating_points=POINT,
        trial_table=path,
    )
    found = read(path).fill_null("")
    parts = found.partition_by("system", "list")
    assert sorted({(one["system"][0], one["list"][0]) for one in parts}) == [
        ("S", "one"),
        ("S", "two"),
        ("T", ""),
    ]
    same = [one.drop("system", "list") for one in parts]
    assert same[0].equals(same[1])
    assert same[0].equals(same[2])


def test_what_stood_there_is_replaced_only_by_a_whole_table(made, tmp_path, monkeypatch):
    path = tmp_path / "trials.csv"
    made.audit(trial_table=path)
    before = path.read_bytes()

    def half(self, path):
        path.write_text("system,li")
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Table, "write", half)
        with pytest.raises(pv.ConfigError, match=r"cannot be written \(No space left"):
            made.audit(trial_table=path)
    assert path.read_bytes() == before
    assert [*tmp_path.iterdir()] == [path]
    made.audit(trial_table=path)
    assert read(path).height == len(made.rows)
    assert [*tmp_path.iterdir()] == [path]


@pytest.mark.parametrize(
    "name", ["trials.txt", "trials", "trials.csv.gz", "no/such/trials.csv", ""]
)
def test_another_kind_of_file_or_no_folder_is_refused_before_anything_is_read(tmp_path, name):
    with pytest.raises(pv.ConfigError, match=r"--trial-table") as told:
        pv.audit("no such scores.csv", speakers="nor.csv", trial_table=tmp_path / name)
    assert "\n" not in str(told.value)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("name", ["people.csv", "people.parquet"])
def test_a_file_that_is_no_table_of_trials_is_kept(tmp_path, name):
    path = tmp_path / name
    path.write_text("speaker,gender\ns1,f\n")
    with pytest.raises(pv.ConfigError, match="is there already, and is not a table of trials of"):
        pv.audit("no such scores.csv", speakers="nor.csv", trial_table=path)
    assert path.read_text() == "speaker,gender\ns1,f\n"


def test_an_earlier_table_of_trials_and_an_empty_file_are_replaced(made, tmp_path):
    path = tmp_path / "trials.parquet"
    path.touch()
    for _ in range(2):
        made.audit(trial_table=path)
        assert read(path).height == len(made.rows)


def test_a_folder_is_no_file(made, tmp_path):
    (tmp_path / "trials.csv").mkdir()
    with pytest.raises(pv.ConfigError, match="cannot be written"):
        made.audit(trial_table=tmp_path / "trials.csv")


def test_counts_hold_no_trials(made, tmp_path):
    counts = tmp_path / "counts.json"
    pv.count(made.trials, speakers=made.table, by="group").write(counts)
    with pytest.raises(pv.ConfigError, match=r"--trial-table: counts hold no trials"):
        pv.audit(counts, trial_table=tmp_path / "trials.csv")
    assert not (tmp_path / "trials.csv").exists()


@pytest.mark.slow
def test_the_order_of_its_rows_tells_nothing_of_ids(made, tmp_path):
    path = tmp_path / "t.csv"
    made.audit(trial_table=path, seed=3)
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    first = list(dict.fromkeys(row["enrol_speaker"] for row in rows))
    path.unlink()
    made.audit(trial_table=path, seed=4)
    with path.open(encoding="utf-8", newline="") as file:
        again = list(dict.fromkeys(row["enrol_speaker"] for row in csv.DictReader(file)))
    assert first != again
    assert [row["target"] for row in rows] != sorted(row["target"] for row in rows)


def test_what_is_read_is_not_written_over(made, tmp_path):
    path = tmp_path / "scores.csv"
    names = list(made.trials)
    lines = [
        ",".join(names),
        *(",".join(map(str, row)) for row in zip(*made.trials.values(), strict=True)),
    ]
    path.write_text("\n".join(lines))
    before = path.read_bytes()
    with pytest.raises(pv.ConfigError, match="is read by this audit; name another file"):
        pv.audit(path, speakers=made.table, by="group", trial_table=path)
    assert path.read_bytes() == before
