"""Tables as people who use dataframes expect them, and the default question in one table."""

import sys

import pytest

import parivox as pv
from parivox.auditing.schema import TABLES

OPTIONS = {"by": ["gender", "nation"], "operating_points": ["fpr=0.05", "fnr=0.1"]}


@pytest.fixture
def audit(audited):
    return audited(**OPTIONS)


def test_rates_have_one_row_for_each_group_and_error_type_at_the_first_point(audit):
    rates = audit.rates()
    groups = {(row["grouping"], row["group"]) for row in audit.groups}
    groups = {(grouping, group) for grouping, group in groups if group not in {"all", "pooled"}}
    assert len(rates) == 2 * len(groups)
    assert {*rates["operating_point"]} == {"fpr=0.05"}
    for row in rates:
        names = ("grouping", "group", "metric", "operating_point")
        same_row = audit.groups.filter(**{name: row[name] for name in names}, definition="")
        (in_groups,) = same_row.rows()
        assert (row["rate"], row["low"], row["high"]) == (
            in_groups["value"],
            in_groups["low"],
            in_groups["high"],
        )


def test_ratios_have_the_verdict_and_its_adjusted_p(audit):
    ratios = audit.ratios()
    assert len(ratios) == len(audit.rates())
    assert {*ratios["reference"]} == {"others"}
    for row in ratios:
        names = ("grouping", "group", "metric", "operating_point")
        (verdict,) = audit.verdicts.filter(**{name: row[name] for name in names}).rows()
        assert (row["ratio"], row["verdict"], row["p_holm"]) == (
            verdict["ratio"],
            verdict["verdict"],
            verdict["p_holm"],
        )


def test_everything_else_is_asked_for_by_argument(audit):
    pooled = audit.ratios("fnr", reference="pooled", grouping="gender", operating_point="fnr=0.1")
    assert [(row["group"], row["metric"], row["verdict"]) for row in pooled] == [
        ("f", "fnr", ""),
        ("m", "fnr", ""),
    ]
    assert pooled["p_holm"].null_count() == 0
    assert audit.rates(grouping="all")["group"].to_list() == ["all", "all"]
    assert audit.rates(group=["m", "f"])["metric"].to_list() == ["fnr", "fpr", "fnr", "fpr"]


def test_ratios_without_intervals_are_to_the_first_reference(audited):
    ratios = audited(**OPTIONS, intervals=False).ratios()
    assert {*ratios["reference"]} == {"pooled"}
    assert {*ratios["verdict"]} == {""}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"group": "w"}, r"group='w': no row has this value; available: .*f, m"),
        ({"metric": "frr"}, r"metric='frr': no row has this value; did you mean 'fpr' or 'fnr'\?"),
        ({"operating_point": "fpr=0.5"}, r"did you mean 'fpr=0\.05'\?"),
        ({"reference": "m"}, r"reference='m': no row has this value; available: others, pooled"),
    ],
)
def test_names_that_an_audit_lacks_are_refused_with_the_nearest(arguments, message, audit):
    with pytest.raises(pv.ConfigError, match=message):
        audit.ratios(**arguments)


def test_a_metric_taken_for_a_column_is_answered_with_the_filter(audit):
    with pytest.raises(pv.ConfigError, match=r"it is a metric: write \.filter\(metric='fnr'\)"):
        audit.groups["fnr"]
    with pytest.raises(pv.ConfigError, match=r"no column 'metrics'; did you mean 'metric'"):
        audit.groups.filter(metrics="fnr")


def test_a_verdict_that_no_group_has_gives_no_row_and_one_that_is_none_is_refused(audit):
    assert len(audit.verdicts.filter(verdict="met")) == 0  # a verdict of limits
    with pytest.raises(pv.ConfigError, match="did you mean 'worse'"):
        audit.verdicts.filter(verdict="wors")


@pytest.mark.parametrize("name", TABLES)
def test_every_column_is_described(name, audit):
    description = getattr(audit, name).describe()
    assert description["column"].to_list() == [*TABLES[name]]
    assert all(description["description"].str.len_chars() > 5)


def test_answers_are_described_and_go_into_dataframes(audit, optional):
    optional("pandas")
    ratios = audit.ratios()
    assert all(ratios.describe()["description"].str.len_chars() > 5)
    assert [*ratios.to_pandas().columns] == [*ratios.columns] == ratios.to_polars().columns
    assert ratios[["group", "ratio"]].columns == ("group", "ratio")


NEED_A_PACKAGE = {
    "to_pandas": ("pandas", lambda audit, _: audit.ratios().to_pandas()),
    "to_mlflow": ("mlflow", lambda audit, _: audit.to_mlflow()),
    "charts": ("altair", lambda audit, _: audit.charts.forest()),
    "report": ("jinja2", lambda audit, folder: audit.report(folder / "report.html")),
    "write_figures": ("vl_convert", lambda audit, folder: pv.write_figures(audit, folder / "f")),
    "write_tables": ("openpyxl", lambda audit, folder: pv.write_tables(audit, folder / "t.xlsx")),
}


@pytest.mark.parametrize("name", NEED_A_PACKAGE)
def test_what_needs_a_package_that_is_missing_says_how_to_install_it(
    name, audit, monkeypatch, tmp_path
):
    package, call = NEED_A_PACKAGE[name]
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(pv.ConfigError, match=rf"need .*{package}.*: pip install ") as caught:
        call(audit, tmp_path)
    assert "\n" not in str(caught.value)
    assert not [*tmp_path.iterdir()]


def test_every_table_of_an_audit_that_goes_elsewhere_is_covered(audit):
    names = {name for name in (*dir(audit), *dir(audit.groups)) if name.startswith("to_")}
    without_package = {"to_dict", "to_json", "to_polars"}
    assert names - without_package <= NEED_A_PACKAGE.keys()
