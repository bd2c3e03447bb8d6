"""The four papers as a command: what is printed, what data say of it."""

from __future__ import annotations

import csv
import subprocess
import sys

import pytest

import parivox as pv
from parivox.papers.items import FAILS, HOLDS, MISSING, OPEN, RUNS
from parivox.papers.paper003 import SPEAKERS
from parivox.papers.voxceleb import Voxceleb1H
from parivox.report.charts import svg
from parivox.report.papers import write_reproduced


def rows(made, quantity):
    return {row["row"]: row for row in made.figures.rows() if row["quantity"] == quantity}


def claims(made):
    return {claim.sentence: claim.verdict for claim in made.claims}


@pytest.mark.minimal
def test_items_say_what_they_need_or_run():
    items = [item for paper in pv.papers.PAPERS.values() for item in paper.items]
    assert len({(one.paper, one.name) for one in items}) == len(items)
    for one in items:
        assert (one.state == RUNS) == (one.compute is not None)
        assert one.needs or one.compute is not None


@pytest.mark.minimal
def test_what_follows_from_print_alone_needs_no_data():
    ((_, table),) = pv.papers.run("003", table="1", data="nowhere")
    assert {row["verdict"] for row in table.figures.rows() if row["printed"] is not None} == {HOLDS}
    ((_, bias),) = pv.papers.run("000", table="3", data="nowhere")
    assert {row["verdict"] for row in bias.figures.rows()} == {HOLDS}


def test_printed_figures_of_table_4_come_out_by_the_authors_steps(reproduced):
    made = reproduced["001", "table 4"]
    for row in made.figures.rows():
        decimals = 3 if row["quantity"].startswith("cost") else 4
        assert f"{row['authors']:.{decimals}f}" == f"{row['printed']:.{decimals}f}", row
    bias = rows(made, "subgroup bias")
    assert round(bias["mexico_m"]["exact"], 4) == 1.5991
    assert not bias["mexico_m"]["agrees"]
    assert [group for group, row in bias.items() if row["verdict"] != OPEN] == ["usa_m"]
    assert bias["usa_m"]["low"] < bias["usa_m"]["exact"] < bias["usa_m"]["high"] < 1


def test_claims_of_paper_001(reproduced):
    assert claims(reproduced["001", "claim 5.1"]) == {
        "The curves of women lie mostly above that of everyone": HOLDS,
        "The curves of men lie below it": FAILS,
        "All women but those from the USA have a subgroup bias above 1": FAILS,
        "The system is fit to the largest group of its training data, the USA": HOLDS,
    }
    (own,) = reproduced["001", "claim 5.4"].claims
    assert own.verdict == FAILS
    assert "10 of 12 do not gain" in own.why
    assert "above 1 for uk_f" in own.why
    (women, men) = reproduced["001", "table 5"].claims
    assert (women.verdict, men.verdict) == (FAILS, FAILS)
    assert "FPR is 5.12 times" in women.why
    assert "FPR is 0.39 times" in men.why


def test_figures_of_paper_001(reproduced):
    assert {
        name: [claim.verdict for claim in reproduced["001", name].claims]
        for paper, name in reproduced
        if paper == "001" and name.startswith("figure")
    } == {
        "figure 4": [HOLDS, HOLDS],
        "figure 5": [FAILS, HOLDS, OPEN, HOLDS],
        "figure 7": [HOLDS],
        "figure 8": [HOLDS],
        "figure 9": [OPEN, OPEN, OPEN],
        "figure 10": [OPEN, FAILS, FAILS, FAILS],
        "figure 11": [HOLDS],
    }
    nations = rows(reproduced["001", "figure 11"], "speakers")
    assert sum(row["exact"] for row in nations.values()) == 1251
    assert nations["USA"]["exact"] == 799


def test_gaps_of_figure_9_are_of_the_printed_systems(reproduced):
    made = reproduced["001", "figure 9"]
    change = rows(made, "change from ResNetSE34V2 to ResNetSE34L")["USA"]
    before, after = (
        rows(made, f"ln of EER of women over men, {system}")["USA"]["exact"]
        for system in ("ResNetSE34V2", "ResNetSE34L")
    )
    assert change["exact"] == pytest.approx(after - before)
    assert 0 < change["low"] < change["exact"] < change["high"]


def test_versions_of_the_cost_put_groups_on_other_sides(reproduced):
    made = reproduced["001", "table 1"]
    least = rows(made, "minimum cost (ResNetSE34V2)")
    assert round(least["VoxCeleb SRC"]["exact"], 4) == 0.155
    (claim,) = made.claims
    assert claim.verdict == HOLDS
    assert "germany_f, italy_f, australia_m" in claim.why


def test_claims_of_paper_000(reproduced):
    assert claims(reproduced["000", "claim 4"]) == {
        "On VoxCeleb1-H EER is 2.402 % and minCDet 0.008; on VoxCeleb1-I they are 50 % "
        "greater": HOLDS
    }
    india, other = reproduced["000", "claim 4.1"].claims
    assert (india.verdict, other.verdict) == (OPEN, HOLDS)
    assert "0.93 [" in india.why
    assert "1.22 [" in india.why
    attack, sooner = reproduced["000", "claim 4.3"].claims
    assert (attack.verdict, sooner.verdict) == (HOLDS, OPEN)
    chances = rows(reproduced["000", "claim 4.3"], "chance of success")
    assert [f"{row['exact']:.3f}" for row in chances.values()] == ["0.640", "0.651"]
    assert reproduced["000", "table 1"].claims[0].verdict == HOLDS


def test_claims_of_paper_002(reproduced):
    assert {
        name: [*claims(made).values()]
        for (paper, name), made in reproduced.items()
        if paper == "002"
    } == {
        "table 1": [HOLDS],
        "table 3": [FAILS, HOLDS],
        "figure 1": [HOLDS, FAILS],
        "figure 2": [OPEN],
        "figure 3": [OPEN, HOLDS, OPEN],
        "claim 3.2": [OPEN],
        "claim 5": [],
    }
    grades = rows(reproduced["002", "table 1"], "pairs of the same speaker")
    assert (grades["grade 1"]["exact"], grades["grade 3"]["exact"]) == (32_778, 242_710)
    fnr = rows(reproduced["002", "figure 1"], "FNR at an FPR of 1 %, %")
    assert f"{fnr['all pairs']['exact']:.2f}" == "4.75"
    assert f"{fnr['no trivial pairs']['exact']:.2f}" == "5.38"


def test_of_the_guidelines_voxceleb1_h_fails_five_and_an_inclusive_list_none(reproduced):
    failed = [
        (row["row"], row["quantity"][:2])
        for row in reproduced["002", "claim 5"].figures.rows()
        if row["note"].startswith("fail") and row["row"] != "as listed"
    ]
    assert failed == [("VoxCeleb1-H", f"G{number}") for number in range(1, 6)]


def test_table_3_of_paper_002_is_of_another_draw(reproduced):
    made = reproduced["002", "table 3"]
    assert {row["verdict"] for row in rows(made, "speakers").values()} == {HOLDS}
    pairs = rows(made, "pairs")
    same = {group for group, row in pairs.items() if row["agrees"]}
    assert same == {"Australia", "Ireland", "Norway", "Germany", "Mexico"}
    assert sum(row["printed"] for row in pairs.values()) == 275_452
    assert sum(row["exact"] for row in pairs.values()) == 275_488


def test_figures_of_paper_003(reproduced):
    assert {
        name: [*claims(made).values()]
        for (paper, name), made in reproduced.items()
        if paper == "003"
    } == {
        "table 1": [OPEN],
        "table 2": [OPEN, HOLDS, HOLDS],
        "figure 1": [HOLDS],
        "figure 2": [HOLDS, OPEN],
        "figure 3": [HOLDS, HOLDS],
        "figure 4": [OPEN, OPEN],
        "figure 5": [OPEN, OPEN],
        "figure 6": [OPEN],
        "figure 7": [HOLDS],
        "claim 3.3": [HOLDS, OPEN],
        "claim 4.1.2": [OPEN],
    }
    lower = rows(reproduced["003", "figure 6"], "FPRs at which ResNetSE34L is lower")
    assert lower["nine nationalities"]["exact"] == 75
    for metric, expected in (("FPR", [0.85, 0.83]), ("FNR", [0.23, 0.05])):
        alike = [
            rows(reproduced["003", "claim 3.3"], f"{metric}, %, {system}")["Spearman"]["exact"]
            for system in ("ResNetSE34V2", "ResNetSE34L")
        ]
        assert [round(one, 2) for one in alike] == expected


def test_trials_of_paper_003_are_those_between_its_speakers(bt4vt_data):
    data = Voxceleb1H.found(bt4vt_data)
    trials = data.between(SPEAKERS)
    assert len(SPEAKERS) == 72
    assert len(trials) == 22_063
    people = {name[:7] for side in ("enrol", "test") for name in trials[side].to_list()}
    assert len(people) == 63


def test_every_chart_is_drawn(reproduced):
    pytest.importorskip("vl_convert")
    for (paper, name), made in reproduced.items():
        for draw in made.charts:
            assert svg(draw()).startswith("<svg"), (paper, name)


def test_table_2_and_figure_7_are_as_printed(reproduced):
    for name in ("table 2", "figure 7"):
        assert {row["verdict"] for row in reproduced["001", name].figures.rows()} == {HOLDS}


def test_beside_their_floors_fdr_and_nrb_agree(reproduced):
    (dispute,) = reproduced["000", "claim 4.2"].claims
    assert dispute.verdict == FAILS
    every = reproduced["000", "claim 4.2"].figures.rows()
    beyond = {(row["row"], row["p_holm"] < 0.05) for row in every}
    assert beyond == {("all groups", False), ("groups of enough people", True)}
    assert claims(reproduced["000", "figure 1"]).popitem()[1] == HOLDS
    assert claims(reproduced["000", "figure 2"]).popitem()[1] == HOLDS


def test_the_sign_of_table_4_is_told(reproduced):
    (claim,) = reproduced["000", "table 4"].claims
    assert claim.verdict == FAILS
    assert {row["verdict"] for row in reproduced["000", "table 3"].figures.rows()} == {HOLDS}


@pytest.mark.minimal
@pytest.mark.parametrize(
    ("paper", "asked", "sentence"),
    [
        ("005", {}, "'005' is none of the papers; .*000, 001, 002, 003"),
        ("001", {"table": "9"}, "paper 001 has no table '9'; there are 1, 2, 3, 4, 5"),
        ("000", {"table": "2"}, f"{MISSING}, it needs scores of VoxCeleb1-I"),
        (None, {"table": "2"}, "is of one paper; name it: 000, 001, 002, 003"),
    ],
)
def test_what_is_not_there_is_a_sentence(paper, asked, sentence):
    with pytest.raises(pv.ConfigError, match=sentence):
        pv.papers.run(paper, **asked)


def test_a_test_list_that_the_user_brings_is_counted(bt4vt_data, tmp_path):
    for path in bt4vt_data.iterdir():
        (tmp_path / path.name).symlink_to(path)
    rows = ("1 id10270/a/1.wav id10270/b/1.wav", "0 id10270/a/1.wav id10300/a/1.wav")
    (tmp_path / "veri_test.txt").write_text("\n".join(rows))
    ((_, table),) = pv.papers.run("001", table="2", data=tmp_path)
    of_test = {
        (row["row"], row["quantity"]): row["exact"]
        for row in table.figures.rows()
        if "test" in row["row"]
    }
    assert of_test["VoxCeleb1 test", "speakers"] == 2
    assert of_test["VoxCeleb1 test", "trials"] == 2
    (tmp_path / "veri_test.txt").write_text("1 qx1/a/1.wav qx1/b/1.wav")
    with pytest.raises(pv.DataError, match=r"veri_test\.txt.*qx1"):
        pv.papers.run("001", table="2", data=tmp_path)


def test_other_data_are_refused(bt4vt_data, tmp_path):
    with pytest.raises(pv.DataError, match=r"has no resnetse34v2_H-eval_scores\.csv; pip install"):
        pv.papers.run("001", table="4", data=tmp_path)
    for name in ("resnetse34v2_H-eval_scores.csv", "resnetse34l_H-eval_scores.csv"):
        (tmp_path / name).symlink_to(bt4vt_data / name)
    text = (bt4vt_data / "vox1_meta.csv").read_text()
    (tmp_path / "vox1_meta.csv").write_text(text.replace("Norway", "Sweden"))
    with pytest.raises(pv.DataError, match=r"vox1_meta.csv: is not the file of bt4vt 1\.0\.1"):
        pv.papers.run("001", table="4", data=tmp_path)


def command(*words):
    words = [sys.executable, "-m", "parivox", "papers", *map(str, words)]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.slow
def test_the_command_prints_and_writes(tmp_path):
    listed = command("list", "000")
    assert listed.returncode == 0, listed.stderr
    assert "scores of VoxCeleb1-I" in listed.stdout
    out = tmp_path / "papers"
    done = command("run", "003", "--table", "1", "--out", out)
    assert done.returncode == 0, done.stderr
    assert "GARBE" in done.stdout
    with (out / "003-table-1.csv").open() as file:
        assert len([*csv.DictReader(file)]) == 115
    assert "cannot be told" in (out / "README.md").read_text()
    wrong = command("run", "001", "--figure", "6", "--out", tmp_path / "none")
    assert wrong.returncode == 2
    assert not (tmp_path / "none").exists()
    assert "not reachable" in wrong.stderr
    (tmp_path / "file").touch()
    wrong = command("run", "003", "--table", "1", "--out", tmp_path / "file")
    assert wrong.returncode == 2
    assert "is a file, not a folder" in wrong.stderr


def test_charts_are_written_beside_figures(reproduced, tmp_path):
    pytest.importorskip("vl_convert")
    out = tmp_path / "papers"
    (item,) = (one for one in pv.papers.PAPERS["001"].items if one.name == "table 2")
    write_reproduced(out, [(item, reproduced["001", "table 2"])])
    made = {path.name for path in out.iterdir()}
    assert made == {"README.md", *(f"001-table-2.{end}" for end in ("csv", "svg", "png"))}
    assert "<svg" in (out / "001-table-2.svg").read_text()
    assert "![" in (out / "README.md").read_text()
