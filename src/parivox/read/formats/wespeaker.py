"""WeSpeaker's scores: ``enrol test score target|nontarget``."""

from __future__ import annotations

from parivox.read.formats.headerless import positional

__all__ = ["WESPEAKER"]

WESPEAKER = positional("wespeaker", {"enrol": 0, "test": 1, "score": 2, "label": 3}, {})
