"""Public attributes under the names that they had before, until release 0.5."""

from __future__ import annotations

import warnings
from typing import Any


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
        warnings.warn(
            f"{old_name} is {new_name} since release 0.3, and goes with 0.5",
            DeprecationWarning,
            stacklevel=2,
        )
        return getattr(owner, new_name)

    return property(attribute)
