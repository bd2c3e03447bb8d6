"""Errors that Parivox raises on purpose, and text that is safe in their messages.

::

    ParivoxError            a problem (what, where, found against expected) and a hint: the remedy
    ├── DataError           a file or table does not hold what it must
    ├── ConfigError         an option or argument is wrong, or two of them contradict
    └── UndefinedMetric     the data cannot define the requested number
    EncodingGuessed         a warning: the encoding that was assumed for a text that names none
    WorkRepeated            a warning: a worker ended by itself, and its work is repeated

The command line prints both, as "problem; hint" or on two lines, and exits with 2; the library
raises them. A warning is printed, and the command continues.

They are written with options of the command line (``--by``). Only there are they printed so;
the library names its arguments (``by=``), which `parivox.options.argument_names` knows.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module

__all__ = [
    "ConfigError",
    "DataError",
    "EncodingGuessed",
    "ParivoxError",
    "UndefinedMetric",
    "WorkRepeated",
    "message_for_caller",
    "name_hint",
    "options_named",
    "printable",
    "utf8_text",
]

_INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories that control a terminal, reorder its text or break the line."""

_EMOJI = "[\u2190-\u2bff\U0001f000-\U0001faff]"
_CURSIVE = "[\u0620-\u06ff\u0900-\u0dff]"
_VISIBLE_JOINERS = re.compile(
    f"((?<={_EMOJI})|(?<={_EMOJI}\ufe0f))\u200d(?={_EMOJI})"
    f"|(?<={_CURSIVE})[\u200c\u200d](?={_CURSIVE})"
    "|(?<=\U0001f3f4)[\U000e0020-\U000e007e]+\U000e007f"
)
"""Formatting characters with a visible effect: they join two emoji, join or separate cursive
letters, or make the flag of a region. Any other one is invisible, and could hide in a name."""

# by name, as options are described with these errors
_ARGUMENT_NAMES_MODULE = "parivox.options.argument_names"
_NAMES_OPTIONS: ContextVar[bool] = ContextVar(
    "whether messages name options of the command line", default=False
)

_LONG_WORD = re.compile(r"\S{300,}")
_MAX_LISTED_NAMES = 12
"""If a name is not known, so many available names are listed."""
_MAX_SENTENCE_LENGTH = 2_000
"""Characters of a message; longer ones are cut in the middle."""


def printable(text: str) -> str:
    r"""Return text that is safe on one line of a terminal.

    Control and formatting characters, line and paragraph separators, surrogates and the
    noncharacters of Unicode, which XML forbids, are written as ``\xNN``, ``\uNNNN`` or
    ``\UNNNNNNNN``; a byte of a name that is not UTF-8 as ``\xNN``. Everything else stays, also
    the joiners of emoji and Persian letters. Applied twice, it changes nothing more.

    Examples
    --------
    >>> print(printable("a\x1b[31m\u202eb\nc\udcff–é"))
    a\x1b[31m\u202eb\x0ac\xff–é
    """
    if text.isprintable():
        return text
    visible_positions: set[int] = set()
    for match in _VISIBLE_JOINERS.finditer(text):
        visible_positions.update(range(*match.span()))
    return "".join(
        _escaped(character)
        if _is_invisible(character) and i not in visible_positions
        else character
        for i, character in enumerate(text)
    )


def _is_invisible(character: str) -> bool:
    code = ord(character)
    is_noncharacter = code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF
    return is_noncharacter or unicodedata.category(character) in _INVISIBLE_CATEGORIES


def _escaped(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # how Python keeps a byte that is not UTF-8
        code -= 0xDC00
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def utf8_text(text: str) -> str:
    r"""Return text that UTF-8 can encode; a byte that is not UTF-8 becomes ``\xNN``."""
    return re.sub("[\ud800-\udfff]", lambda match: printable(match[0]), text)


def name_hint(name: str, available: Iterable[str]) -> str:
    """Return a hint for an unknown name: similar names, and the available names if they are few.

    Examples
    --------
    >>> name_hint("Gender", ["gender", "age"]), name_hint("x", ["fpr=0.01"])
    ("did you mean 'gender'? available: gender, age", 'available: fpr=0.01')
    """
    names = list(available)
    close_names = similar_names(name, names)
    if close_names and (len(names) > _MAX_LISTED_NAMES or len(names) == 1):
        return f"did you mean {' or '.join(map(_quoted, close_names))}?"
    n_more = len(names) - _MAX_LISTED_NAMES
    more_text = f" and {n_more} more" if n_more > 0 else ""
    names_text = f"available: {', '.join(names[:_MAX_LISTED_NAMES]) or 'none'}{more_text}"
    return f"did you mean {_quoted(close_names[0])}? {names_text}" if close_names else names_text


def similar_names(name: str, available: Iterable[str]) -> list[str]:
    """Return up to three available names that resemble a name, the closest first."""
    from difflib import get_close_matches  # noqa: PLC0415 - takes time to load

    # reversed: of two names that differ in case only, the one listed first is suggested
    names_by_key = {known.lower().lstrip("-"): known for known in reversed([*available])}
    close_keys = get_close_matches(name.lower().lstrip("-"), names_by_key, n=3)
    return [names_by_key[key] for key in close_keys]


def _quoted(name: str) -> str:
    """Return a name in quotes; an option without."""
    return name if name.startswith("-") else repr(name)


def _shortened(sentence: str) -> str:
    """Return a sentence without the middle of overlong words, such as ids, and of its own."""
    cut = _LONG_WORD.sub(lambda word: f"{word[0][:150]}...{word[0][-50:]}", sentence)
    return (
        cut
        if len(cut) <= _MAX_SENTENCE_LENGTH
        else f"{cut[: _MAX_SENTENCE_LENGTH - 500]} ... {cut[-450:]}"
    )


def _shown(sentence: str) -> str:
    """Return a sentence as the caller sees it: on one printable line, with options as it knows."""
    return _shortened(printable(message_for_caller(sentence)))


@contextmanager
def options_named() -> Iterator[None]:
    """Name options as the command line does in the messages of errors meanwhile."""
    token = _NAMES_OPTIONS.set(True)
    try:
        yield
    finally:
        _NAMES_OPTIONS.reset(token)


def message_for_caller(sentence: str) -> str:
    """Return a sentence with options in it named as the caller knows them.

    On the command line they stay as they are; elsewhere they become arguments of Python.
    """
    if _NAMES_OPTIONS.get() or not ("--" in sentence or "parivox " in sentence):
        return sentence
    return str(import_module(_ARGUMENT_NAMES_MODULE).python_words(sentence))


class ParivoxError(Exception):
    """Root of the errors that Parivox raises on purpose.

    Attributes
    ----------
    problem : str
        What is wrong, and where.
    hint : str
        What to do about it; empty if the problem says it all.
    """

    def __init__(self, problem: str = "", hint: str = "") -> None:
        # another process makes the error again of what the root gets
        super().__init__(*filter(None, (problem, hint)))
        self.problem, self.hint = problem, hint

    def __str__(self) -> str:
        """Return problem and hint on one printable line, whatever ids and names they quote."""
        return _shown(f"{self.problem}; {self.hint}" if self.hint else self.problem)

    @property
    def lines(self) -> tuple[str, str]:
        """Problem and hint, on a line each."""
        return _shown(self.problem), _shown(self.hint)


class DataError(ParivoxError):
    """A file or table does not hold what it must."""


class StrayQuote(DataError):  # noqa: N818 - named for what it reports
    """A cell begins with a quote that may not be meant to hold it."""


class ConfigError(ParivoxError):
    """An option or argument is wrong, or two of them contradict each other."""


class UndefinedMetric(ParivoxError):  # noqa: N818 - named for what it reports
    """The data cannot define the requested number."""


class WorkRepeated(UserWarning):
    """A worker ended by itself, so that its work is repeated."""


class EncodingGuessed(UserWarning):
    """The encoding that was assumed for a text that names none, with a word as it was read."""
