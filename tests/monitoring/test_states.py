"""States from anywhere: damaged and edited ones are refused, and no writer loses a day."""

import io
import json
import multiprocessing as mp
import os
import subprocess
import zipfile
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest

import parivox as pv
from parivox.monitoring.state_checks import TEST_COLUMNS

PEOPLE = pl.DataFrame(
    {"customer": [f"c{i:02d}" for i in range(24)], "gender": ["f", "m"] * 12},
)
FIRST_DAY = date(2026, 3, 2)


def calls(n):
    """The calls of a day: one of everyone, of whom two are rejected."""
    decision = ["reject" if i in {n % 24, (n + 7) % 24} else "accept" for i in range(24)]
    ids = [f"{n}/{i}" for i in range(24)]
    return pl.DataFrame({"call": ids, "customer": PEOPLE["customer"], "decision": decision})


def count(folder, n, **settings):
    options = {"state": folder / "state", "key": folder / "key", "speakers": PEOPLE, "by": "gender"}
    day = (FIRST_DAY + timedelta(days=n)).isoformat()
    return pv.monitor(calls(n), day=day, **options, **settings)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A state of three days, as bytes, and its key."""
    folder = tmp_path_factory.mktemp("written")
    (folder / "key").write_text("0123456789abcdef")
    for n in range(3):
        count(folder, n, new=n == 0)
    return (folder / "state").read_bytes()


@pytest.fixture
def rising(tmp_path):
    """A state with an alarm of m, and its key."""
    (tmp_path / "key").write_text("0123456789abcdef")
    names = PEOPLE["customer"].to_list() * 10
    decisions = ["reject" if i % 2 or i % 40 == 0 else "accept" for i in range(240)]
    calls = {"call": [str(i) for i in range(240)], "customer": names, "decision": decisions}
    options = {"speakers": PEOPLE, "by": "gender", "limits": "fnr=1%", "day": "2026-03-02"}
    pv.monitor(calls, state=tmp_path / "state", key=tmp_path / "key", new=True, **options)
    return tmp_path


@pytest.fixture
def folder(tmp_path, written):
    (tmp_path / "key").write_text("0123456789abcdef")
    (tmp_path / "state").write_bytes(written)
    return tmp_path


def members_of(data):
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}


def packed(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return buffer.getvalue()


def with_array(change, name):
    def edited(data):
        members = members_of(data)
        array = change(np.load(io.BytesIO(members[f"{name}.npy"])).astype(np.int64))
        buffer = io.BytesIO()
        np.save(buffer, array, allow_pickle=array.dtype == object)
        return packed({**members, f"{name}.npy": buffer.getvalue()})

    return edited


def with_head(change):
    def edited(data):
        members = members_of(data)
        head = json.loads(members["state.json"])
        change(head)
        return packed({**members, "state.json": json.dumps(head).encode()})

    return edited


def put(position, number):
    def changed(array):
        array[position] = number
        return array

    return changed


def setting(name, number):
    return with_head(lambda head: head["settings"].update({name: number}))


def without(name):
    return lambda data: packed({k: v for k, v in members_of(data).items() if k != name})


def bomb(data):
    return packed({**members_of(data), "trials.npy": bytes(1 << 28)})  # all that may be unpacked


def cut_header(data):
    members = members_of(data)
    return packed({**members, "trials.npy": members["trials.npy"][:9] + b"{(" * 40})


def alarm_of(day, group):
    """An alarm as a state lists it."""
    numbers = dict.fromkeys((name for name, kind in TEST_COLUMNS.items() if kind != "str"), 1)
    texts = dict.fromkeys((name for name, kind in TEST_COLUMNS.items() if kind == "str"), day)
    return {"day": day, **numbers, **texts, "against": "others", "group": group, "is_alarm": True}


EDITED = {
    "empty": lambda _: b"",
    "text": lambda _: b"trials",
    "cut": lambda data: data[: len(data) // 2],
    "turned bytes": lambda data: data[:60] + data[60:200][::-1] + data[200:],
    "no head": without("state.json"),
    "no trials": without("trials.npy"),
    "no products": without("products.npy"),
    "header": cut_header,
    "bomb": bomb,
    "deep": lambda data: packed({**members_of(data), "state.json": b"[" * 100_000}),
    "a list": lambda data: packed({**members_of(data), "state.json": b"[]"}),
    "not a number": lambda data: packed({**members_of(data), "state.json": b"NaN"}),
    "floats": with_array(lambda array: array + 0.5, "trials"),
    "objects": with_array(lambda array: array.astype(object), "trials"),
    "negative errors": with_array(put((0, 0), -1), "errors"),
    "errors above trials": with_array(put((0, 0), 1000), "errors"),
    "speakers' errors above trials": with_array(put(0, 1000), "speaker_errors"),
    "a day less": with_array(lambda array: array[1:], "trials"),
    "a group less": with_array(lambda array: array[:, 1:], "errors"),
    "unknown group": with_array(put(0, 9), "group"),
    "unknown week": with_array(put(0, 52), "week"),
    "unknown speaker": with_array(put(0, 99), "speaker"),
    "names out of order": with_array(lambda array: array[::-1].copy(), "name"),
    "does not add up": with_array(put((0, 0), 13), "trials"),
    "huge": with_array(put((0, 0), 1 << 62), "trials"),
    "alpha": setting("alpha", float("nan")),
    "margin": setting("margin", "2"),
    "day sd": setting("day_sd", -1),
    "watched": setting("watched", ["x"]),
    "against": setting("against", ["moon"]),
    "groups twice": setting("groups", ["f", "f"]),
    "limit": setting("limit", 2),
    "no settings": with_head(lambda head: head.pop("settings")),
    "settings of a list": with_head(lambda head: head.update(settings=[])),
    "days turned": with_head(lambda head: head["days"].reverse()),
    "a day of words": with_head(lambda head: head["days"][0].update(day="yesterday")),
    "an alarm": with_head(lambda head: head["alarms"].append({"group": "f"})),
    "an alarm of words": with_head(
        lambda head: head["alarms"].append(
            {"group": "f", "against": "others", "day": head["days"][0]["day"], "fnr": "high"}
        )
    ),
    "an alarm without numbers": with_head(
        lambda head: head["alarms"].append(
            {"group": "f", "against": "others", "day": head["days"][0]["day"]}
        )
    ),
    "an alarm of a group that is not watched": with_head(
        lambda head: (
            head["settings"].update(watched=["f"]),
            head["alarms"].append(alarm_of(head["days"][0]["day"], "m")),
        )
    ),
    "another version": with_head(lambda head: head.update({"parivox-state": 3})),
    "version of words": with_head(lambda head: head.update({"parivox-state": [1]})),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", EDITED)
def test_an_edited_state_is_refused_in_a_sentence_and_left_alone(folder, name):
    edited = EDITED[name]((folder / "state").read_bytes())
    (folder / "state").write_bytes(edited)
    for use in (lambda: pv.monitor(state=folder / "state"), lambda: count(folder, 3)):
        with pytest.raises(pv.DataError) as caught:
            use()
        (words,) = str(caught.value).splitlines()
        assert words.startswith(f"{folder / 'state'}: is ")
    assert (folder / "state").read_bytes() == edited


def as_version_1(data):
    head = with_head(lambda head: head.update({"parivox-state": 1}))
    return without("products.npy")(without("seal")(head(data)))


@pytest.mark.parametrize(
    "edit",
    [
        with_head(lambda head: head.update(alarms=[])),
        with_head(lambda head: head["settings"].update(margin=100)),
        with_array(put(0, 0), "name"),
        without("seal"),
        lambda data: packed({**members_of(data), "seal": b"0" * 64}),
        as_version_1,
    ],
)
def test_an_edited_state_is_told_by_its_seal(rising, edit):
    state = rising / "state"
    options = {"state": state, "key": rising / "key"}
    assert len(pv.monitor(**options).alarms)
    state.write_bytes(edit(state.read_bytes()))
    for use in (lambda: pv.monitor(**options), lambda: count(rising, 40, limits="fnr=1%")):
        with pytest.raises(pv.DataError, match="is not as parivox monitor wrote it with this key"):
            use()


@pytest.mark.slow
def test_another_key_is_refused_where_a_state_is_read(rising):
    (rising / "other").write_text("fedcba9876543210")
    with pytest.raises(pv.ConfigError, match="was started with another key"):
        pv.monitor(state=rising / "state", key=rising / "other")


def test_an_alarm_that_counts_still_show_is_raised_although_a_state_lists_none(rising):
    state = rising / "state"
    listed = pv.monitor(state=state).alarms.rows()
    state.write_bytes(with_head(lambda head: head.update(alarms=[]))(state.read_bytes()))
    raised = pv.monitor(state=state).alarms.rows()
    assert {row["group"] for row in raised} == {row["group"] for row in listed} == {"m"}


@pytest.mark.slow
def test_a_damaged_state_is_a_mistake_and_no_alarm(folder, program):
    (folder / "state").write_bytes(EDITED["negative errors"]((folder / "state").read_bytes()))
    words = [program, "monitor", "--state", folder / "state"]
    completed = subprocess.run(words, capture_output=True, text=True, check=False)
    assert completed.returncode == 2
    assert completed.stderr.count("\n") == 1


def test_what_is_no_file_is_no_state(tmp_path):
    (tmp_path / "zero").symlink_to("/dev/zero")
    for path in (tmp_path / "zero", tmp_path):
        with pytest.raises(pv.DataError, match=r"is not a state of pv\.monitor"):
            pv.monitor(state=path)


def test_a_mistyped_state_begins_no_stream(folder):
    options = {"key": folder / "key", "speakers": PEOPLE, "by": "gender", "day": "2026-03-05"}
    with pytest.raises(pv.ConfigError, match="file not found; check the path, or start a stream"):
        pv.monitor(calls(3), state=folder / "stat", **options)
    assert not (folder / "stat").exists()
    with pytest.raises(pv.ConfigError, match="exists already; leave out new=True"):
        pv.monitor(calls(3), state=folder / "state", new=True, **options)
    assert count(folder, 3).record["days"] == 4


def test_a_state_that_was_changed_meanwhile_is_not_written(folder, monkeypatch):
    from parivox.monitoring import daily_monitor as module

    read = module.read_stream

    def read_and_changed(name, key):
        stream = read(name, key)
        state_bytes = (folder / "state").read_bytes()
        (folder / "state").write_bytes(state_bytes + b" ")  # as a program without locks would
        return stream

    monkeypatch.setattr(module, "read_stream", read_and_changed)
    with pytest.raises(pv.ConfigError, match="another process has changed it"):
        count(folder, 3)


def _write(folder, rounds, n, start, outcome_queue):
    """Count day `n` of each round as soon as both processes are there."""
    for k in range(rounds):
        start.wait()
        try:
            count(folder / str(k), n, skipped=True)
        except pv.ConfigError as error:
            outcome_queue.put((k, n, str(error)))
        else:
            outcome_queue.put((k, n, ""))


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="other systems have no such locks")
def test_two_writers_never_lose_a_day(tmp_path, written):
    rounds = 50
    for k in range(rounds):
        (tmp_path / str(k)).mkdir()
        (tmp_path / str(k) / "key").write_text("0123456789abcdef")
        (tmp_path / str(k) / "state").write_bytes(written)
    context = mp.get_context("spawn")
    start, outcome_queue = context.Barrier(2, timeout=60), context.Queue()
    writers = [
        context.Process(target=_write, args=(tmp_path, rounds, n, start, outcome_queue))
        for n in (3, 4)
    ]
    for writer in writers:
        writer.start()
    outcomes = [outcome_queue.get(timeout=120) for _ in range(2 * rounds)]
    for writer in writers:
        writer.join(timeout=60)
    for k in range(rounds):
        words = {n: error for round_, n, error in outcomes if round_ == k}
        monitored = pv.monitor(state=tmp_path / str(k) / "state")
        assert words[4] == ""
        assert words[3] == "" or "comes before 2026-03-06" in words[3]
        assert monitored.record["days"] == 3 + sum(not error for error in words.values())
