"""What is seen first of an audit: the finding, what it is of, what weakens it."""

import io
import re

import pytest
from rich.console import Console

import parivox as pv
from parivox.auditing import failing_findings
from parivox.report.audit_queries import BONA_FIDE_ERRORS
from parivox.report.catalogue import fact_text
from parivox.report.html import html_report
from parivox.report.overview import overview, plain_text
from parivox.report.terminal import summary
from parivox.report.words import interval_text, p_value, short_number


@pytest.fixture(scope="module")
def audit(audited):
    return audited(by=["gender", "gender+nation"], operating_points=["fpr=0.01"])


def drawn(audit, width):
    out = io.StringIO()
    Console(file=out, width=width, highlight=False).print(summary(audit))
    return out.getvalue()


def test_the_headline_names_the_groups_that_are_called_worse_and_no_other(audit):
    audit_overview = overview(audit)
    condition = {"grouping": "gender", "operating_point": "fpr=0.01", "verdict": "worse"}
    worse = {row["group"] for row in audit.verdicts.subset(**condition).rows()}
    named = {segment.text for segment in audit_overview.headline if segment.verdict == "worse"}
    assert worse == named == {"f"}
    (row,) = audit.verdicts.subset(**condition, metric="fnr", group="f").rows()
    times = (
        f"{short_number(row['ratio'])} times as frequent {interval_text(row['low'], row['high'])}"
    )
    assert (
        plain_text(audit_overview.headline)
        == f"False rejects are more frequent among f than among m: {times}"
    )


def test_every_comparison_is_counted_once(audit):
    audit_overview = overview(audit)
    rows = [
        row
        for row in audit.verdicts.subset(operating_point="fpr=0.01").rows()
        if row["group"] and row["metric"] != "fpr+fnr"
    ]
    # f against m is m against f
    codes = [row["verdict"] for row in rows if (row["grouping"], row["group"]) != ("gender", "m")]
    assert audit_overview.verdict_counts == {
        code: codes.count(code) for code in audit_overview.verdict_counts
    }
    assert sum(audit_overview.verdict_counts.values()) == len(codes) == len(rows) - 2 == 14
    assert audit_overview.comparisons_text == (
        "14 comparisons: (6 groups + 1 pair of groups) × 2 error types; each group is compared "
        "with all other groups combined"
    )


@pytest.mark.slow
def test_of_two_groups_it_is_said_once_that_one_is_worse(audit):
    f, m, *other_lines = overview(audit).groups
    assert (f.group, m.group) == ("f", "m")
    for metric in BONA_FIDE_ERRORS:
        for comparison, mirror in zip(f.comparisons[metric], m.comparisons[metric], strict=True):
            assert not comparison.worse_group  # it is f that is worse
            repeats_f = mirror.verdict == "better" and comparison.verdict == "worse"
            assert mirror.worse_group == ("f" if repeats_f else "")
    assert any(comparison.worse_group for comparison in m.all_comparisons())
    assert not any(
        comparison.worse_group for line in other_lines for comparison in line.all_comparisons()
    )


@pytest.mark.slow
def test_one_who_is_better_than_a_named_group_is_no_mirror(audited):
    lines = overview(audited(by="gender", reference="f", operating_points="fpr=0.01")).groups
    assert "better" in {
        comparison.verdict for line in lines for comparison in line.all_comparisons()
    }
    assert not any(
        comparison.worse_group for line in lines for comparison in line.all_comparisons()
    )


def test_what_is_not_known_is_counted_by_its_reasons(audit):
    audit_overview = overview(audit)
    words = audit_overview.notes["Inconclusive"]
    n = audit_overview.verdict_counts["inconclusive"]
    assert words.startswith(
        f"{n} of 14 comparisons. Inconclusive does not mean equivalent. Reasons"
    )
    assert sum(int(count) for count in re.findall(r"\((\d+)\)", words)) == n > 0


@pytest.mark.slow
def test_groups_that_differ_all_at_once_in_many_systems_are_one_sentence(material):
    trials, speakers = material
    names = ["a", "b", "c", "d", "e"]
    options = {"by": "gender+nation", "operating_points": "fpr=0.01", "replicates": 50}
    audit_overview = overview(pv.audit(dict.fromkeys(names, trials), speakers=speakers, **options))
    (words,) = [
        sentence
        for sentence in audit_overview.finding_sentences
        if "test of all groups together" in sentence
    ]
    assert words.startswith(
        "With a, b, c, and 2 more, false reject rates are not equal in all groups"
    )
    assert "(test of all groups together, each adjusted p " in words
    assert words.endswith("but no single group is shown to differ.")


@pytest.mark.usefixtures("undrawn")
def test_a_low_p_stands_beside_what_is_not_shown_among_so_many(audited):
    audit = audited(by="nation", operating_points="fpr=0.02")
    near = [
        comparison
        for line in overview(audit).groups
        for comparison in line.all_comparisons()
        if comparison.fails_only_after_holm
    ]
    for comparison in near:
        assert comparison.verdict == "inconclusive"
        assert comparison.low > 1 or comparison.high < 1
        assert 0.05 <= comparison.p < 0.5
        assert p_value(comparison.p) in html_report(audit)
    assert near


@pytest.mark.slow
def test_comparisons_of_one_of_several_operating_points_are_counted_with_its_name(audited):
    """Verdicts of other points are not among those that are counted."""
    points = ["fpr=0.02", "fpr=0.05"]
    audit_overview = overview(audited(by=["nation"], operating_points=points))
    assert audit_overview.comparisons_text.startswith("6 comparisons at fpr=0.02: 3 groups × 2")
    one_point = overview(audited(by=["nation"], operating_points="fpr=0.02"))
    assert one_point.comparisons_text.startswith("6 comparisons: 3 groups × 2")


@pytest.mark.slow
def test_two_groups_of_whom_one_is_the_reference_are_one_comparison(audited):
    audit_overview = overview(audited(by="gender", reference="m", operating_points="fpr=0.01"))
    assert sum(audit_overview.verdict_counts.values()) == 2
    assert audit_overview.comparisons_text == "2 comparisons: 1 pair of groups × 2 error types"


@pytest.mark.slow
def test_what_allocation_leaves_as_it_is_is_said_once(audited):
    options = {"by": ["gender", "nation"], "operating_points": "fpr=0.01"}
    once = overview(audited(**options))
    twice = overview(audited(**options, allocate=["both", "enrol", "test"]))
    assert [
        comparison
        for comparison in map(plain_text, twice.further_findings)
        if "nontarget trials by" not in comparison
    ] == [plain_text(comparison) for comparison in once.further_findings]
    of_others = [line for line in twice.groups if line.allocation]
    assert len(of_others) == 2 * len(once.groups)
    assert not any(
        comparison.verdict for line in of_others for comparison in line.comparisons["fnr"]
    )
    assert any(comparison.verdict for line in of_others for comparison in line.comparisons["fpr"])
    n_fpr = sum(once.verdict_counts.values()) // 2
    assert sum(twice.verdict_counts.values()) == 2 * n_fpr + 2 * n_fpr


@pytest.mark.slow
def test_an_allocation_that_changes_nothing_is_said_to(material):
    trials, speakers = material
    gender = dict(zip(speakers["id"], speakers["gender"], strict=True))
    within = [
        gender[a[:3]] == gender[b[:3]] for a, b in zip(trials["enrol"], trials["test"], strict=True)
    ]
    target_trials = {
        name: [x for x, is_target in zip(column, within, strict=True) if is_target]
        for name, column in trials.items()
    }
    options = {"by": "gender", "operating_points": "fpr=0.01", "replicates": 50}
    once = overview(pv.audit(target_trials, speakers=speakers, **options))
    twice = overview(
        pv.audit(target_trials, speakers=speakers, allocate=["both", "enrol"], **options)
    )
    assert twice.verdict_counts == once.verdict_counts
    assert twice.comparisons_text == once.comparisons_text
    assert plain_text(twice.further_findings[-1]).endswith(
        "by gender, nontarget trials by enrol: the same"
    )
    assert [line.name for line in twice.differing_groups] == [
        line.name for line in once.differing_groups
    ]


@pytest.mark.slow
def test_fair_systems_have_no_group_in_their_headline(material):
    trials, speakers = material
    fair = {**speakers, "gender": ["fm"[i // 12] for i in range(24)]}
    audit_overview = overview(pv.audit(trials, speakers=fair, by="gender", replicates=50))
    assert not any(segment.verdict for segment in audit_overview.headline)
    assert "No group is shown to be worse or better" in plain_text(audit_overview.headline)


def test_without_intervals_nothing_is_said_of_chance(audited):
    audit_overview = overview(audited(by="gender", intervals=False))
    assert audit_overview.verdict_counts == {}
    assert "does not show whether groups differ beyond chance" in plain_text(
        audit_overview.headline
    )
    assert not audit_overview.differing_groups


@pytest.mark.slow
def test_decisions_are_not_told_as_of_one_threshold(material):
    trials, speakers = material
    levels = [0.4 if i % 2 else 0.5 for i in range(len(trials["score"]))]
    decisions = [score >= level for score, level in zip(trials["score"], levels, strict=True)]
    decided = pv.audit({**trials, "decision": decisions, "threshold": levels}, speakers=speakers)
    assert overview(decided).threshold == "decisions as they were made (deployed)"
    fixed = pv.audit(trials, speakers=speakers, operating_points="threshold=0.4")
    assert overview(fixed).threshold.startswith("one common threshold: a score of 0.4")


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_names_are_whole_at_any_width(audit, width):
    text = drawn(audit, width)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    assert "False rejects are more frequent among f than among m" in " ".join(text.split())
    assert len(text.splitlines()) <= 52


@pytest.mark.slow
def test_a_point_that_is_missed_is_told_by_what_it_comes_to(material):
    trials, speakers = material
    far = {**trials, "score": [score - 100 for score in trials["score"]]}
    audit_overview = overview(
        pv.audit(
            trials,
            speakers=speakers,
            by="gender",
            operating_points="fpr=0.01",
            threshold_from=far,
            replicates=50,
        )
    )
    assert (
        "one common threshold, set on development trials for FPR of 1 % (fpr=0.01); here 100 %"
        in audit_overview.threshold
    )


@pytest.mark.slow
def test_systems_with_other_trials_are_compared_on_those_in_common(material):
    trials, speakers = material
    n = len(trials["score"])
    fewer = {name: cells[: n - 40] for name, cells in trials.items()}
    audit = pv.audit(
        {"A": trials, "B": fewer}, speakers=speakers, by="gender", compare=True, replicates=50
    )
    audit_overview = overview(audit)
    words, fairer = (
        statement
        for statement in audit_overview.finding_sentences
        if "trials in common" in statement
    )
    assert fairer.startswith("The data do not show whether A or B is fairer")
    assert words.startswith(
        "The data do not show whether A or B falsely rejects fewer target trials: "
    )
    assert any(
        "only the common trials are compared" in statement.short
        for statement in audit_overview.caveats
    )


@pytest.mark.slow
def test_of_several_systems_one_sentence_tells_which_is_better(material):
    trials, speakers = material
    pairs = list(zip(trials["enrol"], trials["test"], strict=True))
    lower = [
        score - 1.2 * (sentence[:3] == test_id[:3])
        for score, (sentence, test_id) in zip(trials["score"], pairs, strict=True)
    ]
    systems = {"A": trials, "B": trials, "C": {**trials, "score": lower}}
    options = {"by": "gender", "compare": True, "replicates": 50}
    audit_overview = overview(pv.audit(systems, speakers=speakers, **options))
    (words,) = [
        sentence
        for sentence in audit_overview.finding_sentences
        if "lowest observed rate" in sentence
    ]
    assert words.startswith(
        "A has the lowest observed rate, 22.2 %: A falsely rejects fewer target trials than 1 of "
    )
    assert words.endswith("inconclusive against B.")
    two = {name: systems[name] for name in ("C", "A")}
    audit_overview = overview(pv.audit(two, speakers=speakers, **options))
    (words,) = [
        sentence
        for sentence in audit_overview.finding_sentences
        if "fewer target trials" in sentence
    ]
    assert words.startswith("A falsely rejects fewer target trials than C: 22.2 % against ")
    assert not any(
        "impostors" in sentence
        for sentence in audit_overview.finding_sentences
        if "fewer" in sentence
    )  # as set


@pytest.mark.slow
@pytest.mark.parametrize("verdict", ["not_met", "inconclusive"])
def test_every_group_of_a_limit_is_named(audited, verdict):
    # no group has as many speakers as the second audit asks for
    minimums = {"not_met": {}, "inconclusive": {"gates": ["inference=50"]}}[verdict]
    audit = audited(by="nation", operating_points=["fpr=0.01"], limits=["fnr=0.001"], **minimums)
    rows = audit.limits.subset(verdict=verdict, within="").rows()
    groups = {row["group"] for row in rows}
    assert len(groups) > 1
    named = {"all groups pooled" if group == "pooled" else group for group in groups}
    ends = {"not_met": "not met by ", "inconclusive": "inconclusive for "}
    headline = plain_text(overview(audit).headline)
    in_summary = headline.partition(ends[verdict])[2].partition(";")[0]
    assert {*in_summary.split(", ")} == named
    (failing,) = failing_findings(audit, [verdict.replace("_", "-")])
    in_exit = fact_text(failing).partition("(")[2].removesuffix(")")
    assert {*in_exit.split(", ")} == named


@pytest.mark.slow
def test_a_limit_that_is_missed_is_told_with_whom_it_is_missed_by(audited):
    limits = ["fnr=0.05", "fpr=0.9"]
    audit = audited(by="gender", operating_points=["fpr=0.01"], limits=limits)
    audit_overview = overview(audit)
    missed = (
        "Limit of 5 % on FNR at fpr=0.01 (each group judged separately): "
        "not met by f, all groups pooled, m"
    )
    assert plain_text(audit_overview.headline) == missed  # what was asked stands first
    assert (
        plain_text(audit_overview.further_findings[0])
        == "Limit of 90 % on FPR at fpr=0.01 (each group judged separately): met by all"
    )


@pytest.mark.slow
def test_one_group_alone_is_compared_with_none(material):
    trials, speakers = material
    women = {**speakers, "gender": ["f"] * len(speakers["id"])}
    audit_overview = overview(pv.audit(trials, speakers=women, by="gender", replicates=50))
    assert (
        plain_text(audit_overview.headline)
        == "There is one group, f, and no other to compare it with"
    )
    assert not audit_overview.verdict_counts
    assert not audit_overview.inconclusive_note


@pytest.mark.slow
@pytest.mark.parametrize(
    ("is_target", "words"),
    [
        (True, "The audit says nothing about false accepts: no nontarget trials"),
        (False, "The audit says nothing about false rejects: no target trials"),
    ],
)
def test_an_error_that_was_never_tried_is_told(material, is_target, words):
    trials, speakers = material
    indices = [
        i
        for i, (enrol_id, test_id) in enumerate(zip(trials["enrol"], trials["test"], strict=True))
        if (enrol_id[:3] == test_id[:3]) == is_target
    ]
    trials_of_class = {name: [column[i] for i in indices] for name, column in trials.items()}
    point = "fnr=0.05" if is_target else "fpr=0.05"
    audit = pv.audit(
        trials_of_class, speakers=speakers, by="gender", operating_points=point, replicates=50
    )
    assert words in [plain_text(enrol_id) for enrol_id in overview(audit).further_findings]


@pytest.mark.slow
def test_long_names_of_systems_stand_on_lines_of_their_own(material):
    trials, speakers = material
    names = ("a" * 90, "b" * 90)
    audit = pv.audit(
        dict.fromkeys(names, trials), speakers=speakers, by="gender", compare=True, replicates=50
    )
    text = drawn(audit, 80)
    assert max(map(len, text.splitlines())) <= 80
    assert "False rejects" in text
    for name in names:
        assert text.count(name[0] * 30) >= 2
