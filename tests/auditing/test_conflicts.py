"""Rows that contradict others, and scores that point the wrong way."""

from pathlib import Path

import pytest
from tests.sentences import item_in_words

import parivox as pv
from parivox.errors import DataError


@pytest.fixture(scope="module")
def spoilt(trials):
    """Two trials again with another score, one label that contradicts the speakers."""
    rows = list(zip(*trials.values(), strict=True))
    same = next(row for row in rows if row[3] == 1)
    other = next(row for row in rows if row[3] == 0)
    wrong = next(row for row in reversed(rows) if row[3] == 1)
    rows.remove(wrong)
    rows += [(*same[:2], 9.0, 1), (*other[:2], -9.0, 0), (*wrong[:3], 0)]
    return dict(zip(trials, map(list, zip(*rows, strict=True)), strict=True)), (same, other, wrong)


@pytest.mark.usefixtures("options_in_messages")
def test_they_are_refused(spoilt, speakers):
    with pytest.raises(DataError, match="--conflicts exclude"):
        pv.audit(spoilt[0], speakers=speakers, by="gender")


@pytest.fixture(scope="module")
def audit(spoilt, speakers):
    return pv.audit(
        spoilt[0],
        speakers=speakers,
        by=["gender"],
        operating_points=["threshold=1", "fpr=0.1"],
        conflicts="exclude",
        intervals=False,
    )


def test_the_policy_has_its_old_name_until_release_0_5(audit, spoilt, speakers):
    renamed = "'set-aside' is 'exclude' since release 0.3"
    with pytest.warns(DeprecationWarning, match=renamed) as caught:
        old = pv.audit(
            spoilt[0],
            speakers=speakers,
            by=["gender"],
            operating_points=["threshold=1", "fpr=0.1"],
            conflicts="set-aside",
            intervals=False,
        )
    assert old.groups.to_polars().equals(audit.groups.to_polars())
    assert old.data.to_polars().equals(audit.data.to_polars())
    (warning,) = caught
    package = Path(pv.__file__).parent
    assert package not in Path(warning.filename).parents  # Python hides warnings about packages


def test_excluded_they_are_in_no_count(audit, spoilt, trials):
    (whole,) = audit.groups.subset(group="all", metric="auc")
    assert whole["trials"] == len(trials["score"]) - 3


def told(audit, item, grouping="all", group="all"):
    rows = audit.data.subset(source="conflicts", grouping=grouping, group=group)
    (row,) = (row for row in rows if item_in_words(row) == item)
    return row


def test_they_are_counted_per_group(audit, spoilt, speakers):
    assert told(audit, "contradictory rows excluded")["count"] == 5
    gender = dict(zip(speakers["id"], speakers["gender"], strict=True))
    same, other, wrong = spoilt[1]
    for group in ("f", "m"):
        wanted = 0
        for row, n in ((same, 2), (other, 2), (wrong, 1)):
            sides = {gender[utterance.split("/")[0]] for utterance in row[:2]}
            wanted += n * (sides == {group})
        found = told(audit, "contradictory rows excluded (allocation both)", "gender", group)
        assert found["count"] == wanted


def test_the_headline_is_repeated_with_and_without(audit, spoilt):
    rows = list(zip(*spoilt[0].values(), strict=True))
    without = {r["operating_point"]: r for r in audit.operating_points}["threshold=1"]
    assert told(audit, "fpr at threshold=1 without contradictory rows")["value"] == without["fpr"]
    assert told(audit, "fnr at threshold=1 without contradictory rows")["value"] == without["fnr"]
    for metric, label in (("fpr", 0), ("fnr", 1)):
        scores = [score for *_, score, y in rows if y == label]
        wrong = sum((score >= 1) == (label == 0) for score in scores)
        found = told(audit, f"{metric} at threshold=1 with contradictory rows")["value"]
        assert found == pytest.approx(wrong / len(scores), rel=1e-12)


def test_every_point_group_and_metric_has_both(audit):
    values = [row for row in audit.data.subset(source="conflicts") if row["count"] is None]
    assert all(row["value"] is not None for row in values)
    observed = {(row["grouping"], row["group"], item_in_words(row)) for row in values}
    cells = [
        ("all", "all", ""),
        *(("gender", g, " (allocation both)") for g in ("f", "m", "pooled")),
    ]
    for grouping, group, suffix in cells:
        for way in ("with", "without"):
            for point in ("threshold=1", "fpr=0.1"):
                for metric in ("fpr", "fnr"):
                    item = f"{metric} at {point} {way} contradictory rows{suffix}"
                    assert (grouping, group, item) in observed
            for metric in ("eer (linear)", "min_cdet_norm (voxsrc)"):
                assert (grouping, group, f"{metric} {way} contradictory rows{suffix}") in observed


def test_without_contradictions_both_are_equal(trials, speakers):
    audit = pv.audit(
        trials,
        speakers=speakers,
        by="gender",
        operating_points="threshold=1",
        conflicts="exclude",
        intervals=False,
    )
    assert told(audit, "contradictory rows excluded")["count"] == 0
    for metric in ("fpr", "fnr"):
        with_, without = (
            told(audit, f"{metric} at threshold=1 {way} contradictory rows")["value"]
            for way in ("with", "without")
        )
        assert with_ == without


# ---- polarity


@pytest.fixture(scope="module")
def distances(trials):
    return {**trials, "score": [-score for score in trials["score"]]}


@pytest.mark.usefixtures("options_in_messages")
def test_reversed_scores_are_refused_naming_both_ways_out(distances, speakers):
    with pytest.raises(DataError) as observed:
        pv.audit({"S": distances}, speakers=speakers, by="gender")
    for word in ("--distance", "--similarity", "AUC 0."):
        assert word in str(observed.value)


@pytest.mark.slow
def test_distances_are_negated(distances, trials, speakers):
    negated = pv.audit(distances, speakers=speakers, by="gender", orientation="distance")
    plain = pv.audit(trials, speakers=speakers, by="gender")
    assert negated.groups.to_polars().equals(plain.groups.to_polars())


def test_similarities_are_taken_as_they_are(distances, speakers):
    options = {"orientation": "similarity", "intervals": False}
    audit = pv.audit(distances, speakers=speakers, by="gender", **options)
    (auc,) = audit.groups.subset(group="all", metric="auc")
    assert auc["value"] < 0.5


def test_development_scores_are_checked_too(trials, distances, speakers):
    with pytest.raises(DataError, match="orientation='distance'"):
        pv.audit(trials, speakers=speakers, by="gender", threshold_from=distances)


# ---- what is counted


def test_what_was_read_is_told(trials, speakers):
    rows = list(zip(*trials.values(), strict=True))
    rows.append((rows[0][1], rows[0][0], rows[0][2] + 0.5, rows[0][3]))  # reversed
    rows.append(rows[1])  # twice
    rows.append((*rows[2][:2], None, rows[2][3]))  # without score, whose trial has one
    rows.append((rows[2][1], rows[2][0], None, rows[2][3]))  # without score
    rows.append(("qz000/vx0.wav", "qz000/vx0.wav", 9.0, 1))  # with itself
    reference = dict(zip(trials, map(list, zip(*rows, strict=True)), strict=True))
    audit = pv.audit(reference, speakers=speakers, by="gender", intervals=False)
    observed = {(row["source"], item_in_words(row)): row["count"] for row in audit.data}
    n = len(trials["score"])
    assert observed["scores", "rows"] == n + 5
    assert observed["scores", "trials"] == n + 2
    assert observed["scores", "exact duplicates"] == 1
    assert observed["scores", "reversed pairs"] == 1
    assert observed["scores", "trials without a score"] == 1
    assert observed["scores", "rows without a score that repeat the trial of another row"] == 1
    assert observed["scores", "trials that compare an utterance with itself"] == 1
    targets = sum(trials["label"]) + rows[0][3] + 1
    assert observed["scores", "target trials"] == targets
    assert observed["scores", "nontarget trials"] == n + 2 - targets


def test_trials_in_no_group_are_counted_per_grouping_and_allocation(whole):
    for name in ("gender", "nation", "gender+nation"):
        for rule in ("both", "enrol", "test", "either"):
            filters = {"system": "T", "metric": "auc"}
            (everything,) = whole.groups.subset(**filters, grouping="all")
            (pooled,) = whole.groups.subset(
                **filters, grouping=name, group="pooled", allocation=rule
            )
            rows = whole.data.subset(system="T", source="scores", grouping=name, group="").rows()
            counts = [
                row["count"]
                for row in rows
                if "no group" in item_in_words(row)
                and item_in_words(row).endswith(f"(allocation {rule})")
            ]
            assert sum(counts) == everything["trials"] - pooled["trials"]
            assert (sum(counts) > 0) == (rule == "both")
