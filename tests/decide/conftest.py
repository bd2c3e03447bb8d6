"""Simulated trials of two groups, of whom the second may be scored higher."""

import os
import subprocess

import numpy as np
import polars as pl
import pytest

PEOPLE = 60
"""Speakers: the first half is of group f, the second of group m."""


def scored(shift, seed=1, people=PEOPLE):
    """Trials and speakers: six targets of each person, every pair once; `shift` is of group m."""
    draw = np.random.default_rng(seed)
    names = np.array([f"p{i:02d}" for i in range(people)])
    is_m = np.arange(people) >= people // 2
    pair_enrols, pair_tests = np.triu_indices(people, 1)
    swap = draw.random(pair_enrols.size) < 0.5
    pair_enrols, pair_tests = (
        np.where(swap, pair_tests, pair_enrols),
        np.where(swap, pair_enrols, pair_tests),
    )
    target_speakers = np.repeat(np.arange(people), 6)
    enrol, test = np.append(target_speakers, pair_enrols), np.append(target_speakers, pair_tests)
    target = enrol == test
    score = draw.normal(3.0 * target) + shift * is_m[enrol] + draw.normal(0, 0.1, people)[enrol]
    trials = pl.DataFrame(
        {
            "enrol": [f"{name}/a" for name in names[enrol]],
            "test": [f"{name}/{i}" for i, name in enumerate(names[test])],
            "score": score.round(4),
            "label": target.astype(int),
        }
    )
    return trials, pl.DataFrame({"speaker": names, "gender": np.where(is_m, "m", "f")})


@pytest.fixture(scope="session")
def shifted():
    """Trials of whom m are scored higher by 1, and the speakers."""
    return scored(1.0)


@pytest.fixture(scope="session")
def alike():
    """Trials of groups that are alike, and the speakers."""
    return scored(0.0)


@pytest.fixture(scope="session")
def draw_scored():
    """Draw trials and speakers: `scored`."""
    return scored


@pytest.fixture
def run(program, tmp_path):
    """Run a command; what it prints, or says where it `fails`."""

    def printed(*words, fails=False, **environment):
        completed = subprocess.run(
            [program, *words],
            cwd=tmp_path,
            env=os.environ | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert completed.returncode == (2 if fails else 0), completed.stderr
        return completed.stderr if fails else completed.stdout

    return printed
