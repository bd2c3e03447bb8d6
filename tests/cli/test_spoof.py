"""Lists with spoof trials on the command line: an audit, its report, and what refuses them."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

N_SPEAKERS = 16


@pytest.fixture(scope="module")
def spoofed(tmp_path_factory):
    """Scores as SASV writes them, their protocol with attacks, and tables."""
    home, draw = tmp_path_factory.mktemp("spoofed"), np.random.default_rng(3)
    scores, protocol, utterances = [], [], ["utterance,speaker"]
    for i in range(N_SPEAKERS):
        speaker = f"S{i:02}"
        trials = [("target", speaker, 2.0)] * 12
        trials += [("nontarget", f"S{(i + 1 + k) % N_SPEAKERS:02}", -1.0) for k in range(8)]
        trials += [("spoof", speaker, 1.5 if i % 2 else -0.5)] * 24
        for k, (label, caller, mean) in enumerate(trials):
            test = f"u{i:02}-{k:02}"
            attack = f"A0{k % 3}" if label == "spoof" else "bonafide"
            scores.append(f"{speaker} {test} {draw.normal(mean):.3f} {label}")
            protocol.append(f"{speaker} {test} {attack} {label}")
            utterances.append(f"{test},{caller}")
    people = ["speaker,gender", *(f"S{i:02},{'fm'[i % 2]}" for i in range(N_SPEAKERS))]
    for name, lines in {
        "scores.txt": scores,
        "protocol.txt": protocol,
        "utterances.csv": utterances,
        "speakers.csv": people,
    }.items():
        (home / name).write_text("\n".join(lines) + "\n")
    return home


FILES = ("scores.txt", "--utterances", "utterances.csv", "--speakers", "speakers.csv")


@pytest.mark.slow
def test_an_audit_has_a_third_error_type(parivox, spoofed):
    words = ("audit", *FILES, "--trials", "protocol.txt", "--by", "gender")
    limit = ("--limit", "sfar=10%", "--fail-on", "not-met", "--report", "page.html")
    points = ("--operating-point", "threshold=0.5", "--operating-point", "min-adcf")
    done = parivox(*words, *points, *limit, "--cost", "adcf1", cwd=spoofed, process=True)
    assert done.returncode == 1, done.stderr  # as a limit is not met
    words = " ".join(done.stdout.split())
    assert "704 trials (192 target, 128 nontarget, 384 spoof by 3 attacks), 16 speakers" in words
    assert "Limit of 10 % on SFAR" in done.stdout
    found = re.search(
        r"For these 3 attacks, spoof accepts are more frequent among (\w+) than among (\w+)", words
    )
    assert found is not None
    assert found.groups() == ("m", "f")
    assert "Spoof accepts (SFAR)" in done.stdout
    assert "spoof accepts hold for the attacks of this list only" in words
    page = (spoofed / "page.html").read_text(encoding="utf-8")
    assert "Spoof accepts (SFAR): spoofed recordings accepted" in page
    assert "These measures do not include spoof accepts." in page
    assert "all three error types" in page
    assert "both error types, and not equivalent" not in page
    assert "<strong>spoof accepts</strong> (SFAR: spoof trials accepted). Each error type" in page
    assert "false accept rate (FPR) or spoof accept rate (SFAR), its confidence interval" in page
    assert "It does not show spoof accepts, which another threshold also changes." in page


@pytest.mark.slow
def test_all_tables_have_the_third_error_type(parivox, spoofed):
    words = ("audit", *FILES, "--by", "gender", "--operating-point", "sfar=0.25")
    done = parivox(*words, "-v", cwd=spoofed)
    assert done.returncode == 0, done.stderr
    assert "SFAR (spoof accepts): % of spoof trials accepted" in done.stdout
    assert "25 % of spoof trials are accepted" in done.stdout


@pytest.mark.parametrize(
    "words",
    [
        ("count", *FILES, "--by", "gender", "--out", "counts"),
        ("thresholds", *FILES, "--by", "gender"),
        ("calibrate", *FILES, "--by", "gender"),
        ("trials", "check", *FILES, "--by", "gender"),
        ("trials", "convert", "protocol.txt", "--to", "csv", "--out", "list.csv"),
    ],
)
def test_other_commands_refuse_spoof_trials_by_name(parivox, spoofed, words):
    done = parivox(*words, cwd=spoofed)
    assert done.returncode == 2
    assert "remove the spoof trials, or audit them with parivox audit" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--by", "attack"), "--by attack: only spoof trials have an attack; leave out attack"),
        (("--within", "attack"), "--within attack: only spoof trials have an attack"),
        (("--limit", "sfar:A01=1.5x"), "'A01' is an attack; give the largest SFAR of this attack"),
        (("--limit", "fnr:A01=5%"), "'A01' is an attack; give the largest SFAR of this attack"),
        (("--limit", "sfar:A9=5%"), "'A9' is neither a group nor an attack"),
        (("--limit", "sfar:=5%"), "'sfar:=5%' names no group"),
    ],
)
def test_attacks_are_no_groups(parivox, spoofed, words, message):
    by = () if "--by" in words else ("--by", "gender")
    done = parivox("audit", *FILES, "--trials", "protocol.txt", *by, *words, cwd=spoofed)
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_labels_of_espnet_are_those_of_its_recipe_with_spoof_trials(parivox, spoofed):
    codes = {"target": "0", "nontarget": "1", "spoof": "2"}
    rows = [line.split() for line in (spoofed / "scores.txt").read_text().splitlines()]
    lines = [f"{enrol}*{test} {score} {codes[label]}" for enrol, test, score, label in rows]
    (spoofed / "espnet.txt").write_text("\n".join(lines) + "\n")
    words = ("audit", "espnet.txt", *FILES[1:], "--by", "gender", "--report", "espnet.html")
    point = ("--operating-point", "fpr=0.05")
    done = parivox(*words, *point, "--scores-format", "espnet", cwd=spoofed)
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert "704 trials (192 target, 128 nontarget, 384 spoof" in text
    assert "at which at most 5 % of nontarget trials are accepted" in text
    page = (spoofed / "espnet.html").read_text(encoding="utf-8")
    assert "ASVspoof 5: 0 target, 1 nontarget, 2 spoof" in page


@pytest.mark.slow
def test_compare_pairs_spoof_accepts_of_the_same_trials(parivox, spoofed):
    lines = (spoofed / "scores.txt").read_text().splitlines()
    bona_fide = [line for line in lines if "spoof" not in line]
    (spoofed / "bona.txt").write_text("\n".join(bona_fide) + "\n")
    rows = [line.split() for line in lines]
    changed = [
        f"{enrol} {test} {float(score) + (label == 'spoof'):.4f} {label}"
        for enrol, test, score, label in rows
    ]
    (spoofed / "new.txt").write_text("\n".join(changed) + "\n")
    for scores, out in (("scores.txt", "old"), ("new.txt", "new"), ("bona.txt", "bona")):
        words = (*FILES[1:], "--by", "gender", "--operating-point", "threshold=1", "--out", out)
        done = parivox("audit", scores, *words, cwd=spoofed)
        assert done.returncode == 0, done.stderr
    done = parivox("compare", "old", "new", "--json", cwd=spoofed)
    comparison = json.loads(done.stdout)
    changes = [row for row in comparison["changes"] if row["metric"] == "sfar"]
    assert {row["group"] for row in changes} >= {"f", "m", "all"}
    for row in changes:
        assert (row["pairing"], row["value"] > row["other"]) == ("paired", True)
        assert row["low"] < row["difference"] < row["high"]
    assert {"not_compared", "attacks"}.isdisjoint(comparison)
    done = parivox("compare", "old", "new", cwd=spoofed)
    text = " ".join(done.stdout.split())
    assert "spoof accepts over all trials from " in text
    assert "Holm over groups and all three error types" in text
    done = parivox("compare", "old", "bona", cwd=spoofed)
    text = " ".join(done.stdout.split())
    assert "Spoof accepts (SFAR) are not compared, as only some of the audits have them." in text
    assert "both error types" in text or "Groups that changed" not in text
    done = parivox("compare", "old", "bona", "--json", cwd=spoofed)
    assert json.loads(done.stdout)["not_compared"] == ["sfar"]


POLICY = """\
parivox-policy: 1
conditions:
- name: few spoof accepts
  rate: sfar
  at-most: 10%
- name: few more than before
  rate: sfar
  at-most: 1.25x
  than: baseline
"""


@pytest.fixture(scope="module")
def audited(parivox, spoofed):
    """An audit with spoof trials, and one of the same scores without them."""
    lines = (spoofed / "scores.txt").read_text().splitlines()
    bona_fide = [line for line in lines if "spoof" not in line]
    (spoofed / "bona_fide.txt").write_text("\n".join(bona_fide) + "\n")
    (spoofed / "policy.yaml").write_text(POLICY)
    for scores, out in (("scores.txt", "audited"), ("bona_fide.txt", "without")):
        words = (*FILES[1:], "--by", "gender", "--operating-point", "threshold=0.5", "--out", out)
        done = parivox("audit", scores, *words, cwd=spoofed)
        assert done.returncode == 0, done.stderr
    return spoofed


@pytest.mark.slow
def test_a_gate_holds_spoof_accepts_against_a_limit(parivox, audited):
    gate = ("gate", "audited", "--policy", "policy.yaml", "--baseline")
    done = parivox(*gate, "audited", cwd=audited)
    text = " ".join(done.stdout.split())
    assert done.returncode == 1
    assert (
        "SFAR at threshold=0.5, for the attacks of this list, must be at most 10 %. Not met: m (8"
        in text
    )
    assert "at most 1.25 times" in text
    done = parivox(*gate, "without", cwd=audited)
    assert (done.returncode, "the baseline has no spoof trials" in done.stderr) == (2, True)
    done = parivox(
        "gate", "without", "--policy", "policy.yaml", "--baseline", "audited", cwd=audited
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert (
        "policy.yaml: line 3: bona_fide has no spoof trials; leave the condition out" in done.stderr
    )


@pytest.mark.slow
def test_a_plan_has_numbers_for_spoof_accepts(parivox, audited):
    done = parivox("plan", "--pilot", "audited", "--policy", "policy.yaml", cwd=audited)
    text = " ".join(done.stdout.split())
    assert (done.returncode, "Not planned" in text) == (0, False)
    assert " for SFAR" in text
    assert "Numbers for SFAR are for the attacks of the pilot" in text
    given = ("--rate", "sfar=0.1", "--icc", "sfar=0.1", "--trials-per-speaker", "sfar=60")
    done = parivox("plan", *given, cwd=audited)
    assert done.stdout.startswith("31 speakers needed per group for SFAR\n")


@pytest.mark.slow
def test_lists_without_spoof_trials_have_no_such_cost_or_rate(parivox, spoofed):
    lines = (spoofed / "scores.txt").read_text().splitlines()
    bona_fide = [line for line in lines if "spoof" not in line]
    (spoofed / "bona.txt").write_text("\n".join(bona_fide) + "\n")
    words = ("audit", "bona.txt", *FILES[1:], "--by", "gender")
    done = parivox(*words, "--cost", "adcf1", cwd=spoofed)
    assert (done.returncode, "includes spoof trials" in done.stderr) == (2, True)
    done = parivox(*words, "--operating-point", "sfar=0.1", cwd=spoofed)
    assert "no operating point has a threshold (no spoof trials)" in done.stdout


@pytest.fixture
def calls(tmp_path):
    """A log of calls whose kinds are in a column that no name tells, and its customers."""
    rows = ["call_id,claimed_customer,caller,kind,attack,decision"]
    for i in range(12):
        kinds = [("genuine", f"{i}", "", "accept")] * 3 + [("impostor", "99", "", "reject")]
        kinds += [("spoof", "", "clone" if k else "replay", "accept") for k in range(3)]
        rows += [
            f"c{i}-{k},{i},{caller},{kind},{attack},{decision}"
            for k, (kind, caller, attack, decision) in enumerate(kinds)
        ]
    (tmp_path / "calls.csv").write_text("\n".join(rows) + "\n")
    people = ["customer,age_band", *(f"{i},{'old' if i % 2 else 'young'}" for i in range(12))]
    (tmp_path / "customers.csv").write_text("\n".join([*people, "99,young"]) + "\n")
    return tmp_path


@pytest.mark.slow
def test_inspect_names_the_column_of_spoof_calls_and_its_words(parivox, calls):
    done = parivox("inspect", "calls.csv", "customers.csv", cwd=calls)
    assert done.returncode == 0, done.stderr
    command = "parivox audit calls.csv --speakers customers.csv --by age_band "
    command += "--columns label=kind,target=genuine,nontarget=impostor"
    assert f"next: {command}\n" in done.stdout
    assert "labels: target 36, nontarget 12, spoof 36" in done.stdout
    assert "columns recognised by their content: label = 'kind'" in done.stdout
    assert "2 values: clone, replay; 48 empty" in done.stdout


@pytest.mark.slow
def test_an_audit_recognises_the_column_of_spoof_calls(parivox, calls):
    words = ("audit", "calls.csv", "--speakers", "customers.csv", "--by", "age_band")
    by_itself = parivox(*words, cwd=calls)
    assert by_itself.returncode == 0, by_itself.stderr
    size = "84 trials (36 target, 12 nontarget, 36 spoof by 2 attacks)"
    assert size in " ".join(by_itself.stdout.split())
    assert "2 attacks: too few to generalise to other attacks" in " ".join(by_itself.stdout.split())
    columns = ("--columns", "label=kind,target=genuine,nontarget=impostor")
    named = parivox(*words, *columns, cwd=calls)
    assert size in " ".join(named.stdout.split())


@pytest.mark.slow
def test_systems_that_differ_by_a_trial_have_a_range_of_each_class(parivox, calls):
    lines = (calls / "calls.csv").read_text().splitlines()
    (calls / "other.csv").write_text("\n".join(lines[:-1]) + "\n")  # the last one is a spoof
    words = ("audit", "a=calls.csv", "b=other.csv", "--speakers", "customers.csv")
    done = parivox(*words, "--by", "age_band", cwd=calls)
    assert done.returncode == 0, done.stderr
    size = "83 to 84 trials (36 target, 12 nontarget, 35 to 36 spoof by 2 attacks), 13 speakers"
    assert size in " ".join(done.stdout.split())


@pytest.mark.slow
def test_imitated_customers_contradict_no_label(parivox, calls):
    lines = (calls / "calls.csv").read_text().splitlines()
    named = [line.replace(",,spoof", f",{line.split(',')[1]},spoof") for line in lines]
    (calls / "calls.csv").write_text("\n".join(named) + "\n")
    done = parivox("inspect", "calls.csv", "customers.csv", cwd=calls)
    assert "13 speakers), consistent with the labels" in done.stdout


@pytest.mark.slow
def test_a_column_of_kinds_without_spoof_trials_is_no_label(parivox, calls):
    lines = (calls / "calls.csv").read_text().splitlines()
    (calls / "calls.csv").write_text("\n".join(line for line in lines if "spoof" not in line))
    done = parivox("inspect", "calls.csv", "customers.csv", cwd=calls)
    assert "columns recognised by their content" not in done.stdout


@pytest.fixture(scope="module")
def submission(tmp_path_factory):
    """A submission to ASVspoof 5: scores of three systems, trials, and the recordings."""
    home, draw = tmp_path_factory.mktemp("submission"), np.random.default_rng(7)
    scores, trials, recordings = ["spk\tfilename\tcm-score\tasv-score\tsasv-score"], [], []
    for i in range(N_SPEAKERS):
        gender = "FM"[i % 2]
        claims = [("target", i, 2.0, 2.0)] * 10
        claims += [("nontarget", (i + 2 + 2 * k) % N_SPEAKERS, 2.0, -1.0) for k in range(6)]
        claims += [("spoof", i, -1.0, 1.5)] * 20
        for k, (label, speaker, cm, asv) in enumerate(claims):
            file, is_spoof = f"E_{i:02}{k:04}", label == "spoof"
            cm_score, asv_score = draw.normal(cm), draw.normal(asv)
            attack = f"A{17 + k % 5}" if is_spoof else "bonafide"
            key = "spoof" if is_spoof else "bonafide"
            joint = min(cm_score, asv_score)
            scores.append(f"S{i:02}\t{file}\t{cm_score:.3f}\t{asv_score:.3f}\t{joint:.3f}")
            trials.append(f"S{i:02} {file} {gender} {attack} {label}")
            recordings.append(f"S{speaker:02} {file} {gender} - - - - {attack} {key} -")
    for name, lines in {
        "score.tsv": scores,
        "trial.tsv": trials,
        "track_1.tsv": recordings,
        "nothing.tsv": [scores[0], *(line.rpartition("\t")[0] + "\t-" for line in scores[1:])],
    }.items():
        (home / name).write_text("\n".join(lines) + "\n")
    return home


ASVSPOOF5 = ("--trials", "trial.tsv", "--utterances", "track_1.tsv", "--by", "gender")


@pytest.mark.slow
def test_a_submission_to_asvspoof5_is_audited_without_a_speaker_table(parivox, submission):
    words = ("audit", "score.tsv", *ASVSPOOF5, "--cost", "asvspoof5")
    done = parivox(*words, "--operating-point", "min-adcf", cwd=submission)
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert "576 trials (160 target, 96 nontarget, 320 spoof by 5 attacks), 16 speakers" in text
    assert re.search(
        r"threshold: [\d.-]+, set on the audited trials to minimise a-DCF \(asvspoof5: 0\.\d{4}\)",
        text,
    )
    done = parivox("audit", "nothing.tsv", *ASVSPOOF5, cwd=submission)
    assert done.returncode == 2
    assert (
        "nothing.tsv, column 'sasv-score': contains no scores; name another column with --columns "
        "score=asv-score"
    ) in done.stderr


@pytest.mark.slow
def test_inspect_proposes_the_audit_of_a_submission(parivox, submission):
    done = parivox("inspect", "score.tsv", "trial.tsv", "track_1.tsv", cwd=submission)
    assert done.returncode == 0, done.stderr
    assert f"next: parivox audit score.tsv {' '.join(ASVSPOOF5)}\n" in done.stdout


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_a_cascade_says_its_rule_and_what_each_stage_rejects(parivox, submission):
    cascade = ("--columns", "score=asv-score", "--cm", "score.tsv", "--cm-threshold", "0")
    words = ("audit", "score.tsv", *cascade, *ASVSPOOF5, "--operating-point", "threshold=1")
    done = parivox(*words, "-v", "--report", "cascade.html", cwd=submission)
    assert done.returncode == 0, done.stderr
    rule = "ccepted if the countermeasure score is at least 0 and the ASV score at least 1"
    assert f"A{rule}." in " ".join(done.stdout.split())
    title = "Target trials that each stage rejects at threshold=1, the countermeasure first"
    assert title in done.stdout
    assert "share one score" not in done.stdout
    page = (submission / "cascade.html").read_text(encoding="utf-8")
    assert f"a{rule}" in page
    assert "Target trials that each stage rejects" in page
    for lacking, message in (
        (cascade[2:4], "--cm needs --cm-threshold"),
        (cascade[4:], "--cm-threshold needs the scores of a countermeasure"),
    ):
        done = parivox("audit", "score.tsv", *lacking, *ASVSPOOF5, cwd=submission)
        assert done.returncode == 2
        assert message in done.stderr
