"""The floor: read the four columns with Polars and sort the scores once. No ids, groups or metrics.

Usage: python -m benchmarks.peers.ideal SCORES SPEAKERS
"""

from __future__ import annotations

import json
import sys

import polars as pl


def main(scores: str, _speakers: str) -> None:
    """Read, sort, and print nothing of use."""
    trials = pl.read_csv(scores, columns=["ref_file", "com_file", "sc", "lab"])
    trials["sc"].sort()
    print(json.dumps({"eer": None, "groups": 0}))


if __name__ == "__main__":
    main(*sys.argv[1:])
