"""Build balanced lists: paper 003's design, without what nobody could see in it.

See docs/methods/planning.md#balanced-lists.

So many speakers of each group, so many utterances of each, as many nontarget as target pairs, all
within the group. Changed by default:

* Half of each group's speakers are women, or whatever values an attribute has.
* Utterances are spread over as many recordings as there are, and target pairs are of two of them.
* Nontarget pairs agree in that attribute as well. A share that is the same in all groups would do;
  all of them is the one share at which the rate of each group is of the hardest pairs only.
* Everybody enrols, and is tested, equally often, and meets each other one in both directions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack, cast

import numpy as np

from parivox.data.attributes import parse_attribute, parse_by
from parivox.data.columns import plain_name
from parivox.data.lists.guidelines import CHECKS
from parivox.data.recordings import read_utterances
from parivox.data.source_bytes import with_reading_options
from parivox.data.speakers import read_speakers
from parivox.errors import ConfigError, DataError, name_hint
from parivox.facts import fact
from parivox.options.kinds import names_options
from parivox.options.trials import BalancedOptions
from parivox.runtime.progress import reports_progress
from parivox.trials.building import Built, build_lists
from parivox.trials.pairs import (
    Meetings,
    meet_each_other,
    meeting_utterances,
    numbers_within,
    target_pairs,
)
from parivox.trials.pool import ListDesign, Pool, group_positions, speaker_by_speaker

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from parivox.options.types import OtherBuildOptions
    from parivox.sources import SpeakerSource, UtteranceSource
    from parivox.trials.pairs import Ints, RandomStreams, Words
    from parivox.trials.pool import TrialChunk


ROWS = (
    "speaker by speaker in the order of their ids; of each first the target, then the nontarget "
    "trials"
)
NONE = "none"
"""Stands for no attribute to balance."""
_GENDER_COLUMNS = ("gender", "sex")
_SPEAKERS, _SPREAD, _TARGET, _UTTERANCES = range(4)  # keys of the streams of one list


@names_options(BalancedOptions)
@reports_progress
@with_reading_options
def build_balanced(
    utterances: UtteranceSource,
    *,
    by: str,
    speakers_per_group: int,
    utterances_per_speaker: int,
    speakers: SpeakerSource | None = None,
    out: str | os.PathLike[str] | None = None,
    pairs: int | None = None,
    groups: Sequence[str] | str | None = None,
    balance: str | None = None,
    **options: Unpack[OtherBuildOptions],
) -> Built:
    """Build lists with equally many speakers, utterances and pairs of every group.

    Parameters
    ----------
    utterances, by, speakers, out, **options
        As `parivox.trials.build_inclusive` takes them.
    speakers_per_group, utterances_per_speaker
        How many to draw.
    pairs
        Target pairs, and nontarget pairs, that each speaker enrols for; by default as many as
        every group can give.
    groups
        Those to take part; by default all.
    balance
        Attribute of which each group has equally many speakers of each value, by default gender
        (or sex) if there is one; ``"none"`` for no attribute.

    Raises
    ------
    DataError
        If a group is too small; the sentence tells by how much, and the largest design that fits.
    ConfigError
        If an option is wrong.

    Examples
    --------
    >>> ids = [f"{s}/{r}/{u}" for s in "abcd" for r in "xy" for u in "12"]
    >>> table = {"utterance": ids, "accent": [*("n" * 8), *("s" * 8)]}
    >>> built = build_balanced(
    ...     table, by="accent", speakers_per_group=2, utterances_per_speaker=3, balance="none"
    ... )
    >>> built.manifest["lists"]
    [{'target': 8, 'nontarget': 8}]
    """
    build_options = BalancedOptions.from_keywords(
        utterances=utterances,
        by=by,
        speakers_per_group=speakers_per_group,
        utterances_per_speaker=utterances_per_speaker,
        speakers=speakers,
        out=out,
        pairs=pairs,
        groups=groups,
        balance=balance,
        **options,
    )
    table = read_utterances(utterances)
    speaker_table = None if speakers is None else read_speakers(speakers, id=build_options.id)
    columns = table.attributes.columns if speaker_table is None else speaker_table.columns
    balanced = _balanced_attribute(balance, by, columns)
    grade_by = [attribute.text for attribute in parse_by(by)]
    if balanced != NONE:
        grade_by = [balanced, *grade_by]
    pool = Pool.read(table, speaker_table, by=by, grade_by=grade_by)
    build_options = replace(build_options, balance=balanced)
    return build_lists(design(pool, build_options), build_options)


def design(pool: Pool, options: BalancedOptions) -> ListDesign:
    """Return the design of balanced lists: who can be drawn, and how.

    Groups are balanced in what defines difficulty: `balance` is used for the manifest.
    """
    request = _Request(
        pool,
        group_positions(pool.groups, pool.grouping, options.groups),
        options.speakers_per_group,
        options.utterances_per_speaker,
        options.pairs,
    )
    request.check()
    n_pairs = options.pairs or request.max_pairs()
    request = replace(request, n_pairs=n_pairs)
    names = [pool.groups[position] for position in request.groups]
    notes = [
        fact(
            "trials_of_each_enrolled",
            speakers=request.n_speakers,
            pairs=int(n_pairs),
            utterances=request.n_utterances,
        )
    ]
    min_speakers = CHECKS["G7"].threshold
    if request.n_speakers < min_speakers:
        notes.append(
            fact(
                "fewer_speakers_than_check",
                check="G7",
                minimum=min_speakers,
                speakers=request.n_speakers,
            )
        )
    return ListDesign(
        kind="balanced",
        pool=pool,
        parameters={
            "speakers_per_group": request.n_speakers,
            "utterances_per_speaker": request.n_utterances,
            "pairs": n_pairs,
            "groups": names,
            "balance": options.balance,
        },
        draw=lambda draws: _draw_list(request, n_pairs, draws),
        n_trials=2 * n_pairs * request.n_speakers * len(names),
        row_order=ROWS,
        n_speakers_by_group=dict.fromkeys(names, request.n_speakers),
        exclusion_reasons=tuple(request.exclusion_reasons()),
        notes=tuple(notes),
    )


def _balanced_attribute(balance: str | None, by: str, columns: Sequence[str]) -> str:
    """Return the attribute to balance, or `NONE`."""
    group_attributes = {plain_name(attribute.name) for attribute in parse_by(by)}
    if balance is None:
        gender_columns = [name for name in columns if plain_name(name) in _GENDER_COLUMNS]
        usual = gender_columns[0] if gender_columns else NONE
        return NONE if plain_name(usual) in group_attributes else usual
    if balance == NONE:
        return NONE
    if not isinstance(cast("Any", balance), str):
        msg = f"balance={balance!r} is not text"
        hint = "name an attribute, for example balance='gender', or 'none'"
        raise ConfigError(msg, hint)
    name = plain_name(parse_attribute(balance, "--balance").name)
    if name in group_attributes:
        msg = (
            f"--balance {balance}: already defines the groups of --by {by}, so there is nothing "
            "to balance"
        )
        hint = "name another attribute, or none"
        raise ConfigError(msg, hint)
    columns_by_name = {plain_name(column): column for column in columns}
    if name not in columns_by_name:
        msg = f"--balance {balance!r}: is not an attribute of speakers"
        hint = name_hint(name, columns_by_name.values())
        raise ConfigError(msg, hint)
    return balance


def _draw_list(request: _Request, n_pairs: int, draws: RandomStreams) -> Iterator[TrialChunk]:
    """Draw one list, of so many pairs of either class for each speaker."""
    pool, n_utterances = request.pool, request.n_utterances
    can_take_part = request.can_take_part(n_utterances, n_pairs)
    words = draws.child(_SPEAKERS).words([0], [pool.n_utterances.size])
    speakers_by_cell = []
    for cell in range(request.n_cells):
        candidates = np.flatnonzero(can_take_part & (request.cell_of_speaker == cell))
        order = np.argsort(words[candidates], kind="stable")
        speakers_by_cell.append(candidates[order][: request.n_speakers_per_cell])
    speakers = np.sort(np.concatenate(speakers_by_cell))
    utterances = _chosen_utterances(pool, speakers, n_utterances, draws.child(_SPREAD))
    # each speaker has the same number of utterances, so that positions follow from it
    starts = np.arange(speakers.size + 1) * n_utterances
    recording = pool.recording_indices[utterances]
    pairs = target_pairs(starts, np.searchsorted(recording, recording, side="right"))
    numbers = draws.child(_TARGET).distinct_numbers(
        pairs.count_by_speaker(starts), np.full(speakers.size, n_pairs), speakers
    )
    partner = np.empty((speakers.size, n_pairs), dtype=np.int64)
    for cell_speakers in speakers_by_cell:
        positions = np.searchsorted(speakers, cell_speakers)
        _, test = meet_each_other(positions.size, n_pairs * positions.size)
        partner[positions] = positions[test].reshape(n_pairs, -1).T
    n_earlier_tests = np.tile(np.arange(n_pairs), speakers.size)
    enrol_speaker = np.repeat(np.arange(speakers.size), n_pairs)
    meetings = Meetings(enrol_speaker, partner.ravel(), n_earlier_tests)
    target_sides = pairs.utterances_at(numbers)
    nontarget_sides = meeting_utterances(meetings, starts, draws.child(_UTTERANCES))
    target_enrol, target_test = (utterances[side].reshape(-1, n_pairs) for side in target_sides)
    nontarget_enrol, nontarget_test = (
        utterances[side].reshape(-1, n_pairs) for side in nontarget_sides
    )
    return speaker_by_speaker((target_enrol, target_test), (nontarget_enrol, nontarget_test))


def _chosen_utterances(pool: Pool, speakers: Ints, n_utterances: int, draws: RandomStreams) -> Ints:
    """Draw so many utterances of each speaker, of as many recordings as there are; they rise."""
    words = draws.words([0], [len(pool.utterance_ids)])
    order, _ = _spread_over_recordings(pool, words)
    utterances = np.sort(order[numbers_within(pool.n_utterances) < n_utterances])
    return utterances[np.isin(pool.speaker_of_utterance[utterances], speakers)]


@dataclass(frozen=True, eq=False)
class _Request:
    """Speakers, utterances and pairs asked for of some groups of a pool, and what these can give.

    Of every group, equally many speakers of each stratum take part: of each value of the attributes
    that are balanced, which are those that define difficulty and do not make the groups. A group
    and a stratum are a cell.
    """

    pool: Pool
    groups: Ints  # positions of those that take part
    n_speakers: int
    n_utterances: int
    n_pairs: int | None  # None for any

    @cached_property
    def balanced(self) -> tuple[str, ...]:
        """Attributes that are balanced."""
        group_attributes = {attribute.text.lower() for attribute in parse_by(self.pool.grouping)}
        return tuple(name for name in self.pool.graded_by if name.lower() not in group_attributes)

    @cached_property
    def strata(self) -> Ints:
        """Codes that are balanced, of shape (stratum, attribute)."""
        codes = self._balanced_codes
        is_in_groups = np.isin(self.pool.group_of_speaker, self.groups)
        is_known = is_in_groups & (codes >= 0).all(axis=1)
        if not (self.balanced and is_known.any()):
            return np.empty((1, 0), dtype=np.int64)
        return np.unique(codes[is_known], axis=0).astype(np.int64)

    @property
    def _balanced_codes(self) -> NDArray[np.int32]:
        """Codes of the balanced attributes, of shape (speaker, attribute)."""
        rows = [self.pool.graded_by.index(name) for name in self.balanced]
        return self.pool.attribute_codes[rows].T

    @property
    def n_speakers_per_cell(self) -> int:
        """Speakers wanted of each cell."""
        return self.n_speakers // len(self.strata)

    @property
    def n_cells(self) -> int:
        """How many cells there are."""
        return self.groups.size * len(self.strata)

    @cached_property
    def cell_of_speaker(self) -> Ints:
        """Cell of each speaker; -1 for those who cannot take part."""
        pool = self.pool
        stratum_of_speaker = np.full(pool.n_utterances.size, -1, dtype=np.int64)
        for stratum, codes in enumerate(self.strata):
            is_in_stratum = (self._balanced_codes[:, : codes.size] == codes).all(axis=1)
            stratum_of_speaker[is_in_stratum] = stratum
        position = np.searchsorted(self.groups, pool.group_of_speaker)
        has_cell = (
            np.isin(pool.group_of_speaker, self.groups)
            & (pool.difficulty_classes.class_of_speaker >= 0)
            & (stratum_of_speaker >= 0)
        )
        return np.where(has_cell, position * len(self.strata) + stratum_of_speaker, -1)

    @cached_property
    def _n_pairs_by_utterances(self) -> Ints:
        """Target pairs across recordings within the first utterances of each speaker.

        Shape (utterance,), speaker by speaker: pairs within those of the speaker up to this one.
        """
        pool = self.pool
        # the order of utterances of one recording does not matter for how many pairs there are
        _, n_same_recording = _spread_over_recordings(
            pool, np.zeros(len(pool.utterance_ids), dtype=np.uint64)
        )
        totals = np.cumsum(numbers_within(pool.n_utterances) - n_same_recording)
        before_speaker = np.concatenate(([0], totals))[pool.utterance_starts[:-1]]
        return np.asarray(totals - np.repeat(before_speaker, pool.n_utterances))

    def n_target_pairs(self, n_utterances: int) -> Ints:
        """Count target pairs across recordings that so many utterances of each speaker give."""
        pool = self.pool
        last_rows = pool.utterance_starts[:-1] + np.minimum(pool.n_utterances, n_utterances) - 1
        return self._n_pairs_by_utterances[last_rows]

    def can_take_part(self, n_utterances: int, n_pairs: int | None) -> NDArray[np.bool_]:
        """Return which speakers have so many utterances, with so many target pairs (or any)."""
        has_utterances = self.pool.n_utterances >= n_utterances
        has_pairs = self.n_target_pairs(n_utterances) >= (n_pairs or 1)
        return has_utterances & has_pairs & (self.cell_of_speaker >= 0)

    def n_candidates(self, n_utterances: int, n_pairs: int | None) -> Ints:
        """Count the speakers who can take part, of shape (group, stratum)."""
        cells = self.cell_of_speaker[self.can_take_part(n_utterances, n_pairs)]
        return np.bincount(cells, minlength=self.n_cells).reshape(self.groups.size, -1)

    def _largest_for_all_cells(self, numbers: Ints) -> int:
        """Return the largest number that enough speakers of each cell reach; 0 for too few."""
        n_needed = self.n_speakers_per_cell
        largest = []
        for cell in range(self.n_cells):
            cell_numbers = np.sort(numbers[self.cell_of_speaker == cell])
            has_enough = cell_numbers.size >= n_needed
            largest.append(int(cell_numbers[-n_needed]) if has_enough else 0)
        return min(largest)

    def max_speakers(self) -> int:
        """Return the largest number of speakers in each group; 0 if there is none."""
        n_per_cell = int(self.n_candidates(self.n_utterances, self.n_pairs).min())
        if n_per_cell < 2:
            return 0
        if _max_nontarget_pairs(n_per_cell, self.n_utterances) < (self.n_pairs or 1):
            return 0
        return n_per_cell * len(self.strata)

    def max_utterances(self) -> int:
        """Return the largest number of utterances for as many speakers; 0 if there is none."""
        largest = self._largest_for_all_cells(self.pool.n_utterances)
        is_candidate = (self.cell_of_speaker >= 0) & (self.pool.n_utterances <= largest)
        numbers = np.unique(self.pool.n_utterances[is_candidate])
        for n_utterances in numbers[numbers > 1][::-1].tolist():
            if _max_nontarget_pairs(self.n_speakers_per_cell, n_utterances) < (self.n_pairs or 1):
                return 0
            n_candidates = self.n_candidates(n_utterances, self.n_pairs)
            if (n_candidates >= self.n_speakers_per_cell).all():
                return int(n_utterances)
        return 0

    def max_pairs(self) -> int:
        """Return the largest number of pairs for these speakers and utterances; 0 for none."""
        can_take_part = self.can_take_part(self.n_utterances, None)
        n_target_pairs = np.where(can_take_part, self.n_target_pairs(self.n_utterances), 0)
        max_nontarget = _max_nontarget_pairs(self.n_speakers_per_cell, self.n_utterances)
        return min(self._largest_for_all_cells(n_target_pairs), max_nontarget)

    def exclusion_reasons(self) -> list[str]:
        """Return why speakers of these groups cannot be drawn, as facts; empty for all others."""
        pool, min_pairs = self.pool, self.n_pairs or 1
        # later reasons replace earlier ones
        reasons = np.full(pool.n_utterances.size, "", dtype=object)
        has_few_pairs = self.n_target_pairs(self.n_utterances) < min_pairs
        reasons[has_few_pairs] = fact("few_target_pairs", pairs=int(min_pairs))
        has_few_utterances = pool.n_utterances < self.n_utterances
        reasons[has_few_utterances] = fact("few_utterances", utterances=self.n_utterances)
        has_no_class = pool.difficulty_classes.class_of_speaker < 0
        reasons[has_no_class] = pool.unknown_difficulty
        has_group = pool.group_of_speaker >= 0
        reasons[has_group & ~np.isin(pool.group_of_speaker, self.groups)] = ""
        reasons[~has_group] = pool.unknown_group
        return [str(reason) for reason in reasons]

    def check(self) -> None:
        """Refuse what the groups cannot give.

        Raises
        ------
        ConfigError
            If the numbers contradict each other.
        DataError
            If a group has too few speakers.
        """
        n_strata = len(self.strata)
        if self.n_speakers % n_strata or self.n_speakers_per_cell < 2:
            max_speakers = self.max_speakers()
            names = " and ".join(self.balanced) or "one"
            until = f" to {max_speakers:,}, the maximum" if max_speakers else ""
            msg = (
                f"--speakers-per-group {self.n_speakers}: cannot be divided equally among "
                f"{n_strata} values of {names} with at least 2 speakers each"
            )
            hint = f"give a multiple of {n_strata} from {2 * n_strata}{until}, or --balance none"
            raise ConfigError(msg, hint)
        max_pairs = _max_nontarget_pairs(self.n_speakers_per_cell, self.n_utterances)
        if self.n_pairs is not None and self.n_pairs > max_pairs:
            msg = (
                f"--pairs {self.n_pairs:,}: {self.n_speakers_per_cell} speakers with "
                f"{self.n_utterances} utterances each can have at most {max_pairs:,} nontarget "
                "pairs each"
            )
            hint = self._fitting_designs(np.empty(0, dtype=np.int64))
            raise ConfigError(msg, hint)
        n_candidates = self.n_candidates(self.n_utterances, self.n_pairs)
        is_short = n_candidates < self.n_speakers_per_cell
        if is_short.any():
            raise self._too_few_speakers_error(n_candidates, is_short)

    def _too_few_speakers_error(self, n_candidates: Ints, is_short: NDArray[np.bool_]) -> DataError:
        """Return the error that some cells have too few speakers, with the designs that fit."""
        short_cells = ", ".join(
            f"{self._cell_name(*cell)} has {n_candidates[cell]:,}"
            for cell in zip(*is_short.nonzero(), strict=True)
        )
        needs = f"{self.n_utterances} utterances from two recordings or more"
        if self.n_pairs:
            needs = f"{self.n_utterances} utterances and {self.n_pairs:,} target pairs across "
            needs += "recordings"
        fitting = self._fitting_designs(self.groups[~is_short.any(axis=1)])
        msg = (
            f"{self.pool.utterances.name}: too few speakers have {needs} "
            f"({self.n_speakers_per_cell} are needed): {short_cells}"
        )
        return DataError(msg, fitting)

    def _cell_name(self, group: int, stratum: int) -> str:
        texts = [
            self.pool.attribute_texts[name][code]
            for name, code in zip(self.balanced, self.strata[stratum], strict=True)
        ]
        return " ".join((self.pool.groups[self.groups[group]], *texts))

    def _fitting_designs(self, groups_with_enough: Ints) -> str:
        """Return the largest designs that fit: one number changed, or some groups left out."""
        designs = []
        if max_speakers := self.max_speakers():
            designs.append(f"--speakers-per-group {max_speakers} fits all groups")
        if max_utterances := self.max_utterances():
            designs.append(f"--utterances-per-speaker {max_utterances} fits all groups")
        if self.n_pairs and (max_pairs := self.max_pairs()):
            designs.append(f"--pairs {max_pairs} fits all groups")
        if groups_with_enough.size:
            option = replace(self, groups=groups_with_enough).groups_option
            designs.append(f"{self.n_speakers} speakers fit {option}")
        return "; ".join(designs or self._designs_for_some_groups() or ["give other speakers"])

    def _designs_for_some_groups(self) -> list[str]:
        """Return designs of those groups that can take part at all, and of the two largest."""
        designs = []
        n_per_group = self.n_candidates(self.n_utterances, self.n_pairs).min(axis=1)
        n_usable = int((n_per_group > 1).sum())
        largest_first = np.argsort(-n_per_group, kind="stable")[:n_usable]
        for n_groups in dict.fromkeys((n_usable, min(2, n_usable))):
            groups = np.sort(self.groups[largest_first[:n_groups]])
            request = replace(self, groups=groups)
            if n_groups and (max_speakers := request.max_speakers()):
                designs.append(f"--speakers-per-group {max_speakers} fits {request.groups_option}")
        if designs:
            return designs
        for n_per_cell in (self.n_speakers_per_cell, 2):
            is_usable = (self.n_candidates(2, None) >= n_per_cell).all(axis=1)
            request = replace(self, groups=self.groups[is_usable])
            request = replace(request, n_speakers=n_per_cell * len(request.strata))
            if is_usable.any() and (max_utterances := request.max_utterances()):
                option = f"--speakers-per-group {request.n_speakers}"
                option += f" --utterances-per-speaker {max_utterances}"
                return [f"{option} fits {request.groups_option}"]
        return []

    @property
    def groups_option(self) -> str:
        """The option that names these groups."""
        return "--groups " + ",".join(self.pool.groups[position] for position in self.groups)


def _max_nontarget_pairs(n_speakers: int, n_utterances: int) -> int:
    """Return nontarget pairs that each of so many speakers can have, if all meet equally often.

    >>> _max_nontarget_pairs(2, 24)
    288
    """
    # each partner gives n_utterances ** 2 pairs, which two speakers share
    return n_utterances**2 * (n_speakers - 1) // 2


def _spread_over_recordings(pool: Pool, words: Words) -> tuple[Ints, Ints]:
    """Order each speaker's utterances so that the first are of as many recordings as there are.

    Random words, one for each utterance, decide where nothing else does. Returned are positions,
    speaker by speaker, and how many before are of the same recording.
    """
    recording_order = np.lexsort((words, pool.recording_indices))
    recording_starts = np.searchsorted(pool.recording_indices, pool.recording_indices)
    n_before = np.empty(recording_order.size, dtype=np.int64)
    n_before[recording_order] = np.arange(recording_order.size) - recording_starts[recording_order]
    order = np.lexsort((words[recording_starts], n_before, pool.speaker_of_utterance))
    return order, n_before[order]
