"""A stream of days: alarms where a group fares worse, nothing counted twice, nobody named."""

import datetime as dt
import errno
import json
import re
import stat
import subprocess
import zipfile

import numpy as np
import polars as pl
import pytest

import parivox as pv
from parivox.data.site_key import KDF
from parivox.report.catalogue import reason_text
from parivox.report.monitor import headline, notes

WEEKS, RISE = 18, 15
"""Days, a week apart; the first with more errors among `f`."""
FIRST_DAY = dt.date(2026, 1, 5)
PEOPLE = pl.DataFrame(
    {
        "customer": [f"kunde-{i:03d}" for i in range(160)],
        "gender": ["f", "m"] * 80,
        "age": [30] * 160,
    }
)
OPTIONS = {"speakers": PEOPLE, "by": "gender", "skipped": True}


def calls(week, rise=1.0):
    """A day of some calls of everyone; goats among them call again and again."""
    draw = np.random.default_rng(week)
    goat = np.random.default_rng(0).beta(0.4, 7.6, 160)
    customer_indices = np.repeat(np.arange(160), draw.poisson(6, 160))
    rate = np.minimum(goat * np.where(np.arange(160) % 2 == 0, rise, 1.0), 1)
    is_error = draw.random(customer_indices.size) < rate[customer_indices]
    return pl.DataFrame(
        {
            "call": [f"w{week}/{k}" for k in range(customer_indices.size)],
            "customer": PEOPLE["customer"][customer_indices],
            "decision": np.where(is_error, "reject", "accept"),
        }
    )


def day(week):
    return (FIRST_DAY + dt.timedelta(days=7 * week)).isoformat()


def streamed(folder, rise=1.0, weeks=WEEKS, **settings):
    folder.mkdir(exist_ok=True)
    (folder / "key").write_text("0123456789abcdef")
    files = {"state": folder / "state", "key": folder / "key"}
    for week in range(weeks):
        table = calls(week, rise if week >= RISE else 1.0)
        monitored = pv.monitor(table, day=day(week), new=week == 0, **files, **OPTIONS, **settings)
    return monitored


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("stream")


@pytest.fixture(scope="module")
def monitored(folder):
    return streamed(folder, rise=4.0)


@pytest.fixture
def again(folder, monitored, tmp_path):
    """Another day of the same stream, in a copy of its state."""
    (tmp_path / "state").write_bytes((folder / "state").read_bytes())

    def monitor_next(table=None, **changes):
        defaults = {"state": tmp_path / "state", "key": folder / "key", "day": day(WEEKS)}
        return pv.monitor(
            calls(WEEKS) if table is None else table, **{**OPTIONS, **defaults, **changes}
        )

    return monitor_next


def test_an_alarm_tells_the_group_the_rate_since_when_and_what_would_silence_it(monitored):
    (alarm,) = monitored.alarms.subset(against="before").rows()
    assert alarm["group"] == "f"
    assert day(RISE) <= alarm["day"] <= day(WEEKS - 1)
    assert alarm["changed"] == alarm["since"] == day(RISE)
    assert alarm["fnr"] == alarm["errors"] / alarm["trials"]
    assert alarm["ratio"] == pytest.approx(alarm["fnr"] / alarm["reference"])
    assert 1.25 <= alarm["low"] < min(4, alarm["ratio"])
    assert alarm["high"] is None or alarm["high"] > max(4, alarm["ratio"])
    assert alarm["silent_at"] < alarm["errors"]
    assert 0 < alarm["explained_by"] < alarm["fnr"]
    assert alarm["chance"] <= 0.05
    assert alarm["others_ratio"] == pytest.approx(1, abs=0.5)


@pytest.mark.slow
def test_a_stream_without_a_rise_has_no_alarm(tmp_path):
    monitored = streamed(tmp_path)
    assert len(monitored.alarms) == 0
    assert not any(row["is_alarm"] for row in monitored.groups.rows())
    for row in monitored.groups.rows():
        assert row["low"] < 1.25


def test_weeks_add_up_to_what_was_given(monitored):
    weeks = monitored.weeks.to_polars()
    streamed_calls = pl.concat([calls(week, 4.0 if week >= RISE else 1.0) for week in range(WEEKS)])
    assert monitored.record["trials"] == len(streamed_calls) == weeks["trials"].sum()
    errors = streamed_calls.join(PEOPLE, on="customer").filter(decision="reject")
    assert dict(weeks.group_by("group").agg(pl.col("errors").sum()).rows()) == dict(
        errors.group_by("gender").len().rows()
    )


def test_the_present_state_is_told_without_trials_and_without_a_key(monitored, folder):
    now = pv.monitor(state=folder / "state")
    assert now.groups.to_dict() == monitored.groups.to_dict()
    assert now.alarms.to_dict() == monitored.alarms.to_dict()


def test_the_order_of_rows_changes_nothing(tmp_path):
    (tmp_path / "key").write_text("0123456789abcdef")
    tables = []
    for name, table in (("one", calls(0)), ("other", calls(0).reverse())):
        files = {"state": tmp_path / name, "key": tmp_path / "key"}
        tables.append(pv.monitor(table, day=day(0), new=True, **files, **OPTIONS).groups.to_dict())
    assert tables[0] == tables[1]


def test_a_state_holds_no_id_and_little_of_anyone(monitored, folder):
    with zipfile.ZipFile(folder / "state") as file:
        content = b"".join(file.read(name) for name in file.namelist())
    assert not re.search(rb"kunde|w\d/", content)
    assert monitored.record["bytes"] / monitored.record["speakers"] < 100


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"day": day(2)}, f"{day(2)} is already counted"),
        ({"day": "2026-01-06"}, f"comes before {day(WEEKS - 1)}, the last day counted"),
        (
            {"skipped": False},
            ", the day after the last day counted, is missing; count this day first",
        ),
        ({"day": "9999-12-31"}, "days after"),
        ({"alpha": 0.1}, "was started with alpha=0.05"),
        ({"limits": "fnr=0.1"}, "was started without limits"),
        ({"by": "gender+age"}, "was started with by='gender'"),
        ({"by": None}, "by names no grouping"),
        ({"limits": "fpr=0.1"}, "a stream has one limit, for the FNR of every group"),
        ({"key": None}, "missing option key"),
        ({"day": "someday"}, "day someday: is not a date"),
        ({"day": None}, "contains no date"),
        ({"state": "/no/such/folder/state"}, "file not found; check the path, or start a stream"),
        ({"state": "/no/such/folder/state", "new": True}, "cannot be written"),
        ({"new": True}, "exists already; leave out new=True"),
    ],
)
def test_what_cannot_be_counted_is_refused_in_a_sentence(again, change, message):
    with pytest.raises(pv.ConfigError, match=re.escape(message)):
        again(**change)


def test_the_same_trials_are_not_counted_as_another_day(again):
    with pytest.raises(pv.ConfigError, match=f"these are the trials of {day(3)}"):
        again(calls(3))


@pytest.mark.slow
def test_a_state_of_another_key_is_refused(again, tmp_path):
    (tmp_path / "other").write_text("fedcba9876543210")
    with pytest.raises(pv.ConfigError, match="was started with another key"):
        again(key=tmp_path / "other")


def test_a_file_that_is_no_state_is_refused(again, tmp_path):
    (tmp_path / "no").write_text("trials")
    with pytest.raises(pv.DataError, match=r"is not a state of pv\.monitor"):
        again(state=tmp_path / "no")


def test_scores_without_decisions_are_refused(again):
    scores = calls(1).with_columns(pl.lit(0.5).alias("score")).drop("decision")
    with pytest.raises(pv.DataError, match="contains scores, but no decisions"):
        again(scores)


def test_a_day_that_cannot_be_written_is_not_counted(again, tmp_path, monkeypatch):
    before = (tmp_path / "state").read_bytes()

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(np, "save", full)
        with pytest.raises(pv.ConfigError, match="No space left on device"):
            again()
    assert (tmp_path / "state").read_bytes() == before
    assert again().record["days"] == WEEKS + 1


@pytest.mark.slow
def test_a_stream_begins_with_a_new_key_and_goes_on_with_it(tmp_path):
    options = {"state": tmp_path / "state", "speakers": PEOPLE, "by": "gender"}
    key = tmp_path / "key"
    with pytest.raises(pv.ConfigError, match="new_key applies only to a new stream"):
        pv.monitor(calls(0), day=day(0), new_key=key, **options)
    begun = pv.monitor(calls(0), day=day(0), new=True, new_key=key, **options)
    assert begun.record["settings"]["kdf"] == KDF
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert pv.monitor(calls(1), day=day(1), key=key, skipped=True, **options).record["days"] == 2
    with pytest.raises(pv.ConfigError, match="exists already; leave out new=True"):
        pv.monitor(calls(2), day=day(2), new=True, new_key=tmp_path / "other", **options)
    assert not (tmp_path / "other").exists()


def test_groups_may_be_those_of_a_file(tmp_path):
    (tmp_path / "key").write_text("0123456789abcdef")
    file = {
        "by": ["gender"],
        "groups": {"gender": {"women": ["f"], "men": ["m"]}},
        "within": ["age"],
    }
    options = {"state": tmp_path / "state", "key": tmp_path / "key", "day": day(0)}
    monitored = pv.monitor(calls(0), groups=file, speakers=PEOPLE, new=True, **options)
    assert monitored.record["settings"]["groups"] == ["men", "women"]


def test_what_is_left_out_is_told(again):
    table = calls(WEEKS)
    odd = table.with_columns(
        customer=pl.when(pl.int_range(len(table)) < 3).then(pl.lit("x")).otherwise("customer")
    )
    people = pl.concat([PEOPLE, pl.DataFrame({"customer": ["x"], "gender": [None], "age": [30]})])
    left_out = again(odd, speakers=people).record["left_out"]
    assert left_out == [{"item": "trials_of_customers_without_group", "count": 3, "note": ""}]


def test_repeated_rows_and_those_without_decision_are_told(again):
    table = calls(WEEKS)
    empty = pl.when(pl.int_range(pl.len()) < 5).then(None).otherwise("decision").alias("decision")
    monitored = again(pl.concat([table, table]).with_columns(empty))
    assert monitored.record["left_out"] == [
        {"item": "rows_without_score_repeated", "count": 5, "note": "left_out"},
        {"item": "exact_duplicates", "count": len(table) - 5, "note": "counted_once"},
    ]
    printed = " ".join(str(monitored).split())
    assert "5 rows without a score that repeat the trial of another row (excluded)" in printed


def test_rows_without_decision_alone_are_told(again):
    empty = pl.when(pl.int_range(pl.len()) < 5).then(None).otherwise("decision").alias("decision")
    left_out = again(calls(WEEKS).with_columns(empty)).record["left_out"]
    assert left_out == [{"item": "trials_without_decision", "count": 5, "note": "left_out"}]


def test_a_stream_without_any_group_that_is_judged_says_so(tmp_path):
    few_customers = PEOPLE.head(8)
    options = {"state": tmp_path / "s", "key": tmp_path / "k", "by": "gender", "new": True}
    (tmp_path / "k").write_text("0123456789abcdef")
    table = calls(0).filter(pl.col("customer").is_in(few_customers["customer"].implode()))
    monitored = pv.monitor(table, day=day(0), speakers=few_customers, **options)
    assert headline(monitored).startswith("No alarm, as no group is judged: fewer than 10 speakers")


def test_a_new_stream_needs_the_trials_of_a_day(tmp_path):
    with pytest.raises(pv.ConfigError, match="new=True needs the trials of the first day"):
        pv.monitor(state=tmp_path / "s", new=True)


def test_who_changes_the_group_stays_where_they_were(again):
    swapped = PEOPLE.with_columns(gender=pl.Series(["m", "f"] * 80))
    monitored = again(speakers=swapped)
    assert monitored.record["left_out"] == [
        {"item": "moved_customers", "count": 160 - absent(), "note": ""}
    ]


def absent():
    return 160 - calls(WEEKS)["customer"].n_unique()


@pytest.mark.slow
def test_impostors_that_may_explain_a_rise_silence_it(monitored, tmp_path):
    (alarm,) = monitored.groups.subset(against="before", group="f").rows()
    loud = streamed(tmp_path / "loud", rise=4.0, impostors=0.5 * alarm["explained_by"])
    silent = streamed(tmp_path / "silent", rise=4.0, impostors=2.5 * alarm["explained_by"])
    assert len(loud.alarms.subset(against="before")) == 1
    assert len(silent.alarms.subset(against="before")) == 0
    (less,) = loud.groups.subset(against="before", group="f").rows()
    assert less["low"] < alarm["low"]


@pytest.mark.slow
def test_a_limit_and_a_saved_audit_are_held_against(tmp_path):
    past = pl.concat([calls(50 + week) for week in range(4)])
    pv.audit(past, speakers=PEOPLE, by="gender").save(tmp_path / "audit")
    settings = {"limits": "fnr=0.06", "baseline": tmp_path / "audit"}
    monitored = streamed(tmp_path, rise=8.0, **settings)
    rows = {(row["against"], row["group"]): row for row in monitored.groups.rows()}
    assert {against for against, _ in rows} == {"others", "baseline", "limit"}
    assert rows["limit", "f"]["reference"] == 0.06
    assert rows["limit", "f"]["is_alarm"]
    assert rows["baseline", "f"]["is_alarm"]
    assert not rows["baseline", "m"]["is_alarm"]
    saved = pv.load(tmp_path / "audit").groups.subset(grouping="gender", metric="fnr", group="f")
    assert rows["baseline", "f"]["reference"] == pytest.approx(saved.rows()[0]["value"])


@pytest.mark.slow
def test_where_days_vary_for_many_speakers_nothing_is_judged_and_no_alarm_raised(tmp_path):
    def vary(week):
        return 6.0 if week % 2 else 0.2

    (tmp_path / "key").write_text("0123456789abcdef")
    group_rows = {}
    for sd in (0.1, 2.0):
        options = {"state": tmp_path / f"{sd}", "key": tmp_path / "key", "day_sd": sd}
        for week in range(WEEKS):
            table = calls(week, vary(week))
            monitored = pv.monitor(table, day=day(week), new=week == 0, **options, **OPTIONS)
        group_rows[sd] = {(row["group"], row["against"]): row for row in monitored.groups.rows()}
        assert len(monitored.alarms) == 0
    reason = "varying_rates"
    assert group_rows[0.1]["f", "before"]["reason"] == reason
    assert group_rows[0.1]["f", "others"]["reason"] == reason
    assert group_rows[0.1]["f", "before"]["chance"] is None
    assert group_rows[0.1]["m", "before"]["reason"] == ""
    assert group_rows[2.0]["f", "before"]["reason"] == ""
    note_text = " ".join(notes(monitored))
    assert "vary from day to day by at most 200 % of their mean (standard deviation)" in note_text
    with pytest.raises(pv.ConfigError, match=re.escape("was started with day_sd=2.0")):
        pv.monitor(calls(WEEKS), day=day(WEEKS), **{**options, "day_sd": 0.1}, **OPTIONS)


def test_groups_too_small_and_weeks_too_few_are_told(tmp_path):
    monitored = streamed(tmp_path, weeks=1)
    before = monitored.groups.subset(against="before").rows()
    assert {row["reason"] for row in before} == {"few_earlier_weeks"}
    assert reason_text(before[0]) == "fewer than 4 weeks of earlier data"
    few = PEOPLE.with_columns(gender=pl.Series(["x"] * 5 + ["f", "m"] * 77 + ["f"]))
    options = {"state": tmp_path / "few", "key": tmp_path / "key", "day": day(0)}
    monitored = pv.monitor(calls(0), new=True, **options, **{**OPTIONS, "speakers": few})
    assert monitored.record["settings"]["watched"] == ["f", "m"]
    assert len(monitored.groups.subset(group="x")) == 0
    (row,) = monitored.groups.subset(group="m", against="others").rows()
    other_calls = calls(0).join(few.filter(pl.col("gender") != "m"), on="customer")
    assert row["reference"] == other_calls["decision"].eq("reject").mean()  # x is of everyone else


@pytest.mark.slow
def test_the_command_ends_with_1_where_an_alarm_was_raised(monitored, folder, program, tmp_path):
    def run(*words):
        words = [program, "monitor", *map(str, words)]
        completed = subprocess.run(words, capture_output=True, text=True, check=False)
        return completed.returncode, completed.stdout, completed.stderr

    state = str(folder / "state")
    code, out, _ = run("--state", state, "--report", tmp_path / "page.html")
    assert code == 1
    assert out.splitlines()[2].startswith("Alarm: false rejects ")
    assert f"The rise began about {day(RISE)}" in " ".join(out.split())
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<script" not in html
    assert "Alarm: false rejects " in html
    code, out, _ = run("--state", state, "--json")
    assert json.loads(out)["record"]["days"] == WEEKS
    code, out, _ = run("--example")
    assert code == 0
    (tmp_path / "2026-11-22.csv").write_text(out)
    pl.DataFrame({"customer": ["000017", "000023"], "gender": ["f", "m"]}).write_csv(
        tmp_path / "customers.csv"
    )
    words = ["--new", "--state", tmp_path / "new", "--key", folder / "key", "--by", "gender"]
    words += ["--speakers", tmp_path / "customers.csv"]
    code, out, _ = run(tmp_path / "2026-11-22.csv", *words)
    assert code == 0
    assert "No alarm" in out
    code, _, message = run(tmp_path / "2026-11-22.csv", *words[1:])
    assert code == 2
    assert message == (
        "parivox: error: 2026-11-22.csv: 2026-11-22 is already counted; leave out this file, "
        "or give its --day\n"
    )
