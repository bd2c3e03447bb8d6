"""Inclusive lists: the same number of pairs, of the same difficulty, for everybody.

Algorithm 1 of paper 002, made precise (docs/methods/trial-lists.md#inclusive-lists). Every speaker
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
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from parivox.data.source_bytes import in_encoding_given
from parivox.errors import ConfigError, DataError
from parivox.options.kinds import as_tuple
from parivox.options.trials import InclusiveOptions
from parivox.runtime.progress import reports_progress
from parivox.trials.building import Built, build_lists
from parivox.trials.grades import OTHER_RECORDING, TRIVIAL, parse_mix, rounded_counts
from parivox.trials.pairs import (
    Meetings,
    keys_of,
    meet,
    meet_each_other,
    numbers_below,
    target_pairs,
    utterances_of,
    without_repeats,
)
from parivox.trials.pool import Design, Pool, group_positions, speaker_by_speaker

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.options.types import OtherBuildOptions
    from parivox.trials.pairs import Draws, Ints, NumberedPairs, Words
    from parivox.trials.pool import Sides, TrialChunk


ROWS = (
    "speaker by speaker in the order of their ids; of each first the target trials, easy before "
    "hard, then the nontarget trials, hard before easy"
)
NOT_ASKED = "is of a group that was not asked for"
_ROUNDS = 1_000
_WHOLE = 1e-6
_TARGET, _ORDER, _UTTERANCES = range(3)  # keys of the streams of one list


@reports_progress
@in_encoding_given
def build_inclusive(
    utterances: Any,
    *,
    by: str,
    per_speaker: int,
    speakers: Any = None,
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
    >>> built.lists[0].where(label="target").rows()[0]["enrol"][0], len(built.lists[0])
    ('a', 12)

    References
    ----------
    Hutiri, Gorce & Ding 2022, Algorithm 1.
    """
    asked = InclusiveOptions.of(
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
    pool = Pool.read(utterances, speakers, by=by, grade_by=asked.grade_by, id=asked.id)
    return build_lists(design(pool, asked), asked)


def design(pool: Pool, asked: InclusiveOptions) -> Design:
    """The design of inclusive lists: who takes part, and how pairs are drawn.

    The pool is graded already: `grade_by` is asked for the manifest, and for the check.
    """
    n = asked.per_speaker
    grades = _target_grades(asked.target_grades)
    mix, compat = asked.mix, asked.compat
    shares = {pool.hardest: 1.0} if mix is None else parse_mix(mix, pool.hardest)
    shares = {grade: shares[grade] for grade in sorted(shares, reverse=True) if shares[grade]}
    if compat and (mix is not None or asked.balance_partners):
        msg = "--compat hutiri2022: knows no mix and no balance of partners; leave them out"
        raise ConfigError(msg)
    balanced = not compat if asked.balance_partners is None else bool(asked.balance_partners)
    groups = group_positions(pool.groups, pool.grouping, asked.groups)
    wanted = _PairsWanted(pool, groups, n, shares, balanced, bool(compat)).with_targets(grades)
    reasons = wanted.reasons()
    if "" not in reasons:
        known = [one for one in reasons if one != NOT_ASKED] or reasons
        reason = max(sorted(set(known)), key=known.count)
        mend = "; ".join(_fitting(wanted)) or "give other speakers"
        msg = f"--per-speaker {n:,}: no speaker can take part ({reason}); {mend}"
        raise DataError(msg)
    is_in = np.array([not reason for reason in reasons])
    grade_by = None if asked.grade_by is None else list(asked.grade_by)
    notes = list(_notes(wanted, reasons.count("")))
    if grade_by is None and not pool.has_usual_difficulty:
        notes.append(
            f"grades are of {' and '.join(pool.graded_by)}, those of the check of "
            f"{' and '.join(pool.usual_attributes)}: to have the same, name attributes with "
            "--grade-by"
        )
    draw_nontargets = _by_turns if balanced else _at_random

    def draw(draws: Draws) -> Iterator[TrialChunk]:
        targets = _targets(wanted, is_in, draws.child(_TARGET))
        return speaker_by_speaker(targets, draw_nontargets(wanted, is_in, draws))

    return Design(
        "inclusive",
        pool,
        {
            "per_speaker": n,
            "grade_by": grade_by,
            "target_grades": list(grades),
            "mix": None if compat else {f"cat{grade}": share for grade, share in shares.items()},
            "balance_partners": balanced,
            "compat": compat,
            "groups": None if asked.groups is None else [pool.groups[i] for i in groups],
        },
        draw,
        2 * n * int(is_in.sum()),
        ROWS,
        pool.speakers_by_group(is_in),
        tuple("" if one == NOT_ASKED else one for one in reasons),
        tuple(notes),
    )


def _fitting(wanted: _PairsWanted) -> Iterator[str]:
    """Numbers and grades at which somebody takes part, where nobody does."""
    if most := wanted.most(1):
        yield f"the largest that leaves anybody in is {most:,}"
        return
    if most := wanted.with_targets((TRIVIAL,)).most(1):
        yield f"pairs of one recording fit: --target-grades 1, --per-speaker up to {most:,}"
    for grade in range(wanted.pool.hardest, 0, -1):
        if most := replace(wanted, mix={grade: 1.0}).most(1):
            yield f"--mix cat{grade}=1 fits, --per-speaker up to {most:,}"


def _notes(wanted: _PairsWanted, speakers: int) -> Iterator[str]:
    """Notes for the manifest: the largest number for these speakers, what the mix makes."""
    n = wanted.n
    yield f"up to --per-speaker {wanted.most(speakers):,} the same speakers take part"
    counts = rounded_counts(n, wanted.mix)
    if any(abs(counts.get(grade, 0) - n * x) > _WHOLE for grade, x in wanted.mix.items()):
        each = ", ".join(f"{count:,} of grade {grade}" for grade, count in counts.items())
        parts = [Fraction(x).limit_denominator(1000).denominator for x in wanted.mix.values()]
        yield (
            f"of {n:,} nontarget trials the mix makes {each} for each speaker; a multiple of "
            f"{math.lcm(*parts):,} gives it exactly"
        )


def _target_grades(asked: Sequence[int] | str | int) -> tuple[int, ...]:
    grades = asked.split(",") if isinstance(asked, str) else as_tuple(asked)
    words = [str(one).strip() for one in grades]
    known = {str(grade): grade for grade in (TRIVIAL, OTHER_RECORDING)}
    if not words or not set(words) <= known.keys():
        msg = (
            f"--target-grades {','.join(words)}: target pairs are of grade 1 (one recording) or "
            "3 (two recordings); give 3, 1 or 1,3"
        )
        raise ConfigError(msg)
    return tuple(sorted({known[one] for one in words}))


def _targets(wanted: _PairsWanted, is_in: NDArray[np.bool_], draws: Draws) -> Sides:
    """Target pairs, of shape (speaker, n)."""
    drawn = []
    for grade, n in wanted.target_counts.items():
        pairs = wanted.target_pairs[grade]
        numbers = draws.child(grade).distinct_numbers(
            pairs.count_by_speaker(wanted.pool.utterance_starts), n * is_in
        )
        drawn.append([side.reshape(-1, n) for side in pairs.utterances_at(numbers)])
    enrol, test = (np.concatenate(side, axis=1) for side in zip(*drawn, strict=True))
    return enrol, test


def _by_turns(wanted: _PairsWanted, is_in: NDArray[np.bool_], draws: Draws) -> Sides:
    """Nontarget pairs with partners in turn, of shape (speaker, n)."""
    chosen, place = np.flatnonzero(is_in), np.cumsum(is_in) - 1
    rank = draws.child(_ORDER).words([0], [chosen.size])
    partner, turn = (np.empty((chosen.size, wanted.n), dtype=np.int64) for _ in range(2))
    before = np.zeros(is_in.size, dtype=np.int64)
    for part in wanted.parts(is_in):
        n, sides = part.n, (part.members, part.partners)
        a, b = (one[np.argsort(rank[place[one]], kind="stable")] for one in sides)
        m = n * a.size
        j = b[(meet_each_other(a.size, m) if part.is_one else meet(a.size, b.size, m))[1]]
        cells = place[a][:, None], np.arange(part.column, part.column + n)
        partner[cells] = j.reshape(n, -1).T
        turn[cells] = (np.arange(m) // b.size + before[j]).reshape(n, -1).T
        before += np.bincount(j, minlength=is_in.size)
    meetings = Meetings(np.repeat(chosen, wanted.n), partner.ravel(), turn.ravel())
    enrol, test = utterances_of(meetings, wanted.pool.utterance_starts, draws.child(_UTTERANCES))
    return enrol.reshape(partner.shape), test.reshape(partner.shape)


def _at_random(wanted: _PairsWanted, is_in: NDArray[np.bool_], draws: Draws) -> Sides:
    """Nontarget pairs with any of the partners' utterances, of shape (speaker, n)."""
    pool, n = wanted.pool, wanted.n
    chosen, place = np.flatnonzero(is_in), np.cumsum(is_in) - 1
    parts = wanted.parts(is_in)
    of = np.empty((chosen.size, n), dtype=np.int64)
    for at, part in enumerate(parts):
        of[place[part.members], part.column : part.column + part.n] = at
    which = of.ravel()
    enrol, test = np.empty_like(which), np.empty_like(which)
    again, taken = np.arange(which.size), None
    for round_ in range(1 if wanted.literal else _ROUNDS):
        for at in np.unique(which[again]).tolist():
            some = again[which[again] == at]
            words = draws.child(_UTTERANCES).child(round_).words([at], [2 * some.size])
            sides = _any_utterances(pool, parts[at], chosen[some // n], words.reshape(2, -1))
            enrol[some], test[some] = sides
        if not wanted.literal:
            taken, left = without_repeats(
                keys_of(enrol[again], test[again], len(pool.utterance_ids)), taken
            )
            again = again[left]
        if wanted.literal or not again.size:
            return enrol.reshape(-1, n), test.reshape(-1, n)
    msg = (
        f"--per-speaker {n:,}: hardly any pair would be left over, so that {again.size:,} were not "
        "found; ask for fewer, or let partners take turns"
    )
    raise DataError(msg)


def _any_utterances(pool: Pool, part: _Part, i: Ints, words: Words) -> Sides:
    """Any utterance of each speaker, with any of the partners'."""
    size, partners = pool.n_utterances[i], part.partners
    ends = np.cumsum(pool.n_utterances[partners])
    x = numbers_below(ends[-1] - part.is_one * size, words[1])
    if part.is_one:  # pass over the speaker's own
        first = (ends - pool.n_utterances[partners])[np.searchsorted(partners, i)]
        x += size * (x >= first)
    j = np.searchsorted(ends, x, side="right")
    test = pool.utterance_starts[partners[j] + 1] - (ends[j] - x)
    return pool.utterance_starts[i] + numbers_below(size, words[0]), test


class _Part(NamedTuple):
    """Nontarget trials of one grade that speakers of one class enrol for."""

    grade: int
    n: int  # how many for each speaker
    column: int  # where they stand among the nontarget trials of a speaker
    members: Ints  # speakers who enrol
    partners: Ints  # speakers who are tested
    is_one: bool  # whether these are the same


@dataclass(frozen=True, eq=False)
class _PairsWanted:
    """Pairs that each speaker is to have, and who has enough of them."""

    pool: Pool
    groups: Ints  # places of those that take part
    n: int  # target pairs, and nontarget pairs
    mix: Mapping[int, float]  # shares of the grades of nontarget pairs
    balanced: bool  # whether partners take turns
    literal: bool  # as the paper's listing: more than `n`, and pairs may repeat
    target_mix: Mapping[int, float] = field(default_factory=dict)
    target_pairs: Mapping[int, NumberedPairs] = field(default_factory=dict)  # all, by grade

    def with_targets(self, grades: tuple[int, ...]) -> _PairsWanted:
        """The same, with target pairs of these grades, in equal shares."""
        pool, shares = self.pool, dict.fromkeys(grades, 1 / len(grades))
        pairs = {
            grade: target_pairs(pool.utterance_starts, pool.recording_ends, grade)
            for grade in grades
        }
        return replace(self, target_mix=shares, target_pairs=pairs)

    @property
    def target_counts(self) -> dict[int, int]:
        """Target pairs of each speaker by grade."""
        return rounded_counts(self.n, self.target_mix)

    def most(self, speakers: int) -> int:
        """The largest n at which so many speakers take part; 0 if there is none."""

        def is_enough(n: int) -> bool:
            return replace(self, n=n).reasons().count("") >= speakers

        low, high = 0, self.n
        while is_enough(high):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if is_enough(middle) else (low, middle)
        return low

    def reasons(self) -> list[str]:
        """Why each speaker takes no part; empty for those that do."""
        pool, more = self.pool, int(self.literal)
        reasons = np.full(pool.n_utterances.size, "", dtype=object)
        reasons[~np.isin(pool.group_of_speaker, self.groups)] = NOT_ASKED
        reasons[pool.group_of_speaker < 0] = f"{pool.grouping} is not known"
        unknown = f"{' or '.join(pool.graded_by)} is not known"
        reasons[(pool.difficulty_classes.class_of_speaker < 0) & (reasons != NOT_ASKED)] = unknown
        for grade, n in self.target_counts.items():
            there = self.target_pairs[grade].count_by_speaker(pool.utterance_starts)
            words = f"fewer than {n + more:,} target pairs of grade {grade}"
            reasons[(reasons == "") & (there < n + more)] = words
        while short := self._short(reasons == ""):
            for speaker, reason in short.items():
                reasons[speaker] = reason
        return [str(one) for one in reasons]

    def parts(self, is_in: NDArray[np.bool_]) -> list[_Part]:
        """Nontarget trials among these speakers, those of the hardest grade first."""
        classes, parts, column = self.pool.difficulty_classes, [], 0
        of = np.where(is_in, classes.class_of_speaker, -1)
        for grade, n in rounded_counts(self.n, self.mix).items():
            for one in np.unique(of[of >= 0]).tolist():
                others = np.flatnonzero(classes.pair_grades[one] == grade)
                partners = np.flatnonzero(np.isin(of, others))
                members = np.flatnonzero(of == one)
                parts.append(_Part(grade, n, column, members, partners, one in others))
            column += n
        return parts

    def _short(self, is_in: NDArray[np.bool_]) -> dict[int, str]:
        """Speakers among these who have too few nontarget pairs with the others."""
        parts = self.parts(is_in)
        alone = {
            i: f"no partner of grade {part.grade}"
            for part in parts
            if part.partners.size <= part.is_one
            for i in part.members.tolist()
        }
        if alone:
            return alone
        few = "fewer than {:,} distinct nontarget pairs of grade {}"
        if not self.balanced:
            return {
                i: few.format(part.n + self.literal, part.grade)
                for part in parts
                for i in self._poor(part).tolist()
            }
        return {
            i: few.format(n, grade)
            for grade, n in rounded_counts(self.n, self.mix).items()
            for i in self._crowded(is_in, grade, n).tolist()
        }

    def _poor(self, part: _Part) -> Ints:
        """Those with fewer pairs than drawing takes: twice n, as partners draw from them too."""
        sizes = self.pool.n_utterances
        own = sizes[part.members]
        there = own * (sizes[part.partners].sum() - part.is_one * own)
        few = there < (part.n + 1 if self.literal else 2 * part.n)
        return np.asarray(part.members[few])

    def _crowded(self, is_in: NDArray[np.bool_], grade: int, n: int) -> Ints:
        """Those with the fewest utterances, where two meet more often than they have pairs."""
        classes = self.pool.difficulty_classes
        who = np.flatnonzero(is_in)
        who = who[np.lexsort((-who, self.pool.n_utterances[who], classes.class_of_speaker[who]))]
        of = classes.class_of_speaker[who]
        present, first, count = np.unique(of, return_index=True, return_counts=True)
        sizes = self.pool.n_utterances[who]
        fewest = sizes[first]
        is_met = classes.pair_grades[np.ix_(present, present)] == grade
        each = -(-n // (is_met @ count - is_met.diagonal()))  # how often one meets each partner
        pairs = np.multiply.outer(fewest, fewest)
        is_crowded = is_met & (pairs < np.add.outer(each, each))
        own = fewest * sizes[np.minimum(first + 1, who.size - 1)]
        np.fill_diagonal(is_crowded, is_met.diagonal() & (own * (count - 1) < 2 * n))
        c, d = np.nonzero(is_crowded)
        return np.asarray(who[np.unique(first[np.where(fewest[c] <= fewest[d], c, d)])])
