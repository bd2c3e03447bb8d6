"""Tables in workbooks: what the sheet shows is what is read, or a sentence says why not."""

import contextlib
import datetime as dt
import io
import sys
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parivox.data.formats import xlsx
from parivox.data.recordings import read_utterances
from parivox.data.speakers import read_speakers, read_table
from parivox.data.trials import read_trials
from parivox.errors import DataError, ParivoxError

FUZZ = settings(
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
NOON = dt.datetime(2024, 2, 29, 12)  # noqa: DTZ001 - sheets know no zone
MIDNIGHT = NOON.replace(hour=0)
PEOPLE = [("id", "sex"), ("a", "f"), ("b", "m")]


def filled(book, rows, *, title="People", top=1, first_column=1):
    """Put rows into a sheet of a workbook."""
    unused = len(book.sheetnames) == 1 and book.active.title == "Sheet"
    sheet = book.active if unused else book.create_sheet()
    sheet.title = title
    for row, cells in enumerate(rows, top):
        for column, cell in enumerate(cells, first_column):
            sheet.cell(row, column, cell)
    return sheet


@pytest.fixture
def book(optional):
    return optional("openpyxl").Workbook()


@pytest.fixture
def read(tmp_path):
    """Save a workbook under a name that tells nothing, and read its table."""

    def done(book):
        book.save(tmp_path / "people.data")
        return read_table(tmp_path / "people.data", "speakers")

    return done


@pytest.fixture
def refused(read):
    def done(book, match):
        with pytest.raises(DataError, match=f"^people.data: {match}"):
            read(book)

    return done


def packed(member_texts):
    """A zip of parts."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in member_texts.items():
            archive.writestr(name, text)
    return out.getvalue()


def plain(cells, **members):
    """The least workbook: one sheet with these cells as XML."""
    rels = (
        "<Relationships>"
        f'<Relationship Id="r1" Type="{OFFICE}/worksheet" Target="worksheets/s.xml"/>'
        f'<Relationship Id="r2" Type="{OFFICE}/sharedStrings" Target="/xl/texts.xml"/>'
        "</Relationships>"
    )
    return packed(
        {
            "[Content_Types].xml": (
                f'<Types xmlns="{TYPES}">'
                f'<Override PartName="/xl/workbook.xml" ContentType="{KIND}.sheet.main+xml"/>'
                f'<Override PartName="/xl/texts.xml" ContentType="{KIND}.sharedStrings+xml"/>'
                "</Types>"
            ),
            "xl/workbook.xml": (
                f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>'
                '<sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>'
            ),
            "xl/_rels/workbook.xml.rels": rels,
            "xl/texts.xml": (
                f'<sst xmlns="{MAIN}"><si><t>id</t></si><si><r><t>s</t></r><r><t>ex</t></r>'
                '<rPh sb="0" eb="1"><t>not shown</t></rPh></si></sst>'
            ),
            "xl/worksheets/s.xml": (
                f'<worksheet xmlns="{MAIN}"><sheetData>{cells}</sheetData></worksheet>'
            ),
        }
        | members
    )


HEADER = '<row><c t="s"><v>0</v></c><c t="s"><v>1</v></c></row>'
ROW = '<row><c t="inlineStr"><is><t>a</t></is></c><c t="str"><f>"f"</f><v>f</v></c></row>'


def test_the_least_workbook_is_read(write):
    table, name, read_record = read_table(write("people", plain(HEADER + ROW)), "speakers")
    assert table.columns == ["row", "id", "sex"]
    assert table.rows() == [(2, "a", "f")]
    assert (name, read_record["format"], read_record["sheet"], read_record["header_row"]) == (
        "people",
        "xlsx",
        "S",
        1,
    )


def test_title_rows_and_empty_columns_are_passed_over_and_said(book, read):
    sheet = filled(
        book, [("Participants",), (), ("as of", dt.date(2024, 5, 1)), ()], first_column=2
    )
    sheet.merge_cells("B1:F1")
    rows = [("id", "sex", "Age\ngroup", "city"), ("a", "f", None, "Rome"), (), ("b", "m", "30+")]
    filled(book, [], title="unused")
    for row, cells in enumerate(rows, 5):
        for column, cell in enumerate(cells, 3):
            sheet.cell(row, column, cell)
    table, _, record = read(book)
    assert table.columns == ["row", "id", "sex", "Age group", "city"]
    assert table.rows() == [(6, "a", "f", None, "Rome"), (8, "b", "m", "30+", None)]
    assert (record["sheet"], record["header_row"], record["other_sheets"]) == (
        "People",
        5,
        ["unused"],
    )


def test_cells_are_read_as_the_sheet_shows_them(book, read):
    cells = [
        (42, "00000", "00042"),
        (100_000, "00000", "100000"),
        (42, '"S"000', "S042"),
        (42, "000;-000", "042"),
        (-7, "000", "-7"),
        ("007", "General", "007"),
        (" 1E5 ", "General", "1E5"),
        (1_000_000.0, "0.00E+00", "1000000"),
        (18.5, "0", "18.5"),
        (1e-7, "General", "1e-07"),
        (123456789012345, "General", "123456789012345"),
        (dt.date(2024, 2, 29), "dd/mm/yyyy", "2024-02-29"),
        (NOON, "yyyy-mm-dd hh:mm", "2024-02-29T12:00:00"),
        (NOON, "[$-407]d. mmm", "2024-02-29"),
        (MIDNIGHT, "yyyy-mm-dd hh:mm", "2024-02-29"),
        (dt.time(13, 5), "hh:mm", "13:05:00"),
        (1.5, "[h]:mm", "1.5"),
        (45.0, '0 "days"', "45"),
        (45.0, "[Red]0", "45"),
        (True, "General", "TRUE"),
        (False, "General", "FALSE"),
        ("#N/A", "General", None),
        ("=1+1", "@", "'=1+1"),
        (-1.0, "dd/mm/yyyy", "-1"),
        (1e9, "dd/mm/yyyy", "1000000000"),
        ("_x000D_", "General", None),
    ]
    sheet = filled(book, [("id", "cell"), *((f"s{i}", cell[0]) for i, cell in enumerate(cells))])
    for row, (cell, code, text) in enumerate(cells, 2):
        sheet.cell(row, 2).number_format = code
        if text == "'=1+1":  # a text that looks like a formula
            sheet.cell(row, 2).data_type = "s"
            sheet.cell(row, 2).value = "'" + cell
    table, _, _ = read(book)
    assert table["cell"].to_list() == [text for *_, text in cells]


def test_days_count_from_1904_where_the_workbook_says_so(book, read, optional):
    filled(book, [("id", "born"), ("a", dt.date(1999, 12, 31))])
    book.epoch = optional("openpyxl.utils.datetime").CALENDAR_MAC_1904
    table, _, _ = read(book)
    assert table["born"].to_list() == ["1999-12-31"]


def test_hidden_rows_are_read_and_said(book, read):
    sheet = filled(book, PEOPLE)
    sheet.row_dimensions[3].hidden = True
    table, _, record = read(book)
    assert (table.height, record["hidden_rows"]) == (2, 1)


def test_hidden_sheets_are_no_choice_unless_they_are_the_only_one(book, read, refused):
    filled(book, PEOPLE)
    filled(book, PEOPLE, title="Old").sheet_state = "hidden"
    _, _, record = read(book)
    assert (record["sheet"], record["hidden_sheets"]) == ("People", ["Old"])
    notes = filled(book, [("see the other sheet",)], title="Notes")
    del book["People"]
    assert read(book)[2]["sheet"] == "Old"
    notes["A2"], notes["B1"], notes["B2"] = "a", "b", "c"
    assert read(book)[2]["sheet"] == "Notes"
    filled(book, PEOPLE, title="New")
    refused(
        book, "sheets 'Notes' and 'New' may both be the table; delete one, or save the right one as"
    )


def test_a_table_of_one_column_counts_where_there_is_no_wider_one(book, read):
    filled(book, [("recording",), ("a",), ("b",)])
    assert read(book)[0].height == 2


@pytest.mark.parametrize(
    ("area", "match"),
    [
        ("B1:C1", "cells B1:C1 of the header are merged; unmerge them and give each column its"),
        ("A1:A2", "cells A1:A2 of the header are merged"),
        ("B2:B3", "cells B2:B3 are merged; unmerge them and fill each of them"),
    ],
)
def test_merged_cells_are_named(book, refused, area, match):
    sheet = filled(book, [("id", "sex", "age", "city"), ("a", "f", 1), ("b", "m", 2)])
    sheet.merge_cells(area)
    refused(book, f"sheet 'People': {match}")


def test_a_header_of_two_levels_is_refused(book, refused):
    header = [("Person", None, None, "Call"), ("id", "sex", "age", "line", "day", "hour")]
    sheet = filled(book, [*header, ("a", "f", 3, "x", 4, 5)])
    sheet.merge_cells("A1:C1")
    sheet.merge_cells("D1:F1")
    refused(book, "sheet 'People': cells A1:C1, D1:F1 of the header are merged")


@pytest.mark.parametrize(
    ("rows", "match"),
    [
        (
            [("id", "sex", " sex"), ("a", "f", "m")],
            "sheet 'People', row 1: columns B and C are both named 'sex'; rename one",
        ),
        (
            [(None, "sex", "age"), (0, "f", 18)],
            "sheet 'People': cell A2 contains '0', but column A has no name in row 1, which is",
        ),
        (
            [("Made by", "me"), ("id", "sex", "age"), ("a", "f", 18)],
            "sheet 'People': cell C2 contains 'age', but column C has no name in row 1, .* delete",
        ),
        (
            [("id", "sex"), ("a", "f"), ("b", "m", "a", "remark", "beside"), ("c", "f")],
            "sheet 'People': cell C3 contains 'a', but column C has no name in row 1, which is",
        ),
        ([("Participants",), ("id", "sex", "age")], "contains only a header"),
        ([("id", "sex")], "contains only a header"),
        ([], "is a workbook in which all sheets are empty"),
        (
            [("id", "n"), ("a", "=1+1")],
            "sheet 'People': cell B2 contains a formula without a value; o",
        ),
        (
            [("id", "n"), ("a", "#REF!")],
            "sheet 'People': cell B2 contains the error #REF!; correct it",
        ),
    ],
)
def test_tables_that_cannot_be_taken_as_they_are(book, refused, rows, match):
    filled(book, rows)
    refused(book, match)


def test_faults_outside_the_table_do_not_count(book, read):
    filled(book, [("=1+1",), ("id", "sex", "age", "n"), ("a", "f", 1, 2)])
    assert read(book)[2]["header_row"] == 2


def test_a_formula_is_worth_the_value_beside_it(write):
    cells = (
        '<c r="A2" t="str"><f>"a"&amp;"b"</f><v>ab</v></c><c r="B2"><f>1+1</f><v>2</v></c>',
        '<c r="A3" t="str"><f>""</f><v></v></c><c r="B3" t="b"><f>TRUE()</f><v>1</v></c>',
    )
    rows = "".join(f'<row r="{i}">{row}</row>' for i, row in enumerate(cells, 2))
    table, _, _ = read_table(write("p.xlsx", plain(HEADER + rows)), "speakers")
    assert table.rows() == [(2, "ab", "2"), (3, None, "TRUE")]


@pytest.mark.minimal
def test_a_workbook_without_openpyxl_is_told_apart_from_what_is_none(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    monkeypatch.delitem(sys.modules, "parivox.data.formats.workbook", raising=False)
    mimetype = "application/vnd.oasis.opendocument.spreadsheet"
    strict = '<workbook xmlns="http://purl.oclc.org/ooxml/spreadsheetml/main"/>'
    for data, match in {
        plain(HEADER + ROW): (
            r'^p: is a workbook, which needs openpyxl; run pip install "parivox\[xlsx\]", or save'
        ),
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "p: is an old workbook .* or one with a password",
        packed({"mimetype": mimetype}): r"p: is an OpenDocument file \(.ods\); save it as XLSX or",
        packed({"xl/workbook.bin": ""}): r"p: is a binary workbook \(.xlsb\); save it as XLSX or C",
        packed({"a.csv": "id"}): "p: is a zip archive without a workbook; unpack it and give the",
        packed(
            {"xl/workbook.xml": strict}
        ): "p: is a workbook in strict Open XML; save it as ordinary",
    }.items():
        with pytest.raises(DataError, match=match):
            read_table(write("p", data), "speakers")


@pytest.mark.slow
def test_a_damaged_workbook_is_named(write):
    for data, match in {
        plain(HEADER + ROW)[:-30]: "p: cannot be read as XLSX .* copy or save the file again",
        plain(HEADER + "<row>"): "p: cannot be read as XLSX",
        plain(HEADER + '<row><c t="s"><v>7</v></c></row>'): "p: cannot be read as XLSX",
        plain(HEADER + ROW + '<row r="2"><c><v>1</v></c></row>'): "row 2 of sheet 'S' occurs twice",
        plain(HEADER + "<row><c><v>nan</v></c></row>"): "p: cannot be read as XLSX .*'nan'",
        plain(HEADER + "<row>" + "<c/>" * 16_385 + "</row>"): "'S' has a row of 16,385 cells",
        plain(
            HEADER + "<row><c><v>1e999</v></c></row>"
        ): "p: cannot be read as XLSX .inf is not a num",
        plain(HEADER + '<row r="1048577"><c><v>1</v></c></row>'): "row 1048577 .* out of bounds",
        plain(HEADER + '<row><c r="XFE2"><v>1</v></c></row>'): "row 2 .* out of bounds",
    }.items():
        with pytest.raises(DataError, match=match):
            read_table(write("p", data), "speakers")


def test_a_workbook_too_large_is_named(write, monkeypatch):
    monkeypatch.setattr(xlsx, "MAX_UNPACKED_BYTES", 1 << 20)
    bomb = plain(HEADER + " " * (3 << 20) + ROW)
    assert len(bomb) < 10_000
    with pytest.raises(DataError, match="p: has 3 MiB when unpacked; the limit for workbooks is 1"):
        read_table(write("p", bomb), "speakers")


@pytest.mark.slow
@pytest.mark.parametrize("declared", ['SYSTEM "file:///etc/hostname"', '"&b;&b;&b;&b;"'])
@pytest.mark.parametrize(
    ("member", "kind", "content"),
    [
        ("xl/texts.xml", "sst", "<si><t>id</t></si><si><t>&a;</t></si>"),
        ("xl/worksheets/s.xml", "worksheet", f"<sheetData>{HEADER}{ROW}&a;</sheetData>"),
        ("xl/workbook.xml", "workbook", '<sheets><sheet name="&a;" sheetId="1"/></sheets>'),
    ],
)
def test_entities_are_not_followed(write, declared, member, kind, content):
    laughs = "".join(
        f'<!ENTITY {a} "{f"&{b};" * 50}">' for a, b in zip("bcdefg", "cdefgh", strict=True)
    )
    document = f'<!DOCTYPE {kind} [<!ENTITY a {declared}>{laughs}<!ENTITY h "ha">]>'
    document += f'<{kind} xmlns="{MAIN}">{content}</{kind}>'
    path = write("p.xlsx", plain(HEADER + ROW, **{member: document}))
    with pytest.raises(DataError, match=r"p.xlsx: cannot be read as XLSX"):
        read_table(path, "speakers")


def test_a_cell_longer_than_any_program_writes_is_named(write):
    row = ROW.replace("<t>a</t>", f"<t>{'a' * 32_768}</t>")
    with pytest.raises(
        DataError, match="p: sheet 'S': cell A2 contains 32,768 characters, where a"
    ):
        read_table(write("p", plain(HEADER + row)), "speakers")
    row = ROW.replace("<t>a</t>", f"<t>{'a' * 32_767}</t>")
    table, _, _ = read_table(write("p", plain(HEADER + row)), "speakers")
    assert table["id"].str.len_chars().to_list() == [32_767]


def test_rows_and_cells_out_of_order_are_read(write):
    first_row = (
        '<row r="3"><c r="B3"><v>1</v></c><c r="A3" t="inlineStr"><is><t>a</t></is></c></row>'
    )
    second = '<row r="2"><c r="A2" t="inlineStr"><is><t>b</t></is></c></row>'
    table, _, _ = read_table(write("p", plain(HEADER + first_row + second)), "speakers")
    assert table.rows() == [(2, "b", None), (3, "a", "1")]


def test_the_size_that_a_sheet_states_is_not_trusted(write):
    stated = f'<worksheet xmlns="{MAIN}"><dimension ref="A1:A1"/>'
    sheet = f"{stated}<sheetData>{HEADER}{ROW}</sheetData></worksheet>"
    table, _, _ = read_table(write("p", plain("", **{"xl/worksheets/s.xml": sheet})), "speakers")
    assert table.rows() == [(2, "a", "f")]


def test_east_asian_dates_are_dates(write):
    kinds = "".join(f'<xf numFmtId="{kind}"/>' for kind in (0, 31, 57))
    styles = f'<styleSheet xmlns="{MAIN}"><cellXfs>{kinds}</cellXfs></styleSheet>'
    row = '<row><c t="s" s="0"><v>0</v></c><c s="{}"><v>45351</v></c></row>'
    workbook = plain(HEADER + "".join(map(row.format, range(3))), **{"xl/styles.xml": styles})
    table, _, _ = read_table(write("p", workbook), "speakers")
    assert table["sex"].to_list() == ["45351", "2024-02-29", "2024-02-29"]


def test_what_openpyxl_warns_of_is_no_matter(write):
    extensions = '</sheetData><extLst><ext uri="{CCE6A557-97BC-4b89-ADB6-D9C93CAAB3DF}"/></extLst>'
    extensions += '<conditionalFormatting><cfRule type="none"/></conditionalFormatting><sheetData>'
    assert read_table(write("p", plain(HEADER + ROW + extensions)), "speakers")[0].height == 1


def test_sheets_of_charts_are_passed_over(book, read, optional):
    filled(book, PEOPLE)
    book.create_chartsheet("Chart", 0).add_chart(optional("openpyxl.chart").BarChart())
    assert read(book)[2]["sheet"] == "People"


def test_one_cell_far_away_takes_neither_time_nor_memory(write):
    merged = '</sheetData><mergeCells><mergeCell ref="D1:XFD1048576"/></mergeCells><sheetData>'
    assert read_table(write("p", plain(HEADER + ROW + merged)), "speakers")[0].height == 1
    rows = HEADER + ROW + '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
    with pytest.raises(
        DataError, match="cell XFD1048576 contains '1', but column XFD has no name in"
    ):
        read_table(write("p", plain(rows + merged)), "speakers")


def test_conflicts_name_rows_of_the_sheet(book, tmp_path):
    filled(book, [("People",), (), *PEOPLE, (), ("a", "m")])
    book.save(tmp_path / "p.xlsx")
    with pytest.raises(DataError, match="rows 4 and 7, column 'sex': speaker 'a' is 'f' and 'm'"):
        read_speakers(tmp_path / "p.xlsx", id="id")


def test_a_workbook_is_worth_its_csv(book, tmp_path, write):
    people = read_speakers(write("p.csv", "id,sex,age\n007,f,18.5\n010,m,30\n"), id="id")
    sheet = filled(book, [("id", "sex", "age"), (7, "f", 18.5), (10, "m", 30)])
    sheet["A2"].number_format = sheet["A3"].number_format = "000"
    book.save(tmp_path / "p.xlsx")
    assert read_speakers(tmp_path / "p.xlsx", id="id").content_sha256 == people.content_sha256
    del book["People"]
    filled(book, [("utterance", "speaker"), ("x", "007")], title="Calls")
    book.save(tmp_path / "u.xlsx")
    assert read_utterances(tmp_path / "u.xlsx").table.rows() == [(2, "x", "007")]


def test_scores_in_a_workbook_are_worth_their_csv(book, tmp_path, write):
    rows = [("a/1", "a/2", 0.125, 1), ("a/1", "b/1", -2, 0), ("b/1", "b/2", 1e-7, 1)]
    filled(book, [("Scores of a system",), ("Enrol", "Test", "Score", "Label"), *rows])
    book.save(tmp_path / "s.xlsx")
    text = "\n".join(["Enrol,Test,Score,Label", *(",".join(map(str, row)) for row in rows)])
    speakers = read_speakers(write("p.csv", "speaker,sex\na,f\nb,m\n"))
    trial_sets = [
        read_trials(source, system="s", list_="", speakers=speakers)
        for source in (tmp_path / "s.xlsx", write("s.csv", text))
    ]
    assert trial_sets[0].content_sha256 == trial_sets[1].content_sha256
    record = trial_sets[0].provenance[0]
    assert (record["format"], record["sheet"], record["header_row"]) == ("xlsx", "People", 2)


SEED = plain(HEADER + ROW)
cells = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**12), 10**12),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.dates(dt.date(1900, 3, 1)),
    st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=8),
    st.sampled_from(["#N/A", "#REF!", "=A1", "id", "sex"]),
)


def holds(cell):
    return cell is not None and str(cell).strip() not in {"", "#N/A"}


@pytest.mark.slow
@FUZZ
@given(rows=st.lists(st.lists(cells, max_size=5), max_size=6), area=st.sampled_from(["A1:B1", ""]))
def test_any_sheet_gives_all_its_rows_or_one_sentence(optional, tmp_path, rows, area):
    book = optional("openpyxl").Workbook()
    sheet = filled(book, rows)
    if area:
        sheet.merge_cells(area)
    book.save(tmp_path / "any.xlsx")
    with contextlib.suppress(ParivoxError):
        table, _, read_record = read_table(tmp_path / "any.xlsx", "speakers")
        below = sheet.iter_rows(read_record["header_row"] + 1, values_only=True)
        filled_rows = [row for row in below if any(map(holds, row))]
        assert table.height == len(filled_rows)


@pytest.mark.slow
@FUZZ
@given(data=st.data())
def test_a_damaged_workbook_gives_a_table_or_one_sentence(tmp_path, data):
    with zipfile.ZipFile(io.BytesIO(SEED)) as archive:
        members = {name: bytearray(archive.read(name)) for name in archive.namelist()}
    hurt = data.draw(st.sampled_from([*members, ""]))
    content = members.get(hurt, bytearray(SEED))
    for _ in range(data.draw(st.integers(1, 3))):
        position = data.draw(st.integers(0, max(len(content) - 1, 0)))
        words = st.sampled_from([b"", b"1e999", b"-1", b"<", b"&a;", b"r1", b'"', b"\xff", b"XFE9"])
        content[position : position + data.draw(st.integers(0, 9))] = data.draw(
            words | st.binary(max_size=4)
        )
    path = tmp_path / "damaged.xlsx"
    path.write_bytes(packed(members) if hurt else b"PK\x03\x04" + content[4:])
    with contextlib.suppress(ParivoxError):
        read_table(path, "speakers")
