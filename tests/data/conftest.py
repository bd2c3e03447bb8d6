"""A small audit's files, and what reads them."""

from __future__ import annotations

import pytest
from tests.sentences import in_words

from parivox.data.speakers import read_speakers
from parivox.data.trials import read_trials

SPEAKERS = "speaker,gender,age\na,f,17\nb,m,18\nc,f,64\n"
ROWS = [
    ("a/1", "a/2", "0.9", "1"),
    ("a/1", "b/1", "0.1", "0"),
    ("b/1", "b/2", "0.7", "1"),
    ("b/2", "c/1", "-0.25", "0"),
    ("c/1", "a/2", "0.3", "0"),
]


@pytest.fixture
def rows():
    return list(ROWS)


@pytest.fixture
def write(tmp_path):
    """Write a file and return its path."""

    def written(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return written


@pytest.fixture
def speakers(write):
    return read_speakers(write("speakers.csv", SPEAKERS))


@pytest.fixture
def read(write, speakers):
    """Read trials from text or from any other source."""

    def done(source, *, name="scores.csv", people=None, **options):
        if isinstance(source, (str, bytes)):
            source = write(name, source)
        return read_trials(source, system="s", list_="", speakers=people or speakers, **options)

    return done


@pytest.fixture
def csv():
    """Rows as CSV with a header."""

    def text(rows, header="enrol,test,score,label"):
        return "\n".join([header, *(",".join(row) for row in rows)]) + "\n"

    return text


@pytest.fixture
def plain():
    """Trials as comparable tuples of ids."""

    def plain_rows(trial_set):
        ids = list(trial_set.utterance_ids)
        return [
            (ids[e], ids[t], bool(y), float(s), bool(c))
            for partition in trial_set.partitions()
            for e, t, y, s, c in zip(
                partition.enrol,
                partition.test,
                partition.target,
                partition.score,
                partition.conflict,
                strict=True,
            )
        ]

    return plain_rows


@pytest.fixture
def count():
    """The count of one data note."""

    def counted(trial_set, item, source="scores"):
        return {(n.source, in_words(n.item)): n.count for n in trial_set.data_notes}.get(
            (source, item), 0
        )

    return counted
