"""``parivox count``: counts without ids, which ``parivox audit`` adds up."""

import json
import re

import pytest


@pytest.fixture(scope="module")
def days(files, parivox, tmp_path_factory):
    """A folder with two days of trials and their counts."""
    home = tmp_path_factory.mktemp("days")
    head, *rows = (files / "scores.csv").read_text().splitlines()
    for i in range(2):
        (home / f"day{i + 1}.csv").write_text("\n".join([head, *rows[i::2]]) + "\n")
        done = count(parivox, home, f"day{i + 1}.csv", "--out", f"day{i + 1}.counts")
        assert done.returncode == 0, done.stderr
    return home


def count(parivox, home, *words):
    people = ("--speakers", home / "speakers.csv")
    if not people[1].exists():
        rows = [f"s{i},{'fm'[i % 2]},{'ABC'[i % 3]}\n" for i in range(6)]
        people[1].write_text("speaker,gender,nation\n" + "".join(rows))
    return parivox("count", *words, *people, "--by", "gender", "--withhold", "3", cwd=home)


def test_what_was_counted_is_told(days, parivox):
    done = count(parivox, days, "day1.csv", "--out", "again.counts")
    assert done.stdout.splitlines() == [
        "Counts are in again.counts: 218 trials as counts by gender; 217 rows.",
        "The file contains every score unchanged; to count scores in bins, use --step WIDTH.",
        "No group has fewer than 3 speakers, so no group is suppressed.",
    ]
    assert (days / "again.counts").read_bytes() == (days / "day1.counts").read_bytes()


@pytest.mark.slow
def test_days_add_up_to_the_whole(days, files, parivox):
    points = ("--operating-point", "fpr=0.05", "--operating-point", "eer", "--no-intervals")
    whole_audit = parivox(
        "audit", "day=scores.csv", "--speakers", "speakers.csv", "--by", "gender", *points,
        "--json",
    )  # fmt: skip
    added = parivox("audit", "day1.counts", "day2.counts", *points, "--json", cwd=days)
    whole_tables, added_tables = (
        json.loads(done.stdout)["tables"] for done in (whole_audit, added)
    )
    assert set(added_tables["groups"].pop("speakers")) == {None}
    whole_tables["groups"].pop("speakers")
    for name in ("groups", "bias", "meta", "matrix", "operating_points"):
        assert whole_tables[name] == added_tables[name]


@pytest.mark.slow
def test_the_summary_says_what_counts_inconclusive(days, parivox):
    done = parivox("audit", "day1.counts", "day2.counts", "-v", cwd=days)
    assert done.returncode == 0, done.stderr
    output = " ".join(done.stdout.split())
    assert "60 target and 375 nontarget trials." in output
    assert (
        "From 2 files of score counts, which do not contain: results by speaker or recording; "
        "speakers; trials that occur in several files."
    ) in output
    assert "No confidence intervals: score counts do not identify speakers." in output


@pytest.mark.slow
def test_withheld_groups_are_named(days, parivox):
    done = parivox(
        "count", "day1.csv", "--speakers", "speakers.csv", "--by", "gender", "--out", "w.counts",
        cwd=days,
    )  # fmt: skip
    assert done.stdout.splitlines()[-2:] == [
        "Suppressed to protect groups of fewer than 5 speakers: f (gender), m (gender).",
        (
            "Another file that counts the same trials by other groups may reveal these counts by "
            "subtraction."
        ),
    ]
    done = parivox("audit", "w.counts", "-v", cwd=days)
    assert done.returncode == 0, done.stderr
    assert "suppressed: fewer than 5" in " ".join(done.stdout.split())


@pytest.mark.slow
def test_bins_and_thresholds(days, parivox):
    done = count(
        parivox, days, "V2@H=day1.csv", "--out", "b.counts", "--step", "0.1", "--threshold", "0.333"
    )
    bins = "bins of 0.1 with an extra edge at 0.333"
    assert done.stdout.splitlines()[1] == f"Trials are counted in {bins}."
    done = parivox("audit", "b.counts", "-v", "--operating-point", "threshold=0.333", cwd=days)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1] == "V2 on H"
    assert "Scores were counted in bins" in done.stdout
    done = count(parivox, days, "day1.csv", "--out", "t.counts", "--threshold", "0.5")
    done = parivox("audit", "t.counts", "-v", cwd=days)
    assert done.returncode == 0, done.stderr
    words = " ".join(done.stdout.split())
    assert "No EER: trials are counted only at the given thresholds." in words


@pytest.mark.slow
def test_without_a_curve_the_counted_thresholds_are_named(days, parivox):
    count(
        parivox, days, "day1.csv", "--out", "two.counts", "--threshold", "0.5", "--threshold", "1"
    )
    done = parivox("audit", "two.counts", "-v", "--operating-point", "fpr=0.01", cwd=days)
    assert done.returncode == 0, done.stderr
    output = " ".join(done.stdout.split())
    assert "Set a threshold with --operating-point threshold=X, where X is one of 0.5, 1." in output
    assert "or eer" not in output


def test_exact_scores_of_several_groupings_need_bins_or_nothing_withheld(days, parivox):
    several = ("day1.csv", "--out", "s.counts", "--by", "nation")
    done = count(parivox, days, *several)
    assert done.returncode == 2
    assert not (days / "s.counts").exists()
    step = re.search(r"give (--step) (\S+), a few --threshold", done.stderr).groups()
    done = count(parivox, days, *several, *step)
    assert done.stdout.splitlines()[1] == f"Trials are counted in bins of {step[1]}."
    done = parivox(
        "count", *several, "--speakers", "speakers.csv", "--by", "gender", "--withhold", "0",
        cwd=days,
    )  # fmt: skip
    assert done.stdout.splitlines()[2:] == [
        "No group is suppressed, however few speakers it has.",
        "Rows of different groupings can be matched by rare scores.",
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["day1.csv"], "--out"),
        (
            ["day1.csv", "--out", "day2.csv"],
            "--out day2.csv: already exists and does not contain score counts",
        ),
        (["day1.csv", "--out", "no/x.counts"], "cannot be written"),
        (["day1.csv", "--out", "."], "is a folder"),
        (["day1.csv", "--out", "x.counts", "--step", "0"], "--step 0: is not the width of a bin"),
        (["day1.csv", "--out", "x.counts", "--step", "1e-15"], "too small for scores"),
        (["day1.csv", "--out", "x.counts", "--threshold", "inf"], "--threshold inf: is not a"),
        (["day1.csv", "--out", "x.counts", "--withhold", "-1"], "--withhold"),
        (["day1.csv", "--out", "x.counts", "--withhold", "99"], "have 6 speakers"),
        (["day1.csv", "--out", "x.counts", "--distance", "--similarity"], "contradict"),
        (["day1.csv", "--out", "x.counts", "--distance"], "leave out --distance"),
    ],
)
def test_what_cannot_be_counted_is_one_sentence(days, parivox, words, message):
    people = ("--speakers", "speakers.csv", "--by", "gender", "--quiet")
    done = parivox("count", *words, *people, cwd=days)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (days / "x.counts").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["day1.counts", "day1.counts"], "would count twice"),
        (["day1.counts", "day2.csv"], "day1.counts: contains counts, but day2.csv does not"),
        (["day1.counts", "--by", "gender"], "--by: cannot be used with counts"),
        (["day1.counts", "--speakers", "speakers.csv"], "--speakers: cannot be used with counts"),
        (["day1.counts", "--distance"], "--distance: cannot be used with counts"),
        (["day1.counts", "--operating-point", "deployed"], "neither a column 'decision'"),
        (["day1.counts", "--reference", "x"], "available: f, m"),
    ],
)
def test_what_cannot_be_audited_is_one_sentence(days, parivox, words, message):
    done = parivox("audit", *words, "--quiet", cwd=days)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.slow
def test_a_tally_beside_the_counts_says_what_it_reveals(days, parivox):
    (days / "site.key").write_text("a secret that stays at the site")
    shared = ("--step", "0.1", "--key", "site.key", "--out", "site.counts")
    done = count(parivox, days, "day1.csv", *shared, "--blocks", "3")
    assert done.returncode == 0, done.stderr
    f, m = "f (gender)", "m (gender)"
    assert done.stdout.splitlines()[2:] == [
        "No group has fewer than 3 speakers, so no group is suppressed.",
        "The speaker counts are in site.tally.",
        (
            "The file contains the groups of 2 blocks of at least 3 speakers, and the number of "
            "trials of each pair in each bin of scores, but not which speaker of a block a trial "
            "is of. The file adds up with files of other keys, whose speakers count as different "
            "people."
        ),
        (
            f"Few blocks give wide intervals: 1 of {f}, 1 of {m}; a smaller --blocks gives more "
            "blocks."
        ),
    ]
    (days / "site.tally").write_text("a note of the user's own")
    done = count(parivox, days, "day1.csv", *shared, "--blocks", "3")
    assert done.returncode == 2
    assert (
        "--out site.tally: already exists and does not contain speaker counts; name a new file"
        in done.stderr
    )
    assert (days / "site.tally").read_text() == "a note of the user's own"
