"""Everything Parivox raises on purpose.

::

    ParivoxError            one sentence: what, where, found against expected, the mend
    ├── DataError           a file or table does not hold what it must
    ├── ConfigError         an option or argument is wrong, or two of them contradict
    └── UndefinedMetric     a number was asked for that the data cannot define
    EncodingGuessed         a warning: in which encoding a text was read that does not say so

The command line prints the sentence and exits with 2; the library raises it. A warning is printed,
and what was asked for is done.
"""

import re
import unicodedata
from collections.abc import Iterable

__all__ = [
    "ConfigError",
    "DataError",
    "EncodingGuessed",
    "ParivoxError",
    "UndefinedMetric",
    "name_hint",
    "printable",
    "utf8_text",
]

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories that steer a terminal, reorder its text or break the line."""

_PICTURE = "[\u2190-\u2bff\U0001f000-\U0001faff]"
_CURSIVE = "[\u0620-\u06ff\u0900-\u0dff]"
_SHOWS = re.compile(
    f"((?<={_PICTURE})|(?<={_PICTURE}\ufe0f))\u200d(?={_PICTURE})"
    f"|(?<={_CURSIVE})[\u200c\u200d](?={_CURSIVE})"
    "|(?<=\U0001f3f4)[\U000e0020-\U000e007e]+\U000e007f"
)
"""What makes one emoji of two, parts letters that else are joined (or joins them), or makes a flag
of a region; any other is not seen, and may hide in a name."""

_LONG_WORD = re.compile(r"\S{300,}")
_FEW = 12
"""Names that are all listed where one is not known."""
_LONG = 2_000
"""Characters of a sentence that can still be read."""


def printable(text: str) -> str:
    r"""Text that is safe on one line of a terminal.

    Control and formatting characters, line and paragraph separators, surrogates and what Unicode
    calls noncharacters, which XML forbids, are written
    as ``\xNN``, ``\uNNNN`` or ``\UNNNNNNNN``, a byte of a name that is not UTF-8 as ``\xNN``;
    the rest is as it is, also what joins emoji or Persian letters. Done twice it changes nothing
    more.

    Examples
    --------
    >>> print(printable("a\x1b[31m\u202eb\nc\udcff–é"))
    a\x1b[31m\u202eb\x0ac\xff–é
    """
    if text.isprintable():
        return text
    kept = {i for found in _SHOWS.finditer(text) for i in range(*found.span())}
    return "".join(
        _escaped(c) if _is_unseen(c) and i not in kept else c for i, c in enumerate(text)
    )


def _is_unseen(character: str) -> bool:
    code = ord(character)
    is_noncharacter = code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF
    return is_noncharacter or unicodedata.category(character) in _UNSEEN


def _escaped(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # how Python keeps a byte that is not UTF-8
        code -= 0xDC00
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def utf8_text(text: str) -> str:
    r"""Text that UTF-8 can hold: a byte of a file's name that is not UTF-8 becomes ``\xNN``."""
    return re.sub("[\ud800-\udfff]", lambda found: printable(found[0]), text)


def name_hint(name: str, known: Iterable[str]) -> str:
    """Return what may be meant by an unknown name; of few names, all that are available.

    Examples
    --------
    >>> name_hint("Gender", ["gender", "age"]), name_hint("x", ["fpr=0.01"])
    ("did you mean 'gender'? available: gender, age", 'available: fpr=0.01')
    """
    from difflib import get_close_matches  # noqa: PLC0415 - takes time to load

    names = list(known)
    lower = {one.lower().lstrip("-"): one for one in reversed(names)}
    near = [lower[one] for one in get_close_matches(name.lower().lstrip("-"), lower, n=3)]
    if near and (len(names) > _FEW or len(names) == 1):
        return f"did you mean {' or '.join(map(_quoted, near))}?"
    rest = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
    available = f"available: {', '.join(names[:_FEW]) or 'none'}{rest}"
    return f"did you mean {_quoted(near[0])}? {available}" if near else available


def _quoted(name: str) -> str:
    """A name in quotes; an option as it is."""
    return name if name.startswith("-") else repr(name)


def _shortened(sentence: str) -> str:
    """A sentence without the middle of what is too long in it, such as an id."""
    cut = _LONG_WORD.sub(lambda word: f"{word[0][:150]}...{word[0][-50:]}", sentence)
    return cut if len(cut) <= _LONG else f"{cut[: _LONG - 500]} ... {cut[-450:]}"


class ParivoxError(Exception):
    """Root of the errors that Parivox raises on purpose."""

    def __str__(self) -> str:
        """The sentence on one line that can be read, whatever the files hold."""
        return _shortened(printable(super().__str__()))


class DataError(ParivoxError):
    """A file or table does not hold what it must."""


class StrayQuote(DataError):  # noqa: N818 - named for what it tells
    """A cell begins with a quote that may not be meant to hold it."""


class ConfigError(ParivoxError):
    """An option or argument is wrong, or two of them contradict each other."""


class UndefinedMetric(ParivoxError):  # noqa: N818 - named for what it tells
    """A number was asked for that the data cannot define."""


class EncodingGuessed(UserWarning):
    """In which encoding a text was read that does not say so, with a word as it was read."""
