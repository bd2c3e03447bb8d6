"""Forty outputs that are handed on: no id, host, user, path, file name or hash of attributes."""

import getpass
import hashlib
import json
import platform
import re
import zipfile

import numpy as np
import pytest

pytestmark = pytest.mark.slow

IDS = [f"qxz{i:03d}" for i in range(48)]
PRIVATE = {"private.json", "site.key", "site.key.counted"}
"""What stays with its owner."""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder whose name, and whose files, tell of what nobody is to know."""
    folder = tmp_path_factory.mktemp("zqsecretfolder")
    rng = np.random.default_rng(5)
    rows = ["enrol,test,score,label"]
    for i, speaker in enumerate(IDS):
        partners = rng.choice([j for j in range(len(IDS)) if j != i], 14, replace=False)
        for j in (i, *partners.tolist()):
            label = int(i == j)
            rows += [
                f"{speaker}/e{k},{IDS[j]}/t{i}_{j}_{k},{rng.normal(2 * label):.4f},{label}"
                for k in range(6 if label else 1)
            ]
    (folder / "zqscores.csv").write_text("\n".join(rows) + "\n")
    people = ["speaker,gender,region"]
    people += [f"{speaker},{'fm'[i % 2]},{'NSEW'[i % 4]}" for i, speaker in enumerate(IDS)]
    (folder / "zqspeakers.csv").write_text("\n".join(people) + "\n")
    (folder / "policy.yaml").write_text(
        "parivox-policy: 1\nconditions:\n- {name: a, rate: fnr, at-most: 50%, by: gender}\n"
    )
    return folder


@pytest.fixture(scope="module")
def outputs(home, parivox):
    """Everything that the commands print and write, by name."""
    audit_options = ["--speakers", "zqspeakers.csv", "--by", "gender"]
    texts = {}

    def run(name, *words, codes=(0,)):
        done = parivox(*words, cwd=home)
        assert done.returncode in codes, done.stderr
        texts[f"{name}, printed"] = (done.stdout + done.stderr).encode()

    named = "V2=zqscores.csv"
    run("audit", "audit", named, *audit_options, "--by", "gender+region", "--out", "audit",
        "--report", "report.html", "--compat", "bt4vt", "--sweep", "fpr=0.01:0.1:log5")  # fmt: skip
    run("parquet", "audit", named, *audit_options, "--out", "parquet", "--format", "parquet")
    run("json", "audit", named, *audit_options, "--json")
    run("details", "audit", named, *audit_options, "-v")
    run("no intervals", "audit", named, *audit_options, "--no-intervals", "--out", "plain")
    run("shown", "show", "audit", "f")
    for end in ("md", "tex", "xlsx", "json", "yaml"):
        run(f"report.{end}", "report", "audit", "--out", f"numbers.{end}")
    run("figures", "report", "audit", "--figures", "figures")
    run("gate", "gate", "audit", "--policy", "policy.yaml", codes=(0, 1, 3))
    run("rules", "thresholds", named, *audit_options, "--aim", "fpr=0.1", "--out", "rules.yaml")
    run("calibrator", "calibrate", named, *audit_options, "--out", "calibrator.json",
        "--figure", "calibration.svg")  # fmt: skip
    run("counts", "count", named, *audit_options, "--step", "0.5", "--out", "plain.counts")
    run("blocks", "count", named, *audit_options, "--step", "0.5", "--new-key", "site.key",
        "--blocks", "8", "--out", "site.counts")  # fmt: skip
    run("criteria", "criteria", "audit")
    run("plan", "plan", "--pilot", "audit")
    run("bug", "report-bug")
    for path in sorted(home.rglob("*")):
        name = path.relative_to(home).as_posix()
        if not path.is_file() or path.name in PRIVATE or path.name.startswith("zq"):
            continue
        data = path.read_bytes()
        if path.suffix in {".xlsx", ".zip"}:
            with zipfile.ZipFile(path) as archive:
                data = b"\n".join(archive.read(member) for member in archive.namelist())
        elif path.suffix in {".parquet", ".counts", ".tally"}:
            data = as_text(path)
        texts[name] = data
    del texts["bug, printed"]  # which is read before it is sent
    return texts


def as_text(path):
    """The cells and the metadata of a Parquet file."""
    import polars as pl

    frame = pl.read_parquet(path)
    metadata = json.dumps(pl.read_parquet_metadata(path))
    return (metadata + frame.write_json()).encode()


def test_there_are_forty_outputs(outputs):
    assert len(outputs) >= 40, sorted(outputs)


def test_no_id_host_user_path_or_file_name_is_told(outputs, home):
    secrets = [
        *IDS,
        *[f"{speaker}/" for speaker in IDS],
        str(home),
        home.name,
        home.parent.name,
        "zqspeakers",
        platform.node(),
    ]
    if len(getpass.getuser()) > 4:  # root is a word
        secrets.append(getpass.getuser())
    leaks = {
        (name, secret)
        for name, data in outputs.items()
        for secret in secrets
        if len(secret) > 3 and secret.encode() in data
    }
    # provenance names the files, and so do messages about them
    allowed = {("audit/provenance.json", "zqspeakers"), ("parquet/provenance.json", "zqspeakers")}
    allowed |= {("plain/provenance.json", "zqspeakers")}
    assert not leaks - allowed


def test_no_hash_that_is_told_covers_attributes(outputs, home):
    """Every hash that could be made of the table by who has all of it but one attribute."""
    people = (home / "zqspeakers.csv").read_bytes()
    lines = people.decode().splitlines()
    rows = [line.split(",") for line in lines[1:]]
    guesses = {people, people.strip()}
    positions = {"gender": 1, "region": 2}
    for columns in (["gender"], ["region"], ["gender", "region"]):
        for joint in (",", "\x1f", "\t", ";", " "):
            cells = [
                joint.join([row[0], *(row[positions[column]] for column in columns)])
                for row in rows
            ]
            head = joint.join(columns)
            guesses |= {
                "\n".join(text).encode()
                for text in (cells, [head, *cells], ["speaker" + joint + head, *cells])
            }
    guesses |= {guess + b"\n" for guess in guesses}
    makers = (hashlib.sha256, hashlib.sha1, hashlib.md5, hashlib.blake2b)
    digests = {make(guess).hexdigest()[:16].encode() for guess in guesses for make in makers}
    leaks = {
        (name, digest) for name, data in outputs.items() for digest in digests if digest in data
    }
    assert not leaks


def test_what_looks_like_a_hash_is_known(outputs):
    """No other field holds one than those that the docs name."""
    fields = set()
    for data in outputs.values():
        fields |= set(re.findall(rb'"(\w*(?:sha256|hmac|hash|digest)\w*)"', data))
    assert fields <= {
        b"content_sha256", b"trials_sha256", b"list_sha256", b"bytes_hmac", b"ids_hmac",
        b"sha256", b"context_sha256", b"hash",  # the last is a class of the page
    }  # fmt: skip
