"""Replicates of every kind of grouping, allocation, level and point, by weighted plain loops."""

import numpy as np
import pytest
from scipy.special import stdtr, stdtrit

import parivox as pv
import parivox.auditing.run as running
from parivox import Counts, eer
from parivox.auditing.draws import draw_speakers

RULES = ("both", "enrol", "test", "either")
GROUPINGS = ("gender", "channel", "device")
POINTS = ("threshold=0.9", "deployed")
REPLICATES = 50


@pytest.fixture(scope="module")
def drawn(bank):
    """The audit, and what each speaker weighs in each of its replicates."""
    kept = {}

    def keep(found, options, block, together):
        (one,) = found.trial_sets
        kept["draws"] = draw_speakers([one], found.groupings, options, block, together)
        kept["ids"] = list(one.speaker_table.ids)
        return kept["draws"]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "_speaker_draws", keep)
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
    rows = kept["draws"].weights.tolist()
    return audit, [dict(zip(kept["ids"], row, strict=True)) for row in rows]


@pytest.fixture(scope="module")
def sides(bank):
    def own(of, name):
        return lambda row: tuple(of(row[side])[name] for side in ("enrol", "test"))

    return {
        "gender": own(bank.customer, "gender"),
        "channel": own(bank.call, "channel"),
        "device": lambda row: (row["device"],) * 2,
    }


def wrong(row, point):
    if point == "deployed":
        return None if row["decision"] is None else (row["decision"] == "accept") != row["label"]
    return (row["score"] >= 0.9) != row["label"]


def rates(rows, bank, weights, point, label):
    """The rate as it is and in each replicate, and how many speakers are behind it."""
    known = [row for row in rows if row["label"] == label and wrong(row, point) is not None]
    bad = np.array([wrong(row, point) for row in known], dtype=float)
    pairs = [(bank.who(row["enrol"]), bank.who(row["test"])) for row in known]
    found = []
    for weight in (dict.fromkeys(weights[0], 1), *weights):
        times = [weight[one] * (1 if one == two else weight[two]) for one, two in pairs]
        of = np.array(times, dtype=float)
        found.append((bad @ of) / of.sum() if of.sum() else np.nan)
    return np.array(found)


def behind(rows, bank, labels=(0, 1)):
    """Speakers behind trials of one class, or behind the smaller of both."""
    both = [
        {bank.who(row[side]) for row in rows if row["label"] == label for side in ("enrol", "test")}
        for label in labels
    ]
    return min(map(len, both))


def line(values, df):
    sd = np.nanstd(values[1:], ddof=1)
    half = stdtrit(df, 0.975) * sd
    return values[0] - half, values[0] + half, 2 * stdtr(df, -abs(values[0]) / sd)


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
        rest = [row for row in placed["pooled"] if id(row) not in inside]
        for point in POINTS:
            for metric, label in (("fpr", 0), ("fnr", 1)):
                own, df = rates(rows, bank, weights, point, label), behind(rows, bank, [label]) - 1
                for reference, others in (("pooled", placed["pooled"]), ("others", rest)):
                    (row,) = audit.bias.where(
                        grouping=grouping, group=group, allocation=rule, within="", metric=metric,
                        operating_point=point, measure="difference", reference=reference,
                    )  # fmt: skip
                    against = rates(others, bank, weights, point, label)
                    apart = own - against
                    fewer = df
                    is_apart = grouping == "gender" and (label or rule == "both")
                    if reference == "others" and is_apart:  # the groups share no speaker
                        fewer = min(df, behind(rest, bank, [label]) - 1)
                    assert row["value"] == pytest.approx(apart[0], abs=1e-12)
                    is_still = any(np.nanmin(of) == np.nanmax(of) for of in (own, against))
                    if df < 4 or np.isnan(apart).mean() > 0.05 or is_still:
                        assert (row["low"], row["p"]) == (None, None)
                        continue
                    told = row["low"], row["high"], row["p"]
                    assert told == pytest.approx(line(apart, fewer), abs=1e-9)
                    checked += 1
    assert checked >= 8


@pytest.mark.parametrize("point", POINTS)
def test_hter_is_resampled_at_thresholds_and_of_decisions(drawn, bank, sides, allocated, point):
    audit, weights = drawn
    placed = allocated(bank.scored, sides["channel"], "either")
    for group, rows in placed.items():
        both = [rates(rows, bank, weights, point, label) for label in (0, 1)]
        hter = (both[0] + both[1]) / 2
        df = behind(rows, bank) - 1
        (row,) = audit.groups.where(
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
        one, two = (bank.customer(row[side])["region"] for side in ("enrol", "test"))
        return "same" if one == two else "different"

    here = [row for row in bank.scored if region(row) == level]
    checked = 0
    for group, rows in allocated(here, sides[grouping], rule).items():
        (row,) = audit.groups.where(
            grouping=grouping, group=group, allocation=rule, within=f"same:region={level}",
            metric="eer",
        )  # fmt: skip
        if row["value"] is None:
            assert row["low"] is None
            continue
        found = []
        for weight in weights:
            score, label = repeated(rows, bank.who, weight)
            both = 0 < label.sum() < label.size
            found.append(float(eer(Counts.from_scores(score, label))) if both else np.nan)
        with np.errstate(divide="ignore"):
            logs = np.log(found)
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
    (bound,) = (one["replicates"] for one in coarse.record["resolution"]["bounds"].values())
    (none,) = (one["replicates"] for one in exact.record["resolution"]["bounds"].values())
    assert none <= bound < 0.2
    for one, two in zip(exact.groups, coarse.groups, strict=True):
        assert one["value"] == two["value"]
        if one["metric"] in {"eer", "auc"} and one["low"] is not None:
            assert two["se"] == pytest.approx(one["se"], rel=0.2, abs=bound)


def test_development_thresholds_stay_as_they_are(people, alike):
    """Found on other trials, they are no part of what is drawn again."""
    kept = alike.audit(operating_points="eer", threshold_from=alike.trials)
    fixed = alike.audit(operating_points="eer", fixed_threshold=True)
    for one, two in zip(kept.groups, fixed.groups, strict=True):
        if one["metric"] in {"hter", "cdet_norm"} and one["operating_point"] == "eer":
            assert (one["low"], one["high"]) == (two["low"], two["high"])


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
        asked = {"group": "f", "metric": metric, "measure": "ratio", "reference": "others"}
        plain, smoothed = audit.bias.where(**asked, definition="").rows()
        assert (plain["zero"], plain["value"]) == ("none", 0)
        assert plain["high"] > 0  # in closed form
        assert smoothed["value"] > 0
        assert smoothed["high"] is None
        assert smoothed["note"] == "no interval: no errors, nor in any replicate"


def test_replicates_that_are_all_alike_make_no_interval():
    people = {"id": [f"{g}{i}" for g in "fm" for i in range(6)], "gender": [*"ffffffmmmmmm"]}
    rows = []
    for who in people["id"]:  # each woman is refused once in three times
        scores = [1.0, 1.0, -1.0] if who[0] == "f" else [1.0, 1.0, float(who[1]) - 2]
        rows += [(f"{who}/1", f"{who}/{i + 2}", score, 1) for i, score in enumerate(scores)]
    rows += [
        (f"{one}/1", f"{other}/1", 0.5 - i % 3, 0)
        for i, one in enumerate(people["id"])
        for other in people["id"][i + 1 :]
    ]
    columns = map(list, zip(*rows, strict=True))
    found = pv.audit(
        dict(zip(("enrol", "test", "score", "label"), columns, strict=True)),
        speakers=people,
        by="gender",
        operating_points="threshold=0",
        interval="bootstrap",
        replicates=50,
    )
    of = {row["group"]: row for row in found.groups.where(metric="fnr", grouping="gender")}
    assert (of["f"]["value"], of["f"]["low"], of["f"]["n_eff"]) == (1 / 3, None, None)
    assert "every replicate is alike" in of["f"]["note"]
    assert of["m"]["low"] < of["m"]["value"] < of["m"]["high"]
