"""Error types in words, of verification and of identification."""

from __future__ import annotations

SEARCH_ERRORS = {"fnir": "missed identifications", "fpir": "false positive identifications"}
"""Error types of searches, in words."""
