"""Lists too long for memory are counted in bins: exact at given thresholds, near elsewhere."""

import numpy as np
import polars as pl
import pytest

import parivox as pv
from parivox.auditing import score_counts
from parivox.auditing.data_table import TRIALS_BEYOND_MEMORY
from parivox.data import score_bins, trial_shards

POINTS = ["threshold=1.25", "threshold=0.333", "fpr=0.01", "eer", "min-cdet"]
BINS = 512


@pytest.fixture(scope="module")
def both(simulate):
    """The same trials counted exactly and in bins."""
    trials, people = simulate(nontarget=8000, decimals=9)
    options = {
        "speakers": people,
        "by": ["gender", "gender+nation"],
        "operating_points": POINTS,
        "allocate": ["both", "either"],
        "llr": True,
    }
    exact = pv.audit({"S": trials}, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trial_shards, "IN_MEMORY_TRIALS", 1000)
        patch.setattr(trial_shards, "SHARD_TRIALS", 900)
        patch.setattr(score_bins, "N_EVEN_BINS", BINS)
        patch.setattr(score_counts.BinnedCounts, "chunk_size", 100)
        binned = pv.audit({"S": trials}, **options)
    return exact, binned


def as_measured(rows):
    """Rows without how sure they are, which may take replicates of scores in bins."""
    return [dict(list(row.items())[: list(row).index("within") + 1]) for row in rows]


def test_it_is_said(both):
    exact, binned = both
    assert exact.record["resolution"]["exact"] is True
    bounds = exact.record["resolution"]["bounds"]["S"]
    assert (bounds["rate"], bounds["score"]) == (0, 0)
    assert 0 < bounds["replicates"] < 0.1
    assert binned.record["resolution"]["exact"] is False
    assert 0 < binned.record["resolution"]["bounds"]["S"]["rate"] < 0.1
    assert 0 < binned.record["resolution"]["bounds"]["S"]["score"] < 0.1


def test_counts_at_given_thresholds_are_exact(both):
    for point in ("threshold=1.25", "threshold=0.333"):
        first, second = (audit.groups.subset(operating_point=point).rows() for audit in both)
        assert len(first) > 100
        for one, two in zip(as_measured(first), as_measured(second), strict=True):
            assert one == two
        first, second = (audit.matrix.subset(operating_point=point).rows() for audit in both)
        assert first == second
        first, second = (audit.meta.subset(operating_point=point).rows() for audit in both)
        assert as_measured(first) == as_measured(second)
        assert as_measured(first)


def test_intervals_of_rates_at_given_thresholds_are_exact(both):
    exact, binned = both
    for metric in ("fpr", "fnr"):
        filters = {"metric": metric, "operating_point": "threshold=1.25"}
        rates = binned.groups.subset(**filters).rows()
        assert rates == exact.groups.subset(**filters).rows()
        assert all(row["low"] < row["high"] for row in rates if row["grouping"] == "gender")


@pytest.mark.parametrize("metric", ["eer", "min_cdet_norm", "auc", "fnr_at_fpr"])
def test_all_else_is_resampled_as_in_memory(both, metric):
    first, second = (audit.groups.subset(metric=metric).rows() for audit in both)
    widths = []
    for one, two in zip(first, second, strict=True):
        assert (one["low"] is None) == (two["low"] is None)
        if one["low"] is not None:
            widths.append((two["high"] - two["low"]) / (one["high"] - one["low"]))
    assert len(widths) > 4
    assert np.mean(widths) == pytest.approx(1, abs=0.05)


def test_verdicts_are_told_of_lists_beyond_memory(both):
    exact, binned = (audit.verdicts.rows() for audit in both)
    assert len(exact) == len(binned) > 0
    same = [one["verdict"] == two["verdict"] for one, two in zip(exact, binned, strict=True)]
    assert np.mean(same) > 0.9


@pytest.fixture
def long(simulate, monkeypatch):
    """An audit of the same trials in memory and, as very many, beyond it."""
    trials, people = simulate(nontarget=8000, decimals=9)
    options = {"speakers": people, "by": "gender", "operating_points": "threshold=1.25"}
    exact = pv.audit({"S": trials}, **options)
    monkeypatch.setattr(trial_shards, "IN_MEMORY_TRIALS", 1000)
    monkeypatch.setattr(trial_shards, "SHARD_TRIALS", 900)

    def audited(rows, blocks):
        for module in ("data.units", "auditing.system_uncertainty"):
            monkeypatch.setattr(f"parivox.{module}.MAX_COUNT_ROWS", rows)
        monkeypatch.setattr("parivox.data.units.N_DRAWN_BLOCKS", blocks)
        audit = pv.audit({"S": trials}, **options, speaker_ids="offenders")
        for metric in ("fpr", "fnr"):
            filters = {"metric": metric, "operating_point": "threshold=1.25"}
            assert audit.groups.subset(**filters).rows() == exact.groups.subset(**filters).rows()
        assert {row["threshold"] for row in audit.bands} > {1.25}
        assert len(audit.offenders) > 0
        return audit

    return exact, audited


@pytest.mark.slow
def test_where_a_tally_would_be_too_long_curves_are_drawn_from_blocks(long):
    exact, audited = long
    audit = audited(7000, 20)
    widths = []
    for one, two in zip(exact.groups, audit.groups, strict=True):
        if one["metric"] in {"auc", "min_cdet_norm"} and one["low"] is not None:
            widths.append((two["high"] - two["low"]) / (one["high"] - one["low"]))
    assert len(widths) > 4
    assert 0.6 < np.mean(widths) < 1.6
    shifts = audit.groups.subset(metric="shift_target", group="f").rows()
    reported = {row["definition"]: (row["low"] is not None, row["note"]) for row in shifts}
    assert reported.pop("mean")[0]
    assert set(reported.values()) == {(False, "no_interval")}


@pytest.mark.slow
def test_where_that_of_blocks_would_be_too_long_too_nothing_is_resampled(long):
    audit = long[1](100, 1000)
    for row in audit.groups:
        if row["metric"] not in {"fpr", "fnr"} and row["value"] is not None:
            assert (row["low"], row["high"], row["note"]) == (None, None, "no_interval")
            assert "too_many_trials_for_memory" in row["values"]


def test_counts_at_thresholds_found_are_exact_for_those_thresholds(both, simulate):
    _, binned = both
    trials, _ = simulate(nontarget=8000, decimals=9)
    for row in binned.operating_points:
        t = row["threshold"]
        wrong = [s >= t for s, y in zip(trials["score"], trials["label"], strict=True) if not y]
        assert row["fpr"] == sum(wrong) / len(wrong)


@pytest.mark.parametrize(
    "metric",
    ["eer", "auc", "min_cdet_raw", "fnr_at_fpr", "fpr_at_fnr"],
)
def test_metrics_of_the_curve_lie_within_the_stated_bound(both, metric):
    bound = both[1].record["resolution"]["bounds"]["S"]["rate"]
    first, second = (audit.groups.subset(metric=metric).rows() for audit in both)
    assert len(first) == len(second) > 0
    differ = 0
    for one, two in zip(first, second, strict=True):
        assert one["reason"] == two["reason"]
        if one["value"] is not None:
            assert abs(one["value"] - two["value"]) <= bound
            differ += one["value"] != two["value"]
    assert differ  # else nothing was shown


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["shift_target", "shift_nontarget"])
def test_shifts_lie_within_the_stated_bound(both, metric):
    bound = both[1].record["resolution"]["bounds"]["S"]["score"]
    first, second = (audit.groups.subset(metric=metric).rows() for audit in both)
    for one, two in zip(first, second, strict=True):
        if one["value"] is not None:
            assert abs(one["value"] - two["value"]) <= bound


@pytest.mark.slow
def test_what_was_read_is_the_same(both):
    exact, binned = both
    read = binned.data.to_polars().filter(pl.col("item") != TRIALS_BEYOND_MEMORY)
    assert exact.data.to_polars().equals(read)
    assert len(binned.data.subset(item=TRIALS_BEYOND_MEMORY)) == 1
    for name in ("n", "speakers", "target_trials", "nontarget_trials", "trials"):
        if name in exact.groups.columns:
            assert exact.groups.to_dict()[name] == binned.groups.to_dict()[name]
    one, two = (audit.record["inputs"] for audit in both)
    assert one == two


@pytest.mark.slow
def test_points_of_the_curves_are_exact(both, simulate):
    _, binned = both
    trials, _ = simulate(nontarget=8000, decimals=9)
    pairs = list(zip(trials["score"], trials["label"], strict=True))
    other = [s for s, y in pairs if not y]
    for row in binned.det.subset(group="all").rows()[::25]:
        assert row["fpr"] == sum(s >= row["threshold"] for s in other) / len(other)


@pytest.mark.slow
def test_contradictions_set_aside_are_repeated_in_bins_too(trials, speakers, monkeypatch):
    rows = list(zip(*trials.values(), strict=True))
    rows.append((*rows[0][:2], rows[0][2] + 1, rows[0][3]))
    reference = dict(zip(trials, map(list, zip(*rows, strict=True)), strict=True))
    monkeypatch.setattr(trial_shards, "IN_MEMORY_TRIALS", 1000)
    monkeypatch.setattr(trial_shards, "SHARD_TRIALS", 900)
    audit = pv.audit(
        reference,
        speakers=speakers,
        by="gender",
        operating_points=["threshold=1", "eer"],
        conflicts="exclude",
    )
    (row,) = audit.data.subset(group="all", item="contradicting_rows_set_aside")
    assert row["count"] == 2


@pytest.mark.slow
def test_decisions_may_be_unknown_in_some_parts_only(simulate, monkeypatch):
    trials, people = simulate(nontarget=8000, decimals=9)
    trials = {name: list(column) for name, column in trials.items()}
    first = min(trials["enrol"])
    trials["decision"] = [
        "" if enrol == first else "accept" if score > 1 else "reject"
        for enrol, score in zip(trials["enrol"], trials["score"], strict=True)
    ]
    options = {"speakers": people, "by": "gender", "operating_points": ["deployed"]}
    exact = pv.audit({"S": trials}, **options)
    monkeypatch.setattr(trial_shards, "IN_MEMORY_TRIALS", 1000)
    monkeypatch.setattr(trial_shards, "SHARD_TRIALS", 900)
    parts = pv.audit({"S": trials}, **options)
    same = ("group", "errors", "trials", "value", "low", "high", "df", "reason")
    for metric in ("fnr", "fpr"):
        one, other = (
            [[row[name] for name in same] for row in audit.groups.subset(metric=metric).rows()]
            for audit in (exact, parts)
        )
        assert one == other


@pytest.mark.slow
def test_rows_that_are_placed_in_chunks_change_nothing(simulate, monkeypatch):
    trials, people = simulate(nontarget=2000)
    options = {"speakers": people, "by": "gender", "allocate": ["both", "either"], "replicates": 50}
    audit = pv.audit({"S": trials}, **options)
    monkeypatch.setattr("parivox.auditing.system_uncertainty.ROWS_PER_CHUNK", 700)
    in_chunks = pv.audit({"S": trials}, **options)
    for table in ("groups", "bias", "meta", "verdicts", "matrix", "bands"):
        assert getattr(in_chunks, table).rows() == getattr(audit, table).rows()
