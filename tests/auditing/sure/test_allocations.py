"""FNR is of target trials alone: nothing of it depends on the groups of nontarget trials."""

import pytest

import parivox as pv

pytestmark = pytest.mark.slow

RULES = ("both", "enrol", "test", "either")
SIZES = {"a": 12, "b": 9, "c": 10}
OF_BOTH_RATES = {
    "groups": {"nontarget_trials"},
    "verdicts": {"p_holm", "p_bh", "verdict", "sentence", "reason", "power"},  # Holm is over both
}


@pytest.fixture(scope="module")
def audit(people):
    """Two systems, and speakers who are also compared with those of other groups."""
    made = people(SIZES, fnr=lambda group, i: ((3 * i + ord(group)) % 7, 9), fpr=lambda *_: (0, 1))
    names = made.table["id"]
    for i, one in enumerate(names):
        for j in range(i + 1, min(i + 14, len(names))):
            made.nontarget(one, names[j], (i + j) % 2, 2)
    another = [(1 - s if i % 9 == 0 else s) for i, s in enumerate(made.trials["score"])]
    return pv.audit(
        {"one": made.trials, "another": {**made.trials, "score": another}},
        speakers=made.table,
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
    own, *others = (
        [
            {k: v for k, v in row.items() if k not in apart}
            for row in getattr(audit, name).where(metric="fnr", allocation=rule)
        ]
        for rule in RULES
    )
    assert own
    for rows in others:
        assert len(rows) == len(own)
        for row, wanted in zip(rows, own, strict=True):
            for column, value in row.items():  # sums of other lengths differ in last digits
                same = wanted[column]
                assert value == (pytest.approx(same) if isinstance(same, float) else same), column


@pytest.mark.parametrize("rule", RULES)
def test_fnr_has_closed_forms_and_floors_where_fpr_has_none(audit, rule):
    where = {"system": "one", "grouping": "group", "allocation": rule}
    for metric, has_form in (("fnr", True), ("fpr", rule == "both")):
        (ratio,) = audit.bias.where(
            **where, metric=metric, measure="ratio", group="b", reference="a"
        )
        assert (ratio["floor_95"] is not None) == has_form
        (tau,) = audit.meta.where(**where, metric=metric, measure="tau_log", gated=False)
        assert (tau["value"] is not None) == has_form
        shared = "no valid draws of a fair system: speakers are in several groups"
        assert tau["reason"] == ("" if has_form else shared)
