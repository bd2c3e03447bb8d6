"""What the two sides of trials tell together: whose they are, labels, attributes that differ."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from parivox.core.separation import auc
from parivox.read.attributes import UNKNOWN, parse_attribute
from parivox.read.inspection.findings import Differing, Labels
from parivox.read.validation import pair_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from parivox.read.inspection.findings import Column
    from parivox.read.inspection.tables import TableSeen
    from parivox.read.inspection.trials import TrialsSeen

__all__ = ["differing", "keys_of", "labelled", "owners_of"]

_MOST = 0.5


def owners_of(one: TrialsSeen, tables: Sequence[TableSeen]) -> tuple[pl.Series, pl.Series]:
    """Speaker of each id, null where a table should tell it but does not; whether a table does."""
    told = one.speaker
    by_table = pl.repeat(False, len(one.ids), dtype=pl.Boolean, eager=True)
    for table in tables:
        roles = table.found.roles or {}
        key = {"utterances": "utterance", "models": "model"}.get(table.found.kind, "")
        known = _told_by(table, tables) if key in roles else None
        if known is None:
            continue
        frame = pl.DataFrame({"id": one.ids, "own": told})
        found = frame.join(known, on="id", how="left", maintain_order="left")["theirs"]
        if found.null_count() < len(found):
            told = found.fill_null(told) if key == "model" or by_table.any() else found
            by_table |= found.is_not_null()
    return told, by_table


def _told_by(table: TableSeen, tables: Sequence[TableSeen]) -> pl.DataFrame | None:
    """Speaker of each id of a table; of models without one, that of a recording of theirs."""
    roles = table.found.roles or {}
    own = roles.get("model") or roles["utterance"]
    if "speaker" in roles:
        return table.table.select(id=own, theirs=roles["speaker"]).unique("id")
    for other in tables:
        there = other.found.roles or {}
        if "recording" in roles and {"utterance", "speaker"} <= set(there):
            known = other.table.select(recording=there["utterance"], theirs=there["speaker"])
            made = table.table.select(id=own, recording=roles["recording"])
            joined = made.join(known.unique("recording"), on="recording", maintain_order="left")
            return joined.select("id", "theirs").unique("id", keep="first", maintain_order=True)
    return None


def keys_of(
    one: TrialsSeen, other: TrialsSeen
) -> tuple[pl.Series, NDArray[np.int64], NDArray[np.int64]]:
    """Ids of two files, and a number for the pair in each row of either."""
    every = pl.concat((one.ids, other.ids)).unique(maintain_order=True)
    mine, theirs = (_keys(seen, every) for seen in (one, other))
    return every, mine, theirs


def _keys(seen: TrialsSeen, every: pl.Series) -> NDArray[np.int64]:
    codes = seen.ids.cast(pl.Enum(every)).to_physical().to_numpy().astype(np.int32)
    return pair_key(codes[seen.enrol], codes[seen.test], len(every))


def labelled(trials: Sequence[TrialsSeen], tables: Sequence[TableSeen]) -> list[TrialsSeen]:
    """The trials, those of scores without labels with those of a list, or of their speakers."""
    lists = [one for one in trials if one.found.kind == "trials" and one.found.labels is not None]
    found = []
    for one in trials:
        made = one
        if one.found.kind == "scores" and one.found.labels is None and one.enrol.size:
            if lists:
                made = _with(one, _listed(one, lists[0]), lists[0].found.name)
            elif (label := _by_speakers(one, tables)) is not None:
                made = _with(one, label, "speakers")
        found.append(made)
    return found


def _listed(one: TrialsSeen, other: TrialsSeen) -> NDArray[np.int8]:
    """Label of each trial in a list, -1 where it is not in it."""
    _, mine, theirs = keys_of(one, other)
    order = np.argsort(theirs)
    at = np.searchsorted(theirs, mine, sorter=order).clip(max=max(theirs.size - 1, 0))
    if not theirs.size:
        return np.full(mine.size, -1, dtype=np.int8)
    found: NDArray[np.int8] = np.where(theirs[order[at]] == mine, other.label[order[at]], -1)
    return found.astype(np.int8)


def _by_speakers(one: TrialsSeen, tables: Sequence[TableSeen]) -> NDArray[np.int8] | None:
    """Label of each trial by the speakers of its sides; None if one of these is not known."""
    told, by_table = owners_of(one, tables)
    is_guess = one.found.whose is None or one.found.whose.rule == "id"
    people = [table for table in tables if table.found.kind == "speakers"]
    known = [cells for table in people if (cells := table.cells("speaker")) is not None]
    if known:
        is_known = told.is_in(pl.concat(known).implode())
    else:
        is_known = by_table if is_guess else told.is_not_null()
    if told.null_count() or not is_known.all():
        return None
    code = told.rank("dense").to_numpy()
    label: NDArray[np.int8] = (code[one.enrol] == code[one.test]).astype(np.int8)
    return label


def _with(one: TrialsSeen, label: NDArray[np.int8], by: str) -> TrialsSeen:
    """The trials with labels from elsewhere."""
    counts = [int((label == code).sum()) for code in (0, 1)]
    scores = one.found.scores
    both = ~np.isnan(one.score) & (label >= 0)
    if scores is not None and both.any():
        area = float(auc(one.score[both], label[both]))
        scores = replace(scores, auc=None if np.isnan(area) else area)
    found = replace(one.found, labels=Labels(counts[1], counts[0], by), scores=scores)
    return replace(one, found=found, label=label)


def differing(one: TrialsSeen, tables: Sequence[TableSeen]) -> Iterator[tuple[Column, Differing]]:
    """Attributes of recordings whose values differ between the sides of most target trials."""
    rows = one.label == 1
    models = [table for table in tables if table.found.kind == "models"]
    for table in tables:
        if table.found.kind != "utterances" or "utterance" not in (table.found.roles or {}):
            continue
        for column in table.found.columns:
            if column.groups:
                code = _codes(one, table, column, models)
                enrol, test = code[one.enrol[rows]], code[one.test[rows]]
                known = (enrol >= 0) & (test >= 0)
                share = float((enrol != test)[known].mean()) if known.any() else 0.0
                if share > _MOST:
                    yield column, Differing(column.by, f"test.{column.by}", share)


def _codes(
    one: TrialsSeen, table: TableSeen, column: Column, models: Sequence[TableSeen]
) -> NDArray[np.int64]:
    """Group of each id by an attribute of its recording, of a model by that of all of its own."""
    cell, roles = pl.col(column.name), table.found.roles or {}
    is_known = ~cell.str.to_lowercase().is_in(UNKNOWN)
    told = table.table.filter(is_known).select(id=roles["utterance"], value=cell).unique("id")
    for model in models:
        theirs = model.found.roles or {}
        if {"model", "recording"} <= set(theirs):
            pairs = model.table.select(id=theirs["recording"], model=theirs["model"])
            made = pairs.join(told, on="id").group_by("model").agg(pl.col("value").unique())
            made = made.filter(pl.col("value").list.len() == 1)
            told = pl.concat((told, made.select(id="model", value=pl.col("value").list.first())))
    ids = pl.DataFrame({"id": one.ids})
    value = ids.join(told.unique("id"), on="id", how="left", maintain_order="left")["value"]
    bands = parse_attribute(column.by).bands if column.bands else None
    if bands is not None:
        return bands.of(bands.numbers(value.to_list(), column.by, table.found.name)).astype(
            np.int64
        )
    return (value.rank("dense").cast(pl.Int64) - 1).fill_null(-1).to_numpy()
