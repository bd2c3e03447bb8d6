"""Options are checked once, before any file is read."""

import pytest

import parivox as pv
from parivox.auditing.options import Options
from parivox.errors import ConfigError, ParivoxError


@pytest.mark.parametrize(
    ("texts", "wanted"),
    [
        ([0.5], (0.5,)),
        (["0:1:0.25"], (0.0, 0.25, 0.5, 0.75, 1.0)),
        (["0,0.5,1"], (0.0, 0.5, 1.0)),
        (["0:1:0.5", 0.25, "0.5"], (0.0, 0.5, 1.0, 0.25)),
        (["0:1:0.4"], (0.0, 0.4, 0.8)),
        (["1:1:0.1"], (1.0,)),
    ],
)
def test_alpha(texts, wanted):
    assert Options(alpha=texts).alpha == wanted


def test_a_step_of_a_twentieth_gives_weights_without_dust():
    assert Options(alpha="0:1:0.05").alpha == tuple(i / 20 for i in range(21))


@pytest.mark.parametrize(
    "text", ["", "x", "0:1", "0:1:0", "1:0:0.1", "0:1:-0.1", "0:1:0.1:2", "0::1"]
)
def test_what_is_no_weight(text):
    with pytest.raises(ConfigError, match="alpha"):
        Options(alpha=[text])


@pytest.mark.parametrize(
    "text",
    ["nan", "inf", "0:inf:0.1", "0:nan:0.1", "0:1:nan", "0:1:inf"],
)
def test_weights_are_finite(text):
    with pytest.raises(ConfigError, match="alpha"):
        Options(alpha=[text])


@pytest.mark.parametrize(
    "wrong",
    [
        {"allocate": ("all",)},
        {"allocate": ()},
        {"eer": ("exact",)},
        {"rule": ("linear",)},
        {"zero": ("laplace",)},
        {"compat": "bosaris"},
        {"alpha": (1.5,)},
        {"alpha": (-0.1,)},
        {"alpha": ()},
        {"cost": ("nosuch",)},
        {"cost": ("0.05,1",)},
        {"cost": ("1.5,1,1",)},
        {"cost": ("0.05,-1,1",)},
        {"cost": ("voxsrc", "voxsrc")},
        {"cost": ()},
        {"reference": ("pooled", "pooled")},
        {"operating_points": ()},
        {"operating_points": ("eer", "eer")},
        {"operating_points": ("bayes",)},
        {"sweep": "fpr"},
    ],
)
def test_wrong_options_are_told_in_one_sentence(wrong):
    with pytest.raises(ConfigError) as refusal:
        Options(**wrong)
    assert "\n" not in str(refusal.value)


def test_options_are_wrong_before_anything_is_read():
    with pytest.raises(ConfigError, match="allocate"):
        pv.audit("no such file.csv", speakers="nor this.csv", allocate="sideways")


@pytest.mark.parametrize("wrong", [{"conflicts": "ignore"}, {"orientation": "up"}])
def test_options_of_the_readers(trials, speakers, wrong):
    with pytest.raises(ParivoxError):
        pv.audit(trials, speakers=speakers, by="gender", **wrong)


def test_compat_adds_the_allocation_that_the_other_tool_knows():
    assert Options(compat="bt4vt").allocate == ("both", "enrol")
    assert Options(compat="bt4vt", allocate=("enrol",)).allocate == ("enrol",)


@pytest.mark.slow
def test_two_spellings_of_one_cost_do_not_give_rows_of_one_key(trials, speakers):
    try:
        audit = pv.audit(trials, speakers=speakers, by="gender", cost=["0.2,1,5", "0.20,1.0,5"])
    except ConfigError:
        return
    table = audit.groups.to_polars()
    key = ["grouping", "group", "allocation", "metric", "definition", "operating_point"]
    assert table.select(key).is_duplicated().sum() == 0


def test_options_are_told_as_written(small):
    recorded = small.record["options"]
    assert recorded["by"] == ("gender+nation",)
    assert recorded["operating_points"] == ("threshold=1.25", "fpr=0.01", "fnr=0.05")
    assert recorded["alpha"] == (0.0, 0.25, 0.5, 0.75, 1.0)
    assert recorded["sweep"] == "fpr=0.01:0.1:log5"
    assert small.record["groupings_chosen_by"] == "user"


@pytest.mark.slow
def test_without_by_it_is_said_what_was_chosen(trials, speakers):
    audit = pv.audit(trials, speakers=speakers)
    assert audit.record["groupings"] == ["gender", "nation"]
    assert audit.record["groupings_chosen_by"] == "every attribute with 2 to 50 values"


def test_no_grouping_at_all_is_refused(trials, speakers):
    with pytest.raises(ConfigError, match="by names nothing"):
        pv.audit(trials, speakers=speakers, by=[])
