"""Ids that a spreadsheet rewrote: what it did to them is named, and never undone in silence."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Keys = Callable[[str], Iterable[object]]

__all__ = ["rewritten"]

_SAMPLE = 1000
_MEND = "import the original into the spreadsheet again, with the column as text"
_DIGITS = 15
"""A spreadsheet keeps so many digits of a number."""
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# Patterns stay text until ids are missed.
_SCIENTIFIC = r"(?i)(\d)(?:[.,](\d+))?E\+?(\d+)"
_POWER = r"(?i)\d+(?:E\d+)?"
_WHOLE = r"(-?\d+)[.,]0+"
_MONTH_AND_DAY = r"(?i)([a-z]{3,9})[-_./ ]?(\d{1,2})"
_DAY_AND_MONTH = r"(?i)(\d{1,2})[-_./ ]?([a-z]{3,9})\.?"
_NUMBERS = r"(\d{1,2})[-/.](\d{1,2})"
_DATE = r"\d{4}-(\d\d)-(\d\d)"


def rewritten(missing: Iterable[str], known: Iterable[str], table: str) -> str:
    """How a spreadsheet made one id of the other, and the mend; empty if it did not.

    Parameters
    ----------
    missing
        Ids that are not known.
    known
        Ids of the table.
    table
        Its name.

    Examples
    --------
    >>> rewritten(["00042", "x"], ["42"], "people.csv").partition(";")[0]
    "a spreadsheet seems to have dropped leading zeros ('00042' is '42' in people.csv)"
    """
    wanted = [one for one, _ in zip(missing, range(_SAMPLE), strict=False)]
    there = list(known)
    best, told = 0, ""
    for did, before, after in _HABITS:
        for mine, theirs in ((before, after), (after, before)):
            met = _met(wanted, there, mine, theirs)
            if len(met) > best:
                one, other = next(iter(met.items()))
                mend = _MEND
                if before is _padded:  # the digits are all there, and can be shown
                    zeros = "0" * max(len(one), len(other))
                    mend += f", or give it a number format such as {zeros} and export it again"
                best, told = len(met), f"{did} ({one!r} is {other!r} in {table}); {mend}"
    return f"a spreadsheet seems to have {told}" if told else ""


def _met(wanted: Iterable[str], there: Iterable[str], mine: Keys, theirs: Keys) -> dict[str, str]:
    """The known id that each wanted one may be, where there is one."""
    asked: dict[object, list[str]] = {}
    for one in wanted:
        for key in mine(one):
            asked.setdefault(key, []).append(one)
    met: dict[str, str] = {}
    for other in there if asked else ():
        for key in theirs(other):
            met |= {one: other for one in asked.get(key, ()) if one not in met}
    return {one: met[one] for one in wanted if one in met}


def _padded(text: str) -> Iterable[object]:
    return (text.lstrip("0") or "0",) if text.isdecimal() and text[0] == "0" else ()


def _unpadded(text: str) -> Iterable[object]:
    return (text,) if text.isdecimal() and text[0] != "0" else ()


def _power(text: str) -> Iterable[object]:
    """Every way to write a number in powers of ten."""
    if len(text) > 300 or not re.fullmatch(_POWER, text) or len(text.partition("E")[2]) > 3:
        return ()
    return {f"{float(text):.{digits}E}" for digits in range(6)}


def _scientific(text: str) -> Iterable[object]:
    found = re.fullmatch(_SCIENTIFIC, text)
    if not found:
        return ()
    first, rest, power = found.groups()
    return (f"{first}{'.' + rest if rest else ''}E+{int(power):02d}",)


def _whole(text: str) -> Iterable[object]:
    return (text, text.lstrip("0") or "0") if text.lstrip("-").isdecimal() else ()


def _with_point(text: str) -> Iterable[object]:
    found = re.fullmatch(_WHOLE, text)
    return (found[1],) if found else ()


def _long(text: str) -> Iterable[object]:
    cut = text[:_DIGITS] + "0" * (len(text) - _DIGITS)
    return (cut,) if text.isdecimal() and cut != text and len(text) > _DIGITS else ()


def _cut(text: str) -> Iterable[object]:
    return (text,) if text.isdecimal() and len(text) > _DIGITS else ()


def _like_date(text: str) -> Iterable[object]:
    """Month and day that an id may be taken for, as MAR1 and 3-1 are."""
    numbers = re.fullmatch(_NUMBERS, text)
    if numbers:
        one, other = int(numbers[1]), int(numbers[2])
        return {(one, other), (other, one)}
    found = re.fullmatch(_MONTH_AND_DAY, text)
    return _named(found[1], found[2]) if found else ()


def _dated(text: str) -> Iterable[object]:
    day = re.fullmatch(_DATE, text)
    if day:
        return ((int(day[1]), int(day[2])),)
    found, other = re.fullmatch(_DAY_AND_MONTH, text), re.fullmatch(_MONTH_AND_DAY, text)
    if found:
        return _named(found[2], found[1])
    return _named(other[1], other[2]) if other else ()


def _named(month: str, day: str) -> Iterable[object]:
    known = month[:3].lower() in _MONTHS
    return ((_MONTHS.index(month[:3].lower()) + 1, int(day)),) if known else ()


_HABITS: tuple[tuple[str, Keys, Keys], ...] = (
    ("dropped leading zeros", _padded, _unpadded),
    ("put .0 behind whole numbers", _whole, _with_point),
    ("written ids in powers of ten", _power, _scientific),
    (f"turned digits beyond the {_DIGITS}th into zeros", _long, _cut),
    ("taken ids for dates", _like_date, _dated),
)
"""What was done, keys of an id as it was and keys of it as it is now."""
