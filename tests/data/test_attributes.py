"""What users write for groups, and values of attributes as they are read."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import parivox as pv
from parivox.data.attributes import (
    AttributeCoder,
    Bands,
    finite_number,
    is_unknown,
    parse_attribute,
    parse_by,
    sorted_values,
)
from parivox.errors import ConfigError, DataError

BOUNDED = settings(max_examples=100, deadline=None)


@pytest.mark.parametrize(
    ("text", "name", "side", "level", "edges"),
    [
        ("gender", "gender", "", "", ()),
        ("Age group", "Age group", "", "", ()),
        ("days apart:1,30", "days apart", "", "", (1.0, 30.0)),
        ("age: 18 , 30.5", "age", "", "", (18.0, 30.5)),
        ("age:-1,0", "age", "", "", (-1.0, 0.0)),
        ("enrol.language", "language", "enrol", "", ()),
        ("test.age:18", "age", "test", "", (18.0,)),
        ("same:device", "device", "same", "", ()),
        ("same: device", "device", "same", "", ()),
        ("same:age:18,30", "age", "same", "", (18.0, 30.0)),
        ("same:1,2", "same", "", "", (1.0, 2.0)),
        ("speaker.age", "age", "", "speaker", ()),
        ("recording.age:18", "age", "", "recording", (18.0,)),
        ("trial.device", "device", "", "trial", ()),
        ("enrol.recording.age:18", "age", "enrol", "recording", (18.0,)),
        ("same:speaker.region", "region", "same", "speaker", ()),
        ("enrol", "enrol", "", "", ()),
        ("enrol.", "enrol.", "", "", ()),
        ("trial", "trial", "", "", ()),
    ],
)
def test_attributes_as_users_write_them(text, name, side, level, edges):
    attribute = parse_attribute(text)
    assert (attribute.name, attribute.side, attribute.source, attribute.edges) == (
        name,
        side,
        level,
        edges,
    )


@pytest.mark.parametrize(
    "text", ["age:", "age:x", "age:2,1", "age:1,1", "age:1,", "age:nan", "age:inf", "age:1_0"]
)
def test_edges_that_are_none(text):
    with pytest.raises(
        ConfigError, match="the band edges must be increasing numbers, as in age:18"
    ):
        parse_attribute(text)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "has an empty part"),
        ("+", "has an empty part"),
        ("gender+", "has an empty part"),
        ("a++b", "has an empty part"),
        ("gender+Gender", "names an attribute twice"),
    ],
)
def test_groupings_that_name_nothing_or_one_attribute_twice(text, fault):
    with pytest.raises(ConfigError, match=f"within=.* {fault}"):
        parse_by(text, "--within")


def test_attributes_of_a_grouping():
    attributes = parse_by("gender + same:channel+days apart:1,30")
    assert [attribute.text for attribute in attributes] == [
        "gender",
        "same:channel",
        "days apart:1,30",
    ]
    assert [attribute.text_without_bands for attribute in attributes] == [
        "gender",
        "same:channel",
        "days apart",
    ]


@BOUNDED
@given(
    edges=st.lists(st.integers(-50, 50), min_size=1, max_size=5, unique=True).map(sorted),
    cells=st.lists(st.integers(-60, 60), max_size=20),
)
def test_every_whole_number_is_in_the_band_that_names_it(edges, cells):
    bands = Bands(tuple(map(float, edges)), tuple(map(str, edges)))
    names = bands.band_names(np.array([18.0]))
    assert len(set(names)) == len(edges) + 1
    for cell, band in zip(
        cells, bands.band_indices(np.array(cells, dtype=float)).tolist(), strict=True
    ):
        below = sum(edge <= cell for edge in edges)
        assert band == below
        if below == 0:
            assert names[band] == f"<{edges[0]}"
        elif below == len(edges):
            assert names[band] == f"{edges[-1]}+"
        else:
            low, high = edges[below - 1], edges[below] - 1
            assert names[band] == (str(low) if low == high else f"{low}-{high}")


def test_bands_of_numbers_that_are_not_whole_end_below_the_next_edge():
    bands = Bands((0.5, 1.0), ("0.5", "1"))
    assert (
        bands.band_names(np.array([18.0]))
        == bands.band_names(np.array([1.5]))
        == ["<0.5", "0.5-<1", "1+"]
    )
    whole_bands = Bands((1.0, 2.0), ("1", "2"))
    assert whole_bands.band_names(np.array([18.0])) == ["<1", "1", "2+"]
    assert whole_bands.band_names(np.array([1.5])) == ["<1", "1-<2", "2+"]


def test_bands_of_text_name_the_cell():
    with pytest.raises(ConfigError) as error_info:
        Bands((1.0,), ("1",)).parse_cells(["3", None, "old"], "age:1", "calls.csv")
    assert str(error_info.value) == (
        "age:1: in calls.csv, the value 'old' of age is not a number; use age without bands"
    )


@BOUNDED
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_read_with_a_point_or_a_comma(value):
    assert finite_number(repr(value)) == value
    assert finite_number(repr(value).replace(".", ",")) == value


@pytest.mark.parametrize("text", ["", "x", "1 0", "1_0", "nan", "inf", "-inf", "1,2,3", "1.2,3"])
def test_what_is_no_number(text):
    assert math.isnan(finite_number(text))


@pytest.mark.parametrize(
    ("values", "order"),
    [
        (["10", "9", "1,5"], ["1,5", "9", "10"]),
        (["b", "10", "9"], ["10", "9", "b"]),
        (["-1", "0", "-2"], ["-2", "-1", "0"]),
        ([], []),
    ],
)
def test_values_rise_as_numbers_if_all_of_them_are(values, order):
    assert sorted_values(values) == order
    assert sorted_values(set(values)) == order


CELLS = st.lists(st.sampled_from([None, "", " ", "a", "b ", " b", "NA", "unknown", "C", "c"]))


@pytest.mark.slow
@BOUNDED
@given(chunks=st.lists(CELLS, max_size=4))
def test_values_are_numbered_alike_whatever_the_chunks(chunks):
    values = AttributeCoder(parse_attribute("device"))
    codes = [values.codes(pl.Series(chunk, dtype=pl.String), "scores.csv") for chunk in chunks]
    levels, position_by_code = values.ordered_values()
    positions = [position_by_code[code] for chunk in codes for code in chunk.tolist()]
    cells = [cell for chunk in chunks for cell in chunk]
    names = [None if position < 0 else levels.values[position] for position in positions]
    plain = [(cell or "").strip() for cell in cells]
    assert names == [None if is_unknown(cell) else cell for cell in plain]
    assert list(levels.values) == sorted(set(names) - {None})


@pytest.mark.slow
@BOUNDED
@given(chunks=st.lists(st.lists(st.sampled_from([None, "0", "1.5", "2,5", "30", "n/a", " 7 "]))))
def test_numbers_are_put_in_bands_while_they_are_read(chunks):
    values = AttributeCoder(parse_attribute("days:1,30"))
    bands = values.bands
    for chunk in chunks:
        codes = values.codes(pl.Series(chunk, dtype=pl.String), "scores.csv")
        numbers = [math.nan if c in {None, "n/a"} else finite_number(c.strip()) for c in chunk]
        assert codes.tolist() == bands.band_indices(np.array(numbers, dtype=float)).tolist()
    levels, position_by_code = values.ordered_values()
    assert position_by_code.tolist() == [0, 1, 2, -1]
    cells = {cell for chunk in chunks for cell in chunk}
    assert levels.values is None
    assert set(levels.numbers) == {finite_number(c.strip()) for c in cells - {None, "n/a"}}


def test_values_of_other_types_are_their_text():
    values = AttributeCoder(parse_attribute("device"))
    codes = [
        *values.codes(pl.Series([3, None, 1]), "scores.csv"),
        *values.codes(pl.Series([True, None]), "scores.csv"),
    ]
    levels, position_by_code = values.ordered_values()
    names = [None if position_by_code[c] < 0 else levels.values[position_by_code[c]] for c in codes]
    assert names == ["3", None, "1", "true", None]


def test_too_many_values_are_no_grouping():
    n = 10_001
    rows = {
        "enrol": [f"a/{i}" for i in range(n)],
        "test": ["b/1"] * n,
        "score": [0.0] * n,
        "device": [f"v{i}" for i in range(n)],
    }
    with pytest.raises(DataError) as error_info:
        pv.audit(rows, speakers={"id": ["a", "b"]}, by=["device"])
    assert str(error_info.value) == (
        "scores: column 'device' has more than 10,000 values, so no trials can be grouped by it; "
        "if the values are numbers, give bands, for example device:1,30"
    )


@pytest.mark.parametrize("text", ["same:", "same: "])
def test_same_needs_an_attribute(text):
    with pytest.raises(
        ConfigError, match="an attribute must follow same:, for example same:device"
    ):
        parse_attribute(text)
