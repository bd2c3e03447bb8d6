"""Metadata of files of counts and of tallies: data from outside, checked as they are taken."""

from __future__ import annotations

from typing import Any

import numpy as np

from parivox.data.attributes import parse_by
from parivox.data.counts_file import MOST
from parivox.data.grouping import Grouping


def need(is_so: object, problem: str) -> None:
    """Refuse metadata and rows that no file of counts has."""
    if not is_so:
        raise ValueError(problem)


def described(grouping: Grouping) -> dict[str, Any]:
    """A grouping: its attributes with their values in order, and each group as places of values."""
    values = grouping.attribute_values
    places = [{value: i for i, value in enumerate(one)} for one in values]
    return {
        "name": grouping.name,
        "attributes": [*grouping.attributes],
        "values": [[*one] for one in values],
        "groups": [
            [place[value] for place, value in zip(places, part, strict=True)]
            for part in grouping.group_values
        ],
        "of_speakers": grouping.speaker_codes is not None,
    }


def grouping_of(value: Any) -> Grouping:
    """A grouping as the header tells it."""
    name = text(value["name"])
    attributes = texts(value["attributes"])
    values = tuple(texts(one) for one in several(value["values"]))
    places = [[whole(at) for at in several(one)] for one in several(value["groups"])]
    is_column = name.strip() and attributes == (name,)  # whatever a column is called
    written = [name] if is_column else [one.text for one in parse_by(name)]
    need("+".join(attributes) == name and written == [*attributes], f"grouping {name!r}")
    are_once = all(len(set(one)) == len(one) for one in values)
    need(len(values) == len(attributes) and are_once, f"values of {name!r}")
    parts = tuple(tuple(of[at] for of, at in zip(values, one, strict=True)) for one in places)
    groups = tuple("+".join(part) for part in parts)
    need(len(set(groups)) == len(groups) and places == sorted(places), f"groups of {name!r}")
    need(name != "all" and "pooled" not in groups, f"a name of rows of the audit in {name!r}")
    need(isinstance(value["of_speakers"], bool), f"whose groups {name!r} are")
    nobody = np.empty(0, dtype=np.int32) if value["of_speakers"] else None
    return Grouping(
        name, groups, nobody, attributes=attributes, group_values=parts, counted_values=values
    )


def texts(value: Any, n: int | None = None) -> tuple[str, ...]:
    """Texts, perhaps of a known number."""
    return tuple(text(one) for one in several(value, n))


def text(value: Any) -> str:
    """A text that can be written."""
    need(isinstance(value, str), f"{str(value)[:40]} where a text should be")
    found = str(value)
    found.encode()  # which half of a character cannot be
    return found


def whole(value: Any) -> int:
    """A count."""
    is_whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST
    need(is_whole, f"{str(value)[:40]} where a count should be")
    return int(value)


def several(value: Any, n: int | None = None) -> list[Any]:
    """A list, perhaps of a known length."""
    is_list = isinstance(value, list) and (n is None or len(value) == n)
    need(is_list, f"{str(value)[:40]} where a list{'' if n is None else f' of {n}'} should be")
    return list(value)
