"""Groups in two directions."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

import parivox as pv
from parivox.report.sheets.comparison import by_system, crosstabs


@pytest.mark.slow
def test_a_star_is_of_the_rate_that_has_too_little_and_of_no_other():
    draw = np.random.default_rng(4)
    ids = [(f"s{i}", k) for i in range(12) for k in range(3)]
    pairs = list(itertools.combinations(ids, 2))
    trials = {
        "enrol": [f"{enrol_id}/{k}" for (enrol_id, k), _ in pairs],
        "test": [f"{test_id}/{k}" for _, (test_id, k) in pairs],
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
    heading = {"system": "one", "list": "", "grouping": "kind", "allocation": "both", "within": ""}
    locked_out, impostors_in = by_system(audit, "kind", [(heading, "eer")])
    assert [rate.mark for name, rate in locked_out.rows if name.text != "pooled"] == ["", ""]
    assert [rate.mark for name, rate in impostors_in.rows if name.text != "pooled"] == ["*", "*"]


@pytest.mark.slow
def test_an_attribute_that_was_not_audited_by_itself_has_no_margin():
    ids = [(f"s{i}", k) for i in range(8) for k in range(3)]
    pairs = list(itertools.combinations(ids, 2))
    trials = {
        "enrol": [f"{column}/{k}" for (column, k), _ in pairs],
        "test": [f"{test_id}/{k}" for _, (test_id, k) in pairs],
        "score": [float((7 * i) % 11) for i in range(len(pairs))],
    }
    speakers = {"id": [f"s{i}" for i in range(8)], "kind": ["f", "m"] * 4, "age": [*"aabbaabb"]}
    heading = {"system": "one", "list": "", "grouping": "kind+age", "allocation": "both"}
    heads = {}
    for attributes in (["kind", "age"], ["kind"], ["age"], []):
        audit = pv.audit(
            {"one": trials},
            speakers=speakers,
            by=[*attributes, "kind+age"],
            operating_points=["eer"],
            replicates=50,
        )
        crosstab = crosstabs(audit, {**heading, "within": ""}, "eer")[0]
        down, *across = crosstab.columns
        lacking = {re.search(r" for (\w+),", note)[1] for note in crosstab.notes}
        assert lacking == {"kind", "age"} - set(attributes)
        assert (
            (crosstab.rows[-1][0].text == "all")
            == bool(crosstab.sums)
            == (across[0].span_head in attributes)
        )
        assert (across[-1].head == "all") == (down.head in attributes)
        assert {len(row) for row in crosstab.rows} == {len(crosstab.columns)}
        heads[tuple(attributes)] = tuple(column.head for column in across)
    assert len(set(heads.values())) == 2
