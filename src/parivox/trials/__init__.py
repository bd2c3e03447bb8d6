"""Trial lists: who is compared with whom, how often, from which recordings.

This room looks at lists and builds them. It needs no scores, but for `variants`. Entry functions:

* `check`, `describe`: what a list can show, and what it holds (`checks`, `description`)
* `grade`: how difficult each trial is (`grading`)
* `convert`: a list in another format (`writing`)
* `build_inclusive`, `build_balanced`, `build_cross`: new lists from a table of utterances
  (`inclusive`, `balanced`, `cross`); `rebuild` builds the lists of a manifest again (`building`)
* `variants`: how far results move when pairs are drawn again (`variation`)

To look at a list, ``parivox.data.lists`` reads it and adds up its trials by pair of speakers once.
Everything else is a sum over these:

* `TrialList`: trials with speakers, recordings, groupings and attributes of difficulty;
* `SpeakerPairCounts`, `ListCounts` and `TrialsPerSpeaker`: its counts;
* `Check` and `Finding`: a guideline, and what it comes to for a list;
* `ManifestDesign`: what the manifest of a list says that its design fixed.

To build lists, each kind makes a `ListDesign` of a `Pool`; `building.build_lists` draws it:

* `pool.Pool`: utterances in order, with their speakers, groups and attributes;
* `pool.ListDesign`: a list that can be drawn again and again, in chunks of trials;
* `pairs.NumberedPairs` and `RandomStreams`: pairs by number, and the random streams of a seed.

Callers are `parivox.cli` and users; `parivox.scoring`, for recordings; and `parivox.papers`, for
lists.

>>> import parivox as pv
>>> trials = {"enrol": ["a/x/1", "a/x/1"], "test": ["a/y/2", "b/z/1"], "label": [1, 0]}
>>> pv.trials.check(trials).passed
False
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.lazy import lazy_names

if TYPE_CHECKING:
    from parivox.trials.balanced import build_balanced
    from parivox.trials.building import rebuild
    from parivox.trials.checks import check
    from parivox.trials.cross import build_cross
    from parivox.trials.description import describe
    from parivox.trials.grading import grade
    from parivox.trials.inclusive import build_inclusive
    from parivox.trials.variation import variants
    from parivox.trials.writing import convert

_HOMES = {
    "parivox.trials.balanced": ("build_balanced",),
    "parivox.trials.building": ("rebuild",),
    "parivox.trials.checks": ("check",),
    "parivox.trials.cross": ("build_cross",),
    "parivox.trials.description": ("describe",),
    "parivox.trials.grading": ("grade",),
    "parivox.trials.inclusive": ("build_inclusive",),
    "parivox.trials.variation": ("variants",),
    "parivox.trials.writing": ("convert",),
}

__all__ = [
    "build_balanced",
    "build_cross",
    "build_inclusive",
    "check",
    "convert",
    "describe",
    "grade",
    "rebuild",
    "variants",
]

__getattr__, __dir__ = lazy_names("parivox.trials", _HOMES, public_names=__all__)
