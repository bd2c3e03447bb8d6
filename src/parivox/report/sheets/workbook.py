"""An audit as a workbook (XLSX): a sheet that explains, and one for each table.

The same audit gives the same bytes: dates are fixed, in the workbook and in its archive. Nothing
in it is a formula, whatever names hold: a text that begins as one is a text.
"""

from __future__ import annotations

import io
import math
import zipfile
from typing import TYPE_CHECKING, Any

from parivox.auditing import CURVES
from parivox.errors import printable
from parivox.report.catalogue import sentence_text
from parivox.report.overview import overview

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parivox.auditing import Audit
    from parivox.data.table import Table

CREATOR = "Parivox"
ROW_DESCRIPTIONS = {
    "groups": "one base metric of one group, with counts and interval",
    "bias": "one bias measure of one group against a reference",
    "meta": "one meta-measure of a grouping, with its noise floor",
    "verdicts": "verdicts on each group and on the system, in words",
    "limits": "rates compared with limits, and the distribution of errors over speakers",
    "failures": "reasons why recordings of a group failed",
    "comparison": "comparisons of systems and lists",
    "matrix": "false accepts between groups",
    "operating_points": "thresholds, and their error rates over all trials",
    "data": "what was read and excluded, with reasons",
    "attacks": "spoof accepts of one attack in one group",
}
"""What a row of each table is."""
_SPEAKER_TABLE = "offenders"
"""The table of speaker ids, which no export contains."""
_MAX_ROWS, _MAX_CHARACTERS = (1 << 20) - 1, 32_767
"""Rows of a sheet below its heading, and characters of a cell: limits of the format."""
_COLUMN_WIDTHS = {"group": 24, "sentence": 60, "reason": 30, "note": 40, "item": 40, "metric": 16}


def workbook(audit: Audit) -> bytes:
    """Return the bytes of the workbook."""
    from openpyxl import Workbook  # noqa: PLC0415 - an optional dependency

    book = Workbook(write_only=True)
    # curves are written as Parquet instead, and exports contain no speaker ids
    omitted_tables = {*CURVES, _SPEAKER_TABLE}
    tables = {name: table for name, table in audit.tables().items() if name not in omitted_tables}
    about = book.create_sheet("about")
    about.column_dimensions["A"].width, about.column_dimensions["B"].width = 28, 110
    for row in _about_rows(audit, tables):
        about.append([_cell(about, text) for text in row])
    for name, table in tables.items():
        if len(table) <= _MAX_ROWS:
            _fill_sheet(book.create_sheet(name), table)
    book.properties.creator = CREATOR
    return _dated_archive(book)


def _about_rows(audit: Audit, tables: dict[str, Table]) -> Iterator[tuple[str, ...]]:
    yield (f"Parivox {audit.record['versions']['parivox']}", "Audit by groups of speakers")
    yield ("",)
    audit_overview = overview(audit)
    for heading, sentences in (
        (
            "findings",
            [
                *audit_overview.finding_sentences,
                *audit_overview.count_sentences,
                audit_overview.data_sentence,
            ],
        ),
        *((heading.lower(), [words]) for heading, words in audit_overview.notes.items()),
        ("limitations", [f"{caveat.sentence}." for caveat in audit_overview.caveats]),
    ):
        for sentence_index, sentence in enumerate(sentences):
            yield (heading if not sentence_index else "", sentence)
    yield ("",)
    yield ("sheet", "what a row is")
    for name, table in tables.items():
        omission = "" if len(table) <= _MAX_ROWS else "; " + sentence_text("sheet_omitted")
        yield (name, f"{ROW_DESCRIPTIONS[name]}; {len(table):,} rows{omission}")
    yield ("",)
    yield ("rates", sentence_text("fractions_at_full_precision"))
    yield ("empty", "undefined: see the column reason; without an interval: see the column note")
    yield ("low, high", f"limits of a {audit.record['options']['confidence']:.3g} interval")
    yield ("pooled, all", "all trials of the grouping; every scored trial")
    yield ("curves", "not in the workbook; parivox audit --out writes curves as Parquet")


def _fill_sheet(sheet: Any, table: Table) -> None:
    """Write a table below a fixed heading, with a filter for each column."""
    from openpyxl.utils import get_column_letter  # noqa: PLC0415 - an optional dependency

    last_letter = get_column_letter(len(table.columns))
    sheet.freeze_panes = "A2"
    sheet.auto_filter.ref = f"A1:{last_letter}{len(table) + 1}"
    for column_number, name in enumerate(table.columns, 1):
        width = _COLUMN_WIDTHS.get(name, max(12, len(name) + 3))
        sheet.column_dimensions[get_column_letter(column_number)].width = width
    sheet.append(list(table.columns))
    for row in zip(*table.to_dict().values(), strict=True):
        sheet.append([_cell(sheet, cell) for cell in row])


def _cell(sheet: Any, content: Any) -> Any:
    """Return a value for a cell; text that looks like a formula is marked as text."""
    if isinstance(content, float) and not math.isfinite(content):
        return str(content)
    if not isinstance(content, str):
        return content
    text = printable(content)[:_MAX_CHARACTERS]
    if text[:1] not in {"=", "#"}:
        return text or None
    from openpyxl.cell import WriteOnlyCell  # noqa: PLC0415 - an optional dependency

    cell = WriteOnlyCell(sheet, text)
    cell.data_type = "s"  # neither a formula nor an error
    cell.quotePrefix = True  # nor when somebody edits it
    return cell


def _dated_archive(book: Any) -> bytes:
    """Return the workbook's bytes with one fixed date everywhere."""
    from datetime import datetime  # noqa: PLC0415

    from openpyxl.xml.functions import tostring  # noqa: PLC0415 - an optional dependency

    first_bytes = io.BytesIO()
    book.save(first_bytes)
    # fixed dates, so that the same audit gives the same bytes
    book.properties.created = book.properties.modified = datetime(2000, 1, 1)  # noqa: DTZ001 - theirs
    about = tostring(book.properties.to_tree())
    dated_bytes = io.BytesIO()
    with (
        zipfile.ZipFile(first_bytes) as first_archive,
        zipfile.ZipFile(dated_bytes, "w", zipfile.ZIP_DEFLATED) as dated_archive,
    ):
        for name in first_archive.namelist():
            content = about if name == "docProps/core.xml" else first_archive.read(name)
            member = zipfile.ZipInfo(name, date_time=(2000, 1, 1, 0, 0, 0))
            member.compress_type = zipfile.ZIP_DEFLATED
            dated_archive.writestr(member, content)
    return dated_bytes.getvalue()
