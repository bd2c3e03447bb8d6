"""What a person is told of files of counts before an audit of them."""

import shlex

import polars as pl
import pytest

import parivox as pv
from parivox.data.counts_file import KEY
from parivox.report.inspection import labelled_lines


@pytest.fixture
def counted(tmp_path):
    """Count trials of 12 speakers, two of them of a small country, as one file."""

    def write_counts(name, test_offset=0, *, by=("gender", "country"), **options):
        ids = [f"s{i:02}" for i in range(12)]
        pairs = [(a, b) for a in ids for b in ids]
        trials = {
            "enrol": [f"{a}/1" for a, _ in pairs],
            "test": [f"{b}/{test_offset + 2}" for _, b in pairs],
            "score": [float(a == b) + 0.01 * (i % 7) for i, (a, b) in enumerate(pairs)],
            "channel": ["xy"[i % 2] for i in range(len(pairs))],
        }
        people = {
            "id": ids,
            "gender": [*"fm" * 6],
            "country": ["A"] * 5 + ["B"] * 5 + ["C"] * 2,
        }
        path = tmp_path / name
        pv.count({"sys": trials}, speakers=people, by=list(by), **options).save(path)
        return path

    return write_counts


def printed_lines(*paths):
    return "\n".join(f"{label}: {words}" for label, words in labelled_lines(pv.inspect(*paths)))


def test_counts_are_told_in_five_lines_below_their_name(counted):
    path = counted("day1.counts", within="channel", step=1.0)
    inspection = pv.inspect(path)
    (counts_file,) = inspection.files
    assert (counts_file.kind, counts_file.labels.target, counts_file.labels.nontarget) == (
        "counts",
        12,
        132,
    )
    assert counts_file.counted.groupings == {"gender": ("f", "m"), "country": ("A", "B", "C")}
    assert counts_file.counted.within == {"channel": ("x", "y")}
    assert "C (country)" in counts_file.counted.withheld
    assert "other_groups" in counts_file.counted.missing_results
    assert shlex.split(inspection.next) == ["parivox", "audit", str(path)]
    shown = [label for label, _ in labelled_lines(inspection)]
    assert shown == ["", "next", "", "trials", "scores", "grouped by", "suppressed", "not in it"]
    words = printed_lines(path)
    assert "of sys;" in words
    assert "trials: target 12, nontarget 132\n" in words
    assert "scores: counted at bins of 1\n" in words
    assert "gender (2 groups: f, m); country (3 groups: A, B, C)" in words
    assert "within channel (2 levels: x, y)" in words
    assert "C (country)" in words
    assert "fewer than 5 speakers" in words


@pytest.mark.parametrize(
    ("options", "scores", "lacks"),
    [
        (
            {"step": 0.1},
            "counted at bins of 0.1",
            "differences between scores in the same bin (width 0.1)",
        ),
        ({"thresholds": [0.5]}, "counted at thresholds 0.5", "EER, minimum costs"),
    ],
)
def test_what_bins_and_thresholds_take_away_is_told(counted, options, scores, lacks):
    words = printed_lines(counted("a.counts", withhold=0, **options))
    assert scores in words
    assert lacks in words
    assert "suppressed: nothing, whatever the number of speakers of a group" in words


@pytest.mark.slow
def test_counts_that_fit_each_other_are_told_so(counted):
    paths = [counted("a.counts", by=["country"]), counted("b.counts", 1, by=["country"])]
    inspection = pv.inspect(*paths)
    assert inspection.problems == ()
    assert "the 2 files of score counts can be combined" in printed_lines(*paths)
    assert shlex.split(inspection.next)[2:] == [str(path) for path in paths]


@pytest.mark.slow
def test_counts_that_do_not_fit_are_a_problem_in_the_words_of_the_audit(counted):
    paths = [counted("a.counts", by=["country"]), counted("b.counts", 1, by=["gender"])]
    with pytest.raises(pv.DataError) as refused:
        pv.audit(paths)
    assert pv.inspect(*paths).problems == (str(refused.value),)
    twice = [counted("a.counts", by=["country"]), counted("c.counts", by=["country"])]
    with pytest.raises(pv.DataError, match="twice") as refused:
        pv.audit(twice)
    assert pv.inspect(*twice).problems == (str(refused.value),)


def test_damaged_counts_are_a_problem_in_the_words_of_the_audit(tmp_path):
    path = tmp_path / "a.counts"
    pl.DataFrame({"a": [1]}).write_parquet(path, metadata={KEY: "1"})
    (counts_file,) = pv.inspect(path).files
    with pytest.raises(pv.DataError) as refused:
        pv.audit(path)
    assert (counts_file.kind, counts_file.problems) == ("counts", (str(refused.value),))
