"""One registration is enough: a measure made up here is found wherever an audit tells measures."""

import numpy as np
import pytest

import parivox as pv
from parivox.core.measures import BaseMetric, MetaMeasure, register
from parivox.core.separation import auc
from parivox.core.spread import GroupSet
from parivox.report.definitions import definitions
from parivox.report.terminal import print_summary

POINT = "fpr=0.05"


def root_range(values):
    groups = GroupSet.from_values(values)
    return groups.meta(np.sqrt(groups.range()))


def missed_twice(curve):
    return curve.fnr**2


def misranked(counts):
    return 1 - auc(counts)


META = MetaMeasure(
    id="root_range",
    label="root of the range",
    definition="square root of the largest less the smallest value",
    source="made up",
    shown="first",
    compute=root_range,
)
AT_POINTS = BaseMetric(
    id="missed_twice",
    label="missed twice",
    definition="chance of two misses in a row",
    needs="points",
    trial_class="target",
    bounds=(0.0, 1.0),
    compute=missed_twice,
)
OF_COUNTS = BaseMetric(
    id="misranked",
    label="misranked",
    definition="chance that a nontarget trial scores above a target one",
    needs="counts",
    bounds=(0.0, 1.0),
    compute=misranked,
)


@pytest.fixture(scope="module")
def registered():
    """The made-up measures, for as long as these tests take."""
    measures = (META, AT_POINTS, OF_COUNTS)
    for measure in measures:
        register(measure)
    yield
    for measure in measures:
        pv.MEASURES.pop(measure.id)


def scores(seed):
    """36 speakers of three groups; one of them is locked out more."""
    rng = np.random.default_rng(seed)
    n = 6000
    speaker, test_speaker = rng.integers(0, 36, (2, n))
    test_speaker = np.where(rng.random(n) < 0.4, speaker, speaker % 3 + 3 * (test_speaker // 3))
    target = speaker == test_speaker
    score = np.where(target, np.where(speaker % 3 == 1, 1.5, 2.2), 0) + rng.normal(size=n)
    table = {
        "enrol": [f"s{i:02d}/a/{k}" for k, i in enumerate(speaker)],
        "test": [f"s{i:02d}/b/{k}" for k, i in enumerate(test_speaker)],
        "label": target.astype(int).tolist(),
        "score": score.tolist(),
    }
    people = {"id": [f"s{i:02d}" for i in range(36)], "group": [f"g{i % 3}" for i in range(36)]}
    return table, people


@pytest.fixture(scope="module")
def audit(registered):
    (trials_a, people), (trials_b, _) = scores(1), scores(1)
    trials_b["score"] = [score + 0.1 * (k % 7) for k, score in enumerate(trials_b["score"])]
    return pv.audit(
        {"A": trials_a, "B": trials_b},
        speakers=people,
        by="group",
        operating_points=POINT,
        compare=True,
        replicates=60,
    )


def test_a_meta_measure_has_interval_floor_direction_and_definition(audit):
    rows = audit.meta.subset(measure="root_range", metric="fnr", zero="none", gated=False).rows()
    row = next(row for row in rows if row["operating_point"] == POINT and row["system"] == "A")
    rates = audit.groups.subset(system="A", metric="fnr", operating_point=POINT, grouping="group")
    by_group = {row["group"]: row["value"] for row in rates if row["group"] != "pooled"}
    expected = np.sqrt(max(by_group.values()) - min(by_group.values()))
    assert row["value"] == pytest.approx(expected)
    assert row["low"] < row["value"] < row["high"]
    assert 0 < row["floor_mean"] < row["floor_95"] < row["value"]
    assert row["p"] < 0.05
    assert row["higher_is_fairer"] is False
    assert definitions(audit)["meta_measures"]["root_range"]["says"] == META.definition


def test_a_meta_measure_is_compared(audit):
    rows = audit.comparison.subset(measure="root_range", metric="fnr", operating_point=POINT).rows()
    assert rows
    assert all(row["low"] <= row["difference"] <= row["high"] for row in rows)


@pytest.mark.parametrize("metric", ["missed_twice", "misranked"])
def test_a_base_metric_has_value_interval_bias_and_comparison(audit, metric):
    rows = audit.groups.subset(system="A", grouping="group", metric=metric).rows()
    assert {row["group"] for row in rows} == {"g0", "g1", "g2", "pooled"}
    for row in rows:
        assert row["low"] <= row["value"] <= row["high"] <= 1
        assert row["interval"] == "bootstrap"
    bias = audit.bias.subset(system="A", metric=metric, measure="ratio", reference="pooled").rows()
    assert len(bias) == 3
    assert any(row["low"] is not None for row in bias)
    ginis = audit.meta.subset(system="A", metric=metric, measure="gini").rows()
    assert ginis[0]["value"] > 0
    compared = audit.comparison.subset(metric=metric, measure="value", group="g1").rows()
    assert compared[0]["low"] <= compared[0]["difference"] <= compared[0]["high"]
    assert definitions(audit)["base_metrics"][metric]


@pytest.mark.slow
def test_its_value_is_that_of_the_function(audit):
    selection = {"system": "A", "grouping": "group", "group": "g1"}
    (fnr,) = audit.groups.subset(**selection, metric="fnr", operating_point=POINT).rows()
    (squared,) = audit.groups.subset(**selection, metric="missed_twice").rows()
    assert squared["value"] == pytest.approx(fnr["value"] ** 2)
    assert (squared["errors"], squared["trials"]) == (fnr["errors"], fnr["trials"])


@pytest.mark.slow
def test_the_summary_names_it(audit, capsys):
    print_summary(audit, details=True)
    assert "root of the range" in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
def test_the_page_names_it(audit, tmp_path, optional):
    optional("jinja2")
    audit.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "root of the range of FNR" in page


@pytest.mark.slow
@pytest.mark.parametrize("form", ["markdown", "latex"])
def test_tables_for_papers_name_it(audit, tmp_path, form):
    pv.write_tables(audit, tmp_path / "tables", format=form)
    text = (tmp_path / "tables").read_text(encoding="utf-8")
    assert "root of the range" in text


@pytest.mark.slow
def test_a_workbook_names_it(audit, tmp_path, optional):
    openpyxl = optional("openpyxl")
    pv.write_tables(audit, tmp_path / "tables.xlsx", format="xlsx")
    book = openpyxl.load_workbook(tmp_path / "tables.xlsx", read_only=True)
    rows = [row for sheet in book for row in sheet.iter_rows(values_only=True)]
    cells = {str(cell) for row in rows for cell in row}
    assert any("root of the range" in cell or cell == "root_range" for cell in cells)


def test_an_id_that_is_taken_is_refused(registered):
    with pytest.raises(pv.ConfigError, match="'gini' already exists"):
        register(MetaMeasure(id="gini", label="another", definition="another", compute=root_range))
