"""How sure the numbers are is told in words, with the values in force."""

import pytest

import parivox as pv
from parivox.auditing.options import INTERVAL_METHODS, Options
from parivox.report.definitions import all_definitions, definitions, uncertainty_definitions


def test_without_intervals_there_is_nothing_to_tell():
    assert uncertainty_definitions(Options(intervals=False)) == {}


def test_the_values_in_force_are_told():
    reported = uncertainty_definitions(
        Options(
            confidence=0.9,
            replicates=123,
            seed=7,
            margin=1.5,
            gate=("speakers=17", "errors=19"),
            reference=("best",),
        )
    )
    assert reported["confidence"] == 0.9
    assert (reported["bootstrap"]["replicates"], reported["bootstrap"]["seed"]) == (123, 7)
    assert reported["noise_floors"]["draws"] == 123
    assert (reported["verdicts"]["margin"], reported["verdicts"]["reference"]) == (1.5, "best")
    assert "below 0.1;" in reported["verdicts"]["worse, better"]
    assert "17 speakers" in reported["gates"]["speakers"]
    assert "19 effective errors" in reported["gates"]["errors"]


@pytest.mark.parametrize("interval", INTERVAL_METHODS)
def test_every_way_of_making_intervals_is_told(interval):
    told = [uncertainty_definitions(Options(interval=other))["rates"] for other in INTERVAL_METHODS]
    own = uncertainty_definitions(Options(interval=interval))
    assert told.count(own["rates"]) == 1
    assert ("independent" in own["rates"]) == (interval != "bootstrap")


def test_what_was_not_asked_for_is_not_told():
    asked = Options(standardise=("same:gender",), compare=True, pooled_floor=True)
    more = set(uncertainty_definitions(asked)) - set(uncertainty_definitions(Options()))
    assert more == {"standardised", "comparison", "pooled_floor"}


def test_what_is_asked_of_blocks_is_told_of_them_alone():
    of_blocks = uncertainty_definitions(Options(), in_blocks=True)
    assert set(of_blocks) - set(uncertainty_definitions(Options())) == {"rates_of_blocks"}
    by_replicates = Options(interval="bootstrap")
    assert uncertainty_definitions(by_replicates, in_blocks=True) == uncertainty_definitions(
        by_replicates
    )


def test_thresholds_and_bins_are_told():
    fixed, found = (
        uncertainty_definitions(Options(fixed_threshold=way, bins=bins))["bootstrap"]
        for way, bins in ((True, 0), (False, 512))
    )
    assert fixed["thresholds"] != found["thresholds"]
    assert fixed["scores"] == "exact"
    assert "512" in found["scores"]


def test_audit_json_has_none_of_these_sentences_and_the_report_all(small):
    assert "definitions" not in small.record
    cost_models = small.record["cost_models"]
    assert set(cost_models) == {"voxsrc"}
    assert definitions(small) == all_definitions(Options(), cost_models) | {
        "uncertainty": definitions(small)["uncertainty"]
    }
    texts = [*_texts(small.record)]
    assert not [text for text in texts if len(text.split()) > 5]


def _texts(value):
    """Every text in a record."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _texts(inner)
    elif isinstance(value, str):
        yield value


@pytest.mark.slow
def test_every_id_in_the_tables_is_told(trials, speakers):
    audit = pv.audit(
        {"S": trials, "T": trials},
        speakers=speakers | {"age": [str(20 + i) for i in range(24)]},
        by=["gender+nation", "age:30,40"],
        operating_points="fpr=0.05",
        limits=["fnr=0.2", "fnr=2x"],
        attempts=3,
        compare=True,
        gates=["inference=3", "speakers=3", "errors=0", "pairs=1"],
        replicates=50,
    )
    told = definitions(audit)
    sure = told["uncertainty"]
    both = set(told["bias_measures"]) | set(told["meta_measures"])
    assert {row["metric"] for row in audit.groups.rows()} <= set(told["base_metrics"])
    assert {row["measure"] for row in audit.bias.rows()} <= set(told["bias_measures"])
    assert {row["measure"] for row in audit.meta.rows()} <= set(told["meta_measures"])
    assert {row["reference"] for row in audit.bias.rows()} <= {"", *told["references"]}
    assert {row["measure"] for row in audit.limits.rows()} == set(sure["limits"])
    compared = {row["measure"] for row in audit.comparison.rows()}
    assert compared - both == set(sure["comparison"]["measures"])
    assert "trend" in {row["measure"] for row in audit.bias.rows()}
