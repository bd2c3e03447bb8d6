"""How files fit each other: which ids of the one are found in the other."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from parivox.read.columns import plain
from parivox.read.inspection.findings import Join
from parivox.read.inspection.sides import keys_of, owners_of
from parivox.read.inspection.tables import as_kind
from parivox.read.join import pattern_of
from parivox.read.models import MODEL
from parivox.read.speakers import ID, Speakers, id_columns
from parivox.read.utterances import SPEAKER, UTTERANCE, pattern_of_speakers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from parivox.read.inspection.tables import TableSeen
    from parivox.read.inspection.trials import TrialsSeen

__all__ = ["settled", "tell_joins"]

_EXAMPLES = 3
_MOST = 0.5
_ENDING, _FOLDER, _ZEROS = r"\.[A-Za-z0-9]{1,5}$", r"^.*/", r"^0+(.)"
_CHANGES: dict[str, tuple[tuple[str, str], ...]] = {
    "leading zeros are missing on one side, as spreadsheets drop them": ((_ZEROS, "$1"),),
    "one side holds them as numbers with decimals": ((r"[.,]0+$", ""), (_ZEROS, "$1")),
    "they differ by their endings": ((_ENDING, ""),),
    "they differ by their folders": ((_FOLDER, ""),),
    "they differ by their folders and endings": ((_FOLDER, ""), (_ENDING, "")),
}


def settled(trials: Sequence[TrialsSeen], tables: Sequence[TableSeen]) -> list[TableSeen]:
    """The tables as what the ids of the trials show them to be.

    Names of columns tell tables of utterances from those of speakers only where they are known;
    and of the columns of a table of speakers, the one that holds most of the speakers is theirs.
    """
    if not trials:
        return list(tables)
    ids = pl.concat([one.ids for one in trials]).unique(maintain_order=True)
    named = pl.concat([one.speaker for one in trials]).unique(maintain_order=True)
    are_speakers = any(
        one.found.whose is not None and (one.found.whose.rule != "id" or one.found.whose.wrong == 0)
        for one in trials
    )
    found = []
    for table in tables:
        if table.found.kind == "speakers":
            column, share = _best(ids, table, UTTERANCE)
            _, others = _best(named, table, ID)
            if share > others or (share and plain(column) not in SPEAKER and not are_speakers):
                found.append(as_kind(table, "utterances", {"utterance": column}))
                continue
        found.append(table)
    needed = pl.concat([owners_of(one, found)[0] for one in trials]).drop_nulls()
    needed = needed.unique(maintain_order=True)
    for place, table in enumerate(found):
        if table.found.kind == "speakers":
            column, share = _best(needed, table, ID)
            if share and (table.found.roles or {}).get("speaker") != column:
                found[place] = as_kind(table, "speakers", {"speaker": column})
    return found


def tell_joins(trials: Sequence[TrialsSeen], tables: Sequence[TableSeen]) -> Iterator[Join]:
    """Every join of these files that an audit would make."""

    def of(kind: str) -> list[TableSeen]:
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
    one: TrialsSeen,
    utterances: Sequence[TableSeen],
    models: Sequence[TableSeen],
    speakers: Sequence[TableSeen],
) -> Iterator[Join]:
    recordings = one.ids
    if models:
        enrol, recordings = (_used(one, side) for side in (one.enrol, one.test))
        for table in models:
            yield _lookup("enrolments", one.found.name, enrol, table)
    for table in utterances:
        yield _lookup("utterances", one.found.name, recordings, table)
    for table in speakers:
        yield _of_speakers(one, (*utterances, *models), table)


def _of_cells(role: str, those: Sequence[TableSeen], tables: Sequence[TableSeen]) -> Iterator[Join]:
    """Look up what stands in the columns of one role."""
    for one in those:
        cells = one.cells(role)
        if cells is not None:
            for table in tables:
                yield _lookup(f"{role}s", one.found.name, cells, table)


def _of_failures(
    those: Sequence[TableSeen], utterances: Sequence[TableSeen], models: Sequence[TableSeen]
) -> Iterator[Join]:
    """Look failures up: those of enrolments among the models, all others among the recordings."""
    for one in those:
        cells = one.cells("recording")
        for table in models if cells is not None else ():
            known = table.cells("model")
            if cells is not None and known is not None:
                is_model = cells.is_in(known.implode())
                if is_model.any():
                    yield _lookup("enrolments", one.found.name, cells.filter(is_model), table)
                cells = cells.filter(~is_model)
        if cells is not None and len(cells):
            for table in utterances:
                yield _lookup("recordings", one.found.name, cells, table)


def _best(needed: pl.Series, table: TableSeen, names: Sequence[str]) -> tuple[str, float]:
    """The column that holds these ids, as an audit takes it, and the share that it holds."""
    columns, shares = id_columns(needed, table.table.select(table.columns), names)
    return (columns[0], shares[columns[0]]) if columns else ("", 0.0)


def _used(one: TrialsSeen, side: NDArray[np.int32]) -> pl.Series:
    return one.ids.gather(np.unique(side))


def _lookup(what: str, of: str, ids: pl.Series, table: TableSeen) -> Join:
    """Look ids up in the column of a table that holds most of them."""
    role, names = {
        "utterances": ("utterance", UTTERANCE),
        "models": ("model", MODEL),
        "speakers": ("speaker", ID),
    }[table.found.kind]
    column, share = _best(ids, table, names)
    if not share:
        column = (table.found.roles or {}).get(role, "")
    cells = table.distinct(column) if share or column else pl.Series([], dtype=pl.String)
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
        _difference(missing, cells) if len(missing) else "",
    )


def _difference(missing: pl.Series, cells: pl.Series) -> str:
    """In what most of the missing ids differ from those that there are."""

    def are_most(ours: pl.Series, theirs: pl.Series) -> bool:
        return bool((ours.is_in(theirs.implode()).mean() or 0.0) > _MOST)  # type: ignore[operator]

    if are_most(missing.str.to_lowercase(), cells.str.to_lowercase()):
        return "they differ in upper and lower case"
    for told, patterns in _CHANGES.items():
        ours, theirs = missing, cells
        for pattern, by in patterns:
            ours, theirs = (one.str.replace(pattern, by) for one in (ours, theirs))
        if are_most(ours, theirs):
            return told
    return ""


def _of_speakers(one: TrialsSeen, tables: Sequence[TableSeen], table: TableSeen) -> Join:
    told, by_table = owners_of(one, tables)
    needed = told.drop_nulls().unique(maintain_order=True)
    join = _lookup("speakers", one.found.name, needed, table)
    is_component = one.found.whose is not None and one.found.whose.rule != "columns"
    if join.pattern or by_table.any() or not is_component or join.met > _MOST * join.count:
        return join
    read = table.provenance
    speakers = Speakers(
        table.table, name=str(read["name"]), id=None, conflicts="error", provenance=read
    )
    share = join.met / max(join.count, 1)
    return replace(join, pattern=pattern_of_speakers(one.ids, speakers, share))


def _pairs(one: TrialsSeen, other: TrialsSeen) -> Iterator[Join]:
    """The trials of a list among those of scores, and the reverse if any is missing."""
    if not (one.found.whole and other.found.whole):
        met = other.ids.is_in(one.ids.implode())
        yield Join("utterances", other.found.name, one.found.name, "", int(met.sum()), len(met),
                   tuple(other.ids.filter(~met).head(_EXAMPLES).to_list()))  # fmt: skip
        return
    every, *both_keys = keys_of(one, other)
    keys = [np.unique(one) for one in both_keys]
    both = np.intersect1d(keys[0], keys[1], assume_unique=True).size
    few = 2 * both < min(key.size for key in keys)
    pattern = pattern_of(one.scan, other.scan) if few else ""
    yield _of_pairs(other, one, both, keys[1], keys[0], every, pattern)
    if both < keys[0].size:
        yield _of_pairs(one, other, both, keys[0], keys[1], every, pattern)


def _of_pairs(
    of: TrialsSeen,
    in_: TrialsSeen,
    met: int,
    mine: NDArray[np.int64],
    theirs: NDArray[np.int64],
    ids: pl.Series,
    pattern: str,
) -> Join:
    missing = np.setdiff1d(mine, theirs, assume_unique=True)[: _EXAMPLES - 1]
    low, high = np.divmod(missing // 2, len(ids))
    pairs = [
        f"({ids[int(b if back else a)]}, {ids[int(a if back else b)]})"
        for a, b, back in zip(low, high, missing % 2, strict=True)
    ]
    return Join("trials", of.found.name, in_.found.name, "", met, mine.size, tuple(pairs), pattern)
