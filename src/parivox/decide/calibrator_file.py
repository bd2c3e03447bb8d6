"""The calibrator: what makes log likelihood ratios of scores, as `parivox calibrate` writes it.

See docs/calibration.md#the-calibrator-file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.core.calibration import Isotonic, Logistic
from parivox.data.source_bytes import read_content
from parivox.errors import ConfigError, DataError, name_hint

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from parivox.core.calibration import Line
    from parivox.core.counts import FloatArray

VERSION = 1
SIDES = ("enrol", "test")
ORIENTATIONS = ("similarity", "distance")
_VERSION, _FOUND = "parivox-calibrator", "found"
_CHOICES = {"method": ("logistic", "isotonic"), "side": SIDES, "orientation": ORIENTATIONS}
_KEYS = (_VERSION, "method", "by", "side", "orientation", "common", "groups", _FOUND)
_LARGEST = 1e12
"""No number of a calibrator is larger: products with scores stay finite."""
_MEND = "write it again with parivox calibrate --out"


@dataclass(frozen=True, eq=False)
class Calibrator:
    """What makes natural-log likelihood ratios of scores: for all, and for some groups.

    Attributes
    ----------
    method : str
        ``logistic`` or ``isotonic``.
    by, side : str
        What groups are made of, as in ``gender``, and whose they are: ``enrol`` or ``test``.
    orientation : str
        ``distance`` if scores are negated before all else.
    common : Logistic or Isotonic
        For all who have none of their own, and for people of unknown group.
    groups : dict
        Those of groups that have one of their own, perhaps none.
    found : dict
        How they were found.
    """

    method: str
    by: str
    side: str
    orientation: str
    common: Line
    groups: Mapping[str, Line]
    found: Mapping[str, Any] = field(default_factory=dict)

    def llr(self, scores: ArrayLike, groups: ArrayLike | None = None) -> FloatArray:
        """Natural-log likelihood ratios of scores.

        Parameters
        ----------
        scores : array_like of shape (trial,)
            As they were calibrated; NaN stays NaN.
        groups : array_like of shape (trial,)
            Names of groups, None where unknown; needed if groups have calibrators of their own.

        Raises
        ------
        DataError
            If groups are needed and not given.

        Examples
        --------
        >>> made = {"slope": 10.0, "offset": -3.0}
        >>> found = read_calibrator(
        ...     {"parivox-calibrator": 1, "method": "logistic", "by": "gender", "common": made}
        ... )
        >>> found.llr([0.2, 0.5]).tolist()
        [-1.0, 2.0]
        """
        sign = -1.0 if self.orientation == "distance" else 1.0
        value = sign * np.asarray(scores, dtype=np.float64)
        made = np.asarray(self.common.llr(value))
        if self.groups and groups is None:
            msg = f"the calibrator has lines of groups by {self.by}; give the group of each trial"
            raise DataError(msg)
        for name, line in self.groups.items():
            own = np.asarray(groups, dtype=object) == name
            made[own] = line.llr(value[own])
        return made

    def text(self) -> str:
        """The file."""
        entries = {_VERSION: VERSION} | {name: getattr(self, name) for name in _KEYS[1:]}
        entries["common"] = _points(self.common)
        entries["groups"] = {name: _points(line) for name, line in self.groups.items()}
        return json.dumps(entries, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _points(line: Line) -> dict[str, Any]:
    if isinstance(line, Logistic):
        return line._asdict()
    return {"scores": line.scores.tolist(), "llrs": line.llrs.tolist()}


def read_calibrator(source: Any) -> Calibrator:
    """Read a calibrator, or a mapping that holds the same.

    Raises
    ------
    ConfigError
        If it is none, or of another version.
    """
    if isinstance(source, Calibrator):
        return source
    name, entries = _entries(source)
    if not isinstance(entries, Mapping) or _VERSION not in entries:
        msg = f"{name}: is not a calibrator, which has an entry '{_VERSION}'; {_MEND}"
        raise ConfigError(msg)
    if entries[_VERSION] != VERSION:
        msg = (
            f"{name}: is of version {entries[_VERSION]!r}, of which this Parivox knows {VERSION} "
            "only; update Parivox, or write the calibrator again"
        )
        raise ConfigError(msg)
    for key in entries:
        if key not in _KEYS:
            msg = f"{name}: {key!r} is not known; {name_hint(key, _KEYS)}"
            raise ConfigError(msg)
    said = {"side": SIDES[0], "orientation": ORIENTATIONS[0], "groups": {}, _FOUND: {}} | {
        **entries
    }
    for key, choices in _CHOICES.items():
        if said.get(key) not in choices:
            msg = f"{name}: {key} is {said.get(key)!r}, not one of {', '.join(choices)}; {_MEND}"
            raise ConfigError(msg)
    if not (isinstance(said.get("by"), str) and isinstance(said["groups"], Mapping)):
        msg = f"{name}: by is not a grouping, or groups are not a mapping; {_MEND}"
        raise ConfigError(msg)
    method = str(said["method"])
    return Calibrator(
        *(method, str(said["by"]), str(said["side"]), str(said["orientation"])),
        _line(name, "common", said.get("common"), method),
        {group: _line(name, f"of {group!r}", one, method) for group, one in said["groups"].items()},
        said[_FOUND],
    )


def _entries(source: Any) -> tuple[str, Any]:
    """The name of the calibrator, and what it says."""
    if not isinstance(source, (str, os.PathLike)):
        return "calibrator", source
    content = read_content(source)
    try:
        return content.name, json.loads((content.data or b"").decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:  # the first of a text that is not UTF-8, too
        msg = f"{content.name}: is not JSON ({error}); {_MEND}"
        raise ConfigError(msg) from error


def _numbers(entry: Any) -> FloatArray:
    """A number, or a list of them; NaN where anything else is there, or a number is too large."""
    listed = entry if isinstance(entry, list | tuple | np.ndarray) else [entry]
    for one in listed:
        is_number = isinstance(one, int | float | np.number) and not isinstance(one, bool)
        if not (is_number and abs(one) <= _LARGEST):
            return np.array(np.nan)
    return np.asarray(entry, dtype=np.float64)


def _line(name: str, what: str, entries: Any, method: str) -> Line:
    """A line that rises, or a sentence on what is wrong with it."""
    keys = ("slope", "offset") if method == "logistic" else ("scores", "llrs")
    try:
        one, other = (_numbers(entries[key]) for key in keys)
    except (TypeError, KeyError, ValueError, IndexError):
        one = other = np.array(np.nan)
    is_right = np.isfinite(one).all() and np.isfinite(other).all() and one.shape == other.shape
    if is_right and method == "logistic" and one.ndim == 0 and one > 0:
        return Logistic(float(one), float(other))
    rises = is_right and one.ndim == 1 and (np.diff(one) > 0).all() and (np.diff(other) >= 0).all()
    if rises and one.size and method == "isotonic":
        return Isotonic(one, other)
    wanted = "two numbers, slope above 0" if method == "logistic" else "rising lists of one length"
    msg = f"{name}: the calibrator {what} is not {keys[0]} and {keys[1]}: {wanted}; {_MEND}"
    raise ConfigError(msg)
