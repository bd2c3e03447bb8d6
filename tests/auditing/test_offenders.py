"""The speakers behind most errors: told by id where asked for, and nowhere else."""

import json
from collections import Counter

import pytest

import parivox as pv
from parivox.errors import ConfigError

POINTS = ["threshold=1.25", "eer"]


@pytest.fixture(scope="module")
def named(trials, speakers):
    return pv.audit(
        {"S": trials},
        speakers=speakers,
        by="gender",
        operating_points=POINTS,
        speaker_ids="offenders",
        replicates=50,
    )


def speaker(recording):
    return recording.partition("/")[0]


@pytest.mark.parametrize("group", ["f", "m", "pooled", "all"])
def test_they_are_those_with_most_errors(named, trials, speakers, group):
    gender = dict(zip(speakers["id"], speakers["gender"], strict=True))
    wrong, tried, total = {}, {}, {}
    for metric in ("fnr", "fpr"):
        wrong[metric], tried[metric], total[metric] = Counter(), Counter(), 0
    for enrol, test, score, label in zip(*trials.values(), strict=True):
        pair = {speaker(enrol), speaker(test)}
        groups = {gender[speaker_id] for speaker_id in pair}
        if group != "all" and groups not in ([{"f"}, {"m"}] if group == "pooled" else [{group}]):
            continue
        metric = "fnr" if label else "fpr"
        is_wrong = (score >= 1.25) != bool(label)
        tried[metric].update(pair)
        wrong[metric].update(pair if is_wrong else ())
        total[metric] += int(is_wrong)
    for metric in ("fnr", "fpr"):
        rows = named.offenders.subset(group=group, metric=metric, operating_point=POINTS[0]).rows()
        most = sorted(wrong[metric].items(), key=lambda count: (-count[1], count[0]))[:10]
        assert [(row["speaker"], row["errors"]) for row in rows] == most
        for row in rows:
            assert row["trials"] == tried[metric][row["speaker"]]
            assert row["share"] == row["errors"] / total[metric]


def test_their_ids_stand_in_that_table_alone(named, tmp_path):
    assert named.record["options"]["speaker_ids"] == "offenders"
    for name, table in named.tables().items():
        columns = [c for c in table.to_polars().iter_columns() if str(c.dtype) == "String"]
        holds = any(column.str.contains("qz0").any() for column in columns)
        assert holds == (name == "offenders"), name
    named.save(tmp_path / "a")
    file_names = {path.name for path in (tmp_path / "a").iterdir() if b"qz0" in path.read_bytes()}
    assert file_names == {"offenders.csv", "audit.json"}
    again = pv.load(tmp_path / "a")
    assert again.offenders.to_polars().equals(named.offenders.to_polars())


@pytest.mark.slow
def test_they_are_not_told_unless_asked_for(trials, speakers, tmp_path):
    audit = pv.audit(trials, speakers=speakers, by="gender", replicates=50)
    assert len(audit.offenders) == 0
    assert audit.record["options"]["speaker_ids"] == "never"
    audit.save(tmp_path / "a")
    assert not list((tmp_path / "a").glob("offenders*"))


@pytest.mark.slow
def test_the_rest_of_the_audit_is_the_same_with_them(named, trials, speakers):
    plain = pv.audit(
        {"S": trials}, speakers=speakers, by="gender", operating_points=POINTS, replicates=50
    )
    for name, table in plain.tables().items():
        assert named.tables()[name].to_polars().equals(table.to_polars()), name


def test_json_with_them_follows_the_schema(named, follows_schema):
    document = json.loads(named.to_json())
    follows_schema(document)
    assert "offenders" in document["tables"]


@pytest.mark.slow
def test_what_does_not_know_them_is_refused(trials, speakers, tmp_path):
    with pytest.raises(ConfigError, match="speaker_ids='offenders' needs intervals"):
        pv.audit(trials, speakers=speakers, speaker_ids="offenders", intervals=False)
    with pytest.raises(ConfigError, match="speaker_ids='all' is not known; choose from never"):
        pv.audit(trials, speakers=speakers, speaker_ids="all")
    pv.count(trials, speakers=speakers, by="gender").save(tmp_path / "c.counts")
    with pytest.raises(ConfigError, match="counts contain no ids"):
        pv.audit(tmp_path / "c.counts", speaker_ids="offenders")
