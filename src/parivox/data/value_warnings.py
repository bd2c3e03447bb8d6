"""What is odd about values, numbers, ids and scores, although all of it can be read.

An inspection and an audit tell the same of the same data: both ask these functions. Nothing is
changed by them.
"""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from parivox.core.calibration import logistic, unfit
from parivox.core.costs import bayes_threshold, min_cdet
from parivox.core.counts import Counts
from parivox.errors import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from parivox.core.costs import CostModel

    Floats = NDArray[np.float64]
    Ints = NDArray[np.integer]

LOOKS_UNKNOWN = {
    *("#n/a", "#na", "<na>", "<unk>", "n.a.", "n.a", "n. a.", "n.k.", "nk", "nat", "unk"),
    *("missing", "not available", "not known", "not specified", "unspecified", "undefined"),
}
"""What is taken for a value as it stands, but is likely to say that none is known."""
RANGE_OF_NUMBERS = "different numbers of"
"""How the item begins that tells the range of an attribute, which is not odd."""
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
_MIN_LLRS = 10
"""Trials of a class without which nothing is concluded of the range of log likelihood ratios."""
_MAX_MILD_SLOPE, _MAX_COSINE_SLOPE = 1.4, 2.0
"""Slopes of calibration, natural ones taken as 1, up to which scores may be natural logarithms."""
_LOG10_SLOPES = (2.0, 4.0)
"""Slopes of scores that are likely to be logarithms to base 10, whose own is 2.3."""
_SLOPE_ERRORS = 3.5
_BETTER_COST = 0.5
"""Normalised cost below which deciding by scores is clearly better than one decision for all."""
_CALIBRATE = "parivox calibrate makes likelihood ratios of scores"
TO_BASE_10 = "scores that look like log likelihood ratios to base 10"
NO_LLRS = {
    *(f"log likelihood ratios that are all from {low} to 1" for low in (0, -1)),
    *(f"log likelihood ratios none of which is {sign}" for sign in ("negative", "positive")),
}
"""What is said of scores that cannot be log likelihood ratios."""


@dataclass(frozen=True)
class DataWarning:
    """Something that is no error but worth a look: how often, and an example or a remark.

    What is of the whole file has the count 0.
    """

    what: str
    count: int
    note: str = ""


def odd_values(name: str, values: Sequence[str]) -> list[DataWarning]:
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
        found.append(DataWarning(f"values of {name!r} that may be one", sum(map(len, alike)), note))
    unknown = [one for one in values if _looks_unknown(one)]
    if unknown:
        note = ", ".join(f"'{printable(one)}'" for one in unknown[:_SHOWN])
        found.append(DataWarning(f"values of {name!r} that look unknown", len(unknown), note))
    if dates := _dates(name, pl.Series(values, dtype=pl.String)):
        note = f"{', '.join(dates[:_SHOWN])}: a spreadsheet may have changed them"
        found.append(DataWarning(f"values of {name!r} that look like dates", len(dates), note))
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


def odd_numbers(name: str, numbers: Floats) -> list[DataWarning]:
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
    printable = ", ".join(f"{one:g}" for one in odd[: 2 * _SHOWN])
    note = f"{printable}{', ...' * (odd.size > 2 * _SHOWN)}; the others are from "
    note += f"{rest[0]:g} to {rest[-1]:g}"
    return [DataWarning(f"numbers of {name!r} far from all others", int(odd.size), note)]


def odd_ids(ids: pl.Series) -> list[DataWarning]:
    """What is odd about distinct ids.

    Examples
    --------
    >>> odd_ids(pl.Series(["1E+05", "1002", "a", "A"]))
    [DataWarning(what='ids as a spreadsheet shortens long numbers', count=1, note='1E+05'), ...]
    >>> odd_ids(pl.Series(["a//1.wav", "a/1.wav", "b.wav", "b.flac"]))[0].note
    'a//1.wav and a/1.wav'
    """
    found = []
    digits = ids.filter(ids.str.head(1).is_in(_BEFORE_NUMBERS))
    for what, pattern in _REWRITTEN.items() if len(digits) else ():
        hits = digits.filter(digits.str.contains(pattern))
        if len(hits):
            found.append(DataWarning(what, len(hits), ", ".join(hits.head(2).to_list())))
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
            found.append(
                DataWarning(what, len(alike), " and ".join(first.head(2).sort().to_list()))
            )
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


def odd_targets(kept: int, of_itself: int, set_aside: int) -> list[DataWarning]:
    """What is odd about target trials: each is of an utterance with itself, or none is left.

    Examples
    --------
    >>> [odd.what for odd in odd_targets(8, 8, 0)], odd_targets(8, 7, 3)
    (['target trials, each of an utterance with itself'], [])
    """
    if kept and kept == of_itself:
        return [DataWarning("target trials, each of an utterance with itself", kept, CUT)]
    if set_aside and not kept:
        return [
            DataWarning(
                "target trials set aside, so that none is left", set_aside, "they contradict"
            )
        ]
    return []


def odd_scores(values: Floats, target: Ints, nontarget: Ints) -> list[DataWarning]:
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
        found.append(DataWarning("trials that share one score", int(trials[at]), note))
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
        found.append(DataWarning(what, wrong, "signs may be turned, or labels"))
    n_nontarget = int(nontarget.sum())
    high = int(np.searchsorted(np.cumsum(target), (1 - _WRONG_END) * targets))
    above = int(nontarget[high + 1 :].sum())
    if min(targets, n_nontarget) >= _FEW_SCORES and above > _WRONG_SHARE * n_nontarget:
        what = "nontarget trials that score higher than 95 % of the target trials"
        found.append(DataWarning(what, above, "signs may be turned, or labels"))
    return found + _scales(values, {"target": target, "nontarget": nontarget})


def _scales(values: Floats, of: dict[str, Ints]) -> list[DataWarning]:
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
            return [
                DataWarning(f"{label} trials whose scores seem to be on another scale", above, note)
            ]
    return []


def odd_llrs(
    counts: Counts, log_base: float = math.e, costs: Sequence[CostModel] = ()
) -> list[DataWarning]:
    """What is odd about scores that are said to be log likelihood ratios.

    Their range is that of something else; they are logarithms to another base; at Bayes thresholds
    of `costs` all trials are decided alike, although their scores tell them apart. See
    docs/methods/calibration.md#scores-that-are-no-log-likelihood-ratios.

    Examples
    --------
    >>> draw = np.random.default_rng(0)
    >>> target = np.arange(400) % 2
    >>> natural = draw.normal(6 * target - 3, np.sqrt(6))
    >>> [odd_llrs(Counts.from_scores(s, target)) for s in (natural, natural / math.log(10))]
    [[], [DataWarning(what='scores that look like log likelihood ratios to base 10', ...)]]
    """
    counts = _of_finite(counts)
    n_target, n_nontarget = int(counts.n_target), int(counts.n_nontarget)
    if not n_target + n_nontarget:
        return []
    odd = _odd_range(counts)
    if not odd and min(n_target, n_nontarget) >= _MIN_LLRS:
        odd = _odd_slope(counts, log_base)
    return odd + _odd_thresholds(counts, log_base, costs)


def _of_finite(counts: Counts) -> Counts:
    """The counts at finite scores that trials have."""
    kept = np.isfinite(counts.values) & (counts.target + counts.nontarget > 0)
    return Counts(counts.values[kept], counts.target[kept], counts.nontarget[kept])


def _odd_range(counts: Counts) -> list[DataWarning]:
    """Whether scores have one sign, as no ratios do of nontarget and target trials."""
    low, high = float(counts.values[0]), float(counts.values[-1])
    n_target, n_nontarget = int(counts.n_target), int(counts.n_nontarget)
    span = f"from {low:.4g} to {high:.4g}"
    n = n_target + n_nontarget
    if low >= 0 and n_nontarget >= _MIN_LLRS:
        if high <= 1:
            note = f"{span}, as probabilities or cosine similarities are; {_CALIBRATE}"
            return [DataWarning("log likelihood ratios that are all from 0 to 1", n, note)]
        note = (
            f"{span}, as likelihood ratios without the logarithm or percentages are; take the "
            "logarithm of ratios, and calibrate other scores"
        )
        return [DataWarning("log likelihood ratios none of which is negative", n, note)]
    if high <= 0 and n_target >= _MIN_LLRS:
        note = f"{span}, as logarithms of probabilities are; {_CALIBRATE}"
        return [DataWarning("log likelihood ratios none of which is positive", n, note)]
    return []


def _odd_slope(counts: Counts, log_base: float) -> list[DataWarning]:
    """Whether scores are too small or too large for logarithms to this base."""
    n = int(counts.n_target + counts.n_nontarget)
    factor = math.log(log_base)
    slope, error = _slope(counts)
    slope, error = slope / factor, error / factor
    lowest, highest = slope - _SLOPE_ERRORS * error, slope + _SLOPE_ERRORS * error
    size = float(np.abs(counts.values).max())
    if size <= 1 and lowest > _MAX_COSINE_SLOPE:
        note = f"as cosine similarities are; {_CALIBRATE}"
        return [DataWarning("log likelihood ratios that are all from -1 to 1", n, note)]
    low, high = _LOG10_SLOPES
    fit = f"a calibration multiplies them by {slope:.2f}"
    if log_base != 10 and lowest > _MAX_MILD_SLOPE and low <= slope * factor <= high:
        note = f"{fit}, as ln 10 is 2.30: give --llr-base 10"
        return [DataWarning(TO_BASE_10, n, note)]
    if log_base == 10 and highest < 1 / _MAX_MILD_SLOPE and low <= 1 / slope <= high:
        note = f"{fit} after --llr-base 10: give --llr alone"
        return [DataWarning("scores that look like natural log likelihood ratios", n, note)]
    return []


def _slope(counts: Counts) -> tuple[float, float]:
    """The slope of the calibration of scores, with its standard error over trials.

    Infinite where scores separate the classes; NaN errors are of no slope at all.
    """
    if counts.values.size > 2 * _STEPS:
        first = np.arange(0, counts.values.size, counts.values.size // _STEPS)
        trials = counts.target + counts.nontarget
        totals = np.add.reduceat(trials, first)
        means = np.add.reduceat(counts.values * trials, first) / totals
        target, nontarget = (
            np.add.reduceat(one, first) for one in (counts.target, counts.nontarget)
        )
        counts = Counts(means, target, nontarget)
    if unfit(counts):
        is_above = counts.values[counts.target > 0][0] > counts.values[counts.nontarget > 0][-1]
        return (math.inf, 0.0) if is_above else (math.nan, math.nan)
    line = logistic(counts)
    share = np.exp(-np.logaddexp(0.0, -line.llr(counts.values)))
    weights = 1 / float(counts.n_target), 1 / float(counts.n_nontarget)
    x = np.stack([counts.values, np.ones(counts.values.size)])
    of_class = counts.target * weights[0], counts.nontarget * weights[1]
    bend = (x * ((of_class[0] + of_class[1]) * share * (1 - share))) @ x.T
    square = of_class[0] * weights[0] * (1 - share) ** 2 + of_class[1] * weights[1] * share**2
    inverse = np.linalg.inv(bend)
    variance = (inverse @ ((x * square) @ x.T) @ inverse)[0, 0]
    return line.slope, math.sqrt(variance)


def _odd_thresholds(
    counts: Counts, log_base: float, costs: Sequence[CostModel]
) -> list[DataWarning]:
    """Whether Bayes thresholds lie beyond all scores, although some threshold costs less."""
    low, high = float(counts.values[0]), float(counts.values[-1])
    words = []
    for cost in dict.fromkeys(part for one in costs for part in one.parts):
        threshold = bayes_threshold(cost, log_base)
        if low < threshold <= high or not float(min_cdet(counts, cost=cost).value) < _BETTER_COST:
            continue
        beyond, decided = (
            (f"above all scores, the highest being {high:.4g}", "rejected")
            if threshold > high
            else (f"below all scores, the lowest being {low:.4g}", "accepted")
        )
        words.append(f"{threshold:.4g} of {cost.name} is {beyond}: every trial is {decided}")
    if not words:
        return []
    trials = int(counts.n_target + counts.n_nontarget)
    return [DataWarning("trials all decided alike at a Bayes threshold", trials, "; ".join(words))]
