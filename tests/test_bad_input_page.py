"""Every sentence that docs/bad-input.md shows is the one that is said."""

from pathlib import Path

import pytest

import parivox as pv
from parivox import count
from parivox.errors import ParivoxError

PAGE = (Path(__file__).parents[1] / "docs" / "bad-input.md").read_text(encoding="utf-8")
UNSHOWN = (Path(__file__).parent / "bad_input_sentences.txt").read_text(encoding="utf-8")
"""Sentences that the page leaves out."""
FILES = {
    "scores.csv": "enrol,test,score,label\na/1,a/2,0.9,1\na/1,b/1,0.2,0\nb/1,b/2,0.4,1\n",
    "people.csv": "speaker,gender,age\na,f,34\nb,m,61\n",
    "calls.csv": "call,age\na/1,34\na/2,35\nb/1,61\nb/2,61\n",
    "decisions.csv": "enrol,test,score,threshold,decision\na/1,a/2,0.61,0.5,reject\n"
    "b/1,b/2,0.4,0.5,reject\n",
    "status.csv": "enrol,test,score,label,status\na/1,a/2,0.9,1,no speech\na/1,b/1,0.2,0,ok\n",
    "enrolments.csv": "model,speaker,recording\nm1,a,a/1\nm1,b,b/1\n",
    "twice.csv": "speaker,gender\na,f\nb,m\na,m\n",
    "zeros.csv": "enrol,test,score,label\n007/1,007/2,0.9,1\n007/1,012/1,0.2,0\n",
    "excel.csv": "speaker,gender\n7,f\n12,m\n",
    "decided.txt": "a/1 a/2 accept\na/1 b/1 reject\n",
    "upper.csv": "speaker,gender\nA,f\nB,m\n",
    "rows.txt": "1 1 x 0.52\n1 2 y 0.31\n0 1 z 0.11\n",
    "groups.yaml": "groups:\n  gender:\n    women: [woman]\n    men: [m]\n",
    "no.csv": "enrol,test,score,label\na1,a2,0.9,1\na1,b1,0.2,0\n",
}


def two_sheets(folder):
    openpyxl = pytest.importorskip("openpyxl")
    workbook = openpyxl.Workbook()
    for name in ("north", "south"):
        sheet = workbook.create_sheet(name)
        for row in (("speaker", "gender"), ("a", "f"), ("b", "m")):
            sheet.append(row)
    workbook.remove(workbook.worksheets[0])
    workbook.save(folder / "two.xlsx")


def counts(folder, monkeypatch):
    scores, people = folder / "scores.csv", folder / "people.csv"
    half = FILES["scores.csv"].splitlines(keepends=True)
    for name, lines in (
        ("day1", half[:3]),
        ("again", [half[0], half[2], half[1]]),
        ("day2", [half[0], half[3]]),
    ):
        (folder / f"{name}.csv").write_text("".join(lines), encoding="utf-8")
    options = {"speakers": people, "withhold": 0}
    for name, file, more in (
        ("day1", "day1.csv", {"by": "gender"}),
        ("again", "again.csv", {"by": "gender"}),
        ("binned", "day2.csv", {"by": "gender", "step": 0.01}),
    ):
        count(folder / file, **options, **more).save(folder / f"{name}.counts")
    for site, file in (("north", "day1.csv"), ("south", "day2.csv")):
        (folder / f"{site}.key").write_text(f"{site} keeps this secret")
        binned = {"by": "gender", "step": 0.01, "key": folder / f"{site}.key"}
        count(folder / file, **options, **binned).save(folder / f"{site}.counts")
    with monkeypatch.context() as later_version:
        later_version.setattr("parivox.data.counts_file.VERSION", "4")
        count(scores, **options, by="gender").save(folder / "new.counts")


@pytest.mark.usefixtures("options_in_messages")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("scores", "options"),
    [
        ("scores.csv", {"speakers": "two.xlsx"}),
        ("scores.csv", {"speakers": "twice.csv"}),
        ("scores.csv", {"speakers": "named.csv"}),
        ("zeros.csv", {"speakers": "excel.csv"}),
        ("scores.csv", {"speakers": "people.csv", "models": "enrolments.csv"}),
        ("scores.csv", {"speakers": "people.csv", "utterances": "calls.csv", "by": "age"}),
        ("scores.csv", {"speakers": "people.csv", "groups": "groups.yaml"}),
        ("decisions.csv", {"speakers": "people.csv"}),
        ("status.csv", {"speakers": "people.csv"}),
        ("decided.txt", {}),
        ("scores.csv", {"speakers": "upper.csv"}),
        ("rows.txt", {}),
        ("no.csv", {}),
        (["day1.counts", "again.counts"], {}),
        (["day1.counts", "binned.counts"], {}),
        ([f"{site}.{kind}" for site in ("north", "south") for kind in ("counts", "tally")], {}),
        ("new.counts", {}),
        *[
            ("scores.csv", {"speakers": "people.csv", **wrong})
            for wrong in (
                {"limits": "fnr=5"},
                {"gates": "people=8"},
                {"compare": True},
                {"compare": True, "intervals": False},
                {"standardise": "same:gendre"},
            )
        ],
    ],
)
def test_the_sentence_is_as_shown(scores, options, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "named.csv").write_bytes("speaker,name\na,Inês\nb,Tom\n".encode("cp1252"))
    two_sheets(tmp_path)
    counts(tmp_path, monkeypatch)
    with pytest.raises(ParivoxError) as error:
        pv.audit(scores, **options)
    assert f"`{error.value}`" in PAGE + UNSHOWN
