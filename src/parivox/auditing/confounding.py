"""Which attributes go together among the speakers, so that one may do what another seems to do.

Rates of all groups on one mixture of strata, beside the crude ones, take the other attribute out
(docs/methods/confounding.md#standardised-rates).
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.speaker_counts import SpeakerCounts
from parivox.core.cluster_errors import moments
from parivox.core.confounding import association, determines, standardised
from parivox.core.intervals import NOTE_NO_TEST_SPEAKER, rate_interval
from parivox.core.measures import RATES
from parivox.core.verdict import holm

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.operating_points import LocatedPoint
    from parivox.auditing.options import Options
    from parivox.auditing.schema import TableBuilder
    from parivox.auditing.speaker_errors import SpeakerErrors
    from parivox.core.counts import IntArray
    from parivox.data.grouping import Grouping
    from parivox.data.trial_set import TrialSet

    Valued = tuple[NDArray[np.int32], Sequence[str]]

COINCIDES, DETERMINES, DETERMINED = "alike", "tells", "told"
CONFOUNDED, NOT_SHOWN = "confounded", "not_shown"
MIN_MEDIUM_CRAMERS_V = 0.3
"""Below this Cramér's V, attributes are associated weakly, as Cohen's medium effect has it."""
MAX_TABLE_CELLS = 2_500
"""Pairs of values that are looked at."""
RANDOM_STREAM = 6
"""Tells these draws from the others of the same seed."""
STANDARDISED = "standardised"
_REASONS = {
    "no_trials": "no trials",
    "no_common_stratum": "no stratum in which every group has trials of several speakers",
}


def confounding_relations(
    trials: TrialSet | SpeakerCounts, groupings: Sequence[Grouping], options: Options
) -> list[dict[str, Any]]:
    """Which attributes of the groupings go together, as an audit records it.

    Every attribute of speakers or recordings counts, alone or in a combination; of recordings, a
    speaker has the value that most of its own have, which a tally does not tell. Each pair is told
    twice, as either is the one that groups are compared by; p values are adjusted over the pairs,
    those aside of which one tells the other.
    """
    values_by_attribute = _values_by_attribute(trials, groupings)
    alpha = 1 - options.confidence
    pairs: list[tuple[str, str, IntArray, dict[str, Any]]] = []
    for first, second in combinations(values_by_attribute, 2):
        table = _contingency_table(values_by_attribute[first], values_by_attribute[second])
        if min(table.shape) < 2 or table.size > MAX_TABLE_CELLS:
            continue
        associated = association(table, seed=(options.seed, RANDOM_STREAM, len(pairs)))
        if np.isnan(associated.cramers_v):
            continue
        statistics = {
            "cramers_v": associated.cramers_v,
            "p": associated.p,
            "p_holm": None,
            "test": associated.test,
        }
        pairs.append((first, second, table, {"speakers": int(table.sum()), **statistics}))
    is_tested = [
        pair_columns["p"] > alpha
        or not (determines(oriented_table) or determines(oriented_table.T))
        for _, _, oriented_table, pair_columns in pairs
    ]
    tested_p = [
        pair_columns["p"] if is_tested_pair else np.nan
        for is_tested_pair, (*_, pair_columns) in zip(is_tested, pairs, strict=True)
    ]
    relations: list[dict[str, Any]] = []
    for p, (first, second, table, pair_columns) in zip(holm(tested_p).tolist(), pairs, strict=True):
        pair_columns["p_holm"] = None if np.isnan(p) else p
        for names, oriented_table in (((first, second), table), ((second, first), table.T)):
            relation = (
                _direction(oriented_table)
                if np.isnan(p)
                else CONFOUNDED
                if p <= alpha
                else NOT_SHOWN
            )
            values = [values_by_attribute[name][1] for name in names]
            sentence = _sentence(
                relation, names, values, oriented_table, pair_columns, options.minimums.speakers
            )
            relation_columns = {"attribute": names[0], "other": names[1], "relation": relation}
            relations.append(relation_columns | pair_columns | {"sentence": sentence})
    return relations


def _values_by_attribute(
    trials: TrialSet | SpeakerCounts, groupings: Sequence[Grouping]
) -> Mapping[str, Valued]:
    """Value of each speaker in use, -1 for unknown, and the names of the values."""
    values_by_attribute: dict[str, Valued] = {}
    for grouping in sorted(groupings, key=lambda value_name: len(value_name.attributes)):
        if grouping.is_of_trials:
            continue
        for i, attribute in enumerate(grouping.attributes):
            if attribute in values_by_attribute:
                continue
            group_values = [group[i] for group in grouping.group_values]
            values = [value_name for value_name in grouping.attribute_values[i] if value_name in group_values]
            value_index = np.array(
                [*(values.index(value_name) for value_name in group_values), -1], dtype=np.int32
            )
            if grouping.speaker_codes is not None:
                values_by_attribute[attribute] = (
                    value_index[grouping.speaker_codes[trials.speakers_in_use]],
                    values,
                )
            elif not isinstance(trials, SpeakerCounts):
                values_by_attribute[attribute] = (
                    _most_frequent_values(value_index[grouping.utterance_codes(trials)], trials),
                    values,
                )
    return values_by_attribute


def _most_frequent_values(utterance_code: NDArray[np.int32], trials: TrialSet) -> NDArray[np.int32]:
    """The value that most recordings of each speaker in use have; of two, the first."""
    speaker = trials.utterance_speaker
    is_known = (utterance_code >= 0) & (speaker >= 0)
    pairs, counts = np.unique(
        np.stack([speaker[is_known], utterance_code[is_known]]), axis=1, return_counts=True
    )
    speaker_code = np.full(int(speaker.max(initial=-1)) + 1, -1, dtype=np.int32)
    rising_counts = np.lexsort((-pairs[1], counts))
    speaker_code[pairs[0][rising_counts]] = pairs[1][
        rising_counts
    ]  # of what is written twice, the last stays
    return speaker_code[trials.speakers_in_use]


def _contingency_table(first: Valued, second: Valued) -> IntArray:
    """Speakers with each pair of values."""
    sizes = len(first[1]), len(second[1])
    is_known = (first[0] >= 0) & (second[0] >= 0)
    cells = first[0][is_known].astype(np.int64) * sizes[1] + second[0][is_known]
    return np.bincount(cells, minlength=sizes[0] * sizes[1]).reshape(sizes)


def _direction(table: IntArray) -> str:
    """Which of two attributes, of which one tells the other, does so."""
    return (COINCIDES if determines(table.T) else DETERMINES) if determines(table) else DETERMINED


def _sentence(
    relation: str,
    names: tuple[str, str],
    values: Sequence[Sequence[str]],
    table: IntArray,
    pair_columns: Mapping[str, Any],
    min_speakers: int,
) -> str:
    """What a pair means for who compares groups by the first of the two."""
    first, second = names
    if relation == COINCIDES:
        return (
            f"{first} and {second} coincide: a difference by one cannot be separated from a "
            "difference by the other"
        )
    if relation == DETERMINES:
        return (
            f"{first} determines {second}: a difference by {first} may be a difference by {second}"
        )
    if relation == DETERMINED:
        return (
            f"{first} is determined by {second}: each value of {second} occurs with one value of {first} "
            f"only, so a difference by {first} may be a difference by {second}"
        )
    statistics = (
        f"Cramér's V {pair_columns['cramers_v']:.2f}, adjusted p {_p_in_words(pair_columns['p_holm'])}, "
        f"{pair_columns['speakers']:,} speakers"
    )
    if relation == NOT_SHOWN:
        return f"{first} and {second} are not shown to be associated ({statistics})"
    strength = (
        "weakly associated" if pair_columns["cramers_v"] < MIN_MEDIUM_CRAMERS_V else "associated"
    )
    shares = _shares_in_words(names, values, table, min_speakers)
    return (
        f"{first} and {second} are {strength}{shares} ({statistics}), so part of a difference by {first} may "
        f"be due to {second}"
    )


def _shares_in_words(
    attributes: tuple[str, str], values: Sequence[Sequence[str]], table: IntArray, min_speakers: int
) -> str:
    """How often two groups of enough speakers have the value in which such groups differ most."""
    size = table.sum(axis=1)
    group_rows, value_columns = (
        np.flatnonzero(size >= max(min_speakers, 1)),
        np.flatnonzero(table.sum(axis=0)),
    )
    if group_rows.size < 2:
        return ""
    kept_table, column_index = (
        table[np.ix_(group_rows, value_columns)],
        np.arange(value_columns.size),
    )
    expected = np.outer(size[group_rows], table.sum(axis=0)[value_columns]) / table.sum()
    residuals = (kept_table - expected) / np.sqrt(
        expected
    )  # by which small groups do not stand out
    highest_group, lowest_group = residuals.argmax(axis=0), residuals.argmin(axis=0)
    share = kept_table / size[group_rows, None]
    differences = np.where(
        kept_table[highest_group, column_index] >= min_speakers,
        share[highest_group, column_index] - share[lowest_group, column_index],
        -1,
    )
    value_column = int(differences.argmax())
    if differences[value_column] <= 0:
        return ""
    extreme_rows = [
        int(group_rows[extreme_group[value_column]])
        for extreme_group in (highest_group, lowest_group)
    ]
    shares = [
        _share_in_words(int(table[i, value_columns[value_column]]), int(size[i]), min_speakers)
        for i in extreme_rows
    ]
    return (
        f": {shares[0]} of the speakers with {attributes[0]} {values[0][extreme_rows[0]]} have {attributes[1]} "
        f"{values[1][value_columns[value_column]]}, {shares[1]} of those with {values[0][extreme_rows[1]]}"
    )


def _share_in_words(count: int, total: int, min_speakers: int) -> str:
    """A share in percent, or, of few people, only that they are few."""
    if count < min_speakers:
        return f"fewer than {min_speakers}"
    return (
        f"all but fewer than {min_speakers}"
        if total - count < min_speakers
        else f"{100 * count / total:.0f} %"
    )


def _p_in_words(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"= {p:.2g}"


# --- standardised rates --------------------------------------------------------------------------


def add_standardised_rows(
    rows: TableBuilder,
    audit_keys: Mapping[str, Any],
    grouping: Grouping,
    strata: Grouping,
    errors_of_cells: SpeakerErrors,
    located_points: Sequence[LocatedPoint],
    options: Options,
) -> None:
    """Rates that give each stratum the same weight in every group.

    `tallied` are errors and trials by speaker and by pair of cells ``stratum * groups + group``.
    """
    n_groups = len(grouping.groups)
    cell_index = np.arange(n_groups * len(strata.groups))
    for metric in RATES:
        unit_errors = errors_of_cells.for_rate(metric)
        for point_index, located in enumerate(located_points):
            standardised_errors = standardised(
                unit_errors.operating_point(point_index),
                cell_index % n_groups,
                cell_index // n_groups,
            )
            of_speakers = moments(standardised_errors.tally)
            n_speakers = of_speakers.speakers
            interval = rate_interval(of_speakers, options.confidence)
            reasons = [
                located.reason or _REASONS.get(text, text)
                for text in standardised_errors.reason.tolist()
            ]
            is_missing = np.array([bool(text) for text in reasons])
            has_unknown_speakers = standardised_errors.tally.has_unknown_speakers
            interval = (
                interval.without_spread(has_unknown_speakers, NOTE_NO_TEST_SPEAKER)
                if has_unknown_speakers.any()
                else interval
            )
            has_none = is_missing | has_unknown_speakers | (n_speakers < options.minimums.inference)
            low, high = (
                np.where(has_none, np.nan, limit) for limit in (interval.low, interval.high)
            )
            strata_in_use = [
                stratum
                for stratum, weight in zip(
                    strata.groups, standardised_errors.weight.tolist(), strict=True
                )
                if weight
            ]
            weights = f"equal weights: {', '.join(strata_in_use)}"
            left_out_shares = np.nan_to_num(standardised_errors.left_out).tolist()
            notes = [
                "; ".join(filter(None, (weights, f"{share:.1%} of the trials left out", note)))
                for share, note in zip(left_out_shares, interval.note.tolist(), strict=True)
            ]
            rows.add(
                **audit_keys,
                group=list(grouping.groups),
                metric=metric,
                definition=f"{STANDARDISED} {strata.name}",
                operating_point=located.point.text,
                value=np.where(is_missing, np.nan, interval.rate),
                speakers=n_speakers.astype(np.int64),
                threshold=located.threshold,
                reason=reasons,
                low=low,
                high=high,
                interval=np.where(np.isnan(high), "", interval.method),
                df=np.where(is_missing, np.nan, interval.df),
                se=np.where(is_missing, np.nan, interval.se),
                note=notes,
            )
