"""One grouping at one operating point is confirmatory: the first, or the one that is named."""

import pytest

import parivox as pv
from parivox.errors import ConfigError

FEW = {"reference": "others", "zero": "none"}
"""Fewer measures of bias than by default: they are not what is tested here."""


@pytest.fixture(scope="module")
def audited(simulate):
    """Audit a few trials with any options; of some trials the decisions are known."""
    trials, speakers = simulate(nontarget=2000)
    decided = {**trials, "decision": [score > 1 for score in trials["score"]]}

    def audit(*, systems=("scored",), **options):
        sources = {"scored": trials, "decided": decided}
        merged = {"by": ["gender", "nation"], "replicates": 50, **FEW, **options}
        return pv.audit({name: sources[name] for name in systems}, speakers=speakers, **merged)

    return audit


def confirmatory(audit):
    """Where verdicts are said to be confirmatory, by system."""
    keys = ("system", "grouping", "allocation", "operating_point", "within")
    rows = audit.verdicts.rows()
    confirmatory_keys = {tuple(row[key] for key in keys) for row in rows if row["confirmatory"]}
    exploratory_keys = {tuple(row[key] for key in keys) for row in rows if not row["confirmatory"]}
    assert not confirmatory_keys & exploratory_keys
    return confirmatory_keys


@pytest.mark.slow
def test_the_first_grouping_at_the_first_point_under_the_first_rule(audited):
    options = {"operating_points": ["eer", "fpr=0.05"], "allocate": ["both", "either"]}
    audit = audited(within="nation", **options)
    assert confirmatory(audit) == {("scored", "gender", "both", "eer", "")}
    assert audit.record["primary"] == {"scored": "gender@eer"}


@pytest.mark.slow
def test_what_is_named_comes_first_and_changes_no_number(audited):
    points = ["eer", "fpr=0.05"]
    unnamed = audited(operating_points=points)
    named = audited(operating_points=points, primary="nation@fpr=0.05")
    assert confirmatory(named) == {("scored", "nation", "both", "fpr=0.05", "")}
    assert named.record["groupings"] == ["nation", "gender"]
    assert named.operating_points.rows()[0]["operating_point"] == "fpr=0.05"
    keys = ("grouping", "group", "metric", "operating_point", "p_holm")
    unnamed_rows, named_rows = (
        {tuple(row[k] for k in keys) for row in a.verdicts} for a in (unnamed, named)
    )
    assert unnamed_rows == named_rows


@pytest.mark.slow
def test_the_first_point_is_the_first_of_each_system_that_has_a_threshold(audited):
    audit = audited(systems=("scored", "decided"))
    assert audit.record["primary"] == {"scored": "gender@fpr=0.01", "decided": "gender@deployed"}
    unknown = audited(operating_points=["fpr=0.0001", "eer"])
    assert unknown.record["primary"] == {"scored": "gender@eer"}


@pytest.mark.slow
def test_nothing_is_confirmatory_at_a_named_point_without_a_threshold(audited):
    audit = audited(operating_points=["fpr=0.0001", "eer"], primary="gender@fpr=0.0001")
    assert not confirmatory(audit)
    assert "primary" not in audit.record


@pytest.mark.slow
@pytest.mark.parametrize(
    ("primary", "message"),
    [
        ("sex", "'sex' is not a grouping of this audit; choose from gender, nation"),
        ("gender@fpr=0.2", "'fpr=0.2' is not an operating point of scores; choose from fpr=0.01"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(audited, primary, message):
    with pytest.raises(ConfigError) as refused:
        audited(primary=primary)
    assert str(refused.value).startswith(f"primary={primary!r}: ")
    assert message in str(refused.value)
