"""Replicates of every kind of grouping, allocation, level and point, by weighted plain loops."""

import numpy as np
import pytest
from scipy.special import stdtr, stdtrit

import parivox as pv
from parivox import Counts, eer
from parivox.auditing import draws as draws_module
from parivox.auditing.draws import draw_speakers

RULES = ("both", "enrol", "test", "either")
GROUPINGS = ("gender", "channel", "device")
POINTS = ("threshold=0.9", "deployed")
REPLICATES = 50


@pytest.fixture(scope="module")
def drawn(bank):
    """The audit, and what each speaker weighs in each of its replicates."""
    weighting = {}

    def record_draws(sources, groupings, options, assignment):
        (trial_set,) = sources
        weighting["draws"] = draw_speakers(sources, groupings, options, assignment)
        weighting["ids"] = list(trial_set.speaker_table.ids)
        return weighting["draws"]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(draws_module, "draw_speakers", record_draws)
        audit = pv.audit(
            bank.table(bank.scored, "device", "decision"),
            speakers=bank.customers,
            utterances=bank.calls,
            by=GROUPINGS,
            within="same:region",
            allocate=RULES,
            operating_points=POINTS,
            reference=["others", "pooled"],
            zero="none",
            bins="exact",
            replicates=REPLICATES,
        )
    rows = weighting["draws"].weights.tolist()
    return audit, [dict(zip(weighting["ids"], row, strict=True)) for row in rows]


@pytest.fixture(scope="module")
def sides(bank):
    def both_sides(attributes_of, name):
        return lambda row: tuple(attributes_of(row[side])[name] for side in ("enrol", "test"))

    return {
        "gender": both_sides(bank.customer, "gender"),
        "channel": both_sides(bank.call, "channel"),
        "device": lambda row: (row["device"],) * 2,
    }


def wrong(row, point):
    if point == "deployed":
        return None if row["decision"] is None else (row["decision"] == "accept") != row["label"]
    return (row["score"] >= 0.9) != row["label"]


def rates(rows, bank, weights, point, label):
    """The rate as it is and in each replicate, and how many speakers are behind it."""
    decided = [row for row in rows if row["label"] == label and wrong(row, point) is not None]
    bad = np.array([wrong(row, point) for row in decided], dtype=float)
    pairs = [(bank.who(row["enrol"]), bank.who(row["test"])) for row in decided]
    replicates = []
    for weight in (dict.fromkeys(weights[0], 1), *weights):
        times = [
            weight[enrol_speaker] * (1 if enrol_speaker == test_speaker else weight[test_speaker])
            for enrol_speaker, test_speaker in pairs
        ]
        trial_weights = np.array(times, dtype=float)
        replicates.append(
            (bad @ trial_weights) / trial_weights.sum() if trial_weights.sum() else np.nan
        )
    return np.array(replicates)


def behind(rows, bank, labels=(0, 1)):
    """Speakers behind trials of one class, or behind the smaller of both."""
    speakers_by_class = [
        {bank.who(row[side]) for row in rows if row["label"] == label for side in ("enrol", "test")}
        for label in labels
    ]
    return min(map(len, speakers_by_class))


def line(replicates, df):
    sd = np.nanstd(replicates[1:], ddof=1)
    half = stdtrit(df, 0.975) * sd
    return replicates[0] - half, replicates[0] + half, 2 * stdtr(df, -abs(replicates[0]) / sd)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("grouping", GROUPINGS)
def test_differences_of_rates_are_resampled_jointly(drawn, bank, sides, allocated, grouping, rule):
    audit, weights = drawn
    placed = allocated(bank.scored, sides[grouping], rule)
    checked = 0
    for group, rows in placed.items():
        if group == "pooled":
            continue
        inside = {id(row) for row in rows}
        rows_of_others = [row for row in placed["pooled"] if id(row) not in inside]
        for point in POINTS:
            for metric, label in (("fpr", 0), ("fnr", 1)):
                group_rates, df = (
                    rates(rows, bank, weights, point, label),
                    behind(rows, bank, [label]) - 1,
                )
                for reference, reference_rows in (
                    ("pooled", placed["pooled"]),
                    ("others", rows_of_others),
                ):
                    (row,) = audit.bias.subset(
                        grouping=grouping, group=group, allocation=rule, within="", metric=metric,
                        operating_point=point, measure="difference", reference=reference,
                    )  # fmt: skip
                    against = rates(reference_rows, bank, weights, point, label)
                    apart = group_rates - against
                    fewer = df
                    is_apart = grouping == "gender" and (label or rule == "both")
                    if reference == "others" and is_apart:  # the groups share no speaker
                        fewer = min(df, behind(rows_of_others, bank, [label]) - 1)
                    assert row["value"] == pytest.approx(apart[0], abs=1e-12)
                    is_still = any(
                        np.nanmin(replicates) == np.nanmax(replicates)
                        for replicates in (group_rates, against)
                    )
                    if df < 4 or np.isnan(apart).mean() > 0.05 or is_still:
                        assert (row["low"], row["p"]) == (None, None)
                        continue
                    interval = row["low"], row["high"], row["p"]
                    assert interval == pytest.approx(line(apart, fewer), abs=1e-9)
                    checked += 1
    assert checked >= 8


@pytest.mark.parametrize("point", POINTS)
def test_hter_is_resampled_at_thresholds_and_of_decisions(drawn, bank, sides, allocated, point):
    audit, weights = drawn
    placed = allocated(bank.scored, sides["channel"], "either")
    for group, rows in placed.items():
        rates_by_label = [rates(rows, bank, weights, point, label) for label in (0, 1)]
        hter = (rates_by_label[0] + rates_by_label[1]) / 2
        df = behind(rows, bank) - 1
        (row,) = audit.groups.subset(
            grouping="channel", group=group, allocation="either", within="",
            metric="hter", operating_point=point,
        )  # fmt: skip
        sd = np.std(np.log(hter[1:]), ddof=1)
        half = stdtrit(df, 0.975) * sd
        assert (row["low"], row["high"]) == pytest.approx(
            (hter[0] * np.exp(-half), hter[0] * np.exp(half))
        )
        assert (row["interval"], row["df"]) == ("bootstrap", df)


@pytest.mark.parametrize("level", ["same", "different"])
@pytest.mark.parametrize(("grouping", "rule"), [("gender", "both"), ("channel", "either")])
def test_eer_within_a_level_is_resampled_there(
    drawn, bank, sides, allocated, repeated, grouping, rule, level
):
    audit, weights = drawn

    def region(row):
        enrol_region, test_region = (
            bank.customer(row[side])["region"] for side in ("enrol", "test")
        )
        return "same" if enrol_region == test_region else "different"

    level_rows = [row for row in bank.scored if region(row) == level]
    checked = 0
    for group, rows in allocated(level_rows, sides[grouping], rule).items():
        (row,) = audit.groups.subset(
            grouping=grouping, group=group, allocation=rule, within=f"same:region={level}",
            metric="eer",
        )  # fmt: skip
        if row["value"] is None:
            assert row["low"] is None
            continue
        replicates = []
        for weight in weights:
            score, label = repeated(rows, bank.who, weight)
            has_both_classes = 0 < label.sum() < label.size
            replicates.append(
                float(eer(Counts.from_scores(score, label))) if has_both_classes else np.nan
            )
        with np.errstate(divide="ignore"):
            logs = np.log(replicates)
        if not np.isfinite(logs).all():
            continue  # what stands for replicates without errors is tested in core
        half = stdtrit(behind(rows, bank) - 1, 0.975) * np.std(logs, ddof=1)
        assert (row["low"], row["high"]) == pytest.approx(
            (row["value"] * np.exp(-half), row["value"] * np.exp(half))
        )
        checked += 1
    assert checked or level == "different"  # which has no target trials


def test_the_bins_of_scores_are_within_their_bound(bank, alike):
    exact, coarse = (alike.audit(operating_points="eer", bins=bins) for bins in ("exact", 64))
    (bound,) = (row["replicates"] for row in coarse.record["resolution"]["bounds"].values())
    (exact_bound,) = (row["replicates"] for row in exact.record["resolution"]["bounds"].values())
    assert exact_bound <= bound < 0.2
    for row, coarse_row in zip(exact.groups, coarse.groups, strict=True):
        assert row["value"] == coarse_row["value"]
        if row["metric"] in {"eer", "auc"} and row["low"] is not None:
            assert coarse_row["se"] == pytest.approx(row["se"], rel=0.2, abs=bound)


@pytest.mark.slow
def test_development_thresholds_stay_as_they_are(people, alike):
    """Found on other trials, they are no part of what is drawn again."""
    development = alike.audit(operating_points="eer", threshold_from=alike.trials)
    fixed = alike.audit(operating_points="eer", fixed_threshold=True)
    for row, fixed_row in zip(development.groups, fixed.groups, strict=True):
        if row["metric"] in {"hter", "cdet_norm"} and row["operating_point"] == "eer":
            assert (row["low"], row["high"]) == (fixed_row["low"], fixed_row["high"])


@pytest.mark.slow
def test_a_ratio_of_a_group_without_errors_has_no_interval_of_replicates(simulate):
    """Half an error more in every replicate varies little, however few its trials are."""
    trials, people = simulate(nontarget=400)
    gender = dict(zip(people["id"], people["gender"], strict=True))
    women = [gender[name.split("/")[0]] == "f" for name in trials["enrol"]]
    columns = zip(trials["score"], trials["label"], women, strict=True)
    apart = [score + 99 * (1 if label else -1) * is_f for score, label, is_f in columns]
    audit = pv.audit(
        {**trials, "score": apart}, speakers=people, by="gender", zero=["none", "jeffreys"],
        operating_points="threshold=1", replicates=50,
    )  # fmt: skip
    for metric in ("fpr", "fnr"):
        row_filter = {"group": "f", "metric": metric, "measure": "ratio", "reference": "others"}
        plain, smoothed = audit.bias.subset(**row_filter, definition="").rows()
        assert (plain["zero"], plain["value"]) == ("none", 0)
        assert plain["high"] > 0  # in closed form
        assert smoothed["value"] > 0
        assert smoothed["high"] is None
        assert smoothed["values"] == '{"no_interval": {"because": "no_errors_in_any_replicate"}}'


@pytest.mark.slow
def test_replicates_that_are_all_alike_make_no_interval():
    people = {"id": [f"{g}{i}" for g in "fm" for i in range(6)], "gender": [*"ffffffmmmmmm"]}
    rows = []
    for speaker_id in people["id"]:  # each woman is refused once in three times
        scores = [1.0, 1.0, -1.0] if speaker_id[0] == "f" else [1.0, 1.0, float(speaker_id[1]) - 2]
        rows += [
            (f"{speaker_id}/1", f"{speaker_id}/{i + 2}", score, 1) for i, score in enumerate(scores)
        ]
    rows += [
        (f"{enrol_id}/1", f"{test_id}/1", 0.5 - i % 3, 0)
        for i, enrol_id in enumerate(people["id"])
        for test_id in people["id"][i + 1 :]
    ]
    columns = map(list, zip(*rows, strict=True))
    audit = pv.audit(
        dict(zip(("enrol", "test", "score", "label"), columns, strict=True)),
        speakers=people,
        by="gender",
        operating_points="threshold=0",
        interval="bootstrap",
        replicates=50,
    )
    row_by_group = {
        row["group"]: row for row in audit.groups.subset(metric="fnr", grouping="gender")
    }
    assert (row_by_group["f"]["value"], row_by_group["f"]["low"], row_by_group["f"]["n_eff"]) == (
        1 / 3,
        None,
        None,
    )
    assert "all_replicates_alike" in row_by_group["f"]["values"]
    assert row_by_group["m"]["low"] < row_by_group["m"]["value"] < row_by_group["m"]["high"]
