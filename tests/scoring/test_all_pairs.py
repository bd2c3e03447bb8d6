"""All pairs counted in tiles: the counts of the rows that scoring them one by one gives."""

import tracemalloc
from itertools import combinations

import numpy as np
import polars as pl
import pytest

import parivox as pv
from parivox.auditing.speaker_counts import count_by_speaker
from parivox.data.requested_groupings import make_groupings
from parivox.data.score_bins import Bins
from parivox.data.speaker_counts import SpeakerCounts
from parivox.data.speakers import read_speakers
from parivox.data.trials import read_trials
from parivox.facts import Fact
from parivox.runtime.disk import HIDDEN_PREFIX
from parivox.scoring import all_pairs as tiles
from parivox.scoring import all_pairs_counts as auditing
from parivox.scoring.all_pairs import ByCell, Edges, Recordings, add_all_pairs, is_turned
from parivox.scoring.comparison import Scorer
from parivox.scoring.vectors import COMPARISONS, Vectors

SPEAKERS, RECORDINGS_EACH, SIZE = 30, 6, 16
IDS = [
    f"s{i // RECORDINGS_EACH:02d}/{i % RECORDINGS_EACH // 2}/{i}"
    for i in range(SPEAKERS * RECORDINGS_EACH)
]
PEOPLE = {
    "id": [f"s{i:02d}" for i in range(SPEAKERS)],
    "gender": ["f", "m", "m"] * (SPEAKERS // 3),
    "region": ["n", "s", "", "w", "n"] * (SPEAKERS // 5),  # unknown of some
}


def vectors_of(values, ids=IDS, status=None):
    statuses = pl.Series(["ok"] * len(ids) if status is None else status)
    good = (statuses == "ok").to_numpy()
    return Vectors(
        "embeddings",
        pl.Series(ids),
        np.asarray(values, dtype=np.float32)[:, None],
        np.where(good, np.cumsum(good) - 1, -1),
        statuses,
        None,
        "cosine",
        {"made": "by a test"},
    )


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    """Many tiles of few recordings, none of which fits the speakers."""
    monkeypatch.setattr(tiles, "ROWS", 16)
    monkeypatch.setattr(tiles, "COLUMNS", 40)


@pytest.fixture(scope="module")
def embedded():
    """Recordings of 30 speakers; two of them hold the same audio."""
    draw = np.random.default_rng(1)
    values = np.repeat(draw.normal(size=(SPEAKERS, SIZE)), RECORDINGS_EACH, axis=0)
    values += draw.normal(size=values.shape)
    values[20] = values[10]
    return vectors_of(values)


def listed(ids, across=False):
    """Every pair with the side that enrols, worked out pair by pair."""
    locations = [recording.split("/")[:2] for recording in ids]
    number = {name: i for i, name in enumerate(sorted({speaker for speaker, _ in locations}))}
    rows = []
    for i, j in combinations(range(len(ids)), 2):
        a, b = number[locations[i][0]], number[locations[j][0]]
        if a == b and across and locations[i] == locations[j]:
            continue
        turned = a != b and (a > b) == (a % 2 == b % 2)
        rows.append((ids[j], ids[i]) if turned else (ids[i], ids[j]))
    return pl.DataFrame(rows, schema=["enrol", "test"], orient="row")


@pytest.fixture
def by_rows(embedded, tmp_path):
    """Counts, and tallies at thresholds, of the rows of all pairs."""

    def counted(norm_options, tally_thresholds, across=False, **counting):
        out = tmp_path / "rows.parquet"
        pv.score(listed(IDS, across), embeddings=embedded, out=out, overwrite=True, **norm_options)
        pl.read_parquet(out).drop("status", "stage").write_parquet(out)
        counts = pv.count(out, speakers=PEOPLE, withhold=0, **counting)
        people = read_speakers(PEOPLE)
        read = read_trials(str(out), system="", list_="", speakers=people)
        groupings = make_groupings(people, counting["by"], sets=[read])
        return counts, count_by_speaker(read, tally_thresholds, groupings)

    return counted


def rows(pair_counts):
    return [(name, column.tolist()) for name, column in sorted(pair_counts.columns.items())]


@pytest.mark.slow
@pytest.mark.parametrize("attributes", [["gender", "region"], ["gender+region"]])
@pytest.mark.parametrize("across", [False, True])
@pytest.mark.parametrize(
    "counting",
    [
        {"step": "0.01"},
        {"step": "0.05", "thresholds": [0.333, 0.35]},
        {"thresholds": [0.2]},
        {"thresholds": [-0.1, 0.2, 0.4]},
    ],
)
def test_counts_and_tally_are_those_of_the_rows(embedded, by_rows, attributes, across, counting):
    pair_counts = pv.score_all_pairs(
        embedded, speakers=PEOPLE, by=attributes, across_recordings=across, **counting
    )
    counts, speaker_counts = by_rows(
        {}, pair_counts.speaker_counts.thresholds, across, by=attributes, **counting
    )
    assert str(dict(rows(pair_counts.counts))) == str(dict(rows(counts)))
    assert pair_counts.counts.seen[0].speakers == counts.seen[0].speakers
    assert rows(pair_counts.speaker_counts) == rows(speaker_counts)
    assert pair_counts.speaker_counts.sources == pair_counts.counts.sources


@pytest.mark.slow
@pytest.mark.parametrize("norm", ["as_norm", "s_norm"])
def test_normalised_scores_are_counted_as_their_rows(embedded, by_rows, tmp_path, norm):
    draw = np.random.default_rng(2)
    cohort = tmp_path / "cohort.npz"
    np.savez(cohort, ids=[f"c/{i}" for i in range(50)], vectors=draw.normal(size=(50, SIZE)))
    norm_options = {norm: str(cohort)} | ({"top": 20} if norm == "as_norm" else {})
    pair_counts = pv.score_all_pairs(
        embedded, speakers=PEOPLE, by="gender", step="0.1", **norm_options
    )
    counts, speaker_counts = by_rows(
        norm_options, pair_counts.speaker_counts.thresholds, by=["gender"], step="0.1"
    )
    assert str(dict(rows(pair_counts.counts))) == str(dict(rows(counts)))
    assert rows(pair_counts.speaker_counts) == rows(speaker_counts)
    assert "norm" in pair_counts.how


@pytest.mark.slow
def test_a_cohort_among_the_recordings_is_in_no_pair(embedded, tmp_path):
    (tmp_path / "cohort.txt").write_text("\n".join(IDS[-4 * RECORDINGS_EACH :]))
    options = {"speakers": PEOPLE, "by": "gender", "step": "0.5"}
    pair_counts = pv.score_all_pairs(embedded, as_norm=tmp_path / "cohort.txt", top=5, **options)
    n = len(IDS) - 4 * RECORDINGS_EACH
    assert pair_counts.counts.n_trials == pair_counts.speaker_counts.n_trials == n * (n - 1) // 2
    assert pair_counts.notes == (Fact("cohort_in_no_pair", {"recordings": 24}),)


@pytest.mark.slow
def test_attributes_of_recordings_part_a_speakers_recordings(embedded, tmp_path):
    """A table of them; trials whose sides have other values are of no group."""
    table = {"utterance": IDS, "device": [("phone", "web", "web")[i % 3] for i in range(len(IDS))]}
    options = {"speakers": PEOPLE, "utterances": table, "by": ["device", "same:device"]}
    pair_counts = pv.score_all_pairs(embedded, thresholds=[0.3], **options)
    out = tmp_path / "rows.parquet"
    pv.score(listed(IDS), embeddings=embedded, out=out)
    counts = pv.count(out, withhold=0, thresholds=[0.3], **options)
    assert str(dict(rows(pair_counts.counts))) == str(dict(rows(counts)))


@pytest.mark.slow
def test_an_audit_of_both_files_is_that_of_the_rows(embedded, tmp_path):
    pair_counts = pv.score_all_pairs(embedded, speakers=PEOPLE, by="gender", thresholds=[0.3, 0.5])
    files = pair_counts.save(tmp_path / "all.counts")
    assert sorted(tmp_path.iterdir()) == sorted(files)
    mine = pv.audit([str(path) for path in files])
    out = tmp_path / "all.parquet"
    pv.score(listed(IDS), embeddings=embedded, out=out)
    points = ["threshold=0.3", "threshold=0.5"]
    rows_of = pv.audit(out, speakers=PEOPLE, by="gender", operating_points=points)

    def rate_rows(audit, table, *columns):
        table_rows = [
            row for row in getattr(audit, table).rows() if row["metric"] in {"fnr", "fpr"}
        ]
        keys = ("group", "metric", "operating_point", *columns)
        return sorted(tuple(row[key] for key in keys) for row in table_rows)

    rates = ("value", "errors", "trials", "speakers", "low", "high")
    assert rate_rows(mine, "groups", *rates) == rate_rows(rows_of, "groups", *rates)
    assert rate_rows(mine, "verdicts", "verdict") == rate_rows(rows_of, "verdicts", "verdict")


def test_recordings_that_failed_are_in_no_pair(embedded, tmp_path):
    status = ["ok"] * len(IDS)
    status[3] = status[50] = "no_speech"
    positions = [i for i, recording_status in enumerate(status) if recording_status == "ok"]
    vectors = vectors_of(embedded.values[positions, 0], status=status)
    options = {"speakers": PEOPLE, "by": "gender", "thresholds": [0.3]}
    pair_counts = pv.score_all_pairs(vectors, **options)
    without = vectors_of(embedded.values[positions, 0], [IDS[i] for i in positions])
    assert rows(pair_counts.speaker_counts) == rows(
        pv.score_all_pairs(without, **options).speaker_counts
    )
    assert pair_counts.notes == (Fact("failed_recordings_in_no_pair", {"recordings": 2}),)


@pytest.mark.parametrize("bins", [Bins("1"), Bins("", (-30.0, 0.0, 7.0)), Bins("2", (7.0,))])
def test_scores_at_an_edge_are_told_from_their_pairs(bins, monkeypatch):
    """A tile that is off by less than it may be counts as the pairs do."""
    draw = np.random.default_rng(3)
    vectors = draw.integers(-4, 5, (60, 8)).astype(np.float32)  # whole scores, many on edges
    scorer = Scorer(vectors, COMPARISONS["dot"])
    edges = Edges(bins, scorer.limits)
    recordings = Recordings(np.arange(60), np.zeros(60, dtype=np.int64))
    right = np.dot

    def off(enrol_vectors, test_vectors, out):
        right(enrol_vectors, test_vectors, out=out)
        out += draw.choice([-1e-9, 1e-9], out.shape)

    monkeypatch.setattr(np, "dot", off)
    sums = ByCell(recordings, edges)
    assert [*add_all_pairs(scorer, recordings, edges, [sums])][-1] == 60 * 59 // 2
    i, j = np.triu_indices(60, 1)
    bin_index = bins.binned(np.rint((vectors @ vectors.T)[i, j]).astype(np.float64))
    count_by_edge = {
        edges.values[edge]: n for edge, n in enumerate(sums.counts.sum((0, 1, 2))) if n
    }
    assert count_by_edge == {
        value: (bin_index == value).sum() for value in np.unique(bin_index).tolist()
    }


def test_either_of_two_speakers_enrols_in_about_half_of_the_pairs():
    first_speaker, second_speaker = np.arange(101)[:, None], np.arange(101)
    turned = is_turned(first_speaker, second_speaker)
    apart = first_speaker != second_speaker
    assert (turned == ~turned.T)[apart].all()
    enrols = (~turned & apart).sum(1)
    assert enrols.min() == enrols.max() == 50


def test_many_units_are_tallied_apart(embedded, monkeypatch):
    options = {"speakers": PEOPLE, "by": "gender", "thresholds": [0.1, 0.3]}
    dense = pv.score_all_pairs(embedded, **options)
    monkeypatch.setattr(tiles, "MAX_DENSE_COUNTS", 100)
    monkeypatch.setattr(tiles, "_SPARSE_CODES_PER_PAIR", 0)
    assert rows(pv.score_all_pairs(embedded, **options).speaker_counts) == rows(
        dense.speaker_counts
    )
    monkeypatch.setattr(tiles, "MAX_SPARSE_PAIRS", 100)
    with pytest.raises(pv.ConfigError, match="30 speakers with 2 thresholds are too many"):
        pv.score_all_pairs(embedded, **options)


@pytest.mark.slow
def test_a_tally_too_long_for_memory_is_a_sentence(embedded, monkeypatch):
    monkeypatch.setattr(auditing, "MAX_SPEAKER_COUNT_ROWS", 100)
    with pytest.raises(pv.ConfigError, match="a few thresholds instead of step"):
        pv.score_all_pairs(embedded, speakers=PEOPLE, by="gender", step="0.01")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "for example step=0.001, or thresholds"),
        ({"step": "1e-9"}, "makes 2,000,000,[0-9]+ bins, because"),
        ({"step": "0.1", "scoring": "euclidean"}, "counted only with inner products"),
        (
            {"thresholds": [0.1], "operating_points": ["eer"]},
            "counts at thresholds, which have no curve",
        ),
        ({"thresholds": [0.1], "top": 3}, "top applies only to as_norm"),
        ({"step": "0.1", "by": ["nosuch"]}, "unknown attribute 'nosuch'"),
    ],
)
def test_what_cannot_be_counted_is_a_sentence(embedded, options, words):
    with pytest.raises(pv.ConfigError, match=words):
        pv.score_all_pairs(embedded, speakers=PEOPLE, **{"by": "gender", **options})


def test_one_recording_makes_no_pair(embedded):
    vectors = vectors_of(embedded.values[:1, 0], IDS[:1])
    with pytest.raises(pv.DataError, match="contains 1 usable recordings"):
        pv.score_all_pairs(vectors, speakers=PEOPLE, by="gender", thresholds=[0.1])


def test_files_are_there_both_or_not_at_all(embedded, tmp_path, monkeypatch):
    pair_counts = pv.score_all_pairs(embedded, speakers=PEOPLE, by="gender", thresholds=[0.3])
    out = tmp_path / "all.counts"

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(SpeakerCounts, "save", full)
        with pytest.raises(pv.ConfigError, match="cannot be written"):
            pair_counts.save(out)
    assert [path for path in tmp_path.iterdir() if not path.name.startswith(HIDDEN_PREFIX)] == []
    pair_counts.save(out)
    with pytest.raises(
        pv.ConfigError, match="already exists; replace the file with overwrite=True"
    ):
        pair_counts.save(out)
    pair_counts.save(out, overwrite=True)
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(pv.ConfigError, match="was not written by Parivox"):
        pair_counts.save(tmp_path / "thesis.tex", overwrite=True)
    assert (tmp_path / "thesis.tex").read_text() == "mine"


@pytest.mark.slow
def test_memory_does_not_grow_with_pairs(monkeypatch):
    """Eight million scores would take 64 MB."""
    monkeypatch.undo()
    draw = np.random.default_rng(4)
    n = 4_000
    vectors = draw.normal(size=(n, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    scorer = Scorer(vectors, COMPARISONS["cosine"])
    edges = Edges(Bins("0.01"), scorer.limits)
    tracemalloc.start()
    try:
        sums = ByCell(Recordings(np.arange(n) // 20, np.arange(n) % 3), edges)
        done = [*add_all_pairs(scorer, Recordings(sums.speaker, sums.cell), edges, [sums])]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert done[-1] == sums.counts.sum() == n * (n - 1) // 2
    assert peak < 24e6
