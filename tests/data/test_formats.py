"""The same trials in any format, order or compression are the same trials."""

import bz2
import contextlib
import datetime as dt
import gzip
import io
import lzma
import random
import sys

import numpy as np
import polars as pl
import pytest

import parivox as pv
from parivox.data.columns import RequestedColumns
from parivox.data.formats import FORMATS, headerless, register, scan
from parivox.data.formats.format import Example
from parivox.data.source_bytes import zstd_module
from parivox.data.speakers import read_speakers
from parivox.errors import ConfigError, DataError, ParivoxError
from parivox.report.inspection import plain_lines

PACKERS = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstd_module().compress,
}


@pytest.fixture
def check_same_trials(read, csv, rows, plain):
    """Whether trials equal those of the plain CSV."""
    reference = read(csv(rows))

    def check(trial_set):
        assert plain(trial_set) == plain(reference)
        assert trial_set.content_sha256 == reference.content_sha256
        assert list(trial_set.utterance_ids) == list(reference.utterance_ids)
        assert trial_set.utterance_speaker.tolist() == reference.utterance_speaker.tolist()
        assert trial_set.score_range == reference.score_range
        note_counts = [(note.item, note.count) for note in trial_set.data_notes]
        assert note_counts == [(note.item, note.count) for note in reference.data_notes]

    return check


def frame(rows):
    enrol, test, score, label = zip(*rows, strict=True)
    return pl.DataFrame(
        {"enrol": enrol, "test": test, "score": map(float, score), "label": map(int, label)}
    )


def test_canonical_order_and_types(read, csv, rows, plain):
    trial_set = read(csv(rows))
    assert plain(trial_set) == [
        ("a/1", "a/2", True, 0.9, False),
        ("a/1", "b/1", False, 0.1, False),
        ("c/1", "a/2", False, 0.3, False),
        ("b/1", "b/2", True, 0.7, False),
        ("b/2", "c/1", False, -0.25, False),
    ]
    (partition,) = trial_set.partitions()
    columns = (partition.enrol, partition.test, partition.target, partition.score)
    assert [column.dtype for column in columns] == [
        np.int32, np.int32, np.bool_, np.float64,
    ]  # fmt: skip
    assert trial_set.n_trials == 5
    assert trial_set.score_range == (-0.25, 0.9)
    assert (trial_set.n_partitions, len(partition)) == (1, 5)


@pytest.mark.parametrize("seed", range(3))
def test_any_order_of_rows(read, csv, rows, check_same_trials, seed):
    random.Random(seed).shuffle(rows)
    check_same_trials(read(csv(rows)))


@pytest.mark.parametrize("packer", PACKERS)
def test_any_compression_under_any_name(read, csv, rows, check_same_trials, packer):
    trial_set = read(PACKERS[packer](csv(rows).encode()), name="scores.data")
    check_same_trials(trial_set)
    assert trial_set.provenance[0]["compression"] == packer


def test_several_zst_frames(read, csv, rows, check_same_trials):
    head, tail = csv(rows).encode()[:20], csv(rows).encode()[20:]
    check_same_trials(read(PACKERS["zst"](head) + PACKERS["zst"](tail)))


@pytest.mark.parametrize("separator", ["\t", ";", "|", " "])
def test_any_separator(read, csv, rows, check_same_trials, separator):
    check_same_trials(read(csv(rows).replace(",", separator)))


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: "\n\n" + text + "\n \n".replace(" ", ""),
        lambda text: text.replace("\n", "\n\n"),
        lambda text: text.rstrip("\n"),
        lambda text: text.replace(",", " , "),
        lambda text: text.replace("a/1", '"a/1"'),
        lambda text: text.replace("score", "SC").replace("enrol", "Ref_File"),
        lambda text: text.replace(",1\n", ",Target\n").replace(",0\n", ",imp\n"),
    ],
)
def test_untidy_text(read, csv, rows, check_same_trials, change):
    check_same_trials(read(change(csv(rows))))


HEADERLESS = {
    "voxceleb": lambda e, t, s, y: f"{y} {e} {t} {s}",
    "wespeaker": lambda e, t, s, y: f"{e} {t} {s} {'target' if y == '1' else 'nontarget'}",
    "kaldi-trials": lambda e, t, s, y: f"{e} {t} {'target' if y == '1' else 'nontarget'} {s}",
}


@pytest.mark.parametrize("name", HEADERLESS)
@pytest.mark.parametrize("blank", [" ", "\t", "  ", " \t "])
def test_formats_without_a_header(read, rows, check_same_trials, name, blank):
    text = "\n".join(HEADERLESS[name](*row) for row in rows).replace(" ", blank)
    trial_set = read(text, name="scores.txt")
    check_same_trials(trial_set)
    assert trial_set.provenance[0]["format"] == name


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("voxceleb-scores", lambda e, t, s, y: f"{s} {e} {t}"),
        ("kaldi-scores", lambda e, t, s, y: f"{e} {t} {s}"),
    ],
)
def test_scores_alone_get_their_labels_from_the_speakers(read, csv, rows, plain, count, name, line):
    trial_set = read("\n".join(line(*row) for row in rows), name="scores.txt")
    assert plain(trial_set) == plain(read(csv(rows)))
    assert trial_set.provenance[0]["format"] == name
    assert count(trial_set, "trials with a label inferred from the speakers") == 5


@pytest.mark.slow
def test_parquet_and_arrow(read, rows, check_same_trials, tmp_path):
    for name, write in {
        "parquet": "write_parquet", "arrow": "write_ipc", "arrow-stream": "write_ipc_stream",
    }.items():  # fmt: skip
        path = tmp_path / f"{name}.data"
        getattr(frame(rows), write)(path)
        trial_set = read(path)
        check_same_trials(trial_set)
        assert trial_set.provenance[0]["format"] == name


def test_tables_in_python(read, rows, check_same_trials, optional):
    table = frame(rows)
    columns = table.to_dict(as_series=False)
    for source in (
        table,
        table.lazy(),
        columns,
        {name: np.array(cells) for name, cells in columns.items()},
        {**columns, "label": np.array(columns["label"]) == 1},
        {**columns, "label": [float(label) for label in columns["label"]]},
        optional("pyarrow").table(columns),
        optional("pandas").DataFrame(columns),
    ):
        check_same_trials(read(source))


def test_ids_of_digits_are_text(read, plain):
    speakers = {"id": ["01", "02"], "sex": ["f", "m"]}
    rows = {"enrol": ["01", "01"], "test": ["02", "01"], "score": [0.5, 1.5]}
    assert plain(read(rows, people=read_speakers(speakers))) == [
        ("01", "01", True, 1.5, False),
        ("01", "02", False, 0.5, False),
    ]


def test_standard_input(read, csv, rows, check_same_trials, monkeypatch):
    class Stdin:
        buffer = io.BytesIO(gzip.compress(csv(rows).encode()))

    monkeypatch.setattr(sys, "stdin", Stdin)
    trial_set = read(Source("-"))
    check_same_trials(trial_set)
    assert trial_set.provenance[0]["name"] == "standard input"


class Source:
    """A name that the fixture does not take for text to be written."""

    def __init__(self, name):
        self.name = name

    def __fspath__(self):
        return self.name


def test_columns_that_the_user_names(read, csv, rows, check_same_trials):
    text = csv(rows, header="x,y,z,w")
    check_same_trials(read(text, columns={"enrol": "x", "test": "y", "score": "z", "label": "w"}))
    text = csv(rows, header="label,y,z,score")
    check_same_trials(
        read(text, columns={"enrol": "label", "test": "y", "score": "z", "label": "score"})
    )


def test_a_format_that_the_user_names(read):
    with pytest.raises(ConfigError, match="scores_format='xls' is not known; choose from parquet"):
        read("1 2 3\n", format="xls")
    with pytest.raises(DataError, match="columns names z, but the file is read as voxceleb"):
        read("1 a/1 b/1\n", format="voxceleb", columns={"score": "z"})


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("1 a b\n0 a c", "voxceleb"),
        ("target 1 2", "voxceleb"),
        ("1 000010011 000010035", "voxceleb"),
        ("0.5 a b", "voxceleb-scores"),
        ("-3 a b", "voxceleb-scores"),
        ("0.5 001 002", "voxceleb-scores"),
        ("001 002 0.5", "kaldi-scores"),
        ("a b 7", "kaldi-scores"),
        ("a b nontarget\na c target", "kaldi-trials"),
        ("a b imp", "kaldi-trials"),
        ("s1/u0 s1/v0 2.94 0", "wespeaker"),
        ("001 002 2.94 target", "wespeaker"),
        ("a b 7 nontarget\na c -3 target", "wespeaker"),
        ("1 a b\nmaybe a c\n0 a d", "voxceleb"),
        ("a b 1.0\na c 0.5\na d 1.0", "kaldi-scores"),
        ("001 002 0.5\n001 003 abc\n001 004 0.1", "kaldi-scores"),
        ("u1,u2,y\na/1,a/2,1\na/1,b/1,0", "delimited"),
        ("u1,u2,y\na/1,a/2,target", "delimited"),
        ("u1,u2,y\na/1,a/2,maybe", ""),
        ("a b c", ""),
        ("7 8 9", ""),
        ("a b", ""),
        ("", ""),
        ("s1 s1 u1 0.5\ns1 s2 u2 0.1", "bob-4"),
        ("s1,s1,u1,0.5\ns1,s2,u2,0.1", "bob-4"),
        ("7 7 701 0.5\n7 8 801 0.1", "bob-4"),
        ("1 1 u1 0.5\n1 2 u2 0.1\n2 1 u1 0.1\n3 1 u1 0.3\n3 3 u3 0.5", "bob-4"),
        ("s1 s2 u2 0.5\ns1 s3 u3 0.1", ""),
        ("a/1 a/1 phone 0.5\na/1 b/1 phone 0.1\na/1 c/1 phone 0.2", ""),
        ("1 1 u1 0.5\n1 2 u2 0.1", ""),
        ("a a 1 0.5\na b 0 0.1", "kaldi-trials"),
        ("s1 m1 s1 u1 0.5\ns1 m1 s2 u2 0.1", "bob-5"),
        ("1 1 1 u1 0.5\n1 1 2 u2 0.1", "bob-5"),
        ("s1 m1 s1 u1 0.5\ns2 m1 s2 u2 0.1", ""),
        ("m1 s1 a -0.5\nm1 s1 b 2", "nist-scores"),
        ("1001 s1 A 3\n1002 s1 B 2", "nist-scores"),
        ("m1 s1 a nontarget\nm1 s2 b target", "nist-key"),
        ("m1,s1,a,nontarget,Y,N\nm1,s2,a,target,Y,Y", "nist-key"),
        ("m1 s1 x -0.5\nm1 s1 x 2", ""),
    ],
)
def test_detection(write, text, kind):
    wrong = (
        r"no known trial columns|names .* are not known|may be label|is empty|only a header|"
        r"not match the rows"
    )
    with contextlib.nullcontext() if kind else pytest.raises(DataError, match=wrong):
        scanned_file = scan(
            write("trials", text), columns=RequestedColumns(), format=None, name="trials"
        )
        assert scanned_file.format == kind


def test_columns_that_are_ignored_are_told(read, csv, rows):
    text = csv([(*row, "x") for row in rows], header="enrol,test,score,label,session")
    assert read(text).provenance[0]["ignored"] == ["session"]


def test_the_protocol_of_paper_003_has_more_columns(read, rows):
    lines = [f"{y} {e} {t} m f USA" for e, t, _, y in rows]
    with pytest.raises(DataError, match=r"no score column .*Pass it with trials"):
        read("\n".join(lines), name="protocol.txt")


@pytest.mark.parametrize(
    ("text", "format", "match"),
    [
        (
            "a/1 a/2 0.5 x\n" * 3,
            None,
            "row 1: has 4 columns, but kaldi-scores has 3 .enrol, test, ",
        ),
        ("0.5 a/1 a/2 x\n" * 3, None, "row 1: has 4 columns, but voxceleb-scores has 3"),
        ("a/1 a/2 0.5 1\n" * 3, "kaldi-scores", "row 1: has 4 columns, but kaldi-scores has 3"),
        ("a/1 a/2 0.5 1 x\n" * 3, None, "row 1: has 5 columns, but kaldi-scores has 3"),
        ("1 a/1 a/2 f 0.5\n" * 3, None, "row 1: has 5 columns, but voxceleb has 4"),
        (
            "a/1 a/2 1.0\na/1 b/1 -1.0\n",
            None,
            "if column 3 contains scores, give scores_format='kal",
        ),
        (
            "1.0 a/1 a/2\n0.0 a/1 b/1\n",
            None,
            "column 1 contains scores, give scores_format='voxceleb-",
        ),
    ],
)
def test_columns_beyond_the_format_are_refused(read, text, format, match):  # noqa: A002
    with pytest.raises(DataError, match=match):
        read(text, name="scores.txt", format=format)


def test_labels_that_hold_words_are_no_scores(read):
    with pytest.raises(DataError) as caught:
        read("a/1 a/2 target\na/1 b/1 nontarget\n")
    assert "--scores-format" not in str(caught.value)


def test_standard_input_is_read_once(read, csv, rows, monkeypatch):
    class Stdin:
        buffer = io.BytesIO(csv(rows).encode())

    monkeypatch.setattr(sys, "stdin", Stdin)
    with pytest.raises(DataError, match="standard input: can be read once, but '-' is named twice"):
        read(Source("-"), trials="-")


def test_one_column_for_two_roles(read, csv, rows):
    with pytest.raises(
        ConfigError, match="columns: column 'enrol' is given for enrol and test; give"
    ):
        read(csv(rows), columns={"enrol": "enrol", "test": "enrol"})


def test_columns_of_either_file(read, csv, rows, check_same_trials, write):
    scores = csv([row[:3] for row in rows], header="enrol,test,z")
    listed = write("t.csv", csv([(*row[:2], row[3]) for row in rows], header="u1,u2,y"))
    plain_list = write("t.txt", "".join(f"{y} {e} {t}\n" for e, t, _, y in rows))
    named = {"enrol": "u1", "test": "u2", "label": "y"}
    assert read(scores, trials=listed, columns={"score": "z", **named}).n_trials == len(rows)
    assert read(scores, trials=plain_list, columns={"score": "z"}).n_trials == len(rows)
    by_content = read(scores, trials=listed, columns={"score": "z"})
    assert by_content.n_trials == len(rows)
    assert by_content.provenance[1]["by_content"] == ["enrol", "test", "label"]
    unlike = write("t.csv", csv([(f"p{n}", f"q{n}", str(n)) for n in range(3)], header="u1,u2,y"))
    with pytest.raises(DataError, match=r"t.csv: the column names 'u1', 'u2', 'y' are not known"):
        read(scores, trials=unlike, columns={"score": "z"})
    write("t.csv", csv([(*row[:2], row[3]) for row in rows], header="u1,u2,y"))
    with pytest.raises(DataError, match=r"scores.csv and t.csv: none has a column 'w' for label"):
        read(scores, trials=listed, columns={"score": "z", **named, "label": "w"})
    headless = "".join(f"{e} {t} {s}\n" for e, t, s, _ in rows)
    assert read(headless, trials=listed, columns=named).n_trials == len(rows)


@pytest.mark.parametrize("form", ["parquet", "arrow", "arrow-stream", "frame"])
@pytest.mark.parametrize(
    ("role", "kind", "cells"),
    [
        ("enrol", "List", [["a/1"], ["b/1"]]),
        ("test", "Struct", [{"x": "a/1"}, {"x": "b/1"}]),
        ("enrol", "Binary", [b"a/1", b"b/1"]),
        ("label", "Date", [dt.date(2020, 1, 1)] * 2),
    ],
)
def test_types_that_are_neither_text_nor_numbers(read, tmp_path, form, role, kind, cells):
    columns = {
        "enrol": ["a/1", "b/1"],
        "test": ["a/2", "b/2"],
        "score": [1.0, 2.0],
        "label": [1, 1],
    }
    table = pl.DataFrame({**columns, role: cells})
    path = tmp_path / "typed"
    write = {"parquet": "write_parquet", "arrow": "write_ipc", "arrow-stream": "write_ipc_stream"}
    if form in write:
        getattr(table, write[form])(path)
    match = (
        rf"column '{role}' \({role}\) contains {kind}.*, neither text nor numbers; save it as text"
    )
    with pytest.raises(DataError, match=match):
        read(path if form in write else table)
    if kind != "Date":
        people = pl.DataFrame({"id": ["a", "b"], "x": cells})
        with pytest.raises(
            DataError, match=rf"speakers: column 'x' contains {kind}.*, neither text"
        ):
            read_speakers(people)


@pytest.mark.slow
def test_damaged_parquet_is_told_in_one_sentence_only(read, rows, tmp_path, capfd):
    frame(rows).write_parquet(tmp_path / "whole.parquet")
    data = bytearray((tmp_path / "whole.parquet").read_bytes())
    for position in range(8, len(data) - 8, 5):
        (tmp_path / "damaged").write_bytes(
            data[:position] + b"\xff\x00\x7f\x01" + data[position + 4 :]
        )
        with contextlib.suppress(ParivoxError):
            read(tmp_path / "damaged")
    assert capfd.readouterr().err == ""


def test_bob_without_a_target_is_not_guessed(read):
    match = r"the format with scores_format='bob-4' if it is one of bob's$"
    with pytest.raises(DataError, match=match):
        read("a b b/1 0.5\na c c/1 0.2\n", name="scores-dev")
    assert read("a b b/1 0.5\na c c/1 0.2\n", format="bob-4").n_trials == 2


@pytest.mark.usefixtures("options_in_messages")
def test_rows_that_fit_two_formats_are_not_guessed(read):
    with pytest.raises(
        DataError, match=r"scores-dev: its rows may be label, .* or claimed id.*-format bob-4$"
    ):
        read("1 1 u1 0.5\n1 2 u2 0.1\n", name="scores-dev")


def test_models_of_bob_are_enrolments_of_their_speaker(read, plain):
    text = "a m1 a u1 0.9\na m2 a u1 0.8\nb m3 a u1 0.1\n"
    assert plain(read(text, name="scores-dev")) == [
        ("m1", "u1", True, 0.9, False),
        ("m2", "u1", True, 0.8, False),
        ("m3", "u1", False, 0.1, False),
    ]


def test_attributes_of_either_side_are_found_in_the_csv_of_bob(write):
    path = write(
        "s.csv",
        "probe_template_id,probe_subject_id,probe_gender,bio_ref_template_id,bio_ref_subject_id,"
        "bio_ref_gender,score\r\nu1,a,f,m1,b,m,0.5\r\n",
    )
    scanned = scan(
        path, columns=RequestedColumns(attributes=("gender",)), format=None, name="scores"
    )
    assert scanned.columns == {
        "enrol": "bio_ref_template_id",
        "test": "probe_template_id",
        "score": "score",
        "enrol_speaker": "bio_ref_subject_id",
        "test_speaker": "probe_subject_id",
        "@enrol.gender": "bio_ref_gender",
        "@test.gender": "probe_gender",
    }


SIDED = "modelid\tsegmentid\tside\tLLR\na/1\ta/2\ta\t0.5\na/1\ta/2\tB\t0.1\n"


@pytest.mark.parametrize("kind", ["tsv", "frame", "ids of digits", "headerless"])
def test_a_segment_has_two_sides(read, plain, kind):
    table = {
        "modelid": ["a/1"] * 2, "segmentid": ["a/2"] * 2, "side": ["a", "B "], "LLR": [0.5, 0.1],
    }  # fmt: skip
    source, second, people = SIDED, "a/2", None
    if kind == "headerless":
        source = SIDED.split("\n", 1)[1]
    elif kind == "frame":
        source = pl.DataFrame(table)
    elif kind == "ids of digits":
        source = {**table, "modelid": [1, 1], "segmentid": [2, 2]}
        second, people = "2", read_speakers({"id": ["1", "2", "2:b"], "sex": ["f", "m", "m"]})
    plain_rows = plain(read(source, people=people))
    assert sorted((test, score) for _, test, _, score, _ in plain_rows) == [
        (second, 0.5),
        (second + ":b", 0.1),
    ]


def test_a_side_of_something_else_is_no_side(read, csv, rows, check_same_trials):
    text = csv([(*row, "left") for row in rows], header="enrol,test,score,label,side")
    trial_set = read(text)
    check_same_trials(trial_set)
    assert trial_set.provenance[0]["ignored"] == ["side"]


def test_a_column_of_sides_that_the_user_names(read, plain):
    text = "model,segment,channel,score\na/1,a/2,a,0.5\na/1,a/2,b,0.1\n"
    plain_rows = plain(read(text, columns={"side": "channel"}))
    assert [test for _, test, *_ in plain_rows] == ["a/2", "a/2:b"]


@pytest.mark.parametrize(
    ("text", "format", "match"),
    [
        (
            "a a u1 0.5\na b u2\n" * 2,
            "bob-4",
            "row 2: has 3 columns?, but other rows have 4; rep",
        ),
        (
            "a a u1 0.5\na b u2 high\na b u2 0.1\n",
            None,
            r"row 2, column '4 \(score\)': 'high' is not a num",
        ),
        (",a,u1,0.5\na,a,u2,0.1\n", None, r"row 1, column '1 \(enrol\)': is empty; give the id"),
        (
            "a a u1 0.5\na b u1 0.1\n" * 9,
            "bob-4",
            "utterance 'u1' has speaker 'b' here, but 'a'",
        ),
        (
            "a a u1\n" * 3,
            "bob-4",
            "row 1: does not have the 4 columns of bob-4: enrol and enrol_sp",
        ),
        (
            "a m a u1 0.5\n",
            "bob-4",
            r"row 1: has 5 columns, but bob-4 has 4 \(enrol and enrol_speak",
        ),
        (
            "a m a u1 0.5\na m b u2 no\na m b u2 0.1\n",
            None,
            r"row 2, column '5 \(score\)': 'no' is not a number; c",
        ),
        (
            "a,m,a,u1,0.5\na,,b,u2,0.1\n",
            None,
            r"row 2, column '2 \(enrol\)': is empty; give the id",
        ),
        ("a m a u1 0.5\nd m2 b u2 0.1\n", None, "speaker"),
        (
            "a/1 a/2 a 0.5\na/1 b/2 b 1\na/1 b/1 x 0.1",
            None,
            r"row 3, column '3 \(side\)': 'x' is not ",
        ),
        (
            "a/1,a/2,a,0.5\na/1,b/2,,1\na/1,b/2,b,1",
            None,
            r"row 2, column '3 \(side\)': is empty; cor",
        ),
        ("a/1,a/2,a,0.5\na/1, ,b,1\n", None, r"row 2, column '2 \(test\)': is empty; give the id"),
        (
            "a/1 a/2 a 0.5\na/1 b/1 b none\na/1 c/1 a 0.1",
            None,
            r"row 2, column '4 \(score\)': 'none' is not a number",
        ),
        (
            "a/1 a/2 a 0.5 f\na/1 b/1 b 0.1 f",
            "nist-scores",
            "row 1: has 5 columns, but nist-scores",
        ),
        (
            SIDED.replace("\tB", "\t2"),
            None,
            "row 3, column 'side': '2' is not a side of a segment; cor",
        ),
        (
            SIDED.replace("\tB", "\t"),
            None,
            "row 3, column 'side': is empty; correct it, sides are a",
        ),
        (
            SIDED.replace("\tB\t", "\t"),
            None,
            "row 3: has 3 columns?, but other rows have 4; repair",
        ),
        (SIDED + "\t\ta\t\n", None, "row 4, column 'modelid': is empty; give the id, or remove"),
        (SIDED + "a/1\t\ta\t\n", None, "row 4, column 'segmentid': is empty; give the id, or"),
        (
            SIDED.replace("0.1", "low"),
            None,
            "row 3, column 'LLR': 'low' is not a number; correct the value, or",
        ),
    ],
)
def test_bad_files_of_toolkits(read, text, format, match):  # noqa: A002
    with pytest.raises(DataError, match=match) as caught:
        read(text, name="scores.txt", format=format)
    assert str(caught.value).startswith(("scores.txt: ", "scores.txt, row "))


def test_a_bad_side_of_a_key(read, write):
    key = write("key.csv", "model,segment,side,targettype\na/1,a/2,c,target\n")
    match = "key.csv, row 2, column 'side': 'c' is not a side of a segment; correct it, sides are a"
    with pytest.raises(DataError, match=match):
        read(SIDED, trials=key)


def test_a_key_of_other_sides_meets_nothing(read, write):
    key = write("key.csv", "model,segment,side,targettype\na/1,b/2,b,nontarget\n")
    with pytest.raises(
        DataError, match=r"no trials are left .*\(a/1, a/2:b\) but key.csv contains \(a/1"
    ):
        read(SIDED, trials=key)


@pytest.mark.parametrize("low", ["0", "-1"])
def test_whole_numbers_behind_labels_are_scores_as_speechbrain_writes_them(read, low):
    rows = f"a/1 a/2 1 1\na/1 b/1 0 {low}\nb/1 b/2 1 {low}\n"
    (trials,) = read(rows).partitions()
    assert sorted(zip(trials.target.tolist(), trials.score.tolist(), strict=True)) == sorted(
        [(True, 1.0), (False, float(low)), (True, float(low))]
    )


def test_whole_numbers_before_words_of_labels_are_scores_as_wespeaker_writes_them(read):
    trial_set = read("a/1 a/2 0 target\na/1 b/1 1 nontarget\n")
    (trials,) = trial_set.partitions()
    assert sorted(zip(trials.target.tolist(), trials.score.tolist(), strict=True)) == [
        (False, 1.0),
        (True, 0.0),
    ]


@pytest.fixture
def speechlab():
    """A made-up format, added as any other one is."""
    added = register(
        headerless(
            "speechlab",
            "SpeechLab's columns",
            {"score": 0, "label": 1, "enrol": 2, "test": 3},
            Example("0.5 target a/1 a/2", "SpeechLab", "score, label, enrolment, test"),
            fits=lambda sample: 70 if sample.has_labels(1) and sample.has_scores(0) else 0,
        )
    )
    yield added
    del FORMATS[added.name]


@pytest.mark.slow
def test_one_registration_adds_a_format(speechlab, write, csv, rows):
    lines = [f"{s} {'target' if y == '1' else 'nontarget'} {e} {t}" for e, t, s, y in rows]
    scores = write("scores.txt", "\n".join(lines))
    people = {"id": ["a", "b", "c"], "gender": ["f", "m", "f"]}
    audit, plain = (
        pv.audit(path, speakers=people, by="gender")
        for path in (scores, write("scores.csv", csv(rows)))
    )
    assert pv.inspect(scores).files[0].format == speechlab.name
    assert audit.groups.rows() == plain.groups.rows()
    assert "in SpeechLab's columns" in "\n".join(plain_lines(pv.inspect(scores)))
    with pytest.raises(ConfigError, match=r"'xls' is not known; choose from .*, speechlab$"):
        pv.audit(scores, speakers=people, by="gender", scores_format="xls")
    with pytest.raises(DataError, match=r"does not have the 4 columns of speechlab: score, label"):
        pv.audit(
            write("odd.txt", "a b c\n"), speakers=people, by="gender", scores_format="speechlab"
        )


def test_one_list_in_several_files(read, csv, rows, write, plain):
    half = len(rows) // 2
    decimal_comma_rows = csv(rows[half:]).replace(",", ";").replace(".", ",")
    files = [write("a.csv", csv(rows[:half])), write("b.csv", decimal_comma_rows)]
    trial_set, reference = read(files), read(csv(rows))
    assert plain(trial_set) == plain(reference)
    assert trial_set.content_sha256 == reference.content_sha256
    assert [source["name"] for source in trial_set.provenance] == ["a.csv", "b.csv"]
    assert [source.get("decimal", ".") for source in trial_set.provenance] == [".", ","]


def test_rows_of_several_files_are_told_with_their_file(read, csv, rows, write):
    files = [write("a.csv", csv(rows)), write("b.csv", csv([(*rows[0][:2], "9.5", rows[0][3])]))]
    message = r"^a\.csv, row 2 and b\.csv, row 2: the same trial .* has score"
    with pytest.raises(DataError, match=message):
        read(files)
    files[1].write_text("enrol,test,score\n" + ",".join(rows[0][:3]) + "\n")
    with pytest.raises(DataError, match=r"b\.csv: has no column for label, but a\.csv has; give"):
        read(files)
    files[1].write_text("enrol,test\n" + ",".join(rows[0][:2]) + "\n")
    message = r"b\.csv: has no column for label and score, but a\.csv has; give"
    with pytest.raises(DataError, match=message):
        read(files)


def test_files_of_one_name_are_told_apart_by_their_paths(read, csv, rows, tmp_path):
    files = [tmp_path / day / "a.csv" for day in ("monday", "tuesday")]
    half = len(rows) // 2
    for file, half_rows in zip(files, (rows[:half], rows[half:]), strict=True):
        file.parent.mkdir()
        file.write_text(csv(half_rows))
    assert [source["name"] for source in read(files).provenance] == ["a.csv", "a.csv"]
    files[1].write_text(csv([(*rows[0][:2], "9.5", rows[0][3])]))
    with pytest.raises(DataError, match=r"^.*monday.a\.csv, row 2 and .*tuesday.a\.csv, row 2:"):
        read(files)
    files[1].write_text(csv([(*rows[-1][:2], "much", rows[0][3])]))
    with pytest.raises(DataError, match=r"^.*tuesday.a\.csv, row 2, column 'score'"):
        read(files)
