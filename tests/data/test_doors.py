"""What toolkits leave behind is taken as it is, and what is half right says its mend.

Files are written here as the toolkits print them; none is copied.
"""

import json
import pickle
import shlex
import shutil
import subprocess
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.sentences import in_words, item_in_words

import parivox as pv
from parivox import inspect
from parivox.errors import ParivoxError

OLD_AUDITS = Path(__file__).parents[1] / "old_audits"
SPEAKERS = {f"id{n:02d}": "fm"[n % 2] for n in range(6)}


def trials_of(enrol_speaker, n):
    """Trials of two enrolments of a speaker with everybody."""
    return [
        (
            f"{enrol_speaker}/v/{k}.wav",
            f"{test_speaker}/v/9.wav",
            enrol_speaker == test_speaker,
            round((n * 37 + k * 11) % 50 / 25 + (1 if enrol_speaker == test_speaker else 0), 2),
        )
        for k in range(2)
        for test_speaker in SPEAKERS
    ]


TRIALS = [trial for n, speaker in enumerate(SPEAKERS) for trial in trials_of(speaker, n)]
PEOPLE = {"speaker": list(SPEAKERS), "gender": list(SPEAKERS.values())}


def lines(rows):
    return "".join(f"{row}\n" for row in rows)


def refused(scores, **tables):
    with pytest.raises(ParivoxError) as error:
        pv.audit(scores, speakers=PEOPLE, by="gender", **tables)
    return str(error.value)


def espnet(mend=str):
    return lines(mend(f"{e}*{t} {s} {int(is_target)}") for e, t, is_target, s in TRIALS)


def normalised():
    names = ("nontarget", "target")
    return lines(f"{e} {t} {s:.5f} {names[y]} 9.1 8.7 0.2 0.3" for e, t, y, s in TRIALS)


def objects(**names):
    rows = ({"enrol": e, "test": t, "score": s, "label": int(y)} for e, t, y, s in TRIALS)
    return lines(json.dumps({names.get(k, k): v for k, v in row.items()}) for row in rows)


def supervision(speaker, k, **more):
    """One of lhotse's, of an utterance that the trials name."""
    id_ = f"{speaker}/v/{k}.wav"
    return {
        "id": id_,
        "recording_id": id_,
        "start": 0.0,
        "duration": 3.5,
        "channel": 0,
        "text": "ONE, TWO",
        "language": "English",
        "speaker": speaker,
        "gender": SPEAKERS[speaker],
        "custom": {"age": 20},
        **more,
    }


def cut(*supervisions):
    id_ = supervisions[0]["id"]
    sources = [{"type": "file", "channels": [0], "source": f"/data/{id_}"}]
    recording = {"id": id_, "sources": sources, "sampling_rate": 16000, "num_samples": 56000}
    return {
        "id": id_,
        "start": 0.0,
        "duration": 3.5,
        "channel": 0,
        "supervisions": list(supervisions),
        "recording": recording,
        "type": "MonoCut",
    }


# ---- scores


@pytest.mark.slow
@pytest.mark.parametrize("content", [espnet(), normalised(), objects()])
def test_the_scores_of_each_toolkit_give_the_same_rates(write, content):
    reference_columns = {"enrol": [], "test": [], "label": [], "score": []}
    for row in TRIALS:
        for name, cell in zip(reference_columns, row, strict=True):
            reference_columns[name].append(cell)
    groups = [
        pv.audit(systems, speakers=PEOPLE, by="gender", intervals=False).groups.to_dict()
        for systems in ({"S": write("scores", content)}, {"S": reference_columns})
    ]
    assert groups[0] == groups[1]


def proposed_in(output):
    """The command that inspect proposes."""
    return shlex.split(output.rpartition("next: parivox ")[2].splitlines()[0])


@pytest.fixture
def parivox(program, tmp_path):
    """What the command prints; it ends well."""

    def run(*words):
        done = subprocess.run(
            [program, *words], capture_output=True, text=True, cwd=tmp_path, check=False
        )
        assert not done.returncode, done.stderr
        return done.stdout

    return run


@pytest.fixture
def proposed(parivox):
    """What inspect says of some files, and what the command that it proposes prints."""

    def run(*files):
        output = parivox("inspect", *files)
        command = proposed_in(output)
        return output, parivox(*command, "--no-intervals", "--quiet")

    return run


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "word"),
    [(espnet(), "ESPnet"), (normalised(), "WeSpeaker"), (objects(), "JSON lines")],
)
def test_inspect_names_each_and_its_command_runs(write, proposed, content, word):
    write("people.csv", lines(["speaker,gender", *map(",".join, SPEAKERS.items())]))
    write("scores", content)
    output, audited = proposed("scores", "people.csv")
    assert f"scores: scores of trials, in {word}" in output
    assert audited.startswith("72 trials, 6 speakers")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (espnet(lambda row: row.rpartition(" ")[0] if "id03/v/1" in row else row), "has 3 columns"),
        (espnet(lambda row: row[:-1] + "2" if "id03/v/1" in row else row), "'2' is not a label"),
        (normalised().replace(" 0.3\n", "\n", 1), "has 7 columns, but"),
        (
            lines(json.dumps({"test": t, "score": s, "label": int(y)}) for _, t, y, s in TRIALS),
            "no column of enrol utterances (found: test, score, label)",
        ),
        (
            objects().replace(": 1}", ': "same?"}', 1),
            "row 1, column 'label': 'same?' is not a label",
        ),
        (objects().replace('"score": ', '"score": NaN, "was": ', 1), "row 1: is not a JSON object"),
        (
            json.dumps([json.loads(row) for row in objects().splitlines()])[:-9],
            "jq -c '.[]' scores",
        ),
        (lines(f"{s}\t{int(y)}" for _, _, y, s in TRIALS), "paste -d ' ' TRIALS scores | cut -f 1"),
    ],
)
def test_scores_that_are_half_right_say_their_mend(write, content, message):
    assert message in refused(write("scores", content))


def test_labels_may_be_words_in_some_rows_and_numbers_in_others(write):
    word = ("nontarget", "target")
    mixed = espnet(lambda row: row[:-1] + word[int(row[-1])] if "id03/v/1" in row else row)
    audits = [
        pv.audit({"S": write("scores", text)}, speakers=PEOPLE, by="gender", intervals=False)
        for text in (espnet(), mixed)
    ]
    assert audits[0].groups.to_dict() == audits[1].groups.to_dict()


def test_ids_cut_at_a_dot_are_told_from_those_of_the_list(write):
    """SpeechBrain's scores have no endings, and so fit no list that has them."""
    rows = [(e.partition(".")[0], t.partition(".")[0], int(y), s) for e, t, y, s in TRIALS]
    scores = write("scores.txt", lines("%s %s %i %f" % row for row in rows))  # noqa: UP031
    assert pv.audit(scores, speakers=PEOPLE, by="gender", intervals=False).groups
    list_ = write("veri.txt", lines(f"{int(y)} {e} {t}" for e, t, y, _ in TRIALS))
    assert "the ids differ in their file extensions" in refused(scores, trials=list_)


@pytest.mark.parametrize("pattern", ["{}.v{}.wav", "{}/v.{}.wav"])
def test_ids_cut_to_their_speakers_are_told_without_whole_ones(write, pattern):
    enrolments = [(speaker, n) for speaker in SPEAKERS for n in range(4)]
    rows = [
        (pattern.format(a, n).partition(".")[0], pattern.format(b, 9).partition(".")[0], a == b)
        for a, n in enrolments
        for b in SPEAKERS
    ]
    scores = [f"{e} {t} {int(y)} {n / 8}" for n, (e, t, y) in enumerate(rows)]
    message = refused(write("scores", lines(scores)))
    assert (
        "144 of 144 rows contradict others, as if ids had been cut at the first full stop"
        in message
    )
    assert "--conflicts" not in message
    once = dict(zip([row[:2] for row in rows], scores, strict=True)).values()
    itself = "target_trials_of_themselves"
    audit = pv.audit(write("s", lines(once)), speakers=PEOPLE, by="gender", intervals=False)
    assert audit.data.subset(item=itself).rows()[0]["count"] == len(SPEAKERS)
    assert itself in {odd.what for odd in inspect(write("s", lines(once))).files[0].warnings}


def test_target_trials_that_are_all_set_aside_are_told(write):
    rows = [
        *espnet().splitlines(),
        *[f"{e}*{t} 9.5 1" for e, t, is_target, _ in TRIALS if is_target],
    ]
    path = write("scores", lines(rows))
    audit = pv.audit(path, speakers=PEOPLE, by="gender", intervals=False, conflicts="exclude")
    rows = [
        (item_in_words(row), row["count"]) for row in audit.data.subset(source="oddities").rows()
    ]
    assert ("target trials excluded, leaving no target trial", 24) in rows


@pytest.mark.parametrize(
    ("cut", "message"),
    [
        (lambda id_: id_.partition(".")[0], "('anna' is 'anna.0.wav')"),
        (lambda id_: id_.rpartition(".")[0], "('anna.0' is 'anna.0.wav')"),
    ],
)
def test_ids_cut_within_a_name_are_told_from_whole_ones(write, cut, message):
    utterances = ["anna.0.wav", "anna.1.wav", "bob.0.wav", "bob.1.wav"]
    table = {"utterance": utterances, "speaker": ["anna", "anna", "bob", "bob"]}
    pairs = [
        (cut(enrol), cut(test))
        for enrol, test in ((utterances[0], utterances[1]), (utterances[2], utterances[3]))
    ]
    scores = write("scores", lines(f"{e} {t} 0.5" for e, t in pairs))
    people = {"speaker": ["anna", "bob"], "gender": ["f", "m"]}
    with pytest.raises(ParivoxError, match="as in output of SpeechBrain") as error:
        pv.audit(scores, utterances=table, speakers=people, by="gender")
    assert message in str(error.value)
    rows = [(f"{e[0]}/{e}", f"{t[0]}/{t}") for e, t in (utterances[:2], utterances[2:])]
    list_ = write("list", lines(f"{e} {t} target" for e, t in rows))
    scores = write("scores", lines(f"{cut(e)} {cut(t)} 0.5" for e, t in rows))
    with pytest.raises(ParivoxError, match="the ids in the score file are cut at a full stop"):
        pv.audit(scores, trials=list_)


def test_speakers_cut_within_their_names_are_told_from_whole_ones(write):
    scores = write("scores", "s s 0.37\n")
    with pytest.raises(ParivoxError, match=r"\('s' is 's.0'\), as in output of SpeechBrain"):
        pv.audit(scores, speakers={"speaker": ["s.0", "s.1"], "gender": ["f", "m"]}, by="gender")


# ---- JSON lines of recordings


def test_people_without_enrolments_may_be_enrolled_as_themselves(write):
    rows = [f"{e[:4]},{t},{s}" for e, t, _, s in TRIALS if "/0.wav" in e]
    path = write("scores.csv", lines(["enrol_speaker,test,score", *rows]))
    assert "if each speaker is enrolled once, enrol=enrol_speaker" in refused(path)
    audit = pv.audit(
        path, speakers=PEOPLE, by="gender", columns={"enrol": "enrol_speaker"}, intervals=False
    )
    assert {row["group"] for row in audit.groups} >= {"f", "m"}


def test_a_manifest_of_recordings_is_no_list_of_pairs(write):
    manifest = write(
        "nemo.json", lines(json.dumps({"audio_filepath": e, "label": 1}) for e, *_ in TRIALS)
    )
    assert "this table describes recordings, not pairs: give it with utterances" in refused(
        write("scores.jsonl", objects()), trials=manifest
    )


@pytest.mark.slow
def test_manifests_of_nemo_and_lhotse_tell_whose_recordings_are(write):
    supervisions = [supervision(speaker, k) for speaker in SPEAKERS for k in (0, 1, 9)]
    nemo = [
        {"audio_filepath": entry["id"], "offset": 0, "duration": 3.5, "label": entry["speaker"]}
        for entry in supervisions
    ]
    scores = {
        name: [row[column] for row in TRIALS]
        for column, name in enumerate(("enrol", "test", "label", "score"))
    }
    for rows in (supervisions, [cut(entry) for entry in supervisions], nemo):
        table = write("manifest.jsonl", lines(map(json.dumps, rows)))
        (inspected_file,) = inspect(table).files
        assert (inspected_file.kind, inspected_file.format) == ("utterances", "jsonl")
        assert inspected_file.roles["speaker"] == "speaker"
        attribute = "gender" if rows is not nemo else None
        audit = pv.audit(
            scores,
            utterances=table,
            speakers=None if attribute else PEOPLE,
            by="gender",
            intervals=False,
        )
        assert {row["group"] for row in audit.groups} >= {"all", "f", "m"}


def test_a_cut_of_two_people_is_refused_with_its_row(write):
    two = [cut(supervision("id00", 0)), cut(supervision("id01", 0), supervision("id02", 0))]
    table = write("cuts.jsonl", lines(map(json.dumps, two)))
    message = refused({"enrol": ["a"], "test": ["b"], "score": [1.0]}, utterances=table)
    assert "cuts.jsonl, row 2: has several supervisions" in message
    assert "trim_to_supervisions" in message


def test_a_pair_of_three_files_is_refused_with_its_row(write):
    pairs = [{"audio_filepath": files} for files in (["a/1", "b/1"], ["a/1", "a/2", "b/2"])]
    message = refused(
        write("scores", objects()), trials=write("p.json", lines(map(json.dumps, pairs)))
    )
    assert (
        "p.json, row 2: has several audio_filepath where a pair has two; write one line" in message
    )


def test_a_line_that_was_cut_off_is_told_without_numbers(write):
    message = refused(write("scores", objects()[:-20]))
    assert message.endswith("; repair or remove the row")


def test_a_channel_that_is_counted_from_another_number_is_told(write):
    table = write("s.jsonl", lines([json.dumps(supervision("id00", 0))]))
    (inspected_file,) = inspect(table).files
    assert inspected_file.read["channel"] == "lhotse's channel 0 is shown as 1"


def test_numbers_in_json_are_read_to_the_last_digit(write, read):
    scores = [0.1 + 0.2, 1 / 3, 1e-300, -2.5e17]
    rows = ({"enrol": f"a/{n}", "test": "b/1", "score": s} for n, s in enumerate(scores))
    trial_set = read(write("s.jsonl", lines(map(json.dumps, rows))))
    assert sorted(s for partition in trial_set.partitions() for s in partition.score) == sorted(
        scores
    )


# ---- Kaldi's folders, and ids that hold their speaker


def hyphened(id_):
    return id_.replace("/", "-").removesuffix(".wav")


@pytest.fixture
def kaldi(tmp_path):
    """A data folder as Kaldi's recipes leave it, with scores and trials."""
    (tmp_path / "data").mkdir()
    speaker_by_utterance = {f"{s}-v-{k}": s for s in SPEAKERS for k in (0, 1, 9)}
    files = {
        "data/utt2spk": lines(map(" ".join, speaker_by_utterance.items())),
        "data/spk2utt": lines(f"{s} {s}-v-0 {s}-v-1 {s}-v-9" for s in SPEAKERS),
        "data/spk2gender": lines(map(" ".join, SPEAKERS.items())),
        "data/utt2lang": lines(
            f"{u} {'de' if u[3] in '012' else 'fr'}" for u in speaker_by_utterance
        ),
        "data/wav.scp": lines(f"{u} wav/{u}.wav" for u in speaker_by_utterance),
        "scores": lines(f"{hyphened(e)} {hyphened(t)} {s}" for e, t, _, s in TRIALS),
        "trials": lines(
            f"{hyphened(e)} {hyphened(t)} {'target' if y else 'nontarget'}" for e, t, y, _ in TRIALS
        ),
        "people.csv": lines(["speaker,gender", *map(",".join, SPEAKERS.items())]),
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    return tmp_path


@pytest.mark.slow
def test_a_data_folder_audits_by_all_that_it_tells(kaldi, proposed):
    output, audited = proposed("scores", "trials", "data")
    assert "data: a table of utterances, in Kaldi's files; 18 rows" in output
    assert "--speakers data --utterances data --by gender" in output
    assert audited.startswith("72 trials, 6 speakers")
    tables = {"trials": kaldi / "trials", "intervals": False}
    tables_of_folder = {"utterances": kaldi / "data", "speakers": kaldi / "data"}
    gender_audit = pv.audit({"S": kaldi / "scores"}, by="gender", **tables_of_folder, **tables)
    for people in ("data/spk2gender", "people.csv"):
        apart = pv.audit(
            {"S": kaldi / "scores"},
            utterances=kaldi / "data" / "utt2spk",
            speakers=kaldi / people,
            by="gender",
            **tables,
        )
        assert apart.groups.to_dict() == gender_audit.groups.to_dict()
    language_audit = pv.audit(kaldi / "scores", utterances=kaldi / "data", by="lang", **tables)
    assert {row["group"] for row in language_audit.groups} >= {"de", "fr"}
    with pytest.raises(ParivoxError, match="speakers=FILE; the Kaldi folder can also be given"):
        pv.audit(kaldi / "scores", utterances=kaldi / "data", by="gender", **tables)


def test_a_header_is_a_header_in_kaldis_files_too(kaldi):
    file = kaldi / "data" / "spk2gender"
    people = {**PEOPLE, "gender": ["x", "y"] * 3}
    file.write_text("speaker sex\n" + lines(map(" ".join, zip(*people.values(), strict=True))))
    (inspected_file,) = inspect(file).files
    assert [column.name for column in inspected_file.columns] == ["speaker", "sex"]


@pytest.mark.slow
def test_a_data_folder_is_what_lists_are_built_of(kaldi, parivox):
    tables = ("--utterances", "data", "--speakers", "data", "--by", "gender")
    size = ("--speakers-per-group", "3", "--utterances-per-speaker", "3")
    parivox("trials", "build", "balanced", *tables, *size, "--out", "built")
    assert list((kaldi / "built").glob("*.manifest.json"))
    (kaldi / "data" / "segments").write_text(
        lines(f"{s}-v-{k} {s}-v 0.0 1.0" for s in SPEAKERS for k in (0, 1, 9))
    )
    assert "recording (6 values" in parivox("inspect", "data")


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("utt2spk", None, "is a folder without utt2spk"),
        ("utt2spk", "\n", "utt2spk: contains no rows; give a file with a line for each utterance"),
        (
            "spk2gender",
            "",
            "spk2gender: contains no rows; give a file with a line for each speaker",
        ),
        ("spk2gender", None, "give a speaker table instead"),
        ("utt2spk", "id00-v-0\n", "utt2spk: line 1: has fewer than 2 fields"),
        ("utt2spk", "id00-v-0 id00\n", "are not in data"),
        (
            "spk2gender",
            "id00 f\nid00 m\n",
            "rows 1 and 2, column 'gender': speaker 'id00' is 'f' and 'm'",
        ),
    ],
)
def test_folders_that_are_half_right_say_their_mend(kaldi, file, content, message):
    path = kaldi / "data" / file
    path.unlink() if content is None else path.write_text(content)
    tables_of_folder = {"utterances": kaldi / "data", "speakers": kaldi / "data"}
    with pytest.raises(ParivoxError) as error:
        pv.audit(kaldi / "scores", trials=kaldi / "trials", by="gender", **tables_of_folder)
    assert message in str(error.value)


@pytest.mark.slow
def test_the_hint_of_where_the_speaker_stands_is_an_option(kaldi, proposed, parivox):
    tables = {"trials": kaldi / "trials", "speakers": kaldi / "people.csv", "by": "gender"}
    with pytest.raises(ParivoxError, match=r"state this with utterances='\{speaker\}-\*\*'"):
        pv.audit(kaldi / "scores", **tables)
    audits = [
        pv.audit({"S": kaldi / "scores"}, utterances=speaker_hint, intervals=False, **tables)
        for speaker_hint in ("{speaker}-**", "{speaker:4}**", kaldi / "data" / "utt2spk")
    ]
    assert audits[0].groups.to_dict() == audits[1].groups.to_dict() == audits[2].groups.to_dict()
    with pytest.raises(ParivoxError, match=r"do not match the pattern utterances='\{speaker\}_"):
        pv.audit(kaldi / "scores", utterances="{speaker}_**", **tables)
    command = ("trials", "check", "trials", "--speakers", "people.csv", "--by", "gender")
    assert "72 trials (12 target, 60 nontarget) of 6 speakers" in parivox(
        *command, "--utterances", "{speaker}-**"
    )
    labelled = zip((kaldi / "trials").read_text().splitlines(), TRIALS, strict=True)
    (kaldi / "scored").write_text(lines(f"{row} {trial[3]}" for row, trial in labelled))
    for speaker_hint in ("{speaker}-**", "data"):
        parivox(
            "shards",
            "plan",
            "scored",
            "--by",
            "gender",
            "--speakers",
            "people.csv",
            "--utterances",
            speaker_hint,
            "--out",
            f"parts of {speaker_hint[0]}",
        )
    rows = [(hyphened(e), hyphened(t), y, s) for e, t, y, s in TRIALS]
    windows = lines(f"C:\\d\\{e[:4]}\\{e},C:\\d\\{t[:4]}\\{t},{s},{int(y)}" for e, t, y, s in rows)
    (kaldi / "win.csv").write_text(f"enrol,test,score,label\n{windows}")
    output, audited = proposed("win.csv", "people.csv")
    assert "--utterances '*/*/{speaker}/**'" in output
    assert audited.startswith("72 trials, 6 speakers")


def test_files_of_kaldi_that_tell_no_speakers_ask_for_their_folder(kaldi):
    folder = kaldi / "data"
    (folder / "text").write_text(lines(f"{s}-v-0 HELLO WORLD" for s in SPEAKERS))
    (folder / "segments").write_text(lines(f"{s}-v-0 {s}-v 0.0 1.5" for s in SPEAKERS))
    for name in ("wav.scp", "text", "segments", "spk2utt"):
        message = f"data/{name}: belongs to a Kaldi data folder, whose utt2spk"
        with pytest.raises(ParivoxError, match=message):
            pv.audit(kaldi / "scores", utterances=folder / name, trials=kaldi / "trials")
        (inspected_file,) = inspect(folder / name).files
        assert inspected_file.description == "a file of Kaldi's"
        assert inspected_file.problems[0].endswith(f"; give the folder with utterances {folder}")
    (folder / "text").write_text("utterance speaker\na b\n")
    assert not inspect(folder / "text").files[0].problems


def test_what_a_data_folder_lacks_is_told_of_its_file(kaldi):
    folder = kaldi / "data"
    genders = (folder / "spk2gender").read_text().splitlines()
    (folder / "spk2gender").write_text(lines(genders[:-1]))
    message = r"data/utt2spk: 1 of 6 speakers \('id05'\) are not in data/spk2gender"
    tables = {"utterances": folder, "speakers": folder, "trials": kaldi / "trials"}
    with pytest.raises(ParivoxError, match=message):
        pv.audit(kaldi / "scores", by="gender", **tables)


def test_a_table_without_a_header_is_grouped_by_nothing(write):
    rows = [f"{e}\t{e[:4]}\t{SPEAKERS[e[:4]]}" for e, *_ in TRIALS[::6]]
    scores = write("s.csv", lines(["enrol,test,score", *(f"{e},{t},{s}" for e, t, _, s in TRIALS)]))
    inspection = inspect(scores, write("segments.tsv", lines(rows)))
    assert any(
        "the header may be missing" in in_words(oddity.what)
        for oddity in inspection.files[1].warnings
    )
    assert "--by" not in inspection.next


# ---- what cannot be taken


def test_a_pickle_is_refused_with_the_safe_way(write):
    path = write("embeddings.pkl", pickle.dumps({"id00@v@0.wav": [0.5, 0.25]}))
    for message in (inspect(path).files[0].problems[0], refused(path)):
        assert "may run code when opened, so it is not read; save embeddings as ids" in message
        assert 'numpy.savez(FILE, ids=[one.replace("@", "/") for one in all], ' in message


# ---- what Parivox wrote


@pytest.fixture
def written(kaldi, parivox):
    """An audit, counts with their tally, and files of other commands."""
    labelled = zip((kaldi / "trials").read_text().splitlines(), TRIALS, strict=True)
    (kaldi / "scored").write_text(lines(f"{row} {trial[3]}" for row, trial in labelled))
    audit_words = ("scored", "--utterances", "data", "--speakers", "data", "--by", "gender")
    parivox("audit", *audit_words, "--out", "audit", "--no-intervals")
    (kaldi / "site.key").write_text("0123456789abcdef" * 4)
    counts = ("--key", "site.key", "--blocks", "3", "--step", "0.02", "--withhold", "0")
    parivox("count", *audit_words, *counts, "--out", "north.counts")
    (kaldi / "rules.yaml").write_text(parivox("thresholds", "--example"))
    (kaldi / "rules22").write_text(parivox("thresholds", "--example"))
    (kaldi / "context.yaml").write_text(parivox("context"))
    ids = sorted({hyphened(utterance) for row in TRIALS for utterance in row[:2]})
    np.savez(kaldi / "e.npz", ids=ids, vectors=np.arange(2.0 * len(ids)).reshape(-1, 2))
    shutil.copy(OLD_AUDITS / "1-logistic.json", kaldi)
    return kaldi


@pytest.mark.slow
def test_what_parivox_wrote_is_known_and_the_proposed_command_runs(written, parivox):
    commands = {}
    for files, description in {
        "audit": "audit: an audit, as parivox audit writes it",
        "audit/groups.csv": "audit/groups.csv: part of an audit",
        "audit/audit.json": "audit/audit.json: part of an audit",
        "north.counts north.tally": (
            "north.tally: speaker counts of parivox count --key, which belong to score counts"
        ),
        "audit/SHA256SUMS": "audit/SHA256SUMS: part of an audit",
        "site.key": "site.key: a key, as count and monitor take it",
        "e.npz trials": "e.npz: arrays of NumPy, as score takes embeddings",
        "rules22": "rules22: a rule file, as parivox thresholds writes it",
        "rules.yaml": "rules.yaml: a rule file, as parivox thresholds writes it",
        "context.yaml": "context.yaml: a context file, as parivox context prints it",
        "1-logistic.json": "1-logistic.json: a calibrator, as parivox calibrate writes it",
    }.items():
        completed = parivox("inspect", *files.split())
        assert description in completed
        commands[files] = shlex.join(proposed_in(completed))
    assert commands["audit/groups.csv"] == commands["audit"] == "show audit"
    placeholders = {
        "SCORES --speakers PEOPLE": "SCORES",
        "--blocks 20": "--blocks 3 --withhold 0",  # of six speakers
        "SCORES": "scored --utterances data --speakers data",
        "AUDIT": "audit",
        "ATTRIBUTE": "gender",
        "report.html": "r.md",
    }
    for command in dict.fromkeys(commands.values()):
        for word, file in placeholders.items():
            command = command.replace(word, file)  # noqa: PLW2901
        assert parivox(*shlex.split(command))


@pytest.mark.parametrize(
    ("file", "description", "command"),
    [
        ("1-policy.yaml", "a policy, as parivox gate takes it", "gate AUDIT --policy"),
        ("1-stream.state", "the state of a stream, as parivox monitor keeps", "monitor --state"),
    ],
)
def test_what_gate_and_monitor_take_is_known(file, description, command):
    (inspected_file,) = inspect(OLD_AUDITS / file).files
    assert description in inspected_file.description
    assert f"parivox {command} " in inspected_file.command


@pytest.mark.parametrize(
    "name", ["", "store.json", "recordings.parquet", "seen.parquet", "embeddings.npy"]
)
def test_embeddings_are_known_by_their_folder_and_by_each_file_of_it(tmp_path, name):
    store = tmp_path / "e"
    store.mkdir()
    (store / "store.json").write_text("{}\n")
    for table in ("recordings.parquet", "seen.parquet"):
        pl.DataFrame({"utterance": ["a/1"], "speaker": ["a"]}).write_parquet(store / table)
    np.save(store / "embeddings.npy", np.ones((1, 1, 2), np.float32))
    (inspected_file,) = inspect(store / name).files
    assert "embeddings, as parivox embed makes them" in inspected_file.description
    assert (
        inspected_file.command == f"parivox score TRIALS --embeddings {store} --out scores.parquet"
    )
    (store / "mine.csv").write_text("utterance,lang\na/1,de\n")
    assert not inspect(store / "mine.csv").files[0].description


@pytest.mark.slow
def test_recordings_of_embeddings_are_still_a_table_of_utterances(tmp_path):
    (tmp_path / "store.json").write_text("{}")
    ids = sorted({utterance for row in TRIALS for utterance in row[:2]})
    table = pl.DataFrame({"utterance": ids, "speaker": [utterance[:4] for utterance in ids]})
    table.write_parquet(tmp_path / "recordings.parquet")
    scores = pl.DataFrame(TRIALS, ["enrol", "test", "label", "score"], orient="row")
    scores.write_csv(tmp_path / "s.csv")
    inspection = inspect(tmp_path / "s.csv", tmp_path / "recordings.parquet")
    assert f"--utterances {tmp_path / 'recordings.parquet'}" in inspection.next


@pytest.mark.slow
def test_reports_are_known_as_what_is_to_be_read(written, parivox):
    for name in ("report.html", "report.md", "report.xlsx"):
        parivox("report", "audit", "--out", name)
        assert f"{name}: a report, as parivox report or gate writes it" in parivox("inspect", name)


# ---- words of the user's own


def decided(yes, no, odd=""):
    """A row a trial, its result in words; every fifth is odd, if there is a word for that."""
    decisions = [yes if s > 1 else no for *_, s in TRIALS]
    if odd:
        decisions[4::5] = [odd] * len(decisions[4::5])
    rows = [(e, t, decision) for (e, t, *_), decision in zip(TRIALS, decisions, strict=True)]
    return lines(["enrol,test,result", *map(",".join, rows)])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "columns"),
    [
        (("Accepted", "rejected"), {}),
        (("angenommen", "abgelehnt"), {"accept": "Angenommen", "reject": "abgelehnt"}),
        (("oui", "non"), {"accept": "oui|si", "reject": "non|no"}),
    ],
)
def test_decisions_in_any_words_are_the_same_decisions(write, words, columns):
    reference_audit = pv.audit(
        {"S": write("a.csv", decided("accept", "reject"))},
        columns={"decision": "result"},
        speakers=PEOPLE,
        by="gender",
        intervals=False,
    )
    word_audit = pv.audit(
        {"S": write("b.csv", decided(*words))},
        columns={"decision": "result", **columns},
        speakers=PEOPLE,
        by="gender",
        intervals=False,
    )
    assert word_audit.groups.to_dict() == reference_audit.groups.to_dict()


@pytest.mark.slow
def test_a_word_for_failures_is_one_by_the_option_that_inspect_writes(write, parivox):
    write("people.csv", lines(["speaker,gender", *map(",".join, SPEAKERS.items())]))
    write("bank.csv", decided("accepted", "rejected", "too short"))
    completed = parivox("inspect", "bank.csv", "people.csv")
    assert "columns recognised by their content: decision = 'result'" in completed
    assert "'too short' is read as a failure; to audit, give" in completed
    command = proposed_in(completed)
    assert command[-2:] == ["--columns", "failed=too short"]
    assert "58 trials, 6 speakers" in parivox(*command, "--no-intervals")


def test_a_word_for_failures_stands_in_scores_too_beside_decisions(read):
    rows = {"enrol": ["a/1"] * 4, "test": ["a/2", "a/3", "b/1", "b/2"]}
    cells = {"score": ["0.5", "zu kurz", "", "0.2"], "decision": ["ja", "", "leer", "nein"]}
    columns = {"accept": "ja", "reject": "nein", "failed": "zu kurz|leer"}
    trial_set = read({**rows, **cells}, columns=columns)
    assert (
        sum(len(partition.failed.score) for partition in trial_set.partitions() if partition.failed)
        == 2
    )


def test_a_word_that_nobody_explains_says_how_to(write):
    message = refused(write("d.csv", decided("ja", "nein")), columns={"decision": "result"})
    assert "columns={'accept': 'WORD', 'reject': 'WORD', 'failed': 'WORD'}" in message
    message = refused(write("d.csv", decided("ja", "nein")), columns={"yes": "ja"})
    assert "'yes' is neither a role nor a word for cells; choose from enrol" in message
