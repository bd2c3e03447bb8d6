"""A small simulated audit to be summed up."""

from __future__ import annotations

import itertools
import random

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
