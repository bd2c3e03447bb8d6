"""Whether a state can be what `parivox monitor` wrote: it may come from anywhere."""

from __future__ import annotations

import math
from datetime import date
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from parivox.data.site_key import KDFS, NO_KDF

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Arrays = Mapping[str, NDArray[Any]]

AGAINST = ("others", "before", "baseline", "limit")
_NUMBERS = {"alpha": (0, 0.5), "margin": (1, 100), "impostors": (0, 0.5), "day_sd": (0, 2)}
_WORDS = ("against", "group", "day", "changed", "since", "reason")
_MOST = 1 << 40
"""No count is larger."""


def check_state(head: Mapping[str, Any], arrays: Arrays, weeks: int) -> None:
    """Refuse a state whose parts do not belong together.

    Parameters
    ----------
    head : mapping
        Its ``settings``, ``days`` and ``alarms``.
    arrays : mapping
        Arrays of `parivox.monitoring.stream.Stream`, by name.
    weeks : int
        In which a change is looked for.

    Raises
    ------
    ValueError
        With what is wrong.
    """
    settings, days = head["settings"], head["days"]
    _check_settings(settings)
    _check_days(days)
    _check_counts(arrays, len(days), len(settings["groups"]), weeks)
    _check_alarms(head["alarms"], settings, {one["day"] for one in days})


def _must(holds: Any, what: str) -> None:
    if not holds:
        raise ValueError(what)


def _is_number(value: Any, low: float, high: float) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and low <= value <= high


def _check_settings(settings: Mapping[str, Any]) -> None:
    groups, watched, against = settings["groups"], settings["watched"], settings["against"]
    for name, words in (("groups", groups), ("watched", watched), ("against", against)):
        is_list = isinstance(words, list) and all(isinstance(one, str) for one in words)
        _must(is_list and words and len({*words}) == len(words), f"{name} are no list of names")
    _must({*watched} <= {*groups}, "watched groups are not among the groups")
    _must({*against} <= {*AGAINST}, "what groups are held against is unknown")
    _must(isinstance(settings["by"], str), "the grouping has no name")
    _must(isinstance(settings["site"], str), "the key has no mark")
    _must(settings.get("kdf", NO_KDF) in KDFS, "the key was derived in an unknown way")
    for name, (low, high) in _NUMBERS.items():
        _must(_is_number(settings[name], low, high), f"{name} is out of range")
    limit = settings["limit"]
    _must(limit is None or _is_number(limit, 0, 1), "limit is out of range")
    _must(("limit" in against) == (limit is not None), "limit and its test do not match")
    rates = settings["baseline"]
    _must(isinstance(rates, dict), "baseline has no rates")
    for pair in rates.values():
        is_pair = isinstance(pair, list) and len(pair) == 2
        _must(is_pair and all(_is_number(one, 0, 1) for one in pair), "a baseline rate is no rate")


def _check_days(days: Any) -> None:
    _must(isinstance(days, list) and days, "days are missing")
    dates = [date.fromisoformat(one["day"]) for one in days]
    _must(all(isinstance(one["sha256"], str) for one in days), "a day has no mark")
    _must(all(a < b for a, b in pairwise(dates)), "days are not in order")


def _check_counts(arrays: Arrays, n_days: int, n_groups: int, weeks: int) -> None:
    trials, errors, name, group = (arrays[one] for one in ("trials", "errors", "name", "group"))
    entries = [arrays[one] for one in ("speaker", "week", "speaker_trials", "speaker_errors")]
    speaker, week, speaker_trials, speaker_errors = entries
    shape = n_days, n_groups + 1  # the last group is none
    _must(trials.shape == errors.shape == shape, "days are cut off")
    _must(arrays["products"].shape == (*shape, 3), "products of days are cut off")
    _must(name.shape == group.shape == (name.size,), "speakers are cut off")
    _must(all(one.shape == (speaker.size,) for one in entries), "entries are cut off")
    counts = (trials, errors, arrays["products"], *entries)
    _must(all(((one >= 0) & (one < _MOST)).all() for one in counts), "a count is out of range")
    _must((errors <= trials).all(), "there are more errors than trials")
    _must((speaker_errors <= speaker_trials).all(), "a speaker has more errors than trials")
    _must((name[1:] > name[:-1]).all(), "speakers are not in order")
    _must(((group >= -1) & (group < n_groups)).all(), "a speaker is in no known group")
    _must((speaker < name.size).all(), "an entry is of an unknown speaker")
    _must((week < weeks).all(), "an entry is of an unknown week")
    key = speaker * weeks + week
    _must((key[1:] > key[:-1]).all(), "entries are not in order")
    # not by group: who was in none may be in one later
    is_whole = trials.sum() == speaker_trials.sum() and errors.sum() == speaker_errors.sum()
    _must(is_whole, "days and speakers do not add up")


def _check_alarms(alarms: Any, settings: Mapping[str, Any], days: set[str]) -> None:
    _must(isinstance(alarms, list), "alarms are no list")
    for alarm in alarms:
        _must(alarm["against"] in settings["against"], "an alarm is of an unknown test")
        is_known = alarm["group"] in settings["groups"] and alarm["day"] in days
        _must(is_known, "an alarm is of an unknown group or day")
        for name, value in alarm.items():
            is_word = name in _WORDS and isinstance(value, str)
            is_number = name not in _WORDS and (value is None or _is_finite(value))
            _must(is_word or is_number, f"{name} of an alarm is out of range")


def _is_finite(value: Any) -> bool:
    return isinstance(value, bool) or _is_number(value, -_MOST, _MOST)
