"""``parivox report`` and ``parivox audit --report`` as a process."""

import json
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def home(parivox, files, tmp_path_factory):
    """A folder with an audit in `audit`."""
    folder = tmp_path_factory.mktemp("report")
    done = parivox("audit", files / "scores.csv", "--speakers", files / "speakers.csv",
                   "--by", "gender", "--operating-point", "fpr=0.2", "--out", folder / "audit",
                   "--quiet")  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def refused(parivox, home):
    """Run the command where it must refuse, and write nothing."""

    def run(*words, message, command="report"):
        before = sorted(home.rglob("*"))
        done = parivox(command, *words, cwd=home)
        assert done.returncode == 2, done.stderr
        assert (done.stdout, done.stderr.count("\n")) == ("", 1)
        assert re.search(message, done.stderr), done.stderr
        assert sorted(home.rglob("*")) == before

    return run


def scores(files):
    return files / "scores.csv", "--speakers", files / "speakers.csv", "--by", "gender"


def test_help_names_the_command_and_its_options(parivox):
    assert "report" in parivox("--help").stdout
    help_text = parivox("report", "--help").stdout
    for option in ("--out", "--format", "--figures", "--formats", "--title", "--context",
                   "--speaker-ids"):  # fmt: skip
        assert option in help_text
    assert "--report" in parivox("audit", "--help").stdout


@pytest.mark.usefixtures("undrawn")
def test_a_page_is_written_with_what_the_documentation_tells_of_it(parivox, home, optional):
    optional("vl_convert")
    page = (DOCS / "tutorials" / "auditor.md").read_text(encoding="utf-8")
    (home / "context.yaml").write_text(page.split("context.yaml -->\n```yaml\n")[1].split("```")[0])
    done = parivox("report", "audit", "--out", "page.html", "--title", "Doors <1>",
                   "--context", "context.yaml", cwd=home)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == ("page.html: the page; it opens in any browser, and needs no network\n")
    text = (home / "page.html").read_text(encoding="utf-8")
    for phrase in ("Doors &lt;1&gt;", "unlocking the front doors", "older tenants", "2026-03-01"):
        assert phrase in text


def test_an_audit_writes_the_same_page_at_its_end(parivox, home, files, optional, tmp_path):
    optional("vl_convert")
    done = parivox("audit", *scores(files), "--operating-point", "fpr=0.2", "--quiet",
                   "--out", tmp_path / "audit", "--report", tmp_path / "a.html")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert f"Report: {tmp_path / 'a.html'}" in " ".join(done.stdout.split())
    again = parivox("report", tmp_path / "audit", "--out", tmp_path / "b.html")
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"audit", "a.html", "b.html"}


@pytest.mark.usefixtures("undrawn")
def test_json_stays_json_with_a_page(parivox, files, optional, tmp_path):
    optional("vl_convert")
    done = parivox("audit", *scores(files), "--no-intervals", "--quiet", "--json",
                   "--report", tmp_path / "a.html")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["groupings"] == ["gender"]
    assert (tmp_path / "a.html").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("words", "begins"),
    [
        (("--format", "markdown"), "<!-- Parivox"),
        (("--format", "latex"), "% Parivox"),
        (("--format", "metrics"), '{\n "parivox/version"'),
        (("--format", "model-index"), "# Parivox"),
    ],
)
def test_text_goes_to_standard_output(parivox, home, words, begins):
    done = parivox("report", "audit", *words, "--quiet", cwd=home)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(begins)
    name = {"<": "a.md", "%": "a.tex", "{": "a.json", "#": "a.yaml"}[begins[0]]
    parivox("report", "audit", "--out", name, cwd=home)
    assert (home / name).read_text(encoding="utf-8") == done.stdout


def test_text_is_utf8_whatever_the_terminal(parivox, home):
    done = parivox("report", "audit", "--format", "markdown", "--quiet", cwd=home,
                   PYTHONIOENCODING="latin-1:replace")  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_a_workbook_is_written(parivox, home, optional):
    openpyxl = optional("openpyxl")
    done = parivox("report", "audit", "--out", "a.xlsx", cwd=home)
    assert done.returncode == 0, done.stderr
    assert "groups" in openpyxl.load_workbook(home / "a.xlsx").sheetnames


def test_figures_and_page_may_be_asked_for_at_once(parivox, home, optional):
    optional("vl_convert")
    done = parivox("report", "audit", "--out", "b.html", "--figures", "f", "--formats", "svg",
                   cwd=home)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 2
    assert (home / "f" / "index.md").exists()
    assert {path.suffix for path in (home / "f").iterdir()} == {".svg", ".md"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "no output is requested; give --out report.html"),
        (("--out", "a.doc"), "the ending of the name is not a known format"),
        (("--out", "-"), "--out -: standard output is not a file"),
        (("--figures", "-"), "--figures -: standard output is not a folder; name a folder"),
        (("--out", "no/a.html"), "no does not exist"),
        (("--out", "audit"), "the ending of the name is not a known format"),
        (("--format", "docx"), "choose from markdown, latex, xlsx, metrics, model-index"),
        (("--format", "xlsx"), "name a file with --out"),
        (("--format", "latex", "--title", "T"), "--title applies only to a page"),
        (("--out", "a2.md", "--context", "c.yaml"), "c.yaml"),
        (("--figures", "g", "--speaker-ids", "never"), "--speaker-ids applies only to a page"),
        (("--out", "a2.md", "--formats", "svg"), "--formats applies only to figures"),
        (("--figures", "g", "--formats", "jpg"), "'jpg' is not a format of figures"),
        (("--figures", "audit"), "which is not part of an earlier report"),
        (("--out", "x.html", "--context", "none.yaml"), "none.yaml"),
        (("--out", "x.html", "--speaker-ids", "all"), "choose never or offenders"),
        (("--out", "x.html", "--speaker-ids", "offenders"), "audit again with --speaker-ids"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(refused, words, message):
    refused("audit", *words, message=message)


def test_the_files_of_an_audit_are_not_replaced(refused):
    refused(
        "audit",
        "--format",
        "markdown",
        "--out",
        "audit/audit.json",
        message="was not written by Parivox",
    )


@pytest.mark.parametrize("damage", ["gone", "part", "altered", "newer"])
def test_a_folder_that_holds_no_whole_audit_is_refused(parivox, home, tmp_path, damage):
    import shutil

    folder = tmp_path / "audit"
    if damage != "gone":
        shutil.copytree(home / "audit", folder)
    if damage == "part":
        (folder / "audit.json").unlink()
    if damage == "altered":
        text = (folder / "groups.csv").read_text(encoding="utf-8")
        (folder / "groups.csv").write_text(text.replace("0.2", "0.1"), encoding="utf-8")
    if damage == "newer":
        text = (folder / "audit.json").read_text(encoding="utf-8")
        text = re.sub(r'"parivox_audit": "\d+"', '"parivox_audit": "99"', text)
        (folder / "audit.json").write_text(text, encoding="utf-8")
    done = parivox("report", folder, "--format", "markdown", "--quiet")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert {"gone": "does not contain an audit", "part": "does not contain an audit",
            "altered": "groups.csv", "newer": "version '99'"}[damage] in done.stderr  # fmt: skip


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--report", "no/a.html"), "no does not exist"),
        (("--report", "-"), "--report -: standard output is not a file; name a file"),
        (("--report", "new/a.html", "--out", "new"), "is in the folder of --out"),
        (("--report", "a.html", "--context", "none.yaml"), "none.yaml"),
        (("--title", "T"), "--title applies only to a page; give --report FILE"),
        (("--context", "c.yaml"), "c.yaml"),
        (("--speaker-ids", "offenders", "--no-intervals"), "needs intervals"),
    ],
)
def test_an_audit_refuses_before_it_reads_a_score(
    parivox, files, tmp_path, words, message, optional
):
    optional("vl_convert")
    (tmp_path / "new").mkdir()
    done = parivox("audit", *scores(files), "--quiet", *words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert not any((tmp_path / "new").iterdir())


def test_a_report_of_someone_else_is_kept(parivox, files, tmp_path, optional):
    optional("vl_convert")
    (tmp_path / "a.html").write_text("<title>mine</title>")
    done = parivox("audit", *scores(files), "--no-intervals", "--report", tmp_path / "a.html")
    assert done.returncode == 2
    assert "was not written by Parivox; name another file" in done.stderr
    assert (tmp_path / "a.html").read_text() == "<title>mine</title>"


def test_speakers_are_named_only_if_that_is_asked_for_twice(parivox, files, tmp_path, optional):
    optional("vl_convert")
    audit_options = ("--quiet", "--operating-point", "fpr=0.2", "--replicates", "50")
    done = parivox("audit", *scores(files), *audit_options, "--out", tmp_path / "audit",
                   "--speaker-ids", "offenders", "--report", tmp_path / "a.html")  # fmt: skip
    assert done.returncode == 0, done.stderr
    named = re.compile(r"\bs[0-5]\b")
    assert named.search((tmp_path / "a.html").read_text(encoding="utf-8").split("<main>")[1])
    parivox("report", tmp_path / "audit", "--out", tmp_path / "b.html")
    body = (tmp_path / "b.html").read_text(encoding="utf-8").split("<main>")[1]
    assert not named.search(re.sub(r"<script.*?</script>", "", body, flags=re.DOTALL))


def test_labels_are_shown_by_every_command_and_not_written(parivox, files, home):
    (home / "labels.yaml").write_text("labels: {f: women, gender: sex, fpr=0.2: strict, g: x}\n")
    label_options = "--context", "labels.yaml"
    audit = parivox("audit", *scores(files), "--operating-point", "fpr=0.2", "--out", "own",
                    *label_options, cwd=home)  # fmt: skip
    shown = parivox("show", "audit", *label_options, cwd=home)
    table = parivox("report", "audit", "--format", "markdown", *label_options, cwd=home)
    for done in (audit, shown, table):
        assert done.returncode == 0, done.stderr
        assert "labels that name nothing in this audit: 'g'\n" in done.stderr
        assert "women" in done.stdout
        assert "gender" not in done.stdout
    groups = (home / "own" / "groups.csv").read_text()
    assert groups == (home / "audit" / "groups.csv").read_text()


def test_the_context_file_to_fill_in_can_be_used_as_it_is(parivox, home):
    template = parivox("context", cwd=home)
    assert (template.returncode, template.stderr) == (0, "")
    (home / "empty.yaml").write_text(template.stdout)
    done = parivox("report", "audit", "--format", "markdown", "--context", "empty.yaml", cwd=home)
    assert (done.returncode, done.stderr) == (0, "")
