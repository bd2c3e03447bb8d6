"""``parivox trials variants`` as a program."""

import json

import pytest

OPTIONS = (
    "--speakers",
    "speakers.csv",
    "--by",
    "gender",
    "--per-speaker",
    "4,8",
    "--replicates",
    20,
)


@pytest.fixture(scope="module")
def variants(parivox):
    return lambda *words: parivox("trials", "variants", "scores.csv", *OPTIONS, *words)


@pytest.mark.slow
def test_it_prints_both_spreads_of_each_group(variants):
    done = variants("--seed", 3)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("5 lists for each of 4, 8 pairs per speaker and class")
    assert "of 6 speakers by gender." in " ".join(done.stdout.split())
    for title in (
        "EER",
        "minimum cost (voxsrc)",
        "FPR at the common threshold",
        "FNR at the common threshold",
    ):
        assert f"\n{title}" in done.stdout
    assert variants("--seed", 3).stdout == done.stdout


def test_json_is_the_tables(variants):
    done = variants("--json", "--variants", 3)
    record = json.loads(done.stdout)
    assert record["speakers"] == {"f": 3, "m": 3}
    assert len(record["table"]["group"]) == 2 * 2 * 4  # groups, numbers of pairs, metrics
    assert len(record["values"]["value"]) == 3 * len(record["table"]["group"])


def test_a_list_without_scores_is_told_what_it_lacks(parivox, tmp_path):
    (tmp_path / "list.txt").write_text("1 a/x/1 a/y/1\n0 a/x/2 b/z/2\n")
    done = parivox("trials", "variants", "list.txt", "--by", "gender", cwd=tmp_path)
    assert done.returncode == 2
    assert "no score column" in done.stderr
    assert "give it with --trials" not in done.stderr  # an option that the command lacks


@pytest.mark.slow
def test_charts_are_written(variants, optional, tmp_path):
    optional("altair")
    done = variants("--chart", tmp_path / "s.svg", "--dets", tmp_path / "d.html")
    assert done.returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.html", "s.svg"]
    page = (tmp_path / "d.html").read_text(encoding="utf-8")
    assert "<script src" not in page  # nothing is loaded from elsewhere
    assert "resampled speakers" in (tmp_path / "s.svg").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--per-speaker", "4,x"), "--per-speaker is 'x'; give a whole number"),
        (("--seed", "-1"), "--seed is -1; give a whole number from 0 to"),
        (("--variants", "1"), "--variants is 1; give a whole number from 2 to"),
        (("--chart", "spread.gif"), "--chart spread.gif: is not a chart format"),
        (("--dets", "nowhere/d.svg"), "--dets nowhere/d.svg: cannot be written there"),
        (("--per-speaker", "500"), "no speaker has 500 same-speaker pairs"),
    ],
)
def test_what_is_wrong_is_one_sentence(words, message, parivox, files):
    before = sorted(files.iterdir())
    options = [word for word in OPTIONS if word not in words]
    options = [*options[:4], *words] if "--per-speaker" in words else [*OPTIONS, *words]
    done = parivox("trials", "variants", "scores.csv", *options)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert sorted(files.iterdir()) == before
