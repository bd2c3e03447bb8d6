"""The record of one shard: ``shard.json``, which lists its files with their hashes.

A file counts if it is recorded, not if it exists: on shared disks, names may appear before content.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from parivox.data.metadata import checked_count
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
_MAX_LISTED = 20


@dataclass(frozen=True)
class ShardRecord:
    """The files of one shard of a plan with their hashes."""

    plan: Plan
    number: int
    hashes: dict[str, str]
    inputs: Sequence[dict[str, Any]] = ()  # files that its trials were read from
    speakers: str = ""  # of its trials, as `parivox.share.shard_plan.encoded_speakers` writes them
    # of its speaker counts; 0 before these are made, and in records of earlier versions
    n_rows: int = 0
    n_pairs: int = 0  # different pairs of speakers, or of blocks of them, in nontarget trials

    @classmethod
    def read(cls, plan: Plan, number: int) -> ShardRecord:
        """Return the record of a shard; without files if no run of it has ended.

        Raises
        ------
        DataError
            If the record is damaged, of another plan or of another version.
        """
        path = plan.home(number) / RECORD_FILE
        if not path.exists():
            return cls(plan, number, {})
        document = read_json(path)
        for field, expected in (("plan", plan.id), ("shard", number), ("parivox", __version__)):
            if document.get(field) != expected:
                owner = "another version" if field == "parivox" else f"another {field}"
                msg = f"{path}: belongs to {owner}"
                hint = f"remove {path.parent.name}, and run this shard again"
                raise DataError(msg, hint)
        try:
            return cls(
                plan,
                number,
                {**document["files"]},
                document["inputs"],
                document["speakers"],
                checked_count(document.get("rows", 0)),
                checked_count(document.get("pairs", 0)),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise damaged_file_error(path) from error

    @property
    def home(self) -> Path:
        """Return the folder of the shard."""
        return self.plan.home(self.number)

    def has_intact_file(self, name: str) -> bool:
        """Return whether a file is recorded and has its hash."""
        path = self.home / name
        return name in self.hashes and path.is_file() and self.hashes[name] == sha256_of(path)

    def with_file(
        self,
        name: str,
        inputs: Sequence[dict[str, Any]],
        speakers: str,
        n_rows: int | None = None,
        n_pairs: int | None = None,
    ) -> ShardRecord:
        """Return the record with a file that was just made, and write it.

        Numbers of the speaker counts that are not given stay as they are.
        """
        hashes = {**self.hashes, name: sha256_of(self.home / name)}
        record = replace(
            self,
            hashes=hashes,
            inputs=inputs,
            speakers=speakers,
            n_rows=self.n_rows if n_rows is None else n_rows,
            n_pairs=self.n_pairs if n_pairs is None else n_pairs,
        )
        # after each file, so that a run that is killed later need not make it again
        write_json(
            self.home / RECORD_FILE,
            {
                "plan": self.plan.id,
                "parivox": __version__,
                "shard": self.number,
                "of": len(self.plan),
                "files": record.hashes,
                "inputs": record.inputs,
                "speakers": record.speakers,
                "rows": record.n_rows,
                "pairs": record.n_pairs,
            },
        )
        return record


def failed_shards_error(error_by_shard: Mapping[int, str]) -> DataError:
    """Return the error of shards that failed by their rows: of the first, naming the others."""
    first_shard, *other_shards = sorted(error_by_shard)
    message = error_by_shard[first_shard]
    if other_shards:
        message += f" (shards that failed in the same way: {shard_list(other_shards)})"
    return DataError(message)


def shard_list(shards: Sequence[int]) -> str:
    """Return shards by their numbers, at most 20 of them.

    Examples
    --------
    >>> shard_list([3, 5, 7])
    '3, 5, 7'
    """
    listed = ", ".join(map(str, shards[:_MAX_LISTED]))
    n_omitted = len(shards) - _MAX_LISTED
    return f"{listed} and {n_omitted} more" if n_omitted > 0 else listed
