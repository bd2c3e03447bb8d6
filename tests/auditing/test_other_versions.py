"""Folders that another version of Parivox wrote: what they lack, and what they have besides."""

import importlib.resources
import json
import zipfile
from hashlib import sha256
from pathlib import Path

import polars as pl
import pytest

import parivox as pv
from parivox import Audit
from parivox.auditing import schema
from parivox.cli import main
from parivox.errors import DataError
from parivox.read.table import Table

pytestmark = pytest.mark.slow

MISSING = "missing: Parivox 0.1.0 has no such column; audit again to have it"
LATER = {
    f"{table}.{name}": MISSING
    for table, names in schema.ADDED.items()
    for name in names
    if table in schema.FIRST
}
LATER |= {name: MISSING.replace("column", "table") for name in schema.ADDED.keys() - schema.FIRST}
LATER |= dict.fromkeys(
    ("option only", "option primary"),
    "missing: Parivox 0.1.0 has no such option; audit again to have it",
)
OLD = sorted((Path(__file__).parents[1] / "old_audits").glob("*.zip"))


@pytest.fixture(params=OLD, ids=lambda path: path.stem)
def old(request, tmp_path):
    """The folder of an audit that an earlier release wrote."""
    folder = tmp_path / "audit"
    zipfile.ZipFile(request.param).extractall(folder)
    return folder


COUNTS = sorted(OLD[0].parent.glob("*.counts"))
"""Of the same 496 trials."""


@pytest.fixture
def folder(small, tmp_path):
    small.write(tmp_path / "audit")
    return tmp_path / "audit"


def rewrite(folder, change):
    """Change what audit.json holds, and its hash with it."""
    path = folder / "audit.json"
    held = json.loads(path.read_text("utf-8"))
    change(held)
    replace(folder, "audit.json", json.dumps(held).encode())


def replace(folder, name, content):
    sums, path = folder / "SHA256SUMS", folder / name
    before = sha256(path.read_bytes()).hexdigest() if path.exists() else None
    path.write_bytes(content)
    line = f"{sha256(content).hexdigest()}  {name}\n"
    text = sums.read_text("utf-8")
    sums.write_text(text.replace(f"{before}  {name}\n", line) if before else text + line, "utf-8")


@pytest.fixture
def later_column(monkeypatch):
    """A made-up column of groups and one of the DET curves, as this version would have them."""
    for table in ("groups", "det"):
        columns = schema.TABLES[table] | {"pairs": "int", "why": "str"}
        monkeypatch.setitem(schema.TABLES, table, columns)


def test_an_old_audit_is_read_and_shown(old, tmp_path, capsys):
    audit = pv.load(old)
    assert audit.groups.where(metric="eer").rows() or audit.groups.where(metric="fnr").rows()
    assert audit.record["other_version"] == LATER
    for name in ("page.html", "tables.md", "tables.tex", "tables.xlsx"):
        main(["report", str(old), "--out", str(tmp_path / name), "--quiet"])
        assert (tmp_path / name).stat().st_size > 1000
    main(["report", str(old), "--format", "markdown", "--quiet"])
    assert "| group |" in capsys.readouterr().out
    main(["show", str(old)])
    assert "Locked out, all" in capsys.readouterr().out
    main(["compare", str(old), str(old)])
    assert "locked out, everyone" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("path", COUNTS, ids=lambda path: path.stem)
def test_old_counts_are_audited(path):
    audit = pv.audit(path, operating_points=["threshold=0.5"], intervals=False)
    rows = audit.groups.where(grouping="gender", operating_point="threshold=0.5")
    found = {(row["group"], row["metric"]): (row["errors"], row["trials"]) for row in rows}
    expected = {("f", "fnr"): (12, 24), ("m", "fnr"): (5, 24), ("f", "fpr"): (1, 96)}
    assert {key: found[key] for key in expected} == expected


def test_an_old_audit_is_written_again_as_it_was(old, tmp_path):
    pv.load(old).write(tmp_path / "again")
    for path in old.glob("*.csv"):
        again = tmp_path / "again" / path.name
        if path.stem in schema.ADDED:  # what came later stands at the end, empty
            before, now = (pl.read_csv(one, infer_schema=False) for one in (path, again))
            assert now.columns == [*before.columns, *schema.ADDED[path.stem]]
            assert now.select(before.columns).equals(before, null_equal=True), path.name
            assert now.select(schema.ADDED[path.stem].keys()).null_count().row(0) == (
                (now.height,) * len(schema.ADDED[path.stem])
            )
        else:
            assert again.read_bytes() == path.read_bytes(), path.name
    assert pv.load(tmp_path / "again").to_json() == pv.load(old).to_json()


def test_an_old_audit_follows_the_schema_of_now(old, follows_schema):
    follows_schema(json.loads((old / "audit.json").read_text("utf-8")))


def test_a_column_that_came_later_is_missing_with_a_reason(old, tmp_path, later_column, capsys):
    audit = pv.load(old)
    for table in (audit.groups, audit.det):
        assert table.columns[-2:] == ("pairs", "why")
        assert [(row["pairs"], row["why"]) for row in table] == [(None, "")] * len(table)
    wanted = [f"{table}.{name}" for table in ("det", "groups") for name in ("pairs", "why")]
    assert audit.record["other_version"] == dict.fromkeys(wanted, MISSING) | LATER
    page = tmp_path / "page.html"
    main(["report", str(old), "--out", str(page)])
    assert "groups.pairs" in page.read_text("utf-8")
    told = capsys.readouterr().err
    assert "another version of Parivox" in told
    assert "groups.pairs" in told
    audit.write(tmp_path / "again")
    assert pv.load(tmp_path / "again").to_json() == audit.to_json()


def test_a_column_that_came_later_is_filled_and_read_again(
    trials, speakers, tmp_path, later_column
):
    audit = pv.audit(trials, speakers=speakers, by="gender", intervals=False)
    assert audit.groups.columns[-2:] == ("pairs", "why")
    cells = audit.groups.to_dict()
    cells["pairs"] = [7] * len(cells["pairs"])
    filled = Table.of(cells, schema.TABLES["groups"])
    det = audit.det.to_polars().with_columns(pairs=8, why=pl.lit("so"))
    Audit(**{**vars(audit), "groups": filled, "det": Table(det)}).write(tmp_path / "a")
    again = pv.load(tmp_path / "a")
    assert {(row["pairs"], row["why"]) for row in again.groups} == {(7, "")}
    assert {(row["pairs"], row["why"]) for row in again.det} == {(8, "so")}
    assert "other_version" not in again.record


def test_columns_and_tables_that_are_not_known_are_set_aside(small, folder, follows_schema):
    def change(held):
        groups = held["tables"]["groups"]
        groups["shade"] = ["blue"] * len(groups["value"])
        follows_schema(held)
        held["tables"]["moods"] = {"mood": ["good"]}

    rewrite(folder, change)
    det = pl.read_parquet(folder / "det.parquet").with_columns(shade=1)
    det.write_parquet(folder / "new.parquet")
    replace(folder, "det.parquet", (folder / "new.parquet").read_bytes())
    (folder / "new.parquet").unlink()
    audit = pv.load(folder)
    for name, table in small.tables().items():
        assert audit.tables()[name].to_polars().equals(table.to_polars()), name
    assert {*audit.record["other_version"]} == {"groups.shade", "det.shade", "moods"}
    assert all(why.startswith("set aside") for why in audit.record["other_version"].values())


def test_an_option_that_came_later_is_at_its_default(folder):
    rewrite(folder, lambda held: held["options"].pop("attempts"))
    audit = pv.load(folder)
    assert audit.record["options"]["attempts"] is None
    assert [*audit.record["other_version"]] == ["option attempts"]


@pytest.mark.parametrize(
    ("version", "mend"), [("6", "update Parivox"), ("4", "audit again"), (None, "audit again")]
)
def test_another_schema_is_told_in_a_sentence(folder, version, mend, capsys):
    rewrite(folder, lambda held: held.update(parivox_audit=version))
    with pytest.raises(DataError, match=f"written in version {version!r}.*{mend}") as told:
        pv.load(folder)
    assert "\n" not in str(told.value)
    with pytest.raises(SystemExit) as ended:
        main(["report", str(folder), "--format", "markdown"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda held: held.pop("options"),
        lambda held: held.pop("versions"),
        lambda held: held.pop("tables"),
        lambda held: held["tables"].pop("groups"),
        lambda held: held["tables"]["groups"].pop("value"),
        lambda held: held["tables"]["groups"]["value"].pop(),
        lambda held: held["tables"].update(groups={}),
        lambda held: held["tables"].update(groups=[1]),
        lambda held: held["tables"]["groups"].update(errors=["many"] * 3),
    ],
)
def test_what_every_audit_has_may_not_be_missing(folder, change):
    rewrite(folder, change)
    with pytest.raises(DataError, match=r"audit\.json is damaged") as told:
        pv.load(folder)
    assert "\n" not in str(told.value)


def test_the_schema_has_the_columns_of_the_tables():
    path = importlib.resources.files("parivox.auditing") / "audit.schema.json"
    held = json.loads(path.read_text("utf-8"))
    kinds = {"str": "texts", "float": "numbers", "int": "counts", "bool": "flags"}
    tables = {name: columns for name, columns in schema.FIRST.items() if name not in schema.CURVES}
    assert {*held["properties"]["tables"]["properties"]} == {*tables}
    assert {*held["properties"]["tables"]["required"]} == {*tables} - {*schema.ON_REQUEST}
    for name, columns in tables.items():
        table = held["$defs"][name]
        assert table["required"] == [*columns]
        assert table["properties"] == {
            column: {"$ref": f"#/$defs/{kinds[kind]}"} for column, kind in columns.items()
        }
