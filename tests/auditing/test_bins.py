"""`bins.parquet` and `bands.parquet`: what moves with the threshold, counted and with limits."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import parivox as pv
from parivox import Counts
from parivox.auditing.curves import band_thresholds, shared_thresholds

KEY = ("system", "list", "grouping", "group", "allocation")
POINTS = ("threshold=1.25", "fpr=0.02", "eer", "min-cdet", "threshold=99")
FEW = {"reference": "others", "zero": "none"}
"""Fewer measures of bias than by default: they are not what is tested here."""


@pytest.fixture(scope="module")
def told(trials, speakers):
    """Two systems, two rules, levels within."""
    return pv.audit(
        {"S@x": trials, "T": {**trials, "score": [s**3 for s in trials["score"]]}},
        speakers=speakers,
        by="gender",
        allocate=["both", "either"],
        operating_points=POINTS,
        within="nation",
        replicates=50,
        **FEW,
    )


def by_cell(table):
    """Columns of each cell as arrays."""
    frame = table.to_polars()
    parts = frame.partition_by(*KEY, as_dict=True, maintain_order=True)
    return {
        key: {name: part[name].to_numpy() for name in part.columns} for key, part in parts.items()
    }


def number(cell):
    """A cell of a table as a number."""
    return math.nan if cell is None else cell


def errors_at(cell, threshold):
    """FP, FN, nontarget and target trials of a cell, as its bins have them."""
    above = cell["threshold"] >= threshold
    total = int(cell["nontarget"].sum()), int(cell["target"].sum())
    return int(cell["nontarget"][above].sum()), int(cell["target"][~above].sum()), *total


def check_bins(audit):
    """Bins add up to the trials, and to the errors at every audited threshold."""
    cells, seen = by_cell(audit.bins), set()
    for row in audit.groups.subset(within="", definition=""):
        if row["metric"] not in {"fpr", "fnr"} or row["operating_point"] == "deployed":
            continue
        key = tuple(row[name] for name in KEY)
        seen.add(key)
        cell = cells[key]
        assert cell["threshold"][0] == -math.inf
        assert (np.diff(cell["threshold"]) > 0).all()
        fp, fn, nontarget, target = errors_at(cell, number(row["threshold"]))
        assert (target, nontarget) == (row["target_trials"], row["nontarget_trials"])
        if row["threshold"] is None:
            continue
        assert row["threshold"] in cell["threshold"]
        errors, trials = (fp, nontarget) if row["metric"] == "fpr" else (fn, target)
        if trials:
            assert (row["errors"], row["value"]) == (errors, errors / trials)
    assert seen == set(cells)


def check_bands(audit):
    """At audited thresholds they are the rates of the groups, elsewhere those of the bins."""
    bands, bins = by_cell(audit.bands), by_cell(audit.bins)
    assert set(bands) == set(bins)
    for row in audit.groups.subset(within="", definition=""):
        metric = row["metric"]
        if metric not in {"fpr", "fnr"} or row["threshold"] is None:
            continue
        band = bands[tuple(row[name] for name in KEY)]
        (at,) = np.flatnonzero(band["threshold"] == row["threshold"])
        limits = [band[metric + end][at] for end in ("", "_low", "_high")]
        expected = [number(row[name]) for name in ("value", "low", "high")]
        if "threshold_varies" in row["note"]:  # bands take the threshold as it is
            assert (limits[0], limits[1] < limits[0] < limits[2]) == (expected[0], True)
            continue
        np.testing.assert_array_equal(limits, expected)
    for key, band in bands.items():
        assert set(band["threshold"]) <= set(bins[key]["threshold"])
        assert (np.diff(band["threshold"]) > 0).all()
        for i, t in enumerate(band["threshold"]):
            fp, fn, nontarget, target = errors_at(bins[key], t)
            expected = (
                fp / nontarget if nontarget else math.nan,
                fn / target if target else math.nan,
            )
            np.testing.assert_array_equal((band["fpr"][i], band["fnr"][i]), expected)


def check_ratios(audit):
    """At audited thresholds they are the ratios to all others in closed form; elsewhere alike."""
    bands, seen = by_cell(audit.bands), 0
    asked = {"measure": "ratio", "reference": "others", "zero": "none", "within": ""}
    for row in audit.bias.subset(**asked, definition=""):
        key = tuple(row[name] for name in KEY)
        threshold = audit.operating_points.subset(
            operating_point=row["operating_point"], system=key[0], list=key[1], within=""
        ).rows()
        if row["metric"] not in {"fpr", "fnr"} or threshold[0]["threshold"] is None:
            continue
        band = bands[key]
        (at,) = np.flatnonzero(band["threshold"] == threshold[0]["threshold"])
        limits = [band[f"{row['metric']}_ratio_{end}"][at] for end in ("low", "high")]
        if key[-1] == "either" and row["metric"] == "fpr":  # groups share impostor trials
            assert np.isnan(limits).all()
            continue
        np.testing.assert_array_equal(limits, [number(row["low"]), number(row["high"])])
        seen += not np.isnan(limits).any()
    assert seen
    for key, band in bands.items():
        for metric in ("fpr", "fnr"):
            low, high = (band[f"{metric}_ratio_{end}"] for end in ("low", "high"))
            if key[3] in {"all", "pooled"} or (key[-1], metric) == ("either", "fpr"):
                assert np.isnan([low, high]).all()
            else:
                assert (~np.isnan(high)).mean() > 0.5
                assert (low <= high)[~np.isnan(high)].all()


@pytest.mark.slow
def test_bins_add_up_to_the_trials_and_to_the_errors_at_every_audited_threshold(told):
    check_bins(told)


@pytest.mark.slow
def test_bands_are_the_intervals_of_the_groups_at_every_audited_threshold(told):
    check_bands(told)


def test_bands_hold_the_limits_of_the_ratios_to_all_others(told):
    check_ratios(told)


def test_all_cells_of_a_system_and_list_share_thresholds(told):
    shared = {}
    for key, cell in by_cell(told.bins).items():
        shared.setdefault(key[:2], set()).add(tuple(cell["threshold"]))
    assert set(shared) == {("S", "x"), ("T", "")}
    assert [len(each) for each in shared.values()] == [1, 1]


@pytest.mark.slow
def test_bands_lie_along_the_whole_curve_and_hold_their_rates(told):
    bands = by_cell(told.bands)
    for key in [key for key in bands if key[3] in {"all", "pooled"}]:
        band = bands[key]
        assert band["threshold"].size >= 20
        for metric in ("fpr", "fnr"):
            rate, low, high = (band[metric + end] for end in ("", "_low", "_high"))
            told_here = ~np.isnan(high)
            assert told_here.mean() > 0.9
            assert (low <= rate)[told_here].all()
            assert (rate <= high)[told_here].all()
            assert {0.0, 1.0} & {rate[told_here].min(), rate[told_here].max()}


@pytest.mark.slow
def test_bands_follow_the_method_that_is_asked_for(trials, speakers):
    for interval in ("wilson", "bootstrap"):
        audit = pv.audit(
            trials,
            speakers=speakers,
            by="gender",
            operating_points=["fpr=0.02", "eer"],
            interval=interval,
            replicates=50,
        )
        check_bands(audit)
        assert np.isnan(audit.bands.to_polars()["fpr_ratio_high"].to_numpy()).all()
        n = len(audit.bands.subset(grouping="all"))
        assert (n == 2) == (interval == "bootstrap")  # which tells of the audited points only


@pytest.mark.slow
def test_the_pooled_band_of_a_grouping_without_everybody_is_its_own(trials, speakers):
    nation = ["" if one == "USA" else one for one in speakers["nation"]]
    audit = pv.audit(trials, speakers={**speakers, "nation": nation}, by="nation", replicates=50)
    check_bins(audit)
    check_bands(audit)
    check_ratios(audit)
    every, pooled = (audit.bands.subset(group=name).to_dict() for name in ("all", "pooled"))
    assert every["threshold"] == pooled["threshold"]
    assert every["fnr"] != pooled["fnr"]


def test_without_intervals_there_are_bins_and_no_bands(trials, speakers):
    audit = pv.audit(trials, speakers=speakers, by="gender", intervals=False)
    check_bins(audit)
    assert len(audit.bands) == 0


@pytest.mark.slow
def test_decisions_without_scores_have_neither(trials, speakers):
    rows = {name: cells for name, cells in trials.items() if name != "score"}
    rows["decision"] = ["accept" if score >= 1 else "reject" for score in trials["score"]]
    audit = pv.audit(rows, speakers=speakers, by="gender", replicates=50)
    assert len(audit.bins) == len(audit.bands) == 0


def test_levels_are_left_out(told):
    levels = {row["within"] for row in told.groups} - {""}
    assert levels
    assert "within" not in told.bins.columns
    check_bins(told)


@pytest.mark.slow
def test_trials_beyond_memory_have_exact_bins_and_bands(simulate, monkeypatch):
    trials, people = simulate(nontarget=3000, decimals=9)
    monkeypatch.setattr("parivox.data.trial_shards.IN_MEMORY_TRIALS", 900)
    monkeypatch.setattr("parivox.data.trial_shards.SHARD_TRIALS", 700)
    audit = pv.audit(trials, speakers=people, by="gender", operating_points=POINTS)
    assert audit.record["resolution"]["exact"] is False
    check_bins(audit)
    check_bands(audit)
    audited = {row["threshold"] for row in audit.operating_points}
    assert set(audit.bands.to_dict()["threshold"]) > audited


@pytest.mark.slow
def test_counts_have_the_bins_of_their_trials_and_no_bands(trials, speakers, tmp_path):
    pv.count({"S": trials}, speakers=speakers, by="gender", withhold=0).save(tmp_path / "c.counts")
    counted = pv.audit(tmp_path / "c.counts", operating_points=POINTS)
    full_audit = pv.audit({"S": trials}, speakers=speakers, by="gender", operating_points=POINTS)
    assert counted.bins.to_polars().equals(full_audit.bins.to_polars())
    assert len(counted.bands) == 0


@pytest.mark.slow
def test_counts_at_given_thresholds_have_those_bins(trials, speakers, tmp_path):
    path = tmp_path / "c.counts"
    pv.count({"S": trials}, speakers=speakers, by="gender", thresholds=[0.5, 2.0]).save(path)
    audit = pv.audit(path)
    check_bins(audit)
    assert set(audit.bins.to_dict()["threshold"]) == {-math.inf, 0.5, 2.0}


@pytest.mark.slow
def test_groups_that_are_withheld_stay_out(trials, speakers, tmp_path):
    path = tmp_path / "c.counts"
    pv.count({"S": trials}, speakers=speakers, by="gender+nation", withhold=5).save(path)
    audit = pv.audit(path)
    withheld = {row["group"] for row in audit.groups if row["reason"].startswith("withheld")}
    assert withheld
    assert not withheld & set(audit.bins.to_dict()["group"])


def odd(n_groups, scores, labels, *, seed=0):
    """Trials of single recordings with given scores, and speakers in many groups."""
    draw = np.random.default_rng(seed)
    n = len(scores)
    ids = [f"s{i}" for i in range(2 * n_groups)]
    own = draw.integers(0, len(ids), n)
    other = np.where(labels, own, (own + 1 + draw.integers(0, len(ids) - 1, n)) % len(ids))
    trials = {
        "enrol": [f"{ids[k]}/e{i}" for i, k in enumerate(own)],
        "test": [f"{ids[k]}/t{i}" for i, k in enumerate(other)],
        "score": list(scores),
        "label": [int(label) for label in labels],
    }
    return trials, {"id": ids, "g": [f"g{i // 2:03d}" for i in range(len(ids))]}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_groups", "kind"),
    [*((1, kind) for kind in ("plain", "no nontarget", "no target", "alike")), (200, "infinite")],
)
def test_odd_lists(n_groups, kind):
    draw = np.random.default_rng(5)
    labels = draw.random(600) < 0.5
    if kind.startswith("no "):
        labels[:] = kind == "no nontarget"
    scores = np.round(draw.normal(labels * 2.0), 2)
    if kind == "infinite":
        scores[::7], scores[::11] = np.inf, -np.inf
    if kind == "alike":
        scores[:] = 0.0
    trials, people = odd(n_groups, scores, labels)
    audit = pv.audit(
        trials,
        speakers=people,
        by="g",
        allocate="enrol",
        orientation="similarity",
        operating_points=["threshold=1", "threshold=inf", "threshold=-inf", "fpr=0.2", "fnr=0.2"],
        replicates=50,
        **FEW,
    )
    check_bins(audit)
    check_bands(audit)


@pytest.mark.slow
@settings(deadline=None, max_examples=12, suppress_health_check=list(HealthCheck))
@given(
    scores=st.lists(
        st.sampled_from([-math.inf, -1.0, -0.0, 0.0, 0.5, 1.0, 2.5, math.inf]),
        min_size=2,
        max_size=60,
    ),
    seed=st.integers(0, 2**31),
    threshold=st.sampled_from(["0", "-0.0", "0.5", "0.7", "inf", "-inf", "3"]),
)
def test_any_small_audit_adds_up(scores, seed, threshold):
    labels = np.random.default_rng(seed).random(len(scores)) < 0.5
    trials, people = odd(3, scores, labels, seed=seed)
    audit = pv.audit(
        trials,
        speakers=people,
        by="g",
        allocate="either",
        orientation="similarity",
        operating_points=f"threshold={threshold}",
        replicates=50,
        **FEW,
    )
    check_bins(audit)
    check_bands(audit)


@pytest.mark.slow
def test_the_order_of_rows_changes_no_byte(trials, speakers, tmp_path):
    order = np.random.default_rng(3).permutation(len(trials["score"]))
    mixed = {name: [cells[i] for i in order] for name, cells in trials.items()}
    for name, rows in (("a", trials), ("b", mixed)):
        audit = pv.audit({"S": rows}, speakers=speakers, by="gender", speaker_ids="offenders")
        audit.save(tmp_path / name)
    for name in ("bins.parquet", "bands.parquet", "offenders.csv", "audit.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name


# ---- the thresholds


def test_thresholds_step_through_the_rates_and_hold_the_audited_ones():
    draw = np.random.default_rng(7)
    target = draw.random(60_000) < 0.3
    counts = Counts.from_scores(draw.normal(target * 2.5), target)
    observed = shared_thresholds(counts, [0.123, math.inf, -math.inf])
    assert 300 < observed.size < 450
    assert {0.123, math.inf, -math.inf} <= set(observed)
    at = counts.at(observed)
    assert (np.abs(np.diff(at.fpr)) <= 0.02).all()
    assert (np.abs(np.diff(at.fnr)) <= 0.02).all()
    for errors in (at.fp, at.fn):  # the last threshold without errors, and the first one with one
        assert {0, 1} <= set(errors.tolist())


@pytest.mark.slow
def test_more_trials_make_no_more_thresholds():
    sizes = []
    for n in (100_000, 1_000_000):
        draw = np.random.default_rng(n)
        target = draw.random(n) < 0.5
        counts = Counts.from_scores(draw.normal(target * 3.0), target)
        sizes.append(shared_thresholds(counts, []).size)
    assert sizes[1] < 1.25 * sizes[0]


@pytest.mark.parametrize(
    ("n", "n_trials", "wanted"), [(1, 9, 0), (2, 9, 1), (9, 9, 8), (400, 9, 24), (400, 10**8, 4)]
)
def test_nodes_are_few_of_them_and_fewer_of_many_trials(n, n_trials, wanted):
    thresholds = np.concatenate(([-np.inf], np.arange(n - 1.0)))
    observed = band_thresholds(thresholds, n_trials)
    assert observed.size == wanted
    assert -np.inf not in observed
    if wanted:
        assert (observed[0], observed[-1]) == (thresholds[1], thresholds[-1])
