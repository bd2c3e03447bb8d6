"""Trial lists: who is compared with whom, how often, from which recordings.

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
    from parivox.trials.grades import grade
    from parivox.trials.inclusive import build_inclusive
    from parivox.trials.variation import variants
    from parivox.trials.writing import convert

_HOMES = {
    "parivox.trials.balanced": ("build_balanced",),
    "parivox.trials.building": ("rebuild",),
    "parivox.trials.checks": ("check",),
    "parivox.trials.cross": ("build_cross",),
    "parivox.trials.description": ("describe",),
    "parivox.trials.grades": ("grade",),
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

__getattr__, __dir__ = lazy_names("parivox.trials", _HOMES)
