"""Simulated trials of known speakers, and one audit of them with every option on."""

from __future__ import annotations

import functools
import importlib.resources
import itertools
import json

import numpy as np
import pytest

import parivox as pv
from parivox.data import trial_shards

GENDERS, NATIONS = ("f", "m"), ("India", "Norway", "USA")
EVERY_EER = (
    *("linear", "nearest_max", "clova", "nearest_mean", "speechbrain"),
    *("kaldi", "nist_sre16", "rocch", "pyeer"),
)
POINTS = (
    *("fpr=0.01", "fpr=0.1", "fnr=0.05", "eer", "min-cdet", "min-cdet:sre08"),
    *("bayes", "threshold=1.25"),
)


def people(n):
    """`n` speakers, their attributes in turn."""
    groups = list(itertools.product(GENDERS, NATIONS))
    return {
        "id": [f"qz{i:03d}" for i in range(n)],
        "gender": [groups[i % 6][0] for i in range(n)],
        "nation": [groups[i % 6][1] for i in range(n)],
    }


@pytest.fixture(scope="session")
def simulate():
    """Make trials as columns, and the table of their speakers.

    Scores are rounded, so that many are equal; groups differ by a shift of their target scores.
    """

    def made(*, seed=1, speakers=24, utterances=6, nontarget=4000, decimals=2):
        draw = np.random.default_rng(seed)
        table = people(speakers)
        ids = [f"{name}/vx{k}.wav" for name in table["id"] for k in range(utterances)]
        owner = np.repeat(np.arange(speakers), utterances)
        left, right = np.triu_indices(len(ids), 1)
        same = owner[left] == owner[right]
        other = draw.choice(np.flatnonzero(~same), nontarget, replace=False)
        rows = draw.permutation(np.concatenate((np.flatnonzero(same), other)))
        left, right, same = left[rows], right[rows], same[rows]
        score = draw.normal(np.where(same, 2.5 - 0.2 * (owner[left] % 6), 0.0))
        trials = {
            "enrol": [ids[i] for i in left],
            "test": [ids[i] for i in right],
            "score": np.round(score, decimals).tolist(),
            "label": same.astype(int).tolist(),
        }
        return trials, table

    return made


@pytest.fixture(scope="session")
def trials(simulate):
    return simulate()[0]


@pytest.fixture(scope="session")
def speakers(simulate):
    return simulate()[1]


@pytest.fixture(scope="session")
def whole(trials, speakers):
    """Everything that an audit can be asked for, at once."""
    return pv.audit(
        {"T": trials},
        speakers=speakers,
        by=["gender", "nation", "gender+nation"],
        allocate=["both", "enrol", "test", "either"],
        operating_points=POINTS,
        cost=["voxsrc", "sre08", "sre16", "0.2,1,5"],
        eer=EVERY_EER,
        rule=["conservative", "nearest", "interp"],
        reference=["pooled", "macro", "geomean", "best", "f", "Norway", "f+India"],
        zero=["none", "jeffreys", "nist"],
        alpha=["0:1:0.25"],
        sweep="fpr=0.01:0.1:log5",
        llr=True,
        compat="bt4vt",
        conflicts="exclude",
        metrics={"half": lambda c: (c.fpr + c.fnr) / 2, "best": lambda c: c.fpr.min(axis=-1) * 0},
    )


@pytest.fixture(scope="session")
def small(trials, speakers):
    """One system, one combination of attributes, one threshold."""
    return pv.audit(
        trials,
        speakers=speakers,
        by="gender+nation",
        operating_points=["threshold=1.25", "fpr=0.01", "fnr=0.05"],
        zero=["none", "jeffreys", "nist"],
        alpha=["0:1:0.25"],
        reference=["pooled", "macro", "geomean", "best", "f+India"],
        sweep="fpr=0.01:0.1:log5",
    )


CHANNELS, DEVICES, LANGUAGES = ("app", "branch", "phone"), ("new", "old"), ("en", "fr", "sw")
DEPLOYED = {"app": 0.75, "branch": 1.0, "phone": 1.25}


class Bank:
    """A simulated bank: customers, their calls, and trials as plain rows.

    Attributes
    ----------
    customers, calls : dict of str to list
        Tables of people and of recordings, with unknown cells.
    rows : list of dict
        Trials with everything that a column may tell. Those that failed have no score.
    """

    def __init__(self, seed):
        draw = np.random.default_rng(seed)
        names = [f"c{i:02d}" for i in range(40)]
        self.customers = {
            "customer": names,
            "gender": [("f", "m", "f", "m", "unknown")[i % 5] for i in range(40)],
            "region": [("north", "south", "west")[i % 3] for i in range(40)],
        }
        self.calls = {"call": [], "customer": [], "channel": [], "language": [], "age": []}
        for i, name in enumerate(names):
            age = int(draw.integers(18, 80))
            for k in range(int(draw.integers(2, 5))):
                cells = (
                    *(f"call{len(self.calls['call']):03d}", name),
                    CHANNELS[draw.integers(3)] if draw.random() > 0.05 else "",
                    LANGUAGES[i % 3] if draw.random() > 0.1 else "n/a",
                    str(age + 2 * k),
                )
                for column, cell in zip(self.calls.values(), cells, strict=True):
                    column.append(cell)
        self.rows = self._rows(draw)

    def _rows(self, draw):
        calls = self.calls["call"]
        pairs = {(a, b) for a in calls for b in calls if a < b and self.who(a) == self.who(b)}
        while len(pairs) < 1600:
            one, two = draw.choice(len(calls), 2, replace=False)
            pairs.add((calls[one], calls[two]))
        lost = {(stage, draw.choice(calls)) for stage in ("enrol", "acquire") for _ in range(4)}
        rows = []
        for enrol, test in sorted(pairs):
            target = self.who(enrol) == self.who(test)
            score = float(np.round(draw.normal(2.0 * target), 2))
            level = DEPLOYED.get(self.call(test)["channel"])
            stage = "enrol" if ("enrol", enrol) in lost else ""
            stage = stage or ("acquire" if ("acquire", test) in lost else "")
            rows.append({
                "enrol": enrol,
                "test": test,
                "label": int(target),
                "score": None if stage else score,
                "device": draw.choice(DEVICES) if draw.random() > 0.05 else None,
                "days apart": int(draw.integers(0, 60)) if draw.random() > 0.05 else None,
                "threshold": level,
                "decision": None
                if stage or level is None
                else ("reject", "accept")[score >= level],
                "status": "failed" if stage else "ok",
                "stage": stage,
                "seconds": float(np.round(draw.lognormal(), 3)) if draw.random() > 0.1 else None,
            })  # fmt: skip
        return rows

    def who(self, call):
        return self.calls["customer"][int(call[4:])]

    @functools.cached_property
    def _cells_of_calls(self):
        rows = zip(*self.calls.values(), strict=True)
        known = [[None if cell in {"", "n/a"} else cell for cell in row] for row in rows]
        return {row[0]: dict(zip(self.calls, row, strict=True)) for row in known}

    @functools.cached_property
    def _cells_of_customers(self):
        rows = zip(*self.customers.values(), strict=True)
        known = [[None if cell == "unknown" else cell for cell in row] for row in rows]
        return {row[0]: dict(zip(self.customers, row, strict=True)) for row in known}

    def call(self, call):
        """What is known of a call, None for what is not."""
        return self._cells_of_calls[call]

    def customer(self, call):
        """What is known of the one who calls."""
        return self._cells_of_customers[self.who(call)]

    @property
    def scored(self):
        """The trials that did not fail."""
        return [row for row in self.rows if row["status"] == "ok"]

    def table(self, rows, *names):
        """Trials as columns; ids, label and score always."""
        return {n: [row[n] for row in rows] for n in ("enrol", "test", "label", "score", *names)}


@pytest.fixture(scope="session")
def bank():
    return Bank(4)


@pytest.fixture(scope="session")
def allocated():
    """Rows of each group and of all of them, by a plain loop: ``sides`` gives both groups."""

    def placed(rows, sides, rule):
        found = {}
        for row in rows:
            one, two = sides(row)
            inside = {
                "both": {one} if one == two else set(),
                "enrol": {one},
                "test": {two},
                "either": {one, two},
            }[rule] - {None}
            for group in [*inside, *(["pooled"] if inside else [])]:
                found.setdefault(group, []).append(row)
        return found

    return placed


@pytest.fixture(scope="session")
def errors():
    """False accepts of nontarget trials, false rejects of target trials, at a threshold."""

    def counted(rows, threshold):
        other, own = ([row for row in rows if row["label"] == label] for label in (0, 1))
        return (
            *(sum(row["score"] >= threshold for row in other), len(other)),
            *(sum(row["score"] < threshold for row in own), len(own)),
        )

    return counted


@pytest.fixture(scope="session")
def shown():
    """What an audit's table says of each group: as `errors` does."""

    def told(audit, point, **where):
        fpr, fnr = (
            audit.groups.subset(metric=metric, operating_point=point, **where)
            for metric in ("fpr", "fnr")
        )
        return {
            one["group"]: (one["errors"], one["trials"], two["errors"], two["trials"])
            for one, two in zip(fpr, fnr, strict=True)
        }

    return told


@pytest.fixture(scope="session")
def follows_schema(optional):
    """Check what audit.json holds against the schema that is shipped.

    Of a column the schema says what any of its cells may be, so each value is checked once.
    """
    schema = importlib.resources.files("parivox.auditing") / "audit.schema.json"
    schema = json.loads(schema.read_text(encoding="utf-8"))
    checker = optional("jsonschema").Draft202012Validator
    checker.check_schema(schema)

    def check(told):
        tables = {
            name: {column: distinct(cells) for column, cells in table.items()}
            for name, table in told["tables"].items()
        }
        errors = checker(schema).iter_errors({**told, "tables": tables})
        assert [error.message for error in errors] == []

    return check


def distinct(cells):
    """Each value once, if it is a column at all; 1, 1.0 and True are different ones."""
    if not isinstance(cells, list):
        return cells
    return list({(type(cell), cell): cell for cell in cells}.values())


@pytest.fixture
def beyond_memory(monkeypatch):
    """From the call on, lists of more than 300 trials are longer than memory holds."""

    def limit():
        monkeypatch.setattr(trial_shards, "IN_MEMORY_TRIALS", 300)
        monkeypatch.setattr(trial_shards, "SHARD_TRIALS", 200)

    return limit
