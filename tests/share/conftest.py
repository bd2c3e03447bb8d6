"""Simulated trials in files, for plans."""

import itertools

import numpy as np
import polars as pl
import pytest


@pytest.fixture(scope="session")
def lists(tmp_path_factory):
    """Folder with trials in one Parquet file, in one CSV and dealt to three, and the speakers.

    Those in `called0.csv` to `called2.csv` are of recordings that are in a table, and some failed.
    """
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
    enrol, test = np.triu_indices(len(ids), 1)
    is_target = owner[enrol] == owner[test]
    rows = np.concatenate(
        (np.flatnonzero(is_target), draw.choice(np.flatnonzero(~is_target), 3000, False))
    )
    rows = draw.permutation(rows)
    enrol, test, is_target = enrol[rows], test[rows], is_target[rows]
    score = np.round(draw.normal(np.where(is_target, 2.5, 0.0)), 3)
    frame = pl.DataFrame(
        {
            "enrol": [ids[i] for i in enrol],
            "test": [ids[i] for i in test],
            "score": score,
            "label": is_target.astype(int),
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
    lost = {name: draw.choice(ids, 6, replace=False).tolist() for name in ("enrol", "acquire")}
    unheard = pl.col("enrol").is_in(lost["enrol"]) | pl.col("test").is_in(lost["acquire"])
    called = frame.with_columns(
        pl.when(~unheard).then(pl.col("score", "decision")),
        threshold=pl.lit(1.2),
        seconds=pl.Series(np.round(draw.exponential(2.0, frame.height), 2)),
    )
    for i in range(3):
        called.filter(pl.Series(home == i)).write_csv(folder / f"called{i}.csv")
    stages = {name: [name] * len(recordings) for name, recordings in lost.items()}
    pl.DataFrame(
        {
            "recording": [*lost["enrol"], *lost["acquire"]],
            "stage": [*stages["enrol"], *stages["acquire"]],
            "reason": ["noise", "silence"] * 6,
        }
    ).write_csv(folder / "failures.csv")
    device = draw.choice(["landline", "mobile"], len(ids))
    pl.DataFrame({"utterance": ids, "device": device}).write_csv(folder / "recordings.csv")
    return folder
