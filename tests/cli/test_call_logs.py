"""A log of calls in one table: what `parivox inspect` proposes runs as it is printed."""

import random
import shlex

import pytest

import parivox as pv

pytestmark = pytest.mark.minimal
PEOPLE = [(n, "fm"[n % 2], 18 + n) for n in range(1, 41)]


def log(head, cells, *, impostors=False):
    """A log of 400 calls, the second customer of each cell being the one who is claimed."""
    draw = random.Random(7)
    rows = []
    for call in range(1, 401):
        speaker = PEOPLE[call % 40]
        claimed = draw.choice(PEOPLE) if impostors and call % 3 == 0 else speaker
        mean = (2 if speaker is claimed else 0) - (0.6 if speaker[1] == "f" else 0)
        score = draw.gauss(mean, 1)
        rows.append(
            cells(call, speaker, claimed, round(score, 3), "accept" if score > 1 else "reject")
        )
    return "\n".join([head, *(",".join(map(str, row)) for row in rows)]) + "\n"


LOGS = {
    "genuine calls": (
        log(
            "call_id,customer,score,decision,gender,age",
            lambda c, w, q, s, d: (c, w[0], s, d, *w[1:]),
        ),
        (400, 0),
    ),
    "claims": (
        log(
            "call_id,customer,claimed_customer,score,decision,gender,age",
            lambda c, w, q, s, d: (c, w[0], q[0], s, d, *w[1:]),
            impostors=True,
        ),
        (269, 131),
    ),
    "decisions only": (
        log(
            "date,call,customer_id,decision,gender",
            lambda c, w, q, s, d: ("Mon", c, f"k{w[0]}", d, w[1]),
        ),
        (400, 0),
    ),
    "columns of other names": (
        log(
            "Anruf,Kunde,behauptet,Entscheidung,Geschlecht",
            lambda c, w, q, s, d: (f"a{c}", w[0], q[0], d, w[1]),
            impostors=True,
        ),
        (269, 131),
    ),
    "a word for failures": (
        log(
            "call_id,customer,claimed_customer,Decision,gender",
            lambda c, w, q, s, d: (c, w[0], q[0], d if c % 23 else "too short", w[1]),
            impostors=True,
        ),
        (257, 126),
    ),
    "decisions by another name": (
        log(
            "call_id,claimed_customer,customer,Result,gender",
            lambda c, w, q, s, d: (c, q[0], w[0], d if c % 23 else "too short", w[1]),
            impostors=True,
        ),
        (257, 126),
    ),
    "times for ids": (
        log(
            "time,customer,score,gender",
            lambda c, w, q, s, d: (f"10:{c // 60}:{c % 60}", w[0], s, w[1]),
        ),
        (400, 0),
    ),
    "impostors without names, decisions only": (
        log(
            "attempt,customer,genuine,decision,gender",
            lambda c, w, q, s, d: (c, q[0], "yes" if w is q else "no", d, w[1]),
            impostors=True,
        ),
        (269, 131),
    ),
    "claims without callers": (
        log(
            "call_id,claimed_customer,genuine,score,gender",
            lambda c, w, q, s, d: (c, q[0], int(w is q), s, w[1]),
            impostors=True,
        ),
        (269, 131),
    ),
    "callers of genuine calls alone": (
        log(
            "call_id,claimed_customer,caller,genuine,decision,gender",
            lambda c, w, q, s, d: (c, q[0], w[0] if w is q else "", int(w is q), d, w[1]),
            impostors=True,
        ),
        (269, 131),
    ),
    "impostors without names": (
        log(
            "call_id,customer,genuine,score,gender",
            lambda c, w, q, s, d: (c, q[0], int(w is q), s, w[1]),
            impostors=True,
        ),
        (269, 131),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LOGS)
def test_the_command_that_inspect_prints_runs(parivox, tmp_path, name):
    text, trials = LOGS[name]
    (tmp_path / "calls.csv").write_text(text)
    inspection = parivox("inspect", "calls.csv", cwd=tmp_path)
    assert (inspection.returncode, inspection.stderr) == (0, "")
    proposed = inspection.stdout.splitlines()[1].partition(": ")[2]
    command, *words = shlex.split(proposed)
    assert command == "parivox"
    completed = parivox(*words, "--out", "audit", "--quiet", cwd=tmp_path)
    assert (completed.returncode, completed.stderr) == (0, "")
    counts = {row["item"]: row["count"] for row in pv.load(tmp_path / "audit").data.rows()}
    assert (counts["target_trials"], counts["nontarget_trials"]) == trials
    unknown = counts.get("nontarget_trials_without_test_speaker", 0)
    assert (f"nontarget trials without a test speaker: {unknown}" in inspection.stdout) == (
        unknown > 0
    )
    assert "--conflicts" not in inspection.stdout
    assert "ids_alike_but_for_case" not in counts  # a call and a customer may both be 7


@pytest.mark.slow
def test_a_log_in_words_of_its_own_is_known_by_its_shape(parivox, tmp_path):
    """By two columns of people, and one of few words that goes with whether they agree."""
    words = {"accept": "angenommen", "reject": "abgelehnt"}
    text = log(
        "Anruf,Kunde,behaupteter Kunde,Ergebnis,Kanal,Geschlecht",
        lambda c, w, q, s, d: (
            f"a{c}", w[0], q[0], words[d] if c % 23 else "zu kurz",
            "Telefon" if c % 3 > 1 else "App", w[1],
        ),
        impostors=True,
    )  # fmt: skip
    (tmp_path / "log.csv").write_text(text)
    output = parivox("inspect", "log.csv", cwd=tmp_path).stdout
    assert (
        "column 'Ergebnis': which of 'abgelehnt', 'angenommen', 'zu kurz' means accept, reject, "
        "failed is not known; say it with --columns accept=WORD,reject=WORD,failed=WORD\n"
    ) in output
    proposed = output.splitlines()[1].partition("once fixed: parivox ")[2]
    *command, option = shlex.split(proposed)
    for word, meant in {**words, "failed": "zu kurz"}.items():
        option = option.replace(f"{word}=WORD", f"{word}={meant}")
    audited = parivox(*command, option, "--no-intervals", "--quiet", cwd=tmp_path)
    assert audited.stdout.startswith("383 trials, 40 speakers, 1 system (log).")
    assert "Decisions as they were made" in audited.stdout
    assert (
        "Columns recognised by their content: decision = 'Ergebnis', test = 'Anruf', "
        "enrol = 'behaupteter Kunde'"
    ) in " ".join(audited.stdout.split())
    again = parivox("inspect", "log.csv", "--columns", option, cwd=tmp_path).stdout
    assert again.startswith("no problem found")


@pytest.mark.slow
def test_customers_who_alone_are_named_are_told_as_who_calls(parivox, tmp_path):
    (tmp_path / "calls.csv").write_text(LOGS["genuine calls"][0])
    output = parivox("inspect", "calls.csv", cwd=tmp_path).stdout
    words = "column 'customer' names both the caller and the claimed customer"
    assert f"labels: none and no claims, so {words}" in " ".join(output.split())
    audited = parivox("audit", "calls.csv", "--by", "gender", "-v", "--quiet", cwd=tmp_path)
    assert words in " ".join(audited.stdout.split())


@pytest.mark.slow
def test_calls_of_impostors_whom_no_column_names_are_nontarget_trials(parivox, tmp_path):
    (tmp_path / "calls.csv").write_text(LOGS["impostors without names"][0])
    output = parivox("inspect", "calls.csv", cwd=tmp_path).stdout
    assert "--conflicts" not in output
    assert "nontarget trials without a test speaker: 131 (" in output
    audited = parivox("audit", "calls.csv", "--by", "gender", "--quiet", cwd=tmp_path)
    assert (audited.returncode, audited.stderr) == (0, "")
    assert "no impostor trials" not in audited.stdout
    assert "131 of 131 nontarget trials have no test speaker" in " ".join(audited.stdout.split())


def test_a_column_is_not_both_sides_of_a_trial(parivox, tmp_path):
    (tmp_path / "calls.csv").write_text(LOGS["genuine calls"][0])
    roles = "enrol=customer,test=customer"
    completed = parivox("audit", "calls.csv", "--columns", roles, cwd=tmp_path)
    assert completed.returncode == 2
    assert "column 'customer' is given for enrol and test" in completed.stderr
