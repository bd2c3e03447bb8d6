"""Galleries: the persons that searches of open-set identification compare a probe with.

A gallery is never inferred from what a system returned: a member whom it never recognised would not
be in it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.data.columns import SPEAKER_NAMES, plain_name
from parivox.data.joining import PLACEHOLDERS
from parivox.data.speakers import read_table
from parivox.errors import DataError
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

PERSON_NAMES = ("person", *SPEAKER_NAMES, "id")
"""Names of the column of enrolled persons, the surest first."""
NOBODY_WORDS = frozenset({*map(str.lower, PLACEHOLDERS), "guest", "none", "nobody", "no one"})
"""Words for no one, in lower case."""


@frozen
class Gallery:
    """Enrolled persons, in one gallery or in several."""

    source: str  # for messages
    names: tuple[str, ...]  # of the galleries, rising; an empty one where there is one gallery
    persons: tuple[str, ...]  # in any gallery, rising
    is_enrolled: NDArray[np.bool_]  # [gallery, person]
    person_of_model: Mapping[str, str]  # where the persons are enrolled by models
    provenance: Sequence[dict[str, Any]]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Persons of each gallery, [gallery]."""
        return np.asarray(self.is_enrolled.sum(axis=1), dtype=np.int64)

    def person_positions(self, names: pl.Series) -> NDArray[np.int64]:
        """Place of each person, or of the person of each model; -1 for anyone else."""
        position = {person: i for i, person in enumerate(self.persons)}
        position |= {model: position[person] for model, person in self.person_of_model.items()}
        return np.array([position.get(name, -1) for name in names], dtype=np.int64)


def read_gallery(source: Any) -> Gallery:
    """Read enrolled persons: a table, a list of names, or a text of names such as ``anna,ben``.

    Raises
    ------
    DataError
        If nobody is enrolled, a word for no one is, or a model is of two persons or is named
        like another person than its own.
    """
    names = _listed_names(source)
    if names is not None:
        table = pl.DataFrame({"row": range(1, len(names) + 1), "person": names})
        provenance = {"role": "gallery", "name": "--gallery", "format": "names"}
        return _gallery_of(table, "--gallery", {"person": "person"}, [provenance])
    table, name, provenance = read_table(source, "gallery")
    columns = {plain_name(column): column for column in table.columns if column != "row"}
    person = next((columns[known] for known in PERSON_NAMES if known in columns), "")
    if not person:  # one column of another name may be a list of persons without a header
        found = ", ".join(columns.values())
        msg = f"{name}: has no column 'person' (found: {found})"
        hint = "name the column of enrolled persons 'person', or add a header line: person"
        raise DataError(msg, hint)
    roles = {"person": person}
    roles |= {role: columns[role] for role in ("gallery", "model") if role in columns}
    return _gallery_of(table, name, roles, [{**provenance, "columns": roles}])


def _listed_names(source: Any) -> list[str] | None:
    """Return the names of persons in an option; None for a file or a table."""
    if isinstance(source, str) and "," in source and not Path(source).exists():
        return [name.strip() for name in source.split(",")]
    if isinstance(source, (list, tuple)) and all(isinstance(name, str) for name in source):
        return [name.strip() for name in source]
    if isinstance(source, (str, os.PathLike)) and not str(source):
        return []
    return None


def _gallery_of(
    table: pl.DataFrame,
    name: str,
    roles: Mapping[str, str],
    provenance: Sequence[dict[str, Any]],
) -> Gallery:
    rows = table.select("row", **roles)
    is_nobody = rows["person"].fill_null("").str.to_lowercase().is_in([*NOBODY_WORDS])
    if is_nobody.any() or not rows.height:
        row = rows["row"][is_nobody.arg_max() or 0] if rows.height else 1
        word = rows["person"][is_nobody.arg_max() or 0] if rows.height else ""
        msg = f"{name}, row {row}: {word or ''!r} does not name an enrolled person"
        hint = "name the person, or remove the row"
        raise DataError(msg, hint)
    persons = tuple(rows["person"].unique().sort().to_list())
    person = np.searchsorted(np.array(persons, dtype=object), rows["person"].to_numpy())
    galleries: tuple[str, ...] = ("",)
    gallery = np.zeros(rows.height, dtype=np.int64)
    if "gallery" in roles:
        if rows["gallery"].null_count():
            row = rows["row"][rows["gallery"].is_null().arg_max() or 0]
            msg = f"{name}, row {row}, column 'gallery': is empty"
            hint = "name the gallery of the person"
            raise DataError(msg, hint)
        galleries = tuple(rows["gallery"].unique().sort().to_list())
        gallery = np.searchsorted(np.array(galleries, dtype=object), rows["gallery"].to_numpy())
    is_enrolled = np.zeros((len(galleries), len(persons)), dtype=np.bool_)
    is_enrolled[gallery, person] = True
    return Gallery(
        name, galleries, persons, is_enrolled, _person_of_model(rows, name, roles), provenance
    )


def _person_of_model(rows: pl.DataFrame, name: str, roles: Mapping[str, str]) -> dict[str, str]:
    """Return whose each model is, where persons are enrolled by models."""
    if "model" not in roles:
        return {}
    models = rows.select("model", "person").drop_nulls().unique()
    repeated = models.filter(models["model"].is_duplicated()).sort("model", "person")
    if repeated.height:
        model, first_person = repeated.row(0)
        msg = (
            f"{name}: model {model!r} belongs to {first_person!r} and to {repeated['person'][1]!r}"
        )
        hint = "give each model a different name"
        raise DataError(msg, hint)
    is_of_other = models["model"].is_in(rows["person"].implode()) & (
        models["model"] != models["person"]
    )
    if is_of_other.any():
        model, person = models.filter(is_of_other).sort("model").row(0)
        msg = f"{name}: model {model!r} of {person!r} has the name of another person"
        hint = "rename the model"
        raise DataError(msg, hint)
    return dict(models.iter_rows())
