"""What every room runs on: disk, memory, progress, worker processes and clusters.

* ``disk``: folders and files that appear whole or not at all, scratch space, hashes;
* ``progress``: what a long run reports while it runs;
* ``workers`` and ``cluster``: tasks in processes of this machine or on the nodes of a cluster;
* ``memory``: memory that is freed is kept at hand.

Called by every room; this one knows none of them.
"""
