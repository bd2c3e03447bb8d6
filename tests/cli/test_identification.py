"""Searches of identification on the command line: an audit, its page, and what refuses them."""

from __future__ import annotations

import numpy as np
import pytest

import parivox as pv

N_LISTED, N_STRANGERS = 12, 14


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """Candidate lists, the watch list, people, and decisions of a household."""
    home, draw = tmp_path_factory.mktemp("watched"), np.random.default_rng(4)
    names = [f"W{i:02}" for i in range(N_LISTED + N_STRANGERS)]
    lists = ["search,probe_speaker,rank,candidate,score"]
    for i, name in enumerate(name for name in names for _ in range(8)):
        scores = draw.normal(0, 1, N_LISTED)
        if name in names[:N_LISTED]:
            scores[names.index(name)] += 3
        for rank, person in enumerate(np.argsort(-scores)[:4], 1):
            lists.append(f"s{i},{name},{rank},{names[person]},{scores[person]:.4f}")
    decisions = ["file,true_speaker,predicted_speaker"]
    decisions += [f"{i}.wav,{'ab'[i % 2]},{('a', 'b', 'unknown')[i % 3]}" for i in range(30)]
    decisions += [f"g{i}.wav,guest,unknown" for i in range(4)]
    for file, lines in {
        "candidates.csv": lists,
        "watchlist.csv": ["person", *names[:N_LISTED]],
        "people.csv": ["speaker,language", *(f"{n},{('en', 'tr')[int(n[1:]) % 2]}" for n in names)],
        "decisions.csv": decisions,
        "household.csv": ["person,age", "a,adult", "b,child"],
    }.items():
        (home / file).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return home


AUDIT = ("audit", "candidates.csv", "--gallery", "watchlist.csv", "--speakers", "people.csv")


@pytest.mark.slow
def test_inspect_proposes_the_gallery(parivox, watched):
    done = parivox(
        "inspect", "candidates.csv", "watchlist.csv", "people.csv", cwd=watched, process=True
    )
    assert f"next: parivox {' '.join(AUDIT)} --by language" in " ".join(done.stdout.split())
    assert "208 searches (96 mated, 112 non-mated) against 12 persons" in done.stdout
    done = parivox("inspect", "candidates.csv", "people.csv", cwd=watched, process=True)
    assert "PERSONS is a table of the enrolled persons" in done.stdout


@pytest.mark.slow
def test_an_audit_states_its_conditions(parivox, watched):
    points = ("--operating-point", "fpir=0.1", "--rank", "2", "--report", "page.html")
    done = parivox(*AUDIT, "--by", "language", *points, "--quiet", cwd=watched, process=True)
    assert done.returncode == 0, done.stderr
    words = " ".join(done.stdout.split())
    assert "208 searches (96 mated, 112 non-mated) of 26 speakers against 12 persons" in words
    assert "Missed identifications (FNIR), rank 2, against 12 persons" in words
    assert "at most 10 % of non-mated searches return anyone (fpir=0.1: 9.82 %)" in words
    assert "--rank 2" in (watched / "page.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_household_has_rates_only(parivox, watched):
    words = ("--gallery", "household.csv", "--speakers", "household.csv", "--quiet")
    done = parivox("audit", "decisions.csv", *words, cwd=watched, process=True)
    assert done.returncode == 0, done.stderr
    assert "Rates only: each group has 1 speaker" in " ".join(done.stdout.split())
    assert "0/4, all of unknown speakers" in done.stdout


@pytest.mark.slow
def test_one_class_of_searches_has_the_rate_of_that_class(parivox, watched):
    header, *rows = (watched / "decisions.csv").read_text(encoding="utf-8").splitlines()
    guests = [row for row in rows if row.split(",")[1] == "guest"]
    members = [row for row in rows if row not in guests]
    for name, kept_rows in (("guests", guests), ("members", members)):
        (watched / f"{name}.csv").write_text("\n".join([header, *kept_rows]), encoding="utf-8")
    words = ("--gallery", "household.csv", "--speakers", "household.csv", "--quiet")
    done = parivox("audit", "guests.csv", *words, cwd=watched, process=True)
    assert done.returncode == 0, done.stderr
    assert "4 searches (0 mated, 4 non-mated), all of unknown speakers, against 2" in done.stdout
    assert "2 persons\n  no mated searches\n" in done.stdout
    assert "all searches 0 % (0/4, all of unknown" in " ".join(done.stdout.split())
    done = parivox("audit", "members.csv", *words, cwd=watched, process=True)
    assert done.returncode == 0, done.stderr
    assert "2 persons\n  no non-mated searches\n" in done.stdout
    assert done.stdout.count("Missed identifications (FNIR)") == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("audit", "candidates.csv", "--speakers", "people.csv"),
        ("audit", "decisions.csv", "--speakers", "people.csv"),
        ("count", "candidates.csv", "--speakers", "people.csv", "--out", "x.counts"),
        ("metrics", "candidates.csv"),
        ("thresholds", "candidates.csv", "--speakers", "people.csv", "--by", "language"),
    ],
)
def test_searches_need_a_gallery(parivox, watched, words):
    done = parivox(*words, cwd=watched, process=True)
    assert done.returncode == 2
    assert (
        "identification needs the enrolled persons; give the enrolled persons to parivox audit"
        in done.stderr
    )
    assert done.stderr.count("\n") == 1


@pytest.fixture(scope="module")
def saved(watched):
    """The folder of an audit of identification, and a policy on FPIR and one on FPR."""
    sources = {"people": watched / "people.csv", "gallery": str(watched / "watchlist.csv")}
    audit = pv.audit(
        watched / "candidates.csv",
        sources["people"],
        gallery=sources["gallery"],
        by="language",
        operating_points="fpir=0.1",
    )
    audit.save(watched / "saved")
    for rate in ("fpir", "fpr"):
        policy = {"name": "one in ten", "rate": rate, "at-most": "10%"}
        lines = "".join(f"  {key}: {value}\n" for key, value in policy.items())
        (watched / f"{rate}.yaml").write_text(f"parivox-policy: 1\nconditions:\n-\n{lines}")
    return watched


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "problem", "remedy"),
    [
        (("compare", "saved", "saved"), "parivox compare does not take audits of", "parivox show"),
        (("gate", "saved", "--policy", "fpr.yaml"), "parivox gate does not take", "--limit fpir=5"),
        (("gate", "saved", "--policy", "fpir.yaml"), "parivox gate does not take", "--limit fpir"),
        (("plan", "--pilot", "saved"), "parivox plan does not take", "at least 10 enrolled"),
        (
            ("plan", "--pilot", "saved", "--policy", "fpir.yaml"),
            "fpir.yaml: line 5: policies do not cover identification ('fpir')",
            "--limit fpir=5% --fail-on not-met",
        ),
        (("report", "saved", "--figures", "figures"), "--figures does not take", "from the report"),
        (("report", "saved", "--out", "x.tex"), "--format latex does not", "use --format metrics"),
    ],
)
def test_products_of_verification_refuse_searches(parivox, saved, words, problem, remedy):
    done = parivox(*words, cwd=saved, process=True)
    assert done.returncode == 2
    assert problem in done.stderr
    assert remedy in done.stderr
    assert done.stderr.count("\n") == 1
