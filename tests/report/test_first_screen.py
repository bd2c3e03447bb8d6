"""Directly below the headline of a report: how sure it is, what is unknown, what weakens it."""

import re
import zipfile
from pathlib import Path

import numpy as np
import pytest

import parivox as pv
from parivox.report.html import html_report
from parivox.report.html.first_screen import first_screen
from parivox.report.overview import overview, plain_text
from parivox.report.words import p_value

OLD = Path(__file__).parents[1] / "old_audits" / "0.1.0-plain.zip"
CONFIRMED = "only if this comparison was planned before anyone saw the data"
EXPLORATORY = "Any findings by {} may be due to chance"


def certainty(audit, extra_caveats=()):
    """Each label with its words."""
    screen = first_screen(audit, overview(audit), extra_caveats)
    return {label: plain_text(sentence) for label, sentence in screen["certainty"]}


@pytest.fixture(scope="module")
def audit(audited):
    return audited(by=["gender", "gender+nation"], operating_points=["fpr=0.01"])


def verdict_rows(audit, **filters):
    """Verdicts on groups at the first point, f against m once."""
    rows = audit.verdicts.subset(operating_point="fpr=0.01", **filters).rows()
    return [
        row
        for row in rows
        if row["group"]
        and row["metric"] != "fpr+fnr"
        and (row["grouping"], row["group"]) != ("gender", "m")
    ]


def are_targets(trials):
    """Which trials are of one speaker."""
    sides = zip(trials["enrol"], trials["test"], strict=True)
    return np.array([enrol[:3] == test[:3] for enrol, test in sides])


def test_the_headline_comes_first_with_the_largest_p_behind_it(audit):
    (row,) = [row for row in verdict_rows(audit, grouping="gender") if row["verdict"] == "worse"]
    assert plain_text(overview(audit).headline).startswith(
        "False rejects are more frequent among f"
    )
    assert (row["metric"], row["group"]) == ("fnr", "f")
    evidence = "Strong evidence" if row["p_holm"] < 0.01 else "Evidence"
    assert certainty(audit)["How sure"].startswith(
        f"{evidence}, but unconfirmed: no record here that comparing by gender was "
        f"planned before anyone saw the data. {EXPLORATORY.format('gender+nation')}"
    )
    legend = first_screen(audit, overview(audit))["legend"]
    assert f"headline: adjusted {p_value(row['p_holm'])}" in legend


@pytest.mark.parametrize(("p", "words"), [(0.0099, "Strong evidence"), (0.0101, "Evidence")])
def test_evidence_is_strong_by_its_adjusted_p(audit, p, words):
    audit_overview = overview(audit)
    comparisons = [each._replace(p=p) for each in audit_overview.headline_comparisons]
    screen = first_screen(audit, audit_overview._replace(headline_comparisons=comparisons))
    (_, sentence), *_ = screen["certainty"]
    assert plain_text(sentence).startswith(f"{words}, but unconfirmed")
    assert f"headline: adjusted p = {p:.2g}" in screen["legend"]


def test_where_a_p_is_missing_evidence_is_not_called_strong(audit):
    audit_overview = overview(audit)
    comparisons = [each._replace(p=None) for each in audit_overview.headline_comparisons]
    screen = first_screen(audit, audit_overview._replace(headline_comparisons=comparisons))
    (_, sentence), *_ = screen["certainty"]
    assert plain_text(sentence).startswith("Evidence, but unconfirmed")
    assert "headline: adjusted p undefined" in screen["legend"]


@pytest.mark.slow
def test_a_system_without_the_main_comparison_is_named(material):
    trials, speakers = material
    is_target = are_targets(trials)
    keep = is_target | (np.cumsum(~is_target) <= 400)
    few = {name: np.asarray(column)[keep].tolist() for name, column in trials.items()}
    options = {"by": "gender", "operating_points": ["fpr=0.001", "fpr=0.05"], "replicates": 50}
    audit = pv.audit({"V": trials, "F": few}, speakers, primary="gender@fpr=0.001", **options)
    assert list(audit.record["primary"]) == ["V"]
    words = certainty(audit)["How sure"]
    assert "All findings are exploratory" not in words
    audit_overview = overview(audit)
    in_headline = {comparison.system for comparison in audit_overview.headline_comparisons}
    is_named = "The headline is exploratory for F, as the main comparison has no threshold" in words
    assert is_named == ("F" in in_headline)
    comparisons = [
        comparison._replace(system="F") for comparison in audit_overview.headline_comparisons
    ]
    if comparisons:
        screen = first_screen(audit, audit_overview._replace(headline_comparisons=comparisons))
        (_, sentence), *_ = screen["certainty"]
        assert "The headline is exploratory for F" in plain_text(sentence)


def test_p_of_the_only_comparison_is_not_called_adjusted(audit):
    audit_overview = overview(audit)
    counts = dict.fromkeys(audit_overview.verdict_counts, 0) | {"worse": 1}
    screen = first_screen(audit, audit_overview._replace(verdict_counts=counts))
    assert [words for words in screen["legend"] if words.startswith("headline: p ")]


@pytest.mark.slow
def test_rates_that_could_not_be_judged_are_not_known(material):
    trials, speakers = material
    gender = dict(zip(speakers["id"], speakers["gender"], strict=True))
    sides = zip(trials["enrol"], trials["test"], are_targets(trials), strict=True)
    keep = [is_target or gender[enrol[:3]] != gender[test[:3]] for enrol, test, is_target in sides]
    without = {
        name: [cell for cell, is_kept in zip(column, keep, strict=True) if is_kept]
        for name, column in trials.items()
    }
    audit = pv.audit(without, speakers, by="gender", operating_points="fpr=0.01", replicates=50)
    words = certainty(audit)["Not known"]
    assert "2 error rates could not be judged" in words
    assert "No comparison is inconclusive" not in words


@pytest.mark.slow
def test_of_several_allocations_a_group_is_named_once(audited):
    words = certainty(
        audited(by="nation", operating_points="fpr=0.02", allocate=["both", "either"])
    )["Not known"]
    assert "Smallest of these groups: India, Norway and USA (8 speakers each)" in words


@pytest.mark.slow
def test_a_further_allocation_is_exploratory_by_no_name_of_its_own(audited):
    options = {"by": "gender", "operating_points": "fpr=0.02", "allocate": ["both", "test"]}
    words = certainty(audited(**options))["How sure"]
    assert "Any other findings may be due to chance" in words
    assert "by enrol" not in words
    assert "by test" not in words
    assert "findings by gender" not in words


@pytest.mark.slow
def test_trials_of_decisions_have_no_threshold(material):
    trials, speakers = material
    decisions = {
        **{name: trials[name] for name in ("enrol", "test")},
        "decision": ["accept" if score > 1 else "reject" for score in trials["score"]],
    }
    audit = pv.audit(decisions, speakers, by="gender", replicates=50)
    screen = first_screen(audit, overview(audit))
    texts = [*screen["keys"], *(plain_text(words) for _, words in screen["certainty"])]
    assert not [words for words in texts if "threshold" in words]


@pytest.mark.slow
def test_of_several_systems_the_largest_p_is_stated(audit, material):
    trials, speakers = material
    n_trials = len(trials["score"])
    noise = np.random.default_rng(2).normal(0, 0.4, n_trials)
    noisy = {**trials, "score": (np.asarray(trials["score"]) + noise).tolist()}
    options = {"by": "gender", "operating_points": "fpr=0.01", "replicates": 50}
    both = pv.audit({"a": trials, "b": noisy}, speakers, **options)
    comparisons = overview(both).headline_comparisons
    rows = [row for row in verdict_rows(both, metric="fnr") if row["verdict"] == "worse"]
    assert len(rows) == len(comparisons) == 2
    largest = max(row["p_holm"] for row in rows)
    legend = first_screen(both, overview(both))["legend"]
    assert f"headline: adjusted {p_value(largest, is_largest=True)}" in legend
    # each p is adjusted within one system and grouping, not over all comparisons that are counted
    assert (
        "adjusted p: how often a difference at least as large would occur if error rates were "
        "equal in all groups, adjusted for all comparisons of one system by one grouping at one "
        "operating point"
    ) in legend
    assert not [words for words in legend if "p between systems" in words]
    compared = pv.audit({"a": trials, "b": noisy}, speakers, compare=True, **options)
    assert (
        "p between systems (exploratory): the same if the systems did not differ; of a gap, "
        "adjusted for all groups and both error types"
    ) in first_screen(compared, overview(compared))["legend"]


def test_the_counts_are_those_of_the_verdicts(audited):
    # no difference by the first grouping, which the headline is about
    audit = audited(by=["nation", "gender"], operating_points=["fpr=0.01"])
    codes = [row["verdict"] for row in verdict_rows(audit)]
    n_different = sum(code in {"worse", "better"} for code in codes)
    words = certainty(audit)
    assert words["How sure"].startswith(
        f"In {n_different} of {len(codes)} comparisons, a group is shown to be worse or better"
    )
    assert words["Not known"].startswith(
        f"{codes.count('inconclusive')} of {len(codes)} comparisons are inconclusive: a difference "
        "is neither shown nor ruled out"
    )
    assert 0 < n_different < len(codes)


def test_the_smallest_groups_without_an_answer_have_their_sizes(audit):
    rows = audit.groups.subset(operating_point="fpr=0.01", metric="fnr").rows()
    sizes = {row["group"]: row["speakers"] for row in rows if row["grouping"] != "all"}
    named = re.findall(r"(\S+) \((\d+) speakers\)", certainty(audit)["Not known"])
    assert len(named) == 2
    assert [int(size) for _, size in named] == sorted(sizes.values())[:2]
    for group, size in named:
        assert sizes[group] == int(size)
    n_more = sum(size == int(named[1][1]) for size in sizes.values()) - 1
    assert n_more
    assert f"speakers) and {n_more} more of this size" in certainty(audit)["Not known"]


def test_of_groups_of_one_size_the_size_is_said_once(audited):
    words = certainty(audited(by="nation", operating_points="fpr=0.02"))["Not known"]
    assert "Smallest of these groups: India, Norway and USA (8 speakers each)" in words
    assert words.startswith("All 6 comparisons are inconclusive")


@pytest.mark.slow
def test_a_comparison_that_was_not_named_is_not_confirmed(audited):
    by_nation = audited(by=["nation", "gender"], operating_points=["fpr=0.01"])
    words = certainty(by_nation)["How sure"]
    assert f"Differences by nation are confirmed {CONFIRMED}, which this audit does not" in words
    assert EXPLORATORY.format("gender") in words


@pytest.mark.slow
def test_a_comparison_that_was_named_is_confirmed_on_a_condition(audited):
    options = {"by": ["gender", "nation"], "operating_points": ["fpr=0.01", "eer"]}
    words = certainty(audited(**options, primary="nation@fpr=0.01"))["How sure"]
    assert (
        "The main comparison, by nation, was named for this audit: differences are confirmed only "
        "if it was named before anyone saw the data"
    ) in words
    assert EXPLORATORY.format("gender") in words
    words = certainty(audited(**options, primary="gender@fpr=0.01"))["How sure"]
    assert (
        "confirmed only if the main comparison, by gender, was named before anyone saw the data, "
        "which Parivox cannot check. " + EXPLORATORY.format("nation")
    ) in words


@pytest.mark.slow
def test_without_a_threshold_for_the_main_comparison_nothing_is_confirmed(audited):
    points = ["fpr=0.0001", "eer"]
    audit = audited(by="gender", operating_points=points, primary="gender@fpr=0.0001")
    words = certainty(audit)["How sure"]
    assert "All findings are exploratory, as the main comparison has no threshold" in words
    assert "confirmed" not in words


def test_where_no_difference_is_shown_none_is_claimed(audited):
    words = certainty(audited(by="nation", operating_points="fpr=0.02"))["How sure"]
    assert words.startswith("In 6 comparisons, neither a difference nor equivalence is shown")


@pytest.mark.slow
@pytest.mark.parametrize("case", ["no intervals", "one group"])
def test_without_verdicts_nothing_is_shown_or_ruled_out(material, case):
    trials, speakers = material
    if case == "one group":
        speakers = {**speakers, "gender": ["f"] * 24}
    options = {"by": "gender", "operating_points": "fpr=0.01", "replicates": 50}
    words = certainty(pv.audit(trials, speakers, intervals=case == "one group", **options))
    assert words["How sure"].startswith(
        "No comparison of groups has a verdict, so a difference is neither shown nor ruled out"
    )
    assert "Not known" not in words
    assert "Weakened by" in words


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_what_was_not_recorded_is_not_said_of_old_audits(tmp_path):
    zipfile.ZipFile(OLD).extractall(tmp_path)
    audit = pv.load(tmp_path)
    words = certainty(audit)["How sure"]
    assert "exploratory" not in words
    assert "confirmed" not in words
    assert 'href="#confidence"' not in html_report(audit)


@pytest.mark.slow
def test_what_weakens_a_difference_is_said_in_words(audited):
    options = {"by": ["gender", "gender+nation"], "operating_points": ["fpr=0.01"]}
    audit = audited(**options, allocate="enrol")
    words = certainty(audit)["Weakened by"]
    assert (
        "tests differed between groups (in some, impostors more often share a trait), so true gaps "
        "may be larger or smaller"
    ) in words
    shorts = [caveat.short for caveat in overview(audit).caveats]
    assert shorts[0].startswith("thresholds set on the audited trials")
    assert words.startswith("the acceptance cut-off (threshold) was chosen on this data")
    assert words.count(";") == 1


@pytest.mark.slow
@pytest.mark.parametrize("intervals", [True, False])
def test_groups_without_trials_are_not_known_rather_than_a_weakness(material, intervals):
    trials, speakers = material
    more = {name: [*column] for name, column in speakers.items()}
    more["id"] += ["absent", "away"]
    more["gender"] += ["x", "f"]
    more["nation"] += ["India", "Chile"]
    options = {"operating_points": "fpr=0.01", "replicates": 50, "intervals": intervals}
    words = certainty(pv.audit(trials, speakers=more, by="gender", **options))
    assert words["Not known"].endswith("1 more group (1 speaker) was not tested")
    assert "not tested" not in words["Weakened by"]
    words = certainty(pv.audit(trials, speakers=more, by=["gender", "nation"], **options))
    for grouping in ("gender", "nation"):
        assert f"1 more group by {grouping} (1 speaker) was not tested" in words["Not known"]


@pytest.mark.slow
def test_equivalence_is_said_with_its_margin(trials_of_equal_groups):
    trials, people = trials_of_equal_groups
    audit = pv.audit(trials, people, by="sex", replicates=50, operating_points="eer")
    words = certainty(audit)
    assert (
        "2 of 2 comparisons show equivalence: with 98 % confidence in each case, any difference is "
        "smaller than a factor of 1.25"
    ) in words["How sure"]
    assert words["Not known"] == "No comparison is inconclusive"
    assert words["How sure"].startswith("In 2 comparisons, no group is shown to be worse or better")


def test_abbreviations_are_explained_below_the_headline(audit):
    keys = first_screen(audit, overview(audit))["keys"]
    assert keys == [
        "false accept: an impostor passes as the speaker and puts the speaker at risk",
        "[\N{NO-BREAK SPACE}]: plausible range (95 % confidence interval)",
    ]


@pytest.mark.slow
def test_systems_are_named_as_such_until_they_are_many(material):
    trials, speakers = material
    options = {"by": "gender", "operating_points": "fpr=0.01", "replicates": 50}
    for names, words in ((["V2", "L"], "V2, L: systems"), (list("abcd"), None)):
        audit = pv.audit(dict.fromkeys(names, trials), speakers=speakers, **options)
        keys = first_screen(audit, overview(audit))["keys"]
        assert [key for key in keys if key.endswith(": systems")] == ([words] if words else [])


def test_the_band_is_named_at_the_figure(audit, audited):
    caption = first_screen(audit, overview(audit))["caption"]
    assert "Grey band: factors below 1.25" in caption
    p_words = "Lines unadjusted; adjusted p: how often chance gives any such gap"
    is_p_shown = any(
        comparison.fails_only_after_holm
        for group in overview(audit).groups
        for comparison in group.all_comparisons()
    )
    assert (p_words in caption) == is_p_shown
    without = audited(by="gender", operating_points="fpr=0.01", intervals=False)
    caption = first_screen(without, overview(without))["caption"]
    assert not [words for words in caption if "band" in words]


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_links_below_the_headline_lead_somewhere(audit):
    page = html_report(audit)
    block = page.partition('<dl class="certainty">')[2].partition("</dl>")[0]
    anchors = re.findall(r'href="#(\w+)"', block)
    assert anchors == ["confidence", "limitations"]
    for anchor in anchors:
        assert page.count(f'id="{anchor}"') == 1


def test_every_finding_is_on_the_page_once(audit):
    screen = first_screen(audit, overview(audit))
    audit_overview = overview(audit)
    shown = [*screen["further_findings"], *screen["secondary_findings"]]
    assert sorted(map(plain_text, shown)) == sorted(
        map(plain_text, audit_overview.further_findings)
    )
    assert audit_overview.secondary_findings
