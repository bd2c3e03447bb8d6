"""``parivox show``: what an audit found, read again without auditing again."""

import pytest

pytestmark = pytest.mark.minimal


@pytest.fixture(scope="module")
def audited(parivox, tmp_path_factory):
    """What was printed when the audit was made, and the folder that it is in."""
    folder = tmp_path_factory.mktemp("show") / "my audit"
    done = parivox("audit", "A=scores.csv", "B=other.csv", "--speakers", "speakers.csv",
                   "--by", "gender", "--by", "nation", "--operating-point", "fpr=0.2",
                   "--operating-point", "eer", "--out", folder, "--quiet")  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout, folder


@pytest.fixture
def show(parivox, audited):
    def run(*words):
        done = parivox("show", audited[1], *words)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    return run


@pytest.mark.slow
def test_the_summary_is_that_of_the_audit_and_names_the_command(audited, show):
    summary, folder = audited
    assert show() == summary
    assert " ".join(summary.split()).endswith(f"parivox show '{folder}' GROUP)")
    assert show("-v").endswith(summary)


def test_a_group_is_told_at_every_point_in_every_system_with_why(show):
    output = show("f", "C")
    assert "f, of gender" in output
    assert "C, of nation" in output
    for words in ("A, fpr=0.2", "B, fpr=0.2", "A, eer", "B, eer"):
        assert len([line for line in output.splitlines() if line.startswith(f"  {words} ")]) == 4
    assert "Fewer than 5 speakers: A, fpr=0.2; A, eer; B, fpr=0.2; B, eer" in output
    assert "m, of gender" not in output


@pytest.mark.slow
def test_one_system_grouping_and_point_can_be_chosen(show):
    output = show("--system", "B", "--by", "nation", "--operating-point", "eer").split(
        "Confidence:"
    )[0]
    assert "both error types are equally frequent (eer)" in " ".join(output.split())
    assert "fpr=0.2" not in output
    assert "by gender" not in output
    tables = show("--system", "B", "--by", "nation", "-v")
    assert "nation: 3 groups" in tables
    assert "gender: 2 groups" not in tables
    group = show("f", "--operating-point", "eer")
    assert "A, eer" in group
    assert "A, fpr=0.2" not in group


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("F",), "no group 'F' in this audit; did you mean 'f'? available: f, m, A, B, C"),
        (("--by", "sex"), "no grouping 'sex' in this audit; available: gender, nation"),
        (("--system", "V2"), "no system 'V2' in this audit; available: A, B"),
        (
            ("f", "-v"),
            "-v applies only to the summary: a group is always shown in full; leave out -v",
        ),
    ],
)
def test_what_the_audit_has_not_is_told_with_what_it_has(parivox, audited, words, message):
    done = parivox("show", audited[1], *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_point_that_is_not_there(parivox, audited):
    done = parivox("show", audited[1], "--operating-point", "fpr=0.02")
    assert done.returncode == 2
    assert "did you mean 'fpr=0.2'? available: fpr=0.2, eer" in done.stderr


def test_a_folder_that_holds_no_audit(parivox, tmp_path):
    done = parivox("show", tmp_path)
    assert done.returncode == 2
    assert "does not contain an audit" in done.stderr
