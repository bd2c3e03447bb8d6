"""Target trials without score that are more frequent in some groups than chance makes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from parivox import audit
from parivox.auditing.missing_scores import MISSING_SCORES
from parivox.report.overview import overview

_SPEAKERS, _EACH = 60, 20
_PEOPLE = pl.DataFrame(
    {
        "speaker": [f"s{i}" for i in range(_SPEAKERS)],
        "accent": ["north" if i % 2 else "south" for i in range(_SPEAKERS)],
    }
)


def _list(lost: str, seed: int = 0) -> pl.DataFrame:
    """Trials of which some have no score, of a system that serves both accents alike."""
    rng = np.random.default_rng(seed)
    unlucky = set(rng.choice(_SPEAKERS, 6, replace=False).tolist())
    rows = []
    for i in range(_SPEAKERS):
        for k in range(_EACH):
            score = float(rng.normal(2.4))
            is_lost = {
                "hard of north": i % 2 == 1 and score < 1.3,
                "at random": rng.random() < 0.1,
                "of speakers": i in unlucky,
                "of nobody": False,
                "few of north": i == 1 and k < 3,
            }[lost]
            rows.append((f"s{i}/a", f"s{i}/{k}", None if is_lost else score, "target"))
            other = (i + 2 * (k + 1)) % _SPEAKERS
            rows.append((f"s{i}/a", f"s{other}/n{k}_{i}", float(rng.normal()), "nontarget"))
    return pl.DataFrame(rows, schema=["enrol", "test", "score", "label"], orient="row")


def _first_lines(scores: pl.DataFrame, **options: Any) -> list[str]:
    return overview(audit(scores, speakers=_PEOPLE, by="accent", **options)).found


@pytest.mark.parametrize("intervals", [True, False])
def test_hard_trials_of_one_group_lost_come_first(intervals: bool) -> None:
    scores = _list("hard of north")
    found = audit(scores, speakers=_PEOPLE, by="accent", intervals=intervals)
    first = overview(found).found[0]
    lost = scores["score"].null_count()
    assert first.startswith("Missing scores differ by accent: ")
    assert f"{100 * lost / 600:#.3g} % of the target trials of north have no score" in first
    (rate,) = found.groups.where(group="north", metric="fnr").rows()[:1]
    as_rejected = (rate["errors"] + lost) / 600
    assert f"FNR of north would be {100 * as_rejected:#.3g} % instead of" in first
    assert overview(found).caveats[0].short == "missing scores differ by group"
    rows = found.data.where(source=MISSING_SCORES).rows()
    assert {row["group"]: row["count"] for row in rows} == {"north": lost, "south": 0}


def test_trials_of_a_separate_list_without_score_are_missing_too() -> None:
    scores = _list("hard of north")
    known = scores.filter(pl.col("score").is_not_null()).drop("label")
    first = _first_lines(known, trials=scores.drop("score"))[0]
    assert first == _first_lines(scores)[0]


@pytest.mark.parametrize("lost", ["at random", "of speakers", "of nobody", "few of north"])
def test_scores_missing_by_chance_are_not_in_the_first_lines(lost: str) -> None:
    told = [_first_lines(_list(lost, seed), intervals=False) for seed in range(5)]
    assert not any("Missing" in line for lines in told for line in lines)


def test_counts_by_group_and_class() -> None:
    scores = _list("at random")
    found = audit(scores, speakers=_PEOPLE, by="accent", intervals=False)
    item = "target trials without score (by enrolment speaker)"
    rows = found.data.where(item=item).rows()
    assert sum(row["count"] for row in rows) == scores["score"].null_count()


def test_a_part_of_the_trials_is_not_compared_with_what_all_lack() -> None:
    lines = _first_lines(_list("hard of north"), only="accent=south", intervals=False)
    assert not any("Missing" in line for line in lines)
