"""Everything Parivox raises on purpose.

::

    ParivoxError            one sentence: what, where, found against expected, the mend
    ├── DataError           a file or table does not hold what it must
    ├── ConfigError         an option or argument is wrong, or two of them contradict
    └── UndefinedMetric     a number was asked for that the data cannot define

The command line prints the sentence and exits with 2; the library raises it.
"""

import unicodedata

__all__ = ["ConfigError", "DataError", "ParivoxError", "UndefinedMetric", "shown"]

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories that steer a terminal, reorder its text or break the line."""


def shown(text: str) -> str:
    r"""Text that is safe on one line of a terminal.

    Control and formatting characters, line and paragraph separators and surrogates are written
    as ``\xNN``, ``\uNNNN`` or ``\UNNNNNNNN``, a byte of a name that is not UTF-8 as ``\xNN``;
    the rest is as it is. Done twice it changes nothing more.

    Examples
    --------
    >>> print(shown("a\x1b[31m\u202eb\nc\udcff–é"))
    a\x1b[31m\u202eb\x0ac\xff–é
    """
    if text.isprintable():
        return text
    return "".join(_escaped(c) if unicodedata.category(c) in _UNSEEN else c for c in text)


def _escaped(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # how Python keeps a byte that is not UTF-8
        code -= 0xDC00
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


class ParivoxError(Exception):
    """Root of the errors that Parivox raises on purpose."""

    def __str__(self) -> str:
        """The sentence on one line, whatever the files hold."""
        return shown(super().__str__())


class DataError(ParivoxError):
    """A file or table does not hold what it must."""


class ConfigError(ParivoxError):
    """An option or argument is wrong, or two of them contradict each other."""


class UndefinedMetric(ParivoxError):  # noqa: N818 - named for what it tells
    """A number was asked for that the data cannot define."""
