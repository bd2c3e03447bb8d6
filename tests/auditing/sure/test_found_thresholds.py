"""Where intervals count in that a threshold was found on the trials: all of them together."""

import pytest

VARIES = "threshold_varies"
STAYS = "threshold_stays"
POINTS = ["fpr=0.1", "fnr=0.1", "eer", "threshold=0.5"]
MOVING = {("fnr", "fpr=0.1"), ("fpr", "fnr=0.1"), ("fnr", "eer"), ("fpr", "eer")}


def notes(audit):
    """What is said of the threshold of each rate of all trials, and of both groups together."""
    threshold_notes = {}
    for row in audit.groups.rows():
        if row["metric"] in {"fpr", "fnr"}:
            row_notes = [code for code in row["note"].split("; ") if code in {VARIES, STAYS}]
            if row["group"] not in {"all", "pooled"}:
                assert not row_notes
                continue
            assert not row_notes or row["low"] < row["value"] < row["high"]
            threshold_notes.setdefault((row["metric"], row["operating_point"]), set()).update(
                row_notes or [""]
            )
    return threshold_notes


@pytest.mark.slow
def test_rates_that_move_with_a_threshold_found_on_the_trials_say_so(alike):
    moved = notes(alike.audit(operating_points=POINTS))
    assert len(moved) == 2 * len(POINTS)
    assert moved == {key: {VARIES if key in MOVING else ""} for key in moved}


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"fixed_threshold": True}, {"interval": "wilson"}])
def test_nothing_is_said_where_it_was_asked_otherwise(alike, options):
    assert set().union(*notes(alike.audit(operating_points=POINTS, **options)).values()) == {""}


@pytest.mark.slow
def test_without_draws_the_threshold_is_said_to_be_taken_as_it_is(alike, monkeypatch):
    monkeypatch.setattr("parivox.auditing.draws.MAX_DRAWN_SPEAKERS", 1)
    moved = notes(alike.audit(operating_points=POINTS))
    assert moved == {key: {STAYS if key in MOVING else ""} for key in moved}


@pytest.mark.slow
def test_a_limit_is_judged_by_the_interval_that_is_told(alike):
    audit = alike.audit(operating_points="fpr=0.1", limits="fnr=0.2")
    (limit,) = audit.limits.subset(group="pooled", measure="limit").rows()
    (rate,) = audit.groups.subset(group="pooled", metric="fnr", operating_point="fpr=0.1").rows()
    assert [limit[name] for name in ("low", "high")] == [rate[name] for name in ("low", "high")]
    assert VARIES in rate["note"]
