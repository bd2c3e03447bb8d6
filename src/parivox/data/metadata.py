"""Metadata of files of counts and of speaker counts: data from outside, which are checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from parivox.data.attributes import parse_by
from parivox.data.counts_file import MAX_TRIALS
from parivox.data.grouping import Grouping


def require(condition: object, problem: str) -> None:
    """Refuse metadata and rows that no file of counts has."""
    if not condition:
        raise ValueError(problem)


def grouping_metadata(grouping: Grouping) -> dict[str, Any]:
    """A grouping: its attributes with their values in order, and each group as places of values."""
    values = grouping.attribute_values
    value_positions = [
        {value: i for i, value in enumerate(attribute_values)} for attribute_values in values
    ]
    return {
        "name": grouping.name,
        "attributes": [*grouping.attributes],
        "values": [[*attribute_values] for attribute_values in values],
        "groups": [
            [positions[value] for positions, value in zip(value_positions, group, strict=True)]
            for group in grouping.group_values
        ],
        "of_speakers": grouping.speaker_codes is not None,
    }


def grouping_from_metadata(metadata: Any) -> Grouping:
    """A grouping as the header tells it."""
    name = checked_text(metadata["name"])
    attributes = checked_texts(metadata["attributes"])
    values = tuple(checked_texts(attribute) for attribute in checked_list(metadata["values"]))
    value_positions = [
        [checked_count(position) for position in checked_list(attribute)]
        for attribute in checked_list(metadata["groups"])
    ]
    is_column = name.strip() and attributes == (name,)  # whatever a column is called
    written = [name] if is_column else [attribute.text for attribute in parse_by(name)]
    require("+".join(attributes) == name and written == [*attributes], f"grouping {name!r}")
    are_once = all(len(set(attribute)) == len(attribute) for attribute in values)
    require(len(values) == len(attributes) and are_once, f"values of {name!r}")
    group_values = tuple(
        tuple(
            attribute_values[position]
            for attribute_values, position in zip(values, attribute, strict=True)
        )
        for attribute in value_positions
    )
    groups = tuple("+".join(group) for group in group_values)
    require(
        len(set(groups)) == len(groups) and value_positions == sorted(value_positions),
        f"groups of {name!r}",
    )
    require(name != "all" and "pooled" not in groups, f"a name of rows of the audit in {name!r}")
    require(isinstance(metadata["of_speakers"], bool), f"whose groups {name!r} are")
    nobody = np.empty(0, dtype=np.int32) if metadata["of_speakers"] else None
    return Grouping(
        name,
        groups,
        nobody,
        attributes=attributes,
        group_values=group_values,
        counted_values=values,
    )


def checked_texts(entries: Any, n_texts: int | None = None) -> tuple[str, ...]:
    """Texts, perhaps of a known number."""
    return tuple(checked_text(entry_text) for entry_text in checked_list(entries, n_texts))


def checked_text(content: Any) -> str:
    """A text that can be written."""
    require(isinstance(content, str), f"{str(content)[:40]} where a text should be")
    checked = str(content)
    checked.encode()  # which half of a character cannot be
    return checked


def checked_count(number: Any) -> int:
    """A count."""
    is_whole = isinstance(number, int) and not isinstance(number, bool) and 0 <= number < MAX_TRIALS
    require(is_whole, f"{str(number)[:40]} where a count should be")
    return int(number)


def checked_list(entries: Any, n_entries: int | None = None) -> list[Any]:
    """A list, perhaps of a known length."""
    is_list = isinstance(entries, list) and (n_entries is None or len(entries) == n_entries)
    require(
        is_list,
        f"{str(entries)[:40]} where a list{'' if n_entries is None else f' of {n_entries}'} "
        "should be",
    )
    return list(entries)
