"""The format of files of counts: what it holds, what is read of version 1, what is refused."""

import importlib.resources
import json
import runpy
from pathlib import Path

import polars as pl
import pytest

import parivox as pv
from parivox.data.count_rows import CountRows
from parivox.data.counts_file import (
    COLUMN_TYPES,
    KEY,
    SCORE_COUNTS,
    SPEAKER_COUNTS,
    file_bytes,
    read_columns,
    read_header,
)
from parivox.errors import ConfigError, DataError

ROOT = Path(__file__).parents[2]
OLD = ROOT / "tests" / "old_audits"
OLD_COUNTS = ["0.1.0-scores", "0.1.0-bins", "0.2.0-scores", "0.2.0-bins"]
WORDS = {SCORE_COUNTS: "score counts", SPEAKER_COUNTS: "speaker counts"}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """The scores and speakers that the kept files of versions 1 are of."""
    folder = tmp_path_factory.mktemp("tiny")
    runpy.run_path(str(ROOT / "examples" / "tiny_scores.py"))["write"](folder)
    return folder / "scores.csv", folder / "speakers.csv"


@pytest.fixture(scope="module")
def files(tiny, tmp_path_factory):
    """Score counts and speaker counts, as they are written now, by kind."""
    folder = tmp_path_factory.mktemp("files")
    scores, speakers = tiny
    options = {"speakers": speakers, "by": "gender", "withhold": 0, "step": 0.1}
    pv.count(scores, new_key=folder / "site.key", **options).save(folder / "new.counts")
    return {SCORE_COUNTS: folder / "new.counts", SPEAKER_COUNTS: folder / "new.tally"}


def written_again(path, tmp_path, **fields):
    """The file with other fields in its header, its hash left as it was."""
    header = json.loads(pl.read_parquet_metadata(path)[KEY]) | fields
    odd = tmp_path / path.name
    pl.read_parquet(path).write_parquet(odd, metadata={KEY: json.dumps(header)})
    return odd


@pytest.mark.parametrize("kind", COLUMN_TYPES)
def test_the_header_follows_the_schema(files, kind, optional):
    text = importlib.resources.files("parivox.data").joinpath("counts.schema.json").read_text()
    schema = json.loads(text)
    checker = optional("jsonschema").Draft202012Validator
    checker.check_schema(schema)
    header = json.loads(pl.read_parquet_metadata(files[kind])[KEY])
    assert [error.message for error in checker(schema).iter_errors(header)] == []
    required = {*schema["required"], *schema["$defs"][kind]["required"]}
    described = {*schema["properties"], *schema["$defs"][kind]["properties"]}
    assert set(header) == required == described
    assert (header[KEY], header["kind"]) == ("2", kind)


@pytest.mark.parametrize("kind", COLUMN_TYPES)
def test_the_docs_name_every_column_and_field(files, kind):
    text = (
        (ROOT / "docs" / "counts.md").read_text(encoding="utf-8").partition("## The file format")[2]
    )
    assert {name for name in COLUMN_TYPES[kind] if f"`{name}`" not in text} == set()
    # the schema, which the page names, has the keys of the header
    assert "`parivox/data/counts.schema.json`" in text
    schema = json.loads(
        importlib.resources.files("parivox.data")
        .joinpath("counts.schema.json")
        .read_text(encoding="utf-8")
    )
    header = json.loads(pl.read_parquet_metadata(files[kind])[KEY])
    in_schema = {*schema["properties"], *schema["$defs"][WORDS[kind]]["properties"]}
    assert header.keys() <= in_schema


@pytest.mark.parametrize("kind", COLUMN_TYPES)
def test_a_file_is_a_function_of_its_columns_and_header(files, kind):
    _, header, columns = read_columns(files[kind], kind)
    assert file_bytes(kind, columns, header) == files[kind].read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("name", OLD_COUNTS)
def test_counts_of_version_1_are_added_to_those_of_now(name, tiny, tmp_path):
    scores, speakers = tiny
    step = {} if "scores" in name else {"step": 0.1}
    thresholds = [0.5] if name == "0.1.0-bins" else []
    others = pl.read_csv(scores).with_columns(pl.col("test") + "x")
    new = pv.count(
        {"S": others}, speakers=speakers, by="gender", withhold=0, thresholds=thresholds, **step
    )
    new.save(tmp_path / "new.counts")
    options = {"operating_points": ["threshold=0.5"], "intervals": False}
    both = pv.audit({"S": [OLD / f"{name}.counts", tmp_path / "new.counts"]}, **options)
    alone = pv.audit({"S": OLD / f"{name}.counts"}, **options)
    for metric in ("fnr", "fpr"):
        pairs = zip(
            both.groups.subset(metric=metric), alone.groups.subset(metric=metric), strict=True
        )
        for row, row_alone in pairs:
            assert row["errors"] == 2 * row_alone["errors"]
            assert row["trials"] == 2 * row_alone["trials"] > 0


@pytest.mark.parametrize("name", OLD_COUNTS)
def test_counts_of_version_1_have_the_columns_and_fields_of_version_2(name, files):
    _, header, columns = read_columns(OLD / f"{name}.counts", SCORE_COUNTS)
    now = read_header(files[SCORE_COUNTS], SCORE_COUNTS)
    assert set(now) - set(header) == {"sha256", "kind"}
    assert list(columns) == [*COLUMN_TYPES[SCORE_COUNTS]]
    # the same trials, counted now
    if name == "0.2.0-bins":
        _, _, columns_now = read_columns(files[SCORE_COUNTS], SCORE_COUNTS)
        for column, cells in CountRows(columns).columns.items():
            assert cells.tolist() == pytest.approx(columns_now[column].tolist(), nan_ok=True)


@pytest.mark.parametrize("name", ["1-bins", "0.2.0-bins"])
def test_speaker_counts_of_version_1_have_the_columns_and_fields_of_version_2(name, files):
    _, header, columns = read_columns(OLD / f"{name}.tally", SPEAKER_COUNTS)
    now = read_header(files[SPEAKER_COUNTS], SPEAKER_COUNTS)
    assert set(now) - set(header) <= {KEY, "parivox", "kind", "disclosures"}
    assert list(columns) == [*COLUMN_TYPES[SPEAKER_COUNTS]]
    assert (header["kdf"], bool(now["kdf"])) == ("", True)


@pytest.mark.slow
def test_names_of_0_2_0_are_not_added_to_those_of_now(tiny, files, tmp_path):
    scores, speakers = tiny
    others = pl.read_csv(scores).with_columns(pl.col("test") + "x")
    key = files[SCORE_COUNTS].with_name("site.key")
    options = {"speakers": speakers, "by": "gender", "withhold": 0, "step": 0.1}
    pv.count({"S": others}, key=key, **options).save(tmp_path / "new.counts")
    old = [OLD / "0.2.0-bins.counts", OLD / "0.2.0-bins.tally"]
    with pytest.raises(ConfigError, match=r"0\.2\.0-bins\.tally.* derived in different ways"):
        pv.audit({"S": [*old, tmp_path / "new.counts", tmp_path / "new.tally"]})


@pytest.mark.parametrize("kind", COLUMN_TYPES)
def test_a_later_version_is_refused_by_name(files, kind, tmp_path):
    odd = written_again(files[kind], tmp_path, **{KEY: "4"})
    contents = rf"^{odd.name}: contains {WORDS[kind]} of version '4'"
    sentence = rf"{contents}, but .* reads '1', '2' and '3'; update"
    with pytest.raises(DataError, match=sentence):
        read_header(odd, kind)
    with pytest.raises(DataError, match=sentence):
        pv.audit([odd] if kind == SCORE_COUNTS else [files[SCORE_COUNTS], odd])


@pytest.mark.parametrize("kind", COLUMN_TYPES)
def test_a_changed_field_or_cell_is_noticed(files, kind, tmp_path):
    odd = written_again(files[kind], tmp_path, min_speakers=2)
    with pytest.raises(DataError, match="its content has changed since it was written"):
        read_columns(odd, kind)


def test_a_kind_that_there_is_not_is_refused(files, tmp_path):
    odd = written_again(files[SCORE_COUNTS], tmp_path, kind="counts of moments")
    with pytest.raises(DataError, match="it contains 'counts of moments'"):
        pv.audit(odd)


@pytest.mark.parametrize("kind", COLUMN_TYPES)
def test_metadata_of_two_versions_are_refused(files, kind, tmp_path):
    odd = tmp_path / "odd.counts"
    metadata = pl.read_parquet_metadata(files[kind])
    metadata["parivox_tally"] = pl.read_parquet_metadata(OLD / "0.2.0-bins.tally")["parivox_tally"]
    pl.read_parquet(files[kind]).write_parquet(odd, metadata=metadata)
    with pytest.raises(DataError, match=r"odd\.counts: .*its metadata belong to two versions"):
        read_columns(odd, kind)


def test_columns_of_version_1_under_a_header_of_version_2_are_refused(files, tmp_path):
    odd = tmp_path / "odd.counts"
    frame, metadata = (
        pl.read_parquet(OLD / "0.2.0-bins.counts"),
        pl.read_parquet_metadata(files[SCORE_COUNTS]),
    )
    frame.write_parquet(odd, metadata={KEY: metadata[KEY]})
    with pytest.raises(DataError, match="its columns are block, level, enrol_group"):
        pv.audit(odd)


@pytest.mark.parametrize("header", ["", "[]", "{}", '"2"', "{", '{"parivox_counts": 2}', "null"])
def test_a_header_that_is_none_is_a_sentence(files, header, tmp_path):
    odd = tmp_path / "odd.counts"
    pl.read_parquet(files[SCORE_COUNTS]).write_parquet(odd, metadata={KEY: header})
    with pytest.raises(DataError, match=r"^odd\.counts: ") as refusal:
        pv.audit(odd)
    assert "\n" not in str(refusal.value)


@pytest.mark.slow
def test_a_group_named_like_a_hash_does_not_hide_the_hash(tiny, tmp_path):
    scores, _ = tiny
    speakers = sorted({*pl.read_csv(scores)["enrol"].str.slice(0, 2)})
    odd_name = "0" * 64
    people = {
        "speaker": speakers,
        "z": [odd_name, 'x", "sha256": "' + odd_name] * (len(speakers) // 2),
    }
    counts = pv.count({"S": pl.read_csv(scores)}, speakers=people, by="z", withhold=0)
    counts.save(tmp_path / "odd.counts")
    assert pv.audit(tmp_path / "odd.counts", intervals=False).groups.subset(group=odd_name)
