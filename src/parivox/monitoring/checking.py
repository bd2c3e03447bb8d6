"""Whether a state can be what `parivox monitor` wrote: it may come from anywhere."""

from __future__ import annotations

import math
from datetime import date
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parivox.monitoring.stream import Stream

AGAINST = ("others", "before", "baseline", "limit")
_NUMBERS = {"alpha": (0, 0.5), "margin": (1, 100), "impostors": (0, 0.5), "day_sd": (0, 2)}
_WORDS = ("against", "group", "day", "changed", "since", "reason")
_MOST = 1 << 40
"""No count is larger."""


def check_stream(stream: Stream, weeks: int) -> None:
    """Refuse a stream whose parts do not belong together.

    Raises
    ------
    ValueError
        With what is wrong.
    """
    _check_settings(stream.settings)
    _check_days(stream)
    _check_counts(stream, weeks)
    _check_alarms(stream)


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
    for name, (low, high) in _NUMBERS.items():
        if name in settings or name != "day_sd":  # which states of version 1 lack
            _must(_is_number(settings[name], low, high), f"{name} is out of range")
    limit = settings["limit"]
    _must(limit is None or _is_number(limit, 0, 1), "limit is out of range")
    _must(("limit" in against) == (limit is not None), "limit and its test do not match")
    rates = settings["baseline"]
    _must(isinstance(rates, dict), "baseline has no rates")
    for pair in rates.values():
        is_pair = isinstance(pair, list) and len(pair) == 2
        _must(is_pair and all(_is_number(one, 0, 1) for one in pair), "a baseline rate is no rate")


def _check_days(stream: Stream) -> None:
    _must(isinstance(stream.days, list) and stream.days, "days are missing")
    dates = [date.fromisoformat(one["day"]) for one in stream.days]
    _must(all(isinstance(one["sha256"], str) for one in stream.days), "a day has no mark")
    _must(all(a < b for a, b in pairwise(dates)), "days are not in order")


def _check_counts(stream: Stream, weeks: int) -> None:
    n_days, n_groups, n_speakers = len(stream.days), len(stream.groups) + 1, stream.name.size
    _must(stream.trials.shape == stream.errors.shape == (n_days, n_groups), "days are cut off")
    _must(stream.products.shape == (n_days, n_groups, 3), "products of days are cut off")
    _must(stream.name.shape == stream.group.shape == (n_speakers,), "speakers are cut off")
    entries = (stream.speaker, stream.week, stream.speaker_trials, stream.speaker_errors)
    _must(len({one.shape for one in entries}) == 1 and stream.speaker.ndim == 1, "cut off")
    arrays = (stream.trials, stream.errors, stream.products, *entries)
    _must(all(((one >= 0) & (one < _MOST)).all() for one in arrays), "a count is out of range")
    _must((stream.errors <= stream.trials).all(), "there are more errors than trials")
    _must((stream.speaker_errors <= stream.speaker_trials).all(), "more errors than trials")
    _must((stream.name[1:] > stream.name[:-1]).all(), "speakers are not in order")
    is_group = (stream.group >= -1) & (stream.group < n_groups - 1)
    _must(is_group.all(), "a speaker is in no known group")
    _must(
        (stream.speaker < n_speakers).all() and (stream.week < weeks).all(), "an entry is unknown"
    )
    key = stream.speaker * weeks + stream.week
    _must((np.diff(key) > 0).all() if key.size else True, "entries are not in order")
    # not by group: who was in none may be in one later
    for of_day, of_speaker in (
        (stream.trials, stream.speaker_trials),
        (stream.errors, stream.speaker_errors),
    ):
        _must(of_day.sum() == of_speaker.sum(), "days and speakers do not add up")


def _check_alarms(stream: Stream) -> None:
    _must(isinstance(stream.alarms, list), "alarms are no list")
    days = {one["day"] for one in stream.days}
    for alarm in stream.alarms:
        _must(alarm["against"] in stream.settings["against"], "an alarm is of an unknown test")
        _must(alarm["group"] in stream.groups and alarm["day"] in days, "an alarm is unknown")
        for name, value in alarm.items():
            is_word = name in _WORDS
            known = isinstance(value, str) if is_word else value is None or _is_finite(value)
            _must(known, f"{name} of an alarm is out of range")


def _is_finite(value: Any) -> bool:
    return isinstance(value, bool) or _is_number(value, -_MOST, _MOST)
