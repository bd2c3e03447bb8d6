"""Groups of speakers."""

import pytest

from parivox.data.requested_groupings import make_groupings
from parivox.data.speakers import read_speakers
from parivox.errors import ConfigError, DataError

pytestmark = pytest.mark.minimal

TABLE = {
    "id": ["a", "b", "c", "d", "e"],
    "Sex": ["f", "m", "f", "", "m"],
    "Age": ["17", "18", "30", "60", "29"],
    "note": ["p", "q", "r", "s", "t"],
    "same": ["x"] * 5,
}


def groupings(attributes, *, used=range(5), table=TABLE):
    people = read_speakers(table, id="id")
    return make_groupings(people, attributes, speakers_in_use=list(used))


def test_one_attribute_whatever_its_case():
    (grouping,) = groupings(["sex"])
    assert (grouping.name, grouping.groups, grouping.speaker_codes.tolist()) == (
        "sex",
        ("f", "m"),
        [0, 1, 0, -1, 1],
    )


def test_combinations_in_the_order_asked_for():
    first_grouping, second_grouping = groupings(["note+SEX", "sex+age:30"])
    assert first_grouping.name == "note+SEX"
    assert first_grouping.groups == ("p+f", "q+m", "r+f", "t+m")
    assert second_grouping.name == "sex+age:30"
    assert second_grouping.groups == ("f+<30", "f+30+", "m+<30")
    assert second_grouping.speaker_codes.tolist() == [0, 2, 1, -1, 2]


def test_bands_hold_their_lower_edge_and_keep_their_order():
    (grouping,) = groupings(["age:18,30,60"])
    assert grouping.groups == ("<18", "18-29", "30-59", "60+")
    assert grouping.speaker_codes.tolist() == [0, 1, 2, 3, 1]
    (grouping,) = groupings(["age:18,19,100"])
    assert grouping.groups == ("<18", "18", "19-99")
    assert not grouping.unused_groups
    (grouping,) = groupings(
        ["height:1.5,1.75"], table={**TABLE, "height": [1.4, 1.5, 1.7, None, 1.8]}
    )
    assert grouping.groups == ("<1.5", "1.5-<1.75", "1.75+")
    assert grouping.speaker_codes.tolist() == [0, 1, 1, -1, 2]


def test_persons_are_no_groups_unless_asked_for():
    assert [grouping.name for grouping in groupings(None)] == [
        "Sex"
    ]  # Age and note differ for everyone
    table = {**TABLE, "note": ["p", "q", "r", None, None]}
    assert [grouping.name for grouping in groupings(None, table=table)] == ["Sex"]
    assert groupings(["note"])[0].groups == ("p", "q", "r", "s", "t")
    assert [grouping.name for grouping in groupings(None, used=[0, 1])] == ["Sex", "Age", "note"]


def test_bands_keep_their_digits():
    ages = {**TABLE, "Age": ["1234566", "1234567", "1234568", "2e6", ""]}
    (grouping,) = groupings(["age:1234567,1234568,1500000"], table=ages)
    assert grouping.name == "age:1234567,1234568,1500000"
    assert grouping.groups == ("<1234567", "1234567", "1234568-1499999", "1500000+")
    fraction_table = {**TABLE, "Age": ["0.1", "0.30000000000000004", "0.5", "0.7", ""]}
    (grouping,) = groupings(["age:0.30000000000000004, 0.6"], table=fraction_table)
    assert grouping.groups == ("<0.30000000000000004", "0.30000000000000004-<0.6", "0.6+")


def test_numbers_with_underscores_are_none():
    with pytest.raises(ConfigError, match="the value '4_0' of age is not a number"):
        groupings(["age:30"], table={**TABLE, "Age": ["4_0", "1", "2", "3", "4"]})
    with pytest.raises(ConfigError, match="the band edges must be increasing numbers"):
        groupings(["age:1_0"])


def test_numbers_rise():
    (grouping,) = groupings(["age"], table={**TABLE, "Age": ["9", "10", "100", "9", ""]})
    assert grouping.groups == ("9", "10", "100")


def test_only_groups_in_use():
    (grouping,) = groupings(["sex"], used=[0, 2])
    assert (grouping.groups, grouping.unused_groups) == (("f",), {"m": 2})
    assert grouping.speaker_codes.tolist() == [0, -1, 0, -1, -1]


def test_without_a_choice_every_attribute_with_2_to_50_values():
    ages = {**TABLE, "Age": ["17", "18", "30", "60", "30"]}
    assert [grouping.name for grouping in groupings(None, table=ages)] == ["Sex", "Age"]
    many = {
        "id": [str(i) for i in range(60)],
        "x": [str(i) for i in range(60)],
        "y": ["p", "q"] * 30,
    }
    assert [grouping.name for grouping in groupings(None, table=many, used=range(60))] == ["y"]
    with pytest.raises(DataError, match=r"no attribute has 2 to 50 values .*available: x"):
        groupings(None, table={"id": ["a"], "x": ["b"]}, used=[0])


@pytest.mark.parametrize(
    ("attribute", "match"),
    [
        ("sexx", "by: unknown attribute 'sexx' .searched speakers.; did you mean 'Sex"),
        (
            "zzz",
            "by: unknown attribute 'zzz' .searched speakers.; available: Sex, Age, note, same",
        ),
        ("sex+", "has an empty part"),
        ("sex+SEX", "names an attribute twice"),
        ("sex:1", "the value 'f' of sex is not a number"),
        ("age:", "the band edges must be increasing numbers"),
        ("age:30,18", "the band edges must be increasing numbers"),
        ("age:18,x", "the band edges must be increasing numbers"),
        ("age:18,nan", "the band edges must be increasing numbers"),
    ],
)
def test_bad_groupings(attribute, match):
    with pytest.raises(ConfigError, match=match):
        groupings([attribute])


def test_groupings_that_clash():
    with pytest.raises(ConfigError, match="names 'sex' twice"):
        groupings(["sex", "Sex"])
    table = {"id": ["a", "b"], "x": ["p+q", "p"], "y": ["r", "q+r"]}
    with pytest.raises(ConfigError, match="two groups would be named 'p\\+q\\+r'"):
        groupings(["x+y"], table=table, used=[0, 1])
    with pytest.raises(ConfigError, match="a group is named 'pooled'"):
        groupings(["x"], table={"id": ["a"], "x": ["pooled"]}, used=[0])
    with pytest.raises(DataError, match="by sex: is unknown for every speaker"):
        groupings(["sex"], used=[3])
