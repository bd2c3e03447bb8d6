"""Stages of a task: what whoever listens is told, and when."""

import threading

import pytest

import parivox as pv
from parivox.runtime import progress
from parivox.runtime.progress import Progress, report_progress_to, stage, with_progress

pytestmark = pytest.mark.minimal


class Clock:
    """Time that passes when it is told to."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    fake_clock = Clock()
    monkeypatch.setattr(progress, "monotonic", fake_clock)
    return fake_clock


def summary_of(report):
    return report.stage, report.share, report.eta_s, report.is_over


def test_a_stage_tells_its_share_and_the_time_left_once_enough_is_known(clock):
    reports = []
    with report_progress_to(reports.append), stage("counting", 200, "trials") as counting:
        for _ in range(20):
            clock.now += 0.5
            counting.add(1)
        for _ in range(9):
            clock.now += 5
            counting.add(20)
    assert summary_of(reports[0]) == ("counting", 0, None, False)
    assert [report.eta_s for report in reports if report.done < 10] == [
        None
    ] * 10  # less than a twentieth
    assert reports[10].eta_s == 5.0 / 10 * 190
    assert summary_of(reports[-1]) == ("counting", 1, None, True)
    shares = [report.share for report in reports]
    assert shares == sorted(shares)
    assert reports[-1].elapsed_s == 55
    assert (reports[-1].done, reports[-1].unit) == (200, "trials")


def test_no_time_left_is_told_in_the_first_second(clock):
    reports = []
    with report_progress_to(reports.append), stage("counting", 10) as counting:
        clock.now += 0.9
        counting.add(5)
        clock.now += 0.3
        counting.add(1)
    assert [report.eta_s for report in reports] == [None, None, pytest.approx(0.8), None]


def test_what_an_earlier_run_did_is_done_but_tells_nothing_of_the_pace(clock):
    reports = []
    with report_progress_to(reports.append), stage("scoring", 100) as scoring:
        scoring.add(80, is_new=False)
        clock.now += 2
        scoring.add(10)
    assert (reports[1].share, reports[1].eta_s) == (0.9, 2.0)


def test_stages_within_stages_are_told_after_their_outer_ones(clock):
    reports = []
    with report_progress_to(reports.append), stage("measuring V2"):
        clock.now += 1
        assert list(with_progress("ab", "groups", "groups", size=lambda group: 3)) == ["a", "b"]
    assert [summary_of(report) for report in reports] == [
        ("measuring V2", None, None, False),
        ("measuring V2: groups", 0, None, False),
        ("measuring V2: groups", 1, None, True),
        ("measuring V2", None, None, False),
        ("measuring V2", 1, None, True),
    ]
    assert reports[1].total == 6


def test_reports_are_seldom(clock):
    reports = []
    with report_progress_to(reports.append), stage("counting", 10_000) as counting:
        for _ in range(10_000):
            clock.now += 0.001
            counting.add()
    assert 38 < len(reports) < 43


def test_a_stage_that_fails_is_not_over():
    reports = []
    with (
        pytest.raises(ZeroDivisionError),
        report_progress_to(reports.append),
        stage("counting", 2) as counting,
    ):
        counting.add(1 // 0)
    assert [report.is_over for report in reports] == [False]
    with report_progress_to(reports.append), stage("again"):
        pass
    assert reports[-1].stages == ("again",)


def test_stages_that_are_given_up_in_any_order_leave_none_open():
    reports = []
    with report_progress_to(reports.append):
        abandoned, finished = with_progress("ab", "one", ""), with_progress("ab", "other", "")
        next(abandoned), next(finished)
        abandoned.close()
        assert list(finished) == ["b"]
        with stage("last"):
            pass
    assert reports[-1].stages == ("last",)


def test_nobody_is_told_elsewhere_or_afterwards():
    reports = []
    with report_progress_to(reports.append):
        thread = threading.Thread(target=lambda: list(with_progress("ab", "elsewhere", "")))
        thread.start()
        thread.join()
    with stage("afterwards", 1) as running:
        running.add()
    assert reports == []


@pytest.mark.parametrize(
    ("report", "words"),
    [
        (Progress(("a",), 0, None, "", 3.2), "a, 3 s"),
        (Progress(("a", "b"), 0, 8, "draws", 3.2), "a: b, 3 s"),
        (Progress(("a",), 2, 8, "draws", 200, 600.0), "a, 25 % in 3 min, 10 min left"),
        (Progress(("a",), 8, 8, "draws", 200, is_over=True), "a, 100 % in 3 min"),
        (Progress(("a",), 7, 8, "draws", 7, 0.2), "a, 88 % in 7 s, 1 s left"),
        (Progress(("a",), 2, 8, "draws", 4, 12.0).after(2), "a, 25 % in 6 s, 10 s left"),
    ],
)
def test_in_words(report, words):
    assert str(report) == words


def trials():
    ids = [f"s{i}/{k}" for i in range(6) for k in range(5)]
    pairs = [(enrol_id, test_id) for i, enrol_id in enumerate(ids) for test_id in ids[i + 1 :]]
    enrol, test = zip(*pairs, strict=True)
    score = [
        i % 17 + (5.0 if enrol_id[:2] == test_id[:2] else 0.0)
        for i, (enrol_id, test_id) in enumerate(pairs)
    ]
    return {"enrol": enrol, "test": test, "score": score}


@pytest.mark.slow
def test_an_audit_tells_of_reading_the_bootstrap_and_measures_and_is_silent_by_default(capfd):
    people = {"id": [f"s{i}" for i in range(6)], "sex": [*"ffffmm"]}
    reports = []
    pv.audit({"V2": trials()}, speakers=people, by="sex", replicates=500, progress=reports.append)
    ended_stages = {report.stages: report for report in reports if report.is_over}
    assert {
        ("reading the speakers",),
        ("reading V2", "scores"),
        ("measuring V2", "bootstrap"),
        ("measuring V2", "measures and verdicts"),
        ("measuring V2",),
    } <= {*ended_stages}
    assert all(report.share == 1 for report in ended_stages.values())
    drawn = ended_stages["measuring V2", "bootstrap"]
    assert (drawn.done, drawn.total, drawn.unit) == (500, 500, "draws")
    assert ended_stages["reading V2", "scores"].total == len(trials()["score"])
    assert {report.stages for report in reports} == {*ended_stages}
    pv.audit({"V2": trials()}, speakers=people, by="sex", replicates=50)
    assert capfd.readouterr() == ("", "")
