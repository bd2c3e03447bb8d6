"""Many groupings are counted, measured and put away some at a time: nothing else comes of it."""

import numpy as np
import pytest

import parivox as pv
from parivox.auditing import cell_counts, schema, speaker_errors
from parivox.auditing.schema import TableBuilder

N = 24


@pytest.fixture(scope="module")
def trials_and_speakers():
    rng = np.random.default_rng(3)
    ids = [f"s{i:02d}" for i in range(N)]
    enrol = rng.integers(N, size=900)
    test = np.where(rng.random(900) < 0.3, enrol, rng.integers(N, size=900))
    label = (enrol == test).astype(int)
    trials = {
        "enrol": [f"{ids[speaker]}/e{k}" for k, speaker in enumerate(enrol)],
        "test": [f"{ids[speaker]}/t{k}" for k, speaker in enumerate(test)],
        "score": rng.normal(2.0 * label),
        "label": label,
        "channel": rng.choice(["phone", "web"], 900),
    }
    attributes = {f"a{k}": rng.choice([*"xyz"], N) for k in range(2)}
    return trials, {"speaker": ids, **attributes}


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"within": "channel", "allocate": ["both", "enrol"]}])
@pytest.mark.parametrize("systems", [1, 2])
@pytest.mark.parametrize("intervals", [False, True])
def test_some_at_a_time_are_as_all_at_once(
    trials_and_speakers, monkeypatch, options, systems, intervals
):
    trials, people = trials_and_speakers
    groupings = [f"a{k}" for k in range(2)]
    scores = dict.fromkeys("AB"[:systems], trials)

    def audited():
        audit = pv.audit(
            scores, speakers=people, by=groupings, intervals=intervals, replicates=50, **options
        )
        return audit.to_json(), [table.to_dict() for table in audit.tables().values()]

    expected = audited()
    for module in (cell_counts, speaker_errors):
        monkeypatch.setattr(module, "MAX_LAYOUTS_TOGETHER", 1)
    monkeypatch.setattr(schema, "_MANY_ROWS", 5)
    assert audited() == expected


@pytest.mark.slow
def test_rows_of_many_systems_are_put_away(trials_and_speakers, monkeypatch):
    trials, people = trials_and_speakers
    unpacked = []

    def table_of(rows):
        unpacked.append(len(next(iter(rows.cells.values()))))
        return table(rows)

    table = TableBuilder.table
    monkeypatch.setattr(TableBuilder, "table", table_of)
    pv.audit(trials, speakers=people, by="a0", intervals=False)
    limit = max(unpacked) + 1
    monkeypatch.setattr(schema, "_MANY_ROWS", limit)
    unpacked.clear()
    pv.audit(dict.fromkeys("ABC", trials), speakers=people, by="a0", intervals=False)
    assert max(unpacked) < limit


def test_rows_that_are_put_away_come_back_in_order(monkeypatch):
    monkeypatch.setattr(schema, "_MANY_ROWS", 3)
    columns = {"group": "str", "value": "float", "n": "int", "is_small": "bool"}
    rows, unpacked = TableBuilder(columns), TableBuilder(columns)
    for k in range(8):
        for builder in (rows, unpacked):
            builder.add(group=[f"g{k}", ""], value=[k / 3, float("nan")], n=[k, None])
            builder.add(group="all", value=float("inf"), is_small=bool(k % 2))
        rows.pack()
    assert rows.table().to_polars().equals(unpacked.table().to_polars())
    assert rows.table().to_polars().schema == unpacked.table().to_polars().schema
