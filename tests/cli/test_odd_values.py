"""Values and files that look right and are not: refused in a sentence, nothing replaced."""

import pytest

import parivox as pv
from parivox.decide.calibrator_file import read_calibrator
from parivox.options.limits import parse_maximum
from parivox.share.shard_plan import read_json

NUMBERS = ["[5%]", "{}", "1e308x", "1_0x", "0.0_5", "0x1p-4", "٥%", "nan", "-5%", "1e9999", "true"]


@pytest.mark.parametrize(
    "text", [*NUMBERS, "", " ", "%", "x", "infx", "0.5x", "100%", "0", "5 % %", "5 0%"]
)
def test_what_is_no_limit_is_none(text):
    assert parse_maximum(text) is None


@pytest.mark.parametrize("text", ["5%", "5.%", "5 %", ".05", "5e-2", " 0.05 ", "1.5x", "1e3x"])
def test_limits_may_be_written_in_several_ways(text):
    assert parse_maximum(text) is not None


@pytest.fixture(scope="module")
def saved(tmp_path_factory, audit_of_halves):
    folder = tmp_path_factory.mktemp("saved") / "a"
    audit_of_halves().save(folder)
    return folder


@pytest.mark.parametrize("number", NUMBERS)
def test_a_policy_with_an_odd_number_is_refused_with_its_line(saved, tmp_path, number):
    policy = tmp_path / "policy.yaml"
    lines = ["parivox-policy: 1", "conditions:", "- name: a", "  rate: fnr", f"  at-most: {number}"]
    policy.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(pv.ConfigError, match=r"line 5: .*; give 5% or 0.05, or 1.5x") as caught:
        pv.gate(saved, policy)
    assert "Node(" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["svg", "png", "pdf", "html", "json"])
def test_no_chart_takes_the_place_of_another_file(tmp_path, ending, optional):
    from parivox.errors import ConfigError
    from parivox.report.charts.variation import check_chart, save

    alt = optional("altair")
    optional("vl_convert")
    file = tmp_path / f"figure.{ending}"
    file.write_bytes(b"my notes")
    with pytest.raises(ConfigError, match="already exists and is not a chart; name another file"):
        check_chart("--figure", str(file))
    assert file.read_bytes() == b"my notes"
    file.write_bytes(b"")
    check_chart("--figure", str(file))
    chart = alt.Chart(alt.Data(values=[{"a": 1}])).mark_bar().encode(x="a:Q")
    save(chart, "--figure", str(file))
    check_chart("--figure", str(file))  # once more over its own


DEEP = "[" * 50_000
CALIBRATOR = {
    "parivox-calibrator": 1,
    "method": "logistic",
    "by": "half",
    "side": "enrol",
    "common": {"slope": 2.0, "offset": -1.0},
}


@pytest.mark.parametrize(
    "line",
    [
        {"slope": "2.0", "offset": 0},
        {"slope": True, "offset": 0},
        {"slope": 1e308, "offset": 0},
        {"slope": float("inf"), "offset": 0},
        {"slope": float("nan"), "offset": 0},
        {"slope": [1, 2], "offset": [0, 1]},
        {"slope": None, "offset": 0},
        {"slope": 2},
        [],
        "line",
    ],
)
def test_a_calibrator_with_odd_numbers_is_refused(line):
    with pytest.raises(pv.ConfigError, match="calibrator common is not slope and offset"):
        read_calibrator({**CALIBRATOR, "common": line})


def test_numbers_of_a_calibrator_may_be_whole():
    calibrator = read_calibrator({**CALIBRATOR, "common": {"slope": 2, "offset": -1}})
    assert calibrator.common.slope == 2.0


def test_deeply_nested_files_are_refused_in_a_sentence(tmp_path):
    (tmp_path / "calibrator.json").write_text(DEEP)
    with pytest.raises(pv.ConfigError, match="is not JSON"):
        read_calibrator(tmp_path / "calibrator.json")
    (tmp_path / "scores.jsonl").write_text(f'{{"enrol": "a", "test": {DEEP}\n')
    with pytest.raises(pv.ParivoxError, match=r"scores\.jsonl"):
        pv.audit(tmp_path / "scores.jsonl", speakers={"speaker": ["a"], "half": ["f"]}, by="half")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "plan.json").write_text(DEEP)
    with pytest.raises(pv.DataError, match="is damaged"):
        read_json(tmp_path / "run" / "plan.json")
