"""Cross lists: nontarget trials for every pair of groups, as a matrix of false accepts needs them.

A cell holds the trials that one group enrols for and another, or the same, is tested in. With a
budget, every cell has its exact number of trials, drawn without enumerating the pairs that there
are: speakers take turns on either side of a cell, each with any of the others, and so do their
utterances. No pair comes twice, in either order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from parivox.data.source_bytes import in_encoding_given
from parivox.errors import ConfigError, DataError
from parivox.options.trials import CrossOptions
from parivox.runtime.progress import reports_progress
from parivox.trials.building import Built, build_lists
from parivox.trials.pairs import (
    Meetings,
    NumberedPairs,
    meet,
    meet_back,
    meet_each_other,
    target_pairs,
    utterances_of,
)
from parivox.trials.pool import TRIALS_PER_CHUNK, Design, Pool, TrialChunk

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from parivox.options.types import OtherBuildOptions
    from parivox.trials.pairs import Draws, Ints

ROWS = (
    "first any target trials, speaker by speaker in the order of their ids; then cell by cell in "
    "the order of two groups: those that the first enrols for, then those of the second"
)
ALL_ROWS = (
    "first any target trials, speaker by speaker in the order of their ids; then every pair, by "
    "the utterance that is first in the order of speakers, recordings and ids; either side of a "
    "pair is the enrolment in turn"
)
_ORDER, _TARGET, _CELLS = range(3)  # keys of the streams of one list


@reports_progress
@in_encoding_given
def build_cross(
    utterances: Any,
    *,
    by: str,
    speakers: Any = None,
    out: str | os.PathLike[str] | None = None,
    trials: int | None = None,
    per_cell: int | None = None,
    complete: bool = False,
    targets: int = 0,
    **options: Unpack[OtherBuildOptions],
) -> Built:
    """Build lists with nontarget trials for every cell of enrolment and test group.

    Parameters
    ----------
    utterances, by, speakers, out, **options
        As `parivox.trials.build_inclusive` takes them.
    trials, per_cell, complete
        One of these: nontarget trials in all, shared out evenly (the first cells have one more
        where it does not come out even); nontarget trials of each cell; or every pair there is.
    targets
        Target trials across recordings that each speaker enrols for.

    Raises
    ------
    DataError
        If a cell has too few pairs; the sentence tells the largest budget that fits.
    ConfigError
        If an option is wrong.

    Examples
    --------
    >>> ids = [f"{s}/{r}/1" for s in "abcd" for r in "xyz"]
    >>> table = {"utterance": ids, "sex": [*("f" * 6), *("m" * 6)]}
    >>> built = build_cross(table, by="sex", per_cell=4)
    >>> built.manifest["lists"]
    [{'target': 0, 'nontarget': 16}]
    """
    asked = CrossOptions.of(
        utterances=utterances,
        by=by,
        speakers=speakers,
        out=out,
        trials=trials,
        per_cell=per_cell,
        complete=complete,
        targets=targets,
        **options,
    )
    pool = Pool.read(utterances, speakers, by=by, id=asked.id)
    return build_lists(design(pool, asked), asked)


def design(pool: Pool, asked: CrossOptions) -> Design:
    """The design of cross lists: which cells there are, and how many trials each has."""
    trials, per_cell, complete = asked.trials, asked.per_cell, asked.complete
    if sum((trials is not None, per_cell is not None, complete)) != 1:
        msg = "how many trials? give one of --trials (in all), --per-cell and --complete"
        raise ConfigError(msg)
    members, reasons = _members(pool)
    cells = len(members) ** 2
    targets = asked.targets
    is_in = np.array([not reason for reason in reasons])
    pairs = target_pairs(pool.utterance_starts, pool.recording_ends)
    there = pairs.count_by_speaker(pool.utterance_starts)[is_in]
    if few := int((there < targets).sum()):
        msg = (
            f"--targets {targets:,}: {few:,} of {there.size:,} speakers in {pool.utterances.name} "
            "have fewer target pairs across recordings; the largest for all of them is "
            f"{there.min():,}"
        )
        raise DataError(msg)
    budget = None
    if per_cell is not None:
        budget = np.full(cells, per_cell)
        _check_cells(pool, members, per_cell, f"--per-cell {per_cell:,}")
    elif trials is not None:
        if trials < cells:
            msg = f"--trials {trials:,}: there are {cells:,} cells; give one for each, or more"
            raise ConfigError(msg)
        each, more = divmod(trials, cells)
        budget = each + (np.arange(cells) < more)
        _check_cells(pool, members, int(budget[0]), f"--trials {trials:,}")
    notes = ["it is made for false accepts of every two groups; checks G1 to G4 are of other lists"]
    if not targets:
        notes.append("there are no target trials, so nothing tells of false rejects")
    kept, every = _every_pair(pool, is_in)

    def draw(draws: Draws) -> Iterator[TrialChunk]:
        if targets:
            numbers = draws.child(_TARGET).distinct_numbers(
                pairs.count_by_speaker(pool.utterance_starts), targets * is_in
            )
            for at in range(0, numbers.size, TRIALS_PER_CHUNK):
                enrol, test = pairs.utterances_at(numbers[at : at + TRIALS_PER_CHUNK])
                yield TrialChunk(enrol, test, np.ones(enrol.size, dtype=bool))
        yield from _all(kept, every) if budget is None else _cells(pool, members, budget, draws)

    nontarget = every.n_pairs if budget is None else int(budget.sum())
    return Design(
        "cross",
        pool,
        {"trials": trials, "per_cell": per_cell, "complete": complete, "targets": targets},
        draw,
        targets * int(is_in.sum()) + nontarget,
        ROWS if budget is not None else ALL_ROWS,
        pool.speakers_by_group(is_in),
        tuple(reasons),
        tuple(notes),
    )


def _every_pair(pool: Pool, is_in: NDArray[np.bool_]) -> tuple[Ints, NumberedPairs]:
    """Utterances of these speakers, and the pairs of two of them."""
    kept = np.flatnonzero(is_in[pool.speaker_of_utterance])
    owner = pool.speaker_of_utterance[kept]
    last = np.full(kept.size, kept.size)
    return kept, NumberedPairs(np.searchsorted(owner, owner, side="right"), last)


def _all(utterances: Ints, pairs: NumberedPairs) -> Iterator[TrialChunk]:
    for at in range(0, pairs.n_pairs, TRIALS_PER_CHUNK):
        enrol, test = pairs.utterances_at(np.arange(at, min(at + TRIALS_PER_CHUNK, pairs.n_pairs)))
        yield TrialChunk(utterances[enrol], utterances[test], np.zeros(enrol.size, dtype=bool))


def _members(pool: Pool) -> tuple[list[Ints], list[str]]:
    """Speakers of each group, and why others take no part."""
    reasons = np.full(pool.n_utterances.size, "", dtype=object)
    reasons[pool.group_of_speaker < 0] = f"{pool.grouping} is not known"
    members = []
    for group in range(len(pool.groups)):
        who = np.flatnonzero(pool.group_of_speaker == group)
        if who.size > 1:
            members.append(who)
        else:
            reasons[who] = "the one speaker of the group, who has no pairs within it"
    if not members:
        msg = (
            f"{pool.utterances.name}: no group of {pool.grouping} has two speakers; group by "
            "something else"
        )
        raise DataError(msg)
    return members, reasons.tolist()


def _check_cells(pool: Pool, members: list[Ints], most: int, asked: str) -> None:
    """Refuse a budget at which two speakers of some cells meet more often than they have pairs."""
    sizes = [np.sort(pool.n_utterances[who]) for who in members]
    count = np.array([who.size for who in members])
    fewest = np.array([one[0] for one in sizes])
    fits = np.multiply.outer(fewest * count, fewest * count) // 2  # in both directions
    np.fill_diagonal(fits, count * (count - 1) // 2 * [one[0] * one[1] for one in sizes])
    least = int(fits.min())
    if most > least:
        where = " and ".join(
            pool.groups[pool.group_of_speaker[members[at][0]]]
            for at in dict.fromkeys(np.unravel_index(int(fits.argmin()), fits.shape))
        )
        msg = (
            f"{asked}: speakers of {where} would need some pair of utterances twice, if all of "
            f"them take part equally often; at most {least:,} trials fit into each cell, "
            f"{least * len(members) ** 2:,} in all"
        )
        raise DataError(msg)


def _cells(
    pool: Pool, members: list[Ints], budget: NDArray[np.int64], draws: Draws
) -> Iterator[TrialChunk]:
    """Trials of each cell, in blocks."""
    every = np.concatenate(members)
    rank = np.lexsort((draws.child(_ORDER).words([0], [every.size]), pool.group_of_speaker[every]))
    counts = np.array([who.size for who in members])
    order = np.split(every[rank], np.cumsum(counts)[:-1])
    n = counts.size
    # who is next on either side after the cells within groups, and how often all have been there
    own = budget[:: n + 1]
    enrols, tests = own % counts, (1 + own // counts % (counts - 1) + own) % counts
    turns = -(-own // counts)
    fewest = [int(pool.n_utterances[who].min()) for who in members]
    drawn: list[tuple[Ints, Ints]] = []
    for g in range(n):
        for h in range(g, n):
            a, b = int(counts[g]), int(counts[h])
            m, back = int(budget[g * n + h]), int(budget[h * n + g])
            if g == h:
                i, j = meet_each_other(a, m)
                met = [(order[g][i], order[g][j], np.arange(m) // a)]
            else:
                i, j = meet(a, b, m)
                met = [(order[g][(i + enrols[g]) % a], order[h][(j + tests[h]) % b], turns[h])]
                if -(-m // (a * b)) - (-back // (a * b)) <= fewest[g] * fewest[h]:
                    j, i = meet(b, a, back)
                    j, i = j + enrols[h], i + tests[g]
                else:  # the one way of meeting has to go on
                    i, j = meet_back(a, b, back, m)
                    i, j = i + enrols[g], j + tests[h]
                met.append((order[h][j % b], order[g][i % a], turns[g]))
                met = [
                    (enrol, test, turn + np.arange(test.size) // size)
                    for (enrol, test, turn), size in zip(met, (b, a), strict=True)
                ]
                for at, enrolled, tested in ((g, m, back), (h, back, m)):
                    enrols[at] += enrolled
                    tests[at] += tested
                    turns[at] += -(-tested // counts[at])
            meetings = Meetings(*(np.concatenate(one) for one in zip(*met, strict=True)))
            drawn.append(
                utterances_of(meetings, pool.utterance_starts, draws.child(_CELLS).child(g * n + h))
            )
            is_last = g == h == n - 1
            if is_last or sum(one.size for one, _ in drawn) >= TRIALS_PER_CHUNK:
                enrol, test = (np.concatenate(side) for side in zip(*drawn, strict=True))
                yield TrialChunk(enrol, test, np.zeros(enrol.size, dtype=bool))
                drawn = []
