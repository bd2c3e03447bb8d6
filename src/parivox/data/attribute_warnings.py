"""Values of one attribute that may mean the same, be of two codings, or be decades of an age.

An inspection and an audit ask these functions and show the same.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from parivox.data.value_warnings import LOOKS_UNKNOWN, DataWarning, fold
from parivox.facts import fact

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

SYNONYMS = (
    ("f", "female", "woman", "women", "girl"),
    ("m", "male", "man", "men", "boy"),
    ("y", "yes", "true"),
    ("n", "no", "false"),
    ("uk", "gb", "gbr", "united kingdom", "great britain", "britain"),
    ("us", "usa", "united states", "united states of america", "america"),
    ("de", "deu", "ger", "germany", "deutschland"),
    ("fr", "fra", "france"),
    ("it", "ita", "italy"),
    ("es", "esp", "spain"),
    ("nl", "nld", "netherlands", "the netherlands", "holland"),
    ("ie", "irl", "ireland", "republic of ireland"),
    ("in", "ind", "india"),
    ("pk", "pak", "pakistan"),
    ("cn", "chn", "china"),
    ("jp", "jpn", "japan"),
    ("kr", "kor", "south korea", "korea", "republic of korea"),
    ("ca", "can", "canada"),
    ("au", "aus", "australia"),
    ("nz", "nzl", "new zealand"),
    ("mx", "mex", "mexico"),
    ("br", "bra", "brazil"),
    ("ru", "rus", "russia", "russian federation"),
    ("pl", "pol", "poland"),
    ("pt", "prt", "portugal"),
    ("se", "swe", "sweden"),
    ("no", "nor", "norway"),
    ("dk", "dnk", "denmark"),
    ("fi", "fin", "finland"),
    ("ch", "che", "switzerland"),
    ("at", "aut", "austria"),
    ("cz", "cze", "czech republic", "czechia"),
    ("ae", "are", "uae", "united arab emirates"),
    ("za", "zaf", "south africa"),
    ("ph", "phl", "philippines"),
    ("tr", "tur", "turkey", "turkiye"),
    ("ua", "ukr", "ukraine"),
    ("ro", "rou", "romania"),
)
"""Words and codes with one meaning, as `fold` writes them: sexes, answers, countries."""
_SEX_NAME = r"(?i)(^|[^a-z])(sex|gender)($|[^a-z])"
_AGE_NAME = r"(?i)(^|[^a-z])age($|[^a-z])"
_DECADE_VALUE = (
    r"(?i)^((\d0|\d0'?s|\d+ ?[-–] ?\d+|\d+ ?\+|[<>]=? ?\d+)|teens|twenties|thirties|forties|"
    r"fifties|sixties|seventies|eighties|nineties)$"
)
_MAX_MIXED_CODES, _MIN_DECADES = 3, 3
"""Codes and words of a mixture, at most each; ages of which all are decades, at least."""
_MIN_AGES, _MIN_DECADE_SHARE = 20, 0.4
"""Speakers of known age; share of ages that are multiples of 10, which is a tenth by chance."""
_MIN_AGE_IN_YEARS, _MIN_ADULT_AGE = 10, 16
_MAX_NAMES_SHOWN = 3


def attribute_warnings(name: str, values: Sequence[str]) -> list[DataWarning]:
    """Tell what the distinct values of an attribute may have been mixed of.

    Parameters
    ----------
    name
        Of the attribute.
    values
        Its distinct values.

    Returns
    -------
    list of DataWarning
        Nothing where nothing is noticed.

    Examples
    --------
    >>> for odd in attribute_warnings("nationality", ["UK", "United Kingdom", "India"]):
    ...     print(odd.code, odd.note)
    values_that_may_mean_the_same synonyms{"values": [["UK", "United Kingdom"]]}
    >>> [odd.note for odd in attribute_warnings("sex", ["1", "2", "f", "m"])]
    ['two_codings{"codes": ["1", "2"], "words": ["f", "m"]}']
    >>> [odd.code for odd in attribute_warnings("age", ["34", "30s", "51"])]
    ['decades_among_ages']
    """
    warnings = []
    synonyms = _same_meaning(values)
    if synonyms:
        note = fact("synonyms", values=synonyms)
        n_values = len({value for pair in synonyms for value in pair})
        what = fact("values_that_may_mean_the_same", attribute=name)
        warnings.append(DataWarning(what, n_values, note))
    if re.search(_AGE_NAME, name):
        return [*warnings, *_decades_among_ages(name, values)]
    return [*warnings, *_two_codings(name, values)]


def number_warnings(name: str, numbers: NDArray[np.float64]) -> list[DataWarning]:
    """Tell whether ages are all decades, or a sex has the codes of two codings.

    Examples
    --------
    >>> [odd.note for odd in number_warnings("age", np.array([20.0, 30.0, 50.0]))]
    ['numbers{"numbers": [20.0, 30.0, 50.0]}']
    >>> number_warnings("age", np.array([20.0, 31.0, 50.0]))
    []
    >>> [odd.code for odd in number_warnings("gender", np.array([0.0, 1.0, 2.0]))]
    ['codes_of_two_codings']
    """
    distinct = np.unique(numbers[np.isfinite(numbers)])
    numbers_shown = distinct[: 2 * _MAX_NAMES_SHOWN].tolist()
    are_decades = distinct.size >= _MIN_DECADES and bool((distinct % 10 == 0).all())
    if re.search(_AGE_NAME, name) and are_decades:
        what = fact("decades_not_ages", attribute=name)
        return [DataWarning(what, distinct.size, fact("numbers", numbers=numbers_shown))]
    if re.search(_SEX_NAME, name) and {0.0, 1.0, 2.0} <= set(distinct.tolist()):
        what = fact("codes_of_two_codings", attribute=name)
        note = fact("codes_0_1_or_1_2", numbers=numbers_shown)
        return [DataWarning(what, distinct.size, note)]
    return []


def age_warnings(name: str, ages: NDArray[np.float64]) -> list[DataWarning]:
    """Tell whether the ages of some speakers may be decades, those of others years.

    Parameters
    ----------
    name
        Of the attribute; only of ages is anything told.
    ages
        Of each speaker, NaN where it is unknown.

    Examples
    --------
    >>> years = np.arange(20.0, 70.0)
    >>> age_warnings("age", years)
    []
    >>> [odd.count for odd in age_warnings("age", np.append(years, [20.0, 30.0, 40.0] * 10))]
    [35]
    >>> [odd.note for odd in age_warnings("age", np.append(years, [2.0, 3.0, 4.0]))]
    ['children_or_decades{"numbers": [2.0, 3.0, 4.0]}']
    """
    ages = ages[np.isfinite(ages)]
    is_decade = ages % 10 == 0
    if not re.search(_AGE_NAME, name) or ages.size < _MIN_AGES or is_decade.all():
        return []
    warnings = []
    if is_decade.mean() >= _MIN_DECADE_SHARE:
        what = fact("speakers_with_decades", attribute=name)
        warnings.append(DataWarning(what, int(is_decade.sum()), "years_may_be_mixed_with_decades"))
    low = np.unique(ages[ages < _MIN_AGE_IN_YEARS])
    has_gap = not ((ages >= _MIN_AGE_IN_YEARS) & (ages < _MIN_ADULT_AGE)).any()
    n_low = int((ages < _MIN_AGE_IN_YEARS).sum())
    if has_gap and _MIN_DECADES <= n_low < ages.size / 2:
        what = fact("speakers_with_low_ages", attribute=name)
        note = fact("children_or_decades", numbers=low[: 2 * _MAX_NAMES_SHOWN].tolist())
        warnings.append(DataWarning(what, n_low, note))
    return warnings


def speaker_warnings(ids: Iterable[str]) -> list[DataWarning]:
    """Tell how many speakers may be in the data under two spellings.

    Two ids may be of one person if they differ in case, blanks, signs, leading zeros or the
    order of words only. No id is shown.

    Examples
    --------
    >>> speaker_warnings(["id0012", "id12", "Meier, Anna", "anna meier", "id13"])
    [DataWarning(what='speakers_under_two_spellings', count=4, note='ids_differ_in_spelling')]
    >>> speaker_warnings(["1-2", "2-1", "on", "no"])
    []
    """
    spellings: dict[str, int] = {}
    for speaker_id in ids:
        spelling = _plain_spelling(speaker_id)
        spellings[spelling] = spellings.get(spelling, 0) + 1
    n_speakers = sum(count for count in spellings.values() if count > 1)
    if not n_speakers:
        return []
    return [DataWarning("speakers_under_two_spellings", n_speakers, "ids_differ_in_spelling")]


def _plain_spelling(speaker_id: str) -> str:
    """Return an id without what two spellings of one name may differ in."""
    tokens = re.findall(r"[^\W\d_]+|\d+", fold(speaker_id))
    if all(token.isalpha() for token in tokens):
        tokens.sort()  # a name may begin with the family name
    # signs between numbers tell them apart: 1-11 is not 11-1, nor 1-1 the same as 11
    return " ".join(token.lstrip("0") or "0" if token.isdecimal() else token for token in tokens)


def _same_meaning(values: Sequence[str]) -> list[tuple[str, ...]]:
    """Return values that are synonyms, or of which one abbreviates the other."""
    folded = {value: fold(value) for value in values}
    groups = []
    for synonyms in SYNONYMS:
        same = [value for value in values if folded[value] in synonyms]
        # one letter and the words that it begins are noticed as spellings
        if len({folded[value] for value in same}) > 1 and not _begin_alike(same, folded):
            groups.append(tuple(same))
    grouped = {value for same in groups for value in same}
    for value in values:
        words = folded[value].split()
        if len(words) < 2 or value in grouped:
            continue
        initials = "".join(word[0] for word in words)
        short = [other for other in values if folded[other] == initials and other.isupper()]
        if short and short[0] not in grouped:
            groups.append((short[0], value))
    return groups[:_MAX_NAMES_SHOWN]


def _begin_alike(values: Sequence[str], folded: dict[str, str]) -> bool:
    """Whether two values are one letter and a word that begins with it."""
    first, *others = sorted({folded[value] for value in values}, key=len)
    return len(first) == 1 and len(others) == 1 and others[0].startswith(first)


def _two_codings(name: str, values: Sequence[str]) -> list[DataWarning]:
    """Tell whether a few numbers stand among a few words."""
    known = [value for value in values if value.lower() not in LOOKS_UNKNOWN]
    codes = sorted(value for value in known if re.fullmatch(r"\d", value))
    words = sorted(value for value in known if re.search(r"[^\W\d_]", value))
    is_mixed = 1 < len(codes) <= _MAX_MIXED_CODES and 1 < len(words) <= _MAX_MIXED_CODES
    if not is_mixed or len(codes) + len(words) < len(known):
        return []
    what = fact("values_in_two_codings", attribute=name)
    return [DataWarning(what, len(known), fact("two_codings", codes=codes, words=words))]


def _decades_among_ages(name: str, values: Sequence[str]) -> list[DataWarning]:
    """Tell whether decades or bands stand among single ages."""
    decades = [
        value for value in values if re.match(_DECADE_VALUE, value) and not value.isdecimal()
    ]
    ages = [value for value in values if value.isdecimal()]
    if not decades or not ages:
        return []
    what = fact("decades_among_ages", attribute=name)
    note = fact("examples", values=decades[:_MAX_NAMES_SHOWN])
    return [DataWarning(what, len(decades), note)]
