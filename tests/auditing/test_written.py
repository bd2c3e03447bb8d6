"""What is written: all or nothing, readable again, valid, and without ids of people."""

import csv
import json
import math
import stat

import pytest

import parivox as pv
from parivox.data.table import Table
from parivox.errors import ConfigError, DataError

pytestmark = pytest.mark.slow

NAMES = {
    "groups",
    "bias",
    "meta",
    "verdicts",
    "limits",
    "matrix",
    "operating_points",
    "data",
}
MORE = {"audit.json", "provenance.json", "private.json", "SHA256SUMS"}


def files(folder):
    return {path.name for path in folder.iterdir()}


@pytest.fixture(scope="module")
def out(small, tmp_path_factory):
    folder = tmp_path_factory.mktemp("written") / "deep" / "audit"
    small.save(folder)
    return folder


@pytest.fixture(scope="module")
def rich(trials, speakers):
    """Infinite values, another tool's rows, a user's metric, contradictions set aside."""
    rows = list(zip(*trials.values(), strict=True))
    rows.append((*rows[0][:2], rows[0][2] + 1, rows[0][3]))
    return pv.audit(
        {"S@x": dict(zip(trials, map(list, zip(*rows, strict=True)), strict=True))},
        speakers=speakers,
        by=["gender", "gender+nation"],
        operating_points=["threshold=99", "threshold=2", "bayes", "fpr=0.0001"],
        llr=True,
        compat="bt4vt",
        conflicts="exclude",
        sweep="fpr=0.01:0.1:log5",
        metrics={"mine": lambda c: c.fpr / c.fnr},
    )


def strict(text):
    """JSON as the standard has it: no NaN, no Infinity."""

    def refuse(token):
        pytest.fail(f"{token} is not a JSON")

    return json.loads(text, parse_constant=refuse)


def test_files(out):
    tables = {f"{name}.csv" for name in NAMES}
    curves = {f"{name}.parquet" for name in ("det", "bins", "bands", "sweep", "pairing")}
    assert files(out) == tables | curves | MORE
    assert [path.name for path in out.parent.iterdir()] == ["audit"]


def test_parquet(small, tmp_path):
    small.save(tmp_path / "a", format="parquet")
    tables = {f"{name}.parquet" for name in (*NAMES, "det", "bins", "bands", "sweep", "pairing")}
    assert files(tmp_path / "a") == tables | MORE
    for name, table in small.tables().items():
        again = Table.read(tmp_path / "a" / f"{name}.parquet")
        assert again.to_polars().equals(table.to_polars())


def test_an_unknown_format_is_refused(small, tmp_path):
    with pytest.raises(ConfigError, match="xlsx"):
        small.save(tmp_path / "a", format="xlsx")
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("fixture_name", ["rich", "small"])
def test_what_is_written_is_loaded_again(request, tmp_path, fixture_name, kind):
    audit = request.getfixturevalue(fixture_name).save(tmp_path / "a", format=kind)
    again = pv.load(tmp_path / "a")
    for name, table in audit.tables().items():
        assert again.tables()[name].to_polars().equals(table.to_polars()), name
    assert list(again.tables()) == list(audit.tables())
    assert again.provenance == json.loads(json.dumps(audit.provenance))
    assert again.record == json.loads(json.dumps(audit.record))
    again.save(tmp_path / "b", format=kind)
    for path in {*(tmp_path / "a").iterdir()} - {tmp_path / "a" / "private.json"}:
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), path.name


def test_csv_holds_full_precision(out, small):
    with (out / "groups.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(small.groups)
    for text, row in zip(rows, small.groups, strict=True):
        assert (float(text["value"]) if text["value"] else None) == row["value"]
        assert text["group"] == row["group"]
        assert text["reason"] == row["reason"]
        assert (int(text["errors"]) if text["errors"] else None) == row["errors"]


def test_undefined_is_empty_and_infinite_is_inf(trials, speakers, tmp_path):
    audit = pv.audit(trials, speakers=speakers, by="gender+nation", operating_points="threshold=2")
    audit.save(tmp_path / "a")
    with (tmp_path / "a" / "bias.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["value"] for row in rows if row["reason"]} == {"", "inf", "-inf"}
    for row in rows:
        assert row["value"] in {"", "inf", "-inf"} or math.isfinite(float(row["value"]))


def test_json_follows_the_shipped_schema(follows_schema, small):
    document = strict(small.to_json())
    follows_schema(document)
    assert set(document["tables"]) == NAMES


@pytest.mark.slow
def test_json_with_every_option_on_follows_it_too(follows_schema, rich):
    document = strict(rich.to_json())
    follows_schema(document)
    assert set(document["tables"]) == NAMES


def test_json_of_lists_of_one_class_follows_it_too(follows_schema, trials, speakers):
    target_rows = [i for i, y in enumerate(trials["label"]) if y]
    only = {name: [cells[i] for i in target_rows] for name, cells in trials.items()}
    audit = pv.audit(only, speakers=speakers)
    document = strict(audit.to_json())
    follows_schema(document)


def test_json_of_a_comparison_follows_it_too(follows_schema, trials, speakers):
    audit = pv.audit(
        {"S": trials, "T": trials},
        speakers=speakers,
        by="gender",
        operating_points="fpr=0.05",
        standardise="same:nation",
        attempts=3,
        compare=True,
        replicates=50,
    )
    document = strict(audit.to_json())
    follows_schema(document)
    assert set(document["tables"]) == NAMES | {"comparison"}


def test_json_without_intervals_follows_it_too(follows_schema, trials, speakers):
    audit = pv.audit(trials, speakers=speakers, by="gender", intervals=False)
    document = strict(audit.to_json())
    follows_schema(document)
    assert set(document["tables"]) == NAMES - {"verdicts", "limits"}
    assert set(document["tables"]["groups"]["low"]) == {None}


def test_json_columns_are_of_one_length(small):
    for table in strict(small.to_json())["tables"].values():
        assert len({len(cells) for cells in table.values()}) == 1


def test_json_is_that_of_the_file(out, small):
    assert (out / "audit.json").read_text(encoding="utf-8") == small.to_json()


def test_no_speaker_and_no_utterance_is_named(rich, tmp_path):
    rich.save(tmp_path / "a")
    for path in (tmp_path / "a").iterdir():
        content = path.read_bytes()
        assert b"qz0" not in content, path.name  # as every speaker's id begins
        assert b"vx1" not in content, path.name  # and every utterance's
    for name, table in rich.tables().items():
        for column in table.to_polars().iter_columns():
            if str(column.dtype) == "String":
                assert not column.str.contains("qz0|vx1").any(), name


# ---- all or nothing


def test_a_strangers_file_is_not_touched(small, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "diary.txt").write_text("dear")
    with pytest.raises(ConfigError, match=r"diary\.txt"):
        small.save(tmp_path / "a")
    assert files(tmp_path / "a") == {"diary.txt"}


def test_a_stranger_beside_an_earlier_audit_is_seen(small, tmp_path):
    small.save(tmp_path / "a")
    before = files(tmp_path / "a")
    (tmp_path / "a" / "notes").mkdir()
    with pytest.raises(ConfigError, match="notes"):
        small.save(tmp_path / "a")
    assert files(tmp_path / "a") == before | {"notes"}


def test_another_programs_audit_json_is_a_stranger(small, tmp_path):
    (tmp_path / "a").mkdir()
    for name in ("audit.json", "groups.csv"):
        (tmp_path / "a" / name).write_text("{}")
    with pytest.raises(ConfigError, match="not part of an earlier audit"):
        small.save(tmp_path / "a")
    assert (tmp_path / "a" / "groups.csv").read_text() == "{}"


def test_an_earlier_audit_is_replaced_whole(small, tmp_path, trials, speakers):
    small.save(tmp_path / "a", format="parquet")
    replacement = pv.audit(trials, speakers=speakers, by="gender")
    replacement.save(tmp_path / "a")
    assert not [name for name in files(tmp_path / "a") if name == "groups.parquet"]
    assert "sweep.parquet" not in files(tmp_path / "a")
    assert pv.load(tmp_path / "a").groups.to_polars().equals(replacement.groups.to_polars())
    assert files(tmp_path) == {"a"}


def test_an_empty_folder_is_used(small, tmp_path):
    (tmp_path / "a").mkdir()
    small.save(tmp_path / "a")
    assert "audit.json" in files(tmp_path / "a")


def test_a_file_is_no_folder(small, tmp_path):
    (tmp_path / "a").write_text("mine")
    with pytest.raises(ConfigError, match="is a file"):
        small.save(tmp_path / "a")
    assert (tmp_path / "a").read_text() == "mine"
    with pytest.raises(ConfigError):
        small.save(tmp_path / "a" / "below")


@pytest.mark.parametrize("n_tables", range(8))
def test_a_failure_half_way_leaves_nothing(small, tmp_path, monkeypatch, n_tables):
    writes_left = iter(range(n_tables))
    write = Table.write_file

    def failing(table, path):
        if next(writes_left, None) is None:
            msg = "No space left on device"
            raise OSError(28, msg)
        write(table, path)

    monkeypatch.setattr(Table, "write_file", failing)
    with pytest.raises(ConfigError, match="No space left"):
        small.save(tmp_path / "a")
    assert files(tmp_path) == set()


def test_a_failure_half_way_leaves_the_earlier_audit(small, tmp_path, monkeypatch):
    small.save(tmp_path / "a")
    before = {path.name: path.read_bytes() for path in (tmp_path / "a").iterdir()}

    def failing(table, path):
        path.write_text("half")
        msg = "No space left on device"
        raise OSError(28, msg)

    monkeypatch.setattr(Table, "write_file", failing)
    with pytest.raises(ConfigError, match="No space left"):
        small.save(tmp_path / "a")
    assert {path.name: path.read_bytes() for path in (tmp_path / "a").iterdir()} == before
    assert files(tmp_path) == {"a"}


def test_others_may_read_what_was_written(out):
    assert stat.S_IMODE(out.stat().st_mode) & 0o500 == 0o500
    ordinary = out.parent / "made"
    ordinary.mkdir()
    assert stat.S_IMODE(out.stat().st_mode) == stat.S_IMODE(ordinary.stat().st_mode)
    ordinary.rmdir()


# ---- loading


@pytest.mark.parametrize("content", [None, "", "{", "[]", "{}", "3", '"parivox_audit"'])
def test_what_is_no_audit_is_told_in_a_sentence(tmp_path, content):
    if content is not None:
        (tmp_path / "audit.json").write_text(content)
        (tmp_path / "provenance.json").write_text("[]")
    with pytest.raises(DataError, match="does not contain an audit") as refusal:
        pv.load(tmp_path)
    assert "\n" not in str(refusal.value)


def test_why_there_is_no_audit_is_told_in_plain_words(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "audit.json").write_text("{}")
    for path, reason in (
        (tmp_path, "audit.json is missing"),
        (tmp_path / "gone", "there is no such folder"),
        (tmp_path / "file", "this is a file, not a folder"),
        (tmp_path / "odd", "audit.json cannot be read, or was not written by Parivox"),
    ):
        with pytest.raises(DataError) as refusal:
            pv.load(path)
        assert str(refusal.value) == (
            f"{path}: does not contain an audit ({reason}); name the out folder of an audit"
        )


def test_another_version_is_told(small, tmp_path):
    small.save(tmp_path / "a")
    path = tmp_path / "a" / "audit.json"
    path.write_text(path.read_text().replace('"parivox_audit": "6"', '"parivox_audit": "99"'))
    with pytest.raises(DataError, match="99"):
        pv.load(tmp_path / "a")


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document.pop("tables"),
        lambda document: document["tables"].pop("bias"),
        lambda document: document["tables"]["groups"].pop("value"),
        lambda document: document["tables"]["groups"].update(value=["x"]),
        lambda document: document["tables"]["groups"]["value"].pop(),
    ],
)
def test_a_damaged_audit_is_told_in_a_sentence(small, tmp_path, change):
    small.save(tmp_path / "a")
    path = tmp_path / "a" / "audit.json"
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    with pytest.raises(DataError):
        pv.load(tmp_path / "a")


def test_missing_curves_are_told_in_a_sentence(small, tmp_path):
    small.save(tmp_path / "a")
    (tmp_path / "a" / "det.parquet").unlink()
    with pytest.raises(DataError, match=r"det\.parquet"):
        pv.load(tmp_path / "a")


def test_damaged_curves_are_told_in_a_sentence(small, tmp_path):
    small.save(tmp_path / "a")
    (tmp_path / "a" / "det.parquet").write_bytes(b"PAR1")
    with pytest.raises(DataError, match=r"det\.parquet"):
        pv.load(tmp_path / "a")
