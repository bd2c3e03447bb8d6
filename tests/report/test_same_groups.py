"""Measures of several systems side by side are of the same groups."""

import numpy as np
import polars as pl
import pytest

import parivox as pv
from parivox.report.scopes import are_gated_alike
from parivox.report.sheets.paper import latex, markdown

SAID = "as other groups are under-represented in other systems"


def _scores(shift):
    """Scores of 3 accents of 20 speakers; nontargets of accent c are moved by `shift`."""
    rng = np.random.default_rng(7)
    rows = []
    for accent in "abc":
        ids = [f"{accent}{i}" for i in range(20)]
        for i, one in enumerate(ids):
            rows += [(f"{one}/1", f"{one}/{k}", rng.normal(3), 1) for k in range(2, 14)]
            moved = shift if accent == "c" else 0
            rows += [
                (f"{one}/1", f"{two}/{k}", rng.normal() + moved, 0)
                for two in ids[:i]
                for k in (2, 3, 4)
            ]
    return pl.DataFrame(rows, schema=["enrol", "test", "score", "label"], orient="row")


def _audit(tmp_path, shifts):
    speakers = pl.DataFrame({"speaker": [f"{a}{i}" for a in "abc" for i in range(20)]})
    speakers = speakers.with_columns(accent=pl.col("speaker").str.head(1))
    speakers.write_csv(tmp_path / "speakers.csv")
    files = {}
    for name, shift in shifts.items():
        files[name] = tmp_path / f"{name}.csv"
        _scores(shift).write_csv(files[name])
    return pv.audit(
        files, speakers=tmp_path / "speakers.csv", by="accent", operating_points=["threshold=1.8"]
    )


@pytest.mark.parametrize("shift", [-2.0, -4.0])
def test_a_group_that_drops_out_of_one_system_does_not_make_it_look_fairer(tmp_path, shift):
    audit = _audit(tmp_path, {"A": shift, "B": 0.0})
    assert not are_gated_alike(audit, {"grouping": "accent"})
    for text in (latex(audit), markdown(audit)):
        assert text.count(SAID) == 2


def test_a_system_alone_or_alike_ones_keep_the_groups_that_count(tmp_path):
    for shifts in ({"A": -4.0}, {"A": 0.0, "B": 0.0}):
        audit = _audit(tmp_path, shifts)
        assert are_gated_alike(audit, {"grouping": "accent"})
        assert SAID not in latex(audit)
