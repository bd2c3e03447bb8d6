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
from parivox.report.overview import overview

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parivox.auditing import Audit
    from parivox.data.table import Table

CREATOR = "Parivox"
SHEETS = {
    "groups": "one base metric of one group, with counts and interval",
    "bias": "one bias measure of one group against a reference",
    "meta": "one meta-measure of a grouping, with its noise floor",
    "verdicts": "what can be said of each group and of the system, in words",
    "limits": "rates against limits, and the people behind the errors",
    "failures": "why recordings of a group failed",
    "comparison": "systems and lists against each other",
    "matrix": "false accepts between groups",
    "operating_points": "thresholds, and what they do to all trials",
    "data": "what was read, left out, and why",
}
"""What stands in a row of each table."""
_OF_PEOPLE = "offenders"
"""The table of ids of speakers, which no export holds."""
_MOST_ROWS, _MOST_CHARACTERS = (1 << 20) - 1, 32_767
"""Of a sheet below its heading, and of a cell."""
_WIDE = {"group": 24, "sentence": 60, "reason": 30, "note": 40, "item": 40, "metric": 16}


def workbook(audit: Audit) -> bytes:
    """The bytes of the workbook."""
    from openpyxl import Workbook  # noqa: PLC0415 - an optional dependency

    book = Workbook(write_only=True)
    kept_out = {*CURVES, _OF_PEOPLE}
    tables = {name: table for name, table in audit.tables().items() if name not in kept_out}
    about = book.create_sheet("about")
    about.column_dimensions["A"].width, about.column_dimensions["B"].width = 28, 110
    for row in _about(audit, tables):
        about.append([_cell(about, value) for value in row])
    for name, table in tables.items():
        if len(table) <= _MOST_ROWS:
            _fill(book.create_sheet(name), table)
    book.properties.creator = CREATOR
    return _dated(book)


def _about(audit: Audit, tables: dict[str, Table]) -> Iterator[tuple[str, ...]]:
    yield (f"Parivox {audit.record['versions']['parivox']}", "Audit by groups of speakers")
    yield ("",)
    of = overview(audit)
    for heading, sentences in (
        ("findings", [*of.finding_sentences, *of.count_sentences, of.data_sentence]),
        *((heading.lower(), [words]) for heading, words in of.notes.items()),
        ("limitations", [f"{one.sentence}." for one in of.caveats]),
    ):
        for place, sentence in enumerate(sentences):
            yield (heading if not place else "", sentence)
    yield ("",)
    yield ("sheet", "what a row is")
    for name, table in tables.items():
        left_out = "" if len(table) <= _MOST_ROWS else "; left out, as no sheet has so many rows"
        yield (name, f"{SHEETS[name]}; {len(table):,} rows{left_out}")
    yield ("",)
    yield ("rates", "fractions at full precision: 0.01 is 1 %")
    yield ("empty", "undefined; the column reason says why, note why there is no interval")
    yield ("low, high", f"limits of a {audit.record['options']['confidence']:.3g} interval")
    yield ("pooled, all", "all trials of the grouping; every scored trial")
    yield ("curves", "are not in the workbook; parivox audit --out writes them as Parquet")


def _fill(sheet: Any, table: Table) -> None:
    """Every row below a heading that stays in sight, each column to be filtered."""
    from openpyxl.utils import get_column_letter  # noqa: PLC0415 - an optional dependency

    last = get_column_letter(len(table.columns))
    sheet.freeze_panes = "A2"
    sheet.auto_filter.ref = f"A1:{last}{len(table) + 1}"
    for place, name in enumerate(table.columns, 1):
        width = _WIDE.get(name, max(12, len(name) + 3))
        sheet.column_dimensions[get_column_letter(place)].width = width
    sheet.append(list(table.columns))
    for row in zip(*table.to_dict().values(), strict=True):
        sheet.append([_cell(sheet, value) for value in row])


def _cell(sheet: Any, value: Any) -> Any:
    """A value as a cell holds it; a text that a program would take for more is said to be one."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if not isinstance(value, str):
        return value
    text = printable(value)[:_MOST_CHARACTERS]
    if text[:1] not in {"=", "#"}:
        return text or None
    from openpyxl.cell import WriteOnlyCell  # noqa: PLC0415 - an optional dependency

    cell = WriteOnlyCell(sheet, text)
    cell.data_type = "s"  # neither a formula nor an error
    cell.quotePrefix = True  # nor when somebody edits it
    return cell


def _dated(book: Any) -> bytes:
    """The archive with one date all over."""
    from datetime import datetime  # noqa: PLC0415

    from openpyxl.xml.functions import tostring  # noqa: PLC0415 - an optional dependency

    made = io.BytesIO()
    book.save(made)
    book.properties.created = book.properties.modified = datetime(2000, 1, 1)  # noqa: DTZ001 - theirs
    about = tostring(book.properties.to_tree())
    again = io.BytesIO()
    with zipfile.ZipFile(made) as old, zipfile.ZipFile(again, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = about if name == "docProps/core.xml" else old.read(name)
            entry = zipfile.ZipInfo(name, date_time=(2000, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            new.writestr(entry, content)
    return again.getvalue()
