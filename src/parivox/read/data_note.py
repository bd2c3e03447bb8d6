"""One line of what was read, joined or set aside."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DataNote:
    """One line of what was read."""

    source: str  # ``scores``, ``trials``, ``utterances`` or ``speakers``
    item: str  # what was counted
    count: int
    note: str = ""  # what was done about it; may be empty
