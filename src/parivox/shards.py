"""An audit in shards: planned once, run on any number of machines, merged into one.

`plan` decides the rows of each shard. `run`, or `run_shard`, which engines call, counts the trials
of each shard by score and by speaker. `merge` adds up the counts and audits the sum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.lazy import lazy_names

if TYPE_CHECKING:
    from parivox.share.shard_merging import find_thresholds, merge
    from parivox.share.shard_plan import Plan, plan, read_plan
    from parivox.share.shard_run import run, run_shard

_HOMES = {
    "parivox.share.shard_merging": ("find_thresholds", "merge"),
    "parivox.share.shard_plan": ("Plan", "plan", "read_plan"),
    "parivox.share.shard_run": ("run", "run_shard"),
}

__all__ = ["Plan", "find_thresholds", "merge", "plan", "read_plan", "run", "run_shard"]

__getattr__, __dir__ = lazy_names("parivox.shards", _HOMES, public_names=__all__)
