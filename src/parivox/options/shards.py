"""Options of `shards`: an audit in parts, planned once, run anywhere and merged."""

from __future__ import annotations

from typing import Any

from parivox.frozen import frozen
from parivox.options.audit import OUTPUT_SECTION
from parivox.options.kinds import CommandOptions, Number, Text, option, option_like
from parivox.options.recordings import EmbedOptions

SHARDS_SECTION = "shards"


@frozen(kw_only=True)
class ShardsPlanCommand(CommandOptions):
    """The command line of `shards plan`, in addition to the options of an audit."""

    section_order = (SHARDS_SECTION,)

    scores: Any = option(
        SHARDS_SECTION,
        "score files of one system, each with different trials, or a pattern such as "
        "'data/*.parquet'; or NAME=FILE",
        metavar="SCORES",
        positional_count="+",
    )
    out: Any = option(
        SHARDS_SECTION,
        "folder for the plan and the results of the shards",
        metavar="RUN",
        is_required=True,
    )
    shards: int = option(
        SHARDS_SECTION,
        "number of shards, each with about the same number of rows; long files are split, and "
        "short files are combined",
        Number,
        32,
        is_whole=True,
        low=1,
        high=100_000,
        is_common=True,
    )


@frozen(kw_only=True)
class ShardsRunCommand(CommandOptions):
    """The command line of `shards run`."""

    folder: Any = option(SHARDS_SECTION, "folder of the plan", metavar="RUN", positional_count="1")
    shard: str | None = option(
        SHARDS_SECTION,
        "run only the next pass of this shard, such as `7/32`",
        Text,
        metavar="N/OF",
        default_text="all shards and both passes",
    )
    workers: int = option(
        SHARDS_SECTION,
        "number of simultaneous processes",
        Number,
        1,
        is_whole=True,
        low=1,
        high=1024,
        metavar="N",
    )
    ray: str | None = option_like(EmbedOptions, "ray", section=SHARDS_SECTION)


@frozen(kw_only=True)
class ShardsMergeCommand(CommandOptions):
    """The command line of `shards merge`."""

    folder: Any = option(SHARDS_SECTION, "folder of the plan", metavar="RUN", positional_count="1")
    out: Any = option(
        OUTPUT_SECTION, "write the audit to this folder", metavar="DIR", is_required=True
    )
    format: str = option(
        OUTPUT_SECTION, "format of the tables: `csv` or `parquet`", Text, "csv", metavar="KIND"
    )
