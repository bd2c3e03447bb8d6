"""What reports state about rates, thresholds and chance is what the code computes."""

import re

import polars as pl
import pytest
from rich.console import Console, Group

import parivox as pv
from parivox.core.verdict import EQUIVALENCE_CONFIDENCE
from parivox.report.audit_queries import rates_by_group, scopes, verdicts_by_metric
from parivox.report.findings import group_figures_text
from parivox.report.html.first_screen import first_screen
from parivox.report.overview import overview, point_in_short
from parivox.report.selection import group_details
from parivox.report.words import text


@pytest.fixture(scope="module")
def two_systems(audited):
    return audited(by=["gender"], operating_points=["fpr=0.01"])


def test_chance_is_stated_per_system(two_systems):
    assert "such audits of a system" in overview(two_systems).confidence_note


@pytest.mark.parametrize(
    ("point", "words"),
    [
        ("fpr=0.01", "1 % of nontarget trials are accepted"),
        ("fnr=0.2", "20 % of target trials are rejected"),
    ],
)
def test_rates_are_shares_of_trials(point, words):
    assert point_in_short({"operating_point": point}) == words


@pytest.mark.parametrize(
    ("point", "words"),
    [
        ("fpr=0.01", "for FPR of 1 %; here 1.94 %"),
        ("fnr=0.2", "for FNR of 20 %"),
        ("eer", "for equal FPR and FNR"),
        ("min-cdet", "for the lowest cost"),
    ],
)
def test_what_a_threshold_reaches_elsewhere_is_not_said_of_these_trials(point, words):
    row = {"operating_point": point, "source": "development trials", "fpr": 0.0194, "fnr": None}
    assert point_in_short(row) == f"set on development trials {words}"


@pytest.mark.slow
def test_of_several_systems_each_rate_of_a_development_threshold_has_its_system(material):
    trials, speakers = material
    audit = pv.audit(
        {"A": trials, "B": trials},
        speakers,
        by="gender",
        operating_points="fpr=0.05",
        threshold_from={"A": trials, "B": trials},
        intervals=False,
    )
    words = overview(audit).threshold
    assert words.count("set on development trials") == 1
    assert re.search(r"FPR of 5 % \(fpr=0\.05\); here [\d.]+ % \(A\), [\d.]+ % \(B\)$", words)


def test_a_given_threshold_is_not_called_set_on_development_trials():
    row = {"operating_point": "threshold=0.5", "source": "development trials", "fpr": 0.0194}
    assert point_in_short(row) == "a score of 0.5"


@pytest.mark.parametrize("width", [40, 60, 79, 80, 81, 99, 120])
def test_no_line_ends_between_a_number_and_its_unit(width):
    words = " ".join(f"{'word ' * (n % 7)}{n}.{n} % of {n} trials," for n in range(60))
    console = Console(width=width, no_color=True)
    with console.capture() as captured:
        console.print(Group(text(words)))
    lines = captured.get().splitlines()
    assert len(lines) > 5
    assert not [line for line in lines if line.lstrip().startswith("%")]
    assert " ".join(" ".join(lines).split()) == " ".join(words.split())


def test_failures_that_were_not_supplied_are_not_called_a_fact(two_systems):
    (words,) = [
        caveat.sentence for caveat in overview(two_systems).caveats if caveat.anchor == "failures"
    ]
    assert "were not supplied" in words
    assert "If such failures occurred" in words


def test_the_legend_names_the_level_at_which_groups_are_called_alike(two_systems):
    legend = first_screen(two_systems, overview(two_systems))["legend"]
    level = two_systems.record["options"]["confidence"]
    # the drawn line is shorter than the interval that decides
    assert level < EQUIVALENCE_CONFIDENCE
    (words,) = [words for words in legend if words.startswith("grey band")]
    assert f"equivalent if the {100 * EQUIVALENCE_CONFIDENCE:g} % interval of its ratio" in words


@pytest.mark.slow
def test_groups_that_are_only_explored_are_called_exploratory_first(audited):
    audit = audited(by=["gender", "nation"], operating_points=["fpr=0.01"])
    console = Console(width=100, no_color=True)
    closing_words = {}
    for group in ("f", "India"):
        with console.capture() as captured:
            console.print(group_details(audit, [group]))
        closing_words[group] = " ".join(captured.get().split()).rpartition("p: for all groups ")[2]
    assert "These verdicts are exploratory. Only verdicts by gender" in closing_words["India"]
    assert "These verdicts are exploratory." not in closing_words["f"]


@pytest.mark.slow
def test_why_there_are_no_rates_is_stated_once(tmp_path):
    rows = pl.DataFrame(
        {
            "enrol": ["a/1", "b/1", "c/1", "d/1"],
            "test": ["a/2", "b/2", "c/2", "d/2"],
            "score": [0.9, 0.8, 0.7, 0.6],
            "label": [1, 1, 1, 1],
        }
    )
    speakers = {"speaker": list("abcd"), "gender": list("ffmm")}
    audit = pv.audit(rows, speakers=speakers, by="gender", operating_points=["fpr=0.01"])
    sentences = overview(audit).finding_sentences
    assert len([words for words in sentences if "no error rates" in words.lower()]) == 1
    assert any("--operating-point" in words for words in sentences)


@pytest.mark.slow
def test_a_group_is_small_for_the_error_it_has_too_little_of_only():
    speakers = [f"s{i:02d}" for i in range(60)]
    rows = {"enrol": [], "test": [], "score": [], "label": []}
    for i, speaker in enumerate(speakers):
        for n in range(24):
            is_target = n % 2 == 0
            test_speaker = speaker if is_target else speakers[(i + 3 * (1 + n % 18)) % 60]
            is_error = n % 8 == 0 if is_target else (i % 3 and n == 1)
            score = float(is_target != bool(is_error)) + (i + n) / 1000
            for cells, cell in zip(
                rows.values(),
                (f"{speaker}/{n}", f"{test_speaker}/{n}x", score, int(is_target)),
                strict=True,
            ):
                cells.append(cell)
    people = {"speaker": speakers, "accent": ["abc"[i % 3] for i in range(60)]}
    audit = pv.audit(
        rows, speakers=people, by="accent", operating_points=["threshold=0.5"], replicates=50
    )
    small = [caveat for caveat in overview(audit).caveats if "under-represented" in caveat.short]
    sentence = "1 of 3 groups is under-represented (too few speakers, errors or pairs) for FPR"
    assert [caveat.short for caveat in small] == [sentence]
    assert "for FPR: a (0 effective errors)" in small[0].sentence
    assert "FNR" not in small[0].sentence


def test_a_shrinkage_estimate_is_not_read_as_what_a_verdict_rests_on(audited):
    audit = audited(by=["gender"], operating_points=["fpr=0.01"])
    (scope,) = scopes(audit)
    verdicts = verdicts_by_metric(audit, {**scope.filters, "operating_point": "fpr=0.01"})
    rates = rates_by_group(audit, scope.filters)
    low_power = {**verdicts["fnr"]["f"], "power": 0.2, "best_guess_low": 0.98}
    assert low_power["verdict"] == "worse"
    words = group_figures_text(
        {**verdicts, "fnr": {**verdicts["fnr"], "f": low_power}}, "f", rates, "fpr=0.01"
    )
    assert ", shrinkage estimate 2.0 [0.98, 3.2])" in words
    assert words.endswith("; verdicts do not use the shrinkage estimate")
    words = group_figures_text(verdicts, "f", rates, "fpr=0.01")
    assert "shrinkage" not in words


@pytest.mark.slow
def test_only_pooled_intervals_account_for_the_choice_of_the_threshold(audited, printed):
    audit = audited(by=["gender", "gender+nation"], operating_points=["fpr=0.05"])
    marked = [row for row in audit.groups.rows() if "threshold_varies" in row["note"]]
    assert marked
    assert {row["group"] for row in marked} <= {"all", "pooled"}
    assert "setting the threshold on these trials; intervals of groups do not" in " ".join(
        printed(audit).split()
    )
