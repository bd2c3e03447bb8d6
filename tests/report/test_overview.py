"""What is seen first of an audit: the finding, what it is of, what weakens it."""

import io

import pytest
from rich.console import Console

import parivox as pv
from parivox.report.overview import overview, plain
from parivox.report.terminal import summary


@pytest.fixture(scope="module")
def audit(audited):
    return audited(by=["gender", "gender+nation"], operating_points=["fpr=0.01"])


def drawn(audit, width):
    out = io.StringIO()
    Console(file=out, width=width, highlight=False).print(summary(audit))
    return out.getvalue()


def test_the_headline_names_the_groups_that_are_called_worse_and_no_other(audit):
    found = overview(audit)
    where = {"grouping": "gender", "operating_point": "fpr=0.01", "verdict": "worse"}
    worse = {row["group"] for row in audit.verdicts.where(**where).rows()}
    named = {part.text for part in found.headline if part.verdict == "worse"}
    assert worse == named == {"f"}
    assert plain(found.headline) == "f are locked out more often than m: 2.1 times"


def test_every_comparison_is_counted_once(audit):
    found = overview(audit)
    rows = [
        row["verdict"]
        for row in audit.verdicts.where(operating_point="fpr=0.01").rows()
        if row["group"] and row["metric"] != "fpr+fnr"
    ]
    assert found.tally == {code: rows.count(code) for code in found.tally}
    assert sum(found.tally.values()) == len(rows) == 16


def test_fair_systems_have_no_group_in_their_headline(material):
    trials, speakers = material
    fair = {**speakers, "gender": ["fm"[i // 12] for i in range(24)]}
    found = overview(pv.audit(trials, speakers=fair, by="gender", replicates=50))
    assert not any(part.verdict for part in found.headline)
    assert "by gender is shown to fare worse" in plain(found.headline)


def test_without_intervals_nothing_is_said_of_chance(audited):
    found = overview(audited(by="gender", intervals=False))
    assert found.tally == {}
    assert "beyond chance can't be told" in plain(found.headline)
    assert not found.proven


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_names_are_whole_at_any_width(audit, width):
    told = drawn(audit, width)
    assert max(map(len, told.splitlines())) <= width
    assert "…" not in told
    assert "f are locked out more often than m" in " ".join(told.split())
    assert len(told.splitlines()) <= 45


def test_a_point_that_is_missed_is_told_by_what_it_comes_to(material):
    trials, speakers = material
    far = {**trials, "score": [score - 100 for score in trials["score"]]}
    found = overview(
        pv.audit(
            trials,
            speakers=speakers,
            by="gender",
            operating_points="fpr=0.01",
            threshold_from=far,
            replicates=50,
        )
    )
    assert found.threshold.startswith("set for 1 %, but 100 % of impostors get in")


def test_systems_with_other_trials_are_compared_on_those_in_common(material):
    trials, speakers = material
    n = len(trials["score"])
    fewer = {name: cells[: n - 40] for name, cells in trials.items()}
    audit = pv.audit(
        {"A": trials, "B": fewer}, speakers=speakers, by="gender", compare=True, replicates=50
    )
    found = overview(audit)
    assert all("of the trials in common" in one.compared for one in found.whole)
    assert any("in common, which are compared" in one.short for one in found.caveats)
