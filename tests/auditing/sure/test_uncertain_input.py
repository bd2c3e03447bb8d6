"""Groups, trials and options of which little can be said, and that it is said."""

import math

import pytest

import parivox as pv
from parivox.errors import ConfigError
from parivox.report.catalogue import finding_text
from parivox.report.terminal import print_summary

POINT = "threshold=0.5"
FEW = "no_interval_below_minimum"
ENDS = ("low", "high")


def rate(audit, group, metric="fnr", **row_filter):
    (row,) = audit.groups.subset(
        group=group, metric=metric, operating_point=POINT, grouping="group", **row_filter
    )
    return row


def check_all(audit):
    """What holds of every audit: limits around the value or none, p in [0, 1], words for it."""
    for name, table in audit.tables().items():
        for row in table:
            if not {"value", "low", "high"} <= {*row}:
                continue
            low, estimate, high = (row[column] for column in ("low", "value", "high"))
            assert (low is None) == (high is None), row
            if low is not None and row.get("measure") not in SKEWED:
                assert low <= estimate * (1 + 1e-9) + 1e-12, row
                assert estimate <= high * (1 + 1e-9) + 1e-12, row
            for p in ("p", "p_holm", "p_bh"):
                assert row.get(p) is None or 0 <= row[p] <= 1, row
            if name == "groups":
                assert (row["interval"] == "") == (low is None), row
                if estimate is None:
                    assert row["reason"], row
                elif low is None:
                    assert row["note"], row


SKEWED = {
    "locked_out_people",  # of people: what is not known of people is one-sided
    "speakers_above",
    "var_double_corrected",
}


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2, 4])
def test_of_few_speakers_the_rate_stands_alone(people, size):
    speakers = people({"a": size, "b": 9}, fnr=lambda group, i: (1 + i % 4, 20))
    audit = speakers.audit(limits="fnr=0.1", attempts=3)
    check_all(audit)
    row = rate(audit, "a")
    assert row["value"] == pytest.approx(sum(1 + i % 4 for i in range(size)) / (20 * size))
    assert (row["low"], row["high"], row["interval"], row["note"]) == (None, None, "", FEW)
    for measure in ("ratio", "difference", "neg_log_ratio"):
        (bias,) = audit.bias.subset(
            group="a", metric="fnr", measure=measure, operating_point=POINT, reference="others"
        )
        assert bias["value"] is not None
        assert [bias[name] for name in ("low", "high", "p", "p_holm")] == [None] * 4
    (verdict,) = audit.verdicts.subset(group="a", metric="fnr")
    assert (verdict["verdict"], verdict["reason"]) == ("inconclusive", "below_minimum")
    assert rate(audit, "b")["low"] is not None


@pytest.mark.slow
def test_a_group_that_is_only_met_has_no_lock_outs(people):
    speakers = people({"a": 6, "b": 6}, fnr=lambda group, i: (i % 3 if group == "a" else 0, 10))
    speakers.rows = [row for row in speakers.rows if not (row["label"] and row["enrol"][0] == "b")]
    audit = speakers.audit(limits=["fnr=0.1", "fpr=0.2"], attempts=2)
    check_all(audit)
    row = rate(audit, "b")
    assert (row["value"], row["reason"], row["note"]) == (None, "no_target_trials", "")
    assert rate(audit, "b", "fpr")["high"] is not None
    (verdict,) = audit.verdicts.subset(group="b", metric="fnr")
    assert (verdict["verdict"], verdict["reason"]) == ("inconclusive", "no_target_trials")
    assert verdict["gates"] == ""  # it is not too small
    assert finding_text(verdict).endswith("inconclusive: no target trials")
    limits = {row["measure"]: row for row in audit.limits.subset(group="b", metric="fnr")}
    assert limits["limit"]["verdict"] == "inconclusive"
    assert {row["reason"] for row in limits.values()} <= {"no_trials", "no_target_trials"}


@pytest.mark.slow
def test_a_list_of_one_class_has_intervals_of_that_class(people):
    speakers = people({"a": 6, "b": 6}, fnr=lambda group, i: (i % 3, 10))
    for listed_label, absent_metric, metric in ((1, "fpr", "fnr"), (0, "fnr", "fpr")):
        rows = [row for row in speakers.rows if row["label"] == listed_label]
        trials = {name: [row[name] for row in rows] for name in rows[0]}
        options = {"by": "group", "operating_points": POINT, "orientation": "similarity"}
        audit = pv.audit(trials, speakers=speakers.table, **options)
        check_all(audit)
        assert rate(audit, "a", metric)["high"] is not None
        assert rate(audit, "a", absent_metric)["value"] is None


@pytest.mark.slow
def test_one_trial_a_speaker_is_a_binomial_sample(people):
    speakers = people({"a": 20, "b": 20}, fnr=lambda group, i: (i % 5 == 0, 1))
    audit = speakers.audit(limits="fnr=0.1")
    check_all(audit)
    row = rate(audit, "a")
    assert row["deff"] == pytest.approx(20 / 19)  # of the jackknife's S - 1
    (above,) = audit.limits.subset(group="a", measure="speakers_above")
    assert (above["value"], above["reason"]) == (None, "few_trials_a_speaker")


@pytest.mark.slow
@pytest.mark.parametrize(("errors", "expected"), [(0, 0.0), (10, 1.0)])
def test_no_errors_or_nothing_else_have_an_interval_that_says_so(people, errors, expected):
    speakers = people(
        {"a": 8, "b": 8},
        fnr=lambda group, i: (errors if group == "a" else 1 + i % 4, 10),
        fpr=lambda group, i: (0, 4),
    )
    audit = speakers.audit(limits="fnr=0.3", attempts=2, orientation="similarity")
    check_all(audit)
    row = rate(audit, "a")
    assert (row["value"], row["interval"]) == (expected, "zero-errors")
    assert row["note"].startswith(("no_errors", "only_errors"))
    assert row["high"] - row["low"] >= 3 / 80 - 1e-12
    for group in ("a", "b", "pooled"):  # no group has false accepts: no design effect is known
        fpr = rate(audit, group, "fpr")
        assert (fpr["value"], fpr["low"]) == (0.0, 0.0)
        assert "speakers_as_trials" in fpr["note"]
        assert fpr["high"] >= 3 / fpr["trials"]


@pytest.mark.slow
def test_all_errors_everywhere(people):
    audit = people(
        {"a": 6, "b": 6}, fnr=lambda group, i: (10, 10), fpr=lambda group, i: (4, 4)
    ).audit(orientation="similarity", limits="fnr=0.5", attempts=3)
    check_all(audit)
    for metric in ("fpr", "fnr"):
        assert rate(audit, "a", metric)["high"] == 1
    assert {row["verdict"] for row in audit.verdicts if row["group"]} <= {
        "inconclusive",
        "equivalent",
    }


@pytest.mark.slow
def test_infinite_scores(people):
    speakers = people({"a": 8, "b": 8}, fnr=lambda group, i: (1 + i % 4, 10))
    for i, row in enumerate(speakers.rows):
        if i % 5 == 0:
            row["score"] = math.copysign(math.inf, row["score"] - 0.5)
    plain = people({"a": 8, "b": 8}, fnr=lambda group, i: (1 + i % 4, 10)).audit(limits="fnr=0.2")
    audit = speakers.audit(limits="fnr=0.2", operating_points=[POINT, "eer"])
    check_all(audit)
    for group in "ab":
        for metric in ("fpr", "fnr"):
            plain_rate, infinite_rate = (rate(listing, group, metric) for listing in (plain, audit))
            assert {**plain_rate, "threshold": None} == {**infinite_rate, "threshold": None}


@pytest.fixture(scope="module", params=["b", "others"])
def against_four(people, request):
    """Thirty people against four, by name and as everyone else."""
    speakers = people(
        {"a": 30, "b": 4},
        fnr=lambda group, i: (12 + i % 3 if group == "a" else 2 + i % 2, 20),
    )
    return request.param, speakers.audit(reference=request.param)


def test_rates_are_not_judged_against_a_handful_of_speakers(against_four):
    _, audit = against_four
    (row,) = audit.verdicts.subset(group="a", metric="fnr")
    assert row["verdict"] == "inconclusive"


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["fnr", "fpr", "cdet_norm", "eer"])
@pytest.mark.parametrize("measure", ["ratio", "neg_log_ratio", "difference"])
def test_nothing_is_inferred_against_a_handful_of_speakers(against_four, metric, measure):
    """Of four people there is no interval, so none of how others compare to them."""
    reference, audit = against_four
    rows = audit.bias.subset(group="a", metric=metric, measure=measure, reference=reference).rows()
    assert rows
    for row in rows:
        assert (row["low"], row["high"], row["p"]) == (None, None, None)


@pytest.mark.slow
def test_degrees_of_freedom_are_those_of_the_smaller_side(people):
    """docs/methods/uncertainty.md#intervals-from-replicates: S is the smaller speaker count
    involved."""
    speakers = people({"a": 60, "b": 5}, fnr=lambda group, i: (1 + i % 4, 20))
    audit = speakers.audit(reference="b", replicates=400)
    rows = audit.bias.subset(measure="ratio", metric="cdet_norm", operating_point=POINT)
    spreads = {}
    for row in rows.subset(reference="b", group="a"):
        spreads["a"] = math.log(row["high"] / row["low"]) / 2
    (smaller_row,) = audit.groups.subset(group="b", metric="cdet_norm", operating_point=POINT)
    assert spreads["a"] > 0.9 * math.log(smaller_row["high"] / smaller_row["low"]) / 2


@pytest.mark.slow
def test_what_more_than_one_in_twenty_replicates_lack_has_no_interval(people):
    """One speaker of seven has all nontarget errors: a third of the replicates have none."""

    def false_accepts(group, i):
        if group == "a":
            return (2 if i < 2 else 0), 4
        return int(i % 4 == 0), 4

    sizes = {"a": 7, "b": 12}
    speakers = people(sizes, fnr=lambda group, i: (1 + i % 4, 10), fpr=false_accepts)
    audit = speakers.audit(reference=["macro"], replicates=200)
    check_all(audit)
    (row,) = audit.bias.subset(
        group="a", metric="fpr", measure="neg_log_ratio", reference="macro", operating_point=POINT
    )
    assert math.isfinite(row["value"])
    assert (row["low"], row["p"]) == (None, None)
    (row,) = audit.groups.subset(group="a", metric="min_cdet_norm")
    assert row["low"] is not None


@pytest.mark.slow
def test_replicates_without_a_metric_are_counted_and_told(people):
    """The scores of one speaker alone overlap, so that the EER of half of the replicates is 0."""

    def false_rejects(group, i):
        if group == "b":
            return 2, 10
        return (4 if i == 0 else 0), 10

    speakers = people(
        {"a": 6, "b": 8},
        fnr=false_rejects,
        fpr=lambda group, i: (0 if group == "a" and i else 1, 5),
    )
    audit = speakers.audit(replicates=200)
    check_all(audit)
    (row,) = audit.groups.subset(group="a", metric="eer")
    assert row["value"] > 0
    assert (row["low"], row["interval"]) == (None, "")
    assert row["values"] == '{"no_interval": {"because": "often_undefined_or_zero"}}'


@pytest.mark.slow
def test_without_intervals_nothing_is_said_of_uncertainty(people):
    speakers = people({"a": 6, "b": 6}, fnr=lambda group, i: (1 + i % 4, 10))
    bare, full = speakers.audit(intervals=False), speakers.audit()
    for row in (*bare.groups, *bare.bias, *bare.meta):
        for name in ("low", "high", "p", "p_holm", "p_bh", "floor_mean", "floor_95", "deff", "se"):
            assert row.get(name) is None
        assert row.get("note", "") == row.get("interval", "") == ""
    assert not {"verdicts", "limits"} & {*bare.tables()}
    assert {row["measure"] for row in full.meta} - {row["measure"] for row in bare.meta} == {
        "heterogeneity",
        "tau_log",
        "var_corrected",
        "var_double_corrected",
    }
    assert not any(row["gated"] for row in bare.meta)
    rates = [[row["value"] for row in audit.groups] for audit in (bare, full)]
    assert rates[0] == rates[1]


@pytest.fixture(scope="module")
def counted(people, tmp_path_factory):
    path = tmp_path_factory.mktemp("counts") / "counts.json"
    speakers = people({"a": 6, "b": 6}, fnr=lambda group, i: (1 + i % 4, 10))
    pv.count(speakers.trials, speakers=speakers.table, by="group").save(path)
    return path


def test_counts_tell_why_there_is_no_interval(counted):
    audit = pv.audit(counted, operating_points=POINT)
    for row in audit.groups:
        assert row["low"] is None
        assert row["note"] == ("" if row["value"] is None else "no_interval")
        assert ("speakers_unknown_from_counts" in row["values"]) == bool(row["note"])
    assert not {"verdicts", "limits"} & {*audit.tables()}
    assert all(row["p"] is None and not row["gated"] for row in audit.meta)


@pytest.mark.parametrize("option", [{"limits": "fnr=0.1"}, {"attempts": 3}])
def test_counts_tell_nothing_of_people(counted, option):
    (name,) = option
    with pytest.raises(ConfigError, match=f"{name}: score counts contain no speakers"):
        pv.audit(counted, operating_points=POINT, **option)


DEGENERATE = {
    "one speaker": ({"a": 1, "b": 1}, lambda group, i: (1, 3)),
    "no errors": ({"a": 6, "b": 6}, lambda group, i: (0, 3)),
    "all errors": ({"a": 6, "b": 6}, lambda group, i: (3, 3)),
    "one trial each": ({"a": 6, "b": 2}, lambda group, i: (i % 2, 1)),
    "one group": ({"a": 6}, lambda group, i: (i % 2, 4)),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", DEGENERATE)
def test_of_little_there_is_still_a_summary(people, kind, tmp_path, capsys):
    speakers = people(*DEGENERATE[kind])
    audit = speakers.audit(limits="fnr=0.1", attempts=2, orientation="similarity")
    check_all(audit)
    print_summary(audit, details=True)
    summary = capsys.readouterr().out
    assert "nan" not in summary.lower().split()
    audit.save(tmp_path / "audit")
    assert pv.load(tmp_path / "audit").groups.rows() == audit.groups.rows()


@pytest.mark.slow
def test_the_share_of_replicates_without_a_value_is_told(people):
    """Three of six speakers have errors: one in 64 replicates draws none of them."""
    speakers = people(
        {"a": 6, "b": 6},
        fnr=lambda group, i: (2 if i < 3 else 0, 10),
        fpr=lambda group, i: (0, 5),
    )
    audit = speakers.audit(replicates=400)
    (row,) = audit.groups.subset(group="a", metric="eer")
    assert row["low"] < row["value"] < row["high"]
    assert "undefined_in_replicates" in row["note"]
