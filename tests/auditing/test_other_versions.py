"""What another version of Parivox wrote: what it lacks, what it has besides, what it means."""

import datetime as dt
import importlib.resources
import json
import re
import runpy
import shutil
import zipfile
from hashlib import sha256
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import parivox as pv
from parivox import Audit
from parivox.auditing import schema
from parivox.auditing.options import Options
from parivox.cli import main
from parivox.data.counts_file import SPEAKER_COUNTS, read_columns
from parivox.data.site_key import NO_KDF, SiteKey
from parivox.data.speakers import read_speakers
from parivox.data.table import Table
from parivox.errors import ConfigError, DataError
from parivox.facts import FACT_COLUMNS
from parivox.report.catalogue import finding_text

pytestmark = pytest.mark.slow


def missing(version, kind):
    """Why another version lacks something, as it is recorded."""
    return {"code": "missing_in_version", "values": {"version": version, "kind": kind}}


DAYS = {"1": (12, 13), "0.2.0": (13, 14)}
"""Of January 2026: the last day of each kept stream, and the next."""
OLD_AUDITS = Path(__file__).parents[1] / "old_audits"
OLD = sorted(OLD_AUDITS.glob("*.zip"))


@pytest.fixture(params=OLD, ids=lambda path: path.stem)
def old(request, tmp_path):
    """The folder of an audit that an earlier release wrote."""
    folder = tmp_path / request.param.stem / "audit"
    zipfile.ZipFile(request.param).extractall(folder)
    return folder


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """The scores and speakers of which counts and tallies are kept."""
    folder = tmp_path_factory.mktemp("tiny")
    runpy.run_path(str(OLD_AUDITS.parents[1] / "examples" / "tiny_scores.py"))["write"](folder)
    return folder / "scores.csv", folder / "speakers.csv"


def absent_from(folder):
    """What an old audit lacks of what is written now, with the reason that is given for it."""
    record = json.loads((folder / "audit.json").read_text("utf-8"))
    version = record["versions"]["parivox"]
    reasons = {
        f"option {option}": missing(version, "option")
        for option in Options().recorded()
        if option not in record["options"]
    }
    for table, columns in schema.ADDED_COLUMNS.items():
        parquet, csv = folder / f"{table}.parquet", folder / f"{table}.csv"
        if parquet.exists():
            present = pl.read_parquet_schema(parquet)
        elif csv.exists():
            present = pl.read_csv(csv, infer_schema=False).columns
        elif table in schema.FIRST_COLUMNS:
            continue  # nothing was asked of it
        else:
            reasons[table] = missing(version, "table")
            continue
        reasons |= {
            f"{table}.{column}": missing(version, "column")
            for column in columns
            if column not in present
        }
    return reasons


COUNTS = sorted(OLD_AUDITS.glob("*.counts"))
"""Of the same 496 trials."""


@pytest.fixture
def folder(small, tmp_path):
    small.save(tmp_path / "audit")
    return tmp_path / "audit"


def rewrite(folder, change):
    """Change what audit.json holds, and its hash with it."""
    path = folder / "audit.json"
    document = json.loads(path.read_text("utf-8"))
    change(document)
    replace(folder, "audit.json", json.dumps(document).encode())


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
    assert audit.groups.subset(metric="eer").rows() or audit.groups.subset(metric="fnr").rows()
    assert audit.record.get("other_version", {}) == absent_from(old)
    for name in ("page.html", "tables.md", "tables.tex", "tables.xlsx"):
        main(["report", str(old), "--out", str(tmp_path / name), "--quiet"])
        assert (tmp_path / name).stat().st_size > 1000
    main(["report", str(old), "--format", "markdown", "--quiet"])
    assert "| group |" in capsys.readouterr().out
    main(["show", str(old)])
    assert "False rejects (FNR)" in capsys.readouterr().out
    if "without-intervals" not in old.parent.name:
        main(["compare", str(old), str(old)])
        assert "false rejects over all trials" in " ".join(capsys.readouterr().out.split())


def test_sentences_of_an_old_audit_are_read_as_codes(old):
    for name, table in pv.load(old).tables().items():
        if name in schema.WITHOUT_FACTS:
            continue
        for row in table:
            for column in {"reason", "note", "sentence"} & row.keys():
                codes = row[column].split("; ")
                assert all(re.fullmatch(r"[a-z0-9_]*", code) for code in codes), row[column]


def test_verdicts_in_sentences_are_read_as_codes(folder):
    rows = pv.load(folder).verdicts.rows()
    assert rows

    def hold_sentences(document):
        document["tables"]["verdicts"]["sentence"] = [finding_text(row) for row in rows]

    rewrite(folder, hold_sentences)
    assert pv.load(folder).verdicts.rows() == rows


@pytest.mark.parametrize("path", COUNTS, ids=lambda path: path.stem)
def test_old_counts_are_audited(path):
    audit = pv.audit(path, operating_points=["threshold=0.5"], intervals=False)
    rows = audit.groups.subset(grouping="gender", operating_point="threshold=0.5")
    counts = {(row["group"], row["metric"]): (row["errors"], row["trials"]) for row in rows}
    expected = {("f", "fnr"): (12, 24), ("m", "fnr"): (5, 24), ("f", "fpr"): (1, 96)}
    assert {key: counts[key] for key in expected} == expected


def test_an_old_tally_says_how_sure_its_counts_are(tiny):
    scores, speakers = tiny
    options = {"operating_points": ["threshold=0.5"]}
    old = pv.audit([OLD_AUDITS / "0.1.0-bins.counts", OLD_AUDITS / "1-bins.tally"], **options)
    new = pv.audit(scores, speakers=speakers, by="gender", **options)
    row_filter = {"grouping": "all", "metric": "fnr"}
    (old_row,), (new_row,) = (audit.groups.subset(**row_filter).rows() for audit in (old, new))
    names = ["value", "errors", "speakers", "low", "high", "interval"]
    assert [old_row[name] for name in names] == [new_row[name] for name in names]
    assert old_row["interval"] == "speakers"


def test_speaker_counts_of_0_2_0_are_audited_with_their_key(tiny, tmp_path):
    scores, speakers = tiny
    options = {"operating_points": ["threshold=0.5"], "replicates": 50}
    old = pv.audit([OLD_AUDITS / "0.2.0-bins.counts", OLD_AUDITS / "0.2.0-bins.tally"], **options)
    new = pv.audit(scores, speakers=speakers, by="gender", **options)
    for group in "fm":
        rows = [
            audit.groups.subset(group=group, metric="fnr", operating_point="threshold=0.5").rows()[
                0
            ]
            for audit in (old, new)
        ]
        assert [row["speakers"] for row in rows] == [4, 4]
        assert rows[0]["errors"] == rows[1]["errors"]
        assert rows[0]["low"] == pytest.approx(rows[1]["low"])
    key = OLD_AUDITS / "0.2.0-bins.key"
    ids = read_speakers(speakers, id="speaker").ids
    _, header, _ = read_columns(OLD_AUDITS / "0.2.0-bins.tally", SPEAKER_COUNTS)
    assert {*SiteKey.read(key, NO_KDF).pseudonyms(ids)} >= {*header["names"]}
    options = {"speakers": speakers, "by": "gender", "withhold": 0, "step": 0.1}
    shutil.copy(key, tmp_path)
    counts = pv.count(scores, key=tmp_path / key.name, **options)
    assert not {*counts.speaker_counts.names} & {*header["names"]}


def test_a_plan_of_0_2_0_is_refused(tmp_path, capsys):
    """Numbers changed since then, and all shards of a list have to agree."""
    with zipfile.ZipFile(OLD_AUDITS / "0.2.0-run.shards") as archive:
        archive.extractall(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for words in (["run"], ["merge", "--out", str(tmp_path / "audit")]):
        with pytest.raises(SystemExit, match="2"):
            main(["shards", words[0], str(tmp_path / "run"), *words[1:], "--quiet"])
        message = capsys.readouterr().err
        assert f"was made by Parivox 0.2.0, but this is {pv.__version__}; run all" in message
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("name", ["0.2.0-logistic.json", "0.2.0-isotonic.json"])
def test_a_calibrator_of_0_2_0_gives_rising_llrs(name, tmp_path):
    table = {"enrol": ["a/1"] * 3, "test": ["b/1", "b/2", "b/3"], "score": [-1.0, 0.5, 2.0]}
    speakers = {"speaker": ["a", "b"], "gender": ["f", "f"]}
    pv.apply_calibrator(table, OLD_AUDITS / name, tmp_path / "llr.csv", speakers=speakers)
    llrs = pl.read_csv(tmp_path / "llr.csv")["score"].to_list()
    assert llrs[0] < 0 < llrs[2]
    assert llrs == sorted(llrs)


def test_a_rule_file_of_0_2_0_is_applied(tiny):
    scores, speakers = tiny
    options = {"by": "gender", "operating_points": ["deployed"], "intervals": False}
    audit = pv.audit(
        scores, speakers=speakers, thresholds=OLD_AUDITS / "0.2.0-rules.yaml", **options
    )
    (row,) = audit.groups.subset(grouping="all", metric="fnr").rows()
    trials = pl.read_csv(scores).filter(pl.col("label") == 1)
    assert row["errors"] == (trials["score"] < 0.244015).sum()


def test_a_policy_of_0_2_0_judges_an_audit_of_0_2_0(tmp_path):
    zipfile.ZipFile(OLD_AUDITS / "0.2.0-plain.zip").extractall(tmp_path)
    gate = pv.gate(tmp_path, OLD_AUDITS / "0.2.0-policy.yaml", baseline=tmp_path)
    assert gate.conditions.to_dict()["outcome"] == ["inconclusive"] * 3
    assert gate.conditions.to_dict()["accepted"] == [0, 0, 1]


def test_an_old_rule_file_decides_as_it_was_meant(tiny):
    scores, speakers = tiny
    options = {"by": "gender", "operating_points": ["deployed"], "intervals": False}
    audit = pv.audit(scores, speakers=speakers, thresholds=OLD_AUDITS / "1-rules.yaml", **options)
    thresholds = {"f": 0.3284, "m": 0.4642}
    trials = pl.read_csv(scores).join(
        pl.read_csv(speakers), left_on=pl.col("enrol").str.slice(0, 2), right_on="speaker"
    )
    for group in "fm":
        target_trials = trials.filter(pl.col("gender") == group, pl.col("label") == 1)
        (row,) = audit.groups.subset(group=group, metric="fnr").rows()
        assert row["errors"] == (target_trials["score"] < thresholds[group]).sum() > 0
    assert len(audit.record["thresholds"]["trials_sha256"]) == 64


@pytest.mark.parametrize("method", ["logistic", "isotonic"])
def test_an_old_calibrator_gives_the_llrs_that_it_gave(method, tmp_path):
    path, out = OLD_AUDITS / f"1-{method}.json", tmp_path / "llr.csv"
    scores = np.array([0.2, 0.345, 0.5])
    table = {"enrol": ["a/1"] * 3 + ["b/1"] * 3, "test": ["a/2", "a/3", "b/2"] * 2}
    speakers = {"speaker": ["a", "b"], "gender": ["f", "m"]}
    pv.apply_calibrator(table | {"score": [*scores] * 2}, path, out, speakers=speakers)
    groups = json.loads(path.read_text())["groups"]
    llrs = [
        calibrator["slope"] * scores + calibrator["offset"]
        if method == "logistic"
        else np.interp(scores, calibrator["scores"], calibrator["llrs"])
        for calibrator in (groups["f"], groups["m"])
    ]
    assert pl.read_csv(out)["score"].to_list() == pytest.approx(np.concatenate(llrs).tolist())


def test_an_old_policy_asks_what_it_asked(tmp_path):
    zipfile.ZipFile(OLD_AUDITS / "0.1.0-plain.zip").extractall(tmp_path)
    days = dt.date(2026, 1, 31), dt.date(2026, 2, 1)
    before, after = (
        pv.gate(tmp_path, OLD_AUDITS / "1-policy.yaml", baseline=tmp_path, today=day)
        for day in days
    )
    assert before.conditions.to_dict()["outcome"] == [
        "pass",
        "pass",
        "inconclusive",
        "inconclusive",
    ]
    assert before.conditions.to_dict()["accepted"] == [0, 2, 0, 1]
    assert after.conditions.to_dict()["accepted"] == [0, 2, 0, 0]
    assert after.record["ended"] == [
        "impostors get in alike: its door is watched (until 2026-01-31)"
    ]
    limits = [(row["group"], row["asked"], row["most"]) for row in before.groups.rows()]
    assert limits[:3] == [("m", "rate", 0.5), ("pooled", "rate", 0.5), ("f", "ratio", 1.5)]


@pytest.mark.parametrize(("version", "n_errors"), [("1", 60), ("0.2.0", 86)])
def test_an_old_state_goes_on(version, n_errors, tmp_path):
    path = tmp_path / "state"
    path.write_bytes((OLD_AUDITS / f"{version}-stream.state").read_bytes())
    old = pv.monitor(state=path)
    assert (old.record["days"], old.record["trials"], old.record["errors"]) == (2, 320, n_errors)
    names = [f"c{i:02}" for i in range(40)]
    people = {"customer": names, "gender": ["f", "m"] * 20}
    calls = {"call": names, "customer": names, "decision": ["reject", "accept"] * 20}
    key = OLD_AUDITS / f"{version}-stream.key"
    options = {"state": path, "key": key, "speakers": people, "by": "gender"}
    last_day, next_day = (dt.date(2026, 1, day).isoformat() for day in DAYS[version])
    with pytest.raises(ConfigError, match=f"{last_day} is already counted"):
        pv.monitor(calls, day=last_day, **options)
    new = pv.monitor(calls, day=next_day, **options)
    assert (new.record["trials"], new.record["errors"]) == (360, n_errors + 20)
    assert new.record["speakers"] == old.record["speakers"] == 40  # the same names of the same key


def test_an_old_audit_is_written_again_as_it_was(old, tmp_path):
    """Sentences are codes and verdicts have new names; later columns stand at the end, empty."""
    pv.load(old).save(tmp_path / "again")
    for path in old.glob("*.csv"):
        again = tmp_path / "again" / path.name
        before, now = (pl.read_csv(file, infer_schema=False) for file in (path, again))
        if "verdict" in before.columns:
            before = before.with_columns(pl.col("verdict").replace(schema.OLD_VERDICTS))
        facts = [] if path.stem in schema.WITHOUT_FACTS else ["values"]
        later = [
            name for name in schema.ADDED_COLUMNS.get(path.stem, ()) if name not in before.columns
        ]
        assert now.columns == [*before.columns, *later, *facts]
        same = [
            name
            for name in before.columns
            if not facts
            or name not in FACT_COLUMNS
            or schema.FIRST_COLUMNS[path.stem][name] != "str"
        ]
        assert now.select(same).equals(before.select(same), null_equal=True), path.name
        assert now.select(later).null_count().row(0) == (now.height,) * len(later)
    assert pv.load(tmp_path / "again").to_json() == pv.load(old).to_json()


def test_verdicts_of_an_old_audit_have_their_new_names(old):
    audit = pv.load(old)
    verdicts = {row["verdict"] for table in (audit.verdicts, audit.limits) for row in table.rows()}
    assert not verdicts & {*schema.OLD_VERDICTS}
    for path in old.glob("verdicts.csv"):
        before = pl.read_csv(path, infer_schema=False)["verdict"].to_list()
        n_inconclusive = sum(word == "cannot_tell" for word in before)
        assert len(audit.verdicts.filter(verdict="inconclusive")) == n_inconclusive > 0


def test_an_old_audit_follows_the_schema_of_now(old, follows_schema):
    follows_schema(json.loads(pv.load(old).to_json()))


def test_a_column_that_came_later_is_missing_with_a_reason(old, tmp_path, later_column, capsys):
    audit = pv.load(old)
    for table in (audit.groups, audit.det):
        assert table.columns[-2:] == ("pairs", "why")
        assert [(row["pairs"], row["why"]) for row in table] == [(None, "")] * len(table)
    expected = [f"{table}.{name}" for table in ("det", "groups") for name in ("pairs", "why")]
    reason = missing(audit.record["versions"]["parivox"], "column")
    assert audit.record["other_version"] == absent_from(old) | dict.fromkeys(expected, reason)
    page = tmp_path / "page.html"
    main(["report", str(old), "--out", str(page)])
    assert "groups.pairs" in page.read_text("utf-8")
    message = capsys.readouterr().err
    assert "another version of Parivox" in message
    assert "groups.pairs" in message
    audit.save(tmp_path / "again")
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
    Audit(**{**vars(audit), "groups": filled, "det": Table(det)}).save(tmp_path / "a")
    again = pv.load(tmp_path / "a")
    assert {(row["pairs"], row["why"]) for row in again.groups} == {(7, "")}
    assert {(row["pairs"], row["why"]) for row in again.det} == {(8, "so")}
    assert "other_version" not in again.record


def test_columns_and_tables_that_are_not_known_are_set_aside(small, folder, follows_schema):
    def change(document):
        groups = document["tables"]["groups"]
        groups["shade"] = ["blue"] * len(groups["value"])
        follows_schema(document)
        document["tables"]["moods"] = {"mood": ["good"]}

    rewrite(folder, change)
    det = pl.read_parquet(folder / "det.parquet").with_columns(shade=1)
    det.write_parquet(folder / "new.parquet")
    replace(folder, "det.parquet", (folder / "new.parquet").read_bytes())
    (folder / "new.parquet").unlink()
    audit = pv.load(folder)
    for name, table in small.tables().items():
        assert audit.tables()[name].to_polars().equals(table.to_polars()), name
    assert {*audit.record["other_version"]} == {"groups.shade", "det.shade", "moods"}
    reasons = audit.record["other_version"].values()
    assert {reason["code"] for reason in reasons} == {"unknown_to_this_version"}


def test_an_option_that_came_later_is_at_its_default(folder):
    rewrite(folder, lambda document: document["options"].pop("attempts"))
    audit = pv.load(folder)
    assert audit.record["options"]["attempts"] is None
    assert [*audit.record["other_version"]] == ["option attempts"]


@pytest.mark.parametrize(
    ("version", "mend"), [("7", "update Parivox"), ("4", "audit again"), (None, "audit again")]
)
def test_another_schema_is_told_in_a_sentence(folder, version, mend, capsys):
    rewrite(folder, lambda document: document.update(parivox_audit=version))
    with pytest.raises(DataError, match=f"has format version {version!r}.*{mend}") as refusal:
        pv.load(folder)
    assert "\n" not in str(refusal.value)
    with pytest.raises(SystemExit) as ended:
        main(["report", str(folder), "--format", "markdown"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document.pop("options"),
        lambda document: document.pop("versions"),
        lambda document: document.pop("tables"),
        lambda document: document["tables"].pop("groups"),
        lambda document: document["tables"]["groups"].pop("value"),
        lambda document: document["tables"]["groups"]["value"].pop(),
        lambda document: document["tables"].update(groups={}),
        lambda document: document["tables"].update(groups=[1]),
        lambda document: document["tables"]["groups"].update(errors=["many"] * 3),
    ],
)
def test_what_every_audit_has_may_not_be_missing(folder, change):
    rewrite(folder, change)
    with pytest.raises(DataError, match=r"audit\.json is damaged") as refusal:
        pv.load(folder)
    assert "\n" not in str(refusal.value)


def test_the_schema_has_the_columns_of_the_tables():
    path = importlib.resources.files("parivox.auditing") / "audit.schema.json"
    document = json.loads(path.read_text("utf-8"))
    kinds = {"facts": "facts", "str": "texts", "float": "numbers", "int": "counts", "bool": "flags"}
    tables = {
        name: columns | ({} if name in schema.WITHOUT_FACTS else {"values": "facts"})
        for name, columns in schema.FIRST_COLUMNS.items()
        if name not in schema.CURVES
    }
    assert {*document["properties"]["tables"]["properties"]} == {*tables}
    assert {*document["properties"]["tables"]["required"]} == {*tables} - {*schema.ON_REQUEST}
    for name, columns in tables.items():
        table = document["$defs"][name]
        assert table["required"] == [*columns]
        assert table["properties"] == {
            column: {"$ref": f"#/$defs/{kinds[kind]}"} for column, kind in columns.items()
        }
