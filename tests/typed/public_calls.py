"""Calls that users write, with the types of their results.

mypy and pyright read this file, strictly; nothing runs it.
"""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, assert_type

import narwhals as nw
import numpy as np
import polars as pl

import parivox as pv
from parivox.data.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.sources import ScoreSource, SpeakerSource


class CapsuleOnly:
    """A table that has the Arrow PyCapsule interface and nothing else."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return pl.DataFrame({"enrol": ["a"]}).__arrow_c_stream__(requested_schema)


frame = pl.DataFrame({"enrol": ["a"], "test": ["b"], "score": [1.0]})
scores = np.array([0.9, 0.1])
structured = np.array([("a", "b", 0.5)], dtype=[("enrol", "U1"), ("test", "U1"), ("score", "f8")])
columns: dict[str, NDArray[np.float64] | list[str]] = {"enrol": ["a", "b"], "score": scores}
rows: list[dict[str, str | float]] = [{"enrol": "a", "test": "b", "score": 0.5}]

every_table: Sequence[ScoreSource] = [
    "scores.csv",
    Path("scores.csv"),
    ["part_1.csv", "part_2.csv"],
    frame,
    frame.lazy(),
    nw.from_native(frame),
    nw.from_native(frame.lazy()),
    CapsuleOnly(),
    structured,
    rows,
    columns,
    {"A": "a.csv", "B": "b.csv"},
    {"A": frame, "B": frame},
    {"A@list": CapsuleOnly()},
    {("A", "list"): frame.lazy()},
]
every_speaker_table: Sequence[SpeakerSource] = [
    "speakers.csv",
    frame,
    {"anna": {"gender": "f", "age": 30}},
    {1: {"gender": "f"}},
    {"anna": "f", "bert": "m"},
]

audit = pv.audit(frame, {"a": {"gender": "f"}}, by="gender", replicates=200, margin=1.5)
assert_type(audit, pv.Audit)
assert_type(audit.rates(), Table)
assert_type(audit.groups["rate"], pl.Series)
assert_type(audit.groups[["group", "value"]], Table)
assert_type(pv.audit({"A": "a.csv", "B": "b.csv"}, "speakers.csv", compare=True), pv.Audit)
assert_type(pv.count(frame, frame, by="gender", step=0.01, blocks=5), pv.TrialCounts)
assert_type(pv.eer(scores, [1, 0]), np.float64)
assert_type(pv.eer(pv.Counts.from_scores(scores, [1, 0])), "NDArray[np.float64]")
assert_type(pv.sklearn.eer([1, 0], scores), float)
assert_type(pv.metrics(scores, [1, 0], ["f", "m"]), pv.ScoreMetrics)
assert_type(pv.metrics(target=scores, nontarget=scores), pv.ScoreMetrics)
calibration = pv.calibrate(frame, frame, by="gender", folds=5)
assert_type(calibration.transform(scores, ["f", "m"]), "NDArray[np.float64]")
thresholds = pv.thresholds(frame, frame, by="gender", aim="fpr=0.01")
assert_type(thresholds.predict(scores), "NDArray[np.int64]")
policy: Mapping[str, object] = {"parivox-policy": 1}
assert_type(pv.gate(audit, policy, baseline="old/").to_junit(), str)
assert_type(pv.plan(audit, detect_ratio=2), pv.Plan)
pv.trials.build_inclusive("utterances.csv", by="gender", per_speaker=5, variants=3)
pv.shards.plan(["a.csv", "b.csv"], out="run", by="gender", speakers="speakers.csv")

pv.audit(frame, speakers=3)  # type: ignore[arg-type]
pv.audit(frame, by=3)  # type: ignore[arg-type]
pv.audit(frame, replicate=3)  # type: ignore[call-arg]
pv.audit(frame, replicates="3")  # type: ignore[arg-type]
pv.audit(3)  # type: ignore[arg-type]
