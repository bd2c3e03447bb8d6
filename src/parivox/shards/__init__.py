"""An audit in parts: planned once, run on any number of machines, merged into one.

`plan` says what each part is; `run` (or `run_shard`, which engines call) makes of each part
counts of its trials and a tally of who takes part in them; `merge` adds them up and audits them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parivox.shards.merging import find_thresholds, merge
    from parivox.shards.planning import Plan, plan, read_plan
    from parivox.shards.running import run, run_shard

_HOME = {
    "Plan": "parivox.shards.planning",
    "find_thresholds": "parivox.shards.merging",
    "merge": "parivox.shards.merging",
    "plan": "parivox.shards.planning",
    "read_plan": "parivox.shards.planning",
    "run": "parivox.shards.running",
    "run_shard": "parivox.shards.running",
}

__all__ = ["Plan", "find_thresholds", "merge", "plan", "read_plan", "run", "run_shard"]


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for."""
    if name not in _HOME:
        msg = f"module 'parivox.shards' has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return [*__all__]
