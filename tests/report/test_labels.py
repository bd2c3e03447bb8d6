"""Labels: people read women, ResNet and strict where the data say f, V2 and fpr=0.01."""

import io
import re
import shutil

import pytest

import parivox as pv
from parivox.errors import ConfigError
from parivox.report.charts import figures
from parivox.report.html import html_report
from parivox.report.notebook import html
from parivox.report.overview import overview, plain_text
from parivox.report.sheets.paper import latex, markdown
from parivox.report.terminal import summary

LABELS = {
    "f": "women",
    "m": "men",
    "nation=India": "born in India",
    "gender": "sex",
    "nation": "country",
    "model": "ResNet",
    "fpr=0.01": "strict",
    "nobody": "no one",
}
NAMES = re.compile(r"(?<![\w=])(?:[fm]\+|gender\b|nation\b)|(?<!in )India|fpr=0\.01(?!\d)")


@pytest.fixture(scope="module")
def audit(audited):
    return audited(by=["gender", "nation", "gender+nation"], operating_points=["fpr=0.01"])


@pytest.fixture(scope="module")
def shown(audit):
    return pv.labelled(audit, {"labels": LABELS})


def in_terminal(audit):
    from rich.console import Console

    from parivox.report.full_tables import every_table

    out = io.StringIO()
    for renderable in (every_table(audit), summary(audit)):
        Console(file=out, width=120, highlight=False).print(renderable)
    return " ".join(out.getvalue().split())  # wrapped lines as one


def in_workbook(audit):
    openpyxl = pytest.importorskip("openpyxl")
    from parivox.report.sheets.workbook import workbook

    book = openpyxl.load_workbook(io.BytesIO(workbook(audit)), read_only=True)
    cells = (str(cell) for sheet in book for row in sheet.values for cell in row if cell)
    return "\n".join(cell for cell in cells if cell != "fpr=0.01")  # as it was given


def in_figures(audit):
    return "\n".join(
        f"{figure.title} {figure.reading} {figure.description} {figure.chart}"
        for figure in figures(audit)
    )


def on_page(audit):
    text = re.sub(r"(?s)<(script|style).*?</\1>|<[^>]*>", " ", html_report(audit))
    return re.sub("parivox audit .*", "", text.partition("Method, definitions and provenance")[0])


@pytest.mark.slow
@pytest.mark.parametrize(
    "medium", [html, markdown, latex, in_terminal, in_workbook, in_figures, on_page]
)
def test_every_medium_shows_labels_in_the_place_of_names(audit, shown, medium):
    text = medium(shown)
    for label in ("women+born in India", "men", "sex", "ResNet", "strict"):
        assert label in text, label
    of_files = r"--\w+ (?:gender|nation)|Names in the audit.{0,5}s files.*"
    assert not NAMES.findall(re.sub(of_files, "", text))
    assert NAMES.search(medium(audit))


def test_the_finding_is_the_same_in_other_words(audit, shown):
    words = plain_text(overview(shown).headline)
    assert (
        words
        == "False rejects are more frequent among women than among men: 2.1 times as frequent "
        "[1.3, 3.4]"
    )
    assert overview(shown).verdict_counts == overview(audit).verdict_counts
    assert (
        overview(shown).threshold
        == "one common threshold, at which 1 % of nontarget trials are accepted (strict)"
    )


@pytest.mark.slow
def test_what_is_written_keeps_the_names_of_the_data(audit, shown, tmp_path):
    assert shown.to_json() == audit.to_json()
    audit.save(tmp_path / "plain")
    (tmp_path / "labelled").mkdir()
    shutil.copy(tmp_path / "plain" / "private.json", tmp_path / "labelled")
    shown.save(tmp_path / "labelled")
    for file in (tmp_path / "plain").iterdir():
        assert file.read_bytes() == (tmp_path / "labelled" / file.name).read_bytes()


def test_labels_that_name_something_are_told_apart_from_those_that_do_not(shown):
    assert shown.record["labels"] == {k: v for k, v in LABELS.items() if k != "nobody"}


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_the_page_tells_what_labels_stand_for_and_the_command_with_names(audit):
    text = html_report(audit, context={"labels": LABELS})
    assert "women: f; men: m" in text
    assert "--by gender+nation" in text


def test_two_groups_of_one_label_are_told_apart_by_their_names(audit):
    labelled = pv.labelled(audit, {"labels": {"f": "people", "m": "people", "India": "pooled"}})
    groups = {row["group"] for row in labelled.groups.subset(grouping="gender")}
    assert groups == {"people (f)", "people (m)", "pooled"}
    assert "pooled (India)" in {row["group"] for row in labelled.groups.subset(grouping="nation")}


@pytest.mark.slow
def test_labels_of_any_script_stand_as_they_are(audit):
    arabic = "\u0646\u0633\u0627\u0621"
    labelled = pv.labelled(audit, {"labels": {"f": arabic, "m": "\u202emen"}})
    assert arabic in markdown(labelled)
    assert arabic in html(labelled)
    assert "\u202e" not in html(labelled)


def test_without_labels_the_audit_is_as_it_was(audit):
    assert pv.labelled(audit, {"purpose": "a door"}) is audit
    assert pv.labelled(audit, None) is audit


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        ({"f": "x" * 200}, "the label of 'f' has 200 characters; write 1 to 60"),
        ({"f": ""}, "the label of 'f' is empty; write 1 to 60"),
        (
            {"f": "a+b"},
            "the label of 'f' contains '+', which joins names; write the label without this sign",
        ),
        ({"f": ["a"]}, "the label of 'f' is a list; write it as one text"),
        ("women", "labels is a single text; write lines such as 'f: women'"),
        ({}, "context: labels is empty; write lines such as 'f: women'"),
    ],
)
def test_what_is_no_label_is_refused_in_a_sentence(audit, labels, sentence):
    with pytest.raises(ConfigError) as error:
        pv.labelled(audit, {"labels": labels})
    assert sentence in str(error.value)
