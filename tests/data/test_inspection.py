"""What a person is told of files before an audit: what they are, how they join, what is odd."""

import itertools
import json
import shlex

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.sentences import in_words

import parivox as pv
from parivox import inspect
from parivox.data import inspection
from parivox.data.columns import RequestedColumns
from parivox.data.formats import dataframes, scan
from parivox.data.inspection import trials as seen_trials
from parivox.errors import DataError, options_named
from parivox.report.inspection import labelled_lines, to_json

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


def inspection_text(inspection):
    with options_named():  # as the command line
        return "\n".join(f"{label}: {words}" for label, words in labelled_lines(inspection))


def odd(inspected_file):
    return {in_words(oddity.what): oddity.count for oddity in inspected_file.warnings}


# ---- what a file is


@pytest.mark.parametrize("name", FILES)
def test_each_file_is_recognised_for_what_it_is(folder, name):
    (inspected_file,) = inspect(folder / name).files
    assert inspected_file.kind == FILES[name][0]
    assert bool(inspected_file.problems) == (inspected_file.kind == "unknown")


def test_trials_are_counted(folder):
    (inspected_file,) = inspect(folder / "scores.csv").files
    assert (inspected_file.rows, inspected_file.whole, inspected_file.format) == (
        4,
        True,
        "delimited",
    )
    assert (inspected_file.labels.target, inspected_file.labels.nontarget) == (2, 2)
    assert (
        inspected_file.scores.low,
        inspected_file.scores.high,
        inspected_file.scores.distinct,
    ) == (0.2, 0.9, 4)
    assert inspected_file.scores.auc == 1.0
    assert [(id_count.kind, id_count.count) for id_count in inspected_file.ids] == [
        ("utterances", 4)
    ]
    assert (
        inspected_file.speaker_rule.rule,
        inspected_file.speaker_rule.speakers,
        inspected_file.speaker_rule.conflict_share,
    ) == ("component", 2, 0.0)


def test_the_columns_that_trials_could_be_grouped_by_are_told(write):
    rows = [
        (*pair, 1.0, "ab"[i % 2], f"call {i}", i)
        for i, pair in enumerate(itertools.combinations([f"a/{k}" for k in range(12)], 2))
    ]
    path = write("s.csv", text("enrol,test,score,channel,name,seconds", rows))
    (inspected_file,) = inspect(path).files
    groups = {column.name for column in inspected_file.columns if column.groups}
    assert groups == {"channel"}
    (seconds,) = (column for column in inspected_file.columns if column.role == "seconds")
    assert seconds.numbers == (0.0, 65.0)
    assert "--by channel" in inspect(path).next


def test_enrolments_that_are_no_tests_are_told_apart(write):
    path = write("s.csv", "enrol,test,score\nm1,a/1,1\nm1,b/1,0\nm2,a/1,0\n")
    (inspected_file,) = inspect(path).files
    assert [(id_count.kind, id_count.count) for id_count in inspected_file.ids] == [
        ("enrolments", 2),
        ("tests", 2),
    ]


def test_of_a_large_file_the_first_rows_are_told_and_that_is_said(folder, monkeypatch):
    monkeypatch.setattr(seen_trials, "MAX_INSPECTED_ROWS", 3)
    for name in ("scores.csv", "wespeaker.txt"):
        inspection = inspect(folder / name)
        assert (inspection.files[0].rows, inspection.files[0].whole) == (3, False)
        assert "more than 3 rows, of which the first" in inspection_text(inspection)
    monkeypatch.setattr(seen_trials, "MAX_INSPECTED_ROWS", 4)
    assert inspect(folder / "scores.csv").files[0].whole


def test_columns_without_known_names_are_taken_by_what_they_hold(write):
    path = write("s.csv", SCORES.replace("enrol,test,score,label", "u,v,p,y"))
    inspection = inspect(path, write("people.csv", PEOPLE))
    assert inspection.files[0].roles == {"enrol": "u", "test": "v", "score": "p", "label": "y"}
    assert inspection.problems == inspection.files[0].problems == ()
    columns = "enrol = 'u', test = 'v', score = 'p', label = 'y'"
    assert f"note: columns recognised by their content: {columns}" in inspection_text(inspection)
    assert "--columns" not in inspection.next
    named = inspect(path, columns={"enrol": "u", "test": "v", "score": "p", "label": "y"})
    assert named.files[0].problems == ()
    assert named.files[0].labels == inspection.files[0].labels


DECIDED = text(
    "model,call,decision,threshold",
    [("m7", "c1", "accept", 0.5), ("m7", "c2", "reject", 0.5), ("m8", "c3", "accept", 0.7)],
)
BY_SIDE = {
    "labels": ("model,call,target\nm7,c1,1\nm8,c2,0\n", "test=call"),
    "scores of no name": ("model,call,p\nm7,c1,0.5\nm7,c2,0.25\n", "test=call,score=p"),
    "a test of no name": ("model,Anruf,score\nm7,c1,0.5\nm7,c2,0.25\n", "test=Anruf"),
    "an enrolment of no name": ("Wer,probe,score\nm7,c1,0.5\nm7,c2,0.25\n", "enrol=Wer"),
}


@pytest.mark.parametrize("name", BY_SIDE)
def test_trials_are_trials_though_a_side_has_no_known_name(write, name):
    content, columns = BY_SIDE[name]
    path = write("s.csv", content)
    inspection = inspect(path)
    (inspected_file,) = inspection.files
    assert inspected_file.kind == ("trials" if name == "labels" else "scores")
    assert inspected_file.rows == content.count("\n") - 1
    assert inspected_file.problems == ()
    roles = dict(column.split("=") for column in columns.split(","))
    recognised = ", ".join(f"{role} = {column!r}" for role, column in roles.items())
    assert f"columns recognised by their content: {recognised}" in inspection_text(inspection)
    assert roles.items() <= inspected_file.roles.items()
    named = inspect(path, columns=roles)
    assert (named.files[0].kind, named.files[0].problems) == (inspected_file.kind, ())
    assert named.files[0].roles == inspected_file.roles
    read = scan(path, columns=RequestedColumns(), format=None, name="scores")
    assert (read.columns, read.by_content) == (inspected_file.roles, tuple(roles))


def test_tests_of_decisions_and_scores_are_known_as_calls(write):
    for content in (DECIDED, "model,call,score\nm7,c1,0.5\nm7,c2,0.25\n"):
        (inspected_file,) = inspect(write("s.csv", content)).files
        assert inspected_file.kind == "scores"
        assert inspected_file.roles["enrol"] == "model"
        assert inspected_file.roles["test"] == "call"


TABLES = {
    "models": ("model,speaker,recording,quality\nm1,a,c1,0.5\nm1,a,c2,0.25\n", "models"),
    "failures": ("model,recording,stage\nm1,c1,enrol\nm1,c2,enrol\n", "failures"),
    "recordings with scores": ("utt,customer,score\nc1,a,0.5\nc2,a,0.25\n", "utterances"),
    "people with scores": ("speaker,gender,score\na,f,0.5\nb,m,0.25\n", "speakers"),
    "people who accepted": ("speaker,gender,accepted\na,f,1\nb,m,0\n", "speakers"),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_with_words_of_trials_are_still_tables(write, name):
    content, kind = TABLES[name]
    inspection = inspect(write("t.csv", content))
    assert (inspection.files[0].kind, inspection.files[0].problems) == (kind, ())


def test_a_word_for_failures_joins_those_that_the_user_names(write):
    rows = [(f"c{n}", "k1", ("ja", "nein", "leer", "zu kurz")[n % 4]) for n in range(8)]
    path = write("log.csv", text("call,customer,decision", rows))
    inspection = inspect(path, columns={"accept": "ja", "reject": "nein", "failed": "leer"})
    assert "'zu kurz' is read as a failure" in inspection_text(inspection)
    assert "accept=ja,reject=nein,failed=leer|zu kurz" in inspection.next


@pytest.mark.parametrize("session", [("a", "b", "c"), ("yes", "no", "maybe")])
def test_recordings_of_few_kinds_are_no_calls(write, session):
    rows = [(f"u{n}", f"s{n % 20}", f"s{(n + n % 2) % 20}", session[n % 3]) for n in range(120)]
    inspection = inspect(write("t.csv", text("file,speaker,asked,session", rows)))
    assert inspection.files[0].kind == "utterances"


def test_a_large_file_of_trials_is_not_read_whole_to_be_known(write, monkeypatch):
    def refuse(*_):
        raise AssertionError

    monkeypatch.setattr(inspection, "inspect_table", refuse)
    assert inspect(write("s.csv", DECIDED)).files[0].kind == "scores"
    assert inspect(write("t.csv", SCORES.replace("enrol,test", "u,v"))).files[0].kind == "scores"


def test_a_file_of_very_many_ids_is_cut_off_earlier(monkeypatch):
    monkeypatch.setattr(seen_trials, "MAX_INSPECTED_IDS", 3)
    monkeypatch.setattr(dataframes, "ROWS_PER_CHUNK", 2)
    trials = pl.DataFrame(TRIALS, schema=["enrol", "test", "score", "label"], orient="row")
    (inspected_file,) = inspect(trials).files
    assert (inspected_file.rows, inspected_file.whole) == (2, False)


@pytest.mark.slow
def test_columns_of_either_side_are_one_attribute(write):
    header = "bio_ref_template_id,probe_template_id,score,bio_ref_sex,probe_sex,probe_session"
    rows = [("a/1", "a/2", 1.0, "f", "f", 1), ("a/1", "b/1", 0.5, "f", "m", 2)]
    path = write("s.csv", text(header, rows))
    inspection = inspect(path)
    columns = {column.name: column.sides for column in inspection.files[0].columns}
    assert columns == {"sex": ("bio_ref_sex", "probe_sex"), "probe_session": ()}
    assert "in bio_ref_sex and probe_sex" in inspection_text(inspection)
    words = shlex.split(inspection.next)
    assert words[-4:] == ["--by", "sex", "--by", "probe_session"]
    pv.audit(path, by=["sex", "probe_session"])


def test_columns_of_dataframes_are_told_like_those_of_files():
    trials = {
        "enrol": ["a/1", "b/1", "a/1"],
        "test": ["a/2", "b/2", "b/1"],
        "score": [1.0, 0.5, 0.2],
        "device": ["x", "y", "x"],
    }
    assert inspect(trials).next.endswith("--by device")


def test_rows_that_fit_several_formats_are_read_in_the_one_that_is_named(write):
    path = write("s.txt", "1 1 x 0.5\n0 1 y 0.25\n1 0 z 0.125\n")
    (inspected_file,) = inspect(path).files
    assert (inspected_file.kind, inspected_file.rows) == ("trials", 0)
    assert "or scores_format='bob-4'" in inspected_file.problems[0]
    named = inspect(path, scores_format="bob-4")
    assert (named.files[0].kind, named.files[0].rows) == ("scores", 3)
    assert named.next.endswith("--scores-format bob-4")


def test_dataframes_and_arrays_are_looked_at_like_files():
    trials = pl.DataFrame(TRIALS, schema=["enrol", "test", "score", "label"], orient="row")
    inspection = inspect(trials, {"speaker": ["007", "010"], "gender": ["f", "m"]})
    assert [file.kind for file in inspection.files] == ["scores", "speakers"]
    assert inspection.joins[0].matched == 2


# ---- what is odd


def test_what_is_odd_is_counted(write):
    rows = [
        *TRIALS,
        TRIALS[0],
        ("007/2.wav", "007/1.wav", 0.9, 1),
        ("007/1.wav", "007/1.wav", 1.0, 1),
        ("1E+05", "007/2.wav", "", 0),
    ]
    (inspected_file,) = inspect(write("s.csv", text("enrol,test,score,label", rows))).files
    assert odd(inspected_file) == {
        "exact duplicates": 1,
        "reversed pairs": 1,
        "trials that compare an utterance with itself": 1,
        "trials without a score": 1,
        "ids that look like long numbers shortened by a spreadsheet": 1,
    }
    assert inspected_file.problems == ()


def test_two_spellings_and_unknown_values_are_told(write):
    table = "id,gender,country\na,F,USA\nb,f,usa\nc,m,n/a\nd,m,\n"
    (inspected_file,) = inspect(write("p.csv", table)).files
    columns = {column.name: column for column in inspected_file.columns}
    assert in_words(columns["gender"].warnings[0].note) == "'F' and 'f'"
    assert in_words(columns["country"].warnings[0].note) == "'USA' and 'usa'"
    assert columns["country"].unknown == 2


def test_labels_that_contradict_the_first_component_are_told(write):
    (inspected_file,) = inspect(
        write("s.csv", "enrol,test,score,label\na/1,a/2,1,0\na/1,b/1,0,0\n")
    ).files
    assert inspected_file.speaker_rule.conflict_share == 0.5


def test_a_table_without_header_is_suspected(write):
    (inspected_file,) = inspect(write("p.csv", "id10001,m\nid10002,f\nid10003,f\n")).files
    assert [in_words(oddity.note) for oddity in inspected_file.warnings] == ["id10001"]


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


@pytest.mark.slow
@pytest.mark.parametrize("name", BAD)
def test_problems_are_the_sentences_of_the_audit(write, name):
    scores, people = write("s.csv", BAD[name]), write("p.csv", "speaker,sex\na,f\nb,m\n")
    with pytest.raises(DataError) as refused:
        pv.audit(scores, speakers=people, by="sex")
    inspection = inspect(scores, people)
    assert [*inspection.files[0].problems, *inspection.problems] == [str(refused.value)]
    assert inspection.readable


def test_a_speaker_with_two_values_is_a_problem(write):
    (inspected_file,) = inspect(write("p.csv", "speaker,sex\na,f\na,m\n")).files
    assert "'f' and 'm'" in inspected_file.problems[0]
    assert odd(inspected_file) == {"speakers with several rows": 1}


# ---- how files fit


@pytest.mark.slow
def test_the_order_of_the_files_does_not_matter(folder):
    names = ["scores.csv", "people.csv", "utterances.csv", "list.txt"]
    reference = inspect(*(folder / name for name in names))
    for order in itertools.permutations(names):
        inspection = inspect(*(folder / name for name in order))
        assert [join.kind for join in inspection.files] == [FILES[name][0] for name in order]
        assert set(inspection.joins) == set(reference.joins)
        assert (inspection.next, inspection.problems) == (reference.next, ())
    assert {(join.kind, join.matched, join.count) for join in reference.joins} == {
        ("trials", 4, 4),
        ("utterances", 4, 4),
        ("speakers", 2, 2),
    }


def test_the_column_of_the_speakers_is_found_by_the_trials(folder, write):
    path = write("p.csv", "nr,code,sex\n1,007,f\n2,010,m\n3,011,m\n")
    (join,) = inspect(folder / "scores.csv", path).joins
    assert (join.column, join.matched, join.count) == ("code", 2, 2)


def test_a_table_of_unknown_columns_is_of_utterances_if_it_holds_their_ids(write):
    scores = write("s.csv", "enrol,test,score\nx1,y1,1\nx2,y1,0\n")
    path = write("t.csv", "Aufnahme,Kanal\nx1,a\nx2,b\ny1,a\n")
    inspection = inspect(scores, path)
    assert inspection.files[1].kind == "utterances"
    assert inspection.joins[0].column == "Aufnahme"


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
    assert join.matched < join.count
    assert join.missing
    assert pattern in join.pattern


@pytest.mark.parametrize(
    ("values", "single"),
    [
        ("ffmmx", "'x'"),
        ("ffmmxy", "'x', 'y'"),
        ("fmx", None),  # all have one speaker
        ("ffmm", None),
        ("ffmmabcd", None),  # as of many nationalities some do
        ("12345566", None),  # numbers, which are grouped by bands
    ],
)
def test_a_group_of_one_speaker_may_mean_unknown(write, values, single):
    rows = [(f"s{n}", value) for n, value in enumerate(values)]
    rows += [(f"s{n}", value) for n, value in enumerate(values)]  # a repeated row is no speaker
    (file,) = inspect(write("p.csv", text("speaker,Geschlecht", rows))).files
    notes = [in_words(w.note) for w in file.warnings if w.code == "values_of_one_speaker"]
    expected = f"{single}; leave the cell empty if it means unknown"
    assert notes == ([expected] if single else [])


@pytest.mark.parametrize("word", ["k.A.", "K. A.", "keine Angabe", "unbekannt", "n.a."])
def test_a_word_that_looks_unknown_is_warned_of_once(write, word):
    rows = [(f"s{n}", value) for n, value in enumerate(["f", "f", "m", "m", word])]
    (file,) = inspect(write("p.csv", text("speaker,Geschlecht", rows))).files
    codes = [w.code for column in file.columns for w in column.warnings]
    assert codes == ["values_that_look_unknown"]
    assert "values_of_one_speaker" not in {w.code for w in file.warnings}


def test_names_that_end_in_a_number_are_no_numbers(write):
    people = write("p.csv", "speaker,gender\nspk.0,f\nspl.0,m\n")
    (join,) = inspect(write("s", "spk/1 spl/1 0.5\n"), people).joins
    assert join.pattern == "they differ in their file extensions"


def session_trials(form, n_speakers=12):
    """Scores of two sessions of each speaker, and of every speaker against the next one."""
    rows = []
    for n in range(1, n_speakers + 1):
        other = n % n_speakers + 1
        enrol, same = (form.format(n=n, k=k) for k in (1, 2))
        different = [form.format(n=other, k=k) for k in (1, 2)]
        rows += [(enrol, same, 2.0, "target")]
        rows += [(enrol, test, 0.1 * n, "nontarget") for test in different]
    return text("enrol,test,score,label", rows)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "patterns"),
    [
        ("spk{n:04}/sess{k}/utt7.wav", ["spk00{speaker}/**", "spk000{speaker}/**"]),
        ("p{n}/sess{k}/utt7.wav", ["p{speaker}/**"]),
        ("wav/S{n:03}/sess{k}/1.wav", ["*/S0{speaker}/**", "*/S00{speaker}/**"]),
        ("id{n:02}_sess{k}_1.wav", ["id{speaker}_**", "id0{speaker}_**"]),
        ("wav/sess{k}/x/spk{n:02}_1.wav", ["**/spk{speaker}_*", "**/spk0{speaker}_*"]),
    ],
)
def test_speakers_behind_letters_and_zeros_are_located_as_the_labels_have_them(
    write, form, patterns
):
    people = write("p.csv", text("speaker,sex", [(n, "fm"[n % 2]) for n in range(1, 13)]))
    inspection = inspect(write("s.csv", session_trials(form)), people)
    assert inspection.problems == ()
    words = shlex.split(inspection.next)
    proposed = [words[i + 1] for i, word in enumerate(words) if word == "--utterances"]
    assert proposed == patterns
    audit = pv.audit(
        write("s.csv", session_trials(form)), people, utterances=proposed, by="sex", intervals=False
    )
    assert {row["speakers"] for row in audit.rates(grouping="all")} == {12}


@pytest.mark.slow
def test_a_part_of_the_ids_that_contradicts_the_labels_is_not_proposed(write):
    people = write("p.csv", text("speaker,sex", [(n, "fm"[n % 2]) for n in range(1, 13)]))
    form = "anna-{n:04}x/sess{k}/utt7.wav"  # where sessions are the only numbers of the table
    inspection = inspect(write("s.csv", session_trials(form)), people)
    (join,) = inspection.joins
    assert join.template == ""
    assert "contain known speakers only where these contradict the labels" in join.pattern
    assert "sess" not in inspection.next


def test_of_models_no_pattern_of_their_own_is_proposed(write):
    pairs = [(f"m{a}", f"wav/s{b}/1") for a in range(4) for b in range(4)]
    scores = write("s.csv", text("enrol,test,score", [(*pair, len(pair)) for pair in pairs]))
    rows = [(f"m{n}", f"wav/s{n}/{k}") for n in range(4) for k in (7, 8)]
    models = write("m.csv", text("model,recording", rows))
    people = write("p.csv", text("speaker,sex", [(f"s{n}", "fm"[n % 2]) for n in range(4)]))
    words = shlex.split(inspect(scores, models, people).next)
    assert words[words.index("--utterances") :][:3] == [
        "--utterances",
        "*/{speaker}/**",
        "--models",
    ]


def test_a_column_with_a_value_for_almost_each_recording_makes_no_groups(write):
    rows = [(f"a/{n}", "a", f"text {max(n, 1)}", "xy"[n % 2]) for n in range(20)]
    rows += [(f"b/{n}", "b", f"text {n + 20}", "xy"[n % 2]) for n in range(20)]
    recordings = write("r.tsv", text("path\tclient_id\tsentence_id\tdevice", rows, "\t"))
    scores = write("s.csv", "enrol,test,score\na/1,a/3,1\na/1,b/1,0\nb/2,b/4,0.5\n")
    assert "sentence_id" not in inspect(scores, recordings).next
    assert "device" in inspect(scores, recordings).next


PEOPLE_AS_TRIALS = {
    "words of labels": "speaker,language,sex\na,de,f\nb,de,f\nc,fr,f\nd,de,f\ne,fr,m\nf,de,m\n",
    "blanks within cells": "code\ttown\tshare\na\tNew York\t0.5\nb\tSan Jose\t0.25\n",
    "a name that is a label": "no,speaker,age\n0.5,a,3\n0.25,b,4\n0.75,c,9\n",
}


@pytest.mark.parametrize("name", PEOPLE_AS_TRIALS)
def test_a_table_of_people_is_no_list_of_trials(write, name):
    assert inspect(write("p.csv", PEOPLE_AS_TRIALS[name])).files[0].kind == "speakers"


def test_keys_of_asvspoof_are_refused_with_the_command_that_makes_a_list(write):
    rows = [
        (f"LA_{n % 3}", f"LA_E_{n}", "alaw", "ita_tx", *outcome, "notrim", "eval")
        for n, outcome in enumerate(
            [("bonafide", "target"), ("bonafide", "nontarget"), ("A07", "spoof")] * 4
        )
    ]
    keys = write("keys.txt", text("", rows, " "))
    (inspected_file,) = inspect(keys).files
    assert (inspected_file.kind, inspected_file.rows) == ("trials", 0)
    program = "awk '{print $1, $2, $5, $6}' keys.txt"
    assert program in inspected_file.problems[0]


def test_scores_of_bob_without_template_ids_are_refused_with_what_helps(write):
    names = "bio_ref_subject_id,probe_subject_id,score"
    scores = write("s.csv", f"{names}\na,b,0.5\nb,b,0.25\n")
    (inspected_file,) = inspect(scores).files
    assert inspected_file.kind == "trials"
    assert "bio_ref_template_id and probe_template_id" in inspected_file.problems[0]
    with pytest.raises(DataError) as refused:
        pv.audit(scores)
    assert str(refused.value) == inspected_file.problems[0]


def test_a_speaker_elsewhere_in_the_id_is_told(write):
    scores = write("s.csv", "enrol,test,score\nwav/007/1,wav/010/1,0\nwav/007/1,wav/007/2,1\n")
    (join,) = inspect(scores, write("p.csv", PEOPLE)).joins
    assert "the second component" in join.pattern


def test_trials_that_differ_from_a_list_by_their_endings(folder, write):
    path = write("list.txt", FILES["list.txt"][1].replace(".wav", ""))
    inspection = inspect(folder / "scores.csv", path)
    assert [(join.matched, join.count) for join in inspection.joins] == [(0, 4), (0, 4)]
    assert "extensions" in inspection.joins[0].pattern
    assert "no trials are left" in inspection.problems[0]


def test_a_list_of_which_some_trials_have_no_score(folder, write):
    path = write("list.txt", FILES["list.txt"][1] + "0 007/2.wav 010/2.wav\n")
    (join,) = inspect(folder / "scores.csv", path).joins
    assert (join.matched, join.count) == (4, 5)
    assert join.missing == ("(007/2.wav, 010/2.wav)",)


def test_enrolments_of_several_recordings_and_failures(write):
    scores = write("s.csv", "enrol,test,score\nm1,007/3.wav,1\nm1,010/1.wav,0\n")
    models = write("m.csv", FILES["models.csv"][1] + "m2,010,010/2.wav\n")
    failures = write("f.csv", "recording,stage\nm2,enrol\n")
    inspection = inspect(failures, scores, models, write("p.csv", PEOPLE))
    assert {
        (join.kind, join.id_file.rpartition("/")[2], join.matched) for join in inspection.joins
    } == {
        ("enrolments", "s.csv", 1),
        ("enrolments", "f.csv", 1),
        ("speakers", "s.csv", 2),
    }
    assert inspection.problems == ()


def test_distances_are_noticed(write):
    inspection = inspect(write("s.csv", "enrol,test,dist,label\na/1,a/2,0.1,1\na/1,b/2,0.9,0\n"))
    assert inspection.files[0].scores.auc == 0.0
    assert inspection.next.endswith("--distance")


LIST = "enrol,test,label\n007/1.wav,007/2.wav,1\n007/1.wav,010/1.wav,0\n010/2.wav,007/2.wav,0\n"


def test_labels_of_a_list_are_told_with_the_scores_that_have_none(folder, write):
    inspection = inspect(folder / "kaldi.scores", write("l.csv", LIST))
    scores = inspection.files[0]
    assert (scores.labels.target, scores.labels.nontarget) == (1, 2)
    assert scores.labels.source.endswith("l.csv")
    assert scores.scores.auc == 1.0
    assert "l.csv: target 1, nontarget 2; 1 row has no label" in inspection_text(inspection)
    assert inspect(folder / "kaldi.scores").files[0].labels.source == "speakers"


def test_a_list_shows_that_scores_are_distances(write):
    scores = write("s.txt", "007/1.wav 007/2.wav 0.1\n007/1.wav 010/1.wav 0.9\n")
    assert inspect(scores, write("l.csv", LIST)).next.endswith("--distance")


@pytest.mark.slow
def test_without_labels_the_speakers_tell_which_trials_are_target_ones(folder):
    (score_file, _) = inspect(folder / "kaldi.scores", folder / "people.csv").files
    assert (score_file.labels.target, score_file.labels.nontarget, score_file.labels.source) == (
        2,
        2,
        "speakers",
    )


def test_speakers_that_are_not_known_tell_no_labels(folder, write):
    people = write("p.csv", "speaker,gender\n007,f\n011,m\n")
    assert inspect(folder / "kaldi.scores", people).files[0].labels is None
    assert inspect(write("s.csv", DECIDED)).files[0].labels is None


@pytest.fixture
def bank(write):
    """Customers enrolled by phone, whose calls are by phone or app; each speaks one language."""
    n = range(8)
    decisions = [(f"m{i}", f"c{i}{k}", "accept") for i in n for k in (2, 3, 4)]
    models = [(f"m{i}", f"p{i}", f"c{i}{k}") for i in n for k in (0, 1)]
    calls = [
        (f"c{i}{k}", f"p{i}", "app" if k > 2 else "phone", ("de", "fr")[i % 2])
        for i in n
        for k in range(5)
    ]
    return [
        write("decisions.csv", text("enrol,test,decision", decisions)),
        write("models.csv", text("model,speaker,recording", models)),
        write("calls.csv", text("call,speaker,channel,language", calls)),
    ]


def test_an_attribute_that_differs_between_the_sides_is_asked_of_one_side(bank):
    inspection = inspect(*bank)
    assert inspection.problems == ()
    assert inspection.next.endswith("--by test.channel --by language")
    (attribute,) = inspection.differing
    assert (attribute.grouping, attribute.instead, attribute.share) == (
        "channel",
        "test.channel",
        pytest.approx(2 / 3),
    )
    assert "66.7 % of the target trials" in inspection_text(inspection)
    attributes = ["test.channel", "language"]
    pv.audit(bank[0], models=bank[1], utterances=bank[2], by=attributes)


def test_an_attribute_that_both_sides_share_is_asked_as_it_is(bank):
    bank[2].write_text(bank[2].read_text().replace("app", "phone"))
    inspection = inspect(*bank)
    assert inspection.differing == ()
    assert "--by language" in inspection.next


def test_bands_that_differ_between_the_sides_are_asked_of_one_side(bank):
    header, *rows = bank[2].read_text().splitlines()
    days = [f"{row},{row[1] if row[2] in '01' else row[2] + row[1] + '0'}" for row in rows]
    bank[2].write_text("\n".join([f"{header},days", *days]).replace("phone", "app") + "\n")
    inspection = inspect(*bank)
    (attribute,) = inspection.differing
    assert attribute.grouping.startswith("days:")
    assert f"--by test.{attribute.grouping}" in shlex.join(shlex.split(inspection.next)).replace(
        "'", ""
    )


AGES = "utterance,speaker,age\n007/1.wav,007,{}\n007/2.wav,007,30\n010/1.wav,010,41\n"
AGES += "010/2.wav,010,41\n"


@pytest.mark.parametrize(("age", "agree"), [("30", True), ("29", False)])
def test_attributes_of_two_levels_are_told(folder, write, age, agree):
    ages = write("ages.csv", AGES.format(age))
    inspection = inspect(folder / "scores.csv", folder / "people.csv", ages)
    (shared,) = inspection.shared
    assert shared.name == "age"
    assert {level: name.rpartition("/")[2] for level, name in shared.files.items()} == {
        "speaker": "people.csv",
        "recording": "ages.csv",
    }
    assert inspection.problems == ()
    if agree:
        assert "with the same values" in inspection_text(inspection)
        return
    with pytest.raises(pv.ConfigError) as refused:
        pv.audit(folder / "scores.csv", speakers=folder / "people.csv", utterances=ages, by="age")
    assert shared.refused == str(refused.value)
    assert "--by speaker.age" in inspection.next


def test_attributes_of_two_levels_of_a_large_file_may_differ(folder, write, monkeypatch):
    monkeypatch.setattr(seen_trials, "MAX_INSPECTED_ROWS", 3)
    ages = write("ages.csv", AGES.format("29"))
    inspection = inspect(folder / "scores.csv", folder / "people.csv", ages)
    assert inspection.shared[0].refused is None
    assert "where the values differ, choose one: speaker.age or recording.age" in inspection_text(
        inspection
    )


def test_of_a_list_alone_the_scores_are_asked_for(folder):
    inspection = inspect(folder / "list.txt")
    assert shlex.split(inspection.next)[:3] == ["parivox", "audit", "SCORES"]
    assert "SCORES is the file with the scores" in inspection_text(inspection)


def test_a_list_with_attributes_is_called_by_its_own_name(write):
    key = write("key.tsv", "enrol\ttest\tlabel\tsex\na/1\ta/2\t1\tf\na/1\tb/1\t0\tf\n")
    assert f"{key}: a trial list" in inspection_text(inspect(key))


def test_whose_the_calls_are_is_asked_for_where_nothing_tells_it(write):
    inspection = inspect(write("s.csv", DECIDED), columns={"test": "call"})
    assert "--utterances RECORDINGS" in inspection.next
    assert "RECORDINGS is a table of the recordings" in inspection_text(inspection)


# ---- how a file is written


@pytest.mark.filterwarnings("ignore::parivox.errors.EncodingGuessed")
def test_an_excel_csv_is_told_with_encoding_separator_and_decimals(write):
    people = "Sprecher;Größe\na;1,65\nb;1,8\n"
    for encoding, shown in (("cp1252", "cp1252"), ("utf-16", "UTF-16-LE"), ("utf-8-sig", "UTF-8")):
        (inspected_file,) = inspect(write("p.csv", people.encode(encoding))).files
        assert inspected_file.read["decimal"] == ","
        assert inspected_file.read["separator"] == ";"
        assert f"({shown}, separated by semicolons, decimals with ',')" in inspection_text(
            inspect(write("p.csv", people.encode(encoding)))
        )
    (inspected_file,) = inspect(write("q.csv", 'id;places\na;"1,x"\nb;2\n')).files
    assert "decimal" not in inspected_file.read


def test_a_workbook_is_told_with_what_is_hidden_or_not_read(tmp_path, optional):
    book = optional("openpyxl").Workbook()
    sheet = book.active
    sheet.title = "Leute"
    for row in (["Studie 7"], [], ["ID", "Sex"], ["01", "f"], ["02", "m"], ["03", "f"]):
        sheet.append(row)
    sheet.row_dimensions[5].hidden = True
    book.create_sheet("Notizen").append(["nur Text"])
    hidden = book.create_sheet("alt")
    hidden.append(["x"])
    hidden.sheet_state = "hidden"
    book.save(tmp_path / "p.xlsx")
    inspection = inspect(tmp_path / "p.xlsx")
    assert (inspection.files[0].kind, inspection.files[0].rows) == ("speakers", 3)
    assert "sheet 'Leute', header in row 3, 1 hidden row read like other rows" in inspection_text(
        inspection
    )
    assert "not read: sheet 'Notizen', not read: hidden sheet 'alt'" in inspection_text(inspection)


# ---- what is told


@pytest.mark.slow
def test_five_lines_or_so_a_file(folder):
    inspection = inspect(*(folder / name for name in FILES if FILES[name][0] != "unknown"))
    for file in inspection.files:
        assert len([*labelled_lines(inspect(file.name))]) <= 7


def test_of_the_speakers_at_most_two_are_shown(write):
    rows = "".join(f"p{i:03},Name {i:03},{'fm'[i % 2]}\n" for i in range(100))
    inspection = inspect(write("p.csv", "id,name,sex\n" + rows))
    shown = inspection_text(inspection) + to_json(inspection)
    assert sum(f"p{i:03}" in shown for i in range(100)) <= 2
    assert not any(f"Name {i:03}" in shown for i in range(100))


def test_what_files_hold_is_shown_as_it_is_on_one_line(write):
    inspection = inspect(write("p.csv", "speaker,\x1b[31m[red]\na,\x1b]0;x\x07\nb,y\n"))
    assert all(words.isprintable() for _, words in labelled_lines(inspection))
    assert "[red]" in inspection_text(inspection)


@pytest.mark.slow
def test_the_findings_are_json(folder):
    inspection = inspect(*(folder / name for name in FILES))
    record = json.loads(to_json(inspection))
    assert [file_record["kind"] for file_record in record["files"]] == [
        kind for kind, _ in FILES.values()
    ]
    assert record["next"] == inspection.next


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


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::parivox.errors.EncodingGuessed")
@settings(
    deadline=None,
    max_examples=80,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(first_content=st.binary(max_size=200) | tables, second_content=tables)
def test_nothing_is_raised_whatever_the_files_hold(tmp_path, first_content, second_content):
    paths = tmp_path / "one", tmp_path / "other"
    for path, content in zip(paths, (first_content, second_content), strict=True):
        path.write_bytes(content)
    inspection = inspect(*paths)
    assert len(inspection.files) == 2
    json.loads(to_json(inspection))
    assert all(words.isprintable() for _, words in labelled_lines(inspection))


def full_score_list(folder):
    """Write scores of every probe with three enrolled persons, who they are, and all speakers."""
    probes = {"p1": "anna", "p2": "ben", "p3": "cai", "p4": "dee", "p5": "eli"}
    persons = ["anna", "ben", "cai"]
    rows = ["enrol,test,score,test_speaker"]
    for i, (probe, speaker) in enumerate(probes.items()):
        rows += [
            f"{person},{probe},{i / 10 + 2 * (person == speaker)},{speaker}" for person in persons
        ]
    (folder / "scores.csv").write_text("\n".join(rows) + "\n")
    (folder / "list.csv").write_text("\n".join(["person", *persons]) + "\n")
    people = [f"{speaker},{'fm'[i % 2]}" for i, speaker in enumerate(probes.values())]
    (folder / "people.csv").write_text("\n".join(["speaker,gender", *people]) + "\n")
    return [folder / f"{name}.csv" for name in ("scores", "list", "people")]


@pytest.mark.slow
def test_a_full_score_list_is_proposed_as_identification(tmp_path):
    scores, persons, people = full_score_list(tmp_path)
    inspection = pv.inspect(scores, persons, people)
    assert inspection.problems == ()
    audit, gallery = f"parivox audit {scores}", f"--gallery {persons}"
    assert inspection.next == f"{audit} {gallery} --speakers {people} --by gender"
    assert "enrolled persons with --gallery" not in str(inspection)
    alone = pv.inspect(scores, people)
    assert alone.next == f"{audit} --speakers {people} --by gender"
    (warning,) = (
        warning
        for warning in alone.files[0].warnings
        if warning.note == "gallery_makes_identification"
    )
    assert warning.count == 3
    lines = scores.read_text().splitlines()
    scores.write_text("\n".join(lines[:-1]) + "\n")  # a pair is missing
    assert not any(warning.note for warning in pv.inspect(scores, people).files[0].warnings)
    scores.write_text(
        "\n".join(f"{line},{'label' if i == 0 else i % 2}" for i, line in enumerate(lines)) + "\n"
    )
    assert not any(
        "gallery" in warning.note for warning in pv.inspect(scores, people).files[0].warnings
    )


@pytest.mark.slow
def test_a_full_score_list_beside_other_searches_is_no_fault(tmp_path):
    scores, persons, people = full_score_list(tmp_path)
    candidates = tmp_path / "candidates.csv"
    candidates.write_text("search,candidate,score,speaker\np1,anna,2,anna\np4,ben,1,dee\n")
    assert "--gallery" in pv.inspect(candidates, scores, persons).next
    other_scores = tmp_path / "pairs.csv"
    other_scores.write_text("enrol,test,score,label\nanna,p1,1,1\nben,p1,0,0\n")
    assert str(other_scores) not in pv.inspect(scores, other_scores, persons, people).next
    persons.write_text("person,gallery\nanna,1\nben,1\ncai,1\n")
    assert "--gallery" not in pv.inspect(scores, persons, people).next
