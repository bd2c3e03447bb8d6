"""What is audited under which name: one source, or several as ``system`` or ``system@list``."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from parivox.errors import ConfigError, shown
from parivox.read.counts_file import holds_counts

__all__ = ["Named", "by_name", "count_files", "developments", "split_name", "stem", "storable"]

Named: TypeAlias = list[tuple[tuple[str, str] | None, str | os.PathLike[str]]]
"""Files with the system and list that the user names, None where they are not named."""

ENDINGS = {
    "csv", "tsv", "txt", "scores", "score", "trials", "parquet", "pq", "arrow", "ipc", "feather",
    "counts", "gz", "bz2", "xz", "zst",
}  # fmt: skip


def storable(text: str) -> str:
    r"""Text that UTF-8 can hold: a byte of a file's name that is not UTF-8 becomes ``\xNN``."""
    return re.sub("[\ud800-\udfff]", lambda found: shown(found[0]), text)


def split_name(name: object) -> tuple[str, str]:
    """Split ``system@list``; the list is empty unless named. A pair stands as it is."""
    system, list_ = name if isinstance(name, tuple) else str(name).partition("@")[::2]
    return storable(str(system)), storable(str(list_))


def by_name(scores: Any) -> dict[tuple[str, str], Any]:
    """Score sources by system and list."""
    if isinstance(scores, Mapping) and all(_is_source(value) for value in scores.values()):
        named = {split_name(name): source for name, source in scores.items()}
        if len(named) < len(scores) or not named:
            msg = f"scores name the same system and list twice, or none: {list(scores)}"
            raise ConfigError(msg)
        if not all(system for system, _ in named):
            msg = "scores: a system has no name; name each one, as in V2=v2.csv or V2@H=v2.csv"
            raise ConfigError(msg)
        return named
    return {(stem(scores), ""): scores}


def _is_source(value: object) -> bool:
    """Whether this is trials by itself: a path or table, not a mere column."""
    # first of all, because asking a LazyFrame for its columns would resolve its whole plan
    if isinstance(value, (str, os.PathLike, Mapping)) or hasattr(value, "collect_schema"):
        return True
    if hasattr(value, "columns"):
        return True
    return hasattr(value, "__arrow_c_stream__") and hasattr(value, "schema")


def stem(source: object) -> str:
    """Name of a system after its file, without any of the endings of formats."""
    if not isinstance(source, (str, os.PathLike)):
        return "scores"
    name = os.fspath(source)
    if name == "-":
        return "stdin"
    name = os.path.basename(str(name))  # noqa: PTH119 - a name may not be a path at all
    while True:
        head, dot, ending = name.rpartition(".")
        if not head or not dot or ending.lower() not in ENDINGS:
            return storable(name)
        name = head


def count_files(scores: Any) -> Named | None:
    """Files of counts with the names that the user gives them; None where there are none.

    Raises
    ------
    ConfigError
        If some sources are files of counts and others are not.
    """
    named: list[tuple[tuple[str, str] | None, Any]] = []
    if isinstance(scores, Mapping):
        for name, source in scores.items():
            several = source if isinstance(source, (list, tuple)) else [source]
            named += [(split_name(name) if name else None, one) for one in several]
    else:
        several = scores if isinstance(scores, (list, tuple)) else [scores]
        named = [(None, one) for one in several]
    are = [holds_counts(source) for _, source in named]
    if not any(are):
        return None
    if not all(are):
        other = next(source for (_, source), is_ in zip(named, are, strict=True) if not is_)
        told = other if isinstance(other, (str, os.PathLike)) else "another source"
        counts = next(source for (_, source), is_ in zip(named, are, strict=True) if is_)
        msg = (
            f"{os.fspath(counts)}: holds counts, but {storable(str(told))} does not; count that "
            "first with parivox count"
        )
        raise ConfigError(msg)
    return named


def developments(
    threshold_from: Any, sources: Mapping[tuple[str, str], Any]
) -> dict[tuple[str, str], Any]:
    """Development scores of each system, if there are any."""
    if threshold_from is None:
        return {}
    if isinstance(threshold_from, Mapping) and all(_is_source(v) for v in threshold_from.values()):
        given = {split_name(name)[0]: source for name, source in threshold_from.items()}
        systems = {system for system, _ in sources}
        if set(given) != systems:
            msg = (
                f"--threshold-from names {sorted(given)} but the scores are of {sorted(systems)}; "
                "give one development file for each system, as in V2=dev.csv"
            )
            raise ConfigError(msg)
        return {key: given[key[0]] for key in sources}
    if len({system for system, _ in sources}) > 1:
        msg = (
            "--threshold-from: several systems are audited; name each one's file, as in V2=dev.csv"
        )
        raise ConfigError(msg)
    return dict.fromkeys(sources, threshold_from)
