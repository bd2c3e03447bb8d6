"""What is seen first of an audit: the finding, what it is of, what weakens it."""

import io
import re

import pytest
from rich.console import Console

import parivox as pv
from parivox.report.audit_queries import ERROR_TYPES
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
    found = overview(audit)
    where = {"grouping": "gender", "operating_point": "fpr=0.01", "verdict": "worse"}
    worse = {row["group"] for row in audit.verdicts.where(**where).rows()}
    named = {part.text for part in found.headline if part.verdict == "worse"}
    assert worse == named == {"f"}
    (row,) = audit.verdicts.where(**where, metric="fnr", group="f").rows()
    times = (
        f"{short_number(row['ratio'])} times as frequent {interval_text(row['low'], row['high'])}"
    )
    assert (
        plain_text(found.headline)
        == f"False rejects are more frequent among f than among m: {times}"
    )


def test_every_comparison_is_counted_once(audit):
    found = overview(audit)
    rows = [
        row
        for row in audit.verdicts.where(operating_point="fpr=0.01").rows()
        if row["group"] and row["metric"] != "fpr+fnr"
    ]
    # f against m is m against f
    codes = [row["verdict"] for row in rows if (row["grouping"], row["group"]) != ("gender", "m")]
    assert found.verdict_counts == {code: codes.count(code) for code in found.verdict_counts}
    assert sum(found.verdict_counts.values()) == len(codes) == len(rows) - 2 == 14
    assert found.comparisons_text == (
        "14 comparisons, each of a group with all other groups combined; "
        "two groups compared with each other count once"
    )


@pytest.mark.slow
def test_of_two_groups_it_is_said_once_that_one_is_worse(audit):
    f, m, *others = overview(audit).groups
    assert (f.group, m.group) == ("f", "m")
    for metric in ERROR_TYPES:
        for one, other in zip(f.comparisons[metric], m.comparisons[metric], strict=True):
            assert not one.repeats_other_group  # it is f that is worse
            assert other.repeats_other_group == (
                other.verdict == "better" and one.verdict == "worse"
            )
    assert any(one.repeats_other_group for one in m.all_comparisons())
    assert not any(one.repeats_other_group for line in others for one in line.all_comparisons())


def test_one_who_is_better_than_a_named_group_is_no_mirror(audited):
    lines = overview(audited(by="gender", reference="f", operating_points="fpr=0.01")).groups
    assert "better" in {one.verdict for line in lines for one in line.all_comparisons()}
    assert not any(one.repeats_other_group for line in lines for one in line.all_comparisons())


def test_what_is_not_known_is_counted_by_its_reasons(audit):
    found = overview(audit)
    words = found.notes["Inconclusive"]
    n = found.verdict_counts["cannot_tell"]
    assert words.startswith(f"{n} of 14 comparisons (not the same as equivalent). Reasons: ")
    assert sum(int(one) for one in re.findall(r"\((\d+)\)", words)) == n > 0


@pytest.mark.slow
def test_groups_that_differ_all_at_once_in_many_systems_are_one_sentence(material):
    trials, speakers = material
    names = ["a", "b", "c", "d", "e"]
    asked = {"by": "gender+nation", "operating_points": "fpr=0.01", "replicates": 50}
    found = overview(pv.audit(dict.fromkeys(names, trials), speakers=speakers, **asked))
    (words,) = [one for one in found.finding_sentences if "test of all groups together" in one]
    assert words.startswith("With a, b, c, and 2 more, false reject rates differ")
    assert "(test of all groups together, each adjusted p " in words
    assert words.endswith("but the data do not show which groups differ.")


def test_a_low_p_stands_beside_what_is_not_shown_among_so_many(audited):
    audit = audited(by="nation", operating_points="fpr=0.02")
    near = [
        one
        for line in overview(audit).groups
        for one in line.all_comparisons()
        if one.fails_only_after_holm
    ]
    for one in near:
        assert one.verdict == "cannot_tell"
        assert one.low > 1 or one.high < 1
        assert 0.05 <= one.p < 0.5
        assert p_value(one.p) in html_report(audit)
    assert near


def test_two_groups_of_whom_one_is_the_reference_are_one_comparison(audited):
    found = overview(audited(by="gender", reference="m", operating_points="fpr=0.01"))
    assert sum(found.verdict_counts.values()) == 2
    assert found.comparisons_text == "2 comparisons: two groups compared with each other count once"


@pytest.mark.slow
def test_what_allocation_leaves_as_it_is_is_said_once(audited):
    asked = {"by": ["gender", "nation"], "operating_points": "fpr=0.01"}
    once = overview(audited(**asked))
    twice = overview(audited(**asked, allocate=["both", "enrol", "test"]))
    assert [
        one for one in map(plain_text, twice.further_findings) if "nontarget trials by" not in one
    ] == [plain_text(one) for one in once.further_findings]
    of_others = [line for line in twice.groups if line.allocation]
    assert len(of_others) == 2 * len(once.groups)
    assert not any(one.verdict for line in of_others for one in line.comparisons["fnr"])
    assert any(one.verdict for line in of_others for one in line.comparisons["fpr"])
    n_fpr = sum(once.verdict_counts.values()) // 2
    assert sum(twice.verdict_counts.values()) == 2 * n_fpr + 2 * n_fpr


@pytest.mark.slow
def test_an_allocation_that_changes_nothing_is_said_to(material):
    trials, speakers = material
    gender = dict(zip(speakers["id"], speakers["gender"], strict=True))
    within = [
        gender[a[:3]] == gender[b[:3]] for a, b in zip(trials["enrol"], trials["test"], strict=True)
    ]
    own = {
        name: [x for x, kept in zip(of, within, strict=True) if kept] for name, of in trials.items()
    }
    asked = {"by": "gender", "operating_points": "fpr=0.01", "replicates": 50}
    once = overview(pv.audit(own, speakers=speakers, **asked))
    twice = overview(pv.audit(own, speakers=speakers, allocate=["both", "enrol"], **asked))
    assert twice.verdict_counts == once.verdict_counts
    assert twice.comparisons_text == once.comparisons_text
    assert plain_text(twice.further_findings[-1]).endswith(
        "by gender, nontarget trials by enrol: the same"
    )
    assert [one.name for one in twice.differing_groups] == [
        one.name for one in once.differing_groups
    ]


def test_fair_systems_have_no_group_in_their_headline(material):
    trials, speakers = material
    fair = {**speakers, "gender": ["fm"[i // 12] for i in range(24)]}
    found = overview(pv.audit(trials, speakers=fair, by="gender", replicates=50))
    assert not any(part.verdict for part in found.headline)
    assert "No group is shown to be worse or better" in plain_text(found.headline)


def test_without_intervals_nothing_is_said_of_chance(audited):
    found = overview(audited(by="gender", intervals=False))
    assert found.verdict_counts == {}
    assert "does not show whether groups differ beyond chance" in plain_text(found.headline)
    assert not found.differing_groups


@pytest.mark.slow
def test_decisions_are_not_told_as_of_one_threshold(material):
    trials, speakers = material
    levels = [0.4 if i % 2 else 0.5 for i in range(len(trials["score"]))]
    each = [score >= level for score, level in zip(trials["score"], levels, strict=True)]
    found = pv.audit({**trials, "decision": each, "threshold": levels}, speakers=speakers)
    assert overview(found).threshold == "decisions as they were made (deployed)"
    given = pv.audit(trials, speakers=speakers, operating_points="threshold=0.4")
    assert overview(given).threshold.startswith("one common threshold: a score of 0.4")


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_names_are_whole_at_any_width(audit, width):
    told = drawn(audit, width)
    assert max(map(len, told.splitlines())) <= width
    assert "…" not in told
    assert "False rejects are more frequent among f than among m" in " ".join(told.split())
    assert len(told.splitlines()) <= 50


def test_a_point_that_is_missed_is_told_by_what_it_comes_to(material):
    trials, speakers = material
    far = {**trials, "score": [score - 100 for score in trials["score"]]}
    found = overview(
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
        "one common threshold: set for 1 %, but 100 % of nontarget trials are accepted"
        in found.threshold
    )


@pytest.mark.slow
def test_systems_with_other_trials_are_compared_on_those_in_common(material):
    trials, speakers = material
    n = len(trials["score"])
    fewer = {name: cells[: n - 40] for name, cells in trials.items()}
    audit = pv.audit(
        {"A": trials, "B": fewer}, speakers=speakers, by="gender", compare=True, replicates=50
    )
    found = overview(audit)
    words, fairer = (one for one in found.finding_sentences if "trials in common" in one)
    assert fairer.startswith("The data do not show whether A or B is fairer")
    assert words.startswith(
        "The data do not show whether A or B falsely rejects fewer target trials: "
    )
    assert any("in common, which are compared" in one.short for one in found.caveats)


@pytest.mark.slow
def test_of_several_systems_one_sentence_tells_which_is_better(material):
    trials, speakers = material
    pairs = list(zip(trials["enrol"], trials["test"], strict=True))
    lower = [
        score - 1.2 * (one[:3] == other[:3])
        for score, (one, other) in zip(trials["score"], pairs, strict=True)
    ]
    systems = {"A": trials, "B": trials, "C": {**trials, "score": lower}}
    asked = {"by": "gender", "compare": True, "replicates": 50}
    found = overview(pv.audit(systems, speakers=speakers, **asked))
    (words,) = [one for one in found.finding_sentences if "lowest observed rate" in one]
    assert words.startswith(
        "A has the lowest observed rate, 22.2 %: it falsely rejects fewer target trials than 1 of "
    )
    assert words.endswith("inconclusive against B.")
    two = {name: systems[name] for name in ("C", "A")}
    found = overview(pv.audit(two, speakers=speakers, **asked))
    (words,) = [one for one in found.finding_sentences if "fewer target trials" in one]
    assert words.startswith("A falsely rejects fewer target trials than C: 22.2 % against ")
    assert not any(
        "impostors" in one for one in found.finding_sentences if "fewer" in one
    )  # as set


def test_a_limit_that_is_missed_is_told_with_whom_it_is_missed_by(audited):
    limits = ["fnr=0.05", "fpr=0.9"]
    audit = audited(by="gender", operating_points=["fpr=0.01"], limits=limits)
    found = overview(audit)
    missed = (
        "Limit of 5 % on FNR at fpr=0.01 (each group judged separately): "
        "not met by f, all groups pooled, m"
    )
    assert plain_text(found.headline) == missed  # what was asked stands first
    assert (
        plain_text(found.further_findings[0])
        == "Limit of 90 % on FPR at fpr=0.01 (each group judged separately): met by all"
    )


def test_one_group_alone_is_compared_with_none(material):
    trials, speakers = material
    one = {**speakers, "gender": ["f"] * len(speakers["id"])}
    found = overview(pv.audit(trials, speakers=one, by="gender", replicates=50))
    assert plain_text(found.headline) == "There is one group, f, and no other to compare it with"
    assert not found.verdict_counts
    assert not found.inconclusive_note


@pytest.mark.parametrize(
    ("same", "words"),
    [
        (True, "The audit says nothing about false accepts: no nontarget trials"),
        (False, "The audit says nothing about false rejects: no target trials"),
    ],
)
def test_an_error_that_was_never_tried_is_told(material, same, words):
    trials, speakers = material
    chosen = [
        i
        for i, (one, other) in enumerate(zip(trials["enrol"], trials["test"], strict=True))
        if (one[:3] == other[:3]) == same
    ]
    some = {name: [column[i] for i in chosen] for name, column in trials.items()}
    point = "fnr=0.05" if same else "fpr=0.05"
    audit = pv.audit(some, speakers=speakers, by="gender", operating_points=point, replicates=50)
    assert words in [plain_text(one) for one in overview(audit).further_findings]


def test_long_names_of_systems_stand_on_lines_of_their_own(material):
    trials, speakers = material
    names = ("a" * 90, "b" * 90)
    audit = pv.audit(
        dict.fromkeys(names, trials), speakers=speakers, by="gender", compare=True, replicates=50
    )
    told = drawn(audit, 80)
    assert max(map(len, told.splitlines())) <= 80
    assert "False rejects" in told
    for name in names:
        assert told.count(name[0] * 30) >= 2
