"""``parivox trials build`` as a process: what it writes, prints and refuses."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

SPEAKERS = [(f"s{i}", "fm"[i % 2], "XY"[i % 4 // 2]) for i in range(16)]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Tables of utterances and of speakers."""
    home = tmp_path_factory.mktemp("build")
    names = [f"r{r}/{u}.wav" for r in range(4) for u in range(2)]
    ids = [f"{speaker}/{name}" for speaker, *_ in SPEAKERS for name in names]
    (home / "u.csv").write_text("\n".join(["utterance", *ids, ""]))
    rows = [",".join(row) for row in [("speaker", "gender", "nation"), *SPEAKERS]]
    (home / "s.csv").write_text("\n".join([*rows, ""]))
    return home


@pytest.fixture(scope="module")
def build(parivox, home):
    def run(*words):
        tables = ("--utterances", "u.csv", "--speakers", "s.csv") if words[0] != "--from" else ()
        return parivox("trials", "build", *words, *tables, cwd=home)

    return run


@pytest.mark.slow
def test_inclusive(build, home):
    done = build("inclusive", "--by", "gender+nation", "--per-speaker", "5", "--variants", "2",
                 "--seed", "1", "--out", "lists")  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(path.name for path in (home / "lists").iterdir()) == [
        "inclusive-1.txt",
        "inclusive-2.txt",
        "inclusive.manifest.json",
    ]
    lines = done.stdout.splitlines()
    assert lines[0] == (
        "2 lists, each of 80 target + 80 nontarget trials of 16 speakers in 4 groups "
        "(gender+nation)."
    )
    assert "  lists/inclusive-1.txt" in lines
    assert lines[-1] == "The list fails G2, G6, G7. Run parivox trials check for details."
    again = build("--from", "lists/inclusive.manifest.json", "--out", "again")
    assert (again.returncode, again.stderr) == (0, "")
    for path in (home / "lists").iterdir():
        assert (home / "again" / path.name).read_bytes() == path.read_bytes()


def test_balanced(build, home):
    done = build("balanced", "--by", "nation", "--speakers-per-group", "4",
                 "--utterances-per-speaker", "4", "--groups", "X,Y", "--format", "kaldi",
                 "--out", "b", "--json")  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    record = json.loads(done.stdout)
    assert record["parameters"]["groups"] == ["X", "Y"]
    assert record["speakers"] == {"X": 4, "Y": 4}
    first_line = (home / "b" / "balanced.txt").read_text().split("\n")[0]
    assert first_line.endswith(" target")


def test_cross(build, home):
    done = build("cross", "--by", "nation", "--per-cell", "40", "--targets", "3", "--out", "c")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("48 target + 160 nontarget trials")


def test_help_names_the_kinds_and_their_options(build):
    help_text = build("--help").stdout
    for word in ("inclusive", "balanced", "cross", "--from", "--out"):
        assert word in help_text
    help_text = build("inclusive", "--help-all").stdout
    for word in ("--per-speaker", "--variants", "--seed", "--mix", "--compat", "--speaker-ids"):
        assert word in help_text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--out", "x"), "missing kind of list"),
        (("square", "--out", "x"), "available: inclusive, balanced, cross"),
        (("--from", "m.json", "--out", "x", "--seed", "3"), "--seed depends on the kind"),
        (("--by", "gender", "inclusive", "--out", "x"), "--by depends on the kind"),
        (("--out", "x", "inclusive", "--out", "x"), "--per-speaker"),
        (("inclusive", "--by", "gender", "--per-speaker", "5", "--seed", "-1", "--out", "x"),
         "--seed is -1; give a whole number from 0 to"),
        (("inclusive", "--by", "gender", "--per-speaker", "9" * 20, "--out", "x"),
         "give a whole number from 1 to"),
        (("inclusive", "--by", "gender", "--per-speaker", "5", "--format", "tar", "--out", "x"),
         "--format 'tar'"),
        (("inclusive", "--by", "gender", "--per-speaker", "5", "--out", ""), "does not name"),
        (("--from", "nowhere.json"), "missing option --out"),
        (("--from", "nowhere.json", "--out", "x"), "nowhere.json: cannot be read"),
        (("inclusive", "--per-speaker", "5", "--by", "gender"), "missing option --out"),
        (("inclusive", "--per-speaker", "5", "--out", "x"), "missing option --by"),
        (("inclusive", "--by", "gender", "--out", "x"), "--per-speaker"),
        (("inclusive", "--by", "gender", "--per-speaker", "many", "--out", "x"), "--per-speaker"),
        (("inclusive", "--by", "gender", "--per-speaker", "99", "--out", "x"), "is 24"),
        (
            ("inclusive", "--by", "gender", "--per-speaker", "1", "--target-grades", "a",
             "--out", "x"),
            "--target-grades a: target pairs",
        ),
        (("cross", "--by", "gender", "--per-cell", "5", "--out", "-"), "--out -"),
        (
            ("balanced", "--by", "nation", "--speakers-per-group", "10",
             "--utterances-per-speaker", "4", "--out", "x"),
            "--speakers-per-group 8 fits all groups",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_sentence_and_nothing_is_written(words, message, build, home):
    done = build(*words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (home / "x").exists()


def test_tables_may_stand_before_the_kind_but_not_twice(parivox, home):
    before = ("--utterances", "u.csv", "--speakers", "s.csv", "--out", "before", "--json")
    after = ("inclusive", "--by", "gender", "--per-speaker", "5")
    done = parivox("trials", "build", *before, *after, cwd=home)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["speakers"] == {"f": 8, "m": 8}
    assert (home / "before" / "inclusive.txt").exists()
    done = parivox("trials", "build", *before, *after, "--out", "after", cwd=home)
    assert done.returncode == 2
    assert done.stderr == "parivox: error: --out is given twice; give it once\n"


def test_one_group_is_one_group(build):
    done = build("balanced", "--by", "nation", "--speakers-per-group", "4", "--groups", "X",
                 "--utterances-per-speaker", "4", "--out", "one")  # fmt: skip
    assert "of 4 speakers in 1 group (nation)." in done.stdout


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows ends processes without asking")
def test_what_is_ended_leaves_nothing_behind(home):
    words = ("trials", "build", "cross", "--utterances", "u.csv", "--speakers", "s.csv", "--by",
             "nation", "--complete", "--variants", "9999", "--out", "ended", "--progress",
             "json")  # fmt: skip
    process = subprocess.Popen([sys.executable, "-m", "parivox", *words], cwd=home,
                               stderr=subprocess.PIPE, text=True)  # fmt: skip
    until = time.monotonic() + 60
    while not list(home.glob(".parivox-*/*")) and time.monotonic() < until:
        time.sleep(0.01)
    process.terminate()
    *warning_lines, error_line = process.communicate(timeout=60)[1].splitlines()
    stages = {json.loads(line)["stage"] for line in warning_lines}
    assert "writing 76,792,320 trials, 2.1 GB or so" in stages
    assert error_line == "parivox: stopped; nothing was written"
    assert process.returncode == 128 + signal.SIGTERM
    assert not (home / "ended").exists()


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows ends processes without asking")
def test_lists_are_all_there_or_built_again_wherever_the_run_was_killed(build, home, ended):
    words = ("inclusive", "--by", "gender", "--per-speaker", "5", "--variants", "3", "--out")
    assert build(*words, "killed/new").returncode == 0
    lists = {path.name: path.read_bytes() for path in (home / "killed" / "new").iterdir()}
    (home / "killed" / "old").mkdir()
    (home / "killed" / "old" / "cross.txt").write_text("another list")
    outs = ended(home / "killed" / "old", home / "killed" / "new", [], "SIGKILL")
    refused = []
    for out in outs:
        written_names = {path.name for path in out.iterdir()} & {*lists}
        done = build(*words, out)
        refused.append(done.returncode)
        if done.returncode:
            assert "inclusive-1.txt already exists" in done.stderr
            assert written_names == {*lists}
        contents = {path.name: path.read_bytes() for path in out.iterdir()}
        assert contents.keys() == {*lists, "cross.txt"}
        assert all(contents[name] == lists[name] for name in lists if not name.endswith(".json"))
    assert sorted({*refused}) == [0, 2]


def test_a_manifest_and_a_kind_contradict_each_other(parivox, home):
    words = ("--from", "m.json", "cross", "--by", "gender", "--per-cell", "5", "--out", "x")
    done = parivox("trials", "build", *words, cwd=home)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--from and cross contradict each other" in done.stderr
