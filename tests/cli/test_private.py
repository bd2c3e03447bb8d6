"""What an audit writes tells no attribute, however well its readers guess."""

import functools
import hashlib
import hmac
import itertools
import json
import os
import shutil
import stat

import numpy as np
import pytest

import parivox as pv
from parivox.auditing.folder import HASHES
from parivox.auditing.private import PRIVATE

IDS = [f"p{i}" for i in range(10)]
GENDERS = ["f", "m", "m", "f", "f", "m", "f", "m", "f", "m"]


def scores_text() -> str:
    rng = np.random.default_rng(1)
    rows = ["enrol,test,score,label"]
    for i, j in itertools.product(range(10), repeat=2):
        label = int(i == j)
        rows += [
            f"{IDS[i]}/a{take},{IDS[j]}/b{take},{rng.normal(label):.4f},{label}"
            for take in range(20 if label else 4)
        ]
    return "\n".join(rows) + "\n"


def speakers_text(genders: list[str]) -> str:
    return "\n".join(["speaker,gender", *map(",".join, zip(IDS, genders, strict=True))]) + "\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "scores.csv").write_text(scores_text())
    (tmp_path / "speakers.csv").write_text(speakers_text(GENDERS))
    return tmp_path


@pytest.fixture(scope="module")
def run_in(parivox):
    """Run a command of a folder's scores and speakers that ends well."""

    def command(home, name, *words):
        audit_options = ["scores.csv", "--speakers", "speakers.csv", "--by", "gender"]
        done = parivox(name, *audit_options, *words, cwd=home)
        assert done.returncode == 0, done.stderr

    return command


@pytest.fixture
def run(run_in, folder):
    return functools.partial(run_in, folder)


@pytest.fixture(scope="module")
def kept_audit(run_in, tmp_path_factory):
    """A folder with an audit and its report, which no test changes."""
    home = tmp_path_factory.mktemp("kept")
    (home / "scores.csv").write_text(scores_text())
    (home / "speakers.csv").write_text(speakers_text(GENDERS))
    run_in(home, "audit", "--out", "one", "--report", "one.html")
    return home


@pytest.fixture
def copied_audit(kept_audit, folder):
    """A copy of that audit, with its report beside it, to be changed."""
    shutil.copytree(kept_audit / "one", folder / "one")
    shutil.copy(kept_audit / "one.html", folder)
    return folder / "one"


@pytest.fixture
def audit_into(run, folder):
    """Audit into a subfolder."""

    def audited(name, *words):
        run("audit", "--out", name, *words)
        return folder / name

    return audited


@pytest.mark.slow
def test_the_key_is_random_its_owner_s_alone_and_in_no_other_file(audit_into, folder):
    first_audit, second_audit = audit_into("one", "--report", "one.html"), audit_into("other")
    keys = {json.loads((home / PRIVATE).read_text())["key"] for home in (first_audit, second_audit)}
    assert len(keys) == 2
    assert stat.S_IMODE((first_audit / PRIVATE).stat().st_mode) == 0o600
    assert PRIVATE not in (first_audit / HASHES).read_text()
    written = [path for path in first_audit.iterdir() if path.name != PRIVATE] + [
        folder / "one.html"
    ]
    for key in keys:
        assert not any(key.encode() in path.read_bytes() for path in written)


@pytest.mark.slow
def test_an_audit_is_read_and_reported_without_its_key(copied_audit, parivox, folder):
    (copied_audit / PRIVATE).unlink()
    done = parivox("report", "one", "--out", "again.html", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "again.html").read_bytes() == (folder / "one.html").read_bytes()


@pytest.mark.slow
def test_the_same_key_gives_the_same_bytes(copied_audit, audit_into, folder):
    first_audit = copied_audit
    (folder / "two").mkdir()
    shutil.copy(first_audit / PRIVATE, folder / "two")
    two = audit_into("two")
    assert {p.name: p.read_bytes() for p in first_audit.iterdir()} == {
        p.name: p.read_bytes() for p in two.iterdir()
    }
    audit_into("one")
    assert (first_audit / PRIVATE).read_bytes() == (two / PRIVATE).read_bytes()


def test_the_key_proves_which_ids_were_used(copied_audit):
    home = copied_audit
    entries = json.loads((home / "provenance.json").read_text())
    (entry,) = [entry for entry in entries if entry["role"] == "speakers"]
    secret = bytes.fromhex(json.loads((home / PRIVATE).read_text())["key"])
    digest = hashlib.sha256("\n".join(sorted(IDS)).encode()).hexdigest()
    name, _, mac = entry["ids_hmac"].partition(":")
    assert mac == hmac.digest(secret, digest.encode(), "sha256").hex()
    assert len(name) == 8
    assert "sha256" not in entry


@pytest.fixture
def written(copied_audit, run, folder):
    """What a reader may get, by name: an audit but for its key, its report, rules, calibrator."""
    run("thresholds", "--out", "rules.yaml", "--folds", "4", "--aim", "fpr=0.2")
    run("calibrate", "--out", "calibrator.json", "--folds", "4")
    paths = [path for path in copied_audit.iterdir() if path.name != PRIVATE]
    paths += [folder / name for name in ("one.html", "rules.yaml", "calibrator.json")]
    return {path.name: path.read_text("latin-1") for path in paths}


@pytest.mark.slow
def test_no_guess_of_attributes_gives_a_hash_that_is_written(written):
    hits = []
    for genders in itertools.product("fm", repeat=len(IDS)):
        pairs = [f"{name}\x1f{gender}" for name, gender in zip(IDS, genders, strict=True)]
        as_hashed_in_0_2_0 = "\n".join(["gender", *pairs])
        for text in (as_hashed_in_0_2_0, speakers_text(list(genders))):
            digest = hashlib.sha256(text.encode()).hexdigest()
            hits += [name for name, content in written.items() if digest in content]
    assert not hits


@pytest.mark.slow
def test_people_who_swap_groups_are_told_where_both_folders_have_one_key(audit_into, folder):
    old = audit_into("old")
    (folder / "new").mkdir()
    shutil.copy(old / PRIVATE, folder / "new")
    swapped = [GENDERS[1], GENDERS[0], *GENDERS[2:]]
    (folder / "speakers.csv").write_text(speakers_text(swapped))
    new, unlike = audit_into("new"), audit_into("unlike")
    moved = pv.compare(old, new).record["changed_groups"]
    assert [row["grouping"] for row in moved] == ["gender"]
    # a folder with another key tells nothing of who is in a group but their numbers
    assert not pv.compare(old, unlike).record["changed_groups"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", '{"key": 1}', '{"key": "zz"}', '{"key": "00"}', " " * 5000,
        json.dumps({"key": "00" * 32}),
    ],
)  # fmt: skip
def test_a_damaged_key_is_refused_in_a_sentence(copied_audit, parivox, folder, text):
    home = copied_audit
    before = (home / "audit.json").read_bytes()
    (home / PRIVATE).write_text(text)
    words = ["scores.csv", "--speakers", "speakers.csv", "--by", "gender", "--out", "one"]
    done = parivox("audit", *words, cwd=folder)
    assert done.returncode == 2
    assert PRIVATE in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    with pytest.raises(pv.ConfigError, match=PRIVATE):
        pv.load(home).save(home)
    assert (home / "audit.json").read_bytes() == before


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_key_that_has_no_end_is_refused(copied_audit, parivox, folder, kind):
    home = copied_audit
    (home / PRIVATE).unlink()
    if kind == "pipe":
        os.mkfifo(home / PRIVATE)
    else:
        (home / PRIVATE).symlink_to("/dev/zero")
    words = ["scores.csv", "--speakers", "speakers.csv", "--by", "gender", "--out", "one"]
    done = parivox("audit", *words, cwd=folder)
    assert done.returncode == 2
    assert PRIVATE in done.stderr
    assert pv.load(home).record["groupings"] == ["gender"]


@pytest.mark.parametrize("name", ["site.key", "site.key.counted"])
def test_counts_do_not_take_the_place_of_their_key(parivox, folder, name):
    (folder / "site.key").write_text("0123456789abcdef")
    words = ["scores.csv", "--speakers", "speakers.csv", "--by", "gender", "--step", "0.5"]
    done = parivox("count", *words, "--key", "site.key", "--blocks", "4", "--out", name, cwd=folder)
    assert done.returncode == 2
    assert (folder / "site.key").read_text() == "0123456789abcdef"
    assert not (folder / "site.key.counted").exists()


@pytest.mark.slow
def test_a_new_key_goes_if_its_counts_cannot_be_written(parivox, folder, monkeypatch):
    def full(*_):
        msg = "the disk is full"
        raise pv.ConfigError(msg)

    monkeypatch.setattr("parivox.auditing.counts.trial_counts.write_file", full)
    words = ["scores.csv", "--speakers", "speakers.csv", "--by", "gender", "--step", "0.5"]
    words += ["--new-key", "site.key", "--blocks", "4", "--out", "site.counts"]
    assert parivox("count", *words, cwd=folder).returncode == 2
    assert not list(folder.glob("site*"))
