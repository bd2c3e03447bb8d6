"""What is concluded of each group, on trials made for each conclusion."""

import json

import numpy as np
import pytest

import parivox as pv
from parivox.core.verdict import holm
from parivox.report.catalogue import finding_text
from parivox.report.exports import metrics_by_name
from parivox.report.overview import overview

POINT = "threshold=0.5"


def verdict(audit, group, metric="fnr"):
    (row,) = audit.verdicts.subset(group=group, metric=metric, operating_point=POINT)
    return row


def close_to(share, n, i):
    """About so many errors in n trials, one more or less from speaker to speaker."""
    return round(share * n) + (i % 3 - 1 if share > 0 else 0), n


@pytest.fixture(scope="module")
def clear(people):
    """`a` is locked out often, `b` rarely; `c` has the usual rates, `d` too few speakers.

    Impostors get into `a` rarely and into `b` often.
    """
    rates = {"a": (0.3, 0.02), "b": (0.02, 0.3), "c": (0.1, 0.1), "d": (0.5, 0.4)}
    return people(
        {"a": 12, "b": 12, "c": 20, "d": 4},
        fnr=lambda group, i: close_to(rates[group][0], 60, i),
        fpr=lambda group, i: (int(10 * rates[group][1] + (i % 5) / 5), 10),
    ).audit()


def test_a_group_with_more_errors_is_worse_and_one_with_fewer_better(clear):
    assert verdict(clear, "a")["verdict"] == "worse"
    assert verdict(clear, "b")["verdict"] == "better"
    assert verdict(clear, "a", "fpr")["verdict"] == "better"
    assert verdict(clear, "b", "fpr")["verdict"] == "worse"
    row = verdict(clear, "a")
    assert row["low"] > 1
    assert row["p_holm"] < 0.05
    times = f"false rejects are {row['ratio']:.1f} times as frequent ["
    assert finding_text(row).startswith(times)
    assert finding_text(row).endswith("] as among all other groups combined")


def test_opposite_directions_stand_in_one_sentence(clear):
    assert finding_text(verdict(clear, "b", "fpr+fnr")) == (
        "more false accepts; fewer false rejects"
    )
    assert finding_text(verdict(clear, "a", "fpr+fnr")) == (
        "fewer false accepts; more false rejects"
    )
    assert {verdict(clear, group, "fpr+fnr")["verdict"] for group in "ab"} == {"differs"}


def test_a_group_of_fewer_than_five_speakers_is_never_judged(clear, people):
    for metric in ("fpr", "fnr"):
        row = verdict(clear, "d", metric)
        assert (row["verdict"], row["reason"]) == ("inconclusive", "below_minimum")
        assert row["gates"].startswith("speakers_below_minimum")
    assert verdict(clear, "d", "fpr+fnr")["verdict"] == "inconclusive"


def test_holm_is_over_the_groups_and_both_errors(clear):
    rows = [verdict(clear, group, metric) for metric in ("fpr", "fnr") for group in "abcd"]
    p = [np.nan if row["p"] is None else row["p"] for row in rows]
    of_all = [verdict(clear, "", metric)["p"] for metric in ("fpr", "fnr")]
    # it is asked at once whether groups differ at all, and which of them
    expected = np.maximum(holm(p), 2 * min(np.nanmin(holm(p)), holm(of_all).min()))
    adjusted = [np.nan if row["p_holm"] is None else row["p_holm"] for row in rows]
    np.testing.assert_allclose(adjusted, expected)
    is_known = ~np.isnan(p)
    assert is_known.sum() == 6  # all but the group that has no interval
    assert np.nanmin(adjusted) == pytest.approx(2 * 6 * np.nanmin(p))


def test_the_ratio_is_that_of_the_table_of_bias(clear):
    for metric in ("fpr", "fnr"):
        for group in "abcd":
            row_filter = {"group": group, "metric": metric, "operating_point": POINT}
            (bias,) = clear.bias.subset(**row_filter, reference="others", measure="ratio")
            row = verdict(clear, group, metric)
            assert row["ratio"] == bias["value"]
            for name in ("low", "high", "p"):
                assert row[name] == bias[name]


def test_the_verdict_on_a_system_is_made_of_those_on_its_groups(clear):
    for metric in ("fpr", "fnr", "fpr+fnr"):
        row = verdict(clear, "", metric)
        assert row["verdict"] == "differs"
        assert row["ratio"] is None
        codes = {g: verdict(clear, g, metric)["verdict"] for g in "abcd"}
        differ = [g for g, code in codes.items() if code in {"worse", "better", "differs"}]
        if metric == "fpr+fnr":
            plain = [g for g in differ if not verdict(clear, g, metric)["because_of"]]
            assert finding_text(row).startswith(f"{len(plain)} of 4 groups differ: a, b; better (")
        else:
            assert finding_text(row).startswith(
                f"rates differ between groups (adjusted p = {row['p_holm']:.2g}); "
            )
            assert all(group in finding_text(row).partition("the other")[0] for group in differ)
        assert "inconclusive" in finding_text(row)


@pytest.fixture(scope="module")
def level(people):
    """Two large groups with the same errors."""
    return people(
        {"a": 30, "b": 30},
        fnr=lambda group, i: close_to(0.2, 100, i),
        fpr=lambda group, i: (1 + i % 2, 5),
    )


@pytest.mark.slow
def test_equivalent_is_said_of_intervals_within_the_margin(level):
    audit = level.audit()
    for group in "ab":
        for metric in ("fpr", "fnr"):
            row = verdict(audit, group, metric)
            assert (row["verdict"], row["reason"]) == ("equivalent", "")
            assert 1 / 1.25 <= row["low"] <= 1 <= row["high"] <= 1.25
        assert verdict(audit, group, "fpr+fnr")["verdict"] == "equivalent"
    row = verdict(audit, "", "fpr+fnr")
    assert row["verdict"] == "equivalent"
    assert finding_text(row) == (
        "both groups are equivalent (rates within a factor of 1.25 of each other)"
    )


@pytest.mark.slow
def test_a_narrower_margin_leaves_open_what_a_wider_one_closes(level):
    ends = verdict(level.audit(), "a", "fnr")
    narrow = 1 + 0.5 * (ends["high"] - 1)
    row = verdict(level.audit(margin=narrow), "a", "fnr")
    assert (row["verdict"], row["reason"]) == ("inconclusive", "too_wide")
    assert row["margin"] == pytest.approx(narrow)
    assert verdict(level.audit(margin=narrow), "", "fnr")["verdict"] == "inconclusive"
    wide = verdict(level.audit(margin=1 + 2 * (ends["high"] - 1)), "a", "fnr")
    assert wide["verdict"] == "equivalent"


@pytest.mark.slow
def test_a_real_difference_within_the_margin_is_none_that_matters(level, clear, people):
    speakers = people(
        {"a": 30, "b": 30},
        fnr=lambda group, i: (22 if group == "a" else 20, 100),
        fpr=lambda group, i: (int(i % 5 == 0), 3),
    )
    row = verdict(speakers.audit(margin=1.5), "a")
    assert row["verdict"] == "equivalent"
    assert row["low"] < row["ratio"] < row["high"] < 1.5


@pytest.mark.slow
def test_few_speakers_who_differ_leave_it_open(people):
    audit = people(
        {"a": 6, "b": 20},
        fnr=lambda group, i: (25 if (group, i) == ("a", 0) else 2 + i % 3, 50),
    ).audit()
    row = verdict(audit, "a")
    assert row["ratio"] > 1.5
    assert (row["verdict"], row["reason"]) == ("inconclusive", "too_wide")
    assert "inconclusive" in finding_text(row)
    assert finding_text(row).endswith("interval too wide")


@pytest.mark.slow
def test_a_group_without_errors_is_better_only_if_enough_is_known_of_it(people):
    def audit_of(n, trials):
        return people(
            {"a": n, "b": 20},
            fnr=lambda group, i: (0, trials) if group == "a" else (1 + int(i % 3 == 0), 30),
        ).audit()

    many, few = verdict(audit_of(20, 60), "a"), verdict(audit_of(5, 15), "a")
    assert (many["verdict"], many["ratio"]) == ("better", 0)
    assert finding_text(many).startswith("no false rejects; upper limit: ")
    assert few["ratio"] == 0
    assert few["high"] > 1
    assert (few["verdict"], few["reason"]) == ("inconclusive", "no_errors")


@pytest.mark.slow
def test_one_weak_finding_among_many_groups_is_no_finding(people):
    audit = people(
        dict.fromkeys("abcdefghijkl", 10),
        fnr=lambda group, i: ((8 if group == "a" else 5) + 2 * (i % 4), 60),
        fpr=lambda group, i: (int(i % 7 == 0), 3),
    ).audit()
    row = verdict(audit, "a")
    assert row["low"] > 1
    assert 4 * row["p"] < 0.05  # it would be one if there were two groups
    assert row["p_holm"] == pytest.approx(2 * 24 * row["p"])  # asked of all at once, too
    assert (row["verdict"], row["reason"]) == ("inconclusive", "not_after_holm")
    assert finding_text(row).endswith("not significant after adjustment")


@pytest.mark.slow
def test_a_named_reference_is_not_judged(level, people):
    speakers = people(
        {"a": 12, "b": 12, "c": 12},
        fnr=lambda group, i: close_to({"a": 0.1, "b": 0.1, "c": 0.4}[group], 50, i),
    )
    audit = speakers.audit(reference=["b", "others"])
    row = verdict(audit, "b")
    assert (row["verdict"], row["reason"]) == ("inconclusive", "is_reference")
    assert {r["reference"] for r in audit.verdicts} == {"b"}
    assert verdict(audit, "c")["verdict"] == "worse"
    assert finding_text(verdict(audit, "c")).endswith("] as among b")
    assert finding_text(verdict(audit, "", "fnr")).endswith(
        "; worse: c; 1 of 2 groups is inconclusive"
    )


@pytest.mark.parametrize(
    ("reference", "compared_rate"),
    [("others", "the rate of all other groups combined"), ("b", "the rate of b")],
)
def test_rates_may_differ_although_all_groups_are_equivalent(reference, compared_rate):
    equivalent = {"groups": 3, "margin": 1.25, "reference": reference}
    row = {
        "sentence": "rates_differ; all_groups_equivalent",
        "values": json.dumps({"rates_differ": {"p": 0.01}, "all_groups_equivalent": equivalent}),
    }
    assert finding_text(row) == (
        "rates differ between groups (adjusted p = 0.01), but all 3 groups are equivalent "
        f"(rates within a factor of 1.25 of {compared_rate})"
    )


@pytest.mark.slow
def test_the_reference_does_not_keep_a_system_from_having_equivalents(level):
    row = verdict(level.audit(reference="b"), "", "fpr+fnr")
    assert row["verdict"] == "equivalent"
    assert finding_text(row) == (
        "the one group is equivalent (rates within a factor of 1.25 of the rate of b)"
    )


@pytest.mark.slow
def test_nothing_is_concluded_at_a_point_that_was_not_found(level):
    audit = level.audit(operating_points=[POINT, "bayes"], llr=True)
    points = {row["operating_point"]: row["reason"] for row in audit.operating_points}
    judged_points = {row["operating_point"] for row in audit.verdicts}
    assert judged_points == {point for point, reason in points.items() if not reason}


@pytest.mark.slow
def test_verdicts_follow_the_confidence(people):
    speakers = people(
        {"a": 10, "b": 10},
        fnr=lambda group, i: ((9 if group == "a" else 6) + 3 * (i % 3), 60),
        fpr=lambda group, i: (int(i % 3 == 0), 3),
    )
    p = verdict(speakers.audit(), "a")["p_holm"]
    assert 0.002 < p < 0.4
    for confidence in (0.6, 0.999):
        row = verdict(speakers.audit(confidence=confidence), "a")
        assert (row["verdict"] == "worse") == (row["p_holm"] < 1 - confidence)
        assert row["p_holm"] == pytest.approx(p, rel=1e-6)  # which no confidence changes


@pytest.fixture(scope="module")
def one_bad(people):
    """Three groups alike and `d`, who are locked out four times as often."""
    rates = {"a": 0.1, "b": 0.1, "c": 0.1, "d": 0.4}
    return people(dict.fromkeys(rates, 30), fnr=lambda group, i: close_to(rates[group], 60, i))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"reference": "pooled"},
        pytest.param({"reference": "macro"}, marks=pytest.mark.slow),
        pytest.param({"interval": "bootstrap"}, marks=pytest.mark.slow),
    ],
)
def test_better_than_one_bad_group_is_said_with_its_name(one_bad, options):
    audit = one_bad.audit(**options)
    for group in "abc":
        row = verdict(audit, group)
        assert (row["verdict"], row["because_of"]) == ("better", "d")
        assert " (not confirmed without d: 1.0 times as frequent [" in finding_text(row)
        both_rates = verdict(audit, group, "fpr+fnr")
        assert both_rates["because_of"] == "d"
        assert finding_text(both_rates).endswith("fewer false rejects (not confirmed without d)")
    assert verdict(audit, "d")["because_of"] == ""
    words = "better (not confirmed without d): a, b, c"
    assert finding_text(verdict(audit, "")).endswith(f"worse: d; {words}")
    system_verdict = verdict(audit, "", "fpr+fnr")
    assert finding_text(system_verdict) == f"1 of 4 groups differs: d; {words}"


@pytest.mark.slow
def test_better_is_nowhere_read_without_the_group_that_it_rests_on(one_bad):
    audit = one_bad.audit()
    ratios = {row["group"]: row for row in audit.ratios("fnr")}
    metrics = metrics_by_name(audit)
    for group in "abcd":
        columns = verdict(audit, group)["verdict"], verdict(audit, group)["because_of"]
        assert (ratios[group]["verdict"], ratios[group]["because_of"]) == columns
        (fields,) = [
            fields
            for name, fields in metrics.items()
            if name.endswith(f"/{group}/{POINT}/fnr") and "verdict" in fields
        ]
        assert (fields["verdict"], fields.get("because_of", "")) == columns
    assert [ratios[group]["because_of"] for group in "abcd"] == ["d", "d", "d", ""]


@pytest.mark.slow
def test_the_first_screen_counts_groups_that_are_too_small_and_not_confirmed_apart(people):
    rates = {"a": 0.1, "b": 0.1, "c": 0.1, "d": 0.4, "e": 0.1}
    sizes = dict.fromkeys(rates, 30) | {"e": 3}
    audit = people(sizes, fnr=lambda group, i: close_to(rates[group], 60, i)).audit()
    rows = [row for row in audit.verdicts if row["group"] and row["metric"] in {"fnr", "fpr"}]
    n_small = sum(row["reason"] == "below_minimum" for row in rows)
    n_not_confirmed = sum(bool(row["because_of"]) for row in rows)
    assert n_small
    assert n_not_confirmed
    note = overview(audit).inconclusive_note
    assert f"too few speakers, errors or pairs ({n_small})" in note
    assert f"better, but not confirmed without the worst group ({n_not_confirmed})" in note


def test_better_stands_where_it_does_not_rest_on_one_group(clear):
    row = verdict(clear, "b")
    assert (row["verdict"], row["because_of"]) == ("better", "")
    assert verdict(clear, "c")["because_of"] == "a"  # of three that can be judged
    assert verdict(clear, "b", "fpr+fnr")["because_of"] == ""


@pytest.mark.slow
def test_without_the_worst_group_means_that_the_audit_of_the_others_says_it(one_bad):
    audit = one_bad.audit()
    rows = [row for row in one_bad.rows if not row["enrol"].startswith("d")]
    without_worst = pv.audit(
        {name: [row[name] for row in rows] for name in rows[0]},
        speakers=one_bad.table,
        by="group",
        operating_points=POINT,
        reference="others",
        bins="exact",
    )
    for group in "abc":
        row = verdict(without_worst, group)
        ends = "{:.1f} times as frequent [{:.2g}, {:.1f}]".format(
            row["ratio"], row["low"], row["high"]
        )
        assert finding_text(verdict(audit, group)).endswith(f"(not confirmed without d: {ends})")


@pytest.mark.slow
def test_where_trials_count_for_two_groups_better_is_said_not_to_be_checked():
    speakers = [f"{group}{i:02d}" for group in "abc" for i in range(12)]
    trials = {"enrol": [], "test": [], "label": [], "score": []}

    def add(enrol_speaker, test_speaker, k, label, score):
        row = f"{enrol_speaker}/a{k}", f"{test_speaker}/b{k}", label, score
        for name, cell in zip(trials, row, strict=True):
            trials[name].append(cell)

    for i, enrol_speaker in enumerate(speakers):
        for k in range(20):
            add(enrol_speaker, enrol_speaker, k, 1, float(k > 1))
        for j, test_speaker in enumerate(speakers[:i]):
            n_wrong = {"a": 0, "b": 3, "c": 6}[max(enrol_speaker[0], test_speaker[0])] + (i + j) % 2
            for k in range(10):
                add(enrol_speaker, test_speaker, k, 0, float(k < n_wrong))
    audit = pv.audit(
        trials,
        speakers={"id": speakers, "group": [name[0] for name in speakers]},
        by="group",
        allocate=["either", "both"],
        operating_points=POINT,
        replicates=100,
    )
    row_by_allocation = {
        row["allocation"]: row
        for row in audit.verdicts.subset(group="a", metric="fpr", operating_point=POINT)
    }
    assert [row["verdict"] for row in row_by_allocation.values()] == ["better", "better"]
    assert row_by_allocation["either"]["because_of"] == ""
    assert finding_text(row_by_allocation["either"]).endswith(
        "(not checked without the worst group, as some trials count for two groups)"
    )
    assert "not checked" not in finding_text(row_by_allocation["both"])


@pytest.mark.slow
def test_groups_without_impostors_are_not_among_those_of_which_it_cannot_be_told(people):
    sizes = {"a": 12, "b": 12, "c": 12, "d": 12}
    speakers = people(
        sizes,
        fnr=lambda group, i: close_to(0.1, 60, i),
        fpr=lambda group, i: (0, 0) if group in "cd" else (int(i % 3 == 0), 3),
    )
    sentences = {
        metric: finding_text(verdict(speakers.audit(), "", metric)) for metric in ("fpr", "fnr")
    }
    assert sentences["fpr"].startswith("no significant difference; both groups are inconclusive")
    assert "; 2 groups have no nontarget trials" in sentences["fpr"]
    assert "no nontarget trials" not in sentences["fnr"]


@pytest.mark.slow
def test_what_rests_on_speakers_who_vary_alike_in_all_groups_says_so(people):
    """In three of nine groups a few speakers have most of the errors."""
    wild = {"g": (4, 45), "h": (4, 45), "i": (1, 20)}

    def errors(group, i):
        n, many = wild.get(group, (0, 0))
        few = 1 if group in wild else 2 + i % 3
        return many if i < n else few, 60

    speakers = people(dict.fromkeys("abcdefghi", 20), fnr=errors, fpr=lambda group, i: (0, 1))
    audit = speakers.audit(replicates=999)
    row = verdict(audit, "")
    assert (row["verdict"], row["p_holm"] < 0.05) == ("differs", True)
    assert row["reason"] == "if_equal_variation"
    assert finding_text(row).startswith(
        "rates differ between groups, assuming that variation between speakers is similar in all "
        "groups (adjusted p = 0.0"
    )
    sentence = finding_text(verdict(audit, "", "fpr+fnr"))
    assert sentence.startswith(
        "rates differ between groups, assuming that variation between speakers is similar in all "
        "groups; all 9 groups are"
    )
    (words,) = [
        words
        for words in overview(audit).finding_sentences
        if "are not equal in all groups" in words
    ]
    assert (
        ", assuming that variation between speakers is similar in all groups), but no single group "
        "is shown" in words
    )


def test_what_a_group_shows_by_itself_does_not_rest_on_others_who_vary_alike(clear):
    assert not verdict(clear, "")["reason"]
    assert "assuming that variation between speakers" not in finding_text(verdict(clear, ""))
