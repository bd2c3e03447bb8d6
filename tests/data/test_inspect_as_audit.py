"""`inspect` is a dry run: on random files it says what the readers and the audit do.

``PARIVOX_RANDOM_CASES=3000`` compares the two on as many cases, which are some 8,000 tables.
"""

import argparse
import os
import re
import shlex

import pytest
from tests.random_tables import random_files

import parivox as pv
from parivox.auditing.inspection import MISSING_WORDS
from parivox.cli.audit import audit_command_line
from parivox.data.columns import RequestedColumns
from parivox.data.formats import scan
from parivox.data.recordings import read_failures, read_models, read_utterances
from parivox.data.speakers import read_speakers
from parivox.data.trial_checks import DUPLICATES, REVERSED, SAME_UTTERANCE, UNSCORED
from parivox.errors import ParivoxError

N_CASES = int(os.environ.get("PARIVOX_RANDOM_CASES", "60"))
CASES_PER_TEST = 20
READERS = {"utterances": read_utterances, "models": read_models, "failures": read_failures}
COUNTED = (DUPLICATES, REVERSED, SAME_UTTERANCE, UNSCORED)


def roles_read(record):
    """The columns by role as a reader records them, without attributes."""
    roles = {role: name for role, name in record["columns"].items() if not role.startswith("@")}
    if record["role"] == "speakers":
        return {"speaker": roles["id"]}
    if record["role"] == "failures" and "cause" in roles:
        roles["reason"] = roles.pop("cause")
    return roles


def compare_kinds(inspection):
    """Each file is of a kind whose reader takes it, or says why not."""
    for file in inspection.files:
        try:
            columns = scan(
                file.name, columns=RequestedColumns(), format=None, name="scores"
            ).columns
        except ParivoxError:
            columns = {}
        are_scores = {"enrol", "test"} <= columns.keys() and bool(
            {"score", "decision"} & {*columns}
        )
        assert (file.kind == "scores") == are_scores, file.name
        if file.kind in {"scores", "trials"} and file.rows:
            assert file.roles == columns
        if file.kind in READERS and not inspection.problems:
            read, refusal = None, ""
            try:
                read = READERS[file.kind](file.name)
            except ParivoxError as error:
                refusal = str(error)
            assert file.problems == ((refusal,) if refusal else ())
            if read is not None:
                record = {"role": file.kind, **read.provenance}
                assert roles_read(record) == file.roles
        if file.kind == "speakers":
            assert file.roles.get("speaker", "") in {"", *read_speakers(file.name).columns}


def compare_named_kinds(inspection):
    """A reader of another kind that names the kind of a file names the one of an inspection."""
    for file in inspection.files:
        (alone,) = pv.inspect(file.name).files
        for kind, read in READERS.items():
            try:
                read(file.name)
            except ParivoxError as error:
                named = re.search(r"looks like a table of (\w+)", str(error))
                if named and kind != alone.kind in {"speakers", *READERS}:
                    assert named[1] == alone.kind


def compare_audit(inspection):
    """The proposed command runs, and finds what was said; or is refused for a problem told."""
    _, subcommand, *words = shlex.split(inspection.next) or ["", ""]
    problems = [
        *inspection.problems,
        *(text for file in inspection.files for text in file.problems),
    ]
    if subcommand != "audit" or any(word in MISSING_WORDS or "=WORD" in word for word in words):
        return
    audit, refusal = None, ""
    try:
        audit = audit_command_line(
            ["audit", *words, "--no-intervals", "--quiet"], argparse.Namespace()
        )
    except ParivoxError as error:
        refusal = str(error)
    if audit is None:
        assert refusal in problems
        return
    used = [file for file in inspection.files if file.name in words]
    assert not [text for text in problems if text.startswith(tuple(file.name for file in used))]
    if problems:
        return
    counts = {row["item"]: row["count"] for row in audit.data.subset(source="scores").rows()}
    (scores,) = (file for file in used if file.kind == "scores")
    assert scores.rows == counts["rows"]
    told = {warning.what: warning.count for warning in scores.warnings}
    for item in COUNTED:
        assert told.get(item, 0) == counts.get(item, 0), item
    if scores.labels is not None and counts["trials"] == counts["rows"]:
        labels = counts["target_trials"], counts["nontarget_trials"]
        assert (scores.labels.target, scores.labels.nontarget) == labels
    files = {file.name: file for file in used}
    for record in audit.provenance:
        roles = roles_read(record)
        if any(word.startswith("failed=") for word in words):
            roles.pop("status", "")  # which a word for failures adds
        assert roles == files[record["name"]].roles


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, N_CASES, CASES_PER_TEST))
def test_inspect_says_of_random_files_what_the_audit_does(start, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for seed in range(start, start + CASES_PER_TEST):
        texts = random_files(seed)
        for name, text in texts.items():
            (tmp_path / name).write_text(text)
        inspection = pv.inspect(*texts)
        try:
            compare_kinds(inspection)
            compare_named_kinds(inspection)
            compare_audit(inspection)
        except AssertionError as error:
            error.add_note(f"case {seed}: {inspection.next}")
            raise
