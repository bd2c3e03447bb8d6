"""Recordings that failed, and the seconds that trials took, by plain loops."""

import csv
import functools
import json
import subprocess

import numpy as np
import polars as pl
import pytest
from tests.folders import OF_KEY
from tests.sentences import item_in_words

import parivox as pv
from parivox.auditing.data_table import TRIALS_BEYOND_MEMORY
from parivox.auditing.schema import WITHOUT_FACTS
from parivox.errors import DataError
from parivox.report.definitions import definitions

RULES = ("both", "enrol", "test", "either")
POINT = "threshold=1.0"
CHEAP = {"reference": "pooled", "zero": "none", "cost": "voxsrc"}
STAGES = ("enrol", "acquire")


@pytest.fixture(scope="session")
def lost(bank):
    """The table of failures: those that any row tells."""
    side = {"enrol": "enrol", "acquire": "test"}
    pairs = sorted({(row[side[row["stage"]]], row["stage"]) for row in bank.rows if row["stage"]})
    return {
        "recording": [recording for recording, _ in pairs],
        "stage": [stage for _, stage in pairs],
        "reason": [("too short", "no speech", "")[i % 3] for i in range(len(pairs))],
    }


@pytest.fixture(scope="session")
def groupings(bank):
    return {
        "gender": lambda row: tuple(bank.customer(row[s])["gender"] for s in ("enrol", "test")),
        "channel": lambda row: tuple(bank.call(row[s])["channel"] for s in ("enrol", "test")),
        "device": lambda row: (row["device"],) * 2,
    }


def by_words(row):
    """The row with one column that tells everything."""
    return {**row, "status": {"": "OK", "enrol": "FTE", "acquire": "no speech"}[row["stage"]]}


FEW_CELLS = {
    "by": ["gender", "channel", "gender+channel"],
    "within": ["device"],
    "allocate": ["enrol", "either"],
}
"""Attributes of speakers, recordings and trials: enough to see which trials are failures."""


@pytest.fixture(scope="session")
def audits(bank, lost):
    """The same failures, told in any way that there is; each is audited once."""

    @functools.cache
    def made(way, **cells):
        rows, options, columns = bank.rows, {}, ["device"]
        if way in {"stage", "both"}:
            columns += ["status", "stage"]
        if way == "words":
            rows, columns = [by_words(row) for row in rows], [*columns, "status"]
        if way in {"table", "both", "absent", "list by table"}:
            options["failures"] = lost
        if way == "list":  # the scores have rows for failures, of which the list knows the labels
            columns += ["status", "stage"]
        if way.startswith("list"):
            options["trials"] = bank.table(rows, "device")
            del options["trials"]["score"]
        if way in {"absent", "list by table"}:
            rows = bank.scored
        table = bank.table(rows, *columns)
        if way.startswith("list"):
            del table["label"]
        return pv.audit(
            table,
            speakers=bank.customers,
            utterances=bank.calls,
            operating_points=[POINT, "fpr=0.1"],
            intervals=False,
            **(cells or FEW_CELLS),
            **options,
            **CHEAP,
        )

    return made


@pytest.fixture(scope="session")
def told(audits):
    """Told by the stages alone, with cells of every kind."""
    return audits(
        "stage",
        by=("gender", "channel", "device", "enrol.channel", "gender+channel"),
        within=("channel", "device"),
        allocate=RULES,
    )


@pytest.fixture(scope="session")
def told_of_few(audits):
    """Told by the stages alone, with the cells of every other way to tell them."""
    return audits("stage")


def test_there_are_failures(bank, lost):
    assert {*lost["stage"]} == {*STAGES}
    assert len(bank.rows) - len(bank.scored) > 50
    assert {row["label"] for row in bank.rows if row["stage"]} == {0, 1}


@pytest.mark.parametrize("way", ["words", "table", "both", "list", "list by table"])
def test_every_way_to_tell_failures_says_the_same(audits, told_of_few, way):
    for name in ("groups", "bias", "meta", "matrix", "operating_points"):
        one, other = (getattr(audit, name).to_polars() for audit in (audits(way), told_of_few))
        assert one.equals(other, null_equal=True)


def test_failures_without_rows_are_known_by_shares_alone(audits, told_of_few):
    absent = audits("absent").groups.to_polars()
    by_attempts = absent["definition"] == "attempts"
    everything = absent.filter(by_attempts, grouping="all", within="")
    assert everything["value"].null_count() == everything.height == 8
    assert set(everything["reason"]) == {"no_trials_of_failed_recordings"}
    whole = told_of_few.groups.to_polars()
    rest = whole.filter(whole["definition"] != "attempts")
    assert absent.filter(~by_attempts).equals(rest, null_equal=True)


@pytest.mark.parametrize("within", ["", "app"])
@pytest.mark.parametrize("grouping", ["gender", "channel"])
def test_shares_of_failed_recordings_are_those_of_a_plain_loop(
    told, bank, groupings, grouping, within
):
    for metric, side, stage in (("fte", "enrol", "enrol"), ("fta", "test", "acquire")):
        at = 0 if side == "enrol" else 1
        tried, failed = {}, {}
        for row in bank.rows:
            group = groupings[grouping](row)[at]
            if group is None or (within and bank.call(row[side])["channel"] != within):
                continue
            for name in (group, "pooled"):
                tried.setdefault(name, set()).add(row[side])
                if row["stage"] == stage:
                    failed.setdefault(name, set()).add(row[side])
        name = f"channel={within}" if within else ""
        for rule in RULES:
            filters = {"grouping": grouping, "metric": metric, "allocation": rule, "within": name}
            rows = told.groups.subset(**filters)
            observed = {r["group"]: (r["errors"], r["trials"]) for r in rows if r["trials"]}
            assert observed == {g: (len(failed.get(g, ())), len(all_)) for g, all_ in tried.items()}
            for row in rows:
                if row["trials"]:
                    assert row["value"] == row["errors"] / row["trials"]
                else:
                    assert (row["value"], row["reason"]) == (None, "none_attempted")


def test_shares_of_all_recordings(told, bank):
    for metric, side, stage in (("fte", "enrol", "enrol"), ("fta", "test", "acquire")):
        tried = {row[side] for row in bank.rows}
        failed = {row[side] for row in bank.rows if row["stage"] == stage}
        (row,) = told.groups.subset(grouping="all", metric=metric, within="")
        assert (row["errors"], row["trials"]) == (len(failed), len(tried))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("grouping", ["gender", "channel", "device"])
def test_attempts_are_those_of_a_plain_loop(told, bank, groupings, allocated, grouping, rule):
    for group, rows in allocated(bank.rows, groupings[grouping], rule).items():
        expected = {}
        for general in (False, True):
            some = [row for row in rows if general or row["stage"] != "enrol"]
            other, own = ([row for row in some if row["label"] == label] for label in (0, 1))
            accepted = [row["score"] is not None and row["score"] >= 1.0 for row in other]
            rejected = [row["score"] is None or row["score"] < 1.0 for row in own]
            g = "g" * general
            expected[f"{g}far"] = (sum(accepted), len(other))
            expected[f"{g}frr"] = (sum(rejected), len(own))
        filters = {"grouping": grouping, "group": group, "allocation": rule, "within": ""}
        for metric, counts in expected.items():
            (row,) = told.groups.subset(
                **filters, metric=metric, definition="attempts", operating_point=POINT
            )
            assert (row["errors"], row["trials"]) == counts
            assert row["value"] == counts[0] / counts[1]
            assert (row["threshold"], row["reason"]) == (1.0, "")


@pytest.mark.parametrize("grouping", ["all", "gender", "channel"])
def test_shares_are_joined_with_the_rates_of_comparisons_as_iso_19795_does(told, grouping):
    table = told.groups.subset(grouping=grouping).to_polars()
    n = 0
    for filters in table.select("group", "allocation", "within").unique().iter_rows(named=True):
        cell = table.filter(**filters)
        rate = {
            (r["metric"], r["definition"], r["operating_point"]): r["value"]
            for r in cell.iter_rows(named=True)
        }
        for point in (POINT, "fpr=0.1"):
            fmr, fnmr = rate["fpr", "", point], rate["fnr", "", point]
            fta, fte = rate["fta", "", ""], rate["fte", "", ""]
            if None in {fmr, fnmr, fta, fte}:
                continue
            frr, far = fta + (1 - fta) * fnmr, (1 - fta) * fmr
            expected = {
                "frr": frr,
                "far": far,
                "gfrr": fte + (1 - fte) * frr,
                "gfar": (1 - fte) * far,
            }
            for metric, value in expected.items():
                assert rate[metric, "shares", point] == pytest.approx(value, abs=1e-12)
                n += 1
    assert n >= 8


@pytest.mark.parametrize("grouping", ["gender", "channel"])
def test_reasons_of_failures_are_those_of_a_plain_loop(audits, bank, lost, groupings, grouping):
    reason = dict(zip(zip(lost["recording"], lost["stage"], strict=True), lost["reason"]))  # noqa: B905
    wanted, tried = {}, {}
    for at, (side, stage) in enumerate((("enrol", "enrol"), ("test", "acquire"))):
        for row in bank.rows:
            for group in (groupings[grouping](row)[at], "pooled"):
                if groupings[grouping](row)[at] is None:
                    continue
                tried.setdefault((group, stage), set()).add(row[side])
                if row["stage"] == stage:
                    cause = reason[row[side], stage]
                    wanted.setdefault((group, stage, cause), set()).add(row[side])
    rows = audits("table").failures.subset(grouping=grouping)
    observed = {(r["group"], r["stage"], r["cause"]): (r["failed"], r["tried"]) for r in rows}
    of_all = {key: (len(wanted.get(key, ())), len(tried.get(key[:2], ()))) for key in observed}
    assert observed == of_all
    assert {*wanted} <= {*observed}
    assert {r["low"] for r in rows} == {None}  # without intervals


def test_reasons_add_up_to_all_that_failed_and_have_intervals(everything):
    rows = everything.failures.subset(grouping="all", stage="acquire")
    (whole,) = everything.groups.subset(grouping="all", metric="fta", within="")
    assert sum(row["failed"] for row in rows) == whole["errors"]
    assert {"too short", ""} <= {row["cause"] for row in rows}
    for row in rows:
        assert row["low"] < row["value"] == row["failed"] / whole["trials"] < row["high"]


def test_limits_of_failures_are_held_against_their_intervals(bank, lost, audits):
    audit = pv.audit(
        bank.table(bank.rows, "device", "status", "stage"),
        speakers=bank.customers,
        utterances=bank.calls,
        by="gender",
        operating_points="threshold=1",
        replicates=50,
        limits=["fta=1%", "frr=99%", "fte=99%"],
    )
    rows = audit.limits.subset(measure="limit", within="").rows()
    assert {(row["metric"], row["operating_point"]) for row in rows} == {
        ("fta", ""),
        ("frr", "threshold=1"),
        ("fte", ""),
    }
    for row in rows:
        rule = "attempts" if row["metric"] == "frr" else ""
        filters = {name: row[name] for name in ("group", "grouping", "metric", "operating_point")}
        (own,) = audit.groups.subset(**filters, definition=rule)
        assert [row[end] for end in ("value", "low", "high")] == [
            own[end] for end in ("value", "low", "high")
        ]
        is_met = row["high"] <= row["limit"]
        code = "met" if is_met else "not_met" if row["low"] > row["limit"] else "inconclusive"
        assert row["verdict"] == code
    assert len({row["verdict"] for row in rows}) > 1


def test_reasons_of_one_recording_alone_are_told_together(bank, lost):
    texts = [f"{one} is cut" for one in lost["recording"]]
    audit = pv.audit(
        bank.table(bank.rows, "device"),
        speakers=bank.customers,
        utterances=bank.calls,
        failures={**lost, "reason": texts},
        by="gender",
        intervals=False,
    )
    assert {row["cause"] for row in audit.failures} == {"other"}
    assert "is cut" not in audit.to_json()


def test_a_group_of_trials_has_no_share_of_recordings(told):
    rows = told.groups.subset(grouping="device", within="")
    reason = "group_of_trials"
    for metric in ("fte", "fta"):
        assert {(r["value"], r["reason"]) for r in rows.subset(metric=metric)} == {(None, reason)}
    shares = rows.subset(definition="shares")
    assert {(r["value"], r["reason"]) for r in shares} == {(None, reason)}


def test_comparisons_do_not_count_failures(told, bank, groupings, allocated, errors, shown):
    for grouping, sides in groupings.items():
        placed = allocated(bank.scored, sides, "both")
        expected = {group: errors(rows, 1.0) for group, rows in placed.items()}
        assert shown(told, POINT, grouping=grouping, allocation="both", within="") == expected
    (row,) = told.data.subset(item="trials_of_failed_recordings")
    assert row["count"] == len(bank.rows) - len(bank.scored)


def test_a_group_without_failures_has_the_rates_of_its_comparisons(told):
    table = told.groups.to_polars().filter(allocation="both")
    clean = table.filter(metric="fta", errors=0).join(
        table.filter(metric="fte", errors=0),
        on=["grouping", "group", "within"],
        how="semi",
    )
    assert clean.height
    for filters in clean.select("grouping", "group", "allocation", "within").iter_rows(named=True):
        rows = told.groups.subset(**filters, operating_point=POINT)
        for rate, also in (("fnr", ("frr", "gfrr")), ("fpr", ("far", "gfar"))):
            (base,) = rows.subset(metric=rate)
            for metric in also:
                for row in rows.subset(metric=metric):
                    assert row["value"] == pytest.approx(base["value"]), row


@pytest.mark.slow
def test_a_pooled_row_counts_failures_of_its_groups_only():
    trials = {
        "enrol": ["a/1", "a/1", "b/1", "c/1"],
        "test": ["a/2", "b/1", "b/2", "c/2"],
        "score": [1.0, 0.0, 1.0, None],
        "status": ["ok", "ok", "ok", "no speech"],
    }
    people = {"id": ["a", "b", "c"], "g": ["x", "x", "unknown"]}
    audit = pv.audit(trials, speakers=people, by="g", operating_points="threshold=0.5")
    for group, fta in (("all", (1, 4)), ("pooled", (0, 3)), ("x", (0, 3))):
        (row,) = audit.groups.subset(group=group, metric="fta")
        assert (row["errors"], row["trials"]) == fta
    for group, frr in (("all", (1, 3)), ("pooled", (0, 2)), ("x", (0, 2))):
        (row,) = audit.groups.subset(group=group, metric="frr", definition="attempts")
        assert (row["errors"], row["trials"]) == frr


def test_where_every_trial_failed_rejection_is_certain(bank):
    rows = [{**row, "score": None, "status": "failed"} for row in bank.scored]
    audit = pv.audit(
        bank.table(rows, "status"), speakers=bank.customers, utterances=bank.calls, by="gender",
        operating_points=POINT,
    )  # fmt: skip
    for row in audit.groups.subset(metric="fta"):
        assert row["value"] == 1.0
    for row in audit.groups.subset(metric="frr", definition="attempts"):
        assert row["value"] == 1.0
    for row in audit.groups.subset(metric="fnr"):
        assert (row["value"], row["reason"]) == (None, "no_target_trials")


def test_of_some_trials_no_decision_is_known_and_others_failed(bank):
    rows = [
        {**row, "decision": None} if row["decision"] and i % 9 == 0 else row
        for i, row in enumerate(bank.rows)
    ]
    known = [row for row in rows if row["decision"] is not None]
    assert len(known) < len([row for row in bank.rows if row["decision"] is not None])
    audit = pv.audit(
        bank.table(rows, "decision", "status"), speakers=bank.customers, utterances=bank.calls,
        by="gender", operating_points=["fpr=0.05", "deployed"],
    )  # fmt: skip
    (row,) = audit.groups.subset(group="all", metric="fnr", operating_point="deployed")
    own = [row for row in known if row["label"] == 1 and not row["stage"]]
    assert (row["errors"], row["trials"]) == (
        sum(row["decision"] == "reject" for row in own),
        len(own),
    )


@pytest.mark.parametrize("by_table", [False, True])
def test_a_failure_with_a_score_is_refused(bank, lost, by_table):
    at = next(i for i, row in enumerate(bank.rows) if row["stage"])
    rows = [{**row, "score": 0.25} if i == at else row for i, row in enumerate(bank.rows)]
    columns = () if by_table else ("status",)
    options = {"speakers": bank.customers, "utterances": bank.calls, "by": "gender"}
    options |= {"failures": lost} if by_table else {}
    pair = rf"\({rows[at]['enrol']}, {rows[at]['test']}\) failed"
    with pytest.raises(DataError, match=rf"row {at + 1}: {pair}.* has the score '?0.25"):
        pv.audit(bank.table(rows, *columns), **options)
    aside = pv.audit(bank.table(rows, *columns), **options, conflicts="exclude")
    for item, n in (
        ("scores_of_failed_trials", 1),
        ("contradicting_rows", 1),
        ("trials", len(bank.scored)),
        ("trials_of_failed_recordings", len(bank.rows) - len(bank.scored) - 1),
    ):
        (row,) = aside.data.subset(item=item, source="scores")
        assert row["count"] == n
    for row in aside.groups.subset(metric="fta").rows():  # by speaker as by cell
        assert row["high"] is None or row["low"] <= row["value"] <= row["high"]


def test_a_failed_trial_may_be_told_twice(bank, told):
    again = [row for row in bank.rows if row["stage"]]
    observed = pv.audit(
        bank.table([*bank.rows, *again], "status", "stage"),
        speakers=bank.customers,
        utterances=bank.calls,
        by="gender",
        operating_points=POINT,
        intervals=False,
    )
    (row,) = observed.data.subset(item="exact_duplicates")
    assert row["count"] == len(again)
    for metric in ("fta", "frr"):
        one, two = (
            [
                (row["errors"], row["trials"])
                for row in audit.groups.subset(
                    grouping="gender", metric=metric, allocation="both", within=""
                )
                if row["operating_point"] in {"", POINT}
            ]
            for audit in (observed, told)
        )
        assert one == two


@pytest.mark.parametrize(
    ("cells", "match"),
    [
        (
            {"status": "failed", "stage": "upload"},
            "column 'stage': 'upload' is not a stage; use enrol",
        ),
        ({"seconds": "fast"}, "column 'seconds': 'fast' is not a number from 0 to 86,400"),
        ({"seconds": "-0.5"}, "column 'seconds': '-0.5' is not a number from 0 to 86,400"),
        ({"seconds": "inf"}, "column 'seconds': 'inf' is not a number from 0 to 86,400"),
    ],
)
def test_bad_cells(bank, cells, match):
    rows = [{**row, "seconds": str(row["seconds"] or "")} for row in bank.scored[:40]]
    rows[7] |= cells | ({"score": None} if "stage" in cells else {})
    table = bank.table(rows, "status", "stage", "seconds")
    with pytest.raises(DataError, match=f"row 8, {match}"):
        pv.audit(table, speakers=bank.customers, utterances=bank.calls, by="gender")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "stage"),
    [
        *(("failed", "acquire"), ("FTE", "enrol"), ("fta", "acquire"), ("too short", "acquire")),
        *(("enrolment failed", "enrol"), ("Failure-to-enrol", "enrol"), ("error 17", "acquire")),
    ],
)
def test_words_for_failures(status, stage):
    trials = {
        "enrol": ["a/1", "a/3", "b/1", "a/1"],
        "test": ["a/2", "a/4", "b/2", "b/2"],
        "score": [1.0, None, 1.0, 0.0],
        "status": ["ok", status, " Success ", None],
    }
    audit = pv.audit(
        trials, speakers={"id": ["a", "b"], "g": ["x", "y"]}, by="g",
        operating_points="threshold=0.5", intervals=False,
    )  # fmt: skip
    shares = {row["metric"]: row["errors"] for row in audit.groups.subset(grouping="all")}
    assert (shares["fte"], shares["fta"]) == (int(stage == "enrol"), int(stage == "acquire"))


def test_nothing_is_said_of_failures_where_nothing_is_told_of_them(bank):
    audit = pv.audit(
        bank.table(bank.scored), speakers=bank.customers, utterances=bank.calls, by="gender",
        intervals=False,
    )  # fmt: skip
    metrics = {row["metric"] for row in audit.groups}
    assert not metrics & {"fte", "fta", "frr", "far", "gfrr", "gfar", "seconds"}


def test_a_status_that_only_the_list_of_trials_has_tells_no_failure(bank):
    listed = bank.table(bank.scored, "status")
    del listed["score"]
    audit = pv.audit(
        bank.table(bank.scored), trials=listed, speakers=bank.customers, utterances=bank.calls,
        by="gender", intervals=False,
    )  # fmt: skip
    assert "fta" not in {row["metric"] for row in audit.groups}


MODELS = {
    "model": ["m1", "m1", "m2", "m2", "m3", "m4", "m5", "m5"],
    "speaker": ["a", "a", "b", "b", "c", "c", "c", "c"],
    "recording": ["a/1", "a/2", "b/1", "b/2", "c/1", "c/2", "c/8", "c/9"],
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("listed", "failed"),
    [
        (["m1"], {"m1"}),
        (["a/1"], set()),
        (["a/1", "a/2"], {"m1"}),
        (["c/2"], {"m4"}),
        (["c/8", "c/9"], {"m5"}),
        (["c/8"], set()),
        (["m5"], {"m5"}),
        (["m1", "b/1", "b/2"], {"m1", "m2"}),
    ],
)
def test_a_model_fails_if_it_is_listed_or_all_of_its_recordings_are(listed, failed):
    rows = [(m, f"{s}/t{i}") for m in ("m1", "m2", "m3", "m4") for s in "abc" for i in range(2)]
    owner = dict(zip(MODELS["model"], MODELS["speaker"], strict=True))
    trials = {
        "enrol": [m for m, _ in rows],
        "test": [t for _, t in rows],
        "score": [None if m in failed else float(owner[m] == t[0]) for m, t in rows],
    }
    audit = pv.audit(
        trials,
        speakers={"id": list("abc"), "g": ["x", "y", "y"]},
        models=MODELS,
        failures={"recording": listed, "stage": ["enrol"] * len(listed)},
        by="g",
        operating_points="threshold=0.5",
        intervals=False,
    )
    tried = {"m1", "m2", "m3", "m4", *failed}
    for group, inside in (("all", "abc"), ("x", "a"), ("y", "bc")):
        (row,) = audit.groups.subset(group=group, metric="fte")
        expected = [sum(owner[m] in inside for m in some) for some in (failed, tried)]
        assert [row["errors"], row["trials"]] == expected
    present = failed - {"m5"}
    (row,) = audit.groups.subset(group="all", metric="gfrr", definition="attempts")
    target = sum(owner[m] == t[0] for m, t in rows)
    if present or not failed:
        errors = sum(owner[m] == t[0] for m, t in rows if m in failed)
        assert (row["errors"], row["trials"]) == (errors, target)
    else:
        assert (row["value"], row["trials"]) == (None, target)


@pytest.fixture(scope="module")
def timed(bank):
    """The audit of trials with their seconds."""
    return pv.audit(
        bank.table(bank.scored, "seconds"),
        speakers=bank.customers,
        utterances=bank.calls,
        by=["gender", "channel"],
        allocate=RULES,
        operating_points=POINT,
    )


@pytest.mark.parametrize("rule", RULES)
def test_seconds_are_those_of_a_plain_loop(timed, bank, groupings, allocated, rule):
    for grouping in ("gender", "channel"):
        for group, rows in allocated(bank.scored, groupings[grouping], rule).items():
            took = [row["seconds"] for row in rows if row["seconds"] is not None]
            assert len(took) < len(rows)
            filters = {"grouping": grouping, "group": group, "allocation": rule}
            reported = {
                r["definition"]: r for r in timed.groups.subset(**filters, metric="seconds")
            }
            assert {row["trials"] for row in reported.values()} == {len(took)}
            assert reported["mean"]["value"] == pytest.approx(np.mean(took), rel=1e-6)
            for name, share in (("q50", 0.5), ("q95", 0.95)):
                exact = np.quantile(took, share, method="inverted_cdf")
                assert exact <= reported[name]["value"] * (1 + 1e-12) <= exact * 1.005 + 1e-9
    assert not any(row["metric"] == "seconds" for row in timed.bias)


def test_seconds_that_no_trial_tells(bank):
    rows = [{**row, "seconds": None} for row in bank.scored[:100]]
    audit = pv.audit(
        bank.table(rows, "seconds"), speakers=bank.customers, utterances=bank.calls, by="gender"
    )
    for row in audit.groups.subset(metric="seconds"):
        assert (row["value"], row["reason"]) == (None, "no_seconds")


@pytest.fixture(scope="session")
def combined(bank, lost, tmp_path_factory):
    """Everything at once, as files."""
    home = tmp_path_factory.mktemp("combined")

    def write(name, table, kind):
        path = home / f"{name}.{kind}"
        if kind == "parquet":
            pl.DataFrame(table).write_parquet(path)
        else:
            with path.open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows([list(table), *zip(*table.values(), strict=True)])
        return path

    models = {
        "model": [f"m{call[4:]}" for call in bank.calls["call"]],
        "speaker": bank.calls["customer"],
        "recording": bank.calls["call"],
    }
    of = dict(zip(models["recording"], models["model"], strict=True))
    rows = [{**row, "enrol": of[row["enrol"]]} for row in bank.rows]
    columns = ("device", "days apart", "threshold", "decision", "status", "stage", "seconds")
    tables = {
        "scores": bank.table(rows, *columns),
        "speakers": bank.customers,
        "utterances": bank.calls,
        "models": models,
        "failures": lost,
    }
    return lambda kind: {name: write(name, table, kind) for name, table in tables.items()}


OPTIONS = {
    "by": ["gender", "channel", "days apart:1,30", "gender+same:language"],
    "within": ["device", "channel"],
}


@pytest.fixture(scope="session")
def everything(combined):
    """The audit of all of it."""
    paths = combined("csv")
    return pv.audit(paths.pop("scores"), **paths, **OPTIONS)


def run(program, paths, out):
    words = [paths["scores"]]
    for name in ("speakers", "utterances", "models", "failures"):
        words += [f"--{name}", paths[name]]
    for name, values in OPTIONS.items():
        for value in values:
            words += [f"--{name}", value]
    words += ["--replicates", "50"]  # as the fixtures of all tests
    return subprocess.run(
        [program, "audit", *map(str, words), "--out", str(out), "--quiet"],
        check=False, capture_output=True, text=True, timeout=120,
    )  # fmt: skip


def test_the_command_line_gives_of_parquet_what_python_gives_of_csv(
    everything, combined, program, tmp_path
):
    done = run(program, combined("parquet"), tmp_path / "out-parquet")
    assert done.returncode == 0, done.stderr
    everything.save(tmp_path / "out-csv")
    names = [path.name for path in (tmp_path / "out-csv").iterdir()]
    assert {"groups.csv", "data.csv", "audit.json"} <= {*names}
    for name in names:
        if name in OF_KEY:
            continue
        one, two = ((tmp_path / f"out-{kind}" / name).read_bytes() for kind in ("csv", "parquet"))
        assert one == two, name
    assert everything.to_json() == (tmp_path / "out-csv" / "audit.json").read_text()
    assert json.loads(everything.to_json())["tables"]["groups"]["within"][0] == ""


def test_models_of_one_recording_are_those_recordings(bank, combined, lost):
    """Which has no other numbers than the calls themselves."""
    paths = combined("csv")
    scores = paths.pop("scores")
    mapped = pv.audit(scores, **paths, **OPTIONS, intervals=False)
    columns = ("device", "days apart", "threshold", "decision", "status", "stage", "seconds")
    plain = pv.audit(
        {"scores": bank.table(bank.rows, *columns)},
        speakers=bank.customers, utterances=bank.calls, failures=lost, **OPTIONS, intervals=False,
    )  # fmt: skip
    for name in ("groups", "bias", "meta", "matrix", "operating_points"):
        one, two = (getattr(audit, name).to_polars() for audit in (mapped, plain))
        assert one.equals(two, null_equal=True), name


def test_beyond_memory_failures_and_seconds_count_the_same(combined, beyond_memory):
    paths = combined("csv")
    options = {**OPTIONS, "operating_points": ["deployed", "threshold=1"]}
    options["allocate"] = ["enrol", "either"]
    options["intervals"] = False  # which take the speakers of every trial in memory
    scores = paths.pop("scores")
    full_audit = pv.audit(scores, **paths, **options)
    beyond_memory()
    parts = pv.audit(scores, **paths, **options)
    assert not parts.record["resolution"]["exact"]
    exact = ["fpr", "fnr", "hter", "cdet_raw", "cdet_norm", "fte", "fta", "frr", "far"]
    exact += ["gfrr", "gfar", "seconds"]
    for name in ("groups", "matrix", "operating_points", "data"):
        one, two = (getattr(audit, name).to_polars() for audit in (parts, full_audit))
        if name == "groups":
            one, two = (table.filter(pl.col("metric").is_in(exact)) for table in (one, two))
        if name == "data":
            one = one.filter(pl.col("item") != TRIALS_BEYOND_MEMORY)
        assert one.height
        assert one.equals(two, null_equal=True), name
    assert parts.record["inputs"] == full_audit.record["inputs"]


def test_beyond_memory_failures_have_the_intervals_of_those_in_memory(combined, beyond_memory):
    paths = combined("csv")
    options = {"by": ["gender", "channel"], "within": "device", "operating_points": ["deployed"]}
    options |= CHEAP
    scores = paths.pop("scores")
    full_audit = pv.audit(scores, **paths, **options)
    beyond_memory()
    parts = pv.audit(scores, **paths, **options)
    assert not parts.record["resolution"]["exact"]
    of = ["fpr", "fnr", "fte", "fta", "frr", "far", "gfrr", "gfar"]
    one, two = (
        audit.groups.to_polars().filter(pl.col("metric").is_in(of)) for audit in (parts, full_audit)
    )
    assert one["low"].is_not_null().sum() > 20
    assert one.equals(two, null_equal=True)
    one, two = (audit.failures.to_polars() for audit in (parts, full_audit))
    assert one.height
    assert one.equals(two, null_equal=True)


def test_the_order_of_rows_changes_nothing(bank, lost):
    mixed = [bank.rows[i] for i in np.random.default_rng(3).permutation(len(bank.rows))]
    columns = ("threshold", "status", "stage", "seconds")
    one, two = (
        pv.audit(
            bank.table(rows, *columns), speakers=bank.customers, utterances=bank.calls,
            failures=lost, by="gender", within="channel",
        ).to_json()
        for rows in (bank.rows, mixed)
    )  # fmt: skip
    assert one == two


def test_tables_of_everything_keep_their_promises(everything, follows_schema, tmp_path):
    observed = everything
    counted = {
        *("value", "errors", "trials", "target_trials", "nontarget_trials", "speakers"),
        *("threshold", "low_group", "high_group", "groups", "higher_is_fairer", "reason"),
        *("fpr", "fnr", "cdet_norm", "count", "note"),
        *("low", "high", "interval", "deff", "n_eff", "df", "se"),
        *("p", "p_holm", "p_bh", "floor_mean", "floor_95"),
    }
    counted |= {"best_guess", "best_guess_low", "best_guess_high", "left_out", "values"}
    for name in ("groups", "bias", "meta", "matrix", "operating_points", "data"):
        table = getattr(observed, name).to_polars()
        # what was counted is a code with its values
        free = counted - {"values"} if name == "data" else counted
        key = [column for column in table.columns if column not in free]
        assert table.columns[-1] == ("within" if name in WITHOUT_FACTS else "values")
        assert not table.select(key).is_duplicated().any(), name
        if name in {"groups", "bias", "meta", "matrix"}:
            assert not table.filter(pl.col("value").is_null(), reason="").height, name
    metrics = {row["metric"] for row in observed.groups}
    assert {"fte", "fta", "frr", "far", "gfrr", "gfar", "seconds"} < metrics
    assert metrics - set(definitions(observed)["base_metrics"]) == set()
    follows_schema(json.loads(observed.to_json()))
    observed.save(tmp_path / "out")
    assert pv.load(tmp_path / "out").to_json() == observed.to_json()


@pytest.mark.slow
def test_failures_of_one_side_are_told_by_the_group_of_that_side():
    calls = {
        "utterance": ["a/1", "a/2", "a/3", "b/1", "b/2"],
        "channel": ["phone", "app", "web", "phone", "app"],
    }
    trials = {
        "enrol": ["a/1", "a/1", "b/1"],
        "test": ["a/2", "a/3", "b/2"],
        "score": [0.9, None, 0.8],
    }
    lost = {"recording": ["a/3", "b/1"], "stage": ["acquire", "acquire"]}
    audit = pv.audit(trials, utterances=calls, failures=lost, by=["test.channel"])
    shares = audit.groups.subset(grouping="test.channel", metric="fta").rows()
    reported = {row["group"]: (row["errors"], row["trials"]) for row in shares}
    assert reported == {"app": (0, 2), "web": (1, 1), "pooled": (1, 3)}
    (fte,) = audit.groups.subset(grouping="test.channel", group="app", metric="fte").rows()
    assert fte["reason"] == "group_of_trials"
    (alone,) = audit.data.subset(source="failures").rows()
    assert item_in_words(alone) == "failed test recordings that are in no trial"
    assert alone["count"] == 1
