"""Tables for papers: chosen by name, systems side by side, captions with the trials."""

import polars as pl
import pytest

import parivox as pv
from parivox.cli import main
from parivox.report.sheets.paper import PAPER_TABLES, latex, markdown, paper

PEOPLE = {"id": list("abcd"), "gender": ["f", "f", "m", "m"], "age": ["18", "40", "18", "40"]}


def _scores(shift):
    """Scores of four speakers, two trials of each with itself and all pairs, some across gender."""
    rows = []
    for i, enrolled in enumerate("abcd"):
        rows += [(f"{enrolled}/1", f"{enrolled}/{k}", 1.0 - shift * (i + k) / 4, 1) for k in (2, 3)]
        rows += [(f"{enrolled}/1", f"{other}/2", shift * i / 4, 0) for other in "abcd"[:i]]
    return pl.DataFrame(rows, schema=["enrol", "test", "score", "label"], orient="row")


@pytest.fixture(scope="module", params=[1, 2], ids=["one system", "two systems"])
def audit(request):
    frames = {"A": _scores(0.5), "B": _scores(0.6)}
    scores = dict(list(frames.items())[: request.param])
    options = {"by": ["gender", "age", "gender+age"], "operating_points": ["threshold=0.4"]}
    return pv.audit(scores, PEOPLE, intervals=False, **options)


@pytest.fixture
def folder(audit, tmp_path):
    audit.save(tmp_path / "audit")
    return str(tmp_path / "audit")


@pytest.mark.slow
def test_tables_are_chosen_by_name(audit):
    titles = {name: [sheet.title for sheet in paper(audit, [name])] for name in PAPER_TABLES}
    assert all(titles.values())
    all_titles = [title for name in PAPER_TABLES for title in titles[name]]
    assert len(all_titles) == len(set(all_titles))  # no table has two names
    assert {sheet.title for sheet in paper(audit)} <= set(all_titles)


def test_rates_of_systems_stand_side_by_side(audit):
    sheet = next(paper(audit, ["rates"]))
    names = [row["system"] for row in audit.operating_points.rows()]
    heads = [column.head for column in sheet.columns if column.span_head]
    assert heads == names * 2
    rates = {
        (row["group"], row["metric"], row["system"]): row
        for row in audit.groups.rows()
        if row["grouping"] == "gender" and row["metric"] in {"fnr", "fpr"}
    }
    for cells in sheet.rows:
        shown = [cell.text for cell in cells[-2 * len(names) :]]
        keys = [(cells[0].text, metric, name) for metric in ("fnr", "fpr") for name in names]
        for text, key in zip(shown, keys, strict=True):
            row = rates[key]
            figure, counts = text.split()
            assert float(figure) == pytest.approx(100 * row["value"], rel=0.01, abs=0.005)
            assert counts == f"({row['errors']}/{row['trials']})"


@pytest.mark.parametrize("name", ["rates", "groups", "crosstabs"])
def test_captions_state_trials_and_those_in_no_group(audit, name):
    for sheet in paper(audit, [name]):
        if "gender" in sheet.title.replace(":", "").split() and " by " not in sheet.title:
            assert "8 target and 2 nontarget; 4 nontarget trials are in no group" in sheet.reading
        assert "False accepts of a group: counted over nontarget trials with both" in sheet.reading


def test_captions_state_the_allocation():
    options = {"allocate": "enrol", "operating_points": ["threshold=0.4"], "intervals": False}
    audit = pv.audit(_scores(0.5), PEOPLE, by="gender", **options)
    (sheet, *_) = paper(audit, ["rates"])
    assert "nontarget trials with the enrolment speaker in the group" in sheet.reading
    assert "in no group" not in sheet.reading


@pytest.mark.parametrize(("kind", "encode"), [("latex", latex), ("markdown", markdown)])
def test_the_command_prints_the_table_that_is_asked_for(folder, audit, capsys, kind, encode):
    main(["report", folder, "--format", kind, "--table", "rates, thresholds"])
    printed = capsys.readouterr().out
    assert printed == encode(audit, ["rates", "thresholds"])
    assert "Thresholds" in printed
    assert "error rates of A" in printed
    assert "Limitations" not in printed


def test_a_table_file_has_the_table_that_is_asked_for(audit, tmp_path):
    pv.write_tables(audit, tmp_path / "rates.tex", table="rates")
    assert (tmp_path / "rates.tex").read_text() == latex(audit, ["rates"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--format", "latex", "--table", "rate"], "'rate' is not known; did you mean"),
        (["--out", "x.html", "--table", "rates"], "leave it out"),
        (["--format", "metrics", "--table", "rates"], "not to metrics; leave it out"),
        (["--figures", "figures", "--table", "rates"], "leave it out"),
    ],
)
def test_a_table_that_cannot_be_written_is_refused(folder, capsys, tmp_path, arguments, message):
    paths = [str(tmp_path / text) if text in {"x.html", "figures"} else text for text in arguments]
    with pytest.raises(SystemExit) as stop:
        main(["report", folder, *paths])
    assert stop.value.code == 2
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["audit"]


@pytest.mark.slow
def test_a_caption_of_verdicts_states_the_conditions_on_which_they_are_confirmatory(audited):
    audit = audited(by="gender", operating_points=["fpr=0.01", "eer"])
    first_caption, second_caption = (
        line for line in latex(audit, ["groups"]).split("\n") if line.startswith(r"\caption{model:")
    )
    assert "fpr=0.01, confirmatory if the conditions under Confidence hold." in first_caption
    assert (
        "Confidence: the verdicts by gender at fpr=0.01 are confirmatory only if" in first_caption
    )
    assert "eer, exploratory." in second_caption
    assert "Confidence" not in second_caption
    # the findings of a whole section of Markdown state these conditions
    assert markdown(audit).count("confirmatory only if") == 1
    assert markdown(audit, ["groups"]).count("confirmatory only if") == 1
