"""Checks that a state file can be one that `parivox monitor` wrote: it may come from anywhere."""

from __future__ import annotations

import math
from datetime import date
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from parivox.data.site_key import KDFS, NO_KDF

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    Arrays = Mapping[str, NDArray[Any]]

REFERENCES = ("others", "before", "baseline", "limit")
_NUMBER_BOUNDS = {"alpha": (0, 0.5), "margin": (1, 100), "impostors": (0, 0.5), "day_sd": (0, 2)}
TEST_COLUMNS = {
    "against": "str",
    "group": "str",
    "since": "str",
    "speakers": "int",
    "trials": "int",
    "errors": "int",
    "fnr": "float",
    "reference": "float",
    "ratio": "float",
    "low": "float",
    "high": "float",
    "chance": "float",
    "is_alarm": "bool",
    "changed": "str",
    "silent_at": "int",
    "explained_by": "float",
    "others_ratio": "float",
    "reason": "str",
}
"""Columns of the test of a group, with their kinds."""
_MAY_LACK = ("reference", "ratio", "high", "others_ratio")
"""Columns of an alarm that may be without a number."""
_MAX_COUNT = 1 << 40
"""Largest count of a state."""


def check_state(head: Mapping[str, Any], arrays: Arrays, weeks: int) -> None:
    """Refuse a state whose parts do not fit together.

    Parameters
    ----------
    head : mapping
        Its ``settings``, ``days`` and ``alarms``.
    arrays : mapping
        Arrays of `parivox.monitoring.stream.Stream`, by name.
    weeks : int
        Weeks in which a change is searched.

    Raises
    ------
    ValueError
        With what is wrong.
    """
    settings, days = head["settings"], head["days"]
    _check_settings(settings)
    _check_days(days)
    _check_counts(arrays, len(days), len(settings["groups"]), weeks)
    _check_alarms(head["alarms"], settings, {day["day"] for day in days})


def _require(holds: Any, message: str) -> None:
    if not holds:
        raise ValueError(message)


def _is_number(number: Any, low: float, high: float) -> bool:
    is_number = isinstance(number, int | float) and not isinstance(number, bool)
    return is_number and math.isfinite(number) and low <= number <= high


def _check_settings(settings: Mapping[str, Any]) -> None:
    groups, watched, against = settings["groups"], settings["watched"], settings["against"]
    for name, words in (("groups", groups), ("watched", watched), ("against", against)):
        is_list = isinstance(words, list) and all(isinstance(word, str) for word in words)
        _require(is_list and words and len({*words}) == len(words), f"{name} are no list of names")
    _require({*watched} <= {*groups}, "watched groups are not among the groups")
    _require({*against} <= {*REFERENCES}, "the reference of the groups is unknown")
    _require(isinstance(settings["by"], str), "the grouping has no name")
    _require(isinstance(settings["site"], str), "the key has no mark")
    _require(settings.get("kdf", NO_KDF) in KDFS, "the key was derived in an unknown way")
    for name, (low, high) in _NUMBER_BOUNDS.items():
        _require(_is_number(settings[name], low, high), f"{name} is out of range")
    limit = settings["limit"]
    _require(limit is None or _is_number(limit, 0, 1), "limit is out of range")
    _require(("limit" in against) == (limit is not None), "limit and its test do not match")
    rates = settings["baseline"]
    _require(isinstance(rates, dict), "baseline has no rates")
    for pair in rates.values():
        is_pair = isinstance(pair, list) and len(pair) == 2
        _require(
            is_pair and all(_is_number(rate, 0, 1) for rate in pair), "a baseline rate is no rate"
        )


def _check_days(days: Any) -> None:
    _require(isinstance(days, list) and days, "days are missing")
    dates = [date.fromisoformat(day["day"]) for day in days]
    _require(all(isinstance(day["sha256"], str) for day in days), "a day has no mark")
    _require(all(a < b for a, b in pairwise(dates)), "days are not in order")


def _check_counts(arrays: Arrays, n_days: int, n_groups: int, weeks: int) -> None:
    trials, errors, name, group = (arrays[key] for key in ("trials", "errors", "name", "group"))
    speaker, week = arrays["speaker"], arrays["week"]
    speaker_trials, speaker_errors = arrays["speaker_trials"], arrays["speaker_errors"]
    entries = (speaker, week, speaker_trials, speaker_errors)
    shape = n_days, n_groups + 1  # the last group is none
    _require(trials.shape == errors.shape == shape, "days are cut off")
    _require(arrays["products"].shape == (*shape, 3), "products of days are cut off")
    _require(name.shape == group.shape == (name.size,), "speakers are cut off")
    _require(all(array.shape == (speaker.size,) for array in entries), "entries are cut off")
    counts = (trials, errors, arrays["products"], *entries)
    _require(
        all(((array >= 0) & (array < _MAX_COUNT)).all() for array in counts),
        "a count is out of range",
    )
    _require((errors <= trials).all(), "there are more errors than trials")
    _require((speaker_errors <= speaker_trials).all(), "a speaker has more errors than trials")
    _require((name[1:] > name[:-1]).all(), "speakers are not in order")
    _require(((group >= -1) & (group < n_groups)).all(), "a speaker is in no known group")
    _require((speaker < name.size).all(), "an entry is of an unknown speaker")
    _require((week < weeks).all(), "an entry is of an unknown week")
    entry_key = speaker * weeks + week
    _require((entry_key[1:] > entry_key[:-1]).all(), "entries are not in order")
    # not by group: speakers that were in no group may be in one later
    is_whole = trials.sum() == speaker_trials.sum() and errors.sum() == speaker_errors.sum()
    _require(is_whole, "days and speakers do not add up")


def _check_alarms(alarms: Any, settings: Mapping[str, Any], days: set[str]) -> None:
    _require(isinstance(alarms, list), "alarms are no list")
    for alarm in alarms:
        _require(alarm.keys() == {"day", *TEST_COLUMNS}, "an alarm has other columns")
        _require(alarm["against"] in settings["against"], "an alarm is of an unknown test")
        is_known = alarm["group"] in settings["watched"] and alarm["day"] in days
        _require(is_known, "an alarm is of an unknown group or day")
        for name, kind in TEST_COLUMNS.items():
            holds = _IS_OF_KIND[kind](alarm[name]) or (alarm[name] is None and name in _MAY_LACK)
            _require(holds, f"{name} of an alarm is out of range")


_IS_OF_KIND: dict[str, Callable[[Any], bool]] = {
    "str": lambda cell: isinstance(cell, str),
    "bool": lambda cell: isinstance(cell, bool),
    "int": lambda cell: isinstance(cell, int) and _is_number(cell, -_MAX_COUNT, _MAX_COUNT),
    "float": lambda cell: _is_number(cell, -_MAX_COUNT, _MAX_COUNT),
}
