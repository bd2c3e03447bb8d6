"""An audit in parts: planned, run in any order by anyone, merged."""

import json
import re
import shutil
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import parivox as pv
from parivox.auditing.private import PrivateKey
from parivox.data.formats import dataframes
from parivox.data.speaker_counts import SpeakerCounts
from parivox.errors import ConfigError, DataError
from parivox.runtime.disk import lock_folder
from parivox.shards import merge, plan, read_plan, run, run_shard
from parivox.share import shard_plan
from parivox.share.shard_record import COUNTS_FILE, SPEAKER_COUNTS_FILE, ShardRecord

OPTIONS = {"by": ["gender", "gender+nation"], "replicates": 60}
RICH = {
    "by": ["gender", "channel"],
    "within": ["channel"],
    "replicates": 60,
    "allocate": ["either"],
    "operating_points": ["fpr=0.01", "deployed"],
    "limits": ["fnr=0.2"],
}
CALLED = {
    "by": ["gender", "device", "gender+channel"],
    "within": ["device"],
    "replicates": 60,
    "operating_points": ["fpr=0.01", "deployed"],
    "utterances": "recordings.csv",
    "failures": "failures.csv",
}


def planned(lists, out, *files, shards=3, **options):
    sources = {"S": sources_of(lists, files)}
    audit_options = on_disk(lists, {**OPTIONS, **options})
    return plan(sources, out=out, shards=shards, speakers=str(lists / "s.csv"), **audit_options)


def sources_of(lists, files):
    return [str(lists / name) for name in files or ("all.parquet",)]


def on_disk(lists, options):
    """The same, with tables by their paths."""
    tables = {"utterances", "failures"} & {*options}
    return {**options, **{name: str(lists / options[name]) for name in tables}}


def in_one_piece(lists, *files, **options):
    audit_options = on_disk(lists, {**OPTIONS, **options})
    scores = {("S", ""): sources_of(lists, files)}
    return pv.audit(scores, speakers=str(lists / "s.csv"), **audit_options)


@pytest.fixture(scope="module")
def in_one_piece_once(lists):
    """Make the audit of some files once, however many shards it is compared with."""
    audits = {}

    def audit(files, options):
        key = (files, json.dumps(options, sort_keys=True))
        if key not in audits:
            audits[key] = in_one_piece(lists, *files, **options)
        return audits[key]

    return audit


@pytest.fixture(scope="module")
def done(lists, tmp_path_factory):
    """A plan of which all parts are done."""
    folder = tmp_path_factory.mktemp("done") / "run"
    planned(lists, folder)
    run(folder)
    return folder


@pytest.fixture(scope="module")
def done_files(done, tmp_path_factory):
    """What the audit of that plan writes, as `files_of`."""
    return files_of(merge(done), tmp_path_factory.mktemp("merged") / "audit")


@pytest.fixture
def copied(done, tmp_path):
    """The same, to be changed."""
    return shutil.copytree(done, tmp_path / "copy")


def files_of(audit, folder):
    """Bytes of what an audit writes, by name, with the key of any other audit."""
    folder.mkdir()
    PrivateKey(bytes(range(32))).write(folder)
    audit.save(folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def differing(first_files, second_files):
    return {
        name
        for name in {*first_files, *second_files}
        if first_files.get(name) != second_files.get(name)
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("files", "shards", "options"),
    [
        (("all.parquet",), 3, OPTIONS),
        (("day0.parquet", "day1.parquet", "day2.parquet"), 5, RICH),
        (("all.csv",), 2, OPTIONS),
        (("called0.csv", "called1.csv", "called2.csv"), 4, CALLED),
        (("called0.csv", "called1.csv", "called2.csv"), 2, CALLED),
        (("called2.csv", "called0.csv", "called1.csv"), 4, CALLED),
    ],
)
def test_parts_put_together_have_the_bytes_of_the_audit_in_one_piece(
    lists, tmp_path, in_one_piece_once, files, shards, options
):
    reference_audit = in_one_piece_once(files, options)
    folder = tmp_path / "run"
    plan = planned(lists, folder, *files, shards=shards, **options)
    assert len(plan) == shards
    run(folder)
    audit = merge(folder)
    reference_files, merged_files = (
        files_of(reference_audit, tmp_path / "a"),
        files_of(audit, tmp_path / "b"),
    )
    assert len(reference_files) == (17 if "failures" in options else 16)
    assert differing(reference_files, merged_files) == set()
    assert len(reference_audit.tables()["pairing"]) > 0
    assert ("failures" in options) == bool(len(reference_audit.failures))
    assert [
        input_record["name"]
        for input_record in audit.provenance
        if input_record["role"] == "scores"
    ] == [*files]
    assert len(audit.verdicts) == len(reference_audit.verdicts) > 0


@pytest.mark.slow
@given(st.lists(st.integers(1, 300), min_size=1, max_size=20), st.integers(1, 40))
def test_shards_hold_every_row_once_in_about_equal_numbers(sizes, n_shards):
    shards = list(shard_plan._shard_rows(sizes, n_shards))
    rows = [
        (file_index, row)
        for shard in shards
        for file_index, first_row, end_row in shard
        for row in range(first_row, end_row)
    ]
    assert rows == [
        (file_index, row) for file_index, size in enumerate(sizes) for row in range(size)
    ]
    assert len(shards) <= n_shards
    if sum(sizes) >= 2 * n_shards:
        assert len(shards) == n_shards
    shard_sizes = [sum(end - first for _, first, end in shard) for shard in shards]
    assert max(shard_sizes) <= 2 * sum(sizes) / n_shards + 1


def test_files_alike_are_dealt_to_parts_whole():
    shards = shard_plan._shard_rows([100, 103, 98, 99, 101, 100, 97, 104, 100, 99, 100, 99], 4)
    assert [[file_index for file_index, _, _ in shard] for shard in shards] == [
        [0, 1, 2],
        [3, 4, 5],
        [6, 7, 8],
        [9, 10, 11],
    ]


@pytest.mark.slow
def test_a_part_names_its_files(lists, tmp_path):
    days = [f"day{i}.parquet" for i in range(3)]
    n_rows = [pl.read_parquet(lists / day).height for day in days]
    shard_plan_of_days = planned(lists, tmp_path / "run", *days, shards=1)
    rows = ", ".join(f"rows 1 to {n:,} of {day}" for n, day in zip(n_rows, days, strict=True))
    assert shard_plan_of_days.shard_description(1) == f"shard 1 of 1 ({rows})"


@pytest.mark.slow
def test_parts_of_a_log_with_days_read_their_own_rows(lists, tmp_path):
    frame = pl.read_csv(lists / "all.csv").with_columns(date=pl.lit("2026-11-22"))
    frame.write_csv(tmp_path / "log.csv")
    shutil.copy(lists / "s.csv", tmp_path)
    planned(tmp_path, tmp_path / "run", "log.csv", shards=2)
    run(tmp_path / "run")
    merged = merge(tmp_path / "run")
    whole = in_one_piece(tmp_path, "log.csv")
    assert merged.groups.rows() == whole.groups.rows()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["scores", "enrol", "label", "Test Speaker"])
def test_a_file_called_as_a_column_is_merged(lists, tmp_path, name):
    scores = shutil.copy(lists / "all.csv", tmp_path / f"{name}.csv")
    people = str(lists / "s.csv")
    plan([str(scores)], out=tmp_path / "run", shards=2, speakers=people, **OPTIONS)
    run(tmp_path / "run")
    (system,) = {row["system"] for row in merge(tmp_path / "run").groups.rows()}
    assert system == name


@pytest.mark.slow
@pytest.mark.parametrize("fewest", [20, 5])
def test_of_long_lists_scores_are_counted_in_bins_and_speakers_in_blocks(
    lists, tmp_path, monkeypatch, fewest
):
    monkeypatch.setattr("parivox.share.shard_plan.MAX_EXACT_TRIALS", 100)
    monkeypatch.setattr("parivox.auditing.system_uncertainty.MAX_EXACT_TRIALS", 100)
    monkeypatch.setattr("parivox.share.shard_run.MAX_SEPARATE_SPEAKERS", 10)
    monkeypatch.setattr("parivox.share.shard_run.N_SPEAKER_BLOCKS", 12)
    monkeypatch.setattr("parivox.data.units.MIN_BLOCKS_PER_GROUP", fewest)
    folder = tmp_path / "run"
    points = {"operating_points": ["threshold=1.25", "fpr=0.01"]}
    plan = planned(lists, folder, **points)
    assert plan.step == "0.001"
    run(folder)
    audit = merge(folder)
    reference_audit = in_one_piece(lists, **points)
    names = ("grouping", "group", "metric", "definition", "operating_point")
    reference_rows, merged_rows = (
        {tuple(row[name] for name in names): row for row in audit_rows.groups}
        for audit_rows in (reference_audit, audit)
    )
    assert {*reference_rows} == {*merged_rows}
    for key, row in reference_rows.items():
        if key[2] in {"fpr", "fnr"}:
            for name in ("errors", "trials", "value"):
                assert merged_rows[key][name] == row[name], key
            if key[4] == "threshold=1.25" and fewest == 20:  # 24 speakers would be as many blocks
                assert merged_rows[key]["interval"] == "speakers"
                for name in ("low", "high"):
                    assert merged_rows[key][name] == pytest.approx(row[name], rel=1e-9), key
            elif key[4] == "threshold=1.25" and row["se"]:
                assert merged_rows[key]["interval"] == "speakers in blocks"
                assert merged_rows[key]["se"] == pytest.approx(row["se"], rel=0.6)
    assert audit.record["resolution"]["bounds"]["S"]["replicates"] > 0
    assert audit.record["resolution"]["exact"] is False


@pytest.mark.slow
def test_thresholds_that_do_not_depend_on_trials_are_edges_of_bins(lists, tmp_path, monkeypatch):
    monkeypatch.setattr("parivox.share.shard_plan.MAX_EXACT_TRIALS", 100)
    monkeypatch.setattr("parivox.auditing.system_uncertainty.MAX_EXACT_TRIALS", 100)
    points = {"operating_points": ["bayes", "threshold=1.2512345"], "llr": True}
    planned(lists, tmp_path / "run", **points)
    run(tmp_path / "run")
    audits = merge(tmp_path / "run"), in_one_piece(lists, **points)
    merged, in_one = ([row["threshold"] for row in audit.operating_points] for audit in audits)
    assert merged == in_one


def test_thresholds_of_another_list_are_refused_where_scores_are_counted_in_bins(
    lists, tmp_path, monkeypatch
):
    monkeypatch.setattr("parivox.share.shard_plan.MAX_EXACT_TRIALS", 100)
    with pytest.raises(ConfigError, match="threshold_from: above 100 rows, shards count scores"):
        planned(lists, tmp_path / "run", threshold_from=str(lists / "all.parquet"))
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
@pytest.mark.parametrize("in_bins", [False, True])
def test_speakers_who_are_in_no_trial_make_no_blocks(lists, tmp_path, monkeypatch, in_bins):
    """A table of all customers is long whatever was tried of them."""
    monkeypatch.setattr("parivox.share.shard_run.MAX_SEPARATE_SPEAKERS", 24 if in_bins else 10)
    if in_bins:
        monkeypatch.setattr("parivox.share.shard_plan.MAX_EXACT_TRIALS", 100)
        monkeypatch.setattr("parivox.auditing.system_uncertainty.MAX_EXACT_TRIALS", 100)
    people = pl.read_csv(lists / "s.csv")
    more = people.with_columns(id="more" + pl.col("id"))
    shutil.copy(lists / "all.parquet", tmp_path)
    pl.concat([people, more]).write_csv(tmp_path / "s.csv")
    planned(tmp_path, tmp_path / "run")
    run(tmp_path / "run")
    audit = merge(tmp_path / "run")
    assert {row["interval"] for row in audit.groups} >= {"speakers"}
    assert "speakers in blocks" not in {row["interval"] for row in audit.groups}
    if not in_bins:
        reference_audit = in_one_piece(tmp_path)
        reference_files, merged_files = (
            files_of(reference_audit, tmp_path / "a"),
            files_of(audit, tmp_path / "b"),
        )
        assert differing(reference_files, merged_files) == set()


@pytest.mark.slow
def test_an_array_is_run_twice_and_merged_twice(lists, done_files, tmp_path):
    folder = tmp_path / "run"
    planned(lists, folder)
    for _ in range(2):
        for number in (3, 1, 2):  # in any order
            run(folder, shard=f"{number}/3")
        audit = merge(folder)
        if _ == 0:
            assert audit is None
    assert differing(files_of(audit, tmp_path / "a"), done_files) == set()


@pytest.mark.slow
@pytest.mark.parametrize("content", [None, b"of another plan"], ids=["missing", "changed"])
def test_the_sum_of_the_counts_is_made_of_the_parts_where_it_is_not_what_it_was(
    done_files, copied, content, tmp_path
):
    count_file = copied / "trials.counts"
    assert count_file.exists()
    count_file.unlink()
    if content is not None:
        count_file.write_bytes(content)
    merged_files = files_of(merge(copied), tmp_path / "a")
    assert differing(merged_files, done_files) == set()


@pytest.mark.slow
@pytest.mark.parametrize("conflicts", ["error", "exclude"])
def test_rows_that_contradict_others_of_their_part_are_set_aside_as_in_one_piece(
    lists, tmp_path, conflicts
):
    frame = pl.read_parquet(lists / "day0.parquet")
    pl.concat([frame, frame[:1], frame[1:2].with_columns(score=-9.0)]).write_parquet(
        tmp_path / "day0.parquet"
    )
    for name in ("day1.parquet", "s.csv"):
        shutil.copy(lists / name, tmp_path)
    files, folder = ("day0.parquet", "day1.parquet"), tmp_path / "run"
    planned(tmp_path, folder, *files, shards=2, conflicts=conflicts)
    if conflicts == "error":
        with pytest.raises(DataError, match=r"shard 1 of 2 .*, rows 2 and \d+: the same trial"):
            run(folder)
        return
    run(folder)
    reference_audit = in_one_piece(tmp_path, *files, conflicts=conflicts)
    reference_files, merged_files = (
        files_of(reference_audit, tmp_path / "a"),
        files_of(merge(folder), tmp_path / "b"),
    )
    assert differing(reference_files, merged_files) == set()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("score", "files", "message"),
    [
        (None, ["days.parquet"], r"days\.parquet, rows 1 and \d+: the same trial \(qz"),
        (None, ["one.parquet", "two.parquet"], r"one\.parquet, row 1 and .*two\.parquet, row \d+"),
        (-9.0, ["days.parquet"], r"days\.parquet, rows 1 and \d+: the same trial"),
        (-9.0, ["one.parquet", "two.parquet"], r"one\.parquet, row 1 and .*two\.parquet, row \d+"),
    ],
)
@pytest.mark.parametrize("conflicts", ["error", "exclude"])
def test_a_pair_in_two_parts_is_refused_by_its_rows_after_the_first_pass(
    lists, tmp_path, score, files, message, conflicts
):
    frame = pl.read_parquet(lists / "all.parquet")
    again = frame[:1].with_columns(score=pl.coalesce(pl.lit(score), "score"))
    trial_frame = pl.concat([frame, again])
    half = trial_frame.height // 2
    pieces = [trial_frame] if len(files) == 1 else [trial_frame[:half], trial_frame[half:]]
    for name, piece in zip(files, pieces, strict=True):
        piece.write_parquet(tmp_path / name)
    shutil.copy(lists / "s.csv", tmp_path)
    folder = tmp_path / "run"
    planned(tmp_path, folder, *files, shards=2, conflicts=conflicts)
    for number in (1, 2):
        run(folder, shard=f"{number}/2")
    with pytest.raises(DataError, match=message) as raised:
        merge(folder)
    alone = (
        ", because each excludes only the contradictory rows within it"
        if conflicts == "exclude"
        else ""
    )
    mend = f"is counted in both shards 1 and 2{alone}; remove one of the rows, and plan again"
    if score is not None and conflicts == "error":  # as of one piece
        mend = (
            "the same trial .* has score .*; correct one row, or exclude contradictory rows with "
        )
    assert re.search(mend, str(raised.value))
    assert not (folder / "thresholds.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize("again", ["no score", "left out", "both set aside"])
def test_a_pair_in_two_parts_that_is_not_counted_twice_is_no_fault(lists, tmp_path, again):
    frame = pl.read_parquet(lists / "all.parquet")
    options: dict[str, object] = {"conflicts": "exclude"}
    odd = frame[:1]
    if again == "no score":
        odd = odd.with_columns(score=pl.lit(None, pl.Float64))
    elif again == "left out":
        desk = pl.when(pl.int_range(pl.len()) == 0).then(pl.lit("desk")).otherwise(pl.lit("phone"))
        frame, options["only"] = frame.with_columns(device=desk), ["device=phone"]
        odd = frame[:1]
    else:
        frame = frame.with_columns(
            label=pl.when(pl.int_range(pl.len()) == 0).then(1 - pl.col("label")).otherwise("label")
        )
        odd = frame[:1]
    trial_frame = pl.concat([frame, odd])
    trial_frame.write_parquet(tmp_path / "days.parquet")
    shutil.copy(lists / "s.csv", tmp_path)
    planned(tmp_path, tmp_path / "run", "days.parquet", shards=2, **options)
    run(tmp_path / "run")
    merged = files_of(merge(tmp_path / "run"), tmp_path / "b")
    reference_files = files_of(in_one_piece(tmp_path, "days.parquet", **options), tmp_path / "a")
    assert differing(reference_files, merged) == set()


@pytest.mark.slow
def test_parts_that_do_not_add_up_to_their_list_are_refused(copied):
    record = ShardRecord.read(read_plan(copied), 2)
    speaker_counts = SpeakerCounts.read(record.home / SPEAKER_COUNTS_FILE)
    counts = replace(speaker_counts, score_keys=speaker_counts.score_keys + 1)
    counts.save(record.home / SPEAKER_COUNTS_FILE)
    record.with_file(SPEAKER_COUNTS_FILE, record.inputs, record.speakers)
    message = r"do not match their files \(.*: ([\d,]+); in the files: \1\); remove the shards, and"
    with pytest.raises(DataError, match=message):
        merge(copied)


def test_what_is_done_is_not_done_again(done):
    before = {path: path.stat().st_mtime_ns for path in done.rglob("*") if path.is_file()}
    run(done)
    hashes = run_shard(done, 2)
    assert {*hashes} == {"trials.counts", "trials.tally"}
    assert before == {path: path.stat().st_mtime_ns for path in done.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_workers_make_the_same_files(lists, done, tmp_path):
    folder = tmp_path / "run"
    planned(lists, folder)
    run(folder, workers=2)
    for path in sorted(done.rglob("trials.*")):
        assert (folder / path.relative_to(done)).read_bytes() == path.read_bytes()


def test_a_shard_of_another_number_is_refused(done):
    with pytest.raises(ConfigError, match="the plan has 3 shards, not 4; give 1/3 to 3/3"):
        run(done, shard="1/4")
    with pytest.raises(ConfigError, match="the plan has 3 shards; give 1 to 3"):
        run(done, shard="4/3")
    with pytest.raises(ConfigError, match="is not a shard; give its number and the number of all"):
        run(done, shard="seven")


@pytest.mark.slow
def test_missing_and_damaged_parts_are_named(copied):
    shutil.rmtree(copied / "00002-of-00003")
    with pytest.raises(DataError, match=r"counts of 1 of 3 shards are missing \(2\); run these"):
        merge(copied)
    run(copied)
    speaker_counts = copied / "00003-of-00003" / "trials.tally"
    speaker_counts.write_bytes(speaker_counts.read_bytes()[:-9])
    with pytest.raises(
        DataError, match=r"tally of 1 of 3 shards are damaged \(3\); run these shards again"
    ):
        merge(copied)
    run(copied)
    assert merge(copied) is not None


@pytest.mark.slow
def test_foreign_and_doubled_parts_are_refused(lists, copied, tmp_path):
    other_plan = tmp_path / "other"
    planned(lists, other_plan, replicates=70)
    run_shard(other_plan, 1)
    shutil.rmtree(copied / "00001-of-00003")
    shutil.copytree(other_plan / "00001-of-00003", copied / "00001-of-00003")
    with pytest.raises(DataError, match=r"shard\.json: belongs to another plan; remove"):
        merge(copied)
    shutil.rmtree(copied / "00001-of-00003")
    shutil.copytree(copied / "00002-of-00003", copied / "00001-of-00003")
    with pytest.raises(DataError, match=r"shard\.json: belongs to another shard; remove 00001-of"):
        merge(copied)
    shutil.rmtree(copied / "00001-of-00003")
    run(copied)
    shutil.copytree(copied / "00002-of-00003", copied / "00002-of-00007")
    with pytest.raises(DataError, match="00002-of-00007 are not shards of this plan"):
        merge(copied)


def test_parts_of_another_version_are_refused(copied):
    record = copied / "00001-of-00003" / "shard.json"
    json_record = json.loads(record.read_text())
    record.write_text(json.dumps(json_record | {"parivox": "0.0.9"}))
    with pytest.raises(DataError, match="belongs to another version"):
        merge(copied)
    path = copied / "plan.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"parivox": "0.0.9"}))
    with pytest.raises(DataError, match=r"was made by Parivox 0\.0\.9"):
        run(copied)


@pytest.mark.slow
def test_inputs_that_change_after_the_plan_are_refused(lists, tmp_path):
    for name in ("all.parquet", "s.csv"):
        shutil.copy(lists / name, tmp_path / name)
    folder = tmp_path / "run"
    planned(tmp_path, folder)
    run_shard(folder, 1)
    pl.read_parquet(tmp_path / "all.parquet").reverse().write_parquet(tmp_path / "all.parquet")
    with pytest.raises(DataError, match=r"all\.parquet: has changed since the shards were"):
        run_shard(folder, 2)
    shutil.copy(lists / "all.parquet", tmp_path / "all.parquet")
    (tmp_path / "s.csv").write_text((tmp_path / "s.csv").read_text().replace("Norway", "Chile"))
    with pytest.raises(DataError, match=r"s\.csv: has changed since the shards were planned"):
        merge(folder)
    shutil.copy(lists / "s.csv", tmp_path / "s.csv")
    run(folder)
    pl.read_parquet(tmp_path / "all.parquet").reverse().write_parquet(tmp_path / "all.parquet")
    with pytest.raises(DataError, match=r"all\.parquet: has changed since the shards were"):
        merge(folder)


@pytest.mark.slow
def test_a_table_that_is_away_for_a_while_fails_no_part_for_good(lists, tmp_path):
    for name in ("all.parquet", "s.csv"):
        shutil.copy(lists / name, tmp_path / name)
    folder = tmp_path / "run"
    planned(tmp_path, folder)
    for name in ("s.csv", "all.parquet"):
        (tmp_path / name).rename(tmp_path / "away")
        with pytest.raises(DataError, match=f"{name}: file not found; check the path"):
            run_shard(folder, 1)
        (tmp_path / "away").rename(tmp_path / name)
    run_shard(folder, 1)
    assert (folder / "00001-of-00003" / "trials.counts").exists()


def test_rows_are_decoded_once_unless_the_file_changes(lists, tmp_path, monkeypatch):
    """Another process decodes them first, as damage may end the one that does."""
    shutil.copy(lists / "all.parquet", tmp_path)
    shutil.copy(lists / "s.csv", tmp_path)
    decoded_tables = []
    monkeypatch.setattr(dataframes, "check_decodes", lambda *tables: decoded_tables.extend(tables))
    planned(tmp_path, tmp_path / "run")
    assert [table.name for table in decoded_tables] == ["all.parquet"]
    assert {*decoded_tables[0].columns} >= {"enrol", "test", "score", "label"}
    run(tmp_path / "run", shard="1/3")
    assert len(decoded_tables) == 1
    pl.read_parquet(tmp_path / "all.parquet")[::-1].write_parquet(tmp_path / "all.parquet")
    with pytest.raises(DataError, match="has changed since the shards were planned"):
        run(tmp_path / "run", shard="2/3")
    assert len(decoded_tables) == 2


def test_a_record_without_its_files_is_damaged(copied):
    record = copied / "00001-of-00003" / "shard.json"
    json_record = json.loads(record.read_text())
    record.write_text(
        json.dumps({name: json_record[name] for name in ("plan", "parivox", "shard")})
    )
    with pytest.raises(DataError, match=r"shard\.json: is damaged; remove this file, and run"):
        merge(copied)
    (copied / "thresholds.json").write_text("{")
    with pytest.raises(
        DataError, match=r"thresholds\.json: is damaged; remove this file, and merge"
    ):
        merge(copied)
    (copied / "plan.json").write_text("{")
    with pytest.raises(DataError, match=r"plan\.json: is damaged; plan again in a new folder"):
        merge(copied)


@pytest.mark.slow
def test_a_part_that_fails_by_its_rows_is_recorded_and_the_others_are_kept(lists, tmp_path):
    frame = pl.read_parquet(lists / "all.parquet")
    last_row = frame.height - 1
    odd = frame.with_row_index().with_columns(
        test=pl.when(pl.col("index") == last_row).then(pl.lit("zz99/1")).otherwise("test")
    )
    odd.drop("index").write_parquet(tmp_path / "all.parquet")
    shutil.copy(lists / "s.csv", tmp_path)
    folder = tmp_path / "run"
    planned(tmp_path, folder)
    message = r"shard 3 of 3 \(rows [\d,]+ to [\d,]+ of all\.parquet\): .*zz99"
    with pytest.raises(DataError, match=message):
        run(folder)
    assert (folder / "00002-of-00003" / "trials.counts").exists()
    with pytest.raises(DataError, match=message):
        merge(folder)
    with pytest.raises(DataError, match=message):
        run_shard(folder, 3)  # told again at once, lest an engine tries for ever


@pytest.mark.slow
def test_two_runners_of_one_part_do_not_meet(lists, tmp_path):
    from contextlib import ExitStack

    folder = tmp_path / "run"
    plan = planned(lists, folder)
    plan.home(1).mkdir()
    with ExitStack() as lock:
        assert lock_folder(plan.home(1), lock)
        with pytest.raises(ConfigError, match="another process is running it; wait until"):
            run_shard(folder, 1)
    run_shard(folder, 1)


@pytest.mark.slow
def test_a_folder_holds_one_plan(lists, done):
    assert read_plan(done).id == planned(lists, done).id
    assert read_plan(done) == read_plan(done)
    assert "FileRows(path=" in repr(read_plan(done).shards)
    with pytest.raises(ConfigError, match="contains another plan; name a new folder"):
        planned(lists, done, shards=2)
    with pytest.raises(DataError, match="contains no plan"):
        run(done.parent)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": None}, "by: shards have no default grouping"),
        (
            {"compare": True},
            "compare=True: cannot be used with shards, as it needs all trials at once",
        ),
        (
            {"standardise": ["nation"]},
            "standardise: cannot be used with shards, as it needs all trials at once",
        ),
        ({"speaker_ids": "offenders"}, "speaker_ids: counts contain no speaker ids"),
        ({"shards": 0}, "shards is 0"),
        ({"by": ["nosuch"]}, "nosuch"),
    ],
)
def test_what_shards_cannot_answer_is_refused_when_planning(lists, tmp_path, options, message):
    with pytest.raises(ConfigError, match=message):
        planned(lists, tmp_path / "run", **options)
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_files_of_one_list_have_the_same_columns(lists, tmp_path):
    pl.read_parquet(lists / "day1.parquet").drop("label").write_parquet(tmp_path / "day1.parquet")
    files = str(lists / "day0.parquet"), str(tmp_path / "day1.parquet")
    with pytest.raises(DataError, match=r"day1\.parquet: has no column for label, but .*day0"):
        plan(files, out=tmp_path / "r", speakers=str(lists / "s.csv"), by="gender")
    frame = pl.read_parquet(lists / "day1.parquet").with_columns(device=pl.lit("phone"))
    frame.write_parquet(tmp_path / "day1.parquet")
    for grouping_options in (
        {"by": ["gender", "device"]},
        {"by": "gender", "only": ["device=phone"]},
    ):
        with pytest.raises(DataError, match=r"day0\.parquet: has no column for device, but .*day1"):
            plan(files, out=tmp_path / "r", speakers=str(lists / "s.csv"), **grouping_options)
    assert not (tmp_path / "r").exists()


def test_files_of_which_some_alone_are_named_are_told_how_to_name_them(lists, tmp_path):
    named = {"V2": [str(lists / "day0.parquet")], "": [str(lists / "day1.parquet")]}
    message = "from 2 systems, judging by their names; write V2= before each file of V2"
    with pytest.raises(ConfigError, match=message):
        plan(named, out=tmp_path / "r", speakers=str(lists / "s.csv"), by="gender")


@pytest.mark.slow
def test_files_of_one_name_are_told_apart_in_parts_too(lists, tmp_path):
    for day in ("day0", "day1"):
        (tmp_path / day).mkdir()
        frame = pl.read_parquet(lists / f"{day}.parquet")
        if day == "day1":
            frame = pl.concat([frame, frame[:1].with_columns(score=-9.0)])
        frame.write_parquet(tmp_path / day / "s.parquet")
    files = [str(tmp_path / day / "s.parquet") for day in ("day0", "day1")]
    plan(files, out=tmp_path / "r", shards=2, speakers=str(lists / "s.csv"), by="gender")
    with pytest.raises(DataError, match=r"of .*day1.s\.parquet\): .*day1.s\.parquet, rows 1 and"):
        run(tmp_path / "r")


@pytest.mark.parametrize("message", [COUNTS_FILE, SPEAKER_COUNTS_FILE])
def test_a_file_of_a_part_that_is_cut_off_is_made_again(copied, message):
    content = (copied / "00001-of-00003" / message).read_bytes()
    (copied / "00001-of-00003" / message).write_bytes(content[:100])
    (copied / COUNTS_FILE).unlink()
    with pytest.raises(DataError, match=r"of 1 of 3 shards are damaged \(1\); run these shards"):
        merge(copied)
    run(copied)
    assert (copied / "00001-of-00003" / message).read_bytes() == content


@pytest.mark.slow
def test_tables_that_are_no_files_are_refused(lists, tmp_path):
    for source, message in (
        ([], "the list is empty"),
        ({}, "an empty mapping names no system"),
        ({"A": []}, "empty"),
    ):
        with pytest.raises(ConfigError, match=f"scores: .*{message}.*; name at least one file"):
            plan(source, out=tmp_path / "r", speakers=str(lists / "s.csv"), by="gender")
    (tmp_path / "mine").mkdir()
    shutil.copy(lists / "s.csv", tmp_path / "mine")
    with pytest.raises(
        ConfigError, match="mine: contains files that belong to no plan; name a new folder"
    ):
        planned(lists, tmp_path / "mine")
    pv.count(str(lists / "all.csv"), speakers=str(lists / "s.csv"), by="gender").save(
        tmp_path / "c.counts"
    )
    with pytest.raises(
        ConfigError, match=r"c\.counts: contains score counts, but shards need scores"
    ):
        plan(str(tmp_path / "c.counts"), out=tmp_path / "r", speakers="s.csv", by="gender")
    with pytest.raises(
        ConfigError,
        match="speakers: is not a path, but every shard must read this file",
    ):
        plan(str(lists / "all.csv"), out=tmp_path / "r", speakers={"id": ["a"]}, by="gender")
    with pytest.raises(ConfigError, match="speakers: shards need a speaker table"):
        plan(str(lists / "all.csv"), out=tmp_path / "r", by="gender")
    twice = [str(lists / "all.csv"), str(lists / ".." / lists.name / "all.csv")]
    with pytest.raises(ConfigError, match=r"all\.csv: is given twice, so its trials would"):
        plan(twice, out=tmp_path / "r", speakers=str(lists / "s.csv"), by="gender")
    copy = shutil.copy(lists / "all.csv", tmp_path / "copy.csv")
    with pytest.raises(
        ConfigError, match=r"copy\.csv: contains the same bytes as .*all\.csv, which"
    ):
        planned(lists, tmp_path / "r", "all.csv", copy)
    with pytest.raises(ConfigError, match="which count speakers in bins of scores"):
        planned(lists, tmp_path / "r", bins="exact")
    with pytest.raises(ConfigError, match="every shard reads the scores from files"):
        plan(pl.read_csv(lists / "all.csv"), out=tmp_path / "r", by="gender")


def _shards(value):
    return lambda plan: plan.update(shards=value)


REWRITTEN = {
    "no inputs": lambda plan_record: plan_record.pop("inputs"),
    "inputs of words": lambda plan_record: plan_record.update(inputs="all.csv"),
    "no role": lambda plan_record: [
        file_record.pop("role") for file_record in plan_record["inputs"]
    ],
    "no options": lambda plan_record: plan_record.pop("options"),
    "no step": lambda plan_record: plan_record.pop("step"),
    "no shards": _shards([]),
    "shards of numbers": _shards([1, 2, 3]),
    "shards of words": _shards("abc"),
    "an empty shard": lambda plan_record: plan_record["shards"][0].clear(),
    "a shard too short": lambda plan_record: plan_record["shards"][0][0].pop(),
    "rows of words": lambda plan_record: plan_record["shards"][0][0].__setitem__(1, "0"),
    "rows below 0": lambda plan_record: plan_record["shards"][0][0].__setitem__(1, -5),
    "an unknown file": lambda plan_record: plan_record["shards"][0][0].__setitem__(0, "other.csv"),
    "100,002 shards": lambda plan_record: plan_record.update(shards=plan_record["shards"] * 33_334),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", REWRITTEN)
def test_a_plan_that_was_rewritten_with_its_mark_is_damaged(copied, name):
    record = json.loads((copied / "plan.json").read_text())
    REWRITTEN[name](record)
    record["id"] = shard_plan._plan_id(record)
    (copied / "plan.json").write_text(json.dumps(record))
    with pytest.raises(DataError, match=r"plan\.json: is damaged; plan again in a new folder"):
        read_plan(copied)


def test_a_part_whose_folder_is_a_link_is_not_written(lists, tmp_path):
    run_folder, link_target = tmp_path / "run", tmp_path / "other"
    planned(lists, run_folder)
    link_target.mkdir()
    (run_folder / "00001-of-00003").symlink_to(link_target)
    with pytest.raises(ConfigError, match="is a link to a file that may belong to another program"):
        run_shard(run_folder, 1)
    assert not any(link_target.iterdir())
