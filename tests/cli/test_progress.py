"""Progress on standard error: a line in a terminal, few lines in a log, JSON on request."""

import json
import re
from itertools import groupby

import pytest

pytestmark = [pytest.mark.minimal, pytest.mark.slow]
BASIC = ("audit", "scores.csv", "--speakers", "speakers.csv", "--by", "gender")
LONG = (*BASIC, "--replicates", "1000")
CLEAR = "\r\x1b[K"


def lines_drawn(screen):
    """The lines that a terminal showed, one after the other."""
    start, *lines = screen.split(CLEAR)
    assert start == ""
    return lines


@pytest.mark.parametrize("width", [40, 60, 120])
def test_a_terminal_shows_rising_shares_on_one_line_that_is_gone_at_the_end(
    in_terminal, files, width
):
    code, screen = in_terminal(LONG, files, at_once=True, width=width, NO_COLOR="1")
    assert code == 0, screen
    lines = lines_drawn(screen)
    assert lines[-1] == ""
    assert all(len(line) < width and line.isprintable() for line in lines)
    shares = [
        int(match[1])
        for drawn_line in lines
        if (match := re.search(r"bootstrap.*?, (\d+) % in", drawn_line))
    ]
    assert len({*shares}) > 3
    assert shares == sorted(shares)
    assert any(re.search(r"\d+ % in \d+ s, \d+ s left", drawn_line) for drawn_line in lines)


def test_figures_and_the_inner_stage_stay_where_names_are_wide(in_terminal, files):
    name = "\u8a71\u8005" * 40
    code, screen = in_terminal(
        ("audit", f"{name}=scores.csv", *LONG[2:]), files, at_once=True, width=60
    )
    assert code == 0, screen
    lines = lines_drawn(screen)
    line = next(drawn_line for drawn_line in lines if drawn_line.startswith("measuring"))
    assert re.fullmatch(r"measuring \w+ ?\.\.\., \d+ s", line)
    assert 50 < len(line.encode("gbk")) < 60
    assert any(
        re.fullmatch(r"bootstrap, \d+ % in \d+ s, \d+ s left", drawn_line) for drawn_line in lines
    )


def test_nothing_is_drawn_in_two_seconds_or_where_nothing_can_be_redrawn(in_terminal, files):
    for environment in ({}, {"TERM": "dumb"}):
        code, screen = in_terminal(
            (*BASIC, "--no-intervals"), files, at_once=bool(environment), **environment
        )
        assert (code, screen) == (0, "")


def test_control_c_leaves_the_terminal_whole(in_terminal, files):
    code, screen = in_terminal(
        (*BASIC, "--replicates", "20000"), files, at_once=True, interrupt=b"bootstrap, "
    )
    assert code == 130
    *_, last_line, end = screen.split(CLEAR)
    assert last_line == ""
    assert end == "parivox: stopped; nothing was written\r\n"


def test_progress_for_programs(parivox, files):
    completed = parivox(*LONG, "--out", "out", "--progress", "json")
    assert completed.returncode == 0
    lines = [json.loads(line) for line in completed.stderr.splitlines()]
    assert {tuple(line) for line in lines} == {
        ("stage", "done", "total", "unit", "share", "elapsed_s", "eta_s")
    }
    by_stage = {}
    for line in lines:
        by_stage.setdefault(line["stage"], []).append(line["share"])
    assert {"reading scores", "measuring scores: bootstrap", "writing out"} <= {*by_stage}
    for shares in by_stage.values():
        assert shares[-1] == 1
        known_shares = [share for share in shares if share is not None]
        assert known_shares == sorted(known_shares)
    assert all(
        len([*stage_lines]) < 30
        for _, stage_lines in groupby(lines, key=lambda line: line["stage"])
    )
    assert completed.stdout == parivox(*LONG, "--out", "out", "--quiet").stdout


def test_a_pipe_gets_nothing_of_what_takes_no_ten_seconds(parivox):
    assert parivox(*BASIC).stderr == ""


def test_a_log_gets_a_plain_line_now_and_then(monkeypatch, parivox):
    monkeypatch.setattr("parivox.cli.progress.LOGGED_S", 0.01)
    monkeypatch.setattr("parivox.runtime.progress.REPORT_INTERVAL_S", 0.0)
    lines = parivox(*LONG).stderr.splitlines()
    assert lines
    assert all(line.startswith("parivox: ") and line.isprintable() for line in lines)
    assert any(re.search(r"measuring scores: bootstrap, \d+ % in", line) for line in lines)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("--progress", "xml"),
            "--progress 'xml' is not known; give json, or leave --progress out",
        ),
        (("--progress", "json", "--quiet"), "--quiet and --progress contradict each other"),
    ],
)
def test_forms_that_there_are_not(parivox, words, message):
    completed = parivox(*BASIC, *words)
    assert (completed.returncode, completed.stdout) == (2, "")
    assert completed.stderr.startswith(f"parivox: error: {message}")


@pytest.mark.parametrize(
    ("words", "stage"),
    [
        (("inspect", "scores.csv", "speakers.csv"), "looking at scores.csv"),
        (("trials", "check", "scores.csv", "--speakers", "speakers.csv"), "reading the list"),
        (("trials", "describe", "scores.csv", "--speakers", "speakers.csv"), "looking at the"),
        (("count", *BASIC[1:], "--withhold", "0", "--out", "c"), "counting"),
    ],
)
def test_other_commands_tell_of_theirs(parivox, tmp_path, files, words, stage):
    for name in ("scores.csv", "speakers.csv"):
        (tmp_path / name).write_bytes((files / name).read_bytes())
    completed = parivox(*words, "--progress", "json", cwd=tmp_path)
    assert completed.returncode in {0, 1}
    stages = [json.loads(line)["stage"] for line in completed.stderr.splitlines()]
    assert any(stage_name.startswith(stage) for stage_name in stages)
