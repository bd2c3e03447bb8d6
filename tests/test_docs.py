"""The documentation names everything that a user can write or will read."""

import html
import re
import shlex
import tomllib
from importlib.metadata import metadata
from pathlib import Path

import pytest
import yaml

import parivox as pv
from parivox.data.trials import OLD_EXCLUDE
from parivox.options.audit import OLD_FAIL_CONDITION

DOCS = Path(__file__).parents[1] / "docs"
METRIC_PAGES = [DOCS / "methods" / f"{name}.md" for name in ("rates", "costs", "bias-measures")]
PAGES = sorted([*DOCS.rglob("*.md"), *DOCS.parent.glob("*.md")])


def text(name):
    return (DOCS / name).read_text(encoding="utf-8")


def commands_of(parser):
    """A parser and those of its commands, and of theirs."""
    inner = parser._subparsers._group_actions if parser._subparsers else []
    below = [command for group in inner for command in group.choices.values()]
    return [parser, *(subcommand for command in below for subcommand in commands_of(command))]


@pytest.fixture
def options():
    """Long options of every command."""
    from parivox.cli import parser

    actions = [action for command in commands_of(parser()) for action in command._actions]
    return {
        name
        for action in actions
        for name in action.option_strings
        if name.startswith("--") and name not in {"--help", "--help-all", "--version"}
    }


def test_every_option_is_on_the_command_line_page(options):
    assert "--speakers" in options
    assert [name for name in sorted(options) if f"`{name}" not in text("cli.md")] == []


def test_every_option_on_the_command_line_page_exists(options):
    assert (
        set(re.findall(r"--[a-z][a-z-]*", text("cli.md"))) - options - {"--help", "--help-all"}
        == set()
    )


def test_every_deprecated_name_is_on_its_page():
    renamed = re.compile(
        r"(?:renamed_attribute|renamed_function|warn_of_new_name)\(\s*\"([^\"]+)\", \"([^\"]+)\""
    )
    sources = (DOCS.parent / "src" / "parivox").rglob("*.py")
    names = [
        pair
        for source in sources
        if source.name != "renamed.py"
        for pair in renamed.findall(source.read_text(encoding="utf-8"))
    ]
    page = text("deprecations.md")
    assert len(names) > 10
    for old_name, new_name in names:
        assert f"`{old_name}`" in page
        assert new_name in page
    for word in (OLD_FAIL_CONDITION, OLD_EXCLUDE):
        assert word in page


def test_the_table_of_an_install_has_core_and_every_extra():
    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [f"parivox[{extra}]" for extra in project["optional-dependencies"] if extra != "dev"]
    rows = re.findall(
        r"^\| `(parivox.*)` \| .+ \| \+?\d+ \| \+?\d+ \|$", text("install.md"), re.MULTILINE
    )
    assert rows == ["parivox", *extras]


def test_what_is_cited_is_this_version():
    cited = (DOCS.parent / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {pv.__version__}\n" in cited


def test_every_column_is_on_the_output_page():
    from parivox.auditing.schema import TABLES

    page = text("output.md")
    missing = {
        (table, column)
        for table, columns in TABLES.items()
        for column in columns
        if f"`{column}`" not in page
    }
    assert missing == set()


def test_every_metric_has_its_page():
    from parivox import MEASURES

    pages = "".join(page.read_text(encoding="utf-8") for page in METRIC_PAGES)
    assert [name for name in MEASURES if f"`{name}`" not in pages] == []


PICTURE = re.compile(r"^!\[(.+)\]\((\.\./assets/(?:metric|chart)-.+\.svg)\)$", re.MULTILINE)


@pytest.mark.parametrize(
    "page",
    [*METRIC_PAGES, DOCS / "api" / "charts.md"],
    ids=lambda page: page.stem,
)
def test_pictures_of_charts_are_small_and_for_light_and_dark(page):
    pictures = PICTURE.findall(page.read_text(encoding="utf-8"))
    assert pictures
    for words, name in pictures:
        text = (page.parent / name).read_text(encoding="utf-8")
        assert len(words) > 20
        assert len(text) < 35_000
        assert "prefers-color-scheme:dark" in text
        assert set(re.findall(r"var\((--[\w-]+)\)", text)) <= set(re.findall(r"(--[\w-]+):", text))
        assert not re.findall(r'(?:fill|stroke)="#', text)
        assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_every_chart_has_its_picture():
    from parivox.report.charts.chart_functions import Charts

    pictures = PICTURE.findall(text("api/charts.md"))
    drawn = [re.sub(".*/chart-(.+)\\.svg", r"\1", name).replace("-", "_") for _, name in pictures]
    called = re.findall(r"^audit\.charts\.(\w+)\(", text("api/charts.md"), flags=re.MULTILINE)
    assert called == drawn
    assert set(drawn) == {name for name in vars(Charts) if not name.startswith("_")}


def test_every_cost_model_and_eer_definition_has_its_row():
    from parivox import COST_MODELS
    from parivox.core.eer import DEFINITIONS

    assert [name for name in COST_MODELS if f"`{name}`" not in text("methods/costs.md")] == []
    assert [name for name in DEFINITIONS if f"`{name}`" not in text("methods/rates.md")] == []


def code_cell(line):
    """A line as code in a table's cell, which a bar would end on GitHub, even in backticks."""
    if "|" not in line:
        return f"`{line}`"
    return f"<code>{html.escape(line, quote=False).replace('|', '&#124;')}</code>"


def row_cells(row):
    """The texts of the cells of a table's row, which bars that are not escaped separate."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]]


def code_line(cell):
    """The line that a cell shows, as `code_cell` writes it."""
    return html.unescape(re.sub("</?code>", "", cell)) if "<code>" in cell else cell.strip("`")


@pytest.mark.parametrize("line", ["a b 0.5", "a|b|0.5|T", "a|b<c|&amp;"])
def test_a_line_with_bars_is_one_cell_that_shows_it(line):
    markdown = pytest.importorskip("markdown")  # as the builder of the documentation has it
    row = f"| `x` | {code_cell(line)} | a tool | id1\\|id2 |"
    assert [code_line(cell) for cell in row_cells(row)] == ["x", line, "a tool", "id1\\|id2"]
    page = markdown.markdown(f"| a | b | c | d |\n|---|---|---|---|\n{row}", extensions=["tables"])
    shown = html.unescape(re.findall("<td><code>(.*?)</code></td>", page)[1])
    assert shown == line


@pytest.fixture
def format_lines():
    """Names of formats and a line of each, as the page "Bring your data" has them."""
    table = text("bring-your-data.md").split("## Formats of trials")[1].split("\n- ")[0]
    rows = [row_cells(row)[:2] for row in table.splitlines() if row.startswith("| `")]
    return [
        (name, code_line(cell)) for names, cell in rows[1:] for name in re.findall("`(.+?)`", names)
    ]


def test_every_format_has_its_row(format_lines):
    from parivox.data.formats import FORMATS

    assert {name for name, _ in format_lines} == set(FORMATS)
    page = text("bring-your-data.md")
    for row_format in FORMATS.values():
        for line, written_by, takes in row_format.examples:
            assert f"| `{row_format.name}` | {code_cell(line)} | {written_by} | {takes} |" in page


ROWS_BELOW_HEADERS = {
    "tar_spk_anon": "E_1 E_01 spoof spoof A17 C01 track2\n",
    "delimited": "a/1,a/2,0.5,1\n",
    "asvspoof5-sasv": "anna u01 0.5 0.6 0.7\n",
    "asvspoof5-key": "anna u01 bonafide target\n",
}


def test_every_line_is_read_in_the_format_of_its_row(format_lines, tmp_path):
    from parivox.data.columns import RequestedColumns
    from parivox.data.formats import scan

    for name, line in format_lines:
        if line:
            below = ROWS_BELOW_HEADERS.get(line.split()[0], ROWS_BELOW_HEADERS.get(name, ""))
            (tmp_path / "trials").write_text(f"{line}\n{below}", encoding="utf-8")
            scan_of_line = scan(
                tmp_path / "trials", columns=RequestedColumns(), format=None, name="trials"
            )
            assert (scan_of_line.format, line) == (name, line)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "bring-your-data.md",
        "trials.md",
        "plan.md",
        "monitor.md",
        "thresholds.md",
        "calibration.md",
        "compare.md",
        "gate.md",
    ],
)
def test_a_page_shows_what_its_commands_print(
    name, pages, script_output, program, in_one_process, tmp_path, request
):
    if name not in {"bring-your-data.md", "plan.md"}:
        request.getfixturevalue("bt4vt_data")
    assert name in pages.PAGES
    page = text(name)
    assert page.count("```console\n$ ")
    assert pages.fresh(page, tmp_path, script_output, program.parent) == page, (
        "mend with: python examples/pages.py"
    )


def test_the_workflow_of_a_gate_gives_options_that_there_are():
    from parivox.cli import parser

    (workflow,) = re.findall(r"```yaml\n(name: .*?)```", text("gate.md"), flags=re.DOTALL)
    (job,) = yaml.safe_load(workflow)["jobs"].values()
    runs = [shlex.split(step["run"]) for step in job["steps"] if "run" in step]
    assert runs[0][:2] == ["pip", "install"]
    arguments = [parser().parse_args(words) for name, *words in runs if name == "parivox"]
    assert arguments[1].audit == arguments[0].out


def heading_anchors(page):
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w-]", "", h.lower().replace(" ", "-")) for h in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS.parent).as_posix())
def test_links_lead_somewhere(page):
    dead = []
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        target, _, anchor = link.partition("#")
        if "://" in target:
            continue
        file = (page.parent / target).resolve() if target else page
        if not file.exists() or (anchor and anchor not in heading_anchors(file)):
            dead.append(link)
    assert dead == []


@pytest.fixture
def site():
    """The configuration of the site."""
    return tomllib.loads((DOCS.parent / "zensical.toml").read_text(encoding="utf-8"))["project"]


def test_addresses_of_pages_that_moved_lead_to_pages(site):
    moved = site["plugins"]["redirects"]["redirect_maps"]
    released = (Path(__file__).parent / "pages_of_0.2.0.txt").read_text(encoding="utf-8").split()
    assert {page for page in released if not (DOCS / page).is_file()} <= set(moved)
    assert [page for page in moved if (DOCS / page).exists()] == []
    assert [page for page in moved.values() if not (DOCS / page).is_file()] == []


def test_every_page_is_in_the_navigation_once(site):
    def pages(entry):
        below = entry.values() if isinstance(entry, dict) else entry
        return [entry] if isinstance(entry, str) else [page for e in below for page in pages(e)]

    shown = pages(site["nav"])
    assert sorted(shown) == sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))


SOURCES = sorted(
    file
    for folder in ("src", "tests", "benchmarks", "examples")
    for file in (DOCS.parent / folder).rglob("*")
    if file.suffix in {".py", ".md", ".json", ".yaml", ".html", ".js"}
)


@pytest.mark.slow
def test_code_cites_sections_that_exist():
    cited = {
        (file.relative_to(DOCS.parent).as_posix(), page, anchor)
        for file in SOURCES
        for page, anchor in re.findall(
            r"\bdocs/([\w/-]+\.md)(?:#([\w-]+))?", file.read_text(encoding="utf-8")
        )
    }
    page_paths = {page: DOCS / page for _, page, _ in cited if (DOCS / page).is_file()}
    assert "methods/uncertainty.md" in page_paths
    dead = [
        (file, page, anchor)
        for file, page, anchor in sorted(cited)
        if page not in page_paths or (anchor and anchor not in heading_anchors(page_paths[page]))
    ]
    assert dead == []


@pytest.mark.slow
def test_no_source_is_cited_that_a_reader_cannot_open():
    unseen = re.compile(r"\b(?:M[E]THODS|R[E]PRODUCTION)\b")
    files = [*SOURCES, *PAGES]
    assert [f.name for f in files if unseen.search(f.read_text(encoding="utf-8"))] == []


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_link_the_papers_that_they_name(page):
    text = page.read_text(encoding="utf-8")
    named = set(re.findall(r"\b[Pp]apers? (00[0-3])\b", text))
    assert named - set(re.findall(r"(?:references\.md#paper-|### Paper )(00[0-3])", text)) == set()


def test_modules_that_name_a_paper_say_where_it_is_explained():
    unexplained = [
        file.name
        for file in SOURCES
        if file.is_relative_to(DOCS.parent / "src")
        and re.search(r"\b[Pp]apers? 00[0-3]\b", text := file.read_text(encoding="utf-8"))
        and "docs/references.md" not in text
        and "docs/methods/" not in text
    ]
    assert unexplained == []


def test_every_public_name_is_on_one_page_of_the_api():
    import parivox as pv

    pages = [page.read_text(encoding="utf-8") for page in (DOCS / "api").glob("*.md")]
    shown = re.findall(r"^::: (parivox\.\S+)$", "\n".join(pages), flags=re.MULTILINE)
    assert len(set(shown)) == len(shown)
    missing = [module for module in ("parivox.sklearn", "parivox.sources") if module not in shown]
    assert missing == []
    for package in (pv, pv.shards, pv.trials):
        missing = [
            f"{package.__name__}.{name}"
            for module, names in package._HOMES.items()
            for name in names
            if module != f"parivox.{name}"
            and f"{package.__name__}.{name}" not in shown
            and module not in shown
        ]
        assert missing == []


def test_every_module_of_pure_functions_is_in_the_api():
    core = DOCS.parent / "src" / "parivox" / "core"
    pages = "".join(page.read_text(encoding="utf-8") for page in (DOCS / "api").glob("*.md"))
    modules = [file.stem for file in core.glob("[a-z]*.py")]
    assert len(modules) > 20
    assert [name for name in modules if f"::: parivox.core.{name}\n" not in pages] == []


@pytest.mark.parametrize(
    "word", ["G2min", "G2avg", "FDR", "FaDR", "IR", "GARBE", "NRB", "TB", "minCDet", "FPD", "FNMR"]
)
def test_the_glossary_has_the_words_of_the_papers(word):
    assert re.search(rf"\b{word}\b", text("glossary.md").split("## Words of the papers")[1])


def test_the_wheel_says_what_it_is():
    from parivox import __version__

    about = metadata("parivox")
    assert about["Version"] == __version__
    assert about["License-Expression"] == "Apache-2.0"


def test_the_architecture_names_files_that_exist():
    page = (DOCS.parent / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = re.findall(r"`([a-z_]+/[\w/]*\w\.(?:py|j2|js)|[a-z_]+/(?:[a-z_]+/)*)`", page)
    root = DOCS.parent / "src" / "parivox"
    gone = [
        name for name in named if not (root / name).exists() and not (DOCS.parent / name).exists()
    ]
    assert len(named) > 40
    assert gone == []
