"""The notebooks hold what their cells show, and end with what they promise."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture(scope="module")
def notebooks():
    spec = importlib.util.spec_from_file_location("notebooks", EXAMPLES / "notebooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def texts(notebook):
    """What cells show, without pictures, whose bytes depend on the library that draws them."""
    return [
        (cell["id"], output.get("text") or output["data"].get("text/plain"))
        for cell in notebook["cells"]
        for output in cell.get("outputs", [])
    ]


@pytest.mark.slow
def test_the_notebook_of_a_figure_shows_what_it_holds(notebooks, tmp_path, optional):
    optional("vl_convert")
    optional("pandas")
    (path,) = notebooks.NOTEBOOKS
    stored = json.loads(path.read_text(encoding="utf-8"))
    fresh = notebooks.executed(stored, tmp_path)
    assert texts(fresh) == texts(stored), "run python examples/notebooks.py"
    assert path.read_text(encoding="utf-8") == notebooks.written(stored)
    (chart,) = [cell for cell in fresh["cells"] if cell["id"] == "chart"]
    assert "".join(chart["outputs"][0]["data"]["image/svg+xml"]).startswith("<svg")

    svg = next(tmp_path.glob("figures/forest-*.svg")).read_text(encoding="utf-8")
    assert float(re.search(r'width="([\d.]+)"', svg)[1]) <= 3.5 * 96
    assert next(tmp_path.glob("figures/forest-*.pdf")).read_bytes().startswith(b"%PDF")
    caption = "".join(texts(fresh)[-1][1])
    for words in ("nontarget trials", "60 speakers", "95 % confidence intervals over speakers"):
        assert words in " ".join(caption.split())


def test_a_cell_shows_what_it_prints_and_its_last_expression(notebooks):
    outputs = notebooks.outputs_of("print('a')\nx = 1\nx + 1", {}, 3)
    assert [output["output_type"] for output in outputs] == ["stream", "execute_result"]
    assert outputs[1]["data"] == {"text/plain": ["2"]}
    assert notebooks.outputs_of("x = 1", {}, 1) == []
