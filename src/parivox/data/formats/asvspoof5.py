"""Files of ASVspoof 5: scores of a submission, its key, and the table of recordings.

The first two have a header; ``-`` in a column of scores says that it was not supplied. Speakers are
enrolled once, under their own names.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from parivox.data.formats.delimited import (
    delimited_table,
    head_lines,
    is_text,
    read_text,
)
from parivox.data.formats.format import (
    CERTAIN_FIT,
    Chunk,
    Example,
    Format,
    NamedColumns,
    scan_named_columns,
)
from parivox.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from parivox.data.columns import RequestedColumns
    from parivox.data.formats.format import Rows, Scan
    from parivox.data.source_bytes import SourceBytes

CM_SCORE = "cm-score"
_SCORE_COLUMNS = (CM_SCORE, "asv-score", "sasv-score")
_SCORE_HEADER = ("spk", "filename", *_SCORE_COLUMNS)
_KEY_HEADER = ("spk", "filename", "cm-label", "asv-label")
_FULL_KEY_HEADER = ("tar_spk_anon", "trial_anon", "cm-label", "asv-label")
"""Columns of the full key, besides the attack, the codec and others."""
_SIDES = {"enrol": "spk", "enrol_speaker": "spk", "test": "filename"}
_FULL_KEY_SIDES = {
    "enrol": "tar_spk_anon", "enrol_speaker": "tar_spk_anon", "test": "trial_anon"
}  # fmt: skip
_FULL_KEY_ATTACK = "attack_anon"
_TRACK_COLUMN, _NO_TRIAL = "track_2_tag", "dummy"
"""Column of the full key, and what it has in rows that are no trials of its track."""
NOT_SUPPLIED = "-"
"""What a column has in place of a missing value."""
_RECORDING_COLUMNS = ("speaker", "utterance", "gender", "codec", "codec_quality")
"""First columns of the table of recordings, which has no header. Attacks are those of trials."""
_N_RECORDING_COLUMNS, _KEY_COLUMN = 10, 8
SPEAKER_ATTRIBUTE = "gender"
"""The only column of the table of recordings that is of the speaker."""
RECORDINGS = "asvspoof5-track1"
_KEYS = ("bonafide", "spoof")


def _has_header(header: Sequence[str]) -> Callable[[bytes, RequestedColumns], float]:
    """Return the fit function of a format with this header."""

    def fit(head: bytes, _: RequestedColumns) -> float:
        lines = head_lines(head)[:1] if is_text(head) else []
        return CERTAIN_FIT if any(line.split() == [*header] for _, line in lines) else 0

    return fit


def _is_key(head: bytes, _: RequestedColumns) -> float:
    """Return the fit of a key with the four columns alone, or of the full key."""
    lines = head_lines(head)[:1] if is_text(head) else []
    header = lines[0][1].split() if lines else []
    is_of_key = header == [*_KEY_HEADER] or {*_FULL_KEY_HEADER} <= {*header}
    return CERTAIN_FIT if is_of_key else 0


def _scan_scores(content: SourceBytes, columns: RequestedColumns) -> Scan:
    """Read the scores of a submission: those of the whole system, unless the user names others."""
    by_role = {**_SIDES, "score": _SCORE_COLUMNS[-1], **columns.by_role}
    requested = replace(columns, by_role=by_role)
    name = SCORES.name
    scan = scan_named_columns(content.name, name, delimited_table(content), requested, content)
    score_column = scan.columns["score"]

    def chunks() -> Iterator[Chunk]:
        has_scores = False
        for chunk in scan.chunks():
            score = chunk["score"]
            if score.dtype == pl.String:
                score = score.str.strip_chars()
                score = score.set(score == NOT_SUPPLIED, None)
            has_scores = has_scores or score.count() > 0
            yield replace(chunk, frame=chunk.frame.with_columns(score=score))
        if not has_scores:
            other = next(column for column in _SCORE_COLUMNS[::-1] if column != score_column)
            msg = f"{content.name}, column {score_column!r}: contains no scores"
            hint = f"name another column with --columns score={other}"
            raise DataError(msg, hint)

    # scores of other systems are nothing to group trials by
    ignored = tuple(column for column in scan.ignored if column not in _SCORE_COLUMNS)
    return replace(scan, chunks=chunks, ignored=ignored)


def _scan_key(content: SourceBytes, columns: RequestedColumns) -> Scan:
    """Read a key; a label that says bona fide and spoof at once is refused."""
    table = delimited_table(content)
    roles = {**_SIDES, "label": "asv-label"}
    if _SIDES["enrol"] not in table.names:
        roles |= _FULL_KEY_SIDES
        if _FULL_KEY_ATTACK in table.names:
            roles["attack"] = _FULL_KEY_ATTACK
    requested = replace(columns, by_role={**roles, **columns.by_role})
    scan = scan_named_columns(content.name, KEY.name, table, requested, content)
    positions = {"asv": table.names.index("asv-label"), "cm": table.names.index("cm-label")}
    has_tracks = _TRACK_COLUMN in table.names
    if has_tracks:
        positions["track"] = table.names.index(_TRACK_COLUMN)

    def chunks() -> Iterator[Chunk]:
        for all_rows, (_, all_labels) in zip(scan.chunks(), table.chunks(positions), strict=True):
            chunk, labels = all_rows, all_labels
            if has_tracks:
                is_trial = (all_labels["track"].str.strip_chars() != _NO_TRIAL).fill_null(
                    value=True
                )
                chunk, labels = all_rows.select(is_trial), all_labels.filter(is_trial)
            is_spoof = [labels[name].str.strip_chars() == "spoof" for name in ("asv", "cm")]
            contradictory = (is_spoof[0] != is_spoof[1]).arg_true()
            if len(contradictory):
                row = labels.row(contradictory[0], named=True)
                msg = (
                    f"{content.name}, row {chunk.rows[contradictory[0]]}: cm-label is "
                    f"{row['cm']!r} and asv-label {row['asv']!r}"
                )
                hint = "correct one of the labels"
                raise DataError(msg, hint)
            yield chunk

    ignored = tuple(column for column in scan.ignored if column not in ("cm-label", _TRACK_COLUMN))
    return replace(scan, chunks=chunks, ignored=ignored)


SCORES = Format(
    "asvspoof5-sasv",
    "scores of ASVspoof 5",
    _has_header(_SCORE_HEADER),
    _scan_scores,
    delimited_table,
    examples=(
        Example(
            "spk filename cm-score asv-score sasv-score",
            "submissions to ASVspoof 5, with this header",
            "claimed speaker, test, and `sasv-score` (for another of the three scores, "
            "`--columns score=asv-score`)",
        ),
    ),
)
KEY = Format(
    "asvspoof5-key",
    "a key of ASVspoof 5",
    _is_key,
    _scan_key,
    delimited_table,
    examples=(
        Example(
            "spk filename cm-label asv-label",
            "keys of ASVspoof 5, with this header",
            "claimed speaker, test, key of the countermeasure, label",
        ),
        Example(
            "tar_spk_anon trial_anon cm-label asv-label attack_anon codec track_2_tag",
            "the full key of ASVspoof 5, with these columns and others",
            "claimed speaker, test, key of the countermeasure, label, attack; rows tagged `dummy` "
            "are left out; `--by codec` works",
        ),
    ),
)


# ---- the table of recordings


def is_recording_table(head: bytes) -> bool:
    r"""Whether rows without a header are of recordings of ASVspoof 5.

    Examples
    --------
    >>> is_recording_table(
    ...     b"D_1 D_22 F - - - AC1 A11 spoof -\nD_7 D_3 M - - - - bonafide bonafide -"
    ... )
    True
    """
    lines = [line.split() for _, line in head_lines(head)] if is_text(head) else []
    return bool(lines) and all(
        len(row) == _N_RECORDING_COLUMNS and row[_KEY_COLUMN] in _KEYS for row in lines
    )


def _recordings(content: SourceBytes) -> NamedColumns:
    """Open the table of recordings."""
    content.dialect["separator"] = "\t"  # no table of Kaldi, which has two columns
    start = head_lines(content.head)[0][0]

    def chunks(positions: Mapping[str, int]) -> Iterator[tuple[Rows, pl.DataFrame]]:
        for rows, frame in read_text(content, " ", _N_RECORDING_COLUMNS, start, quote=None):
            columns = {name: pl.col(f"f{position}") for name, position in positions.items()}
            yield rows, frame.select(**columns).select(pl.all().replace(NOT_SUPPLIED, None))

    return NamedColumns(_RECORDING_COLUMNS, chunks)


def _refuse_recordings(content: SourceBytes, columns: RequestedColumns) -> Scan:  # noqa: ARG001 - as scans of other formats
    msg = f"{content.name}: is a table of recordings"
    hint = "give it with --utterances"
    raise DataError(msg, hint)


RECORDING_TABLE = Format(
    RECORDINGS,
    "the table of recordings of ASVspoof 5",
    lambda head, _: CERTAIN_FIT if is_recording_table(head) else 0,
    _refuse_recordings,
    _recordings,
)
"""Not a format of trials: only tables of recordings are read so."""
