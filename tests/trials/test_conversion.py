"""A list in another format holds the same trials in the same order."""

import itertools

import polars as pl
import pytest

import parivox as pv
from parivox.errors import ConfigError, DataError
from parivox.options.trials import LIST_FORMATS

TRIALS = {
    "enrol": ["a/x/1", "b/x/1", "a/x/1", "a/x/1", "a/y/1"],
    "test": ["a/y/1", "a/x/1", "b/x/1", "a/y/1", "a/x/1"],
    "label": [1, 0, 0, 1, 1],
}


def rows(path, *columns):
    table = pl.read_csv(path, infer_schema=False)
    return table.select(columns or table.columns).rows()


@pytest.mark.slow
@pytest.mark.parametrize(("first_kind", "second_kind"), [*itertools.permutations(LIST_FORMATS, 2)])
def test_every_row_comes_through_in_its_order(first_kind, second_kind, tmp_path):
    pv.trials.convert(TRIALS, tmp_path / "one", to=first_kind)
    pv.trials.convert(tmp_path / "one", tmp_path / "other", to=second_kind)
    conversion = pv.trials.convert(tmp_path / "other", tmp_path / "csv", to="csv")
    assert (conversion.target, conversion.nontarget) == (3, 2)
    words = ["target" if label else "nontarget" for label in TRIALS["label"]]
    assert rows(tmp_path / "csv") == list(zip(TRIALS["enrol"], TRIALS["test"], words, strict=True))


def test_scores_and_further_columns_go_into_tables(tmp_path):
    (tmp_path / "scores.csv").write_text(
        "sc;ref_file;com_file;lab;days apart\n0,25;a/1;a/2;1;3\n;a/1;b/1;0;\n"
    )
    conversion = pv.trials.convert(tmp_path / "scores.csv", tmp_path / "out.csv", to="csv")
    assert conversion.left_out == ()
    assert (tmp_path / "out.csv").read_text() == (
        "enrol,test,label,score,days apart\na/1,a/2,target,0.25,3\na/1,b/1,nontarget,,\n"
    )


def test_what_a_list_has_no_place_for_is_told(tmp_path):
    trials = TRIALS | {"score": [0.1] * 5, "days": [1] * 5}
    conversion = pv.trials.convert(trials, tmp_path / "out.txt", to="voxceleb")
    assert conversion.left_out == ("score", "days")
    assert conversion.told == (
        f"5 trials in {tmp_path / 'out.txt'} (voxceleb): 3 target, 2 nontarget.",
        "Left out, as they have no place in voxceleb or no name: score, days.",
    )


def test_a_column_without_a_name_is_told(tmp_path):
    (tmp_path / "list").write_text("1 a/1 a/2 m m USA\n0 a/1 b/1 m f USA\n")
    conversion = pv.trials.convert(tmp_path / "list", tmp_path / "out.csv", to="csv")
    assert conversion.left_out == ("column 4", "column 5", "column 6")


@pytest.mark.parametrize(
    "tables",
    [
        {},
        {"speakers": {"id": ["a", "b"], "sex": ["f", "m"]}},
        {"utterances": {"utterance": ["a/x/1", "a/y/1", "b/x/1"], "speaker": ["a", "a", "b"]}},
    ],
)
def test_speakers_tell_the_labels_that_a_list_lacks(tables, tmp_path):
    unlabelled = {side: TRIALS[side] for side in ("enrol", "test")}
    conversion = pv.trials.convert(unlabelled, tmp_path / "out.csv", to="csv", **tables)
    assert conversion.labels_from == "speakers"
    words = [word == "target" for (word,) in rows(tmp_path / "out.csv", "label")]
    assert words == [label == 1 for label in TRIALS["label"]]


def test_columns_of_speakers_tell_them_too(tmp_path):
    trials = {"enrol": ["1", "1"], "test": ["2", "3"], "enrol_speaker": ["a", "a"]}
    trials["test_speaker"] = ["a", "b"]
    conversion = pv.trials.convert(trials, tmp_path / "out.txt", to="kaldi")
    assert (tmp_path / "out.txt").read_text() == "1 2 target\n1 3 nontarget\n"
    assert conversion.left_out == ("enrol_speaker", "test_speaker")


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (
            {"enrol": ["a"], "test": ["b"]},
            {},
            "no column of labels .* do not contain a speaker; give a table",
        ),
        ({"enrol": ["a"], "label": [1]}, {}, "no column of test utterances"),
        ({"enrol": ["a", ""], "test": ["b", "c"], "label": [1, 0]}, {}, "row 2, .* is empty"),
        ({"enrol": ["a"], "test": ["b"], "label": ["maybe"]}, {}, "'maybe' is not a label"),
        ({"enrol": ["a b"], "test": ["b"], "label": [1]}, {}, "cannot be written in the list"),
        (TRIALS | {"score": [0.1] * 5, "x": [1] * 5}, {"columns": {"score": "x"}}, "two columns"),
        ({"enrol": [], "test": [], "label": []}, {}, "no trial"),
    ],
)
def test_a_list_that_cannot_be_converted_leaves_nothing(source, options, message, tmp_path):
    with pytest.raises(DataError, match=message):
        pv.trials.convert(source, tmp_path / "out", to="voxceleb", **options)
    assert list(tmp_path.iterdir()) == []


def test_a_list_is_never_written_over_itself(tmp_path):
    (tmp_path / "list").write_text("1 a/1 a/2\n")
    with pytest.raises(ConfigError, match="already exists"):
        pv.trials.convert(tmp_path / "list", tmp_path / "list", to="kaldi")
    assert (tmp_path / "list").read_text() == "1 a/1 a/2\n"


def test_voxceleb1_h_comes_through_every_format(bt4vt_data, tmp_path):
    source = bt4vt_data / "resnetse34v2_H-eval_scores.csv"
    for kind in LIST_FORMATS:
        conversion = pv.trials.convert(source, tmp_path / kind, to=kind)
        assert (conversion.target, conversion.nontarget) == (275_488, 275_406)
        source = tmp_path / kind
    pv.trials.convert(source, tmp_path / "again", to="voxceleb")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "voxceleb").read_bytes()
