"""Columns of searches of identification: candidate lists, and decisions who is speaking."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.core.counts import SPOOF
from parivox.data.cell_words import LABELS, NO_ATTACK_WORDS
from parivox.data.columns import ALIASES, SPEAKER_NAMES, plain_name
from parivox.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

CANDIDATES, DECISIONS = "candidates", "decisions"
"""Forms of a file of searches that its columns show."""
_TRUE_SPEAKERS = (
    "probespeaker", "truespeaker", "actualspeaker", "testspeaker", "speaker", *SPEAKER_NAMES,
)  # fmt: skip
ROLE_NAMES: dict[str, tuple[str, ...]] = {
    "search": ("search", "searchid", "probe", "probeid", "test", "file", "filename", "utterance"),
    "probe_speaker": _TRUE_SPEAKERS,
    "rank": ("rank",),
    "candidate": ("candidate", "candidateid", "candidatespeaker", "candidateperson"),
    "predicted_speaker": (
        "predictedspeaker", "predicted", "prediction", "identifiedspeaker", "identifiedas",
        "recognisedspeaker", "recognizedspeaker",
    ),
    "score": ("score", "scores", "similarity", "llr"),
    "gallery": ("gallery",),
}  # fmt: skip
"""Names of the columns of searches by role, the surest first, in `plain_name` spelling."""

_SPOOF_WORDS = [word for word, label in LABELS.items() if label == SPOOF]
_SPOOF_NAMES = ("spoof", "spoofed", "isspoof")


def identification_form(names: Iterable[str]) -> str:
    """Return the form of a file with columns of these names; empty if it holds no searches.

    A list of scores may be of searches or of verification trials, and is neither by its names.

    Examples
    --------
    >>> identification_form(["search", "rank", "candidate", "score"])
    'candidates'
    >>> identification_form(["file", "true_speaker", "predicted_speaker"])
    'decisions'
    >>> identification_form(["enrol", "test", "score"])
    ''
    """
    plain_names = {plain_name(name) for name in names}
    if plain_names & {*ROLE_NAMES["candidate"]} and plain_names & {"rank", "search", "searchid"}:
        return CANDIDATES
    has_speaker = bool(plain_names & {*_TRUE_SPEAKERS})
    return DECISIONS if has_speaker and plain_names & {*ROLE_NAMES["predicted_speaker"]} else ""


def check_bona_fide(table: pl.DataFrame, name: str) -> None:
    """Refuse spoofed probes: by a label, an attack, or a column spoof.

    Raises
    ------
    DataError
        If a row is of spoofed speech.
    """
    for column in table.columns:
        plain, cells = plain_name(column), table[column].drop_nulls()
        words = cells.str.to_lowercase()
        if plain in ALIASES["attack"] or plain in _SPOOF_NAMES:
            is_spoofed = ~words.is_in([*NO_ATTACK_WORDS, "false"])
        elif plain in ALIASES["label"]:
            is_spoofed = words.is_in(_SPOOF_WORDS)
        else:
            continue
        if is_spoofed.any():
            msg = (
                f"{name}, column {column!r}: identification with spoof trials is not supported "
                f"(found: {cells.filter(is_spoofed)[0]})"
            )
            hint = "leave out the searches of spoofed recordings"
            raise DataError(msg, hint)


def needs_gallery_error(name: str) -> DataError:
    """Return the error that a file of searches needs to know who is enrolled."""
    msg = f"{name}: identification needs the enrolled persons"
    hint = "give the enrolled persons to parivox audit, for example --gallery watchlist.csv"
    return DataError(msg, hint)
