"""Groups in two directions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import parivox as pv
from parivox.report.crossed import by_system, crosstabs


def test_a_star_is_of_the_rate_that_has_too_little_and_of_no_other():
    draw = np.random.default_rng(4)
    ids = [(f"s{i}", k) for i in range(12) for k in range(3)]
    pairs = list(itertools.combinations(ids, 2))
    trials = {
        "enrol": [f"{one}/{k}" for (one, k), _ in pairs],
        "test": [f"{other}/{k}" for _, (other, k) in pairs],
        "score": [float(draw.normal(2.0 * (a[0] == b[0]))) for a, b in pairs],
    }
    speakers = {"id": [f"s{i}" for i in range(12)], "kind": ["f", "m"] * 6}
    audit = pv.audit(
        {"one": trials},
        speakers=speakers,
        by=["kind"],
        operating_points=["eer"],
        gates=["speakers=2", "errors=0", "pairs=1000"],
        replicates=50,
    )
    where = {"system": "one", "list": "", "grouping": "kind", "allocation": "both", "within": ""}
    stars = {
        table.metric: [rate.is_small for name, (rate,) in table.rows if name != "pooled"]
        for table in by_system(audit, [(where, "eer")])
    }
    assert stars == {"fnr": [False, False], "fpr": [True, True]}


@pytest.mark.slow
def test_an_attribute_that_was_not_audited_by_itself_has_no_margin():
    ids = [(f"s{i}", k) for i in range(8) for k in range(3)]
    pairs = list(itertools.combinations(ids, 2))
    trials = {
        "enrol": [f"{one}/{k}" for (one, k), _ in pairs],
        "test": [f"{other}/{k}" for _, (other, k) in pairs],
        "score": [float((7 * i) % 11) for i in range(len(pairs))],
    }
    speakers = {"id": [f"s{i}" for i in range(8)], "kind": ["f", "m"] * 4, "age": [*"aabbaabb"]}
    where = {"system": "one", "list": "", "grouping": "kind+age", "allocation": "both"}
    heads = {}
    for by in (["kind", "age"], ["kind"], ["age"], []):
        audit = pv.audit(
            {"one": trials},
            speakers=speakers,
            by=[*by, "kind+age"],
            operating_points=["eer"],
            replicates=50,
        )
        made = next(iter(crosstabs(audit, {**where, "within": ""}, "eer")))
        assert set(made.lacks) == {"kind", "age"} - set(by)
        assert (made.rows[-1][0] == "all") == made.has_sum == (made.across in by)
        assert (made.heads[-1] == "all") == (made.down in by)
        assert {len(cells) for _, cells in made.rows} == {len(made.heads)}
        heads[tuple(by)] = made.heads
    assert len(set(heads.values())) == 2
