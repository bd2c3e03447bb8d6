"""Vectors worked out apart from this code, and small trial sets with many ties."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from parivox import Counts

VECTORS = json.loads((Path(__file__).parents[1] / "vectors.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def vector():
    """Inputs, expected values and tolerance of one vector by its id."""

    def vector_of(name):
        entry = VECTORS[name]
        return entry["inputs"], entry["expected"], entry["tol"]

    return vector_of


@pytest.fixture(scope="session")
def counted():
    """Counts of target and nontarget scores."""

    def counts_of(tar, non):
        labels = [1] * len(tar) + [0] * len(non)
        return Counts.from_scores(np.array([*tar, *non], dtype=float), np.array(labels))

    return counts_of


@pytest.fixture(scope="session")
def tied_sets():
    """Small random sets of target and nontarget scores; ties within and across classes."""
    rng = np.random.default_rng(2022)
    return [
        (
            rng.integers(0, 7, rng.integers(1, 9)).tolist(),
            (rng.integers(0, 7, rng.integers(1, 9)) - 2).tolist(),
        )
        for _ in range(300)
    ]


@pytest.fixture(scope="session")
def stacked():
    """Several sets of trials as one Counts of shape (set,), on the union of their scores."""

    def counts_of_sets(sets):
        values = np.unique(np.concatenate([counts.values for counts in sets]))
        rows = []
        for counts in sets:
            columns = np.searchsorted(values, counts.values)
            row = np.zeros((2, values.size), dtype=np.int64)
            row[0, columns], row[1, columns] = counts.target, counts.nontarget
            rows.append(row)
        classes = np.stack(rows)
        return Counts(values, classes[:, 0], classes[:, 1])

    return counts_of_sets
