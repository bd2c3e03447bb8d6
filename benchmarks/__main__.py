"""`python -m benchmarks` is benchmarks/run.py."""

from __future__ import annotations

from benchmarks.run import main

if __name__ == "__main__":
    raise SystemExit(main())
