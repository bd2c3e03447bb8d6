"""Small pools of utterances, and what a list that was built of one holds."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest


@pytest.fixture(scope="session")
def pool():
    """Make tables of utterances and of speakers; each seed others."""

    def made(seed, speakers=8, recordings=4, most=5, nations="XY"):
        draw = np.random.default_rng(seed)
        rows = [
            f"s{i:03d}/{i:03d}r{r}/{u}"
            for i in range(speakers)
            for r in range(int(draw.integers(1, recordings + 1)))
            for u in range(int(draw.integers(1, most + 1)))
        ]
        people = {
            "speaker": [f"s{i:03d}" for i in range(speakers)],
            "gender": ["fm"[k] for k in draw.integers(0, 2, speakers)],
            "nation": [nations[k] for k in draw.integers(0, len(nations), speakers)],
        }
        return {"utterance": rows}, people

    return made


@pytest.fixture(scope="session")
def seen():
    """Look at a list: its trials with what both sides are, and what always must hold."""

    def looked(table, people, by="nation"):
        attributes = by.split("+")
        frame = table.to_polars() if hasattr(table, "to_polars") else pl.read_csv(table)
        of = pl.DataFrame(people)
        for side in ("enrol", "test"):
            path = pl.col(side).str.split("/")
            frame = frame.with_columns(
                path.list.first().alias(f"{side}_speaker"),
                path.list.slice(0, 2).list.join("/").alias(f"{side}_recording"),
            ).join(
                of.rename({name: f"{side}_{name}" for name in of.columns}),
                on=f"{side}_speaker",
                how="left",
                maintain_order="left",
            )
            named = pl.concat_str([f"{side}_{name}" for name in attributes], separator="+")
            frame = frame.with_columns(named.alias(f"{side}_group"))
        target = frame["label"] == "target"
        assert (target == (frame["enrol_speaker"] == frame["test_speaker"])).all()
        assert (frame["enrol"] != frame["test"]).all()
        pairs = frame.select(
            pl.min_horizontal("enrol", "test").alias("a"),
            pl.max_horizontal("enrol", "test").alias("b"),
        )
        return SimpleNamespace(
            frame=frame,
            target=frame.filter(target),
            nontarget=frame.filter(~target),
            repeats=frame.height - pairs.unique().height,
        )

    return looked
