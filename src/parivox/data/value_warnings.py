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
    "#n/a", "#na", "<na>", "<unk>", "n.a.", "n.a", "n. a.", "n.k.", "nk", "nat", "unk",
    "missing", "not available", "not known", "not specified", "unspecified", "undefined",
}  # fmt: skip
"""What is taken for a value as it stands, but is likely to say that none is known."""
RANGE_OF_NUMBERS = "different numbers of"
"""How the item begins that tells the range of an attribute, which is not odd."""
WARNING_SOURCE = "oddities"
"""The source of what is odd, among what an audit tells of its data."""
CUT_IDS_REASON = (
    "as where ids are cut at the first full stop, which SpeechBrain does; write them whole"
)
MAX_COMPARED_VALUES = 10_000
"""Of more values than these, spellings are not compared."""
_MAX_EXAMPLES = 3
_SIMILAR_CHARACTERS = str.maketrans(
    "аеорсухіјѕһԁԛԝкмтвнοανρτυχικεβημζ",
    "aeopcyxijshdqwkmtbhoavptyxikebhmz",
)
"""Letters, in lower case, that look like others in lower or upper case."""
_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_GENDERS = {"female", "male"}
_SHORT_DATE = rf"(?i)^(\d{{1,2}}[-. ]({_MONTHS})|({_MONTHS})[-. ]\d{{1,2}})$"
_DATE = r"^(\d{4}-\d\d-\d\d(T00:00:00)?|\d{1,2}[./]\d{1,2}[./]\d{4})$"
_UNDATED_NAME = r"(?i)group|band|range|class|bracket|age"
"""Attributes of which a date alone is no sensible value."""
_SPREADSHEET_FORMS = {
    "ids as a spreadsheet shortens long numbers": r"^[+-]?\d+([.,]\d+)?[eE][+-]?\d+$",
    "ids as a spreadsheet writes numbers": r"^\d+[.,]0+$",
    "ids as a spreadsheet makes dates of": rf"(?i)^\d{{1,2}}[-. /]({_MONTHS})([-. /]\d{{2,4}})?$",
}
_BEFORE_NUMBERS = [*"+-0123456789"]
_AGE_NAME = r"(?i)(^|[^a-z])age($|[^a-z])"
_MAX_AGE = 120
_MIN_NUMBERS = 10
_MAX_CODED_SHARE = 0.25
_FILE_ENDING = r"\.[A-Za-z][A-Za-z0-9]{1,4}$"
_MAX_TIED_SHARE, _MIN_TIED = 0.01, 10
_WRONG_END_SHARE, _MAX_WRONG_SHARE = 0.05, 0.1
_MIN_SCALE_RATIO, _MAX_BETWEEN_SHARE = 50.0, 0.08
_TENTHS = (0.1, 0.9)
_MIN_SCORES, _MAX_BINS = 100, 4096
_MIN_LLR_TRIALS = 10
"""Trials of a class without which nothing is concluded of the range of log likelihood ratios."""
_MAX_MILD_SLOPE, _MAX_COSINE_SLOPE = 1.4, 2.0
"""Slopes of calibration, natural ones taken as 1, up to which scores may be natural logarithms."""
_LOG10_SLOPES = (2.0, 4.0)
"""Slopes of scores that are likely to be logarithms to base 10, whose own is 2.3."""
_SLOPE_ERRORS = 3.5
_MAX_BETTER_COST = 0.5
"""Normalised cost below which deciding by scores is clearly better than one decision for all."""
_CALIBRATE_REMEDY = "parivox calibrate makes likelihood ratios of scores"
BASE_10_LLRS = "scores that look like log likelihood ratios to base 10"
NOT_LLR_SUBJECTS = {
    "log likelihood ratios that are all from 0 to 1",
    "log likelihood ratios that are all from -1 to 1",
    "log likelihood ratios none of which is negative",
    "log likelihood ratios none of which is positive",
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


def value_warnings(name: str, values: Sequence[str]) -> list[DataWarning]:
    """What is odd about the distinct values of an attribute.

    Examples
    --------
    >>> for one in value_warnings("sex", ["F", "f", "m", "?"]):
    ...     print(f"{one.what}: {one.note}")
    values of 'sex' that may be one: 'F' and 'f'
    values of 'sex' that look unknown: '?'
    """
    warnings = []
    alike = list(_alike_values(values)) if len(values) <= MAX_COMPARED_VALUES else []
    if alike:
        note = "; ".join(map(_alike_words, alike[:_MAX_EXAMPLES]))
        warnings.append(
            DataWarning(f"values of {name!r} that may be one", sum(map(len, alike)), note)
        )
    unknown = [unknown_value for unknown_value in values if _looks_unknown(unknown_value)]
    if unknown:
        note = ", ".join(
            f"'{printable(unknown_value)}'" for unknown_value in unknown[:_MAX_EXAMPLES]
        )
        warnings.append(DataWarning(f"values of {name!r} that look unknown", len(unknown), note))
    if dates := _date_like_values(name, pl.Series(values, dtype=pl.String)):
        note = f"{', '.join(dates[:_MAX_EXAMPLES])}: a spreadsheet may have changed them"
        warnings.append(DataWarning(f"values of {name!r} that look like dates", len(dates), note))
    return warnings


def _alike_values(values: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Values that may be one: but for case, blanks and signs, or one the first letter of other."""
    folded = {value: fold(value) for value in values}
    ordered = sorted(values, key=lambda value: folded[value])
    value_groups = [
        tuple(alike_values) for _, alike_values in groupby(ordered, key=lambda value: folded[value])
    ]
    yield from (
        tuple(sorted(alike_values)) for alike_values in value_groups if len(alike_values) > 1
    )
    words = [alike_values[0] for alike_values in value_groups]
    for short in words:
        letter = folded[short]
        words_from_letter = [
            word for word in words if len(folded[word]) > 1 and folded[word][0] == letter
        ]
        if len(letter) == 1 and letter.isalpha() and len(words_from_letter) == 1:
            yield short, words_from_letter[0]
    # as Common Voice has them since it asks more precisely: male beside male_masculine
    for word in words:
        first_token, *other_tokens = folded[word].split(" ")
        if other_tokens and first_token in _GENDERS:
            yield from ((short, word) for short in words if folded[short] == first_token)


def fold(value: str) -> str:
    """A value without what no reader sees or minds: case, form, blanks, dots, letters alike.

    Examples
    --------
    >>> fold("U.S.A."), fold("North_West")
    ('usa', 'north west')
    """
    text = unicodedata.normalize("NFKC", value).casefold().translate(_SIMILAR_CHARACTERS)
    text = "".join(character for character in text if unicodedata.category(character) != "Cf")
    return re.sub(r"[\s_-]+", " ", re.sub(r"(?<=[^\W\d_])\.", "", text)).strip()


def _alike_words(values: Sequence[str]) -> str:
    """Values that may be one, in code points where they look the same."""
    simplified = {re.sub(r"[\s_.-]+", "", value.casefold()) for value in values}
    has_letter = any(len(value) == 1 for value in simplified)
    return " and ".join(map(repr if len(simplified) == 1 or has_letter else ascii, values))


def _looks_unknown(value: str) -> bool:
    return value.lower() in LOOKS_UNKNOWN or not re.search(r"\w", value)


def _date_like_values(name: str, values: pl.Series) -> tuple[str, ...]:
    """Values that look like dates where others do not, or where no date is expected.

    Examples
    --------
    >>> (
    ...     _date_like_values("Age group", pl.Series(["19-30", "2024-10-18"])),
    ...     _date_like_values("visit", pl.Series(["1.2.2024"])),
    ... )
    (('2024-10-18',), ())
    """
    is_short, is_date = (values.str.contains(pattern) for pattern in (_SHORT_DATE, _DATE))
    matching = values.filter(is_short | is_date)
    if len(matching) < len(values) or is_short.any() or re.search(_UNDATED_NAME, name):
        return tuple(matching.to_list())
    return ()


def distant_number_warnings(name: str, numbers: Floats) -> list[DataWarning]:
    """What is odd about the numbers of an attribute: codes among them, other units.

    Beyond a gap wider than all the others span, or one negative number among whole ones.

    Examples
    --------
    >>> distant_number_warnings("age", np.array([18, 25, 33, 41, 60, -1, 999.0, 1990]))[0].note
    '-1, 999, 1990; the others are from 18 to 60'
    """
    distinct = np.unique(numbers[np.isfinite(numbers)])
    is_odd = np.zeros(distinct.size, dtype=bool)
    if re.search(_AGE_NAME, name):
        is_odd = (distinct < 0) | (distinct > _MAX_AGE)
    elif (
        distinct.size > _MIN_NUMBERS
        and distinct[0] < 0 <= distinct[1]
        and (distinct % 1 == 0).all()
    ):
        is_odd[0] = True
    while (others := distinct[~is_odd]).size > _MIN_NUMBERS:
        gaps = np.diff(others)
        widest = int(gaps.argmax())
        below, above = others[: widest + 1], others[widest + 1 :]
        smaller, larger = (below, above) if below.size < above.size else (above, below)
        is_coded = (
            smaller.size <= max(1, _MAX_CODED_SHARE * others.size) and larger.size >= _MIN_NUMBERS
        )
        if not is_coded or gaps[widest] <= larger[-1] - larger[0]:
            break
        is_odd |= np.isin(distinct, smaller)
    others, odd = distinct[~is_odd], distinct[is_odd]
    if not odd.size or not others.size:
        return []
    printable = ", ".join(f"{number:g}" for number in odd[: 2 * _MAX_EXAMPLES])
    if odd.size > 2 * _MAX_EXAMPLES:
        printable += ", ..."
    note = f"{printable}; the others are from "
    note += f"{others[0]:g} to {others[-1]:g}"
    return [DataWarning(f"numbers of {name!r} far from all others", int(odd.size), note)]


def id_warnings(ids: pl.Series) -> list[DataWarning]:
    """What is odd about distinct ids.

    Examples
    --------
    >>> id_warnings(pl.Series(["1E+05", "1002", "a", "A"]))
    [DataWarning(what='ids as a spreadsheet shortens long numbers', count=1, note='1E+05'), ...]
    >>> id_warnings(pl.Series(["a//1.wav", "a/1.wav", "b.wav", "b.flac"]))[0].note
    'a//1.wav and a/1.wav'
    """
    warnings = []
    number_like = ids.filter(ids.str.head(1).is_in(_BEFORE_NUMBERS))
    for description, pattern in _SPREADSHEET_FORMS.items() if len(number_like) else ():
        matching = number_like.filter(number_like.str.contains(pattern))
        if len(matching):
            warnings.append(
                DataWarning(description, len(matching), ", ".join(matching.head(2).to_list()))
            )
    changes = {
        "ids that differ in case only": ids.str.to_lowercase(),
        "ids that differ in slashes only": _without_slashes(ids),
        "ids that differ in their ending only": _without_ending(ids),
        "ids that differ in characters that look alike": _without_similar_characters(ids),
    }
    for description, changed in changes.items():
        if changed is None:
            continue
        if changed.n_unique() < len(ids):
            is_alike = changed.is_duplicated()
            alike_ids, changed_ids = ids.filter(is_alike), changed.filter(is_alike)
            first_alike = alike_ids.filter(changed_ids == changed_ids.min()).sort(descending=True)
            warnings.append(
                DataWarning(
                    description, len(alike_ids), " and ".join(first_alike.head(2).sort().to_list())
                )
            )
    return warnings


def _without_slashes(ids: pl.Series) -> pl.Series | None:
    has_doubled = (ids.str.contains(separator, literal=True).any() for separator in ("//", "\\"))
    has_leading = (ids.str.starts_with(separator).any() for separator in ("/", "./"))
    if not any((*has_doubled, *has_leading)):
        return None
    separator = ids.str.replace_all(r"[/\\]+", "/")
    return separator.str.replace(r"^(\./|/)", "")


def _without_ending(ids: pl.Series) -> pl.Series | None:
    """Without the ending of a file's name; None where all have the same, or none."""
    endings = ids.str.slice(-4).unique()
    if len(endings) == 1 and endings[0].startswith("."):
        return None
    short = ids.str.replace(_FILE_ENDING, "")
    return None if (short == ids).all() else short


def _without_similar_characters(ids: pl.Series) -> pl.Series | None:
    is_wide = ids.str.len_bytes() != ids.str.len_chars()
    if not is_wide.any():
        return None
    wide = ids.filter(is_wide).unique()
    narrow = [
        "".join(
            character
            for character in unicodedata.normalize("NFKC", wide_id)
            if unicodedata.category(character) != "Cf"
        )
        for wide_id in wide.to_list()
    ]
    return ids.replace(wide, pl.Series(narrow, dtype=pl.String))


def target_trial_warnings(kept: int, of_itself: int, set_aside: int) -> list[DataWarning]:
    """What is odd about target trials: each is of an utterance with itself, or none is left.

    Examples
    --------
    >>> [odd.what for odd in target_trial_warnings(8, 8, 0)], target_trial_warnings(8, 7, 3)
    (['target trials, each of an utterance with itself'], [])
    """
    if kept and kept == of_itself:
        return [
            DataWarning("target trials, each of an utterance with itself", kept, CUT_IDS_REASON)
        ]
    if set_aside and not kept:
        return [
            DataWarning(
                "target trials set aside, so that none is left", set_aside, "they contradict"
            )
        ]
    return []


def score_warnings(values: Floats, target: Ints, nontarget: Ints) -> list[DataWarning]:
    """What is odd about scores, of rising distinct values with how many trials have each.

    Ties beyond 1 % of the trials; target trials at the wrong end; scores on two scales.

    Examples
    --------
    >>> values = np.append(-999.0, np.linspace(0, 1, 1000))
    >>> each = np.ones(1001, dtype=int)
    >>> score_warnings(values, np.append(100, each[1:]), each)[0].note
    '-999, which is 4.81 % of them'
    """
    trials = target + nontarget
    n_trials = int(trials.sum())
    if not n_trials:
        return []
    warnings = []
    most_frequent = int(trials.argmax())
    if trials[most_frequent] > max(_MAX_TIED_SHARE * n_trials, _MIN_TIED) and values.size > 1:
        share = f"{100 * trials[most_frequent] / n_trials:.3g} %"
        note = f"{values[most_frequent]:.6g}, which is {share} of them"
        warnings.append(
            DataWarning("trials that share one score", int(trials[most_frequent]), note)
        )
        values = np.delete(values, most_frequent)
        target, nontarget = np.delete(target, most_frequent), np.delete(nontarget, most_frequent)
    if values.size > 2 * _MAX_BINS:  # for what is left, neighbours need not be told apart
        bin_starts = np.arange(0, values.size, values.size // _MAX_BINS)
        target, nontarget = (np.add.reduceat(counts, bin_starts) for counts in (target, nontarget))
        values = values[bin_starts]
    low_end = int(np.searchsorted(np.cumsum(nontarget), _WRONG_END_SHARE * nontarget.sum()))
    n_low_targets, n_target = int(target[:low_end].sum()), int(target.sum())
    if (
        min(n_target, int(nontarget.sum())) >= _MIN_SCORES
        and n_low_targets > _MAX_WRONG_SHARE * n_target
    ):
        description = "target trials that score lower than 95 % of the nontarget trials"
        warnings.append(DataWarning(description, n_low_targets, "signs may be turned, or labels"))
    n_nontarget = int(nontarget.sum())
    high_end = int(np.searchsorted(np.cumsum(target), (1 - _WRONG_END_SHARE) * n_target))
    n_high_nontargets = int(nontarget[high_end + 1 :].sum())
    if (
        min(n_target, n_nontarget) >= _MIN_SCORES
        and n_high_nontargets > _MAX_WRONG_SHARE * n_nontarget
    ):
        description = "nontarget trials that score higher than 95 % of the target trials"
        warnings.append(
            DataWarning(description, n_high_nontargets, "signs may be turned, or labels")
        )
    return warnings + _scale_warnings(values, {"target": target, "nontarget": nontarget})


def _scale_warnings(values: Floats, trials_by_class: dict[str, Ints]) -> list[DataWarning]:
    """Whether some scores are on another scale, as per cent are.

    From the lowest to the highest tenth of absolute values a normal distribution has 13 times, a
    Cauchy one 40; likelihood ratios have more, but many of them between.
    """
    magnitudes = np.abs(values)
    order = np.argsort(magnitudes, kind="stable")
    for label, trials in trials_by_class.items():
        n_trials = int(trials.sum())
        if n_trials < _MIN_SCORES:
            continue
        cumulative, rising = np.cumsum(trials[order]), magnitudes[order]
        low_tenth, high_tenth = (
            rising[np.searchsorted(cumulative, share * n_trials)] for share in _TENTHS
        )
        if not (
            low_tenth > 0 and np.isfinite(high_tenth) and high_tenth / low_tenth > _MIN_SCALE_RATIO
        ):
            continue
        step = (high_tenth / low_tenth) ** (1 / 3)
        gap_start, gap_end = np.searchsorted(rising, (low_tenth * step, high_tenth / step))
        n_between = int(trials[order][gap_start:gap_end].sum())
        if n_between < _MAX_BETWEEN_SHARE * n_trials:
            n_above = int(trials[magnitudes >= high_tenth / step].sum())
            note = (
                f"a tenth is within {low_tenth:.3g} of zero, a tenth beyond {high_tenth:.3g}, "
                "few between"
            )
            return [
                DataWarning(
                    f"{label} trials whose scores seem to be on another scale", n_above, note
                )
            ]
    return []


def llr_warnings(
    counts: Counts, log_base: float = math.e, costs: Sequence[CostModel] = ()
) -> list[DataWarning]:
    """What is odd about scores that are said to be log likelihood ratios.

    Their range is that of something else; they are logarithms to another base; at Bayes thresholds
    of `costs` all trials are decided alike, although their scores tell them apart. See
    docs/methods/costs.md#scores-that-are-not-log-likelihood-ratios.

    Examples
    --------
    >>> draw = np.random.default_rng(0)
    >>> target = np.arange(400) % 2
    >>> natural = draw.normal(6 * target - 3, np.sqrt(6))
    >>> [llr_warnings(Counts.from_scores(s, target)) for s in (natural, natural / math.log(10))]
    [[], [DataWarning(what='scores that look like log likelihood ratios to base 10', ...)]]
    """
    counts = _finite_counts(counts)
    n_target, n_nontarget = int(counts.n_target), int(counts.n_nontarget)
    if not n_target + n_nontarget:
        return []
    warnings = _range_warnings(counts)
    if not warnings and min(n_target, n_nontarget) >= _MIN_LLR_TRIALS:
        warnings = _slope_warnings(counts, log_base)
    return warnings + _threshold_warnings(counts, log_base, costs)


def _finite_counts(counts: Counts) -> Counts:
    """The counts at finite scores that trials have."""
    is_used = np.isfinite(counts.values) & (counts.target + counts.nontarget > 0)
    return Counts(counts.values[is_used], counts.target[is_used], counts.nontarget[is_used])


def _range_warnings(counts: Counts) -> list[DataWarning]:
    """Whether scores have one sign, as no ratios do of nontarget and target trials."""
    low, high = float(counts.values[0]), float(counts.values[-1])
    n_target, n_nontarget = int(counts.n_target), int(counts.n_nontarget)
    span = f"from {low:.4g} to {high:.4g}"
    n_trials = n_target + n_nontarget
    if low >= 0 and n_nontarget >= _MIN_LLR_TRIALS:
        if high <= 1:
            note = f"{span}, as probabilities or cosine similarities are; {_CALIBRATE_REMEDY}"
            return [DataWarning("log likelihood ratios that are all from 0 to 1", n_trials, note)]
        note = (
            f"{span}, as likelihood ratios without the logarithm or percentages are; take the "
            "logarithm of ratios, and calibrate other scores"
        )
        return [DataWarning("log likelihood ratios none of which is negative", n_trials, note)]
    if high <= 0 and n_target >= _MIN_LLR_TRIALS:
        note = f"{span}, as logarithms of probabilities are; {_CALIBRATE_REMEDY}"
        return [DataWarning("log likelihood ratios none of which is positive", n_trials, note)]
    return []


def _slope_warnings(counts: Counts, log_base: float) -> list[DataWarning]:
    """Whether scores are too small or too large for logarithms to this base."""
    n_trials = int(counts.n_target + counts.n_nontarget)
    factor = math.log(log_base)
    slope, error = _calibration_slope(counts)
    slope, error = slope / factor, error / factor
    lowest, highest = slope - _SLOPE_ERRORS * error, slope + _SLOPE_ERRORS * error
    size = float(np.abs(counts.values).max())
    if size <= 1 and lowest > _MAX_COSINE_SLOPE:
        note = f"as cosine similarities are; {_CALIBRATE_REMEDY}"
        return [DataWarning("log likelihood ratios that are all from -1 to 1", n_trials, note)]
    lowest_ratio, highest_ratio = _LOG10_SLOPES
    fit = f"a calibration multiplies them by {slope:.2f}"
    if (
        log_base != 10
        and lowest > _MAX_MILD_SLOPE
        and lowest_ratio <= slope * factor <= highest_ratio
    ):
        note = f"{fit}, as ln 10 is 2.30: give --llr-base 10"
        return [DataWarning(BASE_10_LLRS, n_trials, note)]
    if (
        log_base == 10
        and highest < 1 / _MAX_MILD_SLOPE
        and lowest_ratio <= 1 / slope <= highest_ratio
    ):
        note = f"{fit} after --llr-base 10: give --llr alone"
        return [DataWarning("scores that look like natural log likelihood ratios", n_trials, note)]
    return []


def _calibration_slope(counts: Counts) -> tuple[float, float]:
    """The slope of the calibration of scores, with its standard error over trials.

    Infinite where scores separate the classes; NaN errors are of no slope at all.
    """
    if counts.values.size > 2 * _MAX_BINS:
        bin_starts = np.arange(0, counts.values.size, counts.values.size // _MAX_BINS)
        trials = counts.target + counts.nontarget
        totals = np.add.reduceat(trials, bin_starts)
        means = np.add.reduceat(counts.values * trials, bin_starts) / totals
        target, nontarget = (
            np.add.reduceat(class_counts, bin_starts)
            for class_counts in (counts.target, counts.nontarget)
        )
        counts = Counts(means, target, nontarget)
    if unfit(counts):
        is_above = counts.values[counts.target > 0][0] > counts.values[counts.nontarget > 0][-1]
        return (math.inf, 0.0) if is_above else (math.nan, math.nan)
    calibration = logistic(counts)
    share = np.exp(-np.logaddexp(0.0, -calibration.llr(counts.values)))
    weights = 1 / float(counts.n_target), 1 / float(counts.n_nontarget)
    x = np.stack([counts.values, np.ones(counts.values.size)])
    class_weights = counts.target * weights[0], counts.nontarget * weights[1]
    bend = (x * ((class_weights[0] + class_weights[1]) * share * (1 - share))) @ x.T
    square = (
        class_weights[0] * weights[0] * (1 - share) ** 2 + class_weights[1] * weights[1] * share**2
    )
    inverse = np.linalg.inv(bend)
    variance = (inverse @ ((x * square) @ x.T) @ inverse)[0, 0]
    return calibration.slope, math.sqrt(variance)


def _threshold_warnings(
    counts: Counts, log_base: float, costs: Sequence[CostModel]
) -> list[DataWarning]:
    """Whether Bayes thresholds lie beyond all scores, although some threshold costs less."""
    low, high = float(counts.values[0]), float(counts.values[-1])
    problems = []
    for cost in dict.fromkeys(cost_part for model in costs for cost_part in model.parts):
        threshold = bayes_threshold(cost, log_base)
        if (
            low < threshold <= high
            or not float(min_cdet(counts, cost=cost).value) < _MAX_BETTER_COST
        ):
            continue
        beyond, decided = (
            (f"above all scores, the highest being {high:.4g}", "rejected")
            if threshold > high
            else (f"below all scores, the lowest being {low:.4g}", "accepted")
        )
        problems.append(f"{threshold:.4g} of {cost.name} is {beyond}: every trial is {decided}")
    if not problems:
        return []
    trials = int(counts.n_target + counts.n_nontarget)
    return [
        DataWarning("trials all decided alike at a Bayes threshold", trials, "; ".join(problems))
    ]
