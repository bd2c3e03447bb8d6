"""Searches of open-set identification: candidate lists, full score lists, decisions.

Whatever the form of the file, the result is one table of searches (`SearchList`): who spoke, in
which gallery was searched, and which persons were returned with which scores.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.core.identification import NO_MATE, Searches
from parivox.data.columns import RequestedColumns, plain_name
from parivox.data.formats import FORMATS, scan
from parivox.data.formats.format import location
from parivox.data.gallery import NOBODY_WORDS
from parivox.data.recordings import read_utterances
from parivox.data.search_columns import CANDIDATES, DECISIONS, ROLE_NAMES, check_bona_fide
from parivox.data.speakers import read_table
from parivox.errors import ConfigError, DataError, name_hint
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.data.formats.format import Scan
    from parivox.data.gallery import Gallery

SCORES = "scores"
"""Form of a full score list; those of other files are in `parivox.data.search_columns`."""
UNKNOWN_WORDS = "unknown"
"""The key in ``--columns`` of the user's own words for no one."""
_TRIAL_ROLES = frozenset({"enrol", "test", "enrol_speaker", "test_speaker", "label"})
"""Roles that a user names in a full score list only."""
_ROLE_ALIASES = {"true_speaker": "probe_speaker", "file": "search"}
"""Other names of roles in ``--columns``."""


@frozen
class SearchList:
    """Searches, whose speaker each is of, and what was returned."""

    name: str  # of the file, for messages
    form: str  # one of `CANDIDATES`, `SCORES` and `DECISIONS`
    ids: tuple[str, ...]
    speakers: tuple[str, ...]  # of the probes; empty where nobody knows them
    gallery: NDArray[np.int64]  # of each search, a place in `Gallery.names`
    searches: Searches
    n_models: int  # entries that a higher score of the same person replaced
    n_excluded: int  # searches left out for missing pairs
    provenance: Sequence[dict[str, Any]]

    @property
    def n_empty(self) -> int:
        """Searches that returned nobody, of lists: decisions name nobody on purpose."""
        if self.form == DECISIONS:
            return 0
        lengths = np.bincount(self.searches.candidate_search, minlength=len(self.ids))
        return int((lengths == 0).sum())

    def subset(self, is_kept: NDArray[np.bool_]) -> SearchList:
        """Return some of the searches."""
        positions = np.flatnonzero(is_kept).tolist()
        return replace(
            self,
            ids=tuple(self.ids[i] for i in positions),
            speakers=tuple(self.speakers[i] for i in positions),
            gallery=self.gallery[is_kept],
            searches=self.searches.subset(is_kept),
        )

    @property
    def content_sha256(self) -> str:
        """Hash of searches and candidates, whatever the order of rows."""
        searches = self.searches
        order = np.lexsort((searches.candidate, searches.candidate_search))
        digest = hashlib.sha256("\n".join((*self.ids, *self.speakers)).encode())
        for column in (
            self.gallery,
            searches.mate,
            searches.candidate_search[order],
            searches.candidate[order],
            searches.candidate_score[order],
        ):
            digest.update(np.ascontiguousarray(column).tobytes())
        return digest.hexdigest()


def read_searches(
    source: Any,
    gallery: Gallery,
    *,
    utterances: Any = None,
    columns: Mapping[str, str] | None = None,
    format: str | None = None,  # noqa: A002 - the option's name
    conflicts: str = "error",
    are_distances: bool = False,
) -> SearchList:
    """Read searches in any of the three forms.

    Parameters
    ----------
    source
        A file or table of candidate lists or decisions, or scores of every probe with every person.
    gallery
        Who is enrolled.
    utterances
        Table of the probes: their speakers, where a full score list does not tell them.
    columns
        Columns by role, and ``unknown=WORD`` for a word that means no one.
    format
        Format of a full score list.
    conflicts
        ``exclude`` leaves out searches of which pairs are missing in a full score list.
    are_distances
        Whether scores are distances, which are negated.

    Raises
    ------
    DataError
        If a list contradicts itself, the gallery or the ranks, or pairs are missing.
    """
    columns = dict(columns or {})
    nobody = NOBODY_WORDS | {
        word.strip().lower() for word in columns.pop(UNKNOWN_WORDS, "").split("|") if word
    }
    table_error: DataError | None = None
    if format is not None and format not in FORMATS:
        msg = f"--scores-format {format!r} is not known"
        hint = f"choose from {', '.join(FORMATS)}"
        raise ConfigError(msg, hint)
    may_have_names = format is None or FORMATS[format].table is not None
    if may_have_names and not _TRIAL_ROLES & columns.keys():
        requested = {_ROLE_ALIASES.get(role, role): column for role, column in columns.items()}
        try:
            rows, name, provenance = read_table(source, "scores")
        except DataError as error:
            table_error = error
        else:
            check_bona_fide(rows.drop("row"), name)
            found_columns = _columns_of_roles(rows, requested, name)
            if "candidate" in found_columns or "predicted_speaker" in found_columns:
                sign = -1.0 if are_distances else 1.0
                reader = _Rows(rows, name, found_columns, gallery, nobody, provenance, sign)
                return reader.candidate_lists() if reader.has("candidate") else reader.decisions()
    try:
        scanned = scan(source, columns=RequestedColumns(columns), format=format, name="scores")
    except DataError:
        if table_error is not None:  # which is about the rows, not about what they may be
            raise table_error from None
        raise
    rows = _scored_pairs(scanned, gallery, are_distances=are_distances)
    return _full_scores(scanned, rows, gallery, utterances, conflicts, nobody)


def _columns_of_roles(
    rows: pl.DataFrame, requested: Mapping[str, str], name: str
) -> dict[str, str]:
    """Return the column of each role, those that the user names first."""
    names = [column for column in rows.columns if column != "row"]
    found_columns = {}
    for role, column in requested.items():
        if role not in ROLE_NAMES:
            known = ", ".join((*ROLE_NAMES, *_ROLE_ALIASES, UNKNOWN_WORDS))
            msg = f"--columns: {role!r} is not a role of searches"
            hint = f"choose from {known}"
            raise ConfigError(msg, hint)
        if column not in names:
            msg = f"{name}: has no column {column!r} for {role}"
            hint = name_hint(column, names)
            raise DataError(msg, hint)
        found_columns[role] = column
    plain_names = {plain_name(column): column for column in reversed(names)}
    for role, known_names in ROLE_NAMES.items():
        columns_of_roles = {*found_columns.values()}
        match = next(
            (plain_names[known] for known in known_names if plain_names.get(known, "") not in
             {"", *columns_of_roles}),
            None,
        )  # fmt: skip
        if role not in found_columns and match is not None:
            found_columns[role] = match
    return found_columns


class _Rows:
    """Rows of candidate lists or of decisions."""

    def __init__(
        self,
        rows: pl.DataFrame,
        name: str,
        columns: Mapping[str, str],
        gallery: Gallery,
        nobody: Collection[str],
        provenance: dict[str, Any],
        sign: float,
    ) -> None:
        self.sign = sign
        self.name, self.columns, self.gallery, self.nobody = name, columns, gallery, nobody
        self.rows = rows.select("row", **columns)
        self.provenance = [{**provenance, "role": "scores", "columns": dict(columns)}]
        needed = ["search", "probe_speaker"]
        if "candidate" in columns:
            needed += ["score"]
        for role in needed:
            if role not in columns:
                found = ", ".join(column for column in rows.columns if column != "row")
                msg = f"{name}: has no column for {role} (found: {found})"
                hint = f"name it with --columns {role}=..."
                raise DataError(msg, hint)
        self._refuse(self.rows["search"].fill_null("") == "", "search", "name the search")

    def has(self, role: str) -> bool:
        """Return whether there is a column of this role."""
        return role in self.columns

    def candidate_lists(self) -> SearchList:
        """Return searches of candidate lists; a row without candidate is an empty list."""
        ids, speakers, galleries, search = self._searches()
        is_entry = (self.rows["candidate"].fill_null("") != "").to_numpy()
        entries = self.rows.filter(is_entry)
        person = self.gallery.person_positions(entries["candidate"])
        search = search[is_entry]
        gallery = galleries[search]
        self._check_enrolled(entries, person, gallery)
        score = self.sign * self._numbers(entries, "score")
        rank = None
        if self.has("rank"):
            rank = self._numbers(entries, "rank")
            self._check_ranks(entries, search, rank, score)
        self._check_repeated(entries)
        best_entries = np.arange(search.size)
        if self.gallery.person_of_model:
            best_entries = _highest_of_each(search, person, score)
        sizes = self.gallery.sizes[galleries]
        n_models = int(search.size - best_entries.size)
        if n_models:
            n_persons = _common_lengths(search, search[best_entries], galleries, self.gallery.sizes)
            best_entries = best_entries[
                _first_of_each(search[best_entries], score[best_entries], n_persons[galleries])
            ]
        lengths = np.bincount(search[best_entries], minlength=len(ids))
        is_whole = bool((lengths[lengths > 0] == sizes[lengths > 0]).all())
        # a system may list as many persons as a small gallery has, and fewer than a large one has;
        # a gallery with empty lists only does not show where its lists would end
        longest = np.zeros(self.gallery.sizes.size, dtype=np.int64)
        np.maximum.at(longest, galleries, lengths)
        longest_of_all = np.minimum(self.gallery.sizes, max(longest.max(initial=0), 1))
        longest = np.where(longest > 0, longest, longest_of_all)
        searches = Searches.from_lists(
            search[best_entries],
            person[best_entries],
            score[best_entries],
            mate=self._mates(speakers, galleries),
            gallery_size=sizes,
            list_length=None if is_whole else longest[galleries],
            # ranks of models are not those of persons
            rank=None if rank is None or n_models else rank,
        )
        return SearchList(
            self.name, CANDIDATES, ids, speakers, galleries, searches, n_models, 0, self.provenance
        )

    def decisions(self) -> SearchList:
        """Return searches that named one person or no one."""
        ids, speakers, galleries, search = self._searches()
        if search.size > len(ids):
            duplicates = self.rows.filter(self.rows["search"].is_duplicated())
            place = location(self.name, duplicates["row"][1], self.columns["search"])
            msg = f"{place}: an earlier row already decides search {duplicates['search'][1]!r}"
            hint = "give one row for each search"
            raise DataError(msg, hint)
        predicted = self.rows["predicted_speaker"].fill_null("")
        is_someone = ~predicted.str.to_lowercase().is_in([*self.nobody]).to_numpy()
        entries = self.rows.filter(is_someone).rename({"predicted_speaker": "candidate"})
        person = self.gallery.person_positions(entries["candidate"])
        self._check_enrolled(entries, person, galleries[search[is_someone]])
        searches = Searches.from_lists(
            search[is_someone],
            person,
            np.ones(person.size),
            mate=self._mates(speakers, galleries),
            gallery_size=self.gallery.sizes[galleries],
            list_length=1,
        )
        return SearchList(
            self.name, DECISIONS, ids, speakers, galleries, searches, 0, 0, self.provenance
        )

    def _searches(
        self,
    ) -> tuple[tuple[str, ...], tuple[str, ...], NDArray[np.int64], NDArray[np.int64]]:
        """Return ids, speakers and galleries of the searches, and the search of each row."""
        rows = self.rows.with_columns(
            speaker=_known_speakers(self.rows["probe_speaker"], self.nobody)
        )
        if len(self.gallery.names) == 1:
            rows = rows.with_columns(gallery=pl.lit(self.gallery.names[0]))
        elif not self.has("gallery"):
            msg = (
                f"{self.name}: has no column 'gallery', but {self.gallery.source} has "
                f"{len(self.gallery.names)} galleries"
            )
            hint = "add this column, with the gallery of each search"
            raise DataError(msg, hint)
        table = rows.select("search", "speaker", "gallery").unique().sort("search")
        is_duplicate = table["search"].is_duplicated()
        if is_duplicate.any():
            search = table.filter(is_duplicate)["search"][0]
            msg = f"{self.name}: search {search!r} has several speakers or galleries"
            hint = "give each search an id of its own"
            raise DataError(msg, hint)
        positions = {gallery: i for i, gallery in enumerate(self.gallery.names)}
        unknown = table.filter(~table["gallery"].fill_null("").is_in([*positions]))
        if unknown.height:
            msg = (
                f"{self.name}: searches gallery {unknown['gallery'][0]!r}, which is not in "
                f"{self.gallery.source}"
            )
            hint = name_hint(str(unknown["gallery"][0]), positions)
            raise DataError(msg, hint)
        galleries = np.array([positions[name] for name in table["gallery"]], dtype=np.int64)
        ids = table["search"].to_list()
        number = {search: i for i, search in enumerate(ids)}
        search = np.array([number[name] for name in self.rows["search"]], dtype=np.int64)
        return tuple(ids), tuple(table["speaker"].to_list()), galleries, search

    def _mates(self, speakers: Sequence[str], galleries: NDArray[np.int64]) -> NDArray[np.int64]:
        return mates_of(self.gallery, speakers, galleries)

    def _numbers(self, rows: pl.DataFrame, role: str) -> NDArray[np.float64]:
        """Return the numbers of a column; refuse anything else."""
        numbers = rows[role].cast(pl.Float64, strict=False)
        self._refuse(~numbers.is_finite().fill_null(value=False), role, "give a number", rows)
        return numbers.to_numpy().astype(np.float64)

    def _check_enrolled(
        self, entries: pl.DataFrame, person: NDArray[np.int64], gallery: NDArray[np.int64]
    ) -> None:
        is_enrolled = (person >= 0) & self.gallery.is_enrolled[gallery, person]
        role = "candidate" if self.has("candidate") else "predicted_speaker"
        wrong = np.flatnonzero(~is_enrolled)
        if wrong.size:
            row, name = entries["row"][int(wrong[0])], entries["candidate"][int(wrong[0])]
            cell = location(self.name, row, self.columns[role])
            raise _not_enrolled_error(cell, name, self.gallery, "remove the row")

    def _check_repeated(self, entries: pl.DataFrame) -> None:
        """Refuse a person, or a model of a person, twice on one list."""
        repeated_rows = _repeated_rows(entries, "search", "candidate")
        if repeated_rows.size:
            entry = entries.row(int(repeated_rows[0]), named=True)
            msg = (
                f"{location(self.name, entry['row'], self.columns['candidate'])}: "
                f"{entry['candidate']!r} occurs twice in the list of search {entry['search']!r}"
            )
            raise DataError(msg, _remedy_for_repeated(self.gallery))

    def _check_ranks(
        self,
        entries: pl.DataFrame,
        search: NDArray[np.int64],
        rank: NDArray[np.float64],
        score: NDArray[np.float64],
    ) -> None:
        """Refuse ranks that are no whole numbers from 1, occur twice, or contradict the scores."""
        self._refuse(pl.Series((rank < 1) | (rank % 1 != 0)), "rank", "count ranks from 1", entries)
        order = np.lexsort((rank, search))
        same_search = np.diff(search[order]) == 0
        for is_wrong, problem in (
            (np.diff(rank[order]) == 0, "occurs twice in the list of search"),
            (np.diff(score[order]) > 0, "has a higher score than the rank before it in search"),
        ):
            wrong = np.flatnonzero(same_search & is_wrong)
            if wrong.size:
                entry = entries.row(int(order[wrong[0] + 1]), named=True)
                msg = (
                    f"{location(self.name, entry['row'], self.columns['rank'])}: rank "
                    f"{entry['rank']} {problem} {entry['search']!r}"
                )
                hint = "correct the ranks or the scores"
                raise DataError(msg, hint)

    def _refuse(
        self, is_wrong: pl.Series, role: str, remedy: str, rows: pl.DataFrame | None = None
    ) -> None:
        rows = self.rows if rows is None else rows
        positions = is_wrong.arg_true()
        if len(positions):
            cell, row = rows[role][positions[0]], rows["row"][positions[0]]
            text = "is empty" if cell is None or cell == "" else f"{cell!r} cannot be used"
            msg = f"{location(self.name, row, self.columns[role])}: {text}"
            raise DataError(msg, remedy)


def _known_speakers(names: pl.Series, nobody: Collection[str]) -> pl.Series:
    """Return speakers, empty for words that mean no one."""
    texts = names.fill_null("")
    is_nobody = texts.str.to_lowercase().is_in([*nobody])
    return texts.set(is_nobody, "")


def _not_enrolled_error(cell: str, name: str, gallery: Gallery, remedy: str) -> DataError:
    """Return the error that a person on a list is not enrolled, with what helps besides."""
    msg = f"{cell}: {name!r} is not in the gallery ({gallery.source})"
    hint = f"add the person to the gallery, or {remedy}"
    return DataError(msg, hint)


def mates_of(
    gallery: Gallery, speakers: Sequence[str], galleries: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the enrolled person of each probe's speaker, `NO_MATE` for non-mated searches."""
    position = {person: i for i, person in enumerate(gallery.persons)}
    person = np.array([position.get(speaker, -1) for speaker in speakers], dtype=np.int64)
    is_mated = (person >= 0) & gallery.is_enrolled[galleries, person]
    return np.where(is_mated, person, NO_MATE)


def _remedy_for_repeated(gallery: Gallery) -> str:
    """Return what helps where one person, or one model of a person, has two scores in a search."""
    if gallery.person_of_model:
        return "keep one row for each model"
    return "keep one row, or name the models of each person in the gallery"


def _repeated_rows(rows: pl.DataFrame, *columns: str) -> NDArray[np.intp]:
    """Return the places of rows that repeat the cells of an earlier row in some columns."""
    is_first = rows.select(pl.struct(columns).is_first_distinct()).to_series()
    return np.flatnonzero(~is_first.to_numpy())


def _common_lengths(
    search: NDArray[np.int64],
    search_of_person: NDArray[np.int64],
    galleries: NDArray[np.int64],
    sizes: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return how many persons every list that ends early has, [gallery], of lists of models.

    Lists of as many models end at different numbers of persons.
    """
    n_models = np.bincount(search, minlength=galleries.size)
    n_persons = np.bincount(search_of_person, minlength=galleries.size)
    most_models = np.zeros(sizes.size, dtype=np.int64)
    np.maximum.at(most_models, galleries, n_models)
    ends_early = (n_models == most_models[galleries]) & (n_persons < sizes[galleries])
    common_lengths = sizes.copy()
    np.minimum.at(common_lengths, galleries[ends_early], n_persons[ends_early])
    return common_lengths


def _first_of_each(
    search: NDArray[np.int64], score: NDArray[np.float64], lengths: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return which candidates are among the highest scores of their list, `lengths` [search]."""
    order = np.lexsort((-score, search))
    starts = np.searchsorted(search[order], search[order])
    is_first = np.zeros(search.size, dtype=np.bool_)
    is_first[order[np.arange(search.size) - starts < lengths[search[order]]]] = True
    return is_first


def _highest_of_each(
    search: NDArray[np.int64], person: NDArray[np.int64], score: NDArray[np.float64]
) -> NDArray[np.intp]:
    """Return the entries with the highest score of each person in each search."""
    order = np.lexsort((-score, person, search))
    is_first = np.ones(order.size, dtype=np.bool_)
    is_first[1:] = (np.diff(search[order]) != 0) | (np.diff(person[order]) != 0)
    return np.sort(order[is_first])


# --- scores of every probe with every person -----------------------------------------------------


def _scored_pairs(scanned: Scan, gallery: Gallery, *, are_distances: bool) -> pl.DataFrame:
    """Return the rows of a full score list, with the number of each enrolled person."""
    if len(gallery.names) > 1:
        msg = f"{scanned.name}: a full score list does not name the gallery of each search"
        hint = "give candidate lists with a column 'gallery'"
        raise DataError(msg, hint)
    for role in ("enrol", "test", "score"):
        if role not in scanned.columns:
            msg = (
                f"{scanned.name}: has neither candidates nor a column for "
                f"{role}{scanned.found_columns_text}"
            )
            hint = f"name it with --columns {role}=..."
            raise DataError(msg, hint)
    names = ("enrol", "test", "score", "test_speaker", "label", "attack")
    roles = [role for role in names if role in scanned.columns]
    rows = pl.concat(
        [
            chunk.frame.select(pl.col(roles).cast(pl.String).str.strip_chars()).with_columns(
                row=pl.Series(chunk.rows, dtype=pl.Int64)
            )
            for chunk in scanned.chunks()
        ]
    )
    check_bona_fide(rows.drop("row"), scanned.name)
    score = rows["score"].cast(pl.Float64, strict=False)
    wrong = (~score.is_finite().fill_null(value=False)).arg_true()
    if len(wrong):
        place = scanned.location(rows["row"][wrong[0]], "score")
        msg = f"{place}: {rows['score'][wrong[0]]!r} is not a number"
        hint = "correct the score"
        raise DataError(msg, hint)
    person = gallery.person_positions(rows["enrol"])
    if (person < 0).any():
        first = int(np.flatnonzero(person < 0)[0])
        cell = scanned.location(rows["row"][first], "enrol")
        remedy = "name the models in its column 'model'"
        raise _not_enrolled_error(cell, rows["enrol"][first], gallery, remedy)
    return rows.with_columns(
        score=-score if are_distances else score, person=pl.Series(person, dtype=pl.Int64)
    )


def _full_scores(
    scanned: Scan,
    rows: pl.DataFrame,
    gallery: Gallery,
    utterances: Any,
    conflicts: str,
    nobody: Collection[str],
) -> SearchList:
    """Return searches of a full score list, in any format that trials may have."""
    person, score = rows["person"].to_numpy(), rows["score"].to_numpy()
    ids = rows["test"].unique().sort().to_list()
    number = {search: i for i, search in enumerate(ids)}
    search = np.array([number[test] for test in rows["test"]], dtype=np.int64)
    repeated_rows = _repeated_rows(rows, "test", "enrol")
    if repeated_rows.size:
        entry = rows.row(int(repeated_rows[0]), named=True)
        msg = (
            f"{scanned.location(entry['row'], 'enrol')}: {entry['enrol']!r} has a second score "
            f"with {entry['test']!r}"
        )
        raise DataError(msg, _remedy_for_repeated(gallery))
    best_entries = _highest_of_each(search, person, score)
    n_models = int(search.size - best_entries.size)
    search, person, scores = search[best_entries], person[best_entries], score[best_entries]
    n_missing = len(ids) * len(gallery.persons) - search.size
    is_complete = np.bincount(search, minlength=len(ids)) == len(gallery.persons)
    if n_missing and conflicts == "error":
        missing = ids[int(np.flatnonzero(~is_complete)[0])]
        have = "pair of a probe and an enrolled person has no score, namely that"
        if n_missing > 1:
            have = "pairs of a probe and an enrolled person have no score, for example those"
        msg = f"{scanned.name}: {n_missing:,} {have} of probe {missing!r}"
        hint = "complete the score list, or exclude these searches with --conflicts exclude"
        raise DataError(msg, hint)
    if not is_complete.any():
        msg = f"{scanned.name}: no probe has a score with every enrolled person"
        hint = "complete the score list"
        raise DataError(msg, hint)
    is_entry_complete = is_complete[search]
    new_number = np.cumsum(is_complete) - 1
    complete_ids = tuple(np.array(ids, dtype=object)[is_complete].tolist())
    speakers = _probe_speakers(rows, complete_ids, utterances, scanned.name, nobody)
    galleries = np.zeros(len(complete_ids), dtype=np.int64)
    searches = Searches.from_lists(
        new_number[search[is_entry_complete]],
        person[is_entry_complete],
        scores[is_entry_complete],
        mate=mates_of(gallery, speakers, galleries),
        gallery_size=len(gallery.persons),
    )
    provenance: dict[str, Any] = {
        "role": "scores", "name": scanned.name, "format": scanned.format,
        "columns": dict(scanned.columns),
    }  # fmt: skip
    if scanned.content is not None:
        provenance |= scanned.content.provenance
    n_excluded = int((~is_complete).sum())
    return SearchList(
        scanned.name, SCORES, complete_ids, speakers, galleries, searches, n_models, n_excluded,
        [provenance],
    )  # fmt: skip


def _probe_speakers(
    rows: pl.DataFrame,
    ids: Sequence[str],
    utterances: Any,
    name: str,
    nobody: Collection[str],
) -> tuple[str, ...]:
    """Return the speaker of each probe, by a column, the table of utterances or the id itself."""
    probes = pl.Series("test", ids, dtype=pl.String)
    if "test_speaker" in rows.columns:
        known = rows.select("test", "test_speaker").unique("test", keep="first")
        named = pl.DataFrame({"test": probes}).join(
            known, on="test", how="left", maintain_order="left"
        )
        return tuple(_known_speakers(named["test_speaker"], nobody).to_list())
    if utterances is None:
        msg = f"{name}: does not name the speakers of the probes"
        hint = "give --utterances with columns utterance and speaker, or a column test_speaker"
        raise DataError(msg, hint)
    speakers = read_utterances(utterances).speakers(probes, name)
    return tuple(_known_speakers(speakers, nobody).to_list())
