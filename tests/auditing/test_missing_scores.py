"""Trials without score that are more frequent in some groups than chance makes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.sentences import item_in_words

from parivox import audit
from parivox.auditing.missing_scores import MISSING_SCORES
from parivox.report.overview import overview

_SPEAKERS, _TRIALS_EACH = 60, 20
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
        for k in range(_TRIALS_EACH):
            score = float(rng.normal(2.4))
            is_lost = {
                "hard of north": i % 2 == 1 and score < 1.3,
                "at random": rng.random() < 0.1,
                "of speakers": i in unlucky,
                "of nobody": False,
                "few of north": i == 1 and k < 3,
            }.get(lost, False)
            rows.append((f"s{i}/a", f"s{i}/{k}", None if is_lost else score, "target"))
            impostor = (i + 2 * (k + 1)) % _SPEAKERS
            score = float(rng.normal())
            is_lost = {
                "hard impostors of north": i % 2 == 1 and score > 1,
                "impostors at random": rng.random() < 0.1,
                "impostors of speakers": i in unlucky or impostor in unlucky,
            }.get(lost, False)
            row = (f"s{i}/a", f"s{impostor}/n{k}_{i}", None if is_lost else score, "nontarget")
            rows.append(row)
    return pl.DataFrame(rows, schema=["enrol", "test", "score", "label"], orient="row")


def _first_lines(scores: pl.DataFrame, **options: Any) -> list[str]:
    return overview(audit(scores, speakers=_PEOPLE, by="accent", **options)).finding_sentences


@pytest.mark.slow
@pytest.mark.parametrize("intervals", [True, False])
def test_hard_trials_of_one_group_lost_come_first(intervals: bool) -> None:
    scores = _list("hard of north")
    audited = audit(scores, speakers=_PEOPLE, by="accent", intervals=intervals)
    first_line = overview(audited).finding_sentences[0]
    lost = scores["score"].null_count()
    assert first_line.startswith("Missing scores differ by accent: ")
    assert f"{100 * lost / 600:#.3g} % of the target trials of north have no score" in first_line
    (rate,) = audited.groups.subset(group="north", metric="fnr").rows()[:1]
    as_rejected = (rate["errors"] + lost) / 600
    assert f"FNR of north would be {100 * as_rejected:#.3g} % instead of" in first_line
    assert overview(audited).caveats[0].short == "missing scores differ by group"
    rows = audited.data.subset(source=MISSING_SCORES).rows()
    assert {row["group"]: row["count"] for row in rows} == {"north": lost, "south": 0}


@pytest.mark.slow
def test_trials_of_a_separate_list_without_score_are_missing_too() -> None:
    scores = _list("hard of north")
    scored = scores.filter(pl.col("score").is_not_null()).drop("label")
    first_line = _first_lines(scored, trials=scores.drop("score"))[0]
    assert first_line == _first_lines(scores)[0]


@pytest.mark.slow
def test_hard_nontarget_trials_of_one_group_lost_come_first() -> None:
    scores = _list("hard impostors of north", seed=1)
    first_line = _first_lines(scores, intervals=False)[0]
    lost = scores["score"].null_count()
    assert first_line == (
        f"Missing scores differ by accent: {100 * lost / 600:#.3g} % of the nontarget trials of "
        "north have no score, 0 % of south; FPRs count only trials with a score and may be too "
        "high or too low."
    )


_CHANCE = ["at random", "of speakers", "of nobody", "few of north"]
_CHANCE += ["impostors at random", "impostors of speakers"]


@pytest.mark.parametrize("again", ["scored", "blank"])
def test_rows_without_score_whose_trial_has_one_are_not_missing(again: str) -> None:
    """A log may hold a first try without score; blank rows of one trial are one trial."""
    scores = _list("of nobody")
    no_score = pl.lit(None, dtype=pl.Float64)
    blanks = scores.filter(pl.col("label") == "target").head(200).with_columns(score=no_score)
    if again == "scored":
        audited = audit(pl.concat([blanks, scores]), speakers=_PEOPLE, by="accent", intervals=False)
        counts = {
            item_in_words(row): row["count"] for row in audited.data.subset(grouping="").rows()
        }
        assert counts["rows without a score that repeat the trial of another row"] == 200
        assert "trials without a score" not in counts
        assert not audited.data.subset(source=MISSING_SCORES).rows()
    else:
        scores = pl.concat([blanks, blanks, scores.filter(pl.col("label") == "nontarget")])
        scores = pl.concat([scores, _list("of nobody").filter(pl.col("label") == "target")[200:]])
        audited = audit(scores, speakers=_PEOPLE, by="accent", intervals=False)
        counts = {
            item_in_words(row): row["count"] for row in audited.data.subset(grouping="").rows()
        }
        assert counts["trials without a score"] == 200


@pytest.mark.slow
@pytest.mark.parametrize("lost", _CHANCE)
def test_scores_missing_by_chance_are_not_in_the_first_lines(lost: str) -> None:
    lines_by_seed = [_first_lines(_list(lost, seed), intervals=False) for seed in range(5)]
    assert not any("Missing" in line for lines in lines_by_seed for line in lines)


def test_counts_by_group_and_class() -> None:
    scores = _list("at random")
    audited = audit(scores, speakers=_PEOPLE, by="accent", intervals=False)
    rows = [
        row
        for row in audited.data.rows()
        if item_in_words(row) == "target trials without a score (by enrolment speaker)"
    ]
    assert sum(row["count"] for row in rows) == scores["score"].null_count()


def test_a_part_of_the_trials_is_not_compared_with_what_all_lack() -> None:
    lines = _first_lines(_list("hard of north"), only="accent=south", intervals=False)
    assert not any("Missing" in line for line in lines)
