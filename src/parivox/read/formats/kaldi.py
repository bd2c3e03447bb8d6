"""Kaldi lists: ``enrol test target|nontarget`` and ``enrol test score``."""

from __future__ import annotations

from parivox.read.formats.headerless import positional

__all__ = ["KALDI_SCORES", "KALDI_TRIALS"]

KALDI_TRIALS = positional("kaldi-trials", {"enrol": 0, "test": 1, "label": 2}, {"score": 3})
KALDI_SCORES = positional("kaldi-scores", {"enrol": 0, "test": 1, "score": 2}, {})
