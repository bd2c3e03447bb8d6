"""Build cross lists: nontarget trials for every pair of groups, for a matrix of false accepts.

A cell holds the trials that one group enrols for and another, or the same, is tested in. With a
budget, every cell has its exact number of trials, drawn without enumerating the pairs that there
are: speakers take turns on the sides of a cell, each with any of the others, and so do their
utterances. No pair comes twice, in either order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import numpy as np

from parivox.data.source_bytes import with_reading_options
from parivox.errors import ConfigError, DataError
from parivox.options.kinds import names_options
from parivox.options.trials import CrossOptions
from parivox.runtime.progress import reports_progress
from parivox.trials.building import Built, build_lists
from parivox.trials.pairs import (
    Meetings,
    NumberedPairs,
    meet,
    meet_back,
    meet_each_other,
    meeting_utterances,
    target_pairs,
)
from parivox.trials.pool import TRIALS_PER_CHUNK, ListDesign, Pool, TrialChunk

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from parivox.options.types import OtherBuildOptions
    from parivox.sources import SpeakerSource, UtteranceSource
    from parivox.trials.pairs import Ints, RandomStreams

ROWS = (
    "first any target trials, speaker by speaker in the order of their ids; then cell by cell in "
    "the order of two groups: those that the first enrols for, then those of the second"
)
COMPLETE_ROWS = (
    "first any target trials, speaker by speaker in the order of their ids; then every pair, by "
    "the utterance that is first in the order of speakers, recordings and ids; either side of a "
    "pair is the enrolment in turn"
)
_ORDER, _TARGET, _CELLS = range(3)  # keys of the streams of one list


@names_options(CrossOptions)
@reports_progress
@with_reading_options
def build_cross(
    utterances: UtteranceSource,
    *,
    by: str,
    speakers: SpeakerSource | None = None,
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
    build_options = CrossOptions.from_keywords(
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
    pool = Pool.read(utterances, speakers, by=by, id=build_options.id)
    return build_lists(design(pool, build_options), build_options)


def design(pool: Pool, options: CrossOptions) -> ListDesign:
    """Return the design of cross lists: which cells there are, and how many trials each has."""
    is_given = [options.trials is not None, options.per_cell is not None, bool(options.complete)]
    if is_given.count(True) != 1:
        msg = "missing number of trials: give one of --trials (in all), --per-cell and --complete"
        raise ConfigError(msg)
    members, reasons = _group_members(pool)
    n_targets = options.targets
    takes_part = np.array([not reason for reason in reasons])
    target = target_pairs(pool.utterance_starts, pool.recording_ends)
    n_possible = target.count_by_speaker(pool.utterance_starts)[takes_part]
    if n_few := int((n_possible < n_targets).sum()):
        msg = (
            f"--targets {n_targets:,}: {n_few:,} of {n_possible.size:,} speakers in "
            f"{pool.utterances.name} have fewer target pairs across recordings"
        )
        hint = f"give at most {n_possible.min():,}, which all speakers have"
        raise DataError(msg, hint)
    cell_budgets = _cell_budgets(pool, members, options)
    notes = ["made_for_false_accepts"]
    if not n_targets:
        notes.append("no_false_rejects_without_target_trials")
    utterances, all_pairs = _all_pairs(pool, takes_part)

    def draw(draws: RandomStreams) -> Iterator[TrialChunk]:
        if n_targets:
            populations = target.count_by_speaker(pool.utterance_starts)
            numbers = draws.child(_TARGET).distinct_numbers(
                populations, np.where(takes_part, n_targets, 0)
            )
            for start in range(0, numbers.size, TRIALS_PER_CHUNK):
                enrol, test = target.utterances_at(numbers[start : start + TRIALS_PER_CHUNK])
                yield TrialChunk(enrol, test, np.ones(enrol.size, dtype=bool))
        if cell_budgets is None:
            yield from _complete_chunks(utterances, all_pairs)
        else:
            yield from _cell_chunks(pool, members, cell_budgets, draws)

    n_nontarget = all_pairs.n_pairs if cell_budgets is None else int(cell_budgets.sum())
    return ListDesign(
        kind="cross",
        pool=pool,
        parameters={
            "trials": options.trials,
            "per_cell": options.per_cell,
            "complete": options.complete,
            "targets": n_targets,
        },
        draw=draw,
        n_trials=n_targets * int(takes_part.sum()) + n_nontarget,
        row_order=COMPLETE_ROWS if cell_budgets is None else ROWS,
        n_speakers_by_group=pool.speakers_by_group(takes_part),
        exclusion_reasons=tuple(reasons),
        notes=tuple(notes),
    )


def _cell_budgets(
    pool: Pool, members: list[Ints], options: CrossOptions
) -> NDArray[np.int64] | None:
    """Return how many trials each cell has; None for every pair there is."""
    n_cells = len(members) ** 2
    if options.per_cell is not None:
        _check_cells(pool, members, options.per_cell, f"--per-cell {options.per_cell:,}")
        return np.full(n_cells, options.per_cell)
    if options.trials is None:
        return None
    option = f"--trials {options.trials:,}"
    if options.trials < n_cells:
        msg = f"{option}: fewer than the {n_cells:,} cells"
        hint = "give at least one trial per cell"
        raise ConfigError(msg, hint)
    quotient, remainder = divmod(options.trials, n_cells)
    # where trials do not come out even, the first cells have one more
    budgets = np.full(n_cells, quotient)
    budgets[:remainder] += 1
    _check_cells(pool, members, int(budgets[0]), option)
    return budgets


def _all_pairs(pool: Pool, takes_part: NDArray[np.bool_]) -> tuple[Ints, NumberedPairs]:
    """Return the utterances of these speakers, and the pairs of two of them."""
    utterances = np.flatnonzero(takes_part[pool.speaker_of_utterance])
    speaker = pool.speaker_of_utterance[utterances]
    first_of_next_speaker = np.searchsorted(speaker, speaker, side="right")
    return utterances, NumberedPairs(
        first_of_next_speaker, np.full(utterances.size, utterances.size)
    )


def _complete_chunks(utterances: Ints, pairs: NumberedPairs) -> Iterator[TrialChunk]:
    for start in range(0, pairs.n_pairs, TRIALS_PER_CHUNK):
        numbers = np.arange(start, min(start + TRIALS_PER_CHUNK, pairs.n_pairs))
        enrol, test = pairs.utterances_at(numbers)
        yield TrialChunk(utterances[enrol], utterances[test], np.zeros(enrol.size, dtype=bool))


def _group_members(pool: Pool) -> tuple[list[Ints], list[str]]:
    """Return the speakers of each group, and why others take no part, as facts."""
    reasons = np.full(pool.n_utterances.size, "", dtype=object)
    reasons[pool.group_of_speaker < 0] = pool.unknown_group
    members = []
    for group in range(len(pool.groups)):
        speakers = np.flatnonzero(pool.group_of_speaker == group)
        if speakers.size > 1:
            members.append(speakers)
        else:
            reasons[speakers] = "only_speaker_of_group"
    if not members:
        msg = f"{pool.utterances.name}: no group of {pool.grouping} has two speakers"
        hint = "group by another attribute"
        raise DataError(msg, hint)
    return members, reasons.tolist()


def _check_cells(pool: Pool, members: list[Ints], max_budget: int, option: str) -> None:
    """Refuse a budget at which two speakers of some cells meet more often than they have pairs."""
    sizes = [np.sort(pool.n_utterances[speakers]) for speakers in members]
    n_speakers = np.array([speakers.size for speakers in members])
    fewest = np.array([group_sizes[0] for group_sizes in sizes])
    # the two speakers with the fewest utterances meet as often as all others do; a pair of
    # utterances stands for both directions
    capacities = np.multiply.outer(fewest * n_speakers, fewest * n_speakers) // 2
    fewest_pairs = [group_sizes[0] * group_sizes[1] for group_sizes in sizes]
    np.fill_diagonal(capacities, n_speakers * (n_speakers - 1) // 2 * fewest_pairs)
    min_capacity = int(capacities.min())
    if max_budget > min_capacity:
        cell = np.unravel_index(int(capacities.argmin()), capacities.shape)
        groups = " and ".join(
            pool.groups[pool.group_of_speaker[members[index][0]]] for index in dict.fromkeys(cell)
        )
        msg = (
            f"{option}: too few pairs of utterances of speakers of {groups}, if all speakers have "
            "equally many trials"
        )
        hint = (
            f"give at most {min_capacity:,} trials per cell, {min_capacity * len(members) ** 2:,} "
            "in all"
        )
        raise DataError(msg, hint)


def _cell_chunks(
    pool: Pool, members: list[Ints], budgets: NDArray[np.int64], draws: RandomStreams
) -> Iterator[TrialChunk]:
    """Yield the trials of each cell, in chunks."""
    turns = _GroupTurns(pool, members, budgets, draws.child(_ORDER))
    n_groups = len(members)
    chunk: list[tuple[Ints, Ints]] = []
    for first in range(n_groups):
        for second in range(first, n_groups):
            if first == second:
                meetings = turns.meetings_within(first)
            else:
                meetings = turns.meetings_between(first, second)
            cell_draws = draws.child(_CELLS).child(first * n_groups + second)
            chunk.append(meeting_utterances(meetings, pool.utterance_starts, cell_draws))
            is_last = first == second == n_groups - 1
            if is_last or sum(enrol.size for enrol, _ in chunk) >= TRIALS_PER_CHUNK:
                enrol, test = (np.concatenate(side) for side in zip(*chunk, strict=True))
                yield TrialChunk(enrol, test, np.zeros(enrol.size, dtype=bool))
                chunk = []


class _GroupTurns:
    """Who of each group is next on either side, so that everybody takes part equally often.

    Cells are asked for in the order of two groups, as each goes on where those before left off.
    """

    def __init__(
        self, pool: Pool, members: list[Ints], budgets: NDArray[np.int64], draws: RandomStreams
    ) -> None:
        speakers = np.concatenate(members)
        random_words = draws.words([0], [speakers.size])
        order = np.lexsort((random_words, pool.group_of_speaker[speakers]))
        self.n_speakers = np.array([group_members.size for group_members in members])
        self.members = np.split(speakers[order], np.cumsum(self.n_speakers)[:-1])
        self.fewest = [int(pool.n_utterances[group_members].min()) for group_members in members]
        self.budgets = budgets.reshape(len(members), -1)  # [enrolment group, test group]
        # who is next on either side after the cells within groups, and how often all were tested
        within, n_speakers = np.diagonal(self.budgets), self.n_speakers
        self.next_enrol = within % n_speakers
        self.next_test = (1 + within // n_speakers % (n_speakers - 1) + within) % n_speakers
        self.n_tests = -(-within // n_speakers)

    def meetings_within(self, group: int) -> Meetings:
        """Return the meetings of a group with itself."""
        n_speakers, n_meetings = int(self.n_speakers[group]), int(self.budgets[group, group])
        enrol, test = meet_each_other(n_speakers, n_meetings)
        return Meetings(
            self.members[group][enrol],
            self.members[group][test],
            np.arange(n_meetings) // n_speakers,
        )

    def meetings_between(self, first: int, second: int) -> Meetings:
        """Return the meetings of two groups: the first enrols, then the second."""
        n_first, n_second = int(self.n_speakers[first]), int(self.n_speakers[second])
        n_forth, n_back = int(self.budgets[first, second]), int(self.budgets[second, first])
        enrol, test = meet(n_first, n_second, n_forth)
        forth_enrol = self.members[first][(enrol + self.next_enrol[first]) % n_first]
        forth_test = self.members[second][(test + self.next_test[second]) % n_second]
        n_rounds = -(-n_forth // (n_first * n_second)) - (-n_back // (n_first * n_second))
        if n_rounds <= self.fewest[first] * self.fewest[second]:
            enrol, test = meet(n_second, n_first, n_back)
            enrol, test = enrol + self.next_enrol[second], test + self.next_test[first]
        else:
            # beginning anew, two speakers could meet more often than they have pairs of utterances
            test, enrol = meet_back(n_first, n_second, n_back, n_forth)
            test, enrol = test + self.next_enrol[first], enrol + self.next_test[second]
        back_enrol = self.members[second][enrol % n_second]
        back_test = self.members[first][test % n_first]
        meetings = Meetings(
            np.concatenate((forth_enrol, back_enrol)),
            np.concatenate((forth_test, back_test)),
            np.concatenate(
                (
                    self.n_tests[second] + np.arange(n_forth) // n_second,
                    self.n_tests[first] + np.arange(n_back) // n_first,
                )
            ),
        )
        self._advance(first, n_enrolled=n_forth, n_tested=n_back)
        self._advance(second, n_enrolled=n_back, n_tested=n_forth)
        return meetings

    def _advance(self, group: int, *, n_enrolled: int, n_tested: int) -> None:
        self.next_enrol[group] += n_enrolled
        self.next_test[group] += n_tested
        self.n_tests[group] += -(-n_tested // self.n_speakers[group])
