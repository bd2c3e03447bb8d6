"""What a person is told of a groups file, of files that are given twice, and of odd values."""

import shlex

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import parivox as pv
from parivox.report.inspection import labelled_lines

SCORES = "enrol,test,score,label\na/1,a/2,0.9,1\na/1,b/1,0.2,0\nb/1,b/2,0.4,1\n"
PEOPLE = "speaker,gender,age\na,f,30\nb,m,41\n"
GROUPS = "by: [gender]\ngroups:\n  gender:\n    women: [f, F]\n    men: [m]\n"


def inspection_text(inspection):
    return "\n".join(f"{label}: {words}" for label, words in labelled_lines(inspection))


@pytest.fixture
def files(write):
    return write("s.csv", SCORES), write("p.csv", PEOPLE)


# ---- groups files


@pytest.mark.slow
@pytest.mark.parametrize("name", ["g.yaml", "g.yml", "groups.txt"])
def test_a_groups_file_is_told_and_goes_into_the_command(files, write, name):
    groups = write(name, "# as in the paper\n\n" + GROUPS)
    inspection = pv.inspect(*files, groups)
    assert (inspection.files[2].kind, inspection.problems, inspection.readable) == (
        "groups",
        (),
        True,
    )
    assert inspection.files[2].groups == {"gender": ("women", "men")}
    assert "groups of: gender (2 groups: women, men)" in inspection_text(inspection)
    assert "groupings: gender" in inspection_text(inspection)
    words = shlex.split(inspection.next)
    assert words[-2:] == ["--groups", str(groups)]
    assert "--by" not in words
    audit = pv.audit(files[0], speakers=files[1], groups=groups)
    rows = audit.groups.subset(grouping="gender").to_dict()
    assert set(rows["group"]) >= {"women", "men"}


@pytest.mark.slow
def test_the_order_of_a_groups_file_does_not_matter(files, write):
    groups = write("g.yaml", GROUPS)
    assert pv.inspect(groups, *files).next == pv.inspect(*files, groups).next


def test_a_group_without_a_value_is_a_problem_in_the_words_of_the_audit(files, write):
    groups = write("g.yaml", GROUPS.replace("[m]", "[man]"))
    with pytest.raises(pv.ConfigError) as refused:
        pv.audit(files[0], speakers=files[1], groups=groups)
    assert pv.inspect(*files, groups).problems == (str(refused.value),)
    assert pv.inspect(files[1], groups).problems == (str(refused.value),)
    assert pv.inspect(groups).problems == ()


def test_an_attribute_that_no_table_has_is_a_problem(files, write):
    groups = write("g.yaml", GROUPS.replace("gender", "sex"))
    with pytest.raises(pv.ConfigError) as refused:
        pv.audit(files[0], speakers=files[1], groups=groups)
    assert pv.inspect(*files, groups).problems == (str(refused.value),)


@pytest.mark.parametrize(
    "text", ["groups:\n  gender\n", "by: gender\ngroup:\n  gender: [f]\n", "groups: [", "a: &b c\n"]
)
def test_a_groups_file_that_is_refused_is_still_known_as_one(files, write, text):
    groups = write("g.yaml", text)
    with pytest.raises(pv.ParivoxError) as refused:
        pv.audit(files[0], speakers=files[1], groups=groups)
    inspection = pv.inspect(*files, groups)
    assert (inspection.files[2].kind, inspection.files[2].problems) == (
        "groups",
        (str(refused.value),),
    )
    assert f"once fixed: parivox audit {files[0]}" in inspection_text(inspection)


def test_a_table_with_the_words_of_a_groups_file_is_no_groups_file(write):
    (inspection,) = pv.inspect(write("t.csv", "speaker,groups:\na,by: x\nb,groups: y\n")).files
    assert inspection.kind == "speakers"


yaml = st.lists(
    st.sampled_from(
        [
            "by: gender",
            "groups:",
            "  gender: [f, m]",
            "  gender:",
            "    women: [f",
            "others: x",
            "within: [a",
            "# note",
            "---",
            "",
            "by: [",
            "- a",
            "groups: &a *a",
            "\t",
            "x: y",
            "\x00",
        ]
    ),
    max_size=8,
).map("\n".join)


@pytest.mark.slow
@settings(
    deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(text=yaml)
def test_nothing_is_raised_whatever_a_groups_file_says(files, write, text):
    inspection = pv.inspect(*files, write("g.yaml", text))
    assert inspection.files[2].kind in {"groups", "unknown"}
    assert (
        inspection.files[2].problems
        or inspection.files[2].groups
        or inspection.problems
        or inspection.files[2].groupings
    )


# ---- files given twice, and files of one name


@pytest.mark.slow
def test_a_file_that_is_given_twice_is_told_once(files):
    inspection = pv.inspect(files[0], *files)
    assert [file.kind for file in inspection.files] == ["scores", "speakers"]
    assert inspection.problems == (f"{files[0]}: is given more than once; name it once",)
    assert inspection.next == pv.inspect(*files).next


@pytest.mark.slow
def test_scores_whose_files_have_one_name_are_named_in_the_command(files, tmp_path):
    paths = []
    for folder in ("easy", "hard"):
        (tmp_path / folder).mkdir()
        paths.append(tmp_path / folder / "scores.csv")
        paths[-1].write_text(SCORES)
    words = shlex.split(pv.inspect(*paths, files[1]).next)
    assert words[2:4] == [f"easy={paths[0]}", f"hard={paths[1]}"]
    beside = tmp_path / "easy" / "scores.txt"
    beside.write_text(SCORES)
    words = shlex.split(pv.inspect(paths[0], beside, files[1]).next)
    assert words[2:4] == [f"scores1={paths[0]}", f"scores2={beside}"]


# ---- rows without a header


@pytest.mark.parametrize("separator", [" ", ",", "\t"])
def test_decisions_without_a_header_are_told_to_need_one(write, separator):
    rows = "a/1 a/2 accept\na/1 b/1 reject\nb/1 b/2 Accepted\n".replace(" ", separator)
    path = write("d.txt", rows)
    (inspection,) = pv.inspect(path).files
    assert inspection.kind == "trials"
    with pytest.raises(pv.DataError, match="add a header: enrol, test, decision") as refused:
        pv.audit(path)
    assert inspection.problems == (str(refused.value),)
    header = separator.join(("enrol", "test", "decision"))
    assert pv.inspect(write("e.txt", f"{header}\n{rows}")).files[0].problems == ()


def test_a_fourth_column_of_words_is_told_to_be_left(write):
    path = write("l.txt", "a/1 a/2 target phone\na/1 b/1 nontarget lab\n")
    inspection = pv.inspect(path)
    assert (inspection.files[0].kind, inspection.files[0].ignored) == ("trials", ("4",))
    assert "columns: 4 (not read)" in inspection_text(inspection)
    with pytest.raises(pv.DataError, match=r"no score column \(found: .*, 4\)"):
        pv.audit(path)


def test_columns_with_a_header_are_none_that_are_not_read(files):
    assert [file.ignored for file in pv.inspect(*files).files] == [(), ()]


# ---- values that a spreadsheet changed


@pytest.mark.parametrize(
    ("column", "values", "shown"),
    [
        ("Age group", ["2024-10-18", "19-30", "19-30"], ["2024-10-18"]),
        ("Age group", ["18-Oct", "19-30", "19-30"], ["18-Oct"]),
        ("Age group", ["2024-01-05", "2024-06-10", "2024-06-10"], ["2024-01-05", "2024-06-10"]),
        ("years", ["Oct-18", "19-30", "19-30"], ["Oct-18"]),
        ("visit", ["2024-01-05", "2024-06-10", "2024-06-10"], []),
        ("Age group", ["10-18", "19-30", "19-30"], []),
        ("village", ["May", "March-le-Grand", "May"], []),
    ],
)
def test_values_that_look_like_dates_are_told(write, column, values, shown):
    rows = "".join(f"s{n},{value}\n" for n, value in enumerate(values))
    inspection = pv.inspect(write("p.csv", f"speaker,{column}\n{rows}"))
    says = f"values of {column!r} that look like dates: {len(shown)} ("
    assert (says in inspection_text(inspection)) == bool(shown)
    assert all(date in inspection_text(inspection).partition(says)[2] for date in shown)


def test_one_of_a_kind_is_told_as_one(write):
    words = inspection_text(pv.inspect(write("p.csv", "speaker,gender\na,f\n")))
    assert "; 1 row\n" in words
    assert "1 speaker in column 'speaker'" in words
    named = "enrol,test,score,enrol_speaker,test_speaker\nu1,u2,1,a,a\n"
    assert "speakers: columns of the file (1 speaker)" in inspection_text(
        pv.inspect(write("s.csv", named))
    )


def test_models_without_a_speaker_are_those_of_their_recordings(write):
    scores = write("s.csv", "enrol,test,score\nm1,c4,0.9\nm2,c4,0.1\nm2,c5,0.8\n")
    models = write("m.csv", "model,recording\nm1,c1\nm1,c2\nm2,c3\n")
    calls = "call,speaker,room\nc1,a,x\nc2,a,y\nc3,b,x\nc4,a,y\nc5,b,x\n"
    inspection = pv.inspect(scores, models, write("c.csv", calls))
    assert [file.kind for file in inspection.files] == ["scores", "models", "utterances"]
    assert [(join.kind, join.matched, join.count) for join in inspection.joins[:2]] == [
        ("enrolments", 2, 2),
        ("utterances", 2, 2),
    ]
    assert (inspection.files[0].labels.target, inspection.files[0].labels.nontarget) == (2, 1)
    assert inspection.problems == ()
    assert f"--models {models}" in inspection.next
