"""The folder of figures: every figure in every format, an index, and nothing else touched."""

import re

import pytest

import parivox as pv
from parivox.errors import ConfigError
from parivox.report import figures as module

pytestmark = pytest.mark.slow

MARK = "<!-- Parivox 0.1.0: parivox report --figures -->\n"


@pytest.fixture
def drawn(monkeypatch):
    """Stand in for drawing: figures of these names."""

    def names(*figure_names):
        index = MARK + "".join(f"[svg]({name}.svg)\n" for name in figure_names)
        files = {f"{name}.svg": name.encode() for name in figure_names} | {
            "index.md": index.encode()
        }
        monkeypatch.setattr(module, "_figure_files", lambda audit, formats: files)

    return names


@pytest.fixture(scope="module")
def figure_folder(unsure, tmp_path_factory, optional):
    """Every figure in every format, in a folder that holds nothing else."""
    optional("vl_convert")
    home = tmp_path_factory.mktemp("report") / "figures"
    pv.write_figures(unsure, home, formats=("svg", "png", "pdf"))
    return home


def test_every_figure_is_written_with_an_index(figure_folder):
    home = figure_folder
    names = {path.name for path in home.iterdir()}
    index = (home / "index.md").read_text(encoding="utf-8")
    stems = {name.partition(".")[0] for name in names - {"index.md"}}
    assert len(stems) > 3
    assert names == {f"{stem}.{kind}" for stem in stems for kind in module.FORMATS} | {"index.md"}
    for stem in stems:
        assert f"[pdf]({stem}.pdf)" in index
        assert (home / f"{stem}.svg").read_text(encoding="utf-8").startswith("<svg")
        assert (home / f"{stem}.png").read_bytes().startswith(b"\x89PNG")
        assert (home / f"{stem}.pdf").read_bytes().startswith(b"%PDF")
        assert "var(--" not in (home / f"{stem}.svg").read_text(encoding="utf-8")
    assert index.count("\n## ") == len(stems)
    assert [path.name for path in home.parent.iterdir()] == ["figures"]


def test_what_is_for_one_column_of_a_paper_fits_it(unsure, tmp_path, optional):
    optional("vl_convert")
    pv.write_figures(unsure, tmp_path / "f")
    column_lines = re.findall(
        r"For (one column|two columns) of a paper: \[svg\]\((.*?)\)",
        (tmp_path / "f" / "index.md").read_text(encoding="utf-8"),
    )
    assert {columns for columns, _ in column_lines} == {"one column", "two columns"}
    assert sum(columns == "one column" for columns, _ in column_lines) > len(column_lines) / 3
    assert {name for _, name in column_lines} == {
        path.name for path in (tmp_path / "f").glob("*.svg")
    }
    for columns, name in column_lines:
        drawn = (tmp_path / "f" / name).read_text(encoding="utf-8")
        width, height = (
            float(side) / 96 for side in re.findall(r'(?:th|ght)="([\d.]+)"', drawn)[:2]
        )
        if columns == "one column":
            assert width <= 3.5, name
            assert height <= 5, name
        assert width <= 7, name


def test_the_same_audit_gives_the_same_bytes(unsure, figure_folder, tmp_path):
    pv.write_figures(unsure, tmp_path / "again", formats=module.FORMATS)
    for path in figure_folder.iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes(), path.name


def test_figures_of_an_earlier_report_are_replaced(unsure, tmp_path, drawn):
    drawn("one", "two")
    pv.write_figures(unsure, tmp_path / "f")
    drawn("two", "three")
    pv.write_figures(unsure, tmp_path / "f")
    assert {p.name for p in (tmp_path / "f").iterdir()} == {"two.svg", "three.svg", "index.md"}


def test_other_files_are_refused_and_kept(unsure, tmp_path, drawn):
    drawn("one")
    pv.write_figures(unsure, tmp_path)
    (tmp_path / "thesis.svg").write_text("mine")
    with pytest.raises(
        ConfigError, match=r"contains 'thesis.svg', which is not part of an earlier report"
    ):
        pv.write_figures(unsure, tmp_path)
    assert (tmp_path / "thesis.svg").read_text() == "mine"


def test_an_index_of_someone_else_is_no_leave_to_replace(unsure, tmp_path, drawn):
    drawn("one")
    (tmp_path / "index.md").write_text("# Mine\n[svg](one.svg)\n")
    (tmp_path / "one.svg").write_text("mine")
    with pytest.raises(ConfigError, match=r"contains 'index.md'"):
        pv.write_figures(unsure, tmp_path)


def test_figures_of_a_report_that_was_killed_are_known(unsure, tmp_path, drawn, ended):
    for name, figure in (("old", "one"), ("new", "two")):
        drawn(figure)
        pv.write_figures(unsure, tmp_path / name)
    for out in ended(tmp_path / "old", tmp_path / "new", ["one.svg"], "SIGKILL"):
        pv.write_figures(unsure, out)
        assert {path.name for path in out.iterdir()} == {"two.svg", "index.md"}


def test_what_cannot_be_written_is_a_sentence(unsure, tmp_path, drawn):
    drawn("one")
    (tmp_path / "file").write_text("x")
    for folder, message in (
        (tmp_path / "file", "is a file, not a folder"),
        (tmp_path / "no" / "deeper", "does not exist"),
        (tmp_path / ("n" * 300), "folder is '.*'; give the name of a file or folder"),
    ):
        with pytest.raises(ConfigError, match=message):
            pv.write_figures(unsure, folder)


@pytest.mark.parametrize("formats", [("jpg",), (), "svg", ("svg", "")])
def test_formats_that_are_none(unsure, tmp_path, formats):
    with pytest.raises(ConfigError, match="choose from svg, png, pdf"):
        pv.write_figures(unsure, tmp_path / "f", formats=formats)
    assert list(tmp_path.iterdir()) == []
