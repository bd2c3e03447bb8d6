"""Simulated trials in files, for plans."""

import itertools

import numpy as np
import polars as pl
import pytest


@pytest.fixture(scope="session")
def lists(tmp_path_factory):
    """Folder with trials in one Parquet file, in one CSV and dealt to three, and the speakers."""
    folder = tmp_path_factory.mktemp("lists")
    draw = np.random.default_rng(4)
    groups = list(itertools.product("fm", ("India", "Norway")))
    people = {
        "id": [f"qz{i:02d}" for i in range(24)],
        "gender": [groups[i % 4][0] for i in range(24)],
        "nation": [groups[i % 4][1] for i in range(24)],
    }
    ids = [f"{name}/{k}" for name in people["id"] for k in range(5)]
    owner = np.repeat(np.arange(24), 5)
    left, right = np.triu_indices(len(ids), 1)
    same = owner[left] == owner[right]
    rows = np.concatenate((np.flatnonzero(same), draw.choice(np.flatnonzero(~same), 3000, False)))
    rows = draw.permutation(rows)
    left, right, same = left[rows], right[rows], same[rows]
    score = np.round(draw.normal(np.where(same, 2.5, 0.0)), 3)
    frame = pl.DataFrame(
        {
            "enrol": [ids[i] for i in left],
            "test": [ids[i] for i in right],
            "score": score,
            "label": same.astype(int),
            "channel": draw.choice(["phone", "web"], rows.size),
            "decision": np.where(score > 1.2, "accept", "reject"),
        }
    )
    frame.write_parquet(folder / "all.parquet")
    frame.write_csv(folder / "all.csv")
    home = draw.integers(0, 3, frame.height)
    for i in range(3):
        frame.filter(pl.Series(home == i)).write_parquet(folder / f"day{i}.parquet")
    pl.DataFrame(people).write_csv(folder / "s.csv")
    return folder
