"""How files fit each other: which ids of the one are found in the other, and what both tell."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from parivox.core.cluster_errors import count_distinct
from parivox.data.attributes import UNKNOWN, parse_attribute
from parivox.data.columns import SPEAKER, plain
from parivox.data.ids import places_in
from parivox.data.inspection.findings import DifferingAttribute, Join, LabelFindings
from parivox.data.inspection.tables import with_kind
from parivox.data.inspection.trials import auc_where_labelled
from parivox.data.joining import DIFFERENCES, pattern_of, pattern_of_speakers, placeholders
from parivox.data.recordings import MODEL
from parivox.data.speakers import ID, UTTERANCE, Speakers, id_columns
from parivox.data.trial_checks import pair_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from parivox.data.inspection.findings import Column
    from parivox.data.inspection.tables import InspectedTable
    from parivox.data.inspection.trials import InspectedTrials

_EXAMPLES = 3
_MOST = 0.5
_ZEROS = r"^0+(.)"
_DIFFERENCES = {
    "they differ in upper and lower case": DIFFERENCES["in upper and lower case"],
    "leading zeros are missing on one side, as spreadsheets drop them": lambda ids: ids.str.replace(
        _ZEROS, "$1"
    ),
    "one side holds them as numbers with decimals": lambda ids: ids.str.replace(
        r"^(\d+)[.,]0+$", "$1"
    ).str.replace(_ZEROS, "$1"),
    **{f"they differ {told}": change for told, change in DIFFERENCES.items()},
}


def settle_kinds(
    trials: Sequence[InspectedTrials], tables: Sequence[InspectedTable]
) -> list[InspectedTable]:
    """The tables as what the ids of the trials show them to be.

    Names of columns tell tables of utterances from those of speakers only where they are known;
    and of the columns of a table of speakers, the one that holds most of the speakers is theirs.
    """
    if not trials:
        return list(tables)
    ids = pl.concat([one.ids for one in trials]).unique(maintain_order=True)
    named = pl.concat([one.speaker for one in trials]).drop_nulls().unique(maintain_order=True)
    are_speakers = any(
        one.found.whose is not None and (one.found.whose.rule != "id" or one.found.whose.wrong == 0)
        for one in trials
    )
    found = []
    for table in tables:
        if table.found.kind == "speakers":
            column, share = _id_column(ids, table, UTTERANCE)
            _, others = _id_column(named, table, ID)
            if share > others or (share and plain(column) not in SPEAKER and not are_speakers):
                found.append(with_kind(table, "utterances", {"utterance": column}))
                continue
        found.append(table)
    needed = pl.concat([speakers_of_ids(one, found)[0] for one in trials]).drop_nulls()
    needed = needed.unique(maintain_order=True)
    for place, table in enumerate(found):
        if table.found.kind == "speakers":
            column, share = _id_column(needed, table, ID)
            if share and table.roles.get("speaker") != column:
                found[place] = with_kind(table, "speakers", {"speaker": column})
    return found


def find_joins(
    trials: Sequence[InspectedTrials], tables: Sequence[InspectedTable]
) -> Iterator[Join]:
    """Every join of these files that an audit would make."""

    def of(kind: str) -> list[InspectedTable]:
        return [table for table in tables if table.found.kind == kind]

    lists = [one for one in trials if one.found.kind == "trials"]
    scored = [one for one in trials if one.found.kind == "scores"]
    for one in scored:
        for other in lists:
            yield from _pairs(one, other)
    for one in scored or lists:
        yield from _of_trials(one, of("utterances"), of("models"), of("speakers"))
    yield from _of_cells("recording", of("models"), of("utterances"))
    yield from _of_failures(of("failures"), of("utterances"), of("models"))
    if not trials:
        yield from _of_cells("speaker", of("utterances") + of("models"), of("speakers"))


def _of_trials(
    one: InspectedTrials,
    utterances: Sequence[InspectedTable],
    models: Sequence[InspectedTable],
    speakers: Sequence[InspectedTable],
) -> Iterator[Join]:
    recordings = one.ids
    if models:
        enrol, recordings = (
            one.ids.gather(np.unique(side)) for side in (one.rows.enrol, one.rows.test)
        )
        for table in models:
            yield _lookup("enrolments", one.found.name, enrol, table)
    for table in utterances:
        yield _lookup("utterances", one.found.name, recordings, table)
    for table in speakers:
        yield _of_speakers(one, (*utterances, *models), table)


def _of_cells(
    role: str, those: Sequence[InspectedTable], tables: Sequence[InspectedTable]
) -> Iterator[Join]:
    """Look up what stands in the columns of one role."""
    for one in those:
        if (cells := one.cells(role)) is not None:
            for table in tables:
                yield _lookup(f"{role}s", one.found.name, cells, table)


def _of_failures(
    those: Sequence[InspectedTable],
    utterances: Sequence[InspectedTable],
    models: Sequence[InspectedTable],
) -> Iterator[Join]:
    """Look failures up: those of enrolments among the models, all others among the recordings."""
    for one in those:
        if "recording" not in one.roles:
            continue
        cells = one.distinct(one.roles["recording"])
        for table in models:
            if (known := table.cells("model")) is not None:
                is_model = cells.is_in(known.implode())
                if is_model.any():
                    yield _lookup("enrolments", one.found.name, cells.filter(is_model), table)
                cells = cells.filter(~is_model)
        for table in utterances if len(cells) else ():
            yield _lookup("recordings", one.found.name, cells, table)


def _id_column(needed: pl.Series, table: InspectedTable, names: Sequence[str]) -> tuple[str, float]:
    """The column that holds these ids, as an audit takes it, and the share that it holds."""
    columns, shares = id_columns(needed, table.table.select(table.columns), names)
    return (columns[0], shares[columns[0]]) if columns else ("", 0.0)


def _lookup(what: str, of: str, ids: pl.Series, table: InspectedTable) -> Join:
    """Look ids up in the column of a table that holds most of them."""
    role, names = {
        "utterances": ("utterance", UTTERANCE),
        "models": ("model", MODEL),
        "speakers": ("speaker", ID),
    }[table.found.kind]
    column, share = _id_column(ids, table, names)
    if not share:
        column = table.roles.get(role, "")
    has_column = share or column  # one that holds ids may have no name
    cells = table.distinct(column) if has_column else pl.Series([], dtype=pl.String)
    if role == "speaker":
        listed = cells.implode()
        ids = ids.filter(ids.is_in(listed) | ~ids.is_in(placeholders()))
    met = ids.is_in(cells.implode())
    missing = ids.filter(~met)
    return Join(
        what,
        of,
        table.found.name,
        column,
        int(met.sum()),
        len(ids),
        tuple(missing.head(_EXAMPLES).to_list()),
        _difference(missing, cells),
    )


def _difference(missing: pl.Series, cells: pl.Series) -> str:
    """In what most of the missing ids differ from those that there are."""
    for how, change in _DIFFERENCES.items() if len(missing) else ():
        ours, theirs = (
            ids.to_frame("id").select(change(pl.col("id")))["id"] for ids in (missing, cells)
        )
        if (ours.is_in(theirs.implode()).mean() or 0.0) > _MOST:  # type: ignore[operator]
            return how
    return ""


def _of_speakers(
    one: InspectedTrials, tables: Sequence[InspectedTable], table: InspectedTable
) -> Join:
    speakers_known, by_table = speakers_of_ids(one, tables)
    needed = speakers_known.drop_nulls().unique(maintain_order=True)
    join = _lookup("speakers", one.found.name, needed, table)
    is_component = one.found.whose is not None and one.found.whose.rule != "columns"
    if join.pattern or by_table.any() or not is_component or join.met > _MOST * join.count:
        return join
    read = table.provenance
    speakers = Speakers(
        table.table, name=str(read["name"]), id=None, conflicts="error", provenance=read
    )
    share = join.met / max(join.count, 1)
    pattern, template = pattern_of_speakers(one.ids, speakers, share)
    return replace(join, pattern=pattern, template=template)


def _pairs(one: InspectedTrials, other: InspectedTrials) -> Iterator[Join]:
    """The trials of a list among those of scores, and the reverse if any is missing."""
    mine, its = one.found, other.found
    if not (mine.whole and its.whole):
        met = other.ids.is_in(one.ids.implode())
        missing = tuple(other.ids.filter(~met).head(_EXAMPLES))
        yield Join("utterances", its.name, mine.name, "", int(met.sum()), len(met), missing)
        return
    ids, *both_keys = _keys(one, other)
    (scored, _), (listed, _) = map(count_distinct, both_keys)
    both = np.intersect1d(scored, listed, assume_unique=True).size
    pattern = pattern_of(one.scan, other.scan) if 2 * both < min(scored.size, listed.size) else ""
    for of, among, here, there in (
        (its, mine, listed, scored),
        (mine, its, scored, listed),
    ):
        if of is its or both < here.size:
            missing = _named_pairs(np.setdiff1d(here, there, assume_unique=True), ids)
            yield Join("trials", of.name, among.name, "", both, here.size, missing, pattern)


def _named_pairs(keys: NDArray[np.int64], ids: pl.Series) -> tuple[str, ...]:
    """The first of some pairs, enrolment before test, as messages show them."""
    low, high = np.divmod(keys[: _EXAMPLES - 1] // 2, len(ids))
    is_reversed = keys[: _EXAMPLES - 1] % 2 == 1
    enrol, test = np.where(is_reversed, (high, low), (low, high)).tolist()
    return tuple(f"({ids[a]}, {ids[b]})" for a, b in zip(enrol, test, strict=True))


def speakers_of_ids(
    one: InspectedTrials, tables: Sequence[InspectedTable]
) -> tuple[pl.Series, pl.Series]:
    """Speaker of each id, null where a table should tell it but does not; whether a table does."""
    speaker = one.speaker
    by_table = pl.repeat(False, len(one.ids), dtype=pl.Boolean, eager=True)
    for table in tables:
        key = {"utterances": "utterance", "models": "model"}.get(table.found.kind, "")
        known = _owners_in(table, tables) if key in table.roles else None
        if known is None:
            continue
        frame = pl.DataFrame({"id": one.ids, "own": speaker})
        found = frame.join(known, on="id", how="left", maintain_order="left")["theirs"]
        if found.null_count() < len(found):
            speaker = found.fill_null(speaker) if key == "model" or by_table.any() else found
            by_table |= found.is_not_null()
    return speaker, by_table


def _owners_in(table: InspectedTable, tables: Sequence[InspectedTable]) -> pl.DataFrame | None:
    """Speaker of each id of a table; of models without one, that of a recording of theirs."""
    roles = table.roles
    own = roles.get("model") or roles["utterance"]
    if "speaker" in roles:
        return table.table.select(id=own, theirs=roles["speaker"]).unique("id")
    for other in tables:
        there = other.roles
        if "recording" in roles and {"utterance", "speaker"} <= set(there):
            known = other.table.select(recording=there["utterance"], theirs=there["speaker"])
            made = table.table.select(id=own, recording=roles["recording"])
            joined = made.join(known.unique("recording"), on="recording", maintain_order="left")
            return joined.select("id", "theirs").unique("id", keep="first", maintain_order=True)
    return None


def _keys(
    one: InspectedTrials, other: InspectedTrials
) -> tuple[pl.Series, NDArray[np.int64], NDArray[np.int64]]:
    """Ids of two files, and a number for the pair in each row of either."""
    every = pl.concat((one.ids, other.ids)).unique(maintain_order=True)
    keys = []
    for inspected in (one, other):
        place = places_in(inspected.ids, every)
        keys.append(pair_key(place[inspected.rows.enrol], place[inspected.rows.test], len(every)))
    return every, keys[0], keys[1]


def add_labels(
    trials: Sequence[InspectedTrials], tables: Sequence[InspectedTable]
) -> list[InspectedTrials]:
    """The trials, those of scores without labels with those of a list, or of their speakers."""
    lists = [one for one in trials if one.found.kind == "trials" and one.found.labels is not None]
    found = []
    for one in trials:
        made = one
        if one.found.kind == "scores" and one.found.labels is None and one.rows.enrol.size:
            by = lists[0].found.name if lists else "speakers"
            label = _labels_of_list(one, lists[0]) if lists else _by_speakers(one, tables)
            if label is not None:
                n_target, n_nontarget = (int((label == code).sum()) for code in (1, 0))
                scores = one.found.scores
                if scores is not None:
                    scores = replace(scores, auc=auc_where_labelled(one.rows.score, label))
                labels = LabelFindings(n_target, n_nontarget, by)
                told = replace(one.found, labels=labels, scores=scores)
                made = replace(one, found=told, rows=one.rows._replace(label=label))
        found.append(made)
    return found


def _labels_of_list(one: InspectedTrials, other: InspectedTrials) -> NDArray[np.int8]:
    """Label of each trial in a list, -1 where it is not in it."""
    _, mine, theirs = _keys(one, other)
    if not theirs.size:
        return np.full(mine.size, -1, dtype=np.int8)
    order = np.argsort(theirs)
    at = order[np.searchsorted(theirs, mine, sorter=order).clip(max=theirs.size - 1)]
    return np.where(theirs[at] == mine, other.rows.label[at], -1).astype(np.int8)


def _by_speakers(one: InspectedTrials, tables: Sequence[InspectedTable]) -> NDArray[np.int8] | None:
    """Label of each trial by the speakers of its sides; None if one of these is not known."""
    speaker, by_table = speakers_of_ids(one, tables)
    is_guess = one.found.whose is None or one.found.whose.rule == "id"
    people = [table for table in tables if table.found.kind == "speakers"]
    known = [cells for table in people if (cells := table.cells("speaker")) is not None]
    if known:
        is_known = speaker.is_in(pl.concat(known).implode())
    else:
        is_known = by_table if is_guess else speaker.is_not_null()
    if speaker.null_count() or not is_known.all():
        return None
    code = speaker.rank("dense").to_numpy()
    label: NDArray[np.int8] = (code[one.rows.enrol] == code[one.rows.test]).astype(np.int8)
    return label


def differing_attributes(
    one: InspectedTrials, tables: Sequence[InspectedTable]
) -> Iterator[tuple[Column, DifferingAttribute]]:
    """Attributes of recordings whose values differ between the sides of most target trials."""
    rows = one.rows.label == 1
    models = [table for table in tables if table.found.kind == "models"]
    for table in tables:
        if table.found.kind != "utterances" or "utterance" not in table.roles:
            continue
        for column in table.found.columns:
            if column.groups:
                code = _codes(one, table, column, models)
                enrol, test = code[one.rows.enrol[rows]], code[one.rows.test[rows]]
                known = (enrol >= 0) & (test >= 0)
                share = float((enrol != test)[known].mean()) if known.any() else 0.0
                if share > _MOST:
                    yield column, DifferingAttribute(column.by, f"test.{column.by}", share)


def _codes(
    one: InspectedTrials, table: InspectedTable, column: Column, models: Sequence[InspectedTable]
) -> NDArray[np.int64]:
    """Group of each id by an attribute of its recording, of a model by that of all of its own."""
    cell, roles = pl.col(column.name), table.roles
    is_known = ~cell.str.to_lowercase().is_in(UNKNOWN)
    values = table.table.filter(is_known).select(id=roles["utterance"], value=cell).unique("id")
    for model in models:
        theirs = model.roles
        if {"model", "recording"} <= set(theirs):
            pairs = model.table.select(id=theirs["recording"], model=theirs["model"])
            made = pairs.join(values, on="id").group_by("model").agg(pl.col("value").unique())
            made = made.filter(pl.col("value").list.len() == 1)
            values = pl.concat(
                (values, made.select(id="model", value=pl.col("value").list.first()))
            )
    ids = pl.DataFrame({"id": one.ids})
    value = ids.join(values.unique("id"), on="id", how="left", maintain_order="left")["value"]
    bands = parse_attribute(column.by).bands if column.bands else None
    if bands is not None:
        return bands.band_indices(
            bands.parse_cells(value.to_list(), column.by, table.found.name)
        ).astype(np.int64)
    return (value.rank("dense").cast(pl.Int64) - 1).fill_null(-1).to_numpy()
