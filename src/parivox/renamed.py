"""Public names as they were before, until release 0.5."""

from __future__ import annotations

import os
import sys
import warnings
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")


_PACKAGE = str(Path(__file__).parent) + os.sep


class OldNameUsed(DeprecationWarning):
    """A name of an earlier release was used, which a later release removes."""


def warn_of_new_name(old_name: str, new_name: str) -> None:
    """Warn whoever uses the old name: the first caller outside of this package.

    Python shows such warnings only where the script itself is the caller.
    """
    stack_level, caller = 2, sys._getframe(1)  # noqa: SLF001 - `inspect` takes time to load
    while caller.f_back is not None and caller.f_code.co_filename.startswith(_PACKAGE):
        stack_level, caller = stack_level + 1, caller.f_back
    warnings.warn(
        f"{old_name} is {new_name} since release 0.3 and will be removed in 0.5",
        OldNameUsed,
        stack_level,
    )


def renamed_attribute(old_name: str, new_name: str) -> Any:
    """Return a property that gives the attribute of the new name, with a warning.

    Examples
    --------
    >>> class Counts:
    ...     speaker_counts = 3
    ...     tally = renamed_attribute("tally", "speaker_counts")
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     Counts().tally
    3
    """

    def attribute(owner: Any) -> Any:
        warn_of_new_name(old_name, new_name)
        return getattr(owner, new_name)

    return property(attribute)


def renamed_function(old_name: str, new_name: str, function: Callable[P, R]) -> Callable[P, R]:
    """Return a function that calls another one, with a warning that names what replaces it.

    Examples
    --------
    >>> old_sum = renamed_function("old_sum", "sum", sum)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     old_sum([1, 2]), str(caught[0].message)
    (3, 'old_sum is sum since release 0.3 and will be removed in 0.5')
    """

    @wraps(function)
    def renamed(*args: P.args, **keywords: P.kwargs) -> R:
        warn_of_new_name(old_name, new_name)
        return function(*args, **keywords)

    return renamed
