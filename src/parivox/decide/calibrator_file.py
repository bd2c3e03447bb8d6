"""Read and write the calibrator, which makes log likelihood ratios of scores.

`parivox calibrate --out` writes it.
See docs/calibration.md#the-calibrator-file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.arguments import check_arguments
from parivox.core.calibration import Isotonic, Logistic
from parivox.data.formats.json_document import refuse_repeated_keys
from parivox.data.source_bytes import read_content
from parivox.errors import ConfigError, DataError, name_hint

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from parivox.core.calibration import Line
    from parivox.core.counts import FloatArray

VERSION = 1
SIDES = ("enrol", "test")
ORIENTATIONS = ("similarity", "distance")
_VERSION_KEY, _RECORD_KEY = "parivox-calibrator", "found"
_CHOICES = {"method": ("logistic", "isotonic"), "side": SIDES, "orientation": ORIENTATIONS}
_KEYS = (_VERSION_KEY, "method", "by", "side", "orientation", "common", "groups", _RECORD_KEY)
_MAX_NUMBER = 1e12
"""No number of a calibrator is larger: products with scores stay finite."""
_HINT = "write the calibrator again with parivox calibrate --out"


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

    @check_arguments
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
        >>> line = {"slope": 10.0, "offset": -3.0}
        >>> calibrator = read_calibrator(
        ...     {"parivox-calibrator": 1, "method": "logistic", "by": "gender", "common": line}
        ... )
        >>> calibrator.llr([0.2, 0.5]).tolist()
        [-1.0, 2.0]
        """
        sign = -1.0 if self.orientation == "distance" else 1.0
        similarities = sign * np.asarray(scores, dtype=np.float64)
        llrs = np.asarray(self.common.llr(similarities))
        if self.groups and groups is None:
            msg = f"the calibrator has group-specific functions by {self.by}"
            hint = "give the group of each trial"
            raise DataError(msg, hint)
        for name, line in self.groups.items():
            is_of_group = np.asarray(groups, dtype=object) == name
            llrs[is_of_group] = line.llr(similarities[is_of_group])
        return llrs

    def text(self) -> str:
        """The file."""
        document = {_VERSION_KEY: VERSION} | {name: getattr(self, name) for name in _KEYS[1:]}
        document["common"] = _line_document(self.common)
        document["groups"] = {name: _line_document(line) for name, line in self.groups.items()}
        return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _line_document(line: Line) -> dict[str, Any]:
    """Return a line as the file has it."""
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
    name, document = _named_document(source)
    if not isinstance(document, Mapping) or _VERSION_KEY not in document:
        msg = f"{name}: is not a calibrator (no entry '{_VERSION_KEY}')"
        raise ConfigError(msg, _HINT)
    if document[_VERSION_KEY] != VERSION:
        msg = (
            f"{name}: is of version {document[_VERSION_KEY]!r}, but this Parivox reads version "
            f"{VERSION} only"
        )
        hint = "update Parivox, or write the calibrator again"
        raise ConfigError(msg, hint)
    for key in document:
        if key not in _KEYS:
            msg = f"{name}: {key!r} is not known"
            hint = name_hint(key, _KEYS)
            raise ConfigError(msg, hint)
    defaults = {"side": SIDES[0], "orientation": ORIENTATIONS[0], "groups": {}, _RECORD_KEY: {}}
    fields = defaults | {**document}
    for key, choices in _CHOICES.items():
        if fields.get(key) not in choices:
            msg = f"{name}: {key} is {fields.get(key)!r}, not one of {', '.join(choices)}"
            raise ConfigError(msg, _HINT)
    if not (isinstance(fields.get("by"), str) and isinstance(fields["groups"], Mapping)):
        msg = f"{name}: 'by' is not a grouping, or 'groups' is not a mapping"
        raise ConfigError(msg, _HINT)
    method = str(fields["method"])
    return Calibrator(
        method,
        str(fields["by"]),
        str(fields["side"]),
        str(fields["orientation"]),
        _line(name, "common", fields.get("common"), method),
        {
            group: _line(name, f"of {group!r}", line, method)
            for group, line in fields["groups"].items()
        },
        fields[_RECORD_KEY],
    )


def _named_document(source: Any) -> tuple[str, Any]:
    """Return the name of the calibrator, and what the file or mapping holds."""
    if not isinstance(source, (str, os.PathLike)):
        return "calibrator", source
    content = read_content(source)
    try:
        text = (content.payload or b"").decode("utf-8-sig")
        return content.name, json.loads(text, object_pairs_hook=refuse_repeated_keys(content.name))
    # ValueError is also that of a text that is not UTF-8
    except (ValueError, RecursionError) as error:
        msg = f"{content.name}: is not JSON ({error})"
        raise ConfigError(msg, _HINT) from error


def _numbers(content: Any) -> FloatArray:
    """Return a number, or a list of them; NaN where one is missing or too large."""
    numbers = content if isinstance(content, list | tuple | np.ndarray) else [content]
    for number in numbers:
        # true and false are whole numbers to Python
        is_number = isinstance(number, int | float | np.number) and not isinstance(number, bool)
        if not (is_number and abs(number) <= _MAX_NUMBER):
            return np.array(np.nan)
    return np.asarray(content, dtype=np.float64)


def _line(name: str, subject: str, document: Any, method: str) -> Line:
    """Return a line that rises, or a sentence on what is wrong with it."""
    is_logistic = method == "logistic"
    x_key, y_key = ("slope", "offset") if is_logistic else ("scores", "llrs")
    try:
        x, y = _numbers(document[x_key]), _numbers(document[y_key])
    except (TypeError, KeyError, ValueError, IndexError):
        x = y = np.array(np.nan)
    is_finite = np.isfinite(x).all() and np.isfinite(y).all() and x.shape == y.shape
    if is_finite and is_logistic and x.ndim == 0 and x > 0:
        return Logistic(float(x), float(y))
    rises = is_finite and x.ndim == 1 and (np.diff(x) > 0).all() and (np.diff(y) >= 0).all()
    if rises and x.size and method == "isotonic":
        return Isotonic(x, y)
    expected = (
        "two numbers, slope above 0" if is_logistic else "increasing lists of the same length"
    )
    msg = f"{name}: the calibrator {subject} is not {x_key} and {y_key}: {expected}"
    raise ConfigError(msg, _HINT)
