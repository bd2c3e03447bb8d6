"""bt4vt's rows stand beside the exact ones, and are those of `parivox.core.bt4vt`."""

from io import StringIO

import pytest
from rich.console import Console

import parivox as pv
from parivox import Counts
from parivox.core import bt4vt
from parivox.report.full_tables import every_table


@pytest.fixture(scope="module")
def counts(trials, speakers):
    gender = dict(zip(speakers["id"], speakers["gender"], strict=True))
    rows = {"all": ([], []), "f": ([], []), "m": ([], [])}
    for enrol, _, score, label in zip(*trials.values(), strict=True):
        for group in ("all", gender[enrol.split("/")[0]]):
            rows[group][0].append(score)
            rows[group][1].append(label)
    return {group: Counts.from_scores(*both) for group, both in rows.items()}


@pytest.fixture(scope="module")
def audit(trials, speakers):
    return pv.audit(
        trials,
        speakers=speakers,
        by="gender",
        operating_points=["min-cdet", "eer"],
        cost=["voxsrc", "sre08", "sre16"],
        reference=["pooled", "f"],
        compat="bt4vt",
    )


def found(audit, group, metric, definition, point):
    allocation = "" if group == "all" else "enrol"
    (row,) = audit.groups.subset(
        group=group,
        allocation=allocation,
        metric=metric,
        definition=definition,
        operating_point=point,
    )
    return row


@pytest.mark.parametrize("group", ["all", "f", "m"])
def test_eer(audit, counts, group):
    row, wanted = found(audit, group, "eer", "bt4vt", ""), bt4vt.bt4vt_eer(counts[group])
    assert (row["value"], row["threshold"]) == wanted


@pytest.mark.slow
@pytest.mark.parametrize("group", ["all", "f", "m"])
@pytest.mark.parametrize(("name", "point"), [("voxsrc", "min-cdet"), ("sre08", "min-cdet:sre08")])
def test_cost_and_rates_at_its_own_minimum(audit, counts, group, name, point):
    cost = pv.parse_cost(name)
    threshold = bt4vt.bt4vt_min_cdet(counts["all"], cost=cost).threshold
    expected = bt4vt.bt4vt_cdet_at(counts[group], threshold, cost=cost)
    row = found(audit, group, "cdet_raw", f"{name} bt4vt", point)
    assert (row["value"], row["threshold"]) == expected
    rates = bt4vt.bt4vt_rates_at(counts[group], threshold)
    assert found(audit, group, "fpr", f"{name} bt4vt", point)["value"] == rates.fpr
    assert found(audit, group, "fnr", f"{name} bt4vt", point)["value"] == rates.fnr


@pytest.mark.parametrize("group", ["f", "m"])
def test_ratios(audit, counts, group):
    filters = {"group": group, "measure": "ratio", "reference": "all"}
    (row,) = audit.bias.subset(**filters, metric="eer", definition="bt4vt")
    one, all_ = (bt4vt.bt4vt_eer(counts[name]).value for name in (group, "all"))
    assert row["value"] == bt4vt.bt4vt_eer_ratio(one, all_)
    cost = pv.parse_cost("voxsrc")
    threshold = bt4vt.bt4vt_min_cdet(counts["all"], cost=cost).threshold
    one, all_ = (
        bt4vt.bt4vt_cdet_at(counts[name], threshold, cost=cost).value for name in (group, "all")
    )
    (row,) = audit.bias.subset(**filters, metric="cdet_raw", definition="voxsrc bt4vt")
    assert row["value"] == one / all_


def test_own_minimum_and_a_named_reference(audit, counts):
    cost = pv.parse_cost("voxsrc")
    least = {name: bt4vt.bt4vt_min_cdet(counts[name], cost=cost) for name in ("f", "m")}
    row = found(audit, "m", "min_cdet_raw", "voxsrc bt4vt", "")
    assert (row["value"], row["threshold"]) == least["m"]
    filters = {"group": "m", "measure": "ratio", "reference": "f", "definition": "voxsrc bt4vt"}
    (row,) = audit.bias.subset(**filters, metric="min_cdet_raw")
    assert row["value"] == least["m"].value / least["f"].value
    assert {one["reference"] for one in audit.bias.subset(definition="bt4vt").rows()} == {
        "all",
        "f",
    }


def test_a_cost_that_averages_priors_has_no_such_row(audit):
    assert not len(audit.groups.subset(definition="sre16 bt4vt"))


@pytest.mark.slow
def test_exact_rows_stay_as_they_are(audit, trials, speakers):
    plain = pv.audit(
        trials,
        speakers=speakers,
        by="gender",
        allocate=["both", "enrol"],
        operating_points=["min-cdet", "eer"],
        cost=["voxsrc", "sre08", "sre16"],
        reference=["pooled", "f"],
    )
    for name in ("groups", "bias", "meta", "matrix", "operating_points", "det"):
        table = audit.tables()[name].to_polars()
        exact = table
        if name in {"groups", "bias"}:
            exact = table.filter(~table["definition"].str.ends_with("bt4vt"))
            assert exact.height < table.height
        assert exact.equals(plain.tables()[name].to_polars())


@pytest.mark.slow
def test_it_is_said_what_differs(audit, trials, speakers):
    plain = pv.audit(trials, speakers=speakers, by="gender")
    for given, option, is_said in ((audit, "bt4vt", True), (plain, None, False)):
        assert given.record["options"]["compat"] == option
        console = Console(file=StringIO(), width=200)
        console.print(every_table(given))
        assert ("nearest threshold" in console.file.getvalue()) == is_said
