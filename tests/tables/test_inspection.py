"""What a person is told of files before an audit: what they are, how they join, what is odd."""

import itertools
import json

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import parivox as pv
from parivox.auditing.inspection import inspect
from parivox.errors import DataError
from parivox.report.inspection import lines, to_json
from parivox.tables.inspection import trials as seen_trials

TRIALS = [
    ("007/1.wav", "007/2.wav", 0.9, 1),
    ("007/1.wav", "010/1.wav", 0.2, 0),
    ("010/1.wav", "010/2.wav", 0.8, 1),
    ("010/2.wav", "007/2.wav", 0.4, 0),
]
PEOPLE = "speaker,gender,age\n007,f,30\n010,m,41\n"


def text(header, rows, separator=","):
    body = [separator.join(map(str, row)) for row in rows]
    return "\n".join([*([header] if header else []), *body]) + "\n"


UTTERANCES = text(
    "utterance,speaker,language",
    [(f"{s}/{k}.wav", s, ("de", "fr")[k - 1]) for s in ("007", "010") for k in (1, 2)],
)
SCORES = text("enrol,test,score,label", TRIALS)
FILES = {
    "scores.csv": ("scores", SCORES),
    "wespeaker.txt": (
        "scores",
        text("", [(a, b, s, ("nontarget", "target")[t]) for a, b, s, t in TRIALS], " "),
    ),
    "kaldi.scores": ("scores", text("", [(a, b, s) for a, b, s, _ in TRIALS], " ")),
    "list.txt": ("trials", text("", [(t, a, b) for a, b, _, t in TRIALS], " ")),
    "voices.txt": (
        "trials",
        text("", [(a, b, ("imp", "tgt")[t]) for a, b, _, t in TRIALS], " "),
    ),
    "decisions.csv": (
        "scores",
        text("enrol,test,decision", [(a, b, "accept") for a, b, *_ in TRIALS]),
    ),
    "people.csv": ("speakers", PEOPLE),
    "ids.csv": ("speakers", "id\tsex\n007\tf\n010\tm\n"),
    "utterances.csv": ("utterances", UTTERANCES),
    "calls.csv": ("utterances", "call,language\nc1,de\nc2,fr\n"),
    "models.csv": ("models", "model,speaker,recording\nm1,007,007/1.wav\nm1,007,007/2.wav\n"),
    "segments.csv": ("models", "model,speaker,segment\nm1,007,007/1.wav\nm1,007,007/2.wav\n"),
    "failures.csv": ("failures", "recording,stage,reason\n007/1.wav,acquire,noise\n"),
    "prose.txt": ("unknown", "Dear all,\nplease find the scores attached.\n"),
    "empty.csv": ("unknown", ""),
}


@pytest.fixture
def folder(tmp_path):
    for name, (_, content) in FILES.items():
        (tmp_path / name).write_text(content)
    return tmp_path


def told(inspection):
    return "\n".join(f"{label}: {words}" for label, words in lines(inspection))


def odd(found):
    return {one.what: one.count for one in found.odd}


# ---- what a file is


@pytest.mark.parametrize("name", FILES)
def test_each_file_is_recognised_for_what_it_is(folder, name):
    (found,) = inspect(folder / name).files
    assert found.kind == FILES[name][0]
    assert bool(found.problems) == (found.kind == "unknown")


def test_trials_are_counted(folder):
    (found,) = inspect(folder / "scores.csv").files
    assert (found.rows, found.whole, found.format) == (4, True, "delimited")
    assert (found.labels.target, found.labels.nontarget) == (2, 2)
    assert (found.scores.low, found.scores.high, found.scores.distinct) == (0.2, 0.9, 4)
    assert found.scores.auc == 1.0
    assert [(one.what, one.count) for one in found.ids] == [("utterances", 4)]
    assert (found.whose.rule, found.whose.speakers, found.whose.wrong) == ("component", 2, 0.0)


def test_the_columns_that_trials_could_be_grouped_by_are_told(write):
    rows = [
        (*pair, 1.0, "ab"[i % 2], f"call {i}", i)
        for i, pair in enumerate(itertools.combinations([f"a/{k}" for k in range(12)], 2))
    ]
    path = write("s.csv", text("enrol,test,score,channel,name,seconds", rows))
    (found,) = inspect(path).files
    groups = {column.name for column in found.columns if column.groups}
    assert groups == {"channel"}
    (seconds,) = (column for column in found.columns if column.role == "seconds")
    assert seconds.numbers == (0.0, 65.0)
    assert "--by channel" in inspect(path).next


def test_enrolments_that_are_no_tests_are_told_apart(write):
    path = write("s.csv", "enrol,test,score\nm1,a/1,1\nm1,b/1,0\nm2,a/1,0\n")
    (found,) = inspect(path).files
    assert [(one.what, one.count) for one in found.ids] == [("enrolments", 2), ("tests", 2)]


def test_of_a_large_file_the_first_rows_are_told_and_that_is_said(folder, monkeypatch):
    monkeypatch.setattr(seen_trials, "MOST_ROWS", 3)
    for name in ("scores.csv", "wespeaker.txt"):
        found = inspect(folder / name)
        assert (found.files[0].rows, found.files[0].whole) == (3, False)
        assert "more than 3 rows, of which the first" in told(found)
    monkeypatch.setattr(seen_trials, "MOST_ROWS", 4)
    assert inspect(folder / "scores.csv").files[0].whole


def test_columns_without_known_names_are_taken_by_what_they_hold(write):
    path = write("s.csv", SCORES.replace("enrol,test,score,label", "u,v,p,y"))
    found = inspect(path, write("people.csv", PEOPLE))
    assert found.files[0].roles == {"enrol": "u", "test": "v", "score": "p", "label": "y"}
    assert "--columns" in found.files[0].problems[0]
    assert "--columns enrol=u,test=v,label=y,score=p" in found.next.replace(
        "score=p,label=y", "label=y,score=p"
    )
    named = inspect(path, columns={"enrol": "u", "test": "v", "score": "p", "label": "y"})
    assert named.files[0].problems == ()
    assert named.files[0].labels == found.files[0].labels


def test_rows_that_fit_several_formats_are_read_in_the_one_that_is_named(write):
    path = write("s.txt", "1 1 x 0.5\n0 1 y 0.25\n1 0 z 0.125\n")
    (found,) = inspect(path).files
    assert (found.kind, found.rows) == ("trials", 0)
    assert "--scores-format" in found.problems[0]
    named = inspect(path, scores_format="bob-4")
    assert (named.files[0].kind, named.files[0].rows) == ("scores", 3)
    assert named.next.endswith("--scores-format bob-4")


def test_dataframes_and_arrays_are_looked_at_like_files():
    trials = pl.DataFrame(TRIALS, schema=["enrol", "test", "score", "label"], orient="row")
    found = inspect(trials, {"speaker": ["007", "010"], "gender": ["f", "m"]})
    assert [one.kind for one in found.files] == ["scores", "speakers"]
    assert found.joins[0].met == 2


# ---- what is odd


def test_what_is_odd_is_counted(write):
    rows = [
        *TRIALS,
        TRIALS[0],
        ("007/2.wav", "007/1.wav", 0.9, 1),
        ("007/1.wav", "007/1.wav", 1.0, 1),
        ("1E+05", "007/2.wav", "", 0),
    ]
    (found,) = inspect(write("s.csv", text("enrol,test,score,label", rows))).files
    assert odd(found) == {
        "exact duplicates": 1,
        "reversed pairs": 1,
        "trials of an utterance with itself": 1,
        "trials without score": 1,
        "ids as a spreadsheet shortens long numbers": 1,
    }
    assert found.problems == ()


def test_two_spellings_and_unknown_values_are_told(write):
    table = "id,gender,country\na,F,USA\nb,f,usa\nc,m,n/a\nd,m,\n"
    (found,) = inspect(write("p.csv", table)).files
    columns = {column.name: column for column in found.columns}
    assert columns["gender"].spellings == (("F", "f"),)
    assert columns["country"].spellings == (("USA", "usa"),)
    assert columns["country"].unknown == 2


def test_labels_that_contradict_the_first_component_are_told(write):
    (found,) = inspect(write("s.csv", "enrol,test,score,label\na/1,a/2,1,0\na/1,b/1,0,0\n")).files
    assert found.whose.wrong == 0.5


def test_a_table_without_header_is_suspected(write):
    (found,) = inspect(write("p.csv", "id10001,m\nid10002,f\nid10003,f\n")).files
    assert [one.note for one in found.odd] == ["id10001"]


# ---- problems, in the words of the audit


BAD = {
    "a cell without id": "enrol,test,score\n,a/1,1\n",
    "text as score": "enrol,test,score\na/1,a/2,high\n",
    "nan as score": "enrol,test,score\na/1,a/2,nan\n",
    "no label": "enrol,test,score,label\na/1,a/2,1,maybe\n",
    "two scores": "enrol,test,score\na/1,a/2,1\na/1,a/2,2\n",
    "ragged": "enrol,test,score\na/1,a/2,1\na/1\n",
    "two columns of one role": "ref_file,reference_file,test,score\na/1,a/2,b/1,1\n",
    "wrong label": "enrol,test,score,label\na/1,a/2,1,0\n",
    "unknown speaker": "enrol,test,score\na/1,c/2,1\n",
}


@pytest.mark.parametrize("name", BAD)
def test_problems_are_the_sentences_of_the_audit(write, name):
    scores, people = write("s.csv", BAD[name]), write("p.csv", "speaker,sex\na,f\nb,m\n")
    with pytest.raises(DataError) as refused:
        pv.audit(scores, speakers=people, by="sex")
    found = inspect(scores, people)
    assert [*found.files[0].problems, *found.problems] == [str(refused.value)]
    assert found.readable


def test_a_speaker_with_two_values_is_a_problem(write):
    (found,) = inspect(write("p.csv", "speaker,sex\na,f\na,m\n")).files
    assert "'f' and 'm'" in found.problems[0]
    assert odd(found) == {"speakers with several rows": 1}


# ---- how files fit


def test_the_order_of_the_files_does_not_matter(folder):
    names = ["scores.csv", "people.csv", "utterances.csv", "list.txt"]
    first = inspect(*(folder / name for name in names))
    for order in itertools.permutations(names):
        found = inspect(*(folder / name for name in order))
        assert [one.kind for one in found.files] == [FILES[name][0] for name in order]
        assert set(found.joins) == set(first.joins)
        assert (found.next, found.problems) == (first.next, ())
    assert {(one.what, one.met, one.count) for one in first.joins} == {
        ("trials", 4, 4),
        ("utterances", 4, 4),
        ("speakers", 2, 2),
    }


def test_the_column_of_the_speakers_is_found_by_the_trials(folder, write):
    path = write("p.csv", "nr,code,sex\n1,007,f\n2,010,m\n3,011,m\n")
    (join,) = inspect(folder / "scores.csv", path).joins
    assert (join.column, join.met, join.count) == ("code", 2, 2)


def test_a_table_of_unknown_columns_is_of_utterances_if_it_holds_their_ids(write):
    scores = write("s.csv", "enrol,test,score\nx1,y1,1\nx2,y1,0\n")
    path = write("t.csv", "Aufnahme,Kanal\nx1,a\nx2,b\ny1,a\n")
    found = inspect(scores, path)
    assert found.files[1].kind == "utterances"
    assert found.joins[0].column == "Aufnahme"


PATTERNS = {
    "leading zeros": ("speaker,sex\n7,f\n10,m\n", "leading zeros"),
    "upper case": ("speaker,sex\nA,f\nB,m\n", "upper and lower case"),
    "decimals": ("speaker,sex\n7.0,f\n10.0,m\n", "decimals"),
}


@pytest.mark.parametrize("name", PATTERNS)
def test_what_explains_ids_that_do_not_match_is_told(write, name):
    table, pattern = PATTERNS[name]
    rows = SCORES.replace("007", "a").replace("010", "b") if name == "upper case" else SCORES
    (join,) = inspect(write("s.csv", rows), write("p.csv", table)).joins
    assert join.met < join.count
    assert join.missing
    assert pattern in join.pattern


def test_a_speaker_elsewhere_in_the_id_is_told(write):
    scores = write("s.csv", "enrol,test,score\nwav/007/1,wav/010/1,0\nwav/007/1,wav/007/2,1\n")
    (join,) = inspect(scores, write("p.csv", PEOPLE)).joins
    assert "the second component" in join.pattern


def test_trials_that_differ_from_a_list_by_their_endings(folder, write):
    path = write("list.txt", FILES["list.txt"][1].replace(".wav", ""))
    found = inspect(folder / "scores.csv", path)
    assert [(one.met, one.count) for one in found.joins] == [(0, 4), (0, 4)]
    assert "endings" in found.joins[0].pattern
    assert "no trial is left" in found.problems[0]


def test_a_list_of_which_some_trials_have_no_score(folder, write):
    path = write("list.txt", FILES["list.txt"][1] + "0 007/2.wav 010/2.wav\n")
    (join,) = inspect(folder / "scores.csv", path).joins
    assert (join.met, join.count) == (4, 5)
    assert join.missing == ("(007/2.wav, 010/2.wav)",)


def test_enrolments_of_several_recordings_and_failures(write):
    scores = write("s.csv", "enrol,test,score\nm1,007/3.wav,1\nm1,010/1.wav,0\n")
    models = write("m.csv", FILES["models.csv"][1] + "m2,010,010/2.wav\n")
    failures = write("f.csv", "recording,stage\nm2,enrol\n")
    found = inspect(failures, scores, models, write("p.csv", PEOPLE))
    assert {(one.what, one.of.rpartition("/")[2], one.met) for one in found.joins} == {
        ("enrolments", "s.csv", 1),
        ("enrolments", "f.csv", 1),
        ("speakers", "s.csv", 2),
    }
    assert found.problems == ()


def test_distances_are_noticed(write):
    found = inspect(write("s.csv", "enrol,test,dist,label\na/1,a/2,0.1,1\na/1,b/2,0.9,0\n"))
    assert found.files[0].scores.auc == 0.0
    assert found.next.endswith("--distance")


# ---- what is told


def test_five_lines_or_so_a_file(folder):
    found = inspect(*(folder / name for name in FILES if FILES[name][0] != "unknown"))
    for one in found.files:
        assert len([*lines(inspect(one.name))]) <= 6


def test_of_the_speakers_at_most_two_are_shown(write):
    rows = "".join(f"p{i:03},Name {i:03},{'fm'[i % 2]}\n" for i in range(100))
    found = inspect(write("p.csv", "id,name,sex\n" + rows))
    shown = told(found) + to_json(found)
    assert sum(f"p{i:03}" in shown for i in range(100)) <= 2
    assert not any(f"Name {i:03}" in shown for i in range(100))


def test_what_files_hold_is_shown_as_it_is_on_one_line(write):
    found = inspect(write("p.csv", "speaker,\x1b[31m[red]\na,\x1b]0;x\x07\nb,y\n"))
    assert all(words.isprintable() for _, words in lines(found))
    assert "[red]" in told(found)


def test_the_findings_are_json(folder):
    found = inspect(*(folder / name for name in FILES))
    record = json.loads(to_json(found))
    assert [one["kind"] for one in record["files"]] == [kind for kind, _ in FILES.values()]
    assert record["next"] == found.next


cells = st.sampled_from(
    ["a/1", "b/2", "0", "1", "target", "nan", "inf", "", " ", "0.5", '"', "1E+05", "x", "\x00", "é"]
)
tables = st.builds(
    lambda head, rows, sep, end: (head + end.join(sep.join(row) for row in rows)).encode(),
    st.sampled_from(
        ["", "enrol,test,score\n", "id,sex\n", "model,speaker,recording\n", "recording,stage\n",
         "utterance,speaker\n", "\ufeffenrol\ttest\tlabel\n", "a,b,c,d\n"]
    ),
    st.lists(st.lists(cells, max_size=5), max_size=6),
    st.sampled_from([",", " ", "\t", ";"]),
    st.sampled_from(["\n", "\r\n", "\r"]),
)  # fmt: skip


@settings(
    deadline=None,
    max_examples=80,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(one=st.binary(max_size=200) | tables, other=tables)
def test_nothing_is_raised_whatever_the_files_hold(tmp_path, one, other):
    paths = tmp_path / "one", tmp_path / "other"
    for path, content in zip(paths, (one, other), strict=True):
        path.write_bytes(content)
    found = inspect(*paths)
    assert len(found.files) == 2
    json.loads(to_json(found))
    assert all(words.isprintable() for _, words in lines(found))
