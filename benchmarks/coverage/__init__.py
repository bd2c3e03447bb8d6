"""Do the intervals and p values keep their word? A study by simulation and on real sub-samples.

See `python -m benchmarks.coverage --help`.
"""
