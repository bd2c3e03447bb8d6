"""Counts as a file: shared without ids, added up, audited like the trials they are of."""

import contextlib
import json
import random
import re
from functools import partial

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.folders import OF_KEY
from tests.sentences import item_in_words

import parivox as pv
from parivox.data import trial_shards
from parivox.data.count_rows import CountRows
from parivox.data.counts_file import SCORE_COUNTS, file_bytes, read_columns
from parivox.data.score_bins import COUNTED_AT_THRESHOLDS, Bins
from parivox.errors import DataError, ParivoxError

BY = ["gender", "gender+nation"]
SAME = ("groups", "bias", "meta", "matrix", "operating_points", "det")
SPEAKERS = ("speakers",)
UNSURE = '{"no_interval": {"because": "speakers_unknown_from_counts"}}'

measured = partial(pv.audit, intervals=False)
"""What counts can tell; how sure it is takes the speakers of every trial."""


def rows_of(trials, which):
    return {name: [column[i] for i in which] for name, column in trials.items()}


def shards(trials, n):
    parts = np.array_split(np.arange(len(trials["label"])), n)
    return [rows_of(trials, part.tolist()) for part in parts]


def counted(sources, folder, **options):
    """One file of counts for each source."""
    made = []
    for i, source in enumerate(sources):
        path = folder / f"day{i}.counts"
        pv.count({"S": source}, **options).save(path)
        made.append(path)
    return made


def differing(one, other, *, without=()):
    """Tables in which two audits differ, but for some columns of the groups."""
    rows = []
    for name in SAME:
        first, second = (getattr(audit, name).to_polars() for audit in (one, other))
        if name == "groups":
            first, second = first.drop(without), second.drop(without)
        if not first.equals(second):
            rows.append(name)
    return rows


@pytest.fixture(scope="module")
def people(speakers):
    return speakers


# the numbers


@pytest.mark.slow
def test_an_audit_of_counts_is_the_audit_of_the_trials(trials, people, tmp_path):
    options = {
        "allocate": ["both", "enrol", "test", "either"],
        "operating_points": ["fpr=0.01", "eer", "min-cdet", "threshold=1.25"],
        "sweep": "fpr=0.01:0.1:log5",
    }
    full_audit = measured({"S": trials}, speakers=people, by=BY, **options)
    (path,) = counted([trials], tmp_path, speakers=people, by=BY, withhold=0)
    audit = measured(path, **options)
    assert differing(full_audit, audit) == []
    assert full_audit.sweep.to_polars().equals(audit.sweep.to_polars())
    assert (
        audit.record["inputs"][0]["content_sha256"]
        == (full_audit.record["inputs"][0]["content_sha256"])
    )
    assert audit.record["resolution"]["exact"] is True


@pytest.mark.slow
def test_asked_for_intervals_counts_tell_the_same_and_why_there_are_none(trials, people, tmp_path):
    (path,) = counted([trials], tmp_path, speakers=people, by=BY, withhold=0)
    compared = ["others", "pooled", "best"]  # without intervals, others are none by default
    asked, plain = (audit(path, reference=compared) for audit in (pv.audit, measured))
    for name in SAME:
        one, two = (getattr(audit, name).to_polars() for audit in (asked, plain))
        unsure = ("note", "values") if name == "groups" else ()
        assert one.drop(unsure).equals(two.drop(unsure)), name
    assert {row["values"] for row in asked.groups if row["value"] is not None} == {UNSURE}
    for name in ("groups", "bias", "meta"):
        rows = getattr(asked, name).rows()
        assert {(row["low"], row["high"]) for row in rows} == {(None, None)}
    assert not len(asked.verdicts)


@pytest.mark.slow
def test_counts_of_shards_add_up_to_the_audit_of_the_whole_byte_for_byte(trials, people, tmp_path):
    files = counted(shards(trials, 10), tmp_path, speakers=people, by=BY, withhold=0)
    whole, audit = measured({"S": trials}, speakers=people, by=BY), measured(files)
    assert differing(whole, audit, without=SPEAKERS) == []
    whole.save(tmp_path / "whole")
    audit.save(tmp_path / "counts")
    for name in ("bias.csv", "meta.csv", "matrix.csv", "operating_points.csv", "det.parquet"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "counts" / name).read_bytes()


@pytest.mark.slow
def test_real_shards_add_up_to_the_audit_of_the_real_list(h_v2, vox1_speakers, tmp_path):
    options = {"speakers": vox1_speakers, "by": ["gender", "gender+nationality"]}
    frame = h_v2.select("enrol", "test", "score", "label")
    n = -(-frame.height // 10)
    parts = [frame[i * n : (i + 1) * n] for i in range(10)]
    files = counted(parts, tmp_path, withhold=0, **options)
    whole, audit = measured({"S": frame}, **options), measured(files)
    assert differing(whole, audit, without=SPEAKERS) == []
    whole.save(tmp_path / "whole")
    audit.save(tmp_path / "counts")
    for name in ("bias.csv", "meta.csv", "matrix.csv", "operating_points.csv", "det.parquet"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "counts" / name).read_bytes()


NAN = float("nan")
ROWS = st.tuples(
    st.integers(0, 1),  # layout
    st.integers(-1, 1),  # stratum
    st.integers(-1, 2),
    st.integers(-1, 2),
    st.booleans(),
    st.integers(0, 2),  # failed
    st.sampled_from([NAN, -1.5, -0.0, 0.0, 0.1, 7.25]),
    st.integers(-1, 1),  # accepted
    st.sampled_from([NAN, 0.0, 0.3]),
    st.integers(1, 5),  # trials
    st.integers(0, 9),
    st.integers(0, 1),
)


@pytest.mark.slow
@given(tables=st.lists(st.lists(ROWS, max_size=12), max_size=4))
def test_rows_add_up_as_a_table_is_grouped_whatever_their_order(tables):
    kinds = CountRows.total([]).columns
    keys = [*kinds][:9]
    whole = pl.DataFrame(
        [row for table in tables for row in table],
        schema=[(name, pl.Series(column).dtype) for name, column in kinds.items()],
        orient="row",
    )
    lacks = [pl.col(one).is_nan() for one in ("score", "threshold")]
    order = [*keys[:6], "accepted", *(~one for one in lacks), "score", "threshold"]
    grouped = whole.with_columns(pl.col("score", "threshold") + 0.0)
    grouped = grouped.group_by(keys).sum().sort(order)
    parts = [
        {
            name: np.array(column, dtype=kinds[name].dtype)
            for name, column in zip(kinds, columns, strict=True)
        }
        for columns in (zip(*table, strict=True) for table in tables if table)
    ]
    observed = CountRows.total(map(CountRows, parts)).columns
    assert pl.DataFrame({name: np.array(one) for name, one in observed.items()}).equals(grouped)


@pytest.mark.slow
def test_the_order_of_files_changes_no_byte(trials, people, tmp_path):
    files = counted(shards(trials, 4), tmp_path, speakers=people, by=BY, withhold=0)
    written = []
    for i, order in enumerate((files, files[::-1])):
        pv.audit(order).save(tmp_path / f"a{i}")
        observed = {path.name: path.read_bytes() for path in (tmp_path / f"a{i}").iterdir()}
        for name in OF_KEY:
            observed.pop(name, None)
        written.append(observed)
    assert written[0] == written[1]


def test_the_order_of_rows_changes_no_byte_of_the_counts(trials, people, tmp_path):
    order = list(range(len(trials["score"])))
    random.Random(4).shuffle(order)
    options = {"speakers": people, "by": BY, "withhold": 0}
    first, second = counted([trials, rows_of(trials, order)], tmp_path, **options)
    assert first.read_bytes() == second.read_bytes()


def test_no_id_is_in_the_file(trials, people, tmp_path):
    (path,) = counted([trials], tmp_path, speakers=people, by=BY, withhold=0)
    held = path.read_bytes()
    assert b"qz0" not in held
    assert b"vx" not in held


@pytest.fixture(scope="module")
def bank(simulate):
    """Trials with every column that counts can have, and the tables beside them."""
    trials, people = simulate(nontarget=1500, decimals=3)
    draw = np.random.default_rng(3)
    n = len(trials["score"])
    channel = draw.choice(["app", "phone", "web"], n)
    level = {"app": 0.8, "phone": 1.1, "web": 1.3}
    trials |= {
        "channel": channel.tolist(),
        "threshold": [level[one] for one in channel],
        "seconds": np.round(draw.gamma(2.0, 2.0, n), 2).tolist(),
    }
    ids = sorted({*trials["enrol"], *trials["test"]})
    tables = {
        "utterances": {
            "utterance": ids,
            "language": [["de", "en", ""][i % 3] for i in range(len(ids))],
        },
        "failures": {"recording": ids[::40], "stage": ["enrol", "acquire"] * (len(ids[::40]) // 2)},
    }
    return trials, {"speakers": people, **tables}


EVERYTHING = {"by": ["gender", "language", "enrol.language", "same:language"], "within": "channel"}


def test_decisions_thresholds_failures_seconds_and_levels_are_counted_too(bank, tmp_path):
    trials, tables = bank
    lost = set(tables["failures"]["recording"])
    trials = {**trials}
    trials["score"] = [
        None if {e, t} & lost else s
        for e, t, s in zip(trials["enrol"], trials["test"], trials["score"], strict=True)
    ]
    options = {**tables, **EVERYTHING}
    points = {"operating_points": ["deployed", "fpr=0.05"]}
    full_audit = measured({"S": trials}, **options, **points)
    (one,) = counted([trials], tmp_path, **options, withhold=0)
    audit = measured(one, **points)
    quantiles = {"q50", "q95"}
    for name in SAME:
        first, second = (list(getattr(a, name).rows()) for a in (full_audit, audit))
        assert len(first) == len(second) > 0
        for mine, theirs in zip(first, second, strict=True):
            if mine.get("metric") == "seconds" and mine["definition"] in quantiles:
                assert theirs["value"] is None
                assert theirs["reason"] == "unknown_from_counts"
            else:
                assert mine == theirs
    several = measured(
        counted(shards(trials, 3), tmp_path, **options, withhold=0), **points
    ).groups.to_polars()
    first = full_audit.groups.to_polars()
    of_people = first["metric"].is_in(["fte", "fta", "seconds"]) | (first["definition"] == "shares")
    assert (
        first.filter(~of_people)
        .drop("speakers")
        .equals(several.filter(~of_people).drop("speakers"))
    )
    assert several["speakers"].null_count() == several.height


@pytest.mark.slow
def test_decisions_without_scores_are_counted(trials, people, tmp_path):
    decided = {name: trials[name] for name in ("enrol", "test", "label")}
    decided["decision"] = ["accept" if s >= 1 else "reject" for s in trials["score"]]
    full_audit = measured({"S": decided}, speakers=people, by=BY)
    files = counted(shards(decided, 3), tmp_path, speakers=people, by=BY, withhold=0)
    assert differing(full_audit, measured(files), without=SPEAKERS) == []


# bins and thresholds


@given(
    st.floats(-1e6, 1e6),
    st.sampled_from(["0.1", "0.01", "0.003", "2", "1e-05"]),
    st.lists(st.floats(-100, 100), max_size=3),
)
@settings(max_examples=100, deadline=None)
def test_a_score_lies_in_its_bin_and_an_edge_in_its_own(score, step, thresholds):
    bins = Bins(step, tuple(sorted({t + 0.0 for t in thresholds})))
    (edge,) = bins.binned(np.array([score])).tolist()
    assert edge <= score
    assert score - edge <= float(step) * (1 + 1e-9)
    assert bins.has_threshold(edge)
    assert all(bins.has_threshold(threshold) for threshold in bins.thresholds)
    assert edge >= max((t for t in bins.thresholds if t <= score), default=-np.inf)


@pytest.mark.parametrize("value", ["0.07", "-3.3", "1234.5678"])
def test_edges_are_the_numbers_that_one_writes(value):
    assert Bins("0.0001").has_threshold(float(value))


@pytest.mark.slow
def test_with_a_step_what_is_found_on_the_curve_lies_within_the_stated_bound(simulate, tmp_path):
    trials, people = simulate(decimals=9)
    full_audit = measured(
        {"S": trials}, speakers=people, by=BY, operating_points=["threshold=1.25"]
    )
    files = counted(
        *(shards(trials, 3), tmp_path), speakers=people, by=BY, withhold=0, step=0.02,
        thresholds=[0.333],
    )  # fmt: skip
    audit = measured(files, operating_points=["threshold=0.333", "threshold=1.26", "fpr=0.01"])
    told = audit.record["resolution"]
    bound = told["bounds"]["S"]
    assert told["exact"] is False
    assert bound["score"] == 0.02
    assert 0 < bound["rate"] < 0.2
    differ = 0
    for metric in ("eer", "auc", "min_cdet_raw", "shift_target", "shift_nontarget"):
        first, second = (a.groups.subset(metric=metric).rows() for a in (full_audit, audit))
        assert len(first) == len(second) > 0
        for one, two in zip(first, second, strict=True):
            gap = abs(one["value"] - two["value"])
            assert gap <= bound["score" if "shift" in metric else "rate"]
            differ += gap > 0
    assert differ
    exact = measured({"S": trials}, speakers=people, by=BY, operating_points=["threshold=0.333"])
    for table in ("groups", "matrix", "meta"):
        at = {"operating_point": "threshold=0.333"}
        one, two = (getattr(a, table).subset(**at).to_polars() for a in (exact, audit))
        assert one.drop("speakers", strict=False).equals(two.drop("speakers", strict=False))


@pytest.mark.slow
def test_at_thresholds_alone_the_curve_is_missing_with_that_reason(trials, people, tmp_path):
    (path,) = counted([trials], tmp_path, speakers=people, by="gender", thresholds=[1.25, 0.5])
    points = ["threshold=0.5", "threshold=1.25"]
    full_audit = measured({"S": trials}, speakers=people, by="gender", operating_points=points)
    audit = measured(path)
    assert audit.record["resolution"]["exact"] is True
    assert len(audit.det) == 0
    for metric in ("fpr", "fnr", "hter", "cdet_norm"):
        one, two = (a.groups.subset(metric=metric).rows() for a in (full_audit, audit))
        assert one == two
    for metric in ("eer", "auc", "min_cllr", "shift_target", "fnr_at_fpr", "dprime"):
        for row in audit.groups.subset(metric=metric):
            assert (row["value"], row["reason"]) == (None, COUNTED_AT_THRESHOLDS)
    observed = pv.audit(path, operating_points=["eer", "threshold=0.5"]).operating_points.rows()
    assert [row["reason"] for row in observed] == [COUNTED_AT_THRESHOLDS, ""]
    items = {item_in_words(row) for row in audit.data}
    assert "trials are counted at thresholds 0.5, 1.25" in items
    assert full_audit.matrix.to_polars().equals(audit.matrix.to_polars())


@pytest.mark.slow
@pytest.mark.parametrize("how", [{}, {"step": "0.1"}, {"thresholds": ["0.5"]}])
@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("infinite", [np.inf, -np.inf])
def test_infinite_scores_are_counted_among_others_and_alone(
    infinite, every, how, trials, people, tmp_path
):
    scores = [score if i % every else infinite for i, score in enumerate(trials["score"])]
    made = {**trials, "score": scores}
    files = counted(shards(made, 2), tmp_path, speakers=people, by="gender", withhold=0, **how)
    at = {"operating_points": "threshold=0.5", "orientation": "similarity"}
    full_audit = measured({"S": made}, speakers=people, by="gender", **at)
    audit = measured(files, **at)
    for metric in ("fpr", "fnr"):
        one, two = (each.groups.subset(metric=metric).to_polars() for each in (full_audit, audit))
        assert one.drop(SPEAKERS).equals(two.drop(SPEAKERS))


@pytest.mark.parametrize("how", [{"step": "0.1"}, {"thresholds": ["0.5"]}])
def test_a_threshold_between_edges_is_refused(trials, people, tmp_path, how):
    (path,) = counted([trials], tmp_path, speakers=people, by="gender", **how)
    with pytest.raises(pv.ConfigError, match=r"but no threshold 0\.777"):
        pv.audit(path, operating_points="threshold=0.777")


@pytest.mark.slow
def test_long_lists_are_counted_in_partitions_and_need_a_step(
    trials, people, tmp_path, monkeypatch
):
    options = {"speakers": people, "by": BY, "withhold": 0}
    (one,) = counted([trials], tmp_path, step=0.1, **options)
    expected = one.read_bytes()
    monkeypatch.setattr(trial_shards, "IN_MEMORY_TRIALS", 1000)
    monkeypatch.setattr(trial_shards, "SHARD_TRIALS", 900)
    with pytest.raises(pv.ConfigError, match=r"for example step=0\.001"):
        pv.count(trials, **options)
    (two,) = counted([trials], tmp_path, step=0.1, **options)
    assert two.read_bytes() == expected


# few people


def few(speakers, trials, *, of_m):
    """The trials of all women and of some men."""
    gender = dict(zip(speakers["id"], speakers["gender"], strict=True))
    men = sorted(one for one, of in gender.items() if of == "m")[:of_m]
    kept = {one for one, of in gender.items() if of == "f"} | set(men)
    pairs = zip(trials["enrol"], trials["test"], strict=True)
    return rows_of(
        trials,
        [i for i, two in enumerate(pairs) if {one.partition("/")[0] for one in two} <= kept],
    )


@pytest.mark.slow
def test_a_group_of_few_speakers_is_withheld_and_so_is_what_would_tell_it(trials, people, tmp_path):
    some = few(people, trials, of_m=3)
    counts = pv.count(some, speakers=people, by="gender")
    assert counts.withheld == {
        ("gender", "", "m"): 'withheld{"speakers": 5}',
        ("gender", "", "f"): 'withheld_to_protect{"speakers": 5}',
    }
    counts.save(tmp_path / "a.counts")
    audit = measured(tmp_path / "a.counts")
    for table in (audit.groups, audit.bias):
        observed = table.subset(grouping="gender", group="m").rows()
        assert observed
        assert {row["value"] for row in observed} == {None}
    rows = audit.groups.subset(grouping="gender", group="m").rows()
    for name in ("trials", "errors", "target_trials", "speakers"):
        assert {row[name] for row in rows} == {None}
    assert {row["reason"] for row in rows} == {"withheld"}
    assert {row["trials"] for row in audit.matrix} == {None}
    full_audit = measured(some, speakers=people, by="gender")
    of_all = [a.groups.subset(group="all").to_polars().drop("system") for a in (full_audit, audit)]
    assert of_all[0].equals(of_all[1])


def test_nothing_is_withheld_where_all_groups_are_large_or_none_is_asked_for(trials, people):
    assert not pv.count(trials, speakers=people, by="gender").withheld
    some = few(people, trials, of_m=3)
    assert not pv.count(some, speakers=people, by="gender", withhold=0).withheld


def test_no_single_sum_gives_a_withheld_group_away(simulate):
    trials, people = simulate(speakers=33)
    by = ["gender", "nation", "gender+nation"]
    counts = pv.count(trials, speakers=people, by=by, withhold=6, step=1)
    nation = dict(
        zip(people["id"], zip(people["gender"], people["nation"], strict=True), strict=True)
    )
    hidden = {group for by, _, group in counts.withheld if by == "gender+nation"}
    assert hidden  # three groups have five speakers
    for of in ("f", "m", "India", "Norway", "USA"):
        together = [one for one in nation.values() if of in one and "+".join(one) in hidden]
        assert not together or len(together) >= 6


@pytest.mark.slow
def test_levels_of_few_speakers_are_withheld(simulate, tmp_path):
    trials, people = simulate()
    own = [one.partition("/")[0] for one in trials["enrol"]]
    other = [one.partition("/")[0] for one in trials["test"]]
    rare = {"qz000", "qz001"}
    trials["channel"] = [
        "rare" if {a, b} <= rare else "app" if i % 2 else "web"
        for i, (a, b) in enumerate(zip(own, other, strict=True))
    ]
    counts = pv.count(trials, speakers=people, by="gender", within="channel", step=1)
    assert ("channel", "rare") in counts.suppressed_strata
    assert len(counts.suppressed_strata) == 2  # else the rest would tell it
    counts.save(tmp_path / "a.counts")
    audit = pv.audit(tmp_path / "a.counts")
    assert len({row["within"] for row in audit.groups}) == 2


@pytest.mark.slow
def test_a_group_that_one_file_withholds_is_missing_in_the_sum(trials, people, tmp_path):
    first, second = shards(trials, 2)
    some = few(people, first, of_m=3)
    files = counted([some, second], tmp_path, speakers=people, by="gender+nation", withhold=3)
    audit = pv.audit(files)
    lost = [
        row for row in audit.groups.subset(group="m+India") if row["reason"].startswith("withheld")
    ]
    assert lost
    left = {row["group"] for row in audit.groups if row["value"] is not None}
    assert "m+India" not in left
    assert "f+India" in left


# rows of several groupings, joined


def told_of(made, one, two):
    """Bounds on the trials of women enrolled from Norway, by equal scores of two blocks' rows."""
    rows = made.rows.columns
    both = []
    for grouping, group in (one, two):
        block = [of.name for of in made.groupings].index(grouping)
        place = made.groupings[block].groups.index(group)
        observed = {}
        for i in np.flatnonzero(rows["layout"] == block).tolist():
            key = bool(rows["trial_class"][i]), float(rows["score"][i])
            cell = observed.setdefault(key, [0, 0])
            cell[0] += int(rows["trials"][i]) * int(rows["enrol_group"][i] == place)
            cell[1] += int(rows["trials"][i])
        both.append(observed)
    first, second = both
    low = sum(max(0, first[key][0] + second[key][0] - n) for key, (_, n) in first.items())
    high = sum(min(first[key][0], second[key][0]) for key in first)
    return low, high


@pytest.fixture(scope="module")
def rare(simulate):
    """Trials of few women of Norway with a score each, their number, and who they are of."""
    trials, people = simulate(speakers=36, nontarget=9000, decimals=9)
    both = zip(people["id"], people["gender"], people["nation"], strict=True)
    hers = [one for one, *of in both if of == ["f", "Norway"]]
    own, other = ([one.partition("/")[0] for one in trials[side]] for side in ("enrol", "test"))
    kept = [i for i, two in enumerate(zip(own, other, strict=True)) if not {*two} & {*hers[3:]}]
    return rows_of(trials, kept), sum(own[i] in hers for i in kept), people


WOMEN_OF_NORWAY = ("gender", "f"), ("nation", "Norway")


def test_joining_rows_by_score_gives_a_group_of_few_back_where_nothing_is_withheld(rare):
    trials, n, people = rare
    counts = pv.count(trials, speakers=people, by=["gender", "nation"], withhold=0)
    low, high = told_of(counts, *WOMEN_OF_NORWAY)
    assert 0.99 * n <= low <= n <= high <= 1.01 * n
    assert any("can be matched" in line for line in counts.told_apart())


@pytest.mark.slow
@pytest.mark.parametrize("by", [["gender", "nation"], ["gender", "nation", "gender+nation"]])
@pytest.mark.parametrize("step", [None, "0.001"])
def test_what_joining_rows_by_score_would_tell_is_refused_and_the_mend_tells_nothing(
    rare, by, step
):
    trials, n, people = rare
    with pytest.raises(pv.ConfigError, match="by joining rows with rare scores") as caught:
        pv.count(trials, speakers=people, by=by, step=step)
    width = re.search(r"step[ =]([\d.]+)", str(caught.value))[1]
    counts = pv.count(trials, speakers=people, by=by, step=width)
    low, high = told_of(counts, *WOMEN_OF_NORWAY)
    assert low < 0.05 * n
    assert high > 1.9 * n


def test_scores_are_exact_where_no_other_grouping_tells_more(trials, people):
    assert pv.count(trials, speakers=people, by="gender").bins.is_exact
    both = pv.count(trials, speakers=people, by=BY, withhold=4)  # all of four speakers
    assert both.bins.is_exact
    assert not both.withheld


def test_levels_beside_the_whole_are_joined_no_more_than_groupings(rare):
    trials, _, people = rare
    with pytest.raises(pv.ConfigError, match=r"by gender, nation \(each score\)"):
        pv.count(trials, speakers=people, by="gender", within="nation")


def test_rare_deployed_thresholds_are_no_keys_either(trials, people):
    decided = {name: trials[name] for name in ("enrol", "test", "label")}
    decided["decision"] = [int(score >= 1) for score in trials["score"]]
    by = ["gender", "nation"]
    assert pv.count(decided, speakers=people, by=by).n_trials == len(trials["score"])
    decided["threshold"] = [1 + i / 7 for i in range(len(trials["score"]))]
    with pytest.raises(pv.ConfigError, match=r"each threshold\), .*; give a single") as caught:
        pv.count(decided, speakers=people, by=by)
    assert "--step" not in str(caught.value)


@pytest.mark.slow
def test_a_few_thresholds_of_several_groupings_are_shared(rare, tmp_path):
    trials, _, people = rare
    (path,) = counted(
        [trials], tmp_path, speakers=people, by=["gender", "nation"], thresholds=[0.5, 1.5]
    )
    assert len(pv.audit(path).groups.subset(group="Norway", metric="fpr", allocation="both")) == 2


def test_what_single_trials_took_is_not_told(bank):
    trials, tables = bank
    counts = pv.count(trials, speakers=tables["speakers"], by="gender", withhold=0).rows.columns
    assert counts["trials"].size > 1000
    assert counts["timed"][counts["timed"] > 0].tolist() == [
        counts["trials"][(counts["enrol_group"] == i) & (counts["test_group"] == k)].sum()
        for i in (0, 1)
        for k in (0, 1)
    ]
    assert counts["microseconds"].sum() == round(1e6 * sum(trials["seconds"]))


# what one day lacks


@pytest.mark.slow
@pytest.mark.parametrize("by", ["device", "age:30"])
def test_a_day_of_which_nothing_is_known_is_counted_and_adds_up(trials, people, tmp_path, by):
    first, second = shards(trials, 2)
    n = len(first["label"])
    first |= dict.fromkeys(("device", "phone", "age"), [""] * n)
    second |= {one: ["ab"[i % 2] for i in range(n)] for one in ("device", "phone")}
    second["age"] = [str(25 + i % 9) for i in range(n)]
    options = {"speakers": people, "by": ["gender", by], "within": "phone", "withhold": 0}
    files = counted([first, second], tmp_path, **options)
    told = [*pv.count(first, **options).told_apart()]
    assert f"No trial is in a group by {by}: {by} is unknown for all trials." in told
    both = {name: [*first[name], *second[name]] for name in first}
    full_audit = measured({"S": both}, **{k: v for k, v in options.items() if k != "withhold"})
    assert differing(full_audit, measured(files), without=SPEAKERS) == []
    with pytest.raises(pv.DataError, match=f"{by} is unknown for every trial; count again"):
        pv.audit(files[0])


def test_fewer_speakers_than_asked_for_are_not_counted(trials, people):
    with pytest.raises(
        pv.DataError,
        match="have 24 speakers, too few to share their counts; give trials of at least 50",
    ):
        pv.count(trials, speakers=people, by="gender", withhold=50)


# which files fit


@pytest.mark.slow
def test_files_without_names_are_one_system_named_after_all_of_them(trials, people, tmp_path):
    first, second = shards(trials, 2)
    paths = [tmp_path / "day1.counts", tmp_path / "day2.counts"]
    for path, source in zip(paths, (first, second), strict=True):
        pv.count(source, speakers=people, by="gender").save(path)
    (told,) = pv.audit(paths).record["inputs"]
    assert (told["system"], told["counts_files"], told["trials"]) == ("day", 2, 4360)
    named = pv.audit({"V2@H": paths[:1], "L": paths[1]}).record["inputs"]
    assert [(one["system"], one["list"]) for one in named] == [("L", ""), ("V2", "H")]


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"by": ["nation"]}, "was counted by nation, .* by gender"),
        ({"by": ["gender"], "step": 0.1}, "in bins of 0.1, .* at each score"),
        ({"by": ["gender"], "within": "nation", "withhold": 0}, "within nation, .* within nothing"),
        ({"by": ["gender"], "llr": True}, "has log-likelihood ratios"),
    ],
)
def test_counts_made_in_another_way_are_refused(trials, people, tmp_path, other, told):
    first, second = shards(trials, 2)
    (one,) = counted([first], tmp_path, speakers=people, by="gender")
    two = tmp_path / "other.counts"
    pv.count({"S": second}, speakers=people, **other).save(two)
    with pytest.raises(pv.DataError, match=told) as caught:
        pv.audit([one, two])
    assert one.name in str(caught.value)
    assert two.name in str(caught.value)


def test_scores_beside_decisions_are_refused(trials, people, tmp_path):
    first, second = shards(trials, 2)
    second["decision"] = [int(score >= 1) for score in second.pop("score")]
    files = counted([first, second], tmp_path, speakers=people, by="gender")
    with pytest.raises(pv.DataError, match=r"has decisions, but day0\.counts does not"):
        pv.audit(files)


def test_the_same_trials_twice_are_refused(trials, people, tmp_path):
    files = counted([trials, trials], tmp_path, speakers=people, by="gender")
    with pytest.raises(pv.DataError, match="would count twice"):
        pv.audit(files)


def test_the_same_trials_in_two_files_of_one_name_are_told_by_their_paths(trials, people, tmp_path):
    for day in ("monday", "tuesday"):
        (tmp_path / day).mkdir()
        pv.count({"S": trials}, speakers=people, by="gender").save(tmp_path / day / "s.counts")
    told = r"^.*(monday|tuesday).s\.counts: contains trials that are also in .*day.s\.counts"
    with pytest.raises(pv.DataError, match=told):
        measured([tmp_path / day / "s.counts" for day in ("monday", "tuesday")])


def test_counts_beside_scores_are_refused(trials, people, tmp_path):
    (path,) = counted([trials], tmp_path, speakers=people, by="gender")
    with pytest.raises(
        pv.ConfigError, match="count the trials of the other source with parivox count first"
    ):
        pv.audit({"A": path, "B": trials})


@pytest.mark.parametrize(
    "option",
    [{"by": "gender"}, {"within": "gender"}, {"speakers": "s.csv"}, {"conflicts": "exclude"}],
)
def test_what_is_in_the_counts_cannot_be_chosen_again(trials, people, tmp_path, option):
    (path,) = counted([trials], tmp_path, speakers=people, by="gender")
    with pytest.raises(pv.ConfigError, match="cannot be used with counts"):
        pv.audit(path, **option)


@pytest.mark.slow
def test_bands_named_in_another_way_are_refused(trials, people, tmp_path):
    first, second = shards(trials, 2)
    age = {**people, "age": [str(20 + i) for i in range(24)]}
    half = {**people, "age": [str(20.5 + i) for i in range(24)]}
    paths = [tmp_path / "a.counts", tmp_path / "b.counts"]
    for path, source, table in zip(paths, (first, second), (age, half), strict=True):
        pv.count({"S": source}, speakers=table, by="age:30,40").save(path)
    with pytest.raises(pv.DataError, match="bands of age:30,40"):
        pv.audit(paths)


@pytest.mark.slow
def test_groups_that_only_some_files_have_stand_in_the_order_of_the_whole(trials, people, tmp_path):
    mine = [one.partition("/")[0] for one in trials["enrol"]]
    nation = dict(zip(people["id"], people["nation"], strict=True))
    north = [i for i, one in enumerate(mine) if nation[one] != "India"]
    rest = [i for i, one in enumerate(mine) if nation[one] == "India"]
    parts = [rows_of(trials, which) for which in (north, rest)]
    files = counted(parts, tmp_path, speakers=people, by="nation", withhold=0)
    full_audit = measured({"S": trials}, speakers=people, by="nation")
    assert differing(full_audit, measured(files), without=SPEAKERS) == []


@pytest.mark.slow
def test_thresholds_can_be_found_on_counts_of_development_trials(trials, simulate, tmp_path):
    other, people = simulate(seed=2)
    (dev,) = counted([other], tmp_path, speakers=people, by="gender")
    options = {"speakers": people, "by": "gender", "operating_points": ["eer"]}
    one = pv.audit({"S": trials}, threshold_from=other, **options)
    two = pv.audit({"S": trials}, threshold_from=dev, **options)
    assert differing(one, two) == []


# damaged files


def is_a_sentence(path):
    """Nothing but what Parivox raises on purpose may come of it."""
    with contextlib.suppress(ParivoxError):
        pv.audit(path)


@pytest.fixture(scope="module")
def small(tmp_path_factory, simulate):
    trials, people = simulate(speakers=12, utterances=3, nontarget=60)
    trials["channel"] = ["ab"[i % 2] for i in range(len(trials["score"]))]
    path = tmp_path_factory.mktemp("counts") / "small.counts"
    counts = pv.count(trials, speakers=people, by=["gender"], within="channel", withhold=0)
    counts.save(path)
    return path, counts


@pytest.mark.slow
def test_counts_survive_as_they_were(small):
    path, made = small
    assert pv.audit(path).record["inputs"][0]["trials"] == made.n_trials


@pytest.mark.slow
@given(st.data())
@settings(max_examples=60, deadline=None)
def test_a_file_that_was_cut_is_a_sentence(small, tmp_path_factory, data):
    # other bytes in a page may make the table engine ask for more memory than there is, and end
    held = small[0].read_bytes()
    path = tmp_path_factory.mktemp("damaged") / "d.counts"
    path.write_bytes(held[: data.draw(st.integers(5, len(held) - 1))])
    is_a_sentence(path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 70) | st.floats(-9, 9) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)


def places(value, path=()):
    """Every place in some JSON."""
    yield path
    pairs = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, one in pairs:
        yield from places(one, (*path, key))


@pytest.mark.slow
@given(st.data())
@settings(max_examples=100, deadline=None)
def test_metadata_that_are_not_what_they_should_be_are_a_sentence(small, tmp_path_factory, data):
    path, made = small
    header = json.loads(json.dumps(made.header()))
    *above, last = data.draw(st.sampled_from([one for one in places(header) if one]))
    at = header
    for key in above:
        at = at[key]
    at[last] = data.draw(JSON)
    odd = tmp_path_factory.mktemp("odd") / "o.counts"
    _, _, columns = read_columns(path, SCORE_COUNTS)
    odd.write_bytes(file_bytes(SCORE_COUNTS, columns, header))
    is_a_sentence(odd)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("layout", 9), ("stratum", 7), ("trial_class", 3),
        ("enrol_group", 2), ("test_group", -2), ("failed", 3),
        ("trials", 0), ("trials", -5), ("trials", 1 << 60), ("accepted", 2),
        ("score", float("nan")), ("timed", 1), ("threshold", 0.5), ("trials", 7),
    ],
)  # fmt: skip
def test_rows_that_no_counts_have_are_refused(small, tmp_path, column, value):
    path, made = small
    _, _, columns = read_columns(path, SCORE_COUNTS)
    cells = columns[column].copy()
    cells[3] = value
    odd = tmp_path / "o.counts"
    odd.write_bytes(file_bytes(SCORE_COUNTS, {**columns, column: cells}, made.header()))
    with pytest.raises(pv.DataError, match="does not contain complete score counts"):
        pv.audit(odd)


@pytest.mark.slow
def test_a_parquet_file_without_that_key_is_a_score_file(trials, people, tmp_path, optional):
    path = tmp_path / "s.parquet"
    optional("polars").DataFrame(trials).write_parquet(path)
    assert len(pv.audit(path, speakers=people, by="gender").groups)


def test_only_a_new_file_or_one_of_counts_is_written_to(small, tmp_path):
    _, made = small
    made.save(tmp_path / "new.counts")
    made.save(tmp_path / "new.counts")
    (tmp_path / "mine.csv").write_text("a,b\n")
    for name, told in (
        ("mine.csv", "does not contain score counts"),
        ("", "is a folder"),
        ("no/x", "written"),
    ):
        with pytest.raises(pv.ConfigError, match=told):
            made.save(tmp_path / name)
    assert (tmp_path / "mine.csv").read_text() == "a,b\n"
    assert {path.name for path in tmp_path.iterdir()} == {"new.counts", "mine.csv"}


@pytest.mark.parametrize("change", [lambda rows: rows.head(20), lambda rows: pl.concat([rows] * 2)])
def test_rows_that_were_taken_out_or_doubled_are_noticed(tmp_path, change):
    people = {"id": ["a", "b"], "sex": ["f", "m"]}
    pairs = [(f"{x}/{i}", f"{y}/{i + 1}") for x in "ab" for y in "ab" for i in range(20)]
    trials = {
        "enrol": [e for e, _ in pairs],
        "test": [t for _, t in pairs],
        "score": [i / 100 + (e[0] == t[0]) for i, (e, t) in enumerate(pairs)],
    }
    path = tmp_path / "a.counts"
    pv.count(trials, speakers=people, by="sex", withhold=0).save(path)
    _, header, columns = read_columns(path, SCORE_COUNTS)
    rows = change(pl.DataFrame(dict(columns)))
    columns = {name: rows[name].to_numpy() for name in rows.columns}
    path.write_bytes(file_bytes(SCORE_COUNTS, columns, header))
    with pytest.raises(DataError, match=r"its rows are of \d+ trials, not of 80"):
        pv.audit(path)
