"""Decisions beside scores that no threshold on the scores would make."""

import numpy as np
import polars as pl
import pytest
from tests.sentences import item_in_words, note_in_words

from parivox import audit
from parivox.auditing.data_table import THRESHOLDS_OUTSIDE_SCORES
from parivox.errors import DataError
from parivox.report.overview import overview

_SPEAKERS = 40
_PEOPLE = pl.DataFrame(
    {
        "speaker": [f"s{i}" for i in range(_SPEAKERS)],
        "accent": ["north" if i % 2 else "south" for i in range(_SPEAKERS)],
    }
)
_ODD = "trials of north, whose decisions contradict the scores"


def _list(inverted: str, *, separation: float = 2.5, varying: bool = False) -> pl.DataFrame:
    """Trials with scores and decisions, of all or of one accent inverted."""
    rng = np.random.default_rng(3)
    rows = []
    for i in range(_SPEAKERS):
        threshold = 1.2 + (rng.normal() if varying else 0)
        for k in range(10):
            impostor = (i + 2 * (k + 1)) % _SPEAKERS
            for test, label, mean in (
                (f"s{i}/{k}", "target", separation),
                (f"s{impostor}/n{k}_{i}", "nontarget", 0),
            ):
                score = float(rng.normal(mean))
                is_inverted = inverted == "all" or (inverted == "north" and i % 2 == 1)
                decision = "accept" if (score >= threshold) != is_inverted else "reject"
                rows.append((f"s{i}/a", test, score, label, decision))
    return pl.DataFrame(rows, schema=["enrol", "test", "score", "label", "decision"], orient="row")


def _audited(scores, **options):
    return audit(scores, speakers=_PEOPLE, by="accent", intervals=False, **options)


@pytest.mark.slow
def test_inverted_decisions_are_refused_unless_asked_for():
    with pytest.raises(DataError, match="decisions contradict the scores") as raised:
        _audited(_list("all"))
    assert "\n" not in str(raised.value)
    _audited(_list("all"), orientation="similarity")


def test_inverted_decisions_of_one_group_are_told():
    audit = _audited(_list("north"))
    (row,) = (row for row in audit.data if item_in_words(row) == _ODD)
    assert (row["grouping"], row["count"]) == ("accent", 400)
    assert any("of north, whose decisions" in caveat.short for caveat in overview(audit).caveats)


@pytest.mark.parametrize("varying", [False, True])
@pytest.mark.parametrize("separation", [0.77, 2.5])
def test_sound_decisions_are_not_told(varying, separation):
    """Also of an EER of 35 %."""
    audit = _audited(_list("none", separation=separation, varying=varying))
    assert not [row for row in audit.data.rows() if "contradict the scores" in item_in_words(row)]


@pytest.mark.parametrize(("threshold", "does"), [(-60, "accepts"), (70, "rejects")])
def test_thresholds_of_another_scale_are_told(threshold, does):
    audit = _audited(_list("none"), operating_points=[f"threshold={threshold}", "threshold=1"])
    (row,) = audit.data.subset(item=THRESHOLDS_OUTSIDE_SCORES).rows()
    assert (row["count"], note_in_words(row)) == (1, f"threshold={threshold} {does} all trials")
    assert any(f"{does} all trials" in caveat.short for caveat in overview(audit).caveats)


def test_deployed_thresholds_of_another_scale_are_told():
    scores = _list("none").drop("decision").with_columns(threshold=pl.lit(55.0))
    (row,) = _audited(scores).data.subset(item=THRESHOLDS_OUTSIDE_SCORES).rows()
    assert note_in_words(row) == "deployed rejects all trials"
