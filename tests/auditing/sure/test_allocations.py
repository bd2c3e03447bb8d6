"""FNR is of target trials alone: nothing of it depends on the groups of nontarget trials."""

import pytest

import parivox as pv

pytestmark = pytest.mark.slow

RULES = ("both", "enrol", "test", "either")
SIZES = {"a": 12, "b": 9, "c": 10}
OF_BOTH_RATES = {
    "groups": {"nontarget_trials"},
    # Holm is over both
    "verdicts": {"p_holm", "p_bh", "verdict", "sentence", "values", "reason", "power"},
}


@pytest.fixture(scope="module")
def audit(people):
    """Two systems, and speakers who are also compared with those of other groups."""
    people_trials = people(
        SIZES, fnr=lambda group, i: ((3 * i + ord(group)) % 7, 9), fpr=lambda *_: (0, 1)
    )
    names = people_trials.table["id"]
    for i, speaker_id in enumerate(names):
        for j in range(i + 1, min(i + 14, len(names))):
            people_trials.nontarget(speaker_id, names[j], (i + j) % 2, 2)
    another = [(1 - s if i % 9 == 0 else s) for i, s in enumerate(people_trials.trials["score"])]
    return pv.audit(
        {"one": people_trials.trials, "another": {**people_trials.trials, "score": another}},
        speakers=people_trials.table,
        by="group",
        allocate=RULES,
        operating_points="threshold=0.5",
        reference=["others", "a"],
        zero="none",
        compare=True,
        replicates=50,
    )


@pytest.mark.parametrize("name", ["groups", "bias", "meta", "limits", "verdicts", "comparison"])
def test_rows_of_fnr_are_the_same_however_nontarget_trials_are_allocated(audit, name):
    apart = {"allocation", "confirmatory"} | OF_BOTH_RATES.get(name, set())
    first_rows, *rows_by_rule = (
        [
            {k: v for k, v in row.items() if k not in apart}
            for row in getattr(audit, name).subset(metric="fnr", allocation=rule)
        ]
        for rule in RULES
    )
    assert first_rows
    for rows in rows_by_rule:
        assert len(rows) == len(first_rows)
        for row, first_row in zip(rows, first_rows, strict=True):
            for column, cell in row.items():  # sums of other lengths differ in last digits
                first_cell = first_row[column]
                assert cell == (
                    pytest.approx(first_cell) if isinstance(first_cell, float) else first_cell
                ), column


@pytest.mark.parametrize("rule", RULES)
def test_fnr_has_closed_forms_and_floors_where_fpr_has_none(audit, rule):
    row_filter = {"system": "one", "grouping": "group", "allocation": rule}
    for metric, has_form in (("fnr", True), ("fpr", rule == "both")):
        (ratio,) = audit.bias.subset(
            **row_filter, metric=metric, measure="ratio", group="b", reference="a"
        )
        assert (ratio["floor_95"] is not None) == has_form
        (tau,) = audit.meta.subset(**row_filter, metric=metric, measure="tau_log", gated=False)
        assert (tau["value"] is not None) == has_form
        assert tau["reason"] == ("" if has_form else "shared_speakers")
