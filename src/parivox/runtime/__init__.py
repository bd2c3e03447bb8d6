"""What every room runs on: disk, memory, progress, worker processes and clusters.

Entry points, by what they do:

* ``disk``: `~parivox.runtime.disk.atomic_file` and `~parivox.runtime.disk.atomic_folder` write
  files and folders that appear whole or not at all; `~parivox.runtime.disk.ScratchFolder` is
  temporary space; `~parivox.runtime.disk.explain_write_errors` turns a full disk into a sentence;
* ``progress``: `~parivox.runtime.progress.stage` and `~parivox.runtime.progress.with_progress`
  report how far a long run is; `~parivox.runtime.progress.report_progress_to` names who listens;
* ``workers``: a `~parivox.runtime.workers.Runner` does tasks in this process
  (`~parivox.runtime.workers.CurrentProcess`) or in processes of this machine
  (`~parivox.runtime.workers.Processes`);
* ``task_sharing``: `~parivox.runtime.task_sharing.workers_shared` opens the workers of a run, and
  `~parivox.runtime.task_sharing.begin_tasks` has them do independent tasks, as does this process;
* ``cgroup``: the processors and the memory that the system leaves to this process;
* ``cluster``: `~parivox.runtime.cluster.Cluster` is the runner on the nodes of a Ray cluster;
* ``memory``: freed memory is kept for the next array, or handed back to the system.

Central types: `~parivox.runtime.progress.Progress` (what a listener is called with),
`~parivox.runtime.workers.Runner` (where tasks are done) and
`~parivox.runtime.workers.TaskOutput` (what a task gives: its number and the hashes of its files).

Every room calls this one; it knows none of them, only `parivox.errors` and the version.
"""
