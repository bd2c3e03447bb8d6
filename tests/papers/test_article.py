"""docs/papers.md says what the papers' items come to now."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

import parivox as pv

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "papers.md"


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
    assert shown == {name for name, _ in written_by.figures(reproduced)}
    assert all((PAGE.parent / "assets" / f"{name}.svg").is_file() for name in shown)


def test_its_bullets_are_of_the_figures(reproduced):
    text = " ".join(PAGE.read_text(encoding="utf-8").split())

    def of(paper, item, quantity):
        found = reproduced[paper, item].figures.rows()
        return {row["row"]: row for row in found if row["quantity"] == quantity}

    (women,), (others,) = (
        of("001", "claim 8", f"cost over that of {whom}").values()
        for whom in ("men", "people from the USA")
    )
    assert f"women together cost {women['exact']:.1f} times as much as men" in text
    assert (
        f"people from elsewhere {others['exact']:.1f} times as much as those from the USA" in text
    )
    assert of("001", "claim 8", "EER over that of everyone")["women"]["p_holm"] > 0.05
    bias = sorted(row["exact"] for row in of("001", "table 4", "subgroup bias").values())
    assert bias[-4] == of("001", "table 4", "subgroup bias")["mexico_m"]["exact"], "fourth worst"
    fdr, nrb = (of("000", "claim 4.2", name)["all groups"]["exact"] for name in ("FDR", "NRB"))
    assert f"At an FPR of 0.1 % FDR is {fdr:.3f} and NRB {nrb:.3f}" in text
    assert "beyond its floor only where rates are large" in text
    shown = [row["p_holm"] < 0.05 for row in of("000", "figure 2", "NRB of FPR").values()]
    assert shown == [False, False, False, True, True]
    lists, people = (of("002", "figure 3", f"sd over {what}, %") for what in ("lists", "speakers"))
    times = {name: people[name]["exact"] / lists[name]["exact"] for name in lists}
    assert min(times, key=times.get) == "Canada, n = 25"
    assert 1.5 < sorted(times.values())[1] < max(times.values()) < 5.5, "two to five times"
    garbe = of("003", "claim 5", "GARBE")
    fair = {name: float(row["note"].split()[3]) for name, row in garbe.items()}
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
