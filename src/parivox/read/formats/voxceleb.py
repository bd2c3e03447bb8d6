"""VoxCeleb, clovaai and VoxSRC lists: ``label enrol test`` and ``score enrol test``."""

from __future__ import annotations

from parivox.read.formats.headerless import positional

__all__ = ["VOXCELEB", "VOXCELEB_SCORES"]

VOXCELEB = positional("voxceleb", {"label": 0, "enrol": 1, "test": 2}, {"score": 3}, more=True)
VOXCELEB_SCORES = positional("voxceleb-scores", {"score": 0, "enrol": 1, "test": 2}, {})
