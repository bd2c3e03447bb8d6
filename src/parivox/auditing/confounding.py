"""Associations between attributes, by which a difference by one may be due to another.

Standardised rates, of all groups on one mixture of strata, remove the effect of the other attribute
(docs/methods/verdicts.md#standardised-rates).
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.core.cluster_errors import moments
from parivox.core.confounding import association, determines, standardised
from parivox.core.intervals import NOTE_NO_TEST_SPEAKER, rate_interval
from parivox.core.verdict import holm
from parivox.facts import fact, joined_facts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.operating_points import LocatedPoint
    from parivox.auditing.options import Options
    from parivox.auditing.schema import TableBuilder
    from parivox.auditing.speaker_errors import SpeakerErrors
    from parivox.core.counts import IntArray
    from parivox.data.grouping import Grouping
    from parivox.data.speaker_counts import SpeakerCounts
    from parivox.data.trial_set import TrialSet

    Valued = tuple[NDArray[np.int32], Sequence[str]]

COINCIDES, DETERMINES, DETERMINED = "alike", "tells", "told"
CONFOUNDED, NOT_SHOWN = "confounded", "not_shown"
MAX_TABLE_CELLS = 2_500
"""Pairs of values that are looked at."""
RANDOM_STREAM = 6
"""Tells these draws from the others of the same seed."""
STANDARDISED = "standardised"


def confounding_relations(
    trials: TrialSet | SpeakerCounts, groupings: Sequence[Grouping], options: Options
) -> list[dict[str, Any]]:
    """Return the associations between attributes of the groupings, as an audit records them.

    Every attribute of speakers or recordings counts, alone or in a combination. For an attribute of
    recordings, a speaker has the value of most of its recordings; speaker counts do not have it.
    Each pair has two relations, as groups may be compared by either attribute. p values are
    adjusted over the pairs, except those where one attribute determines the other.
    """
    values_by_attribute = _values_by_attribute(trials, groupings)
    alpha = 1 - options.confidence
    pairs: list[tuple[str, str, IntArray, dict[str, Any]]] = []
    for attribute, other_attribute in combinations(values_by_attribute, 2):
        table = _contingency_table(
            values_by_attribute[attribute], values_by_attribute[other_attribute]
        )
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
        pairs.append(
            (attribute, other_attribute, table, {"speakers": int(table.sum()), **statistics})
        )
    tested_p = []
    for _, _, table, pair_columns in pairs:
        is_determined = determines(table) or determines(table.T)
        is_tested = pair_columns["p"] > alpha or not is_determined
        tested_p.append(pair_columns["p"] if is_tested else np.nan)
    relations: list[dict[str, Any]] = []
    for p, (attribute, other_attribute, table, pair_columns) in zip(
        holm(tested_p).tolist(), pairs, strict=True
    ):
        pair_columns["p_holm"] = None if np.isnan(p) else p
        for names, oriented_table in (
            ((attribute, other_attribute), table),
            ((other_attribute, attribute), table.T),
        ):
            if np.isnan(p):
                relation = _direction(oriented_table)
            else:
                relation = CONFOUNDED if p <= alpha else NOT_SHOWN
            values = [values_by_attribute[name][1] for name in names]
            relation_columns = {"attribute": names[0], "other": names[1], "relation": relation}
            shares = None
            if relation == CONFOUNDED:
                shares = _differing_shares(values, oriented_table, options.minimums.speakers)
            relations.append(relation_columns | pair_columns | {"shares": shares})
    return relations


def _values_by_attribute(
    trials: TrialSet | SpeakerCounts, groupings: Sequence[Grouping]
) -> Mapping[str, Valued]:
    """Return the value of each speaker in use, -1 for unknown, and the names of the values."""
    values_by_attribute: dict[str, Valued] = {}
    # the grouping of an attribute alone comes before its combinations with others
    for grouping in sorted(groupings, key=lambda grouping: len(grouping.attributes)):
        if grouping.is_of_trials:
            continue
        for i, attribute in enumerate(grouping.attributes):
            if attribute in values_by_attribute:
                continue
            group_values = [group[i] for group in grouping.group_values]
            value_names = [
                value_name
                for value_name in grouping.attribute_values[i]
                if value_name in group_values
            ]
            # index -1, of unknown groups, finds the -1 at the end
            value_index = np.array(
                [*(value_names.index(value_name) for value_name in group_values), -1],
                dtype=np.int32,
            )
            if grouping.speaker_codes is not None:
                speaker_values = value_index[grouping.speaker_codes[trials.speakers_in_use]]
                values_by_attribute[attribute] = speaker_values, value_names
            else:
                recording_codes = trials.recording_codes(grouping)
                if recording_codes is None:
                    continue
                speaker_values = _most_frequent_values(value_index[recording_codes], trials)
                values_by_attribute[attribute] = speaker_values, value_names
    return values_by_attribute


def _most_frequent_values(
    utterance_code: NDArray[np.int32], trials: TrialSet | SpeakerCounts
) -> NDArray[np.int32]:
    """Return the value that most recordings of each speaker in use have; of two, the first."""
    speaker = trials.utterance_speaker
    is_known = (utterance_code >= 0) & (speaker >= 0)
    pairs, counts = np.unique(
        np.stack([speaker[is_known], utterance_code[is_known]]), axis=1, return_counts=True
    )
    speaker_code = np.full(int(speaker.max(initial=-1)) + 1, -1, dtype=np.int32)
    # the most frequent value of a speaker comes last, and overwrites the others
    order = np.lexsort((-pairs[1], counts))
    speaker_code[pairs[0][order]] = pairs[1][order]
    return speaker_code[trials.speakers_in_use]


def _contingency_table(values: Valued, other_values: Valued) -> IntArray:
    """Return the number of speakers with each pair of values."""
    sizes = len(values[1]), len(other_values[1])
    is_known = (values[0] >= 0) & (other_values[0] >= 0)
    cells = values[0][is_known].astype(np.int64) * sizes[1] + other_values[0][is_known]
    return np.bincount(cells, minlength=sizes[0] * sizes[1]).reshape(sizes)


def _direction(table: IntArray) -> str:
    """Return which of two attributes determines the other."""
    if not determines(table):
        return DETERMINED
    return COINCIDES if determines(table.T) else DETERMINES


def _differing_shares(
    values: Sequence[Sequence[str]], table: IntArray, min_speakers: int
) -> dict[str, Any] | None:
    """Return the value in which groups of enough speakers differ most, and how often they have it.

    The group that has it most often comes first. None where no two groups are large enough.
    """
    size = table.sum(axis=1)
    group_rows = np.flatnonzero(size >= max(min_speakers, 1))
    value_columns = np.flatnonzero(table.sum(axis=0))
    if group_rows.size < 2:
        return None
    kept_table = table[np.ix_(group_rows, value_columns)]
    column_index = np.arange(value_columns.size)
    expected = np.outer(size[group_rows], table.sum(axis=0)[value_columns]) / table.sum()
    # standardised, so that small groups do not stand out by chance
    residuals = (kept_table - expected) / np.sqrt(expected)
    highest_group, lowest_group = residuals.argmax(axis=0), residuals.argmin(axis=0)
    share = kept_table / size[group_rows, None]
    differences = np.where(
        kept_table[highest_group, column_index] >= min_speakers,
        share[highest_group, column_index] - share[lowest_group, column_index],
        -1,
    )
    value_column = int(differences.argmax())
    if differences[value_column] <= 0:
        return None
    extreme_rows = [
        int(group_rows[extreme_group[value_column]])
        for extreme_group in (highest_group, lowest_group)
    ]
    shared_column = int(value_columns[value_column])
    return {
        "value": values[1][shared_column],
        "groups": [
            {
                "group": values[0][row],
                **_share(int(table[row, shared_column]), int(size[row]), min_speakers),
            }
            for row in extreme_rows
        ],
    }


def _share(count: int, total: int, min_speakers: int) -> dict[str, float | int]:
    """Return a share; of few speakers, or all but few, only that they are few."""
    if count < min_speakers:
        return {"fewer_than": min_speakers}
    if total - count < min_speakers:
        return {"all_but_fewer_than": min_speakers}
    return {"share": count / total}


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
    """Add rates that give each stratum the same weight in every group.

    `errors_of_cells` are errors by speaker and by pair of cells ``stratum * n_groups + group``.
    """
    n_groups = len(grouping.groups)
    cell_index = np.arange(n_groups * len(strata.groups))
    for metric in errors_of_cells.rates:
        unit_errors = errors_of_cells.for_rate(metric)
        for point_index, located in enumerate(located_points):
            standardised_errors = standardised(
                unit_errors.operating_point(point_index),
                cell_index % n_groups,
                cell_index // n_groups,
            )
            unit_moments = moments(standardised_errors.cluster_errors)
            n_speakers = unit_moments.speakers
            interval = rate_interval(unit_moments, options.confidence)
            reasons = [located.reason or code for code in standardised_errors.reason.tolist()]
            is_missing = np.array([bool(text) for text in reasons])
            has_unknown_speakers = standardised_errors.cluster_errors.has_unknown_speakers
            if has_unknown_speakers.any():
                interval = interval.without_spread(has_unknown_speakers, NOTE_NO_TEST_SPEAKER)
            has_no_interval = (
                is_missing | has_unknown_speakers | (n_speakers < options.minimums.inference)
            )
            low, high = (
                np.where(has_no_interval, np.nan, limit) for limit in (interval.low, interval.high)
            )
            has_weight = standardised_errors.weight.astype(bool)
            strata_in_use = [strata.groups[i] for i in np.flatnonzero(has_weight).tolist()]
            weights = fact("equal_weights", strata=strata_in_use)
            left_out_shares = np.nan_to_num(standardised_errors.left_out).tolist()
            notes = [
                joined_facts(weights, fact("trials_left_out", share=share), note)
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
