"""Names with characters that XML forbids: in figures, on the page, in a gate's results."""

import xml.etree.ElementTree as ET

import pytest

import parivox as pv
from parivox.errors import printable
from parivox.report.gate import junit

FORBIDDEN = ["\uffff", "\ufffe", "\ufdd0", "\x01", "\U0001ffff", "a\x0bb", "\x1b[31m"]
POLICY = """\
parivox-policy: 1
conditions:
- name: rejected
  rate: fnr
  at-most: 5%
"""


@pytest.mark.parametrize("name", FORBIDDEN)
def test_what_a_terminal_or_xml_cannot_hold_is_written_as_its_number(name):
    assert printable(name).isprintable()
    assert "\\" in printable(name)
    ET.fromstring(f"<a b={printable(name)!r}/>")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["\uffff", "\ufdd0", "a\x0bb"])
def test_figures_page_and_results_of_a_gate_are_well_formed(
    name, tmp_path, optional, audit_of_halves
):
    optional("vl_convert")
    audit = audit_of_halves(f"f{name}")
    audit.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    figures = page.split("<svg")[1:]
    assert len(figures) > 3
    for svg in figures:
        ET.fromstring(f"<svg{svg.partition('</svg>')[0]}</svg>")
    (tmp_path / "policy.yaml").write_text(POLICY)
    junit_xml = junit(pv.gate(audit, tmp_path / "policy.yaml"))
    cases = ET.fromstring(junit_xml.partition("\n")[2]).findall(".//testcase")
    assert len(cases) > 1
