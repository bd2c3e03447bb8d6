"""Values and files that look right and are not: refused in a sentence, nothing replaced."""

import numpy as np
import pytest

import parivox as pv
from parivox.options.limits import most_of

NUMBERS = ["[5%]", "{}", "1e308x", "1_0x", "0.0_5", "0x1p-4", "٥%", "nan", "-5%", "1e9999", "true"]


@pytest.mark.parametrize("text", [*NUMBERS, "", " ", "%", "x", "infx", "0.5x", "100%", "0"])
def test_what_is_no_limit_is_none(text):
    assert most_of(text) is None


@pytest.mark.parametrize("text", ["5%", "5.%", ".05", "5e-2", " 0.05 ", "1.5x", "1e3x"])
def test_limits_may_be_written_in_several_ways(text):
    assert most_of(text) is not None


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    rng, n = np.random.default_rng(1), 20
    own = np.repeat(np.arange(n), 8)
    enrol, test = np.append(own, own), np.append(own, (own + 1 + own % (n - 1)) % n)
    scores = {
        "enrol": [f"s{i}/a{k}" for k, i in enumerate(enrol)],
        "test": [f"s{i}/b{k}" for k, i in enumerate(test)],
        "score": rng.normal(3.0 * (enrol == test)),
        "label": (enrol == test).astype(int),
    }
    people = {"speaker": [f"s{i}" for i in range(n)], "half": ["f", "m"] * (n // 2)}
    pv.audit(scores, speakers=people, by="half", operating_points="fpr=0.1").write(folder / "a")
    return folder / "a"


@pytest.mark.parametrize("number", NUMBERS)
def test_a_policy_with_an_odd_number_is_refused_with_its_line(saved, tmp_path, number):
    policy = tmp_path / "policy.yaml"
    lines = ["parivox-policy: 1", "conditions:", "- name: a", "  rate: fnr", f"  at-most: {number}"]
    policy.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(pv.ConfigError, match=r"line 5: .*; give 5% or 0.05, or 1.5x") as caught:
        pv.gate(saved, policy)
    assert "Node(" not in str(caught.value)


@pytest.mark.parametrize("ending", ["svg", "png", "pdf", "html", "json"])
def test_no_chart_takes_the_place_of_another_file(tmp_path, ending, optional):
    from parivox.errors import ConfigError
    from parivox.report.charts.variation import check_chart, save

    alt = optional("altair")
    optional("vl_convert")
    file = tmp_path / f"figure.{ending}"
    file.write_bytes(b"my notes")
    with pytest.raises(ConfigError, match="already exists and is no chart; name another file"):
        check_chart("--figure", str(file))
    assert file.read_bytes() == b"my notes"
    file.write_bytes(b"")
    check_chart("--figure", str(file))
    chart = alt.Chart(alt.Data(values=[{"a": 1}])).mark_bar().encode(x="a:Q")
    save(chart, "--figure", str(file))
    check_chart("--figure", str(file))  # once more over its own
