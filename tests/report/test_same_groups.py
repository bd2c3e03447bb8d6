"""Measures of several systems side by side are of the same groups."""

import hashlib
import json
import re

import numpy as np
import polars as pl
import pytest

import parivox as pv
from parivox.report import charts
from parivox.report.audit_queries import covers_same_groups
from parivox.report.caveats import caveats
from parivox.report.disagreements import disagreements
from parivox.report.findings import groups_of_higher_eer
from parivox.report.html.method import harms
from parivox.report.sheets.comparison import pairs
from parivox.report.sheets.paper import latex, markdown

POINT = "threshold=1.8"
LEFT_OUT = "c (0 effective false accepts in A)"


def _scores(shift, missing=""):
    """Scores of 3 accents of 20 speakers; nontarget scores of accent c are moved by `shift`.

    There are no nontarget trials of the accent `missing`.
    """
    rng = np.random.default_rng(7)
    rows = []
    for accent in "abc":
        ids = [f"{accent}{i}" for i in range(20)]
        for i, speaker_id in enumerate(ids):
            rows += [
                (f"{speaker_id}/1", f"{speaker_id}/{k}", rng.normal(3), 1) for k in range(2, 14)
            ]
            moved = shift if accent == "c" else 0
            rows += [
                (f"{speaker_id}/1", f"{two}/{k}", rng.normal() + moved, 0)
                for two in ids[:i]
                for k in (2, 3, 4)
                if accent != missing
            ]
    return pl.DataFrame(rows, schema=["enrol", "test", "score", "label"], orient="row")


@pytest.fixture(scope="module")
def speakers(tmp_path_factory):
    path = tmp_path_factory.mktemp("speakers") / "speakers.csv"
    table = pl.DataFrame({"speaker": [f"{a}{i}" for a in "abc" for i in range(20)]})
    table.with_columns(accent=pl.col("speaker").str.head(1)).write_csv(path)
    return path


def _audit(frames, speakers, **options):
    return pv.audit(
        frames, speakers=speakers, by="accent", operating_points=[POINT], seed=1, **options
    )


@pytest.fixture(scope="module")
def unfair(speakers):
    """A, in which accent c has no false accept, so that it drops out, and B without bias."""
    return _audit({"A": _scores(-4.0), "B": _scores(0.0)}, speakers)


def _measures(audit, system, **conditions):
    rows = audit.meta.subset(system=system, zero="none", alpha=None, **conditions).rows()
    return {
        (row["metric"], row["definition"], row["operating_point"], row["measure"]): row
        for row in rows
    }


def test_a_group_that_drops_out_of_one_system_drops_out_of_all(unfair):
    for metric, left_out in (("fpr", ["c"]), ("fnr", []), ("eer", [])):
        for system in ("A", "B"):
            rows = unfair.meta.subset(
                system=system, metric=metric, measure="gini", zero="none", gated=True
            ).rows()
            for row in rows:
                assert json.loads(row["left_out"] or "[]") == left_out
                assert row["groups"] == 3 - len(left_out)
    joint = unfair.meta.subset(measure="fdr", gated=True, zero="none").rows()
    assert {(row["groups"], row["left_out"]) for row in joint} == {(2, '["c"]')}
    # by the groups that are judged in both, the systems do not differ
    assert len({row["value"] for row in joint}) == 1
    fdr_by_system = {
        r["system"]: r["value"] for r in unfair.meta.subset(measure="fdr", gated=False).rows()
    }
    assert fdr_by_system["A"] < fdr_by_system["B"]


@pytest.mark.slow
def test_a_measure_of_the_same_groups_has_the_values_of_an_audit_of_these_groups(unfair, speakers):
    two = {
        name: _scores(shift).filter(~pl.col("enrol").str.starts_with("c"))
        for name, shift in (("A", -4.0), ("B", 0.0))
    }
    alone = _audit(two, speakers)
    for system in "AB":
        measures, expected = (
            _measures(a, system, metric="fpr", gated=True) for a in (unfair, alone)
        )
        for key, row in measures.items():
            if key[3] in {"gini", "max_min", "fdr_fpd"}:
                assert row["value"] == pytest.approx(expected[key]["value"])
                assert row["high"] is not None
                assert row["floor_95"] is not None
                assert row["groups"] == expected[key]["groups"] == 2


@pytest.mark.slow
def test_a_group_without_trials_in_one_system_is_left_out_of_all(speakers):
    audit = _audit({"A": _scores(0.0, missing="b"), "B": _scores(0.0)}, speakers)
    rows = audit.meta.subset(metric="fpr", measure="gini", gated=True, zero="none").rows()
    assert {(row["system"], row["groups"], row["left_out"]) for row in rows} == {
        ("A", 2, ""),  # it has no value that could be left out
        ("B", 2, '["b"]'),
    }
    assert "b (no value in some system)" in markdown(audit)


@pytest.mark.slow
def test_a_system_alone_or_alike_ones_keep_the_groups_that_count(speakers):
    alone = _audit({"A": _scores(-4.0)}, speakers)
    assert "c (0 effective false accepts)" in markdown(alone)
    alike = _audit({"A": _scores(0.0), "B": _scores(0.0)}, speakers)
    assert not any(row["left_out"] for row in alike.meta.rows())
    for text in (latex(alike), markdown(alike)):
        assert "Excluded: " not in text
        assert "value of all" not in text


@pytest.mark.slow
def test_adding_a_system_changes_no_measure_of_all_groups(unfair, speakers):
    alone = _audit({"A": _scores(-4.0)}, speakers)
    both_measures, alone_measures = (
        _measures(audit, "A", gated=False) for audit in (unfair, alone)
    )
    columns = ("value", "groups", "low_group", "high_group", "reason", "left_out")
    assert both_measures.keys() == alone_measures.keys()
    for key, row in alone_measures.items():
        if key[3] == "heterogeneity":  # which rests on the speakers that were drawn
            continue
        assert [both_measures[key][name] for name in columns] == [row[name] for name in columns]


@pytest.mark.parametrize("write", [latex, markdown])
def test_tables_name_the_groups_left_out_and_show_all_groups_beside(unfair, write):
    text = write(unfair)
    assert text.count(f"Excluded: {LEFT_OUT}.") == 2
    assert text.count("groups that are not under-represented in any system (excluded: c)") == 2
    assert text.count("value of all") == 2


@pytest.mark.slow
def test_figures_name_the_groups_left_out_and_draw_all_groups_faintly(unfair):
    figures = {figure.id: figure for figure in charts.figures(unfair)}
    for name in ("measures-accent", "over-alpha-accent", "over-fpr-accent"):
        assert LEFT_OUT in figures[name].reading
    assert "(0.966)" in json.dumps(figures["measures-accent"].chart)
    assert "(of all groups 0.971 to 0.961)" in figures["over-alpha-accent"].description
    assert '"all": 1' in json.dumps(figures["over-alpha-accent"].chart)


def test_the_terminal_names_the_groups_left_out(unfair, printed):
    shown = " ".join(printed(unfair).split())
    assert shown.count(f"Groups not judged in every system: {LEFT_OUT}.") == 2
    assert shown.count("n judged in all floor") == 2
    assert "spreads are computed over groups judged in every system and list" in shown


def test_systems_are_ranked_on_the_same_groups(unfair):
    _, between = disagreements(unfair)
    assert between == []  # over the same two groups, A and B are alike


def test_sentences_on_disagreements_are_of_the_groups_of_the_measures(unfair):
    within, _ = disagreements(unfair)
    assert within
    compared = (
        "The comparison below covers only groups with enough data (not under-represented) for FNR "
        "and FPR in all systems: a, b."
    )
    effect = "Small groups change the conclusion"
    # of all groups, and so before the sentence on which groups are compared
    assert any(words.startswith(effect) for sentences in within.values() for words in sentences)
    for scope, sentences in within.items():
        effects = [words for words in sentences if words.startswith(effect)]
        assert sentences[: len(effects)] == effects
        first_words, *others = sentences[len(effects) :]
        assert first_words == compared
        joint = unfair.meta.subset(**scope.filters, measure="fdr", gated=True, zero="none").rows()
        n_groups = {row["groups"] for row in joint}
        assert n_groups == {2}
        assert others
        assert not [words for words in others if re.search(r"\bc (has|is)\b", words)]


def test_a_group_of_higher_eer_is_one_that_differs_from_the_mean_after_adjustment(unfair):
    for system in "AB":
        filters = {"system": system, "grouping": "accent", "allocation": "both"}
        ratios = unfair.bias.subset(
            **filters, metric="eer", measure="ratio", reference="macro", zero="none"
        ).rows()
        expected = {
            row["group"]
            for row in ratios
            if row["definition"] == "linear" and row["value"] > 1 and row["p_holm"] <= 0.05
        }
        assert groups_of_higher_eer(unfair, filters) == expected
        assert bool(expected) == (system == "A")


@pytest.mark.slow
def test_a_group_that_is_small_in_one_system_is_counted_with_that_system(unfair, speakers):
    (caveat,) = (each for each in caveats(unfair) if each.code == "groups_under_represented")
    words = "1 of 3 groups is under-represented in at least one system (too few speakers, errors"
    assert caveat.short.startswith(words)
    assert caveat.sentence.startswith(words)
    assert "Under-represented for FPR: c (0 effective errors with A)." in caveat.sentence
    reordered = _audit({"B": _scores(0.0), "A": _scores(-4.0)}, speakers)
    for audit in (unfair, reordered):
        of_harm = {harm.name: " ".join(harm.sentences) for harm in harms(audit, None)}
        assert (
            f"Under-represented groups by accent at {POINT} in at least one system (fewer than 10 "
            "speakers, 5 effective errors or 45 pairs of speakers): c."
        ) in of_harm["Representation"]
    alike = _audit({"A": _scores(-4.0), "B": _scores(-4.0)}, speakers)
    (caveat,) = (each for each in caveats(alike) if each.code == "groups_under_represented")
    assert "at least one system" not in caveat.short
    assert "c (0 effective errors)." in caveat.sentence


def test_the_groups_of_which_a_ratio_is_the_largest_are_named(unfair):
    (aggregation,) = (each.sentences for each in harms(unfair, None) if each.name == "Aggregation")
    of_system = {
        name: words for name in "AB" for words in aggregation if words.startswith(f"{name}, accent")
    }
    among = "the largest ratio among"
    assert f"{among} 2 groups that are not under-represented at any operating" in of_system["A"]
    assert of_system["B"].endswith(f"{among} 3 groups.")
    assert len([words for words in aggregation if "not adjusted for the selection" in words]) == 1
    assert any(
        words.startswith("Each of these intervals is for one group") for words in aggregation
    )


@pytest.mark.slow
def test_the_only_ratio_of_a_system_is_not_said_to_be_the_largest(speakers):
    trials = _scores(0.0).filter(~pl.col("enrol").str.starts_with("c"))
    one_group = trials.filter(~pl.col("enrol").str.starts_with("b"))
    for frame, n_groups in ((trials, 2), (one_group, 1)):
        audit = _audit({"A": frame}, speakers)
        (aggregation,) = (
            each.sentences for each in harms(audit, None) if each.name == "Aggregation"
        )
        words = [sentence for sentence in aggregation if "cost at the common" in sentence]
        assert len(words) == 1
        assert ("the largest ratio among 2 groups" in words[0]) == (n_groups == 2)
        assert "1 group" not in words[0]
        selection = [sentence for sentence in aggregation if "adjusted for the sel" in sentence]
        assert [sentence[:33] for sentence in selection] == [
            "The interval is for this group al"
        ] * (n_groups == 2)


@pytest.mark.slow
def test_groups_that_lack_a_rate_are_not_said_to_be_under_represented(speakers):
    options = {"intervals": False}
    audit = _audit({"A": _scores(0.0, missing="b"), "B": _scores(0.5)}, speakers, **options)
    sentences = {scope.system: words for scope, words in disagreements(audit)[0].items()}
    assert (
        sentences["A"][0] == "The comparison below covers only groups with both error rates: a, c."
    )
    assert not [words for words in sentences["B"] if "covers only" in words]


@pytest.mark.slow
def test_a_difference_of_variances_is_called_by_its_measure(speakers):
    audit = _audit({"A": _scores(0.0), "B": _scores(0.4)}, speakers, compare=True)
    (pair,) = pairs(audit)
    labels = [row[0].text for grouping in pair.groupings for row in grouping.spreads.rows]
    assert [words for words in labels if "log" in words] == [
        "variance of log FNR",
        "variance of log FPR",
    ]
    (row,) = audit.comparison.subset(measure="spread", metric="fpr").rows()
    (sd_row,) = audit.meta.subset(system="B", measure="tau_log", metric="fpr", gated=True).rows()
    variance, sd = row["other"], sd_row["value"]
    assert abs(variance - sd**2) < abs(variance - sd)


def test_a_report_explains_a_kind_of_disagreement_once(unfair):
    within, _ = disagreements(unfair)
    text = " ".join(words for sentences in within.values() for words in sentences)
    for kind, explanation in (
        ("Differences and ratios disagree", "Small rates have small differences"),
        ("Base metrics disagree", "EER measures how well"),
    ):
        assert text.count(kind) > 1
        assert text.count(explanation) == 1


@pytest.mark.slow
def test_audits_that_do_not_name_the_groups_left_out_are_compared_on_all(unfair, tmp_path):
    unfair.save(tmp_path)
    path, hashes = tmp_path / "audit.json", tmp_path / "SHA256SUMS"
    content = json.loads(path.read_text())
    del content["tables"]["meta"]["left_out"]
    path.write_text(json.dumps(content))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    hashes.write_text(re.sub(r"\w{64}(?=  audit.json)", digest, hashes.read_text()))
    old = pv.load(tmp_path)
    heading = {"grouping": "accent", "operating_point": POINT}
    assert covers_same_groups(unfair, heading)
    assert not covers_same_groups(old, heading)
    text = markdown(old)
    assert text.count("all groups, as other groups are under-represented in other systems") == 2
    assert "Excluded: " not in text
