"""The workbook: typed cells, no formula whatever names hold, the same bytes."""

import io
import math
import time

import pytest

import parivox as pv
from parivox.errors import ConfigError
from parivox.report.overview import overview

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def odd(material):
    """The audit of one system by one attribute: larger ones take seconds to be read again."""
    trials, speakers = material
    points = ["fpr=0.05"]
    return pv.audit({"A|B": trials}, speakers=speakers, by="kind", operating_points=points)


@pytest.fixture(scope="module")
def book(odd, optional):
    openpyxl = optional("openpyxl")
    from parivox.report.sheets.workbook import workbook

    return openpyxl.load_workbook(io.BytesIO(workbook(odd)))


def test_each_table_has_a_sheet_with_a_heading_that_stays(book, odd):
    tables = {
        n: t
        for n, t in odd.tables().items()
        if n not in {"det", "bins", "bands", "sweep", "pairing"}
    }
    assert book.sheetnames == ["about", *tables]
    for name, table in tables.items():
        sheet = book[name]
        assert sheet.max_row == len(table) + 1
        assert sheet.freeze_panes == "A2"
        assert sheet.auto_filter.ref.endswith(str(len(table) + 1))
        assert tuple(cell.value for cell in sheet[1]) == table.columns


def test_cells_have_the_type_of_what_they_hold(book, odd):
    for sheet_row, row in zip(book["meta"].iter_rows(min_row=2), odd.meta.rows(), strict=True):
        for cell, number in zip(sheet_row, row.values(), strict=True):
            if isinstance(number, float) and math.isfinite(number):
                assert cell.value == pytest.approx(number, rel=1e-14)
            elif isinstance(number, bool):
                assert cell.value is number
            elif number in {None, ""}:
                assert cell.value is None


def test_nothing_is_a_formula(book):
    kinds = {cell.data_type for sheet in book for row in sheet.iter_rows() for cell in row}
    assert kinds <= {"s", "n", "b", "inlineStr"}
    formula_cells = [c for row in book["groups"].iter_rows() for c in row if c.value == "=1+1"]
    assert formula_cells
    assert all(cell.quotePrefix for cell in formula_cells)


def test_the_first_sheet_explains(book, odd):
    about_rows = [row for row in book["about"].values if row[0]]
    named = {row[0] for row in about_rows}
    assert [row[1] for row in about_rows if row[0] == "findings"] == overview(
        odd
    ).finding_sentences[:1]
    assert {"sheet", "groups", "bias", "rates", "empty"} <= named


def test_the_same_audit_gives_the_same_bytes(unsure, optional):
    optional("openpyxl")
    from parivox.report.sheets.workbook import workbook

    content = workbook(unsure)
    time.sleep(2.1)  # dates in archives are of two seconds
    assert workbook(unsure) == content


def test_characters_that_no_workbook_holds_are_spelled_out(material, optional):
    openpyxl = optional("openpyxl")
    from parivox.report.sheets.workbook import workbook

    trials, speakers = material
    named = {**speakers, "kind": [f"\x07{name}" for name in speakers["sex"]]}
    audit = pv.audit({"S": trials}, speakers=named, by="kind", intervals=False)
    book = openpyxl.load_workbook(io.BytesIO(workbook(audit)))
    assert r"\x07f" in {cell.value for cell in book["groups"]["D"]}


def test_without_openpyxl_it_says_what_to_install(monkeypatch):
    import sys

    from parivox.report.report_files import check_format

    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ConfigError, match=r"pip install 'parivox\[xlsx\]'"):
        check_format("xlsx")
