"""An audit in shards: planned once, counted on any number of machines, merged into one audit.

`parivox.shards` is the public module. ``shard_plan`` decides the rows of each shard, ``shard_run``
has each counted by the audit's own functions, ``shard_record`` says which files of a shard are
whole, and ``shard_merging`` adds them up and audits the sum: in two passes, as the thresholds at
which errors are counted by speaker are found on the scores of all shards. The central types are
`shard_plan.Plan` and `shard_record.ShardRecord`.

Counting, and the files of counts that leave a site, belong to `parivox.auditing`, as an audit
reads them.
"""
