"""What is odd about values, numbers, ids and scores, although all of it can be read.

An inspection and an audit report the same about the same data: both ask these functions. Nothing is
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

from parivox.core.costs import bayes_threshold, min_cdet
from parivox.core.counts import Counts
from parivox.facts import fact, facts_of_cell, joined_facts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from parivox.core.costs import CostModel

    Floats = NDArray[np.float64]
    Ints = NDArray[np.integer]

LOOKS_UNKNOWN = {
    "#n/a", "#na", "<na>", "<unk>", "n.a.", "n.a", "n. a.", "n.k.", "nk", "nat", "unk",
    "missing", "not available", "not known", "not specified", "unspecified", "undefined",
    "k.a.", "k. a.", "keine angabe", "keine angaben", "unbekannt",
}  # fmt: skip
"""What is taken for a value as it stands, but is likely to say that none is known."""
RANGE_OF_NUMBERS = "range_of_numbers"
"""The code of the range of an attribute, which is not odd."""
WARNING_SOURCE = "oddities"
"""The source of what is odd, among what an audit tells of its data."""
CUT_IDS_REASON = (
    "as if ids had been cut at the first full stop, which SpeechBrain does; write the whole ids"
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
    "ids_shortened_by_spreadsheet": r"^[+-]?\d+([.,]\d+)?[eE][+-]?\d+$",
    "ids_like_numbers_of_spreadsheet": r"^\d+[.,]0+$",
    "ids_like_dates_of_spreadsheet": rf"(?i)^\d{{1,2}}[-. /]({_MONTHS})([-. /]\d{{2,4}})?$",
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
_CALIBRATE_REMEDY = "calibrate_scores"
_UNQUOTED_IDS = "inspection_quotes_ids"
BASE_10_LLRS = "scores_like_base_10_llrs"
NOT_LLR_SUBJECTS = {
    "llrs_from_0_to_1",
    "llrs_from_minus_1_to_1",
    "llrs_none_negative",
    "llrs_none_positive",
}
"""Codes of what is said of scores that cannot be log likelihood ratios."""


@dataclass(frozen=True)
class DataWarning:
    """Something that is no error but worth a look: how often, and an example or a remark.

    What is of the whole file has the count 0. What it is, and the remark, are facts
    (`parivox.facts`).
    """

    what: str
    count: int
    note: str = ""

    @property
    def code(self) -> str:
        """The code of what it is."""
        return facts_of_cell(self.what)[0].code


def value_warnings(name: str, values: Sequence[str]) -> list[DataWarning]:
    """What is odd about the distinct values of an attribute.

    Examples
    --------
    >>> for one in value_warnings("sex", ["F", "f", "m", "?"]):
    ...     print(one.what, one.note)
    values_that_may_be_one{"attribute": "sex"} same_values{"values": [["F", "f"]]}
    values_that_look_unknown{"attribute": "sex"} examples{"values": ["?"]}
    """
    warnings = []
    alike = list(_alike_values(values)) if len(values) <= MAX_COMPARED_VALUES else []
    if alike:
        note = fact("same_values", values=alike[:_MAX_EXAMPLES])
        what = fact("values_that_may_be_one", attribute=name)
        warnings.append(DataWarning(what, sum(map(len, alike)), note))
    unknown = [unknown_value for unknown_value in values if looks_unknown(unknown_value)]
    if unknown:
        note = fact("examples", values=unknown[:_MAX_EXAMPLES])
        what = fact("values_that_look_unknown", attribute=name)
        warnings.append(DataWarning(what, len(unknown), note))
    if dates := _date_like_values(name, pl.Series(values, dtype=pl.String)):
        note = fact("changed_by_spreadsheet", values=dates[:_MAX_EXAMPLES])
        what = fact("values_that_look_like_dates", attribute=name)
        warnings.append(DataWarning(what, len(dates), note))
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
    text = value.casefold()
    if not value.isascii():
        text = unicodedata.normalize("NFKC", value).casefold().translate(_SIMILAR_CHARACTERS)
        text = "".join(character for character in text if unicodedata.category(character) != "Cf")
    return re.sub(r"[\s_-]+", " ", re.sub(r"(?<=[^\W\d_])\.", "", text)).strip()


def alike_words(values: Sequence[str]) -> str:
    """Values that may be one, in code points where they look the same."""
    simplified = {re.sub(r"[\s_.-]+", "", value.casefold()) for value in values}
    has_letter = any(len(value) == 1 for value in simplified)
    return " and ".join(map(repr if len(simplified) == 1 or has_letter else ascii, values))


def looks_unknown(value: str) -> bool:
    """Return whether a value is likely to say that none is known."""
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
    'distant_numbers{"numbers": [-1.0, 999.0, 1990.0], "more": 0, "others_from": 18.0, ...}'
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
    note = fact(
        "distant_numbers",
        numbers=odd[: 2 * _MAX_EXAMPLES].tolist(),
        more=max(odd.size - 2 * _MAX_EXAMPLES, 0),
        others_from=float(others[0]),
        others_to=float(others[-1]),
    )
    what = fact("numbers_far_from_others", attribute=name)
    return [DataWarning(what, int(odd.size), note)]


def id_warnings(ids: pl.Series, *, quotes_ids: bool = True) -> list[DataWarning]:
    """What is odd about distinct ids.

    Notes quote two of the ids only with `quotes_ids`, as results may be shown to anybody.

    Examples
    --------
    >>> id_warnings(pl.Series(["1E+05", "1002", "a", "A"]))
    [DataWarning(what='ids_shortened_by_spreadsheet', count=1, note='ids{"ids": ["1E+05"]}'), ...]
    >>> id_warnings(pl.Series(["a//1.wav", "a/1.wav", "b.wav", "b.flac"]))[0].note
    'two_ids{"ids": ["a//1.wav", "a/1.wav"]}'
    """
    warnings = []
    ids = ids.drop_nulls()
    number_like = ids.filter(ids.str.head(1).is_in(_BEFORE_NUMBERS))
    for code, pattern in _SPREADSHEET_FORMS.items() if len(number_like) else ():
        matching = number_like.filter(number_like.str.contains(pattern))
        if len(matching):
            note = fact("ids", ids=matching.head(2).to_list()) if quotes_ids else _UNQUOTED_IDS
            warnings.append(DataWarning(code, len(matching), note))
    changes = {
        "ids_alike_but_for_case": _in_lower_case(ids),
        "ids_alike_but_for_slashes": _without_slashes(ids),
        "ids_alike_but_for_endings": _without_ending(ids),
        "ids_with_similar_characters": _without_similar_characters(ids),
    }
    for code, changed in changes.items():
        if changed is None:
            continue
        # hashes are compared faster, and are distinct only if the ids are
        if changed.hash().n_unique() < len(ids) and changed.n_unique() < len(ids):
            is_alike = changed.is_duplicated()
            alike_ids, changed_ids = ids.filter(is_alike), changed.filter(is_alike)
            note = _UNQUOTED_IDS
            if quotes_ids:
                first_alike = alike_ids.filter(changed_ids == changed_ids.min())
                two_ids = first_alike.sort(descending=True).head(2).sort()
                note = fact("two_ids", ids=two_ids.to_list())
            warnings.append(DataWarning(code, len(alike_ids), note))
    return warnings


def _in_lower_case(ids: pl.Series) -> pl.Series | None:
    """In lower case; None where all are."""
    lower = ids.str.to_lowercase()
    return None if (lower == ids).all() else lower


def _without_slashes(ids: pl.Series) -> pl.Series | None:
    """Without slashes that change no path; None where there is none."""
    has_such_slashes = any(ids.str.contains(sign, literal=True).any() for sign in ("//", "\\"))
    if not has_such_slashes and not any(ids.str.starts_with(sign).any() for sign in ("/", "./")):
        return None
    separator = ids.str.replace_all(r"[/\\]+", "/")
    return separator.str.replace(r"^(\./|/)", "")


def _without_ending(ids: pl.Series) -> pl.Series | None:
    """Without the ending of a file's name; None where all have the same, or none."""
    first_ending = ids.head(1).str.slice(-4).item() if len(ids) else ""
    if first_ending.startswith(".") and ids.str.ends_with(first_ending).all():
        return None
    short = ids.str.replace(_FILE_ENDING, "")
    return None if (short == ids).all() else short


def _without_similar_characters(ids: pl.Series) -> pl.Series | None:
    """With one form of characters that look alike; None where all are ASCII."""
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
    (['target_trials_of_themselves'], [])
    """
    if kept and kept == of_itself:
        return [DataWarning("target_trials_of_themselves", kept, "ids_may_be_cut")]
    if set_aside and not kept:
        return [DataWarning("no_target_trial_left", set_aside, "contradictory")]
    return []


def score_warnings(values: Floats, target: Ints, nontarget: Ints) -> list[DataWarning]:
    """What is odd about scores, of rising distinct values with how many trials have each.

    Ties beyond 1 % of the trials; target trials at the wrong end; scores on two scales.

    Examples
    --------
    >>> values = np.append(-999.0, np.linspace(0, 1, 1000))
    >>> each = np.ones(1001, dtype=int)
    >>> score_warnings(values, np.append(100, each[1:]), each)[0].note
    'share_of_score{"score": "-999", "share": 0.0480...}'
    """
    trials = target + nontarget
    n_trials = int(trials.sum())
    if not n_trials:
        return []
    warnings = []
    most_frequent = int(trials.argmax())
    if trials[most_frequent] > max(_MAX_TIED_SHARE * n_trials, _MIN_TIED) and values.size > 1:
        note = fact(
            "share_of_score",
            score=f"{values[most_frequent]:.6g}",
            share=float(trials[most_frequent] / n_trials),
        )
        warnings.append(DataWarning("trials_with_one_score", int(trials[most_frequent]), note))
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
        warnings.append(
            DataWarning("low_target_scores", n_low_targets, "signs_or_labels_may_be_turned")
        )
    n_nontarget = int(nontarget.sum())
    high_end = int(np.searchsorted(np.cumsum(target), (1 - _WRONG_END_SHARE) * n_target))
    n_high_nontargets = int(nontarget[high_end + 1 :].sum())
    if (
        min(n_target, n_nontarget) >= _MIN_SCORES
        and n_high_nontargets > _MAX_WRONG_SHARE * n_nontarget
    ):
        warnings.append(
            DataWarning("high_nontarget_scores", n_high_nontargets, "signs_or_labels_may_be_turned")
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
            note = fact("tenths_of_scores", low=float(low_tenth), high=float(high_tenth))
            what = fact("scores_on_another_scale", trials=label)
            return [DataWarning(what, n_above, note)]
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
    [[], [DataWarning(what='scores_like_base_10_llrs', ...)]]
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
    span = {"low": float(low), "high": float(high)}
    n_trials = n_target + n_nontarget
    if low >= 0 and n_nontarget >= _MIN_LLR_TRIALS:
        if high <= 1:
            note = joined_facts(fact("like_probabilities", **span), _CALIBRATE_REMEDY)
            return [DataWarning("llrs_from_0_to_1", n_trials, note)]
        note = joined_facts(fact("like_ratios_or_percentages", **span), "take_logarithm")
        return [DataWarning("llrs_none_negative", n_trials, note)]
    if high <= 0 and n_target >= _MIN_LLR_TRIALS:
        note = joined_facts(fact("like_log_probabilities", **span), _CALIBRATE_REMEDY)
        return [DataWarning("llrs_none_positive", n_trials, note)]
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
        note = joined_facts("like_cosine_similarities", _CALIBRATE_REMEDY)
        return [DataWarning("llrs_from_minus_1_to_1", n_trials, note)]
    lowest_ratio, highest_ratio = _LOG10_SLOPES
    if (
        log_base != 10
        and lowest > _MAX_MILD_SLOPE
        and lowest_ratio <= slope * factor <= highest_ratio
    ):
        note = fact("slope_of_base_10_llrs", slope=round(slope, 2))
        return [DataWarning(BASE_10_LLRS, n_trials, note)]
    if (
        log_base == 10
        and highest < 1 / _MAX_MILD_SLOPE
        and lowest_ratio <= 1 / slope <= highest_ratio
    ):
        note = fact("slope_of_natural_llrs", slope=round(slope, 2))
        return [DataWarning("scores_like_natural_llrs", n_trials, note)]
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
    from parivox.core.calibration import logistic, unfit  # noqa: PLC0415 - with --llr only

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
        code = "threshold_above_scores" if threshold > high else "threshold_below_scores"
        problems.append(
            fact(
                code,
                threshold=float(threshold),
                cost=cost.name,
                extreme=float(high if threshold > high else low),
            )
        )
    if not problems:
        return []
    trials = int(counts.n_target + counts.n_nontarget)
    return [DataWarning("trials_decided_alike", trials, joined_facts(*problems))]
