"""What is odd about values, numbers, ids and scores, although all of it can be read.

An inspection and an audit tell the same of the same data: both ask these functions. Nothing is
changed by them.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from parivox.errors import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.integer]

LOOKS_UNKNOWN = {
    *("#n/a", "#na", "<na>", "<unk>", "n.a.", "n.a", "n. a.", "n.k.", "nk", "nat", "unk"),
    *("missing", "not available", "not known", "not specified", "unspecified", "undefined"),
}
"""What is taken for a value as it stands, but is likely to say that none is known."""
ODDITIES = "oddities"
"""The source of what is odd, among what an audit tells of its data."""
CUT = "as where ids are cut at the first full stop, which SpeechBrain does; write them whole"
MOST = 10_000
"""Of more values than these, spellings are not compared."""
_SHOWN = 3
_ALIKE = str.maketrans(
    "аеорсухіјѕһԁԛԝкмтвнοανρτυχικεβημζ",
    "aeopcyxijshdqwkmtbhoavptyxikebhmz",
)
"""Letters, in lower case, that look like others in lower or upper case."""
_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_SHORT_DATE = rf"(?i)^(\d{{1,2}}[-. ]({_MONTHS})|({_MONTHS})[-. ]\d{{1,2}})$"
_DATE = r"^(\d{4}-\d\d-\d\d(T00:00:00)?|\d{1,2}[./]\d{1,2}[./]\d{4})$"
_DATED = r"(?i)group|band|range|class|bracket|age"
"""Attributes of which a date alone is no sensible value."""
_REWRITTEN = {
    "ids as a spreadsheet shortens long numbers": r"^[+-]?\d+([.,]\d+)?[eE][+-]?\d+$",
    "ids as a spreadsheet writes numbers": r"^\d+[.,]0+$",
    "ids as a spreadsheet makes dates of": rf"(?i)^\d{{1,2}}[-. /]({_MONTHS})([-. /]\d{{2,4}})?$",
}
_BEFORE_NUMBERS = [*"+-0123456789"]
_AGE = r"(?i)(^|[^a-z])age($|[^a-z])"
_OLDEST = 120
_FEW_NUMBERS = 10
_CODED = 0.25
_ENDING = r"\.[A-Za-z][A-Za-z0-9]{1,4}$"
_TIED, _FEW_TIED = 0.01, 10
_WRONG_END, _WRONG_SHARE = 0.05, 0.1
_SPAN, _BETWEEN = 50.0, 0.08
_TENTHS = (0.1, 0.9)
_FEW_SCORES, _STEPS = 100, 4096


@dataclass(frozen=True)
class Odd:
    """Something that is no error but worth a look: how often, and an example or a remark.

    What is of the whole file has the count 0.
    """

    what: str
    count: int
    note: str = ""


def odd_values(name: str, values: Sequence[str]) -> list[Odd]:
    """What is odd about the distinct values of an attribute.

    Examples
    --------
    >>> for one in odd_values("sex", ["F", "f", "m", "?"]):
    ...     print(f"{one.what}: {one.note}")
    values of 'sex' that may be one: 'F' and 'f'
    values of 'sex' that look unknown: '?'
    """
    found = []
    alike = list(_alike(values)) if len(values) <= MOST else []
    if alike:
        note = "; ".join(map(_in_words, alike[:_SHOWN]))
        found.append(Odd(f"values of {name!r} that may be one", sum(map(len, alike)), note))
    unknown = [one for one in values if _looks_unknown(one)]
    if unknown:
        note = ", ".join(f"'{shown(one)}'" for one in unknown[:_SHOWN])
        found.append(Odd(f"values of {name!r} that look unknown", len(unknown), note))
    if dates := _dates(name, pl.Series(values, dtype=pl.String)):
        note = f"{', '.join(dates[:_SHOWN])}: a spreadsheet may have changed them"
        found.append(Odd(f"values of {name!r} that look like dates", len(dates), note))
    return found


def _alike(values: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Values that may be one: but for case, blanks and signs, or one the first letter of other."""
    folded = {value: fold(value) for value in values}
    ordered = sorted(values, key=lambda value: folded[value])
    several = [tuple(same) for _, same in groupby(ordered, key=lambda value: folded[value])]
    yield from (tuple(sorted(same)) for same in several if len(same) > 1)
    words = [same[0] for same in several]
    for short in words:
        letter = folded[short]
        longer = [one for one in words if len(folded[one]) > 1 and folded[one][0] == letter]
        if len(letter) == 1 and letter.isalpha() and len(longer) == 1:
            yield short, longer[0]


def fold(value: str) -> str:
    """A value without what no reader sees or minds: case, form, blanks, dots, letters alike.

    Examples
    --------
    >>> fold("U.S.A."), fold("North_West")
    ('usa', 'north west')
    """
    text = unicodedata.normalize("NFKC", value).casefold().translate(_ALIKE)
    text = "".join(one for one in text if unicodedata.category(one) != "Cf")
    return re.sub(r"[\s_-]+", " ", re.sub(r"(?<=[^\W\d_])\.", "", text)).strip()


def _in_words(values: Sequence[str]) -> str:
    """Values that may be one, in code points where they look the same."""
    plain = {re.sub(r"[\s_.-]+", "", one.casefold()) for one in values}
    has_letter = any(len(one) == 1 for one in plain)
    return " and ".join(map(repr if len(plain) == 1 or has_letter else ascii, values))


def _looks_unknown(value: str) -> bool:
    return value.lower() in LOOKS_UNKNOWN or not re.search(r"\w", value)


def _dates(name: str, values: pl.Series) -> tuple[str, ...]:
    """Values that look like dates where others do not, or where no date is expected.

    Examples
    --------
    >>> (
    ...     _dates("Age group", pl.Series(["19-30", "2024-10-18"])),
    ...     _dates("visit", pl.Series(["1.2.2024"])),
    ... )
    (('2024-10-18',), ())
    """
    is_short, is_date = (values.str.contains(pattern) for pattern in (_SHORT_DATE, _DATE))
    hits = values.filter(is_short | is_date)
    if len(hits) < len(values) or is_short.any() or re.search(_DATED, name):
        return tuple(hits.to_list())
    return ()


def odd_numbers(name: str, numbers: Floats) -> list[Odd]:
    """What is odd about the numbers of an attribute: codes among them, other units.

    Beyond a gap wider than all the others span, or one negative number among whole ones.

    Examples
    --------
    >>> odd_numbers("age", np.array([18, 25, 33, 41, 60, -1, 999.0, 1990]))[0].note
    '-1, 999, 1990; the others are from 18 to 60'
    """
    each = np.unique(numbers[np.isfinite(numbers)])
    is_odd = np.zeros(each.size, dtype=bool)
    if re.search(_AGE, name):
        is_odd = (each < 0) | (each > _OLDEST)
    elif each.size > _FEW_NUMBERS and each[0] < 0 <= each[1] and (each % 1 == 0).all():
        is_odd[0] = True
    while (rest := each[~is_odd]).size > _FEW_NUMBERS:
        gaps = np.diff(rest)
        at = int(gaps.argmax())
        below, above = rest[: at + 1], rest[at + 1 :]
        few, many = (below, above) if below.size < above.size else (above, below)
        is_coded = few.size <= max(1, _CODED * rest.size) and many.size >= _FEW_NUMBERS
        if not is_coded or gaps[at] <= many[-1] - many[0]:
            break
        is_odd |= np.isin(each, few)
    rest, odd = each[~is_odd], each[is_odd]
    if not odd.size or not rest.size:
        return []
    shown = ", ".join(f"{one:g}" for one in odd[: 2 * _SHOWN])
    note = f"{shown}{', ...' * (odd.size > 2 * _SHOWN)}; the others are from "
    note += f"{rest[0]:g} to {rest[-1]:g}"
    return [Odd(f"numbers of {name!r} far from all others", int(odd.size), note)]


def odd_ids(ids: pl.Series) -> list[Odd]:
    """What is odd about distinct ids.

    Examples
    --------
    >>> odd_ids(pl.Series(["1E+05", "1002", "a", "A"]))
    [Odd(what='ids as a spreadsheet shortens long numbers', count=1, note='1E+05'), ...]
    >>> odd_ids(pl.Series(["a//1.wav", "a/1.wav", "b.wav", "b.flac"]))[0].note
    'a//1.wav and a/1.wav'
    """
    found = []
    digits = ids.filter(ids.str.head(1).is_in(_BEFORE_NUMBERS))
    for what, pattern in _REWRITTEN.items() if len(digits) else ():
        hits = digits.filter(digits.str.contains(pattern))
        if len(hits):
            found.append(Odd(what, len(hits), ", ".join(hits.head(2).to_list())))
    changes = {
        "ids that differ in case only": ids.str.to_lowercase(),
        "ids that differ in slashes only": _without_slashes(ids),
        "ids that differ in their ending only": _without_ending(ids),
        "ids that differ in characters that look alike": _in_one_form(ids),
    }
    for what, changed in changes.items():
        if changed is None:
            continue
        if changed.n_unique() < len(ids):
            is_alike = changed.is_duplicated()
            alike, plain = ids.filter(is_alike), changed.filter(is_alike)
            first = alike.filter(plain == plain.min()).sort(descending=True)
            found.append(Odd(what, len(alike), " and ".join(first.head(2).sort().to_list())))
    return found


def _without_slashes(ids: pl.Series) -> pl.Series | None:
    twice = (ids.str.contains(one, literal=True).any() for one in ("//", "\\"))
    first = (ids.str.starts_with(one).any() for one in ("/", "./"))
    if not any((*twice, *first)):
        return None
    one = ids.str.replace_all(r"[/\\]+", "/")
    return one.str.replace(r"^(\./|/)", "")


def _without_ending(ids: pl.Series) -> pl.Series | None:
    """Without the ending of a file's name; None where all have the same, or none."""
    endings = ids.str.slice(-4).unique()
    if len(endings) == 1 and endings[0].startswith("."):
        return None
    short = ids.str.replace(_ENDING, "")
    return None if (short == ids).all() else short


def _in_one_form(ids: pl.Series) -> pl.Series | None:
    is_wide = ids.str.len_bytes() != ids.str.len_chars()
    if not is_wide.any():
        return None
    wide = ids.filter(is_wide).unique()
    narrow = [
        "".join(c for c in unicodedata.normalize("NFKC", one) if unicodedata.category(c) != "Cf")
        for one in wide.to_list()
    ]
    return ids.replace(wide, pl.Series(narrow, dtype=pl.String))


def odd_targets(kept: int, of_itself: int, set_aside: int) -> list[Odd]:
    """What is odd about target trials: each is of an utterance with itself, or none is left.

    Examples
    --------
    >>> [odd.what for odd in odd_targets(8, 8, 0)], odd_targets(8, 7, 3)
    (['target trials, each of an utterance with itself'], [])
    """
    if kept and kept == of_itself:
        return [Odd("target trials, each of an utterance with itself", kept, CUT)]
    if set_aside and not kept:
        return [Odd("target trials set aside, so that none is left", set_aside, "they contradict")]
    return []


def odd_scores(values: Floats, target: Ints, nontarget: Ints) -> list[Odd]:
    """What is odd about scores, of rising distinct values with how many trials have each.

    Ties beyond 1 % of the trials; target trials at the wrong end; scores on two scales.

    Examples
    --------
    >>> values = np.append(-999.0, np.linspace(0, 1, 1000))
    >>> each = np.ones(1001, dtype=int)
    >>> odd_scores(values, np.append(100, each[1:]), each)[0].note
    '-999, which is 4.81 % of them'
    """
    trials = target + nontarget
    n = int(trials.sum())
    if not n:
        return []
    found = []
    at = int(trials.argmax())
    if trials[at] > max(_TIED * n, _FEW_TIED) and values.size > 1:
        share = f"{100 * trials[at] / n:.3g} %"
        note = f"{values[at]:.6g}, which is {share} of them"
        found.append(Odd("trials that share one score", int(trials[at]), note))
        values = np.delete(values, at)
        target, nontarget = np.delete(target, at), np.delete(nontarget, at)
    if values.size > 2 * _STEPS:  # for what is left, neighbours need not be told apart
        first = np.arange(0, values.size, values.size // _STEPS)
        target, nontarget = (np.add.reduceat(one, first) for one in (target, nontarget))
        values = values[first]
    low = int(np.searchsorted(np.cumsum(nontarget), _WRONG_END * nontarget.sum()))
    wrong, targets = int(target[:low].sum()), int(target.sum())
    if min(targets, int(nontarget.sum())) >= _FEW_SCORES and wrong > _WRONG_SHARE * targets:
        what = "target trials that score lower than 95 % of the nontarget trials"
        found.append(Odd(what, wrong, "signs may be turned, or labels"))
    return found + _scales(values, {"target": target, "nontarget": nontarget})


def _scales(values: Floats, of: dict[str, Ints]) -> list[Odd]:
    """Whether some scores are on another scale, as per cent are.

    From the lowest to the highest tenth of absolute values a normal distribution has 13 times, a
    Cauchy one 40; likelihood ratios have more, but many of them between.
    """
    size = np.abs(values)
    order = np.argsort(size, kind="stable")
    for label, trials in of.items():
        n = int(trials.sum())
        if n < _FEW_SCORES:
            continue
        up_to, rising = np.cumsum(trials[order]), size[order]
        low, high = (rising[np.searchsorted(up_to, part * n)] for part in _TENTHS)
        if not (low > 0 and np.isfinite(high) and high / low > _SPAN):
            continue
        third = (high / low) ** (1 / 3)
        first, last = np.searchsorted(rising, (low * third, high / third))
        between = int(trials[order][first:last].sum())
        if between < _BETWEEN * n:
            above = int(trials[size >= high / third].sum())
            note = f"a tenth is within {low:.3g} of zero, a tenth beyond {high:.3g}, few between"
            return [Odd(f"{label} trials whose scores seem to be on another scale", above, note)]
    return []
