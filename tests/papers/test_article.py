"""docs/papers.md says what the papers' items come to now."""

import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest

import parivox as pv
from parivox.report.charts import svg

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "papers.md"


def note_values(row):
    return json.loads(row["values"])


@pytest.fixture(scope="module")
def written_by():
    """`examples/papers.py`, which writes its tables."""
    sys.path.insert(0, str(ROOT / "examples"))
    try:
        spec = importlib.util.spec_from_file_location("papers", ROOT / "examples" / "papers.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(ROOT / "examples"))
    return module


def test_its_tables_are_of_today(reproduced, written_by):
    text = PAGE.read_text(encoding="utf-8")
    assert written_by.page(reproduced, text) == text, "mend with: python examples/papers.py"


def test_its_figures_are_there_and_drawn(reproduced, written_by):
    shown = set(re.findall(r"assets/(papers-\w+)\.svg", PAGE.read_text(encoding="utf-8")))
    drawn = {name: svg(chart) for name, chart in written_by.figures(reproduced)}
    assert shown == {*drawn}
    assert all(picture.startswith("<svg") for picture in drawn.values())
    assert all((PAGE.parent / "assets" / f"{name}.svg").is_file() for name in shown)


def test_its_bullets_are_of_the_figures(reproduced):
    text = " ".join(PAGE.read_text(encoding="utf-8").split())

    def figures_of(paper, item, quantity):
        rows = reproduced[paper, item].figures.rows()
        return {row["row"]: row for row in rows if row["quantity"] == quantity}

    (women,), (from_elsewhere,) = (
        figures_of("001", "claim 8", f"cost over that of {whom}").values()
        for whom in ("men", "people from the USA")
    )
    assert f"the cost for women is {women['exact']:.1f} times the cost for men" in text
    assert f"for people from other countries is {from_elsewhere['exact']:.1f} times the" in text
    assert figures_of("001", "claim 8", "EER over that of everyone")["women"]["p_holm"] > 0.05
    biases = figures_of("001", "table 4", "subgroup bias")
    bias = sorted(row["exact"] for row in biases.values())
    assert bias[-4] == biases["mexico_m"]["exact"], "fourth worst"
    turned = [g for g, row in biases.items() if (row["exact"] > 1) != (row["printed"] > 1)]
    off = [g for g, row in biases.items() if abs(row["exact"] - row["printed"]) > 0.05]
    assert turned == off == ["mexico_m"]
    assert "Three of 18 intervals exclude 1; most intervals span a factor of two" in text
    assert sum(not row["low"] < 1 < row["high"] for row in biases.values()) == 3
    assert sum(row["high"] > 2 * row["low"] for row in biases.values()) > 18 / 2
    assert [g for g, row in biases.items() if row["p_holm"] < 0.05] == ["usa_m"], "one of 18"
    few = sum(note_values(row)["number_of_speakers"]["speakers"] < 30 for row in biases.values())
    assert f"{few} of the 18 groups have fewer than 30 speakers" in text
    assert biases["india_f"]["high"] > 8, "eight times"
    assert biases["india_f"]["low"] < 1, "or below"
    india = figures_of("001", "table 5", "FPR ratio")["india_f"]
    interval = f"(interval {india['low']:.1f} to {india['high']:.0f})"
    assert f"{india['exact']:.0f} times the average {interval}" in text
    trials, spoken = (
        figures_of("001", "table 2", f"{unit}, %") for unit in ("trials", "utterances")
    )
    apart = max(abs(row["exact"] - trials[name]["exact"]) for name, row in spoken.items())
    assert f"differ from shares of utterances by at most {apart:.2f} points" in text
    fnr = [
        f"{row['exact']:.2f} %"
        for row in figures_of("002", "figure 1", "FNR at an FPR of 1 %, %").values()
    ]
    assert f"the FNR without trivial pairs is {fnr[1]} instead of {fnr[0]}" in text
    fdr, nrb = (
        figures_of("000", "claim 4.2", name)["all groups"]["exact"] for name in ("FDR", "NRB")
    )
    assert f"At an FPR of 0.1 %, FDR is {fdr:.3f} and NRB is {nrb:.3f}" in text
    assert "beyond its floor only where rates are large" in text
    shown = [row["p_holm"] < 0.05 for row in figures_of("000", "figure 2", "NRB of FPR").values()]
    assert shown == [False, False, False, True, True]
    lists, people = (
        figures_of("002", "figure 3", f"sd over {unit}, %") for unit in ("lists", "speakers")
    )
    times = {name: people[name]["exact"] / lists[name]["exact"] for name in lists}
    assert min(times, key=times.get) == "Canada, n = 25"
    assert 1.5 < sorted(times.values())[1] < max(times.values()) < 5.5, "two to five times"
    garbe = figures_of("003", "claim 5", "GARBE")
    assert all(row["exact"] > row["floor_95"] for row in garbe.values()), "all five"
    fair = {name: note_values(row)["mean_of_fair_systems"]["mean"] for name, row in garbe.items()}
    least = "ResNetSE34L"
    gaps = {
        name: (garbe[name]["exact"] - garbe[least]["exact"], fair[name] - fair[least])
        for name in garbe
    }
    assert all(chance > gap / 2 for gap, chance in (gaps["ERes2Net"], gaps["CAM++"]))
    assert gaps["ResNetSE34V2"][1] < gaps["ResNetSE34V2"][0] / 4


@pytest.mark.minimal
def test_every_paper_stands_under_its_title_and_authors():
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    for paper in pv.papers.PAPERS.values():
        assert f"## {paper.title} {paper.authors}, {paper.year}" in text
