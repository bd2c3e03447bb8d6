"""Reports say what is confirmatory and what is exploratory, and tell the primary question first."""

import re
import zipfile
from functools import cache
from pathlib import Path

import pytest

import parivox as pv
from parivox.report.findings import EXPLORATORY_SENTENCE
from parivox.report.html import html_report
from parivox.report.notebook import html
from parivox.report.sheets.paper import markdown

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("undrawn")]

page = cache(html_report)

OLD = Path(__file__).parents[1] / "old_audits" / "0.1.0-plain.zip"


def plain(text):
    """Words alone, as a reader sees them."""
    return " ".join(re.sub(r"<[^>]*>", " ", text).replace("\\", "").split())


@pytest.fixture(scope="module")
def audit(audited):
    attributes = ["gender", "nation", "gender+nation"]
    return audited(by=attributes, operating_points=["fpr=0.01", "eer"])


@pytest.fixture(scope="module")
def named(audited):
    attributes = ["gender", "nation"]
    return audited(by=attributes, operating_points=["fpr=0.01", "eer"], primary="nation@eer")


@pytest.fixture(params=["terminal", "page", "markdown", "notebook"])
def told_words(request, printed_summary, printed):
    """What each medium tells of an audit."""
    media = {"page": page, "markdown": markdown, "notebook": html}
    media["terminal"] = lambda audit: printed(audit) + printed_summary(audit)
    return lambda audit: plain(media[request.param](audit))


def test_what_holds_is_said_once_with_the_figure(audit, told_words):
    words = told_words(audit)
    assert words.count("he verdicts by gender at fpr=0.01 are confirmatory only if variation") == 1
    assert words.count(EXPLORATORY_SENTENCE[1:]) == 1


def test_one_heading_is_confirmatory_and_all_others_are_exploratory(audit, told_words):
    words = told_words(audit)
    headings = re.findall(r"(?:At|at) (\S+), (confirmatory|exploratory)", words)
    assert headings[0] == ("fpr=0.01", "confirmatory")
    assert {standing for _, standing in headings[1:]} == {"exploratory"}
    # no audit shows that the conditions hold
    assert not re.search(
        r"at \S+, confirmatory(?! if the conditions under Confidence hold)", words, re.IGNORECASE
    )


def test_the_summary_says_which_groupings_are_exploratory(audit, printed_summary):
    words = plain(printed_summary(audit))
    assert "Exploratory, by nation: " in words
    assert "Exploratory, by gender+nation: " in words
    assert "groups by gender, " not in words


def test_each_groups_own_threshold_is_exploratory(audit, printed):
    assert "EER at group-specific thresholds, exploratory:" in plain(printed(audit))
    assert "EER at group-specific thresholds, exploratory:" in plain(page(audit))
    assert "EER of each group at its own threshold, exploratory" in plain(page(audit))


def test_what_is_named_leads(named, told_words):
    words = told_words(named)
    assert "verdicts by nation at eer are confirmatory" in words
    headings = re.findall(r"(?:At|at) (\S+), (confirmatory|exploratory)", words)
    assert headings[0] == ("eer", "confirmatory")


def test_the_page_says_whether_it_was_named(audit, named):
    by_default = "the first grouping and operating point, as no primary analysis was named"
    assert f"Primary analysis: gender at fpr=0.01 ({by_default})." in plain(page(audit))
    assert "Primary analysis: nation at eer (named for the audit)." in plain(page(named))
    assert "--primary nation@eer" in plain(page(named))


def test_a_named_point_without_a_threshold_leaves_nothing_confirmatory(audited, told_words):
    points = ["fpr=0.0001", "eer"]
    words = told_words(audited(by="gender", operating_points=points, primary="gender@fpr=0.0001"))
    assert "are exploratory, as the primary operating point has no threshold" in words
    assert not re.search(r"at \S+, confirmatory", words, re.IGNORECASE)


def test_audits_that_did_not_tell_have_no_marks(told_words, tmp_path):
    zipfile.ZipFile(OLD).extractall(tmp_path)
    words = told_words(pv.load(tmp_path))
    assert ", confirmatory" not in words
    assert ", exploratory" not in words
    assert EXPLORATORY_SENTENCE not in words
