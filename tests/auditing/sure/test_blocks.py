"""Very many speakers of a list that does not fit in memory: taken in blocks."""

import functools

import numpy as np
import pytest

from parivox import audit as audit_trials
from parivox.data import trial_shards

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def audit(people):
    """Two groups of 60 who vary, audited."""
    speakers = people(
        {"a": 60, "b": 60},
        fnr=lambda group, i: ((7 * i + int(group == "b")) % 11, 20),
        fpr=lambda group, i: (int(i % 40 == 0), 2),
    )
    return functools.partial(speakers.audit, reference=["others", "pooled"])


def beyond_memory(patch):
    patch.setattr(trial_shards, "IN_MEMORY_TRIALS", 500)
    patch.setattr(trial_shards, "SHARD_TRIALS", 400)


def in_blocks(patch):
    beyond_memory(patch)
    patch.setattr("parivox.data.units.MAX_SEPARATE_SPEAKERS", 50)
    patch.setattr("parivox.data.units.N_SPEAKER_BLOCKS", 60)


@pytest.fixture(scope="module")
def many(audit):
    """The list audited in memory, beyond it, and in blocks."""
    with pytest.MonkeyPatch.context() as patch:
        in_memory = audit()
        beyond_memory(patch)
        alone = audit()
        in_blocks(patch)
        return in_memory, alone, audit(limits="fnr=0.3", attempts=2)


COLUMNS = ("value", "errors", "trials", "low", "high", "deff", "n_eff", "df", "se", "note")


def rates(audit):
    return [row for row in audit.groups.rows() if row["metric"] in {"fpr", "fnr"}]


def test_beyond_memory_closed_forms_are_the_same(many):
    in_memory, alone, _ = many
    for row, spilled_row in zip(rates(in_memory), rates(alone), strict=True):
        for name in COLUMNS:
            is_same = row[name] == spilled_row[name]
            assert is_same or spilled_row[name] == pytest.approx(row[name], rel=1e-9)


def test_speakers_who_would_be_as_many_blocks_stand_for_themselves(many, audit, monkeypatch):
    _, alone, _ = many
    in_blocks(monkeypatch)
    monkeypatch.setattr("parivox.data.units.N_SPEAKER_BLOCKS", 120)
    assert rates(audit()) == rates(alone)


def test_blocks_tell_about_the_same_and_are_named(many):
    in_memory, _, blocks = many
    n_intervals = 0
    for row, block_row in zip(rates(in_memory), rates(blocks), strict=True):
        assert block_row["value"] == row["value"]
        if row["low"] is None:
            continue
        assert block_row["interval"] == "speakers in blocks"
        assert block_row["low"] < block_row["value"] < block_row["high"]
        # the variance is the same, told from half or fewer units
        assert block_row["se"] == pytest.approx(row["se"], rel=0.6)
        n_intervals += 1
    assert n_intervals >= 6


def test_less_of_the_jackknife_is_asked_of_blocks_than_of_speakers(many, audit, monkeypatch):
    *_, blocks = many
    in_blocks(monkeypatch)
    monkeypatch.setattr(
        "parivox.core.cluster_errors._STEADY_DF", 1e6
    )  # three quarters, as of speakers
    before = audit()
    errors = {metric: [] for metric in ("fpr", "fnr")}
    for row, block_row in zip(rates(before), rates(blocks), strict=True):
        if row["se"] is not None:
            errors[row["metric"]].append(block_row["se"] / row["se"])
    # nobody's trials with others fail together, so that one half is left of three quarters
    assert np.square(errors["fpr"]) == pytest.approx(2 / 3, rel=0.2)
    assert errors["fnr"] == [1.0] * len(errors["fnr"])
    assert min(map(len, errors.values())) >= 2


def test_how_they_are_judged_is_told_where_there_are_blocks(many):
    names_blocks = [audit.record["speaker_blocks"] for audit in many]
    assert names_blocks == [False, False, True]


def test_groups_in_blocks_are_compared_and_judged(many):
    in_memory, _, blocks = many
    for metric in ("fnr", "fpr"):
        row_filter = {"metric": metric, "measure": "ratio", "zero": "none", "reference": "others"}
        before, after = (audit.bias.subset(**row_filter).rows() for audit in (in_memory, blocks))
        for memory_row, block_row in zip(before, after, strict=True):
            assert block_row["value"] == memory_row["value"]
            assert block_row["low"] < block_row["value"] < block_row["high"]
    assert {row["verdict"] for row in blocks.verdicts.subset(metric="fnr")} <= {
        "worse",
        "better",
        "equivalent",
        "inconclusive",
        "differs",
    }


def test_what_takes_each_speaker_is_left_out(many):
    *_, blocks = many
    measures = {row["measure"] for row in blocks.limits.rows()}
    assert measures == {"limit", "locked_out", "impostors_in", "attempts_until"}


def test_blocks_are_drawn_for_all_but_rates(many):
    in_memory, _, blocks = many
    memory_rows, block_rows = (
        audit.groups.subset(metric="eer").rows() for audit in (in_memory, blocks)
    )
    for row, block_row in zip(memory_rows, block_rows, strict=True):
        assert block_row["low"] < block_row["value"] < block_row["high"]
        assert block_row["high"] - block_row["low"] == pytest.approx(
            row["high"] - row["low"], rel=0.6
        )


def test_of_very_many_trials_too_some_blocks_are_drawn_together(many, audit, monkeypatch):
    in_memory, *_ = many
    in_blocks(monkeypatch)
    for module in ("data.units", "auditing.system_uncertainty"):
        monkeypatch.setattr(f"parivox.{module}.MAX_COUNT_ROWS", 6000)
    monkeypatch.setattr("parivox.data.units.N_DRAWN_BLOCKS", 30)
    drawn = audit()
    for row, drawn_row in zip(rates(in_memory), rates(drawn), strict=True):
        assert drawn_row["value"] == row["value"]
    memory_rows, drawn_rows = (
        sample.groups.subset(metric="auc").rows() for sample in (in_memory, drawn)
    )
    for row, drawn_row in zip(memory_rows, drawn_rows, strict=True):
        assert drawn_row["df"] < row["df"]
        assert drawn_row["high"] - drawn_row["low"] == pytest.approx(
            row["high"] - row["low"], rel=0.8
        )


def test_trials_that_failed_within_a_block_are_drawn_with_it(monkeypatch):
    draw = np.random.default_rng(4)
    pairs = draw.integers(0, 120, (3000, 2))
    pairs[::4, 1] = pairs[::4, 0]
    score = (draw.normal(size=3000) + np.where(pairs[:, 0] == pairs[:, 1], 2, 0)).tolist()
    is_failed = draw.random(3000) < 0.1
    trials = {
        "enrol": [f"s{i:03d}/0" for i in pairs[:, 0]],
        "test": [f"s{i:03d}/{k}" for k, i in enumerate(pairs[:, 1].tolist(), 1)],
        "score": [
            None if failed else trial_score
            for trial_score, failed in zip(score, is_failed, strict=True)
        ],
        "status": np.where(is_failed, "no_speech", "ok"),
    }
    speakers = {"id": [f"s{i:03d}" for i in range(120)], "sex": ["f", "m"] * 60}
    in_blocks(monkeypatch)
    audit = audit_trials(trials, speakers=speakers, by="sex", operating_points="fpr=0.05")
    of_attempts = audit.groups.subset(metric="far", definition="attempts").rows()
    assert of_attempts
    assert all(row["low"] < row["value"] < row["high"] for row in of_attempts)
