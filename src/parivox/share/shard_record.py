"""What is there of one part: ``shard.json``, which names its files by their hashes.

A file counts by this record, not by being there: names may come before content on disks that are
shared.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from parivox.errors import DataError
from parivox.runtime.disk import sha256_of
from parivox.share.shard_plan import damaged_file_error, read_json, write_json
from parivox.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from parivox.share.shard_plan import Plan

COUNTS_FILE, SPEAKER_COUNTS_FILE = "trials.counts", "trials.tally"
RECORD_FILE, FAILURE_FILE = "shard.json", "failed.json"
_SHOWN = 20


@dataclass(frozen=True)
class ShardRecord:
    """Files of one part of a plan, by their hashes."""

    plan: Plan
    number: int
    hashes: dict[str, str]
    inputs: Sequence[dict[str, Any]] = ()  # files that its trials were read from
    speakers: str = ""  # who is in its trials

    @classmethod
    def read(cls, plan: Plan, number: int) -> ShardRecord:
        """What is recorded of a part; nothing if no run of it has ended.

        Raises
        ------
        DataError
            If the record is damaged, of another plan or of another version.
        """
        path = plan.home(number) / RECORD_FILE
        if not path.exists():
            return cls(plan, number, {})
        found = read_json(path)
        for what, mine in (("plan", plan.id), ("shard", number), ("parivox", __version__)):
            if found.get(what) != mine:
                whose = "another version" if what == "parivox" else f"another {what}"
                msg = f"{path}: is of {whose}; remove {path.parent.name}, and run that part again"
                raise DataError(msg)
        try:
            return cls(plan, number, {**found["files"]}, found["inputs"], found["speakers"])
        except (KeyError, TypeError) as error:
            raise damaged_file_error(path) from error

    @property
    def home(self) -> Path:
        """The folder of the part."""
        return self.plan.home(self.number)

    def has_intact_file(self, name: str) -> bool:
        """Whether a file is recorded and has its hash."""
        path = self.home / name
        return name in self.hashes and path.is_file() and self.hashes[name] == sha256_of(path)

    def with_file(self, name: str, inputs: Sequence[dict[str, Any]], speakers: str) -> ShardRecord:
        """With a file that was just made of some inputs, and whose trials, which is recorded."""
        hashes = {**self.hashes, name: sha256_of(self.home / name)}
        made = replace(self, hashes=hashes, inputs=inputs, speakers=speakers)
        write_json(
            self.home / RECORD_FILE,
            {
                "plan": self.plan.id,
                "parivox": __version__,
                "shard": self.number,
                "of": len(self.plan),
                "files": made.hashes,
                "inputs": made.inputs,
                "speakers": made.speakers,
            },
        )
        return made


def failed_shards_error(told: Mapping[int, str]) -> DataError:
    """The error of parts that failed by their rows: that of the first, and which others did."""
    first, *others = sorted(told)
    more = f" (parts that failed so, too: {shard_list(others)})" if others else ""
    return DataError(told[first] + more)


def shard_list(numbers: Sequence[int]) -> str:
    """Parts by their numbers, a score of them at most.

    Examples
    --------
    >>> listed([3, 5, 7])
    '3, 5, 7'
    """
    more = f" and {len(numbers) - _SHOWN} more" if len(numbers) > _SHOWN else ""
    return ", ".join(map(str, numbers[:_SHOWN])) + more
