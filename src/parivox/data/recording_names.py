"""What was recorded at once: by a column of the table of utterances, or by folders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from parivox.data.columns import plain_name
from parivox.data.ids import positions_in
from parivox.data.joining import text_before
from parivox.data.value_warnings import DataWarning
from parivox.facts import Fact, fact, joined_facts
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parivox.data.recordings import Utterances

RECORDING_COLUMNS = ("recording", "video", "session", "call")
"""Columns of the table of utterances that show what was recorded at once, best first."""
_MAX_OWN_SPEAKER_SHARE, _OWN_SPEAKER_LIMITS = 0.05, (1.5, 8.0)
"""A folder name of more speakers than this share of them, within these limits, is shared."""
_MAX_SHARED_NAMES = 0.1
"""Share of folders with such names above which folders may be no recordings."""
_MIN_SESSION_SHARE = 0.9
_MAX_FOLDERS_PER_SPEAKER = 1.2
"""Folders per speaker, at most, where a part of the path represents the speaker."""
_MAX_DEPTH = 12
_MAX_NAMES_SHOWN = 3
_SESSION_FOLDER = (
    r"(?i)(^|/)((recording|rec|record|video|vid|session|sess|ses|call|visit|day|meeting|interview|"
    r"conversation|episode|chapter|tape|take)[-_. ]?\d+|(19|20)\d\d[-_.]?[01]\d[-_.]?[0-3]\d)($|/)"
)
"""Folders that call themselves a session, or a date: recordings of each speaker, if shared."""
_NUMBERED_FOLDER = r"\d$"


class SharedFolders(NamedTuple):
    """Names of folders that many speakers share, so that they may be those of an attribute."""

    n_names: int  # how many names are shared
    examples: Sequence[str]
    most_speakers: int  # of the name with most speakers
    n_speakers: int
    are_numbered: bool  # whether the names end in numbers

    @property
    def as_fact(self) -> str:
        """Why the names may not be those of recordings, as a fact."""
        return fact("names_of_many_speakers", **self._asdict())


@frozen
class RecordingNames:
    """What was recorded at once: the name of the recording of each utterance, and its source."""

    names: pl.Series  # null where unknown
    column: str = ""  # of the table of utterances, that tells the recording
    are_folders: bool = False  # whether folders tell the recording
    shared_folders: SharedFolders | None = None  # if they give rise to doubt about the names

    @property
    def are_doubtful(self) -> bool:
        """Whether the names may be those of an attribute, not of recordings."""
        return self.shared_folders is not None

    @property
    def source(self) -> Fact:
        """What gives the recordings, or why they are unknown."""
        if self.shared_folders is not None:
            return Fact("folders_may_be_no_recordings", self.shared_folders._asdict())
        if self.column:
            return Fact("recordings_in_column", {"column": self.column})
        return Fact("recordings_in_folders" if self.are_folders else "recordings_not_given", {})

    @property
    def source_values(self) -> dict[str, Any]:
        """What gives the recordings, doubtful or not, as values of a fact."""
        return {"column": self.column, "are_folders": self.are_folders}

    @property
    def unknown_fact(self) -> str:
        """Why no recording is known, as a fact."""
        if self.shared_folders is None:
            return "no_recording_known"
        return self.shared_folders.as_fact

    @property
    def trusted(self) -> pl.Series:
        """The names, unknown where there is doubt about them."""
        return self.names.clear(len(self.names)) if self.are_doubtful else self.names

    @property
    def warning(self) -> str:
        """What to say where the user asks for recordings although there is doubt, as a fact."""
        if self.shared_folders is None:
            return ""
        return fact(
            "doubtful_recordings", **self.source_values, folders=self.shared_folders._asdict()
        )


def recording_names(
    ids: pl.Series, utterances: Utterances | None, speaker: NDArray[np.int32]
) -> RecordingNames:
    """Find the recording of each utterance: in a column of their table, else in the folder.

    A folder is a recording if it lies below the speaker's own, as in VoxCeleb. Names that many
    speakers share are doubted: they may be languages or devices. See
    docs/methods/planning.md#recordings.

    Examples
    --------
    >>> ids = pl.Series(
    ...     [f"{speaker}/{language}/1" for speaker in "abc" for language in ("de", "en")]
    ... )
    >>> found = recording_names(ids, None, np.array([0, 0, 1, 1, 2, 2], dtype=np.int32))
    >>> found.source.code, found.source.values["examples"]
    ('folders_may_be_no_recordings', ['de', 'en'])
    """
    if utterances is not None:
        columns = {
            plain_name(name).removesuffix("id"): name for name in utterances.attributes.columns
        }
        column = next((columns[word] for word in RECORDING_COLUMNS if word in columns), None)
        if column is not None:
            row = positions_in(ids, utterances.table["utterance"])
            table_rows = pl.Series(row, dtype=pl.Int64)
            names = (
                utterances.attributes[column]
                .gather(table_rows.set(table_rows < 0, None))
                .alias("name")
            )
            return RecordingNames(names, column)
    folder = text_before(ids, r"/[^/]*$").alias("name")
    folder = folder.set(~folder.str.contains("/", literal=True), None)
    speaker_folders = pl.DataFrame({"speaker": speaker, "name": folder}).drop_nulls()
    # most folders are followed by themselves, which is faster to see than to look up
    is_repeated = (pl.col("speaker", "name") == pl.col("speaker", "name").shift()).fill_null(False)
    speaker_folders = speaker_folders.filter(~pl.all_horizontal(is_repeated)).unique()
    if not speaker_folders.height:
        return RecordingNames(folder)
    if _divide_rows_alike(speaker_folders["speaker"], speaker_folders["name"]):
        first_folders = speaker_folders["name"].str.replace(r"/.*$", "")
        if not _divide_rows_alike(speaker_folders["speaker"], first_folders):
            return RecordingNames(folder.clear(len(ids)))  # folders are the speakers' own
    shared_folders = _shared_folders(speaker_folders.filter(pl.col("speaker") >= 0))
    return RecordingNames(folder, "", are_folders=True, shared_folders=shared_folders)


def recording_name_warnings(names: RecordingNames) -> list[DataWarning]:
    """What is odd about folders that might be taken for recordings: many speakers share them."""
    shared_folders = names.shared_folders
    if shared_folders is None:
        return []
    note = joined_facts(shared_folders.as_fact, "same_recordings_unknown")
    return [DataWarning("shared_folder_names", shared_folders.n_names, note)]


def _shared_folders(folders: pl.DataFrame) -> SharedFolders | None:
    """The names that say that folders may be an attribute; None if none does.

    `folders` are the distinct ones of each speaker. Recordings have names of their own, or those
    of the few who were recorded together; attributes have those of many speakers.
    """
    n_speakers = folders["speaker"].n_unique()
    if n_speakers < 2:
        return None
    names = folders.select("speaker", name=_without_speaker(folders)).unique()
    names = names.with_columns(speakers=pl.len().over("name"))
    limit = float(np.clip(_MAX_OWN_SPEAKER_SHARE * n_speakers, *_OWN_SPEAKER_LIMITS))
    shared = names.filter(pl.col("speakers") > limit)
    if shared.height <= _MAX_SHARED_NAMES * names.height:
        return None
    is_session = shared["name"].str.contains(_SESSION_FOLDER)
    if float(is_session.mean() or 0.0) >= _MIN_SESSION_SHARE:  # type: ignore[arg-type]
        return None
    shared_names = (
        shared.select("name", "speakers")
        .unique()
        .sort("speakers", "name", descending=[True, False])
    )
    return SharedFolders(
        n_names=shared_names.height,
        examples=shared_names["name"].head(_MAX_NAMES_SHOWN).to_list(),
        most_speakers=int(shared_names["speakers"][0]),
        n_speakers=n_speakers,
        are_numbered=bool(shared_names["name"].str.contains(_NUMBERED_FOLDER).all()),
    )


def _without_speaker(folders: pl.DataFrame) -> pl.Series:
    """Folders without the part of the path that represents the speaker, and what all have first."""
    folders_of_path = folders["name"].str.split("/")
    n_speakers = folders["speaker"].n_unique()
    for depth in range(min(int(folders_of_path.list.len().max() or 0), _MAX_DEPTH)):  # type: ignore[arg-type]
        folder = folders_of_path.list.get(depth, null_on_oob=True)
        n_pairs = pl.DataFrame({"speaker": folders["speaker"], "part": folder}).n_unique()
        if (
            not folder.null_count()
            and n_pairs == folder.n_unique() <= _MAX_FOLDERS_PER_SPEAKER * n_speakers
        ):
            remaining_folders = folders_of_path.list.slice(depth + 1)
            if depth:
                joined = pl.concat_list(folders_of_path.list.head(depth), remaining_folders)
                remaining_folders = folders.select(joined.alias("name"))["name"]
            folders_of_path = remaining_folders
            break
    while (folders_of_path.list.len() > 1).all() and folders_of_path.list.first().n_unique() == 1:
        folders_of_path = folders_of_path.list.slice(1)
    return folders_of_path.list.join("/")


def _divide_rows_alike(first: pl.Series, second: pl.Series) -> bool:
    """Whether two columns part the rows alike."""
    n_values = first.n_unique()
    return n_values == second.n_unique() == pl.DataFrame({"one": first, "other": second}).n_unique()
