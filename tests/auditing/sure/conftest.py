"""Trials whose errors are told one by one, and tallies of trials by plain loops."""

from __future__ import annotations

import csv
from collections import Counter

import numpy as np
import pytest

import parivox as pv
from parivox.core.cluster_errors import ErrorsByPair, ErrorsBySpeaker

ACCEPTED, REJECTED, THRESHOLD = 1.0, 0.0, 0.5
POINT = f"threshold={THRESHOLD}"
PLAIN = {"operating_points": POINT, "reference": "others", "zero": "none", "bins": "exact"}


class People:
    """Speakers with attributes, and trials of which so many went wrong.

    Attributes
    ----------
    table : dict of str to list
        Speakers.
    rows : list of dict
        Trials: enrol, test, label, score and whatever else was told of them.
    """

    def __init__(self, table):
        self.table, self.rows = table, []

    def target(self, speaker, errors, trials, **more):
        """Add target trials of a speaker, of which some are rejected."""
        self._add(speaker, speaker, 1, (REJECTED, ACCEPTED), errors, trials, more)

    def nontarget(self, enrol, test, errors, trials, **more):
        """Add nontarget trials of a pair, of which some are accepted."""
        self._add(enrol, test, 0, (ACCEPTED, REJECTED), errors, trials, more)

    def _add(self, enrol, test, label, scores, errors, trials, more):
        assert errors <= trials
        for k in range(trials):
            n = len(self.rows)
            self.rows.append({
                "enrol": f"{enrol}/e{n}",
                "test": f"{test}/t{n}",
                "label": label,
                "score": scores[k >= errors],
                **more,
            })  # fmt: skip

    @property
    def order(self):
        """Speakers, by place in the table, in the order that they are drawn in: by their scores."""
        keys = {name: [0, 0, 0] for name in self.table["id"]}
        for row in self.rows:
            bits = int(np.float64(row["score"] + 0.0).view(np.uint64))
            for side in ("enrol", "test"):
                key = keys[row[side].partition("/")[0]]
                for i, shift in enumerate((0, 22, 44)):
                    key[i] += bits >> shift & (1 << 22) - 1
        return sorted(range(len(keys)), key=lambda index: keys[self.table["id"][index]])

    @property
    def trials(self):
        """The trials as columns."""
        return {name: [row[name] for row in self.rows] for name in self.rows[0]}

    def audit(self, by="group", **options):
        return pv.audit(self.trials, speakers=self.table, by=by, **{**PLAIN, **options})


@pytest.fixture(scope="session")
def people():
    """Make speakers of groups, in which speaker, or pair, number i has so many errors.

    ``sizes`` are speakers by group; ``fnr`` and ``fpr`` give (errors, trials) of the i-th
    speaker, or pair, of a group.
    """

    def make(sizes, fnr, fpr=lambda group, i: (i % 2, 10), **attributes):
        names = [(g, f"{g}{i:02d}") for g, n in sizes.items() for i in range(n)]
        table = {"id": [name for _, name in names], "group": [g for g, _ in names]}
        speakers = People({**table, **attributes})
        for group, size in sizes.items():
            group_names = [name for g, name in names if g == group]
            pairs = [(a, b) for j, a in enumerate(group_names) for b in group_names[j + 1 :]]
            for i in range(size):
                speakers.target(group_names[i], *fnr(group, i))
            for i, (a, b) in enumerate(pairs):
                speakers.nontarget(a, b, *fpr(group, i))
        return speakers

    return make


@pytest.fixture(scope="session")
def alike(people):
    """Two groups of twelve who differ by chance only, with a few scores between the two usual."""
    speakers = people(
        {"a": 12, "b": 12},
        fnr=lambda group, i: ((3 * i + int(group == "b")) % 5, 12),
        fpr=lambda group, i: ((i + int(group == "b")) % 4 == 0, 3),
    )
    draw = np.random.default_rng(8)
    for row in speakers.rows:
        row["score"] = float(np.round(0.75 * row["score"] + draw.normal(0.12, 0.1), 2))
    return speakers


@pytest.fixture(scope="session")
def tallied():
    """Tally rows by group: ``placed`` has the rows of each, ``wrong`` tells of one (or None)."""

    def cluster_errors(placed, groups, speaker_of, wrong):
        target_counts, pair_counts = {}, {}
        for cell, group in enumerate(groups):
            for row in placed.get(group, []):
                enrol_speaker, test_speaker = speaker_of(row["enrol"]), speaker_of(row["test"])
                key = (
                    (cell, enrol_speaker)
                    if row["label"]
                    else (cell, *sorted((enrol_speaker, test_speaker)))
                )
                counted = (target_counts if row["label"] else pair_counts).setdefault(key, [0, 0])
                bad = wrong(row)
                counted[0] += int(bool(bad))
                counted[1] += int(bad is not None)
        names = sorted({name for key in (*target_counts, *pair_counts) for name in key[1:]})
        number = {name: i for i, name in enumerate(names)}
        errors_by_metric = []
        for kind, cell_counts in ((ErrorsBySpeaker, target_counts), (ErrorsByPair, pair_counts)):
            keys = sorted(cell_counts)
            width = 2 if kind is ErrorsBySpeaker else 3
            codes = [[key[0], *(number[name] for name in key[1:])] for key in keys]
            columns = np.array(codes, dtype=int).reshape(-1, width).T
            counts = np.array([cell_counts[key] for key in keys]).reshape(-1, 2).T
            errors_by_metric.append(kind(*columns, *counts, len(groups)))
        return {"fnr": errors_by_metric[0], "fpr": errors_by_metric[1]}

    return cluster_errors


@pytest.fixture(scope="session")
def one_row():
    """The one row of a table that holds these values."""

    def find(table, **row_filter):
        (row,) = table.subset(**row_filter)
        return row

    return find


@pytest.fixture(scope="session")
def written():
    """Write columns as CSV."""

    def write(path, table):
        with path.open("w", newline="", encoding="utf-8") as file:
            out = csv.writer(file)
            out.writerow(table)
            out.writerows(zip(*table.values(), strict=True))
        return path

    return write


@pytest.fixture(scope="session")
def repeated():
    """A trial list in which a trial of one speaker stands w times, one of two v * w times."""

    def repeat(rows, speaker_of, weight):
        times_by_row = Counter()
        for i, row in enumerate(rows):
            enrol_speaker, test_speaker = speaker_of(row["enrol"]), speaker_of(row["test"])
            times_by_row[i] = weight[enrol_speaker] * (
                1 if enrol_speaker == test_speaker else weight[test_speaker]
            )
        times = [times_by_row[i] for i in range(len(rows))]
        return [np.repeat([row[name] for row in rows], times) for name in ("score", "label")]

    return repeat
