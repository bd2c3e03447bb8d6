"""Groups in two directions."""

from __future__ import annotations

import itertools

import numpy as np

import parivox as pv
from parivox.report.crossed import by_system


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
