"""Build inclusive lists: the same number of pairs, of the same difficulty, for everybody.

Algorithm 1 of paper 002, made precise (docs/methods/planning.md#inclusive-lists). Every speaker
enrols for n target and n nontarget trials. Target pairs are unordered pairs of recordings, drawn
without replacement by a random stream of the speaker's own. Nontarget pairs are of the grades asked
for, by default the hardest: the partner agrees in every attribute. Partners take turns, so that
everybody is on the test side as often as other partners of the same speakers; so do the partner's
utterances. Where all grades are of one class, as the hardest is, that is n times; in another mix, a
class with many speakers and few partners has these tested more often. No pair comes twice in a
list, in either order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, Unpack

import numpy as np

from parivox.data.lists.grades import OTHER_RECORDING, TRIVIAL, parse_mix, rounded_counts
from parivox.data.source_bytes import with_reading_options
from parivox.errors import ConfigError, DataError
from parivox.facts import fact
from parivox.options.kinds import as_tuple, names_options
from parivox.options.trials import InclusiveOptions
from parivox.runtime.progress import reports_progress
from parivox.shown import CATALOGUE_MODULE
from parivox.trials.building import Built, build_lists
from parivox.trials.pairs import (
    Meetings,
    meet,
    meet_each_other,
    meeting_utterances,
    numbers_below,
    pair_keys,
    target_pairs,
    without_repeats,
)
from parivox.trials.pool import ListDesign, Pool, group_positions, speaker_by_speaker

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.options.types import OtherBuildOptions
    from parivox.sources import SpeakerSource, UtteranceSource
    from parivox.trials.pairs import Ints, NumberedPairs, RandomStreams, Words
    from parivox.trials.pool import Sides, TrialChunk


ROWS = (
    "speaker by speaker in the order of their ids; of each first the target trials, easy before "
    "hard, then the nontarget trials, hard before easy"
)
OTHER_GROUP_REASON = "group_not_asked_for"
_MAX_ROUNDS = 1_000
"""How often repeated pairs are drawn again."""
_WHOLE_TOLERANCE = 1e-6
"""By how much a number of pairs may miss a whole number and count as exact."""
_TARGET, _ORDER, _UTTERANCES = range(3)  # keys of the streams of one list


@names_options(InclusiveOptions)
@reports_progress
@with_reading_options
def build_inclusive(
    utterances: UtteranceSource,
    *,
    by: str,
    per_speaker: int,
    speakers: SpeakerSource | None = None,
    out: str | os.PathLike[str] | None = None,
    grade_by: Sequence[str] | str | None = None,
    target_grades: Sequence[int] | str | int = (OTHER_RECORDING,),
    mix: str | Mapping[str, float] | None = None,
    balance_partners: bool | None = None,
    compat: str | None = None,
    groups: Sequence[str] | str | None = None,
    **options: Unpack[OtherBuildOptions],
) -> Built:
    """Build lists with as many pairs, as hard ones, for every speaker.

    Parameters
    ----------
    utterances
        Table with a column utterance; speaker and recording may come from the path.
    by
        Groups of speakers, as in ``gender+nationality``; its attributes define difficulty.
    per_speaker
        n: target pairs, and nontarget pairs, that each speaker enrols for.
    speakers
        Table of speakers and their attributes; without it, columns of `utterances`.
    out
        New files are put into this folder; without it, lists are tables in memory.
    grade_by
        Attributes that define difficulty, in place of those of `by`.
    target_grades
        1 for pairs within a recording, 3 for those across; of both, each has half.
    mix
        Shares of the grades of nontarget pairs, as in ``cat4=0.75,cat3=0.25``; each speaker has
        exactly these, rounded by largest remainder. By default all are of the hardest grade.
    balance_partners
        Whether partners take turns, so that those of one grade are tested equally often; without,
        the other utterance is any of the partners'. On by default, but for compat.
    compat : {"hutiri2022"}, optional
        As the paper's listing: utterances of nontarget pairs drawn with replacement, pairs may
        repeat, and speakers need more than n pairs.
    groups
        Those that take part; without it, all.
    **options
        Every other option of building: see
        `parivox.options.types.OtherBuildOptions`.

    Raises
    ------
    DataError
        If no speaker has so many pairs.
    ConfigError
        If an option is wrong.

    Examples
    --------
    >>> ids = [f"{s}/{r}/{u}" for s in "abc" for r in "xy" for u in "12"]
    >>> table = {"utterance": ids, "sex": ["f"] * 12}
    >>> built = build_inclusive(table, by="sex", per_speaker=2, seed=1)
    >>> built.lists[0].subset(label="target").rows()[0]["enrol"][0], len(built.lists[0])
    ('a', 12)

    References
    ----------
    Hutiri, Gorce & Ding 2022, Algorithm 1.
    """
    build_options = InclusiveOptions.from_keywords(
        utterances=utterances,
        by=by,
        per_speaker=per_speaker,
        speakers=speakers,
        out=out,
        grade_by=grade_by,
        target_grades=target_grades,
        mix=mix,
        balance_partners=balance_partners,
        compat=compat,
        groups=groups,
        **options,
    )
    pool = Pool.read(
        utterances, speakers, by=by, grade_by=build_options.grade_by, id=build_options.id
    )
    return build_lists(design(pool, build_options), build_options)


def design(pool: Pool, options: InclusiveOptions) -> ListDesign:
    """Return the design of inclusive lists: who takes part, and how pairs are drawn.

    The pool is graded already: `grade_by` is used for the manifest, and for the check.
    """
    n_pairs = options.per_speaker
    target_grades = _target_grades(options.target_grades)
    mix = {pool.hardest: 1.0} if options.mix is None else parse_mix(options.mix, pool.hardest)
    mix = {grade: mix[grade] for grade in sorted(mix, reverse=True) if mix[grade]}
    is_literal = bool(options.compat)
    if is_literal and (options.mix is not None or options.balance_partners):
        msg = "--compat hutiri2022 supports neither --mix nor balanced partners"
        hint = "leave them out"
        raise ConfigError(msg, hint)
    if options.balance_partners is None:
        takes_turns = not is_literal
    else:
        takes_turns = bool(options.balance_partners)
    groups = group_positions(pool.groups, pool.grouping, options.groups)
    pair_design = _PairDesign(
        pool, groups, n_pairs, mix, takes_turns=takes_turns, is_literal=is_literal
    ).with_targets(target_grades)
    reasons = pair_design.exclusion_reasons()
    if "" not in reasons:
        raise _nobody_error(pair_design, reasons)
    takes_part = np.array([not reason for reason in reasons])
    grade_by = None if options.grade_by is None else list(options.grade_by)
    notes = list(_notes(pair_design, reasons.count("")))
    if grade_by is None and not pool.has_usual_difficulty:
        notes.append(
            fact(
                "graded_unlike_check",
                attributes=[*pool.graded_by],
                of_check=[*pool.usual_attributes],
            )
        )
    draw_nontargets = _nontarget_pairs_in_turn if takes_turns else _random_nontarget_pairs

    def draw(draws: RandomStreams) -> Iterator[TrialChunk]:
        targets = _target_pairs(pair_design, takes_part, draws.child(_TARGET))
        return speaker_by_speaker(targets, draw_nontargets(pair_design, takes_part, draws))

    mix_names = {f"cat{grade}": share for grade, share in mix.items()}
    group_names = [pool.groups[position] for position in groups]
    return ListDesign(
        kind="inclusive",
        pool=pool,
        parameters={
            "per_speaker": n_pairs,
            "grade_by": grade_by,
            "target_grades": list(target_grades),
            "mix": None if is_literal else mix_names,
            "balance_partners": takes_turns,
            "compat": options.compat,
            "groups": None if options.groups is None else group_names,
        },
        draw=draw,
        n_trials=2 * n_pairs * int(takes_part.sum()),
        row_order=ROWS,
        n_speakers_by_group=pool.speakers_by_group(takes_part),
        exclusion_reasons=tuple(
            "" if reason == OTHER_GROUP_REASON else reason for reason in reasons
        ),
        notes=tuple(notes),
    )


def _nobody_error(pair_design: _PairDesign, reasons: list[str]) -> DataError:
    """Return the error that no speaker can take part: the most frequent reason, and what fits."""
    reasons = [reason for reason in reasons if reason != OTHER_GROUP_REASON] or reasons
    reason = import_module(CATALOGUE_MODULE).cell_text(max(sorted(set(reasons)), key=reasons.count))
    hint = "; ".join(_fitting_options(pair_design)) or "give other speakers"
    msg = f"--per-speaker {pair_design.n_pairs:,}: no speaker can take part ({reason})"
    return DataError(msg, hint)


def _fitting_options(pair_design: _PairDesign) -> Iterator[str]:
    """Yield numbers and grades at which somebody takes part, where nobody does."""
    if n_pairs := pair_design.max_pairs(1):
        yield f"the largest that leaves anybody in is {n_pairs:,}"
        return
    if n_pairs := pair_design.with_targets((TRIVIAL,)).max_pairs(1):
        yield f"pairs of one recording fit: --target-grades 1, --per-speaker up to {n_pairs:,}"
    for grade in range(pair_design.pool.hardest, 0, -1):
        if n_pairs := replace(pair_design, mix={grade: 1.0}).max_pairs(1):
            yield f"--mix cat{grade}=1 fits, --per-speaker up to {n_pairs:,}"


def _notes(pair_design: _PairDesign, n_speakers: int) -> Iterator[str]:
    """Yield notes for the manifest: the largest number for these speakers, what the mix makes."""
    n_pairs, mix = pair_design.n_pairs, pair_design.mix
    max_pairs = pair_design.max_pairs(n_speakers)
    yield fact("most_trials_of_same_speakers", pairs=max_pairs)
    counts = rounded_counts(n_pairs, mix)
    is_inexact = any(
        abs(counts.get(grade, 0) - n_pairs * share) > _WHOLE_TOLERANCE
        for grade, share in mix.items()
    )
    if is_inexact:
        denominators = [
            Fraction(share).limit_denominator(1000).denominator for share in mix.values()
        ]
        yield fact(
            "mix_in_whole_trials",
            pairs=n_pairs,
            grades=[{"grade": grade, "trials": count} for grade, count in counts.items()],
            multiple=math.lcm(*denominators),
        )


def _too_few_nontarget_pairs(minimum: int, grade: int) -> str:
    return fact("few_nontarget_pairs_of_grade", pairs=minimum, grade=grade)


def _target_grades(grades: Sequence[int] | str | int) -> tuple[int, ...]:
    """Return the grades of target pairs that are asked for, rising."""
    grade_list = grades.split(",") if isinstance(grades, str) else as_tuple(grades)
    words = [str(grade).strip() for grade in grade_list]
    known_grades = {str(grade): grade for grade in (TRIVIAL, OTHER_RECORDING)}
    if not words or not set(words) <= known_grades.keys():
        msg = (
            f"--target-grades {','.join(words)}: target pairs have grade 1 (one recording) or 3 "
            "(two recordings)"
        )
        hint = "give 3, 1 or 1,3"
        raise ConfigError(msg, hint)
    return tuple(sorted({known_grades[word] for word in words}))


def _target_pairs(
    pair_design: _PairDesign, takes_part: NDArray[np.bool_], draws: RandomStreams
) -> Sides:
    """Draw target pairs, of shape (speaker, n)."""
    sides_by_grade = []
    for grade, n_pairs in pair_design.target_counts.items():
        pairs = pair_design.target_pairs[grade]
        populations = pairs.count_by_speaker(pair_design.pool.utterance_starts)
        numbers = draws.child(grade).distinct_numbers(populations, np.where(takes_part, n_pairs, 0))
        sides_by_grade.append([side.reshape(-1, n_pairs) for side in pairs.utterances_at(numbers)])
    enrol, test = (np.concatenate(side, axis=1) for side in zip(*sides_by_grade, strict=True))
    return enrol, test


def _nontarget_pairs_in_turn(
    pair_design: _PairDesign, takes_part: NDArray[np.bool_], draws: RandomStreams
) -> Sides:
    """Draw nontarget pairs with partners in turn, of shape (speaker, n)."""
    n_pairs = pair_design.n_pairs
    speakers, rows = np.flatnonzero(takes_part), np.cumsum(takes_part) - 1
    rank = draws.child(_ORDER).words([0], [speakers.size])
    partner = np.empty((speakers.size, n_pairs), dtype=np.int64)
    n_earlier_tests = np.empty_like(partner)
    n_tests_so_far = np.zeros(takes_part.size, dtype=np.int64)
    # classes come one after the other, so that turns of a partner go on from one to the next
    for class_trials in pair_design.nontarget_trials_by_class(takes_part):
        enrolled, tested = (
            members[np.argsort(rank[rows[members]], kind="stable")]
            for members in (class_trials.members, class_trials.partners)
        )
        n_meetings = class_trials.n_per_speaker * enrolled.size
        if class_trials.within_class:
            _, positions = meet_each_other(enrolled.size, n_meetings)
        else:
            _, positions = meet(enrolled.size, tested.size, n_meetings)
        test_speaker = tested[positions]
        turn = np.arange(n_meetings) // tested.size + n_tests_so_far[test_speaker]
        columns = np.arange(class_trials.column, class_trials.column + class_trials.n_per_speaker)
        cells = rows[enrolled][:, None], columns
        partner[cells] = test_speaker.reshape(class_trials.n_per_speaker, -1).T
        n_earlier_tests[cells] = turn.reshape(class_trials.n_per_speaker, -1).T
        n_tests_so_far += np.bincount(test_speaker, minlength=takes_part.size)
    meetings = Meetings(np.repeat(speakers, n_pairs), partner.ravel(), n_earlier_tests.ravel())
    starts = pair_design.pool.utterance_starts
    enrol, test = meeting_utterances(meetings, starts, draws.child(_UTTERANCES))
    return enrol.reshape(partner.shape), test.reshape(partner.shape)


def _random_nontarget_pairs(
    pair_design: _PairDesign, takes_part: NDArray[np.bool_], draws: RandomStreams
) -> Sides:
    """Draw nontarget pairs with any of the partners' utterances, of shape (speaker, n)."""
    pool, n_pairs = pair_design.pool, pair_design.n_pairs
    speakers, rows = np.flatnonzero(takes_part), np.cumsum(takes_part) - 1
    trials_by_class = pair_design.nontarget_trials_by_class(takes_part)
    class_of_cell = np.empty((speakers.size, n_pairs), dtype=np.int64)
    for number, class_trials in enumerate(trials_by_class):
        columns = slice(class_trials.column, class_trials.column + class_trials.n_per_speaker)
        class_of_cell[rows[class_trials.members], columns] = number
    class_of_trial = class_of_cell.ravel()
    enrol, test = np.empty_like(class_of_trial), np.empty_like(class_of_trial)
    redrawn, used_keys = np.arange(class_of_trial.size), None
    for round_number in range(1 if pair_design.is_literal else _MAX_ROUNDS):
        for number in np.unique(class_of_trial[redrawn]).tolist():
            trials = redrawn[class_of_trial[redrawn] == number]
            stream = draws.child(_UTTERANCES).child(round_number)
            words = stream.words([number], [2 * trials.size]).reshape(2, -1)
            enrol[trials], test[trials] = _random_utterances(
                pool, trials_by_class[number], speakers[trials // n_pairs], words
            )
        if pair_design.is_literal:  # the paper's listing lets pairs repeat
            return enrol.reshape(-1, n_pairs), test.reshape(-1, n_pairs)
        keys = pair_keys(enrol[redrawn], test[redrawn], len(pool.utterance_ids))
        used_keys, repeats = without_repeats(keys, used_keys)
        redrawn = redrawn[repeats]
        if not redrawn.size:
            return enrol.reshape(-1, n_pairs), test.reshape(-1, n_pairs)
    msg = (
        f"--per-speaker {n_pairs:,}: almost all pairs would be needed, and {redrawn.size:,} were "
        "not found"
    )
    hint = "ask for fewer pairs, or balance the partners"
    raise DataError(msg, hint)


def _random_utterances(
    pool: Pool, class_trials: _ClassTrials, enrol_speaker: Ints, words: Words
) -> Sides:
    """Draw any utterance of each speaker, with any of the partners'.

    `words` are of shape (2, speaker): for the enrolment and for the test side.
    """
    n_utterances, partners = pool.n_utterances[enrol_speaker], class_trials.partners
    ends = np.cumsum(pool.n_utterances[partners])
    limits = ends[-1] - n_utterances if class_trials.within_class else ends[-1]
    numbers = numbers_below(limits, words[1])
    if class_trials.within_class:  # pass over the speaker's own utterances
        starts = ends - pool.n_utterances[partners]
        own_start = starts[np.searchsorted(partners, enrol_speaker)]
        numbers = np.where(numbers >= own_start, numbers + n_utterances, numbers)
    positions = np.searchsorted(ends, numbers, side="right")
    test = pool.utterance_starts[partners[positions] + 1] - (ends[positions] - numbers)
    return pool.utterance_starts[enrol_speaker] + numbers_below(n_utterances, words[0]), test


class _ClassTrials(NamedTuple):
    """Nontarget trials of one grade that speakers of one class enrol for."""

    grade: int
    n_per_speaker: int
    column: int  # the first among the nontarget trials of a speaker
    members: Ints  # speakers who enrol
    partners: Ints  # speakers who are tested
    within_class: bool  # whether these are the same


@dataclass(frozen=True, eq=False)
class _PairDesign:
    """Pairs that each speaker is to have, and who has enough of them."""

    pool: Pool
    groups: Ints  # positions of those that take part
    n_pairs: int  # target pairs, and nontarget pairs
    mix: Mapping[int, float]  # shares of the grades of nontarget pairs
    takes_turns: bool  # whether partners do
    is_literal: bool  # as the paper's listing: more than `n_pairs`, and pairs may repeat
    target_mix: Mapping[int, float] = field(default_factory=dict)
    target_pairs: Mapping[int, NumberedPairs] = field(default_factory=dict)  # all, by grade

    def with_targets(self, grades: tuple[int, ...]) -> _PairDesign:
        """Return the same, with target pairs of these grades, in equal shares."""
        starts, recording_ends = self.pool.utterance_starts, self.pool.recording_ends
        return replace(
            self,
            target_mix=dict.fromkeys(grades, 1 / len(grades)),
            target_pairs={grade: target_pairs(starts, recording_ends, grade) for grade in grades},
        )

    @property
    def target_counts(self) -> dict[int, int]:
        """Target pairs of each speaker by grade."""
        return rounded_counts(self.n_pairs, self.target_mix)

    def max_pairs(self, n_speakers: int) -> int:
        """Return the largest number of pairs at which so many take part; 0 if there is none."""

        def has_enough(n_pairs: int) -> bool:
            reasons = replace(self, n_pairs=n_pairs).exclusion_reasons()
            return reasons.count("") >= n_speakers

        # doubled until too few take part, then halved between what fits and what does not
        low, high = 0, self.n_pairs
        while has_enough(high):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            if has_enough(middle):
                low = middle
            else:
                high = middle
        return low

    def exclusion_reasons(self) -> list[str]:
        """Return why each speaker takes no part, as facts; empty for those that do."""
        pool = self.pool
        reasons = np.full(pool.n_utterances.size, "", dtype=object)
        reasons[~np.isin(pool.group_of_speaker, self.groups)] = OTHER_GROUP_REASON
        reasons[pool.group_of_speaker < 0] = pool.unknown_group
        has_no_class = pool.difficulty_classes.class_of_speaker < 0
        reasons[has_no_class & (reasons != OTHER_GROUP_REASON)] = pool.unknown_difficulty
        for grade, n_target in self.target_counts.items():
            minimum = n_target + 1 if self.is_literal else n_target
            n_possible = self.target_pairs[grade].count_by_speaker(pool.utterance_starts)
            too_few = fact("few_target_pairs_of_grade", pairs=minimum, grade=grade)
            reasons[(reasons == "") & (n_possible < minimum)] = too_few
        # whoever leaves is no partner for others any more, who may then have too few
        while short := self._short_of_nontargets(reasons == ""):
            for speaker, reason in short.items():
                reasons[speaker] = reason
        return [str(reason) for reason in reasons]

    def nontarget_trials_by_class(self, takes_part: NDArray[np.bool_]) -> list[_ClassTrials]:
        """Return nontarget trials among these speakers, those of the hardest grade first."""
        classes = self.pool.difficulty_classes
        class_of_speaker = np.where(takes_part, classes.class_of_speaker, -1)
        trials_by_class, column = [], 0
        for grade, n_per_speaker in rounded_counts(self.n_pairs, self.mix).items():
            for class_index in np.unique(class_of_speaker[class_of_speaker >= 0]).tolist():
                partner_classes = np.flatnonzero(classes.pair_grades[class_index] == grade)
                trials_by_class.append(
                    _ClassTrials(
                        grade=grade,
                        n_per_speaker=n_per_speaker,
                        column=column,
                        members=np.flatnonzero(class_of_speaker == class_index),
                        partners=np.flatnonzero(np.isin(class_of_speaker, partner_classes)),
                        within_class=class_index in partner_classes,
                    )
                )
            column += n_per_speaker
        return trials_by_class

    def _short_of_nontargets(self, takes_part: NDArray[np.bool_]) -> dict[int, str]:
        """Return the speakers among these who have too few nontarget pairs with the others."""
        trials_by_class = self.nontarget_trials_by_class(takes_part)
        reasons: dict[int, str] = {}
        for class_trials in trials_by_class:
            n_partners = (
                class_trials.partners.size - 1
                if class_trials.within_class
                else class_trials.partners.size
            )
            if n_partners <= 0:
                for speaker in class_trials.members.tolist():
                    reasons[speaker] = fact("no_partner_of_grade", grade=class_trials.grade)
        if reasons:
            return reasons
        if not self.takes_turns:
            for class_trials in trials_by_class:
                minimum = (
                    class_trials.n_per_speaker + 1
                    if self.is_literal
                    else class_trials.n_per_speaker
                )
                for speaker in self._with_too_few_pairs(class_trials).tolist():
                    reasons[speaker] = _too_few_nontarget_pairs(minimum, class_trials.grade)
            return reasons
        for grade, n_per_speaker in rounded_counts(self.n_pairs, self.mix).items():
            for speaker in self._crowded_speakers(takes_part, grade, n_per_speaker).tolist():
                reasons[speaker] = _too_few_nontarget_pairs(n_per_speaker, grade)
        return reasons

    def _with_too_few_pairs(self, class_trials: _ClassTrials) -> Ints:
        """Return those with fewer pairs than drawing takes.

        That is twice as many as they enrol for, as partners draw from the same pairs too.
        """
        n_utterances = self.pool.n_utterances
        n_enrol = n_utterances[class_trials.members]
        n_test = n_utterances[class_trials.partners].sum()
        if class_trials.within_class:
            n_test = n_test - n_enrol
        minimum = (
            class_trials.n_per_speaker + 1 if self.is_literal else 2 * class_trials.n_per_speaker
        )
        return np.asarray(class_trials.members[n_enrol * n_test < minimum])

    def _crowded_speakers(
        self, takes_part: NDArray[np.bool_], grade: int, n_per_speaker: int
    ) -> Ints:
        """Return those with the fewest utterances, where two meet more often than they have pairs.

        Only the speaker with the fewest utterances of a class is looked at, as everybody meets
        everybody equally often.
        """
        classes, n_utterances = self.pool.difficulty_classes, self.pool.n_utterances
        speakers = np.flatnonzero(takes_part)
        class_of_speaker = classes.class_of_speaker
        order = np.lexsort((-speakers, n_utterances[speakers], class_of_speaker[speakers]))
        speakers = speakers[order]
        present, first, class_sizes = np.unique(
            class_of_speaker[speakers], return_index=True, return_counts=True
        )
        fewest = n_utterances[speakers[first]]
        meets = classes.pair_grades[np.ix_(present, present)] == grade
        n_partners = meets @ class_sizes - meets.diagonal()
        n_meetings = -(-n_per_speaker // n_partners)  # with each partner, rounded up
        n_pairs = np.multiply.outer(fewest, fewest)
        is_crowded = meets & (n_pairs < np.add.outer(n_meetings, n_meetings))
        # within a class, the two speakers with the fewest utterances
        second = np.minimum(first + 1, speakers.size - 1)
        n_pairs_within = fewest * n_utterances[speakers[second]]
        is_crowded_within = n_pairs_within * (class_sizes - 1) < 2 * n_per_speaker
        np.fill_diagonal(is_crowded, meets.diagonal() & is_crowded_within)
        row, column = np.nonzero(is_crowded)
        smaller = np.where(fewest[row] <= fewest[column], row, column)
        return np.asarray(speakers[np.unique(first[smaller])])
