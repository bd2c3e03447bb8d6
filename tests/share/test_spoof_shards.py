"""Spoof trials of shards and of lists beyond memory: the audit in memory, whatever holds them."""

import importlib.resources
import json
import shutil

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import parivox as pv
from parivox.auditing.private import PrivateKey
from parivox.auditing.schema import CASCADE_SOURCE
from parivox.data import trial_shards
from parivox.data.counts_file import KEY, holds_counts
from parivox.data.speaker_counts import SpeakerCounts
from parivox.errors import ConfigError, DataError
from parivox.shards import merge, plan, run

N_SPEAKERS = 12
POINT = "threshold=1.3"
OPTIONS = {
    "by": ["gender"],
    "replicates": 50,
    "operating_points": [POINT, "sfar=0.1"],
    "cost": ["adcf1"],
    "gates": ["speakers=2", "errors=1", "pairs=1"],
}
RICH = {
    "by": ["gender", "channel"],
    "within": ["channel"],
    "operating_points": [POINT, "deployed", "min-adcf"],
    "limits": ["sfar=10%", "sfar:f=5%"],
}
TABLES_AT_POINTS = ("groups", "bias", "meta", "verdicts", "limits", "matrix", "attacks")


def spoof_trials(seed, *, share_known=0.8, share_failed=0.05):
    """Trials of three classes, of which some attacks are rare, some unknown, and some trials
    failed.
    """
    draw = np.random.default_rng(seed)
    people = [f"qz{i:02d}" for i in range(N_SPEAKERS)]
    rows = []
    for i, claimed in enumerate(people):
        claims = [("target", claimed, "", 2.5 - 0.2 * (i % 6))] * 6
        claims += [
            ("nontarget", people[k % N_SPEAKERS], "", 0.0) for k in range(i + 1, i + N_SPEAKERS)
        ]
        for k in range(14):
            attack = ("A01", "A02", "A10")[k % 3] if draw.random() < share_known else ""
            imitated = ("", claimed, people[(i + 1) % N_SPEAKERS])[k % 3]
            claims.append(("spoof", imitated, attack, 1.2 + 0.2 * (k % 3) - 0.3 * (i % 2)))
        for k, (label, test_speaker, attack, mean) in enumerate(claims):
            score = round(float(draw.normal(mean)), 2)
            has_failed = draw.random() < share_failed
            rows.append(
                {
                    "enrol": f"{claimed}-model",
                    "test": f"{claimed}-{label}-{k}",
                    "enrol_speaker": claimed,
                    "test_speaker": test_speaker,
                    "label": label,
                    "attack": attack,
                    "channel": ("app", "phone")[k % 2],
                    "status": "failed" if has_failed else "ok",
                    "score": None if has_failed else score,
                    "decision": None if has_failed else ("reject", "accept")[score >= 1.0],
                }
            )
    order = draw.permutation(len(rows)).tolist()
    trials = pl.DataFrame([rows[i] for i in order])
    return trials if share_failed else trials.drop("status")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the table of speakers."""
    home = tmp_path_factory.mktemp("spoof")
    speakers = range(N_SPEAKERS)
    people = {
        "id": [f"qz{i:02d}" for i in speakers],
        "gender": ["fm"[i % 2] for i in speakers],
        "nation": [("India", "Norway", "USA")[i % 3] for i in speakers],
    }
    pl.DataFrame(people).write_csv(home / "s.csv")
    return home


def in_memory(folder, *files, **options):
    scores = {("S", ""): [str(folder / name) for name in files]}
    return pv.audit(scores, speakers=str(folder / "s.csv"), **{**OPTIONS, **options})


def beyond_memory(folder, *files, **options):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trial_shards, "IN_MEMORY_TRIALS", 100)
        patch.setattr(trial_shards, "SHARD_TRIALS", 80)
        return in_memory(folder, *files, **options)


def in_shards(folder, out, *files, shards=3, **options):
    shutil.rmtree(out, ignore_errors=True)
    sources = {"S": [str(folder / name) for name in files]}
    people = str(folder / "s.csv")
    plan(sources, out=out, shards=shards, speakers=people, **{**OPTIONS, **options})
    run(out)
    return merge(out)


def binned_shards(folder, out, *files, **options):
    """Shards as those of long lists: scores in bins, and the rows are not read again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("parivox.share.shard_plan.MAX_EXACT_TRIALS", 100)
        patch.setattr("parivox.auditing.system_uncertainty.MAX_EXACT_TRIALS", 100)
        return in_shards(folder, out, *files, **options)


def files_of(audit, folder):
    """Bytes of what an audit writes, by name, with the key of any other audit."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    PrivateKey(bytes(range(32))).write(folder)
    audit.save(folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def at_points(audit, *points):
    return {
        (table, point): getattr(audit, table).subset(operating_point=point).rows()
        for table in TABLES_AT_POINTS
        for point in points
    }


@pytest.mark.slow
@settings(
    max_examples=2, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.integers(0, 2**16), st.sampled_from([0.0, 0.8, 1.0]), st.sampled_from([0.0, 0.05]))
def test_the_audit_is_the_same_in_memory_beyond_it_and_in_shards(
    folder, seed, share_known, share_failed
):
    options = {**RICH, "limits": [*RICH["limits"], *(["sfar:A02=20%"] if share_known else [])]}
    trials = spoof_trials(seed, share_known=share_known, share_failed=share_failed)
    trials.write_csv(folder / "all.csv")
    whole = in_memory(folder, "all.csv", **options)
    assert len(whole.attacks.rows()) > 0 or not share_known
    merged = in_shards(folder, folder / "run", "all.csv", **options)
    assert files_of(merged, folder / "b") == files_of(whole, folder / "a")
    long = beyond_memory(folder, "all.csv", **options)
    assert at_points(long, POINT, "deployed") == at_points(whole, POINT, "deployed")
    warned = [row["item"] for row in whole.data.rows() if "spoof" in row["item"]]
    assert [row["item"] for row in long.data.rows() if "spoof" in row["item"]] == warned


@pytest.mark.slow
def test_attacks_may_be_in_one_shard_only_and_shards_without_spoof_trials(folder, tmp_path):
    spoof_trials(3, share_failed=0).sort("label", "attack").write_csv(folder / "sorted.csv")
    whole = in_memory(folder, "sorted.csv")
    merged = in_shards(folder, tmp_path / "run", "sorted.csv", shards=5)
    assert files_of(merged, tmp_path / "b") == files_of(whole, tmp_path / "a")
    speaker_counts = [SpeakerCounts.read(path) for path in sorted(tmp_path.glob("run/0*/*.tally"))]
    assert {counts.n_classes for counts in speaker_counts} == {2, 3}
    assert len({counts.attacks for counts in speaker_counts}) > 1
    versions = {
        json.loads(pl.read_parquet_metadata(path)[KEY])[KEY]
        for path in tmp_path.glob("run/0*/trials.*")
    }
    assert versions == {"2", "3"}
    long = binned_shards(folder, tmp_path / "binned", "sorted.csv", shards=5)
    assert at_points(long, POINT) == at_points(whole, POINT)
    names = {row["item"] for row in whole.data.rows() if "spoof" in row["item"]}
    assert {row["item"] for row in long.data.rows() if "spoof" in row["item"]} == names
    assert long.spoof_bins.rows() == whole.spoof_bins.rows()
    for metric in ("spf_eer", "sasv_eer", "min_cdet_norm"):
        values = [
            [row["value"] for row in audit.groups.subset(metric=metric).rows()]
            for audit in (whole, long)
        ]
        assert values[1] == pytest.approx(values[0], abs=0.02), metric


@pytest.mark.slow
def test_blocks_of_speakers_stand_for_claimed_speakers(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("parivox.share.shard_run.MAX_SEPARATE_SPEAKERS", 8)
    monkeypatch.setattr("parivox.share.shard_run.N_SPEAKER_BLOCKS", 10)
    monkeypatch.setattr("parivox.data.units.MIN_BLOCKS_PER_GROUP", 4)
    options = {"limits": ["sfar:A02=20%"]}
    spoof_trials(4, share_failed=0).write_csv(folder / "blocks.csv")
    whole = in_memory(folder, "blocks.csv", **options)
    merged = binned_shards(folder, tmp_path / "run", "blocks.csv", **options)
    pairs = zip(
        *(audit.attacks.subset(operating_point=POINT).rows() for audit in (merged, whole)),
        strict=True,
    )
    for found, wanted in pairs:
        for name in ("attack", "group", "errors", "trials", "value", "ratio", "standardised"):
            assert found[name] == wanted[name]
        assert found["speakers"] is None
        assert wanted["speakers"] > 0
    (found,), (wanted,) = (
        audit.limits.subset(metric="sfar:A02", operating_point=POINT, group="f").rows()
        for audit in (merged, whole)
    )
    assert found["value"] == wanted["value"]
    assert found["low"] < found["value"] < found["high"]


@pytest.mark.slow
def test_recordings_of_two_classes_are_refused_wherever_their_rows_are(folder, tmp_path):
    trials = spoof_trials(5, share_failed=0).sort("label")
    nontarget = trials.filter(pl.col("test").str.starts_with("qz11-nontarget"))[:1]
    odd = trials.filter(pl.col("label") == "spoof")[:1].with_columns(
        enrol=pl.lit("qz00-model"),
        enrol_speaker=pl.lit("qz00"),
        test=pl.lit(nontarget["test"][0]),
        test_speaker=pl.lit(nontarget["test_speaker"][0]),
    )
    pl.concat([trials, odd]).write_csv(folder / "odd.csv")
    sentence = f"{nontarget['test'][0]!r} is spoofed, but also occurs in a bona fide trial"
    for conflicts in ("error", "exclude"):
        with pytest.raises(DataError, match=f"odd.csv.*{sentence}.*; correct one label"):
            beyond_memory(folder, "odd.csv", conflicts=conflicts)
        with pytest.raises(DataError, match=f"odd.csv.*{sentence}.*; correct one label"):
            in_shards(folder, tmp_path / conflicts, "odd.csv", conflicts=conflicts)


def test_what_shards_cannot_have_is_refused_when_planned(folder, tmp_path):
    trials = spoof_trials(6)
    trials[:200].write_csv(folder / "first.csv")
    trials[200:].drop("attack").write_csv(folder / "second.csv")
    with pytest.raises(DataError, match=r"second\.csv: has no column for attack, but .*first"):
        in_shards(folder, tmp_path / "a", "first.csv", "second.csv")
    with pytest.raises(ConfigError, match=r"cm.*: cannot be used with shards"):
        in_shards(folder, tmp_path / "b", "first.csv", cm="cm.tsv", cm_threshold="0")
    with pytest.raises(ConfigError, match="by attack: only spoof trials have an attack"):
        in_shards(folder, tmp_path / "c", "first.csv", by=["attack"])
    (folder / "first.csv").write_text(
        (folder / "first.csv").read_text().replace('target,"",', "target,A01,")
    )
    with pytest.raises(DataError, match="has an attack, but is not labelled spoof"):
        in_shards(folder, tmp_path / "d", "first.csv")


@pytest.mark.slow
def test_headers_with_spoof_trials_follow_the_schema(folder, tmp_path, optional):
    spoof_trials(7)[:150].write_csv(folder / "few.csv")
    in_shards(folder, tmp_path / "run", "few.csv", shards=1)
    text = importlib.resources.files("parivox.data").joinpath("counts.schema.json").read_text()
    checker = optional("jsonschema").Draft202012Validator(json.loads(text))
    for path in tmp_path.glob("run/0*/trials.*"):
        header = json.loads(pl.read_parquet_metadata(path)[KEY])
        assert header[KEY] == "3"
        assert ("attacks" in header) == (not holds_counts(path))
        assert [error.message for error in checker.iter_errors(header)] == []
        if "attacks" in header:
            del header["attacks"]
            assert [*checker.iter_errors(header)]


@pytest.mark.slow
def test_a_cascade_beyond_memory_is_that_in_memory(folder):
    trials = spoof_trials(8, share_failed=0).drop("decision")
    trials.write_csv(folder / "cascade.csv")
    scores = np.random.default_rng(8).normal(np.where(trials["label"] == "spoof", -1.0, 1.0))
    pl.DataFrame({"filename": trials["test"], "cm-score": scores}).write_csv(folder / "cm.csv")
    options = {"cm": str(folder / "cm.csv"), "cm_threshold": "bpcer=0.1"}
    whole, long = (
        audited(folder, "cascade.csv", **options) for audited in (in_memory, beyond_memory)
    )
    assert at_points(long, POINT) == at_points(whole, POINT)
    stages = [
        [row for row in audit.data.rows() if row["source"] == CASCADE_SOURCE]
        for audit in (whole, long)
    ]
    assert stages[0] == stages[1] != []


@pytest.mark.slow
def test_a_shard_of_failed_recordings_alone_is_refused_by_what_it_is(folder, tmp_path):
    trials = spoof_trials(11, share_failed=0.4).filter(pl.col("label") != "spoof").drop("attack")
    trials.sort(pl.col("status") != "failed").write_csv(folder / "failed-last.csv")
    options = {"cost": ["voxsrc"], "operating_points": [POINT]}
    with pytest.raises(DataError, match=r"contains only trials of recordings that failed"):
        in_shards(folder, tmp_path / "run", "failed-last.csv", shards=5, **options)
