"""Files in the shapes that corpora, services and toolkits publish; each is written by us."""

import json
import random
import re
import shlex
import unicodedata
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest
from tests.sentences import item_in_words, note_in_words

import parivox as pv
from parivox.cli import main
from parivox.data.speakers import read_speakers
from parivox.data.trials import read_trials
from parivox.errors import ConfigError, DataError

SPEAKERS = [f"{number:05d}" for number in range(10, 22)]
GENDER = {speaker: "fm"[i % 2] for i, speaker in enumerate(SPEAKERS)}


def trial_rows(enrol="{speaker}/e/1", test="{speaker}/t/{recording}"):
    """Enrolment and test ids, score and label of six trials of each class of each speaker."""
    rng = random.Random(4)
    rows = []
    for speaker in SPEAKERS:
        others = [other for other in SPEAKERS if other != speaker]
        for recording in range(6):
            for caller, label in ((speaker, 1), (rng.choice(others), 0)):
                rows.append(
                    (
                        enrol.format(speaker=speaker),
                        test.format(speaker=caller, recording=recording),
                        round(rng.gauss(2 * label - 1, 0.5), 4),
                        label,
                    )
                )
    return list(dict.fromkeys(rows))


def written(path, lines):
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def scores_file(folder, name="scores.csv", header="enrol,test,score,label", **ids):
    return written(folder / name, [header, *(",".join(map(str, row)) for row in trial_rows(**ids))])


def speakers_file(folder):
    rows = [f"{speaker},{gender}" for speaker, gender in GENDER.items()]
    return written(folder / "speakers.csv", ["speaker,gender", *rows])


def rates(scores, speakers, **options):
    audit = pv.audit(
        scores,
        speakers=speakers,
        by="gender",
        operating_points="threshold=0",
        intervals=False,
        **options,
    )
    groups = audit.groups.subset(
        grouping="gender", metric="fnr", definition="", operating_point="threshold=0"
    )
    return {row["group"]: (row["errors"], row["trials"], row["value"]) for row in groups.rows()}


@pytest.fixture
def expected(tmp_path):
    return rates(scores_file(tmp_path), speakers_file(tmp_path))


NAMES = ("A. Reader", "|CBW|Simon")
LIBRISPEECH = [
    ";",
    "; Readers of the recordings",
    ";ID     |SEX| SUBSET           |MINUTES| NAME",
    *(
        f"{speaker:<8}| {gender.upper()} | train-clean-360  | 25.10 | {NAMES[i % 2]}"
        for i, (speaker, gender) in enumerate(GENDER.items())
    ),
]
REGIONS = ["Southern England", "Surrey", ""]
VCTK = [
    "ID  AGE  GENDER  ACCENTS  REGION",
    *(
        f"{speaker}  {20 + i}  {gender.upper()}    English    {REGIONS[i % 3]}"
        for i, (speaker, gender) in enumerate(GENDER.items())
    ),
]
JSON_TABLES = {
    "by speaker": {speaker: {"gender": gender, "age": 30} for speaker, gender in GENDER.items()},
    "rows": [{"speaker": speaker, "gender": gender} for speaker, gender in GENDER.items()],
    "columns": {
        "speaker": {str(i): speaker for i, speaker in enumerate(GENDER)},
        "gender": {str(i): gender for i, gender in enumerate(GENDER.values())},
    },
    "columns by speaker": {"gender": GENDER, "age": dict.fromkeys(GENDER, 30)},
    "index": {
        str(i): {"speaker": speaker, "gender": gender}
        for i, (speaker, gender) in enumerate(GENDER.items())
    },
    "lists": {"speaker": [*GENDER], "gender": [*GENDER.values()]},
    "split": {
        "columns": ["speaker", "gender"],
        "index": [*range(len(GENDER))],
        "data": [[speaker, gender] for speaker, gender in GENDER.items()],
    },
    "table": {
        "schema": {"fields": []},
        "data": [{"speaker": speaker, "gender": gender} for speaker, gender in GENDER.items()],
    },
}


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("shape", JSON_TABLES)
def test_a_json_document_is_a_table_of_speakers(tmp_path, shape, indent, expected):
    path = tmp_path / "speakers.json"
    path.write_text(json.dumps(JSON_TABLES[shape], indent=indent))
    assert rates(scores_file(tmp_path), str(path)) == expected


def test_a_json_object_of_values_is_a_column_of_them(tmp_path):
    path = tmp_path / "speakers.json"
    path.write_text(json.dumps(GENDER))
    speakers = read_speakers(str(path))
    assert speakers.attributes["value"].to_list() == [GENDER[id_] for id_ in speakers.ids]


@pytest.mark.parametrize("text", ['{"a": {"gender": "f"},\n"b": ', '[{"a": 1}, 2]\n', "[1, 2]\n"])
def test_json_that_is_no_table_is_refused_in_a_sentence(tmp_path, text):
    path = tmp_path / "speakers.json"
    path.write_text(text)
    with pytest.raises(DataError) as refusal:
        _ = read_speakers(str(path)).ids
    assert str(path.name) in str(refusal.value)


@pytest.mark.parametrize("row", ['{"enrol": "a/1", "test": "b/1", "score": 0.5, "label": 0}'])
def test_a_line_of_json_alone_is_still_a_row(tmp_path, row):
    trials = read_trials(
        written(tmp_path / "scores.jsonl", [row]),
        system="x",
        list_="",
        speakers=read_speakers({"speaker": ["a", "b"]}),
    )
    assert trials.n_trials == 1


def test_librispeech_names_its_columns_in_a_comment(tmp_path, expected):
    path = written(tmp_path / "SPEAKERS.TXT", LIBRISPEECH)
    audit = pv.audit(
        scores_file(tmp_path),
        speakers=path,
        by="SEX",
        operating_points="threshold=0",
        intervals=False,
    )
    groups = audit.groups.subset(
        grouping="SEX", metric="fnr", definition="", operating_point="threshold=0"
    ).rows()
    assert {row["group"].lower(): row["errors"] for row in groups if row["group"] != "pooled"} == {
        group: errors for group, (errors, _, _) in expected.items() if group != "pooled"
    }
    (comments,) = [
        row for row in audit.data.rows() if item_in_words(row).startswith("comments above")
    ]
    assert (comments["count"], comments["note"]) == (2, "skipped")


def test_the_last_column_of_vctk_holds_several_words_or_none(tmp_path):
    speakers = read_speakers(written(tmp_path / "speaker-info.txt", VCTK), id="ID")
    assert speakers.attributes["REGION"].to_list()[:3] == ["Southern England", "Surrey", None]
    assert speakers.attributes["GENDER"].to_list()[:2] == ["F", "M"]


def test_columns_between_gaps_have_names_of_several_words(tmp_path):
    lines = ["ID  AGE  GENDER  ACCENTS  REGION COMMENTS", *VCTK[1:]]
    speakers = read_speakers(written(tmp_path / "speaker-info.txt", lines), id="ID")
    column = speakers.attributes["REGION COMMENTS"]
    assert column.to_list()[:3] == ["Southern England", "Surrey", None]


def test_a_key_twice_in_json_is_refused(tmp_path):
    path = written(tmp_path / "speakers.json", ['{"a": {"gender": "m"}, "a": {"gender": "f"}}'])
    with pytest.raises(DataError, match="has the key 'a' twice"):
        read_speakers(path)


def test_a_row_of_trials_with_a_cell_too_many_is_still_refused(tmp_path):
    rows = [" ".join(map(str, row)) for row in trial_rows()]
    rows[3] += " 7"
    path = written(tmp_path / "scores.txt", ["enrol test score label", *rows])
    with pytest.raises(DataError, match="row 5: has 5 columns, but other rows have 4"):
        rates(path, speakers_file(tmp_path))


@pytest.mark.parametrize("comment", ["# enrol test score label", "#enrol test score label"])
def test_the_header_of_savetxt_is_a_comment(tmp_path, comment, expected):
    rows = [f"{enrol} {test} {score:.18e} {label}" for enrol, test, score, label in trial_rows()]
    path = written(tmp_path / "scores.txt", [comment, *rows])
    assert rates(path, speakers_file(tmp_path)) == expected


@pytest.mark.parametrize(
    "names",
    [
        "request_id,profile_id,caller_id,recognition_result,score",
        "requestId,profileId,callerId,recognitionResult,confidenceScore",
    ],
)
def test_a_log_of_a_service_has_claims_callers_and_decisions(tmp_path, names):
    rows = [
        f"r{i},{enrol},{test},{'Accept' if score > 0 else 'Reject'},{score}"
        for i, (enrol, test, score, _) in enumerate(trial_rows("{speaker}", "{speaker}"))
    ]
    log = written(tmp_path / "log.csv", [names, *rows])
    audit = pv.audit(log, speakers=speakers_file(tmp_path), by="gender", intervals=False)
    (pooled,) = audit.groups.subset(
        grouping="gender", group="pooled", metric="fnr", operating_point="deployed"
    ).rows()
    targets = [row for row in trial_rows("{speaker}", "{speaker}") if row[3]]
    assert pooled["errors"] == sum(score <= 0 for _, _, score, _ in targets)


@pytest.mark.slow
def test_two_columns_of_scores_are_asked_for(tmp_path, expected):
    names = "enrol,test,cosine_score,plda_score,label"
    rows = [
        f"{enrol},{test},{score},{-score},{label}" for enrol, test, score, label in trial_rows()
    ]
    path, speakers = written(tmp_path / "two.csv", [names, *rows]), speakers_file(tmp_path)
    with pytest.raises(DataError, match=r"columns=\{'score': 'cosine_score'\}"):
        rates(path, speakers)
    assert rates(path, speakers, columns={"score": "cosine_score"}) == expected
    alone = scores_file(tmp_path, "one.csv", "enrol,test,cosine_score,label")
    assert rates(alone, speakers) == expected


@pytest.mark.parametrize(
    "words", [("H1", "H2"), ("SS", "DS"), ("KM", "KNM"), ("目标", "非目标"), ("2.0", "3.0")]
)
def test_words_of_labels_are_asked_for_by_name(tmp_path, words, expected):
    target, nontarget = words
    rows = [
        f"{enrol},{test},{score},{target if label else nontarget}"
        for enrol, test, score, label in trial_rows()
    ]
    path = written(tmp_path / "words.csv", ["enrol,test,score,label", *rows])
    named = f"columns=.*{re.escape(target)}.*{re.escape(nontarget)}"
    with pytest.raises(DataError, match=named):
        rates(path, speakers_file(tmp_path))
    columns = {"target": target, "nontarget": nontarget}
    assert rates(path, speakers_file(tmp_path), columns=columns) == expected


@pytest.mark.parametrize(
    "word", ["do_not_wish_to_say", "Prefer not to say", "not provided", "declined", "not stated"]
)
def test_no_answer_is_no_group(word):
    speakers = read_speakers({"speaker": ["a", "b"], "gender": ["f", word]})
    assert speakers.attributes["gender"].to_list() == ["f", None]


def test_male_beside_male_masculine_is_told(tmp_path):
    genders = {
        speaker: ["male", "male_masculine", "female"][i % 3] for i, speaker in enumerate(SPEAKERS)
    }
    speakers = pl.DataFrame({"speaker": [*genders], "gender": [*genders.values()]})
    audit = pv.audit(scores_file(tmp_path), speakers=speakers, by="gender", intervals=False)
    assert any("'male' and 'male_masculine'" in note_in_words(row) for row in audit.data.rows())


ID_SHAPES = {
    "CN-Celeb": ("{speaker}-enroll", "test/{speaker}-singing-{recording}.wav"),
    "VoicePrivacy": ("{speaker}", "{speaker}-128104-{recording}"),
    "after the last -": ("rec-1-{speaker}", "rec-{recording}-{speaker}"),
    "after the last _": ("2020_1_{speaker}", "2020_{recording}_{speaker}"),
    "after the last #": ("rec1#{speaker}", "rec{recording}#{speaker}"),
    "in the middle": ("set_{speaker}_e", "set_{speaker}_{recording}"),
    "a letter in front": ("p{speaker}_e", "p{speaker}_{recording}"),
    "two letters in front": ("id{speaker}/e/1", "id{speaker}/t/{recording}"),
    "a file's name in a folder": ("wav/e/{speaker}-e.wav", "wav/t/{speaker}-{recording}.wav"),
    "a file's name": ("wav/e/x-{speaker}.wav", "wav/{recording}/x-{speaker}.wav"),
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", ID_SHAPES)
def test_the_place_of_the_speaker_is_told_and_what_is_told_works(tmp_path, shape, expected):
    enrol, test = ID_SHAPES[shape]
    scores, speakers = scores_file(tmp_path, enrol=enrol, test=test), speakers_file(tmp_path)
    with pytest.raises(DataError) as refusal:
        rates(scores, speakers)
    patterns = re.findall(r"utterances='([^']+)'", str(refusal.value))
    assert rates(scores, speakers, utterances=patterns) == expected
    proposed = pv.inspect(scores, speakers).next
    assert [word for word in shlex.split(proposed) if "{speaker" in word] == patterns


@pytest.mark.slow
def test_sides_may_have_patterns_of_their_own(tmp_path, expected):
    enrol, test = ID_SHAPES["VoicePrivacy"]
    scores, speakers = scores_file(tmp_path, enrol=enrol, test=test), speakers_file(tmp_path)
    patterns = ["enrol={speaker}", "test={speaker}-*"]
    assert rates(scores, speakers, utterances=patterns) == expected
    named = ["enrol={speaker}", "test={speaker}-{set}-*"]
    alone = pv.audit(scores, by="test.set", utterances=named, intervals=False)
    (row,) = alone.groups.subset(metric="auc", group="128104").rows()
    assert row["trials"] == len(trial_rows(enrol, test))


def test_names_in_a_pattern_are_attributes_of_recordings(tmp_path):
    scores = scores_file(tmp_path, enrol="{speaker}/de/1", test="{speaker}/en/{recording}")
    pattern = "{speaker}/{language}/{recording}"
    audit = pv.audit(
        scores,
        speakers=speakers_file(tmp_path),
        by=["test.language", "enrol.language"],
        utterances=pattern,
        intervals=False,
    )
    groups = {(row["grouping"], row["group"]) for row in audit.groups.subset(metric="fnr").rows()}
    assert {("test.language", "en"), ("enrol.language", "de")} <= groups


@pytest.mark.parametrize(
    ("pattern", "sentence"),
    [
        ("{speaker:999999999}*", "a part that is empty or too long; give lengths of at least 1"),
        ("{speaker:0}*", "a part that is empty or too long; give lengths of at least 1"),
        ("{speaker:" + "9" * 5000 + "}*", "that add up to at most 1000"),
        ("{speakr}/*", "unknown name {speakr}; did you mean {speaker}?"),
        ("{speaker}/{recordings}", "unknown name {recordings}; did you mean {recording}?"),
        ("{person}/*", "does not locate the speaker"),
        ("{speaker}/{speaker}-*", "contains a name twice"),
        (["enrol={speaker}-*"], "the only pattern is for enrol"),
        (["{speaker}-*", "people.csv"], "2 files are given"),
    ],
)
def test_patterns_that_cannot_be_meant_are_refused(tmp_path, pattern, sentence):
    with pytest.raises(ConfigError, match=re.escape(sentence)):
        rates(scores_file(tmp_path), speakers_file(tmp_path), utterances=pattern)


@pytest.mark.slow
def test_a_table_of_models_may_stand_in_for_the_pattern_of_enrolments(tmp_path, expected):
    scores = scores_file(tmp_path, enrol="m{speaker}", test="{speaker}-t{recording}")
    rows = [f"m{speaker},{speaker},{speaker}-e{i}" for speaker in SPEAKERS for i in (1, 2)]
    models = written(tmp_path / "models.csv", ["model,speaker,recording", *rows])
    options = {"models": models, "utterances": "test={speaker}-t*"}
    assert rates(scores, speakers_file(tmp_path), **options) == expected
    without = written(
        tmp_path / "m.csv",
        ["model,recording", *(row.replace(f",{row[1:6]},", ",") for row in rows)],
    )
    options = {"models": without, "utterances": ["test={speaker}-t*", "enrol={speaker}-e*"]}
    assert rates(scores, speakers_file(tmp_path), **options) == expected


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda id_: unicodedata.normalize("NFD", f"é{id_}"), "accented letters are coded"),
        (lambda id_: f"p{id_}", "'00010' is 'p00010'"),
    ],
)
def test_spellings_of_speakers_are_told(tmp_path, make, sentence):
    spelt = {make(speaker): gender for speaker, gender in GENDER.items()}
    rows = [f"{speaker},{gender}" for speaker, gender in spelt.items()]
    speakers = written(tmp_path / "spelt.csv", ["speaker,gender", *rows])
    accent = "é" if "accented" in sentence else ""
    ids = {"enrol": accent + "{speaker}/e/1", "test": accent + "{speaker}/t/{recording}"}
    with pytest.raises(DataError, match=sentence):
        rates(scores_file(tmp_path, **ids), speakers)


@pytest.mark.slow
def test_that_no_part_is_known_is_said_only_where_it_is_true(tmp_path):
    speakers = speakers_file(tmp_path)
    scores = scores_file(tmp_path, enrol="x{speaker}y", test="x{speaker}y{recording}z")
    with pytest.raises(DataError, match="seems to contain the speaker"):
        rates(scores, speakers)
    other = {"speaker": ["anna", "tom"], "gender": ["f", "m"]}
    with pytest.raises(DataError, match="no part of the ids between"):
        rates(scores, other)


@pytest.fixture
def printed(tmp_path, monkeypatch, capsys):
    """What the command line prints in a folder with one list in three parts."""
    header, *rows = Path(scores_file(tmp_path)).read_text().splitlines()
    for i in range(3):
        written(tmp_path / f"part{i}.csv", [header, *rows[i::3]])
    speakers_file(tmp_path)
    monkeypatch.chdir(tmp_path)

    def run(*files):
        options = ["--speakers", "speakers.csv", "--by", "gender", "--no-intervals", "--quiet"]
        with suppress(SystemExit):  # of a refusal
            main(["audit", *files, *options])
        output = capsys.readouterr()
        return " ".join((output.out or output.err).split())

    return run


@pytest.mark.slow
def test_files_of_one_name_are_parts_of_one_list(printed):
    whole = printed("S=scores.csv")
    for files in (["S=part0.csv", "S=part1.csv", "S=part2.csv"], ["S=part*.csv"]):
        parts = printed(*files)
        assert "1 system (S, 3 files)" in parts
        assert parts.replace(", 3 files", "") == whole
    with_other = printed("S=part0.csv", "S=part1.csv", "T=scores.csv")
    assert "2 systems in 3 files" in with_other


@pytest.mark.slow
def test_unnamed_files_without_a_common_trial_are_asked_about(printed):
    refusal = printed("part0.csv", "part1.csv", "part2.csv")
    assert "no trials in common" in refusal
    commands = re.findall(r"(?:give|or) ((?:\w+=\S+ ?)+)", refusal)
    assert len(commands) == 2
    one_list, several = (printed(*command.split()) for command in commands)
    assert "1 system (S, 3 files)" in one_list
    assert "3 systems" in several
    assert "2 systems" in printed("part0.csv", "part1.csv")
    assert "4 systems" in printed("part0.csv", "part1.csv", "part2.csv", "scores.csv")
    assert "matches no file" in printed("S=nothing*.csv")
    assert "is given twice for 'S'" in printed("S=part0.csv", "S=./part0.csv")


def printed_proposal(capsys, *files):
    """What `inspect` proposes for these files, and what it says of them."""
    with suppress(SystemExit):
        main(["inspect", *map(str, files)])
    output = capsys.readouterr().out
    proposals = [
        line.partition("next: ")[2] for line in output.splitlines() if line.startswith("  next: ")
    ]
    return shlex.split(proposals[0])[1:] if proposals else [], output


def audited(words, capsys):
    """Errors and trials of false rejects by group, of the command that `inspect` proposes."""
    main([*words, "--operating-point", "threshold=0", "--no-intervals", "--json"])
    tables = json.loads(capsys.readouterr().out)["tables"]["groups"]
    rows = zip(*tables.values(), strict=True)
    rows = [dict(zip(tables, row, strict=True)) for row in rows]
    return {
        row["group"]: (row["errors"], row["trials"], row["value"])
        for row in rows
        if (row["grouping"], row["metric"], row["definition"]) == ("gender", "fnr", "")
    }


@pytest.mark.slow
def test_a_json_object_of_lists_has_the_speakers_of_each_group(tmp_path, expected):
    groups = {gender: [s for s in SPEAKERS if GENDER[s] == gender] for gender in "fm"}
    groups["m"].append("00099")  # lists of other lengths, too
    for name, members in (("even", {**groups, "m": groups["m"][:-1]}), ("uneven", groups)):
        file = written(tmp_path / f"{name}.json", [json.dumps(members)])
        table = read_speakers(file)
        assert table.columns == ["speaker", "group"]
        audit = pv.audit(
            scores_file(tmp_path),
            speakers=file,
            by="group",
            operating_points="threshold=0",
            intervals=False,
        )
        rows = audit.groups.subset(grouping="group", metric="fnr", definition="").rows()
        assert {
            row["group"]: (row["errors"], row["trials"], row["value"])
            for row in rows
            if row["operating_point"] == "threshold=0"
        } == expected
    twice = written(tmp_path / "twice.json", [json.dumps({"f": SPEAKERS, "m": SPEAKERS[:1]})])
    with pytest.raises(DataError, match="speaker '00010' is 'f' and 'm'"):
        pv.audit(scores_file(tmp_path), speakers=twice, by="group")


@pytest.mark.parametrize("indent", [None, 1])
def test_rows_of_json_without_names_are_refused_with_the_way_to_write_them(tmp_path, indent):
    rows = [[speaker, gender] for speaker, gender in GENDER.items()]
    file = written(tmp_path / "s.json", [json.dumps(rows, indent=indent)])
    sentence = r's\.json: contains rows of values without column names; .*"records"'
    for read in (read_speakers, lambda file: rates(file, speakers_file(tmp_path))):
        with pytest.raises(DataError, match=sentence):
            read(file)


@pytest.mark.parametrize("separator", [" ", "\t", ";"])
@pytest.mark.parametrize("has_labels", [True, False])
def test_decimal_commas_stand_between_other_separators(tmp_path, separator, has_labels, expected):
    lines = [
        separator.join(
            [enrol, test, f"{score:.4f}".replace(".", ",")]
            + ["nontarget", "target"][label : label + 1] * has_labels
        )
        for enrol, test, score, label in trial_rows()
    ]
    file = written(tmp_path / "scores.txt", lines)
    assert rates(file, speakers_file(tmp_path)) == expected


@pytest.mark.slow
@pytest.mark.parametrize("n_models", [1, 2])
@pytest.mark.parametrize("separator", [" ", "\t"])
def test_a_map_of_models_and_speakers_needs_no_header(
    tmp_path, capsys, n_models, separator, expected
):
    models = [f"m{k}-{speaker}" for speaker in SPEAKERS for k in range(n_models)]
    lines = [f"{model}{separator}{model.partition('-')[2]}" for model in models]
    map_file, people = written(tmp_path / "models.txt", lines), speakers_file(tmp_path)
    scores = scores_file(tmp_path, "models.csv", enrol="m0-{speaker}")
    assert rates(scores, people, models=map_file) == expected
    for files in ((scores, people, map_file), (map_file, people, scores)):
        words, output = printed_proposal(capsys, *files)
        assert "a table of enrolment models" in output
        assert audited(words, capsys) == expected


@pytest.mark.slow
@pytest.mark.parametrize("is_turned", [False, True])
def test_inspect_knows_a_map_of_recordings_by_the_ids_of_trials(
    tmp_path, capsys, is_turned, expected
):
    pairs = [(f"{speaker}/u/{k}", f"x{speaker}") for speaker in SPEAKERS for k in range(3)]
    lines = [" ".join(pair[::-1] if is_turned else pair) for pair in pairs]
    map_file, people = written(tmp_path / "enrolled.txt", lines), speakers_file(tmp_path)
    scores = scores_file(tmp_path, "models.csv", enrol="x{speaker}")
    words, output = printed_proposal(capsys, scores, people, map_file)
    assert "a table of enrolment models" in output
    assert audited(words, capsys) == expected


@pytest.mark.slow
def test_a_table_of_ids_and_genders_is_no_map_of_models(tmp_path, capsys, expected):
    file = written(tmp_path / "g.txt", ["id sex", *(f"{s} {g}" for s, g in GENDER.items())])
    scores = scores_file(tmp_path, "spk.csv", enrol="{speaker}")
    _, output = printed_proposal(capsys, scores, file)
    assert "a table of speakers" in output


def test_a_column_of_label_words_is_one_of_labels(tmp_path, capsys):
    rows = [
        f"{score},{('impostor', 'genuine')[label]},{GENDER[enrol[:5]]}"
        for enrol, _, score, label in trial_rows()
    ]
    file = written(tmp_path / "s.csv", ["score,type,gender", *rows])
    words, output = printed_proposal(capsys, file)
    assert words == ["metrics", file, "--by", "gender"]
    assert "label = type" in output
    known = written(tmp_path / "k.csv", ["score,label,gender", *rows])
    assert pv.metrics(file).table.rows() == pv.metrics(known).table.rows()
    two = written(
        tmp_path / "t.csv", ["score,type,kind", "1,genuine,target", "0,impostor,nontarget"]
    )
    with pytest.raises(DataError, match="has no column of labels"):
        pv.metrics(two)


@pytest.mark.slow
def test_inspect_takes_names_of_systems(tmp_path, capsys, expected):
    words, _ = printed_proposal(capsys, f"V2={scores_file(tmp_path)}", speakers_file(tmp_path))
    assert audited(words, capsys) == expected


@pytest.mark.parametrize("factor", [1e300, 1e307, 1e-300, 1e-160])
def test_dprime_does_not_depend_on_the_scale_of_scores(factor):
    rows = trial_rows()
    score, label = [row[2] for row in rows], [row[3] for row in rows]
    expected = pv.metrics(score, label).value("dprime")
    found = pv.metrics([number * factor for number in score], label).value("dprime")
    assert found == pytest.approx(expected, rel=1e-9)


def test_patterns_of_trials_check_may_be_repeated(tmp_path, capsys):
    scores = scores_file(tmp_path, enrol="{speaker}-enroll", test="test/{speaker}-{recording}.wav")
    patterns = ["enrol={speaker}-enroll", "test=**/{speaker}-*"]
    words = [word for pattern in patterns for word in ("--utterances", pattern)]
    main(["trials", "check", scores, "--speakers", speakers_file(tmp_path), *words, "--json"])
    found = json.loads(capsys.readouterr().out)
    sizes = dict(zip(*found["tables"]["list"].values(), strict=True))
    assert sizes["speakers"] == len(SPEAKERS)


def test_two_files_of_scores_are_proposed_by_their_names(tmp_path, capsys):
    scores = {label: [str(row[2]) for row in trial_rows() if row[3] == label] for label in (0, 1)}
    for names in (("impostor.txt", "genuine.txt"), ("a.txt", "b.txt")):
        files = [written(tmp_path / name, scores[label]) for label, name in enumerate(names)]
        words, _ = printed_proposal(capsys, *files)
        assert words == ["metrics", "--target", files[1], "--nontarget", files[0]]
        main(words)
        assert f"{len(trial_rows())} trials" in capsys.readouterr().out


def test_scores_and_labels_without_a_header_are_proposed_for_metrics(tmp_path, capsys):
    file = written(tmp_path / "trial_score.txt", [f"{row[2]} {row[3]}" for row in trial_rows()])
    words, output = printed_proposal(capsys, file)
    assert words == ["metrics", file]
    assert "scores without ids of speakers" in output
    with pytest.raises(DataError, match=r"parivox metrics trial_score\.txt, or append each"):
        rates(file, speakers_file(tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("has_speakers", [False, True])
def test_models_have_a_column_for_each_recording(tmp_path, capsys, has_speakers, expected):
    columns = ["model-id", *["speaker-id"] * has_speakers, "phrase-id"]
    header = " ".join([*columns, "enroll-file-id1", "enroll-file-id2"])
    rows = [
        " ".join([f"m_{s}", *[s] * has_speakers, "05", f"{s}/u/1", f"{s}/u/2"]) for s in SPEAKERS
    ]
    map_file, people = written(tmp_path / "enroll.txt", [header, *rows]), speakers_file(tmp_path)
    scores = scores_file(tmp_path, "models.csv", enrol="m_{speaker}")
    assert rates(scores, people, models=map_file) == expected
    words, output = printed_proposal(capsys, scores, people, map_file)
    assert "a table of enrolment models" in output
    assert audited(words, capsys) == expected


@pytest.mark.slow
@pytest.mark.parametrize("separator", [" ", "\t"])
def test_inspect_knows_a_wide_map_by_the_ids_of_trials(tmp_path, capsys, separator, expected):
    recordings = "," if separator == "\t" else " "
    lines = [
        separator.join([f"m_{s}", recordings.join(f"{s}/u/{k}" for k in range(3))])
        for s in SPEAKERS
    ]
    map_file, people = written(tmp_path / "enrolled.txt", lines), speakers_file(tmp_path)
    scores = scores_file(tmp_path, "models.csv", enrol="m_{speaker}")
    words, output = printed_proposal(capsys, scores, people, map_file)
    assert "a table of enrolment models" in output
    assert audited(words, capsys) == expected


@pytest.mark.slow
def test_a_table_of_tests_and_speakers_is_no_map_of_enrolments(tmp_path, capsys, expected):
    rows = trial_rows(enrol="{speaker}")
    number = {test: f"LA_D_{i}" for i, test in enumerate(dict.fromkeys(row[1] for row in rows))}
    lines = [f"{number[test]} {test[:5]}" for test in number]
    owners = written(tmp_path / "utt2spk.txt", lines)
    trials = [f"{enrol} {number[test]} {score} {'nt'[label]}" for enrol, test, score, label in rows]
    trials = [line[:-1] + {"n": "nontarget", "t": "target"}[line[-1]] for line in trials]
    scores, people = written(tmp_path / "la.txt", trials), speakers_file(tmp_path)
    words, output = printed_proposal(capsys, scores, people, owners)
    assert "a table of utterances" in output
    assert audited(words, capsys) == expected
    with pytest.raises(DataError, match="ids of recordings, name their speakers with utterances"):
        rates(scores, people)


def test_a_table_of_nothing_known_is_a_problem(tmp_path, capsys):
    lines = [
        f"x{enrol} {test} alaw ita_tx {label} {score}" for enrol, test, score, label in trial_rows()
    ]
    file = written(tmp_path / "key.txt", ["a b c d e f", *lines])
    words, output = printed_proposal(capsys, file)
    assert words == []
    assert "1 problem found" in output


def test_nontargets_of_an_open_set_are_known_or_unknown(tmp_path, expected):
    words = {1: "target", 0: "known_nontarget"}
    lines = [
        f"{enrol},{test},{score},{words[label].replace('known', ('', 'un')[i % 3 > 1] + 'known')}"
        for i, (enrol, test, score, label) in enumerate(trial_rows())
    ]
    file = written(tmp_path / "open.csv", ["enrol,test,score,label", *lines])
    assert rates(file, speakers_file(tmp_path)) == expected


def test_several_enrolments_of_espnet_are_one_id(tmp_path, expected):
    lines = [
        f"{enrol}a*{enrol}b*{test} {score} {label}" for enrol, test, score, label in trial_rows()
    ]
    assert rates(written(tmp_path / "s.txt", lines), speakers_file(tmp_path)) == expected


def test_a_name_of_speakers_is_an_id(tmp_path, expected):
    rows = trial_rows()
    ids = dict.fromkeys([row[side] for row in rows for side in (0, 1)])
    lines = [
        json.dumps({"file": id_, "Speaker_name": id_[:5], "Speaker_gender": GENDER[id_[:5]]})
        for id_ in ids
    ]
    file = written(tmp_path / "gender.jsonl", lines)
    audit = pv.audit(
        scores_file(tmp_path),
        utterances=file,
        by="Speaker_gender",
        operating_points="threshold=0",
        intervals=False,
    )
    found = audit.groups.filter(metric="fnr", definition="", operating_point="threshold=0").rows()
    assert {
        row["group"]: (row["errors"], row["trials"], row["value"])
        for row in found
        if row["grouping"] == "Speaker_gender"
    } == expected


def test_protocols_of_spoofed_speech_are_refused_by_what_they_are(tmp_path):
    keys = (("A01", "spoof"), ("-", "bonafide"))
    lines = [
        f"LA_{enrol[:5]} LA_D_{i} - {' '.join(keys[label])} {score}"
        for i, (enrol, _, score, label) in enumerate(trial_rows())
    ]
    for width in (5, 6):  # a protocol, and one with scores
        rows = [" ".join(line.split()[:width]) for line in lines]
        file = written(tmp_path / f"cm{width}.txt", rows)
        with pytest.raises(DataError, match=r"is a countermeasure key .*, not a trial list; give"):
            rates(file, speakers_file(tmp_path))
