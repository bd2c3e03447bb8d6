"""bob's files without a header, of four columns and of five.

Four columns are ``claimed_id real_id test_label score``, five are
``claimed_id model_label real_id test_label score``. The claimed identity is the enrolled speaker,
and with four columns also the enrolment, since nothing else names it; the real identity is the
speaker of the test. There are no labels: the two speakers say whether a trial is a target.

bob's CSV has a header, so :mod:`~parivox.read.formats.delimited` reads it.
"""

from __future__ import annotations

from parivox.read.formats.headerless import positional

__all__ = ["BOB_4", "BOB_5"]

BOB_4 = positional(
    "bob-4", {"enrol": 0, "enrol_speaker": 0, "test_speaker": 1, "test": 2, "score": 3}, {}
)
BOB_5 = positional(
    "bob-5", {"enrol_speaker": 0, "enrol": 1, "test_speaker": 2, "test": 3, "score": 4}, {}
)
