"""The stream of counts: errors of each day and group, and of each speaker and week; its file.

Speakers are known by keyed hashes only. The file is a ZIP archive of arrays (NumPy's ``.npz``), one
text of JSON, and a seal: a keyed hash of all of it.
"""

from __future__ import annotations

import contextlib
import hmac
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
from parivox.data.site_key import NO_KDF, SiteKey
from parivox.errors import ConfigError, DataError
from parivox.monitoring.state_checks import check_state
from parivox.runtime.disk import atomic_file, explain_write_errors, lock_folder, sha256_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

STATE_VERSION = 2
_MAX_MISSING_DAYS = 366
"""Days that may be skipped: a date further away is taken for a typing error."""
DAY_SD = 0.1
"""Default for the variation of rates from day to day that raises no alarm."""
_READABLE_VERSIONS = (1, STATE_VERSION)
"""Versions of state files that are read. Version 1 lacks the products of days and the seal."""
DAYS_PER_WEEK = 7
MAX_START_WEEKS = 52
"""Weeks from which on a change is searched; later days belong to the last one."""
PRODUCT_NAMES = ("errors_errors", "errors_trials", "trials_trials")
_MAX_UNPACKED_BYTES, _MAX_ARRAY_SIZE = 1 << 28, 1 << 25
"""Of a state when unpacked; a year of a million speakers has a tenth of it."""
_ARRAY_TYPES = {
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
_HEAD, _SEAL = "state.json", "seal"
_MEMBERS = (_HEAD, *(f"{name}.npy" for name in _ARRAY_TYPES))
"""What is sealed by the key."""


@dataclass(frozen=True, eq=False)
class Day:
    """The trials of one day by speaker, who is named by a keyed hash."""

    day: date
    sha256: str
    name: NDArray[np.uint64]
    group: Ints
    trials: Ints
    errors: Ints


@dataclass(frozen=True, eq=False)
class Stream:
    """The content of a state file.

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
    def empty(cls, settings: Mapping[str, Any]) -> Stream:
        """Return a stream without days."""
        n_groups = len(settings["groups"]) + 1
        shapes: dict[str, tuple[int, ...]] = {
            "trials": (0, n_groups),
            "errors": (0, n_groups),
            "products": (0, n_groups, len(PRODUCT_NAMES)),
        }
        arrays = {
            name: np.zeros(shapes.get(name, 0), dtype) for name, dtype in _ARRAY_TYPES.items()
        }
        return cls(settings, (), (), **arrays)

    @property
    def groups(self) -> list[str]:
        """Return the names of the groups."""
        return list(self.settings["groups"])

    @property
    def day_sd(self) -> float:
        """Return the variation of rates from day to day that raises no alarm."""
        return float(self.settings["day_sd"])

    @property
    def dates(self) -> list[date]:
        """Return the counted days."""
        return [date.fromisoformat(day["day"]) for day in self.days]

    @property
    def week_of_day(self) -> Ints:
        """Return the week of each counted day, from 0; at most the last week that is tested."""
        dates = self.dates
        last_week = MAX_START_WEEKS - 1
        return np.array([min((day - dates[0]).days // DAYS_PER_WEEK, last_week) for day in dates])

    def check_next(self, day: date, sha256: str, name: str, *, skipped: bool) -> None:
        """Refuse a day that is counted already, is too early, or leaves days out.

        Raises
        ------
        ConfigError
            With a remedy.
        """
        for counted_day in self.days:
            if counted_day["day"] == day.isoformat():
                msg = f"{name}: {day} is already counted"
                hint = "leave out this file, or give its --day"
                raise ConfigError(msg, hint)
            if counted_day["sha256"] == sha256:
                msg = (
                    f"{name}: these are the trials of {counted_day['day']}, which are already "
                    "counted"
                )
                hint = f"give the trials of {day}"
                raise ConfigError(msg, hint)
        last_day = max(self.dates, default=day - timedelta(days=1))
        if day < last_day:
            msg = f"{name}: {day} comes before {last_day}, the last day counted"
            hint = "count days in order: start a new --state with the earliest day"
            raise ConfigError(msg, hint)
        n_missing = (day - last_day).days - 1
        if n_missing > _MAX_MISSING_DAYS:
            msg = f"{name}: {day} is {n_missing + 1:,} days after {last_day}, the last day counted"
            hint = "check the date, or start a new --state"
            raise ConfigError(msg, hint)
        if n_missing and not skipped:
            first_missing = last_day + timedelta(days=1)
            msg = f"{name}: {first_missing}, the day after the last day counted, is missing"
            hint = (
                f"count this day first, or declare {_days_text(n_missing)} without data with "
                "--skipped"
            )
            raise ConfigError(msg, hint)

    def with_day(self, new: Day) -> tuple[Stream, int]:
        """Return the stream with one more day, and the number of speakers whose group differs.

        Speakers who were in a group before stay in it.
        """
        names = np.union1d(self.name, new.name)
        old_index, new_index = np.searchsorted(names, self.name), np.searchsorted(names, new.name)
        group = np.full(names.size, -1)
        group[new_index] = new.group
        is_known = self.group >= 0
        group[old_index[is_known]] = self.group[is_known]
        group_of_new = np.where(group[new_index] < 0, len(self.groups), group[new_index])
        errors, trials = new.errors, new.trials

        def group_sums(weights: Ints) -> NDArray[Any]:
            return np.bincount(group_of_new, weights, len(self.groups) + 1)

        # in the order of PRODUCT_NAMES
        products = [group_sums(errors * errors), group_sums(errors * trials)]
        products.append(group_sums(trials * trials))
        days = [*self.days, {"day": new.day.isoformat(), "sha256": new.sha256}]
        extended = replace(
            self,
            days=days,
            trials=np.vstack([self.trials, group_sums(trials)]).astype(np.int64),
            errors=np.vstack([self.errors, group_sums(errors)]).astype(np.int64),
            products=np.vstack([self.products, [np.stack(products, axis=-1)]]).astype(np.int64),
            name=names,
            group=group,
        )
        n_moved = int((group[new_index] != new.group).sum())
        week = extended.week_of_day[-1]
        speaker = np.concatenate([old_index[self.speaker], new_index])
        weeks = np.concatenate([self.week, np.full(new_index.size, week)])
        entry_key, entry_index = np.unique(speaker * MAX_START_WEEKS + weeks, return_inverse=True)

        def entry_sums(old: Ints, added: Ints) -> Ints:
            both = np.concatenate([old, added])
            return np.bincount(entry_index, both, minlength=entry_key.size).astype(np.int64)

        extended = replace(
            extended,
            speaker=entry_key // MAX_START_WEEKS,
            week=entry_key % MAX_START_WEEKS,
            speaker_trials=entry_sums(self.speaker_trials, trials),
            speaker_errors=entry_sums(self.speaker_errors, errors),
        )
        return extended, n_moved

    @property
    def day_moments(self) -> SpeakerMoments:
        """Return sums over the speakers of each day and group, ``[day, group]``."""
        sums = [self.errors, self.trials, *np.moveaxis(self.products, -1, 0)]
        # without the last group, which stands for none
        return SpeakerMoments(*(daily[:, :-1].astype(np.float64) for daily in sums))

    def counts_from_week(self, group: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return errors and trials of a group from each week on, ``[week, speaker]``."""
        column_of_speaker = np.cumsum(self.group == group) - 1
        is_of_group = self.group[self.speaker] == group
        cells = self.week[is_of_group], column_of_speaker[self.speaker[is_of_group]]

        def sums_from_week(entries: Ints) -> NDArray[np.float64]:
            weekly = np.zeros((MAX_START_WEEKS, int((self.group == group).sum())))
            weekly[cells] = entries[is_of_group]
            return weekly[::-1].cumsum(axis=0)[::-1]

        return sums_from_week(self.speaker_errors), sums_from_week(self.speaker_trials)

    def write(
        self, path: str | os.PathLike[str], previous_sha256: str | None, site: SiteKey
    ) -> int:
        """Write the state file, whole or not at all, and return its size in bytes.

        Raises
        ------
        ConfigError
            If it cannot be written, or the file is not the one that was read, whose SHA-256 is
            `previous_sha256`.
        """
        head = {"parivox-state": STATE_VERSION, "settings": self.settings}
        head |= {"days": self.days, "alarms": self.alarms}
        arrays = {name: getattr(self, name) for name in _ARRAY_TYPES}
        compact_arrays = {name: _compact(array) for name, array in arrays.items()}
        with explain_write_errors(str(path)), atomic_file(path) as hidden_file:
            if state_sha256(path) != previous_sha256:
                msg = f"--state {path}: another process has changed it since it was read"
                hint = "repeat the command"
                raise ConfigError(msg, hint)
            members = {_HEAD: json.dumps(head, ensure_ascii=False).encode()}
            for name, array in compact_arrays.items():
                buffer = io.BytesIO()
                np.save(buffer, array, allow_pickle=False)
                members[f"{name}.npy"] = buffer.getvalue()
            with zipfile.ZipFile(hidden_file, "w", zipfile.ZIP_DEFLATED) as file:
                for name, content in {**members, _SEAL: site.seal(members).encode()}.items():
                    file.writestr(name, content)
            return hidden_file.stat().st_size


def _compact(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array of counts in the smallest signed type; hashes of speakers unchanged."""
    if array.dtype == np.uint64 or not array.size:
        return array
    return array.astype(np.min_scalar_type(-1 - array.max()))


@contextlib.contextmanager
def state_lock(path: str | os.PathLike[str]) -> Iterator[None]:
    """Lock the folder of a state until the block ends; wait for other processes that count."""
    folder = Path(os.path.realpath(path)).parent
    with contextlib.ExitStack() as lock:
        lock_folder(folder, lock, waits=True)
        yield


def state_sha256(path: str | os.PathLike[str]) -> str | None:
    """Return the SHA-256 of a state file; None if there is none."""
    file = Path(path)
    try:
        return sha256_of(file) if file.is_file() else None
    except OSError as error:
        msg = f"{file}: cannot be read ({error.strerror})"
        hint = "check the permissions of the file"
        raise DataError(msg, hint) from error


def read_stream(
    path: str | os.PathLike[str], key: str | os.PathLike[str] | None = None
) -> Stream | None:
    """Return the stream of a state file; None if there is none.

    The file may come from anywhere: nothing is unpacked that is too large, and what it holds is
    checked before it is used. With the key, its seal is checked, too.

    Raises
    ------
    ConfigError
        If it was started with another key.
    DataError
        If it is no state file, of another version, damaged, or was not sealed with the key.
    """
    file = Path(path)
    if not file.exists():
        return None
    try:
        if not file.is_file():
            raise ValueError("is no file")  # noqa: TRY301, TRY003, EM101 - reported below
        with zipfile.ZipFile(file) as archive:
            if sum(member.file_size for member in archive.infolist()) > _MAX_UNPACKED_BYTES:
                raise ValueError("too large")  # noqa: TRY301, TRY003, EM101
            head = json.loads(archive.read(_HEAD))
            version = head["parivox-state"]
            if version in _READABLE_VERSIONS:
                arrays = _read_arrays(archive, version)
    except Exception as error:
        msg = f"{path}: is not a state of parivox monitor, or is damaged"
        hint = "name another file with --state"
        raise DataError(msg, hint) from error
    if version not in _READABLE_VERSIONS:
        msg = f"{path}: is a state of another version of Parivox"
        hint = "start a new state with --new"
        raise DataError(msg, hint)
    try:
        head["settings"].setdefault("day_sd", DAY_SD)  # not in states of version 1
        check_state(head, arrays, MAX_START_WEEKS)
    except Exception as error:
        reason = str(error) if isinstance(error, ValueError) else type(error).__name__
        msg = f"{path}: is a damaged state of parivox monitor ({reason})"
        hint = "restore the file from a copy"
        raise DataError(msg, hint) from error
    if key is not None:
        _check_seal(file, head, key)
    return Stream(head["settings"], head["days"], head["alarms"], **arrays)


def _check_seal(path: Path, head: Mapping[str, Any], key: str | os.PathLike[str]) -> None:
    """Refuse a state that was started with another key, or not sealed with this one."""
    kdf = head["settings"].get("kdf", NO_KDF)
    site = SiteKey.read(key, kdf)
    if site.site != head["settings"]["site"]:
        msg = f"--state {path}: was started with another key"
        hint = "give the original --key, or another --state"
        raise ConfigError(msg, hint)
    # keys of version 1 were not derived: a later state does not pass for one without a seal
    if head["parivox-state"] == 1 and kdf == NO_KDF:
        return
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        members = {name: archive.read(name) for name in _MEMBERS if name in names}
        seal = archive.read(_SEAL) if _SEAL in names else b""
    if not hmac.compare_digest(seal, site.seal(members).encode()):
        msg = f"{path}: is not as parivox monitor wrote it with this key"
        hint = "restore the file from a copy"
        raise DataError(msg, hint)


def _read_arrays(archive: zipfile.ZipFile, version: int) -> dict[str, Any]:
    """Return the arrays of a state; refuse anything but whole numbers."""
    arrays: dict[str, Any] = {}
    for name, dtype in _ARRAY_TYPES.items():
        if name == "products" and version == 1:
            continue
        array = np.load(io.BytesIO(archive.read(f"{name}.npy")), allow_pickle=False)
        if array.dtype.kind not in "iu" or array.size > _MAX_ARRAY_SIZE:
            msg = f"{name} are not whole numbers, or too many"
            raise ValueError(msg)
        arrays[name] = array.astype(dtype)
    if "products" not in arrays:
        arrays["products"] = np.zeros((*arrays["trials"].shape, len(PRODUCT_NAMES)), np.int64)
    return arrays


def _days_text(n: int) -> str:
    return "that day" if n == 1 else f"these {n} days"
