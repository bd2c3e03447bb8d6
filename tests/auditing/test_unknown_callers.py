"""Nontarget trials without a test speaker: a rate with counts, and nothing of uncertainty."""

import numpy as np
import polars as pl
import pytest

import parivox as pv
from parivox.core.intervals import UNKNOWN_SPEAKERS
from parivox.data import trial_shards
from parivox.data.trial_checks import WITHOUT_TEST_SPEAKER
from parivox.errors import DataError
from parivox.report.catalogue import finding_text
from parivox.report.overview import overview

BANDS = ("18-30", "31-50", "51-70")
THRESHOLD = 1.0
UNCERTAIN = {
    "groups": ("low", "high", "se", "deff", "n_eff", "df", "best_guess"),
    "bias": ("low", "high", "p", "p_holm", "p_bh", "floor_mean", "floor_95"),
    "meta": ("low", "high", "p", "floor_mean", "floor_95"),
    "verdicts": ("low", "high", "p", "p_holm", "p_bh", "power"),
    "limits": ("low", "high"),
}


def calls(seed, *, n=1500, customers=60, known_shares=(0.0, 0.0, 0.0)):
    """Calls with who is claimed and who calls; of impostors a share of each band is known."""
    draw = np.random.default_rng(seed)
    claimed = draw.integers(0, customers, n)
    genuine = draw.random(n) > 0.3
    impostor = (claimed + draw.integers(1, customers, n)) % customers
    score = draw.normal(2.0 * genuine + np.where(claimed % 3 == 0, 0.3, 0.0), 1).round(3)
    caller = np.where(genuine, claimed, impostor)
    is_known = genuine | (draw.random(n) < np.array(known_shares)[claimed % 3])
    names = np.array([f"c{i:03}" for i in range(customers)])
    return pl.DataFrame(
        {
            "call_id": [f"r{i}" for i in range(n)],
            "claimed_customer": names[claimed],
            "caller": pl.Series(names[caller]).set(~pl.Series(is_known), None),
            "label": genuine.astype(int),
            "score": score,
            "decision": np.where(score >= THRESHOLD, "accept", "reject"),
            "band": np.array(BANDS)[claimed % 3],
        }
    )


def people(customers=60):
    return {
        "speaker": [f"c{i:03}" for i in range(customers)],
        "band": [BANDS[i % 3] for i in range(customers)],
    }


def in_columns(log, shape):
    """The log in one of the shapes that it may come in."""
    if shape == "one column":
        return log.rename({"claimed_customer": "customer"}).drop("caller")
    if shape == "no column of callers":
        return log.drop("caller")
    if shape == "pairs":
        return (
            log.with_columns(
                enrol=pl.lit("e/") + pl.col("claimed_customer"),
                test=pl.lit("t/") + pl.col("call_id"),
            )
            .rename({"claimed_customer": "enrol_speaker", "caller": "test_speaker"})
            .drop("call_id")
        )
    return log


SHAPES = ("one column", "no column of callers", "two columns", "pairs")
OPTIONS = {
    "speakers": people(),
    "by": "band",
    "reference": ["others", "pooled", "macro", "best", "31-50"],
    "limits": ["fpr=0.1", "fpr=1.5x", "fnr=0.4"],
    "attempts": 3,
}


def by_hand(log):
    """Errors and trials of both rates, by band and of all."""
    counts = {}
    for band in (*BANDS, "pooled"):
        rows = log if band == "pooled" else log.filter(band=band)
        for metric, label in (("fpr", 0), ("fnr", 1)):
            class_rows = rows.filter(label=label)
            is_in = class_rows["score"] >= THRESHOLD
            counts[band, metric] = int((is_in if label == 0 else ~is_in).sum()), len(class_rows)
    return counts


def rates(audit, point):
    rows = audit.groups.subset(grouping="band", operating_point=point, definition="").rows()
    return {
        (row["group"], row["metric"]): (row["errors"], row["trials"])
        for row in rows
        if row["metric"] in {"fpr", "fnr"}
    }


@pytest.fixture(scope="module")
def unknown():
    return pv.audit(calls(1).drop("decision"), operating_points=f"threshold={THRESHOLD}", **OPTIONS)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("without", ["decision", "score"])
def test_every_shape_of_log_gives_the_rates_counted_by_hand(shape, without):
    log = calls(2)
    columns = {"columns": {"label": "label"}}
    point = f"threshold={THRESHOLD}" if without == "decision" else "deployed"
    table = in_columns(log, shape).drop(without, "band")
    audit = pv.audit(table, operating_points=point, intervals=False, **OPTIONS | columns | {
        "limits": (), "attempts": None, "reference": ["pooled"]})  # fmt: skip
    assert rates(audit, point) == by_hand(log)
    assert audit.record["options"]["allocate"] == ("enrol",)
    counts = {row["item"]: row["count"] for row in audit.data.rows() if not row["grouping"]}
    assert counts[WITHOUT_TEST_SPEAKER] == log.filter(label=0).height
    (n_speakers,) = {row["speakers"] for row in audit.groups.subset(grouping="all").rows()}
    assert n_speakers == log["claimed_customer"].n_unique()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_no_row_is_counted_twice_or_lost(seed):
    draw = np.random.default_rng(seed)
    log = calls(seed, n=400, customers=24, known_shares=draw.random(3))
    log = pl.concat([log, log.sample(int(draw.integers(0, 30)), seed=seed)])  # exact duplicates
    is_lost = pl.Series(draw.random(len(log)) < 0.1)
    log = log.with_columns(score=pl.when(~is_lost).then("score"))
    shape = SHAPES[seed % len(SHAPES)]
    table = in_columns(log, shape).drop("decision", "band")
    audit = pv.audit(
        table, speakers=people(24), by="band", conflicts="exclude", intervals=False,
        operating_points="threshold=1",
    )  # fmt: skip
    counts = {row["item"]: row["count"] for row in audit.data.rows() if not row["grouping"]}
    excluded = sum(
        counts.get(item, 0)
        for item in (
            "trials_without_score",
            "rows_without_score_repeated",
            "exact_duplicates",
            "contradicting_rows",
        )
    )
    assert (
        counts["target_trials"] + counts["nontarget_trials"] + excluded
        == counts["rows"]
        == len(log)
    )


def test_nothing_is_told_of_how_sure_such_rates_are(unknown):
    for name, columns in UNCERTAIN.items():
        rows = [row for row in getattr(unknown, name).rows() if row["metric"] != "fpr+fnr"]
        of_nontarget = [row for row in rows if row["metric"] in {"fpr", "eer", "min_cdet_norm"}]
        assert of_nontarget
        for row in of_nontarget:
            assert [row[column] for column in columns if row[column] is not None] == [], row
    # as FNR has all of it
    (fnr,) = unknown.groups.subset(
        grouping="band", group="18-30", metric="fnr", definition=""
    ).rows()
    assert fnr["low"] < fnr["value"] < fnr["high"]


def test_why_is_said_in_words_and_by_a_code(unknown):
    for row in unknown.groups.subset(metric="fpr", definition="").rows():
        assert row["note"].startswith("no_interval")
        assert UNKNOWN_SPEAKERS in row["values"]
    for row in unknown.verdicts.subset(metric="fpr").rows():
        assert row["verdict"] == "inconclusive"
        if row["group"]:
            assert row["reason"] == UNKNOWN_SPEAKERS
        assert (
            "nontarget trials of this group or of its reference have no test speaker"
            in finding_text(row)
        )
    for row in unknown.limits.subset(metric="fpr").rows():
        assert row["verdict"] in {"", "inconclusive"}
        assert UNKNOWN_SPEAKERS in row["reason"] + row["values"]
    for row in unknown.bias.subset(metric="fpr", zero="none").rows():
        if row["value"] is not None and row["group"] != row["reference"]:
            assert UNKNOWN_SPEAKERS in row["values"], row
    for row in unknown.meta.subset(metric="fpr", gated=False).rows():
        assert UNKNOWN_SPEAKERS in row["values"] + row["reason"], row


@pytest.mark.slow
def test_only_a_group_whose_callers_are_all_known_has_an_interval():
    log = calls(3, n=4000, known_shares=(1.0, 0.5, 0.0)).drop("decision")
    audit = pv.audit(log.drop("band"), operating_points=f"threshold={THRESHOLD}", **OPTIONS)
    assert rates(audit, f"threshold={THRESHOLD}") == by_hand(log)
    row_filter = {"grouping": "band", "metric": "fpr", "definition": ""}
    ends = {row["group"]: row["high"] for row in audit.groups.subset(**row_filter).rows()}
    assert ends.pop("18-30") is not None
    assert set(ends.values()) == {None}
    for row in audit.bias.subset(metric="fpr").rows():  # all others have some who are unknown
        assert row["high"] is row["p"] is row["floor_95"] is None
    assert {row["verdict"] for row in audit.verdicts.subset(metric="fpr").rows()} == {
        "inconclusive"
    }


@pytest.mark.slow
def test_with_every_caller_known_nothing_differs():
    log = calls(4, known_shares=(1.0, 1.0, 1.0)).drop("decision", "band")
    audit = pv.audit(log, allocate="enrol", operating_points="eer", **OPTIONS)
    for row in audit.groups.subset(metric="fpr", definition="").rows():
        assert row["high"] is not None
    assert pv.audit(log, **OPTIONS).record["options"]["allocate"] == ("both",)
    assert not [row for row in audit.data.rows() if row["item"] == WITHOUT_TEST_SPEAKER]


@pytest.mark.slow
def test_intervals_of_fnr_take_a_threshold_that_was_found_as_it_is():
    log = calls(5).drop("decision", "band")
    with_found = pv.audit(log, operating_points="fpr=0.1", **OPTIONS)
    (point,) = with_found.operating_points.rows()
    with_given = pv.audit(log, operating_points=f"threshold={point['threshold']!r}", **OPTIONS)
    found_row, given_row = (
        audit.groups.subset(group="pooled", metric="fnr", definition="").rows()[0]
        for audit in (with_found, with_given)
    )
    assert (found_row["low"], found_row["high"]) == (given_row["low"], given_row["high"])
    assert "threshold_stays" in found_row["note"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "counted"), [("both", 0), ("test", 0), ("either", 1), ("enrol", 1)]
)
def test_an_allocation_that_is_asked_for_is_kept_and_said(rule, counted):
    log = calls(6).drop("decision", "band")
    audit = pv.audit(log, allocate=rule, operating_points=f"threshold={THRESHOLD}", **OPTIONS)
    assert audit.record["options"]["allocate"] == (rule,)
    trials = sum(n for (group, metric), (_, n) in rates(audit, f"threshold={THRESHOLD}").items()
                 if metric == "fpr" and group != "pooled")  # fmt: skip
    assert trials == counted * log.filter(label=0).height
    (caveat,) = [
        candidate for candidate in overview(audit).caveats if "test speaker" in candidate.short
    ]
    assert rule in caveat.sentence


@pytest.mark.slow
def test_levels_are_those_of_the_enrolled_speaker():
    log = calls(7).drop("decision", "band")
    audit = pv.audit(
        log, speakers=people(), by="band", within="band", operating_points="eer", intervals=False
    )
    for band in BANDS:
        row_filter = {"within": f"band={band}", "group": band, "metric": "fpr", "definition": ""}
        (row,) = audit.groups.subset(**row_filter).rows()
        assert row["trials"] == calls(7).filter(band=band, label=0).height


@pytest.mark.slow
@pytest.mark.parametrize("blocks", [False, True])
def test_lists_beyond_memory_are_read_alike(monkeypatch, blocks):
    log = calls(8, n=3000, known_shares=(1.0, 0.5, 0.0)).drop("decision", "band")
    options = {**OPTIONS, "operating_points": f"threshold={THRESHOLD}"}
    in_memory = pv.audit(log, **options)
    monkeypatch.setattr(trial_shards, "IN_MEMORY_TRIALS", 500)
    monkeypatch.setattr(trial_shards, "SHARD_TRIALS", 400)
    if blocks:
        monkeypatch.setattr("parivox.data.units.MAX_SEPARATE_SPEAKERS", 50)
        monkeypatch.setattr("parivox.data.units.N_SPEAKER_BLOCKS", 54)
    spilled = pv.audit(log, **options)
    assert rates(spilled, f"threshold={THRESHOLD}") == rates(in_memory, f"threshold={THRESHOLD}")
    for memory_row, spilled_row in zip(in_memory.groups.rows(), spilled.groups.rows(), strict=True):
        if memory_row["metric"] in {"fpr", "fnr"}:
            assert (memory_row["high"] is None) == (spilled_row["high"] is None), (
                memory_row,
                spilled_row,
            )


@pytest.mark.slow
def test_systems_are_not_compared_by_such_rates():
    log = calls(9).drop("decision", "band")
    scaled = log.with_columns(score=pl.col("score") * 0.5)
    audit = pv.audit(
        {"A": log, "B": scaled}, speakers=people(), by="band", compare=True,
        operating_points=f"threshold={THRESHOLD}",
    )  # fmt: skip
    rows = [row for row in audit.comparison.rows() if row["metric"] == "fpr"]
    assert rows
    assert {row["p"] for row in rows} == {None}
    assert {row["high"] for row in rows if not row["measure"].startswith("p_")} == {None}


def test_the_first_screen_says_what_a_caller_would_add(unknown):
    n = calls(1).filter(label=0).height

    (caveat,) = [
        candidate for candidate in overview(unknown).caveats if "test speaker" in candidate.short
    ]
    assert (
        caveat.short
        == f"{n} of {n} nontarget trials have no test speaker: no interval of their FPR"
    )
    assert "To get an interval and a verdict for FPR, name the caller" in caveat.sentence
    assert not [
        candidate
        for candidate in overview(unknown).finding_sentences
        if "no nontarget trials" in candidate
    ]


@pytest.mark.slow
def test_excluded_nontarget_trials_are_not_called_none():
    log = calls(10, known_shares=(1.0, 1.0, 1.0)).drop("decision", "band")
    twice = log.filter(label=0)
    log = pl.concat([log, twice.with_columns(score=pl.col("score") + 1)])  # contradict each other
    audit = pv.audit(
        log, speakers=people(), by="band", conflicts="exclude", operating_points="threshold=1"
    )
    (finding,) = [
        sentence
        for sentence in overview(audit).finding_sentences
        if "no nontarget trials" in sentence
    ]
    assert f"{2 * twice.height} contradictory rows excluded: FPR is" in finding


@pytest.mark.slow
def test_unscored_nontarget_trials_are_not_called_none():
    log = calls(15, known_shares=(1.0, 1.0, 1.0)).drop("decision", "band")
    log = log.with_columns(score=pl.when(pl.col("label") == 1).then("score"))
    audit = pv.audit(log, speakers=people(), by="band", operating_points="threshold=1")
    (finding,) = [
        sentence
        for sentence in overview(audit).finding_sentences
        if "no nontarget trials" in sentence
    ]
    assert f"{log.filter(label=0).height} trials without a score" in finding


def test_a_recording_that_is_named_elsewhere_is_known():
    """One call against two customers: who calls is told by the genuine trial."""
    rows = {
        "call_id": ["r1", "r1", "r2"],
        "customer": ["a", "b", "b"],
        "genuine": [1, 0, 0],
        "score": [2.0, 0.5, 0.1],
    }
    audit = pv.audit(
        rows, speakers={"speaker": ["a", "b"], "sex": ["f", "m"]}, by="sex", intervals=False,
        operating_points="threshold=1",
    )  # fmt: skip
    counts = {row["item"]: row["count"] for row in audit.data.rows() if not row["grouping"]}
    assert (counts["nontarget_trials"], counts[WITHOUT_TEST_SPEAKER]) == (2, 1)


def test_a_table_of_utterances_tells_who_calls():
    log = calls(11).drop("decision", "band")
    is_impostor = log["label"] == 0
    names = {"utterance": log.filter(is_impostor)["call_id"].to_list()}
    names["speaker"] = ["c000"] * len(names["utterance"])
    log = log.filter(pl.col("claimed_customer") != "c000")
    audit = pv.audit(
        log, speakers=people(), utterances=names, by="band", intervals=False,
        operating_points="threshold=1",
    )  # fmt: skip
    assert not [row for row in audit.data.rows() if row["item"] == WITHOUT_TEST_SPEAKER]


@pytest.mark.slow
def test_what_failed_counts_without_an_interval_where_people_are_unknown():
    log = calls(16).drop("decision", "band")
    draw = np.random.default_rng(16)
    failed = pl.Series(draw.random(len(log)) < 0.1)
    log = log.with_columns(
        score=pl.when(~failed).then("score"),
        status=pl.when(failed).then(pl.lit("no speech")).otherwise(pl.lit("ok")),
    )
    options = OPTIONS | {"limits": ["far=0.1", "fta=0.2"]}
    audit = pv.audit(log, operating_points=f"threshold={THRESHOLD}", **options)
    (fta,) = audit.groups.subset(grouping="all", metric="fta").rows()
    assert (fta["errors"], fta["trials"]) == (failed.sum(), len(log))
    for row in [fta, *audit.groups.subset(metric="far").rows()]:
        assert row["high"] is None
        assert UNKNOWN_SPEAKERS in row["values"]
    for row in audit.groups.subset(metric="frr", definition="attempts", grouping="band").rows():
        assert row["low"] < row["value"] < row["high"]


@pytest.mark.slow
def test_the_table_of_trials_invents_nobody(tmp_path):
    log = calls(17, n=300).drop("decision", "band")
    path = tmp_path / "trials.parquet"
    pv.audit(log, speakers=people(), by="band", intervals=False, trial_table=path)
    trial_table = pl.read_parquet(path)
    assert (trial_table["test_speaker"] == -1).sum() == log.filter(label=0).height
    assert set(trial_table["test_speaker"]) - {-1} <= set(trial_table["enrol_speaker"])


def test_a_gate_does_not_pass_what_is_not_known(unknown):
    condition = {"name": "few impostors", "rate": "fpr", "at-most": "90%"}
    judged = pv.gate(unknown, policy={"parivox-policy": 1, "conditions": [condition]})
    assert judged.outcome != "pass"


@pytest.mark.parametrize("command", ["thresholds", "calibrate", "count"])
def test_what_needs_every_speaker_refuses_in_a_sentence(command):
    log = calls(12).drop("decision", "band")
    n = log.filter(label=0).height
    with pytest.raises(
        DataError, match=f"contains {n} nontarget trials without a test speaker, but"
    ):
        getattr(pv, command)(log, speakers=people(), by="band")


def test_a_target_trial_needs_its_speaker():
    log = calls(13).drop("decision", "band", "claimed_customer").rename({"caller": "test_speaker"})
    log = log.with_columns(enrol=pl.lit("c001/x"), test="call_id").drop("call_id")
    unnamed = log.with_columns(test_speaker=pl.lit(None, pl.String))
    with pytest.raises(DataError, match=r"no trials are left to audit.* are of unknown speakers"):
        pv.audit(unnamed.filter(pl.col("label") == 1), speakers=people(40), by="band")


@pytest.mark.slow
def test_voxceleb_whose_test_speakers_are_hidden(bt4vt_data, h_v2):
    """FNR is as it was; FPR is as counted, by the enrolled speaker, and has no interval."""
    people_of_h = bt4vt_data / "vox1_meta.csv"
    trials = h_v2.select("enrol", "test", "label", "score").sample(40_000, seed=1)
    named = trials.with_columns(
        enrol_speaker=pl.col("enrol").str.split("/").list.first(),
        test_speaker=pl.col("test").str.split("/").list.first(),
        test=pl.format("{}#{}", "test", pl.int_range(pl.len())),  # each call is its own
    )
    hidden = named.with_columns(
        test_speaker=pl.when(pl.col("label").cast(pl.Int8) == 1).then("test_speaker")
    )
    options = {"speakers": people_of_h, "by": "gender", "operating_points": "threshold=0.3"}
    known_callers = pv.audit(named, allocate="enrol", **options)
    without = pv.audit(hidden, **options)
    for known_row, hidden_row in zip(
        known_callers.groups.rows(), without.groups.rows(), strict=True
    ):
        if known_row["metric"] in {"fpr", "fnr"} and not known_row["definition"]:
            columns = ("group", "metric", "errors", "trials", "value")
            assert [known_row[name] for name in columns] == [hidden_row[name] for name in columns]
        if known_row["metric"] == "fnr" and not known_row["definition"]:
            assert (known_row["low"], known_row["high"]) == (hidden_row["low"], hidden_row["high"])
        if known_row["metric"] == "fpr" and not known_row["definition"]:
            assert known_row["high"] is not None
            assert hidden_row["high"] is None
