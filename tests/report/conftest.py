"""A small simulated audit to be summed up."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

import parivox as pv


@pytest.fixture(scope="session")
def material():
    """Trials of 24 speakers; one is of unknown gender."""
    draw = random.Random(20).random  # the same numbers in every version of Python
    ids = [f"s{i:02d}/{k}" for i in range(24) for k in range(6)]
    trials = {"enrol": [], "test": [], "score": []}
    for enrol, test in itertools.combinations(ids, 2):
        is_target = enrol[:3] == test[:3]
        noise = draw() + draw() + draw() + draw() - 2
        if draw() < 0.4 or is_target:
            shift = (2.0 - 0.4 * (int(enrol[1:3]) % 2)) * is_target
            trials["enrol"].append(enrol)
            trials["test"].append(test)
            trials["score"].append(round(noise + shift, 3))
    speakers = {
        "id": [f"s{i:02d}" for i in range(24)],
        "gender": ["f" if i % 2 else "m" for i in range(23)] + ["unknown"],
        "nation": [("India", "Norway", "USA")[i % 3] for i in range(24)],
    }
    return trials, speakers


@pytest.fixture(scope="session")
def audited(material):
    """Audit the trials under a name, with any options; with each of them once."""
    trials, speakers = material
    audits = {}

    def audit(**options):
        # one name stands for a list of it
        key = repr(
            sorted(
                (name, [value] if isinstance(value, str) else value)
                for name, value in options.items()
            )
        )
        if key not in audits:
            audit_options = {"replicates": 100, **options}
            audits[key] = pv.audit({"model": trials}, speakers=speakers, **audit_options)
        return audits[key]

    return audit


@pytest.fixture(scope="session")
def trials_of_equal_groups():
    """Trials of 400 speakers, and their table: of either sex, with the same error rates."""
    ids = [f"s{i:03}" for i in range(400)]
    sides = [
        (f"{name}/{k}", f"{name if is_target else ids[(i + 2 * k + 2) % 400]}/t{k}", is_target)
        for i, name in enumerate(ids)
        for k in range(40)
        for is_target in (1, 0)
    ]
    enrol, test, label = zip(*sides, strict=True)
    scores = np.random.default_rng(1).normal(1.5 * np.array(label)).tolist()
    trials = {"enrol": enrol, "test": test, "label": label, "score": scores}
    people = {"id": ids, "sex": ["F", "M"] * 200}
    return trials, people


def _printer(show, capsys):
    def lines(audit, **options):
        capsys.readouterr()
        show(audit, **options)
        captured = capsys.readouterr()
        assert captured.err == ""
        return captured.out

    return lines


@pytest.fixture
def printed_summary(capsys):
    """What is seen first of an audit."""
    from parivox.report.terminal import print_summary

    return _printer(print_summary, capsys)


@pytest.fixture
def printed(capsys):
    """Every table of an audit."""
    from parivox.report.full_tables import every_table
    from parivox.report.words import print_text

    return _printer(lambda audit: print_text(every_table(audit)), capsys)
