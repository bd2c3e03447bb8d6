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
_WHY = {
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
    valued = _attributes(trials, groupings)
    level = 1 - options.confidence
    pairs: list[tuple[str, str, IntArray, dict[str, Any]]] = []
    for first, second in combinations(valued, 2):
        table = _table(valued[first], valued[second])
        if min(table.shape) < 2 or table.size > MAX_TABLE_CELLS:
            continue
        found = association(table, seed=(options.seed, RANDOM_STREAM, len(pairs)))
        if np.isnan(found.cramers_v):
            continue
        figures = {"cramers_v": found.cramers_v, "p": found.p, "p_holm": None, "test": found.test}
        pairs.append((first, second, table, {"speakers": int(table.sum()), **figures}))
    is_tested = [
        row["p"] > level or not (determines(of) or determines(of.T)) for _, _, of, row in pairs
    ]
    chances = [row["p"] if one else np.nan for one, (*_, row) in zip(is_tested, pairs, strict=True)]
    relations: list[dict[str, Any]] = []
    for p, (first, second, table, row) in zip(holm(chances).tolist(), pairs, strict=True):
        row["p_holm"] = None if np.isnan(p) else p
        for names, of in (((first, second), table), ((second, first), table.T)):
            relation = _direction(of) if np.isnan(p) else CONFOUNDED if p <= level else NOT_SHOWN
            values = [valued[name][1] for name in names]
            sentence = _sentence(relation, names, values, of, row, options.minimums.speakers)
            about = {"attribute": names[0], "other": names[1], "relation": relation}
            relations.append(about | row | {"sentence": sentence})
    return relations


def _attributes(
    trials: TrialSet | SpeakerCounts, groupings: Sequence[Grouping]
) -> Mapping[str, Valued]:
    """Value of each speaker in use, -1 for unknown, and the names of the values."""
    found: dict[str, Valued] = {}
    for grouping in sorted(groupings, key=lambda one: len(one.attributes)):
        if grouping.is_of_trials:
            continue
        for i, name in enumerate(grouping.attributes):
            if name in found:
                continue
            own = [parts[i] for parts in grouping.group_values]
            values = [one for one in grouping.attribute_values[i] if one in own]
            place = np.array([*(values.index(one) for one in own), -1], dtype=np.int32)
            if grouping.speaker_codes is not None:
                found[name] = place[grouping.speaker_codes[trials.speakers_in_use]], values
            elif not isinstance(trials, SpeakerCounts):
                found[name] = _commonest(place[grouping.utterance_codes(trials)], trials), values
    return found


def _commonest(code: NDArray[np.int32], trials: TrialSet) -> NDArray[np.int32]:
    """The value that most recordings of each speaker in use have; of two, the first."""
    speaker = trials.utterance_speaker
    known = (code >= 0) & (speaker >= 0)
    pairs, counts = np.unique(np.stack([speaker[known], code[known]]), axis=1, return_counts=True)
    found = np.full(int(speaker.max(initial=-1)) + 1, -1, dtype=np.int32)
    rising = np.lexsort((-pairs[1], counts))
    found[pairs[0][rising]] = pairs[1][rising]  # of what is written twice, the last stays
    return found[trials.speakers_in_use]


def _table(one: Valued, other: Valued) -> IntArray:
    """Speakers with each pair of values."""
    sizes = len(one[1]), len(other[1])
    known = (one[0] >= 0) & (other[0] >= 0)
    cells = one[0][known].astype(np.int64) * sizes[1] + other[0][known]
    return np.bincount(cells, minlength=sizes[0] * sizes[1]).reshape(sizes)


def _direction(table: IntArray) -> str:
    """Which of two attributes, of which one tells the other, does so."""
    return (COINCIDES if determines(table.T) else DETERMINES) if determines(table) else DETERMINED


def _sentence(
    relation: str,
    names: tuple[str, str],
    values: Sequence[Sequence[str]],
    table: IntArray,
    row: Mapping[str, Any],
    gate: int,
) -> str:
    """What a pair means for who compares groups by the first of the two."""
    one, other = names
    if relation == COINCIDES:
        return (
            f"{one} and {other} coincide: a difference by one cannot be separated from a "
            "difference by the other"
        )
    if relation == DETERMINES:
        return f"{one} determines {other}: a difference by {one} may be a difference by {other}"
    if relation == DETERMINED:
        return (
            f"{one} is determined by {other}: each value of {other} occurs with one value of {one} "
            f"only, so a difference by {one} may be a difference by {other}"
        )
    figures = (
        f"Cramér's V {row['cramers_v']:.2f}, adjusted p {_chance(row['p_holm'])}, "
        f"{row['speakers']:,} speakers"
    )
    if relation == NOT_SHOWN:
        return f"{one} and {other} are not shown to be associated ({figures})"
    how = "weakly associated" if row["cramers_v"] < MIN_MEDIUM_CRAMERS_V else "associated"
    shares = _shares(names, values, table, gate)
    return (
        f"{one} and {other} are {how}{shares} ({figures}), so part of a difference by {one} may "
        f"be due to {other}"
    )


def _shares(
    named: tuple[str, str], values: Sequence[Sequence[str]], table: IntArray, gate: int
) -> str:
    """How often two groups of enough speakers have the value in which such groups differ most."""
    size = table.sum(axis=1)
    rows, columns = np.flatnonzero(size >= max(gate, 1)), np.flatnonzero(table.sum(axis=0))
    if rows.size < 2:
        return ""
    kept, at = table[np.ix_(rows, columns)], np.arange(columns.size)
    expected = np.outer(size[rows], table.sum(axis=0)[columns]) / table.sum()
    off = (kept - expected) / np.sqrt(expected)  # by which small groups do not stand out
    most, least = off.argmax(axis=0), off.argmin(axis=0)
    share = kept / size[rows, None]
    apart = np.where(kept[most, at] >= gate, share[most, at] - share[least, at], -1)
    value = int(apart.argmax())
    if apart[value] <= 0:
        return ""
    ends = [int(rows[end[value]]) for end in (most, least)]
    shares = [_share(int(table[i, columns[value]]), int(size[i]), gate) for i in ends]
    return (
        f": {shares[0]} of the speakers with {named[0]} {values[0][ends[0]]} have {named[1]} "
        f"{values[1][columns[value]]}, {shares[1]} of those with {values[0][ends[1]]}"
    )


def _share(count: int, of: int, gate: int) -> str:
    """A share in percent, or, of few people, only that they are few."""
    if count < gate:
        return f"fewer than {gate}"
    return f"all but fewer than {gate}" if of - count < gate else f"{100 * count / of:.0f} %"


def _chance(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"= {p:.2g}"


# --- standardised rates --------------------------------------------------------------------------


def add_standardised_rows(
    rows: TableBuilder,
    where: Mapping[str, Any],
    grouping: Grouping,
    strata: Grouping,
    tallied: SpeakerErrors,
    found: Sequence[LocatedPoint],
    options: Options,
) -> None:
    """Rates that give each stratum the same weight in every group.

    `tallied` are errors and trials by speaker and by pair of cells ``stratum * groups + group``.
    """
    n = len(grouping.groups)
    cell = np.arange(n * len(strata.groups))
    for metric in RATES:
        whole = tallied.for_rate(metric)
        for i, one in enumerate(found):
            made = standardised(whole.operating_point(i), cell % n, cell // n)
            of_speakers = moments(made.tally)
            n_speakers = of_speakers.speakers
            at = rate_interval(of_speakers, options.confidence)
            reason = [one.reason or _WHY.get(text, text) for text in made.reason.tolist()]
            is_missing = np.array([bool(text) for text in reason])
            unknown = made.tally.has_unknown_speakers
            at = at.without_spread(unknown, NOTE_NO_TEST_SPEAKER) if unknown.any() else at
            has_none = is_missing | unknown | (n_speakers < options.minimums.inference)
            low, high = (np.where(has_none, np.nan, limit) for limit in (at.low, at.high))
            used = [g for g, w in zip(strata.groups, made.weight.tolist(), strict=True) if w]
            weights = f"equal weights: {', '.join(used)}"
            left_out = np.nan_to_num(made.left_out).tolist()
            notes = [
                "; ".join(filter(None, (weights, f"{share:.1%} of the trials left out", note)))
                for share, note in zip(left_out, at.note.tolist(), strict=True)
            ]
            rows.add(
                **where,
                group=list(grouping.groups),
                metric=metric,
                definition=f"{STANDARDISED} {strata.name}",
                operating_point=one.point.text,
                value=np.where(is_missing, np.nan, at.rate),
                speakers=n_speakers.astype(np.int64),
                threshold=one.threshold,
                reason=reason,
                low=low,
                high=high,
                interval=np.where(np.isnan(high), "", at.method),
                df=np.where(is_missing, np.nan, at.df),
                se=np.where(is_missing, np.nan, at.se),
                note=notes,
            )
