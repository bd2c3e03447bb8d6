"""One line of what was read, joined or set aside."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DataNote:
    """One line of what was read.

    Attributes
    ----------
    source : str
        ``scores``, ``trials``, ``utterances`` or ``speakers``.
    item : str
        What was counted.
    count : int
    note : str
        What was done about it; may be empty.
    """

    source: str
    item: str
    count: int
    note: str = ""
