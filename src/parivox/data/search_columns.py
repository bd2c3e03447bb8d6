"""Columns of searches of identification: candidate lists, and decisions who is speaking."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.data.columns import SPEAKER_NAMES, plain_name
from parivox.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable

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


def needs_gallery_error(name: str) -> DataError:
    """Return the error that a file of searches needs to know who is enrolled."""
    msg = f"{name}: identification needs the enrolled persons"
    hint = "give parivox audit --gallery watchlist.csv"
    return DataError(msg, hint)
