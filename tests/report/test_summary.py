"""The summary that a person reads."""

import os
import re
from pathlib import Path

import pytest

import parivox as pv

SNAPSHOT = Path(__file__).with_name("summary.txt")


@pytest.fixture(scope="module")
def audit(audited):
    return audited(
        by=["gender", "gender+nation"], operating_points=["fpr=0.01", "threshold=9", "eer"]
    )


@pytest.mark.slow
def test_snapshot(audit, printed, printed_summary):
    """Set PARIVOX_WRITE_SNAPSHOTS=1 to write what is printed now, then read the difference."""
    text = printed(audit) + printed_summary(audit, out=Path("audit"))
    if os.environ.get("PARIVOX_WRITE_SNAPSHOTS") == "1":
        SNAPSHOT.write_text(text, encoding="utf-8")
    assert text == SNAPSHOT.read_text(encoding="utf-8")


def test_it_is_plain_and_narrow(audit, printed):
    text = printed(audit)
    assert "\x1b" not in text
    assert all(len(line) <= 100 and line == line.rstrip() for line in text.splitlines())


def test_every_group_has_a_line_of_each_rate(audit, printed):
    text = printed(audit)
    groups = {row["group"] for row in audit.groups}
    assert len(groups) == 2 + 6 + 2
    for group in groups - {"all", "pooled"}:
        assert len(re.findall(rf"(?m)^ +{re.escape(group)}\*? +\d", text)) == 2, group


@pytest.mark.slow
def test_unknown_speakers_are_told(audit, printed):
    assert "unknown" in printed(audit)


@pytest.mark.slow
def test_the_folder_and_the_page_are_named_where_they_were_written(audit, printed_summary):
    text = printed_summary(audit, out=Path("here"), page=Path("there.html"))
    assert "All results: here (one group: parivox show here GROUP)" in text
    assert "Report: there.html" in text
    assert "All results" not in printed_summary(audit)


@pytest.mark.slow
def test_what_was_chosen_without_by_is_said(audited, printed_summary):
    text = " ".join(printed_summary(audited()).split())
    assert "gender, nation" in text
    assert "2 to 50 values" in text
    assert "No --by" in text


@pytest.mark.slow
def test_a_point_that_is_not_found_gives_its_reason(audited, printed):
    text = printed(audited(by="gender", operating_points=["fpr=0.0001", "eer"]))
    assert "less than one error" in " ".join(text.split())
    text = printed(audited(by="gender", operating_points=["fpr=0.0001"]))
    assert "less than one error" in " ".join(text.split())


@pytest.mark.slow
def test_lists_of_one_class(material, printed):
    trials, speakers = material
    for label in (True, False):
        indices = [
            i
            for i, (a, b) in enumerate(zip(trials["enrol"], trials["test"], strict=True))
            if (a[:3] == b[:3]) == label
        ]
        only = {name: [cells[i] for i in indices] for name, cells in trials.items()}
        text = printed(pv.audit(only, speakers=speakers, by="gender"))
        assert "no nontarget trials" in text if label else "no target trials" in text


@pytest.mark.slow
def test_every_option_can_be_summed_up(audited, printed):
    audit = audited(
        by="gender",
        allocate=["both", "enrol", "test", "either"],
        operating_points=["threshold=1", "bayes", "min-cdet:sre08"],
        cost=["voxsrc", "sre16"],
        eer=["linear", "rocch"],
        zero=["jeffreys"],
        alpha=["0:1:0.1"],
        compat="bt4vt",
        llr=True,
        conflicts="exclude",
        metrics={"mine": lambda c: c.fpr},
        sweep="fpr=0.01:0.1:3",
    )
    text = printed(audit)
    for rule in ("enrol", "test", "either"):
        assert f"nontarget trials by {rule}" in " ".join(text.split())
    assert "(rocch)" in text


@pytest.mark.slow
def test_a_loaded_audit_is_summed_up_alike(audit, printed, tmp_path):
    audit.save(tmp_path / "a")
    assert printed(pv.load(tmp_path / "a")) == printed(audit)


@pytest.mark.slow
def test_names_with_markup_are_shown_as_they_are(material, printed):
    trials, speakers = material
    speakers = {
        **speakers,
        "gender": ["[red]:dog:[/red]" if g == "f" else g for g in speakers["gender"]],
    }
    text = printed(pv.audit({"[bold]m": trials}, speakers=speakers, by="gender"))
    assert "[red]:dog:[/red]" in text
    assert "[bold]m" in text


@pytest.mark.slow
def test_several_systems_and_lists(material, printed):
    trials, speakers = material
    text = printed(pv.audit({"A@x": trials, "B": trials}, speakers=speakers, by="gender"))
    assert "A on x" in text
    assert re.search(r"(?m)^B$", text)


@pytest.mark.slow
def test_thresholds_of_other_trials_are_told(audited, material, printed):
    text = printed(audited(by="gender", operating_points="eer", threshold_from=material[0]))
    assert "development trials" in text


@pytest.mark.slow
def test_shares_of_failures_stand_with_their_intervals(material, printed):
    trials, speakers = material
    failed = {"s01/0", "s02/1", "s03/2", "s05/5"}
    stages = [
        "enrol" if enrol in failed else "acquire" if test in failed else None
        for enrol, test in zip(trials["enrol"], trials["test"], strict=True)
    ]
    scores = [
        None if stage else score for score, stage in zip(trials["score"], stages, strict=True)
    ]
    status = ["too_short" if stage else "ok" for stage in stages]
    staged_trials = {**trials, "score": scores, "stage": stages, "status": status}
    audit = pv.audit({"model": staged_trials}, speakers=speakers, by="gender", replicates=100)
    lines = printed(audit).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("Failures to enrol"))
    heading, rows = lines[start + 1], lines[start + 3 : start + 6]
    assert heading.split("  ")[-1].strip() == "failed / tried"
    assert heading.count("[interval]") == 2
    assert len(rows) == 3
    for line in rows:
        row = audit.groups.subset(grouping="gender", group=line.split()[0], metric="fta").rows()[0]
        assert f"{row['errors']:,} / {row['trials']:,}" in line
        assert line.count("[") == 2
    assert max(map(len, lines)) <= 100
