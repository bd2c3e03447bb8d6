"""Trial lists: who is compared with whom, how often, from which recordings.

>>> import parivox as pv
>>> trials = {"enrol": ["a/x/1", "a/x/1"], "test": ["a/y/2", "b/z/1"], "label": [1, 0]}
>>> pv.trials.check(trials).passed
False
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

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

_HOME = {
    "build_balanced": "parivox.trials.balanced",
    "build_cross": "parivox.trials.cross",
    "build_inclusive": "parivox.trials.inclusive",
    "check": "parivox.trials.checks",
    "convert": "parivox.trials.writing",
    "describe": "parivox.trials.description",
    "grade": "parivox.trials.grades",
    "rebuild": "parivox.trials.building",
    "variants": "parivox.trials.variation",
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


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for."""
    if name not in _HOME:
        msg = f"module 'parivox.trials' has no attribute {name!r}"
        raise AttributeError(msg)
    function = getattr(import_module(_HOME[name]), name)
    globals()[name] = function
    return function


def __dir__() -> list[str]:
    return __all__
