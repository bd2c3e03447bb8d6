"""Counts of trials with their tally: the audit of the trials, intervals and verdicts too."""

import numpy as np
import polars as pl
import pytest
from tests.folders import OF_KEY

import parivox as pv
from parivox.auditing.inputs import read_grouped_trials
from parivox.auditing.run import speaker_count_thresholds
from parivox.auditing.speaker_counts import count_by_speaker
from parivox.errors import ConfigError, DataError
from parivox.options.audit import CountOptions

OF_ROWS = {"audit.json", "data.csv", "pairing.parquet", *OF_KEY}
"""Files of an audit that also tell of rows and recordings, and those of its private key."""


def parts_of(trials, n, seed=3):
    """Rows dealt at random."""
    frame = pl.DataFrame(trials)
    home = np.random.default_rng(seed).integers(0, n, frame.height)
    return [frame.filter(pl.Series(home == i)) for i in range(n)]


def added_up(parts, folder, points=(), **options):
    """Files of counts and of tallies, two for each part."""
    counts = []
    for i, part in enumerate(parts):
        counts.append(folder / f"{i}.counts")
        pv.count({"S": part}, withhold=0, **options).save(counts[-1])
    asked = {"operating_points": points} if points else {}
    thresholds = speaker_count_thresholds([*map(str, counts)], **asked)
    speaker_counts_files = []
    for i, part in enumerate(parts):
        speaker_counts_files.append(folder / f"{i}.tally")
        asked = CountOptions.from_keywords(**options)
        read = read_grouped_trials({("S", ""): part}, asked, None, may_lack=True)
        (trials,) = read.trial_sets
        count_by_speaker(trials, thresholds, [*read.groupings, *read.within]).save(
            speaker_counts_files[-1]
        )
    return [*map(str, counts)], [*map(str, speaker_counts_files)]


def files_of(audit, folder):
    audit.save(folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "by", "within", "rules"),
    [
        (3, ["gender"], None, {"allocate": ["enrol", "either"]}),
        (
            *(2, ["gender", "gender+nation", "channel"], ["channel"]),
            {"allocate": ["both", "either"], "reference": ["others", "macro"], "zero": "none"},
        ),
    ],
)
def test_counts_with_tallies_give_the_bytes_of_the_audit_in_one_piece(
    trials, speakers, tmp_path, n, by, within, rules
):
    draw = np.random.default_rng(9)
    size = len(trials["score"])
    rows = {
        **trials,
        "decision": np.where(np.array(trials["score"]) > 1.4, "accept", "reject").tolist(),
        "channel": draw.choice(["phone", "web", "shop"], size).tolist(),
    }
    options = {"speakers": speakers, "by": by, "within": within}
    points = ("fpr=0.01", "deployed", "eer")
    rules = {**rules, "operating_points": points}
    full_audit = pv.audit({"S": rows}, replicates=60, **rules, **options)
    counts, speaker_counts_files = added_up(parts_of(rows, n), tmp_path, points=points, **options)
    audit = pv.audit([*counts, *speaker_counts_files], replicates=60, **rules)
    one, other = (
        files_of(each, tmp_path / name) for each, name in ((full_audit, "a"), (audit, "b"))
    )
    assert {name for name in one if one[name] != other.get(name)} <= OF_ROWS
    assert len(audit.verdicts)


@pytest.mark.slow
def test_a_tally_of_other_trials_is_refused(trials, speakers, tmp_path):
    options = {"speakers": speakers, "by": ["gender"]}
    counts, speaker_counts_files = added_up(parts_of(trials, 2), tmp_path, **options)
    with pytest.raises(
        DataError, match=r"speaker counts have [0-9,]+ trials, the score counts [0-9,]+"
    ):
        pv.audit([*counts, speaker_counts_files[0]])
    with pytest.raises(
        DataError,
        match=r"1\.tally: the speaker counts and the score counts have different trials",
    ):
        pv.audit([counts[0], *speaker_counts_files])
    with pytest.raises(
        DataError,
        match=r"0\.tally: contains speaker counts, but the score counts are missing",
    ):
        pv.audit(speaker_counts_files[0])


@pytest.mark.slow
def test_a_point_that_the_tally_does_not_tell_of_is_refused(trials, speakers, tmp_path):
    counts, speaker_counts_files = added_up(
        [pl.DataFrame(trials)], tmp_path, speakers=speakers, by=["gender"]
    )
    with pytest.raises(ConfigError, match="the speaker counts do not contain its threshold"):
        pv.audit([*counts, *speaker_counts_files], operating_points=["threshold=1.23456"])


@pytest.mark.slow
def test_a_tally_does_not_go_with_what_counts_withhold(trials, speakers, tmp_path):
    counts, speaker_counts_files = added_up(
        [pl.DataFrame(trials)], tmp_path, speakers=speakers, by=["gender"]
    )
    pv.count({"S": trials}, speakers=speakers, by=["gender"], step=0.5, withhold=13).save(counts[0])
    with pytest.raises(DataError, match="suppresses groups that its speaker counts would reveal"):
        pv.audit([*counts, *speaker_counts_files])


@pytest.mark.slow
def test_the_table_of_speakers_tells_more_of_the_speakers_of_a_tally(trials, speakers, tmp_path):
    aged = {**speakers, "age": [20 + i for i in range(len(speakers["id"]))]}
    options = {"speakers": aged, "by": ["age:30,40", "gender"]}
    counts, speaker_counts_files = added_up(parts_of(trials, 2), tmp_path, **options)
    files = [*counts, *speaker_counts_files]
    full_audit = pv.audit({"S": trials}, replicates=60, **options)
    audit = pv.audit(files, speakers=aged, replicates=60)
    assert audit.bias.to_polars().equals(full_audit.bias.to_polars())
    assert audit.record.get("confounding") == full_audit.record.get("confounding")
    of_people = [
        [row for row in each.data.rows() if row["source"] == "speakers"]
        for each in (full_audit, audit)
    ]
    assert of_people[0] == of_people[1] != []
    with pytest.raises(ConfigError, match=r"were made with a table other than"):
        pv.audit(files, speakers={**aged, "gender": aged["gender"][::-1]})
    with pytest.raises(ConfigError, match="speakers: cannot be used with counts"):
        pv.audit(counts, speakers=aged)


def test_attributes_keep_their_names_of_release_0_2_until_0_5(trials, speakers):
    counts = pv.count(trials, speakers=speakers, by=["gender"])
    for old_name, new_name in {
        "tally": "speaker_counts",
        "least": "min_speakers",
        "levels_withheld": "suppressed_strata",
    }.items():
        with pytest.warns(DeprecationWarning, match=f"{old_name} is {new_name}"):
            assert getattr(counts, old_name) is getattr(counts, new_name)
