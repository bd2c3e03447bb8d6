"""Bias and metrics in replicates: by trials that are written out as often as they are drawn."""

import math

import numpy as np
import pytest
from scipy.special import stdtr, stdtrit

import parivox.auditing.run as running
from parivox import Counts, auc, eer
from parivox.auditing.draws import draw_speakers
from parivox.core.intervals import limits


def speaker_of(utterance):
    return utterance.partition("/")[0]


def group_of(row):
    """Group of a trial of people whose names begin with it; None between groups."""
    one, two = row["enrol"][0], row["test"][0]
    return one if one == two else None


VARIES = "the threshold, found on these trials, varies with them"
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
    kept = {}

    def keep(found, options, block, together):
        (one,) = found.trial_sets
        kept["draws"] = draw_speakers([one], found.groupings, options, block, together)
        kept["ids"] = list(one.speaker_table.ids)
        return kept["draws"]

    options = {"replicates": REPLICATES, "seed": SEED, "operating_points": ["eer", "min-cdet"]}
    options["reference"] = ["others", "pooled", "macro", "geomean", "best"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "_speaker_draws", keep)
        again = alike.audit(**options)
        fixed = alike.audit(**options, fixed_threshold=True)
    weights = [dict(zip(kept["ids"], row, strict=True)) for row in kept["draws"].weights.tolist()]
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
    found = []
    for weight in (usual, *drawn["weights"]):
        here, levels = {}, {}
        for cell, rows in cells.items():
            score, label = repeated(rows, speaker_of, weight)
            told = here.setdefault(cell, {})
            every, rates = at_every_threshold(score, label)
            cost = costs(rates)
            if cell == "all":
                gap = np.abs(rates[0] - rates[1])
                levels = {"eer": every[gap.argmin()], "min-cdet": every[cost.argmin()]}
            counts = Counts.from_scores(score, label)
            told["eer", "linear", ""] = float(eer(counts, definition="linear"))
            told["auc", "", ""] = float(auc(counts))
            told[MINIMA] = cost.min()
            for point, level in levels.items():
                for kind, at in (("again", level), ("fixed", thresholds[point])):
                    both = rates_at(score, label, at)
                    told["fpr", "", point, kind], told["fnr", "", point, kind] = both
                    told["cdet_norm", "voxsrc", point, kind] = costs(both)
        found.append(here)
    return found


def of_log(value, draws, df=11, *, one=1.0):
    """Interval and p value on a log scale."""
    sd = np.std(np.log(draws), ddof=1)
    half = stdtrit(df, 0.975) * sd
    p = 2 * stdtr(df, -abs(math.log(value / one)) / sd)
    return value * math.exp(-half), value * math.exp(half), p


def of_line(value, draws, df=11):
    half = stdtrit(df, 0.975) * np.std(draws, ddof=1)
    return value - half, value + half, 2 * stdtr(df, -abs(value) / np.std(draws, ddof=1))


def of(brute, cell, key):
    first, *rest = (one[cell][key] for one in brute)
    return first, np.array(rest)


@pytest.mark.parametrize("cell", ["a", "b", "pooled"])
@pytest.mark.parametrize("key", [("eer", "linear", ""), MINIMA])
def test_metrics_of_a_curve_have_the_interval_of_trials_written_out(
    drawn, brute, one_row, cell, key
):
    value, draws = of(brute, cell, key)
    where = dict(zip(("metric", "definition", "operating_point"), key, strict=True))
    row = one_row(drawn["again"].groups, group=cell, grouping="group", **where)
    low, high, _ = of_log(value, draws, 23 if cell == "pooled" else 11)
    high = min(high, 1)  # neither is above 1
    assert (row["value"], row["low"], row["high"]) == pytest.approx((value, low, high))
    assert row["interval"] == "bootstrap"
    assert row["se"] == pytest.approx(np.std(draws, ddof=1))


def test_auc_has_its_interval_on_the_scale_of_what_it_lacks(drawn, brute, one_row):
    value, draws = of(brute, "a", ("auc", "", ""))
    low, high, _ = of_log(1 - value, 1 - draws)
    row = one_row(drawn["again"].groups, group="a", metric="auc")
    assert (row["low"], row["high"]) == pytest.approx((1 - high, 1 - low))


@pytest.mark.parametrize("kind", ["again", "fixed"])
@pytest.mark.parametrize("cell", ["a", "b", "pooled"])
def test_costs_are_at_thresholds_found_again_or_kept(drawn, brute, one_row, cell, kind):
    value, draws = of(brute, cell, ("cdet_norm", "voxsrc", "min-cdet", kind))
    low, high, _ = of_log(value, draws, 23 if cell == "pooled" else 11)
    where = {"metric": "cdet_norm", "definition": "voxsrc", "operating_point": "min-cdet"}
    row = one_row(drawn[kind].groups, group=cell, grouping="group", **where)
    assert (row["value"], row["low"], row["high"]) == pytest.approx((value, low, high))


def test_a_kept_threshold_changes_what_rests_on_it_and_nothing_else(drawn):
    moved = set()
    again, fixed = (
        drawn[kind].groups.where(grouping="group").rows() for kind in ("again", "fixed")
    )
    for one, two in zip(again, fixed, strict=True):
        assert one["value"] == two["value"]
        if one["low"] != two["low"]:
            is_rate = one["metric"] in {"fpr", "fnr"}
            assert one["operating_point"]
            assert not is_rate or one["group"] == "pooled"
            moved.add(one["metric"])
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
    value, draws = of(brute, cell, (metric, "", point, "again"))
    where = {"group": cell, "metric": metric, "definition": "", "operating_point": point}
    where["grouping"] = "all" if cell == "all" else "group"
    again, fixed = (one_row(drawn[kind].groups, **where) for kind in ("again", "fixed"))
    assert again["value"] == pytest.approx(value)
    assert again["se"] == pytest.approx(np.std(draws, ddof=1))
    ends = limits(value, again["se"] ** 2, fixed["df"])
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
    a, b, pooled = (of(brute, cell, key) for cell in ("a", "b", "pooled"))
    if reference == "others":
        against = b
    elif reference == "pooled":
        against = pooled
    else:
        each = [[a[0], b[0]], *np.transpose([a[1], b[1]]).tolist()]
        first, *rest = map(REFERENCES[reference], each)
        against = first, np.array(rest)
    where = {"group": "a", "reference": reference, "metric": key[0], "zero": "none"}
    where |= {"definition": key[1], "operating_point": key[2]}
    ratio = a[0] / against[0], a[1] / against[1]
    row = one_row(drawn["again"].bias, **where, measure="ratio")
    if (key[0], reference) == ("eer", "others"):  # which is no sum of what is at hand
        assert (row["value"], row["low"], row["p"]) == (None, None, None)
        return
    if np.ptp(ratio[1]) > 0:
        assert (row["low"], row["high"], row["p"]) == pytest.approx(of_log(*ratio))
    apart = a[0] - against[0], a[1] - against[1]
    row = one_row(drawn["again"].bias, **where, measure="difference")
    if np.ptp(apart[1]) > 0:
        assert (row["low"], row["high"], row["p"]) == pytest.approx(of_line(*apart))


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["fpr", "fnr"])
@pytest.mark.parametrize("reference", REFERENCES)
def test_rates_against_what_has_no_closed_form_are_resampled(
    drawn, brute, one_row, metric, reference
):
    key = (metric, "", "eer", "again")
    a, b = (of(brute, cell, key) for cell in "ab")
    each = [[a[0], b[0]], *np.transpose([a[1], b[1]]).tolist()]
    first, *rest = map(REFERENCES[reference], each)
    where = {"group": "a", "reference": reference, "metric": metric, "operating_point": "eer"}
    for measure, found in (
        ("ratio", of_log(a[0] / first, a[1] / np.array(rest))),
        ("difference", of_line(a[0] - first, a[1] - np.array(rest))),
    ):
        row = one_row(drawn["again"].bias, **where, measure=measure, zero="none")
        assert (row["low"], row["high"], row["p"]) == pytest.approx(found)


def test_subgroup_and_threshold_bias_rest_on_the_smallest_cost(drawn, brute, one_row):
    a, pooled = (
        of(brute, c, ("cdet_norm", "voxsrc", "min-cdet", "again")) for c in ("a", "pooled")
    )
    own = of(brute, "a", MINIMA)
    row = one_row(drawn["again"].bias, group="a", measure="subgroup_bias")
    found = of_log(a[0] / pooled[0], a[1] / pooled[1])
    assert (row["low"], row["high"], row["p"]) == pytest.approx(found)
    row = one_row(drawn["again"].bias, group="a", measure="threshold_bias")
    low, high, _ = of_log(a[0] / own[0], a[1] / own[1])
    assert (row["low"], row["high"]) == pytest.approx((max(low, 1), high))  # at least 1
    assert (row["p"], row["p_holm"]) == (None, None)


@pytest.mark.slow
def test_nothing_is_told_by_draws_in_which_a_group_does_not_vary(people):
    """A fair system: a third of small groups without errors had a difference, p 8e-6."""
    draw, p = np.random.default_rng(0), {True: [], False: []}
    for _ in range(12):
        made = people(
            {"a": 6, "b": 8, "c": 8, "d": 30},
            fnr=lambda *_: (draw.binomial(6, draw.beta(0.5, 24.5)), 6),
            fpr=lambda *_: (0, 1),
        )
        audit = made.audit(reference=["others", "pooled"], replicates=99)
        errors = {row["group"]: row["errors"] for row in audit.groups.where(metric="fnr")}
        for row in audit.bias.where(metric="fnr", measure="difference"):
            p[errors[row["group"]] > 0].append(row["p"])
            if not errors[row["group"]] and row["value"]:
                assert row["high"] is None
                assert row["note"] == "no interval: no errors, nor in any replicate"
    assert len(p[False]) > 20
    assert set(p[False]) == {None}
    known = [one for one in p[True] if one is not None]
    assert len(known) > 20
    assert np.mean(np.array(known) < 0.05) <= 0.1


def test_a_reference_without_errors_does_not_vary_either(people):
    made = people({"a": 8, "b": 8}, fnr=lambda group, i: (i % 3 * (group == "a"), 10))
    (row,) = made.audit(reference="b").bias.where(metric="fnr", measure="difference", group="a")
    assert (row["low"], row["p"]) == (None, None)
    assert row["note"] == "no interval: the group or its reference is the same in all replicates"
