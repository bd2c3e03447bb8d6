"""A system in production, watched day by day.

Entry function: `parivox.monitoring.daily_monitor.monitor` (`parivox.monitor`). It reads the
decisions of one day, counts them by speaker, adds them to the stream in a state file, tests every
group and writes the state again.

Central types:

* `~parivox.monitoring.stream.Stream`: what the state file holds, errors of each day and group and
  of each speaker and week, with speakers known by keyed hashes only; ``state_checks`` decides
  whether a state file can be what `monitor` wrote;
* `~parivox.monitoring.stream.Day`: the counted trials of one day;
* `~parivox.monitoring.daily_monitor.Monitor`: the result, tables of groups, alarms and weeks.

``daily_tests`` tests each group against all others, its own past, a saved audit or a limit; the
mathematics is in `parivox.core.sequential` and docs/methods/monitoring.md.

Callers: `parivox.monitor` and the command `monitor`; ``report`` displays the result.
"""
