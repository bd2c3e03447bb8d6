"""Trials as a careful pandas user reads them; shared by the pandas peers."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Iterator

COLUMNS = ["ref_file", "sc", "lab"]
GROUPINGS = (("Gender",), ("Nationality",), ("Gender", "Nationality"))


def read(scores: str, speakers: str) -> pd.DataFrame:
    """Return score, label and the attributes of the enrolment speaker, one row per trial.

    Without dtypes, since pandas 3.1 then reads in parallel: asking for categories at once took
    1.1 CPU s, not 0.2. They are made afterwards, so that text is cut once per utterance.
    """
    trials = pd.read_csv(scores, usecols=COLUMNS)
    people = pd.read_csv(speakers, sep="\t", index_col="VoxCeleb1 ID")
    enrol = trials["ref_file"].astype("category").cat
    speaker = enrol.categories.str.split("/", n=1).str[0]
    table = pd.DataFrame({"score": trials["sc"], "label": trials["lab"]})
    for attribute in ("Gender", "Nationality"):
        codes, names = pd.factorize(people[attribute].reindex(speaker))
        table[attribute] = pd.Categorical.from_codes(codes[enrol.codes], names)
    return table


def read_both(scores: str, speakers: str) -> pd.DataFrame:
    """Return what `read` does, for trials whose speakers share the group, after checks."""
    trials, people, places = read_sides(scores, speakers)
    return placed(trials, people, places)


def read_sides(
    scores: str, speakers: str
) -> tuple[pd.DataFrame, pd.DataFrame, list[np.ndarray[Any, Any]]]:
    """Return the trials, the speakers, and the row of the speaker of either side, after checks."""
    trials = pd.read_csv(scores, usecols=["ref_file", "com_file", "sc", "lab"])
    people = pd.read_csv(speakers, sep="\t", index_col="VoxCeleb1 ID")
    sides = [trials[side].astype("category").cat for side in ("ref_file", "com_file")]
    if pd.DataFrame({i: side.codes for i, side in enumerate(sides)}).duplicated().any():
        sys.exit("a trial occurs twice")
    owners = [side.categories.str.split("/", n=1).str[0] for side in sides]
    places = [
        people.index.get_indexer(owner)[side.codes]
        for owner, side in zip(owners, sides, strict=True)
    ]
    if ((places[0] == places[1]) != (trials["lab"] == 1)).any():
        sys.exit("a label contradicts the speakers")
    return trials, people, places


def placed(
    trials: pd.DataFrame, people: pd.DataFrame, places: list[np.ndarray[Any, Any]]
) -> pd.DataFrame:
    """Return score, label and attributes.

    A nontarget trial counts for a group only if both speakers belong to it (as in `parivox audit`);
    elsewhere its attribute is missing, which `groups` passes over.
    """
    table = pd.DataFrame({"score": trials["sc"], "label": trials["lab"]})
    for attribute in ("Gender", "Nationality"):
        codes, names = pd.factorize(people[attribute])
        enrol, test = codes[places[0]], codes[places[1]]
        table[attribute] = pd.Categorical.from_codes(np.where(enrol == test, enrol, -1), names)
    return table


def groups(table: pd.DataFrame) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """Yield each group's name and its rows, for all trials and for the three groupings."""
    yield "all", np.arange(len(table))
    for grouping in GROUPINGS:
        rows_by_group = table.groupby(list(grouping), observed=True, sort=True).indices
        for name, rows in rows_by_group.items():
            yield "+".join(name if isinstance(name, tuple) else (name,)), rows
