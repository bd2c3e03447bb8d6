"""``parivox score`` as a process: what it writes and prints, and what a kill leaves."""

from __future__ import annotations

import hashlib
import os
import random

import numpy as np
import polars as pl
import pytest

SPEAKERS, RECORDINGS_EACH, SIZE = 10, 6, 24
VERIFIER = """
import numpy as np

class Level:
    name, sample_rate, least_seconds = "level", 16000, 0.2
    provenance = {"version": 1}

    def enrol(self, recordings):
        return float(np.mean([np.abs(one).mean() for one in recordings]))

    def verify(self, handle, recording):
        return -abs(handle - float(np.abs(recording).mean()))

verifier = Level()
"""


IN_CHUNKS = """
from parivox.cli import score
from parivox.scoring import all_pairs, lists, run, verifying

lists.CHUNK = run.CHUNK = verifying.CHUNK = 1 << 12
lists.ListToScore.chunks.__defaults__ = (lists.CHUNK,)
"""
"""Lists are scored in chunks that a test can fill."""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Embeddings as an npz file, a list, a cohort, speakers."""
    folder = tmp_path_factory.mktemp("score")
    draw = np.random.default_rng(2)
    speaker_vectors = np.repeat(draw.normal(size=(SPEAKERS, SIZE)), RECORDINGS_EACH, axis=0)
    vectors = (speaker_vectors + 1.2 * draw.normal(size=speaker_vectors.shape)).astype(np.float32)
    ids = [f"s{i // RECORDINGS_EACH}/{i % RECORDINGS_EACH}" for i in range(len(vectors))]
    np.savez(folder / "embeddings.npz", ids=ids, vectors=vectors)
    rows = [
        f"{int(a[:2] == b[:2])} {a} {b}" for i, a in enumerate(ids[:48]) for b in ids[i + 1 : 48]
    ]
    (folder / "trials.txt").write_text("\n".join(rows) + "\n")
    (folder / "cohort.txt").write_text("\n".join(ids[48:]) + "\n")
    people = [f"s{i},{'fm'[i % 2]}" for i in range(SPEAKERS)]
    (folder / "speakers.csv").write_text("speaker,gender\n" + "\n".join(people) + "\n")
    return folder


def test_help_names_the_command_and_its_options(parivox):
    assert "score" in parivox("--help").stdout
    help_text = parivox("score", "--help-all").stdout
    for option in ("--embeddings", "--as-norm", "--top", "--s-norm", "--subtract-mean", "--models",
                   "--system", "--recordings", "--overwrite", "--scoring"):  # fmt: skip
        assert option in help_text


@pytest.mark.slow
def test_scores_are_written_and_audited(parivox, home):
    done = parivox("score", "trials.txt", "--embeddings", "embeddings.npz", "--out", "s.parquet",
                   "--quiet", cwd=home)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "s.parquet: 1,128 of 1,128 trials scored, by cosine.\n"
    audit = parivox(
        "audit", "s.parquet", "--speakers", "speakers.csv", "--by", "gender", "-v", cwd=home
    )
    assert audit.returncode == 0, audit.stderr
    assert "120 target and 1,008 nontarget trials of 8 speakers" in audit.stdout


def test_who_the_cohort_is_is_printed(parivox, home):
    done = parivox("score", "trials.txt", "--embeddings", "embeddings.npz", "--as-norm",
                   "cohort.txt", "--top", "5", "--speakers", "speakers.csv", "--out", "n.parquet",
                   "--quiet", cwd=home)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "AS-norm with the 5 nearest of a cohort of 12 recordings" in done.stdout
    assert "gender: f 6 (1), m 6 (1)" in done.stdout
    assert "s8" not in done.stdout


PAIRS = ("score", "--all-pairs", "--counts", "--embeddings", "embeddings.npz", "--quiet")


@pytest.mark.slow
def test_all_pairs_are_counted_and_audited(parivox, home, tmp_path):
    out = tmp_path / "all.counts"
    words = ("--speakers", "speakers.csv", "--by", "gender", "--step", "0.01", "--out", out)
    done = parivox(*PAIRS, *words, cwd=home)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "All 1,770 pairs of 60 recordings scored, by cosine."
    assert lines[-1] == f"Next: parivox audit {out} {out.with_suffix('.tally')}"
    audit = parivox("audit", out, out.with_suffix(".tally"), "-v", cwd=home)
    assert audit.returncode == 0, audit.stderr
    assert "150 target and 1,620 nontarget trials of 10 speakers" in audit.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("score", "--out", "a", "--embeddings", "embeddings.npz"), "missing trials"),
        (("score", "--all-pairs", "--out", "a"), "--all-pairs needs --counts"),
        (("score", "trials.txt", "--counts", "--out", "a"), "--counts needs --all-pairs"),
        (
            ("score", "trials.txt", "--by", "gender", "--out", "a"),
            "--by applies only to --all-pairs",
        ),
        (
            (*PAIRS, "trials.txt", "--out", "a"),
            "trials.txt: a trial list and --all-pairs contradict",
        ),
        ((*PAIRS, "--out", "a", "--models", "m.csv"), "--models applies only to trial lists"),
        ((*PAIRS, "--out", "a"), "for example --step 0.001"),
        ((*PAIRS, "--out", "speakers.csv", "--overwrite"), "was not written by Parivox"),
        ((*PAIRS, "--out", "a.tally", "--step", "0.1"), "is not the name of a counts file"),
    ],
)
def test_all_pairs_that_cannot_be_counted_leave_nothing(parivox, home, words, message):
    before = {path.name for path in home.iterdir()}
    done = parivox(*words, cwd=home)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert message in done.stderr
    assert {path.name for path in home.iterdir()} == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--out", "a.parquet"), "give either --embeddings DIR"),
        (("--embeddings", "embeddings.npz", "--out", "-"), "standard output is not a file"),
        (("--embeddings", "embeddings.npz", "--out", "trials.txt"), "would replace the list"),
        (("--embeddings", "embeddings.npz", "--out", "."), "is a folder; name a file"),
        (("--embeddings", "nowhere", "--out", "a.parquet"), "nowhere"),
        (("--embeddings", "embeddings.npz", "--out", "a.parquet", "--as-norm", "no.txt"), "no.txt"),
        (("--embeddings", "embeddings.npz", "--out", "none/a/b.parquet/"), "is a folder")
        if os.name == "nt"
        else (("--embeddings", "embeddings.npz", "--out", "/proc/a.parquet"), "cannot be written"),
        (("--system", "level:verifier", "--out", "a.parquet"), "needs --recordings"),
        (
            ("--embeddings", "embeddings.npz", "--out", "a.parquet", "--recordings", "."),
            "--recordings applies only to --system",
        ),
    ],
)
def test_mistakes_are_one_sentence_and_nothing_is_written(parivox, home, words, message):
    before = {path.name for path in home.iterdir()}
    done = parivox("score", "trials.txt", *words, "--quiet", cwd=home)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    assert {path.name for path in home.iterdir()} == before


@pytest.mark.parametrize(
    ("rows", "words", "message"),
    [
        ("s0/0 s0/1\ns0/0 s1/1\n", (), "no known trial columns"),
        ("1 s0/0 s0/1\nx s0/0 s1/1\n", (), "row 2: does not match the rows above"),
        ("s0/0 s0/1\n", ("--trials-format", "pairs"), "--trials-format 'pairs' is not known"),
        ("1 1 a 0.5\n", (), "choose one with --trials-format voxceleb or --trials-format bob-4"),
        ("x y z\nu v w\n", (), "or the format with --trials-format"),
    ],
)
def test_lists_that_cannot_be_read_say_what_to_do(parivox, home, tmp_path, rows, words, message):
    (tmp_path / "list.txt").write_text(rows)
    done = parivox("score", tmp_path / "list.txt", *words, "--embeddings", "embeddings.npz",
                   "--out", tmp_path / "s.parquet", cwd=home)  # fmt: skip
    assert done.returncode == 2
    assert message in done.stderr
    assert "--scores-format" not in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["list.txt"]


def test_recordings_that_are_not_embedded_are_counted(parivox, home, tmp_path):
    (tmp_path / "more.txt").write_text("1 s0/0 s0/1\n0 s0/0 s77/1\n0 s0/0 s78/1\n")
    done = parivox("score", tmp_path / "more.txt", "--embeddings", "embeddings.npz", "--out",
                   "m.parquet", "--quiet", cwd=home)  # fmt: skip
    assert done.returncode == 2
    assert "2 of 4 recordings ('s77/1', 's78/1') are not in embeddings.npz" in done.stderr


@pytest.fixture
def levelled(tmp_path):
    """Recordings of four speakers who differ in level, and a system that tells them by it."""
    soundfile = pytest.importorskip("soundfile")
    draw = np.random.default_rng(1)
    for s in range(4):
        (tmp_path / "audio" / f"s{s}").mkdir(parents=True)
        for k in range(3):
            tone = np.sin(np.arange(9600) * (0.05 + 0.01 * k)) * (0.1 + 0.1 * s)
            noise = draw.normal(0, 0.01, 9600)
            soundfile.write(tmp_path / "audio" / f"s{s}" / f"{k}.wav", tone + noise, 16000)
    (tmp_path / "level.py").write_text(VERIFIER)
    return tmp_path


@pytest.mark.slow
def test_a_system_that_compares_itself_scores_a_folder(parivox, levelled):
    ids = [f"s{s}/{k}.wav" for s in range(4) for k in range(3)]
    rows = [f"{int(a[:2] == b[:2])} {a} {b}" for i, a in enumerate(ids) for b in ids[i + 1 :]]
    (levelled / "trials.txt").write_text("\n".join(rows) + "\n")
    done = parivox("score", "trials.txt", "--system", "level:verifier", "--recordings", "audio",
                   "--out", "s.parquet", "--quiet", cwd=levelled)  # fmt: skip
    assert done.returncode == 0, done.stderr
    score_table = pl.read_parquet(levelled / "s.parquet")
    assert score_table.filter(pl.col("label") == "target")["score"].min() > -0.02
    assert score_table.filter(pl.col("label") == "nontarget")["score"].max() < -0.03


def undisturbed_after(kills, words, folder, run):
    """Score, killed so often; whenever the file is there, and at last, it has the same bytes."""
    words = ["score", *words, "--quiet", "--out"]
    reference_path, out = folder / "whole.parquet", folder / "killed.parquet"
    code, took = run(*words, reference_path)
    assert code == 0
    chance, killed, begun = random.Random(3), 0, 0
    for _ in range(10 * kills):
        code, _ = run(*words, out, after=chance.uniform(0.1, 0.8) * took)
        killed += code is None
        begun += any(folder.glob("killed.parquet.parts/0*"))
        if out.exists():  # whole, whenever it is there
            assert digest(out) == digest(reference_path)
            out.unlink()
        if killed == kills:
            break
    assert killed == kills
    assert begun
    out.unlink(missing_ok=True)
    assert run(*words, out)[0] == 0
    assert digest(out) == digest(reference_path)


@pytest.mark.slow
def test_kills_change_no_byte(home, tmp_path, forked, kills):
    ids = pl.Series(
        [
            f"s{i // RECORDINGS_EACH}/{i % RECORDINGS_EACH}"
            for i in range(SPEAKERS * RECORDINGS_EACH)
        ]
    )
    draw = np.random.default_rng(5)
    sides = {side: ids.gather(draw.integers(0, len(ids), 50_000)) for side in ("enrol", "test")}
    pl.DataFrame(sides).write_parquet(tmp_path / "trials.parquet")
    words = ["trials.parquet", "--embeddings", home / "embeddings.npz"]
    undisturbed_after(kills, words, tmp_path, forked(IN_CHUNKS))


@pytest.mark.slow
def test_kills_leave_counts_and_tally_whole(tmp_path, forked, kills):
    draw = np.random.default_rng(6)
    ids = [f"s{i // RECORDINGS_EACH:04d}/{i % RECORDINGS_EACH}" for i in range(1_500)]
    np.savez(tmp_path / "e.npz", ids=ids, vectors=draw.normal(size=(len(ids), SIZE)))
    table = pl.DataFrame({"id": [f"s{i:04d}" for i in range(250)], "sex": ["f", "m"] * 125})
    table.write_csv(tmp_path / "people.csv")
    words = ["score", "--all-pairs", "--counts", "--embeddings", "e.npz", "--threshold", "0.3"]
    words += ["--speakers", "people.csv", "--quiet", "--overwrite", "--out"]
    run = forked(IN_CHUNKS)
    code, took = run(*words, "whole.counts")
    assert code == 0
    chance, killed = random.Random(4), 0
    for _ in range(kills):
        code, _ = run(*words, "killed.counts", after=chance.uniform(0.1, 1.0) * took)
        killed += code is None
        for kind in ("counts", "tally"):
            if (file := tmp_path / f"killed.{kind}").exists():
                assert digest(file) == digest(tmp_path / f"whole.{kind}")
                file.unlink()
    assert killed > kills // 2


@pytest.mark.slow
def test_kills_change_no_byte_of_what_a_verifying_system_says(levelled, forked):
    draw = np.random.default_rng(5)
    ids = pl.Series([f"s{s}/{k}.wav" for s in range(4) for k in range(3)])
    sides = {side: ids.gather(draw.integers(0, len(ids), 10_000)) for side in ("enrol", "test")}
    pl.DataFrame(sides).write_parquet(levelled / "trials.parquet")
    words = ["trials.parquet", "--system", "level:verifier", "--recordings", "audio"]
    undisturbed_after(5, words, levelled, forked(IN_CHUNKS))


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()
