"""What the system leaves to this process: processors and memory, also in a container."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_OWN_GROUP = Path("/proc/self/cgroup")
_MOUNT = Path("/sys/fs/cgroup")
_MEMORY = Path("/proc/meminfo")
_OWN_MEMORY = Path("/proc/self/statm")


def processor_quota() -> float:
    """Return the processors that the groups of this process may use; infinite without a limit."""
    quota = math.inf
    for folder in _group_folders("cpu"):
        limit = _words(folder / "cpu.max")  # version 2: quota, period
        if not limit:  # version 1
            limit = [*_words(folder / "cpu.cfs_quota_us"), *_words(folder / "cpu.cfs_period_us")]
        if len(limit) == 2 and limit[0].isdecimal() and limit[1].isdecimal():
            quota = min(quota, int(limit[0]) / max(int(limit[1]), 1))
    return quota


def processor_count() -> int:
    """Return the number of processors that this process may use."""
    number = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        number = len(os.sched_getaffinity(0))
    return max(math.floor(min(processor_quota(), number)), 1)


def available_bytes() -> float:
    """Return the memory that this process and others may still take; infinite if not known."""
    available = math.inf
    for line in _text(_MEMORY).splitlines():
        words = line.split()
        if words[:1] == ["MemAvailable:"] and words[1:] and words[1].isdecimal():
            available = float(words[1]) * 1024
    for folder in _group_folders("memory"):
        for limit_name, usage_name in (
            ("memory.max", "memory.current"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes"),
        ):
            limit, usage = _words(folder / limit_name), _words(folder / usage_name)
            if limit and usage and limit[0].isdecimal() and usage[0].isdecimal():
                available = min(available, int(limit[0]) - int(usage[0]) + _file_cache(folder))
    return max(available, 0)


def resident_bytes() -> int:
    """Return the memory that this process has now, mapped files included; 0 if not known."""
    words = _words(_OWN_MEMORY)  # in pages: size, resident, shared
    if len(words) > 1 and words[1].isdecimal():
        return int(words[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _file_cache(folder: Path) -> int:
    """Return the bytes of files that a group keeps in memory until it needs the room."""
    statistics = [line.split() for line in _text(folder / "memory.stat").splitlines()]
    sizes = {
        words[0]: int(words[1]) for words in statistics if len(words) == 2 and words[1].isdecimal()
    }
    return sizes.get("total_inactive_file", sizes.get("inactive_file", 0))


def _group_folders(controller: str) -> Iterator[Path]:
    """Yield the folders of the group of this process and of the groups around it."""
    for line in _text(_OWN_GROUP).splitlines():
        _, _, controllers_and_path = line.partition(":")
        controllers, colon, path = controllers_and_path.partition(":")
        if not colon:  # some sandboxes write lines of their own
            continue
        if controllers and controller not in controllers.split(","):
            continue
        mount = _MOUNT / controllers if controllers else _MOUNT
        folder = mount / path.strip("/")
        # in a container the path is often that outside, and its own group is the mount
        yield from {folder, *folder.parents, mount} - {*mount.parents}


def _words(file: Path) -> list[str]:
    return _text(file).split()


def _text(file: Path) -> str:
    """Return the text of a file; none where there is no such file."""
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
