"""Which system and list a source stands for."""

from pathlib import Path

import pytest

import parivox as pv
from parivox.auditing.inputs import development_sources, named_counts_files, sources_by_name
from parivox.data.source_bytes import file_stem
from parivox.errors import ConfigError

ROWS = {"enrol": ["a/1"], "test": ["a/2"], "score": [1.0]}


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("scores.csv", "scores"),
        ("/some/where/v2.csv.gz", "v2"),
        ("x.tar.zst", "x.tar"),
        ("model.v2.parquet", "model.v2"),
        (Path("a") / "b.TXT", "b"),
        (".csv", ".csv"),
        ("noending", "noending"),
        ("-", "stdin"),
        ("csv", "csv"),
    ],
)
def test_a_system_is_named_after_its_file(path, name):
    assert file_stem(path) == name


@pytest.mark.parametrize(
    ("paths", "name"),
    [(["x/day-1.csv", "x/day-2.csv"], "day"), (["a.csv"], "a"), (["a.csv", "b.csv"], "scores")],
)
def test_a_list_in_several_files_is_named_after_what_their_names_share(paths, name):
    assert sources_by_name(paths) == {(name, ""): paths}
    assert sources_by_name({("V2", "H"): paths}) == {("V2", "H"): paths}
    assert sources_by_name({"V2@H": paths, "L": "l.csv"}) == {
        ("V2", "H"): paths,
        ("L", ""): "l.csv",
    }


def test_columns_of_texts_are_no_files():
    table = {"enrol": ["a/1", "a/1"], "test": ["a/2", "b/1"], "decision": ["accept", "reject"]}
    assert sources_by_name(table) == {("scores", ""): table}


def test_names_that_are_none_are_refused():
    with pytest.raises(
        ConfigError, match=r"scores: \('V', 'H', 'x'\) is not a name; name scores by"
    ):
        sources_by_name({("V", "H", "x"): ["a.csv"]})
    with pytest.raises(ConfigError, match="scores: the list is empty; name at least one file"):
        sources_by_name([])


def test_a_table_has_no_name():
    assert sources_by_name(ROWS) == {("scores", ""): ROWS}


def test_cells_of_a_table_are_no_names_of_files(monkeypatch):
    paths = []
    monkeypatch.setattr("os.path.isfile", lambda path: bool(paths.append(path)))
    assert named_counts_files(ROWS) is None
    assert paths == []


def test_names_before_files():
    sources = sources_by_name({"V2@H": "h.csv", "V2@E": "e.csv", "L": "l.csv"})
    assert sources == {("V2", "H"): "h.csv", ("V2", "E"): "e.csv", ("L", ""): "l.csv"}


def test_dataframes_and_mappings_are_told_apart(optional):
    pl, pd, pa = optional("polars"), optional("pandas"), optional("pyarrow")
    for table in (ROWS, pl.DataFrame(ROWS), pd.DataFrame(ROWS), pa.table(ROWS)):
        assert list(sources_by_name(table)) == [("scores", "")]
        assert list(sources_by_name({"A": table, "B@x": table})) == [("A", ""), ("B", "x")]
    series = {name: pl.Series(cells) for name, cells in ROWS.items()}
    assert list(sources_by_name(series)) == [("scores", "")]
    columns = {name: pd.Series(cells) for name, cells in ROWS.items()}
    assert list(sources_by_name(columns)) == [("scores", "")]


def test_the_same_name_twice_is_refused():
    with pytest.raises(ConfigError, match="twice"):
        sources_by_name({"A": "a.csv", "A@": "b.csv"})


def test_development_scores_of_one_system_serve_all_of_its_lists():
    sources = sources_by_name({"A@x": "1.csv", "A@y": "2.csv"})
    assert development_sources("dev.csv", sources) == {("A", "x"): "dev.csv", ("A", "y"): "dev.csv"}
    assert development_sources({"A": "dev.csv"}, sources) == development_sources("dev.csv", sources)
    assert development_sources(None, sources) == {}


def test_of_several_systems_each_needs_its_own():
    sources = sources_by_name({"A": "1.csv", "B": "2.csv"})
    development = development_sources({"B": "b.csv", "A": "a.csv"}, sources)
    assert development == {("A", ""): "a.csv", ("B", ""): "b.csv"}
    with pytest.raises(ConfigError, match="several systems"):
        development_sources("dev.csv", sources)
    with pytest.raises(ConfigError, match="A"):
        development_sources({"A": "a.csv"}, sources)


@pytest.fixture(scope="module")
def twins(trials, speakers):
    """The same trials under two names."""
    return pv.audit(
        {"S@dev": trials, "T": trials},
        speakers=speakers,
        by=["gender", "nation"],
        allocate=["both", "either"],
        operating_points=["eer", "fpr=0.1"],
        sweep="fpr=0.01:0.1:log5",
    )


@pytest.mark.slow
def test_several_systems_and_lists_in_one_audit(twins):
    names = [(row["system"], row["list"]) for row in twins.record["inputs"]]
    assert names == [("S", "dev"), ("T", "")]
    for name in ("groups", "bias", "meta", "matrix", "operating_points", "det", "data", "sweep"):
        table = twins.tables()[name].to_polars()
        assert set(table.select("system", "list").unique().rows()) == set(names), name


@pytest.mark.slow
def test_the_same_trials_under_two_names_give_the_same_numbers(twins):
    for name in ("groups", "bias", "meta", "matrix", "det", "sweep"):
        listed, unlisted = (
            twins.tables()[name].subset(system=s, list=x).to_polars().drop("system", "list")
            for s, x in (("S", "dev"), ("T", ""))
        )
        assert listed.equals(unlisted), name


@pytest.mark.slow
def test_lists_of_one_system_have_operating_points_of_their_own(simulate):
    first_trials, people = simulate(seed=1)
    second_trials, _ = simulate(seed=2)
    joint = pv.audit(
        {"S@one": first_trials, "S@two": second_trials},
        speakers=people,
        by="gender",
        operating_points="fpr=0.1",
        intervals=False,
    )
    for name, source in (("one", first_trials), ("two", second_trials)):
        alone = pv.audit(source, speakers=people, by="gender", operating_points="fpr=0.1")
        (joint_point,) = joint.operating_points.subset(list=name)
        (lone_point,) = alone.operating_points
        assert joint_point["threshold"] == lone_point["threshold"]
