"""Names with characters that XML forbids: in figures, on the page, in a gate's results."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

import parivox as pv
from parivox.errors import shown
from parivox.report.gate import junit

FORBIDDEN = ["\uffff", "\ufffe", "\ufdd0", "\x01", "\U0001ffff", "a\x0bb", "\x1b[31m"]
POLICY = """\
parivox-policy: 1
conditions:
- name: rejected
  rate: fnr
  at-most: 5%
"""


def audit_of(group):
    """An audit of 24 speakers in two groups, one of which has that name."""
    rng, n = np.random.default_rng(1), 24
    own = np.repeat(np.arange(n), 10)
    enrol, test = np.append(own, own), np.append(own, (own + 1 + own % (n - 1)) % n)
    scores = {
        "enrol": [f"s{i}/a{k}" for k, i in enumerate(enrol)],
        "test": [f"s{i}/b{k}" for k, i in enumerate(test)],
        "score": rng.normal(3.0 * (enrol == test)),
        "label": (enrol == test).astype(int),
    }
    people = {"speaker": [f"s{i}" for i in range(n)], "half": [group, "m"] * (n // 2)}
    return pv.audit(scores, speakers=people, by="half", operating_points="fpr=0.1")


@pytest.mark.parametrize("name", FORBIDDEN)
def test_what_a_terminal_or_xml_cannot_hold_is_written_as_its_number(name):
    assert shown(name).isprintable()
    assert "\\" in shown(name)
    ET.fromstring(f"<a b={shown(name)!r}/>")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["\uffff", "\ufdd0", "a\x0bb"])
def test_figures_page_and_results_of_a_gate_are_well_formed(name, tmp_path, optional):
    optional("vl_convert")
    audit = audit_of(f"f{name}")
    pv.write_page(audit, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    figures = page.split("<svg")[1:]
    assert len(figures) > 3
    for one in figures:
        ET.fromstring(f"<svg{one.partition('</svg>')[0]}</svg>")
    (tmp_path / "policy.yaml").write_text(POLICY)
    results = junit(pv.gate(audit, tmp_path / "policy.yaml"))
    cases = ET.fromstring(results.partition("\n")[2]).findall(".//testcase")
    assert len(cases) > 1
