"""The files that the toolkits write give the same bytes as a CSV of the same trials.

Each file is written here as its toolkit prints it. What they print was read in their sources:
SpeechBrain ``%s %s %i %f``, WeSpeaker ``{} {} {:.5f} {}`` and four ``{:.4f}`` behind normalised
scores, ESPnet two ids with a star between them and floats as they are, NeMo JSON, bob ``str`` of a
float, with CR LF in its CSV; NIST's are tables with tabs.
"""

import csv
import json
import random
from typing import NamedTuple

import polars as pl
import pytest
from tests.folders import OF_KEY

import parivox as pv

pytestmark = pytest.mark.slow

SPEAKERS = [f"{i:04d}" for i in range(1, 41)]


class Trial(NamedTuple):
    """One trial, as anybody may hold it."""

    speaker: str
    enrol: str
    test_speaker: str
    test: str
    side: str
    score: float

    @property
    def target(self):
        return self.speaker == self.test_speaker


@pytest.fixture(scope="module")
def trials():
    draw = random.Random(7)
    rows = []
    for speaker in SPEAKERS:
        impostors = draw.sample([s for s in SPEAKERS if s != speaker], 10)
        for test_speaker in [speaker] * 5 + impostors:
            score = draw.gauss(2.0 if test_speaker == speaker else 0.0, 1.0)
            test = f"{test_speaker}/call{len(rows):03d}.wav"
            rows.append(
                Trial(speaker, f"{speaker}/model", test_speaker, test, draw.choice("ab"), score)
            )
    draw.shuffle(rows)
    return rows


@pytest.fixture(scope="module")
def people():
    return {
        "id": SPEAKERS,
        "gender": ["f" if i % 2 else "m" for i in range(40)],
        "accent": ["north" if i % 3 else "south" for i in range(40)],
    }


def word(trial, target="target", nontarget="nontarget"):
    return target if trial.target else nontarget


def lines(path, trials, line, head=""):
    path.write_text(head + "".join(f"{line(trial)}\n" for trial in trials))
    return path


def rounded(trial, digits):
    return f"{trial.score:.{digits}f}"


# Files as toolkits write them: each gives the scores and, perhaps, a list of trials.


def speechbrain(folder, trials):
    def line(t):
        return "%s %s %i %f" % (t.enrol, t.test, t.target, t.score)  # noqa: UP031 - as it prints

    return lines(folder / "scores.txt", trials, line), None


def wespeaker(folder, trials):
    def line(t):
        return f"{t.enrol} {t.test} {rounded(t, 5)} {word(t)}"

    return lines(folder / "vox1_O.kaldi.score", trials, line), None


def wespeaker_norm(folder, trials):
    def line(t):
        beyond = " ".join(f"{x:.4f}" for x in (9.25 + t.score, 8.5, 0.125, -0.0625))
        return f"{t.enrol} {t.test} {rounded(t, 5)} {word(t)} {beyond}"

    return lines(folder / "asnorm300_vox1_O.kaldi.score", trials, line), None


def espnet(folder, trials):
    def line(t):
        return f"{t.enrol}*{t.test} {t.score} {word(t, 1, 0)}"

    return lines(folder / "raw_trial_scores", trials, line), None


def espnet_list(folder, trials):
    scores = lines(folder / "scores", trials, lambda t: f"{t.enrol}*{t.test} {t.score}")
    key = lines(folder / "trial_label", trials, lambda t: f"{t.enrol}*{t.test} {word(t, 1, 0)}")
    return scores, key


def nemo(folder, trials):
    """Pairs, and the scores that somebody wrote for them as JSON."""

    def pair(t):
        files = {"audio_filepath": [t.enrol, t.test], "duration": None, "offset": None}
        return json.dumps({**files, "label": word(t, "1", "0")})

    def scored(t):
        return json.dumps({"enrol": t.enrol, "test": t.test, "score": t.score})

    scores = lines(folder / "scores.jsonl", trials, scored)
    return scores, lines(folder / "pairs.json", trials, pair)


def kaldi(folder, trials):
    scores = lines(folder / "scores", trials, lambda t: f"{t.enrol} {t.test} {t.score!r}")
    return scores, lines(folder / "trials", trials, lambda t: f"{t.enrol} {t.test} {word(t)}")


def voices(folder, trials):
    scores = lines(folder / "llr.txt", trials, lambda t: f"{t.enrol} {t.test} {t.score!r}")
    key = lines(
        folder / "trial-keys.lst",
        reversed(trials),
        lambda t: f"{t.enrol} {t.test} {word(t, 'tgt', 'imp')}",
    )
    return scores, key


def voices_tar(folder, trials):
    scores, key = voices(folder, trials)
    key.write_text(key.read_text().replace(" tgt\n", " tar\n"))
    return scores, key


def voxceleb(folder, trials):
    def line(t):
        return f"{word(t, 1, 0)} {t.enrol} {t.test} {t.score!r}"

    return lines(folder / "veri_test.txt", trials, line), None


def voxsrc(folder, trials):
    scores = lines(folder / "scores.txt", trials, lambda t: f"{t.score!r} {t.enrol} {t.test}")
    key = lines(folder / "key.txt", trials, lambda t: f"{word(t, 1, 0)} {t.enrol} {t.test}")
    return scores, key


def parquet(folder, trials):
    rows = [(t.enrol, t.test, t.score, int(t.target)) for t in trials]
    pl.DataFrame(rows, schema=["enrol", "test", "score", "label"], orient="row").write_parquet(
        folder / "scores.parquet"
    )
    return folder / "scores.parquet", None


def bob_4(folder, trials):
    def line(t):
        return f"{t.speaker} {t.test_speaker} {t.test} {t.score}"

    return lines(folder / "scores-dev", trials, line), None


def bob_5(folder, trials):
    def line(t):
        return f"{t.speaker} {t.enrol} {t.test_speaker} {t.test} {t.score}"

    return lines(folder / "scores-dev", trials, line), None


def bob_csv(folder, trials):
    path = folder / "scores-dev.csv"
    header = ["probe_template_id", "probe_subject_id", "probe_gender", "probe_session"]
    header += ["bio_ref_template_id", "bio_ref_subject_id", "bio_ref_gender", "score"]
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(header)
        rows.writerows(
            [t.test, t.test_speaker, "f", "1", t.enrol, t.speaker, "f", t.score] for t in trials
        )
    return path, None


def bob_csv_of_old(folder, trials):
    path, _ = bob_csv(folder, trials)
    path.write_text(path.read_text().replace("template_id", "reference_id"))
    return path, None


def nist(folder, trials):
    output = lines(
        folder / "system_output.tsv",
        trials,
        lambda t: f"{t.enrol}\t{t.test}\t{t.side}\t{t.score!r}",
        "modelid\tsegmentid\tside\tLLR\n",
    )
    key = lines(
        folder / "trial_key.tsv",
        reversed(trials),
        lambda t: f"{t.enrol}\t{t.test}\t{t.side}\t{word(t)}\t3\tY\tfemale\tpstn",
        "modelid\tsegmentid\tside\ttargettype\tnum_enroll_segs\tphone_num_match\tgender\t"
        "source_type\n",
    )
    return output, key


def nist_with_blanks(folder, trials):
    output, key = nist(folder, trials)
    for path in (output, key):
        path.write_text(path.read_text().replace("\t", " "))
    return output, key


def nist_with_commas(folder, trials):
    output, key = nist(folder, trials)
    key.write_text(key.read_text().replace("\t", ",").replace("modelid,segmentid", "model,segment"))
    return output, key


def nist_without_header(folder, trials):
    output = lines(
        folder / "output",
        trials,
        lambda t: f"{t.enrol} {t.test} {t.side.upper()} {t.score!r}",
    )
    key = lines(
        folder / "key", trials, lambda t: f"{t.enrol} {t.test} {t.side} {word(t)} female pstn"
    )
    return output, key


# The same trials as CSV, by what the toolkit's files hold.


def csv_with_labels(folder, trials, digits):
    def line(t):
        score = rounded(t, digits) if digits else repr(t.score)
        return f"{t.enrol},{t.test},{score},{word(t)}"

    return lines(folder / "twin.csv", trials, line, "enrol,test,score,label\n"), None


def csv_with_speakers(folder, trials, _):
    head = "enrol,test,score,enrol_speaker,test_speaker\n"

    def line(t):
        return f"{t.enrol},{t.test},{t.score!r},{t.speaker},{t.test_speaker}"

    return lines(folder / "twin.csv", trials, line, head), None


def csv_with_speakers_for_models(folder, trials, _):
    return csv_with_speakers(folder, [t._replace(enrol=t.speaker) for t in trials], _)


def csv_pair(folder, trials, _):
    scores = lines(
        folder / "twin.csv",
        trials,
        lambda t: f"{t.enrol},{t.test},{t.score!r}",
        "enrol,test,score\n",
    )
    key = lines(
        folder / "list.csv", trials, lambda t: f"{t.enrol},{t.test},{word(t)}", "enrol,test,label\n"
    )
    return scores, key


def csv_pair_of_sides(folder, trials, _):
    on_b = [t._replace(test=t.test + ":b") if t.side == "b" else t for t in trials]
    return csv_pair(folder, on_b, _)


TOOLKITS = {
    "speechbrain": (speechbrain, ["kaldi-trials"], csv_with_labels, 6),
    "wespeaker": (wespeaker, ["wespeaker"], csv_with_labels, 5),
    "wespeaker-norm": (wespeaker_norm, ["wespeaker"], csv_with_labels, 5),
    "espnet": (espnet, ["espnet"], csv_with_labels, None),
    "espnet-list": (espnet_list, ["kaldi-scores", "espnet-trials"], csv_pair, None),
    "nemo": (nemo, ["jsonl", "jsonl"], csv_pair, None),
    "voxceleb": (voxceleb, ["voxceleb"], csv_with_labels, None),
    "parquet": (parquet, ["parquet"], csv_with_labels, None),
    "kaldi": (kaldi, ["kaldi-scores", "kaldi-trials"], csv_pair, None),
    "voices": (voices, ["kaldi-scores", "kaldi-trials"], csv_pair, None),
    "voices-tar": (voices_tar, ["kaldi-scores", "kaldi-trials"], csv_pair, None),
    "voxsrc": (voxsrc, ["voxceleb-scores", "voxceleb"], csv_pair, None),
    "bob-4": (bob_4, ["bob-4"], csv_with_speakers_for_models, None),
    "bob-5": (bob_5, ["bob-5"], csv_with_speakers, None),
    "bob-csv": (bob_csv, ["delimited"], csv_with_speakers, None),
    "bob-csv-of-old": (bob_csv_of_old, ["delimited"], csv_with_speakers, None),
    "nist": (nist, ["delimited", "delimited"], csv_pair_of_sides, None),
    "nist-with-blanks": (nist_with_blanks, ["delimited", "delimited"], csv_pair_of_sides, None),
    "nist-with-commas": (nist_with_commas, ["delimited", "delimited"], csv_pair_of_sides, None),
    "nist-without-header": (
        nist_without_header,
        ["nist-scores", "nist-key"],
        csv_pair_of_sides,
        None,
    ),
}


def audited(files, people, folder):
    scores, key = files
    audit = pv.audit(
        {"S": scores},
        trials=key,
        speakers=people,
        by="speaker.gender",
        operating_points="eer",
    )
    audit.save(folder)
    written = {path.name: path.read_bytes() for path in folder.iterdir()}
    for name in OF_KEY:
        written.pop(name, None)
    return audit, written


@pytest.mark.parametrize("name", TOOLKITS)
def test_the_files_of_a_toolkit_give_the_bytes_of_the_csv(name, trials, people, tmp_path):
    write, formats, twin, digits = TOOLKITS[name]
    audit, written = audited(write(tmp_path, trials), people, tmp_path / "a")
    twin_audit, reference_files = audited(twin(tmp_path, trials, digits), people, tmp_path / "b")
    read = [format_name["format"] for format_name in audit.provenance]
    assert [
        format_name for format_name in read if format_name != "dataframe"
    ] == formats  # which the speakers are
    assert audit.to_dict()["tables"] == twin_audit.to_dict()["tables"]
    assert written == reference_files


def test_a_format_is_read_by_its_name_too(trials, people, tmp_path):
    for name in ("bob-4", "bob-5", "wespeaker", "voxceleb"):
        scores, _ = TOOLKITS[name][0](tmp_path, trials)
        detected, named = (
            pv.audit(
                scores,
                speakers=people,
                by="speaker.gender",
                scores_format=format_name,
                intervals=False,
            ).to_dict()["tables"]
            for format_name in (None, name)
        )
        assert named == detected
