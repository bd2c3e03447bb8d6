"""What was counted so far: errors of each day and group, and of each speaker and week; its file.

Speakers are known by keyed hashes only. The file is a ZIP archive of arrays (NumPy's ``.npz``) and
one text of JSON.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import zipfile
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.core.sequential import SpeakerMoments
from parivox.errors import ConfigError, DataError
from parivox.monitoring.state_checks import check_state
from parivox.runtime.disk import atomic_file, explain_write_errors, lock_folder, sha256_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

STATE_VERSION = 2
_MOST_MISSING = 366
"""Days that may be skipped: a date further off is mistyped."""
DAY_SD = 0.1
"""Variation of rates from day to day that alarms allow for, where no other is asked for."""
_VERSIONS = (1, STATE_VERSION)
"""Versions that are read. Those of version 1 lack the products of days."""
DAYS_PER_WEEK = 7
MAX_START_WEEKS = 52
"""Weeks in which a change is looked for; later days belong to the last of them."""
PRODUCT_NAMES = ("errors_errors", "errors_trials", "trials_trials")
_MOST_BYTES, _MOST_NUMBERS = 1 << 28, 1 << 25
"""Of a state when unpacked: a year of a million speakers has a tenth of it."""
_ARRAYS = {
    "trials": np.int64,
    "errors": np.int64,
    "products": np.int64,
    "name": np.uint64,
    "group": np.int64,
    "speaker": np.int64,
    "week": np.int64,
    "speaker_trials": np.int64,
    "speaker_errors": np.int64,
}


@dataclass(frozen=True, eq=False)
class Day:
    """The trials of one day: of each speaker, named by a key."""

    day: date
    sha256: str
    name: NDArray[np.uint64]
    group: Ints
    trials: Ints
    errors: Ints


@dataclass(frozen=True, eq=False)
class Stream:
    """What a state file holds.

    Groups are those that were known when it was begun; -1 stands for none. The entries of
    ``speaker``, ``week``, ``speaker_trials`` and ``speaker_errors`` are of the weeks in which a
    speaker had any trial. ``products`` are sums over the speakers of a day, and 0 for days whose
    products are not known.
    """

    settings: Mapping[str, Any]  # fixed when it was begun
    days: Sequence[Mapping[str, Any]]  # each counted: ``day``, ``sha256``
    alarms: Sequence[Mapping[str, Any]]  # as they were raised
    trials: Ints  # [day, group], the last group is none
    errors: Ints
    products: Ints  # [day, group, product]: of errors squared, errors and trials, trials squared
    name: NDArray[np.uint64]  # [speaker], rising
    group: Ints  # [speaker]
    speaker: Ints  # [entry]
    week: Ints
    speaker_trials: Ints
    speaker_errors: Ints

    @classmethod
    def begun(cls, settings: Mapping[str, Any]) -> Stream:
        """A stream without days."""
        n_groups = len(settings["groups"]) + 1
        shapes: dict[str, tuple[int, ...]] = {
            "trials": (0, n_groups),
            "errors": (0, n_groups),
            "products": (0, n_groups, len(PRODUCT_NAMES)),
        }
        made = {name: np.zeros(shapes.get(name, 0), dtype) for name, dtype in _ARRAYS.items()}
        return cls(settings, (), (), **made)

    @property
    def groups(self) -> list[str]:
        """Names of the groups."""
        return list(self.settings["groups"])

    @property
    def day_sd(self) -> float:
        """Variation of rates from day to day that alarms allow for."""
        return float(self.settings["day_sd"])

    @property
    def dates(self) -> list[date]:
        """The days counted."""
        return [date.fromisoformat(one["day"]) for one in self.days]

    @property
    def week_of_day(self) -> Ints:
        """The week of each day counted, from the first one."""
        first, *_ = dates = self.dates
        return np.array(
            [min((one - first).days // DAYS_PER_WEEK, MAX_START_WEEKS - 1) for one in dates]
        )

    def check_next(self, day: date, sha256: str, name: str, *, skipped: bool) -> None:
        """Refuse a day that is counted already, comes too early, or leaves some out.

        Raises
        ------
        ConfigError
            With what to do.
        """
        for one in self.days:
            if one["day"] == day.isoformat():
                msg = f"{name}: {day} is counted already; leave it out, or name its --day"
                raise ConfigError(msg)
            if one["sha256"] == sha256:
                msg = (
                    f"{name}: these are the trials of {one['day']}, which are counted already; "
                    f"give those of {day}"
                )
                raise ConfigError(msg)
        last = max(self.dates, default=day - timedelta(days=1))
        if day < last:
            msg = (
                f"{name}: {day} comes before {last}, the last day counted; days are counted in "
                "order, so begin a new --state with the earliest"
            )
            raise ConfigError(msg)
        missing = (day - last).days - 1
        if missing > _MOST_MISSING:
            msg = (
                f"{name}: {day} is {missing + 1:,} days after {last}, the last one counted; check "
                "the date, or begin a new --state"
            )
            raise ConfigError(msg)
        if missing and not skipped:
            which = last + timedelta(days=1)
            msg = (
                f"{name}: {which} is missing, the day after the last one counted; count it first, "
                f"or say with --skipped that nothing is known of {_days(missing)}"
            )
            raise ConfigError(msg)

    def with_day(self, new: Day) -> tuple[Stream, int]:
        """The stream with one more day, and how many are in another group than before.

        Who was in a group before stays there.
        """
        names = np.union1d(self.name, new.name)
        old, at = np.searchsorted(names, self.name), np.searchsorted(names, new.name)
        group = np.full(names.size, -1)
        group[at] = new.group
        known = self.group >= 0
        group[old[known]] = self.group[known]
        of = np.where(group[at] < 0, len(self.groups), group[at])
        e, n = new.errors, new.trials
        counts = [np.bincount(of, one, len(self.groups) + 1) for one in (n, e)]
        products = [np.bincount(of, one, len(self.groups) + 1) for one in (e * e, e * n, n * n)]
        days = [*self.days, {"day": new.day.isoformat(), "sha256": new.sha256}]
        made = replace(
            self,
            days=days,
            trials=np.vstack([self.trials, counts[0]]).astype(np.int64),
            errors=np.vstack([self.errors, counts[1]]).astype(np.int64),
            products=np.vstack([self.products, [np.stack(products, axis=-1)]]).astype(np.int64),
            name=names,
            group=group,
        )
        moved = int((group[at] != new.group).sum())
        week = made.week_of_day[-1]
        speaker = np.concatenate([old[self.speaker], at])
        weeks = np.concatenate([self.week, np.full(at.size, week)])
        key, where = np.unique(speaker * MAX_START_WEEKS + weeks, return_inverse=True)
        sums = [
            np.bincount(where, np.concatenate(both), minlength=key.size).astype(np.int64)
            for both in ((self.speaker_trials, new.trials), (self.speaker_errors, new.errors))
        ]
        made = replace(made, speaker=key // MAX_START_WEEKS, week=key % MAX_START_WEEKS)
        return replace(made, speaker_trials=sums[0], speaker_errors=sums[1]), moved

    @property
    def day_moments(self) -> SpeakerMoments:
        """Sums over the speakers of each day and group, ``[day, group]``."""
        counts = [
            one[:, :-1] for one in (self.errors, self.trials, *np.moveaxis(self.products, -1, 0))
        ]
        return SpeakerMoments(*(one.astype(np.float64) for one in counts))

    def of_group(self, group: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Errors and trials of each speaker of a group from each week on, ``[week, speaker]``."""
        place = np.cumsum(self.group == group) - 1
        here = self.group[self.speaker] == group
        at = self.week[here], place[self.speaker[here]]
        found = []
        for counts in (self.speaker_errors, self.speaker_trials):
            made = np.zeros((MAX_START_WEEKS, int((self.group == group).sum())))
            made[at] = counts[here]
            found.append(made[::-1].cumsum(axis=0)[::-1])
        return found[0], found[1]

    def write(self, path: str | os.PathLike[str], before: str | None) -> int:
        """Write it, whole or not at all; its bytes.

        Raises
        ------
        ConfigError
            If it cannot be written, or the file is not the one that was read, whose SHA-256 is
            `before`.
        """
        head = {"parivox-state": STATE_VERSION, "settings": self.settings}
        head |= {"days": self.days, "alarms": self.alarms}
        made = {name: getattr(self, name) for name in _ARRAYS}
        small = {
            name: one
            if one.dtype == np.uint64
            else one.astype(np.min_scalar_type(-1 - one.max()))
            if one.size
            else one
            for name, one in made.items()
        }
        with explain_write_errors(str(path)), atomic_file(path) as aside:
            if state_sha256(path) != before:
                msg = (
                    f"--state {path}: another process has changed it since it was read; repeat "
                    "the command"
                )
                raise ConfigError(msg)
            with zipfile.ZipFile(aside, "w", zipfile.ZIP_DEFLATED) as file:
                file.writestr("state.json", json.dumps(head, ensure_ascii=False))
                for name, one in small.items():
                    held = io.BytesIO()
                    np.save(held, one, allow_pickle=False)
                    file.writestr(f"{name}.npy", held.getvalue())
            return aside.stat().st_size


@contextlib.contextmanager
def state_lock(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let no other process count into a state until the block ends; waits for those that do."""
    folder = Path(os.path.realpath(path)).parent
    with contextlib.ExitStack() as lock:
        lock_folder(folder, lock, waits=True)
        yield


def state_sha256(path: str | os.PathLike[str]) -> str | None:
    """SHA-256 of a state file; None where there is none, or no file."""
    file = Path(path)
    return sha256_of(file) if file.is_file() else None


def read_stream(path: str | os.PathLike[str]) -> Stream | None:
    """The stream of a state file; None where there is no file.

    The file may come from anywhere: nothing is unpacked that is too large, and what it holds is
    checked before it is used.

    Raises
    ------
    DataError
        If it is no state file, of another version, or damaged.
    """
    file = Path(path)
    if not file.exists():
        return None
    try:
        if not file.is_file():
            raise ValueError("is no file")  # noqa: TRY301, TRY003, EM101 - told below
        with zipfile.ZipFile(file) as archive:
            if sum(one.file_size for one in archive.infolist()) > _MOST_BYTES:
                raise ValueError("too large")  # noqa: TRY301, TRY003, EM101
            head = json.loads(archive.read("state.json"))
            version = head["parivox-state"]
            if version in _VERSIONS:
                arrays = _arrays(archive, version)
    except Exception as error:
        msg = f"{path}: is not a state of parivox monitor, or damaged; name another with --state"
        raise DataError(msg) from error
    if version not in _VERSIONS:
        msg = f"{path}: is a state of another version of Parivox; begin a new one with --new"
        raise DataError(msg)
    try:
        head["settings"].setdefault("day_sd", DAY_SD)  # not in states of version 1
        check_state(head, arrays, MAX_START_WEEKS)
    except Exception as error:
        why = str(error) if isinstance(error, ValueError) else type(error).__name__
        msg = f"{path}: is a damaged state of parivox monitor ({why}); restore a copy"
        raise DataError(msg) from error
    return Stream(head["settings"], head["days"], head["alarms"], **arrays)


def _arrays(archive: zipfile.ZipFile, version: int) -> dict[str, Any]:
    """Arrays of a state, of whole numbers only."""
    arrays: dict[str, Any] = {}
    for name, kind in _ARRAYS.items():
        if name == "products" and version == 1:
            continue
        held = np.load(io.BytesIO(archive.read(f"{name}.npy")), allow_pickle=False)
        if held.dtype.kind not in "iu" or held.size > _MOST_NUMBERS:
            msg = f"{name} are not whole numbers, or too many"
            raise ValueError(msg)
        arrays[name] = held.astype(kind)
    if "products" not in arrays:
        arrays["products"] = np.zeros((*arrays["trials"].shape, len(PRODUCT_NAMES)), np.int64)
    return arrays


def _days(n: int) -> str:
    return "that day" if n == 1 else f"these {n} days"
