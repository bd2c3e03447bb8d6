"""Patterns of ids: where in an id its speaker, its recording and attributes stand.

``{speaker}`` is the speaker, ``{speaker:3}`` one of three characters, ``{recording}`` what was
recorded at once; any other name in braces is an attribute of the recording. A star represents some
text within a folder, two for some text.
"""

from __future__ import annotations

import os
import re
from typing import Any

import polars as pl

from parivox.errors import ConfigError
from parivox.frozen import frozen

SPEAKER, RECORDING = "speaker", "recording"
_SIDE = re.compile(r"(enrol|test)=(.*)", re.DOTALL)
_NAME = re.compile(r"\{(\w*)(?::(\d+))?\}")
_TOKENS = re.compile(r"(\*\*|\*|\{\w*(?::\d+)?\})")
_MAX_LENGTH = 1000
"""Characters of all parts of stated length together, for the size of the expression."""
_EXPRESSIONS = {"**": ".+", "*": "[^/]+"}


@frozen
class IdPattern:
    """One pattern, for the ids of one side or of both."""

    text: str  # without its side
    side: str  # ``enrol``, ``test``, or empty for both
    names: tuple[str, ...]  # of what stands in braces, in order
    expression: str

    def matches(self, ids: pl.Series) -> pl.DataFrame:
        r"""Return what stands in each id under each name; null where the id does not fit.

        Examples
        --------
        >>> ids = pl.Series(["a/de/1", "b"])
        >>> parse_pattern("{speaker}/{language}/*").matches(ids).rows()
        [('a', 'de'), (None, None)]
        """
        text = with_slashes(ids).to_frame("id")
        return text.select(
            pl.col("id").str.extract(self.expression, group).alias(name)
            for group, name in enumerate(self.names, 1)
        )


def is_pattern(source: Any) -> bool:
    """Whether this is a pattern, or several, and no file."""
    if isinstance(source, (list, tuple)):
        return bool(source) and all(map(is_pattern, source))
    return isinstance(source, str) and bool(_NAME.search(source)) and not os.path.exists(source)  # noqa: PTH110 - any text


def parse_pattern(text: str) -> IdPattern:
    """Return a pattern as the user writes it, as in ``test=**/{speaker}-*``.

    Raises
    ------
    ConfigError
        If it lacks ``{speaker}``, has a name twice, or one that is nearly ``speaker``.
    """
    side_match = _SIDE.fullmatch(text)
    side, pattern = side_match.groups() if side_match else ("", text)
    names = tuple(name for name, _ in _NAME.findall(pattern))
    lengths = [length.lstrip("0") for _, length in _NAME.findall(pattern) if length]
    if not all(lengths) or sum(int(length[:9]) for length in lengths) > _MAX_LENGTH:
        msg = f"--utterances {text!r}: contains a part that is empty or too long"
        hint = f"give lengths of at least 1 that add up to at most {_MAX_LENGTH}"
        raise ConfigError(msg, hint)
    for name in names:
        for intended in (SPEAKER, RECORDING):
            if _is_one_edit_away(name, intended):
                msg = f"--utterances {text!r}: unknown name {{{name}}}"
                hint = f"did you mean {{{intended}}}?"
                raise ConfigError(msg, hint)
    if SPEAKER not in names:
        msg = f"--utterances {text!r}: does not locate the speaker"
        hint = "write {speaker} at the position of the speaker"
        raise ConfigError(msg, hint)
    if len(set(names)) < len(names) or "" in names:
        msg = f"--utterances {text!r}: contains a name twice, or empty braces"
        hint = "give each part a name, and use each name once"
        raise ConfigError(msg, hint)
    expression = ""
    for token in _TOKENS.split(pattern):
        named = _NAME.fullmatch(token)
        if named:
            expression += f"(.{{{named[2]}}})" if named[2] else "([^/]+?)"
        else:
            expression += _EXPRESSIONS.get(token, re.escape(token))
    return IdPattern(pattern, side, names, f"(?s)^{expression}$")


def speakers_by_pattern(pattern: str, ids: pl.Series) -> pl.Series:
    r"""Return the part of each id that a pattern calls the speaker; null where it does not fit.

    Examples
    --------
    >>> speakers_by_pattern("{speaker}-**", pl.Series(["id1-a-1", "id2-b/c", "id3"])).to_list()
    ['id1', 'id2', None]
    >>> speakers_by_pattern("**/{speaker}/*", pl.Series(["C:\\data\\id1\\1.wav"])).to_list()
    ['id1']
    """
    return parse_pattern(pattern).matches(ids)[SPEAKER]


def with_slashes(ids: pl.Series) -> pl.Series:
    """Return ids with slashes for the backslashes of Windows."""
    is_windows = ids.str.contains("\\", literal=True).any()
    return ids.str.replace_all("\\", "/", literal=True) if is_windows else ids


def _is_one_edit_away(name: str, intended: str) -> bool:
    """Whether one letter is missing, too many, wrong, or two are swapped.

    Examples
    --------
    >>> [_is_one_edit_away(name, "speaker") for name in ("speakr", "speaker", "language")]
    [True, False, False]
    """
    if name == intended or abs(len(name) - len(intended)) > 1:
        return False
    first, second = sorted((name, intended), key=len)
    if len(first) < len(second):
        return any(second[:i] + second[i + 1 :] == first for i in range(len(second)))
    differing = [i for i in range(len(first)) if first[i] != second[i]]
    if len(differing) == 1:
        return True
    i, j = (*differing, 0, 0)[:2]
    return len(differing) == 2 and j == i + 1 and first[i] == second[j] and first[j] == second[i]
