"""Bias and metrics in replicates: by trials that are written out as often as they are drawn."""

import math

import numpy as np
import pytest
from scipy.special import stdtr, stdtrit

from parivox import Counts, auc, eer
from parivox.auditing import draws as draws_module
from parivox.auditing.draws import draw_speakers
from parivox.core.intervals import limits


def speaker_of(utterance):
    return utterance.partition("/")[0]


def group_of(row):
    """Group of a trial of people whose names begin with it; None between groups."""
    enrol_group, test_group = row["enrol"][0], row["test"][0]
    return enrol_group if enrol_group == test_group else None


VARIES = "threshold_varies"
REPLICATES, SEED = 60, 11
COST = (0.05, 1.0, 1.0)
MINIMA = ("min_cdet_norm", "voxsrc", "")


def costs(rates):
    """Normalised cost of FPR and FNR at every threshold."""
    p, miss, false = COST
    return (p * miss * rates[1] + (1 - p) * false * rates[0]) / min(p * miss, (1 - p) * false)


def at_every_threshold(score, label):
    """Thresholds, rising, then above every score; FPR and FNR of accepting from there on."""
    levels = np.append(np.unique(score), np.inf)
    accepted = score[None] >= levels[:, None]
    return levels, np.stack((accepted[:, label == 0].mean(1), 1 - accepted[:, label == 1].mean(1)))


def rates_at(score, label, level):
    accepted = score >= level
    return np.array([accepted[label == 0].mean(), 1 - accepted[label == 1].mean()])


@pytest.fixture(scope="module")
def drawn(alike):
    """The audit of two groups, and what the very same speakers weigh in its replicates."""
    weighting = {}

    def record_draws(sources, groupings, options, assignment):
        (trial_set,) = sources
        weighting["draws"] = draw_speakers(sources, groupings, options, assignment)
        weighting["ids"] = list(trial_set.speaker_table.ids)
        return weighting["draws"]

    options = {"replicates": REPLICATES, "seed": SEED, "operating_points": ["eer", "min-cdet"]}
    options["reference"] = ["others", "pooled", "macro", "geomean", "best"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(draws_module, "draw_speakers", record_draws)
        again = alike.audit(**options)
        fixed = alike.audit(**options, fixed_threshold=True)
    weights = [
        dict(zip(weighting["ids"], row, strict=True)) for row in weighting["draws"].weights.tolist()
    ]
    return {"again": again, "fixed": fixed, "weights": weights}


def test_every_replicate_draws_as_many_speakers_of_each_group(drawn):
    for weight in drawn["weights"]:
        for group in "ab":
            assert sum(w for name, w in weight.items() if name[0] == group) == 12
    assert len({tuple(w.values()) for w in drawn["weights"]}) == REPLICATES


@pytest.fixture(scope="module")
def brute(alike, drawn, repeated):
    """Of each replicate and group (or all, or all within groups), what its trials show."""
    cells = {"all": alike.rows, "pooled": [r for r in alike.rows if group_of(r)]}
    cells |= {g: [r for r in alike.rows if group_of(r) == g] for g in "ab"}
    usual = dict.fromkeys(drawn["weights"][0], 1)
    thresholds = {
        row["operating_point"]: row["threshold"] for row in drawn["again"].operating_points
    }
    replicates = []
    for weight in (usual, *drawn["weights"]):
        by_cell, levels = {}, {}
        for cell, rows in cells.items():
            score, label = repeated(rows, speaker_of, weight)
            metrics = by_cell.setdefault(cell, {})
            all_thresholds, rates = at_every_threshold(score, label)
            cost = costs(rates)
            if cell == "all":
                gap = np.abs(rates[0] - rates[1])
                levels = {
                    "eer": all_thresholds[gap.argmin()],
                    "min-cdet": all_thresholds[cost.argmin()],
                }
            counts = Counts.from_scores(score, label)
            metrics["eer", "linear", ""] = float(eer(counts, definition="linear"))
            metrics["auc", "", ""] = float(auc(counts))
            metrics[MINIMA] = cost.min()
            for point, found_level in levels.items():
                for kind, level in (("again", found_level), ("fixed", thresholds[point])):
                    error_rates = rates_at(score, label, level)
                    metrics["fpr", "", point, kind], metrics["fnr", "", point, kind] = error_rates
                    metrics["cdet_norm", "voxsrc", point, kind] = costs(error_rates)
        replicates.append(by_cell)
    return replicates


def of_log(estimate, draws, df=11, *, null_ratio=1.0):
    """Interval and p value on a log scale."""
    sd = np.std(np.log(draws), ddof=1)
    half = stdtrit(df, 0.975) * sd
    p = 2 * stdtr(df, -abs(math.log(estimate / null_ratio)) / sd)
    return estimate * math.exp(-half), estimate * math.exp(half), p


def of_line(estimate, draws, df=11):
    half = stdtrit(df, 0.975) * np.std(draws, ddof=1)
    return estimate - half, estimate + half, 2 * stdtr(df, -abs(estimate) / np.std(draws, ddof=1))


def sample_and_replicates(brute, cell, key):
    estimate, *replicates = (replicate[cell][key] for replicate in brute)
    return estimate, np.array(replicates)


@pytest.mark.parametrize("cell", ["a", "b", "pooled"])
@pytest.mark.parametrize("key", [("eer", "linear", ""), MINIMA])
def test_metrics_of_a_curve_have_the_interval_of_trials_written_out(
    drawn, brute, one_row, cell, key
):
    estimate, draws = sample_and_replicates(brute, cell, key)
    row_filter = dict(zip(("metric", "definition", "operating_point"), key, strict=True))
    row = one_row(drawn["again"].groups, group=cell, grouping="group", **row_filter)
    low, high, _ = of_log(estimate, draws, 23 if cell == "pooled" else 11)
    high = min(high, 1)  # neither is above 1
    assert (row["value"], row["low"], row["high"]) == pytest.approx((estimate, low, high))
    assert row["interval"] == "bootstrap"
    assert row["se"] == pytest.approx(np.std(draws, ddof=1))


def test_auc_has_its_interval_on_the_scale_of_what_it_lacks(drawn, brute, one_row):
    estimate, draws = sample_and_replicates(brute, "a", ("auc", "", ""))
    low, high, _ = of_log(1 - estimate, 1 - draws)
    row = one_row(drawn["again"].groups, group="a", metric="auc")
    assert (row["low"], row["high"]) == pytest.approx((1 - high, 1 - low))


@pytest.mark.parametrize("kind", ["again", "fixed"])
@pytest.mark.parametrize("cell", ["a", "b", "pooled"])
def test_costs_are_at_thresholds_found_again_or_kept(drawn, brute, one_row, cell, kind):
    estimate, draws = sample_and_replicates(brute, cell, ("cdet_norm", "voxsrc", "min-cdet", kind))
    low, high, _ = of_log(estimate, draws, 23 if cell == "pooled" else 11)
    row_filter = {"metric": "cdet_norm", "definition": "voxsrc", "operating_point": "min-cdet"}
    row = one_row(drawn[kind].groups, group=cell, grouping="group", **row_filter)
    assert (row["value"], row["low"], row["high"]) == pytest.approx((estimate, low, high))


def test_a_kept_threshold_changes_what_rests_on_it_and_nothing_else(drawn):
    moved = set()
    again, fixed = (
        drawn[kind].groups.subset(grouping="group").rows() for kind in ("again", "fixed")
    )
    for row, fixed_row in zip(again, fixed, strict=True):
        assert row["value"] == fixed_row["value"]
        if row["low"] != fixed_row["low"]:
            is_rate = row["metric"] in {"fpr", "fnr"}
            assert row["operating_point"]
            assert not is_rate or row["group"] == "pooled"
            moved.add(row["metric"])
    assert (
        {"cdet_norm", "hter", "fpr", "fnr"}
        <= moved
        <= {"cdet_norm", "cdet_raw", "hter", "fpr", "fnr"}
    )


@pytest.mark.parametrize("cell", ["all", "pooled"])
@pytest.mark.parametrize(("metric", "point"), [("fpr", "eer"), ("fnr", "eer"), ("fnr", "min-cdet")])
def test_rates_of_all_trials_vary_with_the_threshold_that_was_found_on_them(
    drawn, brute, one_row, metric, point, cell
):
    estimate, draws = sample_and_replicates(brute, cell, (metric, "", point, "again"))
    row_filter = {"group": cell, "metric": metric, "definition": "", "operating_point": point}
    row_filter["grouping"] = "all" if cell == "all" else "group"
    again, fixed = (one_row(drawn[kind].groups, **row_filter) for kind in ("again", "fixed"))
    assert again["value"] == pytest.approx(estimate)
    assert again["se"] == pytest.approx(np.std(draws, ddof=1))
    ends = limits(estimate, again["se"] ** 2, fixed["df"])
    assert (again["low"], again["high"]) == pytest.approx([float(end) for end in ends])
    assert again["note"].split("; ")[-1] == VARIES
    assert VARIES not in fixed["note"]
    for name in ("interval", "deff", "n_eff", "df"):
        assert again[name] == fixed[name]


REFERENCES = {
    "macro": lambda x: sum(x) / len(x),
    "geomean": lambda x: math.prod(x) ** (1 / len(x)),
    "best": min,
}


@pytest.mark.slow
@pytest.mark.parametrize("reference", ["others", "pooled", *REFERENCES])
@pytest.mark.parametrize(
    "key", [("cdet_norm", "voxsrc", "min-cdet", "again"), ("eer", "linear", "")]
)
def test_bias_is_resampled_jointly_with_its_reference(drawn, brute, one_row, key, reference):
    a, b, pooled = (sample_and_replicates(brute, cell, key) for cell in ("a", "b", "pooled"))
    if reference == "others":
        against = b
    elif reference == "pooled":
        against = pooled
    else:
        group_values = [[a[0], b[0]], *np.transpose([a[1], b[1]]).tolist()]
        mean_value, *mean_replicates = map(REFERENCES[reference], group_values)
        against = mean_value, np.array(mean_replicates)
    row_filter = {"group": "a", "reference": reference, "metric": key[0], "zero": "none"}
    row_filter |= {"definition": key[1], "operating_point": key[2]}
    ratio = a[0] / against[0], a[1] / against[1]
    row = one_row(drawn["again"].bias, **row_filter, measure="ratio")
    if (key[0], reference) == ("eer", "others"):  # which is no sum of what is at hand
        assert (row["value"], row["low"], row["p"]) == (None, None, None)
        return
    if np.ptp(ratio[1]) > 0:
        assert (row["low"], row["high"], row["p"]) == pytest.approx(of_log(*ratio))
    apart = a[0] - against[0], a[1] - against[1]
    row = one_row(drawn["again"].bias, **row_filter, measure="difference")
    if np.ptp(apart[1]) > 0:
        assert (row["low"], row["high"], row["p"]) == pytest.approx(of_line(*apart))


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["fpr", "fnr"])
@pytest.mark.parametrize("reference", REFERENCES)
def test_rates_against_what_has_no_closed_form_are_resampled(
    drawn, brute, one_row, metric, reference
):
    key = (metric, "", "eer", "again")
    a, b = (sample_and_replicates(brute, cell, key) for cell in "ab")
    group_values = [[a[0], b[0]], *np.transpose([a[1], b[1]]).tolist()]
    mean_value, *mean_replicates = map(REFERENCES[reference], group_values)
    row_filter = {"group": "a", "reference": reference, "metric": metric, "operating_point": "eer"}
    for measure, interval in (
        ("ratio", of_log(a[0] / mean_value, a[1] / np.array(mean_replicates))),
        ("difference", of_line(a[0] - mean_value, a[1] - np.array(mean_replicates))),
    ):
        row = one_row(drawn["again"].bias, **row_filter, measure=measure, zero="none")
        assert (row["low"], row["high"], row["p"]) == pytest.approx(interval)


def test_subgroup_and_threshold_bias_rest_on_the_smallest_cost(drawn, brute, one_row):
    a, pooled = (
        sample_and_replicates(brute, c, ("cdet_norm", "voxsrc", "min-cdet", "again"))
        for c in ("a", "pooled")
    )
    smallest_costs = sample_and_replicates(brute, "a", MINIMA)
    row = one_row(drawn["again"].bias, group="a", measure="subgroup_bias")
    interval = of_log(a[0] / pooled[0], a[1] / pooled[1])
    assert (row["low"], row["high"], row["p"]) == pytest.approx(interval)
    row = one_row(drawn["again"].bias, group="a", measure="threshold_bias")
    low, high, _ = of_log(a[0] / smallest_costs[0], a[1] / smallest_costs[1])
    assert (row["low"], row["high"]) == pytest.approx((max(low, 1), high))  # at least 1
    assert (row["p"], row["p_holm"]) == (None, None)


@pytest.mark.slow
def test_nothing_is_told_by_draws_in_which_a_group_does_not_vary(people):
    """A fair system: a third of small groups without errors had a difference, p 8e-6."""
    draw, p = np.random.default_rng(0), {True: [], False: []}
    for _ in range(12):
        speakers = people(
            {"a": 6, "b": 8, "c": 8, "d": 30},
            fnr=lambda *_: (draw.binomial(6, draw.beta(0.5, 24.5)), 6),
            fpr=lambda *_: (0, 1),
        )
        audit = speakers.audit(reference=["others", "pooled"], replicates=99)
        errors = {row["group"]: row["errors"] for row in audit.groups.subset(metric="fnr")}
        for row in audit.bias.subset(metric="fnr", measure="difference"):
            p[errors[row["group"]] > 0].append(row["p"])
            if not errors[row["group"]] and row["value"]:
                assert row["high"] is None
                assert row["values"] == '{"no_interval": {"because": "no_errors_in_any_replicate"}}'
    assert len(p[False]) > 20
    assert set(p[False]) == {None}
    p_values = [p_value for p_value in p[True] if p_value is not None]
    assert len(p_values) > 20
    assert np.mean(np.array(p_values) < 0.05) <= 0.1


@pytest.mark.slow
def test_a_reference_without_errors_does_not_vary_either(people):
    speakers = people({"a": 8, "b": 8}, fnr=lambda group, i: (i % 3 if group == "a" else 0, 10))
    (row,) = speakers.audit(reference="b").bias.subset(
        metric="fnr", measure="difference", group="a"
    )
    assert (row["low"], row["p"]) == (None, None)
    assert row["values"] == '{"no_interval": {"because": "same_group_or_reference"}}'
